/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands TW.*: windows, whose items expire (tamis/experimental/window.h).
 *
 *     TW.RESERVE key rate capacity window steps
 *     TW.ADD key item, TW.MADD key item..., TW.ADDAT key time item...
 *     TW.EXISTS key item, TW.MEXISTS key item...
 *     TW.INFO key
 *
 * Times are milliseconds. The time of a command is the server's, or that of the newest item if that is later:
 * so it never decreases.
 *
 * Memory. TW.RESERVE makes the plan's memory its limit. Such a window never grows: it refuses items when it
 * is full. A window of a .tamis file has the limit of the file, or none.
 *
 * Replication. The primary decides the time: each command that adds is sent as TW.ADDAT with it. An item that
 * is present is not added, so that it changes nothing, and is not sent. A lookup changes nothing either: it
 * has the time as an argument, and expired entries stay until an add needs their slots.
 */
#include <stdio.h>

#include <tamis/experimental/window.h>

#include "module/module.h"

enum { BATCH = 256 };

/* ---- keys ---- */

/* An open key. */
typedef struct window_key {
    RedisModuleKey *key; /* NULL: opened for reading and empty */
    native_value *value; /* NULL: the key is empty or has another type */
    bool is_empty;
} window_key;

static window_key open_key(RedisModuleCtx *ctx, RedisModuleString *name, int mode) {
    window_key opened = {.key = server.OpenKey(ctx, name, mode)};
    opened.value = native_value_of(opened.key, &native_windows);
    opened.is_empty = server.KeyType(opened.key) == MODULE_KEY_EMPTY;
    return opened;
}

/* True if the key is a window without missing chunks. Otherwise replies why not. */
static bool is_window(RedisModuleCtx *ctx, const window_key *key) {
    if (key->value && key->value->filter)
        return true;
    if (key->value)
        module_reply_incomplete(ctx, native_windows.load_command, key->value->loaded, key->value->image_size);
    else
        server.ReplyWithError(ctx, key->is_empty ? "ERR not found" : MODULE_WRONG_TYPE);
    return false;
}

/* ---- creation ---- */

/* Reads the arguments of TW.RESERVE. Returns the error, or NULL. */
static const char *parse_reserve(tamis_plan_options *options, RedisModuleString **argv) {
    long long capacity, window, steps;
    if (server.StringToDouble(argv[2], &options->fpr) != MODULE_OK)
        return "ERR bad error rate";
    if (!(options->fpr > 0 && options->fpr < 1))
        return "ERR error rate must be in the range (0.000000, 1.000000)";
    if (server.StringToLongLong(argv[3], &capacity) != MODULE_OK || capacity < 1 ||
        capacity > MODULE_CAPACITY_MAX)
        return "ERR capacity must be in the range [1, 1073741824]";
    if (server.StringToLongLong(argv[4], &window) != MODULE_OK || window < 1 ||
        (uint64_t)window > TAMIS_WINDOW_MAX)
        return "ERR window must be in the range [1, 4398046511104] milliseconds";
    if (server.StringToLongLong(argv[5], &steps) != MODULE_OK || steps < 1 || steps > 2000 || steps > window)
        return "ERR steps must be in the range [1, 2000], and at most the milliseconds of the window";
    if (options->fpr > BLOOM_RATE_MAX)
        options->fpr = BLOOM_RATE_MAX;
    options->kind = TAMIS_KIND_WINDOW;
    options->expect = (uint64_t)capacity;
    options->window = (uint64_t)window;
    options->step = (uint64_t)(window / steps + (window % steps != 0));
    return NULL;
}

static tamis_status create(RedisModuleCtx *ctx, tamis_filter **filter, const tamis_plan_options *options,
                           tamis_error *err) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_status status = tamis_plan_make(&plan, options, err);
    if (status != TAMIS_OK)
        return status;
    plan.memory_limit = plan.memory;
    tamis_filter_options filter_options = TAMIS_FILTER_OPTIONS_INIT;
    filter_options.allocator = module_aligned_allocator();
    tamis_filter *created = NULL;
    status = tamis_filter_create(&created, &plan, &filter_options, err);
    if (status == TAMIS_OK && module_exceeds_memory(ctx, plan.memory)) {
        tamis_filter_free(created);
        snprintf(err->text, sizeof err->text, "Insufficient memory to create window");
        return TAMIS_E_NOMEM;
    }
    if (status == TAMIS_OK)
        *filter = created;
    return status;
}

