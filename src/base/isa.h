/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_ISA_H
#define TAMIS_BASE_ISA_H

#include "base/failure.h"

/* Sets of vector kernels, in rising order of preference. A kernels/ folder has a table per set that is
 * built; scalar is always there. */
typedef enum tamis__isa { TAMIS__ISA_SCALAR = 0, TAMIS__ISA_AVX512, TAMIS__ISA_COUNT } tamis__isa;

#if defined __x86_64__ && !defined TAMIS_SCALAR_ONLY
#define TAMIS__HAVE_AVX512 1 /* is built; the machine may still lack it */
#endif

/*
 * The set to use in this process, decided at the first call (thread-safe) by TAMIS_KERNEL or the
 * machine. TAMIS_E_UNSUPPORTED where TAMIS_KERNEL names what is not here; *isa is untouched then.
 */
TAMIS_PRIVATE_API tamis_status tamis__isa_get(tamis__isa *isa, tamis_error *err);

/* The same decision for a given value of TAMIS_KERNEL (NULL: not set), not remembered: for tests. */
TAMIS_PRIVATE_API tamis_status tamis__isa_choose(const char *forced, tamis__isa *isa, tamis_error *err);

#endif
