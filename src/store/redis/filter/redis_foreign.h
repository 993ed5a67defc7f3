/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_FILTER_REDIS_FOREIGN_H
#define TAMIS_STORE_REDIS_FILTER_REDIS_FOREIGN_H

#include "store/redis/filter/redis_filter.h"

/* Fetches the filter of RedisBloom in the Redis key with the name of the handle `named`. TAMIS_E_NOT_FOUND,
 * without a message: there is no such key, or the user may not see it. */
tamis_status tamis__redis_fetch_foreign(tamis_filter **filter, const tamis_filter *named, tamis_error *err);

#endif
