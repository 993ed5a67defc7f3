/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_PLAN_PLAN_INT_H
#define TAMIS_PLAN_PLAN_INT_H

#include <tamis/plan.h>

#include "base/failure.h"

/* Constants shared by the plan and the fingerprint kind. A table is either growing or sized. A growing
 * table has an unknown number of keys, and grows by partition. A sized one was given the number of keys,
 * and grows as a whole when it is full. */
enum {
    TAMIS__FINGERPRINT_PARTITION_BITS = 8, /* growing: log2 of its partitions at first */
    TAMIS__FINGERPRINT_SPLIT_BITS = 4, /* growing: log2 of the parts that a large partition is split into */
    TAMIS__FINGERPRINT_FIRST_LOG2 = 6, /* growing: floor(log2(lines)) of a new partition */
    TAMIS__FINGERPRINT_FIRST_MAX = 79, /* growing: largest number of lines of a new partition */
    TAMIS__FINGERPRINT_SIZED_MAX = 64, /* sized: largest number of partitions */
    TAMIS__FINGERPRINT_SIZED_LINES = 4096, /* sized: smallest number of lines per partition, if several */
    TAMIS__FINGERPRINT_MIN_LINES = 64,     /* sized: smallest number of lines */
    /* sized, with 120-bit slots: smallest number of lines. 9 bits of the line number and 119 of a spilled
     * entry are all 128 bits of a hash. */
    TAMIS__EXACT_MIN_LINES = 512,
    TAMIS__FINGERPRINT_PARTITION_BYTES = 64, /* bytes of a partition besides its lines */
    TAMIS__FINGERPRINT_GROUP_BYTES = 16,     /* growing: further bytes of each first partition */
    TAMIS__FINGERPRINT_GROWN_LOG2 = 40,      /* growing: log2 of the keys up to which the rate is planned */
    TAMIS__BLOCK_BITS = 512,                 /* blocked, counting: bits of a block */
    TAMIS__BLOCK_COUNTERS = 128,             /* counting: counters of a block, of 4 bits each */
    TAMIS__BLOCKED_PROBES_MAX = 32 /* blocked, counting: max. probes chosen; the caller may give more */
};

/* Blocked, counting: the number of positions in a block that a probe selects from. */
static inline uint32_t tamis__block_positions_of(tamis_kind kind) {
    return kind == TAMIS_KIND_COUNTING ? TAMIS__BLOCK_COUNTERS : TAMIS__BLOCK_BITS;
}

/* Returns the lines that partition i of a growing table starts with: 64 to 79. The starting sizes differ
 * so that the 256 partitions grow one after the other, not all at the same number of keys. The next size
 * is a quarter larger. */
static inline uint64_t tamis__fingerprint_first_lines(uint32_t i) {
    return (UINT64_C(1) << TAMIS__FINGERPRINT_FIRST_LOG2) + i % 16;
}

/*
 * How a 64-byte line is divided into slots (picture in filter/table/fingerprint_line.h). Each shape is a
 * compromise between memory and false-positive rate. load, rate and second are measured by ./dev bench
 * growth.
 *
 * The hash of an entry selects its home line. If that has no free slot, the entry is stored in a second line.
 * Such a spilled entry knows home_bits fewer bits of its hash.
 */
typedef struct tamis__line_shape {
    uint8_t slot_bits; /* bits of a slot, end marker included */
    uint8_t home_bits; /* log2 of the buckets of a line */
    uint8_t slots;     /* slots of a line */
    double load;       /* share of used slots at capacity, or when a partition grows */
    double rate;       /* false-positive rate at that load, times 2^(slot_bits - 1) */
    double second;     /* share of full lines, where a lookup of an absent key reads two */
} tamis__line_shape;

/* Returns the shape with the fewest slot bits whose rate is at most p, for a growing or a sized table. If
 * p is below all rates, returns the last shape, which stores all 128 bits of the hash. */
const tamis__line_shape *tamis__line_shape_for(double p, bool grows);
/* Returns the shape with these slot bits, or the last one. */
const tamis__line_shape *tamis__line_shape_of(uint32_t slot_bits, bool grows);

/* Returns the rate of b bits after t throws for k probes, including the variance of the fill.
 * tamis_bloom_fpr leaves that out, which is a tenth of the rate for few keys. */
double tamis__bits_fpr(double b, double t, double k);

/* Like tamis__bits_fpr for m bits, where a position is one of `values` equally likely numbers modulo m. */
double tamis__uneven_fpr(double values, double m, double t, double k);

/* Returns the increase of the rate of m bits if positions are a progression modulo m that may return to
 * where it was. `fill` is the share of set bits. `positions` is 1, or 2 if each position has a mirror image
 * (guava32). */
double tamis__repeats_fpr(double fill, double m, double k, uint32_t positions);
/* Returns the increase of the rate if half of the k positions are the first multiples of one number, which
 * two keys may share (redisson). */
