/* SPDX-License-Identifier: BSD-2-Clause */

/* bzip2 by libbz2, which checks the CRC-32 of each block and of each stream. */
#include "stream/codec/decoder.h"

#ifdef TAMIS_HAVE_BZIP2

#include <bzlib.h>
#include <stdint.h>

static tamis__decode_result start(tamis__decoder *decoder) {
    bz_stream *stream = decoder->state;
    *stream = (bz_stream){
        .bzalloc = tamis__codec_alloc_int, .bzfree = tamis__codec_free, .opaque = &decoder->memory};
    /* Fails only for lack of memory, and then leaves stream->state NULL. */
    return BZ2_bzDecompressInit(stream, 0, 0) == BZ_OK ? TAMIS__DECODE_MORE : TAMIS__DECODE_NOMEM;
}

static tamis__decode_result begin_bzip2(tamis__decoder *decoder) {
    decoder->state = tamis__codec_alloc(&decoder->memory, 1, sizeof(bz_stream));
    if (!decoder->state)
        return TAMIS__DECODE_NOMEM;
    tamis__decode_result result = start(decoder);
    if (result != TAMIS__DECODE_MORE)
        tamis__codec_free(&decoder->memory, decoder->state);
    return result;
}

static tamis__decode_result reset_bzip2(tamis__decoder *decoder) {
    BZ2_bzDecompressEnd(decoder->state);
    return start(decoder);
}

static tamis__decode_result decode_bzip2(tamis__decoder *decoder, tamis__codec_buffer *io) {
    bz_stream *stream = decoder->state;
    const unsigned input_size = tamis__codec_size(io->in_size), output_size = tamis__codec_size(io->out_size);
    stream->next_in = (char *)(uintptr_t)io->in; /* the library only reads it */
    stream->avail_in = input_size;
    stream->next_out = (char *)io->out;
    stream->avail_out = output_size;
    const int result = BZ2_bzDecompress(stream);
    tamis__codec_buffer_advance(io, input_size - stream->avail_in, output_size - stream->avail_out);
    switch (result) {
    case BZ_OK:
        return TAMIS__DECODE_MORE;
    case BZ_STREAM_END:
        return TAMIS__DECODE_MEMBER_END;
    case BZ_MEM_ERROR:
        return TAMIS__DECODE_NOMEM;
    default:
        decoder->why = result == BZ_DATA_ERROR ? "a code or checksum is wrong" : "a head is wrong";
        return TAMIS__DECODE_DAMAGED;
    }
}

static void end_bzip2(tamis__decoder *decoder) {
    BZ2_bzDecompressEnd(decoder->state);
    tamis__codec_free(&decoder->memory, decoder->state);
}

const tamis__decoder_ops tamis__decoder_bzip2 = {.begin = begin_bzip2,
                                                 .reset = reset_bzip2,
                                                 .step = decode_bzip2,
                                                 .end = end_bzip2,
                                                 .padding = TAMIS__PADDING_NONE,
                                                 .program = "bzip2 -dc"};

#else

const tamis__decoder_ops tamis__decoder_bzip2 = {.program = "bzip2 -dc"};

#endif
