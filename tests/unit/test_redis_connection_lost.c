/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/*
 * A batch through a proxy that does harm at every byte of the requests and replies. Every answered key must
 * be in the filter. Of the answers to a key exactly one is TAMIS_ABSENT, or none if one is TAMIS_UNKNOWN.
 */
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
#include "support/proxy.h"
#include "support/redis_calls.h"
#include "support/redis_server.h"

enum { KEYS = 4 };

/* Keys of a batch: the third repeats the first. */
static const int same_as[KEYS] = {0, 1, 0, 3};

static const char *const layouts[] = {"n?expect=1000000&fpr=1e-6&partition=262144",
                                      "n?layout=java&expect=1000000&fpr=0.01"};

static redis_server server;
static proxy *between;
static tamis_error err;
static size_t descriptors;
static uint64_t next_key; /* every batch has new keys */

static int set_up(void **state) {
    (void)state;
    descriptors = fault_open_descriptors();
    if (!redis_server_installed())
        return 0;
    redis_server_start(&server, NULL);
    between = proxy_start(server.socket);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    proxy_stop(between);
    redis_server_stop(&server);
    return fault_open_descriptors() == descriptors ? 0 : -1;
}

static void need_server(void) {
    if (!server.pid)
        skip();
    proxy_disarm(between);
    redis_server_command(&server, "FLUSHALL");
}

/* True for errors of a busy machine, where the server misses the short time-outs of the test: then the
 * call is repeated. */
static bool is_passing(tamis_status status) {
    if (status == TAMIS_E_TIMEOUT || status == TAMIS_E_IO)
        return true;
    OK(status);
    return false;
}

static bool unconfirmed(const tamis_answer *answers) {
    for (int i = 0; i < KEYS; i++)
        if (answers[i] == TAMIS_UNKNOWN)
            return true;
    return false;
}

static tamis_filter *open_at(int port, const char *rest, const char *more) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    char uri[400];
    options.create = true;
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d/%s&%s", port, rest, more);
    while (is_passing(tamis_redis_filter_open(&filter, NULL, uri, &options, &err)))
        ;
    return filter;
}

/* Two handles of a filter: through the proxy, and directly. */
typedef struct filter_pair {
    tamis_filter *harmed, *direct;
} filter_pair;

static filter_pair open_both(const char *layout, const char *more) {
    filter_pair made = {NULL, open_at(server.port, layout, "timeout=20s")};
    made.harmed = open_at(proxy_port(between), layout, more);
    return made;
}

static void close_both(filter_pair *made) {
    proxy_disarm(between);
    tamis_filter_free(made->harmed);
    tamis_filter_free(made->direct);
}

static void make_keys(tamis_key keys[KEYS], uint64_t values[KEYS]) {
    for (int i = 0; i < KEYS; i++) {
        values[i] = next_key + (uint64_t)same_as[i];
        keys[i] = (tamis_key){&values[i], sizeof values[i]};
    }
    next_key += KEYS;
}

static void check_answers(const tamis_answer answers[KEYS], const char *where) {
    for (int i = 0; i < KEYS; i++) {
        int absent = 0, unknown = 0;
        for (int j = 0; j < KEYS; j++) {
            absent += same_as[j] == same_as[i] && answers[j] == TAMIS_ABSENT;
            unknown += same_as[j] == same_as[i] && answers[j] == TAMIS_UNKNOWN;
        }
        if (absent > 1 || (absent == 0 && unknown == 0))
            fail_msg("%s: key %d is fresh %d times and unknown %d times", where, i, absent, unknown);
    }
}

static void check_in(const tamis_filter *filter, const tamis_key keys[KEYS], size_t count,
                     const char *where) {
    tamis_answer answers[KEYS];
    while (is_passing(tamis_filter_contains_many(filter, keys, count, answers, NULL, &err)))
        ;
    for (size_t i = 0; i < count; i++)
        if (answers[i] != TAMIS_PRESENT)
            fail_msg("%s: key %zu was answered, and is not there", where, i);
}

static uint64_t byte_step(void) {
    return test_scale_torture(1, 3, 13, 7);
}

