/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of the files named, each the first time it is seen, read and written by the library:
 * cc dedup_stream.c $(pkg-config --cflags --libs tamis-stream)
 */
#include <stdio.h>

#include <tamis/experimental/stream.h>
#include <tamis/tamis.h>

int main(int argc, char **argv) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_filter *filter = NULL;
    tamis_dedup *session = NULL;
    tamis_status status;

    options.inputs = (const char *const *)(argv + 1); /* none: standard input */
    options.input_count = argc > 1 ? (size_t)argc - 1 : 0;
    options.output = "-";
    status = tamis_plan_make(&plan, &plan_options, &err);
    if (status == TAMIS_OK)
        status = tamis_filter_create(&filter, &plan, NULL, &err);
    if (status == TAMIS_OK)
        status = tamis_dedup_open(&session, filter, NULL, &err);
    if (status == TAMIS_OK)
        status = tamis_stream_dedup(session, &options, &stats, NULL, &err);
    if (status != TAMIS_OK)
        fprintf(stderr, "dedup_stream: %s\n", err.text);
    else
        fprintf(stderr, "%llu of %llu lines\n", (unsigned long long)stats.unique,
                (unsigned long long)stats.records);
    tamis_dedup_close(session);
    tamis_filter_free(filter);
    return status == TAMIS_OK ? 0 : 2;
}
