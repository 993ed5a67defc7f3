/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The sections in the header of a .tamis file (step 6 of native_read.c).
 *
 * Sections within the header, each padded to a multiple of 8 bytes:
 *
 *     256                                                                              header_size
 *     | type, size | bytes, zeros | type, size | bytes, zeros | ... | type, size | bytes, zeros |
 *       4     4      size           4     4
 *
 *     section     at most         accepted for                       checks
 *     ----------  --------------  ---------------------------------  ----------------------------------------
 *     label       4096            every kind                         no NUL; UTF-8 and names by metadata.c
 *     union       once            every kind                         16 bytes; at most `added` of the header
 *     data        once            every kind                         none
 *     keys        once            every kind                         4 bytes, not 0
 *     frozen      once            tables with a capacity             0 bytes
 *     partitions  once            tables                             24 bytes a row; lines at most the body's
 *     split       once            growing tables                     32 bytes; 16 rows a split partition
 *     tables      once            growing cuckoo filters, required   16 bytes a row; at most 32 rows
 *     window      once            windows, required                  times in range; for each table the count
 *                                                                    of each step, no more than its slots
 *
 * The rows of partitions are checked again, with the line shape, by the kind (fingerprint_image.c). Here
 * it suffices that products of a number of lines cannot overflow. The sizes of a cuckoo filter follow from
 * `bits` and `slot_bits`, or from its section "tables", whose rows the kind checks (filter/table/cuckoo.c).
 *
 * Unknown fields and sections. A field without a use for the kind or scheme must be 0 (check_uses). So a
 * later version can give it a meaning, and this reader refuses such a file instead of ignoring it.
 * Sections are the opposite: unknown ones are skipped, unless their highest bit says that the file cannot
 * be understood without them.
 */
#include <inttypes.h>

#include "format/native_read.h"

/* Reads the header of the section at *offset, and advances *offset to the next section.
 *
 * The sections cannot lead past the header. `left` is a multiple of 8, since header_size, 256 and each
 * section with its padding are. A size of at most left - 8 is so too when rounded up: *offset stays within
 * header_size. For example, 24 bytes are left: sizes 0 to 16 are accepted, and 17 would end at byte 32. */
static tamis_status next_section(const native_header *h, uint64_t *offset, native_section *s,
                                 tamis_error *err) {
    const uint64_t left = h->field[NATIVE_header_size] - *offset;
    const uint8_t *bytes = h->source->bytes + *offset;
    if (left < 8 || tamis__load32le(bytes + 4) > left - 8)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: the section at byte %" PRIu64 " ends past the header; " NATIVE_REMEDY,
                           h->source->name, *offset);
    *s = (native_section){tamis__load32le(bytes), tamis__load32le(bytes + 4), bytes + 8};
    *offset += 8 + ((uint64_t)s->size + 7) / 8 * 8;
    return TAMIS_OK;
}

tamis_status tamis__native_fail_section(const native_header *h, const native_section *s, const char *why,
                                        tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: section %#" PRIx32 " of %" PRIu32 " bytes: %s; " NATIVE_REMEDY, h->source->name,
                       s->type, s->size, why);
}

/* Stores a label. Its text is appended to those of earlier labels; together they are shorter than the
 * header.
 *
 * A label of 10 bytes, "team=mail", and its text in memory:
 *
 *     section   01000000 0a000000 0400 t e a m m a i l 0 0 0 0 0 0      24 bytes of the header
 *     text      t e a m 0 m a i l 0                                      10 bytes
 *
 * The length of the name, 2 bytes, is replaced by two NULs. So a text is as long as its section says. */
