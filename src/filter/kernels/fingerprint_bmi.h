/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_KERNELS_FINGERPRINT_BMI_H
#define TAMIS_FILTER_KERNELS_FINGERPRINT_BMI_H

/*
 * Fingerprint lines with BMI1 and BMI2: what the AVX2 and AVX-512 kernels share.
 *
 * Finding a bucket. A bucket lies between two neighbouring ones of `ends` (fingerprint_line.h). Scalar code
 * takes the ones before it off in a loop, whose length the CPU cannot predict. PDEP deposits the bits of a
 * number at the ones of a mask: bit j of the number goes to the one number j. So the number 11 (binary),
 * shifted left by the bucket, selects both ones at once:
 *
 *     ends                    0 0 1 1 0 1       lowest bit first; 2 entries in bucket 0, none in 1
 *     with a one below      1 0 0 1 1 0 1       so that bucket 0 begins after a one, too
 *     PDEP, bucket 0        1 . . 1 . . .       ones at 0 and 3: slots 0 to 2, the last not included
 *     PDEP, bucket 1        . . . 1 1 . .       ones at 3 and 4: slots 2 to 2, so none
 */
#include <immintrin.h>

#include "filter/table/fingerprint_line.h"

/* The slots of a bucket. */
static INLINED slot_range isa_bucket(const line_geometry *g, uint64_t ends, uint32_t bucket) {
    (void)g;
    const uint64_t bucket_ends = _pdep_u64(UINT64_C(3) << bucket, ends << 1 | 1);
    return (slot_range){(uint32_t)_tzcnt_u64(bucket_ends) - bucket,
                        62 - (uint32_t)_lzcnt_u64(bucket_ends) - bucket};
}

/* A bit for each slot of a range. */
static INLINED uint32_t slots_in(slot_range range) {
    return (1u << range.last) - (1u << range.first);
}

/* True if one of the slots whose heads match has a matching entry. Uses a branch, which is predicted well
 * if keys are mostly new. */
static INLINED bool any_matches(const line_geometry *g, const uint8_t *line, uint32_t slots,
                                tamis__u128 wanted) {
    if (g->tail_bits == 0)
        return slots != 0;
    for (; slots; slots &= slots - 1)
        if (line_slot_matches(g, line, (uint32_t)_tzcnt_u32(slots), wanted))
            return true;
    return false;
}

/* As any_matches, for batches in which keys may be present or absent. A misprediction would stall the
 * fetching of later lines. So the first slot (the last slot of the line if there is none) is compared
 * without a branch. Only for tails of 8 bits, where that is faster. */
static INLINED bool any_matches_mixed(const line_geometry *g, const uint8_t *line, uint32_t slots,
                                      tamis__u128 wanted) {
    if (g->tail_bits != 8)
        return any_matches(g, line, slots, wanted);
    uint32_t first = (uint32_t)_tzcnt_u32(slots | 1u << (g->slots - 1));
    bool found = (slots != 0) & line_slot_matches(g, line, first, wanted);
    return found | any_matches(g, line, slots & (slots - 1), wanted);
}

#endif
