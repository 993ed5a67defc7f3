/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli_text.h"

enum { COLUMNS_DEFAULT = 80, LINE_MAX_SIZE = 256, BAR_MAX = 40, BAR_MIN = 8 };

/* A run that is over sooner needs no bar; a bar older than this shows the new speed, not the old. */
static const double first_after = 0.3, bar_every = 0.09, line_every = 1.0, smoothing = 2.0;

double cli_progress_now(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void cli_progress_begin(cli_progress *progress, int fd, bool bar) {
    memset(progress, 0, sizeof *progress);
    progress->fd = fd;
    progress->bar = bar;
    progress->begun = progress->last = cli_progress_now();
}

static size_t terminal_columns(int fd) {
    struct winsize window;

    if (ioctl(fd, TIOCGWINSZ, &window) != 0 || window.ws_col == 0)
        return COLUMNS_DEFAULT;
    return window.ws_col;
}

/* "12.3 GB of 29.3 GB  147 MB/s  1:55 left  92.5 % unique": what is known of it. */
static void facts(char *text, size_t size, const tamis_stream_stats *now, double rate, double elapsed) {
    char done[CLI_TEXT_NUMBER], total[CLI_TEXT_NUMBER], speed[CLI_TEXT_NUMBER], time[CLI_TEXT_NUMBER];
    double unique = now->records > 0 ? 100.0 * (double)now->unique / (double)now->records : 0.0;
    bool known = now->bytes_total > 0;

    cli_text_volume(done, sizeof done, (double)now->bytes_in);
    cli_text_volume(total, sizeof total, (double)now->bytes_total);
    cli_text_volume(speed, sizeof speed, rate);
    if (known && rate > 0)
        elapsed = fmax(0.0, (double)now->bytes_total - (double)now->bytes_in) / rate;
    cli_text_duration(time, sizeof time, elapsed);
    snprintf(text, size, "%s%s%s  %s/s  %s%s  %.1f %% unique", done, known ? " of " : "", known ? total : "",
             speed, time, known && rate > 0 ? " left" : "", unique);
}

/* What is longer than the terminal is wide is cut. */
__attribute__((format(printf, 3, 4))) static void put_line(char *text, size_t columns, const char *format,
                                                           ...) {
    va_list args;

    va_start(args, format);
    vsnprintf(text, columns + 1, format, args);
    va_end(args);
}

void cli_progress_line(char *text, size_t size, size_t columns, const tamis_stream_stats *now, double rate,
                       double elapsed) {
    char tail[512];
    double share = 0;
    size_t room, cells = 0, filled;

    facts(tail, sizeof tail, now, rate, elapsed);
    if (columns >= size)
        columns = size - 1;
    if (now->bytes_total == 0) {
        put_line(text, columns, "%s", tail);
        return;
    }
    share = fmin(1.0, (double)now->bytes_in / (double)now->bytes_total);
    room = strlen(tail) + sizeof " 42%  []" - 1;
    if (columns > room)
        cells = columns - room < BAR_MAX ? columns - room : BAR_MAX;
    if (cells < BAR_MIN) {
        put_line(text, columns, "%3.0f%%  %s", floor(100 * share), tail);
        return;
    }
    filled = (size_t)(share * (double)cells);
    put_line(text, columns, "%3.0f%% [%.*s%.*s] %s", floor(100 * share), (int)filled,
             "########################################", (int)(cells - filled),
             "........................................", tail);
}

static void write_quietly(int fd, const char *text, size_t size) {
    if (write(fd, text, size) < 0)
        return; /* a bar that cannot be drawn is no reason to stop */
}

void cli_progress_step(void *context, const tamis_stream_stats *now) {
    cli_progress *progress = context;
    double at = cli_progress_now(), since = at - progress->last;
    char line[LINE_MAX_SIZE], text[LINE_MAX_SIZE * 2 + 8];
    double speed, weight;
    int length;

    if (at - progress->begun < first_after || since < (progress->bar ? bar_every : line_every))
        return;
    speed = (double)(now->bytes_in - progress->last_bytes) / since;
    weight = progress->last <= progress->begun ? 1.0 : 1.0 - exp(-since / smoothing);
    progress->rate += weight * (speed - progress->rate);
    progress->last = at;
    progress->last_bytes = now->bytes_in;
    /* The last column stays free: some terminals go to the next line when it is written. */
    cli_progress_line(line, sizeof line, progress->bar ? terminal_columns(progress->fd) - 1 : sizeof line - 1,
                      now, progress->rate, at - progress->begun);
    if (progress->bar)
        length = snprintf(text, sizeof text, "\r%-*s", (int)progress->shown, line);
    else
        length = snprintf(text, sizeof text, "tamis: %s\n", line);
    progress->shown = strlen(line);
    write_quietly(progress->fd, text, (size_t)length);
}

void cli_progress_end(cli_progress *progress) {
    char text[LINE_MAX_SIZE + 8];
    int length;

    if (!progress->bar || progress->shown == 0)
        return;
    length = snprintf(text, sizeof text, "\r%*s\r", (int)progress->shown, "");
    write_quietly(progress->fd, text, (size_t)length);
    progress->shown = 0;
}
