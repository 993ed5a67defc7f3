/* SPDX-License-Identifier: BSD-2-Clause */

/* Layout tamis on a real server: making filters, refusals, and damage. A key of a lost partition must
 * never be answered TAMIS_ABSENT. */
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

#include <tamis/experimental/redis.h>

#include "store/redis/layout/layout_tamis.h"
#include "support/fault.h"
#include "support/redis_calls.h"
#include "support/redis_server.h"

#define PLAN "expect=20000&fpr=0.01"

enum { KEYS = 2000, CLIENTS = 8 };

static redis_server server;
static tamis_error err;
static size_t descriptors;
static fault_memory memory;

static int set_up(void **state) {
    (void)state;
    descriptors = fault_open_descriptors();
    if (redis_server_installed())
        redis_server_start(&server, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    redis_server_stop(&server);
    return fault_open_descriptors() == descriptors ? 0 : -1;
}

static int start(void **state) {
    (void)state;
    memory = (fault_memory){0};
    if (server.pid)
        redis_server_command(&server, "FLUSHALL");
    return 0;
}

static int stop(void **state) {
    (void)state;
    return memory.live_blocks == 0 ? 0 : -1;
}

static void need_server(void) {
    if (!server.pid)
        skip();
}

static tamis_status try_open(tamis_filter **filter, const char *rest, bool create, const char *secret,
                             tamis_error *error) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_allocator allocator = fault_memory_allocator(&memory);
    char uri[300];
    options.create = create;
    options.secret = secret;
    options.secret_size = secret ? strlen(secret) : 0;
    options.allocator = create ? NULL : &allocator; /* fault_memory works with one thread only */
    snprintf(uri, sizeof uri, "%s/%s", server.uri, rest);
    return tamis_redis_filter_open(filter, NULL, uri, &options, error);
}

static tamis_filter *open_filter(const char *rest) {
    tamis_filter *filter = NULL;
    OK(try_open(&filter, rest, true, NULL, &err));
    return filter;
}

static void refuses(const char *rest, tamis_status expected, const char *said) {
    tamis_filter *filter = NULL;
    snprintf(err.text, sizeof err.text, "-");
    tamis_status status = try_open(&filter, rest, false, NULL, &err);
    if (status != expected || !strstr(err.text, said) || !strstr(err.text, "; "))
        fail_msg("%s: %s: %s", rest, tamis_status_name(status), err.text);
    assert_null(filter);
}

static void make_keys(tamis_key keys[KEYS], uint64_t from) {
    static uint64_t values[2][KEYS];
    uint64_t *to = values[from != 0];
    for (uint64_t i = 0; i < KEYS; i++) {
        to[i] = from + i;
        keys[i] = (tamis_key){&to[i], sizeof to[i]};
    }
}

static size_t count(const tamis_answer *answers, tamis_answer which) {
    size_t total = 0;
    for (int i = 0; i < KEYS; i++)
        total += answers[i] == which;
    return total;
}

static void add_all(tamis_filter *filter) {
    tamis_key keys[KEYS];
    tamis_answer answers[KEYS];
    size_t done = 0;
    make_keys(keys, 0);
    OK(tamis_filter_add_many(filter, keys, KEYS, answers, &done, &err));
    assert_int_equal(done, KEYS);
    assert_true(count(answers, TAMIS_ABSENT) > KEYS - 20);
    assert_int_equal(count(answers, TAMIS_UNKNOWN), 0);
}

/* Checks that all keys are present, and few others. */
static void has_all(const tamis_filter *filter) {
    tamis_key keys[KEYS];
    tamis_answer answers[KEYS];
    make_keys(keys, 0);
    OK(tamis_filter_contains_many(filter, keys, KEYS, answers, NULL, &err));
    assert_int_equal(count(answers, TAMIS_PRESENT), KEYS);
    make_keys(keys, UINT64_C(1) << 40);
    OK(tamis_filter_contains_many(filter, keys, KEYS, answers, NULL, &err));
    assert_true(count(answers, TAMIS_PRESENT) < 20);
}

