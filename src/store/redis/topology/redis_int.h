/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_TOPOLOGY_REDIS_INT_H
#define TAMIS_STORE_REDIS_TOPOLOGY_REDIS_INT_H

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

/* An idle connection, and the time since when (tamis__now_ns). */
typedef struct tamis__idle {
    tamis__connection *conn;
    uint64_t since;
} tamis__idle;

/* A server or a sentinel; there is one node for each address and role. Connections point into it, so it stays until the
 * tamis_redis is closed. */
typedef struct tamis__node {
    struct tamis__node *next;
    size_t number;            /* 0, 1, ... in the order of discovery */
    bool is_sentinel;         /* a sentinel, not a server */
    atomic_bool has_answered; /* it has replied once, so calls wait for it if it is lost later */
    tamis__endpoint endpoint;
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
    size_t turn;          /* round-robin counter: node to query first, or proxy to use next */
    uint64_t epoch;       /* highest config-epoch that a sentinel reported for the master */
};

/* Makes a tamis_redis from a parsed URI and connects to no Redis yet. Takes over *uri, also on failure. */
tamis_status tamis__redis_create(tamis_redis **redis, tamis__redis_uri *uri, tamis_error *err);
/* Parses the name of a filter or bitmap. If *redis is given, `name` is NAME?... there, parsed into *named. If *redis is
 * NULL, `name` is a URI of server and name: *redis is made from it, and *named is left empty. Release *named also after a
 * failure. */
tamis_status tamis__redis_find(tamis_redis **redis, tamis__redis_uri *named, const char *name,
                               const tamis_allocator *allocator, tamis_error *err);

/* ---- nodes and slots ---- */

/* These return the node of an address, and make it if there is none. */
tamis_status tamis__redis_node(tamis_redis *redis, const char *host, size_t host_size, uint16_t port,
                               tamis__node **node, tamis_error *err);
tamis_status tamis__redis_sentinel(tamis_redis *redis, const char *host, size_t host_size, uint16_t port,
                                   tamis__node **node, tamis_error *err);
void tamis__redis_free_nodes(tamis_redis *redis);

/* Opens a new connection within connect_ns. TAMIS_E_IO also if sentinels reported the server as master and it says that
 * it is a replica. */
tamis_status tamis__redis_connect(tamis_redis *redis, tamis__node *node, uint64_t deadline,
                                  tamis__connection **conn, tamis_error *err);
/* Records that a node has replied. NULL stands for ZooKeeper. */
void tamis__redis_mark_answered(tamis_redis *redis, tamis__node *node);
/* True if a failure with `status` ends the call at once: the server has never replied, connect_wait is over, and the
 * connection is refused, the host is unknown, or the other program is no Redis. If `node` is NULL or the map is learned, a
 * reply from any node is enough to go on. */
bool tamis__redis_is_hopeless(const tamis_redis *redis, const tamis__node *node, tamis_status status);
/* Takes one of the `connections` permits of a node, for tamis__redis_release_permit. Waits for it in a queue until the
 * deadline; a deadline in the past means no wait. Returns false without a permit. To rule out a deadlock, a thread that
 * waits holds no permit of another node. */
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
/* Queries nodes for the map until one answers: `first` (may be NULL), then the others, from another one each time. */
tamis_status tamis__redis_learn(tamis_redis *redis, tamis__node *first, uint64_t deadline, tamis_error *err);

/* Returns the slot of a Redis key. */
uint32_t tamis__redis_slot(const tamis_redis *redis, const void *key, size_t size);
/* Returns the number of independent servers (redis+shard://), where slot i belongs to server i. Else 1. */
uint32_t tamis__redis_servers(const tamis_redis *redis);

/* ---- clusters and sentinels ---- */

uint32_t tamis__cluster_slot(const void *key, size_t size);
/* Returns the hash tag of a Redis key, and its size in *size. A key with a tag has the slot of its tag. NULL: no tag;
 * *size is unchanged. */
const void *tamis__cluster_tag(const void *key, size_t *size);

/* A redirection: MOVED for good, or ASK for one command. */
typedef struct tamis__redirection {
    bool is_ask;
    uint32_t slot;
    const char *host; /* host_size bytes, in the error's text or the source's name */
    size_t host_size;
    uint16_t port;
} tamis__redirection;

/* Parses an error reply of node `source`. Returns false if it is no redirection. */
bool tamis__cluster_redirection(const tamis__reply *error, const tamis__node *source, tamis__redirection *to);

/* The query for the map of a cluster, and its reply, which becomes the current map. */
void tamis__cluster_put_query(tamis__connection *conn);
tamis_status tamis__cluster_take_reply(tamis_redis *redis, const tamis__node *source,
                                       const tamis__reply *reply, tamis_error *err);

/* The query for the master, to a sentinel. tamis__sentinel_take_reply makes the current map from the reply;
 * TAMIS_E_NOT_FOUND: the sentinel knows no master of that name. */
void tamis__sentinel_put_query(const tamis_redis *redis, tamis__connection *conn);
/* *has_moved: sentinels now report another master than map `before` has. A replaced master accepts commands until it is
 * reconfigured, and they are lost, so callers check this before they use the replies of a batch.
 *
 * - While a sentinel reports a failover in progress, this waits up to patience_ns (TAMIS_E_TIMEOUT).
 * - All sentinels of the URI are queried, because they inform each other slowly. Unreachable ones are left out.
 * - Without sentinels, or if `before` is NULL, *has_moved is unchanged. */
tamis_status tamis__sentinel_has_moved(tamis_redis *redis, const tamis__slot_map *before, bool *has_moved,
                                       tamis_error *err);
