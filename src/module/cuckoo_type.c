/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The types of cuckoo filters, as bloom_type.c has them of Bloom filters. `MBbloomCF` has RedisBloom's name
 * and encoding version. `TAMISloCF` has the header and the chunks that are loaded:
 *
 *     string header; then for each chunk u position, string slots; then u 0
 */
#include "module/module.h"

enum {
    ENCODING = TAMIS_REDISBLOOM_CUCKOO_RDB_VERSION,
    LOAD_ENCODING = 0,
    EFFORT_BYTES = 64 << 10,
    HEADER = TAMIS_REDISBLOOM_CUCKOO_HEADER
};

static RedisModuleType *filter_type, *load_type;

/* ---- memory ---- */

static cuckoo_value *create_value(tamis_redisbloom_cuckoo *filter) {
    cuckoo_value *value = server.Alloc(sizeof *value);
    value->filter = filter;
    return value;
}

static void free_value(void *data) {
    cuckoo_value *value = data;
    tamis_redisbloom_cuckoo_free(value->filter);
    server.Free(value);
}

static tamis_redisbloom_cuckoo_info info_of(const void *data) {
    const cuckoo_value *value = data;
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    tamis_redisbloom_cuckoo_info_get(value->filter, &info, NULL);
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
    const tamis_redisbloom_cuckoo_info info = info_of(data);
    return (size_t)(info.tables + info.memory / EFFORT_BYTES);
}

static void *copy_value(RedisModuleString *from, RedisModuleString *to, const void *data) {
    (void)from;
    (void)to;
    const cuckoo_value *value = data;
    tamis_redisbloom_cuckoo *copy;
    return tamis_redisbloom_cuckoo_copy(&copy, value->filter, NULL) == TAMIS_OK ? create_value(copy) : NULL;
}

static int defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **data) {
    (void)key;
    cuckoo_value *value = *data = module_defrag_block(ctx, *data);
    tamis_redisbloom_cuckoo_relocate(&value->filter, module_defrag_block, ctx);
    return 0; /* all is done */
}

/* ---- headers and chunks ---- */

static void digest_value(RedisModuleDigest *digest, void *data) {
    const cuckoo_value *value = data;
    const void *bytes;
    size_t size;
    char header[HEADER];
    tamis_redisbloom_cuckoo_header_write(value->filter, header);
    server.DigestAddStringBuffer(digest, header, HEADER);
    for (uint64_t next = 1; (next = tamis_redisbloom_cuckoo_chunk(value->filter, next, &bytes, &size)) != 0;)
        server.DigestAddStringBuffer(digest, bytes, size);
    server.DigestEndSequence(digest);
}

static void rewrite(RedisModuleIO *aof, RedisModuleString *key, void *data) {
    const cuckoo_value *value = data;
    const void *bytes;
    size_t size;
    char header[HEADER];
    tamis_redisbloom_cuckoo_header_write(value->filter, header);
    server.EmitAOF(aof, "CF.LOADCHUNK", "slb", key, 1LL, (const char *)header, (size_t)HEADER);
    for (uint64_t next = 1; (next = tamis_redisbloom_cuckoo_chunk(value->filter, next, &bytes, &size)) != 0;)
        server.EmitAOF(aof, "CF.LOADCHUNK", "slb", key, (long long)next, (const char *)bytes, size);
}

/* ---- RDB of filters ---- */

static void save_filter(RedisModuleIO *io, void *data) {
    const cuckoo_value *value = data;
    const tamis_redisbloom_sink sink = module_sink(io);
    tamis_redisbloom_cuckoo_rdb_write(value->filter, &sink, NULL);
}

static void *load_filter(RedisModuleIO *io, int encoding_version) {
    const tamis_redisbloom_source source = module_source(io);
    tamis_redisbloom_cuckoo *filter;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_redisbloom_cuckoo_rdb_read(&filter, (uint32_t)encoding_version, &source, module_allocator(),
                                         &err) != TAMIS_OK) {
        server.LogIOError(io, "warning", "%s", err.text);
        return NULL;
    }
    return create_value(filter);
}

/* ---- RDB of incomplete filters ---- */

