/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/decimal.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

bool tamis__read_number(const char *text, uint64_t max, uint64_t *out) {
    uint64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || (uint64_t)(*text - '0') > max ||
            value > (max - (uint64_t)(*text - '0')) / 10)
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    *out = value;
    return true;
}

/* Switches this thread to the locale "C" and returns its previous locale. If newlocale() fails,
 * uselocale((locale_t)0) leaves the locale as it is. */
static locale_t enter_c(locale_t *c) {
    *c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return uselocale(*c);
}

static void leave_c(locale_t c, locale_t before) {
    uselocale(before);
    if (c)
        freelocale(c);
}

double tamis__read_decimal(const char *text, char **end) {
    locale_t c, before = enter_c(&c);
    const double value = strtod(text, end);
    leave_c(c, before);
    return value;
}

int tamis__write_digits(char *to, size_t to_size, int digits, double value) {
    locale_t c, before = enter_c(&c);
    const int size = snprintf(to, to_size, "%.*g", digits, value);
    leave_c(c, before);
    return size;
}

void tamis__write_decimal(char *to, size_t to_size, double value) {
    (void)tamis__write_digits(to, to_size, 17, value);
}
