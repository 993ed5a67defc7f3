/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Positions of sources. A source is a partition of a broker, for example, and a position is an offset in it.
 * Positions of a source increase, except that a consumer which was restarted gets records again that it had
 * before. Such a record must be left out. The filter would answer that it is a duplicate, although it may be
 * the first occurrence of its key, which the outputs have.
 *
 *     source        first            written            queried
 *     "clicks/0"      |-----------------|------------------|----------> position
 *                       in the outputs    in the pipeline     new
 *
 * A record up to `queried` was delivered again: it is not queried, and not written again (Q2 of
 * docs/DURABILITY.md, "Positions"). A commit stores `first` and `written` (Q4). So a restart forgets exactly
 * the records that were not committed (Q6).
 *
 * One number for each source replaces a list of all its records. The price: a source that was created again,
 * with positions from 0, looks like one that is delivered again. Its records would be lost in silence. So the
 * keys of the first and of the last record are stored too. If one of these positions comes with another key,
 * or a position before the first one comes, the source was created again. Then the run fails.
 *
 * Invariants:
 * 1. first <= written <= queried, as far as they are set.
 * 2. A source keeps its index: sources are appended and never removed. So spans of a batch and the writing
 *    thread may keep indexes.
 * 3. Two threads use the positions at once, without a lock. The querying thread adds sources, and sets
 *    `first` and `queried`; the writing thread sets `written` and written_count, and uses sources below
 *    written_count alone. A record is queried before it is written, and the pipeline's lock is in between: so
 *    the writing thread sees its source and `first`. The array has its full size from the beginning, and
 *    never moves.
 *
 * Names are found by a hash table with open addressing that is at most half full. Records of one source come
 * one after another, so tamis__source_positions_find compares with the latest name first.
 */
#include "service/dedup/source_positions.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "hash/fnv.h"
#include "store/file/file_error.h"

void tamis__source_positions_release(tamis__source_positions *positions) {
    const tamis_allocator *memory = &positions->memory;
    for (size_t i = 0; i < positions->count; i++)
        tamis__free(memory, positions->sources[i].name, positions->sources[i].size + 1);
    tamis__free(memory, positions->sources, TAMIS__SOURCES_MAX * sizeof *positions->sources);
    tamis__free(memory, positions->slots, TAMIS__SOURCE_SLOTS * sizeof *positions->slots);
    *positions = (tamis__source_positions){.memory = *memory};
}

static tamis_status make_tables(tamis__source_positions *positions, tamis_error *err) {
    const tamis_allocator *memory = &positions->memory;
    if (!positions->sources)
        positions->sources =
            tamis__alloc(memory, TAMIS__SOURCES_MAX * sizeof *positions->sources, TAMIS__LINE);
    if (!positions->slots)
        positions->slots = tamis__alloc(memory, TAMIS__SOURCE_SLOTS * sizeof *positions->slots, TAMIS__LINE);
    if (positions->sources && positions->slots)
        return TAMIS_OK;
    return tamis__fail_nomem(err, "positions of sources", TAMIS__SOURCES_MAX * sizeof *positions->sources);
}

static bool has_name(const tamis__source_entry *source, tamis_key name) {
    return source->size == name.size && memcmp(source->name, name.data, name.size) == 0;
}

/* Returns the slot of the source, or the free slot where it belongs. */
static uint16_t *find_slot(const tamis__source_positions *positions, tamis_key name) {
    size_t slot = tamis__fnv1_64(name.data, name.size) % TAMIS__SOURCE_SLOTS;
    while (positions->slots[slot] && !has_name(&positions->sources[positions->slots[slot] - 1], name))
        slot = (slot + 1) % TAMIS__SOURCE_SLOTS;
    return &positions->slots[slot];
}

/* Adds a source, whose slot is free. */
static tamis_status add_source(tamis__source_positions *positions, tamis_key name, uint16_t *slot,
                               tamis_error *err) {
    if (positions->count == TAMIS__SOURCES_MAX)
        return tamis__fail(
            err, TAMIS_E_RANGE, 0,
            "its source is the %dth, and a state keeps the positions of %d; take a part of the "
            "record as the source that has fewer values",
            TAMIS__SOURCES_MAX + 1, TAMIS__SOURCES_MAX);
    char *copy = tamis__alloc(&positions->memory, name.size + 1, 1);
    if (!copy)
        return tamis__fail_nomem(err, "positions of sources", name.size + 1);
    memcpy(copy, name.data, name.size);
    positions->sources[positions->count] = (tamis__source_entry){.name = copy, .size = name.size};
    *slot = (uint16_t)++positions->count;
    return TAMIS_OK;
}

tamis_status tamis__source_positions_look_up(tamis__source_positions *positions, tamis_key name,
                                             uint32_t *source, tamis_error *err) {
    tamis_status status = make_tables(positions, err);
    if (status != TAMIS_OK)
        return status;
    uint16_t *slot = find_slot(positions, name);
    status = *slot ? TAMIS_OK : add_source(positions, name, slot, err);
    if (status != TAMIS_OK)
        return status;
    positions->latest = *slot - 1u;
    *source = (uint32_t)positions->latest;
    return TAMIS_OK;
}

