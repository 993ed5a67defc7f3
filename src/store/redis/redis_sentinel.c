/* SPDX-License-Identifier: BSD-2-Clause */

/* What sentinels say of who is the master. */
#include <stdlib.h>
#include <string.h>

#include "store/redis/redis_int.h"
#include "store/trouble.h"

tamis_status tamis__sentinel_take(tamis_redis *redis, const tamis__node *sentinel, const tamis__reply *told,
                                  tamis_error *err) {
    const tamis__reply *items = told->items;
    tamis__node *master;
    if (told->type == TAMIS__REPLY_NIL)
        return tamis__fail(
            err, TAMIS_E_ABSENT, 0,
            "sentinel %s: knows no master '%.100s'; check the name, see SENTINEL MASTERS there",
            sentinel->to.shown, tamis__show(redis->uri.master).text);
    if (told->type == TAMIS__REPLY_ERROR && tamis__reply_begins(told, "NOAUTH"))
        return tamis__fail(err, TAMIS_E_REFUSED, 0,
                           "sentinel %s: wants a password; give sentinel_password= (and sentinel_user=)",
                           sentinel->to.shown);
    if (told->type == TAMIS__REPLY_ERROR && tamis__reply_begins(told, "ERR unknown command"))
        return tamis__fail(err, TAMIS_E_REFUSED, 0,
                           "sentinel %s: is none; name a sentinel, not the server itself, or write redis://",
                           sentinel->to.shown);
    const long port = told->type == TAMIS__REPLY_ARRAY && told->size == 2 &&
                              items[0].type == TAMIS__REPLY_STRING && items[1].type == TAMIS__REPLY_STRING
                          ? strtol(items[1].text, NULL, 10)
                          : 0;
    if (port < 1 || port > UINT16_MAX)
        return tamis__fail(err, TAMIS_E_IO, 0,
                           "sentinel %s: told nothing of use of its master; see SENTINEL MASTERS there",
                           sentinel->to.shown);
    tamis_status status =
        tamis__redis_node(redis, items[0].text, items[0].size, (uint16_t)port, &master, err);
    tamis__map *map = status == TAMIS_OK ? tamis__map_create(redis) : NULL;
    if (status == TAMIS_OK && !map)
        status = tamis__fail_nomem(err, "redis", sizeof *map);
    if (status != TAMIS_OK)
        return status;
    map->of[0] = master;
    tamis__map_replace(redis, map);
    return TAMIS_OK;
}

void tamis__sentinel_ask(const tamis_redis *redis, tamis__link *link) {
    tamis__link_command(link, 3);
    tamis__link_text(link, "SENTINEL");
    tamis__link_text(link, "GET-MASTER-ADDR-BY-NAME");
    tamis__link_text(link, redis->uri.master);
}
