/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Following: the reader reads a file on as it grows, and leaves it when another file has its name.
 *
 *     the file has   its name         nothing more: wait
 *                    lost its name    R5, then the file that has the name now, or one that had it in between
 *                    fewer bytes      report it, and read the file again from its start
 *                    other bytes      the same: it was overwritten
 *
 * R5  A followed file is left after two observations in this order: another, non-empty file has its name, or
 *     had it since; a read finds its end. Thus nothing appended before the replacement is missed. Files that
 *     had the name in between come before the one that has it now (rotation.c).
 *     Some writers may have the file open still, when others write to the new one. So, if the new one is
 *     under the name, the file is left only when nobody can write to it any more. The system does not always
 *     know; then it is left when nobody has written to it for QUIET_MS.
 *     The file that was left stays open, and what is written to it afterwards is reported. With
 *     setup.stops_when_left the reading ends there: the caller decides which file comes next.
 *
 * A file that was overwritten with as many bytes or more is recognised by the last bytes that were read
 * (tamis__reader.last_bytes). They are compared after each wait.
 */
#include "stream/io/reader_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/target.h"
#include "stream/io/io_open.h"

/* Milliseconds. */
enum {
    NAMELESS_MS = 5000,     /* without a file under the followed name, until that is reported */
    QUIET_MS = 500,         /* without a write to a rotated file, until it is left */
    QUIET_LIMIT_MS = 30000, /* from the rotation until the file is left, whoever writes to it */
    CLOSING_MS = 10         /* between two checks whether its writers have closed it */
};
static const uint64_t NS_PER_MS = 1000000;

static const char *followed_name(const tamis__reader *reader) {
    return reader->followed_name ? reader->followed_name : reader->name;
}

/* ---- the file that was left ---- */

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

