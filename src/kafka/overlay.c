/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The overlay of a partition: the hashes of keys that are new in the open transaction.
 *
 * They must not get into the filter before the transaction is committed, because no kind of filter can remove
 * them if it is aborted. So a lookup asks the filter first and then this set, and an abort only empties the
 * set.
 *
 *     hashes   | a | b | c | d |             in order: the state record and the filter get them as they are
 *     slots    | 0 | 3 | 0 | 1 | 4 | 0 | 2 | 0 |      3: hashes[2], which is c
 *
 * An open-addressing table of numbers, with linear probing, at most half full. 0 is the empty slot, so the
 * numbers begin at 1 and every hash is a valid member, also one of all zeros. Hashes are random already, so
 * their first word selects the slot.
 *
 * Emptying costs one memset of the slots. A table of a large transaction is freed instead: the next
 * transactions are probably smaller.
 */
#include "kafka/overlay.h"

#include <string.h>

#include "base/failure.h"
#include "base/memory.h"

enum { SLOTS_MIN = 1024, SLOTS_KEPT = 1 << 17 };

static size_t find_slot(const tamis__overlay *overlay, const tamis_hash *hash) {
    const size_t mask = overlay->slot_count - 1;
    size_t slot = (size_t)hash->word[0] & mask;

    for (; overlay->slots[slot] != 0; slot = (slot + 1) & mask) {
        const tamis_hash *member = &overlay->hashes[overlay->slots[slot] - 1];
        if (member->word[0] == hash->word[0] && member->word[1] == hash->word[1])
            break;
    }
    return slot;
}

static tamis_status grow_slots(tamis__overlay *overlay, tamis_error *err) {
    const size_t count = overlay->slot_count == 0 ? SLOTS_MIN : 2 * overlay->slot_count;
    uint32_t *slots = NULL;

    if (count <= UINT32_MAX)
        slots = tamis__alloc(&overlay->from, count * sizeof *slots, sizeof *slots);
    if (!slots)
        return tamis__fail_nomem(err, "keys of a transaction", count * sizeof *slots);
    tamis__free(&overlay->from, overlay->slots, overlay->slot_count * sizeof *slots);
    overlay->slots = slots;
    overlay->slot_count = count;
    for (size_t i = 0; i < overlay->count; i++)
        slots[find_slot(overlay, &overlay->hashes[i])] = (uint32_t)i + 1;
    return TAMIS_OK;
}

tamis_status tamis__overlay_add(tamis__overlay *overlay, const tamis_allocator *from, tamis_hash hash,
                                bool *added, tamis_error *err) {
    if (overlay->slot_count == 0)
        overlay->from = *from;
    if (2 * (overlay->count + 1) > overlay->slot_count && grow_slots(overlay, err) != TAMIS_OK)
        return TAMIS_E_NOMEM;

    const size_t slot = find_slot(overlay, &hash);
    *added = overlay->slots[slot] == 0;
    if (!*added)
        return TAMIS_OK;
    tamis_hash *hashes = tamis__array_reserve(&overlay->from, overlay->hashes, sizeof *hashes,
                                              overlay->count + 1, &overlay->capacity);
    if (!hashes)
        return tamis__fail_nomem(err, "keys of a transaction", overlay->capacity * 2 * sizeof *hashes);
    overlay->hashes = hashes;
    hashes[overlay->count++] = hash;
    overlay->slots[slot] = (uint32_t)overlay->count;
    return TAMIS_OK;
}

/* No later member has been probed past the slot, so it can become empty. */
void tamis__overlay_undo(tamis__overlay *overlay) {
    overlay->slots[find_slot(overlay, &overlay->hashes[overlay->count - 1])] = 0;
    overlay->count--;
}

void tamis__overlay_release(tamis__overlay *overlay) {
    tamis__free(&overlay->from, overlay->hashes, overlay->capacity * sizeof *overlay->hashes);
    tamis__free(&overlay->from, overlay->slots, overlay->slot_count * sizeof *overlay->slots);
    *overlay = (tamis__overlay){0};
}

void tamis__overlay_empty(tamis__overlay *overlay) {
    if (overlay->slot_count > SLOTS_KEPT)
        tamis__overlay_release(overlay);
    else if (overlay->count > 0)
        memset(overlay->slots, 0, overlay->slot_count * sizeof *overlay->slots);
    overlay->count = 0;
}