/* The connection ends at each byte. The call is repeated and gives the right result. */
static void cut_everywhere(const char *layout, proxy_way way, proxy_harm harm, uint64_t every) {
    filter_pair ends = open_both(layout, "retry_interval=1ms&patience=60s&connect_wait=60s");
    bool reached = true;
    for (uint64_t position = 0; reached; position += every) {
        tamis_key keys[KEYS];
        uint64_t values[KEYS];
        tamis_answer answers[KEYS];
        char where[100];
        snprintf(where, sizeof where, "%.8s, way %d, harm %d, byte %" PRIu64, layout, way, harm, position);
        make_keys(keys, values);
        proxy_arm(between, way, harm, position);
        OK(tamis_filter_add_many(ends.harmed, keys, KEYS, answers, NULL, &err));
        reached = proxy_harmed(between) > 0;
        check_answers(answers, where);
        check_in(ends.direct, keys, KEYS, where);
        proxy_arm(between, way, harm, position);
        check_in(ends.harmed, keys, KEYS, where);
        make_keys(keys, values);
        proxy_arm(between, way, harm, position);
        OK(tamis_filter_contains_many(ends.harmed, keys, KEYS, answers, NULL, &err));
        for (int i = 0; i < KEYS; i++)
            assert_int_equal(answers[i], TAMIS_ABSENT);
    }
    close_both(&ends);
}

static void a_connection_may_close_at_every_byte(void **state) {
    (void)state;
    need_server();
    for (int layout = 0; layout < 2; layout++)
        for (int way = 0; way < 2; way++) {
            cut_everywhere(layouts[layout], (proxy_way)way, PROXY_CUT, byte_step());
            cut_everywhere(layouts[layout], (proxy_way)way, PROXY_RESET, 5 * byte_step());
        }
}

/* If a server falls silent in the middle, the client opens another connection. */
static void a_connection_may_fall_silent(void **state) {
    (void)state;
    need_server();
    for (int layout = 0; layout < 2; layout++) {
        filter_pair ends =
            open_both(layouts[layout], "read_timeout=10ms&retry_interval=1ms&patience=60s&connect_wait=60s");
        for (int way = 0; way < 2; way++)
            for (uint64_t position = 0; position < 300; position += 23 * byte_step()) {
                tamis_key keys[KEYS];
                uint64_t values[KEYS];
                tamis_answer answers[KEYS];
                make_keys(keys, values);
                proxy_arm(between, (proxy_way)way, PROXY_HOLD, position);
                OK(tamis_filter_add_many(ends.harmed, keys, KEYS, answers, NULL, &err));
                check_answers(answers, "silent");
                check_in(ends.direct, keys, KEYS, "silent");
                proxy_disarm(between);
            }
        close_both(&ends);
    }
}

/* A server that sends single bytes and never a whole reply is not waited for forever. */
static void a_connection_may_trickle(void **state) {
    (void)state;
    need_server();
    filter_pair ends = open_both(layouts[0], "patience=100ms");
    tamis_key keys[KEYS];
    uint64_t values[KEYS];
    tamis_answer answers[KEYS];
    size_t done = 77;
    make_keys(keys, values);
    proxy_arm(between, PROXY_REPLIES, PROXY_TRICKLE, 0);
    assert_int_equal(tamis_filter_contains_many(ends.harmed, keys, KEYS, answers, &done, &err),
                     TAMIS_E_TIMEOUT);
    assert_int_equal(done, 0);
    assert_non_null(strstr(err.text, "patience="));
    close_both(&ends);
}

/* A flipped bit cannot always be noticed. But nothing hangs or crashes, and the next call is right. */
static void a_bit_may_be_turned_over(void **state) {
    (void)state;
    need_server();
    for (int layout = 0; layout < 2; layout++) {
        filter_pair ends = open_both(layouts[layout], "read_timeout=10ms&retry_interval=1ms&patience=50ms");
        for (int way = 0; way < 2; way++) {
            bool reached = true;
            for (uint64_t position = 0; reached; position += 3 * byte_step()) {
                tamis_key keys[KEYS];
                uint64_t values[KEYS];
                tamis_answer answers[KEYS];
                make_keys(keys, values);
                proxy_arm(between, (proxy_way)way, PROXY_GARBLE, position);
                tamis_status status = tamis_filter_add_many(ends.harmed, keys, KEYS, answers, NULL, &err);
                reached = proxy_harmed(between) > 0;
                proxy_disarm(between);
                if (status != TAMIS_OK && !strstr(err.text, "; "))
                    fail_msg("%s", err.text);
                make_keys(keys, values);
                OK(tamis_filter_add_many(ends.direct, keys, KEYS, answers, NULL, &err));
                check_in(ends.harmed, keys, KEYS, "garbled before");
            }
        }
        close_both(&ends);
    }
}

