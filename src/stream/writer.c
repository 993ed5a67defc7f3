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
#include "stream/writer.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/lock.h"
#include "store/trouble.h"
#include "stream/clock.h"
#include "stream/ends.h"

static const uint64_t HOLD_NS = 5000000;           /* longest time that a record waits in the buffer */
static const uint64_t HOLD_PACKED_NS = 1000000000; /* the same if compressed, where a flush costs space */

static bool is_open(const tamis__writer *writer) {
    return writer->place && writer->buffer;
}

static bool is_aside(const tamis__writer *writer) {
    return writer->place->form == TAMIS__PLACE_REPLACE || writer->place->form == TAMIS__PLACE_NEW;
}

bool tamis__writer_direct(const tamis__writer *writer) {
    return is_open(writer) && !is_aside(writer);
}

static tamis_status open_place(tamis__writer *writer, tamis_error *err) {
    if (is_aside(writer)) {
        const tamis_status status = tamis__lock_look(writer->place, err);
        return status == TAMIS_OK
                   ? tamis__aside_create(&writer->aside, writer->place, writer->durable, &writer->fd, err)
                   : status;
    }
    if (writer->place->form == TAMIS__PLACE_SPECIAL)
        return tamis__place_open(writer->place, writer->watch, &writer->fd, err);
    writer->fd = writer->place->fd;
    return TAMIS_OK;
}

static tamis_status write_packed(void *writer, const void *bytes, size_t size, tamis_error *err);

tamis_status tamis__writer_set_packing(tamis__writer *writer, int packing, int level, const char *name,
                                       tamis_error *err) {
    if (packing == -1)
        packing = name ? (int)tamis_packing_of_name(name) : TAMIS_PACKING_NONE;
    writer->packing = (tamis__pack_want){(tamis_packing)packing, level, false};
    return packing == TAMIS_PACKING_NONE ? TAMIS_OK : tamis__pack_check(&writer->packing, err);
}

/* Allocates all memory, before anything is created. */
static tamis_status open_buffers(tamis__writer *writer, size_t capacity, tamis_error *err) {
    writer->capacity = capacity;
    writer->buffer = tamis__alloc(&writer->memory, capacity, TAMIS__LINE);
    if (!writer->buffer)
        return tamis__fail_nomem(err, "write buffer", capacity);
    if (writer->packing.packing == TAMIS_PACKING_NONE)
        return TAMIS_OK;
    return tamis__pack_create(&writer->pack, &writer->packing, &writer->memory,
                              &(tamis__pack_out){write_packed, writer}, err);
}

/* Refuses compressed output to a terminal, which would interpret the bytes as commands. */
static tamis_status check_terminal(const tamis__writer *writer, tamis_error *err) {
    if (writer->packing.packing == TAMIS_PACKING_NONE || isatty(writer->fd) != 1)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "%s: is a terminal, which shows no compressed bytes; write to a file, or without "
                       "compression",
                       tamis__show(writer->place->name).text);
}

tamis_status tamis__writer_open(tamis__writer *writer, const tamis__place *place, size_t capacity,
                                tamis__watch *watch, tamis_error *err) {
    if (place->form == TAMIS__PLACE_NOWHERE)
        return TAMIS_OK;
    writer->place = place;
    writer->watch = watch;
    writer->fd = -1;
    writer->flushed_at = tamis__now_ns();
    tamis_status status = open_buffers(writer, capacity, err);
    if (status == TAMIS_OK)
        status = open_place(writer, err);
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
        return tamis__fail_file(err, writer->place->name, errno);
    return tamis__fail(err, TAMIS_E_INTERRUPTED, ETIMEDOUT,
                       "%s: stopped on request, and its reader takes nothing: the last records are not out",
                       tamis__show(writer->place->name).text);
}

/*
 * Handles a short write (sys_errno 0) or a failed one. TAMIS_OK: continue. A signal during a write makes it
 * short without EINTR, so both are treated alike.
 */
