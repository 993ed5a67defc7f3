/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_PACK_CODEC_H
#define TAMIS_STREAM_PACK_CODEC_H

#include "stream/flow.h"
#include "stream/lent_memory.h"
#include "stream/pack.h"

/* Interface of the compression libraries, one file for each format. Their only error is lack of memory;
 * pack.c checks everything else before. */

tamis_status tamis__pack_fail(const tamis__lent *memory, tamis_error *err); /* TAMIS_E_NOMEM */

typedef enum tamis__pack_step { TAMIS__PACK_PUT, TAMIS__PACK_FLUSH, TAMIS__PACK_FINISH } tamis__pack_step;

typedef struct tamis__pack_codec {
    int least, usual, most; /* smallest, default and largest level */
    size_t state_size;      /* size of `state` below, which is zeroed before begin */
    size_t need;            /* output space that every step must have */
    /* Starts compression. `want` is borrowed for the call, `memory` until end. After an error end is not
     * called. NULL: not built in. */
    tamis_status (*begin)(void *state, const tamis__pack_want *want, tamis__lent *memory, tamis_error *err);
    /* Compresses. PUT has input, and is done when all of it is consumed. FLUSH and FINISH have none, and are
     * done when all output is written. A step that is not done is called again with more output space. */
    tamis_status (*step)(void *state, tamis__pack_step step, tamis__flow *flow, bool *done, tamis_error *err);
    void (*end)(void *state); /* frees the memory; allowed at any time after begin */
} tamis__pack_codec;

extern const tamis__pack_codec tamis__pack_gzip, tamis__pack_zstd, tamis__pack_lz4, tamis__pack_xz,
    tamis__pack_bzip2;

/* Returns the codec of a format; NULL for TAMIS_PACKING_NONE. */
const tamis__pack_codec *tamis__pack_codec_of(tamis_packing packing);

#endif
