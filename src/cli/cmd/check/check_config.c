/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The options of tamis check, and their check before any file is opened.
 *
 * Which operand is what depends on --filter and --lookup:
 *
 *     tamis check FILTER FILE...              the first operand is the filter
 *     tamis check -f FILTER... FILE...        all operands are inputs
 *     tamis check FILTER -k KEY...            no input is read
 *
 * A family takes the name of a filter from each record. So it is the only filter of a check. Keys of the
 * command line have no other fields, and cannot be looked up in it.
 */
#include "cli/cmd/check/check.h"

#include <string.h>

#include "cli/filter/cli_filter.h"
#include "cli/server/cli_family.h"
#include "cli/server/cli_server.h"
#include "cli/server/cli_trace.h"

const cli_option check_options[] = {
    {.id = CHECK_FILTER,
     .name = "filter",
     .letter = 'f',
     .type = CLI_FILE,
     .value = "FILTER",
     .help = "Query this filter; may be repeated. No operand is a filter then.",
     .more = "With several filters, a record is printed if any of them has it. Before the record are the "
             "names of the filters that have it, as given, separated by commas, and a tab. A record is "
             "hashed once for all filters with the same scheme, seed and secret.",
     .many = true},
    {.id = CHECK_LOOKUP,
     .name = "lookup",
     .letter = 'k',
     .type = CLI_TEXT,
     .value = "KEY",
     .help = "Look up KEY, and read no records; may be repeated.",
     .more = "KEY is a whole key, to which --key does not apply; --trim and --ignore-case do.",
     .many = true,
     .may_be_empty = true},
    {.id = CHECK_INVERT,
     .name = "invert-match",
     .letter = 'v',
     .type = CLI_FLAG,
     .help = "Print the records that are in no filter instead."},
    {.id = CHECK_COUNT,
     .name = "count",
     .letter = 'c',
     .type = CLI_FLAG,
     .help = "Print the number of records that would be printed, instead of the records."},
    {.id = CHECK_FOLLOW,
     .name = "follow",
     .type = CLI_FLAG,
     .help = "Keep reading as FILEs grow, as tail -F does, until a signal arrives.",
     .more =
         "If another file takes the name of a FILE, as in log rotation, it is read from its start when it "
         "has content and the writers of the old file have closed it, or have not written to it for half "
         "a second. Data appended to the old file later is not read. If there were several rotations, the "
         "files in between come first: those in "
         "its directory whose names continue that of FILE and that were written to later, without "
         "compressed ones. A file that became shorter is read from its start too. If it is refilled to its "
         "old length or more before tamis looks at it, it is taken for a file that grew. A line is looked "
         "up when its newline has arrived. Standard input is followed if it is a regular file. Pipes are "
         "read to their end, and so are compressed files beside others; alone they are refused. A FILTER "
         "that is replaced is opened again."},
    {.id = CLI_OPT_SECRET_FILE,
     .name = "secret-file",
     .type = CLI_FILE,
     .value = "FILE",
     .help = "Secret that a keyed filter was made with: the bytes of FILE; may be repeated.",
     .more = "Every byte of the file counts, including a newline at its end. Standard input "
             "is /dev/stdin here, not -. If there are several, each keyed filter uses the "
             "one it was made with; a secret that no filter uses is an error.",
     .many = true},
    CLI_ROW_TRACE,
    CLI_ROW_FILES_FROM,
    CLI_ROW_COMPRESS,
    CLI_ROWS_RECORDS("key", "Keys"),
    CLI_ROW_THREADS,
    CLI_ROW_STATS,
    CLI_ROW_JSON,
    CLI_ROW_PROGRESS,
    CLI_ROW_NO_PROGRESS,
    {.id = CLI_OPT_QUIET,
     .name = "quiet",
     .letter = 'q',
     .type = CLI_FLAG,
     .help = "Print no records; exit with the answer as soon as it is known.",
     .more = "As with grep -q, the status is 0 if a record of any FILE would be printed, even if "
             "another FILE has an error or cannot be read. The error is reported in any case. If no "
             "record would be printed, the status after an error is 2."},
    {.name = NULL},
};

