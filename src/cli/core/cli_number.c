/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decimal numbers are read into integers: a mantissa without trailing zeros, and a power of ten.
 *
 *     text        mantissa   exponent   unit      value
 *     1e12        1          12         1         10^12
 *     1.5M        15         -1         10^6      1500000
 *     1.50        15         -1         1         not whole
 *
 * So 1e12 is exactly 10^12, and neither a fraction nor an overflow is lost by rounding. A rate is a
 * double: its form is checked here, and strtod converts it.
 */
#include "cli/core/cli_number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli_text.h"

/* Holds mantissa * unit, at most 124 bits: 64, and 60 of EiB. */
__extension__ typedef unsigned __int128 wide;

typedef struct decimal {
    uint64_t mantissa; /* digits without trailing zeros; 0: the number is 0 */
    int exponent;      /* power of ten */
} decimal;

/* Limit of the exponent, so that it cannot overflow. No mantissa and unit can compensate for a larger one. */
enum { EXPONENT_CAP = 5000 };

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Appends one digit to the mantissa. Zeros are counted in *zeros and appended before the next other digit.
 * Returns false on overflow. */
static bool add_digit(decimal *number, unsigned digit, int *zeros) {
    if (digit == 0) {
        *zeros += number->mantissa != 0 && *zeros < EXPONENT_CAP ? 1 : 0;
        return true;
    }
    for (; *zeros >= 0; (*zeros)--) {
        if (number->mantissa > UINT64_MAX / 10)
            return false;
        number->mantissa *= 10;
    }
    *zeros = 0;
    if (number->mantissa > UINT64_MAX - digit)
        return false;
    number->mantissa += digit;
    return true;
}

/* Reads digits[.digits]. Returns the first byte after them, or NULL with *why set. */
static const char *read_mantissa(const char *text, decimal *number, cli_number *why) {
    int zeros = 0, has_digit = 0, after_point = 0;
    bool point = false;

    for (;; text++) {
        if (*text == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(*text))
            break;
        has_digit = 1;
        if (point && after_point < EXPONENT_CAP)
            after_point++;
        if (!add_digit(number, (unsigned)(*text - '0'), &zeros)) {
            *why = point ? CLI_NUMBER_NOT_WHOLE : CLI_NUMBER_TOO_LARGE;
            return NULL;
        }
    }
    number->exponent = number->mantissa == 0 ? 0 : zeros - after_point;
    *why = CLI_NUMBER_MALFORMED;
    return has_digit ? text : NULL;
}

/* Reads [e[+-]digits]. An 'e' without digits is left for the unit, where E means exa. */
static const char *read_exponent(const char *text, decimal *number) {
    const char *pos = text;
    int sign = 1, value = 0;

    if (*pos != 'e' && *pos != 'E')
        return text;
    pos++;
    if (*pos == '+' || *pos == '-')
        sign = *pos++ == '-' ? -1 : 1;
    if (!is_digit(*pos))
        return text;
    for (; is_digit(*pos); pos++)
        if (value < EXPONENT_CAP)
            value = value * 10 + (*pos - '0');
    number->exponent += sign * value;
    return pos;
}

/* Computes mantissa * unit * 10^exponent. *whole is false if a fraction was cut off. */
static cli_number multiply_out(const decimal *number, uint64_t unit, uint64_t *value, bool *whole) {
    wide product = (wide)number->mantissa * unit;
    int exponent = number->exponent;

    *whole = true;
    for (; exponent > 0 && product != 0; exponent--) {
        product *= 10;
        if (product > UINT64_MAX)
            return CLI_NUMBER_TOO_LARGE;
    }
    for (; exponent < 0 && product != 0; exponent++) {
        if (product % 10 != 0)
            *whole = false;
        product /= 10;
    }
    if (product > UINT64_MAX)
        return CLI_NUMBER_TOO_LARGE;
    *value = (uint64_t)product;
    return CLI_NUMBER_OK;
}

static cli_number read_decimal(const char *text, decimal *number, const char **rest) {
    cli_number why = CLI_NUMBER_MALFORMED;

    *number = (decimal){0, 0};
    *rest = read_mantissa(text, number, &why);
    if (!*rest)
        return why;
    *rest = read_exponent(*rest, number);
    return CLI_NUMBER_OK;
}

