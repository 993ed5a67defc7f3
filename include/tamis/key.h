/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KEY_H
#define TAMIS_KEY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A key: the bytes to add or look up. Any bytes and any length are allowed, 0 included. `data` may be NULL
 * if `size` is 0. The library does not keep the pointer after the call. */
typedef struct tamis_key {
    const void *data;
    size_t size;
} tamis_key;

/* The answer for one key: whether it was in the filter before the call. Errors are statuses, never
 * answers. */
typedef uint8_t tamis_answer;
enum {
    TAMIS_ABSENT = 0,     /* the key was certainly absent */
    TAMIS_PRESENT = 1,    /* the key was present, or is a false positive */
    TAMIS_UNKNOWN = 2,    /* no answer: the filter was full, or a server's reply was lost */
    TAMIS_LATE = 3,       /* no answer: the key is too old for the window (tamis/experimental/window.h) */
    TAMIS_REDELIVERED = 4 /* no answer: the record was delivered before (tamis_dedup_add_delivered) */
};

/* Key types: how the keys of a filter were made. The filter itself only has their bytes. */
typedef enum tamis_key_type {
    TAMIS_KEYS_UNSPECIFIED = 0, /* not stored */
    TAMIS_KEYS_BYTES = 1,       /* any bytes */
    TAMIS_KEYS_UTF8 = 2,        /* text as UTF-8 */
    TAMIS_KEYS_UTF16 = 3,       /* text as UTF-16, low byte first */
    TAMIS_KEYS_INT32 = 4,       /* 32 bits, two's complement, low byte first */
    TAMIS_KEYS_INT64 = 5        /* 64 bits, likewise */
} tamis_key_type;

/* Flags added to a key type: how each key was normalised before it was added. A lookup must normalise in
 * the same way. */
enum {
    TAMIS_KEYS_FOLDED = 0x100,  /* case removed: tamis_extractor_options.ignore_case */
    TAMIS_KEYS_TRIMMED = 0x200, /* blanks at both ends removed: tamis_extractor_options.trim */
    /* all of these flags */
    TAMIS_KEYS_NORMALIZED = TAMIS_KEYS_FOLDED | TAMIS_KEYS_TRIMMED
};

#ifdef __cplusplus
}
#endif
#endif
