/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_STATES_H
#define TAMIS_TEST_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/tamis.h>

#include "support/scratch.h"

/* States for tests, whose keys are numbers. Nothing here asserts: what fails is told in `states_err`. */

extern tamis_error states_err;

/* Filters of every kind that a state can have. */
typedef struct states_make {
    const char *name;
    tamis_kind kind;
    tamis_scheme scheme;
    uint64_t expect;
    double fpr;
    uint64_t memory; /* at most, of one that grows; 0: no limit */
    bool frozen;     /* as in tamis_filter_options */
    bool small;      /* tamis_plan_start_small */
} states_make;

enum { STATES_MAKES = 7, STATES_GROWING = 0, STATES_SMALL = 3 /* its snapshot is of a few KiB */ };
extern const states_make states_makes[STATES_MAKES];

/* Opens the one in a folder, or makes it; options.secret is right. */
tamis_status states_open(tamis_state **state, const states_make *make, const char *folder,
                         const tamis_allocator *allocator);
/* What states_open gives to tamis_state_open; plan is NULL. */
tamis_state_options states_options(const states_make *make, const tamis_allocator *allocator);

/* Adds so many numbers to the filter and logs those that were fresh. */
tamis_status states_add(tamis_state *state, uint64_t from, uint64_t count);
/* The account is that text. */
tamis_status states_commit(tamis_state *state, const char *account);
/* Whether the last account is that text. */
bool states_is_at(const tamis_state *state, const char *account);

/* The filter as a file would have it. */
void states_encode(const tamis_state *state, test_bytes *bytes);
uint64_t states_keys(const tamis_state *state);
tamis_state_info states_told(const tamis_state *state);

/* Fixtures of cmocka, of tests in which no power is lost: a scratch folder in memory, syncs that do nothing, and, at the end, no
 * descriptor more than before. Calls of the system that a test replaces are put back. */
int states_set_up(void **state);
int states_tear_down(void **state);

#endif
