/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Expires or removes all members of a family of layout tamis. No record lists them, but each Redis key ends with the family's
 * generation G:
 *
 *     tamis:{MEMBER:G}:bits     member of a family
 *     tamis:{NAME:G:I}:bits     partition of a filter: ends with the partition's number, which has fewer digits than G
 *
 * The members are found by SCAN for tamis:{*:G}:bits and collected in memory. Then one pipeline changes all of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/redis/layout/layout_tamis.h"

typedef struct member_keys {
    const tamis__redis_filter *rf;
    int64_t ms; /* new expiry; 0: none; negative: remove the key */
    char *text; /* all Redis keys, concatenated */
    size_t used, capacity;
    size_t *ends; /* end of each key in `text` */
    size_t count, ends_capacity;
} member_keys;

static tamis_status take_key(void *context, const char *key, size_t size, tamis_error *err) {
    member_keys *ctx = context;
    void *text = ctx->text, *ends = ctx->ends;
    tamis_status status =
        tamis__scan_reserve(ctx->rf->redis, &text, ctx->used, ctx->used + size, &ctx->capacity, 1, err);
    ctx->text = text;
    if (status == TAMIS_OK)
        status = tamis__scan_reserve(ctx->rf->redis, &ends, ctx->count, ctx->count + 1, &ctx->ends_capacity,
                                     sizeof *ctx->ends, err);
    ctx->ends = ends;
    if (status != TAMIS_OK)
        return status;
    memcpy(ctx->text + ctx->used, key, size);
    ctx->used += size;
    ctx->ends[ctx->count++] = ctx->used;
    return TAMIS_OK;
}

static tamis_key key_of(const member_keys *ctx, size_t i) {
    const size_t from = i > 0 ? ctx->ends[i - 1] : 0;
    return (tamis_key){ctx->text + from, ctx->ends[i] - from};
}

static uint32_t slot_of(void *context, size_t i) {
    const member_keys *ctx = context;
    const tamis_key key = key_of(ctx, i);
    return tamis__redis_slot(ctx->rf->redis, key.data, key.size);
}

static bool put_command(void *context, size_t i, tamis__connection *conn) {
    const member_keys *ctx = context;
    const tamis_key key = key_of(ctx, i);
    if (ctx->ms >= 0) {
        tamis__connection_put_expire(conn, key.data, key.size, (uint64_t)ctx->ms);
        return true;
    }
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, tamis__redis_unlink(ctx->rf->redis));
    tamis__connection_put(conn, key.data, key.size);
    return true;
}

static tamis_status take_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err) {
    const member_keys *ctx = context;
    (void)i;
    (void)resent;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_filter_bad_reply(ctx->rf, err);
}

tamis_status tamis__members_expire(const tamis__redis_filter *rf, const char *text, int64_t ms,
                                   tamis_error *err) {
    member_keys ctx = {.rf = rf, .ms = ms};
    char pattern[TAMIS__REDIS_STATE + 16];
    tamis__parsed_plan plan;
    if (!tamis__plan_text_parse(text, &plan) || !plan.is_family)
        return TAMIS_OK;
    const int size = snprintf(pattern, sizeof pattern, "tamis:{*:%016" PRIx64 "}:bits", plan.generation);
    const tamis__scan scan = {pattern, (size_t)size, "string", take_key, &ctx};
    tamis_status status = tamis__redis_scan(rf->redis, &scan, err);
    const tamis__requests requests = {.count = ctx.count,
                                      .context = &ctx,
                                      .put_command = put_command,
                                      .take_reply = take_reply,
                                      .what = rf->uri->shown_name,
                                      .slot = slot_of};
    if (status == TAMIS_OK && ctx.count > 0)
        status = tamis__requests_run(rf->redis, &requests, NULL, err);
    tamis__free(&rf->redis->allocator, ctx.text, ctx.capacity);
    tamis__free(&rf->redis->allocator, ctx.ends, ctx.ends_capacity * sizeof *ctx.ends);
    return status;
}
