/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RedisBloom's scaling filter as bytes: the dump of BF.SCANDUMP, and the fields of an RDB file.
 *
 * Dump. All numbers are little-endian, without padding:
 *
 *     header      u64 items, u32 sub-filters, u32 options, u32 expansion                       20 bytes
 *                 for each sub-filter                                                          53 bytes each
 *                     u64 bytes, u64 bits, u64 items, f64 rate, f64 bits for each item,
 *                     u32 hashes, u64 capacity, u8 logarithm of the bits
 *     chunks      the bit arrays, oldest first; at most 16 MiB each, none spans two arrays
 *
 *     iterator    1 after the header, then 1 plus the bytes of all chunks so far; 0 at the end
 *
 * Byte by byte:
 *
 *     0        8              12        16          20           73           126
 *     | items  | sub-filters  | options | expansion | record 0   | record 1   | ...
 *
 *     0        8      16      24     32                 40       44         52          53
 *     | bytes  | bits | items | rate | bits for each    | hashes | capacity | logarithm |
 *
 * The header of BF.RESERVE f 0.01 100, after one BF.ADD. Numbers in hexadecimal, in the order of the bytes:
 *
 *     0    0100000000000000   1 item                       36   0100000000000000   1 item
 *     8    01000000           1 sub-filter                 44   7b14ae47e17a743f   rate 0.005, half of 0.01
 *     12   05000000           exact bits, 64-bit hashes    52   e9862fb2350e2640   11.0278 bits for each item
 *     16   02000000           expansion 2                  60   08000000           8 hashes
 *     20   9000000000000000   144 bytes                    64   6400000000000000   capacity 100
 *     28   8004000000000000   1152 bits                    72   00                 not a power of two
 *
 * The logarithm is 0 for sizes that are not a power of two. Otherwise positions are below 2^logarithm, not
 * below `bits`: append in filter/compat/redisbloom.c chooses the modulus.
 *
 * An iterator names the end of its chunk in a load, and the beginning of the next one in a dump. A client
 * sends back what it got, so the dump of this filter is loaded like this:
 *
 *     BF.SCANDUMP f 0      1, header of 73 bytes         BF.LOADCHUNK g 1 header
 *     BF.SCANDUMP f 1      145, 144 bytes                BF.LOADCHUNK g 145 bytes     begins at 145 - 1 - 144
 *     BF.SCANDUMP f 145    0, nothing: the end
 *
 * Why chunks never span two arrays: each array is a block of memory of its own. So a chunk is a pointer into
 * one, and dumping copies nothing. Two arrays of 20 and 3 MiB give chunks of 16, 4 and 3 MiB.
 *
 * RDB. The same numbers in another order, each an unsigned number (u), a double (d) or a string (s):
 *
 *     items u, sub-filters u, options u, expansion u (since version 4; before it: 2)
 *     for each sub-filter: capacity u, rate d, hashes u, bits for each item d, bits u, logarithm u, array s,
 *     items u
 *
 * Versions 0 and 1 have no options, so their filters have 32-bit hashes, which are not supported.
 *
 * The same filter there: 1 1 5 2, then 100 0.005 8 11.0278 1152 0, a string of 144 bytes, 1.
 *
 * Both ways in lead through the same checks, tamis__rb_append and tamis__rb_check. A header may promise any
 * number of bytes, and costs nothing: the memory of a bit array is allocated with its first chunk.
 *
 * What bytes from outside could do, and what stops them:
 *
 *     bytes                                      danger                            stopped by
 *     -----------------------------------------  --------------------------------  ------------------------
 *     2^32 - 1 sub-filters in a short header     reading past the header           its size, in load_header
 *     the same in an RDB field                   a loop of hours                   the first missing field
 *     more bits than bytes, logarithm 63         positions outside of the array    tamis__rb_append
 *     bytes that add up to 2^64                  offsets that wrap around          tamis__rb_append
 *     10^9 hashes                                seconds for each lookup           tamis__rb_append
 *     a rate of NaN or 2                         no sizes for the next sub-filter  tamis__rb_append
 *     other items than the sum of sub-filters    a count that is never right       tamis__rb_check
 *     a chunk that is longer than its array      writing past the array            load_chunk: TOO_LONG
 *     a later chunk first                        zeros in between: keys are lost   load_chunk: missing
 *     other bits for a loaded chunk              keys of the first load are lost   load_chunk: memcmp
 *     a header alone                             a filter that has no bits         tamis__rb_check_complete
 *
 * The bits themselves need no check: any bits are those of some filter.
 *
 * A first chunk of one byte is enough to have its whole array allocated. The checks allow any size up to 2^60
 * bytes, so a caller that fears this passes an allocator with a limit.
 *
 * Cost. A header is read in time linear in its sub-filters, and a chunk is found by bisection. A header from
 * outside may have millions of tiny sub-filters. A chain that grew by 2 or more has fewer than 60.
 *
 * Invariants:
 * 1. `loaded` is the end of a prefix: all bytes of all arrays before it are loaded, and none after it.
 * 2. On failure a loaded chain is unchanged, and a new one is freed: *filter is untouched.
 */
