/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_NUMBER_H
#define TAMIS_CLI_CORE_CLI_NUMBER_H

#include "cli/cli.h"

/*
 * Numbers as people type them. Each reads the whole of `text` or refuses it: no sign, no blanks, no
 * rest, no infinity or NaN; independent of locale.
 */

typedef enum cli_number {
    CLI_NUMBER_OK = 0,
    CLI_NUMBER_MALFORMED,
    CLI_NUMBER_NOT_WHOLE,
    CLI_NUMBER_TOO_LARGE
} cli_number;

/* 10000000, 1e7, 1.5M: k (or K), M, G, T are powers of 1000; the result must be whole. */
cli_number cli_number_count(const char *text, uint64_t *value);
/* 1000, 1e9, 512MiB, 2G, 1.5GB: K and KiB are 1024, KB (kB) is 1000, up to E; B alone is 1. A fraction
 * of a byte is dropped where the unit is larger (0.1G), and refused where it is not (1.5). */
cli_number cli_number_size(const char *text, uint64_t *value);
/* 500ms, 2s, 10m, 6h, 1d, and seconds without a unit, in milliseconds; a fraction of one is dropped. */
cli_number cli_number_time(const char *text, uint64_t *ms);
/* Decimal or 0x hexadecimal, all 64 bits. */
cli_number cli_number_seed(const char *text, uint64_t *value);
/* 1e-9, 0.001, 0.1%. What is too small for a double is 0. */
cli_number cli_number_rate(const char *text, double *value);
/* 10, 9.6, 1e2: the same without a percent sign. */
cli_number cli_number_real(const char *text, double *value);

/* Reads `text` as `option` wants it, within its bounds. `what` names it in the error ("--expect"). */
int cli_number_read(const cli_option *option, const char *what, const char *text, cli_value *value,
                    tamis_error *err);

#endif
