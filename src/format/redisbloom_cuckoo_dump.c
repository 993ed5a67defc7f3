/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RedisBloom's cuckoo filter as bytes: the dump of CF.SCANDUMP, and the fields of an RDB file.
 *
 * Dump. All numbers are little-endian, without padding:
 *
 *     header      u64 items, u64 buckets of the first table, u64 deleted items,                38 bytes
 *                 u64 tables, u16 slots of a bucket, u16 iterations, u16 expansion
 *     chunks      the tables, oldest first; at most 16 MiB each, none spans two tables
 *
 *     position    1 after the header, then 1 plus the bytes of all chunks so far; 0 at the end
 *
 * Byte by byte:
 *
 *     0       8         16        24       32          34           36          38
 *     | items | buckets | deleted | tables | slots     | iterations | expansion |
 *
 * The header of CF.RESERVE c 1000, after one CF.ADD. Numbers in hexadecimal, in the order of the bytes:
 *
 *     0    0100000000000000   1 item                   24   0100000000000000   1 table
 *     8    0002000000000000   512 buckets              32   0200               2 slots of a bucket
 *     16   0000000000000000   no deletions             34   1400               20 iterations
 *                                                      36   0100               expansion 1
 *
 *     CF.SCANDUMP c 0       1, header                  CF.LOADCHUNK d 1 header
 *     CF.SCANDUMP c 1       1025, 1024 slots           CF.LOADCHUNK d 1025 slots    begins at 1025 - 1 - 1024
 *     CF.SCANDUMP c 1025    0: the end
 *
 * A slot is one byte. The sizes of all tables follow from the header: table i has buckets * expansion^i. So
 * a filter of 2^20 buckets of 3 slots that grew by 2 three times has chunks of 3, 6, 12, 16 and 8 MiB.
 *
 * RDB. The same numbers in another order, each an unsigned number (u) or a string (s):
 *
 *     tables u, buckets u, items u, deleted items u, slots of a bucket u, iterations u, expansion u
 *     for each table: buckets u, slots s
 *
 * The same filter there: 1 512 1 0 2 20 1, then 512 and a string of 1024 bytes. The size of each table is
 * stored here a second time, and read_table compares both.
 *
 * Both ways in lead through the same check, tamis__rbc_append_checked. A header may promise any number of
 * bytes, and costs little: the memory of a table is allocated with its first chunk. Until then it takes 16
 * bytes in an array, and there are at most 65536 tables.
 *
 * What bytes from outside could do, and what stops them:
 *
 *     bytes                                     danger                             stopped by
 *     ----------------------------------------  ---------------------------------  -------------------------
 *     2^64 - 1 tables                           all memory for the array           tamis__rbc_append_checked
 *     buckets, not a power of two               other buckets than RedisBloom has  tamis__rbc_append_checked
 *     2^32 slots and more                       sizes that wrap around             tamis__rbc_append_checked
 *     0 slots a bucket                          moves past the table, modulo 0     tamis__rbc_append_checked
 *     2^32 iterations                           seconds for each add               tamis__rbc_append_checked
 *     more items than slots                     a count that is never right        tamis__rbc_append_checked
 *     a table of another size than the header   slots outside of it                read_table
 *     a chunk that is longer than its table     writing past the table             load_chunk: TOO_LONG
 *     a later chunk first                       free slots in between: lost keys   load_chunk: missing
 *     other slots for a loaded chunk            keys of the first load are lost    load_chunk: memcmp
 *     a header alone                            a table without slots              tamis__rbc_check_complete
 *
 * The slots need no check: each byte is 0 or a fingerprint, and the bucket that it leads to is always one of
 * the table. Fewer fingerprints than `keys` says are harmless too, since a removal never counts below 0.
 *
 * A chunk that is there already is compared, and accepted if it is equal. A client that got no answer may
 * send its last command again.
 *
 * Invariants:
 * 1. `loaded` is the end of a prefix: all slots of all tables before it are loaded, and none after it.
 * 2. On failure a filter with chunks is unchanged, and a new one is freed: *filter is untouched.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/versioned.h"
#include "filter/compat/redisbloom_tables.h"
#include "format/redisbloom_chunks.h"

static const tamis__rb_words words = {"redisbloom cuckoo", "table", "slots"};

/* ---- header ---- */

