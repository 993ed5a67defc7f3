/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/*
 * A master with a real replica. With replicas=N, a batch of adds is answered only when N replicas have it, so
 * that answered keys survive the loss of the master. Also tests the error NOREPLICAS of the server. A lagging
 * replica is one that is stopped (SIGSTOP).
 * ctest: timeout=120
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <tamis/tamis.h>

#include "support/proxy.h"
#include "support/redis_filters.h"

#define JAVA "f?layout=java&expect=100000&fpr=0.0001"

enum { FEW = 20, BATCH = 500 };

static redis_server replica;
static tamis_answer answers[BATCH];

static void wait_until_online(void) {
    while (!strstr(redis_server_command(&server, "INFO replication"), "state=online") ||
           !strstr(redis_server_command(&replica, "INFO replication"), "master_link_status:up"))
        pause_ms(20);
}

static int set_up(void **state) {
    static char port[8];
    static const char *const options[] = {"--replicaof", "127.0.0.1", port, NULL};
    if (redis_filters_set_up(state) != 0)
        return -1;
    if (!server.pid)
        return 0;
    redis_server_command(&server, "CONFIG SET repl-diskless-sync-delay 0");
    snprintf(port, sizeof port, "%d", server.port);
    redis_server_start(&replica, options);
    wait_until_online();
    return 0;
}

static int tear_down(void **state) {
    redis_server_stop(&replica);
    return redis_filters_tear_down(state);
}

static void lag(bool lags) {
    assert_int_equal(kill(replica.pid, lags ? SIGSTOP : SIGCONT), 0);
}

static tamis_filter *open_there(int port, const char *more) {
    char uri[300];
    tamis_filter *filter;
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    options.create = true;
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d/%s", port, more);
    OK(tamis_redis_filter_open(&filter, NULL, uri, &options, &err));
    return filter;
}

static void assert_answers(size_t count, tamis_answer expected) {
    for (size_t i = 0; i < count; i++)
        assert_int_equal(answers[i], expected);
}

/* ---- replicas= ---- */

/* Opens with patience: a new replica takes about a second to report its offset. */
static tamis_filter *open_patient(const char *name, const char *patience) {
    char uri[300];
    snprintf(uri, sizeof uri, "%s&replicas=1&patience=%s", name, patience);
    return open_there(server.port, uri);
}

static void lags_with(const char *name) {
    size_t done = 77;
    tamis_filter *filter = open_patient(name, "60s");
    OK(tamis_filter_add_many(filter, keys, FEW, answers, NULL, &err));
    assert_answers(FEW, TAMIS_ABSENT);
    tamis_filter_free(filter);
    filter = open_patient(name, "300ms");
    lag(true);
    FAILS(tamis_filter_add_many(filter, keys + FEW, FEW, answers, &done, &err), TAMIS_E_TIMEOUT,
          "0 of 1 replicas");
    assert_int_equal(done, 0);
    OK(tamis_filter_contains_many(filter, keys, 2 * FEW, answers, NULL,
                                  &err)); /* lookups do not wait for replicas */
    assert_answers(2 * FEW, TAMIS_PRESENT);
    lag(false);
    tamis_status status;
    do /* on a busy machine the replica may take longer */
        status = tamis_filter_add_many(filter, keys, 2 * FEW, answers, NULL, &err);
    while (status == TAMIS_E_TIMEOUT);
    OK(status);
    assert_answers(FEW, TAMIS_PRESENT);
    for (size_t i = FEW; i < 2 * FEW; i++)
        assert_int_equal(answers[i], TAMIS_UNKNOWN); /* these keys were never answered */
    tamis_filter_free(filter);
}

static void reg_22_adds_are_not_answered_before_replicas_have_them(void **state) {
    (void)state;
    begin_test();
    lags_with(JAVA);
    lags_with("t?expect=100000&partition=65536");
    lag(true);
    tamis_filter *filter = open_there(server.port, JAVA); /* without replicas= adds do not wait */
    OK(tamis_filter_add_many(filter, keys + 2 * FEW, FEW, answers, NULL, &err));
    assert_answers(FEW, TAMIS_ABSENT);
    tamis_filter_free(filter);
    lag(false);
    filter = open_there(server.port, JAVA "&replicas=2&patience=300ms");
    FAILS(tamis_filter_add_many(filter, keys, FEW, answers, NULL, &err), TAMIS_E_TIMEOUT, "1 of 2 replicas");
    tamis_filter_free(filter);
}

