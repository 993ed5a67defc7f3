/* SPDX-License-Identifier: BSD-2-Clause */

/* Files of Guava's writeTo(), of any bytes. The input is the file. fuzz_format.h has the checked
 * properties. */
#include "fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_other_format(data, size, TAMIS_FORMAT_GUAVA);
}
