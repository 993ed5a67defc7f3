/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands BF.* that only read. Replies and errors are those of RedisBloom. */
#include <stdio.h>
#include <string.h>

#include "module/module.h"

enum { BATCH = 256 };

/* ---- lookups ---- */

/* Looks up argv[2] and following, and replies with an answer for each. An empty key, or one of another type,
 * has none of them. */
static int reply_lookups(RedisModuleCtx *ctx, bloom_key *key, RedisModuleString **argv, int argc) {
    for (int i = 2; i < argc; i += BATCH) {
        tamis_key items[BATCH];
        tamis_answer answers[BATCH] = {TAMIS_ABSENT};
        const int count = argc - i < BATCH ? argc - i : BATCH;
        for (int j = 0; j < count; j++)
            items[j].data = server.StringPtrLen(argv[i + j], &items[j].size);
        if (key->filter)
            tamis_redisbloom_contains_many(key->filter, items, (size_t)count, answers, NULL);
        for (int j = 0; j < count; j++)
            reply_bool(ctx, answers[j] == TAMIS_PRESENT);
    }
    return MODULE_OK;
}

static int look_up(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool many) {
    bloom_key key = bloom_key_open(ctx, argv[1], MODULE_READ);
    if (key.state == FILTER_KEY_INCOMPLETE) {
        bloom_key_refuse(ctx, &key);
    } else {
        if (many)
            server.ReplyWithArray(ctx, argc - 2);
        reply_lookups(ctx, &key, argv, argc);
    }
    bloom_key_close(&key);
    return MODULE_OK;
}

int bloom_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return look_up(ctx, argv, argc, false);
}

int bloom_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return look_up(ctx, argv, argc, true);
}

/* ---- reports ---- */

/* Opens a filter and gets its state. False: the reply is sent, and the key is closed. */
static bool open_filter(RedisModuleCtx *ctx, RedisModuleString *name, bloom_key *key,
                        tamis_redisbloom_info *info) {
    *key = bloom_key_open(ctx, name, MODULE_READ);
    if (key->state != FILTER_KEY_FILTER) {
        bloom_key_refuse(ctx, key);
        bloom_key_close(key);
        return false;
    }
    tamis_redisbloom_info_get(key->filter, info, NULL);
    return true;
}

int bloom_card(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    bloom_key key = bloom_key_open(ctx, argv[1], MODULE_READ);
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    if (key.state == FILTER_KEY_FILTER)
        tamis_redisbloom_info_get(key.filter, &info, NULL);
    if (key.state == FILTER_KEY_FILTER || key.state == FILTER_KEY_EMPTY)
        server.ReplyWithLongLong(ctx, (long long)info.keys);
    else
        bloom_key_refuse(ctx, &key);
    bloom_key_close(&key);
    return MODULE_OK;
}

enum { CAPACITY, SIZE, FILTERS, ITEMS, EXPANSION, INFO_FIELDS };

static const struct {
    const char *word; /* argument of BF.INFO */
    const char *label;
} info_fields[INFO_FIELDS] = {
    [CAPACITY] = {"CAPACITY", "Capacity"},         [SIZE] = {"SIZE", "Size"},
    [FILTERS] = {"FILTERS", "Number of filters"},  [ITEMS] = {"ITEMS", "Number of items inserted"},
    [EXPANSION] = {"EXPANSION", "Expansion rate"},
};

static void reply_label(RedisModuleCtx *ctx, int field) {
    server.ReplyWithSimpleString(ctx, info_fields[field].label);
}

static void reply_field(RedisModuleCtx *ctx, int field, const tamis_redisbloom_info *info) {
    const uint64_t values[INFO_FIELDS] = {
        [CAPACITY] = info->capacity, [SIZE] = info->size,           [FILTERS] = info->subfilters,
        [ITEMS] = info->keys,        [EXPANSION] = info->expansion,
    };
    if (field == EXPANSION && info->nonscaling)
        server.ReplyWithNull(ctx);
    else
        server.ReplyWithLongLong(ctx, (long long)values[field]);
}

