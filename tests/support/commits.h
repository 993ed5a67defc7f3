/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_COMMITS_H
#define TAMIS_TEST_COMMITS_H

#include <tamis/experimental/state.h>
#include <tamis/tamis.h>

#include "stream/run/runner.h"
#include "support/scratch.h"

/* Durable runs over a state, "state" in the scratch directory. These functions do not assert: errors are
 * in the run. */

typedef struct commits_make {
    const char *name;
    tamis_kind kind;
    uint64_t expect;
    double fpr;
    /* A window's length in milliseconds. Its records come a millisecond apart, and present keys are counted
     * again. */
    uint64_t window;
} commits_make;

/* High false-positive rates, if the kind has one: a filter that differs after a restart then changes the
 * output. */
enum {
    COMMITS_GROWING,
    COMMITS_FIXED,
    COMMITS_EXACT,
    COMMITS_BLOCKED,
    COMMITS_CLASSIC,
    COMMITS_WINDOW,
    COMMITS_MAKES
};
extern const commits_make commits_makes[COMMITS_MAKES];

typedef struct commits_run {
    const commits_make *make;
    tamis_stream_options options; /* commits_go sets `commits` */
    tamis_stream_commits commits; /* commits_go sets `session` */
    tamis__stream_buffer_sizes tuning;
    uint64_t snapshot_at;                 /* log size in bytes for a snapshot; 0: the default */
    bool typed;                           /* true if the service takes keys, not hashes */
    uint64_t stop_before;                 /* first batch (from 1) after a request to stop; 0: no request */
    void (*before_batch)(uint64_t batch); /* called before each query, batch from 1; may be NULL */
    const tamis_allocator *allocator;
    /* Results. */
    tamis_status status;
    tamis_error err;
    tamis_stream_stats stats;
    tamis_stream_result result; /* without `unfinished` */
    tamis_state_info info;      /* of the state, if it was opened */
} commits_run;

/* Sets small batches and commits: some thousand records are then some dozens of commits. */
void commits_init(commits_run *run, const commits_make *make);
/* Opens the state, runs, settles it with a snapshot if the log is longer than 1000 bytes, and closes it. */
tamis_status commits_go(commits_run *run);

/* True if the run ended with that status and, if that is an error, with `text` in its message. Otherwise
 * stderr has the difference. */
bool commits_came_to(const commits_run *run, tamis_status status, const char *text);
/* True if the run ended without error, and had started in that way. */
bool commits_started(const commits_run *run, tamis_stream_start start);

/* Removes the state. */
void commits_forget(void);
/* Adds `count` records to `to`: numbers below `keys` within a text, random from the seed. */
void commits_records(test_bytes *to, size_t count, uint64_t keys, uint64_t seed);
/* Writes a file of such records, with 1500 keys. */
void commits_write(const char *path, size_t count, uint64_t seed);

#endif
