/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Reads .tamis files (docs/FORMAT.md). The input may be anything: each check relies only on what the checks
 * before it proved.
 *
 *     1. magic, size       there is a header
 *     2. check_sum         the header is what was written (checksum), and the format is known
 *     3. check_fields      each field is in its range
 *     4. check_uses        fields fit the kind and scheme: those without a use are 0
 *     5. check_sizes       header, body and checksums fill the file exactly; block sums are intact
 *     6. read_sections     labels, partitions, user data, ...
 *     7. restore           the kind checks its own parameters against the size of the body
 *     8. later             each block of the body is verified when it is first used (filter/block_verifier.h)
 *
 * What each sort of bad file is reported as, and by which check:
 *
 *     bad file                                    check            status
 *     ------------------------------------------  ---------------  --------------------------------------
 *     another program's file                      magic            TAMIS_E_FORMAT
 *     cut off within the header                   size, check_sum  TAMIS_E_DAMAGED: has N bytes
 *     a changed bit in header or sections         check_sum        TAMIS_E_DAMAGED: its sum differs
 *     a later format                              check_sum        TAMIS_E_FORMAT: use a newer tamis
 *     format 1 with features of a later version   check_fields     TAMIS_E_FORMAT: use a newer tamis
 *     a later kind or scheme                      check_fields     TAMIS_E_FORMAT: use a newer tamis
 *     forged fields with a right checksum         check_fields,    TAMIS_E_DAMAGED: names field and range
 *                                                 check_uses
 *     cut off, or with bytes appended             check_sizes      TAMIS_E_DAMAGED: has N bytes
 *     a changed bit in the block sums             check_sizes      TAMIS_E_DAMAGED
 *     a section that ends past the header         next_section     TAMIS_E_DAMAGED: names the byte
 *     an unknown critical section                 read_section     TAMIS_E_FORMAT: use a newer tamis
 *     another secret                              make_hasher      TAMIS_E_SECRET
 *     a secret where the filter has none          make_hasher      TAMIS_E_MISMATCH
 *     a changed bit in the body                   block verifier   TAMIS_E_DAMAGED: names the block
 *
 * A checksum is no signature. XXH3 has no secret here, so anybody can write a file with wrong fields and
 * right checksums. So checksums only decide what a message says; memory safety rests on the other checks
 * alone. Of a body only its structure is checked, since any bits are a filter of some keys. An application
 * that opens files of strangers has to authenticate them itself.
 *
 * Checksums come before ranges: a damaged file is then reported as damaged. A file that a newer version wrote
 * is reported as such.
 *
 * Arithmetic on sizes cannot overflow, since ranges are checked first: body_size is at most (2^63 - 1) /
 * 2, body_offset at most 2^21, and the block sums are 1/8192 of the body.
 *
 * Memory for sections. One block is allocated before the sections are read. Its size follows from that of
 * the header: a label takes at least 16 bytes of it, a partition 24, and texts are shorter than their
 * sections. The block is freed when the filter has copied what it keeps:
 *
 *     block  | partitions: extra / 24 + 1 | labels: extra / 16 + 1 | texts: extra + 1 |
 *            extra = header_size - 256
 *
 * Unknown fields and sections. A field without a use for the kind or scheme must be 0 (check_uses). So a
 * later version can give it a meaning, and this reader refuses such a file instead of ignoring it.
 * Sections are the opposite: unknown ones are skipped, unless their highest bit says that the file cannot
 * be understood without them.
 *
 * A filter of scheme sip can be opened without its secret, for its metadata or for verification. Its hasher
 * is "locked" then and refuses to hash keys (tamis__hasher_create_locked).
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
 *     window      once            windows, required                  times in range; for each table the count
 *                                                                    of each step, no more than its slots
 *
 * The rows of partitions are checked again, with the line shape, by the kind (fingerprint_image.c). Here
 * it suffices that products of a number of lines cannot overflow. A cuckoo filter has no such section: its
 * sizes follow from `bits` and `slot_bits` (filter/table/cuckoo.c).
 *
 * How the filter uses the bytes:
 * - The bytes stay and the filter is read-only (a mapped file): the filter uses them in place.
 * - The bytes are a block that the filter may own (source->block_size), a Bloom filter: they
 *   become its memory. No copy is made.
 * - Otherwise the filter is copied to memory of its own.
 *
 * Why every message has field, value and range: a file that was written by another program, from
 * docs/FORMAT.md, may have a right checksum and a wrong field. Its author then sees which one.
 *
 * Why reals are checked by "value >= 0 && value <= max" and not by its opposite: comparisons with NaN are
 * false, so a NaN is refused too.
 *
 * Invariants:
 * 1. No byte outside the source is read.
 * 2. Parsing allocates memory for labels and partitions only: no more than the size of the header justifies.
 * 3. On failure nothing stays allocated, and *filter is untouched.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "filter/block_verifier.h"
