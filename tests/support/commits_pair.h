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

/* The run that faults, kills and power losses are tried on: two inputs, of which the second is packed, into an output and its
 * duplicates, in a scratch folder. */

enum { PAIR_INPUTS = 2 };

typedef struct pair_scenario {
    const char *name;
    int make; /* of commits_makes */
    uint32_t threads;
    tamis_compression compression; /* of the outputs */
    uint64_t step;                 /* between two n that are tried */
    bool partial;                  /* the first input ends with half a record, which is left */
} pair_scenario;

/* The one that is tried, between set-up and tear-down. */
extern const pair_scenario *pair_current;

/* Writes the inputs, so many records each from so many keys, and keeps what a run without packing writes: it is told, and forgotten. Its
 * snapshots, as those of all runs, are made from so many bytes of log on. Calls that say nothing of the disk do nothing until the
 * tear-down. False, and why on stderr, where the run failed. */
bool pair_set_up(const pair_scenario *scenario, size_t records, uint64_t keys, uint64_t snapshot_at,
                 commits_run *undisturbed);
void pair_tear_down(void);

tamis_status pair_go(commits_run *run, const tamis_allocator *allocator);
/* The same with so many bytes of records between two commits. */
tamis_status pair_go_committing(commits_run *run, const tamis_allocator *allocator, uint64_t bytes);
/* Removes the state and both outputs. */
void pair_forget(void);
/* Removes files with bytes that stood behind a commit of an output, see stream/durable/tail.h: how many there were. */
int pair_sweep(void);
/* Whether both outputs are, unpacked, those of the undisturbed run. Unless `quiet`, stderr has where they are not. */
bool pair_is_right(bool quiet);

/* The scenario's step, scaled; under torture, 1. */
uint64_t pair_step(uint64_t full, uint64_t sanitizer, uint64_t quick);

typedef struct pair_test {
    const char *name;
    CMUnitTestFunction run;
} pair_test;

/* The tests on each scenario, which `set_up` has as its state, or on that which the command line names. What main returns. */
int pair_main(const char *group, const pair_scenario *scenarios, size_t scenario_count,
              const pair_test *tests, size_t test_count, CMFixtureFunction set_up,
              CMFixtureFunction tear_down, int count, char **values);

#endif
