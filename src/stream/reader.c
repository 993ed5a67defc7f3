/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The read buffer:
 *
 *     0            start          scan            end             room
 *     | handed out | begin of a record            | free          |
 *                  |  no terminator | not looked  |
 *
 * R1  A record never spans two inputs: at the end of one, what is left is its last record.
 * R2  Where the room is used up, what is left moves to the front, or where batches are out that are views into the buffer,
 *     to the front of another one. It is less than a record, so every byte moves at most twice a record; and where it
 *     fills the room, that doubles. What is read at once, and so where batches end, is the same whichever buffers are
 *     free: a buffer may have more than the room.
 * R3  `scan` keeps what was looked at: finding the end of a record is linear in it, however many reads
 *     it takes.
 * R4  An input that may block is read only after poll said so. That is also what makes an inherited
 *     blocking pipe and a FIFO whose writer has not come (opened without waiting for one: a read of it
 *     would look like its end) the same case.
 * R5  A file that is followed is left only after a read that found its end and came after another file
 *     with something in it was seen to have its name: what was appended before that is not missed.
 * R6  Plain inputs are read into the buffer. A packed one shows at its first bytes, before any record is taken: they are
 *     given to who unpacks it, and the buffer gets what is in it.
 * R7  Who begins within an input (setup.from) begins as all do, since its first bytes tell what it is packed in, and then
 *     passes over what is in front: in a plain file by a seek, in a packed one by unpacking it.
 */
#include "stream/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/place.h"
#include "store/trouble.h"
#include "stream/bom.h"
#include "stream/clock.h"
#include "stream/ends.h"
#include "stream/split.h"
#include "stream/unpack.h"

/* The largest that is kept when what is in it is drained, and the most that is out at once. */
static const size_t KEPT_MOST = (size_t)16 << 20, OUT_MOST = (size_t)64 << 20;

/* Gives the buffer that many bytes, 0: none, whatever it had. */
static bool set_buffer(tamis__reader *reader, tamis__read_buffer *buffer, size_t capacity) {
    tamis__free(&reader->memory, buffer->bytes, buffer->capacity);
    *buffer = (tamis__read_buffer){.capacity = capacity};
    buffer->bytes = capacity ? tamis__alloc(&reader->memory, capacity, TAMIS__LINE) : NULL;
    return buffer->bytes != NULL;
}

/* One for each batch that is handed out at once, and one to read into that no batch is a view into. */
static size_t buffer_count(const tamis__reader *reader) {
    return reader->setup.batches + 1;
}

tamis_status tamis__reader_init(tamis__reader *reader, const tamis__reader_setup *setup, tamis__watch *watch,
                                const tamis_allocator *memory, tamis_error *err) {
    memset(reader, 0, sizeof *reader);
    reader->setup = *setup;
    reader->watch = watch;
    reader->memory = *memory;
    reader->fd = -1;
    const size_t size = buffer_count(reader) * sizeof *reader->buffers;
    reader->buffers = tamis__alloc(memory, size, TAMIS__LINE);
    if (!reader->buffers)
        return tamis__fail_nomem(err, "read buffers", size);
    reader->into = reader->buffers;
    reader->room = setup->read_size;
    if (!set_buffer(reader, reader->into, reader->room))
        return tamis__fail_nomem(err, "read buffer", reader->room);
    return TAMIS_OK;
}

static void close_input(tamis__reader *reader) {
    tamis__unpack_free(reader->unpack);
    reader->unpack = NULL;
    if (reader->fd >= 0 && !reader->borrowed)
        tamis__sys.close(reader->fd); /* nothing was written: nothing can be lost */
    reader->fd = -1;
}

void tamis__reader_release(tamis__reader *reader) {
    close_input(reader);
    for (size_t i = 0; reader->buffers && i < buffer_count(reader); i++)
        set_buffer(reader, &reader->buffers[i], 0);
    tamis__free(&reader->memory, reader->buffers, buffer_count(reader) * sizeof *reader->buffers);
}

void tamis__reader_give_back(tamis__reader *reader, const tamis__batch *batch) {
    tamis__read_buffer *buffer = batch->buffer;
    if (--buffer->batches == 0 && buffer != reader->into && buffer->capacity > KEPT_MOST)
        set_buffer(reader, buffer, 0);
}

