/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/* Pushing and pulling whole filters, with other handles open meanwhile. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/file.h>

#include "store/redis/layout/layout_tamis.h"
#include "support/fault.h"
#include "support/redis_filters.h"

enum { KEYS = 20000 };

/* ---- pull ---- */

/* Saves and loads the pulled filter. It must still give the answers of the server. */
static void check_saved(const tamis_filter *there, tamis_filter *pulled) {
    tamis_filter *loaded = NULL;
    const char *path = scratch("pulled.tamis");
    OK(tamis_filter_save(pulled, path, &err));
    OK(tamis_filter_open(&loaded, path, NULL, &err));
    assert_true(tamis_filter_is_equal(pulled, loaded));
    assert_same_answers(there, loaded, 100000);
    tamis_filter_free(loaded);
}

/* Four partitions, the last one shorter, and chunks that do not divide them. */
static void pull_answers_as_the_server_does(void **state) {
    (void)state;
    begin_test();
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_filter *there = open_filter("big?expect=1500000&fpr=1e-3&seed=9&partition=1600000"), *pulled = NULL;
    OK(tamis_filter_add_many(there, keys, 50000, NULL, NULL, &err));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 6);
    OK(tamis_redis_pull(&pulled, there, &err));
    assert_int_equal(tamis_filter_plan(pulled)->kind, TAMIS_KIND_BLOCKED);
    assert_int_equal(tamis_filter_plan(pulled)->bits, tamis_filter_plan(there)->bits);
    assert_int_equal(count_present(pulled, 0, 50000), 50000);
    assert_same_answers(there, pulled, 100000);
    OK(tamis_filter_info_get(pulled, &info, &err));
    assert_in_range(info.added, 49500, 50500);
    check_saved(there, pulled);
    tamis_filter_free(pulled);
    tamis_filter_free(there);
}

/* m is odd, also in a file. */
static void pull_of_layout_java_keeps_its_bits(void **state) {
    (void)state;
    begin_test();
    tamis_filter *there = open_filter("topic?layout=java&expect=60000&fpr=0.03"), *pulled = NULL;
    FAILS(tamis_redis_pull(&pulled, there, &err), TAMIS_E_NOT_FOUND, "there is no such filter");
    OK(tamis_filter_add_many(there, keys, 50000, NULL, NULL, &err));
    OK(tamis_redis_pull(&pulled, there, &err));
    assert_int_equal(tamis_filter_plan(pulled)->kind, TAMIS_KIND_CLASSIC);
    assert_int_equal(tamis_filter_plan(pulled)->scheme, TAMIS_SCHEME_GUAVA64);
    assert_int_equal(tamis_filter_plan(pulled)->bits, 437906);
    assert_int_equal(count_present(pulled, 0, 50000), 50000);
    assert_same_answers(there, pulled, 100000);
    check_saved(there, pulled);
    tamis_filter_free(pulled);

    redis_server_command(&server, "SETBIT bf:topic 437906 1");
    FAILS(tamis_redis_pull(&pulled, there, &err), TAMIS_E_MISMATCH, "has bits past the 437906");
    redis_server_command(&server, "SETBIT bf:topic 437906 0");
    redis_server_command(&server, "SETBIT bf:topic 500000 1");
    FAILS(tamis_redis_pull(&pulled, there, &err), TAMIS_E_MISMATCH, "has bits past the 437906");
    tamis_filter_free(there);
}

static tamis_status collect(void *context, const void *bytes, size_t size, tamis_error *e) {
    (void)e;
    bytes_add(context, bytes, size);
    return TAMIS_OK;
}

static tamis_status refuse(void *context, const void *bytes, size_t size, tamis_error *e) {
    (void)context;
    (void)bytes;
    (void)size;
    (void)e;
    return TAMIS_E_PIPE;
}

static void pull_of_a_bitmap_has_the_servers_bytes(void **state) {
    (void)state;
    begin_test();
    test_bytes got = {0}, plan_options = {0};
    tamis_filter *there = open_filter("topic?layout=java&expect=60000&fpr=0.03");
    OK(tamis_filter_add_many(there, keys, 50000, NULL, NULL, &err));
    OK(tamis_redis_pull_bitmap(there, collect, &got, &err));
    redis_server_bytes(&server, &plan_options, "GET bf:topic");
    while (plan_options.size < (437906 + 7) / 8)
        bytes_add(&plan_options, "", 1);
    assert_true(bytes_check("bitmap", &got, &plan_options));
    assert_int_equal(tamis_redis_pull_bitmap(there, refuse, NULL, &err), TAMIS_E_PIPE);
    tamis_filter_free(there);
    bytes_clear(&got);
    bytes_clear(&plan_options);
}

