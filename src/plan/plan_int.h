/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_PLAN_PLAN_INT_H
#define TAMIS_PLAN_PLAN_INT_H

#include <tamis/plan.h>

#include "base/failure.h"

/* What plan and the fingerprint kind have to agree on. */
enum {
    TAMIS__FINGERPRINT_PARTITION_BITS = 8, /* a growing table begins with 256 partitions, */
    TAMIS__FINGERPRINT_SPLIT_BITS = 4,     /* each of which is split in 16 when it is large */
    TAMIS__FINGERPRINT_FIRST_LOG2 = 6,     /* floor(log2(lines)) of a new one */
    TAMIS__FINGERPRINT_FIRST_MOST = 79, /* lines of a new one at most, see tamis__fingerprint_first_lines */
    TAMIS__FINGERPRINT_FIXED_MOST = 64, /* a table made for its keys has so many at the most, */
    TAMIS__FINGERPRINT_FIXED_LINES = 4096, /* and no more than leave each so many lines */
    TAMIS__FINGERPRINT_LEAST_LINES = 64,   /* least lines of a table made for its keys */
    TAMIS__EXACT_LEAST_LINES =
        512,                     /* the same with 120-bit slots: 9 bits of line and 119 of a guest are 128 */
    TAMIS__FINGERPRINT_ROW = 64, /* bytes that each takes beside its lines, */
    TAMIS__FINGERPRINT_STRETCH = 16,    /* and each that a growing table begins with in addition */
    TAMIS__FINGERPRINT_GROWN_LOG2 = 40, /* growing tables are planned to keep their rate up to 2^40 keys */
    TAMIS__BLOCK_BITS = 512,            /* a block of kind blocked */
    TAMIS__BLOCKED_PROBES_MAX = 32      /* most probes that are chosen for it; more can be asked for */
};

/* Lines a growing table's partition i starts with: 64 to 79, so that the 256 reach their next size (a
 * quarter more) one after the other and not all at the same number of keys. */
static inline uint64_t tamis__fingerprint_first_lines(uint32_t i) {
    return (UINT64_C(1) << TAMIS__FINGERPRINT_FIRST_LOG2) + i % 16;
}

/*
 * A way to divide a line, see filter/fingerprint_line.h. `load` is the share of slots in use at capacity,
 * or at which a growing partition grows; `rate` the measured rate at that load times 2^(slot_bits - 1):
 * of a table made for its keys, or of one that grew to 2^40 keys. ./dev bench growth measures both.
 */
typedef struct tamis__line_shape {
    uint8_t slot_bits;
    uint8_t home_bits;
    uint8_t slots;
    double load;
    double rate;
    double second; /* share of lines that are full then: a lookup of an absent key reads a second one */
} tamis__line_shape;

/* The shape whose rate is at most p with the fewest bits, of those for known or unknown numbers of keys;
 * the last of them (all 128 bits of the hash) where p is smaller than any. */
const tamis__line_shape *tamis__line_shape_for(double p, bool grows);
/* The shape of these slot bits. */
const tamis__line_shape *tamis__line_shape_of(uint32_t slot_bits, bool grows);

/* Rate of a filter of b bits after t throws for k probes, with the variance of the fill: what tamis_bloom_fpr leaves
 * out, a tenth of the rate where there are few keys. */
double tamis__bits_fpr(double b, double t, double k);

/* The same of m bits, a position being one of `values` equally likely numbers modulo m. */
double tamis__uneven_fpr(double values, double m, double t, double k);

/* What is to be added to the rate of m bits where positions are a progression modulo m that comes back to where it
 * was, `fill` being the share of bits set. `places`: 1, or 2 where each has a mirror image (guava32). */
double tamis__repeats_fpr(double fill, double m, double k, uint32_t places);
/* What is added where half of the k positions are the first multiples of one number, which two keys may share
 * (redisson). */
double tamis__multiples_fpr(double fill, double k);

/* Blocked: most keys a block, on average, at rate p, with *k probes, or with the best k, which it fills in, where
 * *k is 0. 0 where p is out of reach. */
double tamis__blocked_load(double p, uint32_t *k);
/* The m of least memory for n keys at rate p; false where p is out of reach. *k as above. */
bool tamis__blocked_size(double n, double p, double *m, uint32_t *k);
/* The least rate of n keys in m bits. *k as above. */
double tamis__blocked_best_fpr(double n, double m, uint32_t *k);

