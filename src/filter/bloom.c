/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds classic and blocked: m bits, k probes a key, in 64-bit words, bit i being bit i & 63 of word i >> 6
 * (as Guava keeps them). They differ only in where the k positions are:
 *
 *   classic: anywhere in the m bits, as the key's scheme says (hash/positions.h).
 *   blocked: in one block of 512, a cache line (kernels/filter_blocked.h). Blocks get unequal numbers of
 *            keys, Poisson distributed, which costs bits: the plan accounts for it (docs/MATH.md).
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/system.h"
#include "filter/filter_int.h"
#include "filter/guard.h"
#include "filter/line_count.h"
#include "hash/positions.h"
#include "plan/plan_int.h"

enum {
    BLOCK_WORDS = 8,
    BATCH = 64,
    POSITIONS = 1024 /* that classic keeps at once: 8 KiB of stack */
};

typedef struct bloom {
    uint64_t *words;
    size_t bytes;  /* whole words */
    uint64_t bits; /* m: any number for classic, in the last word the bits past it stay zero */
    uint32_t probes;
    tamis__span span;      /* of m */
    bool borrowed;         /* the words are those of an image */
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

double tamis__bloom_false_fresh(const tamis_filter *filter) {
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

/* Some plans are made by hand, to match another program's filter. */
static tamis_status check_plan(const tamis_plan *plan, tamis_error *err) {
    bool blocked = plan->kind == TAMIS_KIND_BLOCKED;
    if (plan->bits < 1 || plan->bits > TAMIS_BITS_MAX || plan->probes < 1 ||
        plan->probes > TAMIS_PROBES_MAX || (blocked && plan->bits % (64 * BLOCK_WORDS)))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "plan: %" PRIu64 " bits and %" PRIu32
                           " probes are none of kind %s; call tamis_plan_make first",
                           plan->bits, plan->probes, tamis_kind_name(plan->kind));
    return TAMIS_OK;
}

/* All but the words. */
static tamis_status create_empty(tamis_filter *filter, bloom **made, tamis_error *err) {
    const tamis_plan *plan = &filter->plan;
    tamis_status status = check_plan(plan, err);
    if (status != TAMIS_OK)
        return status;
    bloom *b = tamis__alloc(&filter->allocator, sizeof *b, _Alignof(bloom));
    if (!b)
        return tamis__fail_nomem(err, "filter", sizeof *b);
    filter->body = b;
    b->bits = plan->bits;
    b->span = tamis__span_of(plan->bits);
    b->probes = plan->probes;
    b->rate = plan->kind == TAMIS_KIND_CLASSIC ? tamis_bloom_fpr : tamis_blocked_fpr;
    b->most_fresh = most_fresh(b, plan->capacity);
    b->bytes = (size_t)((plan->bits + 63) / 64 * 8);
    *made = b;
    return TAMIS_OK;
}

static tamis_status create(tamis_filter *filter, tamis_error *err) {
    bloom *b = NULL;
    tamis_status status = create_empty(filter, &b, err);
    if (status != TAMIS_OK)
        return status;
    b->words = tamis__filter_alloc(filter, b->bytes);
    return b->words ? TAMIS_OK : tamis__fail_nomem(err, "filter", b->bytes);
}

static void destroy(tamis_filter *filter) {
    bloom *b = filter->body;
    if (!b)
        return;
    if (b->words && !b->borrowed)
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

static tamis_status copy(tamis_filter *to, const tamis_filter *from, tamis_error *err) {
    (void)err; /* all its memory was taken when it was created */
    bloom *mine = to->body;
    const bloom *other = from->body;
    tamis__advise_large(mine->words, mine->bytes);
    memcpy(mine->words, other->words, mine->bytes);
    mine->united_added = other->united_added;
    mine->united_false = other->united_false;
    return TAMIS_OK;
}

const uint64_t *tamis__bloom_words(const tamis_filter *filter, size_t *count) {
    const bloom *b = filter->body;
    *count = b->bytes / 8;
    return b->words;
}

static bool part(const tamis_filter *filter, size_t i, tamis__part *out) {
    const bloom *b = filter->body;
    if (i > 0)
        return false;
    *out = (tamis__part){(const uint8_t *)b->words, b->bytes, 0, 0};
    return true;
}

/* The body of an image is the words, and zeros to a whole line. */
static tamis_status restore(tamis_filter *filter, const tamis__image *image, tamis_error *err) {
    bloom *b = NULL;
    tamis_status status = create_empty(filter, &b, err);
    if (status != TAMIS_OK)
        return status;
    uint64_t needed = (b->bytes + TAMIS__LINE - 1) / TAMIS__LINE * TAMIS__LINE;
    if (image->body_size != needed)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: body_size is %" PRIu64 ", not the %" PRIu64 " that %" PRIu64
                           " bits take; restore the file from a copy, or build it anew",
                           image->name, image->body_size, needed, b->bits);
    b->borrowed = true;
    b->words = (uint64_t *)(uintptr_t)image->body; /* written only where tamis__filter_own was called */
    b->united_added = image->united_added;
    b->united_false = image->united_false;
    return TAMIS_OK;
}

bool tamis__bloom_valid(const void *context, const uint8_t *bytes, uint64_t size) {
    const bloom *b = context;
    const uint8_t *end = (const uint8_t *)b->words + b->bytes;
    if (bytes + size < end)
        return true;
    uint64_t last = b->words[b->bytes / 8 - 1], used = b->bits % 64;
    if (used && last >> used)
        return false;
    for (const uint8_t *at = end; at < bytes + size; at++)
        if (*at)
            return false;
    return true;
}

double tamis__bloom_united(const tamis_filter *filter, uint64_t *added) {
    const bloom *b = filter->body;
    *added = b->united_added;
    return b->united_false;
}

uint64_t *tamis__bloom_words_mut(tamis_filter *filter, size_t *count) {
    const bloom *b = filter->body;
    *count = b->bytes / 8;
    return b->words;
}

/* Keys that were answered fresh, by what is set: those offered but for the ones taken for seen. All bits set tell no
 * number; that counts as one bit left. */
static uint64_t fresh_by_bits(const tamis_filter *filter) {
    const bloom *b = filter->body;
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    filter->ops->estimate(filter, &info);
    double most = tamis_bloom_cardinality((double)(b->bits - 1), (double)b->bits, b->probes);
    double offered = fmin(info.cardinality, most);
    return (uint64_t)fmax(round(offered - rate_area(b, offered)), info.ones > 0);
}

/*
 * Standard deviation of the number of keys that the bits tell of n. With load x = n k / m it is sqrt(m (e^x - 1 - x)) / k for
 * classic: that of the bits left unset, by their derivative. Blocks of S bits, of which there are B, get L = n / B keys on
 * the mean; a key leaves one bit of its block unset with chance 1 - u, two of them with 1 - v, and so of all bits unset, Z,
 *
 *     Var Z = B S (e^(-L u) + (S - 1) e^(-L v) - S e^(-2 L u) (1 + L u^2)),   dZ/dn = -S u e^(-L u)
 */
static double estimate_deviation(const tamis_filter *filter, double n) {
    const double m = (double)filter->plan.bits, k = filter->plan.probes, s = 64 * BLOCK_WORDS;
    if (filter->plan.kind == TAMIS_KIND_CLASSIC)
        return sqrt(m * (expm1(n * k / m) - n * k / m)) / k;
    const double load = n * s / m, u = 1 - pow(1 - 1 / s, k), v = 1 - pow(1 - 2 / s, k);
    const double one = exp(-load * u), two = exp(-load * v);
    return sqrt(fmax(m * (one + (s - 1) * two - s * one * one * (1 + load * u * u)), 0)) / (s * u * one);
}

void tamis__bloom_filled(tamis_filter *filter, uint64_t added) {
    const bloom *b = filter->body;
    filter->added = added == TAMIS__ADDED_BY_BITS ? fresh_by_bits(filter) : added;
    filter->saturated = filter->added > b->most_fresh;
}

/* Whether bits that tell of so many keys leave no doubt that the capacity is passed. */
static bool is_past_doubt(const tamis_filter *filter) {
    const bloom *b = filter->body;
    const double off = estimate_deviation(filter, (double)filter->plan.capacity);
    return (double)filter->added > (double)b->most_fresh + 5 * off;
}

void tamis__bloom_filled_about(tamis_filter *filter) {
    tamis__bloom_filled(filter, TAMIS__ADDED_BY_BITS);
    filter->saturated = is_past_doubt(filter);
}

/* "Fresh" answers that may still be given. */
static uint64_t room_left(const tamis_filter *filter) {
    const bloom *b = filter->body;
    if (filter->overfill || filter->overfill_here)
        return UINT64_MAX;
    return b->most_fresh > filter->added ? b->most_fresh - filter->added : 0;
}

/* Takes note of `fresh` answers more. */
static void count_fresh(tamis_filter *filter, uint64_t fresh) {
    const bloom *b = filter->body;
    filter->added += fresh;
    filter->saturated = filter->saturated || filter->added > b->most_fresh;
}

static bool test_bit(const uint64_t *words, uint64_t position) {
    return words[position >> 6] >> (position & 63) & 1;
}

static void set_bit(uint64_t *words, uint64_t position) {
    words[position >> 6] |= UINT64_C(1) << (position & 63);
}

/* ---- classic ---- */

/* Keys as they are asked: hashed, or, where the scheme has no digest, themselves. */
typedef struct asked {
    const tamis_hash *hashes; /* NULL: keys */
    const tamis_key *keys;
} asked;

static size_t classic_batch(const bloom *b) {
    size_t most = POSITIONS / b->probes;
    return most < BATCH ? most : BATCH;
}

/* The first `probes` positions of key i; the words of those from number `seen` on are prefetched. */
static void classic_locate_key(const tamis_filter *filter, asked what, size_t i, uint32_t seen,
                               uint32_t probes, uint64_t *positions) {
    const bloom *b = filter->body;
    if (what.hashes)
        tamis__positions_in(filter->hasher->scheme, what.hashes[i].word, b->span, probes, positions);
    else
        tamis__hasher_positions(filter->hasher, &what.keys[i], b->bits, probes, positions);
    for (uint32_t k = seen; k < probes; k++)
        tamis__prefetch(&b->words[positions[k] >> 6]);
}

/* All positions of `count` keys from key `from` on, at most a batch. */
static void classic_locate(const tamis_filter *filter, asked what, size_t from, size_t count,
                           uint64_t positions[POSITIONS]) {
    const bloom *b = filter->body;
    for (size_t i = 0; i < count; i++)
        classic_locate_key(filter, what, from + i, 0, b->probes, positions + i * b->probes);
}

static tamis_status classic_touch_asked(const tamis_filter *filter, asked what, size_t count,
                                        tamis_error *err) {
    const bloom *b = filter->body;
    uint64_t positions[POSITIONS];
    size_t batch = classic_batch(b);
    for (size_t from = 0; from < count; from += batch) {
        size_t some = count - from < batch ? count - from : batch;
        classic_locate(filter, what, from, some, positions);
        for (size_t i = 0; i < some * b->probes; i++) {
            tamis_status status = tamis__guard_touch(filter->guard, &b->words[positions[i] >> 6], err);
            if (status != TAMIS_OK)
                return status;
        }
    }
    return TAMIS_OK;
}

static bool classic_find(const bloom *b, const uint64_t *positions, uint32_t probes) {
    for (uint32_t i = 0; i < probes; i++)
        if (!test_bit(b->words, positions[i]))
            return false;
    return true;
}

/* Adds a batch that is located, as far as there is *room for fresh keys: how many are in and answered. */
static size_t classic_add_located(const bloom *b, const uint64_t *positions, size_t count,
                                  tamis_answer *answers, uint64_t *room) {
    for (size_t i = 0; i < count; i++, positions += b->probes) {
        if (classic_find(b, positions, b->probes)) {
            answers[i] = TAMIS_SEEN;
            continue;
        }
        if (*room == 0)
            return i;
        --*room;
        answers[i] = TAMIS_FRESH;
        for (uint32_t k = 0; k < b->probes; k++)
            set_bit(b->words, positions[k]);
    }
    return count;
}

static tamis_status classic_add_asked(tamis_filter *filter, asked what, size_t count, tamis_answer *answers,
                                      size_t *done, tamis_error *err) {
    const bloom *b = filter->body;
    uint64_t positions[POSITIONS], room = room_left(filter), left = room;
    size_t batch = classic_batch(b), from = 0;
    bool full = false;
    while (from < count && !full) {
        size_t some = count - from < batch ? count - from : batch;
        classic_locate(filter, what, from, some, positions);
        size_t in = classic_add_located(b, positions, some, answers + from, &left);
        from += in;
        full = in < some;
    }
    count_fresh(filter, room - left);
    *done = from;
    return full ? tamis__filter_full(filter, TAMIS_FULL_CAPACITY, err) : TAMIS_OK;
}

/* Keys of `left` whose positions from number `seen` on, up to `until`, are all set: they are moved to its front and
 * counted. The others are answered. */
static size_t classic_sieve(const tamis_filter *filter, asked what, size_t *left, size_t count, uint32_t seen,
                            uint32_t until, tamis_answer *answers) {
    const bloom *b = filter->body;
    uint64_t positions[POSITIONS];
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        classic_locate_key(filter, what, left[i], seen, until, positions + i * until);
    for (size_t i = 0; i < count; i++) {
        size_t key = left[i];
        uint64_t all = 1; /* without a branch, which would be guessed wrongly as often as not */
        for (uint32_t k = seen; k < until; k++) {
            uint64_t position = positions[i * until + k];
            all &= b->words[position >> 6] >> (position & 63);
        }
        bool is_left = all & 1;
        answers[key] = is_left ? TAMIS_SEEN : TAMIS_FRESH;
        left[found] = key;
        found += is_left;
    }
    return found;
}

/* Of a full filter half of the bits are set, so that the first two probes settle three in four of the absent keys, and
 * the next four nearly all: most of their lines are never fetched. Of keys that are left the positions are made again. */
static void classic_contains_asked(const tamis_filter *filter, asked what, size_t count,
                                   tamis_answer *answers) {
    static const uint32_t stages[] = {2, 6, TAMIS_PROBES_MAX};
    const bloom *b = filter->body;
    size_t batch = classic_batch(b), left[BATCH];
    for (size_t from = 0; from < count; from += batch) {
        size_t found = count - from < batch ? count - from : batch;
        for (size_t i = 0; i < found; i++)
            left[i] = from + i;
        for (uint32_t stage = 0, seen = 0, until; seen < b->probes && found > 0; stage++, seen = until) {
            until = b->probes < stages[stage] ? b->probes : stages[stage];
            found = classic_sieve(filter, what, left, found, seen, until, answers);
        }
    }
}

static tamis_status classic_add(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                tamis_answer *answers, size_t *done, tamis_error *err) {
    return classic_add_asked(filter, (asked){hashes, NULL}, count, answers, done, err);
}

static void classic_contains(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                             tamis_answer *answers) {
    classic_contains_asked(filter, (asked){hashes, NULL}, count, answers);
}

static tamis_status classic_add_keys(tamis_filter *filter, const tamis_key *keys, size_t count,
                                     tamis_answer *answers, size_t *done, tamis_error *err) {
    return classic_add_asked(filter, (asked){NULL, keys}, count, answers, done, err);
}

static void classic_contains_keys(const tamis_filter *filter, const tamis_key *keys, size_t count,
                                  tamis_answer *answers) {
    classic_contains_asked(filter, (asked){NULL, keys}, count, answers);
}

static tamis_status classic_touch(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                  tamis_error *err) {
    return classic_touch_asked(filter, (asked){hashes, NULL}, count, err);
}

static tamis_status classic_touch_keys(const tamis_filter *filter, const tamis_key *keys, size_t count,
                                       tamis_error *err) {
    return classic_touch_asked(filter, (asked){NULL, keys}, count, err);
}

/* ---- blocked ---- */

static tamis__blocks blocks_of(const bloom *b) {
    return (tamis__blocks){b->words, b->bits / (64 * BLOCK_WORDS), b->probes};
}

static tamis_status blocked_add(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                tamis_answer *answers, size_t *done, tamis_error *err) {
    tamis__blocks blocks = blocks_of(filter->body);
    uint64_t before = room_left(filter), room = before;
    *done = filter->kernels->blocked_add(&blocks, hashes, count, &room, answers);
    count_fresh(filter, before - room);
    return *done == count ? TAMIS_OK : tamis__filter_full(filter, TAMIS_FULL_CAPACITY, err);
}

static void blocked_contains(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                             tamis_answer *answers) {
    tamis__blocks blocks = blocks_of(filter->body);
    filter->kernels->blocked_contains(&blocks, hashes, count, answers);
}

static void blocked_fetch(const tamis_filter *filter, const tamis_hash *hashes, size_t count) {
    tamis__blocks blocks = blocks_of(filter->body);
    for (size_t i = 0; i < count; i++)
        tamis__prefetch(tamis__block_of(&blocks, &hashes[i]));
}

static tamis_status blocked_touch(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                  tamis_error *err) {
    tamis__blocks blocks = blocks_of(filter->body);
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        status = tamis__guard_touch(filter->guard, tamis__block_of(&blocks, &hashes[i]), err);
    return status;
}

/* ---- estimates ---- */

static void classic_estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const bloom *b = filter->body;
    double m = (double)b->bits, k = b->probes, ones = (double)info->ones;
    double repeats = tamis__scheme_repeats(filter->plan.scheme, ones / m, m, k);
    info->fpr_live = fmin(pow(ones / m, k) + repeats, 1);
    info->cardinality = tamis_bloom_cardinality(ones, m, k);
}

