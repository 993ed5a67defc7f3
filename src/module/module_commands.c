/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of commands. What the server runs, what COMMAND INFO and COMMAND DOCS report, and what ACLs allow
 * are made from it.
 *
 * Each command has its key first, and only BF.MERGE has others. Names of arguments, and `since`, are
 * those of RedisBloom's documentation: clients and tools may already know them.
 */
#include <stdio.h>

#include "module/module.h"

/* ---- arguments ---- */

#define KEY                                                                                                  \
    { .name = "key", .type = MODULE_ARGUMENT_KEY }
#define STRING(its_name)                                                                                     \
    { .name = its_name, .type = MODULE_ARGUMENT_STRING }
#define INTEGER(its_name)                                                                                    \
    { .name = its_name, .type = MODULE_ARGUMENT_INTEGER }
#define REAL(its_name)                                                                                       \
    { .name = its_name, .type = MODULE_ARGUMENT_DOUBLE }
/* A word and a value, which may be left out. */
#define OPTION(word, its_name, its_type)                                                                     \
    { .name = its_name, .type = its_type, .token = word, .flags = MODULE_ARGUMENT_OPTIONAL }
/* A word alone. */
#define WORD(word, its_name, its_flags)                                                                      \
    { .name = its_name, .type = MODULE_ARGUMENT_PURE_TOKEN, .token = word, .flags = its_flags }
#define SWITCH(word, its_name) WORD(word, its_name, MODULE_ARGUMENT_OPTIONAL)
#define ITEMS                                                                                                \
    { .name = "item", .type = MODULE_ARGUMENT_STRING, .flags = MODULE_ARGUMENT_MULTIPLE }
#define LAST                                                                                                 \
    { .name = NULL }

static const module_argument key_only[] = {KEY, LAST};
static const module_argument key_item[] = {KEY, STRING("item"), LAST};
static const module_argument key_items[] = {KEY, ITEMS, LAST};
static const module_argument key_iterator[] = {KEY, INTEGER("iterator"), LAST};
static const module_argument key_image[] = {KEY, INTEGER("offset"), INTEGER("size"), STRING("bytes"), LAST};
static const module_argument key_chunk[] = {KEY, INTEGER("iterator"), STRING("data"), LAST};

static const module_argument reserve_bloom[] = {
    KEY,
    REAL("error_rate"),
    INTEGER("capacity"),
    OPTION("EXPANSION", "expansion", MODULE_ARGUMENT_INTEGER),
    SWITCH("NONSCALING", "nonscaling"),
    OPTION("KIND", "kind", MODULE_ARGUMENT_STRING),
    LAST,
};
static const module_argument merge_bloom[] = {
    KEY,
    {.name = "source", .type = MODULE_ARGUMENT_KEY, .key_spec = 1, .flags = MODULE_ARGUMENT_MULTIPLE},
    LAST,
};
static const module_argument reserve_window[] = {
    KEY, REAL("error_rate"), INTEGER("capacity"), INTEGER("window"), INTEGER("steps"), LAST,
};
static const module_argument key_time_items[] = {KEY, INTEGER("milliseconds"), ITEMS, LAST};
static const module_argument insert_bloom[] = {
    KEY,
    OPTION("CAPACITY", "capacity", MODULE_ARGUMENT_INTEGER),
    OPTION("ERROR", "error", MODULE_ARGUMENT_DOUBLE),
    OPTION("EXPANSION", "expansion", MODULE_ARGUMENT_INTEGER),
    SWITCH("NOCREATE", "nocreate"),
    SWITCH("NONSCALING", "nonscaling"),
    OPTION("KIND", "kind", MODULE_ARGUMENT_STRING),
    WORD("ITEMS", "items", 0),
    ITEMS,
    LAST,
};
static const module_argument info_fields[] = {
    WORD("CAPACITY", "capacity", 0),
    WORD("SIZE", "size", 0),
    WORD("FILTERS", "filters", 0),
    WORD("ITEMS", "items", 0),
    WORD("EXPANSION", "expansion", 0),
    WORD("RATE", "rate", 0),
    WORD("LIVERATE", "liverate", 0),
    WORD("FILL", "fill", 0),
    WORD("SATURATION", "saturation", 0),
    WORD("KIND", "kind", 0),
    LAST,
};
static const module_argument info_bloom[] = {
    KEY,
    {.name = "single_value",
     .type = MODULE_ARGUMENT_ONE_OF,
     .flags = MODULE_ARGUMENT_OPTIONAL,
     .choices = info_fields},
    LAST,
};
static const module_argument reserve_cuckoo[] = {
    KEY,
    INTEGER("capacity"),
    OPTION("BUCKETSIZE", "bucketsize", MODULE_ARGUMENT_INTEGER),
    OPTION("MAXITERATIONS", "maxiterations", MODULE_ARGUMENT_INTEGER),
    OPTION("EXPANSION", "expansion", MODULE_ARGUMENT_INTEGER),
    LAST,
};
static const module_argument insert_cuckoo[] = {
    KEY,
    OPTION("CAPACITY", "capacity", MODULE_ARGUMENT_INTEGER),
    SWITCH("NOCREATE", "nocreate"),
    WORD("ITEMS", "items", 0),
    ITEMS,
    LAST,
};

