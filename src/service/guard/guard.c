/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A guard: its options, its life and its statistics.
 *
 *     guard_read.c     levels 1 and 2, and requests for the others
 *     guard_filter.c   level 1
 *     guard_filter_file.c, guard_added_keys.c   its file, and keys that the file may lack
 *     guard_redis_filter.c   level 1 in the Redis, instead of that
 *     guard_lookups.c  requests that wait
 *     guard_clock.c    their life, and the clock thread
 *     guard_redis.c    level 3: the Redis thread
 *     guard_loads.c    level 4: source threads
 *     guard_cache.c    level 2
 *     guard_entries.c  the scripts of level 3
 *     guard_write.c    puts
 *     guard_news.c     keys of puts of other guards
 *     guard_listener.c keys that the database reports
 *     guard_mark.c     puts in progress in this process
 *     guard_value.c    values that several holders share
 *     guard_source.c   functions that a source calls
 *
 * A key is hashed once, with a random secret of this guard. Filter, cache and lookups use that hash. So an
 * attacker who chooses keys cannot choose which of them collide.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tamis/plan.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/versioned.h"
#include "service/guard/guard_int.h"
#include "service/guard/guard_put.h"
#include "service/guard/guard_scan_time.h"

/* ---- options ---- */

static void set_default(uint32_t *field, uint32_t value) {
    if (*field == 0)
        *field = value;
}

static void set_defaults(tamis_guard_options *options) {
    set_default(&options->sessions, 4);
    set_default(&options->keys_max, 10000);
    set_default(&options->timeout_ms, 1000);
    set_default(&options->life_ms, 600000);
    set_default(&options->null_life_ms, 30000);
    set_default(&options->lease_ms, 5000);
    set_default(&options->mark_ms, 10000);
    set_default(&options->cache_life_ms, 1000);
    set_default(&options->scan_ms, options->scan_at ? UINT32_MAX : 86400000);
    set_default(&options->scan_new_ms, 1000);
    if (options->fpr == 0)
        options->fpr = 0.001;
}

/* `has_keys`: the filter comes from elsewhere. */
static tamis_status check_source(const tamis_guard_source *source, bool has_keys, tamis_error *err) {
    if (!source->connect || !source->disconnect || !source->load)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "guard: the source lacks connect, disconnect or load; set all three");
    if (has_keys && source->scan)
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "guard: the filter comes from a file or Redis, and the source has `scan`; use one");
    if (source->listen && !source->scan)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "guard: the source has `listen` without `scan`; set both, or none");
    return TAMIS_OK;
}

enum {
    SESSIONS_MAX = 1024,
    TIME_MAX_MS = 1000000000, /* 11 days: sums of times fit into 32 bits */
    REDIS_PART = 4            /* a call to Redis may take a quarter of the time limit of a request */
};

static tamis_status check_file(const tamis_guard_options *options, tamis_error *err) {
    if (options->redis && !options->without_puts && !options->news_ms)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "guard: a file with Redis and puts needs news_ms, longer than the file is used; "
                           "set it, or without_puts");
    return TAMIS_OK;
}

static bool has_file(const tamis_guard_options *options) {
    return options->filter_file || options->keys_file;
}

static tamis_status check_filter(const tamis_guard_options *options, tamis_error *err) {
    if (!!options->filter_file + !!options->keys_file + !!options->redis_filter > 1)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "guard: two of filter_file, keys_file and redis_filter are set; use one");
    if (options->redis_filter && !options->redis)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "guard: redis_filter needs `redis`; set both");
    if (!options->filter_secret != !options->filter_secret_size ||
        (options->filter_secret && !options->filter_file && !options->redis_filter))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "guard: filter_secret needs filter_secret_size, and filter_file or redis_filter; "
                           "set all three");
    return has_file(options) ? check_file(options, err) : TAMIS_OK;
}

