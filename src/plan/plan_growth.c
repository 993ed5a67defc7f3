/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Numbers of keys that are only guesses. A filter that is made for far too many keys takes memory and time for nothing. A kind
 * that grows takes memory as keys come, so it is preferred where the number may be wrong.
 */
#include "base/versioned.h"
#include "plan/plan_int.h"

enum { LARGE = 64 << 20 /* bytes of a filter; a smaller one costs little even if it stays empty */ };

bool tamis_plan_options_prefer_growth(tamis_plan_options *options) {
    tamis_plan_options table = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis__read_struct(&table, sizeof table, options, "TAMIS_PLAN_OPTIONS_INIT", NULL) != TAMIS_OK ||
        table.kind != TAMIS_KIND_AUTO || table.probes > 0)
        return true;
    table.kind = TAMIS_KIND_FINGERPRINT;
    const tamis_status status = tamis_plan_make(&plan, &table, &err);
    if (status == TAMIS_OK)
        options->kind = TAMIS_KIND_FINGERPRINT;
    return status != TAMIS_E_MEMORY_LIMIT;
}

void tamis_plan_options_limit(tamis_plan_options *options, uint64_t max_keys) {
    tamis_plan_options parsed = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    if (tamis__read_struct(&parsed, sizeof parsed, options, "TAMIS_PLAN_OPTIONS_INIT", NULL) != TAMIS_OK ||
        parsed.expect == 0 || tamis_plan_make(&plan, &parsed, NULL) != TAMIS_OK || plan.memory <= LARGE)
        return;
    const bool is_bloom = tamis_kind_is_bloom(plan.kind);
    if (is_bloom && parsed.kind != TAMIS_KIND_AUTO)
        return;
    if (max_keys < parsed.expect)
        options->expect = max_keys;
    if (!is_bloom) {
        options->kind = plan.kind;
    } else if (options->expect < parsed.expect) {
        /* A number that is only a guess is no reason for a kind that cannot grow past it. */
        (void)tamis_plan_options_prefer_growth(options);
        if (options->kind == TAMIS_KIND_AUTO)
            options->expect = parsed.expect;
    }
}