static void pull_does_not_take_a_lost_partition_for_zeros(void **state) {
    (void)state;
    begin_test();
    tamis_filter *there = open_filter("big?expect=100000&fpr=1e-3&partition=64000"), *pulled = NULL;
    test_bytes got = {0};
    OK(tamis_filter_add_many(there, keys, 1000, NULL, NULL, &err));
    redis_server_command(&server, "DEL %s", partition_of("big", 1));
    FAILS(tamis_redis_pull(&pulled, there, &err), TAMIS_E_DAMAGED, "partition 1 is gone");
    FAILS(tamis_redis_pull_bitmap(there, collect, &got, &err), TAMIS_E_DAMAGED, "partition 1 is gone");
    tamis_filter_free(there);
    bytes_clear(&got);
}

/* As many keys as the capacity: the number estimated from the bits is slightly more or less. */
static void a_full_filter_is_not_saturated_by_chance(void **state) {
    (void)state;
    begin_test();
    static const char *const names[] = {"f?expect=1000&fpr=1e-3", "f?expect=1000&fpr=0.3",
                                        "f?layout=java&expect=1000&fpr=1e-3",
                                        "f?layout=java&expect=1000&fpr=0.3"};
    for (size_t i = 0; i < 4 * 30; i++) {
        tamis_filter *there = open_filter(names[i % 4]), *pulled = NULL;
        tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
        const size_t count = i < 4 * 20 ? 1000 : 1600;
        OK(tamis_filter_add_many(there, keys + i * 1600, count, NULL, NULL, &err));
        OK(tamis_redis_pull(&pulled, there, &err));
        OK(tamis_filter_info_get(pulled, &info, &err));
        assert_int_equal(info.saturated, count > 1000);
        tamis_filter_free(pulled);
        tamis_filter_free(there);
        redis_server_command(&server, "FLUSHALL");
    }
}

/* ---- push ---- */

static void push_and_pull_give_the_same_filter(void **state) {
    (void)state;
    begin_test();
    static const char *const names[] = {"whole", "cut?partition=192", "odd?partition=1600000&expect=300000"};
    for (int i = 0; i < 3; i++) {
        tamis_filter *made = make_filter(300000, 0, i == 1 ? 0 : 200000), *pulled = NULL;
        if (i == 1) {
            tamis_filter_free(made);
            made = make_filter(3000, 0, 2000);
        }
        OK(tamis_redis_push(made, redis, names[i], NULL, &err));
        tamis_filter *there = open_filter(names[i]);
        OK(tamis_redis_pull(&pulled, there, &err));
        assert_true(tamis_filter_is_equal(made, pulled));
        assert_same_answers(there, made, 100000);
        tamis_filter_free(there);
        tamis_filter_free(pulled);
        tamis_filter_free(made);
    }
    /* Only hash and partitions are left, without an expiry. */
    assert_int_equal(redis_server_number(&server, "EXISTS tamis:{whole}:push"), 0);
    char plan[500];
    snprintf(plan, sizeof plan, "%s", redis_server_command(&server, "HGET tamis:{whole} plan"));
    assert_string_equal(redis_server_command(&server, "GET tamis:{whole}:plan"), plan);
    assert_string_equal(redis_server_command(&server, "HMGET tamis:{whole} pushing before"), "(nil) (nil)");
    assert_int_equal(redis_server_number(&server, "PTTL tamis:{whole}"), -1);
    assert_int_equal(redis_server_number(&server, "PTTL %s", partition_of("whole", 0)), -1);
}

