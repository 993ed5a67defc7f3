/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Layout tamis: making, filling and sealing partitions. A partition is one string:
 *
 *     | blocks, 64 n bytes | mark or footer, 64 | stamp, 16 | chunk bits, 64 at most |
 *
 *     make     guard: the string does not exist     zeros and a mark "tamis-filling 2 G I R"; it expires
 *     chunk    guard: the mark                      bytes of the blocks, and the bit of this chunk
 *     seal     guards: the mark, all chunk bits     the footer "tamis-footer 1 G I" replaces the mark; expiry as planned
 *     read     all footers are read back
 *
 * The first three are steps (redis_step.h), one for each partition or chunk. Clients accept only partitions with a footer.
 *
 * Why a mark with the number R of its sending: if a partition is lost (evicted, deleted, failover), an earlier sending of
 * make may arrive late and create it again, empty. Its mark has another R, so no later step accepts it.
 *
 * Why chunk bits: a failover may lose the last chunks and keep the mark, so the mark alone does not prove that the chunks are
 * there. A partition is sealed only if the bits of all chunks are set.
 *
 * Why rounds: a server makes or frees 64 MiB in tens of milliseconds, and does nothing else meanwhile. At most ROUND bytes
 * are made or removed at once, so that other clients are served in between. The lock is renewed after each round.
 *
 * Invariants:
 * 1. No two writers and no two sendings have the same mark.
 * 2. After the seal a late chunk does nothing, since its guard, the mark, is gone. It cannot erase adds.
 * 3. A partition that is lost on the way never gets a footer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/redis/layout/layout_tamis.h"

/* ---- partitions ---- */

uint64_t tamis__blocks_of(const tamis_filter *filter) {
    return filter->plan.bits / (8 * TAMIS__REDIS_BLOCK);
}

uint64_t tamis__blocks_in(const tamis_filter *filter, uint32_t key) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    uint64_t before = key * rf->partition, left = tamis__blocks_of(filter) - before;
    return left < rf->partition ? left : rf->partition;
}

void tamis__partitions_set(tamis_filter *filter, uint64_t blocks_each) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    rf->partition = blocks_each;
    rf->keys = (uint32_t)((tamis__blocks_of(filter) - 1) / blocks_each + 1);
}

void tamis__footer_write(const tamis__redis_filter *rf, uint32_t key, char to[TAMIS__REDIS_BLOCK]) {
    memset(to, 0, TAMIS__REDIS_BLOCK);
    if (*rf->staging) /* a staging string has zeros there: see redis_union.c */
        return;
    if (rf->fills)
        snprintf(to, TAMIS__REDIS_BLOCK, "tamis-filling 2 %016" PRIx64 " %" PRIu32 " %" PRIu32,
                 rf->generation, key, rf->fills[key]);
    else
        snprintf(to, TAMIS__REDIS_BLOCK, "tamis-footer 1 %016" PRIx64 " %" PRIu32, rf->generation, key);
}

void tamis__footer_put_query(const tamis_filter *filter, uint32_t key, tamis__connection *conn) {
    char name[TAMIS__REDIS_KEY];
    const int64_t end = (int64_t)(tamis__blocks_in(filter, key) * TAMIS__REDIS_BLOCK);
    size_t size = tamis__staging_name(tamis__redis_of(filter), key, name);
    tamis__connection_put_command(conn, 4);
    tamis__connection_put_text(conn, "GETRANGE");
    tamis__connection_put(conn, name, size);
    tamis__connection_put_number(conn, end);
    tamis__connection_put_number(conn, end + TAMIS__REDIS_BLOCK - 1);
}

bool tamis__footer_matches(const tamis__redis_filter *rf, uint32_t key, const tamis__reply *reply) {
    char footer[TAMIS__REDIS_BLOCK];
    tamis__footer_write(rf, key, footer);
    return reply->type == TAMIS__REPLY_STRING && reply->size == sizeof footer &&
           memcmp(reply->text, footer, sizeof footer) == 0;
}

