/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Copies a filter from a server into memory:
 *
 *     client                                          server
 *       GETRANGE of TAMIS__CHUNKS_PER_ROUND chunks ->
 *                                                  <- bytes; repeat until all chunks are read
 *       checks of the layout                       ->
 *                                                  <- replaced meanwhile: tamis_redis_pull starts again
 *
 * Only some chunks are requested at once, because the server holds the replies in its memory until they
 * are read. The checks are those after a batch (redis_batch.c). They come at the end: a partition that is
 * missing would read as zeros.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "store/redis/transfer/redis_transfer.h"

typedef struct fetching {
    const tamis_filter *there;
    const tamis__redis_filter *rf;
    uint64_t first;  /* first chunk of the round */
    uint64_t *words; /* target: the bits of a filter; NULL: `bytes` is used */
    uint8_t *bytes;  /* target: the chunks of a round */
} fetching;

static uint32_t slot_of_get(void *context, size_t i) {
    const fetching *ctx = context;
    return tamis__redis_key_slot(ctx->rf, tamis__chunk_of(ctx->there, ctx->first + i).key);
}

static bool put_get(void *context, size_t i, tamis__connection *conn) {
    const fetching *ctx = context;
    const tamis__chunk chunk = tamis__chunk_of(ctx->there, ctx->first + i);
    char name[TAMIS__REDIS_KEY];
    const size_t size = ctx->rf->layout->key_name(ctx->rf, chunk.key, name);
    tamis__connection_put_command(conn, 4);
    tamis__connection_put_text(conn, "GETRANGE");
    tamis__connection_put(conn, name, size);
    tamis__connection_put_number(conn, (int64_t)chunk.from);
    tamis__connection_put_number(conn, (int64_t)(chunk.from + chunk.size) - 1);
    return true;
}

/* Bytes past the end of a bitmap are zeros. Both targets were zeroed before. */
static tamis_status accept_get(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err) {
    const fetching *ctx = context;
    const tamis__chunk chunk = tamis__chunk_of(ctx->there, ctx->first + i);
    (void)resent;
    if (reply->type != TAMIS__REPLY_STRING || reply->size > chunk.size)
        return tamis__redis_filter_bad_reply(ctx->rf, err);
    if (ctx->words)
        tamis__chunk_to_words(ctx->words, chunk.filter_offset, (const uint8_t *)reply->text, reply->size);
    else
        memcpy(ctx->bytes + i * TAMIS__CHUNK, reply->text, reply->size);
    return TAMIS_OK;
}

/* Reads all chunks into ctx->words or, if that is NULL, into ctx->bytes and from there to `sink`. */
static tamis_status fetch(fetching *ctx, tamis_redis_sink sink, void *context, tamis_error *err) {
    const uint64_t chunks = tamis__chunk_count(ctx->there);
    tamis_status status = TAMIS_OK;
    for (ctx->first = 0; ctx->first < chunks && status == TAMIS_OK; ctx->first += TAMIS__CHUNKS_PER_ROUND) {
        const uint64_t left = chunks - ctx->first;
        const size_t batch_size = left < TAMIS__CHUNKS_PER_ROUND ? (size_t)left : TAMIS__CHUNKS_PER_ROUND;
        const tamis__requests requests = {.count = batch_size,
                                          .context = ctx,
                                          .put_command = put_get,
                                          .accept_reply = accept_get,
                                          .what = ctx->rf->uri->shown_name,
                                          .slot = slot_of_get};
        if (ctx->bytes)
            memset(ctx->bytes, 0, batch_size * TAMIS__CHUNK);
        status = tamis__requests_run(ctx->rf->redis, &requests, NULL, err);
        for (size_t i = 0; sink && i < batch_size && status == TAMIS_OK; i++)
            status = sink(context, ctx->bytes + i * TAMIS__CHUNK,
                          (size_t)tamis__chunk_of(ctx->there, ctx->first + i).size, err);
    }
    return status;
}

static tamis_status check_layout(const tamis_filter *there, tamis_error *err) {
    if (!tamis_redis_filter_layout(there))
        return tamis__fail(err, TAMIS_E_INVALID, 0, "pull: the filter is in memory; name one of a server");
    return tamis__redis_check_moves(tamis__redis_of(there), err);
}

static tamis_status check_there(const tamis_filter *there, tamis_error *err) {
    const tamis_status status = check_layout(there, err);
    if (status != TAMIS_OK)
        return status;
    const tamis__layout *layout = tamis__redis_of(there)->layout;
    return layout->refresh ? layout->refresh(there, err) : TAMIS_OK;
}

