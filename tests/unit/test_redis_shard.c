/* SPDX-License-Identifier: BSD-2-Clause */

/* Several independent servers: the distribution of Redis keys, and commands to all servers at once.
 * ctest: timeout=120 */
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
#include <zlib.h>

#include <tamis/experimental/redis.h>
#include <tamis/tamis.h>

#include "base/memory.h"
#include "store/redis/request/redis_requests.h"
#include "support/redis_families.h"
#include "support/redis_keys.h"
#include "support/redis_server.h"
#include "support/redis_whole.h"

enum { SERVERS = 3, KEYS_MAX = 100000 };

static redis_server servers[SERVERS];
static tamis_answer answers[5000];
static char uri[200];

static const char *const kept[] = {"--appendonly", "yes", NULL};

static int set_up_all(void **state) {
    (void)state;
    make_numbers();
    if (!redis_server_installed())
        return 0;
    for (int i = 0; i < SERVERS; i++)
        redis_server_start(&servers[i], kept);
    return 0;
}

static int tear_down_all(void **state) {
    (void)state;
    for (int i = 0; i < SERVERS; i++)
        redis_server_stop(&servers[i]);
    return 0;
}

/* Call at the beginning of each test. Skips it if there are no servers. */
static void begin_test(const char *more) {
    if (!servers[0].pid)
        skip();
    err = (tamis_error)TAMIS_ERROR_INIT;
    for (int i = 0; i < SERVERS; i++)
        redis_server_command(&servers[i], "FLUSHALL");
    snprintf(uri, sizeof uri, "redis+shard://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/%s", servers[0].port,
             servers[1].port, servers[2].port, more);
}

static tamis_redis *open_servers(void) {
    tamis_redis *redis;
    if (tamis_redis_open(&redis, uri, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return redis;
}

/* ---- the URI ---- */

static void refuses_lists_that_say_nothing_certain(void **state) {
    static const char *const wrong[][2] = {
        {"redis://a,b/x", "several servers"},  {"redis+shard://a,,b/x", "empty place"},
        {"redis+shard:///x", "empty place"},   {"redis+shard://a:0,b/x", "port"},
        {"redis+shard://a,b:70000/x", "port"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tamis_redis *redis;
        assert_int_equal(tamis_redis_open(&redis, wrong[i][0], NULL, &err), TAMIS_E_INVALID);
        if (!strstr(err.text, wrong[i][1]))
            fail_msg("%s", err.text);
    }
}

static void reads_lists(void **state) {
    static const struct {
        const char *text, *hosts[3];
        uint16_t ports[3];
        size_t count;
    } right[] = {{"redis+shard://a:1,[::1]:2,c/7/n", {"a", "::1", "c"}, {1, 2, 6379}, 3},
                 {"redis+shard://u:p@:5,b/n", {"127.0.0.1", "b"}, {5, 6379}, 2},
                 {"redis+shard://one/n", {"one"}, {6379}, 1}};
    const tamis_allocator allocator = tamis__allocator_resolve(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        tamis__redis_uri parsed;
        assert_int_equal(tamis__redis_uri_parse(&parsed, right[i].text, &allocator, &err), TAMIS_OK);
        assert_int_equal(parsed.kind, TAMIS__REDIS_SHARD);
        assert_int_equal(parsed.address_count, right[i].count);
        for (size_t j = 0; j < right[i].count; j++) {
            assert_string_equal(parsed.addresses[j].host, right[i].hosts[j]);
            assert_int_equal(parsed.addresses[j].port, right[i].ports[j]);
        }
        assert_string_equal(parsed.name, "n");
        tamis__redis_uri_release(&parsed);
    }
}

/* ---- distribution ---- */

/* Returns the length of the part of a Redis key that determines its server. The copy of a plan is on the
 * server of its hash. */
static size_t checked_size(const char *name) {
    const size_t size = strlen(name), behind = strlen(":plan");
    return size > behind && strcmp(name + size - behind, ":plan") == 0 ? size - behind : size;
}

/* Counts the Redis keys, and checks that each is on the server of its checksum. */
static size_t count_placed(void) {
    size_t total = 0;
    for (unsigned server = 0; server < SERVERS; server++) {
        char names[20000], *rest = NULL;
        snprintf(names, sizeof names, "%s", redis_server_command(&servers[server], "KEYS *"));
        for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest), total++)
            if (crc32(0, (const Bytef *)name, (uInt)checked_size(name)) % SERVERS != server)
                fail_msg("%s is on server %u", name, server);
    }
    return total;
}

static void spreads_partitions_by_checksum(void **state) {
    const size_t count = test_scale(100000, 20000, 20000);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    (void)state;
    begin_test("");
    tamis_redis *redis = open_servers();
    tamis_filter *filter = open_on(redis, "spread?expect=100000&fpr=0.001&partition=8192&ttl=1h");
    add_keys(filter, 0, count);
    assert_all_in(filter, count);
    assert_true(count_placed() > 10);
    for (int i = 0; i < SERVERS; i++)
        assert_true(redis_server_number(&servers[i], "DBSIZE") > 1);
    assert_int_equal(tamis_filter_info_get(filter, &info, &err), TAMIS_OK);
    assert_true(info.cardinality > 0.97 * (double)count && info.cardinality < 1.03 * (double)count);
    tamis_filter_free(filter);
    tamis_redis_close(redis);
}

static void keeps_a_filter_of_one_key_on_one_server(void **state) {
    (void)state;
    begin_test("");
    tamis_redis *redis = open_servers();
    for (int i = 0; i < 20; i++) {
        char name[80];
        snprintf(name, sizeof name, "day:%d?layout=java&expect=100&fpr=0.01", i);
        tamis_filter *filter = open_on(redis, name);
        add_keys(filter, 0, 50);
        assert_all_in(filter, 50);
        tamis_filter_free(filter);
    }
    assert_int_equal(count_placed(), 20);
    tamis_redis_close(redis);
}

static void drops_the_keys_of_every_server(void **state) {
    (void)state;
    begin_test("one?layout=java&expect=100&fpr=0.01");
    tamis_filter *filter = NULL;
    assert_int_equal(tamis_redis_filter_open(&filter, NULL, uri, NULL, &err), TAMIS_OK);
    add_keys(filter, 0, 50);
    assert_int_equal(count_placed(), 1);
    assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_OK);
    assert_int_equal(count_placed(), 0);
    tamis_filter_free(filter);
}

