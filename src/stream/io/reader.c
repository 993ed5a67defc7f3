/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The reader: files and pipes to batches of records.
 *
 *     0            start          scan            end             limit
 *     | handed out | unfinished record            | free          |
 *                  |  no terminator | not searched|
 *
 * Invariants and rules:
 * R1  A record never spans two inputs. The rest at the end of an input is its last record.
 * R2  When the buffer is full, the unfinished record moves to the front. If batches have views into the
 *     buffer, it moves to another buffer. Only a part of one record moves, so each byte moves at most twice
 *     for each record. If the record fills the whole buffer, the size doubles. `limit` is the same whichever
 *     buffer is used, so that reads and batches do not depend on which are free.
 * R3  `scan` remembers what was searched. Finding the end of a record is linear in its length, however many
 *     reads bring it.
 * R4  An input that may block is read only after poll reported it ready. This also covers inherited blocking
 *     pipes, and a FIFO without a writer: it is opened without waiting, and reading it would look like its
 *     end.
 * R5  A followed file is left after two observations in this order: another, non-empty file has its name, or
 *     had it since; a read finds its end. Thus nothing appended before the replacement is missed. Files that
 *     had the name in between come before the one that has it now (rotation.h).
 *     Some writers may have the file open still, when others write to the new one. So, if the new one is
 *     under the name, the file is left only when nobody can write to it any more. The system does not always
 *     know; then it is left when nobody has written to it for QUIET_MS.
 *     The file that was left stays open, and what is written to it afterwards is reported. With
 *     setup.stops_when_left the reading ends there: the caller decides which file comes next.
 * R6  Uncompressed inputs are read directly into the buffer. A compressed input is recognised by its first
 *     bytes, before any record is taken. These bytes then go to the decompressor, and its output fills the
 *     buffer.
 * R7  An input with a start position (setup.from) is opened like any other, because its first bytes decide
 *     R6. Then the reader seeks in an uncompressed file, or decompresses and drops what is before the
 *     position.
 */
#include "stream/io/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/target.h"
#include "stream/codec/decompressor.h"
#include "stream/io/io_open.h"
#include "stream/io/rotation.h"
#include "stream/run/clock.h"
#include "stream/split/bom.h"
#include "stream/split/split.h"

/* Largest buffer that is kept when it is empty; largest total size of enlarged buffers in use. */
static const size_t KEPT_MAX = (size_t)16 << 20, OUT_MAX = (size_t)64 << 20;

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

tamis_status tamis__reader_init(tamis__reader *reader, const tamis__reader_setup *setup,
                                tamis__poll_loop *loop, const tamis_allocator *memory, tamis_error *err) {
    memset(reader, 0, sizeof *reader);
    reader->setup = *setup;
    reader->loop = loop;
    reader->memory = *memory;
    reader->fd = -1;
    const size_t size = buffer_count(reader) * sizeof *reader->buffers;
    reader->buffers = tamis__alloc(memory, size, TAMIS__LINE);
    if (!reader->buffers)
        return tamis__fail_nomem(err, "read buffers", size);
    reader->into = reader->buffers;
    reader->limit = setup->read_size;
    if (!set_buffer(reader, reader->into, reader->limit))
        return tamis__fail_nomem(err, "read buffer", reader->limit);
    return TAMIS_OK;
}

static void close_input(tamis__reader *reader) {
    tamis__decompressor_free(reader->decompressor);
    reader->decompressor = NULL;
    if (reader->fd >= 0 && !reader->borrowed)
        tamis__sys.close(reader->fd); /* nothing was written, so errors do not matter */
    reader->fd = -1;
}

static const char *followed_name(const tamis__reader *reader) {
    return reader->followed_name ? reader->followed_name : reader->name;
}

/* Reports that a followed file has grown after it was left: a writer still had it open. */
static void report_grown(const tamis__reader *reader) {
    char message[400];
    if (!reader->setup.remark)
        return;
    snprintf(message, sizeof message,
             "%s: was rotated, and then written to after its byte %" PRIu64 ", which was not read; let its "
             "writers open the new file within half a second",
             tamis__show(followed_name(reader)).text, (uint64_t)reader->previous.size);
    reader->setup.remark(reader->setup.context, message);
}

/* Closes the file that was left, once it has grown or, with `last`, in any case. */
static void check_previous(tamis__reader *reader, bool last) {
    struct stat st;
    if (!reader->previous.open)
        return;
    const bool grown = tamis__sys.fstat(reader->previous.fd, &st) == 0 && st.st_size > reader->previous.size;
    if (grown)
        report_grown(reader);
    if (!grown && !last)
        return;
    tamis__sys.close(reader->previous.fd);
    reader->previous.open = false;
}

