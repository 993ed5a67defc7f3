/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/kernels/json_kernels.h"

#ifdef TAMIS__HAVE_NEON
#include <arm_neon.h>

typedef uint8x16x4_t bytes64;

static inline bytes64 load(const unsigned char *at) {
    return vld1q_u8_x4(at);
}

static inline bytes64 load_some(const unsigned char *at, size_t size) {
    unsigned char some[64];
    memset(some, ' ', sizeof some);
    memcpy(some, at, size);
    return load(some);
}

/* A bit for each byte, of bytes that have all bits or none: neighbours are added up three times. */
static inline uint64_t packed(bytes64 bytes) {
    static const uint8_t places[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t place = vld1q_u8(places);
    const uint8x16_t low = vpaddq_u8(vandq_u8(bytes.val[0], place), vandq_u8(bytes.val[1], place));
    const uint8x16_t high = vpaddq_u8(vandq_u8(bytes.val[2], place), vandq_u8(bytes.val[3], place));
    const uint8x16_t all = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

static inline uint64_t equal(bytes64 bytes, unsigned char byte) {
    const uint8x16_t same = vdupq_n_u8(byte);
    for (int i = 0; i < 4; i++)
        bytes.val[i] = vceqq_u8(bytes.val[i], same);
    return packed(bytes);
}

static inline uint64_t within(bytes64 bytes, unsigned char least, unsigned char most) {
    const uint8x16_t from = vdupq_n_u8(least), to = vdupq_n_u8((uint8_t)(most - least));
    for (int i = 0; i < 4; i++)
        bytes.val[i] = vcleq_u8(vsubq_u8(bytes.val[i], from), to);
    return packed(bytes);
}

static inline bytes64 lower(bytes64 bytes) {
    const uint8x16_t bit = vdupq_n_u8(0x20);
    for (int i = 0; i < 4; i++)
        bytes.val[i] = vorrq_u8(bytes.val[i], bit);
    return bytes;
}

#include "stream/kernels/json_word.h"

#include "stream/kernels/json_blocks.h"

static bool skim(tamis__json *json, const tamis__json_text *text, tamis__json_ahead *ahead) {
    (void)ahead;
    return skim_from(json, text, NULL);
}

const struct tamis__json_kernels tamis__json_kernels_neon = {"neon", NULL, skim};
#endif
