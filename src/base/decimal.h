/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_DECIMAL_H
#define TAMIS_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

/* Parses a number up to `max` that consists of decimal digits only. Returns false for any other text and
 * leaves *out unchanged. */
TAMIS_PRIVATE_API bool tamis__read_number(const char *text, uint64_t max, uint64_t *out);

/* Returns the milliseconds of a unit of time: ms, s, m, h or d. Returns 0 for any other text. */
TAMIS_PRIVATE_API uint32_t tamis__time_unit(const char *name);

/* Reading and writing of fractions that other programs share. The decimal separator is always a point,
 * whatever locale the program has set. */
TAMIS_PRIVATE_API double tamis__read_decimal(const char *text, char **end); /* like strtod() */
TAMIS_PRIVATE_API void tamis__write_decimal(char *to, size_t size, double value);
/* Like snprintf(to, size, "%.*g", digits, value). */
TAMIS_PRIVATE_API int tamis__write_digits(char *to, size_t size, int digits, double value);

#endif
