/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Full case folding of UTF-8 text (Unicode, CaseFolding.txt, status C and F). Only case is folded; the text
 * is not normalised.
 *
 *     plain prefix      ASCII without capital letters: counted, then copied
 *     other ASCII       eight bytes at a time: bit 7 of each capital letter, shifted to 0x20
 *     all else          one character at a time by utf8proc; invalid bytes stay as they are
 *
 * A value that does not change stays a view into the record.
 */
#include "stream/extract/find.h"

#include <stdint.h>
#include <string.h>
#include <utf8proc.h>

#include "base/bytes.h"

enum {
    GROWTH = 3, /* largest growth: U+0390, two bytes, becomes three characters of two bytes */
    FOLDED = 4, /* capacity for the folding of one character; three are needed */
    WORD = 8
};

#define EVERY_BYTE(byte) ((byte) * (UINT64_MAX / 255)) /* the byte, repeated eight times */

/* Sets bit 7 of each byte that is a capital letter. All bytes must be ASCII. */
static uint64_t capitals_of(uint64_t word) {
    return (word + EVERY_BYTE(0x80u - 'A')) & ~(word + EVERY_BYTE(0x80u - 'Z' - 1)) & EVERY_BYTE(0x80u);
}

static bool is_capital(unsigned char byte) {
    return byte >= 'A' && byte <= 'Z';
}

/* Returns how many bytes at the beginning are ASCII and not capital letters. */
static size_t count_plain(const unsigned char *bytes, size_t size) {
    size_t i = 0;
    for (; size - i >= WORD; i += WORD) {
        const uint64_t word = tamis__load64le(bytes + i);
        if (word & EVERY_BYTE(0x80u) || capitals_of(word))
            break;
    }
    while (i < size && bytes[i] < 0x80 && !is_capital(bytes[i]))
        i++;
    return i;
}

/* Folds the character at `from`, or copies a byte that begins none. Returns the number of bytes read. */
static size_t fold_character(const unsigned char *from, size_t size, unsigned char **to) {
    utf8proc_int32_t character, folded[FOLDED];
    int unused = 0; /* for grapheme breaks, which are not requested */
    utf8proc_ssize_t consumed = utf8proc_iterate(from, (utf8proc_ssize_t)size, &character), count = -1;
    if (consumed > 0)
        count = utf8proc_decompose_char(character, folded, FOLDED, UTF8PROC_CASEFOLD, &unused);
    if (count < 0 || count > FOLDED) {
        *(*to)++ = *from;
        return 1;
    }
    for (utf8proc_ssize_t i = 0; i < count; i++)
        *to += utf8proc_encode_char(folded[i], *to);
    return (size_t)consumed;
}

/* Folds all bytes. Returns the end of the output. */
static unsigned char *fold(const unsigned char *from, const unsigned char *end, unsigned char *to) {
    while (from < end) {
        const uint64_t word = end - from >= WORD ? tamis__load64le(from) : EVERY_BYTE(0x80u);
        if (!(word & EVERY_BYTE(0x80u))) {
            tamis__store64le(to, word | capitals_of(word) >> 2); /* bit 7 becomes 0x20 */
            from += WORD;
            to += WORD;
        } else if (*from < 0x80) {
            *to++ = (unsigned char)(is_capital(*from) ? *from | 0x20 : *from);
            from++;
        } else {
            from += fold_character(from, (size_t)(end - from), &to);
        }
    }
    return to;
}

tamis_status tamis__fold_case(tamis_key *value, tamis__arena *arena) {
    const unsigned char *bytes = value->data;
    const size_t plain = count_plain(bytes, value->size);
    if (plain == value->size)
        return TAMIS_OK;
    unsigned char *folded = tamis__arena_alloc(arena, plain + GROWTH * (value->size - plain));
    if (!folded)
        return TAMIS_E_NOMEM;
    memcpy(folded, bytes, plain);
    const size_t size = (size_t)(fold(bytes + plain, bytes + value->size, folded + plain) - folded);
    const bool is_same = size == value->size && memcmp(folded, bytes, size) == 0;
    tamis__arena_trim(arena, folded, is_same ? 0 : size);
    if (!is_same)
        *value = (tamis_key){folded, size};
    return TAMIS_OK;
}
