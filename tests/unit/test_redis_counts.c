/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters with positions, on a real server: each contribution counts once, whoever sends it, and whatever is
 * lost. */
#include "store/redis/counts/redis_counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/redis_server.h"

enum { PARTITIONS = 2 };

static redis_server server;
static tamis_error err;

static int set_up(void **state) {
    (void)state;
    if (redis_server_installed())
        redis_server_start(&server, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    redis_server_stop(&server);
    return 0;
}

static void begin_test(void) {
    if (!server.pid)
        skip();
    redis_server_command(&server, "FLUSHALL");
    err = (tamis_error)TAMIS_ERROR_INIT;
}

static tamis__counts *open_counts(const char *description) {
    const tamis__counts_options options = {.uri = server.uri,
                                           .name = "g.t.tamis-count",
                                           .description = description,
                                           .partition_count = PARTITIONS};
    tamis__counts *counts;

    assert_int_equal(tamis__counts_open(&counts, &options, &err), TAMIS_OK);
    return counts;
}

/* A1. Returns the position of partition 0. */
static uint64_t begin_counts(tamis__counts *counts) {
    uint64_t positions[PARTITIONS];

    assert_int_equal(tamis__counts_begin(counts, positions, &err), TAMIS_OK);
    return positions[0];
}

/* Adds records `first` to `last` - 1 of partition 0 to two counters. Returns how many were counted before. */
static unsigned add(tamis__counts *counts, uint64_t first, uint64_t last) {
    unsigned counted = 0;

    for (uint64_t i = first; i < last; i++)
        for (int k = 0; k < 2; k++) {
            char name[20];
            bool is_counted;
            const int size = snprintf(name, sizeof name, k == 0 ? "all" : "last:%u", (unsigned)(i % 3));
            const tamis__contribution added = {.counter = {name, (size_t)size}, .offset = i, .count = 1};
            assert_int_equal(tamis__counts_add(counts, &added, &is_counted, &err), TAMIS_OK);
            counted += is_counted;
        }
    return counted;
}

static bool apply(tamis__counts *counts, uint64_t next, uint64_t *lower) {
    const uint64_t positions[PARTITIONS] = {next, TAMIS__NO_POSITION};
    uint64_t ignored[PARTITIONS] = {TAMIS__NO_POSITION, TAMIS__NO_POSITION};
    bool is_conflict;

    assert_int_equal(tamis__counts_apply(counts, positions, lower ? lower : ignored, &is_conflict, &err),
                     TAMIS_OK);
    return !is_conflict;
}

static void assert_counts(uint64_t count) {
    assert_int_equal(redis_server_number(&server, "INCRBY all 0"), count);
    for (unsigned k = 0; k < 3; k++)
        assert_int_equal(redis_server_number(&server, "INCRBY last:%d 0", k), (count + 2 - k) / 3);
}

/* Two members read the same records, in other batches. */
static void a_zombie_adds_nothing(void **state) {
    (void)state;
    begin_test();
    tamis__counts *a = open_counts("x"), *b = open_counts("x");
    assert_int_equal(begin_counts(a), TAMIS__NO_POSITION);
    assert_int_equal(begin_counts(b), TAMIS__NO_POSITION);
    add(a, 0, 100);
    add(b, 0, 70);
    assert_true(apply(a, 100, NULL));
    assert_false(apply(b, 70, NULL));
    assert_counts(100);
    assert_int_equal(begin_counts(b), 100);
    assert_int_equal(add(b, 90, 150), 20); /* it reads from before the position */
    assert_true(apply(b, 150, NULL));
    add(a, 100, 150); /* the zombie has the same batch: as if its answer was lost */
    assert_true(apply(a, 150, NULL));
    assert_counts(150);
    tamis__counts_close(a);
    tamis__counts_close(b);
}

/* Redis goes back to an earlier moment. */
static void a_loss_is_noticed(void **state) {
    uint64_t lower[PARTITIONS] = {TAMIS__NO_POSITION, TAMIS__NO_POSITION};

    (void)state;
    begin_test();
    tamis__counts *counts = open_counts("x");
    begin_counts(counts);
    add(counts, 0, 30);
    assert_true(apply(counts, 30, NULL));
    add(counts, 30, 60);
    assert_true(apply(counts, 60, NULL));
    redis_server_command(&server, "MSET all 30 last:0 10 last:1 10 last:2 10");
    redis_server_command(&server, "HSET g.t.tamis-count:{0} 0 30");
    add(counts, 60, 90);
    assert_false(apply(counts, 90, lower));
    assert_int_equal(lower[0], 30);
    assert_int_equal(lower[1], TAMIS__NO_POSITION);
    assert_int_equal(begin_counts(counts), 30);
    add(counts, 30, 90);
    assert_true(apply(counts, 90, NULL));
    assert_counts(90);
    tamis__counts_close(counts);
}

/* Adds record `offset` of partition 0 to a HyperLogLog. */
static void add_element(tamis__counts *counts, const char *name, const char *element, uint64_t offset) {
    const tamis__contribution added = {
        .counter = {name, strlen(name)}, .element = {element, strlen(element)}, .offset = offset};
    bool is_counted;

    assert_int_equal(tamis__counts_add(counts, &added, &is_counted, &err), TAMIS_OK);
    assert_false(is_counted);
}

/* Adds `count` to a number; it expires at `expires`. */
static void add_number(tamis__counts *counts, const char *name, int64_t count, uint64_t expires,
                       uint64_t offset) {
    const tamis__contribution added = {
        .counter = {name, strlen(name)}, .count = count, .expires = expires, .offset = offset};
    bool is_counted;

    assert_int_equal(tamis__counts_add(counts, &added, &is_counted, &err), TAMIS_OK);
}

/* The batch is refused with this message, and nothing has changed: it has `keys` keys. */
static void assert_refused(tamis__counts *counts, const char *message, int64_t keys) {
    const uint64_t next[PARTITIONS] = {9, TAMIS__NO_POSITION};
    uint64_t lower[PARTITIONS] = {0};
    bool is_conflict;
    const tamis_status status = tamis__counts_apply(counts, next, lower, &is_conflict, &err);

    assert_int_equal(status, TAMIS_E_MISMATCH);
    assert_non_null(strstr(err.text, message));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), keys);
}