/* ---- the table ---- */

/* What a command does with its key. */
typedef enum command_access { LOOKUP, CREATE, ADD, LOAD, REMOVE, COMPACT, MERGE, ACCESSES } command_access;

#define KEYS_FROM(first, last, key_flags)                                                                    \
    {                                                                                                        \
        .flags = key_flags, .begin_search = MODULE_BEGIN_INDEX, .begin = {.index = first},                   \
        .find_keys = MODULE_FIND_RANGE, .last_key = last, .key_step = 1                                      \
    }
#define KEY_SPEC(key_flags)                                                                                  \
    { KEYS_FROM(1, 0, key_flags) }

static const struct {
    const char *flags;          /* of the command */
    const char *acl_categories; /* besides that of its sort of filters */
    module_key_spec keys[3];
} accesses[ACCESSES] = {
    [LOOKUP] = {"readonly fast", "read fast", KEY_SPEC(MODULE_KEY_RO | MODULE_KEY_ACCESS)},
    [CREATE] = {"write deny-oom", "write slow", KEY_SPEC(MODULE_KEY_RW | MODULE_KEY_INSERT)},
    [ADD] = {"write deny-oom fast", "write fast", KEY_SPEC(MODULE_KEY_RW | MODULE_KEY_INSERT)},
    [LOAD] = {"write deny-oom", "write slow", KEY_SPEC(MODULE_KEY_RW | MODULE_KEY_UPDATE)},
    [REMOVE] = {"write fast", "write fast", KEY_SPEC(MODULE_KEY_RW | MODULE_KEY_DELETE)},
    [COMPACT] = {"write", "write slow", KEY_SPEC(MODULE_KEY_RW | MODULE_KEY_UPDATE)},
    [MERGE] = {"write deny-oom",
               "write slow",
               {KEYS_FROM(1, 0, MODULE_KEY_RW | MODULE_KEY_ACCESS | MODULE_KEY_INSERT),
                KEYS_FROM(2, -1, MODULE_KEY_RO | MODULE_KEY_ACCESS)}},
};

#define ADD_TIME "O(k), where k is the number of hash functions of all sub-filters"
#define MADD_TIME                                                                                            \
    "O(n * k), where n is the number of items and k that of the hash functions of all sub-filters"
#define CHUNK_TIME  "O(n), where n is the size of the chunk, at most 16 MiB"
#define CUCKOO_TIME "O(t), where t is the number of tables"
#define MOVE_TIME   "O(t + i), where t is the number of tables and i is maxiterations"
#define ITEMS_TIME  "O(n), where n is the number of items"
#define OWN         "0.1.0" /* since: a release of tamis, for commands that RedisBloom does not have */
#define MOVES_TIME  "O(n * (t + i)), where n is the number of items, t that of tables and i is maxiterations"

/* X(function, name, smallest and largest number of arguments, access, arguments, since, complexity, summary).
 * The name counts as an argument; 0 means any number. */
