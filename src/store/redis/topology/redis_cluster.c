/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Redis Cluster: the slot of a Redis key, the map of slots, and redirections.
 *
 *     slot of a key    CRC-16 of its hash tag, or of the whole key, modulo 16384
 *     hash tag         the text from the first { to the next }, if it is not empty: tamis:{NAME}:plan -> NAME
 *     map              CLUSTER SLOTS -> [[first slot, last slot, master, replica, ...], ...]
 *                      each node is [host, port, ...]
 *     redirection      error reply "MOVED slot host:port" or "ASK slot host:port"
 *
 * A node may leave out a host, or give "?". It then means its own host, the one that the client used.
 * Replicas of the reply become nodes too: they can be queried for the map when all masters are gone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/file/file_error.h"
#include "store/redis/topology/redis_topology.h"

/* ---- slots ---- */

/* CRC-16/XMODEM, four bits at a time. */
static uint32_t crc16(const unsigned char *bytes, size_t size) {
    static const uint16_t of_nibble[16] = {0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
                                           0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};
    uint32_t crc = 0;
    for (size_t i = 0; i < size; i++) {
        crc = (crc << 4 & 0xffff) ^ of_nibble[crc >> 12 ^ bytes[i] >> 4];
        crc = (crc << 4 & 0xffff) ^ of_nibble[crc >> 12 ^ (bytes[i] & 15)];
    }
    return crc;
}

const void *tamis__cluster_tag(const void *key, size_t *size) {
    const char *open = memchr(key, '{', *size), *end = (const char *)key + *size;
    const char *close = open ? memchr(open + 1, '}', (size_t)(end - open - 1)) : NULL;
    if (!close || close == open + 1)
        return NULL;
    *size = (size_t)(close - open - 1);
    return open + 1;
}

uint32_t tamis__cluster_slot(const void *key, size_t size) {
    const void *tag = tamis__cluster_tag(key, &size);
    return crc16(tag ? tag : key, size) % TAMIS__CLUSTER_SLOTS;
}

/* ---- redirections ---- */

bool tamis__cluster_redirection(const tamis__reply *error, const tamis__node *source,
                                tamis__redirection *to) {
    const char *rest = error->text;
    char *end;
    to->is_ask = strncmp(rest, "ASK ", 4) == 0;
    if (!to->is_ask && strncmp(rest, "MOVED ", 6) != 0)
        return false;
    const unsigned long slot = strtoul(strchr(rest, ' ') + 1, &end, 10);
    if (*end != ' ' || slot >= TAMIS__CLUSTER_SLOTS ||
        !tamis__redis_address_read(end + 1, &to->host, &to->host_size, &to->port))
        return false;
    to->slot = (uint32_t)slot;
    if (to->host_size == 0 || (to->host_size == 1 && *to->host == '?')) { /* the host of the source */
        to->host = source->host;
        to->host_size = strlen(source->host);
    }
    return true;
}

/* ---- the map ---- */

static tamis_status fail_bad_slots(const tamis__node *source, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_IO, 0,
        "redis %s: gave no usable description of its cluster; see CLUSTER SLOTS and CLUSTER INFO there",
        source->endpoint.shown);
}

static tamis_status read_node(tamis_redis *redis, const tamis__node *source, const tamis__reply *reply,
                              tamis__node **node, tamis_error *err) {
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size < 2 ||
        reply->items[1].type != TAMIS__REPLY_INTEGER || reply->items[1].integer < 1 ||
        reply->items[1].integer > UINT16_MAX)
        return fail_bad_slots(source, err);
    const tamis__reply *host = &reply->items[0];
    const uint16_t port = (uint16_t)reply->items[1].integer;
    const bool known = host->type == TAMIS__REPLY_STRING && host->size > 0 && strcmp(host->text, "?") != 0;
    const tamis__node_address address = {.host = known ? host->text : source->host,
                                         .host_size = known ? host->size : strlen(source->host),
                                         .port = port};
    return tamis__redis_node(redis, &address, node, err);
}

static tamis_status read_range(tamis_redis *redis, const tamis__node *source, const tamis__reply *range,
                               tamis__slot_map *map, tamis_error *err) {
    const tamis__reply *items = range->items;
    tamis__node *master, *replica;
    if (range->type != TAMIS__REPLY_ARRAY || range->size < 3 || items[0].type != TAMIS__REPLY_INTEGER ||
        items[1].type != TAMIS__REPLY_INTEGER || items[0].integer < 0 ||
        items[1].integer >= TAMIS__CLUSTER_SLOTS)
        return fail_bad_slots(source, err);
    tamis_status status = read_node(redis, source, &items[2], &master, err);
    for (int64_t i = items[0].integer; i <= items[1].integer && status == TAMIS_OK; i++)
        map->slots[i] = master;
    for (size_t i = 3; i < range->size && status == TAMIS_OK; i++)
        status = read_node(redis, source, &items[i], &replica, err); /* may be queried later */
    return status;
}

tamis_status tamis__cluster_accept_reply(tamis_redis *redis, const tamis__node *source,
                                         const tamis__reply *reply, tamis_error *err) {
    if (reply->type == TAMIS__REPLY_ERROR && strstr(reply->text, "cluster support disabled"))
        return tamis__fail(err, TAMIS_E_REFUSED, 0,
                           "redis %s: is not a node of a cluster; write redis:// or redis+shard://",
                           source->endpoint.shown);
    if (reply->type == TAMIS__REPLY_ERROR &&
        (tamis__reply_begins(reply, "NOPERM") || tamis__reply_begins(reply, "NOAUTH")))
        return tamis__redis_refused(&source->endpoint, "CLUSTER SLOTS", reply, err);
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size == 0)
        return fail_bad_slots(source, err);
    tamis__slot_map *map = tamis__slot_map_create(redis);
    tamis_status status = map ? TAMIS_OK : tamis__fail_nomem(err, "redis", sizeof *map);
    for (size_t i = 0; i < reply->size && status == TAMIS_OK; i++)
        status = read_range(redis, source, &reply->items[i], map, err);
    if (status == TAMIS_OK)
        tamis__slot_map_replace(redis, map);
    else
        tamis__slot_map_drop(redis, map);
    return status;
}

void tamis__cluster_put_query(tamis__connection *conn) {
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, "CLUSTER");
    tamis__connection_put_text(conn, "SLOTS");
}
