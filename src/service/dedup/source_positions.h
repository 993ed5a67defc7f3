/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_DEDUP_SOURCE_POSITIONS_H
#define TAMIS_SERVICE_DEDUP_SOURCE_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tamis/dedup.h>
#include <tamis/key.h>

#include "base/failure.h"
#include "base/memory.h"

/* Positions of sources: which records a broker, for example, has delivered before. source_positions.c
 * explains them. */
typedef struct tamis__known_position {
    uint64_t position;
    uint64_t key; /* hash of the record's key; of the record, if it has none */
} tamis__known_position;

typedef struct tamis__source_entry {
    char *name; /* with a NUL */
    size_t size;
    tamis__known_position first, queried, written;
    bool has_first;     /* `first` is set */
    bool is_queried;    /* `queried` is set */
    bool is_written;    /* `written` is set, and `first` belongs to a written record */
    bool is_unreported; /* `written` has changed since it was reported */
} tamis__source_entry;

enum {
    TAMIS__SOURCES_MAX = 2048, /* a checkpoint has space for as many names of TAMIS_SOURCE_MAX bytes */
    TAMIS__SOURCE_SLOTS = 2 * TAMIS__SOURCES_MAX
};

/* A thread that queries records and a thread that writes earlier ones may use it at once. */
typedef struct tamis__source_positions {
    tamis_allocator memory;
    tamis__source_entry *sources; /* TAMIS__SOURCES_MAX; NULL: none yet */
    uint16_t *slots; /* TAMIS__SOURCE_SLOTS: index of a source plus 1, by the hash of its name; 0: free */
    size_t count;    /* sources that were queried */
    size_t latest;   /* index of the source that was looked up last */
    size_t written_count; /* sources up to the last one with a written record */
} tamis__source_positions;

TAMIS_PRIVATE_API void tamis__source_positions_release(tamis__source_positions *positions);

/* Finds the source of that name, and adds it if it is new. TAMIS_E_RANGE: more than TAMIS__SOURCES_MAX
 * sources. TAMIS_E_NOMEM. */
TAMIS_PRIVATE_API tamis_status tamis__source_positions_look_up(tamis__source_positions *positions,
                                                               tamis_key name, uint32_t *source,
                                                               tamis_error *err);

/* The same, quicker if it was the last one too: records of a source come one after another. */
static inline tamis_status tamis__source_positions_find(tamis__source_positions *positions, tamis_key name,
                                                        uint32_t *source, tamis_error *err) {
    const tamis__source_entry *latest = positions->count > 0 ? &positions->sources[positions->latest] : NULL;
    if (!latest || latest->size != name.size || memcmp(latest->name, name.data, name.size) != 0)
        return tamis__source_positions_look_up(positions, name, source, err);
    *source = (uint32_t)positions->latest;
    return TAMIS_OK;
}

/* Checks a record that is not new: it must be one that was queried. */
TAMIS_PRIVATE_API tamis_status tamis__source_positions_check_redelivered(const tamis__source_entry *source,
                                                                         const tamis__known_position *record,
                                                                         tamis_error *err);

/* Q2: stores that the record is queried. *redelivered: it was queried earlier; do not query it again.
 * TAMIS_E_CHANGED: the source was created again. */
static inline tamis_status tamis__source_positions_query(tamis__source_positions *positions, uint32_t source,
                                                         const tamis__known_position *record,
                                                         bool *redelivered, tamis_error *err) {
    tamis__source_entry *found = &positions->sources[source];
    *redelivered = found->is_queried && record->position <= found->queried.position;
    if (*redelivered)
        return tamis__source_positions_check_redelivered(found, record, err);
    if (!found->has_first || record->position < found->first.position)
        found->first = *record;
    found->queried = *record;
    found->has_first = found->is_queried = true;
    return TAMIS_OK;
}

/* Q3: stores that the record is in the outputs. Records of a source are written in the order of their
 * queries. */
TAMIS_PRIVATE_API void tamis__source_positions_written(tamis__source_positions *positions, uint32_t source,
                                                       const tamis__known_position *record);

/* Returns the size of the encoded positions. Each source has the first one and the last one that
 * was written, or with `queried` the last one that was queried. The writing thread may call it, and the
 * next one, without `queried`. */
TAMIS_PRIVATE_API size_t tamis__source_positions_size(const tamis__source_positions *positions, bool queried);
/* Encodes them to that many bytes. */
TAMIS_PRIVATE_API void tamis__source_positions_encode(const tamis__source_positions *positions, bool queried,
                                                      unsigned char *bytes);
/* Decodes them, as positions of written records. `positions` are empty, with `memory` set. TAMIS_E_FORMAT:
 * the bytes are something else. TAMIS_E_NOMEM. */
TAMIS_PRIVATE_API tamis_status tamis__source_positions_decode(tamis__source_positions *positions,
                                                              const unsigned char *bytes, size_t size,
                                                              tamis_error *err);

#endif
