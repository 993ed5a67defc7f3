/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TESTS_SUPPORT_RDB_BYTES_H
#define TAMIS_TESTS_SUPPORT_RDB_BYTES_H

/* Bytes of RDB files and DUMPs, made by the rules of Redis' rdb.c. Include after cmocka.h. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "support/scratch.h"

/* CRC-64 of Redis, bit by bit. */
static inline uint64_t slow_crc(const uint8_t *bytes, size_t size) {
    uint64_t crc = 0;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ UINT64_C(0x95ac9329ac4bc9b5) : crc >> 1;
    }
    return crc;
}

static inline void add_text(test_bytes *to, const char *text) {
    bytes_add(to, text, strlen(text));
}

static inline void add_hex(test_bytes *to, const char *hex) {
    for (; *hex; hex++) {
        unsigned value;
        if (*hex == ' ')
            continue;
        assert_int_equal(sscanf(hex++, "%2x", &value), 1);
        const uint8_t byte = (uint8_t)value;
        bytes_add(to, &byte, 1);
    }
}

static inline void add_crc(test_bytes *to) {
    const uint64_t crc = slow_crc(to->data, to->size);
    for (int i = 0; i < 8; i++) {
        const uint8_t byte = (uint8_t)(crc >> 8 * i);
        bytes_add(to, &byte, 1);
    }
}

/* Decodes a key of an RDB file, from exactly these bytes, so that a read past them is noticed. */
static inline tamis_status decode_key(tamis_filter **filter, const test_bytes *file, const char *key,
                                      tamis_error *err) {
    const tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    uint8_t *copy = malloc(file->size ? file->size : 1);
    assert_non_null(copy);
    memcpy(copy, file->data, file->size);
    const tamis__encoded_bytes source = {.bytes = copy, .size = file->size, .name = "dump.rdb", .key = key};
    const tamis_status status = tamis__format_decode(filter, &source, &options, err);
    free(copy);
    return status;
}

static inline void assert_key_fails(const test_bytes *file, const char *key, tamis_status status,
                                    const char *says) {
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(decode_key(&filter, file, key, &err), status);
    assert_null(filter);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

#endif
