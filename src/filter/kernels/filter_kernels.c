/* SPDX-License-Identifier: BSD-2-Clause */

/* The kernels by instruction set. base/isa.c returns only sets that the compiler knew (TAMIS__HAVE_...) and
 * the CPU has, so no entry that is asked for is NULL. */
#include "filter/kernels/filter_kernels.h"

const struct tamis__filter_kernels *tamis__filter_kernels_of(tamis__isa isa) {
    static const struct tamis__filter_kernels *const sets[TAMIS__ISA_COUNT] = {
        [TAMIS__ISA_SCALAR] = &tamis__filter_kernels_scalar,
#ifdef TAMIS__HAVE_NEON
        [TAMIS__ISA_NEON] = &tamis__filter_kernels_neon,
#endif
#ifdef TAMIS__HAVE_AVX2
        [TAMIS__ISA_AVX2] = &tamis__filter_kernels_avx2,
#endif
#ifdef TAMIS__HAVE_AVX512
        [TAMIS__ISA_AVX512] = &tamis__filter_kernels_avx512,
#endif
    };
    return sets[isa];
}
