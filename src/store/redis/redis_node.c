/* SPDX-License-Identifier: BSD-2-Clause */

/* The nodes of a tamis_redis with their idle links, and the map that says which of them has which slot. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/redis_int.h"
#include "store/trouble.h"

/* ---- nodes ---- */

static tamis__node *find_node(const tamis_redis *redis, const char *host, size_t host_size, uint16_t port) {
    for (tamis__node *one = redis->nodes; one; one = one->next)
        if (one->to.address.port == port && strlen(one->host) == host_size &&
            memcmp(one->host, host, host_size) == 0)
            return one;
    return NULL;
}

static tamis__node *make_node(tamis_redis *redis, const char *host, size_t host_size, uint16_t port) {
    tamis__node *node = tamis__alloc(&redis->allocator, sizeof *node + host_size + 1, _Alignof(tamis__node));
    if (!node)
        return NULL;
    memcpy(node->host, host, host_size);
    node->host[host_size] = '\0';
    node->to = redis->to;
    node->to.address = (tamis__redis_address){node->host, port};
    tamis__link_to_show(&node->to);
    node->number = redis->node_count++;
    node->next = redis->nodes;
    redis->nodes = node;
    return node;
}

tamis_status tamis__redis_node(tamis_redis *redis, const char *host, size_t host_size, uint16_t port,
                               tamis__node **node, tamis_error *err) {
    pthread_mutex_lock(&redis->mutex);
    *node = find_node(redis, host, host_size, port);
    if (!*node)
        *node = make_node(redis, host, host_size, port);
    pthread_mutex_unlock(&redis->mutex);
    return *node ? TAMIS_OK : tamis__fail_nomem(err, "redis", sizeof **node + host_size + 1);
}

void tamis__redis_free_nodes(tamis_redis *redis) {
    while (redis->nodes) {
        tamis__node *node = redis->nodes;
        redis->nodes = node->next;
        while (node->idle_count > 0)
            tamis__link_close(node->idle[--node->idle_count]);
        tamis__free(&redis->allocator, node, sizeof *node + strlen(node->host) + 1);
    }
}

/* ---- links ---- */

/* Whether the server has said nothing: what nobody asked for is the end of the connection, or will be. */
static bool is_quiet(const tamis__link *link) {
    struct pollfd fd = tamis__link_poll(link);
    return tamis__sys.poll(&fd, 1, 0) == 0;
}

static tamis__link *take_idle(tamis_redis *redis, tamis__node *node) {
    tamis__link *link = NULL;
    pthread_mutex_lock(&redis->mutex);
    if (node->idle_count > 0)
        link = node->idle[--node->idle_count];
    pthread_mutex_unlock(&redis->mutex);
    return link;
}

tamis_status tamis__redis_connect(tamis_redis *redis, tamis__node *node, uint64_t deadline,
                                  tamis__link **link, tamis_error *err) {
    const uint64_t connect_by = tamis__now_ns() + redis->connect_ns;
    return tamis__link_open(link, &node->to, connect_by < deadline ? connect_by : deadline, err);
}

tamis_status tamis__redis_lease(tamis_redis *redis, tamis__node *node, uint64_t deadline, tamis__link **link,
                                tamis_error *err) {
    for (tamis__link *one; (one = take_idle(redis, node));) {
        if (is_quiet(one)) {
            *link = one;
            return TAMIS_OK;
        }
        tamis__link_close(one);
    }
    return tamis__redis_connect(redis, node, deadline, link, err);
}

void tamis__redis_give_back(tamis_redis *redis, tamis__node *node, tamis__link *link) {
    pthread_mutex_lock(&redis->mutex);
    if (node->idle_count < TAMIS__LINKS_IDLE) {
        node->idle[node->idle_count++] = link;
        link = NULL;
    }
    pthread_mutex_unlock(&redis->mutex);
    tamis__link_close(link);
}

/* ---- slots ---- */

static size_t size_of_map(size_t slot_count) {
    return sizeof(tamis__map) + slot_count * sizeof(tamis__node *);
}

tamis__map *tamis__map_create(tamis_redis *redis) {
    tamis__map *map = tamis__alloc(&redis->allocator, size_of_map(redis->slot_count), _Alignof(tamis__map));
    if (!map)
        return NULL;
    map->users = 1;
    map->slot_count = redis->slot_count;
    return map;
}

tamis__map *tamis__map_hold(tamis_redis *redis) {
    pthread_mutex_lock(&redis->mutex);
    tamis__map *map = redis->map;
    if (map)
        map->users++;
    pthread_mutex_unlock(&redis->mutex);
    return map;
}

void tamis__map_drop(tamis_redis *redis, tamis__map *map) {
    if (!map)
        return;
    pthread_mutex_lock(&redis->mutex);
    const bool unused = --map->users == 0;
    pthread_mutex_unlock(&redis->mutex);
    if (unused)
        tamis__free(&redis->allocator, map, size_of_map(map->slot_count));
}

void tamis__map_replace(tamis_redis *redis, tamis__map *map) {
    pthread_mutex_lock(&redis->mutex);
    tamis__map *before = redis->map;
    redis->map = map;
    pthread_mutex_unlock(&redis->mutex);
    tamis__map_drop(redis, before);
}

/* ---- who has what ---- */

bool tamis__redis_can_learn(const tamis_redis *redis) {
    return redis->uri.kind == TAMIS__REDIS_CLUSTER;
}

/* Those that are known now, from the one on whose turn it is; free it with tamis__free. */
static tamis__node **list_nodes(tamis_redis *redis, size_t *count) {
    pthread_mutex_lock(&redis->mutex);
    const size_t turn = redis->turn++;
    *count = redis->node_count;
    tamis__node **list = tamis__alloc(&redis->allocator, *count * sizeof *list, _Alignof(tamis__node *));
    for (tamis__node *one = list ? redis->nodes : NULL; one; one = one->next)
        list[(one->number + turn) % *count] = one;
    pthread_mutex_unlock(&redis->mutex);
    return list;
}

tamis_status tamis__redis_learn(tamis_redis *redis, tamis__node *first, uint64_t deadline, tamis_error *err) {
    size_t count;
    tamis__node **list = list_nodes(redis, &count);
    if (!list)
        return tamis__fail_nomem(err, "redis", count * sizeof *list);
    tamis_status status = TAMIS_E_IO;
    if (first)
        status = tamis__cluster_learn_from(redis, first, deadline, err);
    for (size_t i = 0; i < count && (status == TAMIS_E_IO || status == TAMIS_E_TIMEOUT); i++)
        if (i == 0 || tamis__now_ns() < deadline)
            status = tamis__cluster_learn_from(redis, list[i], deadline, err);
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
