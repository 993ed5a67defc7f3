/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/build/build_uri.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli_option.h"
#include "cli/server/cli_server.h"

static const cli_option probes_row = {.name = "probes", .type = CLI_COUNT, .min = 1, .max = TAMIS_PROBES_MAX};

static tamis_status read_parameter(const char *uri, const cli_option *row, cli_value *value,
                                   build_parameter *text, tamis_error *err) {
    size_t size;
    const char *coded = cli_server_parameter(uri, row->name, &size);
    cli_value parsed = {0};

    if (!coded)
        return TAMIS_OK;
    /* A value too long for the buffer is invalid; its first bytes suffice for the error message. */
    size = size < sizeof text->text ? size : sizeof text->text - 1;
    text->text[cli_server_decode(text->text, coded, size)] = '\0';
    if (cli_option_read(row, row->name, text->text, &parsed, err) != TAMIS_OK)
        return err->status;
    if (value->given &&
        (value->number != parsed.number || value->rate < parsed.rate || value->rate > parsed.rate))
        return cli_fail(err, "--%s %.60s: contradicts %s=%.60s in the URI of --output; leave one of them out",
                        row->name, value->text, row->name, text->text);
    *value = parsed;
    return TAMIS_OK;
}

/* Returns a copy of the URI (malloc) without the parameters of a plan; NULL: out of memory. */
static char *uri_without_plan(const char *uri) {
    static const char *const plan[] = {"expect", "fpr", "scheme", "seed", "probes", "partition"};
    char *made = strdup(uri);
    size_t size;

    for (size_t i = 0; made && i < sizeof plan / sizeof plan[0]; i++) {
        char *value = (char *)cli_server_parameter(made, plan[i], &size);
        if (!value)
            continue;
        char *parameter_start = value - strlen(plan[i]) - 1, *rest = value + size;
        rest += *rest == '&' ? 1 : 0;
        memmove(parameter_start, rest, strlen(rest) + 1);
        if (*parameter_start == '\0') /* the last parameter: remove the '?' or '&' before it too */
            parameter_start[-1] = '\0';
    }
    return made;
}

/* For --resize: reads rate, scheme, seed and the form of keys from the existing filter, unless they are
 * given. */
static tamis_status keep_plan(build_config *config, tamis_error *err) {
    cli_value *values = config->values;
    const char *uri = config->output;
    char shown[CLI_SERVER_SHOWN], *name = uri_without_plan(uri);
    tamis_filter *there = NULL;
    tamis_status status;

    if (!name)
        return cli_fail_nomem("--output", err);
    status = cli_server_open(&there, name, NULL, NULL, err);
    free(name);
    if (status != TAMIS_OK)
        return status;
    const tamis_hasher *hasher = tamis_filter_hasher(there);
    if (!values[CLI_OPT_FPR].given)
        values[CLI_OPT_FPR] = (cli_value){.given = true, .rate = tamis_filter_plan(there)->fpr};
    if (!values[CLI_OPT_SCHEME].given)
        values[CLI_OPT_SCHEME] = (cli_value){.given = true,
                                             .number = (uint64_t)tamis_hasher_scheme(hasher),
                                             .text = tamis_scheme_name(tamis_hasher_scheme(hasher))};
    if (!values[CLI_OPT_SEED].given && tamis_hasher_scheme(hasher) == TAMIS_SCHEME_XXH3)
        values[CLI_OPT_SEED] = (cli_value){.given = true, .number = tamis_hasher_seed(hasher)};
    status = cli_stream_apply_filter(&config->stream, there, cli_server_show(uri, shown), true, err);
    tamis_filter_free(there);
    return status;
}

tamis_status build_uri_apply(build_config *config, tamis_error *err) {
    static const int rows[BUILD_PARAMETERS - 1] = {CLI_OPT_EXPECT, CLI_OPT_FPR, CLI_OPT_SCHEME, CLI_OPT_SEED};
    const char *uri = config->output;

    if (!cli_server_is_uri(uri) || cli_server_is_family(uri))
        return TAMIS_OK;
    if (!cli_server_keeps_type(uri)) { /* another layout */
        if (config->resizes)
            return cli_fail(err, "--resize: is for layout tamis; leave it out, and what is there is replaced "
                                 "at the end, by RENAME");
        return TAMIS_OK;
    }
    for (size_t i = 0; i < BUILD_PARAMETERS - 1; i++)
        if (read_parameter(uri, cli_option_of(build_options, rows[i]), &config->values[rows[i]],
                           &config->parameters[i], err) != TAMIS_OK)
            return err->status;
    if (read_parameter(uri, &probes_row, &config->probes, &config->parameters[BUILD_PARAMETERS - 1], err) !=
        TAMIS_OK)
        return err->status;
    return config->resizes ? keep_plan(config, err) : TAMIS_OK;
}
