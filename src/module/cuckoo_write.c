/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands CF.* that change a filter. Replies and errors are those of RedisBloom.
 *
 * Replication, as in bloom_write.c: a command whose result depends on settings is sent on in another form.
 * Adds and removals that changed nothing are not sent.
 *
 *     command                           is sent as
 *     CF.RESERVE                        CF.RESERVE with all options
 *     CF.ADD, CF.ADDNX                  CF.RESERVE if it made the filter; CF.ADD if the item was added
 *     CF.INSERT, CF.INSERTNX            CF.RESERVE likewise; CF.INSERT NOCREATE of the items that were added
 *     CF.DEL, CF.COMPACT, CF.LOADCHUNK  as it is
 *
 * The limit cf-max-expansions holds for clients. A replica and a server that reads its AOF ignore theirs, so
 * that they follow the primary.
 */
#include <ctype.h>
#include <stdio.h>

#include "module/module.h"

enum { BATCH = 256 };

/* How to make a filter. */
typedef struct creation {
    long long capacity, bucket_size, max_iterations, expansion;
} creation;

static creation creation_by_settings(void) {
    return (creation){.capacity = settings.cuckoo_capacity,
                      .bucket_size = settings.cuckoo_bucket_size,
                      .max_iterations = settings.cuckoo_max_iterations,
                      .expansion = settings.cuckoo_expansion};
}

/* ---- creation ---- */

/* Creates a filter at an empty key, here and on replicas. False: the error is replied. */
static bool create(RedisModuleCtx *ctx, cuckoo_key *key, RedisModuleString *name, const creation *how) {
    tamis_redisbloom_cuckoo_options options = TAMIS_REDISBLOOM_CUCKOO_OPTIONS_INIT;
    options.capacity = (uint64_t)how->capacity;
    options.bucket_size = (uint32_t)how->bucket_size;
    options.max_iterations = (uint32_t)how->max_iterations;
    options.expansion = (uint32_t)how->expansion;
    options.allocator = module_allocator();
    tamis_redisbloom_cuckoo *filter = NULL;
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    tamis_status status = tamis_redisbloom_cuckoo_create(&filter, &options, NULL);
    if (status == TAMIS_OK)
        status = tamis_redisbloom_cuckoo_info_get(filter, &info, NULL);
    if (status == TAMIS_OK && module_exceeds_memory(ctx, info.memory))
        status = TAMIS_E_NOMEM;
    if (status != TAMIS_OK) {
        tamis_redisbloom_cuckoo_free(filter);
        server.ReplyWithError(ctx, status == TAMIS_E_NOMEM ? "ERR Insufficient memory to create filter"
                                                           : "ERR Could not create filter");
        return false;
    }
    cuckoo_key_set(key, filter);
    server.Replicate(ctx, "CF.RESERVE", "slclclcl", name, how->capacity, "BUCKETSIZE", how->bucket_size,
                     "MAXITERATIONS", how->max_iterations, "EXPANSION", how->expansion);
    return true;
}

/* Reads the arguments of CF.RESERVE. Returns the error, or NULL. Unknown words are ignored, as in
 * RedisBloom. */
static const char *parse_reserve(RedisModuleCtx *ctx, creation *how, RedisModuleString **argv, int argc) {
    static const module_option known[] = {
        {"BUCKETSIZE", 1}, {"MAXITERATIONS", 1}, {"EXPANSION", 1}, {NULL, 0}};
    const struct {
        const char *word;
        long long *value, min, max;
        const char *unreadable, *outside;
    } options[] = {
        {"MAXITERATIONS", &how->max_iterations, 1, CUCKOO_ITERATIONS_MAX, "Couldn't parse MAXITERATIONS",
         "MAXITERATIONS: value must be in the range [1, 65535]"},
        {"BUCKETSIZE", &how->bucket_size, 1, CUCKOO_BUCKET_MAX, "Couldn't parse BUCKETSIZE",
         "BUCKETSIZE: value must be in the range [1, 255]"},
        {"EXPANSION", &how->expansion, 0, MODULE_EXPANSION_MAX, "Couldn't parse EXPANSION",
         "EXPANSION: value must be in the range [0, 32768]"},
    };
    if (server.StringToLongLong(argv[2], &how->capacity) != MODULE_OK)
        return "Bad capacity";
    const char *error =
        settings_check_options(ctx, known, argv + 3, argc - 3,
                               "ERR unknown option; expected BUCKETSIZE, MAXITERATIONS or EXPANSION");
    if (error)
        return error;
    for (size_t option = 0; option < sizeof options / sizeof *options; option++) {
        const int i = find_word(argv, argc - 1, 3, options[option].word);
        if (!i)
            continue;
        long long value;
        if (server.StringToLongLong(argv[i + 1], &value) != MODULE_OK)
            return options[option].unreadable;
        if (value < options[option].min || value > options[option].max)
            return options[option].outside;
        *options[option].value = value;
    }
    return how->capacity < 2 * how->bucket_size || how->capacity > MODULE_CAPACITY_MAX
               ? "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"
               : NULL;
}