/* A handle with another secret is refused. A filter pulled with the right one has that secret. */
static void push_and_pull_keep_scheme_seed_and_secret(void **state) {
    (void)state;
    begin_test();
    static const tamis_scheme schemes[] = {TAMIS_SCHEME_XXH3, TAMIS_SCHEME_SIP, TAMIS_SCHEME_GUAVA64};
    for (int i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i), 0};
        tamis_filter *like = make_filter(20000, 0, 0), *made = NULL, *there = NULL, *pulled = NULL;
        tamis_plan plan = *tamis_filter_plan(like);
        tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
        tamis_redis_filter_options opening = TAMIS_REDIS_FILTER_OPTIONS_INIT;
        plan.scheme = schemes[i];
        options.seed = i == 0 ? 7 : 0;
        opening.secret = options.secret = "0123456789abcdef";
        opening.secret_size = options.secret_size = i == 1 ? 16 : 0;
        OK(tamis_filter_create(&made, &plan, &options, &err));
        OK(tamis_filter_add_many(made, keys, 10000, NULL, NULL, &err));
        OK(tamis_redis_push(made, redis, name, NULL, &err));
        OK(tamis_redis_filter_open(&there, redis, name, &opening, &err));
        OK(tamis_redis_push(made, redis, name, NULL, &err));
        assert_same_answers(there, made, 100000);
        OK(tamis_redis_pull(&pulled, there, &err));
        assert_true(tamis_filter_is_equal(made, pulled));
        tamis_filter_free(pulled);
        tamis_filter_free(there);
        tamis_filter_free(made);
        tamis_filter_free(like);
    }
}

static void push_replaces_and_open_handles_follow(void **state) {
    (void)state;
    begin_test();
    tamis_filter *old = make_filter(30000, 0, 10000), *new = make_filter(90000, 5000, 10000);
    OK(tamis_redis_push(old, redis, "seen?partition=4096", NULL, &err));
    tamis_filter *reader = open_filter("seen"), *adder = open_filter("seen");
    assert_int_equal(count_present(reader, 0, 10000), 10000);
    OK(tamis_filter_add_many(adder, keys + 40000, 100, NULL, NULL, &err));
    char before[100];
    snprintf(before, sizeof before, "%s", partition_of("seen", 3));

    OK(tamis_redis_push(new, redis, "seen", NULL, &err));
    assert_in_range(redis_server_number(&server, "PTTL %s", before), 1, 60000);
    assert_int_equal(count_present(reader, 5000, 10000), 10000);
    assert_in_range(count_present(reader, 0, 5000), 0, 100);
    assert_int_equal(tamis_filter_plan(reader)->capacity, 90000);
    assert_in_range(count_present(reader, 40000, 100), 0, 5); /* added to the replaced filter */

    /* An add that was sent to the old filter is in the new one, which may have got it from there: unknown. */
    tamis_answer answers[200];
    OK(tamis_filter_add_many(adder, keys + 14900, 200, answers, NULL, &err));
    for (int i = 0; i < 100; i++)
        assert_int_equal(answers[i], TAMIS_UNKNOWN);
    assert_int_equal(count_present(reader, 14900, 200), 200);
    tamis_filter_free(reader);
    tamis_filter_free(adder);
    tamis_filter_free(old);
    tamis_filter_free(new);
}

/* The replaced filter has been gone for long. Adds that find that out leave no key without an expiry. */
static void adds_to_an_expired_generation_are_moved(void **state) {
    (void)state;
    begin_test();
    tamis_filter *made = make_filter(30000, 0, 10000);
    OK(tamis_redis_push(made, redis, "seen", NULL, &err));
    tamis_filter *adder = open_filter("seen"), *reader = open_filter("seen");
    char before[100];
    snprintf(before, sizeof before, "%s", partition_of("seen", 0));
    OK(tamis_redis_push(made, redis, "seen", NULL, &err));
    redis_server_command(&server, "DEL %s", before);
    assert_int_equal(count_present(reader, 0, 10000), 10000);
    OK(tamis_filter_add_many(adder, keys + 10000, 10, NULL, NULL, &err));
    assert_int_equal(count_present(reader, 0, 10010), 10010);
    assert_in_range(redis_server_number(&server, "PTTL %s", before), 1, 60000);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    OK(tamis_filter_info_get(reader, &info, &err));
    assert_in_range(info.cardinality, 9800, 10200);
    tamis_filter_free(adder);
    tamis_filter_free(reader);
    tamis_filter_free(made);
}

/* An idle handle checks the plan before it adds. Otherwise it would create the old partitions again, in
 * full size. */
