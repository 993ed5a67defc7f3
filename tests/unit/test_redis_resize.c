/* SPDX-License-Identifier: BSD-2-Clause */

/* Resizing filters while they are in use. */
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

#include "support/redis_filters.h"

static void push(const char *name, uint64_t expect, size_t count) {
    tamis_filter *made = make_filter(expect, 0, count);
    OK(tamis_redis_push(made, redis, name, NULL, &err));
    tamis_filter_free(made);
}

/* ---- without losing an add ---- */

enum { BATCH = 10, KEYS_MAX = NUMBERS - 100000 };

static atomic_size_t answered;
static atomic_bool over;

/* Adds keys in order, and counts the answered ones. */
static void *add_always(void *context) {
    tamis_filter *filter = context;
    tamis_error why = TAMIS_ERROR_INIT;
    size_t done = 0;
    for (size_t i = 0; i + BATCH <= KEYS_MAX && !atomic_load(&over); i += BATCH) {
        if (tamis_filter_add_many(filter, keys + i, BATCH, NULL, &done, &why) != TAMIS_OK || done != BATCH)
            return strdup(why.text);
        atomic_store(&answered, i + BATCH);
    }
    return NULL;
}

static void wait_for_batches(size_t count) {
    const size_t before = atomic_load(&answered);
    while (atomic_load(&answered) < before + count * BATCH && atomic_load(&answered) + BATCH <= KEYS_MAX)
        sched_yield();
}

static void resize_beside_adds(const char *name, const char *made_as) {
    pthread_t thread;
    void *fault = NULL;
    tamis_redis_resize *resize = NULL;
    tamis_filter *larger = make_filter(200000, 0, 0);
    push(made_as, 20000, 0);
    tamis_filter *adder = open_filter(name), *there = open_filter(name);
    atomic_store(&answered, 0);
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&thread, NULL, add_always, adder), 0);
    wait_for_batches(20);
    OK(tamis_redis_resize_begin(&resize, larger, redis, name, &err));
    wait_for_batches(2); /* adds that were under way have been answered by now */
    OK(tamis_filter_add_many(larger, keys, atomic_load(&answered), NULL, NULL, &err));
    wait_for_batches(20);
    assert_int_equal(tamis_filter_plan(there)->capacity, 20000);
    OK(tamis_redis_resize_end(resize, larger, &err));
    wait_for_batches(20);
    atomic_store(&over, true);
    pthread_join(thread, &fault);
    if (fault)
        fail_msg("%s", (char *)fault);
    const size_t total = atomic_load(&answered);
    assert_int_equal(count_present(there, 0, total), total);
    assert_int_equal(tamis_filter_plan(there)->capacity, 200000);
    assert_in_range(count_present(there, NUMBERS - 50000, 50000), 0, 500);
    tamis_filter_free(there);
    tamis_filter_free(adder);
    tamis_filter_free(larger);
}

static void a_resize_loses_no_add(void **state) {
    (void)state;
    begin_test();
    resize_beside_adds("f", "f?partition=4096");
    OK(tamis_redis_drop(redis, "f", &err));
    push("one", 1000, 0);
    OK(tamis_redis_alias(redis, "a", "one", &err));
    resize_beside_adds("a", "a");
    assert_string_equal(redis_server_command(&server, "KEYS *unite*"), "");
    assert_int_equal(redis_server_number(&server, "HEXISTS tamis:{one} next"), 0);
    assert_int_equal(redis_server_number(&server, "HEXISTS tamis:{one} pushing"), 0);
    assert_int_equal(redis_server_number(&server, "EXISTS tamis:{one}:push"), 0);
}

