/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * gzip by Intel ISA-L, which decompresses about three times as fast as zlib (docs/PERFORMANCE.md).
 *
 * It checks the same things: the header of each member with its optional checksum, the deflate stream, the
 * CRC-32 and the length. One difference: zlib refuses an incomplete Huffman code at once, ISA-L only when a
 * missing code occurs.
 *
 * Two things are done here that the library does not do:
 * - Headers are read separately (read_header), because isal_inflate reads only headers that arrive in one
 *   piece. Reserved flags are refused, which ISA-L would ignore.
 * - A step that fails is repeated from a saved state with a few bytes of input at a time (inflate). On a
 *   wrong distance the fast loop has already counted bytes as output that were never written. The slow loop
 *   stops before them.
 */
#include "stream/codec/decoder.h"

#ifdef TAMIS_HAVE_ISAL

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <isa-l/igzip_lib.h>

enum {
    CHUNK_MAX = 1 << 30,  /* largest input or output of a call; ISA-L counts in 32 bits */
    SINGLE_STEP_SIZE = 7, /* input size for which ISA-L decodes one symbol at a time */
    /* Offsets and values in a member's header. */
    METHOD_AT = 2,
    FLAGS_AT = 3,
    DEFLATE = 8,
    FLAGS_RESERVED = 0xe0 /* ISA-L ignores these flags, but a later format may need them */
};

typedef struct state {
    struct inflate_state inflate;
    struct inflate_state before;    /* copy from before this step; its tmp_out_buffer only as far as valid */
    struct isal_gzip_header header; /* header of this member, which may arrive in pieces */
    unsigned header_bytes;          /* bytes of the header examined by check_header */
    bool has_header;
    const char *why; /* error, kept until the bytes before it are returned; NULL: none */
} state;

static tamis__decode_result reset_gzip(tamis__decoder *decoder) {
    state *own = decoder->state;
    isal_inflate_reset(&own->inflate);
    own->header = (struct isal_gzip_header){0};
    own->header_bytes = 0;
    own->has_header = false;
    return TAMIS__DECODE_MORE;
}

static tamis__decode_result begin_gzip(tamis__decoder *decoder) {
    state *own = tamis__codec_alloc(&decoder->memory, 1, sizeof *own);
    if (!own)
        return TAMIS__DECODE_NOMEM;
    isal_inflate_init(&own->inflate);
    /* ISA-L checks the trailer; read_header checks the header. */
    own->inflate.crc_flag = ISAL_GZIP_NO_HDR_VER;
    own->why = NULL;
    decoder->state = own;
    return reset_gzip(decoder);
}

/* Checks method and flags as soon as they arrive. Returns an error, or NULL. */
static const char *check_header(state *own, const unsigned char *in, size_t size) {
    for (size_t i = 0; i < size && own->header_bytes <= FLAGS_AT; i++, own->header_bytes++) {
        if (own->header_bytes == METHOD_AT && in[i] != DEFLATE)
            return "unknown compression method";
        if (own->header_bytes == FLAGS_AT && in[i] & FLAGS_RESERVED)
            return "unknown header flags set";
    }
    return NULL;
}

/* Reads the header, which may arrive in pieces. */
static const char *read_header(state *own) {
    const char *why = check_header(own, own->inflate.next_in, own->inflate.avail_in);
    if (why)
        return why;
    switch (isal_read_gzip_header(&own->inflate, &own->header)) {
    case ISAL_DECOMP_OK:
        own->has_header = true;
        return NULL;
    case ISAL_END_INPUT:
        return NULL;
    case ISAL_INCORRECT_CHECKSUM:
        return "header crc mismatch";
    default:
        return "incorrect header check";
    }
}

static const char *inflate_some(state *own) {
    switch (isal_inflate(&own->inflate)) {
    case ISAL_DECOMP_OK:
        return NULL;
    case ISAL_INVALID_SYMBOL:
        return "invalid code";
    case ISAL_INVALID_LOOKBACK:
        return "invalid distance too far back";
    case ISAL_INCORRECT_CHECKSUM:
        return "incorrect data check"; /* or length */
    default:
        return "invalid block";
    }
}

static void copy_state(struct inflate_state *to, const struct inflate_state *from) {
    memcpy(to, from, offsetof(struct inflate_state, tmp_out_buffer) + (size_t)from->tmp_out_valid);
}

/* Decompresses. A failed step is repeated from its beginning with little input at a time, so that only bytes
 * that were really decoded count as output. */
static const char *inflate(state *own) {
    struct inflate_state *stream = &own->inflate;
    copy_state(&own->before, stream);
    const char *why = inflate_some(own);
    if (!why)
        return NULL;
    copy_state(stream, &own->before);
    uint32_t left = stream->avail_in;
    do {
        stream->avail_in = left < SINGLE_STEP_SIZE ? left : SINGLE_STEP_SIZE;
        left -= stream->avail_in;
        why = inflate_some(own);
        left += stream->avail_in;
    } while (!why && left > 0 && stream->avail_out > 0 && stream->block_state != ISAL_BLOCK_FINISH);
    return why;
}

/* Returns decompressed bytes that had no output space before the error. */
static tamis__decode_result give_rest(tamis__decoder *decoder, tamis__codec_buffer *io) {
    state *own = decoder->state;
    struct inflate_state *inflate = &own->inflate;
    const size_t rest = (size_t)(inflate->tmp_out_valid - inflate->tmp_out_processed);
    const size_t piece = rest < io->out_size ? rest : io->out_size;
    memcpy(io->out, inflate->tmp_out_buffer + inflate->tmp_out_processed, piece);
    inflate->tmp_out_processed += (int32_t)piece;
    tamis__codec_buffer_advance(io, 0, piece);
    decoder->why = own->why;
    return piece < rest ? TAMIS__DECODE_MORE : TAMIS__DECODE_DAMAGED;
}

static tamis__decode_result decode_gzip(tamis__decoder *decoder, tamis__codec_buffer *io) {
    state *own = decoder->state;
    struct inflate_state *stream = &own->inflate;
    if (own->why)
        return give_rest(decoder, io);
    stream->next_in = (uint8_t *)(uintptr_t)io->in; /* the library only reads it */
    stream->avail_in = io->in_size < CHUNK_MAX ? (uint32_t)io->in_size : CHUNK_MAX;
    stream->next_out = io->out;
    stream->avail_out = io->out_size < CHUNK_MAX ? (uint32_t)io->out_size : CHUNK_MAX;
    if (!own->has_header)
        own->why = read_header(own);
    if (own->has_header && !own->why)
        own->why = inflate(own);
    tamis__codec_buffer_advance(io, (size_t)(stream->next_in - io->in), (size_t)(stream->next_out - io->out));
    if (own->why)
        return give_rest(decoder, io);
    return stream->block_state == ISAL_BLOCK_FINISH ? TAMIS__DECODE_MEMBER_END : TAMIS__DECODE_MORE;
}

static void end_gzip(tamis__decoder *decoder) {
    tamis__codec_free(&decoder->memory, decoder->state);
}

const tamis__decoder_ops tamis__decoder_gzip = {.begin = begin_gzip,
                                                .reset = reset_gzip,
                                                .step = decode_gzip,
                                                .end = end_gzip,
                                                .padding = TAMIS__PADDING_ZEROS,
                                                .program = "gzip -dc"};

#endif
