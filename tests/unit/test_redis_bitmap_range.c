/* SPDX-License-Identifier: BSD-2-Clause */

/* Counting and searching ranges of Redis bitmaps, compared with a model, and with the server if it
 * supports ranges of bits. */
#include <inttypes.h>

#include "support/redis_bitmaps.h"

/* Converts a range to bits by the rules of Redis. False if it is empty. */
static bool read_range(const model *it, const tamis_redis_bitmap_range *range, int64_t *from, int64_t *to) {
    const int64_t unit = range->unit == TAMIS_REDIS_BITMAP_BITS ? 1 : 8, total = (int64_t)it->size * 8 / unit;
    int64_t last = range->is_open ? total - 1 : range->to;
    *from = range->from < 0 ? range->from + total : range->from;
    last = last < 0 ? last + total : last;
    *from = *from < 0 ? 0 : *from;
    last = last < 0 ? 0 : last;
    last = last >= total ? total - 1 : last;
    if (*from > last)
        return false;
    *from *= unit;
    *to = last * unit + unit - 1;
    return true;
}

static uint64_t model_count(const model *it, const tamis_redis_bitmap_range *range) {
    int64_t from, to;
    uint64_t count = 0;
    if (!range->is_open && range->from < 0 && range->to < 0 && range->from > range->to)
        return 0;
    if (!read_range(it, range, &from, &to))
        return 0;
    for (; from <= to; from++)
        count += bit_of(it, from);
    return count;
}

static int64_t model_pos(const model *it, unsigned bit, const tamis_redis_bitmap_range *range) {
    int64_t from, to;
    if (it->size == 0)
        return bit ? -1 : 0;
    if (!read_range(it, range, &from, &to))
        return -1;
    for (; from <= to; from++)
        if (bit_of(it, from) == bit)
            return from;
    return range->is_open && bit == 0 ? (int64_t)it->size * 8 : -1;
}

/* Chooses an offset near an end, near a boundary of pieces, or anywhere; also one that counts from the
 * end. */
static int64_t random_offset(int64_t total, int64_t cut, uint64_t *seed) {
    const int64_t near = (int64_t)test_below(seed, 20) - 10;
    switch (test_below(seed, 5)) {
    case 0:
        return near;
    case 1:
        return total + near;
    case 2:
        return cut + near;
    case 3:
        return -(int64_t)test_below(seed, (uint64_t)total + 20);
    default:
        return (int64_t)test_below(seed, (uint64_t)total + 20);
    }
}

/* Compares with a server that supports ranges of bits. */
static void check_server(const model *it, const tamis_redis_bitmap_range *range) {
    const char *unit = range->unit == TAMIS_REDIS_BITMAP_BITS ? "BIT" : "BYTE";
    if (range->is_open)
        return;
    assert_int_equal(redis_server_number(&server, "BITCOUNT r %lld %lld %s", (long long)range->from,
                                         (long long)range->to, unit),
                     model_count(it, range));
    for (unsigned bit = 0; bit < 2; bit++)
        assert_int_equal(redis_server_number(&server, "BITPOS r %d %lld %lld %s", (int)bit,
                                             (long long)range->from, (long long)range->to, unit),
                         model_pos(it, bit, range));
}

static void check_range(const tamis_redis_bitmap *bitmap, const model *it,
                        const tamis_redis_bitmap_range *range) {
    uint64_t count = 0;
    int64_t offset = 0;
    OK(tamis_redis_bitmap_count(bitmap, range, &count, &err));
    if (count != model_count(it, range))
        fail_msg("%zu bytes, unit %d, %" PRId64 " to %" PRId64 ", open %d: %" PRIu64 " bits, not %" PRIu64,
                 it->size, (int)range->unit, range->from, range->to, range->is_open, count,
                 model_count(it, range));
    for (unsigned bit = 0; bit < 2; bit++) {
        OK(tamis_redis_bitmap_pos(bitmap, bit, range, &offset, &err));
        if (offset != model_pos(it, bit, range))
            fail_msg("%zu bytes, unit %d, %" PRId64 " to %" PRId64 ", open %d: bit %u at %" PRId64
                     ", not %" PRId64,
                     it->size, (int)range->unit, range->from, range->to, range->is_open, bit, offset,
                     model_pos(it, bit, range));
    }
}

static bool knows_bits(void) {
    redis_server_command(&server, "SET r x");
    return redis_server_command(&server, "BITCOUNT r 0 -1 BIT")[0] != '(';
}

