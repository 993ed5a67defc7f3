/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_CODEC_DECOMPRESSOR_H
#define TAMIS_STREAM_CODEC_DECOMPRESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/experimental/compression.h>

#include "base/failure.h"
#include "base/memory.h"

/* Decompression of a file with one or more members, in order. The format is recognised by the first bytes. */

enum { TAMIS__DECOMPRESSOR_READ_SIZE = 64 << 10 /* largest read, in bytes */ };

/* As tamis_compression_of_bytes. *undecided: the bytes are the beginning of a magic, so more are needed. A
 * proper beginning of a magic has neither a line feed nor a zero byte, so text is decided by its first
 * line. */
tamis_compression tamis__compression_detect(const uint8_t *magic, size_t size, bool *undecided);

typedef struct tamis__decompressor tamis__decompressor;

/* The pointers are borrowed while the decompressor lives. */
typedef struct tamis__decompressor_setup {
    int fd;
    const char *name;        /* for messages */
    const uint64_t *records; /* records read from the file so far, for messages; NULL: unknown */
    const void *begun; /* bytes already read from the file, at most TAMIS__DECOMPRESSOR_READ_SIZE; copied */
    size_t begun_size;
    const tamis_allocator *memory; /* not used for the windows of libzstd and liblz4 */
} tamis__decompressor_setup;

/* Makes a decompressor for a file that begins like a compressed one. It reads `begun` first, then fd from its
 * present offset. */
tamis_status tamis__decompressor_create(tamis__decompressor **decompressor,
                                        const tamis__decompressor_setup *setup, tamis_error *err);
void tamis__decompressor_free(tamis__decompressor *decompressor); /* NULL does nothing; fd stays open */

/*
 * Decompresses up to *size bytes to `into`. On success, *size becomes their number. It is 0 at the end of the
 * file (tamis__decompressor_has_ended), or if the bytes read so far give no output. Then call again when more
 * can be read.
 *
 * The function reads at most once, only with may_read, and only if nothing read before is left to decompress.
 * So it can follow a poll.
 *
 * TAMIS_E_DAMAGED (the bytes before the damage were returned, but no checksum has covered them yet),
 * TAMIS_E_IO, TAMIS_E_NOMEM. TAMIS_E_UNSUPPORTED if the format is not built in or needs too much memory.
 * After an error only tamis__decompressor_free may be called.
 */
tamis_status tamis__decompressor_read(tamis__decompressor *decompressor, bool may_read, void *into,
                                      size_t *size, tamis_error *err);
/* True after tamis__decompressor_read has reached the end of the file, which was complete. */
bool tamis__decompressor_has_ended(const tamis__decompressor *decompressor);

/* Bytes of the file read so far, including `begun`. */
uint64_t tamis__decompressor_bytes_read(const tamis__decompressor *decompressor);

#endif
