/* SPDX-License-Identifier: BSD-2-Clause */

/* bzip2 by libbz2, which checks the CRC-32 of each block and of each stream. */
#include "stream/decoder.h"

#ifdef TAMIS_HAVE_BZIP2

#include <bzlib.h>
#include <stdint.h>

static tamis__decoded start(tamis__decoder *decoder) {
    bz_stream *stream = decoder->state;
    *stream = (bz_stream){.bzalloc = tamis__lend_int, .bzfree = tamis__lend_back, .opaque = &decoder->memory};
    /* Fails only for lack of memory, and then leaves stream->state NULL. */
    return BZ2_bzDecompressInit(stream, 0, 0) == BZ_OK ? TAMIS__DECODED_SOME : TAMIS__DECODED_NOMEM;
}

static tamis__decoded begin(tamis__decoder *decoder) {
    decoder->state = tamis__lend(&decoder->memory, 1, sizeof(bz_stream));
    if (!decoder->state)
        return TAMIS__DECODED_NOMEM;
    tamis__decoded result = start(decoder);
    if (result != TAMIS__DECODED_SOME)
        tamis__lend_back(&decoder->memory, decoder->state);
    return result;
}

static tamis__decoded again(tamis__decoder *decoder) {
    BZ2_bzDecompressEnd(decoder->state);
    return start(decoder);
}

static tamis__decoded step(tamis__decoder *decoder, tamis__flow *flow) {
    bz_stream *stream = decoder->state;
    const unsigned size = tamis__flow_some(flow->in_size), room = tamis__flow_some(flow->out_size);
    stream->next_in = (char *)(uintptr_t)flow->in; /* the library only reads it */
    stream->avail_in = size;
    stream->next_out = (char *)flow->out;
    stream->avail_out = room;
    int result = BZ2_bzDecompress(stream);
    tamis__flow_take(flow, size - stream->avail_in, room - stream->avail_out);
    switch (result) {
    case BZ_OK:
        return TAMIS__DECODED_SOME;
    case BZ_STREAM_END:
        return TAMIS__DECODED_MEMBER;
    case BZ_MEM_ERROR:
        return TAMIS__DECODED_NOMEM;
    default:
        decoder->why = result == BZ_DATA_ERROR ? "a code or checksum is wrong" : "a head is wrong";
        return TAMIS__DECODED_DAMAGE;
    }
}

static void end(tamis__decoder *decoder) {
    BZ2_bzDecompressEnd(decoder->state);
    tamis__lend_back(&decoder->memory, decoder->state);
}

const tamis__decoding tamis__decoding_bzip2 = {begin, again, step, end, TAMIS__PADDING_NONE, "bzip2 -dc"};

#else

const tamis__decoding tamis__decoding_bzip2 = {.program = "bzip2 -dc"};

#endif
