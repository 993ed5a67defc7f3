/* SPDX-License-Identifier: BSD-2-Clause */

/* What a Codis proxy says of itself in its node. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/proxy_watch.h"

/* "host:port", "[::1]:port" */
static bool read_address(const char *text, tamis__proxy *proxy) {
    const char *colon = text ? strrchr(text, ':') : NULL;
    if (!colon)
        return false;
    const char *host = text, *port = colon + 1;
    size_t size = (size_t)(colon - text);
    if (size >= 2 && *host == '[' && host[size - 1] == ']') {
        host++;
        size -= 2;
    }
    const size_t digits = strspn(port, "0123456789");
    const long number = digits > 0 && digits < 6 && !port[digits] ? strtol(port, NULL, 10) : 0;
    if (size == 0 || size >= sizeof proxy->host || number < 1 || number > UINT16_MAX)
        return false;
    memcpy(proxy->host, host, size);
    proxy->host[size] = '\0';
    proxy->port = (uint16_t)number;
    return true;
}

bool tamis__proxy_read(const char *data, size_t size, tamis__proxy *proxy, bool *is_online) {
    json_t *root = json_loadb(data, size, 0, NULL);
    const char *state = json_string_value(json_object_get(root, "state"));
    const bool is_proxy = state && read_address(json_string_value(json_object_get(root, "addr")), proxy);
    *is_online = is_proxy && strcmp(state, "online") == 0;
    json_decref(root);
    return is_proxy;
}
