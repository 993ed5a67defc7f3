/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The script that adds a batch to the counters of a slot and moves its positions: steps C4 and C5 of
 * docs/KAFKA-COUNT-PROTOCOL.md.
 *
 *     EVAL script 1+n+m  NAME:{N} counter...      ARGV: description, number of partitions p,
 *                                                       p times: partition, known position, next one;
 *                                                       n, n times: time of expiry or "", increment;
 *                                                       m times: time of expiry or "", k, k elements
 *     reply  1                                    the batch is counted, now or by an earlier sending
 *            [positions, now, now, ...]           conflict: other positions than the known ones
 *            [template, text]                     another description
 *            [counter, name, why]                 a counter has another type
 *            [overflow, name]                     a number would come near the limit of 64 bits
 *
 * Invariants:
 *
 * 1. The script does all or nothing. It reads all counters before it changes any. A full memory is noticed at
 *    the first write of a script, or not at all. A user who may not use one of its commands is refused before
 *    the first INCRBY. The writes before it (PFADD, the description, an expiry) do no harm if they are
 *    repeated.
 * 2. The home slot's command is behind a barrier: it is sent when all others are answered.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/file/file_error.h"
#include "store/redis/counts/counts_int.h"

enum { REPEATS_MAX = 64 /* tries that lose their connection before the replicas confirm */ };

/*
 * Numbers of Lua are doubles: a sum that is less than 2^63 - 4096 there is less than 2^63. So a counter is
 * refused 4096 before its limit.
 *
 * `at` has the index of each counter's first argument; `timed` is a counter that expires. PEXPIREAT comes
 * behind INCRBY, because it removes a counter whose time is over. It is also called once before, to verify
 * that the user may call it.
 */
static const char script[] =
    "local key, n, call, pcall = KEYS[1], tonumber(ARGV[2]), redis.call, redis.pcall "
    "local text = call('HGET', key, 'template') "
    "if text and text ~= ARGV[1] then return {'template', text} end "
    "local found, same, done = {'positions'}, true, true "
    "for i = 1, n do "
    "local now = call('HGET', key, ARGV[3 * i]) or '' "
    "found[i + 1] = now "
    "same = same and now == ARGV[3 * i + 1] "
    "done = done and now == ARGV[3 * i + 2] end "
    "if done then return 1 end "
    "if not same then return found end "
    "local function refuse(k, reply) "
    "if string.find(reply.err, '^WRONGTYPE') or string.find(reply.err, '^INVALIDOBJ') then "
    "return {'counter', KEYS[k], reply.err} end "
    "return reply end "
    "local last, at, timed = tonumber(ARGV[3 * n + 3]) + 1, {}, nil "
    "local find, abs, limit = string.find, math.abs, 9223372036854771712 "
    "local a = 3 * n + 4 "
    "for k = 2, #KEYS do "
    "at[k] = a "
    "if ARGV[a] ~= '' then timed = k end "
    "local now "
    "if k <= last then "
    "now = pcall('GET', KEYS[k]) or '0' "
    "if type(now) == 'table' then return refuse(k, now) end "
    "local x = tonumber(now) "
    "if #now > 20 or now ~= '0' and not find(now, '^%-?[1-9]%d*$') then "
    "return {'counter', KEYS[k], 'not an integer'} end "
    "if abs(x) >= limit or abs(x + tonumber(ARGV[a + 1])) >= limit then "
    "return {'overflow', KEYS[k]} end "
    "a = a + 2 "
    "else "
    "now = pcall('GETRANGE', KEYS[k], 0, 3) "
    "if type(now) == 'table' then return refuse(k, now) end "
    "if now ~= '' and now ~= 'HYLL' then return {'counter', KEYS[k], 'not a HyperLogLog'} end "
    "a = a + 2 + tonumber(ARGV[a + 1]) end end "
    "for k = last + 1, #KEYS do "
    "local first, m = at[k] + 2, tonumber(ARGV[at[k] + 1]) "
    "for i = first, first + m - 1, 1000 do "
    "local reply = pcall('PFADD', KEYS[k], unpack(ARGV, i, math.min(i + 999, first + m - 1))) "
    "if type(reply) == 'table' then return refuse(k, reply) end end end "
    "call('HSET', key, 'template', ARGV[1]) "
    "if timed then call('PEXPIREAT', KEYS[timed], ARGV[at[timed]]) end "
    "for k = 2, #KEYS do "
    "if k <= last then call('INCRBY', KEYS[k], ARGV[at[k] + 1]) end "
    "if ARGV[at[k]] ~= '' then call('PEXPIREAT', KEYS[k], ARGV[at[k]]) end end "
    "for i = 1, n do call('HSET', key, ARGV[3 * i], ARGV[3 * i + 2]) end "
    "return 1";

/* The entries of a slot in the sorted batch. */
typedef struct counts_range {
    uint32_t slot;
    size_t first, count;
} counts_range;

typedef struct counts_apply {
    tamis__counts *counts;
    counts_range *ranges; /* that of the home slot is the last */
    size_t range_count;
    const uint64_t *next;
    uint64_t *lower;
    bool is_conflict;
} counts_apply;