void tamis__reader_release(tamis__reader *reader) {
    check_previous(reader, true);
    close_input(reader);
    for (size_t i = 0; reader->buffers && i < buffer_count(reader); i++)
        set_buffer(reader, &reader->buffers[i], 0);
    tamis__free(&reader->memory, reader->buffers, buffer_count(reader) * sizeof *reader->buffers);
}

void tamis__reader_rest(tamis__reader *reader) {
    reader->resting = true;
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
    if (reader->resting)
        tamis__reader_rest(reader);
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

/* Milliseconds without a file under the followed name until that is reported. */
enum { NAMELESS_MS = 5000 };
/* Milliseconds without a write to a rotated file until it is left. */
enum { QUIET_MS = 500, QUIET_LIMIT_MS = 30000 }; /* and how long that is waited for */
enum { CLOSING_MS = 10 };                        /* between two looks whether its writers have closed it */
static const uint64_t NS_PER_MS = 1000000;

static size_t input_total(const tamis__reader *reader) {
    return reader->setup.input_count ? reader->setup.input_count : 1;
}

static void begin_file(tamis__reader *reader) {
    reader->undecided = true;
    reader->marked = false;
    reader->unverified = false;
    reader->tail_size = 0;
    reader->file_offset = 0;
    reader->file_records = 0;
    reader->file_counted = 0;
    reader->file_lines = 0;
    reader->csv_state = 0;
}

/* Start position of the input that was opened last. */
static const struct tamis__reader_start *start_of_input(const tamis__reader *reader) {
    return &reader->setup.from[reader->next_input - 1];
}

/* Skips inputs that were finished earlier. */
static void skip_inputs(tamis__reader *reader) {
    while (reader->setup.from && reader->next_input < input_total(reader) &&
           reader->setup.from[reader->next_input].skipped)
        reader->next_input++;
}

static void report_compressed(const tamis__reader *reader) {
    char message[TAMIS__ROTATION_REMARK];
    if (reader->rotation.compressed[0] == '\0' || !reader->setup.remark)
        return;
    tamis__rotation_describe(message, &reader->rotation);
    reader->setup.remark(reader->setup.context, message);
}

/* Opens the file under the name; if the followed file was renamed, a file that had the name in between. That
 * file may be renamed before it is opened: then it is searched again. */
static tamis_status open_present_file(tamis__reader *reader, const char *path, bool renamed, struct stat *st,
                                      tamis_error *err) {
    tamis__rotation_step *next = &reader->rotation;
    tamis_status status;
    bool is_other;
    do {
        *next = (tamis__rotation_step){.path = ""};
        status = tamis__input_open(path, reader->loop, &reader->fd, st, err);
        if (status == TAMIS_OK && renamed)
            status = tamis__rotation_next(path, &reader->last, st, next, err);
        is_other = status == TAMIS_OK && next->is_late;
        if (status == TAMIS_OK && !is_other && next->path[0] != '\0') {
            close_input(reader);
            status = tamis__input_open(next->path, reader->loop, &reader->fd, st, err);
            is_other = status == TAMIS_OK && (st->st_ino != next->st.st_ino || st->st_dev != next->st.st_dev);
        }
        if (is_other)
            close_input(reader);
    } while (is_other);
    if (status == TAMIS_OK && renamed)
        report_compressed(reader);
    return status;
}

/* The same. During a rotation a file may be renamed just before it is opened, the name may have no file, and
 * a new file may get its owner and mode a moment later. */
static tamis_status open_file(tamis__reader *reader, const char *path, struct stat *st, tamis_error *err) {
    const bool renamed = reader->following && !reader->shortened;
    tamis_status status = open_present_file(reader, path, renamed, st, err);
    for (int i = 0;
         i < TAMIS__RENAME_TRIES && renamed && status != TAMIS_OK && err && tamis__is_rename_error(err);
         i++) {
        status = tamis__poll_loop_pause(reader->loop, TAMIS__RENAME_MS, path, err);
        if (status == TAMIS_OK)
            status = open_present_file(reader, path, renamed, st, err);
    }
    return status;
}

/* The file that was left may have grown, so that it is read on. It keeps its place in the order of
 * rotation. */
static void read_on_previous(tamis__reader *reader, const struct stat *opened) {
    struct stat st;
    if (!reader->previous.open || tamis__sys.fstat(reader->previous.fd, &st) != 0 ||
        st.st_ino != opened->st_ino || st.st_dev != opened->st_dev)
        return;
    tamis__sys.close(reader->previous.fd);
    reader->previous.open = false;
    if (reader->previous.written_at.tv_sec == 0)
        return;
    reader->replaced_at = tamis__now_ns();
    reader->written_at = reader->previous.written_at;
}

static tamis_status open_input(tamis__reader *reader, tamis_error *err) {
    const char *path = reader->setup.input_count ? reader->setup.inputs[reader->next_input] : "-";
    struct stat st;
    tamis_status status = open_file(reader, path, &st, err);
    if (status != TAMIS_OK)
        return status;
    reader->next_input++;
    reader->borrowed = tamis__descriptor_named(path, 0) >= 0;
    reader->may_block = !S_ISREG(st.st_mode);
    if (reader->may_block && (reader->following || reader->setup.stops_when_left) && !reader->borrowed)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: is not a regular file any more, so it cannot be followed; rename it away",
                           tamis__show(tamis__input_name(path)).text);
    reader->replaced = false;
    reader->replaced_at = 0;
    reader->shortened = reader->shortened && st.st_dev == reader->device && st.st_ino == reader->inode;
    reader->device = st.st_dev;
    reader->inode = st.st_ino;
    reader->name = tamis__input_name(path);
    begin_file(reader);
    reader->skipping = !reader->may_block && reader->setup.from && start_of_input(reader)->offset > 0;
    reader->base = reader->skipping && reader->borrowed ? tamis__sys.seek(reader->fd, 0, SEEK_CUR) : 0;
    if (reader->base < 0)
        return tamis__fail_file(err, reader->name, errno);
    if (reader->setup.opened)
        status =
            reader->setup.opened(reader->setup.context, tamis__reader_input(reader), reader->fd, &st, err);
    if (status == TAMIS_OK)
        read_on_previous(reader, &st);
    return status;
}

