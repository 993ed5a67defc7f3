/* SPDX-License-Identifier: BSD-2-Clause */

/* Layouts php1, php2 and php3: the positions of bits, from hashes that PHP computed (tests/golden), and
 * the bits on a server. tests/interop/redis_php.sh compares with PHP itself. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>
#include <tamis/experimental/redis.h>

#include "golden/golden_reader.h"
#include "store/redis/layout/layout_bitmap.h"
#include "support/redis_server.h"
#include "support/scratch.h"

static redis_server server;

/* Static storage, until the next call. */
static const char *server_uri(const char *rest) {
    static char uri[700];
    snprintf(uri, sizeof uri, "%s/%s", server.uri_unix, rest);
    return uri;
}

static tamis_error err = TAMIS_ERROR_INIT;

/* ---- positions ---- */

/* A filter that was opened without a server: the php layouts send nothing to open one. */
typedef struct opened {
    tamis_filter filter;
    tamis__redis_filter rf;
    tamis__php3_state php3;
    tamis_allocator allocator;
} opened;

static tamis_status open_layout(opened *opened_filter, const tamis__layout *layout, uint32_t servers,
                                const char *name) {
    const tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    memset(opened_filter, 0, sizeof *opened_filter);
    opened_filter->allocator = tamis__allocator_resolve(NULL);
    opened_filter->filter.allocator = opened_filter->allocator;
    opened_filter->filter.body = &opened_filter->rf;
    opened_filter->rf.layout = layout;
    opened_filter->rf.state = &opened_filter->php3;
    opened_filter->rf.uri = &opened_filter->rf.named;
    opened_filter->rf.servers = servers;
    opened_filter->rf.probe_groups = 1;
    assert_int_equal(
        tamis__redis_uri_parse_name(&opened_filter->rf.named, name, &opened_filter->allocator, &err),
        TAMIS_OK);
    opened_filter->rf.name = (tamis_key){opened_filter->rf.named.name, opened_filter->rf.named.name_size};
    return layout->open(&opened_filter->filter, &options, &err);
}

static void close_layout(opened *opened_filter) {
    tamis_hasher_free(opened_filter->filter.hasher);
    tamis__redis_uri_release(&opened_filter->rf.named);
}

