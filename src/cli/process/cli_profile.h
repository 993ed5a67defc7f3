/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_PROFILE_H
#define TAMIS_CLI_PROCESS_CLI_PROFILE_H

#include <jansson.h>
#include <stdio.h>

#include <tamis/experimental/stream.h>

/* Prints the time of a run as a table: for each stage the nanoseconds a record and the share of all
 * stages. Also prints how much memory of the process is in huge pages now. */
void cli_profile_print(FILE *out, const tamis_stream_profile *profile, uint64_t records);

/* Adds the same numbers to a JSON object, as member "profile": nanoseconds and bytes. */
void cli_profile_put(json_t *object, const tamis_stream_profile *profile);

#endif
