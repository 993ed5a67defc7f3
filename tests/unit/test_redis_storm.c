/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: torture */

/*
 * Many adds by several clients, while connections are cut at random, and the server is killed and started
 * again. No answered key may be missing afterwards. No key is answered TAMIS_ABSENT twice, by whatever
 * clients. A key that was never answered TAMIS_UNKNOWN is answered TAMIS_ABSENT once, except for false
 * positives.
 *
 * ctest: long
 * ctest: timeout=900
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/redis_family.h>

#include "support/fault.h"
#include "support/proxy.h"
#include "support/redis_server.h"

enum { CLIENTS = 2, BATCH = 1000, MEMBERS = 97 };

static const char *const durable[] = {"--appendonly", "yes", NULL};

static redis_server server;
static proxy *between;
static tamis_error err;
static size_t descriptors;

static int set_up(void **state) {
    (void)state;
    descriptors = fault_open_descriptors();
    if (!redis_server_installed())
        return 0;
    redis_server_start(&server, durable);
    between = proxy_start(server.socket);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    proxy_stop(between);
    redis_server_stop(&server);
    return fault_open_descriptors() == descriptors ? 0 : -1;
}

static void must(tamis_status status, const tamis_error *why) {
    if (status != TAMIS_OK)
        fail_msg("%s", why->text);
}

typedef struct client {
    pthread_t thread;
    tamis_filter *filter;       /* NULL: `family` is used */
    tamis_redis_family *family; /* keys are in member `key mod MEMBERS` */
    uint64_t keys, seed;
    uint8_t *answers; /* byte for each key: number of TAMIS_ABSENT; TAMIS_UNKNOWN in the highest bit */
    tamis_status status;
    tamis_error err;
} client;

enum { UNKNOWN_ONCE = 0x80, ABSENT_COUNT = 0x7f };

/* Adds keys, or looks them up. */
static tamis_status batch(const client *self, const uint64_t *values, bool adds, tamis_answer *answers,
                          tamis_error *why) {
    tamis_redis_pair pairs[BATCH];
    tamis_key keys[BATCH];
    char names[BATCH][8];
    for (uint64_t j = 0; j < BATCH; j++) {
        size_t size = (size_t)snprintf(names[j], sizeof names[j], "%u", (unsigned)(values[j] % MEMBERS));
        keys[j] = (tamis_key){&values[j], sizeof values[j]};
        pairs[j] = (tamis_redis_pair){{names[j], size}, keys[j]};
    }
    if (self->family)
        return (adds ? tamis_redis_family_add_many(self->family, pairs, BATCH, answers, NULL, why)
                     : tamis_redis_family_contains_many(self->family, pairs, BATCH, answers, NULL, why));
    return adds ? tamis_filter_add_many(self->filter, keys, BATCH, answers, NULL, why)
                : tamis_filter_contains_many(self->filter, keys, BATCH, answers, NULL, why);
}

/* Adds every key once, in an order of its own: key i is i times a coprime number, plus another number. */
static void *add_all(void *context) {
    client *self = context;
    uint64_t random = self->seed, step = self->keys, from = test_below(&random, self->keys);
    while (step % 2 == 0 || step % 5 == 0)
        step = test_below(&random, self->keys);
    for (uint64_t i = 0; i < self->keys && self->status == TAMIS_OK; i += BATCH) {
        uint64_t values[BATCH];
        tamis_answer answers[BATCH];
        for (uint64_t j = 0; j < BATCH; j++)
            values[j] = ((i + j) * step + from) % self->keys;
        self->status = batch(self, values, true, answers, &self->err);
        for (uint64_t j = 0; j < BATCH && self->status == TAMIS_OK; j++) {
            if (answers[j] == TAMIS_ABSENT)
                self->answers[values[j]]++;
            if (answers[j] == TAMIS_UNKNOWN)
                self->answers[values[j]] |= UNKNOWN_ONCE;
        }
    }
    return NULL;
}

