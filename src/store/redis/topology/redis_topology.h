/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_TOPOLOGY_REDIS_TOPOLOGY_H
#define TAMIS_STORE_REDIS_TOPOLOGY_REDIS_TOPOLOGY_H

#include <pthread.h>
#include <stdatomic.h>

#include <tamis/experimental/redis.h>

#include "store/redis/connection/redis_connection.h"

enum { TAMIS__CLUSTER_SLOTS = 16384 };

/* A waiting thread in the queue of a node. It lies on the stack of that thread. */
typedef struct tamis__waiter {
    struct tamis__waiter *next;
    pthread_cond_t may_enter; /* signalled when this thread is first and a permit is free */
} tamis__waiter;

/* An idle connection, and the time at which it became idle (tamis__now_ns). */
typedef struct tamis__idle {
    tamis__connection *conn;
    uint64_t since;
} tamis__idle;

/* A server or a sentinel; there is one node for each address and role. Connections point into it, so it
 * stays until the tamis_redis is closed. */
typedef struct tamis__node {
    struct tamis__node *next;
    size_t number;            /* 0, 1, ... in the order of discovery */
    bool is_sentinel;         /* a sentinel, not a server */
    tamis__endpoint endpoint; /* if it has answered once, calls wait for it when it is lost later */
    char *host;
    /* See redis_pool.c; guarded by the mutex. */
    size_t permits_used;    /* threads that may run commands here now */
    tamis__waiter *waiters; /* queue of threads that wait for a permit */
    size_t idle_count;
    tamis__idle *idle;    /* array of `connections` entries */
    bool is_offline;      /* proxy no longer online: connections that return are closed */
    uint64_t avoid_until; /* after a failure: until then, other proxies or sentinels are used */
} tamis__node;

/*
 * Redis keys are distributed by slots: every Redis key has a slot, and every slot has a server.
 *
 *     redis://           1 slot
 *     redis+shard://     1 slot for each server
 *     redis+cluster://   16384 slots, which move between servers
 *     redis+sentinel://  1 slot, whose server changes with each failover
 *     codis+zk://        1 slot, which every proxy serves: each run of commands uses the next proxy
 *
 * A map never changes. A new map replaces it, and the old one is freed when its last user drops it.
 */
typedef struct tamis__slot_map {
    size_t users; /* guarded by the mutex */
    size_t slot_count;
    tamis__node *slots[]; /* NULL: no server has this slot */
} tamis__slot_map;

/* The servers of a URI. Any number of threads may use it. */
struct tamis_redis {
    tamis_allocator allocator;
    tamis__redis_uri uri;                          /* owner of user, password and parameters */
    tamis__endpoint endpoint;                      /* template for nodes; `shown` has all addresses */
    tamis__tls_context *tls;                       /* NULL: no TLS */
    const char *sentinel_user, *sentinel_password; /* NULL: none */
    struct tamis__codis *codis;                    /* NULL: no Codis */
    uint32_t slot_count;
    uint64_t connect_ns, read_ns, patience_ns, retry_ns; /* see read_times() for the parameters */
    uint64_t connect_by;          /* deadline for servers that have never answered; see connect_wait= */
    atomic_bool has_answered;     /* a server, a sentinel or ZooKeeper has replied */
    uint64_t replicas;            /* replicas that must confirm a batch of adds; 0: none */
    _Atomic bool forbids_scripts; /* the server refused a script, so steps are transactions */
    uint64_t connections;         /* max. connections to a server */
    pthread_mutex_t mutex;        /* guards the rest */
    tamis__node *nodes;
    size_t node_count;
    tamis__slot_map *map; /* NULL: not known yet */
    size_t next_node;     /* round-robin counter: node to query first, or proxy to use next */
    uint64_t epoch;       /* highest config-epoch that a sentinel reported for the master */
};

/* Makes a tamis_redis from a parsed URI and connects to no Redis yet. Takes over *uri, also on failure. */
tamis_status tamis__redis_create(tamis_redis **redis, tamis__redis_uri *uri, tamis_error *err);
/* The two parts of tamis_redis_open. For calls that end within `timeout_ms`, see tamis__scripts_open; 0: the
 * times of the URI, and their defaults. */
