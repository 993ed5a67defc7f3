/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * gzip by zlib.
 *
 * For filters the strategy is Z_RLE. The bits of a filter repeat only by chance, so a search for earlier
 * strings finds little and takes long. Only runs of zeros and the frequencies of byte values compress. 16 MiB
 * of a classic filter, level 6 of zlib 1.2.13, compressed size and speed:
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
    GZIP_WINDOW = MAX_WBITS + 16, /* zlib's code for gzip heads and trailers */
    EFFORT = 8,                   /* zlib's default memory level */
    ANY_SYSTEM = 255,             /* operating system "unknown": the file is the same on every system */
    MARK = 8 /* more than a flush marker needs; with less space zlib may write it twice */
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
        return tamis__pack_fail(memory, err); /* the version is right, so no memory */
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
    int result = deflate(stream, flushes[what]); /* fails only if there is nothing to do */
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
