/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_LOOKUPS_H
#define TAMIS_SERVICE_GUARD_GUARD_LOOKUPS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <tamis/experimental/guard.h>

#include "service/guard/guard_cache.h"

/*
 * Keys that wait for levels 3 and 4, and the requests that wait for each of them. The essay is in
 * guard_lookups.c.
 *
 * One mutex protects everything here. Functions need it locked by the caller, unless they say otherwise.
 */
typedef struct guard_lookups guard_lookups;

/* A node of a doubly linked ring, or the ring itself. */
typedef struct guard_node {
    struct guard_node *next, *previous;
} guard_node;

/* The work in progress for a key. Each stage but GUARD_STAGE_DONE has a queue. */
typedef enum guard_stage {
    GUARD_STAGE_REDIS,   /* queued for Redis */
    GUARD_STAGE_BATCHED, /* in the batch of the Redis thread */
    GUARD_STAGE_PAUSED,  /* another process has the lease */
    GUARD_STAGE_LOAD,    /* queued for a query to the source */
    GUARD_STAGE_LOADING, /* a source thread has it */
    GUARD_STAGE_READY,   /* its answer was in the cache; the clock thread delivers it */
    GUARD_STAGE_STORE,   /* answered; its entry is to be stored */
    GUARD_STAGE_RELEASE, /* over without an answer; its lease is to be released */
    GUARD_STAGE_DONE
} guard_stage;
enum { GUARD_STAGES = GUARD_STAGE_DONE };

/* A key that waits. */
typedef struct guard_lookup {
    guard_node queue;              /* in the queue of its stage */
    struct guard_lookup *in_chain; /* next one in its bucket */
    guard_node waiters;            /* requests */
    guard_hash hash;
    guard_stage stage;
    uint32_t references; /* one for its stage */
    uint32_t repeats;    /* queries that failed since the database had closed the session */
    uint32_t pause_ms;   /* last pause for the lease of another process */
    uint64_t time; /* paused: end of the pause; with a lease: next renewal; else: since when in its stage */
    bool is_joinable;                 /* in the table; false after a put of the key */
    bool is_cacheable;                /* no put of the key was in progress since the lookup began */
    bool is_in_filter;                /* the filter in Redis was queried, and has the key */
    bool has_lease;                   /* in Redis */
    uint8_t token[TAMIS_GUARD_TOKEN]; /* of the lease */
    guard_blob *blob;                 /* the answer; NULL: none yet */
    size_t key_size;
    unsigned char key[];
} guard_lookup;

/* A request that waits. */
typedef struct guard_waiter {
    guard_node in_lookup, by_deadline;
    guard_lookup *lookup;
    tamis_guard_done done;
    void *context;
    uint64_t deadline;
} guard_waiter;

/* A put in progress in this process. */
typedef struct guard_mark {
    struct guard_mark *in_chain;
    guard_hash hash;
    uint8_t token[TAMIS_GUARD_TOKEN];
    uint64_t deadline; /* UINT64_MAX: it has no token yet */
    size_t key_size;
    unsigned char key[];
} guard_mark;

struct guard_lookups {
    tamis_guard *guard;
    pthread_mutex_t mutex;
    pthread_cond_t load_cond;  /* a lookup is queued for the source, and a session may be open */
    pthread_cond_t down_cond;  /* the same, while the source is down */
    pthread_cond_t clock_cond; /* an answer is ready */
    pthread_cond_t redis_cond; /* the Redis thread has something to do */
    guard_lookup **buckets;    /* joinable lookups */
    guard_mark **mark_buckets;
    size_t bucket_count; /* of both, a power of two */
    guard_node queues[GUARD_STAGES];
    guard_node by_deadline; /* all waiters, oldest first */
    uint64_t count, count_max;
    uint64_t timeout; /* of a request, ns */
    bool is_closing;
    /* source threads */
    pthread_t *threads, clock;
    uint32_t thread_count;
    bool has_clock;
    void *first_session; /* opened by tamis_guard_open, for the first thread; NULL: none */
    uint32_t connected;  /* open sessions */
    bool is_down;        /* no session is open, and the last attempt failed: `why_down` */
    tamis_error why_down;
    tamis_error why_query; /* of the last query that failed; TAMIS_OK: none has */
    /* Redis thread; guard_redis.c */
    pthread_t redis_thread;
    bool has_redis_thread, is_redis_thread_over;
    uint64_t call_since;   /* when its current call to Redis began; 0: no call */
    uint64_t call_max;     /* longest time that a lookup waits for Redis, ns */
    uint64_t redis_at;     /* Redis has failed: not used before this time */
    uint32_t redis_pause;  /* ms until redis_at, from the last failure on; 0: Redis works */
    tamis_error why_redis; /* the last failure */
    uint64_t filter_at;    /* the filter in Redis has failed: not tried before this time */
};

