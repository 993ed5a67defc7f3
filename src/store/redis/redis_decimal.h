/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_REDIS_DECIMAL_H
#define TAMIS_STORE_REDIS_REDIS_DECIMAL_H

#include <stddef.h>

/* Fractions that other programs read and write, so with a point, whatever locale this program has set. */
double tamis__redis_read_decimal(const char *text, char **end); /* as strtod */
void tamis__redis_write_decimal(char *to, size_t room, double value);
int tamis__redis_write_digits(char *to, size_t room, int digits, double value); /* as snprintf of "%.*g" */

#endif
