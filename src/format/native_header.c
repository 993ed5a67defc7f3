/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The header of a .tamis file: checksum, ranges, use and sizes (steps 2 to 5 of native_read.c).
 *
 *     0        256        header_size   body_offset       + body_size       file_size
 *     | fields | sections | zeros       | body            | block checksums |
 *     |<--- header_sum -->|                               |<- checksums_sum ->|
 *
 * Both checksums are verified here. The block checksums cover the body, whose blocks are verified later.
 *
 * Arithmetic on sizes cannot overflow, since ranges are checked first: body_size is at most (2^63 - 1) /
 * 2, body_offset at most 2^21, and the block checksums are 1/8192 of the body.
 *
 * Why reals are checked by "value >= 0 && value <= max" and not by its opposite: comparisons with NaN are
 * false, so a NaN is refused too.
 */
#include <inttypes.h>
#include <xxhash.h>

#include "filter/block_verifier.h"
#include "format/native_read.h"
#include "hash/hasher.h"

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

static tamis_status fail_field(const native_header *h, native_field field, tamis_error *err) {
    const struct field_row *row = &field_rows[field];
    if (row->min == row->max)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: %s is %" PRIu64 ", not %" PRIu64 "; " NATIVE_REMEDY,
                           h->source->name, row->name, h->field[field], row->min);
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: %s is %" PRIu64 ", not from %" PRIu64 " to %" PRIu64 "; " NATIVE_REMEDY,
                       h->source->name, row->name, h->field[field], row->min, row->max);
}

static tamis_status fail_not_multiple(const native_header *h, native_field field, uint64_t unit,
                                      tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: %s is %" PRIu64 ", not a multiple of %" PRIu64 "; " NATIVE_REMEDY,
                       h->source->name, field_rows[field].name, h->field[field], unit);
}

tamis_status tamis__native_fail_cut(const native_header *h, uint64_t wanted, const char *what,
                                    tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: has %" PRIu64 " bytes, and %s %" PRIu64 "; " NATIVE_REMEDY, h->source->name,
                       h->source->size, what, wanted);
}

static void load_fields(native_header *h) {
    const uint8_t *bytes = h->source->bytes;
    for (int i = 0; i < NATIVE_FIELD_COUNT; i++) {
        const uint8_t *value = bytes + field_rows[i].offset;
        h->field[i] = field_rows[i].width == 4 ? tamis__load32le(value) : tamis__load64le(value);
    }
    h->fpr = native_load_real(bytes + NATIVE_FPR);
    h->fpr_predicted = native_load_real(bytes + NATIVE_FPR_PREDICTED);
    h->false_present = native_load_real(bytes + NATIVE_FALSE_PRESENT);
    h->covered = native_load_real(bytes + NATIVE_COVERED);
}

/* Checks the header's checksum before any field is used. In every format the checksum covers the format
 * number, so a damaged number is not taken for a later format. */
static tamis_status verify_checksum(const native_header *h, tamis_error *err) {
    const uint64_t size = h->field[NATIVE_header_size];
    if (size < NATIVE_HEADER || size > NATIVE_HEADER_MAX)
        return fail_field(h, NATIVE_header_size, err);
    if (size % 8 != 0)
        return fail_not_multiple(h, NATIVE_header_size, 8, err);
    if (size > h->source->size)
        return tamis__native_fail_cut(h, size, "its header alone takes", err);
    if (native_header_checksum(h->source->bytes, size) != h->field[NATIVE_header_sum])
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: the header is damaged, its sum differs; " NATIVE_REMEDY, h->source->name);
    if (h->field[NATIVE_format] != NATIVE_FORMAT)
        return tamis__fail(err, TAMIS_E_FORMAT, 0,
                           "%s: is of format %" PRIu64 ", and this tamis reads format %d; use a newer tamis",
                           h->source->name, h->field[NATIVE_format], NATIVE_FORMAT);
    return TAMIS_OK;
}

tamis_status tamis__native_check_real(const native_header *h, const char *name, double value, double max,
                                      tamis_error *err) {
    if (value >= 0 && value <= max)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: %s is %g, not from 0 to %g; " NATIVE_REMEDY,
                       h->source->name, name, value, max);
}

