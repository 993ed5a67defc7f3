/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Proxies of Codis, found by a real ZooKeeper. The proxies are those of the tests, in front of one
 * redis-server. That server lacks the commands that Codis refuses, and UNLINK, which the servers behind Codis
 * do not have.
 * ctest: long
 * ctest: timeout=120
 */
#include <pthread.h>
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

#include "base/memory.h"
#include "store/redis/request/redis_requests.h"
#include "store/redis/topology/proxy_watch.h"
#include "support/fault.h"
#include "support/proxy.h"
#include "support/redis_calls.h"
#include "support/redis_server.h"
#include "support/zookeeper.h"

enum { KEYS_MAX = 200000, BATCH = 200, PROXIES = 2 };

static zookeeper keeper;
static redis_server server;
static proxy *proxies[PROXIES];
static tamis_error err;
static uint64_t numbers[KEYS_MAX];
static tamis_key keys[KEYS_MAX];
static tamis_answer answers[KEYS_MAX];

/* ---- all of them ---- */

static void forbid(const char *path) {
    static const char *const refused[] = {
        "BGREWRITEAOF", "BGSAVE",  "BITOP",  "BLPOP",    "BRPOP",    "CLIENT",  "CONFIG",    "DBSIZE",
        "DEBUG",        "DISCARD", "EXEC",   "FLUSHALL", "FLUSHDB",  "KEYS",    "LATENCY",   "MIGRATE",
        "MONITOR",      "MOVE",    "MSETNX", "MULTI",    "OBJECT",   "PUBLISH", "RANDOMKEY", "RENAME",
        "RENAMENX",     "RESTORE", "SAVE",   "SCAN",     "SCRIPT",   "SLOWLOG", "SUBSCRIBE", "SYNC",
        "TIME",         "UNWATCH", "WATCH",  "CLUSTER",  "READONLY", "UNLINK",  "GETEX",     "COPY"};
    char settings[4000];
    int size = 0;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        size += sprintf(settings + size, "rename-command %s \"\"\n", refused[i]);
    file_write(path, settings, (size_t)size);
}

static int set_up_all(void **state) {
    static const char *options[] = {"--include", NULL, NULL};
    (void)state;
    scratch_make();
    for (uint64_t i = 0; i < KEYS_MAX; i++) {
        numbers[i] = i;
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    if (!redis_server_installed() || !zookeeper_installed())
        return 0;
    forbid(options[1] = scratch("codis.conf"));
    redis_server_start(&server, options);
    for (int i = 0; i < PROXIES; i++)
        proxies[i] = proxy_start(server.socket);
    zookeeper_start(&keeper);
    return 0;
}

static int tear_down_all(void **state) {
    (void)state;
    zookeeper_stop(&keeper);
    for (int i = 0; i < PROXIES; i++)
        proxy_stop(proxies[i]);
    redis_server_stop(&server);
    scratch_remove();
    return 0;
}

static void begin_test(void) {
    if (!keeper.pid || !server.pid)
        skip();
    err = (tamis_error)TAMIS_ERROR_INIT;
}

/* ---- proxies as they register ---- */

static const char dead[] = "{\"addr\":\"127.0.0.1:1\",\"state\":\"online\"}";

static void set_state(const char *znode, int i, const char *state) {
    char path[200], data[300];
    snprintf(path, sizeof path, "%s/proxy-%032d", znode, i);
    const int size = snprintf(data, sizeof data,
                              "{\n    \"addr\": \"127.0.0.1:%d\",\n    \"admin\": \"127.0.0.1:11080\",\n"
                              "    \"start\": \"2026-01-01 00:00:00 +0000\",\n    \"token\": \"%032d\",\n"
                              "    \"state\": \"%s\"\n}",
                              proxy_port(proxies[i]), i, state);
    zookeeper_set(&keeper, path, data, size);
}

static void set_text(const char *path, const char *text) {
    zookeeper_set(&keeper, path, text, (int)strlen(text));
}

static void leave(const char *znode, int i) {
    char path[200];
    snprintf(path, sizeof path, "%s/proxy-%032d", znode, i);
    zookeeper_remove(&keeper, path);
}

/* Makes a URI with time-outs for a busy machine, unless `rest` has others. */
static const char *uri_of(const char *rest) {
    static char uri[300];
    const char *timeout = strstr(rest, "timeout=") ? "" : strchr(rest, '?') ? "&timeout=10s" : "?timeout=10s";
    snprintf(uri, sizeof uri, "codis+zk://127.0.0.1:%d/%s%s", keeper.port, rest, timeout);
    return uri;
}

static tamis_redis *open_codis(const char *rest) {
    tamis_redis *redis;
    tamis_status status;
    do
        status = tamis_redis_open(&redis, uri_of(rest), NULL, &err);
    while (status == TAMIS_E_TIMEOUT);
    OK(status);
    return redis;
}

static tamis_filter *open_filter(tamis_redis *redis, const char *name) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter;
    options.create = true;
    OK(tamis_redis_filter_open(&filter, redis, name, &options, &err));
    return filter;
}

