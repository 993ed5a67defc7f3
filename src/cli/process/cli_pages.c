/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/process/cli_pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Reads a line "NAME:   123 kB" and converts it to bytes. */
static bool read_field(const char *line, const char *name, uint64_t *bytes) {
    const size_t size = strlen(name);
    uint64_t kib;

    if (strncmp(line, name, size) != 0 || sscanf(line + size, ":%" SCNu64 " kB", &kib) != 1)
        return false;
    *bytes = kib << 10;
    return true;
}

bool cli_pages_read(cli_pages *pages) {
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[128];
    int found = 0;

    if (!file)
        return false;
    while (fgets(line, sizeof line, file))
        found += read_field(line, "Rss", &pages->resident) || read_field(line, "AnonHugePages", &pages->huge);
    fclose(file);
    return found == 2;
}

const char *cli_pages_policy(char *text, size_t size) {
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    char line[128] = "", policy[sizeof line];

    /* The policy in use is in brackets: "always [madvise] never". */
    if (!file || !fgets(line, sizeof line, file) || sscanf(line, "%*[^[][%127[^]]", policy) != 1)
        strcpy(policy, "unavailable");
    if (file)
        fclose(file);
    snprintf(text, size, "%s", policy);
    return text;
}
