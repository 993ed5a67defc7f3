/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_FILTER_CLI_SAME_H
#define TAMIS_CLI_FILTER_CLI_SAME_H

#include "cli/filter/cli_filter.h"

/*
 * Compares options for a new filter with the existing filter in `path`, so that the same command can run
 * every day.
 *
 * - Options that contradict the filter (kind, scheme, seed, rate) are refused.
 * - Options that only apply to a new filter (expected keys, memory) are ignored. With `remarks`, a remark
 *   names those that differ from the filter.
 */
tamis_status cli_same_check(const tamis_filter *filter, const char *path, const cli_filter_spec *spec,
                            bool remarks, tamis_error *err);

#endif
