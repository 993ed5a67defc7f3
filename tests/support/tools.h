/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_TOOLS_H
#define TAMIS_TEST_TOOLS_H

#include "scratch.h"

/* What a command of the shell makes of these bytes, behind what `to` has; in the folder of scratch_make. A command that
 * is not there skips the test, one that fails fails it. */
void tool_run(const char *command, const void *data, size_t size, test_bytes *to);

#endif