/* A block is a Bloom filter of its own, so its rate and keys are, and the filter's are their mean and sum.
 * A block whose bits are all set tells no number; it counts as one with one bit left. */
static void blocked_estimate(const tamis_filter *filter, const tamis__line_counts *counts,
                             tamis_filter_info *info) {
    const bloom *b = filter->body;
    const double m = 64 * BLOCK_WORDS, k = b->probes;
    double blocks = (double)(b->bits / (64 * BLOCK_WORDS));
    for (int ones = 1; ones <= 64 * BLOCK_WORDS; ones++) {
        double some = (double)counts->lines[ones];
        info->fpr_live += some * pow(ones / m, k) / blocks;
        info->cardinality += some * tamis_bloom_cardinality(fmin(ones, m - 1), m, k);
    }
}

static void estimate_counted(const tamis_filter *filter, const tamis__line_counts *counts,
                             tamis_filter_info *info) {
    for (uint64_t ones = 1; ones <= 64 * BLOCK_WORDS; ones++)
        info->ones += counts->lines[ones] * ones;
    if (filter->plan.kind == TAMIS_KIND_CLASSIC)
        classic_estimate(filter, info);
    else
        blocked_estimate(filter, counts, info);
    info->false_fresh = tamis__bloom_false_fresh(filter);
}

