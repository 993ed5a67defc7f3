/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_FILTER_CLI_FILE_H
#define TAMIS_CLI_FILTER_CLI_FILE_H

#include <stdio.h>

#include <tamis/experimental/compressed.h>
#include <tamis/file.h>

#include "cli/cli.h"
#include "cli/input/cli_key.h"
#include "cli/process/cli_secret.h"

/* Functions shared by the commands that use filters in files. */

/* Purpose of an open filter: lookups; changes; changes with keys beyond its capacity. */
typedef enum cli_access { CLI_QUERY, CLI_CHANGE, CLI_OVER_CAPACITY } cli_access;

/* A wait for a file, or a filter on a server, that another process holds. */
typedef struct cli_lock_wait {
    uint64_t seconds; /* max. waiting time */
    double start;     /* start of the wait; 0: not yet */
    bool reported;    /* the message was printed */
} cli_lock_wait;

/* A filter to be opened. */
typedef struct cli_filter_file {
    const char *path;         /* file, or URI of a filter on a server */
    const cli_secret *secret; /* secret of a keyed filter; NULL: none */
    cli_access access;
    cli_lock_wait lock_wait; /* wait for its lock, if it is locked */
    cli_key_form form;       /* form of the keys if the filter is created on a server */
} cli_filter_file;

/* Opens a filter in a file or on a server. A file is mapped, or read into memory if it is compressed or
 * will be changed. *compression (may be NULL) is set to that of the file. */
tamis_status cli_file_open(tamis_filter **filter, const cli_filter_file *file, tamis_compression *compression,
                           tamis_error *err);

/* Opens a filter for lookups. One on a server is fetched into memory. */
tamis_status cli_file_fetch(tamis_filter **filter, const char *path, tamis_error *err);

/* Returns the compression for --gzip. */
tamis_compression cli_file_compression(bool gzip);

/* Returns the wait that --lock-wait sets. */
cli_lock_wait cli_lock_wait_of(const cli_value *value);
/* Waits a moment after TAMIS_E_BUSY, with *err filled. TAMIS_OK: try again. TAMIS_E_INTERRUPTED: a signal
 * ended the wait. Else the time is over, or waiting does not help. */
tamis_status cli_lock_again(cli_lock_wait *wait, tamis_error *err);

/* Locks the file for changes until tamis_file_unlock. Waits while another process holds the lock. *lock is
 * NULL for a URI and on a file system without locks. TAMIS_E_INTERRUPTED: a signal ended the wait. */
tamis_status cli_file_lock(tamis_lock **lock, const char *path, cli_lock_wait wait, tamis_error *err);
/* Where and how a filter is saved. */
typedef struct cli_file_target {
    const char *path;
    tamis_format format; /* AUTO: the format that the filter was read in */
    tamis_compression compression;
} cli_file_target;

/* Saves the filter as `format`; AUTO: the format that it was read in. A filter that was opened on a server
 * (`path` is its URI) needs no save. */
tamis_status cli_file_save(tamis_filter *filter, const char *path, tamis_format format,
                           tamis_compression compression, tamis_error *err);
/* Like cli_file_save, but a signal (cli_signal.h), before or during the call, ends it:
 * TAMIS_E_INTERRUPTED, and the file is unchanged. Pushes the filter if the path is a URI and the filter is in
 * memory; `wait` is for a filter there that another process changes. */
tamis_status cli_file_save_until_signal(tamis_filter *filter, const cli_file_target *target,
                                        cli_lock_wait wait, tamis_error *err);
/* Saves the filter to a new file. An existing file is an error. */
tamis_status cli_file_save_new(tamis_filter *filter, const char *path, tamis_error *err);

/* Calls `each` for every operand. After an error it goes on with the next operand, unless a signal was the
 * error. All errors but the last are printed; the last one is left in *err. */
typedef tamis_status cli_file_function(const cli_args *args, const char *path, bool *negative,
                                       tamis_error *err);
tamis_status cli_file_each(const cli_args *args, cli_file_function *each, bool *negative, tamis_error *err);

#endif
