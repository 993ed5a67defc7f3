/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Files of DCSO's bloom (.bloom), version 1, uncompressed. Numbers are little-endian:
 *
 *     offset  size
 *     0       8     flags: 1, the version; no other bit is defined
 *     8       8     n, the number of keys it was made for
 *     16      8     p, the rate at n keys: a double
 *     24      8     k, the number of hash functions: ceil(m/n ln 2)
 *     32      8     m, the number of bits: floor(-n ln p / (ln 2)^2)
 *     40      8     N, the number of keys that were new when added (a union adds both numbers)
 *     48      8     each word, ceil(m/64) times; bits past m are zero
 *     then          user data, of any size
 *
 * An example, a filter for n = 1000 keys at p = 0.01: m = floor(9585.06) = 9585 bits and k = ceil(6.64) =
 * 7. The file has 48 bytes and ceil(9585 / 64) = 150 words, 1248 bytes in all:
 *
 *     00000000  01 00 00 00 00 00 00 00  e8 03 00 00 00 00 00 00    flags, n = 1000
 *     00000010  7b 14 ae 47 e1 7a 84 3f  07 00 00 00 00 00 00 00    p = 0.01, k = 7
 *     00000020  71 25 00 00 00 00 00 00  00 00 00 00 00 00 00 00    m = 9585, N = 0
 *     00000030  words; the last 15 bits of word 149 are past m
 *
 * The words of the file for n = 10 at p = 0.01 (m = 95, k = 7) with "foo" and "bar", in the order of the
 * file:
 *
 *     00000030  00 81 20 20 10 50 00 40  c4 01 00 00 00 00 00 00    "foo" sets bits 8 15 29 29 66 70 72
 *
 * Pitfall: DCSO's command stops reading at a line of more than 64 KiB and still exits with 0. A filter that
 * it made from such a list lacks all later lines; no reader can notice that.
 *
 * Source of the format: github.com/DCSO/bloom. tests/interop compares with its own command.
 *
 * What can be checked. There is no checksum. But m and k follow from n and p, up to the rounding of a
 * logarithm. So a damaged header is found before it gives a false negative. Damage to N, to the last digits
 * of p, to user data and to bits is not found. A bit that was set wrongly raises the rate a little. A bit
 * that was cleared cannot be distinguished from another filter.
 *
 * How m and k are checked (has_own_bits, has_own_probes). Other C libraries and Go round logarithms
 * differently in the last digit. So m and k must lie between the values for a product 1e-14 smaller and
 * 1e-14 larger. Nearly always both are the same number, and a changed bit in n, k, m, or in the first
 * digits of p is found.
 *
 *     field   if damaged                                             found
 *     -----   -----------------------------------------------------  -------------------------
 *     flags   another version, or no file of DCSO                    yes
 *     n, p    m no longer follows from them                          yes, but the last digits of p
 *     k       k no longer follows from n and m                       yes
 *     m       the number of words does not fit, m does not follow    yes
 *     N       the reported number of keys is wrong                   only above 2^63 - 1
 *     words   bits past m are set                                    yes
 *             other bits                                             no
 *
 * gzip. DCSO's command also writes this file compressed. recognise() accepts the first bytes of gzip, so
 * that the message says what to do. tamis_compressed_open decompresses a file once, so a filter that is
 * still compressed then was compressed twice.
 *
 * Reading, from bytes to a filter:
 *
 *     check_start    gzip? 48 bytes? version 1?
 *     check_header   each field in its range; m and k follow from n and p
 *     check_bits     all words are there; no bit past m
 *     decode         plan -> words -> number of keys N -> user data as metadata
 *
 * Writing is the reverse. encoded_size refuses filters of another kind or scheme, and those whose m or k
 * DCSO's rules would not give. So its command reads every file.
 *
 * The number of keys. N is exact in a filter that DCSO's command filled, and is kept as filter->added. A
 * union of DCSO adds both numbers, ours estimates the keys from the bits (bloom_estimate.c), so N may
 * differ after a union.
 *
 * Invariants:
 * 1. A filter is written only if n, p, k and m obey DCSO's rules, so its own command reads the file.
 * 2. User data is kept: read, stored with the metadata, and written again.
 * 3. Bits past m are zero: a file with such a bit is refused.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "format/bloom_bits.h"
#include "plan/plan_int.h"

enum {
    FLAGS_AT = 0,
    N_AT = 8,
    P_AT = 16,
    K_AT = 24,
    M_AT = 32,
    COUNT_AT = 40,
    HEADER_SIZE = 48,
    VERSION = 1
};

#define COUNT_MAX ((uint64_t)INT64_MAX) /* leaves a range for further keys */
#define ROUNDING  1e-14                 /* relative error of two logarithms */

typedef struct dcso_header {
    uint64_t n, k, m, count;
    double p;
} dcso_header;

