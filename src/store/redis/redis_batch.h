/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_REDIS_BATCH_H
#define TAMIS_STORE_REDIS_REDIS_BATCH_H

#include "store/redis/redis_spot.h"
#include "store/redis/redis_trace.h"

/*
 * A batch:   elements | checks of the layout | expiry of every Redis key
 *
 * in one pipeline: redis_batch.c, with the commands of redis_elements.c.
 */
typedef struct tamis__batch {
    const tamis_filter *filter;
    tamis__redis_filter *at; /* its name is that of the member at hand */
    tamis__key_batch asked;
    const tamis__members *members; /* NULL: of one filter alone */
    const uint32_t *member_of;     /* of each element */
    bool adds;
    tamis_answer *answers; /* of the parts that were answered */
    uint8_t *left;         /* of each element: parts that were not */
    bool *sent;            /* of each: it may have been carried out, or part of it */
    bool *touched;         /* of each Redis key of each server */
    bool *endless;         /* of each: it was there, and does not expire */
    uint16_t *slots;       /* of each, where there are several */
    bool cut;              /* a block was not whole */
    bool again;            /* all of it is to be asked again: see settle */
    bool lacks_mirror;     /* see mirror */
    bool is_unsure;        /* nobody knows whether it was the master that answered */
    bool denied;           /* see tamis__exchange */
    size_t together;       /* elements of a command */
    size_t elements;       /* commands of elements */
    size_t checks;         /* and of the layout */
    size_t first;     /* number of the first command: past the elements where only the checks are asked */
    tamis__spot spot; /* of element `placed`, the last that was looked for */
    size_t placed;
    tamis__trace *trace; /* NULL: nobody wants it */
} tamis__batch;

/* Of a slot that was not asked for. */
enum { TAMIS__NOT_ASKED = 0xffff };

/* Redis keys of all members. */
static inline size_t tamis__batch_keys(const tamis__batch *all) {
    return tamis__redis_all_keys(all->at) * (all->members ? all->members->count : 1);
}

const tamis__spot *tamis__batch_place(tamis__batch *all, size_t element);
/* Sets `together` and `elements`. */
void tamis__batch_count(tamis__batch *all);
/* The slot of the Redis key of that number, among those of all members. */
uint32_t tamis__batch_key_slot(const tamis__batch *all, size_t number);
/* PEXPIRE, or PTTL of it. */
void tamis__batch_put_expiry(const tamis__batch *all, size_t number, bool sets, tamis__link *link);

/* Those of a tamis__exchange. */
uint32_t tamis__batch_slot(void *batch, size_t i);
bool tamis__batch_put(void *batch, size_t i, tamis__link *link);
tamis_status tamis__batch_take(void *batch, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err);

#endif
