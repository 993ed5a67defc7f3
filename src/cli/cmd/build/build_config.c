/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * From the options of tamis build to what it makes: kind and size of the filter, format, and target.
 *
 *     options + parameters in the URI of --output --> plan of the filter
 *                                                     format of the file, or layout on the server
 *
 * Parameters in a URI (expect, fpr, scheme, seed, probes) count as if the options were given, and may not
 * contradict them. With --resize the existing filter supplies what neither gives.
 */
#include "cli/cmd/build/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/core/cli_option.h"
#include "cli/core/cli_rows.h"
#include "cli/filter/cli_file.h"
#include "cli/server/cli_server.h"

const cli_option build_options[] = {
    {.id = CLI_OPT_OUTPUT,
     .name = "output",
     .letter = 'o',
     .type = CLI_FILE,
     .value = "FILTER",
     .help = "Write the filter to the file FILTER (required).",
     .more = "A temporary file in the same directory is renamed to FILTER when the run "
             "succeeds, with the permissions of the file it replaces. On an error or a signal, "
             "the old file stays as it was. FILTER may be the URI of a filter on a server, with "
             "expect, fpr, scheme, seed and probes in place of the options. A filter that "
             "replaces another keeps its time of expiry, unless the URI gives ttl."},
    {.id = CLI_OPT_FORMAT,
     .name = "format",
     .type = CLI_CHOICE,
     .value = "FORMAT",
     .fallback = "auto",
     .choices = cli_formats,
     .help = "Format of the file: tamis, guava or dcso; auto is tamis.",
     .more = "guava implies --kind classic and --scheme guava64, or guava32 if that is "
             "given; dcso implies --kind classic --scheme fnv-dcso."},
    CLI_ROW_GZIP,
    CLI_ROW_LABEL,
    CLI_ROW_DATA_VERSION,
    {.id = BUILD_RESIZE,
     .name = "resize",
     .type = CLI_FLAG,
     .help = "Replace a filter on a server while others add to it.",
     .more = "For --output on a server, in layout tamis. It needs --expect, or expect in the URI, and the "
             "same --secret-file as before. --scheme and --seed stay as they are, and so does --fpr if it is "
             "not given. After the remark at the start, records that others add go to both filters, if these "
             "programs use this version of tamis or a later one. No record is lost if the FILEs contain all "
             "records of adds that began before the remark, also of an add that has not printed them yet. At "
             "the end, the new filter replaces the old one at once. If the run fails, "
             "the old filter stays. Codis does not allow it: build without --resize there."},
    CLI_ROW_LOCK_WAIT,
    {.id = BUILD_FROZEN,
     .name = "frozen",
     .type = CLI_FLAG,
     .help = "Make the filter as small as its records allow; it never grows later.",
     .more = "A filter of kind fingerprint or exact, or of kind cuckoo without --expect, grows when add, "
             "merge or dedup need it. A frozen one refuses more records than it was made for. With --expect "
             "N it is made for N records, even "
             "if there are fewer. Without --expect, kind blocked may be chosen too, if it is as small."},
    CLI_ROW_FILES_FROM,
    CLI_ROWS_RECORDS("key", "Keys"),
    {.id = CLI_OPT_EXPECT,
     .name = "expect",
     .type = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = TAMIS_EXPECT_MAX,
     .help = "Number of distinct records to plan for; without it they are counted.",
     .more =
         "Counting reads the FILEs twice, see NOTES. Kinds fingerprint and exact grow past N, as far "
         "as --memory allows. If N is far too large, they take no more memory than the FILEs can "
         "need. Bloom filters (classic, blocked, counting) cannot grow: they take the memory for N records "
         "at once, and more than N records are an error."},
    {.id = CLI_OPT_FPR,
     .name = "fpr",
     .type = CLI_RATE,
     .value = "RATE",
     .fallback = "1e-6",
     .rate_min = TAMIS_FPR_MIN,
     .rate_max = TAMIS_FPR_MAX,
     .help = "Probability that a record that is not in the filter is taken for one that is, as "
             "1e-6 or 0.1%."},
    CLI_ROW_MEMORY,
    CLI_ROW_ANY_KIND,
    CLI_ROW_EXACT,
    CLI_ROW_SCHEME,
    CLI_ROW_SEED,
    CLI_ROW_SECRET,
    CLI_ROW_THREADS,
    CLI_ROW_STATS,
    CLI_ROW_JSON,
    CLI_ROW_PROGRESS,
    CLI_ROW_NO_PROGRESS,
    CLI_ROW_QUIET,
    {.name = NULL},
};

const cli_conflict build_conflicts[] = {
    {CLI_OPT_EXACT, CLI_OPT_FPR, "exact accepts no rate"},
    {CLI_OPT_PROGRESS, CLI_OPT_NO_PROGRESS, "one shows what the other hides"},
    {CLI_OPT_PROGRESS, CLI_OPT_QUIET, "one shows what the other hides"},
    {.why = NULL},
};

