/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_stream.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_rows.h"

int cli_stream_configure(cli_stream *stream, const cli_value *records, const cli_value *report, char **inputs,
                         size_t input_count, bool prints, tamis_error *err) {
    bool terminal = isatty(STDERR_FILENO) == 1;

    stream->inputs = (const char *const *)inputs;
    stream->input_count = input_count;
    stream->terminator = records[CLI_RECORDS_ZERO].given ? 0 : '\n';
    stream->max_record = records[CLI_RECORDS_MAX].number;
    stream->json = report[CLI_REPORT_JSON].given;
    stream->stats = report[CLI_REPORT_STATS].given || stream->json;
    stream->quiet = report[CLI_REPORT_QUIET].given;
    /* By itself only where it can be seen and is in nobody's way: not among records on the same screen. */
    stream->progress_bar = terminal;
    stream->progress = terminal && !stream->quiet && !(prints && isatty(STDOUT_FILENO) == 1);
    if (report[CLI_REPORT_PROGRESS].given)
        stream->progress = true;
    if (report[CLI_REPORT_NO_PROGRESS].given)
        stream->progress = false;
    for (size_t i = 0; i < input_count; i++)
        if (*inputs[i] == '\0')
            return cli_fail(err, "'': an empty name; name a file, or give - for standard input");
    return CLI_DONE;
}

void cli_stream_begin(const cli_stream *stream, int stop_fd, tamis_stream_options *options,
                      cli_progress *progress) {
    options->terminator = stream->terminator;
    options->inputs = stream->inputs;
    options->input_count = stream->input_count;
    options->max_record = stream->max_record;
    options->stop_fd = stop_fd;
    cli_progress_begin(progress, STDERR_FILENO, stream->progress_bar);
    if (!stream->progress)
        return;
    options->progress = cli_progress_step;
    options->progress_context = progress;
}

/* Whether `input` ("-": standard input) is the file of `about`. */
static bool is_file(const char *input, const struct stat *about) {
    struct stat file;

    if ((strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &file) : stat(input, &file)) != 0)
        return false; /* whoever opens it will say so */
    return S_ISREG(file.st_mode) && file.st_dev == about->st_dev && file.st_ino == about->st_ino;
}

int cli_stream_keep_apart(const cli_stream *stream, const char *path, const char *what, tamis_error *err) {
    struct stat about;
    bool same;

    if (stat(path, &about) != 0)
        return CLI_DONE; /* not there yet */
    same = stream->input_count == 0 && is_file("-", &about);
    for (size_t i = 0; i < stream->input_count; i++)
        same = same || is_file(stream->inputs[i], &about);
    if (!same)
        return CLI_DONE;
    return cli_fail(err, "%.300s: is %s and an input; name another file", path, what);
}
