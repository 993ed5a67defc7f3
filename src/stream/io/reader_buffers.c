/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The buffers of a reader: where its bytes are read to, and what its batches are views into.
 *
 *     0            start          scan            end             limit
 *     | handed out | unfinished record            | free          |
 *                  |  no terminator | not searched|
 *
 * A reader has one buffer more than batches that may be in use, so one without views always exists.
 *
 * R2  When the buffer is full, the unfinished record moves to the front. If batches have views into the
 *     buffer, it moves to another buffer. Only a part of one record moves, so each byte moves at most twice
 *     for each record. If the record fills the whole buffer, the size doubles. `limit` is the same whichever
 *     buffer is used, so that reads and batches do not depend on which are free.
 *
 * A buffer that grew for a long record is freed when it is empty; so are all that nobody uses while the
 * reader rests.
 */
#include "stream/io/reader_int.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "store/file/file_error.h"

static const size_t KEPT_MAX = (size_t)16 << 20; /* largest buffer that is kept when it is empty */
static const size_t OUT_MAX = (size_t)64 << 20;  /* largest total size of enlarged buffers with views */

/* Gives the buffer a new block of `capacity` bytes (0: none). Its content is lost. */
static bool set_buffer(tamis__reader *reader, tamis__read_buffer *buffer, size_t capacity) {
    tamis__free(&reader->memory, buffer->bytes, buffer->capacity);
    *buffer = (tamis__read_buffer){.capacity = capacity};
    buffer->bytes = capacity ? tamis__alloc(&reader->memory, capacity, TAMIS__LINE) : NULL;
    return buffer->bytes != NULL;
}

/* One buffer for each batch in use, and one to read into. */
static size_t buffer_count(const tamis__reader *reader) {
    return reader->setup.batches + 1;
}

tamis_status tamis__reader_init_buffers(tamis__reader *reader, tamis_error *err) {
    const size_t size = buffer_count(reader) * sizeof *reader->buffers;
    reader->buffers = tamis__alloc(&reader->memory, size, TAMIS__LINE);
    if (!reader->buffers)
        return tamis__fail_nomem(err, "read buffers", size);
    reader->into = reader->buffers;
    reader->limit = reader->setup.read_size;
    if (!set_buffer(reader, reader->into, reader->limit))
        return tamis__fail_nomem(err, "read buffer", reader->limit);
    return TAMIS_OK;
}

void tamis__reader_release_buffers(tamis__reader *reader) {
    for (size_t i = 0; reader->buffers && i < buffer_count(reader); i++)
        set_buffer(reader, &reader->buffers[i], 0);
    tamis__free(&reader->memory, reader->buffers, buffer_count(reader) * sizeof *reader->buffers);
}

void tamis__reader_free_unused(tamis__reader *reader) {
    reader->frees_unused = true;
    for (size_t i = 0; i < buffer_count(reader); i++) {
        tamis__read_buffer *buffer = &reader->buffers[i];
        const bool is_needed = buffer->batches > 0 || (buffer == reader->into && reader->end > reader->start);
        if (buffer->bytes && !is_needed)
            set_buffer(reader, buffer, 0);
    }
    if (!reader->into->bytes)
        reader->start = reader->scan = reader->end = 0;
}

void tamis__reader_give_back(tamis__reader *reader, const tamis__record_batch *batch) {
    tamis__read_buffer *buffer = batch->buffer;
    if (--buffer->batches > 0)
        return;
    if (reader->frees_unused)
        tamis__reader_free_unused(reader);
    else if (buffer != reader->into && buffer->capacity > KEPT_MAX)
        set_buffer(reader, buffer, 0);
}

bool tamis__reader_is_full(const tamis__reader *reader, const tamis__read_buffer *waiting) {
    size_t out = 0;
    for (size_t i = 0; i < buffer_count(reader); i++) {
        const tamis__read_buffer *buffer = &reader->buffers[i];
        if (buffer->batches > (buffer == waiting) && buffer->capacity > reader->setup.read_size)
            out += buffer->capacity;
    }
    return out > OUT_MAX;
}

static tamis_status fail_memory(const tamis__reader *reader, size_t refused, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_NOMEM, ENOMEM,
                       "%s: out of memory for record %" PRIu64 ", at byte %" PRIu64
                       ", %zu bytes were refused; free memory, or limit the length of records",
                       tamis__show(reader->name).text, reader->file_records + 1, reader->file_offset,
                       refused);
}

static tamis_status grow_buffer(tamis__reader *reader, tamis_error *err) {
    tamis__read_buffer *into = reader->into;
    size_t limit = reader->limit > SIZE_MAX / 2 ? SIZE_MAX : reader->limit * 2;
    /* One byte more than the longest record: enough to see its terminator, or that it is too long. */
    const uint64_t max = reader->setup.max_record < TAMIS_COMPRESSION_MAGIC_MAX ? TAMIS_COMPRESSION_MAGIC_MAX
                                                                                : reader->setup.max_record;
    if (max < SIZE_MAX && limit > max + 1)
        limit = (size_t)max + 1;
    if (limit > into->capacity) {
        unsigned char *bytes = tamis__alloc(&reader->memory, limit, TAMIS__LINE);
        if (!bytes)
            return fail_memory(reader, limit, err);
        memcpy(bytes, into->bytes, reader->end);
        tamis__free(&reader->memory, into->bytes, into->capacity);
        *into = (tamis__read_buffer){bytes, limit, 0};
    }
    reader->limit = limit;
    return TAMIS_OK;
}

/* Returns another buffer of at least `limit` bytes without views; one always exists. NULL: out of memory. */
static tamis__read_buffer *other_buffer(tamis__reader *reader, size_t limit) {
    tamis__read_buffer *to = reader->buffers;
    while (to == reader->into || to->batches > 0)
        to++;
    return to->capacity >= limit || set_buffer(reader, to, limit) ? to : NULL;
}

/* True if a large buffer should be given up although no batch has views into it. */
static bool is_outsized(const tamis__reader *reader, size_t left) {
    return reader->into->capacity > KEPT_MAX && reader->setup.batches > 1 && left < reader->setup.read_size;
}

/* Moves the unread bytes to the front of the buffer, or of another one if batches have views into this one
 * (R2). */
static tamis_status move_unread(tamis__reader *reader, tamis_error *err) {
    tamis__read_buffer *from = reader->into, *to = from;
    const size_t left = reader->end - reader->start;
    const size_t limit = left < reader->setup.read_size ? reader->setup.read_size : reader->limit;
    if (from->batches > 0 || is_outsized(reader, left))
        to = other_buffer(reader, limit);
    if (!to)
        return fail_memory(reader, limit, err);
    memmove(to->bytes, from->bytes + reader->start, left);
    reader->into = to;
    reader->limit = limit;
    reader->scan -= reader->start;
    reader->start = 0;
    reader->end = left;
    if (to != from && from->batches == 0 && from->capacity > KEPT_MAX)
        set_buffer(reader, from, 0);
    return TAMIS_OK;
}

tamis_status tamis__reader_free_space(tamis__reader *reader, tamis_error *err) {
    reader->frees_unused = false;
    if (!reader->into->bytes && !set_buffer(reader, reader->into, reader->setup.read_size))
        return fail_memory(reader, reader->setup.read_size, err);
    if (reader->into->capacity < reader->limit)
        reader->limit = reader->into->capacity;
    if (reader->limit - reader->end > reader->limit / 4)
        return TAMIS_OK;
    if (reader->start > 0)
        return move_unread(reader, err);
    return reader->end < reader->limit ? TAMIS_OK : grow_buffer(reader, err);
}
