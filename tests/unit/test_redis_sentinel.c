/* SPDX-License-Identifier: BSD-2-Clause */

/* A master found through a sentinel, and failovers to its replica.
 * ctest: long
 * ctest: timeout=480
 * ctest: quiet: a sentinel whose own clock stands still for two seconds decides nothing for thirty */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <tamis/experimental/redis.h>
#include <tamis/tamis.h>

#include "base/memory.h"
#include "store/redis/topology/redis_topology.h"
#include "support/redis_keys.h"
#include "support/redis_sentinel.h"

enum { KEYS_MAX = 100000, BATCH = 500 };

static redis_server servers[2], sentinel;
static char replica_of[32];
static const char *const replica_options[] = {
    "--replicaof", replica_of, "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1", NULL};

/* ---- master, replica and sentinel ---- */

static bool is_linked(const redis_server *replica) {
    return strstr(redis_server_command(replica, "INFO replication"), "master_link_status:up") != NULL;
}

static int set_up_all(void **state) {
    char settings[300];
    (void)state;
    scratch_make();
    make_numbers();
    if (!redis_server_installed())
        return 0;
    redis_server_start(&servers[0], NULL);
    sprintf(replica_of, "127.0.0.1 %d", servers[0].port);
    redis_server_start(&servers[1], replica_options);
    while (!is_linked(&servers[1]))
        pause_ms(10);
    snprintf(settings, sizeof settings,
             "requirepass sesame\nsentinel monitor mine 127.0.0.1 %d 1\n"
             "sentinel down-after-milliseconds mine 3600000\nsentinel failover-timeout mine 3000\n",
             servers[0].port);
    redis_sentinel_start(&sentinel, servers[0].port + 1, &servers[1], settings);
    sentinel.password = "sesame";
    return 0;
}

static int tear_down_all(void **state) {
    (void)state;
    redis_server_kill(&sentinel);
    for (int i = 0; i < 2; i++)
        redis_server_stop(&servers[i]);
    scratch_remove();
    return 0;
}

static const char *uri_of(const char *password, const char *rest) {
    static char uri[300];
    if (!sentinel.pid)
        skip();
    err = (tamis_error)TAMIS_ERROR_INIT;
    /* The first sentinel does not exist, so the second is asked. */
    snprintf(uri, sizeof uri, "redis+sentinel://127.0.0.1:1,127.0.0.1:%d/%s%s", sentinel.port, rest,
             password);
    return uri;
}

/* ---- tests ---- */

static void refuses(const char *uri, tamis_status status, const char *says) {
    tamis_redis *redis;
    assert_int_equal(tamis_redis_open(&redis, uri, NULL, &err), status);
    if (!strstr(err.text, says) || strstr(err.text, "sesam"))
        fail_msg("%s", err.text);
}

static void reads_what_is_named(void **state) {
    const tamis_allocator allocator = tamis__allocator_resolve(NULL);
    tamis__redis_uri parsed;
    (void)state;
    assert_int_equal(tamis__redis_uri_parse(&parsed,
                                            "redis+sentinel://u:p@s1,s2:7/my%2Fmaster/3/n%2Fm"
                                            "?sentinel_password=sesame&ttl=1d",
                                            &allocator, &err),
                     TAMIS_OK);
    assert_int_equal(parsed.kind, TAMIS__REDIS_SENTINEL);
    assert_int_equal(parsed.addresses[0].port, 26379);
    assert_int_equal(parsed.addresses[1].port, 7);
    assert_string_equal(parsed.master, "my/master");
    assert_string_equal(parsed.name, "n/m");
    assert_int_equal(parsed.db, 3);
    assert_null(strstr(parsed.shown, "sesame"));
    assert_non_null(strstr(parsed.shown, "ttl=1d"));
    tamis__redis_uri_release(&parsed);
    refuses("redis+sentinel://s1,s2", TAMIS_E_INVALID, "names no master");
    refuses("redis+sentinel://s1,s2//n", TAMIS_E_INVALID, "names no master");
    refuses("redis+sentinel://s1,s2/m?sentinel_passwort=x", TAMIS_E_INVALID, "sentinel_passwort");
    refuses("redis://s1/?sentinel_password=x", TAMIS_E_INVALID, "sentinel_password");
}

