/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KEY_MAKER_H
#define TAMIS_KEY_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes keys of a type from texts: the text "-2" becomes the four bytes of an int32. tamis_metadata.key_type
 * of a filter says which type its keys have. For values that are numbers already, see tamis/compat/funnel.h.
 *
 *     tamis_key_maker_options options = TAMIS_KEY_MAKER_OPTIONS_INIT;
 *     options.key_type = metadata.key_type & ~(uint32_t)TAMIS_KEYS_NORMALIZED;
 *     tamis_key_maker_create(&maker, &options, &err);
 *     tamis_key_maker_make(maker, texts, count, &keys, &made, &err);
 *     tamis_filter_add_many(filter, keys, made, answers, NULL, &err);
 *
 *     key type     text                                    key
 *     unspecified  any bytes                               the text itself; nothing is copied
 *     bytes        any bytes                               the same
 *     utf8         UTF-8                                   the text itself, after a check
 *     utf16        UTF-8                                   UTF-16, low byte first
 *     int32        a decimal number, -2^31 to 2^31 - 1     4 bytes, two's complement, low byte first
 *     int64        a decimal number, -2^63 to 2^63 - 1     8 bytes, likewise
 *
 * A number may have a sign and leading zeros, but no blanks.
 */
typedef struct tamis_key_maker tamis_key_maker;

typedef struct tamis_key_maker_options {
    uint32_t struct_size;
    uint32_t key_type; /* a tamis_key_type without flags: trim and fold with a tamis_extractor before */
    bool hex;          /* texts are given as hexadecimal digits, two for each byte */
    bool strip_cr;     /* a carriage return at the end of a text is not part of the key; not with hex */
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_key_maker_options;

#define TAMIS_KEY_MAKER_OPTIONS_INIT TAMIS__INIT(tamis_key_maker_options, )

/* Creates a maker. The caller owns *maker until tamis_key_maker_free, which accepts NULL. One thread at a
 * time. TAMIS_E_INVALID: unknown key type. TAMIS_E_NOMEM. */
TAMIS_API tamis_status tamis_key_maker_create(tamis_key_maker **maker, const tamis_key_maker_options *options,
                                              tamis_error *err);
TAMIS_API void tamis_key_maker_free(tamis_key_maker *maker);

/*
 * Makes keys of `count` texts, in order. *made is always set: the number of keys.
 *
 * - TAMIS_OK: all keys.
 * - TAMIS_E_INVALID: text *made is not of the key type. The message gives its number, from 0, and the reason;
 *   *keys has the keys of the texts before it.
 * - TAMIS_E_SYSTEM: the C library cannot decode UTF-8; *keys as before.
 * - TAMIS_E_NOMEM: no keys.
 *
 * *keys is valid until the next call with this maker, and as long as the texts. The maker keeps its memory
 * from call to call. O(bytes of the texts).
 */
TAMIS_API tamis_status tamis_key_maker_make(tamis_key_maker *maker, const tamis_key *texts, size_t count,
                                            const tamis_key **keys, size_t *made, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif
