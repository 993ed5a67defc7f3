/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Files of Guava's BloomFilter: what writeTo() writes and readFrom() reads.
 *
 *     offset  size
 *     0       1     strategy: 0 MURMUR128_MITZ_32, 1 MURMUR128_MITZ_64
 *     1       1     k, the number of hash functions: 1 to 255
 *     2       4     number of words, big-endian: 1 to 2^31 - 1
 *     6       8     each word, big-endian; all bits are used
 *
 * An example, create(funnel, 1000, 0.01): m = 9585 bits, rounded up to 9600 = 150 words; k = round(9585 /
 * 1000 ln 2) = 7. The file has 6 + 8 * 150 = 1206 bytes:
 *
 *     00000000  01 07 00 00 00 96                                   strategy 1, k = 7, 150 words
 *     00000006  word 0, highest byte first; then words 1 to 149
 *
 * The whole file of create(stringFunnel(UTF_8), 10, 0.01) with "foo" and "bar" has k = 7 and 2 words. "bar"
 * sets two bits only, because its step is half of 128 (hash/positions.c):
 *
 *     01 07 00 00 00 02  00 00 00 00 00 00 08 10  20 40 81 02 00 00 00 10
 *
 * Pitfalls. Java's serialization (ObjectOutputStream) writes another form, which is not read here. The
 * modulus of positions is 64 * words, not the m of the formula. k must come from the file: for a few keys,
 * releases after 33.3 choose another k than those before.
 *
 * Source of the format: com.google.common.hash.BloomFilter.writeTo; tests/interop compares
 * files with those of Guava 31.1 and 33.5.
 *
 * What can be checked. There is no magic and no checksum. A wrong number of words shows, because the size
 * of the file must fit. A changed strategy, k or bit cannot be distinguished from another filter. The
 * funnel is not in the file: the caller must make keys as the funnel did.
 *
 * Capacity and rate. The file does not say for how many keys n it was made, nor the rate. Guava chooses
 *
 *     k = round(m/n ln 2), so n is at most m ln 2 / (k - 1/2)
 *
 * That maximum becomes the capacity, and the rate at that number of keys the promise. So a filter with the
 * keys that it was made for is never reported as over capacity. The usual estimate, m ln 2 / k (half of the
 * bits set), would be too low whenever k was rounded up. At rate 0.01, k is 6.64 rounded to 7.
 *
 * With k = 1 nothing follows: Guava chooses it for m ln 2 / 1.5 keys and any larger number. Such a plan
 * promises nothing (rate 1, and the largest capacity there is).
 *
 * Invariants:
 * 1. Bits are copied, never interpreted: a file read and written again is the same byte for byte.
 * 2. Only classic filters with scheme guava64 or guava32 and whole words are written.
 */
#include <inttypes.h>
#include <math.h>

#include "base/bytes.h"
#include "format/bloom_bits.h"
#include "plan/plan_int.h"

enum { STRATEGY_AT = 0, PROBES_AT = 1, WORDS_AT = 2, HEADER_SIZE = 6, WORDS_MAX = INT32_MAX };

static const tamis_scheme schemes[] = {TAMIS_SCHEME_GUAVA32, TAMIS_SCHEME_GUAVA64}; /* indexed by strategy */

static bool recognise(const tamis__encoded_bytes *source) {
    const uint8_t *bytes = source->bytes;
    if (source->size < HEADER_SIZE || bytes[STRATEGY_AT] > 1 || bytes[PROBES_AT] == 0)
        return false;
    uint32_t words = tamis__load32be(bytes + WORDS_AT);
    return words >= 1 && words <= WORDS_MAX;
}

