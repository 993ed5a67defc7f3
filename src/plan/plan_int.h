/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_PLAN_PLAN_INT_H
#define TAMIS_PLAN_PLAN_INT_H

#include <tamis/plan.h>

#include "base/failure.h"

/* What plan and the fingerprint kind have to agree on. */
enum {
    TAMIS__FINGERPRINT_PARTITION_BITS = 8, /* a growing table has 256 partitions */
    TAMIS__FINGERPRINT_FIRST_LOG2 = 6,     /* floor(log2(lines)) of a new one */
    TAMIS__FINGERPRINT_LEAST_LINES = 64,   /* least lines of a table made for its keys */
    TAMIS__EXACT_LEAST_LINES =
        512,                     /* the same with 120-bit slots: 9 bits of line and 119 of a guest are 128 */
    TAMIS__FINGERPRINT_ROW = 64, /* bytes that each takes beside its lines */
    TAMIS__FINGERPRINT_GROWN_LOG2 = 40 /* growing tables are planned to keep their rate up to 2^40 keys */
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

/* Blocked: m and k of least memory for n keys at rate p; false where p is out of reach. */
bool tamis__blocked_size(double n, double p, double *m, uint32_t *k);

#endif
