/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading the module. */
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
    if (!settings_parse(ctx, argv, argc) || !commands_create(ctx))
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
