/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Decompression of a file: one or more members (frames, streams) of one format, and what that format allows
 * between them.
 *
 *     HEAD --first bytes of a member--> MEMBER --its end--> HEAD
 *      |-----skippable frame (zstd, lz4)--> SKIPPED --its end--> HEAD
 *      '-----zero byte (gzip, xz)--> PADDING, up to the end of the file; in xz also to the next HEAD
 *
 * Most formats' own programs ignore other bytes after a member, some with a warning. Here they are an error:
 * such bytes cannot be told from a member that was cut off or overwritten.
 *
 * Invariants:
 * U1  in[0..left) holds the bytes that were read and not yet decompressed. A member's head is examined only
 *     when it is complete. An incomplete head moves to the front of the buffer, and more is read after it.
 * U2  A decoder is called only if there is input, or if its last step filled the output space. libzstd treats
 *     a call that can do nothing as an error.
 * U3  Bytes decompressed before an error are returned first. The error is kept for the next call.
 */
#include "stream/unpack.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/system.h"
#include "store/trouble.h"
#include "stream/decoder.h"

typedef enum place { HEAD, MEMBER, SKIPPED, PADDING } place;

struct tamis__unpack {
    tamis__decoder decoder;
    const tamis__decoding *decoding; /* NULL before the first member */
    tamis_packing packing;           /* NONE before the first member */
    place place;
    bool has_more;         /* the decoder can continue without more input (U2) */
    bool at_end;           /* the end of the file was read */
    tamis__decoded result; /* result of the last step */
    int fd;
    const char *name;
    const uint64_t *records;
    const unsigned char *in;
    size_t left;
    uint64_t taken; /* bytes read from the file */
    uint64_t skip;  /* bytes left of the skippable frame */
    uint64_t zeros; /* zero bytes of the padding so far */
    unsigned char buffer[TAMIS__UNPACK_READ];
};

/* ---- heads ---- */

enum { SKIPPABLE = TAMIS_PACKINGS, SKIPPABLE_HEAD = 8 /* with the frame's size */ };

/* First bytes of members. Those of bzip2 could be a line of text up to the fourth byte, so the beginning of
 * the first block must match too. */
static const struct head {
    uint8_t packing;
    uint8_t size;
    uint8_t at_will; /* index of a byte with a range of values: its own and up to `span` more */
    uint8_t span;
    char bytes[TAMIS__UNPACK_HEAD + 1];
} heads[] = {
    {TAMIS_PACKING_GZIP, 2, 0, 0, "\x1f\x8b"},
    {TAMIS_PACKING_ZSTD, 4, 0, 0, "\x28\xb5\x2f\xfd"},
    {TAMIS_PACKING_LZ4, 4, 0, 0, "\x04\x22\x4d\x18"},
    {TAMIS_PACKING_XZ, 6, 0, 0, "\3757zXZ"},
    {TAMIS_PACKING_BZIP2, 10, 3, 8, "BZh11AY&SY"},
    {TAMIS_PACKING_BZIP2, 10, 3, 8, "BZh1\x17rE8P\x90"}, /* an empty stream, without a block */
    {SKIPPABLE, 4, 0, 15, "\x50\x2a\x4d\x18"},
};

/* Returns how many of the bytes agree with the head. */
static size_t agreeing(const struct head *head, const uint8_t *bytes, size_t size) {
    size_t at = 0;
    while (at < size && at < head->size) {
        uint8_t above = (uint8_t)(bytes[at] - (uint8_t)head->bytes[at]);
        if (above > (at == head->at_will ? head->span : 0))
            break;
        at++;
    }
    return at;
}

/* Returns the head that the bytes begin with, or NULL. */
static const struct head *head_of(const uint8_t *bytes, size_t size, bool *undecided) {
    *undecided = false;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        size_t same = agreeing(&heads[i], bytes, size);
        if (same == heads[i].size)
            return &heads[i];
        *undecided = *undecided || same == size;
    }
    return NULL;
}

tamis_packing tamis__packing_of(const uint8_t *head, size_t size, bool *undecided) {
    const struct head *found = head_of(head, size, undecided);
    if (!found)
        return TAMIS_PACKING_NONE;
    *undecided = false;
    /* Both zstd and lz4 have skippable frames. The first other frame decides between them. */
    return found->packing == SKIPPABLE ? TAMIS_PACKING_ZSTD : (tamis_packing)found->packing;
}

/* ---- errors ---- */

typedef struct so_far {
    char text[48];
} so_far;

/* ", after 12 records" */
static so_far told(const tamis__unpack *u) {
    so_far so = {""};
    if (u->records)
        snprintf(so.text, sizeof so.text, ", after %" PRIu64 " record%s", *u->records,
                 *u->records == 1 ? "" : "s");
    return so;
}

static const char *packing_name(const tamis__unpack *u) {
    return tamis_packing_name(u->packing ? u->packing : TAMIS_PACKING_ZSTD);
}

