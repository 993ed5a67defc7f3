/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_FILE_FILE_FINGERPRINT_H
#define TAMIS_STORE_FILE_FILE_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/failure.h"

enum { TAMIS__FILE_FINGERPRINT_BYTES = 4096 }; /* bytes hashed at each end of a file */

/* Fingerprint of the first `length` bytes of a file. file_fingerprint.c explains it. */
typedef struct tamis__file_fingerprint {
    uint64_t device, inode; /* hints only: a moved or restored file has others */
    uint64_t length;        /* size of the prefix in bytes */
    /* XXH3 of the prefix's first and last 4096 bytes (fewer if shorter); 0: no bytes */
    uint64_t first_hash, last_hash;
} tamis__file_fingerprint;

typedef enum tamis__file_match {
    TAMIS__FILE_SAME,    /* the file begins with the fingerprinted bytes */
    TAMIS__FILE_CHANGED, /* the same file, but those bytes are gone: it was shortened or overwritten */
    TAMIS__FILE_OTHER    /* a different file */
} tamis__file_match;

/* A file that is open for reading. Its bytes are those behind `base`: a program that shares its standard
 * input may have read the ones before. */
typedef struct tamis__open_file {
    int fd; /* -1: not open */
    off_t base;
    const char *name; /* for messages */
} tamis__open_file;

/* Fingerprints the first `length` bytes of the file. TAMIS_E_IO; TAMIS_E_CHANGED if it has fewer. */
TAMIS_PRIVATE_API tamis_status tamis__file_fingerprint_compute(tamis__file_fingerprint *fingerprint,
                                                               const tamis__open_file *file, uint64_t length,
                                                               tamis_error *err);

/* Compares the file with a known fingerprint. `named` says that it has the name of the fingerprinted file.
 * Prefixes shorter than TAMIS__FILE_FINGERPRINT_BYTES count as the same file only if the name or the inode
 * agrees too. */
TAMIS_PRIVATE_API tamis_status tamis__file_fingerprint_compare(const tamis__file_fingerprint *known,
                                                               const tamis__open_file *file, bool named,
                                                               tamis__file_match *match, tamis_error *err);

/* A span of a file: `size` bytes from `offset` on. */
typedef struct tamis__file_span {
    uint64_t offset;
    size_t size;
} tamis__file_span;

/* Reads a span of a file. *got is smaller than its size only at the end of the file. The file offset of
 * file->fd does not change. TAMIS_E_IO. */
TAMIS_PRIVATE_API tamis_status tamis__file_read(const tamis__open_file *file, tamis__file_span span,
                                                void *bytes, size_t *got, tamis_error *err);

/* The first bytes written to a new file, kept to fingerprint it before it is read back. */
typedef struct tamis__file_prefix {
    size_t size;
    unsigned char bytes[TAMIS__FILE_FINGERPRINT_BYTES];
} tamis__file_prefix;

/* Appends written bytes. Bytes beyond TAMIS__FILE_FINGERPRINT_BYTES are ignored. */
TAMIS_PRIVATE_API void tamis__file_prefix_add(tamis__file_prefix *prefix, const void *bytes, size_t size);
/* Fingerprint of these bytes. It belongs to no file yet: device and inode are 0. */
TAMIS_PRIVATE_API tamis__file_fingerprint tamis__file_prefix_fingerprint(const tamis__file_prefix *prefix);

/* The head of a file, kept in memory to compare the file with many fingerprints. */
typedef struct tamis__file_head {
    uint64_t device, inode;
    uint64_t size;              /* bytes of the file after `base` */
    const unsigned char *bytes; /* the first TAMIS__FILE_FINGERPRINT_BYTES bytes, or all if there are fewer */
    size_t count;
} tamis__file_head;

/* Returns the `first_hash` of every fingerprint of this file with at least TAMIS__FILE_FINGERPRINT_BYTES
 * bytes; 0 if the file is shorter. */
TAMIS_PRIVATE_API uint64_t tamis__file_head_hash(const tamis__file_head *head);

/* True if the file begins with the fingerprint's head: its first bytes, at most
 * TAMIS__FILE_FINGERPRINT_BYTES. */
TAMIS_PRIVATE_API bool tamis__file_head_matches(const tamis__file_fingerprint *known,
                                                const tamis__file_head *head);

/* Compares as tamis__file_fingerprint_compare does, but without reading the file. Returns false if that is
 * not enough, and the file must be read. Unless `closely`, a different head means TAMIS__FILE_OTHER,
 * whatever name, inode and last bytes say. */
TAMIS_PRIVATE_API bool tamis__file_head_compare(const tamis__file_fingerprint *known,
                                                const tamis__file_head *head, bool named, bool closely,
                                                tamis__file_match *match);

#endif
