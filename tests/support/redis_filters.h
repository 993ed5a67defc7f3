/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_FILTERS_H
#define TAMIS_TEST_REDIS_FILTERS_H

/* Filters on a private server, and filters in memory to compare them with. For a test program with one
 * group. */

#include "support/redis_keys.h"
#include "support/redis_server.h"
#include "support/scratch.h"

extern redis_server server;
extern tamis_redis *redis;

/* Fixtures of the group. */
int redis_filters_set_up(void **state);
int redis_filters_tear_down(void **state);
/* Call at the beginning of each test. Empties the server; skips the test if there is no redis-server. */
void begin_test(void);

/* Opens a filter, or makes it if the name has parameters. */
tamis_filter *open_filter(const char *name);
/* Checks that both filters give the same answers for the first `count` keys. */
void assert_same_answers(const tamis_filter *a, const tamis_filter *b, size_t count);
/* Returns the only Redis key of partition i. Static storage. */
const char *partition_of(const char *name, int i);

#endif
