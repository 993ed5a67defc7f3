/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_REDIS_FILTER_H
#define TAMIS_SERVICE_GUARD_GUARD_REDIS_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/experimental/guard.h>
#include <tamis/experimental/redis.h>
#include <tamis/filter.h>

/*
 * A filter in the Redis of a guard, which other programs fill. It is queried there, and never copied: a key
 * is found as soon as its add was answered.
 *
 * A filter that is not there, is damaged, or does not answer gives no answer at all. Only layout tamis notices
 * the loss of a filter.
 */
typedef struct guard_redis_filter guard_redis_filter;

/* Copies name and secret of the options. Does not connect. `redis` must outlive it. TAMIS_E_INVALID: the name;
 * TAMIS_E_UNSUPPORTED: its layout does not notice a loss; TAMIS_E_NOMEM. */
tamis_status tamis__guard_redis_filter_create(guard_redis_filter **filter, tamis_redis *redis,
                                              const tamis_guard_options *options,
                                              const tamis_allocator *memory, tamis_error *err);
void tamis__guard_redis_filter_free(guard_redis_filter *filter);

/* Looks up keys. A handle that failed is opened again. Errors of tamis_redis_filter_open and of lookups;
 * TAMIS_E_UNSUPPORTED: the filter is RedisBloom's. One thread at a time. */
tamis_status tamis__guard_redis_filter_find(guard_redis_filter *filter, const tamis_key *keys, size_t count,
                                            tamis_answer *answers, tamis_error *err);
/* Adds a key. If the last lookup or add was not answered, returns its error at once. The same errors, and
 * TAMIS_E_FULL. Any thread. */
tamis_status tamis__guard_redis_filter_add(guard_redis_filter *filter, tamis_key key, tamis_error *err);

/* True if the last lookup was answered. Any thread. */
bool tamis__guard_redis_filter_works(guard_redis_filter *filter);
/* Returns the error of the last lookup if it failed. Any thread. */
tamis_status tamis__guard_redis_filter_error(guard_redis_filter *filter, tamis_error *err);
/* Waits for the first lookup, and returns its error. TAMIS_E_TIMEOUT. Any thread. */
tamis_status tamis__guard_redis_filter_wait(guard_redis_filter *filter, uint32_t timeout_ms,
                                            tamis_error *err);
void tamis__guard_redis_filter_stats(guard_redis_filter *filter, tamis_guard_stats *stats);

#endif