/* Checks that lookups and adds fail without an answer. */
static void answers_nothing(tamis_filter *filter, tamis_status expected, const char *said) {
    tamis_key keys[KEYS];
    tamis_answer answers[KEYS];
    make_keys(keys, 0);
    for (int adds = 0; adds < 2; adds++) {
        size_t done = 77;
        memset(answers, 77, sizeof answers);
        snprintf(err.text, sizeof err.text, "-");
        tamis_status status = adds ? tamis_filter_add_many(filter, keys, KEYS, answers, &done, &err)
                                   : tamis_filter_contains_many(filter, keys, KEYS, answers, &done, &err);
        if (status != expected || !strstr(err.text, said) || !strstr(err.text, "; "))
            fail_msg("%s: %s", tamis_status_name(status), err.text);
        assert_int_equal(done, 0);
        assert_int_equal(count(answers, 77), KEYS);
    }
}

/* ---- making ---- */

static void a_family_is_made_once_and_found_again(void **state) {
    (void)state;
    need_server();
    refuses("f", TAMIS_E_NOT_FOUND, "no such filter");
    refuses("f?" PLAN, TAMIS_E_NOT_FOUND, "no such filter");
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    tamis_filter *filter = open_filter("f?" PLAN "&partition=4096"), *again = NULL;
    assert_true(redis_server_number(&server, "DBSIZE") > 4);
    add_all(filter);
    has_all(filter);
    OK(try_open(&again, "f", false, NULL, &err));
    has_all(again);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    OK(tamis_filter_info_get(again, &info, &err));
    assert_true(info.cardinality > 0.95 * KEYS && info.cardinality < 1.05 * KEYS);
    tamis_filter_free(filter);
    tamis_filter_free(again);
}