/* Until the switch, answers are those of the old filter. Keys added meanwhile are present after it. */
static void answers_are_of_what_is_there(void **state) {
    (void)state;
    begin_test();
    tamis_redis_resize *resize = NULL;
    tamis_filter *larger = make_filter(50000, 0, 10);
    push("f", 1000, 10);
    OK(tamis_redis_expire(redis, "f", 5000000, &err));
    tamis_filter *there = open_filter("f");
    tamis_answer answers[20];
    OK(tamis_redis_resize_begin(&resize, larger, redis, "f", &err));
    tamis_filter *equal = make_filter(1000, 0, 10);
    FAILS(tamis_redis_union(there, equal, &err), TAMIS_E_BUSY, "is being resized");
    tamis_filter_free(equal);
    OK(tamis_filter_add_many(there, keys, 20, answers, NULL, &err));
    for (int i = 0; i < 20; i++)
        assert_int_equal(answers[i], i < 10 ? TAMIS_PRESENT : TAMIS_ABSENT);
    OK(tamis_redis_resize_end(resize, larger, &err));
    OK(tamis_filter_add_many(there, keys, 20, answers, NULL, &err));
    for (int i = 0; i < 20; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
    assert_in_range(redis_server_number(&server, "PTTL tamis:{f}"), 4900000, 5000000);
    tamis_filter_free(there);
    tamis_filter_free(larger);
}

/* ---- operations that end a resize ---- */

static void a_resize_is_given_up(void **state) {
    (void)state;
    begin_test();
    tamis_redis_resize *resize = NULL;
    tamis_filter *larger = make_filter(50000, 0, 10);
    push("f", 1000, 10);
    tamis_filter *there = open_filter("f");
    OK(tamis_redis_resize_begin(&resize, larger, redis, "f", &err));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 4);
    OK(tamis_filter_add_many(there, keys, 20, NULL, NULL, &err));
    OK(tamis_redis_resize_end(resize, NULL, &err));
    assert_string_equal(redis_server_command(&server, "HMGET tamis:{f} next pushing"), "(nil) (nil)");
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 4); /* for a minute: adds may be under way */
    OK(tamis_filter_add_many(there, keys, 30, NULL, NULL, &err));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 4);
    assert_int_equal(count_present(there, 0, 30), 30);
    OK(tamis_redis_resize_end(NULL, NULL, &err));
    tamis_filter_free(there);
    tamis_filter_free(larger);
}

static tamis_status count_one(void *context, const tamis_redis_leftover *leftover, tamis_error *why) {
    int *count = context;
    (void)why;
    assert_int_equal(leftover->kind, TAMIS_REDIS_LEFT_RESIZE);
    ++*count;
    return TAMIS_OK;
}

static int count_leftovers(bool removes) {
    int count = 0;
    OK(tamis_redis_leftovers(redis, "f", removes, count_one, &count, &err));
    return count;
}

static tamis_status count_unfinished(void *context, const tamis_redis_leftover *leftover, tamis_error *why) {
    int *keys_left = context;
    (void)why;
    assert_int_equal(leftover->kind, TAMIS_REDIS_LEFT_UNFINISHED);
    assert_int_equal(*keys_left, -1); /* one leftover */
    *keys_left = (int)leftover->keys;
    return TAMIS_OK;
}

/* Redis keys of the one leftover; -1: there is none. */
static int unfinished(bool removes) {
    int keys_left = -1;
    OK(tamis_redis_leftovers(redis, "f", removes, count_unfinished, &keys_left, &err));
    return keys_left;
}

/* As a build leaves it that was killed: its partitions expire, and field pushing does not. */
static void leave_unfinished(void) {
    char plan[500], *generation;
    snprintf(plan, sizeof plan, "%s", redis_server_command(&server, "HGET tamis:{f} plan"));
    generation = strstr(plan, "generation=");
    assert_non_null(generation);
    memcpy(generation + strlen("generation="), "00000000deadbeef", 16);
    redis_server_command(&server, "HSET tamis:{f} pushing %s", plan);
    redis_server_command(&server, "SET tamis:{f:00000000deadbeef:0}:bits x PX 3600000");
}

