/* SPDX-License-Identifier: BSD-2-Clause */

/* Pushing whole filters in the layouts of other programs, which have one Redis key per filter. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/redis_family.h>

#include "support/fault.h"
#include "support/redis_filters.h"

enum { KEYS = 20000 };

/* Makes a filter in memory with the plan of that name. */
static tamis_filter *make_for(const char *name, size_t from, size_t count) {
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *made = NULL;
    options.allow_over_capacity = true;
    OK(tamis_redis_plan_for(&plan, NULL, redis, name, &err));
    OK(tamis_filter_create(&made, &plan, &options, &err));
    OK(tamis_filter_add_many(made, keys + from, count, NULL, NULL, &err));
    return made;
}

static long long keys_there(void) {
    return redis_server_number(&server, "DBSIZE");
}

/* ---- each layout ---- */

static void check_layout(const char *name, const char *key, long long size) {
    tamis_filter *made = make_for(name, 0, KEYS), *there = open_filter(name), *pulled = NULL;
    OK(tamis_filter_add_many(there, keys + KEYS, 100, NULL, NULL, &err));
    OK(tamis_redis_push(made, redis, name, NULL, &err));
    assert_int_equal(redis_server_number(&server, "STRLEN %s", key), size);
    assert_int_equal(redis_server_number(&server, "PTTL %s", key), -1);
    assert_string_equal(redis_server_command(&server, "KEYS *push*"), "");

    /* The old filter is gone. Lookups and adds by an open handle use the new one. */
    assert_in_range(count_present(there, KEYS, 100), 0, 50);
    assert_same_answers(there, made, 3 * KEYS);
    OK(tamis_redis_pull(&pulled, there, &err));
    assert_true(tamis_filter_is_equal(made, pulled));
    tamis_filter_free(pulled);
    tamis_filter_free(there);
    tamis_filter_free(made);
}

static void a_filter_is_pushed_in_every_layout_of_one_key(void **state) {
    (void)state;
    begin_test();
    check_layout("a?layout=java&expect=20000&fpr=0.03", "bf:a", (145968 + 7) / 8);
    check_layout("t%7Bu%7D%7D?layout=java&expect=20000&fpr=0.03", "bf:t{u}}", (145968 + 7) / 8);
    check_layout("b?layout=php1&bits=1000003&probes=5", "b", 125001);
    check_layout("c?layout=php2&bits=1000003&probes=5", "c.0", 125001);
    check_layout("d?layout=php3&bits=1000003&probes=5", "d:0", 125001);
    check_layout("e?layout=redisson&expect=20000&fpr=0.03", "e", (145968 + 7) / 8);
    assert_int_equal(keys_there(), 7); /* with Redisson's hash */
}

/* Several chunks, and unset bits at the end. */
static void a_large_filter_comes_in_chunks(void **state) {
    (void)state;
    begin_test();
    const char *name = "large?layout=java&expect=5000000&fpr=0.03";
    tamis_filter *made = make_for(name, 0, 5), *there = open_filter(name), *pulled = NULL;
    OK(tamis_redis_push(made, redis, name, NULL, &err));
    assert_int_equal(count_present(there, 0, 5), 5);
    assert_int_equal(redis_server_number(&server, "STRLEN bf:large"), tamis_filter_plan(made)->memory);
    OK(tamis_redis_pull(&pulled, there, &err));
    assert_true(tamis_filter_is_equal(made, pulled));
    tamis_filter_free(pulled);
    tamis_filter_free(there);
    tamis_filter_free(made);
}

/* ---- parameters ---- */

static void a_filter_that_does_not_fit_is_refused(void **state) {
    (void)state;
    begin_test();
    tamis_filter *made = make_for("a?layout=java&expect=1000&fpr=0.03", 0, 10),
                 *blocked = make_filter(1000, 0, 10);
    FAILS(tamis_redis_push(made, redis, "a?layout=java&expect=1001&fpr=0.03", NULL, &err), TAMIS_E_MISMATCH,
          "has kind classic with scheme guava64, 7305 bits and 5 probes, and the filter to push classic with "
          "guava64, 7298 and 5");
    FAILS(tamis_redis_push(blocked, redis, "a?layout=java&expect=1000&fpr=0.03", NULL, &err),
          TAMIS_E_MISMATCH, "the filter to push blocked with xxh3");
    FAILS(tamis_redis_push(made, redis, "a?layout=php1&bits=7298&probes=5", NULL, &err), TAMIS_E_MISMATCH,
          "scheme bkdr31");
    FAILS(tamis_redis_push(made, redis, "a?layout=redisson&expect=1000&fpr=0.03", NULL, &err),
          TAMIS_E_MISMATCH, "scheme redisson");
    FAILS(tamis_redis_push(made, redis, "a?layout=php3&bits=99999999999&probes=5", NULL, &err),
          TAMIS_E_UNSUPPORTED, "over several servers or Redis keys");
    FAILS(tamis_redis_push(made, redis, "a?layout=java", NULL, &err), TAMIS_E_INVALID, "give expect=N");
    assert_int_equal(keys_there(), 0);

    redis_server_command(&server, "HSET bf:a x y");
    FAILS(tamis_redis_push(made, redis, "a?layout=java&expect=1000&fpr=0.03", NULL, &err), TAMIS_E_MISMATCH,
          "choose another");
    assert_string_equal(redis_server_command(&server, "HGET bf:a x"), "y");
    tamis_filter_free(blocked);
    tamis_filter_free(made);
}

