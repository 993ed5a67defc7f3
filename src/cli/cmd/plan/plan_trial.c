/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trial measures the false-positive rate of one filter.
 *
 *     keys 1 to n      --add-->     filter
 *     keys after n     --lookup-->  filter --> "seen": a hit
 *
 * No key after n was added, so each hit is a false positive. Numbers and addresses never repeat. Words do, so
 * `known`, an exact filter, drops repeated words among the added keys, and added words among the lookups.
 *
 * Keys and hashes are fixed, so every run gives the same result. The number of lookups is fixed before the
 * first one: tamis_audit_queries.
 *
 * tamis_audit_judge finds the verdict, by the promised rate or, if that is higher or the filter is over
 * capacity, by the computed one. docs/MATH.md, "Measured rates", has the derivation.
 */
#include "cli/cmd/plan/plan_trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/audit.h>
#include <tamis/filter.h>

#include "cli/cli.h"
#include "cli/cmd/gen/gen_record.h"

enum {
    BATCH = 256,
    KEY_MAX = 112 /* max. bytes of an address and its newline */
};

/* Key of scheme sip. It is public, so that every run gives the same result. */
static const char fixed_secret[] = "tamis plan --measure";

typedef struct key_stream {
    trial_keys form;
    gen_source source;
    uint64_t next;       /* number of the next key */
    tamis_filter *known; /* exact filter of the added words; NULL: keys never repeat */
    tamis_key keys[BATCH];
    char text[BATCH][KEY_MAX];
} key_stream;

const char *trial_keys_name(trial_keys keys) {
    static const char *const names[] = {
        [TRIAL_NUMBERS] = "numbers", [TRIAL_WORDS] = "words", [TRIAL_URLS] = "urls"};
    return names[keys];
}

static size_t put_number(uint64_t number, char *pos) {
    char digits[20];
    size_t used = sizeof digits, size;

    do {
        digits[--used] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    size = sizeof digits - used;
    memcpy(pos, digits + used, size);
    return size;
}

static size_t make_key(const key_stream *stream, uint64_t index, char *pos) {
    switch (stream->form) {
    case TRIAL_WORDS:
        return (size_t)(gen_word(&stream->source, index, pos) - pos) - 1;
    case TRIAL_URLS:
        return (size_t)(gen_url(&stream->source, index, pos) - pos) - 1;
    case TRIAL_NUMBERS:
        break;
    }
    return put_number(index + 1, pos);
}

/* Removes known keys from the first *count keys. With `learn` the remaining keys become known. */
static tamis_status keep_unknown(key_stream *stream, size_t *count, bool learn, tamis_error *err) {
    tamis_answer answers[BATCH];
    tamis_status status =
        learn ? tamis_filter_add_many(stream->known, stream->keys, *count, answers, NULL, err)
              : tamis_filter_contains_many(stream->known, stream->keys, *count, answers, NULL, err);
    size_t kept = 0;

    if (status != TAMIS_OK)
        return status;
    for (size_t i = 0; i < *count; i++)
        if (answers[i] == TAMIS_ABSENT)
            stream->keys[kept++] = stream->keys[i];
    *count = kept;
    return TAMIS_OK;
}

/* Makes the next keys, at least one and at most `wanted`. */
static tamis_status next_keys(key_stream *stream, uint64_t wanted, bool learn, size_t *count,
                              tamis_error *err) {
    tamis_status status = TAMIS_OK;

    *count = 0;
    while (*count == 0 && status == TAMIS_OK) {
        *count = wanted < BATCH ? (size_t)wanted : BATCH;
        for (size_t i = 0; i < *count; i++) {
            stream->keys[i].data = stream->text[i];
            stream->keys[i].size = make_key(stream, stream->next++, stream->text[i]);
        }
        if (stream->known)
            status = keep_unknown(stream, count, learn, err);
    }
    return status;
}

static tamis_status fill_filter(tamis_filter *filter, key_stream *stream, uint64_t added, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    size_t count;

    for (uint64_t done = 0; done < added && status == TAMIS_OK; done += count) {
        status = next_keys(stream, added - done, true, &count, err);
        if (status == TAMIS_OK)
            status = tamis_filter_add_many(filter, stream->keys, count, NULL, NULL, err);
    }
    return status;
}

static tamis_status query_keys(const tamis_filter *filter, key_stream *stream, uint64_t queries,
                               uint64_t *hits, tamis_error *err) {
    tamis_answer answers[BATCH];
    tamis_status status = TAMIS_OK;
    size_t count;

    for (uint64_t done = 0; done < queries && status == TAMIS_OK; done += count) {
        status = next_keys(stream, queries - done, false, &count, err);
        if (status == TAMIS_OK)
            status = tamis_filter_contains_many(filter, stream->keys, count, answers, NULL, err);
        for (size_t i = 0; i < count && status == TAMIS_OK; i++)
            *hits += answers[i] == TAMIS_PRESENT;
    }
    return status;
}

static tamis_status open_stream(key_stream *stream, const plan_trial *trial, tamis_error *err) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan exact = TAMIS_PLAN_INIT;

    stream->form = trial->keys;
    stream->next = 0;
    stream->known = NULL;
    gen_source_init(&stream->source, 0, 0);
    if (trial->keys != TRIAL_WORDS)
        return TAMIS_OK;
    plan_options.kind = TAMIS_KIND_EXACT;
    plan_options.expect = trial->added;
    tamis_status status = tamis_plan_make(&exact, &plan_options, err);
    if (status == TAMIS_OK)
        status = tamis_filter_create(&stream->known, &exact, NULL, err);
    return status;
}