bool tamis__reader_is_full(const tamis__reader *reader) {
    size_t out = 0;
    for (size_t i = 0; i < buffer_count(reader); i++)
        if (reader->buffers[i].batches > 0 && reader->buffers[i].capacity > reader->setup.read_size)
            out += reader->buffers[i].capacity;
    return out > OUT_MOST;
}

enum { FOLLOW_MS = 100 }; /* between two looks whether a followed file has grown */

static size_t inputs_of(const tamis__reader *reader) {
    return reader->setup.input_count ? reader->setup.input_count : 1;
}

static void begin_file(tamis__reader *reader) {
    reader->undecided = true;
    reader->marked = false;
    reader->file_offset = 0;
    reader->file_records = 0;
    reader->file_counted = 0;
    reader->file_lines = 0;
    reader->csv_place = 0;
}

/* Where the input that was opened last begins. */
static const struct tamis__reader_from *from_of(const tamis__reader *reader) {
    return &reader->setup.from[reader->next_input - 1];
}

/* Those that were read to their end before. */
static void pass_inputs(tamis__reader *reader) {
    while (reader->setup.from && reader->next_input < inputs_of(reader) &&
           reader->setup.from[reader->next_input].passed)
        reader->next_input++;
}

static tamis_status open_input(tamis__reader *reader, tamis_error *err) {
    const char *path = reader->setup.input_count ? reader->setup.inputs[reader->next_input] : "-";
    struct stat about;
    tamis_status status = tamis__input_open(path, reader->watch, &reader->fd, &about, err);
    if (status != TAMIS_OK)
        return status;
    reader->next_input++;
    reader->borrowed = tamis__descriptor_named(path, 0) >= 0;
    reader->may_block = !S_ISREG(about.st_mode);
    reader->replaced = false;
    reader->shortened = reader->shortened && about.st_dev == reader->device && about.st_ino == reader->inode;
    reader->device = about.st_dev;
    reader->inode = about.st_ino;
    reader->name = tamis__input_name(path);
    begin_file(reader);
    reader->behind = !reader->may_block && reader->setup.from && from_of(reader)->offset > 0;
    reader->base = reader->behind && reader->borrowed ? tamis__sys.seek(reader->fd, 0, SEEK_CUR) : 0;
    if (reader->base < 0)
        return tamis__fail_file(err, reader->name, errno);
    return reader->setup.opened ? reader->setup.opened(reader->setup.context, tamis__reader_input(reader),
                                                       reader->fd, &about, err)
                                : TAMIS_OK;
}

/* An empty batch where the reader stands. */
static tamis__batch batch_here(const tamis__reader *reader, tamis_key *keys) {
    const unsigned char *start = reader->into->bytes + reader->start;
    return (tamis__batch){.buffer = reader->into,
                          .keys = keys,
                          .input = reader->name,
                          .first = reader->file_records + 1,
                          .line = (reader->setup.csv ? reader->file_lines : reader->file_records) + 1,
                          .offset = reader->file_offset,
                          .begin = start,
                          .end = start,
                          .shortened = reader->shortened,
                          .marked = reader->marked && reader->file_records == 0};
}

/* Passes over a byte order mark in front of an input, which is in no record then. False where it is not known yet whether
 * there is one. */
static bool pass_mark(tamis__reader *reader) {
    const unsigned char *front = reader->into->bytes + reader->start;
    const size_t size = reader->end - reader->start;
    if (!reader->setup.passes_mark || reader->file_offset > 0 || reader->scan > reader->start ||
        !tamis__bom_begins(front, size))
        return true;
    const size_t passed = tamis__bom_size(front, size);
    reader->marked = passed > 0;
    reader->start += passed;
    reader->scan += passed;
    reader->file_offset += passed;
    if (reader->marked && reader->setup.marked)
        reader->setup.marked(reader->setup.context, tamis__reader_input(reader), passed);
    return reader->marked;
}

static tamis_status fail_too_long(const tamis__reader *reader, tamis_error *err) {
    const bool quoted = reader->setup.csv && tamis__split_csv_within(reader->csv_place);
    return tamis__fail(err, TAMIS_E_TOO_LONG, 0,
                       "%s: record %" PRIu64 ", at byte %" PRIu64 ", is longer than %" PRIu64 " bytes%s",
                       tamis__show(reader->name).text, reader->file_records + 1, reader->file_offset,
                       reader->setup.max_record,
                       quoted ? ", and a quote that opened in it is not closed by then; close it, or allow "
                                "longer records"
                              : "; allow longer records, or check which byte ends them");
}

