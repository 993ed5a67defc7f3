/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_WHOLE_H
#define TAMIS_TEST_REDIS_WHOLE_H

#include <tamis/redis.h>

#include "support/redis_server.h"

/* Does with a filter `whole`, of many partitions, all that can be done with whole filters, on whatever servers these are,
 * and fails the test where one is not what it has to be. */
void redis_whole_filters(tamis_redis *redis);
/* Fails where a server has something left of it that does not expire. */
void redis_whole_expires(redis_server *servers, size_t count);

#endif
