/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_MODULE_MODULE_H
#define TAMIS_MODULE_MODULE_H

/*
 * The Redis module: the commands BF.* and CF.* and the types of RedisBloom, on tamis_redisbloom and
 * tamis_redisbloom_cuckoo; and beyond them, filters and windows of the library, on tamis_filter.
 *
 *     module_main.c                     loading
 *     module_commands.c                 the table of commands, COMMAND INFO and COMMAND DOCS
 *     module_settings.c                 settings: arguments of the module, CONFIG SET
 *     module_storage.c                  memory of filters, fields of RDB files
 *     bloom_write.c, cuckoo_write.c     commands that change a filter, and what they send to replicas
 *     bloom_read.c, cuckoo_read.c       commands that only read
 *     bloom_type.c, cuckoo_type.c       the types: RDB, AOF, digest, copies
 *     bloom_create.c                    options of new Bloom filters: parsing, creation, what replicas get
 *     bloom_merge.c                     BF.MERGE
 *     native_type.c, native_image.c     the types of native filters; BF.LOADIMAGE, TW.LOADIMAGE
 *     window_commands.c                 the commands TW.*
 *
 * The key of a filter has one of two types. `MBbloom--`, or `MBbloomCF` for a cuckoo filter, is a filter in
 * RedisBloom's format. While BF.LOADCHUNK or CF.LOADCHUNK loads a filter, its key has the type `TAMISload` or
 * `TAMISloCF`. No command sees a filter with missing bits, but the key is saved, replicated and copied. With
 * its last chunk the key becomes a filter.
 *
 * Native filters are those of the library (tamis/filter.h). Their keys have the type `TAMISflt1`, or
 * `TAMISwin1` for windows. BF.RESERVE with KIND makes one of the first type, TW.RESERVE one of the second.
 */
#include <tamis/compat/redisbloom.h>
#include <tamis/compat/redisbloom_cuckoo.h>
#include <tamis/experimental/module_value.h>
#include <tamis/filter.h>

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
    long long fast;              /* bf-kind: 1 for `fast`, 0 for `compatible` */
    long long strict;            /* strict: 1: unknown options of a command are errors */
    long long commands;          /* commands: one of module_commands */
} module_settings;

/* The commands that the module registers. */
enum module_commands { MODULE_COMMANDS_ALL, MODULE_COMMANDS_FILTERS, MODULE_COMMANDS_WINDOWS };

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
/* An option of a command. A list ends with an element of zeros. */
typedef struct module_option {
    const char *word;
    int values; /* arguments that follow it: 0, 1 or MODULE_ALL_VALUES */
} module_option;
enum { MODULE_ALL_VALUES = 1 << 30 }; /* of ITEMS: no option comes behind it */

/* Checks the options of a command, if the setting `strict` says so. Returns the error, or NULL: `unknown` for
 * a word that is not in the list, another one for an option that is given twice. A command from the primary
 * or from the AOF is accepted as it is. */
const char *settings_check_options(RedisModuleCtx *ctx, const module_option *options,
                                   RedisModuleString **words, int count, const char *unknown);

/* ---- module_storage.c ---- */

/* Items of a command: some of its arguments. */
typedef struct item_list {
    RedisModuleString **items;
    size_t count;
    bool single; /* the reply is one answer, not an array */
    bool absent; /* CF.ADDNX, CF.INSERTNX: add only items that are absent */
} item_list;

/* Sets `count` keys to the bytes of as many arguments, which keep owning them. */
void module_item_keys(tamis_key *keys, RedisModuleString **items, size_t count);

typedef enum filter_key_state {
    FILTER_KEY_EMPTY,
    FILTER_KEY_FILTER,
    FILTER_KEY_INCOMPLETE, /* chunks of it are missing */
    FILTER_KEY_OTHER       /* another type */
} filter_key_state;