/* ---- parameters in the URI of --output ---- */

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
static tamis_status inherit_plan(build_config *config, tamis_error *err) {
    cli_value *values = config->values;
    const char *uri = config->output;
    char shown[CLI_SERVER_SHOWN], *name = uri_without_plan(uri);
    tamis_filter *existing = NULL;

    if (!name)
        return cli_fail_nomem("--output", err);
    tamis_status status = cli_server_open(&existing, name, NULL, NULL, err);
    free(name);
    if (status != TAMIS_OK)
        return status;
    const tamis_hasher *hasher = tamis_filter_hasher(existing);
    if (!values[CLI_OPT_FPR].given)
        values[CLI_OPT_FPR] = (cli_value){.given = true, .rate = tamis_filter_plan(existing)->fpr};
    if (!values[CLI_OPT_SCHEME].given)
        values[CLI_OPT_SCHEME] = (cli_value){.given = true,
                                             .number = (uint64_t)tamis_hasher_scheme(hasher),
                                             .text = tamis_scheme_name(tamis_hasher_scheme(hasher))};
    if (!values[CLI_OPT_SEED].given && tamis_hasher_scheme(hasher) == TAMIS_SCHEME_XXH3)
        values[CLI_OPT_SEED] = (cli_value){.given = true, .number = tamis_hasher_seed(hasher)};
    status = cli_stream_apply_filter(&config->stream, existing, cli_server_show(uri, shown), true, err);
    tamis_filter_free(existing);
    return status;
}

/* Applies parameters in the URI of --output as if they were options: expect, fpr, scheme, seed and probes.
 * Only for layout tamis. With --resize the existing filter supplies what neither gives, except the number of
 * keys. Error: an option contradicts the URI or the existing filter. */
static tamis_status apply_uri(build_config *config, tamis_error *err) {
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
    return config->resizes ? inherit_plan(config, err) : TAMIS_OK;
}

/* ---- options ---- */

