/* SPDX-License-Identifier: BSD-2-Clause */

/* Layout java on a real server: the published example, bit for bit; expiry; and refusals of the server. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/redis.h>

#include "support/fault.h"
#include "support/redis_calls.h"
#include "support/redis_server.h"

#define NAME "topic_read:8839540:20190609"
#define PLAN "layout=java&expect=3000&fpr=0.03"

static redis_server server;
static tamis_error err;
static size_t descriptors;

static int set_up(void **state) {
    (void)state;
    descriptors = fault_open_descriptors();
    if (redis_server_installed())
        redis_server_start(&server, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    redis_server_stop(&server);
    return fault_open_descriptors() == descriptors ? 0 : -1;
}

static void need_server(void) {
    if (!server.pid)
        skip();
    redis_server_command(&server, "FLUSHALL");
}

/* Opens a filter by the server's URI, with `user` in front of the host and `rest` after it. */
static tamis_status try_open(tamis_filter **filter, const char *user, const char *rest) {
    char uri[300];
    snprintf(uri, sizeof uri, "redis://%s127.0.0.1:%d/%s", user, server.port, rest);
    return tamis_redis_filter_open(filter, NULL, uri, NULL, &err);
}

static tamis_filter *open_filter(const char *rest) {
    tamis_filter *filter = NULL;
    OK(try_open(&filter, "", rest));
    return filter;
}

static tamis_answer add(tamis_filter *filter, const char *key) {
    tamis_answer answer = TAMIS_UNKNOWN;
    OK(tamis_filter_add(filter, key, strlen(key), &answer, &err));
    return answer;
}

static tamis_answer query(const tamis_filter *filter, const char *key) {
    tamis_answer answer = TAMIS_UNKNOWN;
    OK(tamis_filter_contains(filter, key, strlen(key), &answer, &err));
    return answer;
}

/*
 * Positions of the published example, computed by a Python program from the description alone: a and b are
 * the halves of murmur3_x64_128 of the text with seed 0; five times (a & 2^63 - 1) % 21895, then a += b.
 */
static const struct {
    const char *key;
    int offsets[5];
} published[] = {
    {"76930242", {17799, 14920, 12041, 12190, 9311}}, {"76930243", {12571, 18997, 3528, 12982, 19408}},
    {"76930244", {9992, 6402, 21679, 15061, 11471}},  {"76930245", {10623, 5397, 3199, 19868, 14642}},
    {"76930246", {5320, 20278, 13341, 9432, 2495}},
};
enum { PUBLISHED = sizeof published / sizeof *published };

static void bits_are_those_of_the_published_run(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter(NAME "?" PLAN);
    assert_int_equal(tamis_filter_plan(filter)->bits, 21895);
    assert_int_equal(tamis_filter_plan(filter)->probes, 5);
    assert_int_equal(query(filter, "76930242"), TAMIS_ABSENT); /* the Redis key does not exist */
    unsigned char expected[(21895 + 7) / 8] = {0};
    size_t size = 0;
    for (int i = 0; i < PUBLISHED; i++) {
        assert_int_equal(add(filter, published[i].key), TAMIS_ABSENT);
        assert_int_equal(add(filter, published[i].key), TAMIS_PRESENT);
        for (int j = 0; j < 5; j++) {
            size_t bit = (size_t)published[i].offsets[j];
            expected[bit / 8] |= (unsigned char)(0x80 >> bit % 8);
            size = bit / 8 + 1 > size ? bit / 8 + 1 : size;
        }
    }
    test_bytes got = {0}, expected_bytes = {expected, size, 0};
    redis_server_bytes(&server, &got, "GET %s", "bf:" NAME);
    assert_true(bytes_check("bits", &got, &expected_bytes));
    bytes_clear(&got);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 1);
    static const char *const in[] = {"76930242", "76930244", "76930246"};
    for (int i = 0; i < 3; i++)
        assert_int_equal(query(filter, in[i]), TAMIS_PRESENT);
    assert_int_equal(query(filter, "76930248"), TAMIS_ABSENT);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    OK(tamis_filter_info_get(filter, &info, &err));
    assert_int_equal(info.added, 5);
    assert_int_equal(info.ones, redis_server_number(&server, "BITCOUNT %s", "bf:" NAME));
    assert_true(info.cardinality > 4.9 && info.cardinality < 5.1);
    OK(tamis_filter_clear(filter, &err));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    assert_int_equal(query(filter, "76930242"), TAMIS_ABSENT);
    tamis_filter_free(filter);
}