#define COMMAND_TABLE(X)                                                                                     \
    X(bloom_reserve, "bf.reserve", 4, 9, CREATE, reserve_bloom, "1.0.0", "O(m), where m is the memory",      \
      "Makes an empty Bloom filter")                                                                         \
    X(bloom_add, "bf.add", 3, 3, ADD, key_item, "1.0.0", ADD_TIME, "Adds an item to a Bloom filter")         \
    X(bloom_madd, "bf.madd", 3, 0, ADD, key_items, "1.0.0", MADD_TIME, "Adds items to a Bloom filter")       \
    X(bloom_insert, "bf.insert", 4, 0, ADD, insert_bloom, "1.0.0", MADD_TIME,                                \
      "Adds items to a Bloom filter that is made with options")                                              \
    X(bloom_exists, "bf.exists", 3, 3, LOOKUP, key_item, "1.0.0", ADD_TIME,                                  \
      "Looks up an item in a Bloom filter")                                                                  \
    X(bloom_mexists, "bf.mexists", 3, 0, LOOKUP, key_items, "1.0.0", MADD_TIME,                              \
      "Looks up items in a Bloom filter")                                                                    \
    X(bloom_card, "bf.card", 2, 2, LOOKUP, key_only, "2.4.4", "O(1)",                                        \
      "Returns the number of items in a Bloom filter")                                                       \
    X(bloom_info, "bf.info", 2, 3, LOOKUP, info_bloom, "1.0.0", "O(1)",                                      \
      "Returns the sizes of a Bloom filter")                                                                 \
    X(bloom_scandump, "bf.scandump", 3, 3, LOOKUP, key_iterator, "1.0.0", CHUNK_TIME,                        \
      "Returns a chunk of a Bloom filter")                                                                   \
    X(bloom_loadchunk, "bf.loadchunk", 4, 4, LOAD, key_chunk, "1.0.0", CHUNK_TIME,                           \
      "Loads a chunk of a Bloom filter")                                                                     \
    X(bloom_debug, "bf.debug", 2, 2, LOOKUP, key_only, "1.0.0",                                              \
      "O(s), where s is the number of sub-filters",                                                          \
      "Returns the sizes of the sub-filters of a Bloom filter")                                              \
    X(bloom_loadimage, "bf.loadimage", 5, 5, LOAD, key_image, OWN, CHUNK_TIME,                               \
      "Loads a chunk of the image of a Bloom filter")                                                        \
    X(bloom_merge, "bf.merge", 3, 0, MERGE, merge_bloom, OWN, "O(m), where m is the memory of all filters",  \
      "Adds the items of other Bloom filters to a Bloom filter")                                             \
    X(cuckoo_reserve, "cf.reserve", 3, 0, CREATE, reserve_cuckoo, "1.0.0", "O(m), where m is the memory",    \
      "Makes an empty cuckoo filter")                                                                        \
    X(cuckoo_add, "cf.add", 3, 3, ADD, key_item, "1.0.0", MOVE_TIME, "Adds an item to a cuckoo filter")      \
    X(cuckoo_addnx, "cf.addnx", 3, 3, ADD, key_item, "1.0.0", MOVE_TIME,                                     \
      "Adds an item to a cuckoo filter if it is absent")                                                     \
    X(cuckoo_insert, "cf.insert", 4, 0, ADD, insert_cuckoo, "1.0.0", MOVES_TIME,                             \
      "Adds items to a cuckoo filter that is made with options")                                             \
    X(cuckoo_insertnx, "cf.insertnx", 4, 0, ADD, insert_cuckoo, "1.0.0", MOVES_TIME,                         \
      "Adds items that are absent to a cuckoo filter")                                                       \
    X(cuckoo_del, "cf.del", 3, 3, REMOVE, key_item, "1.0.0", CUCKOO_TIME,                                    \
      "Removes an item from a cuckoo filter")                                                                \
    X(cuckoo_compact, "cf.compact", 2, 2, COMPACT, key_only, "1.0.0", "O(m), where m is the memory",         \
      "Moves items of a cuckoo filter into fewer tables")                                                    \
    X(cuckoo_exists, "cf.exists", 3, 3, LOOKUP, key_item, "1.0.0", CUCKOO_TIME,                              \
      "Looks up an item in a cuckoo filter")                                                                 \
    X(cuckoo_mexists, "cf.mexists", 3, 0, LOOKUP, key_items, "1.0.0",                                        \
      "O(n * t), where n is the number of items and t that of tables", "Looks up items in a cuckoo filter")  \
    X(cuckoo_count, "cf.count", 3, 3, LOOKUP, key_item, "1.0.0", CUCKOO_TIME,                                \
      "Returns how often a cuckoo filter has an item")                                                       \
    X(cuckoo_info, "cf.info", 2, 2, LOOKUP, key_only, "1.0.0", "O(1)",                                       \
      "Returns the sizes of a cuckoo filter")                                                                \
    X(cuckoo_scandump, "cf.scandump", 3, 3, LOOKUP, key_iterator, "1.0.0", CHUNK_TIME,                       \
      "Returns a chunk of a cuckoo filter")                                                                  \
    X(cuckoo_loadchunk, "cf.loadchunk", 4, 4, LOAD, key_chunk, "1.0.0", CHUNK_TIME,                          \
      "Loads a chunk of a cuckoo filter")                                                                    \
    X(cuckoo_debug, "cf.debug", 2, 2, LOOKUP, key_only, "1.0.0", "O(1)",                                     \
      "Returns the sizes of a cuckoo filter as one line")                                                    \
    X(window_reserve, "tw.reserve", 6, 6, CREATE, reserve_window, OWN, "O(m), where m is the memory",        \
      "Makes an empty window, whose items expire")                                                           \
    X(window_add, "tw.add", 3, 3, ADD, key_item, OWN, "O(1)", "Adds an item to a window")                    \
    X(window_madd, "tw.madd", 3, 0, ADD, key_items, OWN, ITEMS_TIME, "Adds items to a window")               \
    X(window_add_at, "tw.addat", 4, 0, ADD, key_time_items, OWN, ITEMS_TIME,                                 \
      "Adds items to a window, at a given time")                                                             \
    X(window_exists, "tw.exists", 3, 3, LOOKUP, key_item, OWN, "O(1)", "Looks up an item in a window")       \
    X(window_mexists, "tw.mexists", 3, 0, LOOKUP, key_items, OWN, ITEMS_TIME, "Looks up items in a window")  \
    X(window_info, "tw.info", 2, 2, LOOKUP, key_only, OWN, "O(1)",                                           \
      "Returns the sizes and times of a window")                                                             \
    X(window_loadimage, "tw.loadimage", 5, 5, LOAD, key_image, OWN, CHUNK_TIME,                              \
      "Loads a chunk of the image of a window")

