/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_PAGES_H
#define TAMIS_CLI_PROCESS_CLI_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of this process as the system has it. */
typedef struct cli_pages {
    uint64_t resident; /* bytes, */
    uint64_t huge;     /* and those of them that are in huge pages */
} cli_pages;

/* False where the system does not tell. */
bool cli_pages_read(cli_pages *pages);

/* What the system does with huge pages: "always", "madvise", "never"; "unavailable" where it has none. Into the caller's
 * buffer, which it answers. */
const char *cli_pages_policy(char *text, size_t size);

#endif
