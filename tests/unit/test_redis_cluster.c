/* SPDX-License-Identifier: BSD-2-Clause */

/* A Redis Cluster of six nodes: slots, redirections, and slots that move and masters that fail while keys
 * are added.
 * ctest: long
 * ctest: timeout=240
 * ctest: quiet: nodes that are late for a second are taken for dead */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <tamis/experimental/redis.h>
#include <tamis/experimental/redis_bitmap.h>
#include <tamis/tamis.h>

#include "store/redis/topology/redis_topology.h"
#include "support/redis_cluster.h"
#include "support/redis_families.h"
#include "support/redis_keys.h"
#include "support/redis_whole.h"

enum { KEYS_MAX = 100000, BATCH = 500 };

static int set_up_all(void **state) {
    (void)state;
    make_numbers();
    if (redis_server_installed())
        cluster_start();
    return 0;
}

static int tear_down_all(void **state) {
    (void)state;
    if (cluster[0].port)
        cluster_stop();
    return 0;
}

static tamis_redis *open_cluster(const char *more) {
    tamis_redis *redis;
    err = (tamis_error)TAMIS_ERROR_INIT;
    if (!cluster[0].port)
        skip();
    if (tamis_redis_open(&redis, cluster_uri(more), NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return redis;
}

/* ---- without a server ---- */

static void knows_slots(void **state) {
    static const struct {
        const char *key;
        unsigned slot;
    } known[] = {{"123456789", 12739}, /* CRC-16/XMODEM's check value is 0x31c3 */
                 {"", 0},
                 {"foo", 12182},
                 {"{foo}.bar", 12182},
                 {"a{foo}{bar}", 12182}};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(tamis__cluster_slot(known[i].key, strlen(known[i].key)), known[i].slot);
}

static void reads_redirections(void **state) {
    static const struct {
        const char *text, *host;
        unsigned slot, port;
        bool is_ask;
    } right[] = {{"MOVED 3999 127.0.0.1:6381", "127.0.0.1", 3999, 6381, false},
                 {"ASK 0 ::1:7", "::1", 0, 7, true},
                 {"MOVED 7 [::1]:6381", "::1", 7, 6381, false},
                 {"MOVED 16383 :6381", "self", 16383, 6381, false},
                 {"ASK 5 ?:6381", "self", 5, 6381, true}};
    static const char *const wrong[] = {
        "MOVED",           "MOVED ",     "MOVED x", "MOVED 5",   "MOVED 16384 a:1", "MOVED 5 a:0",
        "MOVED 5 a:65536", "MOVED 5 a:", "ASK 5 a", "ASK:5 a:1", "ASKED 5 a:1",     "ERR ASK 5 a:1"};
    char self[] = "self";
    const tamis__node source = {.host = self};
    tamis__redirection to;
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        const tamis__reply error = {TAMIS__REPLY_ERROR, 0, right[i].text, strlen(right[i].text), NULL};
        assert_true(tamis__cluster_redirection(&error, &source, &to));
        assert_int_equal(to.slot, right[i].slot);
        assert_int_equal(to.port, right[i].port);
        assert_int_equal(to.is_ask, right[i].is_ask);
        assert_int_equal(to.host_size, strlen(right[i].host));
        assert_memory_equal(to.host, right[i].host, to.host_size);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const tamis__reply error = {TAMIS__REPLY_ERROR, 0, wrong[i], strlen(wrong[i]), NULL};
        if (tamis__cluster_redirection(&error, &source, &to))
            fail_msg("%s", wrong[i]);
    }
}

static void has_one_database(void **state) {
    tamis_redis *redis;
    (void)state;
    assert_int_equal(tamis_redis_open(&redis, "redis+cluster://a,b/1/n", NULL, &err), TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "database"));
}

/* ---- owners of slots ---- */

static void agrees_on_slots(void **state) {
    static const char signs[] = "ab{}{}x9";
    uint64_t random = test_seed(16);
    (void)state;
    tamis_redis_close(open_cluster(""));
    for (int round = 0; round < 300; round++) {
        char key[24];
        size_t size = test_below(&random, sizeof key);
        for (size_t i = 0; i < size; i++)
            key[i] = signs[test_below(&random, 8)];
        if ((long long)tamis__cluster_slot(key, size) !=
            redis_server_number(&cluster[0], "CLUSTER KEYSLOT %b", key, size))
            fail_msg("%.*s", (int)size, key);
    }
}

