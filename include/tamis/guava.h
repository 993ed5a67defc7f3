/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_GUAVA_H
#define TAMIS_GUAVA_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/filter.h>
#include <tamis/funnel.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * com.google.common.hash.BloomFilter, method by method, on a filter of kind classic: the same sizes, bits and answers.
 * Who only wants the sizes asks a plan with scheme guava64; this is for programs that talk to a Java one, or were one.
 *
 * One thread at a time, but for calls with a const handle, which may run together.
 */
typedef struct tamis_guava tamis_guava;

/* How the number of hash functions follows. Filters differ for small n, so both sides must use one rule. */
typedef enum tamis_guava_rule {
    TAMIS_GUAVA_RULE_SIZE = 0, /* max(1, round(m/n ln 2)): releases up to 33.3 */
    TAMIS_GUAVA_RULE_FPP = 1   /* max(1, round(-ln p / ln 2)): releases after it */
} tamis_guava_rule;

typedef struct tamis_guava_options {
    uint32_t struct_size;
    int64_t expected_insertions; /* >= 0; 0 is taken as 1 */
    double fpp;                  /* > 0 and < 1; Guava's own default is 0.03 */
    tamis_scheme strategy; /* TAMIS_SCHEME_GUAVA64 (MURMUR128_MITZ_64, which create() takes) or _GUAVA32 */
    tamis_guava_rule rule;
    tamis_funnel funnel;              /* default tamis_funnel_bytes, of tamis_key objects */
    void *funnel_context;             /* lives as long as the handle */
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_guava_options;

/* clang-format off */
#define TAMIS_GUAVA_OPTIONS_INIT \
    {sizeof(tamis_guava_options), 0, 0.03, TAMIS_SCHEME_GUAVA64, TAMIS_GUAVA_RULE_SIZE, tamis_funnel_bytes, NULL, NULL}
/* clang-format on */

/*
 * create(funnel, expectedInsertions, fpp): m = (long)(-n ln p / (ln 2)^2), truncated, in whole 64-bit words.
 * TAMIS_E_RANGE where Guava throws IllegalArgumentException: expected_insertions below 0, fpp not between 0 and 1 (both
 * excluded), m of 0 or of more than 2^31 - 1 words, more than 255 hash functions. TAMIS_E_INVALID: another scheme, no
 * funnel. TAMIS_E_NOMEM. *guava is owned by the caller until tamis_guava_free (NULL is fine there).
 */
TAMIS_API tamis_status tamis_guava_create(tamis_guava **guava, const tamis_guava_options *options,
                                          tamis_error *err);
TAMIS_API void tamis_guava_free(tamis_guava *guava);

/* put(object): *changed (may be NULL) says whether a bit changed, that is whether the object was certainly not put
 * before. Goes on past expected_insertions, as Guava does, while the rate rises. TAMIS_E_NOMEM, or what the funnel met;
 * nothing is put then. O(key bytes + k). */
TAMIS_API tamis_status tamis_guava_put(tamis_guava *guava, const void *object, bool *changed,
                                       tamis_error *err);
/* mightContain(object). */
TAMIS_API tamis_status tamis_guava_might_contain(tamis_guava *guava, const void *object, bool *might,
                                                 tamis_error *err);
/* putAll(other). Refused as Guava refuses it: TAMIS_E_INVALID for a filter with itself, TAMIS_E_MISMATCH, naming the
 * difference, where hash functions, bit sizes, strategies or funnels (function and context) are not equal. */
TAMIS_API tamis_status tamis_guava_put_all(tamis_guava *guava, const tamis_guava *other, tamis_error *err);
/* copy(): equal to the original, with the same funnel; then each goes its own way. */
TAMIS_API tamis_status tamis_guava_copy(tamis_guava **copy, const tamis_guava *guava, tamis_error *err);

/* isCompatible(other): not the same handle, and equal in hash functions, bit size, strategy and funnel. */
TAMIS_API bool tamis_guava_is_compatible(const tamis_guava *guava, const tamis_guava *other);
/* equals(other): equal in hash functions, funnel, strategy and every bit. */
TAMIS_API bool tamis_guava_equals(const tamis_guava *guava, const tamis_guava *other);
/* hashCode(): 31-polynomial over hash functions, funnel, strategy and the words of bits (Objects.hashCode,
 * Arrays.hashCode). The hash codes of Guava's funnels and strategies are identity hashes, another number in every JVM:
 * give those of the JVM to be compared with, or 0. */
TAMIS_API int32_t tamis_guava_hash_code(const tamis_guava *guava, int32_t funnel_hash, int32_t strategy_hash);

TAMIS_API uint64_t tamis_guava_bit_size(const tamis_guava *guava);       /* bitSize() */
TAMIS_API uint64_t tamis_guava_bit_count(const tamis_guava *guava);      /* bits set; O(bits) */
TAMIS_API uint32_t tamis_guava_hash_functions(const tamis_guava *guava); /* k */
/* expectedFpp(): (bit count / bit size)^k. O(bits) */
TAMIS_API double tamis_guava_expected_fpp(const tamis_guava *guava);
/* approximateElementCount(): round(-log1p(-bit count / bit size) * bit size / k), halves up. TAMIS_E_RANGE where all
 * bits are set and Guava throws ArithmeticException. O(bits) */
TAMIS_API tamis_status tamis_guava_approximate_element_count(const tamis_guava *guava, int64_t *count,
                                                             tamis_error *err);

/* The filter inside, of kind classic: for batches (with keys a tamis_sink made) and whatever else takes one. Lives as
 * long as the handle. */
TAMIS_API tamis_filter *tamis_guava_filter(tamis_guava *guava);

#ifdef __cplusplus
}
#endif
#endif