tamis_status tamis__reader_open(tamis__reader *reader, tamis_error *err) {
    return reader->fd >= 0 ? TAMIS_OK : open_input(reader, err);
}

/* Returns an empty batch at the present position. */
static tamis__record_batch empty_batch(const tamis__reader *reader, tamis_key *keys) {
    const unsigned char *start = reader->into->bytes + reader->start;
    return (tamis__record_batch){.buffer = reader->into,
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

/* Skips a byte order mark at the start of an input. False if more bytes are needed to decide. */
static bool skip_bom(tamis__reader *reader) {
    const unsigned char *head = reader->into->bytes + reader->start;
    const size_t size = reader->end - reader->start;
    if (!reader->setup.skips_bom || reader->file_offset > 0 || reader->scan > reader->start ||
        !tamis__bom_begins(head, size))
        return true;
    const size_t passed = tamis__bom_size(head, size);
    reader->marked = passed > 0;
    reader->start += passed;
    reader->scan += passed;
    reader->file_offset += passed;
    if (reader->marked && reader->setup.marked)
        reader->setup.marked(reader->setup.context, tamis__reader_input(reader), passed);
    return reader->marked;
}

static tamis_status fail_too_long(const tamis__reader *reader, tamis_error *err) {
    const bool quoted = reader->setup.csv && tamis__split_csv_within(reader->csv_state);
    return tamis__fail(err, TAMIS_E_TOO_LONG, 0,
                       "%s: record %" PRIu64 ", at byte %" PRIu64 ", is longer than %" PRIu64 " bytes%s",
                       tamis__show(reader->name).text, reader->file_records + 1, reader->file_offset,
                       reader->setup.max_record,
                       quoted ? ", and a quote that opened in it is not closed by then; close it, or allow "
                                "longer records"
                              : "; allow longer records, or check which byte ends them");
}

/* Cuts whole records from the buffer. batch->count is 0 if there are none. */
static tamis_status split_records(tamis__reader *reader, tamis_key *keys, tamis__record_batch *batch,
                                  tamis_error *err) {
    if (!skip_bom(reader))
        return TAMIS_OK;
    *batch = empty_batch(reader, keys);
    const unsigned char *buffer = reader->into->bytes;
    const tamis__reader_setup *setup = &reader->setup;
    tamis__split_span span = {.start = buffer + reader->start,
                              .scan = buffer + reader->scan,
                              .end = buffer + reader->end,
                              .max_record = setup->max_record,
                              .terminator = setup->terminator};
    const uint64_t begun = tamis__clock_begin(setup->split_time);
    batch->count =
        setup->csv ? tamis__split_csv(&span, setup->delimiter, &reader->csv_state, keys, setup->batch_size)
                   : tamis__split(&span, keys, setup->batch_size);
    tamis__clock_end(setup->split_time, begun);
    batch->end = span.start;
    size_t start = (size_t)(span.start - buffer);
    reader->file_offset += start - reader->start;
    reader->file_records += batch->count;
    reader->file_counted = reader->file_records - (reader->setup.header && reader->file_records > 0);
    if (setup->csv)
        reader->file_lines += tamis__count_byte(batch->begin, batch->end, '\n');
    reader->start = start;
    reader->scan = (size_t)(span.scan - buffer);
    /* More bytes than the longest record may have, with or without a terminator among them. */
    if (batch->count == 0 && reader->end - reader->start > reader->setup.max_record)
        return fail_too_long(reader, err);
    return TAMIS_OK;
}

static bool defers_unterminated(const tamis__reader *reader) {
    return (reader->may_block ? reader->setup.defers_cut : reader->setup.defers_unterminated) &&
           !reader->decompressor;
}

/* Drops the last record as if it had not been read. */
static void defer_partial(tamis__reader *reader, size_t size) {
    const tamis__reader_setup *setup = &reader->setup;
    reader->start = reader->scan = reader->end;
    if (setup->bytes_read)
        *setup->bytes_read -= size;
    if (setup->deferred)
        setup->deferred(setup->context, tamis__reader_input(reader));
}

/* Splits off the rest at the end of an input: its last record, without terminator. */
static bool split_last_record(tamis__reader *reader, tamis_key *keys, tamis__record_batch *batch) {
    size_t size = reader->end - reader->start;
    if (size > 0 && defers_unterminated(reader)) {
        defer_partial(reader, size);
        return false;
    }
    if (size == 0)
        return false;
    *batch = empty_batch(reader, keys);
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

static tamis_status grow_buffer(tamis__reader *reader, tamis_error *err) {
    tamis__read_buffer *into = reader->into;
    size_t limit = reader->limit > SIZE_MAX / 2 ? SIZE_MAX : reader->limit * 2;
    /* One byte more than the longest record: enough to see its terminator, or that it is too long. */
    uint64_t max = reader->setup.max_record < TAMIS_COMPRESSION_MAGIC_MAX ? TAMIS_COMPRESSION_MAGIC_MAX
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

/* Moves the rest to the front of the buffer, or of another one if batches have views into this one (R2). */
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

/* Makes space for a read after the rest, unless there is enough (R2). */
static tamis_status free_buffer_space(tamis__reader *reader, tamis_error *err) {
    reader->resting = false;
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

typedef enum read_result { READ_SOME, READ_END, READ_NOT_NOW } read_result;

bool tamis__reader_is_followed(const tamis__reader *reader) {
    return reader->setup.follow && !reader->may_block && !reader->decompressor &&
           reader->next_input == input_total(reader);
}

static void count_read(const tamis__reader *reader, uint64_t size) {
    if (reader->setup.bytes_read && !reader->skipping)
        *reader->setup.bytes_read += size;
}

/* Adds bytes just read to the tail. */
static void remember_tail(tamis__reader *reader, const unsigned char *bytes, size_t size) {
    const size_t added = size < TAMIS__TAIL ? size : TAMIS__TAIL;
    const size_t kept = reader->tail_size < TAMIS__TAIL - added ? reader->tail_size : TAMIS__TAIL - added;
    memmove(reader->tail, reader->tail + reader->tail_size - kept, kept);
    memcpy(reader->tail + kept, bytes + size - added, added);
    reader->tail_size = kept + added;
}

/* True if the bytes before the position of the followed file are not those that were read. */
static bool is_overwritten(const tamis__reader *reader) {
    unsigned char now[TAMIS__TAIL];
    const off_t position = tamis__sys.seek(reader->fd, 0, SEEK_CUR);
    if (reader->tail_size == 0 || position < (off_t)reader->tail_size)
        return false;
    const ssize_t got =
        tamis__sys.pread(reader->fd, now, reader->tail_size, position - (off_t)reader->tail_size);
    return got == (ssize_t)reader->tail_size && memcmp(now, reader->tail, reader->tail_size) != 0;
}

/* Decides by the first bytes whether the input is compressed (R6). */
static tamis_status detect_compression(tamis__reader *reader, tamis_error *err) {
    const unsigned char *begun = reader->into->bytes + reader->start;
    const size_t size = reader->end - reader->start;
    tamis_compression compression = tamis__compression_detect(begun, size, &reader->undecided);
    if (compression == TAMIS_COMPRESSION_NONE)
        return TAMIS_OK;
    if (tamis__reader_is_followed(reader) && !reader->setup.reads_compressed)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "%s: is compressed with %s, and a compressed file cannot be followed; follow a plain one, "
            "or read it once, without following",
            tamis__show(reader->name).text, tamis_compression_name(compression));
    tamis__decompressor_setup setup = {.fd = reader->fd,
                                       .name = reader->name,
                                       .records = &reader->file_counted,
                                       .begun = begun,
                                       .begun_size = size,
                                       .memory = &reader->memory};
    reader->end = reader->scan = reader->start;
    return tamis__decompressor_create(&reader->decompressor, &setup, err);
}

static tamis_status read_compressed(tamis__reader *reader, bool ready, read_result *result,
                                    tamis_error *err) {
    const uint64_t read_before = tamis__decompressor_bytes_read(reader->decompressor);
    tamis__decompressor_event event;
    size_t size;
    tamis_status status =
        tamis__decompressor_read(reader->decompressor, ready, reader->into->bytes + reader->end,
                                 reader->limit - reader->end, &size, &event, err);
    count_read(reader, tamis__decompressor_bytes_read(reader->decompressor) - read_before);
    if (status != TAMIS_OK)
        return status;
    reader->end += size;
    /* Bytes that gave no output yet are not a reason to wait: more may be available. */
    *result = event == TAMIS__DECOMPRESSOR_END ? READ_END : ready || size > 0 ? READ_SOME : READ_NOT_NOW;
    return TAMIS_OK;
}

static tamis_status read_plain(tamis__reader *reader, read_result *result, tamis_error *err) {
    size_t limit = reader->limit - reader->end;
    *result = READ_NOT_NOW;
    if (reader->undecided &&
        limit > TAMIS__DECOMPRESSOR_READ_SIZE -
                    TAMIS_COMPRESSION_MAGIC_MAX) /* the decompressor must be able to take them over */
        limit = TAMIS__DECOMPRESSOR_READ_SIZE - TAMIS_COMPRESSION_MAGIC_MAX;
    ssize_t size = tamis__sys.read(reader->fd, reader->into->bytes + reader->end, limit);
    if (size < 0 && (errno == EINTR || errno == EAGAIN))
        return TAMIS_OK;
    if (size < 0)
        return tamis__fail(err, errno == ENOMEM ? TAMIS_E_NOMEM : TAMIS_E_IO, errno,
                           "%s: %s at byte %" PRIu64 ", after %" PRIu64 " records in all; %s",
                           tamis__show(reader->name).text, tamis__errno_text(errno),
                           reader->file_offset + (reader->end - reader->start), *reader->loop->records,
                           tamis__errno_remedy(errno));
    if (size > 0 && tamis__reader_is_followed(reader)) {
        remember_tail(reader, reader->into->bytes + reader->end, (size_t)size);
        reader->read_at = tamis__now_ns();
        reader->has_local_writers = reader->has_local_writers || reader->setup.reports->has_reported;
        tamis__change_reports_check(reader->setup.reports);
    }
    reader->end += (size_t)size;
    count_read(reader, (uint64_t)size);
    *result = size ? READ_SOME : READ_END;
    return size && reader->undecided ? detect_compression(reader, err) : TAMIS_OK;
}

static tamis_status read_more(tamis__reader *reader, read_result *result, tamis_error *err) {
    bool ready;
    tamis_status status = free_buffer_space(reader, err);
    if (status == TAMIS_OK)
        status = tamis__poll_loop_check(reader->loop, reader->may_block ? reader->fd : -1, POLLIN, &ready,
                                        reader->name, err);
    if (status != TAMIS_OK)
        return status;
    ready = ready || !reader->may_block;
    if (reader->decompressor)
        return read_compressed(reader, ready, result, err);
    *result = READ_NOT_NOW;
    return ready ? read_plain(reader, result, err) : TAMIS_OK;
}

/* ---- start positions (R7) ---- */

static tamis_status fail_short(const tamis__reader *reader, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_CHANGED, 0,
                       "%s: ends before byte %" PRIu64 ", from which it is to be read on; give it as it was",
                       tamis__show(reader->name).text, start_of_input(reader)->offset);
}

/* Continues at the start position, as if the records before it had been handed out. */
static void resume_at_start(tamis__reader *reader) {
    const struct tamis__reader_start *from = start_of_input(reader);
    reader->skipping = false;
    count_read(reader, tamis__reader_ahead(reader));
    reader->scan = reader->start;
    reader->file_offset = from->offset;
    reader->file_records = from->records;
    reader->file_counted = from->records - (reader->setup.header && from->records > 0);
    reader->file_lines = from->lines;
}

static tamis_status seek_to_start(tamis__reader *reader, tamis_error *err) {
    const uint64_t offset = start_of_input(reader)->offset;
    struct stat st;
    if (tamis__sys.fstat(reader->fd, &st) < 0)
        return tamis__fail_file(err, reader->name, errno);
    if ((uint64_t)(st.st_size - reader->base) < offset) {
        reader->truncated = reader->setup.stops_when_left;
        return fail_short(reader, err);
    }
    if (tamis__sys.seek(reader->fd, reader->base + (off_t)offset, SEEK_SET) < 0)
        return tamis__fail_file(err, reader->name, errno);
    reader->start = reader->end;
    reader->tail_size = 0; /* the bytes in front of the start position were not read */
    return TAMIS_OK;
}

/* Skips the bytes in the buffer, counted by file_offset, or seeks, up to the start position. */
static tamis_status skip_to_start(tamis__reader *reader, tamis_error *err) {
    const uint64_t left = start_of_input(reader)->offset - reader->file_offset;
    const size_t there = reader->end - reader->start;
    tamis_status status = TAMIS_OK;
    if (left <= there) {
        reader->start += (size_t)left;
    } else if (reader->decompressor) {
        reader->file_offset += there;
        reader->start = reader->scan = reader->end;
        return TAMIS_OK;
    } else {
        status = seek_to_start(reader, err);
    }
    if (status == TAMIS_OK)
        resume_at_start(reader);
    return status;
}

/* ---- following ---- */

/* Sets the time by which the followed file is ordered. Writes after it was replaced do not count: the next
 * file may have got its last write before them. */
static void set_order(const tamis__reader *reader, struct stat *st) {
    if (reader->replaced_at != 0)
        st->st_mtim = reader->written_at;
}

/* Keeps the followed file open, to see whether it grows. */
static void keep_previous(tamis__reader *reader) {
    struct stat st = {.st_size = 0};
    check_previous(reader, true);
    (void)tamis__sys.fstat(reader->fd, &st);
    set_order(reader, &st);
    reader->previous =
        (tamis__previous_file){true, reader->fd, tamis__sys.seek(reader->fd, 0, SEEK_CUR), st.st_mtim};
    reader->fd = -1;
}

/* Starts the followed file again. A borrowed descriptor is the same file; otherwise the name is opened
 * again. */
static tamis_status restart_file(tamis__reader *reader, tamis_error *err) {
    if (!reader->borrowed) {
        if (tamis__sys.fstat(reader->fd, &reader->last) < 0)
            return tamis__fail_file(err, reader->name, errno);
        set_order(reader, &reader->last);
        reader->following = true;
        if (!reader->shortened)
            keep_previous(reader);
        close_input(reader);
        reader->next_input--; /* open_input increments it again */
        return TAMIS_OK;
    }
    if (tamis__sys.seek(reader->fd, 0, SEEK_SET) < 0)
        return tamis__fail_file(err, reader->name, errno);
    begin_file(reader);
    return TAMIS_OK;
}

void tamis__reader_set_followed(tamis__reader *reader, const char *name, tamis__previous_file previous) {
    reader->followed_name = name;
    reader->previous = previous;
}

bool tamis__reader_is_replaced(const tamis__reader *reader) {
    return reader->fd >= 0 && reader->replaced_at != 0;
}

bool tamis__reader_has_left(const tamis__reader *reader) {
    return reader->setup.stops_when_left && reader->next_input > 0 && reader->fd < 0 && reader->previous.open;
}

tamis__previous_file tamis__reader_hand_over_previous(tamis__reader *reader) {
    const tamis__previous_file previous = reader->previous;
    reader->previous.open = false;
    return previous;
}

/* Reports that the followed file was truncated. Fails if another reader is to read it again from its start.
 * */
static tamis_status report_truncated(tamis__reader *reader, bool shorter, uint64_t position,
                                     tamis_error *err) {
    char message[400];
    reader->truncated = true;
    snprintf(message, sizeof message,
             "%s: %s after %" PRIu64 " bytes were read, and is read again from its start; bytes "
             "written before that may be lost",
             tamis__show(reader->name).text, shorter ? "became shorter" : "was overwritten", position);
    if (reader->setup.stops_when_left)
        return tamis__fail(err, TAMIS_E_CHANGED, 0, "%s", message);
    if (reader->setup.remark)
        reader->setup.remark(reader->setup.context, message);
    return TAMIS_OK;
}

/* Takes the rest of the followed file as its last record, and starts the file again or ends the reading. */
static tamis_status leave_file(tamis__reader *reader, tamis_key *keys, tamis__record_batch *batch,
                               bool *known, tamis_error *err) {
    *known = split_last_record(reader, keys, batch);
    if (!reader->setup.stops_when_left)
        return restart_file(reader, err);
    keep_previous(reader);
    return TAMIS_OK;
}

/* Fails for a file that has bytes but no size, as those under /proc. It would always look truncated. */
static tamis_status check_size_known(const tamis__reader *reader, const struct stat *st, tamis_error *err) {
    unsigned char byte;
    struct stat again;
    if (st->st_size > 0 || tamis__sys.pread(reader->fd, &byte, 1, 0) != 1 ||
        tamis__sys.fstat(reader->fd, &again) < 0 || again.st_size > 0)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "%s: its size is not known, so it cannot be followed; follow a file on a disk",
                       tamis__show(reader->name).text);
}

/* True if nobody can give the followed file, whose status is `own`, a name again, and it is to end then. */
static bool stops_removed(const tamis__reader *reader, const struct stat *own) {
    return reader->setup.stops_when_removed && own->st_nlink == 0 && !reader->borrowed;
}

/* Says once that the followed name has had no file for a while. During a rotation it has none for a moment.
 * */
static void note_name(tamis__reader *reader, bool named, const struct stat *own) {
    char message[400];
    const uint64_t now = tamis__now_ns();
    if (named || reader->nameless_since == 0) {
        reader->nameless_since = named ? 0 : now;
        reader->nameless_reported = false;
    }
    if (named || reader->nameless_reported || now - reader->nameless_since < NAMELESS_MS * NS_PER_MS)
        return;
    reader->nameless_reported = true;
    if (stops_removed(reader, own) || !reader->setup.remark)
        return;
    snprintf(message, sizeof message, "%s: has no file now; waiting for one",
             tamis__show(followed_name(reader)).text);
    reader->setup.remark(reader->setup.context, message);
}

/*
 * True if the replaced file, whose status is `own`, may be left:
 *
 * - no process can write to it; or
 * - nobody has written to it for QUIET_MS; or
 * - it was replaced QUIET_LIMIT_MS ago, and a writer still keeps it open.
 *
 * Files of another machine change without reports, by writers that this one does not know.
 */
static bool is_quiet(tamis__reader *reader, const struct stat *own) {
    tamis__change_reports *reports = reader->setup.reports;
    const uint64_t now = tamis__now_ns();
    /* Writing and renaming set this time. Clocks of a server may differ. */
    const int64_t changed_at = (int64_t)own->st_ctim.tv_sec * 1000 + own->st_ctim.tv_nsec / 1000000;
    if (reader->replaced_at == 0) {
        reader->replaced_at = now;
        reader->written_at = own->st_mtim;
    }
    const uint64_t since = reader->read_at > reader->replaced_at ? reader->read_at : reader->replaced_at,
                   quiet_at = since + QUIET_MS * NS_PER_MS;
    const int writers =
        reports->fd >= 0 && reader->has_local_writers ? tamis__sys.has_writers(reader->fd) : -1;
    if (writers == 0)
        return true;
    /* The report of the last writer's close comes a moment before the system knows that none is left. */
    const uint64_t look_at = writers > 0 ? now + CLOSING_MS * NS_PER_MS : quiet_at;
    if (reports->look_at == 0 || look_at < reports->look_at)
        reports->look_at = look_at;
    return tamis__sys.now_unix_ms() - changed_at >= QUIET_MS || now >= quiet_at ||
           now - reader->replaced_at >= QUIET_LIMIT_MS * NS_PER_MS;
}

/* True if another file comes after the open one, whose status is `own`, and that may be left at its end.
 * While a new file is empty, the writer may still append to the old one. */
static bool has_successor(tamis__reader *reader, const struct stat *own) {
    struct stat last = *own;
    const char *name = followed_name(reader);
    tamis__rotation_step next;
    struct stat st;
    /* The name may be missing or unreadable for a moment; the next check may find it. */
    const bool named = tamis__sys.stat(name, &st) == 0;
    note_name(reader, named || errno != ENOENT, own);
    if (named && st.st_dev == reader->device && st.st_ino == reader->inode)
        return false;
    const bool has_content = named && (st.st_size > 0 || !S_ISREG(st.st_mode));
    (void)tamis__sys.fstat(reader->fd, &last); /* it may have been renamed since */
    if (has_content && is_quiet(reader, &last))
        return true;
    set_order(reader, &last);
    return tamis__rotation_next(name, &last, named ? &st : NULL, &next, NULL) == TAMIS_OK &&
           next.path[0] != '\0';
}

/* Handles the end of the followed file. Waits, or, if the file was replaced or shortened, takes the rest as
 * its last record. *known is false if reading continues at once. */
static tamis_status follow_file(tamis__reader *reader, tamis_key *keys, tamis__record_batch *batch,
                                tamis__reader_event *event, bool *known, tamis_error *err) {
    struct stat st;
    uint64_t position = reader->file_offset + (reader->end - reader->start);
    if (tamis__sys.fstat(reader->fd, &st) < 0)
        return tamis__fail_file(err, reader->name, errno);
    bool shorter = (uint64_t)st.st_size < position;
    if (!shorter && !reader->replaced) {
        const bool was_noticed = reader->replaced_at != 0;
        reader->replaced = !reader->borrowed && has_successor(reader, &st);
        if (!was_noticed && (reader->replaced || reader->replaced_at != 0))
            tamis__change_reports_check(reader->setup.reports);
        else if (reader->replaced) /* the next file came a while ago, and was reported then */
            reader->setup.reports->silent = false;
        if (!reader->replaced && reader->nameless_reported && stops_removed(reader, &st)) {
            reader->removed = true;
            *known = split_last_record(reader, keys, batch);
            *event = TAMIS__READER_RECORDS;
            if (reader->setup.stops_when_left)
                keep_previous(reader);
            else
                close_input(reader);
            return TAMIS_OK;
        }
        reader->waiting = !reader->replaced;
        *event = TAMIS__READER_IDLE;
        *known = reader->waiting;
        return TAMIS_OK;
    }
    reader->shortened = shorter;
    tamis_status status = shorter ? check_size_known(reader, &st, err) : TAMIS_OK;
    if (status == TAMIS_OK && shorter)
        status = report_truncated(reader, true, position, err);
    return status != TAMIS_OK ? status : leave_file(reader, keys, batch, known, err);
}

/* Makes one step towards the next event. *known is false if there is none yet. */
static tamis_status run_step(tamis__reader *reader, tamis_key *keys, tamis__record_batch *batch,
                             tamis__reader_event *event, bool *known, tamis_error *err) {
    *known = true;
    if (reader->fd < 0) {
        skip_inputs(reader);
        *event = TAMIS__READER_END;
        *known = reader->next_input == input_total(reader);
        return *known ? TAMIS_OK : open_input(reader, err);
    }
    *event = TAMIS__READER_RECORDS;
    batch->count = 0;
    tamis_status status = TAMIS_OK;
    if (reader->skipping && !reader->undecided)
        status = skip_to_start(reader, err);
    if (status == TAMIS_OK && !reader->skipping && !reader->undecided && reader->into->bytes)
        status = split_records(reader, keys, batch, err);
    if (status != TAMIS_OK || batch->count > 0)
        return status;
    tamis__poll_loop_report(reader->loop);
    if (reader->unverified && !reader->borrowed && is_overwritten(reader)) {
        reader->shortened = true;
        status = report_truncated(reader, false, reader->file_offset + (reader->end - reader->start), err);
        return status != TAMIS_OK ? status : leave_file(reader, keys, batch, known, err);
    }
    reader->unverified = false;
    read_result result = READ_NOT_NOW; /* some compilers do not see that it is always set */
    const uint64_t begun = tamis__clock_begin(reader->setup.read_time);
    status = read_more(reader, &result, err);
    tamis__clock_end(reader->setup.read_time, begun);
    if (status != TAMIS_OK)
        return status;
    *known = false;
    if (result == READ_END && reader->skipping && (!reader->undecided || reader->end == reader->start))
        return fail_short(reader, err);
    if (result == READ_END && tamis__reader_is_followed(reader))
        return follow_file(reader, keys, batch, event, known, err);
    if (result == READ_END && reader->undecided && reader->end > reader->start) {
        reader->undecided = false; /* too short to be compressed */
    } else if (result == READ_END) {
        *known = split_last_record(reader, keys, batch);
        close_input(reader);
    } else if (result == READ_NOT_NOW && reader->may_block) {
        *event = TAMIS__READER_IDLE;
        *known = true;
    }
    return TAMIS_OK;
}

tamis_status tamis__reader_next(tamis__reader *reader, tamis_key *keys, tamis__record_batch *batch,
                                tamis__reader_event *event, tamis_error *err) {
    bool known = false;
    tamis_status status = TAMIS_OK;
    while (status == TAMIS_OK && !known)
        status = run_step(reader, keys, batch, event, &known, err);
    if (status == TAMIS_OK && *event == TAMIS__READER_RECORDS)
        batch->buffer->batches++;
    return status;
}

bool tamis__reader_is_at_end(const tamis__reader *reader) {
    return reader->waiting;
}

void tamis__reader_prepare_wait(tamis__reader *reader) {
    if (!reader->waiting)
        return;
    reader->waiting = false;
    reader->unverified = true;
    check_previous(reader, false);
    if (reader->has_reports)
        return;
    reader->has_reports = true;
    if (reader->borrowed)
        tamis__change_reports_stop(reader->setup.reports); /* its directory is not known */
    else
        tamis__change_reports_add(reader->setup.reports, followed_name(reader));
}

tamis_status tamis__reader_wait(tamis__reader *reader, tamis_error *err) {
    return tamis__poll_loop_wait(reader->loop, reader->fd, POLLIN, reader->name, err);
}

size_t tamis__reader_ahead(const tamis__reader *reader) {
    return reader->decompressor ? 0 : reader->end - reader->start;
}

size_t tamis__reader_input(const tamis__reader *reader) {
    return reader->setup.first_input + (reader->next_input > 0 ? reader->next_input - 1 : 0);
}

uint64_t tamis__reader_bytes_left(const tamis__reader *reader) {
    struct stat st;
    off_t position;
    if (reader->fd < 0 || tamis__sys.fstat(reader->fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        (position = tamis__sys.seek(reader->fd, 0, SEEK_CUR)) < 0)
        return UINT64_MAX;
    return st.st_size > position ? (uint64_t)(st.st_size - position) : 0;
}
