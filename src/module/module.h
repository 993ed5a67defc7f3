/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_MODULE_MODULE_H
#define TAMIS_MODULE_MODULE_H

/*
 * The Redis module: the commands BF.* and CF.* and the types of RedisBloom, on tamis_redisbloom and
 * tamis_redisbloom_cuckoo.
 *
 *     module_main.c                     loading
 *     module_commands.c                 the table of commands, COMMAND INFO and COMMAND DOCS
 *     module_settings.c                 settings: arguments of the module, CONFIG SET
 *     module_storage.c                  memory of filters, fields of RDB files
 *     bloom_write.c, cuckoo_write.c     commands that change a filter, and what they send to replicas
 *     bloom_read.c, cuckoo_read.c       commands that only read
 *     bloom_type.c, cuckoo_type.c       the types: RDB, AOF, digest, copies
 *
 * The key of a filter has one of two types. `MBbloom--`, or `MBbloomCF` for a cuckoo filter, is a filter in
 * RedisBloom's format. While BF.LOADCHUNK or CF.LOADCHUNK loads a filter, its key has the type `TAMISload` or
 * `TAMISloCF`. No command sees a filter with missing bits, but the key is saved, replicated and copied. With
 * its last chunk the key becomes a filter.
 */
#include <tamis/compat/redisbloom.h>
#include <tamis/compat/redisbloom_cuckoo.h>

#include "module/module_api.h"

/* The value of a key of type `MBbloom--` or `TAMISload`. The filter moves to the other type with its last
 * chunk. */
typedef struct bloom_value {
    tamis_redisbloom *filter;
} bloom_value;

/* Sizes of a filter that a command creates without naming them. */
typedef struct module_settings {
    double rate;                     /* bf-error-rate */
    long long capacity;              /* bf-initial-size */
    long long expansion;             /* bf-expansion-factor; 0: nonscaling */
    long long cuckoo_capacity;       /* cf-initial-size */
    long long cuckoo_bucket_size;    /* cf-bucket-size */
    long long cuckoo_max_iterations; /* cf-max-iterations */
    long long cuckoo_expansion;      /* cf-expansion-factor; 0: a filter does not grow */
    long long cuckoo_max_tables; /* cf-max-expansions: a filter with as many tables refuses clients' adds */
} module_settings;

extern module_settings settings;

enum { MODULE_EXPANSION_MAX = 32768 }; /* of cuckoo filters too */
#define MODULE_CAPACITY_MAX (1LL << 30)
enum { CUCKOO_BUCKET_MAX = 255, CUCKOO_ITERATIONS_MAX = 65535, CUCKOO_TABLES_MAX = 65536 };
#define BLOOM_RATE_MAX 0.25 /* larger rates count as this one */

/* ---- module_settings.c ---- */

/* Reads the arguments of the module. False: the log says what is wrong. */
bool settings_parse(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
/* Makes the settings known to CONFIG GET and CONFIG SET, where the server has them for modules. */
bool settings_register(RedisModuleCtx *ctx);

/* ---- module_storage.c ---- */

typedef enum filter_key_state {
    FILTER_KEY_EMPTY,
    FILTER_KEY_FILTER,
    FILTER_KEY_INCOMPLETE, /* chunks of it are missing */
    FILTER_KEY_OTHER       /* another type */
} filter_key_state;

/* Allocates from the server, so that its used_memory has every byte of a filter. */
const tamis_allocator *module_allocator(void);
/* True if a filter of so many bytes, which is allocated already, does not fit into maxmemory. The server would
 * then refuse every further write, or evict the filter at once. Where keys are evicted, smaller filters fit.
 * What comes from the primary or from the AOF always fits. */
bool module_exceeds_memory(RedisModuleCtx *ctx, uint64_t bytes);
/* Returns the state of an open key. `filter` and `incomplete` are the two types of a sort of filters. */
filter_key_state module_key_state(RedisModuleKey *key, const RedisModuleType *filter,
                                  const RedisModuleType *incomplete);
/* Replies that `command` has loaded only some of a filter's bytes. */
int module_reply_incomplete(RedisModuleCtx *ctx, const char *command, uint64_t loaded, uint64_t bytes);
/* Replaces the value of a key by one of another type. Keeps the time at which it expires. */
void module_key_replace(RedisModuleKey *key, RedisModuleType *type, void *value);
/* Fields of an RDB file or a payload. */
tamis_redisbloom_sink module_sink(RedisModuleIO *io);
tamis_redisbloom_source module_source(RedisModuleIO *io);
/* Load the next field. False, NULL: there is none. The caller frees the bytes with server.Free. */
bool module_load_number(void *io, uint64_t *value);
void *module_load_bytes(void *io, size_t *size);

/* ---- bloom_type.c ---- */

/* Creates both types. False: the server refused one. */
bool bloom_types_create(RedisModuleCtx *ctx);
/* Makes a value of a filter, which becomes the value's. */
bloom_value *bloom_value_create(tamis_redisbloom *filter);

/* A key that a command has opened. */
typedef struct bloom_key {
    RedisModuleKey *key; /* NULL: opened for reading and empty */
    filter_key_state state;
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

/* ---- cuckoo_type.c ---- */

/* The value of a key of either type of cuckoo filters. */
typedef struct cuckoo_value {
    tamis_redisbloom_cuckoo *filter;
} cuckoo_value;

/* A key that a CF command has opened. Its states are those of bloom_key. */
typedef struct cuckoo_key {
    RedisModuleKey *key; /* NULL: opened for reading and empty */
    filter_key_state state;
    tamis_redisbloom_cuckoo *filter; /* NULL: neither a filter nor incomplete */
} cuckoo_key;

/* These work as those of Bloom filters. */
bool cuckoo_types_create(RedisModuleCtx *ctx);
cuckoo_key cuckoo_key_open(RedisModuleCtx *ctx, RedisModuleString *name, int mode);
void cuckoo_key_close(cuckoo_key *key);
void cuckoo_key_set(cuckoo_key *key, tamis_redisbloom_cuckoo *filter);
void cuckoo_key_complete(cuckoo_key *key);
/* Replies why the key is not a filter. The reply is `other` if it is empty or has another type. If `other`
 * is NULL, it is what BF commands reply then. */
int cuckoo_key_refuse(RedisModuleCtx *ctx, const cuckoo_key *key, const char *other);

/* ---- module_main.c ---- */

/* Replies with true or false: a boolean in RESP3, 1 or 0 in RESP2. */
void reply_bool(RedisModuleCtx *ctx, bool value);
/* True if an argument is this word, in any case. */
bool is_word(const RedisModuleString *argument, const char *word);

/* ---- module_commands.c ---- */

/* Creates all commands. False: the log says why. */
bool commands_create(RedisModuleCtx *ctx);

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

int cuckoo_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_addnx(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_insertnx(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_del(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_compact(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_count(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cuckoo_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