#include <inttypes.h>

#include "base/versioned.h"
#include "filter/compat/redisbloom_chain.h"
#include "format/redisbloom_chunks.h"

enum { HEADER = 20, RECORD = 53, RDB_OLDEST = 2, RDB_WITH_EXPANSION = 4, OLD_EXPANSION = 2 };
static const tamis__rb_words words = {"redisbloom", "sub-filter", "bits"};

/* ---- header ---- */

static void store_double(uint8_t *to, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    tamis__store64le(to, bits);
}

static double load_double(const uint8_t *from) {
    const uint64_t bits = tamis__load64le(from);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void store_record(uint8_t *to, const tamis_redisbloom_subfilter *size) {
    tamis__store64le(to, size->bytes);
    tamis__store64le(to + 8, size->bits);
    tamis__store64le(to + 16, size->keys);
    store_double(to + 24, size->rate);
    store_double(to + 32, size->bits_per_key);
    tamis__store32le(to + 40, size->hashes);
    tamis__store64le(to + 44, size->capacity);
    to[52] = (uint8_t)size->bits_log2;
}

static tamis_redisbloom_subfilter load_record(const uint8_t *from) {
    return (tamis_redisbloom_subfilter){
        .struct_size = sizeof(tamis_redisbloom_subfilter),
        .bytes = tamis__load64le(from),
        .bits = tamis__load64le(from + 8),
        .keys = tamis__load64le(from + 16),
        .rate = load_double(from + 24),
        .bits_per_key = load_double(from + 32),
        .hashes = tamis__load32le(from + 40),
        .capacity = tamis__load64le(from + 44),
        .bits_log2 = from[52],
    };
}

size_t tamis_redisbloom_header_size(const tamis_redisbloom *filter) {
    return HEADER + RECORD * filter->count;
}

void tamis_redisbloom_header_write(const tamis_redisbloom *filter, void *bytes) {
    uint8_t *to = bytes;
    tamis__store64le(to, filter->keys);
    tamis__store32le(to + 8, (uint32_t)filter->count);
    tamis__store32le(to + 12, filter->options);
    tamis__store32le(to + 16, filter->growth);
    for (size_t i = 0; i < filter->count; i++)
        store_record(to + HEADER + RECORD * i, &filter->subfilters[i].size);
}

/* Fills an empty chain from a header whose size is correct. */
static tamis_status decode_header(tamis_redisbloom *chain, const uint8_t *bytes, tamis_error *err) {
    const uint32_t count = tamis__load32le(bytes + 8);
    chain->keys = tamis__load64le(bytes);
    chain->options = tamis__load32le(bytes + 12);
    chain->growth = tamis__load32le(bytes + 16);
    for (uint32_t i = 0; i < count; i++) {
        const tamis_redisbloom_subfilter size = load_record(bytes + HEADER + (size_t)RECORD * i);
        const tamis_status status = tamis__rb_append(chain, &size, err);
        if (status != TAMIS_OK)
            return status;
    }
    return tamis__rb_check(chain, err);
}

tamis_status tamis_redisbloom_load_header(tamis_redisbloom **filter, const void *bytes, size_t size,
                                          const tamis_allocator *allocator, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, bytes, err);
    if (size < HEADER || (size - HEADER) % RECORD != 0 ||
        (size - HEADER) / RECORD != tamis__load32le((const uint8_t *)bytes + 8))
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "redisbloom: %zu bytes are not a header; dump the filter again", size);
    tamis_redisbloom *created;
    tamis_status status = tamis__rb_create_empty(&created, allocator, err);
    if (status != TAMIS_OK)
        return status;
    status = decode_header(created, bytes, err);
    if (status != TAMIS_OK) {
        tamis_redisbloom_free(created);
        return status;
    }
    *filter = created;
    return TAMIS_OK;
}

