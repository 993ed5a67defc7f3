/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/process/cli_profile.h"

#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"
#include "cli/process/cli_pages.h"

enum { STAGES = 7, ROWS = STAGES + 4 };

typedef struct row {
    const char *name, *label; /* name in JSON, and in the table */
    uint64_t time;
} row;

static void list(row rows[ROWS], const tamis_stream_profile *p) {
    const row values[ROWS] = {{"read", "reading", p->read},
                              {"split", "splitting", p->split},
                              {"extract", "finding keys", p->extract},
                              {"hash", "hashing", p->hash},
                              {"query", "querying the filter", p->query},
                              {"route", "copying out", p->route},
                              {"write", "writing", p->write},
                              {"wait_input", "waiting for input", p->input},
                              {"wait_caller", "waiting, first thread", p->caller},
                              {"wait_others", "waiting, others", p->others},
                              {"wall", "on the clock", p->wall}};

    for (int i = 0; i < ROWS; i++)
        rows[i] = values[i];
}

static void print_pages(FILE *out) {
    char huge[CLI_TEXT_NUMBER], values[CLI_TEXT_NUMBER];
    cli_pages pages;

    if (cli_pages_read(&pages))
        fprintf(out, "%-22s %15s  of %s resident\n", "in huge pages",
                cli_text_bytes(huge, sizeof huge, pages.huge),
                cli_text_bytes(values, sizeof values, pages.resident));
}

void cli_profile_print(FILE *out, const tamis_stream_profile *profile, uint64_t records) {
    const double count = records > 0 ? (double)records : 1;
    uint64_t busy = 0;
    row rows[ROWS];

    list(rows, profile);
    for (int i = 0; i < STAGES; i++)
        busy += rows[i].time;
    fprintf(out, "%-22s %15s %9s\n", "stage", records > 0 ? "ns a record" : "ns in all", "share");
    for (int i = 0; i < ROWS; i++) {
        fprintf(out, "%-22s %15.1f", rows[i].label, (double)rows[i].time / count);
        if (i < STAGES && busy > 0)
            fprintf(out, " %7.2f %%", 100.0 * (double)rows[i].time / (double)busy);
        fputc('\n', out);
    }
    print_pages(out);
}

void cli_profile_put(json_t *object, const tamis_stream_profile *profile) {
    json_t *times = json_object();
    row rows[ROWS];
    cli_pages pages;

    list(rows, profile);
    for (int i = 0; i < ROWS; i++)
        cli_json_count(times, rows[i].name, rows[i].time);
    if (cli_pages_read(&pages)) {
        cli_json_count(times, "resident", pages.resident);
        cli_json_count(times, "huge_pages", pages.huge);
    }
    cli_json_put(object, "profile", times);
}
