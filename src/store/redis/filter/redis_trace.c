/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The trace of a batch: which server answered for which bits of an element, and how long that took.
 *
 * A traced batch sends the same commands as any other, so a trace costs no round trip. Sending and receiving
 * leave notes, and the report is made from them when the answers are final:
 *
 *     tamis__trace_begin         one block of memory for the batch
 *     tamis__trace_put           command of a probe group is put: server and time
 *     tamis__trace_take_reply    its reply is read: duration, and bits in the order of the probes
 *     tamis__trace_report        for each answered element, in order: calls the tracer
 *     tamis__trace_free
 *
 * The block, for n elements with at most g probe groups and k probes each:
 *
 *     | tamis__trace | entries: n * g | parts: g | names: g * TAMIS__REDIS_KEY | bits: n * k |
 *     | report: one  | notes: all     | report of one element                  | notes: all  |
 *
 * A report groups the bits by Redis key. Example with k = 4 and two Redis keys:
 *
 *     probe        0    1    2    3          part 0, key A           part 1, key B
 *     Redis key    A    B    A    B          offsets  p0 p2          offsets  p1 p3
 *     bit          1    0    1    1          bits      1  1          bits      0  1
 *
 * Why not report each reply as it comes: replies of several servers come in any order. A command that lost
 * its connection is sent again. And a batch that met a replaced filter is sent again as a whole; its first
 * answers must not be seen.
 *
 * Invariants:
 * 1. Only answered elements are reported. All of their commands have a reply, so all of their notes are set.
 * 2. If a command is sent more than once, server and time are those of the last sending, whose reply counts.
 *    The bits are those that the reply shows. Thus an add that was repeated may find its own bits.
 * 3. Each array of the block needs at most the alignment of the one before it, so no gap is needed.
 * 4. `parts`, `names`, `offsets` and `found` hold one element. They are valid during the call of the tracer.
 */
#include "store/redis/filter/redis_batch.h"

#include "base/memory.h"
#include "base/system.h"

/* One command: the server it was sent to, and its duration. */
typedef struct trace_entry {
    const char *instance;
    uint64_t ns; /* time of sending; after the reply, the duration */
} trace_entry;

struct tamis__trace {
    const tamis_filter *filter;
    size_t elements;
    size_t size;                        /* size of the one block that holds this structure and its arrays */
    trace_entry *entries;               /* one for each probe group of each element */
    tamis_redis_traced_part *parts;     /* one for each probe group of the element that is reported */
    char *names;                        /* Redis keys of `parts`, TAMIS__REDIS_KEY bytes each */
    uint8_t *bits;                      /* one for each probe of each element */
    uint64_t offsets[TAMIS_PROBES_MAX]; /* offsets of the element that is reported, by probe group */
    uint8_t found[TAMIS_PROBES_MAX];    /* its bits, in the same order */
};

tamis_status tamis_redis_filter_trace(tamis_filter *filter, tamis_redis_tracer tracer, void *context,
                                      tamis_error *err) {
    TAMIS__NEED(filter, err);
    if (!tamis_redis_filter_layout(filter))
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "filter: is not in a Redis, so there is nothing to trace; leave that out");
    tamis__redis_filter *rf = tamis__redis_of(filter);
    rf->tracer = tracer;
    rf->tracer_context = context;
    return TAMIS_OK;
}

tamis_status tamis__trace_begin(tamis__trace **trace, const tamis_filter *filter, size_t elements,
                                tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    *trace = NULL;
    if (!rf->tracer || elements == 0)
        return TAMIS_OK;
    const size_t entries = elements * rf->probe_groups * sizeof(trace_entry);
    const size_t parts = rf->probe_groups * sizeof(tamis_redis_traced_part);
    const size_t names = (size_t)rf->probe_groups * TAMIS__REDIS_KEY;
    const size_t size = sizeof **trace + entries + parts + names + elements * filter->plan.probes;
    tamis__trace *made = tamis__alloc(&filter->allocator, size, _Alignof(tamis__trace));
    if (!made)
        return tamis__fail_nomem(err, "redis", size);
    made->filter = filter;
    made->elements = elements;
    made->size = size;
    /* Each array needs at most the alignment of the one before it. */
    made->entries = (trace_entry *)(made + 1);
    made->parts = (tamis_redis_traced_part *)(made->entries + elements * rf->probe_groups);
    made->names = (char *)(made->parts + rf->probe_groups);
    made->bits = (uint8_t *)made->names + names;
    *trace = made;
    return TAMIS_OK;
}

