/* SPDX-License-Identifier: BSD-2-Clause */

/* Combining Redis bitmaps: by the server, or by the client if the server refuses or there are several
 * servers. */
#include <stdio.h>
#include <stdlib.h>

#include "support/redis_bitmaps.h"

static redis_server forbidding; /* a server without BITOP */

static int set_up(void **state) {
    if (redis_server_installed())
        redis_server_start(&forbidding, (const char *[]){"--rename-command", "BITOP", "", NULL});
    return redis_filters_set_up(state);
}

static int tear_down(void **state) {
    redis_server_stop(&forbidding);
    return redis_filters_tear_down(state);
}

enum { SOURCES = 4 };

static void model_op(model *to, tamis_redis_bitmap_operation op, const model *from, size_t count) {
    model made = {0};
    for (size_t i = 0; i < count; i++)
        made.size = from[i].size > made.size ? from[i].size : made.size;
    for (size_t pos = 0; pos < made.size; pos++)
        for (size_t i = 0; i < count; i++) {
            const uint8_t byte = pos < from[i].size ? from[i].bytes[pos] : 0;
            if (op == TAMIS_REDIS_BITMAP_NOT)
                made.bytes[pos] = (uint8_t)~byte;
            else if (i == 0 || op == TAMIS_REDIS_BITMAP_OR)
                made.bytes[pos] |= byte;
            else
                made.bytes[pos] =
                    op == TAMIS_REDIS_BITMAP_XOR ? made.bytes[pos] ^ byte : made.bytes[pos] & byte;
        }
    *to = made;
}

/* Combines into a new key, and into the second source. `elsewhere` (may be NULL): the server of the third
 * source. */
static void combine_at(const redis_server *holder, const redis_server *elsewhere, uint64_t *seed) {
    static model from[SOURCES], expected;
    static const char *const keys_of[SOURCES] = {"s0", "s1", "s2", "s3"};
    char third[100];
    const char *sources[SOURCES];
    memcpy(sources, keys_of, sizeof sources);
    if (elsewhere) {
        snprintf(third, sizeof third, "%s/s2", elsewhere->uri);
        sources[2] = third;
    }
    for (int n = 0; n < 4 * 6; n++) {
        const tamis_redis_bitmap_operation op = (tamis_redis_bitmap_operation)(n % 4);
        const size_t count = op == TAMIS_REDIS_BITMAP_NOT ? 1 : 1 + test_below(seed, SOURCES);
        const size_t first = op == TAMIS_REDIS_BITMAP_NOT ? test_below(seed, SOURCES) : 0;
        const bool is_target = n % 3 == 0;
        uint64_t size = 77;
        for (size_t i = 0; i < SOURCES; i++) {
            fill(&from[i], test_below(seed, 3) ? test_below(seed, 3000) : 0, 2, seed);
            put_there(i == 2 && elsewhere ? elsewhere : holder, keys_of[i], &from[i]);
        }
        model_op(&expected, op, from + first, count);
        tamis_redis_bitmap *target = open_uri(holder->uri, is_target ? "s1" : "target");
        redis_server_command(holder, "SET target a_longer_one_that_was_there_before EX 1000");
        OK(tamis_redis_bitmap_op(target, op, sources + first, count, &size, &err));
        tamis_redis_bitmap_close(target);
        assert_int_equal(size, expected.size);
        assert_there(holder, is_target ? "s1" : "target", &expected);
        if (!is_target)
            assert_int_equal(redis_server_number(holder, "TTL target"), expected.size > 0 ? -1 : -2);
    }
}

static void combinations_are_those_of_a_model(void **state) {
    uint64_t seed = test_seed(24);
    (void)state;
    begin_test();
    redis_server_command(&server, "CONFIG RESETSTAT");
    combine_at(&server, NULL, &seed);
    assert_non_null(strstr(redis_server_command(&server, "INFO commandstats"), "cmdstat_bitop"));
}

/* Operations that Codis refuses, and such that no server can do. */
static void combinations_are_made_here_where_no_server_makes_them(void **state) {
    uint64_t seed = test_seed(25);
    (void)state;
    begin_test();
    redis_server_command(&forbidding, "FLUSHALL");
    combine_at(&forbidding, NULL, &seed);
    combine_at(&server, &forbidding, &seed);
    assert_non_null(strstr(redis_server_command(&forbidding, "BITOP NOT a b"), "unknown command"));
}