void tamis_redisbloom_cuckoo_header_write(const tamis_redisbloom_cuckoo *filter, void *bytes) {
    uint8_t *to = bytes;
    tamis__store64le(to, filter->keys);
    tamis__store64le(to + 8, filter->buckets);
    tamis__store64le(to + 16, filter->removed);
    tamis__store64le(to + 24, filter->count);
    tamis__store16le(to + 32, (uint16_t)filter->bucket_size);
    tamis__store16le(to + 34, (uint16_t)filter->max_iterations);
    tamis__store16le(to + 36, (uint16_t)filter->expansion);
}

tamis_status tamis_redisbloom_cuckoo_load_header(tamis_redisbloom_cuckoo **filter, const void *bytes,
                                                 size_t size, const tamis_allocator *allocator,
                                                 tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, bytes, err);
    if (size != TAMIS_REDISBLOOM_CUCKOO_HEADER)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "redisbloom cuckoo: %zu bytes are not a header; dump the filter again", size);
    tamis_redisbloom_cuckoo *created;
    tamis_status status = tamis__rbc_create_empty(&created, allocator, err);
    if (status != TAMIS_OK)
        return status;
    const uint8_t *from = bytes;
    created->keys = tamis__load64le(from);
    created->buckets = tamis__load64le(from + 8);
    created->removed = tamis__load64le(from + 16);
    created->bucket_size = tamis__load16le(from + 32);
    created->max_iterations = tamis__load16le(from + 34);
    created->expansion = tamis__load16le(from + 36);
    status = tamis__rbc_append_checked(created, tamis__load64le(from + 24), err);
    if (status != TAMIS_OK) {
        tamis_redisbloom_cuckoo_free(created);
        return status;
    }
    *filter = created;
    return TAMIS_OK;
}

/* ---- chunks ---- */

/* Finds the table with byte `offset` of all tables, and sets *within to the byte in its own. Returns the
 * number of tables if there is none. With an expansion of 1 there may be many tables, all of one size: the
 * index is computed. */
static size_t find_table(const tamis_redisbloom_cuckoo *filter, uint64_t offset, uint64_t *within) {
    size_t i = 0;
    if (filter->expansion == 1) {
        const uint64_t bytes = tamis__rbc_table_bytes(filter, 0);
        *within = offset % bytes;
        return offset / bytes < filter->count ? (size_t)(offset / bytes) : filter->count;
    }
    for (; i < filter->count && offset >= tamis__rbc_table_bytes(filter, i); i++)
        offset -= tamis__rbc_table_bytes(filter, i);
    *within = offset;
    return i;
}

/* Finds the range with byte `offset` of all tables. Returns the number of its table. */
static size_t find_range(const tamis_redisbloom_cuckoo *filter, uint64_t position, uint64_t offset,
                         tamis__rb_range *range) {
    uint64_t within;
    const size_t index = find_table(filter, offset, &within);
    *range =
        (tamis__rb_range){.words = &words, .iterator = position, .offset = offset, .loaded = filter->loaded};
    if (index < filter->count) {
        range->left = tamis__rbc_table_bytes(filter, index) - within;
        range->bytes = filter->tables[index].slots ? filter->tables[index].slots + within : NULL;
    }
    return index;
}

uint64_t tamis_redisbloom_cuckoo_chunk(const tamis_redisbloom_cuckoo *filter, uint64_t position,
                                       const void **bytes, size_t *size) {
    tamis__rb_range range;
    *size = 0;
    *bytes = NULL;
    if (position < 1 || position - 1 >= filter->loaded)
        return 0;
    (void)find_range(filter, position, position - 1, &range);
    *size = tamis__rb_chunk_size(&range);
    *bytes = range.bytes;
    return position + *size;
}

tamis_status tamis_redisbloom_cuckoo_load_chunk(tamis_redisbloom_cuckoo *filter, uint64_t position,
                                                const void *bytes, size_t size, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, bytes, err);
    tamis__rb_range range;
    bool is_new;
    const uint64_t offset = size >= 1 ? tamis__rb_offset(position, size) : UINT64_MAX;
    const size_t index = find_range(filter, position, offset, &range);
    tamis_status status = tamis__rb_check_chunk(&range, bytes, size, &is_new, err);
    if (status != TAMIS_OK || !is_new)
        return status;
    if (!filter->tables[index].slots)
        status = tamis__rbc_allocate_slots(filter, index, err);
    if (status != TAMIS_OK)
        return status;
    memcpy(filter->tables[index].slots + (tamis__rbc_table_bytes(filter, index) - range.left), bytes, size);
    filter->loaded = range.offset + size;
    return TAMIS_OK;
}

