/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_PAGES_H
#define TAMIS_CLI_PROCESS_CLI_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of this process as reported by the system. */
typedef struct cli_pages {
    uint64_t resident; /* resident bytes */
    uint64_t huge;     /* resident bytes in huge pages */
} cli_pages;

/* Reads the memory of this process. Returns false if the system does not report it. */
bool cli_pages_read(cli_pages *pages);

/* Writes the system's policy for huge pages: "always", "madvise", "never", or "unavailable" if it has none.
 * Returns `text`. */
const char *cli_pages_policy(char *text, size_t size);

#endif
