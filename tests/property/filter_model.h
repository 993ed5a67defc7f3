/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_FILTER_MODEL_H
#define TAMIS_TEST_FILTER_MODEL_H

/*
 * Shared by the tests of filters: the kinds to test, keys made of numbers, hashes with chosen bits, and
 * bounds for counts of random events. Include after cmocka.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <tamis/tamis.h>

#include "support/scratch.h"

/* ---- how much ---- */

/* As test_scale, but ten times `full` at scale torture. */
static inline uint64_t model_scale(uint64_t full, uint64_t small) {
    return test_is_torture() ? 10 * full : test_scale(full, small, small);
}

/* True if sizes that take seconds are tested. */
static inline bool model_full(void) {
    return model_scale(1, 0) > 0;
}

/* The seed: TAMIS_TEST_SEED if it is set, a random one at scale torture, else the fallback. Prints it. */
static inline uint64_t model_seed(uint64_t fallback) {
    if (test_is_torture() && getrandom(&fallback, sizeof fallback, 0) != sizeof fallback)
        abort();
    uint64_t state = test_seed(fallback);
    return test_random(&state); /* consecutive seeds must not give consecutive keys */
}

/* ---- filters ---- */

typedef struct filter_case {
    const char *name;
    tamis_kind kind;
    tamis_scheme scheme;
    bool grows;
    double fpr;
} filter_case;

static const filter_case filter_cases[] = {
    {"classic xxh3", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, false, 0.01},
    {"classic sip", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_SIP, false, 0.03},
    {"classic guava64", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64, false, 0.01},
    {"blocked xxh3", TAMIS_KIND_BLOCKED, TAMIS_SCHEME_XXH3, false, 0.001},
    {"blocked sip", TAMIS_KIND_BLOCKED, TAMIS_SCHEME_SIP, false, 0.01},
    {"blocked guava64", TAMIS_KIND_BLOCKED, TAMIS_SCHEME_GUAVA64, false, 0.001},
    {"counting xxh3", TAMIS_KIND_COUNTING, TAMIS_SCHEME_XXH3, false, 0.01},
    {"fingerprint xxh3", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, false, 1e-4},
    {"fingerprint sip", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_SIP, false, 1e-6},
    {"fingerprint guava64", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_GUAVA64, false, 1e-9},
    {"fingerprint xxh3, growing", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, true, 1e-9},
    {"fingerprint guava64, growing", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_GUAVA64, true, 1e-6},
    {"exact sip", TAMIS_KIND_EXACT, TAMIS_SCHEME_SIP, false, 0},
    {"exact xxh3, growing", TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, true, 0},
    {"classic guava32", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA32, false, 0.01},
    {"classic bkdr31", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR31, false, 0.03},
    {"classic bkdr63", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR63, false, 1e-3},
    {"classic redisbloom", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_REDISBLOOM, false, 0.01},
    {"classic fnv-dcso", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_FNV_DCSO, false, 1e-4},
    {"classic redisson", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_REDISSON, false, 1e-3},
    {"fingerprint redisbloom, growing", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_REDISBLOOM, true, 1e-6},
};
enum { FILTER_CASES = sizeof filter_cases / sizeof *filter_cases };

static inline bool case_is_bloom(const filter_case *c) {
    return tamis_kind_is_bloom(c->kind);
}

/* True if the scheme makes a hash of each key. bkdr31 and bkdr63 hash a key once for each probe, and
 * poorly. */
static inline bool case_has_digest(const filter_case *c) {
    return tamis_scheme_digest_bits(c->scheme) > 0;
}

/* True if the positions are those of another program. At some small sizes they collapse, which cannot be
 * changed. */
static inline bool case_is_of_other_program(const filter_case *c) {
    return c->kind == TAMIS_KIND_CLASSIC && c->scheme >= TAMIS_SCHEME_GUAVA64;
}

static inline tamis_plan case_plan(const filter_case *c, uint64_t n, uint64_t memory) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_options.kind = c->kind;
    plan_options.scheme = c->scheme;
    plan_options.expect = c->grows ? 0 : n;
    plan_options.fpr = c->fpr;
    plan_options.memory = memory;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_plan_make(&plan, &plan_options, &err) != TAMIS_OK)
        fail_msg("%s, n = %" PRIu64 ": %s", c->name, n, err.text);
    return plan;
}

/* The plan of a table whose lines are divided into so many partitions. */
static inline tamis_plan plan_in_partitions(tamis_plan plan, uint32_t partitions) {
    plan.lines = (plan.lines + partitions - 1) / partitions * partitions;
    plan.partitions = partitions;
    return plan;
}

/* Makes the filter, with a secret if the scheme takes one. Tables with a capacity are frozen. */
static inline tamis_filter_options plan_options(const tamis_plan *plan) {
    static const char secret[] = "a secret for tests only, 32 bytes";
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    options.frozen =
        !tamis_kind_is_bloom(plan->kind) && plan->kind != TAMIS_KIND_CUCKOO && plan->capacity > 0;
    if (plan->scheme == TAMIS_SCHEME_SIP) {
        options.secret = secret;
        options.secret_size = sizeof secret - 1;
    }
    return options;
}