/* A repeated call must not answer TAMIS_PRESENT for a key that only its failed attempt added. The server
 * falls silent at each byte of the requests or replies, for longer than the client waits. */
static void an_add_that_failed_may_be_repeated(void **state) {
    (void)state;
    need_server();
    static const char *const rests[] = {"f?expect=1000000&fpr=1e-6&partition=262144",
                                        "f?layout=java&expect=1000000&fpr=0.01"};
    for (int layout = 0; layout < 2; layout++) {
        int repeated = 0, unknown = 0;
        filter_pair ends = open_both(rests[layout], "patience=40ms");
        for (int way = 0; way < 2; way++)
            for (uint64_t position = 0; position < 400; position += 3 * byte_step()) {
                tamis_key keys[KEYS];
                uint64_t values[KEYS];
                tamis_answer answers[KEYS];
                size_t done = 0, more = 0;
                make_keys(keys, values);
                proxy_arm(between, (proxy_way)way, PROXY_HOLD, position);
                while (done < KEYS) {
                    if (tamis_filter_add_many(ends.harmed, keys + done, KEYS - done, answers + done, &more,
                                              &err) != TAMIS_OK)
                        repeated++;
                    done += more;
                    proxy_disarm(between);
                }
                check_answers(answers, "repeated");
                for (int i = 0; i < KEYS; i++)
                    unknown += answers[i] == TAMIS_UNKNOWN;
                check_in(ends.direct, keys, KEYS, "repeated");
                /* On a busy machine a reply may take longer than the patience. The adds are unconfirmed
                 * again then. */
                for (int i = 0; i == 0 || (i < 100 && unconfirmed(answers)); i++)
                    while (is_passing(tamis_filter_add_many(ends.harmed, keys, KEYS, answers, NULL, &err)))
                        ;
                for (int i = 0; i < KEYS; i++) /* answered keys are like any others */
                    assert_int_equal(answers[i], TAMIS_PRESENT);
            }
        assert_true(repeated > 0 && unknown > 0);
        close_both(&ends);
    }
}

/* The first reply of a batch is from a partition that is gone. Then the connection fails, before the
 * footers are checked. No key may be answered, least of all with TAMIS_ABSENT. */
static void half_a_batch_of_a_damaged_filter_says_nothing(void **state) {
    (void)state;
    need_server();
    filter_pair ends = open_both(layouts[0], "retry_interval=1ms&patience=1ms");
    tamis_key keys[KEYS];
    uint64_t values[KEYS];
    tamis_answer answers[KEYS];
    make_keys(keys, values);
    OK(tamis_filter_add_many(ends.direct, keys, KEYS, answers, NULL, &err));
    char names[20000], *rest = NULL;
    snprintf(names, sizeof names, "%s", redis_server_command(&server, "KEYS *:bits"));
    for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        redis_server_number(&server, "DEL %s", name);
    bool reached = true;
    for (uint64_t position = 0; reached; position++) {
        size_t done = 0;
        proxy_arm(between, PROXY_REPLIES, PROXY_CUT, position);
        tamis_status status = tamis_filter_contains_many(ends.harmed, keys, KEYS, answers, &done, &err);
        reached = proxy_harmed(between) > 0;
        if (status != TAMIS_E_DAMAGED && status != TAMIS_E_IO && status != TAMIS_E_TIMEOUT)
            fail_msg("byte %" PRIu64 ": %s", position, err.text);
        assert_int_equal(done, 0);
    }
    close_both(&ends);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_may_close_at_every_byte),
        cmocka_unit_test(a_connection_may_fall_silent),
        cmocka_unit_test(a_connection_may_trickle),
        cmocka_unit_test(a_bit_may_be_turned_over),
        cmocka_unit_test(an_add_that_failed_may_be_repeated),
        cmocka_unit_test(half_a_batch_of_a_damaged_filter_says_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
