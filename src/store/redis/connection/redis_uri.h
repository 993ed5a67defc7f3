/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_CONNECTION_REDIS_URI_H
#define TAMIS_STORE_REDIS_CONNECTION_REDIS_URI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>

#include "base/failure.h"

/*
 * A URI, taken apart:
 *
 *     redis://user:password@host:port/db/NAME?parameter=value&...
 *     redis+unix://%2Frun%2Fredis.sock/db/NAME              the host is the socket's path
 *     redis+shard://h1:p1,h2:p2,.../db/NAME                 servers that know nothing of each other
 *     redis+cluster://h1:p1,h2:p2,.../NAME                  some nodes of a cluster, which has one database
 *     redis+sentinel://s1:p1,s2:p2,.../MASTER/db/NAME       the master that sentinels name
 *     rediss://, rediss+shard://, rediss+cluster://, rediss+sentinel://   the same with TLS
 *     codis+zk://z1:p1,z2:p2,.../PRODUCT/db/NAME            the proxies of a Codis that are in ZooKeeper
 *
 * `db/` may be left out; of one segment it is the NAME. Parts are percent-decoded after they are told apart, so that
 * a name holds any byte; one with a slash has it as %2F, one with an @ as %40.
 */
typedef enum tamis__redis_kind {
    TAMIS__REDIS_ONE,
    TAMIS__REDIS_SHARD,
    TAMIS__REDIS_CLUSTER,
    TAMIS__REDIS_SENTINEL,
    TAMIS__REDIS_CODIS
} tamis__redis_kind;

typedef struct tamis__redis_address {
    const char *host; /* of a socket: its path, and port is 0 */
    uint16_t port;
} tamis__redis_address;

/* "host:port", "[::1]:port", "::1:port", as servers name one another; *host is host_size bytes of the text, perhaps none.
 * False: it has no port from 1 to 65535. */
bool tamis__redis_address_read(const char *text, const char **host, size_t *host_size, uint16_t *port);

enum { TAMIS__REDIS_PARAMETERS = 24, TAMIS__REDIS_ADDRESSES = 64 };

typedef struct tamis__redis_parameter {
    const char *name, *value;
    bool used;
} tamis__redis_parameter;

typedef struct tamis__redis_uri {
    tamis__redis_kind kind;
    tamis__redis_address addresses[TAMIS__REDIS_ADDRESSES];
    size_t address_count;        /* 0 of a name alone */
    bool has_tls;                /* rediss://, rediss+...:// */
    const char *user, *password; /* NULL: none */
    const char *master;          /* of sentinels; of a Codis the product */
    uint32_t db;
    const char *name; /* NULL: none */
    size_t name_size;
    tamis__redis_parameter parameters[TAMIS__REDIS_PARAMETERS];
    size_t parameter_count;
    char shown[200];      /* for sentences: without user and password; */
    char shown_name[104]; /* and for those that name the server: the filter's name alone */
    char *block;          /* the strings */
    size_t block_size;
    const tamis_allocator *allocator; /* outlives this */
} tamis__redis_uri;

/* TAMIS_E_INVALID names what is wrong and where. Released by the caller, also after a failure. */
tamis_status tamis__redis_uri_parse(tamis__redis_uri *uri, const char *text, const tamis_allocator *allocator,
                                    tamis_error *err);
/* The same of NAME?parameter=value&... alone, of which the server is known. */
tamis_status tamis__redis_uri_parse_name(tamis__redis_uri *uri, const char *text,
                                         const tamis_allocator *allocator, tamis_error *err);
/* Of a URI that is to name a server alone: its one segment is the database. */
tamis_status tamis__redis_uri_server(tamis__redis_uri *uri, tamis_error *err);
void tamis__redis_uri_release(tamis__redis_uri *uri);

/* The parameter's value, or NULL; it counts as used. */
const char *tamis__redis_uri_get(tamis__redis_uri *uri, const char *name);
/* TAMIS_E_INVALID names the first parameter that nobody took. */
tamis_status tamis__redis_uri_check_used(const tamis__redis_uri *uri, tamis_error *err);

/* Values of parameters; *out stays as it was where there is none. TAMIS_E_INVALID names value and bounds. */
tamis_status tamis__redis_uri_count(tamis__redis_uri *uri, const char *name, uint64_t min, uint64_t max,
                                    uint64_t *out, tamis_error *err);
/* A rate above 0 and below 1, as 0.03 or 3%. */
tamis_status tamis__redis_uri_rate(tamis__redis_uri *uri, const char *name, double *out, tamis_error *err);
/* A time, in seconds where it has no unit (ms, s, m, h, d). */
tamis_status tamis__redis_uri_time(tamis__redis_uri *uri, const char *name, uint64_t *milliseconds,
                                   tamis_error *err);

#endif
