/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_DEDUP_DEDUP_COMMAND_H
#define TAMIS_CLI_CMD_DEDUP_DEDUP_COMMAND_H

#include <tamis/experimental/stream.h>

#include "cli/cli.h"
#include "cli/input/cli_key.h"

/* The command line of a run with --state, and the command that finishes the run after a crash.
 * dedup_command.c describes the stored form. */
enum { DEDUP_COMMAND = 8192 /* max. bytes of a stored command line */ };

/* Writes the command line to `to`, a buffer of DEDUP_COMMAND bytes. False: it is too long, and `to` is "", or
 * the working directory has no name. */
bool dedup_command_keep(char *to, const cli_value *values);

/* Writes the options that define the keys to `to`, in the same form: "--key json:/id --trim". A state keeps
 * that text. False: it does not fit. */
bool dedup_command_keys(char *to, size_t capacity, const cli_value *values);
/* Reads the key type and normalisation that such a text asks for. False: it is not such a text. */
bool dedup_command_key_form(cli_key_form *form, const char *keys);

/* *joins: the keys are joined from several values, of several --key or of a regex with groups. False: it is
 * not such a text. */
bool dedup_command_joins_keys(bool *joins, const char *keys);

/* Doubts about the command that finishes a run. */
typedef struct dedup_finish {
    bool unsure;           /* the state was copied or moved; names of outputs may be out of date */
    char absent[300];      /* name of a file that is gone or replaced; "": none */
    bool is_known_by_name; /* too little of that input was read to know a copy of it by its content */
} dedup_finish;

/*
 * Writes the command that finishes the run to `to`, a buffer of `capacity` bytes. `state` is the present name
 * of the state's directory. If that directory was copied or moved, the command has its present name, and the
 * present names of files beside it that moved with it. False: the command does not fit, or another program
 * began the run.
 */
bool dedup_command_of(char *to, size_t capacity, const tamis_stream_checkpoint *run, const char *state,
                      dedup_finish *finish);

/* Writes a remark " (...)" that tells which names in the command may be out of date, or "". */
void dedup_command_missing_names(char *to, size_t capacity, const dedup_finish *finish);

#endif
