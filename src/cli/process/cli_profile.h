/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_PROFILE_H
#define TAMIS_CLI_PROCESS_CLI_PROFILE_H

#include <jansson.h>
#include <stdio.h>

#include <tamis/experimental/stream.h>

#include "cli/cli.h"

/* An object, and its members: nanoseconds of each stage and wait, bytes of memory. */
typedef struct cli_profile_fields {
    cli_field profile, read, split, extract, hash, query, route, write, wait_input, wait_caller, wait_others,
        wall, resident, huge_pages;
} cli_profile_fields;

/* Prints the time of a run as a table: for each stage the nanoseconds a record and the share of all
 * stages. Also prints how much memory of the process is in huge pages now. */
void cli_profile_print(FILE *out, const cli_profile_fields *fields, const tamis_stream_profile *profile,
                       uint64_t records);

/* Adds the same numbers to a JSON object, as member "profile". */
void cli_profile_put(json_t *object, const cli_profile_fields *fields, const tamis_stream_profile *profile);

#endif