/* The filter is rebuilt in a larger size and renamed. Only the clients know the parameters of this layout. */
static void a_filter_is_replaced_by_a_larger_one(void **state) {
    (void)state;
    begin_test();
    tamis_filter *first = make_for("a?layout=java&expect=1000&fpr=0.03", 0, 1000),
                 *second = make_for("a?layout=java&expect=9000&fpr=0.03", 0, 9000);
    OK(tamis_redis_push(first, redis, "a?layout=java&expect=1000&fpr=0.03&ttl=1h", NULL, &err));
    assert_in_range(redis_server_number(&server, "PTTL bf:a"), 3500000, 3600000);
    OK(tamis_redis_push(second, redis, "a?layout=java&expect=9000&fpr=0.03", NULL, &err));
    assert_in_range(redis_server_number(&server, "PTTL bf:a"), 3500000, 3600000); /* the remaining time */
    tamis_filter *there = open_filter("a?layout=java&expect=9000&fpr=0.03");
    assert_int_equal(count_present(there, 0, 9000), 9000);
    tamis_filter_free(there);
    tamis_filter_free(second);
    tamis_filter_free(first);
}

static void redissons_hash_lives_as_long(void **state) {
    (void)state;
    begin_test();
    const char *name = "r?layout=redisson&expect=1000&fpr=0.01";
    tamis_filter *made = make_for(name, 0, 1000);
    assert_int_equal(keys_there(), 0); /* a plan makes no Redis key */
    OK(tamis_redis_push(made, redis, "r?layout=redisson&expect=1000&fpr=0.01&ttl=1h", NULL, &err));
    assert_in_range(redis_server_number(&server, "PTTL r"), 3500000, 3600000);
    assert_in_range(redis_server_number(&server, "PTTL {r}:config"), 3500000, 3600000);
    assert_string_equal(redis_server_command(&server, "HGET {r}:config size"), "9585");
    OK(tamis_redis_push(made, redis, "r?layout=redisson", NULL, &err));
    assert_in_range(redis_server_number(&server, "PTTL {r}:config"), 3500000, 3600000);
    tamis_filter_free(made);
}

/* ---- a server without RENAME ---- */

static void a_refused_rename_leaves_all_as_it_was(void **state) {
    (void)state;
    begin_test();
    const char *name = "a?layout=java&expect=1000&fpr=0.03";
    tamis_redis *other = NULL;
    char uri[100];
    tamis_filter *first = make_for(name, 0, 500), *second = make_for(name, 500, 500), *there;
    OK(tamis_redis_push(first, redis, name, NULL, &err));
    redis_server_command(&server, "ACL SETUSER clerk on >secret ~* +@all -rename");
    snprintf(uri, sizeof uri, "redis://clerk:secret@127.0.0.1:%d", server.port);
    OK(tamis_redis_open(&other, uri, NULL, &err));
    FAILS(tamis_redis_push(second, other, name, NULL, &err), TAMIS_E_REFUSED, "the server refuses RENAME");
    there = open_filter(name);
    assert_int_equal(count_present(there, 0, 500), 500);
    assert_int_equal(keys_there(), 1);
    tamis_filter_free(there);
    tamis_redis_close(other);
    tamis_filter_free(second);
    tamis_filter_free(first);
}

/* ---- faults ---- */

/* Each send and receive fails once, also that of RENAME's reply. The push is repeated, and no temporary
 * key is left. */
