/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * What the name of an output refers to. A name does not say how its file may be written, so it is classified
 * before anything is created:
 *
 *     name                                      form          written by
 *     ---------------------------------------   -----------   ---------------------------------------------
 *     -, /dev/stdout, /dev/fd/N                 DESCRIPTOR    the descriptor itself, which stays open
 *     a FIFO, a device, a file under /proc      SPECIAL       opening it; readers see each write
 *     an existing regular file                  REPLACE       a temporary file that is renamed over it
 *     a name without a file                     NEW           the same; it must not exist then
 *     NULL                                      NONE          nobody
 *
 * A name under /dev/fd is not opened: that would start at the beginning of a file that others append to, and
 * fails for a socket.
 *
 * Symbolic links. A rename replaces the link, not the file that it leads to. So the links at the end of a
 * path are followed here one by one. The path that is left is the one to rename to. Each step looks for the
 * name of a descriptor: log files are linked to /dev/stdout in containers. Links in the directory part are
 * the kernel's.
 */
#include "store/file/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/file/file_error.h"

enum { LINKS_MAX = 40 }; /* symbolic links followed at most, as in the kernel */

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Parses the whole text as a decimal number; -1 if it is none. */
static int number_of(const char *text) {
    if (*text < '0' || *text > '9')
        return -1;
    char *end;
    long number = strtol(text, &end, 10);
    return *end || number > INT_MAX ? -1 : (int)number;
}

int tamis__descriptor_named(const char *path, int standard) {
    static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    if (strcmp(path, "-") == 0)
        return standard;
    for (int fd = 0; fd < 3; fd++)
        if (strcmp(path, names[fd]) == 0)
            return fd;
    if (starts_with(path, "/dev/fd/"))
        return number_of(path + strlen("/dev/fd/"));
    if (starts_with(path, "/proc/self/fd/"))
        return number_of(path + strlen("/proc/self/fd/"));
    return -1;
}

const char *tamis__input_name(const char *path) {
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static const char *output_name(const char *path) {
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

size_t tamis__path_directory_size(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

const char *tamis__path_split(const char *path, char directory[PATH_MAX]) {
    const size_t size = tamis__path_directory_size(path);
    snprintf(directory, PATH_MAX, "%.*s", size > 0 ? (int)size : 1, size > 0 ? path : ".");
    return path + size;
}

/* Replaces target->path, a symbolic link, by its target. */
static tamis_status follow_symlink(tamis__target *target, const char *to, size_t size, tamis_error *err) {
    const size_t directory = *to == '/' ? 0 : tamis__path_directory_size(target->path);
    if (directory + size >= sizeof target->path)
        return tamis__fail_file(err, target->name, ENAMETOOLONG);
    memcpy(target->path + directory, to, size);
    target->path[directory + size] = '\0';
    return TAMIS_OK;
}

/*
 * Follows the symbolic links at the end of target->path one by one. The kernel follows those in its
 * directory part. Sets DESCRIPTOR if a link leads to a descriptor's name, as a log file linked to
 * /dev/stdout does.
 */
static tamis_status resolve(tamis__target *target, tamis_error *err) {
    char to[PATH_MAX];
    for (int links = 0; links <= LINKS_MAX; links++) {
        target->fd = tamis__descriptor_named(target->path, -1);
        if (target->fd >= 0) {
            target->form = TAMIS__TARGET_DESCRIPTOR;
            return TAMIS_OK;
        }
        if (starts_with(target->path, "/proc/"))
            return TAMIS_OK;
        const ssize_t size = tamis__sys.readlink(target->path, to, sizeof to);
        if (size < 0 && (errno == EINVAL || errno == ENOENT))
            return TAMIS_OK; /* not a link, or no such file */
        if (size < 0)
            return tamis__fail_file(err, target->name, errno);
        const tamis_status status = follow_symlink(target, to, (size_t)size, err);
        if (status != TAMIS_OK)
            return status;
    }
    return tamis__fail_file(err, target->name, ELOOP);
}

/* A rename needs only write permission for the directory. We require it for the file too, as writing to it
 * would. */
static tamis_status check_writable(const tamis__target *target, tamis_error *err) {
    const int fd = tamis__open(target->path, O_WRONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return tamis__fail_file(err, target->name, errno);
    tamis__sys.close(fd);
    return TAMIS_OK;
}

static tamis_status find_new(tamis__target *target, tamis_error *err) {
    char directory[PATH_MAX];
    if (*tamis__path_split(target->path, directory) == '\0')
        return tamis__fail_file(err, target->name, ENOENT);
    target->form = TAMIS__TARGET_NEW;
    return tamis__sys.stat(directory, &target->st) == 0 ? TAMIS_OK
                                                        : tamis__fail_file(err, target->name, errno);
}

static tamis_status find_path(tamis__target *target, tamis_error *err) {
    if (tamis__sys.stat(target->path, &target->st) < 0)
        return errno == ENOENT ? find_new(target, err) : tamis__fail_file(err, target->name, errno);
    if (S_ISDIR(target->st.st_mode))
        return tamis__fail_file(err, target->name, EISDIR);
    target->form = TAMIS__TARGET_SPECIAL;
    if (!S_ISREG(target->st.st_mode) || starts_with(target->path, "/proc/"))
        return TAMIS_OK;
    target->form = TAMIS__TARGET_REPLACE;
    return check_writable(target, err);
}

tamis_status tamis__target_find(tamis__target *target, const char *path, tamis_error *err) {
    memset(target, 0, sizeof *target);
    target->fd = -1;
    if (!path)
        return TAMIS_OK;
    target->name = output_name(path);
    tamis_status status = TAMIS_OK;
    target->fd = tamis__descriptor_named(path, STDOUT_FILENO);
    if (target->fd >= 0) {
        target->form = TAMIS__TARGET_DESCRIPTOR;
    } else {
        status = follow_symlink(target, path, strlen(path), err);
        if (status == TAMIS_OK)
            status = resolve(target, err);
    }
    if (status != TAMIS_OK)
        return status;
    if (target->form != TAMIS__TARGET_DESCRIPTOR)
        return find_path(target, err);
    if (tamis__sys.fstat(target->fd, &target->st) < 0)
        return tamis__fail_file(err, target->name, errno);
    return S_ISDIR(target->st.st_mode) ? tamis__fail_file(err, target->name, EISDIR) : TAMIS_OK;
}
