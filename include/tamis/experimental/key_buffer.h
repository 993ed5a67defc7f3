/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KEY_BUFFER_H
#define TAMIS_KEY_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/filter.h>
#include <tamis/hash.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Buffers the distinct keys of a stream that can be read only once, as hashes. A filter needs the number of
 * its keys before it is made, so the hashes wait until the number is known.
 *
 * Threads: any number may read a buffer at once; while a thread changes it, no other may use it.
 *
 * This interface may change with every release.
 */
typedef struct tamis_key_buffer tamis_key_buffer;

typedef struct tamis_key_buffer_options {
    uint32_t struct_size;
    /* Hash of the filter to be filled: its scheme, seed and secret, as in tamis_hasher_options. */
    tamis_scheme scheme;
    uint64_t seed;
    const void *secret;
    size_t secret_size;
    size_t capacity;                  /* max. number of hashes, 24 bytes each; 1 to 2^32 */
    bool keeps_repeats;               /* keep a hash for each add: each add counts in the filter */
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_key_buffer_options;

#define TAMIS_KEY_BUFFER_OPTIONS_INIT TAMIS__INIT(tamis_key_buffer_options, .capacity = 1 << 16)

/* Creates an empty buffer. The caller owns *buffer until tamis_key_buffer_free. options: NULL for the
 * defaults; the secret is copied.
 *
 * - TAMIS_E_RANGE: the capacity is not from 1 to 2^32.
 * - TAMIS_E_UNSUPPORTED: the scheme has no digest.
 * - Errors of tamis_hasher_create, and TAMIS_E_NOMEM. */
TAMIS_API tamis_status tamis_key_buffer_create(tamis_key_buffer **buffer,
                                               const tamis_key_buffer_options *options, tamis_error *err);
TAMIS_API void tamis_key_buffer_free(tamis_key_buffer *buffer);

/* Adds keys in order. answers[i] is TAMIS_ABSENT the first time that a key comes, else TAMIS_PRESENT. Keys
 * are compared by 128 bits of a hash. On failure the first *done keys are added and answered.
 *
 * TAMIS_E_FULL: the next 256 keys, or what is left of `count`, might not fit. Cost: O(total key bytes). */
TAMIS_API tamis_status tamis_key_buffer_add_many(tamis_key_buffer *buffer, const tamis_key *keys,
                                                 size_t count, tamis_answer *answers, size_t *done,
                                                 tamis_error *err);

/* Returns the number of distinct keys. With keeps_repeats there may be more hashes. */
TAMIS_API uint64_t tamis_key_buffer_count(const tamis_key_buffer *buffer);

/* Adds all hashes to a filter with the buffer's scheme, seed and secret. The buffer keeps them. Errors of
 * tamis_filter_add_hashes; the filter then has some of the keys. */
TAMIS_API tamis_status tamis_key_buffer_flush(const tamis_key_buffer *buffer, tamis_filter *filter,
                                              tamis_error *err);

#ifdef __cplusplus
}
#endif

#endif
