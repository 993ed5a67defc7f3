/* SPDX-License-Identifier: BSD-2-Clause */

/* Parsing the ZooKeeper node of a Codis proxy. */
#include <jansson.h>
#include <string.h>

#include "store/redis/connection/redis_uri.h"
#include "store/redis/topology/proxy_watch.h"

static bool read_address(tamis__proxy *proxy, const char *text) {
    const char *host;
    size_t size;
    if (!text || !tamis__redis_address_read(text, &host, &size, &proxy->port) || size == 0 ||
        size >= sizeof proxy->host)
        return false;
    memcpy(proxy->host, host, size);
    proxy->host[size] = '\0';
    return true;
}

bool tamis__proxy_read(tamis__proxy *proxy, bool *is_online, const char *data, size_t size) {
    json_t *root = json_loadb(data, size, 0, NULL);
    const char *state = json_string_value(json_object_get(root, "state"));
    const bool is_proxy = state && read_address(proxy, json_string_value(json_object_get(root, "addr")));
    *is_online = is_proxy && strcmp(state, "online") == 0;
    json_decref(root);
    return is_proxy;
}
