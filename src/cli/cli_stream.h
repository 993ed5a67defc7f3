/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_STREAM_H
#define TAMIS_CLI_STREAM_H

#include <tamis/stream.h>

#include "cli/cli.h"
#include "cli/cli_key.h"

/* What every command that reads records is told of them and of the run. Strings belong to argv. */
typedef struct cli_stream {
    const char *const *inputs;
    size_t input_count; /* 0: standard input */
    uint8_t terminator;
    uint64_t max_record;
    cli_key_form form; /* of the records, as keys */
    bool stats;
    bool json;
    bool quiet;
    bool progress;     /* show it */
    bool progress_bar; /* in place */
} cli_stream;

/* From the blocks CLI_RECORDS and CLI_REPORT of cli_rows.h, and the operands that are inputs. `prints`: records go to
 * standard output. CLI_DONE or CLI_FAILED. */
int cli_stream_configure(cli_stream *stream, const cli_value *records, const cli_value *report, char **inputs,
                         size_t input_count, bool prints, tamis_error *err);

/* Asks `service` of all records, with progress, their texts made keys before. The outputs and stop_fd of the options are
 * given, the inputs and what else a record is are set here. */
tamis_status cli_stream_run(const cli_stream *stream, const tamis_stream_service *service,
                            tamis_stream_options *options, tamis_stream_stats *stats, tamis_error *err);

/* Refuses an input that is the file `path`, which is to be changed: `what` is what it is. */
int cli_stream_keep_apart(const cli_stream *stream, const char *path, const char *what, tamis_error *err);

#endif
