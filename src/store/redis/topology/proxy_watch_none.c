/* SPDX-License-Identifier: BSD-2-Clause */

/* Replaces proxy_watch.c and proxy_read.c in a build without ZooKeeper: starting a watcher fails. */
#include "store/redis/topology/proxy_watch.h"

bool tamis__proxy_read(tamis__proxy *proxy, bool *is_online, const char *data, size_t size) {
    (void)data;
    (void)size;
    (void)proxy;
    return *is_online = false;
}

tamis_status tamis__proxy_watcher_start(tamis__proxy_watcher **watcher,
                                        const tamis__proxy_watcher_options *options, tamis_error *err) {
    (void)watcher;
    (void)options;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "codis+zk: this build has no ZooKeeper; build tamis where libzookeeper-mt-dev and "
                       "libjansson-dev are installed, or name a proxy itself: redis://host:port/NAME");
}

void tamis__proxy_watcher_stop(tamis__proxy_watcher *watcher) {
    (void)watcher;
}

tamis_status tamis__proxy_watcher_list(tamis__proxy_watcher *watcher, uint64_t deadline,
                                       tamis__proxy_list *list, tamis_error *err) {
    (void)deadline;
    (void)list;
    return tamis__proxy_watcher_start(&watcher, NULL, err);
}

tamis_status tamis__proxy_watcher_fail_empty(tamis__proxy_watcher *watcher, tamis_error *err) {
    return tamis__proxy_watcher_start(&watcher, NULL, err);
}

const char *tamis__zookeeper_version(void) {
    return NULL;
}