/* Returns the server of a Redis key. */
static const redis_server *server_of(const char *key) {
    return &servers[crc32(0, (const Bytef *)key, (uInt)strlen(key)) % SERVERS];
}

/* Finds a Redis key with bits on the server. False if there is none. */
static bool find_bits(const redis_server *server, char to[200]) {
    char names[20000], *rest = NULL;
    snprintf(names, sizeof names, "%s", redis_server_command(server, "KEYS *:bits"));
    const char *name = strtok_r(names, " ", &rest);
    snprintf(to, 200, "%s", name ? name : "");
    return name != NULL;
}

static void moves_whole_filters(void **state) {
    (void)state;
    begin_test("");
    tamis_redis *redis = open_servers();
    redis_whole_filters(redis);
    redis_whole_expires(servers, SERVERS);
    tamis_redis_close(redis);
}

/* On each server, so that the reply about the footer comes before that about the plan, and after it. */
static void distinguishes_damage_from_absence(void **state) {
    (void)state;
    for (int i = 0; i < SERVERS; i++) {
        char name[200];
        size_t done = 1;
        begin_test("");
        tamis_redis *redis = open_servers();
        tamis_filter *filter = open_on(redis, "hurt?expect=100000&fpr=0.001&partition=8192");
        add_keys(filter, 0, 5000);
        assert_true(find_bits(&servers[i], name));
        assert_int_equal(redis_server_number(&servers[i], "DEL %s", name), 1);
        assert_int_equal(tamis_filter_contains_many(filter, keys, 5000, answers, &done, &err),
                         TAMIS_E_DAMAGED);
        assert_int_equal(done, 0);
        assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_OK);
        add_keys(filter, 0, 5000);
        assert_all_in(filter, 5000);
        assert_true(find_bits(&servers[i], name));
        assert_int_equal(redis_server_number(server_of("tamis:{hurt}"), "DEL tamis:{hurt}"), 1);
        redis_server_command(&servers[i], "DEL %s", name);
        assert_int_equal(tamis_filter_contains_many(filter, keys, 5000, answers, &done, &err),
                         TAMIS_E_DAMAGED);
        assert_int_equal(done, 0);
        tamis_filter_free(filter);
        tamis_redis_close(redis);
    }
}

