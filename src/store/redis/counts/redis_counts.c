/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Counters with positions: steps A1 and C2 to C5 of docs/KAFKA-COUNT-PROTOCOL.md.
 *
 *     NAME:{0}   hash: template, 0, 1, 2 ...      position key of the home slot
 *     NAME:{N}   the same                         position key of another slot; N: the smallest that gives it
 *     clicks:... string: a number                 counters, each in the slot of its own name
 *     users:...  string: a HyperLogLog
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
 * 2. `known` of a slot is NULL, or has the positions of its position key after the last command of this
 *    object.
 * 3. The home slot's command is behind a barrier: it is sent when all others are answered.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/file/file_error.h"
#include "store/redis/counts/counts_batch.h"
#include "store/redis/counts/redis_counts.h"
#include "store/redis/request/redis_requests.h"

enum { KEY_SIZE = 600, REPEATS_MAX = 64 /* tries that lose their connection before the replicas confirm */ };
enum {
    ENTRIES_MAX = 8192,         /* in a batch; a script takes some two microseconds for each */
    BYTES_MAX = 4 * 1024 * 1024 /* in a batch, of names and elements */
};

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
    "return {'counter', KEYS[k], 'it is no integer'} end "
    "if abs(x) >= limit or abs(x + tonumber(ARGV[a + 1])) >= limit then "
    "return {'overflow', KEYS[k]} end "
    "a = a + 2 "
    "else "
    "now = pcall('GETRANGE', KEYS[k], 0, 3) "
    "if type(now) == 'table' then return refuse(k, now) end "
    "if now ~= '' and now ~= 'HYLL' then return {'counter', KEYS[k], 'it is no HyperLogLog'} end "
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

struct tamis__counts {
    tamis__counts_options options;
    tamis_allocator allocator;
    tamis_redis *redis;
    uint32_t *tags;   /* N of each slot's position key */
    uint64_t **known; /* positions of each slot; NULL: not read in this assignment */
    uint32_t home;    /* the slot with N = 0 */
    counts_batch batch;
};

/* ---- slots ---- */

static size_t write_key(const tamis__counts *counts, uint32_t tag, char key[KEY_SIZE]) {
    return (size_t)snprintf(key, KEY_SIZE, "%.500s:{%" PRIu32 "}", counts->options.name, tag);
}

/* Finds the smallest number for each slot. A cluster takes some hundred thousand tries: 20 ms. */
static tamis_status find_tags(tamis__counts *counts, tamis_error *err) {
    const uint32_t slots = counts->redis->slot_count;
    char key[KEY_SIZE];

    counts->tags = tamis__alloc(&counts->allocator, slots * sizeof *counts->tags, _Alignof(uint32_t));
    counts->known = tamis__alloc(&counts->allocator, slots * sizeof *counts->known, _Alignof(uint64_t *));
    if (!counts->tags || !counts->known)
        return tamis__fail_nomem(err, "slots", slots * (sizeof *counts->tags + sizeof *counts->known));
    counts->home = tamis__redis_slot(counts->redis, key, write_key(counts, 0, key));
    uint32_t found = 1;
    for (uint32_t tag = 1; found < slots; tag++) {
        const uint32_t slot = tamis__redis_slot(counts->redis, key, write_key(counts, tag, key));
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

/* `context` begins with the counts, like that of all requests here. */
static void on_wait(void *context, const char *why) {
    const tamis__counts_options *options = &(*(tamis__counts *const *)context)->options;

    if (options->on_wait)
        options->on_wait(options->context, why);
}

static bool put_load(void *context, size_t i, tamis__connection *conn) {
    const counts_load *load = context;
    char key[KEY_SIZE];

    (void)i;
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, "HGETALL");
    tamis__connection_put(conn, key, write_key(load->counts, load->counts->tags[load->slot], key));
    return true;
}

static tamis_status fail_template(const tamis__counts *counts, const tamis__reply *text, tamis_error *err) {
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
        return strcmp(value->text, counts->options.description) == 0 ? TAMIS_OK
                                                                     : fail_template(counts, value, err);
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
                                      .on_wait = on_wait};

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

/* ---- C4, C5: the scripts ---- */

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
    char key[KEY_SIZE];

    if (partitions == 0)
        return false;
    tamis__connection_put_command(conn, 3 + 1 + totals.counters + 3 + 3 * partitions + 2 * totals.counters +
                                            totals.elements);
    tamis__connection_put_text(conn, "EVAL");
    tamis__connection_put(conn, script, sizeof script - 1);
    tamis__connection_put_number(conn, (int64_t)(1 + totals.counters));
    tamis__connection_put(conn, key, write_key(counts, counts->tags[range->slot], key));
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
        return fail_template(counts, &items[1], err);
    if (strcmp(items[0].text, "counter") == 0)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "%.150s: is no counter in %.100s (%.100s); remove or rename this key, or give "
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
                                      .on_wait = on_wait};
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
