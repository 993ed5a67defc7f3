/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_TOPOLOGY_REDIS_INT_H
#define TAMIS_STORE_REDIS_TOPOLOGY_REDIS_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include <tamis/redis.h>

#include "store/redis/connection/redis_connection.h"

enum { TAMIS__CLUSTER_SLOTS = 16384 };

/* A thread that waits for a connection; on its stack. */
typedef struct tamis__waiter {
    struct tamis__waiter *next;
    pthread_cond_t may_enter; /* signalled when it is the first in line and a connection is free */
} tamis__waiter;

/* A link that nobody uses, and since when (tamis__now_ns). */
typedef struct tamis__idle {
    tamis__connection *conn;
    uint64_t since;
} tamis__idle;

/* A server or a sentinel. Its links hold on to it, so it stays as long as the tamis_redis; of an address there is one. */
typedef struct tamis__node {
    struct tamis__node *next;
    size_t number;            /* from 0 on, in the order in which they became known */
    bool is_sentinel;         /* a sentinel, not a server */
    atomic_bool has_answered; /* it has replied once: calls wait for it if it is lost later */
    tamis__endpoint endpoint;
    char *host;
    /* See redis_pool.c; guarded by the mutex. */
    size_t permits_used;    /* of those who run commands here */
    tamis__waiter *waiters; /* of those who want to, in order */
    size_t idle_count;
    tamis__idle *idle;    /* room for as many as there may be connections */
    bool is_offline;      /* a proxy that is online no more: its links are not kept */
    uint64_t avoid_until; /* of proxies: what could not be reached has its turn after the others till then */
} tamis__node;

/*
 * What is spread over several servers is spread by slots: every Redis key has one, and every slot one server.
 *
 *     redis://           1 slot
 *     redis+shard://     one a server
 *     redis+cluster://   16384, and which server has them changes
 *     redis+sentinel://  1, and which server has it changes
 *     codis+zk://        1, and any proxy has it: each exchange goes to the next one
 *
 * A map is never changed, only replaced by another: whoever uses one holds it.
 */
typedef struct tamis__slot_map {
    size_t users; /* guarded by the mutex */
    size_t slot_count;
    tamis__node *slots[]; /* NULL: no server has this slot */
} tamis__slot_map;

/* Servers and what is needed to speak to them. Any number of threads. */
struct tamis_redis {
    tamis_allocator allocator;
    tamis__redis_uri uri;                          /* of tamis_redis_open: its parameters stay here */
    tamis__endpoint endpoint;                      /* as whom the nodes are spoken to; shown: all of them */
    tamis__tls_context *tls;                       /* NULL: none */
    const char *sentinel_user, *sentinel_password; /* NULL: none */
    struct tamis__codis *codis;                    /* NULL: it is none */
    uint32_t slot_count;
    uint64_t connect_ns, read_ns, patience_ns, retry_ns;
    uint64_t connect_by;          /* deadline for servers that have never answered; see connect_wait= */
    atomic_bool has_answered;     /* a server, a sentinel or ZooKeeper has replied */
    uint64_t replicas;            /* replicas that must confirm a batch of adds; 0: none */
    _Atomic bool forbids_scripts; /* set when the server refuses the first step */
    uint64_t connections;         /* max. connections to a server */
    pthread_mutex_t mutex;        /* guards the rest */
    tamis__node *nodes;
    size_t node_count;
    tamis__slot_map *map; /* NULL: not known yet */
    size_t turn;          /* of the node that is asked first who has what */
    uint64_t epoch;       /* the highest that a sentinel told of its master */
};

/* From a URI that was parsed, which becomes the server's, also on failure. */
tamis_status tamis__redis_create(tamis_redis **redis, tamis__redis_uri *uri, tamis_error *err);
/* What is called NAME?... there; or with *redis NULL by the URI of both, which becomes that of a server made for it, and
 * *named is empty. Release *named also after a failure. */
tamis_status tamis__redis_find(tamis_redis **redis, tamis__redis_uri *named, const char *name,
                               const tamis_allocator *allocator, tamis_error *err);

/* ---- nodes and slots ---- */

/* The server of that address, which is made if there is none. */
tamis_status tamis__redis_node(tamis_redis *redis, const char *host, size_t host_size, uint16_t port,
                               tamis__node **node, tamis_error *err);
tamis_status tamis__redis_sentinel(tamis_redis *redis, const char *host, size_t host_size, uint16_t port,
                                   tamis__node **node, tamis_error *err);
void tamis__redis_free_nodes(tamis_redis *redis);

/* A new link, made within connect_ns; of a server that sentinels named TAMIS_E_IO where it is no master. */
tamis_status tamis__redis_connect(tamis_redis *redis, tamis__node *node, uint64_t deadline,
                                  tamis__connection **conn, tamis_error *err);
