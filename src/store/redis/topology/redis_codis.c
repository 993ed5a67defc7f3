/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Codis: several proxies in front of servers. Any proxy serves every Redis key, so the map has one slot
 * and its node is a proxy.
 *
 *     ZooKeeper -> proxy_watch.c -> online: proxy 0 | proxy 1 | proxy 2
 *                                              ^ next_node: each run of commands uses the next one
 *
 * A run whose proxy fails goes on with the next one. Proxies that could not be reached are avoided for a
 * while. When a proxy leaves the list, its idle connections are closed.
 *
 * Invariant: the list and its edition change together, under the mutex of the tamis_redis, and the edition
 * only increases.
 *
 * The end of the file has the commands that a Codis refuses or that its servers do not know.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/file/file_error.h"
#include "store/redis/topology/proxy_watch.h"
#include "store/redis/topology/redis_topology.h"

typedef struct tamis__codis {
    tamis__proxy_watcher *watcher;
    uint64_t edition;     /* edition of the list below; the mutex of the tamis_redis guards it and the list */
    tamis__node **online; /* proxies online */
    size_t count;
} tamis__codis;

/* ---- opening and closing ---- */

/* Returns "h1:p1,h2:p2", to be freed with free(), or NULL. */
static char *list_hosts(const tamis__redis_uri *uri) {
    size_t buffer_size = 1, used = 0;
    for (size_t i = 0; i < uri->address_count; i++)
        buffer_size += strlen(uri->addresses[i].host) + sizeof "[]:65535,";
    char *hosts = malloc(buffer_size);
    for (size_t i = 0; hosts && i < uri->address_count; i++) {
        const tamis__redis_address *address = &uri->addresses[i];
        const bool is_ipv6 = strchr(address->host, ':');
        used += (size_t)snprintf(hosts + used, buffer_size - used, is_ipv6 ? "%s[%s]:%u" : "%s%s:%u",
                                 i > 0 ? "," : "", address->host, (unsigned)address->port);
    }
    return hosts;
}

tamis_status tamis__codis_create(tamis_redis *redis, tamis_error *err) {
    tamis__proxy_watcher_options what = {.product = redis->uri.master, .connect_ns = redis->connect_ns};
    what.user = tamis__redis_uri_get(&redis->uri, "zk_user");
    what.password = tamis__redis_uri_get(&redis->uri, "zk_password");
    redis->codis = tamis__alloc(&redis->allocator, sizeof *redis->codis, _Alignof(tamis__codis));
    if (!redis->codis)
        return tamis__fail_nomem(err, "codis", sizeof *redis->codis);
    char *hosts = list_hosts(&redis->uri);
    what.hosts = hosts;
    const tamis_status status = hosts ? tamis__proxy_watcher_start(&redis->codis->watcher, &what, err)
                                      : tamis__fail_nomem(err, "codis", 0);
    free(hosts);
    return status;
}

static void free_list(const tamis_redis *redis, tamis__node **list, size_t count) {
    tamis__free(&redis->allocator, list, count * sizeof *list);
}

void tamis__codis_free(tamis_redis *redis) {
    tamis__codis *codis = redis->codis;
    if (!codis)
        return;
    tamis__proxy_watcher_stop(codis->watcher);
    free_list(redis, codis->online, codis->count);
    tamis__free(&redis->allocator, codis, sizeof *codis);
    redis->codis = NULL;
}

/* ---- proxies online ---- */

static bool is_among(tamis__node *const *list, size_t count, const tamis__node *node) {
    for (size_t i = 0; i < count; i++)
        if (list[i] == node)
            return true;
    return false;
}

/* Closes idle connections to proxies that are no longer online. Connections in use are closed when they
 * return. */
static void leave_others(tamis_redis *redis) {
    const tamis__codis *codis = redis->codis;
    for (tamis__node *node = redis->nodes; node; node = node->next) {
        node->is_offline = !is_among(codis->online, codis->count, node);
        while (node->is_offline && node->idle_count > 0)
            tamis__connection_close(node->idle[--node->idle_count].conn);
    }
}

/* Makes `online` the current list, unless another thread has set a newer one. Frees the list that is not
 * used. */
static void set_online(tamis_redis *redis, tamis__node **online, size_t count, uint64_t edition) {
    tamis__codis *codis = redis->codis;
    pthread_mutex_lock(&redis->mutex);
    if (edition > codis->edition) {
        tamis__node **before = codis->online;
        const size_t count_before = codis->count;
        codis->edition = edition;
        codis->online = online;
        codis->count = count;
        leave_others(redis);
        online = before;
        count = count_before;
    }
    pthread_mutex_unlock(&redis->mutex);
    free_list(redis, online, count);
}

