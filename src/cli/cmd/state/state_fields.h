/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_STATE_STATE_FIELDS_H
#define TAMIS_CLI_CMD_STATE_STATE_FIELDS_H

#include "cli/cli.h"
#include "cli/filter/cli_window.h"

/* What `tamis state` prints. */
extern const struct state_fields {
    cli_field state, keys, kind, scheme, fpr;
    cli_window_fields times;
    cli_field commits, starts, forgotten, not_present, log_bytes, snapshot_bytes, made_with, runs, number,
        ended, open, records, unique, duplicates, unknown, missing, malformed, late, redelivered, inputs,
        file, bytes_read, output, duplicates_to, positions, source, position, whole, damage;
} state_fields;

#endif
