/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_UNPACKED_H
#define TAMIS_TEST_UNPACKED_H

#include <stdbool.h>

#include <tamis/compression.h>

#include "support/scratch.h"

/* Packed files as the packings' own commands (gzip -dc, zstd -dc ...) read them, which ./dev installs for the tests. A
 * command that is not there skips the test. */

/* Adds what comes of the file to *into. False where the command does not find it whole; all that it could unpack up to
 * there is added. */
bool unpacked_file(tamis_compression compression, const char *path, test_bytes *into);
/* The same of bytes. Writes a file "packed" into the scratch folder, and removes it. */
bool unpacked(tamis_compression compression, const test_bytes *bytes, test_bytes *into);

#endif
