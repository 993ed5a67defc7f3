/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_FILTER_REDIS_BATCH_H
#define TAMIS_STORE_REDIS_FILTER_REDIS_BATCH_H

#include "store/redis/filter/redis_filter.h"

/* ---- probe groups ---- */

/* A probe group: the probes of an element that fall into the same Redis key. Groups are numbered from 0, in
 * the order in which the probes first reach their keys. */
typedef struct tamis__probe_group {
    uint32_t key;   /* the Redis key */
    uint32_t first; /* first probe in that key */
    uint32_t count; /* number of probes in that key */
} tamis__probe_group;

/* True if the probe falls into `key`, one of the element's Redis keys. */
static inline bool tamis__element_is_in(const tamis_filter *filter, const tamis__element_positions *positions,
                                        uint32_t probe, uint32_t key) {
    return tamis__redis_of(filter)->probe_groups == 1 || positions->keys[probe] == key;
}

/* Finds group `number`; false if the element has fewer groups. */
bool tamis__element_find_group(const tamis_filter *filter, const tamis__element_positions *positions,
                               uint32_t number, tamis__probe_group *group);

/* The bit of a probe, read from the element's block. Bits past the end of a short block are not set. */
bool tamis__element_is_set(const tamis__element_positions *positions, uint32_t probe,
                           const tamis__reply *block);

/* ---- the trace: see redis_trace.c ---- */

/* The trace of a batch: server, time and bits of each probe group of each element. It is kept until the
 * answers are final, and then reported in the order of the elements: see tamis_redis_filter_trace. */
typedef struct tamis__trace tamis__trace;

/* Starts a trace of `elements` elements. *trace is NULL if no tracer is set or there are no elements: of
 * the functions below, only tamis__trace_free accepts that. */
tamis_status tamis__trace_begin(tamis__trace **trace, const tamis_filter *filter, size_t elements,
                                tamis_error *err);
/* Records that the command of a probe group is sent on this connection. If it is sent again, the last sending
 * counts. */
void tamis__trace_put(tamis__trace *trace, size_t element, uint32_t number, const tamis__connection *conn);
/* Records the reply to that command, which the caller has checked. */
void tamis__trace_accept_reply(tamis__trace *trace, size_t element, uint32_t number,
                               const tamis__element_positions *positions, const tamis__reply *reply);
void tamis__trace_free(tamis__trace *trace); /* does nothing if NULL */

/* ---- the batch ---- */

/*
 * One batch of adds or lookups, sent as one pipeline:
 *
 *     commands   | elements | checks of the layout | expiry of each Redis key |
 *     number     0 ..       elements ..            elements + checks ..
 *
 * redis_batch.c runs it and evaluates the checks. redis_elements.c writes the commands and reads their
 * replies.
 */
typedef struct tamis__redis_batch {
    const tamis_filter *filter;
    tamis__redis_filter *rf;       /* rf->name changes to the name of the current member */
    tamis__key_batch key_batch;    /* the elements */
    const tamis__members *members; /* members of a family; NULL: a single filter */
    const uint32_t *member_of;     /* for each element, the index of its member */
    bool adds;                     /* true: adds; false: lookups */
    tamis_answer *answers;         /* answer of each element, from the probe groups answered so far */
    uint8_t *groups_left;          /* probe groups of each element that are not answered yet */
    bool *sent;                    /* for each element, whether a command of it may have been carried out */
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
} tamis__redis_batch;

/* Value in tamis__redis_batch.slots until the slot is computed. */
enum { TAMIS__SLOT_UNKNOWN = 0xffff };

/* Number of Redis keys of all members. */
static inline size_t tamis__redis_batch_keys(const tamis__redis_batch *batch) {
    return tamis__redis_all_keys(batch->rf) * (batch->members ? batch->members->count : 1);
}

const tamis__element_positions *tamis__redis_batch_locate(tamis__redis_batch *batch, size_t element);
/* Calls the tracer of batch->trace for an element that is answered. In a family, changes rf->name to the
 * element's member. */
void tamis__trace_report(tamis__redis_batch *batch, size_t element);
/* Sets batch->together and batch->elements. */
void tamis__redis_batch_count(tamis__redis_batch *batch);
/* The slot of Redis key `number`, counted over all members. */
uint32_t tamis__redis_batch_key_slot(const tamis__redis_batch *batch, size_t number);
/* Writes PEXPIRE of Redis key `number` or, if `sets` is false, PTTL. */
void tamis__redis_batch_put_expiry(const tamis__redis_batch *batch, size_t number, bool sets,
                                   tamis__connection *conn);

/* The functions of a tamis__requests. */
uint32_t tamis__redis_batch_slot(void *context, size_t i);
bool tamis__redis_batch_put_command(void *context, size_t i, tamis__connection *conn);
tamis_status tamis__redis_batch_accept_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                             tamis_error *err);
void tamis__redis_batch_note_refusal(void *context, size_t i);

#endif
