/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_IO_CHANGE_REPORTS_H
#define TAMIS_STREAM_IO_CHANGE_REPORTS_H

#include <stdbool.h>

#include "base/failure.h"
#include "stream/io/poll_loop.h"

/* Waits for changes of followed files. change_reports.c explains when the system's reports are trusted. */
typedef struct tamis__change_reports {
    int fd;             /* descriptor of tamis__sys.report_changes; -1: none */
    bool refused;       /* the system gives no reports, or incomplete ones */
    bool is_extended;   /* a directory was added since the last wait */
    bool silent;        /* the last wait ended without a report */
    bool has_reported;  /* a wait has ended with a report */
    uint64_t look_at;   /* time at which the next wait ends in any case (tamis__now_ns); 0: none */
    bool names_changed; /* files may have been made or renamed since the caller set this to false */
} tamis__change_reports;

#define TAMIS__CHANGE_REPORTS_INIT                                                                           \
    { .fd = -1, .names_changed = true }

/* Asks for reports of the directory of the file `path`. The first wait afterwards ends at once, because its
 * files may have changed before. */
void tamis__change_reports_add(tamis__change_reports *reports, const char *path);
/* There will be no reports. */
void tamis__change_reports_stop(tamis__change_reports *reports);
/* The caller has found a change. If the last wait has ended without a report of it, reports are given up. */
void tamis__change_reports_check(tamis__change_reports *reports);
/* Waits until files may have changed, or the loop has something to do. TAMIS_E_INTERRUPTED: the run is to
 * stop. `name` is the subject of errors. */
tamis_status tamis__change_reports_wait(tamis__change_reports *reports, tamis__poll_loop *loop,
                                        const char *name, tamis_error *err);

#endif
