/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Setting and reading bits of plain bitmaps:
 *
 *     BITFIELD key SET u1 offset 1 SET u1 offset 1 ...   BITS_PER_COMMAND at most -> [old bit, old bit, ...]
 *     BITFIELD key GET u1 offset GET u1 offset ...
 *
 * A BITFIELD replies with the bits in order, is carried out at one instant, and costs the server less than
 * as many SETBITs.
 *
 * Commands of a pipeline may change places: a server may refuse one for now and accept the next. If all
 * values are equal, that does no harm. Otherwise (is_mixed) each command is sent after the reply to the
 * one before.
 *
 * If a reply is lost, the command is sent again. The old bits may then come from its first sending, so
 * they are TAMIS_REDIS_BIT_UNKNOWN. Exception: if all values are equal, an old bit that differs from them
 * is certain.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "store/redis/bitmap/bitmap_query.h"

enum { BITS_PER_COMMAND = 256, COMMANDS_MAX = 256 /* commands of a pipeline */ };

/* ---- opening ---- */

static tamis_status find_server(tamis_redis_bitmap *bitmap, const char *key, tamis_error *err) {
    const tamis_status status =
        tamis__redis_find(&bitmap->redis, &bitmap->named, key, &bitmap->allocator, err);
    if (status != TAMIS_OK)
        return status;
    tamis__redis_uri *uri = bitmap->owns_redis ? &bitmap->redis->uri : &bitmap->named;
    bitmap->uri = uri;
    if (uri->name_size == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: names no key; write redis://host:port/KEY",
                           uri->shown);
    return tamis__redis_uri_check_used(uri, err);
}

tamis_status tamis_redis_bitmap_open(tamis_redis_bitmap **bitmap, tamis_redis *redis, const char *key,
                                     const tamis_allocator *given, tamis_error *err) {
    TAMIS__NEED(bitmap, err);
    TAMIS__NEED(key, err);
    const tamis_allocator allocator = redis && !given ? redis->allocator : tamis__allocator_resolve(given);
    tamis_redis_bitmap *made = tamis__alloc(&allocator, sizeof *made, _Alignof(tamis_redis_bitmap));
    if (!made)
        return tamis__fail_nomem(err, "redis", sizeof *made);
    made->allocator = allocator;
    made->redis = redis;
    made->owns_redis = !redis;
    const tamis_status status = find_server(made, key, err);
    if (status != TAMIS_OK) {
        tamis_redis_bitmap_close(made);
        return status;
    }
    *bitmap = made;
    return TAMIS_OK;
}

void tamis_redis_bitmap_close(tamis_redis_bitmap *bitmap) {
    if (!bitmap)
        return;
    tamis__redis_uri_release(&bitmap->named);
    if (bitmap->owns_redis)
        tamis_redis_close(bitmap->redis);
    const tamis_allocator allocator = bitmap->allocator;
    tamis__free(&allocator, bitmap, sizeof *bitmap);
}

/* ---- bits ---- */

typedef struct touching {
    const tamis_redis_bitmap *bitmap;
    const uint64_t *offsets;
    const uint8_t *values; /* NULL: all 1 */
    uint8_t *bits;         /* bits that were read, or old bits */
    size_t count;
    bool sets;                   /* bits are set, not only read */
    bool is_mixed;               /* some are set and some cleared */
    bool answered[COMMANDS_MAX]; /* commands of this pipeline with a reply */
} touching;

static size_t first_of(size_t command) {
    return command * BITS_PER_COMMAND;
}

static size_t count_of(const touching *ctx, size_t command) {
    const size_t left = ctx->count - first_of(command);
    return left < BITS_PER_COMMAND ? left : BITS_PER_COMMAND;
}

static unsigned value_of(const touching *ctx, size_t i) {
    return ctx->values ? ctx->values[i] : 1;
}

static uint32_t slot(void *context, size_t i) {
    const touching *ctx = context;
    (void)i;
    return tamis__bitmap_slot(ctx->bitmap);
}

static bool put_command(void *context, size_t i, tamis__connection *conn) {
    const touching *ctx = context;
    const size_t count = count_of(ctx, i);
    tamis__connection_put_command(conn, 2 + count * (ctx->sets ? 4 : 3));
    tamis__connection_put(conn, "BITFIELD", 8);
    tamis__connection_put(conn, ctx->bitmap->uri->name, ctx->bitmap->uri->name_size);
    for (size_t j = first_of(i); j < first_of(i) + count; j++) {
        tamis__connection_put(conn, ctx->sets ? "SET" : "GET", 3);
        tamis__connection_put(conn, "u1", 2);
        tamis__connection_put_number(conn, (int64_t)ctx->offsets[j]);
        if (ctx->sets)
            tamis__connection_put(conn, value_of(ctx, j) ? "1" : "0", 1);
    }
    return true;
}

