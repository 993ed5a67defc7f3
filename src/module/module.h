/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_MODULE_MODULE_H
#define TAMIS_MODULE_MODULE_H

/*
 * The Redis module: the commands BF.* and the type of RedisBloom, on tamis_redisbloom.
 *
 *     module_main.c     loading: functions of the server, settings, the table of commands
 *     bloom_write.c     commands that change a filter, and what they send to replicas and to the AOF
 *     bloom_read.c      commands that only read
 *     bloom_type.c      the types: RDB, AOF, digest, copies, memory
 *
 * A key has one of two types. `MBbloom--` is a filter, in RedisBloom's format. While BF.LOADCHUNK loads a
 * filter, its key has the type `TAMISload`: no command sees a filter with missing bits, but the key is saved,
 * replicated and copied. With its last chunk the key becomes `MBbloom--`.
 */
#include <tamis/compat/redisbloom.h>

#include "module/module_api.h"

/* The value of a key of either type. The filter moves from one type to the other. */
typedef struct bloom_value {
    tamis_redisbloom *filter;
} bloom_value;

/* Sizes of a filter that a command creates without naming them. */
typedef struct module_settings {
    double rate;         /* bf-error-rate */
    long long capacity;  /* bf-initial-size */
    long long expansion; /* bf-expansion-factor; 0: nonscaling */
} module_settings;

extern module_settings settings;

enum { BLOOM_EXPANSION_MAX = 32768 };
#define BLOOM_CAPACITY_MAX (1LL << 30)
#define BLOOM_RATE_MAX     0.25 /* larger rates count as this one */

/* ---- bloom_type.c ---- */

/* Creates both types. False: the server refused one. */
bool bloom_types_create(RedisModuleCtx *ctx);
/* Allocates from the server, so that its used_memory has every byte of a filter. */
const tamis_allocator *module_allocator(void);
/* Makes a value of a filter, which becomes the value's. */
bloom_value *bloom_value_create(tamis_redisbloom *filter);

typedef enum bloom_key_state {
    BLOOM_KEY_EMPTY,
    BLOOM_KEY_FILTER,
    BLOOM_KEY_INCOMPLETE, /* chunks of it are missing */
    BLOOM_KEY_OTHER       /* another type */
} bloom_key_state;

/* A key that a command has opened. */
typedef struct bloom_key {
    RedisModuleKey *key; /* NULL: opened for reading and empty */
    bloom_key_state state;
    tamis_redisbloom *filter; /* NULL: neither a filter nor incomplete */
} bloom_key;

/* Opens a key, in a mode of OpenKey. The caller closes it. */
bloom_key bloom_key_open(RedisModuleCtx *ctx, RedisModuleString *name, int mode);
void bloom_key_close(bloom_key *key);
/* Sets an empty key to a filter, which becomes the key's. It gets the type that suits the filter. */
void bloom_key_set(bloom_key *key, tamis_redisbloom *filter);
/* Makes an incomplete key whose last chunk has come a filter. Keeps its time to live. */
void bloom_key_complete(bloom_key *key);
/* Replies why the key is not a filter. */
int bloom_key_refuse(RedisModuleCtx *ctx, const bloom_key *key);

/* ---- module_main.c ---- */

/* Replies with true or false: a boolean in RESP3, 1 or 0 in RESP2. */
void reply_bool(RedisModuleCtx *ctx, bool value);
/* True if an argument is this word, in any case. */
bool is_word(const RedisModuleString *argument, const char *word);

/* ---- commands ---- */

int bloom_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_card(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
