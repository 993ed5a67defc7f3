/* SPDX-License-Identifier: BSD-2-Clause */
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

/* ---- what the machine has: every extension that the options of a set's files name ---- */

#ifdef TAMIS__HAVE_AVX2
/* clang 14 does not ask for it by name. */
static bool has_lzcnt(void) {
    unsigned a, b, c, d;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
}

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") && has_lzcnt();
}

/* The last came with machines on which wide vectors no longer slow down what runs beside them. */
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
    case TAMIS__ISA_NEON: /* no arm64 is without */
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
        size_t used = strlen(here);
        if (isa_is_here((tamis__isa)i))
            snprintf(here + used, sizeof here - used, "%s%s", used ? ", " : "", isa_names[i]);
    }
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "TAMIS_KERNEL=%s: no such kernels in this build or on this machine; unset it or "
                       "use one of those that are here: %s",
                       forced, here);
}

tamis_status tamis__isa_choose(const char *forced, tamis__isa *isa, tamis_error *err) {
    bool any = !forced || !*forced;
    for (int i = TAMIS__ISA_COUNT - 1; i >= 0; i--) {
        if ((any || strcmp(forced, isa_names[i]) == 0) && isa_is_here((tamis__isa)i)) {
            *isa = (tamis__isa)i;
            return TAMIS_OK;
        }
    }
    return refuse(forced, err);
}

/* 0: not decided; 1 + isa: decided; -1: refused. Two threads that decide at once decide the same. */
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
    int decision = isa_decide();
    if (decision < 0)
        return tamis__isa_choose(getenv("TAMIS_KERNEL"), isa, err);
    *isa = (tamis__isa)(decision - 1);
    return TAMIS_OK;
}

const char *tamis_kernel_name(void) {
    int decision = isa_decide();
    return decision < 0 ? "unavailable" : isa_names[decision - 1];
}
