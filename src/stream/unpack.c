/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A gzip file: one member or more, and then, where a tape or a block device was used, zeros.
 *
 *     MEMBER --its end--> BETWEEN --1f--> MEMBER
 *                            |-----0----> PADDING, up to the end of the file
 *
 * zlib checks the head of each member, its deflate stream, CRC-32 and length. gzip(1) passes over anything else behind
 * a member with a warning; here it is an error, for what was cut off or overwritten is not told from it.
 */
#include "stream/unpack.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>

#include "base/system.h"
#include "store/trouble.h"
#include "stream/zlib_memory.h"

enum {
    READ = 64 << 10,
    GZIP_FIRST = 0x1f,
    GZIP_SECOND = 0x8b,
    GZIP_WINDOW = MAX_WBITS + 16 /* zlib's way to say: with the head and end of gzip */
};

typedef enum place { MEMBER, BETWEEN, PADDING } place;

struct tamis__unpack {
    z_stream stream;
    tamis__zlib_memory memory;
    place place;
    int fd;
    bool at_end; /* of the file */
    const char *name;
    uint64_t taken; /* bytes read from the file */
    unsigned char buffer[READ];
};

tamis_packing tamis__packing_of(const uint8_t *head, size_t size) {
    bool gzip = size >= TAMIS__UNPACK_HEAD && head[0] == GZIP_FIRST && head[1] == GZIP_SECOND;
    return gzip ? TAMIS_PACKING_GZIP : TAMIS_PACKING_NONE;
}

tamis_status tamis__unpack_create(tamis__unpack **unpack, int fd, const char *name,
                                  const tamis_allocator *memory, tamis_error *err) {
    tamis__unpack *made = tamis__alloc(memory, sizeof *made, TAMIS__LINE);
    if (!made)
        return tamis__fail_nomem(err, tamis__show(name).text, sizeof *made);
    made->memory.from = *memory;
    made->fd = fd;
    made->name = name;
    tamis__zlib_memory_set(&made->stream, &made->memory);
    if (inflateInit2(&made->stream, GZIP_WINDOW) != Z_OK) { /* of a zlib that we were built with: memory */
        tamis_status status = tamis__fail_nomem(err, tamis__show(name).text, made->memory.refused);
        tamis__free(memory, made, sizeof *made);
        return status;
    }
    *unpack = made;
    return TAMIS_OK;
}

void tamis__unpack_free(tamis__unpack *unpack) {
    if (!unpack)
        return;
    const tamis_allocator memory = unpack->memory.from;
    inflateEnd(&unpack->stream);
    tamis__free(&memory, unpack, sizeof *unpack);
}

/* ---- what is wrong ---- */

/* Of the file, unpacked so far. */
static uint64_t place_in_file(const tamis__unpack *u) {
    return u->taken - u->stream.avail_in;
}

static tamis_status fail_inflate(const tamis__unpack *u, int result, tamis_error *err) {
    if (result == Z_MEM_ERROR)
        return tamis__fail_nomem(err, tamis__show(u->name).text, u->memory.refused);
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: its gzip data is damaged before byte %" PRIu64 " (%s); have it written anew",
                       tamis__show(u->name).text, place_in_file(u),
                       u->stream.msg ? u->stream.msg : "it needs a dictionary");
}

static tamis_status fail_cut(const tamis__unpack *u, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: cut short, its gzip data goes on after the %" PRIu64
                       " bytes there are; have it written anew",
                       tamis__show(u->name).text, u->taken);
}

static tamis_status fail_tail(const tamis__unpack *u, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: at byte %" PRIu64
                       ", behind its gzip data, stands what is none; have it written anew",
                       tamis__show(u->name).text, place_in_file(u));
}

/* ---- unpacking ---- */

/* What stands behind a member; there is at least one byte. */
static tamis_status go_on(tamis__unpack *u, tamis_error *err) {
    z_stream *stream = &u->stream;
    if (u->place == BETWEEN && *stream->next_in == GZIP_FIRST) {
        inflateReset(stream);
        u->place = MEMBER;
        return TAMIS_OK;
    }
    u->place = PADDING;
    while (stream->avail_in > 0 && *stream->next_in == 0) {
        stream->next_in++;
        stream->avail_in--;
    }
    return stream->avail_in == 0 ? TAMIS_OK : fail_tail(u, err);
}

/* Unpacks until there is no room, or nothing left of what was read. */
static tamis_status advance(tamis__unpack *u, tamis_error *err) {
    z_stream *stream = &u->stream;
    while (stream->avail_out > 0) {
        if (u->place == MEMBER) {
            int result = inflate(stream, Z_NO_FLUSH);
            if (result == Z_STREAM_END)
                u->place = BETWEEN;
            else if (result == Z_BUF_ERROR) /* could do nothing */
                break;
            else if (result != Z_OK)
                return fail_inflate(u, result, err);
        } else if (stream->avail_in > 0) {
            tamis_status status = go_on(u, err);
            if (status != TAMIS_OK)
                return status;
        } else {
            break;
        }
    }
    return TAMIS_OK;
}

static tamis_status read_more(tamis__unpack *u, tamis_error *err) {
    ssize_t got = tamis__sys.read(u->fd, u->buffer, READ);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return TAMIS_OK;
    if (got < 0)
        return tamis__fail_file(err, u->name, errno);
    u->at_end = got == 0;
    u->taken += (uint64_t)got;
    u->stream.next_in = u->buffer;
    u->stream.avail_in = (uInt)got;
    return TAMIS_OK;
}

tamis_status tamis__unpack_next(tamis__unpack *unpack, void *into, size_t room, size_t *size,
                                tamis__unpack_event *event, tamis_error *err) {
    z_stream *stream = &unpack->stream;
    const uInt most = room < UINT_MAX ? (uInt)room : UINT_MAX;
    assert(room > 0);
    stream->next_out = into;
    stream->avail_out = most;
    for (bool has_read = false;; has_read = true) {
        tamis_status status = advance(unpack, err);
        *size = most - stream->avail_out;
        *event = TAMIS__UNPACK_BYTES;
        if (*size > 0) /* an error comes again with the next call */
            return TAMIS_OK;
        if (status != TAMIS_OK)
            return status;
        if (unpack->at_end && unpack->place == MEMBER)
            return fail_cut(unpack, err);
        *event = unpack->at_end ? TAMIS__UNPACK_END : TAMIS__UNPACK_NOT_NOW;
        if (unpack->at_end || has_read)
            return TAMIS_OK;
        status = read_more(unpack, err);
        if (status != TAMIS_OK)
            return status;
    }
}