/* One field: a map of one pair in RESP3, the value in an array in RESP2. */
static void reply_one_field(RedisModuleCtx *ctx, int field, const tamis_redisbloom_info *info) {
    if (server.ReplyWithMap && server.GetContextFlags(ctx) & MODULE_FLAG_RESP3) {
        server.ReplyWithMap(ctx, 1);
        reply_label(ctx, field);
    } else {
        server.ReplyWithArray(ctx, 1);
    }
    reply_field(ctx, field, info);
}

static void reply_all_fields(RedisModuleCtx *ctx, const tamis_redisbloom_info *info) {
    if (server.ReplyWithMap)
        server.ReplyWithMap(ctx, INFO_FIELDS);
    else
        server.ReplyWithArray(ctx, 2 * INFO_FIELDS);
    for (int i = 0; i < INFO_FIELDS; i++) {
        reply_label(ctx, i);
        reply_field(ctx, i, info);
    }
}

int bloom_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    bloom_key key;
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    if (!open_filter(ctx, argv[1], &key, &info))
        return MODULE_OK;
    int field = 0;
    while (argc > 2 && field < INFO_FIELDS && !is_word(argv[2], info_fields[field].word))
        field++;
    if (argc == 2)
        reply_all_fields(ctx, &info);
    else if (field < INFO_FIELDS)
        reply_one_field(ctx, field, &info);
    else
        server.ReplyWithError(ctx, "Invalid information value");
    bloom_key_close(&key);
    return MODULE_OK;
}

static void reply_text(RedisModuleCtx *ctx, const char *text) {
    server.ReplyWithStringBuffer(ctx, text, strlen(text));
}

int bloom_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    bloom_key key;
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    if (!open_filter(ctx, argv[1], &key, &info))
        return MODULE_OK;
    char line[256];
    server.ReplyWithArray(ctx, (long)(info.subfilters + 1));
    snprintf(line, sizeof line, "size:%llu", (unsigned long long)info.keys);
    reply_text(ctx, line);
    for (uint64_t i = 0; i < info.subfilters; i++) {
        tamis_redisbloom_subfilter sub = TAMIS_REDISBLOOM_SUBFILTER_INIT;
        tamis_redisbloom_subfilter_get(key.filter, i, &sub, NULL);
        snprintf(line, sizeof line,
                 "bytes:%llu bits:%llu hashes:%u hashwidth:64 capacity:%llu size:%llu ratio:%g",
                 (unsigned long long)sub.bytes, (unsigned long long)sub.bits, (unsigned)sub.hashes,
                 (unsigned long long)sub.capacity, (unsigned long long)sub.keys, sub.rate);
        reply_text(ctx, line);
    }
    bloom_key_close(&key);
    return MODULE_OK;
}

int bloom_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    bloom_key key;
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    if (!open_filter(ctx, argv[1], &key, &info))
        return MODULE_OK;
    long long iterator;
    if (server.StringToLongLong(argv[2], &iterator) != MODULE_OK) {
        bloom_key_close(&key);
        return server.ReplyWithError(ctx, "Second argument must be numeric");
    }
    const void *bytes;
    size_t size;
    server.ReplyWithArray(ctx, 2);
    if (iterator == 0) {
        size = tamis_redisbloom_header_size(key.filter);
        char *header = server.Alloc(size);
        tamis_redisbloom_header_write(key.filter, header);
        server.ReplyWithLongLong(ctx, 1);
        server.ReplyWithStringBuffer(ctx, header, size);
        server.Free(header);
    } else {
        const uint64_t next =
            iterator < 0 ? 0 : tamis_redisbloom_chunk(key.filter, (uint64_t)iterator, &bytes, &size);
        server.ReplyWithLongLong(ctx, (long long)next);
        server.ReplyWithStringBuffer(ctx, next ? bytes : "", next ? size : 0);
    }
    bloom_key_close(&key);
    return MODULE_OK;
}
