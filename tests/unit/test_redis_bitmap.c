/* SPDX-License-Identifier: BSD-2-Clause */

/* Redis bitmaps, compared with a model in memory, also when connections are cut. */
#include <inttypes.h>
#include <stdio.h>

#include "support/fault.h"
#include "support/proxy.h"
#include "support/redis_bitmaps.h"

/* ---- bits ---- */

static void meow_becomes_lgow(void **state) {
    static const uint64_t offsets[] = {7, 14};
    static const uint8_t values[] = {0, 1};
    uint8_t bits[2];
    size_t done;
    (void)state;
    begin_test();
    redis_server_command(&server, "SET word meow");
    tamis_redis_bitmap *word = open_bitmap("word");
    OK(tamis_redis_bitmap_set(word, &(tamis_redis_bits){offsets, values, 2}, bits, &done, &err));
    assert_int_equal(done, 2);
    assert_memory_equal(bits, ((uint8_t[]){1, 0}), 2);
    assert_string_equal(redis_server_command(&server, "GET word"), "lgow");
    OK(tamis_redis_bitmap_get(word, offsets, 2, bits, &done, &err));
    assert_int_equal(done, 2);
    assert_memory_equal(bits, ((uint8_t[]){0, 1}), 2);
    OK(tamis_redis_bitmap_set(word, &(tamis_redis_bits){offsets, NULL, 0}, NULL, NULL, &err));
    tamis_redis_bitmap_close(word);
}

static void a_bitmap_grows_by_zeros(void **state) {
    uint8_t old = 7;
    (void)state;
    begin_test();
    tamis_redis_bitmap *bitmap = open_bitmap("a%20key%00%2F");
    OK(tamis_redis_bitmap_get(bitmap, &(uint64_t){UINT32_MAX}, 1, &old, NULL, &err));
    assert_int_equal(old, 0);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    OK(tamis_redis_bitmap_set(bitmap, &(tamis_redis_bits){&(uint64_t){100}, &(uint8_t){0}, 1}, &old, NULL,
                              &err));
    assert_int_equal(old, 0);
    assert_int_equal(redis_server_number(&server, "STRLEN %b", "a key\0/", (size_t)7), 13);
    assert_int_equal(redis_server_number(&server, "BITCOUNT %b", "a key\0/", (size_t)7), 0);
    tamis_redis_bitmap_close(bitmap);
}

/* More bits than fit into a command or a pipeline, some of them repeated. */
static void bits_are_those_of_a_model(void **state) {
    enum { BITS = 70000 };
    static model it;
    static uint64_t offsets[BITS];
    static uint8_t values[BITS], old[BITS];
    uint64_t seed = test_seed(21);
    (void)state;
    begin_test();
    tamis_redis_bitmap *bitmap = open_bitmap("bits");
    it.size = 0;
    for (int round = 0; round < 4; round++) {
        const bool mixed = round % 2 == 1;
        const size_t count = (size_t[]){BITS, 3000, 257, 1}[round];
        for (size_t i = 0; i < count; i++) {
            offsets[i] = test_below(&seed, (uint64_t)1 << (10 + 2 * round));
            values[i] = (uint8_t)(mixed ? test_below(&seed, 2) : round < 2);
        }
        OK(tamis_redis_bitmap_set(bitmap, &(tamis_redis_bits){offsets, round == 0 ? NULL : values, count},
                                  old, NULL, &err));
        for (size_t i = 0; i < count; i++) {
            if (old[i] != bit_of(&it, (int64_t)offsets[i]))
                fail_msg("round %d: bit %" PRIu64 " was not %d", round, offsets[i], old[i]);
            set_bit(&it, offsets[i], values[i]);
        }
        assert_there(&server, "bits", &it);
        for (size_t i = 0; i < BITS; i++)
            offsets[i] = i;
        OK(tamis_redis_bitmap_get(bitmap, offsets, BITS, old, NULL, &err));
        for (size_t i = 0; i < BITS; i++)
            assert_int_equal(old[i], bit_of(&it, (int64_t)i));
    }
    tamis_redis_bitmap_close(bitmap);
}

