/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_IDENTITY_H
#define TAMIS_STORE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/failure.h"

enum { TAMIS__IDENTITY_BYTES = 4096 }; /* bytes hashed at each end of a file */

/* Fingerprint of the first `at` bytes of a file. identity.c explains it. */
typedef struct tamis__identity {
    uint64_t device, inode; /* hints only: a moved or restored file has others */
    uint64_t at;            /* size of the prefix in bytes */
    uint64_t head, tail; /* XXH3 of the prefix's first and last 4096 bytes (fewer if shorter); 0: no bytes */
} tamis__identity;

typedef enum tamis__likeness {
    TAMIS__SAME,    /* the file begins with the fingerprinted bytes */
    TAMIS__CHANGED, /* the same file, but those bytes are gone: it was shortened or overwritten */
    TAMIS__OTHER    /* a different file */
} tamis__likeness;

/* Fingerprints the first `at` bytes after offset `base`. `name` is for messages. TAMIS_E_IO; TAMIS_E_STALE if
 * the file has fewer bytes. */
TAMIS_PRIVATE_API tamis_status tamis__identity_take(tamis__identity *identity, int fd, off_t base,
                                                    uint64_t at, const char *name, tamis_error *err);

/* Compares the file with a known fingerprint. `named` says that it has the name of the fingerprinted file.
 * Prefixes shorter than TAMIS__IDENTITY_BYTES count as the same file only if the name or the inode agrees
 * too. */
TAMIS_PRIVATE_API tamis_status tamis__identity_compare(const tamis__identity *known, int fd, off_t base,
                                                       bool named, const char *name,
                                                       tamis__likeness *likeness, tamis_error *err);

/* Reads up to `size` bytes at offset `from`. *got is smaller only at the end of the file. TAMIS_E_IO. */
TAMIS_PRIVATE_API tamis_status tamis__read_at(int fd, off_t from, void *bytes, size_t size, const char *name,
                                              size_t *got, tamis_error *err);

/* The first bytes written to a new file, kept to fingerprint it before it is read back. */
typedef struct tamis__identity_front {
    size_t size;
    unsigned char bytes[TAMIS__IDENTITY_BYTES];
} tamis__identity_front;

/* Appends written bytes. Bytes beyond TAMIS__IDENTITY_BYTES are ignored. */
TAMIS_PRIVATE_API void tamis__identity_front_add(tamis__identity_front *front, const void *bytes,
                                                 size_t size);
/* Fingerprint of these bytes. It belongs to no file yet: device and inode are 0. */
TAMIS_PRIVATE_API tamis__identity tamis__identity_of_front(const tamis__identity_front *front);

/* The head of a file, kept in memory to compare the file with many fingerprints. */
typedef struct tamis__identity_head {
    uint64_t device, inode;
    uint64_t size;              /* bytes of the file after `base` */
    const unsigned char *bytes; /* the first TAMIS__IDENTITY_BYTES bytes, or all if there are fewer */
    size_t count;
} tamis__identity_head;

/* Returns the `head` of every fingerprint of this file with at least TAMIS__IDENTITY_BYTES bytes; 0 if the
 * file is shorter. */
TAMIS_PRIVATE_API uint64_t tamis__identity_whole_head(const tamis__identity_head *head);

/* True if the file begins with the fingerprint's head: its first bytes, at most TAMIS__IDENTITY_BYTES. */
TAMIS_PRIVATE_API bool tamis__identity_begins(const tamis__identity *known, const tamis__identity_head *head);

/* Compares as tamis__identity_compare does, but without reading the file. Returns false if that is not
 * enough, and the file must be read. Unless `closely`, a different head means TAMIS__OTHER, whatever name,
 * inode and tail say. */
TAMIS_PRIVATE_API bool tamis__identity_tell(const tamis__identity *known, const tamis__identity_head *head,
                                            bool named, bool closely, tamis__likeness *likeness);

#endif
