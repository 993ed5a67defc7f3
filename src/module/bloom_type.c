/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The types of filters: how the server saves, loads, copies, compares and frees them.
 *
 * `MBbloom--` has RedisBloom's name and encoding version: RDB files, dumps and replicas move over in both
 * directions. `TAMISload` (module.h) has the header and the chunks that are loaded, each as a string:
 *
 *     string header; then for each chunk u iterator, string bits; then u 0
 *
 * Bytes from outside go through the library's checks, which are the same for RDB files, RESTORE and
 * BF.LOADCHUNK. The server leaves errors of reading to us (MODULE_HANDLE_IO_ERRORS), so a damaged payload is
 * refused and does not end the server.
 *
 * Lazy freeing: UNLINK and eviction free a value in a thread of the server if its effort exceeds 64.
 */
#include "module/module.h"

enum { ENCODING = TAMIS_REDISBLOOM_RDB_VERSION, LOAD_ENCODING = 0, EFFORT_BYTES = 64 << 10 };

static RedisModuleType *filter_type, *load_type;

/* ---- memory ---- */

bloom_value *bloom_value_create(tamis_redisbloom *filter) {
    bloom_value *value = server.Alloc(sizeof *value);
    value->filter = filter;
    return value;
}

static void free_value(void *data) {
    bloom_value *value = data;
    tamis_redisbloom_free(value->filter);
    server.Free(value);
}

static tamis_redisbloom_info info_of(const void *data) {
    const bloom_value *value = data;
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    tamis_redisbloom_info_get(value->filter, &info, NULL);
    return info;
}

/* As RedisBloom reports it. */
static size_t memory_usage(const void *data) {
    return (size_t)info_of(data).size;
}

static size_t memory_usage_of_loaded(const void *data) {
    return (size_t)info_of(data).memory;
}

static size_t free_effort(RedisModuleString *key, const void *data) {
    (void)key;
    const tamis_redisbloom_info info = info_of(data);
    return (size_t)(info.subfilters + info.memory / EFFORT_BYTES);
}

static void *copy_value(RedisModuleString *from, RedisModuleString *to, const void *data) {
    (void)from;
    (void)to;
    const bloom_value *value = data;
    tamis_redisbloom *copy;
    return tamis_redisbloom_copy(&copy, value->filter, NULL) == TAMIS_OK ? bloom_value_create(copy) : NULL;
}

static int defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **data) {
    (void)key;
    bloom_value *value = *data = module_defrag_block(ctx, *data);
    tamis_redisbloom_relocate(&value->filter, module_defrag_block, ctx);
    return 0; /* all is done */
}

/* ---- headers and chunks ---- */

/* Returns the header, which the caller frees. */
static char *header_of(const tamis_redisbloom *filter, size_t *size) {
    *size = tamis_redisbloom_header_size(filter);
    char *header = server.Alloc(*size);
    tamis_redisbloom_header_write(filter, header);
    return header;
}

static void digest_value(RedisModuleDigest *digest, void *data) {
    const bloom_value *value = data;
    const void *bytes;
    size_t size;
    char *header = header_of(value->filter, &size);
    server.DigestAddStringBuffer(digest, header, size);
    server.Free(header);
    for (uint64_t next = 1; (next = tamis_redisbloom_chunk(value->filter, next, &bytes, &size)) != 0;)
        server.DigestAddStringBuffer(digest, bytes, size);
    server.DigestEndSequence(digest);
}

static void rewrite(RedisModuleIO *aof, RedisModuleString *key, void *data) {
    const bloom_value *value = data;
    const void *bytes;
    size_t size;
    char *header = header_of(value->filter, &size);
    server.EmitAOF(aof, "BF.LOADCHUNK", "slb", key, 1LL, header, size);
    server.Free(header);
    for (uint64_t next = 1; (next = tamis_redisbloom_chunk(value->filter, next, &bytes, &size)) != 0;)
        server.EmitAOF(aof, "BF.LOADCHUNK", "slb", key, (long long)next, (const char *)bytes, size);
}

/* ---- RDB of filters ---- */

static void save_filter(RedisModuleIO *io, void *data) {
    const bloom_value *value = data;
    const tamis_redisbloom_sink sink = module_sink(io);
    tamis_redisbloom_rdb_write(value->filter, &sink, NULL);
}

