/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/bitmap_move.h"

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
    const tamis__redis_filter *at = tamis__redis_of(there);
    return (at->keys - 1) * chunks_in(at->layout->bytes_in(there, 0)) +
           chunks_in(at->layout->bytes_in(there, at->keys - 1));
}

tamis__chunk tamis__chunk_of(const tamis_filter *there, uint64_t i) {
    const tamis__redis_filter *at = tamis__redis_of(there);
    const uint64_t each = at->layout->bytes_in(there, 0);
    tamis__chunk chunk = {.key = (uint32_t)(i / chunks_in(each)), .from = i % chunks_in(each) * TAMIS__CHUNK};
    chunk.size = at->layout->bytes_in(there, chunk.key) - chunk.from;
    if (chunk.size > TAMIS__CHUNK)
        chunk.size = TAMIS__CHUNK;
    chunk.at = chunk.key * each + chunk.from;
    return chunk;
}

/* The bits of each byte in the other order. */
static uint64_t turned(uint64_t word) {
    word = (word >> 1 & UINT64_C(0x5555555555555555)) | (word & UINT64_C(0x5555555555555555)) << 1;
    word = (word >> 2 & UINT64_C(0x3333333333333333)) | (word & UINT64_C(0x3333333333333333)) << 2;
    return (word >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (word & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
}

void tamis__chunk_from_words(uint8_t *bytes, const uint64_t *words, uint64_t at, uint64_t size) {
    const uint64_t whole = size / 8;
    uint8_t last[8];
    words += at / 8;
    for (uint64_t i = 0; i < whole; i++)
        tamis__store64le(bytes + 8 * i, turned(words[i]));
    if (size % 8 == 0)
        return;
    tamis__store64le(last, turned(words[whole]));
    memcpy(bytes + 8 * whole, last, size % 8);
}

void tamis__chunk_to_words(uint64_t *words, uint64_t at, const uint8_t *bytes, uint64_t size) {
    const uint64_t whole = size / 8;
    uint8_t last[8] = {0};
    words += at / 8;
    for (uint64_t i = 0; i < whole; i++)
        words[i] = turned(tamis__load64le(bytes + 8 * i));
    if (size % 8 == 0)
        return;
    memcpy(last, bytes + 8 * whole, size % 8);
    words[whole] = turned(tamis__load64le(last));
}

/* ---- up ---- */

typedef struct sending {
    const tamis__upload *up;
    const tamis__redis_filter *at;
    uint8_t *bytes; /* of one chunk, as the server has them */
    uint64_t done, total;
} sending;

static void put_name(const sending *all, uint32_t key, tamis__link *link) {
    char name[TAMIS__REDIS_KEY];
    size_t size = all->up->key_name(all->at, key, name);
    tamis__link_word(link, name, size);
}

/* True for commands that renew the lock: every second one, if a lock is held and a renewal is due. */
static bool renews(const sending *all, size_t i) {
    return *all->at->token && i / 2 % TAMIS__CHUNKS_AT_ONCE == 0;
}

static uint32_t slot_of_chunk(void *context, size_t i) {
    const sending *all = context;
    if (i % 2 == 0)
        return tamis__redis_key_slot(all->at, tamis__chunk_of(all->up->there, i / 2).key);
    return renews(all, i) ? tamis__config_slot(all->at) : TAMIS__NO_SLOT;
}

static bool put_chunk(void *context, size_t i, tamis__link *link) {
    const sending *all = context;
    const tamis__upload *up = all->up;
    tamis__partition_room room;
    tamis__step step = {.key_count = 0};
    char from[24], bit[24];
    if (i % 2 == 1 && renews(all, i))
        tamis__lock_put_renewal(all->at, link);
    if (i % 2 == 1)
        return renews(all, i);
    const tamis__chunk chunk = tamis__chunk_of(up->there, i / 2);
    const tamis_key name = up->guard(up->there, chunk.key, &step, &room);
    tamis__chunk_from_words(all->bytes, up->words, chunk.at, chunk.size);
    snprintf(from, sizeof from, "%" PRIu64, chunk.from);
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("SETRANGE"), name, tamis__redis_word(from),
                                          tamis__word_of(all->bytes, chunk.size)));
    if (up->has_bits) {
        snprintf(bit, sizeof bit, "%" PRIu64,
                 tamis__chunk_bit(up->there, chunk.key, chunk.from / TAMIS__CHUNK));
        tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("SETBIT"), name, tamis__redis_word(bit),
                                              tamis__redis_word("1")));
    }
    tamis__step_put(&step, link);
    return true;
}