static bool is_gzip(const tamis__encoded_bytes *source) {
    return source->size >= 2 && source->bytes[0] == 0x1f && source->bytes[1] == 0x8b;
}

/* True also for gzip files, so that check_start can explain. No other format read here begins in that way. */
static bool recognise(const tamis__encoded_bytes *source) {
    return is_gzip(source) || (source->size >= 8 && tamis__load64le(source->bytes + FLAGS_AT) == VERSION);
}

static uint64_t bytes_of(uint64_t m) {
    return 8 * (m / 64 + (m % 64 != 0));
}

/* ---- the sizes that follow from n and p ---- */

static bool is_between(double value, double min, double max) {
    return value >= min && value <= max;
}

static bool has_own_bits(const dcso_header *h) {
    const double m = tamis_bloom_bits((double)h->n, h->p);
    return is_between((double)h->m, floor(m * (1 - ROUNDING)), floor(m * (1 + ROUNDING)));
}

static bool has_own_probes(const dcso_header *h) {
    const double k = log(2) * (double)h->m / (double)h->n;
    return is_between((double)h->k, ceil(k * (1 - ROUNDING)), ceil(k * (1 + ROUNDING)));
}

/* ---- reading ---- */

static dcso_header read_header(const uint8_t *bytes) {
    uint64_t rate = tamis__load64le(bytes + P_AT);
    dcso_header h = {.n = tamis__load64le(bytes + N_AT),
                     .k = tamis__load64le(bytes + K_AT),
                     .m = tamis__load64le(bytes + M_AT),
                     .count = tamis__load64le(bytes + COUNT_AT),
                     .p = 0};
    memcpy(&h.p, &rate, sizeof h.p);
    return h;
}

static tamis_status check_start(const tamis__encoded_bytes *source, tamis_error *err) {
    if (is_gzip(source))
        return tamis__fail(
            err, TAMIS_E_FORMAT, 0,
            "%s: compressed with gzip, once more than is undone here; unpack it first (gzip -d)",
            source->name);
    if (source->size < HEADER_SIZE)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: %" PRIu64 " bytes; the head of a DCSO file alone has %d; get the file again",
                           source->name, source->size, HEADER_SIZE);
    const uint64_t flags = tamis__load64le(source->bytes + FLAGS_AT);
    if (flags != VERSION)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: flags are %#" PRIx64 "; DCSO files have 0x1; get the file again",
                           source->name, flags);
    return TAMIS_OK;
}

static tamis_status refuse_number(const tamis__encoded_bytes *source, const char *field, uint64_t value,
                                  uint64_t max, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: %s is %" PRIu64 "; DCSO files have 1 to %" PRIu64 "; get the file again",
                       source->name, field, value, max);
}

static tamis_status check_header(const dcso_header *h, const tamis__encoded_bytes *source, tamis_error *err) {
    if (h->n < 1 || h->n > TAMIS_EXPECT_MAX)
        return refuse_number(source, "n", h->n, TAMIS_EXPECT_MAX, err);
    if (!(h->p > 0 && h->p < 1))
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: p is %g; DCSO files have one above 0 and below 1; get the file again",
                           source->name, h->p);
    if (h->m < 1 || h->m > TAMIS_BITS_MAX)
        return refuse_number(source, "m", h->m, TAMIS_BITS_MAX, err);
    if (!has_own_bits(h))
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: m is %" PRIu64 "; DCSO files have %.0f for the n of %" PRIu64
                           " and the p of %g there; get the file again",
                           source->name, h->m, floor(tamis_bloom_bits((double)h->n, h->p)), h->n, h->p);
    if (!has_own_probes(h))
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: k is %" PRIu64 "; DCSO files have %.0f for the n of %" PRIu64
                           " and the m of %" PRIu64 " there; get the file again",
                           source->name, h->k, ceil(log(2) * (double)h->m / (double)h->n), h->n, h->m);
    if (h->count > COUNT_MAX)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: N is %" PRIu64 "; a count is %" PRIu64 " at the most; get the file again",
                           source->name, h->count, COUNT_MAX);
    if (h->k > TAMIS_PROBES_MAX)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: k is %" PRIu64
                           "; tamis reads up to %d; have it made for a p that is larger than %g",
                           source->name, h->k, TAMIS_PROBES_MAX, h->p);
    return TAMIS_OK;
}

/* Checks that all words are there, and that the bits past m are zero. */
static tamis_status check_bits(const dcso_header *h, const tamis__encoded_bytes *source, tamis_error *err) {
    uint64_t word_bytes = bytes_of(h->m), left = source->size - HEADER_SIZE;
    if (word_bytes > left)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: m is %" PRIu64 ", which takes %" PRIu64 " bytes, and %" PRIu64
                           " follow the head; get the file again",
                           source->name, h->m, word_bytes, left);
    const uint64_t last = tamis__load64le(source->bytes + HEADER_SIZE + word_bytes - 8);
    const uint64_t past = h->m % 64 ? last >> h->m % 64 : 0;
    if (past)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: bit %" PRIu64 " is set; its m of %" PRIu64
                           " bits are those below that number; get the file again",
                           source->name, h->m + (uint64_t)__builtin_ctzll(past), h->m);
    return TAMIS_OK;
}