static void a_different_plan_is_refused_with_the_difference(void **state) {
    (void)state;
    need_server();
    static const struct {
        const char *rest, *said;
    } rows[] = {
        {"f?expect=20001", "has expect=20000, but 20001"},
        {"f?fpr=0.02", "has fpr=0.01, but 0.02"},
        {"f?probes=31", "but 31 is requested"},
        {"f?partition=8192", "has partition=4096, but 8192"},
        {"f?seed=0", "has seed=5, but 0"},
        {"f?seed=6", "has seed=5, but 6"},
        {"f?scheme=sip", "has scheme=xxh3, but sip"},
        {"f?fpr=0.02&expect=20000", "has fpr=0.01, but 0.02"},
    };
    tamis_filter_free(open_filter("f?" PLAN "&seed=5&partition=4096"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refuses(rows[i].rest, TAMIS_E_MISMATCH, rows[i].said);
    refuses("f?scheme=bkdr31", TAMIS_E_INVALID, "not bkdr31");
    refuses("f?width=3", TAMIS_E_INVALID, "'width'");
    refuses("a{b}?" PLAN, TAMIS_E_INVALID, "brace");
    tamis_filter *filter = NULL;
    OK(try_open(&filter, "f?" PLAN "&seed=5&partition=4096&scheme=xxh3", true, NULL, &err));
    tamis_filter_free(filter);
}

static void a_missing_secret_is_reported_again(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = NULL, *other = NULL;
    OK(try_open(&filter, "f?" PLAN, true, "0123456789abcdef", &err));
    add_all(filter);
    assert_int_equal(try_open(&other, "f", true, "0123456789abcdeX", &err), TAMIS_E_SECRET);
    assert_non_null(strstr(err.text, "another secret"));
    assert_null(strstr(err.text, "0123456789"));
    /* Without the secret the filter is described, but not queried. */
    OK(try_open(&other, "f", true, NULL, &err));
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    OK(tamis_filter_info_get(other, &info, &err));
    assert_true(info.ones > 0);
    tamis_answer answer = TAMIS_UNKNOWN;
    size_t done = 9;
    const tamis_key key = {"k", 1};
    assert_int_equal(tamis_filter_contains_many(other, &key, 1, &answer, &done, &err), TAMIS_E_SECRET);
    assert_int_equal(done, 0);
    assert_int_equal(tamis_filter_add_many(other, &key, 1, &answer, &done, &err), TAMIS_E_SECRET);
    assert_int_equal(done, 0);
    assert_int_equal(answer, TAMIS_UNKNOWN);
    tamis_filter_free(other);
    OK(try_open(&other, "f", true, "0123456789abcdef", &err));
    has_all(other);
    tamis_filter_free(filter);
    tamis_filter_free(other);
}

/* ---- several at once ---- */

typedef struct client {
    pthread_t thread;
    const char *rest;
    tamis_filter *filter;
    tamis_status status;
    tamis_error err;
    pthread_barrier_t *barrier;
} client;

static void *open_at_once(void *context) {
    client *self = context;
    pthread_barrier_wait(self->barrier);
    self->status = try_open(&self->filter, self->rest, true, NULL, &self->err);
    return NULL;
}

static void one_plan_wins_among_several_makers(void **state) {
    (void)state;
    need_server();
    static const char *const parameters[] = {"f?" PLAN "&partition=4096",
                                             "f?expect=30000&fpr=0.001&partition=8192"};
    for (uint64_t round = 0; round < test_scale(40, 4, 8); round++) {
        client clients[CLIENTS];
        pthread_barrier_t barrier;
        int opened[2] = {0};
        tamis_filter *first = NULL;
        redis_server_command(&server, "FLUSHALL");
        pthread_barrier_init(&barrier, NULL, CLIENTS);
        for (int i = 0; i < CLIENTS; i++) {
            clients[i] = (client){.rest = parameters[i % 2], .barrier = &barrier, .err = TAMIS_ERROR_INIT};
            pthread_create(&clients[i].thread, NULL, open_at_once, &clients[i]);
        }
        for (int i = 0; i < CLIENTS; i++)
            pthread_join(clients[i].thread, NULL);
        pthread_barrier_destroy(&barrier);
        for (int i = 0; i < CLIENTS; i++) {
            opened[i % 2] += clients[i].status == TAMIS_OK;
            if (clients[i].status == TAMIS_OK)
                first = clients[i].filter;
            else if (clients[i].status != TAMIS_E_MISMATCH || !strstr(clients[i].err.text, "expect="))
                fail_msg("%s", clients[i].err.text);
        }
        assert_true(opened[0] + opened[1] == CLIENTS / 2 && (opened[0] == 0 || opened[1] == 0));
        add_all(first);
        for (int i = 0; i < CLIENTS; i++) {
            if (clients[i].filter)
                has_all(clients[i].filter);
            tamis_filter_free(clients[i].filter);
        }
    }
}

/* ---- damage ---- */

/* Returns the Redis key of some partition. Static storage. */
static const char *partition_of(void) {
    static char name[200];
    const char *keys = redis_server_command(&server, "KEYS tamis:{f:*}:bits");
    size_t size = strcspn(keys, " ");
    snprintf(name, sizeof name, "%.*s", (int)size, keys);
    assert_true(size > 20 && strncmp(name, "tamis:{f:", 9) == 0);
    return name;
}

static void delete_it(const char *key) {
    redis_server_number(&server, "DEL %s", key);
}

static void cut_it(const char *key) {
    test_bytes bytes = {0};
    redis_server_bytes(&server, &bytes, "GET %s", key);
    redis_server_command(&server, "SET %s %b", key, bytes.data, bytes.size - 1);
    bytes_clear(&bytes);
}

static void halve_it(const char *key) {
    test_bytes bytes = {0};
    redis_server_bytes(&server, &bytes, "GET %s", key);
    redis_server_command(&server, "SET %s %b", key, bytes.data, bytes.size / 2 - 7);
    bytes_clear(&bytes);
}

static void empty_it(const char *key) {
    redis_server_command(&server, "SET %s %s", key, "");
}

static void overwrite_its_footer(const char *key) {
    redis_server_number(&server, "SETRANGE %s %d %s", key,
                        (int)redis_server_number(&server, "STRLEN %s", key) - 64, "T");
}

static void replace_it_by_another(const char *key) {
    char copy[200];
    snprintf(copy, sizeof copy, "%s", key);
    char *number = strstr(copy, "}:bits") - 1;
    *number = *number == '0' ? '1' : '0';
    redis_server_number(&server, "COPY %s %s REPLACE", copy, key);
}

static void set_a_bit_again(const char *key) {
    delete_it(key);
    redis_server_number(&server, "SETBIT %s 4095 1", key);
}

static void make_it_a_list(const char *key) {
    delete_it(key);
    redis_server_number(&server, "RPUSH %s x", key);
}

static void a_part_that_is_gone_is_never_an_absent_key(void **state) {
    (void)state;
    need_server();
    static const struct {
        void (*harm)(const char *key);
        tamis_status status;
        const char *said;
    } rows[] = {
        {delete_it, TAMIS_E_DAMAGED, "gone or cut short"},
        {cut_it, TAMIS_E_DAMAGED, "gone or cut short"},
        {halve_it, TAMIS_E_DAMAGED, "gone or cut short"},
        {empty_it, TAMIS_E_DAMAGED, "gone or cut short"},
        {overwrite_its_footer, TAMIS_E_DAMAGED, "gone or cut short"},
        {replace_it_by_another, TAMIS_E_DAMAGED, "gone or cut short"},
        {set_a_bit_again, TAMIS_E_DAMAGED, "gone or cut short"},
        {make_it_a_list, TAMIS_E_MISMATCH, "WRONGTYPE"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        redis_server_command(&server, "FLUSHALL");
        tamis_filter *filter = open_filter("f?" PLAN "&partition=4096"), *late = NULL;
        add_all(filter);
        rows[i].harm(partition_of());
        answers_nothing(filter, rows[i].status, rows[i].said);
        OK(try_open(&late, "f", true, NULL, &err)); /* a later handle does not repair it silently */
        answers_nothing(late, rows[i].status, rows[i].said);
        tamis_filter_free(filter);
        tamis_filter_free(late);
    }
}

/* The same if the server evicts a partition to free memory. */
static void eviction_is_noticed(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter("f?expect=300000&fpr=0.01&partition=16384");
    add_all(filter);
    long long whole = redis_server_number(&server, "DBSIZE");
    char padding[4000];
    memset(padding, 'x', sizeof padding);
    redis_server_command(&server, "CONFIG SET maxmemory 3mb maxmemory-policy allkeys-random");
    for (int i = 0; i < 2000; i++)
        redis_server_command(&server, "SET padding:%d %b", i, padding, sizeof padding);
    redis_server_command(&server, "CONFIG SET maxmemory 0 maxmemory-policy noeviction");
    long long left = 0;
    for (const char *keys = redis_server_command(&server, "KEYS tamis:*"); (keys = strstr(keys, "tamis:"));
         keys++)
        left++;
    assert_true(left < whole);
    tamis_key keys[KEYS];
    tamis_answer answers[KEYS];
    make_keys(keys, 0);
    tamis_status status = tamis_filter_contains_many(filter, keys, KEYS, answers, NULL, &err);
    assert_true(status == TAMIS_E_DAMAGED || status == TAMIS_E_NOT_FOUND);
    tamis_filter_free(filter);
}

static void a_dropped_or_replaced_filter_is_reported(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter("f?" PLAN "&partition=4096");
    add_all(filter);
    redis_server_command(&server, "FLUSHALL");
    answers_nothing(filter, TAMIS_E_NOT_FOUND, "dropped");
    refuses("f", TAMIS_E_NOT_FOUND, "no such filter");
    tamis_filter *other = open_filter("f?expect=30000&fpr=0.01&partition=4096");
    answers_nothing(filter, TAMIS_E_MISMATCH, "has expect=30000, but 20000 is requested");
    add_all(other);
    has_all(other);
    tamis_filter_free(filter);
    tamis_filter_free(other);
}

static tamis_filter *open_typed(uint32_t key_type, uint32_t expected) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    tamis_filter *filter = NULL;
    char uri[300];
    options.create = true;
    options.key_type = key_type;
    snprintf(uri, sizeof uri, "%s/typed?" PLAN, server.uri);
    OK(tamis_redis_filter_open(&filter, NULL, uri, &options, &err));
    OK(tamis_filter_metadata_get(filter, &metadata, &err));
    assert_int_equal(metadata.key_type, expected);
    return filter;
}

/* The scheme of the stored plan counts. Keys hashed for one scheme are not looked up with another. */
static void the_type_of_keys_is_kept(void **state) {
    static const struct {
        uint32_t made, next;
        tamis_status expected;
    } cases[] = {{TAMIS_KEYS_INT64, TAMIS_KEYS_INT64, TAMIS_OK},
                 {TAMIS_KEYS_INT64, TAMIS_KEYS_UTF16, TAMIS_E_MISMATCH},
                 {TAMIS_KEYS_INT64, TAMIS_KEYS_BYTES, TAMIS_E_MISMATCH},
                 {TAMIS_KEYS_BYTES, TAMIS_KEYS_UTF8, TAMIS_OK},
                 {TAMIS_KEYS_BYTES, TAMIS_KEYS_UNSPECIFIED, TAMIS_OK},
                 {TAMIS_KEYS_UNSPECIFIED, TAMIS_KEYS_INT32, TAMIS_OK},
                 {9, 9, TAMIS_OK},
                 {9, TAMIS_KEYS_INT64, TAMIS_E_MISMATCH}};
    (void)state;
    need_server();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        redis_server_command(&server, "FLUSHALL");
        tamis_filter *filter = open_typed(cases[i].made, cases[i].made);
        tamis_filter *again = open_typed(TAMIS_KEYS_UTF8, cases[i].made);
        tamis_answer answer = 77;
        redis_server_command(&server, "FLUSHALL");
        tamis_filter *other = open_typed(cases[i].next, cases[i].next);
        assert_int_equal(tamis_filter_contains(filter, "k", 1, &answer, &err), cases[i].expected);
        assert_int_equal(answer, cases[i].expected == TAMIS_OK ? TAMIS_ABSENT : 77);
        if (cases[i].expected != TAMIS_OK)
            assert_non_null(strstr(err.text, "type of keys"));
        tamis_filter_free(filter);
        tamis_filter_free(again);
        tamis_filter_free(other);
    }
}

static void a_plan_that_is_none_is_refused(void **state) {
    (void)state;
    need_server();
#define GOOD_BUT(scheme, bits, probes, partition, expect, fpr)                                               \
    "layout=1 kind=blocked scheme=" scheme " seed=0 bits=" bits " probes=" probes " partition=" partition    \
    " expect=" expect " fpr=" fpr " generation=0123456789abcdef"
    static const char *const forged[] = {
        "x",
        " ",
        "layout=1",
        "layout=2 kind=blocked scheme=xxh3 seed=0 bits=1024 probes=3 partition=63 expect=9 fpr=0.1 "
        "generation=1",
        GOOD_BUT("none", "1024", "3", "63", "9", "0.1"),
        GOOD_BUT("sip", "1024", "3", "63", "9", "0.1"),
        GOOD_BUT("xxh3", "0", "3", "63", "9", "0.1"),
        GOOD_BUT("xxh3", "1000", "3", "63", "9", "0.1"),
        GOOD_BUT("xxh3", "18446744073709551104", "3", "63", "9", "0.1"),
        GOOD_BUT("xxh3", "99999999999999999999999", "3", "63", "9", "0.1"),
        GOOD_BUT("xxh3", "-512", "3", "63", "9", "0.1"),
        GOOD_BUT("xxh3", "1024", "0", "63", "9", "0.1"),
        GOOD_BUT("xxh3", "1024", "100000", "63", "9", "0.1"),
        GOOD_BUT("xxh3", "1024", "3", "0", "9", "0.1"),
        GOOD_BUT("xxh3", "1024", "3", "99999999", "9", "0.1"),
        GOOD_BUT("xxh3", "1024", "3", "63", "0", "0.1"),
        GOOD_BUT("xxh3", "1024", "3", "63", "9", "0"),
        GOOD_BUT("xxh3", "1024", "3", "63", "9", "1"),
        GOOD_BUT("xxh3", "1024", "3", "63", "9", "nan"),
        GOOD_BUT("xxh3", "1024", "3", "63", "9", "0.1x"),
        GOOD_BUT("xxh3", "2000000000000", "3", "1", "9", "0.1"), /* too many partitions */
        /* A missing word, a number too large, a generation in another spelling. */
        "layout=1 kind=blocked scheme=xxh3 bits=1024 probes=3 partition=63 expect=9 fpr=0.1 "
        "generation=0123456789abcdef",
        "layout=1 kind=blocked scheme=xxh3 seed=0 bits=1024 probes=3 partition=63 expect=9 fpr=0.1",
        "layout=1 kind=blocked scheme=xxh3 seed=99999999999999999999 bits=1024 probes=3 partition=63 "
        "expect=9 "
        "fpr=0.1 generation=0123456789abcdef",
        "layout=1 kind=blocked scheme=xxh3 seed=0 bits=1024 probes=3 partition=63 expect=9 fpr=0.1 "
        "generation=0123456789ABCDEF",
        "layout=1 kind=blocked scheme=xxh3 seed=0 bits=1024 probes=3 partition=63 expect=9 fpr=0.1 "
        "generation=123456789abcdef",
    };
    tamis_filter *filter = NULL;
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        redis_server_command(&server, "FLUSHALL");
        redis_server_command(&server, "HSET tamis:{f} plan %s", forged[i]);
        tamis_status status = try_open(&filter, "f?" PLAN, true, NULL, &err);
        if (status == TAMIS_OK)
            fail_msg("%s", forged[i]);
        assert_null(filter);
        assert_int_equal(redis_server_number(&server, "DBSIZE"), 1);
    }
    char text[2000];
    memset(text, 'x', sizeof text);
    redis_server_command(&server, "HSET tamis:{f} plan %b", text, sizeof text);
    assert_int_not_equal(try_open(&filter, "f?" PLAN, true, NULL, &err), TAMIS_OK);
    redis_server_command(&server, "FLUSHALL");
    redis_server_command(&server, "SET tamis:{f} x");
    refuses("f?" PLAN, TAMIS_E_MISMATCH, "WRONGTYPE");
    redis_server_command(&server, "FLUSHALL");
    redis_server_command(&server, "HSET tamis:{f} plan %s", GOOD_BUT("xxh3", "1024", "3", "63", "9", "0.1"));
    refuses("f?" PLAN, TAMIS_E_BUSY, "a client of layout 1 is making it");
    redis_server_command(&server, "HSET tamis:{f} state %s", "ready 0123456789abcdef");
    OK(try_open(&filter, "f", false, NULL, &err)); /* the unchanged pattern is accepted */
    tamis_filter_free(filter);
}

