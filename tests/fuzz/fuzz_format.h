/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FUZZ_FORMAT_H
#define TAMIS_FUZZ_FORMAT_H

/*
 * Properties of the formats of other programs, for any bytes. The bytes are refused without a leak, or
 * they are a filter that is encoded to the same bytes, accepts keys, and has them after it is encoded and
 * decoded again. Memory is bounded by the size of the input.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/tamis.h>

#include "support/fault.h"

enum { FUZZ_HANDLES = 4096 }; /* max. memory besides the bits */

static inline void fuzz_check(bool holds) {
    if (!holds)
        abort();
}

static inline tamis_filter *fuzz_decode(const uint8_t *bytes, size_t size, tamis_format format,
                                        fault_memory *memory) {
    tamis_allocator allocator = fault_memory_allocator(memory);
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    options.format = format;
    options.allow_over_capacity = size % 2; /* both values occur */
    options.allocator = &allocator;
    memory->limit = size + FUZZ_HANDLES;
    tamis_status status = tamis_filter_decode(&filter, bytes, size, &options, &err);
    memory->limit = 0;
    if (status == TAMIS_OK)
        return filter;
    fuzz_check(status == TAMIS_E_DAMAGED || status == TAMIS_E_FORMAT || status == TAMIS_E_UNSUPPORTED);
    fuzz_check(!filter && err.status == status && *err.text && memory->live_blocks == 0);
    return NULL;
}

/* The caller frees the result. */
static inline uint8_t *fuzz_encode(const tamis_filter *filter, tamis_format format, uint64_t *size) {
    fuzz_check(tamis_filter_encoded_size(filter, format, size, NULL) == TAMIS_OK);
    uint8_t *bytes = malloc(*size);
    fuzz_check(bytes && tamis_filter_encode(filter, format, bytes, *size, NULL) == TAMIS_OK);
    return bytes;
}

/* Adds parts of the input as keys. Each is present afterwards, or was refused because the filter is full. */
static inline void fuzz_add_and_query(tamis_filter *filter, const uint8_t *data, size_t size) {
    for (size_t from = 0; from < size && from < 64; from += 8) {
        size_t length = size - from < 8 ? size - from : 8;
        tamis_answer answer = TAMIS_UNKNOWN;
        tamis_status status = tamis_filter_add(filter, data + from, length, NULL, NULL);
        fuzz_check(status == TAMIS_OK || status == TAMIS_E_FULL);
        fuzz_check(tamis_filter_contains(filter, data + from, length, &answer, NULL) == TAMIS_OK);
        fuzz_check(answer == (status == TAMIS_OK ? TAMIS_PRESENT : TAMIS_ABSENT));
    }
}

static inline int fuzz_other_format(const uint8_t *data, size_t size, tamis_format format) {
    fault_memory memory = {0}, more = {0};
    uint64_t encoded = 0;
    tamis_filter *filter = fuzz_decode(data, size, format, &memory);
    if (!filter)
        return 0;
    uint8_t *bytes = fuzz_encode(filter, format, &encoded);
    fuzz_check(encoded == size && memcmp(bytes, data, size) == 0);
    free(bytes);

    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    fuzz_check(tamis_filter_info_get(filter, &info, NULL) == TAMIS_OK);
    fuzz_check(info.fpr_live >= 0 && info.fpr_live <= 1 && info.cardinality >= 0 && info.false_present >= 0);
    fuzz_add_and_query(filter, data, size);
    bytes = fuzz_encode(filter, format, &encoded);
    /* Adding can make one field invalid: a count that is near its maximum. */
    tamis_filter *again = fuzz_decode(bytes, encoded, format, &more);
    fuzz_check(again ? tamis_filter_is_equal(filter, again) : info.added >= INT64_MAX - 8);
    free(bytes);
    tamis_filter_free(again);
    tamis_filter_free(filter);
    fuzz_check(memory.live_blocks == 0 && more.live_blocks == 0);
    return 0;
}

#endif
