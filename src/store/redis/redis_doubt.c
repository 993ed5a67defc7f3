/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/redis_doubt.h"

#include "base/memory.h"
#include "hash/positions.h"

enum { ROOM_LEAST = 64 };

/* Two probes among as many bits as there can be. Two keys that have the same one only make UNKNOWN of a SEEN. */
uint64_t tamis__doubts_print(const tamis_filter *filter, const tamis__key_batch *asked, size_t i) {
    uint64_t at[2];
    if (asked->hashes)
        tamis__positions(filter->plan.scheme, asked->hashes[i].word, TAMIS_BITS_MAX, 2, at);
    else
        tamis__hasher_positions(filter->hasher, &asked->keys[i], TAMIS_BITS_MAX, 2, at);
    const uint64_t print = (at[0] * TAMIS__MIX ^ at[1]) * TAMIS__MIX;
    return print ? print : 1;
}

static size_t home_of(const tamis__doubts *doubts, uint64_t print) {
    return (print >> 32) & (doubts->room - 1);
}

/* Where it is, or the free slot where it would be. */
static size_t find(const tamis__doubts *doubts, uint64_t print) {
    size_t i = home_of(doubts, print);
    while (doubts->slots[i] && doubts->slots[i] != print)
        i = (i + 1) & (doubts->room - 1);
    return i;
}

static bool make_room(tamis__doubts *doubts, const tamis_allocator *allocator) {
    tamis__doubts more = {.room = doubts->room ? 2 * doubts->room : ROOM_LEAST, .count = doubts->count};
    more.slots = tamis__alloc(allocator, more.room * sizeof *more.slots, _Alignof(uint64_t));
    if (!more.slots)
        return false;
    for (size_t i = 0; i < doubts->room; i++)
        if (doubts->slots[i])
            more.slots[find(&more, doubts->slots[i])] = doubts->slots[i];
    tamis__doubts_release(doubts, allocator);
    *doubts = more;
    return true;
}

void tamis__doubts_keep(tamis__doubts *doubts, uint64_t print, const tamis_allocator *allocator) {
    if (doubts->every || (doubts->room > 0 && doubts->slots[find(doubts, print)]))
        return;
    const bool is_full = 2 * (doubts->count + 1) > doubts->room;
    doubts->every = doubts->count == TAMIS__DOUBTS_MOST || (is_full && !make_room(doubts, allocator));
    if (doubts->every)
        return;
    doubts->slots[find(doubts, print)] = print;
    doubts->count++;
}

/* What stands behind it moves up where it could not be found any more. */
static void take_out(tamis__doubts *doubts, size_t hole) {
    const size_t mask = doubts->room - 1;
    for (size_t i = (hole + 1) & mask; doubts->slots[i]; i = (i + 1) & mask) {
        if (((i - home_of(doubts, doubts->slots[i])) & mask) < ((i - hole) & mask))
            continue;
        doubts->slots[hole] = doubts->slots[i];
        hole = i;
    }
    doubts->slots[hole] = 0;
    doubts->count--;
}

bool tamis__doubts_take(tamis__doubts *doubts, uint64_t print) {
    const size_t at = doubts->count > 0 ? find(doubts, print) : 0;
    const bool is_one = doubts->count > 0 && doubts->slots[at];
    if (is_one)
        take_out(doubts, at);
    return is_one || doubts->every;
}

void tamis__doubts_release(tamis__doubts *doubts, const tamis_allocator *allocator) {
    tamis__free(allocator, doubts->slots, doubts->room * sizeof *doubts->slots);
    *doubts = (tamis__doubts){0};
}