static void *load_filter(RedisModuleIO *io, int encoding_version) {
    const tamis_redisbloom_source source = module_source(io);
    tamis_redisbloom *filter;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_redisbloom_rdb_read(&filter, (uint32_t)encoding_version, &source, module_allocator(), &err) !=
        TAMIS_OK) {
        server.LogIOError(io, "warning", "%s", err.text);
        return NULL;
    }
    return bloom_value_create(filter);
}

/* ---- RDB of incomplete filters ---- */

static void save_incomplete(RedisModuleIO *io, void *data) {
    const bloom_value *value = data;
    const void *bytes;
    size_t size;
    char *header = header_of(value->filter, &size);
    server.SaveStringBuffer(io, header, size);
    server.Free(header);
    for (uint64_t next = 1; (next = tamis_redisbloom_chunk(value->filter, next, &bytes, &size)) != 0;) {
        server.SaveUnsigned(io, next);
        server.SaveStringBuffer(io, bytes, size);
    }
    server.SaveUnsigned(io, 0);
}

static tamis_status load_saved_chunks(RedisModuleIO *io, tamis_redisbloom *filter, tamis_error *err) {
    uint64_t iterator;
    while (module_load_number(io, &iterator) && iterator != 0) {
        size_t size = 0;
        void *bytes = module_load_bytes(io, &size);
        const tamis_status status =
            bytes ? tamis_redisbloom_load_chunk(filter, iterator, bytes, size, err) : TAMIS_E_DAMAGED;
        server.Free(bytes);
        if (status != TAMIS_OK)
            return status;
    }
    return server.IsIOError(io) ? TAMIS_E_DAMAGED : TAMIS_OK;
}

static void *load_incomplete(RedisModuleIO *io, int encoding_version) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_redisbloom *filter = NULL;
    size_t size = 0;
    void *header = encoding_version == LOAD_ENCODING ? module_load_bytes(io, &size) : NULL;
    tamis_status status = header
                              ? tamis_redisbloom_load_header(&filter, header, size, module_allocator(), &err)
                              : TAMIS_E_DAMAGED;
    server.Free(header);
    if (status == TAMIS_OK)
        status = load_saved_chunks(io, filter, &err);
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    if (status == TAMIS_OK)
        status = tamis_redisbloom_info_get(filter, &info, &err);
    if (status != TAMIS_OK || info.complete) {
        server.LogIOError(io, "warning", "%s", *err.text ? err.text : "not an incomplete filter");
        tamis_redisbloom_free(filter);
        return NULL;
    }
    return bloom_value_create(filter);
}

bool bloom_types_create(RedisModuleCtx *ctx) {
    RedisModuleTypeMethods methods = {
        .version = MODULE_TYPE_METHODS_VERSION,
        .rdb_load = load_filter,
        .rdb_save = save_filter,
        .aof_rewrite = rewrite,
        .mem_usage = memory_usage,
        .digest = digest_value,
        .free = free_value,
        .free_effort = free_effort,
        .copy = copy_value,
        .defrag = server.DefragAlloc ? defrag : NULL,
    };
    filter_type = server.CreateDataType(ctx, "MBbloom--", ENCODING, &methods);
    methods.rdb_load = load_incomplete;
    methods.rdb_save = save_incomplete;
    methods.mem_usage = memory_usage_of_loaded;
    load_type = server.CreateDataType(ctx, "TAMISload", LOAD_ENCODING, &methods);
    return filter_type && load_type;
}

/* ---- keys ---- */

bloom_key bloom_key_open(RedisModuleCtx *ctx, RedisModuleString *name, int mode) {
    bloom_key opened = {.key = server.OpenKey(ctx, name, mode)};
    opened.state = module_key_state(opened.key, filter_type, load_type);
    opened.native = opened.state == FILTER_KEY_OTHER ? native_value_of(opened.key, &native_filters) : NULL;
    if (opened.native)
        opened.state = opened.native->filter ? FILTER_KEY_FILTER : FILTER_KEY_INCOMPLETE;
    if (opened.native || opened.state == FILTER_KEY_EMPTY || opened.state == FILTER_KEY_OTHER)
        return opened;
    const bloom_value *value = server.ModuleTypeGetValue(opened.key);
    opened.filter = value->filter;
    return opened;
}

void bloom_key_close(bloom_key *key) {
    server.CloseKey(key->key);
}

void bloom_key_set(bloom_key *key, tamis_redisbloom *filter) {
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    tamis_redisbloom_info_get(filter, &info, NULL);
    server.ModuleTypeSetValue(key->key, info.complete ? filter_type : load_type, bloom_value_create(filter));
    key->filter = filter;
    key->state = info.complete ? FILTER_KEY_FILTER : FILTER_KEY_INCOMPLETE;
}

