/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_FINGERPRINT_PUT_H
#define TAMIS_FILTER_FINGERPRINT_PUT_H

/*
 * Inserting entries into lines. Adding a key and rewriting a partition share this code; the kernels inline
 * it.
 *
 *     home line has a free slot      insert_home
 *     home line is full              insert_spilled, in the spill line
 *     both lines are full            free_slot moves other entries, then one of the above
 *
 * An insertion adds its share to `covered`, and a removal subtracts it, so that `covered` is right after
 * each of them. `used` counts entries, so moving one does not change it; the caller who adds a
 * new entry does. A line that was changed is passed to tamis__fingerprint_moved, once it is valid again.
 */
#include "filter/table/fingerprint_table.h"

/* Runs `call` with `g` set to the table's line layout. For the default layouts of dedup and build, for rates
 * from 1e-5 on and for `exact`, the layout is a compile-time constant. Shifts and offsets in code inlined
 * below become constants too. */
#define WITH_GEOMETRY(t, call)                                                                               \
    do {                                                                                                     \
        const line_geometry sized = line_geometry_of(32, 4), growing = line_geometry_of(38, 2);              \
        const line_geometry built = line_geometry_of(24, 4), exact = line_geometry_of(120, 4);               \
        const line_geometry small = line_geometry_of(16, 4), grown = line_geometry_of(20, 4), *g;            \
        if ((t)->geometry.slot_bits == 32) {                                                                 \
            g = &sized;                                                                                      \
            call;                                                                                            \
        } else if ((t)->geometry.slot_bits == 38) {                                                          \
            g = &growing;                                                                                    \
            call;                                                                                            \
        } else if ((t)->geometry.slot_bits == 24) {                                                          \
            g = &built;                                                                                      \
            call;                                                                                            \
        } else if ((t)->geometry.slot_bits == 120) {                                                         \
            g = &exact;                                                                                      \
            call;                                                                                            \
        } else if ((t)->geometry.slot_bits == 16) {                                                          \
            g = &small;                                                                                      \
            call;                                                                                            \
        } else if ((t)->geometry.slot_bits == 20) {                                                          \
            g = &grown;                                                                                      \
            call;                                                                                            \
        } else {                                                                                             \
            g = &(t)->geometry;                                                                              \
            call;                                                                                            \
        }                                                                                                    \
    } while (0)

/* Share of the partition's y that an entry with `known` remainder bits covers. */
static INLINED double share(const table *t, const partition *in, uint32_t known) {
    return t->line_share * t->weight[in->line_bits + (known < in->known_max ? known : in->known_max)];
}

static INLINED void insert_home(const table *t, const line_geometry *g, partition *in, uint64_t line,
                                entry e) {
    line_insert(g, line_at(in, line), home_bucket(g, e.rest), slot_value(g, e, g->home_bits));
    in->covered += share(t, in, known_after(g, e.known, g->home_bits));
}

static INLINED void insert_spilled(const table *t, const line_geometry *g, partition *in, uint64_t line,
                                   entry e) {
    line_insert(g, line_at(in, line), g->spill_bucket, slot_value(g, e, 0));
    in->covered += share(t, in, known_after(g, e.known, 0));
}

static inline bool is_full(const line_geometry *g, const partition *in, uint64_t line) {
    return ends_full(g, line_ends(g, line_at(in, line)));
}

enum {
    SEARCH_MAX = 32768, /* about how many entries one search for a free slot may look at */
    PATH_LENGTH_MAX = 8 /* max. entries moved: 4^8 exceeds SEARCH_MAX, and no line has fewer than 4 slots */
};

/* Inserts an entry that the table does not have yet. Moves other entries if both of its lines are full.
 * False, and nothing has changed, if no slot can be freed. */
bool tamis__fingerprint_put(const table *t, partition *in, uint64_t line, entry e);

/* Call this after an entry was moved to or from a line of a partition that is being copied, when the line
 * is valid again. If the line was copied already, it is copied again: the copy then neither misses a moved
 * entry nor has it twice. Until the copy ends, `used` of the copy's partition is the number of lines
 * copied. */
static inline void tamis__fingerprint_moved(const table *t, const partition *in, uint64_t line) {
    if (!t->copy_to)
        return;
    const partition *copy = &t->copy_to->partitions[in - t->partitions];
    if (line < copy->used)
        memcpy(line_at(copy, line), line_at(in, line), LINE_BYTES);
}

/* ---- partitions ---- */

/* Makes a partition of `count` empty lines. False: out of memory. */
bool tamis__fingerprint_create_partition(const table *t, tamis_filter *filter, uint32_t hash_bits,
                                         partition *out, uint64_t count);
void tamis__fingerprint_release(tamis_filter *filter, partition *in);
/* Replaces a partition by one with more lines, or by SPLIT partitions; `in` must then be looked up again.
 * A partition without lines of its own gets its first lines. On TAMIS_E_FULL and TAMIS_E_NOMEM nothing has
 * changed. */
tamis_status tamis__fingerprint_grow(table *t, tamis_filter *filter, partition *in, tamis_error *err);

#endif
