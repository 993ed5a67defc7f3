/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_WHOLE_H
#define TAMIS_TEST_REDIS_WHOLE_H

#include <tamis/experimental/redis.h>

#include "support/redis_server.h"

/* Tests all operations on whole filters, with a filter `whole` of many partitions, on any servers. Fails
 * the test on an error. */
void redis_whole_filters(tamis_redis *redis);
/* Fails the test if a server still has a key of it that does not expire. */
void redis_whole_expires(redis_server *servers, size_t count);

#endif
