/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Removing an entry from a fingerprint table.
 *
 * A spilled entry may exist only while its home line is full (invariant 2 of fingerprint_table.h). So a slot
 * that becomes free in a full line is filled with a spilled entry of that line, if there is one. That frees a
 * slot in the line where it was spilled to, and so on. Each step makes one spilled entry a home entry, so the
 * loop ends.
 *
 *     remove a      line A (full)         line B (full)          line C (a free slot)
 *                   [a ....]              [.... s: of A]         [.... t: of B]
 *     then          [s ....]    <- s      [t ....]     <- t      [....]
 *
 * The spilled entries of a line are in the next `reach` lines, and all of these are searched. Each step may
 * read 64 KiB; only removing does so.
 *
 * Only entries that have their whole hash may be removed: a shorter one may stand for several keys.
 */
#include "filter/table/fingerprint_put.h"

/* *slot: the slot in the range with that value. */
static bool find_value(const line_geometry *g, const uint8_t *line, slot_range range, tamis__u128 value,
                       uint32_t *slot) {
    for (*slot = range.first; *slot < range.last; ++*slot)
        if (line_slot_matches(g, line, *slot, value))
            return true;
    return false;
}

/* Where an entry is in a partition. */
typedef struct entry_at {
    uint64_t line;
    uint32_t bucket, slot;
} entry_at;

/* Finds the entry of a hash in its home line, else in its spill line. */
static bool find_entry(const line_geometry *g, const location *loc, entry_at *found) {
    const partition *in = loc->in;
    const entry e = {loc->rest, HASH_BITS};
    const uint8_t *home = line_at(in, loc->line);
    *found = (entry_at){.line = loc->line, .bucket = home_bucket(g, e.rest)};
    if (find_value(g, home, ends_bucket(line_ends(g, home), found->bucket), slot_value(g, e, g->home_bits),
                   &found->slot))
        return true;
    *found = (entry_at){.line = spill_line(g, in, loc->line, e.rest), .bucket = g->spill_bucket};
    const uint8_t *spill = line_at(in, found->line);
    return find_value(g, spill, ends_spilled(g, line_ends(g, spill)), slot_value(g, e, 0), &found->slot);
}

/* Finds a spilled entry whose home line is `home`. */
static bool find_spilled(const line_geometry *g, const partition *in, uint64_t home, entry_at *found) {
    found->bucket = g->spill_bucket;
    for (uint32_t distance = 1; distance <= in->reach; distance++) {
        found->line = home + distance < in->count ? home + distance : home + distance - in->count;
        const uint8_t *line = line_at(in, found->line);
        const slot_range range = ends_spilled(g, line_ends(g, line));
        for (found->slot = range.first; found->slot < range.last; found->slot++)
            if (other_line(g, in, found->line, line_head(g, line, found->slot), true) == home)
                return true;
    }
    return false;
}

/* Removes an entry from its line. Its bits are overwritten: nothing of the hash may stay. */
static void remove_at(const table *t, partition *in, const entry_at *from) {
    const line_geometry *g = &t->geometry;
    uint8_t *line = line_at(in, from->line);
    const uint32_t last = ends_count(g, line_ends(g, line)) - 1;
    in->covered -= share(t, in, slot_entry(g, line, from->slot, from->bucket).known);
    line_remove(g, line, from->bucket, from->slot);
    line_put_slot(g, line, last, 0);
}

bool tamis__fingerprint_remove(tamis_filter *filter, const tamis_hash *hash) {
    const table *t = filter->body;
    const line_geometry *g = &t->geometry;
    const location loc = locate_hash(t, hash);
    partition *in = loc.in;
    entry_at removed, spilled;
    if (!has_own_lines(in) || !find_entry(g, &loc, &removed))
        return false;
    for (;;) {
        const bool was_full = is_full(g, in, removed.line);
        remove_at(t, in, &removed);
        if (!was_full || !find_spilled(g, in, removed.line, &spilled))
            break;
        insert_home(t, g, in, removed.line,
                    slot_entry(g, line_at(in, spilled.line), spilled.slot, g->spill_bucket));
        removed = spilled;
    }
    in->used -= in->used > 0; /* a forged file may say that there are fewer entries */
    /* Shares are rounded, so the difference may be below 0; a file with such a number is refused as
     * damaged. */
    in->covered = in->used > 0 ? fmax(in->covered, 0) : 0;
    filter->added -= filter->added > 0;
    return true;
}

void tamis__fingerprint_remove_many(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                    tamis_answer *answers) {
    for (size_t i = 0; i < count; i++)
        answers[i] = tamis__fingerprint_remove(filter, &hashes[i]) ? TAMIS_PRESENT : TAMIS_ABSENT;
}
