/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_IO_POLL_LOOP_H
#define TAMIS_STREAM_IO_POLL_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/experimental/stream.h>

#include "base/failure.h"

/*
 * The poll loop of a run. Every wait goes through here: for a descriptor, for the request to stop, and for
 * the time of the next progress report. The request to stop is a readable descriptor, polled together with
 * the awaited one. So it cannot be missed.
 */
typedef struct tamis__poll_loop {
    int stop_fd; /* -1: none */
    void (*progress)(void *context, const tamis_stream_stats *now);
    void *progress_context;
    const tamis_stream_stats *stats; /* updated by the run */
    const uint64_t *records;         /* records read so far */
    uint64_t reported_at;            /* time of the last report (tamis__now_ns), or of the start */
    uint64_t reported_records;       /* *records at that time */
    bool follows;                    /* inputs have no end, so a run that waits may wait for days */
    uint64_t wake_at;                /* time at which a wait ends in any case (tamis__now_ns); 0: none */
} tamis__poll_loop;

enum {
    TAMIS__REPORT_MS = 100,       /* between two progress reports */
    TAMIS__IDLE_REPORT_MS = 1000, /* the same while a follower gets no record */
    TAMIS__FIFO_MS = 20           /* between two attempts to open a FIFO that has no reader */
};

/* The descriptor that a wait is for. */
typedef struct tamis__awaited {
    int fd;           /* -1: none, only a stop is awaited */
    short events;     /* as in struct pollfd */
    const char *name; /* its name in messages */
} tamis__awaited;

/* Calls `progress` if a report is due. */
void tamis__poll_loop_report(tamis__poll_loop *loop);

/* Checks without waiting whether the descriptor has one of the events, or an error. TAMIS_E_INTERRUPTED if
 * the run is to stop. */
tamis_status tamis__poll_loop_check(const tamis__poll_loop *loop, const tamis__awaited *awaited, bool *ready,
                                    tamis_error *err);

/* The same, but waits until the descriptor is ready or wake_at has come. Reports progress meanwhile. */
tamis_status tamis__poll_loop_wait(tamis__poll_loop *loop, const tamis__awaited *awaited, tamis_error *err);

/* Waits for some milliseconds. Ends early, with TAMIS_E_INTERRUPTED, if the run is to stop. */
tamis_status tamis__poll_loop_pause(tamis__poll_loop *loop, int milliseconds, const char *name,
                                    tamis_error *err);

/* The same, but ends early, with *ready, if the descriptor is ready, and when wake_at has come. */
tamis_status tamis__poll_loop_pause_for(tamis__poll_loop *loop, const tamis__awaited *awaited,
                                        int milliseconds, bool *ready, tamis_error *err);

#endif
