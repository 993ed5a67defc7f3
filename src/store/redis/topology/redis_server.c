/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Opening and closing a tamis_redis: the servers of a URI.
 *
 *     tamis_redis_open
 *       parse the URI         redis_uri.c       no name of a filter may follow
 *       create                                  parameters, TLS context, first nodes; no Redis is contacted
 *       check_used            redis_uri.c       a parameter that nothing read is refused
 *       reach                                   first replies, repeated until connect_wait ends
 *
 * A filter or a bitmap may be opened by one URI of server and name (tamis__redis_find). That only parses and
 * creates: the caller reads parameters of its own before check_used, and its first command connects.
 *
 * The addresses of a URI become nodes, and the kind decides what the nodes are and where the slot map comes
 * from:
 *
 *     URI                 nodes at first     slot map             reach_all
 *     -----------------   ----------------   ------------------   ---------------------------------
 *     redis://            the server         fixed                PING
 *     redis+shard://      all servers        fixed, in order      PING to each
 *     redis+cluster://    some servers       learned from one     the query for the map
 *     redis+sentinel://   the sentinels      learned from one     the query for the master
 *     codis+zk://         none               one proxy a map      ZooKeeper, then a connection to a proxy
 *
 * So a wrong address fails when the servers are opened, and not at the first batch. An error reply to PING is
 * good enough: the server is there, and it is a Redis.
 *
 * Times, from the parameters of the URI: `timeout` limits connecting, `read_timeout` the wait for a reply.
 * `patience` limits the time without any reply. `retry_interval` is the delay after the first failure, and
 * doubles up to 32 times that. `connect_wait` is for servers that start at the same time as their clients.
 *
 * Invariants:
 * 1. tamis__redis_create takes over the URI, also on failure. Users and passwords of nodes point into it, so
 *    it is released after them.
 * 2. The template `endpoint` is complete before the first node copies it.
 * 3. A fixed map is made here and is never replaced. A learned one is NULL until a node has replied.
 * 4. tamis_redis_close accepts what a failed creation left: parts that were not made are NULL. It stops the
 *    watch of proxies, then frees nodes with their idle connections, map and TLS context.
 */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/thread.h"
#include "store/file/file_error.h"
#include "store/redis/topology/redis_topology.h"

enum { MS = 1000000, CONNECTIONS = 64, CONNECTIONS_MAX = 10000, REPLICAS_MAX = 100 };

static tamis_status read_time(tamis__redis_uri *uri, const char *name, uint64_t *ns, uint64_t otherwise_ms,
                              tamis_error *err) {
    uint64_t ms = otherwise_ms;
    const tamis_status status = tamis__redis_uri_time(uri, name, &ms, err);
    if (status == TAMIS_OK && (ms == 0 || ms > UINT64_C(86400000)))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: parameter %s is not from 1ms to 1d; give another time", uri->shown, name);
    *ns = ms * MS;
    return status;
}

static tamis_status read_connect_wait(tamis_redis *redis, tamis_error *err) {
    uint64_t ns = 0;
    const tamis_status status = tamis__redis_uri_get(&redis->uri, "connect_wait")
                                    ? read_time(&redis->uri, "connect_wait", &ns, 0, err)
                                    : TAMIS_OK;
    redis->connect_by = tamis__now_ns() + ns;
    return status;
}

static tamis_status read_times(tamis_redis *redis, tamis_error *err) {
    tamis__redis_uri *uri = &redis->uri;
    tamis_status status = read_time(uri, "timeout", &redis->connect_ns, 1000, err);
    if (status == TAMIS_OK)
        status = read_time(uri, "read_timeout", &redis->read_ns, 2000, err);
    if (status == TAMIS_OK)
        status = read_time(uri, "retry_interval", &redis->retry_ns, 50, err);
    if (status == TAMIS_OK)
        status = read_time(uri, "patience", &redis->patience_ns, 15000, err);
    if (status == TAMIS_OK)
        status = read_connect_wait(redis, err);
    return status;
}

static tamis_status read_replicas(tamis_redis *redis, tamis_error *err) {
    tamis_status status = tamis__redis_uri_count(
        &redis->uri, "replicas", (tamis__count_range){1, REPLICAS_MAX}, &redis->replicas, err);
    if (status == TAMIS_OK && redis->replicas > 0 && redis->uri.kind == TAMIS__REDIS_CODIS)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: parameter replicas needs WAIT, which a Codis refuses; leave it out",
                           redis->uri.shown);
    return status;
}

/* Sets `shown` to the addresses of the URI: "host:port" or "host:port,host:port", with ",..." if more do not
 * fit. */