/* True if the position of this partition has to move. */
static bool moves_position(const counts_apply *apply, uint32_t slot, size_t partition) {
    const uint64_t known = apply->counts->known[slot][partition], next = apply->next[partition];

    return next != TAMIS__NO_POSITION && (known == TAMIS__NO_POSITION || known < next);
}

static size_t count_moves(const counts_apply *apply, uint32_t slot) {
    size_t count = 0;

    for (size_t i = 0; i < apply->counts->options.partition_count; i++)
        count += moves_position(apply, slot, i);
    return count;
}

static uint32_t apply_slot(void *context, size_t i) {
    return ((const counts_apply *)context)->ranges[i].slot;
}

/* Returns how many entries from `entries` on are one counter: a number, or elements of a HyperLogLog. */
static size_t group_size(const counts_entry *entries, size_t count, const char *bytes) {
    size_t size = 1;

    while (size < count && entries->is_element && entries[size].size == entries->size &&
           memcmp(bytes + entries[size].name, bytes + entries->name, entries->size) == 0)
        size++;
    return size;
}

/* What a script is sent of the entries of a slot. */
typedef struct counts_totals {
    size_t counters, numbers, elements;
} counts_totals;

static counts_totals count_totals(const counts_entry *entries, size_t count, const char *bytes) {
    counts_totals totals = {0};

    for (size_t k = 0, size; k < count; k += size) {
        size = group_size(entries + k, count - k, bytes);
        totals.counters++;
        totals.numbers += !entries[k].is_element;
        totals.elements += entries[k].is_element ? size : 0;
    }
    return totals;
}

static void put_counters(const counts_entry *entries, size_t count, const char *bytes,
                         tamis__connection *conn) {
    for (size_t k = 0, size; k < count; k += size) {
        size = group_size(entries + k, count - k, bytes);
        if (entries[k].expires > 0)
            tamis__connection_put_number(conn, (int64_t)entries[k].expires);
        else
            tamis__connection_put(conn, "", 0);
        tamis__connection_put_number(conn, entries[k].is_element ? (int64_t)size : entries[k].count);
        for (size_t i = k; i < k + size && entries[k].is_element; i++)
            tamis__connection_put(conn, bytes + entries[i].name + entries[i].size, entries[i].element_size);
    }
}

static bool put_apply(void *context, size_t i, tamis__connection *conn) {
    const counts_apply *apply = context;
    const tamis__counts *counts = apply->counts;
    const counts_range *range = &apply->ranges[i];
    const counts_entry *entries = counts->batch.entries + range->first;
    const char *bytes = counts->batch.bytes;
    const size_t partitions = count_moves(apply, range->slot);
    const counts_totals totals = count_totals(entries, range->count, bytes);
    char key[COUNTS_KEY];

    if (partitions == 0)
        return false;
    tamis__connection_put_command(conn, 3 + 1 + totals.counters + 3 + 3 * partitions + 2 * totals.counters +
                                            totals.elements);
    tamis__connection_put_text(conn, "EVAL");
    tamis__connection_put(conn, script, sizeof script - 1);
    tamis__connection_put_number(conn, (int64_t)(1 + totals.counters));
    tamis__connection_put(conn, key, tamis__counts_key(counts, counts->tags[range->slot], key));
    for (size_t k = 0; k < range->count; k += group_size(entries + k, range->count - k, bytes))
        tamis__connection_put(conn, bytes + entries[k].name, entries[k].size);
    tamis__connection_put_text(conn, counts->options.description);
    tamis__connection_put_number(conn, (int64_t)partitions);
    for (size_t k = 0; k < counts->options.partition_count; k++) {
        if (!moves_position(apply, range->slot, k))
            continue;
        const uint64_t known = counts->known[range->slot][k];
        tamis__connection_put_number(conn, (int64_t)k);
        if (known == TAMIS__NO_POSITION)
            tamis__connection_put(conn, "", 0);
        else
            tamis__connection_put_number(conn, (int64_t)known);
        tamis__connection_put_number(conn, (int64_t)apply->next[k]);
    }
    tamis__connection_put_number(conn, (int64_t)totals.numbers);
    put_counters(entries, range->count, bytes, conn);
    return true;
}

/* C7: remembers positions that are lower than the known ones. */
static void note_lower(const counts_apply *apply, uint32_t slot, const tamis__reply *reply) {
    size_t item = 1;

    for (size_t k = 0; k < apply->counts->options.partition_count && item < reply->size; k++) {
        if (!moves_position(apply, slot, k))
            continue;
        const uint64_t known = apply->counts->known[slot][k];
        const tamis__reply *text = &reply->items[item++];
        const uint64_t now = text->type == TAMIS__REPLY_STRING ? strtoull(text->text, NULL, 10) : 0;
        if (known != TAMIS__NO_POSITION && now < known && now < apply->lower[k])
            apply->lower[k] = now;
    }
}