tamis_status tamis__redis_create_within(tamis_redis **redis, const char *uri, uint32_t timeout_ms,
                                        const tamis_allocator *allocator, tamis_error *err);
tamis_status tamis__redis_reach(tamis_redis *redis, tamis_error *err);
/* Parses the name of a filter or bitmap. If *redis is given, `name` is NAME?... there, parsed into *named.
 * If *redis is NULL, `name` is a URI of server and name: *redis is made from it, and *named is left empty.
 * Release *named also after a failure. */
tamis_status tamis__redis_find(tamis_redis **redis, tamis__redis_uri *named, const char *name,
                               const tamis_allocator *allocator, tamis_error *err);

/* ---- nodes and slots ---- */

/* Where a node is. */
typedef struct tamis__node_address {
    const char *host; /* `host_size` bytes, without NUL */
    size_t host_size;
    uint16_t port;
    bool is_sentinel;
} tamis__node_address;

/* Returns the node of an address, and makes it if there is none. */
tamis_status tamis__redis_node(tamis_redis *redis, const tamis__node_address *address, tamis__node **node,
                               tamis_error *err);
void tamis__redis_free_nodes(tamis_redis *redis);

/* Opens a new connection within connect_ns. TAMIS_E_IO also if sentinels reported the server as master and
 * it says that it is a replica. */
tamis_status tamis__redis_connect(tamis_redis *redis, tamis__node *node, uint64_t deadline,
                                  tamis__connection **conn, tamis_error *err);
/* Records that a node has replied. NULL stands for ZooKeeper. */
void tamis__redis_mark_answered(tamis_redis *redis, tamis__node *node);
/* True if a failure with `status` ends the call at once: the server has never replied, and connect_wait is
 * over. In addition the connection is refused, the host is unknown, or the other program is not a Redis.
 * If `node` is NULL or the map is learned, a reply from any node is enough to go on. */
bool tamis__redis_is_hopeless(const tamis_redis *redis, const tamis__node *node, tamis_status status);
/* Returns the delay before the next attempt, after `tries` attempts, in ns. */
uint64_t tamis__retry_delay_ns(const tamis_redis *redis, uint64_t tries);
/* Takes one of the `connections` permits of a node, for tamis__redis_release_permit. Waits for it in a
 * queue until the deadline; a deadline in the past means no wait. Returns false without a permit. To rule
 * out a deadlock, a thread that waits holds no permit of another node. */
bool tamis__redis_acquire_permit(tamis_redis *redis, tamis__node *node, uint64_t deadline);
void tamis__redis_release_permit(tamis_redis *redis, tamis__node *node);
/* Returns TAMIS_E_TIMEOUT with the message for a missing permit. */
tamis_status tamis__redis_fail_no_permit(const tamis_redis *redis, const tamis__node *node, tamis_error *err);
/* Returns an idle connection that still works, or else a new one. */
tamis_status tamis__redis_get_connection(tamis_redis *redis, tamis__node *node, uint64_t deadline,
                                         tamis__connection **conn, tamis_error *err);
/* Keeps the connection for later use. Closes it if replies are outstanding, the node is offline or
 * `connections` are idle. */
void tamis__redis_return_connection(tamis_redis *redis, tamis__node *node, tamis__connection *conn);
void tamis__redis_close_idle(tamis_redis *redis, tamis__node *node);

/* Makes a map with no server in any slot. The caller is its one user. Returns NULL if out of memory. */
tamis__slot_map *tamis__slot_map_create(tamis_redis *redis);
/* Returns the current map, or NULL if none is known. The caller drops it after use. */
tamis__slot_map *tamis__slot_map_hold(tamis_redis *redis);
void tamis__slot_map_drop(tamis_redis *redis, tamis__slot_map *map); /* NULL is fine */
/* Makes `map` the current one and takes over the caller's use of it. NULL: no map is known any more. */
void tamis__slot_map_replace(tamis_redis *redis, tamis__slot_map *map);

