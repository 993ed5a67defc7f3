/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading the module: functions of the server, settings, the table of commands. */
#include <string.h>
#include <strings.h>

#include <tamis/version.h>

#include "module/module.h"

/* The name of RedisBloom's module: clients look for it in MODULE LIST, and both cannot be loaded at once. */
#define MODULE_NAME    "bf"
#define MODULE_VERSION (TAMIS_VERSION_MAJOR * 10000 + TAMIS_VERSION_MINOR * 100 + TAMIS_VERSION_PATCH)

/* The only symbols that the library exports (cmake/tamis-module.map). */
__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv,
                                                              int argc);
__attribute__((visibility("default"))) int RedisModule_OnUnload(RedisModuleCtx *ctx);

module_settings settings = {.rate = 0.01, .capacity = 100, .expansion = 2};

/* ---- replies and arguments ---- */

void reply_bool(RedisModuleCtx *ctx, bool value) {
    if (server.ReplyWithBool)
        server.ReplyWithBool(ctx, value);
    else
        server.ReplyWithLongLong(ctx, value);
}

bool is_word(const RedisModuleString *argument, const char *word) {
    size_t size;
    const char *text = server.StringPtrLen(argument, &size);
    return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

/* ---- commands ---- */

#define WRITE "write deny-oom"
#define READ  "readonly fast"

/* X(function, name, smallest and largest number of arguments, flags, summary). The name counts as an
 * argument; 0 means any number. Each command has its key first, and no other key. */
#define COMMAND_TABLE(X)                                                                                     \
    X(reserve, "bf.reserve", 4, 7, WRITE, "Makes an empty Bloom filter")                                     \
    X(add, "bf.add", 3, 3, WRITE " fast", "Adds an item to a Bloom filter")                                  \
    X(madd, "bf.madd", 3, 0, WRITE " fast", "Adds items to a Bloom filter")                                  \
    X(insert, "bf.insert", 4, 0, WRITE " fast", "Adds items to a Bloom filter that is made with options")    \
    X(exists, "bf.exists", 3, 3, READ, "Looks up an item in a Bloom filter")                                 \
    X(mexists, "bf.mexists", 3, 0, READ, "Looks up items in a Bloom filter")                                 \
    X(card, "bf.card", 2, 2, READ, "Returns the number of items in a Bloom filter")                          \
    X(info, "bf.info", 2, 3, READ, "Returns the sizes of a Bloom filter")                                    \
    X(scandump, "bf.scandump", 3, 3, READ, "Returns a chunk of a Bloom filter")                              \
    X(loadchunk, "bf.loadchunk", 4, 4, WRITE, "Loads a chunk of a Bloom filter")                             \
    X(debug, "bf.debug", 2, 2, READ, "Returns the sizes of the sub-filters of a Bloom filter")

/* Runs a command that has a suitable number of arguments. */
#define COMMAND_RUN(function, name, min, max, flags, summary)                                                \
    static int run_##function(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {                     \
        return argc < (min) || ((max) && argc > (max)) ? server.WrongArity(ctx)                              \
                                                       : bloom_##function(ctx, argv, argc);                  \
    }
COMMAND_TABLE(COMMAND_RUN)

static const struct {
    const char *name;
    RedisModuleCmdFunc run;
    const char *flags;
    const char *summary;
    int arity; /* as COMMAND INFO reports it: -N for N or more */
} commands[] = {
#define COMMAND_ROW(function, name, min, max, flags, summary)                                                \
    {name, run_##function, flags, summary, (min) == (max) ? (min) : -(min)},
    COMMAND_TABLE(COMMAND_ROW)
#undef COMMAND_ROW
};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* For COMMAND INFO and COMMAND DOCS, where the server has them. */
static void describe_command(RedisModuleCtx *ctx, int i) {
    /* with the sizes of the server's structs on machines with 64 bits, of which none is used */
    static const module_info_version version = {1, 16, 56, 72};
    const RedisModuleCommandInfo info = {
        .version = &version, .summary = commands[i].summary, .arity = commands[i].arity};
    if (server.GetCommand && server.SetCommandInfo)
        server.SetCommandInfo(server.GetCommand(ctx, commands[i].name), &info);
}

static bool create_commands(RedisModuleCtx *ctx) {
    for (int i = 0; i < COMMANDS; i++) {
        if (server.CreateCommand(ctx, commands[i].name, commands[i].run, commands[i].flags, 1, 1, 1) !=
            MODULE_OK) {
            server.Log(ctx, "warning",
                       "tamis: the server has %s already; load tamis into a server without RedisBloom",
                       commands[i].name);
            return false;
        }
        describe_command(ctx, i);
    }
    return true;
}

/* ---- settings ---- */

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

/* Sets one setting. False: the log says why not. */
static bool parse_setting(RedisModuleCtx *ctx, const RedisModuleString *name,
                          const RedisModuleString *value) {
    const char *expected;
    bool parsed;
    if (is_word(name, "bf-error-rate") || is_word(name, "ERROR_RATE")) {
        parsed = parse_rate(value, &settings.rate);
        expected = "a number between 0 and 1";
    } else if (is_word(name, "bf-initial-size") || is_word(name, "INITIAL_SIZE")) {
        parsed = parse_whole(value, 1, BLOOM_CAPACITY_MAX, &settings.capacity);
        expected = "1 to 1073741824";
    } else if (is_word(name, "bf-expansion-factor")) {
        parsed = parse_whole(value, 0, BLOOM_EXPANSION_MAX, &settings.expansion);
        expected = "0 to 32768";
    } else {
        server.Log(ctx, "warning",
                   "tamis: %s: unknown argument; known are bf-error-rate, bf-initial-size and "
                   "bf-expansion-factor",
                   server.StringPtrLen(name, NULL));
        return false;
    }
    if (!parsed)
        server.Log(ctx, "warning", "tamis: %s %s: expected %s", server.StringPtrLen(name, NULL),
                   server.StringPtrLen(value, NULL), expected);
    return parsed;
}

static bool parse_settings(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    for (int i = 0; i < argc; i += 2) {
        if (i + 1 == argc) {
            server.Log(ctx, "warning", "tamis: %s: its value is missing; give one",
                       server.StringPtrLen(argv[i], NULL));
            return false;
        }
        if (!parse_setting(ctx, argv[i], argv[i + 1]))
            return false;
    }
    return true;
}

/* ---- loading ---- */

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const char *missing = module_api_find(ctx);
    if (missing) {
        if (server.Log)
            server.Log(ctx, "warning", "tamis: the server lacks RedisModule_%s; use Redis 6.2 or newer",
                       missing);
        return MODULE_ERR;
    }
    if (server.IsModuleNameBusy(MODULE_NAME)) {
        server.Log(ctx, "warning",
                   "tamis: a module of the name " MODULE_NAME
                   " is loaded already; load tamis into a server without RedisBloom");
        return MODULE_ERR;
    }
    server.SetModuleAttribs(ctx, MODULE_NAME, MODULE_VERSION, MODULE_API_VERSION);
    if (!parse_settings(ctx, argv, argc) || !create_commands(ctx))
        return MODULE_ERR;
    if (!bloom_types_create(ctx)) {
        server.Log(ctx, "warning", "tamis: the server refused a data type; use Redis 6.2 or newer");
        return MODULE_ERR;
    }
    server.SetModuleOptions(ctx, MODULE_HANDLE_IO_ERRORS);
    return MODULE_OK;
}

/* The server asks before it unloads a module, and refuses it for one with data types. */
int RedisModule_OnUnload(RedisModuleCtx *ctx) {
    (void)ctx;
    return MODULE_OK;
}
