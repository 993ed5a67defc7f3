/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/process/cli_profile.h"

#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"
#include "cli/process/cli_pages.h"

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

static void print_pages(FILE *out, const cli_profile_fields *fields) {
    char huge[CLI_TEXT_NUMBER], values[CLI_TEXT_NUMBER];
    cli_pages pages;

    if (cli_pages_read(&pages))
        fprintf(out, "%-22s %15s  of %s resident\n", fields->huge_pages.label,
                cli_text_bytes(huge, sizeof huge, pages.huge),
                cli_text_bytes(values, sizeof values, pages.resident));
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
    cli_pages pages;

    list(rows, fields, profile);
    for (int i = 0; i < ROWS; i++)
        cli_json_integer(times, rows[i].field, rows[i].time);
    if (cli_pages_read(&pages)) {
        cli_json_integer(times, &fields->resident, pages.resident);
        cli_json_integer(times, &fields->huge_pages, pages.huge);
    }
    cli_json_set(object, &fields->profile, times);
}
