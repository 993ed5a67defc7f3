/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Bytes of a scaling filter of RedisBloom, of any kind. The first byte of the input is even for a dump (header,
 * then the bits in one piece) and odd for the fields of an RDB file: numbers and doubles of 8 bytes, bytes
 * with their size in 2 bytes before them.
 *
 * Whatever is accepted works: keys that are added are found, its dump makes an equal filter, and its fields too.
 * Memory is limited to 1 MiB for each filter.
 */
#include "fuzz_fields.h"

/* ---- fields ---- */

static tamis_status from_fields(tamis_redisbloom **filter, const uint8_t *data, size_t size) {
    field_bytes from = {.data = data, .left = size};
    const tamis_redisbloom_source source = fields_source(&from);
    return tamis_redisbloom_rdb_read(filter, TAMIS_REDISBLOOM_RDB_VERSION, &source, &limited, NULL);
}

/* ---- dumps ---- */

/* Loads a header, and as many bits as there are behind it. */
static tamis_status from_dump(tamis_redisbloom **filter, const uint8_t *data, size_t size) {
    uint32_t count;
    if (size < 20)
        return tamis_redisbloom_load_header(filter, data, size, &limited, NULL);
    memcpy(&count, data + 8, sizeof count);
    const size_t header = count <= (size - 20) / 53 ? 20 + 53 * (size_t)count : size;
    tamis_status status = tamis_redisbloom_load_header(filter, data, header, &limited, NULL);
    uint64_t offset = 0;
    for (uint64_t i = 0; status == TAMIS_OK && offset < size - header; i++) {
        tamis_redisbloom_subfilter sub = TAMIS_REDISBLOOM_SUBFILTER_INIT;
        if (tamis_redisbloom_subfilter_get(*filter, i, &sub, NULL) != TAMIS_OK)
            return status;
        const size_t left = size - header - (size_t)offset;
        const size_t chunk = sub.bytes < left ? (size_t)sub.bytes : left;
        const tamis_status loaded =
            tamis_redisbloom_load_chunk(*filter, 1 + offset + chunk, data + header + offset, chunk, NULL);
        require(loaded == TAMIS_OK || loaded == TAMIS_E_NOMEM);
        if (loaded != TAMIS_OK)
            return status;
        offset += chunk;
    }
    return status;
}

/* Loads the dump of a filter into another, which must then have the same dump. */
static void check_dump(const tamis_redisbloom *filter) {
    const size_t size = tamis_redisbloom_header_size(filter);
    uint8_t *header = malloc(size), *again = malloc(size);
    require(header && again);
    tamis_redisbloom_header_write(filter, header);
    tamis_redisbloom *copy = NULL;
    require(tamis_redisbloom_load_header(&copy, header, size, &limited, NULL) == TAMIS_OK);
    const void *bytes, *copied;
    size_t chunk, copied_size;
    for (uint64_t iterator = 1, next; (next = tamis_redisbloom_chunk(filter, iterator, &bytes, &chunk)) != 0;
         iterator = next) {
        require(tamis_redisbloom_load_chunk(copy, next, bytes, chunk, NULL) == TAMIS_OK);
        require(tamis_redisbloom_chunk(copy, iterator, &copied, &copied_size) == next &&
                chunk == copied_size);
        require(memcmp(bytes, copied, chunk) == 0);
    }
    tamis_redisbloom_header_write(copy, again);
    require(memcmp(header, again, size) == 0);
    free(header);
    free(again);
    tamis_redisbloom_free(copy);
}

/* ---- filters ---- */

static void check_fields(const tamis_redisbloom *filter, const tamis_redisbloom_info *info) {
    field_bytes to = {.capacity = 32 + 66 * (size_t)info->subfilters + (size_t)info->bytes};
    const tamis_redisbloom_sink sink = fields_sink(&to);
    require(tamis_redisbloom_rdb_write(filter, &sink, NULL) == TAMIS_OK);
    tamis_redisbloom *copy = NULL;
    require(from_fields(&copy, to.written, to.size) == TAMIS_OK);
    tamis_redisbloom_free(copy);
    free(to.written);
}

static void check_keys(tamis_redisbloom *filter) {
    static const tamis_key keys[] = {{"", 0}, {"a", 1}, {"foo", 3}, {"bar", 3}, {"tamis", 5}};
    tamis_answer answers[5] = {TAMIS_UNKNOWN, TAMIS_UNKNOWN, TAMIS_UNKNOWN, TAMIS_UNKNOWN, TAMIS_UNKNOWN};
    size_t done = 9;
    const tamis_status status = tamis_redisbloom_add_many(filter, keys, 5, answers, &done, NULL);
    require(status == TAMIS_OK ? done == 5 : done < 5);
    if (tamis_redisbloom_contains_many(filter, keys, 5, answers, NULL) != TAMIS_OK)
        return;
    for (size_t i = 0; i < done; i++)
        require(answers[i] == TAMIS_PRESENT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    tamis_redisbloom *filter = NULL;
    const tamis_status status =
        data[0] % 2 ? from_fields(&filter, data + 1, size - 1) : from_dump(&filter, data + 1, size - 1);
    require((status == TAMIS_OK) == (filter != NULL));
    if (!filter)
        return 0;
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    require(tamis_redisbloom_info_get(filter, &info, NULL) == TAMIS_OK && info.keys <= info.capacity);
    check_dump(filter);
    if (info.complete && info.bytes < UINT16_MAX)
        check_fields(filter, &info);
    check_keys(filter);
    check_dump(filter);
    tamis_redisbloom_free(filter);
    return 0;
}
