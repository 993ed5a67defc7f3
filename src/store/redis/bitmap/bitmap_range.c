/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Counting and searching bits in a range of a plain bitmap.
 *
 * Before version 7, Redis counts and searches whole bytes only. So a range of bits is split into commands
 * for bytes:
 *
 *         from                                                to
 *     ....xxxx xxxxxxxx xxxxxxxx ... xxxxxxxx xxxxxxxx xxxxx...
 *     first                                            last       bytes
 *
 *     counting
 *     GETRANGE |---------- BITCOUNT ----------------| GETRANGE    a range of up to EDGE_BYTES: one GETRANGE
 *
 *     searching
 *     |------------------- BITPOS ----------------------------|   the result, unless it is before `from`
 *     GETRANGE of EDGE_BYTES |---- BITPOS --------------------|   the result otherwise
 *
 * The commands of a call share a pipeline, but are not carried out at one instant. When counting, each bit
 * is read by exactly one command. So none is counted twice or left out.
 */
#include "base/versioned.h"
#include "store/redis/bitmap/bitmap_query.h"

enum { EDGE_BYTES = 4096 /* max. bytes fetched to count or search them here */ };

/* Reads the options of a range. `given` NULL: the defaults. */
static tamis_status read_range(tamis_redis_bitmap_range *range, const tamis_redis_bitmap_range *given,
                               tamis_error *err) {
    *range = (tamis_redis_bitmap_range)TAMIS_REDIS_BITMAP_RANGE_INIT;
    return tamis__read_options(range, sizeof *range, given, "TAMIS_REDIS_BITMAP_RANGE_INIT", err);
}

static int64_t from_end(int64_t bit_index, int64_t length) {
    if (bit_index < 0)
        bit_index += length;
    return bit_index < 0 ? 0 : bit_index;
}

/* Makes both ends of a range of bits offsets from the beginning. Negative ones count from the end of the
 * string. */
static tamis_status resolve_range(const tamis_redis_bitmap *bitmap, tamis_redis_bitmap_range *range,
                                  tamis_error *err) {
    tamis__bitmap_query length = {.command = "STRLEN"};
    if (range->is_open)
        range->to = INT64_MAX;
    if (range->from >= 0 && range->to >= 0)
        return TAMIS_OK;
    const tamis_status status = tamis__bitmap_run_queries(bitmap, &length, 1, err);
    if (status != TAMIS_OK)
        return status;
    if (length.integer < 0 || length.integer > INT64_MAX / 8)
        return tamis__bitmap_bad_reply(bitmap, err);
    range->from = from_end(range->from, 8 * length.integer);
    range->to = from_end(range->to, 8 * length.integer);
    return TAMIS_OK;
}

/* Masks of the bits of a byte from bit `from` on, and up to bit `to`. */
static unsigned bits_from(int64_t from) {
    return 0xffu >> from % 8;
}

static unsigned bits_to(int64_t to) {
    return 0xffu & 0xffu << (7 - to % 8);
}

/* ---- counting ---- */

/* Counts the bits from `from` to `to`. bytes[0] is byte from / 8 of the bitmap. */
static uint64_t count_in(const uint8_t *bytes, size_t size, int64_t from, int64_t to) {
    uint64_t count = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned byte = bytes[i];
        if (i == 0)
            byte &= bits_from(from);
        if ((int64_t)i == to / 8 - from / 8)
            byte &= bits_to(to);
        count += (unsigned)__builtin_popcount(byte);
    }
    return count;
}

static tamis_status count_bytes(const tamis_redis_bitmap *bitmap, int64_t from, int64_t to, uint64_t *count,
                                tamis_error *err) {
    tamis__bitmap_query query = {.command = "BITCOUNT", .numbers = {from, to}, .count = 2};
    const tamis_status status = tamis__bitmap_run_queries(bitmap, &query, 1, err);
    if (status == TAMIS_OK)
        *count = (uint64_t)query.integer;
    return status;
}

static tamis_status count_bits(const tamis_redis_bitmap *bitmap, int64_t from, int64_t to, uint64_t *count,
                               tamis_error *err) {
    const int64_t first = from / 8, last = to / 8;
    uint8_t bytes[EDGE_BYTES], end[1];
    if (from % 8 == 0 && to % 8 == 7)
        return count_bytes(bitmap, first, last, count, err);
    const bool is_short = last - first < EDGE_BYTES;
    tamis__bitmap_query queries[] = {{.command = "GETRANGE",
                                      .numbers = {first, is_short ? last : first},
                                      .count = 2,
                                      .bytes = bytes,
                                      .buffer_size = sizeof bytes},
                                     {.command = "BITCOUNT", .numbers = {first + 1, last - 1}, .count = 2},
                                     {.command = "GETRANGE",
                                      .numbers = {last, last},
                                      .count = 2,
                                      .bytes = end,
                                      .buffer_size = sizeof end}};
    const tamis_status status = tamis__bitmap_run_queries(bitmap, queries, is_short ? 1 : 3, err);
    if (status != TAMIS_OK)
        return status;
    *count = count_in(bytes, queries[0].size, from, to);
    if (!is_short)
        *count += (uint64_t)queries[1].integer + count_in(end, queries[2].size, 8 * last, to);
    return TAMIS_OK;
}