void tamis__trace_free(tamis__trace *trace) {
    if (trace)
        tamis__free(&trace->filter->allocator, trace, trace->size);
}

static trace_entry *entry_of(const tamis__trace *trace, size_t element, uint32_t number) {
    return &trace->entries[element * tamis__redis_of(trace->filter)->probe_groups + number];
}

void tamis__trace_put(tamis__trace *trace, size_t element, uint32_t number, const tamis__connection *conn) {
    *entry_of(trace, element, number) = (trace_entry){tamis__connection_name(conn), tamis__now_ns()};
}

void tamis__trace_accept_reply(tamis__trace *trace, size_t element, uint32_t number,
                               const tamis__element_positions *positions, const tamis__reply *reply) {
    const uint32_t probes = trace->filter->plan.probes;
    uint8_t *bits = trace->bits + element * probes;
    trace_entry *found = entry_of(trace, element, number);
    tamis__probe_group group;
    size_t item = 0;
    found->ns = tamis__now_ns() - found->ns;
    /* Exists, since its command was sent. */
    tamis__element_find_group(trace->filter, positions, number, &group);
    for (uint32_t j = group.first; j < probes; j++) {
        if (!tamis__element_is_in(trace->filter, positions, j, group.key))
            continue;
        /* BITFIELD replies with an integer for each bit, GETRANGE with the bytes of the block. */
        bits[j] = reply->type == TAMIS__REPLY_ARRAY ? reply->items[item++].integer == 1
                                                    : tamis__element_is_set(positions, j, reply);
    }
}

/* ---- reporting ---- */

/* Fills trace->parts, offsets and found. Returns the number of parts. */
static size_t collect_parts(tamis__trace *trace, size_t element, const tamis__element_positions *positions) {
    const tamis__redis_filter *rf = tamis__redis_of(trace->filter);
    const uint32_t probes = trace->filter->plan.probes;
    const uint8_t *bits = trace->bits + element * probes;
    size_t used = 0;
    uint32_t count = 0;
    tamis__probe_group group;
    for (; tamis__element_find_group(trace->filter, positions, count, &group); count++) {
        tamis_redis_traced_part *part = &trace->parts[count];
        const trace_entry *found = entry_of(trace, element, count);
        char *name = trace->names + (size_t)count * TAMIS__REDIS_KEY;
        *part = (tamis_redis_traced_part){.instance = found->instance,
                                          .key = name,
                                          .offsets = trace->offsets + used,
                                          .bits = trace->found + used,
                                          .ns = found->ns};
        part->key_size = rf->layout->key_name(rf, group.key, name);
        part->count = group.count;
        for (uint32_t j = group.first; j < probes; j++) {
            if (!tamis__element_is_in(trace->filter, positions, j, group.key))
                continue;
            trace->offsets[used] = positions->offsets[j];
            trace->found[used++] = bits[j];
        }
    }
    return count;
}

void tamis__trace_report(tamis__redis_batch *batch, size_t element) {
    tamis__trace *trace = batch->trace;
    const tamis_key *keys = batch->key_batch.keys;
    if (batch->members)
        batch->rf->name = batch->members->names[batch->member_of[element]];
    const tamis__element_positions *positions = tamis__redis_batch_locate(batch, element);
    const tamis_redis_traced report = {.struct_size = sizeof report,
                                       .adds = batch->adds,
                                       .answer = batch->answers[element],
                                       .parts = trace->parts,
                                       .part_count = collect_parts(trace, element, positions),
                                       .element = keys ? &keys[element] : NULL};
    batch->rf->tracer(batch->rf->tracer_context, &report);
}
