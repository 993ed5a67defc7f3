/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The progress of a run on standard error.
 *
 *     on a terminal   one line, redrawn:   42% [#####......] 12.3 GB of 29.3 GB  147 MB/s  1:55 left
 *     elsewhere       a new line each second, after "tamis: "
 *
 * The speed is an exponential average over about two seconds: the last interval alone jumps, and the mean
 * since the start reacts late. The weight of an interval depends on its length, so the average is the same
 * however often the run calls.
 *
 * A line never wraps, since a redrawn line that wraps would leave its first half behind. Facts that do not
 * fit are left out whole, the least important first. A shorter line is padded to cover the one before it.
 *
 * Nothing is shown in the first 0.3 seconds, so that short commands print nothing. Failed writes are ignored:
 * a run does not end because nobody reads its progress.
 */
#include "cli/process/cli_progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/core/cli_text.h"

enum { COLUMNS_DEFAULT = 80, LINE_MAX_SIZE = 256, BAR_MAX = 40, BAR_MIN = 8 };

/* Times in seconds. */
static const double first_after = 0.3; /* a run that ends earlier shows no progress */
static const double bar_every = 0.09;  /* shortest time between two updates of the bar */
static const double line_every = 1.0;  /* shortest time between two new lines */
static const double smoothing = 2.0;   /* time constant of the average speed */

double cli_progress_now(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void cli_progress_begin(cli_progress *progress, int fd, bool bar) {
    memset(progress, 0, sizeof *progress);
    progress->fd = fd;
    progress->bar = bar;
    progress->start = progress->last = cli_progress_now();
}

static size_t terminal_columns(int fd) {
    struct winsize window;

    if (ioctl(fd, TIOCGWINSZ, &window) != 0 || window.ws_col == 0)
        return COLUMNS_DEFAULT;
    return window.ws_col;
}

/* Bytes that progress counts: if the sizes of all inputs are known, bytes read from them, compressed or
 * not. */
static uint64_t bytes_of(const tamis_stream_stats *now) {
    return now->bytes_total > 0 ? now->bytes_read : now->bytes_in;
}

enum { FACTS = 4, FACT_SIZE = 2 * CLI_TEXT_NUMBER + 8 };

/* Writes the known facts, the most important first: "12.3 GB of 29.3 GB", "147 MB/s", "1:55 left", "92.5 %
 * unique". */
static void collect(char facts[FACTS][FACT_SIZE], const tamis_stream_stats *now, double rate,
                    double elapsed) {
    char done[CLI_TEXT_NUMBER], total[CLI_TEXT_NUMBER], speed[CLI_TEXT_NUMBER], time[CLI_TEXT_NUMBER];
    const double unique = now->records > 0 ? 100.0 * (double)now->unique / (double)now->records : 0.0;
    const bool known = now->bytes_total > 0;

    cli_text_volume(done, sizeof done, (double)bytes_of(now));
    cli_text_volume(total, sizeof total, (double)now->bytes_total);
    cli_text_volume(speed, sizeof speed, rate);
    if (known && rate > 0)
        elapsed = fmax(0.0, (double)now->bytes_total - (double)bytes_of(now)) / rate;
    cli_text_duration(time, sizeof time, elapsed);
    snprintf(facts[0], FACT_SIZE, "%s%s%s", done, known ? " of " : "", known ? total : "");
    snprintf(facts[1], FACT_SIZE, "%s/s", speed);
    snprintf(facts[2], FACT_SIZE, "%s%s", time, known && rate > 0 ? " left" : "");
    snprintf(facts[3], FACT_SIZE, "%.1f %% unique", unique);
}

/* Writes " 42%", and a bar if it fits beside the facts. Returns true with a bar. */
static bool put_share(char *text, size_t size, double share, size_t capacity) {
    size_t cells = capacity < BAR_MAX ? capacity : BAR_MAX, filled = (size_t)(share * (double)cells);
    const unsigned percent = (unsigned)(100 * share);

    if (cells < BAR_MIN) {
        snprintf(text, size, "%3u%%", percent);
        return false;
    }
    snprintf(text, size, "%3u%% [%.*s%.*s]", percent, (int)filled, "########################################",
             (int)(cells - filled), "........................................");
    return true;
}

void cli_progress_line(char *text, size_t size, size_t columns, const cli_progress *progress,
                       const tamis_stream_stats *now) {
    char facts[FACTS][FACT_SIZE], head[2 * BAR_MAX + 16] = "";
    size_t used = sizeof " 42% [] " - 1 + 2 * (FACTS - 1);
    bool bar = false;

    collect(facts, now, progress->rate, progress->last - progress->start);
    if (columns >= size)
        columns = size - 1;
    for (int i = 0; i < FACTS; i++)
        used += strlen(facts[i]);
    if (now->bytes_total > 0)
        bar = put_share(head, sizeof head, fmin(1.0, (double)bytes_of(now) / (double)now->bytes_total),
                        columns > used ? columns - used : 0);
    /* On a narrow terminal the last facts are left out whole. */
    used = strlen(head) <= columns ? strlen(head) : 0;
    snprintf(text, size, "%.*s", (int)used, head);
    for (int i = 0; i < FACTS; i++) {
        const char *gap = used == 0 ? "" : i == 0 && bar ? " " : "  ";
        if (used + strlen(gap) + strlen(facts[i]) > columns)
            break;
        used += (size_t)snprintf(text + used, size - used, "%s%s", gap, facts[i]);
    }
}

static void write_quietly(int fd, const char *text, size_t size) {
    if (write(fd, text, size) < 0)
        return; /* the run goes on without a progress line */
}

void cli_progress_step(void *context, const tamis_stream_stats *now) {
    cli_progress *progress = context;
    double time = cli_progress_now(), since = time - progress->last;
    char line[LINE_MAX_SIZE], text[LINE_MAX_SIZE * 2 + 8];
    int length;

    if (time - progress->start < first_after || since < (progress->bar ? bar_every : line_every))
        return;
    const double speed = (double)(bytes_of(now) - progress->last_bytes) / since;
    const double weight = progress->last <= progress->start ? 1.0 : 1.0 - exp(-since / smoothing);
    progress->rate += weight * (speed - progress->rate);
    progress->last = time;
    progress->last_bytes = bytes_of(now);
    /* The last column stays free, because some terminals go to the next line when it is written. */
    cli_progress_line(line, sizeof line, progress->bar ? terminal_columns(progress->fd) - 1 : sizeof line - 1,
                      progress, now);
    if (progress->bar)
        length = snprintf(text, sizeof text, "\r%-*s", (int)progress->shown, line);
    else
        length = snprintf(text, sizeof text, "tamis: %s\n", line);
    progress->shown = strlen(line);
    write_quietly(progress->fd, text, (size_t)length);
}

void cli_progress_end(cli_progress *progress) {
    char text[LINE_MAX_SIZE + 8];

    if (!progress->bar || progress->shown == 0)
        return;
    const int length = snprintf(text, sizeof text, "\r%*s\r", (int)progress->shown, "");
    write_quietly(progress->fd, text, (size_t)length);
    progress->shown = 0;
}
