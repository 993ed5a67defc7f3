/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Finding Redis keys by a pattern, on all servers:
 *
 *     server 0: SCAN 0 -> page, cursor 17; SCAN 17 -> page, cursor 5; ...; cursor 0: done
 *     server 1: SCAN 0 -> ...
 *
 * Errors on the way, each retried until patience ends:
 * - A page whose reply was lost is requested again by the same cursor, which is valid on another
 *   connection too.
 * - A server that was away may have been restarted, where old cursors mean nothing. It is scanned again
 *   from the start, so keys come twice.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/file/file_error.h"
#include "store/redis/request/redis_pipeline.h"

enum { PAGE_SIZE = 1000, CURSOR = 24 };

typedef struct scanning {
    tamis_redis *redis;
    const tamis__scan *what;
    const tamis__slot_map *map;
    tamis__node *node;   /* server that is being scanned */
    char cursor[CURSOR]; /* cursor of the next page; "0": the first page, or no more */
    size_t failures;     /* failed connections */
} scanning;

static tamis_status fail_refused(const scanning *ctx, const tamis__reply *reply, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_REFUSED, 0,
        "redis %s: refuses SCAN, without which nobody can tell what is there (%.100s); grant +scan, or "
        "ask for filters by their names",
        ctx->node->endpoint.shown, tamis__show(reply->text).text);
}

/* Takes a page, [cursor, [key, key, ...]]. With independent servers, a key on a server that does not have
 * its slot is skipped: no client would look for it there. */
static tamis_status accept_page(scanning *ctx, const tamis__reply *reply, tamis_error *err) {
    if (reply->type == TAMIS__REPLY_ERROR)
        return fail_refused(ctx, reply, err);
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != 2 ||
        reply->items[0].type != TAMIS__REPLY_STRING || reply->items[0].size >= CURSOR ||
        reply->items[1].type != TAMIS__REPLY_ARRAY)
        return tamis__fail(
            err, TAMIS_E_IO, 0,
            "redis %s: sent an answer to SCAN that is not a reply to it; see the server's log and version",
            ctx->node->endpoint.shown);
    snprintf(ctx->cursor, sizeof ctx->cursor, "%s", reply->items[0].text);
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < reply->items[1].size && status == TAMIS_OK; i++) {
        const tamis__reply *key = &reply->items[1].items[i];
        const bool is_stray =
            key->type != TAMIS__REPLY_STRING ||
            (ctx->redis->uri.kind == TAMIS__REDIS_SHARD &&
             ctx->map->slots[tamis__redis_slot(ctx->redis, key->text, key->size - ctx->what->slot_suffix)] !=
                 ctx->node);
        if (!is_stray)
            status = ctx->what->add_key(ctx->what->context, key->text, key->size, err);
    }
    return status;
}

static void put_scan(const scanning *ctx, tamis__connection *conn) {
    tamis__connection_put_command(conn, 8);
    tamis__connection_put_text(conn, "SCAN");
    tamis__connection_put_text(conn, ctx->cursor);
    tamis__connection_put_text(conn, "MATCH");
    tamis__connection_put(conn, ctx->what->pattern, ctx->what->pattern_size);
    tamis__connection_put_text(conn, "COUNT");
    tamis__connection_put_number(conn, PAGE_SIZE);
    tamis__connection_put_text(conn, "TYPE");
    tamis__connection_put_text(conn, ctx->what->type);
}

/* PAGE_DONE: a page, or a final failure. REPLY_LOST: the reply was lost. SERVER_AWAY: the server could not be
 * reached or was not ready. */
typedef enum scan_outcome { PAGE_DONE, REPLY_LOST, SERVER_AWAY } scan_outcome;

/* True if a failure may pass. The first one may be an accident, see tamis__in_flight_is_hopeless. */
static bool is_passing(scanning *ctx, tamis_status status) {
    return tamis__is_lost(status) &&
           (ctx->failures++ == 0 || !tamis__redis_is_hopeless(ctx->redis, ctx->node, status));
}