static tamis_status check_options(const tamis_guard_options *options, tamis_error *err) {
    if (!options->source)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "guard: no source; set options.source");
    if (options->without_filter != TAMIS_GUARD_OPEN && options->without_filter != TAMIS_GUARD_CLOSED)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "guard: without_filter is %d; use TAMIS_GUARD_OPEN or TAMIS_GUARD_CLOSED",
                           (int)options->without_filter);
    if (options->sessions > SESSIONS_MAX)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "guard: %u sessions; use at most %d",
                           (unsigned)options->sessions, SESSIONS_MAX);
    if (!(options->fpr >= TAMIS_FPR_MIN && options->fpr <= TAMIS_FPR_MAX))
        return tamis__fail(err, TAMIS_E_INVALID, 0, "guard: fpr is %g; use a rate from %g to %g",
                           options->fpr, TAMIS_FPR_MIN, TAMIS_FPR_MAX);
    if (options->mark_ms > TIME_MAX_MS || options->timeout_ms > TIME_MAX_MS)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "guard: mark_ms %u, timeout_ms %u; use at most %u",
                           (unsigned)options->mark_ms, (unsigned)options->timeout_ms, (unsigned)TIME_MAX_MS);
    if (options->scan_at && tamis__guard_scan_minute(options->scan_at) < 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "guard: scan_at is not a time of day; give one such as \"03:30\"");
    if (options->prefix && strpbrk(options->prefix, "{}"))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "guard: the prefix %s has a brace, which ends a hash tag; leave braces out",
                           options->prefix);
    return check_filter(options, err);
}

static tamis_status read_options(tamis_guard_options *options, tamis_guard_source *source,
                                 const tamis_guard_options *given, tamis_error *err) {
    tamis_status status =
        tamis__read_struct(options, sizeof *options, given, "TAMIS_GUARD_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    set_defaults(options);
    status = check_options(options, err);
    if (status == TAMIS_OK)
        status = tamis__read_struct(source, sizeof *source, options->source, "TAMIS_GUARD_SOURCE_INIT", err);
    return status == TAMIS_OK ? check_source(source, has_file(options) || options->redis_filter, err)
                              : status;
}

/* ---- life ---- */

static tamis_status create_with(tamis_guard *guard, const tamis_hasher_options *options, tamis_error *err) {
    const tamis_key key = {"", 0};
    tamis_hash hash;
    tamis_status status = tamis_hasher_create(&guard->hasher, options, err);
    if (status == TAMIS_OK)
        status = tamis_hash_many(guard->hasher, &key, 1, &hash, err);
    if (status == TAMIS_OK)
        guard->hasher_id = hash.hasher_id;
    return status;
}

static tamis_status create_hasher(tamis_guard *guard, tamis_error *err) {
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    const tamis_status status =
        tamis__random(guard->secret, sizeof guard->secret, "the secret of a guard", err);
    if (status != TAMIS_OK)
        return status;
    options.scheme = TAMIS_SCHEME_SIP;
    options.secret = guard->secret;
    options.secret_size = sizeof guard->secret;
    options.allocator = &guard->memory;
    return create_with(guard, &options, err);
}

/* Longest time from P2 to the return of tamis_guard_put_begin: N1 and the wait. */
#define NEWS_MS(options) (GUARD_PUT_WAIT_MS + (options)->timeout_ms / REDIS_PART + 1)

static tamis_status open_entries(tamis_guard *guard, tamis_error *err) {
    const tamis_guard_options *options = &guard->options;
    const guard_entries_options entries = {.redis = options->redis,
                                           .prefix = options->prefix ? options->prefix : "tamis:",
                                           .life_ms = options->life_ms,
                                           .null_life_ms = options->null_life_ms,
                                           .lease_ms = options->lease_ms,
                                           .mark_ms = options->mark_ms + NEWS_MS(options),
                                           .timeout_ms = options->timeout_ms / REDIS_PART + 1,
                                           .allocator = &guard->memory};
    return tamis__guard_entries_open(&guard->entries, &entries, err);
}

/* A server that cannot be reached may be started later, so the guard is opened without it. Other errors need
 * another configuration. Keeps the error in *down, or returns it. */
static tamis_status accept_unreachable(const tamis_error *why, tamis_error *down, tamis_error *err) {
    if (why->status != TAMIS_E_IO && why->status != TAMIS_E_TIMEOUT)
        return guard_report_error(why, err);
    *down = *why;
    return TAMIS_OK;
}

/* Connects to Redis and to the source. */
static tamis_status reach_all(tamis_guard *guard, guard_reached *reached, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    if (guard->entries)
        why.status = tamis__guard_entries_reach(guard->entries, &why);
    tamis_status status = accept_unreachable(&why, &reached->redis, err);
    if (status != TAMIS_OK)
        return status;
    why = tamis__guard_no_message(guard);
    why.status =
        guard->source.connect(guard->source.context, guard->options.timeout_ms, &reached->session, &why);
    return accept_unreachable(&why, &reached->source, err);
}

/* Opens all levels of a guard, and starts its threads. With is_held, no scan begins yet. After a failure,
 * tamis_guard_close frees what was opened. */
static tamis_status open_levels(tamis_guard *guard, bool is_held, tamis_error *err) {
    const tamis_guard_options *options = &guard->options;
    guard_reached reached = {.source = TAMIS_ERROR_INIT, .redis = TAMIS_ERROR_INIT};
    tamis_status status = create_hasher(guard, err);
    if (status == TAMIS_OK && options->cache_bytes)
        status = tamis__guard_cache_create(&guard->cache, options->cache_bytes, &guard->memory, err);
    if (status == TAMIS_OK && options->redis)
        status = open_entries(guard, err);
    if (status == TAMIS_OK && options->redis_filter)
        status = tamis__guard_redis_filter_create(
            &guard->redis_filter, tamis__guard_entries_redis(guard->entries), options, &guard->memory, err);
    if (status == TAMIS_OK)
        status = reach_all(guard, &reached, err);
    if (status == TAMIS_OK)
        status = tamis__guard_lookups_create(guard, &reached, err);
    if (status == TAMIS_OK && guard->entries && !options->without_puts)
        status = tamis__guard_news_create(&guard->news, guard, err);
    if (status == TAMIS_OK && (guard->source.scan || has_file(options)))
        status = tamis__guard_filter_create(&guard->filter, guard, is_held, err);
    if (status == TAMIS_OK && guard->news)
        status = tamis__guard_news_start(guard->news, &reached.redis, err);
    if (status == TAMIS_OK && guard->source.listen)
        status = tamis__guard_listener_create(&guard->listener, guard, err);
    return status;
}

static tamis_status open_guard(tamis_guard **guard, const tamis_guard_options *options, bool is_held,
                               tamis_error *err) {
    TAMIS__NEED(guard, err);
    tamis_guard_options checked = TAMIS_GUARD_OPTIONS_INIT;
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_status status = read_options(&checked, &source, options, err);
    if (status != TAMIS_OK)
        return status;
    const tamis_allocator memory = tamis__allocator_resolve(checked.allocator);
    tamis_guard *opened = tamis__alloc(&memory, sizeof *opened, _Alignof(tamis_guard));
    if (!opened)
        return tamis__fail_nomem(err, "guard", sizeof *opened);
    opened->memory = memory;
    opened->options = checked;
    opened->source = source;
    snprintf(opened->name, sizeof opened->name, "%s", checked.name ? checked.name : "guard");
    status = open_levels(opened, is_held, err);
    if (status == TAMIS_OK)
        *guard = opened;
    else
        tamis_guard_close(opened);
    return status;
}

tamis_status tamis_guard_open(tamis_guard **guard, const tamis_guard_options *options, tamis_error *err) {
    return open_guard(guard, options, false, err);
}

tamis_status tamis__guard_open_held(tamis_guard **guard, const tamis_guard_options *options,
                                    tamis_error *err) {
    return open_guard(guard, options, true, err);
}

void tamis__guard_begin_scans(tamis_guard *guard) {
    if (guard->filter)
        tamis__guard_filter_begin(guard->filter);
}

void tamis_guard_close(tamis_guard *guard) {
    if (!guard)
        return;
    const tamis_allocator memory = guard->memory;
    tamis__guard_news_stop(guard->news);
    tamis__guard_listener_stop(guard->listener);
    tamis__guard_filter_stop(guard->filter);
    tamis__guard_lookups_free(guard->lookups);
    tamis__guard_filter_free(guard->filter);
    tamis__guard_news_free(guard->news);
    tamis__guard_listener_free(guard->listener);
    tamis__guard_redis_filter_free(guard->redis_filter);
    if (guard->entries)
        tamis__guard_entries_close(guard->entries);
    if (guard->cache)
        tamis__guard_cache_free(guard->cache);
    tamis_hasher_free(guard->hasher);
    tamis__free(&memory, guard, sizeof *guard);
}

tamis_status tamis_guard_wait_for_filter(tamis_guard *guard, uint32_t timeout_ms, tamis_error *err) {
    TAMIS__NEED(guard, err);
    if (guard->redis_filter)
        return tamis__guard_redis_filter_wait(guard->redis_filter, timeout_ms, err);
    return guard->filter ? tamis__guard_filter_wait(guard->filter, timeout_ms, err) : TAMIS_OK;
}

tamis_status tamis_guard_filter_error(tamis_guard *guard, tamis_error *err) {
    TAMIS__NEED(guard, err);
    if (guard->redis_filter)
        return tamis__guard_redis_filter_error(guard->redis_filter, err);
    return guard->filter ? tamis__guard_filter_error(guard->filter, err) : TAMIS_OK;
}

tamis_status tamis__guard_fail_filter(const tamis_guard *guard, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_BUSY, 0, "%s: its filter cannot answer now; ask again later",
                       guard->name);
}

