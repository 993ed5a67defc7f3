/* SPDX-License-Identifier: BSD-2-Clause */

/* What sentinels say of who is the master. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/file_error.h"
#include "store/redis/redis_int.h"

tamis_status tamis__sentinel_take(tamis_redis *redis, const tamis__node *sentinel, const tamis__reply *told,
                                  tamis_error *err) {
    const tamis__reply *items = told->items;
    tamis__node *master;
    if (told->type == TAMIS__REPLY_NIL)
        return tamis__fail(
            err, TAMIS_E_NOT_FOUND, 0,
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
    if (status != TAMIS_OK)
        return status;
    tamis__map *map = tamis__map_hold(redis);
    const bool is_same = map && map->of[0] == master;
    tamis__map_drop(redis, map);
    if (is_same)
        return TAMIS_OK;
    map = tamis__map_create(redis);
    if (!map)
        return tamis__fail_nomem(err, "redis", sizeof *map);
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

/* ---- is it the master still? ---- */

typedef enum verdict { SAYS_NOTHING, SAYS_SAME, SAYS_OTHER, IS_AT_IT } verdict;

enum { ASK_AGAIN_MS = 50, SHUN_NS = 1000000000 };

/* Of an array of names and values. */
static const char *value_of(const tamis__reply *told, const char *name) {
    for (size_t i = 0; told->type == TAMIS__REPLY_ARRAY && i + 1 < told->size; i += 2)
        if (told->items[i].type == TAMIS__REPLY_STRING && strcmp(told->items[i].text, name) == 0 &&
            told->items[i + 1].type == TAMIS__REPLY_STRING)
            return told->items[i + 1].text;
    return NULL;
}

/* What one sentinel says, which has not heard of the last change where its epoch is lower than another's. */
static verdict listen(tamis_redis *redis, tamis__node *sentinel, tamis__link *link, const tamis__node *master,
                      uint64_t deadline, tamis_error *err) {
    const tamis__reply *told;
    tamis__link_command(link, 3);
    tamis__link_text(link, "SENTINEL");
    tamis__link_text(link, "MASTER");
    tamis__link_text(link, redis->uri.master);
    if (tamis__link_ask(link, deadline, &told, err) != TAMIS_OK)
        return SAYS_NOTHING;
    const char *flags = value_of(told, "flags"), *number = value_of(told, "config-epoch");
    const bool is_at_it = flags && strstr(flags, "failover_in_progress");
    const uint64_t epoch = number ? strtoull(number, NULL, 10) : 0;
    pthread_mutex_lock(&redis->mutex);
    const bool is_behind = epoch < redis->epoch;
    redis->epoch = is_behind ? redis->epoch : epoch;
    pthread_mutex_unlock(&redis->mutex);
    if (is_behind)
        return SAYS_NOTHING;
    tamis__sentinel_ask(redis, link);
    if (tamis__link_ask(link, deadline, &told, err) != TAMIS_OK ||
        tamis__sentinel_take(redis, sentinel, told, err) != TAMIS_OK)
        return SAYS_NOTHING;
    tamis__map *map = tamis__map_hold(redis);
    const bool is_same = map->of[0] == master;
    tamis__map_drop(redis, map);
    return !is_same ? SAYS_OTHER : is_at_it ? IS_AT_IT : SAYS_SAME;
}

static verdict ask_one(tamis_redis *redis, tamis__node *sentinel, const tamis__node *master,
                       tamis_error *err) {
    const uint64_t now = tamis__now_ns();
    tamis__link *link;
    pthread_mutex_lock(&redis->mutex);
    const bool is_shunned = now < sentinel->shun_till;
    pthread_mutex_unlock(&redis->mutex);
    if (is_shunned || tamis__redis_lease(redis, sentinel, now + redis->connect_ns, &link, err) != TAMIS_OK)
        return SAYS_NOTHING;
    const verdict says = listen(redis, sentinel, link, master, now + redis->read_ns, err);
    if (says == SAYS_NOTHING && !tamis__link_at_rest(link)) {
        pthread_mutex_lock(&redis->mutex);
        sentinel->shun_till = tamis__now_ns() + SHUN_NS;
        pthread_mutex_unlock(&redis->mutex);
    }
    tamis__redis_give_back(redis, sentinel, link); /* which closes what is not at rest */
    return says;
}

static verdict ask_all(tamis_redis *redis, const tamis__node *master, tamis_error *err) {
    verdict worst = SAYS_NOTHING;
    pthread_mutex_lock(&redis->mutex);
    tamis__node *one = redis->nodes; /* in front of which others may come, which are servers */
    pthread_mutex_unlock(&redis->mutex);
    for (; one && worst != SAYS_OTHER; one = one->next) {
        const verdict says = one->is_sentinel ? ask_one(redis, one, master, err) : SAYS_NOTHING;
        worst = says > worst || says == SAYS_OTHER ? says : worst;
    }
    return worst;
}

tamis_status tamis__sentinel_has_moved(tamis_redis *redis, const tamis__map *before, bool *has_moved,
                                       tamis_error *err) {
    const uint64_t deadline = tamis__now_ns() + redis->patience_ns;
    tamis_error wrong = TAMIS_ERROR_INIT;
    if (redis->uri.kind != TAMIS__REDIS_SENTINEL || !before)
        return TAMIS_OK;
    for (;;) {
        const verdict says = ask_all(redis, before->of[0], &wrong);
        *has_moved = says == SAYS_OTHER;
        if (says != IS_AT_IT)
            return TAMIS_OK;
        if (tamis__now_ns() > deadline)
            return tamis__fail(
                err, TAMIS_E_TIMEOUT, 0,
                "redis %s: sentinels are at replacing the master %s, and did not come to an end; see "
                "SENTINEL MASTER there, or give more time (patience=)",
                redis->to.shown, before->of[0]->to.shown);
        (void)tamis__sys.poll(NULL, 0, ASK_AGAIN_MS);
    }
}