/* ---- a layout of one Redis key ---- */

static tamis_status fail_too_long(const tamis__redis_filter *rf, const tamis_plan *plan, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: has bits past the %" PRIu64
                       " that its parameters come to; give those that it was made with",
                       rf->redis->endpoint.shown, rf->uri->shown_name, plan->bits);
}

/* Fails if the bitmap is missing, or longer than the parameters allow. Layout tamis has footers instead,
 * which the checks compare. */
static tamis_status check_size(const tamis_filter *there, tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(there);
    char name[TAMIS__REDIS_KEY];
    int64_t size;
    if (rf->layout->apply_checks)
        return TAMIS_OK;
    const tamis_key words[] = {{"STRLEN", 6}, {name, rf->layout->key_name(rf, 0, name)}};
    const tamis_status status = tamis__redis_command(rf, words, 2, &size, err);
    if (status == TAMIS_OK && size <= 0 && !rf->layout->config_name)
        return tamis__fail(
            err, TAMIS_E_NOT_FOUND, 0,
            "redis %s: %s: there is no such filter, or nothing was ever added to it; check the name",
            rf->redis->endpoint.shown, rf->uri->shown_name);
    if (status == TAMIS_OK && (uint64_t)size > rf->layout->bytes_in(there, 0))
        return fail_too_long(rf, &there->plan, err);
    return status;
}

static tamis_status check_end(const tamis_filter *there, const uint64_t *words, tamis_error *err) {
    const uint64_t bits = there->plan.bits;
    if (bits % 64 == 0 || words[bits / 64] >> bits % 64 == 0)
        return TAMIS_OK;
    return fail_too_long(tamis__redis_of(there), &there->plan, err);
}

/* ---- into memory ---- */

/* Creates a filter in memory with the plan of `there`. Its hasher is a copy, since the secret itself is not
 * kept. */
static tamis_status create_like(tamis_filter **filter, const tamis_filter *there, tamis_error *err) {
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan plan = there->plan;
    tamis_filter *made;
    options.allocator = &there->allocator;
    options.allow_over_capacity = true; /* as on the server, which refuses no key */
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

/* *again: the filter was replaced meanwhile, and `made` must not be used. */
static tamis_status pull_once(const tamis_filter *there, tamis_filter *made, bool *again, tamis_error *err) {
    size_t count;
    fetching ctx = {.there = there, .rf = tamis__redis_of(there)};
    ctx.words = tamis__bloom_words_mut(made, &count);
    tamis_status status = fetch(&ctx, NULL, NULL, err);
    if (status == TAMIS_OK)
        status = check_end(there, ctx.words, err);
    if (status == TAMIS_OK)
        status = tamis__redis_check(there, false, again, err);
    if (status == TAMIS_OK && !*again)
        tamis__bloom_filled_estimate(made);
    return status;
}

tamis_status tamis_redis_pull(tamis_filter **pulled, const tamis_filter *there, tamis_error *err) {
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
    const tamis__redis_filter *rf = tamis__redis_of(there);
    return (rf->keys - 1) * rf->layout->bytes_in(there, 0) + rf->layout->bytes_in(there, rf->keys - 1);
}

tamis_status tamis_redis_from_bitmap(tamis_filter **made, const tamis_filter *there, const void *bytes,
                                     size_t size, tamis_error *err) {
    TAMIS__NEED(there, err);
    TAMIS__NEED_IF(size, bytes, err);
    TAMIS__NEED(made, err);
    tamis_filter *filter;
    size_t count;
    tamis_status status = check_layout(there, err);
    if (status == TAMIS_OK && size != bytes_of(there))
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "bitmap: has %zu bytes, but %s needs %" PRIu64
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
    const size_t size = (size_t)TAMIS__CHUNKS_PER_ROUND * TAMIS__CHUNK;
    fetching ctx = {.there = there};
    bool again = false;
    tamis_status status = check_there(there, err);
    if (status == TAMIS_OK)
        status = check_size(there, err);
    if (status != TAMIS_OK)
        return status;
    ctx.rf = tamis__redis_of(there);
    ctx.bytes = tamis__alloc(&there->allocator, size, 1);
    if (!ctx.bytes)
        return tamis__fail_nomem(err, "redis", size);
    status = fetch(&ctx, sink, context, err);
    tamis__free(&there->allocator, ctx.bytes, size);
    if (status == TAMIS_OK)
        status = tamis__redis_check(there, false, &again, err);
    if (status == TAMIS_OK && again)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: was replaced while it was pulled; pull it again",
                           ctx.rf->redis->endpoint.shown, ctx.rf->uri->shown_name);
    return status;
}
