/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Decompression of a file: one or more members (frames, streams) of one format, and what that format allows
 * between them.
 *
 *     MAGIC --first bytes of a member--> MEMBER --its end--> MAGIC
 *       |-----skippable frame (zstd, lz4)--> SKIPPED --its end--> MAGIC
 *       '-----zero byte (gzip, xz)--> PADDING, up to the end of the file; in xz also to the next MAGIC
 *
 * Most formats' own programs ignore other bytes after a member, some with a warning. Here they are an error:
 * such bytes cannot be told from a member that was cut off or overwritten.
 *
 * Invariants:
 * U1  in[0..left) holds the bytes that were read and not yet decompressed. A member's magic is examined only
 *     when it is complete. An incomplete magic moves to the front of the buffer, and more is read after it.
 * U2  A decoder is called only if there is input, or if its last step filled the output space. libzstd treats
 *     a call that can do nothing as an error.
 * U3  Bytes decompressed before an error are returned first. The error is kept for the next call.
 */
#include "stream/codec/decompressor.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/system.h"
#include "store/file/file_error.h"
#include "stream/codec/decoder.h"

typedef enum phase { MAGIC, MEMBER, SKIPPED, PADDING } phase;

struct tamis__decompressor {
    tamis__decoder decoder;
    const tamis__decoder_ops *ops; /* NULL before the first member */
    tamis_compression compression; /* NONE before the first member */
    phase phase;
    bool output_pending;         /* the decoder can continue without more input (U2) */
    bool at_eof;                 /* the end of the file was read */
    bool has_ended;              /* no output is left, and the file was complete */
    tamis__decode_result result; /* result of the last step */
    int fd;
    const char *name;
    const uint64_t *records;
    const unsigned char *in;
    size_t left;
    uint64_t bytes_read; /* bytes read from the file */
    uint64_t skip;       /* bytes left of the skippable frame */
    uint64_t zeros;      /* zero bytes of the padding so far */
    unsigned char buffer[TAMIS__DECOMPRESSOR_READ_SIZE];
};

/* ---- magic bytes ---- */

enum { SKIPPABLE = TAMIS_COMPRESSIONS, SKIPPABLE_HEADER_SIZE = 8 /* with the frame's size */ };

/* First bytes of members. Those of bzip2 could be a line of text up to the fourth byte, so the beginning of
 * the first block must match too. */
static const struct magic {
    uint8_t compression;
    uint8_t size;
    uint8_t range_index; /* index of a byte with a range of values: its own and up to `range_size` more */
    uint8_t range_size;
    char bytes[TAMIS_COMPRESSION_MAGIC_MAX + 1];
} magics[] = {
    {.compression = TAMIS_COMPRESSION_GZIP, .size = 2, .bytes = "\x1f\x8b"},
    {.compression = TAMIS_COMPRESSION_ZSTD, .size = 4, .bytes = "\x28\xb5\x2f\xfd"},
    {.compression = TAMIS_COMPRESSION_LZ4, .size = 4, .bytes = "\x04\x22\x4d\x18"},
    {.compression = TAMIS_COMPRESSION_XZ, .size = 6, .bytes = "\3757zXZ"},
    {.compression = TAMIS_COMPRESSION_BZIP2,
     .size = 10,
     .range_index = 3,
     .range_size = 8,
     .bytes = "BZh11AY&SY"},
    {.compression = TAMIS_COMPRESSION_BZIP2,
     .size = 10,
     .range_index = 3,
     .range_size = 8,
     .bytes = "BZh1\x17rE8P\x90"}, /* an empty stream, without a block */
    {.compression = SKIPPABLE, .size = 4, .range_size = 15, .bytes = "\x50\x2a\x4d\x18"},
};

/* Returns how many of the bytes agree with the magic. */
static size_t common_prefix(const struct magic *magic, const uint8_t *bytes, size_t size) {
    size_t matched = 0;
    while (matched < size && matched < magic->size) {
        const uint8_t above = (uint8_t)(bytes[matched] - (uint8_t)magic->bytes[matched]);
        if (above > (matched == magic->range_index ? magic->range_size : 0))
            break;
        matched++;
    }
    return matched;
}