void tamis__reader_check_previous(tamis__reader *reader, bool last) {
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

/* Sets the time by which the followed file is ordered. Writes after it was replaced do not count: the next
 * file may have got its last write before them. */
static void set_order(const tamis__reader *reader, struct stat *st) {
    if (reader->replaced_at != 0)
        st->st_mtim = reader->written_at;
}

/* Keeps the followed file open, to see whether it grows. */
static void keep_previous(tamis__reader *reader) {
    struct stat st = {.st_size = 0};
    tamis__reader_check_previous(reader, true);
    (void)tamis__sys.fstat(reader->fd, &st);
    set_order(reader, &st);
    reader->previous = (tamis__previous_file){.open = true,
                                              .fd = reader->fd,
                                              .size = tamis__sys.seek(reader->fd, 0, SEEK_CUR),
                                              .written_at = st.st_mtim};
    reader->fd = -1;
}

void tamis__reader_read_on_previous(tamis__reader *reader, const struct stat *opened) {
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

/* ---- opening the next file ---- */

static void report_compressed(const tamis__reader *reader) {
    char message[TAMIS__ROTATION_REMARK];
    if (reader->rotation.compressed[0] == '\0' || !reader->setup.remark)
        return;
    tamis__rotation_describe(message, &reader->rotation);
    reader->setup.remark(reader->setup.context, message);
}

/* Opens the file under the name. If the followed file was renamed, a file that had the name in between comes
 * first. That file may be renamed again before it is opened: then the search is repeated. */
static tamis_status open_present_file(tamis__reader *reader, const char *path, bool renamed, struct stat *st,
                                      tamis_error *err) {
    tamis__rotation_step *next = &reader->rotation;
    tamis_status status;
    bool is_other;
    do {
        *next = (tamis__rotation_step){.path = ""};
        status = tamis__input_open(&reader->fd, st, path, reader->loop, err);
        if (status == TAMIS_OK && renamed)
            status = tamis__rotation_next(path, &reader->last, st, next, err);
        is_other = status == TAMIS_OK && next->is_late;
        if (status == TAMIS_OK && !is_other && next->path[0] != '\0') {
            tamis__reader_close_input(reader);
            status = tamis__input_open(&reader->fd, st, next->path, reader->loop, err);
            is_other = status == TAMIS_OK && (st->st_ino != next->st.st_ino || st->st_dev != next->st.st_dev);
        }
        if (is_other)
            tamis__reader_close_input(reader);
    } while (is_other);
    if (status == TAMIS_OK && renamed)
        report_compressed(reader);
    return status;
}

tamis_status tamis__reader_open_file(tamis__reader *reader, const char *path, struct stat *st,
                                     tamis_error *err) {
    const bool renamed = reader->following && !reader->restarted;
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

/* ---- a file that was truncated or overwritten ---- */

/* Keeps the last of the bytes that were just read. */
static void remember_last_bytes(tamis__reader *reader, const unsigned char *bytes, size_t size) {
    const size_t added = size < TAMIS__LAST_BYTES ? size : TAMIS__LAST_BYTES;
    const size_t kept =
        reader->last_size < TAMIS__LAST_BYTES - added ? reader->last_size : TAMIS__LAST_BYTES - added;
    memmove(reader->last_bytes, reader->last_bytes + reader->last_size - kept, kept);
    memcpy(reader->last_bytes + kept, bytes + size - added, added);
    reader->last_size = kept + added;
}

void tamis__reader_note_followed(tamis__reader *reader, const unsigned char *bytes, size_t size) {
    remember_last_bytes(reader, bytes, size);
    reader->read_at = tamis__now_ns();
    reader->has_local_writers = reader->has_local_writers || reader->setup.reports->has_reported;
    tamis__change_reports_check(reader->setup.reports);
}

/* True if the bytes before the position of the followed file differ from the bytes that were read. */
static bool is_overwritten(const tamis__reader *reader) {
    unsigned char now[TAMIS__LAST_BYTES];
    const off_t position = tamis__sys.seek(reader->fd, 0, SEEK_CUR);
    if (reader->last_size == 0 || position < (off_t)reader->last_size)
        return false;
    const ssize_t got =
        tamis__sys.pread(reader->fd, now, reader->last_size, position - (off_t)reader->last_size);
    return got == (ssize_t)reader->last_size && memcmp(now, reader->last_bytes, reader->last_size) != 0;
}

/* Reports that the followed file was truncated. Fails if the next run, not this reader, reads it again. */
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

/* ---- leaving a file ---- */

/* Starts the followed file again. A borrowed descriptor is the same file; otherwise the name is opened
 * again. */
static tamis_status restart_file(tamis__reader *reader, tamis_error *err) {
    if (!reader->borrowed) {
        if (tamis__sys.fstat(reader->fd, &reader->last) < 0)
            return tamis__fail_file(err, reader->name, errno);
        set_order(reader, &reader->last);
        reader->following = true;
        if (!reader->restarted)
            keep_previous(reader);
        tamis__reader_close_input(reader);
        reader->next_input--; /* open_input increments it again */
        return TAMIS_OK;
    }
    if (tamis__sys.seek(reader->fd, 0, SEEK_SET) < 0)
        return tamis__fail_file(err, reader->name, errno);
    tamis__reader_begin_file(reader);
    return TAMIS_OK;
}

/* Hands out the rest of the followed file as its last record. Then starts the file again, or ends the
 * reading. */
static tamis_status leave_file(tamis__reader *reader, tamis__record_batch *batch, bool *known,
                               tamis_error *err) {
    *known = tamis__reader_split_last(reader, batch);
    if (!reader->setup.stops_when_left)
        return restart_file(reader, err);
    keep_previous(reader);
    return TAMIS_OK;
}

tamis_status tamis__reader_leave_overwritten(tamis__reader *reader, tamis__record_batch *batch, bool *left,
                                             bool *known, tamis_error *err) {
    *left = reader->unverified && !reader->borrowed && is_overwritten(reader);
    reader->unverified = false;
    if (!*left)
        return TAMIS_OK;
    reader->restarted = true;
    const tamis_status status =
        report_truncated(reader, false, reader->file_offset + (reader->end - reader->start), err);
    return status != TAMIS_OK ? status : leave_file(reader, batch, known, err);
}

/* True if the followed file, with metadata `own`, has lost its last name, and such a file is followed no
 * longer. */
static bool stops_removed(const tamis__reader *reader, const struct stat *own) {
    return reader->setup.stops_when_removed && own->st_nlink == 0 && !reader->borrowed;
}

/* Reports once that the followed name has had no file for a while. During a rotation it has none briefly. */
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
 * True if the replaced file, with metadata `own`, may be left:
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

/* True if another file follows the open one, with metadata `own`, and the open one may be left at its end.
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

tamis_status tamis__reader_follow_file(tamis__reader *reader, tamis__record_batch *batch,
                                       tamis__reader_event *event, bool *known, tamis_error *err) {
    struct stat st;
    const uint64_t position = reader->file_offset + (reader->end - reader->start);
    if (tamis__sys.fstat(reader->fd, &st) < 0)
        return tamis__fail_file(err, reader->name, errno);
    const bool shorter = (uint64_t)st.st_size < position;
    if (!shorter && !reader->replaced) {
        const bool was_noticed = reader->replaced_at != 0;
        reader->replaced = !reader->borrowed && has_successor(reader, &st);
        if (!was_noticed && (reader->replaced || reader->replaced_at != 0))
            tamis__change_reports_check(reader->setup.reports);
        else if (reader->replaced) /* the next file was reported when it came */
            reader->setup.reports->silent = false;
        if (!reader->replaced && reader->nameless_reported && stops_removed(reader, &st)) {
            reader->removed = true;
            *known = tamis__reader_split_last(reader, batch);
            *event = TAMIS__READER_RECORDS;
            if (reader->setup.stops_when_left)
                keep_previous(reader);
            else
                tamis__reader_close_input(reader);
            return TAMIS_OK;
        }
        reader->waiting = !reader->replaced;
        *event = TAMIS__READER_IDLE;
        *known = reader->waiting;
        return TAMIS_OK;
    }
    reader->restarted = shorter;
    tamis_status status = shorter ? check_size_known(reader, &st, err) : TAMIS_OK;
    if (status == TAMIS_OK && shorter)
        status = report_truncated(reader, true, position, err);
    return status != TAMIS_OK ? status : leave_file(reader, batch, known, err);
}

/* ---- for the caller ---- */

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

bool tamis__reader_is_at_end(const tamis__reader *reader) {
    return reader->waiting;
}

void tamis__reader_prepare_wait(tamis__reader *reader) {
    if (!reader->waiting)
        return;
    reader->waiting = false;
    reader->unverified = true;
    tamis__reader_check_previous(reader, false);
    if (reader->has_reports)
        return;
    reader->has_reports = true;
    if (reader->borrowed)
        tamis__change_reports_stop(reader->setup.reports); /* its directory is not known */
    else
        tamis__change_reports_add(reader->setup.reports, followed_name(reader));
}
