/* SPDX-License-Identifier: BSD-2-Clause */

/* TLS with several servers: shards, a cluster, and the master of a sentinel. All servers also have a port
 * without TLS, which must get no connection.
 * ctest: long
 * ctest: timeout=120 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/redis.h>
#include <tamis/tamis.h>

#include "support/redis_sentinel.h"
#include "support/redis_server.h"
#include "support/redis_tls.h"
#include "support/scratch.h"

enum { SERVERS = 3, KEYS = 5000 };

static redis_server servers[SERVERS];
static int ports[SERVERS]; /* ports with TLS */
static const char **options[SERVERS];
static tamis_error err;

static int set_up(void **state) {
    (void)state;
    scratch_make();
    return !redis_tls_installed() || redis_tls_start() ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    redis_tls_stop();
    scratch_remove();
    return 0;
}

static void start(int count, const char *const *more) {
    if (!redis_tls_installed())
        skip();
    for (int i = 0; i < count; i++) {
        ports[i] = redis_tls_port();
        options[i] = redis_tls_options(ports[i], more);
        redis_server_start(&servers[i], options[i]);
    }
}

static int stop(void **state) {
    (void)state;
    for (int i = 0; i < SERVERS; i++) {
        redis_server_stop(&servers[i]);
        free(options[i]);
        options[i] = NULL;
    }
    return 0;
}

/* Returns the number of connections of the server at a port. */
static int count_at(const redis_server *server, int port) {
    char pattern[40];
    int count = 0;
    snprintf(pattern, sizeof pattern, "laddr=127.0.0.1:%d ", port);
    for (const char *line = redis_server_command(server, "CLIENT LIST"); (line = strstr(line, pattern));
         line++)
        count++;
    return count;
}

static tamis_status try_open(tamis_redis **redis, const char *uri, const char *more) {
    char text[600];
    snprintf(text, sizeof text, "%s?cacert=%s&timeout=20s&read_timeout=20s&retry_interval=1ms%s", uri,
             redis_tls_file("ca.pem"), more);
    return tamis_redis_open(redis, text, NULL, &err);
}

/* Adds and looks up in a filter of layout tamis with several partitions, and checks that every server is
 * used with TLS. */
static void check(const char *uri, int count) {
    static uint64_t values[KEYS];
    static tamis_key keys[KEYS];
    static tamis_answer answers[KEYS];
    tamis_redis_filter_options making = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_redis *redis;
    tamis_filter *filter;
    making.create = true;
    if (try_open(&redis, uri, "") != TAMIS_OK ||
        tamis_redis_filter_open(&filter, redis, "n?expect=100000&fpr=0.001&partition=8192", &making, &err) !=
            TAMIS_OK)
        fail_msg("%s", err.text);
    for (uint64_t i = 0; i < KEYS; i++) {
        values[i] = i;
        keys[i] = (tamis_key){&values[i], sizeof values[i]};
    }
    if (tamis_filter_add_many(filter, keys, KEYS, answers, NULL, &err) != TAMIS_OK ||
        tamis_filter_contains_many(filter, keys, KEYS, answers, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
    for (int i = 0; i < count; i++) {
        assert_true(count_at(&servers[i], ports[i]) > 0);
        assert_int_equal(count_at(&servers[i], servers[i].port), 0);
        assert_true(redis_server_number(&servers[i], "DBSIZE") > 0);
    }
    tamis_filter_free(filter);
    tamis_redis_close(redis);
}

static void refuses(const char *uri, const char *more, const char *said) {
    tamis_redis *redis;
    assert_int_equal(try_open(&redis, uri, more), TAMIS_E_REFUSED);
    if (!strstr(err.text, said))
        fail_msg("%s", err.text);
}

static void shards_have_tls(void **state) {
    char uri[200];
    tamis_redis *redis;
    (void)state;
    start(2, NULL);
    snprintf(uri, sizeof uri, "rediss+shard://127.0.0.1:%d,127.0.0.1:%d/", ports[0], ports[1]);
    check(uri, 2);
    /* Each server needs a certificate for its host, or for the one name given for all. */
    snprintf(uri, sizeof uri, "rediss+shard://127.0.0.1:%d,localhost:%d/", ports[0], ports[1]);
    refuses(uri, "", "hostname mismatch");
    refuses(uri, "&sni=else.test", "hostname mismatch");
    assert_int_equal(try_open(&redis, uri, "&sni=redis.test"), TAMIS_OK);
    tamis_redis_close(redis);
    assert_int_equal(try_open(&redis, uri, "&verify=no"), TAMIS_OK);
    tamis_redis_close(redis);
}

static void a_cluster_has_tls(void **state) {
    static const char *const more[] = {
        "--cluster-enabled", "yes", "--tls-cluster", "yes", "--tls-replication", "yes", NULL};
    char command[600], uri[200];
    (void)state;
    start(SERVERS, more);
    snprintf(command, sizeof command,
             "redis-cli --tls --cacert %s --cluster create --cluster-yes 127.0.0.1:%d 127.0.0.1:%d "
             "127.0.0.1:%d > %s/create 2>&1",
             redis_tls_file("ca.pem"), ports[0], ports[1], ports[2], servers[0].directory);
    assert_int_equal(system(command), 0);
    for (int i = 0; i < SERVERS; i++)
        while (!strstr(redis_server_command(&servers[i], "CLUSTER INFO"), "cluster_state:ok"))
            pause_ms(20);
    snprintf(uri, sizeof uri, "rediss+cluster://127.0.0.1:%d/", ports[1]); /* names the others */
    check(uri, SERVERS);
    refuses(uri, "&sni=else.test", "hostname mismatch");
}

static void a_sentinel_and_its_master_have_tls(void **state) {
    redis_server sentinel;
    char settings[800], uri[200];
    (void)state;
    start(1, NULL);
    const int port = redis_tls_port();
    snprintf(settings, sizeof settings,
             "tls-port %d\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\ntls-auth-clients no\n"
             "tls-replication yes\nsentinel monitor mine 127.0.0.1 %d 1\n",
             port, redis_tls_file("server.pem"), redis_tls_file("server.key"), redis_tls_file("ca.pem"),
             ports[0]);
    redis_sentinel_start(&sentinel, port + 1, &servers[0], settings);
    snprintf(uri, sizeof uri, "rediss+sentinel://127.0.0.1:%d/mine", port);
    check(uri, 1);
    refuses(uri, "&sni=else.test", "hostname mismatch");
    redis_server_kill(&sentinel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(shards_have_tls, stop),
        cmocka_unit_test_teardown(a_cluster_has_tls, stop),
        cmocka_unit_test_teardown(a_sentinel_and_its_master_have_tls, stop),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
