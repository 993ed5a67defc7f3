/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_FILTER_REDIS_TRACE_H
#define TAMIS_STORE_REDIS_FILTER_REDIS_TRACE_H

#include "store/redis/filter/redis_filter.h"

/* The trace of a batch: server, time and bits of each part of each element. It is kept until the answers are final, and then
 * reported in the order of the elements: see tamis_redis_filter_trace. For parts see redis_positions.h. */
typedef struct tamis__trace tamis__trace;

/* Starts a trace of `elements` elements. *trace is NULL if no tracer is set or there are no elements: of the functions below,
 * only tamis__trace_free accepts that. */
tamis_status tamis__trace_begin(tamis__trace **trace, const tamis_filter *filter, size_t elements,
                                tamis_error *err);
/* Records that the command of a part is sent on this connection. If it is sent again, the last sending counts. */
void tamis__trace_put(tamis__trace *trace, size_t element, uint32_t number, const tamis__connection *conn);
/* Records the reply to that command, which the caller has checked. */
void tamis__trace_take_reply(tamis__trace *trace, size_t element, uint32_t number,
                             const tamis__element_positions *positions, const tamis__reply *reply);
/* Calls the tracer for an element that is answered. In a family, rf->name must be the element's member. */
void tamis__trace_report(tamis__trace *trace, const tamis__element_positions *positions, bool adds,
                         tamis_answer answer, const tamis_key *key, size_t element);
void tamis__trace_free(tamis__trace *trace); /* does nothing if NULL */

#endif
