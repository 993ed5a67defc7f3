/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_COMMITS_H
#define TAMIS_TEST_COMMITS_H

#include <tamis/tamis.h>

#include "stream/run/runner.h"
#include "support/scratch.h"

/* Runs that are made last, over a state "state" in the scratch folder. Nothing here asserts: what fails is
 * told in the run. */

typedef struct commits_make {
    const char *name;
    tamis_kind kind;
    uint64_t expect;
    double fpr;
} commits_make;

/* High rates, where the kind has one: a filter that is another after a restart shows in what is written. */
enum { COMMITS_GROWING, COMMITS_FIXED, COMMITS_EXACT, COMMITS_BLOCKED, COMMITS_CLASSIC, COMMITS_MAKES };
extern const commits_make commits_makes[COMMITS_MAKES];

typedef struct commits_run {
    const commits_make *make;
    tamis_stream_options options; /* `commits` is set by the run */
    tamis_stream_commits commits; /* and its session */
    tamis__stream_buffer_sizes tuning;
    uint64_t snapshot_at; /* bytes of log at which a snapshot is made; 0: as it comes */
    bool typed;           /* the service takes keys, and no hashes */
    uint64_t
        stop_before; /* this batch, from 1, is the first one behind a request to stop; 0: there is none */
    void (*before_batch)(uint64_t batch); /* NULL, or called before each is asked, from 1 */
    const tamis_allocator *allocator;
    /* ---- what came of it ---- */
    tamis_status status;
    tamis_error err;
    tamis_stream_stats stats;
    tamis_state_info info; /* of the state, where it was opened */
} commits_run;

/* Small batches and commits, so that some thousand records are some dozens of them. */
void commits_init(commits_run *run, const commits_make *make);
/* Opens the state, runs, settles it with a snapshot if the log is longer than 1000 bytes, and closes it. */
tamis_status commits_go(commits_run *run);

/* Whether it ended that way, and, unless well, with that text in its sentence; stderr has what it did instead. */
bool commits_came_to(const commits_run *run, tamis_status status, const char *text);
/* Whether it ended well, begun that way. */
bool commits_began(const commits_run *run, tamis_stream_begun begun);

/* Removes the state. */
void commits_forget(void);
/* Some thousand records, numbers below `keys` in a text, from the seed. */
void commits_records(test_bytes *to, size_t count, uint64_t keys, uint64_t seed);
/* Such a file, of 1500 keys. */
void commits_write(const char *path, size_t count, uint64_t seed);

#endif
