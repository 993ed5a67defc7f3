/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A filter of a server into memory: GETRANGE of chunks, some of them on their way at once, not more, since the server
 * holds the replies in its memory until they are read. What the layout checks after a batch is checked at the end, so a
 * partition that was gone does not become one of zeros.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "store/redis/bitmap_move.h"

typedef struct fetching {
    const tamis_filter *there;
    const tamis__redis_filter *at;
    uint64_t first;  /* chunk of the run */
    uint64_t *words; /* of the filter, or NULL: */
    uint8_t *bytes;  /* of the chunks of a run */
} fetching;

static uint32_t slot_of_get(void *context, size_t i) {
    const fetching *all = context;
    return tamis__redis_key_slot(all->at, tamis__chunk_of(all->there, all->first + i).key);
}

static bool put_get(void *context, size_t i, tamis__link *link) {
    const fetching *all = context;
    const tamis__chunk chunk = tamis__chunk_of(all->there, all->first + i);
    char name[TAMIS__REDIS_KEY];
    size_t size = all->at->layout->key_name(all->at, chunk.key, name);
    tamis__link_command(link, 4);
    tamis__link_text(link, "GETRANGE");
    tamis__link_word(link, name, size);
    tamis__link_number(link, (int64_t)chunk.from);
    tamis__link_number(link, (int64_t)(chunk.from + chunk.size) - 1);
    return true;
}

/* Bytes past the end of a bitmap are zeros; both places were so before. */
static tamis_status take_get(void *context, size_t i, const tamis__reply *reply, bool resent,
                             tamis_error *err) {
    const fetching *all = context;
    const tamis__chunk chunk = tamis__chunk_of(all->there, all->first + i);
    (void)resent;
    if (reply->type != TAMIS__REPLY_STRING || reply->size > chunk.size)
        return tamis__redis_strange(all->at, err);
    if (all->words)
        tamis__chunk_to_words(all->words, chunk.at, (const uint8_t *)reply->text, reply->size);
    else
        memcpy(all->bytes + i * TAMIS__CHUNK, reply->text, reply->size);
    return TAMIS_OK;
}

/* Into all->words, or all->bytes and from there to the sink. */
static tamis_status fetch(fetching *all, tamis_redis_sink sink, void *context, tamis_error *err) {
    const uint64_t chunks = tamis__chunk_count(all->there);
    tamis_status status = TAMIS_OK;
    for (all->first = 0; all->first < chunks && status == TAMIS_OK; all->first += TAMIS__CHUNKS_AT_ONCE) {
        const uint64_t left = chunks - all->first;
        const size_t some = left < TAMIS__CHUNKS_AT_ONCE ? (size_t)left : TAMIS__CHUNKS_AT_ONCE;
        const tamis__exchange exchange = {.count = some,
                                          .context = all,
                                          .ask = put_get,
                                          .take = take_get,
                                          .what = all->at->uri->named,
                                          .slot = slot_of_get};
        if (all->bytes)
            memset(all->bytes, 0, some * TAMIS__CHUNK);
        status = tamis__redis_run(all->at->redis, &exchange, NULL, err);
        for (size_t i = 0; sink && i < some && status == TAMIS_OK; i++)
            status = sink(context, all->bytes + i * TAMIS__CHUNK,
                          (size_t)tamis__chunk_of(all->there, all->first + i).size, err);
    }
    return status;
}

static tamis_status check_layout(const tamis_filter *there, tamis_error *err) {
    if (!there->remote)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "pull: the filter is in memory; name one of a server");
    return tamis__redis_check_moves(tamis__redis_of(there), err);
}

static tamis_status check_there(const tamis_filter *there, tamis_error *err) {
    tamis_status status = check_layout(there, err);
    if (status != TAMIS_OK)
        return status;
    const tamis__layout *layout = tamis__redis_of(there)->layout;
    return layout->refresh ? layout->refresh(there, err) : TAMIS_OK;
}

/* ---- a layout of one Redis key ---- */

static tamis_status too_long(const tamis__redis_filter *at, const tamis_plan *plan, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: has bits past the %" PRIu64
                       " that its parameters come to; give those that it was made with",
                       at->redis->to.shown, at->uri->named, plan->bits);
}

/* What can be told from the size of the bitmap. */
static tamis_status check_size(const tamis_filter *there, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(there);
    char name[TAMIS__REDIS_KEY];
    int64_t size;
    if (at->layout->settle)
        return TAMIS_OK;
    const tamis_key words[] = {{"STRLEN", 6}, {name, at->layout->key_name(at, 0, name)}};
    tamis_status status = tamis__redis_command(at, words, 2, &size, err);
    if (status == TAMIS_OK && size <= 0 && !at->layout->config_name)
        return tamis__fail(
            err, TAMIS_E_NOT_FOUND, 0,
            "redis %s: %s: there is no such filter, or nothing was ever added to it; check the name",
            at->redis->to.shown, at->uri->named);
    if (status == TAMIS_OK && (uint64_t)size > at->layout->bytes_in(there, 0))
        return too_long(at, &there->plan, err);
    return status;
}

