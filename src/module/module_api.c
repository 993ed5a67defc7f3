/* SPDX-License-Identifier: BSD-2-Clause */
#include "module/module_api.h"

#include <string.h>

module_api server;

const char *module_api_find(RedisModuleCtx *ctx) {
    int (*get)(const char *name, void *function);
    memcpy(&get, (const void *)ctx, sizeof get); /* the first pointer of the context */
#define MODULE_API_FIND(required, result, name, parameters)                                                  \
    if (get("RedisModule_" #name, &server.name) != MODULE_OK) {                                              \
        server.name = NULL;                                                                                  \
        if (required)                                                                                        \
            return #name;                                                                                    \
    }
    MODULE_API_TABLE(MODULE_API_FIND)
#undef MODULE_API_FIND
    return NULL;
}
