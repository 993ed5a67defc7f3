/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An audit looks up keys that are in the filter, and random keys that are not.
 *
 *     added keys --+--> filter: absent? a false negative
 *                  +--> sampler: what they look like (key_sampler.c)
 *                  '--> known: remembers them
 *
 *     sampler --> random key --> known: new? --yes--> filter: present? a false positive
 *                                   |no
 *                                   '--> dropped
 *
 * The added keys come once, so the caller may read them from a pipe.
 *
 * `known` is a filter of kind fingerprint that holds the added keys and all random keys so far. A random
 * key that it reports as present is dropped. So no added key counts as a false positive. No random key is
 * looked up twice, which would count a wrong answer twice. `known` has false positives too; they only drop
 * a random key.
 *
 * `known` must have another seed than the audited filter. With the same hash it would drop exactly those
 * random keys that the filter confuses with others, and the measured rate would be too low.
 *
 * How many lookups: HITS_WANTED expected hits give the rate a standard deviation of 2 %. A promise holds
 * for the average of all filters; a single filter may be above it. So a measured rate is held against the
 * promised rate p plus six standard deviations between filters with n keys (docs/MATH.md, "Measured
 * rates"):
 *
 *     classic and others    p (1 + 6 sqrt(log2(1/p)) / sqrt(n))
 *     blocked               p (1 + 6 * 2 p^-0.2 / sqrt(n)), because the few crowded blocks decide
 *
 * The verdict (tamis_audit_judge) has two rules for the rate p that must hold; f is the promised rate:
 *
 *                         an existing filter                 the trial of a plan
 *     p                   f, or f_predicted if <= 1.1 f      max(f, computed); over capacity: computed
 *     interval above p    doubtful                           no verdict: the interval is shown beside it
 *     interval above f    kept if rounding explains it       as computed, if the computed rate is above f
 *     unknown keys        undecided                          none: all keys were added by the trial
 *
 * A filter on disk has one promise, made by whoever built it, which may be another program. The verdict must
 * find a rate that positions of its scheme, or added keys, have raised. A trial asks if the formulas are
 * right, so a computed rate above the promise is what it expects.
 */
#include <inttypes.h>
#include <math.h>

#include <tamis/experimental/audit.h>

#include "base/memory.h"
#include "base/versioned.h"

#define ROUNDING 1.1 /* a computed rate above the promised one by this factor may come from rounding */

enum {
    BATCH = 256,
    HITS_WANTED = 2500, /* expected hits */
    HITS_TO_SEE = 3,    /* expected hits below which a verdict is "too rare" */
    QUERIES_MIN = 100000,
    QUERIES_MAX = 10000000,
    PROBES_MAX = 200000000, /* max. probes of all lookups */
    HASHES_MAX = 6400000    /* max. probes of all lookups if each probe has a hash of its own */
};

struct tamis_audit {
    tamis_allocator memory;
    const tamis_filter *filter; /* borrowed */
    tamis_filter *known;        /* checked keys and random keys so far */
    tamis_key_sampler *sampler;
    tamis_key_shape shape;
    tamis_audit_result result;
    tamis_key keys[BATCH];                                  /* batch of random keys */
    unsigned char bytes[BATCH][TAMIS_KEY_SAMPLER_SIZE_MAX]; /* bytes of these keys */
};

/* ---- creation ---- */

static tamis_status create_known(tamis_audit *audit, tamis_error *err) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    options.seed = UINT64_C(0x6b6e6f776e) ^ ~tamis_hasher_seed(tamis_filter_hasher(audit->filter));
    options.allocator = &audit->memory;
    plan_options.kind = TAMIS_KIND_FINGERPRINT;
    tamis_status status = tamis_plan_make(&plan, &plan_options, err);
    if (status == TAMIS_OK)
        status = tamis_filter_create(&audit->known, &plan, &options, err);
    return status;
}

