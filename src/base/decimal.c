/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/decimal.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

uint32_t tamis__time_unit(const char *name) {
    static const struct {
        const char *name;
        uint32_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(name, units[i].name) == 0)
            return units[i].ms;
    return 0;
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