static void add(tamis_filter *filter, size_t from, size_t count) {
    size_t done;
    OK(tamis_filter_add_many(filter, keys + from, count, answers, &done, &err));
    assert_int_equal(done, count);
}

static void assert_all_in(tamis_filter *filter, size_t count) {
    size_t done;
    OK(tamis_filter_contains_many(filter, keys, count, answers, &done, &err));
    assert_int_equal(done, count);
    for (size_t i = 0; i < count; i++)
        if (answers[i] != TAMIS_PRESENT)
            fail_msg("key %zu is answered and not in", i);
}

static void refuses(const char *uri, tamis_status status, const char *says) {
    tamis_redis *redis;
    assert_string_equal(tamis_status_name(tamis_redis_open(&redis, uri, NULL, &err)),
                        tamis_status_name(status));
    if (!strstr(err.text, says) || strstr(err.text, "sesam"))
        fail_msg("no '%s' in: %s", says, err.text);
}

/* ---- what is read ---- */

static void reads_uris(void **state) {
    const tamis_allocator allocator = tamis__allocator_resolve(NULL);
    tamis__redis_uri parsed;
    (void)state;
    assert_int_equal(tamis__redis_uri_parse(&parsed,
                                            "codis+zk://u:p@z1,z2:7/my%2Fproduct/3/n%2Fm"
                                            "?zk_user=me&zk_password=sesame&ttl=1d",
                                            &allocator, &err),
                     TAMIS_OK);
    assert_int_equal(parsed.kind, TAMIS__REDIS_CODIS);
    assert_int_equal(parsed.addresses[0].port, 2181);
    assert_int_equal(parsed.addresses[1].port, 7);
    assert_string_equal(parsed.master, "my/product");
    assert_string_equal(parsed.name, "n/m");
    assert_int_equal(parsed.db, 3);
    assert_null(strstr(parsed.shown, "sesame"));
    tamis__redis_uri_release(&parsed);
    refuses("codis+zk://z1,z2", TAMIS_E_INVALID, "names no product");
    refuses("codis+zk://z1,z2//n", TAMIS_E_INVALID, "names no product");
    refuses("redis://s1/?zk_password=sesame", TAMIS_E_INVALID, "zk_password");
}

