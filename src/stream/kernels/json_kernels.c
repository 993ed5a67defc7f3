/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/kernels/json_kernels.h"

const struct tamis__json_kernels *tamis__json_kernels_of(tamis__isa isa) {
    static const struct tamis__json_kernels *const sets[TAMIS__ISA_COUNT] = {
        [TAMIS__ISA_SCALAR] = &tamis__json_kernels_scalar,
        [TAMIS__ISA_NEON] = &tamis__json_kernels_scalar,
        [TAMIS__ISA_AVX2] = &tamis__json_kernels_scalar,
#ifdef TAMIS__HAVE_AVX512
        [TAMIS__ISA_AVX512] = &tamis__json_kernels_avx512,
#endif
    };
    return sets[isa];
}

#ifdef TAMIS__HAVE_AVX512
#define EIGHT(byte) byte, byte, byte, byte, byte, byte, byte, byte
#define ALL(byte)                                                                                            \
    { EIGHT(byte), EIGHT(byte), EIGHT(byte), EIGHT(byte), EIGHT(byte), EIGHT(byte), EIGHT(byte), EIGHT(byte) }
__attribute__((aligned(64)))
const unsigned char tamis__json_constants[sizeof TAMIS__JSON_CONSTANTS - 1][64] = {
    ALL('"'), ALL('\\'), ALL(' '), ALL('{'), ALL('}'), ALL(':'), ALL(','), ALL('0'), ALL(0x5f), ALL(9)};
#endif