/* Whole records out of the buffer; batch->count is 0 if there is none. */
static tamis_status take_whole(tamis__reader *reader, tamis_key *keys, tamis__batch *batch,
                               tamis_error *err) {
    if (!pass_mark(reader))
        return TAMIS_OK;
    *batch = batch_here(reader, keys);
    const unsigned char *buffer = reader->into->bytes;
    const tamis__reader_setup *setup = &reader->setup;
    tamis__stretch stretch = {buffer + reader->start, buffer + reader->scan, buffer + reader->end,
                              setup->max_record, setup->terminator};
    const uint64_t begun = tamis__clock_begin(setup->split_time);
    batch->count =
        setup->csv ? tamis__split_csv(&stretch, setup->delimiter, &reader->csv_place, keys, setup->batch_size)
                   : tamis__split(&stretch, keys, setup->batch_size);
    tamis__clock_end(setup->split_time, begun);
    batch->end = stretch.start;
    size_t start = (size_t)(stretch.start - buffer);
    reader->file_offset += start - reader->start;
    reader->file_records += batch->count;
    reader->file_counted = reader->file_records - (reader->setup.header && reader->file_records > 0);
    if (setup->csv)
        reader->file_lines += tamis__count_byte(batch->begin, batch->end, '\n');
    reader->start = start;
    reader->scan = (size_t)(stretch.scan - buffer);
    /* With its terminator or not yet: what stands in front then is more than a record may be. */
    if (batch->count == 0 && reader->end - reader->start > reader->setup.max_record)
        return fail_too_long(reader, err);
    return TAMIS_OK;
}

static bool leaves_partial(const tamis__reader *reader) {
    return reader->setup.leaves_partial && !reader->may_block && !reader->unpack;
}

/* As if it had not been read. */
static void drop_partial(tamis__reader *reader, size_t size) {
    const tamis__reader_setup *setup = &reader->setup;
    reader->start = reader->scan = reader->end;
    if (setup->bytes_read)
        *setup->bytes_read -= size;
    if (setup->partial)
        setup->partial(setup->context, tamis__reader_input(reader));
}

/* What is left at the end of an input: its last record, without terminator. */
static bool take_rest(tamis__reader *reader, tamis_key *keys, tamis__batch *batch) {
    size_t size = reader->end - reader->start;
    if (size > 0 && leaves_partial(reader)) {
        drop_partial(reader, size);
        return false;
    }
    if (size == 0)
        return false;
    *batch = batch_here(reader, keys);
    batch->keys[0] = (tamis_key){batch->begin, size};
    batch->count = 1;
    batch->end = batch->begin + size;
    batch->unterminated = true;
    reader->start = reader->scan = reader->end;
    return true;
}

static tamis_status fail_memory(const tamis__reader *reader, size_t refused, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_NOMEM, ENOMEM,
                       "%s: out of memory for record %" PRIu64 ", at byte %" PRIu64
                       ", %zu bytes were refused; free memory, or limit the length of records",
                       tamis__show(reader->name).text, reader->file_records + 1, reader->file_offset,
                       refused);
}

static tamis_status grow(tamis__reader *reader, tamis_error *err) {
    tamis__read_buffer *into = reader->into;
    size_t room = reader->room > SIZE_MAX / 2 ? SIZE_MAX : reader->room * 2;
    /* One byte more than the longest record: enough to see its terminator, or that it is too long. */
    uint64_t most =
        reader->setup.max_record < TAMIS__UNPACK_HEAD ? TAMIS__UNPACK_HEAD : reader->setup.max_record;
    if (most < SIZE_MAX && room > most + 1)
        room = (size_t)most + 1;
    if (room > into->capacity) {
        unsigned char *bytes = tamis__alloc(&reader->memory, room, TAMIS__LINE);
        if (!bytes)
            return fail_memory(reader, room, err);
        memcpy(bytes, into->bytes, reader->end);
        tamis__free(&reader->memory, into->bytes, into->capacity);
        *into = (tamis__read_buffer){bytes, room, 0};
    }
    reader->room = room;
    return TAMIS_OK;
}

