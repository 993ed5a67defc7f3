/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds classic and blocked: Bloom filters of m bits with k probes a key.
 *
 * A Bloom filter is a bit array. Adding a key sets the bits at k positions that the key's hash selects. A key
 * is present if all of its k bits are set. A false positive is an absent key whose bits were all set by other
 * keys. A false negative cannot happen: bits are never cleared.
 *
 * Kind counting has counters in the place of bits, so that keys can be removed: see counting.c. It shares
 * the operations below that do not depend on the bits.
 *
 * The two kinds have the same array and differ only in the choice of positions:
 *
 *     classic   | . x . . . . . x . . . . . . . . . x . . . . . x . . |  anywhere in the m bits
 *     blocked   | . . . . . . | . x . x . x x | . . . . . | . . . . . |  in one block of 512 bits
 *
 * - classic: the key's scheme selects positions in the whole array (hash/positions.h, bloom_classic.c). With
 *   the schemes of other programs, such as Guava, the array is theirs bit for bit. A lookup reads up to k
 *   cache lines.
 * - blocked: one hash word selects a block of 512 bits, which is a cache line; the other selects k positions
 *   in it (kernels/filter_blocked.h). A lookup reads one cache line. Blocks get unequal numbers of keys
 *   (Poisson distribution), so a blocked filter needs more bits for the same rate. The plan accounts for
 *   that.
 *
 * Bits a key (docs/MATH.md, "Blocked Bloom filter"):
 *
 *     rate    classic   blocked
 *     1e-2    9.6       9.9
 *     1e-4    19.2      22.0
 *     1e-6    28.8      38.8
 *     1e-9    43.1      80.1
 *
 * Layout: 64-bit words; bit i is bit i & 63 of word i >> 6, as in Guava. On disk the words are little-endian
 * (docs/FORMAT.md).
 *
 * Operations, and what they cost in cache lines:
 *
 *     operation         classic                            blocked                      file
 *     ---------------   --------------------------------   --------------------------   -------------------
 *     add               k                                  1                            bloom_classic.c,
 *     lookup, present   k                                  1                            kernels/filter_*
 *     lookup, absent    about 2                            1
 *     union             all of both filters                all of both filters          bloom_estimate.c
 *     statistics        all                                all                          bloom_estimate.c
 *     clear, copy       all                                all                          bloom.c
 *
 * Sizes. `bits` and `probes` come from the plan and never change. `modulus` is m prepared for the reduction
 * of hashes to positions (hash/positions.h). `max_absent` is the number of keys answered absent at which the
 * filter is full. Some of the keys up to the capacity are answered present by mistake. So it is the expected
 * number of the others plus five standard deviations, and at most the capacity (tamis__bloom_max_absent).
 *
 * Sources of the bits. The words are the filter's own memory, or those of a mapped file (`borrowed`). A
 * mapped filter is read-only, and its words are released with the mapping. A file that may be changed in
 * memory is read into a block that becomes the filter's (tamis__filter_own).
 *
 * Invariants:
 * 1. Bits past m in the last word are zero. Counts of set bits and comparisons of filters rely on it.
 * 2. Bits are only set, except by clear(). So a union is a bitwise or, and a copy taken in pieces has every
 *    key that was added before the copy.
 * 3. filter->added counts the keys answered absent. A key that a false positive answered present is not
 *    counted.
 *
 * Capacity. A filter refuses new keys beyond max_absent (TAMIS_E_FULL), unless it allows more than its
 * capacity (`allow_over_capacity`). Keys that are present are still answered when it is full.
 *
 * Copies of concurrent filters are made in pieces (copy_words). Since bits are only set, a piece that is
 * copied later can only have more keys. The copy is a valid filter with all keys added before it began.
 *
 * Parts (filter/parts.h): a blocked filter is divided into ranges of blocks, which share no cache line. A
 * classic filter cannot be divided; concurrent threads set its bits with atomic operations instead
 * (bloom_classic.c).
 *
 * Measured: ./dev bench memory has the time a key of both kinds, beside libbloom (docs/PERFORMANCE.md).
 */
#include <inttypes.h>
#include <string.h>

#include "base/system.h"
#include "filter/block_verifier.h"
#include "filter/bloom/bloom_int.h"
#include "hash/positions.h"
#include "plan/plan_int.h"