tamis_status tamis__generation_new(tamis__redis_filter *rf, tamis_error *err) {
    return tamis__random(&rf->generation, sizeof rf->generation, rf->uri->shown, err);
}

enum { ROUND = 64 << 20 /* max. bytes made or removed in one round */ };

static uint32_t slot_of_key(void *context, size_t i) {
    const tamis__rounds *rounds = context;
    return tamis__redis_key_slot(rounds->rf, rounds->first + i);
}

tamis_status tamis__rounds_run(tamis__rounds *rounds, size_t count, size_t max,
                               bool (*put_command)(void *context, size_t i, tamis__connection *conn),
                               tamis_error *err) {
    tamis__requests requests = {.context = rounds,
                                .put_command = put_command,
                                .take_reply = rounds->take_reply,
                                .what = rounds->rf->uri->shown_name,
                                .slot = slot_of_key,
                                .is_steps = rounds->is_steps};
    tamis_status status = TAMIS_OK;
    for (rounds->first = 0; rounds->first < count && status == TAMIS_OK; rounds->first += max) {
        requests.count = count - rounds->first < max ? count - rounds->first : max;
        status = tamis__requests_run(rounds->rf->redis, &requests, NULL, err);
        if (status == TAMIS_OK)
            status = tamis__lock_renew(rounds->rf, err);
    }
    return status;
}

size_t tamis__round_size(uint64_t partition) {
    const uint64_t size = (partition + 1) * TAMIS__REDIS_BLOCK;
    return size < ROUND ? (size_t)(ROUND / size) : 1;
}

typedef struct making {
    tamis__rounds rounds; /* first member */
    const tamis_filter *filter;
    uint64_t ms;     /* expiry of the partitions; 0: none */
    bool has_chunks; /* the seal requires all chunk bits */
    bool is_unsure;  /* a step that was sent twice found its partition: the first sending may have made it */
} making;

tamis_status tamis__partition_lost(const tamis__redis_filter *rf, size_t key, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_IO, 0,
        "redis %s: %s: partition %zu was lost on the way (evicted, deleted, or a failover); see "
        "to it that it has the memory, and do it again",
        rf->redis->endpoint.shown, rf->uri->shown_name, key);
}

tamis_key tamis__partition_add_condition(const tamis_filter *filter, uint32_t key, tamis__step *step,
                                         tamis__partition_buffers *buffers) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    const uint64_t end = tamis__blocks_in(filter, key) * TAMIS__REDIS_BLOCK;
    const tamis_key name = {buffers->name, tamis__staging_name(rf, key, buffers->name)};
    snprintf(buffers->from, sizeof buffers->from, "%" PRIu64, end);
    snprintf(buffers->to, sizeof buffers->to, "%" PRIu64, end + TAMIS__REDIS_BLOCK - 1);
    tamis__footer_write(rf, key, buffers->footer);
    tamis__step_key(step, name);
    tamis__step_expect(step, tamis__word_of(buffers->footer, sizeof buffers->footer),
                       TAMIS__WORDS(tamis__redis_word("GETRANGE"), name, tamis__redis_word(buffers->from),
                                    tamis__redis_word(buffers->to)));
    return name;
}

void tamis__step_expire(tamis__step *step, tamis_key name, uint64_t ms, char digits[24]) {
    snprintf(digits, 24, "%" PRIu64, ms);
    if (ms > 0)
        tamis__step_write(step, TAMIS__WORDS(tamis__redis_word("PEXPIRE"), name, tamis__redis_word(digits)));
    else
        tamis__step_write(step, TAMIS__WORDS(tamis__redis_word("PERSIST"), name));
}