#include "filter/filter_int.h"
#include "filter/window/window.h"
#include "format/format.h"
#include "format/native.h"
#include "hash/hasher.h"

#define REMEDY "restore the file from a copy, or build it anew"

typedef struct header {
    const tamis__encoded_bytes *source;
    uint64_t field[NATIVE_FIELD_COUNT];
    double fpr, fpr_predicted, false_present, covered;
} header;

/* The contents of the sections. */
typedef struct sections {
    tamis_label *labels;
    size_t label_count, label_capacity;
    tamis__body_extent *extents;
    size_t extent_count;
    const uint8_t *split; /* section "split": a bit for each first partition; NULL: none was split */
    const uint8_t *data;
    size_t data_size;
    bool has_union;
    uint64_t union_added;
    double union_false_present;
    uint32_t key_type;
    bool frozen;
    const uint8_t *window; /* section "window"; NULL: none */
    uint32_t window_size;
    char *text; /* free memory for the texts of labels, NUL-terminated */
} sections;

static const struct field_row {
    const char *name;
    uint16_t offset;
    uint8_t width;
    uint64_t min, max;
} field_rows[] = {
#define NATIVE_FIELD_ROW(name, offset, width, min, max) {#name, offset, width, min, max},
    NATIVE_FIELDS(NATIVE_FIELD_ROW)
#undef NATIVE_FIELD_ROW
};

static double load_real(const uint8_t *from) {
    uint64_t bits = tamis__load64le(from);
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static tamis_status fail_field(const header *h, native_field field, tamis_error *err) {
    const struct field_row *row = &field_rows[field];
    if (row->min == row->max)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: %s is %" PRIu64 ", not %" PRIu64 "; " REMEDY,
                           h->source->name, row->name, h->field[field], row->min);
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: %s is %" PRIu64 ", not from %" PRIu64 " to %" PRIu64 "; " REMEDY, h->source->name,
                       row->name, h->field[field], row->min, row->max);
}

static tamis_status fail_unit(const header *h, native_field field, uint64_t unit, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: %s is %" PRIu64 ", not a multiple of %" PRIu64 "; " REMEDY, h->source->name,
                       field_rows[field].name, h->field[field], unit);
}

static tamis_status fail_cut(const header *h, uint64_t wanted, const char *what, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: has %" PRIu64 " bytes, and %s %" PRIu64 "; " REMEDY,
                       h->source->name, h->source->size, what, wanted);
}

/* ---- the header ---- */

static void load_fields(header *h) {
    const uint8_t *bytes = h->source->bytes;
    for (int i = 0; i < NATIVE_FIELD_COUNT; i++) {
        const uint8_t *value = bytes + field_rows[i].offset;
        h->field[i] = field_rows[i].width == 4 ? tamis__load32le(value) : tamis__load64le(value);
    }
    h->fpr = load_real(bytes + NATIVE_FPR);
    h->fpr_predicted = load_real(bytes + NATIVE_FPR_PREDICTED);
    h->false_present = load_real(bytes + NATIVE_FALSE_PRESENT);
    h->covered = load_real(bytes + NATIVE_COVERED);
}