/* Every Redis key made by any layout gets its expiry. */
static void every_key_expires(void **state) {
    static const char *const names[] = {"a?layout=php2&bits=10000&probes=5&ttl=1h",
                                        "a?layout=php3&bits=10000&probes=5&ttl=1h&renew=create",
                                        "a?layout=java&expect=1000&fpr=0.01&ttl=1h&renew=create",
                                        "a?expect=100000&fpr=0.001&partition=8192&ttl=1h&renew=create",
                                        "a?expect=100000&fpr=0.001&partition=8192&ttl=1h"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        long long count = 0;
        begin_test("");
        tamis_redis *redis = open_servers();
        tamis_filter *filter = open_on(redis, names[i]);
        add_keys(filter, 0, 500);
        for (int j = 0; j < SERVERS; j++) {
            char there[20000], *rest = NULL;
            snprintf(there, sizeof there, "%s", redis_server_command(&servers[j], "KEYS *"));
            for (char *name = strtok_r(there, " ", &rest); name; name = strtok_r(NULL, " ", &rest), count++)
                if (redis_server_number(&servers[j], "PTTL %s", name) <= 0)
                    fail_msg("%s: %s does not expire", names[i], name);
        }
        assert_true(count >= (i == 2 ? 1 : SERVERS));
        tamis_filter_free(filter);
        tamis_redis_close(redis);
    }
}

static void refuses_layouts_of_one_server(void **state) {
    static const char *const wrong[] = {"a?layout=php1&bits=1000&probes=3",
                                        "a?layout=redisson&expect=100&fpr=0.01"};
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    (void)state;
    begin_test("");
    tamis_redis *redis = open_servers();
    options.create = true;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tamis_filter *filter;
        assert_int_equal(tamis_redis_filter_open(&filter, redis, wrong[i], &options, &err), TAMIS_E_INVALID);
        assert_non_null(strstr(err.text, "name one"));
    }
    assert_int_equal(count_placed(), 0);
    tamis_redis_close(redis);
}

/* ---- pipelined requests to several servers ---- */

/* Command i is `INCR n` on server i % 3, and from the barrier on `GET n`. */
typedef struct counted {
    size_t barrier, answered, queried_early;
    int64_t present[SERVERS];
} counted;

static uint32_t slot_of(void *context, size_t i) {
    (void)context;
    return i % 7 == 6 ? TAMIS__NO_SLOT : (uint32_t)(i % SERVERS);
}

static bool put_counted(void *context, size_t i, tamis__connection *conn) {
    counted *ctx = context;
    ctx->queried_early += i >= ctx->barrier && ctx->answered < ctx->barrier - ctx->barrier / 7;
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, i < ctx->barrier ? "INCR" : "GET");
    tamis__connection_put_text(conn, "n");
    return true;
}

static tamis_status accept_counted(void *context, size_t i, const tamis__reply *reply, bool again,
                                   tamis_error *failure) {
    counted *ctx = context;
    (void)failure;
    assert_false(again);
    ctx->answered++;
    if (i >= ctx->barrier) {
        assert_int_equal(reply->type, TAMIS__REPLY_STRING);
        sscanf(reply->text, "%ld", &ctx->present[i % SERVERS]);
    }
    return TAMIS_OK;
}

static void a_query_after_a_barrier_waits_for_all_replies(void **state) {
    (void)state;
    begin_test("");
    tamis_redis *redis = open_servers();
    counted ctx = {.barrier = 7 * 3 * 500};
    const tamis__requests requests = {.count = ctx.barrier + SERVERS,
                                      .context = &ctx,
                                      .put_command = put_counted,
                                      .accept_reply = accept_counted,
                                      .what = "counted",
                                      .slot = slot_of,
                                      .barriers = {ctx.barrier}};
    assert_int_equal(tamis__requests_run(redis, &requests, NULL, &err), TAMIS_OK);
    assert_int_equal(ctx.queried_early, 0);
    for (int i = 0; i < SERVERS; i++)
        assert_int_equal(ctx.present[i], 3000);
    const tamis__requests unrouted = {
        .count = 1, .context = &ctx, .put_command = put_counted, .what = "unrouted"};
    assert_int_equal(tamis__requests_run(redis, &unrouted, NULL, &err), TAMIS_E_UNSUPPORTED);
    tamis_redis_close(redis);
}

/* ---- loss of a server ---- */

typedef struct adding {
    tamis_filter *filter;
    size_t count, done;
    tamis_error failure;
    bool is_over;
} adding;