static inline tamis_filter *create_filter(const tamis_plan *plan, const tamis_filter_options *options) {
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_filter_create(&filter, plan, options, &err) != TAMIS_OK)
        fail_msg("%s: %s", tamis_kind_name(plan->kind), err.text);
    return filter;
}

static inline tamis_filter *plan_filter(const tamis_plan *plan, const tamis_allocator *allocator) {
    tamis_filter_options options = plan_options(plan);
    options.allocator = allocator;
    return create_filter(plan, &options);
}

static inline tamis_filter *case_filter(const filter_case *c, uint64_t n) {
    tamis_plan plan = case_plan(c, n, 0);
    return plan_filter(&plan, NULL);
}

static inline tamis_filter_info filter_info(const tamis_filter *filter) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_filter_info_get(filter, &info, NULL);
    return info;
}

/* ---- keys ---- */

enum { MODEL_BATCH = 1000, MODEL_KEY_MAX = 24 };

typedef struct model_batch {
    size_t count;
    uint64_t id[MODEL_BATCH];
    tamis_key key[MODEL_BATCH];
    tamis_answer answer[MODEL_BATCH];
    uint8_t bytes[MODEL_BATCH][MODEL_KEY_MAX];
} model_batch;

/* The key of a number: its 8 bytes, then 0 to 12 bytes computed from it, so that lengths differ. */
static inline void batch_put(model_batch *b, uint64_t id, uint64_t salt) {
    uint8_t *bytes = b->bytes[b->count];
    uint64_t text = id ^ salt;
    memcpy(bytes, &text, 8);
    memset(bytes + 8, (int)(id % 251), MODEL_KEY_MAX - 8);
    b->id[b->count] = id;
    b->key[b->count] = (tamis_key){bytes, 8 + (size_t)(id % 13)};
    b->count++;
}

/* Adds or looks up the keys of `count` numbers from `from` on, in batches. `answers` may be NULL. */
static inline void model_add_range(tamis_filter *filter, uint64_t from, uint64_t count, uint64_t salt,
                                   tamis_answer *answers) {
    static _Thread_local model_batch b;
    tamis_error err = TAMIS_ERROR_INIT;
    for (uint64_t start = 0; start < count; start += b.count) {
        b.count = 0;
        while (b.count < MODEL_BATCH && start + b.count < count)
            batch_put(&b, from + start + b.count, salt);
        if (tamis_filter_add_many(filter, b.key, b.count, b.answer, NULL, &err) != TAMIS_OK)
            fail_msg("after %" PRIu64 " keys: %s", start, err.text);
        if (answers)
            memcpy(answers + start, b.answer, b.count);
    }
}

/* Returns how many of these keys are answered TAMIS_PRESENT. */
static inline uint64_t model_count_present(const tamis_filter *filter, uint64_t from, uint64_t count,
                                           uint64_t salt) {
    static _Thread_local model_batch b;
    uint64_t present = 0;
    for (uint64_t start = 0; start < count; start += b.count) {
        b.count = 0;
        while (b.count < MODEL_BATCH && start + b.count < count)
            batch_put(&b, from + start + b.count, salt);
        tamis_filter_contains_many(filter, b.key, b.count, b.answer, NULL, NULL);
        for (size_t i = 0; i < b.count; i++)
            present += b.answer[i] == TAMIS_PRESENT;
    }
    return present;
}

/* ---- hashes ---- */

/* The hasher_id of hashes made for this filter. */
static inline uint64_t filter_hasher_id(const tamis_filter *filter) {
    tamis_key key = {"", 0};
    tamis_hash hash;
    tamis_hash_many(tamis_filter_hasher(filter), &key, 1, &hash, NULL);
    return hash.hasher_id;
}

/* Random hashes whose first `fixed` bits are 0. In a growing table the first 8 bits select the partition. So
 * with fixed = 8 all keys belong to one partition, which grows as if there were 256 times as many keys. */
static inline void random_hashes(tamis_hash *hashes, size_t count, uint64_t hasher_id, int fixed,
                                 uint64_t *state) {
    for (size_t i = 0; i < count; i++) {
        hashes[i].word[0] = test_random(state);
        hashes[i].word[1] = fixed ? test_random(state) >> fixed : test_random(state);
        hashes[i].hasher_id = hasher_id;
    }
}

/* ---- counts of random events ---- */

static inline bool within_sigmas(double got, double expected, double sigma, double sigmas) {
    return fabs(got - expected) <= sigmas * sigma;
}

/* Upper bound for a count of random events: 5 standard deviations above the expected number, and a few more,
 * for small numbers. */
static inline double max_events(double expected) {
    return expected + 5 * sqrt(expected) + (expected < 1e-7 ? 0 : 3);
}

#endif
