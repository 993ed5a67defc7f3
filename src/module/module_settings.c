/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Settings of the module: its arguments and, from Redis 7 on, CONFIG SET. The server puts the module's name
 * before a setting: bf.bf-initial-size. Redis 8 has names without it too, and RedisBloom's settings get them
 * there: bf-initial-size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* A setting is the rate, a whole number, or the number of a word. */
typedef struct setting {
    const char *name, *older_name; /* the name of older releases of RedisBloom, or NULL */
    long long *number, min, max;   /* NULL: the rate */
    const char *const *words;      /* from 0 to max; NULL: the setting is a number */
    bool is_own;                   /* RedisBloom does not have it */
    bool is_argument_only;         /* CONFIG SET does not have it */
} setting;

static const char *const kind_words[] = {"compatible", "fast"};
static const char *const strict_words[] = {"no", "yes"};
static const char *const commands_words[] = {"all", "bf", "tw"};

static const setting table[] = {
    {.name = "bf-error-rate", .older_name = "ERROR_RATE"},
    {.name = "bf-initial-size",
     .older_name = "INITIAL_SIZE",
     .number = &settings.capacity,
     .min = 1,
     .max = MODULE_CAPACITY_MAX},
    {.name = "bf-expansion-factor", .number = &settings.expansion, .max = MODULE_EXPANSION_MAX},
    {.name = "cf-initial-size", .number = &settings.cuckoo_capacity, .min = 2, .max = MODULE_CAPACITY_MAX},
    {.name = "cf-bucket-size", .number = &settings.cuckoo_bucket_size, .min = 1, .max = CUCKOO_BUCKET_MAX},
    {.name = "cf-max-iterations",
     .number = &settings.cuckoo_max_iterations,
     .min = 1,
     .max = CUCKOO_ITERATIONS_MAX},
    {.name = "cf-expansion-factor", .number = &settings.cuckoo_expansion, .max = MODULE_EXPANSION_MAX},
    {.name = "cf-max-expansions",
     .older_name = "CF_MAX_EXPANSIONS",
     .number = &settings.cuckoo_max_tables,
     .min = 1,
     .max = CUCKOO_TABLES_MAX},
    {.name = "bf-kind", .number = &settings.fast, .max = 1, .words = kind_words, .is_own = true},
    {.name = "strict", .number = &settings.strict, .max = 1, .words = strict_words, .is_own = true},
    {.name = "commands",
     .number = &settings.commands,
     .max = 2,
     .words = commands_words,
     .is_own = true,
     .is_argument_only = true},
};
enum { SETTINGS = sizeof table / sizeof *table, TEXT = 120 };

/* The first table of a cuckoo filter has two buckets or more. */
static bool has_two_buckets(void) {
    return settings.cuckoo_capacity >= 2 * settings.cuckoo_bucket_size;
}
#define TOO_SMALL "cf-initial-size: less than two buckets of cf-bucket-size; give a larger size"

static bool set_rate(const RedisModuleString *value, char *error, const setting *to) {
    double rate;
    if (server.StringToDouble(value, &rate) != MODULE_OK)
        snprintf(error, TEXT, "Invalid value for `%s`", to->name);
    else if (!(rate > 0 && rate < 1))
        snprintf(error, TEXT, "Value for `%s` must be in the range (0.000000, 1.000000)", to->name);
    else
        settings.rate = rate > BLOOM_RATE_MAX ? BLOOM_RATE_MAX : rate;
    return !*error;
}

static bool set_word(const setting *to, const RedisModuleString *value, char error[TEXT]) {
    size_t size = (size_t)snprintf(error, TEXT, "Value for `%s` must be one of:", to->name);
    for (long long i = 0; i <= to->max; i++) {
        if (is_word(value, to->words[i])) {
            *to->number = i;
            *error = 0;
            return true;
        }
        size += (size_t)snprintf(error + size, TEXT - size, " %s", to->words[i]);
    }
    return false;
}

/* Sets a setting. False: `error` says why not, in RedisBloom's words. */
static bool set(const setting *to, const RedisModuleString *value, char error[TEXT]) {
    *error = 0;
    if (!to->number)
        return set_rate(value, error, to);
    if (to->words)
        return set_word(to, value, error);
    long long number;
    if (server.StringToLongLong(value, &number) != MODULE_OK)
        snprintf(error, TEXT, "Invalid value for `%s`", to->name);
    else if (number < to->min || number > to->max)
        snprintf(error, TEXT, "Value for `%s` must be in the range [%lld, %lld]", to->name, to->min, to->max);
    else
        *to->number = number;
    return !*error;
}