/* Sets bits one by one, as the other program does. */
static void bits_of_another_program_are_read(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter(NAME "?" PLAN);
    for (int j = 0; j < 5; j++) {
        assert_int_equal(query(filter, published[0].key), TAMIS_ABSENT);
        redis_server_number(&server, "SETBIT bf:" NAME " %d 1", published[0].offsets[j]);
    }
    assert_int_equal(query(filter, published[0].key), TAMIS_PRESENT);
    assert_int_equal(add(filter, published[0].key), TAMIS_PRESENT);
    tamis_filter_free(filter);
}

static long long ttl_of(const char *key) {
    return redis_server_number(&server, "PTTL %s", key);
}

static void each_add_renews_the_expiry(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter(NAME "?" PLAN "&ttl=1h");
    add(filter, "a");
    for (int i = 0; i < 2; i++) {
        assert_in_range(ttl_of("bf:" NAME), 3500000, 3600000);
        redis_server_number(&server, "PEXPIRE bf:" NAME " 1000000");
        assert_int_equal(query(filter, "a"), TAMIS_PRESENT);
        assert_in_range(ttl_of("bf:" NAME), 1, 1000000); /* a lookup does not renew it */
        add(filter, i ? "b" : "a");
    }
    assert_in_range(ttl_of("bf:" NAME), 3500000, 3600000);
    tamis_filter_free(filter);
}

static void only_the_first_add_sets_the_expiry(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter(NAME "?" PLAN "&ttl=1h&renew=create");
    for (int i = 0; i < 2; i++) { /* again after it has expired */
        add(filter, "a");
        assert_in_range(ttl_of("bf:" NAME), 3500000, 3600000);
        redis_server_number(&server, "PEXPIRE bf:" NAME " 1000000");
        add(filter, "b");
        assert_in_range(ttl_of("bf:" NAME), 1, 1000000);
        redis_server_command(&server, "DEL bf:" NAME);
    }
    tamis_filter_free(filter);
}

static void names_and_databases_are_used_as_they_are(void **state) {
    (void)state;
    need_server();
    char rest[100];
    snprintf(rest, sizeof rest, "3/a%%20b%%2F%%00%%40?" PLAN);
    tamis_filter *filter = open_filter(rest);
    add(filter, "k");
    tamis_filter_free(filter);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    OK(try_open(&filter, "", "3/other?" PLAN));
    assert_int_equal(query(filter, "k"), TAMIS_ABSENT);
    tamis_filter_free(filter);
    redis_server_command(&server, "SWAPDB 0 3");
    assert_int_equal(redis_server_number(&server, "EXISTS %b", "bf:a b/\0@", (size_t)9), 1);
    assert_int_equal(try_open(&filter, "", "99999/x?" PLAN), TAMIS_E_INVALID);
}

static void a_unix_socket_serves_as_well(void **state) {
    (void)state;
    need_server();
    char uri[300];
    tamis_redis *redis = NULL;
    tamis_filter *filter = NULL;
    snprintf(uri, sizeof uri, "%s/2", server.uri_unix);
    OK(tamis_redis_open(&redis, uri, NULL, &err));
    OK(tamis_redis_filter_open(&filter, redis, "a@b?" PLAN, NULL, &err));
    assert_int_equal(add(filter, "k"), TAMIS_ABSENT);
    tamis_filter_free(filter);
    tamis_redis_close(redis);
    redis_server_command(&server, "SWAPDB 0 2");
    assert_int_equal(redis_server_number(&server, "EXISTS bf:a@b"), 1);
}

/* ---- refusals ---- */

static void fails_with(tamis_filter *filter, tamis_status expected, const char *said) {
    tamis_answer answer = 77;
    snprintf(err.text, sizeof err.text, "-");
    tamis_status status = tamis_filter_add(filter, "key", 3, &answer, &err);
    if (status != expected || !strstr(err.text, said) || !strstr(err.text, "; "))
        fail_msg("%s: %s", tamis_status_name(status), err.text);
    assert_int_equal(answer, 77);
    assert_null(strstr(err.text, "hush"));
}