/* Offset in the file up to which everything is decompressed. */
static uint64_t place_in_file(const tamis__unpack *u) {
    return u->taken - u->left;
}

static tamis_status fail_nomem(const tamis__unpack *u, tamis_error *err) {
    if (u->decoder.memory.refused)
        return tamis__fail_nomem(err, tamis__show(u->name).text, u->decoder.memory.refused);
    return tamis__fail(err, TAMIS_E_NOMEM, ENOMEM, "%s: out of memory to unpack %s data; free memory",
                       tamis__show(u->name).text, packing_name(u));
}

static tamis_status fail_decoder(const tamis__unpack *u, tamis_error *err) {
    switch (u->result) {
    case TAMIS__DECODED_NOMEM:
        return fail_nomem(u, err);
    case TAMIS__DECODED_NOT_HERE:
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: its %s data %s%s; unpack it beforehand, with '%s'", tamis__show(u->name).text,
                           packing_name(u), u->decoder.why, told(u).text, u->decoding->program);
    default:
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: its %s data is damaged before byte %" PRIu64 "%s (%s); have it written anew",
                           tamis__show(u->name).text, packing_name(u), place_in_file(u), told(u).text,
                           u->decoder.why);
    }
}

static tamis_status fail_cut(const tamis__unpack *u, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: cut short%s, its %s data goes on after the %" PRIu64
                       " bytes there are; have it written anew",
                       tamis__show(u->name).text, told(u).text, packing_name(u), u->taken);
}

static tamis_status fail_tail(const tamis__unpack *u, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: at byte %" PRIu64
                       ", behind its %s data%s, stands what is none; have it written anew",
                       tamis__show(u->name).text, place_in_file(u), packing_name(u), told(u).text);
}

static tamis_status fail_not_built(const tamis__unpack *u, tamis_packing packing, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "%s: is packed with %s, which this build is without; unpack it beforehand, with '%s'",
                       tamis__show(u->name).text, tamis_packing_name(packing),
                       tamis__decoding_of(packing)->program);
}

/* ---- between members ---- */

static void take_in(tamis__unpack *u, size_t size) {
    u->in += size;
    u->left -= size;
}

static tamis_status begin_member(tamis__unpack *u, tamis_packing packing, tamis_error *err) {
    const tamis__decoding *decoding = tamis__decoding_of(packing);
    if (!decoding->begin)
        return fail_not_built(u, packing, err);
    u->packing = packing;
    u->result = u->decoding ? decoding->again(&u->decoder) : decoding->begin(&u->decoder);
    if (u->result != TAMIS__DECODED_SOME)
        return fail_decoder(u, err);
    u->decoding = decoding;
    u->place = MEMBER;
    u->has_more = false;
    return TAMIS_OK;
}

static bool may_be_padded(const tamis__unpack *u) {
    return u->decoding && u->decoding->padding != TAMIS__PADDING_NONE;
}

static bool may_skip(const tamis__unpack *u) {
    return !u->packing || u->packing == TAMIS_PACKING_ZSTD || u->packing == TAMIS_PACKING_LZ4;
}

/* Examines the next bytes between members; at least one is there. *stuck: more bytes are needed. */
static tamis_status take_head(tamis__unpack *u, bool *stuck, tamis_error *err) {
    bool undecided;
    const struct head *head = head_of(u->in, u->left, &undecided);
    if (*u->in == 0 && may_be_padded(u)) {
        u->place = PADDING;
        u->zeros = 0;
        return TAMIS_OK;
    }
    if (!head) {
        *stuck = undecided;
        return undecided ? TAMIS_OK : fail_tail(u, err);
    }
    if (head->packing != SKIPPABLE) {
        bool another = u->packing && head->packing != u->packing;
        return another ? fail_tail(u, err) : begin_member(u, (tamis_packing)head->packing, err);
    }
    if (!may_skip(u))
        return fail_tail(u, err);
    *stuck = u->left < SKIPPABLE_HEAD;
    if (!*stuck) {
        u->skip = tamis__load32le(u->in + 4);
        u->place = u->skip ? SKIPPED : HEAD;
        take_in(u, SKIPPABLE_HEAD);
    }
    return TAMIS_OK;
}

static void take_skipped(tamis__unpack *u) {
    size_t some = u->left < u->skip ? u->left : (size_t)u->skip;
    take_in(u, some);
    u->skip -= some;
    if (u->skip == 0)
        u->place = HEAD;
}

static tamis_status take_padding(tamis__unpack *u, tamis_error *err) {
    for (; u->left > 0 && *u->in == 0; u->zeros++)
        take_in(u, 1);
    if (u->left == 0)
        return TAMIS_OK;
    if (u->decoding->padding != TAMIS__PADDING_FOURS || u->zeros % 4 != 0)
        return fail_tail(u, err);
    u->place = HEAD;
    return TAMIS_OK;
}

