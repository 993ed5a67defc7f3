/* SPDX-License-Identifier: BSD-2-Clause */

/* zstd by libzstd, which checks the heads of frames and blocks, the length if it is stored, and the content
 * checksum if there is one. zstd(1) writes both. The window comes from the C library: only the library's
 * unstable interface accepts an allocator. */
#include "stream/codec/decoder.h"

#ifdef TAMIS_HAVE_ZSTD

#include <zstd.h>
#include <zstd_errors.h>

/* libzstd says how much input it wants: first the head of a frame, then a block with the head of the next.
 * The next head gets a step of its own. */
enum { FIRST = 5, BLOCK_HEAD = 3 };

static tamis__decode_result begin_zstd(tamis__decoder *decoder) {
    decoder->state = ZSTD_createDStream();
    decoder->wanted = FIRST;
    return decoder->state ? TAMIS__DECODE_MORE : TAMIS__DECODE_NOMEM;
}

static tamis__decode_result reset_zstd(tamis__decoder *decoder) {
    ZSTD_DCtx_reset(decoder->state, ZSTD_reset_session_only);
    decoder->wanted = FIRST;
    return TAMIS__DECODE_MORE;
}

static tamis__decode_result decode_zstd(tamis__decoder *decoder, tamis__codec_buffer *io) {
    ZSTD_inBuffer in = {io->in, io->in_size < decoder->wanted ? io->in_size : decoder->wanted, 0};
    ZSTD_outBuffer out = {io->out, io->out_size, 0};
    const size_t result = ZSTD_decompressStream(decoder->state, &out, &in);
    tamis__codec_buffer_advance(io, in.pos, out.pos);
    if (!ZSTD_isError(result)) {
        decoder->wanted = result > BLOCK_HEAD ? result - BLOCK_HEAD : result;
        return result == 0 ? TAMIS__DECODE_MEMBER_END : TAMIS__DECODE_MORE;
    }
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return TAMIS__DECODE_NOMEM;
    case ZSTD_error_frameParameter_windowTooLarge: /* the library's own limit, which zstd(1) has too */
        decoder->why = "takes more than 128 MiB of memory to unpack";
        return TAMIS__DECODE_UNSUPPORTED;
    case ZSTD_error_dictionary_wrong:
        decoder->why = "was compressed with a dictionary (zstd -D), which is not supported";
        return TAMIS__DECODE_UNSUPPORTED;
    default:
        decoder->why = ZSTD_getErrorName(result);
        return TAMIS__DECODE_DAMAGED;
    }
}

static void end_zstd(tamis__decoder *decoder) {
    ZSTD_freeDStream(decoder->state);
}

const tamis__decoder_ops tamis__decoder_zstd = {.begin = begin_zstd,
                                                .reset = reset_zstd,
                                                .step = decode_zstd,
                                                .end = end_zstd,
                                                .padding = TAMIS__PADDING_NONE,
                                                .program = "zstd --long=31 -dc"};

#else

const tamis__decoder_ops tamis__decoder_zstd = {.program = "zstd -dc"};

#endif
