/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Merges of state records. Transactions with and without copies are committed or aborted in random order. The
 * state is cut to any `needed` that was committed, and restored from there. A restored filter must know every
 * key, and the records that are needed must have each hash once. Then what a merge refuses to copy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "kafka/kafka_dedup_int.h"
#include "support/scratch.h"

enum { RECORDS_MAX = 2000 };

/* A state record. */
typedef struct stored {
    uint8_t *bytes;
    size_t size, count;
    tamis_hash *hashes;
    bool is_aborted;
} stored;

typedef struct walk {
    kafka_dedup_run *run;
    kafka_input input;
    kafka_partition owner;
    stored chain[RECORDS_MAX];
    size_t records; /* offset of the next state record; there are no markers here */
    uint64_t low;
    size_t keys; /* committed */
    uint64_t random;
    char remark[200];
} walk;

static void remark(void *context, const char *text) {
    walk *w = context;
    snprintf(w->remark, sizeof w->remark, "%s", text);
}

static void reset(walk *w, kafka_partition *partition) {
    memset(partition, 0, sizeof *partition);
    partition->input = &w->input;
    partition->stage = KAFKA_JOINED;
    assert_int_equal(tamis__kafka_partition_reset(w->run, partition, NULL), TAMIS_OK);
}

static walk *begin_walk(uint64_t seed) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    walk *w = calloc(1, sizeof *w);
    tamis_hash hash;

    assert_non_null(w);
    w->random = seed;
    w->input.is_assigned = true;
    w->run = calloc(1, sizeof *w->run);
    assert_non_null(w->run);
    options.kind = seed % 3 == 0 ? TAMIS_KIND_EXACT : TAMIS_KIND_AUTO;
    options.fpr = 1e-6;
    w->run->plan = (tamis_plan)TAMIS_PLAN_INIT;
    assert_int_equal(tamis_plan_make(&w->run->plan, &options, NULL), TAMIS_OK);
    tamis_plan_start_small(&w->run->plan);
    w->run->options.from = "in";
    w->run->record_hashes = seed % 5 == 0 ? 64 : TAMIS__KAFKA_RECORD_HASHES;
    w->run->client.remark = remark;
    w->run->client.context = w;
    w->run->memory = tamis__allocator_resolve(NULL);
    w->run->filter_options = (tamis_filter_options)TAMIS_FILTER_OPTIONS_INIT;
    reset(w, &w->owner);
    assert_int_equal(
        tamis_hash_many(tamis_filter_hasher(w->owner.filter), &(tamis_key){"", 0}, 1, &hash, NULL), TAMIS_OK);
    w->run->keys.hasher_id = hash.hasher_id;
    w->run->keys.size = (kafka_hash_size){seed % 3 == 0 ? 128 : seed % 3 == 1 ? 64 : 48, UINT64_MAX};
    return w;
}

static void end_walk(walk *w) {
    tamis__kafka_merge_stop(w->run);
    tamis__kafka_partition_release(&w->owner);
    for (size_t i = 0; i < w->records; i++) {
        free(w->chain[i].bytes);
        free(w->chain[i].hashes);
    }
    free(w->run);
    free(w);
}

/* Stores the next state record. */
static void store(walk *w, tamis__kafka_record record, const tamis_hash *hashes) {
    stored *to = &w->chain[w->records++];

    assert_true(w->records < RECORDS_MAX);
    record.bits = w->run->keys.size.bits;
    record.newest = -1;
    record.description = "";
    record.bytes_before = w->owner.bytes_next;
    to->count = record.count;
    to->bytes = malloc(tamis__kafka_record_size_max(0, record.count));
    to->hashes = malloc((record.count + 1) * sizeof *to->hashes);
    assert_non_null(to->bytes);
    assert_non_null(to->hashes);
    if (record.count > 0)
        memcpy(to->hashes, hashes, record.count * sizeof *hashes);
    to->size = tamis__kafka_record_encode(to->bytes, &record, to->hashes, NULL);
    w->owner.bytes_next += to->size;
}

static tamis_hash new_hash(walk *w) {
    const uint64_t bits = test_random(&w->random),
                   short_bits = w->run->keys.size.bits == 48 ? bits >> 16 << 16 : bits;

    if (w->run->keys.size.bits == 128)
        return (tamis_hash){{test_random(&w->random), bits}, w->run->keys.hasher_id};
    return tamis__kafka_short_hash(short_bits, w->run->keys.hasher_id);
}

