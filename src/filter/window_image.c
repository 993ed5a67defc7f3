/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Windows in files: which bytes a file gets, and a window over the bytes of a file (docs/FORMAT.md,
 * "Window").
 *
 * The body of the file has the lines of all tables, one table after the other. A window uses them there, so it
 * cannot be changed. The numbers of entries are copied, and must fit the slots.
 */
#include <inttypes.h>

#include "filter/block_verifier.h"
#include "filter/window_table.h"

bool tamis__window_body_part(const tamis_filter *filter, size_t i, tamis__body_part *out) {
    const window *w = filter->body;
    if (i >= w->table_count)
        return false;
    const window_table *t = &w->tables[i];
    *out = (tamis__body_part){.bytes = t->lines, .size = t->line_count * LINE_BYTES, .entries = t->live};
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
    const tamis__body_part *row = &image->parts[i];
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
    t->lines =
        (uint8_t *)(uintptr_t)(image->body + *pos); /* read-only: filters in an image are not changed */
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
    /* The file does not say when its dead entries were purged: purge them before time advances. */
    const uint64_t steps = w->shape.codes - w->shape.kept;
    w->purged = w->newest_step > steps ? w->newest_step - steps : 0;
    for (size_t i = 0; i < image->part_count && status == TAMIS_OK; i++)
        status = restore_table(filter, image, i, &pos, err);
    if (status == TAMIS_OK && pos != image->body_size)
        status = fail_image(image, "body_size", image->body_size, pos, err);
    return status;
}

tamis_status tamis__window_touch(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                 tamis_error *err) {
    const window *w = filter->body;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < count; i++) {
        const window_query q = query_of(filter, &hashes[i], w->newest);
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
