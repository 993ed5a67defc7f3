/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_GUAVA_H
#define TAMIS_GUAVA_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/compat/funnel.h>
#include <tamis/filter.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * com.google.common.hash.BloomFilter, method by method, on a filter of kind classic: equal sizes, bits and
 * answers. It is for programs that share a filter with Java or are ported from Java. For the sizes alone,
 * make a plan with scheme guava64.
 *
 * One thread at a time. Calls with a const handle may run at the same time.
 */
typedef struct tamis_guava tamis_guava;

/* Rules for the number of hash functions. They differ for small n, so both sides must use the same rule. */
typedef enum tamis_guava_rule {
    TAMIS_GUAVA_RULE_SIZE = 0, /* max(1, round(m/n ln 2)): releases up to 33.3 */
    TAMIS_GUAVA_RULE_FPP = 1   /* max(1, round(-ln p / ln 2)): releases after it */
} tamis_guava_rule;

typedef struct tamis_guava_options {
    uint32_t struct_size;
    int64_t expected_insertions; /* >= 0; 0 counts as 1 */
    double fpp;                  /* > 0 and < 1; default of Guava: 0.03 */
    /* TAMIS_SCHEME_GUAVA64 (MURMUR128_MITZ_64, as create() uses) or TAMIS_SCHEME_GUAVA32 */
    tamis_scheme strategy;
    tamis_guava_rule rule;
    tamis_funnel funnel;              /* default: tamis_funnel_bytes, for tamis_key objects */
    void *funnel_context;             /* must outlive the handle */
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_guava_options;

#define TAMIS_GUAVA_OPTIONS_INIT                                                                             \
    TAMIS__INIT(tamis_guava_options, TAMIS__FIELD(fpp, 0.03) TAMIS__FIELD(strategy, TAMIS_SCHEME_GUAVA64)    \
                                         TAMIS__FIELD(funnel, tamis_funnel_bytes))

/*
 * create(funnel, expectedInsertions, fpp). m = (long)(-n ln p / (ln 2)^2), truncated, then rounded up to
 * whole 64-bit words. The caller owns *guava until tamis_guava_free.
 *
 * - TAMIS_E_RANGE, where Guava throws IllegalArgumentException: expected_insertions is below 0; fpp is not
 *   between 0 and 1 (both excluded). Or m is 0 or exceeds 2^31 - 1 words, or there are more than 255 hash
 *   functions.
 * - TAMIS_E_INVALID: another scheme, or no funnel.
 * - TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_guava_create(tamis_guava **guava, const tamis_guava_options *options,
                                          tamis_error *err);
TAMIS_API void tamis_guava_free(tamis_guava *guava);

/* put(object). *changed (may be NULL) is true if a bit changed, so the object was certainly not added
 * before. Accepts objects above expected_insertions while the rate rises, as Guava does. Errors:
 * TAMIS_E_NOMEM, or that of the funnel; nothing is added then. O(key bytes + k). */
TAMIS_API tamis_status tamis_guava_put(tamis_guava *guava, const void *object, bool *changed,
                                       tamis_error *err);
/* mightContain(object). */
TAMIS_API tamis_status tamis_guava_might_contain(tamis_guava *guava, const void *object, bool *might,
                                                 tamis_error *err);
/* putAll(other). Errors as in Guava: TAMIS_E_INVALID for a filter with itself. TAMIS_E_MISMATCH if hash
 * functions, bit size, strategy or funnel (function and context) differ, naming the difference. */
TAMIS_API tamis_status tamis_guava_put_all(tamis_guava *guava, const tamis_guava *other, tamis_error *err);
/* copy(): an independent copy with the same funnel. The caller owns *copy. */
TAMIS_API tamis_status tamis_guava_copy(tamis_guava **copy, const tamis_guava *guava, tamis_error *err);

/* isCompatible(other): true if the handles differ, and hash functions, bit size, strategy and funnel are
 * equal. */
TAMIS_API bool tamis_guava_is_compatible(const tamis_guava *guava, const tamis_guava *other);
/* equals(other): true if hash functions, funnel, strategy and all bits are equal. */
TAMIS_API bool tamis_guava_equals(const tamis_guava *guava, const tamis_guava *other);
/* hashCode(): polynomial of 31 over hash functions, funnel, strategy and the words of bits
 * (Objects.hashCode, Arrays.hashCode). In Guava the hash codes of funnels and strategies are identity
 * hashes, which differ in every JVM. Give those of the JVM to compare with, or 0. */
TAMIS_API int32_t tamis_guava_hash_code(const tamis_guava *guava, int32_t funnel_hash, int32_t strategy_hash);

TAMIS_API uint64_t tamis_guava_bit_size(const tamis_guava *guava);       /* bitSize() */
TAMIS_API uint64_t tamis_guava_bit_count(const tamis_guava *guava);      /* bits set; O(bits) */
TAMIS_API uint32_t tamis_guava_hash_functions(const tamis_guava *guava); /* k */
/* expectedFpp(): (bit count / bit size)^k. O(bits). */
TAMIS_API double tamis_guava_expected_fpp(const tamis_guava *guava);
/* approximateElementCount(): round(-log1p(-bit count / bit size) * bit size / k), halves up. TAMIS_E_RANGE
 * if all bits are set, where Guava throws ArithmeticException. O(bits). */
TAMIS_API tamis_status tamis_guava_approximate_element_count(const tamis_guava *guava, int64_t *count,
                                                             tamis_error *err);

/* Returns the filter of kind classic inside, for batches (with keys from a tamis_sink) and all other
 * functions on filters. It is valid as long as the handle. */
TAMIS_API tamis_filter *tamis_guava_filter(tamis_guava *guava);

#ifdef __cplusplus
}
#endif
#endif
