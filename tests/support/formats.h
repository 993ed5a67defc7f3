/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TESTS_SUPPORT_FORMATS_H
#define TAMIS_TESTS_SUPPORT_FORMATS_H

/* Filters encoded by another program. Include after cmocka.h. */
#include <stdint.h>
#include <string.h>

#include <tamis/tamis.h>

#include "support/fault.h"
#include "support/scratch.h"

/* Upper bound for the memory of handle, hasher and metadata. */
enum { HANDLES_MAX = 4096 };

/* Decodes a copy of exactly these bytes, so that a read past them is noticed. Checks that memory is
 * bounded by their size, and that a failure leaks nothing. */
static inline tamis_status decode_copy(tamis_filter **filter, const uint8_t *bytes, size_t size,
                                       tamis_format format, tamis_error *err) {
    static fault_memory memory; /* outlives the filters made in it */
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.format = format;
    options.allocator = &allocator;
    size_t before = memory.live_blocks;
    memory.limit = memory.live_bytes + size + HANDLES_MAX;
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    tamis_status status = tamis_filter_decode(filter, copy, size, &options, err);
    memset(copy, 0xee, size);
    free(copy);
    memory.limit = 0;
    assert_int_not_equal(status, TAMIS_E_NOMEM);
    if (status != TAMIS_OK)
        assert_int_equal(memory.live_blocks, before);
    return status;
}

static inline tamis_filter *decode_filter(const uint8_t *bytes, size_t size, tamis_format format) {
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    if (decode_copy(&filter, bytes, size, format, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    assert_int_equal(tamis_filter_metadata_get(filter, &metadata, NULL), TAMIS_OK);
    if (format != TAMIS_FORMAT_AUTO)
        assert_int_equal(metadata.format, format);
    return filter;
}

/* Checks that decoding fails with that status and message. */
static inline void assert_decode_fails(const uint8_t *bytes, size_t size, tamis_format format,
                                       tamis_status status, const char *what) {
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(decode_copy(&filter, bytes, size, format, &err), status);
    assert_null(filter);
    assert_int_equal(err.status, status);
    if (!strstr(err.text, what))
        fail_msg("\"%s\" does not say \"%s\"", err.text, what);
}

/* Encodes the filter as `format` into *bytes, which the caller clears. */
static inline void encode_filter(const tamis_filter *filter, tamis_format format, test_bytes *bytes) {
    uint64_t size = 0;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_filter_encoded_size(filter, format, &size, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    uint8_t *buffer = malloc(size);
    assert_non_null(buffer);
    assert_int_equal(tamis_filter_encode(filter, format, buffer, size, &err), TAMIS_OK);
    bytes_clear(bytes);
    bytes_add(bytes, buffer, size);
    free(buffer);
}

static inline void assert_encodes_to(const tamis_filter *filter, tamis_format format, const uint8_t *bytes,
                                     size_t size) {
    test_bytes got = {NULL, 0, 0};
    encode_filter(filter, format, &got);
    assert_int_equal(got.size, size);
    assert_memory_equal(got.data, bytes, size);
    bytes_clear(&got);
}

/* Checks that the native format keeps everything that the other one has, except for user data. */
static inline void assert_converts(const tamis_filter *filter, tamis_format format, const uint8_t *bytes,
                                   size_t size) {
    test_bytes native = {NULL, 0, 0};
    encode_filter(filter, TAMIS_FORMAT_TAMIS, &native);
    tamis_filter *converted = decode_filter(native.data, native.size, TAMIS_FORMAT_AUTO);
    assert_encodes_to(converted, format, bytes, size);
    tamis_filter_free(converted);
    bytes_clear(&native);
}

/* Checks for TAMIS_E_UNSUPPORTED with that text in the message. */
static inline void assert_encode_unsupported(const tamis_filter *filter, tamis_format format,
                                             const char *what) {
    uint64_t size = 7;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_filter_encoded_size(filter, format, &size, &err), TAMIS_E_UNSUPPORTED);
    assert_int_equal(size, 7);
    if (!strstr(err.text, what))
        fail_msg("\"%s\" does not say \"%s\"", err.text, what);
    uint8_t byte = 7;
    assert_int_equal(tamis_filter_encode(filter, format, &byte, 1, NULL), TAMIS_E_UNSUPPORTED);
    assert_int_equal(byte, 7);
}

/* Makes a filter of kind classic from a plan of these sizes. */
static inline tamis_filter *make_classic(tamis_scheme scheme, uint64_t capacity, double fpr, uint64_t bits,
                                         uint32_t probes) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    plan.kind = TAMIS_KIND_CLASSIC;
    plan.scheme = scheme;
    plan.capacity = capacity;
    plan.fpr = fpr;
    plan.bits = bits;
    plan.probes = probes;
    assert_int_equal(tamis_filter_create(&filter, &plan, NULL, NULL), TAMIS_OK);
    return filter;
}

/* Refuses each allocation of a decode once. */
static inline void assert_decode_out_of_memory(const uint8_t *bytes, size_t size) {
    for (uint64_t n = 1;; n++) {
        fault_memory memory = {.fail_at = n};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
        options.allocator = &allocator;
        tamis_filter *filter = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_status status = tamis_filter_decode(&filter, bytes, size, &options, &err);
        if (memory.refused == 0) {
            assert_int_equal(status, TAMIS_OK);
            assert_true(n > 3);
            tamis_filter_free(filter);
            assert_int_equal(memory.live_blocks, 0);
            break;
        }
        assert_int_equal(status, TAMIS_E_NOMEM);
        assert_null(filter);
        assert_non_null(strstr(err.text, "out of memory"));
        assert_int_equal(memory.live_blocks, 0);
    }
}

#endif
