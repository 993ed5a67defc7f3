/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Fingerprint tables in file images (docs/FORMAT.md, "Fingerprint and exact").
 *
 * The body of an image is the lines of all partitions, one partition after the other, byte for byte as in
 * memory:
 *
 *     body   | partition 0 | partition 1 | partition 2.0 | ... | partition 2.15 | partition 3 | ...
 *                                         `--- partition 2 was split into 16 --'
 *
 *     section "partitions"    for each of these: lines, entries, coverage
 *     section "split"         one bit for each of the first partitions: it was split
 *
 * A reader needs no decoding: a restored table points into the image (`borrowed`) and is only read. So a
 * mapped file answers lookups without being read as a whole. To add keys, the caller copies the filter.
 *
 * Why lines can be used as they are: a line is an array of bytes with a fixed layout (fingerprint_line.h),
 * stored little-endian. It has no pointer and needs no data from elsewhere. The body begins at a multiple of
 * 64 bytes, so every line is one cache line. All else that a lookup needs is computed
 * from the number of lines and the line shape (partition_of). That is the lines of a partition, the reach of
 * spilled entries, and the bits of positions.
 *
 * What a forged file can do, and what prevents it:
 *
 *     forged                              could                            prevented by
 *     ----------------------------------  -------------------------------  --------------------------------
 *     a number of lines                   lead lookups out of the body     restore_group, sum of sizes
 *     a line shape                        lead slots out of the line       check_shape: a shape of the plan
 *     `ends` with a wrong number of ones  give slot numbers out of range   tamis__fingerprint_valid
 *     an entry without an end mark        match every hash                 tamis__fingerprint_valid
 *     entries, coverage                   misreport statistics             bounds only: no lookup uses them
 *
 * A forged file that passes all of this is a filter like any other: who can write the file decides which
 * keys it has.
 *
 * Invariants:
 * 1. tamis__fingerprint_restore accepts only parameters with which no lookup leaves the body. The line shape
 *    is one of the plan's, every partition lies within the body, and together they fill it.
 * 2. tamis__fingerprint_valid accepts only lines in which no slot range leaves the line. The block verifier
 *    calls it for each block before the first lookup in that block (block_verifier.h).
 * 3. tamis__fingerprint_touch verifies both lines that a lookup of a hash may read.
 *
 * The header has the rate of the whole table, `covered`. Its difference to the sum over the partitions is
 * kept in table.covered, so that a restored table has the rate that was written.
 */
#include <inttypes.h>

#include "filter/block_verifier.h"
#include "filter/table/fingerprint_table.h"

bool tamis__fingerprint_body_extent(const tamis_filter *filter, size_t i, tamis__body_extent *extent) {
    const table *t = filter->body;
    for (uint32_t n = 0; n < group_count(t); n++) {
        const partition_group *group = &t->groups[n];
        if (i < partition_count(group)) {
            const partition *in = &group->first[i];
            *extent = (tamis__body_extent){.bytes = in->lines,
                                           .size = in->count * LINE_BYTES,
                                           .entries = in->used,
                                           .covered = in->covered,
                                           .split = t->grows_by_partition && group->bits > 0};
            return true;
        }
        i -= partition_count(group);
    }
    return false;
}

/* Checks lines: `ends` has a one for each bucket, and each entry has its end mark. Then no lookup leaves
 * the line. */
bool tamis__fingerprint_valid(const void *context, const uint8_t *bytes, uint64_t size) {
    const table *t = context;
    const line_geometry *g = &t->geometry;
    for (const uint8_t *line = bytes; line < bytes + size; line += LINE_BYTES) {
        const uint64_t ends = line_ends(g, line);
        if (__builtin_popcountll(ends) != g->spill_bucket + 1)
            return false;
        for (uint32_t slot = ends_count(g, ends); slot-- > 0;)
            if (line_slot(g, line, slot) == 0)
                return false;
    }
    return true;
}

typedef struct value_range {
    uint64_t min, max;
} value_range;

static tamis_status fail_value(const tamis__image *image, const char *what, uint64_t value, value_range range,
                               tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: %s is %" PRIu64 ", not from %" PRIu64 " to %" PRIu64
                       "; restore the file from a copy, or build it anew",
                       image->name, what, value, range.min, range.max);
}

/* Number of rows that belong to split partitions: 16 for each. */
static uint64_t split_rows(const tamis__image *image) {
    uint64_t count = 0;
    for (size_t i = 0; i < image->extent_count; i++)
        count += image->extents[i].split;
    return count;
}

static tamis_status check_shape(const tamis__image *image, tamis_error *err) {
    const tamis_plan *plan = &image->plan;
    const bool grows = plan->capacity == 0;
    const tamis__line_shape *shape = tamis__line_shape_of(plan->slot_bits, grows);
    if (shape->slot_bits != plan->slot_bits || shape->home_bits != plan->home_bits ||
        (plan->kind == TAMIS_KIND_EXACT && plan->slot_bits != 120))
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: slot_bits %" PRIu32 " with home_bits %" PRIu32
                           " are none of kind %s; restore the file from a copy, or build it anew",
                           image->name, plan->slot_bits, plan->home_bits, tamis_kind_name(plan->kind));
    const uint64_t partitions = plan->partitions, max = UINT64_C(1) << TAMIS__FINGERPRINT_PARTITION_BITS;
    const uint64_t min = grows ? max : 1;
    if (partitions < min || partitions > max)
        return fail_value(image, "number of partitions", partitions, (value_range){min, max}, err);
    const uint64_t rows = partitions + split_rows(image) / SPLIT * (SPLIT - 1);
    if (image->extent_count != rows)
        return fail_value(image, "number of partitions", image->extent_count, (value_range){rows, rows}, err);
    if (partitions & (partitions - 1))
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: number of partitions is %" PRIu64
                           ", not a power of two; restore the file from a copy, or build it anew",
                           image->name, partitions);
    return TAMIS_OK;
}

/* Checks what the row of a partition says about its entries. */
static tamis_status check_entries(const table *t, const tamis__image *image, const tamis__body_extent *row,
                                  tamis_error *err) {
    const uint64_t slots = row->size / LINE_BYTES * t->geometry.slots;
    if (row->entries > slots)
        return fail_value(image, "entries of a partition", row->entries, (value_range){0, slots}, err);
    if (!(row->covered >= 0 && row->covered <= 1))
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "%s: covered of a partition is %g, not from 0 to 1; restore the file from a copy, or "
            "build it anew",
            image->name, row->covered);
    return TAMIS_OK;
}

/* An image, and how far it is restored. */
typedef struct image_cursor {
    const tamis__image *image;
    size_t row;   /* next row */
    uint64_t pos; /* offset of its lines in the body */
} image_cursor;

/* Restores the partitions of a group from the next rows. */
static tamis_status restore_group(table *t, const partition_group *group, image_cursor *next,
                                  tamis_error *err) {
    const tamis__image *image = next->image;
    const uint32_t hash_bits = (t->grows_by_partition ? t->partition_bits : 0) + group->bits;
    for (uint32_t n = 0; n < partition_count(group); n++) {
        const tamis__body_extent *row = &image->extents[next->row++];
        const uint64_t lines = row->size / LINE_BYTES;
        uint64_t min = TAMIS__FINGERPRINT_MIN_LINES;
        uint64_t max = t->grows_by_partition ? line_limit_of(t, hash_bits) : image->body_size / LINE_BYTES;
        if (n > 0 && !t->grows_by_partition) /* all partitions of such a table have as many lines */
            min = max = group->first->count;
        if (lines < min || lines > max)
            return fail_value(image, "lines of a partition", lines, (value_range){min, max}, err);
        if (row->size > image->body_size - next->pos)
            return fail_value(image, "body_size", image->body_size,
                              (value_range){next->pos + row->size, UINT64_MAX}, err);
        const tamis_status status = check_entries(t, image, row, err);
        if (status != TAMIS_OK)
            return status;
        partition *in = &group->first[n];
        /* Filters in an image are only read, so the cast is safe. */
        *in = partition_of(t, hash_bits, (uint8_t *)(uintptr_t)(image->body + next->pos), lines);
        in->used = row->entries;
        in->covered = row->covered;
        next->pos += row->size;
    }
    return TAMIS_OK;
}

static tamis_status restore_partitions(tamis_filter *filter, const tamis__image *image, tamis_error *err) {
    table *t = filter->body;
    tamis_status status = TAMIS_OK;
    image_cursor next = {.image = image};
    for (uint32_t i = 0; i < group_count(t) && status == TAMIS_OK; i++) {
        if (t->grows_by_partition && image->extents[next.row].split)
            status = tamis__fingerprint_split(filter, &t->groups[i], err);
        if (status == TAMIS_OK)
            status = restore_group(t, &t->groups[i], &next, err);
    }
    if (status != TAMIS_OK)
        return status;
    if (next.pos != image->body_size)
        return fail_value(image, "body_size", image->body_size, (value_range){next.pos, next.pos}, err);
    t->line_share = line_share_of(t, t->groups->first->count);
    if (image->covered >= 0 && image->covered <= 1)
        t->covered = image->covered - covered_by(t);
    return TAMIS_OK;
}

tamis_status tamis__fingerprint_restore(tamis_filter *filter, const tamis__image *image, tamis_error *err) {
    table *t = NULL;
    tamis_status status = check_shape(image, err);
    if (status == TAMIS_OK)
        status = tamis__fingerprint_table(filter, &t, err);
    if (status != TAMIS_OK)
        return status;
    t->borrowed = true;
    t->false_present = image->false_present;
    return restore_partitions(filter, image, err);
}

tamis_status tamis__fingerprint_touch(const tamis_filter *filter, const tamis__key_batch *batch,
                                      tamis_error *err) {
    const table *t = filter->body;
    const line_geometry *g = &t->geometry;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < batch->count && status == TAMIS_OK; i++) {
        location loc = locate_hash(t, &batch->hashes[i]);
        status = tamis__block_verifier_check(filter->verifier, line_at(loc.in, loc.line), err);
        if (status == TAMIS_OK)
            status = tamis__block_verifier_check(
                filter->verifier, line_at(loc.in, spill_line(g, loc.in, loc.line, loc.rest)), err);
    }
    return status;
}

/* The sums of a table: first the sum from before, then one for each partition. */
size_t tamis__filter_false_present_get(const tamis_filter *filter, double *values) {
    if (filter->ops != &tamis__fingerprint_ops)
        return 0;
    const table *t = filter->body;
    size_t count = 0;
    if (values)
        values[0] = t->false_present;
    for (partition_walk w = {.t = t}; next_partition(&w);) {
        count++;
        if (values)
            values[count] = w.in->false_present;
    }
    return count + 1;
}

bool tamis__filter_false_present_set(tamis_filter *filter, const double *values, size_t count) {
    if (count != tamis__filter_false_present_get(filter, NULL))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!(values[i] >= 0))
            return false;
    if (count == 0)
        return true;
    table *t = filter->body;
    t->false_present = values[0];
    for (partition_walk w = {.t = t}; next_partition(&w);)
        w.in->false_present = *++values;
    return true;
}