tamis_status tamis_audit_create(tamis_audit **audit, const tamis_filter *filter,
                                const tamis_audit_options *options, tamis_error *err) {
    TAMIS__NEED(audit, err);
    TAMIS__NEED(filter, err);
    tamis_audit_options given = TAMIS_AUDIT_OPTIONS_INIT;
    tamis_status status = tamis__read_options(&given, sizeof given, options, "TAMIS_AUDIT_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    tamis_allocator memory = tamis__allocator_resolve(given.allocator);
    tamis_audit *made = tamis__alloc(&memory, sizeof *made, _Alignof(tamis_audit));
    if (!made)
        return tamis__fail_nomem(err, "audit", sizeof *made);
    made->memory = memory;
    made->filter = filter;
    made->shape = given.shape;
    made->result = (tamis_audit_result)TAMIS_AUDIT_RESULT_INIT;
    tamis_key_sampler_options sampler_options = TAMIS_KEY_SAMPLER_OPTIONS_INIT;
    sampler_options.shape = given.shape;
    sampler_options.seed = given.seed;
    sampler_options.allocator = given.allocator;
    status = tamis_key_sampler_create(&made->sampler, &sampler_options, err);
    if (status == TAMIS_OK)
        status = create_known(made, err);
    if (status != TAMIS_OK) {
        tamis_audit_free(made);
        return status;
    }
    *audit = made;
    return TAMIS_OK;
}

void tamis_audit_free(tamis_audit *audit) {
    if (!audit)
        return;
    tamis_allocator memory = audit->memory;
    tamis_filter_free(audit->known);
    tamis_key_sampler_free(audit->sampler);
    tamis__free(&memory, audit, sizeof *audit);
}

/* ---- lookups ---- */

/* Adds keys to `known`. Counts the distinct ones as it goes, so that a call may be repeated after a
 * failure. */
static tamis_status remember(tamis_audit *audit, const tamis_key *keys, size_t count, tamis_error *err) {
    tamis_answer answers[BATCH];
    while (count > 0) {
        size_t batch_size = count < BATCH ? count : BATCH, done = 0;
        const tamis_status status =
            tamis_filter_add_many(audit->known, keys, batch_size, answers, &done, err);
        for (size_t i = 0; i < done; i++)
            audit->result.distinct += answers[i] == TAMIS_ABSENT;
        if (status != TAMIS_OK)
            return status;
        keys += batch_size;
        count -= batch_size;
    }
    return TAMIS_OK;
}

tamis_status tamis_audit_check_keys(tamis_audit *audit, const tamis_key *keys, size_t count,
                                    tamis_answer *answers, tamis_error *err) {
    TAMIS__NEED(audit, err);
    TAMIS__NEED_IF(count, keys, err);
    TAMIS__NEED_IF(count, answers, err);
    tamis_status status = tamis_filter_contains_many(audit->filter, keys, count, answers, NULL, err);
    if (status == TAMIS_OK)
        status = remember(audit, keys, count, err);
    if (status != TAMIS_OK)
        return status;
    audit->result.keys += count;
    for (size_t i = 0; i < count; i++)
        audit->result.missing += answers[i] == TAMIS_ABSENT;
    tamis_key_sampler_add_many(audit->sampler, keys, count);
    return TAMIS_OK;
}

uint64_t tamis_audit_queries_left(const tamis_audit *audit) {
    uint64_t limit = UINT64_C(1) << 31, used = audit->result.keys + audit->result.queries;
    return audit->shape != TAMIS_KEY_SHAPE_INT32 ? UINT64_MAX : used < limit ? limit - used : 0;
}

/* Makes at most `wanted` random keys that are not known. If at least half are known, because their shapes
 * have too few keys, the next random keys are longer. */
static tamis_status make_keys(tamis_audit *audit, size_t wanted, size_t *count, tamis_error *err) {
    tamis_answer answers[BATCH];
    for (size_t i = 0; i < wanted; i++)
        audit->keys[i] =
            (tamis_key){audit->bytes[i], tamis_key_sampler_make(audit->sampler, audit->bytes[i])};
    const tamis_status status = tamis_filter_add_many(audit->known, audit->keys, wanted, answers, NULL, err);
    if (status != TAMIS_OK)
        return status;
    *count = 0;
    for (size_t i = 0; i < wanted; i++)
        if (answers[i] == TAMIS_ABSENT)
            audit->keys[(*count)++] = audit->keys[i];
    if (*count < wanted / 2 + 1)
        (void)tamis_key_sampler_widen(audit->sampler);
    return TAMIS_OK;
}

tamis_status tamis_audit_query_random(tamis_audit *audit, uint64_t max, tamis_error *err) {
    TAMIS__NEED(audit, err);
    tamis_answer answers[BATCH];
    tamis_status status = TAMIS_OK;
    size_t count = 0;
    if (max == 0 || max > tamis_audit_queries_left(audit))
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "audit: %" PRIu64 " random keys: not between 1 and %" PRIu64 "; look up fewer",
                           max, tamis_audit_queries_left(audit));
    while (status == TAMIS_OK && count == 0)
        status = make_keys(audit, max < BATCH ? (size_t)max : BATCH, &count, err);
    if (status == TAMIS_OK)
        status = tamis_filter_contains_many(audit->filter, audit->keys, count, answers, NULL, err);
    if (status != TAMIS_OK)
        return status;
    audit->result.queries += count;
    for (size_t i = 0; i < count; i++)
        audit->result.hits += answers[i] == TAMIS_PRESENT;
    return TAMIS_OK;
}

void tamis_audit_result_get(const tamis_audit *audit, tamis_audit_result *result) {
    tamis__write_struct(result, &audit->result, sizeof audit->result);
}

/* ---- what to expect of a rate ---- */

