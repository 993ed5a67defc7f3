/* SPDX-License-Identifier: BSD-2-Clause */

/* gzip by zlib, in builds without ISA-L (unpack_gzip_isal.c). zlib checks the head of each member, the
 * deflate stream, the CRC-32 and the length. */
#include "stream/decoder.h"

#ifndef TAMIS_HAVE_ISAL

#define ZLIB_CONST /* input is only read */
#include <zlib.h>

enum { GZIP_WINDOW = MAX_WBITS + 16 }; /* zlib's code for gzip heads and trailers */

static tamis__decoded begin(tamis__decoder *decoder) {
    z_stream *stream = tamis__lend(&decoder->memory, 1, sizeof *stream);
    if (!stream)
        return TAMIS__DECODED_NOMEM;
    *stream =
        (z_stream){.zalloc = tamis__lend_unsigned, .zfree = tamis__lend_back, .opaque = &decoder->memory};
    if (inflateInit2(stream, GZIP_WINDOW) != Z_OK) { /* the version is right, so no memory */
        tamis__lend_back(&decoder->memory, stream);
        return TAMIS__DECODED_NOMEM;
    }
    decoder->state = stream;
    return TAMIS__DECODED_SOME;
}

static tamis__decoded again(tamis__decoder *decoder) {
    inflateReset(decoder->state);
    return TAMIS__DECODED_SOME;
}

static tamis__decoded step(tamis__decoder *decoder, tamis__flow *flow) {
    z_stream *stream = decoder->state;
    stream->next_in = flow->in;
    stream->avail_in = tamis__flow_some(flow->in_size);
    stream->next_out = flow->out;
    stream->avail_out = tamis__flow_some(flow->out_size);
    int result = inflate(stream, Z_NO_FLUSH);
    tamis__flow_take(flow, (size_t)(stream->next_in - flow->in), (size_t)(stream->next_out - flow->out));
    switch (result) {
    case Z_OK:
    case Z_BUF_ERROR: /* no progress was possible */
        return TAMIS__DECODED_SOME;
    case Z_STREAM_END:
        return TAMIS__DECODED_MEMBER;
    case Z_MEM_ERROR:
        return TAMIS__DECODED_NOMEM;
    default:
        decoder->why = stream->msg ? stream->msg : "it needs a dictionary";
        return TAMIS__DECODED_DAMAGE;
    }
}

static void end(tamis__decoder *decoder) {
    inflateEnd(decoder->state);
    tamis__lend_back(&decoder->memory, decoder->state);
}

const tamis__decoding tamis__decoding_gzip = {begin, again, step, end, TAMIS__PADDING_LAST, "gzip -dc"};

#endif