cli_number cli_number_count(const char *text, uint64_t *value) {
    static const char units[] = "kMGT";
    decimal number;
    const char *rest;
    uint64_t unit = 1, result = 0;
    bool whole;
    cli_number why = read_decimal(text, &number, &rest);

    if (why != CLI_NUMBER_OK)
        return why;
    if (*rest != '\0') {
        const char *found = strchr(units, *rest == 'K' ? 'k' : *rest);
        if (!found || rest[1] != '\0')
            return CLI_NUMBER_MALFORMED;
        for (const char *pos = units; pos <= found; pos++)
            unit *= 1000;
    }
    why = multiply_out(&number, unit, &result, &whole);
    if (why != CLI_NUMBER_OK)
        return why;
    if (!whole)
        return CLI_NUMBER_NOT_WHOLE;
    *value = result;
    return CLI_NUMBER_OK;
}

/* Returns the factor of a unit: "" or B; K, KiB or KB with any of k K M G T P E. Returns 0 for any other
 * text. */
static uint64_t size_unit(const char *text) {
    static const char letters[] = "KMGTPE";
    uint64_t step = 1024, unit = 1;

    if (strcmp(text, "") == 0 || strcmp(text, "B") == 0)
        return 1;
    const char *found = strchr(letters, *text == 'k' ? 'K' : *text);
    if (!found)
        return 0;
    if (strcmp(text + 1, "B") == 0)
        step = 1000;
    else if (text[1] != '\0' && strcmp(text + 1, "iB") != 0)
        return 0;
    for (const char *pos = letters; pos <= found; pos++)
        unit *= step;
    return unit;
}

cli_number cli_number_size(const char *text, uint64_t *value) {
    decimal number;
    const char *rest;
    uint64_t unit, result = 0;
    bool whole;
    cli_number why = read_decimal(text, &number, &rest);

    if (why != CLI_NUMBER_OK)
        return why;
    unit = size_unit(rest);
    if (unit == 0)
        return CLI_NUMBER_MALFORMED;
    why = multiply_out(&number, unit, &result, &whole);
    if (why != CLI_NUMBER_OK)
        return why;
    if (!whole && unit == 1)
        return CLI_NUMBER_NOT_WHOLE;
    *value = result;
    return CLI_NUMBER_OK;
}

cli_number cli_number_time(const char *text, uint64_t *ms) {
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {"", 1000}};
    decimal number;
    const char *rest;
    bool whole;
    const cli_number why = read_decimal(text, &number, &rest);

    if (why != CLI_NUMBER_OK)
        return why;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(rest, units[i].name) == 0)
            return multiply_out(&number, units[i].ms, ms, &whole);
    return CLI_NUMBER_MALFORMED;
}

