/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_KEYS_H
#define TAMIS_TEST_REDIS_KEYS_H

/* Keys, and filters for them on any servers. */

#include <tamis/experimental/redis.h>

#include "support/redis_calls.h"

enum { NUMBERS = 1 << 18 };

extern tamis_error err; /* of the last call that failed */
extern tamis_key keys[NUMBERS];

/* Fills `keys`. Call in the set-up of the group. */
void make_numbers(void);

/* Opens a filter on these servers, or makes it if the name has parameters. `servers` NULL: the name is a
 * URI. */
tamis_filter *open_on(tamis_redis *servers, const char *name);
/* Makes a filter in memory, of kind blocked, for a rate of 1e-3, with keys from .. from + count - 1. */
tamis_filter *make_filter(uint64_t expect, size_t from, size_t count);
/* Adds the keys, and checks that all are answered. */
void add_keys(tamis_filter *filter, size_t from, size_t count);
size_t count_present(const tamis_filter *filter, size_t from, size_t count);
/* Checks that the filter has the first `count` keys. */
void assert_all_in(const tamis_filter *filter, size_t count);

#endif
