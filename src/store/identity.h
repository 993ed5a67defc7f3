/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_IDENTITY_H
#define TAMIS_STORE_IDENTITY_H

#include <stdbool.h>
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

#endif