/* ---- one kind, plan_kind.c; `want` is checked: expect and probes may be 0, fpr is given ---- */

/* Bits of a digest of the scheme; AUTO is xxh3 or sip. */
uint32_t tamis__plan_digest_bits(tamis_scheme scheme);
/* TAMIS_E_UNSUPPORTED where the kind needs more of a digest than the scheme has. */
tamis_status tamis__plan_check_scheme(tamis_kind kind, tamis_scheme scheme, tamis_error *err);
/* Whether a plan of that scheme has the sizes and the rate that another program gives it. */
bool tamis__scheme_has_own_sizes(tamis_scheme scheme);
/* The most bits that a classic filter of that scheme can use. */
uint64_t tamis__scheme_bits_max(tamis_scheme scheme);
/* The least rate that can be asked of that kind and number of keys. */
double tamis__plan_least_fpr(const tamis_want *want, tamis_kind kind);

/* What the scheme's positions add to the rate of a classic filter by coming back to where they were; 0 for most. */
TAMIS_PRIVATE_API double tamis__scheme_repeats(tamis_scheme scheme, double fill, double m, double k);
/* The rate of a classic filter of that scheme with n keys. */
TAMIS_PRIVATE_API double tamis__classic_fpr(tamis_scheme scheme, double n, double m, double k);

/* The size of that kind, whatever the memory. `reason` is left empty. */
tamis_status tamis__plan_kind(tamis_plan *plan, const tamis_want *want, tamis_kind kind, tamis_error *err);
/* A plan is a struct that anybody may fill: TAMIS_E_INVALID names a field with which no filter can be made. */
tamis_status tamis__plan_check_made(const tamis_plan *plan, tamis_error *err);
/* Gives a plan of a table for a known number of keys so many lines of that shape, and what follows from them: capacity, memory,
 * partitions (at least as many as the plan has) and rate. The lines are a multiple of the partitions. */
void tamis__plan_set_lines(tamis_plan *plan, const tamis__line_shape *shape, uint64_t lines);
/* The rate of a table of that shape that is full, as planned; `keys` counts for slots that hold the whole hash. */
double tamis__line_shape_rate(const tamis__line_shape *shape, double keys);
/* The narrowest shape of a table for a known number of keys that has at least so many slot bits. */
const tamis__line_shape *tamis__line_shape_from(uint32_t slot_bits);
/* The next wider one; NULL after the last. */
const tamis__line_shape *tamis__line_shape_wider(const tamis__line_shape *shape);
/* Gives a plan of kind classic or blocked these bits and probes, and what follows from them. */
void tamis__plan_set_bits(tamis_plan *plan, uint64_t bits, uint32_t probes);

/* ---- the choice, plan.c ---- */

/* What a kind may weigh more than another, or of which it may have a larger rate or fewer keys in the same memory, and
 * still be chosen for touching fewer lines. */
#define TAMIS__FEWER_LINES_ALLOWANCE 1.25

#define TAMIS__REASON_CLASSIC_ONLY "the only kind for a scheme without a digest of 128 bits"

/* 1e-09 -> "1e-9": four digits, the exponent as people write it. */
enum { TAMIS__PLAN_NUMBER = 16 };
const char *tamis__plan_number(char text[TAMIS__PLAN_NUMBER], double number);

/* 901688 -> "901688 bytes (881 KiB)" */
enum { TAMIS__PLAN_BYTES = 48 };
const char *tamis__plan_bytes(char text[TAMIS__PLAN_BYTES], uint64_t bytes);

bool tamis__plan_fits(const tamis_plan *plan);
/* Fills plan->reason, and adds what there is to say of its scheme. */
void tamis__plan_explain(tamis_plan *plan, const char *reason);
/* Fills *want from the caller's; TAMIS_E_INVALID where either struct has no struct_size. */
TAMIS_PRIVATE_API tamis_status tamis__plan_take(tamis_want *want, const tamis_want *given,
                                                const tamis_plan *plan, tamis_error *err);
/* Numbers within their bounds, and names that exist. */
tamis_status tamis__plan_check(const tamis_want *want, tamis_error *err);

#endif