/* True if the map is learned from servers, sentinels or ZooKeeper. Otherwise the URI fixes it. */
bool tamis__redis_can_learn(const tamis_redis *redis);
/* Queries nodes for the map until one answers: `first` (may be NULL), then the others, from another one each
 * time. */
tamis_status tamis__redis_learn(tamis_redis *redis, tamis__node *first, uint64_t deadline, tamis_error *err);

/* Returns the slot of a Redis key. */
uint32_t tamis__redis_slot(const tamis_redis *redis, const void *key, size_t size);
/* Returns the number of independent servers (redis+shard://), where slot i belongs to server i. Else 1. */
uint32_t tamis__redis_servers(const tamis_redis *redis);

/* ---- clusters and sentinels ---- */

uint32_t tamis__cluster_slot(const void *key, size_t size);
/* Returns the hash tag of a Redis key, and its size in *size. A key with a tag has the slot of its tag.
 * NULL: no tag; *size is unchanged. */
const void *tamis__cluster_tag(const void *key, size_t *size);

/* A redirection: MOVED for good, or ASK for one command. */
typedef struct tamis__redirection {
    bool is_ask;
    uint32_t slot;
    const char *host; /* host_size bytes, in the error's text or the source's name */
    size_t host_size;
    uint16_t port;
} tamis__redirection;

/* Parses an error reply of node `source`. Returns false if it is not a redirection. */
bool tamis__cluster_redirection(const tamis__reply *error, const tamis__node *source, tamis__redirection *to);

/* The query for the map of a cluster, and its reply, which becomes the current map. */
void tamis__cluster_put_query(tamis__connection *conn);
tamis_status tamis__cluster_accept_reply(tamis_redis *redis, const tamis__node *source,
                                         const tamis__reply *reply, tamis_error *err);

/* The query for the master, to a sentinel. tamis__sentinel_accept_reply makes the current map from the reply;
 * TAMIS_E_NOT_FOUND: the sentinel knows no master of that name. */
void tamis__sentinel_put_query(const tamis_redis *redis, tamis__connection *conn);
/* *has_moved: sentinels now report another master than map `before` has. A replaced master accepts
 * commands until it is reconfigured, and they are lost, so callers check this before they use the replies
 * of a batch.
 *
 * - While a sentinel reports a failover in progress, this waits up to patience_ns (TAMIS_E_TIMEOUT).
 * - All sentinels of the URI are queried, because they inform each other slowly. Unreachable ones are left
 *   out.
 * - Without sentinels, or if `before` is NULL, *has_moved is unchanged. */
tamis_status tamis__sentinel_has_moved(tamis_redis *redis, const tamis__slot_map *before, bool *has_moved,
                                       tamis_error *err);
tamis_status tamis__sentinel_accept_reply(tamis_redis *redis, const tamis__node *sentinel,
                                          const tamis__reply *reply, tamis_error *err);

/* ---- the proxies of a Codis ---- */

tamis_status tamis__codis_create(tamis_redis *redis, tamis_error *err);
void tamis__codis_free(tamis_redis *redis);
/* Makes a new map, with the next proxy that is online. */
tamis_status tamis__codis_learn(tamis_redis *redis, uint64_t deadline, tamis_error *err);
/* Makes a new map and connects to its proxy; if that fails, to the next ones. */
tamis_status tamis__codis_reach(tamis_redis *redis, tamis_error *err);
/* TAMIS_E_UNSUPPORTED: the servers are a Codis, which refuses `command`. `what` is the filter's name, and
 * `remedy` the advice of the message. */
tamis_status tamis__redis_require_command(const tamis_redis *redis, const char *what, const char *command,
                                          const char *remedy, tamis_error *err);
/* Names of commands that exist since Redis 4. For a Codis, whose servers are of Redis 3.2, older commands. */
const char *tamis__redis_unlink(const tamis_redis *redis);
const char *tamis__redis_hset(const tamis_redis *redis); /* sets several fields */
/* True if all commands are carried out in the order of one pipeline: one slot and no Codis, whose proxies
 * spread a pipeline over servers. */
bool tamis__redis_keeps_order(const tamis_redis *redis);

#endif