/* Allocates from the server, so that its used_memory has every byte of a filter. */
const tamis_allocator *module_allocator(void);
/* The same for native filters, whose lines are aligned to 64 bytes. */
const tamis_allocator *module_aligned_allocator(void);
/* True if a filter of so many bytes, which is allocated already, does not fit into maxmemory. The server
 * would then refuse every further write, or evict the filter at once. Where keys are evicted, smaller filters
 * fit. What comes from the primary or from the AOF always fits. */
bool module_exceeds_memory(RedisModuleCtx *ctx, uint64_t bytes);
/* Likewise for a filter that is not allocated yet, of which a header is loaded. */
bool module_would_exceed_memory(RedisModuleCtx *ctx, uint64_t bytes);
/* Allocates bytes, which server.Free frees. NULL: there is no memory, where the server reports that. */
void *module_alloc_bytes(size_t size);
/* Moves a block of `module_allocator` to where it fragments the server's memory less. Returns its address, old
 * or new. `context` is that of a type's function `defrag`. */
void *module_defrag_block(void *context, void *block);
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

/* ---- native_type.c ---- */

/* The value of a key of type `TAMISflt1` or `TAMISwin1`. Either `filter` or `image` is set. */
typedef struct native_value {
    tamis_filter *filter; /* NULL: chunks of its image are missing */
    uint64_t added;       /* items that were absent when they were added */
    bool is_refusing;     /* an item was refused, since the filter was full */
    char *image;          /* the loaded bytes of the image */
    uint64_t image_size;  /* bytes of the whole image */
    uint64_t loaded;      /* bytes of it that are loaded */
    uint64_t allocated;   /* bytes allocated for them */
} native_value;

/* A type of native filters: the commands of one family use it. */
typedef struct native_type {
    tamis_module_type number;
    const char *load_command; /* loads a chunk of an image */
    RedisModuleType *type;
} native_type;

extern native_type native_filters, native_windows;

/* Creates a type. False: the server refused it. */
bool native_type_create(RedisModuleCtx *ctx, native_type *type);
/* Makes a value of a filter, which becomes the value's. */
native_value *native_value_create(tamis_filter *filter);
/* Sets an empty key to a filter, which becomes the key's. Returns the value. */
native_value *native_key_set(RedisModuleKey *key, const native_type *type, tamis_filter *filter);
/* Replaces the filter of a value by another one, which becomes the value's. */
void native_value_replace(native_value *value, tamis_filter *filter);
/* Returns the value of an open key, or NULL if it has another type. */
native_value *native_value_of(RedisModuleKey *key, const native_type *type);
/* Returns the bytes that a filter uses, without those of its handle. O(1). */
uint64_t native_memory(const native_value *value);
/* Returns the false-positive rate of a filter now. O(1). */
double native_live_rate(const native_value *value);

/* ---- native_image.c ---- */

/* Makes a filter of an image, with all checks. The error names what is wrong. */
tamis_status native_decode(tamis_filter **filter, const native_type *type, const void *image, size_t size,
                           tamis_error *err);
/* Returns the image of a filter, which the caller frees with server.Free. */
char *native_encode(const tamis_filter *filter, size_t *size);
/* Emits the commands that load a value. */
void native_rewrite(RedisModuleIO *aof, RedisModuleString *key, const native_type *type,
                    const native_value *value);

/* ---- bloom_type.c ---- */

/* Creates both types. False: the server refused one. */
bool bloom_types_create(RedisModuleCtx *ctx);
/* Makes a value of a filter, which becomes the value's. */
bloom_value *bloom_value_create(tamis_redisbloom *filter);

/* A key that a command has opened. */
typedef struct bloom_key {
    RedisModuleKey *key; /* NULL: opened for reading and empty */
    filter_key_state state;
    tamis_redisbloom *filter; /* a filter of RedisBloom's format, incomplete too; else NULL */
    native_value *native;     /* a native filter, incomplete too; else NULL */
} bloom_key;

