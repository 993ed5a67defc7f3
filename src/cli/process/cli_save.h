/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_SAVE_H
#define TAMIS_CLI_PROCESS_CLI_SAVE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"

/*
 * Writes `size` bytes to the file `name`; "-" is standard output. A regular file is replaced atomically
 * and keeps its permissions. After an error the old file is unchanged, and no temporary file is left. A
 * FIFO or device is written directly. `durable`: the new content survives a power loss.
 */
tamis_status cli_save(const char *name, const char *data, size_t size, bool durable, tamis_error *err);

#endif