/* CRC-32 (IEEE), one bit at a time. */
static uint32_t crc32_of(const uint8_t *data, size_t size) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static uint64_t up(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

typedef struct position_case {
    const tamis__layout *layout;
    uint64_t m;
    uint32_t servers;
    uint32_t keys; /* P */
} position_case;

/* Checks the positions by the published rules, in integers. */
static void check_positions(const position_case *c) {
    const bool by_offset = c->layout == &tamis__layout_php3, by_key = c->layout == &tamis__layout_php2;
    const uint64_t share = by_offset && c->servers > 1 ? up(c->m, c->servers) : c->m,
                   part = up(share, c->keys);
    static uint8_t bytes[4096];
    char name[80];
    opened opened_filter;
    int rows = 0;
    snprintf(name, sizeof name, "seen?bits=%llu&probes=16", (unsigned long long)c->m);
    assert_int_equal(open_layout(&opened_filter, c->layout, c->servers, name), TAMIS_OK);
    assert_int_equal(opened_filter.rf.keys, c->keys);
    assert_int_equal(opened_filter.rf.probe_groups, !by_offset ? 1 : c->keys < 16 ? c->keys : 16);
    for (golden g = golden_open("php8-bkdr.tsv"); golden_next(&g); rows++) {
        const tamis_key key = {bytes, golden_bytes(g.field[0], bytes)};
        const uint32_t crc = crc32_of(bytes, key.size);
        tamis__element_positions positions;
        c->layout->locate(&opened_filter.filter, &(tamis__key_batch){.keys = &key, .count = 1}, 0,
                          &positions);
        assert_int_equal(positions.server, crc % c->servers);
        for (int n = 0; n < 16; n++) {
            char *comma;
            uint64_t h = strtoull(g.field[1 + n], &comma, 10);
            if (by_offset)
                h = strtoull(comma + 1, NULL, 10);
            uint64_t offset = h % share, number = by_offset ? offset / part : by_key ? crc % c->keys : 0;
            assert_true(positions.offsets[n] == (by_offset ? offset % part : offset));
            assert_true(positions.offsets[n] < UINT64_C(1) << 32);
            assert_int_equal(by_offset && c->keys > 1 ? positions.keys[n] : positions.key, number);
        }
    }
    assert_int_equal(rows, 200);
    close_layout(&opened_filter);
}

static void bits_are_where_php_has_them(void **state) {
    (void)state;
    assert_int_equal(crc32_of((const uint8_t *)"123456789", 9), 0xcbf43926);
    static const position_case cases[] = {
        {&tamis__layout_php1, 1, 1, 1},
        {&tamis__layout_php1, 350000000, 1, 1},
        {&tamis__layout_php1, UINT64_C(1) << 32, 1, 1},
        {&tamis__layout_php2, 350000000, 1, 1},
        {&tamis__layout_php2, 350000000, 3, 1},
        {&tamis__layout_php2, UINT64_C(1) << 32, 2, 1},
        {&tamis__layout_php2, (UINT64_C(1) << 32) + 1, 1, 2},
        {&tamis__layout_php2, (UINT64_C(1) << 32) + 1, 2, 1},
        {&tamis__layout_php2, UINT64_C(100000000000), 3, 8},
        {&tamis__layout_php3, 21895, 1, 1},
        {&tamis__layout_php3, 21895, 4, 1},
        {&tamis__layout_php3, UINT64_C(1) << 32, 1, 1},
        {&tamis__layout_php3, (UINT64_C(1) << 32) + 1, 1, 2},
        {&tamis__layout_php3, (UINT64_C(1) << 32) + 1, 2, 1},
        {&tamis__layout_php3, UINT64_C(50000000001), 1, 12},
        {&tamis__layout_php3, UINT64_C(50000000001), 5, 3},
        {&tamis__layout_php3, UINT64_C(1) << 53, 1, 1 << 21},
        {&tamis__layout_php3, (UINT64_C(1) << 53) - 1, 7, 299594},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_positions(&cases[i]);
}

static void assert_name(const tamis__layout *layout, uint64_t m, uint32_t key, const char *expected) {
    char name[80], got[TAMIS__REDIS_KEY];
    opened opened_filter;
    snprintf(name, sizeof name, "a%%20b?bits=%llu&probes=4", (unsigned long long)m);
    assert_int_equal(open_layout(&opened_filter, layout, 1, name), TAMIS_OK);
    size_t size = layout->key_name(&opened_filter.rf, key, got);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(got, expected, size);
    close_layout(&opened_filter);
}

static void names_are_those_of_php(void **state) {
    (void)state;
    assert_name(&tamis__layout_php1, 100, 0, "a b");
    assert_name(&tamis__layout_php2, 100, 0, "a b.0");
    assert_name(&tamis__layout_php2, UINT64_C(1) << 40, 255, "a b.255");
    assert_name(&tamis__layout_php3, 100, 0, "a b:0");
    assert_name(&tamis__layout_php3, UINT64_C(1) << 53, (1 << 21) - 1, "a b:2097151");
}

static void refused(const tamis__layout *layout, uint32_t servers, const char *name, const char *why) {
    opened opened_filter;
    assert_int_equal(open_layout(&opened_filter, layout, servers, name), TAMIS_E_INVALID);
    if (!strstr(err.text, why))
        fail_msg("'%s' does not say '%s'", err.text, why);
    close_layout(&opened_filter);
}

static void parameters_are_checked(void **state) {
    (void)state;
    refused(&tamis__layout_php1, 1, "x",
            "x: layout php1 keeps no parameters in the Redis; give bits=M and probes=K");
    refused(&tamis__layout_php2, 1, "x?bits=7", "layout php2 keeps no parameters");
    refused(&tamis__layout_php3, 1, "x?probes=7", "layout php3 keeps no parameters");
    refused(&tamis__layout_php1, 1, "x?bits=4294967297&probes=1", "from 1 to 4294967296");
    refused(&tamis__layout_php3, 1, "x?bits=9007199254740993&probes=1", "from 1 to 9007199254740992");
    refused(&tamis__layout_php3, 1, "x?bits=1&probes=256", "from 1 to 255");
    refused(&tamis__layout_php3, 1, "x?bits=1&probes=2&expect=3", "parameter 'expect' is not known");
    refused(&tamis__layout_php1, 2, "x?bits=1&probes=2", "has one server");
}

/* ---- a server ---- */

enum { MODEL_KEYS = 8, MODEL_BITS = 4096, KEYS_MAX = 600 };

static bool model[MODEL_KEYS][MODEL_BITS];

static tamis_filter *filter_of(const char *name) {
    tamis_filter *filter = NULL;
    if (tamis_redis_filter_open(&filter, NULL, server_uri(name), NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

/* Splits a filter into `keys` Redis keys, as a layout does only beyond 2^32 bits. */
static void cut_up(tamis_filter *filter, uint32_t keys) {
    tamis__redis_filter *rf = filter->body;
    rf->keys = keys;
    tamis__php3_of(rf)->key_bits = up(tamis__php3_of(rf)->share, keys);
    rf->probe_groups = keys < filter->plan.probes ? keys : filter->plan.probes;
}

/* Returns the Redis key with most bits of the element; of several, the one that the probes reach first. */
static uint32_t deciding_key(const tamis__redis_filter *rf, const tamis__element_positions *positions,
                             uint32_t probes) {
    uint32_t counts[MODEL_KEYS] = {0}, max = 0, found = positions->key;
    for (uint32_t j = 0; rf->probe_groups > 1 && j < probes; j++)
        counts[positions->keys[j]]++;
    for (uint32_t j = 0; rf->probe_groups > 1 && j < probes; j++)
        if (counts[positions->keys[j]] > max) {
            found = positions->keys[j];
            max = counts[found];
        }
    return found;
}

/* Adds and looks up batches with repeated keys, also within a batch, and keeps a model of the bits. Each
 * answer must say whether all bits of the key were set. With `unknown`, TAMIS_UNKNOWN is right too: it is
 * not known whether an add of this test set them. It is also right if the bits in the deciding Redis key
 * were set and others were not, as while another client adds the key. */
static void check_batches(tamis_filter *filter, uint64_t *random, bool unknown) {
    static char text[KEYS_MAX][24];
    static tamis_key keys[KEYS_MAX];
    static tamis_answer answers[KEYS_MAX];
    const tamis__redis_filter *rf = filter->body;
    uint64_t present = 0, absent = 0;
    memset(model, 0, sizeof model);
    for (int round = 0; round < 20; round++) {
        const bool adds = round % 2 == 0;
        size_t count = 1 + test_below(random, KEYS_MAX), done = 0;
        for (size_t i = 0; i < count; i++)
            keys[i] = (tamis_key){text[i], (size_t)snprintf(text[i], sizeof *text, "%llu",
                                                            (unsigned long long)test_below(random, 900))};
        assert_int_equal(adds ? tamis_filter_add_many(filter, keys, count, answers, &done, &err)
                              : tamis_filter_contains_many(filter, keys, count, answers, &done, &err),
                         TAMIS_OK);
        assert_int_equal(done, count);
        for (size_t i = 0; i < count; i++) {
            bool had_all = true, had_deciding = true;
            tamis__element_positions positions;
            rf->layout->locate(filter, &(tamis__key_batch){.keys = keys, .count = count}, i, &positions);
            const uint32_t deciding = deciding_key(rf, &positions, filter->plan.probes);
            for (uint32_t j = 0; j < filter->plan.probes; j++) {
                const uint32_t key = rf->probe_groups > 1 ? positions.keys[j] : positions.key;
                bool *bit = &model[key][positions.offsets[j]];
                had_all = had_all && *bit;
                had_deciding = had_deciding && (*bit || key != deciding);
                *bit = *bit || adds;
            }
            if (!(unknown && adds && answers[i] == TAMIS_UNKNOWN))
                assert_int_equal(answers[i], had_all                ? TAMIS_PRESENT
                                             : adds && had_deciding ? TAMIS_UNKNOWN
                                                                    : TAMIS_ABSENT);
            present += had_all;
            absent += !had_deciding && adds;
        }
    }
    assert_true(present > 100 && absent > 100); /* old and new keys */
    assert_true(filter->added == absent || (unknown && filter->added < absent));
}

/* Checks that the server has exactly the bits of the model. */
static void check_bits(const tamis_filter *filter) {
    const tamis__redis_filter *rf = filter->body;
    for (uint32_t key = 0; key < rf->keys; key++) {
        char name[TAMIS__REDIS_KEY];
        name[rf->layout->key_name(rf, key, name)] = '\0';
        test_bytes bits = {0};
        redis_server_bytes(&server, &bits, "GET %s", name);
        for (size_t i = 0; i < MODEL_BITS; i++)
            assert_int_equal(i / 8 < bits.size && bits.data[i / 8] >> (7 - i % 8) & 1, model[key][i]);
        assert_true(bits.size <= MODEL_BITS / 8);
        bytes_clear(&bits);
    }
}

static void answers_are_the_old_bits(void **state) {
    (void)state;
    if (!server.pid)
        skip();
    static const struct {
        const char *name;
        uint32_t keys;
    } cases[] = {
        {"seen?layout=php1&bits=4096&probes=3", 1},  {"seen?layout=php2&bits=4000&probes=4", 1},
        {"seen?layout=php3&bits=4096&probes=5", 1},  {"seen?layout=php3&bits=8192&probes=5", 2},
        {"seen?layout=php3&bits=30001&probes=5", 8}, {"seen?layout=php3&bits=8000&probes=1", 8},
        {"seen?layout=php3&bits=8000&probes=16", 8},
    };
    uint64_t random = test_seed(6);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_filter *filter = filter_of(cases[i].name);
        if (cases[i].keys > 1)
            cut_up(filter, cases[i].keys);
        check_batches(filter, &random, false);
        check_bits(filter);
        tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
        assert_int_equal(tamis_filter_info_get(filter, &info, &err), TAMIS_OK);
        assert_true(info.ones > 0 && info.fpr_live > 0 && info.fpr_live < 1 && info.cardinality > 50);
        assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_OK);
        assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
        tamis_filter_free(filter);
    }
}

/* Two clients add an element at once, and each is the first at one of its Redis keys. Exactly one gets
 * TAMIS_ABSENT. */
static void one_of_two_at_once_is_absent(void **state) {
    (void)state;
    if (!server.pid)
        skip();
    enum { BOTH = 100 };
    tamis_filter *filter = filter_of("both?layout=php3&bits=40000&probes=7");
    tamis__redis_filter *rf = filter->body;
    cut_up(filter, 2);
    assert_int_equal(tamis__php3_of(rf)->key_bits, 20000);
    for (int i = 0; i < BOTH; i++) {
        char text[24];
        tamis_answer answers[2];
        tamis__element_positions positions;
        const tamis_key key = {text, (size_t)snprintf(text, sizeof text, "%d", i)};
        rf->layout->locate(filter, &(tamis__key_batch){.keys = &key, .count = 1}, 0, &positions);
        for (uint32_t ours = 0; ours < 2; ours++) {
            assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_OK);
            for (uint32_t j = 0; j < 7; j++) /* the bits of the other client */
                if (positions.keys[j] != ours)
                    redis_server_number(&server, "SETBIT both:%d %d 1", 1 - (int)ours,
                                        (int)positions.offsets[j]);
            answers[ours] = TAMIS_PRESENT;
            assert_int_equal(tamis_filter_add(filter, key.data, key.size, &answers[ours], &err), TAMIS_OK);
        }
        bool in_both = false;
        for (uint32_t j = 1; j < 7; j++)
            in_both = in_both || positions.keys[j] != positions.keys[0];
        const int absent = (answers[0] == TAMIS_ABSENT) + (answers[1] == TAMIS_ABSENT),
                  unknown = (answers[0] == TAMIS_UNKNOWN) + (answers[1] == TAMIS_UNKNOWN);
        assert_int_equal(absent, 1);
        assert_int_equal(unknown, in_both);
    }
    assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_OK);
    tamis_filter_free(filter);
}

/* Two parts of layout php2 are two filters. */
static void php2_has_a_part_for_a_key(void **state) {
    (void)state;
    if (!server.pid)
        skip();
    uint64_t random = test_seed(7);
    tamis_filter *filter = filter_of("seen?layout=php2&bits=4096&probes=3");
    ((tamis__redis_filter *)filter->body)->keys = 3;
    check_batches(filter, &random, false);
    check_bits(filter);
    assert_int_equal(redis_server_number(&server, "EXISTS seen.0 seen.1 seen.2"), 3);
    assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_OK);
    assert_int_equal(redis_server_number(&server, "EXISTS seen.2"), 0);
    tamis_filter_free(filter);
}

