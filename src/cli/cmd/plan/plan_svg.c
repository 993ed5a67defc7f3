/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws the rates over capacity as a picture for a report. It is plain SVG 1.1 without styles, scripts or
 * external files, so every program shows the same picture. It has its own white background, so it fits on any
 * page. Colour-blind readers can distinguish the colours (by Okabe and Ito), and the dashes need no colour.
 */
#include <math.h>

#include "cli/cmd/plan/plan_plot.h"
#include "cli/core/cli_text.h"

#define WIDTH  800
#define HEIGHT 528
#define LEFT   96.0 /* frame of the curves */
#define RIGHT  776.0
#define TOP    84.0
#define BOTTOM 440.0

static const char *const strokes[PLAN_CURVES] = {"#0072b2", "#b34700", "#007a5a"};
static const char *const dashes[PLAN_CURVES] = {"none", "11 5", "3 4"};

static double x_of(double t) {
    return LEFT + t / PLAN_TIMES * (RIGHT - LEFT);
}

static double y_of(double rate) {
    return TOP - log10(rate) / PLAN_DECADES * (BOTTOM - TOP);
}

static void put_head(FILE *out) {
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"title about\" "
            "font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\" font-size=\"14\" "
            "fill=\"#222222\">\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    fputs(
        "<title id=\"title\">A Bloom filter with more keys than planned</title>\n"
        "<desc id=\"about\">Rate of false positives against the number of keys, as a multiple of the number "
        "planned, for filters planned for 10 %, 1 % and 0.1 %.",
        out);
    for (int i = 0; i < PLAN_CURVES; i++) {
        char twofold[CLI_TEXT_NUMBER];
        fprintf(out, " Planned for %s: %s at twice the keys.", plan_curves[i].name,
                plan_percent(twofold, sizeof twofold, plan_curve_rate(&plan_curves[i], 2)));
    }
    fprintf(out, "</desc>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", WIDTH, HEIGHT);
    fprintf(
        out,
        "<text x=\"%.0f\" y=\"34\" font-size=\"20\" font-weight=\"bold\">A Bloom filter with more keys than "
        "planned</text>\n"
        "<text x=\"%.0f\" y=\"58\" fill=\"#555555\">False positives of filters planned for 10 %%, 1 %% and "
        "0.1 %%, as they fill past their plan</text>\n",
        24.0, 24.0);
}

static void put_line(FILE *out, double x1, double y1, double x2, double y2) {
    fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1, y1, x2, y2);
}

static void put_grid(FILE *out) {
    fputs("<g stroke=\"#eeeeee\" stroke-width=\"1\">\n", out);
    for (int decade = 0; decade < PLAN_DECADES; decade++)
        for (int digit = 2; digit <= 9; digit++)
            put_line(out, LEFT, y_of(digit * pow(10, -decade - 1)), RIGHT,
                     y_of(digit * pow(10, -decade - 1)));
    for (int t = 1; t < 2 * PLAN_TIMES; t += 2)
        put_line(out, x_of(t / 2.0), TOP, x_of(t / 2.0), BOTTOM);
    fputs("</g>\n<g stroke=\"#c8c8c8\" stroke-width=\"1\">\n", out);
    for (int decade = 0; decade < PLAN_DECADES; decade++)
        put_line(out, LEFT, y_of(pow(10, -decade)), RIGHT, y_of(pow(10, -decade)));
    for (int t = 1; t <= PLAN_TIMES; t++)
        put_line(out, x_of(t), TOP, x_of(t), BOTTOM);
    fputs("</g>\n", out);
}

static void put_axes(FILE *out) {
    char percent[CLI_TEXT_NUMBER];

    fputs("<g stroke=\"#222222\" stroke-width=\"1.2\">\n", out);
    put_line(out, LEFT, TOP, LEFT, BOTTOM);
    put_line(out, LEFT, BOTTOM, RIGHT, BOTTOM);
    for (int decade = 0; decade <= PLAN_DECADES; decade++)
        put_line(out, LEFT - 6, y_of(pow(10, -decade)), LEFT, y_of(pow(10, -decade)));
    for (int t = 0; t <= PLAN_TIMES; t++)
        put_line(out, x_of(t), BOTTOM, x_of(t), BOTTOM + 6);
    fputs("</g>\n<g text-anchor=\"end\">\n", out);
    for (int decade = 0; decade <= PLAN_DECADES; decade++)
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", LEFT - 10, y_of(pow(10, -decade)) + 5,
                decade == 0 ? "100 %" : plan_percent(percent, sizeof percent, pow(10, -decade)));
    fputs("</g>\n<g text-anchor=\"middle\">\n", out);
    for (int t = 0; t <= PLAN_TIMES; t++)
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%d</text>\n", x_of(t), BOTTOM + 23, t);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">t = keys in the filter / keys it was planned for</text>\n",
            (LEFT + RIGHT) / 2, BOTTOM + 50);
    fprintf(out,
            "<text transform=\"translate(26 %.1f) rotate(-90)\">false positives, %% of the lookups of absent "
            "keys</text>\n</g>\n",
            (TOP + BOTTOM) / 2);
}

