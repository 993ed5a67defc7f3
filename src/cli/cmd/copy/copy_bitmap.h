/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_COPY_COPY_BITMAP_H
#define TAMIS_CLI_CMD_COPY_COPY_BITMAP_H

#include "cli/cli.h"
#include "cli/filter/cli_file.h"

/* Raw bits, as a server has them, between a filter on a server and a file. */
int copy_bitmap(const char *from, const char *to, cli_lock_wait wait, tamis_error *err);

#endif
