/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_BLOCK_VERIFIER_H
#define TAMIS_FILTER_BLOCK_VERIFIER_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/status.h>

/*
 * The block verifier: lazy checksums of a filter that is used in place, in its file.
 *
 * A file of many GiB opens without being read. Its body is divided into blocks of 64 KiB, each with a
 * checksum in the file. A block is verified when a lookup first needs it. So damage is an error and never an
 * answer, and a lookup in a cold file reads only its own blocks.
 *
 *     file    | header | zeros | block 0 | block 1 | block 2 | ...         | checksums |
 *     state                        1         0         1        verified: one bit a block
 *
 * Invariants:
 * 1. A lookup reads only verified blocks. The caller verifies all blocks of a batch before it reads any
 *    (filter_batch.c).
 * 2. A block is verified once. Whoever maps a file must detect later changes (tamis__backing.is_same).
 * 3. A block counts as verified only if its bytes also make sense to the kind (`valid`). A forged file with
 *    right checksums must not lead a lookup out of the body.
 *
 * Threads: any number at once. Two threads that verify one block at the same time do the work twice, with the
 * same result. The bits are atomic, and relaxed order suffices, since the file's bytes do not change.
 */
typedef struct tamis__block_verifier tamis__block_verifier;

#define TAMIS__BLOCK 65536u /* bytes of a block; the last block of a body may be shorter */

typedef struct tamis__verified_body {
    const uint8_t *bytes;
    uint64_t size;
    const uint8_t *checksums; /* checksums: XXH3-64 of each block, little-endian */
    uint64_t offset;          /* offset of the body in the file, for messages */
    uint64_t zeros_at;        /* file offset of the zeros that precede the body */
    const char *name;         /* name of the file, for messages; copied */
    bool mapped;              /* the body is mapped from the file */
    /* True if bytes with the right checksum also make sense to the kind. NULL: any do. Called with at most
     * one block. */
    bool (*valid)(const void *context, const uint8_t *bytes, uint64_t size);
    const void *context;
} tamis__verified_body;

static inline uint64_t tamis__block_count(uint64_t size) {
    return size / TAMIS__BLOCK + (size % TAMIS__BLOCK != 0);
}

/* Makes a verifier. Everything that `body` points to, but for the name, must outlive it. NULL: out of
 * memory. */
tamis__block_verifier *tamis__block_verifier_create(const tamis__verified_body *body,
                                                    const tamis_allocator *allocator);
void tamis__block_verifier_free(tamis__block_verifier *verifier);

/* The name of the file, for messages. */
const char *tamis__block_verifier_name(const tamis__block_verifier *verifier);

/* True if every block is verified: lookups need no more checks. */
bool tamis__block_verifier_is_done(const tamis__block_verifier *verifier);

/* Verifies the block that contains an address, unless it is verified already. TAMIS_E_DAMAGED names the
 * block. */
tamis_status tamis__block_verifier_check(tamis__block_verifier *verifier, const void *address,
                                         tamis_error *err);
/* Verifies all blocks, and that the bytes before the body are zeros. TAMIS_E_DAMAGED names the first
 * damaged block and the number of damaged blocks, or the first byte that is not zero. */
tamis_status tamis__block_verifier_check_all(tamis__block_verifier *verifier, tamis_error *err);

#endif