static void reads_what_proxies_say(void **state) {
    static const struct {
        const char *data, *host;
        uint16_t port;
        bool is_online;
    } good[] = {
        {"{\"addr\":\"h:1\",\"state\":\"online\"}", "h", 1, true},
        {"{\"state\":\"offline\",\"addr\":\"10.0.0.1:65535\",\"more\":[1,{}]}", "10.0.0.1", 65535, false},
        {"{\"addr\":\"[::1]:19000\",\"state\":\"online\"}", "::1", 19000, true},
        {"{\"addr\":\"h:1\",\"state\":\"Online\"}", "h", 1, false},
    };
    static const char *const bad[] = {
        "",
        "{",
        "online",
        "[]",
        "null",
        "{}",
        "{\"addr\":\"h:1\"}",
        "{\"state\":\"online\"}",
        "{\"addr\":1,\"state\":\"online\"}",
        "{\"addr\":\"h:1\",\"state\":1}",
        "{\"addr\":\"h\",\"state\":\"online\"}",
        "{\"addr\":\":1\",\"state\":\"online\"}",
        "{\"addr\":\"h:\",\"state\":\"online\"}",
        "{\"addr\":\"h:0\",\"state\":\"online\"}",
        "{\"addr\":\"h:65536\",\"state\":\"online\"}",
        "{\"addr\":\"h:-1\",\"state\":\"online\"}",
        "{\"addr\":\"h:1x\",\"state\":\"online\"}",
        "{\"addr\":\"h\\u0000:1\",\"state\":\"online\"}",
        "{\"addr\":\"h:1\",\"state\":\"online\"} x",
    };
    tamis__proxy parsed;
    bool is_online;
    char long_one[400];
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(tamis__proxy_read(&parsed, &is_online, good[i].data, strlen(good[i].data)));
        assert_string_equal(parsed.host, good[i].host);
        assert_int_equal(parsed.port, good[i].port);
        assert_int_equal(is_online, good[i].is_online);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (tamis__proxy_read(&parsed, &is_online, bad[i], strlen(bad[i])) || is_online)
            fail_msg("%s", bad[i]);
    for (int size = 255; size <= 256; size++) {
        const int ctx =
            snprintf(long_one, sizeof long_one, "{\"addr\":\"%0*d:1\",\"state\":\"online\"}", size, 0);
        assert_int_equal(tamis__proxy_read(&parsed, &is_online, long_one, (size_t)ctx), size == 255);
    }
}

/* ---- filters ---- */

static const char *const layouts[] = {
    "java-%s?layout=java&expect=1000&fpr=0.001&ttl=1h",  "php1-%s?layout=php1&bits=100000&probes=8",
    "php2-%s?layout=php2&bits=100000&probes=8",          "php3-%s?layout=php3&bits=100000&probes=8&ttl=1h",
    "redisson-%s?layout=redisson&expect=1000&fpr=0.001", "tamis-%s?expect=1000&fpr=0.001&partition=512",
};

/* Uses a filter by the proxies and by the server directly: it must be the same. */
static void use(tamis_redis *codis, tamis_redis *itself, const char *layout, const char *znode) {
    char name[200];
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    snprintf(name, sizeof name, layout, znode); // NOLINT
    tamis_filter *here = open_filter(codis, name), *there = open_filter(itself, name);
    for (size_t i = 0; i < 500; i += 50) {
        add(here, i, 50);
        for (size_t j = 0; j < 50; j++)
            assert_int_not_equal(answers[j], TAMIS_UNKNOWN);
    }
    assert_all_in(there, 500);
    add(there, 500, 100);
    assert_all_in(here, 600);
    OK(tamis_filter_info_get(here, &info, &err));
    assert_in_range((int)info.cardinality, 300, 700); /* bkdr has poor hashes */
    OK(tamis_filter_clear(here, &err));
    add(here, 0, 100);
    if (strncmp(name, "tamis-", 6) == 0)
        *strchr(name, '?') = '\0';
    OK(tamis_redis_expire(codis, name, 100000, &err));
    OK(tamis_redis_expire(codis, name, 0, &err));
    OK(tamis_redis_drop(codis, name, &err));
    tamis_filter_free(there);
    tamis_filter_free(here);
}

static void push_and_pull(tamis_redis *codis) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *made, *pulled;
    size_t done;
    plan_options.expect = 10000;
    plan_options.fpr = 1e-3;
    plan_options.kind = TAMIS_KIND_BLOCKED;
    OK(tamis_plan_make(&plan, &plan_options, &err));
    OK(tamis_filter_create(&made, &plan, NULL, &err));
    OK(tamis_filter_add_many(made, keys, 10000, NULL, &done, &err));
    OK(tamis_redis_push(made, codis, "pushed?partition=4096", NULL, &err));
    OK(tamis_redis_alias(codis, "alias", "pushed", &err));
    tamis_filter *there = open_filter(codis, "alias");
    OK(tamis_redis_push(made, codis, "pushed", NULL, &err));
    assert_all_in(there, 10000);
    OK(tamis_redis_pull(&pulled, there, &err));
    assert_all_in(pulled, 10000);
    assert_string_equal(tamis_status_name(tamis_redis_union(there, made, &err)), "TAMIS_E_UNSUPPORTED");
    if (!strstr(err.text, "BITOP"))
        fail_msg("%s", err.text);
    tamis_filter_free(pulled);
    tamis_filter_free(there);
    tamis_filter_free(made);
}

