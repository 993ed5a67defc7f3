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

#include "stream/codec/encoder.h"

enum {
    LEVEL_DEFAULT = 6,
    LEVEL_MAX = 9,
    GZIP_WINDOW = MAX_WBITS + 16, /* zlib's code for gzip heads and trailers */
    EFFORT = 8,                   /* zlib's default memory level */
    ANY_SYSTEM = 255,             /* operating system "unknown": the file is the same on every system */
    MARK = 8 /* more than a flush marker needs; with less space zlib may write it twice */
};

typedef struct gzip {
    z_stream stream;
    gz_header head;
} gzip;

static tamis_status begin_gzip(void *state, const tamis__compressor_options *options,
                               tamis__codec_memory *memory, tamis_error *err) {
    gzip *g = state;
    g->stream =
        (z_stream){.zalloc = tamis__codec_alloc_unsigned, .zfree = tamis__codec_free, .opaque = memory};
    if (deflateInit2(&g->stream, options->level, Z_DEFLATED, GZIP_WINDOW, EFFORT,
                     options->bits ? Z_RLE : Z_DEFAULT_STRATEGY) != Z_OK)
        return tamis__encoder_fail_memory(memory, err); /* the version is right, so no memory */
    g->head.os = ANY_SYSTEM;
    deflateSetHeader(&g->stream, &g->head);
    return TAMIS_OK;
}

static tamis_status encode_gzip(void *state, tamis__encode_op op, tamis__codec_buffer *io, bool *done,
                                tamis_error *err) {
    static const int flushes[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH};
    gzip *g = state;
    z_stream *stream = &g->stream;
    const uInt input_size = tamis__codec_size(io->in_size), output_size = tamis__codec_size(io->out_size);
    (void)err;
    stream->next_in = io->in;
    stream->avail_in = input_size;
    stream->next_out = io->out;
    stream->avail_out = output_size;
    const int result = deflate(stream, flushes[op]); /* fails only if there is nothing to do */
    tamis__codec_buffer_advance(io, input_size - stream->avail_in, output_size - stream->avail_out);
    *done = op == TAMIS__ENCODE_CONTINUE ? io->in_size == 0
            : op == TAMIS__ENCODE_FLUSH  ? stream->avail_out > 0
                                         : result == Z_STREAM_END;
    return TAMIS_OK;
}

static void end_gzip(void *state) {
    deflateEnd(&((gzip *)state)->stream);
}

const tamis__encoder tamis__encoder_gzip = {.level_min = 1,
                                            .level_default = LEVEL_DEFAULT,
                                            .level_max = LEVEL_MAX,
                                            .state_size = sizeof(gzip),
                                            .output_min = MARK,
                                            .begin = begin_gzip,
                                            .step = encode_gzip,
                                            .end = end_gzip};
