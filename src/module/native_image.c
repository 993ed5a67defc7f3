/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Images of native filters (docs/FORMAT.md), and the commands that load one in chunks:
 *
 *     BF.LOADIMAGE key offset size bytes        a filter
 *     TW.LOADIMAGE key offset size bytes        a window
 *
 * `size` is that of the whole image. Chunks come in order, from offset 0 on. A chunk that is repeated is not
 * an error, unless it is the last one: that one checks the image and makes it a filter. Until then the key is
 * incomplete: no other command works on it, but it is saved, replicated and copied.
 *
 * A rewritten AOF has these commands. Memory for an image grows with its chunks, whatever size is given.
 */
#include "module/module.h"

#include <stdio.h>
#include <string.h>

#include <tamis/file.h>

enum { CHUNK = 16 << 20, FIRST = 64 << 10 };

/* ---- bytes ---- */

tamis_status native_decode(tamis_filter **filter, const native_type *type, const void *image, size_t size,
                           tamis_error *err) {
    return tamis_module_value_decode(filter, type->number, image, size, module_aligned_allocator(), err);
}

char *native_encode(const tamis_filter *filter, size_t *size) {
    uint64_t bytes = 0;
    tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &bytes, NULL);
    char *image = server.Alloc(bytes);
    tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, image, bytes, NULL);
    *size = (size_t)bytes;
    return image;
}

/* Writes commands that load the image of an incomplete value. */
static void emit_chunks(RedisModuleIO *aof, RedisModuleString *key, const char *command,
                        const native_value *value) {
    const size_t loaded = (size_t)value->loaded;
    for (size_t offset = 0; offset < loaded; offset += CHUNK)
        server.EmitAOF(aof, command, "sllb", key, (long long)offset, (long long)value->image_size,
                       value->image + offset, loaded - offset < CHUNK ? loaded - offset : (size_t)CHUNK);
}

void native_rewrite(RedisModuleIO *aof, RedisModuleString *key, const native_type *type,
                    const native_value *value) {
    if (!value->filter) {
        emit_chunks(aof, key, type->load_command, value);
        return;
    }
    size_t size;
    char *image = native_encode(value->filter, &size);
    const native_value encoded = {.image = image, .image_size = size, .loaded = size};
    emit_chunks(aof, key, type->load_command, &encoded);
    server.Free(image);
}

/* ---- chunks ---- */

/* Makes the buffer of an image hold `loaded` bytes. False: the memory was refused. */
static bool reserve(native_value *value, uint64_t loaded) {
    if (loaded <= value->allocated)
        return true;
    uint64_t grown = 2 * value->allocated > FIRST ? 2 * value->allocated : FIRST;
    if (grown > value->image_size)
        grown = value->image_size;
    if (grown < loaded)
        grown = loaded;
    char *image = module_alloc_bytes((size_t)grown);
    if (!image)
        return false;
    if (value->loaded > 0)
        memcpy(image, value->image, (size_t)value->loaded);
    server.Free(value->image);
    value->image = image;
    value->allocated = grown;
    return true;
}

/* A chunk of an image, and the size of the whole image. */
typedef struct chunk {
    const char *bytes;
    size_t size;
    uint64_t offset, image_size;
} chunk;

/* Loads a chunk into a value. On failure the value is unchanged. */
static tamis_status load_chunk(native_value *value, const native_type *type, const chunk *loaded,
                               tamis_error *err) {
    const uint64_t end = loaded->offset + loaded->size;
    const bool is_next = loaded->offset == value->loaded || end <= value->loaded;
    if (value->image_size != loaded->image_size || !is_next) {
        snprintf(err->text, sizeof err->text, "%llu of %llu bytes are loaded; go on there",
                 (unsigned long long)value->loaded, (unsigned long long)value->image_size);
        return TAMIS_E_DAMAGED;
    }
    if (end <= value->loaded) {
        if (memcmp(value->image + loaded->offset, loaded->bytes, loaded->size) == 0)
            return TAMIS_OK;
        snprintf(err->text, sizeof err->text,
                 "other bytes are loaded already; delete the key, and begin again");
        return TAMIS_E_DAMAGED;
    }
    if (!reserve(value, end)) {
        snprintf(err->text, sizeof err->text, "insufficient memory");
        return TAMIS_E_NOMEM;
    }
    memcpy(value->image + loaded->offset, loaded->bytes, loaded->size);
    if (end < value->image_size) {
        value->loaded = end;
        return TAMIS_OK;
    }
    tamis_filter *filter;
    const tamis_status status = native_decode(&filter, type, value->image, (size_t)end, err);
    if (status != TAMIS_OK)
        return status;
    native_value *whole = native_value_create(filter);
    server.Free(value->image);
    *value = *whole;
    server.Free(whole);
    return TAMIS_OK;
}

/* Loads a chunk at an open key, which is empty or incomplete. */
static tamis_status load_at_key(RedisModuleKey *key, const native_type *type, const chunk *loaded,
                                tamis_error *err) {
    native_value *value = native_value_of(key, type);
    if (value)
        return load_chunk(value, type, loaded, err);
    value = native_value_create(NULL);
    value->image_size = loaded->image_size;
    const tamis_status status = load_chunk(value, type, loaded, err);
    if (status == TAMIS_OK) {
        server.ModuleTypeSetValue(key, type->type, value);
    } else {
        server.Free(value->image);
        server.Free(value);
    }
    return status;
}

/* Reads the arguments. Returns the error, or NULL. */
static const char *parse_chunk(chunk *to, RedisModuleString **argv) {
    long long offset, image_size;
    to->bytes = server.StringPtrLen(argv[4], &to->size);
    if (server.StringToLongLong(argv[2], &offset) != MODULE_OK ||
        server.StringToLongLong(argv[3], &image_size) != MODULE_OK || offset < 0 || image_size < 1)
        return "ERR offset and size must be numbers of bytes";
    if (to->size == 0 || offset >= image_size || to->size > (uint64_t)(image_size - offset))
        return "ERR the chunk is empty, or not within the image";
    to->offset = (uint64_t)offset;
    to->image_size = (uint64_t)image_size;
    return NULL;
}

static int load_image(RedisModuleCtx *ctx, RedisModuleString **argv, const native_type *type) {
    chunk loaded;
    const char *error = parse_chunk(&loaded, argv);
    if (error)
        return server.ReplyWithError(ctx, error);
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], MODULE_READ | MODULE_WRITE);
    const native_value *value = native_value_of(key, type);
    const bool is_empty = server.KeyType(key) == MODULE_KEY_EMPTY;
    tamis_error err = TAMIS_ERROR_INIT;
    char text[sizeof err.text + 8];
    if (!is_empty && !value) {
        error = MODULE_WRONG_TYPE;
    } else if (value && value->filter) {
        error = "ERR item exists";
    } else if (is_empty && loaded.offset > 0) {
        error = "ERR not found";
    } else if (load_at_key(key, type, &loaded, &err) != TAMIS_OK) {
        snprintf(text, sizeof text, "ERR %s", err.text);
        error = text;
    }
    server.CloseKey(key);
    if (error)
        return server.ReplyWithError(ctx, error);
    server.ReplicateVerbatim(ctx);
    return server.ReplyWithSimpleString(ctx, "OK");
}

int bloom_loadimage(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return load_image(ctx, argv, &native_filters);
}

int window_loadimage(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return load_image(ctx, argv, &native_windows);
}