static tamis_status check_end(const tamis_filter *there, const uint64_t *words, tamis_error *err) {
    const uint64_t bits = there->plan.bits;
    if (bits % 64 == 0 || words[bits / 64] >> bits % 64 == 0)
        return TAMIS_OK;
    return too_long(tamis__redis_of(there), &there->plan, err);
}

/* ---- into memory ---- */

/* Its hasher is a copy of that of `there`: the secret itself is not known any more. */
static tamis_status create_like(tamis_filter **filter, const tamis_filter *there, tamis_error *err) {
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan plan = there->plan;
    tamis_filter *made;
    options.allocator = &there->allocator;
    options.allow_over_capacity = true; /* as it is there: nobody refuses a key */
    if (plan.scheme == TAMIS_SCHEME_SIP)
        plan.scheme = TAMIS_SCHEME_XXH3;
    snprintf(plan.reason, sizeof plan.reason, "pulled from a Redis");
    tamis_status status = tamis_filter_create(&made, &plan, &options, err);
    if (status != TAMIS_OK)
        return status;
    tamis_hasher_free(made->hasher);
    made->hasher = NULL;
    made->plan.scheme = there->plan.scheme;
    made->metadata.fields.key_type = there->metadata.fields.key_type;
    status = tamis__hasher_copy(&made->hasher, there->hasher, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(made);
        return status;
    }
    *filter = made;
    return TAMIS_OK;
}

/* *again: it was replaced meanwhile, and *made is not to be used. */
static tamis_status pull_once(const tamis_filter *there, tamis_filter *made, bool *again, tamis_error *err) {
    size_t count;
    fetching all = {.there = there, .at = tamis__redis_of(there)};
    all.words = tamis__bloom_words_mut(made, &count);
    tamis_status status = fetch(&all, NULL, NULL, err);
    if (status == TAMIS_OK)
        status = check_end(there, all.words, err);
    if (status == TAMIS_OK)
        status = tamis__redis_check(there, false, again, err);
    if (status == TAMIS_OK && !*again)
        tamis__bloom_filled_estimate(made);
    return status;
}

tamis_status tamis_redis_pull(const tamis_filter *there, tamis_filter **pulled, tamis_error *err) {
    TAMIS__NEED(there, err);
    TAMIS__NEED(pulled, err);
    tamis_status status = check_there(there, err);
    for (bool again = true; again && status == TAMIS_OK;) {
        tamis_filter *made;
        again = false;
        status = check_size(there, err);
        if (status == TAMIS_OK)
            status = create_like(&made, there, err);
        if (status != TAMIS_OK)
            return status;
        status = pull_once(there, made, &again, err);
        if (status == TAMIS_OK && !again)
            *pulled = made;
        else
            tamis_filter_free(made);
    }
    return status;
}

/* ---- raw bitmaps ---- */

static uint64_t bytes_of(const tamis_filter *there) {
    const tamis__redis_filter *at = tamis__redis_of(there);
    return (at->keys - 1) * at->layout->bytes_in(there, 0) + at->layout->bytes_in(there, at->keys - 1);
}

tamis_status tamis_redis_from_bitmap(const tamis_filter *there, const void *bytes, size_t size,
                                     tamis_filter **made, tamis_error *err) {
    TAMIS__NEED(there, err);
    TAMIS__NEED_IF(size, bytes, err);
    TAMIS__NEED(made, err);
    tamis_filter *filter;
    size_t count;
    tamis_status status = check_layout(there, err);
    if (status == TAMIS_OK && size != bytes_of(there))
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "bitmap: has %zu bytes, and %s comes to %" PRIu64
                           "; give the parameters that it was made with",
                           size, tamis__redis_of(there)->uri->shown, bytes_of(there));
    if (status == TAMIS_OK)
        status = create_like(&filter, there, err);
    if (status != TAMIS_OK)
        return status;
    tamis__chunk_to_words(tamis__bloom_words_mut(filter, &count), 0, bytes, size);
    status = check_end(there, tamis__bloom_words(filter, &count), err);
    if (status != TAMIS_OK) {
        tamis_filter_free(filter);
        return status;
    }
    tamis__bloom_filled_estimate(filter);
    *made = filter;
    return TAMIS_OK;
}

tamis_status tamis_redis_pull_bitmap(const tamis_filter *there, tamis_redis_sink sink, void *context,
                                     tamis_error *err) {
    TAMIS__NEED(there, err);
    TAMIS__NEED(sink, err);
    const size_t size = (size_t)TAMIS__CHUNKS_AT_ONCE * TAMIS__CHUNK;
    fetching all = {.there = there};
    bool again = false;
    tamis_status status = check_there(there, err);
    if (status == TAMIS_OK)
        status = check_size(there, err);
    if (status != TAMIS_OK)
        return status;
    all.at = tamis__redis_of(there);
    all.bytes = tamis__alloc(&there->allocator, size, 1);
    if (!all.bytes)
        return tamis__fail_nomem(err, "redis", size);
    status = fetch(&all, sink, context, err);
    tamis__free(&there->allocator, all.bytes, size);
    if (status == TAMIS_OK)
        status = tamis__redis_check(there, false, &again, err);
    if (status == TAMIS_OK && again)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: was replaced while it was pulled; pull it again",
                           all.at->redis->to.shown, all.at->uri->named);
    return status;
}
