/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The output of a run:
 *
 *     put --> buffer --> compressor (if any) --> write(2)
 *
 * Bytes are copied once, into the buffer. A piece as large as the buffer is passed on without a copy. The
 * buffer contains whole records only, so a flush never shows half a record.
 *
 * Stopping: a run that is to stop still writes its present batch, but the reader of a pipe may be asleep. A
 * write of at most PIPE_BUF bytes does not block after poll has reported the pipe as writable. So a stopping
 * writer makes only such writes. It gives up if the reader reads nothing for TAMIS__STOP_GRACE_MS.
 */
#include "stream/io/writer.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/file_lock.h"
#include "stream/io/io_open.h"
#include "stream/run/clock.h"

static const uint64_t HOLD_NS = 5000000;               /* longest time that a record waits in the buffer */
static const uint64_t HOLD_COMPRESSED_NS = 1000000000; /* the same if compressed, where a flush costs space */

static bool is_open(const tamis__writer *writer) {
    return writer->target && writer->buffer;
}

static bool is_staged(const tamis__writer *writer) {
    return writer->target->form == TAMIS__TARGET_REPLACE || writer->target->form == TAMIS__TARGET_NEW;
}

bool tamis__writer_is_direct(const tamis__writer *writer) {
    return is_open(writer) && !is_staged(writer);
}

static tamis_status open_target(tamis__writer *writer, tamis_error *err) {
    if (is_staged(writer)) {
        const tamis_status status = tamis__lock_check_free(writer->target, err);
        return status == TAMIS_OK ? tamis__temp_file_create(&writer->temp_file, writer->target,
                                                            writer->durable, &writer->fd, err)
                                  : status;
    }
    if (writer->target->form == TAMIS__TARGET_SPECIAL)
        return tamis__output_open(&writer->fd, writer->target, writer->loop, err);
    writer->fd = writer->target->fd;
    return TAMIS_OK;
}

static tamis_status write_compressed(void *writer, const void *bytes, size_t size, tamis_error *err);

tamis_status tamis__writer_set_compression(tamis__writer *writer, int compression, int level,
                                           const char *name, tamis_error *err) {
    if (compression == -1)
        compression = name ? (int)tamis_compression_of_path(name) : TAMIS_COMPRESSION_NONE;
    writer->codec_options = (tamis__compressor_options){(tamis_compression)compression, level, false};
    return compression == TAMIS_COMPRESSION_NONE ? TAMIS_OK
                                                 : tamis__compressor_check(&writer->codec_options, err);
}

/* Allocates all memory, before anything is created. */
static tamis_status open_buffers(tamis__writer *writer, size_t capacity, tamis_error *err) {
    writer->capacity = capacity;
    writer->buffer = tamis__alloc(&writer->memory, capacity, TAMIS__LINE);
    if (!writer->buffer)
        return tamis__fail_nomem(err, "write buffer", capacity);
    if (writer->codec_options.compression == TAMIS_COMPRESSION_NONE)
        return TAMIS_OK;
    return tamis__compressor_create(&writer->compressor, &writer->codec_options, &writer->memory,
                                    &(tamis__compressor_sink){write_compressed, writer}, err);
}

/* Refuses compressed output to a terminal, which would interpret the bytes as commands. */
static tamis_status check_terminal(const tamis__writer *writer, tamis_error *err) {
    if (writer->codec_options.compression == TAMIS_COMPRESSION_NONE || isatty(writer->fd) != 1)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "%s: is a terminal, which shows no compressed bytes; write to a file, or without "
                       "compression",
                       tamis__show(writer->target->name).text);
}

tamis_status tamis__writer_open(tamis__writer *writer, const tamis__target *target, size_t capacity,
                                tamis__poll_loop *loop, tamis_error *err) {
    if (target->form == TAMIS__TARGET_NONE)
        return TAMIS_OK;
    writer->target = target;
    writer->loop = loop;
    writer->fd = -1;
    writer->flushed_at = tamis__now_ns();
    tamis_status status = open_buffers(writer, capacity, err);
    if (status == TAMIS_OK)
        status = open_target(writer, err);
    if (status == TAMIS_OK)
        status = check_terminal(writer, err);
    if (status != TAMIS_OK)
        tamis__writer_abandon(writer, err);
    return status;
}

