/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Sizing a window: from window, step, lateness and rate to the shape of a slot and the first table.
 *
 *     slot   | fingerprint | step code |       4 to 8 bytes, 16 to 8 of them in a line of 64 bytes
 *
 * Steps. A step is a span of time, and step s begins at s * step. For a record of any time that is not too
 * late, the entries of the window before that time are needed. So these steps are kept:
 *
 *     kept = ceil((window + lateness) / step) + 1
 *
 * Entries. `expect` is the number of keys in a window, and the kept steps have more. The first table has
 * slots for them and for one step more, because keys do not come evenly:
 *
 *     entries = expect * (kept + 1) * step / window
 *
 * A key that is renewed (refresh) may have two entries: its newest one, and the one before for late records.
 *
 * Step codes are steps modulo `codes` = 2^code_bits - 1, plus one; 0 is a free slot. Entries of steps that
 * are no longer kept stay in their slots until these are used again, or until filter/window/window.c purges
 * the table. With codes >= 2 * kept, that is once in `kept` steps or less often.
 *
 * The rate. A lookup of an absent key compares its fingerprint of f bits with all entries of two lines, in
 * each table:
 *
 *     rate = tables * 2 * slots * load * 2^-f
 *
 * The narrowest slot is used that keeps the rate with TAMIS__WINDOW_TABLES_MAX tables. Tables are many only
 * while a window fills for the first time; plan.fpr_predicted is for one. A day in steps of an hour has kept
 * = 26 and 6 bits of code. Then:
 *
 *     bytes of a slot   slots of a line   fingerprint   rate, 16 tables   bits a key
 *     4                 16                26 bits       6.5e-6            42.4
 *     5                 12                34            1.9e-8            56.5
 *     6                 10                42            6.2e-11           67.8
 *     7                 9                 50            2.2e-13           75.3
 *     8                 8                 58            7.5e-16           84.7
 */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "base/versioned.h"
#include "plan/plan_int.h"

/* Slots of a line, by the bytes of a slot beyond 4. */
static const uint8_t slots_of[] = {16, 12, 10, 9, 8};
enum { TAILS = sizeof slots_of };

static uint64_t ceil_div(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

static uint32_t code_bits_of(uint64_t kept) {
    uint32_t bits = 2;
    while ((UINT64_C(1) << bits) - 1 < 2 * kept)
        bits++;
    return bits;
}

static tamis__window_shape shape_of(const tamis_plan *plan, uint32_t tail_bytes) {
    const uint64_t kept = ceil_div(plan->window + plan->lateness, plan->step) + 1;
    const uint32_t bits = code_bits_of(kept);
    return (tamis__window_shape){.slots = slots_of[tail_bytes],
                                 .tail_bytes = tail_bytes,
                                 .code_bits = bits,
                                 .fingerprint_bits = 32 + 8 * tail_bytes - bits,
                                 .kept = (uint32_t)kept,
                                 .codes = (UINT32_C(1) << bits) - 1};
}

tamis__window_shape tamis__window_shape_of(const tamis_plan *plan) {
    return shape_of(plan, plan->slot_bits / 8 - 4);
}

/* The rate with one table. */
static double rate_of(const tamis__window_shape *shape) {
    return ldexp(2 * TAMIS__WINDOW_LOAD * shape->slots, -(int)shape->fingerprint_bits);
}

static tamis_status fail_time(tamis_error *err, const char *what, uint64_t value, const char *bounds) {
    return tamis__fail(err, TAMIS_E_RANGE, 0, "%s of %.10g s: %s", what, (double)value / 1000, bounds);
}

static bool is_window_valid(uint64_t window) {
    return window >= 1 && window <= TAMIS_WINDOW_MAX;
}

static bool is_step_valid(uint64_t step, uint64_t window) {
    return step >= 1 && step <= window;
}

double tamis__window_max_rate(const tamis_plan *plan) {
    const tamis__window_shape shape = tamis__window_shape_of(plan);
    return fmin(TAMIS_FPR_MAX, TAMIS__WINDOW_TABLES_MAX * rate_of(&shape));
}

/* The step of the options, or its default. */
static uint64_t step_of(const tamis_plan_options *options) {
    return options->step ? options->step : options->window / 24 ? options->window / 24 : 1;
}

uint64_t tamis_plan_options_max_lateness(const tamis_plan_options *given) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    if (tamis__read_struct(&options, sizeof options, given, "TAMIS_PLAN_OPTIONS_INIT", NULL) != TAMIS_OK ||
        !is_window_valid(options.window) || !is_step_valid(step_of(&options), options.window))
        return 0;
    return TAMIS_WINDOW_LATE_MAX * step_of(&options);
}

