/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_COPY_COPY_BITMAP_H
#define TAMIS_CLI_CMD_COPY_COPY_BITMAP_H

#include "cli/cli.h"
#include "cli/filter/cli_file.h"

/* Copies the raw bits of a filter on a server to a file, or from a file to the server. Exactly one of `from`
 * and `to` must be a URI. TAMIS_E_INTERRUPTED: a signal ended the wait. */
tamis_status copy_bitmap(const char *from, const char *to, cli_lock_wait wait, tamis_error *err);

#endif