/* Waits until the reader of a stopping writer reads something. */
static tamis_status wait_stopping(tamis__writer *writer, tamis_error *err) {
    struct pollfd output = {.fd = writer->fd, .events = POLLOUT};
    uint64_t end = tamis__now_ns() + TAMIS__STOP_GRACE_MS * UINT64_C(1000000), now;
    int ready;
    do { /* signals do not prolong the wait */
        now = tamis__now_ns();
        ready = tamis__sys.poll(&output, 1, now < end ? (int)((end - now) / 1000000) + 1 : 0);
    } while (ready < 0 && errno == EINTR);
    if (ready > 0)
        return TAMIS_OK;
    if (ready < 0)
        return tamis__fail_file(err, writer->target->name, errno);
    return tamis__fail(err, TAMIS_E_INTERRUPTED, ETIMEDOUT,
                       "%s: stopped on request, and its reader takes nothing: the last records are not out",
                       tamis__show(writer->target->name).text);
}

/*
 * Handles a short write (sys_errno 0) or a failed one. TAMIS_OK: continue. A signal during a write makes it
 * short without EINTR, so both are treated alike.
 */
static tamis_status handle_short_write(tamis__writer *writer, int sys_errno, tamis_error *err) {
    const char *name = writer->target->name;
    bool ready;
    tamis_status status;
    if (writer->stopping && (sys_errno == EINTR || sys_errno == EAGAIN || sys_errno == 0))
        return TAMIS_OK; /* the stop is known; the next write waits until it is possible */
    if (sys_errno == EINTR || sys_errno == 0)
        status = tamis__poll_loop_check(writer->loop, &(tamis__awaited){.fd = -1, .name = name}, &ready, err);
    else if (sys_errno == EAGAIN)
        status = tamis__poll_loop_wait(writer->loop, &(tamis__awaited){writer->fd, POLLOUT, name}, err);
    else
        return tamis__fail_file(err, name, sys_errno);
    if (status != TAMIS_E_INTERRUPTED)
        return status;
    writer->stopping = true;
    return TAMIS_OK;
}

/* Counts the records in bytes that were put but will not be written. A last record without terminator counts
 * too. */
static void count_lost_records(tamis__writer *writer, const unsigned char *data, size_t size) {
    for (size_t i = 0; i < size; i++)
        writer->lost_terminators += data[i] == writer->terminator;
}

uint64_t tamis__writer_records_written(const tamis__writer *writer) {
    if (!writer->failed)
        return writer->records;
    if (writer->compressor)
        return writer->flushed_records;
    const uint64_t lost =
        writer->lost_terminators + (writer->owes_terminator && writer->lost_terminators > 0);
    return lost < writer->records ? writer->records - lost : 0;
}

static tamis_status write_all(tamis__writer *writer, const unsigned char *data, size_t size,
                              tamis_error *err) {
    tamis_status status = TAMIS_OK;
    while (size > 0 && status == TAMIS_OK) {
        size_t piece = size;
        if (writer->stopping) {
            status = wait_stopping(writer, err);
            piece = size < PIPE_BUF ? size : PIPE_BUF;
        }
        if (status != TAMIS_OK)
            break;
        const ssize_t wrote = tamis__sys.write(writer->fd, data, piece);
        const int sys_errno = wrote < 0 ? errno : wrote == 0 ? EIO : 0;
        if (wrote > 0 && writer->prefix)
            tamis__file_prefix_add(writer->prefix, data, (size_t)wrote);
        if (wrote > 0 && writer->uncommitted)
            tamis__uncommitted_compare(writer->uncommitted, data, (uint64_t)wrote);
        if (wrote > 0) {
            data += wrote;
            size -= (size_t)wrote;
            writer->written += (uint64_t)wrote;
        }
        if (wrote > 0 && writer->durable && S_ISREG(writer->target->st.st_mode))
            tamis__send_off(writer->fd, &writer->sent, writer->written);
        if (wrote < (ssize_t)piece)
            status = handle_short_write(writer, sys_errno, err);
    }
    writer->failed = status != TAMIS_OK;
    count_lost_records(writer, data, size);
    return status;
}

