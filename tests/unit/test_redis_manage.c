/* SPDX-License-Identifier: BSD-2-Clause */

/* Aliases, drop, expiry and union of filters on a server. */
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

#include "base/system.h"
#include "store/redis/filter/redis_filter.h"
#include "store/redis/request/redis_requests.h"
#include "support/redis_filters.h"

static void push(const char *name, uint64_t expect, size_t from, size_t count) {
    tamis_filter *made = make_filter(expect, from, count);
    OK(tamis_redis_push(made, redis, name, NULL, &err));
    tamis_filter_free(made);
}

/* ---- alias ---- */

static void an_alias_is_followed_by_open_handles(void **state) {
    (void)state;
    begin_test();
    push("monday", 20000, 0, 10000);
    push("tuesday?partition=4096", 40000, 10000, 10000);
    OK(tamis_redis_alias(redis, "today", "monday", &err));
    tamis_filter *handle = open_filter("today");
    assert_int_equal(count_present(handle, 0, 10000), 10000);
    OK(tamis_redis_alias(redis, "today", "tuesday", &err));
    assert_int_equal(count_present(handle, 10000, 10000), 10000);
    assert_in_range(count_present(handle, 0, 10000), 0, 100);

    /* Keys added through the alias are in its target. A push through the alias replaces the target. */
    OK(tamis_filter_add_many(handle, keys + 50000, 100, NULL, NULL, &err));
    tamis_filter *direct = open_filter("tuesday"), *monday = open_filter("monday");
    assert_int_equal(count_present(direct, 50000, 100), 100);
    push("today", 40000, 60000, 1000);
    assert_int_equal(count_present(direct, 60000, 1000), 1000);
    assert_int_equal(count_present(handle, 60000, 1000), 1000);
    assert_in_range(count_present(direct, 50000, 100), 0, 5);

    /* The former target stays: it was not replaced. */
    OK(tamis_redis_alias(redis, "today", "monday", &err));
    OK(tamis_filter_add_many(handle, keys + 70000, 10, NULL, NULL, &err));
    assert_int_equal(count_present(monday, 70000, 10), 10);
    assert_int_equal(redis_server_number(&server, "PTTL %s", partition_of("monday", 0)), -1);
    tamis_filter_free(monday);
    tamis_filter_free(direct);
    tamis_filter_free(handle);
}

static void an_alias_is_made_and_removed(void **state) {
    (void)state;
    begin_test();
    tamis_filter *none = NULL;
    push("f", 1000, 0, 500);
    FAILS(tamis_redis_alias(redis, "a", "g", &err), TAMIS_E_NOT_FOUND, "g: there is no such filter");
    FAILS(tamis_redis_alias(redis, "f", "f", &err), TAMIS_E_INVALID, "alias of itself");
    FAILS(tamis_redis_alias(redis, "a", NULL, &err), TAMIS_E_NOT_FOUND, "a: there is no such filter");
    FAILS(tamis_redis_alias(redis, "a?layout=java", "f", &err), TAMIS_E_UNSUPPORTED,
          "layout java has no aliases");
    FAILS(tamis_redis_alias(redis, "a?x=y", "f", &err), TAMIS_E_INVALID, "'x' is not known");
    OK(tamis_redis_alias(redis, "a", "f", &err));
    FAILS(tamis_redis_alias(redis, "b", "a", &err), TAMIS_E_MISMATCH, "a: is an alias itself");
    FAILS(tamis_redis_alias(redis, "f", "a", &err), TAMIS_E_MISMATCH, "a: is an alias itself");
    FAILS(tamis_redis_alias(redis, "f", NULL, &err), TAMIS_E_MISMATCH, "f: is a filter, not an alias");
    push("g", 1000, 0, 1);
    push("h", 1000, 0, 1);
    OK(tamis_redis_alias(redis, "to-h", "h", &err));
    tamis_filter *to_h = open_filter("to-h");
    OK(tamis_redis_drop(redis, "h", &err));
    tamis_answer of_h = TAMIS_UNKNOWN;
    FAILS(tamis_filter_contains(to_h, "x", 1, &of_h, &err), TAMIS_E_NOT_FOUND,
          "to-h: is an alias of h, which does not exist");
    FAILS(tamis_redis_filter_open(&none, redis, "to-h", NULL, &err), TAMIS_E_NOT_FOUND,
          "to-h: is an alias of h");
    tamis_filter_free(to_h);
    FAILS(tamis_redis_alias(redis, "f", "g", &err), TAMIS_E_MISMATCH, "f: is a filter, not an alias");

    tamis_filter *handle = open_filter("a");
    OK(tamis_redis_alias(redis, "a", NULL, &err));
    tamis_answer answer = TAMIS_UNKNOWN;
    FAILS(tamis_filter_contains(handle, "x", 1, &answer, &err), TAMIS_E_NOT_FOUND, "was dropped");
    FAILS(tamis_redis_filter_open(&none, redis, "a", NULL, &err), TAMIS_E_NOT_FOUND,
          "there is no such filter");
    /* Aliases of aliases, made by hand: only one level is followed. */
    redis_server_command(&server, "HSET tamis:{a} alias b");
    redis_server_command(&server, "HSET tamis:{b} alias f");
    FAILS(tamis_redis_filter_open(&none, redis, "a", NULL, &err), TAMIS_E_MISMATCH,
          "an alias of another alias");
    tamis_filter_free(handle);
}

