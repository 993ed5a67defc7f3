/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_DEDUP_COMMAND_H
#define TAMIS_CLI_DEDUP_COMMAND_H

#include <tamis/stream.h>

#include "cli/cli.h"

/*
 * The command line of a run with --state. The state keeps it without the FILEs, which it knows anyway:
 * the folder, a newline, and "tamis dedup --state seen -o once.log", all of it quoted for a shell.
 */
enum { DEDUP_COMMAND = 8192 };

/* Writes the command line to `to`, a buffer of DEDUP_COMMAND bytes. False, and "" in `to`: it is too long. */
bool dedup_command_keep(char *to, const cli_value *values);

/* Writes the command that finishes the run to `to`, a buffer of `room` bytes. False: it does not fit, or
 * tamis dedup did not begin the run. */
bool dedup_command_of(char *to, size_t room, const tamis_stream_account *run);

#endif