/* Checks the sizes. Plans may be made by hand, to match another program's filter. */
static tamis_status check_plan(const tamis_plan *plan, tamis_error *err) {
    const bool blocked = plan->kind != TAMIS_KIND_CLASSIC;
    if (plan->bits < 1 || plan->bits > TAMIS_BITS_MAX || plan->probes < 1 ||
        plan->probes > TAMIS_PROBES_MAX || (blocked && plan->bits % (64 * BLOCK_WORDS)))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "plan: %" PRIu64 " bits and %" PRIu32
                           " probes are none of kind %s; call tamis_plan_make first",
                           plan->bits, plan->probes, tamis_kind_name(plan->kind));
    return TAMIS_OK;
}

/* Makes the body without its words. */
static tamis_status create_empty(tamis_filter *filter, bloom **created, tamis_error *err) {
    const tamis_plan *plan = &filter->plan;
    const tamis_status status = check_plan(plan, err);
    if (status != TAMIS_OK)
        return status;
    bloom *b = tamis__alloc(&filter->allocator, sizeof *b, _Alignof(bloom));
    if (!b)
        return tamis__fail_nomem(err, "filter", sizeof *b);
    filter->body = b;
    b->bits = plan->bits;
    b->modulus = tamis__modulus_of(plan->bits);
    b->probes = plan->probes;
    b->positions = plan->kind == TAMIS_KIND_COUNTING ? plan->bits / COUNTER_BITS : plan->bits;
    b->block = plan->kind == TAMIS_KIND_CLASSIC ? 0 : tamis__block_positions_of(plan->kind);
    b->rate = plan->kind == TAMIS_KIND_CLASSIC   ? tamis_bloom_fpr
              : plan->kind == TAMIS_KIND_BLOCKED ? tamis_blocked_fpr
                                                 : tamis_counting_fpr;
    b->max_absent = tamis__bloom_max_absent(b, plan->capacity);
    b->bytes = (size_t)((plan->bits + 63) / 64 * 8);
    *created = b;
    return TAMIS_OK;
}

tamis_status tamis__bloom_init(tamis_filter *filter, tamis_error *err) {
    bloom *b = NULL;
    const tamis_status status = create_empty(filter, &b, err);
    if (status != TAMIS_OK)
        return status;
    b->words = tamis__filter_alloc(filter, b->bytes);
    if (!b->words)
        return tamis__fail_nomem(err, "filter", b->bytes);
    tamis__advise_large(b->words, b->bytes);
    return TAMIS_OK;
}

void tamis__bloom_release(tamis_filter *filter) {
    bloom *b = filter->body;
    if (!b)
        return;
    if (b->words && !b->borrowed)
        tamis__filter_release(filter, b->words, b->bytes);
    tamis__free(&filter->allocator, b, sizeof *b);
    filter->body = NULL;
}

void tamis__bloom_clear(tamis_filter *filter) {
    bloom *b = filter->body;
    memset(b->words, 0, b->bytes);
    b->union_added = 0;
    b->union_false_present = 0;
}

tamis_status tamis__bloom_copy(tamis_filter *to, const tamis_filter *from, tamis_error *err) {
    (void)err; /* init() has allocated all memory */
    bloom *mine = to->body;
    const bloom *other = from->body;
    memcpy(mine->words, other->words, mine->bytes);
    mine->union_added = other->union_added;
    mine->union_false_present = other->union_false_present;
    return TAMIS_OK;
}

/* Ends a copy made in pieces. Bits are never cleared, so all pieces have the keys added before the copy,
 * though they were copied at different times. */
static void finish_pieces(tamis_filter *to, const tamis_filter *from) {
    bloom *mine = to->body;
    const bloom *other = from->body;
    mine->union_added = other->union_added;
    mine->union_false_present = other->union_false_present;
}

/* Copies the next piece of the words `first` to `end` - 1. Reads each word atomically: in a classic filter
 * other threads may change it. */
