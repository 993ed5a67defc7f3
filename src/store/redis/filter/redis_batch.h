/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_FILTER_REDIS_BATCH_H
#define TAMIS_STORE_REDIS_FILTER_REDIS_BATCH_H

#include "store/redis/filter/redis_positions.h"
#include "store/redis/filter/redis_trace.h"

/*
 * A batch:   elements | checks of the layout | expiry of every Redis key
 *
 * in one pipeline: redis_batch.c, with the commands of redis_elements.c.
 */
typedef struct tamis__batch {
    const tamis_filter *filter;
    tamis__redis_filter *rf; /* its name is that of the member at hand */
    tamis__key_batch key_batch;
    const tamis__members *members; /* NULL: of one filter alone */
    const uint32_t *member_of;     /* of each element */
    bool adds;
    tamis_answer *answers; /* of the parts that were answered */
    uint8_t *parts_left;   /* of each element: parts that were not */
    bool *sent;            /* of each: it may have been carried out, or part of it */
    bool *touched;         /* of each Redis key of each server */
    bool *endless;         /* of each: it was there, and does not expire */
    uint16_t *slots;       /* of each, where there are several */
    bool has_short_block;  /* a block was not whole */
    bool again;            /* all of it is to be asked again: see settle */
    bool lacks_mirror;     /* see mirror */
    bool is_unsure;        /* nobody knows whether it was the master that answered */
    bool denied;           /* see tamis__requests */
    size_t together;       /* elements of a command */
    size_t elements;       /* commands of elements */
    size_t checks;         /* and of the layout */
    size_t first; /* number of the first command: past the elements where only the checks are asked */
    tamis__element_positions positions; /* of element `located`, the last that was looked for */
    size_t located;
    tamis__trace *trace; /* NULL: nobody wants it */
} tamis__batch;

/* Of a slot that was not asked for. */
enum { TAMIS__SLOT_UNKNOWN = 0xffff };

/* Redis keys of all members. */
static inline size_t tamis__batch_keys(const tamis__batch *batch) {
    return tamis__redis_all_keys(batch->rf) * (batch->members ? batch->members->count : 1);
}

const tamis__element_positions *tamis__batch_locate(tamis__batch *batch, size_t element);
/* Sets `together` and `elements`. */
void tamis__batch_count(tamis__batch *batch);
/* The slot of the Redis key of that number, among those of all members. */
uint32_t tamis__batch_key_slot(const tamis__batch *batch, size_t number);
/* PEXPIRE, or PTTL of it. */
void tamis__batch_put_expiry(const tamis__batch *batch, size_t number, bool sets, tamis__connection *conn);

/* Those of a tamis__requests. */
uint32_t tamis__batch_slot(void *context, size_t i);
bool tamis__batch_put_command(void *context, size_t i, tamis__connection *conn);
tamis_status tamis__batch_take_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                     tamis_error *err);

#endif
