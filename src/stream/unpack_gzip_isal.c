/* SPDX-License-Identifier: BSD-2-Clause */

/* ISA-L unpacks some three times as fast as zlib, and checks the same: the head of each member and its sum, where it has
 * one, the deflate stream, CRC-32 and length. */
#include "stream/decoder.h"

#ifdef TAMIS_HAVE_ISAL

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <isa-l/igzip_lib.h>

enum {
    MOST = 1 << 30, /* bytes either way at once: it adds to them in 32 bits */
    FEW = 7,        /* bytes of input of which it takes one code after the other */
    /* Where they stand in a head. */
    METHOD_AT = 2,
    FLAGS_AT = 3,
    DEFLATE = 8,
    FLAGS_RESERVED = 0xe0 /* it passes over them, but what they say may be needed */
};

typedef struct state {
    struct inflate_state inflate;
    struct inflate_state before;  /* this step; of its tmp_out_buffer what is valid */
    struct isal_gzip_header head; /* of this member: it may come in pieces */
    unsigned head_seen;           /* bytes of it, up to those that are looked at here */
    bool has_head;
    const char *why; /* not NULL: what stood before the failure is still given out */
} state;

static tamis__decoded again(tamis__decoder *decoder) {
    state *own = decoder->state;
    isal_inflate_reset(&own->inflate);
    own->head = (struct isal_gzip_header){0};
    own->head_seen = 0;
    own->has_head = false;
    return TAMIS__DECODED_SOME;
}

static tamis__decoded begin(tamis__decoder *decoder) {
    state *own = tamis__lend(&decoder->memory, 1, sizeof *own);
    if (!own)
        return TAMIS__DECODED_NOMEM;
    isal_inflate_init(&own->inflate);
    own->inflate.crc_flag = ISAL_GZIP_NO_HDR_VER; /* the end is its business, the head that of read_head() */
    own->why = NULL;
    decoder->state = own;
    return again(decoder);
}

/* What of its head a member is refused for as soon as it is seen. NULL: well so far. */
static const char *look_at_head(state *own, const unsigned char *in, size_t size) {
    for (size_t i = 0; i < size && own->head_seen <= FLAGS_AT; i++, own->head_seen++) {
        if (own->head_seen == METHOD_AT && in[i] != DEFLATE)
            return "unknown compression method";
        if (own->head_seen == FLAGS_AT && in[i] & FLAGS_RESERVED)
            return "unknown header flags set";
    }
    return NULL;
}

/* isal_inflate reads heads too, but only those that come in one piece. */
static const char *read_head(state *own) {
    const char *why = look_at_head(own, own->inflate.next_in, own->inflate.avail_in);
    if (why)
        return why;
    switch (isal_read_gzip_header(&own->inflate, &own->head)) {
    case ISAL_DECOMP_OK:
        own->has_head = true;
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

/* Where it finds a distance to be wrong, it has in haste counted the bytes as made that were to be copied from there,
 * which are anything. So what fails is done again without haste: it comes as far as before, and no further. */
static const char *inflate(state *own) {
    struct inflate_state *stream = &own->inflate;
    copy_state(&own->before, stream);
    const char *why = inflate_some(own);
    if (!why)
        return NULL;
    copy_state(stream, &own->before);
    uint32_t left = stream->avail_in;
    do {
        stream->avail_in = left < FEW ? left : FEW;
        left -= stream->avail_in;
        why = inflate_some(own);
        left += stream->avail_in;
    } while (!why && left > 0 && stream->avail_out > 0 && stream->block_state != ISAL_BLOCK_FINISH);
    return why;
}

/* What it had unpacked and found no room for. */
static tamis__decoded give_rest(tamis__decoder *decoder, tamis__flow *flow) {
    state *own = decoder->state;
    struct inflate_state *inflate = &own->inflate;
    size_t rest = (size_t)(inflate->tmp_out_valid - inflate->tmp_out_processed);
    size_t some = rest < flow->out_size ? rest : flow->out_size;
    memcpy(flow->out, inflate->tmp_out_buffer + inflate->tmp_out_processed, some);
    inflate->tmp_out_processed += (int32_t)some;
    tamis__flow_take(flow, 0, some);
    decoder->why = own->why;
    return some < rest ? TAMIS__DECODED_SOME : TAMIS__DECODED_DAMAGE;
}

static tamis__decoded step(tamis__decoder *decoder, tamis__flow *flow) {
    state *own = decoder->state;
    struct inflate_state *stream = &own->inflate;
    if (own->why)
        return give_rest(decoder, flow);
    stream->next_in = (uint8_t *)(uintptr_t)flow->in; /* input is only read */
    stream->avail_in = flow->in_size < MOST ? (uint32_t)flow->in_size : MOST;
    stream->next_out = flow->out;
    stream->avail_out = flow->out_size < MOST ? (uint32_t)flow->out_size : MOST;
    if (!own->has_head)
        own->why = read_head(own);
    if (own->has_head && !own->why)
        own->why = inflate(own);
    tamis__flow_take(flow, (size_t)(stream->next_in - flow->in), (size_t)(stream->next_out - flow->out));
    if (own->why)
        return give_rest(decoder, flow);
    return stream->block_state == ISAL_BLOCK_FINISH ? TAMIS__DECODED_MEMBER : TAMIS__DECODED_SOME;
}

static void end(tamis__decoder *decoder) {
    tamis__lend_back(&decoder->memory, decoder->state);
}

const tamis__decoding tamis__decoding_gzip = {begin, again, step, end, TAMIS__PADDING_LAST, "gzip -dc"};

#endif
