/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/trouble.h"

enum { LINKS_MAX = 40 }; /* symbolic links followed at most, as in the kernel */

static bool starts_with(const char *text, const char *head) {
    return strncmp(text, head, strlen(head)) == 0;
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

const char *tamis__output_name(const char *path) {
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

size_t tamis__place_folder(const tamis__place *place) {
    const char *slash = strrchr(place->path, '/');
    return slash ? (size_t)(slash - place->path) + 1 : 0;
}

/* Replaces place->path, a symbolic link, by its target. */
static tamis_status follow(tamis__place *place, const char *to, size_t size, tamis_error *err) {
    size_t folder = *to == '/' ? 0 : tamis__place_folder(place);
    if (folder + size >= sizeof place->path)
        return tamis__fail_file(err, place->name, ENAMETOOLONG);
    memcpy(place->path + folder, to, size);
    place->path[folder + size] = '\0';
    return TAMIS_OK;
}

/*
 * Follows the symbolic links at the end of place->path one by one. The kernel follows those in its directory
 * part. Sets DESCRIPTOR if a link leads to a descriptor's name, as a log file linked to /dev/stdout does.
 */
static tamis_status resolve(tamis__place *place, tamis_error *err) {
    char to[PATH_MAX];
    for (int links = 0; links <= LINKS_MAX; links++) {
        place->fd = tamis__descriptor_named(place->path, -1);
        if (place->fd >= 0) {
            place->form = TAMIS__PLACE_DESCRIPTOR;
            return TAMIS_OK;
        }
        if (starts_with(place->path, "/proc/"))
            return TAMIS_OK;
        ssize_t size = tamis__sys.readlink(place->path, to, sizeof to);
        if (size < 0 && (errno == EINVAL || errno == ENOENT))
            return TAMIS_OK; /* not a link, or no such file */
        if (size < 0)
            return tamis__fail_file(err, place->name, errno);
        tamis_status status = follow(place, to, (size_t)size, err);
        if (status != TAMIS_OK)
            return status;
    }
    return tamis__fail_file(err, place->name, ELOOP);
}

/* A rename needs only write permission for the directory. We require it for the file too, as writing to it
 * would. */
static tamis_status check_writable(const tamis__place *place, tamis_error *err) {
    int fd;
    do
        fd = tamis__sys.open(place->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return tamis__fail_file(err, place->name, errno);
    tamis__sys.close(fd);
    return TAMIS_OK;
}

static tamis_status find_new(tamis__place *place, tamis_error *err) {
    char folder[PATH_MAX] = ".";
    size_t size = tamis__place_folder(place);
    if (place->path[size] == '\0')
        return tamis__fail_file(err, place->name, ENOENT);
    if (size > 0) {
        memcpy(folder, place->path, size);
        folder[size] = '\0';
    }
    place->form = TAMIS__PLACE_NEW;
    return tamis__sys.stat(folder, &place->about) == 0 ? TAMIS_OK : tamis__fail_file(err, place->name, errno);
}

static tamis_status find_path(tamis__place *place, tamis_error *err) {
    if (tamis__sys.stat(place->path, &place->about) < 0)
        return errno == ENOENT ? find_new(place, err) : tamis__fail_file(err, place->name, errno);
    if (S_ISDIR(place->about.st_mode))
        return tamis__fail_file(err, place->name, EISDIR);
    place->form = TAMIS__PLACE_SPECIAL;
    if (!S_ISREG(place->about.st_mode) || starts_with(place->path, "/proc/"))
        return TAMIS_OK;
    place->form = TAMIS__PLACE_REPLACE;
    return check_writable(place, err);
}

tamis_status tamis__place_find(tamis__place *place, const char *path, tamis_error *err) {
    memset(place, 0, sizeof *place);
    place->fd = -1;
    if (!path)
        return TAMIS_OK;
    place->name = tamis__output_name(path);
    tamis_status status = TAMIS_OK;
    place->fd = tamis__descriptor_named(path, STDOUT_FILENO);
    if (place->fd >= 0) {
        place->form = TAMIS__PLACE_DESCRIPTOR;
    } else {
        status = follow(place, path, strlen(path), err);
        if (status == TAMIS_OK)
            status = resolve(place, err);
    }
    if (status != TAMIS_OK)
        return status;
    if (place->form != TAMIS__PLACE_DESCRIPTOR)
        return find_path(place, err);
    if (tamis__sys.fstat(place->fd, &place->about) < 0)
        return tamis__fail_file(err, place->name, errno);
    return S_ISDIR(place->about.st_mode) ? tamis__fail_file(err, place->name, EISDIR) : TAMIS_OK;
}
