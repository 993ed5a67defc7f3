/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_WATCH_H
#define TAMIS_STREAM_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/stream.h>

#include "base/failure.h"

/*
 * Everything a run waits for goes through here: the request to stop, the progress report, and a
 * descriptor that is not ready. The request to stop is a readable descriptor and is polled together
 * with what is waited for, so there is no moment at which it could be missed.
 */
typedef struct tamis__watch {
    int stop_fd; /* -1: none */
    void (*progress)(void *context, const tamis_stream_stats *now);
    void *progress_context;
    const tamis_stream_stats *stats; /* live */
    const uint64_t *records; /* that were read, for sentences, which are told when these are answered */
    uint64_t next_report;    /* tamis__now_ns at which progress is due */
    uint64_t wake_at;        /* 0, or tamis__now_ns at which a wait ends though nothing is there */
} tamis__watch;

enum {
    TAMIS__REPORT_MS = 100, /* between two progress reports */
    TAMIS__FIFO_MS = 20     /* between two looks whether a FIFO has got its reader */
};

/* Calls progress if it is due. */
void tamis__watch_tick(tamis__watch *watch);

/*
 * Looks whether `fd` has one of `events` (or an error to be read from it), without waiting. fd -1: only
 * looks whether to stop. TAMIS_E_INTERRUPTED when the run is to stop; `name` is what fd is to a person.
 */
tamis_status tamis__watch_look(const tamis__watch *watch, int fd, short events, bool *ready, const char *name,
                               tamis_error *err);

/* The same, waiting until it has, or it is time to wake; progress is called meanwhile. */
tamis_status tamis__watch_wait(tamis__watch *watch, int fd, short events, const char *name, tamis_error *err);

/* Waits some milliseconds, or until the run is to stop. */
tamis_status tamis__watch_pause(tamis__watch *watch, int milliseconds, const char *name, tamis_error *err);

#endif
