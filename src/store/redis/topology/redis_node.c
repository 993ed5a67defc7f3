/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The nodes of a tamis_redis, and the map from slots to nodes.
 *
 *     nodes   list of all servers and sentinels that became known; they are never removed before the end
 *     map     slot 0 | slot 1 | slot 2 | ...  each with its node, or NULL
 *
 * A map is learned from any node that knows it: CLUSTER SLOTS from a server of a cluster, the master from
 * a sentinel. The query starts at another node each time. A Codis has no query: see redis_codis.c.
 *
 * Invariants: 1. The mutex guards the list of nodes, redis->map and the number of users of each map. A
 * node is never moved in memory. 2. Slots of a map are written before tamis__slot_map_replace publishes
 * it, and never after.
 */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/file/file_error.h"
#include "store/redis/topology/redis_topology.h"

/* ---- nodes ---- */

enum { HOST_SIZE_MAX = 255 };

static tamis__node *find_node(const tamis_redis *redis, const tamis__node_address *wanted) {
    for (tamis__node *node = redis->nodes; node; node = node->next)
        if (node->endpoint.address.port == wanted->port && node->is_sentinel == wanted->is_sentinel &&
            strlen(node->host) == wanted->host_size &&
            memcmp(node->host, wanted->host, wanted->host_size) == 0)
            return node;
    return NULL;
}

/* Size of a node with its array of idle connections and its host name, in one block. */
static size_t size_of_node(const tamis_redis *redis, size_t host_size) {
    return sizeof(tamis__node) + redis->connections * sizeof(tamis__idle) + host_size + 1;
}

static tamis__node *make_node(tamis_redis *redis, const tamis__node_address *wanted) {
    tamis__node *node =
        tamis__alloc(&redis->allocator, size_of_node(redis, wanted->host_size), _Alignof(tamis__node));
    if (!node)
        return NULL;
    node->idle = (tamis__idle *)(node + 1);
    node->host = (char *)(node->idle + redis->connections);
    memcpy(node->host, wanted->host, wanted->host_size);
    node->host[wanted->host_size] = '\0';
    node->endpoint = redis->endpoint;
    if (wanted->is_sentinel) {
        node->endpoint.user = redis->sentinel_user;
        node->endpoint.password = redis->sentinel_password;
        node->endpoint.db = 0;
    }
    node->endpoint.address = (tamis__redis_address){node->host, wanted->port};
    tamis__endpoint_show(&node->endpoint);
    node->is_sentinel = wanted->is_sentinel;
    node->number = redis->node_count++;
    node->next = redis->nodes;
    redis->nodes = node;
    return node;
}

tamis_status tamis__redis_node(tamis_redis *redis, const tamis__node_address *address, tamis__node **node,
                               tamis_error *err) {
    if (address->host_size > HOST_SIZE_MAX || memchr(address->host, '\0', address->host_size))
        return tamis__fail(err, TAMIS_E_IO, 0,
                           "redis: a reply names a host of %zu bytes, too long or with a zero byte; is it a "
                           "Redis at that port?",
                           address->host_size);
    pthread_mutex_lock(&redis->mutex);
    *node = find_node(redis, address);
    if (!*node)
        *node = make_node(redis, address);
    pthread_mutex_unlock(&redis->mutex);
    return *node ? TAMIS_OK : tamis__fail_nomem(err, "redis", size_of_node(redis, address->host_size));
}

void tamis__redis_free_nodes(tamis_redis *redis) {
    while (redis->nodes) {
        tamis__node *node = redis->nodes;
        redis->nodes = node->next;
        tamis__redis_close_idle(redis, node);
        tamis__free(&redis->allocator, node, size_of_node(redis, strlen(node->host)));
    }
}

/* ---- connections ---- */

/* Refuses a server that says it is a replica. A former master that has come back still says "master" until
 * a sentinel reconfigures it, so tamis__sentinel_has_moved is needed too. If the user may not run ROLE,
 * the server is accepted. */
