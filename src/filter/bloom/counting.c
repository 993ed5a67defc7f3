/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kind counting: a Bloom filter with counters of 4 bits in the place of bits, so that keys can be removed.
 *
 * A Bloom filter cannot remove a key: another key may need the same bits. A counting filter stores at each
 * position how many keys have it. Adding a key increments its k counters, removing it decrements them, and a
 * key is present if none of them is 0. Other keys may share its counters. So the smallest counter of a key,
 * its count, is the number of its adds less removals, or more.
 *
 * As in kind blocked, all positions of a key are in one block of 64 bytes, a cache line. It has 128 counters:
 *
 *     word         0                1          ...      7
 *     counters     15 ... 2 1 0     31 ... 16           127 ... 112      counter c: bits 4 c to 4 c + 3
 *
 *     block  = floor(word[1] * blocks / 2^64)
 *     counter i of a key = position i of kind blocked, divided by 4    (kernels/filter_blocked.h)
 *
 * A key, added twice, with 4 probes; and one that shares a counter with it:
 *
 *     . . 2 . . . . 2 . . . . . 2 . . . . 2 . . .       its count is 2
 *     . . 2 . 1 . . 3 . . . . . 2 1 . . . 2 . 1 .       counts 2 and 1
 *
 * Saturation. A counter that reaches 15 is saturated: it is not incremented any more, and not decremented
 * either, since nobody knows how many keys it stands for. It keeps its keys present for ever, which can only
 * add false positives. With different keys that practically never happens: the chance of a counter is below
 * 1e-13 in a full filter (docs/MATH.md, "Counting Bloom filter"). It happens if one key is added 15 times.
 * All of its counters are then saturated. Removing it has no effect, its count stays 15 ("15 or more"), and
 * only tamis_filter_clear makes it absent. tamis_filter_info has the number of saturated counters.
 *
 * Two probes of a key may select the same counter. It is then incremented once, not twice: a key is a set of
 * up to k counters. So adding and removing a key are exact inverses, and a count is never too small. A key
 * whose counters are all above 0 can always be removed without a counter falling below 0. The kernels get
 * this for free, since they make a mask of the line with one bit for each counter.
 *
 * Why every add counts, also that of a present key: the answer "present" may be a false positive. If the add
 * did not count then, the key would vanish when the other keys are removed. So n adds of a key need n
 * removals.
 *
 * Why all counters of a key are in one line: that is what makes kind blocked fast, and here each removal
 * writes too. The price is memory. A block of 128 counters has fewer keys than one of 512 bits, and their
 * numbers differ more. So at small rates it takes far more than the 4 bits of a counter:
 *
 *     rate    blocked, bits a key   counting   probes   keys in a block
 *     1e-1         4.8                 19.7       3        26
 *     1e-2         9.9                 43.4       6        11.8
 *     1e-3        15.5                 76.1       8         6.7
 *     1e-4        22.0                123.8      10         4.1
 *     1e-6        38.8                308.9      13         1.7
 *
 * So it is for rates of about 1e-3 and more, and rates below 1e-7 are out of reach. Kind cuckoo takes less
 * memory at every rate. What this kind has instead: an add never moves or refuses anything below the
 * capacity. Keys are counted up to 15, and two filters can be merged.
 *
 * Time, to that of kind blocked (./dev bench memory, 10^7 keys, rate 1e-2, AVX-512, three runs): adding to
 * used memory and lookups 1.0 to 1.4. The kernel in AVX-512 takes 0.35 to 0.7 of the scalar one's time in a
 * filter of 1 MiB. An add takes 6.0 instead of 12.4 ns, a lookup 5.3 instead of 7.5, a removal 6.3 instead of
 * 18. These are times without hashing. The rows "1 MiB" of that command have it in addition, and with
 * TAMIS_KERNEL=scalar the time of the scalar kernel.
 *
 * Why counters of 4 bits: with 3 bits, two counters in a million of a full filter are saturated. More are
 * with each key that comes and goes. More than 4 bits take memory without a use.
 *
 * Keys in the filter. filter->added is the number of keys answered absent when they were added, less those
 * that were absent after their removal. Errors of both sorts are false positives and equally frequent. So
 * after d adds and removals of a filter with rate f the number is off by about sqrt(d f) keys.
 *
 * Invariants:
 * 1. A counter below 15 is the number of adds, less the removals, of all keys that have it.
 * 2. A counter at 15 stays at 15 until the filter is cleared.
 * 3. No key is absent that was added more often than removed, if only keys are removed that were added. This
 *    follows from 1 and 2.
 * 4. A removal of an absent key changes nothing.
 *
 * A union adds counter by counter, to at most 15. Each counter of the result is then that of a filter which
 * got the adds and removals of both.
 *
 * Files, copies, parts and concurrent use are those of kind blocked (bloom.c); the body is an array of words
 * in both. A copy that is made in pieces has each block whole, since pieces are multiples of blocks.
 *
 * Source: L. Fan, P. Cao, J. Almeida, A. Broder: Summary Cache, a scalable wide-area web cache sharing
 * protocol, 1998 (counters of 4 bits).
 *
 * Measured: ./dev bench memory has the time to add, look up and remove a key.
 */