static tamis_status after_short(tamis__writer *writer, int sys_errno, tamis_error *err) {
    bool ready;
    tamis_status status;
    if (writer->stopping && (sys_errno == EINTR || sys_errno == EAGAIN || sys_errno == 0))
        return TAMIS_OK; /* the stop is known; the next write waits until it is possible */
    if (sys_errno == EINTR || sys_errno == 0)
        status = tamis__watch_look(writer->watch, -1, 0, &ready, writer->place->name, err);
    else if (sys_errno == EAGAIN)
        status = tamis__watch_wait(writer->watch, writer->fd, POLLOUT, writer->place->name, err);
    else
        return tamis__fail_file(err, writer->place->name, sys_errno);
    if (status != TAMIS_E_INTERRUPTED)
        return status;
    writer->stopping = true;
    return TAMIS_OK;
}

/* Counts the records in bytes that were put but will not be written. A last record without terminator counts
 * too. */
static void lose_bytes(tamis__writer *writer, const unsigned char *data, size_t size) {
    for (size_t i = 0; i < size; i++)
        writer->lost_ends += data[i] == writer->terminator;
}

uint64_t tamis__writer_taken(const tamis__writer *writer) {
    if (!writer->failed)
        return writer->records;
    if (writer->pack)
        return writer->flushed_records;
    const uint64_t lost = writer->lost_ends + (writer->owes_terminator && writer->lost_ends > 0);
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
        ssize_t wrote = tamis__sys.write(writer->fd, data, piece);
        int sys_errno = wrote < 0 ? errno : wrote == 0 ? EIO : 0;
        if (wrote > 0 && writer->front)
            tamis__identity_front_add(writer->front, data, (size_t)wrote);
        if (wrote > 0 && writer->tail)
            tamis__tail_compare(writer->tail, data, (uint64_t)wrote);
        if (wrote > 0) {
            data += wrote;
            size -= (size_t)wrote;
            writer->written += (uint64_t)wrote;
        }
        if (wrote > 0 && writer->durable && S_ISREG(writer->place->about.st_mode))
            tamis__send_off(writer->fd, &writer->sent, writer->written);
        if (wrote < (ssize_t)piece)
            status = after_short(writer, sys_errno, err);
    }
    writer->failed = status != TAMIS_OK;
    lose_bytes(writer, data, size);
    return status;
}

static tamis_status write_packed(void *writer, const void *bytes, size_t size, tamis_error *err) {
    return write_all(writer, bytes, size, err);
}

static tamis_status hand_on(tamis__writer *writer, const void *data, size_t size, tamis_error *err) {
    const uint64_t begun = tamis__clock_begin(writer->time);
    tamis_status status =
        writer->pack ? tamis__pack_put(writer->pack, data, size, err) : write_all(writer, data, size, err);
    writer->failed = status != TAMIS_OK; /* the compressor may have failed */
    writer->in_pack = true;
    tamis__clock_end(writer->time, begun);
    return status;
}

static tamis_status empty_buffer(tamis__writer *writer, tamis_error *err) {
    size_t used = writer->used;
    writer->used = 0;
    return used ? hand_on(writer, writer->buffer, used, err) : TAMIS_OK;
}

/* Calls tamis__pack_flush or tamis__pack_finish. */
static tamis_status end_pack(tamis__writer *writer, tamis_status (*end)(tamis__pack *, tamis_error *),
                             tamis_error *err) {
    const uint64_t begun = tamis__clock_begin(writer->time);
    const tamis_status status = end(writer->pack, err);
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
    tamis_status status = empty_buffer(writer, err);
    if (status != TAMIS_OK || !writer->pack)
        return status;
    return end_pack(writer, tamis__pack_flush, err);
}

tamis_status tamis__writer_flush_due(tamis__writer *writer, tamis_error *err) {
    uint64_t hold = writer->pack ? HOLD_PACKED_NS : HOLD_NS;
    return tamis__now_ns() - writer->flushed_at >= hold ? tamis__writer_flush(writer, err) : TAMIS_OK;
}

