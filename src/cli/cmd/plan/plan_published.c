/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis plan --table: published numbers beside the exact ones.
 *
 *     rates    of filters with so many bits and probes a key
 *     sizes    of these filters
 *     rules    of thumb: bits a key for a rate, the rate with twice the keys
 *
 * The published numbers are texts, as printed. An exact value gets as many digits, so both can be compared.
 */
#include "cli/cmd/plan/plan_modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/plan.h>

#include "cli/cmd/plan/plan_fields.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"

enum { WIDTH = 100 };

/* A published rate, as it was printed. */
typedef struct published_rate {
    double keys, bits_per_key, probes;
    const char *rate, *false_positives;
} published_rate;

static const published_rate rates[] = {
    {7e6, 30, 8, "9.01e-6", "63"},  {7e6, 30, 16, "7.26e-7", "5"},   {7e6, 50, 8, "2.28e-7", "1.6"},
    {7e6, 50, 16, "1e-9", "0"},     {1e9, 30, 8, "9.01e-6", "9011"}, {1e9, 30, 16, "7.26e-7", "726"},
    {1e9, 50, 8, "2.28e-7", "228"}, {1e9, 50, 16, "1e-9", "1"},
};

/* A published size, in the unit that was printed. */
typedef struct published_size {
    double keys, bits_per_key;
    double bits; /* published m; 0: not published */
    const char *memory, *unit;
    int power; /* exponent of the unit, which is 2^power bytes */
} published_size;

static const published_size sizes[] = {
    {7e6, 30, 21e6, "25.03", "MiB", 20},
    {7e6, 50, 35e6, "41.72", "MiB", 20},
    {1e9, 30, 0, "3.49", "GiB", 30},
    {1e9, 50, 0, "5.82", "GiB", 30},
};

typedef enum rule_of { BITS_AT_RATE, RATE_AT_BITS, TWOFOLD } rule_of;

typedef struct published_rule {
    rule_of rule;
    double given; /* rate that the rule starts from; RATE_AT_BITS: bits a key */
    const char *what, *figure, *unit;
} published_rule;

static const published_rule rules[] = {
    {BITS_AT_RATE, 0.1, "bits a key for a rate of 10 %", "4.792", ""},
    {BITS_AT_RATE, 0.01, "bits a key for a rate of 1 %", "9.585", ""},
    {BITS_AT_RATE, 0.001, "bits a key for a rate of 0.1 %", "14.377", ""},
    {RATE_AT_BITS, 8, "rate at 8 bits a key", "2", " %"},
    {TWOFOLD, 0.1, "rate of a filter planned for 10 % with twice its keys", "40", " %"},
    {TWOFOLD, 0.01, "rate of a filter planned for 1 % with twice its keys", "15", " %"},
    {TWOFOLD, 0.001, "rate of a filter planned for 0.1 % with twice its keys", "5", " %"},
};

enum {
    RATES = sizeof rates / sizeof *rates,
    SIZES = sizeof sizes / sizeof *sizes,
    RULES = sizeof rules / sizeof *rules
};

static double exact_rate(const published_rate *row) {
    return tamis_bloom_fpr(row->keys, row->keys * row->bits_per_key, row->probes);
}

static double exact_memory(const published_size *row) {
    return ldexp(row->keys * row->bits_per_key / 8, -row->power);
}

/* Exact value for a rule, in the unit of the published one. */
static double exact_rule(const published_rule *row) {
    switch (row->rule) {
    case BITS_AT_RATE:
        return tamis_bloom_bits(1, row->given);
    case RATE_AT_BITS:
        return 100 * tamis_bloom_best_fpr(1, row->given);
    case TWOFOLD:
        break;
    }
    return 100 * tamis_bloom_over_capacity_fpr(2, -log2(row->given));
}