static uint64_t header_sum(const header *h) {
    return native_header_sum(h->source->bytes, h->field[NATIVE_header_size]);
}

/* Checks the header's checksum before any field is used. In every format the checksum covers the format
 * number, so a damaged number is not taken for a later format. */
static tamis_status check_sum(const header *h, tamis_error *err) {
    const uint64_t size = h->field[NATIVE_header_size];
    if (size < NATIVE_HEADER || size > NATIVE_HEADER_MAX)
        return fail_field(h, NATIVE_header_size, err);
    if (size % 8 != 0)
        return fail_unit(h, NATIVE_header_size, 8, err);
    if (size > h->source->size)
        return fail_cut(h, size, "its header alone takes", err);
    if (header_sum(h) != h->field[NATIVE_header_sum])
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: the header is damaged, its sum differs; " REMEDY,
                           h->source->name);
    if (h->field[NATIVE_format] != NATIVE_FORMAT)
        return tamis__fail(err, TAMIS_E_FORMAT, 0,
                           "%s: is of format %" PRIu64 ", and this tamis reads format %d; use a newer tamis",
                           h->source->name, h->field[NATIVE_format], NATIVE_FORMAT);
    return TAMIS_OK;
}

static tamis_status check_real(const header *h, const char *name, double value, double max,
                               tamis_error *err) {
    if (value >= 0 && value <= max)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: %s is %g, not from 0 to %g; " REMEDY, h->source->name,
                       name, value, max);
}

static tamis_status check_fields(const header *h, tamis_error *err) {
    if (h->field[NATIVE_needs])
        return tamis__fail(err, TAMIS_E_FORMAT, 0,
                           "%s: needs features (%#" PRIx64
                           ") that this tamis does not know; use a newer tamis",
                           h->source->name, h->field[NATIVE_needs]);
    for (native_field i = NATIVE_kind; i <= NATIVE_scheme; i++)
        if (h->field[i] > field_rows[i].max)
            return tamis__fail(err, TAMIS_E_FORMAT, 0,
                               "%s: %s is %" PRIu64 ", and this tamis knows those up to %" PRIu64
                               "; use a newer tamis",
                               h->source->name, field_rows[i].name, h->field[i], field_rows[i].max);
    for (int i = 0; i < NATIVE_FIELD_COUNT; i++)
        if (h->field[i] < field_rows[i].min || h->field[i] > field_rows[i].max)
            return fail_field(h, (native_field)i, err);
    tamis_status status = check_real(h, "fpr", h->fpr, 1, err);
    if (status == TAMIS_OK)
        status = check_real(h, "fpr_predicted", h->fpr_predicted, 1, err);
    if (status == TAMIS_OK)
        status = check_real(h, "false_present", h->false_present, NATIVE_COUNT_MAX, err);
    if (status == TAMIS_OK)
        status = check_real(h, "covered", h->covered,
                            tamis_kind_is_bloom((tamis_kind)h->field[NATIVE_kind]) ? 0 : 1, err);
    return status;
}

