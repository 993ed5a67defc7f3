/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_PROFILE_H
#define TAMIS_CLI_PROCESS_CLI_PROFILE_H

#include <jansson.h>
#include <stdio.h>

#include <tamis/stream.h>

/* Where the time of a run went, as a table: for each stage nanoseconds a record, and its share of what all of them took; and
 * how much of the process is in huge pages now. */
void cli_profile_print(FILE *out, const tamis_stream_profile *profile, uint64_t records);

/* The same as the member "profile": nanoseconds, and bytes. */
void cli_profile_put(json_t *object, const tamis_stream_profile *profile);

#endif
