/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Counters with positions: steps A1, C2 and C3 of docs/KAFKA-COUNT-PROTOCOL.md. C4 and C5 are in
 * counts_script.c.
 *
 *     NAME:{0}   hash: template, 0, 1, 2 ...      position key of the home slot
 *     NAME:{N}   the same                         position key of another slot; N: the smallest that gives it
 *     clicks:... string: a number                 counters, each in the slot of its own name
 *     users:...  string: a HyperLogLog
 *
 * Invariant: `known` of a slot is NULL, or has the positions of its position key after the last command of
 * this object.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/file/file_error.h"
#include "store/redis/counts/counts_int.h"

enum {
    ENTRIES_MAX = 8192,         /* in a batch; a script takes some two microseconds for each */
    BYTES_MAX = 4 * 1024 * 1024 /* in a batch, of names and elements */
};

/* ---- slots ---- */

size_t tamis__counts_key(const tamis__counts *counts, uint32_t tag, char key[COUNTS_KEY]) {
    return (size_t)snprintf(key, COUNTS_KEY, "%.500s:{%" PRIu32 "}", counts->options.name, tag);
}

/* Finds the smallest number for each slot. A cluster takes some hundred thousand tries: 20 ms. */
static tamis_status find_tags(tamis__counts *counts, tamis_error *err) {
    const uint32_t slots = counts->redis->slot_count;
    char key[COUNTS_KEY];

    counts->tags = tamis__alloc(&counts->allocator, slots * sizeof *counts->tags, _Alignof(uint32_t));
    counts->known = tamis__alloc(&counts->allocator, slots * sizeof *counts->known, _Alignof(uint64_t *));
    if (!counts->tags || !counts->known)
        return tamis__fail_nomem(err, "slots", slots * (sizeof *counts->tags + sizeof *counts->known));
    counts->home = tamis__redis_slot(counts->redis, key, tamis__counts_key(counts, 0, key));
    uint32_t found = 1;
    for (uint32_t tag = 1; found < slots; tag++) {
        const uint32_t slot = tamis__redis_slot(counts->redis, key, tamis__counts_key(counts, tag, key));
        if (slot == counts->home || counts->tags[slot] > 0)
            continue;
        counts->tags[slot] = tag;
        found++;
    }
    return TAMIS_OK;
}

static void forget_known(tamis__counts *counts) {
    for (uint32_t i = 0; counts->known && i < counts->redis->slot_count; i++) {
        tamis__free(&counts->allocator, counts->known[i],
                    counts->options.partition_count * sizeof *counts->known[i]);
        counts->known[i] = NULL;
    }
}

/* Without the replicas that the URI demands, each batch would wait for them in vain. WAIT counts those that
 * are connected, since this connection has written nothing. */
static tamis_status check_replicas(const tamis__counts *counts, tamis_error *err) {
    char replicas[24];
    const uint64_t wanted = counts->redis->replicas;

    if (wanted == 0)
        return TAMIS_OK;
    snprintf(replicas, sizeof replicas, "%" PRIu64, wanted);
    const tamis_key words[] = {tamis__redis_word("WAIT"), tamis__redis_word(replicas),
                               tamis__redis_word("100")};
    tamis__command command = {.redis = counts->redis,
                              .what = counts->options.name,
                              .slot = counts->home,
                              .words = words,
                              .count = sizeof words / sizeof *words};
    if (tamis__command_run(&command, err) != TAMIS_OK)
        return err->status;
    if (command.integer >= (int64_t)wanted)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_REFUSED, 0,
        "redis %s: has %" PRId64 " of the %" PRIu64
        " replicas that must confirm each batch; connect them (see INFO replication there), or lower "
        "replicas=",
        counts->redis->endpoint.shown, command.integer, wanted);
}

tamis_status tamis__counts_open(tamis__counts **counts, const tamis__counts_options *options,
                                tamis_error *err) {
    const tamis_allocator allocator = tamis__allocator_resolve(options->allocator);
    tamis__counts *made = tamis__alloc(&allocator, sizeof *made, _Alignof(tamis__counts));

    if (!made)
        return tamis__fail_nomem(err, "counters", sizeof *made);
    made->options = *options;
    made->allocator = allocator;
    tamis_status status = tamis_redis_open(&made->redis, options->uri, &allocator, err);
    if (status == TAMIS_OK)
        status = tamis__redis_require_command(made->redis, options->name, "EVAL over several keys",
                                              "name a Redis or a cluster", err);
    if (status == TAMIS_OK)
        status = find_tags(made, err);
    if (status == TAMIS_OK)
        status = check_replicas(made, err);
    if (status != TAMIS_OK) {
        tamis__counts_close(made);
        return status;
    }
    *counts = made;
    return TAMIS_OK;
}

void tamis__counts_close(tamis__counts *counts) {
    if (!counts)
        return;
    const tamis_allocator allocator = counts->allocator;
    if (counts->redis) {
        forget_known(counts);
        tamis__free(&allocator, counts->tags, counts->redis->slot_count * sizeof *counts->tags);
        tamis__free(&allocator, counts->known, counts->redis->slot_count * sizeof *counts->known);
    }
    tamis__counts_batch_release(&counts->batch, &allocator);
    tamis_redis_close(counts->redis);
    tamis__free(&allocator, counts, sizeof *counts);
}