/* Records that the node has replied (NULL: ZooKeeper). */
void tamis__redis_mark_answered(tamis_redis *redis, tamis__node *node);
/* True if a failure of that status ends the call at once: the node (NULL: every server that has the slot map) has never
 * replied, and the connection is refused, the name is unknown, or the program is no Redis. If several servers have the slot
 * map, one that has replied is enough to go on. */
bool tamis__redis_is_hopeless(const tamis_redis *redis, const tamis__node *node, tamis_status status);
/* Waits until fewer than `connections` run commands at the node, which is then to be left; false: the deadline came, or has
 * come already. Who waits holds no other's place. */
bool tamis__redis_acquire_permit(tamis_redis *redis, tamis__node *node, uint64_t deadline);
void tamis__redis_release_permit(tamis_redis *redis, tamis__node *node);
/* What there is to say then: TAMIS_E_TIMEOUT. */
tamis_status tamis__redis_fail_no_permit(const tamis_redis *redis, const tamis__node *node, tamis_error *err);
/* A link that was idle, and is sound, or where there is none a new one. */
tamis_status tamis__redis_get_connection(tamis_redis *redis, tamis__node *node, uint64_t deadline,
                                         tamis__connection **conn, tamis_error *err);
void tamis__redis_return_connection(tamis_redis *redis, tamis__node *node, tamis__connection *conn);
void tamis__redis_close_idle(tamis_redis *redis, tamis__node *node);

/* Without a server in any slot, and used by the caller. NULL: out of memory. */
tamis__slot_map *tamis__slot_map_create(tamis_redis *redis);
/* The map of now, which stays until it is dropped, or NULL. */
tamis__slot_map *tamis__slot_map_hold(tamis_redis *redis);
void tamis__slot_map_drop(tamis_redis *redis, tamis__slot_map *map); /* NULL is fine */
/* Takes the caller's use of it. NULL: it is not known any more. */
void tamis__slot_map_replace(tamis_redis *redis, tamis__slot_map *map);

/* Whether servers or sentinels can tell who has which slot: else the map stays what it is. */
bool tamis__redis_can_learn(const tamis_redis *redis);
/* Asks them, `first` (may be NULL) before the others, which come in turn, until one has told. */
tamis_status tamis__redis_learn(tamis_redis *redis, tamis__node *first, uint64_t deadline, tamis_error *err);

/* The slot of a Redis key. */
uint32_t tamis__redis_slot(const tamis_redis *redis, const void *key, size_t size);
/* Of servers that know nothing of each other: how many, and slot i is server i. Of others 1. */
uint32_t tamis__redis_servers(const tamis_redis *redis);

/* ---- clusters and sentinels ---- */

uint32_t tamis__cluster_slot(const void *key, size_t size);
/* The hash tag, which alone says the slot of a key that has one, and its size; NULL, and *size as it was: it has none. */
const void *tamis__cluster_tag(const void *key, size_t *size);

/* MOVED, or for one command alone ASK. */
typedef struct tamis__redirection {
    bool is_ask;
    uint32_t slot;
    const char *host; /* host_size bytes, of the error's or the teller's */
    size_t host_size;
    uint16_t port;
} tamis__redirection;

/* False: the error is something else. */
bool tamis__cluster_redirection(const tamis__reply *error, const tamis__node *teller, tamis__redirection *to);

/* Who has which slot: the question, and a map made of its answer. */
void tamis__cluster_put_query(tamis__connection *conn);
tamis_status tamis__cluster_take_reply(tamis_redis *redis, const tamis__node *teller,
                                       const tamis__reply *reply, tamis_error *err);

/* The same of sentinels. TAMIS_E_NOT_FOUND: it has no master of that name. */
void tamis__sentinel_put_query(const tamis_redis *redis, tamis__connection *conn);
/* Whether sentinels name another master by now than there was `before` (NULL: nobody knew). One that was replaced, and was
 * not told yet, takes commands still, which are lost; so while a sentinel is at it, this waits. All that the URI names are
 * asked, since they tell one another slowly; of those that cannot be asked nobody can tell. */
tamis_status tamis__sentinel_has_moved(tamis_redis *redis, const tamis__slot_map *before, bool *has_moved,
                                       tamis_error *err);
tamis_status tamis__sentinel_take_reply(tamis_redis *redis, const tamis__node *sentinel,
                                        const tamis__reply *reply, tamis_error *err);

/* ---- the proxies of a Codis ---- */