static void estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const bloom *b = filter->body;
    tamis__line_counts counts = {{0}};
    tamis__count_lines(b->words, b->bytes / 8, &counts);
    estimate_counted(filter, &counts, info);
}

static void unite(tamis_filter *into, const tamis_filter *from) {
    bloom *to = into->body;
    const bloom *other = from->body;
    double mistaken = tamis__bloom_false_fresh(into) + tamis__bloom_false_fresh(from);
    tamis__line_counts counts = {{0}};
    into->kernels->unite(to->words, other->words, to->bytes / 8, &counts);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    estimate_counted(into, &counts, &info);
    /* Keys in both are counted once: the bits say how many were offered, at most all; less those of them that one
     * filter would have taken for seen, and at least what either held. */
    uint64_t most = into->added > from->added ? into->added : from->added;
    double sum = (double)into->added + (double)from->added;
    double offered = fmin(info.cardinality, sum + mistaken);
    into->added = (uint64_t)fmin(fmax(offered - rate_area(to, offered), (double)most), sum);
    into->saturated = into->saturated || from->saturated || is_past_doubt(into);
    if (!into->saturated && into->added > to->most_fresh) /* by the error of the estimate: it is full */
        into->added = to->most_fresh;
    to->united_added = into->added;
    to->united_false = mistaken;
}

const struct tamis__filter_ops tamis__classic_ops = {
    .create = create,
    .destroy = destroy,
    .add = classic_add,
    .contains = classic_contains,
    .add_keys = classic_add_keys,
    .contains_keys = classic_contains_keys,
    .touch = classic_touch,
    .touch_keys = classic_touch_keys,
    .estimate = estimate,
    .clear = clear,
    .copy = copy,
    .part = part,
    .restore = restore,
    .unite = unite,
};

const struct tamis__filter_ops tamis__blocked_ops = {
    .create = create,
    .destroy = destroy,
    .add = blocked_add,
    .contains = blocked_contains,
    .fetch = blocked_fetch,
    .touch = blocked_touch,
    .estimate = estimate,
    .clear = clear,
    .copy = copy,
    .part = part,
    .restore = restore,
    .unite = unite,
};
