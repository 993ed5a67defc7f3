/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The types of native filters: how the server saves, loads, copies, compares and frees them.
 *
 * `TAMISflt1` holds any filter of the library that keeps its keys and counts none twice (classic, blocked,
 * fingerprint, exact), `TAMISwin1` a window. A value is a filter, or the beginning of its image while
 * BF.LOADIMAGE or TW.LOADIMAGE loads it. tamis/experimental/module_value.h has its fields in an RDB file or a
 * DUMP, and the functions that read them, for the module and for the command. The loader of .tamis files
 * checks every byte, from whatever source.
 *
 * The digest of a value has what decides about answers and about later adds: shape, counts, and the body of
 * the image. It leaves out statistics that are sums of many small numbers, since their last digit depends on
 * when a filter was loaded. A window is purged first: when expired entries are removed depends on that too.
 */
#include "module/module.h"

#include <string.h>

#include <tamis/experimental/window.h>
#include <tamis/file.h>

enum { WHOLE = 0, INCOMPLETE = 1, EFFORT_BYTES = 64 << 10 };

native_type native_filters = {.number = TAMIS_MODULE_FILTER, .load_command = "BF.LOADIMAGE"};
native_type native_windows = {.number = TAMIS_MODULE_WINDOW, .load_command = "TW.LOADIMAGE"};

/* ---- values ---- */

static tamis_filter_info info_of(const tamis_filter *filter) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_filter_info_get(filter, &info, NULL);
    return info;
}

static void set_filter(native_value *value, tamis_filter *filter) {
    const tamis_filter_info info = info_of(filter);
    value->filter = filter;
    value->added = info.added;
    value->is_refusing = info.saturated;
}

native_value *native_value_create(tamis_filter *filter) {
    native_value *value = server.Calloc(1, sizeof *value);
    if (filter)
        set_filter(value, filter);
    return value;
}

void native_value_replace(native_value *value, tamis_filter *filter) {
    tamis_filter_free(value->filter);
    set_filter(value, filter);
}

native_value *native_key_set(RedisModuleKey *key, const native_type *type, tamis_filter *filter) {
    native_value *value = native_value_create(filter);
    server.ModuleTypeSetValue(key, type->type, value);
    return value;
}

native_value *native_value_of(RedisModuleKey *key, const native_type *type) {
    return server.KeyType(key) == MODULE_KEY_MODULE && server.ModuleTypeGetType(key) == type->type
               ? server.ModuleTypeGetValue(key)
               : NULL;
}

/* The statistics of Bloom filters count all bits, so their size and rate come from the plan. */
uint64_t native_memory(const native_value *value) {
    if (!value->filter)
        return value->allocated;
    const tamis_plan *plan = tamis_filter_plan(value->filter);
    return tamis_kind_is_bloom(plan->kind) ? (plan->bits + 63) / 64 * 8 : info_of(value->filter).memory;
}

double native_live_rate(const native_value *value) {
    const tamis_plan *plan = tamis_filter_plan(value->filter);
    const double keys = (double)value->added, bits = (double)plan->bits;
    switch (plan->kind) {
    case TAMIS_KIND_CLASSIC:
        return tamis_bloom_fpr(keys, bits, plan->probes);
    case TAMIS_KIND_BLOCKED:
        return tamis_blocked_fpr(keys, bits, plan->probes);
    default:
        return info_of(value->filter).fpr_live;
    }
}

static void free_value(void *data) {
    native_value *value = data;
    tamis_filter_free(value->filter);
    server.Free(value->image);
    server.Free(value);
}

static size_t memory_usage(const void *data) {
    return sizeof(native_value) + (size_t)native_memory(data);
}

static size_t free_effort(RedisModuleString *key, const void *data) {
    (void)key;
    return (size_t)(1 + native_memory(data) / EFFORT_BYTES);
}

static void *copy_value(RedisModuleString *from, RedisModuleString *to, const void *data) {
    (void)from;
    (void)to;
    const native_value *value = data;
    tamis_filter *filter = NULL;
    if (value->filter && tamis_filter_copy(&filter, value->filter, NULL) != TAMIS_OK)
        return NULL;
    native_value *copy = server.Alloc(sizeof *copy);
    *copy = *value;
    copy->filter = filter;
    if (value->image) {
        copy->allocated = value->loaded;
        copy->image = server.Alloc(value->loaded);
        memcpy(copy->image, value->image, value->loaded);
    }
    return copy;
}

/* The blocks of the filter stay where they are: most are too large for the server to move. */
static int defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **data) {
    (void)key;
    native_value *value = *data = module_defrag_block(ctx, *data);
    if (value->image)
        value->image = module_defrag_block(ctx, value->image);
    return 0; /* all is done */
}

/* ---- digest ---- */

