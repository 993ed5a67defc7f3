/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/guard.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/system.h"

enum { NAME_SHOWN = 200 };

struct tamis__guard {
    tamis__guarded what;
    tamis_allocator allocator;
    size_t size; /* size of this allocation */
    char name[NAME_SHOWN];
    _Atomic uint64_t left;      /* number of blocks not verified yet */
    _Atomic uint8_t verified[]; /* one bit for each block */
};

tamis__guard *tamis__guard_create(const tamis__guarded *what, const tamis_allocator *allocator) {
    uint64_t blocks = tamis__block_count(what->size);
    size_t size = sizeof(tamis__guard) + (size_t)(blocks / 8 + 1);
    tamis__guard *guard = tamis__alloc(allocator, size, _Alignof(tamis__guard));
    if (!guard)
        return NULL;
    guard->what = *what;
    guard->allocator = *allocator;
    guard->size = size;
    snprintf(guard->name, sizeof guard->name, "%s", what->name);
    atomic_init(&guard->left, blocks);
    return guard;
}

void tamis__guard_free(tamis__guard *guard) {
    if (!guard)
        return;
    tamis_allocator allocator = guard->allocator;
    tamis__free(&allocator, guard, guard->size);
}

const char *tamis__guard_name(const tamis__guard *guard) {
    return guard->name;
}

bool tamis__guard_done(const tamis__guard *guard) {
    return atomic_load_explicit(&guard->left, memory_order_relaxed) == 0;
}

static bool is_verified(const tamis__guard *guard, uint64_t block) {
    return atomic_load_explicit(&guard->verified[block / 8], memory_order_relaxed) >> block % 8 & 1;
}

static uint64_t block_size(const tamis__guard *guard, uint64_t block) {
    uint64_t rest = guard->what.size - block * TAMIS__BLOCK;
    return rest < TAMIS__BLOCK ? rest : TAMIS__BLOCK;
}

/* Gives the system a hint about a mapped body. Errors do not matter. */
static void advise(const tamis__guard *guard, uint64_t from, uint64_t size, int advice) {
    const tamis__guarded *what = &guard->what;
    if (what->mapped)
        (void)tamis__sys.advise((void *)(uintptr_t)(what->body + from), (size_t)size, advice);
}

static bool verify(tamis__guard *guard, uint64_t block) {
    const tamis__guarded *what = &guard->what;
    const uint8_t *bytes = what->body + block * TAMIS__BLOCK;
    uint64_t size = block_size(guard, block);
    if (XXH3_64bits(bytes, (size_t)size) != tamis__load64le(what->sums + 8 * block))
        return false;
    if (what->valid && !what->valid(what->context, bytes, size))
        return false;
    uint8_t bit = (uint8_t)(1u << block % 8);
    if (!(atomic_fetch_or_explicit(&guard->verified[block / 8], bit, memory_order_relaxed) & bit))
        atomic_fetch_sub_explicit(&guard->left, 1, memory_order_relaxed);
    return true;
}

static tamis_status fail_block(const tamis__guard *guard, uint64_t block, uint64_t bad, tamis_error *err) {
    uint64_t at = guard->what.at + block * TAMIS__BLOCK;
    char more[60] = "";
    if (bad > 1)
        snprintf(more, sizeof more, ", the first of %" PRIu64 " such", bad);
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: block %" PRIu64 " (bytes %" PRIu64 " to %" PRIu64
                       ") is damaged%s; restore the file from a copy, or build it anew",
                       guard->name, block, at, at + block_size(guard, block) - 1, more);
}

tamis_status tamis__guard_touch(tamis__guard *guard, const void *address, tamis_error *err) {
    uint64_t block = (uint64_t)((const uint8_t *)address - guard->what.body) / TAMIS__BLOCK;
    if (is_verified(guard, block))
        return TAMIS_OK;
    /* Read a cold block as a whole, not page by page. */
    advise(guard, block * TAMIS__BLOCK, block_size(guard, block), MADV_WILLNEED);
    if (verify(guard, block))
        return TAMIS_OK;
    return fail_block(guard, block, 1, err);
}

/* Checks the zeros before the body. Lookups never read them, but a changed bit there is damage too. */
static tamis_status check_zeros(const tamis__guard *guard, tamis_error *err) {
    const tamis__guarded *what = &guard->what;
    const uint8_t *bytes = what->body - what->at; /* start of the file */
    for (uint64_t at = what->zeros_at; at < what->at; at++)
        if (bytes[at])
            return tamis__fail(
                err, TAMIS_E_DAMAGED, 0,
                "%s: byte %" PRIu64
                ", between header and body, is not zero; restore the file from a copy, or build "
                "it anew",
                guard->name, at);
    return TAMIS_OK;
}

tamis_status tamis__guard_touch_all(tamis__guard *guard, tamis_error *err) {
    const tamis__guarded *what = &guard->what;
    uint64_t blocks = tamis__block_count(what->size), bad = 0, first = 0;
    if (what->mapped)
        tamis__advise_large((void *)(uintptr_t)what->body, (size_t)what->size);
    advise(guard, 0, what->size, MADV_NORMAL); /* sequential access: the system reads ahead */
    for (uint64_t block = 0; block < blocks; block++) {
        if (is_verified(guard, block) || verify(guard, block))
            continue;
        if (bad++ == 0)
            first = block;
    }
    advise(guard, 0, what->size, MADV_RANDOM);
    return bad ? fail_block(guard, first, bad, err) : check_zeros(guard, err);
}
