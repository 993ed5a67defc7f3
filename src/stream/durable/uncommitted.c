/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The uncommitted bytes of an output: those behind its last commit, when a run begins. Nearly always the
 * process that was killed wrote them, and the run writes the same bytes there again. But another program may
 * have appended some of them, and to cut these off would destroy its data. So they are copied to a file
 * beside the output first, and the copy is compared with what the run writes:
 *
 *     OUT            | committed | r1 | r2 | r3 |       the process was killed; the last commit ends at AT
 *                                ^ AT
 *     OUT.tail-AT    | r1 | r2 | r3 |                   copied and synced; then OUT is cut back to AT
 *
 *     the run writes    r1 r2 r3    all bytes are equal: OUT.tail-AT is removed
 *                       r1 x        r2 differs: OUT.kept-B gets r2 and r3; B is the offset that r2 had
 *                       r1, end     r2 and r3 did not come: the same
 *
 * OUT.kept-B stays, and a remark names it: the user decides what its bytes are worth.
 *
 * Invariants:
 * 1. At any time each uncommitted byte is in the output, in a synced copy, or in a synced kept file.
 * 2. No file is overwritten: copies are created with O_EXCL. An output has one copy at a time, OUT.tail-AT.
 *    Kept files with the same offset are numbered: OUT.kept-B-2.
 * 3. Kept bytes begin with a whole record: the first differing byte's, found by the terminator before it.
 * 4. A commit records that a copy waits. The next process finds the copy by its name and compares it with the
 *    output from AT on (appended_output.c). The copy goes on waiting if it has all that is after the last
 *    commit. Else its rest is kept, and a new copy is made.
 *
 * A byte that cannot be read counts as different: it is kept rather than lost. A kept file that cannot be
 * written, on a full disk, is made by renaming the whole copy, which needs no space.
 */
#include "stream/durable/uncommitted.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/system.h"
#include "store/file/file_error.h"

enum { PIECE = 65536 };

static bool name_copy(char *to, const char *path, const char *kind, uint64_t offset, unsigned number) {
    char more[20] = "";
    if (number > 1)
        snprintf(more, sizeof more, "-%u", number);
    const int size = snprintf(to, PATH_MAX, "%s.%s-%" PRIu64 "%s", path, kind, offset, more);
    return size > 0 && size < PATH_MAX;
}

