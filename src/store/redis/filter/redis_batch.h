/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_FILTER_REDIS_BATCH_H
#define TAMIS_STORE_REDIS_FILTER_REDIS_BATCH_H

#include "store/redis/filter/redis_positions.h"
#include "store/redis/filter/redis_trace.h"

/*
 * One batch of adds or lookups, sent as one pipeline:
 *
 *     commands   | elements | checks of the layout | expiry of each Redis key |
 *     number     0 ..       elements ..            elements + checks ..
 *
 * redis_batch.c runs it and evaluates the checks. redis_elements.c writes the commands and reads their replies.
 */
typedef struct tamis__batch {
    const tamis_filter *filter;
    tamis__redis_filter *rf;       /* rf->name changes to the name of the current member */
    tamis__key_batch key_batch;    /* the elements */
    const tamis__members *members; /* members of a family; NULL: a single filter */
    const uint32_t *member_of;     /* for each element, the index of its member */
    bool adds;                     /* true: adds; false: lookups */
    tamis_answer *answers;         /* answer of each element, from the parts answered so far */
    uint8_t *parts_left;           /* parts of each element that are not answered yet */
    bool *sent;                    /* for each element, whether a part of it may have been carried out */
    bool *touched;                 /* for each Redis key, whether the batch used it */
    bool *never_expires;           /* for each Redis key, whether it exists and does not expire */
    uint16_t *slots;               /* slot of each Redis key, or TAMIS__SLOT_UNKNOWN */
    bool has_short_block;          /* a block was shorter than TAMIS__REDIS_BLOCK */
    bool again;                    /* the whole batch must be sent again: see apply_checks of tamis__layout */
    bool lacks_mirror;             /* the adds did not reach the generation that a resize fills */
    bool is_unsure;                /* it is unknown whether the master answered */
    bool denied;                   /* see tamis__requests */
    size_t together;               /* elements per command */
    size_t elements;               /* number of commands for elements */
    size_t checks;                 /* number of commands for checks */
    size_t first;                  /* first command to send; `elements` if only the checks are sent */
    tamis__element_positions positions; /* positions of element `located` */
    size_t located;                     /* element that was located last */
    tamis__trace *trace;                /* NULL: no trace */
} tamis__batch;

/* Value in tamis__batch.slots until the slot is computed. */
enum { TAMIS__SLOT_UNKNOWN = 0xffff };

/* Number of Redis keys of all members. */
static inline size_t tamis__batch_keys(const tamis__batch *batch) {
    return tamis__redis_all_keys(batch->rf) * (batch->members ? batch->members->count : 1);
}

const tamis__element_positions *tamis__batch_locate(tamis__batch *batch, size_t element);
/* Sets batch->together and batch->elements. */
void tamis__batch_count(tamis__batch *batch);
/* The slot of Redis key `number`, counted over all members. */
uint32_t tamis__batch_key_slot(const tamis__batch *batch, size_t number);
/* Writes PEXPIRE of Redis key `number` or, if `sets` is false, PTTL. */
void tamis__batch_put_expiry(const tamis__batch *batch, size_t number, bool sets, tamis__connection *conn);

/* The functions of a tamis__requests. */
uint32_t tamis__batch_slot(void *context, size_t i);
bool tamis__batch_put_command(void *context, size_t i, tamis__connection *conn);
tamis_status tamis__batch_take_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                     tamis_error *err);

#endif
