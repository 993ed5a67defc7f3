/* SPDX-License-Identifier: BSD-2-Clause */

/* gzip by zlib, in builds without ISA-L (decode_gzip_isal.c). zlib checks the head of each member, the
 * deflate stream, the CRC-32 and the length. */
#include "stream/codec/decoder.h"

#ifndef TAMIS_HAVE_ISAL

#define ZLIB_CONST /* input is only read */
#include <zlib.h>

enum { GZIP_WINDOW = MAX_WBITS + 16 }; /* zlib's code for gzip heads and trailers */

static tamis__decode_result begin_gzip(tamis__decoder *decoder) {
    z_stream *stream = tamis__codec_alloc(&decoder->memory, 1, sizeof *stream);
    if (!stream)
        return TAMIS__DECODE_NOMEM;
    *stream = (z_stream){
        .zalloc = tamis__codec_alloc_unsigned, .zfree = tamis__codec_free, .opaque = &decoder->memory};
    if (inflateInit2(stream, GZIP_WINDOW) != Z_OK) { /* the version is right, so no memory */
        tamis__codec_free(&decoder->memory, stream);
        return TAMIS__DECODE_NOMEM;
    }
    decoder->state = stream;
    return TAMIS__DECODE_MORE;
}

static tamis__decode_result reset_gzip(tamis__decoder *decoder) {
    inflateReset(decoder->state);
    return TAMIS__DECODE_MORE;
}

static tamis__decode_result decode_gzip(tamis__decoder *decoder, tamis__codec_buffer *io) {
    z_stream *stream = decoder->state;
    stream->next_in = io->in;
    stream->avail_in = tamis__codec_size(io->in_size);
    stream->next_out = io->out;
    stream->avail_out = tamis__codec_size(io->out_size);
    const int result = inflate(stream, Z_NO_FLUSH);
    tamis__codec_buffer_advance(io, (size_t)(stream->next_in - io->in), (size_t)(stream->next_out - io->out));
    switch (result) {
    case Z_OK:
    case Z_BUF_ERROR: /* no progress was possible */
        return TAMIS__DECODE_MORE;
    case Z_STREAM_END:
        return TAMIS__DECODE_MEMBER_END;
    case Z_MEM_ERROR:
        return TAMIS__DECODE_NOMEM;
    default:
        decoder->why = stream->msg ? stream->msg : "it needs a dictionary";
        return TAMIS__DECODE_DAMAGED;
    }
}

static void end_gzip(tamis__decoder *decoder) {
    inflateEnd(decoder->state);
    tamis__codec_free(&decoder->memory, decoder->state);
}

const tamis__decoder_ops tamis__decoder_gzip = {.begin = begin_gzip,
                                                .reset = reset_gzip,
                                                .step = decode_gzip,
                                                .end = end_gzip,
                                                .padding = TAMIS__PADDING_ZEROS,
                                                .program = "gzip -dc"};

#endif