/* Reads one page. Each page takes a permit of its own, so that other threads get their turns in between. */
static tamis_status scan_page(scanning *ctx, uint64_t deadline, scan_outcome *outcome, tamis_error *err) {
    tamis_redis *redis = ctx->redis;
    const tamis__reply *reply;
    tamis__connection *conn;
    *outcome = PAGE_DONE;
    if (!tamis__redis_acquire_permit(redis, ctx->node, deadline))
        return tamis__redis_fail_no_permit(redis, ctx->node, err);
    tamis_status status = tamis__redis_get_connection(redis, ctx->node, deadline, &conn, err);
    if (status != TAMIS_OK) {
        *outcome = is_passing(ctx, status) ? SERVER_AWAY : PAGE_DONE;
        tamis__redis_release_permit(redis, ctx->node);
        return status;
    }
    put_scan(ctx, conn);
    status = tamis__connection_wait_reply(conn, tamis__now_ns() + redis->read_ns, &reply, err);
    if (status != TAMIS_OK) {
        *outcome = is_passing(ctx, status) ? REPLY_LOST : PAGE_DONE;
    } else if (reply->type == TAMIS__REPLY_ERROR && tamis__redis_is_transient(reply)) {
        *outcome = SERVER_AWAY;
        status = tamis__redis_refused(&ctx->node->endpoint, "SCAN", reply, err);
    } else {
        status = accept_page(ctx, reply, err);
    }
    if (status == TAMIS_OK)
        tamis__redis_mark_answered(redis, ctx->node);
    if (status == TAMIS_OK)
        tamis__redis_return_connection(redis, ctx->node, conn);
    else
        tamis__connection_close(conn);
    tamis__redis_release_permit(redis, ctx->node);
    return status;
}

static void pause_for(uint64_t ns) {
    tamis__sys.poll(NULL, 0, (int)(ns / 1000000) + 1);
}

static tamis_status scan_node(scanning *ctx, tamis_error *err) {
    const tamis_redis *redis = ctx->redis;
    uint64_t deadline = tamis__now_ns() + redis->patience_ns;
    deadline = deadline > redis->connect_by ? deadline : redis->connect_by;
    strcpy(ctx->cursor, "0");
    for (;;) {
        scan_outcome outcome;
        tamis_status status = scan_page(ctx, deadline, &outcome, err);
        if (outcome != PAGE_DONE && tamis__now_ns() + redis->retry_ns < deadline) {
            if (outcome == SERVER_AWAY)
                strcpy(ctx->cursor, "0");
            pause_for(redis->retry_ns);
            continue;
        }
        if (status == TAMIS_OK && ctx->what->after_page)
            status = ctx->what->after_page(ctx->what->context, err);
        if (status != TAMIS_OK || strcmp(ctx->cursor, "0") == 0)
            return status;
        deadline = tamis__now_ns() + redis->patience_ns;
    }
}

/* True if the server of this slot also has a lower slot. */
static bool was_scanned(const tamis__slot_map *map, size_t slot) {
    for (size_t i = 0; i < slot; i++) {
        if (map->slots[i] == map->slots[slot])
            return true;
        while (i + 1 < slot && map->slots[i + 1] == map->slots[i])
            i++;
    }
    return false;
}

tamis_status tamis__redis_scan(tamis_redis *redis, const tamis__scan *scan, tamis_error *err) {
    scanning ctx = {.redis = redis, .what = scan};
    tamis_status status = TAMIS_OK;
    if (tamis__redis_can_learn(redis))
        status = tamis__redis_learn(redis, NULL, UINT64_MAX, err);
    if (status != TAMIS_OK)
        return status;
    tamis__slot_map *map = tamis__slot_map_hold(redis);
    if (!map)
        return tamis__fail(err, TAMIS_E_IO, 0, "redis %s: no server is known by now; try again",
                           redis->endpoint.shown);
    ctx.map = map;
    for (size_t i = 0; i < map->slot_count && status == TAMIS_OK; i++) {
        ctx.node = map->slots[i];
        if (!ctx.node)
            status = tamis__fail(
                err, TAMIS_E_IO, 0,
                "redis %s: slot %zu has no server, and what is there is not known; see CLUSTER INFO",
                redis->endpoint.shown, i);
        else if ((i == 0 || map->slots[i - 1] != ctx.node) && !was_scanned(map, i))
            status = scan_node(&ctx, err);
    }
    tamis__slot_map_drop(redis, map);
    return status;
}