/* Writes a number with so many digits: 0.00700 as "0.007", 9.01e-06 as "9.01e-6". */
static const char *to_digits(char *text, size_t size, double number, int digits) {
    snprintf(text, size, "%.*g", digits, number);
    char *mark = strchr(text, 'e');
    if (!mark)
        return text;
    char *from = mark + 1 + strspn(mark + 1, "+-0");
    mark += mark[1] == '-' ? 2 : 1;
    memmove(mark, from, strlen(from) + 1);
    return text;
}

/* Writes the exact value with as many digits as were published, at least three, or "=" if both are then
 * equal. */
static const char *if_other(char *text, size_t size, double exact, const char *published) {
    char same[CLI_TEXT_NUMBER];
    const size_t mantissa = strcspn(published, "e");
    int digits = (int)mantissa - (memchr(published, '.', mantissa) != NULL);

    if (digits < 3)
        digits = 3;
    to_digits(text, size, exact, digits);
    if (strcmp(text, to_digits(same, sizeof same, strtod(published, NULL), digits)) == 0)
        snprintf(text, size, "=");
    return text;
}

static void print_rates(FILE *out) {
    char number[CLI_TEXT_NUMBER], rate[CLI_TEXT_NUMBER], wrong[CLI_TEXT_NUMBER];

    fprintf(out, "%14s  %4s  %3s  %10s  %9s  %15s  %9s\n", "keys n", "m/n", "k", "rate", "exact",
            "false positives", "exact");
    for (int i = 0; i < RATES; i++) {
        const published_rate *row = &rates[i];
        const double exact = exact_rate(row);
        fprintf(out, "%14s  %4.0f  %3.0f  %10s  %9s  %15s  %9s\n",
                cli_text_count(number, sizeof number, (uint64_t)row->keys), row->bits_per_key, row->probes,
                row->rate, if_other(rate, sizeof rate, exact, row->rate), row->false_positives,
                if_other(wrong, sizeof wrong, row->keys * exact, row->false_positives));
    }
    fputc('\n', out);
    cli_text_wrap(out,
                  "rate = (1 - (1 - 1/m)^(kn))^k, that of a lookup of an absent key when all n are in. False "
                  "positives: n such lookups. 7,000,000 keys are ten minutes of 10^9 a day.",
                  0, 0, WIDTH);
    cli_text_wrap(out,
                  "The rates are those of good hashes. With the published BKDR hashes they are not reached: "
                  "tamis plan --measure.",
                  0, 0, WIDTH);
}

static void print_sizes(FILE *out) {
    char number[CLI_TEXT_NUMBER], printed[CLI_TEXT_NUMBER], bits[CLI_TEXT_NUMBER], exact[CLI_TEXT_NUMBER];

    fprintf(out, "\n%14s  %4s  %14s  %14s  %10s  %6s\n", "keys n", "m/n", "m, published", "m = n * m/n",
            "memory", "exact");
    for (int i = 0; i < SIZES; i++) {
        const published_size *row = &sizes[i];
        cli_text_count(printed, sizeof printed, (uint64_t)row->bits);
        fprintf(out, "%14s  %4.0f  %14s  %14s  %6s %s  %6s\n",
                cli_text_count(number, sizeof number, (uint64_t)row->keys), row->bits_per_key,
                row->bits > 0 ? printed : "",
                cli_text_count(bits, sizeof bits, (uint64_t)(row->keys * row->bits_per_key)), row->memory,
                row->unit, if_other(exact, sizeof exact, exact_memory(row), row->memory));
    }
    fputc('\n', out);
    cli_text_wrap(out,
                  "The published m for 7,000,000 keys, 21 and 35 million, is a misprint: it is 210 and 350 "
                  "million, and the memory and the rates published beside it are those of 210 and 350.",
                  0, 0, WIDTH);
}

