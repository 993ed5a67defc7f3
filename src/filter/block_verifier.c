/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bits of verified blocks, and the two ways to verify.
 *
 *     check an address  one block, before a lookup reads it              random access, that block read ahead
 *     check all         all blocks that are not verified yet             sequential access, large pages
 *
 * The state is one bit for each block and a count of the blocks without it. While the count is not 0 every
 * batch asks for its blocks; at 0 tamis__block_verifier_is_done() is one atomic load, and lookups skip the
 * check.
 *
 *     lookup --> is the bit set? --yes--> read the line
 *                    | no
 *                    `--> checksum of the block --> valid(block) --> set the bit, count --> read the line
 *                            | differs                 | false
 *                            `-------------------------`--> TAMIS_E_DAMAGED, and the bit stays 0
 *
 * Why the count is not simply decremented: two threads may verify the same block. fetch_or tells each
 * whether the bit was set before, and only the thread that set it counts.
 *
 * Why blocks of 64 KiB: the checksums then take 1/8192 of the body. The first lookup in a block reads 16
 * pages of 4 KiB in one request (MADV_WILLNEED) instead of faulting them in one by one.
 *
 * Damage. A block with a wrong checksum is never marked, so every lookup that needs it fails again, while
 * lookups in other blocks succeed. Checking all goes on after the first damaged block, so that its message
 * has the number of all of them.
 *
 * Advice to the system. A mapping that is used for lookups is MADV_RANDOM: reading ahead would fetch pages
 * that no lookup needs. Checking all reads everything, so it asks for reading ahead (MADV_NORMAL) and
 * restores MADV_RANDOM at its end.
 *
 * Measured: ./dev bench files has lookups in files of up to 10 GiB (docs/PERFORMANCE.md).
 */
#include "filter/block_verifier.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/system.h"

enum { NAME_SHOWN = 200 };

struct tamis__block_verifier {
    tamis__verified_body body;
    tamis_allocator allocator;
    size_t size; /* size of this allocation */
    char name[NAME_SHOWN];
    _Atomic uint64_t unverified; /* number of blocks not verified yet */
    _Atomic uint8_t verified[];  /* one bit for each block */
};

tamis__block_verifier *tamis__block_verifier_create(const tamis__verified_body *body,
                                                    const tamis_allocator *allocator) {
    uint64_t blocks = tamis__block_count(body->size);
    size_t size = sizeof(tamis__block_verifier) + (size_t)(blocks / 8 + 1);
    tamis__block_verifier *verifier = tamis__alloc(allocator, size, _Alignof(tamis__block_verifier));
    if (!verifier)
        return NULL;
    verifier->body = *body;
    verifier->allocator = *allocator;
    verifier->size = size;
    snprintf(verifier->name, sizeof verifier->name, "%s", body->name);
    atomic_init(&verifier->unverified, blocks);
    return verifier;
}

void tamis__block_verifier_free(tamis__block_verifier *verifier) {
    if (!verifier)
        return;
    tamis_allocator allocator = verifier->allocator;
    tamis__free(&allocator, verifier, verifier->size);
}

const char *tamis__block_verifier_name(const tamis__block_verifier *verifier) {
    return verifier->name;
}

bool tamis__block_verifier_is_done(const tamis__block_verifier *verifier) {
    return atomic_load_explicit(&verifier->unverified, memory_order_relaxed) == 0;
}

static bool is_verified(const tamis__block_verifier *verifier, uint64_t block) {
    return atomic_load_explicit(&verifier->verified[block / 8], memory_order_relaxed) >> block % 8 & 1;
}

static uint64_t block_size(const tamis__block_verifier *verifier, uint64_t block) {
    const uint64_t rest = verifier->body.size - block * TAMIS__BLOCK;
    return rest < TAMIS__BLOCK ? rest : TAMIS__BLOCK;
}

/* Gives the system a hint about a mapped body. Errors do not matter. */
static void advise(const tamis__block_verifier *verifier, uint64_t from, uint64_t size, int advice) {
    const tamis__verified_body *body = &verifier->body;
    if (body->mapped)
        (void)tamis__sys.advise((void *)(uintptr_t)(body->bytes + from), (size_t)size, advice);
}

static bool verify(tamis__block_verifier *verifier, uint64_t block) {
    const tamis__verified_body *body = &verifier->body;
    const uint8_t *bytes = body->bytes + block * TAMIS__BLOCK;
    const uint64_t size = block_size(verifier, block);
    if (XXH3_64bits(bytes, (size_t)size) != tamis__load64le(body->checksums + 8 * block))
        return false;
    if (body->valid && !body->valid(body->context, bytes, size))
        return false;
    uint8_t bit = (uint8_t)(1u << block % 8);
    if (!(atomic_fetch_or_explicit(&verifier->verified[block / 8], bit, memory_order_relaxed) & bit))
        atomic_fetch_sub_explicit(&verifier->unverified, 1, memory_order_relaxed);
    return true;
}

static tamis_status fail_block(const tamis__block_verifier *verifier, uint64_t block, uint64_t damaged,
                               tamis_error *err) {
    uint64_t offset = verifier->body.offset + block * TAMIS__BLOCK;
    char more[60] = "";
    if (damaged > 1)
        snprintf(more, sizeof more, ", the first of %" PRIu64 " such", damaged);
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: block %" PRIu64 " (bytes %" PRIu64 " to %" PRIu64
                       ") is damaged%s; restore the file from a copy, or build it anew",
                       verifier->name, block, offset, offset + block_size(verifier, block) - 1, more);
}

tamis_status tamis__block_verifier_check(tamis__block_verifier *verifier, const void *address,
                                         tamis_error *err) {
    uint64_t block = (uint64_t)((const uint8_t *)address - verifier->body.bytes) / TAMIS__BLOCK;
    if (is_verified(verifier, block))
        return TAMIS_OK;
    /* Read a cold block as a whole, not page by page. */
    advise(verifier, block * TAMIS__BLOCK, block_size(verifier, block), MADV_WILLNEED);
    if (verify(verifier, block))
        return TAMIS_OK;
    return fail_block(verifier, block, 1, err);
}

/* Checks the zeros before the body. Lookups never read them, but a changed bit there is damage too. */
static tamis_status check_zeros(const tamis__block_verifier *verifier, tamis_error *err) {
    const tamis__verified_body *body = &verifier->body;
    const uint8_t *bytes = body->bytes - body->offset; /* start of the file */
    for (uint64_t offset = body->zeros_at; offset < body->offset; offset++)
        if (bytes[offset])
            return tamis__fail(
                err, TAMIS_E_DAMAGED, 0,
                "%s: byte %" PRIu64
                ", between header and body, is not zero; restore the file from a copy, or build "
                "it anew",
                verifier->name, offset);
    return TAMIS_OK;
}

tamis_status tamis__block_verifier_check_all(tamis__block_verifier *verifier, tamis_error *err) {
    const tamis__verified_body *body = &verifier->body;
    uint64_t blocks = tamis__block_count(body->size), damaged = 0, first = 0;
    if (body->mapped)
        tamis__advise_large((void *)(uintptr_t)body->bytes, (size_t)body->size);
    advise(verifier, 0, body->size, MADV_NORMAL); /* sequential access: the system reads ahead */
    for (uint64_t block = 0; block < blocks; block++) {
        if (is_verified(verifier, block) || verify(verifier, block))
            continue;
        if (damaged++ == 0)
            first = block;
    }
    advise(verifier, 0, body->size, MADV_RANDOM);
    return damaged ? fail_block(verifier, first, damaged, err) : check_zeros(verifier, err);
}
