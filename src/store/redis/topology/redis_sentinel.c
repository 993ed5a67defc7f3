/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Sentinels: which server is the master, and has that changed?
 *
 *     client                          sentinel                    masters
 *     ------                          --------                    -------
 *     GET-MASTER-ADDR-BY-NAME    ->   host, port                  A
 *     batch of adds              ------------------------------>  A: replies
 *                                     failover                    B replaces A, which does not know it yet
 *     SENTINEL MASTER, then
 *     GET-MASTER-ADDR-BY-NAME    ->   B: the batch is sent again  B
 *
 * A replaced master accepts commands until a sentinel reconfigures it, and they are lost. So the sentinels
 * are queried after each batch, before any of its replies is used (redis_batch.c).
 *
 * SENTINEL MASTER gives the flags and the config-epoch, which increases with each failover:
 * - A sentinel whose epoch is below the highest one reported has not heard of the last failover. It is
 *   ignored.
 * - Flag failover_in_progress means that the master may change at any moment. The queries are repeated
 *   until it is gone.
 *
 * All sentinels of the URI are queried, one after the other, until one reports another master. A sentinel
 * that does not answer is left out for a while.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/file/file_error.h"
#include "store/redis/topology/redis_topology.h"

tamis_status tamis__sentinel_accept_reply(tamis_redis *redis, const tamis__node *sentinel,
                                          const tamis__reply *reply, tamis_error *err) {
    const tamis__reply *items = reply->items;
    tamis__node *master;
    if (reply->type == TAMIS__REPLY_NIL)
        return tamis__fail(
            err, TAMIS_E_NOT_FOUND, 0,
            "sentinel %s: knows no master '%.100s'; check the name, see SENTINEL MASTERS there",
            sentinel->endpoint.shown, tamis__show(redis->uri.master).text);
    if (reply->type == TAMIS__REPLY_ERROR && tamis__reply_begins(reply, "NOAUTH"))
        return tamis__fail(err, TAMIS_E_REFUSED, 0,
                           "sentinel %s: wants a password; give sentinel_password= (and sentinel_user=)",
                           sentinel->endpoint.shown);
    if (reply->type == TAMIS__REPLY_ERROR && tamis__reply_begins(reply, "ERR unknown command"))
        return tamis__fail(
            err, TAMIS_E_REFUSED, 0,
            "sentinel %s: is not a sentinel; name a sentinel, not the server itself, or write redis://",
            sentinel->endpoint.shown);
    const long port = reply->type == TAMIS__REPLY_ARRAY && reply->size == 2 &&
                              items[0].type == TAMIS__REPLY_STRING && items[1].type == TAMIS__REPLY_STRING
                          ? strtol(items[1].text, NULL, 10)
                          : 0;
    if (port < 1 || port > UINT16_MAX)
        return tamis__fail(err, TAMIS_E_IO, 0,
                           "sentinel %s: gave no usable address of its master; see SENTINEL MASTERS there",
                           sentinel->endpoint.shown);
    const tamis__node_address address = {
        .host = items[0].text, .host_size = items[0].size, .port = (uint16_t)port};
    tamis_status status = tamis__redis_node(redis, &address, &master, err);
    if (status != TAMIS_OK)
        return status;
    tamis__slot_map *map = tamis__slot_map_hold(redis);
    const bool is_same = map && map->slots[0] == master;
    tamis__slot_map_drop(redis, map);
    if (is_same)
        return TAMIS_OK;
    map = tamis__slot_map_create(redis);
    if (!map)
        return tamis__fail_nomem(err, "redis", sizeof *map);
    map->slots[0] = master;
    tamis__slot_map_replace(redis, map);
    return TAMIS_OK;
}

void tamis__sentinel_put_query(const tamis_redis *redis, tamis__connection *conn) {
    tamis__connection_put_command(conn, 3);
    tamis__connection_put_text(conn, "SENTINEL");
    tamis__connection_put_text(conn, "GET-MASTER-ADDR-BY-NAME");
    tamis__connection_put_text(conn, redis->uri.master);
}

/* ---- is the master still the same? ---- */

typedef enum verdict { SAYS_NOTHING, SAYS_SAME, SAYS_OTHER, SAYS_FAILOVER } verdict;

enum { QUERY_AGAIN_MS = 50, AVOID_NS = 1000000000 };

/* Returns the value of a name in a reply of names and values, or NULL. */
static const char *value_of(const tamis__reply *reply, const char *name) {
    for (size_t i = 0; reply->type == TAMIS__REPLY_ARRAY && i + 1 < reply->size; i += 2)
        if (reply->items[i].type == TAMIS__REPLY_STRING && strcmp(reply->items[i].text, name) == 0 &&
            reply->items[i + 1].type == TAMIS__REPLY_STRING)
            return reply->items[i + 1].text;
    return NULL;
}

