/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds classic and blocked: m bits, k probes a key, in 64-bit words, bit i being bit i & 63 of word i >> 6
 * (as Guava keeps them). They differ only in where the k positions are:
 *
 *   classic: anywhere in the m bits, as the key's scheme says (hash/positions.h).
 *   blocked: in one block of 512, a cache line (kernels/filter_scalar.c). Blocks get unequal numbers of
 *            keys, Poisson distributed, which costs bits: the plan accounts for it (docs/MATH.md).
 */
#include <math.h>
#include <string.h>

#include "filter/filter_int.h"
#include "hash/positions.h"

enum { BLOCK_WORDS = 8, BATCH = 64 };

typedef struct bloom {
    uint64_t *words;
    size_t bytes;
    uint64_t bits;
    uint32_t probes;
    bool guava;            /* positions of scheme guava64 */
    uint64_t most_fresh;   /* "fresh" answers after which it is full */
    uint64_t united_added; /* filter->added after the last union, */
    double united_false;   /* and the false "seen" of both until then */
    double (*rate)(double n, double m, double k);
} bloom;

/* The sum of the rates at 0, 1, ... keys offered, which is the area under the rate's curve (Simpson's rule). */
static double rate_area(const bloom *b, double offered) {
    enum { STEPS = 32 };
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        sum += weight * b->rate(offered * i / STEPS, (double)b->bits, b->probes);
    }
    return sum * offered / (3 * STEPS);
}

/* Adds of a filter never united that were answered "seen" though fresh, when so many were answered "fresh". Their
 * bits are set too, so the rate follows the number of keys offered, which is that of the added and these: found by
 * repetition, each step of which is off by less than the rate times the one before. */
static double false_fresh_at(const bloom *b, uint64_t added) {
    double mistaken = 0, before = -1;
    for (int step = 0; step < 20 && mistaken - before > 1e-3; step++) {
        before = mistaken;
        mistaken = rate_area(b, (double)added + mistaken);
    }
    return mistaken;
}

static double false_fresh(const tamis_filter *filter) {
    const bloom *b = filter->body;
    return b->united_false + false_fresh_at(b, filter->added) - false_fresh_at(b, b->united_added);
}

/* "Fresh" answers to expect of as many different keys as the filter was made for: some of them are taken for seen.
 * Five standard deviations more, so that those keys themselves are not refused. */
static uint64_t most_fresh(const bloom *b, uint64_t capacity) {
    double mistaken = rate_area(b, (double)capacity);
    double most = ceil((double)capacity - mistaken + 5 * sqrt(mistaken));
    return most < (double)capacity ? (uint64_t)most : capacity;
}

static tamis_status create(tamis_filter *filter, tamis_error *err) {
    const tamis_plan *plan = &filter->plan;
    bloom *b = tamis__alloc(&filter->allocator, sizeof *b, _Alignof(bloom));
    if (!b)
        return tamis__fail_nomem(err, "filter", sizeof *b);
    filter->body = b;
    b->bits = plan->bits;
    b->probes = plan->probes;
    b->guava = tamis_hasher_scheme(filter->hasher) == TAMIS_SCHEME_GUAVA64;
    b->rate = plan->kind == TAMIS_KIND_CLASSIC ? tamis_bloom_fpr : tamis_blocked_fpr;
    b->most_fresh = most_fresh(b, plan->capacity);
    b->bytes = (size_t)(plan->bits / 8);
    b->words = tamis__filter_alloc(filter, b->bytes);
    return b->words ? TAMIS_OK : tamis__fail_nomem(err, "filter", b->bytes);
}

static void destroy(tamis_filter *filter) {
    bloom *b = filter->body;
    if (!b)
        return;
    if (b->words)
        tamis__filter_release(filter, b->words, b->bytes);
    tamis__free(&filter->allocator, b, sizeof *b);
    filter->body = NULL;
}

static void clear(tamis_filter *filter) {
    bloom *b = filter->body;
    memset(b->words, 0, b->bytes);
    b->united_added = 0;
    b->united_false = 0;
}

static bool test_bit(const uint64_t *words, uint64_t position) {
    return words[position >> 6] >> (position & 63) & 1;
}

static void set_bit(uint64_t *words, uint64_t position) {
    words[position >> 6] |= UINT64_C(1) << (position & 63);
}

/* ---- classic ---- */

static inline uint64_t classic_position(const bloom *b, tamis__probe *probe) {
    return b->guava ? tamis__probe_guava64(probe, b->bits) : tamis__probe_shift(probe, b->bits);
}

/* Every BATCH keys, prefetches the words of the BATCH from key i on. */
static inline void classic_prefetch_batch(const bloom *b, const tamis_hash *hashes, size_t i, size_t count) {
    if (i % BATCH)
        return;
    for (size_t j = i; j < count && j < i + BATCH; j++) {
        tamis__probe probe = tamis__probe_first(&hashes[j]);
        for (uint32_t k = 0; k < b->probes; k++)
            tamis__prefetch(&b->words[classic_position(b, &probe) >> 6]);
    }
}

static bool classic_find(const bloom *b, const tamis_hash *hash) {
    tamis__probe probe = tamis__probe_first(hash);
    for (uint32_t i = 0; i < b->probes; i++)
        if (!test_bit(b->words, classic_position(b, &probe)))
            return false;
    return true;
}

