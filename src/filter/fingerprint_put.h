/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_FINGERPRINT_PUT_H
#define TAMIS_FILTER_FINGERPRINT_PUT_H

/* Entries into lines: what adding keys and rewriting partitions have in common, inlined into the loops of the kernels. */
#include "filter/fingerprint_table.h"

/*
 * Runs `call` with g pointing at the table's geometry: one that the compiler knows for the shapes that dedup and build
 * use by default, so that their shifts and field places become constants in code inlined below it.
 */
#define WITH_GEOMETRY(t, call)                                                                               \
    do {                                                                                                     \
        const line_geometry fixed = line_geometry_of(32, 4), growing = line_geometry_of(38, 2);              \
        const line_geometry built = line_geometry_of(24, 4), exact = line_geometry_of(120, 4), *g;           \
        if ((t)->geometry.slot_bits == 32) {                                                                 \
            g = &fixed;                                                                                      \
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
        } else {                                                                                             \
            g = &(t)->geometry;                                                                              \
            call;                                                                                            \
        }                                                                                                    \
    } while (0)

/* Share of the partition's y that an entry covers that knows so many bits of rest. */
static INLINED double share(const table *t, const partition *in, uint32_t known) {
    return t->unit * t->weight[in->line_bits + (known < in->known_most ? known : in->known_most)];
}

static INLINED void put_home(const table *t, const line_geometry *g, partition *in, uint64_t line, entry e) {
    line_insert(g, line_at(in, line), home_bucket(g, e.rest), slot_value(g, e, g->home_bits));
    in->covered += share(t, in, known_after(g, e.known, g->home_bits));
}

static INLINED void put_guest(const table *t, const line_geometry *g, partition *in, uint64_t line, entry e) {
    line_insert(g, line_at(in, line), g->guest_bucket, slot_value(g, e, 0));
    in->covered += share(t, in, known_after(g, e.known, 0));
}

static inline bool is_full(const line_geometry *g, const partition *in, uint64_t line) {
    return ends_full(g, line_ends(g, line_at(in, line)));
}

enum {
    ROOM_SEARCH = 32768, /* about how many entries may be looked at to make room for one */
    PATH_MOST = 8        /* entries that may move: 4^8 is past ROOM_SEARCH, and no line has fewer slots */
};

/* Frees a slot in one of two full lines, by the fewest moves; the caller fills it. */
bool tamis__fingerprint_make_room(const table *t, partition *in, uint64_t line, uint64_t guest);

/* Puts an entry that is not there yet. False, and nothing changed, if there is no room. */
bool tamis__fingerprint_put(const table *t, partition *in, uint64_t line, entry e);

/*
 * Called when a move has changed a line of a partition that is being copied, and the line is valid again. A line that was
 * copied already is copied again. So an entry that moved there is not missed, and one that moved away is not duplicated. Until
 * the copy ends, `used` of the copy's partition is the number of lines copied.
 */
static inline void tamis__fingerprint_moved(const table *t, const partition *in, uint64_t line) {
    if (!t->copy_to)
        return;
    const partition *copy = &t->copy_to->partitions[in - t->partitions];
    if (line < copy->used)
        memcpy(line_at(copy, line), line_at(in, line), LINE_BYTES);
}

/* ---- partitions ---- */

/* Of `count` empty lines. False: out of memory. */
bool tamis__fingerprint_make(const table *t, tamis_filter *filter, uint32_t hash_bits, partition *out,
                             uint64_t count);
void tamis__fingerprint_release(tamis_filter *filter, partition *in);
/* Rewrites it into one with more lines, or into SPLIT of them: `in` is gone then. One without lines of its own gets its
 * first. TAMIS_E_FULL, TAMIS_E_NOMEM: it is what it was. */
tamis_status tamis__fingerprint_grow(table *t, tamis_filter *filter, partition *in, tamis_error *err);

#endif