static void says_what_keeps_it_out(void **state) {
    char plain[100];
    (void)state;
    refuses(uri_of("", "mine"), TAMIS_E_REFUSED, "sentinel_password=");
    refuses(uri_of("?sentinel_password=sesam", "mine"), TAMIS_E_REFUSED, "password");
    refuses(uri_of("?sentinel_password=sesame", "yours"), TAMIS_E_NOT_FOUND, "knows no master 'yours'");
    snprintf(plain, sizeof plain, "redis+sentinel://127.0.0.1:%d/mine", servers[0].port);
    refuses(plain, TAMIS_E_REFUSED, "name a sentinel");
}

static void refuses_a_replica_that_is_named(void **state) {
    (void)state;
    const char *uri = uri_of("?sentinel_password=sesame", "mine");
    tamis_redis *redis;
    tamis__node *node;
    tamis__connection *conn;
    assert_int_equal(tamis_redis_open(&redis, uri, NULL, &err), TAMIS_OK);
    const tamis__node_address address = {
        .host = "127.0.0.1", .host_size = 9, .port = (uint16_t)servers[1].port};
    assert_int_equal(tamis__redis_node(redis, &address, &node, &err), TAMIS_OK);
    assert_int_equal(tamis__redis_get_connection(redis, node, UINT64_MAX, &conn, &err), TAMIS_E_IO);
    assert_non_null(strstr(err.text, "is a slave"));
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

static long long offset(const redis_server *server, const char *name) {
    const char *found = strstr(redis_server_command(server, "INFO replication"), name);
    return found ? atoll(found + strlen(name)) : -1;
}

/* Waits until the replica has everything that the master had at the call. */
static void wait_for_replica(const redis_server *master, const redis_server *replica) {
    const long long had = offset(master, "master_repl_offset:");
    for (int tries = 0; !is_linked(replica) || offset(replica, "slave_repl_offset:") < had; tries++) {
        if (tries == 6000)
            fail_msg("the replica never came by what its master had: %s",
                     redis_server_command(replica, "INFO replication"));
        pause_ms(10);
    }
}

/* A master that dies loses the writes that its replica does not have. So the test waits for the replica
 * first. Keys added between then and the death are added again. All other keys must be present. */
static void follows_a_failover(void **state) {
    const size_t count = test_scale(KEYS_MAX, 10000, 10000);
    uint64_t random = test_seed(18);
    size_t done = 0;
    pthread_t thread;
    tamis_redis *redis;
    (void)state;
    const char *uri = uri_of("?sentinel_password=sesame&patience=180s&retry_interval=20ms", "mine");
    if (tamis_redis_open(&redis, uri, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    tamis_filter *filter = open_on(redis, "over?expect=100000&fpr=0.001&partition=8192");
    for (; done < count / 3; done += BATCH)
        add_keys(filter, done, BATCH);
    wait_for_replica(&servers[0], &servers[1]);
    const size_t before = done;
    /* Not earlier: on a busy machine a living master may be late for as long, and would be replaced. */
    assert_string_equal(redis_server_command(&sentinel, "SENTINEL SET mine down-after-milliseconds 500"),
                        "OK");
    victim = &servers[0];
    pthread_create(&thread, NULL, kill_soon, &random);
    do {
        add_keys(filter, done, BATCH);
        done += BATCH;
    } while (!__atomic_load_n(&is_dead, __ATOMIC_ACQUIRE) && done + BATCH <= count);
    pthread_join(thread, NULL);
    add_keys(filter, before, done - before);
    for (; done < count; done += BATCH)
        add_keys(filter, done, BATCH);
    assert_all_in(filter, done);
    assert_int_equal(strncmp(redis_server_command(&servers[1], "ROLE"), "master", 6), 0);
    tamis_filter_free(filter);
    tamis_redis_close(redis);
}

/* A living master that is replaced accepts commands for some more seconds, until the sentinel makes it a
 * replica. Then it loses these writes. */
static void leaves_a_master_that_was_replaced(void **state) {
    const size_t count = 12000;
    redis_server old, new, source;
    char text[300], master[40];
    const char *options[] = {"--replicaof", master, "--repl-diskless-sync-delay", "0", NULL};
    tamis_redis *redis;
    bool is_replaced = false;
    (void)state;
    uri_of("", "");
    redis_server_start(&old, NULL);
    sprintf(master, "127.0.0.1 %d", old.port);
    redis_server_start(&new, options);
    while (!is_linked(&new))
        pause_ms(10);
    snprintf(text, sizeof text, "sentinel monitor mine 127.0.0.1 %d 1\nsentinel failover-timeout mine 3000\n",
             old.port);
    redis_sentinel_start(&source, old.port + 1, &new, text);
    snprintf(text, sizeof text, "redis+sentinel://127.0.0.1:%d/mine", source.port);
    OK(tamis_redis_open(&redis, text, NULL, &err));
    tamis_filter *filter = open_on(redis, "f?expect=100000&fpr=0.001");
    add_keys(filter, 0, BATCH);
    wait_for_replica(&old, &new);
    while (strncmp(redis_server_command(&source, "SENTINEL FAILOVER mine"), "OK", 2) != 0)
        pause_ms(100); /* the sentinel does not know the replica yet */
    for (size_t done = BATCH; done < count; done += BATCH) {
        while (!is_replaced && done > count / 2) { /* the second half is added after the failover */
            is_replaced = strncmp(redis_server_command(&new, "ROLE"), "master", 6) == 0;
            pause_ms(1);
        }
        add_keys(filter, done, BATCH);
        pause_ms(5);
    }
    tamis_filter_free(filter);
    tamis_redis_close(redis);
    assert_int_equal(strncmp(redis_server_command(&new, "ROLE"), "master", 6), 0);
    snprintf(text, sizeof text, "redis://127.0.0.1:%d/f", new.port);
    filter = open_on(NULL, text);
    assert_all_in(filter, count);
    tamis_filter_free(filter);
    redis_server_kill(&source);
    redis_server_stop(&new);
    redis_server_stop(&old);
}

/* ---- a server that is a replica for a while ---- */

typedef struct adding {
    tamis_filter *filter;
    size_t done;
    tamis_error failure;
    bool stop;
} adding;

static void *add_all(void *context) {
    adding *ctx = context;
    tamis_status status = TAMIS_OK;
    while (status == TAMIS_OK && !__atomic_load_n(&ctx->stop, __ATOMIC_ACQUIRE) && ctx->done < KEYS_MAX) {
        size_t added;
        status = tamis_filter_add_many(ctx->filter, keys + ctx->done, BATCH, NULL, &added, &ctx->failure);
        ctx->done += added;
    }
    return NULL;
}

static void rides_out_being_a_replica(void **state) {
    redis_server alone;
    tamis_redis *redis;
    char uri[120];
    pthread_t thread;
    (void)state;
    uri_of("", "");
    redis_server_start(&alone, NULL);
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?patience=60s&retry_interval=5ms", alone.port);
    assert_int_equal(tamis_redis_open(&redis, uri, NULL, &err), TAMIS_OK);
    adding ctx = {.filter = open_on(redis, "alone?expect=100000&fpr=0.001"), .failure = TAMIS_ERROR_INIT};
    pthread_create(&thread, NULL, add_all, &ctx);
    for (int i = 0; i < 5; i++) {
        redis_server_command(&alone, "REPLICAOF 127.0.0.1 1");
        pause_ms(30);
        redis_server_command(&alone, "REPLICAOF NO ONE");
        pause_ms(30);
    }
    __atomic_store_n(&ctx.stop, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    assert_string_equal(ctx.failure.text, "");
    assert_true(strstr(redis_server_command(&alone, "INFO errorstats"), "READONLY") != NULL);
    assert_all_in(ctx.filter, ctx.done);
    tamis_filter_free(ctx.filter);
    tamis_redis_close(redis);
    redis_server_stop(&alone);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_named),
        cmocka_unit_test(says_what_keeps_it_out),
        cmocka_unit_test(refuses_a_replica_that_is_named),
        cmocka_unit_test(follows_a_failover),
        cmocka_unit_test(leaves_a_master_that_was_replaced),
        cmocka_unit_test(rides_out_being_a_replica),
    };
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
