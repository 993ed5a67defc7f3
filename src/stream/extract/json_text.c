/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Strings of JSON (RFC 8259, section 7): validation where they lie, and decoding.
 *
 * Idea: nearly all bytes of strings are plain: ASCII without quotes, backslashes and controls.
 * tamis__json_plain skips these eight at a time. The functions here get only what is left:
 *
 *     bytes                     the string has              bytes when decoded
 *     -----------------------   -------------------------   ------------------
 *     \n  \"  \\  \/ ...        one character               2 -> 1
 *     \u00e9                    a character up to U+FFFF    6 -> 1 to 3
 *     \ud83d\ude00              a surrogate pair: one       12 -> 4
 *                               character from U+10000 on
 *     c3 a9                     UTF-8, already decoded      as they are
 *     \ud83d alone, 00 to 1f,   nothing: the record is
 *     ff, c0 80, ed a0 80       malformed
 *
 * Invariants:
 * 1. A string that was accepted decodes to well-formed UTF-8. So equal texts have equal bytes, and make equal
 *    keys, however their writers spelled them.
 * 2. Decoding never makes a string longer. So `bytes` needs the size of the string, and no check of its end.
 * 3. Decoding reads only what validation has accepted. So it has no errors.
 *
 * Why two passes, validation and decoding: a record has many strings, and few of them are requested. A
 * requested one without escapes stays a view into the record, and is never copied. tamis__json_spells
 * compares a name with escapes byte by byte for the same reason: most names are not the requested one.
 */
#include <string.h>

#include "stream/extract/json_int.h"

static inline bool continues(unsigned char byte) {
    return (byte & 0xc0) == 0x80;
}

/* Well-formed UTF-8 byte sequences: the Unicode Standard, table 3-7. */
size_t tamis__utf8_size(const unsigned char *pos, const unsigned char *end) {
    const unsigned char first = *pos;
    const size_t left = (size_t)(end - pos);
    if (left < 2 || first < 0xc2 || first > 0xf4 || !continues(pos[1]))
        return 0;
    const unsigned char second = pos[1];
    if (first < 0xe0)
        return 2;
    if (left < 3 || !continues(pos[2]))
        return 0;
    if (first < 0xf0) {
        if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0))
            return 0; /* overlong; a surrogate */
        return 3;
    }
    if (left < 4 || !continues(pos[3]))
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
static unsigned hex_unit(const unsigned char *pos, const unsigned char *end) {
    unsigned unit = 0, wrong = 0;
    if (end - pos < 4)
        return UINT16_MAX + 1u;
    for (int i = 0; i < 4; i++) {
        const unsigned digit = hex_value(pos[i]);
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

const unsigned char *tamis__json_escape(const tamis__json_text *text, const unsigned char *pos) {
    const unsigned char *end = text->end;
    if (end - pos < 2)
        return tamis__json_refuse(text, end, "a string is not closed");
    if (pos[1] != 'u') {
        if (!pos[1] || !strchr("\"\\/bfnrt", pos[1]))
            return tamis__json_refuse(text, pos, "an escape that JSON does not have");
        return pos + 2;
    }
    const unsigned unit = hex_unit(pos + 2, end);
    if (unit > UINT16_MAX)
        return tamis__json_refuse(text, pos, "\\u without four hexadecimal digits");
    if (!is_high(unit) && !is_low(unit))
        return pos + 6;
    if (is_high(unit) && end - pos >= 8 && pos[6] == '\\' && pos[7] == 'u' && is_low(hex_unit(pos + 8, end)))
        return pos + 12;
    return tamis__json_refuse(text, pos, "a surrogate without its other half");
}

/* Scans the bytes at `pos` that are not plain and not the closing quote. */
static const unsigned char *pass_odd(const tamis__json_text *text, const unsigned char *pos, bool *escaped) {
    if (*pos == '\\') {
        *escaped = true;
        return tamis__json_escape(text, pos);
    }
    if (*pos < 0x20)
        return tamis__json_refuse(text, pos, "a control character in a string");
    while (pos < text->end && *pos >= 0x80) {
        const size_t size = tamis__utf8_size(pos, text->end);
        if (!size)
            return tamis__json_refuse(text, pos, "bytes that are not UTF-8");
        pos += size;
    }
    return pos;
}

const unsigned char *tamis__json_string_odd(const tamis__json_text *text, const unsigned char *pos,
                                            bool *escaped) {
    while (pos < text->end && *pos != '"') {
        pos = pass_odd(text, pos, escaped);
        if (!pos)
            return NULL;
        pos = tamis__json_plain(pos, text->end);
    }
    return pos < text->end ? pos + 1 : tamis__json_refuse(text, pos, "a string is not closed");
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

/* Decodes the escape at *pos and moves *pos after it. Returns the number of bytes. */
static size_t decode_escape(const unsigned char **pos, unsigned char bytes[4]) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const unsigned char *from = *pos;
    if (from[1] != 'u') {
        *pos += 2;
        bytes[0] = (unsigned char)meant[strchr(letters, from[1]) - letters];
        return 1;
    }
    unsigned character = hex_unit(from + 2, from + 6);
    *pos += 6;
    if (is_high(character)) {
        *pos += 6;
        character = 0x10000 + ((character - 0xd800) << 10) + (hex_unit(from + 8, from + 12) - 0xdc00);
    }
    return put_utf8(character, bytes);
}

size_t tamis__json_decode(tamis_key string, unsigned char *bytes) {
    const unsigned char *pos = string.data, *end = pos + string.size;
    unsigned char *out = bytes;
    while (pos < end) {
        const unsigned char *escape = memchr(pos, '\\', (size_t)(end - pos));
        const size_t plain = (size_t)((escape ? escape : end) - pos);
        memcpy(out, pos, plain);
        pos += plain;
        out += plain;
        if (escape)
            out += decode_escape(&pos, out); /* at most four bytes, and never more than the escape has */
    }
    return (size_t)(out - bytes);
}

bool tamis__json_spells(tamis_key string, tamis_key name) {
    const unsigned char *pos = string.data, *end = pos + string.size;
    const unsigned char *expected = name.data, *expected_end = expected + name.size;
    while (pos < end) {
        unsigned char bytes[4] = {*pos};
        const size_t size = *pos == '\\' ? decode_escape(&pos, bytes) : (pos++, (size_t)1);
        if ((size_t)(expected_end - expected) < size || memcmp(expected, bytes, size) != 0)
            return false;
        expected += size;
    }
    return expected == expected_end;
}
