/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Adding to a filter up to its capacity (tamis_redis_filter_enforce_capacity). The server accepts any
 * number of keys, so the handle counts:
 *
 *     capacity  |<- keys in the filter, estimated from the bits ->|<- margin ->|
 *               |<- `held`: minus 2 standard errors ->|<-------- free slots --------->|
 *
 * Each add that is not answered TAMIS_PRESENT takes a slot. The margin lets a filter with free slots
 * accept keys, although the estimate may be too high; the rate allows so few keys more.
 *
 * An add cannot be undone. So while a batch may not fit, its keys are looked up first. Only those before the
 * first absent one without a slot are added:
 *
 *     free slots >= batch      add all
 *     else                     look up, add the keys that fit, and go on with the rest
 *     no key fits              estimate again: another capacity means that the filter was replaced, so go on;
 *                              else TAMIS_E_FULL
 *
 * Equal absent keys in a batch count several times at the lookup, so fewer keys than possible may be added
 * at a time. The next lookup then finds them present.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "store/redis/filter/redis_filter.h"

enum {
    PIECE = 16384
}; /* keys looked up at a time, or added if the caller wants no answers: 16 KiB of stack */

/* Starts the limit from an estimate of the keys. */
static tamis_status init_limit(tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    info.capacity = filter->plan.capacity;
    const tamis_status status = rf->layout->estimate(filter, &info, err);
    if (status != TAMIS_OK)
        return status;
    const double held = info.cardinality - 2 * sqrt(info.cardinality / filter->plan.probes);
    rf->limit.is_enforced = true;
    rf->limit.capacity = info.capacity;
    rf->limit.cardinality = info.cardinality;
    /* The estimate may be that of a filter that replaced this one, so its own capacity counts. NaN: no
     * slot. */
    rf->limit.free_slots = held < (double)info.capacity ? info.capacity - (uint64_t)fmax(0, held) : 0;
    if (rf->limit.free_slots > 0) {
        filter->saturated = false;
        filter->full = TAMIS_FULL_NOT;
    }
    return TAMIS_OK;
}

tamis_status tamis_redis_filter_enforce_capacity(tamis_filter *filter, tamis_error *err) {
    TAMIS__NEED(filter, err);
    const char *layout = tamis_redis_filter_layout(filter);
    if (!layout)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "capacity: the filter is not on a server; one in memory enforces it anyway");
    if (!tamis__redis_of(filter)->layout->has_capacity)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "capacity: layout %s does not store it; use another layout", layout);
    return init_limit(filter, err);
}

/* The caller wants a trace of its adds only. */
static tamis_status look_up_untraced(const tamis_filter *filter, const tamis__key_batch *batch,
                                     tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis_redis_tracer tracer = rf->tracer;
    size_t done;
    rf->tracer = NULL;
    const tamis_status status = tamis__redis_contains(filter, batch, &done, err);
    rf->tracer = tracer;
    return status;
}

static tamis_status fail_full(tamis_filter *filter, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    char held[40] = "an unknown number"; /* all bits are set */
    if (isfinite(rf->limit.cardinality))
        snprintf(held, sizeof held, "about %.0f", rf->limit.cardinality);
    filter->saturated = true;
    filter->full = TAMIS_FULL_CAPACITY;
    return tamis__fail(err, TAMIS_E_FULL, 0,
                       "redis %s: %s is full: made for %" PRIu64 " keys, and has %s; make a larger one",
                       rf->redis->endpoint.shown, rf->uri->shown_name, rf->limit.capacity, held);
}

/* Sets batch->count to the number of first keys that fit. If none fits, it is 0: TAMIS_E_FULL, or TAMIS_OK
 * if the filter was replaced by one of another capacity. */
static tamis_status count_fitting(tamis_filter *filter, tamis__key_batch *batch, tamis_error *err) {
    tamis__redis_limit *limit = &tamis__redis_of(filter)->limit;
    const uint64_t capacity = limit->capacity;
    uint64_t free_slots = limit->free_slots;
    tamis_answer answers[PIECE];
    size_t fitting = 0;
    batch->count = batch->count < PIECE ? batch->count : PIECE;
    tamis__key_batch lookup = *batch;
    lookup.answers = answers;
    tamis_status status = look_up_untraced(filter, &lookup, err);
    if (status != TAMIS_OK)
        return status;
    while (fitting < batch->count && (answers[fitting] == TAMIS_PRESENT || free_slots-- > 0))
        fitting++;
    batch->count = fitting;
    if (fitting > 0)
        return TAMIS_OK;
    status = init_limit(filter, err);
    if (status != TAMIS_OK || limit->capacity != capacity)
        return status;
    limit->free_slots = 0; /* the margin is granted once */
    return fail_full(filter, err);
}

tamis_status tamis__redis_add_within(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                     tamis_error *err) {
    tamis__redis_limit *limit = &tamis__redis_of(filter)->limit;
    tamis_answer buffer[PIECE];
    tamis_status status = TAMIS_OK;
    for (*done = 0; *done < batch->count && status == TAMIS_OK;) {
        tamis__key_batch next = tamis__key_batch_slice(batch, *done, batch->count - *done);
        size_t added = 0;
        if (!next.answers && next.count > PIECE)
            next.count = PIECE;
        if (!next.answers)
            next.answers = buffer;
        if (next.count > limit->free_slots)
            status = count_fitting(filter, &next, err);
        if (status == TAMIS_OK && next.count > 0)
            status = tamis__redis_add(filter, &next, &added, err);
        for (size_t i = 0; i < added; i++)
            if (next.answers[i] != TAMIS_PRESENT && limit->free_slots > 0)
                limit->free_slots--;
        *done += added;
    }
    return status;
}
