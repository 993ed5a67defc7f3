/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Commands on the Redis keys of a filter: single ones, and one for each key that holds bits.
 *
 * Set bits are counted by BITCOUNT. A server does nothing else meanwhile, so each command covers a range
 * of 4 MiB, which takes a third of a millisecond.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/redis/filter/redis_filter.h"

/* ---- single commands ---- */

tamis_status tamis__redis_command(const tamis__redis_filter *rf, const tamis_key *words, size_t count,
                                  int64_t *integer, tamis_error *err) {
    const uint32_t slot = tamis__redis_slot(rf->redis, words[1].data, words[1].size);
    tamis__command command = tamis__redis_command_in(rf, slot, words, count);
    const tamis_status status = tamis__command_run(&command, err);
    if (integer)
        *integer = command.integer;
    return status;
}

tamis_status tamis__redis_expire_in(const tamis__redis_filter *rf, uint32_t slot, tamis_key key, uint64_t ms,
                                    tamis_error *err) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, ms);
    const tamis_key words[] = {tamis__redis_word(ms > 0 ? "PEXPIRE" : "PERSIST"), key,
                               tamis__redis_word(digits)};
    tamis__command command = tamis__redis_command_in(rf, slot, words, ms > 0 ? 3 : 2);
    return tamis__command_run(&command, err);
}

tamis_status tamis__redis_expire(const tamis__redis_filter *rf, tamis_key key, uint64_t ms,
                                 tamis_error *err) {
    return tamis__redis_expire_in(rf, tamis__redis_slot(rf->redis, key.data, key.size), key, ms, err);
}

tamis_status tamis__redis_ttl(const tamis__redis_filter *rf, tamis_key key, uint64_t *ms, tamis_error *err) {
    const tamis_key words[] = {tamis__redis_word("PTTL"), key};
    int64_t left = 0;
    const tamis_status status = tamis__redis_command(rf, words, 2, &left, err);
    *ms = left > 0 ? (uint64_t)left : 0;
    return status;
}

/* ---- all Redis keys ---- */

uint32_t tamis__redis_key_slot(const tamis__redis_filter *rf, size_t number) {
    char name[TAMIS__REDIS_KEY];
    if (rf->servers > 1)
        return (uint32_t)(number / rf->keys);
    return tamis__redis_slot(rf->redis, name, rf->layout->key_name(rf, (uint32_t)number, name));
}

/* One command, sent with each Redis key. */
typedef struct every_key {
    const tamis__redis_filter *rf;
    const char *command; /* NULL: PEXPIRE or PERSIST */
    uint64_t ms;         /* new expiry; 0: none */
    uint64_t sum;
} every_key;

static uint32_t slot_of_key(void *context, size_t i) {
    const every_key *ctx = context;
    return tamis__redis_key_slot(ctx->rf, i);
}

static bool put_key(void *context, size_t i, tamis__connection *conn) {
    const every_key *ctx = context;
    char name[TAMIS__REDIS_KEY];
    const size_t size = ctx->rf->layout->key_name(ctx->rf, (uint32_t)(i % ctx->rf->keys), name);
    if (!ctx->command) {
        tamis__connection_put_expire(conn, name, size, ctx->ms);
        return true;
    }
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, ctx->command);
    tamis__connection_put(conn, name, size);
    return true;
}

static tamis_status accept_sum(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err) {
    every_key *ctx = context;
    (void)i;
    (void)resent;
    if (reply->type != TAMIS__REPLY_INTEGER || reply->integer < 0)
        return tamis__redis_filter_bad_reply(ctx->rf, err);
    ctx->sum += (uint64_t)reply->integer;
    return TAMIS_OK;
}

static tamis_status run_every_key(every_key *ctx, tamis_error *err) {
    const tamis__requests requests = {.count = tamis__redis_all_keys(ctx->rf),
                                      .context = ctx,
                                      .put_command = put_key,
                                      .accept_reply = accept_sum,
                                      .what = ctx->rf->uri->shown_name,
                                      .slot = slot_of_key};
    return tamis__requests_run(ctx->rf->redis, &requests, NULL, err);
}

tamis_status tamis__redis_expire_all(const tamis__redis_filter *rf, uint64_t ms, tamis_error *err) {
    return run_every_key(&(every_key){.rf = rf, .ms = ms}, err);
}

tamis_status tamis__redis_every_key(const tamis__redis_filter *rf, const char *name, uint64_t *sum,
                                    tamis_error *err) {
    every_key ctx = {.rf = rf, .command = name};
    const tamis_status status = run_every_key(&ctx, err);
    *sum = ctx.sum;
    return status;
}

/* ---- set bits ---- */

enum { RANGE = 4 << 20 };

typedef struct counting {
    const tamis_filter *filter;
    const tamis__redis_filter *rf;
    tamis__bytes_of *bytes_of;
    uint64_t bytes; /* max. bytes of a Redis key */
    size_t ranges;  /* ranges of each Redis key */
    uint64_t ones;
} counting;

static uint32_t slot_of_range(void *context, size_t i) {
    const counting *ctx = context;
    return tamis__redis_key_slot(ctx->rf, i / ctx->ranges);
}

static bool put_range(void *context, size_t i, tamis__connection *conn) {
    const counting *ctx = context;
    const uint32_t key = (uint32_t)(i / ctx->ranges % ctx->rf->keys);
    const uint64_t from = i % ctx->ranges * (uint64_t)RANGE;
    const uint64_t bytes = ctx->bytes_of ? ctx->bytes_of(ctx->filter, key) : ctx->bytes;
    char name[TAMIS__REDIS_KEY];
    if (from >= bytes)
        return false;
    tamis__connection_put_command(conn, 4);
    tamis__connection_put_text(conn, "BITCOUNT");
    tamis__connection_put(conn, name, ctx->rf->layout->key_name(ctx->rf, key, name));
    tamis__connection_put_number(conn, (int64_t)from);
    tamis__connection_put_number(conn, (int64_t)(bytes - from < RANGE ? bytes : from + RANGE) - 1);
    return true;
}

static tamis_status accept_range(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err) {
    counting *ctx = context;
    (void)i;
    (void)resent;
    if (reply->type != TAMIS__REPLY_INTEGER || reply->integer < 0)
        return tamis__redis_filter_bad_reply(ctx->rf, err);
    ctx->ones += (uint64_t)reply->integer;
    return TAMIS_OK;
}

tamis_status tamis__redis_count(const tamis_filter *filter, uint64_t bytes, tamis__bytes_of *bytes_of,
                                uint64_t *ones, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    counting ctx = {.filter = filter,
                    .rf = rf,
                    .bytes_of = bytes_of,
                    .bytes = bytes,
                    .ranges = (size_t)((bytes + RANGE - 1) / RANGE),
                    .ones = 0};
    const tamis__requests requests = {.count = tamis__redis_all_keys(rf) * ctx.ranges,
                                      .context = &ctx,
                                      .put_command = put_range,
                                      .accept_reply = accept_range,
                                      .what = rf->uri->shown_name,
                                      .slot = slot_of_range};
    const tamis_status status = tamis__requests_run(rf->redis, &requests, NULL, err);
    *ones = ctx.ones;
    return status;
}