/* Opens a key, in a mode of OpenKey. The caller closes it. */
bloom_key bloom_key_open(RedisModuleCtx *ctx, RedisModuleString *name, int mode);
void bloom_key_close(bloom_key *key);
/* Sets an empty key to a filter, which becomes the key's. It gets the type that suits the filter. */
void bloom_key_set(bloom_key *key, tamis_redisbloom *filter);
/* Replaces the filter of a key by another one, which becomes the key's. */
void bloom_key_replace(bloom_key *key, tamis_redisbloom *filter);
/* Makes an incomplete key whose last chunk has come a filter. Keeps its time to live. */
void bloom_key_complete(bloom_key *key);
/* Replies why the key is not a filter. */
int bloom_key_refuse(RedisModuleCtx *ctx, const bloom_key *key);

/* Adds items. answers[i] says whether item i was there before. On failure the first *done are added. */
tamis_status bloom_key_add(bloom_key *key, const tamis_key *items, size_t count, tamis_answer *answers,
                           size_t *done);
/* Looks items up. */
void bloom_key_look_up(const bloom_key *key, const tamis_key *items, size_t count, tamis_answer *answers);

/* Statistics of a filter of either sort. */
typedef struct bloom_statistics {
    uint64_t items, capacity, size, subfilters, expansion; /* expansion 0: nonscaling */
    double rate, live_rate; /* false-positive rate that was requested, and now */
    bool is_full;           /* refuses new items, or has more of them than its capacity */
    const char *kind;
} bloom_statistics;

bloom_statistics bloom_key_statistics(const bloom_key *key);

/* ---- bloom_create.c ---- */

/* How to make a filter. */
typedef struct bloom_creation {
    double rate;
    long long capacity;
    long long expansion;
    bool nonscaling;
    bool is_growing; /* kind fingerprint, without a capacity */
    bool must_grow;  /* EXPANSION above 0 was given */
    bool fast;       /* the kind is chosen by create */
    tamis_kind kind; /* AUTO: RedisBloom's format, unless `fast` */
} bloom_creation;

#define MODULE_GROWING "growing" /* name of kind fingerprint without a capacity */

/* The kind by settings is for clients: a replica, and a server that reads its AOF, follow what they get. */
bloom_creation bloom_creation_by_settings(RedisModuleCtx *ctx);
/* Creates a filter at an empty key, and sends the creation to replicas. False: the error is replied. */
bool bloom_create(RedisModuleCtx *ctx, bloom_key *key, RedisModuleString *name, bloom_creation how);
/* The arguments of BF.INSERT. */
typedef struct bloom_insertion {
    bloom_creation how; /* how to make the filter, if the key is empty */
    bool no_create;     /* an empty key is an error */
    int items;          /* number of the first item's argument; 0: arguments are missing */
} bloom_insertion;

/* Read the arguments of BF.RESERVE and BF.INSERT. Return the error, or NULL. `how` has the defaults. */
const char *bloom_parse_reserve(RedisModuleCtx *ctx, bloom_creation *how, RedisModuleString **argv, int argc);
const char *bloom_parse_insert(RedisModuleCtx *ctx, bloom_insertion *insertion, RedisModuleString **argv,
                               int argc);

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
/* True if the command is a client's, and came neither from the primary nor from the AOF. */
bool module_is_client(RedisModuleCtx *ctx);
/* True if an argument is this word, in any case. */
bool is_word(const RedisModuleString *argument, const char *word);
/* Returns the number of the first argument from `from` on that is this word, or 0. */
int find_word(RedisModuleString **argv, int argc, int from, const char *word);

/* ---- module_commands.c ---- */

/* Creates all commands. False: the log says why. */
bool commands_create(RedisModuleCtx *ctx);
/* True if the module has this family of commands: "bf.", "cf." or "tw.". */
bool commands_has_family(const char *name);
#define MODULE_ADVICE                                                                                        \
    "load tamis into a server without RedisBloom, or give it `commands tw` for TW commands alone"

/* ---- commands ---- */

int bloom_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_loadimage(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_merge(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_card(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bloom_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

int window_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int window_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int window_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int window_add_at(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int window_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int window_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int window_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int window_loadimage(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

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
