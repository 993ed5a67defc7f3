/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels by instruction set. base/isa.c returns only sets that the compiler knew (TAMIS__HAVE_...) and
 * the CPU has. hash_kernels.h says how many keys each file hashes at a time.
 *
 *     avx512          hash_avx512.c
 *     avx2            hash_avx2.c
 *     neon, scalar    hash_scalar.c        NEON has no kernels of its own
 *
 * A set without a case here gets right results, only not fast.
 */
/*
 * Which kernels hash the batches of the process. base/isa.c chooses the instruction set, hasher.c looks its
 * kernels up once for each hasher:
 *
 *     set        kernels                   keys that share a step
 *     scalar     hash_scalar.c             none
 *     NEON       hash_scalar.c             none
 *     AVX2       hash_avx2.c               4
 *     AVX-512    hash_avx512.c             8
 *
 * A set that the compiler did not know has no file in the library. The CPU may have it all the same, but
 * base/isa.c never chooses it.
 */
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
