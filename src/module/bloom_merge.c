/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BF.MERGE key source [source...]: adds the items of the sources to the filter at key. If there is none, it
 * becomes a copy of the first source.
 *
 * A union is made only if the rate that was requested still holds. So the filters must have equal sizes, or
 * be of kind fingerprint, which grows. The capacity must suffice for the items of all of them. A compatible
 * filter that has grown is refused: its older sub-filters are full. docs/guide/redis-module-reference.md has
 * the rules.
 *
 * The union is made in a copy, which replaces the filter when all sources are in it. So a command that fails
 * changes nothing. It is sent to replicas as it is, since they have the same filters.
 */
#include <stdio.h>

#include "module/module.h"

/* The filter that is made: one of both. */
typedef struct merge_result {
    tamis_redisbloom *filter;
    tamis_filter *native;
} merge_result;

static void free_result(const merge_result *result) {
    tamis_redisbloom_free(result->filter);
    tamis_filter_free(result->native);
}

static tamis_status begin_with(merge_result *result, const bloom_key *from, tamis_error *err) {
    return from->native ? tamis_filter_copy(&result->native, from->native->filter, err)
                        : tamis_redisbloom_copy(&result->filter, from->filter, err);
}

static tamis_filter_info info_of(const tamis_filter *filter) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_filter_info_get(filter, &info, NULL);
    return info;
}

/* Adds a native filter, and checks that the promise still holds. A Bloom filter that has refused an item is
 * full. With it the union may have no more items, and without one `saturated` says that it has too many. */
static tamis_status add_native(merge_result *result, const tamis_filter *from, tamis_error *err) {
    const tamis_plan before = *tamis_filter_plan(result->native);
    const tamis_filter_info ours = info_of(result->native), theirs = info_of(from);
    uint64_t max = ours.saturated ? ours.added : UINT64_MAX;
    if (theirs.saturated && theirs.added < max)
        max = theirs.added;
    const tamis_status status = tamis_filter_union(result->native, from, err);
    if (status != TAMIS_OK)
        return status;
    const tamis_filter_info merged = info_of(result->native);
    const bool is_over = max < UINT64_MAX ? merged.added > max : merged.saturated;
    const bool is_bloom = tamis_kind_is_bloom(before.kind);
    if (is_bloom ? !is_over : tamis_filter_plan(result->native)->fpr <= before.fpr)
        return TAMIS_OK;
    snprintf(err->text, sizeof err->text,
             "union: more items than the rate allows; make filters of a larger capacity or a smaller rate");
    return TAMIS_E_FULL;
}

static tamis_status add_source(merge_result *result, const bloom_key *from, tamis_error *err) {
    if (!result->filter && !result->native)
        return begin_with(result, from, err);
    if (!result->native != !from->native) {
        snprintf(err->text, sizeof err->text, "union: kinds differ; make all filters of one kind");
        return TAMIS_E_MISMATCH;
    }
    return from->native ? add_native(result, from->native->filter, err)
                        : tamis_redisbloom_union(result->filter, from->filter, err);
}

/* Sets the key to the result, which becomes the key's. */
static void set_key(bloom_key *key, const merge_result *result) {
    if (key->state == FILTER_KEY_EMPTY && result->native)
        native_key_set(key->key, &native_filters, result->native);
    else if (key->state == FILTER_KEY_EMPTY)
        bloom_key_set(key, result->filter);
    else if (result->native)
        native_value_replace(key->native, result->native);
    else
        bloom_key_replace(key, result->filter);
}

/* Adds the filters at `names`, but for that of `key` itself. False: the error is replied. */
static bool add_sources(RedisModuleCtx *ctx, const bloom_key *key, merge_result *result,
                        RedisModuleString **names, int count) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_status status = key->state == FILTER_KEY_FILTER ? begin_with(result, key, &err) : TAMIS_OK;
    bool is_filter = true;
    for (int i = 0; i < count && is_filter && status == TAMIS_OK; i++) {
        bloom_key source = bloom_key_open(ctx, names[i], MODULE_READ);
        is_filter = source.state == FILTER_KEY_FILTER;
        const bool is_same = source.native ? source.native == key->native : source.filter == key->filter;
        if (!is_filter)
            bloom_key_refuse(ctx, &source);
        else if (!is_same)
            status = add_source(result, &source, &err);
        bloom_key_close(&source);
    }
    if (status != TAMIS_OK) {
        char text[sizeof err.text + 8];
        snprintf(text, sizeof text, "ERR %s", err.text);
        server.ReplyWithError(ctx, text);
    }
    return is_filter && status == TAMIS_OK;
}

/* True if the key exists already, or a new filter fits into maxmemory. False: the error is replied. */
static bool fits(RedisModuleCtx *ctx, const bloom_key *key, const merge_result *result) {
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    if (result->filter)
        tamis_redisbloom_info_get(result->filter, &info, NULL);
    const native_value native = {.filter = result->native};
    const uint64_t bytes = result->native ? native_memory(&native) : info.memory;
    if (key->state == FILTER_KEY_FILTER || !module_exceeds_memory(ctx, bytes))
        return true;
    server.ReplyWithError(ctx, "ERR Insufficient memory to create filter");
    return false;
}

int bloom_merge(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    bloom_key key = bloom_key_open(ctx, argv[1], MODULE_READ | MODULE_WRITE);
    merge_result result = {NULL, NULL};
    if (key.state != FILTER_KEY_EMPTY && key.state != FILTER_KEY_FILTER) {
        bloom_key_refuse(ctx, &key);
    } else if (add_sources(ctx, &key, &result, argv + 2, argc - 2) && fits(ctx, &key, &result)) {
        set_key(&key, &result);
        server.ReplicateVerbatim(ctx);
        server.ReplyWithSimpleString(ctx, "OK");
    } else {
        free_result(&result);
    }
    bloom_key_close(&key);
    return MODULE_OK;
}
