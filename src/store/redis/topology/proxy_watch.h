/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_TOPOLOGY_PROXY_WATCH_H
#define TAMIS_STORE_REDIS_TOPOLOGY_PROXY_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

/*
 * The proxies of a Codis that are online, as they say themselves in ZooKeeper:
 *
 *     /jodis/PRODUCT/proxy-TOKEN           {"addr": "host:port", "state": "online", ...}
 *     /zk/codis/db_PRODUCT/proxy-TOKEN     the same, of older ones
 *
 * Both places are watched, and all that is in them counts. Nothing here speaks to a proxy.
 */
enum { TAMIS__PROXY_HOST = 256 };

typedef struct tamis__proxy {
    char host[TAMIS__PROXY_HOST];
    uint16_t port;
} tamis__proxy;

/* Whether the data of a node are those of a proxy; *is_online says if it may be asked. */
bool tamis__proxy_read(const char *data, size_t size, tamis__proxy *proxy, bool *is_online);

typedef struct tamis__proxy_watcher tamis__proxy_watcher;

typedef struct tamis__proxy_watcher_options {
    const char *hosts; /* "h1:p1,h2:p2,..." */
    const char *product;
    const char *user, *password; /* for ZooKeeper's digest; NULL: none */
    uint64_t connect_ns;         /* for one of the hosts */
} tamis__proxy_watcher_options;

/* Begins to watch, in a thread of its own that outlives `options`. TAMIS_E_UNSUPPORTED: a build without ZooKeeper. */
tamis_status tamis__proxy_watcher_start(tamis__proxy_watcher **watcher,
                                        const tamis__proxy_watcher_options *options, tamis_error *err);
void tamis__proxy_watcher_stop(tamis__proxy_watcher *watcher); /* NULL is fine */

/* The proxies of now. Where nothing was heard yet waits for it until the deadline: TAMIS_E_TIMEOUT, TAMIS_E_IO,
 * TAMIS_E_REFUSED, or TAMIS_E_NOT_FOUND for a product that nobody knows. *seen is the edition the caller has, from 0 on: only if
 * there is another by now, *list is set to it, to be given back by free(), also where *count is 0. */
tamis_status tamis__proxy_watcher_list(tamis__proxy_watcher *watcher, uint64_t deadline, uint64_t *edition,
                                       tamis__proxy **list, size_t *count, tamis_error *err);

/* TAMIS_E_IO: what there is instead of a proxy that is online. */
tamis_status tamis__proxy_watcher_fail_empty(tamis__proxy_watcher *watcher, tamis_error *err);

/* Of the client library; NULL: a build without. */
const char *tamis__zookeeper_version(void);

#endif
