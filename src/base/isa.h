/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_ISA_H
#define TAMIS_BASE_ISA_H

#include "base/failure.h"

/* Sets of vector kernels, in rising order of preference. A kernels/ folder has a file and a table per set that is built;
 * scalar is always there. */
typedef enum tamis__isa {
    TAMIS__ISA_SCALAR = 0,
    TAMIS__ISA_NEON,
    TAMIS__ISA_AVX2,
    TAMIS__ISA_AVX512,
    TAMIS__ISA_COUNT
} tamis__isa;

/* What is built; the machine may still lack it. cmake/TamisLibraries.cmake has the options of each for the compiler. */
#ifndef TAMIS_SCALAR_ONLY
#if defined __x86_64__
#define TAMIS__HAVE_AVX2   1
#define TAMIS__HAVE_AVX512 1
#elif defined __aarch64__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TAMIS__HAVE_NEON 1
#endif
#endif

/*
 * The set to use in this process, decided at the first call (thread-safe) by TAMIS_KERNEL or the
 * machine. TAMIS_E_UNSUPPORTED where TAMIS_KERNEL names what is not here; *isa is untouched then.
 */
TAMIS_PRIVATE_API tamis_status tamis__isa_get(tamis__isa *isa, tamis_error *err);

/* The same decision for a given value of TAMIS_KERNEL (NULL: not set), not remembered: for tests. */
TAMIS_PRIVATE_API tamis_status tamis__isa_choose(const char *forced, tamis__isa *isa, tamis_error *err);

/* What TAMIS_KERNEL calls a set, built or not. Static storage. */
TAMIS_PRIVATE_API const char *tamis__isa_name(tamis__isa isa);

#endif