static void check_all(const client *clients, uint64_t count) {
    uint64_t unknown = 0, never = 0;
    for (uint64_t i = 0; i < count; i++) {
        int absent = 0, lost = 0;
        for (int c = 0; c < CLIENTS; c++) {
            absent += clients[c].answers[i] & ABSENT_COUNT;
            lost += (clients[c].answers[i] & UNKNOWN_ONCE) != 0;
        }
        if (absent > 1)
            fail_msg("key %" PRIu64 " was fresh %d times", i, absent);
        unknown += lost > 0;
        never += absent == 0 && lost == 0;
    }
    printf("%" PRIu64 " keys, %" PRIu64 " unknown, %" PRIu64 " false positives\n", count, unknown, never);
    assert_true(never <= 10 + count / 10000); /* the rate is 1e-5 when full */
    for (uint64_t i = 0; i < count; i += BATCH) {
        uint64_t values[BATCH];
        tamis_answer answers[BATCH];
        for (uint64_t j = 0; j < BATCH; j++)
            values[j] = i + j;
        must(batch(&clients[0], values, false, answers, &err), &err);
        for (uint64_t j = 0; j < BATCH; j++)
            if (answers[j] != TAMIS_PRESENT)
                fail_msg("key %" PRIu64 " was answered, and is not there", i + j);
    }
}

/* Runs the clients over one tamis_redis, so that they share its connections. Kills the server `kills`
 * times. */
static void storm(const char *name, bool is_family, uint64_t count, uint64_t mean, int kills) {
    client clients[CLIENTS];
    tamis_redis *redis = NULL;
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    char uri[200], what[200];
    uint64_t seed = test_seed(6);
    if (!server.pid)
        skip();
    redis_server_command(&server, "FLUSHALL");
    redis_server_command(&server, "CONFIG SET appendfsync %s",
                         kills > 0 ? "always" : "no"); /* a disk is slow */
    snprintf(
        uri, sizeof uri,
        "redis://127.0.0.1:%d?retry_interval=1ms&patience=60s&connect_wait=60s&read_timeout=20s&timeout=20s",
        proxy_port(between));
    snprintf(what, sizeof what, "%s&fpr=1e-5&expect=%" PRIu64, name, is_family ? 2 * count / MEMBERS : count);
    proxy_disarm(between);
    must(tamis_redis_open(&redis, uri, NULL, &err), &err);
    options.create = true;
    for (int c = 0; c < CLIENTS; c++) {
        clients[c] = (client){.keys = count, .seed = seed + (uint64_t)c, .err = TAMIS_ERROR_INIT};
        clients[c].answers = calloc(count, 1);
        must(is_family ? tamis_redis_family_open(&clients[c].family, redis, what, &options, &err)
                       : tamis_redis_filter_open(&clients[c].filter, redis, what, &options, &err),
             &err);
    }
    proxy_arm_random(between, mean, seed);
    for (int c = 0; c < CLIENTS; c++)
        assert_int_equal(pthread_create(&clients[c].thread, NULL, add_all, &clients[c]), 0);
    for (int i = 0; i < kills; i++) {
        pause_ms(20 + test_below(&seed, 300));
        redis_server_kill(&server);
        redis_server_restart(&server);
    }
    for (int c = 0; c < CLIENTS; c++)
        pthread_join(clients[c].thread, NULL);
    uint64_t cuts = proxy_harmed(between);
    for (int c = 0; c < CLIENTS; c++)
        must(clients[c].status, &clients[c].err);
    check_all(clients, count); /* with cuts too */
    proxy_disarm(between);
    printf("%" PRIu64 " cuts\n", cuts);
    assert_true(cuts > 0);
    for (int c = 0; c < CLIENTS; c++) {
        free(clients[c].answers);
        tamis_filter_free(clients[c].filter);
        tamis_redis_family_close(clients[c].family);
    }
    tamis_redis_close(redis);
}

static void connections_are_cut_at_random(void **state) {
    (void)state;
    storm("n?partition=262144", false, test_scale_torture(1000000, 100000, 10000, 10000),
          test_scale(400000, 40000, 40000), 0);
}

static void filters_of_layout_java_are_found_too(void **state) {
    (void)state;
    storm("n?layout=java", false, test_scale_torture(200000, 30000, 10000, 10000),
          test_scale(400000, 40000, 40000), 0);
}

static void the_server_is_killed_and_started_again(void **state) {
    (void)state;
    storm("n?partition=262144", false, test_scale_torture(500000, 100000, 10000, 20000),
          test_scale(1000000, 200000, 200000), (int)test_scale_torture(8, 3, 1, 2));
}

static void families_are_no_worse_off(void **state) {
    (void)state;
    storm("n?layout=java", true, test_scale_torture(200000, 30000, 10000, 10000),
          test_scale(400000, 40000, 40000), 0);
    storm("n?probes=8", true, test_scale_torture(200000, 30000, 10000, 10000),
          test_scale(400000, 100000, 100000), (int)test_scale_torture(4, 2, 1, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_are_cut_at_random),
        cmocka_unit_test(filters_of_layout_java_are_found_too),
        cmocka_unit_test(the_server_is_killed_and_started_again),
        cmocka_unit_test(families_are_no_worse_off),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
