/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A command that adds to a filter may find that it is there already. Then options that would have planned a
 * new one meet a filter with a plan:
 *
 *     option                     and the filter            result
 *     ------------------------   -----------------------   ---------------------------------------
 *     --kind, --scheme, --seed   has another               error: its answers would be other ones
 *     --fpr                      promises another          error; a remark if its rate was inferred
 *     --expect, --memory         was made for other ones   a remark: the keys still go in
 *
 * So the same command line can be run every day, the first time to make the filter and later to add to it.
 */
#include "cli/filter/cli_filter.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/core/cli_rows.h"
#include "cli/core/cli_text.h"

static tamis_status fail_contradiction(const char *path, const char *has, const char *option,
                                       tamis_error *err) {
    return cli_fail(err, "%.200s: %s, which contradicts %.100s; leave that out, or name another", path, has,
                    option);
}

static tamis_status check_kind(const tamis_filter *filter, const char *path, const cli_filter_spec *spec,
                               tamis_error *err) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    char has[60], option[60] = "--exact";

    if (spec->plan_options.kind == TAMIS_KIND_AUTO || spec->plan_options.kind == plan->kind)
        return TAMIS_OK;
    snprintf(has, sizeof has, "is of kind %s", tamis_kind_name(plan->kind));
    if (spec->plan_options.kind == TAMIS_KIND_WINDOW)
        snprintf(option, sizeof option, "--window");
    else if (!spec->given[CLI_OPT_EXACT].given)
        snprintf(option, sizeof option, "--kind %s", tamis_kind_name(spec->plan_options.kind));
    return fail_contradiction(path, has, option, err);
}

static tamis_status check_hash(const tamis_filter *filter, const char *path, const cli_filter_spec *spec,
                               tamis_error *err) {
    const tamis_hasher *hasher = tamis_filter_hasher(filter);
    const cli_value *scheme = &spec->given[CLI_OPT_SCHEME], *seed = &spec->given[CLI_OPT_SEED];
    const tamis_scheme filter_scheme = tamis_hasher_scheme(hasher);
    char has[80], option[120];

    snprintf(has, sizeof has, "has scheme %s", tamis_scheme_name(filter_scheme));
    if (scheme->given && scheme->number != TAMIS_SCHEME_AUTO && scheme->number != filter_scheme) {
        snprintf(option, sizeof option, "--scheme %s", scheme->text);
        return fail_contradiction(path, has, option, err);
    }
    if (!seed->given || (filter_scheme == TAMIS_SCHEME_XXH3 && seed->number == tamis_hasher_seed(hasher)))
        return TAMIS_OK;
    if (filter_scheme == TAMIS_SCHEME_XXH3)
        snprintf(has, sizeof has, "has seed %" PRIu64, tamis_hasher_seed(hasher));
    snprintf(option, sizeof option, "--seed %.80s", seed->text);
    return fail_contradiction(path, has, option, err);
}

static tamis_status check_rate(const tamis_filter *filter, const char *path, const cli_filter_spec *spec,
                               tamis_error *err) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    const cli_value *fpr = &spec->given[CLI_OPT_FPR];
    char has[80] = "is exact, and accepts no rate", option[120], rate[CLI_TEXT_NUMBER];

    if (!fpr->given || fpr->rate == plan->fpr)
        return TAMIS_OK;
    if (plan->kind != TAMIS_KIND_EXACT)
        snprintf(has, sizeof has, "promises a rate of %s", cli_text_real(rate, sizeof rate, plan->fpr));
    snprintf(option, sizeof option, "--fpr %.80s", fpr->text);
    return fail_contradiction(path, has, option, err);
}

static void report_unused(const tamis_filter *filter, const char *path, const cli_filter_spec *spec,
                          bool inferred) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    const cli_value *given = spec->given;
    const struct {
        const char *name;
        bool idle;
    } options[] = {
        {"--expect", given[CLI_OPT_EXPECT].given && given[CLI_OPT_EXPECT].number != plan->capacity &&
                         !tamis_filter_can(filter, TAMIS_CAN_GROW)},
        {"--fpr", given[CLI_OPT_FPR].given && inferred},
        {"--memory", given[CLI_OPT_MEMORY].given && given[CLI_OPT_MEMORY].number != plan->memory_limit},
    };
    char names[60] = "", message[400];
    size_t used = 0;

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].idle)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? " and " : "",
                                     options[i].name);
    if (used == 0)
        return;
    snprintf(message, sizeof message, "%.200s: is there already, and was made otherwise; ignored: %s", path,
             names);
    cli_report(message);
}

tamis_status cli_same_check(const tamis_filter *filter, const char *path, const cli_filter_spec *spec,
                            bool remarks, tamis_error *err) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;

    if (tamis_filter_metadata_get(filter, &metadata, err) != TAMIS_OK)
        return err->status;
    /* true: a Guava file stores no rate, so the rate of its plan is inferred */
    const bool inferred = metadata.format == TAMIS_FORMAT_GUAVA;
    if (check_kind(filter, path, spec, err) != TAMIS_OK || check_hash(filter, path, spec, err) != TAMIS_OK ||
        (!inferred && check_rate(filter, path, spec, err) != TAMIS_OK))
        return err->status;
    if (remarks)
        report_unused(filter, path, spec, inferred);
    return TAMIS_OK;
}
