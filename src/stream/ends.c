/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/ends.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/trouble.h"

/* True if bytes written to one can be read from the other. */
static bool same_file(const struct stat *one, const struct stat *other) {
    bool keeps = S_ISREG(one->st_mode) || S_ISFIFO(one->st_mode) || S_ISBLK(one->st_mode);
    return keeps && one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static bool same_new(const tamis__place *one, const tamis__place *other) {
    return one->about.st_dev == other->about.st_dev && one->about.st_ino == other->about.st_ino &&
           strcmp(one->path + tamis__place_folder(one), other->path + tamis__place_folder(other)) == 0;
}

tamis_status tamis__place_differ(const tamis__place *one, const tamis__place *other, tamis_error *err) {
    bool same = false;
    if (one->form == TAMIS__PLACE_NOWHERE || other->form == TAMIS__PLACE_NOWHERE)
        return TAMIS_OK;
    if (one->form == TAMIS__PLACE_NEW || other->form == TAMIS__PLACE_NEW)
        same = one->form == other->form && same_new(one, other);
    else if (one->form == TAMIS__PLACE_DESCRIPTOR && one->fd == other->fd)
        same = true;
    else
        same = same_file(&one->about, &other->about);
    if (!same)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "%s: is the output for first occurrences and for duplicates; give them two files",
                       tamis__show(other->name).text);
}

static tamis_status check_readable(const char *path, tamis_error *err) {
    int fd = tamis__sys.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return tamis__fail_file(err, path, errno);
    tamis__sys.close(fd);
    return TAMIS_OK;
}

tamis_status tamis__input_check(const char *path, const tamis__place *outputs, size_t count, uint64_t *total,
                                tamis_error *err) {
    struct stat about;
    const char *name = tamis__input_name(path);
    int fd = tamis__descriptor_named(path, STDIN_FILENO);
    if ((fd >= 0 ? tamis__sys.fstat(fd, &about) : tamis__sys.stat(path, &about)) < 0)
        return tamis__fail_file(err, name, errno);
    if (S_ISDIR(about.st_mode))
        return tamis__fail_file(err, name, EISDIR);
    for (size_t i = 0; i < count; i++) {
        tamis__place_form form = outputs[i].form;
        if (form == TAMIS__PLACE_NOWHERE || form == TAMIS__PLACE_NEW || !same_file(&outputs[i].about, &about))
            continue;
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: is an input and an output; write to another file",
                           tamis__show(form == TAMIS__PLACE_DESCRIPTOR ? name : outputs[i].name).text);
    }
    if (!S_ISREG(about.st_mode) || *total == UINT64_MAX)
        *total = UINT64_MAX;
    else
        *total += (uint64_t)about.st_size;
    return S_ISREG(about.st_mode) && fd < 0 ? check_readable(path, err) : TAMIS_OK;
}

/* Opens a file; repeats after a signal unless the run is to stop. If *fd is -1, errno has the error. */
static tamis_status open_again(const char *path, int flags, const tamis__watch *watch, int *fd,
                               tamis_error *err) {
    for (;;) {
        bool ready;
        *fd = tamis__sys.open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
        if (*fd >= 0 || errno != EINTR)
            return TAMIS_OK;
        tamis_status status = tamis__watch_look(watch, -1, 0, &ready, path, err);
        if (status != TAMIS_OK)
            return status;
    }
}

tamis_status tamis__input_open(const char *path, const tamis__watch *watch, int *fd, struct stat *about,
                               tamis_error *err) {
    const char *name = tamis__input_name(path);
    int opened = tamis__descriptor_named(path, STDIN_FILENO);
    bool borrowed = opened >= 0;
    tamis_status status = borrowed ? TAMIS_OK : open_again(path, O_RDONLY, watch, &opened, err);
    if (status != TAMIS_OK)
        return status;
    int sys_errno = 0;
    if (opened < 0 || tamis__sys.fstat(opened, about) < 0)
        sys_errno = errno;
    else if (S_ISDIR(about->st_mode))
        sys_errno = EISDIR;
    if (sys_errno == 0) {
        *fd = opened;
        return TAMIS_OK;
    }
    if (opened >= 0 && !borrowed)
        tamis__sys.close(opened);
    return tamis__fail_file(err, name, sys_errno);
}

tamis_status tamis__place_open(const tamis__place *place, tamis__watch *watch, int *fd, tamis_error *err) {
    for (;;) {
        int opened;
        tamis_status status = open_again(place->path, O_WRONLY, watch, &opened, err);
        if (status != TAMIS_OK)
            return status;
        if (opened >= 0) {
            *fd = opened;
            return TAMIS_OK;
        }
        /* A FIFO without a reader. A wait inside of open could miss the request to stop. */
        if (errno != ENXIO || !S_ISFIFO(place->about.st_mode))
            return tamis__fail_file(err, place->name, errno);
        status = tamis__watch_pause(watch, TAMIS__FIFO_MS, place->name, err);
        if (status != TAMIS_OK)
            return status;
    }
}
