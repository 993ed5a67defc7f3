/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Moving bits between memory and Redis keys in chunks.
 *
 *     filter    | Redis key 0           | Redis key 1           | Redis key 2 |  only the last may be smaller
 *     chunks    | 0 | 1 | 2 (the rest)  | 3 | 4 | 5 (the rest)  | 6 | 7       |  TAMIS__CHUNK bytes or less
 *
 * An upload sends two pipelines:
 *
 *     1. command 2i        chunk i, as a step: [condition] SETRANGE bytes; SETBIT of its chunk bit
 *        command 2i + 1    renewal of the lock, behind every 16th chunk (TAMIS__CHUNKS_PER_ROUND)
 *     2. command i         GETRANGE of the last non-zero word of chunk i, compared with the one in memory
 *
 * Why a word is enough for the check: a chunk is on the server as a whole or not at all. Its bytes were zeros
 * before. So a non-zero word proves the whole chunk, and a chunk of zeros needs no check. The check is needed
 * because a failover may lose chunks that the old master has acknowledged.
 */
#include "store/redis/transfer/redis_transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

/* ---- chunks ---- */

static uint64_t chunks_in(uint64_t bytes) {
    return (bytes + TAMIS__CHUNK - 1) / TAMIS__CHUNK;
}

uint64_t tamis__chunk_count(const tamis_filter *there) {
    const tamis__redis_filter *rf = tamis__redis_of(there);
    return (rf->keys - 1) * chunks_in(rf->layout->bytes_in(there, 0)) +
           chunks_in(rf->layout->bytes_in(there, rf->keys - 1));
}

tamis__chunk tamis__chunk_of(const tamis_filter *there, uint64_t i) {
    const tamis__redis_filter *rf = tamis__redis_of(there);
    const uint64_t each = rf->layout->bytes_in(there, 0);
    tamis__chunk chunk = {.key = (uint32_t)(i / chunks_in(each)), .from = i % chunks_in(each) * TAMIS__CHUNK};
    chunk.size = rf->layout->bytes_in(there, chunk.key) - chunk.from;
    if (chunk.size > TAMIS__CHUNK)
        chunk.size = TAMIS__CHUNK;
    chunk.filter_offset = chunk.key * each + chunk.from;
    return chunk;
}