int cuckoo_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    creation how = creation_by_settings();
    if (argc % 2 == 0)
        return server.WrongArity(ctx);
    const char *error = parse_reserve(ctx, &how, argv, argc);
    if (error)
        return server.ReplyWithError(ctx, error);
    cuckoo_key key = cuckoo_key_open(ctx, argv[1], MODULE_READ | MODULE_WRITE);
    if (key.state == FILTER_KEY_OTHER)
        cuckoo_key_refuse(ctx, &key, NULL);
    else if (key.state != FILTER_KEY_EMPTY)
        server.ReplyWithError(ctx, "ERR item exists");
    else if (create(ctx, &key, argv[1], &how))
        server.ReplyWithSimpleString(ctx, "OK");
    cuckoo_key_close(&key);
    return MODULE_OK;
}

/* ---- items ---- */

/* True if the filter has as many tables as the settings allow. */
static bool has_all_tables(RedisModuleCtx *ctx, const cuckoo_key *key) {
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    if (!module_is_client(ctx))
        return false;
    info.tables = 1; /* of a filter that is to be made */
    if (key->filter)
        tamis_redisbloom_cuckoo_info_get(key->filter, &info, NULL);
    return info.tables >= (uint64_t)settings.cuckoo_max_tables;
}

/* Replies for an item of a list. In RESP3, CF.INSERT has true and false, and CF.INSERTNX numbers. */
static void reply_item(RedisModuleCtx *ctx, const item_list *list, tamis_status status, bool is_added) {
    const bool booleans = list->single || !list->absent;
    if (status == TAMIS_OK && booleans)
        reply_bool(ctx, is_added);
    else if (status == TAMIS_OK)
        server.ReplyWithLongLong(ctx, is_added);
    else if (list->single)
        server.ReplyWithError(ctx, status == TAMIS_E_FULL ? "Filter is full" : "ERR Insufficient memory");
    else if (booleans && server.GetContextFlags(ctx) & MODULE_FLAG_RESP3)
        reply_bool(ctx, false);
    else
        server.ReplyWithLongLong(ctx, -1);
}

/* Adds items and replies for each. An item that finds no slot does not stop the others. Returns the number of
 * items added, which are then first in `added`. */
static size_t add_items(RedisModuleCtx *ctx, tamis_redisbloom_cuckoo *filter, const item_list *list,
                        RedisModuleString **added) {
    size_t count = 0, replied = 0;
    if (!list->single)
        server.ReplyWithArray(ctx, (long)list->count);
    while (replied < list->count) {
        tamis_key items[BATCH];
        tamis_answer answers[BATCH] = {TAMIS_ABSENT}; /* as CF.INSERT adds all */
        size_t done = 0;
        const size_t batch = list->count - replied < BATCH ? list->count - replied : BATCH;
        module_item_keys(items, list->items + replied, batch);
        const tamis_status status =
            list->absent ? tamis_redisbloom_cuckoo_add_absent_many(filter, items, batch, answers, &done, NULL)
                         : tamis_redisbloom_cuckoo_add_many(filter, items, batch, &done, NULL);
        for (size_t i = 0; i < done; i++) {
            reply_item(ctx, list, TAMIS_OK, answers[i] == TAMIS_ABSENT);
            if (answers[i] == TAMIS_ABSENT)
                added[count++] = list->items[replied + i];
        }
        if (status != TAMIS_OK)
            reply_item(ctx, list, status, false);
        replied += done + (status != TAMIS_OK);
    }
    return count;
}

