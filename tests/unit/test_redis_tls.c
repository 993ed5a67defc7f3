/* SPDX-License-Identifier: BSD-2-Clause */

/* rediss:// to a real server, with certificates made by openssl(1). */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/redis.h>

#include "support/fault.h"
#include "support/redis_server.h"
#include "support/redis_tls.h"

#define PLAN "layout=java&expect=100000&fpr=0.01"

enum { KEYS = 20000 };

static redis_server server;
static int tls_port;
static tamis_error err;
static size_t descriptors;
static const char *connecting = "20s"; /* time-out of connecting */
static const char **options;

static int set_up(void **state) {
    (void)state;
    descriptors = fault_open_descriptors();
    if (!redis_tls_installed())
        return 0;
    if (!redis_tls_start())
        return -1;
    tls_port = redis_tls_port();
    options = redis_tls_options(tls_port, NULL);
    redis_server_start(&server, options);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    redis_server_stop(&server);
    redis_tls_stop();
    free(options);
    return fault_open_descriptors() == descriptors ? 0 : -1;
}

static void need_server(void) {
    if (!server.pid)
        skip();
    redis_server_command(&server, "FLUSHALL");
}

static tamis_status try_open(tamis_redis **redis, int port, const char *parameters,
                             const tamis_allocator *allocator) {
    char uri[600];
    snprintf(uri, sizeof uri, "rediss://127.0.0.1:%d?timeout=%s&read_timeout=20s&retry_interval=1ms&%s", port,
             connecting, parameters);
    snprintf(err.text, sizeof err.text, "-");
    return tamis_redis_open(redis, uri, allocator, &err);
}

static const char *trusting(const char *more) {
    static char text[300];
    snprintf(text, sizeof text, "cacert=%s%s", redis_tls_file("ca.pem"), more);
    return text;
}

static void refuses(int port, const char *parameters, tamis_status expected, const char *said) {
    tamis_redis *redis = NULL;
    tamis_status status = try_open(&redis, port, parameters, NULL);
    if (status != expected || !strstr(err.text, said) || !strstr(err.text, "; "))
        fail_msg("%s: %s: %s", parameters, tamis_status_name(status), err.text);
    assert_null(redis);
}

static tamis_redis *open_it(const char *parameters) {
    tamis_redis *redis = NULL;
    if (try_open(&redis, tls_port, parameters, NULL) != TAMIS_OK)
        fail_msg("%s", err.text);
    return redis;
}

