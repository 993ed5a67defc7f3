/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FORMAT_REDISBLOOM_CHUNKS_H
#define TAMIS_FORMAT_REDISBLOOM_CHUNKS_H

/* What the dumps of scaling and of cuckoo filters have in common: chunks of arrays that come in order, and
 * fields of RDB files. */
#include <tamis/compat/redisbloom.h>

#include "base/failure.h"

/* The words of a sort of filter, in messages. */
typedef struct tamis__rb_words {
    const char *name;    /* "redisbloom" */
    const char *array;   /* "sub-filter" */
    const char *content; /* "bits" */
} tamis__rb_words;

/* A range of bytes in one of the arrays of a filter, which lie one after the other. */
typedef struct tamis__rb_range {
    const tamis__rb_words *words; /* for messages */
    /* Iterator of the chunk: 1 + bytes up to its end. A range to dump begins there instead. */
    uint64_t iterator;
    uint64_t offset;      /* of its first byte in all arrays; UINT64_MAX: there is none */
    uint64_t left;        /* bytes from there to the end of the array; 0: no array is there */
    uint64_t loaded;      /* bytes of all arrays that are loaded: a prefix */
    const uint8_t *bytes; /* the bytes from `offset` on; NULL: the array is not allocated yet */
} tamis__rb_range;

/* Returns the offset of a chunk of `size` bytes. UINT64_MAX: its iterator is too small. */
static inline uint64_t tamis__rb_offset(uint64_t iterator, size_t size) {
    return iterator >= 1 && size <= iterator - 1 ? iterator - 1 - size : UINT64_MAX;
}

/* Returns how many bytes the chunk has that begins with the range: at most 16 MiB, loaded ones only. */
size_t tamis__rb_chunk_size(const tamis__rb_range *range);

/* Checks a chunk that is to be loaded into a range. *is_new is false if its bytes are there already. Errors
 * are those of tamis_redisbloom_load_chunk. */
tamis_status tamis__rb_check_chunk(const tamis__rb_range *range, const void *bytes, size_t size, bool *is_new,
                                   tamis_error *err);

/* Reads a number that fits 32 bits. */
bool tamis__rb_read_small(const tamis_redisbloom_source *source, uint32_t *value);
/* TAMIS_E_DAMAGED, for a field that cannot be read. */
tamis_status tamis__rb_missing_field(const tamis__rb_words *words, tamis_error *err);

#endif