static void an_invalid_bit_changes_nothing(void **state) {
    size_t done = 7;
    uint64_t size = 7;
    uint8_t bits[2];
    tamis_redis_bitmap *none;
    (void)state;
    begin_test();
    tamis_redis_bitmap *bitmap = open_bitmap("k");
    const uint64_t offsets[] = {3, UINT64_C(1) << 32};
    FAILS(tamis_redis_bitmap_set(bitmap, &(tamis_redis_bits){offsets, NULL, 2}, bits, &done, &err),
          TAMIS_E_RANGE, "offset 4294967296 is past 4294967295");
    assert_int_equal(done, 0);
    FAILS(tamis_redis_bitmap_get(bitmap, offsets + 1, 1, bits, &done, &err), TAMIS_E_RANGE, "split");
    FAILS(tamis_redis_bitmap_set(bitmap, &(tamis_redis_bits){offsets, (uint8_t[]){2}, 1}, bits, &done, &err),
          TAMIS_E_INVALID, "value 2 of offset 3");
    FAILS(tamis_redis_bitmap_pos(bitmap, 2, NULL, &(int64_t){0}, &err), TAMIS_E_INVALID, "bit 2");
    FAILS(tamis_redis_bitmap_op(bitmap, TAMIS_REDIS_BITMAP_AND, NULL, 0, &size, &err), TAMIS_E_INVALID,
          "0 sources");
    FAILS(tamis_redis_bitmap_op(bitmap, TAMIS_REDIS_BITMAP_NOT, (const char *[]){"a", "b"}, 2, &size, &err),
          TAMIS_E_INVALID, "2 sources");
    FAILS(
        tamis_redis_bitmap_op(bitmap, TAMIS_REDIS_BITMAP_OR, (const char *[]){"a", "b?x=y"}, 2, &size, &err),
        TAMIS_E_INVALID, "parameter 'x'");
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    FAILS(tamis_redis_bitmap_open(&none, redis, "", NULL, &err), TAMIS_E_INVALID, "names no key");
    FAILS(tamis_redis_bitmap_open(&none, NULL, server.uri, NULL, &err), TAMIS_E_INVALID, "names no key");
    FAILS(tamis_redis_bitmap_open(&none, redis, "k?layout=java", NULL, &err), TAMIS_E_INVALID, "'layout'");
    redis_server_command(&server, "RPUSH k element");
    FAILS(tamis_redis_bitmap_set(bitmap, &(tamis_redis_bits){offsets, NULL, 1}, bits, &done, &err),
          TAMIS_E_MISMATCH, "WRONGTYPE");
    assert_int_equal(done, 0);
    FAILS(tamis_redis_bitmap_get(bitmap, offsets, 1, bits, NULL, &err), TAMIS_E_MISMATCH, "WRONGTYPE");
    FAILS(tamis_redis_bitmap_count(bitmap, NULL, &size, &err), TAMIS_E_MISMATCH, "WRONGTYPE");
    FAILS(tamis_redis_bitmap_pos(bitmap, 1, NULL, &(int64_t){0}, &err), TAMIS_E_MISMATCH, "WRONGTYPE");
    FAILS(tamis_redis_bitmap_op(bitmap, TAMIS_REDIS_BITMAP_XOR, (const char *[]){"k"}, 1, &size, &err),
          TAMIS_E_MISMATCH, "WRONGTYPE");
    tamis_redis_bitmap_close(bitmap);
}

/* ---- faults ---- */

enum {
    FEW = 600,
    APART = 100
}; /* bits of three commands; in a mixed call so many offsets, cleared and set in turn */