const cli_conflict check_conflicts[] = {
    {CHECK_COUNT, CLI_OPT_QUIET, "one prints what the other does not"},
    {CHECK_LOOKUP, CHECK_FOLLOW, "no file is read"},
    {CHECK_LOOKUP, CLI_OPT_FILES_FROM, "no file is read"},
    {CHECK_LOOKUP, CLI_OPT_PROGRESS, "no file is read"},
    {CLI_OPT_TRACE, CLI_OPT_PROGRESS, "both write to standard error"},
    {CLI_OPT_PROGRESS, CLI_OPT_NO_PROGRESS, "one shows what the other hides"},
    {CLI_OPT_PROGRESS, CLI_OPT_QUIET, "one shows what the other hides"},
    {.why = NULL},
};

/* A family takes names of filters from records, so it needs records, and it must be the only filter. */
static tamis_status check_family(check_config *config, tamis_error *err) {
    char shown[CLI_SERVER_SHOWN];

    config->is_family = false;
    for (size_t i = 0; i < config->filter_count; i++) {
        if (!cli_server_is_family(config->filters[i]))
            continue;
        config->is_family = true;
        if (config->filter_count > 1)
            return cli_fail(err,
                            "--filter '%.300s': a family must be the only filter; give it alone, or name one "
                            "of its filters",
                            cli_server_show(config->filters[i], shown));
        if (config->key_count > 0)
            return cli_fail(
                err,
                "--lookup (-k): contradicts '%.300s', which needs fields of a record; name one filter, or "
                "give records",
                cli_server_show(config->filters[i], shown));
        if (config->secret_count > 1)
            return cli_fail(err, "--secret-file '%.300s': a family has one secret; leave this one out",
                            config->secret_files[1]);
    }
    return TAMIS_OK;
}

tamis_status check_configure(check_config *config, const cli_args *args, tamis_error *err) {
    const cli_value *values = args->values;
    char **inputs = args->operands;
    size_t input_count = args->operand_count;
    cli_stream_given given = {.values = values, .threads = true, .reports = true};

    config->filters = (const char *const *)values[CHECK_FILTER].list;
    config->filter_count = values[CHECK_FILTER].count;
    if (config->filter_count == 0) {
        if (input_count == 0)
            return cli_fail(err, "filter: missing; give its file first, as in tamis check FILTER FILE");
        config->filters = (const char *const *)inputs++;
        config->filter_count = 1;
        input_count--;
    }
    config->keys = (const char *const *)values[CHECK_LOOKUP].list;
    config->key_count = values[CHECK_LOOKUP].count;
    config->invert = values[CHECK_INVERT].given;
    config->count = values[CHECK_COUNT].given;
    config->follow = values[CHECK_FOLLOW].given;
    config->trace = values[CLI_OPT_TRACE].given;
    config->secret_files = (const char *const *)values[CLI_OPT_SECRET_FILE].list;
    config->secret_count = values[CLI_OPT_SECRET_FILE].count;
    config->prints_names = config->filter_count > 1 && !config->invert;
    if (config->key_count > 0 && input_count > 0)
        return cli_fail(err,
                        "--lookup (-k): contradicts '%.300s', which would be read; leave one of them out",
                        inputs[0]);
    if (check_family(config, err) != TAMIS_OK)
        return err->status;
    given.inputs = inputs;
    given.input_count = input_count;
    given.prints = !config->count && !values[CLI_OPT_QUIET].given;
    given.others.fields = config->is_family;
    if (cli_stream_configure(&config->stream, &given, err) != TAMIS_OK)
        return err->status;
    if (config->trace)
        config->stream.progress = false;
    for (size_t i = 0; config->trace && i < config->filter_count; i++)
        if (cli_trace_check(config->filters[i], err) != TAMIS_OK)
            return err->status;
    if (!config->stream.quiet && cli_output_check(err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < config->secret_count; i++)
        if (cli_filter_check_secret(config->secret_files[i], err) != TAMIS_OK)
            return err->status;
    return TAMIS_OK;
}