/* Refuses a bad --output before the input is read, which may take hours. */
static tamis_status check_output(const build_config *config, tamis_error *err) {
    struct stat st;

    if (!config->output)
        return cli_fail(err, "--output: missing; give --output FILTER, the file to make");
    if (strcmp(config->output, "-") == 0)
        return cli_fail(err, "--output '-': a filter is not written to standard output; name a file, or give "
                             "./- for one of that name");
    if (cli_server_is_uri(config->output))
        return TAMIS_OK;
    if (stat(config->output, &st) == 0 && !S_ISREG(st.st_mode))
        return cli_fail(err, "%.300s: is %s; name another file", config->output,
                        S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
    return cli_stream_keep_apart(&config->stream, config->output, "the filter to make", err);
}

/* RedisBloom's cuckoo filter has a format of its own, without labels and version, and always grows. */
static tamis_status check_redisbloom(build_config *config, tamis_error *err) {
    if (config->format != TAMIS_FORMAT_AUTO || config->filter.frozen || config->metadata.label_count > 0 ||
        config->metadata.has_version)
        return cli_fail(err,
                        "--scheme redisbloom: a cuckoo filter of RedisBloom has its own format, which stores "
                        "no --label and no --data-version, and is not --frozen; leave them and --format "
                        "out, or use another scheme");
    config->format = TAMIS_FORMAT_REDISBLOOM;
    return TAMIS_OK;
}

/* A format of another program stores one kind only, with the hashes of that program. */
static tamis_status check_format(build_config *config, tamis_error *err) {
    tamis_plan_options *plan_options = &config->filter.plan_options;
    const bool guava = config->format == TAMIS_FORMAT_GUAVA;

    if (cli_filter_will_be_redisbloom(&config->filter))
        return check_redisbloom(config, err);
    if (!guava && config->format != TAMIS_FORMAT_DCSO)
        return TAMIS_OK;
    if (cli_metadata_check(&config->metadata, config->format, err) != TAMIS_OK)
        return err->status;
    if (plan_options->kind == TAMIS_KIND_AUTO)
        plan_options->kind = TAMIS_KIND_CLASSIC;
    if (plan_options->scheme == TAMIS_SCHEME_AUTO)
        plan_options->scheme = guava ? TAMIS_SCHEME_GUAVA64 : TAMIS_SCHEME_FNV_DCSO;
    if (plan_options->kind == TAMIS_KIND_CLASSIC &&
        (guava ? plan_options->scheme == TAMIS_SCHEME_GUAVA64 || plan_options->scheme == TAMIS_SCHEME_GUAVA32
               : plan_options->scheme == TAMIS_SCHEME_FNV_DCSO))
        return TAMIS_OK;
    return cli_fail(err,
                    "--format %s: keeps kind classic with scheme %s, and this is %s with %s; leave --kind "
                    "and --scheme out, or --format",
                    tamis_format_name(config->format), guava ? "guava64 or guava32" : "fnv-dcso",
                    tamis_kind_name(plan_options->kind), tamis_scheme_name(plan_options->scheme));
}

/* The URI describes a filter in a layout of another program completely, so the options of a plan are
 * refused. */
static tamis_status apply_layout(build_config *config, const tamis_plan *plan, const cli_value *given,
                                 tamis_error *err) {
    for (int i = CLI_OPT_PLAN_FIRST; i <= CLI_OPT_PLAN_LAST; i++)
        if (given[i].given)
            return cli_fail(
                err,
                "--%s: contradicts --output, whose URI says what the filter of that layout is; leave it "
                "out",
                cli_option_of(build_options, i)->name);
    config->filter.server = config->output;
    config->filter.layout = *plan;
    config->filter.plan_options.expect = plan->capacity;
    config->filter.plan_options.kind = plan->kind;
    return TAMIS_OK;
}

static tamis_status check_resize(const build_config *config, const cli_value *given, tamis_error *err) {
    if (!config->resizes)
        return TAMIS_OK;
    if (!cli_server_is_uri(config->output))
        return cli_fail(err,
                        "--resize: is for a filter on a server, and --output names a file; leave it out");
    if (!given[CLI_OPT_EXPECT].given)
        return cli_fail(err, "--resize: needs --expect, the number of keys that the filter is to hold");
    return TAMIS_OK;
}

/* A server stores layout tamis, which is of kind blocked, or a layout of another program. It stores no
 * file format, labels or version. */
static tamis_status check_server(build_config *config, const cli_value *given, tamis_error *err) {
    tamis_plan_options *plan_options = &config->filter.plan_options, any = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;

    if (!cli_server_is_uri(config->output))
        return TAMIS_OK;
    if (cli_server_refuse_family(config->output, err) != TAMIS_OK)
        return err->status;
    if (config->format != TAMIS_FORMAT_AUTO || config->compression != TAMIS_COMPRESSION_NONE ||
        config->metadata.label_count > 0 || config->metadata.has_version)
        return cli_fail(err, "--output: is on a server, which does not store --format, --gzip, --label or "
                             "--data-version; leave them out");
    /* The kind of the plan shows the layout: classic for another program's, whose plan comes from the URI
     * alone. The plan of layout tamis needs no server. */
    any.kind = TAMIS_KIND_BLOCKED;
    any.expect = 1;
    any.fpr = 0.5;
    if (tamis_redis_plan_for(&plan, &any, NULL, config->output, err) != TAMIS_OK)
        return err->status;
    if (plan.kind == TAMIS_KIND_CLASSIC)
        return apply_layout(config, &plan, given, err);
    if (plan_options->kind == TAMIS_KIND_AUTO)
        plan_options->kind = TAMIS_KIND_BLOCKED;
    if (plan_options->kind != TAMIS_KIND_BLOCKED)
        return cli_fail(err, "--kind %s: is not kept on a server; leave it out, or give --kind blocked",
                        tamis_kind_name(plan_options->kind));
    config->filter.server = config->output;
    return TAMIS_OK;
}

tamis_status build_configure(build_config *config, const cli_args *args, tamis_error *err) {
    const cli_value *values = config->values;
    const cli_stream_given given = {.values = values,
                                    .threads = true,
                                    .reports = true,
                                    .inputs = args->operands,
                                    .input_count = args->operand_count};

    memset(config, 0, sizeof *config);
    memcpy(config->values, args->values, sizeof config->values);
    config->output = values[CLI_OPT_OUTPUT].text;
    config->format = (tamis_format)values[CLI_OPT_FORMAT].number;
    config->compression = cli_file_compression(values[CLI_OPT_GZIP].given);
    config->resizes = values[BUILD_RESIZE].given;
    if (cli_stream_configure(&config->stream, &given, err) != TAMIS_OK ||
        check_output(config, err) != TAMIS_OK ||
        cli_metadata_read(&config->metadata, values, err) != TAMIS_OK)
        return err->status;
    if (apply_uri(config, err) != TAMIS_OK ||
        cli_filter_configure(&config->filter, values, 1e-6, err) != TAMIS_OK)
        return err->status;
    config->filter.plan_options.probes = (uint32_t)config->probes.number;
    config->filter.frozen = values[BUILD_FROZEN].given;
    if (config->filter.frozen && cli_server_is_uri(config->output))
        return cli_fail(err, "--frozen: is for files, and --output is on a server; leave it out");
    if (check_resize(config, values, err) != TAMIS_OK)
        return err->status;
    if (check_server(config, values, err) != TAMIS_OK)
        return err->status;
    if (check_format(config, err) != TAMIS_OK)
        return err->status;
    cli_key_fit(&config->stream.form, config->filter.plan_options.scheme,
                cli_stream_line_end(&config->stream));
    return TAMIS_OK;
}

void build_config_release(build_config *config) {
    cli_metadata_release(&config->metadata);
    cli_stream_release(&config->stream);
}
