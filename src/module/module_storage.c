/* SPDX-License-Identifier: BSD-2-Clause */
/* Items of commands, memory and keys of filters, and the fields of RDB files, for all types. */
#include <stdio.h>
#include <string.h>

#include "module/module.h"

/* ---- items ---- */

void module_item_keys(tamis_key *keys, RedisModuleString **items, size_t count) {
    for (size_t i = 0; i < count; i++)
        keys[i].data = server.StringPtrLen(items[i], &keys[i].size);
}

/* ---- memory ---- */

/* From this size on, TryAlloc is called first: a Calloc that fails ends the server. */
#define TRY_FROM ((size_t)64 << 10)

static void *allocate(void *context, size_t size, size_t align) {
    (void)context;
    if (align > 16) /* what the server's allocator gives; filters of this module need no more */
        return NULL;
    if (server.TryCalloc)
        return server.TryCalloc(1, size);
    if (server.TryAlloc && size >= TRY_FROM) {
        void *probe = server.TryAlloc(size);
        if (!probe)
            return NULL;
        server.Free(probe);
    }
    return server.Calloc(1, size);
}

static void release(void *context, void *block, size_t size) {
    (void)context;
    (void)size;
    server.Free(block);
}

const tamis_allocator *module_allocator(void) {
    static const tamis_allocator allocator = {allocate, release, NULL};
    return &allocator;
}

bool module_exceeds_memory(RedisModuleCtx *ctx, uint64_t bytes) {
    if (!module_is_client(ctx))
        return false;
    if (!server.GetUsedMemoryRatio || !(server.GetUsedMemoryRatio() > 1))
        return false;
    int error = 0;
    RedisModuleServerInfoData *info = server.GetServerInfo(ctx, "memory");
    const char *policy = server.ServerInfoGetFieldC(info, "maxmemory_policy");
    const uint64_t limit = server.ServerInfoGetFieldUnsigned(info, "maxmemory", &error);
    const bool evicts = policy && strcmp(policy, "noeviction") != 0;
    const bool exceeds = !evicts || bytes > limit;
    server.FreeServerInfo(ctx, info);
    return exceeds;
}

bool module_would_exceed_memory(RedisModuleCtx *ctx, uint64_t bytes) {
    void *probe = server.TryAlloc && module_is_client(ctx) ? server.TryAlloc(bytes) : NULL;
    const bool exceeds = probe && module_exceeds_memory(ctx, bytes);
    server.Free(probe);
    return exceeds;
}

/*
 * Blocks that are aligned to 64 bytes. The server aligns to 16, so a block gets 64 bytes more, and the
 * address of the server's block is kept before it:
 *
 *     server's block    | 0 to 48 bytes | 8 bytes | address | aligned block ...
 */
enum { ALIGN_MAX = 64, POINTER = sizeof(void *) };

static void *allocate_aligned(void *context, size_t size, size_t align) {
    if (align > ALIGN_MAX || size > SIZE_MAX - ALIGN_MAX)
        return NULL;
    char *block = allocate(context, size + ALIGN_MAX, 1);
    if (!block)
        return NULL;
    char *aligned = block + ALIGN_MAX - (uintptr_t)block % ALIGN_MAX;
    memcpy(aligned - POINTER, &block, POINTER);
    return aligned;
}

static void release_aligned(void *context, void *aligned, size_t size) {
    char *block;
    memcpy(&block, (char *)aligned - POINTER, POINTER);
    release(context, block, size);
}

const tamis_allocator *module_aligned_allocator(void) {
    static const tamis_allocator allocator = {allocate_aligned, release_aligned, NULL};
    return &allocator;
}

void *module_alloc_bytes(size_t size) {
    return server.TryAlloc ? server.TryAlloc(size) : server.Alloc(size);
}

void *module_defrag_block(void *context, void *block) {
    void *moved = server.DefragAlloc(context, block);
    return moved ? moved : block;
}

/* ---- keys ---- */

filter_key_state module_key_state(RedisModuleKey *key, const RedisModuleType *filter,
                                  const RedisModuleType *incomplete) {
    const int type = server.KeyType(key);
    if (type == MODULE_KEY_EMPTY)
        return FILTER_KEY_EMPTY;
    const RedisModuleType *module_type = type == MODULE_KEY_MODULE ? server.ModuleTypeGetType(key) : NULL;
    return module_type == NULL         ? FILTER_KEY_OTHER
           : module_type == filter     ? FILTER_KEY_FILTER
           : module_type == incomplete ? FILTER_KEY_INCOMPLETE
                                       : FILTER_KEY_OTHER;
}

int module_reply_incomplete(RedisModuleCtx *ctx, const char *command, uint64_t loaded, uint64_t bytes) {
    char text[160];
    snprintf(text, sizeof text, "ERR filter is incomplete: %s has loaded %llu of %llu bytes", command,
             (unsigned long long)loaded, (unsigned long long)bytes);
    return server.ReplyWithError(ctx, text);
}

void module_key_replace(RedisModuleKey *key, RedisModuleType *type, void *value) {
    /* The time itself, where the server gives it: set from the time left, it would differ on a replica. */
    const bool exact = server.GetAbsExpire && server.SetAbsExpire;
    const long long expires = exact ? server.GetAbsExpire(key) : server.GetExpire(key);
    server.DeleteKey(key);
    server.ModuleTypeSetValue(key, type, value);
    if (expires != MODULE_NO_EXPIRE && exact)
        server.SetAbsExpire(key, expires);
    else if (expires != MODULE_NO_EXPIRE)
        server.SetExpire(key, expires);
}

/* ---- fields ---- */

static void save_number(void *io, uint64_t value) {
    server.SaveUnsigned(io, value);
}

static void save_real(void *io, double value) {
    server.SaveDouble(io, value);
}

static void save_bytes(void *io, const void *bytes, size_t size) {
    server.SaveStringBuffer(io, bytes, size);
}

tamis_redisbloom_sink module_sink(RedisModuleIO *io) {
    tamis_redisbloom_sink sink = TAMIS_REDISBLOOM_SINK_INIT;
    sink.context = io;
    sink.number = save_number;
    sink.real = save_real;
    sink.bytes = save_bytes;
    return sink;
}

bool module_load_number(void *io, uint64_t *value) {
    *value = server.LoadUnsigned(io);
    return !server.IsIOError(io);
}

static bool load_real(void *io, double *value) {
    *value = server.LoadDouble(io);
    return !server.IsIOError(io);
}

void *module_load_bytes(void *io, size_t *size) {
    char *bytes = server.LoadStringBuffer(io, size);
    if (bytes && server.IsIOError(io)) {
        server.Free(bytes);
        return NULL;
    }
    return bytes;
}

tamis_redisbloom_source module_source(RedisModuleIO *io) {
    tamis_redisbloom_source source = TAMIS_REDISBLOOM_SOURCE_INIT;
    source.context = io;
    source.number = module_load_number;
    source.real = load_real;
    source.bytes = module_load_bytes;
    return source;
}