tamis_status tamis__writer_end(tamis__writer *writer, tamis_error *err) {
    if (!is_open(writer) || writer->failed || writer->ended)
        return TAMIS_OK;
    writer->ended = true;
    tamis_status status = empty_buffer(writer, err);
    /* An empty output becomes an empty compressed file, but nothing is appended after a commit. */
    if (status != TAMIS_OK || !writer->pack || (writer->written > 0 && !writer->in_pack))
        return status;
    return end_pack(writer, tamis__pack_finish, err);
}

static tamis_status put_bytes(tamis__writer *writer, const void *data, size_t size, tamis_error *err) {
    if (size > writer->capacity - writer->used) {
        tamis_status status = empty_buffer(writer, err);
        if (status != TAMIS_OK) {
            lose_bytes(writer, data, size);
            return status;
        }
    }
    if (size >= writer->capacity)
        return hand_on(writer, data, size, err);
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
    bool on_disk = is_aside(writer) || S_ISREG(writer->place->about.st_mode);
    if (!writer->durable || !on_disk)
        return TAMIS_OK;
    const uint64_t begun = tamis__clock_begin(writer->time);
    const int sys_errno = tamis__sync(writer->fd) == 0 ? 0 : errno;
    tamis__clock_end(writer->time, begun);
    return sys_errno == 0 ? TAMIS_OK : tamis__fail_file(err, writer->place->name, sys_errno);
}

/* True if the reader of a pipe or socket is there and has read everything. Stopping a pipeline also stops its
 * reader, and bytes between the two are lost then. The reader gets as much time as for a write. */
static bool is_taken(const tamis__writer *writer) {
    enum { STEP_MS = 2 };
    mode_t mode = writer->place->about.st_mode;
    uint64_t end = tamis__now_ns() + TAMIS__STOP_GRACE_MS * UINT64_C(1000000);
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
static tamis_status begin_pack_anew(tamis__writer *writer, tamis_error *err) {
    tamis_status status = end_pack(writer, tamis__pack_finish, err);
    if (status != TAMIS_OK)
        return status;
    tamis__pack_free(writer->pack);
    writer->pack = NULL;
    writer->in_pack = false;
    status = tamis__pack_create(&writer->pack, &writer->packing, &writer->memory,
                                &(tamis__pack_out){write_packed, writer}, err);
    writer->failed = status != TAMIS_OK;
    return status;
}

tamis_status tamis__writer_commit(tamis__writer *writer, bool *taken, tamis_error *err) {
    *taken = !is_open(writer) || !writer->failed; /* a failed writer's bytes will never be written */
    if (!is_open(writer) || writer->failed || writer->ended)
        return TAMIS_OK;
    writer->flushed_at = tamis__now_ns();
    tamis_status status = empty_buffer(writer, err);
    if (status == TAMIS_OK && writer->pack && writer->in_pack)
        status = begin_pack_anew(writer, err);
    if (status != TAMIS_OK)
        return status;
    *taken = is_taken(writer);
    status = sync_output(writer, err);
    writer->failed = status != TAMIS_OK;
    return status;
}

bool tamis__writer_settled(tamis__writer *writer, tamis_error *err) {
    if (!is_open(writer))
        return true;
    if (writer->failed || !writer->ended || is_aside(writer))
        return false;
    return !writer->durable || (is_taken(writer) && sync_output(writer, err) == TAMIS_OK);
}

/* Closes the output unless it is a descriptor of the caller. An error of close may stem from an earlier
 * write. */
static int close_output(tamis__writer *writer) {
    int fd = writer->fd;
    writer->fd = -1;
    if (fd < 0 || writer->place->form == TAMIS__PLACE_DESCRIPTOR)
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
    return close_output(writer) == 0 ? TAMIS_OK : tamis__fail_file(err, writer->place->name, errno);
}

void tamis__writer_abandon(tamis__writer *writer, tamis_error *err) {
    if (!is_open(writer))
        return;
    close_output(writer);
    tamis__aside_remove(&writer->aside, err);
    tamis__pack_free(writer->pack);
    writer->pack = NULL;
    tamis__free(&writer->memory, writer->buffer, writer->capacity);
    writer->buffer = NULL;
    writer->used = 0;
}