/* T3 as kafka_transaction.c does it, then T6 or T7. */
static void end_transaction(walk *w, size_t keys, bool is_committed) {
    kafka_partition *owner = &w->owner;
    const bool has_copies = tamis__kafka_merge_is_ready(w->run, owner);
    const kafka_merge *merge = &w->run->merge;
    const size_t first = w->records;
    tamis__kafka_record record = {
        .from = owner->to, .to = owner->to, .needed = has_copies ? merge->position : owner->needed};

    for (size_t i = 0; i < keys; i++) {
        const kafka_found found = {.hash = new_hash(w)};
        assert_int_equal(tamis__kafka_partition_add(w->run, owner, &found, NULL), TAMIS_OK);
    }
    owner->is_open = true;
    owner->next = owner->to + keys + test_below(&w->random, 2);
    owner->bytes_next = owner->bytes;
    for (size_t i = 0; has_copies && i < tamis__kafka_merge_records(w->run); i++) {
        const size_t begin = tamis__kafka_merge_first_hash(w->run, i);
        record.count = tamis__kafka_merge_first_hash(w->run, i + 1) - begin;
        assert_in_range(record.count, 1, w->run->record_hashes);
        store(w, record, merge->hashes + begin);
    }
    record.begins = !owner->has_chain;
    record.to = owner->next;
    record.count = keys;
    store(w, record, owner->overlay.hashes);
    if (!is_committed) {
        for (size_t i = first; i < w->records; i++)
            w->chain[i].is_aborted = true;
        tamis__kafka_partition_abort(owner);
        return;
    }
    w->keys += keys;
    owner->covers_next = w->records;
    tamis__kafka_merge_commit(w->run);
    assert_int_equal(tamis__kafka_partition_commit(w->run, owner, NULL), TAMIS_OK);
    assert_int_equal(owner->needed_in_chain, record.needed);
}

static void read_event(walk *w, size_t offset, rd_kafka_resp_err_t code) {
    const stored *from = &w->chain[offset];
    rd_kafka_message_t message = {.err = code, .offset = (int64_t)offset};

    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
        message.payload = from->bytes;
        message.len = from->size;
    }
    tamis__kafka_merge_read(w->run, &message);
}

/* Reads old records until there is a step. */
static void read_step(walk *w) {
    for (size_t i = w->run->merge.position; tamis__kafka_merge_is_reading(w->run); i++)
        if (i == w->records)
            read_event(w, i, RD_KAFKA_RESP_ERR__PARTITION_EOF);
        else if (!w->chain[i].is_aborted)
            read_event(w, i, RD_KAFKA_RESP_ERR_NO_ERROR);
}

/* Restores the partition from the low watermark on, and checks what it knows. */
static void restore(walk *w, kafka_partition *restored) {
    size_t live = 0;

    reset(w, restored);
    restored->low = restored->covers = w->low;
    for (size_t i = w->low; i < w->records; i++) {
        tamis__kafka_record record;
        assert_null(tamis__kafka_record_decode(&record, w->chain[i].bytes, w->chain[i].size));
        if (!w->chain[i].is_aborted)
            assert_int_equal(tamis__kafka_partition_restore(w->run, restored, &record, i, NULL), TAMIS_OK);
    }
    assert_int_equal(restored->to, w->owner.to);
    assert_int_equal(restored->needed, w->owner.needed);
    assert_int_equal(restored->needed_in_chain, w->owner.needed_in_chain);
    assert_int_equal(restored->bytes, w->owner.bytes);
    assert_true(restored->needed_in_chain >= w->low);
    for (size_t i = 0; i < w->records; i++) {
        const stored *record = &w->chain[i];
        tamis_answer answers[64];
        if (record->is_aborted)
            continue;
        live += i >= restored->needed ? record->count : 0;
        for (size_t k = 0; k < record->count; k += 64) {
            const size_t count = record->count - k < 64 ? record->count - k : 64;
            assert_int_equal(tamis_filter_contains_hashes(restored->filter, record->hashes + k, count,
                                                          answers, NULL, NULL),
                             TAMIS_OK);
            for (size_t n = 0; n < count; n++)
                assert_int_equal(answers[n], TAMIS_PRESENT);
        }
    }
    assert_int_equal(live, w->keys);
}

/* Another member goes on with what it has restored. */
static void move(walk *w) {
    kafka_partition restored;

    restore(w, &restored);
    tamis__kafka_merge_stop(w->run);
    tamis__kafka_partition_release(&w->owner);
    w->owner = restored;
    w->owner.next = w->owner.to;
}

static void any_restore_knows_all_keys(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        walk *w = begin_walk(seed);
        end_transaction(w, 3, true);
        for (int i = 0; i < 60; i++) {
            end_transaction(w, test_below(&w->random, 5), test_below(&w->random, 4) > 0);
            if (!w->run->merge.partition && test_below(&w->random, 4) == 0)
                assert_int_equal(tamis__kafka_merge_begin(w->run, &w->owner, NULL), TAMIS_OK);
            if (test_below(&w->random, 2) == 0)
                read_step(w);
            if (test_below(&w->random, 4) == 0 && w->low < w->owner.needed_in_chain)
                w->low = w->owner.needed_in_chain;
            if (test_below(&w->random, 6) == 0)
                move(w);
        }
        move(w);
        assert_true(w->owner.needed_in_chain > 0);
        assert_string_equal(w->remark, "");
        end_walk(w);
    }
}