/* Would need RENAME, which is refused. So nothing is written, since it would stay. */
static void push_into_one_key(tamis_redis *codis) {
    static const char name[] = "java?layout=java&expect=10000&fpr=1e-3", written[] = "cmdstat_setrange:";
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *made;
    OK(tamis_redis_plan_for(&plan, NULL, codis, name, &err));
    OK(tamis_filter_create(&made, &plan, NULL, &err));
    redis_server_command(&server, "SETRANGE before 0 x"); /* so that they are counted */
    char *before = strdup(strstr(redis_server_command(&server, "INFO commandstats"), written));
    assert_string_equal(tamis_status_name(tamis_redis_push(made, codis, name, NULL, &err)),
                        "TAMIS_E_UNSUPPORTED");
    if (!strstr(err.text, "takes RENAME, which a Codis refuses"))
        fail_msg("%s", err.text);
    const char *after = strstr(redis_server_command(&server, "INFO commandstats"), written);
    assert_int_equal(strcspn(before, ","), strcspn(after, ","));
    assert_memory_equal(before, after, strcspn(before, ","));
    free(before);
    tamis_filter_free(made);
}

static void both_places_are_round_robin(void **state) {
    static const char *const locations[][2] = {{"/jodis/one", "one"}, {"/zk/codis/db_old", "old"}};
    tamis_redis *itself;
    (void)state;
    begin_test();
    OK(tamis_redis_open(&itself, server.uri_unix, NULL, &err));
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < PROXIES; j++)
            set_state(locations[i][0], j, "online");
        set_text(i == 0 ? "/jodis/one/other" : "/zk/codis/db_old/slots", dead);
        tamis_redis *codis = open_codis(locations[i][1]);
        for (size_t j = 0; j < sizeof layouts / sizeof *layouts; j++) {
            for (int k = 0; k < PROXIES; k++)
                proxy_disarm(proxies[k]);
            use(codis, itself, layouts[j], locations[i][1]);
            for (int k = 0; k < PROXIES; k++)
                assert_true(proxy_passed(proxies[k], PROXY_REQUESTS) > 1000);
        }
        push_and_pull(codis);
        push_into_one_key(codis);
        tamis_redis_close(codis);
    }
    tamis_redis_close(itself);
}

/* Proxies keep no order between Redis keys. A command that must come last has to wait for all answers
 * before it. */
enum { BEFORE = 1000, ALL = 1500 };
static size_t selected;

static bool put_ping(void *context, size_t i, tamis__connection *conn) {
    (void)context;
    if (i >= BEFORE)
        assert_in_range(selected, BEFORE, ALL);
    tamis__connection_put_command(conn, 1);
    tamis__connection_put_text(conn, "PING");
    return true;
}

static tamis_status accept_ping_reply(void *context, size_t i, const tamis__reply *reply, bool again,
                                      tamis_error *error) {
    (void)context;
    (void)i;
    (void)again;
    (void)error;
    selected += reply->type == TAMIS__REPLY_STATUS;
    return TAMIS_OK;
}

static void barriers_are_waited_for(void **state) {
    const tamis__requests requests = {.count = ALL,
                                      .put_command = put_ping,
                                      .accept_reply = accept_ping_reply,
                                      .what = "it",
                                      .barriers = {BEFORE, BEFORE}};
    bool any_retried = true;
    (void)state;
    begin_test();
    set_state("/jodis/order", 0, "online");
    tamis_redis *redis = open_codis("order");
    selected = 0;
    OK(tamis__requests_run(redis, &requests, &any_retried, &err));
    assert_int_equal(selected, ALL);
    assert_false(any_retried);
    tamis_redis_close(redis);
}

