/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_DEDUP_DEDUP_STATE_H
#define TAMIS_CLI_CMD_DEDUP_DEDUP_STATE_H

#include <tamis/experimental/state.h>

#include "cli/cmd/dedup/dedup_config.h"
#include "cli/cmd/dedup/dedup_positions.h"
#include "cli/process/cli_secret.h"

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
