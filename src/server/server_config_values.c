/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/decimal.h"
#include "server/server_config.h"

/* Splits "1.5GiB" into a number that is not negative and the unit behind it. A number may be too large for a
 * double: then it is infinite, and above every limit. */
static const char *parse_number(const char *text, double *number) {
    char *unit;

    if (*text < '0' || *text > '9')
        return NULL;
    *number = tamis__read_decimal(text, &unit);
    return unit;
}

bool tamis__config_parse_real(const char *text, double *number) {
    const bool is_negative = *text == '-';
    const char *end = parse_number(text + is_negative, number);

    if (is_negative)
        *number = -*number;
    return end && *end == '\0';
}

bool tamis__config_parse_time(const char *text, double *ms) {
    double value = 0;
    const char *unit = parse_number(text, &value);
    const uint32_t factor = unit ? tamis__time_unit(unit) : 0;

    *ms = value * factor;
    return factor > 0 && *ms == floor(*ms);
}

/* Units with an i are in order, the smallest first. */
static const struct size_unit {
    const char *name;
    double factor;
} sizes[] = {{"B", 1},       {"", 1},          {"KiB", 1 << 10}, {"K", 1 << 10},  {"MiB", 1 << 20},
             {"M", 1 << 20}, {"GiB", 1 << 30}, {"G", 1 << 30},   {"TiB", 0x1p40}, {"T", 0x1p40},
             {"KB", 1e3},    {"MB", 1e6},      {"GB", 1e9},      {"TB", 1e12}};

bool tamis__config_parse_size(const char *text, double *bytes) {
    double value = 0;
    const char *unit = parse_number(text, &value);

    for (size_t i = 0; unit && i < sizeof sizes / sizeof *sizes; i++) {
        if (strcmp(unit, sizes[i].name) != 0)
            continue;
        *bytes = value * sizes[i].factor;
        return *bytes == floor(*bytes);
    }
    return false;
}

/* ---- bounds in messages ---- */

void tamis__config_show_time(char *to, size_t size, double ms) {
    static const char *const units[] = {"d", "h", "m", "s", "ms"};
    size_t i = 0;

    while (i + 1 < sizeof units / sizeof *units &&
           (ms < tamis__time_unit(units[i]) || fmod(ms, tamis__time_unit(units[i])) > 0))
        i++;
    snprintf(to, size, "%.0f%s", ms / tamis__time_unit(units[i]), units[i]);
}

void tamis__config_show_size(char *to, size_t size, double bytes) {
    const struct size_unit *unit = sizes;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strchr(sizes[i].name, 'i') && bytes >= sizes[i].factor && fmod(bytes, sizes[i].factor) <= 0)
            unit = &sizes[i];
    snprintf(to, size, "%.0f%s", bytes / unit->factor, unit->name);
}

/* ---- addresses ---- */

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
    const size_t size = strlen(text);
    size_t best = size / 3 + 1;

    for (; size <= NAME_MAX_COMPARED && *names; names++) {
        const size_t letters = distance(text, *names);
        if (letters <= best && (!found || letters < best)) {
            best = letters;
            found = *names;
        }
    }
    return found;
}