/* ---- connections that are cut ---- */

static atomic_bool cutting;
static atomic_int cuts;

static void *cut_connections(void *context) {
    redisContext *own = context;
    while (cutting) {
        redisReply *reply = redisCommand(own, "CLIENT KILL TYPE normal SKIPME yes");
        cuts += (int)reply->integer;
        freeReplyObject(reply);
        nanosleep(&(struct timespec){0, 3000000}, NULL);
    }
    return NULL;
}

/* The parts of an element are answered over several connections, each part once. */
static void answers_survive_their_connections(void **state) {
    (void)state;
    if (!server.pid)
        skip();
    uint64_t random = test_seed(8);
    pthread_t thread;
    tamis_filter *filter =
        filter_of("cut?layout=php3&bits=20001&probes=6&retry_interval=2ms&connect_wait=60s");
    cut_up(filter, 8);
    redisContext *own = redisConnectUnix(server.socket);
    cutting = true;
    assert_int_equal(pthread_create(&thread, NULL, cut_connections, own), 0);
    for (check_batches(filter, &random, true); cuts == 0; check_batches(filter, &random, true))
        assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_OK); /* too fast for the first cut */
    cutting = false;
    pthread_join(thread, NULL);
    redisFree(own);
    check_bits(filter);
    assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_OK);
    tamis_filter_free(filter);
}

static int start(void **state) {
    (void)state;
    scratch_make();
    if (redis_server_installed())
        redis_server_start(&server, NULL);
    return 0;
}

static int stop(void **state) {
    (void)state;
    redis_server_stop(&server);
    scratch_remove();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_where_php_has_them),
        cmocka_unit_test(names_are_those_of_php),
        cmocka_unit_test(parameters_are_checked),
        cmocka_unit_test(answers_are_the_old_bits),
        cmocka_unit_test(one_of_two_at_once_is_absent),
        cmocka_unit_test(php2_has_a_part_for_a_key),
        cmocka_unit_test(answers_survive_their_connections),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