static void spreads_over_the_masters(void **state) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    (void)state;
    tamis_redis *redis = open_cluster("");
    tamis_filter *filter = open_on(redis, "spread?expect=100000&fpr=0.001&partition=8192&ttl=1h");
    add_keys(filter, 0, 20000);
    assert_all_in(filter, 20000);
    for (unsigned i = 0; i < CLUSTER_MASTERS; i++)
        assert_true(redis_server_number(cluster_master(i * 5461 + 100), "DBSIZE") > 2);
    assert_int_equal(tamis_filter_info_get(filter, &info, &err), TAMIS_OK);
    assert_true(info.cardinality > 19400 && info.cardinality < 20600);
    tamis_filter_free(filter);
    filter = open_on(redis, "java?layout=java&expect=1000&fpr=0.01&ttl=1h");
    add_keys(filter, 0, 500);
    assert_all_in(filter, 500);
    assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_OK);
    tamis_filter_free(filter);
    tamis_redis_close(redis);
}

static void moves_whole_filters(void **state) {
    (void)state;
    tamis_redis *redis = open_cluster("");
    redis_whole_filters(redis);
    for (unsigned i = 0; i < CLUSTER_MASTERS; i++)
        redis_whole_expires(cluster_master(i * 5461 + 100), 1);
    tamis_redis_close(redis);
}

/* Redisson's script uses two Redis keys, which a cluster must have in one slot. */
static void wants_redissons_keys_in_one_place(void **state) {
    (void)state;
    static const char *const apart[] = {"a%7B%7Db", "a%7Bb", "a%7Db", "%7B%7D%7Bb%7D"}, *const together[] = {
                                                                                            "ab", "%7Bab%7D",
                                                                                            "a%7Bb%7Dc",
                                                                                            "%7Bb%7D%7B%7D"};
    tamis_redis *redis = open_cluster("");
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    options.create = true;
    for (size_t i = 0; i < 4; i++) {
        tamis_filter *filter = NULL;
        char name[80];
        snprintf(name, sizeof name, "%s?layout=redisson&expect=100&fpr=0.01&ttl=1h", apart[i]);
        assert_int_equal(tamis_redis_filter_open(&filter, redis, name, &options, &err), TAMIS_E_INVALID);
        assert_non_null(strstr(err.text, "a brace and no tag; choose"));
        snprintf(name, sizeof name, "%s?layout=redisson&expect=100&fpr=0.01&ttl=1h", together[i]);
        filter = open_on(redis, name);
        add_keys(filter, 0, 10);
        assert_all_in(filter, 10);
        tamis_filter_free(filter);
    }
    tamis_redis_close(redis);
}

static void families_are_on_all_masters(void **state) {
    static const char *const families[] = {"user:*?expect=100&fpr=0.001&ttl=1h",
                                           "f?layout=java&expect=100&fpr=0.001&ttl=1h&renew=create"};
    (void)state;
    tamis_redis *redis = open_cluster("");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        size_t made, there = 0;
        for (unsigned j = 0; j < CLUSTER_MASTERS; j++)
            redis_server_command(cluster_master(j * 5461 + 100), "FLUSHALL");
        made = redis_families_fill(redis, families[i]);
        for (unsigned j = 0; j < CLUSTER_MASTERS; j++) {
            const redis_server *master = cluster_master(j * 5461 + 100);
            char expires[40];
            const long long added = redis_server_number(master, "DBSIZE");
            assert_true(added > 100);
            snprintf(expires, sizeof expires, "keys=%lld,expires=%lld", added, added);
            assert_non_null(strstr(redis_server_command(master, "INFO keyspace"), expires));
            there += (size_t)added;
        }
        assert_int_equal(there, made);
    }
    tamis_redis_close(redis);
}

