/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/process/cli_profile.h"

#include <inttypes.h>
#include <string.h>

#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"

enum { STAGES = 7, ROWS = STAGES + 4 };

typedef struct row {
    const cli_field *field;
    uint64_t time;
} row;

static void list(row rows[ROWS], const cli_profile_fields *fields, const tamis_stream_profile *p) {
    const row values[ROWS] = {
        {&fields->read, p->read},          {&fields->split, p->split},      {&fields->extract, p->extract},
        {&fields->hash, p->hash},          {&fields->query, p->query},      {&fields->route, p->route},
        {&fields->write, p->write},        {&fields->wait_input, p->input}, {&fields->wait_caller, p->caller},
        {&fields->wait_others, p->others}, {&fields->wall, p->wall},
    };

    for (int i = 0; i < ROWS; i++)
        rows[i] = values[i];
}

/* Memory of this process as reported by the system. */
typedef struct pages {
    uint64_t resident; /* resident bytes */
    uint64_t huge;     /* resident bytes in huge pages */
} pages;

/* Reads a line "NAME:   123 kB" and converts it to bytes. */
static bool read_field(const char *line, const char *name, uint64_t *bytes) {
    const size_t size = strlen(name);
    uint64_t kib;

    if (strncmp(line, name, size) != 0 || sscanf(line + size, ":%" SCNu64 " kB", &kib) != 1)
        return false;
    *bytes = kib << 10;
    return true;
}

/* Returns false if the system does not report the memory of this process. */
static bool read_pages(pages *memory) {
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[128];
    int found = 0;

    if (!file)
        return false;
    while (fgets(line, sizeof line, file))
        found +=
            read_field(line, "Rss", &memory->resident) || read_field(line, "AnonHugePages", &memory->huge);
    fclose(file);
    return found == 2;
}

static void print_pages(FILE *out, const cli_profile_fields *fields) {
    char huge[CLI_TEXT_NUMBER], values[CLI_TEXT_NUMBER];
    pages memory;

    if (read_pages(&memory))
        fprintf(out, "%-22s %15s  of %s resident\n", fields->huge_pages.label,
                cli_text_bytes(huge, sizeof huge, memory.huge),
                cli_text_bytes(values, sizeof values, memory.resident));
}

void cli_profile_print(FILE *out, const cli_profile_fields *fields, const tamis_stream_profile *profile,
                       uint64_t records) {
    const double count = records > 0 ? (double)records : 1;
    uint64_t busy = 0;
    row rows[ROWS];

    list(rows, fields, profile);
    for (int i = 0; i < STAGES; i++)
        busy += rows[i].time;
    fprintf(out, "%-22s %15s %9s\n", "stage", records > 0 ? "ns a record" : "ns in all", "share");
    for (int i = 0; i < ROWS; i++) {
        fprintf(out, "%-22s %15.1f", rows[i].field->label, (double)rows[i].time / count);
        if (i < STAGES && busy > 0)
            fprintf(out, " %7.2f %%", 100.0 * (double)rows[i].time / (double)busy);
        fputc('\n', out);
    }
    print_pages(out, fields);
}

void cli_profile_put(json_t *object, const cli_profile_fields *fields, const tamis_stream_profile *profile) {
    json_t *times = json_object();
    row rows[ROWS];
    pages memory;

    list(rows, fields, profile);
    for (int i = 0; i < ROWS; i++)
        cli_json_integer(times, rows[i].field, rows[i].time);
    if (read_pages(&memory)) {
        cli_json_integer(times, &fields->resident, memory.resident);
        cli_json_integer(times, &fields->huge_pages, memory.huge);
    }
    cli_json_set(object, &fields->profile, times);
}
