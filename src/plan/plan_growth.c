/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Numbers of keys that are only guesses. A filter that is made for far too many keys takes memory and time
 * for nothing. Its pages are cleared, and its lines miss the caches. One that is made for too few keys is
 * full too early. A kind that grows takes memory as keys come, so it is preferred where the number may be
 * wrong.
 *
 * Three tools, for three sorts of knowledge:
 *
 *     the caller knows                        call
 *     -------------------------------------   ---------------------------------------------------------------
 *     that the number may be wrong            tamis_plan_options_prefer_growth: kind fingerprint, if it fits
 *     that no more than N keys can come       tamis_plan_options_limit: plans for N, if that is less
 *     nothing but the guess                   tamis_plan_start_small: the planned table, from its beginning
 *
 * The second is the case of an input of known size: a file of 1 MB has at most a million records, whatever
 * number was given. The last two change nothing for filters of up to 64 MiB, which cost little.
 *
 * Measured (docs/PERFORMANCE.md, "Tried"): 2 million addresses from a pipe, planned for 1e9 keys, take 0.3 s
 * and 25 MB if the table begins small. With the planned size at once they took 12.2 s and 4.5 GB. If the
 * guess is right, beginning small takes 1.9 s of processor time instead of 1.7.
 *
 * Invariants:
 *
 * 1. A table that begins small keeps the planned rate, and ends with the planned lines or a few more.
 * 2. A kind that was requested by name, and a number of probes, are never replaced.
 * 3. A plan with a memory limit does not begin small. The limit holds for the final size, and it is better
 *    to refuse at once than after an hour.
 */
#include <math.h>

#include "base/versioned.h"
#include "plan/plan_int.h"

enum {
    LARGE = 64 << 20, /* bytes of a filter; a smaller one costs little even if it stays empty */
    DOUBLINGS = 4     /* doublings of a table at once */
};

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
    const bool grows = tamis__kind_grows(plan.kind);
    if (!grows && parsed.kind != TAMIS_KIND_AUTO)
        return;
    if (max_keys < parsed.expect)
        options->expect = max_keys;
    if (grows) {
        options->kind = plan.kind;
    } else if (options->expect < parsed.expect) {
        /* A number that is only a guess is not a reason for a kind that cannot grow past it. */
        (void)tamis_plan_options_prefer_growth(options);
        if (options->kind == TAMIS_KIND_AUTO)
            options->expect = parsed.expect;
    }
}

/* ---- beginning small ---- */

/*
 * A table that begins small has the lines of the planned one without some doublings. Its slots are wider by
 * as many bits or more. An entry then knows all bits that it would know in the planned table. Each doubling
 * makes a bit of the remainder a bit of the position. What a narrower slot no longer holds is more than the
 * planned table holds of any key. So the final table is the planned one.
 *
 *     lines        1/256       1/16        1        of the planned table
 *     slot bits    w + 8       w + 4       w
 *
 * Slots come in eight widths, so the next width that suffices is taken. Why steps of four doublings: each
 * step converts all entries once, and 1/16 + 1/256 + ... of n keys is n/15 conversions in all. Steps of one
 * doubling would convert each key once on average. While a step runs, the old table and the new one are in
 * memory together; at 1/16 the old one is small beside the new one.
 *
 * The number of lines of the first step is rounded up to a multiple of 64, the most partitions. So the final
 * table may have a few lines more than one that is made at once, never fewer.
 */

/* The plan of the final size. */
static bool plan_final(const tamis_plan *plan, uint64_t keys, tamis_plan *final) {
    const tamis_plan_options options = {.struct_size = sizeof options,
                                        .kind = plan->kind,
                                        .scheme = plan->scheme,
                                        .expect = keys,
                                        .fpr = plan->fpr};
    return tamis__plan_kind(final, &options, plan->kind, NULL) == TAMIS_OK;
}

/* The number of doublings from `lines` to the lines of the final size. */
static uint32_t doublings_to(const tamis_plan *final, uint64_t lines) {
    uint32_t doublings = 0;
    while (lines << doublings < final->lines)
        doublings++;
    return doublings;
}

/* Gives the plan `lines` lines, for a table that `doublings` doublings will make the final one. */
static void set_step(tamis_plan *plan, const tamis_plan *final, uint64_t lines, uint32_t doublings) {
    const tamis__line_shape *shape = tamis__line_shape_from(final->slot_bits);
    const double rate = ldexp(final->fpr_predicted, -(int)doublings);
    while (shape->slot_bits != 120 && tamis__line_shape_rate(shape, (double) final->capacity) > rate)
        shape = tamis__line_shape_wider(shape); /* 120 bits hold the whole hash */
    tamis__plan_set_lines(plan, shape, lines);
    if (plan->kind == TAMIS_KIND_EXACT)
        plan->fpr = plan->fpr_predicted;
}

void tamis_plan_start_small(tamis_plan *plan) {
    tamis_plan final, small = *plan;
    uint32_t doublings = 0;
    if (!tamis__kind_grows(plan->kind) || plan->capacity == 0 || plan->memory_limit ||
        plan->memory <= LARGE || !plan_final(plan, plan->capacity, &final))
        return;
    while (final.memory >> doublings > LARGE) /* whole steps: the old table is small beside the final one */
        doublings += DOUBLINGS;
    const uint64_t parts = TAMIS__FINGERPRINT_SIZED_MAX, unit = parts << doublings;
    small.partitions = 1;
    set_step(&small, &final, (final.lines + unit - 1) / unit * parts, doublings);
    small.target = plan->capacity;
    *plan = small;
}

bool tamis__plan_next_size(const tamis_plan *now, tamis_plan *next) {
    tamis_plan final;
    *next = *now;
    if (now->target == 0 || !plan_final(now, now->target, &final))
        return false;
    const uint32_t left = doublings_to(&final, now->lines);
    const uint32_t step = left < DOUBLINGS ? left : DOUBLINGS;
    if (left == step)
        next->target = 0;
    if (left > 0)
        set_step(next, &final, now->lines << step, left - step);
    return left > 0;
}