/* Bitmaps in one slot are combined by the server, those in several slots by the client. */
static void combines_bitmaps(void **state) {
    static const struct {
        const char *target, *first, *second;
        const char *command; /* command by which it is done */
    } cases[] = {{"{b}t", "{b}1", "{b}2", "cmdstat_bitop"}, {"t", "1", "2", "cmdstat_set:"}};
    static const uint64_t offsets[] = {1, 5, 1000, 20000};
    (void)state;
    tamis_redis *redis = open_cluster("");
    for (size_t n = 0; n < 2; n++) {
        tamis_redis_bitmap *first, *second, *target;
        uint64_t size = 0;
        uint8_t bits[4];
        tamis_redis_bitmap_open(&first, redis, cases[n].first, NULL, &err);
        tamis_redis_bitmap_open(&second, redis, cases[n].second, NULL, &err);
        tamis_redis_bitmap_open(&target, redis, cases[n].target, NULL, &err);
        redis_server *owner = cluster_master(tamis__cluster_slot(cases[n].target, strlen(cases[n].target)));
        redis_server_command(owner, "CONFIG RESETSTAT");
        if (tamis_redis_bitmap_set(first, &(tamis_redis_bits){offsets, NULL, 3}, NULL, NULL, &err) !=
                TAMIS_OK ||
            tamis_redis_bitmap_set(second, &(tamis_redis_bits){offsets + 1, NULL, 3}, NULL, NULL, &err) !=
                TAMIS_OK ||
            tamis_redis_bitmap_op(target, TAMIS_REDIS_BITMAP_XOR,
                                  (const char *[]){cases[n].first, cases[n].second}, 2, &size,
                                  &err) != TAMIS_OK ||
            tamis_redis_bitmap_get(target, offsets, 4, bits, NULL, &err) != TAMIS_OK)
            fail_msg("%s", err.text);
        assert_int_equal(size, 2501);
        assert_memory_equal(bits, ((uint8_t[]){1, 0, 0, 1}), 4);
        assert_non_null(strstr(redis_server_command(owner, "INFO commandstats"), cases[n].command));
        tamis_redis_bitmap_close(first);
        tamis_redis_bitmap_close(second);
        tamis_redis_bitmap_close(target);
    }
    tamis_redis_close(redis);
}

/* The other nodes of the URI know the owners of the slots. */
static void reg_22_a_node_that_refuses_at_the_start_is_no_matter(void **state) {
    char uri[300];
    tamis_answer answers[BATCH];
    tamis_filter *filter;
    (void)state;
    tamis_redis_close(open_cluster(""));
    const char *good =
        cluster_uri("first?layout=java&expect=1000&fpr=0.01&patience=1h") + strlen("redis+cluster://");
    snprintf(uri, sizeof uri, "redis+cluster://127.0.0.1:1,127.0.0.1:2,%s", good);
    OK(tamis_redis_filter_open(&filter, NULL, uri, NULL, &err));
    OK(tamis_filter_add_many(filter, keys, BATCH, answers, NULL, &err));
    tamis_filter_free(filter);
}

/* Each master with keys of a batch waits for its own replica. One late replica is enough for an error. */
static void reg_22_each_master_waits_for_its_replicas(void **state) {
    static const char name[] = "w?layout=java&expect=1000&fpr=0.01&replicas=1&patience=";
    char uri[300];
    tamis_filter *filter;
    (void)state;
    tamis_redis_close(open_cluster(""));
    cluster_wait_until_ready();
    redis_server *late = cluster_replica(tamis__cluster_slot("bf:w", 4));
    for (int lags = 0; lags < 2; lags++) {
        snprintf(uri, sizeof uri, "%s%s", cluster_uri(name), lags ? "300ms" : "60s");
        OK(tamis_redis_filter_open(&filter, NULL, uri, NULL, &err));
        assert_int_equal(kill(late->pid, lags ? SIGSTOP : SIGCONT), 0);
        if (lags)
            FAILS(tamis_filter_add_many(filter, keys, BATCH, NULL, NULL, &err), TAMIS_E_TIMEOUT,
                  "0 of 1 replicas");
        else
            OK(tamis_filter_add_many(filter, keys, BATCH, NULL, NULL, &err));
        tamis_filter_free(filter);
    }
    assert_int_equal(kill(late->pid, SIGCONT), 0);
    cluster_wait_until_ready();
}