tamis_status tamis__sentinel_take_reply(tamis_redis *redis, const tamis__node *sentinel,
                                        const tamis__reply *reply, tamis_error *err);

/* ---- the proxies of a Codis ---- */

tamis_status tamis__codis_create(tamis_redis *redis, tamis_error *err);
void tamis__codis_free(tamis_redis *redis);
/* Makes a new map, with the next proxy that is online. */
tamis_status tamis__codis_learn(tamis_redis *redis, uint64_t deadline, tamis_error *err);
/* Makes a new map and connects to its proxy; if that fails, to the next ones. */
tamis_status tamis__codis_reach(tamis_redis *redis, tamis_error *err);
/* TAMIS_E_UNSUPPORTED: the servers are a Codis, which refuses `command`. `what` is the filter's name, and `remedy` the
 * advice of the message. */
tamis_status tamis__redis_require_command(const tamis_redis *redis, const char *what, const char *command,
                                          const char *remedy, tamis_error *err);
/* Names of commands that exist since Redis 4. For a Codis, whose servers are of Redis 3.2, older commands. */
const char *tamis__redis_unlink(const tamis_redis *redis);
const char *tamis__redis_hset(const tamis_redis *redis); /* for several fields */
/* True if all commands are carried out in the order of one pipeline: one slot and no Codis, whose proxies spread a pipeline
 * over servers. */
bool tamis__redis_keeps_order(const tamis_redis *redis);

/* ---- pipelined requests ---- */

#define TAMIS__NO_SLOT UINT32_MAX

/*
 * Pipelined commands, each with its reply. A run survives a lost connection, a server that is loading its data, and a
 * server that is no longer the master. Commands without a reply are sent again, until no reply has arrived for patience_ns.
 * So a command may be carried out twice, and every command here must tolerate that.
 */
typedef struct tamis__requests {
    size_t count;
    void *context;
    /* Puts command i, exactly one. False: there is no such command, and i counts as answered. */
    bool (*put_command)(void *context, size_t i, tamis__connection *conn);
    /* Takes the reply to command i, which is no error reply. resent: the command was also sent before, and may have been
     * carried out then. A failure ends the run, such as TAMIS_E_IO for a reply that this command cannot have. */
    tamis_status (*take_reply)(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err);
    const char *what; /* the filter's name, for messages */
    /* Returns the slot of command i (tamis__redis_slot), or TAMIS__NO_SLOT if there is no such command. Not called, and may
     * be NULL, if there is only one slot. */
    uint32_t (*slot)(void *context, size_t i);
    /* Barriers, in ascending order; 0: none. The commands from a barrier on must be carried out after all commands before
     * it. If tamis__redis_keeps_order, they share one pipeline (see any_retried). Otherwise they are put once all commands
     * before the barrier are answered. */
    size_t barriers[2];
    /* If not NULL, and replicas= is in the URI, the run ends when that many replicas have confirmed its writes
     * (redis_wait.c). Set to true if a connection ended before that: a failover may lose the writes, so run it again. The
     * caller sets it to false first. */
    bool *unconfirmed;
    /* If not NULL, set when an error reply ends the run: was it of the kind of tamis__redis_is_denied? */
    bool *denied;
    /* All commands are steps (redis_step.h), which become transactions if scripts are forbidden. */
    bool is_steps;
} tamis__requests;

/* Sends all commands and takes all replies. *any_retried (may be NULL), if tamis__redis_keeps_order: a command was sent
 * again, so commands behind a barrier may have been carried out before one ahead of it. */
tamis_status tamis__requests_run(tamis_redis *redis, const tamis__requests *requests, bool *any_retried,
                                 tamis_error *err);

/* Runs steps one after the other, each as a transaction: see redis_transaction.c. */
tamis_status tamis__requests_transact(tamis_redis *redis, const tamis__requests *requests, tamis_error *err);

/* One command, which must tolerate being carried out twice. */
typedef struct tamis__command {
    tamis_redis *redis;
    const char *what; /* as in tamis__requests */
    uint32_t slot;
    const tamis_key *words;
    size_t count;
    char *to; /* buffer for a string reply; NULL: none is expected */
    size_t buffer_size;
    int64_t integer; /* integer reply, or -1 for another reply */
    size_t size;     /* size of the string reply in `to` */
    /* With replicas= in the URI: return when that many replicas have all that the server had when it carried out the
     * command, even if the command only reads. */
    bool is_replicated;
} tamis__command;

tamis_status tamis__command_run(tamis__command *command, tamis_error *err);

/* Returns TAMIS_E_IO with the message for a reply that this command cannot have. */
tamis_status tamis__redis_bad_reply(const tamis_redis *redis, const char *what, tamis_error *err);

/* ---- error replies ---- */

/* True if the error begins with this word or words, and a space. */
bool tamis__reply_begins(const tamis__reply *error, const char *word);
/* True if the command was refused only for now, so it is sent again. */
bool tamis__redis_is_transient(const tamis__reply *error);
/* True if the server refuses writes (memory, disk), or this user. Another command for the same purpose may succeed. */
bool tamis__redis_is_denied(const tamis__reply *error);
/* True if the error says that EVAL is missing, or forbidden for this user. */
bool tamis__redis_forbids_scripts(const tamis__reply *error);
/* True if the command may have been carried out in spite of this error. */
bool tamis__redis_is_unsure(const tamis__reply *error);
/* Returns the status of an error reply. The message says what the server refused and what to do. sys_errno is ENOMEM if
 * the memory of the server is full. */
tamis_status tamis__redis_refused(const tamis__endpoint *endpoint, const char *what,
                                  const tamis__reply *reply, tamis_error *err);

#endif
