/* SPDX-License-Identifier: BSD-2-Clause */

/* Layout tamis: making, filling and sealing partitions. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "store/file_error.h"
#include "store/redis/layout_tamis.h"

/* ---- partitions ---- */

uint64_t tamis__blocks_of(const tamis_filter *filter) {
    return filter->plan.bits / (8 * TAMIS__REDIS_BLOCK);
}

uint64_t tamis__blocks_in(const tamis_filter *filter, uint32_t key) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    uint64_t before = key * at->partition, left = tamis__blocks_of(filter) - before;
    return left < at->partition ? left : at->partition;
}

void tamis__partitions_set(tamis_filter *filter, uint64_t blocks_each) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    at->partition = blocks_each;
    at->keys = (uint32_t)((tamis__blocks_of(filter) - 1) / blocks_each + 1);
}

/* Writes the footer or, while the partition is being filled, the mark. No two writers and no two sendings share a mark. */
void tamis__footer_write(const tamis__redis_filter *at, uint32_t key, char to[TAMIS__REDIS_BLOCK]) {
    memset(to, 0, TAMIS__REDIS_BLOCK);
    if (*at->aside) /* a string beside the partition: see redis_unite.c */
        return;
    if (at->fills)
        snprintf(to, TAMIS__REDIS_BLOCK, "tamis-filling 2 %016" PRIx64 " %" PRIu32 " %" PRIu32,
                 at->generation, key, at->fills[key]);
    else
        snprintf(to, TAMIS__REDIS_BLOCK, "tamis-footer 1 %016" PRIx64 " %" PRIu32, at->generation, key);
}

void tamis__footer_ask(const tamis_filter *filter, uint32_t key, tamis__link *link) {
    char name[TAMIS__REDIS_KEY];
    const int64_t end = (int64_t)(tamis__blocks_in(filter, key) * TAMIS__REDIS_BLOCK);
    size_t size = tamis__temp_file_name(tamis__redis_of(filter), key, name);
    tamis__link_command(link, 4);
    tamis__link_text(link, "GETRANGE");
    tamis__link_word(link, name, size);
    tamis__link_number(link, end);
    tamis__link_number(link, end + TAMIS__REDIS_BLOCK - 1);
}

bool tamis__footer_is(const tamis__redis_filter *at, uint32_t key, const tamis__reply *reply) {
    char footer[TAMIS__REDIS_BLOCK];
    tamis__footer_write(at, key, footer);
    return reply->type == TAMIS__REPLY_STRING && reply->size == sizeof footer &&
           memcmp(reply->text, footer, sizeof footer) == 0;
}

tamis_status tamis__generation_new(tamis__redis_filter *at, tamis_error *err) {
    return tamis__random(&at->generation, sizeof at->generation, at->uri->shown, err);
}

/* A server makes or frees 64 MiB in tens of milliseconds, and does nothing else meanwhile: so no more of them are on their
 * way at once, and others have their turns between. */
enum { ROUND = 64 << 20 };

static uint32_t slot_of_key(void *context, size_t i) {
    const tamis__rounds *all = context;
    return tamis__redis_key_slot(all->at, all->first + i);
}

tamis_status tamis__rounds_run(tamis__rounds *all, size_t count, size_t most,
                               bool (*ask)(void *context, size_t i, tamis__link *link), tamis_error *err) {
    tamis__exchange exchange = {.context = all,
                                .ask = ask,
                                .take = all->take,
                                .what = all->at->uri->named,
                                .slot = slot_of_key,
                                .is_steps = all->is_steps};
    tamis_status status = TAMIS_OK;
    for (all->first = 0; all->first < count && status == TAMIS_OK; all->first += most) {
        exchange.count = count - all->first < most ? count - all->first : most;
        status = tamis__redis_run(all->at->redis, &exchange, NULL, err);
        if (status == TAMIS_OK)
            status = tamis__lock_renew(all->at, err);
    }
    return status;
}

size_t tamis__round_of(uint64_t partition) {
    const uint64_t size = (partition + 1) * TAMIS__REDIS_BLOCK;
    return size < ROUND ? (size_t)(ROUND / size) : 1;
}

typedef struct making {
    tamis__rounds all; /* first */
    const tamis_filter *filter;
    uint64_t ms; /* until it expires; 0: never */
    bool has_chunks;
    bool
        is_unsure; /* a partition existed already; its step was sent twice, so it may be the first sending's */
} making;

tamis_status tamis__partition_lost(const tamis__redis_filter *at, size_t key, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_IO, 0,
        "redis %s: %s: partition %zu was lost on the way (evicted, deleted, or a failover); see "
        "to it that it has the memory, and do it again",
        at->redis->to.shown, at->uri->named, key);
}

