/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Heavy hitters by majority vote: the algorithm of Boyer and Moore (MJRTY, 1981), once for each slot.
 *
 *     key --hash--> slot   | votes | key |       an add of the stored key:  votes + 1
 *                   slot   | votes | key |       an add of another key:     votes - 1
 *                   ...                          at 0 votes the next key takes the slot
 *
 * Invariants, for one slot with n adds, c of them of one key:
 *
 * 1. Each vote that is lost cancels an add of another key. So if c > n/2, the key is in the slot at the end,
 *    with at least 2c - n votes.
 * 2. The votes of the stored key are at most its own adds since it took the slot.
 *
 * Why this way: an add costs a hash and one comparison, and nothing is allocated. Misra and Gries, and
 * SpaceSaving, count the k most frequent keys without random errors. That takes a hash table and, to find the
 * smallest count, an ordered list. With slots, a heavy hitter is lost if another one falls into its slot.
 */
#include <string.h>

#include <tamis/experimental/census.h>

#include "base/memory.h"
#include "base/versioned.h"
#include "hash/xxh3.h"

enum { SLOTS = 1024 };

typedef struct slot {
    uint64_t votes; /* 0: free */
    size_t size;    /* size of the key */
    unsigned char key[TAMIS_HEAVY_HITTER_SIZE_MAX];
} slot;

struct tamis_heavy_hitters {
    tamis_allocator memory;
    size_t slot_count;
    slot slots[];
};

tamis_status tamis_heavy_hitters_create(tamis_heavy_hitters **hitters,
                                        const tamis_heavy_hitters_options *options, tamis_error *err) {
    TAMIS__NEED(hitters, err);
    tamis_heavy_hitters_options given = TAMIS_HEAVY_HITTERS_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&given, sizeof given, options, "TAMIS_HEAVY_HITTERS_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    size_t slot_count = given.slots > 0 ? given.slots : SLOTS;
    size_t size = sizeof(tamis_heavy_hitters) + slot_count * sizeof(slot); /* fits: 2^32 slots are 2 TiB */
    tamis_allocator memory = tamis__allocator_resolve(given.allocator);
    tamis_heavy_hitters *made = tamis__alloc(&memory, size, _Alignof(tamis_heavy_hitters));
    if (!made)
        return tamis__fail_nomem(err, "heavy hitters", size);
    made->memory = memory;
    made->slot_count = slot_count;
    *hitters = made;
    return TAMIS_OK;
}

void tamis_heavy_hitters_free(tamis_heavy_hitters *hitters) {
    if (!hitters)
        return;
    tamis_allocator memory = hitters->memory;
    tamis__free(&memory, hitters, sizeof *hitters + hitters->slot_count * sizeof(slot));
}

static void vote(slot *s, const tamis_key *key) {
    if (s->votes == 0) {
        s->size = key->size;
        if (key->size > 0)
            memcpy(s->key, key->data, key->size);
        s->votes = 1;
    } else if (s->size == key->size && (key->size == 0 || memcmp(s->key, key->data, key->size) == 0)) {
        s->votes++;
    } else {
        s->votes--;
    }
}

void tamis_heavy_hitters_add_many(tamis_heavy_hitters *hitters, const tamis_key *keys, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t hash[2];
        if (keys[i].size > TAMIS_HEAVY_HITTER_SIZE_MAX)
            continue;
        tamis__xxh3_any(keys[i].data, keys[i].size, 0, hash);
        vote(&hitters->slots[hash[0] % hitters->slot_count], &keys[i]);
    }
}

size_t tamis_heavy_hitters_list(const tamis_heavy_hitters *hitters, tamis_heavy_hitter *list,
                                size_t capacity) {
    size_t used = 0;
    for (size_t i = 0; i < hitters->slot_count; i++) {
        const slot *s = &hitters->slots[i];
        size_t index = used;
        while (index > 0 && list[index - 1].count < s->votes)
            index--;
        if (s->votes == 0 || index == capacity)
            continue;
        used += used < capacity;
        memmove(list + index + 1, list + index, (used - index - 1) * sizeof *list);
        list[index] = (tamis_heavy_hitter){{s->key, s->size}, s->votes};
    }
    return used;
}
