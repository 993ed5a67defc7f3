/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The reader: files and pipes to batches of records. reader_buffers.c has its buffers, reader_follow.c reads
 * a file on as it grows.
 *
 * Invariants and rules:
 * R1  A record never spans two inputs. The rest at the end of an input is its last record.
 * R2  Buffers: reader_buffers.c.
 * R3  `scan` remembers what was searched. Finding the end of a record is linear in its length, however many
 *     reads bring it.
 * R4  An input that may block is read only after poll reported it ready. This also covers inherited blocking
 *     pipes, and a FIFO without a writer: it is opened without waiting, and reading it would look like its
 *     end.
 * R5  Followed files: reader_follow.c.
 * R6  Uncompressed inputs are read directly into the buffer. A compressed input is recognised by its first
 *     bytes, before any record is taken. These bytes then go to the decompressor, and its output fills the
 *     buffer.
 * R7  An input with a start position (setup.from) is opened like any other, because its first bytes decide
 *     R6. Then the reader seeks in an uncompressed file, or decompresses and drops what is before the
 *     position.
 */
#include "stream/io/reader_int.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/target.h"
#include "stream/codec/decompressor.h"
#include "stream/io/io_open.h"
#include "stream/run/clock.h"
#include "stream/split/bom.h"
#include "stream/split/split.h"

tamis_status tamis__reader_init(tamis__reader *reader, const tamis__reader_setup *setup,
                                tamis__poll_loop *loop, const tamis_allocator *memory, tamis_error *err) {
    memset(reader, 0, sizeof *reader);
    reader->setup = *setup;
    reader->loop = loop;
    reader->memory = *memory;
    reader->fd = -1;
    return tamis__reader_init_buffers(reader, err);
}

void tamis__reader_close_input(tamis__reader *reader) {
    tamis__decompressor_free(reader->decompressor);
    reader->decompressor = NULL;
    if (reader->fd >= 0 && !reader->borrowed)
        tamis__sys.close(reader->fd); /* nothing was written, so errors do not matter */
    reader->fd = -1;
}

void tamis__reader_release(tamis__reader *reader) {
    tamis__reader_check_previous(reader, true);
    tamis__reader_close_input(reader);
    tamis__reader_release_buffers(reader);
}

static size_t input_total(const tamis__reader *reader) {
    return reader->setup.input_count ? reader->setup.input_count : 1;
}

