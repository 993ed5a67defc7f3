/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/cmd/copy/copy_bitmap.h"
#include "cli/core/cli_option.h"
#include "cli/core/cli_rows.h"
#include "cli/filter/cli_file.h"
#include "cli/filter/cli_metadata.h"
#include "cli/process/cli_signal.h"

static const cli_option options[] = {
    CLI_ROW_WRITE_OUTPUT,
    {.id = CLI_OPT_FORMAT,
     .name = "format",
     .type = CLI_CHOICE,
     .value = "FORMAT",
     .fallback = "auto",
     .choices = cli_copy_formats,
     .help = "Format of FILE: tamis, guava or dcso; auto: that of the FILTER. bitmap: raw bits.",
     .more = "bitmap copies between a file and a filter on a server. The file has the bytes of the "
             "bitmap as the server has them, without its parameters, so the URI must give these."},
    CLI_ROW_GZIP,
    CLI_ROW_LABEL,
    CLI_ROW_DATA_VERSION,
    CLI_ROW_LOCK_WAIT,
    CLI_ROW_WRITE_QUIET,
    {.name = NULL},
};

/* Applies the given labels and version. Without them the metadata stays as it is, with its time of
 * creation. */
static tamis_status describe(const cli_args *args, tamis_filter *filter, tamis_error *err) {
    tamis_format format = cli_metadata_format(filter, (tamis_format)args->values[CLI_OPT_FORMAT].number);
    cli_metadata metadata;
    tamis_status status = cli_metadata_read(&metadata, args->values, err);

    if (status == TAMIS_OK)
        status = cli_metadata_check(&metadata, format, err);
    if (status == TAMIS_OK)
        status = cli_metadata_apply(&metadata, filter, err);
    cli_metadata_release(&metadata);
    return status;
}

static tamis_status copy(const cli_args *args, const char *output, tamis_error *err) {
    tamis_format format = (tamis_format)args->values[CLI_OPT_FORMAT].number;
    tamis_filter *filter = NULL;
    tamis_status status = cli_file_fetch(&filter, args->operands[0], err);

    if (status == TAMIS_OK)
        status = describe(args, filter, err);
    if (status == TAMIS_OK)
        status =
            cli_file_write(filter, output, format, cli_file_compression(args->values[CLI_OPT_GZIP].given),
                           cli_lock_wait_of(&args->values[CLI_OPT_LOCK_WAIT]), err);
    if (status == TAMIS_OK && !args->values[CLI_OPT_QUIET].given)
        cli_metadata_report_lost(filter, output, format);
    tamis_filter_free(filter);
    return status;
}

/* Copies raw bits, which have no place for compression, labels or a version. */
static tamis_status copy_bits(const cli_args *args, const char *output, tamis_error *err) {
    static const int others[] = {CLI_OPT_GZIP, CLI_OPT_LABEL, CLI_OPT_DATA_VERSION};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (args->values[others[i]].given)
            return cli_fail(err, "--format bitmap: contradicts --%s: it is bits alone; leave one of them out",
                            cli_option_of(options, others[i])->name);
    return copy_bitmap(args->operands[0], output, cli_lock_wait_of(&args->values[CLI_OPT_LOCK_WAIT]), err);
}

static tamis_status run_copy(const cli_args *args, bool *negative, tamis_error *err) {
    const char *output = args->values[CLI_OPT_OUTPUT].text;
    tamis_lock *lock = NULL;
    tamis_status status;
    int stop_fd;

    (void)negative;
    if (!output)
        return cli_fail(err, "copy: --output is missing; name the file to write as -o FILE");
    if (args->operand_count != 1)
        return cli_fail(err, "copy: takes one filter, and %zu are named; give its file", args->operand_count);
    status = cli_signals_begin(&stop_fd, err);
    if (status == TAMIS_OK)
        status = cli_file_lock(&lock, output, cli_lock_wait_of(&args->values[CLI_OPT_LOCK_WAIT]), err);
    if (status == TAMIS_OK)
        status = args->values[CLI_OPT_FORMAT].number == CLI_COPY_BITMAP ? copy_bits(args, output, err)
                                                                        : copy(args, output, err);
    tamis_file_unlock(lock);
    return status;
}

const cli_command cmd_copy = {
    .name = "copy",
    .summary = "write a filter to another file, or in another format",
    .operands = "FILTER",
    .manual = &cli_manual_copy,
    .options = options,
    .run = run_copy,
};