/* Checks that fields without a use for this kind or scheme are 0, and that necessary fields are not. */
static tamis_status check_uses(const header *h, tamis_error *err) {
    tamis_kind kind = (tamis_kind)h->field[NATIVE_kind];
    const tamis_scheme scheme = (tamis_scheme)h->field[NATIVE_scheme];
    const bool bloom = tamis_kind_is_bloom(kind), cuckoo = kind == TAMIS_KIND_CUCKOO;
    const struct {
        native_field field;
        bool used;
    } uses[] = {
        {NATIVE_seed, scheme == TAMIS_SCHEME_XXH3},
        {NATIVE_secret_print, scheme == TAMIS_SCHEME_SIP},
        {NATIVE_bits, bloom || cuckoo},
        {NATIVE_probes, bloom},
        {NATIVE_slot_bits, !bloom},
        {NATIVE_home_bits, !bloom && !cuckoo && kind != TAMIS_KIND_WINDOW},
        {NATIVE_partitions, !bloom && !cuckoo},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (!uses[i].used && h->field[uses[i].field])
            return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                               "%s: %s is %" PRIu64 ", and kind %s of scheme %s has none; " REMEDY,
                               h->source->name, field_rows[uses[i].field].name, h->field[uses[i].field],
                               tamis_kind_name(kind), tamis_scheme_name(scheme));
    if (kind != TAMIS_KIND_CLASSIC && tamis_scheme_digest_bits(scheme) < 128)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: scheme is %s, which kind %s cannot have; " REMEDY,
                           h->source->name, tamis_scheme_name(scheme), tamis_kind_name(kind));
    if (bloom && h->field[NATIVE_bits] == 0)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: bits is 0, not from 1 to %" PRIu64 "; " REMEDY,
                           h->source->name, TAMIS_BITS_MAX);
    if (bloom && kind != TAMIS_KIND_CLASSIC && h->field[NATIVE_bits] % (8 * TAMIS__LINE) != 0)
        return fail_unit(h, NATIVE_bits, 8 * TAMIS__LINE, err);
    if (bloom && h->field[NATIVE_probes] == 0)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: probes is 0, not from 1 to %d; " REMEDY,
                           h->source->name, TAMIS_PROBES_MAX);
    return TAMIS_OK;
}

static tamis_status check_sizes(const header *h, tamis_error *err) {
    uint64_t offset = h->field[NATIVE_body_offset], size = h->field[NATIVE_body_size];
    if (offset % NATIVE_BODY_ALIGN != 0)
        return fail_unit(h, NATIVE_body_offset, NATIVE_BODY_ALIGN, err);
    if (offset < h->field[NATIVE_header_size])
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: body_offset is %" PRIu64 ", and header_size %" PRIu64 "; " REMEDY,
                           h->source->name, offset, h->field[NATIVE_header_size]);
    if (size % TAMIS__LINE != 0)
        return fail_unit(h, NATIVE_body_size, TAMIS__LINE, err);
    const uint64_t wanted = offset + size + 8 * tamis__block_count(size);
    if (h->field[NATIVE_file_size] != wanted)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: file_size is %" PRIu64 ", not the %" PRIu64
                           " that header and body take; " REMEDY,
                           h->source->name, h->field[NATIVE_file_size], wanted);
    if (h->source->size != wanted)
        return fail_cut(h, wanted, "should have", err);
    if (XXH3_64bits(h->source->bytes + offset + size, (size_t)(wanted - offset - size)) !=
        h->field[NATIVE_sums_sum])
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: the sums of its blocks are damaged; " REMEDY,
                           h->source->name);
    return TAMIS_OK;
}

/* ---- the sections ---- */

typedef struct section {
    uint32_t type, size;
    const uint8_t *bytes;
} section;

/* Reads the header of the section at *offset, and advances *offset to the next section.
 *
 * The sections cannot lead past the header. `left` is a multiple of 8, since header_size, 256 and each
 * section with its padding are. A size of at most left - 8 is so too when rounded up: *offset stays within
 * header_size. For example, 24 bytes are left: sizes 0 to 16 are accepted, and 17 would end at byte 32. */
static tamis_status next_section(const header *h, uint64_t *offset, section *s, tamis_error *err) {
    const uint64_t left = h->field[NATIVE_header_size] - *offset;
    const uint8_t *bytes = h->source->bytes + *offset;
    if (left < 8 || tamis__load32le(bytes + 4) > left - 8)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: the section at byte %" PRIu64 " ends past the header; " REMEDY,
                           h->source->name, *offset);
    *s = (section){tamis__load32le(bytes), tamis__load32le(bytes + 4), bytes + 8};
    *offset += 8 + ((uint64_t)s->size + 7) / 8 * 8;
    return TAMIS_OK;
}

