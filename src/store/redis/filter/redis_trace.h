/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_FILTER_REDIS_TRACE_H
#define TAMIS_STORE_REDIS_FILTER_REDIS_TRACE_H

#include "store/redis/filter/redis_filter.h"

/* What a batch's elements met, kept until their answers are sure, and then told in their order: see
 * tamis_redis_filter_trace. Parts are those of redis_positions.h. */
typedef struct tamis__trace tamis__trace;

/* For so many elements; *trace is NULL where nobody listens, and the other functions are for one that is not. */
tamis_status tamis__trace_begin(tamis__trace **trace, const tamis_filter *filter, size_t elements,
                                tamis_error *err);
/* The command of that part goes out on this link; maybe once more later, and then that counts. */
void tamis__trace_put(tamis__trace *trace, size_t element, uint32_t number, const tamis__connection *conn);
/* Its reply, which is one that such a command has. */
void tamis__trace_take_reply(tamis__trace *trace, size_t element, uint32_t number,
                             const tamis__element_positions *positions, const tamis__reply *reply);
/* Tells of an element, which is there, in the member of a family that has rf->name. */
void tamis__trace_report(tamis__trace *trace, const tamis__element_positions *positions, bool adds,
                         tamis_answer answer, const tamis_key *key, size_t element);
void tamis__trace_free(tamis__trace *trace); /* NULL is fine */

#endif