/* Refusals of plans, as docs/REDIS-LAYOUT.md requires them. */
static void a_refused_plan_names_the_field(void **state) {
    (void)state;
    need_server();
    static const struct {
        const char *plan, *said;
    } rows[] = {
        {GOOD_BUT("xxh3", "1024", "300", "63", "9", "0.1"),
         "its field plan is not a plan of layout 1 or 2: it has probes=300, and takes 1 to 255; "},
        {GOOD_BUT("xxh3", "15361", "3", "63", "9", "0.1"), "has bits=15361, and takes a multiple of 512; "},
        {GOOD_BUT("xxh3", "1024", "3", "63", "9", "1"), "has fpr=1, and takes a rate between 0 and 1; "},
        {GOOD_BUT("xxh3", "1024", "3", "63", "x", "0.1"), "has expect=x, and takes 1 to 1000000000000; "},
        {GOOD_BUT("xxh3", "1073741824", "3", "1", "9", "0.1"),
         "partition=1, which is more than 1048576 partitions"},
        {GOOD_BUT("sip", "1024", "3", "63", "9", "0.1"), "has scheme=sip and no word secret; "},
        {GOOD_BUT("md5", "1024", "3", "63", "9", "0.1"),
         ": f: has scheme=md5, and layout tamis has xxh3, sip and guava64; "},
        {"layout=3 kind=blocked", "has layout=3, and takes 1 to 2; "},
        {"layout=1 kind=foo", "has kind=foo, and takes blocked or family; "},
        {"layout=1 kind=blocked generation=1",
         "has generation=1, and takes 16 digits of 0 to 9 and a to f; "},
        {"layout=1 kind=blocked", "has no word seed; "},
        {"garbage", "has no word layout; "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        redis_server_command(&server, "HSET tamis:{f} plan %s", rows[i].plan);
        redis_server_command(&server, "HSET tamis:{f} state %s", "ready 0123456789abcdef");
        refuses("f", strstr(rows[i].said, "md5") ? TAMIS_E_UNSUPPORTED : TAMIS_E_DAMAGED, rows[i].said);
    }
    redis_server_command(&server, "FLUSHALL");
    tamis_filter *filter = open_filter("f?" PLAN);
    redis_server_command(&server, "HSET tamis:{f} next garbage");
    tamis_answer answer;
    assert_int_equal(tamis_filter_add(filter, "k", 1, &answer, &err), TAMIS_E_DAMAGED);
    assert_non_null(
        strstr(err.text, "its field next is not a plan of layout 1 or 2: it has no word layout; "));
    tamis_filter_free(filter);
}

/* ---- limits of the server ---- */

static void a_full_server_is_reported(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter("f?" PLAN "&partition=4096"), *other = NULL;
    add_all(filter);
    redis_server_command(&server, "CONFIG SET maxmemory 1");
    tamis_answer answer = 77;
    assert_int_equal(tamis_filter_add(filter, "new", 3, &answer, &err), TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "maxmemory"));
    assert_int_equal(answer, 77);
    has_all(filter); /* lookups need no memory */
    assert_int_equal(try_open(&other, "g?" PLAN, true, NULL, &err), TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "maxmemory"));
    redis_server_command(&server, "CONFIG SET maxmemory 0");
    OK(try_open(&other, "g?" PLAN, true, NULL, &err));
    add_all(other);
    has_all(other);
    has_all(filter);
    tamis_filter_free(filter);
    tamis_filter_free(other);
}