static tamis_status check_fields(const native_header *h, tamis_error *err) {
    if (h->field[NATIVE_features])
        return tamis__fail(err, TAMIS_E_FORMAT, 0,
                           "%s: needs features (%#" PRIx64
                           ") that this tamis does not know; use a newer tamis",
                           h->source->name, h->field[NATIVE_features]);
    for (native_field i = NATIVE_kind; i <= NATIVE_scheme; i++)
        if (h->field[i] > field_rows[i].max)
            return tamis__fail(err, TAMIS_E_FORMAT, 0,
                               "%s: %s is %" PRIu64 ", and this tamis knows those up to %" PRIu64
                               "; use a newer tamis",
                               h->source->name, field_rows[i].name, h->field[i], field_rows[i].max);
    for (int i = 0; i < NATIVE_FIELD_COUNT; i++)
        if (h->field[i] < field_rows[i].min || h->field[i] > field_rows[i].max)
            return fail_field(h, (native_field)i, err);
    tamis_status status = tamis__native_check_real(h, "fpr", h->fpr, 1, err);
    if (status == TAMIS_OK)
        status = tamis__native_check_real(h, "fpr_predicted", h->fpr_predicted, 1, err);
    if (status == TAMIS_OK)
        status = tamis__native_check_real(h, "false_present", h->false_present, NATIVE_COUNT_MAX, err);
    if (status == TAMIS_OK)
        status = tamis__native_check_real(
            h, "covered", h->covered, tamis_kind_is_bloom((tamis_kind)h->field[NATIVE_kind]) ? 0 : 1, err);
    return status;
}

/* Checks that fields without a use for this kind or scheme are 0, and that necessary fields are not. */
static tamis_status check_uses(const native_header *h, tamis_error *err) {
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
                               "%s: %s is %" PRIu64 ", and kind %s of scheme %s has none; " NATIVE_REMEDY,
                               h->source->name, field_rows[uses[i].field].name, h->field[uses[i].field],
                               tamis_kind_name(kind), tamis_scheme_name(scheme));
    if ((kind != TAMIS_KIND_CLASSIC && tamis_scheme_digest_bits(scheme) < 128) ||
        tamis__is_redisbloom_cuckoo(kind, scheme)) /* it has the format of RedisBloom */
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: scheme is %s, which kind %s cannot have; " NATIVE_REMEDY, h->source->name,
                           tamis_scheme_name(scheme), tamis_kind_name(kind));
    if (bloom && h->field[NATIVE_bits] == 0)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: bits is 0, not from 1 to %" PRIu64 "; " NATIVE_REMEDY, h->source->name,
                           TAMIS_BITS_MAX);
    if (bloom && kind != TAMIS_KIND_CLASSIC && h->field[NATIVE_bits] % (8 * TAMIS__LINE) != 0)
        return fail_not_multiple(h, NATIVE_bits, 8 * TAMIS__LINE, err);
    if (bloom && h->field[NATIVE_probes] == 0)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: probes is 0, not from 1 to %d; " NATIVE_REMEDY,
                           h->source->name, TAMIS_PROBES_MAX);
    return TAMIS_OK;
}

static tamis_status check_sizes(const native_header *h, tamis_error *err) {
    uint64_t offset = h->field[NATIVE_body_offset], size = h->field[NATIVE_body_size];
    if (offset % NATIVE_BODY_ALIGN != 0)
        return fail_not_multiple(h, NATIVE_body_offset, NATIVE_BODY_ALIGN, err);
    if (offset < h->field[NATIVE_header_size])
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: body_offset is %" PRIu64 ", and header_size %" PRIu64 "; " NATIVE_REMEDY,
                           h->source->name, offset, h->field[NATIVE_header_size]);
    if (size % TAMIS__LINE != 0)
        return fail_not_multiple(h, NATIVE_body_size, TAMIS__LINE, err);
    const uint64_t wanted = offset + size + 8 * tamis__block_count(size);
    if (h->field[NATIVE_file_size] != wanted)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: file_size is %" PRIu64 ", not the %" PRIu64
                           " that header and body take; " NATIVE_REMEDY,
                           h->source->name, h->field[NATIVE_file_size], wanted);
    if (h->source->size != wanted)
        return tamis__native_fail_cut(h, wanted, "should have", err);
    if (XXH3_64bits(h->source->bytes + offset + size, (size_t)(wanted - offset - size)) !=
        h->field[NATIVE_checksums_sum])
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: the sums of its blocks are damaged; " NATIVE_REMEDY,
                           h->source->name);
    return TAMIS_OK;
}

tamis_status tamis__native_read_header(native_header *h, tamis_error *err) {
    load_fields(h);
    tamis_status status = verify_checksum(h, err);
    if (status == TAMIS_OK)
        status = check_fields(h, err);
    if (status == TAMIS_OK)
        status = check_uses(h, err);
    return status == TAMIS_OK ? check_sizes(h, err) : status;
}
