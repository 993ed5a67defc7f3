/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Strings of JSON (RFC 8259, section 7): validation in place, and decoding.
 *
 * Plain bytes (ASCII without quotes, backslashes and controls) are skipped eight at a time by
 * tamis__json_plain. The functions here handle the others: escapes, surrogate pairs and UTF-8. Decoding never
 * makes a string longer: an escape of six bytes becomes at most three bytes, a pair of twelve becomes four.
 */
#include <string.h>

#include "stream/json_int.h"

static inline bool continues(unsigned char byte) {
    return (byte & 0xc0) == 0x80;
}

/* Well-formed UTF-8 byte sequences: the Unicode Standard, table 3-7. */
size_t tamis__utf8_size(const unsigned char *at, const unsigned char *end) {
    const unsigned char first = *at;
    const size_t left = (size_t)(end - at);
    if (left < 2 || first < 0xc2 || first > 0xf4 || !continues(at[1]))
        return 0;
    const unsigned char second = at[1];
    if (first < 0xe0)
        return 2;
    if (left < 3 || !continues(at[2]))
        return 0;
    if (first < 0xf0) {
        if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0))
            return 0; /* overlong; a surrogate */
        return 3;
    }
    if (left < 4 || !continues(at[3]))
        return 0;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90))
        return 0; /* overlong; beyond U+10FFFF */
    return 4;
}

/* ---- validation ---- */

static unsigned hex_value(unsigned char digit) {
    if (digit >= '0' && digit <= '9')
        return digit - '0' + 0u;
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10u : 16;
}

/* Parses four hexadecimal digits. More than UINT16_MAX: they are not four digits. */
static unsigned hex_unit(const unsigned char *at, const unsigned char *end) {
    unsigned unit = 0, wrong = 0;
    if (end - at < 4)
        return UINT16_MAX + 1u;
    for (int i = 0; i < 4; i++) {
        const unsigned digit = hex_value(at[i]);
        wrong |= digit & 16;
        unit = unit << 4 | digit;
    }
    return wrong ? UINT16_MAX + 1u : unit;
}

static bool is_high(unsigned unit) {
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(unsigned unit) {
    return unit >= 0xdc00 && unit < 0xe000;
}

const unsigned char *tamis__json_escape(const tamis__json_text *text, const unsigned char *at) {
    const unsigned char *end = text->end;
    if (end - at < 2)
        return tamis__json_refuse(text, end, "a string is not closed");
    if (at[1] != 'u') {
        if (!at[1] || !strchr("\"\\/bfnrt", at[1]))
            return tamis__json_refuse(text, at, "an escape that JSON does not have");
        return at + 2;
    }
    const unsigned unit = hex_unit(at + 2, end);
    if (unit > UINT16_MAX)
        return tamis__json_refuse(text, at, "\\u without four hexadecimal digits");
    if (!is_high(unit) && !is_low(unit))
        return at + 6;
    if (is_high(unit) && end - at >= 8 && at[6] == '\\' && at[7] == 'u' && is_low(hex_unit(at + 8, end)))
        return at + 12;
    return tamis__json_refuse(text, at, "a surrogate without its other half");
}

/* Scans the bytes at `at` that are not plain and not the closing quote. */
static const unsigned char *pass_odd(const tamis__json_text *text, const unsigned char *at, bool *escaped) {
    if (*at == '\\') {
        *escaped = true;
        return tamis__json_escape(text, at);
    }
    if (*at < 0x20)
        return tamis__json_refuse(text, at, "a control character in a string");
    while (at < text->end && *at >= 0x80) {
        const size_t size = tamis__utf8_size(at, text->end);
        if (!size)
            return tamis__json_refuse(text, at, "bytes that are no UTF-8");
        at += size;
    }
    return at;
}

const unsigned char *tamis__json_string_odd(const tamis__json_text *text, const unsigned char *at,
                                            bool *escaped) {
    while (at < text->end && *at != '"') {
        at = pass_odd(text, at, escaped);
        if (!at)
            return NULL;
        at = tamis__json_plain(at, text->end);
    }
    return at < text->end ? at + 1 : tamis__json_refuse(text, at, "a string is not closed");
}

/* ---- decoding ---- */

/* Encodes one character. Returns the number of bytes. */
static size_t put_utf8(unsigned character, unsigned char bytes[4]) {
    static const unsigned char firsts[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const size_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; character >>= 6)
        bytes[i] = (unsigned char)(0x80 | (character & 0x3f));
    bytes[0] = (unsigned char)(firsts[size] | character);
    return size;
}

/* Decodes the escape at *at and moves *at after it. Returns the number of bytes. */
static size_t take_escape(const unsigned char **at, unsigned char bytes[4]) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const unsigned char *from = *at;
    if (from[1] != 'u') {
        *at += 2;
        bytes[0] = (unsigned char)meant[strchr(letters, from[1]) - letters];
        return 1;
    }
    unsigned character = hex_unit(from + 2, from + 6);
    *at += 6;
    if (is_high(character)) {
        *at += 6;
        character = 0x10000 + ((character - 0xd800) << 10) + (hex_unit(from + 8, from + 12) - 0xdc00);
    }
    return put_utf8(character, bytes);
}

size_t tamis__json_decode(tamis_key string, unsigned char *bytes) {
    const unsigned char *at = string.data, *end = at + string.size;
    unsigned char *put = bytes;
    while (at < end) {
        const unsigned char *escape = memchr(at, '\\', (size_t)(end - at));
        const size_t plain = (size_t)((escape ? escape : end) - at);
        memcpy(put, at, plain);
        at += plain;
        put += plain;
        if (escape)
            put += take_escape(&at, put); /* at most four bytes, and never more than the escape has */
    }
    return (size_t)(put - bytes);
}

bool tamis__json_spells(tamis_key string, tamis_key name) {
    const unsigned char *at = string.data, *end = at + string.size;
    const unsigned char *want = name.data, *want_end = want + name.size;
    while (at < end) {
        unsigned char bytes[4] = {*at};
        const size_t size = *at == '\\' ? take_escape(&at, bytes) : (at++, (size_t)1);
        if ((size_t)(want_end - want) < size || memcmp(want, bytes, size) != 0)
            return false;
        want += size;
    }
    return want == want_end;
}
