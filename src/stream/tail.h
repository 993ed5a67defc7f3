/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_TAIL_H
#define TAMIS_STREAM_TAIL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/failure.h"

/*
 * The bytes behind the last commit of an output, when a run begins. Nearly always the process that was killed wrote them, and
 * the run writes the same bytes there again. But somebody else may have appended some of them. So they are copied to a file
 * beside the output before the output is cut back, and compared with what is written there:
 *
 *     OUT.tail-AT     waits: all bytes so far were the same. It is removed when all of them were.
 *     OUT.kept-AT     has what differs, from the first such record on: it stays, and a remark names it.
 *
 * AT is where the bytes stood in the output. The commits tell that a file waits, so that the next process goes on comparing.
 */
typedef struct tamis__tail {
    int fd;                   /* of the file; -1: none waits */
    const char *path;         /* of the output; borrowed */
    uint64_t at, size;        /* where the bytes stood, and how many there are */
    uint64_t same;            /* compared so far */
    bool differs;             /* the next byte is another */
    unsigned char terminator; /* of records: the caller's to set. What is kept begins with a whole one */
} tamis__tail;

/* Copies `size` bytes of the output `fd` from `at` on to a file of their own, synced with its folder `folder`. The mode is that of the
 * output. TAMIS_E_IO, and nothing has changed. */
tamis_status tamis__tail_make(tamis__tail *tail, const char *path, const char *folder, int fd, mode_t mode,
                              uint64_t at, uint64_t size, tamis_error *err);
/* Copies the same bytes to a file that stays, OUT.kept-AT or, where that exists, OUT.kept-AT-2 and so on: for bytes that cannot be
 * compared with what the run writes. *kept, PATH_MAX bytes, is its name. TAMIS_E_IO, and nothing has changed. */
tamis_status tamis__tail_keep(const char *path, const char *folder, int fd, mode_t mode, uint64_t at,
                              uint64_t size, char *kept, tamis_error *err);
/* Finds the file that an earlier process has made for these bytes; tail->fd stays -1 if there is none. TAMIS_E_IO. */
tamis_status tamis__tail_find(tamis__tail *tail, const char *path, uint64_t at, tamis_error *err);

/* Compares the next bytes with what was written to the output. What cannot be read differs. */
void tamis__tail_compare(tamis__tail *tail, const void *bytes, uint64_t size);
/* The same with `size` bytes that stand in the output `fd` from `from` on. */
void tamis__tail_compare_file(tamis__tail *tail, int fd, uint64_t from, uint64_t size);

/* Removes the file if all its bytes were the same. If one differs, or the output is complete (`ended`), the bytes from that
 * record on get a file that stays; *kept, PATH_MAX bytes, is its name, else "", and tail->size how many they are. */
void tamis__tail_settle(tamis__tail *tail, bool ended, char *kept);
/* Closes it; a file that waits stays. */
void tamis__tail_close(tamis__tail *tail);

#endif