/* Reverses the bits of each byte. */
static uint64_t reverse_bits(uint64_t word) {
    word = (word >> 1 & UINT64_C(0x5555555555555555)) | (word & UINT64_C(0x5555555555555555)) << 1;
    word = (word >> 2 & UINT64_C(0x3333333333333333)) | (word & UINT64_C(0x3333333333333333)) << 2;
    return (word >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (word & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
}

/* The reverse of tamis__chunk_to_words. */
static void chunk_from_words(uint8_t *bytes, const uint64_t *words, uint64_t filter_offset, uint64_t size) {
    const uint64_t whole = size / 8;
    uint8_t last[8];
    words += filter_offset / 8;
    for (uint64_t i = 0; i < whole; i++)
        tamis__store64le(bytes + 8 * i, reverse_bits(words[i]));
    if (size % 8 == 0)
        return;
    tamis__store64le(last, reverse_bits(words[whole]));
    memcpy(bytes + 8 * whole, last, size % 8);
}

void tamis__chunk_to_words(uint64_t *words, uint64_t filter_offset, const uint8_t *bytes, uint64_t size) {
    const uint64_t whole = size / 8;
    uint8_t last[8] = {0};
    words += filter_offset / 8;
    for (uint64_t i = 0; i < whole; i++)
        words[i] = reverse_bits(tamis__load64le(bytes + 8 * i));
    if (size % 8 == 0)
        return;
    memcpy(last, bytes + 8 * whole, size % 8);
    words[whole] = reverse_bits(tamis__load64le(last));
}

/* ---- upload ---- */

typedef struct sending {
    const tamis__upload *up;
    const tamis__redis_filter *rf;
    uint8_t *bytes; /* one chunk, as the server has it */
    uint64_t done, total;
} sending;

static uint32_t target_slot(const sending *ctx, uint32_t key) {
    return ctx->up->partitions ? tamis__partition_slot(ctx->up->partitions, key)
                               : tamis__redis_key_slot(ctx->rf, key);
}

/* The name of a new Redis key; `buffer` is a buffer for it. */
static tamis_key target_name(const sending *ctx, uint32_t key, char buffer[TAMIS__REDIS_KEY]) {
    return ctx->up->partitions ? (tamis_key){buffer, tamis__partition_name(ctx->up->partitions, key, buffer)}
                               : ctx->up->staging_key;
}

/* Adds the condition of a chunk: the Redis key is the one made for this upload, and not in use yet. */
static tamis_key add_condition(const sending *ctx, uint32_t key, tamis__step *step,
                               tamis__partition_buffers *buffers) {
    const tamis_key name = ctx->up->staging_key;
    if (ctx->up->partitions)
        return tamis__partition_add_condition(ctx->up->partitions, key, step, buffers);
    tamis__step_key(step, name);
    tamis__step_expect(step, tamis__redis_word("1"), TAMIS__WORDS(tamis__redis_word("EXISTS"), name));
    return name;
}

/* True for commands that renew the lock: every second one, if a lock is held and a renewal is due. */
static bool renews(const sending *ctx, size_t i) {
    return ctx->up->partitions && *tamis__tamis_of(ctx->rf)->token && i / 2 % TAMIS__CHUNKS_PER_ROUND == 0;
}

static uint32_t slot_of_chunk(void *context, size_t i) {
    const sending *ctx = context;
    if (i % 2 == 0)
        return target_slot(ctx, tamis__chunk_of(ctx->up->there, i / 2).key);
    return renews(ctx, i) ? tamis__config_slot(ctx->rf) : TAMIS__NO_SLOT;
}

static bool put_chunk(void *context, size_t i, tamis__connection *conn) {
    const sending *ctx = context;
    const tamis__upload *up = ctx->up;
    tamis__partition_buffers buffers;
    tamis__step step = {.key_count = 0};
    char from[24], bit[24];
    if (i % 2 == 1 && renews(ctx, i))
        tamis__lock_put_renewal(ctx->rf, conn);
    if (i % 2 == 1)
        return renews(ctx, i);
    const tamis__chunk chunk = tamis__chunk_of(up->there, i / 2);
    const tamis_key name = add_condition(ctx, chunk.key, &step, &buffers);
    chunk_from_words(ctx->bytes, up->words, chunk.filter_offset, chunk.size);
    snprintf(from, sizeof from, "%" PRIu64, chunk.from);
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("SETRANGE"), name, tamis__redis_word(from),
                                          tamis__word_of(ctx->bytes, chunk.size)));
    if (up->partitions) {
        snprintf(bit, sizeof bit, "%" PRIu64,
                 tamis__chunk_bit(up->partitions, chunk.key, chunk.from / TAMIS__CHUNK));
        tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("SETBIT"), name, tamis__redis_word(bit),
                                              tamis__redis_word("1")));
    }
    tamis__step_put(&step, conn);
    return true;
}

static tamis_status fail_changed(const sending *ctx, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_IO, 0,
        "redis %s: %s: the server does not have what was sent (evicted, or lost in a failover); "
        "check its memory, and repeat the command",
        ctx->rf->redis->endpoint.shown, ctx->rf->uri->shown_name);
}

static tamis_status accept_chunk(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err) {
    sending *ctx = context;
    const tamis__upload *up = ctx->up;
    (void)resent;
    if (i % 2 == 1)
        return tamis__lock_check_renewal(ctx->rf, reply, err);
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_filter_bad_reply(ctx->rf, err);
    if (reply->integer == 0)
        return fail_changed(ctx, err);
    ctx->done += tamis__chunk_of(up->there, i / 2).size;
    if (up->progress)
        up->progress(up->context, ctx->done, ctx->total);
    return TAMIS_OK;
}

/* Returns the last non-zero word of a chunk, or NULL if it has none. */
static const uint64_t *last_nonzero_word(const tamis__upload *up, const tamis__chunk *chunk) {
    const uint64_t *first = up->words + chunk->filter_offset / 8, *word = first + (chunk->size + 7) / 8;
    while (word > first)
        if (*--word)
            return word;
    return NULL;
}

