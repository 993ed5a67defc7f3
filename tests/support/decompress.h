/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_DECOMPRESS_H
#define TAMIS_TEST_DECOMPRESS_H

#include <stdbool.h>

#include <tamis/experimental/compression.h>

#include "support/scratch.h"

/* Decompresses files with the programs of the formats (gzip -dc, zstd -dc ...), which ./dev installs for
 * the tests. Skips the test if the program is not installed. */

/* Appends the decompressed content of a file to *into. False if the program reports an error; what it
 * could decompress is appended. */
bool decompress_file(tamis_compression compression, const char *path, test_bytes *into);
/* The same for bytes. Writes a file "packed" to the scratch directory, and removes it. */
bool decompress_bytes(tamis_compression compression, const test_bytes *bytes, test_bytes *into);

#endif
