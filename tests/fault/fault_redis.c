/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Opening a filter in Redis, adding keys and looking them up, with failures. Each system call and each
 * allocation fails once, for every n and in several ways, and also from the nth on for good. A single failure
 * is repaired by a retry; a permanent one ends with a message. Every answered key is in the filter, and no
 * memory or descriptor leaks.
 */
#include <errno.h>
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
#include "support/redis_server.h"

enum { KEYS = 20 };

typedef struct way {
    fault_call call;
    int error_number;
    bool onwards;
    bool mended; /* true if a retry always repairs it */
} way;

static const way ways[] = {
    {FAULT_SOCKET, EMFILE, false, true},
    {FAULT_SOCKET, EMFILE, true, false},
    {FAULT_CONNECT, ECONNREFUSED, false, true},
    {FAULT_CONNECT, ENETUNREACH, true, false},
    {FAULT_CONNECT, EINTR, false, true},
    {FAULT_CONNECTED, ECONNREFUSED, false, true},
    {FAULT_CONNECTED, ETIMEDOUT, true, false},
    {FAULT_SEND, ECONNRESET, false, true},
    {FAULT_SEND, EPIPE, true, false},
    {FAULT_SEND, EINTR, false, true},
    {FAULT_SEND, EAGAIN, false, true},
    {FAULT_SEND, FAULT_SHORT, false, true},
    {FAULT_SEND, FAULT_SHORT, true, true},
    {FAULT_RECEIVE, ECONNRESET, false, true},
    {FAULT_RECEIVE, EIO, true, false},
    {FAULT_RECEIVE, EINTR, false, true},
    {FAULT_RECEIVE, EAGAIN, false, true},
    {FAULT_RECEIVE, FAULT_SHORT, false, true},
    {FAULT_RECEIVE, FAULT_SHORT, true, true},
    {FAULT_POLL, EINTR, false, true},
    {FAULT_POLL, ENOMEM, false, false},
    {FAULT_POLL, ENOMEM, true, false},
    {FAULT_CLOSE, EIO, false, true},
    {FAULT_CLOSE, EINTR, true, true},
};

static const char *const layouts[] = {"layout=tamis&expect=1000&fpr=1e-6&partition=1024",
                                      "layout=java&expect=1000&fpr=1e-6"};

static redis_server server;
static size_t descriptors;
static fault_memory memory;
static unsigned names; /* number of filter names used: each trial has its own */

static int set_up(void **state) {
    (void)state;
    if (redis_server_installed())
        redis_server_start(&server, NULL);
    descriptors = fault_open_descriptors();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    redis_server_stop(&server);
    return 0;
}

static tamis_status open_it(tamis_filter **filter, const char *layout, const char *times, tamis_error *err) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_allocator allocator = fault_memory_allocator(&memory);
    char uri[300];
    options.create = true;
    options.allocator = &allocator;
    snprintf(uri, sizeof uri, "%s/f%u?%s&%s", server.uri, names, layout, times);
    return tamis_redis_filter_open(filter, NULL, uri, &options, err);
}

/* Looks up all keys, without failures. A lock that could not be released would expire in a minute. */
static void check_in(const char *layout, const tamis_key *keys, size_t done) {
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_answer answers[KEYS];
    redis_server_command(&server, "DEL tamis:{f%u}:push", names);
    if (open_it(&filter, layout, "patience=60s", &err) != TAMIS_OK ||
        tamis_filter_contains_many(filter, keys, done, answers, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < done; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
    tamis_filter_free(filter);
}

/* Opens, adds in two calls, of which the second reuses the connection, and looks up. */
static tamis_status run(const char *layout, const char *times, const tamis_key *keys, size_t *in,
                        tamis_error *err) {
    tamis_filter *filter = NULL;
    tamis_answer answers[KEYS];
    size_t done = 0;
    *in = 0;
    tamis_status status = open_it(&filter, layout, times, err);
    if (status != TAMIS_OK) {
        assert_null(filter);
        return status;
    }
    for (int half = 0; half < 2 && status == TAMIS_OK; half++) {
        status = tamis_filter_add_many(filter, keys + *in, KEYS / 2, answers, &done, err);
        *in += done;
        for (size_t i = 0; i < done; i++)
            assert_int_not_equal(answers[i], TAMIS_PRESENT);
    }
    if (status == TAMIS_OK)
        status = tamis_filter_contains_many(filter, keys, KEYS, answers, &done, err);
    for (size_t i = 0; i < KEYS && status == TAMIS_OK; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
    tamis_filter_free(filter);
    return status;
}

static void make_keys(tamis_key keys[KEYS]) {
    static uint64_t values[KEYS];
    for (uint64_t i = 0; i < KEYS; i++) {
        values[i] = i;
        keys[i] = (tamis_key){&values[i], sizeof values[i]};
    }
}

static void check_left(const char *what, uint64_t n, const tamis_error *err, tamis_status status) {
    if (memory.live_blocks != 0 || fault_open_descriptors() != descriptors)
        fail_msg("%s %" PRIu64 ": leaves %zu blocks, %zu descriptors", what, n, memory.live_blocks,
                 fault_open_descriptors() - descriptors);
    if (status != TAMIS_OK && (err->status != status || !strstr(err->text, "; ")))
        fail_msg("%s %" PRIu64 ": %d %d %s", what, n, (int)status, (int)err->status, err->text);
}

static void every_system_call_may_fail(void **state) {
    (void)state;
    tamis_key keys[KEYS];
    if (!server.pid)
        skip();
    make_keys(keys);
    fault_install();
    for (size_t w = 0; w < 2 * sizeof ways / sizeof *ways; w++) {
        const way *now = &ways[w / 2];
        const char *layout = layouts[w % 2];
        bool reached = true;
        for (uint64_t n = 1; reached; n++) {
            tamis_error err = TAMIS_ERROR_INIT;
            size_t in = 0;
            memory = (fault_memory){0};
            names++;
            fault_arm(now->call, n, now->error_number, now->onwards);
            tamis_status status = run(
                layout, now->mended ? "retry_interval=1ms&patience=60s" : "retry_interval=1ms&patience=5ms",
                keys, &in, &err);
            reached = fault_fired() > 0;
            fault_disarm();
            assert_true(reached || n > 1); /* at least one such call is made */
            if (now->mended && status != TAMIS_OK)
                fail_msg("%s %" PRIu64 ": %s", fault_call_name(now->call), n, err.text);
            check_left(fault_call_name(now->call), n, &err, status);
            check_in(layout, keys, in);
            assert_true(n < 1000);
        }
    }
    fault_remove();
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    tamis_key keys[KEYS];
    if (!server.pid)
        skip();
    make_keys(keys);
    for (size_t w = 0; w < 2; w++) {
        bool failed = true;
        size_t refused = 0;
        for (uint64_t n = 1; failed; n++) {
            tamis_error err = TAMIS_ERROR_INIT;
            size_t in = 0;
            memory = (fault_memory){.fail_at = n};
            names++;
            tamis_status status = run(layouts[w], "patience=60s", keys, &in, &err);
            failed = memory.refused > 0;
            /* A failure after the plan was stored, as of releasing the lock, is not reported to the
             * caller. */
            assert_true(status == TAMIS_OK || (failed && status == TAMIS_E_NOMEM));
            refused += status == TAMIS_E_NOMEM;
            check_left("allocation", n, &err, status);
            memory = (fault_memory){0};
            check_in(layouts[w], keys, in);
            assert_true(n < 1000);
        }
        assert_true(refused > 5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_system_call_may_fail),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