tamis_status tamis__codis_create(tamis_redis *redis, tamis_error *err);
void tamis__codis_free(tamis_redis *redis);
/* Makes the map anew, of the proxy whose turn it is. */
tamis_status tamis__codis_learn(tamis_redis *redis, uint64_t deadline, tamis_error *err);
/* The same, and connects to it, or to another where that cannot be reached. */
tamis_status tamis__codis_reach(tamis_redis *redis, tamis_error *err);
/* TAMIS_E_UNSUPPORTED: a Codis refuses the command, which `what` needs; `remedy` says what to do instead. */
tamis_status tamis__redis_require_command(const tamis_redis *redis, const char *what, const char *command,
                                          const char *remedy, tamis_error *err);
/* What is there since Redis 4, in words that the servers behind a Codis know, which are of Redis 3.2. */
const char *tamis__redis_unlink(const tamis_redis *redis);
const char *tamis__redis_hset(const tamis_redis *redis); /* of several fields */
/* Whether commands of one pipeline are carried out in order: proxies spread them over servers. */
bool tamis__redis_keeps_order(const tamis_redis *redis);

/* ---- exchanges ---- */

#define TAMIS__NO_SLOT UINT32_MAX

/*
 * Commands in a pipeline, each with its reply. A connection that is lost, a server that loads its data or is no longer
 * the master are ridden out: what has no answer is asked again, until nothing was answered for patience_ns. So a command
 * may be carried out twice, and must be one that may.
 */
typedef struct tamis__requests {
    size_t count;
    void *context;
    /* Puts command i, one only; false where there is none of that number, which is then done. */
    bool (*put_command)(void *context, size_t i, tamis__connection *conn);
    /* Takes its reply, which is no error. resent: the command was sent before too, and may have been carried out then.
     * TAMIS_E_IO for a reply that such a command does not have ends the exchange, as any failure does. */
    tamis_status (*take_reply)(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err);
    const char *what; /* the filter's name, for sentences */
    /* The slot that command i is for, or TAMIS__NO_SLOT where there is no such command; see tamis__redis_slot. Not asked
     * where all is one slot. */
    uint32_t (*slot)(void *context, size_t i);
    /* Rising: commands that, with those behind them, have to come after all before them (0: none). Where one server has
     * all they are in the same pipeline, see `any_retried`; else they are asked when all before them are answered. */
    size_t barriers[2];
    /* Not NULL: with replicas= in the URI, the exchange ends when so many replicas have confirmed its writes (redis_wait.c).
     * Set to true if a connection ended before that: the writes may be lost in a failover, so run the exchange again. The
     * caller sets it to false first. */
    bool *unconfirmed;
    /* NULL, or set where the exchange ends with a refusal of that kind: see tamis__redis_is_denied */
    bool *denied;
    bool
        is_steps; /* all its commands are steps (redis_step.h): they are transactions where scripts are forbidden */
} tamis__requests;

/* *redone (may be NULL): a command was asked twice, so that those from a barrier on may have been carried out before
 * one that is to come before them. */
tamis_status tamis__requests_run(tamis_redis *redis, const tamis__requests *requests, bool *any_retried,
                                 tamis_error *err);

/* The same of steps, one after the other, each as a transaction: see redis_transaction.c. */
tamis_status tamis__requests_transact(tamis_redis *redis, const tamis__requests *requests, tamis_error *err);

/* One command, which may be carried out twice. */
typedef struct tamis__command {
    tamis_redis *redis;
    const char *what; /* as of an exchange */
    uint32_t slot;
    const tamis_key *words;
    size_t count;
    char *to; /* where bytes of a reply go; NULL: it has none */
    size_t buffer_size;
    int64_t integer; /* the reply, or -1: it was none */
    size_t size;     /* of what is in `to` */
    /* With replicas= in the URI: return when so many replicas have all that the server had when it carried the command
     * out, written or read. */
    bool is_replicated;
} tamis__command;

tamis_status tamis__command_run(tamis__command *command, tamis_error *err);

/* TAMIS_E_IO: a reply that a Redis does not give to what was asked. */
tamis_status tamis__redis_bad_reply(const tamis_redis *redis, const char *what, tamis_error *err);

/* ---- error replies ---- */

/* Its first word, or words. */
bool tamis__reply_begins(const tamis__reply *error, const char *word);
/* Whether the command was not carried out and may be at another time. */
bool tamis__redis_is_transient(const tamis__reply *error);
/* Whether it was refused as one that writes, or to this user: another that does the same may be granted. */
bool tamis__redis_is_denied(const tamis__reply *error);
/* True if the error says that EVAL is missing, or forbidden for this user. */
bool tamis__redis_forbids_scripts(const tamis__reply *error);
/* Whether a command with such an error may have been carried out nevertheless. */
bool tamis__redis_is_unsure(const tamis__reply *error);
/* The sentence of an error reply: what the server refused, and what its operator can do. sys_errno is ENOMEM where its
 * memory is full. */
tamis_status tamis__redis_refused(const tamis__endpoint *endpoint, const char *what,
                                  const tamis__reply *reply, tamis_error *err);

#endif