/* The servers that tamis_guard_open could reach. */
typedef struct guard_reached {
    void *session;      /* with the source; NULL: none, see why_source */
    tamis_error source; /* why there is no session */
    tamis_error redis;  /* TAMIS_OK: there is no Redis, or it answers */
} guard_reached;

/* ---- life ---- */

/* reached->session: the lookups close it. They have it even if this call fails. */
tamis_status tamis__guard_lookups_create(tamis_guard *guard, const guard_reached *reached, tamis_error *err);
/* Waits for queries in progress, and answers all other requests with TAMIS_E_INTERRUPTED. */
void tamis__guard_lookups_free(guard_lookups *lookups);

/* ---- requests; these lock ---- */

/* A request of tamis_guard_request whose key is hashed. */
typedef struct guard_request {
    tamis_key key;
    guard_hash hash;
    tamis_guard_done done;
    void *context;
} guard_request;

/* Joins the lookup of the key, or begins one. *ready is a reference to the answer if the cache has it
 * meanwhile, and nothing was begun then. */
tamis_status tamis__guard_lookups_add(guard_lookups *lookups, const guard_request *request,
                                      guard_blob **ready, tamis_error *err);
/* Has a thread of the guard answer a request. Owns the reference to `blob`, also on failure. */
tamis_status tamis__guard_lookups_answer(guard_lookups *lookups, const guard_request *request,
                                         guard_blob *blob, tamis_error *err);
uint64_t tamis__guard_lookups_count(guard_lookups *lookups);
/* Returns TAMIS_OK, or why the source is down. */
tamis_status tamis__guard_lookups_check_source(guard_lookups *lookups, tamis_error *err);
/* Returns why the last query that failed has failed, or TAMIS_OK. */
tamis_status tamis__guard_lookups_check_query(guard_lookups *lookups, tamis_error *err);
/* Returns TAMIS_OK, or why the last call to Redis failed. */
tamis_status tamis__guard_lookups_check_redis(guard_lookups *lookups, tamis_error *err);

/* ---- puts; these lock ---- */

/* A put begins: adds a local mark without token, removes the key from the cache, and makes a lookup in
 * progress end without an entry. NULL: memory is short. */
guard_mark *tamis__guard_lookups_mark(guard_lookups *lookups, guard_hash hash, tamis_key key);
/* Gives a mark its token, and lets it expire after mark_ms, and a tenth more. token NULL: frees the mark. */
void tamis__guard_lookups_set_token(guard_lookups *lookups, guard_mark *mark,
                                    const uint8_t token[TAMIS_GUARD_TOKEN]);
/* Lets the mark with this token expire as late as one that gets its token now. False: it has expired. */
bool tamis__guard_lookups_renew(guard_lookups *lookups, guard_hash hash,
                                const uint8_t token[TAMIS_GUARD_TOKEN]);
/* A put ends: removes the mark with this token, and what tamis__guard_lookups_mark removes. token NULL: no
 * mark. */
void tamis__guard_lookups_unmark(guard_lookups *lookups, guard_hash hash,
                                 const uint8_t token[TAMIS_GUARD_TOKEN]);

