/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_MODULE_MODULE_API_H
#define TAMIS_MODULE_MODULE_API_H

/*
 * The functions of the server that the module uses. They are declared here, since no package of the server
 * has its header for modules.
 *
 * The first pointer of a context is a function that finds the others by name. All are looked up when the
 * module is loaded, and kept in `server`. If a required one is missing, the module is not loaded. An optional
 * one is NULL on older servers.
 *
 * Numbers and layouts here are part of the server's binary interface, which has not changed since Redis 4.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleKey RedisModuleKey;
typedef struct RedisModuleString RedisModuleString;
typedef struct RedisModuleIO RedisModuleIO;
typedef struct RedisModuleType RedisModuleType;
typedef struct RedisModuleDigest RedisModuleDigest;
typedef struct RedisModuleServerInfoData RedisModuleServerInfoData;
typedef struct RedisModuleDefragCtx RedisModuleDefragCtx;

typedef int (*RedisModuleCmdFunc)(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

enum {
    MODULE_OK = 0,
    MODULE_ERR = 1,
    MODULE_API_VERSION = 1,
    MODULE_READ = 1, /* modes of OpenKey */
    MODULE_WRITE = 2,
    MODULE_KEY_EMPTY = 0, /* answers of KeyType */
    MODULE_KEY_MODULE = 6,
    MODULE_NO_EXPIRE = -1,
    MODULE_POSTPONED_LENGTH = -1, /* for ReplyWithArray: ReplySetArrayLength follows */
    MODULE_HANDLE_IO_ERRORS = 1,  /* for SetModuleOptions: rdb_load checks IsIOError */
    MODULE_UNPREFIXED = 1 << 9    /* for RegisterStringConfig: the name is whole as it is given */
};
/* Flags of GetContextFlags. */
#define MODULE_FLAG_REPLICATED (1 << 12) /* the command came from the primary */
#define MODULE_FLAG_LOADING    (1 << 13) /* the command came from the AOF */
#define MODULE_FLAG_RESP3      (1 << 22) /* the client speaks RESP3 */

#define MODULE_WRONG_TYPE "WRONGTYPE Operation against a key holding the wrong kind of value"

/* Functions of a data type. Version 3, from Redis 6.2 on. */
typedef struct RedisModuleTypeMethods {
    uint64_t version;
    void *(*rdb_load)(RedisModuleIO *io, int encoding_version);
    void (*rdb_save)(RedisModuleIO *io, void *value);
    void (*aof_rewrite)(RedisModuleIO *aof, RedisModuleString *key, void *value);
    size_t (*mem_usage)(const void *value);
    void (*digest)(RedisModuleDigest *digest, void *value);
    void (*free)(void *value);
    int (*aux_load)(RedisModuleIO *io, int encoding_version, int when);
    void (*aux_save)(RedisModuleIO *io, int when);
    int aux_save_triggers;
    size_t (*free_effort)(RedisModuleString *key, const void *value);
    void (*unlink)(RedisModuleString *key, const void *value);
    void *(*copy)(RedisModuleString *from, RedisModuleString *to, const void *value);
    int (*defrag)(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value);
} RedisModuleTypeMethods;
enum { MODULE_TYPE_METHODS_VERSION = 3 };

typedef struct RedisModuleCommand RedisModuleCommand;

/* Where a command has its keys, and what it does with them. A list ends with an element of zeros. */
typedef struct module_key_spec {
    const char *notes;
    uint64_t flags;   /* MODULE_KEY_* */
    int begin_search; /* MODULE_BEGIN_INDEX */
    union {
        int index; /* number of the first key among the arguments */
        struct {   /* for another search, which is not used here */
            const char *keyword;
            int start;
        } word;
    } begin;
    int find_keys;                 /* MODULE_FIND_RANGE */
    int last_key, key_step, limit; /* of the range, relative to the first key */
} module_key_spec;
enum { MODULE_BEGIN_INDEX = 2, MODULE_FIND_RANGE = 2 };
enum { /* flags of a key: one of the first two; ACLs follow from the others */
       MODULE_KEY_RO = 1 << 0,
       MODULE_KEY_RW = 1 << 1,
       MODULE_KEY_ACCESS = 1 << 4,
       MODULE_KEY_UPDATE = 1 << 5,
       MODULE_KEY_INSERT = 1 << 6,
       MODULE_KEY_DELETE = 1 << 7
};

