/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_CODEC_CODEC_BUFFER_H
#define TAMIS_STREAM_CODEC_CODEC_BUFFER_H

#include <limits.h>
#include <stddef.h>

/* Codec buffers: the input that is left, and the output space that is left. A step consumes the front of
 * both. */
typedef struct tamis__codec_buffer {
    const unsigned char *in;
    size_t in_size;
    unsigned char *out;
    size_t out_size;
} tamis__codec_buffer;

static inline void tamis__codec_buffer_advance(tamis__codec_buffer *io, size_t consumed, size_t produced) {
    *io = (tamis__codec_buffer){.in = io->in + consumed,
                                .in_size = io->in_size - consumed,
                                .out = io->out + produced,
                                .out_size = io->out_size - produced};
}

/* Limits a size to what zlib and libbz2 accept in one call. */
static inline unsigned tamis__codec_size(size_t size) {
    return size < UINT_MAX ? (unsigned)size : UINT_MAX;
}

#endif
