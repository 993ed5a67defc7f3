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
#include <string.h>

#include "base/system.h"
#include "filter/bloom_int.h"
#include "filter/guard.h"
#include "hash/positions.h"
#include "plan/plan_int.h"

enum {
    BATCH = 64,
    POSITIONS = 1024 /* that classic keeps at once: 8 KiB of stack */
};

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
    b->most_fresh = tamis__bloom_most_fresh(b, plan->capacity);
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
    if (!b->words)
        return tamis__fail_nomem(err, "filter", b->bytes);
    tamis__advise_large(b->words, b->bytes);
    return TAMIS_OK;
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

const struct tamis__filter_ops tamis__classic_ops = {
    .create = create,
    .destroy = destroy,
    .add = classic_add,
    .contains = classic_contains,
    .add_keys = classic_add_keys,
    .contains_keys = classic_contains_keys,
    .touch = classic_touch,
    .touch_keys = classic_touch_keys,
    .estimate = tamis__bloom_estimate,
    .clear = clear,
    .copy = copy,
    .part = part,
    .restore = restore,
    .unite = tamis__bloom_unite,
};

const struct tamis__filter_ops tamis__blocked_ops = {
    .create = create,
    .destroy = destroy,
    .add = blocked_add,
    .contains = blocked_contains,
    .fetch = blocked_fetch,
    .touch = blocked_touch,
    .estimate = tamis__bloom_estimate,
    .clear = clear,
    .copy = copy,
    .part = part,
    .restore = restore,
    .unite = tamis__bloom_unite,
};
