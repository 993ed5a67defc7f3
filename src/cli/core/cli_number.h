/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_NUMBER_H
#define TAMIS_CLI_CORE_CLI_NUMBER_H

#include "cli/cli.h"

/*
 * Numbers as people type them. Each function reads the whole text or refuses it. A sign, blanks, further
 * text, infinity and NaN are refused. The locale has no effect.
 */

typedef enum cli_number {
    CLI_NUMBER_OK = 0,
    CLI_NUMBER_MALFORMED,
    CLI_NUMBER_NOT_WHOLE,
    CLI_NUMBER_TOO_LARGE
} cli_number;

/* 10000000, 1e7, 1.5M: k (or K), M, G, T are powers of 1000; the result must be whole. */
cli_number cli_number_count(const char *text, uint64_t *value);
/* 1000, 1e9, 512MiB, 2G, 1.5GB: K and KiB are 1024, KB (kB) is 1000, up to E; B alone is 1. With a larger
 * unit a fraction of a byte is dropped (0.1G). Without one it is refused (1.5). */
cli_number cli_number_size(const char *text, uint64_t *value);
/* 500ms, 2s, 10m, 6h, 1d; without a unit: seconds. The result is in milliseconds; a fraction of one is
 * dropped. */
cli_number cli_number_time(const char *text, uint64_t *ms);
/* Decimal or 0x hexadecimal, all 64 bits. */
cli_number cli_number_seed(const char *text, uint64_t *value);
/* 1e-9, 0.001, 0.1%. A number that is too small for a double becomes 0. */
cli_number cli_number_rate(const char *text, double *value);

/* Reads `text` by the type and the bounds of `option`. `what` is the name in the error, such as
 * "--expect". */
tamis_status cli_number_read(const cli_option *option, const char *what, const char *text, cli_value *value,
                             tamis_error *err);

#endif