/* Adds and looks up many keys. */
static tamis_status use(tamis_redis *redis, uint64_t count) {
    static uint64_t values[KEYS];
    static tamis_key keys[KEYS];
    static tamis_answer answers[KEYS];
    tamis_filter *filter = NULL;
    tamis_status status = tamis_redis_filter_open(&filter, redis, "n?" PLAN, NULL, &err);
    if (status != TAMIS_OK)
        return status;
    for (uint64_t i = 0; i < count; i++) {
        values[i] = i;
        keys[i] = (tamis_key){&values[i], sizeof values[i]};
    }
    status = tamis_filter_add_many(filter, keys, count, answers, NULL, &err);
    if (status == TAMIS_OK)
        status = tamis_filter_contains_many(filter, keys, count, answers, NULL, &err);
    for (uint64_t i = 0; i < count && status == TAMIS_OK; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
    tamis_filter_free(filter);
    return status;
}

static long long connections(void) {
    const char *info = redis_server_command(&server, "INFO stats");
    return strtoll(strstr(info, "total_connections_received:") + 27, NULL, 10);
}

static void a_server_that_is_trusted_is_spoken_to(void **state) {
    (void)state;
    need_server();
    tamis_redis *redis = open_it(trusting(""));
    long long before = connections();
    for (int i = 0; i < 3; i++)
        assert_int_equal(use(redis, KEYS), TAMIS_OK);
    assert_int_equal(connections(), before + 1); /* the one of connections(): the client's was reused */
    assert_true(redis_server_number(&server, "BITCOUNT bf:n") > KEYS);
    tamis_redis_close(redis);
    redis = open_it(trusting("&sni=redis.test"));
    assert_int_equal(use(redis, 10), TAMIS_OK);
    tamis_redis_close(redis);
    redis = open_it("verify=no");
    assert_int_equal(use(redis, 10), TAMIS_OK);
    tamis_redis_close(redis);
}

static void an_untrusted_certificate_is_refused(void **state) {
    char other[200];
    (void)state;
    need_server();
    refuses(tls_port, "verify=yes", TAMIS_E_REFUSED, "certificate");
    snprintf(other, sizeof other, "cacert=%s", redis_tls_file("other.pem"));
    refuses(tls_port, other, TAMIS_E_REFUSED, "certificate");
    refuses(tls_port, trusting("&sni=else.test"), TAMIS_E_REFUSED, "hostname mismatch");
    connecting = "20ms"; /* a Redis without TLS waits for the end of a line */
    refuses(server.port, trusting(""), TAMIS_E_IO, "if it has no TLS at this port, write redis://");
    connecting = "20s";
}

/* The opposite: the server gets no TLS and closes. */
static void a_server_without_tls_is_reported(void **state) {
    (void)state;
    need_server();
    tamis_redis *redis = NULL;
    tamis_filter *filter = NULL;
    tamis_answer answer;
    char uri[200];
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?timeout=20s&patience=1s", tls_port);
    tamis_status status = tamis_redis_open(&redis, uri, NULL, &err);
    if (status == TAMIS_OK)
        status = tamis_redis_filter_open(&filter, redis, "n?" PLAN, NULL, &err);
    if (status == TAMIS_OK)
        status = tamis_filter_add(filter, "k", 1, &answer, &err);
    if (status != TAMIS_E_IO || !strstr(err.text, "does this port use TLS? write rediss://"))
        fail_msg("%s: %s", tamis_status_name(status), err.text);
    tamis_filter_free(filter);
    tamis_redis_close(redis);
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?cacert=ca.pem", server.port);
    assert_int_equal(tamis_redis_open(&redis, uri, NULL, &err), TAMIS_E_INVALID);
    assert_non_null(
        strstr(err.text, "parameter cacert is for rediss:// (TLS), and this is not; write rediss://"));
}

static void files_that_are_no_filters_are_named(void **state) {
    char text[300];
    (void)state;
    need_server();
    refuses(tls_port, "cacert=/nowhere.pem", TAMIS_E_IO, "cacert=/nowhere.pem");
    snprintf(text, sizeof text, "cacert=%s", redis_tls_file("log"));
    refuses(tls_port, text, TAMIS_E_IO, "cacert=");
    snprintf(text, sizeof text, "cert=%s", redis_tls_file("client.pem"));
    refuses(tls_port, text, TAMIS_E_INVALID, "give both");
    snprintf(text, sizeof text, "cert=%s&key=%s", redis_tls_file("client.pem"), redis_tls_file("server.key"));
    refuses(tls_port, text, TAMIS_E_IO, "key=");
    snprintf(text, sizeof text, "cert=%s&key=%s", redis_tls_file("client.pem"), redis_tls_file("locked.key"));
    refuses(tls_port, text, TAMIS_E_IO, "passphrase"); /* without a prompt on the terminal */
    refuses(tls_port, "verify=maybe", TAMIS_E_INVALID, "verify");
    char uri[100];
    tamis_redis *redis = NULL;
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?cacert=x", server.port);
    assert_int_equal(tamis_redis_open(&redis, uri, NULL, &err), TAMIS_E_INVALID); /* without TLS */
}

static void a_server_may_require_a_certificate(void **state) {
    char text[400], more[250];
    (void)state;
    need_server();
    redis_server_command(&server, "CONFIG SET tls-auth-clients yes");
    refuses(tls_port, trusting(""), TAMIS_E_REFUSED, "certificate required");
    snprintf(more, sizeof more, "&cert=%s&key=%s", redis_tls_file("client.pem"),
             redis_tls_file("client.key"));
    snprintf(text, sizeof text, "%s", trusting(more));
    tamis_redis *redis = open_it(text);
    assert_int_equal(use(redis, 100), TAMIS_OK);
    tamis_redis_close(redis);
    snprintf(more, sizeof more, "&cert=%s&key=%s", redis_tls_file("other.pem"), redis_tls_file("other.key"));
    snprintf(text, sizeof text, "%s", trusting(more));
    refuses(tls_port, text, TAMIS_E_REFUSED, "TLS: ");
    redis_server_command(&server, "CONFIG SET tls-auth-clients no");
}

static void each_byte_may_come_alone_and_each_call_fail(void **state) {
    static const struct {
        fault_call call;
        int error_number;
        bool onwards;
    } ways[] = {{FAULT_SEND, FAULT_SHORT, true},    {FAULT_RECEIVE, FAULT_SHORT, true},
                {FAULT_SEND, EAGAIN, false},        {FAULT_RECEIVE, EAGAIN, false},
                {FAULT_SEND, EINTR, false},         {FAULT_RECEIVE, EINTR, false},
                {FAULT_RECEIVE, ECONNRESET, false}, {FAULT_SEND, EPIPE, false}};
    (void)state;
    need_server();
    size_t before = fault_open_descriptors();
    fault_install();
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        bool reached = true;
        for (uint64_t n = 1; reached; n++) {
            fault_memory memory = {0};
            tamis_allocator allocator = fault_memory_allocator(&memory);
            tamis_redis *redis = NULL;
            bool mended = ways[w].error_number != ECONNRESET && ways[w].error_number != EPIPE;
            fault_arm(ways[w].call, n, ways[w].error_number, ways[w].onwards);
            tamis_status status = try_open(&redis, tls_port, trusting(""), &allocator);
            bool opened = status == TAMIS_OK;
            if (opened)
                status = use(redis, 10);
            reached = fault_fired() > 0;
            fault_disarm();
            assert_true(reached || n > 1);
            /* A failure while opening is reported at once; later ones are retried. */
            if (status != TAMIS_OK && (mended || opened || status != TAMIS_E_IO))
                fail_msg("%s %" PRIu64 ": %s", fault_call_name(ways[w].call), n, err.text);
            tamis_redis_close(redis);
            assert_int_equal(memory.live_blocks, 0);
            assert_int_equal(fault_open_descriptors(), before);
        }
    }
    fault_remove();
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    need_server();
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        fault_memory memory = {.fail_at = n};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_redis *redis = NULL;
        tamis_status status = try_open(&redis, tls_port, trusting(""), &allocator);
        failed = memory.refused > 0;
        assert_int_equal(status, failed ? TAMIS_E_NOMEM : TAMIS_OK);
        tamis_redis_close(redis);
        assert_int_equal(memory.live_blocks, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_is_trusted_is_spoken_to),
        cmocka_unit_test(an_untrusted_certificate_is_refused),
        cmocka_unit_test(a_server_without_tls_is_reported),
        cmocka_unit_test(files_that_are_no_filters_are_named),
        cmocka_unit_test(a_server_may_require_a_certificate),
        cmocka_unit_test(each_byte_may_come_alone_and_each_call_fail),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
