/* SPDX-License-Identifier: BSD-2-Clause */

/* xz by liblzma, with a CRC-64 check and our allocator. A flush (LZMA_SYNC_FLUSH) does not reset the
 * encoder. */
#include "stream/pack_codec.h"

#ifdef TAMIS_HAVE_LZMA

#include <stdint.h>

#include <lzma.h>

enum { USUAL = 6, MOST = 9 };

typedef struct xz {
    lzma_stream stream;
    lzma_allocator ours;
    tamis__lent *memory;
} xz;

static tamis_status begin(void *state, const tamis__pack_want *want, tamis__lent *memory, tamis_error *err) {
    xz *x = state;
    x->memory = memory;
    x->ours = (lzma_allocator){tamis__lend, tamis__lend_back, memory};
    x->stream = (lzma_stream)LZMA_STREAM_INIT;
    x->stream.allocator = &x->ours;
    if (lzma_easy_encoder(&x->stream, (uint32_t)want->level, LZMA_CHECK_CRC64) == LZMA_OK)
        return TAMIS_OK;
    lzma_end(&x->stream);
    return tamis__pack_fail(memory, err);
}

static tamis_status step(void *state, tamis__pack_step what, tamis__flow *flow, bool *done,
                         tamis_error *err) {
    static const lzma_action actions[] = {LZMA_RUN, LZMA_SYNC_FLUSH, LZMA_FINISH};
    xz *x = state;
    lzma_stream *stream = &x->stream;
    stream->next_in = flow->in;
    stream->avail_in = flow->in_size;
    stream->next_out = flow->out;
    stream->avail_out = flow->out_size;
    lzma_ret result = lzma_code(stream, actions[what]);
    if (result != LZMA_OK && result != LZMA_STREAM_END)
        return tamis__pack_fail(x->memory, err);
    *flow = (tamis__flow){stream->next_in, stream->avail_in, stream->next_out, stream->avail_out};
    *done = what == TAMIS__PACK_PUT ? flow->in_size == 0 : result == LZMA_STREAM_END;
    return TAMIS_OK;
}

static void end(void *state) {
    lzma_end(&((xz *)state)->stream);
}

const tamis__pack_codec tamis__pack_xz = {0, USUAL, MOST, sizeof(xz), 1, begin, step, end};

#else

const tamis__pack_codec tamis__pack_xz = {.begin = NULL};

#endif
