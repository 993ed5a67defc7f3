/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DECODER_H
#define TAMIS_STREAM_DECODER_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/packing.h>

#include "stream/flow.h"
#include "stream/lent_memory.h"

/* One file a packing, unpack_gzip.c and so on: one member after the other, out of a buffer into a buffer. What stands
 * between members is the business of unpack.c. */

typedef enum tamis__decoded {
    TAMIS__DECODED_SOME,     /* all of the input, or as much as there was room for */
    TAMIS__DECODED_MEMBER,   /* up to its end; what is left of the input stands behind it */
    TAMIS__DECODED_DAMAGE,   /* `why` */
    TAMIS__DECODED_NOT_HERE, /* it takes more memory than a stranger's file may, or what there is not: `why` */
    TAMIS__DECODED_NOMEM     /* memory.refused bytes, where that is not 0 */
} tamis__decoded;

typedef struct tamis__decoder {
    tamis__lent memory; /* not everything is from it: see each */
    void *state;
    /* Bytes of input that a step may have, where a failure loses what the same step has made. */
    size_t wanted;
    const char *why; /* in the library's words; static */
} tamis__decoder;

/* What may stand behind a member besides another one. */
typedef enum tamis__padding {
    TAMIS__PADDING_NONE,
    TAMIS__PADDING_LAST, /* zeros, and nothing behind them: of tapes and block devices */
    TAMIS__PADDING_FOURS /* zeros, a multiple of four */
} tamis__padding;

typedef struct tamis__decoding {
    /* NULL: this library was built without it. DECODED_SOME, else NOMEM, and nothing is to be ended. */
    tamis__decoded (*begin)(tamis__decoder *decoder);
    /* Before each member but the first: DECODED_SOME, else NOMEM. */
    tamis__decoded (*again)(tamis__decoder *decoder);
    /* There is input, or the last step filled its room. After a failure it is not called again. */
    tamis__decoded (*step)(tamis__decoder *decoder, tamis__flow *flow);
    void (*end)(tamis__decoder *decoder);
    tamis__padding padding;
    const char *program; /* that unpacks what is not unpacked here */
} tamis__decoding;

extern const tamis__decoding tamis__decoding_gzip, tamis__decoding_zstd, tamis__decoding_lz4,
    tamis__decoding_xz, tamis__decoding_bzip2;

/* NULL for NONE. */
const tamis__decoding *tamis__decoding_of(tamis_packing packing);

#endif