static void another_type_under_the_name_is_reported(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter(NAME "?" PLAN);
    redis_server_command(&server, "RPUSH bf:" NAME " x");
    fails_with(filter, TAMIS_E_MISMATCH, "WRONGTYPE");
    tamis_filter_free(filter);
}

static void a_server_without_memory_is_reported(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter(NAME "?" PLAN);
    assert_int_equal(add(filter, "before"), TAMIS_ABSENT);
    redis_server_command(&server, "CONFIG SET maxmemory 1");
    fails_with(filter, TAMIS_E_REFUSED, "maxmemory");
    assert_int_equal(query(filter, "before"), TAMIS_PRESENT); /* a lookup needs no memory */
    assert_int_equal(query(filter, "key"), TAMIS_ABSENT);
    tamis_filter *other = open_filter(NAME "?" PLAN);
    assert_int_equal(query(other, "before"), TAMIS_PRESENT);
    redis_server_command(&server, "CONFIG SET maxmemory 0");
    assert_int_equal(add(other, "other"), TAMIS_ABSENT);
    tamis_filter_free(other);
    assert_int_equal(query(filter, "before"), TAMIS_PRESENT);
    assert_int_equal(add(filter, "key"), TAMIS_ABSENT);
    tamis_filter_free(filter);
}

static void an_acl_error_names_what_to_grant(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = NULL;
    redis_server_command(&server, "ACL SETUSER ann on >hush ~bf:* +bitfield");
    redis_server_command(&server, "ACL SETUSER bob on >hush ~bf:* +ping");
    redis_server_command(&server, "ACL SETUSER cat on >hush ~other:* +bitfield");
    OK(try_open(&filter, "ann:hush@", NAME "?" PLAN));
    assert_int_equal(add(filter, "k"), TAMIS_ABSENT);
    tamis_filter_free(filter);
    OK(try_open(&filter, "bob:hush@", NAME "?" PLAN));
    fails_with(filter, TAMIS_E_REFUSED, "+bitfield");
    tamis_filter_free(filter);
    OK(try_open(&filter, "cat:hush@", NAME "?" PLAN));
    fails_with(filter, TAMIS_E_REFUSED, "~bf:NAME");
    tamis_filter_free(filter);
    OK(try_open(&filter, "ann:wronghush@", NAME "?" PLAN));
    fails_with(filter, TAMIS_E_REFUSED, "check user and password");
    tamis_filter_free(filter);
    redis_server_command(&server, "CONFIG SET requirepass hush");
    OK(try_open(&filter, "", NAME "?" PLAN));
    fails_with(filter, TAMIS_E_REFUSED, "give user and password");
    tamis_filter_free(filter);
    OK(try_open(&filter, ":hush@", NAME "?" PLAN));
    assert_int_equal(query(filter, "k"), TAMIS_PRESENT);
    tamis_filter_free(filter);
    tamis_redis *redis = NULL;
    char uri[100];
    snprintf(uri, sizeof uri, "redis://:hushhush@127.0.0.1:%d", server.port);
    assert_int_equal(tamis_redis_open(&redis, uri, NULL, &err), TAMIS_E_REFUSED);
    assert_null(strstr(err.text, "hush"));
    assert_null(redis);
    OK(try_open(&filter, ":hush@", "99/" NAME "?" PLAN));
    fails_with(filter, TAMIS_E_REFUSED, "name one that the server has");
    tamis_filter_free(filter);
    redis_server_stop(&server); /* commands of the helper are refused now */
    redis_server_start(&server, NULL);
}

static void a_reader_may_query(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter(NAME "?" PLAN);
    tamis_answer answer = 77;
    add(filter, "there");
    tamis_filter_free(filter);
    redis_server_command(&server, "ACL SETUSER eve on >hush %s +@read", "~bf:*");
    OK(try_open(&filter, "eve:hush@", NAME "?" PLAN));
    assert_int_equal(query(filter, "there"), TAMIS_PRESENT);
    assert_int_equal(query(filter, "key"), TAMIS_ABSENT);
    fails_with(filter, TAMIS_E_REFUSED, "+bitfield");
    assert_int_equal(query(filter, "key"), TAMIS_ABSENT);
    redis_server_command(&server, "ACL SETUSER eve -bitfield_ro");
    assert_int_equal(tamis_filter_contains(filter, "there", 5, &answer, &err), TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "tamis-redis(1) lists"));
    assert_int_equal(answer, 77);
    tamis_filter_free(filter);
    OK(try_open(&filter, "eve:hush@", NAME "?" PLAN)); /* the first refusal is reported */
    assert_int_equal(tamis_filter_contains(filter, "there", 5, &answer, &err), TAMIS_E_REFUSED);
    assert_null(strstr(err.text, "'bitfield_ro'"));
    tamis_filter_free(filter);
}