static tamis_status read_label(const native_header *h, const native_section *s, native_sections *to,
                               tamis_error *err) {
    const uint32_t name = s->size < 2 ? 0 : (uint32_t)(s->bytes[0] | s->bytes[1] << 8);
    if (s->size < 2 || name > s->size - 2 || memchr(s->bytes + 2, 0, s->size - 2))
        return tamis__native_fail_section(h, s, "is no label", err);
    if (to->label_count == TAMIS_LABELS_MAX)
        return tamis__native_fail_section(h, s, "is one label too many", err);
    char *offset = to->text;
    memcpy(offset, s->bytes + 2, name);
    offset[name] = 0;
    char *value = offset + name + 1;
    memcpy(value, s->bytes + 2 + name, s->size - 2 - name);
    value[s->size - 2 - name] = 0;
    to->text = value + (s->size - 2 - name) + 1;
    to->labels[to->label_count++] = (tamis_label){offset, value};
    return TAMIS_OK;
}

static tamis_status read_partitions(const native_header *h, const native_section *s, native_sections *to,
                                    tamis_error *err) {
    const size_t count = s->size / 24;
    if (s->size == 0 || s->size != 24 * count || !h->field[NATIVE_partitions] || to->extent_count)
        return tamis__native_fail_section(h, s, "is not of 24 bytes a partition, or there twice", err);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *row = s->bytes + 24 * i;
        const uint64_t lines = tamis__load64le(row);
        if (lines > h->field[NATIVE_body_size] / TAMIS__LINE)
            return tamis__native_fail_section(h, s, "names more lines than the body has", err);
        to->extents[i] = (tamis__body_extent){.bytes = NULL,
                                              .size = lines * TAMIS__LINE,
                                              .entries = tamis__load64le(row + 8),
                                              .covered = native_load_real(row + 16),
                                              .split = false};
    }
    to->extent_count = count;
    return TAMIS_OK;
}

static tamis_status read_tables(const native_header *h, const native_section *s, native_sections *to,
                                tamis_error *err) {
    const size_t count = s->size / NATIVE_TABLE_BYTES;
    if (h->field[NATIVE_kind] != TAMIS_KIND_CUCKOO || h->field[NATIVE_capacity] || to->extent_count)
        return tamis__native_fail_section(h, s, "is there twice, or of no cuckoo filter that grows", err);
    if (count == 0 || count > TAMIS__CUCKOO_TABLES_MAX || s->size != count * NATIVE_TABLE_BYTES)
        return tamis__native_fail_section(h, s, "expected 16 bytes a table, of 1 to 32 tables", err);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *row = s->bytes + NATIVE_TABLE_BYTES * i;
        to->extents[i] =
            (tamis__body_extent){.buckets = tamis__load64le(row), .entries = tamis__load64le(row + 8)};
    }
    to->extent_count = count;
    return TAMIS_OK;
}

