/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Replies of a server, in pieces of any size, and the parsers of their content. Byte 0 of the input
 * selects the size of the pieces, and the command to which each reply is the answer:
 *
 *     0  none       1  CLUSTER SLOTS       2  a sentinel's master       3  the config hash of layout redisson
 *
 * The bytes are refused, or give the same replies in pieces as in one. Memory is bounded.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/layout/layout_bitmap.h"
#include "support/fault.h"

enum { MEMORY = 4 << 20 };

static fault_memory memory;
static tamis_allocator allocator;

static void check(bool holds) {
    if (!holds)
        abort();
}

static void check_failed(tamis_status status, const tamis_error *err) {
    check(err->status == status && *err->text && !strchr(err->text, '\n'));
}

/* ---- replies ---- */

/* FNV-1a of a whole reply: reads every byte of it. */
static uint64_t sum_bytes(uint64_t sum, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static uint64_t sum_reply(uint64_t sum, const tamis__reply *reply) {
    const bool has_text = reply->type == TAMIS__REPLY_STRING || reply->type == TAMIS__REPLY_STATUS ||
                          reply->type == TAMIS__REPLY_ERROR;
    sum = sum_bytes(sum, &reply->type, sizeof reply->type);
    sum = sum_bytes(sum, &reply->integer, sizeof reply->integer);
    sum = sum_bytes(sum, &reply->size, sizeof reply->size);
    if (has_text) {
        check(reply->text[reply->size] == '\0');
        sum = sum_bytes(sum, reply->text, reply->size);
    }
    for (size_t i = 0; reply->type == TAMIS__REPLY_ARRAY && i < reply->size; i++)
        sum = sum_reply(sum, &reply->items[i]);
    return sum;
}

typedef void acceptor(void *context, const tamis__reply *reply);

/* Returns a checksum of all replies and of the final status. */
static uint64_t read_all(const uint8_t *data, size_t size, size_t piece, acceptor *accept, void *context) {
    tamis__replies *replies = tamis__replies_create(&allocator);
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_status status = TAMIS_OK;
    uint64_t sum = 0;
    check(replies);
    for (size_t start = 0; start < size && status == TAMIS_OK; start += piece) {
        const tamis__reply *reply = NULL;
        const size_t length = size - start < piece ? size - start : piece;
        char *bytes = malloc(length); /* exactly its size, for a sanitizer */
        check(bytes);
        memcpy(bytes, data + start, length);
        status = tamis__replies_feed(replies, bytes, length, &err);
        free(bytes);
        do {
            if (status == TAMIS_OK)
                status = tamis__replies_next(replies, &reply, &err);
            if (status == TAMIS_OK && reply) {
                sum = sum_reply(sum, reply);
                accept(context, reply);
            }
        } while (status == TAMIS_OK && reply);
    }
    if (status != TAMIS_OK)
        check_failed(status, &err);
    tamis__replies_free(replies);
    return sum_bytes(sum, &status, sizeof status);
}

static void accept_none(void *context, const tamis__reply *reply) {
    (void)context;
    (void)reply;
}

/* ---- replies about other servers ---- */

static tamis_redis *servers_of(const char *text) {
    tamis__redis_uri uri;
    tamis_redis *redis;
    check(tamis__redis_uri_parse(&uri, text, &allocator, NULL) == TAMIS_OK);
    check(tamis__redis_create(&redis, &uri, NULL) == TAMIS_OK);
    return redis;
}

static void check_map(tamis_redis *redis) {
    tamis__slot_map *map = tamis__slot_map_hold(redis);
    const tamis__node *before = NULL;
    check(map && map->slot_count == redis->slot_count);
    for (size_t i = 0; i < map->slot_count; i++) {
        const tamis__node *node = map->slots[i], *known = redis->nodes;
        if (!node || node == before)
            continue;
        while (known && known != node)
            known = known->next;
        check(known && known->endpoint.address.port > 0 && !known->is_sentinel);
        before = node;
    }
    tamis__slot_map_drop(redis, map);
}

static void accept_cluster(void *context, const tamis__reply *reply) {
    tamis_redis *redis = context;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis__redirection to;
    if (reply->type == TAMIS__REPLY_ERROR && tamis__cluster_redirection(reply, redis->nodes, &to))
        check(to.slot < TAMIS__CLUSTER_SLOTS && to.port > 0 && to.host_size > 0 && to.host[to.host_size - 1]);
    tamis_status status = tamis__cluster_accept_reply(redis, redis->nodes, reply, &err);
    if (status == TAMIS_OK)
        check_map(redis);
    else
        check_failed(status, &err);
}

static void accept_sentinel(void *context, const tamis__reply *reply) {
    tamis_redis *redis = context;
    const tamis__node *sentinel = redis->nodes;
    tamis_error err = TAMIS_ERROR_INIT;
    while (!sentinel->is_sentinel)
        sentinel = sentinel->next;
    tamis_status status = tamis__sentinel_accept_reply(redis, sentinel, reply, &err);
    if (status == TAMIS_OK)
        check_map(redis);
    else
        check_failed(status, &err);
}

static void accept_redisson(void *context, const tamis__reply *reply) {
    const tamis_filter *filter = context;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    bool is_there = false;
    tamis_status status = tamis__redisson_read_plan(tamis__redis_of(filter), reply, &plan, &is_there, &err);
    if (status != TAMIS_OK)
        check_failed(status, &err);
    else if (is_there)
        check(plan.bits >= 1 && plan.bits < UINT32_MAX && plan.probes >= 1 &&
              plan.probes <= TAMIS_PROBES_MAX && plan.capacity >= 1 && plan.fpr >= 0 && plan.fpr <= 1 &&
              plan.fpr_predicted >= 0 && plan.fpr_predicted <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    const uint8_t what = data[0] % 4;
    const size_t piece = (size_t)data[0] / 4 + 1;
    tamis_filter *filter = NULL;
    tamis_redis *redis = NULL;
    allocator = fault_memory_allocator(&memory);
    memory.limit = MEMORY;
    data++;
    size--;

    uint64_t sum = 0;
    const uint64_t in_pieces = read_all(data, size, piece, accept_none, NULL);
    switch (what) {
    case 0:
        sum = read_all(data, size, size, accept_none, NULL);
        break;
    case 1:
        redis = servers_of("redis+cluster://127.0.0.1:1");
        sum = read_all(data, size, size, accept_cluster, redis);
        break;
    case 2:
        redis = servers_of("redis+sentinel://127.0.0.1:1/m");
        sum = read_all(data, size, size, accept_sentinel, redis);
        break;
    default:
        check(tamis__redis_name(&filter, NULL, "redis://127.0.0.1:1/n?layout=redisson", &allocator, NULL) ==
              TAMIS_OK);
        sum = read_all(data, size, size, accept_redisson, filter);
    }
    tamis_filter_free(filter);
    tamis_redis_close(redis);
    check(memory.live_blocks == 0 && (sum == in_pieces || memory.refused > 0));
    memory = (fault_memory){0};
    return 0;
}
