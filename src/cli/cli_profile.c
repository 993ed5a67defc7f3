/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_profile.h"

#include "cli/cli_json.h"

enum { STAGES = 7, ROWS = STAGES + 4 };

typedef struct row {
    const char *name, *about; /* of JSON, and of the table */
    uint64_t time;
} row;

static void list(row rows[ROWS], const tamis_stream_profile *p) {
    const row all[ROWS] = {{"read", "reading", p->read},
                           {"split", "splitting", p->split},
                           {"extract", "finding keys", p->extract},
                           {"hash", "hashing", p->hash},
                           {"ask", "asking the filter", p->ask},
                           {"route", "copying out", p->route},
                           {"write", "writing", p->write},
                           {"wait_input", "waiting for input", p->input},
                           {"wait_caller", "waiting, first thread", p->caller},
                           {"wait_others", "waiting, others", p->others},
                           {"wall", "on the clock", p->wall}};

    for (int i = 0; i < ROWS; i++)
        rows[i] = all[i];
}

void cli_profile_print(FILE *out, const tamis_stream_profile *profile, uint64_t records) {
    double count = records > 0 ? (double)records : 1;
    uint64_t busy = 0;
    row rows[ROWS];

    list(rows, profile);
    for (int i = 0; i < STAGES; i++)
        busy += rows[i].time;
    fprintf(out, "%-22s %15s %9s\n", "stage", "ns a record", "share");
    for (int i = 0; i < ROWS; i++) {
        fprintf(out, "%-22s %15.1f", rows[i].about, (double)rows[i].time / count);
        if (i < STAGES && busy > 0)
            fprintf(out, " %7.2f %%", 100.0 * (double)rows[i].time / (double)busy);
        fputc('\n', out);
    }
}

void cli_profile_put(json_t *object, const tamis_stream_profile *profile) {
    json_t *times = json_object();
    row rows[ROWS];

    list(rows, profile);
    for (int i = 0; i < ROWS; i++)
        cli_json_count(times, rows[i].name, rows[i].time);
    json_object_set_new(object, "profile", times);
}