static tamis_status fail_section(const header *h, const section *s, const char *why, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: section %#" PRIx32 " of %" PRIu32 " bytes: %s; " REMEDY,
                       h->source->name, s->type, s->size, why);
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
static tamis_status read_label(const header *h, const section *s, sections *to, tamis_error *err) {
    const uint32_t name = s->size < 2 ? 0 : (uint32_t)(s->bytes[0] | s->bytes[1] << 8);
    if (s->size < 2 || name > s->size - 2 || memchr(s->bytes + 2, 0, s->size - 2))
        return fail_section(h, s, "is no label", err);
    if (to->label_count == TAMIS_LABELS_MAX)
        return fail_section(h, s, "is one label too many", err);
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

static bool is_window(const header *h) {
    return h->field[NATIVE_kind] == TAMIS_KIND_WINDOW;
}

static tamis_status read_partitions(const header *h, const section *s, sections *to, tamis_error *err) {
    const size_t count = s->size / 24;
    if (s->size == 0 || s->size != 24 * count || !h->field[NATIVE_partitions] || to->extent_count)
        return fail_section(h, s, "is not of 24 bytes a partition, or there twice", err);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *row = s->bytes + 24 * i;
        const uint64_t lines = tamis__load64le(row);
        if (lines > h->field[NATIVE_body_size] / TAMIS__LINE)
            return fail_section(h, s, "names more lines than the body has", err);
        to->extents[i] = (tamis__body_extent){.bytes = NULL,
                                              .size = lines * TAMIS__LINE,
                                              .entries = tamis__load64le(row + 8),
                                              .covered = load_real(row + 16),
                                              .split = false};
    }
    to->extent_count = count;
    return TAMIS_OK;
}