int window_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    const char *error = parse_reserve(&options, argv);
    if (error)
        return server.ReplyWithError(ctx, error);
    window_key key = open_key(ctx, argv[1], MODULE_READ | MODULE_WRITE);
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    char text[sizeof err.text + 8];
    if (!key.is_empty) {
        error = key.value ? "ERR item exists" : MODULE_WRONG_TYPE;
    } else if (create(ctx, &filter, &options, &err) != TAMIS_OK) {
        snprintf(text, sizeof text, "ERR %s", err.text);
        error = text;
    } else {
        native_key_set(key.key, &native_windows, filter);
    }
    server.CloseKey(key.key);
    if (error)
        return server.ReplyWithError(ctx, error);
    server.ReplicateVerbatim(ctx);
    return server.ReplyWithSimpleString(ctx, "OK");
}

/* ---- items ---- */

/* Some of the items, hashed, with the time of the command. */
typedef struct item_batch {
    size_t count;
    tamis_hash hashes[BATCH];
    int64_t times[BATCH];
    tamis_answer answers[BATCH];
} item_batch;

/* Returns the time of a command: `given`, but not before the newest item. */
static int64_t time_of(const native_value *value, int64_t given) {
    const int64_t newest = tamis_window_newest(value->filter);
    return given > newest ? given : newest;
}

static void hash_items(item_batch *batch, const native_value *value, const item_list *list, size_t from,
                       int64_t time) {
    tamis_key keys[BATCH];
    batch->count = list->count - from < BATCH ? list->count - from : BATCH;
    module_item_keys(keys, list->items + from, batch->count);
    for (size_t i = 0; i < batch->count; i++)
        batch->times[i] = time;
    tamis_hash_many(tamis_filter_hasher(value->filter), keys, batch->count, batch->hashes, NULL);
}

/* Looks the batch up. Returns true if all items are present. */
static bool look_up(const native_value *value, item_batch *batch) {
    size_t present = 0;
    const tamis_timed_hashes timed = {batch->hashes, batch->times, batch->count};
    tamis_window_contains(value->filter, &timed, batch->answers, NULL);
    for (size_t i = 0; i < batch->count; i++)
        present += batch->answers[i] == TAMIS_PRESENT;
    return present == batch->count;
}

/* Adds items at a time. Replies for each, and with an error for the one that failed. Returns the number of
 * items that replicas need to have the same window. */
static size_t add_items(RedisModuleCtx *ctx, native_value *value, const item_list *list, int64_t time) {
    size_t added = 0, changed = 0;
    tamis_status status = TAMIS_OK;
    if (!list->single)
        server.ReplyWithArray(ctx, MODULE_POSTPONED_LENGTH);
    while (status == TAMIS_OK && added < list->count) {
        item_batch batch;
        size_t done = 0;
        hash_items(&batch, value, list, added, time);
        if (look_up(value, &batch))
            done = batch.count;
        else
            status =
                tamis_window_add(value->filter, &(tamis_timed_hashes){batch.hashes, batch.times, batch.count},
                                 batch.answers, &done, NULL);
        for (size_t i = 0; i < done; i++) {
            reply_bool(ctx, batch.answers[i] == TAMIS_ABSENT);
            value->added += batch.answers[i] == TAMIS_ABSENT;
            if (batch.answers[i] == TAMIS_ABSENT)
                changed = added + i + 1;
        }
        added += done;
    }
    if (status != TAMIS_OK)
        server.ReplyWithError(ctx, status == TAMIS_E_FULL ? "ERR window is full"
                                                          : "ERR problem inserting into window");
    if (!list->single)
        server.ReplySetArrayLength(ctx, (long)(added + (status != TAMIS_OK)));
    if (status != TAMIS_E_FULL)
        return changed;
    value->is_refusing = true; /* the refusal has moved the time of the window */
    return added + 1;
}

