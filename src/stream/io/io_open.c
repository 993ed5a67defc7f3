/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Opening inputs and outputs. All are checked before the first one is opened for good. So a name that cannot
 * work is an error before anything was read, written or created.
 *
 * Two names may be one file. Reading one and writing the other would read what the run has just written, or
 * mix two outputs. So files are compared by device and inode, not by name:
 *
 *     both are         the same file if
 *     --------------   ------------------------------------------------------------
 *     there already    device and inode are equal, and bytes written to one come out of the other:
 *                      regular files, FIFOs and block devices. /dev/null may be given twice
 *     not there yet    the directory is the same, and the last part of the name
 *     descriptors      the number is the same, or as above
 *
 * Why nothing blocks (O_NONBLOCK in every open): opening a FIFO waits for its other end. A wait inside of
 * open(2) cannot see the request to stop. An input without writer opens at once, and its first read waits in
 * the poll loop. An output without reader fails with ENXIO, and is tried again every TAMIS__FIFO_MS.
 *
 * O_NOCTTY: a terminal that is read must not become the controlling terminal of a daemon.
 *
 * A descriptor of the caller ("-", /dev/fd/N) is used as it is, with the flags that it has.
 */
#include "stream/io/io_open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/file/file_error.h"

/* True if bytes written to one can be read from the other. */
static bool is_same_file(const struct stat *a, const struct stat *b) {
    const bool keeps = S_ISREG(a->st_mode) || S_ISFIFO(a->st_mode) || S_ISBLK(a->st_mode);
    return keeps && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_same_new_file(const tamis__target *a, const tamis__target *b) {
    return a->st.st_dev == b->st.st_dev && a->st.st_ino == b->st.st_ino &&
           strcmp(a->path + tamis__path_directory_size(a->path),
                  b->path + tamis__path_directory_size(b->path)) == 0;
}

tamis_status tamis__outputs_check_distinct(const tamis__target *a, const tamis__target *b, tamis_error *err) {
    bool same = false;
    if (a->form == TAMIS__TARGET_NONE || b->form == TAMIS__TARGET_NONE)
        return TAMIS_OK;
    if (a->form == TAMIS__TARGET_NEW || b->form == TAMIS__TARGET_NEW)
        same = a->form == b->form && is_same_new_file(a, b);
    else if (a->form == TAMIS__TARGET_DESCRIPTOR && a->fd == b->fd)
        same = true;
    else
        same = is_same_file(&a->st, &b->st);
    if (!same)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "%s: is the output for first occurrences and for duplicates; give them two files",
                       tamis__show(b->name).text);
}

static tamis_status check_readable(const char *path, tamis_error *err) {
    const int fd = tamis__sys.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return tamis__fail_file(err, path, errno);
    tamis__sys.close(fd);
    return TAMIS_OK;
}

tamis_status tamis__input_check(const char *path, const tamis__target *outputs, size_t count, uint64_t *total,
                                tamis_error *err) {
    struct stat st;
    const char *name = tamis__input_name(path);
    const int fd = tamis__descriptor_named(path, STDIN_FILENO);
    if ((fd >= 0 ? tamis__sys.fstat(fd, &st) : tamis__sys.stat(path, &st)) < 0)
        return tamis__fail_file(err, name, errno);
    if (S_ISDIR(st.st_mode))
        return tamis__fail_file(err, name, EISDIR);
    for (size_t i = 0; i < count; i++) {
        tamis__target_form form = outputs[i].form;
        if (form == TAMIS__TARGET_NONE || form == TAMIS__TARGET_NEW || !is_same_file(&outputs[i].st, &st))
            continue;
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: is an input and an output; write to another file",
                           tamis__show(form == TAMIS__TARGET_DESCRIPTOR ? name : outputs[i].name).text);
    }
    if (!S_ISREG(st.st_mode) || *total == UINT64_MAX)
        *total = UINT64_MAX;
    else
        *total += (uint64_t)st.st_size;
    return S_ISREG(st.st_mode) && fd < 0 ? check_readable(path, err) : TAMIS_OK;
}

/* Opens a file; repeats after a signal unless the run is to stop. If *fd is -1, errno has the error. */
static tamis_status open_retrying(int *fd, const char *path, int flags, const tamis__poll_loop *loop,
                                  tamis_error *err) {
    for (;;) {
        bool ready;
        *fd = tamis__sys.open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
        if (*fd >= 0 || errno != EINTR)
            return TAMIS_OK;
        const tamis_status status =
            tamis__poll_loop_check(loop, &(tamis__awaited){.fd = -1, .name = path}, &ready, err);
        if (status != TAMIS_OK)
            return status;
    }
}

tamis_status tamis__input_open(int *fd, struct stat *st, const char *path, const tamis__poll_loop *loop,
                               tamis_error *err) {
    const char *name = tamis__input_name(path);
    int opened = tamis__descriptor_named(path, STDIN_FILENO);
    const bool borrowed = opened >= 0;
    const tamis_status status = borrowed ? TAMIS_OK : open_retrying(&opened, path, O_RDONLY, loop, err);
    if (status != TAMIS_OK)
        return status;
    int sys_errno = 0;
    if (opened < 0 || tamis__sys.fstat(opened, st) < 0)
        sys_errno = errno;
    else if (S_ISDIR(st->st_mode))
        sys_errno = EISDIR;
    if (sys_errno == 0) {
        *fd = opened;
        return TAMIS_OK;
    }
    if (opened >= 0 && !borrowed)
        tamis__sys.close(opened);
    return tamis__fail_file(err, name, sys_errno);
}

bool tamis__is_rename_error(const tamis_error *err) {
    return err->status == TAMIS_E_IO && (err->sys_errno == ENOENT || err->sys_errno == EACCES);
}

tamis_status tamis__output_open(int *fd, const tamis__target *target, tamis__poll_loop *loop,
                                tamis_error *err) {
    for (;;) {
        int opened;
        tamis_status status = open_retrying(&opened, target->path, O_WRONLY, loop, err);
        if (status != TAMIS_OK)
            return status;
        if (opened >= 0) {
            *fd = opened;
            return TAMIS_OK;
        }
        /* A FIFO without a reader. A wait inside of open could miss the request to stop. */
        if (errno != ENXIO || !S_ISFIFO(target->st.st_mode))
            return tamis__fail_file(err, target->name, errno);
        status = tamis__poll_loop_pause(loop, TAMIS__FIFO_MS, target->name, err);
        if (status != TAMIS_OK)
            return status;
    }
}