/* All keys of a batch are looked up in one filter. Keys 0..999 are in both filters, the others in one of
 * them. */
static atomic_bool over;
static atomic_uint batches;

static void *query_always(void *context) {
    tamis_filter *filter = context;
    tamis_answer answers[3000];
    tamis_error why = TAMIS_ERROR_INIT;
    while (!atomic_load(&over)) {
        unsigned present[3] = {0, 0, 0};
        if (tamis_filter_contains_many(filter, keys, 3000, answers, NULL, &why) != TAMIS_OK)
            return strdup(why.text);
        for (int i = 0; i < 3000; i++)
            present[i / 1000] += answers[i] == TAMIS_PRESENT;
        if (present[0] != 1000)
            return strdup("a key that is in both is called absent");
        if (!(present[1] == 1000 && present[2] < 100) && !(present[2] == 1000 && present[1] < 100))
            return strdup("a batch is not of one filter");
        atomic_fetch_add(&batches, 1);
    }
    return NULL;
}

static void a_batch_is_of_one_filter_while_an_alias_switches(void **state) {
    (void)state;
    begin_test();
    enum { THREADS = 2 };
    pthread_t threads[THREADS];
    tamis_filter *handles[THREADS], *other = make_filter(5000, 0, 1000);
    push("one?partition=4096", 5000, 0, 2000);
    OK(tamis_filter_add_many(other, keys + 2000, 1000, NULL, NULL, &err));
    OK(tamis_redis_push(other, redis, "other", NULL, &err));
    OK(tamis_redis_alias(redis, "a", "one", &err));
    for (int i = 0; i < THREADS; i++) {
        handles[i] = open_filter("a");
        assert_int_equal(pthread_create(&threads[i], NULL, query_always, handles[i]), 0);
    }
    for (uint64_t i = 0; i < test_scale(200, 20, 50); i++) {
        const unsigned before = atomic_load(&batches);
        OK(tamis_redis_alias(redis, "a", i % 2 ? "one" : "other", &err));
        while (atomic_load(&batches) < before + 1)
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
    tamis_filter_free(other);
}

/* Before each of the first two pipelines of adds, the alias is switched to the other filter. */
static ssize_t (*send_on)(int fd, const void *bytes, size_t size);
static int flips;

static ssize_t flip_and_send(int fd, const void *bytes, size_t size) {
    if (flips < 2 && memmem(bytes, size, "BITFIELD", 8))
        redis_server_command(&server, "HSET tamis:{a} alias %s", flips++ == 0 ? "other" : "one");
    return send_on(fd, bytes, size);
}

/* By then the batch has added its keys to the first filter, and sends them again. For keys that were
 * absent the answer is not known. */
static void an_alias_that_comes_back_within_a_batch_leaves_answers_unknown(void **state) {
    (void)state;
    begin_test();
    push("one", 1000, 0, 10);
    push("other", 1000, 0, 10);
    OK(tamis_redis_alias(redis, "a", "one", &err));
    tamis_filter *handle = open_filter("a");
    tamis_answer answers[20];
    flips = 0;
    send_on = tamis__sys.send;
    tamis__sys.send = flip_and_send;
    const tamis_status status = tamis_filter_add_many(handle, keys, 20, answers, NULL, &err);
    tamis__sys.send = send_on;
    OK(status);
    assert_int_equal(flips, 2);
    for (int i = 0; i < 20; i++)
        assert_int_equal(answers[i], i < 10 ? TAMIS_PRESENT : TAMIS_UNKNOWN);
    OK(tamis_filter_add_many(handle, keys, 20, answers, NULL, &err));
    for (int i = 0; i < 20; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
    tamis_filter_free(handle);
}

/* ---- drop ---- */

static void drop_leaves_nothing(void **state) {
    (void)state;
    begin_test();
    push("f?partition=4096", 30000, 0, 1000);
    push("f?partition=8192", 30000, 0, 1000); /* `before` exists too now */
    tamis_filter *handle = open_filter("f"), *adder = open_filter("f");
    tamis_answer answer = TAMIS_UNKNOWN;
    OK(tamis_redis_alias(redis, "a", "f", &err));
    OK(tamis_redis_drop(redis, "a", &err));
    assert_int_equal(count_present(handle, 0, 1000), 1000);
    OK(tamis_redis_drop(redis, "f", &err));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    FAILS(tamis_filter_contains(handle, "x", 1, &answer, &err), TAMIS_E_NOT_FOUND, "was dropped");
    assert_int_equal(answer, TAMIS_UNKNOWN);
    FAILS(tamis_redis_drop(redis, "f", &err), TAMIS_E_NOT_FOUND, "there is no such filter");

    /* An add finds out too late, and leaves no key without an expiry. */
    FAILS(tamis_filter_add(adder, "x", 1, &answer, &err), TAMIS_E_NOT_FOUND, "was dropped");
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 1);
    const char *key = redis_server_command(&server, "RANDOMKEY");
    char name[100];
    snprintf(name, sizeof name, "%s", key);
    assert_in_range(redis_server_number(&server, "PTTL %s", name), 1, 60000);
    tamis_filter_free(handle);
    tamis_filter_free(adder);
}

static void drop_ends_what_a_drop_that_was_killed_began(void **state) {
    (void)state;
    begin_test();
    push("f", 30000, 0, 1000);
    char plan[500];
    snprintf(plan, sizeof plan, "%s", redis_server_command(&server, "HGET tamis:{f} plan"));
    redis_server_command(&server, "HSET tamis:{f} before %s", plan);
    redis_server_command(&server, "HDEL tamis:{f} plan state");
    OK(tamis_redis_drop(redis, "f", &err));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
}

/* A drop frees memory, so without memory it works without the lock and without `before`. But it respects
 * the lock of a push. */
static void a_server_that_is_full_can_be_emptied(void **state) {
    (void)state;
    begin_test();
    push("f?partition=4096", 30000, 0, 1000);
    redis_server_command(&server, "SET tamis:{f}:push another");
    redis_server_command(&server, "CONFIG SET maxmemory 1");
    FAILS(tamis_redis_drop(redis, "f", &err), TAMIS_E_BUSY, "another build, resize or drop of it is running");
    redis_server_command(&server, "DEL tamis:{f}:push");
    OK(tamis_redis_drop(redis, "f", &err));
    redis_server_command(&server, "CONFIG SET maxmemory 0");
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
}

/* Without scripts the server refuses every step, since a transaction queues no command. The bits are
 * removed first. */
static void reg_22_a_full_server_without_scripts_can_be_emptied(void **state) {
    (void)state;
    begin_test();
    redis_server_command(&server, "ACL SETUSER default -eval");
    push("f?partition=65536", 3000000, 0, 1000);
    char used[200];
    snprintf(used, sizeof used, "%s", strstr(redis_server_command(&server, "INFO memory"), "used_memory:"));
    const long long memory = strtoll(used + strlen("used_memory:"), NULL, 10);
    redis_server_command(&server, "CONFIG SET maxmemory %lld", memory - 1000000);
    assert_non_null(strstr(redis_server_command(&server, "SET a b"), "OOM"));
    const tamis_status status = tamis_redis_drop(redis, "f", &err);
    redis_server_command(&server, "CONFIG SET maxmemory 0");
    OK(status);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);

    /* Nothing else is dropped if that frees too little. */
    push("f?partition=4096", 30000, 0, 1000);
    redis_server_command(&server, "CONFIG SET maxmemory 1");
    FAILS(tamis_redis_drop(redis, "f", &err), TAMIS_E_REFUSED,
          "partitions of the filter that was there were removed");
    redis_server_command(&server, "CONFIG SET maxmemory 0");
    OK(tamis_redis_drop(redis, "f", &err));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    redis_server_command(&server, "ACL SETUSER default +eval");
}

