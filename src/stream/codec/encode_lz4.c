/* SPDX-License-Identifier: BSD-2-Clause */

/* lz4 by liblz4. Its memory comes from the C library: only its unstable interface accepts an allocator. */
#include "stream/codec/encoder.h"

#ifdef TAMIS_HAVE_LZ4

#include <string.h>

#include <lz4frame.h>

/* liblz4 compresses whole blocks, and wants output space for the worst case of each call. For an input of at
 * most PIECE bytes, after a block that may have begun, that is less than NEED. */
enum { LEVEL_DEFAULT = 1, LEVEL_MAX = 12, PIECE = 256 << 10, NEED = 2 * PIECE + LZ4F_HEADER_SIZE_MAX };

typedef struct lz4 {
    LZ4F_cctx *context;
    tamis__codec_memory *memory;
    size_t head_size; /* bytes of `head` not yet written */
    unsigned char head[LZ4F_HEADER_SIZE_MAX];
} lz4;

static void end_lz4(void *state) {
    LZ4F_freeCompressionContext(((lz4 *)state)->context);
}

static tamis_status begin_lz4(void *state, const tamis__compressor_options *options,
                              tamis__codec_memory *memory, tamis_error *err) {
    const LZ4F_preferences_t how = {
        .frameInfo = {.blockSizeID = LZ4F_max256KB, .contentChecksumFlag = LZ4F_contentChecksumEnabled},
        .compressionLevel = options->level};
    lz4 *z = state;
    z->memory = memory;
    if (LZ4F_isError(LZ4F_createCompressionContext(&z->context, LZ4F_VERSION)))
        return tamis__encoder_fail_memory(memory, err);
    z->head_size = LZ4F_compressBegin(z->context, z->head, sizeof z->head, &how); /* allocates the memory */
    if (!LZ4F_isError(z->head_size))
        return TAMIS_OK;
    end_lz4(z);
    return tamis__encoder_fail_memory(memory, err);
}

static void put_head(lz4 *z, tamis__codec_buffer *io) {
    memcpy(io->out, z->head, z->head_size);
    tamis__codec_buffer_advance(io, 0, z->head_size);
    z->head_size = 0;
}

static tamis_status encode_lz4(void *state, tamis__encode_op op, tamis__codec_buffer *io, bool *done,
                               tamis_error *err) {
    lz4 *z = state;
    const size_t piece = io->in_size < PIECE ? io->in_size : PIECE;
    size_t made;
    put_head(z, io);
    if (op == TAMIS__ENCODE_CONTINUE)
        made = LZ4F_compressUpdate(z->context, io->out, io->out_size, io->in, piece, NULL);
    else if (op == TAMIS__ENCODE_FLUSH)
        made = LZ4F_flush(z->context, io->out, io->out_size, NULL);
    else
        made = LZ4F_compressEnd(z->context, io->out, io->out_size, NULL);
    if (LZ4F_isError(made))
        return tamis__encoder_fail_memory(z->memory, err);
    tamis__codec_buffer_advance(io, piece, made);
    *done = io->in_size == 0;
    return TAMIS_OK;
}

const tamis__encoder tamis__encoder_lz4 = {.level_min = 1,
                                           .level_default = LEVEL_DEFAULT,
                                           .level_max = LEVEL_MAX,
                                           .state_size = sizeof(lz4),
                                           .output_min = NEED,
                                           .begin = begin_lz4,
                                           .step = encode_lz4,
                                           .end = end_lz4};

#else

const tamis__encoder tamis__encoder_lz4 = {.begin = NULL};

#endif