/* Records are copied in steps, and become large ones of about equal size. */
static void steps_are_bounded(void **state) {
    static const size_t sizes[] = {30000, 5, 10000, 32768, 0, 1, 32768, 7, 32767};
    size_t steps = 0, records = 0;
    walk *w = begin_walk(1);

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        end_transaction(w, sizes[i], true);
    assert_int_equal(tamis__kafka_merge_begin(w->run, &w->owner, NULL), TAMIS_OK);
    for (; w->run->merge.partition; steps++) {
        read_step(w);
        assert_true(w->run->merge.count <= TAMIS__KAFKA_MERGE_HASHES);
        records += tamis__kafka_merge_records(w->run);
        end_transaction(w, 0, true);
    }
    assert_int_equal(steps, 4); /* 40,005; 32,768; 32,769; 32,774 */
    assert_int_equal(records, 7);
    w->low = w->owner.needed_in_chain;
    assert_int_equal(w->low, sizeof sizes / sizeof *sizes);
    move(w);
    end_walk(w);
}

static void merges_begin_when_heads_outweigh_hashes(void **state) {
    walk *w = begin_walk(1);

    (void)state;
    end_transaction(w, 20000, true); /* 160,000 bytes of 160 */
    while (w->records < 1000) {
        assert_false(tamis__kafka_merge_is_due(w->run, &w->owner));
        end_transaction(w, 0, true);
    }
    end_transaction(w, 0, true);
    assert_true(tamis__kafka_merge_is_due(w->run, &w->owner));
    end_walk(w);

    w = begin_walk(1); /* without a key */
    while (w->records < 256) {
        assert_false(tamis__kafka_merge_is_due(w->run, &w->owner));
        end_transaction(w, 0, true);
    }
    assert_true(tamis__kafka_merge_is_due(w->run, &w->owner));
    assert_true(tamis__kafka_may_merge(w->run));
    w->run->plan.kind = TAMIS_KIND_WINDOW;
    assert_false(tamis__kafka_may_merge(w->run));
    w->run->plan.kind = TAMIS_KIND_CUCKOO;
    assert_false(tamis__kafka_may_merge(w->run));
    end_walk(w);
}

/* A merge that finds anything else than the chain copies nothing, and moves nothing. */
static void other_records_are_not_merged(void **state) {
    enum { MISSING, LAST_MISSING, DAMAGED, ELSEWHERE, REMOVED, CASES };
    static const char *const remarks[] = {"does not follow the one before", "is missing at the end",
                                          "is damaged", "is of another group or partition", ""};

    (void)state;
    for (int i = 0; i < CASES; i++) {
        walk *w = begin_walk(1);
        for (int k = 0; k < 3; k++)
            end_transaction(w, 3, true);
        assert_int_equal(tamis__kafka_merge_begin(w->run, &w->owner, NULL), TAMIS_OK);
        if (i != REMOVED)
            read_event(w, 0, RD_KAFKA_RESP_ERR_NO_ERROR);
        if (i == DAMAGED)
            w->chain[1].bytes[60] ^= 1;
        if (i == ELSEWHERE)
            w->owner.number = 1;
        if (i == MISSING)
            read_event(w, 2, RD_KAFKA_RESP_ERR_NO_ERROR);
        else if (i == REMOVED)
            read_event(w, 0, RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET);
        else
            read_event(w, 1, RD_KAFKA_RESP_ERR_NO_ERROR);
        if (i == LAST_MISSING)
            read_event(w, 3, RD_KAFKA_RESP_ERR__PARTITION_EOF);
        assert_null(w->run->merge.partition);
        assert_non_null(strstr(w->remark, remarks[i]));
        assert_true(i == REMOVED ? w->run->merge.not_before > 0 : w->owner.is_merge_refused);
        end_transaction(w, 0, true);
        assert_int_equal(w->owner.needed, 0);
        end_walk(w);
    }
}

/* Without the right to cut, a merge would only add copies. */
static void merges_end_when_cuts_are_refused(void **state) {
    walk *w = begin_walk(1);

    (void)state;
    end_transaction(w, 3, true);
    assert_int_equal(tamis__kafka_merge_begin(w->run, &w->owner, NULL), TAMIS_OK);
    tamis__kafka_merge_check(w->run);
    assert_non_null(w->run->merge.partition);
    w->run->cut_refused_at = 1;
    tamis__kafka_merge_check(w->run);
    assert_null(w->run->merge.partition);
    end_walk(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_restore_knows_all_keys),
        cmocka_unit_test(steps_are_bounded),
        cmocka_unit_test(merges_begin_when_heads_outweigh_hashes),
        cmocka_unit_test(other_records_are_not_merged),
        cmocka_unit_test(merges_end_when_cuts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
