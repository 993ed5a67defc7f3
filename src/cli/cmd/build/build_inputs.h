/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BUILD_BUILD_INPUTS_H
#define TAMIS_CLI_CMD_BUILD_BUILD_INPUTS_H

#include "cli/input/cli_stream.h"

/* True if every input is a regular file, so that it can be read a second time. */
bool build_inputs_are_files(const cli_stream *stream);

/* Records the state of the files before the first reading: one struct stat for each input, which the caller
 * frees. */
tamis_status build_inputs_note(struct stat **before, const cli_stream *stream, tamis_error *err);

/* Compares the files after the last reading. Error: a file was replaced, cut short or edited since
 * `before`, so the last reading may lack records of the first. A file that has grown is not an error. */
tamis_status build_inputs_check(const struct stat *before, const cli_stream *stream, tamis_error *err);

#endif