/* An argument of a command. A list ends with an element of zeros. */
typedef struct module_argument {
    const char *name;
    int type;          /* MODULE_ARGUMENT_* */
    int key_spec;      /* of a key: its number in the list of module_key_spec */
    const char *token; /* the word before the value; of a pure token the word itself */
    const char *summary, *since;
    int flags; /* MODULE_ARGUMENT_OPTIONAL, MODULE_ARGUMENT_MULTIPLE */
    const char *deprecated_since;
    const struct module_argument *choices; /* of MODULE_ARGUMENT_ONE_OF */
    const char *display_text;
} module_argument;
enum {
    MODULE_ARGUMENT_STRING = 0,
    MODULE_ARGUMENT_INTEGER = 1,
    MODULE_ARGUMENT_DOUBLE = 2,
    MODULE_ARGUMENT_KEY = 3,
    MODULE_ARGUMENT_PURE_TOKEN = 6,
    MODULE_ARGUMENT_ONE_OF = 7
};
enum { MODULE_ARGUMENT_OPTIONAL = 1 << 0, MODULE_ARGUMENT_MULTIPLE = 1 << 1 };

typedef struct module_info_version {
    int version; /* 1 */
    size_t history_size, key_spec_size, argument_size;
} module_info_version;

/* What COMMAND INFO and COMMAND DOCS report, from Redis 7 on. The sizes in the version are those of the
 * structs behind `history`, which stays NULL here, `key_specs` and `args`. */
typedef struct RedisModuleCommandInfo {
    const module_info_version *version;
    const char *summary, *complexity, *since;
    const void *history;
    const char *tips;
    int arity; /* number of arguments with the name; -N: at least N */
    const module_key_spec *key_specs;
    const module_argument *args;
} RedisModuleCommandInfo;

