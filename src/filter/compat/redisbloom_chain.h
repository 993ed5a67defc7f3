/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_REDISBLOOM_CHAIN_H
#define TAMIS_FILTER_REDISBLOOM_CHAIN_H

/* The chain of sub-filters, for the files that make it from bytes. redisbloom.c has the picture. */
#include <tamis/compat/redisbloom.h>

#include "base/memory.h"
#include "hash/positions.h"

/* Options of a chain, as RedisBloom stores them. */
enum {
    TAMIS__RB_EXACT_BITS = 1, /* the number of bits is not rounded up to a power of two */
    TAMIS__RB_HASH64 = 4,     /* 64-bit hashes */
    TAMIS__RB_NONSCALING = 8
};

typedef struct tamis__rb_subfilter {
    tamis_redisbloom_subfilter size; /* sizes and number of keys */
    tamis__modulus modulus;          /* of positions */
    uint64_t end;                    /* bytes of this and all older bit arrays */
    uint8_t *bits;                   /* size.bytes bytes; NULL: nothing is loaded yet */
} tamis__rb_subfilter;

struct tamis_redisbloom {
    tamis_allocator allocator;
    uint64_t keys; /* sum of the keys of all sub-filters */
    uint32_t options;
    uint32_t growth;
    tamis__rb_subfilter *subfilters; /* oldest first */
    size_t count;                    /* number of sub-filters */
    size_t allocated;                /* sub-filters that the array holds */
    uint64_t bytes;                  /* bytes of all bit arrays */
    uint64_t loaded;                 /* bytes that are loaded, from the oldest on */
};

/* Makes a chain without sub-filters. */
tamis_status tamis__rb_create_empty(tamis_redisbloom **chain, const tamis_allocator *allocator,
                                    tamis_error *err);
/* Checks a sub-filter from outside, and appends it without bits. `bytes` of the chain include it. */
tamis_status tamis__rb_append(tamis_redisbloom *chain, const tamis_redisbloom_subfilter *size,
                              tamis_error *err);
/* Checks a chain from outside whose sub-filters are appended. */
tamis_status tamis__rb_check(const tamis_redisbloom *chain, tamis_error *err);
/* Allocates the bits of a sub-filter, all zero. */
tamis_status tamis__rb_allocate_bits(tamis_redisbloom *chain, size_t index, tamis_error *err);

static inline bool tamis__rb_is_complete(const tamis_redisbloom *chain) {
    return chain->loaded == chain->bytes;
}

/* TAMIS_E_DAMAGED if the chain is incomplete. */
tamis_status tamis__rb_check_complete(const tamis_redisbloom *chain, tamis_error *err);

#endif
