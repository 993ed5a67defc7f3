/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Bits of a filter repeat by chance alone, so looking for earlier strings finds little and takes long: runs (of zeros)
 * and the shares of byte values are all there is. 16 MiB of a classic filter, level 6 of zlib 1.2.13:
 *
 *     bits set    default strategy     runs (Z_RLE)
 *       1 %       0.099,  29 MB/s      0.090, 220 MB/s
 *       7 %       0.447,   5 MB/s      0.391,  68 MB/s
 *      50 %       1.000,  44 MB/s      1.000, 144 MB/s
 */
#define ZLIB_CONST /* input is only read */
#include <zlib.h>

#include "stream/pack_codec.h"

enum {
    USUAL = 6,
    MOST = 9,
    GZIP_WINDOW = MAX_WBITS + 16, /* zlib's way to say: with the head and end of gzip */
    EFFORT = 8,                   /* of memory: zlib's default */
    ANY_SYSTEM = 255,             /* so that the head is the same wherever it was written */
    MARK = 8                      /* more room than the mark of a flush takes, or zlib may write it twice */
};

typedef struct gzip {
    z_stream stream;
    gz_header head;
} gzip;

static tamis_status begin(void *state, const tamis__pack_want *want, tamis__lent *memory, tamis_error *err) {
    gzip *g = state;
    g->stream = (z_stream){.zalloc = tamis__lend_unsigned, .zfree = tamis__lend_back, .opaque = memory};
    if (deflateInit2(&g->stream, want->level, Z_DEFLATED, GZIP_WINDOW, EFFORT,
                     want->bits ? Z_RLE : Z_DEFAULT_STRATEGY) != Z_OK)
        return tamis__pack_fail(memory, err); /* of a zlib that we were built with: memory */
    g->head.os = ANY_SYSTEM;
    deflateSetHeader(&g->stream, &g->head);
    return TAMIS_OK;
}

static tamis_status step(void *state, tamis__pack_step what, tamis__flow *flow, bool *done,
                         tamis_error *err) {
    static const int flushes[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH};
    gzip *g = state;
    z_stream *stream = &g->stream;
    const uInt size = tamis__flow_some(flow->in_size), room = tamis__flow_some(flow->out_size);
    (void)err;
    stream->next_in = flow->in;
    stream->avail_in = size;
    stream->next_out = flow->out;
    stream->avail_out = room;
    int result = deflate(stream, flushes[what]); /* fails only where there is nothing to do */
    tamis__flow_take(flow, size - stream->avail_in, room - stream->avail_out);
    *done = what == TAMIS__PACK_PUT     ? flow->in_size == 0
            : what == TAMIS__PACK_FLUSH ? stream->avail_out > 0
                                        : result == Z_STREAM_END;
    return TAMIS_OK;
}

static void end(void *state) {
    deflateEnd(&((gzip *)state)->stream);
}

const tamis__pack_codec tamis__pack_gzip = {1, USUAL, MOST, sizeof(gzip), MARK, begin, step, end};
