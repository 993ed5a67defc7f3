/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * bzip2 by libbz2.
 *
 * The library's own flush ends a block, but keeps the last bits if they do not fill a byte. The block could
 * not be decompressed yet. Therefore a flush ends the stream here, and the next byte begins another stream.
 * That costs 14 bytes for each flush. It costs no compression, because bzip2 compresses each block by itself
 * anyway.
 */
#include "stream/codec/encoder.h"

#ifdef TAMIS_HAVE_BZIP2

#include <stdint.h>

#include <bzlib.h>

enum { LEVEL_DEFAULT = 9, LEVEL_MAX = 9 };

typedef struct bzip2 {
    bz_stream stream;
    tamis__codec_memory *memory;
    int level;
    bool is_open; /* a stream has begun and has not ended */
} bzip2;

static tamis_status open_stream(bzip2 *b, tamis_error *err) {
    b->stream =
        (bz_stream){.bzalloc = tamis__codec_alloc_int, .bzfree = tamis__codec_free, .opaque = b->memory};
    if (BZ2_bzCompressInit(&b->stream, b->level, 0, 0) != BZ_OK)
        return tamis__encoder_fail_memory(b->memory, err);
    b->is_open = true;
    return TAMIS_OK;
}

static void end_bzip2(void *state) {
    bzip2 *b = state;
    if (b->is_open)
        BZ2_bzCompressEnd(&b->stream);
    b->is_open = false;
}

static tamis_status begin_bzip2(void *state, const tamis__compressor_options *options,
                                tamis__codec_memory *memory, tamis_error *err) {
    bzip2 *b = state;
    b->memory = memory;
    b->level = options->level;
    return open_stream(b, err);
}

static tamis_status encode_bzip2(void *state, tamis__encode_op op, tamis__codec_buffer *io, bool *done,
                                 tamis_error *err) {
    bzip2 *b = state;
    bz_stream *stream = &b->stream;
    const unsigned input_size = tamis__codec_size(io->in_size), output_size = tamis__codec_size(io->out_size);
    *done = !b->is_open && op != TAMIS__ENCODE_CONTINUE;
    if (*done)
        return TAMIS_OK;
    const tamis_status status = b->is_open ? TAMIS_OK : open_stream(b, err);
    if (status != TAMIS_OK)
        return status;
    stream->next_in = (char *)(uintptr_t)io->in; /* the library only reads it */
    stream->avail_in = input_size;
    stream->next_out = (char *)io->out;
    stream->avail_out = output_size;
    const int result = BZ2_bzCompress(stream, op == TAMIS__ENCODE_CONTINUE ? BZ_RUN : BZ_FINISH);
    tamis__codec_buffer_advance(io, input_size - stream->avail_in, output_size - stream->avail_out);
    *done = op == TAMIS__ENCODE_CONTINUE ? io->in_size == 0 : result == BZ_STREAM_END;
    if (op != TAMIS__ENCODE_CONTINUE && *done)
        end_bzip2(b);
    return TAMIS_OK;
}

const tamis__encoder tamis__encoder_bzip2 = {.level_min = 1,
                                             .level_default = LEVEL_DEFAULT,
                                             .level_max = LEVEL_MAX,
                                             .state_size = sizeof(bzip2),
                                             .output_min = 1,
                                             .begin = begin_bzip2,
                                             .step = encode_bzip2,
                                             .end = end_bzip2};

#else

const tamis__encoder tamis__encoder_bzip2 = {.begin = NULL};

#endif