static void copy_words(tamis_filter *to, const tamis_filter *from, uint64_t first, uint64_t end,
                       uint64_t *pos) {
    uint64_t *mine = ((bloom *)to->body)->words;
    const uint64_t *others = ((const bloom *)from->body)->words;
    const uint64_t start = first + *pos, max = start + TAMIS__PIECE / 8, last = max < end ? max : end;
    for (uint64_t i = start; i < last; i++)
        mine[i] = __atomic_load_n(&others[i], __ATOMIC_RELAXED);
    *pos = last == end ? TAMIS__COPIED : last - first;
}

static tamis_status classic_piece(tamis_filter *to, const tamis_filter *from, tamis__copied_part *copied,
                                  tamis_error *err) {
    const uint64_t words = ((const bloom *)from->body)->bytes / 8, share = words / copied->parts;
    const bool is_last = copied->part + 1 == copied->parts;
    (void)err;
    copy_words(to, from, share * copied->part, is_last ? words : share * (copied->part + 1), &copied->pos);
    return TAMIS_OK;
}

static void populate(tamis_filter *to) {
    bloom *mine = to->body;
    tamis__advise_written(mine->words, mine->bytes);
}

static const tamis__piece_ops classic_pieces = {
    .populate = populate, .end = finish_pieces, .copy = classic_piece};

const uint64_t *tamis__bloom_words(const tamis_filter *filter, size_t *count) {
    const bloom *b = filter->body;
    *count = b->bytes / 8;
    return b->words;
}

bool tamis__bloom_body_extent(const tamis_filter *filter, size_t i, tamis__body_extent *out) {
    const bloom *b = filter->body;
    if (i > 0)
        return false;
    *out = (tamis__body_extent){.bytes = (const uint8_t *)b->words, .size = b->bytes};
    return true;
}

/* Restores from an image. Its body is the words, then zeros to the end of a 64-byte line. */
tamis_status tamis__bloom_restore(tamis_filter *filter, const tamis__image *image, tamis_error *err) {
    bloom *b = NULL;
    const tamis_status status = create_empty(filter, &b, err);
    if (status != TAMIS_OK)
        return status;
    const uint64_t needed = (b->bytes + TAMIS__LINE - 1) / TAMIS__LINE * TAMIS__LINE;
    if (image->body_size != needed)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: body_size is %" PRIu64 ", not the %" PRIu64 " that %" PRIu64
                           " bits take; restore the file from a copy, or build it anew",
                           image->name, image->body_size, needed, b->bits);
    b->borrowed = true;
    b->words = (uint64_t *)(uintptr_t)image->body; /* written to only after tamis__filter_own */
    b->union_added = image->union_added;
    b->union_false_present = image->union_false_present;
    return TAMIS_OK;
}

/* The bits past m, and the zeros after the last word, must be zero. Only the last block of a file has
 * them. */
bool tamis__bloom_valid(const void *context, const uint8_t *bytes, uint64_t size) {
    const bloom *b = context;
    const uint8_t *end = (const uint8_t *)b->words + b->bytes;
    if (bytes + size < end)
        return true;
    uint64_t last = b->words[b->bytes / 8 - 1], used = b->bits % 64;
    if (used && last >> used)
        return false;
    for (const uint8_t *pos = end; pos < bytes + size; pos++)
        if (*pos)
            return false;
    return true;
}

double tamis__bloom_union_counts(const tamis_filter *filter, uint64_t *added) {
    const bloom *b = filter->body;
    *added = b->union_added;
    return b->union_false_present;
}

uint64_t *tamis__bloom_words_mut(tamis_filter *filter, size_t *count) {
    const bloom *b = filter->body;
    *count = b->bytes / 8;
    return b->words;
}

uint64_t tamis__bloom_remaining(const tamis_filter *filter) {
    const bloom *b = filter->body;
    if (filter->allow_over_capacity || filter->handle_over_capacity)
        return UINT64_MAX;
    return b->max_absent > filter->added ? b->max_absent - filter->added : 0;
}

void tamis__bloom_count_absent(tamis_filter *filter, uint64_t absent) {
    const bloom *b = filter->body;
    filter->added += absent;
    filter->saturated = filter->saturated || filter->added > b->max_absent;
}

/* ---- blocked ---- */