/* A program that was stopped in a transaction continues after its time-out. If its lock is lost, it must
 * report that. An error about a busy server would be retried, and the retry would replace the filters that
 * others made meanwhile. */
static void reg_22_a_transaction_that_is_late_compares_first(void **state) {
    (void)state;
    begin_test();
    tamis__connection *conn = NULL;
    tamis__step step = {.key_count = 0};
    tamis__transaction late = {.endpoint = &redis->nodes->endpoint,
                               .what = "f",
                               .read_ns = UINT64_C(10000000000),
                               .deadline = 1,
                               .why = TAMIS_ERROR_INIT};
    OK(tamis__connection_open(&conn, late.endpoint, tamis__now_ns() + late.read_ns, &err));
    tamis__step_key(&step, tamis__redis_word("lock"));
    tamis__step_expect_text(&step, tamis__redis_word("lock"), "mine");
    tamis__step_write(
        &step, TAMIS__WORDS(tamis__redis_word("SET"), tamis__redis_word("lock"), tamis__redis_word("x")));
    redis_server_command(&server, "SET lock another");
    tamis__step_transact(&step, conn, &late);
    assert_int_equal(late.status, TAMIS_OK);
    assert_false(late.is_done);
    redis_server_command(&server, "SET lock mine");
    tamis__step_transact(&step, conn, &late);
    assert_int_equal(late.status, TAMIS_E_BUSY);
    assert_false(late.is_done);
    assert_string_equal(redis_server_command(&server, "GET lock"), "mine");
    tamis__connection_close(conn);
}