static uint32_t slot_of_check_word(void *context, size_t i) {
    const sending *ctx = context;
    return target_slot(ctx, tamis__chunk_of(ctx->up->there, i).key);
}

static bool put_check_word(void *context, size_t i, tamis__connection *conn) {
    const sending *ctx = context;
    const tamis__chunk chunk = tamis__chunk_of(ctx->up->there, i);
    const uint64_t *word = last_nonzero_word(ctx->up, &chunk);
    char buffer[TAMIS__REDIS_KEY];
    if (!word)
        return false;
    const tamis_key name = target_name(ctx, chunk.key, buffer);
    const int64_t from = (int64_t)(chunk.from + 8 * (uint64_t)(word - ctx->up->words) - chunk.filter_offset);
    tamis__connection_put_command(conn, 4);
    tamis__connection_put_text(conn, "GETRANGE");
    tamis__connection_put(conn, name.data, name.size);
    tamis__connection_put_number(conn, from);
    tamis__connection_put_number(conn, from + 7);
    return true;
}

static tamis_status accept_check_word(void *context, size_t i, const tamis__reply *reply, bool resent,
                                      tamis_error *err) {
    const sending *ctx = context;
    const tamis__chunk chunk = tamis__chunk_of(ctx->up->there, i);
    const uint64_t *word = last_nonzero_word(ctx->up, &chunk);
    const uint64_t left = chunk.filter_offset + chunk.size - 8 * (uint64_t)(word - ctx->up->words);
    uint8_t mark[8];
    (void)resent;
    tamis__store64le(mark, reverse_bits(*word));
    if (reply->type == TAMIS__REPLY_STRING && reply->size == (left < sizeof mark ? left : sizeof mark) &&
        memcmp(reply->text, mark, reply->size) == 0)
        return TAMIS_OK;
    return fail_changed(ctx, err);
}

tamis_status tamis__upload_run(const tamis__upload *up, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(up->there);
    const uint64_t chunks = tamis__chunk_count(up->there);
    sending ctx = {.up = up, .rf = rf, .bytes = NULL, .done = 0, .total = up->there->plan.bits / 8};
    tamis__requests requests = {.count = 2 * chunks,
                                .context = &ctx,
                                .put_command = put_chunk,
                                .accept_reply = accept_chunk,
                                .what = rf->uri->shown_name,
                                .slot = slot_of_chunk,
                                .is_steps = true};
    ctx.bytes = tamis__alloc(&up->there->allocator, TAMIS__CHUNK, 1);
    if (!ctx.bytes)
        return tamis__fail_nomem(err, "redis", TAMIS__CHUNK);
    const tamis_status status = tamis__requests_run(rf->redis, &requests, NULL, err);
    tamis__free(&up->there->allocator, ctx.bytes, TAMIS__CHUNK);
    requests.count = chunks;
    requests.is_steps = false;
    requests.put_command = put_check_word;
    requests.accept_reply = accept_check_word;
    requests.slot = slot_of_check_word;
    return status == TAMIS_OK ? tamis__requests_run(rf->redis, &requests, NULL, err) : status;
}

/* ---- filters whose bits fit ---- */

tamis_status tamis__check_compatible(const tamis_filter *there, const tamis_filter *from, const char *verb,
                                     const char *advice, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(there);
    const tamis_plan *a = &there->plan, *b = &from->plan;
    if (a->kind == b->kind && a->bits == b->bits && a->probes == b->probes &&
        a->scheme == from->hasher->scheme)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: has kind %s with scheme %s, %" PRIu64 " bits and %" PRIu32
                       " probes, and the filter to %s %s with %s, %" PRIu64 " and %" PRIu32 "; %s",
                       rf->redis->endpoint.shown, rf->uri->shown_name, tamis_kind_name(a->kind),
                       tamis_scheme_name(a->scheme), a->bits, a->probes, verb, tamis_kind_name(b->kind),
                       tamis_scheme_name(from->hasher->scheme), b->bits, b->probes, advice);
}
