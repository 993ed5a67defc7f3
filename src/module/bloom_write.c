/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands BF.* that change a filter. Replies and errors are those of RedisBloom.
 *
 * Replication. A replica, and a server that reads the AOF, may have other settings. So a command whose
 * result depends on settings is sent on in another form. Adds that changed nothing are not sent:
 *
 *     command                        is sent as
 *     BF.RESERVE                     BF.RESERVE with EXPANSION or NONSCALING, whatever the client gave, and
 *                                    KIND for a native filter
 *     BF.ADD, BF.MADD, BF.INSERT     as it is, if the filter was there and no item failed. Else BF.RESERVE if it
 *                                    made the filter; BF.ADD or BF.MADD of its items, if any was absent, without
 *                                    those that failed
 *     BF.LOADCHUNK                   as it is
 *
 * The rest follows from the filter alone, which both sides have. Sending a command as it is costs nothing
 * without a replica and an AOF. For any other form the server makes a list of arguments in any case.
 */
#include "module/module.h"

enum { BATCH = 256, RESERVE_MAX = 7 /* arguments of BF.RESERVE without KIND */ };

static int reply_full(RedisModuleCtx *ctx, tamis_status status) {
    return server.ReplyWithError(ctx, status == TAMIS_E_FULL ? "ERR non scaling filter is full"
                                                             : "ERR problem inserting into filter");
}

int bloom_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    bloom_creation how = bloom_creation_by_settings(ctx);
    /* RedisBloom counts the arguments before it reads them. */
    if (argc > RESERVE_MAX + (find_word(argv, argc, 4, "KIND") ? 2 : 0))
        return server.WrongArity(ctx);
    const char *error = bloom_parse_reserve(ctx, &how, argv, argc);
    if (error)
        return server.ReplyWithError(ctx, error);
    bloom_key key = bloom_key_open(ctx, argv[1], MODULE_READ | MODULE_WRITE);
    if (key.state == FILTER_KEY_OTHER)
        bloom_key_refuse(ctx, &key);
    else if (key.state != FILTER_KEY_EMPTY)
        server.ReplyWithError(ctx, "ERR item exists");
    else if (bloom_create(ctx, &key, argv[1], how))
        server.ReplyWithSimpleString(ctx, "OK");
    bloom_key_close(&key);
    return MODULE_OK;
}

/* ---- items ---- */

/* Items of a list that are added one after the other. */
typedef struct addition {
    size_t from, end; /* numbers of the first one, and of the one after the last */
    bool changed;     /* one of them was absent, or the filter became one that refuses items */
} addition;

/* The filter that gets items. */
typedef struct destination {
    RedisModuleString *name;
    bool is_new; /* the command made it */
} destination;

/* Sends added items to replicas, unless they changed nothing. */
static void replicate_items(RedisModuleCtx *ctx, const destination *to, const item_list *list,
                            const addition *added) {
    RedisModuleString *name = to->name;
    if (added->changed && !to->is_new && added->from == 0 && added->end == list->count)
        server.ReplicateVerbatim(ctx);
    else if (added->changed && list->single)
        server.Replicate(ctx, "BF.ADD", "ss", name, list->items[0]);
    else if (added->changed)
        server.Replicate(ctx, "BF.MADD", "sv", name, list->items + added->from, added->end - added->from);
}

/* Adds items until one fails, and replies with an answer for each. *failed: why the one at `end` failed. */
static addition add_run(RedisModuleCtx *ctx, bloom_key *key, const item_list *list, size_t from,
                        tamis_status *failed) {
    addition added = {from, from, false};
    *failed = TAMIS_OK;
    while (*failed == TAMIS_OK && added.end < list->count) {
        tamis_key items[BATCH];
        tamis_answer answers[BATCH];
        size_t done = 0;
        const size_t left = list->count - added.end, count = left < BATCH ? left : BATCH;
        module_item_keys(items, list->items + added.end, count);
        *failed = bloom_key_add(key, items, count, answers, &done);
        for (size_t i = 0; i < done; i++) {
            reply_bool(ctx, answers[i] == TAMIS_ABSENT);
            added.changed |= answers[i] == TAMIS_ABSENT;
        }
        added.end += done;
    }
    return added;
}

/* Adds items, here and on replicas. As in RedisBloom, an item that no memory is given for gets an error, and
 * the others follow. If the filter is full, the error ends the array. */