/* Makes a call that is cut at byte `position`. False if the call has fewer bytes. */
static bool cut_once(proxy *between, tamis_redis_bitmap *harmed, proxy_way way, uint64_t position,
                     bool mixed) {
    uint64_t offsets[FEW], count;
    uint8_t values[FEW], old[FEW], bits[FEW], expected[FEW];
    size_t done = 0, unknown = 0;
    redis_server_command(&server, "DEL cut");
    for (size_t i = 0; i < FEW; i++) {
        offsets[i] = 3 * (mixed ? i % APART : i);
        values[i] = !mixed || i / APART % 2 == 1;
        expected[i] = mixed && i >= APART ? values[i - APART] : i % 5 == 0;
        if (i % 5 == 0)
            redis_server_command(&server, "SETBIT cut %d 1", (int)offsets[i]);
    }
    proxy_arm(between, way, PROXY_CUT, position);
    OK(tamis_redis_bitmap_set(harmed, &(tamis_redis_bits){offsets, values, FEW}, old, &done, &err));
    const bool reached = proxy_harmed(between) > 0;
    assert_int_equal(done, FEW);
    for (size_t i = 0; i < FEW; i++) {
        unknown += old[i] == TAMIS_REDIS_BIT_UNKNOWN;
        if (old[i] != TAMIS_REDIS_BIT_UNKNOWN && old[i] != expected[i])
            fail_msg("way %d, byte %" PRIu64 ": bit %zu was %d", (int)way, position, i, old[i]);
    }
    assert_true(reached || unknown == 0);
    proxy_arm(between, way, PROXY_CUT, position);
    OK(tamis_redis_bitmap_get(harmed, offsets, FEW, bits, &done, &err));
    for (size_t i = 0; i < FEW; i++)
        assert_int_equal(bits[i], 1);
    proxy_arm(between, way, PROXY_CUT, position % 100);
    OK(tamis_redis_bitmap_count(harmed, NULL, &count, &err));
    assert_int_equal(count, mixed ? APART : FEW);
    return reached;
}

static void a_connection_may_close_at_every_byte(void **state) {
    (void)state;
    begin_test();
    proxy *between = proxy_start(server.socket);
    char uri[100];
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d", proxy_port(between));
    tamis_redis_bitmap *harmed = open_uri(uri, "cut?retry_interval=1ms&patience=60s&connect_wait=60s");
    for (int way = 0; way < 2; way++)
        for (int mixed = 0; mixed < 2; mixed++)
            for (uint64_t position = 0; cut_once(between, harmed, (proxy_way)way, position, mixed);
                 position += test_scale(53, 1009, 211))
                ;
    /* A xor into one of its sources is never done twice. */
    redis_server_command(&server, "SET other abc");
    for (int way = 0; way < 2; way++)
        for (uint64_t position = 0, reached = 1; reached; position += test_scale(1, 7, 3)) {
            redis_server_command(&server, "SET cut 123");
            proxy_arm(between, (proxy_way)way, PROXY_CUT, position);
            OK(tamis_redis_bitmap_op(harmed, TAMIS_REDIS_BITMAP_XOR, (const char *[]){"cut", "other"}, 2,
                                     NULL, &err));
            reached = proxy_harmed(between);
            assert_string_equal(redis_server_command(&server, "GET cut"), "PPP");
        }
    tamis_redis_bitmap_close(harmed);
    proxy_stop(between);
}

static void a_server_that_goes_says_what_was_done(void **state) {
    enum { MANY = 100000 };
    static uint64_t offsets[MANY];
    static uint8_t old[MANY];
    size_t done = 7;
    (void)state;
    begin_test();
    for (size_t i = 0; i < MANY; i++) {
        offsets[i] = i;
        old[i] = 9;
    }
    proxy *between = proxy_start(server.socket);
    char uri[100];
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d", proxy_port(between));
    tamis_redis_bitmap *harmed = open_uri(uri, "gone?retry_interval=1ms&patience=1s&read_timeout=200ms");
    proxy_arm(between, PROXY_REPLIES, PROXY_CUT,
              300000); /* between the first pipeline's last reply and the end */
    proxy_stop(between);
    tamis_status status =
        tamis_redis_bitmap_set(harmed, &(tamis_redis_bits){offsets, NULL, MANY}, old, &done, &err);
    assert_true(status == TAMIS_E_IO || status == TAMIS_E_TIMEOUT);
    assert_int_equal(done, 0);
    tamis_redis_bitmap_close(harmed);
    harmed = open_bitmap("gone");
    redis_server_command(&server, "CONFIG SET proto-max-bulk-len 1048576"); /* the minimum: 2^23 bits */
    offsets[MANY - 1] = 1 << 23;
    FAILS(tamis_redis_bitmap_set(harmed, &(tamis_redis_bits){offsets, NULL, MANY}, old, &done, &err),
          TAMIS_E_REFUSED, "bit offset");
    redis_server_command(&server, "CONFIG SET proto-max-bulk-len 536870912");
    assert_int_equal(done, MANY - MANY % 65536 % 256); /* all commands but the last */
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(old[i], i < done ? 0 : 9);
    assert_int_equal(redis_server_number(&server, "BITCOUNT gone 0 %d", (int)(done / 8 - 1)), done / 8 * 8);
    tamis_redis_bitmap_close(harmed);
}