/* Returns the magic that the bytes begin with, or NULL. *undecided: more bytes are needed to be sure. */
static const struct magic *find_magic(const uint8_t *bytes, size_t size, bool *undecided) {
    *undecided = false;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        const size_t same = common_prefix(&magics[i], bytes, size);
        if (same == magics[i].size)
            return &magics[i];
        *undecided = *undecided || same == size;
    }
    return NULL;
}

tamis_compression tamis__compression_detect(const uint8_t *magic, size_t size, bool *undecided) {
    const struct magic *found = find_magic(magic, size, undecided);
    if (!found)
        return TAMIS_COMPRESSION_NONE;
    *undecided = false;
    /* Both zstd and lz4 have skippable frames. The first other frame decides between them. */
    return found->compression == SKIPPABLE ? TAMIS_COMPRESSION_ZSTD : (tamis_compression)found->compression;
}

tamis_compression tamis_compression_of_bytes(const void *bytes, size_t size) {
    bool undecided;
    return tamis__compression_detect(bytes, size, &undecided);
}

/* ---- errors ---- */

typedef struct records_note {
    char text[48];
} records_note;

/* ", after 12 records" */
static records_note records_so_far(const tamis__decompressor *u) {
    records_note note = {""};
    if (u->records)
        snprintf(note.text, sizeof note.text, ", after %" PRIu64 " record%s", *u->records,
                 *u->records == 1 ? "" : "s");
    return note;
}

static const char *compression_name(const tamis__decompressor *u) {
    return tamis_compression_name(u->compression ? u->compression : TAMIS_COMPRESSION_ZSTD);
}

/* Offset in the file up to which everything is decompressed. */
static uint64_t file_offset(const tamis__decompressor *u) {
    return u->bytes_read - u->left;
}

static tamis_status fail_nomem(const tamis__decompressor *u, tamis_error *err) {
    if (u->decoder.memory.refused)
        return tamis__fail_nomem(err, tamis__show(u->name).text, u->decoder.memory.refused);
    return tamis__fail(err, TAMIS_E_NOMEM, ENOMEM, "%s: out of memory to unpack %s data; free memory",
                       tamis__show(u->name).text, compression_name(u));
}

static tamis_status fail_decoder(const tamis__decompressor *u, tamis_error *err) {
    switch (u->result) {
    case TAMIS__DECODE_NOMEM:
        return fail_nomem(u, err);
    case TAMIS__DECODE_UNSUPPORTED:
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: its %s data %s%s; unpack it beforehand, with '%s'", tamis__show(u->name).text,
                           compression_name(u), u->decoder.why, records_so_far(u).text, u->ops->program);
    default:
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: its %s data is damaged before byte %" PRIu64 "%s (%s); get the file again",
                           tamis__show(u->name).text, compression_name(u), file_offset(u),
                           records_so_far(u).text, u->decoder.why);
    }
}

static tamis_status fail_cut(const tamis__decompressor *u, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: cut short%s: its %s data is incomplete after %" PRIu64
                       " bytes; get the file again",
                       tamis__show(u->name).text, records_so_far(u).text, compression_name(u), u->bytes_read);
}

static tamis_status fail_tail(const tamis__decompressor *u, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_DAMAGED, 0,
        "%s: unexpected bytes after the end of its %s data, at byte %" PRIu64 "%s; get the file again",
        tamis__show(u->name).text, compression_name(u), file_offset(u), records_so_far(u).text);
}

static tamis_status fail_not_built(const tamis__decompressor *u, tamis_compression compression,
                                   tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_UNSUPPORTED, 0,
        "%s: is compressed with %s, which this build does not support; decompress it first, with '%s'",
        tamis__show(u->name).text, tamis_compression_name(compression),
        tamis__decoder_ops_find(compression)->program);
}

/* ---- between members ---- */

static void consume(tamis__decompressor *u, size_t size) {
    u->in += size;
    u->left -= size;
}

