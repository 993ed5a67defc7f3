/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_STREAM_H
#define TAMIS_CLI_STREAM_H

#include <tamis/stream.h>

#include "cli/cli.h"
#include "cli/cli_progress.h"

/* What every command that reads records is told of them and of the run. Strings belong to argv. */
typedef struct cli_stream {
    const char *const *inputs;
    size_t input_count; /* 0: standard input */
    uint8_t terminator;
    uint64_t max_record;
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

/* Sets all of the options but the outputs, and begins the progress, which the caller ends after the run. */
void cli_stream_begin(const cli_stream *stream, int stop_fd, tamis_stream_options *options,
                      cli_progress *progress);

/* Refuses an input that is the file `path`, which is to be changed: `what` is what it is. */
int cli_stream_keep_apart(const cli_stream *stream, const char *path, const char *what, tamis_error *err);

#endif
