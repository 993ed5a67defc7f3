/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_AUDIT_H
#define TAMIS_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/experimental/census.h>
#include <tamis/filter.h>
#include <tamis/key.h>
#include <tamis/plan.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * An audit measures a filter: are its keys present, and at which rate are other keys answered TAMIS_PRESENT?
 *
 *     tamis_audit_check_keys      each batch of the keys that were added
 *     tamis_audit_query_random    again, until result.queries is tamis_audit_queries(plan, rate)
 *     tamis_audit_result_get      missing: false negatives; hits: false positives
 *     tamis_rate_interval         the rates that fit the hits (tamis/plan.h)
 *     tamis_audit_judge           the verdict: does the filter keep its promise?
 *
 * The random keys look like the checked ones (tamis_key_sampler). None of them was checked, and none is
 * looked up twice. Without checked keys they are words or numbers. If not all keys of the filter are
 * checked, a random key may be one of the others, which is not a false positive.
 *
 * Threads: one at a time. This interface may change with every release.
 */
typedef struct tamis_audit tamis_audit;

typedef struct tamis_audit_options {
    uint32_t struct_size;
    tamis_key_shape shape;            /* shape of the keys */
    uint64_t seed;                    /* the same seed, shape and checked keys give the same random keys */
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_audit_options;

#define TAMIS_AUDIT_OPTIONS_INIT TAMIS__INIT(tamis_audit_options, )

/*
 * Creates an audit of a filter, which must outlive it. The caller owns *audit until tamis_audit_free.
 *
 * - options: NULL for the defaults.
 * - Memory: some 3 MiB, and about 5 bytes for each key that is checked or looked up.
 * - Errors of tamis_key_sampler_create and tamis_filter_create.
 */
TAMIS_API tamis_status tamis_audit_create(tamis_audit **audit, const tamis_filter *filter,
                                          const tamis_audit_options *options, tamis_error *err);
TAMIS_API void tamis_audit_free(tamis_audit *audit);

/*
 * Looks up keys that were added to the filter. answers[i] is TAMIS_ABSENT for a false negative, which no
 * filter may have: the key was never added, or was made in another way. Check all keys before the first
 * random one.
 *
 * On failure no key counts as checked, `answers` is undefined, and the call may be repeated. Errors of
 * tamis_filter_contains_many, and TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_audit_check_keys(tamis_audit *audit, const tamis_key *keys, size_t count,
                                              tamis_answer *answers, tamis_error *err);

/*
 * Looks up the next random keys: at least one, at most `max`, and at most some hundreds. Repeat the call
 * until the result has as many queries as were fixed beforehand: ending at a number of hits would bias the
 * rate.
 *
 * - TAMIS_E_RANGE: max is 0, or above tamis_audit_queries_left.
 * - On failure no key is counted. Errors of tamis_filter_contains_many, and TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_audit_query_random(tamis_audit *audit, uint64_t max, tamis_error *err);
/* Returns how many random keys can still be looked up. With shape INT32 it is half of all numbers, less
 * the keys so far, because random numbers would hardly be new any more. With other shapes it is
 * UINT64_MAX. */
TAMIS_API uint64_t tamis_audit_queries_left(const tamis_audit *audit);

typedef struct tamis_audit_result {
    uint32_t struct_size;
    uint64_t keys;     /* keys checked */
    uint64_t distinct; /* distinct keys among them, as a filter of rate 1e-9 counts them */
    uint64_t missing;  /* keys checked that were answered TAMIS_ABSENT: false negatives */
    uint64_t queries;  /* random keys looked up */
    uint64_t hits;     /* random keys answered TAMIS_PRESENT: false positives */
} tamis_audit_result;

#define TAMIS_AUDIT_RESULT_INIT TAMIS__INIT(tamis_audit_result, )

/* Returns the result so far. Start *result from TAMIS_AUDIT_RESULT_INIT. */
TAMIS_API void tamis_audit_result_get(const tamis_audit *audit, tamis_audit_result *result);

/* Returns the number of lookups that show the rate of a filter with this plan. It is as many as 2,500 hits
 * need, from 1e5 to 1e7, and fewer if they would take more than some seconds. */
TAMIS_API uint64_t tamis_audit_queries(const tamis_plan *plan, double rate);
/* Returns the highest rate of a single filter with so many keys that still keeps the promise `rate`. The
 * promise holds for the average of all filters; six standard deviations between filters are allowed
 * (docs/MATH.md, "Measured rates"). */
TAMIS_API double tamis_audit_max_rate(const tamis_plan *plan, double rate, double keys);

/* The verdict on a measured rate. "Beyond chance": the chance of so many hits is below
 * TAMIS_RATE_SIGNIFICANCE, even at tamis_audit_max_rate of the rate that must hold. */
typedef enum tamis_audit_verdict {
    TAMIS_AUDIT_NO_PROMISE,  /* the plan promises no rate */
    TAMIS_AUDIT_KEPT,        /* not above the rate that must hold, or not beyond chance */
    TAMIS_AUDIT_AS_COMPUTED, /* over capacity, or above the promised rate as computed; not beyond chance */
    TAMIS_AUDIT_TOO_RARE,    /* fewer than 3 hits were to be expected */
    TAMIS_AUDIT_DOUBTFUL,    /* the whole interval is above the rate that must hold, but not beyond chance */
    TAMIS_AUDIT_UNDECIDED,   /* beyond chance, but the hits may be keys of the filter that were not checked */
    TAMIS_AUDIT_BROKEN       /* beyond chance */
} tamis_audit_verdict;

/* The rate that must hold: the promised or the computed one. */
typedef enum tamis_audit_rule {
    /* The promise of an existing filter. The rate that must hold is plan->fpr. If plan->fpr_predicted is
     * above it by at most 10 %, another program has rounded the size, and fpr_predicted must hold.
     * Verdicts: all but AS_COMPUTED. */
    TAMIS_AUDIT_RULE_PROMISED,
    /* The trial of a plan whose computed rate is known to the reader. The rate that must hold is the higher
     * one of plan->fpr and `computed`; over capacity it is `computed`. All keys of the filter are known.
     * Verdicts: all but DOUBTFUL and UNDECIDED. */
    TAMIS_AUDIT_RULE_COMPUTED
} tamis_audit_rule;

/* The measurement, and facts about the filter. */
typedef struct tamis_audit_evidence {
    uint32_t struct_size;
    tamis_audit_rule rule;
    uint64_t queries; /* lookups of keys that were never added */
    uint64_t hits;    /* those answered TAMIS_PRESENT */
    double low;       /* low end of the interval that the caller shows, from tamis_rate_interval */
    double keys;      /* keys in the filter, counted or estimated; NaN or infinite: unknown */
    double computed;  /* computed rate with these keys, such as tamis_filter_info.fpr_live */
    uint64_t checked; /* distinct checked keys, if has_checked */
    bool has_checked; /* keys were checked, and the random keys look like them */
} tamis_audit_evidence;

#define TAMIS_AUDIT_EVIDENCE_INIT TAMIS__INIT(tamis_audit_evidence, )

/*
 * Finds the verdict on the rate of a filter with this plan. The two rules differ in substance: different
 * rates must hold, and RULE_PROMISED has verdicts for a filter of which less is known.
 *
 * - Verdicts are tried in this order: NO_PROMISE (plan->fpr is 1), BROKEN or UNDECIDED, then under
 *   RULE_PROMISED DOUBTFUL and TOO_RARE, under RULE_COMPUTED TOO_RARE and AS_COMPUTED, then KEPT.
 * - UNDECIDED needs `keys` more than five standard deviations above `checked`, and hits beyond chance even
 *   at 1.1 times `computed`.
 * - Source of the formulas: docs/MATH.md, "Measured rates".
 * - TAMIS_E_RANGE: more hits than queries. TAMIS_E_INVALID: *evidence has no struct_size, or its rule does
 *   not exist. *verdict is unchanged on failure.
 *
 * Any thread may call it. Cost: arithmetic only.
 */
TAMIS_API tamis_status tamis_audit_judge(tamis_audit_verdict *verdict, const tamis_plan *plan,
                                         const tamis_audit_evidence *evidence, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif
