/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_REDIS_DECIMAL_H
#define TAMIS_STORE_REDIS_REDIS_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits alone, of a number up to `most`; false, and *out as it was: it is something else. */
bool tamis__redis_read_number(const char *text, uint64_t most, uint64_t *out);

/* Fractions that other programs read and write, so with a point, whatever locale this program has set. */
double tamis__redis_read_decimal(const char *text, char **end); /* as strtod */
void tamis__redis_write_decimal(char *to, size_t room, double value);
int tamis__redis_write_digits(char *to, size_t room, int digits, double value); /* as snprintf of "%.*g" */

#endif
