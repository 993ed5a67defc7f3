/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Combining bitmaps: target = source op source op ...
 *
 *     on the server   BITOP, if all Redis keys are in one slot of one server, and repeating it is harmless
 *     in pieces       otherwise, or if the server refuses BITOP:
 *                     GETRANGE of 16 chunks of 1 MiB in a pipeline -> result in memory -> next chunks
 *                     SET target result; DEL if the result is empty
 *
 * BITOP may be sent twice if a reply is lost. For XOR and NOT with the target among the sources, the
 * second one would undo the first. For AND and OR it changes nothing.
 *
 * In pieces, one SET replaces the target, so it is never half written. A temporary Redis key and RENAME would
 * not do. For some keys no other name in the same slot could be made from them, and a Codis refuses RENAME.
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/bitmap/bitmap_query.h"

enum { CHUNK = 1 << 20, CHUNKS = 16 /* chunks read in one pipeline */ };

typedef struct combining {
    const tamis_redis_bitmap *target;
    tamis_redis_bitmap **sources;
    size_t count;
    tamis_redis_bitmap_operation op;
    /* in pieces only: */
    uint8_t *result; /* `size` bytes of the sources combined so far */
    size_t size;
    uint8_t *chunks; /* buffer for the chunks of one pipeline */
} combining;

/* ---- one command that changes the target ---- */

static tamis_status run_command(const tamis_redis_bitmap *target, const tamis_key *words, size_t count,
                                int64_t *integer, tamis_error *err) {
    tamis__command command = {.redis = target->redis,
                              .what = target->uri->shown_name,
                              .slot = tamis__bitmap_slot(target),
                              .words = words,
                              .count = count};
    const tamis_status status = tamis__command_run(&command, err);
    *integer = command.integer;
    return status;
}

static tamis_key key_of(const tamis_redis_bitmap *bitmap) {
    return (tamis_key){bitmap->uri->name, bitmap->uri->name_size};
}

/* ---- on the server ---- */

static bool is_same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* True if two URIs name the same servers and database, and log in as the same user. */
static bool is_same_server(const tamis__redis_uri *a, const tamis__redis_uri *b) {
    if (a->kind != b->kind || a->has_tls != b->has_tls || a->db != b->db ||
        a->address_count != b->address_count || !is_same_text(a->user, b->user) ||
        !is_same_text(a->password, b->password) || !is_same_text(a->master, b->master))
        return false;
    for (size_t i = 0; i < a->address_count; i++)
        if (a->addresses[i].port != b->addresses[i].port ||
            strcmp(a->addresses[i].host, b->addresses[i].host) != 0)
            return false;
    return true;
}

static bool is_in_same_slot(const tamis_redis_bitmap *target, const tamis_redis_bitmap *source) {
    return (source->redis == target->redis || is_same_server(&source->redis->uri, &target->redis->uri)) &&
           tamis__redis_slot(target->redis, source->uri->name, source->uri->name_size) ==
               tamis__bitmap_slot(target);
}

static bool can_use_bitop(const combining *ctx) {
    const tamis_key target = key_of(ctx->target);
    for (size_t i = 0; i < ctx->count; i++) {
        const tamis_key source = key_of(ctx->sources[i]);
        if (!is_in_same_slot(ctx->target, ctx->sources[i]))
            return false;
        if ((ctx->op == TAMIS_REDIS_BITMAP_XOR || ctx->op == TAMIS_REDIS_BITMAP_NOT) &&
            source.size == target.size && memcmp(source.data, target.data, target.size) == 0)
            return false;
    }
    return true;
}

