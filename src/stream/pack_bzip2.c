/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * bzip2 by libbz2.
 *
 * The library's own flush ends a block, but keeps the last bits if they do not fill a byte. The block could
 * not be decompressed yet. Therefore a flush ends the stream here, and the next byte begins another stream.
 * That costs 14 bytes for each flush. It costs no compression, because bzip2 compresses each block by itself
 * anyway.
 */
#include "stream/pack_codec.h"

#ifdef TAMIS_HAVE_BZIP2

#include <stdint.h>

#include <bzlib.h>

enum { USUAL = 9, MOST = 9 };

typedef struct bzip2 {
    bz_stream stream;
    tamis__lent *memory;
    int level;
    bool is_open; /* a stream has begun and has not ended */
} bzip2;

static tamis_status open_stream(bzip2 *b, tamis_error *err) {
    b->stream = (bz_stream){.bzalloc = tamis__lend_int, .bzfree = tamis__lend_back, .opaque = b->memory};
    if (BZ2_bzCompressInit(&b->stream, b->level, 0, 0) != BZ_OK)
        return tamis__pack_fail(b->memory, err);
    b->is_open = true;
    return TAMIS_OK;
}

static void end(void *state) {
    bzip2 *b = state;
    if (b->is_open)
        BZ2_bzCompressEnd(&b->stream);
    b->is_open = false;
}

static tamis_status begin(void *state, const tamis__pack_want *want, tamis__lent *memory, tamis_error *err) {
    bzip2 *b = state;
    b->memory = memory;
    b->level = want->level;
    return open_stream(b, err);
}

static tamis_status step(void *state, tamis__pack_step what, tamis__flow *flow, bool *done,
                         tamis_error *err) {
    bzip2 *b = state;
    bz_stream *stream = &b->stream;
    const unsigned size = tamis__flow_some(flow->in_size), room = tamis__flow_some(flow->out_size);
    *done = !b->is_open && what != TAMIS__PACK_PUT;
    if (*done)
        return TAMIS_OK;
    tamis_status status = b->is_open ? TAMIS_OK : open_stream(b, err);
    if (status != TAMIS_OK)
        return status;
    stream->next_in = (char *)(uintptr_t)flow->in; /* the library only reads it */
    stream->avail_in = size;
    stream->next_out = (char *)flow->out;
    stream->avail_out = room;
    int result = BZ2_bzCompress(stream, what == TAMIS__PACK_PUT ? BZ_RUN : BZ_FINISH);
    tamis__flow_take(flow, size - stream->avail_in, room - stream->avail_out);
    *done = what == TAMIS__PACK_PUT ? flow->in_size == 0 : result == BZ_STREAM_END;
    if (what != TAMIS__PACK_PUT && *done)
        end(b);
    return TAMIS_OK;
}

const tamis__pack_codec tamis__pack_bzip2 = {1, USUAL, MOST, sizeof(bzip2), 1, begin, step, end};

#else

const tamis__pack_codec tamis__pack_bzip2 = {.begin = NULL};

#endif
