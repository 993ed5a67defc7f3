/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/redis_int.h"
#include "store/trouble.h"

enum { MS = 1000000 };

static tamis_status take_time(tamis__redis_uri *uri, const char *name, uint64_t *ns, uint64_t otherwise_ms,
                              tamis_error *err) {
    uint64_t ms = otherwise_ms;
    tamis_status status = tamis__redis_uri_time(uri, name, &ms, err);
    if (status == TAMIS_OK && (ms == 0 || ms > UINT64_C(86400000)))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: parameter %s is not from 1ms to 1d; give another time", uri->shown, name);
    *ns = ms * MS;
    return status;
}

static tamis_status take_times(tamis_redis *redis, tamis_error *err) {
    tamis__redis_uri *uri = &redis->uri;
    tamis_status status = take_time(uri, "timeout", &redis->connect_ns, 1000, err);
    if (status == TAMIS_OK)
        status = take_time(uri, "read_timeout", &redis->read_ns, 2000, err);
    if (status == TAMIS_OK)
        status = take_time(uri, "retry_interval", &redis->retry_ns, 50, err);
    if (status == TAMIS_OK)
        status = take_time(uri, "patience", &redis->patience_ns, 15000, err);
    return status;
}

tamis_status tamis__redis_create(tamis_redis **made, tamis__redis_uri *uri, tamis_error *err) {
    tamis_redis *redis = tamis__alloc(uri->allocator, sizeof *redis, _Alignof(tamis_redis));
    if (!redis) {
        tamis__redis_uri_release(uri);
        return tamis__fail_nomem(err, "redis", sizeof *redis);
    }
    redis->allocator = *uri->allocator;
    redis->uri = *uri;
    redis->uri.allocator = &redis->allocator;
    redis->to =
        (tamis__link_to){uri->address, uri->user, uri->password, uri->db, &redis->allocator, {0}, NULL};
    const tamis__shown host = tamis__show(uri->address.host);
    if (uri->address.port)
        snprintf(redis->to.shown, sizeof redis->to.shown, "%.100s:%u", host.text,
                 (unsigned)uri->address.port);
    else
        snprintf(redis->to.shown, sizeof redis->to.shown, "%.110s", host.text);
    pthread_mutex_init(&redis->mutex, NULL);
    tamis_status status = take_times(redis, err);
    if (status == TAMIS_OK && uri->has_tls)
        status = tamis__tls_context_create(&redis->tls, &redis->uri, err);
    redis->to.tls = redis->tls;
    if (status != TAMIS_OK) {
        tamis_redis_close(redis);
        return status;
    }
    *made = redis;
    return TAMIS_OK;
}

void tamis_redis_close(tamis_redis *redis) {
    if (!redis)
        return;
    while (redis->idle_count > 0)
        tamis__link_close(redis->idle[--redis->idle_count]);
    tamis__tls_context_free(redis->tls);
    pthread_mutex_destroy(&redis->mutex);
    tamis_allocator allocator = redis->allocator;
    redis->uri.allocator = &allocator;
    tamis__redis_uri_release(&redis->uri);
    tamis__free(&allocator, redis, sizeof *redis);
}

/* Whether the server has said nothing: what nobody asked for is the end of the connection, or will be. */
static bool is_quiet(const tamis__link *link) {
    struct pollfd fd = tamis__link_poll(link);
    return tamis__sys.poll(&fd, 1, 0) == 0;
}

static tamis__link *take_idle(tamis_redis *redis) {
    tamis__link *link = NULL;
    pthread_mutex_lock(&redis->mutex);
    if (redis->idle_count > 0)
        link = redis->idle[--redis->idle_count];
    pthread_mutex_unlock(&redis->mutex);
    return link;
}

tamis_status tamis__redis_lease(tamis_redis *redis, tamis__link **link, tamis_error *err) {
    for (tamis__link *one; (one = take_idle(redis));) {
        if (is_quiet(one)) {
            *link = one;
            return TAMIS_OK;
        }
        tamis__link_close(one);
    }
    return tamis__link_open(link, &redis->to, tamis__now_ns() + redis->connect_ns, err);
}

void tamis__redis_give_back(tamis_redis *redis, tamis__link *link) {
    pthread_mutex_lock(&redis->mutex);
    if (redis->idle_count < TAMIS__LINKS_IDLE && tamis__link_at_rest(link)) {
        redis->idle[redis->idle_count++] = link;
        link = NULL;
    }
    pthread_mutex_unlock(&redis->mutex);
    tamis__link_close(link);
}

tamis_status tamis_redis_open(tamis_redis **redis, const char *text, const tamis_allocator *given,
                              tamis_error *err) {
    const tamis_allocator allocator = tamis__allocator_resolve(given);
    tamis__redis_uri uri;
    tamis_redis *made;
    tamis__link *link;
    tamis_status status = tamis__redis_uri_parse(&uri, text, &allocator, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_server(&uri, err);
    if (status != TAMIS_OK) {
        tamis__redis_uri_release(&uri);
        return status;
    }
    status = tamis__redis_create(&made, &uri, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__redis_uri_check_used(&made->uri, err);
    if (status == TAMIS_OK)
        status = tamis__redis_lease(made, &link, err);
    if (status != TAMIS_OK) {
        tamis_redis_close(made);
        return status;
    }
    tamis__redis_give_back(made, link);
    *redis = made;
    return TAMIS_OK;
}