/* The URI by which a filter was made works for all operations on it. */
static void drop_and_expire_take_the_parameters(void **state) {
    (void)state;
    begin_test();
    const char *name = "f?expect=3000&fpr=0.01&scheme=xxh3&seed=7&partition=4096&ttl=1h";
    tamis_filter_free(open_filter(name));
    OK(tamis_redis_expire(redis, name, 5000000, &err));
    assert_in_range(redis_server_number(&server, "PTTL tamis:{f}"), 4900000, 5000000);
    FAILS(tamis_redis_drop(redis, "f?expect=3000&frp=0.01", &err), TAMIS_E_INVALID, "'frp' is not known");
    FAILS(tamis_redis_drop(redis, "f?expect=many", &err), TAMIS_E_INVALID, "expect is 'many'");
    OK(tamis_redis_drop(redis, name, &err));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
}

static void drop_in_the_middle(void *context, uint64_t done, uint64_t total) {
    int *times = context;
    (void)total;
    if (done > 0 && (*times)++ == 0)
        FAILS(tamis_redis_drop(redis, "f", &err), TAMIS_E_BUSY,
              "another build, resize or drop of it is running");
}

static void drop_waits_for_a_push(void **state) {
    (void)state;
    begin_test();
    int times = 0;
    tamis_redis_push_options options = TAMIS_REDIS_PUSH_OPTIONS_INIT;
    options.progress = drop_in_the_middle;
    options.context = &times;
    push("f?partition=4096", 30000, 0, 1000);
    tamis_filter *made = make_filter(30000, 0, 2000);
    OK(tamis_redis_push(made, redis, "f", &options, &err));
    assert_true(times > 0);
    tamis_filter *there = open_filter("f");
    assert_int_equal(count_present(there, 0, 2000), 2000);
    OK(tamis_redis_drop(redis, "f", &err));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    tamis_filter_free(there);
    tamis_filter_free(made);
}

static void drop_and_expire_know_layout_java(void **state) {
    (void)state;
    begin_test();
    const char *name = "topic?layout=java&expect=3000&fpr=0.03";
    tamis_filter *handle = open_filter(name);
    FAILS(tamis_redis_drop(redis, name, &err), TAMIS_E_NOT_FOUND, "there is no such filter");
    OK(tamis_filter_add_many(handle, keys, 10, NULL, NULL, &err));
    OK(tamis_redis_expire(redis, name, 5000000, &err));
    assert_in_range(redis_server_number(&server, "PTTL bf:topic"), 4900000, 5000000);
    OK(tamis_redis_expire(redis, name, 0, &err));
    assert_int_equal(redis_server_number(&server, "PTTL bf:topic"), -1);
    OK(tamis_redis_drop(redis, name, &err));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    tamis_filter_free(handle);
}