static void distinguishes_clusters(void **state) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    redis_server alone;
    tamis_redis *redis;
    tamis_filter *filter;
    char uri[200];
    (void)state;
    tamis_redis_close(open_cluster(""));
    redis_server_start(&alone, NULL);
    snprintf(uri, sizeof uri, "redis+cluster://127.0.0.1:%d/", alone.port);
    assert_int_equal(tamis_redis_open(&redis, uri, NULL, &err), TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "not a node of a cluster"));
    redis_server_stop(&alone);
    redis_server *other = cluster_master(0) == &cluster[0] ? &cluster[1] : &cluster[0];
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d/{06S}?layout=java&expect=9&fpr=0.1", other->port);
    assert_int_equal(tamis__cluster_slot("06S", 3), 0);
    assert_int_equal(tamis_redis_filter_open(&filter, NULL, uri, &options, &err), TAMIS_OK);
    size_t done;
    assert_int_equal(tamis_filter_add_many(filter, keys, 1, NULL, &done, &err), TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "redis+cluster://"));
    tamis_filter_free(filter);
}

/* ---- while keys are added ---- */

enum { THREADS = 2 };

typedef struct adding {
    pthread_t thread;
    tamis_filter *filter;
    size_t count, done;
    tamis_error failure;
    bool is_over;
    tamis_answer answers[BATCH];
} adding;

static adding adders[THREADS]; /* each with a handle of its own, on the same servers, with the same keys */

static bool is_over(void) {
    return __atomic_load_n(&adders[0].is_over, __ATOMIC_ACQUIRE);
}

