/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Layout tamis: making, filling and sealing partitions. A partition is one string:
 *
 *     | blocks, 64 n bytes | mark or footer, 64 | stamp, 16 | chunk bits, 64 at most |
 *
 *     step   conditions                  writes
 *     make   the string does not exist   zeros and a mark "tamis-filling 2 G I R"; it expires
 *     chunk  the mark                    bytes of the blocks, and the bit of this chunk
 *     seal   the mark, all chunk bits    the footer "tamis-footer 1 G I" replaces the mark; expiry as planned
 *     read   all footers are read back
 *
 * The first three are steps (redis_step.c), one for each partition or chunk. Clients accept only
 * partitions with a footer.
 *
 * Why a mark with the number R of its sending: a partition may be lost (evicted, deleted, failover). Then an
 * earlier sending of make may arrive late and create it again, empty. Its mark has another R, so no later
 * step accepts it.
 *
 * Why chunk bits: a failover may lose the last chunks and keep the mark. So the mark alone does not prove
 * that the chunks are there. A partition is sealed only if the bits of all chunks are set.
 *
 * Why rounds: a server makes or frees 64 MiB in tens of milliseconds, and does nothing else meanwhile. At
 * most ROUND bytes are made or removed at once, so that other clients are served in between. The lock is
 * renewed after each round.
 *
 * Invariants:
 * 1. No two writers and no two sendings have the same mark.
 * 2. After the seal a late chunk does nothing, since the mark, its condition, is gone. It cannot erase adds.
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

tamis__partitions tamis__partitions_of(const tamis__redis_filter *rf, uint64_t generation, uint64_t bits,
                                       uint64_t each) {
    const uint64_t blocks = tamis__blocks_of(bits);
    return (tamis__partitions){.rf = rf,
                               .generation = generation,
                               .blocks = blocks,
                               .each = each,
                               .count = (uint32_t)((blocks - 1) / each + 1)};
}

void tamis__handle_set_partitions(tamis_filter *filter, uint64_t generation, uint64_t each) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis__partitions *partitions = &tamis__tamis_of(rf)->partitions;
    *partitions = tamis__partitions_of(rf, generation, filter->plan.bits, each);
    rf->keys = partitions->count;
}

uint64_t tamis__blocks_in(const tamis__partitions *partitions, uint32_t key) {
    const uint64_t left = partitions->blocks - key * partitions->each;
    return left < partitions->each ? left : partitions->each;
}

/* Offset of the mark or footer. */
static uint64_t footer_offset(const tamis__partitions *partitions, uint32_t key) {
    return tamis__blocks_in(partitions, key) * TAMIS__REDIS_BLOCK;
}

static void write_footer(const tamis__partitions *partitions, uint32_t key, char to[TAMIS__REDIS_BLOCK]) {
    memset(to, 0, TAMIS__REDIS_BLOCK);
    snprintf(to, TAMIS__REDIS_BLOCK, "tamis-footer 1 %016" PRIx64 " %" PRIu32, partitions->generation, key);
}

/* Writes the footer or, while the partition is being filled, the mark. No two writers and no two sendings
 * share a mark. */
static void write_end(const tamis__partitions *partitions, uint32_t key, char to[TAMIS__REDIS_BLOCK]) {
    memset(to, 0, TAMIS__REDIS_BLOCK);
    if (*partitions->staging) /* a staging string has zeros there: see redis_union.c */
        return;
    if (partitions->mark_numbers)
        snprintf(to, TAMIS__REDIS_BLOCK, "tamis-filling 2 %016" PRIx64 " %" PRIu32 " %" PRIu32,
                 partitions->generation, key, partitions->mark_numbers[key]);
    else
        write_footer(partitions, key, to);
}

void tamis__footer_put_query(const tamis__partitions *partitions, uint32_t key, tamis__connection *conn) {
    char name[TAMIS__REDIS_KEY];
    const int64_t end = (int64_t)footer_offset(partitions, key);
    const size_t size = tamis__partition_name(partitions, key, name);
    tamis__connection_put_command(conn, 4);
    tamis__connection_put_text(conn, "GETRANGE");
    tamis__connection_put(conn, name, size);
    tamis__connection_put_number(conn, end);
    tamis__connection_put_number(conn, end + TAMIS__REDIS_BLOCK - 1);
}

bool tamis__footer_matches(const tamis__partitions *partitions, uint32_t key, const tamis__reply *reply) {
    char footer[TAMIS__REDIS_BLOCK];
    write_end(partitions, key, footer);
    return reply->type == TAMIS__REPLY_STRING && reply->size == sizeof footer &&
           memcmp(reply->text, footer, sizeof footer) == 0;
}

enum { ROUND = 64 << 20 /* max. bytes made or removed in one round */ };

static uint32_t slot_of_partition(void *context, size_t i) {
    const tamis__rounds *rounds = context;
    return tamis__partition_slot(rounds->partitions, (uint32_t)(rounds->first + i));
}

