/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_KERNELS_FINGERPRINT_BMI_H
#define TAMIS_FILTER_KERNELS_FINGERPRINT_BMI_H

/* What AVX2 and AVX-512 have in common: the bit instructions that came with the former. */
#include <immintrin.h>

#include "filter/fingerprint_line.h"

/* A one in front of the ends makes the end of a bucket and of the one before it neighbours, bucket 0 too. */
static INLINED slot_range set_bucket(const line_geometry *g, uint64_t ends, uint32_t bucket) {
    (void)g;
    uint64_t both = _pdep_u64(UINT64_C(3) << bucket, ends << 1 | 1);
    return (slot_range){(uint32_t)_tzcnt_u64(both) - bucket, 62 - (uint32_t)_lzcnt_u64(both) - bucket};
}

/* One bit a slot. */
static INLINED uint32_t slots_in(slot_range range) {
    return (1u << range.last) - (1u << range.first);
}

/* Of slots whose heads match, does an entry? A branch, which is guessed well where keys are mostly new. */
static INLINED bool any_matches(const line_geometry *g, const uint8_t *line, uint32_t slots,
                                tamis__u128 wanted) {
    if (g->tail_bits == 0)
        return slots != 0;
    for (; slots; slots &= slots - 1)
        if (line_slot_matches(g, line, (uint32_t)_tzcnt_u32(slots), wanted))
            return true;
    return false;
}

/* The same where as many keys may be there as not, and a wrong guess would throw away the lines on their way behind it: the
 * first slot, or the last of the line where there is none, is compared without a branch. Only where that takes less than
 * guessing does. */
static INLINED bool any_matches_mixed(const line_geometry *g, const uint8_t *line, uint32_t slots,
                                      tamis__u128 wanted) {
    if (g->tail_bits != 8)
        return any_matches(g, line, slots, wanted);
    uint32_t first = (uint32_t)_tzcnt_u32(slots | 1u << (g->slots - 1));
    bool found = (slots != 0) & line_slot_matches(g, line, first, wanted);
    return found | any_matches(g, line, slots & (slots - 1), wanted);
}

#endif