static tamis_status run_bitop(const combining *ctx, uint64_t *size, tamis_error *err) {
    static const char *const names[] = {[TAMIS_REDIS_BITMAP_AND] = "AND",
                                        [TAMIS_REDIS_BITMAP_OR] = "OR",
                                        [TAMIS_REDIS_BITMAP_XOR] = "XOR",
                                        [TAMIS_REDIS_BITMAP_NOT] = "NOT"};
    const tamis_allocator *allocator = &ctx->target->allocator;
    const size_t count = 3 + ctx->count, buffer_size = count * sizeof(tamis_key);
    tamis_key *words = tamis__alloc(allocator, buffer_size, _Alignof(tamis_key));
    if (!words)
        return tamis__fail_nomem(err, "redis", buffer_size);
    words[0] = (tamis_key){"BITOP", 5};
    words[1] = (tamis_key){names[ctx->op], strlen(names[ctx->op])};
    words[2] = key_of(ctx->target);
    for (size_t i = 0; i < ctx->count; i++)
        words[3 + i] = key_of(ctx->sources[i]);
    int64_t length;
    const tamis_status status = run_command(ctx->target, words, count, &length, err);
    tamis__free(allocator, words, buffer_size);
    if (status == TAMIS_OK && length < 0)
        return tamis__bitmap_bad_reply(ctx->target, err);
    if (status == TAMIS_OK)
        *size = (uint64_t)length;
    return status;
}

/* ---- in pieces ---- */

/* Combines `size` bytes of a source into the result of the sources before it. Bytes past the end of a source
 * are 0. */
static void combine(tamis_redis_bitmap_operation op, bool is_first, uint8_t *result, const uint8_t *bytes,
                    size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (op == TAMIS_REDIS_BITMAP_NOT)
            result[i] = (uint8_t)~bytes[i];
        else if (is_first || op == TAMIS_REDIS_BITMAP_OR)
            result[i] |= bytes[i];
        else if (op == TAMIS_REDIS_BITMAP_XOR)
            result[i] ^= bytes[i];
        else
            result[i] &= bytes[i];
    }
}

/* Fetches one source and combines it into the result. */
static tamis_status fetch(const combining *ctx, size_t source, tamis_error *err) {
    const size_t size = ctx->size;
    tamis_status status = TAMIS_OK;
    for (size_t done = 0; done < size && status == TAMIS_OK;) {
        tamis__bitmap_query queries[CHUNKS];
        const size_t left = (size - done + CHUNK - 1) / CHUNK;
        const size_t count = left < CHUNKS ? left : CHUNKS;
        for (size_t i = 0; i < count; i++) {
            const int64_t from = (int64_t)(done + i * CHUNK);
            queries[i] = (tamis__bitmap_query){.command = "GETRANGE",
                                               .numbers = {from, from + CHUNK - 1},
                                               .count = 2,
                                               .bytes = ctx->chunks + i * CHUNK,
                                               .buffer_size = CHUNK};
        }
        status = tamis__bitmap_run_queries(ctx->sources[source], queries, count, err);
        for (size_t i = 0; i < count && status == TAMIS_OK; i++) {
            const size_t chunk_size = size - done < CHUNK ? size - done : CHUNK;
            memset(queries[i].bytes + queries[i].size, 0, CHUNK - queries[i].size);
            combine(ctx->op, source == 0, ctx->result + done, queries[i].bytes, chunk_size);
            done += chunk_size;
        }
    }
    return status;
}

static tamis_status store_result(const combining *ctx, tamis_error *err) {
    const bool is_empty = ctx->size == 0;
    const tamis_key words[] = {is_empty ? (tamis_key){"DEL", 3} : (tamis_key){"SET", 3},
                               key_of(ctx->target),
                               {ctx->result, ctx->size}};
    int64_t gone; /* reply to DEL, not used */
    return run_command(ctx->target, words, is_empty ? 2 : 3, &gone, err);
}

static tamis_status fetch_all(combining *ctx, tamis_error *err) {
    const tamis_allocator *allocator = &ctx->target->allocator;
    const size_t buffer_size = (size_t)CHUNKS * CHUNK;
    ctx->result = tamis__alloc(allocator, ctx->size, 1);
    ctx->chunks = tamis__alloc(allocator, buffer_size, 1);
    tamis_status status = TAMIS_OK;
    if (!ctx->result || !ctx->chunks)
        status = tamis__fail_nomem(err, "redis", ctx->result ? buffer_size : ctx->size);
    for (size_t i = 0; i < ctx->count && status == TAMIS_OK; i++)
        status = fetch(ctx, i, err);
    tamis__free(allocator, ctx->chunks, buffer_size);
    if (status == TAMIS_OK)
        status = store_result(ctx, err);
    tamis__free(allocator, ctx->result, ctx->size);
    return status;
}