static tamis_status read_section(const header *h, const section *s, sections *to, tamis_error *err) {
    switch (s->type) {
    case NATIVE_SECTION_LABEL:
        return read_label(h, s, to, err);
    case NATIVE_SECTION_DATA:
        if (to->data)
            return fail_section(h, s, "is there twice", err);
        to->data = s->bytes;
        to->data_size = s->size;
        return TAMIS_OK;
    case NATIVE_SECTION_KEYS:
        if (s->size != 4 || to->key_type || !tamis__load32le(s->bytes))
            return fail_section(h, s, "is not of 4 bytes, is 0, or there twice", err);
        to->key_type = tamis__load32le(s->bytes);
        return TAMIS_OK;
    case NATIVE_SECTION_FROZEN:
        if (s->size != 0)
            return fail_section(h, s, "expected 0 bytes", err);
        if (to->frozen)
            return fail_section(h, s, "is there twice", err);
        if (!h->field[NATIVE_partitions] || !h->field[NATIVE_capacity] || is_window(h))
            return fail_section(
                h, s, "only kinds fingerprint and exact with a capacity above 0 can be frozen", err);
        to->frozen = true;
        return TAMIS_OK;
    case NATIVE_SECTION_PARTITIONS:
        return read_partitions(h, s, to, err);
    case NATIVE_SECTION_SPLIT:
        if (s->size != NATIVE_SPLIT_BYTES || to->split || h->field[NATIVE_capacity] ||
            !h->field[NATIVE_partitions] || is_window(h))
            return fail_section(h, s, "is not of 32 bytes, there twice, or of no table that grows", err);
        to->split = s->bytes;
        return TAMIS_OK;
    case NATIVE_SECTION_WINDOW:
        if (s->size < NATIVE_WINDOW_COUNTS || to->window || !is_window(h))
            return fail_section(h, s, "is too short, there twice, or not of kind window", err);
        to->window = s->bytes;
        to->window_size = s->size;
        return TAMIS_OK;
    case NATIVE_SECTION_UNION:
        if (s->size != 16 || to->has_union)
            return fail_section(h, s, "is not of 16 bytes, or there twice", err);
        to->has_union = true;
        to->union_added = tamis__load64le(s->bytes);
        to->union_false_present = load_real(s->bytes + 8);
        if (to->union_added > h->field[NATIVE_added])
            return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                               "%s: added of the union is %" PRIu64 ", not from 0 to the %" PRIu64
                               " of the filter; " REMEDY,
                               h->source->name, to->union_added, h->field[NATIVE_added]);
        return check_real(h, "false_present of the union", to->union_false_present, NATIVE_COUNT_MAX, err);
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
static tamis_status mark_split_partitions(const header *h, sections *to, tamis_error *err) {
    const section rows = {NATIVE_SECTION_PARTITIONS, (uint32_t)(24 * to->extent_count), NULL};
    size_t count = 0;
    for (size_t i = 0; i < h->field[NATIVE_partitions]; i++) {
        const bool split = to->split && to->split[i / 8] >> i % 8 & 1;
        for (size_t n = 0; n < (split ? NATIVE_SPLIT_IN : 1); n++, count++)
            if (count < to->extent_count)
                to->extents[count].split = split;
    }
    if (to->extent_count && to->extent_count != count)
        return fail_section(h, &rows, "is not of 24 bytes a partition, or there twice", err);
    return TAMIS_OK;
}

static tamis_status read_sections(const header *h, sections *to, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (uint64_t offset = NATIVE_HEADER; offset < h->field[NATIVE_header_size] && status == TAMIS_OK;) {
        section s = {0, 0, NULL};
        status = next_section(h, &offset, &s, err);
        if (status == TAMIS_OK)
            status = read_section(h, &s, to, err);
    }
    return status == TAMIS_OK ? mark_split_partitions(h, to, err) : status;
}

/* ---- the filter ---- */

/* Sets the times of a window's plan, and checks that the section has a count for each step of each table.
 *
 * The order matters. Times are divided by the step, so they are checked before the shape of the table is
 * computed from them. The shape gives the number of counts, and only then the section's size can be checked:
 *
 *     window 24 h, step 1 h, lateness 0, 2 tables    kept = 25 steps: the day and the step that it cuts
 *     size of the section                            40 + 8 * 2 * 25 = 440 bytes */
static tamis_status read_window(const header *h, const sections *s, tamis_plan *plan,
                                tamis__window_image *window, tamis_error *err) {
    const section found = {NATIVE_SECTION_WINDOW, s->window_size, s->window};
    tamis_error why = TAMIS_ERROR_INIT;
    if (!s->window || s->extent_count < 1 || s->extent_count > TAMIS__WINDOW_TABLES_MAX)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: kind window needs a section \"window\" and 1 to %d tables; " REMEDY,
                           h->source->name, TAMIS__WINDOW_TABLES_MAX);
    plan->window = tamis__load64le(s->window + NATIVE_WINDOW);
    plan->step = tamis__load64le(s->window + NATIVE_WINDOW_STEP);
    plan->lateness = tamis__load64le(s->window + NATIVE_WINDOW_LATENESS);
    plan->refresh = tamis__load64le(s->window + NATIVE_WINDOW_REFRESH) == 1;
    if (tamis__load64le(s->window + NATIVE_WINDOW_REFRESH) > 1 ||
        tamis__plan_check_window(plan, &why) != TAMIS_OK)
        return fail_section(h, &found, "its times are out of range", err);
    window->newest = (int64_t)tamis__load64le(s->window + NATIVE_WINDOW_NEWEST);
    window->counts = s->window + NATIVE_WINDOW_COUNTS;
    if (window->newest < -1 || window->newest > TAMIS_TIME_MAX)
        return fail_section(h, &found, "its newest time is out of range", err);
    const uint64_t counts = (uint64_t)s->extent_count * tamis__window_shape_of(plan).kept;
    if (s->window_size != NATIVE_WINDOW_COUNTS + 8 * counts)
        return fail_section(h, &found, "has not one count for each step of each table", err);
    return TAMIS_OK;
}

