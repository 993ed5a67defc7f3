/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Functions shared by the layouts of other programs, whose Redis keys are bitmaps without footers.
 *
 * Before its first batch, a handle checks that no Redis key is longer than the parameters allow. Layouts
 * without stored parameters rely on the caller to give the right ones. A longer bitmap was made with
 * others, and lookups in it would answer wrongly that keys are absent.
 */
#include "store/redis/layout/layout_bitmap.h"

#include <inttypes.h>
#include <math.h>

#include "hash/positions.h"
#include "store/file/file_error.h"

void tamis__redis_locate(const tamis_filter *filter, const tamis__key_batch *key_batch, size_t i,
                         tamis__element_positions *positions) {
    const tamis_plan *plan = &filter->plan;
    positions->server = positions->key = 0;
    if (key_batch->hashes)
        tamis__positions(plan->scheme, key_batch->hashes[i].word, plan->bits, plan->probes,
                         positions->offsets);
    else
        tamis__hasher_positions(filter->hasher, &key_batch->keys[i], plan->bits, plan->probes,
                                positions->offsets);
}

/* ---- length of the Redis keys ---- */

typedef struct measuring {
    const tamis_filter *filter;
    uint64_t max_bytes; /* max. length of a Redis key */
} measuring;

static uint32_t slot_of_length(void *context, size_t i) {
    const measuring *ctx = context;
    return tamis__redis_key_slot(tamis__redis_of(ctx->filter), i);
}

static size_t name_of(const measuring *ctx, size_t i, char *to) {
    const tamis__redis_filter *rf = tamis__redis_of(ctx->filter);
    return rf->layout->key_name(rf, (uint32_t)(i % rf->keys), to);
}

static bool put_length(void *context, size_t i, tamis__connection *conn) {
    char name[TAMIS__REDIS_KEY];
    const size_t size = name_of(context, i, name);
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, "STRLEN");
    tamis__connection_put(conn, name, size);
    return true;
}

static tamis_status accept_length(void *context, size_t i, const tamis__reply *reply, bool again,
                                  tamis_error *err) {
    const measuring *ctx = context;
    const tamis__redis_filter *rf = tamis__redis_of(ctx->filter);
    char name[TAMIS__REDIS_KEY + 1];
    (void)again;
    if (reply->type != TAMIS__REPLY_INTEGER || reply->integer < 0)
        return tamis__redis_filter_bad_reply(rf, err);
    if ((uint64_t)reply->integer <= ctx->max_bytes)
        return TAMIS_OK;
    name[name_of(ctx, i, name)] = '\0';
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: is of other parameters: Redis key %s has %" PRId64
                       " bytes, and %" PRIu64 " bits take %" PRIu64
                       "; give the parameters that it was made with, or name another filter",
                       rf->redis->endpoint.shown, rf->uri->shown_name, tamis__show(name).text, reply->integer,
                       ctx->filter->plan.bits, ctx->max_bytes);
}

tamis_status tamis__redis_check_length(const tamis_filter *filter, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis__bitmap_state *state = rf->state;
    const size_t count = tamis__redis_all_keys(rf);
    bool denied = false;
    measuring ctx = {filter, filter->plan.memory / count};
    const tamis__requests requests = {.count = count,
                                      .context = &ctx,
                                      .put_command = put_length,
                                      .accept_reply = accept_length,
                                      .what = rf->uri->shown_name,
                                      .slot = slot_of_length,
                                      .denied = &denied};
    if (state->is_measured || rf->is_family) /* each member of a family has its own Redis key */
        return TAMIS_OK;
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_status status = tamis__requests_run(rf->redis, &requests, NULL, &why);
    state->is_measured = status == TAMIS_OK || denied; /* users who may not send STRLEN skip the check */
    if (state->is_measured)
        return TAMIS_OK;
    if (err)
        *err = why;
    return status;
}

/* ---- statistics and clear ---- */

tamis_status tamis__redis_estimate(const tamis_filter *filter, const tamis__bit_spread *spread,
                                   tamis_filter_info *info, tamis_error *err) {
    const double filters = spread->filters, bits = spread->bits;
    tamis_status status = tamis__redis_check_length(filter, err);
    if (status == TAMIS_OK)
        status = tamis__redis_count(filter, (spread->key_bits + 7) / 8, NULL, &info->ones, err);
    if (status != TAMIS_OK)
        return status;
    const double ones = (double)info->ones / filters, probes = filter->plan.probes;
    info->cardinality = filters * tamis_bloom_cardinality(ones, bits, probes);
    info->fpr_live = pow(ones / bits, probes);
    info->memory = filter->plan.memory;
    return TAMIS_OK;
}

tamis_status tamis__redis_delete_all(tamis_filter *filter, tamis_error *err) {
    uint64_t removed;
    return tamis__redis_every_key(tamis__redis_of(filter), "DEL", &removed, err);
}
