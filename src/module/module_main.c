/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading the module. */
#include <string.h>
#include <strings.h>

#include <tamis/version.h>

#include "module/module.h"

/* The name of RedisBloom's module: clients look for it in MODULE LIST, and both cannot be loaded at once.
 * With TW commands alone, the module has a name of its own. */
#define MODULE_NAME    "bf"
#define WINDOWS_NAME   "tamis"
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

bool module_is_client(RedisModuleCtx *ctx) {
    return !(server.GetContextFlags(ctx) & (MODULE_FLAG_REPLICATED | MODULE_FLAG_LOADING));
}

bool is_word(const RedisModuleString *argument, const char *word) {
    size_t size;
    const char *text = server.StringPtrLen(argument, &size);
    return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

int find_word(RedisModuleString **argv, int argc, int from, const char *word) {
    for (int i = from; i < argc; i++) {
        if (is_word(argv[i], word))
            return i;
    }
    return 0;
}

/* ---- loading ---- */

static bool create_types(RedisModuleCtx *ctx) {
    if (commands_has_family("tw.") && !native_type_create(ctx, &native_windows))
        return false;
    return !commands_has_family("bf.") ||
           (bloom_types_create(ctx) && cuckoo_types_create(ctx) && native_type_create(ctx, &native_filters));
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const char *missing = module_api_find(ctx);
    if (missing) {
        if (server.Log)
            server.Log(ctx, "warning", "tamis: the server lacks RedisModule_%s; use Redis 6.2 or newer",
                       missing);
        return MODULE_ERR;
    }
    if (!settings_parse(ctx, argv, argc))
        return MODULE_ERR;
    const char *name = settings.commands == MODULE_COMMANDS_WINDOWS ? WINDOWS_NAME : MODULE_NAME;
    if (server.IsModuleNameBusy(name)) {
        server.Log(ctx, "warning", "tamis: a module of the name %s is loaded already; " MODULE_ADVICE, name);
        return MODULE_ERR;
    }
    server.SetModuleAttribs(ctx, name, MODULE_VERSION, MODULE_API_VERSION);
    if (!commands_create(ctx))
        return MODULE_ERR;
    if (!create_types(ctx)) {
        server.Log(ctx, "warning", "tamis: the server refused a data type; use Redis 6.2 or newer");
        return MODULE_ERR;
    }
    server.SetModuleOptions(ctx, MODULE_HANDLE_IO_ERRORS);
    if (settings.commands != MODULE_COMMANDS_WINDOWS && !settings_register(ctx)) {
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