/* Adds items to a filter, which `how` makes if the key is empty. `how` NULL: an empty key is an error. */
static int add_to_key(RedisModuleCtx *ctx, RedisModuleString *name, const item_list *list,
                      const creation *how) {
    cuckoo_key key = cuckoo_key_open(ctx, name, MODULE_READ | MODULE_WRITE);
    const bool is_new = key.state == FILTER_KEY_EMPTY && how;
    if (key.state != FILTER_KEY_FILTER && !is_new) {
        cuckoo_key_refuse(ctx, &key, NULL);
    } else if (has_all_tables(ctx, &key)) {
        server.ReplyWithError(ctx, "Maximum expansions reached");
    } else if (!is_new || create(ctx, &key, name, how)) {
        RedisModuleString **added = server.Alloc(list->count * sizeof *added);
        const size_t count = add_items(ctx, key.filter, list, added);
        if (count && list->single)
            server.Replicate(ctx, "CF.ADD", "ss", name, added[0]);
        else if (count)
            server.Replicate(ctx, "CF.INSERT", "sccv", name, "NOCREATE", "ITEMS", added, count);
        server.Free(added);
    }
    cuckoo_key_close(&key);
    return MODULE_OK;
}

int cuckoo_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    const creation how = creation_by_settings();
    const item_list list = {.items = argv + 2, .count = 1, .single = true};
    return add_to_key(ctx, argv[1], &list, &how);
}

int cuckoo_addnx(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    const creation how = creation_by_settings();
    const item_list list = {.items = argv + 2, .count = 1, .single = true, .absent = true};
    return add_to_key(ctx, argv[1], &list, &how);
}

/* ---- CF.INSERT, CF.INSERTNX ---- */

/* The arguments of CF.INSERT and CF.INSERTNX. */
typedef struct insertion {
    creation how;   /* how to make the filter, if the key is empty */
    bool no_create; /* an empty key is an error */
    int items;      /* number of the first item's argument; 0: arguments are missing */
} insertion;

/* Reads the options; `how` has the defaults. The first letter of a word decides, as in RedisBloom. Returns the
 * error, or NULL. */
static const char *parse_insert(RedisModuleCtx *ctx, insertion *parsed, RedisModuleString **argv, int argc) {
    static const module_option options[] = {
        {"CAPACITY", 1}, {"NOCREATE", 0}, {"ITEMS", MODULE_ALL_VALUES}, {NULL, 0}};
    creation *how = &parsed->how;
    const char *error = settings_check_options(ctx, options, argv + 2, argc - 2, "Unknown argument received");
    if (error)
        return error;
    for (int i = 2; i < argc; i++) {
        size_t size;
        const char *word = server.StringPtrLen(argv[i], &size);
        switch (size ? tolower((unsigned char)*word) : 0) {
        case 'i':
            parsed->items = i + 1 < argc ? i + 1 : 0;
            return NULL;
        case 'n':
            parsed->no_create = true;
            break;
        case 'c':
            if (++i == argc)
                return NULL;
            if (server.StringToLongLong(argv[i], &how->capacity) != MODULE_OK)
                return "Bad capacity";
            if (how->capacity < 2 * how->bucket_size || how->capacity > MODULE_CAPACITY_MAX)
                return "Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
            break;
        default:
            return "Unknown argument received";
        }
    }
    return NULL;
}

static int insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool absent) {
    insertion parsed = {.how = creation_by_settings()};
    const char *error = parse_insert(ctx, &parsed, argv, argc);
    if (error)
        return server.ReplyWithError(ctx, error);
    if (!parsed.items)
        return server.WrongArity(ctx);
    const item_list list = {
        .items = argv + parsed.items, .count = (size_t)(argc - parsed.items), .absent = absent};
    return add_to_key(ctx, argv[1], &list, parsed.no_create ? NULL : &parsed.how);
}

int cuckoo_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return insert(ctx, argv, argc, false);
}

int cuckoo_insertnx(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return insert(ctx, argv, argc, true);
}

/* ---- removal ---- */

