/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_TEXT_H
#define TAMIS_CLI_CORE_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Numbers and text as people read them. Functions with `text` write into the caller's buffer and return
 * it. */

enum { CLI_TEXT_NUMBER = 40 }; /* buffer size that is enough for every number below */

/* 9253177 -> "9,253,177" */
const char *cli_text_count(char *text, size_t size, uint64_t count);
/* 1000000000000 -> "1e12", 1234 -> "1234": powers of ten from 1e6 on are short */
const char *cli_text_count_short(char *text, size_t size, uint64_t count);
/* 16300000.0 -> "16.3 M": three digits and a power of 1000 */
const char *cli_text_metric(char *text, size_t size, double number);
/* 45209600 -> "43.1 MiB" */
const char *cli_text_bytes(char *text, size_t size, uint64_t bytes);
/* 1 << 60 -> "1EiB": the largest binary unit without a fraction, in the form that --memory reads */
const char *cli_text_bytes_exact(char *text, size_t size, uint64_t bytes);
/* 147000000.0 -> "147 MB" (decimal, for rates and files) */
const char *cli_text_volume(char *text, size_t size, double bytes);
/* 1e-9 -> "1e-9", 0.001 -> "0.001": two digits, and an exponent without padding */
const char *cli_text_real(char *text, size_t size, double number);
/* 0.0998 -> "0.0998", 0.00998 -> "9.98e-3": a measured rate with three digits */
const char *cli_text_rate(char *text, size_t size, double rate);
/* 7213.4 -> "7,213", 0.00012 -> "1.2e-4": a count that is an expected value */
const char *cli_text_expected(char *text, size_t size, double number);
/* 1 -> "1 record", 1000 -> "1,000 records" */
const char *cli_text_records(char *text, size_t size, uint64_t count);
/* 3671 -> "1:01:11" */
const char *cli_text_duration(char *text, size_t size, double seconds);

/* Prints text on one line: control bytes become '?'. */
void cli_text_print(FILE *out, const char *text);

/* Writes `text` and a newline. Lines break at blanks, so that none is wider than `width`. The first line
 * begins at `column`; each further line is indented by `indent` blanks. */
void cli_text_wrap(FILE *out, const char *text, size_t column, size_t indent, size_t width);

/* Returns the value of a hexadecimal digit, or -1. */
int cli_text_hex_digit(char c);

/* Returns the edit distance (Levenshtein) of two names, without case: the fewest letters to change, insert or
 * remove. */
unsigned cli_text_distance(const char *a, const char *b);

/* Writes a length of time in the largest unit that it is a whole number of: "24h", "90s", "500ms". Returns
 * `text`. */
const char *cli_text_time(char *text, size_t size, uint64_t ms);

#endif