static void an_idle_handle_checks_before_it_adds(void **state) {
    (void)state;
    begin_test();
    tamis_filter *made = make_filter(30000, 0, 10000);
    OK(tamis_redis_push(made, redis, "seen", NULL, &err));
    tamis_filter *adder = open_filter("seen");
    char before[100];
    snprintf(before, sizeof before, "%s", partition_of("seen", 0));
    OK(tamis_redis_push(made, redis, "seen", NULL, &err));
    redis_server_command(&server, "DEL %s", before);
    tamis__tamis_of(tamis__redis_of(adder))->checked_ns -= UINT64_C(1000000) * TAMIS__TRUST_MS;
    OK(tamis_filter_add_many(adder, keys + 10000, 10, NULL, NULL, &err));
    assert_int_equal(redis_server_number(&server, "EXISTS %s", before), 0);
    assert_int_equal(count_present(adder, 0, 10010), 10010);
    tamis_filter_free(adder);
    tamis_filter_free(made);
}

static void clear_empties_it_for_everyone(void **state) {
    (void)state;
    begin_test();
    tamis_filter *made = make_filter(30000, 0, 10000);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    OK(tamis_redis_push(made, redis, "seen?partition=4096", NULL, &err));
    OK(tamis_redis_expire(redis, "seen", 5000000, &err));
    tamis_filter *own = open_filter("seen"), *other = open_filter("seen");
    OK(tamis_filter_clear(own, &err));
    assert_int_equal(count_present(own, 0, 10000), 0);
    assert_int_equal(count_present(other, 0, 10000), 0);
    OK(tamis_filter_info_get(other, &info, &err));
    assert_int_equal(info.ones, 0);
    assert_int_equal(info.capacity, 30000);
    OK(tamis_filter_add_many(other, keys, 10, NULL, NULL, &err));
    assert_int_equal(count_present(own, 0, 10), 10);
    assert_in_range(redis_server_number(&server, "PTTL tamis:{seen}"), 4900000, 5000000);
    redis_server_command(&server, "SET tamis:{seen}:push other");
    FAILS(tamis_filter_clear(own, &err), TAMIS_E_BUSY, "another build, resize or drop");
    assert_int_equal(count_present(own, 0, 10), 10);
    FAILS(tamis_redis_drop(redis, "seen", &err), TAMIS_E_BUSY, "another build, resize or drop");
    redis_server_command(&server, "DEL tamis:{seen}:push");
    OK(tamis_redis_drop(redis, "seen", &err));
    FAILS(tamis_filter_clear(own, &err), TAMIS_E_NOT_FOUND, "was dropped");
    tamis_filter_free(own);
    tamis_filter_free(other);
    tamis_filter_free(made);
}

static void push_refuses_what_it_cannot(void **state) {
    (void)state;
    begin_test();
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *made = make_filter(1000, 0, 100), *classic = NULL, *seeded = NULL;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    plan_options.expect = 1000;
    plan_options.fpr = 0.01;
    plan_options.kind = TAMIS_KIND_CLASSIC;
    OK(tamis_plan_make(&plan, &plan_options, &err));
    OK(tamis_filter_create(&classic, &plan, NULL, &err));
    FAILS(tamis_redis_push(classic, redis, "f", NULL, &err), TAMIS_E_UNSUPPORTED,
          "kind classic with scheme xxh3");
    options.seed = 4;
    OK(tamis_filter_create(&seeded, tamis_filter_plan(made), &options, &err));
    OK(tamis_redis_push(made, redis, "f", NULL, &err));
    FAILS(tamis_redis_push(seeded, redis, "f", NULL, &err), TAMIS_E_MISMATCH,
          "another scheme, seed or secret");
    FAILS(tamis_redis_push(made, redis, "f?expect=7", NULL, &err), TAMIS_E_MISMATCH,
          "has expect=1000, but 7");
    FAILS(tamis_redis_push(made, redis, "f?layout=java", NULL, &err), TAMIS_E_INVALID, "give expect=N");
    FAILS(tamis_redis_push(made, redis, "f?some=7", NULL, &err), TAMIS_E_INVALID, "'some' is not known");
    tamis_filter *there = open_filter("f"), *none = NULL;
    FAILS(tamis_redis_push(there, redis, "g", NULL, &err), TAMIS_E_UNSUPPORTED, "pull it first");
    FAILS(tamis_redis_pull(&none, made, &err), TAMIS_E_INVALID, "is in memory");
    redis_server_command(&server, "SET tamis:{f}:push other");
    FAILS(tamis_redis_push(made, redis, "f", NULL, &err), TAMIS_E_BUSY, "another build, resize or drop");
    assert_string_equal(redis_server_command(&server, "GET tamis:{f}:push"), "other");
    assert_int_equal(count_present(there, 0, 100), 100);
    tamis_filter_free(there);
    tamis_filter_free(classic);
    tamis_filter_free(seeded);
    tamis_filter_free(made);
}

