/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Words of a Bloom filter from and to the files of other programs (bloom_bits.h).
 *
 * Decoding makes an empty classic filter by the plan and writes the words into it. The caller then sets the
 * number of keys: that of the file, or an estimate from the bits if the file has none (TAMIS__ADDED_BY_BITS).
 * A plan with rate 1 promises nothing, so its filter is never full.
 *
 * Encoding verifies the filter first if it is in a file of ours: damaged bits must not reach a format
 * without checksums. Then it converts 512 words at a time on the stack and emits them, so no memory is
 * allocated.
 */
#include "format/bloom_bits.h"

#include "base/bytes.h"
#include "base/system.h"

enum { WORDS_AT_ONCE = 512 }; /* words emitted at once: 4 KiB of stack */

tamis_status tamis__bloom_bits_decode(tamis_filter **filter, const tamis_plan *plan,
                                      const tamis_open_options *options, tamis__file_words from,
                                      tamis_error *err) {
    tamis_filter_options inside = TAMIS_FILTER_OPTIONS_INIT;
    inside.allocator = options->allocator;
    inside.allow_over_capacity = plan->fpr >= 1; /* a plan that promises no rate is never full */
    tamis_status status = tamis_filter_create(filter, plan, &inside, err);
    if (status != TAMIS_OK)
        return status;
    const size_t count = (size_t)((plan->bits + 63) / 64);
    size_t word_count;
    uint64_t *words = tamis__bloom_words_mut(*filter, &word_count);
    tamis__advise_large(words, word_count * sizeof *words);
    if (from.endian == TAMIS__BIG_ENDIAN)
        for (size_t i = 0; i < count; i++)
            words[i] = tamis__load64be(from.bytes + 8 * i);
    else
        for (size_t i = 0; i < count; i++)
            words[i] = tamis__load64le(from.bytes + 8 * i);
    return TAMIS_OK;
}

tamis_status tamis__bloom_bits_encode(const tamis_filter *filter, const tamis__emitter *out,
                                      tamis__endian endian, tamis_error *err) {
    uint8_t bytes[8 * WORDS_AT_ONCE];
    const size_t count = (size_t)((tamis_filter_plan(filter)->bits + 63) / 64);
    size_t word_count;
    const uint64_t *words = tamis__bloom_words(filter, &word_count);
    tamis_status status = tamis_filter_verify(filter, err);
    for (size_t from = 0; from < count && status == TAMIS_OK; from += WORDS_AT_ONCE) {
        const size_t chunk = count - from < WORDS_AT_ONCE ? count - from : WORDS_AT_ONCE;
        for (size_t i = 0; i < chunk; i++) {
            const uint64_t word = words[from + i];
            tamis__store64le(bytes + 8 * i, endian == TAMIS__BIG_ENDIAN ? __builtin_bswap64(word) : word);
        }
        status = out->emit(out->context, bytes, 8 * chunk, err);
    }
    return status;
}