static tamis_status fail_created_again(const tamis__source_entry *source, uint64_t position, const char *what,
                                       tamis_error *err) {
    return tamis__fail(err, TAMIS_E_CHANGED, 0,
                       "position %" PRIu64
                       " of source %s %s; if the source was created again, give it another name",
                       position, tamis__show(source->name).text, what);
}

tamis_status tamis__source_positions_check_redelivered(const tamis__source_entry *source,
                                                       const tamis__known_position *record,
                                                       tamis_error *err) {
    const tamis__known_position *const known[] = {&source->first, &source->queried};
    if (record->position < source->first.position)
        return fail_created_again(source, record->position, "is before the first one that this state knows",
                                  err);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (record->position == known[i]->position && record->key != known[i]->key)
            return fail_created_again(source, record->position, "has another key than when it came before",
                                      err);
    return TAMIS_OK;
}

void tamis__source_positions_written(tamis__source_positions *positions, uint32_t source,
                                     const tamis__known_position *record) {
    tamis__source_entry *found = &positions->sources[source];
    found->written = *record;
    found->is_written = found->is_unreported = true;
    if (source >= positions->written_count)
        positions->written_count = source + 1u;
}

/*
 * Encoded, in numbers of 64 bits, little-endian:
 *
 *     count | size of name, name, first: position, key, last: position, key | ...
 */
enum { SOURCE_SIZE = 8 * 5 }; /* bytes of a source with an empty name */

/* Returns the position that is encoded for source i; NULL: none. */
static const tamis__known_position *encoded_position(const tamis__source_positions *positions, size_t i,
                                                     bool queried) {
    const tamis__source_entry *source = &positions->sources[i];
    if (queried)
        return source->is_queried ? &source->queried : NULL;
    return i < positions->written_count && source->is_written ? &source->written : NULL;
}

size_t tamis__source_positions_size(const tamis__source_positions *positions, bool queried) {
    const size_t count = queried ? positions->count : positions->written_count;
    size_t size = 8;
    for (size_t i = 0; i < count; i++)
        if (encoded_position(positions, i, queried))
            size += SOURCE_SIZE + positions->sources[i].size;
    return size;
}

void tamis__source_positions_encode(const tamis__source_positions *positions, bool queried,
                                    unsigned char *bytes) {
    const size_t count = queried ? positions->count : positions->written_count;
    unsigned char *next = bytes + 8;
    uint64_t encoded = 0;
    for (size_t i = 0; i < count; i++) {
        const tamis__source_entry *source = &positions->sources[i];
        const tamis__known_position *last = encoded_position(positions, i, queried);
        if (!last)
            continue;
        const uint64_t numbers[] = {source->first.position, source->first.key, last->position, last->key};
        tamis__store64le(next, source->size);
        memcpy(next + 8, source->name, source->size);
        next += 8 + source->size;
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++, next += 8)
            tamis__store64le(next, numbers[n]);
        encoded++;
    }
    tamis__store64le(bytes, encoded);
}

/* Adds a source that has a written record. */
static tamis_status add_written(tamis__source_positions *positions, tamis_key name,
                                const tamis__known_position *first, const tamis__known_position *written,
                                tamis_error *err) {
    uint32_t source;
    const tamis_status status = tamis__source_positions_find(positions, name, &source, err);
    if (status != TAMIS_OK)
        return status;
    tamis__source_entry *added = &positions->sources[source];
    added->first = *first;
    added->queried = *written;
    added->has_first = added->is_queried = true;
    tamis__source_positions_written(positions, source, written);
    return TAMIS_OK;
}

tamis_status tamis__source_positions_decode(tamis__source_positions *positions, const unsigned char *bytes,
                                            size_t size, tamis_error *err) {
    const unsigned char *const end = bytes + size;
    uint64_t count = size >= 8 ? tamis__load64le(bytes) : UINT64_MAX;
    tamis_status status = TAMIS_OK;
    bool is_valid = count <= TAMIS__SOURCES_MAX;
    for (bytes += 8; is_valid && count > 0 && status == TAMIS_OK; count--) {
        const uint64_t left = (uint64_t)(end - bytes);
        const uint64_t name_size = left >= SOURCE_SIZE ? tamis__load64le(bytes) : UINT64_MAX;
        is_valid = left >= SOURCE_SIZE && name_size <= left - SOURCE_SIZE && name_size <= TAMIS_SOURCE_MAX;
        if (!is_valid)
            break;
        const tamis_key name = {bytes + 8, (size_t)name_size};
        bytes += 8 + name_size;
        status = add_written(
            positions, name, &(tamis__known_position){tamis__load64le(bytes), tamis__load64le(bytes + 8)},
            &(tamis__known_position){tamis__load64le(bytes + 16), tamis__load64le(bytes + 24)}, err);
        bytes += 32;
    }
    if (status != TAMIS_OK || (is_valid && bytes == end))
        return status;
    return tamis__fail(err, TAMIS_E_FORMAT, 0,
                       "state: a commit was not made by this program; use the program that made it");
}
