/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_REQUEST_REDIS_SCRIPTS_H
#define TAMIS_STORE_REDIS_REQUEST_REDIS_SCRIPTS_H

#include <stdint.h>

#include <tamis/experimental/redis.h>
#include <tamis/key.h>

#include "store/redis/connection/redis_reply.h"

/* Pipelines of scripts, for libraries beside libtamis-redis. */

/* One sending of a script. */
typedef struct tamis__script {
    tamis_key text;
    const tamis_key *keys; /* Redis keys in one slot */
    size_t key_count;
    const tamis_key *arguments;
    size_t argument_count;
} tamis__script;

typedef struct tamis__scripts {
    size_t count;
    void *context;
    const char *what; /* for messages */
    /* Returns the Redis key whose server carries out script i. Valid until the next call. */
    tamis_key (*slot_key)(void *context, size_t i);
    /* Makes script i. Called again if it is sent again; the words are copied. An earlier sending may have
     * been carried out, or may be carried out later. */
    void (*make)(void *context, size_t i, tamis__script *script);
    /* Processes a reply other than an error. A failure ends the run. */
    tamis_status (*accept_reply)(void *context, size_t i, const tamis__reply *reply, tamis_error *err);
    /* With replicas= in the URI: wait until that many replicas have the writes. */
    bool confirms;
} tamis__scripts;

/*
 * Like tamis_redis_open, for calls that end within `timeout_ms`. Parameters of the URI that are not given
 * become parts of it: half of it is `patience`, a quarter `timeout` and `read_timeout`. Does not connect.
 */
TAMIS_PRIVATE_API tamis_status tamis__scripts_open(tamis_redis **redis, const char *uri, uint32_t timeout_ms,
                                                   const tamis_allocator *allocator, tamis_error *err);

/* Connects, as tamis_redis_open does. May be left out: a run connects too. */
TAMIS_PRIVATE_API tamis_status tamis__scripts_reach(tamis_redis *redis, tamis_error *err);

/* Sends all scripts, one round trip to each server. Errors of all calls with a server. An error reply to one
 * script ends the run; others may then have been carried out. */
TAMIS_PRIVATE_API tamis_status tamis__scripts_run(tamis_redis *redis, const tamis__scripts *scripts,
                                                  tamis_error *err);

/* Returns the servers as "host:port", for messages. */
TAMIS_PRIVATE_API const char *tamis__scripts_server(const tamis_redis *redis);

#endif
