/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BUILD_BUILD_URI_H
#define TAMIS_CLI_CMD_BUILD_BUILD_URI_H

#include "cli/cmd/build/build_config.h"

/* Applies parameters in the URI of --output as if they were options: expect, fpr, scheme, seed and probes.
 * Only for layout tamis. With --resize the existing filter supplies what neither gives, except the number of
 * keys. Error: an option contradicts the URI or the existing filter. */
tamis_status build_uri_apply(build_config *config, tamis_error *err);

#endif
