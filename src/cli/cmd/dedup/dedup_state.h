/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_DEDUP_DEDUP_STATE_H
#define TAMIS_CLI_CMD_DEDUP_DEDUP_STATE_H

#include <tamis/state.h>

#include "cli/cmd/dedup/dedup_config.h"
#include "cli/process/cli_secret.h"

/* Opens the state of --state, or makes it as the options say, and compares it with them. secret may be NULL. CLI_DONE or
 * CLI_FAILED. */
int dedup_state_open(tamis_state **state, const dedup_config *config, const cli_secret *secret,
                     tamis_error *err);

/* What --commit-every asks for: a size, a time, or both with a comma between them; 0 of what is not given. */
int dedup_state_commits(const char *text, uint64_t *bytes, uint64_t *milliseconds, tamis_error *err);

/* What the end of a run needs to know of its beginning. */
typedef struct dedup_state_begun {
    const dedup_config *config;
    tamis_stream_stats *before; /* filled: what was answered by then */
} dedup_state_begun;

/* Says how the run begins, for tamis_stream_commits.on_start; the context is a dedup_state_begun. */
void dedup_state_on_start(void *begun, const tamis_stream_commits *commits, const tamis_stream_stats *before);

/* Prints a message about a run, for tamis_stream_commits.remark; the context is a dedup_state_begun. A `loss` is printed with
 * --quiet and --json too. */
void dedup_state_remark(void *begun, const char *message, bool loss);

/* Says what is left for the next run. */
void dedup_state_ended(const dedup_config *config, const tamis_stream_commits *commits);

/* Names the option that helps in the error of a run with --state, or the command. */
void dedup_state_advise(const tamis_stream_commits *commits, const dedup_config *config, tamis_status status,
                        tamis_error *err);

#endif
