/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_FILTER_CLI_FILE_H
#define TAMIS_CLI_FILTER_CLI_FILE_H

#include <stdio.h>

#include <tamis/compressed.h>
#include <tamis/file.h>

#include "cli/cli.h"
#include "cli/core/cli_json.h"
#include "cli/process/cli_secret.h"

/* What the commands that take filters in files have in common. */

/* What an opened filter is for: to be asked, to be changed, or that with keys past its capacity too. */
typedef enum cli_access { CLI_QUERY, CLI_CHANGE, CLI_OVER_CAPACITY } cli_access;

/* Opens the file, mapped, or whole where it is to be changed or packed; *packing (may be NULL) says in what. secret may
 * be NULL. CLI_DONE or CLI_FAILED. */
int cli_file_open(tamis_filter **filter, const char *path, cli_access access, const cli_secret *secret,
                  tamis_compression *compression, tamis_error *err);

/* The same, to be looked at whole: one on a server is fetched. */
int cli_file_fetch(tamis_filter **filter, const char *path, tamis_error *err);

/* What --gzip, given or not, asks for. */
tamis_compression cli_file_compression(bool gzip);

/* A wait for a file, or a filter on a server, that another process holds. */
typedef struct cli_lock_wait {
    uint64_t seconds; /* max. waiting time */
    double begun;     /* start of the wait; 0: not yet */
    bool reported;    /* the message was printed */
} cli_lock_wait;
/* The wait that --lock-wait asks for. */
cli_lock_wait cli_lock_wait_of(const cli_value *value);
/* After TAMIS_E_BUSY with *err filled: waits for a moment. CLI_DONE: try again. CLI_FAILED: the time is over, or waiting does
 * not help. Else the exit status of a run that a signal ended. */
int cli_lock_again(cli_lock_wait *wait, tamis_error *err);

/* Holds the file that is to be written until tamis_file_unlock, as far as its file system has locks; waits for another
 * process that holds it. CLI_DONE, CLI_FAILED or the exit status of a run that a signal ended. */
int cli_file_lock(tamis_lock **lock, const char *path, cli_lock_wait wait, tamis_error *err);
/* Saves it as `format`; AUTO: the one that it was read in. */
int cli_file_save(tamis_filter *filter, const char *path, tamis_format format, tamis_compression compression,
                  tamis_error *err);
/* The same, but a signal (cli_signal.h) that came or comes ends it: TAMIS_E_INTERRUPTED, and the file is as it was. `wait` is
 * for a filter on a server that another process changes. */
int cli_file_write(tamis_filter *filter, const char *path, tamis_format format, tamis_compression compression,
                   cli_lock_wait wait, tamis_error *err);
/* Saves it where no file may be. */
int cli_file_save_new(tamis_filter *filter, const char *path, tamis_error *err);

/* For the manual of commands that save: what may lie beside the file meanwhile. */
extern const cli_entry cli_file_files[];

/* Runs `each` for every operand: an error is reported and the next one taken, unless a signal was
 * it, and the last error is left in *err. With
 * an error CLI_FAILED, else CLI_NEGATIVE if an answer was that. */
int cli_file_each(const cli_args *args, int (*each)(const cli_args *args, const char *path, tamis_error *err),
                  tamis_error *err);

/* Writes text that may hold any bytes: control bytes become '?', so that it is one line. */
void cli_file_print(FILE *out, const char *text);

/* A member of a JSON object for text that need not be UTF-8: then its other bytes become '?'. */
void cli_file_json_text(json_t *object, const char *name, const char *text);

#endif
