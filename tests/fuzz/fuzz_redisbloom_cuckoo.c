/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Bytes of a cuckoo filter of RedisBloom, of any kind. The first byte of the input is even for a dump
 * (header, then the slots in one piece) and odd for the fields of an RDB file: numbers of 8 bytes, slots with
 * their size in 2 bytes before them.
 *
 * Whatever is accepted works: keys that are added are found until they are removed, its dump makes an equal
 * filter, and its fields too. Memory is limited to 1 MiB for each filter.
 */
#include <tamis/compat/redisbloom_cuckoo.h>

#include "fuzz_fields.h"

enum { HEADER = TAMIS_REDISBLOOM_CUCKOO_HEADER };

/* ---- fields ---- */

static tamis_status from_fields(tamis_redisbloom_cuckoo **filter, const uint8_t *data, size_t size) {
    field_bytes from = {.data = data, .left = size};
    const tamis_redisbloom_source source = fields_source(&from);
    return tamis_redisbloom_cuckoo_rdb_read(filter, TAMIS_REDISBLOOM_CUCKOO_RDB_VERSION, &source, &limited,
                                            NULL);
}

/* ---- dumps ---- */

/* Loads a header, and as many slots as there are behind it, in pieces of any size. */
static tamis_status from_dump(tamis_redisbloom_cuckoo **filter, const uint8_t *data, size_t size) {
    const size_t header = size < HEADER ? size : HEADER;
    const tamis_status status = tamis_redisbloom_cuckoo_load_header(filter, data, header, &limited, NULL);
    size_t chunk = 64;
    for (size_t offset = 0; status == TAMIS_OK && offset < size - header;) {
        if (chunk > size - header - offset)
            chunk = size - header - offset;
        const tamis_status loaded = tamis_redisbloom_cuckoo_load_chunk(*filter, 1 + offset + chunk,
                                                                       data + header + offset, chunk, NULL);
        if (loaded == TAMIS_E_TOO_LONG && chunk > 1) {
            chunk /= 2;
            continue;
        }
        require(loaded == TAMIS_OK || loaded == TAMIS_E_NOMEM || loaded == TAMIS_E_RANGE);
        if (loaded != TAMIS_OK)
            break;
        offset += chunk;
    }
    return status;
}

/* Loads the dump of a filter into another, which must then have the same dump. */
static void check_dump(const tamis_redisbloom_cuckoo *filter) {
    uint8_t header[HEADER], again[HEADER];
    tamis_redisbloom_cuckoo_header_write(filter, header);
    tamis_redisbloom_cuckoo *copy = NULL;
    require(tamis_redisbloom_cuckoo_load_header(&copy, header, HEADER, &limited, NULL) == TAMIS_OK);
    const void *bytes, *copied;
    size_t chunk, copied_size;
    for (uint64_t iterator = 1, next;
         (next = tamis_redisbloom_cuckoo_chunk(filter, iterator, &bytes, &chunk)) != 0; iterator = next) {
        require(tamis_redisbloom_cuckoo_load_chunk(copy, next, bytes, chunk, NULL) == TAMIS_OK);
        require(tamis_redisbloom_cuckoo_chunk(copy, iterator, &copied, &copied_size) == next &&
                chunk == copied_size);
        require(memcmp(bytes, copied, chunk) == 0);
    }
    tamis_redisbloom_cuckoo_header_write(copy, again);
    require(memcmp(header, again, HEADER) == 0);
    tamis_redisbloom_cuckoo_free(copy);
}

/* ---- filters ---- */

static void check_fields(const tamis_redisbloom_cuckoo *filter, const tamis_redisbloom_cuckoo_info *info) {
    field_bytes to = {.capacity = 64 + 16 * (size_t)info->tables + (size_t)info->bytes};
    const tamis_redisbloom_sink sink = fields_sink(&to);
    require(tamis_redisbloom_cuckoo_rdb_write(filter, &sink, NULL) == TAMIS_OK);
    tamis_redisbloom_cuckoo *copy = NULL;
    require(from_fields(&copy, to.written, to.size) == TAMIS_OK);
    tamis_redisbloom_cuckoo_free(copy);
    free(to.written);
}

static void check_keys(tamis_redisbloom_cuckoo *filter) {
    static const tamis_key keys[] = {{"", 0}, {"a", 1}, {"foo", 3}, {"bar", 3}, {"tamis", 5}};
    for (size_t i = 0; i < 5; i++) {
        uint64_t before = 0, after = 0;
        tamis_answer answer = TAMIS_UNKNOWN;
        tamis_redisbloom_cuckoo_count(filter, keys[i].data, keys[i].size, &before, NULL);
        if (tamis_redisbloom_cuckoo_add(filter, keys[i].data, keys[i].size, NULL) != TAMIS_OK)
            continue;
        require(tamis_redisbloom_cuckoo_count(filter, keys[i].data, keys[i].size, &after, NULL) == TAMIS_OK);
        require(after == before + 1);
        require(tamis_redisbloom_cuckoo_contains_many(filter, &keys[i], 1, &answer, NULL) == TAMIS_OK);
        require(answer == TAMIS_PRESENT);
        if (i % 2)
            continue;
        require(tamis_redisbloom_cuckoo_remove(filter, keys[i].data, keys[i].size, &answer, NULL) ==
                TAMIS_OK);
        require(answer == TAMIS_PRESENT);
        require(tamis_redisbloom_cuckoo_count(filter, keys[i].data, keys[i].size, &after, NULL) == TAMIS_OK);
        /* Compacting may bring other entries into the key's bucket of a smaller table. */
        require(after >= before);
    }
    tamis_redisbloom_cuckoo_compact(filter, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    tamis_redisbloom_cuckoo *filter = NULL;
    const tamis_status status =
        data[0] % 2 ? from_fields(&filter, data + 1, size - 1) : from_dump(&filter, data + 1, size - 1);
    require((status == TAMIS_OK) == (filter != NULL));
    if (!filter)
        return 0;
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    require(tamis_redisbloom_cuckoo_info_get(filter, &info, NULL) == TAMIS_OK && info.keys <= info.bytes);
    check_dump(filter);
    if (info.complete && info.bytes < UINT16_MAX)
        check_fields(filter, &info);
    if (info.complete)
        check_keys(filter);
    check_dump(filter);
    tamis_redisbloom_cuckoo_free(filter);
    return 0;
}