static tamis_status check_role(tamis_redis *redis, const tamis__node *node, tamis__connection *conn,
                               tamis_error *err) {
    const tamis__reply *reply;
    tamis__connection_put_command(conn, 1);
    tamis__connection_put_text(conn, "ROLE");
    const tamis_status status =
        tamis__connection_wait_reply(conn, tamis__now_ns() + redis->read_ns, &reply, err);
    if (status != TAMIS_OK || reply->type != TAMIS__REPLY_ARRAY || reply->size == 0 ||
        reply->items[0].type != TAMIS__REPLY_STRING || strcmp(reply->items[0].text, "master") == 0)
        return status;
    return tamis__fail(err, TAMIS_E_IO, 0,
                       "redis %s: sentinels name it as master, and it is a %.20s; see SENTINEL MASTERS there",
                       node->endpoint.shown, tamis__show(reply->items[0].text).text);
}

void tamis__redis_mark_answered(tamis_redis *redis, tamis__node *node) {
    if (node)
        atomic_store_explicit(&node->endpoint.has_answered, true, memory_order_relaxed);
    atomic_store_explicit(&redis->has_answered, true, memory_order_relaxed);
}

bool tamis__redis_is_hopeless(const tamis_redis *redis, const tamis__node *node, tamis_status status) {
    const bool any_will_do = !node || tamis__redis_can_learn(redis);
    const atomic_bool *has_answered = any_will_do ? &redis->has_answered : &node->endpoint.has_answered;
    if (atomic_load_explicit(has_answered, memory_order_relaxed) || tamis__now_ns() < redis->connect_by)
        return false;
    /* A timeout may just have been too short. ZooKeeper's client reports a timeout also if the host
     * refuses. */
    return status == TAMIS_E_IO || (status == TAMIS_E_TIMEOUT && redis->codis);
}

tamis_status tamis__redis_connect(tamis_redis *redis, tamis__node *node, uint64_t deadline,
                                  tamis__connection **conn, tamis_error *err) {
    const uint64_t connect_by = tamis__now_ns() + redis->connect_ns;
    tamis__connection *made = NULL;
    tamis_status status =
        tamis__connection_open(&made, &node->endpoint, connect_by < deadline ? connect_by : deadline, err);
    if (status == TAMIS_OK && redis->uri.kind == TAMIS__REDIS_SENTINEL && !node->is_sentinel)
        status = check_role(redis, node, made, err);
    if (status == TAMIS_OK)
        *conn = made;
    else
        tamis__connection_close(made);
    pthread_mutex_lock(&redis->mutex);
    node->avoid_until = status == TAMIS_OK ? 0 : tamis__now_ns() + redis->connect_ns;
    pthread_mutex_unlock(&redis->mutex);
    return status;
}

/* ---- slots ---- */

static size_t size_of_map(size_t slot_count) {
    return sizeof(tamis__slot_map) + slot_count * sizeof(tamis__node *);
}

tamis__slot_map *tamis__slot_map_create(tamis_redis *redis) {
    tamis__slot_map *map =
        tamis__alloc(&redis->allocator, size_of_map(redis->slot_count), _Alignof(tamis__slot_map));
    if (!map)
        return NULL;
    map->users = 1;
    map->slot_count = redis->slot_count;
    return map;
}

tamis__slot_map *tamis__slot_map_hold(tamis_redis *redis) {
    pthread_mutex_lock(&redis->mutex);
    tamis__slot_map *map = redis->map;
    if (map)
        map->users++;
    pthread_mutex_unlock(&redis->mutex);
    return map;
}

void tamis__slot_map_drop(tamis_redis *redis, tamis__slot_map *map) {
    if (!map)
        return;
    pthread_mutex_lock(&redis->mutex);
    const bool unused = --map->users == 0;
    pthread_mutex_unlock(&redis->mutex);
    if (unused)
        tamis__free(&redis->allocator, map, size_of_map(map->slot_count));
}

