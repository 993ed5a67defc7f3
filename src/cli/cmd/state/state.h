/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_STATE_STATE_H
#define TAMIS_CLI_CMD_STATE_STATE_H

#include <tamis/experimental/state.h>

#include "cli/cli.h"
#include "cli/filter/cli_window.h"
#include "cli/process/cli_secret.h"

/* What the files of `tamis state` share. */

/* What it prints: state_fields.c. */
extern const struct state_fields {
    cli_field state, keys, kind, scheme, fpr;
    cli_window_fields times;
    cli_field commits, starts, forgotten, not_present, log_bytes, snapshot_bytes, made_with, runs, number,
        ended, open, records, unique, duplicates, unknown, missing, malformed, late, redelivered, inputs,
        file, bytes_read, output, duplicates_to, positions, source, position, whole, damage;
} state_fields;

/* The state that the command works on. */
typedef struct state_view {
    const char *directory;
    cli_secret secret;
    tamis_state_options options;
    tamis_state *state;
    tamis_state_info info;
} state_view;

/* ---- state_show.c ---- */

/* Prints an open state, with view->info set. */
tamis_status state_show_text(const state_view *view, tamis_error *err);
tamis_status state_show_json(const state_view *view, tamis_error *err);

/* Prints the bytes of log and snapshot. */
void state_print_sizes(const state_view *view);
/* Prints a number with the label of its field, and then `more`. */
void state_print_number(const cli_field *field, uint64_t number, const char *more);

/* ---- state_keys.c ---- */

/* Numbers of forgotten keys, and of keys that the state did not have. */
typedef struct state_forgotten {
    uint64_t forgotten, not_present;
} state_forgotten;

/* Forgets the keys in `file` ("-": standard input), one a line. The stored options of the state's
 * runs say how a line becomes a key. */
tamis_status state_keys_forget(tamis_state *state, const char *directory, const char *file,
                               state_forgotten *result, tamis_error *err);

#endif
