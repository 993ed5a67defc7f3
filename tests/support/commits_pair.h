/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_COMMITS_PAIR_H
#define TAMIS_TEST_COMMITS_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/commits.h"

/*
 * The run on which faults, kills and power losses are tried. It has two inputs, the second one compressed,
 * an output and a file of duplicates, all in a scratch directory.
 *
 * With `delivered`, its input is a pipe instead, whose records have positions in two sources. Before each run
 * a consumer delivers all records again that were not reported as committed, in the same order.
 */

enum { PAIR_INPUTS = 2, PAIR_SOURCES = 2 };

typedef struct pair_scenario {
    const char *name;
    int make; /* index in commits_makes */
    uint32_t threads;
    tamis_compression compression; /* of the outputs */
    uint64_t step;                 /* difference of two tried n */
    bool partial;                  /* true if the first input ends with half a record, which is not read */
    bool delivered;
} pair_scenario;

/* How many records of each source were reported as committed: what the consumer has acknowledged. Shared with
 * child processes. */
typedef struct pair_acknowledged {
    uint64_t records[PAIR_SOURCES];
} pair_acknowledged;
extern pair_acknowledged *pair_consumer;
/* Called after each report; may be NULL. */
extern void (*pair_on_report)(void);

/* The current scenario, between set-up and tear-down. */
extern const pair_scenario *pair_current;

/* Writes the inputs, `records` records each out of `keys` keys; the pipe has as many as all of them. Then
 * makes an undisturbed run without compression, keeps its outputs for comparison, and removes its files. All
 * runs make a snapshot when the log has `snapshot_at` bytes. Until the tear-down, syncs and memory advice do
 * nothing. False, with the reason on stderr, if the run failed. */
bool pair_set_up(const pair_scenario *scenario, size_t records, uint64_t keys, uint64_t snapshot_at,
                 commits_run *undisturbed);
void pair_tear_down(void);

/* Makes the run of the current scenario. */
tamis_status pair_go(commits_run *run, const tamis_allocator *allocator);
/* The same with `bytes` bytes of records between two commits. */
tamis_status pair_go_committing(commits_run *run, const tamis_allocator *allocator, uint64_t bytes);
/* Removes the state and both outputs, and what the consumer knows. */
void pair_forget(void);
/* Removes the copies of uncommitted bytes (stream/durable/uncommitted.h). Returns their number. */
int pair_sweep(void);
/* True if both outputs, decompressed, are those of the undisturbed run. Unless `quiet`, stderr has the
 * difference. */
bool pair_is_right(bool quiet);

/* Returns the scenario's step, scaled; 1 under torture. */
uint64_t pair_step(uint64_t full, uint64_t sanitizer, uint64_t quick);

typedef struct pair_test {
    const char *name;
    CMUnitTestFunction run;
} pair_test;

/* Runs the tests on each scenario, or on the one named on the command line. `set_up` gets the scenario as
 * its state. Returns the result of main. */
int pair_main(const char *group, const pair_scenario *scenarios, size_t scenario_count,
              const pair_test *tests, size_t test_count, CMFixtureFunction set_up,
              CMFixtureFunction tear_down, int count, char **values);

#endif