static tamis_status begin_member(tamis__decompressor *u, tamis_compression compression, tamis_error *err) {
    const tamis__decoder_ops *ops = tamis__decoder_ops_find(compression);
    if (!ops->begin)
        return fail_not_built(u, compression, err);
    u->compression = compression;
    u->result = u->ops ? ops->reset(&u->decoder) : ops->begin(&u->decoder);
    if (u->result != TAMIS__DECODE_MORE)
        return fail_decoder(u, err);
    u->ops = ops;
    u->phase = MEMBER;
    u->output_pending = false;
    return TAMIS_OK;
}

static bool allows_padding(const tamis__decompressor *u) {
    return u->ops && u->ops->padding != TAMIS__PADDING_NONE;
}

static bool allows_skippable(const tamis__decompressor *u) {
    return !u->compression || u->compression == TAMIS_COMPRESSION_ZSTD ||
           u->compression == TAMIS_COMPRESSION_LZ4;
}

/* Examines the next bytes between members; at least one is there. *stuck: more bytes are needed. */
static tamis_status read_magic(tamis__decompressor *u, bool *stuck, tamis_error *err) {
    bool undecided;
    const struct magic *magic = find_magic(u->in, u->left, &undecided);
    if (*u->in == 0 && allows_padding(u)) {
        u->phase = PADDING;
        u->zeros = 0;
        return TAMIS_OK;
    }
    if (!magic) {
        *stuck = undecided;
        return undecided ? TAMIS_OK : fail_tail(u, err);
    }
    if (magic->compression != SKIPPABLE) {
        const bool another = u->compression && magic->compression != u->compression;
        return another ? fail_tail(u, err) : begin_member(u, (tamis_compression)magic->compression, err);
    }
    if (!allows_skippable(u))
        return fail_tail(u, err);
    *stuck = u->left < SKIPPABLE_HEADER_SIZE;
    if (!*stuck) {
        u->skip = tamis__load32le(u->in + 4);
        u->phase = u->skip ? SKIPPED : MAGIC;
        consume(u, SKIPPABLE_HEADER_SIZE);
    }
    return TAMIS_OK;
}

static void skip_frame(tamis__decompressor *u) {
    const size_t skipped = u->left < u->skip ? u->left : (size_t)u->skip;
    consume(u, skipped);
    u->skip -= skipped;
    if (u->skip == 0)
        u->phase = MAGIC;
}

static tamis_status skip_padding(tamis__decompressor *u, tamis_error *err) {
    for (; u->left > 0 && *u->in == 0; u->zeros++)
        consume(u, 1);
    if (u->left == 0)
        return TAMIS_OK;
    if (u->ops->padding != TAMIS__PADDING_ZERO_WORDS || u->zeros % 4 != 0)
        return fail_tail(u, err);
    u->phase = MAGIC;
    return TAMIS_OK;
}

/* Checks that the file may end here. All input that can be consumed has been consumed. */
static tamis_status check_end(const tamis__decompressor *u, tamis_error *err) {
    if (u->phase == PADDING && u->ops->padding == TAMIS__PADDING_ZERO_WORDS && u->zeros % 4 != 0)
        return fail_tail(u, err);
    const bool whole = u->phase == PADDING || (u->phase == MAGIC && u->left == 0);
    return whole ? TAMIS_OK : fail_cut(u, err);
}

/* ---- decompression ---- */

static tamis_status decode_step(tamis__decompressor *u, tamis__codec_buffer *io, bool *stuck,
                                tamis_error *err) {
    const size_t capacity = io->out_size;
    io->in = u->in;
    io->in_size = u->left;
    u->result = u->ops->step(&u->decoder, io);
    /* Without progress it would loop for ever. */
    if (u->result == TAMIS__DECODE_MORE && u->left > 0 && io->in_size == u->left &&
        io->out_size == capacity) {
        u->decoder.why = "it does not go on";
        u->result = TAMIS__DECODE_DAMAGED;
    }
    *stuck = u->result == TAMIS__DECODE_MORE && io->in_size == 0 && io->out_size > 0;
    u->in = io->in;
    u->left = io->in_size;
    u->output_pending = io->out_size == 0;
    if (u->result == TAMIS__DECODE_MEMBER_END)
        u->phase = MAGIC;
    else if (u->result != TAMIS__DECODE_MORE)
        return fail_decoder(u, err);
    return TAMIS_OK;
}

