/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * com.google.common.hash.BloomFilter of Guava, on a filter of kind classic (docs/guide/other-systems.md
 * has the table of methods).
 *
 * Idea. A classic filter with scheme guava64 or guava32 already has Guava's bits: the same m, k, positions
 * and words (bloom.c). This file adds what Guava has besides the bits: its rules for sizes, its refusals, its
 * estimates, and funnels.
 *
 *     object --funnel--> bytes in a sink --> key --> hash --> k positions --> bits of the tamis filter
 *                (caller's function)       (scheme guava64: Murmur3, 128 bits)
 *
 * Sizes (docs/guide/other-systems.md, "Two rules for the number of hash functions"), for n expected
 * insertions at rate p:
 *
 *     m = (long) (-n ln p / (ln 2)^2), truncated, then up to a multiple of 64
 *     k = max(1, round(m/n ln 2))      TAMIS_GUAVA_RULE_SIZE: Guava up to 33.3
 *     k = max(1, round(-ln p / ln 2))  TAMIS_GUAVA_RULE_FPP: Guava from 33.4
 *
 * Invariants:
 * 1. For equal arguments and objects, both sides have the same bits and give the same answers. tests/interop
 *    runs the real class in a JVM beside this one.
 * 2. Numbers are computed in Guava's order of operations with Java's conversions: (long) saturates, and
 *    Math.round rounds halves up. One unit in the last place could otherwise change m by a bit.
 * 3. As in Guava, put never refuses a key: the filter allows more than its capacity.
 *
 * How Guava's methods map to the filter:
 *
 *     Guava                        here                            filter call
 *     ---------------------------  ------------------------------  -----------------------------------------
 *     create(funnel, n, fpp)       tamis_guava_create              tamis_filter_create, kind classic
 *     put(object)                  tamis_guava_put                 tamis_filter_add: changed if absent
 *     mightContain(object)         tamis_guava_might_contain       tamis_filter_contains
 *     putAll(other)                tamis_guava_put_all             tamis_filter_union, after Guava's checks
 *     isCompatible, equals         tamis_guava_is_compatible, ...  the same checks without a message
 *     approximateElementCount()    its own formula                 tamis__bloom_words
 *     expectedFpp()                (ones / m)^k                    tamis__bloom_words
 *
 * put returns true if a bit changed. A filter answers a key absent exactly if one of its bits was not set,
 * and adding it then sets that bit. So "changed" and "answered absent" are the same.
 *
 * Guava's refusals, and the status here. Guava throws; the filter is unchanged in both:
 *
 *     Guava                                             here
 *     ------------------------------------------------  -----------------
 *     expectedInsertions < 0, fpp not within (0, 1)     TAMIS_E_RANGE
 *     more bits than a Java array holds, k above 255    TAMIS_E_RANGE
 *     putAll of itself                                  TAMIS_E_INVALID
 *     putAll with another k, m, strategy or funnel      TAMIS_E_MISMATCH
 *     approximateElementCount with all bits set         TAMIS_E_RANGE
 *
 * Two filters of Guava are compatible only if their funnels are equal. In Java that is the funnel's
 * equals(); here it is the function and its context pointer.
 *
 * Threads: a tamis_guava has one sink, into which a funnel writes the bytes of a key. So even mightContain
 * changes it, and one object belongs to one thread at a time.
 *
 * hashCode needs the hash codes of the funnel and of the strategy. In Java these depend on the class and on
 * the run of the JVM. The caller passes them; the rest is Arrays.hashCode over k, funnel, strategy and bits.
 *
 * Rounding. approximateElementCount uses Math.round: halves go up, and a value just below a half must not.
 * So the code compares the fraction with 0.5, and does not add 0.5 before it truncates.
 *
 * What may differ: the logarithms of Java and of the C library may differ in the last place. Then m differs
 * only if it lies within 1e-15 of its size of a multiple of 64. tests/interop has met no such case.
 *
 * Measured: ./dev bench memory, beside Guava itself.
 */
#include <inttypes.h>
#include <math.h>

#include <tamis/compat/guava.h>

#include "base/versioned.h"
#include "filter/filter_int.h"

#define WORDS_MAX  ((uint64_t)INT32_MAX) /* max. length of a Java array */
#define PROBES_MAX 255                   /* writeTo stores k in one byte */

struct tamis_guava {
    tamis_allocator allocator;
    tamis_funnel funnel;
    void *funnel_context;
    tamis_sink *sink; /* buffer for the bytes of one key */
    tamis_filter *filter;
};

/* ---- creation ---- */

static tamis_status check_options(const tamis_guava_options *options, tamis_error *err) {
    if (!options->funnel)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "guava: no funnel; give one, tamis_funnel_bytes for instance");
    if (options->strategy != TAMIS_SCHEME_GUAVA64 && options->strategy != TAMIS_SCHEME_GUAVA32)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "guava: strategy %d is not one of Guava's; use scheme guava64 or guava32",
                           (int)options->strategy);
    if (options->rule != TAMIS_GUAVA_RULE_SIZE && options->rule != TAMIS_GUAVA_RULE_FPP)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "guava: rule %d is not known; use TAMIS_GUAVA_RULE_SIZE or _FPP",
                           (int)options->rule);
    if (options->expected_insertions < 0)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "guava: %" PRId64 " expected insertions are below 0; give 0 or more",
                           options->expected_insertions);
    if (!(options->fpp > 0 && options->fpp < 1))
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "guava: a rate of %g is not between 0 and 1; give one that is", options->fpp);
    return TAMIS_OK;
}

