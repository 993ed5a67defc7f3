/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands BF.* that change a filter. Replies and errors are those of RedisBloom.
 *
 * Replication. A replica, and a server that reads the AOF, may have other settings. So a command whose
 * result depends on settings is sent on in another form. Adds that changed nothing are not sent:
 *
 *     command                        is sent as
 *     BF.RESERVE                     BF.RESERVE with EXPANSION or NONSCALING, whatever the client gave
 *     BF.ADD, BF.MADD, BF.INSERT     BF.RESERVE if it made the filter; BF.ADD or BF.MADD of its items, up to
 *                                    the one that failed, if any was absent
 *     BF.LOADCHUNK                   as it is
 *
 * The rest follows from the filter alone, which both sides have.
 */
#include <ctype.h>
#include <stdio.h>

#include "module/module.h"

enum { BATCH = 256, TEXT = 32 };

/* How to make a filter. */
typedef struct creation {
    double rate;
    long long capacity;
    long long expansion;
    bool nonscaling;
} creation;

static creation creation_by_settings(void) {
    return (creation){settings.rate, settings.capacity, settings.expansion, settings.expansion == 0};
}

/* ---- creation ---- */

static int reply_full(RedisModuleCtx *ctx, tamis_status status) {
    return server.ReplyWithError(ctx, status == TAMIS_E_FULL ? "ERR non scaling filter is full"
                                                             : "ERR problem inserting into filter");
}

/* Creates a filter at an empty key. False: the error is replied. */
static bool create(RedisModuleCtx *ctx, bloom_key *key, const creation *how) {
    tamis_redisbloom_options options = TAMIS_REDISBLOOM_OPTIONS_INIT;
    options.rate = how->rate > BLOOM_RATE_MAX ? BLOOM_RATE_MAX : how->rate;
    options.capacity = (uint64_t)how->capacity;
    options.expansion = (uint32_t)how->expansion;
    options.nonscaling = how->nonscaling;
    options.allocator = module_allocator();
    tamis_redisbloom *filter = NULL;
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    tamis_status status = tamis_redisbloom_create(&filter, &options, NULL);
    if (status == TAMIS_OK)
        status = tamis_redisbloom_info_get(filter, &info, NULL);
    if (status == TAMIS_OK && module_exceeds_memory(ctx, info.memory))
        status = TAMIS_E_NOMEM;
    if (status != TAMIS_OK) {
        tamis_redisbloom_free(filter);
        server.ReplyWithError(ctx, status == TAMIS_E_NOMEM ? "ERR Insufficient memory to create filter"
                                                           : "ERR could not create filter");
        return false;
    }
    bloom_key_set(key, filter);
    return true;
}

static void replicate_creation(RedisModuleCtx *ctx, RedisModuleString *name, const creation *how) {
    char rate[TEXT];
    snprintf(rate, sizeof rate, "%.17g", how->rate);
    if (how->nonscaling)
        server.Replicate(ctx, "BF.RESERVE", "sclc", name, rate, how->capacity, "NONSCALING");
    else
        server.Replicate(ctx, "BF.RESERVE", "sclcl", name, rate, how->capacity, "EXPANSION", how->expansion);
}

/* Returns the number of the last argument from `from` on that is this word, or 0. */
static int find_word(RedisModuleString **argv, int argc, int from, const char *word) {
    for (int i = from; i < argc; i++) {
        if (is_word(argv[i], word))
            return i;
    }
    return 0;
}

/* Reads the arguments of BF.RESERVE. Returns the error, or NULL. Unknown words are ignored, as in
 * RedisBloom. */
static const char *parse_reserve(creation *how, RedisModuleString **argv, int argc) {
    if (server.StringToDouble(argv[2], &how->rate) != MODULE_OK)
        return "ERR bad error rate";
    if (!(how->rate > 0 && how->rate < 1))
        return "ERR error rate must be in the range (0.000000, 1.000000)";
    if (server.StringToLongLong(argv[3], &how->capacity) != MODULE_OK)
        return "ERR bad capacity";
    if (how->capacity < 1 || how->capacity > MODULE_CAPACITY_MAX)
        return "ERR capacity must be in the range [1, 1073741824]";
    const bool nonscaling = find_word(argv, argc, 4, "NONSCALING") != 0;
    const int expansion = find_word(argv, argc, 4, "EXPANSION");
    how->nonscaling = how->nonscaling || nonscaling;
    if (!expansion)
        return NULL;
    if (expansion + 1 == argc)
        return "ERR no expansion";
    if (server.StringToLongLong(argv[expansion + 1], &how->expansion) != MODULE_OK)
        return "ERR bad expansion";
    if (nonscaling && how->expansion != 0)
        return "Nonscaling filters cannot expand";
    if (how->expansion < 0 || how->expansion > MODULE_EXPANSION_MAX)
        return "ERR expansion must be in the range [0, 32768]";
    how->nonscaling = how->expansion == 0;
    return NULL;
}

