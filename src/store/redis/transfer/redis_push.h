/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_TRANSFER_REDIS_PUSH_H
#define TAMIS_STORE_REDIS_TRANSFER_REDIS_PUSH_H

#include "store/redis/layout/layout_tamis.h"

/* The steps of redis_push.c, shared by push, make and resize. */

typedef struct tamis__push {
    const tamis_filter *filter;    /* filter in memory to upload; NULL: make an empty one */
    tamis_filter *there;           /* handle of the filter on the server, with the plan of the new one */
    const tamis__redis_filter *rf; /* body of `there` */
    tamis__partitions partitions;  /* the new generation; while they are filled, `fills` are those below */
    uint64_t ttl_ms;               /* time to live of the new filter; 0: none */
    tamis__config config;          /* hash before the push */
    char copy[TAMIS__REDIS_PLAN];  /* the plan's copy if the hash was deleted; else empty */
    char plan[TAMIS__REDIS_PLAN];  /* plan of the new filter */
    char hash[TAMIS__REDIS_KEY];   /* Redis key of the hash */
    size_t hash_size;
    const tamis_redis_push_options *options;
    uint32_t *fills;              /* numbers in the marks of `partitions` */
    bool is_resize;               /* the switch requires p->plan in field next */
    char sending[TAMIS__SENDING]; /* number of the command that set field next; empty: no resize has begun */
    bool is_switching;            /* the switch was sent, and may take place */
    bool is_sealed;               /* the partitions no longer expire by themselves */
} tamis__push;

/* ---- before the lock ---- */

/* TAMIS_E_UNSUPPORTED: layout tamis has no filters of this kind or scheme. */
tamis_status tamis__push_check(const tamis_filter *filter, tamis_error *err);
/* Plans p->there from p->filter, the URI and the filter that it replaces. Writes nothing to the server. */
tamis_status tamis__push_plan(tamis__push *p, tamis_error *err);
/* Chooses a new generation for the partitions of p->there, and writes its plan to p->plan as text. */
tamis_status tamis__push_name(tamis__push *p, tamis_error *err);

/* ---- with the lock: see the head of redis_push.c ---- */

/* Takes the lock, and reads the hash and, if that has no plan, the copy. After a failure the lock is released. */
tamis_status tamis__push_begin(tamis__push *p, tamis_error *err);
/* Releases the lock when no command on its way needs it. Returns `status`. */
tamis_status tamis__push_withdraw(const tamis__push *p, tamis_status status);
/* Step 2: announces p->plan, and removes leftovers of other writers. */
tamis_status tamis__push_announce(tamis__push *p, tamis_error *err);
/* Step 3: makes the partitions. A family has none: its members are created by their first adds. */
tamis_status tamis__push_make(tamis__push *p, tamis_error *err);
/* Sets p->ttl_ms to the time that the old filter has left, unless the URI gives one. */
tamis_status tamis__push_keep_expiry(tamis__push *p, tamis_error *err);
/* Step 5: seals the partitions. */
tamis_status tamis__push_seal(tamis__push *p, tamis_error *err);
/* Steps 6 and 7: switches to p->plan, and reads the plan back. */
tamis_status tamis__push_switch(tamis__push *p, tamis_error *err);
/* Step 8: gives the partitions of the old plan a short expiry. */
tamis_status tamis__push_retire(const tamis__push *p, tamis_error *err);
/* All of these steps, from the announcement on. */
tamis_status tamis__push_run(tamis__push *p, tamis_error *err);
/* Releases the lock. After a failure, finds out whether the switch took place, and removes the unused partitions. */
tamis_status tamis__push_conclude(tamis__push *p, tamis_status status, tamis_error *err);
/* Removes the partitions of p->plan and their announcement. No step of this push may still be under way. */
tamis_status tamis__push_remove(const tamis__push *p, tamis_error *err);
/* The whole push, from taking the lock to releasing it. `expected_plan`: NULL, or the plan that the hash must have. */
tamis_status tamis__push_replace(tamis__push *p, const char *expected_plan, tamis_error *err);
/* Frees p->fills. */
void tamis__push_free(tamis__push *p);

/* ---- for further steps ---- */

tamis_key tamis__push_hash(const tamis__push *p);
/* Begins a step with two guards: the lock is held, and the plan is the one read when the lock was taken. The names are
 * buffers. */
void tamis__push_step(const tamis__push *p, tamis__step *step, char lock[TAMIS__REDIS_KEY],
                      char hash[TAMIS__REDIS_KEY]);

#endif