/* ---- a push that loses data on the way ---- */

typedef struct harm {
    bool whole, done;
} harm;

/* After the first chunk, removes it or its partition. */
static void do_harm(void *context, uint64_t done, uint64_t total) {
    static const char zeros[1 << 20];
    harm *own = context;
    char plan[500], key[64];
    assert_true(done > 0 && done <= total);
    if (own->done)
        return;
    own->done = true;
    snprintf(plan, sizeof plan, "%s", redis_server_command(&server, "HGET tamis:{f} pushing"));
    snprintf(key, sizeof key, "tamis:{f:%.16s:0}:bits", strstr(plan, "generation=") + 11);
    if (own->whole)
        assert_int_equal(redis_server_number(&server, "DEL %s", key), 1);
    else
        redis_server_number(&server, "SETRANGE %s 0 %b", key, zeros, (size_t)done);
}

static void push_sees_what_was_lost_and_changes_nothing(void **state) {
    (void)state;
    begin_test();
    tamis_filter *made = make_filter(1000, 0, 1000), *bigger = make_filter(2000000, 1000, 100000);
    OK(tamis_redis_push(made, redis, "f", NULL, &err));
    tamis_filter *there = open_filter("f");
    for (int i = 0; i < 2; i++) {
        harm own = {i == 0, false};
        tamis_redis_push_options options = TAMIS_REDIS_PUSH_OPTIONS_INIT;
        options.progress = do_harm;
        options.context = &own;
        assert_int_equal(tamis_redis_push(bigger, redis, "f", &options, &err), TAMIS_E_IO);
        assert_true(own.done);
        assert_int_equal(count_present(there, 0, 1000), 1000);
        assert_int_equal(redis_server_number(&server, "DBSIZE"), 3); /* nothing else is left */
        assert_int_equal(redis_server_number(&server, "HEXISTS tamis:{f} pushing"), 0);
    }
    tamis_filter_free(there);
    tamis_filter_free(made);
    tamis_filter_free(bigger);
}

static void restart(void *context, uint64_t done, uint64_t total) {
    bool *has = context;
    (void)done;
    (void)total;
    if (*has)
        return;
    *has = true;
    redis_server_kill(&server);
    redis_server_restart(&server);
}

/* A server that was restarted empty is noticed. */
static void push_survives_no_restart_without_saying_so(void **state) {
    (void)state;
    begin_test();
    bool has = false;
    tamis_filter *made = make_filter(20000000, 0, 100000);
    tamis_redis_push_options options = TAMIS_REDIS_PUSH_OPTIONS_INIT;
    options.progress = restart;
    options.context = &has;
    const tamis_status status = tamis_redis_push(made, redis, "f", &options, &err);
    assert_true(status == TAMIS_E_IO || status == TAMIS_E_BUSY); /* a partition is gone, or the lock is */
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    OK(tamis_redis_push(made, redis, "f", NULL, &err));
    tamis_filter *there = open_filter("f");
    assert_int_equal(count_present(there, 0, 100000), 100000);
    tamis_filter_free(there);
    tamis_filter_free(made);
}

/* A push that was killed at the worst moments. The next push removes what it left. */
static void push_tidies_up_after_one_that_was_killed(void **state) {
    (void)state;
    begin_test();
    tamis_filter *made = make_filter(1000, 0, 1000);
    OK(tamis_redis_push(made, redis, "f", NULL, &err));
    char plan[500], other[500];
    snprintf(plan, sizeof plan, "%s", redis_server_command(&server, "HGET tamis:{f} plan"));
    snprintf(other, sizeof other, "%s", plan);
    memcpy(strstr(other, "generation=") + 11, "0123456789abcdef", 16);
    redis_server_command(&server, "HSET tamis:{f} pushing %s", other);
    redis_server_command(&server, "SET tamis:{f:0123456789abcdef:0}:bits x");
    OK(tamis_redis_push(made, redis, "f", NULL, &err));
    assert_int_equal(redis_server_number(&server, "EXISTS tamis:{f:0123456789abcdef:0}:bits"), 0);

    redis_server_command(&server, "HSET tamis:{f} before %s", other);
    redis_server_command(&server, "SET tamis:{f:0123456789abcdef:0}:bits x");
    OK(tamis_redis_push(made, redis, "f", NULL, &err));
    assert_in_range(redis_server_number(&server, "PTTL tamis:{f:0123456789abcdef:0}:bits"), 1, 60000);

    /* Killed between the switch and the end: the new filter is in use. */
    snprintf(plan, sizeof plan, "%s", redis_server_command(&server, "HGET tamis:{f} plan"));
    redis_server_command(&server, "HSET tamis:{f} pushing %s", plan);
    tamis_filter *there = open_filter("f");
    OK(tamis_redis_push(made, redis, "f", NULL, &err));
    assert_int_equal(count_present(there, 0, 1000), 1000);
    tamis_filter_free(there);
    tamis_filter_free(made);
}

