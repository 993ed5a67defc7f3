/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_PROGRESS_H
#define TAMIS_CLI_PROCESS_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include <tamis/stream.h>

/* One line about a run on a terminal, written over about ten times a second; where standard error is a
 * file, a line a second. */
typedef struct cli_progress {
    int fd;              /* where it is written */
    bool bar;            /* written over in place; else a line each */
    double begun;        /* seconds, as cli_progress_now */
    double last;         /* of the last line */
    uint64_t last_bytes; /* read until then */
    double rate;         /* bytes a second, smoothed */
    size_t shown;        /* columns of the line that stands there now */
} cli_progress;

/* Seconds of a clock that is never set back. */
double cli_progress_now(void);
void cli_progress_begin(cli_progress *progress, int fd, bool bar);
/* To be given to tamis_stream_options, with the cli_progress as context. */
void cli_progress_step(void *context, const tamis_stream_stats *now);
/* Clears the line. */
void cli_progress_end(cli_progress *progress);

/* The line itself, at most `columns` wide, NUL-terminated; what does not fit is left out, not cut. */
void cli_progress_line(char *text, size_t size, size_t columns, const tamis_stream_stats *now, double rate,
                       double elapsed);

#endif
