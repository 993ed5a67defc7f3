/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Reading: a batch is hashed, looked up in the filter, and the rest of it in the cache. No step waits. What
 * is left becomes requests, and tamis_guard_get_many waits for those together.
 */
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "service/guard/guard_int.h"
#include "service/guard/guard_lookups.h"

tamis_status tamis__guard_check_key(const tamis_guard *guard, tamis_key key, tamis_error *err) {
    if (key.size == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: an empty key; no row has one", guard->name);
    if (key.size > TAMIS_GUARD_KEY_MAX)
        return tamis__fail(err, TAMIS_E_TOO_LONG, 0, "%s: a key of %zu bytes; a key has at most %zu bytes",
                           guard->name, key.size, TAMIS_GUARD_KEY_MAX);
    return TAMIS_OK;
}

/* ---- levels 1 and 2 ---- */

guard_blob *tamis__guard_find_cached(tamis_guard *guard, guard_hash hash, uint64_t now) {
    guard_blob *blob = guard->cache ? tamis__guard_cache_find(guard->cache, hash, now) : NULL;
    if (!blob || !tamis__guard_blob_is_null(blob) || !guard->news ||
        tamis__guard_news_live_epoch(guard->news, now))
        return blob;
    tamis__guard_blob_release(blob);
    return NULL;
}

/* Up to GUARD_BATCH keys. */
typedef struct find_batch {
    const tamis_key *keys;
    size_t count;
    tamis_guard_value *values;
    tamis_hash hashes[GUARD_BATCH];
} find_batch;

/* Answers pending keys that are in the cache. */
static void find_in_cache(tamis_guard *guard, const find_batch *batch) {
    size_t pending = 0, hits = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->values[i].outcome != TAMIS_GUARD_PENDING)
            continue;
        tamis__guard_cache_prefetch(guard->cache, guard_hash_of(&batch->hashes[i]));
        pending++;
    }
    if (pending == 0)
        return;
    const uint64_t now = tamis__guard_now();
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->values[i].outcome != TAMIS_GUARD_PENDING)
            continue;
        guard_blob *blob = tamis__guard_find_cached(guard, guard_hash_of(&batch->hashes[i]), now);
        if (!blob)
            continue;
        tamis__guard_blob_move(blob, &batch->values[i]);
        hits++;
    }
    if (hits)
        count_up(&guard->counters.cache_hits, hits);
}

/* Answers keys that are certainly absent. */
static tamis_status find_in_filter(tamis_guard *guard, const find_batch *batch, tamis_error *err) {
    tamis_answer answers[GUARD_BATCH];
    uint64_t absent = 0;
    const uint64_t now = guard->news ? tamis__guard_now() : 0; /* only news need a time */
    const tamis_hash *hashes = tamis__guard_filter_needs_hashes(guard->filter) ? batch->hashes : NULL;
    if (!tamis__guard_filter_find(guard->filter, batch->keys, hashes, batch->count, now, answers)) {
        if (guard->options.without_filter == TAMIS_GUARD_OPEN)
            return TAMIS_OK;
        return tamis__guard_fail_filter(guard, err);
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (answers[i] != TAMIS_ABSENT)
            continue;
        batch->values[i].outcome = TAMIS_GUARD_MISSING;
        absent++;
    }
    if (absent)
        count_up(&guard->counters.absent, absent);
    return TAMIS_OK;
}

/* Hashes the pending keys, one run of neighbours after another. */
static tamis_status hash_pending(const tamis_guard *guard, find_batch *batch, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (size_t i = 0, end; status == TAMIS_OK && i < batch->count; i = end + 1) {
        for (end = i; end < batch->count && batch->values[end].outcome == TAMIS_GUARD_PENDING;)
            end++;
        if (end > i)
            status = tamis_hash_many(guard->hasher, batch->keys + i, end - i, batch->hashes + i, err);
    }
    return status;
}

