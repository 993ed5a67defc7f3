/* SPDX-License-Identifier: BSD-2-Clause */

/* How many bits are set. A server does nothing else while it counts: so it is asked for ranges that take it a third of a
 * millisecond. */
#include "store/redis/redis_filter.h"

enum { RANGE = 4 << 20 };

typedef struct counting {
    const tamis_filter *filter;
    const tamis__redis_filter *at;
    tamis__bytes_of *bytes_of;
    uint64_t bytes; /* of a Redis key, at most */
    size_t ranges;  /* of each */
    uint64_t ones;
} counting;

static uint32_t slot_of_range(void *context, size_t i) {
    const counting *all = context;
    return tamis__redis_key_slot(all->at, i / all->ranges);
}

static bool put_range(void *context, size_t i, tamis__link *link) {
    const counting *all = context;
    const uint32_t key = (uint32_t)(i / all->ranges % all->at->keys);
    const uint64_t from = i % all->ranges * (uint64_t)RANGE;
    const uint64_t bytes = all->bytes_of ? all->bytes_of(all->filter, key) : all->bytes;
    char name[TAMIS__REDIS_KEY];
    if (from >= bytes)
        return false;
    tamis__link_command(link, 4);
    tamis__link_text(link, "BITCOUNT");
    tamis__link_word(link, name, all->at->layout->key_name(all->at, key, name));
    tamis__link_number(link, (int64_t)from);
    tamis__link_number(link, (int64_t)(bytes - from < RANGE ? bytes : from + RANGE) - 1);
    return true;
}

static tamis_status take_range(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err) {
    counting *all = context;
    (void)i;
    (void)resent;
    if (reply->type != TAMIS__REPLY_INTEGER || reply->integer < 0)
        return tamis__redis_strange(all->at, err);
    all->ones += (uint64_t)reply->integer;
    return TAMIS_OK;
}

tamis_status tamis__redis_count(const tamis_filter *filter, uint64_t bytes, tamis__bytes_of *bytes_of,
                                uint64_t *ones, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    counting all = {filter, at, bytes_of, bytes, (size_t)((bytes + RANGE - 1) / RANGE), 0};
    const tamis__exchange exchange = {.count = tamis__redis_all_keys(at) * all.ranges,
                                      .context = &all,
                                      .ask = put_range,
                                      .take = take_range,
                                      .what = at->uri->named,
                                      .slot = slot_of_range};
    tamis_status status = tamis__redis_run(at->redis, &exchange, NULL, err);
    *ones = all.ones;
    return status;
}
