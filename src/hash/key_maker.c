/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys of texts, of the types that a filter may store.
 *
 *     plain                     keys are the texts
 *     strip_cr, no type         keys point into the texts; only their sizes are made
 *     hex, utf8, utf16, int     a sink (funnel.c) collects the bytes of all keys of a batch
 *
 * Why types: a filter of another program has the keys that its funnel made. "42" as a long of Java is 2a 00
 * 00 00 00 00 00 00, as a string of Java 34 00 32 00, and as a line of text 34 32. Only the same bytes are
 * the same key.
 *
 * Invariant: after a text that is not a key, the sink has the keys of the texts before it
 * (tamis_sink_recover).
 */
#include <tamis/experimental/key_maker.h>

#include <inttypes.h>
#include <stdio.h>

#include <tamis/compat/funnel.h>

#include "base/memory.h"
#include "base/versioned.h"

struct tamis_key_maker {
    tamis_allocator allocator;
    tamis_key_maker_options options;
    tamis_sink *sink;
    unsigned char *bytes;     /* decoded hexadecimal digits of one key */
    size_t byte_capacity;     /* bytes allocated */
    tamis_key *stripped;      /* texts without a carriage return at the end */
    size_t stripped_capacity; /* array elements allocated */
};

/* ---- one text ---- */

static int hex_digit(unsigned char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes hexadecimal digits into the maker's memory. `n` is the number of the text, for messages. */
static tamis_status decode_hex(tamis_key *decoded, tamis_key_maker *maker, const tamis_key *text, size_t n,
                               tamis_error *err) {
    const unsigned char *digits = text->data;
    const size_t size = text->size / 2;
    unsigned char *bytes =
        tamis__array_reserve(&maker->allocator, maker->bytes, 1, size, &maker->byte_capacity);

    if (!bytes)
        return tamis__fail_nomem(err, "keys", size);
    maker->bytes = bytes;
    for (size_t i = 0; i < text->size; i++) {
        const int value = hex_digit(digits[i]);
        if (value < 0)
            return tamis__fail(
                err, TAMIS_E_INVALID, 0,
                "key %zu: byte 0x%02X at offset %zu is not a hexadecimal digit; give two digits "
                "for each byte",
                n, digits[i], i);
        if (i / 2 < size)
            bytes[i / 2] = (unsigned char)(i % 2 == 0 ? value << 4 : bytes[i / 2] | value);
    }
    if (text->size % 2 != 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "key %zu: an odd number of hexadecimal digits, %zu; give two for each byte", n,
                           text->size);
    *decoded = (tamis_key){bytes, size};
    return TAMIS_OK;
}

/* Reads the whole text as a decimal number with an optional sign, from -max - 1 to max. */
static tamis_status read_integer(int64_t *value, const tamis_key *text, int64_t max, size_t n,
                                 tamis_error *err) {
    const unsigned char *bytes = text->data;
    const bool negative = text->size > 0 && bytes[0] == '-';
    const uint64_t limit = negative ? (uint64_t)max + 1 : (uint64_t)max;
    const size_t first = text->size > 0 && (bytes[0] == '-' || bytes[0] == '+') ? 1 : 0;
    uint64_t number = 0;
    size_t i = first;
    char why[80] = "out of range";

    for (; i < text->size && bytes[i] >= '0' && bytes[i] <= '9'; i++) {
        const unsigned next = (unsigned)(bytes[i] - '0');
        /* After an overflow the loop goes on: if a byte that is not a digit follows, that is the error to
         * report. */
        number = number > (limit - next) / 10 ? UINT64_MAX : number * 10 + next;
    }
    if (i > first && i == text->size && number <= limit) {
        *value = (int64_t)(negative ? 0 - number : number);
        return TAMIS_OK;
    }
    if (i < text->size)
        snprintf(why, sizeof why, "not a whole number at offset %zu (byte 0x%02X)", i, bytes[i]);
    else if (i == first)
        snprintf(why, sizeof why, "not a whole number");
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "key %zu: %s; give one from %" PRId64 " to %" PRId64 ", in decimal", n, why, -max - 1,
                       max);
}

/* Removes the carriage return of a Windows line. */
static tamis_key without_cr(const tamis_key_maker *maker, tamis_key text) {
    if (maker->options.strip_cr && text.size > 0 && ((const char *)text.data)[text.size - 1] == '\r')
        text.size--;
    return text;
}

