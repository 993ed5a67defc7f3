/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_TOPOLOGY_PROXY_WATCH_H
#define TAMIS_STORE_REDIS_TOPOLOGY_PROXY_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

/*
 * The list of online proxies of a Codis. Proxies register themselves in ZooKeeper:
 *
 *     /jodis/PRODUCT/proxy-TOKEN           {"addr": "host:port", "state": "online", ...}
 *     /zk/codis/db_PRODUCT/proxy-TOKEN     the same, by older proxies
 *
 * Both directories are watched, and the proxies of both are listed. Nothing here connects to a proxy.
 */
enum { TAMIS__PROXY_HOST = 256 };

typedef struct tamis__proxy {
    char host[TAMIS__PROXY_HOST];
    uint16_t port;
} tamis__proxy;

/* Proxies that were online at the same time. Editions count from 1; 0: no list yet. */
typedef struct tamis__proxy_list {
    tamis__proxy *proxies;
    size_t count;
    uint64_t edition;
} tamis__proxy_list;

/* Parses the data of a node. Returns false if they are not those of a proxy. *is_online: its state is
 * "online". */
bool tamis__proxy_read(tamis__proxy *proxy, bool *is_online, const char *data, size_t size);

typedef struct tamis__proxy_watcher tamis__proxy_watcher;

typedef struct tamis__proxy_watcher_options {
    const char *hosts; /* "h1:p1,h2:p2,..." */
    const char *product;
    const char *user, *password; /* for ZooKeeper's scheme digest; NULL: none */
    uint64_t connect_ns;         /* time to connect to one host */
} tamis__proxy_watcher_options;

/* Starts a thread that watches. `options` is copied. TAMIS_E_UNSUPPORTED: a build without ZooKeeper. */
tamis_status tamis__proxy_watcher_start(tamis__proxy_watcher **watcher,
                                        const tamis__proxy_watcher_options *options, tamis_error *err);
void tamis__proxy_watcher_stop(tamis__proxy_watcher *watcher); /* NULL is fine */

/* Returns the proxies that are online now, unless the caller has that list already.
 *
 * - list->edition is the edition that the caller has. If there is another one, *list is set. The caller frees
 *   list->proxies with free(), also if list->count is 0. If not, *list is unchanged.
 * - Before the first reading, waits for it until the deadline: TAMIS_E_TIMEOUT, TAMIS_E_IO, TAMIS_E_REFUSED.
 * - TAMIS_E_NOT_FOUND: the first reading found neither directory of the product. */
tamis_status tamis__proxy_watcher_list(tamis__proxy_watcher *watcher, uint64_t deadline,
                                       tamis__proxy_list *list, tamis_error *err);

/* Returns TAMIS_E_IO with the message for an empty list. It says what the directories have instead. */
tamis_status tamis__proxy_watcher_fail_empty(tamis__proxy_watcher *watcher, tamis_error *err);

/* Returns the version of ZooKeeper's client library, or NULL in a build without it. */
const char *tamis__zookeeper_version(void);

#endif