/* Makes the plan of checked options: kind classic, sized by Guava's rules. */
static tamis_status make_plan(tamis_plan *plan, const tamis_guava_options *options, tamis_error *err) {
    const int64_t keys = options->expected_insertions ? options->expected_insertions : 1;
    double n = (double)keys, m = floor(tamis_bloom_bits(n, options->fpp));
    if (!(m >= 1))
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "guava: %" PRId64 " expected insertions at a rate of %g take no bit at all; ask "
                           "for a smaller rate",
                           keys, options->fpp);
    if (m > 64.0 * (double)WORDS_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "guava: %g bits are more than the %" PRIu64
                           " that an array in Java can have; expect fewer insertions or choose a larger rate",
                           m, 64 * WORDS_MAX);
    const uint32_t k = options->rule == TAMIS_GUAVA_RULE_SIZE ? tamis_bloom_probes(n, m)
                                                              : tamis_bloom_probes_for_fpr(options->fpp);
    if (k > PROBES_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "guava: a rate of %g takes %" PRIu32
                           " hash functions, more than the %d that Guava allows; choose a larger rate",
                           options->fpp, k, PROBES_MAX);
    plan->kind = TAMIS_KIND_CLASSIC;
    plan->scheme = options->strategy;
    plan->capacity = (uint64_t)keys;
    plan->fpr = options->fpp;
    plan->bits = ((uint64_t)m + 63) / 64 * 64;
    plan->probes = k;
    plan->fpr_predicted = tamis_bloom_fpr(n, (double)plan->bits, k);
    plan->memory = plan->bits / 8;
    plan->bits_per_key = (double)plan->bits / n;
    return TAMIS_OK;
}

/* Makes the handle without its filter. */
static tamis_status create_empty(tamis_guava **guava, const tamis_allocator *allocator, tamis_funnel funnel,
                                 void *funnel_context, tamis_error *err) {
    tamis_guava *created = tamis__alloc(allocator, sizeof *created, _Alignof(tamis_guava));
    if (!created)
        return tamis__fail_nomem(err, "guava", sizeof *created);
    created->allocator = *allocator;
    created->funnel = funnel;
    created->funnel_context = funnel_context;
    tamis_status status = tamis_sink_create(&created->sink, allocator, err);
    if (status != TAMIS_OK) {
        tamis_guava_free(created);
        return status;
    }
    *guava = created;
    return TAMIS_OK;
}