/* A filter that is too large is not begun. If it was begun, what was made is removed. */
static void a_family_that_is_too_large_leaves_nothing(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = NULL;
    redis_server_command(&server, "CONFIG SET maxmemory 8mb");
    assert_int_equal(try_open(&filter, "f?expect=1e7&fpr=0.01", true, NULL, &err), TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "bytes, and the server uses "));
    assert_non_null(strstr(err.text, " of its maxmemory of 8388608; raise that"));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);

    /* If the client may not ask for the memory, or the server would evict, it shows on the way. */
    redis_server_command(&server, "CONFIG SET maxmemory-policy volatile-lru");
    redis_server_command(&server, "CONFIG SET maxmemory 14mb");
    redis_server_command(&server, "SETRANGE other 10000000 x");
    const tamis_status status = try_open(&filter, "f?expect=5e6&fpr=0.01&partition=65536", true, NULL, &err);
    if (status == TAMIS_E_BUSY) /* the server evicts keys with an expiry: the lock, and the new keys */
        assert_non_null(strstr(err.text, "its lock is gone"));
    else if (status != TAMIS_E_REFUSED)
        fail_msg("status %d: %s", (int)status, err.text);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 1);
    redis_server_command(&server, "CONFIG SET maxmemory 0");
    redis_server_command(&server, "CONFIG SET maxmemory-policy noeviction");
}