/* Checks that the file may end here. All input that can be consumed has been consumed. */
static tamis_status check_end(const tamis__unpack *u, tamis_error *err) {
    if (u->place == PADDING && u->decoding->padding == TAMIS__PADDING_FOURS && u->zeros % 4 != 0)
        return fail_tail(u, err);
    bool whole = u->place == PADDING || (u->place == HEAD && u->left == 0);
    return whole ? TAMIS_OK : fail_cut(u, err);
}

/* ---- decompression ---- */

static tamis_status step(tamis__unpack *u, tamis__flow *flow, bool *stuck, tamis_error *err) {
    const size_t room = flow->out_size;
    flow->in = u->in;
    flow->in_size = u->left;
    u->result = u->decoding->step(&u->decoder, flow);
    if (u->result == TAMIS__DECODED_SOME && u->left > 0 && flow->in_size == u->left &&
        flow->out_size == room) { /* no progress: it would loop for ever */
        u->decoder.why = "it does not go on";
        u->result = TAMIS__DECODED_DAMAGE;
    }
    *stuck = u->result == TAMIS__DECODED_SOME && flow->in_size == 0 && flow->out_size > 0;
    u->in = flow->in;
    u->left = flow->in_size;
    u->has_more = flow->out_size == 0;
    if (u->result == TAMIS__DECODED_MEMBER)
        u->place = HEAD;
    else if (u->result != TAMIS__DECODED_SOME)
        return fail_decoder(u, err);
    return TAMIS_OK;
}

/* Decompresses until the output is full, or more input is needed. */
static tamis_status advance(tamis__unpack *u, tamis__flow *flow, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    bool stuck = false;
    if (u->result > TAMIS__DECODED_MEMBER)
        return fail_decoder(u, err);
    while (status == TAMIS_OK && !stuck && flow->out_size > 0) {
        if (u->place == MEMBER && (u->left > 0 || u->has_more))
            status = step(u, flow, &stuck, err);
        else if (u->left == 0)
            break;
        else if (u->place == HEAD)
            status = take_head(u, &stuck, err);
        else if (u->place == SKIPPED)
            take_skipped(u);
        else
            status = take_padding(u, err);
    }
    return status;
}

/* Reads more bytes after the unconsumed ones, which move to the front (U1). */
static tamis_status read_more(tamis__unpack *u, tamis_error *err) {
    memmove(u->buffer, u->in, u->left);
    u->in = u->buffer;
    ssize_t got = tamis__sys.read(u->fd, u->buffer + u->left, TAMIS__UNPACK_READ - u->left);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return TAMIS_OK;
    if (got < 0)
        return tamis__fail_file(err, u->name, errno);
    u->at_end = got == 0;
    u->taken += (uint64_t)got;
    u->left += (size_t)got;
    return TAMIS_OK;
}

tamis_status tamis__unpack_next(tamis__unpack *unpack, bool may_read, void *into, size_t room, size_t *size,
                                tamis__unpack_event *event, tamis_error *err) {
    tamis__flow flow = {.out = into, .out_size = room};
    assert(room > 0);
    for (bool has_read = !may_read;; has_read = true) {
        tamis_status status = advance(unpack, &flow, err);
        if (flow.out_size < room) { /* U3 */
            *size = room - flow.out_size;
            *event = TAMIS__UNPACK_BYTES;
            return TAMIS_OK;
        }
        if (status == TAMIS_OK && unpack->at_end)
            status = check_end(unpack, err);
        if (status != TAMIS_OK)
            return status;
        if (unpack->at_end || has_read) {
            *size = 0;
            *event = unpack->at_end ? TAMIS__UNPACK_END : TAMIS__UNPACK_NOT_NOW;
            return TAMIS_OK;
        }
        status = read_more(unpack, err);
        if (status != TAMIS_OK)
            return status;
    }
}

/* ---- create and free ---- */

tamis_status tamis__unpack_create(tamis__unpack **unpack, const tamis__unpack_setup *setup,
                                  tamis_error *err) {
    tamis__unpack *made = tamis__alloc(setup->memory, sizeof *made, TAMIS__LINE);
    assert(setup->begun_size <= TAMIS__UNPACK_READ);
    if (!made)
        return tamis__fail_nomem(err, tamis__show(setup->name).text, sizeof *made);
    made->decoder.memory.from = *setup->memory;
    made->fd = setup->fd;
    made->name = setup->name;
    made->records = setup->records;
    made->in = made->buffer;
    made->left = setup->begun_size;
    made->taken = setup->begun_size;
    if (setup->begun_size > 0)
        memcpy(made->buffer, setup->begun, setup->begun_size);
    *unpack = made;
    return TAMIS_OK;
}

void tamis__unpack_free(tamis__unpack *unpack) {
    if (!unpack)
        return;
    const tamis_allocator memory = unpack->decoder.memory.from;
    if (unpack->decoding)
        unpack->decoding->end(&unpack->decoder);
    tamis__free(&memory, unpack, sizeof *unpack);
}

uint64_t tamis__unpack_taken(const tamis__unpack *unpack) {
    return unpack->taken;
}
