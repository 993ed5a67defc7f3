/* SPDX-License-Identifier: BSD-2-Clause */

/* xz by liblzma, with a CRC-64 check and our allocator. A flush (LZMA_SYNC_FLUSH) does not reset the
 * encoder. */
#include "stream/codec/encoder.h"

#ifdef TAMIS_HAVE_LZMA

#include <stdint.h>

#include <lzma.h>

enum { LEVEL_DEFAULT = 6, LEVEL_MAX = 9 };

typedef struct xz {
    lzma_stream stream;
    lzma_allocator ours;
    tamis__codec_memory *memory;
} xz;

static tamis_status begin_xz(void *state, const tamis__compressor_options *options,
                             tamis__codec_memory *memory, tamis_error *err) {
    xz *x = state;
    x->memory = memory;
    x->ours = (lzma_allocator){tamis__codec_alloc, tamis__codec_free, memory};
    x->stream = (lzma_stream)LZMA_STREAM_INIT;
    x->stream.allocator = &x->ours;
    if (lzma_easy_encoder(&x->stream, (uint32_t)options->level, LZMA_CHECK_CRC64) == LZMA_OK)
        return TAMIS_OK;
    lzma_end(&x->stream);
    return tamis__encoder_fail_memory(memory, err);
}

static tamis_status encode_xz(void *state, tamis__encode_op op, tamis__codec_buffer *io, bool *done,
                              tamis_error *err) {
    static const lzma_action actions[] = {LZMA_RUN, LZMA_SYNC_FLUSH, LZMA_FINISH};
    xz *x = state;
    lzma_stream *stream = &x->stream;
    stream->next_in = io->in;
    stream->avail_in = io->in_size;
    stream->next_out = io->out;
    stream->avail_out = io->out_size;
    lzma_ret result = lzma_code(stream, actions[op]);
    if (result != LZMA_OK && result != LZMA_STREAM_END)
        return tamis__encoder_fail_memory(x->memory, err);
    *io = (tamis__codec_buffer){.in = stream->next_in,
                                .in_size = stream->avail_in,
                                .out = stream->next_out,
                                .out_size = stream->avail_out};
    *done = op == TAMIS__ENCODE_CONTINUE ? io->in_size == 0 : result == LZMA_STREAM_END;
    return TAMIS_OK;
}

static void end_xz(void *state) {
    lzma_end(&((xz *)state)->stream);
}

const tamis__encoder tamis__encoder_xz = {.level_min = 0,
                                          .level_default = LEVEL_DEFAULT,
                                          .level_max = LEVEL_MAX,
                                          .state_size = sizeof(xz),
                                          .output_min = 1,
                                          .begin = begin_xz,
                                          .step = encode_xz,
                                          .end = end_xz};

#else

const tamis__encoder tamis__encoder_xz = {.begin = NULL};

#endif