static tamis_status keep_data(tamis_filter *filter, const uint8_t *data, uint64_t size, tamis_error *err) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    if (size == 0)
        return TAMIS_OK;
    metadata.data = data;
    metadata.data_size = (size_t)size;
    return tamis_filter_metadata_set(filter, &metadata, err);
}

static tamis_status decode(tamis_filter **filter, const tamis__encoded_bytes *source,
                           const tamis_open_options *options, tamis_error *err) {
    tamis_status status = check_start(source, err);
    if (status != TAMIS_OK)
        return status;
    dcso_header h = read_header(source->bytes);
    status = check_header(&h, source, err);
    if (status == TAMIS_OK)
        status = check_bits(&h, source, err);
    if (status != TAMIS_OK)
        return status;

    tamis_plan plan = TAMIS_PLAN_INIT;
    plan.kind = TAMIS_KIND_CLASSIC;
    plan.scheme = TAMIS_SCHEME_FNV_DCSO;
    plan.capacity = h.n;
    plan.fpr = h.p;
    tamis__plan_set_bits(&plan, h.m, (uint32_t)h.k);
    tamis__plan_explain(&plan, "read from a DCSO file");
    tamis_filter *created = NULL;
    status =
        tamis__bloom_bits_decode(&created, &plan, options,
                                 (tamis__file_words){source->bytes + HEADER_SIZE, TAMIS__LITTLE_ENDIAN}, err);
    if (status != TAMIS_OK)
        return status;
    tamis__bloom_filled(created, h.count);
    uint64_t end = HEADER_SIZE + bytes_of(h.m);
    status = keep_data(created, source->bytes + end, source->size - end, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(created);
        return status;
    }
    created->metadata.fields.format = TAMIS_FORMAT_DCSO;
    *filter = created;
    return TAMIS_OK;
}

/* ---- writing ---- */

static dcso_header make_header(const tamis_filter *filter) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    return (dcso_header){
        .n = plan->capacity, .k = plan->probes, .m = plan->bits, .count = filter->added, .p = plan->fpr};
}

static tamis_status encoded_size(const tamis_filter *filter, uint64_t *size, tamis_error *err) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    if (plan->kind != TAMIS_KIND_CLASSIC || plan->scheme != TAMIS_SCHEME_FNV_DCSO)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "format dcso: keeps kind classic with scheme fnv-dcso, and this is %s with %s; use "
            "format tamis",
            tamis_kind_name(plan->kind), tamis_scheme_name(plan->scheme));
    dcso_header h = make_header(filter);
    if (h.n < 1 || !(h.p > 0 && h.p < 1) || !has_own_bits(&h) || !has_own_probes(&h))
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "format dcso: keeps the sizes that it gives itself to %" PRIu64
                           " keys at a rate of %g, and %" PRIu64 " bits and %" PRIu64
                           " probes are others; use format tamis, or leave probes out when it is made",
                           h.n, h.p, h.m, h.k);
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    const tamis_status status = tamis_filter_metadata_get(filter, &metadata, err);
    if (status == TAMIS_OK)
        *size = HEADER_SIZE + bytes_of(h.m) + metadata.data_size;
    return status;
}

static tamis_status encode(const tamis_filter *filter, const tamis__emitter *out, tamis_error *err) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    uint8_t bytes[HEADER_SIZE];
    uint64_t rate;
    dcso_header h = make_header(filter);
    memcpy(&rate, &h.p, sizeof rate);
    tamis__store64le(bytes + FLAGS_AT, VERSION);
    tamis__store64le(bytes + N_AT, h.n);
    tamis__store64le(bytes + P_AT, rate);
    tamis__store64le(bytes + K_AT, h.k);
    tamis__store64le(bytes + M_AT, h.m);
    tamis__store64le(bytes + COUNT_AT, h.count);
    tamis_status status = tamis_filter_metadata_get(filter, &metadata, err);
    if (status == TAMIS_OK)
        status = out->emit(out->context, bytes, sizeof bytes, err);
    if (status == TAMIS_OK)
        status = tamis__bloom_bits_encode(filter, out, TAMIS__LITTLE_ENDIAN, err);
    if (status == TAMIS_OK && metadata.data_size)
        status = out->emit(out->context, metadata.data, metadata.data_size, err);
    return status;
}

const tamis__format tamis__format_dcso = {
    .recognise = recognise, .decode = decode, .encoded_size = encoded_size, .encode = encode};