static bool put_partition(void *context, size_t i, tamis__connection *conn) {
    const making *make = context;
    const tamis__redis_filter *rf = make->rounds.rf;
    const uint32_t key = (uint32_t)(make->rounds.first + i);
    char name[TAMIS__REDIS_KEY], footer[TAMIS__REDIS_BLOCK], from[24], digits[24];
    tamis__step step = {.key_count = 0};
    const tamis_key partition = {name, tamis__staging_name(rf, key, name)};
    if (rf->fills)
        rf->fills[key]++;
    tamis__footer_write(rf, key, footer);
    snprintf(from, sizeof from, "%" PRIu64, tamis__blocks_in(make->filter, key) * TAMIS__REDIS_BLOCK);
    tamis__step_key(&step, partition);
    tamis__step_expect(&step, tamis__redis_word("0"), TAMIS__WORDS(tamis__redis_word("EXISTS"), partition));
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("SETRANGE"), partition, tamis__redis_word(from),
                                          tamis__word_of(footer, sizeof footer)));
    tamis__step_expire(&step, partition, make->ms, digits);
    tamis__step_put(&step, conn);
    return true;
}

static tamis_status take_partition(void *context, size_t i, const tamis__reply *reply, bool resent,
                                   tamis_error *err) {
    making *make = context;
    make->rounds.done++;
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_filter_bad_reply(make->rounds.rf, err);
    if (reply->integer == 0 && !resent)
        return tamis__partition_lost(make->rounds.rf, make->rounds.first + i, err);
    make->is_unsure = make->is_unsure || reply->integer == 0;
    return TAMIS_OK;
}

static bool put_footer(void *context, size_t i, tamis__connection *conn);

/* Checks that the mark is from one of this process's sendings, perhaps an earlier one. Its number is used from now on. */
static tamis_status check_mark(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err) {
    const making *make = context;
    const tamis__redis_filter *rf = make->rounds.rf;
    const uint32_t sent = rf->fills[i];
    (void)resent;
    for (rf->fills[i] = 1; rf->fills[i] <= sent; rf->fills[i]++)
        if (tamis__footer_matches(rf, (uint32_t)i, reply))
            return TAMIS_OK;
    return tamis__partition_lost(rf, i, err);
}

tamis_status tamis__partitions_make(tamis_filter *filter, uint64_t life_ms, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    making make = {{rf, 0, 0, take_partition, true}, filter, life_ms, false, false};
    tamis_status status =
        tamis__rounds_run(&make.rounds, rf->keys, tamis__round_size(rf->partition), put_partition, err);
    const tamis__requests marks = {.count = rf->keys,
                                   .context = &make,
                                   .put_command = put_footer,
                                   .take_reply = check_mark,
                                   .what = rf->uri->shown_name,
                                   .slot = slot_of_key};
    make.rounds.first = 0;
    if (status == TAMIS_OK && make.is_unsure && rf->fills)
        return tamis__requests_run(rf->redis, &marks, NULL, err);
    if (status == TAMIS_E_TIMEOUT)
        return tamis__fail(
            err, status, ETIMEDOUT,
            "redis %s: %s: did not answer in time: making it takes %" PRIu64 " MiB there, and %zu of %" PRIu32
            " partitions are there for certain; run again, or drop it",
            rf->redis->endpoint.shown, rf->uri->shown_name,
            (tamis__blocks_of(filter) * TAMIS__REDIS_BLOCK >> 20) + 1, make.rounds.done, rf->keys);
    return status;
}

/* ---- chunks ---- */

static uint64_t chunk_bits_offset(const tamis_filter *filter, uint32_t key) {
    return (tamis__blocks_in(filter, key) + 1) * TAMIS__REDIS_BLOCK + TAMIS__STAMP;
}

uint64_t tamis__chunk_bit(const tamis_filter *filter, uint32_t key, uint64_t chunk) {
    return 8 * chunk_bits_offset(filter, key) + chunk;
}

