/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_INT_H
#define TAMIS_SERVICE_GUARD_GUARD_INT_H

#include <stdatomic.h>

#include <tamis/experimental/guard.h>
#include <tamis/hash.h>

#include "base/failure.h"
#include "service/guard/guard_cache.h"
#include "service/guard/guard_entries.h"
#include "service/guard/guard_filter.h"
#include "service/guard/guard_listener.h"
#include "service/guard/guard_lookups.h"
#include "service/guard/guard_news.h"
#include "service/guard/guard_redis_filter.h"

/* What tamis_guard_stats counts. Any thread adds to it. */
typedef struct guard_counters {
    atomic_uint_fast64_t absent, cache_hits, redis_hits, loads, failed_loads, missing_loads, joined, refused,
        timeouts, redis_errors, load_us;
    atomic_uint_fast64_t load_steps[TAMIS_GUARD_LATENCY_STEPS];
} guard_counters;

static inline void count_up(atomic_uint_fast64_t *counter, uint64_t by) {
    atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

struct tamis_guard {
    tamis_allocator memory;
    tamis_guard_options options; /* with all defaults; its pointers are used by tamis_guard_open alone */
    tamis_guard_source source;
    char name[64];
    tamis_hasher *hasher;
    uint64_t hasher_id;       /* tamis_hash.hasher_id of its hashes */
    unsigned char secret[32]; /* of the hasher and of all filters */
    guard_cache *cache;       /* NULL: no level 2 */
    guard_entries *entries;   /* NULL: no level 3 */
    guard_lookups *lookups;
    guard_filter *filter;             /* NULL: the source has no `scan`, and there is no file */
    guard_redis_filter *redis_filter; /* NULL: there is none */
    guard_news *news;                 /* NULL: no level 3, or options.without_puts */
    guard_listener *listener;         /* NULL: the source has no `listen` */
    guard_counters counters;
};

static const uint64_t GUARD_NS_OF_MS = 1000000;

enum { GUARD_BATCH = 256 }; /* keys that are hashed and looked up together */

/* Returns a 128-bit hash for the cache and the lookups. */
static inline guard_hash guard_hash_of(const tamis_hash *hash) {
    return (guard_hash){hash->word[0], hash->word[1]};
}

/* Returns the pause after a failure, in milliseconds: `min` after the first one, doubled for each further one,
 * and at most `max`. `pause`: the former one; 0: there was none. */
static inline uint32_t guard_next_pause(uint32_t pause, uint32_t min, uint32_t max) {
    return pause == 0 ? min : pause > max / 2 ? max : 2 * pause;
}

/* Reports an error that was kept: copies it to *err and returns its status. TAMIS_OK: there was none. */
static inline tamis_status guard_report_error(const tamis_error *why, tamis_error *err) {
    return why->status == TAMIS_OK ? TAMIS_OK
                                   : tamis__fail(err, why->status, why->sys_errno, "%s", why->text);
}

/* True if the filter is in Redis, and no key may pass without its answer. */
static inline bool guard_needs_redis_filter(const tamis_guard *guard) {
    return guard->redis_filter && guard->options.without_filter == TAMIS_GUARD_CLOSED;
}

/* Returns a time in nanoseconds, of a clock that does not stop in suspend; see guard_clock.c. */
uint64_t tamis__guard_now(void);
/* Returns an error for a source that returns a status without a message. */
tamis_error tamis__guard_no_message(const tamis_guard *guard);
/* Returns the cached answer with a reference, or NULL. A silent guard does not use nulls: their rows may
 * exist by now. */
guard_blob *tamis__guard_find_cached(tamis_guard *guard, guard_hash hash, uint64_t now);
/* Returns TAMIS_E_BUSY: the filter does not answer, and without_filter is TAMIS_GUARD_CLOSED. */
tamis_status tamis__guard_fail_filter(const tamis_guard *guard, tamis_error *err);
/* TAMIS_E_INVALID: an empty key. TAMIS_E_TOO_LONG: more than TAMIS_GUARD_KEY_MAX bytes. */
tamis_status tamis__guard_check_key(const tamis_guard *guard, tamis_key key, tamis_error *err);

#endif
