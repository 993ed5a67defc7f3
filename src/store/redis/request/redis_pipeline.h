/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_REQUEST_REDIS_PIPELINE_H
#define TAMIS_STORE_REDIS_REQUEST_REDIS_PIPELINE_H

#include "store/redis/request/redis_requests.h"

/* Pipelines of one run of requests, each to one server, with a connection that may be lost and replaced: see
 * redis_run.c. */

#define TAMIS__ASKING UINT32_MAX /* entry of `pending` for ASKING; no command has this number */

enum { TAMIS__WINDOW = 4096 /* max. commands in flight to a server */ };

typedef struct tamis__node_pipeline {
    tamis__node *node;
    tamis__connection *conn; /* NULL: not connected */
    size_t first, count;     /* oldest entry and number of entries of `pending` */
    bool is_replica;         /* replied READONLY; reconnect when no reply is outstanding */
    bool is_unconfirmed;     /* the connection has replied, and replicas have not confirmed that yet */
    uint64_t tries;          /* pauses since the last reply */
    uint64_t paused_until;   /* no command is put before this time */
    uint64_t received_ns;    /* time of the last bytes, or of the first command put after a silence */
    uint32_t pending[TAMIS__WINDOW]; /* ring of command numbers whose replies are outstanding */
} tamis__node_pipeline;

/* A command to put again. */
typedef struct tamis__retry {
    uint32_t i;
    bool is_ask;                           /* put ASKING before it */
    tamis__node_pipeline *target_pipeline; /* target of a redirection; NULL: the slot decides */
} tamis__retry;

/* State of one tamis__requests_run. */
typedef struct tamis__in_flight {
    tamis_redis *redis;
    const tamis__requests *requests;
    tamis__slot_map *map;
    tamis__node_pipeline **pipelines; /* by the node's number; NULL: not used yet */
    struct pollfd *fds;
    size_t capacity;       /* entries of both arrays */
    size_t next, answered; /* first command not put yet; number of answered commands */
    tamis__retry *retries; /* by ascending command number */
    size_t retry_count, retry_capacity;
    bool any_retried;           /* a command was put back where one pipeline keeps the order */
    bool forbids_scripts;       /* see tamis__redis_forbids_scripts */
    uint8_t *sent;              /* bit for each command: maybe carried out; NULL: all 0 */
    tamis__node_pipeline *full; /* last pipeline found full in this pass; NULL: none */
    bool paused;                /* a command waits for a pause to end, or for a connection */
    bool is_outdated;           /* the map must be learned again */
    tamis__node *source;        /* node to query for the map first; NULL: any */
    uint64_t renewals;          /* renewals of the map in a row that changed nothing */
    uint64_t renew_at;          /* earliest time of the next renewal */
    uint64_t now;               /* time of this pass */
    uint64_t last;              /* time of the last reply, or of the start */
    tamis_error last_error;     /* latest error since the last reply */
    bool has_reported;          /* on_wait was called */
    bool is_refused;            /* an error reply ends the run when no reply is outstanding */
    tamis_error refusal;        /* that error */
} tamis__in_flight;

/* ---- command numbers ---- */

/* Marks in `sent` that command i may have been carried out. */
tamis_status tamis__in_flight_mark_sent(tamis__in_flight *run, size_t i, tamis_error *err);
/* Inserts a command into `retries`, in ascending order. */
tamis_status tamis__in_flight_put_back(tamis__in_flight *run, tamis__retry retry, tamis_error *err);
void tamis__node_pipeline_push(tamis__node_pipeline *pipeline, uint32_t i);
/* Removes the oldest entry of `pending`, which is not empty. */
uint32_t tamis__node_pipeline_shift(tamis__node_pipeline *pipeline);

/* ---- failures ---- */

/* Returns the time when the run gives up: patience_ns after the last reply, or the end of connect_wait if
 * that is later. */
uint64_t tamis__in_flight_deadline(const tamis__in_flight *run);
/* Returns the time when on_wait is called; UINT64_MAX: never. */
uint64_t tamis__in_flight_report_time(const tamis__in_flight *run);
/* Calls on_wait if it is time. */
void tamis__in_flight_report_wait(tamis__in_flight *run);
/* Returns last_error. */
tamis_status tamis__in_flight_fail(const tamis__in_flight *run, tamis_error *err);
/* Like tamis__redis_is_hopeless, but false after the first failure, which may be an accident and is
 * retried. A timeout is not retried: it has taken long enough. */
bool tamis__in_flight_is_hopeless(const tamis__in_flight *run, const tamis__node *node, uint64_t tries,
                                  tamis_status status);
/* Puts no command on the pipeline for tamis__retry_delay_ns. */
void tamis__node_pipeline_pause(tamis__in_flight *run, tamis__node_pipeline *pipeline);
/* Handles a failure. After a lost connection, the pipeline pauses and its pending commands go to
 * `retries`. Any other failure ends the run. */
tamis_status tamis__node_pipeline_recover(tamis__in_flight *run, tamis__node_pipeline *pipeline,
                                          tamis_status status, tamis_error *err);

/* ---- pipelines ---- */

/* Returns the pipeline of a node, and makes it if there is none. */
tamis_status tamis__node_pipeline_find(tamis__in_flight *run, tamis__node *node, tamis__node_pipeline **found,
                                       tamis_error *err);
/* True if the pipeline can take another command now. */
bool tamis__node_pipeline_has_capacity(const tamis__in_flight *run, const tamis__node_pipeline *pipeline);
static inline bool tamis__node_pipeline_awaits_reply(const tamis__node_pipeline *pipeline) {
    return pipeline->conn && pipeline->count > 0;
}
/* Connects the pipeline. If it cannot be connected now, it has no connection and is paused afterwards, also
 * on TAMIS_OK. */
tamis_status tamis__node_pipeline_connect(tamis__in_flight *run, tamis__node_pipeline *pipeline,
                                          tamis_error *err);
/* If replicas must confirm the writes: waits for the replicas of every pipeline that has replied since the
 * last call. No reply may be outstanding. TAMIS_E_TIMEOUT: too few replicas confirmed. */
tamis_status tamis__in_flight_confirm(tamis__in_flight *run, tamis_error *err);
/* Gives up the connection and its permit. is_done: no reply is outstanding, so the connection is kept for
 * others. */
void tamis__node_pipeline_release(const tamis__in_flight *run, tamis__node_pipeline *pipeline, bool is_done);

#endif
