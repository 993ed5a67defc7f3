/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A filter on a Redis server, as a tamis_filter. The handle has three parts, so that the general code, the
 * code for all layouts, and each layout know only their own:
 *
 *     tamis_filter                 plan, hasher, metadata; `external`: five operations (below)
 *       `-- body: tamis__redis_filter      server, URI, name, expiry, unconfirmed adds, limit
 *             |-- layout                   a table of functions: where the bits of a key are, which checks
 *             |                            follow a batch, how to estimate and to clear
 *             `-- state                    what this layout alone knows; opaque here
 *
 *     tamis_filter_add_many --> external->add --+--> tamis__redis_add          the batch (redis_batch.c)
 *                                               `--> tamis__redis_add_within   the same within a capacity
 *                                                                              (redis_capacity.c)
 *
 * Opening a filter: make_handle, then find_server (the caller's, or one of the handle's own), then read_name
 * (name, layout and expiry from the URI). Then the layout's `open` reads the parameters from URI and server,
 * and calls tamis__redis_set_up for the hasher. Until then the plan is empty. tamis__redis_name stops before
 * the layout's `open`: for families, and for callers whose filter may not exist yet.
 *
 * Invariants:
 * 1. The layout is chosen once and never changes. `state` has the size that the layout asks for, and only the
 *    layout's files read it.
 * 2. A handle owns its server only if the caller gave none (owns_redis). Then `uri` is the server's URI, else
 *    it is `named`.
 * 3. A handle is used by one thread at a time; a server may be shared by the handles of several threads.
 * 4. A second handle (tamis__redis_name_beside) borrows URI and server of the first, which outlives it.
 */
#include "store/redis/filter/redis_filter.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/versioned.h"
#include "store/file/file_error.h"

/* ---- operations of the handle ---- */

tamis_status tamis__redis_check_moves(const tamis__redis_filter *rf, tamis_error *err) {
    if (rf->layout == &tamis__layout_tamis || tamis__redis_all_keys(rf) == 1)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_UNSUPPORTED, 0,
        "redis %s: %s: filters of layout %s over several servers or Redis keys cannot be moved "
        "whole; add its keys to it (tamis add)",
        rf->redis->endpoint.shown, rf->uri->shown_name, rf->layout->name);
}

static tamis_status estimate(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis_status status = rf->layout->estimate(filter, info, err);
    const double n = info->cardinality;
    /* The margin covers the error of the estimate: about three standard deviations. */
    if (status == TAMIS_OK && rf->layout->has_capacity)
        info->saturated =
            filter->saturated || isinf(n) || n - 2 * sqrt(n / filter->plan.probes) > (double)info->capacity;
    return status;
}

static tamis_status add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done, tamis_error *err) {
    return tamis__redis_of(filter)->limit.is_enforced ? tamis__redis_add_within(filter, batch, done, err)
                                                      : tamis__redis_add(filter, batch, done, err);
}

static tamis_status clear(tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis_status status = rf->layout->clear(filter, err);
    if (status == TAMIS_OK && rf->limit.is_enforced) {
        rf->limit.free_slots = rf->limit.capacity = filter->plan.capacity;
        filter->saturated = false;
        filter->full = TAMIS_FULL_NOT;
    }
    return status;
}

static void release_body(tamis_filter *filter) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    if (!rf)
        return;
    if (rf->state)
        tamis__free(&filter->allocator, rf->state, rf->layout->state_size);
    tamis__redis_uri_release(&rf->named);
    tamis__unconfirmed_adds_release(&rf->unconfirmed_adds, &filter->allocator);
    if (rf->owns_redis)
        tamis_redis_close(rf->redis);
    tamis__free(&filter->allocator, rf, sizeof *rf);
}

static const tamis__external_ops operations = {.add = add,
                                               .contains = tamis__redis_contains,
                                               .estimate = estimate,
                                               .clear = clear,
                                               .release = release_body};

/* ---- opening ---- */

static const tamis__layout *const layouts[] = {&tamis__layout_tamis, &tamis__layout_java,
                                               &tamis__layout_php1,  &tamis__layout_php2,
                                               &tamis__layout_php3,  &tamis__layout_redisson};

static tamis_status choose_layout(tamis__redis_filter *rf, tamis_error *err) {
    const char *name = tamis__redis_uri_get(rf->uri, "layout");
    rf->layout = name ? NULL : layouts[0];
    for (size_t i = 0; name && i < sizeof layouts / sizeof *layouts; i++)
        if (strcmp(layouts[i]->name, name) == 0)
            rf->layout = layouts[i];
    if (rf->layout)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%s: layout '%.40s' is not known; there are tamis, java, redisson, php1, php2 and php3",
        rf->uri->shown, tamis__show(name).text);
}

static tamis_status read_expiry(tamis__redis_filter *rf, tamis_error *err) {
    const tamis_status status = tamis__redis_uri_time(rf->uri, "ttl", &rf->ttl_ms, err);
    const bool never = status == TAMIS_OK && rf->ttl_ms == 0 && tamis__redis_uri_get(rf->uri, "ttl");
    const char *renew = tamis__redis_uri_get(rf->uri, "renew");
    if (never)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: parameter ttl is 0; give a time as 1d, or leave it out for no expiry",
                           rf->uri->shown);
    rf->renews_on_add = !renew || strcmp(renew, "add") == 0;
    if (status == TAMIS_OK && !rf->renews_on_add && strcmp(renew, "create") != 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: parameter renew is '%.40s'; give add or create",
                           rf->uri->shown, tamis__show(renew).text);
    return status;
}

tamis_status tamis__redis_set_up(tamis_filter *filter, const tamis_redis_filter_options *options,
                                 uint64_t seed, tamis_error *err) {
    tamis_hasher_options hashing = TAMIS_HASHER_OPTIONS_INIT;
    const tamis_status status = tamis__redis_uri_check_used(tamis__redis_of(filter)->uri, err);
    if (status != TAMIS_OK)
        return status;
    hashing.scheme = filter->plan.scheme;
    hashing.seed = seed;
    hashing.allocator = &filter->allocator;
    if (hashing.scheme == TAMIS_SCHEME_SIP) {
        hashing.secret = options->secret;
        hashing.secret_size = options->secret_size;
    }
    return tamis_hasher_create(&filter->hasher, &hashing, err);
}

tamis_status tamis__redis_fail_differs(const tamis__redis_filter *rf, const char *what, const char *stored,
                                       const char *requested, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: has %s=%s, but %s is requested; leave it out, or name another filter",
                       rf->redis->endpoint.shown, rf->uri->shown_name, what, stored, requested);
}

static tamis_status make_state(tamis_filter *made, tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(made);
    const size_t size = rf->layout->state_size;
    if (size > 0)
        rf->state = tamis__alloc(&made->allocator, size, _Alignof(max_align_t));
    return size == 0 || rf->state ? TAMIS_OK : tamis__fail_nomem(err, "redis", size);
}

static tamis_status read_name(tamis_filter *made, tamis_error *err) {
    tamis__redis_filter *rf = made->body;
    tamis_status status = TAMIS_OK;
    if (rf->uri->name_size == 0 || rf->uri->name_size > TAMIS__REDIS_NAME)
        status = tamis__fail(err, TAMIS_E_INVALID, 0, "%s: the filter's name has %zu bytes; give 1 to %d",
                             rf->uri->shown, rf->uri->name_size, TAMIS__REDIS_NAME);
    if (status == TAMIS_OK)
        status = choose_layout(rf, err);
    if (status == TAMIS_OK)
        status = make_state(made, err);
    if (status == TAMIS_OK)
        status = read_expiry(rf, err);
    rf->name = (tamis_key){rf->uri->name, rf->uri->name_size};
    if (status == TAMIS_OK && rf->layout->has_servers)
        rf->servers = tamis__redis_servers(rf->redis);
    return status;
}

/* Sets rf->redis, and rf->uri to the URI that has the parameters. */
static tamis_status find_server(tamis__redis_filter *rf, tamis_redis *redis, const char *name,
                                const tamis_allocator *allocator, tamis_error *err) {
    rf->redis = redis;
    rf->servers = rf->probe_groups = 1;
    const tamis_status status = tamis__redis_find(&rf->redis, &rf->named, name, allocator, err);
    rf->owns_redis = !redis && rf->redis;
    rf->uri = rf->owns_redis ? &rf->redis->uri : &rf->named;
    return status;
}

/* Makes a handle without server, name and layout. */
static tamis_status make_handle(tamis_filter **filter, const tamis_allocator *allocator, tamis_error *err) {
    tamis_filter *made;
    const tamis_status status = tamis__filter_create_external(&made, &operations, allocator, err);
    if (status != TAMIS_OK)
        return status;
    made->body = tamis__alloc(&made->allocator, sizeof(tamis__redis_filter), _Alignof(tamis__redis_filter));
    if (!made->body) {
        tamis_filter_free(made);
        return tamis__fail_nomem(err, "redis", sizeof(tamis__redis_filter));
    }
    *filter = made;
    return TAMIS_OK;
}

tamis_status tamis__redis_name(tamis_filter **filter, tamis_redis *redis, const char *name,
                               const tamis_allocator *allocator, tamis_error *err) {
    tamis_filter *made;
    tamis_status status = make_handle(&made, redis && !allocator ? &redis->allocator : allocator, err);
    if (status != TAMIS_OK)
        return status;
    status = find_server(tamis__redis_of(made), redis, name, &made->allocator, err);
    if (status == TAMIS_OK)
        status = read_name(made, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(made);
        return status;
    }
    *filter = made;
    return TAMIS_OK;
}

tamis_status tamis__redis_name_beside(tamis_filter **filter, const tamis_filter *other,
                                      const tamis__layout *layout, tamis_error *err) {
    const tamis__redis_filter *from = tamis__redis_of(other);
    tamis_filter *made;
    tamis_status status = make_handle(&made, &other->allocator, err);
    if (status != TAMIS_OK)
        return status;
    tamis__redis_filter *rf = tamis__redis_of(made);
    rf->redis = from->redis;
    rf->layout = layout;
    rf->uri = from->uri;
    rf->name = from->name;
    rf->is_family = from->is_family;
    rf->servers = rf->probe_groups = 1;
    rf->ttl_ms = from->ttl_ms;
    rf->renews_on_add = from->renews_on_add;
    made->plan = other->plan;
    status = make_state(made, err);
    if (status == TAMIS_OK)
        status = tamis__hasher_copy(&made->hasher, other->hasher, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(made);
        return status;
    }
    *filter = made;
    return TAMIS_OK;
}

/* Opens the filter of RedisBloom or of the Redis module that has the name of a filter that is not there. Without one, *err and the
 * status are those of the missing filter. */
static tamis_status open_foreign(tamis_filter **filter, const tamis_filter *named, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_status status = tamis__redis_fetch_foreign(filter, named, &why);
    if (status != TAMIS_OK && status != TAMIS_E_NOT_FOUND && err)
        *err = why;
    return status;
}

tamis_status tamis_redis_filter_open(tamis_filter **filter, tamis_redis *redis, const char *name,
                                     const tamis_redis_filter_options *given, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(name, err);
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *made;
    tamis_status status =
        tamis__read_options(&options, sizeof options, given, "TAMIS_REDIS_FILTER_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__redis_name(&made, redis, name, options.allocator, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__redis_of(made)->layout->open(made, &options, err);
    if (status == TAMIS_OK) {
        *filter = made;
        return TAMIS_OK;
    }
    if (status == TAMIS_E_NOT_FOUND && tamis__redis_of(made)->layout == &tamis__layout_tamis)
        status = open_foreign(filter, made, err);
    tamis_filter_free(made);
    return status;
}

const char *tamis_redis_filter_layout(const tamis_filter *filter) {
    return filter->external == &operations ? tamis__redis_of(filter)->layout->name : NULL;
}

uint64_t tamis_redis_filter_unconfirmed(const tamis_filter *filter) {
    if (filter->external != &operations)
        return 0;
    const tamis__unconfirmed_adds *adds = &tamis__redis_of(filter)->unconfirmed_adds;
    return adds->every ? UINT64_MAX : adds->count;
}
