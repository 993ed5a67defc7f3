/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_stream.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_progress.h"
#include "cli/cli_rows.h"
#include "cli/cli_typed.h"

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
    return cli_key_configure(&stream->form, &records[CLI_RECORDS_TYPE], &records[CLI_RECORDS_HEX], err);
}

tamis_status cli_stream_run(const cli_stream *stream, const tamis_stream_service *service,
                            tamis_stream_options *options, tamis_stream_stats *stats, tamis_error *err) {
    cli_progress progress;
    cli_typed typed;
    tamis_status status;

    options->terminator = stream->terminator;
    options->inputs = stream->inputs;
    options->input_count = stream->input_count;
    options->max_record = stream->max_record;
    if (cli_typed_begin(&typed, stream->form, service, err) != CLI_DONE)
        return err->status;
    cli_progress_begin(&progress, STDERR_FILENO, stream->progress_bar);
    if (stream->progress) {
        options->progress = cli_progress_step;
        options->progress_context = &progress;
    }
    status = tamis_stream_run(&typed.service, options, stats, err);
    cli_progress_end(&progress);
    cli_typed_end(&typed);
    return status;
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