static int add_to_key(RedisModuleCtx *ctx, RedisModuleString *name, const item_list *list, int64_t given) {
    window_key key = open_key(ctx, name, MODULE_READ | MODULE_WRITE);
    if (is_window(ctx, &key)) {
        const int64_t time = time_of(key.value, given);
        const size_t sent = add_items(ctx, key.value, list, time);
        if (sent > 0)
            server.Replicate(ctx, "TW.ADDAT", "slv", name, (long long)time, list->items, sent);
    }
    server.CloseKey(key.key);
    return MODULE_OK;
}

int window_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    const item_list list = {.items = argv + 2, .count = 1, .single = true};
    return add_to_key(ctx, argv[1], &list, server.Milliseconds());
}

int window_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const item_list list = {.items = argv + 2, .count = (size_t)argc - 2};
    return add_to_key(ctx, argv[1], &list, server.Milliseconds());
}

int window_add_at(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const item_list list = {.items = argv + 3, .count = (size_t)argc - 3};
    long long time;
    if (server.StringToLongLong(argv[2], &time) != MODULE_OK || time < 0 || time > TAMIS_TIME_MAX)
        return server.ReplyWithError(ctx, "ERR time must be in the range [0, 2^53] milliseconds");
    return add_to_key(ctx, argv[1], &list, time);
}

/* ---- lookups ---- */

static int reply_lookups(RedisModuleCtx *ctx, RedisModuleString *name, const item_list *list) {
    window_key key = open_key(ctx, name, MODULE_READ);
    if (key.is_empty || is_window(ctx, &key)) {
        const int64_t time = key.value ? time_of(key.value, server.Milliseconds()) : 0;
        if (!list->single)
            server.ReplyWithArray(ctx, (long)list->count);
        for (size_t from = 0; from < list->count; from += BATCH) {
            item_batch batch = {.count = 0};
            if (key.value)
                hash_items(&batch, key.value, list, from, time);
            if (key.value)
                look_up(key.value, &batch);
            for (size_t i = from; i < list->count && i < from + BATCH; i++)
                reply_bool(ctx, key.value && batch.answers[i - from] == TAMIS_PRESENT);
        }
    }
    server.CloseKey(key.key);
    return MODULE_OK;
}

int window_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    const item_list list = {.items = argv + 2, .count = 1, .single = true};
    return reply_lookups(ctx, argv[1], &list);
}

int window_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const item_list list = {.items = argv + 2, .count = (size_t)argc - 2};
    return reply_lookups(ctx, argv[1], &list);
}

/* ---- TW.INFO ---- */

static void reply_number(RedisModuleCtx *ctx, const char *label, uint64_t value) {
    server.ReplyWithSimpleString(ctx, label);
    server.ReplyWithLongLong(ctx, (long long)value);
}

static void reply_rate(RedisModuleCtx *ctx, const char *label, double value) {
    server.ReplyWithSimpleString(ctx, label);
    server.ReplyWithDouble(ctx, value);
}

int window_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    enum { PAIRS = 9 };
    window_key key = open_key(ctx, argv[1], MODULE_READ);
    if (is_window(ctx, &key)) {
        const native_value *value = key.value;
        const tamis_plan *plan = tamis_filter_plan(value->filter);
        if (server.ReplyWithMap)
            server.ReplyWithMap(ctx, PAIRS);
        else
            server.ReplyWithArray(ctx, 2L * PAIRS);
        reply_number(ctx, "Capacity", plan->capacity);
        reply_number(ctx, "Size", native_memory(value));
        reply_number(ctx, "Window", plan->window);
        reply_number(ctx, "Step", plan->step);
        reply_number(ctx, "Number of items", tamis_window_entries(value->filter));
        reply_number(ctx, "Newest time", (uint64_t)tamis_window_newest(value->filter));
        reply_rate(ctx, "Rate", plan->fpr);
        reply_rate(ctx, "Live rate", native_live_rate(value));
        reply_number(ctx, "Saturation", value->is_refusing);
    }
    server.CloseKey(key.key);
    return MODULE_OK;
}