static tamis_status fail_changed(const sending *all, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_IO, 0,
        "redis %s: %s: the server does not have what was sent (evicted, or lost in a failover); "
        "check its memory, and repeat the command",
        all->at->redis->to.shown, all->at->uri->named);
}

static tamis_status take_chunk(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err) {
    sending *all = context;
    const tamis__upload *up = all->up;
    (void)resent;
    if (i % 2 == 1)
        return tamis__lock_take_renewal(all->at, reply, err);
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_strange(all->at, err);
    if (reply->integer == 0)
        return fail_changed(all, err);
    all->done += tamis__chunk_of(up->there, i / 2).size;
    if (up->progress)
        up->progress(up->context, all->done, all->total);
    return TAMIS_OK;
}

/* The last word of a chunk that is not zero, or none: a chunk is there as a whole or not at all, and where it was to go there
 * were zeros. */
static const uint64_t *mark_of(const tamis__upload *up, const tamis__chunk *chunk) {
    const uint64_t *first = up->words + chunk->at / 8, *word = first + (chunk->size + 7) / 8;
    while (word > first)
        if (*--word)
            return word;
    return NULL;
}

static uint32_t slot_of_mark(void *context, size_t i) {
    const sending *all = context;
    return tamis__redis_key_slot(all->at, tamis__chunk_of(all->up->there, i).key);
}

static bool put_mark(void *context, size_t i, tamis__link *link) {
    const sending *all = context;
    const tamis__chunk chunk = tamis__chunk_of(all->up->there, i);
    const uint64_t *word = mark_of(all->up, &chunk);
    if (!word)
        return false;
    const int64_t from = (int64_t)(chunk.from + 8 * (uint64_t)(word - all->up->words) - chunk.at);
    tamis__link_command(link, 4);
    tamis__link_text(link, "GETRANGE");
    put_name(all, chunk.key, link);
    tamis__link_number(link, from);
    tamis__link_number(link, from + 7);
    return true;
}

static tamis_status take_mark(void *context, size_t i, const tamis__reply *reply, bool resent,
                              tamis_error *err) {
    const sending *all = context;
    const tamis__chunk chunk = tamis__chunk_of(all->up->there, i);
    const uint64_t *word = mark_of(all->up, &chunk);
    const uint64_t left = chunk.at + chunk.size - 8 * (uint64_t)(word - all->up->words);
    uint8_t mark[8];
    (void)resent;
    tamis__store64le(mark, turned(*word));
    if (reply->type == TAMIS__REPLY_STRING && reply->size == (left < sizeof mark ? left : sizeof mark) &&
        memcmp(reply->text, mark, reply->size) == 0)
        return TAMIS_OK;
    return fail_changed(all, err);
}

tamis_status tamis__upload_run(const tamis__upload *up, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(up->there);
    const uint64_t chunks = tamis__chunk_count(up->there);
    sending all = {up, at, NULL, 0, up->there->plan.bits / 8};
    tamis__exchange exchange = {.count = 2 * chunks,
                                .context = &all,
                                .ask = put_chunk,
                                .take = take_chunk,
                                .what = at->uri->named,
                                .slot = slot_of_chunk,
                                .is_steps = true};
    all.bytes = tamis__alloc(&up->there->allocator, TAMIS__CHUNK, 1);
    if (!all.bytes)
        return tamis__fail_nomem(err, "redis", TAMIS__CHUNK);
    tamis_status status = tamis__redis_run(at->redis, &exchange, NULL, err);
    tamis__free(&up->there->allocator, all.bytes, TAMIS__CHUNK);
    exchange.count = chunks;
    exchange.is_steps = false;
    exchange.ask = put_mark;
    exchange.take = take_mark;
    exchange.slot = slot_of_mark;
    return status == TAMIS_OK ? tamis__redis_run(at->redis, &exchange, NULL, err) : status;
}

/* ---- filters whose bits fit ---- */

tamis_status tamis__check_alike(const tamis_filter *there, const tamis_filter *from, const char *verb,
                                const char *advice, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(there);
    const tamis_plan *one = &there->plan, *other = &from->plan;
    if (one->kind == other->kind && one->bits == other->bits && one->probes == other->probes &&
        one->scheme == from->hasher->scheme)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: has kind %s with scheme %s, %" PRIu64 " bits and %" PRIu32
                       " probes, and the filter to %s %s with %s, %" PRIu64 " and %" PRIu32 "; %s",
                       at->redis->to.shown, at->uri->named, tamis_kind_name(one->kind),
                       tamis_scheme_name(one->scheme), one->bits, one->probes, verb,
                       tamis_kind_name(other->kind), tamis_scheme_name(from->hasher->scheme), other->bits,
                       other->probes, advice);
}
