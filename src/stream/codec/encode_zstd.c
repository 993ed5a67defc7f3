/* SPDX-License-Identifier: BSD-2-Clause */

/* zstd by libzstd. Its memory comes from the C library: only its unstable interface accepts an allocator. */
#include "stream/codec/encoder.h"

#ifdef TAMIS_HAVE_ZSTD

#include <zstd.h>

enum { LEVEL_DEFAULT = 3, LEVEL_MAX = 22 };

typedef struct zstd {
    ZSTD_CCtx *context;
    tamis__codec_memory *memory;
} zstd;

/* Calls the library. There is always output space, so its only error is lack of memory. */
static tamis_status call(zstd *z, tamis__codec_buffer *io, ZSTD_EndDirective op, size_t *left,
                         tamis_error *err) {
    ZSTD_inBuffer in = {io->in, io->in_size, 0};
    ZSTD_outBuffer out = {io->out, io->out_size, 0};
    *left = ZSTD_compressStream2(z->context, &out, &in, op);
    if (ZSTD_isError(*left))
        return tamis__encoder_fail_memory(z->memory, err);
    tamis__codec_buffer_advance(io, in.pos, out.pos);
    return TAMIS_OK;
}

static void end_zstd(void *state) {
    ZSTD_freeCCtx(((zstd *)state)->context);
}

static tamis_status begin_zstd(void *state, const tamis__compressor_options *options,
                               tamis__codec_memory *memory, tamis_error *err) {
    zstd *z = state;
    unsigned char none[1];
    tamis__codec_buffer io = {.in = none, .in_size = 0, .out = none, .out_size = 0};
    size_t left;
    z->memory = memory;
    z->context = ZSTD_createCCtx();
    if (!z->context)
        return tamis__encoder_fail_memory(memory, err);
    ZSTD_CCtx_setParameter(z->context, ZSTD_c_compressionLevel, options->level);
    ZSTD_CCtx_setParameter(z->context, ZSTD_c_checksumFlag, 1);
    const tamis_status status = call(z, &io, ZSTD_e_continue, &left, err); /* allocates the memory */
    if (status != TAMIS_OK)
        end_zstd(z);
    return status;
}

static tamis_status encode_zstd(void *state, tamis__encode_op op, tamis__codec_buffer *io, bool *done,
                                tamis_error *err) {
    static const ZSTD_EndDirective directives[] = {ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end};
    size_t left;
    const tamis_status status = call(state, io, directives[op], &left, err);
    if (status == TAMIS_OK)
        *done = op == TAMIS__ENCODE_CONTINUE ? io->in_size == 0 : left == 0;
    return status;
}

const tamis__encoder tamis__encoder_zstd = {.level_min = 1,
                                            .level_default = LEVEL_DEFAULT,
                                            .level_max = LEVEL_MAX,
                                            .state_size = sizeof(zstd),
                                            .output_min = 1,
                                            .begin = begin_zstd,
                                            .step = encode_zstd,
                                            .end = end_zstd};

#else

const tamis__encoder tamis__encoder_zstd = {.begin = NULL};

#endif
