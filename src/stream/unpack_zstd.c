/* SPDX-License-Identifier: BSD-2-Clause */

/* zstd by libzstd, which checks the heads of frames and blocks, the length if it is stored, and the content
 * checksum if there is one. zstd(1) writes both. The window comes from the C library: only the library's
 * unstable interface accepts an allocator. */
#include "stream/decoder.h"

#ifdef TAMIS_HAVE_ZSTD

#include <zstd.h>
#include <zstd_errors.h>

/* libzstd says how much input it wants: first the head of a frame, then a block with the head of the next.
 * The next head gets a step of its own. */
enum { FIRST = 5, BLOCK_HEAD = 3 };

static tamis__decoded begin(tamis__decoder *decoder) {
    decoder->state = ZSTD_createDStream();
    decoder->wanted = FIRST;
    return decoder->state ? TAMIS__DECODED_SOME : TAMIS__DECODED_NOMEM;
}

static tamis__decoded again(tamis__decoder *decoder) {
    ZSTD_DCtx_reset(decoder->state, ZSTD_reset_session_only);
    decoder->wanted = FIRST;
    return TAMIS__DECODED_SOME;
}

static tamis__decoded step(tamis__decoder *decoder, tamis__flow *flow) {
    ZSTD_inBuffer in = {flow->in, flow->in_size < decoder->wanted ? flow->in_size : decoder->wanted, 0};
    ZSTD_outBuffer out = {flow->out, flow->out_size, 0};
    size_t result = ZSTD_decompressStream(decoder->state, &out, &in);
    tamis__flow_take(flow, in.pos, out.pos);
    if (!ZSTD_isError(result)) {
        decoder->wanted = result > BLOCK_HEAD ? result - BLOCK_HEAD : result;
        return result == 0 ? TAMIS__DECODED_MEMBER : TAMIS__DECODED_SOME;
    }
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return TAMIS__DECODED_NOMEM;
    case ZSTD_error_frameParameter_windowTooLarge: /* the library's own limit, which zstd(1) has too */
        decoder->why = "takes more than 128 MiB of memory to unpack";
        return TAMIS__DECODED_NOT_HERE;
    case ZSTD_error_dictionary_wrong:
        decoder->why = "was packed with a dictionary (zstd -D), which is not read";
        return TAMIS__DECODED_NOT_HERE;
    default:
        decoder->why = ZSTD_getErrorName(result);
        return TAMIS__DECODED_DAMAGE;
    }
}

static void end(tamis__decoder *decoder) {
    ZSTD_freeDStream(decoder->state);
}

const tamis__decoding tamis__decoding_zstd = {
    begin, again, step, end, TAMIS__PADDING_NONE, "zstd --long=31 -dc"};

#else

const tamis__decoding tamis__decoding_zstd = {.program = "zstd -dc"};

#endif