/* A filter that hashes keys by itself comes first: keys that it answers need no second hash. */
static tamis_status find_batch_of(tamis_guard *guard, find_batch *batch, tamis_error *err) {
    const bool is_first = guard->filter && !tamis__guard_filter_needs_hashes(guard->filter);
    if (guard_needs_redis_filter(guard) && !tamis__guard_redis_filter_works(guard->redis_filter))
        return tamis__guard_fail_filter(guard, err);
    tamis_status status = is_first ? find_in_filter(guard, batch, err) : TAMIS_OK;
    if (status == TAMIS_OK)
        status = hash_pending(guard, batch, err);
    if (status == TAMIS_OK && guard->filter && !is_first)
        status = find_in_filter(guard, batch, err);
    if (status == TAMIS_OK && guard->cache)
        find_in_cache(guard, batch);
    return status;
}

/* Makes all answers pending, and checks the keys. */
static tamis_status check_keys(const tamis_guard *guard, const tamis_key *keys, size_t count,
                               tamis_guard_value *values, tamis_error *err) {
    memset(values, 0, count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        if (keys[i].size - 1 >= TAMIS_GUARD_KEY_MAX)
            return tamis__guard_check_key(guard, keys[i], err);
    return TAMIS_OK;
}

tamis_status tamis_guard_find_many(tamis_guard *guard, const tamis_key *keys, size_t count,
                                   tamis_guard_value *values, tamis_error *err) {
    TAMIS__NEED(guard, err);
    TAMIS__NEED_IF(count, keys, err);
    TAMIS__NEED_IF(count, values, err);
    if (count == 0)
        return TAMIS_OK;
    tamis_status status = check_keys(guard, keys, count, values, err);
    for (size_t pos = 0; status == TAMIS_OK && pos < count; pos += GUARD_BATCH) {
        find_batch batch;
        batch.keys = keys + pos;
        batch.values = values + pos;
        batch.count = count - pos < GUARD_BATCH ? count - pos : GUARD_BATCH;
        status = find_batch_of(guard, &batch, err);
    }
    return status;
}

/* ---- requests ---- */

tamis_status tamis_guard_request(tamis_guard *guard, tamis_key key, tamis_guard_done done, void *context,
                                 tamis_error *err) {
    TAMIS__NEED(guard, err);
    TAMIS__NEED(done, err);
    tamis_hash hash;
    guard_blob *ready = NULL;
    tamis_status status = tamis__guard_check_key(guard, key, err);
    if (status == TAMIS_OK)
        status = tamis_hash_many(guard->hasher, &key, 1, &hash, err);
    if (status != TAMIS_OK)
        return status;
    const guard_request request = {key, guard_hash_of(&hash), done, context};
    status = tamis__guard_lookups_add(guard->lookups, &request, &ready, err);
    if (status != TAMIS_OK || !ready)
        return status;
    count_up(&guard->counters.cache_hits, 1);
    return tamis__guard_lookups_answer(guard->lookups, &request, ready, err);
}

/* ---- all levels ---- */

/* A call of tamis_guard_get_many that waits for requests. */
typedef struct get_call {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    size_t waiting;
    tamis_guard_value *values; /* of all keys of the call */
    size_t failed;             /* lowest key without an answer; SIZE_MAX: none */
    tamis_error why;
} get_call;

/* One request of it. */
typedef struct get_item {
    get_call *call;
    tamis_guard_value *value;
} get_item;

static void note_error(get_call *call, const tamis_guard_value *value, const tamis_error *why) {
    const size_t number = (size_t)(value - call->values);
    if (number >= call->failed)
        return;
    call->failed = number;
    call->why = *why;
}

static void finish_item(void *context, tamis_status status, tamis_guard_value *value,
                        const tamis_error *why) {
    const get_item *item = context;
    get_call *call = item->call;
    pthread_mutex_lock(&call->mutex);
    if (status == TAMIS_OK) {
        *item->value = *value;
        *value = (tamis_guard_value)TAMIS_GUARD_VALUE_INIT;
    } else {
        note_error(call, item->value, why);
    }
    if (--call->waiting == 0)
        pthread_cond_signal(&call->cond);
    pthread_mutex_unlock(&call->mutex);
}

static void request_item(tamis_guard *guard, get_item *item, const guard_request *request) {
    tamis_error why = TAMIS_ERROR_INIT;
    guard_blob *ready = NULL;
    get_call *call = item->call;
    pthread_mutex_lock(&call->mutex);
    call->waiting++;
    pthread_mutex_unlock(&call->mutex);
    const tamis_status status = tamis__guard_lookups_add(guard->lookups, request, &ready, &why);
    if (status == TAMIS_OK && !ready)
        return;
    pthread_mutex_lock(&call->mutex);
    call->waiting--;
    if (status != TAMIS_OK)
        note_error(call, item->value, &why);
    pthread_mutex_unlock(&call->mutex);
    if (!ready)
        return;
    count_up(&guard->counters.cache_hits, 1);
    tamis__guard_blob_move(ready, item->value);
}

/* Requests the pending keys of a batch, with an item for each. */
static void request_pending(tamis_guard *guard, const find_batch *batch, get_call *call, get_item *items) {
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->values[i].outcome != TAMIS_GUARD_PENDING)
            continue;
        get_item *item = items++;
        *item = (get_item){call, &batch->values[i]};
        const guard_request request = {batch->keys[i], guard_hash_of(&batch->hashes[i]), finish_item, item};
        request_item(guard, item, &request);
    }
}

