/* SPDX-License-Identifier: BSD-2-Clause */

/* lz4 by liblz4. It checks the heads of frames, the length if it is stored, and any checksums of blocks and
 * content. lz4(1) writes a content checksum. The library's blocks, 8 MiB at most, come from the C library:
 * only its unstable interface accepts an allocator. */
#include "stream/decoder.h"

#ifdef TAMIS_HAVE_LZ4

#include <lz4frame.h>
#include <string.h>

/* liblz4 says how much input it wants: first the head of a frame, then a block, its checksum if there is one,
 * and the head of the next block (four bytes each). Checksum and next head get steps of their own. */
enum { FIRST = 7, WORD = 4, BLOCK_END = 2 * WORD };

static tamis__decoded begin(tamis__decoder *decoder) {
    LZ4F_dctx *made;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)))
        return TAMIS__DECODED_NOMEM;
    decoder->state = made;
    decoder->wanted = FIRST;
    return TAMIS__DECODED_SOME;
}

static tamis__decoded again(tamis__decoder *decoder) {
    LZ4F_resetDecompressionContext(decoder->state);
    decoder->wanted = FIRST;
    return TAMIS__DECODED_SOME;
}

static tamis__decoded fail(tamis__decoder *decoder, size_t result) {
    static const char prefix[] = "ERROR_";
    const char *name = LZ4F_getErrorName(result);
    decoder->why = strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
    bool memory = strcmp(decoder->why, "allocation_failed") == 0;
    return memory ? TAMIS__DECODED_NOMEM : TAMIS__DECODED_DAMAGE;
}

static tamis__decoded step(tamis__decoder *decoder, tamis__flow *flow) {
    size_t taken = flow->in_size < decoder->wanted ? flow->in_size : decoder->wanted, made = flow->out_size;
    size_t result = LZ4F_decompress(decoder->state, flow->out, &made, flow->in, &taken, NULL);
    if (LZ4F_isError(result))
        return fail(decoder, result);
    decoder->wanted = result > BLOCK_END ? result - BLOCK_END : result > WORD ? WORD : result;
    tamis__flow_take(flow, taken, made);
    return result == 0 ? TAMIS__DECODED_MEMBER : TAMIS__DECODED_SOME;
}

static void end(tamis__decoder *decoder) {
    LZ4F_freeDecompressionContext(decoder->state);
}

const tamis__decoding tamis__decoding_lz4 = {begin, again, step, end, TAMIS__PADDING_NONE, "lz4 -dc"};

#else

const tamis__decoding tamis__decoding_lz4 = {.program = "lz4 -dc"};

#endif
