/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const isa_names[TAMIS__ISA_COUNT] = {
    [TAMIS__ISA_SCALAR] = "scalar", [TAMIS__ISA_AVX512] = "avx512"};

/* What the machine can run of what is built. */
static tamis__isa isa_best(void) {
#ifdef TAMIS__HAVE_AVX512
    /* The second came with machines on which wide vectors no longer slow down what runs beside them. */
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq"))
        return TAMIS__ISA_AVX512;
#endif
    return TAMIS__ISA_SCALAR;
}

tamis_status tamis__isa_choose(const char *forced, tamis__isa *isa, tamis_error *err) {
    tamis__isa best = isa_best();
    if (!forced || !*forced) {
        *isa = best;
        return TAMIS_OK;
    }
    for (int i = 0; i <= (int)best; i++) {
        if (strcmp(forced, isa_names[i]) == 0) {
            *isa = (tamis__isa)i;
            return TAMIS_OK;
        }
    }
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "TAMIS_KERNEL=%s: no such kernels in this build or on this machine; unset it or "
                       "use scalar",
                       forced);
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
