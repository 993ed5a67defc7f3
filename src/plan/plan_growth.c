/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Numbers of keys that are only guesses. A filter that is made for far too many keys takes memory and time for nothing. A kind
 * that grows takes memory as keys come, so it is preferred where the number may be wrong.
 */
#include "base/versioned.h"
#include "plan/plan_int.h"

enum { LARGE = 64 << 20 /* bytes of a filter; a smaller one costs little even if it stays empty */ };

bool tamis_want_prefer_growth(tamis_want *want) {
    tamis_want table = TAMIS_WANT_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis__take_struct(&table, sizeof table, want, "TAMIS_WANT_INIT", NULL) != TAMIS_OK ||
        table.kind != TAMIS_KIND_AUTO || table.probes > 0)
        return true;
    table.kind = TAMIS_KIND_FINGERPRINT;
    const tamis_status status = tamis_plan_make(&plan, &table, &err);
    if (status == TAMIS_OK)
        want->kind = TAMIS_KIND_FINGERPRINT;
    return status != TAMIS_E_NO_ROOM;
}

void tamis_want_limit(tamis_want *want, uint64_t most) {
    tamis_want taken = TAMIS_WANT_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    if (tamis__take_struct(&taken, sizeof taken, want, "TAMIS_WANT_INIT", NULL) != TAMIS_OK ||
        taken.expect == 0 || tamis_plan_make(&plan, &taken, NULL) != TAMIS_OK || plan.memory <= LARGE)
        return;
    const bool is_bloom = tamis_kind_is_bloom(plan.kind);
    if (is_bloom && taken.kind != TAMIS_KIND_AUTO)
        return;
    if (most < taken.expect)
        want->expect = most;
    if (!is_bloom) {
        want->kind = plan.kind;
    } else if (want->expect < taken.expect) {
        /* A number that is only a guess is no reason for a kind that cannot grow past it. */
        (void)tamis_want_prefer_growth(want);
        if (want->kind == TAMIS_KIND_AUTO)
            want->expect = taken.expect;
    }
}