tamis_key tamis__partition_guard(const tamis_filter *filter, uint32_t key, tamis__step *step,
                                 tamis__partition_room *room) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const uint64_t end = tamis__blocks_in(filter, key) * TAMIS__REDIS_BLOCK;
    const tamis_key name = {room->name, tamis__temp_file_name(at, key, room->name)};
    snprintf(room->from, sizeof room->from, "%" PRIu64, end);
    snprintf(room->to, sizeof room->to, "%" PRIu64, end + TAMIS__REDIS_BLOCK - 1);
    tamis__footer_write(at, key, room->footer);
    tamis__step_key(step, name);
    tamis__step_expect(step, tamis__word_of(room->footer, sizeof room->footer),
                       TAMIS__WORDS(tamis__redis_word("GETRANGE"), name, tamis__redis_word(room->from),
                                    tamis__redis_word(room->to)));
    return name;
}

void tamis__step_expire(tamis__step *step, tamis_key name, uint64_t ms, char digits[24]) {
    snprintf(digits, 24, "%" PRIu64, ms);
    if (ms > 0)
        tamis__step_write(step, TAMIS__WORDS(tamis__redis_word("PEXPIRE"), name, tamis__redis_word(digits)));
    else
        tamis__step_write(step, TAMIS__WORDS(tamis__redis_word("PERSIST"), name));
}

/* Each sending has a number of its own in the mark. If the partition is lost and an earlier sending arrives late, no later
 * step accepts what it makes. */
static bool put_partition(void *context, size_t i, tamis__link *link) {
    const making *make = context;
    const tamis__redis_filter *at = make->all.at;
    const uint32_t key = (uint32_t)(make->all.first + i);
    char name[TAMIS__REDIS_KEY], footer[TAMIS__REDIS_BLOCK], from[24], digits[24];
    tamis__step step = {.key_count = 0};
    const tamis_key partition = {name, tamis__temp_file_name(at, key, name)};
    if (at->fills)
        at->fills[key]++;
    tamis__footer_write(at, key, footer);
    snprintf(from, sizeof from, "%" PRIu64, tamis__blocks_in(make->filter, key) * TAMIS__REDIS_BLOCK);
    tamis__step_key(&step, partition);
    tamis__step_expect(&step, tamis__redis_word("0"), TAMIS__WORDS(tamis__redis_word("EXISTS"), partition));
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("SETRANGE"), partition, tamis__redis_word(from),
                                          tamis__word_of(footer, sizeof footer)));
    tamis__step_expire(&step, partition, make->ms, digits);
    tamis__step_put(&step, link);
    return true;
}

static tamis_status take_partition(void *context, size_t i, const tamis__reply *reply, bool resent,
                                   tamis_error *err) {
    making *make = context;
    make->all.done++;
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_strange(make->all.at, err);
    if (reply->integer == 0 && !resent)
        return tamis__partition_lost(make->all.at, make->all.first + i, err);
    make->is_unsure = make->is_unsure || reply->integer == 0;
    return TAMIS_OK;
}

static bool put_footer(void *context, size_t i, tamis__link *link);

/* Reads the mark. It must be of one of this process's sendings, perhaps an earlier one; its number is used from here on. */
static tamis_status take_mark(void *context, size_t i, const tamis__reply *reply, bool resent,
                              tamis_error *err) {
    const making *make = context;
    const tamis__redis_filter *at = make->all.at;
    const uint32_t sent = at->fills[i];
    (void)resent;
    for (at->fills[i] = 1; at->fills[i] <= sent; at->fills[i]++)
        if (tamis__footer_is(at, (uint32_t)i, reply))
            return TAMIS_OK;
    return tamis__partition_lost(at, i, err);
}

tamis_status tamis__partitions_make(tamis_filter *filter, uint64_t life_ms, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    making make = {{at, 0, 0, take_partition, true}, filter, life_ms, false, false};
    tamis_status status =
        tamis__rounds_run(&make.all, at->keys, tamis__round_of(at->partition), put_partition, err);
    const tamis__exchange marks = {.count = at->keys,
                                   .context = &make,
                                   .ask = put_footer,
                                   .take = take_mark,
                                   .what = at->uri->named,
                                   .slot = slot_of_key};
    make.all.first = 0;
    if (status == TAMIS_OK && make.is_unsure && at->fills)
        return tamis__redis_run(at->redis, &marks, NULL, err);
    if (status == TAMIS_E_TIMEOUT)
        return tamis__fail(
            err, status, ETIMEDOUT,
            "redis %s: %s: did not answer in time: making it takes %" PRIu64 " MiB there, and %zu of %" PRIu32
            " partitions are there for certain; run again, or drop it",
            at->redis->to.shown, at->uri->named, (tamis__blocks_of(filter) * TAMIS__REDIS_BLOCK >> 20) + 1,
            make.all.done, at->keys);
    return status;
}