static void add_number(RedisModuleDigest *digest, uint64_t number) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> 8 * i);
    server.DigestAddStringBuffer(digest, (const char *)bytes, sizeof bytes);
}

/* A number in the header of a .tamis file. */
static uint64_t header_number(const char *image, size_t offset) {
    uint64_t number = 0;
    for (size_t i = 8; i > 0; i--)
        number = number << 8 | (unsigned char)image[offset + i - 1];
    return number;
}
enum { BODY_OFFSET = 32, BODY_SIZE = 40 }; /* where docs/FORMAT.md has these numbers */

static void digest_filter(RedisModuleDigest *digest, native_value *value) {
    const tamis_plan *plan = tamis_filter_plan(value->filter);
    const uint64_t numbers[] = {plan->kind,        plan->scheme,
                                plan->capacity,    tamis_hasher_seed(tamis_filter_hasher(value->filter)),
                                plan->probes,      plan->slot_bits,
                                plan->partitions,  value->added,
                                plan->window,      plan->step,
                                plan->lateness,    (uint64_t)tamis_window_newest(value->filter),
                                plan->refresh,     value->is_refusing,
                                plan->memory_limit};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        add_number(digest, numbers[i]);
    tamis_window_purge(value->filter);
    size_t size;
    char *image = native_encode(value->filter, &size);
    server.DigestAddStringBuffer(digest, image + header_number(image, BODY_OFFSET),
                                 header_number(image, BODY_SIZE));
    server.Free(image);
}

static void digest_value(RedisModuleDigest *digest, void *data) {
    native_value *value = data;
    if (value->filter) {
        digest_filter(digest, value);
    } else {
        add_number(digest, value->image_size);
        server.DigestAddStringBuffer(digest, value->image, value->loaded);
    }
    server.DigestEndSequence(digest);
}

/* ---- RDB and AOF ---- */

static void save(RedisModuleIO *io, void *data) {
    const native_value *value = data;
    if (!value->filter) {
        server.SaveUnsigned(io, INCOMPLETE);
        server.SaveUnsigned(io, value->image_size);
        server.SaveStringBuffer(io, value->image, value->loaded);
        return;
    }
    size_t size;
    char *image = native_encode(value->filter, &size);
    server.SaveUnsigned(io, WHOLE);
    server.SaveStringBuffer(io, image, size);
    server.Free(image);
}

/* Makes a value of the fields that were read. It owns the bytes of an image that is not whole. */
static native_value *accept(tamis_module_value *read, const native_type *type, tamis_error *err) {
    tamis_filter *filter = NULL;
    if (read->loaded < read->image_size) {
        native_value *value = native_value_create(NULL);
        value->image = read->image;
        value->image_size = read->image_size;
        value->loaded = value->allocated = read->loaded;
        return value;
    }
    const tamis_status status = native_decode(&filter, type, read->image, read->loaded, err);
    server.Free(read->image);
    return status == TAMIS_OK ? native_value_create(filter) : NULL;
}

static void *load(RedisModuleIO *io, int encoding_version, const native_type *type) {
    const tamis_redisbloom_source source = module_source(io);
    tamis_module_value read = TAMIS_MODULE_VALUE_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    native_value *value = NULL;
    if (tamis_module_value_read(&read, (uint32_t)encoding_version, &source, module_allocator(), &err) ==
        TAMIS_OK)
        value = accept(&read, type, &err);
    if (!value)
        server.LogIOError(io, "warning", "%s: %s", tamis_module_type_name(type->number), err.text);
    return value;
}

static void *load_filter(RedisModuleIO *io, int encoding_version) {
    return load(io, encoding_version, &native_filters);
}

static void *load_window(RedisModuleIO *io, int encoding_version) {
    return load(io, encoding_version, &native_windows);
}

static void rewrite_filter(RedisModuleIO *aof, RedisModuleString *key, void *data) {
    native_rewrite(aof, key, &native_filters, data);
}

static void rewrite_window(RedisModuleIO *aof, RedisModuleString *key, void *data) {
    native_rewrite(aof, key, &native_windows, data);
}

bool native_type_create(RedisModuleCtx *ctx, native_type *type) {
    const bool is_window = type->number == TAMIS_MODULE_WINDOW;
    RedisModuleTypeMethods methods = {
        .version = MODULE_TYPE_METHODS_VERSION,
        .rdb_load = is_window ? load_window : load_filter,
        .rdb_save = save,
        .aof_rewrite = is_window ? rewrite_window : rewrite_filter,
        .mem_usage = memory_usage,
        .digest = digest_value,
        .free = free_value,
        .free_effort = free_effort,
        .copy = copy_value,
        .defrag = server.DefragAlloc ? defrag : NULL,
    };
    type->type =
        server.CreateDataType(ctx, tamis_module_type_name(type->number), TAMIS_MODULE_RDB_VERSION, &methods);
    return type->type != NULL;
}
