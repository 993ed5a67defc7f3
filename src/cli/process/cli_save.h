/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_SAVE_H
#define TAMIS_CLI_PROCESS_CLI_SAVE_H

#include <stddef.h>

#include "cli/cli.h"

/*
 * Writes `size` bytes to the file `name`; "-" is standard output. A regular file is written beside its
 * name and renamed when it is whole, with the permissions of the one it replaces: on an error the old one
 * stays as it was, and nothing is left beside it. A FIFO or device is written directly. CLI_DONE, or
 * CLI_FAILED with *err filled.
 */
int cli_save(const char *name, const char *data, size_t size, tamis_error *err);

#endif