static tamis_plan plan_of(const header *h) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    plan.kind = (tamis_kind)h->field[NATIVE_kind];
    plan.scheme = (tamis_scheme)h->field[NATIVE_scheme];
    plan.capacity = h->field[NATIVE_capacity];
    plan.fpr = h->fpr;
    plan.fpr_predicted = h->fpr_predicted;
    plan.bits = h->field[NATIVE_bits];
    plan.probes = (uint32_t)h->field[NATIVE_probes];
    plan.slot_bits = (uint32_t)h->field[NATIVE_slot_bits];
    plan.home_bits = (uint32_t)h->field[NATIVE_home_bits];
    plan.partitions = is_window(h) ? 0 : (uint32_t)h->field[NATIVE_partitions]; /* tables, of a window */
    plan.memory_limit = h->field[NATIVE_memory_limit];
    plan.memory = h->field[NATIVE_body_size];
    const bool table = tamis__kind_grows(plan.kind);
    plan.lines = is_window(h)             ? TAMIS__WINDOW_LINES_FIRST
                 : table && plan.capacity ? plan.memory / TAMIS__LINE
                                          : 0;
    plan.bits_per_key = plan.capacity ? 8 * (double)plan.memory / (double)plan.capacity : 0;
    memcpy(plan.reason, "read from a file", sizeof "read from a file");
    return plan;
}

static tamis_status make_hasher(const header *h, const tamis_open_options *options, tamis_hasher **hasher,
                                tamis_error *err) {
    tamis_hasher_options hasher_options = TAMIS_HASHER_OPTIONS_INIT;
    hasher_options.scheme = (tamis_scheme)h->field[NATIVE_scheme];
    hasher_options.seed = h->field[NATIVE_seed];
    hasher_options.allocator = options->allocator;
    if (hasher_options.scheme != TAMIS_SCHEME_SIP) {
        if (options->secret_size)
            return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                               "%s: was made without a secret; leave the secret out", h->source->name);
        return tamis_hasher_create(hasher, &hasher_options, err);
    }
    if (!options->secret_size)
        return tamis__hasher_create_locked(hasher, h->field[NATIVE_secret_print], options->allocator, err);
    hasher_options.seed = 0;
    hasher_options.secret = options->secret;
    hasher_options.secret_size = options->secret_size;
    tamis_status status = tamis_hasher_create(hasher, &hasher_options, err);
    if (status != TAMIS_OK || (*hasher)->secret_print == h->field[NATIVE_secret_print])
        return status;
    tamis_hasher_free(*hasher);
    return tamis__fail(err, TAMIS_E_SECRET, 0, "%s: was made with another secret; give that one",
                       h->source->name);
}

static tamis_status set_metadata(tamis_filter *filter, const header *h, const sections *s, tamis_error *err) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    metadata.version = h->field[NATIVE_version];
    metadata.created = (int64_t)h->field[NATIVE_created];
    metadata.labels = s->labels;
    metadata.label_count = s->label_count;
    metadata.key_type = s->key_type;
    metadata.data = s->data;
    metadata.data_size = s->data_size;
    filter->metadata.fields.format = TAMIS_FORMAT_TAMIS;
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_status status = tamis_filter_metadata_set(filter, &metadata, &why);
    const char *advice = strrchr(why.text, ';'); /* the advice is for callers that set labels */
    if (status == TAMIS_E_INVALID)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: %.*s; " REMEDY, h->source->name,
                           advice ? (int)(advice - why.text) : 0, why.text);
    return status == TAMIS_OK ? status : tamis__fail(err, status, why.sys_errno, "%s", why.text);
}

/* Makes the filter: in place, in the caller's block, or as a copy.
 *
 * Whatever fails, nothing stays. tamis__filter_restore owns the hasher from its call on. Metadata come after
 * it, since they are copied into memory of the filter. A block becomes the filter's only by the last step
 * that can fail: until *source->block_size is 0, the caller frees it. */
