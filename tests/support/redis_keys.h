/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_KEYS_H
#define TAMIS_TEST_REDIS_KEYS_H

/* Keys, and filters of whatever servers that are to have them. */

#include <tamis/redis.h>

#include "support/redis_calls.h"

enum { NUMBERS = 1 << 18 };

extern tamis_error err; /* of the last call that failed */
extern tamis_key keys[NUMBERS];

/* Of the group: makes them. */
void make_numbers(void);

/* Opened, or made where the name has the parameters; on these servers (NULL: the name is a URI). */
tamis_filter *open_on(tamis_redis *servers, const char *name);
/* In memory, of kind blocked, at a rate of 1e-3, with `count` of keys. */
tamis_filter *make_filter(uint64_t expect, size_t from, size_t count);
/* All of them are answered. */
void add_keys(tamis_filter *filter, size_t from, size_t count);
size_t count_present(const tamis_filter *filter, size_t from, size_t count);
/* The first `count` are in. */
void assert_all_in(const tamis_filter *filter, size_t count);

#endif