void tamis__chunks_add_condition(const tamis_filter *filter, uint32_t key, tamis_key name, tamis__step *step,
                                 tamis__chunks_buffers *buffers) {
    const uint64_t bytes = tamis__blocks_in(filter, key) * TAMIS__REDIS_BLOCK,
                   from = chunk_bits_offset(filter, key);
    const uint64_t chunks = (bytes + TAMIS__CHUNK - 1) / TAMIS__CHUNK, size = (chunks + 7) / 8;
    memset(buffers->bits, 0, sizeof buffers->bits);
    for (uint64_t i = 0; i < chunks; i++)
        buffers->bits[i / 8] = (char)(buffers->bits[i / 8] | 0x80 >> i % 8);
    snprintf(buffers->from, sizeof buffers->from, "%" PRIu64, from);
    snprintf(buffers->to, sizeof buffers->to, "%" PRIu64, from + size - 1);
    tamis__step_expect(step, tamis__word_of(buffers->bits, size),
                       TAMIS__WORDS(tamis__redis_word("GETRANGE"), name, tamis__redis_word(buffers->from),
                                    tamis__redis_word(buffers->to)));
}

/* ---- sealing ---- */

static bool put_seal(void *context, size_t i, tamis__connection *conn) {
    const making *make = context;
    tamis__redis_filter sealed = *make->rounds.rf;
    const uint32_t key = (uint32_t)(make->rounds.first + i);
    char footer[TAMIS__REDIS_BLOCK], digits[24];
    tamis__partition_buffers buffers;
    tamis__step step = {.key_count = 0};
    tamis__chunks_buffers chunks;
    const tamis_key partition = tamis__partition_add_condition(make->filter, key, &step, &buffers);
    if (make->has_chunks)
        tamis__chunks_add_condition(make->filter, key, partition, &step, &chunks);
    sealed.fills = NULL;
    tamis__footer_write(&sealed, key, footer);
    tamis__step_write(&step,
                      TAMIS__WORDS(tamis__redis_word("SETRANGE"), partition, tamis__redis_word(buffers.from),
                                   tamis__word_of(footer, sizeof footer)));
    tamis__step_expire(&step, partition, make->ms, digits);
    tamis__step_put(&step, conn);
    return true;
}

/* A seal that was sent twice may find the work of its first sending and report that it did nothing. So the footers are read
 * afterwards. */
static tamis_status take_seal(void *context, size_t i, const tamis__reply *reply, bool resent,
                              tamis_error *err) {
    const making *make = context;
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_filter_bad_reply(make->rounds.rf, err);
    return reply->integer == 1 || resent
               ? TAMIS_OK
               : tamis__partition_lost(make->rounds.rf, make->rounds.first + i, err);
}

tamis_status tamis__partitions_seal(tamis_filter *filter, bool has_chunks, uint64_t ttl_ms,
                                    tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    making make = {{rf, 0, 0, take_seal, true}, filter, ttl_ms, has_chunks, false};
    tamis_status status = tamis__rounds_run(&make.rounds, rf->keys, rf->keys, put_seal, err);
    if (status != TAMIS_OK)
        return status;
    rf->fills = NULL;
    return tamis__footers_check(filter, err);
}

/* ---- footers ---- */

static bool put_footer(void *context, size_t i, tamis__connection *conn) {
    const making *make = context;
    tamis__footer_put_query(make->filter, (uint32_t)i, conn);
    return true;
}

static tamis_status take_footer(void *context, size_t i, const tamis__reply *reply, bool resent,
                                tamis_error *err) {
    const making *make = context;
    (void)resent;
    return tamis__footer_matches(make->rounds.rf, (uint32_t)i, reply)
               ? TAMIS_OK
               : tamis__partition_lost(make->rounds.rf, i, err);
}

tamis_status tamis__footers_check(const tamis_filter *filter, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    making make = {.rounds = {.rf = rf}, .filter = filter};
    const tamis__requests requests = {.count = rf->keys,
                                      .context = &make,
                                      .put_command = put_footer,
                                      .take_reply = take_footer,
                                      .what = rf->uri->shown_name,
                                      .slot = slot_of_key};
    return tamis__requests_run(rf->redis, &requests, NULL, err);
}

void tamis__state_write(const tamis__redis_filter *rf, char to[TAMIS__REDIS_STATE]) {
    snprintf(to, TAMIS__REDIS_STATE, "ready %016" PRIx64, rf->generation);
}