int bloom_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    creation how = creation_by_settings();
    const char *error = parse_reserve(&how, argv, argc);
    if (error)
        return server.ReplyWithError(ctx, error);
    bloom_key key = bloom_key_open(ctx, argv[1], MODULE_READ | MODULE_WRITE);
    if (key.state == FILTER_KEY_OTHER) {
        bloom_key_refuse(ctx, &key);
    } else if (key.state != FILTER_KEY_EMPTY) {
        server.ReplyWithError(ctx, "ERR item exists");
    } else if (create(ctx, &key, &how)) {
        replicate_creation(ctx, argv[1], &how);
        server.ReplyWithSimpleString(ctx, "OK");
    }
    bloom_key_close(&key);
    return MODULE_OK;
}

/* ---- items ---- */

/* Items to add: some of a command's arguments. */
typedef struct item_list {
    RedisModuleString **items;
    size_t count;
    bool single; /* the reply is one answer, not an array */
} item_list;

/* Adds items, and replies with an answer for each. After a failure the array has the error as its last
 * element. Returns the number of items added; sets *changed if one was absent. */
static size_t add_items(RedisModuleCtx *ctx, tamis_redisbloom *filter, const item_list *list, bool *changed) {
    size_t added = 0;
    tamis_status status = TAMIS_OK;
    *changed = false;
    if (!list->single)
        server.ReplyWithArray(ctx, MODULE_POSTPONED_LENGTH);
    while (status == TAMIS_OK && added < list->count) {
        tamis_key items[BATCH];
        tamis_answer answers[BATCH];
        size_t done = 0;
        const size_t count = list->count - added < BATCH ? list->count - added : BATCH;
        for (size_t i = 0; i < count; i++)
            items[i].data = server.StringPtrLen(list->items[added + i], &items[i].size);
        status = tamis_redisbloom_add_many(filter, items, count, answers, &done, NULL);
        for (size_t i = 0; i < done; i++) {
            reply_bool(ctx, answers[i] == TAMIS_ABSENT);
            *changed |= answers[i] == TAMIS_ABSENT;
        }
        added += done;
    }
    if (status != TAMIS_OK)
        reply_full(ctx, status);
    if (!list->single)
        server.ReplySetArrayLength(ctx, (long)(added + (status != TAMIS_OK)));
    return added;
}

/* Adds items to a filter, which `how` makes if the key is empty. `how` NULL: an empty key is an error. */
static int add_to_key(RedisModuleCtx *ctx, RedisModuleString *name, const item_list *list,
                      const creation *how) {
    bloom_key key = bloom_key_open(ctx, name, MODULE_READ | MODULE_WRITE);
    const bool is_new = key.state == FILTER_KEY_EMPTY && how;
    bool changed;
    if (key.state != FILTER_KEY_FILTER && !is_new) {
        bloom_key_refuse(ctx, &key);
    } else if (!is_new || create(ctx, &key, how)) {
        if (is_new)
            replicate_creation(ctx, name, how);
        const size_t added = add_items(ctx, key.filter, list, &changed);
        if (changed && list->single)
            server.Replicate(ctx, "BF.ADD", "ss", name, list->items[0]);
        else if (changed)
            server.Replicate(ctx, "BF.MADD", "sv", name, list->items, added);
    }
    bloom_key_close(&key);
    return MODULE_OK;
}

int bloom_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    const creation how = creation_by_settings();
    const item_list list = {argv + 2, 1, true};
    return add_to_key(ctx, argv[1], &list, &how);
}

int bloom_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const creation how = creation_by_settings();
    const item_list list = {argv + 2, (size_t)argc - 2, false};
    return add_to_key(ctx, argv[1], &list, &how);
}

/* ---- BF.INSERT ---- */

/* What BF.INSERT was given. */
typedef struct insert_arguments {
    creation how;
    bool no_create;
    int items; /* number of the first item; 0: there is none */
} insert_arguments;

/* Reads the value of an option. Returns the error, or NULL. */
static const char *parse_insert_value(creation *how, char option, const RedisModuleString *value) {
    switch (option) {
    case 'r':
        return server.StringToDouble(value, &how->rate) == MODULE_OK && how->rate > 0 && how->rate < 1
                   ? NULL
                   : "Bad error rate";
    case 'c':
        return server.StringToLongLong(value, &how->capacity) == MODULE_OK && how->capacity >= 1 &&
                       how->capacity <= MODULE_CAPACITY_MAX
                   ? NULL
                   : "Bad capacity";
    default:
        return server.StringToLongLong(value, &how->expansion) == MODULE_OK && how->expansion >= 0 &&
                       how->expansion <= MODULE_EXPANSION_MAX
                   ? NULL
                   : "Bad expansion";
    }
}

/* Returns the option that a word stands for: its first letters decide, as in RedisBloom. 'i': ITEMS, 'c':
 * CAPACITY, 'r': ERROR, 'x': EXPANSION, 'n': NONSCALING, 'o': NOCREATE, '?': unknown. */