tamis_status tamis__rounds_run(tamis__rounds *rounds, size_t max,
                               bool (*put_command)(void *context, size_t i, tamis__connection *conn),
                               tamis_error *err) {
    const tamis__redis_filter *rf = rounds->partitions->rf;
    const size_t count = rounds->partitions->count;
    tamis__requests requests = {.context = rounds,
                                .put_command = put_command,
                                .accept_reply = rounds->accept_reply,
                                .what = rf->uri->shown_name,
                                .slot = slot_of_partition,
                                .is_steps = rounds->is_steps};
    tamis_status status = TAMIS_OK;
    for (rounds->first = 0; rounds->first < count && status == TAMIS_OK; rounds->first += max) {
        requests.count = count - rounds->first < max ? count - rounds->first : max;
        status = tamis__requests_run(rf->redis, &requests, NULL, err);
        if (status == TAMIS_OK)
            status = tamis__lock_renew(rf, err);
    }
    return status;
}

size_t tamis__round_size(const tamis__partitions *partitions) {
    const uint64_t size = (partitions->each + 1) * TAMIS__REDIS_BLOCK;
    return size < ROUND ? (size_t)(ROUND / size) : 1;
}

typedef struct making {
    tamis__rounds rounds; /* first member */
    uint64_t ms;          /* expiry of the partitions; 0: none */
    bool has_chunks;      /* the seal requires all chunk bits */
    bool is_unsure; /* a step that was sent twice found its partition: the first sending may have made it */
} making;

tamis_status tamis__partition_lost(const tamis__redis_filter *rf, size_t key, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_IO, 0,
        "redis %s: %s: partition %zu was lost on the way (evicted, deleted, or a failover); make sure "
        "that the server has the memory, and try again",
        rf->redis->endpoint.shown, rf->uri->shown_name, key);
}

tamis_key tamis__partition_add_condition(const tamis__partitions *partitions, uint32_t key, tamis__step *step,
                                         tamis__partition_buffers *buffers) {
    const uint64_t end = footer_offset(partitions, key);
    const tamis_key name = {buffers->name, tamis__partition_name(partitions, key, buffers->name)};
    tamis__step_key(step, name);
    if (*partitions->staging) {
        tamis__step_expect(step, tamis__redis_word("1"), TAMIS__WORDS(tamis__redis_word("EXISTS"), name));
        return name;
    }
    snprintf(buffers->from, sizeof buffers->from, "%" PRIu64, end);
    snprintf(buffers->to, sizeof buffers->to, "%" PRIu64, end + TAMIS__REDIS_BLOCK - 1);
    write_end(partitions, key, buffers->footer);
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
    const tamis__partitions *partitions = make->rounds.partitions;
    const uint32_t key = (uint32_t)(make->rounds.first + i);
    char name[TAMIS__REDIS_KEY], end[TAMIS__REDIS_BLOCK], from[24], digits[24];
    tamis__step step = {.key_count = 0};
    const tamis_key partition = {name, tamis__partition_name(partitions, key, name)};
    if (partitions->mark_numbers)
        partitions->mark_numbers[key]++;
    write_end(partitions, key, end);
    snprintf(from, sizeof from, "%" PRIu64, footer_offset(partitions, key));
    tamis__step_key(&step, partition);
    tamis__step_expect(&step, tamis__redis_word("0"), TAMIS__WORDS(tamis__redis_word("EXISTS"), partition));
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("SETRANGE"), partition, tamis__redis_word(from),
                                          tamis__word_of(end, sizeof end)));
    tamis__step_expire(&step, partition, make->ms, digits);
    tamis__step_put(&step, conn);
    return true;
}

static tamis_status accept_partition(void *context, size_t i, const tamis__reply *reply, bool resent,
                                     tamis_error *err) {
    making *make = context;
    const tamis__redis_filter *rf = make->rounds.partitions->rf;
    make->rounds.done++;
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_filter_bad_reply(rf, err);
    if (reply->integer == 0 && !resent)
        return tamis__partition_lost(rf, make->rounds.first + i, err);
    make->is_unsure = make->is_unsure || reply->integer == 0;
    return TAMIS_OK;
}

static bool put_footer(void *context, size_t i, tamis__connection *conn) {
    const tamis__rounds *rounds = context;
    tamis__footer_put_query(rounds->partitions, (uint32_t)(rounds->first + i), conn);
    return true;
}

/* Reads all footers or marks in one pipeline. */
static tamis_status read_footers(tamis__rounds *rounds, tamis_error *err) {
    const tamis__redis_filter *rf = rounds->partitions->rf;
    const tamis__requests requests = {.count = rounds->partitions->count,
                                      .context = rounds,
                                      .put_command = put_footer,
                                      .accept_reply = rounds->accept_reply,
                                      .what = rf->uri->shown_name,
                                      .slot = slot_of_partition};
    return tamis__requests_run(rf->redis, &requests, NULL, err);
}

/* Checks that the mark is from one of this process's sendings, perhaps an earlier one. Its number is used
 * from now on. */
