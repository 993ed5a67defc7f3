/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Times of records, from text, in milliseconds since 1970:
 *
 *     2026-11-28T09:30:00.25+01:00     RFC 3339; a blank may stand for T; a zone is required
 *     1795854600   1795854600.25       a number below 10^11: seconds, which is up to the year 5138
 *     1795854600250                    a larger one, up to 10^14: milliseconds, from 1973 on
 *
 * The fifth byte tells a date from a number. Numbers are not rounded: digits of a fraction after the third
 * are ignored. There is no third form, and no guess by locale or by the zone of the machine. The same text
 * must give the same time everywhere, because a window answers by it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "stream/extract/extract_int.h"

/* A text that is read from front to back. */
typedef struct cursor {
    const unsigned char *pos, *end;
} cursor;

enum { NUMBER_DIGITS = 15 };

static bool is_digit(const cursor *c) {
    return c->pos < c->end && *c->pos >= '0' && *c->pos <= '9';
}

/* Reads the next byte if it is one of two. */
static bool accept_byte(cursor *c, char byte, char other) {
    if (c->pos == c->end || (*c->pos != (unsigned char)byte && *c->pos != (unsigned char)other))
        return false;
    c->pos++;
    return true;
}

/* Reads exactly `digits` digits, whose number is at most `max`. */
static bool read_fixed(cursor *c, int digits, int max, int *number) {
    int value = 0;
    for (int i = 0; i < digits; i++) {
        if (!is_digit(c))
            return false;
        value = 10 * value + (*c->pos++ - '0');
    }
    *number = value;
    return value <= max;
}

/* Reads a fraction of a second, if there is one. False: a point without digits. */
static bool read_fraction(cursor *c, int64_t *ms) {
    int64_t unit = 100;
    *ms = 0;
    if (!accept_byte(c, '.', '.'))
        return true;
    if (!is_digit(c))
        return false;
    for (; is_digit(c); c->pos++, unit /= 10)
        *ms += unit * (*c->pos - '0');
    return true;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar. Years begin in March here, so that the leap
 * day is the last one. Month m of such a year begins (153 m + 2) / 5 days after its first. */
static int64_t days_to(int year, int month, int day) {
    const int64_t y = month > 2 ? year : year - 1, m = (month + 9) % 12;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 719469;
}

static int days_in(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* Reads the offset of a time zone: Z, or hours and minutes. */
static bool read_zone(cursor *c, int64_t *seconds) {
    int hours, minutes;
    *seconds = 0;
    if (accept_byte(c, 'Z', 'z'))
        return true;
    const bool west = c->pos < c->end && *c->pos == '-';
    if (!accept_byte(c, '+', '-') || !read_fixed(c, 2, 23, &hours) || !accept_byte(c, ':', ':') ||
        !read_fixed(c, 2, 59, &minutes))
        return false;
    *seconds = (west ? -60 : 60) * (60 * (int64_t)hours + minutes);
    return true;
}

/* A leap second counts as the second after it. */
static bool read_rfc3339(cursor *c, int64_t *ms) {
    int year, month, day, hour, minute, second;
    int64_t zone, fraction;
    if (!read_fixed(c, 4, 9999, &year) || !accept_byte(c, '-', '-') || !read_fixed(c, 2, 12, &month) ||
        !accept_byte(c, '-', '-') || !read_fixed(c, 2, 31, &day) ||
        !(accept_byte(c, 'T', 't') || accept_byte(c, ' ', ' ')) || !read_fixed(c, 2, 23, &hour) ||
        !accept_byte(c, ':', ':') || !read_fixed(c, 2, 59, &minute) || !accept_byte(c, ':', ':') ||
        !read_fixed(c, 2, 60, &second) || !read_fraction(c, &fraction) || !read_zone(c, &zone))
        return false;
    if (month < 1 || day < 1 || day > days_in(year, month))
        return false;
    const int64_t minutes = (days_to(year, month, day) * 24 + hour) * 60 + minute;
    *ms = (minutes * 60 + second - zone) * 1000 + fraction;
    return *ms >= 0;
}

static bool read_number(cursor *c, int64_t *ms) {
    int64_t number = 0, fraction;
    const unsigned char *const begin = c->pos;
    for (; is_digit(c) && c->pos - begin < NUMBER_DIGITS; c->pos++)
        number = 10 * number + (*c->pos - '0');
    if (c->pos == begin || number > INT64_C(100000000000000))
        return false;
    const bool is_seconds = number < INT64_C(100000000000);
    if (!read_fraction(c, &fraction))
        return false;
    *ms = is_seconds ? number * 1000 + fraction : number;
    return true;
}

bool tamis_time_parse(int64_t *ms, const char *text, size_t size) {
    cursor c = {(const unsigned char *)text, (const unsigned char *)text + size};
    int64_t time;
    while (c.pos < c.end && tamis__is_blank(*c.pos))
        c.pos++;
    while (c.pos < c.end && tamis__is_blank(c.end[-1]))
        c.end--;
    const bool is_date = c.end - c.pos > 4 && c.pos[4] == '-';
    if (!(is_date ? read_rfc3339(&c, &time) : read_number(&c, &time)) || c.pos != c.end)
        return false;
    *ms = time;
    return true;
}
