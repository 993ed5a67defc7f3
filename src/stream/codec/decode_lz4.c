/* SPDX-License-Identifier: BSD-2-Clause */

/* lz4 by liblz4. It checks the heads of frames, the length if it is stored, and any checksums of blocks and
 * content. lz4(1) writes a content checksum. The library's blocks, 8 MiB at most, come from the C library:
 * only its unstable interface accepts an allocator. */
#include "stream/codec/decoder.h"

#ifdef TAMIS_HAVE_LZ4

#include <lz4frame.h>
#include <string.h>

/* liblz4 says how much input it needs next. First it is the head of a frame. Then it is a block, its
 * checksum if there is one, and the head of the next block (four bytes each). Checksum and next head get
 * steps of their own. */
enum { FIRST = 7, WORD = 4, BLOCK_END = 2 * WORD };

static tamis__decode_result begin_lz4(tamis__decoder *decoder) {
    LZ4F_dctx *produced;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&produced, LZ4F_VERSION)))
        return TAMIS__DECODE_NOMEM;
    decoder->state = produced;
    decoder->wanted = FIRST;
    return TAMIS__DECODE_MORE;
}

static tamis__decode_result reset_lz4(tamis__decoder *decoder) {
    LZ4F_resetDecompressionContext(decoder->state);
    decoder->wanted = FIRST;
    return TAMIS__DECODE_MORE;
}

static tamis__decode_result fail(tamis__decoder *decoder, size_t result) {
    static const char prefix[] = "ERROR_";
    const char *name = LZ4F_getErrorName(result);
    decoder->why = strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
    const bool memory = strcmp(decoder->why, "allocation_failed") == 0;
    return memory ? TAMIS__DECODE_NOMEM : TAMIS__DECODE_DAMAGED;
}

static tamis__decode_result decode_lz4(tamis__decoder *decoder, tamis__codec_buffer *io) {
    size_t consumed = io->in_size < decoder->wanted ? io->in_size : decoder->wanted, produced = io->out_size;
    const size_t result = LZ4F_decompress(decoder->state, io->out, &produced, io->in, &consumed, NULL);
    if (LZ4F_isError(result))
        return fail(decoder, result);
    decoder->wanted = result > BLOCK_END ? result - BLOCK_END : result > WORD ? WORD : result;
    tamis__codec_buffer_advance(io, consumed, produced);
    return result == 0 ? TAMIS__DECODE_MEMBER_END : TAMIS__DECODE_MORE;
}

static void end_lz4(tamis__decoder *decoder) {
    LZ4F_freeDecompressionContext(decoder->state);
}

const tamis__decoder_ops tamis__decoder_lz4 = {.begin = begin_lz4,
                                               .reset = reset_lz4,
                                               .step = decode_lz4,
                                               .end = end_lz4,
                                               .padding = TAMIS__PADDING_NONE,
                                               .program = "lz4 -dc"};

#else

const tamis__decoder_ops tamis__decoder_lz4 = {.program = "lz4 -dc"};

#endif
