/* SPDX-License-Identifier: BSD-2-Clause */

/* xz by liblzma, which checks the heads of streams and blocks, the index, and the checksum that the writer
 * chose: CRC-32, CRC-64, SHA-256 or none. */
#include "stream/codec/decoder.h"

#ifdef TAMIS_HAVE_LZMA

#include <lzma.h>

/* Memory limit. xz -9 needs 65 MiB, but a file of a few bytes can ask for a dictionary of 4 GiB. */
static const uint64_t MEMORY_MAX = UINT64_C(1) << 30;

typedef struct state {
    lzma_stream stream;
    lzma_allocator allocator;
} state;

/* Starts a stream. liblzma reuses the memory of the last one. */
static tamis__decode_result reset_xz(tamis__decoder *decoder) {
    state *own = decoder->state;
    lzma_ret result = lzma_stream_decoder(&own->stream, MEMORY_MAX, LZMA_TELL_UNSUPPORTED_CHECK);
    return result == LZMA_OK ? TAMIS__DECODE_MORE : TAMIS__DECODE_NOMEM;
}

static tamis__decode_result begin_xz(tamis__decoder *decoder) {
    state *own = tamis__codec_alloc(&decoder->memory, 1, sizeof *own);
    if (!own)
        return TAMIS__DECODE_NOMEM;
    own->allocator = (lzma_allocator){tamis__codec_alloc, tamis__codec_free, &decoder->memory};
    own->stream = (lzma_stream)LZMA_STREAM_INIT;
    own->stream.allocator = &own->allocator;
    decoder->state = own;
    tamis__decode_result result = reset_xz(decoder);
    if (result != TAMIS__DECODE_MORE) {
        lzma_end(&own->stream);
        tamis__codec_free(&decoder->memory, own);
    }
    return result;
}

static tamis__decode_result decode_xz(tamis__decoder *decoder, tamis__codec_buffer *io) {
    lzma_stream *stream = &((state *)decoder->state)->stream;
    stream->next_in = io->in;
    stream->avail_in = io->in_size;
    stream->next_out = io->out;
    stream->avail_out = io->out_size;
    lzma_ret result = lzma_code(stream, LZMA_RUN);
    *io = (tamis__codec_buffer){.in = stream->next_in,
                                .in_size = stream->avail_in,
                                .out = stream->next_out,
                                .out_size = stream->avail_out};
    switch (result) {
    case LZMA_OK:
    case LZMA_BUF_ERROR: /* no progress was possible */
        return TAMIS__DECODE_MORE;
    case LZMA_STREAM_END:
        return TAMIS__DECODE_MEMBER_END;
    case LZMA_MEM_ERROR:
        return TAMIS__DECODE_NOMEM;
    case LZMA_MEMLIMIT_ERROR:
        decoder->why = "takes more than 1 GiB of memory to unpack";
        return TAMIS__DECODE_UNSUPPORTED;
    case LZMA_UNSUPPORTED_CHECK:
        decoder->why = "liblzma does not support its check";
        return TAMIS__DECODE_DAMAGED;
    case LZMA_OPTIONS_ERROR:
        decoder->why = "made in a way that liblzma does not know";
        return TAMIS__DECODE_DAMAGED;
    default:
        decoder->why = "a code or checksum is wrong";
        return TAMIS__DECODE_DAMAGED;
    }
}

static void end_xz(tamis__decoder *decoder) {
    state *own = decoder->state;
    lzma_end(&own->stream);
    tamis__codec_free(&decoder->memory, own);
}

const tamis__decoder_ops tamis__decoder_xz = {.begin = begin_xz,
                                              .reset = reset_xz,
                                              .step = decode_xz,
                                              .end = end_xz,
                                              .padding = TAMIS__PADDING_ZERO_WORDS,
                                              .program = "xz -dc"};

#else

const tamis__decoder_ops tamis__decoder_xz = {.program = "xz -dc"};

#endif