#include "filter/bloom/bloom_int.h"
#include "filter/line_count.h"

static tamis_status add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done, tamis_error *err) {
    const tamis__blocks blocks = tamis__blocks_of(filter->body);
    const uint64_t before = tamis__bloom_remaining(filter);
    uint64_t remaining = before;
    *done = filter->kernels->counting->add(&blocks, batch->hashes, batch->count, &remaining, batch->answers);
    tamis__bloom_count_absent(filter, before - remaining);
    return *done == batch->count ? TAMIS_OK : tamis__filter_full(filter, TAMIS_FULL_CAPACITY, err);
}

static void contains(const tamis_filter *filter, const tamis__key_batch *batch) {
    const tamis__blocks blocks = tamis__blocks_of(filter->body);
    filter->kernels->counting->contains(&blocks, batch->hashes, batch->count, batch->answers);
}

/* Removals also lower union_added, so that it stays at most filter->added. */
static void subtract_removed(tamis_filter *filter, uint64_t removed) {
    bloom *b = filter->body;
    filter->added -= removed < filter->added ? removed : filter->added;
    if (b->union_added > filter->added) {
        b->union_false_present *= (double)filter->added / (double)b->union_added;
        b->union_added = filter->added;
    }
}

static void remove_keys(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers) {
    const tamis__blocks blocks = tamis__blocks_of(filter->body);
    subtract_removed(filter, filter->kernels->counting->remove(&blocks, hashes, count, answers));
}

static uint32_t copies(const tamis_filter *filter, const tamis_hash *hash) {
    const tamis__blocks blocks = tamis__blocks_of(filter->body);
    return (uint32_t)tamis__counting_smallest(&blocks, hash);
}

static tamis_status part_add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                             tamis_error *err) {
    const tamis__blocks blocks = tamis__blocks_of(filter->body);
    uint64_t remaining = UINT64_MAX;
    (void)err;
    *done = filter->kernels->counting->add(&blocks, batch->hashes, batch->count, &remaining, batch->answers);
    return TAMIS_OK;
}

static const tamis__parts_ops parts_ops = {.max_parts = tamis__blocks_max_parts,
                                           .fit = tamis__blocks_parts_fit,
                                           .from = tamis__blocks_part_from,
                                           .add = part_add,
                                           .added = tamis__bloom_count_absent};

void tamis__counting_sum(uint64_t *into, const uint64_t *from, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        into[i] = tamis__counters_sum(into[i], from[i]);
}

uint64_t tamis__counting_lines(const bloom *b, tamis__line_counts *counts) {
    uint64_t saturated = 0;
    for (const uint64_t *line = b->words; line < b->words + b->bytes / 8; line += BLOCK_WORDS) {
        uint64_t used[BLOCK_WORDS], full[BLOCK_WORDS];
        for (int i = 0; i < BLOCK_WORDS; i++) {
            used[i] = tamis__counters_used(line[i]);
            full[i] = tamis__counters_saturated(line[i]);
        }
        counts->lines[tamis__line_ones(used)]++;
        saturated += tamis__line_ones(full);
    }
    return saturated;
}

const struct tamis__filter_ops tamis__counting_ops = {
    .init = tamis__bloom_init,
    .release = tamis__bloom_release,
    .add = add,
    .contains = contains,
    .remove = remove_keys,
    .copies = copies,
    .touch = tamis__blocks_touch,
    .estimate = tamis__bloom_estimate,
    .clear = tamis__bloom_clear,
    .copy = tamis__bloom_copy,
    .body_extent = tamis__bloom_body_extent,
    .restore = tamis__bloom_restore,
    .union_into = tamis__bloom_union,
    .parts = &parts_ops,
    .pieces = &tamis__blocks_pieces,
};
