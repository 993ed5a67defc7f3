/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Numbers as people read them. Which form a number gets depends on what its reader does with it:
 *
 *     number                          form                  why
 *     -----------------------------   -------------------   --------------------------------------
 *     counts of records               9,253,177             exact: they are compared and added
 *     memory, as computed by 1024     43.1 MiB              three digits: nobody needs the others
 *     files and speeds, by 1000       147 MB                as ls --si, disks and networks count
 *     rates                           1e-9, 9.98e-3         no padding: it can be typed as an option
 *     values of options, repeated     1EiB, 24h             exact, and read back to the same number
 *     time left                       1:55, 1:01:11         as a clock
 *
 * The text does not depend on the locale, since the command never calls setlocale. JSON has plain numbers
 * instead (cli_json.c).
 */
#include "cli/core/cli_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

const char *cli_text_count(char *text, size_t size, uint64_t count) {
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count), used = 0;

    for (size_t i = 0; i < length && used + 1 < size; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[used++] = ',';
        if (used + 1 < size)
            text[used++] = digits[i];
    }
    if (size > 0)
        text[used] = '\0';
    return text;
}

const char *cli_text_count_short(char *text, size_t size, uint64_t count) {
    uint64_t rest = count;
    int power = 0;

    for (; rest >= 10 && rest % 10 == 0; rest /= 10)
        power++;
    if (rest == 1 && power >= 6)
        snprintf(text, size, "1e%d", power);
    else
        snprintf(text, size, "%" PRIu64, count);
    return text;
}

/* Writes three digits and the largest unit that leaves at least one digit before the point. */
static void scaled(char *text, size_t size, double number, double step, const char *const *units) {
    size_t unit = 0;

    /* 999.5 would print as "1000", so it gets the next unit. */
    for (; number >= (step > 1000 ? 1023.5 : 999.5) && units[unit + 1]; unit++)
        number /= step;
    int decimals = number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
    if (unit == 0 && number == floor(number))
        decimals = 0;
    snprintf(text, size, "%.*f %s", decimals, number, units[unit]);
}

const char *cli_text_metric(char *text, size_t size, double number) {
    static const char *const units[] = {"", "k", "M", "G", "T", "P", NULL};
    scaled(text, size, number, 1000, units);
    return text;
}

const char *cli_text_bytes(char *text, size_t size, uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", NULL};
    scaled(text, size, (double)bytes, 1024, units);
    return text;
}

const char *cli_text_bytes_exact(char *text, size_t size, uint64_t bytes) {
    static const char *const units[] = {" bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;

    for (; bytes >= 1024 && bytes % 1024 == 0; bytes /= 1024)
        unit++;
    snprintf(text, size, "%" PRIu64 "%s", bytes, bytes == 1 && unit == 0 ? " byte" : units[unit]);
    return text;
}

const char *cli_text_volume(char *text, size_t size, double bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB", NULL};
    scaled(text, size, bytes, 1000, units);
    return text;
}

const char *cli_text_real(char *text, size_t size, double number) {
    snprintf(text, size, "%.2g", number);
    char *mark = strchr(text, 'e');
    if (!mark)
        return text;
    /* printf writes at least two digits and always a sign: 1e+09 */
    char *digits = mark + (mark[1] == '-' ? 2 : 1);
    mark += 1 + strspn(mark + 1, "+-0");
    memmove(digits, mark, strlen(mark) + 1);
    return text;
}

const char *cli_text_rate(char *text, size_t size, double rate) {
    int decade = rate > 0 ? (int)floor(log10(rate)) : 0;

    if (rate > 0 && fabs(rate) * pow(10, -decade) >= 9.995)
        decade++;
    if (decade >= -2)
        snprintf(text, size, "%.3g", rate);
    else
        snprintf(text, size, "%.3ge%d", rate * pow(10, -decade), decade);
    return text;
}

const char *cli_text_expected(char *text, size_t size, double number) {
    /* From 99.5 on, two digits are too few. A number that no integer can hold keeps them. */
    if (number >= 99.5 && number < 1e18)
        return cli_text_count(text, size, (uint64_t)llround(number));
    return cli_text_real(text, size, number);
}

const char *cli_text_records(char *text, size_t size, uint64_t count) {
    char digits[28]; /* enough for every count, with commas */

    snprintf(text, size, "%s record%s", cli_text_count(digits, sizeof digits, count), count == 1 ? "" : "s");
    return text;
}

const char *cli_text_duration(char *text, size_t size, double seconds) {
    if (!(seconds >= 0))
        seconds = 0;
    if (seconds > 359999999.0)
        seconds = 359999999.0; /* 99999 hours: a longer prediction has no meaning */
    const uint64_t whole = (uint64_t)seconds;
    if (whole >= 3600)
        snprintf(text, size, "%" PRIu64 ":%02u:%02u", whole / 3600, (unsigned)(whole / 60 % 60),
                 (unsigned)(whole % 60));
    else
        snprintf(text, size, "%u:%02u", (unsigned)(whole / 60), (unsigned)(whole % 60));
    return text;
}

void cli_text_print(FILE *out, const char *text) {
    for (; *text != '\0'; text++)
        fputc(iscntrl((unsigned char)*text) ? '?' : *text, out);
}

void cli_text_wrap(FILE *out, const char *text, size_t column, size_t indent, size_t width) {
    bool first = true;

    while (*text != '\0') {
        const size_t word = strcspn(text, " ");
        if (!first && column + 1 + word > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += word;
        first = false;
        text += word + strspn(text + word, " ");
    }
    fputc('\n', out);
}

enum { DISTANCE_MAX = 32 }; /* longest text to compare; of a longer one the prefix is compared */

int cli_text_hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

unsigned cli_text_distance(const char *a, const char *b) {
    size_t rows = strnlen(a, DISTANCE_MAX), columns = strnlen(b, DISTANCE_MAX);
    unsigned row[DISTANCE_MAX + 1];

    for (size_t j = 0; j <= columns; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= rows; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= columns; j++) {
            const bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            unsigned change = diagonal + (same ? 0 : 1),
                     skip = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < skip ? change : skip;
        }
    }
    return row[columns];
}

const char *cli_text_time(char *text, size_t size, uint64_t ms) {
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    size_t i = 0;

    while (ms % units[i].ms != 0 || (i == 0 && ms < 3 * units[0].ms)) /* 24h and 36h, not 1d */
        i++;
    snprintf(text, size, "%" PRIu64 "%s", ms / units[i].ms, units[i].name);
    return text;
}