static tamis_status write_compressed(void *writer, const void *bytes, size_t size, tamis_error *err) {
    return write_all(writer, bytes, size, err);
}

static tamis_status pass_on(tamis__writer *writer, const void *data, size_t size, tamis_error *err) {
    const uint64_t begun = tamis__clock_begin(writer->time);
    const tamis_status status = writer->compressor
                                    ? tamis__compressor_put(writer->compressor, data, size, err)
                                    : write_all(writer, data, size, err);
    writer->failed = status != TAMIS_OK; /* the compressor may have failed */
    writer->in_frame = true;
    tamis__clock_end(writer->time, begun);
    return status;
}

static tamis_status empty_buffer(tamis__writer *writer, tamis_error *err) {
    const size_t used = writer->used;
    writer->used = 0;
    return used ? pass_on(writer, writer->buffer, used, err) : TAMIS_OK;
}

/* Calls tamis__compressor_flush or tamis__compressor_finish. */
static tamis_status run_compressor(tamis__writer *writer,
                                   tamis_status (*end)(tamis__compressor *, tamis_error *),
                                   tamis_error *err) {
    const uint64_t begun = tamis__clock_begin(writer->time);
    const tamis_status status = end(writer->compressor, err);
    writer->failed = status != TAMIS_OK;
    if (status == TAMIS_OK)
        writer->flushed_records = writer->records;
    tamis__clock_end(writer->time, begun);
    return status;
}

tamis_status tamis__writer_flush(tamis__writer *writer, tamis_error *err) {
    if (!is_open(writer) || writer->failed || writer->ended)
        return TAMIS_OK;
    writer->flushed_at = tamis__now_ns();
    const tamis_status status = empty_buffer(writer, err);
    if (status != TAMIS_OK || !writer->compressor)
        return status;
    return run_compressor(writer, tamis__compressor_flush, err);
}

tamis_status tamis__writer_flush_due(tamis__writer *writer, tamis_error *err) {
    const uint64_t hold = writer->compressor ? HOLD_COMPRESSED_NS : HOLD_NS;
    return tamis__now_ns() - writer->flushed_at >= hold ? tamis__writer_flush(writer, err) : TAMIS_OK;
}

tamis_status tamis__writer_end(tamis__writer *writer, tamis_error *err) {
    if (!is_open(writer) || writer->failed || writer->ended)
        return TAMIS_OK;
    writer->ended = true;
    const tamis_status status = empty_buffer(writer, err);
    /* An empty output becomes an empty compressed file, but nothing is appended after a commit. */
    if (status != TAMIS_OK || !writer->compressor || (writer->written > 0 && !writer->in_frame))
        return status;
    return run_compressor(writer, tamis__compressor_finish, err);
}

static tamis_status put_bytes(tamis__writer *writer, const void *data, size_t size, tamis_error *err) {
    if (size > writer->capacity - writer->used) {
        const tamis_status status = empty_buffer(writer, err);
        if (status != TAMIS_OK) {
            count_lost_records(writer, data, size);
            return status;
        }
    }
    if (size >= writer->capacity)
        return pass_on(writer, data, size, err);
    memcpy(writer->buffer + writer->used, data, size);
    writer->used += size;
    return TAMIS_OK;
}

tamis_status tamis__writer_put(tamis__writer *writer, const void *data, size_t size, bool unterminated,
                               tamis_error *err) {
    if (!is_open(writer))
        return TAMIS_OK;
    tamis_status status = TAMIS_OK;
    if (writer->owes_terminator)
        status = put_bytes(writer, &writer->terminator, 1, err);
    writer->owes_terminator = unterminated;
    return status == TAMIS_OK ? put_bytes(writer, data, size, err) : status;
}

static tamis_status sync_output(const tamis__writer *writer, tamis_error *err) {
    const bool on_disk = is_staged(writer) || S_ISREG(writer->target->st.st_mode);
    if (!writer->durable || !on_disk)
        return TAMIS_OK;
    const uint64_t begun = tamis__clock_begin(writer->time);
    const int sys_errno = tamis__sync(writer->fd) == 0 ? 0 : errno;
    tamis__clock_end(writer->time, begun);
    return sys_errno == 0 ? TAMIS_OK : tamis__fail_file(err, writer->target->name, sys_errno);
}

