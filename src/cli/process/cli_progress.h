/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_PROGRESS_H
#define TAMIS_CLI_PROCESS_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include <tamis/experimental/stream.h>

/* Progress of a run: on a terminal one line that is redrawn about ten times a second, else a new line each
 * second. */
typedef struct cli_progress {
    int fd;              /* file descriptor of the output */
    bool bar;            /* true: redraw one line; false: print new lines */
    double start;        /* start of the run, as cli_progress_now */
    double last;         /* time of the last line */
    uint64_t last_bytes; /* bytes read until the last line */
    double rate;         /* bytes a second, smoothed */
    size_t shown;        /* columns of the line on the terminal */
} cli_progress;

/* Returns the seconds of a clock that is never set back. */
double cli_progress_now(void);
void cli_progress_begin(cli_progress *progress, int fd, bool bar);
/* Function `progress` of tamis_stream_options, with the cli_progress as context. */
void cli_progress_step(void *context, const tamis_stream_stats *now);
/* Clears the line on the terminal. */
void cli_progress_end(cli_progress *progress);

/* Writes the text of the last line, NUL-terminated and at most `columns` wide. Facts that do not fit are left
 * out, not cut. */
void cli_progress_line(char *text, size_t size, size_t columns, const cli_progress *progress,
                       const tamis_stream_stats *now);

#endif
