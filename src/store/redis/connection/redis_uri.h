/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_CONNECTION_REDIS_URI_H
#define TAMIS_STORE_REDIS_CONNECTION_REDIS_URI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>

#include "base/failure.h"

/*
 * A parsed URI:
 *
 *     redis://user:password@host:port/db/NAME?parameter=value&...
 *     redis+unix://%2Frun%2Fredis.sock/db/NAME              the host is the path of a Unix socket
 *     redis+shard://h1:p1,h2:p2,.../db/NAME                 independent servers, keys distributed by hash
 *     redis+cluster://h1:p1,h2:p2,.../NAME                  some nodes of a cluster (database 0 only)
 *     redis+sentinel://s1:p1,s2:p2,.../MASTER/db/NAME       the master that the sentinels report
 *     rediss://, rediss+shard://, rediss+cluster://, rediss+sentinel://   the same with TLS
 *     codis+zk://z1:p1,z2:p2,.../PRODUCT/db/NAME            the proxies of a Codis, listed in ZooKeeper
 *
 * `db/` may be left out: a path of one segment is the NAME. The URI is split first, then each part is
 * percent-decoded. So a name may hold any byte, with a slash written as %2F and an @ as %40.
 */
typedef enum tamis__redis_kind {
    TAMIS__REDIS_ONE,
    TAMIS__REDIS_SHARD,
    TAMIS__REDIS_CLUSTER,
    TAMIS__REDIS_SENTINEL,
    TAMIS__REDIS_CODIS
} tamis__redis_kind;

typedef struct tamis__redis_address {
    const char *host; /* or the path of a Unix socket, with port 0 */
    uint16_t port;
} tamis__redis_address;

/* Parses an address as servers report it: "host:port", "[::1]:port" or "::1:port". *host points at
 * host_size bytes of the text, perhaps 0. Returns false if there is no port from 1 to 65535. */
bool tamis__redis_address_read(const char *text, const char **host, size_t *host_size, uint16_t *port);

enum { TAMIS__REDIS_PARAMETERS = 24, TAMIS__REDIS_ADDRESSES = 64 };

typedef struct tamis__redis_parameter {
    const char *name, *value;
    bool used;
} tamis__redis_parameter;

typedef struct tamis__redis_uri {
    tamis__redis_kind kind;
    tamis__redis_address addresses[TAMIS__REDIS_ADDRESSES];
    size_t address_count;        /* 0 after tamis__redis_uri_parse_name */
    bool has_tls;                /* rediss://, rediss+...:// */
    const char *user, *password; /* NULL: none */
    const char *master;          /* name of the sentinels' master, or the product of a Codis */
    uint32_t db;
    const char *name; /* NULL: none */
    size_t name_size;
    tamis__redis_parameter parameters[TAMIS__REDIS_PARAMETERS];
    size_t parameter_count;
    char shown[200];      /* the URI for messages, without user and passwords */
    char shown_name[104]; /* the filter's name, for messages that show the server themselves */
    char *block;          /* memory of the strings above */
    size_t block_size;
    const tamis_allocator *allocator; /* outlives the URI */
} tamis__redis_uri;

/* Parses a whole URI. TAMIS_E_INVALID: the message names the part and the remedy. The caller releases
 * *uri, also after a failure. */
tamis_status tamis__redis_uri_parse(tamis__redis_uri *uri, const char *text, const tamis_allocator *allocator,
                                    tamis_error *err);
/* Parses NAME?parameter=value&..., for a server that is known already. Otherwise as
 * tamis__redis_uri_parse. */
tamis_status tamis__redis_uri_parse_name(tamis__redis_uri *uri, const char *text,
                                         const tamis_allocator *allocator, tamis_error *err);
/* For a URI that must name only a server: a path of one segment becomes the database. TAMIS_E_INVALID: it
 * names a filter. */
tamis_status tamis__redis_uri_server(tamis__redis_uri *uri, tamis_error *err);
void tamis__redis_uri_release(tamis__redis_uri *uri);

/* Returns the value of a parameter, or NULL, and marks the parameter as used. */
const char *tamis__redis_uri_get(tamis__redis_uri *uri, const char *name);
/* TAMIS_E_INVALID: a parameter was never read; the message names the first one. */
tamis_status tamis__redis_uri_check_used(const tamis__redis_uri *uri, tamis_error *err);

/* These read the value of a parameter. Without the parameter, *out is unchanged. TAMIS_E_INVALID: the
 * message names the value and the bounds. */

/* The bounds of a whole number. */
typedef struct tamis__count_range {
    uint64_t min, max;
} tamis__count_range;
/* A whole number, also as 5M, 5e6 or 64MiB. */
tamis_status tamis__redis_uri_count(tamis__redis_uri *uri, const char *name, tamis__count_range range,
                                    uint64_t *out, tamis_error *err);
/* A rate above 0 and below 1, written 0.03 or 3%. */
tamis_status tamis__redis_uri_rate(tamis__redis_uri *uri, const char *name, double *out, tamis_error *err);
/* A time with a unit (ms, s, m, h, d); without one it is in seconds. */
tamis_status tamis__redis_uri_time(tamis__redis_uri *uri, const char *name, uint64_t *milliseconds,
                                   tamis_error *err);

#endif
