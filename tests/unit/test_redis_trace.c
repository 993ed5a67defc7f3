/* SPDX-License-Identifier: BSD-2-Clause */

/* Tracing of elements, compared with a model of the bits and with the servers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tamis/tamis.h>

#include "store/redis/layout/layout_bitmap.h"
#include "support/fault.h"
#include "support/proxy.h"
#include "support/redis_filters.h"

enum { SHARDS = 2, REPORTED = 4000, LINE = 4000, BITS = 1 << 16 };

static redis_server shards[SHARDS];

static int set_up(void **state) {
    if (redis_filters_set_up(state) != 0)
        return -1;
    for (int i = 0; server.pid && i < SHARDS; i++)
        redis_server_start(&shards[i], NULL);
    return 0;
}

static int tear_down(void **state) {
    for (int i = 0; i < SHARDS; i++)
        redis_server_stop(&shards[i]);
    return redis_filters_tear_down(state);
}

/* ---- recorded traces ---- */

typedef struct reported {
    size_t count;
    bool adds;
    tamis_answer answers[REPORTED];
    size_t parts[REPORTED], zeros[REPORTED];
    char *lines[REPORTED]; /* positions of the bits, as text */
    size_t model_count;
    char *model[BITS]; /* set bits, as "instance key offset" */
} reported;

static void forget(reported *traced) {
    for (size_t i = 0; i < traced->count; i++)
        free(traced->lines[i]);
    traced->count = 0;
}

static void free_reported(reported *traced) {
    forget(traced);
    while (traced->model_count > 0)
        free(traced->model[--traced->model_count]);
}

static bool knows(const reported *traced, const char *bit) {
    for (size_t i = traced->model_count; i > 0; i--)
        if (strcmp(traced->model[i - 1], bit) == 0)
            return true;
    return false;
}

static const redis_server *server_of(const char *instance) {
    char shown[40];
    for (int i = 0; i <= SHARDS; i++) {
        const redis_server *candidate = i < SHARDS ? &shards[i] : &server;
        snprintf(shown, sizeof shown, "127.0.0.1:%d", candidate->port);
        if (strcmp(instance, shown) == 0 || strcmp(instance, candidate->socket) == 0)
            return candidate;
    }
    fail_msg("nobody is %s", instance);
    return NULL;
}

/* Checks that the traced bits are those of the model, and, after an add, that they are set on the server. */
static void check_part(reported *traced, const tamis_redis_traced_part *part) {
    const redis_server *there = server_of(part->instance);
    char bit[900], text[LINE];
    int used = snprintf(text, sizeof text, "%s%.*s",
                        traced->lines[traced->count] ? traced->lines[traced->count] : "", (int)part->key_size,
                        (const char *)part->key);
    assert_true(part->count > 0 && part->ns > 0 && part->ns < UINT64_C(600000000000));
    for (size_t i = 0; i < part->count; i++) {
        snprintf(bit, sizeof bit, "%s %.*s %" PRIu64, part->instance, (int)part->key_size,
                 (const char *)part->key, part->offsets[i]);
        if (part->bits[i] != knows(traced, bit))
            fail_msg("element %zu: %s was %u", traced->count, bit, part->bits[i]);
        if (!part->bits[i]) {
            traced->zeros[traced->count]++;
            if (traced->adds)
                traced->model[traced->model_count++] = strdup(bit);
        }
        if (traced->adds && traced->count % 16 == 0)
            assert_int_equal(redis_server_number(there, "GETBIT %b %llu", part->key, part->key_size,
                                                 (unsigned long long)part->offsets[i]),
                             1);
        used += snprintf(text + used, sizeof text - (size_t)used, " %" PRIu64, part->offsets[i]);
    }
    free(traced->lines[traced->count]);
    traced->lines[traced->count] = strdup(text);
}