/* Another buffer to read into, of `room` bytes at least: there is one that no batch is a view into. NULL: no memory. */
static tamis__read_buffer *other_buffer(tamis__reader *reader, size_t room) {
    tamis__read_buffer *to = reader->buffers;
    while (to == reader->into || to->batches > 0)
        to++;
    return to->capacity >= room || set_buffer(reader, to, room) ? to : NULL;
}

/* Whether the buffer is to be left though no batch is a view into it. */
static bool is_outsized(const tamis__reader *reader, size_t left) {
    return reader->into->capacity > KEPT_MOST && reader->setup.batches > 1 && left < reader->setup.read_size;
}

/* Moves what is left to the front, of another buffer if batches are views into this one. */
static tamis_status move_left(tamis__reader *reader, tamis_error *err) {
    tamis__read_buffer *from = reader->into, *to = from;
    const size_t left = reader->end - reader->start;
    const size_t room = left < reader->setup.read_size ? reader->setup.read_size : reader->room;
    if (from->batches > 0 || is_outsized(reader, left))
        to = other_buffer(reader, room);
    if (!to)
        return fail_memory(reader, room, err);
    memmove(to->bytes, from->bytes + reader->start, left);
    reader->into = to;
    reader->room = room;
    reader->scan -= reader->start;
    reader->start = 0;
    reader->end = left;
    if (to != from && from->batches == 0 && from->capacity > KEPT_MOST)
        set_buffer(reader, from, 0);
    return TAMIS_OK;
}

/* Makes room behind what is left, where there is too little that it were worth a read (R2). */
static tamis_status make_room(tamis__reader *reader, tamis_error *err) {
    if (reader->room - reader->end > reader->room / 4)
        return TAMIS_OK;
    if (reader->start > 0)
        return move_left(reader, err);
    return reader->end < reader->room ? TAMIS_OK : grow(reader, err);
}

typedef enum read_result { READ_SOME, READ_END, READ_NOT_NOW } read_result;

static bool is_followed(const tamis__reader *reader) {
    return reader->setup.follow && !reader->may_block && reader->next_input == inputs_of(reader);
}

static void count_read(const tamis__reader *reader, uint64_t size) {
    if (reader->setup.bytes_read && !reader->behind)
        *reader->setup.bytes_read += size;
}

/* What all that was read of an input tells, which is in the buffer (R6). */
static tamis_status recognise(tamis__reader *reader, tamis_error *err) {
    const unsigned char *begun = reader->into->bytes + reader->start;
    const size_t size = reader->end - reader->start;
    tamis_packing packing = tamis__packing_of(begun, size, &reader->undecided);
    if (packing == TAMIS_PACKING_NONE)
        return TAMIS_OK;
    if (is_followed(reader))
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "%s: is packed with %s, and such a file is not followed; follow what is written plain, "
            "or read it once, without following",
            tamis__show(reader->name).text, tamis_packing_name(packing));
    tamis__unpack_setup setup = {reader->fd, reader->name, &reader->file_counted,
                                 begun,      size,         &reader->memory};
    reader->end = reader->scan = reader->start;
    return tamis__unpack_create(&reader->unpack, &setup, err);
}

static tamis_status read_packed(tamis__reader *reader, bool ready, read_result *result, tamis_error *err) {
    const uint64_t taken = tamis__unpack_taken(reader->unpack);
    tamis__unpack_event event;
    size_t size;
    tamis_status status = tamis__unpack_next(reader->unpack, ready, reader->into->bytes + reader->end,
                                             reader->room - reader->end, &size, &event, err);
    count_read(reader, tamis__unpack_taken(reader->unpack) - taken);
    if (status != TAMIS_OK)
        return status;
    reader->end += size;
    /* What was read and gave nothing yet is no reason to wait: there may be more. */
    *result = event == TAMIS__UNPACK_END ? READ_END : ready || size > 0 ? READ_SOME : READ_NOT_NOW;
    return TAMIS_OK;
}

