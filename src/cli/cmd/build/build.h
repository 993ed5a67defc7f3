/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BUILD_BUILD_H
#define TAMIS_CLI_CMD_BUILD_BUILD_H

#include <sys/stat.h>

#include "cli/core/cli_rows.h"
#include "cli/filter/cli_filter.h"
#include "cli/filter/cli_metadata.h"
#include "cli/input/cli_stream.h"

/* What the files of build share. cmd_build.c says how a build runs. */

/* ---- options: build_config.c ---- */

/* The options of build, in the order of the help. */
enum { BUILD_RESIZE = CLI_OPT_OWN, BUILD_FROZEN };

extern const cli_option build_options[];
extern const cli_conflict build_conflicts[];

enum { BUILD_PARAMETERS = 5 };
/* A parameter in the URI of --output, decoded. */
typedef struct build_parameter {
    char text[40];
} build_parameter;

/* Validated options of a run, with defaults. Strings belong to argv. */
typedef struct build_config {
    cli_stream stream;
    cli_filter_spec filter;
    const char *output;
    tamis_format format;
    tamis_compression compression;
    bool resizes; /* --resize: replace a filter on a server while others add to it */
    cli_metadata metadata;
    cli_value values[CLI_OPTIONS_MAX]; /* options as typed, or from the URI (cli_server_parameter) */
    cli_value probes;                  /* probes= of the URI, if given */
    build_parameter parameters[BUILD_PARAMETERS]; /* texts of the values that come from the URI */
} build_config;

/* Validates the parsed arguments and fills *config. The caller calls build_config_release, also after an
 * error. */
tamis_status build_configure(build_config *config, const cli_args *args, tamis_error *err);
void build_config_release(build_config *config);

/* ---- files that are read twice: build_inputs.c ---- */

/* True if every input is a regular file, so that it can be read a second time. */
bool build_inputs_are_files(const cli_stream *stream);

/* Records the state of the files before the first reading: one struct stat for each input, which the caller
 * frees. */
tamis_status build_inputs_note(struct stat **before, const cli_stream *stream, tamis_error *err);

/* Compares the files after the last reading. Error: a file was replaced, cut short or edited since
 * `before`, so the last reading may lack records of the first. A file that has grown is not an error. */
tamis_status build_inputs_check(const struct stat *before, const cli_stream *stream, tamis_error *err);

/* ---- keys of an input that is read once: build_buffer.c ---- */

/*
 * Buffers the distinct keys of an input that can be read only once (tamis/experimental/key_buffer.h).
 *
 *     keys -> known yet? -yes-> dropped (kinds counting and cuckoo: kept)
 *                |no
 *                v
 *             buffer of 2^16 hashes -> end of the input: build_buffer_count, build_buffer_flush
 *                |full
 *                v
 *             growing filter        -> end of the input: build_buffer_detach_filter
 */
typedef struct build_buffer build_buffer;

/* `spec` (without a number of keys) and `secret` (may be NULL) describe the filter to be built and are
 * borrowed. Fails now if the filter is impossible even for one key, or if its scheme has no digest. The
 * caller owns *buffer and frees it. */
tamis_status build_buffer_create(build_buffer **buffer, const cli_filter_spec *spec, const cli_secret *secret,
                                 tamis_error *err);
void build_buffer_free(build_buffer *buffer);

/* The query function of a tamis_stream_service; `buffer` is its context. TAMIS_E_INVALID: more keys to keep
 * than the buffer holds, and the filter cannot grow. */
tamis_status build_buffer_add(void *buffer, const tamis_stream_batch *batch, size_t *done, tamis_error *err);

/* Returns the growing filter, which the caller then owns, or NULL if the hashes are still buffered. Add no
 * keys afterwards. */
tamis_filter *build_buffer_detach_filter(build_buffer *buffer);

/* Number of distinct keys. Kinds counting and cuckoo may have more hashes. */
uint64_t build_buffer_count(const build_buffer *buffer);

/* Adds all buffered hashes to a filter with the scheme, seed and secret of `spec`. */
tamis_status build_buffer_flush(const build_buffer *buffer, tamis_filter *filter, tamis_error *err);

#endif
