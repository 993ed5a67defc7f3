/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_BLOOM_INT_H
#define TAMIS_FILTER_BLOOM_INT_H

/* What bloom.c, bloom_classic.c and bloom_estimate.c share: the body of a classic or blocked filter. */
#include "filter/filter_int.h"
#include "hash/positions.h"

enum { BLOCK_WORDS = 8 };

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

/* "Fresh" answers to expect of as many different keys as the filter was made for: some of them are taken for seen.
 * Five standard deviations more, so that those keys themselves are not refused. */
uint64_t tamis__bloom_most_fresh(const bloom *b, uint64_t capacity);

/* "Fresh" answers that may still be given. */
uint64_t tamis__bloom_room(const tamis_filter *filter);
/* Takes note of `fresh` answers more. */
void tamis__bloom_count_fresh(tamis_filter *filter, uint64_t fresh);

/* Operations of classic. */
extern const struct tamis__concurrent_ops tamis__classic_concurrent;
tamis_status tamis__classic_add(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                tamis_answer *answers, size_t *done, tamis_error *err);
tamis_status tamis__classic_add_keys(tamis_filter *filter, const tamis_key *keys, size_t count,
                                     tamis_answer *answers, size_t *done, tamis_error *err);
void tamis__classic_contains(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                             tamis_answer *answers);
void tamis__classic_contains_keys(const tamis_filter *filter, const tamis_key *keys, size_t count,
                                  tamis_answer *answers);
tamis_status tamis__classic_touch(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                  tamis_error *err);
tamis_status tamis__classic_touch_keys(const tamis_filter *filter, const tamis_key *keys, size_t count,
                                       tamis_error *err);

/* Operations of both kinds. */
void tamis__bloom_estimate(const tamis_filter *filter, tamis_filter_info *info);
tamis_status tamis__bloom_unite(tamis_filter *into, const tamis_filter *from, tamis_error *err);

#endif