/* Runs a command that has a suitable number of arguments. */
#define COMMAND_RUN(function, name, min, max, ...)                                                           \
    static int run_##function(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {                     \
        return argc < (min) || ((max) && argc > (max)) ? server.WrongArity(ctx) : function(ctx, argv, argc); \
    }
COMMAND_TABLE(COMMAND_RUN)

static const struct {
    const char *name;
    RedisModuleCmdFunc run;
    command_access access;
    const module_argument *arguments;
    const char *since, *complexity, *summary;
    int arity; /* as COMMAND INFO reports it: -N for N or more */
} commands[] = {
#define COMMAND_ROW(function, name, min, max, access, arguments, since, complexity, summary)                 \
    {name, run_##function, access, arguments, since, complexity, summary, (min) == (max) ? (min) : -(min)},
    COMMAND_TABLE(COMMAND_ROW)
#undef COMMAND_ROW
};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* ---- creation ---- */

/* For COMMAND INFO and COMMAND DOCS. */
static void describe(RedisModuleCommand *command, int i) {
    static const module_info_version version = {1, 2 * sizeof(char *), sizeof(module_key_spec),
                                                sizeof(module_argument)};
    const RedisModuleCommandInfo info = {
        .version = &version,
        .summary = commands[i].summary,
        .complexity = commands[i].complexity,
        .since = commands[i].since,
        .arity = commands[i].arity,
        .key_specs = accesses[commands[i].access].keys,
        .args = commands[i].arguments,
    };
    server.SetCommandInfo(command, &info);
}

/* The categories of RedisBloom are `bloom` and `cuckoo`. A server without categories of modules has the
 * others alone. */
static void set_acl_categories(RedisModuleCommand *command, int i) {
    char names[40];
    const char family = commands[i].name[0];
    const char *own = !server.AddACLCategory || family == 't' ? "" : family == 'b' ? " bloom" : " cuckoo";
    snprintf(names, sizeof names, "%s%s", accesses[commands[i].access].acl_categories, own);
    server.SetCommandACLCategories(command, names);
}

bool commands_has_family(const char *name) {
    const bool is_window = name[0] == 't';
    return settings.commands == MODULE_COMMANDS_ALL ||
           is_window == (settings.commands == MODULE_COMMANDS_WINDOWS);
}

bool commands_create(RedisModuleCtx *ctx) {
    if (server.AddACLCategory && commands_has_family("bf.")) {
        server.AddACLCategory(ctx, "bloom");
        server.AddACLCategory(ctx, "cuckoo");
    }
    for (int i = 0; i < COMMANDS; i++) {
        const command_access access = commands[i].access;
        if (!commands_has_family(commands[i].name))
            continue;
        if (server.CreateCommand(ctx, commands[i].name, commands[i].run, accesses[access].flags, 1,
                                 access == MERGE ? -1 : 1, 1) != MODULE_OK) {
            server.Log(ctx, "warning", "tamis: the server has %s already; " MODULE_ADVICE, commands[i].name);
            return false;
        }
        RedisModuleCommand *command = server.GetCommand ? server.GetCommand(ctx, commands[i].name) : NULL;
        if (command && server.SetCommandInfo)
            describe(command, i);
        if (command && server.SetCommandACLCategories)
            set_acl_categories(command, i);
    }
    return true;
}
