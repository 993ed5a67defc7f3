/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/bitmap_query.h"

#include <string.h>

uint32_t tamis__bitmap_slot(const tamis_redis_bitmap *bitmap) {
    return tamis__redis_slot(bitmap->redis, bitmap->uri->name, bitmap->uri->name_size);
}

tamis_status tamis__bitmap_strange(const tamis_redis_bitmap *bitmap, tamis_error *err) {
    return tamis__redis_no_reply(bitmap->redis, bitmap->uri->named, err);
}

typedef struct asking {
    const tamis_redis_bitmap *bitmap;
    tamis__bitmap_query *queries;
} asking;

static uint32_t slot(void *context, size_t i) {
    const asking *all = context;
    (void)i;
    return tamis__bitmap_slot(all->bitmap);
}

static bool put(void *context, size_t i, tamis__link *link) {
    const asking *all = context;
    const tamis__bitmap_query *query = &all->queries[i];
    tamis__link_command(link, 2 + query->count);
    tamis__link_text(link, query->command);
    tamis__link_word(link, all->bitmap->uri->name, all->bitmap->uri->name_size);
    for (size_t j = 0; j < query->count; j++)
        tamis__link_number(link, query->numbers[j]);
    return true;
}

static tamis_status take(void *context, size_t i, const tamis__reply *reply, bool resent, tamis_error *err) {
    const asking *all = context;
    tamis__bitmap_query *query = &all->queries[i];
    (void)resent;
    if (reply->type != (query->bytes ? TAMIS__REPLY_STRING : TAMIS__REPLY_INTEGER) ||
        (query->bytes && reply->size > query->room))
        return tamis__bitmap_strange(all->bitmap, err);
    query->integer = reply->integer;
    query->size = query->bytes ? reply->size : 0;
    if (query->size > 0)
        memcpy(query->bytes, reply->text, query->size);
    return TAMIS_OK;
}

tamis_status tamis__bitmap_ask(const tamis_redis_bitmap *bitmap, tamis__bitmap_query *queries, size_t count,
                               tamis_error *err) {
    asking all = {bitmap, queries};
    const tamis__exchange exchange = {
        .count = count, .context = &all, .ask = put, .take = take, .what = bitmap->uri->named, .slot = slot};
    return tamis__redis_run(bitmap->redis, &exchange, NULL, err);
}
