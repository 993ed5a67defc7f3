/* SPDX-License-Identifier: BSD-2-Clause */

/* xz by liblzma, which checks the heads of streams and blocks, the index, and the checksum that the writer
 * chose: CRC-32, CRC-64, SHA-256 or none. */
#include "stream/decoder.h"

#ifdef TAMIS_HAVE_LZMA

#include <lzma.h>

/* Memory limit. xz -9 needs 65 MiB, but a file of a few bytes can ask for a dictionary of 4 GiB. */
static const uint64_t MEMORY_MOST = UINT64_C(1) << 30;

typedef struct state {
    lzma_stream stream;
    lzma_allocator allocator;
} state;

/* Starts a stream. liblzma reuses the memory of the last one. */
static tamis__decoded again(tamis__decoder *decoder) {
    state *own = decoder->state;
    lzma_ret result = lzma_stream_decoder(&own->stream, MEMORY_MOST, LZMA_TELL_UNSUPPORTED_CHECK);
    return result == LZMA_OK ? TAMIS__DECODED_SOME : TAMIS__DECODED_NOMEM;
}

static tamis__decoded begin(tamis__decoder *decoder) {
    state *own = tamis__lend(&decoder->memory, 1, sizeof *own);
    if (!own)
        return TAMIS__DECODED_NOMEM;
    own->allocator = (lzma_allocator){tamis__lend, tamis__lend_back, &decoder->memory};
    own->stream = (lzma_stream)LZMA_STREAM_INIT;
    own->stream.allocator = &own->allocator;
    decoder->state = own;
    tamis__decoded result = again(decoder);
    if (result != TAMIS__DECODED_SOME) {
        lzma_end(&own->stream);
        tamis__lend_back(&decoder->memory, own);
    }
    return result;
}

static tamis__decoded step(tamis__decoder *decoder, tamis__flow *flow) {
    lzma_stream *stream = &((state *)decoder->state)->stream;
    stream->next_in = flow->in;
    stream->avail_in = flow->in_size;
    stream->next_out = flow->out;
    stream->avail_out = flow->out_size;
    lzma_ret result = lzma_code(stream, LZMA_RUN);
    *flow = (tamis__flow){stream->next_in, stream->avail_in, stream->next_out, stream->avail_out};
    switch (result) {
    case LZMA_OK:
    case LZMA_BUF_ERROR: /* no progress was possible */
        return TAMIS__DECODED_SOME;
    case LZMA_STREAM_END:
        return TAMIS__DECODED_MEMBER;
    case LZMA_MEM_ERROR:
        return TAMIS__DECODED_NOMEM;
    case LZMA_MEMLIMIT_ERROR:
        decoder->why = "takes more than 1 GiB of memory to unpack";
        return TAMIS__DECODED_NOT_HERE;
    case LZMA_UNSUPPORTED_CHECK:
        decoder->why = "its check is none that liblzma knows";
        return TAMIS__DECODED_DAMAGE;
    case LZMA_OPTIONS_ERROR:
        decoder->why = "made in a way that liblzma does not know";
        return TAMIS__DECODED_DAMAGE;
    default:
        decoder->why = "a code or checksum is wrong";
        return TAMIS__DECODED_DAMAGE;
    }
}

static void end(tamis__decoder *decoder) {
    state *own = decoder->state;
    lzma_end(&own->stream);
    tamis__lend_back(&decoder->memory, own);
}

const tamis__decoding tamis__decoding_xz = {begin, again, step, end, TAMIS__PADDING_FOURS, "xz -dc"};

#else

const tamis__decoding tamis__decoding_xz = {.program = "xz -dc"};

#endif
