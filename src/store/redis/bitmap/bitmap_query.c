/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/bitmap/bitmap_query.h"

#include <string.h>

uint32_t tamis__bitmap_slot(const tamis_redis_bitmap *bitmap) {
    return tamis__redis_slot(bitmap->redis, bitmap->uri->name, bitmap->uri->name_size);
}

tamis_status tamis__bitmap_bad_reply(const tamis_redis_bitmap *bitmap, tamis_error *err) {
    return tamis__redis_bad_reply(bitmap->redis, bitmap->uri->shown_name, err);
}

typedef struct query_run {
    const tamis_redis_bitmap *bitmap;
    tamis__bitmap_query *queries;
} query_run;

static uint32_t slot(void *context, size_t i) {
    const query_run *ctx = context;
    (void)i;
    return tamis__bitmap_slot(ctx->bitmap);
}

static bool put_command(void *context, size_t i, tamis__connection *conn) {
    const query_run *ctx = context;
    const tamis__bitmap_query *query = &ctx->queries[i];
    tamis__connection_put_command(conn, 2 + query->count);
    tamis__connection_put_text(conn, query->command);
    tamis__connection_put(conn, ctx->bitmap->uri->name, ctx->bitmap->uri->name_size);
    for (size_t j = 0; j < query->count; j++)
        tamis__connection_put_number(conn, query->numbers[j]);
    return true;
}

static tamis_status accept_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err) {
    const query_run *ctx = context;
    tamis__bitmap_query *query = &ctx->queries[i];
    (void)resent;
    if (reply->type != (query->bytes ? TAMIS__REPLY_STRING : TAMIS__REPLY_INTEGER) ||
        (query->bytes && reply->size > query->buffer_size))
        return tamis__bitmap_bad_reply(ctx->bitmap, err);
    query->integer = reply->integer;
    query->size = query->bytes ? reply->size : 0;
    if (query->size > 0)
        memcpy(query->bytes, reply->text, query->size);
    return TAMIS_OK;
}

tamis_status tamis__bitmap_run_queries(const tamis_redis_bitmap *bitmap, tamis__bitmap_query *queries,
                                       size_t count, tamis_error *err) {
    query_run ctx = {bitmap, queries};
    const tamis__requests requests = {.count = count,
                                      .context = &ctx,
                                      .put_command = put_command,
                                      .accept_reply = accept_reply,
                                      .what = bitmap->uri->shown_name,
                                      .slot = slot};
    return tamis__requests_run(bitmap->redis, &requests, NULL, err);
}