static tamis_status restore(tamis_filter **filter, const header *h, const sections *s,
                            const tamis_open_options *options, tamis_error *err) {
    const tamis__encoded_bytes *source = h->source;
    uint64_t offset = h->field[NATIVE_body_offset], size = h->field[NATIVE_body_size];
    tamis__image image = {.name = source->name,
                          .plan = plan_of(h),
                          .body = source->bytes + offset,
                          .body_size = size,
                          .mapped = source->stay,
                          .checksums = source->bytes + offset + size,
                          .body_at = offset,
                          .zeros_at = h->field[NATIVE_header_size],
                          .added = h->field[NATIVE_added],
                          .false_present = h->false_present,
                          .covered = h->covered,
                          .union_added = s->union_added,
                          .union_false_present = s->union_false_present,
                          .saturated = h->field[NATIVE_flags] & NATIVE_SATURATED,
                          .allow_over_capacity = h->field[NATIVE_flags] & NATIVE_ALLOW_OVER_CAPACITY,
                          .frozen = s->frozen,
                          .extents = s->extents,
                          .extent_count = s->extent_count};
    tamis__window_image window = {-1, NULL};
    tamis_hasher *hasher = NULL;
    tamis_filter *opened = NULL;
    tamis_status status = TAMIS_OK;
    if (is_window(h)) {
        image.window = &window;
        status = read_window(h, s, &image.plan, &window, err);
    }
    if (status == TAMIS_OK)
        status = make_hasher(h, options, &hasher, err);
    if (status == TAMIS_OK)
        status = tamis__filter_restore(&opened, &image, hasher, options->allocator, err);
    if (status == TAMIS_OK)
        status = set_metadata(opened, h, s, err);
    if (status == TAMIS_OK && source->block_size && tamis_kind_is_bloom(opened->plan.kind)) {
        status = tamis__filter_own(opened, (void *)(uintptr_t)source->bytes, *source->block_size, err);
        if (status == TAMIS_OK)
            *source->block_size = 0;
    } else if (status == TAMIS_OK && (options->writable || !source->stay)) {
        tamis_filter *copy = NULL;
        status = tamis_filter_copy(&copy, opened, err);
        tamis_filter_free(opened);
        opened = copy;
    }
    if (status == TAMIS_OK)
        *filter = opened;
    else
        tamis_filter_free(opened);
    return status;
}

static bool recognise(const tamis__encoded_bytes *source) {
    return source->size >= NATIVE_MAGIC && memcmp(source->bytes, native_magic, NATIVE_MAGIC) == 0;
}

static tamis_status decode(tamis_filter **filter, const tamis__encoded_bytes *source,
                           const tamis_open_options *options, tamis_error *err) {
    header h = {.source = source};
    if (!recognise(source))
        return tamis__fail(err, TAMIS_E_FORMAT, 0,
                           "%s: does not begin as a .tamis file does; give one that tamis made",
                           source->name);
    if (source->size < NATIVE_HEADER)
        return fail_cut(&h, NATIVE_HEADER, "a header alone takes", err);
    load_fields(&h);
    tamis_status status = check_sum(&h, err);
    if (status == TAMIS_OK)
        status = check_fields(&h, err);
    if (status == TAMIS_OK)
        status = check_uses(&h, err);
    if (status == TAMIS_OK)
        status = check_sizes(&h, err);
    if (status != TAMIS_OK)
        return status;

    /* Upper bounds: a label takes at least 16 bytes of the header, and its text with two NULs is shorter
     * than its section. */
    size_t extra = (size_t)h.field[NATIVE_header_size] - NATIVE_HEADER;
    size_t labels = extra / 16 + 1, extents = extra / 24 + 1;
    size_t block_size = labels * sizeof(tamis_label) + extents * sizeof(tamis__body_extent) + extra + 1;
    tamis_allocator memory = tamis__allocator_resolve(options->allocator);
    uint8_t *block = tamis__alloc(&memory, block_size, _Alignof(tamis__body_extent));
    if (!block)
        return tamis__fail_nomem(err, source->name, block_size);
    sections s = {.extents = (tamis__body_extent *)block};
    s.labels = (tamis_label *)(block + extents * sizeof(tamis__body_extent));
    s.text = (char *)(s.labels + labels);
    status = read_sections(&h, &s, err);
    if (status == TAMIS_OK)
        status = restore(filter, &h, &s, options, err);
    tamis__free(&memory, block, block_size);
    return status;
}

const tamis__format tamis__format_native = {
    .recognise = recognise,
    .decode = decode,
    .encoded_size = tamis__native_size,
    .encode = tamis__native_encode,
};