static void *add_all(void *context) {
    adding *ctx = context;
    tamis_status status = TAMIS_OK;
    while (ctx->done < ctx->count && status == TAMIS_OK) {
        size_t added;
        status = tamis_filter_add_many(ctx->filter, keys + ctx->done, 500, NULL, &added, &ctx->failure);
        ctx->done += added;
    }
    __atomic_store_n(&ctx->is_over, true, __ATOMIC_RELEASE);
    return NULL;
}

static void rides_out_the_loss_of_each(void **state) {
    pthread_t thread;
    (void)state;
    begin_test("?patience=60s&retry_interval=5ms");
    tamis_redis *redis = open_servers();
    adding ctx = {.count = test_scale(30000, 5000, 5000), .failure = TAMIS_ERROR_INIT};
    ctx.filter = open_on(redis, "lost?expect=100000&fpr=0.001&partition=8192");
    pthread_create(&thread, NULL, add_all, &ctx);
    for (int turn = 0; !__atomic_load_n(&ctx.is_over, __ATOMIC_ACQUIRE); turn++) {
        redis_server *server = &servers[turn % SERVERS];
        nanosleep(&(struct timespec){0, 60000000}, NULL);
        redis_server_kill(server); /* answered keys are in its log: --appendfsync always */
        redis_server_restart(server);
    }
    pthread_join(thread, NULL);
    assert_string_equal(ctx.failure.text, "");
    assert_all_in(ctx.filter, ctx.count);
    tamis_filter_free(ctx.filter);
    tamis_redis_close(redis);
}

static void says_which_server_is_away(void **state) {
    char away[40];
    size_t done;
    (void)state;
    begin_test("?patience=3s&retry_interval=5ms");
    tamis_redis *redis = open_servers();
    tamis_filter *filter = open_on(redis, "away?expect=100000&fpr=0.001&partition=8192");
    redis_server_kill(&servers[1]);
    snprintf(away, sizeof away, "redis 127.0.0.1:%d:", servers[1].port);
    assert_int_equal(tamis_filter_add_many(filter, keys, 1000, NULL, &done, &err), TAMIS_E_IO);
    if (strncmp(err.text, away, strlen(away)) != 0)
        fail_msg("%s", err.text);
    redis_server_restart(&servers[1]);
    add_keys(filter, 0, 1000);
    assert_all_in(filter, 1000);
    tamis_filter_free(filter);
    tamis_redis_close(redis);
}

/* Every Redis key of a family is on the server where the filter of its name has it, and has an expiry. */
static void families_are_on_all_servers(void **state) {
    static const char *const families[] = {
        "user:*?expect=100&fpr=0.001&ttl=1h", "f?layout=java&expect=100&fpr=0.001&ttl=1h",
        "f?layout=php2&bits=4000&probes=9&ttl=1h", "f?layout=php3&bits=4000&probes=9&ttl=1h"};
    (void)state;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        begin_test("");
        tamis_redis *redis = open_servers();
        const size_t made = redis_families_fill(redis, families[i]);
        size_t there = 0, expire = 0;
        for (int j = 0; j < SERVERS; j++) {
            const char *keyspace = redis_server_command(&servers[j], "INFO keyspace");
            assert_non_null(strstr(keyspace, "expires="));
            expire += (size_t)atoll(strstr(keyspace, "expires=") + 8);
            there += (size_t)redis_server_number(&servers[j], "DBSIZE");
        }
        assert_int_equal(expire, there);
        if (i < 2) { /* the other layouts choose the Redis key by element */
            assert_int_equal(there, made);
            assert_int_equal(count_placed(), made);
        }
        tamis_redis_close(redis);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_lists_that_say_nothing_certain),
        cmocka_unit_test(reads_lists),
        cmocka_unit_test(spreads_partitions_by_checksum),
        cmocka_unit_test(keeps_a_filter_of_one_key_on_one_server),
        cmocka_unit_test(drops_the_keys_of_every_server),
        cmocka_unit_test(moves_whole_filters),
        cmocka_unit_test(distinguishes_damage_from_absence),
        cmocka_unit_test(every_key_expires),
        cmocka_unit_test(refuses_layouts_of_one_server),
        cmocka_unit_test(a_query_after_a_barrier_waits_for_all_replies),
        cmocka_unit_test(families_are_on_all_servers),
        cmocka_unit_test(says_which_server_is_away),
        cmocka_unit_test(rides_out_the_loss_of_each),
    };
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
