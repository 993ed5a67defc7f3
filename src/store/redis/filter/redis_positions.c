/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/filter/redis_positions.h"

static bool is_first_of_key(const tamis__element_positions *positions, uint32_t probe) {
    for (uint32_t j = 0; j < probe; j++)
        if (positions->keys[j] == positions->keys[probe])
            return false;
    return true;
}

bool tamis__element_find_part(const tamis_filter *filter, const tamis__element_positions *positions,
                              uint32_t number, tamis__element_part *part) {
    const uint32_t probes = filter->plan.probes;
    uint32_t first = 0;
    *part = (tamis__element_part){positions->key, 0, probes};
    if (tamis__redis_of(filter)->parts == 1)
        return number == 0;
    while (first < probes && !(is_first_of_key(positions, first) && number-- == 0))
        first++;
    if (first == probes)
        return false;
    *part = (tamis__element_part){positions->keys[first], first, 0};
    for (uint32_t j = first; j < probes; j++)
        part->count += positions->keys[j] == part->key;
    return true;
}

bool tamis__element_is_set(const tamis__element_positions *positions, uint32_t probe,
                           const tamis__reply *block) {
    const uint64_t offset = positions->offsets[probe] - positions->block * 8;
    return offset / 8 < block->size && ((unsigned char)block->text[offset / 8] & 0x80 >> offset % 8) != 0;
}
