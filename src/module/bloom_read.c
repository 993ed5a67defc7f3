/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands BF.* that only read. Replies and errors are those of RedisBloom. */
#include <stdio.h>
#include <string.h>

#include "module/module.h"

enum { BATCH = 256 };

/* ---- lookups ---- */

/* Looks up argv[2] and following, and replies with an answer for each. An empty key, or one of another type,
 * has none of them: RedisBloom replies so. */
static int reply_lookups(RedisModuleCtx *ctx, bloom_key *key, RedisModuleString **argv, int argc) {
    for (int i = 2; i < argc; i += BATCH) {
        tamis_key items[BATCH];
        tamis_answer answers[BATCH] = {TAMIS_ABSENT};
        const int count = argc - i < BATCH ? argc - i : BATCH;
        module_item_keys(items, argv + i, (size_t)count);
        if (key->state == FILTER_KEY_FILTER)
            bloom_key_look_up(key, items, (size_t)count, answers);
        for (int j = 0; j < count; j++)
            reply_bool(ctx, answers[j] == TAMIS_PRESENT);
    }
    return MODULE_OK;
}

static int look_up(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool many) {
    bloom_key key = bloom_key_open(ctx, argv[1], MODULE_READ);
    if (key.state == FILTER_KEY_INCOMPLETE || native_value_of(key.key, &native_windows)) {
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

/* Opens a filter. False: the reply is sent, and the key is closed. */
static bool open_filter(RedisModuleCtx *ctx, RedisModuleString *name, bloom_key *key) {
    *key = bloom_key_open(ctx, name, MODULE_READ);
    if (key->state == FILTER_KEY_FILTER)
        return true;
    bloom_key_refuse(ctx, key);
    bloom_key_close(key);
    return false;
}

/* The items, without the other statistics: some of these cost a sum over all sub-filters. */
static uint64_t items_of(const bloom_key *key) {
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    if (key->native)
        return key->native->added;
    tamis_redisbloom_info_get(key->filter, &info, NULL);
    return info.keys;
}

int bloom_card(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    bloom_key key = bloom_key_open(ctx, argv[1], MODULE_READ);
    if (key.state == FILTER_KEY_FILTER)
        server.ReplyWithLongLong(ctx, (long long)items_of(&key));
    else if (key.state == FILTER_KEY_EMPTY)
        server.ReplyWithLongLong(ctx, 0);
    else
        bloom_key_refuse(ctx, &key);
    bloom_key_close(&key);
    return MODULE_OK;
}

/* The fields of RedisBloom's reply, and after them the fields that are replied by name only. */
enum {
    CAPACITY,
    SIZE,
    FILTERS,
    ITEMS,
    EXPANSION,
    OWN_FIELDS,
    RATE = OWN_FIELDS,
    LIVERATE,
    FILL,
    SATURATION,
    KIND,
    INFO_FIELDS
};

static const struct {
    const char *word; /* argument of BF.INFO */
    const char *label;
} info_fields[INFO_FIELDS] = {
    [CAPACITY] = {"CAPACITY", "Capacity"},         [SIZE] = {"SIZE", "Size"},
    [FILTERS] = {"FILTERS", "Number of filters"},  [ITEMS] = {"ITEMS", "Number of items inserted"},
    [EXPANSION] = {"EXPANSION", "Expansion rate"}, [RATE] = {"RATE", "Rate"},
    [LIVERATE] = {"LIVERATE", "Live rate"},        [FILL] = {"FILL", "Fill"},
    [SATURATION] = {"SATURATION", "Saturation"},   [KIND] = {"KIND", "Kind"},
};

static void reply_label(RedisModuleCtx *ctx, int field) {
    server.ReplyWithSimpleString(ctx, info_fields[field].label);
}

static void reply_whole(RedisModuleCtx *ctx, uint64_t value) {
    server.ReplyWithLongLong(ctx, (long long)value);
}

static void reply_field(RedisModuleCtx *ctx, int field, const bloom_statistics *statistics) {
    switch (field) {
    case CAPACITY:
        reply_whole(ctx, statistics->capacity);
        break;
    case SIZE:
        reply_whole(ctx, statistics->size);
        break;
    case FILTERS:
        reply_whole(ctx, statistics->subfilters);
        break;
    case ITEMS:
        reply_whole(ctx, statistics->items);
        break;
    case EXPANSION:
        if (statistics->expansion == 0)
            server.ReplyWithNull(ctx);
        else
            reply_whole(ctx, statistics->expansion);
        break;
    case RATE:
        server.ReplyWithDouble(ctx, statistics->rate);
        break;
    case LIVERATE:
        server.ReplyWithDouble(ctx, statistics->live_rate);
        break;
    case FILL:
        server.ReplyWithDouble(
            ctx, statistics->capacity ? (double)statistics->items / (double)statistics->capacity : 0);
        break;
    case SATURATION:
        server.ReplyWithLongLong(ctx, statistics->is_full);
        break;
    default:
        server.ReplyWithSimpleString(ctx, statistics->kind);
        break;
    }
}

/* One field: a map of one pair in RESP3, the value in an array in RESP2. */
static void reply_one_field(RedisModuleCtx *ctx, int field, const bloom_statistics *statistics) {
    if (server.ReplyWithMap && server.GetContextFlags(ctx) & MODULE_FLAG_RESP3) {
        server.ReplyWithMap(ctx, 1);
        reply_label(ctx, field);
    } else {
        server.ReplyWithArray(ctx, 1);
    }
    reply_field(ctx, field, statistics);
}

static void reply_all_fields(RedisModuleCtx *ctx, const bloom_statistics *statistics) {
    if (server.ReplyWithMap)
        server.ReplyWithMap(ctx, OWN_FIELDS);
    else
        server.ReplyWithArray(ctx, 2 * OWN_FIELDS);
    for (int i = 0; i < OWN_FIELDS; i++) {
        reply_label(ctx, i);
        reply_field(ctx, i, statistics);
    }
}

int bloom_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    bloom_key key;
    if (!open_filter(ctx, argv[1], &key))
        return MODULE_OK;
    const bloom_statistics statistics = bloom_key_statistics(&key);
    int field = 0;
    while (argc > 2 && field < INFO_FIELDS && !is_word(argv[2], info_fields[field].word))
        field++;
    if (argc == 2)
        reply_all_fields(ctx, &statistics);
    else if (field < INFO_FIELDS)
        reply_one_field(ctx, field, &statistics);
    else
        server.ReplyWithError(ctx, "Invalid information value");
    bloom_key_close(&key);
    return MODULE_OK;
}

static void reply_text(RedisModuleCtx *ctx, const char *text) {
    server.ReplyWithStringBuffer(ctx, text, strlen(text));
}

static void reply_subfilters(RedisModuleCtx *ctx, const tamis_redisbloom *filter) {
    char line[256];
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    tamis_redisbloom_info_get(filter, &info, NULL);
    server.ReplyWithArray(ctx, (long)(info.subfilters + 1));
    snprintf(line, sizeof line, "size:%llu", (unsigned long long)info.keys);
    reply_text(ctx, line);
    for (uint64_t i = 0; i < info.subfilters; i++) {
        tamis_redisbloom_subfilter sub = TAMIS_REDISBLOOM_SUBFILTER_INIT;
        tamis_redisbloom_subfilter_get(filter, i, &sub, NULL);
        snprintf(line, sizeof line,
                 "bytes:%llu bits:%llu hashes:%u hashwidth:64 capacity:%llu size:%llu ratio:%g",
                 (unsigned long long)sub.bytes, (unsigned long long)sub.bits, (unsigned)sub.hashes,
                 (unsigned long long)sub.capacity, (unsigned long long)sub.keys, sub.rate);
        reply_text(ctx, line);
    }
}

/* As if the filter were the only sub-filter. */
static void reply_native(RedisModuleCtx *ctx, const native_value *value) {
    char line[256];
    const tamis_plan *plan = tamis_filter_plan(value->filter);
    server.ReplyWithArray(ctx, 2);
    snprintf(line, sizeof line, "size:%llu", (unsigned long long)value->added);
    reply_text(ctx, line);
    snprintf(line, sizeof line, "kind:%s bytes:%llu capacity:%llu size:%llu ratio:%g",
             tamis_kind_name(plan->kind), (unsigned long long)native_memory(value),
             (unsigned long long)plan->capacity, (unsigned long long)value->added, plan->fpr);
    reply_text(ctx, line);
}

int bloom_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    bloom_key key;
    if (!open_filter(ctx, argv[1], &key))
        return MODULE_OK;
    if (key.native)
        reply_native(ctx, key.native);
    else
        reply_subfilters(ctx, key.filter);
    bloom_key_close(&key);
    return MODULE_OK;
}

int bloom_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    bloom_key key;
    if (!open_filter(ctx, argv[1], &key))
        return MODULE_OK;
    if (key.native) {
        bloom_key_close(&key);
        return server.ReplyWithError(ctx,
                                     "ERR only a compatible filter has chunks; use DUMP, COPY or MIGRATE");
    }
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
