/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_CODEC_DECODER_H
#define TAMIS_STREAM_CODEC_DECODER_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/experimental/compression.h>

#include "stream/codec/codec_alloc.h"
#include "stream/codec/codec_buffer.h"

/* Interface of the decoders, one file for each format (decode_gzip.c and so on). A decoder decompresses one
 * member after the other, from a buffer to a buffer. decompressor.c handles the bytes between members. */

typedef enum tamis__decode_result {
    TAMIS__DECODE_MORE,        /* consumed all input, or filled all output space */
    TAMIS__DECODE_MEMBER_END,  /* reached the end of the member; the rest of the input follows it */
    TAMIS__DECODE_DAMAGED,     /* damaged; `why` has the reason */
    TAMIS__DECODE_UNSUPPORTED, /* needs too much memory, or a missing feature; `why` has the reason */
    TAMIS__DECODE_NOMEM        /* out of memory: memory.refused bytes, if not 0 */
} tamis__decode_result;

typedef struct tamis__decoder {
    tamis__codec_memory memory; /* allocator; the decoders say what does not come from it */
    void *state;
    /* zstd, lz4: largest input of a step. A failed step loses its output, so each step gets one unit of
     * input. */
    size_t wanted;
    const char *why; /* the library's message; static */
} tamis__decoder;

/* Bytes allowed after a member, besides another member. */
typedef enum tamis__padding {
    TAMIS__PADDING_NONE,
    TAMIS__PADDING_ZEROS,     /* zeros up to the end of the file, from tapes and block devices */
    TAMIS__PADDING_ZERO_WORDS /* zeros, a multiple of four */
} tamis__padding;

typedef struct tamis__decoder_ops {
    /* Starts the first member. DECODE_MORE or DECODE_NOMEM; after an error `end` is not called. NULL: not
     * built in. */
    tamis__decode_result (*begin)(tamis__decoder *decoder);
    /* Starts each further member. DECODE_MORE or DECODE_NOMEM. */
    tamis__decode_result (*reset)(tamis__decoder *decoder);
    /* Decompresses. Called if there is input or if the last step filled its output space, and not after an
     * error. */
    tamis__decode_result (*step)(tamis__decoder *decoder, tamis__codec_buffer *io);
    void (*end)(tamis__decoder *decoder);
    tamis__padding padding;
    const char *program; /* command that decompresses a file that we cannot, for messages */
} tamis__decoder_ops;

extern const tamis__decoder_ops tamis__decoder_gzip, tamis__decoder_zstd, tamis__decoder_lz4,
    tamis__decoder_xz, tamis__decoder_bzip2;

/* Returns the decoder of a format; NULL for TAMIS_COMPRESSION_NONE. */
const tamis__decoder_ops *tamis__decoder_ops_find(tamis_compression compression);

#endif