static void numbers_and_elements(void **state) {
    char element[20];

    (void)state;
    begin_test();
    tamis__counts *counts = open_counts("x");
    begin_counts(counts);
    for (unsigned i = 0; i < 5000; i++) { /* more than a call of Lua may have */
        snprintf(element, sizeof element, "%u", i % 4000);
        add_element(counts, i % 4 == 0 ? "few" : "many", element, i);
    }
    add_element(counts, "few", "", 5000);
    add_number(counts, "sum", 7, 0, 0);
    add_number(counts, "sum", -12, 0, 0);
    add_number(counts, "zero", 0, 0, 0);
    add_number(counts, "low", INT64_C(-9000000000000000000), 0, 0);
    assert_true(apply(counts, 5001, NULL));
    assert_string_equal(redis_server_command(&server, "GET sum"), "-5");
    assert_string_equal(redis_server_command(&server, "GET zero"), "0");
    assert_string_equal(redis_server_command(&server, "GET low"), "-9000000000000000000");
    assert_in_range(redis_server_number(&server, "PFCOUNT few"), 980, 1022); /* 1001 */
    assert_in_range(redis_server_number(&server, "PFCOUNT many"), 2910, 3090);
    /* The elements are those that a user would add. */
    assert_int_equal(redis_server_number(&server, "PFADD few 0 4 8 3996"), 0);
    add_number(counts, "low", INT64_C(9000000000000000000), 0, 5001);
    assert_true(apply(counts, 5002, NULL));
    assert_string_equal(redis_server_command(&server, "GET low"), "0");
    tamis__counts_close(counts);
}