static tamis_status check_mark(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err) {
    const tamis__partitions *partitions = ((const tamis__rounds *)context)->partitions;
    uint32_t *fill = &partitions->mark_numbers[i];
    const uint32_t sent = *fill;
    (void)resent;
    for (*fill = 1; *fill <= sent; ++*fill)
        if (tamis__footer_matches(partitions, (uint32_t)i, reply))
            return TAMIS_OK;
    return tamis__partition_lost(partitions->rf, i, err);
}

tamis_status tamis__partitions_make(const tamis__partitions *partitions, uint64_t life_ms, tamis_error *err) {
    const tamis__redis_filter *rf = partitions->rf;
    making make = {.rounds = {.partitions = partitions, .accept_reply = accept_partition, .is_steps = true},
                   .ms = life_ms};
    const tamis_status status =
        tamis__rounds_run(&make.rounds, tamis__round_size(partitions), put_partition, err);
    if (status == TAMIS_OK && make.is_unsure && partitions->mark_numbers)
        return read_footers(&(tamis__rounds){.partitions = partitions, .accept_reply = check_mark}, err);
    if (status == TAMIS_E_TIMEOUT)
        return tamis__fail(
            err, status, ETIMEDOUT,
            "redis %s: %s: did not answer in time: making it takes %" PRIu64 " MiB there, and %zu of %" PRIu32
            " partitions are there for certain; run again, or drop it",
            rf->redis->endpoint.shown, rf->uri->shown_name,
            (partitions->blocks * TAMIS__REDIS_BLOCK >> 20) + 1, make.rounds.done, partitions->count);
    return status;
}

/* ---- chunks ---- */

static uint64_t chunk_bits_offset(const tamis__partitions *partitions, uint32_t key) {
    return footer_offset(partitions, key) + TAMIS__REDIS_BLOCK + TAMIS__STAMP;
}

uint64_t tamis__chunk_bit(const tamis__partitions *partitions, uint32_t key, uint64_t chunk) {
    return 8 * chunk_bits_offset(partitions, key) + chunk;
}

void tamis__chunks_add_condition(const tamis__partitions *partitions, uint32_t key, tamis_key name,
                                 tamis__step *step, tamis__chunks_buffers *buffers) {
    const uint64_t bytes = footer_offset(partitions, key), from = chunk_bits_offset(partitions, key);
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
    const tamis__partitions *partitions = make->rounds.partitions;
    const uint32_t key = (uint32_t)(make->rounds.first + i);
    char footer[TAMIS__REDIS_BLOCK], digits[24];
    tamis__partition_buffers buffers;
    tamis__step step = {.key_count = 0};
    tamis__chunks_buffers chunks;
    const tamis_key partition = tamis__partition_add_condition(partitions, key, &step, &buffers);
    if (make->has_chunks)
        tamis__chunks_add_condition(partitions, key, partition, &step, &chunks);
    write_footer(partitions, key, footer);
    tamis__step_write(&step,
                      TAMIS__WORDS(tamis__redis_word("SETRANGE"), partition, tamis__redis_word(buffers.from),
                                   tamis__word_of(footer, sizeof footer)));
    tamis__step_expire(&step, partition, make->ms, digits);
    tamis__step_put(&step, conn);
    return true;
}

/* A seal that was sent twice may find the work of its first sending and report that it did nothing. So the
 * footers are read afterwards. */
static tamis_status accept_seal(void *context, size_t i, const tamis__reply *reply, bool resent,
                                tamis_error *err) {
    const making *make = context;
    const tamis__redis_filter *rf = make->rounds.partitions->rf;
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_filter_bad_reply(rf, err);
    return reply->integer == 1 || resent ? TAMIS_OK : tamis__partition_lost(rf, make->rounds.first + i, err);
}

tamis_status tamis__partitions_seal(tamis__partitions *partitions, bool has_chunks, uint64_t ttl_ms,
                                    tamis_error *err) {
    making make = {.rounds = {.partitions = partitions, .accept_reply = accept_seal, .is_steps = true},
                   .ms = ttl_ms,
                   .has_chunks = has_chunks};
    const tamis_status status = tamis__rounds_run(&make.rounds, partitions->count, put_seal, err);
    if (status != TAMIS_OK)
        return status;
    partitions->mark_numbers = NULL;
    return tamis__footers_check(partitions, err);
}

/* ---- footers ---- */

static tamis_status accept_footer(void *context, size_t i, const tamis__reply *reply, bool resent,
                                  tamis_error *err) {
    const tamis__partitions *partitions = ((const tamis__rounds *)context)->partitions;
    (void)resent;
    return tamis__footer_matches(partitions, (uint32_t)i, reply)
               ? TAMIS_OK
               : tamis__partition_lost(partitions->rf, i, err);
}

tamis_status tamis__footers_check(const tamis__partitions *partitions, tamis_error *err) {
    return read_footers(&(tamis__rounds){.partitions = partitions, .accept_reply = accept_footer}, err);
}

void tamis__state_write(uint64_t generation, char to[TAMIS__REDIS_STATE]) {
    snprintf(to, TAMIS__REDIS_STATE, "ready %016" PRIx64, generation);
}
