/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_WANT_H
#define TAMIS_CLI_WANT_H

#include "cli/cli.h"

/* What the commands that plan a filter have in common. */

/* Refuses a rate beside --kind exact, which accepts none. */
int cli_want_check_rate(const cli_value *kind, const cli_value *fpr, tamis_error *err);

/* A sentence of the library about memory that is too little names the option as typed instead, and the
 * bytes that are needed in a larger unit too. Any other sentence is left as it is. */
void cli_want_name_memory(const cli_value *memory, tamis_error *err);

#endif