int cuckoo_del(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    cuckoo_key key = cuckoo_key_open(ctx, argv[1], MODULE_READ | MODULE_WRITE);
    if (key.state != FILTER_KEY_FILTER) {
        cuckoo_key_refuse(ctx, &key, "Not found");
    } else {
        size_t size;
        const char *item = server.StringPtrLen(argv[2], &size);
        tamis_answer answer = TAMIS_ABSENT;
        tamis_redisbloom_cuckoo_remove(key.filter, item, size, &answer, NULL);
        if (answer == TAMIS_PRESENT)
            server.ReplicateVerbatim(ctx);
        reply_bool(ctx, answer == TAMIS_PRESENT);
    }
    cuckoo_key_close(&key);
    return MODULE_OK;
}

int cuckoo_compact(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    cuckoo_key key = cuckoo_key_open(ctx, argv[1], MODULE_READ | MODULE_WRITE);
    if (key.state != FILTER_KEY_FILTER) {
        cuckoo_key_refuse(ctx, &key, "Cuckoo filter was not found");
    } else {
        tamis_redisbloom_cuckoo_compact(key.filter, NULL);
        server.ReplicateVerbatim(ctx);
        server.ReplyWithSimpleString(ctx, "OK");
    }
    cuckoo_key_close(&key);
    return MODULE_OK;
}

/* ---- CF.LOADCHUNK ---- */

/* True if the filter has this header. */
static bool has_header(const tamis_redisbloom_cuckoo *filter, const char *bytes) {
    char header[TAMIS_REDISBLOOM_CUCKOO_HEADER];
    tamis_redisbloom_cuckoo_header_write(filter, header);
    bool equal = true;
    for (size_t i = 0; i < sizeof header; i++)
        equal &= header[i] == bytes[i];
    return equal;
}

/* Loads a header. Once more into an incomplete filter is not an error: a client may repeat a call. Returns
 * the error, or NULL. */
static const char *load_header(RedisModuleCtx *ctx, cuckoo_key *key, const char *bytes, size_t size) {
    if (key->state == FILTER_KEY_FILTER)
        return "ERR item exists";
    if (size != TAMIS_REDISBLOOM_CUCKOO_HEADER)
        return "Invalid header";
    if (key->state == FILTER_KEY_INCOMPLETE)
        return has_header(key->filter, bytes) ? NULL : "ERR item exists";
    tamis_redisbloom_cuckoo *filter;
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    if (tamis_redisbloom_cuckoo_load_header(&filter, bytes, size, module_allocator(), NULL) != TAMIS_OK)
        return "Couldn't create filter!";
    tamis_redisbloom_cuckoo_info_get(filter, &info, NULL);
    if (module_would_exceed_memory(ctx, info.bytes)) {
        tamis_redisbloom_cuckoo_free(filter);
        return "ERR Insufficient memory to create filter";
    }
    cuckoo_key_set(key, filter);
    return NULL;
}

static const char *load_chunk(cuckoo_key *key, long long position, const char *bytes, size_t size) {
    if (position < 0 ||
        tamis_redisbloom_cuckoo_load_chunk(key->filter, (uint64_t)position, bytes, size, NULL) != TAMIS_OK)
        return "Couldn't load chunk!";
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    tamis_redisbloom_cuckoo_info_get(key->filter, &info, NULL);
    if (key->state == FILTER_KEY_INCOMPLETE && info.complete)
        cuckoo_key_complete(key);
    return NULL;
}

int cuckoo_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    long long position;
    if (server.StringToLongLong(argv[2], &position) != MODULE_OK || position == 0)
        return server.ReplyWithError(ctx, "Invalid position");
    size_t size;
    const char *bytes = server.StringPtrLen(argv[3], &size);
    cuckoo_key key = cuckoo_key_open(ctx, argv[1], MODULE_READ | MODULE_WRITE);
    if (key.state == FILTER_KEY_OTHER || (key.state == FILTER_KEY_EMPTY && position != 1)) {
        cuckoo_key_refuse(ctx, &key, NULL);
        cuckoo_key_close(&key);
        return MODULE_OK;
    }
    const char *error =
        position == 1 ? load_header(ctx, &key, bytes, size) : load_chunk(&key, position, bytes, size);
    cuckoo_key_close(&key);
    if (error)
        return server.ReplyWithError(ctx, error);
    server.ReplicateVerbatim(ctx);
    return server.ReplyWithSimpleString(ctx, "OK");
}