/* ---- A1, C2: reading a position key ---- */

typedef struct counts_load {
    tamis__counts *counts;
    uint32_t slot;
    uint64_t *positions;
} counts_load;

static uint32_t load_slot(void *context, size_t i) {
    (void)i;
    return ((const counts_load *)context)->slot;
}

void tamis__counts_on_wait(void *context, const char *why) {
    const tamis__counts_options *options = &(*(tamis__counts *const *)context)->options;

    if (options->on_wait)
        options->on_wait(options->context, why);
}

static bool put_load(void *context, size_t i, tamis__connection *conn) {
    const counts_load *load = context;
    char key[COUNTS_KEY];

    (void)i;
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, "HGETALL");
    tamis__connection_put(conn, key, tamis__counts_key(load->counts, load->counts->tags[load->slot], key));
    return true;
}

tamis_status tamis__counts_fail_template(const tamis__counts *counts, const tamis__reply *text,
                                         tamis_error *err) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "%.100s: the counters in %.100s were made with %.200s; give the same options, or use "
                       "another group and other names of counters",
                       counts->options.name, counts->redis->endpoint.shown, tamis__show(text->text).text);
}

/* Reads a field of a position key: the description, or the position of a partition. */
static tamis_status accept_field(const counts_load *load, const tamis__reply *field,
                                 const tamis__reply *value, tamis_error *err) {
    const tamis__counts *counts = load->counts;

    if (strcmp(field->text, "template") == 0)
        return strcmp(value->text, counts->options.description) == 0
                   ? TAMIS_OK
                   : tamis__counts_fail_template(counts, value, err);
    const unsigned long long partition = strtoull(field->text, NULL, 10);
    if (partition >= counts->options.partition_count)
        return tamis__fail(err, TAMIS_E_CHANGED, 0,
                           "%.100s: the counters in %.100s have partition %.20s, which the topic does not "
                           "have: it was made again; use another group and other names of counters",
                           counts->options.name, counts->redis->endpoint.shown,
                           tamis__show(field->text).text);
    load->positions[partition] = strtoull(value->text, NULL, 10);
    return TAMIS_OK;
}

static tamis_status accept_load(void *context, size_t i, const tamis__reply *reply, bool resent,
                                tamis_error *err) {
    const counts_load *load = context;

    (void)i;
    (void)resent;
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size % 2 != 0)
        return tamis__redis_bad_reply(load->counts->redis, load->counts->options.name, err);
    for (size_t k = 0; k < load->counts->options.partition_count; k++)
        load->positions[k] = TAMIS__NO_POSITION;
    for (size_t k = 0; k < reply->size; k += 2) {
        const tamis__reply *field = &reply->items[k], *value = &reply->items[k + 1];
        if (field->type != TAMIS__REPLY_STRING || value->type != TAMIS__REPLY_STRING)
            return tamis__redis_bad_reply(load->counts->redis, load->counts->options.name, err);
        if (accept_field(load, field, value, err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

/* Reads the positions of a slot, unless they are known. */
static tamis_status load_positions(tamis__counts *counts, uint32_t slot, tamis_error *err) {
    const size_t size = counts->options.partition_count * sizeof *counts->known[slot];
    counts_load load = {.counts = counts, .slot = slot};
    const tamis__requests requests = {.count = 1,
                                      .context = &load,
                                      .put_command = put_load,
                                      .accept_reply = accept_load,
                                      .what = counts->options.name,
                                      .slot = load_slot,
                                      .on_wait = tamis__counts_on_wait};

    if (counts->known[slot])
        return TAMIS_OK;
    load.positions = tamis__alloc(&counts->allocator, size, _Alignof(uint64_t));
    if (!load.positions)
        return tamis__fail_nomem(err, "positions", size);
    const tamis_status status = tamis__requests_run(counts->redis, &requests, NULL, err);
    if (status == TAMIS_OK)
        counts->known[slot] = load.positions;
    else
        tamis__free(&counts->allocator, load.positions, size);
    return status;
}

tamis_status tamis__counts_begin(tamis__counts *counts, uint64_t *positions, tamis_error *err) {
    tamis__counts_batch_clear(&counts->batch);
    forget_known(counts);
    const tamis_status status = load_positions(counts, counts->home, err);
    if (status == TAMIS_OK)
        memcpy(positions, counts->known[counts->home], counts->options.partition_count * sizeof *positions);
    return status;
}

/* ---- C3: the batch ---- */

tamis_status tamis__counts_add(tamis__counts *counts, const tamis__contribution *added, bool *is_counted,
                               tamis_error *err) {
    const uint32_t slot = tamis__redis_slot(counts->redis, added->counter.data, added->counter.size);

    if (!counts->known[slot] && load_positions(counts, slot, err) != TAMIS_OK)
        return err->status;
    const uint64_t position = counts->known[slot][added->partition];
    *is_counted = position != TAMIS__NO_POSITION && added->offset < position;
    if (*is_counted)
        return TAMIS_OK;
    return tamis__counts_batch_add(&counts->batch, &counts->allocator, added, slot, err);
}

bool tamis__counts_batch_is_large(const tamis__counts *counts) {
    return counts->batch.count >= ENTRIES_MAX || counts->batch.byte_count >= BYTES_MAX;
}
