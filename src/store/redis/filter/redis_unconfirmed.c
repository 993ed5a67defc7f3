/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Unconfirmed adds. An add that was sent and not answered may have set its bits:
 *
 *     client                       server
 *       add k               -->    sets the bits of k
 *       connection lost     -x-    answer: absent
 *       TAMIS_E_IO
 *       add k again         -->    the bits are set: by an earlier key, or by the lost add?
 *
 * To answer TAMIS_PRESENT would lose the first occurrence of k. So the handle remembers the keys of failed
 * calls, and answers TAMIS_UNKNOWN for one that is added again and found present. The next answer for it is
 * certain, so it is removed then.
 *
 * The set is a hash table of 64-bit fingerprints with open addressing, at most half full. A removal moves
 * later entries up, so that no markers of deleted entries are needed. Two keys with one fingerprint make an
 * answer TAMIS_UNKNOWN in place of TAMIS_PRESENT, which is never wrong.
 *
 * Invariant: no unconfirmed key is forgotten. If the set has TAMIS__UNCONFIRMED_ADDS_MAX fingerprints, or
 * memory runs out, every key counts as unconfirmed from then on (`every`).
 */
#include "store/redis/filter/redis_unconfirmed.h"

#include "base/memory.h"
#include "hash/positions.h"

enum { CAPACITY_MIN = 64 };

/* Combines two probes among the largest number of bits. If two keys collide, the worst result is
 * TAMIS_UNKNOWN in place of TAMIS_PRESENT. */
uint64_t tamis__unconfirmed_adds_fingerprint(const tamis_filter *filter, const tamis__key_batch *key_batch,
                                             size_t i) {
    uint64_t hash_positions[2];
    if (key_batch->hashes)
        tamis__positions(filter->plan.scheme, key_batch->hashes[i].word, TAMIS_BITS_MAX, 2, hash_positions);
    else
        tamis__hasher_positions(filter->hasher, &key_batch->keys[i], TAMIS_BITS_MAX, 2, hash_positions);
    const uint64_t fingerprint = (hash_positions[0] * TAMIS__MIX ^ hash_positions[1]) * TAMIS__MIX;
    return fingerprint ? fingerprint : 1;
}

static size_t bucket_of(const tamis__unconfirmed_adds *set, uint64_t fingerprint) {
    return (fingerprint >> 32) & (set->capacity - 1);
}

/* The slot of the fingerprint, or the free slot where it would be inserted. */
static size_t find_slot(const tamis__unconfirmed_adds *set, uint64_t fingerprint) {
    size_t i = bucket_of(set, fingerprint);
    while (set->slots[i] && set->slots[i] != fingerprint)
        i = (i + 1) & (set->capacity - 1);
    return i;
}

static bool grow_set(tamis__unconfirmed_adds *set, const tamis_allocator *allocator) {
    tamis__unconfirmed_adds more = {.capacity = set->capacity ? 2 * set->capacity : CAPACITY_MIN,
                                    .count = set->count};
    more.slots = tamis__alloc(allocator, more.capacity * sizeof *more.slots, _Alignof(uint64_t));
    if (!more.slots)
        return false;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i])
            more.slots[find_slot(&more, set->slots[i])] = set->slots[i];
    tamis__unconfirmed_adds_release(set, allocator);
    *set = more;
    return true;
}

void tamis__unconfirmed_adds_insert(tamis__unconfirmed_adds *set, uint64_t fingerprint,
                                    const tamis_allocator *allocator) {
    if (set->every || (set->capacity > 0 && set->slots[find_slot(set, fingerprint)]))
        return;
    const bool is_full = 2 * (set->count + 1) > set->capacity;
    set->every = set->count == TAMIS__UNCONFIRMED_ADDS_MAX || (is_full && !grow_set(set, allocator));
    if (set->every)
        return;
    set->slots[find_slot(set, fingerprint)] = fingerprint;
    set->count++;
}

/* Deletes from the hash table: later entries of the same run move up if a search would no longer reach
 * them. */
static void clear_slot(tamis__unconfirmed_adds *set, size_t hole) {
    const size_t mask = set->capacity - 1;
    for (size_t i = (hole + 1) & mask; set->slots[i]; i = (i + 1) & mask) {
        if (((i - bucket_of(set, set->slots[i])) & mask) < ((i - hole) & mask))
            continue;
        set->slots[hole] = set->slots[i];
        hole = i;
    }
    set->slots[hole] = 0;
    set->count--;
}

bool tamis__unconfirmed_adds_remove(tamis__unconfirmed_adds *set, uint64_t fingerprint) {
    const size_t slot = set->count > 0 ? find_slot(set, fingerprint) : 0;
    const bool was_in = set->count > 0 && set->slots[slot];
    if (was_in)
        clear_slot(set, slot);
    return was_in || set->every;
}

void tamis__unconfirmed_adds_release(tamis__unconfirmed_adds *set, const tamis_allocator *allocator) {
    tamis__free(allocator, set->slots, set->capacity * sizeof *set->slots);
    *set = (tamis__unconfirmed_adds){0};
}