static void note_traced(void *context, const tamis_redis_traced *element) {
    reported *traced = context;
    assert_true(traced->count < REPORTED);
    assert_int_equal(element->adds, traced->adds);
    traced->answers[traced->count] = element->answer;
    traced->parts[traced->count] = element->part_count;
    traced->zeros[traced->count] = 0;
    traced->lines[traced->count] = NULL;
    for (size_t i = 0; i < element->part_count; i++)
        check_part(traced, &element->parts[i]);
    traced->count++;
}

/* ---- tests ---- */

/* Adds elements, adds them again, and looks them up. The traces must agree with the answers, and have the
 * same bits in the same order each time. */
static void check_filter(tamis_filter *filter, size_t count, size_t max_parts) {
    static reported traced, before;
    static tamis_answer answers[REPORTED];
    size_t probes = tamis_filter_plan(filter)->probes, several = 0;
    for (int round = 0; round < 3; round++) {
        traced.adds = round < 2;
        OK(tamis_redis_filter_trace(filter, note_traced, &traced, &err));
        if (traced.adds)
            OK(tamis_filter_add_many(filter, keys, count, answers, NULL, &err));
        else
            OK(tamis_filter_contains_many(filter, keys, count, answers, NULL, &err));
        assert_int_equal(traced.count, count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(traced.answers[i], answers[i]);
            /* If there are several parts, the bits of the deciding one may be set by chance: unknown. */
            assert_true(answers[i] == (traced.zeros[i] == 0                                ? TAMIS_PRESENT
                                       : traced.parts[i] > 1 && answers[i] != TAMIS_ABSENT ? TAMIS_UNKNOWN
                                                                                           : TAMIS_ABSENT));
            assert_true(traced.zeros[i] <= probes && traced.parts[i] >= 1 && traced.parts[i] <= max_parts);
            several += traced.parts[i] > 1;
            if (round > 0) {
                assert_int_equal(answers[i], TAMIS_PRESENT);
                assert_string_equal(traced.lines[i], before.lines[i]);
            }
        }
        forget(&before);
        memcpy(before.lines, traced.lines, count * sizeof *traced.lines);
        before.count = traced.count;
        traced.count = 0;
    }
    assert_true((several > 0) == (max_parts > 1));
    OK(tamis_redis_filter_trace(filter, NULL, NULL, &err));
    OK(tamis_filter_contains_many(filter, keys, count, answers, NULL, &err));
    assert_int_equal(traced.count, 0);
    forget(&before);
    free_reported(&traced);
    tamis_filter_free(filter);
}

static void bits_are_reported_as_they_were(void **state) {
    (void)state;
    begin_test();
    check_filter(open_filter("t?expect=1000&fpr=0.01&partition=8192"), 300, 1);
    check_filter(open_filter("j?layout=java&expect=1000&fpr=0.01"), 300, 1);
    check_filter(open_filter("r?layout=redisson&expect=1000&fpr=0.01"), 300, 1);
    check_filter(open_filter("p?layout=php2&bits=30000&probes=5"), 300, 1);
    tamis_filter *filter = open_filter("q?layout=php3&bits=30000&probes=5");
    tamis__redis_of(filter)->keys = tamis__redis_of(filter)->probe_groups =
        3; /* as if Redis keys were smaller */
    tamis__php3_of(tamis__redis_of(filter))->key_bits = 10000;
    check_filter(filter, 300, 3);
}

/* Replies arrive from two servers in any order. */
static void elements_are_reported_in_order(void **state) {
    char uri[100];
    tamis_redis *sharded;
    tamis_filter *filter;
    (void)state;
    begin_test();
    snprintf(uri, sizeof uri, "redis+shard://127.0.0.1:%d,127.0.0.1:%d", shards[0].port, shards[1].port);
    OK(tamis_redis_open(&sharded, uri, NULL, &err));
    OK(tamis_redis_filter_open(&filter, sharded, "q?layout=php2&bits=100000&probes=5", NULL, &err));
    check_filter(filter, 300, 1);
    tamis_redis_close(sharded);
}