bool plan_trial_is_over_capacity(const plan_trial *trial) {
    return trial->plan.capacity > 0 && trial->added > trial->plan.capacity;
}

bool plan_trial_is_claim(const plan_trial *trial) {
    return !tamis_scheme_is_uniform(trial->plan.scheme);
}

static double compute(const plan_trial *trial) {
    double n = (double)trial->added, m = (double)trial->plan.bits, k = trial->plan.probes;

    if (trial->plan.fpr_predicted > 0 && !plan_trial_is_over_capacity(trial))
        return trial->plan.fpr_predicted;
    if (trial->plan.kind == TAMIS_KIND_CLASSIC)
        return tamis_bloom_fpr(n, m, k);
    if (trial->plan.kind == TAMIS_KIND_BLOCKED)
        return tamis_blocked_fpr(n, m, k);
    if (trial->plan.kind == TAMIS_KIND_COUNTING)
        return tamis_counting_fpr(n, m, k);
    return trial->plan.fpr_predicted;
}

/* The text of a verdict. A claim that does not hold is missed, since tamis did not make it. */
static const char *verdict_name(tamis_audit_verdict verdict, bool is_claim) {
    switch (verdict) {
    case TAMIS_AUDIT_BROKEN:
        return is_claim ? "missed" : "broken";
    case TAMIS_AUDIT_TOO_RARE:
        return "too rare";
    case TAMIS_AUDIT_AS_COMPUTED:
        return "as computed";
    case TAMIS_AUDIT_NO_PROMISE: /* no trial has these three */
    case TAMIS_AUDIT_DOUBTFUL:
    case TAMIS_AUDIT_UNDECIDED:
    case TAMIS_AUDIT_KEPT:
        break;
    }
    return "kept";
}

tamis_status plan_trial_judge(plan_trial *trial, tamis_error *err) {
    tamis_audit_evidence evidence = TAMIS_AUDIT_EVIDENCE_INIT;
    const bool is_claim = plan_trial_is_claim(trial);
    tamis_audit_verdict verdict;

    tamis_rate_interval(&trial->low, &trial->high, trial->hits, trial->queries, 0.95);
    evidence.rule = TAMIS_AUDIT_RULE_COMPUTED;
    evidence.queries = trial->queries;
    evidence.hits = trial->hits;
    evidence.low = trial->low;
    evidence.keys = (double)trial->added;
    evidence.computed = trial->computed;
    const tamis_status status = tamis_audit_judge(&verdict, &trial->plan, &evidence, err);
    if (status != TAMIS_OK)
        return status;
    trial->broken = verdict == TAMIS_AUDIT_BROKEN && !is_claim;
    trial->verdict = verdict_name(verdict, is_claim);
    return TAMIS_OK;
}

tamis_status plan_trial_run(plan_trial *trial, tamis_error *err) {
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    key_stream *stream = malloc(sizeof *stream);
    tamis_filter *filter = NULL;
    uint64_t hits = 0;

    if (!stream) {
        cli_fail_nomem("plan", err);
        return err->status;
    }
    trial->computed = compute(trial);
    trial->queries = tamis_audit_queries(&trial->plan, trial->computed);
    options.allow_over_capacity = plan_trial_is_over_capacity(trial);
    if (trial->plan.scheme == TAMIS_SCHEME_SIP) {
        options.secret = fixed_secret;
        options.secret_size = sizeof fixed_secret - 1;
    }
    tamis_status status = open_stream(stream, trial, err);
    if (status == TAMIS_OK)
        status = tamis_filter_create(&filter, &trial->plan, &options, err);
    if (status == TAMIS_OK)
        status = fill_filter(filter, stream, trial->added, err);
    if (status == TAMIS_OK)
        status = query_keys(filter, stream, trial->queries, &hits, err);
    if (status == TAMIS_OK) {
        trial->hits = hits;
        status = plan_trial_judge(trial, err);
    }
    tamis_filter_free(filter);
    tamis_filter_free(stream->known);
    free(stream);
    return status;
}