static void reg_22_an_unfinished_build_is_removed(void **state) {
    (void)state;
    begin_test();
    push("f", 1000, 10);
    assert_int_equal(unfinished(false), -1);
    leave_unfinished();
    assert_int_equal(unfinished(false), 1);
    redis_server_command(&server, "SET tamis:{f}:push busy PX 60000");
    assert_int_equal(unfinished(true), -1); /* it may still be under way */
    redis_server_command(&server, "DEL tamis:{f}:push");
    assert_int_equal(unfinished(true), 1);
    assert_int_equal(redis_server_number(&server, "EXISTS tamis:{f:00000000deadbeef:0}:bits"), 0);
    assert_string_equal(redis_server_command(&server, "HGET tamis:{f} pushing"), "(nil)");
    assert_int_equal(unfinished(false), -1);

    leave_unfinished();
    redis_server_command(&server, "DEL tamis:{f:00000000deadbeef:0}:bits"); /* expired */
    assert_int_equal(unfinished(false), 0);
    assert_int_equal(unfinished(true), 0);
    assert_int_equal(unfinished(false), -1);
    tamis_filter *there = open_filter("f");
    assert_int_equal(count_present(there, 0, 10), 10);
    tamis_filter_free(there);
}

/* No filter has such a name, but another program may. */
static void reg_23_a_name_longer_than_any_is_no_leftover(void **state) {
    (void)state;
    begin_test();
    char name[1001];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    redis_server_command(&server, "HSET tamis:{f%s} pushing generation=00000000deadbeef", name);
    redis_server_command(&server, "SET tamis:{f%s:00000000deadbeef:0}:bits x", name);
    int keys_left = -1;
    OK(tamis_redis_leftovers(redis, NULL, true, count_unfinished, &keys_left, &err));
    OK(tamis_redis_leftovers(redis, "f*", true, count_unfinished, &keys_left, &err));
    assert_int_equal(keys_left, -1);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 2);
}

static void another_push_or_drop_ends_it(void **state) {
    (void)state;
    begin_test();
    tamis_redis_resize *resize = NULL, *second = NULL;
    tamis_filter *larger = make_filter(50000, 0, 10);
    push("f", 1000, 10);
    OK(tamis_redis_resize_begin(&resize, larger, redis, "f", &err));
    push("f", 1000, 500);
    FAILS(tamis_redis_resize_end(resize, larger, &err), TAMIS_E_MISMATCH, "by another writer meanwhile");
    tamis_filter *there = open_filter("f");
    assert_int_equal(count_present(there, 0, 500), 500);
    assert_int_equal(tamis_filter_plan(there)->capacity, 1000);

    /* Another resize does not end it, since keys added since then would be in neither. It is ended by
     * name. */
    OK(tamis_redis_resize_begin(&resize, larger, redis, "f", &err));
    FAILS(tamis_redis_resize_begin(&second, larger, redis, "f", &err), TAMIS_E_BUSY, "another resize of it");
    assert_int_equal(count_leftovers(true), 1);
    assert_int_equal(count_leftovers(false), 0); /* its partitions expire */
    FAILS(tamis_redis_resize_end(resize, larger, &err), TAMIS_E_MISMATCH, "by another writer meanwhile");
    OK(tamis_redis_resize_begin(&second, larger, redis, "f", &err));
    assert_int_equal(count_leftovers(false), 1);
    OK(tamis_redis_resize_end(second, larger, &err));
    assert_int_equal(count_leftovers(false), 0);
    assert_int_equal(count_present(there, 0, 10), 10);
    assert_int_equal(tamis_filter_plan(there)->capacity, 50000);

    OK(tamis_redis_resize_begin(&resize, larger, redis, "f", &err));
    OK(tamis_redis_drop(redis, "f", &err));
    FAILS(tamis_redis_resize_end(resize, larger, &err), TAMIS_E_MISMATCH, "by another writer meanwhile");
    /* Retired partitions expire. */
    for (const char *key; strcmp(key = redis_server_command(&server, "RANDOMKEY"), "(nil)") != 0;) {
        char name[100];
        snprintf(name, sizeof name, "%s", key);
        assert_in_range(redis_server_number(&server, "PTTL %s", name), 1, 60000);
        redis_server_command(&server, "DEL %s", name);
    }
    tamis_filter_free(there);
    tamis_filter_free(larger);
}

/* The end of a resize waits for a lock holder that does not end the resize. The keys added to both filters
 * are kept. */
