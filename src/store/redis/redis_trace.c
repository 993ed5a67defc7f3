/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/redis_trace.h"

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/redis_spot.h"

typedef struct passage {
    const char *instance;
    uint64_t ns; /* when it was put; then how long it took */
} passage;

struct tamis__trace {
    const tamis_filter *filter;
    size_t elements;
    size_t size;                    /* of the block that all of this is in */
    passage *passages;              /* of each part of each element */
    tamis_redis_traced_part *parts; /* of the element that is told, and */
    char *names;                    /* TAMIS__REDIS_KEY bytes for each of them */
    uint8_t *bits;                  /* of each probe of each element */
    uint64_t offsets[TAMIS_PROBES_MAX];
    uint8_t found[TAMIS_PROBES_MAX];
};

tamis_status tamis_redis_filter_trace(tamis_filter *filter, tamis_redis_tracer tracer, void *context,
                                      tamis_error *err) {
    TAMIS__NEED(filter, err);
    if (!tamis_redis_filter_layout(filter))
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "filter: is not in a Redis, so there is nothing to trace; leave that out");
    tamis__redis_filter *at = tamis__redis_of(filter);
    at->tracer = tracer;
    at->tracer_context = context;
    return TAMIS_OK;
}

tamis_status tamis__trace_begin(tamis__trace **trace, const tamis_filter *filter, size_t elements,
                                tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    *trace = NULL;
    if (!at->tracer || elements == 0)
        return TAMIS_OK;
    const size_t passages = elements * at->parts * sizeof(passage);
    const size_t parts = at->parts * sizeof(tamis_redis_traced_part);
    const size_t names = (size_t)at->parts * TAMIS__REDIS_KEY;
    const size_t size = sizeof **trace + passages + parts + names + elements * filter->plan.probes;
    tamis__trace *made = tamis__alloc(&filter->allocator, size, _Alignof(tamis__trace));
    if (!made)
        return tamis__fail_nomem(err, "redis", size);
    made->filter = filter;
    made->elements = elements;
    made->size = size;
    made->passages = (passage *)(made + 1); /* each as strictly aligned as what follows it */
    made->parts = (tamis_redis_traced_part *)(made->passages + elements * at->parts);
    made->names = (char *)(made->parts + at->parts);
    made->bits = (uint8_t *)made->names + names;
    *trace = made;
    return TAMIS_OK;
}

void tamis__trace_free(tamis__trace *trace) {
    if (trace)
        tamis__free(&trace->filter->allocator, trace, trace->size);
}

static passage *passage_of(const tamis__trace *trace, size_t element, uint32_t number) {
    return &trace->passages[element * tamis__redis_of(trace->filter)->parts + number];
}

void tamis__trace_put(tamis__trace *trace, size_t element, uint32_t number, const tamis__link *link) {
    *passage_of(trace, element, number) = (passage){tamis__link_shown(link), tamis__now_ns()};
}

void tamis__trace_take(tamis__trace *trace, size_t element, uint32_t number, const tamis__spot *spot,
                       const tamis__reply *reply) {
    const uint32_t probes = trace->filter->plan.probes;
    uint8_t *bits = trace->bits + element * probes;
    passage *here = passage_of(trace, element, number);
    tamis__spot_part part;
    size_t item = 0;
    here->ns = tamis__now_ns() - here->ns;
    tamis__spot_find_part(trace->filter, spot, number, &part); /* it was put */
    for (uint32_t j = part.first; j < probes; j++) {
        if (!tamis__spot_is_in(trace->filter, spot, j, part.key))
            continue;
        /* Of a block there are the bytes, else there is an integer a bit. */
        bits[j] = reply->type == TAMIS__REPLY_ARRAY ? reply->items[item++].integer == 1
                                                    : tamis__spot_is_set(spot, j, reply);
    }
}

/* ---- telling ---- */

/* Fills parts, offsets and found, and gives the number of parts. */
static size_t gather(tamis__trace *trace, size_t element, const tamis__spot *spot) {
    const tamis__redis_filter *at = tamis__redis_of(trace->filter);
    const uint32_t probes = trace->filter->plan.probes;
    const uint8_t *bits = trace->bits + element * probes;
    size_t used = 0;
    uint32_t count = 0;
    tamis__spot_part its;
    for (; tamis__spot_find_part(trace->filter, spot, count, &its); count++) {
        tamis_redis_traced_part *part = &trace->parts[count];
        const passage *here = passage_of(trace, element, count);
        char *name = trace->names + (size_t)count * TAMIS__REDIS_KEY;
        *part = (tamis_redis_traced_part){.instance = here->instance,
                                          .key = name,
                                          .offsets = trace->offsets + used,
                                          .bits = trace->found + used,
                                          .ns = here->ns};
        part->key_size = at->layout->key_name(at, its.key, name);
        part->count = its.count;
        for (uint32_t j = its.first; j < probes; j++) {
            if (!tamis__spot_is_in(trace->filter, spot, j, its.key))
                continue;
            trace->offsets[used] = spot->offsets[j];
            trace->found[used++] = bits[j];
        }
    }
    return count;
}

void tamis__trace_tell(tamis__trace *trace, const tamis__spot *spot, bool adds, tamis_answer answer,
                       const tamis_key *key, size_t element) {
    const tamis__redis_filter *at = tamis__redis_of(trace->filter);
    const tamis_redis_traced one = {.struct_size = sizeof one,
                                    .adds = adds,
                                    .answer = answer,
                                    .parts = trace->parts,
                                    .part_count = gather(trace, element, spot),
                                    .element = key};
    at->tracer(at->tracer_context, &one);
}
