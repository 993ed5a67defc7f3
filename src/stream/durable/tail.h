/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_TAIL_H
#define TAMIS_STREAM_DURABLE_TAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "store/file/target.h"

/* A copy of the bytes behind the last commit of an output, which are compared with what the run writes there.
 * tail.c explains it. */
typedef struct tamis__tail {
    int fd;                   /* the copy; -1: there is none to compare */
    const char *path;         /* path of the output; borrowed */
    uint64_t offset, size;    /* position in the output, and number of bytes */
    uint64_t equal;           /* equal bytes so far */
    bool differs;             /* the next byte differs */
    unsigned char terminator; /* record terminator, set by the caller; kept bytes begin with a whole record */
} tamis__tail;

/* Copies the bytes of the output, open as `fd`, from `offset` on to OUT.tail-AT. Syncs that file and its
 * directory. `output` has the size and the mode of the output. TAMIS_E_IO: nothing has changed. */
tamis_status tamis__tail_create(tamis__tail *tail, const tamis__target *output, int fd, uint64_t offset,
                                tamis_error *err);
/* Copies the same bytes to a file that stays: OUT.kept-AT or, if that exists, OUT.kept-AT-2 and so on. For
 * bytes that cannot be compared with what the run writes. *kept, PATH_MAX bytes, is its name. TAMIS_E_IO:
 * nothing has changed. */
tamis_status tamis__tail_keep(const tamis__target *output, int fd, uint64_t offset, char *kept,
                              tamis_error *err);
/* Opens the copy that an earlier process made; tail->fd stays -1 if there is none. TAMIS_E_IO. */
tamis_status tamis__tail_find(tamis__tail *tail, const char *path, uint64_t offset, tamis_error *err);

/* Compares the next bytes of the copy with `bytes`, which were written to the output. Unreadable bytes count
 * as different. */
void tamis__tail_compare(tamis__tail *tail, const void *bytes, uint64_t size);
/* The same with the `size` bytes of the output `fd` from `from` on. */
void tamis__tail_compare_file(tamis__tail *tail, int fd, uint64_t from, uint64_t size);

/* Removes the copy if all its bytes were equal. If a byte differs, or the output is complete (`ended`),
 * moves the bytes from that record on to OUT.kept-AT. *kept, PATH_MAX bytes, is then its name, else "";
 * tail->size is the number of bytes kept. */
void tamis__tail_finish(tamis__tail *tail, bool ended, char *kept);
/* Closes the copy. The file stays if it still waits. */
void tamis__tail_close(tamis__tail *tail);

/* Syncs the directory of a file, so that its name lasts after a loss of power. Returns 0, or -1 with
 * errno. */
int tamis__sync_name(const char *path);

#endif