/* Waits for all requests of a call. */
static tamis_status wait_for_items(get_call *call, tamis_error *err) {
    pthread_mutex_lock(&call->mutex);
    while (call->waiting)
        pthread_cond_wait(&call->cond, &call->mutex);
    pthread_mutex_unlock(&call->mutex);
    if (call->failed == SIZE_MAX)
        return TAMIS_OK;
    return tamis__fail(err, call->why.status, call->why.sys_errno, "%s", call->why.text);
}

/* Each key needs an item that lives until its request is answered. A batch may fail to get memory for them:
 * the requests before are waited for all the same. */
typedef struct item_block {
    struct item_block *next;
    get_item items[GUARD_BATCH];
} item_block;

static tamis_status get_batch(tamis_guard *guard, find_batch *batch, get_call *call, item_block **blocks,
                              tamis_error *err) {
    tamis_status status = find_batch_of(guard, batch, err);
    size_t pending = 0;
    for (size_t i = 0; status == TAMIS_OK && i < batch->count; i++)
        pending += batch->values[i].outcome == TAMIS_GUARD_PENDING;
    if (pending == 0)
        return status;
    item_block *block = tamis__alloc(&guard->memory, sizeof *block, _Alignof(item_block));
    if (!block)
        return tamis__fail_nomem(err, guard->name, sizeof *block);
    block->next = *blocks;
    *blocks = block;
    request_pending(guard, batch, call, block->items);
    return TAMIS_OK;
}

static tamis_status get_all(tamis_guard *guard, const tamis_key *keys, size_t count, get_call *call,
                            tamis_error *err) {
    item_block *blocks = NULL;
    tamis_status status = TAMIS_OK;
    for (size_t pos = 0; status == TAMIS_OK && pos < count; pos += GUARD_BATCH) {
        find_batch batch;
        batch.keys = keys + pos;
        batch.values = call->values + pos;
        batch.count = count - pos < GUARD_BATCH ? count - pos : GUARD_BATCH;
        status = get_batch(guard, &batch, call, &blocks, err);
    }
    const tamis_status waited = wait_for_items(call, err);
    while (blocks) {
        item_block *block = blocks;
        blocks = block->next;
        tamis__free(&guard->memory, block, sizeof *block);
    }
    return waited != TAMIS_OK ? waited : status;
}

tamis_status tamis_guard_get_many(tamis_guard *guard, const tamis_key *keys, size_t count,
                                  tamis_guard_value *values, tamis_error *err) {
    TAMIS__NEED(guard, err);
    TAMIS__NEED_IF(count, keys, err);
    TAMIS__NEED_IF(count, values, err);
    if (count == 0)
        return TAMIS_OK;
    tamis_status status = check_keys(guard, keys, count, values, err);
    if (status != TAMIS_OK)
        return status;
    get_call call = {.values = values, .failed = SIZE_MAX, .why = TAMIS_ERROR_INIT};
    (void)pthread_mutex_init(&call.mutex, NULL);
    (void)pthread_cond_init(&call.cond, NULL);
    status = get_all(guard, keys, count, &call, err);
    pthread_cond_destroy(&call.cond);
    pthread_mutex_destroy(&call.mutex);
    return status;
}