void bloom_key_replace(bloom_key *key, tamis_redisbloom *filter) {
    bloom_value *value = server.ModuleTypeGetValue(key->key);
    tamis_redisbloom_free(value->filter);
    value->filter = key->filter = filter;
}

void bloom_key_complete(bloom_key *key) {
    bloom_value *value = server.ModuleTypeGetValue(key->key);
    value->filter = NULL; /* it moves to the new value */
    module_key_replace(key->key, filter_type, bloom_value_create(key->filter));
    key->state = FILTER_KEY_FILTER;
}

int bloom_key_refuse(RedisModuleCtx *ctx, const bloom_key *key) {
    if (key->state == FILTER_KEY_EMPTY)
        return server.ReplyWithError(ctx, "ERR not found");
    if (key->state != FILTER_KEY_INCOMPLETE)
        return server.ReplyWithError(ctx, MODULE_WRONG_TYPE);
    if (key->native)
        return module_reply_incomplete(ctx, native_filters.load_command, key->native->loaded,
                                       key->native->image_size);
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    tamis_redisbloom_info_get(key->filter, &info, NULL);
    return module_reply_incomplete(ctx, "BF.LOADCHUNK", info.loaded, info.bytes);
}

/* ---- filters of either sort ---- */

tamis_status bloom_key_add(bloom_key *key, const tamis_key *items, size_t count, tamis_answer *answers,
                           size_t *done) {
    if (!key->native)
        return tamis_redisbloom_add_many(key->filter, items, count, answers, done, NULL);
    const tamis_status status = tamis_filter_add_many(key->native->filter, items, count, answers, done, NULL);
    for (size_t i = 0; i < *done; i++)
        key->native->added += answers[i] == TAMIS_ABSENT;
    return status;
}

void bloom_key_look_up(const bloom_key *key, const tamis_key *items, size_t count, tamis_answer *answers) {
    if (key->native)
        tamis_filter_contains_many(key->native->filter, items, count, answers, NULL, NULL);
    else
        tamis_redisbloom_contains_many(key->filter, items, count, answers, NULL);
}

static bloom_statistics native_statistics(const native_value *value) {
    const tamis_plan *plan = tamis_filter_plan(value->filter);
    const bool grows = tamis_filter_can(value->filter, TAMIS_CAN_GROW);
    return (bloom_statistics){
        .items = value->added,
        .capacity = plan->capacity ? plan->capacity : value->added, /* growing: it has no capacity */
        .size = native_memory(value),
        .subfilters = 1,
        .expansion = grows ? 2 : 0,
        .rate = plan->fpr,
        .live_rate = native_live_rate(value),
        .is_full = value->is_refusing || (!grows && value->added >= plan->capacity),
        .kind = plan->capacity ? tamis_kind_name(plan->kind) : MODULE_GROWING,
    };
}

/* An absent item is a false positive if any sub-filter has it. */
static double live_rate_of(const tamis_redisbloom *filter, uint64_t subfilters) {
    double none = 1;
    for (uint64_t i = 0; i < subfilters; i++) {
        tamis_redisbloom_subfilter sub = TAMIS_REDISBLOOM_SUBFILTER_INIT;
        tamis_redisbloom_subfilter_get(filter, i, &sub, NULL);
        none *= 1 - tamis_bloom_fpr((double)sub.keys, (double)sub.bits, sub.hashes);
    }
    return 1 - none;
}

bloom_statistics bloom_key_statistics(const bloom_key *key) {
    if (key->native)
        return native_statistics(key->native);
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    tamis_redisbloom_subfilter first = TAMIS_REDISBLOOM_SUBFILTER_INIT;
    tamis_redisbloom_info_get(key->filter, &info, NULL);
    tamis_redisbloom_subfilter_get(key->filter, 0, &first, NULL);
    return (bloom_statistics){
        .items = info.keys,
        .capacity = info.capacity,
        .size = info.size,
        .subfilters = info.subfilters,
        .expansion = info.expansion,
        .rate = info.nonscaling ? first.rate : 2 * first.rate, /* the first one has half of the rate */
        .live_rate = live_rate_of(key->filter, info.subfilters),
        .is_full = info.nonscaling && info.keys >= info.capacity,
        .kind = "compatible",
    };
}
