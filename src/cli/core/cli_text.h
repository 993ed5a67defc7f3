/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_TEXT_H
#define TAMIS_CLI_CORE_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Numbers and text as people read them. Each writes into the caller's buffer and answers it. */

enum { CLI_TEXT_NUMBER = 40 }; /* room enough for any of the numbers below */

/* 9253177 -> "9,253,177" */
const char *cli_text_count(char *text, size_t size, uint64_t count);
/* 1000000000000 -> "1e12", 1234 -> "1234": short where a power of ten from 1e6 on */
const char *cli_text_count_short(char *text, size_t size, uint64_t count);
/* 16300000.0 -> "16.3 M": three digits and a power of 1000 */
const char *cli_text_metric(char *text, size_t size, double number);
/* 45209600 -> "43.1 MiB" */
const char *cli_text_bytes(char *text, size_t size, uint64_t bytes);
/* 1 << 60 -> "1EiB": the largest binary unit that leaves nothing over, as --memory would read it */
const char *cli_text_bytes_exact(char *text, size_t size, uint64_t bytes);
/* 147000000.0 -> "147 MB" (decimal, for rates and files) */
const char *cli_text_volume(char *text, size_t size, double bytes);
/* 1e-9 -> "1e-9", 0.001 -> "0.001": two digits, exponent as people write it */
const char *cli_text_real(char *text, size_t size, double number);
/* A measured rate, with three digits: 0.0998, 9.98e-3 */
const char *cli_text_rate(char *text, size_t size, double rate);
/* A count that is an expected value: 7213.4 -> "7,213", 0.00012 -> "1.2e-4" */
const char *cli_text_expected(char *text, size_t size, double number);
/* 1 -> "1 record", 1000 -> "1,000 records" */
const char *cli_text_records(char *text, size_t size, uint64_t count);
/* 3671 -> "1:01:11" */
const char *cli_text_duration(char *text, size_t size, double seconds);

/* Writes `text` with lines broken at blanks before column `width`, each but the first begun with
 * `indent` blanks; `column` is where the first begins. Ends with a newline. */
void cli_text_wrap(FILE *out, const char *text, size_t column, size_t indent, size_t width);

/* The value of a hexadecimal digit; -1 for what is none. */
int cli_text_hex_digit(char c);

/* How many letters must change, come or go to make one name of the other, case not counting. */
unsigned cli_text_distance(const char *a, const char *b);

#endif
