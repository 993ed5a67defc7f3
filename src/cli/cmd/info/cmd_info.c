/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/cmd/info/info_report.h"
#include "cli/filter/cli_file.h"
#include "cli/server/cli_server.h"

static const cli_option options[] = {
    {.id = CLI_OPT_JSON,
     .name = "json",
     .type = CLI_FLAG,
     .help = "Print each filter as a JSON object on a line."},
    {.name = NULL},
};

/* Verifies a filter of bits first, because its statistics are computed from them. The statistics of a table
 * are in its header, which is verified when the file is opened. */
static tamis_status describe(const cli_args *args, info_report *report, tamis_error *err) {
    bool reads = tamis_filter_can(report->filter, TAMIS_CAN_UNION) &&
                 tamis_kind_is_bloom(tamis_filter_plan(report->filter)->kind);
    tamis_status status = TAMIS_OK;

    if (reads)
        status = tamis_filter_verify(report->filter, err);
    report->whole = status == TAMIS_OK;
    if (tamis_filter_metadata_get(report->filter, &report->metadata, err) != TAMIS_OK ||
        tamis_filter_info_get(report->filter, &report->info, err) != TAMIS_OK)
        return err->status;
    if (!args->values[CLI_OPT_JSON].given)
        info_report_text(stdout, report);
    else if (info_report_json(stdout, report, err) != TAMIS_OK)
        return err->status;
    return status;
}

static tamis_status each(const cli_args *args, const char *path, bool *negative, tamis_error *err) {
    char shown[CLI_SERVER_SHOWN];
    info_report report = {.path = cli_server_show(path, shown),
                          .metadata = TAMIS_METADATA_INIT,
                          .info = TAMIS_FILTER_INFO_INIT};
    tamis_filter *filter = NULL;
    tamis_status status = cli_file_open(&filter, path, CLI_QUERY, NULL, &report.compression, err);

    (void)negative;
    report.filter = filter;
    if (status == TAMIS_OK)
        status = describe(args, &report, err);
    tamis_filter_free(filter);
    return status;
}

static tamis_status run_info(const cli_args *args, bool *negative, tamis_error *err) {
    return cli_file_each(args, each, negative, err);
}

const cli_command cmd_info = {
    .name = "info",
    .summary = "what a filter is, what it was made for and how full it is",
    .operands = "FILTER...",
    .manual = &cli_manual_info,
    .options = options,
    .run = run_info,
};