static void add_items(RedisModuleCtx *ctx, bloom_key *key, const destination *to, const item_list *list) {
    tamis_status failed = TAMIS_OK;
    size_t replied = 0;
    if (!list->single)
        server.ReplyWithArray(ctx, MODULE_POSTPONED_LENGTH);
    while (failed != TAMIS_E_FULL && replied < list->count) {
        addition added = add_run(ctx, key, list, replied, &failed);
        replied = added.end + (failed != TAMIS_OK);
        if (failed != TAMIS_OK)
            reply_full(ctx, failed);
        /* A native filter stores that it has refused an item, so a replica has to refuse it too. */
        if (failed == TAMIS_E_FULL && key->native && !key->native->is_refusing) {
            key->native->is_refusing = added.changed = true;
            added.end++;
        }
        replicate_items(ctx, to, list, &added);
    }
    if (!list->single)
        server.ReplySetArrayLength(ctx, (long)replied);
}

/* Adds items to a filter, which `how` makes if the key is empty. `how` NULL: an empty key is an error. */
static int add_to_key(RedisModuleCtx *ctx, RedisModuleString *name, const item_list *list,
                      const bloom_creation *how) {
    bloom_key key = bloom_key_open(ctx, name, MODULE_READ | MODULE_WRITE);
    const bool is_new = key.state == FILTER_KEY_EMPTY && how;
    if (key.state != FILTER_KEY_FILTER && !is_new) {
        bloom_key_refuse(ctx, &key);
    } else if (!is_new || bloom_create(ctx, &key, name, *how)) {
        add_items(ctx, &key, &(destination){name, is_new}, list);
    }
    bloom_key_close(&key);
    return MODULE_OK;
}

int bloom_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    const bloom_creation how = bloom_creation_by_settings(ctx);
    const item_list list = {.items = argv + 2, .count = 1, .single = true};
    return add_to_key(ctx, argv[1], &list, &how);
}

int bloom_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const bloom_creation how = bloom_creation_by_settings(ctx);
    const item_list list = {.items = argv + 2, .count = (size_t)argc - 2};
    return add_to_key(ctx, argv[1], &list, &how);
}

int bloom_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    bloom_insertion insertion = {.how = bloom_creation_by_settings(ctx)};
    const char *error = bloom_parse_insert(ctx, &insertion, argv, argc);
    if (error)
        return server.ReplyWithError(ctx, error);
    if (!insertion.items)
        return server.WrongArity(ctx);
    const item_list list = {.items = argv + insertion.items, .count = (size_t)(argc - insertion.items)};
    return add_to_key(ctx, argv[1], &list, insertion.no_create ? NULL : &insertion.how);
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

/* Loads a header. Once more into an incomplete filter is not an error: a client may repeat a call. */
static tamis_status load_header(RedisModuleCtx *ctx, bloom_key *key, const char *bytes, size_t size) {
    if (key->state == FILTER_KEY_INCOMPLETE && !key->native)
        return has_header(key->filter, bytes, size) ? TAMIS_OK : TAMIS_E_DAMAGED;
    if (key->state == FILTER_KEY_FILTER || key->native)
        return TAMIS_E_DAMAGED;
    tamis_redisbloom *filter;
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    const tamis_status status = tamis_redisbloom_load_header(&filter, bytes, size, module_allocator(), NULL);
    if (status != TAMIS_OK)
        return status;
    tamis_redisbloom_info_get(filter, &info, NULL);
    if (module_would_exceed_memory(ctx, info.bytes)) {
        tamis_redisbloom_free(filter);
        return TAMIS_E_NOMEM;
    }
    bloom_key_set(key, filter);
    return TAMIS_OK;
}

static tamis_status load_chunk(bloom_key *key, long long iterator, const char *bytes, size_t size) {
    if (iterator <= 0 || (uint64_t)iterator < size)
        return TAMIS_E_DAMAGED;
    if (key->native) /* has no chunks */
        return TAMIS_E_RANGE;
    const tamis_status status =
        tamis_redisbloom_load_chunk(key->filter, (uint64_t)iterator, bytes, size, NULL);
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
        iterator == 1 ? load_header(ctx, &key, bytes, size) : load_chunk(&key, iterator, bytes, size);
    bloom_key_close(&key);
    if (status != TAMIS_OK)
        return server.ReplyWithError(ctx, chunk_error(status));
    server.ReplicateVerbatim(ctx);
    return server.ReplyWithSimpleString(ctx, "OK");
}