uint64_t tamis_audit_queries(const tamis_plan *plan, double rate) {
    const bool hash_per_probe = tamis_scheme_digest_bits(plan->scheme) == 0;
    const double work = hash_per_probe ? HASHES_MAX : PROBES_MAX;
    const double max = fmin(QUERIES_MAX, floor(work / fmax(1, plan->probes)));
    return (uint64_t)fmin(max, fmax(QUERIES_MIN, ceil(HITS_WANTED / rate)));
}

double tamis_audit_max_rate(const tamis_plan *plan, double rate, double keys) {
    const double spread = tamis_kind_is_bloom(plan->kind) && plan->kind != TAMIS_KIND_CLASSIC
                              ? 2 * pow(rate, -0.2)
                              : sqrt(fmax(1, -log2(rate)));
    if (!(rate > 0))
        return 0;
    return fmin(1, rate * (1 + 6 * spread / sqrt(fmax(1, keys))));
}

/* ---- the verdict ---- */

/* True if the hits are beyond chance at this rate. */
static bool exceeds_rate(const tamis_audit_evidence *evidence, double rate) {
    return tamis_rate_p_value(evidence->hits, evidence->queries, rate) < TAMIS_RATE_SIGNIFICANCE;
}

static bool is_too_rare(const tamis_audit_evidence *evidence, double rate) {
    return rate * (double)evidence->queries < HITS_TO_SEE;
}

/* True if the filter clearly holds other keys than the checked ones: `keys` exceeds them by more than five
 * standard deviations of an estimate. */
static bool holds_others(const tamis_audit_evidence *evidence) {
    return evidence->has_checked && isfinite(evidence->keys) &&
           evidence->keys > (double)evidence->checked + 5 * sqrt(evidence->keys);
}

static tamis_audit_verdict judge_by_promise(const tamis_plan *plan, const tamis_audit_evidence *evidence) {
    const bool rounded = plan->fpr_predicted > plan->fpr && plan->fpr_predicted <= ROUNDING * plan->fpr;
    const double rate = rounded ? plan->fpr_predicted : plan->fpr;
    /* An unknown number of keys allows the widest spread. */
    const double allowed = tamis_audit_max_rate(plan, rate, isfinite(evidence->keys) ? evidence->keys : 1);
    if (exceeds_rate(evidence, allowed)) {
        /* A computed rate that explains the hits shows that keys of the filter are not the cause. */
        const bool unexplained = exceeds_rate(evidence, fmax(allowed, ROUNDING * evidence->computed));
        return unexplained && holds_others(evidence) ? TAMIS_AUDIT_UNDECIDED : TAMIS_AUDIT_BROKEN;
    }
    if (evidence->low > rate)
        return TAMIS_AUDIT_DOUBTFUL;
    return is_too_rare(evidence, plan->fpr) ? TAMIS_AUDIT_TOO_RARE : TAMIS_AUDIT_KEPT;
}

static tamis_audit_verdict judge_by_computed(const tamis_plan *plan, const tamis_audit_evidence *evidence) {
    const bool over_capacity = plan->capacity > 0 && evidence->keys > (double)plan->capacity;
    const double promised = over_capacity ? evidence->computed : plan->fpr;
    const double rate = fmax(promised, evidence->computed);
    const double keys = isfinite(evidence->keys) ? evidence->keys : 1;
    if (exceeds_rate(evidence, tamis_audit_max_rate(plan, rate, keys)))
        return TAMIS_AUDIT_BROKEN;
    if (is_too_rare(evidence, promised))
        return TAMIS_AUDIT_TOO_RARE;
    const bool above = evidence->computed > promised && evidence->low > promised;
    return over_capacity || above ? TAMIS_AUDIT_AS_COMPUTED : TAMIS_AUDIT_KEPT;
}

tamis_status tamis_audit_judge(tamis_audit_verdict *verdict, const tamis_plan *plan,
                               const tamis_audit_evidence *given, tamis_error *err) {
    TAMIS__NEED(verdict, err);
    TAMIS__NEED(plan, err);
    tamis_audit_evidence evidence = TAMIS_AUDIT_EVIDENCE_INIT;
    tamis_status status =
        tamis__read_struct(&evidence, sizeof evidence, given, "TAMIS_AUDIT_EVIDENCE_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (evidence.hits > evidence.queries)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "audit: %" PRIu64 " hits: more than the %" PRIu64 " queries; correct the evidence",
                           evidence.hits, evidence.queries);
    if (evidence.rule != TAMIS_AUDIT_RULE_PROMISED && evidence.rule != TAMIS_AUDIT_RULE_COMPUTED)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "audit: rule %d: no such rule; see tamis/experimental/audit.h",
                           (int)evidence.rule);
    if (!(plan->fpr < 1))
        *verdict = TAMIS_AUDIT_NO_PROMISE;
    else if (evidence.rule == TAMIS_AUDIT_RULE_PROMISED)
        *verdict = judge_by_promise(plan, &evidence);
    else
        *verdict = judge_by_computed(plan, &evidence);
    return TAMIS_OK;
}
