/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The memory of a partition with a window: random transactions of several state records each are committed, and the
 * state is restored from any place that `needed` allows. A restored filter must know every key that a later lookup can
 * find, and no state record with such a key may be below `needed`, whoever computes it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "kafka/kafka_dedup_int.h"
#include "support/scratch.h"

enum { RECORDS_MAX = 3000, KEYS_MAX = 4 }; /* keys of a state record */

/* A committed state record. */
typedef struct stored {
    uint8_t bytes[256];
    size_t size, count;
    tamis_hash hashes[KEYS_MAX];
    int64_t times[KEYS_MAX];
} stored;

typedef struct walk {
    kafka_dedup_run *run;
    kafka_partition owner;
    stored *chain;
    size_t records; /* offset of the next state record; there are no markers here */
    uint64_t random;
} walk;

static int64_t earliest(const walk *w, int64_t newest) {
    const int64_t kept = (int64_t)(w->run->plan.window + w->run->plan.lateness);
    const int64_t step = (int64_t)w->run->plan.step;

    return newest > kept ? (newest - kept) / step * step : 0;
}

static void reset(const walk *w, kafka_partition *partition) {
    memset(partition, 0, sizeof *partition);
    assert_int_equal(tamis__kafka_partition_reset(w->run, partition, NULL), TAMIS_OK);
}

static void begin_walk(walk *w, uint64_t seed) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_hash hash;

    memset(w, 0, sizeof *w);
    w->random = seed;
    w->run = calloc(1, sizeof *w->run);
    w->chain = calloc(RECORDS_MAX, sizeof *w->chain);
    assert_non_null(w->run);
    assert_non_null(w->chain);
    options.kind = TAMIS_KIND_WINDOW;
    options.window = 1000;
    options.step = 100;
    w->run->plan = (tamis_plan)TAMIS_PLAN_INIT;
    assert_int_equal(tamis_plan_make(&w->run->plan, &options, NULL), TAMIS_OK);
    w->run->plan.refresh = true;
    w->run->has_window = true;
    w->run->options.from = "in";
    w->run->memory = tamis__allocator_resolve(NULL);
    w->run->filter_options = (tamis_filter_options)TAMIS_FILTER_OPTIONS_INIT;
    reset(w, &w->owner);
    assert_int_equal(
        tamis_hash_many(tamis_filter_hasher(w->owner.filter), &(tamis_key){"", 0}, 1, &hash, NULL), TAMIS_OK);
    w->run->keys.hasher_id = hash.hasher_id;
    w->run->keys.size = (kafka_hash_size){seed % 2 == 0 ? 64 : 48, UINT64_MAX};
}

static void end_walk(walk *w) {
    tamis__kafka_partition_release(&w->owner);
    free(w->chain);
    free(w->run);
}

/* Stores keys `first` to `first` + `count` - 1 of the overlay as the next state record. */
static void store(walk *w, size_t first, size_t count, bool is_last) {
    const kafka_partition *owner = &w->owner;
    const tamis__kafka_record record = {.begins = w->records == 0,
                                        .timed = true,
                                        .step = w->run->plan.step,
                                        .bits = w->run->keys.size.bits,
                                        .from = owner->to,
                                        .to = is_last ? owner->next : owner->to,
                                        .newest = is_last ? owner->newest_next : owner->newest,
                                        .needed = owner->needed,
                                        .description = "",
                                        .count = count};
    stored *to = &w->chain[w->records++];

    to->count = count;
    assert_true(tamis__kafka_record_size_max(0, count) <= sizeof to->bytes);
    for (size_t i = 0; i < count; i++) {
        to->hashes[i] = owner->overlay.hashes[first + i];
        to->times[i] = owner->overlay.times[first + i];
    }
    to->size = tamis__kafka_record_encode(to->bytes, &record, to->hashes, to->times);
}

static tamis_hash new_hash(walk *w) {
    const uint64_t bits = test_random(&w->random);

    return tamis__kafka_short_hash(w->run->keys.size.bits == 48 ? bits >> 16 << 16 : bits,
                                   w->run->keys.hasher_id);
}

/* A transaction of 0 to 3 full state records and one more. Times mostly move on, and are late now and then. */
static void commit(walk *w) {
    kafka_partition *owner = &w->owner;
    const size_t keys = test_below(&w->random, 4) * KEYS_MAX + test_below(&w->random, KEYS_MAX);

    for (size_t i = 0; i < keys; i++) {
        int64_t time = owner->newest_next < 0 ? 5000 : owner->newest_next;
        time += (int64_t)test_below(&w->random, test_below(&w->random, 20) == 0 ? 3000 : 60);
        time -= (int64_t)test_below(&w->random, w->run->plan.lateness + 1);
        if (time > owner->newest_next)
            owner->newest_next = time;
        const kafka_found found = {.hash = new_hash(w), .time = time};
        assert_int_equal(tamis__kafka_partition_add(w->run, owner, &found, NULL), TAMIS_OK);
    }
    owner->next = owner->to + 1 + keys;
    owner->is_open = true;
    size_t first = 0;
    for (; keys - first > KEYS_MAX; first += KEYS_MAX)
        store(w, first, KEYS_MAX, false);
    store(w, first, keys - first, true);
    owner->covers_next = w->records;
    assert_int_equal(tamis__kafka_partition_commit(w->run, owner, NULL), TAMIS_OK);
}

/* Checks that no state record below `needed` has a key that can be found. */
static void check_needed(const walk *w, const kafka_partition *partition) {
    assert_true(partition->needed <= w->records);
    for (size_t i = 0; i < partition->needed; i++)
        for (size_t k = 0; k < w->chain[i].count; k++)
            assert_true(w->chain[i].times[k] < earliest(w, w->owner.newest));
}

/* Restores the partition from state record `low` on, and checks what it knows. */
static void restore(const walk *w, uint64_t low, kafka_partition *restored) {
    reset(w, restored);
    restored->low = restored->covers = low;
    for (size_t i = low; i < w->records; i++) {
        tamis__kafka_record record;
        const uint64_t needed = restored->needed;
        assert_null(tamis__kafka_record_decode(&record, w->chain[i].bytes, w->chain[i].size));
        assert_int_equal(tamis__kafka_partition_restore(w->run, restored, &record, i, NULL), TAMIS_OK);
        assert_true(restored->needed >= needed);
    }
    assert_int_equal(restored->newest, w->owner.newest);
    assert_int_equal(restored->to, w->owner.to);
    assert_true(restored->needed_in_chain >= low);
    check_needed(w, restored);
    for (size_t i = 0; i < w->records; i++)
        for (size_t k = 0; k < w->chain[i].count; k++) {
            const int64_t time = w->chain[i].times[k];
            tamis_answer answer = TAMIS_ABSENT;
            if (time < w->owner.newest - (int64_t)w->run->plan.window)
                continue;
            assert_int_equal(
                tamis_window_contains(restored->filter,
                                      &(tamis_timed_hashes){&w->chain[i].hashes[k], &w->owner.newest, 1},
                                      &answer, NULL),
                TAMIS_OK);
            assert_int_equal(answer, TAMIS_PRESENT);
        }
}

static void any_restore_knows_what_can_be_found(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        kafka_partition restored;
        walk w;
        begin_walk(&w, seed);
        for (int transaction = 0; transaction < 60; transaction++) {
            commit(&w);
            check_needed(&w, &w.owner);
            if (test_below(&w.random, 6) > 0)
                continue;
            /* Another member goes on with what it has restored, after a cut that may have come or not. */
            restore(&w, test_below(&w.random, w.owner.needed_in_chain + 1), &restored);
            tamis__kafka_partition_release(&w.owner);
            w.owner = restored;
            w.owner.next = w.owner.to;
        }
        end_walk(&w);
    }
}

/* More keys than a state record has, in the first transaction: they are not older than they are. */
static void the_first_transaction_is_needed(void **state) {
    kafka_partition restored;
    walk w;

    (void)state;
    begin_walk(&w, 1);
    while (w.records < 3)
        commit(&w);
    restore(&w, 0, &restored);
    assert_int_equal(restored.needed, 0);
    tamis__kafka_partition_release(&restored);
    end_walk(&w);
}

/* A partition does not get more keys than its hashes allow, before and after a restore. */
static void too_many_keys_are_refused(void **state) {
    tamis_error err = TAMIS_ERROR_INIT;
    kafka_partition restored;
    walk w;

    (void)state;
    begin_walk(&w, 1);
    while (w.records < 3)
        commit(&w);
    const uint64_t committed = tamis__kafka_partition_keys(w.run, &w.owner);
    kafka_found found = {.hash = new_hash(&w), .time = w.owner.newest};
    w.run->keys.size.keys_max = committed + 1;
    assert_int_equal(tamis__kafka_partition_add(w.run, &w.owner, &found, &err), TAMIS_OK);
    found.hash = new_hash(&w);
    assert_int_equal(tamis__kafka_partition_add(w.run, &w.owner, &found, &err), TAMIS_E_FULL);
    assert_non_null(strstr(err.text, "in [0]: has "));
    assert_int_equal(w.owner.overlay.count, 1);
    restore(&w, 0, &restored);
    assert_int_equal(tamis__kafka_partition_keys(w.run, &restored), committed);
    w.run->keys.size.keys_max = committed;
    assert_int_equal(tamis__kafka_partition_add(w.run, &restored, &found, &err), TAMIS_E_FULL);
    tamis__kafka_partition_release(&restored);
    end_walk(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_restore_knows_what_can_be_found),
        cmocka_unit_test(the_first_transaction_is_needed),
        cmocka_unit_test(too_many_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