/* Adds each batch, and looks it up at once. */
static void *add_all(void *context) {
    adding *ctx = context;
    tamis_status status = TAMIS_OK;
    while (ctx->done < ctx->count && status == TAMIS_OK) {
        const tamis_key *batch = keys + ctx->done;
        size_t added;
        status = tamis_filter_add_many(ctx->filter, batch, BATCH, NULL, &added, &ctx->failure);
        if (status == TAMIS_OK)
            status =
                tamis_filter_contains_many(ctx->filter, batch, BATCH, ctx->answers, &added, &ctx->failure);
        for (size_t i = 0; i < BATCH && status == TAMIS_OK; i++)
            if (ctx->answers[i] != TAMIS_PRESENT)
                status = tamis__fail(&ctx->failure, TAMIS_E_DAMAGED, 0, "key %zu is answered and not in",
                                     ctx->done + i);
        __atomic_store_n(&ctx->done, ctx->done + added, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&ctx->is_over, true, __ATOMIC_RELEASE);
    return NULL;
}

static void begin_adding(tamis_redis *redis, const char *name, size_t count) {
    for (int i = 0; i < THREADS; i++) {
        adders[i] = (adding){.count = count, .failure = TAMIS_ERROR_INIT};
        adders[i].filter = open_on(redis, name);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&adders[i].thread, NULL, add_all, &adders[i]);
}

static void end_adding(void) {
    for (int i = 0; i < THREADS; i++)
        pthread_join(adders[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_string_equal(adders[i].failure.text, "");
        assert_all_in(adders[i].filter, adders[i].count);
        tamis_filter_free(adders[i].filter);
    }
}

/* Waits until `more` more keys were added, or all. */
static void wait_for_adds(size_t more) {
    const size_t until = __atomic_load_n(&adders[0].done, __ATOMIC_RELAXED) + more;
    while (!is_over() && __atomic_load_n(&adders[0].done, __ATOMIC_RELAXED) < until)
        nanosleep(&(struct timespec){0, 200000}, NULL);
}

static void wait_for_some_adds(void) {
    wait_for_adds(BATCH);
}

/* Moves the slot of every Redis key of the filter to another master, one after the other. */
static size_t move_slots(void) {
    size_t moved = 0;
    for (int node = 0; node < CLUSTER_NODES && !is_over(); node++) {
        char names[20000], *rest = NULL;
        redis_server *from = &cluster[node], *to = &cluster[(node + 1) % CLUSTER_NODES];
        if (strncmp(redis_server_command(from, "ROLE"), "master", 6) != 0)
            continue;
        while (strncmp(redis_server_command(to, "ROLE"), "master", 6) != 0)
            to = &cluster[(to - cluster + 1) % CLUSTER_NODES];
        snprintf(names, sizeof names, "%s", redis_server_command(from, "KEYS tamis:{moving*"));
        for (char *name = strtok_r(names, " ", &rest); name && !is_over();
             name = strtok_r(NULL, " ", &rest)) {
            const unsigned slot = tamis__cluster_slot(name, strlen(name));
            if (redis_server_number(from, "CLUSTER COUNTKEYSINSLOT %u", slot) == 0)
                continue; /* moved with another key: the hash and its copy share a slot */
            cluster_move(slot, from, to, wait_for_some_adds);
            moved++;
        }
    }
    return moved;
}

static void adds_while_slots_move(void **state) {
    (void)state;
    tamis_redis *redis = open_cluster("?patience=60s&retry_interval=5ms");
    cluster_wait_until_ready();
    begin_adding(redis, "moving?expect=100000&fpr=0.001&partition=8192", test_scale(KEYS_MAX, 20000, 20000));
    const size_t moved = move_slots();
    end_adding();
    assert_true(moved >= 5);
    tamis_redis_close(redis);
}

/* With CLUSTER FAILOVER the replica catches up before it takes over: no answered key may be missing. */
static void adds_while_masters_change(void **state) {
    const unsigned rounds = (unsigned)test_scale(6, 2, 2);
    (void)state;
    tamis_redis *redis = open_cluster("?patience=60s&retry_interval=5ms");
    cluster_wait_until_ready();
    begin_adding(redis, "changing?expect=100000&fpr=0.001&partition=8192",
                 test_scale(KEYS_MAX, 50000, 50000));
    unsigned changed = 0;
    for (; changed < rounds && !is_over(); changed++) {
        redis_server *replica = cluster_replica(100 + changed % 3 * 5461);
        wait_for_adds(2 * BATCH);
        cluster_hand_over(replica);
        cluster_wait_until_ready();
    }
    end_adding();
    assert_true(changed > 0);
    tamis_redis_close(redis);
}

static redis_server *victim;
static bool is_dead;

static void *kill_soon(void *random) {
    nanosleep(&(struct timespec){0, (long)test_below(random, 3000000)}, NULL);
    redis_server_kill(victim);
    __atomic_store_n(&is_dead, true, __ATOMIC_RELEASE);
    return NULL;
}

/*
 * A killed master loses the writes that its replica did not have yet, even answered ones: Redis replicates
 * asynchronously, and no client can change that. So the test waits for the replicas before it kills. The few
 * batches between then and the death of the master are added again. All other keys must be present.
 */
static void adds_while_masters_die(void **state) {
    const size_t count = test_scale(100000, 10000, 10000), rounds = test_scale(3, 1, 1);
    uint64_t random = test_seed(17);
    (void)state;
    tamis_redis *redis = open_cluster("?patience=60s&retry_interval=20ms");
    cluster_wait_until_ready();
    tamis_filter *filter = open_on(redis, "dying?expect=100000&fpr=0.001&partition=8192");
    size_t done = 0;
    for (size_t round = 0; round < rounds; round++) {
        pthread_t thread;
        for (; done < count * (round + 1) / (rounds + 1); done += BATCH)
            add_keys(filter, done, BATCH);
        cluster_wait_until_ready();
        victim = cluster_master((unsigned)(100 + round % 3 * 5461));
        is_dead = false;
        pthread_create(&thread, NULL, kill_soon, &random);
        const size_t before = done; /* later batches may be lost */
        do {                        /* until it is dead, so that it dies during a batch */
            add_keys(filter, done, BATCH);
            done += BATCH;
        } while (!__atomic_load_n(&is_dead, __ATOMIC_ACQUIRE) && done + BATCH <= count);
        pthread_join(thread, NULL);
        add_keys(filter, before, done - before);
        assert_all_in(filter, done);
        redis_server_restart(victim);
        cluster_wait_until_ready();
    }
    for (; done < count; done += BATCH)
        add_keys(filter, done, BATCH);
    assert_all_in(filter, count);
    tamis_filter_free(filter);
    tamis_redis_close(redis);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_slots),
        cmocka_unit_test(reads_redirections),
        cmocka_unit_test(has_one_database),
        cmocka_unit_test(agrees_on_slots),
        cmocka_unit_test(spreads_over_the_masters),
        cmocka_unit_test(moves_whole_filters),
        cmocka_unit_test(wants_redissons_keys_in_one_place),
        cmocka_unit_test(families_are_on_all_masters),
        cmocka_unit_test(combines_bitmaps),
        cmocka_unit_test(distinguishes_clusters),
        cmocka_unit_test(reg_22_each_master_waits_for_its_replicas),
        cmocka_unit_test(reg_22_a_node_that_refuses_at_the_start_is_no_matter),
        cmocka_unit_test(adds_while_slots_move),
        cmocka_unit_test(adds_while_masters_change),
        cmocka_unit_test(adds_while_masters_die),
    };
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
