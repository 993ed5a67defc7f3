/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_REDIS_INT_H
#define TAMIS_STORE_REDIS_REDIS_INT_H

#include <pthread.h>

#include <tamis/redis.h>

#include "store/redis/redis_link.h"

enum { TAMIS__LINKS_IDLE = 8 };

/* A server and what is needed to speak to it. Any number of threads. */
struct tamis_redis {
    tamis_allocator allocator;
    tamis__redis_uri uri; /* of tamis_redis_open: its parameters stay here */
    tamis__link_to to;
    tamis__tls_context *tls; /* NULL: none */
    uint64_t connect_ns, read_ns, patience_ns, retry_ns;
    pthread_mutex_t mutex; /* guards the next two */
    tamis__link *idle[TAMIS__LINKS_IDLE];
    size_t idle_count;
};

/* From a URI that was parsed, which becomes the server's, also on failure. */
tamis_status tamis__redis_create(tamis_redis **redis, tamis__redis_uri *uri, tamis_error *err);

/*
 * Commands in a pipeline, each with its reply. A connection that is lost, a server that loads its data or is no longer
 * the master are ridden out: what has no answer is asked again, until nothing was answered for patience_ns. So a command
 * may be carried out twice, and must be one that may.
 */
typedef struct tamis__exchange {
    size_t count;
    void *context;
    /* Puts command i, one only; false where there is none of that number, which is then done. */
    bool (*ask)(void *context, size_t i, tamis__link *link);
    /* Takes its reply, which is no error. again: the command was sent before too, and may have been carried out then.
     * TAMIS_E_IO for a reply that such a command does not have ends the exchange, as any failure does. */
    tamis_status (*take)(void *context, size_t i, const tamis__reply *reply, bool again, tamis_error *err);
    const char *what; /* the filter's name, for sentences */
} tamis__exchange;

/* *redone (may be NULL): a command was asked twice, so that not all were carried out in the order of their numbers. */
tamis_status tamis__redis_run(tamis_redis *redis, const tamis__exchange *exchange, bool *redone,
                              tamis_error *err);

/* One command: `ask` puts it, and the reply, which may be an error, is valid until *link is given back. */
tamis_status tamis__redis_lease(tamis_redis *redis, tamis__link **link, tamis_error *err);
void tamis__redis_give_back(tamis_redis *redis, tamis__link *link);

/* The sentence of an error reply: what the server refused, and what its operator can do. */
tamis_status tamis__redis_refused(const tamis_redis *redis, const char *what, const tamis__reply *reply,
                                  tamis_error *err);

#endif