tamis_status tamis_guava_create(tamis_guava **guava, const tamis_guava_options *given, tamis_error *err) {
    TAMIS__NEED(guava, err);
    tamis_guava_options options = TAMIS_GUAVA_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_status status =
        tamis__read_struct(&options, sizeof options, given, "TAMIS_GUAVA_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = check_options(&options, err);
    if (status == TAMIS_OK)
        status = make_plan(&plan, &options, err);
    if (status != TAMIS_OK)
        return status;

    tamis_allocator allocator = tamis__allocator_resolve(options.allocator);
    tamis_guava *created = NULL;
    status = create_empty(&created, &allocator, options.funnel, options.funnel_context, err);
    if (status != TAMIS_OK)
        return status;
    tamis_filter_options inside = TAMIS_FILTER_OPTIONS_INIT;
    inside.allocator = &allocator;
    inside.allow_over_capacity = true;
    status = tamis_filter_create(&created->filter, &plan, &inside, err);
    if (status != TAMIS_OK) {
        tamis_guava_free(created);
        return status;
    }
    *guava = created;
    return TAMIS_OK;
}

tamis_status tamis_guava_copy(tamis_guava **copy, const tamis_guava *guava, tamis_error *err) {
    TAMIS__NEED(copy, err);
    TAMIS__NEED(guava, err);
    tamis_guava *created = NULL;
    tamis_status status =
        create_empty(&created, &guava->allocator, guava->funnel, guava->funnel_context, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis_filter_copy(&created->filter, guava->filter, err);
    if (status != TAMIS_OK) {
        tamis_guava_free(created);
        return status;
    }
    *copy = created;
    return TAMIS_OK;
}

void tamis_guava_free(tamis_guava *guava) {
    if (!guava)
        return;
    tamis_filter_free(guava->filter);
    tamis_sink_free(guava->sink);
    tamis_allocator allocator = guava->allocator;
    tamis__free(&allocator, guava, sizeof *guava);
}

tamis_filter *tamis_guava_filter(tamis_guava *guava) {
    return guava->filter;
}

/* ---- one object ---- */

/* Runs the funnel on an object. *key belongs to the sink and is valid until the sink is used again. */
static tamis_status key_of(tamis_guava *guava, const void *object, const tamis_key **key, tamis_error *err) {
    size_t count;
    tamis_sink_clear(guava->sink);
    guava->funnel(guava->sink, object, guava->funnel_context);
    tamis_sink_end_key(guava->sink);
    return tamis_sink_keys(guava->sink, key, &count, err);
}

tamis_status tamis_guava_put(tamis_guava *guava, const void *object, bool *changed, tamis_error *err) {
    TAMIS__NEED(guava, err);
    const tamis_key *key;
    tamis_answer answer;
    tamis_status status = key_of(guava, object, &key, err);
    if (status == TAMIS_OK)
        status = tamis_filter_add(guava->filter, key->data, key->size, &answer, err);
    if (status == TAMIS_OK && changed)
        *changed = answer == TAMIS_ABSENT;
    return status;
}

tamis_status tamis_guava_might_contain(tamis_guava *guava, const void *object, bool *might,
                                       tamis_error *err) {
    TAMIS__NEED(guava, err);
    TAMIS__NEED(might, err);
    const tamis_key *key;
    tamis_answer answer;
    tamis_status status = key_of(guava, object, &key, err);
    if (status == TAMIS_OK)
        status = tamis_filter_contains(guava->filter, key->data, key->size, &answer, err);
    if (status == TAMIS_OK)
        *might = answer == TAMIS_PRESENT;
    return status;
}

/* ---- two filters ---- */

static bool same_funnel(const tamis_guava *a, const tamis_guava *other) {
    return a->funnel == other->funnel && a->funnel_context == other->funnel_context;
}

static tamis_status unequal(tamis_error *err, const char *what, uint64_t into, uint64_t from) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "guava: numbers of %s differ, %" PRIu64 " and %" PRIu64
                       "; put together filters created alike",
                       what, into, from);
}