static void push_with_ttl_lets_all_keys_expire(void **state) {
    (void)state;
    begin_test();
    tamis_filter *made = make_filter(1000, 0, 1000);
    OK(tamis_redis_push(made, redis, "f?ttl=1h", NULL, &err));
    assert_in_range(redis_server_number(&server, "PTTL tamis:{f}"), 3500000, 3600000);
    assert_in_range(redis_server_number(&server, "PTTL tamis:{f}:plan"), 3500000, 3600000);
    assert_in_range(redis_server_number(&server, "PTTL %s", partition_of("f", 0)), 3500000, 3660000);
    OK(tamis_redis_push(made, redis, "f", NULL, &err));
    assert_in_range(redis_server_number(&server, "PTTL tamis:{f}"), 3500000,
                    3600000); /* the remaining time */
    OK(tamis_redis_push(made, redis, "f?ttl=2h", NULL, &err));
    assert_in_range(redis_server_number(&server, "PTTL tamis:{f}"), 7100000, 7200000);
    tamis_filter_free(made);
}

/* Each allocation fails once. The filter is never replaced in part, nothing is left, and the lock is free. */
static void no_memory_leaves_all_as_it_was(void **state) {
    (void)state;
    begin_test();
    char uri[120];
    fault_memory memory = {0};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_filter *old = make_filter(1000, 0, 500), *made = NULL;
    options.allocator = &allocator;
    snprintf(uri, sizeof uri, "%s/f?partition=640", server.uri);
    OK(tamis_filter_create(&made, tamis_filter_plan(old), &options, &err));
    OK(tamis_filter_add_many(made, keys + 10000, 500, NULL, NULL, &err));
    tamis_status status = TAMIS_E_NOMEM;
    for (uint64_t n = 1; status != TAMIS_OK; n++) {
        tamis_filter *pulled = NULL, *there = NULL;
        redis_server_command(&server, "FLUSHALL");
        OK(tamis_redis_push(old, redis, "f?partition=640", NULL, &err));
        const long long size = redis_server_number(&server, "DBSIZE");
        const size_t live = memory.live_blocks;
        memory.fail_at = memory.requests + n;
        status = tamis_redis_push(made, NULL, uri, NULL, &err);
        memory.fail_at = 0;
        assert_int_equal(memory.live_blocks, live);
        assert_true(status == TAMIS_OK || status == TAMIS_E_NOMEM);
        there = open_filter("f");
        OK(tamis_redis_pull(&pulled, there, &err));
        const bool is_new = tamis_filter_is_equal(made, pulled);
        assert_true(is_new || tamis_filter_is_equal(old, pulled));
        /* The command of the switch itself failed: the new keys are recorded in the hash. */
        if (!is_new && redis_server_number(&server, "DBSIZE") != size) {
            assert_int_equal(redis_server_number(&server, "HEXISTS tamis:{f} pushing"), 1);
            OK(tamis_redis_push(old, redis, "f", NULL, &err));
            assert_int_equal(redis_server_number(&server, "DBSIZE"), 2 * size - 2);
        }
        assert_true(is_new || status != TAMIS_OK);
        tamis_filter_free(pulled);
        tamis_filter_free(there);
    }
    assert_true(memory.refused > 10);
    tamis_filter_free(made);
    tamis_filter_free(old);
    assert_int_equal(memory.live_blocks, 0);
}

/* ---- while others look up and add ---- */

static atomic_bool over;
static atomic_uint batches;

