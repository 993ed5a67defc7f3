/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Which set of vector kernels this process uses. The best one that was built and that the CPU has, or the one
 * that TAMIS_KERNEL names:
 *
 *     TAMIS_KERNEL   CPU has           set
 *     ------------   ---------------   ----------------------------------------
 *     not set        AVX2              avx2
 *     not set        AVX2 and AVX512   avx512
 *     scalar         anything          scalar
 *     avx512         AVX2              none: TAMIS_E_UNSUPPORTED
 *
 * Invariants:
 * 1. A set is chosen once. All filters of the process use it, also those made by other threads.
 * 2. A set needs every extension for which its files are compiled. The compiler may use them anywhere in
 *    these files, not only where an intrinsic stands.
 *
 * Why a name that is not there is an error and not a fallback: TAMIS_KERNEL is for comparing two sets. With a
 * fallback the user would measure the wrong one.
 */
#include "base/isa.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TAMIS__HAVE_AVX2
#include <cpuid.h>
#endif

static const char *const isa_names[TAMIS__ISA_COUNT] = {
    [TAMIS__ISA_SCALAR] = "scalar",
    [TAMIS__ISA_NEON] = "neon",
    [TAMIS__ISA_AVX2] = "avx2",
    [TAMIS__ISA_AVX512] = "avx512",
};

const char *tamis__isa_name(tamis__isa isa) {
    return isa_names[isa];
}

/* ---- what the CPU supports ---- A kernel set needs every extension that the compiler options of its
 * files enable. */

#ifdef TAMIS__HAVE_AVX2
/* Asks cpuid, because __builtin_cpu_supports("lzcnt") is unknown to clang 14. */
static bool has_lzcnt(void) {
    unsigned a, b, c, d;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
}

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") && has_lzcnt();
}

/* Requires avx512vpopcntdq because of its age: CPUs that have it no longer slow down other code while
 * 512-bit vectors are in use. */
static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
           __builtin_cpu_supports("avx512vpopcntdq");
}
#endif

static bool isa_is_here(tamis__isa isa) {
    switch (isa) {
#ifdef TAMIS__HAVE_AVX2
    case TAMIS__ISA_AVX2:
        return has_avx2();
    case TAMIS__ISA_AVX512:
        return has_avx512();
#endif
#ifdef TAMIS__HAVE_NEON
    case TAMIS__ISA_NEON: /* every arm64 CPU has it */
        return true;
#endif
    default:
        return isa == TAMIS__ISA_SCALAR;
    }
}

/* ---- the choice ---- */

static tamis_status refuse(const char *forced, tamis_error *err) {
    char here[64] = "";
    for (int i = 0; i < TAMIS__ISA_COUNT; i++) {
        const size_t used = strlen(here);
        if (isa_is_here((tamis__isa)i))
            snprintf(here + used, sizeof here - used, "%s%s", used ? ", " : "", isa_names[i]);
    }
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "TAMIS_KERNEL=%s: no such kernels in this build or on this machine; unset it or "
                       "use one of those that are here: %s",
                       forced, here);
}

tamis_status tamis__isa_choose(const char *forced, tamis__isa *isa, tamis_error *err) {
    const bool any = !forced || !*forced;
    for (int i = TAMIS__ISA_COUNT - 1; i >= 0; i--) {
        if ((any || strcmp(forced, isa_names[i]) == 0) && isa_is_here((tamis__isa)i)) {
            *isa = (tamis__isa)i;
            return TAMIS_OK;
        }
    }
    return refuse(forced, err);
}

/* The cached decision: 0 = none yet, 1 + isa = chosen, -1 = TAMIS_KERNEL is refused. Two threads that
 * decide at the same time reach the same decision. */
static atomic_int isa_decision;

static int isa_decide(void) {
    int decision = atomic_load_explicit(&isa_decision, memory_order_acquire);
    if (decision == 0) {
        tamis__isa isa = TAMIS__ISA_SCALAR;
        decision = tamis__isa_choose(getenv("TAMIS_KERNEL"), &isa, NULL) == TAMIS_OK ? 1 + (int)isa : -1;
        atomic_store_explicit(&isa_decision, decision, memory_order_release);
    }
    return decision;
}

tamis_status tamis__isa_get(tamis__isa *isa, tamis_error *err) {
    const int decision = isa_decide();
    if (decision < 0)
        return tamis__isa_choose(getenv("TAMIS_KERNEL"), isa, err);
    *isa = (tamis__isa)(decision - 1);
    return TAMIS_OK;
}

const char *tamis_kernel_name(void) {
    const int decision = isa_decide();
    return decision < 0 ? "unavailable" : isa_names[decision - 1];
}