static void show_all(tamis_redis *redis) {
    const tamis__redis_uri *uri = &redis->uri;
    tamis__endpoint *joined = &redis->endpoint, single = *joined;
    joined->address = uri->addresses[0];
    tamis__endpoint_show(joined);
    for (size_t i = 1; i < uri->address_count; i++) {
        const size_t used = strlen(joined->shown);
        single.address = uri->addresses[i];
        tamis__endpoint_show(&single);
        if (used + strlen(single.shown) + 6 > sizeof joined->shown) {
            strcpy(joined->shown + (used < sizeof joined->shown - 5 ? used : sizeof joined->shown - 5),
                   ",...");
            return;
        }
        snprintf(joined->shown + used, sizeof joined->shown - used, ",%.100s", single.shown);
    }
}

/* Makes the nodes of the URI, and the map if the URI fixes it. */
static tamis_status add_nodes(tamis_redis *redis, tamis_error *err) {
    const tamis__redis_uri *uri = &redis->uri;
    tamis__node *nodes[TAMIS__REDIS_ADDRESSES];
    tamis_status status = TAMIS_OK;
    if (uri->kind == TAMIS__REDIS_CODIS)
        return tamis__codis_create(redis, err);
    for (size_t i = 0; i < uri->address_count && status == TAMIS_OK; i++) {
        const tamis__redis_address *address = &uri->addresses[i];
        const tamis__node_address where = {.host = address->host,
                                           .host_size = strlen(address->host),
                                           .port = address->port,
                                           .is_sentinel = uri->kind == TAMIS__REDIS_SENTINEL};
        status = tamis__redis_node(redis, &where, &nodes[i], err);
    }
    if (status != TAMIS_OK || tamis__redis_can_learn(redis))
        return status;
    redis->map = tamis__slot_map_create(redis);
    if (!redis->map)
        return tamis__fail_nomem(err, "redis", sizeof *redis->map);
    memcpy(redis->map->slots, nodes, redis->slot_count * sizeof *nodes);
    return TAMIS_OK;
}

static uint32_t count_slots(const tamis__redis_uri *uri) {
    if (uri->kind == TAMIS__REDIS_CLUSTER)
        return TAMIS__CLUSTER_SLOTS;
    return uri->kind == TAMIS__REDIS_SHARD ? (uint32_t)uri->address_count : 1;
}