static tamis_status combine_by_pieces(combining *ctx, uint64_t *size, tamis_error *err) {
    uint64_t longest = 0;
    for (size_t i = 0; i < ctx->count; i++) {
        tamis__bitmap_query length = {.command = "STRLEN"};
        const tamis_status status = tamis__bitmap_run_queries(ctx->sources[i], &length, 1, err);
        if (status != TAMIS_OK)
            return status;
        if (length.integer > 0 && (uint64_t)length.integer > longest)
            longest = (uint64_t)length.integer;
    }
    *size = longest;
    ctx->size = (size_t)longest;
    return longest > 0 ? fetch_all(ctx, err) : store_result(ctx, err);
}

/* ---- the call ---- */

static tamis_status open_source(tamis_redis_bitmap **source, const tamis_redis_bitmap *target,
                                const char *name, tamis_error *err) {
    return tamis_redis_bitmap_open(source, strstr(name, "://") ? NULL : target->redis, name,
                                   &target->allocator, err);
}

static tamis_status check_operation(const tamis_redis_bitmap *target, tamis_redis_bitmap_operation op,
                                    size_t count, tamis_error *err) {
    if (op > TAMIS_REDIS_BITMAP_NOT)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: operation %d is not known; give one of tamis_redis_bitmap_operation",
                           target->uri->shown, (int)op);
    if (count == 0 || (op == TAMIS_REDIS_BITMAP_NOT && count > 1))
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: %zu sources; give %s", target->uri->shown, count,
                           op == TAMIS_REDIS_BITMAP_NOT ? "one to not" : "one or more");
    return TAMIS_OK;
}

/* Fails if a target or source is of another type than string. BITOP would replace a target of any type,
 * and its error for a source would name the target. STRLEN of each gives an error with the right name. */
static tamis_status check_types(const combining *ctx, tamis_error *err) {
    tamis__bitmap_query length = {.command = "STRLEN"};
    tamis_status status = tamis__bitmap_run_queries(ctx->target, &length, 1, err);
    for (size_t i = 0; i < ctx->count && status == TAMIS_OK; i++)
        status = tamis__bitmap_run_queries(ctx->sources[i], &length, 1, err);
    return status;
}

/* Combines in pieces if BITOP cannot be used or is refused. Not after patience_ns: the caller has waited long
 * enough. */
static tamis_status combine_all(combining *ctx, uint64_t *size, tamis_error *err) {
    const uint64_t end = tamis__now_ns() + ctx->target->redis->patience_ns;
    tamis_status status = TAMIS_E_REFUSED;
    if (can_use_bitop(ctx))
        status = run_bitop(ctx, size, err);
    const bool is_refused = status == TAMIS_E_REFUSED || status == TAMIS_E_UNSUPPORTED; /* by a Codis */
    return is_refused && tamis__now_ns() < end ? combine_by_pieces(ctx, size, err) : status;
}

tamis_status tamis_redis_bitmap_op(tamis_redis_bitmap *target, tamis_redis_bitmap_operation op,
                                   const char *const *sources, size_t count, uint64_t *size,
                                   tamis_error *err) {
    TAMIS__NEED(target, err);
    TAMIS__NEED_IF(count, sources, err);
    const tamis_allocator *allocator = &target->allocator;
    combining ctx = {.target = target, .sources = NULL, .count = count, .op = op};
    uint64_t bytes = 0;
    tamis_status status = check_operation(target, op, count, err);
    if (status != TAMIS_OK)
        return status;
    ctx.sources = tamis__alloc(allocator, count * sizeof *ctx.sources, _Alignof(tamis_redis_bitmap *));
    if (!ctx.sources)
        return tamis__fail_nomem(err, "redis", count * sizeof *ctx.sources);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        status = open_source(&ctx.sources[i], target, sources[i], err);
    if (status == TAMIS_OK)
        status = check_types(&ctx, err);
    if (status == TAMIS_OK)
        status = combine_all(&ctx, &bytes, err);
    for (size_t i = 0; i < count; i++)
        tamis_redis_bitmap_close(ctx.sources[i]);
    tamis__free(allocator, ctx.sources, count * sizeof *ctx.sources);
    if (status == TAMIS_OK && size)
        *size = bytes;
    return status;
}