/* Draws a curve from the point where it enters the frame. */
static void put_curve(FILE *out, int number) {
    enum { POINTS = 160 };
    const plan_curve *curve = &plan_curves[number];
    const double first = plan_curve_time(curve, pow(10, -PLAN_DECADES));

    fprintf(out, "<polyline stroke=\"%s\" stroke-dasharray=\"%s\" points=\"", strokes[number],
            dashes[number]);
    for (int i = 0; i < POINTS; i++) {
        const double t = first + (PLAN_TIMES - first) * i / (POINTS - 1);
        fprintf(out, "%s%.2f,%.2f", i == 0 ? "" : " ", x_of(t), y_of(plan_curve_rate(curve, t)));
    }
    fputs("\"/>\n", out);
}

static void put_curves(FILE *out) {
    fputs("<g fill=\"none\" stroke-width=\"2.6\" stroke-linejoin=\"round\">\n", out);
    for (int i = 0; i < PLAN_CURVES; i++)
        put_curve(out, i);
    fputs("</g>\n<g stroke=\"#ffffff\" stroke-width=\"1.5\">\n", out);
    for (int i = 0; i < PLAN_CURVES; i++)
        for (int t = 1; t <= 2; t++)
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>\n", x_of(t),
                    y_of(plan_curve_rate(&plan_curves[i], t)), strokes[i]);
    fputs("</g>\n", out);
}

/* Position of the rate at twice the keys: to the lower right of the point, between two curves. */
static void value_position(int number, double *x, double *y) {
    *x = x_of(2) + 8;
    *y = y_of(plan_curve_rate(&plan_curves[number], 2)) + 15;
}

/* Draws a white background, so that no grid line crosses the numbers. */
static void put_value_grounds(FILE *out) {
    double x, y;

    fputs("<g fill=\"#ffffff\">\n", out);
    for (int i = 0; i < PLAN_CURVES; i++) {
        value_position(i, &x, &y);
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"40\" height=\"16\"/>\n", x - 3, y - 12);
    }
    fputs("</g>\n", out);
}

static void put_values(FILE *out) {
    char percent[CLI_TEXT_NUMBER];
    double x, y;

    fputs("<g font-size=\"13\" font-weight=\"bold\">\n", out);
    for (int i = 0; i < PLAN_CURVES; i++) {
        value_position(i, &x, &y);
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%s</text>\n", x, y, strokes[i],
                plan_percent(percent, sizeof percent, plan_curve_rate(&plan_curves[i], 2)));
    }
    fputs("</g>\n", out);
}

/* Draws the legend in the corner without curves: dash, planned rate, and the rates at 2, 3 and 4 times the
 * keys. */
static void put_legend(FILE *out) {
    const double left = x_of(2) + 42, top = y_of(0.006), row = 24;
    char percent[CLI_TEXT_NUMBER];

    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"280\" height=\"%.1f\" rx=\"4\" fill=\"#ffffff\" "
            "stroke=\"#c8c8c8\"/>\n<g text-anchor=\"end\">\n",
            left, top, (PLAN_CURVES + 1) * row + 14);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" fill=\"#555555\">planned</text>\n", left + 106, top + row);
    for (int t = 2; t <= PLAN_TIMES; t++)
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" fill=\"#555555\">%d\u00d7</text>\n",
                left + 106 + 54.0 * (t - 1), top + row, t);
    for (int i = 0; i < PLAN_CURVES; i++) {
        const double y = top + row * (i + 2);
        fprintf(out,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2.6\" "
                "stroke-dasharray=\"%s\"/>\n<text x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                left + 12, y - 5, left + 50, y - 5, strokes[i], dashes[i], left + 106, y,
                plan_curves[i].name);
        for (int t = 2; t <= PLAN_TIMES; t++)
            fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", left + 106 + 54.0 * (t - 1), y,
                    plan_percent(percent, sizeof percent, plan_curve_rate(&plan_curves[i], t)));
    }
    fputs("</g>\n", out);
}

void plan_plot_svg(FILE *out) {
    put_head(out);
    put_grid(out);
    put_value_grounds(out);
    put_axes(out);
    put_curves(out);
    put_values(out);
    put_legend(out);
    fprintf(
        out,
        "<text x=\"24\" y=\"%d\" font-size=\"12\" fill=\"#555555\">f = (1 \u2212 0.5<tspan dy=\"-4\" "
        "font-size=\"9\">t</tspan><tspan dy=\"4\">)</tspan><tspan dy=\"-4\" font-size=\"9\">k</tspan><tspan "
        "dy=\"4\">, k = log\u2082(1 / planned rate): half of the bits are set at t = 1 \u00b7 tamis plan "
        "--plot</tspan></text>\n</svg>\n",
        HEIGHT - 10);
}
