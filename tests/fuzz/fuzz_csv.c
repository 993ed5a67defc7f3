/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * CSV records in pieces of any size, and their columns, compared with a parser that works byte by byte.
 * Byte 0 of the input selects delimiter and terminator, byte 1 the size of the pieces.
 */
#include <stdint.h>
#include <stdlib.h>

#include "support/csv_oracle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t delimiters[] = {',', ';', '\t', '|', 0xff, '!', ' ', 'a'};
    if (size < 2)
        return 0;
    const uint8_t delimiter = delimiters[data[0] % 8], terminator = data[0] / 8 % 2 ? 0 : '\n';
    uint64_t random = data[1];
    /* In one piece, in large pieces, in small pieces. */
    const size_t pieces[] = {SIZE_MAX, (size_t)data[1] + 1, (size_t)data[1] % 8 + 1};
    for (int i = 0; i < 3; i++)
        if (!csv_agrees(data + 2, size - 2, delimiter, terminator, pieces[i], &random))
            abort();
    return 0;
}