static tamis_status check_header(const tamis__encoded_bytes *source, tamis_error *err) {
    const uint8_t *bytes = source->bytes;
    if (source->size < HEADER_SIZE)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: %" PRIu64 " bytes; the head of a Guava file alone has %d; get the file again",
                           source->name, source->size, HEADER_SIZE);
    if (bytes[STRATEGY_AT] > 1)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: strategy is %u; Guava files have 0 or 1; get the file again", source->name,
                           bytes[STRATEGY_AT]);
    if (bytes[PROBES_AT] == 0)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: k is 0; Guava files have 1 to 255; get the file again", source->name);
    const uint32_t words = tamis__load32be(bytes + WORDS_AT);
    if (words < 1 || words > WORDS_MAX)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: number of words is %" PRIu32 "; Guava files have 1 to %d; get the file again",
                           source->name, words, WORDS_MAX);
    const uint64_t size = HEADER_SIZE + 8 * (uint64_t)words;
    if (source->size != size)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: number of words is %" PRIu32 ", which takes %" PRIu64
                           " bytes, and there are %" PRIu64 "; get the file again",
                           source->name, words, size, source->size);
    return TAMIS_OK;
}

static tamis_status decode(tamis_filter **filter, const tamis__encoded_bytes *source,
                           const tamis_open_options *options, tamis_error *err) {
    tamis_status status = check_header(source, err);
    if (status != TAMIS_OK)
        return status;
    uint64_t bits = 64 * (uint64_t)tamis__load32be(source->bytes + WORDS_AT);
    uint32_t probes = source->bytes[PROBES_AT];
    tamis_plan plan = TAMIS_PLAN_INIT;
    plan.kind = TAMIS_KIND_CLASSIC;
    plan.scheme = schemes[source->bytes[STRATEGY_AT]];
    plan.capacity = probes == 1 ? TAMIS_EXPECT_MAX
                                : (uint64_t)fmax(1, tamis_bloom_half_full_keys((double)bits, probes - 0.5));
    tamis__plan_set_bits(&plan, bits, probes);
    plan.fpr = probes == 1 ? 1 : plan.fpr_predicted;
    tamis__plan_explain(&plan, "read from a Guava file, which does not say its capacity: this is the most");
    status = tamis__bloom_bits_decode(
        filter, &plan, options, (tamis__file_words){source->bytes + HEADER_SIZE, TAMIS__BIG_ENDIAN}, err);
    if (status != TAMIS_OK)
        return status;
    tamis__bloom_filled(*filter, TAMIS__ADDED_BY_BITS);
    (*filter)->metadata.fields.format = TAMIS_FORMAT_GUAVA;
    return TAMIS_OK;
}

static tamis_status encoded_size(const tamis_filter *filter, uint64_t *size, tamis_error *err) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    const bool mine = plan->scheme == TAMIS_SCHEME_GUAVA64 || plan->scheme == TAMIS_SCHEME_GUAVA32;
    if (plan->kind != TAMIS_KIND_CLASSIC || !mine)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "format guava: keeps kind classic with scheme guava64 or guava32, and this is %s "
                           "with %s; use format tamis",
                           tamis_kind_name(plan->kind), tamis_scheme_name(plan->scheme));
    if (plan->bits % 64 || plan->bits / 64 > WORDS_MAX)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "format guava: keeps 1 to %d words of 64 bits, and %" PRIu64
                           " bits are not that; use format tamis",
                           WORDS_MAX, plan->bits);
    *size = HEADER_SIZE + plan->bits / 8;
    return TAMIS_OK;
}

static tamis_status encode(const tamis_filter *filter, const tamis__emitter *out, tamis_error *err) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    uint8_t header[HEADER_SIZE];
    header[STRATEGY_AT] = plan->scheme == schemes[1];
    header[PROBES_AT] = (uint8_t)plan->probes;
    tamis__store32be(header + WORDS_AT, (uint32_t)(plan->bits / 64));
    const tamis_status status = out->emit(out->context, header, sizeof header, err);
    return status == TAMIS_OK ? tamis__bloom_bits_encode(filter, out, TAMIS__BIG_ENDIAN, err) : status;
}

const tamis__format tamis__format_guava = {
    .recognise = recognise, .decode = decode, .encoded_size = encoded_size, .encode = encode};
