/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Settings of the module: its arguments and, from Redis 7 on, CONFIG SET. The server puts the module's name
 * before a setting: bf.bf-initial-size.
 */
#include <stdio.h>
#include <stdlib.h>

#include "module/module.h"

module_settings settings = {
    .rate = 0.01,
    .capacity = 100,
    .expansion = 2,
    .cuckoo_capacity = 1024,
    .cuckoo_bucket_size = 2,
    .cuckoo_max_iterations = 20,
    .cuckoo_expansion = 1,
    .cuckoo_max_tables = 32,
};

/* ---- arguments of the module ---- */

/* The first table of a cuckoo filter has two buckets or more. */
static bool has_two_buckets(void) {
    return settings.cuckoo_capacity >= 2 * settings.cuckoo_bucket_size;
}
#define TOO_SMALL "cf-initial-size: less than two buckets of cf-bucket-size; give a larger size"

static bool parse_whole(const RedisModuleString *value, long long min, long long max, long long *to) {
    long long number;
    if (server.StringToLongLong(value, &number) != MODULE_OK || number < min || number > max)
        return false;
    *to = number;
    return true;
}

static bool parse_rate(const RedisModuleString *value, double *to) {
    double number;
    if (server.StringToDouble(value, &number) != MODULE_OK || !(number > 0 && number < 1))
        return false;
    *to = number;
    return true;
}

/* Settings that are whole numbers. */
static const struct {
    const char *name, *older_name; /* the name of older releases of RedisBloom, or NULL */
    long long *value, min, max;
} numbers[] = {
    {"bf-initial-size", "INITIAL_SIZE", &settings.capacity, 1, MODULE_CAPACITY_MAX},
    {"bf-expansion-factor", NULL, &settings.expansion, 0, MODULE_EXPANSION_MAX},
    {"cf-initial-size", NULL, &settings.cuckoo_capacity, 2, MODULE_CAPACITY_MAX},
    {"cf-bucket-size", NULL, &settings.cuckoo_bucket_size, 1, CUCKOO_BUCKET_MAX},
    {"cf-max-iterations", NULL, &settings.cuckoo_max_iterations, 1, CUCKOO_ITERATIONS_MAX},
    {"cf-expansion-factor", NULL, &settings.cuckoo_expansion, 0, MODULE_EXPANSION_MAX},
    {"cf-max-expansions", "CF_MAX_EXPANSIONS", &settings.cuckoo_max_tables, 1, CUCKOO_TABLES_MAX},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* Sets one setting. False: the log says why not. */
static bool parse_setting(RedisModuleCtx *ctx, const RedisModuleString *name,
                          const RedisModuleString *value) {
    char expected[80] = "a number between 0 and 1";
    bool parsed;
    int i = 0;
    while (i < NUMBERS && !is_word(name, numbers[i].name) &&
           !(numbers[i].older_name && is_word(name, numbers[i].older_name)))
        i++;
    if (i < NUMBERS) {
        parsed = parse_whole(value, numbers[i].min, numbers[i].max, numbers[i].value);
        snprintf(expected, sizeof expected, "%lld to %lld", numbers[i].min, numbers[i].max);
    } else if (is_word(name, "bf-error-rate") || is_word(name, "ERROR_RATE")) {
        parsed = parse_rate(value, &settings.rate);
    } else {
        server.Log(ctx, "warning", "tamis: %s: unknown argument; the guide of the module lists them",
                   server.StringPtrLen(name, NULL));
        return false;
    }
    if (!parsed)
        server.Log(ctx, "warning", "tamis: %s %s: expected %s", server.StringPtrLen(name, NULL),
                   server.StringPtrLen(value, NULL), expected);
    return parsed;
}

bool settings_parse(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    for (int i = 0; i < argc; i += 2) {
        if (i + 1 == argc) {
            server.Log(ctx, "warning", "tamis: %s: its value is missing; give one",
                       server.StringPtrLen(argv[i], NULL));
            return false;
        }
        if (!parse_setting(ctx, argv[i], argv[i + 1]))
            return false;
    }
    if (has_two_buckets())
        return true;
    server.Log(ctx, "warning", "tamis: %s", TOO_SMALL);
    return false;
}

/* ---- CONFIG SET ---- */

static long long get_number(const char *name, void *value) {
    (void)name;
    return *(const long long *)value;
}

/* The server has checked the range. */
static int set_number(const char *name, long long number, void *value, RedisModuleString **error) {
    (void)name;
    (void)error;
    *(long long *)value = number;
    return MODULE_OK;
}

static int refuse(RedisModuleString **error, const char *text, size_t size) {
    *error = server.CreateString(NULL, text, size);
    return MODULE_ERR;
}

/* Checks settings that depend on one another, when all of a command are set. If it fails, the server restores
 * them. */
static int check_settings(RedisModuleCtx *ctx, void *value, RedisModuleString **error) {
    (void)ctx;
    (void)value;
    return has_two_buckets() ? MODULE_OK : refuse(error, TOO_SMALL, sizeof TOO_SMALL - 1);
}

/* Writes the rate with as few digits as it needs. */
static size_t write_rate(char *text, size_t size) {
    int length = snprintf(text, size, "%.15g", settings.rate);
    if (strtod(text, NULL) != settings.rate)
        length = snprintf(text, size, "%.17g", settings.rate);
    return (size_t)length;
}

/* Returns a text that stays until the next call. */
static RedisModuleString *get_rate(const char *name, void *value) {
    (void)name;
    (void)value;
    static RedisModuleString *shown;
    char text[32];
    const size_t size = write_rate(text, sizeof text);
    if (shown)
        server.FreeString(NULL, shown);
    shown = server.CreateString(NULL, text, size);
    return shown;
}

static int set_rate(const char *name, RedisModuleString *text, void *value, RedisModuleString **error) {
    static const char expected[] = "expected a number between 0 and 1";
    (void)name;
    (void)value;
    return parse_rate(text, &settings.rate) ? MODULE_OK : refuse(error, expected, sizeof expected - 1);
}

bool settings_register(RedisModuleCtx *ctx) {
    if (!server.RegisterNumericConfig || !server.RegisterStringConfig || !server.LoadConfigs)
        return true;
    char rate[32];
    write_rate(rate, sizeof rate);
    if (server.RegisterStringConfig(ctx, "bf-error-rate", rate, 0, get_rate, set_rate, NULL, NULL) !=
        MODULE_OK)
        return false;
    for (int i = 0; i < NUMBERS; i++) {
        if (server.RegisterNumericConfig(ctx, numbers[i].name, *numbers[i].value, 0, numbers[i].min,
                                         numbers[i].max, get_number, set_number, check_settings,
                                         numbers[i].value) != MODULE_OK)
            return false;
    }
    return server.LoadConfigs(ctx) == MODULE_OK;
}