static void reg_22_an_end_waits_for_the_lock(void **state) {
    (void)state;
    begin_test();
    tamis_redis_resize *resize = NULL;
    tamis_filter *larger = make_filter(50000, 0, 10);
    push("f", 1000, 10);
    tamis_filter *there = open_filter("f");
    OK(tamis_redis_resize_begin(&resize, larger, redis, "f", &err));
    OK(tamis_filter_add_many(there, keys, 20, NULL, NULL, &err));
    redis_server_command(&server, "SET tamis:{f}:push another PX 200");
    OK(tamis_redis_resize_end(resize, larger, &err));
    assert_int_equal(count_present(there, 0, 20), 20);
    assert_int_equal(tamis_filter_plan(there)->capacity, 50000);

    OK(tamis_redis_resize_begin(&resize, larger, redis, "f", &err));
    redis_server_command(&server, "SET tamis:{f}:push another"); /* a build, which ends the resize */
    redis_server_command(&server, "HDEL tamis:{f} next sending");
    FAILS(tamis_redis_resize_end(resize, larger, &err), TAMIS_E_MISMATCH, "by another writer meanwhile");
    assert_string_equal(redis_server_command(&server, "GET tamis:{f}:push"), "another");
    tamis_filter_free(there);
    tamis_filter_free(larger);
}

/* If a partition of the new filter is lost, adds must not create it again. */
static void new_files_may_be_lost(void **state) {
    (void)state;
    begin_test();
    tamis_redis_resize *resize = NULL;
    tamis_filter *larger = make_filter(50000, 0, 10);
    char made[200];
    push("f", 1000, 10);
    tamis_filter *there = open_filter("f");
    snprintf(made, sizeof made, "%s", partition_of("f", 0));
    OK(tamis_redis_resize_begin(&resize, larger, redis, "f", &err));
    const char *next = strstr(redis_server_command(&server, "HGET tamis:{f} next"), "generation=");
    assert_non_null(next);
    snprintf(made, sizeof made, "tamis:{f:%.16s:0}:bits", next + strlen("generation="));
    assert_int_equal(redis_server_number(&server, "DEL %s", made), 1);
    OK(tamis_filter_add_many(there, keys, 20, NULL, NULL, &err));
    FAILS(tamis_redis_resize_end(resize, larger, &err), TAMIS_E_IO, "was lost on the way");
    assert_int_equal(count_present(there, 0, 20), 20);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 4);
    tamis_filter_free(there);
    tamis_filter_free(larger);
}

static void an_impossible_resize_is_refused(void **state) {
    (void)state;
    begin_test();
    tamis_redis_resize *resize = NULL;
    tamis_filter *larger = make_filter(50000, 0, 10);
    FAILS(tamis_redis_resize_begin(&resize, larger, redis, "f", &err), TAMIS_E_NOT_FOUND,
          "there is no such filter");
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    FAILS(tamis_redis_resize_begin(&resize, larger, redis, "f?layout=java&expect=7&fpr=0.1", &err),
          TAMIS_E_UNSUPPORTED, "cannot be resized while it is used");
    push("f", 1000, 10);
    redis_server_command(&server, "SET tamis:{f}:push other");
    FAILS(tamis_redis_resize_begin(&resize, larger, redis, "f", &err), TAMIS_E_BUSY,
          "another build, resize or drop");
    assert_null(resize);
    tamis_filter_free(larger);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resize_loses_no_add),
        cmocka_unit_test(answers_are_of_what_is_there),
        cmocka_unit_test(a_resize_is_given_up),
        cmocka_unit_test(reg_22_an_unfinished_build_is_removed),
        cmocka_unit_test(reg_23_a_name_longer_than_any_is_no_leftover),
        cmocka_unit_test(another_push_or_drop_ends_it),
        cmocka_unit_test(reg_22_an_end_waits_for_the_lock),
        cmocka_unit_test(new_files_may_be_lost),
        cmocka_unit_test(an_impossible_resize_is_refused),
    };
    return cmocka_run_group_tests(tests, redis_filters_set_up, redis_filters_tear_down);
}