tamis_status tamis__redis_create(tamis_redis **made, tamis__redis_uri *uri, tamis_error *err) {
    tamis_redis *redis = tamis__alloc(uri->allocator, sizeof *redis, _Alignof(tamis_redis));
    if (!redis) {
        tamis__redis_uri_release(uri);
        return tamis__fail_nomem(err, "redis", sizeof *redis);
    }
    redis->allocator = *uri->allocator;
    redis->uri = *uri;
    redis->uri.allocator = &redis->allocator;
    redis->endpoint.user = uri->user;
    redis->endpoint.password = uri->password;
    redis->endpoint.db = uri->db;
    redis->endpoint.allocator = &redis->allocator;
    if (uri->kind == TAMIS__REDIS_SENTINEL) {
        redis->sentinel_user = tamis__redis_uri_get(&redis->uri, "sentinel_user");
        redis->sentinel_password = tamis__redis_uri_get(&redis->uri, "sentinel_password");
    }
    redis->slot_count = count_slots(uri);
    show_all(redis);
    pthread_mutex_init(&redis->mutex, NULL);
    redis->connections = CONNECTIONS;
    tamis_status status = read_times(redis, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_count(&redis->uri, "connections", (tamis__count_range){1, CONNECTIONS_MAX},
                                        &redis->connections, err);
    if (status == TAMIS_OK)
        status = read_replicas(redis, err);
    if (status == TAMIS_OK && uri->has_tls)
        status = tamis__tls_context_create(&redis->tls, &redis->uri, err);
    redis->endpoint.tls = redis->tls; /* before any node copies the endpoint */
    if (status == TAMIS_OK)
        status = add_nodes(redis, err);
    if (status != TAMIS_OK) {
        tamis_redis_close(redis);
        return status;
    }
    *made = redis;
    return TAMIS_OK;
}

tamis_status tamis__redis_find(tamis_redis **redis, tamis__redis_uri *named, const char *name,
                               const tamis_allocator *allocator, tamis_error *err) {
    if (*redis)
        return tamis__redis_uri_parse_name(named, name, allocator, err);
    tamis_status status = tamis__redis_uri_parse(named, name, allocator, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__redis_create(redis, named, err);
    *named = (tamis__redis_uri){0};
    return status;
}

void tamis_redis_close(tamis_redis *redis) {
    if (!redis)
        return;
    tamis__codis_free(redis);
    tamis__redis_free_nodes(redis);
    tamis__slot_map_drop(redis, redis->map);
    tamis__tls_context_free(redis->tls);
    pthread_mutex_destroy(&redis->mutex);
    tamis_allocator allocator = redis->allocator;
    redis->uri.allocator = &allocator;
    tamis__redis_uri_release(&redis->uri);
    tamis__free(&allocator, redis, sizeof *redis);
}

/* Waits for the first reply of a node. An error reply counts too: the node is a Redis, even if it needs a
 * password, so calls wait for it from now on. */
static tamis_status ping_node(tamis_redis *redis, tamis__node *node, tamis_error *err) {
    const tamis__reply *reply;
    tamis__connection *conn;
    tamis_status status = tamis__redis_get_connection(redis, node, UINT64_MAX, &conn, err);
    if (status != TAMIS_OK)
        return status;
    tamis__connection_put_command(conn, 1);
    tamis__connection_put_text(conn, "PING");
    status = tamis__connection_wait_reply(conn, tamis__now_ns() + redis->read_ns, &reply, err);
    if (status != TAMIS_OK) {
        tamis__connection_close(conn);
        return status;
    }
    tamis__redis_mark_answered(redis, node);
    tamis__redis_return_connection(redis, node, conn);
    return TAMIS_OK;
}

/* Connects to each server that has a slot. If the map is learned from nodes, connects to one of them. */
static tamis_status reach_all(tamis_redis *redis, tamis_error *err) {
    if (redis->codis)
        return tamis__codis_reach(redis, err);
    if (tamis__redis_can_learn(redis))
        return tamis__redis_learn(redis, NULL, UINT64_MAX, err);
    tamis__slot_map *map = tamis__slot_map_hold(redis);
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < map->slot_count && status == TAMIS_OK; i++) {
        if (i == 0 || map->slots[i] != map->slots[i - 1])
            status = ping_node(redis, map->slots[i], err);
    }
    tamis__slot_map_drop(redis, map);
    return status;
}

/* The delay is retry_ns, doubled with each try up to 32 times retry_ns; half of it is random. So clients
 * that lost a server at the same time do not return at the same time. */
uint64_t tamis__retry_delay_ns(const tamis_redis *redis, uint64_t tries) {
    const uint64_t wait = redis->retry_ns << (tries < 5 ? tries : 5);
    const uint64_t chance = (tamis__now_ns() * TAMIS__GOLDEN) >> 32; /* a fraction of 2^32 */
    return wait / 2 + (wait / 2 * chance >> 32);
}

/* Repeats reach_all until it succeeds or connect_wait ends. */
tamis_status tamis__redis_reach(tamis_redis *redis, tamis_error *err) {
    for (uint64_t tries = 0;; tries++) {
        const tamis_status status = reach_all(redis, err);
        if (!tamis__is_lost(status) || tamis__now_ns() >= redis->connect_by)
            return status;
        (void)tamis__sys.poll(NULL, 0, (int)(tamis__retry_delay_ns(redis, tries) / MS) + 1);
    }
}

/* Times of calls that end within `total_ms`. Those of the URI stay. */
static void limit_times(tamis_redis *redis, uint64_t total_ms) {
    const uint64_t total_ns = (total_ms < 40 ? 40 : total_ms) * MS;

    if (!tamis__redis_uri_get(&redis->uri, "patience"))
        redis->patience_ns = total_ns / 2;
    if (!tamis__redis_uri_get(&redis->uri, "timeout"))
        redis->connect_ns = total_ns / 4;
    if (!tamis__redis_uri_get(&redis->uri, "read_timeout"))
        redis->read_ns = total_ns / 4;
    if (!tamis__redis_uri_get(&redis->uri, "retry_interval") && redis->retry_ns > total_ns / 40)
        redis->retry_ns = total_ns / 40;
}

tamis_status tamis__redis_create_within(tamis_redis **redis, const char *text, uint32_t timeout_ms,
                                        const tamis_allocator *given, tamis_error *err) {
    const tamis_allocator allocator = tamis__allocator_resolve(given);
    tamis__redis_uri uri;
    tamis_redis *made;
    tamis_status status = tamis__redis_uri_parse(&uri, text, &allocator, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_server(&uri, err);
    if (status != TAMIS_OK) {
        tamis__redis_uri_release(&uri);
        return status;
    }
    status = tamis__redis_create(&made, &uri, err);
    if (status != TAMIS_OK)
        return status;
    if (timeout_ms > 0)
        limit_times(made, timeout_ms);
    status = tamis__redis_uri_check_used(&made->uri, err);
    if (status == TAMIS_OK)
        *redis = made;
    else
        tamis_redis_close(made);
    return status;
}

tamis_status tamis_redis_open(tamis_redis **redis, const char *text, const tamis_allocator *given,
                              tamis_error *err) {
    TAMIS__NEED(redis, err);
    TAMIS__NEED_AS(text, "uri", err);
    tamis_redis *made;
    tamis_status status = tamis__redis_create_within(&made, text, 0, given, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__redis_reach(made, err);
    if (status == TAMIS_OK)
        *redis = made;
    else
        tamis_redis_close(made);
    return status;
}