static void print_rules(FILE *out) {
    char figure[CLI_TEXT_NUMBER], exact[CLI_TEXT_NUMBER];

    fprintf(out, "\n%-56s  %9s  %9s\n", "rule of thumb", "published", "exact");
    for (int i = 0; i < RULES; i++) {
        const published_rule *row = &rules[i];
        snprintf(figure, sizeof figure, "%s%s", row->figure, row->unit);
        if_other(exact, sizeof exact, exact_rule(row), row->figure);
        if (*exact != '=')
            snprintf(exact + strlen(exact), sizeof exact - strlen(exact), "%s", row->unit);
        fprintf(out, "%-56s  %9s  %9s\n", row->what, figure, exact);
    }
    fputc('\n', out);
    cli_text_wrap(out,
                  "Bits a key: -ln p / (ln 2)^2. Rate at 8 bits: 2^-(8 ln 2), k = 5.5 probes; with 5 or 6, "
                  "which whole filters have, 2.17 and 2.16 %. Twice its keys: (1 - 0.5^2)^k, k = log2(1/p); "
                  "see tamis plan --plot.",
                  0, 0, WIDTH);
}

void plan_published_text(FILE *out) {
    cli_text_wrap(
        out,
        "Published figures for Bloom filters over Redis bitmaps, and the exact ones; = where they are the "
        "same in the digits that were published, three at the least.",
        0, 0, WIDTH);
    fputc('\n', out);
    print_rates(out);
    print_sizes(out);
    print_rules(out);
}

static json_t *rate_object(const published_rate *row) {
    json_t *object = json_object();
    const double exact = exact_rate(row);

    cli_json_integer(object, &plan_fields.expect, (uint64_t)row->keys);
    cli_json_number(object, &plan_fields.bits_per_key, row->bits_per_key);
    cli_json_integer(object, &plan_fields.probes, (uint64_t)row->probes);
    cli_json_number(object, &plan_fields.fpr_published, strtod(row->rate, NULL));
    cli_json_number(object, &plan_fields.fpr, exact);
    cli_json_number(object, &plan_fields.false_positives_published, strtod(row->false_positives, NULL));
    cli_json_number(object, &plan_fields.false_positives, row->keys * exact);
    return object;
}

static json_t *size_object(const published_size *row) {
    json_t *object = json_object();
    const double bits = row->keys * row->bits_per_key;

    cli_json_integer(object, &plan_fields.expect, (uint64_t)row->keys);
    cli_json_number(object, &plan_fields.bits_per_key, row->bits_per_key);
    cli_json_integer_or_null(object, &plan_fields.bits_published, row->bits > 0, (uint64_t)row->bits);
    cli_json_integer(object, &plan_fields.bits, (uint64_t)bits);
    cli_json_number(object, &plan_fields.memory_published, ldexp(strtod(row->memory, NULL), row->power));
    cli_json_integer(object, &plan_fields.memory, (uint64_t)(bits / 8));
    return object;
}

static json_t *rule_object(const published_rule *row) {
    json_t *object = json_object();
    const double scale = row->rule == BITS_AT_RATE ? 1 : 100; /* JSON has rates from 0 to 1 */

    cli_json_string(object, &plan_fields.rule, row->what);
    cli_json_number(object, &plan_fields.published, strtod(row->figure, NULL) / scale);
    cli_json_number(object, &plan_fields.exact, exact_rule(row) / scale);
    return object;
}

tamis_status plan_published_json(FILE *out, tamis_error *err) {
    json_t *object = json_object(), *list[3] = {json_array(), json_array(), json_array()};
    static const cli_field *const fields[3] = {&plan_fields.rates, &plan_fields.sizes, &plan_fields.rules};

    for (int i = 0; i < RATES; i++)
        cli_json_append(list[0], rate_object(&rates[i]));
    for (int i = 0; i < SIZES; i++)
        cli_json_append(list[1], size_object(&sizes[i]));
    for (int i = 0; i < RULES; i++)
        cli_json_append(list[2], rule_object(&rules[i]));
    for (int i = 0; i < 3; i++)
        cli_json_set(object, fields[i], list[i]);
    return cli_json_write(object, out, 2, "plan", err);
}
