/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_REDIS_LANE_H
#define TAMIS_STORE_REDIS_REDIS_LANE_H

#include "store/redis/redis_int.h"

/* The lanes of redis_run.c, which says what they are for: each is a pipeline to one server, that may be lost and reached
 * again. */

#define TAMIS__ASKING UINT32_MAX /* in `pending`, where no command has this number */

enum { TAMIS__WINDOW = 4096 /* commands on their way to a server */ };

typedef struct tamis__lane {
    tamis__node *node;
    tamis__link *link;   /* NULL: to be opened */
    size_t first, count; /* of pending, a ring */
    bool is_unconfirmed; /* answered on this link, not yet confirmed by replicas */
    uint64_t tries;      /* since the last answer */
    uint64_t pause_till; /* nothing is asked before */
    uint64_t heard; /* time of the last bytes, or when something was asked after there was nothing to hear */
    uint32_t pending[TAMIS__WINDOW];
} tamis__lane;

/* What was pending once, and goes out anew. */
typedef struct tamis__redo {
    uint32_t i;
    bool asks;       /* for ASKING before it */
    tamis__lane *at; /* where it was sent to; NULL: where its slot is */
} tamis__redo;

/* One tamis__redis_run. */
typedef struct tamis__flight {
    tamis_redis *redis;
    const tamis__exchange *exchange;
    tamis__map *map;
    tamis__lane **lanes; /* by the node's number; NULL: nothing was asked of it yet */
    struct pollfd *fds;
    size_t room; /* of both */
    size_t next, answered;
    tamis__redo *redo; /* rising */
    size_t redo_count, redo_room;
    bool redone;          /* anything was ever there */
    bool forbids_scripts; /* see tamis__redis_forbids_scripts */
    uint8_t *sent;        /* a bit an index; NULL: none was lost yet */
    tamis__lane *full;    /* took all it can for now, the last of such */
    bool paused;          /* something waits for a lane's pause to end, or for a lane */
    bool is_stale;        /* the map may be of yesterday */
    tamis__node *teller;  /* who may know better; NULL: anyone */
    uint64_t renewals;    /* in a row that told nothing new */
    uint64_t renew_at;    /* not before */
    uint64_t now;         /* as of this turn */
    uint64_t last;        /* time of the last answer, or when it began */
    tamis_error trouble;  /* why it was last asked again */
} tamis__flight;

/* ---- indices ---- */

/* Nobody knows from now on whether command i was carried out. */
tamis_status tamis__flight_mark_sent(tamis__flight *run, size_t i, tamis_error *err);
/* Once more later, the least number first. */
tamis_status tamis__flight_put_back(tamis__flight *run, tamis__redo one, tamis_error *err);
void tamis__lane_push(tamis__lane *on, uint32_t i);
uint32_t tamis__lane_shift(tamis__lane *on); /* the oldest; there is one */

/* ---- failures ---- */

uint64_t tamis__flight_deadline(const tamis__flight *run);
/* With the trouble that it has. */
tamis_status tamis__flight_fail(const tamis__flight *run, tamis_error *err);
static inline bool tamis__is_lost(tamis_status status) {
    return status == TAMIS_E_IO || status == TAMIS_E_TIMEOUT;
}
/* As tamis__redis_is_hopeless, but false after the first failure, which may be an accident and is retried. A timeout is not
 * retried: it has taken long enough. */
bool tamis__flight_is_hopeless(const tamis__flight *run, const tamis__node *node, uint64_t tries,
                               tamis_status status);
/* How long to wait after so many tries, in ns. */
uint64_t tamis__flight_pause(const tamis_redis *redis, uint64_t tries);
void tamis__lane_pause(tamis__flight *run, tamis__lane *on);
/* A failure of the connection is kept in mind and mended later; others end the run. */
tamis_status tamis__lane_ride_out(tamis__flight *run, tamis__lane *on, tamis_status status, tamis_error *err);

/* ---- lanes ---- */

/* The node's lane, which is made if there is none. */
tamis_status tamis__lane_find(tamis__flight *run, tamis__node *node, tamis__lane **found, tamis_error *err);
/* Whether its link can take another command now. */
bool tamis__lane_has_room(const tamis__flight *run, const tamis__lane *on);
static inline bool tamis__lane_is_waited_for(const tamis__lane *on) {
    return on->link && on->count > 0;
}
/* Gives it a link; it may have none after all, and a pause then. */
tamis_status tamis__lane_reach(tamis__flight *run, tamis__lane *on, tamis_error *err);
/* If replicas must confirm the exchange: waits for the replicas of every lane that has answered since the last call. No
 * reply may be outstanding. TAMIS_E_TIMEOUT: too few replicas confirmed. */
tamis_status tamis__flight_confirm(tamis__flight *run, tamis_error *err);
/* is_done: nothing is on its way on its link, which others may use. */
void tamis__lane_leave(const tamis__flight *run, tamis__lane *on, bool is_done);

#endif