double tamis__multiples_fpr(double fill, double k);

/*
 * Blocked and counting, with `positions` in a block: returns the maximal average number of keys per block at
 * rate p. 0: p is out of reach. Uses *k probes; if *k is 0, finds the best k and stores it.
 */
double tamis__blocked_load(uint32_t positions, double p, uint32_t *k);
/* Computes the smallest m for n keys at rate p. Returns false if p is out of reach. *k as in
 * tamis__blocked_load. */
bool tamis__blocked_size(uint32_t positions, double n, double p, double *m, uint32_t *k);
/* Returns the lowest rate of n keys in m bits. *k as in tamis__blocked_load. */
double tamis__blocked_best_fpr(uint32_t positions, double n, double m, uint32_t *k);

/* ---- one kind, plan_kind.c; `options` is checked: fpr is given, expect and probes may be 0 ---- */

/* Returns the digest bits of a scheme. AUTO counts as 128 bits, because it becomes xxh3 or sip. */
uint32_t tamis__plan_digest_bits(tamis_scheme scheme);
/* Returns TAMIS_E_UNSUPPORTED if the kind needs more digest bits than the scheme has. */
tamis_status tamis__plan_check_scheme(tamis_kind kind, tamis_scheme scheme, tamis_error *err);
/* True if another program defines the sizes of this scheme, so that the plan uses its rule. */
bool tamis__scheme_has_own_sizes(tamis_scheme scheme);
/* True if filters of this kind grow beyond their number of keys: tables of fingerprints and windows. */
bool tamis__kind_grows(tamis_kind kind);
/* True if a filter with this plan grows: the same, and cuckoo filters without a number of keys. */
bool tamis__plan_grows(const tamis_plan *plan);
/* Returns the largest number of bits that a classic filter of this scheme can use. */
uint64_t tamis__scheme_bits_max(tamis_scheme scheme);
/* Returns the lowest rate that can be requested for this kind, scheme and number of keys. */
double tamis__plan_min_fpr(const tamis_plan_options *options, tamis_kind kind);

/* Returns the increase of the rate of a classic filter because positions of this scheme repeat; 0 for most
 * schemes. */
TAMIS_PRIVATE_API double tamis__scheme_repeats(tamis_scheme scheme, double fill, double m, double k);
/* Returns the rate of a classic filter of this scheme with n keys. */
TAMIS_PRIVATE_API double tamis__classic_fpr(tamis_scheme scheme, double n, double m, double k);

/* Sizes a filter of this kind, however much memory that takes. Leaves `reason` empty and `caution`
 * NONE. */
tamis_status tamis__plan_kind(tamis_plan *plan, const tamis_plan_options *options, tamis_kind kind,
                              tamis_error *err);
/* Checks a plan from a caller, since any program may fill the struct. Returns TAMIS_E_INVALID, naming the
 * field, if no filter can be made with it. */
tamis_status tamis__plan_check_made(const tamis_plan *plan, tamis_error *err);
/* Sets the number of lines and their shape in a plan of a sized table, and everything that follows:
 * capacity, memory, rate and partitions. `lines` is a multiple of the partitions. The plan never gets
 * fewer partitions than it had. */
void tamis__plan_set_lines(tamis_plan *plan, const tamis__line_shape *shape, uint64_t lines);
/* Returns the rate of a full table of this shape. `keys` matters only for slots that hold the whole hash. */
double tamis__line_shape_rate(const tamis__line_shape *shape, double keys);
/* Returns the narrowest shape of a sized table with at least this number of slot bits. */
const tamis__line_shape *tamis__line_shape_from(uint32_t slot_bits);
/* Returns the next wider shape, or NULL after the last. */
const tamis__line_shape *tamis__line_shape_wider(const tamis__line_shape *shape);
/* Sets *next to the next size of a table that began small (tamis_plan_start_small). False: it has its planned
 * size. */
TAMIS_PRIVATE_API bool tamis__plan_next_size(const tamis_plan *now, tamis_plan *next);
/* Sets bits and probes in a plan of a Bloom filter, and everything that follows from them. */
void tamis__plan_set_bits(tamis_plan *plan, uint64_t bits, uint32_t probes);

/* ---- windows, plan_window.c ---- */

/* How a window stores times and fingerprints. It follows from the plan alone. A slot has a step code in its
 * lowest bits, and a fingerprint above it. */
typedef struct tamis__window_shape {
    uint32_t slots;            /* slots of a 64-byte line */
    uint32_t tail_bytes;       /* bytes of a slot beyond the first 4 */
    uint32_t code_bits;        /* bits of a step code; code 0 is a free slot */
    uint32_t fingerprint_bits; /* bits of a fingerprint */
    uint32_t kept;             /* steps whose entries are kept */
    uint32_t codes;            /* step codes in use: step s has code 1 + s % codes */
} tamis__window_shape;