/* Calls `visit` for each put in progress, with the mutex locked. */
void tamis__guard_lookups_each_mark(guard_lookups *lookups,
                                    void (*visit)(void *context, const guard_mark *mark), void *context);

/* ---- for the threads ---- */

#define GUARD_OWNER(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

static inline void guard_ring_init(guard_node *ring) {
    ring->next = ring->previous = ring;
}

static inline bool guard_ring_is_empty(const guard_node *ring) {
    return ring->next == ring;
}

static inline void guard_ring_append(guard_node *ring, guard_node *node) {
    node->next = ring;
    node->previous = ring->previous;
    ring->previous->next = node;
    ring->previous = node;
}

static inline void guard_ring_remove(guard_node *node) {
    node->previous->next = node->next;
    node->next->previous = node->previous;
    guard_ring_init(node);
}

/* Returns the first lookup of a queue, or NULL. */
guard_lookup *tamis__guard_lookups_first(guard_lookups *lookups, guard_stage stage);
/* Moves a lookup to a stage, and wakes a thread for it. At GUARD_STAGE_DONE, the reference of the stage is
 * released. */
void tamis__guard_lookups_move(guard_lookups *lookups, guard_lookup *lookup, guard_stage stage);
void tamis__guard_lookup_release(guard_lookups *lookups, guard_lookup *lookup);
/* With TAMIS_OK: caches lookup->blob if no put came in between, and answers all requests with it. Otherwise:
 * answers them with status and *why. The lookup gets to the stage that its lease needs, or is freed. Unlocks
 * meanwhile. */
void tamis__guard_lookups_finish(guard_lookups *lookups, guard_lookup *lookup, tamis_status status,
                                 const tamis_error *why);
/* Ends a lookup that nobody waits for, without an answer. */
void tamis__guard_lookups_drop(guard_lookups *lookups, guard_lookup *lookup);
/* Answers the requests of a ring, which are in no other one. The mutex is not locked. */
void tamis__guard_lookups_answer_ring(guard_lookups *lookups, guard_node *answered, tamis_status status,
                                      guard_blob *blob, const tamis_error *why);
/* What was read before this call is no longer cached, and answers no later request. */
void tamis__guard_lookups_forget(guard_lookups *lookups, guard_hash hash);
void tamis__guard_lookups_forget_all(guard_lookups *lookups);

/* True if a put of the key is in progress. Frees marks of its bucket that have expired. */
bool tamis__guard_lookups_has_mark(guard_lookups *lookups, guard_hash hash, uint64_t now);
/* Frees all local marks that have expired before `now`. */
void tamis__guard_lookups_expire(guard_lookups *lookups, uint64_t now);

/* A source thread; guard_loads.c. `lookups` is its context. Locks. */
void *tamis__guard_load_rows(void *lookups);

/* ---- guard_redis.c ---- */

/* The Redis thread. `lookups` is its context. Locks. */
void *tamis__guard_redis_run(void *lookups);
/* Moves a lookup to the source, since Redis does not answer. If the filter in Redis has not let it through, and
 * without_filter is TAMIS_GUARD_CLOSED, answers it with an error instead, and unlocks meanwhile. */
void tamis__guard_redis_skip(guard_lookups *lookups, guard_lookup *lookup);
/* True if there is a Redis and it works. */
bool tamis__guard_redis_works(const guard_lookups *lookups, uint64_t now);
/* Lookups that have waited too long for Redis go on with the source. */
void tamis__guard_redis_give_up(guard_lookups *lookups, uint64_t now);
/* Deletes the entries and leases of up to GUARD_BATCH keys, if there is a Redis and it answers. Locks, and
 * waits for Redis. */
void tamis__guard_redis_forget(guard_lookups *lookups, const tamis_key *keys, size_t count);
/* Stops using Redis for a while, twice as long as the last time. */
void tamis__guard_redis_leave_out(guard_lookups *lookups, uint64_t now, const tamis_error *why);
/* Stores the remaining entries and releases the remaining leases, when no thread runs any more. */
void tamis__guard_redis_finish(guard_lookups *lookups);

#endif