/* ---- counting ---- */

/* A server that counts a large string in one command blocks all other clients. */
static void bits_are_counted_piece_by_piece(void **state) {
    (void)state;
    begin_test();
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    static const char *const bits[] = {"0", "33554431", "33554432", "79999999"};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        redis_server_number(&server, "SETBIT p %s 1", bits[i]);
    tamis_filter *filter = open_filter("p?layout=php1&bits=80000000&probes=3");
    redis_server_command(&server, "CONFIG RESETSTAT");
    OK(tamis_filter_info_get(filter, &info, &err));
    assert_int_equal(info.ones, 4);
    assert_non_null(strstr(redis_server_command(&server, "INFO commandstats"), "cmdstat_bitcount:calls=3,"));
    tamis_filter_free(filter);

    filter = open_filter("f?expect=5000000&fpr=0.001");
    OK(tamis_filter_add_many(filter, keys, 10000, NULL, NULL, &err));
    redis_server_command(&server, "CONFIG RESETSTAT");
    OK(tamis_filter_info_get(filter, &info, &err));
    const long long end = redis_server_number(&server, "STRLEN %s", partition_of("f", 0)) - 65;
    char calls[40];
    snprintf(calls, sizeof calls, "cmdstat_bitcount:calls=%lld,", end / (4 << 20) + 1);
    assert_true(end > 4 << 20);
    assert_non_null(strstr(redis_server_command(&server, "INFO commandstats"), calls));
    assert_int_equal(info.ones,
                     redis_server_number(&server, "BITCOUNT %s 0 %s", partition_of("f", 0), "-65"));
    tamis_filter_free(filter);
}

/* ---- expire ---- */

static void drop_and_expire_know_layout_redisson(void **state) {
    (void)state;
    begin_test();
    const char *name = "r?layout=redisson&expect=1000&fpr=0.01";
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    options.create = true;
    OK(tamis_redis_filter_open(&filter, redis, name, &options, &err));
    OK(tamis_filter_add(filter, "k", 1, NULL, &err));
    tamis_filter_free(filter);
    OK(tamis_redis_expire(redis, "r?layout=redisson", 600000, &err));
    assert_in_range(redis_server_number(&server, "PTTL r"), 1, 600000);
    assert_in_range(redis_server_number(&server, "PTTL {r}:config"), 1, 600000);
    OK(tamis_redis_expire(redis, "r?layout=redisson", 0, &err));
    assert_int_equal(redis_server_number(&server, "PTTL r"), -1);
    assert_int_equal(redis_server_number(&server, "PTTL {r}:config"), -1);
    OK(tamis_redis_drop(redis, "r?layout=redisson", &err));
    assert_int_equal(redis_server_number(&server, "EXISTS r {r}:config"), 0);
}

static void expire_is_of_all_keys(void **state) {
    (void)state;
    begin_test();
    char key[100];
    push("f?partition=4096", 30000, 0, 1000);
    OK(tamis_redis_alias(redis, "a", "f", &err));
    OK(tamis_redis_expire(redis, "a", 5000000, &err));
    for (int i = 0; i < 3; i++)
        assert_in_range(redis_server_number(&server, "PTTL %s", partition_of("f", i)), 4900000, 5060000);
    assert_in_range(redis_server_number(&server, "PTTL tamis:{f}"), 4900000, 5000000);
    OK(tamis_redis_expire(redis, "f", 0, &err));
    assert_int_equal(redis_server_number(&server, "PTTL tamis:{f}"), -1);
    assert_int_equal(redis_server_number(&server, "PTTL %s", partition_of("f", 1)), -1);
    OK(tamis_redis_expire(redis, "f", 1000, &err));
    tamis_filter *none = NULL;
    while (redis_server_number(&server, "EXISTS tamis:{f}"))
        sched_yield();
    FAILS(tamis_redis_filter_open(&none, redis, "f", NULL, &err), TAMIS_E_NOT_FOUND,
          "there is no such filter");
    FAILS(tamis_redis_expire(redis, "f", 1, &err), TAMIS_E_NOT_FOUND, "there is no such filter");
    snprintf(key, sizeof key, "f");
    FAILS(tamis_redis_expire(redis, key, UINT64_MAX, &err), TAMIS_E_RANGE, "too long");
}

/* ---- union ---- */