static void save_incomplete(RedisModuleIO *io, void *data) {
    const cuckoo_value *value = data;
    const void *bytes;
    size_t size;
    char header[HEADER];
    tamis_redisbloom_cuckoo_header_write(value->filter, header);
    server.SaveStringBuffer(io, header, HEADER);
    for (uint64_t next = 1;
         (next = tamis_redisbloom_cuckoo_chunk(value->filter, next, &bytes, &size)) != 0;) {
        server.SaveUnsigned(io, next);
        server.SaveStringBuffer(io, bytes, size);
    }
    server.SaveUnsigned(io, 0);
}

static tamis_status load_saved_chunks(RedisModuleIO *io, tamis_redisbloom_cuckoo *filter, tamis_error *err) {
    uint64_t position;
    while (module_load_number(io, &position) && position != 0) {
        size_t size = 0;
        void *bytes = module_load_bytes(io, &size);
        const tamis_status status =
            bytes ? tamis_redisbloom_cuckoo_load_chunk(filter, position, bytes, size, err) : TAMIS_E_DAMAGED;
        server.Free(bytes);
        if (status != TAMIS_OK)
            return status;
    }
    return server.IsIOError(io) ? TAMIS_E_DAMAGED : TAMIS_OK;
}

static void *load_incomplete(RedisModuleIO *io, int encoding_version) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_redisbloom_cuckoo *filter = NULL;
    size_t size = 0;
    void *header = encoding_version == LOAD_ENCODING ? module_load_bytes(io, &size) : NULL;
    tamis_status status =
        header ? tamis_redisbloom_cuckoo_load_header(&filter, header, size, module_allocator(), &err)
               : TAMIS_E_DAMAGED;
    server.Free(header);
    if (status == TAMIS_OK)
        status = load_saved_chunks(io, filter, &err);
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    if (status == TAMIS_OK)
        status = tamis_redisbloom_cuckoo_info_get(filter, &info, &err);
    if (status != TAMIS_OK || info.complete) {
        server.LogIOError(io, "warning", "%s", *err.text ? err.text : "not an incomplete filter");
        tamis_redisbloom_cuckoo_free(filter);
        return NULL;
    }
    return create_value(filter);
}

bool cuckoo_types_create(RedisModuleCtx *ctx) {
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
    filter_type = server.CreateDataType(ctx, "MBbloomCF", ENCODING, &methods);
    methods.rdb_load = load_incomplete;
    methods.rdb_save = save_incomplete;
    methods.mem_usage = memory_usage_of_loaded;
    load_type = server.CreateDataType(ctx, "TAMISloCF", LOAD_ENCODING, &methods);
    return filter_type && load_type;
}

/* ---- keys ---- */

cuckoo_key cuckoo_key_open(RedisModuleCtx *ctx, RedisModuleString *name, int mode) {
    cuckoo_key opened = {.key = server.OpenKey(ctx, name, mode)};
    opened.state = module_key_state(opened.key, filter_type, load_type);
    if (opened.state != FILTER_KEY_FILTER && opened.state != FILTER_KEY_INCOMPLETE)
        return opened;
    const cuckoo_value *value = server.ModuleTypeGetValue(opened.key);
    opened.filter = value->filter;
    return opened;
}

void cuckoo_key_close(cuckoo_key *key) {
    server.CloseKey(key->key);
}

void cuckoo_key_set(cuckoo_key *key, tamis_redisbloom_cuckoo *filter) {
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    tamis_redisbloom_cuckoo_info_get(filter, &info, NULL);
    server.ModuleTypeSetValue(key->key, info.complete ? filter_type : load_type, create_value(filter));
    key->filter = filter;
    key->state = info.complete ? FILTER_KEY_FILTER : FILTER_KEY_INCOMPLETE;
}

void cuckoo_key_complete(cuckoo_key *key) {
    cuckoo_value *value = server.ModuleTypeGetValue(key->key);
    value->filter = NULL; /* it moves to the new value */
    module_key_replace(key->key, filter_type, create_value(key->filter));
    key->state = FILTER_KEY_FILTER;
}

int cuckoo_key_refuse(RedisModuleCtx *ctx, const cuckoo_key *key, const char *other) {
    if (key->state != FILTER_KEY_INCOMPLETE) {
        const char *usual = key->state == FILTER_KEY_EMPTY ? "ERR not found" : MODULE_WRONG_TYPE;
        return server.ReplyWithError(ctx, other ? other : usual);
    }
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    tamis_redisbloom_cuckoo_info_get(key->filter, &info, NULL);
    return module_reply_incomplete(ctx, "CF.LOADCHUNK", info.loaded, info.bytes);
}
