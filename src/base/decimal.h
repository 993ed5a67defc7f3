/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_DECIMAL_H
#define TAMIS_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

/* Decimal digits alone, of a number up to `most`; false, and *out as it was: it is something else. */
TAMIS_PRIVATE_API bool tamis__read_number(const char *text, uint64_t most, uint64_t *out);

/* Fractions that other programs read and write, so with a point, whatever locale this program has set. */
TAMIS_PRIVATE_API double tamis__read_decimal(const char *text, char **end); /* as strtod */
TAMIS_PRIVATE_API void tamis__write_decimal(char *to, size_t room, double value);
TAMIS_PRIVATE_API int tamis__write_digits(char *to, size_t room, int digits,
                                          double value); /* as snprintf of "%.*g" */

#endif