/* Writes the value of a setting, a rate with as few digits as it needs. */
static size_t write_value(const setting *from, char text[TEXT]) {
    if (from->words)
        return (size_t)snprintf(text, TEXT, "%s", from->words[*from->number]);
    if (from->number)
        return (size_t)snprintf(text, TEXT, "%lld", *from->number);
    const int length = snprintf(text, TEXT, "%.15g", settings.rate);
    return strtod(text, NULL) == settings.rate ? (size_t)length
                                               : (size_t)snprintf(text, TEXT, "%.17g", settings.rate);
}

/* ---- arguments of the module ---- */

/* Sets one setting. False: the log says why not. */
static bool parse_setting(RedisModuleCtx *ctx, const RedisModuleString *name,
                          const RedisModuleString *value) {
    char error[TEXT];
    for (int i = 0; i < SETTINGS; i++) {
        if (!is_word(name, table[i].name) && !(table[i].older_name && is_word(name, table[i].older_name)))
            continue;
        if (set(&table[i], value, error))
            return true;
        server.Log(ctx, "warning", "tamis: %s %s: %s", server.StringPtrLen(name, NULL),
                   server.StringPtrLen(value, NULL), error);
        return false;
    }
    server.Log(ctx, "warning", "tamis: %s: unknown argument; docs/guide/redis-module-reference.md lists them",
               server.StringPtrLen(name, NULL));
    return false;
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

const char *settings_check_options(RedisModuleCtx *ctx, const module_option *options,
                                   RedisModuleString **words, int count, const char *unknown) {
    unsigned given = 0;
    for (int i = 0; settings.strict && module_is_client(ctx) && i < count; i++) {
        int option = 0;
        while (options[option].word && !is_word(words[i], options[option].word))
            option++;
        if (!options[option].word)
            return unknown;
        if (given & 1u << option)
            return "ERR an option is given twice";
        given |= 1u << option;
        i += options[option].values;
    }
    return NULL;
}

/* ---- CONFIG SET ---- */

/* Returns a text that stays until the next call. */
static RedisModuleString *get_text(const char *name, void *from) {
    (void)name;
    static RedisModuleString *shown;
    char text[TEXT];
    const size_t size = write_value(from, text);
    if (shown)
        server.FreeString(NULL, shown);
    shown = server.CreateString(NULL, text, size);
    return shown;
}

static int set_text(const char *name, RedisModuleString *value, void *to, RedisModuleString **error) {
    (void)name;
    char text[TEXT];
    if (set(to, value, text))
        return MODULE_OK;
    *error = server.CreateString(NULL, text, strlen(text));
    return MODULE_ERR;
}

/* Checks settings that depend on one another, when all of a command are set. If it fails, the server restores
 * them. */
static int check_settings(RedisModuleCtx *ctx, void *value, RedisModuleString **error) {
    (void)ctx;
    (void)value;
    if (has_two_buckets())
        return MODULE_OK;
    *error = server.CreateString(NULL, TOO_SMALL, sizeof TOO_SMALL - 1);
    return MODULE_ERR;
}

/* Makes a setting known. Redis 8 has LoadDefaultConfigs, and names without that of the module, which are
 * written before an alias. */
static bool register_setting(RedisModuleCtx *ctx, const setting *which) {
    char value[TEXT], name[TEXT];
    const bool is_unprefixed = server.LoadDefaultConfigs && !which->is_own;
    snprintf(name, sizeof name, "%s|bf.%s", which->name, which->name);
    write_value(which, value);
    return server.RegisterStringConfig(ctx, is_unprefixed ? name : which->name, value,
                                       is_unprefixed ? MODULE_UNPREFIXED : 0, get_text, set_text,
                                       check_settings, (void *)which) == MODULE_OK;
}

bool settings_register(RedisModuleCtx *ctx) {
    if (!server.RegisterStringConfig || !server.LoadConfigs)
        return true;
    for (int i = 0; i < SETTINGS; i++) {
        if (!table[i].is_argument_only && !register_setting(ctx, &table[i]))
            return false;
    }
    return server.LoadConfigs(ctx) == MODULE_OK;
}
