/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_DEDUP_DEDUP_STATE_H
#define TAMIS_CLI_CMD_DEDUP_DEDUP_STATE_H

#include <stdio.h>

#include <tamis/experimental/state.h>

#include "cli/cmd/dedup/dedup_config.h"
#include "cli/process/cli_secret.h"

/* ---- positions for --commits: dedup_positions.c ---- */

/* The target of --commits. */
typedef struct dedup_positions {
    const char *name; /* descriptor or file, as given */
    FILE *out;        /* NULL: none */
} dedup_positions;

/* Refuses a --commits that is an output, an input or a file of the state. */
tamis_status dedup_positions_check(const dedup_config *config, tamis_error *err);
/* Opens the descriptor or file `name`; NULL: does nothing. To be called before any other file is opened. */
tamis_status dedup_positions_open(dedup_positions *positions, const char *name, tamis_error *err);
/* Prints a line: positions of the source are safe up to this one. */
tamis_status dedup_positions_print(dedup_positions *positions, tamis_key source, uint64_t position,
                                   tamis_error *err);
void dedup_positions_close(dedup_positions *positions);

/* ---- the state: dedup_state.c ---- */

/* Opens the state of --state, or creates it with the given options. Refuses a state that contradicts the
 * options. `secret` may be NULL. TAMIS_E_INTERRUPTED: a signal ended the wait. */
tamis_status dedup_state_open(tamis_state **state, const dedup_config *config, const cli_secret *secret,
                              tamis_error *err);

/* Parses --commit-every: a size, a time, or both with a comma between them. Sets a value that is not given to
 * 0. */
tamis_status dedup_state_read_commit_every(const char *text, uint64_t *bytes, uint64_t *milliseconds,
                                           tamis_error *err);

/* Context of the callbacks below. */
typedef struct dedup_state_reporter {
    const dedup_config *config;
    tamis_stream_stats *before; /* target of the statistics at the start of this run */
    dedup_positions *positions; /* target of committed positions */
} dedup_state_reporter;

/* Reports how the run begins: tamis_stream_commits.on_start, with a dedup_state_reporter as context. */
void dedup_state_on_start(void *reporter, const tamis_stream_result *result,
                          const tamis_stream_stats *before);

/* Prints a message about a run: tamis_stream_commits.remark, with a dedup_state_reporter as context. A
 * `loss` is printed with --quiet and --json too. */
void dedup_state_remark(void *reporter, const char *message, bool loss);

/* Prints a committed position: tamis_stream_commits.on_position, with a dedup_state_reporter as context. */
tamis_status dedup_state_on_position(void *reporter, tamis_key source, uint64_t position, tamis_error *err);

/* Reports the unterminated records that are left for the next run. */
void dedup_state_ended(const dedup_config *config, const tamis_stream_result *result);

/* Adds to the error of a run with --state the option or the command that helps. */
void dedup_state_advise(const tamis_stream_result *result, const dedup_config *config, tamis_status status,
                        tamis_error *err);

#endif