/* Puts the key of text `n` into the sink. After an error the sink is as before. */
static tamis_status put_key(tamis_key_maker *maker, const tamis_key *text, size_t n, tamis_error *err) {
    tamis_sink *sink = maker->sink;
    tamis_key key = without_cr(maker, *text);
    tamis_status status = TAMIS_OK;
    int64_t value = 0;

    if (maker->options.hex)
        status = decode_hex(&key, maker, text, n, err);
    if (status != TAMIS_OK)
        return status;
    switch (maker->options.key_type) {
    case TAMIS_KEYS_UTF8:
        tamis_sink_put_utf8(sink, key.data, key.size);
        break;
    case TAMIS_KEYS_UTF16:
        tamis_sink_put_text(sink, key.data, key.size);
        break;
    case TAMIS_KEYS_INT32:
        status = read_integer(&value, &key, INT32_MAX, n, err);
        if (status == TAMIS_OK)
            tamis_sink_put_int32(sink, (int32_t)value);
        break;
    case TAMIS_KEYS_INT64:
        status = read_integer(&value, &key, INT64_MAX, n, err);
        if (status == TAMIS_OK)
            tamis_sink_put_int64(sink, value);
        break;
    default:
        tamis_sink_put_bytes(sink, key.data, key.size);
        break;
    }
    if (status != TAMIS_OK)
        return status;
    tamis_sink_end_key(sink);
    return tamis_sink_recover(sink, err);
}

/* ---- batches ---- */

/* Makes keys that differ from their texts only in the size, so no bytes are copied. */
static tamis_status strip_all(tamis_key_maker *maker, const tamis_key *texts, size_t count,
                              tamis_error *err) {
    tamis_key *stripped = tamis__array_reserve(&maker->allocator, maker->stripped, sizeof *stripped, count,
                                               &maker->stripped_capacity);

    if (!stripped)
        return tamis__fail_nomem(err, "keys", count * sizeof *stripped);
    maker->stripped = stripped;
    for (size_t i = 0; i < count; i++)
        stripped[i] = without_cr(maker, texts[i]);
    return TAMIS_OK;
}

tamis_status tamis_key_maker_make(tamis_key_maker *maker, const tamis_key *texts, size_t count,
                                  const tamis_key **keys, size_t *made, tamis_error *err) {
    TAMIS__NEED(maker, err);
    TAMIS__NEED_IF(count, texts, err);
    TAMIS__NEED(keys, err);
    TAMIS__NEED(made, err);
    const tamis_key_maker_options *options = &maker->options;
    tamis_status status = TAMIS_OK;

    *made = 0;
    if (options->key_type <= TAMIS_KEYS_BYTES && !options->hex) {
        if (options->strip_cr)
            status = strip_all(maker, texts, count, err);
        if (status != TAMIS_OK)
            return status;
        *keys = options->strip_cr ? maker->stripped : texts;
        *made = count;
        return TAMIS_OK;
    }
    tamis_sink_clear(maker->sink);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        status = put_key(maker, &texts[i], i, err);
    if (status != TAMIS_E_NOMEM)
        (void)tamis_sink_keys(maker->sink, keys, made, NULL); /* put_key leaves no error in the sink */
    return status;
}

tamis_status tamis_key_maker_create(tamis_key_maker **maker, const tamis_key_maker_options *given,
                                    tamis_error *err) {
    TAMIS__NEED(maker, err);
    tamis_key_maker_options options = TAMIS_KEY_MAKER_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&options, sizeof options, given, "TAMIS_KEY_MAKER_OPTIONS_INIT", err);

    if (status != TAMIS_OK)
        return status;
    if (options.key_type > TAMIS_KEYS_INT64)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "key type %" PRIu32 ": not known; give a tamis_key_type without its flags",
                           options.key_type);
    const tamis_allocator memory = tamis__allocator_resolve(options.allocator);
    tamis_key_maker *made = tamis__alloc(&memory, sizeof *made, _Alignof(tamis_key_maker));
    if (!made)
        return tamis__fail_nomem(err, "key maker", sizeof *made);
    made->allocator = memory;
    made->options = options;
    status = tamis_sink_create(&made->sink, &memory, err);
    if (status != TAMIS_OK) {
        tamis__free(&memory, made, sizeof *made);
        return status;
    }
    *maker = made;
    return TAMIS_OK;
}

void tamis_key_maker_free(tamis_key_maker *maker) {
    if (!maker)
        return;
    const tamis_allocator memory = maker->allocator;

    tamis_sink_free(maker->sink);
    tamis__free(&memory, maker->bytes, maker->byte_capacity);
    tamis__free(&memory, maker->stripped, maker->stripped_capacity * sizeof *maker->stripped);
    tamis__free(&memory, maker, sizeof *maker);
}
