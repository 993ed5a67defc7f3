/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_DEDUP_DEDUP_COMMAND_H
#define TAMIS_CLI_CMD_DEDUP_DEDUP_COMMAND_H

#include <tamis/stream.h>

#include "cli/cli.h"

/*
 * The command line of a run with --state. The state keeps it without the FILEs, which it knows anyway:
 * the folder, a newline, and "tamis dedup --state seen -o once.log", all of it quoted for a shell.
 */
enum { DEDUP_COMMAND = 8192 };

/* Writes the command line to `to`, a buffer of DEDUP_COMMAND bytes. False, and "" in `to`: it is too long. */
bool dedup_command_keep(char *to, const cli_value *values);

/* What is to be said with the command that finishes a run. */
typedef struct dedup_finish {
    bool unsure;      /* the state was copied or moved, and the names of outputs may be those of before */
    char absent[300]; /* name of a file that is not there; "": none */
} dedup_finish;

/*
 * Writes the command that finishes the run to `to`, a buffer of `capacity` bytes. `state` is the folder of the state as it is named
 * now. If that folder was copied or moved, the command has its present name, and those of files beside it that moved with it.
 * False: the command does not fit, or tamis dedup did not begin the run.
 */
bool dedup_command_of(char *to, size_t capacity, const tamis_stream_checkpoint *run, const char *state,
                      dedup_finish *finish);

/* " (...)": which names of the command are old; "" if none is. */
void dedup_command_missing_names(char *to, size_t capacity, const dedup_finish *finish);

#endif
