/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Windows in files: which bytes a file gets, and a window over the bytes of a file (docs/FORMAT.md,
 * "Window").
 *
 * The body of the file has the lines of all tables, one table after the other, byte for byte as in memory. A
 * window uses them there (`borrowed`), so it cannot be changed; a copy can. All else is in the header, and is
 * copied:
 *
 *     body                     | table 0 | table 1 | ... |    the oldest first; the last one gets new entries
 *     section "partitions"     lines and entries of each table
 *     section "window"         the times of the plan, the newest time, and for each table:
 *                              entries of the oldest kept step, of the next one, ... of the newest one
 *
 * The order of the counts. In memory, the count of step s is at s % kept. A file has them by age, so that it
 * does not depend on when the window began. For kept = 3 and a newest step of 20:
 *
 *     in memory    counts[0] = step 18, counts[1] = step 19, counts[2] = step 20
 *     in the file  18, 19, 20          number n of the file is step newest + 1 + n - kept, at the index
 *                                      (newest + 1 + n) % kept
 *
 * Dead entries are in the file as they were in memory. A file does not say when they were purged. So a
 * restored window takes the earliest step at which that can have been, and purges at the next step that
 * begins.
 *
 * Forged files. Any bytes are valid lines: a slot leads to its other line by arithmetic modulo the number of
 * lines, so no lookup leaves the body. Counts decide about purges, growth and statistics, not about lookups;
 * they must fit the slots, so that sums cannot overflow.
 *
 * Invariants:
 * 1. tamis__window_restore accepts only tables that fill the body exactly, each with an even number of lines
 *    above 0.
 * 2. `live` of a restored table is the sum of its counts, and at most the number of its slots.
 * 3. tamis__window_touch verifies both lines of a key in every table: all lines that a lookup may read.
 */
#include <inttypes.h>

#include "filter/block_verifier.h"
#include "filter/window/window_table.h"

bool tamis__window_body_extent(const tamis_filter *filter, size_t i, tamis__body_extent *out) {
    const window *w = filter->body;
    if (i >= w->table_count)
        return false;
    const window_table *t = &w->tables[i];
    *out = (tamis__body_extent){.bytes = t->lines, .size = t->line_count * LINE_BYTES, .entries = t->live};
    return true;
}

uint64_t tamis__window_count(const tamis_filter *filter, size_t i, uint32_t n) {
    const window *w = filter->body;
    return *count_at(w, &w->tables[i], w->newest_step + 1 + n);
}

static tamis_status fail_image(const tamis__image *image, const char *what, uint64_t value, uint64_t max,
                               tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: %s is %" PRIu64 ", above %" PRIu64
                       "; restore the file from a copy, or build it anew",
                       image->name, what, value, max);
}

/* Restores table `i`, whose lines begin at *pos of the body. Moves *pos behind them. */
static tamis_status restore_table(tamis_filter *filter, const tamis__image *image, size_t i, uint64_t *pos,
                                  tamis_error *err) {
    window *w = filter->body;
    window_table *t = &w->tables[i];
    const tamis__body_extent *row = &image->extents[i];
    const uint8_t *counts = image->window->counts + i * counts_bytes(w);
    if (row->size > image->body_size - *pos)
        return fail_image(image, "size of a table", row->size, image->body_size - *pos, err);
    if (row->size == 0 || row->size % (2 * LINE_BYTES) != 0)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: size of a table is %" PRIu64
                           ", not a multiple of 128; restore the file from a copy, or build it anew",
                           image->name, row->size);
    t->counts = tamis__filter_alloc(filter, counts_bytes(w));
    if (!t->counts)
        return tamis__fail_nomem(err, "filter", counts_bytes(w));
    w->table_count++;
    /* Filters in an image are only read, so the cast is safe. */
    t->lines = (uint8_t *)(uintptr_t)(image->body + *pos);
    t->line_count = row->size / LINE_BYTES;
    *pos += row->size;
    const uint64_t slots = t->line_count * w->shape.slots;
    for (uint32_t n = 0; n < w->shape.kept; n++) {
        const uint64_t count = tamis__load64le(counts + 8 * n);
        if (count > slots - t->live)
            return fail_image(image, "entries of a step", count, slots - t->live, err);
        t->live += count;
        *count_at(w, t, w->newest_step + 1 + n) = count;
    }
    if (row->entries != t->live)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: a table says that it has %" PRIu64 " entries, but its steps have %" PRIu64
                           "; restore the file from a copy, or build it anew",
                           image->name, row->entries, t->live);
    return TAMIS_OK;
}

tamis_status tamis__window_restore(tamis_filter *filter, const tamis__image *image, tamis_error *err) {
    window *w;
    uint64_t pos = 0;
    tamis_status status = tamis__window_create_empty(filter, &w, err);
    if (status != TAMIS_OK)
        return status;
    w->borrowed = true;
    w->newest = image->window->newest;
    w->newest_step = step_of(filter, w->newest);
    w->false_present = image->false_present;
    /* The earliest step of the last purge: at the next step that begins, the window is purged again. */
    const uint64_t steps = w->shape.codes - w->shape.kept;
    w->purged = w->newest_step > steps ? w->newest_step - steps : 0;
    for (size_t i = 0; i < image->extent_count && status == TAMIS_OK; i++)
        status = restore_table(filter, image, i, &pos, err);
    if (status == TAMIS_OK && pos != image->body_size)
        status = fail_image(image, "body_size", image->body_size, pos, err);
    return status;
}

tamis_status tamis__window_touch(const tamis_filter *filter, const tamis__key_batch *batch,
                                 tamis_error *err) {
    const window *w = filter->body;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < batch->count; i++) {
        const window_query q = query_of(filter, &batch->hashes[i], w->newest);
        for (size_t n = 0; n < w->table_count && status == TAMIS_OK; n++) {
            const window_table *t = &w->tables[n];
            const line_pair pair = lines_of(w, t, &q);
            status = tamis__block_verifier_check(filter->verifier, line_at(t, pair.a), err);
            if (status == TAMIS_OK)
                status = tamis__block_verifier_check(filter->verifier, line_at(t, pair.b), err);
        }
    }
    return status;
}