/* ---- errors ---- */

static void says_what_is_wrong(void **state) {
    char data[100000];
    (void)state;
    begin_test();
    set_state("/jodis/here", 0, "online");
    refuses(uri_of("nowhere"), TAMIS_E_NOT_FOUND, "has no product 'nowhere'");
    refuses(uri_of("a%2F%2Fb"), TAMIS_E_IO, "bad arguments");
    tamis_redis *redis = open_codis("here?zk_user=a&zk_password=b");
    tamis_redis_close(redis);
    snprintf(data, sizeof data, "codis+zk://:sesame@127.0.0.1:%d/here?timeout=10s", keeper.port);
    refuses(data, TAMIS_E_REFUSED, "refused the password");
    set_state("/jodis/here", 0, "offline");
    refuses(uri_of("here"), TAMIS_E_IO, "Proxy list empty: of 1 proxies in /jodis/here of");
    set_state("/zk/codis/db_older", 0, "offline");
    refuses(uri_of("older"), TAMIS_E_IO, "in /zk/codis/db_older of");
    memset(data, ' ', sizeof data);
    memcpy(data, dead, strlen(dead));
    zookeeper_set(&keeper, "/jodis/here/proxy-huge", data, sizeof data);
    zookeeper_set(&keeper, "/jodis/here/proxy-none", NULL, -1);
    zookeeper_set(&keeper, "/jodis/here/proxy-empty", "", 0);
    set_text("/jodis/here/proxy-text", "online");
    set_text("/jodis/here/proxy-lost", "{\"state\":\"online\"}");
    refuses(uri_of("here"), TAMIS_E_IO,
            "of 6 proxies in /jodis/here of ZooKeeper none is online, and some have no");
    set_state("/jodis/here", 0, "online");
    tamis_redis_close(open_codis("here")); /* those do no harm to it */
    refuses("codis+zk://127.0.0.1:1/here?timeout=100ms", TAMIS_E_TIMEOUT, "ZooKeeper was not reached");
}

static void says_who_may_not_read(void **state) {
    (void)state;
    begin_test();
    set_state("/jodis/locked", 0, "online");
    zookeeper_lock(&keeper, "/jodis/locked", "me:sesame");
    refuses(uri_of("locked"), TAMIS_E_REFUSED, "give zk_user= and zk_password=");
    refuses(uri_of("locked?zk_user=me&zk_password=sesam"), TAMIS_E_REFUSED, "zk_user=");
    tamis_redis_close(open_codis("locked?zk_user=me&zk_password=sesame"));
}

/* A proxy that cannot be reached is skipped. */
static void a_proxy_that_died_is_passed_over(void **state) {
    (void)state;
    begin_test();
    set_state("/jodis/half", 1, "online");
    set_text("/jodis/half/proxy-dead", dead);
    for (int i = 0; i < 4; i++) {
        tamis_redis *redis = open_codis("half");
        tamis_filter *filter = open_filter(redis, "half?layout=java&expect=10000&fpr=0.01");
        for (size_t j = 0; j < 10; j++)
            add(filter, j * 100, 100);
        tamis_filter_free(filter);
        tamis_redis_close(redis);
    }
    leave("/jodis/half", 1);
    refuses(uri_of("half"), TAMIS_E_IO, "127.0.0.1:1: ");
}

/* With all proxies offline nothing is sent, although the one that went offline would still answer. */
static void no_proxy_online_is_an_error(void **state) {
    size_t done;
    (void)state;
    begin_test();
    set_state("/jodis/off", 0, "online");
    tamis_redis *redis = open_codis("off?patience=2s&retry_interval=5ms");
    tamis_filter *filter = open_filter(redis, "off?layout=java&expect=10000&fpr=0.01");
    add(filter, 0, 100);
    set_state("/jodis/off", 0, "offline");
    while (tamis_filter_add_many(filter, keys, 100, NULL, &done, &err) == TAMIS_OK)
        pause_ms(5);
    assert_string_equal(tamis_status_name(err.status), "TAMIS_E_IO");
    if (done != 0 || !strstr(err.text, "Proxy list empty: of 1 proxies in /jodis/off"))
        fail_msg("%zu: %s", done, err.text);
    set_state("/jodis/off", 0, "online");
    add(filter, 100, 100);
    assert_all_in(filter, 200);
    tamis_filter_free(filter);
    tamis_redis_close(redis);
}