static int open_regular(const char *path, int flags, mode_t mode) {
    return tamis__open(path, flags | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, mode);
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

static bool copy_bytes(int to, int from, uint64_t offset, uint64_t size) {
    unsigned char bytes[PIECE];
    for (uint64_t done = 0; done < size;) {
        const size_t wanted = size - done < PIECE ? (size_t)(size - done) : PIECE;
        if (read_piece(from, offset + done, bytes, wanted) != wanted) {
            errno = EIO;
            return false;
        }
        if (!write_piece(to, bytes, wanted))
            return false;
        done += wanted;
    }
    return true;
}

int tamis__sync_name(const char *path) {
    char directory[PATH_MAX];
    (void)tamis__path_split(path, directory);
    const int fd = tamis__open(directory, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return -1;
    const int done = tamis__sync_directory(fd), failed = errno;
    tamis__sys.close(fd);
    errno = failed;
    return done;
}

tamis_status tamis__uncommitted_open_new(tamis__uncommitted *copy, const tamis__target *output, int fd,
                                         uint64_t offset, tamis_error *err) {
    const char *path = output->path;
    const uint64_t size = (uint64_t)output->st.st_size - offset;
    char name[PATH_MAX];
    if (!name_copy(name, path, "tail", offset, 1))
        return tamis__fail_file(err, path, ENAMETOOLONG);
    const int made = open_regular(name, O_RDWR | O_CREAT | O_EXCL, output->st.st_mode & 0777);
    if (made < 0)
        return tamis__fail_file(err, name, errno);
    if (!copy_bytes(made, fd, offset, size) || tamis__sync(made) < 0 || tamis__sync_name(path) < 0) {
        const int failed = errno;
        tamis__sys.close(made);
        (void)tamis__sys.unlink(name);
        return tamis__fail_file(err, name, failed);
    }
    *copy = (tamis__uncommitted){.fd = made, .path = path, .offset = offset, .size = size};
    return TAMIS_OK;
}

/* Creates OUT.kept-AT for bytes that were at `offset`. Returns -1 if no name is free, or the file cannot
 * be created. */
static int make_kept(const char *path, uint64_t offset, mode_t mode, char *kept) {
    int fd = -1;
    for (unsigned number = 1; fd < 0 && number < 1000; number++) {
        if (!name_copy(kept, path, "kept", offset, number)) {
            errno = ENAMETOOLONG;
            break;
        }
        fd = open_regular(kept, O_WRONLY | O_CREAT | O_EXCL, mode & 0777);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

tamis_status tamis__uncommitted_keep(const tamis__target *output, int fd, uint64_t offset, char *kept,
                                     tamis_error *err) {
    const uint64_t size = (uint64_t)output->st.st_size - offset;
    const int made = make_kept(output->path, offset, output->st.st_mode, kept);
    if (made < 0)
        return tamis__fail_file(err, kept, errno);
    const bool done =
        copy_bytes(made, fd, offset, size) && tamis__sync(made) == 0 && tamis__sync_name(output->path) == 0;
    const int failed = errno;
    tamis__sys.close(made);
    if (done)
        return TAMIS_OK;
    (void)tamis__sys.unlink(kept);
    return tamis__fail_file(err, kept, failed);
}

tamis_status tamis__uncommitted_open(tamis__uncommitted *copy, const char *path, uint64_t offset,
                                     tamis_error *err) {
    char name[PATH_MAX];
    struct stat st;
    *copy = (tamis__uncommitted){.fd = -1, .path = path, .offset = offset};
    if (!name_copy(name, path, "tail", offset, 1))
        return TAMIS_OK;
    const int fd = open_regular(name, O_RDWR, 0);
    if (fd < 0 && errno == ENOENT)
        return TAMIS_OK;
    if (fd < 0 || tamis__sys.fstat(fd, &st) < 0) {
        const int failed = errno;
        if (fd >= 0)
            tamis__sys.close(fd);
        return tamis__fail_file(err, name, failed);
    }
    copy->fd = fd;
    copy->size = (uint64_t)st.st_size;
    return TAMIS_OK;
}

void tamis__uncommitted_compare(tamis__uncommitted *copy, const void *bytes, uint64_t size) {
    const unsigned char *expected = bytes;
    unsigned char piece[4096];
    while (copy->fd >= 0 && size > 0 && !copy->differs && copy->equal < copy->size) {
        size_t wanted = size < sizeof piece ? (size_t)size : sizeof piece;
        if (wanted > copy->size - copy->equal)
            wanted = (size_t)(copy->size - copy->equal);
        const size_t got = read_piece(copy->fd, copy->equal, piece, wanted);
        size_t equal = 0;
        if (got == wanted && memcmp(piece, expected, wanted) == 0)
            equal = wanted;
        while (equal < got && piece[equal] == expected[equal])
            equal++;
        copy->differs = equal < wanted;
        copy->equal += equal;
        expected += wanted;
        size -= wanted;
    }
}

void tamis__uncommitted_compare_file(tamis__uncommitted *copy, int fd, uint64_t from, uint64_t size) {
    unsigned char piece[4096];
    while (copy->fd >= 0 && size > 0 && !copy->differs && copy->equal < copy->size) {
        const size_t wanted = size < sizeof piece ? (size_t)size : sizeof piece;
        const size_t got = read_piece(fd, from, piece, wanted);
        tamis__uncommitted_compare(copy, piece, got);
        copy->differs = copy->differs || got != wanted;
        from += got;
        size -= got;
    }
}

/* The start of the record with the first differing byte. */
static uint64_t record_start(const tamis__uncommitted *copy) {
    unsigned char piece[4096];
    for (uint64_t end = copy->equal; end > 0;) {
        const size_t size = end < sizeof piece ? (size_t)end : sizeof piece;
        if (read_piece(copy->fd, end - size, piece, size) != size)
            return 0;
        for (size_t i = size; i > 0; i--)
            if (piece[i - 1] == copy->terminator)
                return end - size + i;
        end -= size;
    }
    return 0;
}

/* Renames the whole copy to OUT.kept-AT, which needs no disk space. If that fails too, the copy keeps its
 * name. */
static void rename_copy(const tamis__uncommitted *copy, const char *name, char *kept) {
    for (unsigned number = 1; number < 1000 && name_copy(kept, copy->path, "kept", copy->offset, number);
         number++) {
        struct stat st;
        int failed = tamis__sys.rename_new(name, kept) < 0 ? errno : 0;
        if (failed == ENOSYS || failed == EINVAL) /* unknown to this file system */
            failed = tamis__sys.stat(kept, &st) == 0 ? EEXIST : tamis__sys.rename(name, kept) < 0 ? errno : 0;
        if (!failed)
            return;
        if (failed != EEXIST)
            break;
    }
    snprintf(kept, PATH_MAX, "%s", name);
}

/* Copies the differing rest to a new file, `kept`. If that fails, as on a full disk, the whole copy is
 * renamed. Under its old name it would be in the way of the next copy. */
static void keep_rest(tamis__uncommitted *copy, const char *name, char *kept) {
    const uint64_t begin = record_start(copy);
    const int fd = make_kept(copy->path, copy->offset + begin, 0600, kept);
    const bool done = fd >= 0 && copy_bytes(fd, copy->fd, begin, copy->size - begin) && tamis__sync(fd) == 0;
    if (fd >= 0)
        tamis__sys.close(fd);
    if (done) {
        copy->size -= begin;
        (void)tamis__sys.unlink(name);
        return;
    }
    if (fd >= 0)
        (void)tamis__sys.unlink(kept);
    rename_copy(copy, name, kept);
}

void tamis__uncommitted_finish(tamis__uncommitted *copy, bool ended, char *kept) {
    char name[PATH_MAX];
    kept[0] = '\0';
    const bool whole = copy->equal == copy->size && !copy->differs;
    if (copy->fd < 0 || (!whole && !copy->differs && !ended) ||
        !name_copy(name, copy->path, "tail", copy->offset, 1))
        return;
    if (whole)
        (void)tamis__sys.unlink(name);
    else
        keep_rest(copy, name, kept);
    tamis__uncommitted_close(copy);
}

void tamis__uncommitted_close(tamis__uncommitted *copy) {
    if (copy->fd >= 0)
        tamis__sys.close(copy->fd);
    copy->fd = -1;
}