cli_number cli_number_seed(const char *text, uint64_t *value) {
    const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    char *end;
    unsigned long long result;

    if (digits[0] == '\0' || digits[strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789")] != '\0')
        return CLI_NUMBER_MALFORMED;
    errno = 0;
    result = strtoull(digits, &end, hex ? 16 : 10);
    if (errno == ERANGE)
        return CLI_NUMBER_TOO_LARGE;
    *value = result;
    return CLI_NUMBER_OK;
}

cli_number cli_number_rate(const char *text, double *value) {
    const char *rest = text;
    decimal exponent = {0, 0};
    size_t digits = 0;

    /* A rate may have any number of digits, so only its form is checked. */
    for (bool point = false; is_digit(*rest) || (*rest == '.' && !point); rest++) {
        if (*rest == '.')
            point = true;
        else
            digits++;
    }
    if (digits == 0)
        return CLI_NUMBER_MALFORMED;
    rest = read_exponent(rest, &exponent);
    if (strcmp(rest, "") != 0 && strcmp(rest, "%") != 0)
        return CLI_NUMBER_MALFORMED;
    const double result = strtod(text, NULL);
    *value = *rest == '%' ? result / 100 : result;
    return CLI_NUMBER_OK;
}

/* 10, 9.6, 1e2: like a rate, without a percent sign. */
static cli_number parse_real(const char *text, double *value) {
    return strchr(text, '%') ? CLI_NUMBER_MALFORMED : cli_number_rate(text, value);
}

/* Returns the word for a CLI_RATE of this option in messages: "share" for a share of records, else "rate". */
static const char *rate_word(const cli_option *option) {
    return option->value && strcmp(option->value, "SHARE") == 0 ? "share" : "rate";
}

/* Writes the remedy "give a whole number from 1 to 1e12, such as ...", with the bounds of the option. */
static void describe_bounds(const cli_option *option, char *text, size_t size) {
    char low[CLI_TEXT_NUMBER], high[CLI_TEXT_NUMBER];

    switch (option->type) {
    case CLI_COUNT:
        cli_text_count_short(low, sizeof low, option->min);
        cli_text_count_short(high, sizeof high, option->max);
        snprintf(text, size, "give a whole number from %s to %s%s", low, high,
                 option->max >= 10000000 ? ", such as 10000000, 1e7 or 10M" : "");
        break;
    case CLI_SIZE:
        cli_text_bytes_exact(low, sizeof low, option->min);
        cli_text_bytes_exact(high, sizeof high, option->max);
        snprintf(text, size, "give a size from %s to %s, such as 512MiB, 2G or 1e9", low, high);
        break;
    case CLI_RATE:
        snprintf(text, size, "give a %s from %s to %s, such as %s", rate_word(option),
                 cli_text_real(low, sizeof low, option->rate_min),
                 cli_text_real(high, sizeof high, option->rate_max),
                 option->rate_max < 1 ? "1e-9 or 0.1%" : "0.2 or 20%");
        break;
    case CLI_REAL:
        snprintf(text, size, "give a number from %s to %s, such as 10 or 9.6",
                 cli_text_real(low, sizeof low, option->rate_min),
                 cli_text_real(high, sizeof high, option->rate_max));
        break;
    case CLI_TIME:
        snprintf(text, size, "give a time from %s to %s, such as %s",
                 cli_text_time(low, sizeof low, option->min), cli_text_time(high, sizeof high, option->max),
                 option->max >= 7 * UINT64_C(86400000) ? "500ms, 30s, 24h or 7d" : "500ms or 30s");
        break;
    default:
        snprintf(text, size, "give a whole number from 0 to %" PRIu64 ", in decimal or as 0x...", UINT64_MAX);
        break;
    }
}

static cli_number read_by_type(const cli_option *option, const char *text, cli_value *value) {
    switch (option->type) {
    case CLI_COUNT:
        return cli_number_count(text, &value->number);
    case CLI_SIZE:
        return cli_number_size(text, &value->number);
    case CLI_RATE:
        return cli_number_rate(text, &value->rate);
    case CLI_REAL:
        return parse_real(text, &value->rate);
    case CLI_TIME:
        return cli_number_time(text, &value->number);
    default:
        return cli_number_seed(text, &value->number);
    }
}

/* The error for m instead of M: 1m is one minute, 1M a million or a mebibyte. NULL: the mistake is another
 * one. */
static const char *explain_minutes(const cli_option *option, const char *text) {
    char suggestion[64];
    cli_value value;
    const size_t size = strlen(text);

    if ((option->type != CLI_COUNT && option->type != CLI_SIZE) || size < 2 || size >= sizeof suggestion ||
        text[size - 1] != 'm')
        return NULL;
    memcpy(suggestion, text, size + 1);
    suggestion[size - 1] = 'M';
    if (read_by_type(option, suggestion, &value) != CLI_NUMBER_OK)
        return NULL;
    return option->type == CLI_SIZE ? "not a size, m is for minutes and M for 1,048,576 bytes"
                                    : "not a number, m is for minutes and M for 1,000,000";
}

static const char *complaint(const cli_option *option, cli_number why, const cli_value *value) {
    if (why == CLI_NUMBER_NOT_WHOLE)
        return option->type == CLI_SIZE ? "not a whole number of bytes" : "not a whole number";
    if (why == CLI_NUMBER_TOO_LARGE)
        return "too large";
    if (why == CLI_NUMBER_MALFORMED)
        return option->type == CLI_SIZE      ? "not a size"
               : option->type == CLI_TIME    ? "not a time"
               : option->type != CLI_RATE    ? "not a number"
               : rate_word(option)[0] == 's' ? "not a share"
                                             : "not a rate";
    if (option->type == CLI_SEED)
        return NULL;
    if (option->type == CLI_RATE || option->type == CLI_REAL) {
        if (value->rate < option->rate_min)
            return "too small";
        return value->rate > option->rate_max ? "too large" : NULL;
    }
    if (value->number < option->min)
        return "too small";
    return value->number > option->max ? "too large" : NULL;
}

tamis_status cli_number_read(const cli_option *option, const char *what, const char *text, cli_value *value,
                             tamis_error *err) {
    char bounds[160];
    cli_value got = *value;
    const char *wrong = complaint(option, read_by_type(option, text, &got), &got);
    cli_value unsigned_value;

    if (wrong && text[0] == '-' && read_by_type(option, text + 1, &unsigned_value) == CLI_NUMBER_OK)
        wrong = "negative";
    else if (wrong && explain_minutes(option, text))
        wrong = explain_minutes(option, text);

    if (!wrong) {
        *value = got;
        return TAMIS_OK;
    }
    describe_bounds(option, bounds, sizeof bounds);
    return cli_fail(err, "%s '%.60s': %s; %s", what, text, wrong, bounds);
}