/* Queries one sentinel, and follows the address that it gives. SAYS_NOTHING: no usable answer, or its epoch
 * is lower than another sentinel's. */
static verdict query_master(tamis_redis *redis, tamis__node *sentinel, tamis__connection *conn,
                            uint64_t deadline, tamis_error *err) {
    const tamis__reply *reply;
    tamis__connection_put_command(conn, 3);
    tamis__connection_put_text(conn, "SENTINEL");
    tamis__connection_put_text(conn, "MASTER");
    tamis__connection_put_text(conn, redis->uri.master);
    if (tamis__connection_wait_reply(conn, deadline, &reply, err) != TAMIS_OK)
        return SAYS_NOTHING;
    const char *flags = value_of(reply, "flags"), *number = value_of(reply, "config-epoch");
    const bool in_failover = flags && strstr(flags, "failover_in_progress");
    const uint64_t epoch = number ? strtoull(number, NULL, 10) : 0;
    pthread_mutex_lock(&redis->mutex);
    const bool is_behind = epoch < redis->epoch;
    redis->epoch = is_behind ? redis->epoch : epoch;
    pthread_mutex_unlock(&redis->mutex);
    if (is_behind)
        return SAYS_NOTHING;
    tamis__sentinel_put_query(redis, conn);
    if (tamis__connection_wait_reply(conn, deadline, &reply, err) != TAMIS_OK ||
        tamis__sentinel_accept_reply(redis, sentinel, reply, err) != TAMIS_OK)
        return SAYS_NOTHING;
    return in_failover ? SAYS_FAILOVER : SAYS_SAME;
}

static verdict query_sentinel(tamis_redis *redis, tamis__node *sentinel, const tamis__node *master,
                              tamis_error *err) {
    const uint64_t now = tamis__now_ns();
    tamis__connection *conn;
    pthread_mutex_lock(&redis->mutex);
    const bool is_avoided = now < sentinel->avoid_until;
    pthread_mutex_unlock(&redis->mutex);
    if (is_avoided ||
        tamis__redis_get_connection(redis, sentinel, now + redis->connect_ns, &conn, err) != TAMIS_OK)
        return SAYS_NOTHING;
    verdict says = query_master(redis, sentinel, conn, now + redis->read_ns, err);
    if (says != SAYS_NOTHING) {
        tamis__slot_map *map = tamis__slot_map_hold(redis);
        says = map->slots[0] == master ? says : SAYS_OTHER;
        tamis__slot_map_drop(redis, map);
    } else if (!tamis__connection_is_idle(conn)) {
        pthread_mutex_lock(&redis->mutex);
        sentinel->avoid_until = tamis__now_ns() + AVOID_NS;
        pthread_mutex_unlock(&redis->mutex);
    }
    tamis__redis_return_connection(redis, sentinel, conn); /* closed if a reply is outstanding */
    return says;
}

static verdict query_sentinels(tamis_redis *redis, const tamis__node *master, tamis_error *err) {
    verdict worst = SAYS_NOTHING;
    pthread_mutex_lock(&redis->mutex);
    tamis__node *node = redis->nodes; /* new nodes go before it, and are servers */
    pthread_mutex_unlock(&redis->mutex);
    for (; node && worst != SAYS_OTHER; node = node->next) {
        const verdict says = node->is_sentinel ? query_sentinel(redis, node, master, err) : SAYS_NOTHING;
        worst = says > worst || says == SAYS_OTHER ? says : worst;
    }
    return worst;
}

tamis_status tamis__sentinel_has_moved(tamis_redis *redis, const tamis__slot_map *before, bool *has_moved,
                                       tamis_error *err) {
    const uint64_t deadline = tamis__now_ns() + redis->patience_ns;
    tamis_error wrong = TAMIS_ERROR_INIT;
    if (redis->uri.kind != TAMIS__REDIS_SENTINEL || !before)
        return TAMIS_OK;
    for (;;) {
        const verdict says = query_sentinels(redis, before->slots[0], &wrong);
        *has_moved = says == SAYS_OTHER;
        if (says != SAYS_FAILOVER)
            return TAMIS_OK;
        if (tamis__now_ns() > deadline)
            return tamis__fail(
                err, TAMIS_E_TIMEOUT, 0,
                "redis %s: sentinels are at replacing the master %s, and did not come to an end; see "
                "SENTINEL MASTER there, or give more time (patience=)",
                redis->endpoint.shown, before->slots[0]->endpoint.shown);
        (void)tamis__sys.poll(NULL, 0, QUERY_AGAIN_MS);
    }
}
