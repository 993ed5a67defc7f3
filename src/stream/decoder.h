/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DECODER_H
#define TAMIS_STREAM_DECODER_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/packing.h>

#include "stream/flow.h"
#include "stream/lent_memory.h"

/* Interface of the decoders, one file for each format (unpack_gzip.c and so on). A decoder decompresses one
 * member after the other, from a buffer to a buffer. unpack.c handles the bytes between members. */

typedef enum tamis__decoded {
    TAMIS__DECODED_SOME,     /* consumed all input, or filled all output space */
    TAMIS__DECODED_MEMBER,   /* reached the end of the member; the rest of the input follows it */
    TAMIS__DECODED_DAMAGE,   /* damaged; `why` has the reason */
    TAMIS__DECODED_NOT_HERE, /* needs more memory than allowed, or a missing feature; `why` has the reason */
    TAMIS__DECODED_NOMEM     /* out of memory: memory.refused bytes, if not 0 */
} tamis__decoded;

typedef struct tamis__decoder {
    tamis__lent memory; /* allocator; the decoders say what does not come from it */
    void *state;
    /* zstd, lz4: largest input of a step. A failed step loses its output, so each step gets one unit of
     * input. */
    size_t wanted;
    const char *why; /* the library's message; static */
} tamis__decoder;

/* Bytes allowed after a member, besides another member. */
typedef enum tamis__padding {
    TAMIS__PADDING_NONE,
    TAMIS__PADDING_LAST, /* zeros up to the end of the file, from tapes and block devices */
    TAMIS__PADDING_FOURS /* zeros, a multiple of four */
} tamis__padding;

typedef struct tamis__decoding {
    /* Starts the first member. DECODED_SOME or DECODED_NOMEM; after an error `end` is not called. NULL: not
     * built in. */
    tamis__decoded (*begin)(tamis__decoder *decoder);
    /* Starts each further member. DECODED_SOME or DECODED_NOMEM. */
    tamis__decoded (*again)(tamis__decoder *decoder);
    /* Decompresses. Called if there is input or if the last step filled its output space, and not after an
     * error. */
    tamis__decoded (*step)(tamis__decoder *decoder, tamis__flow *flow);
    void (*end)(tamis__decoder *decoder);
    tamis__padding padding;
    const char *program; /* command that decompresses a file that we cannot, for messages */
} tamis__decoding;

extern const tamis__decoding tamis__decoding_gzip, tamis__decoding_zstd, tamis__decoding_lz4,
    tamis__decoding_xz, tamis__decoding_bzip2;

/* Returns the decoder of a format; NULL for TAMIS_PACKING_NONE. */
const tamis__decoding *tamis__decoding_of(tamis_packing packing);

#endif
