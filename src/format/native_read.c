/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Reads .tamis files (docs/FORMAT.md). The input may be anything: each check relies only on what the checks
 * before it proved. native_header.c has steps 2 to 5, native_sections.c has step 6.
 *
 *     1. magic, size       there is a header
 *     2. verify_checksum   the header is what was written (checksum), and the format is known
 *     3. check_fields      each field is in its range
 *     4. check_uses        fields fit the kind and scheme: those without a use are 0
 *     5. check_sizes       header, body and checksums fill the file exactly; block checksums are intact
 *     6. read_sections     labels, partitions, user data, ...
 *     7. restore           the kind checks its own parameters against the size of the body
 *     8. later             each block of the body is verified when it is first used (filter/block_verifier.h)
 *
 * What each sort of bad file is reported as, and by which check:
 *
 *     bad file                                    check            status
 *     ------------------------------------------  ---------------  --------------------------------------
 *     another program's file                      magic            TAMIS_E_FORMAT
 *     cut off within the first 256 bytes          size             TAMIS_E_DAMAGED: has N bytes
 *     cut off within the sections                 verify_checksum  TAMIS_E_DAMAGED: has N bytes
 *     a changed bit in header or sections         verify_checksum  TAMIS_E_DAMAGED: its sum differs
 *     a later format                              verify_checksum  TAMIS_E_FORMAT: use a newer tamis
 *     format 1 with features of a later version   check_fields     TAMIS_E_FORMAT: use a newer tamis
 *     a later kind or scheme                      check_fields     TAMIS_E_FORMAT: use a newer tamis
 *     forged fields with a right checksum         check_fields,    TAMIS_E_DAMAGED: names field and range
 *                                                 check_uses
 *     cut off, or with bytes appended             check_sizes      TAMIS_E_DAMAGED: has N bytes
 *     a changed bit in the block checksums        check_sizes      TAMIS_E_DAMAGED
 *     a section that ends past the header         next_section     TAMIS_E_DAMAGED: names the byte
 *     an unknown critical section                 read_section     TAMIS_E_FORMAT: use a newer tamis
 *     another secret                              make_hasher      TAMIS_E_SECRET
 *     a secret where the filter has none          make_hasher      TAMIS_E_MISMATCH
 *     a changed bit in the body                   block verifier   TAMIS_E_DAMAGED: names the block
 *
 * A checksum is not a signature. XXH3 has no secret here, so anybody can write a file with wrong fields and
 * right checksums. So checksums only decide what a message says; memory safety rests on the other checks
 * alone. Only the structure of a body is checked, since any bits are a filter of some keys. An application
 * that opens files of strangers has to authenticate them itself.
 *
 * Checksums come before ranges: a damaged file is then reported as damaged. A file that a newer version wrote
 * is reported as such.
 *
 * Memory for sections. One block is allocated before the sections are read. Its size follows from that of
 * the header. A label and a partition take at least 16 bytes of it. Texts are shorter than their sections. The block is freed when the filter has copied what it keeps:
 *
 *     block  | partitions: extra / 16 + 1 | labels: extra / 16 + 1 | texts: extra + 1 |
 *            extra = header_size - 256
 *
 * A filter of scheme sip can be opened without its secret, for its metadata or for verification. Its hasher
 * is "locked" then and refuses to hash keys (tamis__hasher_create_locked).
 *
 * How the filter uses the bytes:
 * - The bytes stay and the filter is read-only (a mapped file): the filter uses them in place.
 * - The bytes are a block that the filter may own (source->block_size), a Bloom filter: they
 *   become its memory. No copy is made.
 * - Otherwise the filter is copied to memory of its own.
 *
 * Why every message has field, value and range: another program may have written the file, from
 * docs/FORMAT.md. Then it may have a right checksum and a wrong field. Its author then sees which one.
 *
 * Invariants:
 * 1. No byte outside the source is read.
 * 2. Parsing allocates memory for labels and partitions only: no more than the size of the header justifies.
 * 3. On failure nothing stays allocated, and *filter is untouched.
 */
#include <string.h>

#include "filter/window/window.h"
#include "format/native_read.h"
#include "hash/hasher.h"

/* Sets the times of a window's plan, and checks that the section has a count for each step of each table.
 *
 * The order matters. Times are divided by the step, so they are checked before the shape of the table is
 * computed from them. The shape gives the number of counts, and only then the section's size can be checked:
 *
 *     window 24 h, step 1 h, lateness 0, 2 tables    kept = 25 steps: the day and the step that it cuts
 *     size of the section                            40 + 8 * 2 * 25 = 440 bytes */