void tamis__reader_begin_file(tamis__reader *reader) {
    reader->undecided = true;
    reader->has_bom = false;
    reader->unverified = false;
    reader->last_size = 0;
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

static tamis_status open_input(tamis__reader *reader, tamis_error *err) {
    const char *path = reader->setup.input_count ? reader->setup.inputs[reader->next_input] : "-";
    struct stat st;
    tamis_status status = tamis__reader_open_file(reader, path, &st, err);
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
    reader->restarted = reader->restarted && st.st_dev == reader->device && st.st_ino == reader->inode;
    reader->device = st.st_dev;
    reader->inode = st.st_ino;
    reader->name = tamis__input_name(path);
    tamis__reader_begin_file(reader);
    reader->skipping = !reader->may_block && reader->setup.from && start_of_input(reader)->offset > 0;
    reader->base = reader->skipping && reader->borrowed ? tamis__sys.seek(reader->fd, 0, SEEK_CUR) : 0;
    if (reader->base < 0)
        return tamis__fail_file(err, reader->name, errno);
    if (reader->setup.opened)
        status =
            reader->setup.opened(reader->setup.context, tamis__reader_input(reader), reader->fd, &st, err);
    if (status == TAMIS_OK)
        tamis__reader_read_on_previous(reader, &st);
    return status;
}

tamis_status tamis__reader_open(tamis__reader *reader, tamis_error *err) {
    return reader->fd >= 0 ? TAMIS_OK : open_input(reader, err);
}

/* Returns an empty batch at the present position, for views in `records`. */
static tamis__record_batch empty_batch(const tamis__reader *reader, tamis_key *records) {
    const unsigned char *start = reader->into->bytes + reader->start;
    return (tamis__record_batch){.buffer = reader->into,
                                 .records = records,
                                 .input = reader->name,
                                 .first = reader->file_records + 1,
                                 .line = (reader->setup.csv ? reader->file_lines : reader->file_records) + 1,
                                 .offset = reader->file_offset,
                                 .begin = start,
                                 .end = start,
                                 .restarted = reader->restarted,
                                 .has_bom = reader->has_bom && reader->file_records == 0};
}

/* Skips a byte order mark at the start of an input. False if more bytes are needed to decide. */
static bool skip_bom(tamis__reader *reader) {
    const unsigned char *head = reader->into->bytes + reader->start;
    const size_t size = reader->end - reader->start;
    if (!reader->setup.skips_bom || reader->file_offset > 0 || reader->scan > reader->start ||
        !tamis__bom_begins(head, size))
        return true;
    const size_t passed = tamis__bom_size(head, size);
    reader->has_bom = passed > 0;
    reader->start += passed;
    reader->scan += passed;
    reader->file_offset += passed;
    if (reader->has_bom && reader->setup.bom_skipped)
        reader->setup.bom_skipped(reader->setup.context, tamis__reader_input(reader), passed);
    return reader->has_bom;
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
static tamis_status split_records(tamis__reader *reader, tamis__record_batch *batch, tamis_error *err) {
    if (!skip_bom(reader))
        return TAMIS_OK;
    *batch = empty_batch(reader, batch->records);
    const unsigned char *buffer = reader->into->bytes;
    const tamis__reader_setup *setup = &reader->setup;
    tamis__split_span span = {.start = buffer + reader->start,
                              .scan = buffer + reader->scan,
                              .end = buffer + reader->end,
                              .max_record = setup->max_record,
                              .terminator = setup->terminator};
    const uint64_t begun = tamis__clock_begin(setup->split_time);
    batch->count = setup->csv ? tamis__split_csv(&span, setup->delimiter, &reader->csv_state, batch->records,
                                                 setup->batch_size)
                              : tamis__split(&span, batch->records, setup->batch_size);
    tamis__clock_end(setup->split_time, begun);
    batch->end = span.start;
    const size_t start = (size_t)(span.start - buffer);
    reader->file_offset += start - reader->start;
    reader->file_records += batch->count;
    reader->file_counted = reader->file_records - (reader->setup.header && reader->file_records > 0);
    if (setup->csv)
        reader->file_lines += tamis__count_byte(batch->begin, batch->end, '\n');
    reader->start = start;
    reader->scan = (size_t)(span.scan - buffer);
    /* The first record is too long, whether its terminator was read or not. */
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

bool tamis__reader_split_last(tamis__reader *reader, tamis__record_batch *batch) {
    const size_t size = reader->end - reader->start;
    if (size > 0 && defers_unterminated(reader)) {
        defer_partial(reader, size);
        return false;
    }
    if (size == 0)
        return false;
    *batch = empty_batch(reader, batch->records);
    batch->records[0] = (tamis_key){batch->begin, size};
    batch->count = 1;
    batch->end = batch->begin + size;
    batch->unterminated = true;
    reader->start = reader->scan = reader->end;
    return true;
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

/* Decides by the first bytes whether the input is compressed (R6). */
static tamis_status detect_compression(tamis__reader *reader, tamis_error *err) {
    const unsigned char *begun = reader->into->bytes + reader->start;
    const size_t size = reader->end - reader->start;
    const tamis_compression compression = tamis__compression_detect(begun, size, &reader->undecided);
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
    size_t size = reader->limit - reader->end;
    const tamis_status status =
        tamis__decompressor_read(reader->decompressor, ready, reader->into->bytes + reader->end, &size, err);
    count_read(reader, tamis__decompressor_bytes_read(reader->decompressor) - read_before);
    if (status != TAMIS_OK)
        return status;
    reader->end += size;
    /* Bytes that gave no output yet are not a reason to wait: more may be available. */
    if (tamis__decompressor_has_ended(reader->decompressor))
        *result = READ_END;
    else
        *result = ready || size > 0 ? READ_SOME : READ_NOT_NOW;
    return TAMIS_OK;
}

static tamis_status read_plain(tamis__reader *reader, read_result *result, tamis_error *err) {
    size_t limit = reader->limit - reader->end;
    *result = READ_NOT_NOW;
    if (reader->undecided &&
        limit > TAMIS__DECOMPRESSOR_READ_SIZE -
                    TAMIS_COMPRESSION_MAGIC_MAX) /* the decompressor must be able to take them over */
        limit = TAMIS__DECOMPRESSOR_READ_SIZE - TAMIS_COMPRESSION_MAGIC_MAX;
    const ssize_t size = tamis__sys.read(reader->fd, reader->into->bytes + reader->end, limit);
    if (size < 0 && (errno == EINTR || errno == EAGAIN))
        return TAMIS_OK;
    if (size < 0)
        return tamis__fail(err, errno == ENOMEM ? TAMIS_E_NOMEM : TAMIS_E_IO, errno,
                           "%s: %s at byte %" PRIu64 ", after %" PRIu64 " records in all; %s",
                           tamis__show(reader->name).text, tamis__errno_text(errno),
                           reader->file_offset + (reader->end - reader->start), *reader->loop->records,
                           tamis__errno_remedy(errno));
    if (size > 0 && tamis__reader_is_followed(reader))
        tamis__reader_note_followed(reader, reader->into->bytes + reader->end, (size_t)size);
    reader->end += (size_t)size;
    count_read(reader, (uint64_t)size);
    *result = size ? READ_SOME : READ_END;
    return size && reader->undecided ? detect_compression(reader, err) : TAMIS_OK;
}

static tamis_status read_more(tamis__reader *reader, read_result *result, tamis_error *err) {
    const tamis__awaited input = {reader->may_block ? reader->fd : -1, POLLIN, reader->name};
    bool ready;
    tamis_status status = tamis__reader_free_space(reader, err);
    if (status == TAMIS_OK)
        status = tamis__poll_loop_check(reader->loop, &input, &ready, err);
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
    reader->last_size = 0; /* the bytes in front of the start position were not read */
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

/* Makes one step towards the next event. *known is false if there is none yet. */
static tamis_status run_step(tamis__reader *reader, tamis__record_batch *batch, tamis__reader_event *event,
                             bool *known, tamis_error *err) {
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
    bool left;
    if (reader->skipping && !reader->undecided)
        status = skip_to_start(reader, err);
    if (status == TAMIS_OK && !reader->skipping && !reader->undecided && reader->into->bytes)
        status = split_records(reader, batch, err);
    if (status != TAMIS_OK || batch->count > 0)
        return status;
    tamis__poll_loop_report(reader->loop);
    status = tamis__reader_leave_overwritten(reader, batch, &left, known, err);
    if (status != TAMIS_OK || left)
        return status;
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
        return tamis__reader_follow_file(reader, batch, event, known, err);
    if (result == READ_END && reader->undecided && reader->end > reader->start) {
        reader->undecided = false; /* too short to be compressed */
    } else if (result == READ_END) {
        *known = tamis__reader_split_last(reader, batch);
        tamis__reader_close_input(reader);
    } else if (result == READ_NOT_NOW && reader->may_block) {
        *event = TAMIS__READER_IDLE;
        *known = true;
    }
    return TAMIS_OK;
}

tamis_status tamis__reader_next(tamis__reader *reader, tamis__record_batch *batch, tamis__reader_event *event,
                                tamis_error *err) {
    bool known = false;
    tamis_status status = TAMIS_OK;
    while (status == TAMIS_OK && !known)
        status = run_step(reader, batch, event, &known, err);
    if (status == TAMIS_OK && *event == TAMIS__READER_RECORDS)
        batch->buffer->batches++;
    return status;
}

tamis_status tamis__reader_wait(tamis__reader *reader, tamis_error *err) {
    return tamis__poll_loop_wait(reader->loop, &(tamis__awaited){reader->fd, POLLIN, reader->name}, err);
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