static tamis_status read_plain(tamis__reader *reader, read_result *result, tamis_error *err) {
    size_t room = reader->room - reader->end;
    *result = READ_NOT_NOW;
    if (reader->undecided &&
        room > TAMIS__UNPACK_READ - TAMIS__UNPACK_HEAD) /* what is packed has to fit there */
        room = TAMIS__UNPACK_READ - TAMIS__UNPACK_HEAD;
    ssize_t size = tamis__sys.read(reader->fd, reader->into->bytes + reader->end, room);
    if (size < 0 && (errno == EINTR || errno == EAGAIN))
        return TAMIS_OK;
    if (size < 0)
        return tamis__fail(err, errno == ENOMEM ? TAMIS_E_NOMEM : TAMIS_E_IO, errno,
                           "%s: %s at byte %" PRIu64 ", after %" PRIu64 " records in all; %s",
                           tamis__show(reader->name).text, tamis__errno_text(errno),
                           reader->file_offset + (reader->end - reader->start), *reader->watch->records,
                           tamis__errno_remedy(errno));
    reader->end += (size_t)size;
    count_read(reader, (uint64_t)size);
    *result = size ? READ_SOME : READ_END;
    return size && reader->undecided ? recognise(reader, err) : TAMIS_OK;
}

static tamis_status read_more(tamis__reader *reader, read_result *result, tamis_error *err) {
    bool ready;
    tamis_status status = make_room(reader, err);
    if (status == TAMIS_OK)
        status = tamis__watch_look(reader->watch, reader->may_block ? reader->fd : -1, POLLIN, &ready,
                                   reader->name, err);
    if (status != TAMIS_OK)
        return status;
    ready = ready || !reader->may_block;
    if (reader->unpack)
        return read_packed(reader, ready, result, err);
    *result = READ_NOT_NOW;
    return ready ? read_plain(reader, result, err) : TAMIS_OK;
}

/* ---- beginning within an input (R7) ---- */

static tamis_status fail_short(const tamis__reader *reader, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_STALE, 0,
                       "%s: ends before byte %" PRIu64 ", from which it is to be read on; give it as it was",
                       tamis__show(reader->name).text, from_of(reader)->offset);
}

/* To the beginning of the first record that is wanted, as if those before it had been handed out. */
static void begin_from(tamis__reader *reader) {
    const struct tamis__reader_from *from = from_of(reader);
    reader->behind = false;
    count_read(reader, tamis__reader_ahead(reader));
    reader->scan = reader->start;
    reader->file_offset = from->offset;
    reader->file_records = from->records;
    reader->file_counted = from->records - (reader->setup.header && from->records > 0);
    reader->file_lines = from->lines;
}

static tamis_status seek_from(tamis__reader *reader, tamis_error *err) {
    const uint64_t offset = from_of(reader)->offset;
    struct stat about;
    if (tamis__sys.fstat(reader->fd, &about) < 0)
        return tamis__fail_file(err, reader->name, errno);
    if ((uint64_t)(about.st_size - reader->base) < offset)
        return fail_short(reader, err);
    if (tamis__sys.seek(reader->fd, reader->base + (off_t)offset, SEEK_SET) < 0)
        return tamis__fail_file(err, reader->name, errno);
    reader->start = reader->end;
    return TAMIS_OK;
}

/* Passes over what is there, counted by file_offset, until that is all. */
static tamis_status pass_over(tamis__reader *reader, tamis_error *err) {
    const uint64_t left = from_of(reader)->offset - reader->file_offset;
    const size_t there = reader->end - reader->start;
    tamis_status status = TAMIS_OK;
    if (left <= there) {
        reader->start += (size_t)left;
    } else if (reader->unpack) {
        reader->file_offset += there;
        reader->start = reader->scan = reader->end;
        return TAMIS_OK;
    } else {
        status = seek_from(reader, err);
    }
    if (status == TAMIS_OK)
        begin_from(reader);
    return status;
}

/* ---- following ---- */

/* Begins the followed file anew. One that came as a descriptor is the same one, else the name tells. */
static tamis_status begin_anew(tamis__reader *reader, tamis_error *err) {
    if (!reader->borrowed) {
        close_input(reader);
        reader->next_input--; /* open_input takes it from here */
        return TAMIS_OK;
    }
    if (tamis__sys.seek(reader->fd, 0, SEEK_SET) < 0)
        return tamis__fail_file(err, reader->name, errno);
    begin_file(reader);
    return TAMIS_OK;
}