tamis_status tamis_redis_bitmap_count(const tamis_redis_bitmap *bitmap, const tamis_redis_bitmap_range *given,
                                      uint64_t *count, tamis_error *err) {
    TAMIS__NEED(bitmap, err);
    TAMIS__NEED(count, err);
    tamis_redis_bitmap_range range;
    tamis_status status = read_range(&range, given, err);
    if (status != TAMIS_OK)
        return status;
    /* Compared before negative ends are cut off at 0, as Redis does. */
    const bool is_none = !range.is_open && range.from < 0 && range.to < 0 && range.from > range.to;
    if (range.unit == TAMIS_REDIS_BITMAP_BYTES)
        return count_bytes(bitmap, range.from, range.is_open ? -1 : range.to, count, err);
    status = resolve_range(bitmap, &range, err);
    if (status != TAMIS_OK)
        return status;
    if (!is_none && range.from <= range.to)
        return count_bits(bitmap, range.from, range.to, count, err);
    *count = 0;
    return TAMIS_OK;
}

/* ---- searching ---- */

/* Returns the first bit equal to `bit` from `from` to `to`, or -1. bytes[0] is byte from / 8 of the
 * bitmap. */
static int64_t search_in(const uint8_t *bytes, size_t size, int64_t from, int64_t to, unsigned bit) {
    for (int64_t bit_offset = from; bit_offset <= to && bit_offset / 8 - from / 8 < (int64_t)size;
         bit_offset++)
        if ((bytes[bit_offset / 8 - from / 8] >> (7 - bit_offset % 8) & 1u) == bit)
            return bit_offset;
    return -1;
}

static tamis__bitmap_query bitpos_query(unsigned bit, int64_t from, int64_t to, bool is_open) {
    return (tamis__bitmap_query){
        .command = "BITPOS", .numbers = {(int64_t)bit, from, to}, .count = is_open ? 2 : 3};
}

static tamis_status search_bits(const tamis_redis_bitmap *bitmap, unsigned bit,
                                const tamis_redis_bitmap_range *range, int64_t *offset, tamis_error *err) {
    const int64_t from = range->from, to = range->to, first = from / 8, behind = first + EDGE_BYTES,
                  last = to / 8;
    const bool goes_on = range->is_open && bit == 0;
    const size_t count = from % 8 == 0 ? 1 : last < behind ? 2 : 3;
    uint8_t bytes[EDGE_BYTES];
    tamis__bitmap_query queries[] = {bitpos_query(bit, first, last, range->is_open),
                                     {.command = "GETRANGE",
                                      .numbers = {first, behind - 1},
                                      .count = 2,
                                      .bytes = bytes,
                                      .buffer_size = sizeof bytes},
                                     bitpos_query(bit, behind, last, range->is_open)};
    const tamis_status status = tamis__bitmap_run_queries(bitmap, queries, count, err);
    if (status != TAMIS_OK)
        return status;
    int64_t found = queries[0].integer;
    if (found >= from) {
        *offset = found <= to ? found : -1;
        return TAMIS_OK;
    }
    if (queries[1].size == 0) { /* nothing there: -1. Without the key, BITPOS finds bit 0 as the first 0. */
        *offset = bit == 0 && found == 0 ? 0 : -1;
        return TAMIS_OK;
    }
    found = search_in(bytes, queries[1].size, from, to, bit);
    if (found < 0 && goes_on && queries[1].size < EDGE_BYTES)
        found = 8 * (first + (int64_t)queries[1].size);
    else if (found < 0 && count == 3) {
        found = queries[2].integer <= to ? queries[2].integer : -1;
        if (found < 0 && goes_on) /* the string is `behind` bytes long */
            found = 8 * behind;
    }
    *offset = found;
    return TAMIS_OK;
}

tamis_status tamis_redis_bitmap_pos(const tamis_redis_bitmap *bitmap, unsigned bit,
                                    const tamis_redis_bitmap_range *given, int64_t *offset,
                                    tamis_error *err) {
    TAMIS__NEED(bitmap, err);
    TAMIS__NEED(offset, err);
    tamis_redis_bitmap_range range;
    tamis_status status = read_range(&range, given, err);
    if (status == TAMIS_OK && bit > 1)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: bit %u is searched for; give 0 or 1",
                           bitmap->uri->shown, bit);
    if (status == TAMIS_OK && range.unit == TAMIS_REDIS_BITMAP_BITS)
        status = resolve_range(bitmap, &range, err);
    if (status != TAMIS_OK)
        return status;
    if (range.unit == TAMIS_REDIS_BITMAP_BITS)
        return search_bits(bitmap, bit, &range, offset, err);
    tamis__bitmap_query query = bitpos_query(bit, range.from, range.to, range.is_open);
    status = tamis__bitmap_run_queries(bitmap, &query, 1, err);
    if (status == TAMIS_OK)
        *offset = query.integer;
    return status;
}
