/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_STATE_STATE_H
#define TAMIS_CLI_CMD_STATE_STATE_H

#include <tamis/experimental/state.h>

#include "cli/cli.h"
#include "cli/filter/cli_window.h"

/* What the files of `tamis state` share. */

/* What it prints: state_fields.c. */
extern const struct state_fields {
    cli_field state, keys, kind, scheme, fpr;
    cli_window_fields times;
    cli_field commits, starts, forgotten, not_present, log_bytes, snapshot_bytes, made_with, runs, number,
        ended, open, records, unique, duplicates, unknown, missing, malformed, late, redelivered, inputs,
        file, bytes_read, output, duplicates_to, positions, source, position, whole, damage;
} state_fields;

/* state_keys.c: forgets the keys in `file` ("-": standard input), one a line. The stored options of the state's
 * runs say how a line becomes a key. *keys: keys read. *forgotten: those that the state had. */
tamis_status state_keys_forget(tamis_state *state, const char *directory, const char *file, uint64_t *keys,
                               uint64_t *forgotten, tamis_error *err);

#endif
