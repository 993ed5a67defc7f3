/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kind classic: adding and looking up keys, and concurrent use.
 *
 * The cost is cache misses: the k probes of a key are k random cache lines. So the code keeps as many memory
 * reads in progress as the CPU allows, at any time. Adding and looking up do this in different ways.
 *
 * Adding is a pipeline. While key i is added, the lines of the next AHEAD keys are being fetched:
 *
 *     key         i-1    i      i+1    ...    i+AHEAD
 *     state       done   added  <-- lines are being fetched -->
 *
 * Fetching the lines of a whole batch before the first key is added takes a third longer.
 *
 * Looking up is a sieve. At most half of the bits of a planned filter are set. So two probes rule out three
 * of four absent keys, and four more probes nearly all of the rest. Most lines of absent keys are therefore
 * never fetched. A batch goes through up to three stages:
 *
 *     all keys --(2 probes)--> candidates --(6, or all of k <= 8)--> candidates --(all k)--> present
 *         |                        |                                   |
 *         `--> absent, if a probed bit is not set, in any stage <------'
 *
 * The positions of remaining candidates are computed again in each stage. A pipeline with a branch for each
 * stage is as fast for present keys. It takes half as long again for absent keys, because of mispredicted
 * branches.
 *
 * Concurrent filters (filter/concurrent.h). Any key may change any word, so not the words but the keys are
 * divided into parts, by hash. The lock of a key's part is held while the key is added. Words are read with
 * atomic loads everywhere, which costs nothing. Bits are set with atomic operations if several threads may
 * add.
 *
 * Invariants:
 * 1. A key is answered absent if one of its bits was not set, so it was not added before.
 * 2. Equal keys are in one part. So of two threads that add the same key, at most one gets the answer absent.
 * 3. A lookup that starts after an add has returned finds the key: the bits are never cleared.
 *
 * Measured: ./dev bench memory (classic), ./dev bench files (files of DCSO; docs/PERFORMANCE.md).
 */
#include "base/bytes.h"
#include "filter/block_verifier.h"
#include "filter/bloom/bloom_int.h"
#include "filter/concurrent.h"

enum {
    AHEAD = 8,       /* keys whose lines are fetched ahead; 4 take a tenth longer, 16 and 24 are equal */
    BATCH = 128,     /* keys in one sieve; 32 take a fifth longer, 256 are equal */
    POSITIONS = 2048 /* positions on the stack (16 KiB): fewer keys at once if k is large */
};
_Static_assert(POSITIONS / TAMIS_PROBES_MAX > 1, "the buffer holds two keys at least");

/* The probes `first` to `until` - 1 of a key. */
typedef struct probe_range {
    uint32_t first, until;
} probe_range;

/* Number of keys, at most `max`, whose positions fit in the buffer. */
static size_t keys_in_buffer(const bloom *b, size_t max) {
    const size_t keys = POSITIONS / b->probes;
    return keys < max ? keys : max;
}

/* Computes the positions of key i up to the end of the range, and fetches the lines of those in it. Inlined:
 * without that, lookups take a tenth longer. */
static inline void locate(const tamis_filter *filter, const tamis__key_batch *batch, size_t i,
                          probe_range range, uint64_t *positions) {
    const bloom *b = filter->body;
    if (batch->hashes)
        tamis__positions_in(filter->hasher->scheme, batch->hashes[i].word, b->modulus, range.until,
                            positions);
    else
        tamis__hasher_positions(filter->hasher, &batch->keys[i], b->bits, range.until, positions);
    for (uint32_t k = range.first; k < range.until; k++)
        tamis__prefetch(&b->words[positions[k] >> 6]);
}

/* True if all bits at these positions are set. No branch for each bit: half of such branches would be
 * mispredicted. */
static bool are_set(const uint64_t *words, const uint64_t *positions, uint32_t count) {
    uint64_t set = 1;
    for (uint32_t k = 0; k < count; k++)
        set &= __atomic_load_n(&words[positions[k] >> 6], __ATOMIC_RELAXED) >> (positions[k] & 63);
    return set & 1;
}

/* Sets the bits. True if all were set before. */
static bool set_all(uint64_t *words, const uint64_t *positions, uint32_t count) {
    uint64_t set = 1;
    for (uint32_t k = 0; k < count; k++) {
        uint64_t *word = &words[positions[k] >> 6], old = *word;
        set &= old >> (positions[k] & 63);
        *word = old | UINT64_C(1) << (positions[k] & 63);
    }
    return set & 1;
}

/* As set_all, while other threads add other keys. A key that is present writes nothing, so its lines stay
 * in the caches of all CPUs. */
static bool set_all_shared(uint64_t *words, const uint64_t *positions, uint32_t count) {
    const bool present = are_set(words, positions, count);
    for (uint32_t k = 0; k < count && !present; k++)
        __atomic_fetch_or(&words[positions[k] >> 6], UINT64_C(1) << (positions[k] & 63), __ATOMIC_RELAXED);
    return present;
}

/* ---- adding ---- */

/* Adds keys in order and decrements *remaining for each new key. Stops before a new key if *remaining is
 * 0. Returns the number of keys answered. */
static inline size_t add_each(tamis_filter *filter, const tamis__key_batch *batch, bool shared,
                              uint64_t *remaining) {
    const bloom *b = filter->body;
    const probe_range all_probes = {0, b->probes};
    const size_t count = batch->count, ahead = keys_in_buffer(b, AHEAD + 1) - 1;
    uint64_t positions[POSITIONS]; /* a ring: those of key i and of the `ahead` next keys */
    size_t i = 0, slot = 0;        /* key to add, and where its positions are in the ring */
    for (size_t j = 0; j < ahead && j < count; j++)
        locate(filter, batch, j, all_probes, positions + j * b->probes);
    for (; i < count; i++, slot = slot < ahead ? slot + 1 : 0) {
        if (i + ahead < count) /* its positions replace those of the key just added */
            locate(filter, batch, i + ahead, all_probes, positions + (slot ? slot - 1 : ahead) * b->probes);
        const uint64_t *mine = positions + slot * b->probes;
        if (*remaining == 0 && !are_set(b->words, mine, b->probes))
            break;
        bool present =
            shared ? set_all_shared(b->words, mine, b->probes) : set_all(b->words, mine, b->probes);
        batch->answers[i] = present ? TAMIS_PRESENT : TAMIS_ABSENT;
        *remaining -= !present;
    }
    return i;
}

tamis_status tamis__classic_add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                tamis_error *err) {
    uint64_t remaining = tamis__bloom_remaining(filter), remaining_after = remaining;
    *done = add_each(filter, batch, false, &remaining_after);
    tamis__bloom_count_absent(filter, remaining - remaining_after);
    return *done < batch->count ? tamis__filter_full(filter, TAMIS_FULL_CAPACITY, err) : TAMIS_OK;
}

/* ---- looking up ---- */

/* Looks up `count` keys through the stages of the sieve. A stage tests a range of the probes of each
 * candidate. The answers of all candidates are overwritten in each stage, so those of a key that leaves the
 * sieve are final. */
static void query_sieve(const tamis_filter *filter, const tamis__key_batch *batch, size_t from,
                        size_t count) {
    const bloom *b = filter->body;
    const uint32_t ends[] = {2, b->probes <= 8 ? b->probes : 6, b->probes}; /* of the stages */
    size_t candidates[BATCH];
    uint64_t positions[POSITIONS];
    for (size_t i = 0; i < count; i++)
        candidates[i] = from + i;
    for (uint32_t stage = 0, first = 0, until; first < b->probes && count > 0; stage++, first = until) {
        until = b->probes < ends[stage] ? b->probes : ends[stage];
        size_t left = 0;
        for (size_t i = 0; i < count; i++)
            locate(filter, batch, candidates[i], (probe_range){first, until}, positions + i * until);
        for (size_t i = 0; i < count; i++) {
            const size_t key = candidates[i];
            const bool is_candidate = are_set(b->words, positions + i * until + first, until - first);
            batch->answers[key] = is_candidate ? TAMIS_PRESENT : TAMIS_ABSENT;
            candidates[left] = key; /* without a branch: it would be mispredicted */
            left += is_candidate;
        }
        count = left;
    }
}

void tamis__classic_contains(const tamis_filter *filter, const tamis__key_batch *batch) {
    const size_t max = keys_in_buffer(filter->body, BATCH);
    for (size_t from = 0; from < batch->count; from += max)
        query_sieve(filter, batch, from, batch->count - from < max ? batch->count - from : max);
}

/* ---- from many threads ---- */

/* Any key may change any word, so keys are divided by hash; see above. */
static uint32_t parts(const tamis_filter *filter) {
    (void)filter;
    return TAMIS__PARTS_MAX;
}

static void part_of(const tamis_filter *filter, const tamis_hash *hashes, size_t count, uint8_t *part) {
    (void)filter;
    _Static_assert(TAMIS__PARTS_MAX == 1 << 6, "the first 6 bits");
    for (size_t i = 0; i < count; i++) /* mixes both words: some digests have only one, or few bits in one */
        part[i] = (uint8_t)((hashes[i].word[0] ^ hashes[i].word[1]) * TAMIS__GOLDEN >> (64 - 6));
}

static bool add_part(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers,
                     uint64_t *added) {
    const tamis__key_batch batch = {.hashes = hashes, .count = count, .answers = answers};
    uint64_t remaining_after = UINT64_MAX;
    size_t done = add_each(filter, &batch, true, &remaining_after);
    *added += UINT64_MAX - remaining_after;
    return done == count;
}

const struct tamis__concurrent_ops tamis__classic_concurrent = {
    .parts = parts,
    .part_of = part_of,
    .remaining = tamis__bloom_remaining,
    .add = add_part,
    .count_added = tamis__bloom_count_absent,
    .contains_is_lock_free = true,
};

/* ---- filters in an image ---- */

tamis_status tamis__classic_touch(const tamis_filter *filter, const tamis__key_batch *batch,
                                  tamis_error *err) {
    const bloom *b = filter->body;
    uint64_t positions[TAMIS_PROBES_MAX];
    for (size_t i = 0; i < batch->count; i++) {
        locate(filter, batch, i, (probe_range){0, b->probes}, positions);
        for (uint32_t k = 0; k < b->probes; k++) {
            tamis_status status =
                tamis__block_verifier_check(filter->verifier, &b->words[positions[k] >> 6], err);
            if (status != TAMIS_OK)
                return status;
        }
    }
    return TAMIS_OK;
}