/* A URI may name the target's own server, which is not another server then. */
static void a_uri_may_name_the_same_server(void **state) {
    char source[100];
    (void)state;
    begin_test();
    snprintf(source, sizeof source, "%s/a", server.uri);
    redis_server_command(&server, "SET a abc");
    redis_server_command(&server, "CONFIG RESETSTAT");
    tamis_redis_bitmap *target = open_bitmap("b");
    OK(tamis_redis_bitmap_op(target, TAMIS_REDIS_BITMAP_OR, (const char *[]){source, "a"}, 2, NULL, &err));
    assert_string_equal(redis_server_command(&server, "GET b"), "abc");
    assert_null(strstr(redis_server_command(&server, "INFO commandstats"), "cmdstat_getrange"));
    snprintf(source, sizeof source, "%s/1/a", server.uri); /* another database */
    OK(tamis_redis_bitmap_op(target, TAMIS_REDIS_BITMAP_OR, (const char *[]){source, "a"}, 2, NULL, &err));
    assert_non_null(strstr(redis_server_command(&server, "INFO commandstats"), "cmdstat_getrange"));
    tamis_redis_bitmap_close(target);
}

/* Keys on independent servers, and on the same one. */
static void shards_are_combined(void **state) {
    static const char *const names[] = {"1", "2", "3", "4", "5", "6"};
    uint64_t size, count;
    char uri[100];
    (void)state;
    begin_test();
    redis_server_command(&forbidding, "FLUSHALL");
    snprintf(uri, sizeof uri, "redis+shard://127.0.0.1:%d,127.0.0.1:%d", server.port, forbidding.port);
    for (uint64_t i = 0; i < 6; i++) {
        tamis_redis_bitmap *source = open_uri(uri, names[i]);
        OK(tamis_redis_bitmap_set(source, &(tamis_redis_bits){(uint64_t[]){100 * i, 777}, NULL, 2}, NULL,
                                  NULL, &err));
        tamis_redis_bitmap_close(source);
    }
    assert_in_range(redis_server_number(&server, "DBSIZE"), 1, 5);
    for (size_t first = 0; first < 6; first++) {
        tamis_redis_bitmap *target = open_uri(uri, "target");
        OK(tamis_redis_bitmap_op(target, TAMIS_REDIS_BITMAP_OR, names + first, 6 - first, &size, &err));
        OK(tamis_redis_bitmap_count(target, NULL, &count, &err));
        assert_int_equal(size, 98);
        assert_int_equal(count, 7 - first);
        tamis_redis_bitmap_close(target);
    }
}

/* Bitmaps of several rounds of several pieces. */
static void long_bitmaps_are_combined(void **state) {
    const size_t size = test_scale((size_t)35 << 20, (size_t)17 << 20, (size_t)17 << 20) + 3;
    uint64_t made = 0, seed = test_seed(26);
    (void)state;
    begin_test();
    redis_server_command(&forbidding, "FLUSHALL");
    unsigned char *bytes = malloc(size);
    test_bytes got = {0};
    for (size_t i = 0; i < size; i += 4096)
        bytes[i] = (unsigned char)test_random(&seed);
    redis_server_command(&forbidding, "SET long %b", bytes, size);
    redis_server_command(&forbidding, "SETRANGE other %d x", 3 << 20);
    tamis_redis_bitmap *target = open_uri(forbidding.uri, "made");
    OK(tamis_redis_bitmap_op(target, TAMIS_REDIS_BITMAP_XOR, (const char *[]){"long", "other"}, 2, &made,
                             &err));
    assert_int_equal(made, size);
    bytes[3 << 20] ^= 'x';
    redis_server_bytes(&forbidding, &got, "GET made");
    assert_true(bytes_check("long", &got, &(test_bytes){bytes, size, size}));
    bytes_clear(&got);
    free(bytes);
    tamis_redis_bitmap_close(target);
    redis_server_command(&forbidding, "FLUSHALL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(combinations_are_those_of_a_model),
        cmocka_unit_test(combinations_are_made_here_where_no_server_makes_them),
        cmocka_unit_test(a_uri_may_name_the_same_server),
        cmocka_unit_test(shards_are_combined),
        cmocka_unit_test(long_bitmaps_are_combined),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
