/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_ISA_H
#define TAMIS_BASE_ISA_H

#include "base/failure.h"

/* Kernel sets, one for each instruction set, in rising order of preference. A kernels/ directory has one
 * file and one function table for each set that is built. The scalar set is always built. */
typedef enum tamis__isa {
    TAMIS__ISA_SCALAR = 0,
    TAMIS__ISA_NEON,
    TAMIS__ISA_AVX2,
    TAMIS__ISA_AVX512,
    TAMIS__ISA_COUNT
} tamis__isa;

/* The kernel sets in this build; the CPU may lack some of them. cmake/TamisLibraries.cmake has the
 * compiler options for each set. */
#ifndef TAMIS_SCALAR_ONLY
#if defined __x86_64__
#define TAMIS__HAVE_AVX2   1
#define TAMIS__HAVE_AVX512 1
#elif defined __aarch64__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TAMIS__HAVE_NEON 1
#endif
#endif

/*
 * Returns in *isa the kernel set for this process. The first call decides, from the environment variable
 * TAMIS_KERNEL or else from the CPU; later calls return the same set. Thread-safe.
 *
 * Error: TAMIS_E_UNSUPPORTED if TAMIS_KERNEL names a set that this build or this CPU lacks; *isa is
 * unchanged.
 */
TAMIS_PRIVATE_API tamis_status tamis__isa_get(tamis__isa *isa, tamis_error *err);

/* Makes the same decision for a given value of TAMIS_KERNEL (NULL: not set) without storing it. For tests. */
TAMIS_PRIVATE_API tamis_status tamis__isa_choose(const char *forced, tamis__isa *isa, tamis_error *err);

/* Returns the name of a set as TAMIS_KERNEL spells it, built or not. The string is static. */
TAMIS_PRIVATE_API const char *tamis__isa_name(tamis__isa isa);

#endif