/* ---- chunks ----
 *
 *     | blocks | mark or footer, 64 bytes | stamp, 16 | a bit for each chunk, 64 bytes at most |
 *
 * The step of a chunk also sets its bit, and only a partition with all bits set is sealed. A failover may lose the last
 * chunks and keep the mark, so an earlier check of the mark proves nothing.
 */
static uint64_t chunk_bits_at(const tamis_filter *filter, uint32_t key) {
    return (tamis__blocks_in(filter, key) + 1) * TAMIS__REDIS_BLOCK + TAMIS__STAMP;
}

uint64_t tamis__chunk_bit(const tamis_filter *filter, uint32_t key, uint64_t chunk) {
    return 8 * chunk_bits_at(filter, key) + chunk;
}

void tamis__chunks_guard(const tamis_filter *filter, uint32_t key, tamis_key name, tamis__step *step,
                         tamis__chunks_room *room) {
    const uint64_t bytes = tamis__blocks_in(filter, key) * TAMIS__REDIS_BLOCK,
                   from = chunk_bits_at(filter, key);
    const uint64_t chunks = (bytes + TAMIS__CHUNK - 1) / TAMIS__CHUNK, size = (chunks + 7) / 8;
    memset(room->bits, 0, sizeof room->bits);
    for (uint64_t i = 0; i < chunks; i++)
        room->bits[i / 8] = (char)(room->bits[i / 8] | 0x80 >> i % 8);
    snprintf(room->from, sizeof room->from, "%" PRIu64, from);
    snprintf(room->to, sizeof room->to, "%" PRIu64, from + size - 1);
    tamis__step_expect(step, tamis__word_of(room->bits, size),
                       TAMIS__WORDS(tamis__redis_word("GETRANGE"), name, tamis__redis_word(room->from),
                                    tamis__redis_word(room->to)));
}

/* ---- sealing ---- */

static bool put_seal(void *context, size_t i, tamis__link *link) {
    const making *make = context;
    tamis__redis_filter sealed = *make->all.at;
    const uint32_t key = (uint32_t)(make->all.first + i);
    char footer[TAMIS__REDIS_BLOCK], digits[24];
    tamis__partition_room room;
    tamis__step step = {.key_count = 0};
    tamis__chunks_room chunks;
    const tamis_key partition = tamis__partition_guard(make->filter, key, &step, &room);
    if (make->has_chunks)
        tamis__chunks_guard(make->filter, key, partition, &step, &chunks);
    sealed.fills = NULL;
    tamis__footer_write(&sealed, key, footer);
    tamis__step_write(&step,
                      TAMIS__WORDS(tamis__redis_word("SETRANGE"), partition, tamis__redis_word(room.from),
                                   tamis__word_of(footer, sizeof footer)));
    tamis__step_expire(&step, partition, make->ms, digits);
    tamis__step_put(&step, link);
    return true;
}

/* A seal that was sent twice may report nothing done because its first sending did it: the footers are read after this. */
static tamis_status take_seal(void *context, size_t i, const tamis__reply *reply, bool resent,
                              tamis_error *err) {
    const making *make = context;
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_strange(make->all.at, err);
    return reply->integer == 1 || resent ? TAMIS_OK
                                         : tamis__partition_lost(make->all.at, make->all.first + i, err);
}

tamis_status tamis__partitions_seal(tamis_filter *filter, bool has_chunks, uint64_t ttl_ms,
                                    tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    making make = {{at, 0, 0, take_seal, true}, filter, ttl_ms, has_chunks, false};
    tamis_status status = tamis__rounds_run(&make.all, at->keys, at->keys, put_seal, err);
    if (status != TAMIS_OK)
        return status;
    at->fills = NULL;
    return tamis__footers_check(filter, err);
}

/* ---- footers ---- */

static bool put_footer(void *context, size_t i, tamis__link *link) {
    const making *make = context;
    tamis__footer_ask(make->filter, (uint32_t)i, link);
    return true;
}

static tamis_status take_footer(void *context, size_t i, const tamis__reply *reply, bool resent,
                                tamis_error *err) {
    const making *make = context;
    (void)resent;
    return tamis__footer_is(make->all.at, (uint32_t)i, reply) ? TAMIS_OK
                                                              : tamis__partition_lost(make->all.at, i, err);
}

tamis_status tamis__footers_check(const tamis_filter *filter, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    making make = {.all = {.at = at}, .filter = filter};
    const tamis__exchange exchange = {.count = at->keys,
                                      .context = &make,
                                      .ask = put_footer,
                                      .take = take_footer,
                                      .what = at->uri->named,
                                      .slot = slot_of_key};
    return tamis__redis_run(at->redis, &exchange, NULL, err);
}

void tamis__state_write(const tamis__redis_filter *at, char to[TAMIS__REDIS_STATE]) {
    snprintf(to, TAMIS__REDIS_STATE, "ready %016" PRIx64, at->generation);
}
