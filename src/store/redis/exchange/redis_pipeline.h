/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_EXCHANGE_REDIS_PIPELINE_H
#define TAMIS_STORE_REDIS_EXCHANGE_REDIS_PIPELINE_H

#include "store/redis/topology/redis_int.h"

/* The lanes of redis_run.c, which says what they are for: each is a pipeline to one server, that may be lost and reached
 * again. */

#define TAMIS__ASKING UINT32_MAX /* in `pending`, where no command has this number */

enum { TAMIS__WINDOW = 4096 /* commands on their way to a server */ };

typedef struct tamis__node_pipeline {
    tamis__node *node;
    tamis__connection *conn; /* NULL: to be opened */
    size_t first, count;     /* of pending, a ring */
    bool is_unconfirmed;     /* answered on this link, not yet confirmed by replicas */
    uint64_t tries;          /* since the last answer */
    uint64_t paused_until;   /* nothing is asked before */
    uint64_t
        received_ns; /* time of the last bytes, or when something was asked after there was nothing to hear */
    uint32_t pending[TAMIS__WINDOW];
} tamis__node_pipeline;

/* What was pending once, and goes out anew. */
typedef struct tamis__retry {
    uint32_t i;
    bool is_ask;                           /* for ASKING before it */
    tamis__node_pipeline *target_pipeline; /* where it was sent to; NULL: where its slot is */
} tamis__retry;

/* One tamis__requests_run. */
typedef struct tamis__in_flight {
    tamis_redis *redis;
    const tamis__requests *requests;
    tamis__slot_map *map;
    tamis__node_pipeline **pipelines; /* by the node's number; NULL: nothing was asked of it yet */
    struct pollfd *fds;
    size_t capacity; /* of both */
    size_t next, answered;
    tamis__retry *retries; /* rising */
    size_t retry_count, retry_capacity;
    bool any_retried;           /* anything was ever there */
    bool forbids_scripts;       /* see tamis__redis_forbids_scripts */
    uint8_t *sent;              /* a bit an index; NULL: none was lost yet */
    tamis__node_pipeline *full; /* took all it can for now, the last of such */
    bool paused;                /* something waits for a lane's pause to end, or for a lane */
    bool is_outdated;           /* the map may be of yesterday */
    tamis__node *teller;        /* who may know better; NULL: anyone */
    uint64_t renewals;          /* in a row that told nothing new */
    uint64_t renew_at;          /* not before */
    uint64_t now;               /* as of this turn */
    uint64_t last;              /* time of the last answer, or when it began */
    tamis_error last_error;     /* why it was last asked again */
} tamis__in_flight;

/* ---- indices ---- */

/* Nobody knows from now on whether command i was carried out. */
tamis_status tamis__in_flight_mark_sent(tamis__in_flight *run, size_t i, tamis_error *err);
/* Once more later, the least number first. */
tamis_status tamis__in_flight_put_back(tamis__in_flight *run, tamis__retry retry, tamis_error *err);
void tamis__node_pipeline_push(tamis__node_pipeline *pipeline, uint32_t i);
uint32_t tamis__node_pipeline_shift(tamis__node_pipeline *pipeline); /* the oldest; there is one */

/* ---- failures ---- */

uint64_t tamis__in_flight_deadline(const tamis__in_flight *run);
/* With the trouble that it has. */
tamis_status tamis__in_flight_fail(const tamis__in_flight *run, tamis_error *err);
static inline bool tamis__is_lost(tamis_status status) {
    return status == TAMIS_E_IO || status == TAMIS_E_TIMEOUT;
}
/* As tamis__redis_is_hopeless, but false after the first failure, which may be an accident and is retried. A timeout is not
 * retried: it has taken long enough. */
bool tamis__in_flight_is_hopeless(const tamis__in_flight *run, const tamis__node *node, uint64_t tries,
                                  tamis_status status);
/* How long to wait after so many tries, in ns. */
uint64_t tamis__retry_delay_ns(const tamis_redis *redis, uint64_t tries);
void tamis__node_pipeline_pause(tamis__in_flight *run, tamis__node_pipeline *pipeline);
/* A failure of the connection is kept in mind and mended later; others end the run. */
tamis_status tamis__node_pipeline_recover(tamis__in_flight *run, tamis__node_pipeline *pipeline,
                                          tamis_status status, tamis_error *err);

/* ---- lanes ---- */

/* The node's lane, which is made if there is none. */
tamis_status tamis__node_pipeline_find(tamis__in_flight *run, tamis__node *node, tamis__node_pipeline **found,
                                       tamis_error *err);
/* Whether its link can take another command now. */
bool tamis__node_pipeline_has_capacity(const tamis__in_flight *run, const tamis__node_pipeline *pipeline);
static inline bool tamis__node_pipeline_awaits_reply(const tamis__node_pipeline *pipeline) {
    return pipeline->conn && pipeline->count > 0;
}
/* Gives it a link; it may have none after all, and a pause then. */
tamis_status tamis__node_pipeline_connect(tamis__in_flight *run, tamis__node_pipeline *pipeline,
                                          tamis_error *err);
/* If replicas must confirm the exchange: waits for the replicas of every lane that has answered since the last call. No
 * reply may be outstanding. TAMIS_E_TIMEOUT: too few replicas confirmed. */
tamis_status tamis__in_flight_confirm(tamis__in_flight *run, tamis_error *err);
/* is_done: nothing is on its way on its link, which others may use. */
void tamis__node_pipeline_release(const tamis__in_flight *run, tamis__node_pipeline *pipeline, bool is_done);

#endif