static void other_types_are_refused(void **state) {
    static const struct {
        const char *command, *key, *value, *message;
    } cases[] = {
        {"RPUSH", "users", "x", "users: expected a counter"},
        {"SET", "users", "5", "(not a HyperLogLog)"},
        {"SET", "users", "HYLLbroken", "users: expected a counter"},
        {"PFADD", "all", "x", "all: expected a counter"},
        {"SET", "all", "007", "(not an integer)"},
        {"SET", "all", "1.5", "(not an integer)"},
        {"SET", "all", "9223372036854775806", "all: would come to within 4096 of the limit of 64 bits"},
        {"SET", "all", "-9223372036854775808", "all: would come to within 4096 of the limit of 64 bits"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_test();
        redis_server_command(&server, "%s %s %s", cases[i].command, cases[i].key, cases[i].value);
        redis_server_command(&server, "SET before 0");
        tamis__counts *counts = open_counts("x");
        begin_counts(counts);
        add_number(counts, "before", 1, 0, 0);
        add_number(counts, "all", 9, 0, 0);
        if (i != 2) /* a HyperLogLog with a broken end is noticed when others may have their elements */
            add_element(counts, "a", "x", 0);
        add_element(counts, "users", "ada", 0);
        assert_refused(counts, cases[i].message, 2);
        assert_string_equal(redis_server_command(&server, "GET before"), "0");
        tamis__counts_close(counts);
    }
}

static void a_sum_of_a_batch_overflows(void **state) {
    const tamis__contribution added = {.counter = {"sum", 3}, .count = INT64_MAX};
    bool is_counted;

    (void)state;
    begin_test();
    tamis__counts *counts = open_counts("x");
    begin_counts(counts);
    assert_int_equal(tamis__counts_add(counts, &added, &is_counted, &err), TAMIS_OK);
    assert_int_equal(tamis__counts_add(counts, &added, &is_counted, &err), TAMIS_E_MISMATCH);
    tamis__counts_close(counts);
}

static void counters_expire(void **state) {
    const uint64_t later = 4102444800000; /* 2100 */

    (void)state;
    begin_test();
    redis_server_command(&server, "SET over 100");
    tamis__counts *counts = open_counts("x");
    begin_counts(counts);
    add_number(counts, "later", 1, later, 0);
    add_number(counts, "over", 1, 1000, 0);
    add_number(counts, "new-over", 1, 1000, 0);
    add_number(counts, "never", 1, 0, 0);
    const tamis__contribution element = {.counter = {"users", 5}, .element = {"x", 1}, .expires = later};
    bool is_counted;
    assert_int_equal(tamis__counts_add(counts, &element, &is_counted, &err), TAMIS_OK);
    assert_true(apply(counts, 5, NULL));
    assert_true(redis_server_number(&server, "PTTL later") > INT64_C(1000) * 365 * 86400000 / 1000);
    assert_true(redis_server_number(&server, "PTTL users") > 86400000);
    assert_int_equal(redis_server_number(&server, "PTTL never"), -1);
    assert_int_equal(redis_server_number(&server, "EXISTS over new-over"), 0);
    tamis__counts_close(counts);
}

/* A user who lacks a right gets an error each time, and no increment. */
static void lacking_rights_count_nothing(void **state) {
    static const char *const commands[] = {"get", "getrange", "pfadd", "hset", "pexpireat", "incrby"};

    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        begin_test();
        tamis__counts *counts = open_counts("x");
        begin_counts(counts);
        add_number(counts, "a", 1, 0, 0);
        add_number(counts, "b", 1, 4102444800000, 0);
        add_element(counts, "users", "ada", 0);
        redis_server_command(&server, "ACL SETUSER default -%s", commands[i]);
        const uint64_t next[PARTITIONS] = {9, TAMIS__NO_POSITION};
        uint64_t lower[PARTITIONS] = {0};
        bool is_conflict;
        assert_int_not_equal(tamis__counts_apply(counts, next, lower, &is_conflict, &err), TAMIS_OK);
        redis_server_command(&server, "ACL SETUSER default +%s", commands[i]);
        assert_int_equal(redis_server_number(&server, "EXISTS a b"), 0);
        begin_counts(counts);
        add_number(counts, "a", 1, 0, 0);
        assert_true(apply(counts, 9, NULL));
        tamis__counts_close(counts);
    }
}

static void a_refused_counter_changes_nothing(void **state) {
    const uint64_t next[PARTITIONS] = {9, TAMIS__NO_POSITION};
    uint64_t lower[PARTITIONS] = {0};
    static const char *const values[] = {"x", "9223372036854775807", NULL};
    bool is_conflict;

    (void)state;
    for (int i = 0; i < 3; i++) {
        begin_test();
        if (values[i])
            redis_server_command(&server, "SET last:1 %s", values[i]);
        else
            redis_server_command(&server, "RPUSH last:1 x");
        redis_server_command(&server, "SET all 5");
        tamis__counts *counts = open_counts("x");
        begin_counts(counts);
        add(counts, 0, 9);
        assert_int_equal(tamis__counts_apply(counts, next, lower, &is_conflict, &err), TAMIS_E_MISMATCH);
        assert_non_null(
            strstr(err.text, i == 1 ? "last:1: would come to within 4096" : "last:1: expected a counter"));
        assert_string_equal(redis_server_command(&server, "GET all"), "5");
        assert_int_equal(redis_server_number(&server, "DBSIZE"), 2);
        redis_server_command(&server, "DEL last:1");
        begin_counts(counts);
        add(counts, 0, 9);
        assert_true(apply(counts, 9, NULL));
        assert_string_equal(redis_server_command(&server, "GET all"), "14");
        tamis__counts_close(counts);
    }
}

static void others_are_refused(void **state) {
    uint64_t positions[PARTITIONS];

    (void)state;
    begin_test();
    tamis__counts *counts = open_counts("x"), *other = open_counts("y");
    begin_counts(counts);
    begin_counts(other);
    add(counts, 0, 5);
    assert_true(apply(counts, 5, NULL));
    assert_int_equal(tamis__counts_begin(other, positions, &err), TAMIS_E_MISMATCH);
    assert_non_null(strstr(err.text, "were made with x; give the same options"));
    redis_server_command(&server, "HSET g.t.tamis-count:{0} 2 7");
    assert_int_equal(tamis__counts_begin(counts, positions, &err), TAMIS_E_CHANGED);
    assert_non_null(strstr(err.text, "have partition 2, which the topic does not have"));
    tamis__counts_close(counts);
    tamis__counts_close(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_zombie_adds_nothing),
                                       cmocka_unit_test(a_loss_is_noticed),
                                       cmocka_unit_test(a_refused_counter_changes_nothing),
                                       cmocka_unit_test(numbers_and_elements),
                                       cmocka_unit_test(other_types_are_refused),
                                       cmocka_unit_test(a_sum_of_a_batch_overflows),
                                       cmocka_unit_test(counters_expire),
                                       cmocka_unit_test(lacking_rights_count_nothing),
                                       cmocka_unit_test(others_are_refused)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
