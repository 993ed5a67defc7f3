/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_TOOLS_H
#define TAMIS_TEST_TOOLS_H

#include "scratch.h"

/* Runs a shell command in the scratch directory with these bytes as its input, and appends its output to
 * `to`. Skips the test if the command is not installed, and fails it if the command fails. */
void tool_run(const char *command, const void *data, size_t size, test_bytes *to);

#endif
