/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_REDIS_PUSH_H
#define TAMIS_STORE_REDIS_REDIS_PUSH_H

#include "store/redis/layout_tamis.h"

/* The steps of redis_push.c, of which a push, the making of a filter and a resize are made. */

typedef struct tamis__push {
    const tamis_filter *filter; /* NULL: an empty one */
    tamis_filter *made;         /* the handle of what is made */
    tamis__redis_filter *at;
    tamis__config config;         /* of what is there */
    char copy[TAMIS__REDIS_PLAN]; /* of the plan, where the hash has none: it was deleted; else empty */
    char plan[TAMIS__REDIS_PLAN];
    char hash[TAMIS__REDIS_KEY];
    size_t hash_size;
    const tamis_redis_push_options *options;
    uint32_t *fills;   /* see tamis__redis_filter; of at->keys */
    bool is_resize;    /* the switch asks for field next to be ours */
    bool is_switching; /* the switch was sent, and is made, or may be yet */
    bool is_sealed;    /* its partitions do not expire by themselves any more */
} tamis__push;

/* ---- before the lock ---- */

/* TAMIS_E_UNSUPPORTED: no filter that layout tamis keeps. */
tamis_status tamis__push_check(const tamis_filter *filter, tamis_error *err);
/* Plans p->made after p->filter and what is there. */
tamis_status tamis__push_plan(tamis__push *p, tamis_error *err);
/* Gives it a new generation, and writes p->plan, of what p->made has as its plan. */
tamis_status tamis__push_name(tamis__push *p, tamis_error *err);

/* ---- with the lock: see the head of redis_push.c ---- */

/* Reads what is there, now that the lock is taken. */
tamis_status tamis__push_look(tamis__push *p, tamis_error *err);
tamis_status tamis__push_announce(tamis__push *p, tamis_error *err);
tamis_status tamis__push_make(tamis__push *p, tamis_error *err);
tamis_status tamis__push_keep_expiry(const tamis__push *p, tamis_error *err);
tamis_status tamis__push_seal(tamis__push *p, tamis_error *err);
tamis_status tamis__push_switch(tamis__push *p, tamis_error *err);
tamis_status tamis__push_retire(const tamis__push *p, tamis_error *err);
/* All of these, from the announcement on. */
tamis_status tamis__push_run(tamis__push *p, tamis_error *err);
/* Gives the lock back, and after a failure finds out what became of the switch, and removes what was made. */
tamis_status tamis__push_conclude(tamis__push *p, tamis_status status, tamis_error *err);
/* Our partitions, and what announces them, once no step of ours can be carried out any more. */
tamis_status tamis__push_remove(const tamis__push *p, tamis_error *err);
/* From taking the lock to giving it back. `stands`: NULL, or the plan that has to stand. */
tamis_status tamis__push_replace(tamis__push *p, const char *stands, tamis_error *err);
/* Frees p->fills. */
void tamis__push_free(tamis__push *p);

/* ---- for further steps ---- */

tamis_key tamis__push_hash(const tamis__push *p);
/* Begins a step that is carried out while the lock is held and the plan is what it was when the lock was taken; the names are
 * room. */
void tamis__push_step(const tamis__push *p, tamis__step *step, char lock[TAMIS__REDIS_KEY],
                      char hash[TAMIS__REDIS_KEY]);

#endif
