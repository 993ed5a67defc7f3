/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_CODEC_COMPRESSOR_H
#define TAMIS_STREAM_CODEC_COMPRESSOR_H

#include <stdbool.h>
#include <stddef.h>

#include <tamis/experimental/compression.h>

#include "base/memory.h"

/* A compressor: bytes in, one compressed file out. With the same library version and the same flushes, equal
 * bytes give an equal file: it contains no time and no name. */

typedef struct tamis__compressor_options {
    tamis_compression compression; /* any format but NONE */
    int level;                     /* as tamis_stream_options.compression_level */
    bool bits;                     /* the data is a filter: repeated strings occur only by chance */
} tamis__compressor_options;

/* Destination of the compressed bytes. */
typedef struct tamis__compressor_sink {
    tamis_status (*emit)(void *context, const void *bytes, size_t size, tamis_error *err);
    void *context;
} tamis__compressor_sink;

typedef struct tamis__compressor tamis__compressor;

/* TAMIS_E_INVALID for an unknown format, TAMIS_E_UNSUPPORTED for one that is not built in, TAMIS_E_RANGE for
 * a level that the format does not have. */
tamis_status tamis__compressor_check(const tamis__compressor_options *options, tamis_error *err);

/*
 * Makes a compressor; writes nothing yet. `out` is copied, its context is borrowed.
 * - All memory is allocated here, except a part of what finishing xz and flushing bzip2 need.
 * - zstd and lz4 allocate from the C library.
 * The errors of tamis__compressor_check; TAMIS_E_NOMEM.
 */
tamis_status tamis__compressor_create(tamis__compressor **compressor,
                                      const tamis__compressor_options *options, const tamis_allocator *memory,
                                      const tamis__compressor_sink *out, tamis_error *err);
void tamis__compressor_free(tamis__compressor *compressor); /* NULL does nothing; writes nothing */

/* The functions below pass compressed bytes to `out` and return its errors, or TAMIS_E_NOMEM. After an error
 * only tamis__compressor_free may be called. */

/* Compresses `size` more bytes. Some output may stay in the compressor for a while. */
tamis_status tamis__compressor_put(tamis__compressor *compressor, const void *bytes, size_t size,
                                   tamis_error *err);

/* Passes on enough output to decompress all bytes put so far. This costs compression, since later bytes
 * cannot refer to earlier ones. Does nothing if nothing was put since the last flush. */
tamis_status tamis__compressor_flush(tamis__compressor *compressor, tamis_error *err);

/* Completes the file, even if nothing was put. Must be the last call but free, and only once. */
tamis_status tamis__compressor_finish(tamis__compressor *compressor, tamis_error *err);

#endif
