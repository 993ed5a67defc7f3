/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Atomic replacement of a file:
 *
 *     1. create a temporary file .NAME.tamis-PID-TRY in the directory of NAME
 *     2. give it the owner, group and permissions of the old file, if there is one
 *     3. write, fsync (if durable), close
 *     4. rename it to NAME
 *
 * After an error in any step the temporary file is removed, and the old file is unchanged.
 *
 * - A symbolic link stays, and the file that it leads to is replaced. A link that leads nowhere is refused.
 * - A FIFO or device cannot be replaced, so it is written directly.
 */
#include "cli/process/cli_save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BASE_SHOWN = 180, /* bytes of NAME in the temporary name: the rest of NAME_MAX is for the additions */
    TRIES = 100       /* temporary names to try */
};

static const char *remedy_of(int number) {
    switch (number) {
    case ENOSPC:
    case EDQUOT:
        return "free space there, or write elsewhere";
    case EFBIG:
        return "raise the limit of file sizes, or write elsewhere";
    case ENOENT:
    case ENOTDIR:
        return "check the name and its directory";
    case EISDIR:
        return "name a file";
    case ENAMETOOLONG:
        return "use a shorter name";
    case ELOOP:
        return "check where its symbolic links lead";
    case EACCES:
    case EPERM:
        return "check the permissions of the file and its directory";
    case EROFS:
        return "make it writable, or name a file elsewhere";
    default:
        return "write elsewhere";
    }
}

static tamis_status refuse_output(const char *name, int number, tamis_error *err) {
    char why[80];

    return cli_fail(err, "%.180s: %s; %s", name, cli_errno_text(why, sizeof why, number), remedy_of(number));
}

/* Returns false with errno set. */
static bool write_all(int fd, const char *data, size_t size) {
    while (size > 0) {
        const ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        data += written;
        size -= (size_t)written;
    }
    return true;
}

/* Copies owner, group and permissions of the replaced file. If this process may not set owner and group,
 * set-id bits are dropped. If it cannot set the group either, the group gets the permissions of others. So
 * nobody gains permissions. */
static bool inherit(int fd, const struct stat *old) {
    struct stat now;
    mode_t mode = old->st_mode & 07777;

    if (fstat(fd, &now) != 0)
        return false;
    if ((now.st_uid != old->st_uid || now.st_gid != old->st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) != 0) {
        mode &= 0777;
        if (now.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) != 0)
            mode = (mode & 0707) | (mode & 07) << 3;
    }
    return fchmod(fd, mode) == 0;
}

/* Creates the temporary file beside `name`. Returns its descriptor, or -1 with errno set. */
static int create_beside(const char *name, bool replaces, char *path, size_t size) {
    const char *slash = strrchr(name, '/'), *base = !slash ? name : slash + 1;
    int fd = -1;

    for (unsigned try = 0; fd < 0 && try < TRIES; try++) {
        const int length = snprintf(path, size, "%.*s.%.*s.tamis-%ld-%u", (int)(base - name), name,
                                    (int)BASE_SHOWN, base, (long)getpid(), try);
        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        /* Other users cannot open it until it has the permissions of the old file. */
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666);
        if (fd < 0 && errno != EEXIST && errno != EINTR)
            return -1;
    }
    return fd;
}

/* Replaces or creates a regular file. `old` is the existing file, or NULL. Returns false with errno set. */
static bool replace(const char *name, const struct stat *old, const char *data, size_t size, bool durable) {
    char path[PATH_MAX];
    int fd = create_beside(name, old, path, sizeof path), number;

    if (fd < 0)
        return false;
    bool whole = (!old || inherit(fd, old)) && write_all(fd, data, size) && (!durable || fsync(fd) == 0);
    number = errno;
    if (close(fd) != 0 && whole) {
        whole = false;
        number = errno;
    }
    if (whole && rename(path, name) == 0)
        return true;
    if (whole)
        number = errno;
    unlink(path);
    errno = number;
    return false;
}

static bool write_directly(const char *name, const char *data, size_t size) {
    int fd = open(name, O_WRONLY | O_CLOEXEC), number;

    if (fd < 0)
        return false;
    const bool whole = write_all(fd, data, size);
    number = errno;
    if (close(fd) != 0 && whole)
        return false;
    errno = number;
    return whole;
}

tamis_status cli_save(const char *name, const char *data, size_t size, bool durable, tamis_error *err) {
    char target[PATH_MAX];
    struct stat st;
    bool done;

    if (strcmp(name, "-") == 0) {
        fwrite(data, 1, size, stdout); /* cli_run checks stdout for errors at the end */
        return TAMIS_OK;
    }
    signal(SIGXFSZ, SIG_IGN); /* exceeding the limit of file sizes becomes an error of write() */
    if (stat(name, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return refuse_output(name, EISDIR, err);
        if (!S_ISREG(st.st_mode))
            done = write_directly(name, data, size);
        else
            done = realpath(name, target) && replace(target, &st, data, size, durable);
    } else if (errno != ENOENT) {
        done = false;
    } else if (lstat(name, &st) == 0) {
        return cli_fail(err, "%.180s: a symbolic link that leads nowhere; remove it, or write elsewhere",
                        name);
    } else {
        done = replace(name, NULL, data, size, durable);
    }
    return done ? TAMIS_OK : refuse_output(name, errno, err);
}
