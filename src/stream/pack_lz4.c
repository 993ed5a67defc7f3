/* SPDX-License-Identifier: BSD-2-Clause */

/* lz4 by liblz4. Its memory comes from the C library: only its unstable interface accepts an allocator. */
#include "stream/pack_codec.h"

#ifdef TAMIS_HAVE_LZ4

#include <string.h>

#include <lz4frame.h>

/* liblz4 compresses whole blocks, and wants output space for the worst case of each call. For an input of at
 * most PIECE bytes, after a block that may have begun, that is less than NEED. */
enum { USUAL = 1, MOST = 12, PIECE = 256 << 10, NEED = 2 * PIECE + LZ4F_HEADER_SIZE_MAX };

typedef struct lz4 {
    LZ4F_cctx *context;
    tamis__lent *memory;
    size_t head_size; /* bytes of `head` not yet written */
    unsigned char head[LZ4F_HEADER_SIZE_MAX];
} lz4;

static void end(void *state) {
    LZ4F_freeCompressionContext(((lz4 *)state)->context);
}

static tamis_status begin(void *state, const tamis__pack_want *want, tamis__lent *memory, tamis_error *err) {
    const LZ4F_preferences_t how = {
        .frameInfo = {.blockSizeID = LZ4F_max256KB, .contentChecksumFlag = LZ4F_contentChecksumEnabled},
        .compressionLevel = want->level};
    lz4 *z = state;
    z->memory = memory;
    if (LZ4F_isError(LZ4F_createCompressionContext(&z->context, LZ4F_VERSION)))
        return tamis__pack_fail(memory, err);
    z->head_size = LZ4F_compressBegin(z->context, z->head, sizeof z->head, &how); /* allocates the memory */
    if (!LZ4F_isError(z->head_size))
        return TAMIS_OK;
    end(z);
    return tamis__pack_fail(memory, err);
}

static void put_head(lz4 *z, tamis__flow *flow) {
    memcpy(flow->out, z->head, z->head_size);
    tamis__flow_take(flow, 0, z->head_size);
    z->head_size = 0;
}

static tamis_status step(void *state, tamis__pack_step what, tamis__flow *flow, bool *done,
                         tamis_error *err) {
    lz4 *z = state;
    const size_t piece = flow->in_size < PIECE ? flow->in_size : PIECE;
    size_t made;
    put_head(z, flow);
    if (what == TAMIS__PACK_PUT)
        made = LZ4F_compressUpdate(z->context, flow->out, flow->out_size, flow->in, piece, NULL);
    else if (what == TAMIS__PACK_FLUSH)
        made = LZ4F_flush(z->context, flow->out, flow->out_size, NULL);
    else
        made = LZ4F_compressEnd(z->context, flow->out, flow->out_size, NULL);
    if (LZ4F_isError(made))
        return tamis__pack_fail(z->memory, err);
    tamis__flow_take(flow, piece, made);
    *done = flow->in_size == 0;
    return TAMIS_OK;
}

const tamis__pack_codec tamis__pack_lz4 = {1, USUAL, MOST, sizeof(lz4), NEED, begin, step, end};

#else

const tamis__pack_codec tamis__pack_lz4 = {.begin = NULL};

#endif
