/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Files of our format, damaged and forged. They are refused, in memory bounded by their size, or answer
 * lookups. A filter that answers accepts keys and can be encoded, and the bytes decode to the same filter.
 *
 * Input: a file. It is tried unchanged, and then with corrected checksums, so that the code behind them is
 * tested too. If the first byte is not that of a file, the input is header, sections and body, which are
 * put in a file.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/tamis.h>

#include "forge_native.h"
#include "format/format.h"
#include "support/fault.h"

enum { INPUT_MAX = 1 << 20, KEYS = 64, MEMORY_SPARE = 1 << 16 };

/* Looks up some keys. True if the whole file is valid. A keyed filter has no secret here, and a block may be
 * damaged. */
static bool query(const tamis_filter *filter, tamis_answer *answers) {
    uint64_t numbers[KEYS];
    tamis_key keys[KEYS];
    for (uint64_t i = 0; i < KEYS; i++) {
        numbers[i] = i;
        keys[i] = (tamis_key){&numbers[i], (size_t)i % 9};
    }
    tamis_status status = tamis_filter_contains_many(filter, keys, KEYS, answers, NULL, NULL);
    assert(status == TAMIS_OK || status == TAMIS_E_DAMAGED || status == TAMIS_E_SECRET);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    status = tamis_filter_info_get(filter, &info, NULL);
    assert(status == TAMIS_OK || status == TAMIS_E_DAMAGED);
    return tamis_filter_verify(filter, NULL) == TAMIS_OK;
}

static void encode_again(const tamis_filter *filter, const tamis_answer *answers) {
    uint64_t size = 0, again_size = 0;
    tamis_filter *back = NULL;
    tamis_answer reported[KEYS] = {0};
    assert(tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &size, NULL) == TAMIS_OK);
    uint8_t *bytes = forge_pages(size), *again = forge_pages(size);
    assert(tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, bytes, size, NULL) == TAMIS_OK);
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_filter_decode(&back, bytes, size, NULL, &err) != TAMIS_OK) {
        fprintf(stderr, "a decoded filter is encoded to invalid bytes: %s\n", err.text);
        abort();
    }
    assert(tamis_filter_is_equal(filter, back) == tamis_filter_can(filter, TAMIS_CAN_UNION));
    assert(query(back, reported));
    assert(memcmp(reported, answers, KEYS) == 0);
    assert(tamis_filter_encoded_size(back, TAMIS_FORMAT_TAMIS, &again_size, NULL) == TAMIS_OK);
    assert(again_size == size);
    assert(tamis_filter_encode(back, TAMIS_FORMAT_TAMIS, again, size, NULL) == TAMIS_OK);
    assert(memcmp(bytes, again, size) == 0);
    tamis_filter_free(back);
    free(bytes);
    free(again);
}

/* Adds keys, and removes some. A key whose add succeeded is present afterwards. */
static void add(tamis_filter *filter) {
    for (uint64_t i = 0; i < KEYS; i++) {
        tamis_answer answer = TAMIS_UNKNOWN;
        tamis_status status = tamis_filter_add(filter, &i, sizeof i, &answer, NULL);
        assert(status == TAMIS_OK || status == TAMIS_E_FULL || status == TAMIS_E_NOMEM ||
               status == TAMIS_E_SECRET);
        if (status != TAMIS_OK)
            continue;
        assert(tamis_filter_contains(filter, &i, sizeof i, &answer, NULL) == TAMIS_OK);
        assert(answer == TAMIS_PRESENT);
        if (i % 2 && tamis_filter_can(filter, TAMIS_CAN_REMOVE))
            assert(tamis_filter_remove(filter, &i, sizeof i, &answer, NULL) == TAMIS_OK &&
                   answer == TAMIS_PRESENT);
    }
}

static void open_in_place(const uint8_t *bytes, uint64_t size) {
    const tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_answer answers[KEYS] = {0};
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_status status = tamis__format_decode(
        &filter, &(tamis__encoded_bytes){bytes, size, "fuzzed", true, NULL, NULL}, &options, &err);
    assert(status == TAMIS_OK || (err.status == status && strncmp(err.text, "fuzzed: ", 8) == 0));
    assert(status == TAMIS_OK || status == TAMIS_E_DAMAGED || status == TAMIS_E_FORMAT);
    if (status == TAMIS_OK)
        query(filter, answers);
    tamis_filter_free(filter);
}

static void decode(const uint8_t *bytes, uint64_t size) {
    fault_memory memory = {.limit = 2 * size + MEMORY_SPARE};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.format = TAMIS_FORMAT_TAMIS;
    options.allocator = &allocator;
    tamis_answer answers[KEYS] = {0};
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_status status = tamis_filter_decode(&filter, bytes, size, &options, &err);
    assert(status == TAMIS_OK || status == TAMIS_E_DAMAGED || status == TAMIS_E_FORMAT);
    if (status == TAMIS_OK) {
        assert(query(filter, answers));
        encode_again(filter, answers);
        add(filter);
    }
    tamis_filter_free(filter);
    assert(memory.live_blocks == 0);
}

/* Decoded in both ways: used in place, and copied. */
static void try_file(const uint8_t *bytes, uint64_t size) {
    open_in_place(bytes, size);
    decode(bytes, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > INPUT_MAX)
        return 0;
    if (size >= NATIVE_HEADER && data[0] != native_magic[0]) {
        uint64_t whole;
        uint8_t *made = forge_file(data, size, &whole);
        try_file(made, whole);
        free(made);
        return 0;
    }
    uint8_t *bytes = forge_pages(size);
    memcpy(bytes, data, size);
    try_file(bytes, size);
    if (size >= NATIVE_HEADER) {
        forge_checksums(bytes, size);
        try_file(bytes, size);
    }
    free(bytes);
    return 0;
}
