/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands CF.* that only read. Replies and errors are those of RedisBloom. */
#include <stdio.h>
#include <string.h>

#include "module/module.h"

enum { BATCH = 256, HEADER = TAMIS_REDISBLOOM_CUCKOO_HEADER };

/* ---- lookups ---- */

/* Looks up argv[2] and following, and replies with an answer for each. An empty key, or one of another type,
 * has none of them. */
static int look_up(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool many) {
    cuckoo_key key = cuckoo_key_open(ctx, argv[1], MODULE_READ);
    if (key.state == FILTER_KEY_INCOMPLETE) {
        cuckoo_key_refuse(ctx, &key, NULL);
        cuckoo_key_close(&key);
        return MODULE_OK;
    }
    if (many)
        server.ReplyWithArray(ctx, argc - 2);
    for (int i = 2; i < argc; i += BATCH) {
        tamis_key items[BATCH];
        tamis_answer answers[BATCH] = {TAMIS_ABSENT};
        const int count = argc - i < BATCH ? argc - i : BATCH;
        module_item_keys(items, argv + i, (size_t)count);
        if (key.filter)
            tamis_redisbloom_cuckoo_contains_many(key.filter, items, (size_t)count, answers, NULL);
        for (int j = 0; j < count; j++)
            reply_bool(ctx, answers[j] == TAMIS_PRESENT);
    }
    cuckoo_key_close(&key);
    return MODULE_OK;
}

int cuckoo_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return look_up(ctx, argv, argc, false);
}

int cuckoo_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return look_up(ctx, argv, argc, true);
}

int cuckoo_count(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    cuckoo_key key = cuckoo_key_open(ctx, argv[1], MODULE_READ);
    size_t size;
    const char *item = server.StringPtrLen(argv[2], &size);
    uint64_t count = 0;
    if (key.state == FILTER_KEY_FILTER)
        tamis_redisbloom_cuckoo_count(key.filter, item, size, &count, NULL);
    if (key.state == FILTER_KEY_INCOMPLETE)
        cuckoo_key_refuse(ctx, &key, NULL);
    else
        server.ReplyWithLongLong(ctx, (long long)count);
    cuckoo_key_close(&key);
    return MODULE_OK;
}

/* ---- reports ---- */

/* Opens a filter and gets its state. False: the reply is sent, and the key is closed. */
static bool open_filter(RedisModuleCtx *ctx, RedisModuleString *name, cuckoo_key *key,
                        tamis_redisbloom_cuckoo_info *info) {
    *key = cuckoo_key_open(ctx, name, MODULE_READ);
    if (key->state != FILTER_KEY_FILTER) {
        cuckoo_key_refuse(ctx, key, NULL);
        cuckoo_key_close(key);
        return false;
    }
    tamis_redisbloom_cuckoo_info_get(key->filter, info, NULL);
    return true;
}

int cuckoo_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    cuckoo_key key;
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    if (!open_filter(ctx, argv[1], &key, &info))
        return MODULE_OK;
    const struct {
        const char *label;
        uint64_t value;
    } fields[] = {
        {"Size", info.size},
        {"Number of buckets", info.buckets},
        {"Number of filters", info.tables},
        {"Number of items inserted", info.keys},
        {"Number of items deleted", info.removed},
        {"Bucket size", info.bucket_size},
        {"Expansion rate", info.expansion},
        {"Max iterations", info.max_iterations},
    };
    enum { FIELDS = sizeof fields / sizeof *fields };
    if (server.ReplyWithMap)
        server.ReplyWithMap(ctx, FIELDS);
    else
        server.ReplyWithArray(ctx, 2 * FIELDS);
    for (int i = 0; i < FIELDS; i++) {
        server.ReplyWithSimpleString(ctx, fields[i].label);
        server.ReplyWithLongLong(ctx, (long long)fields[i].value);
    }
    cuckoo_key_close(&key);
    return MODULE_OK;
}

int cuckoo_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    cuckoo_key key;
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    if (!open_filter(ctx, argv[1], &key, &info))
        return MODULE_OK;
    char line[256];
    snprintf(line, sizeof line,
             "bktsize:%u buckets:%llu items:%llu deletes:%llu filters:%llu max_iterations:%u expansion:%u",
             (unsigned)info.bucket_size, (unsigned long long)info.buckets, (unsigned long long)info.keys,
             (unsigned long long)info.removed, (unsigned long long)info.tables, (unsigned)info.max_iterations,
             (unsigned)info.expansion);
    server.ReplyWithStringBuffer(ctx, line, strlen(line));
    cuckoo_key_close(&key);
    return MODULE_OK;
}

int cuckoo_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    long long position;
    cuckoo_key key;
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    if (server.StringToLongLong(argv[2], &position) != MODULE_OK || position < 0)
        return server.ReplyWithError(ctx, "Invalid position");
    if (!open_filter(ctx, argv[1], &key, &info))
        return MODULE_OK;
    const void *bytes = NULL;
    size_t size = 0;
    char header[HEADER];
    uint64_t next = 0;
    if (info.keys > 0 && position == 0) {
        tamis_redisbloom_cuckoo_header_write(key.filter, header);
        bytes = header;
        size = HEADER;
        next = 1;
    } else if (info.keys > 0) {
        next = tamis_redisbloom_cuckoo_chunk(key.filter, (uint64_t)position, &bytes, &size);
    }
    server.ReplyWithArray(ctx, 2);
    server.ReplyWithLongLong(ctx, (long long)next);
    if (next)
        server.ReplyWithStringBuffer(ctx, bytes, size);
    else
        server.ReplyWithNull(ctx);
    cuckoo_key_close(&key);
    return MODULE_OK;
}
