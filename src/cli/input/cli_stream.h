/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_INPUT_CLI_STREAM_H
#define TAMIS_CLI_INPUT_CLI_STREAM_H

#include <tamis/stream.h>

#include "cli/cli.h"
#include "cli/input/cli_extract.h"
#include "cli/input/cli_key.h"
#include "cli/input/cli_names.h"

/* What every command that reads records is told of them and of the run. Strings belong to argv. */
typedef struct cli_stream {
    const char *const *inputs;
    size_t input_count; /* 0: standard input */
    uint8_t terminator;
    uint64_t max_record;
    cli_key_form form; /* of the records, as keys, or of what is extracted from them */
    cli_extract extract;
    bool header;
    tamis_stream_policy missing, malformed;
    bool missing_given;    /* by --missing: then it is no accident */
    int compression;       /* of what is written; -1: as names say */
    int compression_level; /* 0: the usual one */
    uint32_t threads;      /* 0: as many as there are processors */
    bool stats;
    bool json;
    bool quiet;
    bool progress;     /* show it */
    bool progress_bar; /* in place */
    /* Statistics of each input of the last run, malloc; struct_size 0: not begun. NULL without a summary. */
    tamis_stream_stats *each;
    cli_names names; /* that `inputs` are, where there is a list */
} cli_stream;

/* What it is told by: rows of cli_rows.h, and the operands that are inputs. */
typedef struct cli_stream_given {
    const cli_value *records;    /* the block CLI_RECORDS */
    const cli_value *report;     /* the block CLI_REPORT; NULL: the run is not reported */
    const cli_value *files_from; /* NULL: no such option */
    const cli_value *threads;    /* NULL: one */
    const cli_value *compress;   /* NULL: nothing is written */
    char **inputs;
    size_t input_count;
    bool prints; /* records go to standard output */
    bool fields; /* fields of records are taken for more than keys: --delimiter is theirs */
} cli_stream_given;

/* CLI_DONE or CLI_FAILED; released either way, and a stream of zeros may be too. A copy is good until then. */
int cli_stream_configure(cli_stream *stream, const cli_stream_given *given, tamis_error *err);
void cli_stream_release(cli_stream *stream);

/* Number of inputs; 1 if standard input alone is read. */
static inline size_t cli_stream_inputs(const cli_stream *stream) {
    return stream->input_count > 0 ? stream->input_count : 1;
}

/* Takes from the filter what it says of its keys: cli_key_apply_filter. */
int cli_stream_apply_filter(cli_stream *stream, const tamis_filter *filter, const char *path, bool grows,
                            tamis_error *err);

/* Refuses what --type and --hex cannot be said of; cli_stream_configure does that too. */
int cli_stream_check_form(const cli_stream *stream, tamis_error *err);

/* What ends a key, if keys are lines: cli_key_fit. */
int cli_stream_line_end(const cli_stream *stream);

/* Asks `service` of all records, with progress, their texts made keys before. The outputs and stop_fd of the options are
 * given, the inputs and what else a record is are set here. */
tamis_status cli_stream_run(const cli_stream *stream, const tamis_stream_service *service,
                            tamis_stream_options *options, tamis_stream_stats *stats, tamis_error *err);

/* Names the option that helps where a run that came to `status` knows none. */
void cli_stream_advise(tamis_status status, tamis_error *err);

/* How many records without an answer were passed on: to where those go that are not in the filter. */
uint64_t cli_stream_passed(const cli_stream *stream, const tamis_stream_stats *stats);

/* Refuses to write to the list of --files-from: to the file `path`, or standard output where that is "-". */
int cli_stream_keep_list(const cli_stream *stream, const char *path, tamis_error *err);

/* Refuses an input, or the list of them, that is the file `path`, which is to be changed: `what` is what it is. */
int cli_stream_keep_apart(const cli_stream *stream, const char *path, const char *what, tamis_error *err);

#endif