static void a_push_rides_out_lost_connections(void **state) {
    (void)state;
    begin_test();
    static const fault_call calls[] = {FAULT_SEND, FAULT_RECEIVE};
    const char *name = "a?layout=java&expect=20000&fpr=0.03";
    char uri[200];
    snprintf(uri, sizeof uri, "%s/%s&retry_interval=1ms", server.uri, name);
    tamis_filter *made = make_for(name, 0, KEYS);
    fault_install();
    for (int kind = 0; kind < 2; kind++) {
        bool reached = true;
        for (uint64_t n = 1; reached; n++) {
            redis_server_command(&server, "FLUSHALL");
            fault_arm(calls[kind], n, ECONNRESET, false);
            OK(tamis_redis_push(made, NULL, uri, NULL, &err));
            reached = fault_fired() > 0;
            fault_disarm();
            tamis_filter *there = open_filter(name);
            assert_int_equal(count_present(there, 0, KEYS), KEYS);
            assert_int_equal(keys_there(), 1);
            tamis_filter_free(there);
            assert_true(n > 5 || reached);
        }
    }
    fault_remove();
    tamis_filter_free(made);
}

static void without_random_bytes_nothing_is_made(void **state) {
    (void)state;
    begin_test();
    const char *text = "no random bytes; check getrandom(2)", *name = "a?layout=java&expect=1000&fpr=0.03";
    tamis_filter *made = make_for(name, 0, 10), *blocked = make_filter(1000, 0, 10), *none = NULL;
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_redis_family *family = NULL;
    options.create = true;
    OK(tamis_redis_push(blocked, redis, "b", NULL, &err));
    tamis_filter *there = open_filter("b");
    const long long keys_before = keys_there();
    fault_install();
    fault_arm(FAULT_RANDOM, 1, ENOSYS, true);
    FAILS(tamis_redis_push(made, redis, name, NULL, &err), TAMIS_E_SYSTEM, text);
    FAILS(tamis_redis_push(blocked, redis, "c", NULL, &err), TAMIS_E_SYSTEM, text);
    FAILS(tamis_redis_union(there, blocked, &err), TAMIS_E_SYSTEM, text);
    FAILS(tamis_redis_filter_open(&none, redis, "c?expect=1000&fpr=0.03", &options, &err), TAMIS_E_SYSTEM,
          text);
    FAILS(tamis_redis_family_open(&family, redis, name, &options, &err), TAMIS_E_SYSTEM, text);
    assert_int_equal(fault_fired(), 5);
    fault_disarm();
    fault_remove();
    assert_int_equal(keys_there(), keys_before);
    tamis_filter_free(there);
    tamis_filter_free(blocked);
    tamis_filter_free(made);
}

/* ---- raw bits ---- */

static tamis_status collect(void *context, const void *bytes, size_t size, tamis_error *e) {
    (void)e;
    bytes_add(context, bytes, size);
    return TAMIS_OK;
}

static void a_bitmap_comes_back(void **state) {
    (void)state;
    begin_test();
    static const char *const names[] = {"a?layout=java&expect=20000&fpr=0.03",
                                        "b?expect=20000&fpr=0.01&partition=4096"};
    for (int i = 0; i < 2; i++) {
        test_bytes bits = {0};
        tamis_filter *there = open_filter(names[i]), *made = NULL, *pulled = NULL;
        OK(tamis_filter_add_many(there, keys, KEYS, NULL, NULL, &err));
        OK(tamis_redis_pull_bitmap(there, collect, &bits, &err));
        OK(tamis_redis_pull(&pulled, there, &err));
        OK(tamis_redis_from_bitmap(&made, there, bits.data, bits.size, &err));
        assert_true(tamis_filter_is_equal(made, pulled));
        tamis_filter_free(made);
        FAILS(tamis_redis_from_bitmap(&made, there, bits.data, bits.size - 1, &err), TAMIS_E_MISMATCH,
              "needs");
        tamis_filter_free(pulled);
        tamis_filter_free(there);
        bytes_clear(&bits);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_is_pushed_in_every_layout_of_one_key),
        cmocka_unit_test(a_large_filter_comes_in_chunks),
        cmocka_unit_test(a_filter_that_does_not_fit_is_refused),
        cmocka_unit_test(a_filter_is_replaced_by_a_larger_one),
        cmocka_unit_test(redissons_hash_lives_as_long),
        cmocka_unit_test(a_refused_rename_leaves_all_as_it_was),
        cmocka_unit_test(a_push_rides_out_lost_connections),
        cmocka_unit_test(without_random_bytes_nothing_is_made),
        cmocka_unit_test(a_bitmap_comes_back),
    };
    return cmocka_run_group_tests(tests, redis_filters_set_up, redis_filters_tear_down);
}