tamis_status tamis_guava_put_all(tamis_guava *guava, const tamis_guava *other, tamis_error *err) {
    TAMIS__NEED(guava, err);
    TAMIS__NEED(other, err);
    if (guava == other)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "guava: a filter is not put into itself; give another one");
    const tamis_plan *into = tamis_filter_plan(guava->filter), *from = tamis_filter_plan(other->filter);
    if (into->probes != from->probes)
        return unequal(err, "hash functions", into->probes, from->probes);
    if (into->bits != from->bits)
        return unequal(err, "bits", into->bits, from->bits);
    if (into->scheme != from->scheme)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "guava: strategies %s and %s differ; put together filters created alike",
                           tamis_scheme_name(into->scheme), tamis_scheme_name(from->scheme));
    if (!same_funnel(guava, other))
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "guava: funnels or their contexts differ; put together filters created alike");
    return tamis_filter_union(guava->filter, other->filter, err);
}

bool tamis_guava_is_compatible(const tamis_guava *guava, const tamis_guava *other) {
    return guava != other && same_funnel(guava, other) &&
           tamis_filter_is_compatible(guava->filter, other->filter);
}

bool tamis_guava_equals(const tamis_guava *guava, const tamis_guava *other) {
    return guava == other ||
           (same_funnel(guava, other) && tamis_filter_is_equal(guava->filter, other->filter));
}

/* One step of Java's hashCode. Java's int arithmetic wraps, as unsigned does here. */
static uint32_t polynomial(uint32_t hash, uint32_t element) {
    return 31 * hash + element;
}

int32_t tamis_guava_hash_code(const tamis_guava *guava, int32_t funnel_hash, int32_t strategy_hash) {
    size_t count;
    const uint64_t *words = tamis__bloom_words(guava->filter, &count);
    uint32_t bits = 1; /* Arrays.hashCode(long[]) */
    for (size_t i = 0; i < count; i++)
        bits = polynomial(bits, (uint32_t)(words[i] ^ words[i] >> 32));
    uint32_t hash = polynomial(1, tamis_guava_hash_functions(guava));
    hash = polynomial(hash, (uint32_t)funnel_hash);
    hash = polynomial(hash, (uint32_t)strategy_hash);
    return (int32_t)polynomial(hash, bits);
}

/* ---- statistics ---- */

uint64_t tamis_guava_bit_size(const tamis_guava *guava) {
    return tamis_filter_plan(guava->filter)->bits;
}

uint32_t tamis_guava_hash_functions(const tamis_guava *guava) {
    return tamis_filter_plan(guava->filter)->probes;
}

uint64_t tamis_guava_bit_count(const tamis_guava *guava) {
    size_t count;
    uint64_t ones = 0;
    const uint64_t *words = tamis__bloom_words(guava->filter, &count);
    for (size_t i = 0; i < count; i++)
        ones += (uint64_t)__builtin_popcountll(words[i]);
    return ones;
}

double tamis_guava_expected_fpp(const tamis_guava *guava) {
    const double fill = (double)tamis_guava_bit_count(guava) / (double)tamis_guava_bit_size(guava);
    return pow(fill, tamis_guava_hash_functions(guava));
}

tamis_status tamis_guava_approximate_element_count(const tamis_guava *guava, int64_t *count,
                                                   tamis_error *err) {
    TAMIS__NEED(guava, err);
    TAMIS__NEED(count, err);
    double size = (double)tamis_guava_bit_size(guava), ones = (double)tamis_guava_bit_count(guava);
    if (ones == size)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "guava: all %g bits are set, so the number of elements is unknown; expect more "
                           "insertions",
                           size);
    double estimate = -log1p(-(ones / size)) * size / tamis_guava_hash_functions(guava);
    double whole = floor(estimate); /* floor(estimate + 0.5) could round up a number just below a half */
    *count = (int64_t)whole + (estimate - whole >= 0.5);
    return TAMIS_OK;
}
