/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_STATES_H
#define TAMIS_TEST_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/experimental/state.h>
#include <tamis/tamis.h>

#include "support/scratch.h"

/* States for tests. Their keys are numbers. These functions do not assert: errors are in `states_err`. */

extern tamis_error states_err;

/* A filter for a state. */
typedef struct states_make {
    const char *name;
    tamis_kind kind;
    tamis_scheme scheme;
    uint64_t expect;
    double fpr;
    uint64_t memory; /* memory limit of a growing filter; 0: no limit */
    bool frozen;     /* `frozen` of tamis_filter_options */
    bool small;      /* true to start small (tamis_plan_start_small) */
    uint64_t
        window; /* of a window, in milliseconds; its step is a 24th, and present keys are counted again */
} states_make;

enum {
    STATES_MAKES = 8,
    STATES_GROWING = 0,
    STATES_KEYED = 6,
    STATES_WINDOW = 7,
    STATES_SMALL = 3 /* its snapshot has a few KiB */
};
extern const states_make states_makes[STATES_MAKES];

/* Opens the state in a directory, or makes it, with the right options.secret. */
tamis_status states_open(tamis_state **state, const states_make *make, const char *directory,
                         const tamis_allocator *allocator);
/* Returns the options of states_open, with plan NULL. */
tamis_state_options states_options(const states_make *make, const tamis_allocator *allocator);

/* Adds `count` numbers to the filter and logs those that were absent. In a window, number n has the time of n
 * seconds, and present numbers are logged, too. */
tamis_status states_add(tamis_state *state, uint64_t from, uint64_t count);
/* Commits with that text as the checkpoint. */
tamis_status states_commit(tamis_state *state, const char *checkpoint);
/* True if the last checkpoint is that text. */
bool states_is_at(const tamis_state *state, const char *checkpoint);

/* Encodes the filter as a file. */
void states_encode(const tamis_state *state, test_bytes *bytes);
uint64_t states_keys(const tamis_state *state);
tamis_state_info states_info(const tamis_state *state);

/* cmocka fixtures for tests without a loss of power. The set-up makes a scratch directory in memory and
 * lets syncs do nothing. The tear-down restores replaced system calls and checks that no descriptor was
 * leaked. */
int states_set_up(void **state);
int states_tear_down(void **state);

#endif
