/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_BLOOM_INT_H
#define TAMIS_FILTER_BLOOM_INT_H

/*
 * The body of a Bloom filter: shared by bloom.c, bloom_classic.c, counting.c and bloom_estimate.c.
 *
 *     words   | word 0: bits 0..63 | word 1: bits 64..127 | ... | last word: zeros from bit m on |
 *
 * All kinds have the same body, so files and copies need no cases. In kinds blocked and counting m is a
 * multiple of 512: whole blocks of 8 words. In kind counting a word has 16 counters of 4 bits.
 *
 * The rate is never stored: it follows from the number of keys (`rate`), or from the bits themselves. What a
 * union did cannot be computed from the number of keys, so it is kept in the two fields of unions.
 */
#include "filter/filter_int.h"
#include "hash/positions.h"

enum { BLOCK_WORDS = 8, COUNTER_BITS = 4 };

typedef struct bloom {
    uint64_t *words;
    size_t bytes;       /* size of `words` */
    uint64_t bits;      /* m; any number in a classic filter. Bits of the last word past m stay zero */
    uint64_t positions; /* number of positions that the probes select from: m, or the number of counters */
    uint32_t block;     /* positions of a block; 0: kind classic */
    uint32_t probes;
    tamis__modulus modulus;     /* reduction of hashes to positions below m */
    bool borrowed;              /* the words belong to a file image */
    uint64_t max_absent;        /* number of keys answered absent at which the filter is full */
    uint64_t union_added;       /* filter->added after the last union */
    double union_false_present; /* expected number of new keys answered present until then, in both filters */
    double (*rate)(double n, double m, double k); /* false-positive rate with n keys, by kind and scheme */
} bloom;

/* The expected number of `absent` answers when `capacity` different keys are added: some are answered
 * present by mistake. Plus five standard deviations, so that these keys are never refused. At most
 * `capacity`. */
uint64_t tamis__bloom_max_absent(const bloom *b, uint64_t capacity);

/* Number of new keys that may still be added. UINT64_MAX if the filter allows more than its capacity. */
uint64_t tamis__bloom_remaining(const tamis_filter *filter);
/* Adds `absent` new keys to the filter's counts. */
void tamis__bloom_count_absent(tamis_filter *filter, uint64_t absent);

/* Operations of kind classic. */
extern const struct tamis__concurrent_ops tamis__classic_concurrent;
tamis_status tamis__classic_add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                tamis_error *err);
void tamis__classic_contains(const tamis_filter *filter, const tamis__key_batch *batch);
tamis_status tamis__classic_touch(const tamis_filter *filter, const tamis__key_batch *batch,
                                  tamis_error *err);

/* Operations of several kinds. */
tamis_status tamis__bloom_init(tamis_filter *filter, tamis_error *err);
void tamis__bloom_release(tamis_filter *filter);
void tamis__bloom_clear(tamis_filter *filter);
tamis_status tamis__bloom_copy(tamis_filter *to, const tamis_filter *from, tamis_error *err);
bool tamis__bloom_body_extent(const tamis_filter *filter, size_t i, tamis__body_extent *extent);
tamis_status tamis__bloom_restore(tamis_filter *filter, const tamis__image *image, tamis_error *err);
void tamis__bloom_estimate(const tamis_filter *filter, tamis_filter_info *info);
tamis_status tamis__bloom_union(tamis_filter *into, const tamis_filter *from, tamis_error *err);

/* The blocks of a blocked or counting filter. */
static inline tamis__blocks tamis__blocks_of(const bloom *b) {
    return (tamis__blocks){b->words, b->bits / (64 * BLOCK_WORDS), b->probes};
}

/* Operations of kinds with blocks. */
tamis_status tamis__blocks_touch(const tamis_filter *filter, const tamis__key_batch *batch, tamis_error *err);
uint32_t tamis__blocks_max_parts(const tamis_filter *filter, uint32_t max);
bool tamis__blocks_parts_fit(const tamis_filter *filter, size_t count);
uint64_t tamis__blocks_part_from(const tamis_filter *filter, uint32_t part, uint32_t parts);
extern const tamis__piece_ops tamis__blocks_pieces;

/* Counting filters: adds the counters of `count` words of `from` to those of `into`. */
void tamis__counting_sum(uint64_t *into, const uint64_t *from, uint64_t count);
/* Counts the lines of the filter by their counters that are not 0. Returns how many counters are
 * saturated. */
uint64_t tamis__counting_lines(const bloom *b, struct tamis__line_counts *counts);

#endif