/* Looks up keys 0..KEYS, which every pushed filter has. */
static void *query_always(void *context) {
    tamis_filter *filter = context;
    tamis_answer *answers = calloc(KEYS, sizeof *answers);
    tamis_error why = TAMIS_ERROR_INIT;
    char *fault = NULL;
    while (!atomic_load(&over) && !fault) {
        size_t done = 0;
        if (tamis_filter_contains_many(filter, keys, KEYS, answers, &done, &why) != TAMIS_OK || done != KEYS)
            fault = strdup(why.text);
        for (size_t i = 0; i < KEYS && !fault; i++)
            if (answers[i] != TAMIS_PRESENT)
                fault = strdup("a key that was in both is called absent");
        atomic_fetch_add(&batches, 1);
    }
    free(answers);
    return fault;
}

/* Adds keys. Those answered after the last switch must be present. */
static void *add_always(void *context) {
    tamis_filter *filter = context;
    tamis_error why = TAMIS_ERROR_INIT;
    while (!atomic_load(&over)) {
        if (tamis_filter_add_many(filter, keys + KEYS, 200, NULL, NULL, &why) != TAMIS_OK)
            return strdup(why.text);
        atomic_fetch_add(&batches, 1);
    }
    if (tamis_filter_add_many(filter, keys + KEYS, 200, NULL, NULL, &why) != TAMIS_OK)
        return strdup(why.text);
    return NULL;
}

static void no_key_is_absent_while_pushes_switch(void **state) {
    (void)state;
    begin_test();
    enum { THREADS = 4 };
    const uint64_t pushes = test_scale(40, 6, 10);
    pthread_t threads[THREADS];
    tamis_filter *handles[THREADS], *made[2] = {make_filter(40000, 0, KEYS), make_filter(70000, 0, KEYS)};
    OK(tamis_redis_push(made[0], redis, "f?partition=32768", NULL, &err));
    atomic_store(&over, false);
    atomic_store(&batches, 0);
    for (int i = 0; i < THREADS; i++) {
        handles[i] = open_filter("f");
        assert_int_equal(pthread_create(&threads[i], NULL, i == 0 ? add_always : query_always, handles[i]),
                         0);
    }
    for (uint64_t i = 1; i <= pushes; i++) {
        const unsigned before = atomic_load(&batches);
        OK(tamis_redis_push(made[i % 2], redis, "f", NULL, &err));
        /* so that there are lookups in each of the filters */
        while (atomic_load(&batches) < before + THREADS)
            sched_yield();
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++) {
        void *fault = NULL;
        pthread_join(threads[i], &fault);
        if (fault)
            fail_msg("%s", (char *)fault);
        tamis_filter_free(handles[i]);
    }
    tamis_filter *there = open_filter("f");
    assert_int_equal(count_present(there, 0, KEYS + 200), KEYS + 200);
    tamis_filter_free(there);
    tamis_filter_free(made[0]);
    tamis_filter_free(made[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pull_answers_as_the_server_does),
        cmocka_unit_test(pull_of_layout_java_keeps_its_bits),
        cmocka_unit_test(pull_of_a_bitmap_has_the_servers_bytes),
        cmocka_unit_test(pull_does_not_take_a_lost_partition_for_zeros),
        cmocka_unit_test(a_full_filter_is_not_saturated_by_chance),
        cmocka_unit_test(push_and_pull_give_the_same_filter),
        cmocka_unit_test(push_and_pull_keep_scheme_seed_and_secret),
        cmocka_unit_test(push_replaces_and_open_handles_follow),
        cmocka_unit_test(adds_to_an_expired_generation_are_moved),
        cmocka_unit_test(an_idle_handle_checks_before_it_adds),
        cmocka_unit_test(clear_empties_it_for_everyone),
        cmocka_unit_test(push_refuses_what_it_cannot),
        cmocka_unit_test(push_sees_what_was_lost_and_changes_nothing),
        cmocka_unit_test(push_survives_no_restart_without_saying_so),
        cmocka_unit_test(push_tidies_up_after_one_that_was_killed),
        cmocka_unit_test(push_with_ttl_lets_all_keys_expire),
        cmocka_unit_test(no_memory_leaves_all_as_it_was),
        cmocka_unit_test(no_key_is_absent_while_pushes_switch),
    };
    return cmocka_run_group_tests(tests, redis_filters_set_up, redis_filters_tear_down);
}
