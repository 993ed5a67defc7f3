/* SPDX-License-Identifier: BSD-2-Clause */

/* Guava's writeTo() form, of any bytes: fuzz_format.h says what has to hold. The input is the file. */
#include "fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_foreign(data, size, TAMIS_FORMAT_GUAVA);
}
