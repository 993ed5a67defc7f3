/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_STATE_STATE_KEYS_H
#define TAMIS_CLI_CMD_STATE_STATE_KEYS_H

#include <tamis/experimental/state.h>

#include "cli/cli.h"

/* Forgets the keys in `file` ("-": standard input), one a line. The stored options of the state's runs say
 * how a line becomes a key. *keys: keys read. *forgotten: those that the state had. */
tamis_status state_keys_forget(tamis_state *state, const char *directory, const char *file, uint64_t *keys,
                               uint64_t *forgotten, tamis_error *err);

#endif