/* The Java class would limit the filter to 2^31 - 1 bits, which gives another rate. */
static void a_rate_that_is_not_kept_is_refused(void **state) {
    (void)state;
    need_server();
    static const char *const rests[] = {"n?layout=java&expect=224060000&fpr=0.01",
                                        "n?layout=java&expect=1e12&fpr=1e-9"};
    tamis_filter *filter = NULL;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(try_open(&filter, "", rests[i]), TAMIS_E_RANGE);
        assert_non_null(strstr(err.text, "bits, and layout java has 2147483647 at the most; expect fewer"));
        assert_null(filter);
    }
    tamis_filter_free(open_filter("n?layout=java&expect=224040000&fpr=0.01"));
}

static void bits_of_other_parameters_are_reported(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter(NAME "?" PLAN);
    for (int i = 0; i < PUBLISHED; i++)
        add(filter, published[i].key);
    tamis_filter_free(filter);
    filter = open_filter(NAME "?layout=java&expect=300&fpr=0.03");
    tamis_answer answer = 77;
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    assert_int_equal(tamis_filter_info_get(filter, &info, &err), TAMIS_E_MISMATCH);
    for (int i = 0; i < 2; i++) {
        fails_with(filter, TAMIS_E_MISMATCH, "give the parameters that it was made with");
        assert_int_equal(tamis_filter_contains(filter, published[0].key, 8, &answer, &err), TAMIS_E_MISMATCH);
        assert_int_equal(answer, 77);
    }
    tamis_filter_free(filter);
    filter = open_filter(NAME "?" PLAN);
    assert_int_equal(query(filter, published[0].key), TAMIS_PRESENT);
    assert_int_equal(query(filter, "key"), TAMIS_ABSENT);
    tamis_filter_free(filter);
}

static void parameters_that_make_no_filter_are_named(void **state) {
    (void)state;
    need_server();
    static const struct {
        const char *rest, *said;
    } rows[] = {
        {"?" PLAN, "name has 0 bytes"},
        {"n?layout=java&expect=3000", "expect=N and fpr=RATE"},
        {"n?layout=java&fpr=0.1", "expect=N and fpr=RATE"},
        {"n?layout=jaba&expect=1&fpr=0.1", "'jaba' is not known"},
        {"n?" PLAN "&probes=7", "'probes' is not known"},
        {"n?" PLAN "&ttl=1x", "ttl"},
        {"n?" PLAN "&ttl=0", "ttl is 0"},
        {"n?" PLAN "&renew=never", "renew"},
        {"n?" PLAN "&timeout=0", "from 1ms to 1d"},
        {"n?" PLAN "&patience=2d", "from 1ms to 1d"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_filter *filter = NULL;
        assert_int_equal(try_open(&filter, "u:hush@", rows[i].rest), TAMIS_E_INVALID);
        if (!strstr(err.text, rows[i].said) || strstr(err.text, "hush"))
            fail_msg("%s: %s", rows[i].rest, err.text);
        assert_null(filter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_those_of_the_published_run),
        cmocka_unit_test(bits_of_another_program_are_read),
        cmocka_unit_test(each_add_renews_the_expiry),
        cmocka_unit_test(only_the_first_add_sets_the_expiry),
        cmocka_unit_test(names_and_databases_are_used_as_they_are),
        cmocka_unit_test(a_unix_socket_serves_as_well),
        cmocka_unit_test(another_type_under_the_name_is_reported),
        cmocka_unit_test(a_server_without_memory_is_reported),
        cmocka_unit_test(an_acl_error_names_what_to_grant),
        cmocka_unit_test(a_reader_may_query),
        cmocka_unit_test(a_rate_that_is_not_kept_is_refused),
        cmocka_unit_test(bits_of_other_parameters_are_reported),
        cmocka_unit_test(parameters_that_make_no_filter_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
