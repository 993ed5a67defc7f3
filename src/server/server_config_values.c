/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/decimal.h"
#include "server/server_config.h"

/* Splits "1.5GiB" into a number that is not negative and the unit behind it. */
static const char *parse_number(const char *text, double *number) {
    char *unit;

    if (*text < '0' || *text > '9')
        return NULL;
    *number = tamis__read_decimal(text, &unit);
    return isfinite(*number) ? unit : NULL;
}

static const struct unit {
    const char *name;
    double factor;
} times[] = {{"ms", 1}, {"s", 1e3}, {"m", 6e4}, {"h", 3.6e6}, {"d", 8.64e7}},
  sizes[] = {{"", 1},        {"B", 1},         {"KiB", 1 << 10}, {"K", 1 << 10},  {"MiB", 1 << 20},
             {"M", 1 << 20}, {"GiB", 1 << 30}, {"G", 1 << 30},   {"TiB", 0x1p40}, {"T", 0x1p40},
             {"KB", 1e3},    {"MB", 1e6},      {"GB", 1e9},      {"TB", 1e12}};

static bool parse_unit(const char *text, const struct unit *units, size_t count, double max, double *number) {
    double value = 0;
    const char *unit = parse_number(text, &value);

    for (size_t i = 0; unit && i < count; i++) {
        if (strcmp(unit, units[i].name) != 0)
            continue;
        *number = value * units[i].factor;
        return *number <= max && *number == floor(*number);
    }
    return false;
}

bool tamis__config_parse_time(const char *text, uint32_t *ms) {
    double number;

    if (!parse_unit(text, times, sizeof times / sizeof *times, UINT32_MAX, &number))
        return false;
    *ms = (uint32_t)number;
    return true;
}

bool tamis__config_parse_size(const char *text, uint64_t *bytes) {
    double number;

    if (!parse_unit(text, sizes, sizeof sizes / sizeof *sizes, 0x1p53, &number))
        return false;
    *bytes = (uint64_t)number;
    return true;
}

bool tamis__config_parse_address(char *text, server_address *address) {
    uint64_t port;

    if (strncmp(text, "unix:", 5) == 0) {
        address->path = text + 5;
        return text[5] != '\0';
    }
    char *colon = strrchr(text, ':'), *host = text;
    if (!colon || colon == text || !tamis__read_number(colon + 1, UINT16_MAX, &port))
        return false;
    *colon = '\0';
    const bool bracketed = *host == '[' && colon[-1] == ']';
    if (bracketed) {
        colon[-1] = '\0';
        host++;
    }
    if (!*host || (!bracketed && strchr(host, ':')))
        return false;
    address->host = host;
    address->port = (uint16_t)port;
    return true;
}

/* ---- suggestions ---- */

enum { NAME_MAX_COMPARED = 32 };

/* Returns the fewest letters to change, insert or remove. */
static size_t distance(const char *a, const char *b) {
    size_t row[NAME_MAX_COMPARED + 1];
    const size_t width = strlen(b);

    if (width > NAME_MAX_COMPARED)
        return SIZE_MAX;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            const size_t above = row[j + 1];
            size_t best = diagonal + (a[i] != b[j]);
            best = above + 1 < best ? above + 1 : best;
            row[j + 1] = row[j] + 1 < best ? row[j] + 1 : best;
            diagonal = above;
        }
    }
    return row[width];
}

const char *tamis__config_similar(const char *text, const char *const *names) {
    const char *found = NULL;
    size_t best = strlen(text) / 3 + 1;

    for (; *names; names++) {
        const size_t letters = distance(text, *names);
        if (letters <= best && (!found || letters < best)) {
            best = letters;
            found = *names;
        }
    }
    return found;
}