static void too_many_partitions_are_refused(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = NULL;
    assert_int_equal(try_open(&filter, "f?expect=1e9&fpr=0.01&partition=128", true, NULL, &err),
                     TAMIS_E_RANGE);
    assert_non_null(strstr(err.text, " Redis keys, and may be in 1048576; give partition="));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    /* That is the smallest partition size that works; this server lacks the memory. */
    char rest[100];
    const unsigned long long min = strtoull(strstr(err.text, "give partition=") + 15, NULL, 10);
    redis_server_command(&server, "CONFIG SET maxmemory 8mb");
    snprintf(rest, sizeof rest, "f?expect=1e9&fpr=0.01&partition=%llu", min);
    assert_int_equal(try_open(&filter, rest, true, NULL, &err), TAMIS_E_REFUSED);
    snprintf(rest, sizeof rest, "f?expect=1e9&fpr=0.01&partition=%llu", min - 64);
    assert_int_equal(try_open(&filter, rest, true, NULL, &err), TAMIS_E_RANGE);
    redis_server_command(&server, "CONFIG SET maxmemory 0");
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
}

static void expiry_removes_the_whole_filter(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter("f?" PLAN "&partition=4096&ttl=1h");
    long long keys = redis_server_number(&server, "DBSIZE");
    add_all(filter);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), keys);
    char names[4000], *rest = NULL;
    snprintf(names, sizeof names, "%s", redis_server_command(&server, "KEYS *"));
    for (char *key = strtok_r(names, " ", &rest); key; key = strtok_r(NULL, " ", &rest)) {
        assert_in_range(redis_server_number(&server, "PTTL %s", key), 3500000, 3600000);
        redis_server_number(&server, "PEXPIRE %s 1000000", key);
    }
    has_all(filter);
    assert_in_range(redis_server_number(&server, "PTTL tamis:{f}"), 1, 1000000);
    tamis_filter_free(filter);
    redis_server_command(&server, "FLUSHALL");
    filter = open_filter("f?" PLAN "&partition=4096&ttl=1h&renew=create");
    assert_in_range(redis_server_number(&server, "PTTL tamis:{f}"), 3500000, 3600000);
    redis_server_number(&server, "PEXPIRE tamis:{f} 1000000");
    tamis_answer answer;
    OK(tamis_filter_add(filter, "new", 3, &answer, &err));
    assert_in_range(redis_server_number(&server, "PTTL tamis:{f}"), 1, 1000000);
    tamis_filter_free(filter);
}