static tamis_status read_section(const native_header *h, const native_section *s, native_sections *to,
                                 tamis_error *err) {
    switch (s->type) {
    case NATIVE_SECTION_LABEL:
        return read_label(h, s, to, err);
    case NATIVE_SECTION_DATA:
        if (to->data)
            return tamis__native_fail_section(h, s, "is there twice", err);
        to->data = s->bytes;
        to->data_size = s->size;
        return TAMIS_OK;
    case NATIVE_SECTION_KEYS:
        if (s->size != 4 || to->key_type || !tamis__load32le(s->bytes))
            return tamis__native_fail_section(h, s, "is not of 4 bytes, is 0, or there twice", err);
        to->key_type = tamis__load32le(s->bytes);
        return TAMIS_OK;
    case NATIVE_SECTION_FROZEN:
        if (s->size != 0)
            return tamis__native_fail_section(h, s, "expected 0 bytes", err);
        if (to->frozen)
            return tamis__native_fail_section(h, s, "is there twice", err);
        if (!h->field[NATIVE_partitions] || !h->field[NATIVE_capacity] || native_is_window(h))
            return tamis__native_fail_section(
                h, s, "only kinds fingerprint and exact with a capacity above 0 can be frozen", err);
        to->frozen = true;
        return TAMIS_OK;
    case NATIVE_SECTION_PARTITIONS:
        return read_partitions(h, s, to, err);
    case NATIVE_SECTION_TABLES:
        return read_tables(h, s, to, err);
    case NATIVE_SECTION_SPLIT:
        if (s->size != NATIVE_SPLIT_BYTES || to->split || h->field[NATIVE_capacity] ||
            !h->field[NATIVE_partitions] || native_is_window(h))
            return tamis__native_fail_section(
                h, s, "is not of 32 bytes, there twice, or of no table that grows", err);
        to->split = s->bytes;
        return TAMIS_OK;
    case NATIVE_SECTION_WINDOW:
        if (s->size < NATIVE_WINDOW_COUNTS || to->window || !native_is_window(h))
            return tamis__native_fail_section(h, s, "is too short, there twice, or not of kind window", err);
        to->window = s->bytes;
        to->window_size = s->size;
        return TAMIS_OK;
    case NATIVE_SECTION_UNION:
        if (s->size != 16 || to->has_union)
            return tamis__native_fail_section(h, s, "is not of 16 bytes, or there twice", err);
        to->has_union = true;
        to->union_added = tamis__load64le(s->bytes);
        to->union_false_present = native_load_real(s->bytes + 8);
        if (to->union_added > h->field[NATIVE_added])
            return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                               "%s: added of the union is %" PRIu64 ", not from 0 to the %" PRIu64
                               " of the filter; " NATIVE_REMEDY,
                               h->source->name, to->union_added, h->field[NATIVE_added]);
        return tamis__native_check_real(h, "false_present of the union", to->union_false_present,
                                        NATIVE_COUNT_MAX, err);
    default:
        if (s->type & NATIVE_SECTION_CRITICAL)
            return tamis__fail(err, TAMIS_E_FORMAT, 0,
                               "%s: has a section (%#" PRIx32
                               ") that this tamis does not know; use a newer tamis",
                               h->source->name, s->type);
        return TAMIS_OK;
    }
}

/* Marks the rows of split partitions. Each split partition has NATIVE_SPLIT_IN rows, and the total must
 * match.
 *
 * An example with 4 first partitions, of which number 1 was split:
 *
 *     split       0 1 0 0
 *     rows        0  1 ... 16  17 18       19 rows, those of partition 1 are rows 1 to 16
 *
 * Rows are counted even without a row to mark, so a section with too many bits is refused and nothing is
 * written past the rows. `partitions` is at most 256: the loops end after 4096 steps. */
static tamis_status mark_split_partitions(const native_header *h, native_sections *to, tamis_error *err) {
    const native_section rows = {NATIVE_SECTION_PARTITIONS, (uint32_t)(24 * to->extent_count), NULL};
    size_t count = 0;
    if (h->field[NATIVE_kind] == TAMIS_KIND_CUCKOO) /* its rows are tables */
        return TAMIS_OK;
    for (size_t i = 0; i < h->field[NATIVE_partitions]; i++) {
        const bool split = to->split && to->split[i / 8] >> i % 8 & 1;
        for (size_t n = 0; n < (split ? NATIVE_SPLIT_IN : 1); n++, count++)
            if (count < to->extent_count)
                to->extents[count].split = split;
    }
    if (to->extent_count && to->extent_count != count)
        return tamis__native_fail_section(h, &rows, "is not of 24 bytes a partition, or there twice", err);
    return TAMIS_OK;
}

tamis_status tamis__native_read_sections(const native_header *h, native_sections *to, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (uint64_t offset = NATIVE_HEADER; offset < h->field[NATIVE_header_size] && status == TAMIS_OK;) {
        native_section s = {0, 0, NULL};
        status = next_section(h, &offset, &s, err);
        if (status == TAMIS_OK)
            status = read_section(h, &s, to, err);
    }
    return status == TAMIS_OK ? mark_split_partitions(h, to, err) : status;
}
