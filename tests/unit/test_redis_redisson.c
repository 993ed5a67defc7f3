/* SPDX-License-Identifier: BSD-2-Clause */

/* Layout redisson: reading and making the config hash, and changes of it under an open filter.
 * tests/interop/redis_redisson.sh compares bits and answers with a second implementation. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tamis/experimental/redis.h>

#include "support/redis_server.h"
#include "support/scratch.h"

static redis_server server;

/* Static storage, until the next call. */
static const char *server_uri(const char *rest) {
    static char uri[700];
    snprintf(uri, sizeof uri, "%s/%s", server.uri_unix, rest);
    return uri;
}

static tamis_error err = TAMIS_ERROR_INIT;

static tamis_status open_filter(tamis_filter **filter, const char *name, bool create) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    options.create = create;
    return tamis_redis_filter_open(filter, NULL, server_uri(name), &options, &err);
}

static tamis_filter *opened(const char *name, bool create) {
    tamis_filter *filter = NULL;
    if (open_filter(&filter, name, create) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

static void assert_said(tamis_status status, tamis_status expected, const char *why) {
    if (status != expected || !strstr(err.text, why))
        fail_msg("%s: '%s' instead of %s: '%s'", tamis_status_name(status), err.text,
                 tamis_status_name(expected), why);
}

static void refused(const char *name, bool create, tamis_status expected, const char *why) {
    tamis_filter *filter = NULL;
    assert_said(open_filter(&filter, name, create), expected, why);
    assert_null(filter);
}

static void put_config(const char *key, const char *size, const char *probes, const char *expect,
                       const char *fpr) {
    redis_server_command(&server, "DEL %s", key);
    assert_string_equal(
        redis_server_command(&server,
                             "HSET %s size %s hashIterations %s expectedInsertions %s falseProbability %s",
                             key, size, probes, expect, fpr),
        "4");
}

static tamis_answer add(tamis_filter *filter, const char *key) {
    tamis_answer answer = TAMIS_UNKNOWN;
    if (tamis_filter_add(filter, key, strlen(key), &answer, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return answer;
}

/* ---- tests ---- */

/* Reference value from Redisson in a JVM: "foo" in a filter for 1000 at 1 %. */
static void a_filter_of_redissons(void **state) {
    (void)state;
    if (!server.pid)
        skip();
    put_config("{seen}:config", "9585", "7", "1000", "0.01");
    tamis_filter *filter = opened("seen?layout=redisson", false);
    const tamis_plan *plan = tamis_filter_plan(filter);
    assert_true(plan->bits == 9585 && plan->probes == 7 && plan->capacity == 1000 && plan->fpr == 0.01);
    assert_true(plan->fpr_predicted > 0.01 && plan->fpr_predicted < 0.013);
    assert_int_equal(add(filter, "foo"), TAMIS_ABSENT);
    assert_int_equal(add(filter, "foo"), TAMIS_PRESENT);
    static const int bits[] = {5367, 4316, 7335, 6284, 9303, 8252, 1686};
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(redis_server_command(&server, "GETBIT seen %d", bits[i]), "1");
    assert_string_equal(redis_server_command(&server, "BITCOUNT seen"), "7");
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    assert_int_equal(tamis_filter_info_get(filter, &info, &err), TAMIS_OK);
    assert_true(info.ones == 7 && info.cardinality > 0.99 && info.cardinality < 1.01);

    assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_OK);
    assert_string_equal(redis_server_command(&server, "EXISTS seen"), "0");
    assert_int_equal(add(filter, "foo"), TAMIS_ABSENT); /* its config stays */
    tamis_filter_free(filter);

    /* Parameters that agree with the config are accepted, others refused. */
    tamis_filter_free(opened("seen?layout=redisson&expect=1000&fpr=1%25&bits=9585&probes=7", true));
    refused("seen?layout=redisson&expect=1001&fpr=1%25", true, TAMIS_E_MISMATCH,
            "has expectedInsertions=1000, but 1001 is requested");
    refused("seen?layout=redisson&fpr=0.02", true, TAMIS_E_MISMATCH,
            "has falseProbability=0.01, but 0.02 is requested");
    refused("seen?layout=redisson&bits=9600", true, TAMIS_E_MISMATCH, "has size=9585, but 9600");
    refused("seen?layout=redisson&probes=6", true, TAMIS_E_MISMATCH, "has hashIterations=7, but 6");
    refused("seen?layout=redisson&seed=6", true, TAMIS_E_INVALID, "parameter 'seed' is not known");
}

static void a_filter_is_made_as_redisson_would(void **state) {
    (void)state;
    if (!server.pid)
        skip();
    refused("none?layout=redisson&expect=1000&fpr=0.01", false, TAMIS_E_NOT_FOUND, "check the name");
    refused("none?layout=redisson&expect=1000", true, TAMIS_E_NOT_FOUND, "give expect=N and fpr=RATE");
    refused("none?layout=redisson&expect=1000000000&fpr=0.01", true, TAMIS_E_RANGE, "choose a larger rate");
    refused("none?layout=redisson&expect=1&fpr=0.9", true, TAMIS_E_RANGE, "0 bits");
    assert_string_equal(redis_server_command(&server, "EXISTS none {none}:config"), "0");

    tamis_filter_free(opened("made?layout=redisson&expect=100&fpr=0.03", true));
    /* RedissonBloomFilterTest.testConfig */
    assert_string_equal(redis_server_command(&server, "HGET {made}:config size"), "729");
    assert_string_equal(redis_server_command(&server, "HGET {made}:config hashIterations"), "5");
    assert_string_equal(redis_server_command(&server, "HGET {made}:config expectedInsertions"), "100");
    assert_string_equal(redis_server_command(&server, "HGET {made}:config falseProbability"), "0.03");
    assert_string_equal(redis_server_command(&server, "HLEN {made}:config"), "4");
    assert_string_equal(redis_server_command(&server, "EXISTS made"), "0");

    /* A name with its own hash tag. */
    tamis_filter *filter = opened("a%7Bb%7Dc?layout=redisson&expect=5&fpr=1e-6", true);
    assert_string_equal(redis_server_command(&server, "HGET a{b}c:config falseProbability"), "1e-06");
    add(filter, "key");
    assert_string_equal(redis_server_command(&server, "EXISTS a{b}c"), "1");
    tamis_filter_free(filter);
}

static void both_keys_expire(void **state) {
    (void)state;
    if (!server.pid)
        skip();
    tamis_filter *filter = opened("late?layout=redisson&expect=10&fpr=0.1&ttl=1h&renew=create", true);
    assert_string_equal(redis_server_command(&server, "EXISTS late {late}:config"), "2");
    redis_server_command(&server, "PEXPIRE late 1000000");
    redis_server_command(&server, "PEXPIRE {late}:config 1000000");
    add(filter, "key");
    assert_true(atoi(redis_server_command(&server, "PTTL late")) <= 1000000 &&
                atoi(redis_server_command(&server, "PTTL late")) > 0);
    assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_OK);
    assert_string_equal(redis_server_command(&server, "BITCOUNT late"), "0");
    assert_true(atoi(redis_server_command(&server, "PTTL late")) <= 1000000 &&
                atoi(redis_server_command(&server, "PTTL late")) > 0);
    tamis_filter_free(filter);
    filter = opened("late?layout=redisson&ttl=1h", true);
    add(filter, "key");
    assert_true(atoi(redis_server_command(&server, "PTTL late")) > 1000000 &&
                atoi(redis_server_command(&server, "PTTL {late}:config")) > 1000000);
    tamis_filter_free(filter);
}

static void a_config_that_changes_is_noticed(void **state) {
    (void)state;
    if (!server.pid)
        skip();
    tamis_answer answer = TAMIS_UNKNOWN;
    put_config("{open}:config", "9585", "7", "1000", "0.01");
    tamis_filter *filter = opened("open?layout=redisson", false);
    add(filter, "key");
    put_config("{open}:config", "9586", "7", "1000", "0.01");
    assert_said(tamis_filter_contains(filter, "key", 3, &answer, &err), TAMIS_E_MISMATCH,
                "its config was changed while it was open; open it again");
    put_config("{open}:config", "9585", "8", "1000", "0.01");
    assert_said(tamis_filter_add(filter, "other", 5, &answer, &err), TAMIS_E_MISMATCH, "was changed");
    redis_server_command(&server, "DEL {open}:config");
    assert_said(tamis_filter_contains(filter, "key", 3, &answer, &err), TAMIS_E_NOT_FOUND,
                "was deleted, or expired, while it was open");
    assert_int_equal(answer, TAMIS_UNKNOWN);
    put_config("{open}:config", "9585", "7", "1000", "0.01");
    assert_int_equal(tamis_filter_contains(filter, "key", 3, &answer, &err), TAMIS_OK);
    assert_int_equal(answer, TAMIS_PRESENT);
    tamis_filter_free(filter);
}

static void forged_configs_are_refused(void **state) {
    (void)state;
    if (!server.pid)
        skip();
    static const char *const rows[][4] = {
        {"0", "7", "1000", "0.01"},          {"09585", "7", "1000", "0.01"},
        {"4294967295", "7", "1000", "0.01"}, {"99999999999999999999", "7", "1000", "0.01"},
        {"-1", "7", "1000", "0.01"},         {"9585", "0", "1000", "0.01"},
        {"9585", "256", "1000", "0.01"},     {"9585", "7 ", "1000", "0.01"},
        {"9585", "7", "0", "0.01"},          {"9585", "7", "1000", "x"},
        {"9585", "7", "1000", "nan"},        {"9585", "7", "1000", "1.01"},
        {"9585", "7", "1000", "-0.1"},       {"123456789012345678901234567890123456789", "7", "1", "0.1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put_config("{forged}:config", rows[i][0], rows[i][1], rows[i][2], rows[i][3]);
        refused("forged?layout=redisson&expect=1000&fpr=0.01", true, TAMIS_E_DAMAGED,
                "its config is not Redisson's (size '");
    }
    /* Each number is possible, but Redisson never makes them together. */
    static const char *const apart[][4] = {{"77", "7", "1000", "0.01"},   {"77", "1", "1000", "0.01"},
                                           {"9587", "7", "1000", "0.01"}, {"9585", "6", "1000", "0.01"},
                                           {"9585", "7", "1000", "0.02"}, {"9585", "7", "1000", "1"},
                                           {"9585", "7", "999", "0.01"}};
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        put_config("{forged}:config", apart[i][0], apart[i][1], apart[i][2], apart[i][3]);
        refused("forged?layout=redisson", true, TAMIS_E_DAMAGED, "contradicts itself: expectedInsertions ");
    }
    put_config("{forged}:config", "77", "1", "1000", "0.01");
    refused("forged?layout=redisson", true, TAMIS_E_DAMAGED,
            "come to size 9585 and hashIterations 7, and it says 77 and 1; ");
    put_config("{forged}:config", "9584", "7", "1000", "0.01"); /* the logarithm of another library */
    tamis_filter_free(opened("forged?layout=redisson", false));
    put_config("{forged}:config", "9585", "7", "1000", "0.01");
    put_config("{forged}:config", "9585", "7", "1000", "0.01");
    redis_server_command(&server, "HDEL {forged}:config hashIterations");
    refused("forged?layout=redisson", true, TAMIS_E_DAMAGED, "hashIterations ''");
    put_config("{forged}:config", "9585", "7", "1000", "0.01");
    redis_server_command(&server, "HDEL {forged}:config falseProbability");
    refused("forged?layout=redisson", true, TAMIS_E_DAMAGED, "falseProbability ''");
    redis_server_command(&server, "SET {forged}:config x");
    refused("forged?layout=redisson&expect=1000&fpr=0.01", true, TAMIS_E_MISMATCH, "WRONGTYPE");
    assert_string_equal(redis_server_command(&server, "GET {forged}:config"), "x");
}

/* The config was replaced, in whatever way. */
static void a_bitmap_that_is_longer_is_refused(void **state) {
    (void)state;
    if (!server.pid)
        skip();
    tamis_answer answer = TAMIS_UNKNOWN;
    put_config("{long}:config", "9585", "7", "1000", "0.01");
    redis_server_command(&server, "SETBIT long 9591 1"); /* the last of its 1199 bytes */
    tamis_filter *filter = opened("long?layout=redisson", false);
    assert_int_equal(add(filter, "key"), TAMIS_ABSENT);
    tamis_filter_free(filter);
    redis_server_command(&server, "SETBIT long 9592 1");
    filter = opened("long?layout=redisson", false);
    for (int i = 0; i < 2; i++) {
        assert_said(tamis_filter_contains(filter, "key", 3, &answer, &err), TAMIS_E_MISMATCH,
                    "Redis key long has 1200 bytes, and 9585 bits take 1199; give the parameters");
        assert_said(tamis_filter_add(filter, "other", 5, &answer, &err), TAMIS_E_MISMATCH, "has 1200 bytes");
    }
    assert_string_equal(redis_server_command(&server, "BITCOUNT long"), "9");
    tamis_filter_free(filter);
}

/* ---- several clients make it at once ---- */

enum { MAKERS = 8 };

typedef struct maker {
    pthread_t thread;
    pthread_barrier_t *start;
    char uri[1024];
    tamis_status status;
} maker;

static void *make_one(void *context) {
    maker *self = context;
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    options.create = true;
    pthread_barrier_wait(self->start);
    self->status = tamis_redis_filter_open(&filter, NULL, self->uri, &options, NULL);
    tamis_filter_free(filter);
    return NULL;
}

static void one_of_many_makes_it(void **state) {
    (void)state;
    if (!server.pid)
        skip();
    static maker makers[MAKERS];
    for (int round = 0; round < 20; round++) {
        pthread_barrier_t start;
        int winner = -1, count = 0;
        redis_server_command(&server, "DEL {race}:config");
        pthread_barrier_init(&start, NULL, MAKERS);
        for (int i = 0; i < MAKERS; i++) {
            char name[80];
            snprintf(name, sizeof name, "race?layout=redisson&expect=%d&fpr=0.01", 1000 + i);
            snprintf(makers[i].uri, sizeof makers[i].uri, "%s", server_uri(name));
            makers[i].start = &start;
            assert_int_equal(pthread_create(&makers[i].thread, NULL, make_one, &makers[i]), 0);
        }
        for (int i = 0; i < MAKERS; i++) {
            pthread_join(makers[i].thread, NULL);
            assert_true(makers[i].status == TAMIS_OK || makers[i].status == TAMIS_E_MISMATCH);
            if (makers[i].status == TAMIS_OK) {
                winner = i;
                count++;
            }
        }
        pthread_barrier_destroy(&start);
        assert_int_equal(count, 1);
        assert_int_equal(atoi(redis_server_command(&server, "HGET {race}:config expectedInsertions")),
                         1000 + winner);
        assert_string_equal(redis_server_command(&server, "HLEN {race}:config"), "4");
    }
}

static int start(void **state) {
    (void)state;
    scratch_make();
    if (redis_server_installed())
        redis_server_start(&server, NULL);
    return 0;
}

static int stop(void **state) {
    (void)state;
    redis_server_stop(&server);
    scratch_remove();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_of_redissons),      cmocka_unit_test(a_filter_is_made_as_redisson_would),
        cmocka_unit_test(both_keys_expire),           cmocka_unit_test(a_config_that_changes_is_noticed),
        cmocka_unit_test(forged_configs_are_refused), cmocka_unit_test(a_bitmap_that_is_longer_is_refused),
        cmocka_unit_test(one_of_many_makes_it),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
