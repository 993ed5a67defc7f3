/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis plan --plot as text: the rate of a Bloom filter that gets more keys than planned.
 *
 *     rate |          . + + +          a mark in each column and in each row of a curve
 *          |     . +                   three curves: planned for 10 %, 1 % and 0.1 %
 *          +--------------------- t    keys divided by the planned number
 *
 * plan_svg.c draws the same for a file. docs/MATH.md has the formula (tamis_bloom_over_capacity_fpr).
 */
#include "cli/cmd/plan/plan_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <tamis/plan.h>

#include "cli/core/cli_text.h"
#include "cli/process/cli_save.h"

enum {
    COLUMNS_DEFAULT = 80,
    COLUMNS_MIN = 46,  /* min. width of a readable drawing; narrower terminals break its lines */
    COLUMNS_MAX = 120, /* max. width; a wider drawing only has flatter curves */
    MARGIN = 9,        /* columns of the rates and the axis */
    DECADE_ROWS = 5,
    ROWS = PLAN_DECADES * DECADE_ROWS + 1
};

const plan_curve plan_curves[PLAN_CURVES] = {{0.1, "10 %"}, {0.01, "1 %"}, {0.001, "0.1 %"}};

/* Marks distinguish the curves without colour. The colours are SGR codes: blue, red and green. */
static const char symbols[PLAN_CURVES] = {'#', 'o', '+'};
static const char *const colours[PLAN_CURVES] = {"\033[34m", "\033[31m", "\033[32m"};

double plan_curve_rate(const plan_curve *curve, double t) {
    return tamis_bloom_over_capacity_fpr(t, -log2(curve->rate));
}

double plan_curve_time(const plan_curve *curve, double rate) {
    return -log2(1 - pow(rate, -1 / log2(curve->rate)));
}

const char *plan_percent(char *text, size_t size, double rate) {
    char digits[CLI_TEXT_NUMBER];

    snprintf(text, size, "%s %%", cli_text_real(digits, sizeof digits, 100 * rate));
    return text;
}

typedef struct canvas {
    size_t columns; /* width of the drawing without the margin */
    char cells[ROWS][COLUMNS_MAX + 1];
} canvas;

static size_t column_of(const canvas *drawing, double t) {
    return (size_t)lround(t / PLAN_TIMES * (double)(drawing->columns - 1));
}

static void draw_grid(canvas *drawing) {
    for (int row = 0; row < ROWS; row++) {
        memset(drawing->cells[row], row % DECADE_ROWS == 0 ? '.' : ' ', drawing->columns);
        for (int t = 1; t <= PLAN_TIMES; t++)
            drawing->cells[row][column_of(drawing, t)] = '.';
    }
}

static void put_mark(canvas *drawing, double t, double rate, char mark) {
    const long row = lround(-log10(rate) * DECADE_ROWS);

    if (row < ROWS)
        drawing->cells[row][column_of(drawing, t)] = mark;
}

/* Draws a curve: a mark in each column, and in each row, so that steep parts have no gaps. */
static void draw_curve(canvas *drawing, const plan_curve *curve, char mark) {
    for (size_t column = 1; column < drawing->columns; column++) {
        const double t = PLAN_TIMES * (double)column / (double)(drawing->columns - 1);
        put_mark(drawing, t, plan_curve_rate(curve, t), mark);
    }
    for (int row = 1; row < ROWS; row++) {
        double rate = pow(10, -(double)row / DECADE_ROWS), t = plan_curve_time(curve, rate);
        if (t <= PLAN_TIMES)
            put_mark(drawing, t, rate, mark);
    }
}

static void print_mark(FILE *out, char mark, bool colour) {
    const char *pos = memchr(symbols, mark, PLAN_CURVES);

    if (colour && pos)
        fprintf(out, "%s%c\033[0m", colours[pos - symbols], mark);
    else
        fputc(mark, out);
}

static void print_row(FILE *out, const canvas *drawing, int row, bool colour) {
    static const char *const rates[PLAN_DECADES + 1] = {"100 %", "10 %", "1 %", "0.1 %", "0.01 %"};
    size_t length = drawing->columns;

    fprintf(out, "%7s %c", row % DECADE_ROWS == 0 ? rates[row / DECADE_ROWS] : "",
            row % DECADE_ROWS == 0 ? '+' : '|');
    while (length > 0 && drawing->cells[row][length - 1] == ' ')
        length--;
    for (size_t column = 0; column < length; column++)
        print_mark(out, drawing->cells[row][column], colour);
    fputc('\n', out);
}

