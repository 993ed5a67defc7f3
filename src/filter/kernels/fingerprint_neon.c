/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Fingerprint tables with NEON. Only the search for a bucket in `ends` differs from scalar code.
 *
 * Scalar code takes off one after the other of the ones of `ends`, in a loop whose length the CPU cannot
 * predict. Here a byte-wise population count finds the byte that has the k-th one, and the same method finds
 * the bit in that byte.
 *
 * The rest is the scalar code: a bucket has few entries, and comparing a whole line at once takes more
 * instructions than comparing these.
 */
#include "filter/kernels/fingerprint_values.h"

#ifdef TAMIS__HAVE_NEON
#include <arm_neon.h>

/* A one in each byte. */
#define ONES UINT64_C(0x0101010101010101)

/* How many of eight sums are not above k. The sums are bytes, ascending, and at most 127. */
static INLINED uint32_t not_above(uint64_t byte_counts, uint64_t k) {
    const uint64_t which = ((k * ONES | ONES << 7) - byte_counts) & ONES << 7;
    return (uint32_t)((which >> 7) * ONES >> 56);
}

/* The position of the k-th one, counted from 0. Finds its byte by the sums of ones up to each byte, then
 * its bit. */
static INLINED uint32_t select_bit(uint64_t bits, uint32_t k) {
    const uint64_t byte_counts = vget_lane_u64(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(bits))), 0) * ONES;
    const uint32_t byte_shift = 8 * not_above(byte_counts, k);
    const uint64_t spread = (bits >> byte_shift & 0xff) * ONES & UINT64_C(0x8040201008040201);
    const uint64_t each = (spread + (ONES << 7) - ONES) >> 7 & ONES;
    return byte_shift + not_above(each * ONES, k - (uint32_t)(byte_counts << 8 >> byte_shift & 0xff));
}

/* As select_bit, for k below 4: clears the k lowest ones. */
static INLINED uint32_t select_near(uint64_t bits, uint32_t k) {
    for (uint32_t i = 0; i < 3; i++)
        bits &= (bits - 1) | -(uint64_t)(k <= i); /* no branch: it would be mispredicted */
    return (uint32_t)__builtin_ctzll(bits);
}

/* As ends_bucket. A one below `ends` makes bucket 0 like the others. */
static INLINED slot_range isa_bucket(const line_geometry *g, uint64_t ends, uint32_t bucket) {
    const uint64_t bucket_ends = ends << 1 | 1;
    const uint32_t first =
        g->spill_bucket <= 4 ? select_near(bucket_ends, bucket) : select_bit(bucket_ends, bucket);
    return (slot_range){first - bucket, first + (uint32_t)__builtin_ctzll(ends >> first) - bucket};
}

#define isa_has    line_find
#define isa_finds  line_find
#define isa_insert line_insert_in
#define isa_remove line_remove_in
#define isa_decode values_decode
#define isa_move   values_move
#define isa_encode values_encode
#include "filter/kernels/fingerprint_loops.h"

const struct tamis__table_kernels tamis__table_kernels_neon = {
    .add = add, .contains = contains, .rewrite = rewrite};
#endif