/* ---- clear ---- */

static void clear_forgets_all_for_everyone(void **state) {
    (void)state;
    need_server();
    tamis_filter *filter = open_filter("f?" PLAN "&partition=4096"), *other = NULL;
    OK(try_open(&other, "f", false, NULL, &err));
    add_all(filter);
    char before[200];
    snprintf(before, sizeof before, "%s", partition_of());
    OK(tamis_filter_clear(filter, &err));
    assert_true(redis_server_number(&server, "PTTL %s", before) >= 0); /* expires soon */
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    OK(tamis_filter_info_get(filter, &info, &err));
    assert_int_equal(info.ones, 0);
    assert_int_equal(info.added, 0);
    add_all(filter);
    has_all(filter);
    has_all(other); /* the other handle uses the new filter */
    tamis_filter_free(other);
    OK(try_open(&other, "f?" PLAN, false, NULL, &err));
    has_all(other);
    redis_server_number(&server, "DEL tamis:{f}");
    assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_E_DAMAGED);
    refuses("f", TAMIS_E_DAMAGED, "drop f");
    tamis_filter_free(filter);
    tamis_filter_free(other);
}

static void *clear_at_once(void *context) {
    client *self = context;
    pthread_barrier_wait(self->barrier);
    self->status = tamis_filter_clear(self->filter, &self->err);
    return NULL;
}

