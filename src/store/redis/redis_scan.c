/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/redis_scan.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/file_error.h"
#include "store/redis/redis_lane.h"

enum { AT_ONCE = 1000, CURSOR = 24 };

typedef struct scanning {
    tamis_redis *redis;
    const tamis__scan *what;
    const tamis__map *map;
    tamis__node *node;
    char cursor[CURSOR];
    size_t failures; /* of connections */
} scanning;

static tamis_status refused(const scanning *all, const tamis__reply *reply, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_REFUSED, 0,
        "redis %s: refuses SCAN, without which nobody can tell what is there (%.100s); grant +scan, or "
        "ask for filters by their names",
        all->node->to.shown, tamis__show(reply->text).text);
}

/* [cursor, [key, key, ...]]. A key at a server where nobody would look for it is none of ours. */
static tamis_status take_page(scanning *all, const tamis__reply *reply, tamis_error *err) {
    if (reply->type == TAMIS__REPLY_ERROR)
        return refused(all, reply, err);
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != 2 ||
        reply->items[0].type != TAMIS__REPLY_STRING || reply->items[0].size >= CURSOR ||
        reply->items[1].type != TAMIS__REPLY_ARRAY)
        return tamis__fail(
            err, TAMIS_E_IO, 0,
            "redis %s: answered SCAN with what is no reply to it; see the server's log and version",
            all->node->to.shown);
    snprintf(all->cursor, sizeof all->cursor, "%s", reply->items[0].text);
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < reply->items[1].size && status == TAMIS_OK; i++) {
        const tamis__reply *key = &reply->items[1].items[i];
        const bool is_stray =
            key->type != TAMIS__REPLY_STRING ||
            (all->redis->uri.kind == TAMIS__REDIS_SHARD &&
             all->map->of[tamis__redis_slot(all->redis, key->text, key->size)] != all->node);
        if (!is_stray)
            status = all->what->take(all->what->context, key->text, key->size, err);
    }
    return status;
}

static void ask_page(const scanning *all, tamis__link *link) {
    tamis__link_command(link, 8);
    tamis__link_text(link, "SCAN");
    tamis__link_text(link, all->cursor);
    tamis__link_text(link, "MATCH");
    tamis__link_word(link, all->what->pattern, all->what->size);
    tamis__link_text(link, "COUNT");
    tamis__link_number(link, AT_ONCE);
    tamis__link_text(link, "TYPE");
    tamis__link_text(link, all->what->type);
}

/* HAD: a page, or a failure that stays one. */
typedef enum outcome { HAD, LOST, AWAY } outcome;

/* The first failure may be an accident, see tamis__flight_is_hopeless. */
static bool is_passing(scanning *all, tamis_status status) {
    return tamis__is_lost(status) &&
           (all->failures++ == 0 || !tamis__redis_is_hopeless(all->redis, all->node, status));
}

/* Each page takes a place of its own, so that other threads have their turns between. */
static tamis_status scan_page(scanning *all, uint64_t deadline, outcome *had, tamis_error *err) {
    tamis_redis *redis = all->redis;
    const tamis__reply *reply;
    tamis__link *link;
    *had = HAD;
    if (!tamis__redis_enter(redis, all->node, deadline))
        return tamis__redis_no_place(redis, all->node, err);
    tamis_status status = tamis__redis_lease(redis, all->node, deadline, &link, err);
    if (status != TAMIS_OK) {
        *had = is_passing(all, status) ? AWAY : HAD;
        tamis__redis_leave(redis, all->node);
        return status;
    }
    ask_page(all, link);
    status = tamis__link_ask(link, tamis__now_ns() + redis->read_ns, &reply, err);
    if (status != TAMIS_OK) {
        *had = is_passing(all, status) ? LOST : HAD;
    } else if (reply->type == TAMIS__REPLY_ERROR && tamis__redis_is_passing(reply)) {
        *had = AWAY;
        status = tamis__redis_refused(&all->node->to, "SCAN", reply, err);
    } else {
        status = take_page(all, reply, err);
    }
    if (status == TAMIS_OK)
        tamis__redis_mark_answered(redis, all->node);
    if (status == TAMIS_OK)
        tamis__redis_give_back(redis, all->node, link);
    else
        tamis__link_close(link);
    tamis__redis_leave(redis, all->node);
    return status;
}

static void pause_for(uint64_t ns) {
    tamis__sys.poll(NULL, 0, (int)(ns / 1000000) + 1);
}

/*
 * A page that is lost is asked for again until patience ends: its cursor is as good on another connection. A server that
 * was away may have been started again, where cursors are of another order: it is read from its beginning, and names come
 * twice.
 */
static tamis_status scan_node(scanning *all, tamis_error *err) {
    const tamis_redis *redis = all->redis;
    uint64_t deadline = tamis__now_ns() + redis->patience_ns;
    deadline = deadline > redis->connect_by ? deadline : redis->connect_by;
    strcpy(all->cursor, "0");
    for (;;) {
        outcome had;
        tamis_status status = scan_page(all, deadline, &had, err);
        if (had != HAD && tamis__now_ns() + redis->retry_ns < deadline) {
            if (had == AWAY)
                strcpy(all->cursor, "0");
            pause_for(redis->retry_ns);
            continue;
        }
        if (status != TAMIS_OK || strcmp(all->cursor, "0") == 0)
            return status;
        deadline = tamis__now_ns() + redis->patience_ns;
    }
}

/* Whether the server of this slot has one before it too. */
static bool was_scanned(const tamis__map *map, size_t slot) {
    for (size_t i = 0; i < slot; i++) {
        if (map->of[i] == map->of[slot])
            return true;
        while (i + 1 < slot && map->of[i + 1] == map->of[i])
            i++;
    }
    return false;
}

tamis_status tamis__redis_scan(tamis_redis *redis, const tamis__scan *scan, tamis_error *err) {
    scanning all = {.redis = redis, .what = scan};
    tamis_status status = TAMIS_OK;
    if (tamis__redis_can_learn(redis))
        status = tamis__redis_learn(redis, NULL, UINT64_MAX, err);
    if (status != TAMIS_OK)
        return status;
    tamis__map *map = tamis__map_hold(redis);
    if (!map)
        return tamis__fail(err, TAMIS_E_IO, 0, "redis %s: no server is known by now; try again",
                           redis->to.shown);
    all.map = map;
    for (size_t i = 0; i < map->slot_count && status == TAMIS_OK; i++) {
        all.node = map->of[i];
        if (!all.node)
            status = tamis__fail(
                err, TAMIS_E_IO, 0,
                "redis %s: slot %zu has no server, and what is there is not known; see CLUSTER INFO",
                redis->to.shown, i);
        else if ((i == 0 || map->of[i - 1] != all.node) && !was_scanned(map, i))
            status = scan_node(&all, err);
    }
    tamis__map_drop(redis, map);
    return status;
}

tamis_status tamis__scan_reserve(const tamis_redis *redis, void **block, size_t used, size_t wanted,
                                 size_t *room, size_t size, tamis_error *err) {
    if (wanted <= *room)
        return TAMIS_OK;
    const size_t more = 2 * wanted + 256;
    void *made = tamis__alloc(&redis->allocator, more * size, _Alignof(max_align_t));
    if (!made)
        return tamis__fail_nomem(err, "redis", more * size);
    if (used > 0)
        memcpy(made, *block, used * size);
    tamis__free(&redis->allocator, *block, *room * size);
    *block = made;
    *room = more;
    return TAMIS_OK;
}
