/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/kernels/stream_kernels.h"

const struct tamis__stream_kernels *tamis__stream_kernels_of(tamis__isa isa) {
    static const struct tamis__stream_kernels *const sets[TAMIS__ISA_COUNT] = {
        [TAMIS__ISA_SCALAR] = &tamis__stream_kernels_scalar,
#ifdef TAMIS__HAVE_NEON
        [TAMIS__ISA_NEON] = &tamis__stream_kernels_neon,
#endif
#ifdef TAMIS__HAVE_AVX2
        [TAMIS__ISA_AVX2] = &tamis__stream_kernels_avx2,
#endif
#ifdef TAMIS__HAVE_AVX512
        [TAMIS__ISA_AVX512] = &tamis__stream_kernels_avx512,
#endif
    };
    return sets[isa];
}

const struct tamis__stream_kernels *tamis__stream_kernels(void) {
    tamis__isa isa = TAMIS__ISA_SCALAR;
    (void)tamis__isa_get(&isa, NULL);
    return tamis__stream_kernels_of(isa);
}