static void print_times(FILE *out, const canvas *drawing) {
    char line[COLUMNS_MAX + 2], digits[24];
    static const char *const names[] = {"keys in it / keys planned", "keys / planned"};
    const char *name = names[drawing->columns < 60];

    fprintf(out, "%*s", MARGIN - 1, "+");
    memset(line, '-', drawing->columns);
    for (int t = 1; t <= PLAN_TIMES; t++)
        line[column_of(drawing, t)] = '+';
    fprintf(out, "%.*s\n", (int)drawing->columns, line);
    memset(line, ' ', sizeof line);
    for (int t = 1; t <= PLAN_TIMES; t++) {
        snprintf(digits, sizeof digits, "%d", t);
        line[column_of(drawing, t)] = digits[0];
    }
    fprintf(out, "%*s%.*s\n", MARGIN - 1, "0", (int)drawing->columns, line);
    fprintf(out, "%*s%s\n", (int)(MARGIN + drawing->columns - strlen(name)), "", name);
}

/* Prints the marks, and the rates at whole multiples of the planned keys. */
static void print_legend(FILE *out, bool colour) {
    char text[CLI_TEXT_NUMBER];

    fputs("\n  planned for", out);
    for (int t = 1; t <= PLAN_TIMES; t++)
        fprintf(out, "  %4d x", t);
    fputc('\n', out);
    for (int i = 0; i < PLAN_CURVES; i++) {
        fputs("  ", out);
        print_mark(out, symbols[i], colour);
        fprintf(out, "  %6s  ", plan_curves[i].name);
        for (int t = 1; t <= PLAN_TIMES; t++)
            fprintf(out, "  %6s", plan_percent(text, sizeof text, plan_curve_rate(&plan_curves[i], t)));
        fputc('\n', out);
    }
}

/* Draws the curves in characters, `columns` wide. */
static void plot_text(FILE *out, size_t columns, bool colour) {
    canvas drawing;

    if (columns < COLUMNS_MIN)
        columns = COLUMNS_MIN;
    if (columns > COLUMNS_MAX)
        columns = COLUMNS_MAX;
    drawing.columns = columns - MARGIN;
    draw_grid(&drawing);
    for (int i = 0; i < PLAN_CURVES; i++)
        draw_curve(&drawing, &plan_curves[i], symbols[i]);
    fputs("A Bloom filter with more keys than planned\n\n  false positives\n", out);
    for (int row = 0; row < ROWS; row++)
        print_row(out, &drawing, row, colour);
    print_times(out, &drawing);
    print_legend(out, colour);
    fputc('\n', out);
    cli_text_wrap(
        out,
        "f = (1 - 0.5^t)^k: t is the keys in it by the keys planned, k = log2(1 / planned rate) its "
        "probes, and half of its bits are set at t = 1.",
        0, 0, columns);
}

/* Width for the drawing: from the variable COLUMNS, else from the terminal, else COLUMNS_DEFAULT. */
static size_t columns_of(int fd) {
    const char *text = getenv("COLUMNS");
    struct winsize window;
    char *end = NULL;
    const long columns = text ? strtol(text, &end, 10) : 0;

    /* The last column stays free: some terminals start a new line as soon as it is written. */
    if (columns > 0 && *end == '\0')
        return (size_t)columns - 1;
    if (ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        return window.ws_col - 1U;
    return COLUMNS_DEFAULT - 1;
}

static bool wants_colour(int fd) {
    const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return isatty(fd) && (!none || *none == '\0') && terminal && strcmp(terminal, "dumb") != 0;
}

tamis_status plan_plot(const cli_value *output, tamis_error *err) {
    char *text = NULL;
    size_t size = 0;

    if (!output->given) {
        plot_text(stdout, columns_of(STDOUT_FILENO), wants_colour(STDOUT_FILENO));
        return TAMIS_OK;
    }
    FILE *picture = open_memstream(&text, &size);
    if (picture)
        plan_plot_svg(picture);
    bool whole = picture && !ferror(picture);
    whole = picture && fclose(picture) == 0 && whole;
    const tamis_status status =
        whole ? cli_save(output->text, text, size, true, err) : cli_fail_nomem("plan", err);
    free(text);
    return status;
}