static tamis_status set_proxies(tamis_redis *redis, const tamis__proxy_list *list, tamis_error *err) {
    const size_t count = list->count;
    tamis_status status = TAMIS_OK;
    tamis__node **online = NULL;
    if (count > 0) {
        online = tamis__alloc(&redis->allocator, count * sizeof *online, _Alignof(tamis__node *));
        if (!online)
            return tamis__fail_nomem(err, "codis", count * sizeof *online);
    }
    for (size_t i = 0; i < count && status == TAMIS_OK; i++) {
        const tamis__proxy *proxy = &list->proxies[i];
        const tamis__node_address address = {
            .host = proxy->host, .host_size = strlen(proxy->host), .port = proxy->port};
        status = tamis__redis_node(redis, &address, &online[i], err);
    }
    if (status == TAMIS_OK)
        set_online(redis, online, count, list->edition);
    else
        free_list(redis, online, count);
    return status;
}

/* Gives each ZooKeeper host connect_ns, but at most patience_ns in all. */
static uint64_t hosts_deadline(const tamis_redis *redis) {
    const uint64_t total_ns = redis->connect_ns * redis->uri.address_count;
    return tamis__now_ns() + (total_ns < redis->patience_ns ? total_ns : redis->patience_ns);
}

static tamis_status read_proxies(tamis_redis *redis, uint64_t deadline, tamis_error *err) {
    tamis__codis *codis = redis->codis;
    const uint64_t hosts_by = hosts_deadline(redis);
    tamis__proxy_list list = {.proxies = NULL};
    pthread_mutex_lock(&redis->mutex);
    list.edition = codis->edition;
    pthread_mutex_unlock(&redis->mutex);
    tamis_status status =
        tamis__proxy_watcher_list(codis->watcher, hosts_by < deadline ? hosts_by : deadline, &list, err);
    if (status == TAMIS_OK)
        tamis__redis_mark_answered(redis, NULL);
    if (status == TAMIS_OK && list.proxies)
        status = set_proxies(redis, &list, err);
    free(list.proxies);
    return status;
}

/* ---- the next proxy ---- */

/* Returns the next proxy that is not avoided; if all are, one of them. NULL: no proxy is online. */
static tamis__node *next_proxy(tamis_redis *redis) {
    const tamis__codis *codis = redis->codis;
    const uint64_t now = tamis__now_ns();
    tamis__node *node = NULL;
    pthread_mutex_lock(&redis->mutex);
    for (size_t i = 0; i < codis->count; i++) {
        node = codis->online[redis->next_node++ % codis->count];
        if (node->avoid_until <= now)
            break;
    }
    pthread_mutex_unlock(&redis->mutex);
    return node;
}

tamis_status tamis__codis_learn(tamis_redis *redis, uint64_t deadline, tamis_error *err) {
    const tamis_status status = read_proxies(redis, deadline, err);
    if (status != TAMIS_OK)
        return status;
    tamis__node *node = next_proxy(redis);
    if (!node) { /* do not use proxies of an earlier list */
        tamis__slot_map_replace(redis, NULL);
        return tamis__proxy_watcher_fail_empty(redis->codis->watcher, err);
    }
    tamis__slot_map *map = tamis__slot_map_create(redis);
    if (!map)
        return tamis__fail_nomem(err, "redis", sizeof *map);
    map->slots[0] = node;
    tamis__slot_map_replace(redis, map);
    return TAMIS_OK;
}

tamis_status tamis__codis_reach(tamis_redis *redis, tamis_error *err) {
    size_t tries = 0;
    for (;;) {
        tamis__connection *conn;
        tamis_status status = tamis__codis_learn(redis, UINT64_MAX, err);
        if (status != TAMIS_OK)
            return status;
        tamis__slot_map *map = tamis__slot_map_hold(redis); /* no other thread uses `redis` yet */
        tamis__node *node = map->slots[0];
        status = tamis__redis_get_connection(redis, node, UINT64_MAX, &conn, err);
        if (status == TAMIS_OK)
            tamis__redis_return_connection(redis, node, conn);
        tamis__slot_map_drop(redis, map);
        if ((status != TAMIS_E_IO && status != TAMIS_E_TIMEOUT) || ++tries >= redis->codis->count)
            return status;
    }
}

/* ---- commands that a Codis lacks ---- */

tamis_status tamis__redis_require_command(const tamis_redis *redis, const char *what, const char *command,
                                          const char *remedy, tamis_error *err) {
    if (!redis->codis)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0, "codis %s: %s: takes %s, which a Codis refuses; %s",
                       redis->endpoint.shown, tamis__show(what).text, command, remedy);
}

const char *tamis__redis_unlink(const tamis_redis *redis) {
    return redis->codis ? "DEL" : "UNLINK";
}

const char *tamis__redis_hset(const tamis_redis *redis) {
    return redis->codis ? "HMSET" : "HSET";
}

bool tamis__redis_keeps_order(const tamis_redis *redis) {
    return redis->slot_count == 1 && !redis->codis;
}
