/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Checks that the Redis keys of a filter are not longer than its parameters allow. Layouts without stored parameters rely on
 * the caller to give the right ones. A longer bitmap was made with others, and lookups in it would answer wrongly that keys
 * are absent.
 */
#include <inttypes.h>

#include "store/file/file_error.h"
#include "store/redis/filter/redis_filter.h"

typedef struct measuring {
    const tamis_filter *filter;
    uint64_t max_bytes; /* max. length of a Redis key */
} measuring;

static uint32_t slot_of_key(void *context, size_t i) {
    const measuring *ctx = context;
    return tamis__redis_key_slot(tamis__redis_of(ctx->filter), i);
}

static size_t name_key(const measuring *ctx, size_t i, char *to) {
    const tamis__redis_filter *rf = tamis__redis_of(ctx->filter);
    return rf->layout->key_name(rf, (uint32_t)(i % rf->keys), to);
}

static bool put_length(void *context, size_t i, tamis__connection *conn) {
    char name[TAMIS__REDIS_KEY];
    const size_t size = name_key(context, i, name);
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, "STRLEN");
    tamis__connection_put(conn, name, size);
    return true;
}

static tamis_status take_length(void *context, size_t i, const tamis__reply *reply, bool again,
                                tamis_error *err) {
    const measuring *ctx = context;
    const tamis__redis_filter *rf = tamis__redis_of(ctx->filter);
    char name[TAMIS__REDIS_KEY + 1];
    (void)again;
    if (reply->type != TAMIS__REPLY_INTEGER || reply->integer < 0)
        return tamis__redis_filter_bad_reply(rf, err);
    if ((uint64_t)reply->integer <= ctx->max_bytes)
        return TAMIS_OK;
    name[name_key(ctx, i, name)] = '\0';
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: is of other parameters: Redis key %s has %" PRId64
                       " bytes, and %" PRIu64 " bits take %" PRIu64
                       "; give the parameters that it was made with, or name another filter",
                       rf->redis->endpoint.shown, rf->uri->shown_name, tamis__show(name).text, reply->integer,
                       ctx->filter->plan.bits, ctx->max_bytes);
}

tamis_status tamis__redis_check_length(const tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    const size_t count = tamis__redis_all_keys(rf);
    bool denied = false;
    measuring ctx = {filter, filter->plan.memory / count};
    const tamis__requests requests = {.count = count,
                                      .context = &ctx,
                                      .put_command = put_length,
                                      .take_reply = take_length,
                                      .what = rf->uri->shown_name,
                                      .slot = slot_of_key,
                                      .denied = &denied};
    if (rf->is_measured || rf->is_family) /* each member of a family has its own Redis key */
        return TAMIS_OK;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__requests_run(rf->redis, &requests, NULL, &why);
    rf->is_measured = status == TAMIS_OK || denied; /* users who may not send STRLEN skip the check */
    if (rf->is_measured)
        return TAMIS_OK;
    if (err)
        *err = why;
    return status;
}
