/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading the module: functions of the server, the table of commands. */
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
    X(bloom_reserve, "bf.reserve", 4, 7, WRITE, "Makes an empty Bloom filter")                               \
    X(bloom_add, "bf.add", 3, 3, WRITE " fast", "Adds an item to a Bloom filter")                            \
    X(bloom_madd, "bf.madd", 3, 0, WRITE " fast", "Adds items to a Bloom filter")                            \
    X(bloom_insert, "bf.insert", 4, 0, WRITE " fast",                                                        \
      "Adds items to a Bloom filter that is made with options")                                              \
    X(bloom_exists, "bf.exists", 3, 3, READ, "Looks up an item in a Bloom filter")                           \
    X(bloom_mexists, "bf.mexists", 3, 0, READ, "Looks up items in a Bloom filter")                           \
    X(bloom_card, "bf.card", 2, 2, READ, "Returns the number of items in a Bloom filter")                    \
    X(bloom_info, "bf.info", 2, 3, READ, "Returns the sizes of a Bloom filter")                              \
    X(bloom_scandump, "bf.scandump", 3, 3, READ, "Returns a chunk of a Bloom filter")                        \
    X(bloom_loadchunk, "bf.loadchunk", 4, 4, WRITE, "Loads a chunk of a Bloom filter")                       \
    X(bloom_debug, "bf.debug", 2, 2, READ, "Returns the sizes of the sub-filters of a Bloom filter")         \
    X(cuckoo_reserve, "cf.reserve", 3, 0, WRITE, "Makes an empty cuckoo filter")                             \
    X(cuckoo_add, "cf.add", 3, 3, WRITE " fast", "Adds an item to a cuckoo filter")                          \
    X(cuckoo_addnx, "cf.addnx", 3, 3, WRITE " fast", "Adds an item to a cuckoo filter if it is absent")      \
    X(cuckoo_insert, "cf.insert", 4, 0, WRITE " fast",                                                       \
      "Adds items to a cuckoo filter that is made with options")                                             \
    X(cuckoo_insertnx, "cf.insertnx", 4, 0, WRITE " fast", "Adds items that are absent to a cuckoo filter")  \
    X(cuckoo_del, "cf.del", 3, 3, "write fast", "Removes an item from a cuckoo filter")                      \
    X(cuckoo_compact, "cf.compact", 2, 2, "write", "Moves items of a cuckoo filter into fewer tables")       \
    X(cuckoo_exists, "cf.exists", 3, 3, READ, "Looks up an item in a cuckoo filter")                         \
    X(cuckoo_mexists, "cf.mexists", 3, 0, READ, "Looks up items in a cuckoo filter")                         \
    X(cuckoo_count, "cf.count", 3, 3, READ, "Returns how often a cuckoo filter has an item")                 \
    X(cuckoo_info, "cf.info", 2, 2, READ, "Returns the sizes of a cuckoo filter")                            \
    X(cuckoo_scandump, "cf.scandump", 3, 3, READ, "Returns a chunk of a cuckoo filter")                      \
    X(cuckoo_loadchunk, "cf.loadchunk", 4, 4, WRITE, "Loads a chunk of a cuckoo filter")                     \
    X(cuckoo_debug, "cf.debug", 2, 2, READ, "Returns the sizes of a cuckoo filter as one line")

/* Runs a command that has a suitable number of arguments. */
#define COMMAND_RUN(function, name, min, max, flags, summary)                                                \
    static int run_##function(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {                     \
        return argc < (min) || ((max) && argc > (max)) ? server.WrongArity(ctx) : function(ctx, argv, argc); \
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
    /* Sizes of the server's structs with pointers of 64 bits. We pass no such struct. */
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
    if (!settings_parse(ctx, argv, argc) || !create_commands(ctx))
        return MODULE_ERR;
    if (!bloom_types_create(ctx) || !cuckoo_types_create(ctx)) {
        server.Log(ctx, "warning", "tamis: the server refused a data type; use Redis 6.2 or newer");
        return MODULE_ERR;
    }
    server.SetModuleOptions(ctx, MODULE_HANDLE_IO_ERRORS);
    if (!settings_register(ctx)) {
        server.Log(ctx, "warning", "tamis: the server refused a setting; see the line before this one");
        return MODULE_ERR;
    }
    return MODULE_OK;
}

/* The server asks before it unloads a module, and refuses it for one with data types. */
int RedisModule_OnUnload(RedisModuleCtx *ctx) {
    (void)ctx;
    return MODULE_OK;
}