static void every_allocation_may_fail(void **state) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    fault_memory memory = {0};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_status status = TAMIS_E_NOMEM;
    (void)state;
    begin_test();
    const size_t descriptors = fault_open_descriptors();
    set_state("/jodis/small", 0, "online");
    set_state("/jodis/small", 1, "online");
    options.allocator = &allocator;
    for (uint64_t n = 1; status != TAMIS_OK; n++) {
        tamis_filter *filter = NULL;
        size_t done;
        err = (tamis_error)TAMIS_ERROR_INIT;
        memory = (fault_memory){.fail_at = n};
        status = tamis_redis_filter_open(&filter, NULL, uri_of("small/it?layout=java&expect=100&fpr=0.01"),
                                         &options, &err);
        if (status == TAMIS_OK)
            status = tamis_filter_add_many(filter, keys, 10, answers, &done, &err);
        tamis_filter_free(filter);
        if (status != (memory.refused ? TAMIS_E_NOMEM : TAMIS_OK) || memory.live_blocks != 0)
            fail_msg("%d: %zu blocks left: %s", (int)n, memory.live_blocks, err.text);
        while (fault_open_descriptors() > descriptors) /* the proxies' own are closed a little later */
            pause_ms(1);
    }
}

/* ---- while adds run ---- */

typedef struct adding {
    pthread_t thread;
    tamis_redis *redis;
    tamis_filter *filter;
    size_t done;
    tamis_error failure;
    bool stop;
} adding;