static char insert_option(const RedisModuleString *word) {
    size_t size;
    const char *text = server.StringPtrLen(word, &size);
    const int first = size > 0 ? tolower((unsigned char)text[0]) : 0;
    const int second = size > 1 ? tolower((unsigned char)text[1]) : 0;
    const int third = size > 2 ? tolower((unsigned char)text[2]) : 0;
    switch (first) {
    case 'i':
    case 'c':
        return (char)first;
    case 'e':
        return second == 'r' ? 'r' : 'x';
    case 'n':
        return third == 'c' ? 'o' : 'n';
    default:
        return '?';
    }
}

/* Reads the arguments of BF.INSERT. Returns the error, or NULL; `items` is 0 if arguments are missing. */
static const char *parse_insert(insert_arguments *to, RedisModuleString **argv, int argc) {
    bool nonscaling = false;
    for (int i = 2; i < argc; i++) {
        const char option = insert_option(argv[i]);
        const char *error = NULL;
        if (option == 'i') {
            to->items = i + 1 < argc ? i + 1 : 0;
            break;
        }
        if (option == '?')
            return "Unknown argument received";
        if (option == 'n')
            nonscaling = true;
        else if (option == 'o')
            to->no_create = true;
        else if (++i == argc)
            return NULL;
        else
            error = parse_insert_value(&to->how, option, argv[i]);
        if (error)
            return error;
    }
    to->how.nonscaling = nonscaling || to->how.expansion == 0;
    return NULL;
}

int bloom_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    insert_arguments arguments = {.how = creation_by_settings()};
    const char *error = parse_insert(&arguments, argv, argc);
    if (error)
        return server.ReplyWithError(ctx, error);
    if (!arguments.items)
        return server.WrongArity(ctx);
    const item_list list = {argv + arguments.items, (size_t)(argc - arguments.items), false};
    return add_to_key(ctx, argv[1], &list, arguments.no_create ? NULL : &arguments.how);
}

/* ---- BF.LOADCHUNK ---- */

static const char *chunk_error(tamis_status status) {
    switch (status) {
    case TAMIS_E_RANGE:
        return "ERR invalid offset - no link found";
    case TAMIS_E_TOO_LONG:
        return "ERR invalid chunk - Too big for current filter";
    case TAMIS_E_NOMEM:
        return "ERR Insufficient memory to create filter";
    default:
        return "ERR received bad data";
    }
}

/* True if the filter has this header. */
static bool has_header(const tamis_redisbloom *filter, const char *bytes, size_t size) {
    if (size != tamis_redisbloom_header_size(filter))
        return false;
    char *header = server.Alloc(size);
    tamis_redisbloom_header_write(filter, header);
    bool equal = true;
    for (size_t i = 0; i < size; i++)
        equal &= header[i] == bytes[i];
    server.Free(header);
    return equal;
}

/* Loads a header. Once more into an incomplete filter is no error: a client may repeat a call. */
static tamis_status load_header(bloom_key *key, const char *bytes, size_t size) {
    if (key->state == FILTER_KEY_INCOMPLETE)
        return has_header(key->filter, bytes, size) ? TAMIS_OK : TAMIS_E_DAMAGED;
    if (key->state == FILTER_KEY_FILTER)
        return TAMIS_E_DAMAGED;
    tamis_redisbloom *filter;
    const tamis_status status = tamis_redisbloom_load_header(&filter, bytes, size, module_allocator(), NULL);
    if (status == TAMIS_OK)
        bloom_key_set(key, filter);
    return status;
}

static tamis_status load_chunk(bloom_key *key, long long iterator, const char *bytes, size_t size) {
    const tamis_status status =
        tamis_redisbloom_load_chunk(key->filter, iterator < 0 ? 0 : (uint64_t)iterator, bytes, size, NULL);
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    if (status == TAMIS_OK && key->state == FILTER_KEY_INCOMPLETE) {
        tamis_redisbloom_info_get(key->filter, &info, NULL);
        if (info.complete)
            bloom_key_complete(key);
    }
    return status;
}

int bloom_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    long long iterator;
    if (server.StringToLongLong(argv[2], &iterator) != MODULE_OK)
        return server.ReplyWithError(ctx, "ERR Second argument must be numeric");
    size_t size;
    const char *bytes = server.StringPtrLen(argv[3], &size);
    bloom_key key = bloom_key_open(ctx, argv[1], MODULE_READ | MODULE_WRITE);
    if (key.state == FILTER_KEY_OTHER || (key.state == FILTER_KEY_EMPTY && iterator != 1)) {
        bloom_key_refuse(ctx, &key);
        bloom_key_close(&key);
        return MODULE_OK;
    }
    const tamis_status status =
        iterator == 1 ? load_header(&key, bytes, size) : load_chunk(&key, iterator, bytes, size);
    bloom_key_close(&key);
    if (status != TAMIS_OK)
        return server.ReplyWithError(ctx, chunk_error(status));
    server.ReplicateVerbatim(ctx);
    return server.ReplyWithSimpleString(ctx, "OK");
}
