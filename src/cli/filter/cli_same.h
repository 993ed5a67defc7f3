/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_FILTER_CLI_SAME_H
#define TAMIS_CLI_FILTER_CLI_SAME_H

#include "cli/filter/cli_filter.h"

/*
 * Options that say how a filter is to be made, where the file `path` already has one. Those that contradict it (kind,
 * scheme, seed, rate) are refused: CLI_FAILED. Those that count only when it is made (expected keys, memory) change
 * nothing, which with `remarks` is said where they are others than it was made with. So the same command may be given
 * every day.
 */
int cli_same_check(const tamis_filter *filter, const char *path, const cli_filter_spec *spec, bool remarks,
                   tamis_error *err);

#endif