/* Decompresses until the output is full, or more input is needed. */
static tamis_status decode_available(tamis__decompressor *u, tamis__codec_buffer *io, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    bool stuck = false;
    if (u->result > TAMIS__DECODE_MEMBER_END)
        return fail_decoder(u, err);
    while (status == TAMIS_OK && !stuck && io->out_size > 0) {
        if (u->phase == MEMBER && (u->left > 0 || u->output_pending))
            status = decode_step(u, io, &stuck, err);
        else if (u->left == 0)
            break;
        else if (u->phase == MAGIC)
            status = read_magic(u, &stuck, err);
        else if (u->phase == SKIPPED)
            skip_frame(u);
        else
            status = skip_padding(u, err);
    }
    return status;
}

/* Reads more bytes after the unconsumed ones, which move to the front (U1). */
static tamis_status read_more(tamis__decompressor *u, tamis_error *err) {
    memmove(u->buffer, u->in, u->left);
    u->in = u->buffer;
    const ssize_t got = tamis__sys.read(u->fd, u->buffer + u->left, TAMIS__DECOMPRESSOR_READ_SIZE - u->left);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return TAMIS_OK;
    if (got < 0)
        return tamis__fail_file(err, u->name, errno);
    u->at_eof = got == 0;
    u->bytes_read += (uint64_t)got;
    u->left += (size_t)got;
    return TAMIS_OK;
}

tamis_status tamis__decompressor_read(tamis__decompressor *decompressor, bool may_read, void *into,
                                      size_t *size, tamis_error *err) {
    const size_t capacity = *size;
    tamis__codec_buffer io = {.out = into, .out_size = capacity};
    assert(capacity > 0);
    for (bool has_read = !may_read;; has_read = true) {
        tamis_status status = decode_available(decompressor, &io, err);
        if (io.out_size < capacity) { /* U3 */
            *size = capacity - io.out_size;
            return TAMIS_OK;
        }
        if (status == TAMIS_OK && decompressor->at_eof)
            status = check_end(decompressor, err);
        if (status != TAMIS_OK)
            return status;
        if (decompressor->at_eof || has_read) {
            *size = 0;
            decompressor->has_ended = decompressor->at_eof;
            return TAMIS_OK;
        }
        status = read_more(decompressor, err);
        if (status != TAMIS_OK)
            return status;
    }
}

/* ---- create and free ---- */

tamis_status tamis__decompressor_create(tamis__decompressor **decompressor,
                                        const tamis__decompressor_setup *setup, tamis_error *err) {
    tamis__decompressor *made = tamis__alloc(setup->memory, sizeof *made, TAMIS__LINE);
    assert(setup->begun_size <= TAMIS__DECOMPRESSOR_READ_SIZE);
    if (!made)
        return tamis__fail_nomem(err, tamis__show(setup->name).text, sizeof *made);
    made->decoder.memory.from = *setup->memory;
    made->fd = setup->fd;
    made->name = setup->name;
    made->records = setup->records;
    made->in = made->buffer;
    made->left = setup->begun_size;
    made->bytes_read = setup->begun_size;
    if (setup->begun_size > 0)
        memcpy(made->buffer, setup->begun, setup->begun_size);
    *decompressor = made;
    return TAMIS_OK;
}

void tamis__decompressor_free(tamis__decompressor *decompressor) {
    if (!decompressor)
        return;
    const tamis_allocator memory = decompressor->decoder.memory.from;
    if (decompressor->ops)
        decompressor->ops->end(&decompressor->decoder);
    tamis__free(&memory, decompressor, sizeof *decompressor);
}

bool tamis__decompressor_has_ended(const tamis__decompressor *decompressor) {
    return decompressor->has_ended;
}

uint64_t tamis__decompressor_bytes_read(const tamis__decompressor *decompressor) {
    return decompressor->bytes_read;
}