/* ---- RDB ---- */

/* Reads the slots of a table. */
static tamis_status read_table(tamis_redisbloom_cuckoo *filter, size_t index,
                               const tamis_redisbloom_source *source, tamis_error *err) {
    uint64_t buckets;
    size_t bytes = 0;
    if (!source->number(source->context, &buckets))
        return tamis__rb_missing_field(&words, err);
    uint8_t *slots = source->bytes(source->context, &bytes);
    if (!slots)
        return tamis__rb_missing_field(&words, err);
    if (buckets != filter->tables[index].buckets || bytes != tamis__rbc_table_bytes(filter, index)) {
        tamis__free(&filter->allocator, slots, bytes);
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "redisbloom cuckoo: table %zu has another size than the filter says; dump the filter "
            "again",
            index);
    }
    filter->tables[index].slots = slots;
    filter->loaded += bytes;
    return TAMIS_OK;
}

static tamis_status read_filter(tamis_redisbloom_cuckoo *filter, const tamis_redisbloom_source *source,
                                tamis_error *err) {
    uint64_t count;
    if (!source->number(source->context, &count) || !source->number(source->context, &filter->buckets) ||
        !source->number(source->context, &filter->keys) ||
        !source->number(source->context, &filter->removed) ||
        !tamis__rb_read_small(source, &filter->bucket_size) ||
        !tamis__rb_read_small(source, &filter->max_iterations) ||
        !tamis__rb_read_small(source, &filter->expansion))
        return tamis__rb_missing_field(&words, err);
    tamis_status status = tamis__rbc_append_checked(filter, count, err);
    for (size_t i = 0; status == TAMIS_OK && i < filter->count; i++)
        status = read_table(filter, i, source, err);
    return status;
}

tamis_status tamis_redisbloom_cuckoo_rdb_read(tamis_redisbloom_cuckoo **filter, uint32_t version,
                                              const tamis_redisbloom_source *source,
                                              const tamis_allocator *allocator, tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_redisbloom_source given = TAMIS_REDISBLOOM_SOURCE_INIT;
    tamis_status status =
        tamis__read_struct(&given, sizeof given, source, "TAMIS_REDISBLOOM_SOURCE_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (version != TAMIS_REDISBLOOM_CUCKOO_RDB_VERSION)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "redisbloom cuckoo: encoding version %" PRIu32
                           " is not %d; save the filter with a release of RedisBloom that writes that one",
                           version, TAMIS_REDISBLOOM_CUCKOO_RDB_VERSION);
    tamis_redisbloom_cuckoo *created;
    status = tamis__rbc_create_empty(&created, allocator, err);
    if (status != TAMIS_OK)
        return status;
    status = read_filter(created, &given, err);
    if (status != TAMIS_OK) {
        tamis_redisbloom_cuckoo_free(created);
        return status;
    }
    *filter = created;
    return TAMIS_OK;
}

tamis_status tamis_redisbloom_cuckoo_rdb_write(const tamis_redisbloom_cuckoo *filter,
                                               const tamis_redisbloom_sink *sink, tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_redisbloom_sink to = TAMIS_REDISBLOOM_SINK_INIT;
    tamis_status status = tamis__read_struct(&to, sizeof to, sink, "TAMIS_REDISBLOOM_SINK_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__rbc_check_complete(filter, err);
    if (status != TAMIS_OK)
        return status;
    to.number(to.context, filter->count);
    to.number(to.context, filter->buckets);
    to.number(to.context, filter->keys);
    to.number(to.context, filter->removed);
    to.number(to.context, filter->bucket_size);
    to.number(to.context, filter->max_iterations);
    to.number(to.context, filter->expansion);
    for (size_t i = 0; i < filter->count; i++) {
        to.number(to.context, filter->tables[i].buckets);
        to.bytes(to.context, filter->tables[i].slots, (size_t)tamis__rbc_table_bytes(filter, i));
    }
    return TAMIS_OK;
}