/* X(required, result, name, parameters) */
#define MODULE_API_TABLE(X)                                                                                  \
    X(1, int, SetModuleAttribs, (RedisModuleCtx *, const char *name, int version, int api_version))          \
    X(1, int, IsModuleNameBusy, (const char *name))                                                          \
    X(1, int, CreateCommand,                                                                                 \
      (RedisModuleCtx *, const char *name, RedisModuleCmdFunc function, const char *flags, int first_key,    \
       int last_key, int key_step))                                                                          \
    X(0, RedisModuleCommand *, GetCommand, (RedisModuleCtx *, const char *name))                             \
    X(0, int, SetCommandInfo, (RedisModuleCommand *, const RedisModuleCommandInfo *))                        \
    X(0, int, AddACLCategory, (RedisModuleCtx *, const char *name))                                          \
    X(0, int, SetCommandACLCategories, (RedisModuleCommand *, const char *names))                            \
    X(1, RedisModuleType *, CreateDataType,                                                                  \
      (RedisModuleCtx *, const char *name, int encoding_version, RedisModuleTypeMethods *))                  \
    X(1, void, SetModuleOptions, (RedisModuleCtx *, int options))                                            \
    X(1, long long, Milliseconds, (void))                                                                    \
    X(1, void, Log, (RedisModuleCtx *, const char *level, const char *format, ...))                          \
    X(1, int, GetContextFlags, (RedisModuleCtx *))                                                           \
    X(0, int, RegisterStringConfig,                                                                          \
      (RedisModuleCtx *, const char *name, const char *value, unsigned flags,                                \
       RedisModuleString *(*get)(const char *, void *),                                                      \
       int (*set)(const char *, RedisModuleString *, void *, RedisModuleString **),                          \
       int (*apply)(RedisModuleCtx *, void *, RedisModuleString **), void *context))                         \
    X(0, int, LoadConfigs, (RedisModuleCtx *))                                                               \
    X(0, int, LoadDefaultConfigs, (RedisModuleCtx *)) /* is not called; Redis 8 and newer have it */         \
    X(1, RedisModuleString *, CreateString, (RedisModuleCtx *, const char *text, size_t size))               \
    X(1, void, FreeString, (RedisModuleCtx *, RedisModuleString *))                                          \
    /* memory */                                                                                             \
    X(1, void *, Alloc, (size_t bytes))                                                                      \
    X(1, void *, Calloc, (size_t count, size_t size))                                                        \
    X(1, void, Free, (void *))                                                                               \
    X(0, void *, TryAlloc, (size_t bytes))                                                                   \
    X(0, void *, TryCalloc, (size_t count, size_t size))                                                     \
    X(0, void *, DefragAlloc, (RedisModuleDefragCtx *, void *)) /* NULL: the block stays */                  \
    X(0, float, GetUsedMemoryRatio, (void))                     /* of maxmemory; 0: there is no limit */     \
    X(0, RedisModuleServerInfoData *, GetServerInfo, (RedisModuleCtx *, const char *section))                \
    X(0, const char *, ServerInfoGetFieldC, (RedisModuleServerInfoData *, const char *field))                \
    X(0, unsigned long long, ServerInfoGetFieldUnsigned,                                                     \
      (RedisModuleServerInfoData *, const char *field, int *error))                                          \
    X(0, void, FreeServerInfo, (RedisModuleCtx *, RedisModuleServerInfoData *))                              \
    /* keys */                                                                                               \
    X(1, void *, OpenKey, (RedisModuleCtx *, RedisModuleString * name, int mode))                            \
    X(1, void, CloseKey, (RedisModuleKey *))                                                                 \
    X(1, int, KeyType, (RedisModuleKey *))                                                                   \
    X(1, int, DeleteKey, (RedisModuleKey *))                                                                 \
    X(1, long long, GetExpire, (RedisModuleKey *))                                                           \
    X(1, int, SetExpire, (RedisModuleKey *, long long milliseconds))                                         \
    X(0, long long, GetAbsExpire, (RedisModuleKey *))                                                        \
    X(0, int, SetAbsExpire, (RedisModuleKey *, long long unix_milliseconds))                                 \
    X(1, RedisModuleType *, ModuleTypeGetType, (RedisModuleKey *))                                           \
    X(1, void *, ModuleTypeGetValue, (RedisModuleKey *))                                                     \
    X(1, int, ModuleTypeSetValue, (RedisModuleKey *, RedisModuleType *, void *value))                        \
    /* arguments and replies */                                                                              \
    X(1, const char *, StringPtrLen, (const RedisModuleString *, size_t *size))                              \
    X(1, int, StringToLongLong, (const RedisModuleString *, long long *))                                    \
    X(1, int, StringToDouble, (const RedisModuleString *, double *))                                         \
    X(1, int, WrongArity, (RedisModuleCtx *))                                                                \
    X(1, int, ReplyWithLongLong, (RedisModuleCtx *, long long))                                              \
    X(1, int, ReplyWithError, (RedisModuleCtx *, const char *text))                                          \
    X(1, int, ReplyWithSimpleString, (RedisModuleCtx *, const char *text))                                   \
    X(1, int, ReplyWithStringBuffer, (RedisModuleCtx *, const char *bytes, size_t size))                     \
    X(1, int, ReplyWithDouble, (RedisModuleCtx *, double))                                                   \
    X(1, int, ReplyWithNull, (RedisModuleCtx *))                                                             \
    X(1, int, ReplyWithArray, (RedisModuleCtx *, long count))                                                \
    X(1, void, ReplySetArrayLength, (RedisModuleCtx *, long count))                                          \
    X(0, int, ReplyWithBool, (RedisModuleCtx *, int))                                                        \
    X(0, int, ReplyWithMap, (RedisModuleCtx *, long pairs))                                                  \
    X(1, int, Replicate, (RedisModuleCtx *, const char *command, const char *format, ...))                   \
    X(1, int, ReplicateVerbatim, (RedisModuleCtx *))                                                         \
    /* files */                                                                                              \
    X(1, void, SaveUnsigned, (RedisModuleIO *, uint64_t))                                                    \
    X(1, uint64_t, LoadUnsigned, (RedisModuleIO *))                                                          \
    X(1, void, SaveDouble, (RedisModuleIO *, double))                                                        \
    X(1, double, LoadDouble, (RedisModuleIO *))                                                              \
    X(1, void, SaveStringBuffer, (RedisModuleIO *, const char *bytes, size_t size))                          \
    X(1, char *, LoadStringBuffer, (RedisModuleIO *, size_t * size))                                         \
    X(1, int, IsIOError, (RedisModuleIO *))                                                                  \
    X(1, void, LogIOError, (RedisModuleIO *, const char *level, const char *format, ...))                    \
    X(1, void, EmitAOF, (RedisModuleIO *, const char *command, const char *format, ...))                     \
    X(1, void, DigestAddStringBuffer, (RedisModuleDigest *, const char *bytes, size_t size))                 \
    X(1, void, DigestEndSequence, (RedisModuleDigest *))

typedef struct module_api {
#define MODULE_API_MEMBER(required, result, name, parameters) result(*name) parameters;
    MODULE_API_TABLE(MODULE_API_MEMBER)
#undef MODULE_API_MEMBER
} module_api;

/* The functions of this server. */
extern module_api server;

/* Looks all functions up. Returns the name of a required one that the server lacks, else NULL. */
const char *module_api_find(RedisModuleCtx *ctx);

#endif
