/* SPDX-License-Identifier: BSD-2-Clause */
#include "hash/kernels/hash_kernels.h"

const struct tamis__hash_kernels *tamis__hash_kernels_of(tamis__isa isa) {
#ifdef TAMIS__HAVE_AVX512
    if (isa == TAMIS__ISA_AVX512)
        return &tamis__hash_kernels_avx512;
#endif
    (void)isa;
    return &tamis__hash_kernels_scalar;
}