static void *add_all(void *context) {
    adding *ctx = context;
    tamis_status status = TAMIS_OK;
    while (status == TAMIS_OK && !__atomic_load_n(&ctx->stop, __ATOMIC_ACQUIRE)) {
        size_t added, from = ctx->done < KEYS_MAX ? ctx->done : 0;
        status = tamis_filter_add_many(ctx->filter, keys + from, BATCH, NULL, &added, &ctx->failure);
        if (from == ctx->done)
            __atomic_store_n(&ctx->done, from + added, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void start_adding(adding *ctx, const char *rest, const char *name) {
    *ctx = (adding){.redis = open_codis(rest), .failure = TAMIS_ERROR_INIT};
    ctx->filter = open_filter(ctx->redis, name);
    assert_int_equal(pthread_create(&ctx->thread, NULL, add_all, ctx), 0);
}

static void stop_adding(adding *ctx) {
    __atomic_store_n(&ctx->stop, true, __ATOMIC_RELEASE);
    pthread_join(ctx->thread, NULL);
    assert_string_equal(ctx->failure.text, "");
    assert_all_in(ctx->filter, ctx->done < KEYS_MAX ? ctx->done : KEYS_MAX);
    tamis_filter_free(ctx->filter);
    tamis_redis_close(ctx->redis);
}

/* Waits until this proxy gets requests. */
static void wait_for(int i) {
    const uint64_t before = proxy_passed(proxies[i], PROXY_REQUESTS);
    while (proxy_passed(proxies[i], PROXY_REQUESTS) == before)
        pause_ms(5);
}

/* Waits until this proxy gets no more requests, for as long as the other one gets many. */
static void wait_without(int i) {
    uint64_t before, others;
    do {
        before = proxy_passed(proxies[i], PROXY_REQUESTS);
        others = proxy_passed(proxies[1 - i], PROXY_REQUESTS);
        while (proxy_passed(proxies[1 - i], PROXY_REQUESTS) < others + 300000)
            pause_ms(5);
    } while (proxy_passed(proxies[i], PROXY_REQUESTS) != before);
}

static size_t idle_links(tamis_redis *redis, int i) {
    size_t count = 0;
    pthread_mutex_lock(&redis->mutex);
    for (const tamis__node *node = redis->nodes; node; node = node->next)
        if (node->endpoint.address.port == proxy_port(proxies[i]))
            count += node->idle_count;
    pthread_mutex_unlock(&redis->mutex);
    return count;
}

static void follows(const char *znode, const char *product, const char *name) {
    adding ctx;
    set_state(znode, 0, "online");
    start_adding(&ctx, product, name);
    wait_for(0);
    set_state(znode, 1, "online");
    wait_for(1);
    set_state(znode, 0, "offline");
    wait_without(0);
    assert_int_equal(idle_links(ctx.redis, 0), 0);
    set_state(znode, 0, "online");
    wait_for(0);
    leave(znode, 1);
    wait_without(1);
    assert_int_equal(idle_links(ctx.redis, 1), 0);
    leave(znode, 0); /* no proxy for a while */
    pause_ms(100);
    set_state(znode, 1, "online");
    wait_for(1);
    for (int i = 0; i < 10; i++) { /* connections are lost too */
        proxy_arm(proxies[1], i % 2 ? PROXY_REQUESTS : PROXY_REPLIES, i % 3 ? PROXY_CUT : PROXY_RESET, 5000);
        wait_for(1);
        while (proxy_harmed(proxies[1]) == 0)
            pause_ms(5);
    }
    stop_adding(&ctx);
}

static void follows_proxies_that_come_and_go(void **state) {
    (void)state;
    begin_test();
    follows("/jodis/flow", "flow?patience=60s&retry_interval=5ms",
            "flow?expect=200000&fpr=0.001&partition=65536");
    follows("/zk/codis/db_brook", "brook?patience=60s&retry_interval=5ms",
            "brook?layout=java&expect=200000&fpr=0.001");
}

/* Without ZooKeeper the last list stays in use. After its restart changes are seen, even if it has
 * forgotten the session. */
static void outlives_zookeeper(void **state) {
    adding ctx;
    (void)state;
    begin_test();
    set_state("/jodis/alone", 0, "online");
    start_adding(&ctx, "alone?patience=60s&retry_interval=5ms&timeout=200ms",
                 "alone?expect=200000&fpr=0.001");
    for (int forgets = 0; forgets < 2; forgets++) {
        wait_for(forgets);
        zookeeper_kill(&keeper);
        for (int i = 0; i < 20; i++)
            wait_for(forgets);
        zookeeper_restart(&keeper, forgets);
        set_state("/jodis/alone", 1 - forgets, "online");
        wait_for(1 - forgets);
        if (!forgets)
            leave("/jodis/alone", 0);
        wait_without(forgets);
    }
    stop_adding(&ctx);
}

/* Without ZooKeeper opening fails with a message, and open handles continue. */
static void open_fails_without_zookeeper(void **state) {
    (void)state;
    begin_test();
    set_state("/jodis/last", 0, "online");
    tamis_redis *redis = open_codis("last");
    zookeeper_kill(&keeper);
    refuses(uri_of("last?timeout=200ms"), TAMIS_E_TIMEOUT, "ZooKeeper was not reached in time");
    tamis_filter *filter = open_filter(redis, "last?layout=java&expect=1000&fpr=0.01");
    add(filter, 0, 100);
    assert_all_in(filter, 100);
    tamis_filter_free(filter);
    tamis_redis_close(redis);
    zookeeper_restart(&keeper, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_uris),
        cmocka_unit_test(reads_what_proxies_say),
        cmocka_unit_test(both_places_are_round_robin),
        cmocka_unit_test(barriers_are_waited_for),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(says_who_may_not_read),
        cmocka_unit_test(a_proxy_that_died_is_passed_over),
        cmocka_unit_test(no_proxy_online_is_an_error),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(follows_proxies_that_come_and_go),
        cmocka_unit_test(outlives_zookeeper),
        cmocka_unit_test(open_fails_without_zookeeper),
    };
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