/* The master is lost, with all writes that the replica does not have yet. No answered key is among these. */
static void reg_22_answered_keys_survive_the_master(void **state) {
    const size_t added = 10 * BATCH;
    (void)state;
    begin_test();
    tamis_filter *filter = open_patient(JAVA, "60s");
    for (size_t i = 0; i < added; i += BATCH)
        OK(tamis_filter_add_many(filter, keys + i, BATCH, answers, NULL, &err));
    tamis_filter_free(filter);
    filter = open_patient(JAVA, "300ms");
    lag(true);
    FAILS(tamis_filter_add_many(filter, keys + added, BATCH, answers, NULL, &err), TAMIS_E_TIMEOUT,
          "replicas");
    tamis_filter_free(filter);
    redis_server_kill(&server);
    lag(false);
    redis_server_command(&replica, "REPLICAOF NO ONE");
    filter = open_there(replica.port, JAVA);
    for (size_t i = 0; i < added; i += BATCH) {
        OK(tamis_filter_contains_many(filter, keys + i, BATCH, answers, NULL, &err));
        assert_answers(BATCH, TAMIS_PRESENT);
    }
    tamis_filter_free(filter);
}

/* If the connection ends between the adds and the confirmation of the replicas, the result is unknown and
 * all keys are added again. */
static void reg_22_a_connection_may_end_before_replicas_have_answered(void **state) {
    bool reached = true;
    (void)state;
    begin_test();
    proxy *between = proxy_start(server.socket);
    tamis_filter *filter =
        open_there(proxy_port(between), JAVA "&replicas=1&timeout=20s&retry_interval=1ms&patience=60s");
    size_t from = 0;
    for (int way = 0; way < 2; way++, reached = true)
        for (uint64_t position = 0; reached && from + FEW < NUMBERS;
             position += test_scale(7, 37, 37), from += FEW) {
            proxy_arm(between, (proxy_way)way, PROXY_CUT, position);
            OK(tamis_filter_add_many(filter, keys + from, FEW, answers, NULL, &err));
            reached = proxy_harmed(between) > 0;
            for (size_t i = 0; i < FEW; i++)
                assert_true(answers[i] == TAMIS_ABSENT || (reached && answers[i] == TAMIS_UNKNOWN));
        }
    proxy_disarm(between);
    tamis_filter_free(filter);
    proxy_stop(between);
}

/* A push reads its plan back and waits until the replicas have it. */
static void reg_22_a_push_waits_for_replicas(void **state) {
    char uri[200];
    (void)state;
    begin_test();
    tamis_filter *filter = make_filter(1000, 0, FEW);
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d/p?replicas=1&patience=60s", server.port);
    OK(tamis_redis_push(filter, NULL, uri, NULL, &err));
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d/p?replicas=1&patience=2s", server.port);
    lag(true);
    FAILS(tamis_redis_push(filter, NULL, uri, NULL, &err), TAMIS_E_TIMEOUT, "only 0 of 1 replicas");
    lag(false);
    assert_non_null(strstr(err.text, "it is unknown whether the filter was replaced by generation"));
    tamis_filter_free(filter);
}

static void reg_22_replicas_are_checked(void **state) {
    tamis_redis *there;
    (void)state;
    begin_test();
    FAILS(tamis_redis_open(&there, "redis://127.0.0.1?replicas=0", NULL, &err), TAMIS_E_INVALID, "from 1 to");
    FAILS(tamis_redis_open(&there, "codis+zk://127.0.0.1:1/product?replicas=1", NULL, &err),
          TAMIS_E_UNSUPPORTED, "needs WAIT");
    redis_server_command(&server, "ACL SETUSER few on >pw ~* +@all -wait");
    char uri[200];
    snprintf(uri, sizeof uri, "redis://few:pw@127.0.0.1:%d/" JAVA "&replicas=1", server.port);
    tamis_filter *filter;
    OK(tamis_redis_filter_open(&filter, NULL, uri, NULL, &err));
    FAILS(tamis_filter_add_many(filter, keys, FEW, answers, NULL, &err), TAMIS_E_REFUSED, "+wait");
    tamis_filter_free(filter);
}

/* ---- the server's own rule ---- */

static void reg_22_no_replicas_has_its_own_advice(void **state) {
    (void)state;
    begin_test();
    tamis_filter *filter = open_there(server.port, JAVA "&patience=100ms");
    redis_server_command(&server, "CONFIG SET min-replicas-to-write 3");
    FAILS(tamis_filter_add_many(filter, keys, FEW, answers, NULL, &err), TAMIS_E_REFUSED,
          "min-replicas-to-write");
    redis_server_command(&server, "CONFIG SET min-replicas-to-write 0");
    tamis_filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reg_22_adds_are_not_answered_before_replicas_have_them),
        cmocka_unit_test(reg_22_a_connection_may_end_before_replicas_have_answered),
        cmocka_unit_test(reg_22_a_push_waits_for_replicas),
        cmocka_unit_test(reg_22_replicas_are_checked),
        cmocka_unit_test(reg_22_no_replicas_has_its_own_advice),
        cmocka_unit_test(reg_22_answered_keys_survive_the_master), /* last: it kills the master */
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
