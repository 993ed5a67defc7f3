/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_FILTERS_H
#define TAMIS_TEST_REDIS_FILTERS_H

/* Filters of a server of the test's own, and in memory beside them: for a test program of one group. */

#include "support/redis_keys.h"
#include "support/redis_server.h"
#include "support/scratch.h"

extern redis_server server;
extern tamis_redis *redis;

/* Of the group. */
int redis_filters_set_up(void **state);
int redis_filters_tear_down(void **state);
/* Of each test: skips it where there is no redis-server, and empties the server. */
void begin_test(void);

/* Opened, or made where the name has the parameters. */
tamis_filter *open_filter(const char *name);
/* They answer alike for the first `count` keys. */
void assert_same_answers(const tamis_filter *a, const tamis_filter *b, size_t count);
/* The Redis key of partition i, of which there is one. Static storage. */
const char *partition_of(const char *name, int i);

#endif
