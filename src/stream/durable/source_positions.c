/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/durable/source_positions.h"

#include <inttypes.h>
#include <string.h>

#include "hash/fnv.h"
#include "store/file/file_error.h"

void tamis__positions_release(tamis__positions *positions) {
    const tamis_allocator *memory = &positions->memory;
    for (size_t i = 0; i < positions->count; i++)
        tamis__free(memory, positions->sources[i].name, positions->sources[i].size + 1);
    tamis__free(memory, positions->sources, TAMIS__SOURCES_MAX * sizeof *positions->sources);
    tamis__free(memory, positions->slots, TAMIS__SOURCE_SLOTS * sizeof *positions->slots);
    *positions = (tamis__positions){.memory = *memory};
}

static tamis_status make_tables(tamis__positions *positions, tamis_error *err) {
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

static bool has_name(const tamis__source *source, tamis_key name) {
    return source->size == name.size && memcmp(source->name, name.data, name.size) == 0;
}

/* Returns the slot of the source, or the free slot where it belongs. */
static uint16_t *find_slot(const tamis__positions *positions, tamis_key name) {
    size_t slot = tamis__fnv1_64(name.data, name.size) % TAMIS__SOURCE_SLOTS;
    while (positions->slots[slot] && !has_name(&positions->sources[positions->slots[slot] - 1], name))
        slot = (slot + 1) % TAMIS__SOURCE_SLOTS;
    return &positions->slots[slot];
}

/* Adds a source, whose slot is free, and makes it the latest one. */
static tamis_status add_source(tamis__positions *positions, tamis_key name, uint16_t *slot,
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
    positions->sources[positions->count] = (tamis__source){.name = copy, .size = name.size};
    positions->latest = positions->count++;
    *slot = (uint16_t)positions->count;
    return TAMIS_OK;
}

/* Makes the source of that name the latest one. */
static tamis_status look_up(tamis__positions *positions, tamis_key name, tamis_error *err) {
    if (positions->count > 0 && has_name(&positions->sources[positions->latest], name))
        return TAMIS_OK; /* records of a source come one after another */
    const tamis_status status = make_tables(positions, err);
    if (status != TAMIS_OK)
        return status;
    uint16_t *slot = find_slot(positions, name);
    if (!*slot)
        return add_source(positions, name, slot, err);
    positions->latest = *slot - 1u;
    return TAMIS_OK;
}

static tamis_status fail_anew(const tamis__source *source, uint64_t position, const char *what,
                              tamis_error *err) {
    return tamis__fail(err, TAMIS_E_CHANGED, 0,
                       "position %" PRIu64
                       " of source %s %s; if the source was created again, give it another name",
                       position, tamis__show(source->name).text, what);
}

/* Checks a record that is not new: it must be one that was queried. */
static tamis_status check_redelivered(const tamis__source *source, const tamis__known_position *record,
                                      tamis_error *err) {
    const tamis__known_position *const known[] = {&source->first, &source->queried};
    if (record->position < source->first.position)
        return fail_anew(source, record->position, "is before the first one that this state knows", err);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (record->position == known[i]->position && record->key != known[i]->key)
            return fail_anew(source, record->position, "has another key than when it came before", err);
    return TAMIS_OK;
}

tamis_status tamis__positions_query(tamis__positions *positions, tamis_key source,
                                    const tamis__known_position *record, uint32_t *index, bool *redelivered,
                                    tamis_error *err) {
    const tamis_status status = look_up(positions, source, err);
    if (status != TAMIS_OK)
        return status;
    tamis__source *found = &positions->sources[positions->latest];
    *index = (uint32_t)positions->latest;
    *redelivered = found->is_queried && record->position <= found->queried.position;
    if (*redelivered)
        return check_redelivered(found, record, err);
    if (!found->is_queried)
        found->first = *record;
    found->queried = *record;
    found->is_queried = true;
    return TAMIS_OK;
}

void tamis__positions_written(tamis__positions *positions, uint32_t source,
                              const tamis__known_position *record) {
    tamis__source *found = &positions->sources[source];
    found->written = *record;
    found->is_written = found->is_unreported = true;
    if (source >= positions->written_count)
        positions->written_count = source + 1u;
}

tamis_status tamis__positions_add(tamis__positions *positions, tamis_key source,
                                  const tamis__known_position *first, const tamis__known_position *written,
                                  tamis_error *err) {
    const tamis_status status = look_up(positions, source, err);
    if (status != TAMIS_OK)
        return status;
    tamis__source *added = &positions->sources[positions->latest];
    added->first = *first;
    added->queried = added->written = *written;
    added->is_queried = added->is_written = added->is_unreported = true;
    positions->written_count = positions->count;
    return TAMIS_OK;
}
