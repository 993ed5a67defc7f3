/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_UNCOMMITTED_H
#define TAMIS_STREAM_DURABLE_UNCOMMITTED_H

#include <stdbool.h>
#include <stdint.h>

#include "store/file/target.h"

/* A copy of the bytes after the last commit of an output, which are compared with what the run writes there.
 * uncommitted.c explains it. */
typedef struct tamis__uncommitted {
    int fd;                   /* the copy; -1: there is none to compare */
    const char *path;         /* path of the output; borrowed */
    uint64_t offset, size;    /* position in the output, and number of bytes */
    uint64_t equal;           /* equal bytes so far */
    bool differs;             /* the next byte differs */
    unsigned char terminator; /* record terminator, set by the caller; kept bytes begin with a whole record */
} tamis__uncommitted;

/* Copies the bytes of the output, open as `fd`, from `offset` on to OUT.tail-AT. Syncs that file and its
 * directory. `output` has the size and the mode of the output. TAMIS_E_IO: nothing has changed. */
tamis_status tamis__uncommitted_open_new(tamis__uncommitted *copy, const tamis__target *output, int fd,
                                         uint64_t offset, tamis_error *err);
/* Copies the same bytes to a file that stays: OUT.kept-AT or, if that exists, OUT.kept-AT-2 and so on. For
 * bytes that cannot be compared with what the run writes. *kept, PATH_MAX bytes, is its name. TAMIS_E_IO:
 * nothing has changed. */
tamis_status tamis__uncommitted_keep(const tamis__target *output, int fd, uint64_t offset, char *kept,
                                     tamis_error *err);
/* Opens the copy that an earlier process made; copy->fd stays -1 if there is none. TAMIS_E_IO. */
tamis_status tamis__uncommitted_open(tamis__uncommitted *copy, const char *path, uint64_t offset,
                                     tamis_error *err);

/* Compares the next bytes of the copy with `bytes`, which were written to the output. Unreadable bytes count
 * as different. */
void tamis__uncommitted_compare(tamis__uncommitted *copy, const void *bytes, uint64_t size);
/* The same with the `size` bytes of the output `fd` from `from` on. */
void tamis__uncommitted_compare_file(tamis__uncommitted *copy, int fd, uint64_t from, uint64_t size);

/* Removes the copy if all its bytes were equal. If a byte differs, or the output is complete (`ended`),
 * moves the bytes from that record on to OUT.kept-AT. *kept, PATH_MAX bytes, is then its name, else "";
 * copy->size is the number of bytes kept. */
void tamis__uncommitted_finish(tamis__uncommitted *copy, bool ended, char *kept);
/* Closes the copy. The file stays if it still waits. */
void tamis__uncommitted_close(tamis__uncommitted *copy);

/* Syncs the directory of a file, so that its name lasts after a loss of power. Returns 0, or -1 with
 * errno. */
int tamis__sync_name(const char *path);

#endif