/* Checks the times of a plan. */
static tamis_status check_times(const tamis_plan *plan, tamis_error *err) {
    if (!is_window_valid(plan->window))
        return fail_time(err, "window", plan->window,
                         "not from 1 ms to 2^42 ms (139 years); choose one within");
    if (!is_step_valid(plan->step, plan->window))
        return fail_time(err, "step", plan->step, "not from 1 ms to the window; choose one within");
    if (plan->lateness > TAMIS_WINDOW_LATE_MAX * plan->step)
        return fail_time(err, "lateness", plan->lateness,
                         "more than 4 steps; choose a longer step, or less lateness");
    if (ceil_div(plan->window + plan->lateness, plan->step) > TAMIS_WINDOW_STEPS_MAX)
        return fail_time(err, "step", plan->step,
                         "more than 2046 of them in window and lateness; choose a longer step");
    return TAMIS_OK;
}

tamis_status tamis__plan_window(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err) {
    if (!options->window)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "kind window: needs the time for which a key counts as seen (window); give it");
    plan->window = options->window;
    plan->step = step_of(options);
    plan->lateness = options->lateness ? options->lateness : plan->step;
    plan->refresh = options->refresh;
    const tamis_status status = check_times(plan, err);
    if (status != TAMIS_OK)
        return status;
    tamis__window_shape shape = shape_of(plan, 0);
    uint32_t tail = 0;
    while (TAMIS__WINDOW_TABLES_MAX * rate_of(&shape) > options->fpr && ++tail < TAILS)
        shape = shape_of(plan, tail);
    if (tail == TAILS) {
        char rate[TAMIS__PLAN_NUMBER], min[TAMIS__PLAN_NUMBER];
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "false-positive rate %s: below %s, the least of a window with so many steps; "
                           "choose that or more, or a longer step",
                           tamis__plan_number(rate, options->fpr),
                           tamis__plan_number(min, TAMIS__WINDOW_TABLES_MAX * rate_of(&shape)));
    }
    const double used = TAMIS__WINDOW_LOAD * shape.slots, /* of a line */
        entries_per_key =
            (plan->refresh ? 2 : 1) * (double)(shape.kept + 1) * (double)plan->step / (double)plan->window;
    plan->slot_bits = 32 + 8 * tail;
    plan->lines = TAMIS__WINDOW_LINES_FIRST;
    if (options->expect)
        plan->lines = (uint64_t)fmax(2 * ceil((double)options->expect * entries_per_key / used / 2),
                                     TAMIS__WINDOW_LINES_MIN);
    plan->capacity = options->expect;
    plan->memory = plan->lines * TAMIS__LINE + shape.kept * sizeof(uint64_t);
    plan->bits_per_key = entries_per_key * 8 * TAMIS__LINE / used;
    plan->fpr_predicted = rate_of(&shape);
    plan->lines_touched = 2;
    return TAMIS_OK;
}

tamis_status tamis__plan_check_window(const tamis_plan *plan, tamis_error *err) {
    const uint32_t bits = plan->slot_bits;
    const tamis_status status = check_times(plan, err);
    if (status != TAMIS_OK)
        return status;
    if (bits % 8 != 0 || bits < 32 || bits > 64)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "plan: slot_bits is %" PRIu32
                           ", not 32, 40, 48, 56 or 64; take the plan as tamis_plan_make made it",
                           bits);
    if (plan->lines < 2 || plan->lines % 2 || plan->lines > TAMIS_BITS_MAX / TAMIS__LINE)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "plan: lines is %" PRIu64
                           ", not even, or not from 2 to 2^56; take the plan as tamis_plan_make made it",
                           plan->lines);
    return TAMIS_OK;
}