static void ranges_are_those_of_a_model(void **state) {
    static const size_t sizes[] = {0, 1, 2, 3, 17, 4095, 4096, 4097, 4098, 12000};
    static model it;
    uint64_t seed = test_seed(22);
    (void)state;
    begin_test();
    tamis_redis_bitmap *bitmap = open_bitmap("r");
    const bool server_knows = knows_bits();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int kind = 0; kind < 5; kind++) {
            fill(&it, sizes[i], kind, &seed);
            put_there(&server, "r", &it);
            for (uint64_t n = test_scale(200, 40, 100); n > 0; n--) {
                tamis_redis_bitmap_range range = TAMIS_REDIS_BITMAP_RANGE_INIT;
                const bool bits = test_below(&seed, 4) > 0;
                const int64_t total = (int64_t)sizes[i] * (bits ? 8 : 1), cut = 4096 * (bits ? 8 : 1);
                range.unit = bits ? TAMIS_REDIS_BITMAP_BITS : TAMIS_REDIS_BITMAP_BYTES;
                range.from = random_offset(total, cut, &seed);
                range.to = random_offset(total, range.from + cut, &seed);
                range.is_open = test_below(&seed, 4) == 0;
                check_range(bitmap, &it, &range);
                if (server_knows)
                    check_server(&it, &range);
            }
        }
    tamis_redis_bitmap_close(bitmap);
}

/* Each pair of ends within the first bytes, with the opposite bits around the range. */
static void ranges_are_right_at_every_alignment(void **state) {
    static model it;
    (void)state;
    begin_test();
    tamis_redis_bitmap *bitmap = open_bitmap("r");
    for (int64_t from = 0; from < 20; from += (int64_t)test_scale(1, 3, 1))
        for (int64_t to = from - 1; to < 20; to++)
            for (unsigned inside = 0; inside < 2; inside++) {
                tamis_redis_bitmap_range range = TAMIS_REDIS_BITMAP_RANGE_INIT;
                it.size = 0;
                for (int64_t bit = 0; bit < 24; bit++)
                    set_bit(&it, (uint64_t)bit, (bit >= from && bit <= to) == inside);
                put_there(&server, "r", &it);
                range.unit = TAMIS_REDIS_BITMAP_BITS;
                range.is_open = false;
                range.from = from;
                range.to = to < 0 ? 0 : to;
                check_range(bitmap, &it, &range);
                range.from = from - 24;
                range.to = to - 24;
                check_range(bitmap, &it, &range);
            }
    tamis_redis_bitmap_close(bitmap);
}

/* The searched bit is before the range in its first byte, and then only at the end or after it. */
static void nothing_before_a_range_is_found(void **state) {
    static model it;
    (void)state;
    begin_test();
    tamis_redis_bitmap *bitmap = open_bitmap("r");
    for (int64_t first = 0; first < 5; first += 4)
        for (int64_t size = first + 4094; size < first + 4099; size++)
            for (int kind = 0; kind < 4; kind++) {
                const unsigned rest = kind % 2 ? 0xff : 0;
                tamis_redis_bitmap_range range = TAMIS_REDIS_BITMAP_RANGE_INIT;
                it.size = (size_t)size;
                memset(it.bytes, (int)rest, it.size);
                it.bytes[first] ^= 0x80;
                if (kind > 1)
                    it.bytes[size - 1] ^= 1;
                put_there(&server, "r", &it);
                range.unit = TAMIS_REDIS_BITMAP_BITS;
                range.from = 8 * first + 1;
                check_range(bitmap, &it, &range);
                range.is_open = false;
                for (range.to = 8 * size - 2; range.to <= 8 * size; range.to++)
                    check_range(bitmap, &it, &range);
            }
    tamis_redis_bitmap_close(bitmap);
}

static void no_range_is_all(void **state) {
    static model it;
    uint64_t count, seed = test_seed(23);
    int64_t offset;
    (void)state;
    begin_test();
    tamis_redis_bitmap *bitmap = open_bitmap("r");
    fill(&it, 999, 2, &seed);
    put_there(&server, "r", &it);
    OK(tamis_redis_bitmap_count(bitmap, NULL, &count, &err));
    assert_int_equal(count, model_count(&it, &(tamis_redis_bitmap_range)TAMIS_REDIS_BITMAP_RANGE_INIT));
    fill(&it, 999, 1, &seed);
    put_there(&server, "r", &it);
    OK(tamis_redis_bitmap_pos(bitmap, 0, NULL, &offset, &err));
    assert_int_equal(offset, 8 * 999);
    OK(tamis_redis_bitmap_pos(bitmap, 1, NULL, &offset, &err));
    assert_int_equal(offset, 0);
    tamis_redis_bitmap_close(bitmap);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_those_of_a_model),
        cmocka_unit_test(ranges_are_right_at_every_alignment),
        cmocka_unit_test(nothing_before_a_range_is_found),
        cmocka_unit_test(no_range_is_all),
    };
    return cmocka_run_group_tests(tests, redis_filters_set_up, redis_filters_tear_down);
}