static tamis_status read_window(const native_header *h, const native_sections *s, tamis_plan *plan,
                                tamis__window_image *window, tamis_error *err) {
    const native_section found = {NATIVE_SECTION_WINDOW, s->window_size, s->window};
    tamis_error why = TAMIS_ERROR_INIT;
    if (!s->window || s->extent_count < 1 || s->extent_count > TAMIS__WINDOW_TABLES_MAX)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: kind window needs a section \"window\" and 1 to %d tables; " NATIVE_REMEDY,
                           h->source->name, TAMIS__WINDOW_TABLES_MAX);
    plan->window = tamis__load64le(s->window + NATIVE_WINDOW);
    plan->step = tamis__load64le(s->window + NATIVE_WINDOW_STEP);
    plan->lateness = tamis__load64le(s->window + NATIVE_WINDOW_LATENESS);
    plan->refresh = tamis__load64le(s->window + NATIVE_WINDOW_REFRESH) == 1;
    if (tamis__load64le(s->window + NATIVE_WINDOW_REFRESH) > 1 ||
        tamis__plan_check_window(plan, &why) != TAMIS_OK)
        return tamis__native_fail_section(h, &found, "its times are out of range", err);
    window->newest = (int64_t)tamis__load64le(s->window + NATIVE_WINDOW_NEWEST);
    window->counts = s->window + NATIVE_WINDOW_COUNTS;
    if (window->newest < -1 || window->newest > TAMIS_TIME_MAX)
        return tamis__native_fail_section(h, &found, "its newest time is out of range", err);
    const uint64_t counts = (uint64_t)s->extent_count * tamis__window_shape_of(plan).kept;
    if (s->window_size != NATIVE_WINDOW_COUNTS + 8 * counts)
        return tamis__native_fail_section(h, &found, "has not one count for each step of each table", err);
    return TAMIS_OK;
}

static tamis_plan plan_of(const native_header *h) {
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
    /* In a file of a window the field has the number of tables. */
    plan.partitions = native_is_window(h) ? 0 : (uint32_t)h->field[NATIVE_partitions];
    plan.memory_limit = h->field[NATIVE_memory_limit];
    plan.memory = h->field[NATIVE_body_size];
    const bool table = tamis__kind_grows(plan.kind);
    plan.lines = native_is_window(h)      ? TAMIS__WINDOW_LINES_FIRST
                 : table && plan.capacity ? plan.memory / TAMIS__LINE
                                          : 0;
    plan.bits_per_key = plan.capacity ? 8 * (double)plan.memory / (double)plan.capacity : 0;
    memcpy(plan.reason, "read from a file", sizeof "read from a file");
    return plan;
}

static tamis_status make_hasher(tamis_hasher **hasher, const native_header *h,
                                const tamis_open_options *options, tamis_error *err) {
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
    if (status != TAMIS_OK || (*hasher)->secret_fingerprint == h->field[NATIVE_secret_print])
        return status;
    tamis_hasher_free(*hasher);
    return tamis__fail(err, TAMIS_E_SECRET, 0, "%s: was made with another secret; give that one",
                       h->source->name);
}

static tamis_status set_metadata(tamis_filter *filter, const native_header *h, const native_sections *s,
                                 tamis_error *err) {
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
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: %.*s; " NATIVE_REMEDY, h->source->name,
                           advice ? (int)(advice - why.text) : 0, why.text);
    return status == TAMIS_OK ? status : tamis__fail(err, status, why.sys_errno, "%s", why.text);
}

/* Makes the filter: in place, in the caller's block, or as a copy.
 *
 * Whatever fails, nothing stays. tamis__filter_restore owns the hasher from its call on. Metadata come after
 * it, since they are copied into memory of the filter. A block becomes the filter's only by the last step
 * that can fail: until *source->block_size is 0, the caller frees it. */
static tamis_status restore(tamis_filter **filter, const native_header *h, const native_sections *s,
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
    if (native_is_window(h)) {
        image.window = &window;
        status = read_window(h, s, &image.plan, &window, err);
    }
    if (status == TAMIS_OK)
        status = make_hasher(&hasher, h, options, err);
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
    native_header h = {.source = source};
    if (!recognise(source))
        return tamis__fail(err, TAMIS_E_FORMAT, 0,
                           "%s: does not begin as a .tamis file does; give one that tamis made",
                           source->name);
    if (source->size < NATIVE_HEADER)
        return tamis__native_fail_cut(&h, NATIVE_HEADER, "a header alone takes", err);
    tamis_status status = tamis__native_read_header(&h, err);
    if (status != TAMIS_OK)
        return status;

    /* Upper bounds: a label takes at least 16 bytes of the header, and its text with two NULs is shorter
     * than its section. A partition takes 24 bytes, a table of a cuckoo filter 16. */
    size_t extra = (size_t)h.field[NATIVE_header_size] - NATIVE_HEADER;
    size_t labels = extra / 16 + 1, extents = extra / 16 + 1;
    size_t block_size = labels * sizeof(tamis_label) + extents * sizeof(tamis__body_extent) + extra + 1;
    tamis_allocator memory = tamis__allocator_resolve(options->allocator);
    uint8_t *block = tamis__alloc(&memory, block_size, _Alignof(tamis__body_extent));
    if (!block)
        return tamis__fail_nomem(err, source->name, block_size);
    native_sections s = {.extents = (tamis__body_extent *)block};
    s.labels = (tamis_label *)(block + extents * sizeof(tamis__body_extent));
    s.text = (char *)(s.labels + labels);
    status = tamis__native_read_sections(&h, &s, err);
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
