/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scaling Bloom filter of RedisBloom, bit for bit.
 *
 * Idea. A chain of Bloom filters. All but the newest are full and never change. A key is absent if no
 * sub-filter has it, and is then added to the newest. When that is full, a larger one is appended:
 *
 *     sub-filter     0            1                2
 *     capacity       n            n e              n e^2              e: expansion
 *     rate           p/2          p/4              p/8                sum below p
 *                  | full       | full           | newest: adds go here
 *                                                  <-- lookups begin here
 *
 * A nonscaling filter has one sub-filter with the rate p. It refuses absent keys when it is full.
 *
 * Sizes of a sub-filter for n keys at rate p, with RedisBloom's constants (deps/bloom/bloom.c):
 *
 *     bits for each key   b = -ln p / 0.480453013918201
 *     bytes               floor(n b) bits, at least 1, up to whole words of 64 bits
 *     hashes              ceil(0.693147180559945 b)
 *
 * Chains of other releases may have other sizes, for example a power of two. The sizes of a sub-filter come
 * from its stored bytes and are never computed again.
 *
 * BF.RESERVE f 0.01 100 with the default expansion of 2 makes these sub-filters:
 *
 *     sub-filter   capacity   rate        bits a key    bits   bytes   hashes
 *     0              100      0.005          11.03      1152     144      8
 *     1              200      0.0025         12.47      2496     312      9
 *     2              400      0.00125        13.91      5568     696     10
 *     3              800      0.000625       15.36     12288    1536     11
 *     4             1600      0.0003125      16.80     26880    3360     12
 *
 * Each halving of the rate costs 1.44 bits a key and one hash more. p/2 + p/4 + ... is below p, however long
 * the chain becomes. That is why even the first sub-filter has only half of the rate.
 *
 * 0.480453013918201 is (ln 2)^2 and 0.693147180559945 is ln 2: the sizes of an optimal Bloom filter, with
 * m/n = -ln p / (ln 2)^2 and k = m/n ln 2 (docs/MATH.md). The halving is RedisBloom's ERROR_TIGHTENING_RATIO.
 *
 * Positions are those of scheme redisbloom (hash/positions.h). Position x is bit x % 8 of byte x / 8.
 *
 * The seeds are fixed, so somebody can choose keys that are present without being added, or that set more
 * bits than others. The format has no secret to prevent that; kind classic with scheme sip has one.
 *
 * Why batches. Each sub-filter of a long chain costs a cache miss or two for each key. A batch is hashed once
 * and passes through the chain sub-filter by sub-filter, each of which is a sieve:
 *
 *     all keys --(2 positions)--> candidates --(4 more)--> candidates -- ... --> present, drop out
 *         `--> absent in this sub-filter, if a tested bit is not set, in any stage
 *
 * In a stage the lines of all candidates are fetched, then tested. So the misses of a batch overlap. Half of
 * the bits are set, so two positions rule out three of four absent keys. A present key costs all of its
 * positions, in the one sub-filter that has it.
 *
 * Invariants:
 * 1. There is at least one sub-filter, except while the chain is made.
 * 2. keys of a sub-filter <= its capacity, and the sum over all is the chain's `keys`.
 * 3. Every modulus is at most 8 times the bytes of its bit array, so that no position is outside of it.
 * 4. A sub-filter with bits that are not loaded is never tested (tamis__rb_check_complete).
 *
 * Sub-filters from outside are checked for 2 and 3 in tamis__rb_append and tamis__rb_check, whichever format
 * they come from.
 *
 * Measured: ./dev bench module, beside RedisBloom itself (docs/PERFORMANCE.md).
 */
#include <inttypes.h>
#include <math.h>

#include "base/versioned.h"
#include "filter/compat/redisbloom_chain.h"
#include "hash/hash_functions.h"

#define LN2_SQUARED 0.480453013918201 /* RedisBloom's digits: one more could change a size */
#define LN2         0.693147180559945
#define TIGHTENING  0.5 /* rate of a sub-filter over that of the one before it */
enum {
    BATCH = 64,          /* keys that pass through the chain together */
    STAGE = 4,           /* positions that a stage tests, but for the first one */
    AHEAD = 16,          /* keys whose lines are fetched before a key is added */
    HASHES_MAX = 2048,   /* the smallest rate above 0 has 1,075 */
    CHAIN_BYTES = 32,    /* size of a chain as RedisBloom reports it */
    SUBFILTER_BYTES = 64 /* size of a sub-filter likewise, besides its bits */
};

/* ---- sizes ---- */

/* Computes the sizes of a new sub-filter. False: there is none of this size. */
static bool compute_sizes(tamis_redisbloom_subfilter *size, uint64_t capacity, double rate) {
    const double bits_per_key = fabs(log(rate) / LN2_SQUARED);
    if (!(rate > 0 && rate < 1) || capacity < 1 || !((double)capacity * bits_per_key < 0x1p62))
        return false;
    const uint64_t bits = (uint64_t)((double)capacity * bits_per_key);
    size->capacity = capacity;
    size->rate = rate;
    size->bits_per_key = bits_per_key;
    size->bytes = bits ? (bits + 63) / 64 * 8 : 8;
    size->bits = 8 * size->bytes;
    size->hashes = (uint32_t)ceil(LN2 * bits_per_key);
    return true;
}

/* ---- creation ---- */

tamis_status tamis__rb_create_empty(tamis_redisbloom **chain, const tamis_allocator *allocator,
                                    tamis_error *err) {
    const tamis_allocator resolved = tamis__allocator_resolve(allocator);
    tamis_redisbloom *created = tamis__alloc(&resolved, sizeof *created, _Alignof(tamis_redisbloom));
    if (!created)
        return tamis__fail_nomem(err, "redisbloom", sizeof *created);
    created->allocator = resolved;
    created->options = TAMIS__RB_EXACT_BITS | TAMIS__RB_HASH64;
    *chain = created;
    return TAMIS_OK;
}

/* Appends a sub-filter without bits. */
static tamis_status append(tamis_redisbloom *chain, const tamis_redisbloom_subfilter *size,
                           tamis_error *err) {
    tamis__rb_subfilter *grown = tamis__array_reserve(&chain->allocator, chain->subfilters, sizeof *grown,
                                                      chain->count + 1, &chain->allocated);
    if (!grown)
        return tamis__fail_nomem(err, "redisbloom", (chain->count + 1) * sizeof *grown);
    chain->subfilters = grown;
    const uint64_t modulus = size->bits_log2 ? UINT64_C(1) << size->bits_log2 : size->bits;
    chain->bytes += size->bytes;
    grown[chain->count] = (tamis__rb_subfilter){*size, tamis__modulus_of(modulus), chain->bytes, NULL};
    grown[chain->count++].size.struct_size = sizeof *size;
    return TAMIS_OK;
}

tamis_status tamis__rb_allocate_bits(tamis_redisbloom *chain, size_t index, tamis_error *err) {
    tamis__rb_subfilter *sub = &chain->subfilters[index];
    sub->bits = tamis__alloc(&chain->allocator, sub->size.bytes, _Alignof(uint64_t));
    return sub->bits ? TAMIS_OK : tamis__fail_nomem(err, "redisbloom", sub->size.bytes);
}

/* Appends an empty sub-filter of these sizes. On failure the chain is unchanged. */
static tamis_status append_empty(tamis_redisbloom *chain, const tamis_redisbloom_subfilter *size,
                                 tamis_error *err) {
    tamis_status status = append(chain, size, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__rb_allocate_bits(chain, chain->count - 1, err);
    if (status != TAMIS_OK) {
        chain->count--;
        chain->bytes -= size->bytes;
        return status;
    }
    chain->loaded += size->bytes;
    return TAMIS_OK;
}

tamis_status tamis_redisbloom_create(tamis_redisbloom **filter, const tamis_redisbloom_options *options,
                                     tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_redisbloom_options given = TAMIS_REDISBLOOM_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&given, sizeof given, options, "TAMIS_REDISBLOOM_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (!(given.rate > 0 && given.rate < 1))
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "redisbloom: a rate of %g is not between 0 and 1; give one that is", given.rate);
    const bool nonscaling = given.nonscaling || given.expansion == 0;
    tamis_redisbloom_subfilter size = TAMIS_REDISBLOOM_SUBFILTER_INIT;
    if (!compute_sizes(&size, given.capacity, nonscaling ? given.rate : given.rate * TIGHTENING))
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "redisbloom: no filter has a capacity of %" PRIu64
                           " keys at a rate of %g; choose another capacity or a larger rate",
                           given.capacity, given.rate);
    tamis_redisbloom *created;
    status = tamis__rb_create_empty(&created, given.allocator, err);
    if (status != TAMIS_OK)
        return status;
    created->growth = given.expansion; /* RedisBloom stores it in a nonscaling filter too */
    created->options |= nonscaling ? TAMIS__RB_NONSCALING : 0U;
    status = append_empty(created, &size, err);
    if (status != TAMIS_OK) {
        tamis_redisbloom_free(created);
        return status;
    }
    *filter = created;
    return TAMIS_OK;
}

void tamis_redisbloom_free(tamis_redisbloom *filter) {
    if (!filter)
        return;
    for (size_t i = 0; i < filter->count; i++)
        tamis__free(&filter->allocator, filter->subfilters[i].bits, filter->subfilters[i].size.bytes);
    tamis__free(&filter->allocator, filter->subfilters, filter->allocated * sizeof *filter->subfilters);
    const tamis_allocator allocator = filter->allocator;
    tamis__free(&allocator, filter, sizeof *filter);
}

/* Copies the sub-filters of `from` to the empty chain `to`. */
static tamis_status copy_subfilters(tamis_redisbloom *to, const tamis_redisbloom *from, tamis_error *err) {
    for (size_t i = 0; i < from->count; i++) {
        tamis_status status = append(to, &from->subfilters[i].size, err);
        if (status == TAMIS_OK && from->subfilters[i].bits)
            status = tamis__rb_allocate_bits(to, i, err);
        if (status != TAMIS_OK)
            return status;
        if (from->subfilters[i].bits)
            memcpy(to->subfilters[i].bits, from->subfilters[i].bits, from->subfilters[i].size.bytes);
    }
    return TAMIS_OK;
}

tamis_status tamis_redisbloom_copy(tamis_redisbloom **copy, const tamis_redisbloom *filter,
                                   tamis_error *err) {
    TAMIS__NEED(copy, err);
    TAMIS__NEED(filter, err);
    tamis_redisbloom *created;
    tamis_status status = tamis__rb_create_empty(&created, &filter->allocator, err);
    if (status != TAMIS_OK)
        return status;
    status = copy_subfilters(created, filter, err);
    if (status != TAMIS_OK) {
        tamis_redisbloom_free(created);
        return status;
    }
    created->keys = filter->keys;
    created->options = filter->options;
    created->growth = filter->growth;
    created->loaded = filter->loaded;
    *copy = created;
    return TAMIS_OK;
}

void tamis_redisbloom_relocate(tamis_redisbloom **filter, tamis_redisbloom_mover move, void *context) {
    tamis_redisbloom *chain = *filter = tamis__moved(*filter, move, context);
    chain->subfilters = tamis__moved(chain->subfilters, move, context);
    for (size_t i = 0; i < chain->count; i++)
        chain->subfilters[i].bits = tamis__moved(chain->subfilters[i].bits, move, context);
}

/* ---- checks of chains from outside ---- */

static tamis_status damaged(tamis_error *err, const char *field) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "redisbloom: %s is not that of a filter; dump the filter again", field);
}

/* Why each range, in the order of the checks:
 *
 *     bytes          sums and eightfold sums of all sub-filters stay below 2^63
 *     bits           no position is outside of the bytes, and no more than a word of the bytes is unused
 *     logarithm      a power of two is the modulus then, and must not exceed the bits
 *     hashes         the time of a lookup: 2^32 - 1 of them would take seconds
 *     rate           grow halves it, and a logarithm is taken
 *     bits a key     only reported, and written again
 *     capacity       grow multiplies it
 *     keys           `keys` < capacity is what decides about growth
 */
tamis_status tamis__rb_append(tamis_redisbloom *chain, const tamis_redisbloom_subfilter *size,
                              tamis_error *err) {
    if (size->bytes < 1 || size->bytes > (uint64_t)INT64_MAX / 8 - chain->bytes)
        return damaged(err, "the number of bytes");
    if (size->bits < 1 || size->bits > 8 * size->bytes || size->bits / 8 + 8 < size->bytes)
        return damaged(err, "the number of bits");
    if (size->bits_log2 && (size->bits_log2 > 62 || UINT64_C(1) << size->bits_log2 > size->bits))
        return damaged(err, "the logarithm of the bits");
    if (size->hashes < 1 || size->hashes > HASHES_MAX)
        return damaged(err, "the number of hashes");
    if (!(size->rate > 0 && size->rate < 1)) /* NaN too */
        return damaged(err, "the error rate");
    if (!(size->bits_per_key > 0 && size->bits_per_key < HASHES_MAX))
        return damaged(err, "the number of bits for each item");
    if (size->capacity < 1)
        return damaged(err, "the capacity");
    if (size->keys > size->capacity)
        return damaged(err, "the number of items of a sub-filter");
    return append(chain, size, err);
}

tamis_status tamis__rb_check(const tamis_redisbloom *chain, tamis_error *err) {
    const uint32_t known = TAMIS__RB_EXACT_BITS | TAMIS__RB_HASH64 | TAMIS__RB_NONSCALING;
    if (chain->options & ~known)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "redisbloom: options %" PRIu32
                           " are not known; dump the filter from a release of RedisBloom up to 8",
                           chain->options);
    if (!(chain->options & TAMIS__RB_HASH64))
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "redisbloom: 32-bit hashes of very old releases; add the items to a new filter");
    if (!(chain->options & TAMIS__RB_NONSCALING) && chain->growth < 1)
        return damaged(err, "the expansion");
    uint64_t keys = 0, capacity = 0;
    for (size_t i = 0; i < chain->count; i++) {
        const tamis_redisbloom_subfilter *size = &chain->subfilters[i].size;
        if (size->capacity > (uint64_t)INT64_MAX - capacity)
            return damaged(err, "the capacity");
        capacity += size->capacity;
        keys += size->keys; /* at most its capacity */
    }
    if (chain->count == 0)
        return damaged(err, "the number of sub-filters");
    return keys == chain->keys ? TAMIS_OK : damaged(err, "the number of items");
}

tamis_status tamis__rb_check_complete(const tamis_redisbloom *chain, tamis_error *err) {
    if (tamis__rb_is_complete(chain))
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "redisbloom: only %" PRIu64 " of %" PRIu64 " bytes are loaded; load the other chunks",
                       chain->loaded, chain->bytes);
}

/* ---- keys ---- */

/* The hash of a key: the first value and the step of its positions. */
typedef struct digest {
    uint64_t word[2];
} digest;

static void hash_batch(const tamis_key *keys, size_t count, digest *digests) {
    for (size_t i = 0; i < count; i++) {
        digests[i].word[0] = tamis__murmur64a(keys[i].data, keys[i].size, TAMIS__REDISBLOOM_SEED);
        digests[i].word[1] = tamis__murmur64a(keys[i].data, keys[i].size, digests[i].word[0]);
    }
}

static void fetch(const tamis__rb_subfilter *sub, const digest *key) {
    uint64_t x = key->word[0];
    for (uint32_t i = 0; i < sub->size.hashes; i++, x += key->word[1])
        tamis__prefetch(sub->bits + tamis__remainder(x, sub->modulus) / 8);
}

static bool has(const tamis__rb_subfilter *sub, const digest *key) {
    uint64_t x = key->word[0];
    for (uint32_t i = 0; i < sub->size.hashes; i++, x += key->word[1]) {
        const uint64_t at_bit = tamis__remainder(x, sub->modulus);
        if (!(sub->bits[at_bit / 8] >> at_bit % 8 & 1))
            return false;
    }
    return true;
}

static void set(tamis__rb_subfilter *sub, const digest *key) {
    uint64_t x = key->word[0];
    for (uint32_t i = 0; i < sub->size.hashes; i++, x += key->word[1]) {
        const uint64_t at_bit = tamis__remainder(x, sub->modulus);
        sub->bits[at_bit / 8] |= (uint8_t)(1U << at_bit % 8);
    }
}

/* Some of the positions of a key: `count` of them, from number `from` on. */
typedef struct stage {
    uint32_t from, count;
} stage;

static inline void locate(const tamis__rb_subfilter *sub, const digest *key, stage now, uint64_t *positions) {
    uint64_t x = key->word[0] + now.from * key->word[1];
    for (uint32_t i = 0; i < now.count; i++, x += key->word[1]) {
        positions[i] = tamis__remainder(x, sub->modulus);
        tamis__prefetch(sub->bits + positions[i] / 8);
    }
}

/* True if the bits are set. No branch for each bit: half of such branches would be mispredicted. */
static inline bool are_set(const uint8_t *bits, const uint64_t *positions, uint32_t count) {
    uint32_t set = 1;
    for (uint32_t i = 0; i < count; i++)
        set &= (uint32_t)bits[positions[i] / 8] >> positions[i] % 8;
    return set & 1;
}

/* Removes the keys that a stage rules out from a list of candidates. Returns how many are left. */
static inline size_t sieve(const tamis__rb_subfilter *sub, const digest *digests, uint8_t *candidates,
                           size_t count, stage now) {
    uint64_t positions[BATCH][STAGE];
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        locate(sub, &digests[candidates[i]], now, positions[i]);
    for (size_t i = 0; i < count; i++) {
        candidates[left] = candidates[i]; /* without a branch: it would be mispredicted */
        left += are_set(sub->bits, positions[i], now.count);
    }
    return left;
}

/* Looks up at most BATCH keys in the oldest `count` sub-filters. */
static void look_up(const tamis_redisbloom *chain, size_t count, const digest *digests, size_t keys,
                    tamis_answer *answers) {
    uint8_t missing[BATCH], candidates[BATCH]; /* numbers of keys: not found yet, not ruled out yet */
    size_t left = keys;
    for (size_t i = 0; i < keys; i++) {
        missing[i] = (uint8_t)i;
        answers[i] = TAMIS_ABSENT;
    }
    for (size_t s = count; s > 0 && left > 0; s--) {
        const tamis__rb_subfilter *sub = &chain->subfilters[s - 1];
        const uint32_t hashes = sub->size.hashes;
        memcpy(candidates, missing, left);
        size_t found = sieve(sub, digests, candidates, left, (stage){0, hashes < 2 ? hashes : 2});
        for (stage now = {2, STAGE}; now.from < hashes && found > 0; now.from += STAGE) {
            now.count = hashes - now.from < STAGE ? hashes - now.from : STAGE;
            found = sieve(sub, digests, candidates, found, now);
        }
        for (size_t i = 0; i < found; i++)
            answers[candidates[i]] = TAMIS_PRESENT;
        size_t kept = 0;
        for (size_t i = 0; i < left; i++) {
            missing[kept] = missing[i];
            kept += answers[missing[i]] == TAMIS_ABSENT;
        }
        left = kept;
    }
}

/* Appends the next sub-filter. */
static tamis_status grow(tamis_redisbloom *chain, tamis_error *err) {
    const tamis_redisbloom_subfilter *newest = &chain->subfilters[chain->count - 1].size;
    if (chain->options & TAMIS__RB_NONSCALING)
        return tamis__fail(err, TAMIS_E_FULL, 0,
                           "redisbloom: nonscaling and full with %" PRIu64 " keys; make a larger filter",
                           newest->capacity);
    tamis_redisbloom_subfilter size = TAMIS_REDISBLOOM_SUBFILTER_INIT;
    const uint64_t growth = chain->growth;
    if (newest->capacity > UINT64_MAX / growth ||
        !compute_sizes(&size, newest->capacity * growth, newest->rate * TIGHTENING))
        return tamis__fail(err, TAMIS_E_FULL, 0,
                           "redisbloom: %zu sub-filters, and no larger one exists; make a larger filter",
                           chain->count);
    return append_empty(chain, &size, err);
}

/* Keys that are added together. */
typedef struct digest_batch {
    size_t count;
    digest digests[BATCH];
    tamis_answer answers[BATCH];
} digest_batch;

/*
 * Adds a batch, and stops behind a key that made the chain grow. The keys after it were not looked up in the
 * sub-filter that was the newest before. Returns how many keys are added in *done.
 *
 * An example: the newest sub-filter is number 1 and has capacity for one more key. A batch is x, y, x, and
 * both keys are absent. The first x goes to 1, and 1 is full. y makes the chain grow and goes to 2. The
 * second x was looked up in 0 only, and a test of 2 would not find it. So a new batch begins with it.
 */
static tamis_status add_batch(tamis_redisbloom *chain, digest_batch *batch, size_t *done, tamis_error *err) {
    const digest *digests = batch->digests;
    tamis_answer *answers = batch->answers;
    const size_t count = batch->count;
    look_up(chain, chain->count - 1, digests, count, answers);
    tamis__rb_subfilter *newest = &chain->subfilters[chain->count - 1];
    for (size_t i = 0; i < AHEAD && i < count; i++)
        fetch(newest, &digests[i]);
    for (*done = 0; *done < count; ++*done) {
        const digest *key = &digests[*done];
        if (*done + AHEAD < count && answers[*done + AHEAD] == TAMIS_ABSENT)
            fetch(newest, key + AHEAD);
        if (answers[*done] == TAMIS_PRESENT)
            continue;
        if (has(newest, key)) {
            answers[*done] = TAMIS_PRESENT;
            continue;
        }
        const bool is_full = newest->size.keys >= newest->size.capacity;
        if (is_full) {
            const tamis_status status = grow(chain, err);
            if (status != TAMIS_OK)
                return status;
            newest = &chain->subfilters[chain->count - 1];
        }
        set(newest, key);
        newest->size.keys++;
        chain->keys++;
        if (is_full) {
            ++*done;
            break;
        }
    }
    return TAMIS_OK;
}

tamis_status tamis_redisbloom_add_many(tamis_redisbloom *filter, const tamis_key *keys, size_t count,
                                       tamis_answer *answers, size_t *done, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(count, keys, err);
    digest_batch batch;
    size_t added = 0;
    tamis_status status = tamis__rb_check_complete(filter, err);
    while (status == TAMIS_OK && added < count) {
        size_t batch_done;
        batch.count = count - added < BATCH ? count - added : BATCH;
        hash_batch(keys + added, batch.count, batch.digests);
        status = add_batch(filter, &batch, &batch_done, err);
        if (answers)
            memcpy(answers + added, batch.answers, batch_done);
        added += batch_done;
    }
    if (done)
        *done = added;
    return status;
}

tamis_status tamis_redisbloom_contains_many(const tamis_redisbloom *filter, const tamis_key *keys,
                                            size_t count, tamis_answer *answers, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(count, keys, err);
    TAMIS__NEED_IF(count, answers, err);
    const tamis_status status = tamis__rb_check_complete(filter, err);
    if (status != TAMIS_OK)
        return status;
    for (size_t i = 0; i < count; i += BATCH) {
        digest digests[BATCH];
        const size_t batch = count - i < BATCH ? count - i : BATCH;
        hash_batch(keys + i, batch, digests);
        look_up(filter, filter->count, digests, batch, answers + i);
    }
    return TAMIS_OK;
}

/* ---- union ---- */

/* Why only chains of one sub-filter: the older sub-filters of a longer chain are full. Their union would have
 * up to twice the keys in the same bits, and so far more than the rate of the chain. */
static tamis_status check_union(const tamis_redisbloom *into, const tamis_redisbloom *from,
                                tamis_error *err) {
    const tamis_redisbloom_subfilter *to = &into->subfilters[0].size, *more = &from->subfilters[0].size;
    tamis_status status = tamis__rb_check_complete(into, err);
    if (status == TAMIS_OK)
        status = tamis__rb_check_complete(from, err);
    if (status != TAMIS_OK)
        return status;
    if (into->count > 1 || from->count > 1)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "union: a filter has grown to %zu sub-filters; make filters of a larger capacity",
                           into->count > from->count ? into->count : from->count);
    if (to->bits != more->bits || to->bytes != more->bytes || to->bits_log2 != more->bits_log2 ||
        to->hashes != more->hashes)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "union: bits are %" PRIu64 " and %" PRIu64 ", hashes %" PRIu32 " and %" PRIu32
                           "; make both filters with the same rate and capacity",
                           to->bits, more->bits, to->hashes, more->hashes);
    if (more->keys > to->capacity - to->keys)
        return tamis__fail(err, TAMIS_E_FULL, 0,
                           "union: %" PRIu64 " and %" PRIu64 " keys exceed the capacity of %" PRIu64
                           "; make filters of a larger capacity",
                           to->keys, more->keys, to->capacity);
    return TAMIS_OK;
}

tamis_status tamis_redisbloom_union(tamis_redisbloom *into, const tamis_redisbloom *from, tamis_error *err) {
    TAMIS__NEED(into, err);
    TAMIS__NEED(from, err);
    const tamis_status status = check_union(into, from, err);
    if (status != TAMIS_OK)
        return status;
    tamis__rb_subfilter *to = &into->subfilters[0];
    const tamis__rb_subfilter *more = &from->subfilters[0];
    for (uint64_t i = 0; i < to->size.bytes; i++)
        to->bits[i] |= more->bits[i];
    to->size.keys += more->size.keys;
    into->keys += more->size.keys;
    return TAMIS_OK;
}

/* ---- reports ---- */

tamis_status tamis_redisbloom_info_get(const tamis_redisbloom *filter, tamis_redisbloom_info *info,
                                       tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_redisbloom_info created = TAMIS_REDISBLOOM_INFO_INIT;
    const tamis_status status = tamis__check_struct(info, "TAMIS_REDISBLOOM_INFO_INIT", err);
    if (status != TAMIS_OK)
        return status;
    created.nonscaling = filter->options & TAMIS__RB_NONSCALING;
    created.expansion = created.nonscaling ? 0 : filter->growth;
    created.complete = tamis__rb_is_complete(filter);
    created.keys = filter->keys;
    created.subfilters = filter->count;
    created.bytes = filter->bytes;
    created.loaded = filter->loaded;
    created.size = CHAIN_BYTES + SUBFILTER_BYTES * created.subfilters + filter->bytes;
    created.memory = sizeof *filter + filter->allocated * sizeof *filter->subfilters;
    for (size_t i = 0; i < filter->count; i++) {
        created.capacity += filter->subfilters[i].size.capacity;
        created.memory += filter->subfilters[i].bits ? filter->subfilters[i].size.bytes : 0;
    }
    tamis__write_struct(info, &created, sizeof created);
    return TAMIS_OK;
}

tamis_status tamis_redisbloom_subfilter_get(const tamis_redisbloom *filter, uint64_t index,
                                            tamis_redisbloom_subfilter *subfilter, tamis_error *err) {
    TAMIS__NEED(filter, err);
    const tamis_status status = tamis__check_struct(subfilter, "TAMIS_REDISBLOOM_SUBFILTER_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (index >= filter->count)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "redisbloom: there is no sub-filter %" PRIu64 " of %zu; give a smaller number",
                           index, filter->count);
    tamis__write_struct(subfilter, &filter->subfilters[index].size, sizeof *subfilter);
    return TAMIS_OK;
}
