/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_BITMAP_BITMAP_MOVE_H
#define TAMIS_STORE_REDIS_BITMAP_BITMAP_MOVE_H

#include "store/redis/layout/layout_tamis.h"

/*
 * Moving the bits of a filter between memory and its Redis keys, in chunks of 1 MiB. Redis numbers the bits of a byte from
 * the highest, memory from the lowest. The bytes have the same order in both.
 */
enum { TAMIS__CHUNKS_PER_ROUND = 16 };

/* A chunk: `size` bytes of Redis key `key` from byte `from` on, which is byte `filter_offset` of the filter. */
typedef struct tamis__chunk {
    uint32_t key;
    uint64_t from, size, filter_offset;
} tamis__chunk;

uint64_t tamis__chunk_count(const tamis_filter *there);
tamis__chunk tamis__chunk_of(const tamis_filter *there, uint64_t i);

/* These convert between words in memory and `size` bytes as Redis has them. The bytes begin at byte `filter_offset` of the
 * filter, a multiple of 8. tamis__chunk_to_words sets the bytes of the last word that are not given to 0. */
void tamis__chunk_from_words(uint8_t *bytes, const uint64_t *words, uint64_t filter_offset, uint64_t size);
void tamis__chunk_to_words(uint64_t *words, uint64_t filter_offset, const uint8_t *bytes, uint64_t size);

/* An upload of bits from memory into Redis keys of zeros, of which no client knows yet. After SETRANGE of all chunks, each
 * chunk is checked: a failover may have lost the last ones. */
typedef struct tamis__upload {
    const tamis_filter *there; /* filter on the server, whose Redis keys have the sizes of the new ones */
    const uint64_t *words;     /* its bits in memory */
    /* Layout tamis: the partitions, or staging strings beside them. Each chunk also sets its bit behind the footer: see
     * tamis_parts.c. Other layouts: NULL. */
    const tamis__partitions *partitions;
    tamis_key staging_key; /* other layouts: the one new Redis key, in the slot of the filter's */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} tamis__upload;

/* Uploads and checks all chunks. TAMIS_E_IO: the server does not have what was sent. */
tamis_status tamis__upload_run(const tamis__upload *upload, tamis_error *err);

/* TAMIS_E_MISMATCH: `from`, in memory, differs from `there` in kind, size, probes or scheme, so its bits have other meanings.
 * For the message, `verb` is what would be done with `from`, and `advice` is the remedy. */
tamis_status tamis__check_compatible(const tamis_filter *there, const tamis_filter *from, const char *verb,
                                     const char *advice, tamis_error *err);

#endif
