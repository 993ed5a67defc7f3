/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BUILD_BUILD_URI_H
#define TAMIS_CLI_CMD_BUILD_BUILD_URI_H

#include "cli/cmd/build/build_config.h"

/* What the URI of --output says of a filter of layout tamis (expect, fpr, scheme, seed, probes) is taken as if the options
 * of those names had; with --resize the filter there says the rest, but for --expect. Contradictions are CLI_FAILED. */
int build_uri_apply(build_config *config, tamis_error *err);

#endif