static tamis_status blocked_add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                tamis_error *err) {
    tamis__blocks blocks = tamis__blocks_of(filter->body);
    uint64_t before = tamis__bloom_remaining(filter), remaining = before;
    *done = filter->kernels->blocked_add(&blocks, batch->hashes, batch->count, &remaining, batch->answers);
    tamis__bloom_count_absent(filter, before - remaining);
    return *done == batch->count ? TAMIS_OK : tamis__filter_full(filter, TAMIS_FULL_CAPACITY, err);
}

static void blocked_contains(const tamis_filter *filter, const tamis__key_batch *batch) {
    tamis__blocks blocks = tamis__blocks_of(filter->body);
    filter->kernels->blocked_contains(&blocks, batch->hashes, batch->count, batch->answers);
}

tamis_status tamis__blocks_touch(const tamis_filter *filter, const tamis__key_batch *batch,
                                 tamis_error *err) {
    tamis__blocks blocks = tamis__blocks_of(filter->body);
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < batch->count && status == TAMIS_OK; i++)
        status =
            tamis__block_verifier_check(filter->verifier, tamis__block_of(&blocks, &batch->hashes[i]), err);
    return status;
}

/* ---- parts of a blocked or counting filter: ranges of blocks ---- */

uint32_t tamis__blocks_max_parts(const tamis_filter *filter, uint32_t max) {
    const tamis__blocks blocks = tamis__blocks_of(filter->body);
    while (max > blocks.blocks)
        max /= 2;
    return max;
}

bool tamis__blocks_parts_fit(const tamis_filter *filter, size_t count) {
    return tamis__bloom_remaining(filter) >= count;
}

/* The first block of a part. A key's block is floor(word[1] * blocks / 2^64), so the least word[1] of
 * block b is 2^64 * b / blocks, rounded up. A block on the border of two equal shares belongs to the part
 * on its left. */
static uint64_t first_block(const tamis_filter *filter, uint32_t part, uint32_t parts) {
    return (uint64_t)(((tamis__u128)part * tamis__blocks_of(filter->body).blocks + parts - 1) / parts);
}

uint64_t tamis__blocks_part_from(const tamis_filter *filter, uint32_t part, uint32_t parts) {
    const tamis__blocks blocks = tamis__blocks_of(filter->body);
    const tamis__u128 first = first_block(filter, part, parts);
    return (uint64_t)(((first << 64) + blocks.blocks - 1) / blocks.blocks);
}

static tamis_status part_add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                             tamis_error *err) {
    (void)err;
    tamis__blocks blocks = tamis__blocks_of(filter->body);
    uint64_t remaining = UINT64_MAX;
    *done = filter->kernels->blocked_add(&blocks, batch->hashes, batch->count, &remaining, batch->answers);
    return TAMIS_OK;
}

static const tamis__parts_ops parts_ops = {.max_parts = tamis__blocks_max_parts,
                                           .fit = tamis__blocks_parts_fit,
                                           .from = tamis__blocks_part_from,
                                           .add = part_add,
                                           .added = tamis__bloom_count_absent};

static tamis_status blocks_piece(tamis_filter *to, const tamis_filter *from, tamis__copied_part *copied,
                                 tamis_error *err) {
    (void)err;
    copy_words(to, from, first_block(from, copied->part, copied->parts) * BLOCK_WORDS,
               first_block(from, copied->part + 1, copied->parts) * BLOCK_WORDS, &copied->pos);
    return TAMIS_OK;
}

const tamis__piece_ops tamis__blocks_pieces = {
    .populate = populate, .end = finish_pieces, .copy = blocks_piece};

const struct tamis__filter_ops tamis__classic_ops = {
    .init = tamis__bloom_init,
    .release = tamis__bloom_release,
    .add = tamis__classic_add,
    .contains = tamis__classic_contains,
    .touch = tamis__classic_touch,
    .estimate = tamis__bloom_estimate,
    .clear = tamis__bloom_clear,
    .copy = tamis__bloom_copy,
    .body_extent = tamis__bloom_body_extent,
    .restore = tamis__bloom_restore,
    .union_into = tamis__bloom_union,
    .pieces = &classic_pieces,
    .concurrent = &tamis__classic_concurrent,
};

const struct tamis__filter_ops tamis__blocked_ops = {
    .init = tamis__bloom_init,
    .release = tamis__bloom_release,
    .add = blocked_add,
    .contains = blocked_contains,
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
