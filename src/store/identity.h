/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_IDENTITY_H
#define TAMIS_STORE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/failure.h"

enum { TAMIS__IDENTITY_BYTES = 4096 }; /* of each end that are summed */

/*
 * What is known of the first `at` bytes of a file, which may have grown since:
 *
 *     0                                              at
 *     | 4 KiB: head |            ...       | 4 KiB: tail |  more
 */
typedef struct tamis__identity {
    uint64_t device, inode; /* hints: a file that was moved, or brought back, is the same one */
    uint64_t at;
    uint64_t head, tail; /* XXH3 of up to TAMIS__IDENTITY_BYTES bytes of either end, 0 where there are none */
} tamis__identity;

typedef enum tamis__likeness {
    TAMIS__SAME,    /* its first `at` bytes are those */
    TAMIS__CHANGED, /* it is that file, and they are not: it was made shorter, or written to */
    TAMIS__OTHER    /* another file */
} tamis__likeness;

/* Sums the first `at` bytes behind `base`. `name` is the file's, for the sentence: TAMIS_E_IO, TAMIS_E_STALE where there are
 * fewer. */
TAMIS_PRIVATE_API tamis_status tamis__identity_take(tamis__identity *identity, int fd, off_t base,
                                                    uint64_t at, const char *name, tamis_error *err);

/* Compares. `named`: it has the name of the one that was summed. Fewer than TAMIS__IDENTITY_BYTES bytes alike are taken for
 * the same file only where name or inode are. */
TAMIS_PRIVATE_API tamis_status tamis__identity_compare(const tamis__identity *known, int fd, off_t base,
                                                       bool named, const char *name,
                                                       tamis__likeness *likeness, tamis_error *err);

/* Up to `size` bytes from `from` on: *got of them, fewer only where the file ends. TAMIS_E_IO. */
TAMIS_PRIVATE_API tamis_status tamis__read_at(int fd, off_t from, void *bytes, size_t size, const char *name,
                                              size_t *got, tamis_error *err);

/* The first bytes of a file, kept: of one that is written, to know it before any of it is summed. */
typedef struct tamis__identity_front {
    size_t size;
    unsigned char bytes[TAMIS__IDENTITY_BYTES];
} tamis__identity_front;

/* What was written behind what is there; what no longer fits is of no matter. */
TAMIS_PRIVATE_API void tamis__identity_front_add(tamis__identity_front *front, const void *bytes,
                                                 size_t size);
/* Of no file: device and inode are 0. */
TAMIS_PRIVATE_API tamis__identity tamis__identity_of_front(const tamis__identity_front *front);

/* What is kept of a file that is compared with many. */
typedef struct tamis__identity_head {
    uint64_t device, inode;
    uint64_t size;              /* of the file, behind its base */
    const unsigned char *bytes; /* the first, all or TAMIS__IDENTITY_BYTES of them */
    size_t count;
} tamis__identity_head;

/* The sum that one of at least TAMIS__IDENTITY_BYTES has for its head; 0: it is shorter. */
TAMIS_PRIVATE_API uint64_t tamis__identity_whole_head(const tamis__identity_head *head);

/* True if the file begins with the known head; if fewer than TAMIS__IDENTITY_BYTES bytes are known, with all of them. */
TAMIS_PRIVATE_API bool tamis__identity_begins(const tamis__identity *known, const tamis__identity_head *head);

/* Compares as tamis__identity_compare does, as far as what is kept tells. False where the file has to be read.
 * Unless `closely`, one with another head is another file, whatever its name, inode and tail. */
TAMIS_PRIVATE_API bool tamis__identity_tell(const tamis__identity *known, const tamis__identity_head *head,
                                            bool named, bool closely, tamis__likeness *likeness);

#endif
