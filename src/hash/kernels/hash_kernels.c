/* SPDX-License-Identifier: BSD-2-Clause */
#include "hash/kernels/hash_kernels.h"

const struct tamis__hash_kernels *tamis__hash_kernels_of(tamis__isa isa) {
#ifdef TAMIS__HAVE_AVX2
    if (isa == TAMIS__ISA_AVX2)
        return &tamis__hash_kernels_avx2;
#endif
#ifdef TAMIS__HAVE_AVX512
    if (isa == TAMIS__ISA_AVX512)
        return &tamis__hash_kernels_avx512;
#endif
    (void)isa;
    return &tamis__hash_kernels_scalar;
}
