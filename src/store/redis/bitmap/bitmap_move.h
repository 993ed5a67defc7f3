/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_BITMAP_BITMAP_MOVE_H
#define TAMIS_STORE_REDIS_BITMAP_BITMAP_MOVE_H

#include "store/redis/layout/layout_tamis.h"

/*
 * Bits in chunks of a mebibyte, between memory and the Redis keys of a filter. A Redis counts the bits of a byte from the
 * highest, memory from the lowest; bytes come in the same order.
 */
enum { TAMIS__CHUNKS_PER_ROUND = 16 };

/* Chunk i of all: of which key, from which byte, how many, and the first byte of the filter that it is. */
typedef struct tamis__chunk {
    uint32_t key;
    uint64_t from, size, filter_offset;
} tamis__chunk;

uint64_t tamis__chunk_count(const tamis_filter *there);
tamis__chunk tamis__chunk_of(const tamis_filter *there, uint64_t i);

/* `size` bytes that a Redis has at byte `rf` of the filter, a multiple of 8, from the words; those past them are 0. */
void tamis__chunk_from_words(uint8_t *bytes, const uint64_t *words, uint64_t filter_offset, uint64_t size);
void tamis__chunk_to_words(uint64_t *words, uint64_t filter_offset, const uint8_t *bytes, uint64_t size);

/* Where the bits of a filter in memory go to: SETRANGE into keys of zeros, then a look for each
 * chunk: of a server that failed over, what was sent last may be lost. */
typedef struct tamis__upload {
    const tamis_filter *there;
    const uint64_t *words;
    size_t (*key_name)(const tamis__redis_filter *rf, uint32_t key, char *to);
    /* Adds the guard of each chunk's step: the Redis key is the one made for this upload, and not in use yet. */
    tamis_key (*add_condition)(const tamis_filter *there, uint32_t key, tamis__step *step,
                               tamis__partition_buffers *buffers);
    bool has_bits; /* each chunk sets its bit behind the footer: see tamis_parts.c */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} tamis__upload;

/* TAMIS_E_IO: what is there is not what was sent. */
tamis_status tamis__upload_run(const tamis__upload *upload, tamis_error *err);

/* TAMIS_E_MISMATCH: the bits of `from`, in memory, are not those of `there`, for another kind, size, number of probes or
 * scheme. `verb` says what is done with `from`, `advice` what to do. */
tamis_status tamis__check_compatible(const tamis_filter *there, const tamis_filter *from, const char *verb,
                                     const char *advice, tamis_error *err);

#endif