/* At the end of the followed file: it waits, or it was replaced or made shorter and what is left of it is its last
 * record. *known is false if it is to be read on. */
static tamis_status follow(tamis__reader *reader, tamis_key *keys, tamis__batch *batch,
                           tamis__reader_event *event, bool *known, tamis_error *err) {
    struct stat about;
    uint64_t position = reader->file_offset + (reader->end - reader->start);
    if (tamis__sys.fstat(reader->fd, &about) < 0)
        return tamis__fail_file(err, reader->name, errno);
    bool shorter = (uint64_t)about.st_size < position;
    if (!shorter && !reader->replaced) {
        /* Without its name for a moment, or unreadable: the next look may find it. */
        bool named = !reader->borrowed && tamis__sys.stat(reader->name, &about) == 0;
        bool other = named && (about.st_dev != reader->device || about.st_ino != reader->inode);
        /* Whoever writes may not have noticed an empty one yet, and go on with the old. */
        reader->replaced = other && (about.st_size > 0 || !S_ISREG(about.st_mode));
        reader->waiting = !reader->replaced;
        *event = TAMIS__READER_IDLE;
        *known = reader->waiting;
        return TAMIS_OK;
    }
    *known = take_rest(reader, keys, batch);
    reader->shortened = shorter;
    return begin_anew(reader, err);
}

/* One step towards the next event; false if it takes more. */
static tamis_status step(tamis__reader *reader, tamis_key *keys, tamis__batch *batch,
                         tamis__reader_event *event, bool *known, tamis_error *err) {
    *known = true;
    if (reader->fd < 0) {
        pass_inputs(reader);
        *event = TAMIS__READER_END;
        *known = reader->next_input == inputs_of(reader);
        return *known ? TAMIS_OK : open_input(reader, err);
    }
    *event = TAMIS__READER_RECORDS;
    batch->count = 0;
    tamis_status status = TAMIS_OK;
    if (reader->behind && !reader->undecided)
        status = pass_over(reader, err);
    if (status == TAMIS_OK && !reader->behind && !reader->undecided)
        status = take_whole(reader, keys, batch, err);
    if (status != TAMIS_OK || batch->count > 0)
        return status;
    tamis__watch_tick(reader->watch);
    read_result result = READ_NOT_NOW; /* not always seen to be set where it is used */
    const uint64_t begun = tamis__clock_begin(reader->setup.read_time);
    status = read_more(reader, &result, err);
    tamis__clock_end(reader->setup.read_time, begun);
    if (status != TAMIS_OK)
        return status;
    *known = false;
    if (result == READ_END && reader->behind && (!reader->undecided || reader->end == reader->start))
        return fail_short(reader, err);
    if (result == READ_END && is_followed(reader))
        return follow(reader, keys, batch, event, known, err);
    if (result == READ_END && reader->undecided && reader->end > reader->start) {
        reader->undecided = false; /* it is shorter than what it could have been the beginning of */
    } else if (result == READ_END) {
        *known = take_rest(reader, keys, batch);
        close_input(reader);
    } else if (result == READ_NOT_NOW && reader->may_block) {
        *event = TAMIS__READER_IDLE;
        *known = true;
    }
    return TAMIS_OK;
}

tamis_status tamis__reader_next(tamis__reader *reader, tamis_key *keys, tamis__batch *batch,
                                tamis__reader_event *event, tamis_error *err) {
    bool known = false;
    tamis_status status = TAMIS_OK;
    while (status == TAMIS_OK && !known)
        status = step(reader, keys, batch, event, &known, err);
    if (status == TAMIS_OK && *event == TAMIS__READER_RECORDS)
        batch->buffer->batches++;
    return status;
}

tamis_status tamis__reader_wait(tamis__reader *reader, tamis_error *err) {
    if (reader->waiting) {
        reader->waiting = false;
        return tamis__watch_pause(reader->watch, FOLLOW_MS, reader->name, err);
    }
    return tamis__watch_wait(reader->watch, reader->fd, POLLIN, reader->name, err);
}

size_t tamis__reader_ahead(const tamis__reader *reader) {
    return reader->unpack ? 0 : reader->end - reader->start;
}

size_t tamis__reader_input(const tamis__reader *reader) {
    return reader->next_input > 0 ? reader->next_input - 1 : 0;
}