static void classic_set(bloom *b, const tamis_hash *hash) {
    tamis__probe probe = tamis__probe_first(hash);
    for (uint32_t i = 0; i < b->probes; i++)
        set_bit(b->words, classic_position(b, &probe));
}

static tamis_status classic_add(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                tamis_answer *answers, size_t *done, tamis_error *err) {
    bloom *b = filter->body;
    for (size_t i = 0; i < count; i++) {
        classic_prefetch_batch(b, hashes, i, count);
        if (classic_find(b, &hashes[i])) {
            answers[i] = TAMIS_SEEN;
            continue;
        }
        if (filter->added >= b->most_fresh) {
            *done = i; /* its answer stays untouched */
            return tamis__filter_full(filter, TAMIS__FULL_CAPACITY, err);
        }
        answers[i] = TAMIS_FRESH;
        classic_set(b, &hashes[i]);
        filter->added++;
    }
    *done = count;
    return TAMIS_OK;
}

static void classic_contains(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                             tamis_answer *answers) {
    const bloom *b = filter->body;
    for (size_t i = 0; i < count; i++) {
        classic_prefetch_batch(b, hashes, i, count);
        answers[i] = classic_find(b, &hashes[i]) ? TAMIS_SEEN : TAMIS_FRESH;
    }
}

/* ---- blocked ---- */

static tamis__blocks blocks_of(const bloom *b) {
    return (tamis__blocks){b->words, b->bits / (64 * BLOCK_WORDS), b->probes};
}

static tamis_status blocked_add(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                tamis_answer *answers, size_t *done, tamis_error *err) {
    const bloom *b = filter->body;
    tamis__blocks blocks = blocks_of(b);
    uint64_t room = b->most_fresh > filter->added ? b->most_fresh - filter->added : 0, before = room;
    *done = filter->kernels->blocked_add(&blocks, hashes, count, &room, answers);
    filter->added += before - room;
    return *done == count ? TAMIS_OK : tamis__filter_full(filter, TAMIS__FULL_CAPACITY, err);
}

static void blocked_contains(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                             tamis_answer *answers) {
    tamis__blocks blocks = blocks_of(filter->body);
    filter->kernels->blocked_contains(&blocks, hashes, count, answers);
}

/* ---- estimates ---- */

static uint64_t line_ones(const uint64_t *words) {
    uint64_t ones = 0;
    for (int i = 0; i < BLOCK_WORDS; i++)
        ones += (uint64_t)__builtin_popcountll(words[i]);
    return ones;
}

static void classic_estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const bloom *b = filter->body;
    double m = (double)b->bits, k = b->probes, ones = 0;
    for (uint64_t i = 0; i < b->bits / 64; i++)
        ones += (double)__builtin_popcountll(b->words[i]);
    info->fpr_live = pow(ones / m, k);
    info->cardinality = tamis_bloom_cardinality(ones, m, k);
    info->false_fresh = false_fresh(filter);
}

/* A block is a Bloom filter of its own, so its rate and keys are, and the filter's are their mean and sum.
 * A block whose bits are all set tells no number; it counts as one with one bit left. */
static void blocked_estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const bloom *b = filter->body;
    const double m = 64 * BLOCK_WORDS, k = b->probes;
    uint64_t histogram[64 * BLOCK_WORDS + 1] = {0}, blocks = b->bits / (64 * BLOCK_WORDS);
    for (uint64_t i = 0; i < blocks; i++)
        histogram[line_ones(b->words + i * BLOCK_WORDS)]++;
    for (int ones = 1; ones <= 64 * BLOCK_WORDS; ones++) {
        double some = (double)histogram[ones];
        info->fpr_live += some * pow(ones / m, k) / (double)blocks;
        info->cardinality += some * tamis_bloom_cardinality(fmin(ones, m - 1), m, k);
    }
    info->false_fresh = false_fresh(filter);
}

static void unite(tamis_filter *into, const tamis_filter *from) {
    bloom *to = into->body;
    const bloom *other = from->body;
    double mistaken = false_fresh(into) + false_fresh(from);
    for (uint64_t i = 0; i < to->bits / 64; i++)
        to->words[i] |= other->words[i];
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    into->ops->estimate(into, &info);
    /* Keys in both are counted once: the bits say how many were offered, at most all; less those of them that one
     * filter would have taken for seen, and at least what either held. */
    uint64_t most = into->added > from->added ? into->added : from->added;
    double sum = (double)into->added + (double)from->added;
    double offered = fmin(info.cardinality, sum + mistaken);
    into->added = (uint64_t)fmin(fmax(offered - rate_area(to, offered), (double)most), sum);
    to->united_added = into->added;
    to->united_false = mistaken;
    into->saturated = into->saturated || from->saturated || into->added > to->most_fresh;
}

const struct tamis__filter_ops tamis__classic_ops = {
    .create = create,
    .destroy = destroy,
    .add = classic_add,
    .contains = classic_contains,
    .estimate = classic_estimate,
    .clear = clear,
    .unite = unite,
};

const struct tamis__filter_ops tamis__blocked_ops = {
    .create = create,
    .destroy = destroy,
    .add = blocked_add,
    .contains = blocked_contains,
    .estimate = blocked_estimate,
    .clear = clear,
    .unite = unite,
};
