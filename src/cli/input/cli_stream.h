/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_INPUT_CLI_STREAM_H
#define TAMIS_CLI_INPUT_CLI_STREAM_H

#include <sys/stat.h>

#include <tamis/experimental/stream.h>

#include "cli/cli.h"
#include "cli/input/cli_extract.h"
#include "cli/input/cli_key.h"
#include "cli/process/cli_metrics.h"

/* One file with names of inputs. */
typedef struct cli_names_list {
    char *bytes;    /* content, malloc */
    struct stat st; /* stat of the file; st_mode 0: unknown */
} cli_names_list;

/* Names of inputs: operands and names from lists. */
typedef struct cli_names {
    const char **paths; /* all names, malloc; NULL: no list was read, so the operands are all names */
    size_t count;
    cli_names_list *lists; /* lists that were read, malloc */
    size_t list_count;
} cli_names;

/* Options shared by all commands that read records. Strings belong to argv. */
typedef struct cli_stream {
    const char *const *inputs;
    size_t input_count;  /* number of inputs; 0: standard input */
    uint8_t terminator;  /* byte that ends a record */
    uint64_t max_record; /* longest record allowed, in bytes */
    cli_key_form form;   /* form of the keys: whole records, or texts that are extracted */
    cli_extract extract; /* key options */
    bool header;         /* true: the first record of each input is a header */
    tamis_stream_policy missing, malformed;
    bool missing_given;    /* true: --missing was given, so records without a key are expected */
    int compression;       /* compression of outputs; -1: by the name of each */
    int compression_level; /* level; 0: the usual one */
    uint32_t threads;      /* number of threads; 0: as many as there are processors */
    bool stats;            /* true: print a summary */
    bool json;             /* true: as JSON */
    bool quiet;            /* true: no remarks */
    bool progress;         /* true: show progress */
    bool progress_bar;     /* true: as a line that is redrawn; false: as new lines */
    /* statistics of each input of the last run, malloc; struct_size 0: not started; NULL without a summary */
    tamis_stream_stats *input_stats;
    tamis_stream_result *result;      /* target of the result of a resumable run; NULL: not wanted */
    cli_metrics *metrics;             /* borrowed, with its filter set; NULL: none */
    const tamis_stream_stats *before; /* of earlier processes of the run; borrowed; NULL: there are none */
    cli_names names;                  /* memory of `inputs` if --files-from was given */
} cli_stream;

/* Source of a cli_stream: parsed options, and the operands that are inputs. */
typedef struct cli_stream_given {
    const cli_value *values;
    char **inputs;
    size_t input_count;
    bool threads;              /* true: several threads unless --threads says otherwise; false: one */
    bool reports;              /* true: the command prints a summary, remarks and progress */
    bool prints;               /* true: records go to standard output */
    cli_extract_others others; /* parts of a record that do not belong to its key */
} cli_stream_given;

/* Parses the options. The caller releases *stream, also after an error; a stream of zeros may be released
 * too. A copy of *stream is valid until then. */
tamis_status cli_stream_configure(cli_stream *stream, const cli_stream_given *given, tamis_error *err);
void cli_stream_release(cli_stream *stream);

/* Returns the number of inputs; 1 if only standard input is read. */
static inline size_t cli_stream_inputs(const cli_stream *stream) {
    return stream->input_count > 0 ? stream->input_count : 1;
}

/* Applies key type and normalisation that the filter stores, see cli_key_apply_filter. */
tamis_status cli_stream_apply_filter(cli_stream *stream, const tamis_filter *filter, const char *path,
                                     bool grows, tamis_error *err);

/* Refuses options that contradict --type or --hex. cli_stream_configure calls it too. */
tamis_status cli_stream_check_form(const cli_stream *stream, tamis_error *err);

/* Returns the terminator if keys are whole lines, else -1: for cli_key_fit. */
int cli_stream_line_end(const cli_stream *stream);

/* Runs `service` over all records, with progress. Texts become keys before. The caller sets outputs and
 * stop_fd in *options; this function sets the inputs and the options in *stream. */
tamis_status cli_stream_run(const cli_stream *stream, const tamis_stream_service *service,
                            tamis_stream_options *options, tamis_stream_stats *stats, tamis_error *err);

/* Adds the option that helps to an error of a run about records: the library names no options. */
void cli_stream_advise(tamis_status status, tamis_error *err);

/* Returns the number of records that were passed on without a lookup, to the output of records with absent
 * keys. */
uint64_t cli_stream_passed(const cli_stream *stream, const tamis_stream_stats *stats);

/* Refuses the output `path` ("-": standard output) if it is a list of --files-from. */
tamis_status cli_stream_keep_list(const cli_stream *stream, const char *path, tamis_error *err);

/* Refuses the file `path`, which the command will change, if it is an input or a list of --files-from.
 * `what` describes the file in the message. */
tamis_status cli_stream_keep_apart(const cli_stream *stream, const char *path, const char *what,
                                   tamis_error *err);

/* ---- cli_names.c, for cli_stream.c ---- */

/*
 * Reads names: first the operands, then those in the files of --files-from ("-": standard input). The caller
 * releases *names, also after an error.
 *
 * - A list has one name per line. If it contains a zero byte, each name ends with a zero byte instead.
 * - Empty names in a list are ignored. A list without names is refused.
 * - If a list is standard input, the name "-" is refused.
 */
tamis_status cli_names_read(cli_names *names, const cli_value *files_from, char **operands, size_t count,
                            tamis_error *err);
void cli_names_release(cli_names *names);

/* True if one of the lists is that file ("-": standard output): output written there would overwrite the
 * list. */
bool cli_names_are_in(const cli_names *names, const char *path);

#endif