static tamis_status accept_refusal(counts_apply *apply, uint32_t slot, const tamis__reply *reply,
                                   tamis_error *err) {
    const tamis__counts *counts = apply->counts;
    const tamis__reply *items = reply->items;

    if (reply->type != TAMIS__REPLY_ARRAY || reply->size < 2 || items[0].type != TAMIS__REPLY_STRING ||
        items[1].type != TAMIS__REPLY_STRING)
        return tamis__redis_bad_reply(counts->redis, counts->options.name, err);
    if (strcmp(items[0].text, "template") == 0)
        return tamis__counts_fail_template(counts, &items[1], err);
    if (strcmp(items[0].text, "counter") == 0)
        return tamis__fail(
            err, TAMIS_E_MISMATCH, 0,
            "%.150s: expected a counter in %.100s (%.100s); remove or rename this key, or give "
            "other names of counters",
            tamis__show(items[1].text).text, counts->redis->endpoint.shown,
            reply->size > 2 && items[2].text ? tamis__show(items[2].text).text : "");
    if (strcmp(items[0].text, "overflow") == 0)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "%.150s: would come to within 4096 of the limit of 64 bits in %.100s; rename this "
                           "key, and counting goes on with 0",
                           tamis__show(items[1].text).text, counts->redis->endpoint.shown);
    note_lower(apply, slot, reply);
    apply->is_conflict = true;
    return tamis__fail(err, TAMIS_E_CHANGED, 0, "%.100s: positions have changed", counts->options.name);
}

static tamis_status accept_apply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err) {
    counts_apply *apply = context;
    const uint32_t slot = apply->ranges[i].slot;

    (void)resent;
    if (reply->type != TAMIS__REPLY_INTEGER)
        return accept_refusal(apply, slot, reply, err);
    return TAMIS_OK;
}

/* Makes the ranges of the sorted batch. */
static tamis_status make_ranges(counts_apply *apply, tamis_error *err) {
    const tamis__counts *counts = apply->counts;
    const counts_batch *batch = &counts->batch;
    counts_range home = {.slot = counts->home};

    apply->ranges =
        tamis__alloc(&counts->allocator, (batch->count + 1) * sizeof *apply->ranges, _Alignof(counts_range));
    if (!apply->ranges)
        return tamis__fail_nomem(err, "slots", (batch->count + 1) * sizeof *apply->ranges);
    for (size_t first = 0, last; first < batch->count; first = last) {
        const uint32_t slot = batch->entries[first].slot;
        for (last = first + 1; last < batch->count && batch->entries[last].slot == slot;)
            last++;
        const counts_range range = {.slot = slot, .first = first, .count = last - first};
        if (slot == counts->home)
            home = range;
        else
            apply->ranges[apply->range_count++] = range;
    }
    apply->ranges[apply->range_count++] = home;
    return TAMIS_OK;
}

static tamis_status send_scripts(counts_apply *apply, tamis_error *err) {
    tamis__counts *counts = apply->counts;
    bool unconfirmed;
    const tamis__requests requests = {.count = apply->range_count,
                                      .context = apply,
                                      .put_command = put_apply,
                                      .accept_reply = accept_apply,
                                      .what = counts->options.name,
                                      .slot = apply_slot,
                                      .barriers = {apply->range_count - 1, 0},
                                      .unconfirmed = &unconfirmed,
                                      .on_wait = tamis__counts_on_wait};
    tamis_status status;
    size_t repeats = 0;

    do {
        unconfirmed = false;
        status = tamis__requests_run(counts->redis, &requests, NULL, err);
    } while (status == TAMIS_OK && unconfirmed && ++repeats < REPEATS_MAX);
    if (status == TAMIS_OK && unconfirmed)
        return tamis__fail(err, TAMIS_E_IO, 0,
                           "redis %s: %s: lost %d connections before the replicas confirmed it; check server "
                           "and network",
                           counts->redis->endpoint.shown, counts->options.name, REPEATS_MAX);
    return status;
}

/* The positions that all scripts have set. */
static void move_known(const counts_apply *apply) {
    for (size_t i = 0; i < apply->range_count; i++)
        for (size_t k = 0; k < apply->counts->options.partition_count; k++)
            if (moves_position(apply, apply->ranges[i].slot, k))
                apply->counts->known[apply->ranges[i].slot][k] = apply->next[k];
}

tamis_status tamis__counts_apply(tamis__counts *counts, const uint64_t *next, uint64_t *lower,
                                 bool *is_conflict, tamis_error *err) {
    counts_apply apply = {.counts = counts, .next = next, .lower = lower};

    tamis__counts_batch_sort(&counts->batch);
    tamis_status status = make_ranges(&apply, err);
    if (status == TAMIS_OK)
        status = send_scripts(&apply, err);
    if (status == TAMIS_OK)
        move_known(&apply);
    *is_conflict = apply.is_conflict;
    tamis__free(&counts->allocator, apply.ranges, (counts->batch.count + 1) * sizeof *apply.ranges);
    tamis__counts_batch_clear(&counts->batch);
    return apply.is_conflict ? TAMIS_OK : status;
}