static void an_acl_error_names_what_to_grant(void **state) {
    char uri[100];
    uint64_t count;
    (void)state;
    begin_test();
    redis_server_command(&server, "ACL SETUSER poor on >pw ~poor -@all +bitfield");
    snprintf(uri, sizeof uri, "redis://poor:pw@127.0.0.1:%d", server.port);
    tamis_redis_bitmap *bitmap = open_uri(uri, "poor"), *other = open_uri(uri, "other");
    OK(tamis_redis_bitmap_set(bitmap, &(tamis_redis_bits){&(uint64_t){9}, NULL, 1}, NULL, NULL, &err));
    FAILS(tamis_redis_bitmap_count(bitmap, NULL, &count, &err), TAMIS_E_REFUSED, "+bitcount");
    FAILS(tamis_redis_bitmap_get(other, &(uint64_t){9}, 1, &(uint8_t){0}, NULL, &err), TAMIS_E_REFUSED,
          "~NAME ~{NAME}:* (php1, redisson, and of a bitmap)");
    tamis_redis_bitmap_close(bitmap);
    tamis_redis_bitmap_close(other);
}

/* Calls all operations on a bitmap, until one fails. */
static tamis_status do_all(tamis_redis_bitmap *bitmap) {
    const tamis_redis_bitmap_range range = {sizeof range, TAMIS_REDIS_BITMAP_BITS, -21, -2, false};
    uint8_t bit;
    uint64_t count;
    int64_t offset;
    tamis_status status = tamis_redis_bitmap_op(bitmap, TAMIS_REDIS_BITMAP_NOT, (const char *[]){"b"}, 1,
                                                NULL, &err); /* by pieces */
    if (status == TAMIS_OK)
        status = tamis_redis_bitmap_op(bitmap, TAMIS_REDIS_BITMAP_OR, (const char *[]){"a"}, 1, NULL, &err);
    if (status == TAMIS_OK)
        status = tamis_redis_bitmap_set(bitmap, &(tamis_redis_bits){&(uint64_t){7}, &(uint8_t){0}, 1}, &bit,
                                        NULL, &err);
    if (status == TAMIS_OK)
        status = tamis_redis_bitmap_get(bitmap, &(uint64_t){7}, 1, &bit, NULL, &err);
    if (status == TAMIS_OK)
        status = tamis_redis_bitmap_count(bitmap, &range, &count, &err);
    return status == TAMIS_OK ? tamis_redis_bitmap_pos(bitmap, 1, &range, &offset, &err) : status;
}

static void memory_may_end(void **state) {
    uint64_t n = 0;
    tamis_status status = TAMIS_E_NOMEM;
    (void)state;
    begin_test();
    redis_server_command(&server, "SET a abc");
    while (status == TAMIS_E_NOMEM) {
        fault_memory memory = {.fail_at = ++n};
        const tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_redis_bitmap *bitmap = NULL;
        char uri[100];
        snprintf(uri, sizeof uri, "%s/b", server.uri);
        status = tamis_redis_bitmap_open(&bitmap, NULL, uri, &allocator, &err);
        if (status == TAMIS_OK)
            status = do_all(bitmap);
        tamis_redis_bitmap_close(bitmap);
        assert_int_equal(memory.live_blocks, 0);
    }
    OK(status);
    assert_true(n > 10);
    assert_string_equal(redis_server_command(&server, "GET b"), "`bc");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meow_becomes_lgow),
        cmocka_unit_test(a_bitmap_grows_by_zeros),
        cmocka_unit_test(bits_are_those_of_a_model),
        cmocka_unit_test(an_invalid_bit_changes_nothing),
        cmocka_unit_test(a_connection_may_close_at_every_byte),
        cmocka_unit_test(a_server_that_goes_says_what_was_done),
        cmocka_unit_test(an_acl_error_names_what_to_grant),
        cmocka_unit_test(memory_may_end),
    };
    return cmocka_run_group_tests(tests, redis_filters_set_up, redis_filters_tear_down);
}