/* The others clear after it, or find it clearing. Afterwards all see the keys that one of them adds. */
static void several_clears_leave_one_filter(void **state) {
    (void)state;
    need_server();
    for (uint64_t round = 0; round < test_scale(20, 2, 4); round++) {
        client clients[CLIENTS];
        pthread_barrier_t barrier;
        int cleared = 0;
        redis_server_command(&server, "FLUSHALL");
        pthread_barrier_init(&barrier, NULL, CLIENTS);
        for (int i = 0; i < CLIENTS; i++)
            clients[i] = (client){.filter = open_filter("f?" PLAN "&partition=4096"),
                                  .barrier = &barrier,
                                  .err = TAMIS_ERROR_INIT};
        for (int i = 0; i < CLIENTS; i++)
            pthread_create(&clients[i].thread, NULL, clear_at_once, &clients[i]);
        for (int i = 0; i < CLIENTS; i++)
            pthread_join(clients[i].thread, NULL);
        pthread_barrier_destroy(&barrier);
        for (int i = 0; i < CLIENTS; i++) {
            if (clients[i].status != TAMIS_OK && clients[i].status != TAMIS_E_BUSY)
                fail_msg("%s", clients[i].err.text);
            if (clients[i].status == TAMIS_OK && cleared++ == 0)
                add_all(clients[i].filter);
            else if (cleared > 0)
                has_all(clients[i].filter);
        }
        assert_in_range(cleared, 1, CLIENTS);
        for (int i = 0; i < CLIENTS; i++)
            tamis_filter_free(clients[i].filter);
        tamis_filter *filter = open_filter("f");
        has_all(filter);
        tamis_filter_free(filter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_family_is_made_once_and_found_again, start, stop),
        cmocka_unit_test_setup_teardown(a_different_plan_is_refused_with_the_difference, start, stop),
        cmocka_unit_test_setup_teardown(a_missing_secret_is_reported_again, start, stop),
        cmocka_unit_test_setup_teardown(one_plan_wins_among_several_makers, start, stop),
        cmocka_unit_test_setup_teardown(a_part_that_is_gone_is_never_an_absent_key, start, stop),
        cmocka_unit_test_setup_teardown(eviction_is_noticed, start, stop),
        cmocka_unit_test_setup_teardown(a_dropped_or_replaced_filter_is_reported, start, stop),
        cmocka_unit_test_setup_teardown(the_type_of_keys_is_kept, start, stop),
        cmocka_unit_test_setup_teardown(a_plan_that_is_none_is_refused, start, stop),
        cmocka_unit_test_setup_teardown(a_full_server_is_reported, start, stop),
        cmocka_unit_test_setup_teardown(a_refused_plan_names_the_field, start, stop),
        cmocka_unit_test_setup_teardown(a_family_that_is_too_large_leaves_nothing, start, stop),
        cmocka_unit_test_setup_teardown(too_many_partitions_are_refused, start, stop),
        cmocka_unit_test_setup_teardown(expiry_removes_the_whole_filter, start, stop),
        cmocka_unit_test_setup_teardown(clear_forgets_all_for_everyone, start, stop),
        cmocka_unit_test_setup_teardown(several_clears_leave_one_filter, start, stop),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
