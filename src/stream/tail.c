/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/system.h"
#include "store/trouble.h"

enum { PIECE = 65536 };

static bool name_tail(char *to, const char *path, const char *kind, uint64_t at, unsigned number) {
    char more[20] = "";
    if (number > 1)
        snprintf(more, sizeof more, "-%u", number);
    const int size = snprintf(to, PATH_MAX, "%s.%s-%" PRIu64 "%s", path, kind, at, more);
    return size > 0 && size < PATH_MAX;
}

static int open_again(const char *path, int flags, mode_t mode) {
    int fd;
    do
        fd = tamis__sys.open(path, flags | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Reads up to `size` bytes; fewer if the file ends or cannot be read. */
static size_t read_piece(int fd, uint64_t from, void *bytes, size_t size) {
    size_t done = 0;
    while (done < size) {
        const ssize_t got =
            tamis__sys.pread(fd, (unsigned char *)bytes + done, size - done, (off_t)(from + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

static bool write_piece(int fd, const unsigned char *bytes, size_t size) {
    while (size > 0) {
        const ssize_t wrote = tamis__sys.write(fd, bytes, size);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            errno = wrote == 0 ? EIO : errno;
            return false;
        }
        bytes += wrote;
        size -= (size_t)wrote;
    }
    return true;
}

static bool copy(int to, int from, uint64_t at, uint64_t size) {
    unsigned char bytes[PIECE];
    for (uint64_t done = 0; done < size;) {
        const size_t want = size - done < PIECE ? (size_t)(size - done) : PIECE;
        if (read_piece(from, at + done, bytes, want) != want) {
            errno = EIO;
            return false;
        }
        if (!write_piece(to, bytes, want))
            return false;
        done += want;
    }
    return true;
}

static int sync_folder(const char *folder) {
    int fd;
    do
        fd = tamis__sys.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return -1;
    const int done = tamis__sync_folder(fd), failed = errno;
    tamis__sys.close(fd);
    errno = failed;
    return done;
}

tamis_status tamis__tail_make(tamis__tail *tail, const char *path, const char *folder, int fd, mode_t mode,
                              uint64_t at, uint64_t size, tamis_error *err) {
    char name[PATH_MAX];
    if (!name_tail(name, path, "tail", at, 1))
        return tamis__fail_file(err, path, ENAMETOOLONG);
    const int made = open_again(name, O_RDWR | O_CREAT | O_EXCL, mode & 0777);
    if (made < 0)
        return tamis__fail_file(err, name, errno);
    if (!copy(made, fd, at, size) || tamis__sync(made) < 0 || sync_folder(folder) < 0) {
        const int failed = errno;
        tamis__sys.close(made);
        (void)tamis__sys.unlink(name);
        return tamis__fail_file(err, name, failed);
    }
    *tail = (tamis__tail){.fd = made, .path = path, .at = at, .size = size};
    return TAMIS_OK;
}

/* Makes a file that stays, for bytes that stood at `at`; -1: none of its names is free, or it cannot be made. */
static int make_kept(const char *path, uint64_t at, mode_t mode, char *kept) {
    int fd = -1;
    for (unsigned number = 1; fd < 0 && number < 1000; number++) {
        if (!name_tail(kept, path, "kept", at, number)) {
            errno = ENAMETOOLONG;
            break;
        }
        fd = open_again(kept, O_WRONLY | O_CREAT | O_EXCL, mode & 0777);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

tamis_status tamis__tail_keep(const char *path, const char *folder, int fd, mode_t mode, uint64_t at,
                              uint64_t size, char *kept, tamis_error *err) {
    const int made = make_kept(path, at, mode, kept);
    if (made < 0)
        return tamis__fail_file(err, kept, errno);
    const bool done = copy(made, fd, at, size) && tamis__sync(made) == 0 && sync_folder(folder) == 0;
    const int failed = errno;
    tamis__sys.close(made);
    if (done)
        return TAMIS_OK;
    (void)tamis__sys.unlink(kept);
    return tamis__fail_file(err, kept, failed);
}

tamis_status tamis__tail_find(tamis__tail *tail, const char *path, uint64_t at, tamis_error *err) {
    char name[PATH_MAX];
    struct stat about;
    *tail = (tamis__tail){.fd = -1, .path = path, .at = at};
    if (!name_tail(name, path, "tail", at, 1))
        return TAMIS_OK;
    const int fd = open_again(name, O_RDWR, 0);
    if (fd < 0 && errno == ENOENT)
        return TAMIS_OK;
    if (fd < 0 || tamis__sys.fstat(fd, &about) < 0) {
        const int failed = errno;
        if (fd >= 0)
            tamis__sys.close(fd);
        return tamis__fail_file(err, name, failed);
    }
    tail->fd = fd;
    tail->size = (uint64_t)about.st_size;
    return TAMIS_OK;
}

void tamis__tail_compare(tamis__tail *tail, const void *bytes, uint64_t size) {
    const unsigned char *at = bytes;
    unsigned char piece[4096];
    while (tail->fd >= 0 && size > 0 && !tail->differs && tail->same < tail->size) {
        size_t want = size < sizeof piece ? (size_t)size : sizeof piece;
        if (want > tail->size - tail->same)
            want = (size_t)(tail->size - tail->same);
        const size_t got = read_piece(tail->fd, tail->same, piece, want);
        size_t same = 0;
        if (got == want && memcmp(piece, at, want) == 0)
            same = want;
        while (same < got && piece[same] == at[same])
            same++;
        tail->differs = same < want;
        tail->same += same;
        at += want;
        size -= want;
    }
}

void tamis__tail_compare_file(tamis__tail *tail, int fd, uint64_t from, uint64_t size) {
    unsigned char piece[4096];
    while (tail->fd >= 0 && size > 0 && !tail->differs && tail->same < tail->size) {
        const size_t want = size < sizeof piece ? (size_t)size : sizeof piece;
        const size_t got = read_piece(fd, from, piece, want);
        tamis__tail_compare(tail, piece, got);
        tail->differs = tail->differs || got != want;
        from += got;
        size -= got;
    }
}

/* The start of the record with the first differing byte. */
static uint64_t record_start(const tamis__tail *tail) {
    unsigned char piece[4096];
    for (uint64_t end = tail->same; end > 0;) {
        const size_t size = end < sizeof piece ? (size_t)end : sizeof piece;
        if (read_piece(tail->fd, end - size, piece, size) != size)
            return 0;
        for (size_t i = size; i > 0; i--)
            if (piece[i - 1] == tail->terminator)
                return end - size + i;
        end -= size;
    }
    return 0;
}

/* Gives the whole file a name that stays, as that needs no room on the disk. Where that fails too, it keeps its name. */
static void rename_tail(const tamis__tail *tail, const char *name, char *kept) {
    for (unsigned number = 1; number < 1000 && name_tail(kept, tail->path, "kept", tail->at, number);
         number++) {
        struct stat about;
        int failed = tamis__sys.rename_new(name, kept) < 0 ? errno : 0;
        if (failed == ENOSYS || failed == EINVAL) /* not on this file system */
            failed = tamis__sys.stat(kept, &about) == 0  ? EEXIST
                     : tamis__sys.rename(name, kept) < 0 ? errno
                                                         : 0;
        if (!failed)
            return;
        if (failed != EEXIST)
            break;
    }
    snprintf(kept, PATH_MAX, "%s", name);
}

/* Copies what differs to a new file, `kept`. Where that fails, as on a full disk, the whole file stays under such a name: under
 * its own it would be in the way of the next tail. */
static void keep_rest(tamis__tail *tail, const char *name, char *kept) {
    const uint64_t begin = record_start(tail);
    const int fd = make_kept(tail->path, tail->at + begin, 0600, kept);
    const bool done = fd >= 0 && copy(fd, tail->fd, begin, tail->size - begin) && tamis__sync(fd) == 0;
    if (fd >= 0)
        tamis__sys.close(fd);
    if (done) {
        tail->size -= begin;
        (void)tamis__sys.unlink(name);
        return;
    }
    if (fd >= 0)
        (void)tamis__sys.unlink(kept);
    rename_tail(tail, name, kept);
}

void tamis__tail_settle(tamis__tail *tail, bool ended, char *kept) {
    char name[PATH_MAX];
    kept[0] = '\0';
    const bool whole = tail->same == tail->size && !tail->differs;
    if (tail->fd < 0 || (!whole && !tail->differs && !ended) ||
        !name_tail(name, tail->path, "tail", tail->at, 1))
        return;
    if (whole)
        (void)tamis__sys.unlink(name);
    else
        keep_rest(tail, name, kept);
    tamis__tail_close(tail);
}

void tamis__tail_close(tamis__tail *tail) {
    if (tail->fd >= 0)
        tamis__sys.close(tail->fd);
    tail->fd = -1;
}