static tamis_status accept_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err) {
    touching *ctx = context;
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != count_of(ctx, i))
        return tamis__bitmap_bad_reply(ctx->bitmap, err);
    for (size_t j = 0; j < reply->size; j++) {
        const tamis__reply *bit = &reply->items[j];
        const size_t index = first_of(i) + j;
        if (bit->type != TAMIS__REPLY_INTEGER || (bit->integer != 0 && bit->integer != 1))
            return tamis__bitmap_bad_reply(ctx->bitmap, err);
        ctx->bits[index] = (uint8_t)bit->integer;
        if (ctx->sets && resent && (ctx->is_mixed || ctx->bits[index] == value_of(ctx, index)))
            ctx->bits[index] = TAMIS_REDIS_BIT_UNKNOWN; /* the lost sending may have set it */
    }
    ctx->answered[i] = true;
    return TAMIS_OK;
}

/* Runs one pipeline. *done: the number of bits at the beginning that are answered. */
static tamis_status touch_chunk(touching *ctx, size_t *done, tamis_error *err) {
    const tamis__requests requests = {.count = (ctx->count + BITS_PER_COMMAND - 1) / BITS_PER_COMMAND,
                                      .context = ctx,
                                      .put_command = put_command,
                                      .accept_reply = accept_reply,
                                      .what = ctx->bitmap->uri->shown_name,
                                      .slot = slot};
    size_t answered = 0;
    memset(ctx->answered, 0, sizeof ctx->answered);
    const tamis_status status = tamis__requests_run(ctx->bitmap->redis, &requests, NULL, err);
    while (answered < requests.count && ctx->answered[answered])
        answered++;
    *done = answered < requests.count ? first_of(answered) : ctx->count;
    return status;
}

/* Runs pipelines until all bits are answered. `bits` (may be NULL) gets the answers, also before a
 * failure. */
static tamis_status touch_bits(const touching *whole, uint8_t *bits, size_t *done, tamis_error *err) {
    const tamis_allocator *allocator = &whole->bitmap->allocator;
    const size_t max_bits = (size_t)BITS_PER_COMMAND * (whole->is_mixed ? 1 : COMMANDS_MAX);
    touching chunk = *whole;
    tamis_status status = TAMIS_OK;
    size_t done_count = 0;
    chunk.bits = tamis__alloc(allocator, max_bits, 1);
    if (!chunk.bits)
        return tamis__fail_nomem(err, "redis", max_bits);
    while (done_count < whole->count && status == TAMIS_OK) {
        const size_t left = whole->count - done_count;
        size_t answered;
        chunk.offsets = whole->offsets + done_count;
        chunk.values = whole->values ? whole->values + done_count : NULL;
        chunk.count = left < max_bits ? left : max_bits;
        status = touch_chunk(&chunk, &answered, err);
        if (bits && answered > 0)
            memcpy(bits + done_count, chunk.bits, answered);
        done_count += answered;
    }
    tamis__free(allocator, chunk.bits, max_bits);
    if (done)
        *done = done_count;
    return status;
}

static tamis_status check_offsets(const tamis_redis_bitmap *bitmap, const uint64_t *offsets, size_t count,
                                  size_t *done, tamis_error *err) {
    if (done)
        *done = 0;
    for (size_t i = 0; i < count; i++)
        if (offsets[i] >= TAMIS_REDIS_BITMAP_BITS_MAX)
            return tamis__fail(err, TAMIS_E_RANGE, 0,
                               "%s: offset %" PRIu64
                               " is past 4294967295, the last bit (of 2^32) that a Redis "
                               "keeps under a key; split the bitmap over several keys",
                               bitmap->uri->shown, offsets[i]);
    return TAMIS_OK;
}

tamis_status tamis_redis_bitmap_set(tamis_redis_bitmap *bitmap, const tamis_redis_bits *bits, uint8_t *old,
                                    size_t *done, tamis_error *err) {
    TAMIS__NEED(bitmap, err);
    TAMIS__NEED(bits, err);
    TAMIS__NEED_IF(bits->count, bits->offsets, err);
    const uint64_t *offsets = bits->offsets;
    const uint8_t *values = bits->values;
    const size_t count = bits->count;
    touching ctx = {.bitmap = bitmap, .offsets = offsets, .values = values, .count = count, .sets = true};
    tamis_status status = check_offsets(bitmap, offsets, count, done, err);
    for (size_t i = 0; values && i < count && status == TAMIS_OK; i++) {
        ctx.is_mixed = ctx.is_mixed || values[i] != values[0];
        if (values[i] > 1)
            status = tamis__fail(err, TAMIS_E_INVALID, 0, "%s: value %d of offset %" PRIu64 "; give 0 or 1",
                                 bitmap->uri->shown, values[i], offsets[i]);
    }
    return status == TAMIS_OK ? touch_bits(&ctx, old, done, err) : status;
}

tamis_status tamis_redis_bitmap_get(const tamis_redis_bitmap *bitmap, const uint64_t *offsets, size_t count,
                                    uint8_t *bits, size_t *done, tamis_error *err) {
    TAMIS__NEED(bitmap, err);
    TAMIS__NEED_IF(count, offsets, err);
    TAMIS__NEED_IF(count, bits, err);
    const touching ctx = {.bitmap = bitmap, .offsets = offsets, .count = count};
    const tamis_status status = check_offsets(bitmap, offsets, count, done, err);
    return status == TAMIS_OK ? touch_bits(&ctx, bits, done, err) : status;
}