/* ---- chunks ---- */

/* Finds the sub-filter with byte `offset` of all bit arrays, and sets *within to the byte in its own. Returns
 * the number of sub-filters if there is none. */
static size_t find_subfilter(const tamis_redisbloom *chain, uint64_t offset, uint64_t *within) {
    size_t low = 0, high = chain->count; /* the sub-filters below `low` end at or before `offset` */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (chain->subfilters[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    *within =
        low < chain->count ? offset - (chain->subfilters[low].end - chain->subfilters[low].size.bytes) : 0;
    return low;
}

/* Finds the range with byte `offset` of all bit arrays. Returns the number of its sub-filter. */
static size_t find_range(const tamis_redisbloom *chain, uint64_t iterator, uint64_t offset,
                         tamis__rb_range *range) {
    uint64_t within;
    const size_t index = find_subfilter(chain, offset, &within);
    *range =
        (tamis__rb_range){.words = &words, .iterator = iterator, .offset = offset, .loaded = chain->loaded};
    if (index < chain->count) {
        const tamis__rb_subfilter *sub = &chain->subfilters[index];
        range->left = sub->size.bytes - within;
        range->bytes = sub->bits ? sub->bits + within : NULL;
    }
    return index;
}

uint64_t tamis_redisbloom_chunk(const tamis_redisbloom *filter, uint64_t iterator, const void **bytes,
                                size_t *size) {
    tamis__rb_range range;
    *size = 0;
    *bytes = NULL;
    if (iterator < 1 || iterator - 1 >= filter->loaded)
        return 0;
    (void)find_range(filter, iterator, iterator - 1, &range);
    *size = tamis__rb_chunk_size(&range);
    *bytes = range.bytes;
    return iterator + *size;
}

tamis_status tamis_redisbloom_load_chunk(tamis_redisbloom *filter, uint64_t iterator, const void *bytes,
                                         size_t size, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, bytes, err);
    tamis__rb_range range;
    bool is_new;
    const size_t index = find_range(filter, iterator, tamis__rb_offset(iterator, size), &range);
    tamis_status status = tamis__rb_check_chunk(&range, bytes, size, &is_new, err);
    if (status != TAMIS_OK || !is_new)
        return status;
    tamis__rb_subfilter *sub = &filter->subfilters[index];
    if (!sub->bits)
        status = tamis__rb_allocate_bits(filter, index, err);
    if (status != TAMIS_OK)
        return status;
    memcpy(sub->bits + (sub->size.bytes - range.left), bytes, size);
    filter->loaded = range.offset + size;
    return TAMIS_OK;
}

/* ---- RDB ---- */

/* Reads the next sub-filter and appends it with its bits. */
static tamis_status read_subfilter(tamis_redisbloom *chain, const tamis_redisbloom_source *source,
                                   tamis_error *err) {
    tamis_redisbloom_subfilter size = TAMIS_REDISBLOOM_SUBFILTER_INIT;
    size_t bytes = 0;
    if (!source->number(source->context, &size.capacity) || !source->real(source->context, &size.rate) ||
        !tamis__rb_read_small(source, &size.hashes) || !source->real(source->context, &size.bits_per_key) ||
        !source->number(source->context, &size.bits) || !tamis__rb_read_small(source, &size.bits_log2))
        return tamis__rb_missing_field(&words, err);
    uint8_t *bits = source->bytes(source->context, &bytes);
    if (!bits)
        return tamis__rb_missing_field(&words, err);
    size.bytes = bytes;
    tamis_status status = source->number(source->context, &size.keys) ? tamis__rb_append(chain, &size, err)
                                                                      : tamis__rb_missing_field(&words, err);
    if (status != TAMIS_OK) {
        tamis__free(&chain->allocator, bits, bytes);
        return status;
    }
    chain->subfilters[chain->count - 1].bits = bits;
    chain->loaded += bytes;
    return TAMIS_OK;
}

static tamis_status read_chain(tamis_redisbloom *chain, uint32_t version,
                               const tamis_redisbloom_source *source, tamis_error *err) {
    uint64_t count;
    chain->growth = OLD_EXPANSION;
    if (!source->number(source->context, &chain->keys) || !source->number(source->context, &count) ||
        !tamis__rb_read_small(source, &chain->options) ||
        (version >= RDB_WITH_EXPANSION && !tamis__rb_read_small(source, &chain->growth)))
        return tamis__rb_missing_field(&words, err);
    if (count > UINT32_MAX)
        return tamis__rb_missing_field(&words, err);
    for (uint64_t i = 0; i < count; i++) {
        const tamis_status status = read_subfilter(chain, source, err);
        if (status != TAMIS_OK)
            return status;
    }
    return tamis__rb_check(chain, err);
}

tamis_status tamis_redisbloom_rdb_read(tamis_redisbloom **filter, uint32_t version,
                                       const tamis_redisbloom_source *source,
                                       const tamis_allocator *allocator, tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_redisbloom_source given = TAMIS_REDISBLOOM_SOURCE_INIT;
    tamis_status status =
        tamis__read_struct(&given, sizeof given, source, "TAMIS_REDISBLOOM_SOURCE_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (version < RDB_OLDEST || version > TAMIS_REDISBLOOM_RDB_VERSION)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "redisbloom: encoding version %" PRIu32
                           " is not one of %d to %d; save the filter with a newer release",
                           version, RDB_OLDEST, TAMIS_REDISBLOOM_RDB_VERSION);
    tamis_redisbloom *created;
    status = tamis__rb_create_empty(&created, allocator, err);
    if (status != TAMIS_OK)
        return status;
    status = read_chain(created, version, &given, err);
    if (status != TAMIS_OK) {
        tamis_redisbloom_free(created);
        return status;
    }
    *filter = created;
    return TAMIS_OK;
}

tamis_status tamis_redisbloom_rdb_write(const tamis_redisbloom *filter, const tamis_redisbloom_sink *sink,
                                        tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_redisbloom_sink to = TAMIS_REDISBLOOM_SINK_INIT;
    tamis_status status = tamis__read_struct(&to, sizeof to, sink, "TAMIS_REDISBLOOM_SINK_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__rb_check_complete(filter, err);
    if (status != TAMIS_OK)
        return status;
    to.number(to.context, filter->keys);
    to.number(to.context, filter->count);
    to.number(to.context, filter->options);
    to.number(to.context, filter->growth);
    for (size_t i = 0; i < filter->count; i++) {
        const tamis_redisbloom_subfilter *size = &filter->subfilters[i].size;
        to.number(to.context, size->capacity);
        to.real(to.context, size->rate);
        to.number(to.context, size->hashes);
        to.real(to.context, size->bits_per_key);
        to.number(to.context, size->bits);
        to.number(to.context, size->bits_log2);
        to.bytes(to.context, filter->subfilters[i].bits, (size_t)size->bytes);
        to.number(to.context, size->keys);
    }
    return TAMIS_OK;
}
