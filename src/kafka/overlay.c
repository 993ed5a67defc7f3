/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The overlay of a partition: the hashes of keys that are new in the open transaction.
 *
 * They must not get into the filter before the transaction is committed, because no kind of filter can remove
 * them if it is aborted. So a lookup queries the filter first and then this set, and an abort only empties
 * the set.
 *
 *     hashes   | a | b | c | a |             in order: the state record and the filter get them as they are
 *     times    | 7 | 7 | 9 | 9 |
 *     slots    | 0 | c 3 | 0 | a 1 | a 4 | 0 | b 2 | 0 |      c 3: hashes[2], which is c
 *
 * An open-addressing table of numbers, with linear probing, at most half full. 0 is the empty slot, so the
 * numbers begin at 1 and every hash is a valid entry, also one of all zeros. Hashes are random already, so
 * their first word selects the slot. Its high half is in the slot too. So a lookup passes by the entries of
 * other hashes without a look at them, which would be a cache miss each. With a window a hash may be there
 * several times: a transaction that catches up has records of a long time. Without one, all times are 0.
 *
 * Emptying costs one memset of the slots, or less if few are used. A table of a large transaction is freed
 * instead: the next transactions are probably smaller.
 */
#include "kafka/overlay.h"

#include <string.h>

#include "base/bytes.h"
#include "base/failure.h"
#include "base/memory.h"

enum { SLOTS_MIN = 1024, SLOTS_KEPT = 1 << 20 };

/* The half of the hash that its slots have. */
static uint64_t tag_of(const tamis_hash *hash) {
    return hash->word[0] >> 32;
}

static size_t first_slot(const tamis__overlay *overlay, const tamis_hash *hash) {
    return (size_t)hash->word[0] & (overlay->slot_count - 1);
}

void tamis__overlay_prefetch(const tamis__overlay *overlay, const tamis_hash *hash) {
    if (overlay->slot_count > 0)
        tamis__prefetch(&overlay->slots[first_slot(overlay, hash)]);
}

bool tamis__overlay_has(const tamis__overlay *overlay, const tamis_hash *hash, int64_t from, int64_t to) {
    const uint64_t tag = tag_of(hash);

    if (overlay->count == 0)
        return false;
    for (size_t slot = first_slot(overlay, hash); overlay->slots[slot] != 0;
         slot = (slot + 1) & (overlay->slot_count - 1)) {
        if (overlay->slots[slot] >> 32 != tag)
            continue;
        const size_t i = (uint32_t)overlay->slots[slot] - 1;
        const tamis_hash *entry = &overlay->hashes[i];
        const int64_t time = overlay->times[i];
        if (entry->word[0] == hash->word[0] && entry->word[1] == hash->word[1] && time >= from && time <= to)
            return true;
    }
    return false;
}

/* Puts entry `number` into the first empty slot of its hash. */
static void fill_slot(tamis__overlay *overlay, size_t number) {
    const tamis_hash *hash = &overlay->hashes[number - 1];
    size_t slot = first_slot(overlay, hash);

    while (overlay->slots[slot] != 0)
        slot = (slot + 1) & (overlay->slot_count - 1);
    overlay->slots[slot] = tag_of(hash) << 32 | number;
}

static tamis_status grow_slots(tamis__overlay *overlay, tamis_error *err) {
    const size_t count = overlay->slot_count == 0 ? SLOTS_MIN : 2 * overlay->slot_count;
    uint64_t *slots = NULL;

    if (count <= UINT32_MAX)
        slots = tamis__alloc(&overlay->memory, count * sizeof *slots, sizeof *slots);
    if (!slots)
        return tamis__fail_nomem(err, "keys of a transaction", count * sizeof *slots);
    tamis__free(&overlay->memory, overlay->slots, overlay->slot_count * sizeof *slots);
    overlay->slots = slots;
    overlay->slot_count = count;
    for (size_t number = 1; number <= overlay->count; number++)
        fill_slot(overlay, number);
    return TAMIS_OK;
}

/* Grows the arrays for one more entry. */
static tamis_status grow_entries(tamis__overlay *overlay, tamis_error *err) {
    const size_t count = overlay->count + 1;
    tamis_hash *hashes = tamis__array_reserve(&overlay->memory, overlay->hashes, sizeof *hashes, count,
                                              &overlay->hash_capacity);
    if (hashes)
        overlay->hashes = hashes;
    int64_t *times =
        tamis__array_reserve(&overlay->memory, overlay->times, sizeof *times, count, &overlay->time_capacity);
    if (times)
        overlay->times = times;
    return hashes && times
               ? TAMIS_OK
               : tamis__fail_nomem(err, "keys of a transaction", 2 * overlay->count * sizeof *hashes);
}

tamis_status tamis__overlay_add(tamis__overlay *overlay, const tamis_allocator *memory, tamis_hash hash,
                                int64_t time, tamis_error *err) {
    if (overlay->slot_count == 0)
        overlay->memory = *memory;
    if ((2 * (overlay->count + 1) > overlay->slot_count && grow_slots(overlay, err) != TAMIS_OK) ||
        grow_entries(overlay, err) != TAMIS_OK)
        return TAMIS_E_NOMEM;
    overlay->hashes[overlay->count] = hash;
    overlay->times[overlay->count] = time;
    fill_slot(overlay, ++overlay->count);
    return TAMIS_OK;
}

/* No later entry has been probed past the slot, so it can become empty. */
void tamis__overlay_undo(tamis__overlay *overlay) {
    size_t slot = first_slot(overlay, &overlay->hashes[overlay->count - 1]);

    while ((uint32_t)overlay->slots[slot] != overlay->count)
        slot = (slot + 1) & (overlay->slot_count - 1);
    overlay->slots[slot] = 0;
    overlay->count--;
}

void tamis__overlay_release(tamis__overlay *overlay) {
    tamis__free(&overlay->memory, overlay->hashes, overlay->hash_capacity * sizeof *overlay->hashes);
    tamis__free(&overlay->memory, overlay->times, overlay->time_capacity * sizeof *overlay->times);
    tamis__free(&overlay->memory, overlay->slots, overlay->slot_count * sizeof *overlay->slots);
    *overlay = (tamis__overlay){0};
}

void tamis__overlay_empty(tamis__overlay *overlay) {
    if (overlay->slot_count > SLOTS_KEPT)
        tamis__overlay_release(overlay);
    else if (overlay->count <= overlay->slot_count / 16) /* also without slots */
        while (overlay->count > 0)
            tamis__overlay_undo(overlay);
    else
        memset(overlay->slots, 0, overlay->slot_count * sizeof *overlay->slots);
    overlay->count = 0;
}