/* The published example: an id of the Java class and its five bits. */
static void check_published(void *context, const tamis_redis_traced *element) {
    static const uint64_t offsets[] = {17799, 14920, 12041, 12190, 9311};
    int *count = context;
    ++*count;
    assert_int_equal(element->struct_size, sizeof *element);
    assert_int_equal(element->part_count, 1);
    assert_int_equal(element->parts->count, 5);
    assert_int_equal(element->parts->key_size, 4);
    assert_memory_equal(element->parts->key, "bf:x", 4);
    for (int i = 0; i < 5; i++) {
        assert_true(element->parts->offsets[i] == offsets[i]);
        assert_int_equal(element->parts->bits[i], *count > 1);
    }
}

static void offsets_are_the_published_ones(void **state) {
    int count = 0;
    (void)state;
    begin_test();
    tamis_filter *filter = open_filter("x?layout=java&expect=3000&fpr=0.03");
    OK(tamis_redis_filter_trace(filter, check_published, &count, &err));
    OK(tamis_filter_add(filter, "76930242", 8, NULL, &err));
    OK(tamis_filter_add(filter, "76930242", 8, NULL, &err));
    OK(tamis_filter_contains(filter, "76930242", 8, &(tamis_answer){0}, &err));
    assert_int_equal(count, 3);
    tamis_filter_free(filter);
}

/* An add that was sent twice finds its own bits. Each element is traced once, with the answer that was
 * given. */
static void count_unknown(void *context, const tamis_redis_traced *element) {
    size_t *counts = context;
    counts[0]++;
    counts[1] += element->answer == TAMIS_UNKNOWN;
}

static void a_repeated_element_is_reported_once(void **state) {
    char uri[120];
    size_t counts[2] = {0, 0}, unknown = 0;
    tamis_filter *filter;
    tamis_answer answers[100];
    (void)state;
    begin_test();
    proxy *between = proxy_start(server.socket);
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d/w?layout=java&expect=1000&fpr=0.01&retry_interval=1ms",
             proxy_port(between));
    OK(tamis_redis_filter_open(&filter, NULL, uri, NULL, &err));
    OK(tamis_redis_filter_trace(filter, count_unknown, counts, &err));
    proxy_arm(between, PROXY_REPLIES, PROXY_CUT, 100);
    OK(tamis_filter_add_many(filter, keys, 100, answers, NULL, &err));
    for (int i = 0; i < 100; i++)
        unknown += answers[i] == TAMIS_UNKNOWN;
    assert_true(unknown > 0);
    assert_int_equal(counts[0], 100);
    assert_int_equal(counts[1], unknown);
    tamis_filter_free(filter);
    proxy_stop(between);
}

static void memory_may_run_out(void **state) {
    fault_memory memory = {0};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    size_t counts[2] = {0, 0}, done = 1;
    tamis_filter *filter;
    (void)state;
    begin_test();
    options.allocator = &allocator;
    OK(tamis_redis_filter_open(&filter, redis, "m?layout=java&expect=1000&fpr=0.01", &options, &err));
    OK(tamis_redis_filter_trace(filter, count_unknown, counts, &err));
    memory.fail_at = memory.requests + 2; /* the first request is the batch's own */
    FAILS(tamis_filter_add_many(filter, keys, 10, NULL, &done, &err), TAMIS_E_NOMEM, "out of memory");
    assert_int_equal(done, 0);
    assert_int_equal(counts[0], 0);
    memory.fail_at = 0;
    OK(tamis_filter_add_many(filter, keys, 10, NULL, &done, &err));
    assert_int_equal(counts[0], 10);
    tamis_filter_free(filter);
    assert_int_equal(memory.live_blocks, 0);
}

static void other_filters_are_refused(void **state) {
    (void)state;
    tamis_filter *filter = make_filter(100, 0, 10);
    FAILS(tamis_redis_filter_trace(filter, note_traced, NULL, &err), TAMIS_E_UNSUPPORTED, "not in a Redis");
    tamis_filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_reported_as_they_were),
        cmocka_unit_test(elements_are_reported_in_order),
        cmocka_unit_test(offsets_are_the_published_ones),
        cmocka_unit_test(a_repeated_element_is_reported_once),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(other_filters_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