/* ---- statistics ---- */

tamis_status tamis_guard_health(tamis_guard *guard, tamis_guard_part part, tamis_error *err) {
    TAMIS__NEED(guard, err);
    if (part == TAMIS_GUARD_SOURCE)
        return tamis__guard_lookups_check_source(guard->lookups, err);
    if (part == TAMIS_GUARD_QUERY)
        return tamis__guard_lookups_check_query(guard->lookups, err);
    return guard->news ? tamis__guard_news_check(guard->news, tamis__guard_now(), err)
                       : tamis__guard_lookups_check_redis(guard->lookups, err);
}

static uint64_t count_of(const atomic_uint_fast64_t *counter) {
    return atomic_load_explicit((atomic_uint_fast64_t *)(uintptr_t)counter, memory_order_relaxed);
}

static void fill_counts(tamis_guard_stats *stats, const guard_counters *counters) {
    stats->absent = count_of(&counters->absent);
    stats->cache_hits = count_of(&counters->cache_hits);
    stats->redis_hits = count_of(&counters->redis_hits);
    stats->loads = count_of(&counters->loads);
    stats->failed_loads = count_of(&counters->failed_loads);
    stats->missing_loads = count_of(&counters->missing_loads);
    stats->joined = count_of(&counters->joined);
    stats->refused = count_of(&counters->refused);
    stats->timeouts = count_of(&counters->timeouts);
    stats->redis_errors = count_of(&counters->redis_errors);
    stats->load_us = count_of(&counters->load_us);
    for (size_t i = 0; i < TAMIS_GUARD_LATENCY_STEPS; i++)
        stats->load_steps[i] = count_of(&counters->load_steps[i]);
}

tamis_status tamis_guard_stats_get(const tamis_guard *guard, tamis_guard_stats *stats, tamis_error *err) {
    TAMIS__NEED(guard, err);
    tamis_guard_stats filled = TAMIS_GUARD_STATS_INIT;
    const tamis_status status = tamis__check_struct(stats, "TAMIS_GUARD_STATS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    fill_counts(&filled, &guard->counters);
    filled.waiting = tamis__guard_lookups_count(guard->lookups);
    filled.is_down = tamis__guard_lookups_check_source(guard->lookups, NULL) != TAMIS_OK;
    filled.live_fpr = (double)NAN;
    if (guard->filter)
        tamis__guard_filter_stats(guard->filter, &filled);
    if (guard->redis_filter)
        tamis__guard_redis_filter_stats(guard->redis_filter, &filled);
    if (guard->redis_filter && filled.missing_loads + filled.absent > 0)
        filled.live_fpr = (double)filled.missing_loads / (double)(filled.missing_loads + filled.absent);
    if (guard->listener)
        tamis__guard_listener_stats(guard->listener, &filled);
    filled.is_silent = guard->news && !tamis__guard_news_live_epoch(guard->news, tamis__guard_now());
    if (guard->cache)
        tamis__guard_cache_count(guard->cache, &filled.cache_entries, &filled.cache_bytes);
    tamis__write_struct(stats, &filled, sizeof filled);
    return TAMIS_OK;
}
