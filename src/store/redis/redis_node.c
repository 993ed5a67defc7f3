/* SPDX-License-Identifier: BSD-2-Clause */

/* The nodes of a tamis_redis, and the map that says which of them has which slot. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/file_error.h"
#include "store/redis/redis_int.h"

/* ---- nodes ---- */

typedef struct place {
    const char *host;
    size_t host_size;
    uint16_t port;
    bool is_sentinel;
} place;

enum { HOST_MOST = 255 };

static tamis__node *find_node(const tamis_redis *redis, const place *at) {
    for (tamis__node *one = redis->nodes; one; one = one->next)
        if (one->to.address.port == at->port && one->is_sentinel == at->is_sentinel &&
            strlen(one->host) == at->host_size && memcmp(one->host, at->host, at->host_size) == 0)
            return one;
    return NULL;
}

/* With its links at rest, and its name. */
static size_t size_of_node(const tamis_redis *redis, size_t host_size) {
    return sizeof(tamis__node) + redis->connections * sizeof(tamis__idle) + host_size + 1;
}

static tamis__node *make_node(tamis_redis *redis, const place *at) {
    tamis__node *node =
        tamis__alloc(&redis->allocator, size_of_node(redis, at->host_size), _Alignof(tamis__node));
    if (!node)
        return NULL;
    node->idle = (tamis__idle *)(node + 1);
    node->host = (char *)(node->idle + redis->connections);
    memcpy(node->host, at->host, at->host_size);
    node->host[at->host_size] = '\0';
    node->to = redis->to;
    if (at->is_sentinel) {
        node->to.user = redis->sentinel_user;
        node->to.password = redis->sentinel_password;
        node->to.db = 0;
    }
    node->to.address = (tamis__redis_address){node->host, at->port};
    tamis__link_to_show(&node->to);
    node->is_sentinel = at->is_sentinel;
    node->number = redis->node_count++;
    node->next = redis->nodes;
    redis->nodes = node;
    return node;
}

static tamis_status find_or_make(tamis_redis *redis, const place *at, tamis__node **node, tamis_error *err) {
    if (at->host_size > HOST_MOST || memchr(at->host, '\0', at->host_size))
        return tamis__fail(
            err, TAMIS_E_IO, 0,
            "redis: told of a server whose name has %zu bytes or a zero byte; is it a Redis at "
            "that port?",
            at->host_size);
    pthread_mutex_lock(&redis->mutex);
    *node = find_node(redis, at);
    if (!*node)
        *node = make_node(redis, at);
    pthread_mutex_unlock(&redis->mutex);
    return *node ? TAMIS_OK : tamis__fail_nomem(err, "redis", size_of_node(redis, at->host_size));
}

tamis_status tamis__redis_node(tamis_redis *redis, const char *host, size_t host_size, uint16_t port,
                               tamis__node **node, tamis_error *err) {
    return find_or_make(redis, &(place){host, host_size, port, false}, node, err);
}

tamis_status tamis__redis_sentinel(tamis_redis *redis, const char *host, size_t host_size, uint16_t port,
                                   tamis__node **node, tamis_error *err) {
    return find_or_make(redis, &(place){host, host_size, port, true}, node, err);
}

void tamis__redis_free_nodes(tamis_redis *redis) {
    while (redis->nodes) {
        tamis__node *node = redis->nodes;
        redis->nodes = node->next;
        tamis__redis_close_idle(redis, node);
        tamis__free(&redis->allocator, node, size_of_node(redis, strlen(node->host)));
    }
}

/* ---- links ---- */

/* A server that was the master and came back takes itself for one until a sentinel looks; one that is told to be a
 * replica says so. Who may not ask for its role is not kept out. */
static tamis_status check_role(tamis_redis *redis, const tamis__node *node, tamis__link *link,
                               tamis_error *err) {
    const tamis__reply *told;
    tamis__link_command(link, 1);
    tamis__link_text(link, "ROLE");
    tamis_status status = tamis__link_ask(link, tamis__now_ns() + redis->read_ns, &told, err);
    if (status != TAMIS_OK || told->type != TAMIS__REPLY_ARRAY || told->size == 0 ||
        told->items[0].type != TAMIS__REPLY_STRING || strcmp(told->items[0].text, "master") == 0)
        return status;
    return tamis__fail(err, TAMIS_E_IO, 0,
                       "redis %s: sentinels name it as master, and it is a %.20s; see SENTINEL MASTERS there",
                       node->to.shown, tamis__show(told->items[0].text).text);
}

void tamis__redis_mark_answered(tamis_redis *redis, tamis__node *node) {
    if (node)
        atomic_store_explicit(&node->has_answered, true, memory_order_relaxed);
    atomic_store_explicit(&redis->has_answered, true, memory_order_relaxed);
}

bool tamis__redis_is_hopeless(const tamis_redis *redis, const tamis__node *node, tamis_status status) {
    const bool any_will_do = !node || tamis__redis_can_learn(redis);
    const atomic_bool *has_answered = any_will_do ? &redis->has_answered : &node->has_answered;
    if (atomic_load_explicit(has_answered, memory_order_relaxed) || tamis__now_ns() < redis->connect_by)
        return false;
    /* A timeout may just have been too short. ZooKeeper's client reports a timeout also if the host refuses. */
    return status == TAMIS_E_IO || (status == TAMIS_E_TIMEOUT && redis->codis);
}

tamis_status tamis__redis_connect(tamis_redis *redis, tamis__node *node, uint64_t deadline,
                                  tamis__link **link, tamis_error *err) {
    const uint64_t connect_by = tamis__now_ns() + redis->connect_ns;
    tamis__link *made = NULL;
    tamis_status status =
        tamis__link_open(&made, &node->to, connect_by < deadline ? connect_by : deadline, err);
    if (status == TAMIS_OK && redis->uri.kind == TAMIS__REDIS_SENTINEL && !node->is_sentinel)
        status = check_role(redis, node, made, err);
    if (status == TAMIS_OK)
        *link = made;
    else
        tamis__link_close(made);
    pthread_mutex_lock(&redis->mutex);
    node->shun_till = status == TAMIS_OK ? 0 : tamis__now_ns() + redis->connect_ns;
    pthread_mutex_unlock(&redis->mutex);
    return status;
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
    return redis->uri.kind == TAMIS__REDIS_CLUSTER || redis->uri.kind == TAMIS__REDIS_SENTINEL ||
           redis->codis;
}

static tamis_status learn_from(tamis_redis *redis, tamis__node *teller, uint64_t deadline, tamis_error *err) {
    const tamis__reply *told;
    tamis__link *link;
    tamis_status status = tamis__redis_lease(redis, teller, deadline, &link, err);
    if (status != TAMIS_OK)
        return status;
    const uint64_t answer_by = tamis__now_ns() + redis->read_ns;
    if (teller->is_sentinel)
        tamis__sentinel_ask(redis, link);
    else
        tamis__cluster_ask(link);
    status = tamis__link_ask(link, answer_by < deadline ? answer_by : deadline, &told, err);
    if (status == TAMIS_OK)
        tamis__redis_mark_answered(redis, teller);
    if (status == TAMIS_OK && teller->is_sentinel)
        status = tamis__sentinel_take(redis, teller, told, err);
    else if (status == TAMIS_OK)
        status = tamis__cluster_take(redis, teller, told, err);
    if (status != TAMIS_OK) {
        tamis__link_close(link);
        return status;
    }
    tamis__redis_give_back(redis, teller, link);
    return TAMIS_OK;
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

/* Whether another may know better. */
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
