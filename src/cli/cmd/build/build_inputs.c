/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A build without --expect reads its files twice, by their names. If a log is rotated in between, the second
 * reading misses records that were counted. So the files are compared before the filter is saved.
 */
#include "cli/cmd/build/build.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name_of(const cli_stream *stream, size_t i) {
    return stream->input_count > 0 ? stream->inputs[i] : "-";
}

static bool stat_input(const char *input, struct stat *st) {
    return (strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, st) : stat(input, st)) == 0;
}

/* False for names of open descriptors: a second reading would continue where the first one ended. */
static bool is_file(const char *input) {
    struct stat st;

    return stat_input(input, &st) && S_ISREG(st.st_mode) && strncmp(input, "/dev/", 5) != 0 &&
           strncmp(input, "/proc/", 6) != 0;
}

bool build_inputs_are_files(const cli_stream *stream) {
    bool all_files = true;

    for (size_t i = 0; i < cli_stream_inputs(stream); i++)
        all_files = all_files && is_file(name_of(stream, i));
    return all_files;
}

tamis_status build_inputs_note(struct stat **before, const cli_stream *stream, tamis_error *err) {
    const size_t count = cli_stream_inputs(stream);

    *before = calloc(count, sizeof **before);
    if (!*before)
        return cli_fail_nomem("build", err);
    for (size_t i = 0; i < count; i++)
        (void)stat_input(name_of(stream, i), &(*before)[i]); /* the run reports an unreadable file */
    return TAMIS_OK;
}

static bool is_intact(const struct stat *before, const struct stat *now) {
    return now->st_dev == before->st_dev && now->st_ino == before->st_ino &&
           (now->st_size > before->st_size ||
            (now->st_size == before->st_size && now->st_mtim.tv_sec == before->st_mtim.tv_sec &&
             now->st_mtim.tv_nsec == before->st_mtim.tv_nsec));
}

tamis_status build_inputs_check(const struct stat *before, const cli_stream *stream, tamis_error *err) {
    struct stat now;

    for (size_t i = 0; i < cli_stream_inputs(stream); i++) {
        const char *name = name_of(stream, i);
        if (stat_input(name, &now) && is_intact(&before[i], &now))
            continue;
        return cli_fail(
            err,
            "%.300s: was replaced, cut short or edited while it was read twice, first to count its "
            "records; run again, or give --expect N, which reads it once",
            strcmp(name, "-") == 0 ? "standard input" : name);
    }
    return TAMIS_OK;
}