void tamis__slot_map_replace(tamis_redis *redis, tamis__slot_map *map) {
    pthread_mutex_lock(&redis->mutex);
    tamis__slot_map *before = redis->map;
    redis->map = map;
    pthread_mutex_unlock(&redis->mutex);
    tamis__slot_map_drop(redis, before);
}

/* ---- learning the map ---- */

bool tamis__redis_can_learn(const tamis_redis *redis) {
    return redis->uri.kind == TAMIS__REDIS_CLUSTER || redis->uri.kind == TAMIS__REDIS_SENTINEL ||
           redis->codis;
}

static tamis_status learn_from(tamis_redis *redis, tamis__node *source, uint64_t deadline, tamis_error *err) {
    const tamis__reply *reply;
    tamis__connection *conn;
    tamis_status status = tamis__redis_get_connection(redis, source, deadline, &conn, err);
    if (status != TAMIS_OK)
        return status;
    const uint64_t answer_by = tamis__now_ns() + redis->read_ns;
    if (source->is_sentinel)
        tamis__sentinel_put_query(redis, conn);
    else
        tamis__cluster_put_query(conn);
    status = tamis__connection_wait_reply(conn, answer_by < deadline ? answer_by : deadline, &reply, err);
    if (status == TAMIS_OK)
        tamis__redis_mark_answered(redis, source);
    if (status == TAMIS_OK && source->is_sentinel)
        status = tamis__sentinel_accept_reply(redis, source, reply, err);
    else if (status == TAMIS_OK)
        status = tamis__cluster_accept_reply(redis, source, reply, err);
    if (status != TAMIS_OK) {
        tamis__connection_close(conn);
        return status;
    }
    tamis__redis_return_connection(redis, source, conn);
    return TAMIS_OK;
}

/* Returns all nodes known now, rotated by one more position each time. Free the list with tamis__free. */
static tamis__node **list_nodes(tamis_redis *redis, size_t *count) {
    pthread_mutex_lock(&redis->mutex);
    const size_t next = redis->next_node++;
    *count = redis->node_count;
    tamis__node **list = tamis__alloc(&redis->allocator, *count * sizeof *list, _Alignof(tamis__node *));
    for (tamis__node *node = list ? redis->nodes : NULL; node; node = node->next)
        list[(node->number + next) % *count] = node;
    pthread_mutex_unlock(&redis->mutex);
    return list;
}

/* True if another node may know the map. */
static bool is_no_answer(tamis_status status) {
    return status == TAMIS_E_IO || status == TAMIS_E_TIMEOUT || status == TAMIS_E_NOT_FOUND;
}

tamis_status tamis__redis_learn(tamis_redis *redis, tamis__node *first, uint64_t deadline, tamis_error *err) {
    const bool of_sentinels = redis->uri.kind == TAMIS__REDIS_SENTINEL;
    size_t count;
    if (redis->codis)
        return tamis__codis_learn(redis, deadline, err);
    tamis__node **list = list_nodes(redis, &count);
    if (!list)
        return tamis__fail_nomem(err, "redis", count * sizeof *list);
    tamis_status status = first ? learn_from(redis, first, deadline, err) : TAMIS_E_IO;
    for (size_t i = 0; i < count && is_no_answer(status); i++)
        if (list[i]->is_sentinel == of_sentinels)
            status = learn_from(redis, list[i], deadline, err);
    tamis__free(&redis->allocator, list, count * sizeof *list);
    return status;
}

uint32_t tamis__redis_slot(const tamis_redis *redis, const void *key, size_t size) {
    if (redis->slot_count == 1)
        return 0;
    if (redis->uri.kind == TAMIS__REDIS_CLUSTER)
        return tamis__cluster_slot(key, size);
    return (uint32_t)crc32_z(0, key, size) % redis->slot_count;
}

uint32_t tamis__redis_servers(const tamis_redis *redis) {
    return redis->uri.kind == TAMIS__REDIS_SHARD ? redis->slot_count : 1;
}