static void *add_singly(void *context) {
    tamis_filter *filter = context;
    tamis_error why = TAMIS_ERROR_INIT;
    for (size_t i = 0; i < 5000; i += 10)
        if (tamis_filter_add_many(filter, keys + i, 10, NULL, NULL, &why) != TAMIS_OK)
            return strdup(why.text);
    return NULL;
}

static void union_loses_no_add(void **state) {
    (void)state;
    begin_test();
    pthread_t thread;
    void *fault = NULL;
    push("f?partition=16384", 200000, 50000, 1000);
    OK(tamis_redis_expire(redis, "f", 5000000, &err));
    tamis_filter *adder = open_filter("f"), *there = open_filter("f"), *pulled = NULL;
    tamis_filter *mine = make_filter(200000, 100000, 100000);
    assert_int_equal(pthread_create(&thread, NULL, add_singly, adder), 0);
    OK(tamis_redis_union(there, mine, &err));
    pthread_join(thread, &fault);
    if (fault)
        fail_msg("%s", (char *)fault);
    assert_int_equal(count_present(there, 0, 5000), 5000);
    assert_int_equal(count_present(there, 50000, 1000), 1000);
    assert_int_equal(count_present(there, 100000, 100000), 100000);

    /* The same bits as after a union in memory. */
    tamis_filter *second = make_filter(200000, 0, 5000), *third = make_filter(200000, 50000, 1000);
    OK(tamis_filter_union(mine, second, &err));
    OK(tamis_filter_union(mine, third, &err));
    OK(tamis_redis_pull(&pulled, there, &err));
    assert_true(tamis_filter_is_equal(mine, pulled));
    tamis_filter_free(second);
    tamis_filter_free(third);
    assert_string_equal(redis_server_command(&server, "KEYS *unite*"), "");
    assert_in_range(redis_server_number(&server, "PTTL %s", partition_of("f", 1)), 4900000, 5060000);
    tamis_filter_free(pulled);
    tamis_filter_free(mine);
    tamis_filter_free(adder);
    tamis_filter_free(there);
}

/* A union must not create a lost partition again. */
static void union_does_not_hide_lost_partitions(void **state) {
    (void)state;
    begin_test();
    push("f", 1000, 0, 1000);
    tamis_filter *there = open_filter("f"), *mine = make_filter(1000, 0, 10),
                 *other = make_filter(2000, 0, 10);
    FAILS(tamis_redis_union(there, other, &err), TAMIS_E_MISMATCH, "build both with the same options");
    FAILS(tamis_redis_union(mine, other, &err), TAMIS_E_UNSUPPORTED, "not a filter on a server");
    redis_server_command(&server, "DEL %s", partition_of("f", 0));
    FAILS(tamis_redis_union(there, mine, &err), TAMIS_E_DAMAGED, "partition 0 is gone");
    tamis_answer answer = TAMIS_UNKNOWN;
    FAILS(tamis_filter_contains(there, "x", 1, &answer, &err), TAMIS_E_DAMAGED, "partition 0 is gone");
    tamis_filter_free(mine);
    tamis_filter_free(other);
    tamis_filter_free(there);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alias_is_followed_by_open_handles),
        cmocka_unit_test(an_alias_is_made_and_removed),
        cmocka_unit_test(a_batch_is_of_one_filter_while_an_alias_switches),
        cmocka_unit_test(an_alias_that_comes_back_within_a_batch_leaves_answers_unknown),
        cmocka_unit_test(drop_leaves_nothing),
        cmocka_unit_test(drop_ends_what_a_drop_that_was_killed_began),
        cmocka_unit_test(a_server_that_is_full_can_be_emptied),
        cmocka_unit_test(reg_22_a_full_server_without_scripts_can_be_emptied),
        cmocka_unit_test(reg_22_a_transaction_that_is_late_compares_first),
        cmocka_unit_test(drop_and_expire_take_the_parameters),
        cmocka_unit_test(drop_waits_for_a_push),
        cmocka_unit_test(drop_and_expire_know_layout_java),
        cmocka_unit_test(drop_and_expire_know_layout_redisson),
        cmocka_unit_test(bits_are_counted_piece_by_piece),
        cmocka_unit_test(expire_is_of_all_keys),
        cmocka_unit_test(union_loses_no_add),
        cmocka_unit_test(union_does_not_hide_lost_partitions),
    };
    return cmocka_run_group_tests(tests, redis_filters_set_up, redis_filters_tear_down);
}
