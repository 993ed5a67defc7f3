/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/hash_key.h"

#include <inttypes.h>

const char *const hash_types[] = {"bytes", "utf8", "utf16", "int32", "int64", NULL};

/* The value of a hexadecimal digit; -1 for what is none. */
static int digit(unsigned char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int hash_key_unhex(tamis_key *key, hash_place place, tamis_error *err) {
    unsigned char *bytes = (unsigned char *)key->data;

    for (size_t i = 0; i < key->size; i++)
        if (digit(bytes[i]) < 0)
            return cli_fail(err,
                            "%s %" PRIu64
                            ": byte 0x%02X at offset %zu is no hexadecimal digit; give two digits for each "
                            "byte, or leave --hex out",
                            place.word, place.number, bytes[i], i);
    if (key->size % 2 != 0)
        return cli_fail(err,
                        "%s %" PRIu64 ": an odd number of hexadecimal digits, %zu; give two for each byte",
                        place.word, place.number, key->size);
    key->size /= 2;
    for (size_t i = 0; i < key->size; i++)
        bytes[i] = (unsigned char)(digit(bytes[2 * i]) << 4 | digit(bytes[2 * i + 1]));
    return CLI_DONE;
}

/* Decimal with an optional sign, the whole of it. */
static int read_integer(const tamis_key *key, int64_t min, int64_t max, int64_t *value, hash_place place,
                        tamis_error *err) {
    const char *at = key->data, *end = at + key->size;
    bool negative = key->size > 0 && *at == '-';
    uint64_t limit = negative ? (uint64_t)max + 1 : (uint64_t)max, number = 0;
    int shown = key->size < 60 ? (int)key->size : 60;

    if (key->size > 0 && (*at == '-' || *at == '+'))
        at++;
    for (const char *c = at; c < end; c++)
        if (*c < '0' || *c > '9')
            at = end;
    if (at == end)
        return cli_fail(err,
                        "%s %" PRIu64 " '%.*s': not a whole number; give one from %" PRId64 " to %" PRId64
                        ", in decimal",
                        place.word, place.number, shown, (const char *)key->data, min, max);
    for (; at < end; at++) {
        unsigned next = (unsigned)(*at - '0');
        if (number > (limit - next) / 10)
            return cli_fail(err,
                            "%s %" PRIu64 " '%.*s': out of range; give a number from %" PRId64 " to %" PRId64,
                            place.word, place.number, shown, (const char *)key->data, min, max);
        number = number * 10 + next;
    }
    *value = (int64_t)(negative ? 0 - number : number);
    return CLI_DONE;
}

int hash_key_put(tamis_sink *sink, hash_type type, const tamis_key *key, hash_place place, tamis_error *err) {
    int64_t value = 0;

    switch (type) {
    case HASH_BYTES:
        tamis_sink_put_bytes(sink, key->data, key->size);
        break;
    case HASH_UTF8:
        tamis_sink_put_utf8(sink, key->data, key->size);
        break;
    case HASH_UTF16:
        tamis_sink_put_text(sink, key->data, key->size);
        break;
    case HASH_INT32:
        if (read_integer(key, INT32_MIN, INT32_MAX, &value, place, err) != CLI_DONE)
            return CLI_FAILED;
        tamis_sink_put_int32(sink, (int32_t)value);
        break;
    case HASH_INT64:
        if (read_integer(key, INT64_MIN, INT64_MAX, &value, place, err) != CLI_DONE)
            return CLI_FAILED;
        tamis_sink_put_int64(sink, value);
        break;
    }
    tamis_sink_end_key(sink);
    return CLI_DONE;
}
