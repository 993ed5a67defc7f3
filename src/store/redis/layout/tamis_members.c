/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Counts, expires or removes all members of a family of layout tamis. No record lists them, but each Redis
 * key ends with the family's generation G:
 *
 *     tamis:{MEMBER:G}:bits     member of a family
 *     tamis:{NAME:G:I}:bits     partition of a filter: ends with its number, which has fewer digits than G
 *
 * The members are found by SCAN for tamis:{*:G}:bits and collected in memory. Then one pipeline changes
 * all of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/redis/layout/layout_tamis.h"

typedef struct member {
    size_t key, key_size; /* offset and size of its Redis key */
} member;

typedef struct member_keys {
    const tamis__redis_filter *rf;
    int64_t ms;                  /* new expiry; 0: none; negative: remove the key */
    tamis__member_count *counts; /* NULL, or counts members instead of changing them */
    char *text;                  /* all Redis keys, concatenated */
    size_t used, capacity;
    member *members;
    size_t count, members_capacity;
} member_keys;

enum { PREFIX = sizeof "tamis:{" - 1, SUFFIX = sizeof ":0123456789abcdef}:bits" - 1 };

static tamis_status accept_key(void *context, const char *key, size_t size, tamis_error *err) {
    member_keys *ctx = context;
    const tamis_allocator *allocator = &ctx->rf->redis->allocator;
    char *text = tamis__array_reserve(allocator, ctx->text, 1, ctx->used + size, &ctx->capacity);
    if (!text)
        return tamis__fail_nomem(err, "redis", ctx->used + size);
    ctx->text = text;
    member *members = tamis__array_reserve(allocator, ctx->members, sizeof *members, ctx->count + 1,
                                           &ctx->members_capacity);
    if (!members)
        return tamis__fail_nomem(err, "redis", (ctx->count + 1) * sizeof *members);
    ctx->members = members;
    memcpy(ctx->text + ctx->used, key, size);
    ctx->members[ctx->count++] = (member){ctx->used, size};
    ctx->used += size;
    return TAMIS_OK;
}

static int compare(const void *left, const void *right, void *context) {
    const member *a = left, *b = right;
    const char *text = context;
    const size_t size = a->key_size < b->key_size ? a->key_size : b->key_size;
    const int order = memcmp(text + a->key, text + b->key, size);
    return order != 0 ? order : a->key_size < b->key_size ? -1 : a->key_size > b->key_size;
}

/* Sorts the members and removes equal keys, since SCAN may return a key twice. */
static void sort_members(member_keys *ctx) {
    size_t kept = ctx->count > 0;
    if (ctx->count > 1)
        qsort_r(ctx->members, ctx->count, sizeof *ctx->members, compare, ctx->text);
    for (size_t i = 1; i < ctx->count; i++)
        if (compare(&ctx->members[kept - 1], &ctx->members[i], ctx->text) != 0)
            ctx->members[kept++] = ctx->members[i];
    ctx->count = kept;
}

static tamis_key key_of(const member_keys *ctx, size_t i) {
    return (tamis_key){ctx->text + ctx->members[i].key, ctx->members[i].key_size};
}

static uint32_t slot_of(void *context, size_t i) {
    const member_keys *ctx = context;
    const tamis_key key = key_of(ctx, i);
    return tamis__redis_slot(ctx->rf->redis, key.data, key.size);
}

static bool put_command(void *context, size_t i, tamis__connection *conn) {
    const member_keys *ctx = context;
    const tamis_key key = key_of(ctx, i);
    if (!ctx->counts && ctx->ms >= 0) {
        tamis__connection_put_expire(conn, key.data, key.size, (uint64_t)ctx->ms);
        return true;
    }
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, ctx->counts ? "PTTL" : tamis__redis_unlink(ctx->rf->redis));
    tamis__connection_put(conn, key.data, key.size);
    return true;
}

static tamis_status accept_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err) {
    const member_keys *ctx = context;
    (void)i;
    (void)resent;
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_filter_bad_reply(ctx->rf, err);
    if (ctx->counts) {
        ctx->counts->stay += reply->integer == -1;
        ctx->counts->expire += reply->integer >= 0;
    }
    return TAMIS_OK;
}

/* Writes the name that all members have, or their common prefix and '*'. The members are sorted. */
static void write_common_name(const member_keys *ctx, tamis__member_count *to) {
    to->name_size = 0;
    if (ctx->count == 0)
        return;
    const tamis_key first = key_of(ctx, 0), last = key_of(ctx, ctx->count - 1);
    const char *a = (const char *)first.data + PREFIX, *b = (const char *)last.data + PREFIX;
    const size_t size = first.size - PREFIX - SUFFIX, other = last.size - PREFIX - SUFFIX;
    const size_t max = TAMIS__REDIS_NAME - 1;
    while (to->name_size < size && to->name_size < other && to->name_size < max &&
           a[to->name_size] == b[to->name_size])
        to->name_size++;
    memcpy(to->name, a, to->name_size);
    if (to->name_size < size || to->name_size < other)
        to->name[to->name_size++] = '*';
}

/* Finds the members of a generation whose names match the pattern `names`, and carries out ctx. */
static tamis_status visit_members(member_keys *ctx, tamis_key names, uint64_t generation, tamis_error *err) {
    char pattern[TAMIS__REDIS_KEY];
    const int size = snprintf(pattern, sizeof pattern, "tamis:{%.*s:%016" PRIx64 "}:bits", (int)names.size,
                              (const char *)names.data, generation);
    const tamis__scan scan = {.pattern = pattern, (size_t)size, "string", accept_key, ctx};
    tamis_status status = tamis__redis_scan(ctx->rf->redis, &scan, err);
    sort_members(ctx);
    const tamis__requests requests = {.count = ctx->count,
                                      .context = ctx,
                                      .put_command = put_command,
                                      .accept_reply = accept_reply,
                                      .what = ctx->rf->uri->shown_name,
                                      .slot = slot_of};
    if (status == TAMIS_OK && ctx->count > 0)
        status = tamis__requests_run(ctx->rf->redis, &requests, NULL, err);
    if (status == TAMIS_OK && ctx->counts)
        write_common_name(ctx, ctx->counts);
    tamis__free(&ctx->rf->redis->allocator, ctx->text, ctx->capacity);
    tamis__free(&ctx->rf->redis->allocator, ctx->members, ctx->members_capacity * sizeof *ctx->members);
    return status;
}

tamis_status tamis__members_expire(const tamis__redis_filter *rf, const char *text, int64_t ms,
                                   tamis_error *err) {
    member_keys ctx = {.rf = rf, .ms = ms};
    tamis__parsed_plan plan;
    if (!tamis__plan_text_parse(&plan, text) || !plan.is_family)
        return TAMIS_OK;
    return visit_members(&ctx, tamis__redis_word("*"), plan.generation, err);
}

tamis_status tamis__members_remove(const tamis__redis_filter *rf, tamis_key names, uint64_t generation,
                                   tamis_error *err) {
    member_keys ctx = {.rf = rf, .ms = -1};
    return visit_members(&ctx, names, generation, err);
}

tamis_status tamis__members_count(const tamis__redis_filter *rf, tamis_key names, uint64_t generation,
                                  tamis__member_count *to, tamis_error *err) {
    member_keys ctx = {.rf = rf, .counts = to};
    *to = (tamis__member_count){.stay = 0};
    return visit_members(&ctx, names, generation, err);
}