/* True if the reader of a pipe or socket is there and has read everything. Stopping a pipeline also stops its
 * reader, and bytes between the two are lost then. The reader gets as much time as for a write. */
static bool reader_consumed_all(const tamis__writer *writer) {
    enum { STEP_MS = 2 };
    const mode_t mode = writer->target->st.st_mode;
    const uint64_t end = tamis__now_ns() + TAMIS__STOP_GRACE_MS * UINT64_C(1000000);
    if (!S_ISFIFO(mode) && !S_ISSOCK(mode))
        return true;
    for (int wait = 0;; wait = STEP_MS) {
        struct pollfd output = {.fd = writer->fd}; /* no events: reports only that the reader has gone */
        int unread;
        if (tamis__sys.poll(&output, 1, wait) < 0 && errno != EINTR)
            return false;
        if (output.revents || tamis__sys.unread(writer->fd, &unread) < 0)
            return false;
        if (unread == 0 || tamis__now_ns() >= end)
            return unread == 0;
    }
}

/* Ends the compressed file and begins another one after it. */
static tamis_status restart_compressor(tamis__writer *writer, tamis_error *err) {
    tamis_status status = run_compressor(writer, tamis__compressor_finish, err);
    if (status != TAMIS_OK)
        return status;
    tamis__compressor_free(writer->compressor);
    writer->compressor = NULL;
    writer->in_frame = false;
    status = tamis__compressor_create(&writer->compressor, &writer->codec_options, &writer->memory,
                                      &(tamis__compressor_sink){write_compressed, writer}, err);
    writer->failed = status != TAMIS_OK;
    return status;
}

tamis_status tamis__writer_commit(tamis__writer *writer, bool *all_consumed, tamis_error *err) {
    *all_consumed = !is_open(writer) || !writer->failed; /* a failed writer's bytes will never be written */
    if (!is_open(writer) || writer->failed || writer->ended)
        return TAMIS_OK;
    writer->flushed_at = tamis__now_ns();
    tamis_status status = empty_buffer(writer, err);
    if (status == TAMIS_OK && writer->compressor && writer->in_frame)
        status = restart_compressor(writer, err);
    if (status != TAMIS_OK)
        return status;
    *all_consumed = reader_consumed_all(writer);
    status = sync_output(writer, err);
    writer->failed = status != TAMIS_OK;
    return status;
}

bool tamis__writer_is_complete(tamis__writer *writer, tamis_error *err) {
    if (!is_open(writer))
        return true;
    if (writer->failed || !writer->ended || is_staged(writer))
        return false;
    return !writer->durable || (reader_consumed_all(writer) && sync_output(writer, err) == TAMIS_OK);
}

/* Closes the output unless it is a descriptor of the caller. An error of close may stem from an earlier
 * write. */
static int close_output(tamis__writer *writer) {
    const int fd = writer->fd;
    writer->fd = -1;
    if (fd < 0 || writer->target->form == TAMIS__TARGET_DESCRIPTOR)
        return 0;
    return tamis__sys.close(fd);
}

tamis_status tamis__writer_finish(tamis__writer *writer, tamis_error *err) {
    if (!is_open(writer))
        return TAMIS_OK;
    tamis_status status = tamis__writer_end(writer, err);
    if (status == TAMIS_OK)
        status = sync_output(writer, err);
    if (status != TAMIS_OK)
        return status;
    return close_output(writer) == 0 ? TAMIS_OK : tamis__fail_file(err, writer->target->name, errno);
}

void tamis__writer_abandon(tamis__writer *writer, tamis_error *err) {
    if (!is_open(writer))
        return;
    close_output(writer);
    tamis__temp_file_remove(&writer->temp_file, err);
    tamis__compressor_free(writer->compressor);
    writer->compressor = NULL;
    tamis__free(&writer->memory, writer->buffer, writer->capacity);
    writer->buffer = NULL;
    writer->used = 0;
}
