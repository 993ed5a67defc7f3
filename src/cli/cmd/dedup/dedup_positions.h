/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_DEDUP_DEDUP_POSITIONS_H
#define TAMIS_CLI_CMD_DEDUP_DEDUP_POSITIONS_H

#include <stdio.h>

#include <tamis/key.h>

#include "cli/cli.h"

struct dedup_config;

/* The target of --commits. */
typedef struct dedup_positions {
    const char *name; /* descriptor or file, as given */
    FILE *out;        /* NULL: none */
} dedup_positions;

/* Refuses a --commits that is an output, an input or a file of the state. */
tamis_status dedup_positions_check(const struct dedup_config *config, tamis_error *err);
/* Opens the descriptor or file `name`; NULL: does nothing. To be called before any other file is opened. */
tamis_status dedup_positions_open(dedup_positions *positions, const char *name, tamis_error *err);
/* Prints a line: positions of the source are safe up to this one. */
tamis_status dedup_positions_print(dedup_positions *positions, tamis_key source, uint64_t position,
                                   tamis_error *err);
void dedup_positions_close(dedup_positions *positions);

#endif