#define TAMIS__WINDOW_LOAD 0.85 /* share of used slots at which a larger table is begun */
enum {
    TAMIS__WINDOW_TABLES_MAX = 16,   /* max. tables at once: the rate is planned for so many */
    TAMIS__WINDOW_LINES_FIRST = 512, /* lines of the first table, if the number of keys is not known */
    TAMIS__WINDOW_LINES_MIN = 64     /* min. lines of a table */
};

tamis__window_shape tamis__window_shape_of(const tamis_plan *plan);
/* Returns the rate of a window with the slots of the plan and the most tables. */
double tamis__window_max_rate(const tamis_plan *plan);
/* Sizes a window. As tamis__plan_kind. */
tamis_status tamis__plan_window(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err);
/* As tamis__plan_check_made, for kind window. */
tamis_status tamis__plan_check_window(const tamis_plan *plan, tamis_error *err);

/* ---- cuckoo filters, plan_cuckoo.c ---- */

enum {
    TAMIS__CUCKOO_SLOTS = 4,            /* slots of a bucket */
    TAMIS__CUCKOO_BITS_MIN = 8,         /* bits of a slot */
    TAMIS__CUCKOO_BITS_MAX = 57,        /* a slot that begins at any bit lies within 8 bytes */
    TAMIS__CUCKOO_SPARE = 8,            /* bytes after the last slot at least: slots are read as 8 bytes */
    TAMIS__CUCKOO_TABLES_MAX = 32,      /* growing: max. tables, for which the rate is planned */
    TAMIS__CUCKOO_FIRST_BUCKETS = 1024, /* growing: buckets of the first table */
    TAMIS__CUCKOO_TABLE_BYTES = 96      /* growing: bytes of a table besides its slots */
};

/* True if a filter of this kind and scheme has RedisBloom's own layout (filter/compat/). */
static inline bool tamis__is_redisbloom_cuckoo(tamis_kind kind, tamis_scheme scheme) {
    return kind == TAMIS_KIND_CUCKOO && scheme == TAMIS_SCHEME_REDISBLOOM;
}

/* Returns the number of buckets. */
uint64_t tamis__cuckoo_buckets(const tamis_plan *plan);
/* Returns the memory for so many bits of slots: a multiple of 64 bytes. */
uint64_t tamis__cuckoo_bytes(uint64_t bits);
/* Returns the keys that a table of so many buckets takes, 0 if they are too few to promise any. */
uint64_t tamis__cuckoo_capacity(uint64_t buckets);
/* Returns the rate of a table with so many entries. */
double tamis__cuckoo_fpr(double entries, double buckets, uint32_t slot_bits);
/* Returns the rate of a full table of many keys, with slots of so many bits. */
double tamis__cuckoo_rate(uint32_t slot_bits);
/* Sizes a cuckoo filter. As tamis__plan_kind. */
tamis_status tamis__plan_cuckoo(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err);
/* Returns the name of the first field of a plan that is wrong, and stores its value; NULL: none is. */
const char *tamis__plan_check_cuckoo(const tamis_plan *plan, uint64_t *value);

/* ---- the choice, plan.c ---- */

/* A kind that touches fewer lines is preferred while it costs at most this factor. The cost is in memory,
 * in rate, or in keys that fit the same memory. */
#define TAMIS__FEWER_LINES_ALLOWANCE 1.25

#define TAMIS__REASON_CLASSIC_ONLY "the only kind for a scheme without a digest of 128 bits"

/* Formats a number with four digits and a short exponent: "1e-9" instead of "1e-09". Returns `text`. */
enum { TAMIS__PLAN_NUMBER = 16 };
const char *tamis__plan_number(char text[TAMIS__PLAN_NUMBER], double number);

/* Formats a size: "901688 bytes (881 KiB)". Returns `text`. */
enum { TAMIS__PLAN_BYTES = 48 };
const char *tamis__plan_bytes(char text[TAMIS__PLAN_BYTES], uint64_t bytes);

/* True if the plan has no memory limit or keeps it. */
bool tamis__plan_fits(const tamis_plan *plan);
/* Sets plan->caution, and plan->reason to `reason` and the text of the caution. */
void tamis__plan_explain(tamis_plan *plan, const char *reason);
/* Copies the caller's plan options. Returns TAMIS_E_INVALID if either struct has no struct_size. */
TAMIS_PRIVATE_API tamis_status tamis__plan_read_options(tamis_plan_options *options,
                                                        const tamis_plan_options *given,
                                                        const tamis_plan *plan, tamis_error *err);
/* Checks that numbers are in range and that kind and scheme exist. */
tamis_status tamis__plan_check(const tamis_plan_options *options, tamis_error *err);

#endif
