/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_CODEC_ENCODER_H
#define TAMIS_STREAM_CODEC_ENCODER_H

#include "stream/codec/codec_alloc.h"
#include "stream/codec/codec_buffer.h"
#include "stream/codec/compressor.h"

/* Interface of the compression libraries, one file for each format. Their only error is lack of memory;
 * compressor.c checks everything else before. */

tamis_status tamis__encoder_fail_memory(const tamis__codec_memory *memory,
                                        tamis_error *err); /* TAMIS_E_NOMEM */

typedef enum tamis__encode_op {
    TAMIS__ENCODE_CONTINUE,
    TAMIS__ENCODE_FLUSH,
    TAMIS__ENCODE_END
} tamis__encode_op;

typedef struct tamis__encoder {
    int level_min, level_default, level_max; /* smallest, default and largest level */
    size_t state_size;                       /* size of `state` below, which is zeroed before begin */
    size_t output_min;                       /* output space that every step must have */
    /* Starts compression. `options` is borrowed for the call, `memory` until end. After an error end is not
     * called. NULL: not built in. */
    tamis_status (*begin)(void *state, const tamis__compressor_options *options, tamis__codec_memory *memory,
                          tamis_error *err);
    /* Compresses. CONTINUE has input, and is done when all of it is consumed. FLUSH and END have none, and
     * are done when all output is written. A step that is not done is called again with more output space. */
    tamis_status (*step)(void *state, tamis__encode_op op, tamis__codec_buffer *io, bool *done,
                         tamis_error *err);
    void (*end)(void *state); /* frees the memory; allowed at any time after begin */
} tamis__encoder;

extern const tamis__encoder tamis__encoder_gzip, tamis__encoder_zstd, tamis__encoder_lz4, tamis__encoder_xz,
    tamis__encoder_bzip2;

/* Returns the encoder of a format; NULL for TAMIS_COMPRESSION_NONE. */
const tamis__encoder *tamis__encoder_find(tamis_compression compression);

#endif
