/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/add/add_config.h"

#include "cli/core/cli_rows.h"
#include "cli/server/cli_server.h"
#include "cli/server/cli_trace.h"

static const char *const prints[] = {
    [ADD_PRINT_NONE] = "none", [ADD_PRINT_FRESH] = "fresh", [ADD_PRINT_SEEN] = "seen", NULL};

const cli_option add_options[] = {
    {.id = ADD_PRINT,
     .name = "print",
     .type = CLI_CHOICE,
     .value = "WHICH",
     .fallback = "none",
     .choices = prints,
     .help = "Print the records that were not in the filter (fresh), or those that were (seen).",
     .more = "They are printed as they are read, before the filter is saved."},
    {.id = ADD_OVERFILL,
     .name = "overfill",
     .type = CLI_FLAG,
     .help = "Also add records past the number that the filter was made for.",
     .more = "For kinds classic and blocked, which files of other programs have. No record is lost, but "
             "the rate of wrong answers rises with each one; a remark at the end gives the new rate. "
             "Without this option, the first new record past that number is an error, and the file stays "
             "as it was. For a filter on a server, the number of its records is estimated once, at the "
             "start. Records that others add during the run are not counted, and records added before "
             "the error stay. A family of filters, and layouts php1 to php3, have no such limit. A "
             "remark at the end names the filter if it holds more records than it is good for; for a "
             "family, this is checked for the members that got most of the records."},
    CLI_ROW_LOCK_WAIT,
    CLI_ROW_ITS_SECRET,
    CLI_ROW_TRACE,
    CLI_ROW_FILES_FROM,
    CLI_ROW_COMPRESS,
    CLI_ROWS_RECORDS("key", "Keys"),
    CLI_ROW_THREADS,
    CLI_ROW_STATS,
    CLI_ROW_JSON,
    CLI_ROW_PROGRESS,
    CLI_ROW_NO_PROGRESS,
    CLI_ROW_QUIET,
    {.name = NULL},
};

const cli_conflict add_conflicts[] = {
    {CLI_OPT_TRACE, CLI_OPT_PROGRESS, "both write to standard error"},
    {CLI_OPT_PROGRESS, CLI_OPT_NO_PROGRESS, "one shows what the other hides"},
    {CLI_OPT_PROGRESS, CLI_OPT_QUIET, "one shows what the other hides"},
    {.why = NULL},
};

tamis_status add_configure(add_config *config, const cli_args *args, tamis_error *err) {
    const cli_value *values = args->values;
    cli_stream_given given = {.values = values, .threads = true, .reports = true};

    if (args->operand_count == 0)
        return cli_fail(err, "filter: missing; give its file first, as in tamis add FILTER FILE");
    config->filter = args->operands[0];
    config->secret_file = values[CLI_OPT_SECRET_FILE].text;
    config->print = (add_print)values[ADD_PRINT].number;
    config->over_capacity = values[ADD_OVERFILL].given;
    config->lock_wait = cli_lock_wait_of(&values[CLI_OPT_LOCK_WAIT]);
    config->is_family = cli_server_is_family(config->filter);
    given.inputs = args->operands + 1;
    given.input_count = args->operand_count - 1;
    given.prints = config->print != ADD_PRINT_NONE;
    given.fields = config->is_family;
    if (cli_stream_configure(&config->stream, &given, err) != TAMIS_OK ||
        cli_stream_keep_apart(&config->stream, config->filter, "the filter", err) != TAMIS_OK)
        return err->status;
    if (config->print == ADD_PRINT_NONE && values[CLI_OPT_COMPRESS].given)
        return cli_fail(
            err, "--compress: nothing is printed that it could compress; give --print too, or leave it out");
    if (config->print != ADD_PRINT_NONE && cli_output_check(err) != TAMIS_OK)
        return err->status;
    /* A server keeps what was added. With one thread, adding is not far ahead of printing if printing
     * fails. */
    if (config->print == ADD_PRINT_FRESH && cli_server_is_uri(config->filter) &&
        !values[CLI_OPT_THREADS].given)
        config->stream.threads = 1;
    config->trace = values[CLI_OPT_TRACE].given;
    if (config->trace) {
        config->stream.progress = false;
        if (cli_trace_check(config->filter, err) != TAMIS_OK)
            return err->status;
    }
    return cli_filter_check_secret(config->secret_file, err);
}
