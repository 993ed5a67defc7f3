/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * All members of a family of layout tamis. Nothing lists them, but their Redis keys end with the family's generation, which no
 * other key has: tamis:{MEMBER:G}:bits. (Behind that of a filter stands the number of a partition, of fewer digits.) They
 * are found by SCAN, kept in memory, and then expired or removed in one exchange.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/redis/layout_tamis.h"
#include "store/redis/redis_scan.h"

typedef struct gathered {
    const tamis__redis_filter *at;
    int64_t ms;
    char *text; /* names one behind the other */
    size_t used, room;
    size_t *ends; /* of each in it */
    size_t count, ends_room;
} gathered;

static tamis_status take_key(void *context, const char *key, size_t size, tamis_error *err) {
    gathered *all = context;
    void *text = all->text, *ends = all->ends;
    tamis_status status =
        tamis__scan_reserve(all->at->redis, &text, all->used, all->used + size, &all->room, 1, err);
    all->text = text;
    if (status == TAMIS_OK)
        status = tamis__scan_reserve(all->at->redis, &ends, all->count, all->count + 1, &all->ends_room,
                                     sizeof *all->ends, err);
    all->ends = ends;
    if (status != TAMIS_OK)
        return status;
    memcpy(all->text + all->used, key, size);
    all->used += size;
    all->ends[all->count++] = all->used;
    return TAMIS_OK;
}

static tamis_key key_of(const gathered *all, size_t i) {
    const size_t from = i > 0 ? all->ends[i - 1] : 0;
    return (tamis_key){all->text + from, all->ends[i] - from};
}

static uint32_t slot_of(void *context, size_t i) {
    const gathered *all = context;
    const tamis_key key = key_of(all, i);
    return tamis__redis_slot(all->at->redis, key.data, key.size);
}

static bool put(void *context, size_t i, tamis__link *link) {
    const gathered *all = context;
    const tamis_key key = key_of(all, i);
    if (all->ms >= 0) {
        tamis__link_expire(link, key.data, key.size, (uint64_t)all->ms);
        return true;
    }
    tamis__link_command(link, 2);
    tamis__link_text(link, tamis__redis_unlink(all->at->redis));
    tamis__link_word(link, key.data, key.size);
    return true;
}

static tamis_status take(void *context, size_t i, const tamis__reply *reply, bool resent, tamis_error *err) {
    const gathered *all = context;
    (void)i;
    (void)resent;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(all->at, err);
}

tamis_status tamis__members_expire(const tamis__redis_filter *at, const char *text, int64_t ms,
                                   tamis_error *err) {
    gathered all = {.at = at, .ms = ms};
    char pattern[TAMIS__REDIS_STATE + 16];
    tamis__told plan;
    if (tamis__told_parse(at, "plan", text, &plan, NULL) != TAMIS_OK || !plan.is_family)
        return TAMIS_OK;
    const int size = snprintf(pattern, sizeof pattern, "tamis:{*:%016" PRIx64 "}:bits", plan.generation);
    const tamis__scan scan = {pattern, (size_t)size, "string", take_key, &all};
    tamis_status status = tamis__redis_scan(at->redis, &scan, err);
    const tamis__exchange exchange = {.count = all.count,
                                      .context = &all,
                                      .ask = put,
                                      .take = take,
                                      .what = at->uri->named,
                                      .slot = slot_of};
    if (status == TAMIS_OK && all.count > 0)
        status = tamis__redis_run(at->redis, &exchange, NULL, err);
    tamis__free(&at->redis->allocator, all.text, all.room);
    tamis__free(&at->redis->allocator, all.ends, all.ends_room * sizeof *all.ends);
    return status;
}
