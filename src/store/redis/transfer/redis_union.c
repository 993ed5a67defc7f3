/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Merges a filter in memory into one on a server that is in use, or that a resize fills. The new bits of
 * each partition are uploaded to a staging string with the same hash tag, and so in the same slot. BITOP
 * OR then adds them atomically:
 *
 *     tamis:{NAME:G:i}:bits       partition    | bits     | footer or mark | stamp | chunk bits |
 *     tamis:{NAME:G:i}:unite-R    staging      | new bits | zeros          | zeros | chunk bits |
 *
 *     1 make      staging strings of zeros, which expire
 *     2 upload    chunks; each also sets its chunk bit
 *     3 or        step: footer or mark in place, all chunk bits set -> BITOP OR partition partition staging
 *     4 remove    the staging strings
 *     5 check     read plan and next: if the plan has changed, merge into the new filter
 *
 * The zeros leave footer and stamp as they are. The OR also sets the chunk bits of the partition, by which
 * a partition that is being filled can be sealed. R is random, so two programs may merge at once. BITOP
 * twice has the same effect as once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "store/redis/transfer/redis_transfer.h"

enum { LIFETIME_MS = 3600000 };

typedef struct union_state {
    const tamis__partitions *partitions, *staging;
    size_t lost; /* 1 + number of a partition that was lost, itself or its staging string; 0: none */
} union_state;

static uint32_t slot_of_or(void *context, size_t i) {
    const union_state *ctx = context;
    return tamis__partition_slot(ctx->partitions, (uint32_t)i);
}

/* BITOP recreates its target without an expiry, so the step restores the expiry. A step that arrives after
 * the staging string was removed does nothing. */
static bool put_or(void *context, size_t i, tamis__connection *conn) {
    const union_state *ctx = context;
    char staging_key_name[TAMIS__REDIS_KEY];
    tamis__partition_buffers buffers;
    tamis__chunks_buffers chunks;
    tamis__step step = {.keeps_expiry = true};
    const tamis_key name = tamis__partition_add_condition(ctx->partitions, (uint32_t)i, &step, &buffers);
    const tamis_key staging_key = {staging_key_name,
                                   tamis__partition_name(ctx->staging, (uint32_t)i, staging_key_name)};
    tamis__step_key(&step, staging_key);
    tamis__chunks_add_condition(ctx->partitions, (uint32_t)i, staging_key, &step, &chunks);
    tamis__step_write(
        &step, TAMIS__WORDS(tamis__redis_word("BITOP"), tamis__redis_word("OR"), name, name, staging_key));
    tamis__step_put(&step, conn);
    return true;
}

static tamis_status accept_or(void *context, size_t i, const tamis__reply *reply, bool resent,
                              tamis_error *err) {
    union_state *ctx = context;
    (void)resent;
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_filter_bad_reply(ctx->partitions->rf, err);
    if (reply->integer == 0)
        ctx->lost = i + 1;
    return TAMIS_OK;
}

static tamis_status check_compatible(const tamis_filter *there, const tamis_filter *from, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(there);
    tamis_status status =
        tamis__check_compatible(there, from, "union", "build both with the same options", err);
    if (status != TAMIS_OK || (there->hasher->seed == from->hasher->seed &&
                               there->hasher->secret_fingerprint == from->hasher->secret_fingerprint))
        return status;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: the filter has another seed or secret; build both with the same ones",
                       rf->redis->endpoint.shown, rf->uri->shown_name);
}

/* Makes, fills, merges and removes the staging strings. `staging` has the staging strings beside the
 * partitions of `there`. */
static tamis_status or_staged(const tamis_filter *there, const tamis__partitions *partitions,
                              const tamis__partitions *staging, const tamis_filter *from, tamis_error *err) {
    const tamis__redis_filter *rf = partitions->rf;
    size_t count;
    union_state ctx = {partitions, staging, 0};
    const tamis__upload upload = {
        .there = there, .words = tamis__bloom_words(from, &count), .partitions = staging};
    const tamis__requests or = {.count = partitions->count,
                                .context = &ctx,
                                .put_command = put_or,
                                .accept_reply = accept_or,
                                .what = rf->uri->shown_name,
                                .slot = slot_of_or,
                                .is_steps = true};
    tamis_status status = tamis__partitions_make(staging, LIFETIME_MS, err);
    if (status == TAMIS_OK)
        status = tamis__upload_run(&upload, err);
    if (status == TAMIS_OK)
        status = tamis__requests_run(rf->redis, & or, NULL, err);
    if (status == TAMIS_OK && ctx.lost > 0)
        status = tamis__partition_lost(rf, ctx.lost - 1, err);
    const tamis_status removed = tamis__partitions_expire(staging, NULL, -1, status == TAMIS_OK ? err : NULL);
    return status == TAMIS_OK ? removed : status;
}

tamis_status tamis__upload_union(const tamis_filter *there, const tamis__partitions *partitions,
                                 const tamis_filter *from, tamis_error *err) {
    tamis__partitions staging = *partitions;
    uint32_t random;
    tamis_status status = check_compatible(there, from, err);
    if (status == TAMIS_OK)
        status = tamis__random(&random, sizeof random, partitions->rf->uri->shown, err);
    if (status != TAMIS_OK)
        return status;
    staging.mark_numbers = NULL;
    snprintf(staging.staging, sizeof staging.staging, "unite-%08" PRIx32, random);
    return or_staged(there, partitions, &staging, from, err);
}

static tamis_status union_once(tamis_filter *there, const tamis_filter *from, bool *again, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(there);
    const tamis__tamis_state *state = tamis__tamis_of(rf);
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__upload_union(there, &state->partitions, from, &why);
    const bool may_be_replaced = status == TAMIS_E_IO;
    if (status == TAMIS_OK || may_be_replaced) {
        const tamis_status checked = tamis__redis_check(there, true, again, err);
        status = checked != TAMIS_OK || *again || !may_be_replaced ? checked : status;
        if (status != TAMIS_OK && checked == TAMIS_OK && err)
            *err = why;
    } else if (err) {
        *err = why;
    }
    if (status != TAMIS_OK || *again || !*state->next_text || strcmp(state->next_text, state->plan_text) == 0)
        return status;
    return tamis__fail(err, TAMIS_E_BUSY, 0,
                       "redis %s: %s: is being resized, and the sizes differ; repeat the union when "
                       "that is done",
                       rf->redis->endpoint.shown, rf->uri->shown);
}

tamis_status tamis_redis_union(tamis_filter *there, const tamis_filter *from, tamis_error *err) {
    TAMIS__NEED(there, err);
    TAMIS__NEED(from, err);
    const tamis__redis_filter *rf = tamis_redis_filter_layout(there) ? tamis__redis_of(there) : NULL;
    if (!rf || rf->layout != &tamis__layout_tamis)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "union: is not a filter on a server with layout tamis; name one of those");
    if (tamis__tamis_of(rf)->partitions.each > TAMIS__PARTITION_BLOCKS)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "redis %s: %s: its partitions, of layout 1, have no space for the staging bits of a union; "
            "build it again with both, or add the keys themselves",
            rf->redis->endpoint.shown, rf->uri->shown);
    tamis_status status = tamis__filter_check_local(from, "union", err);
    if (status == TAMIS_OK)
        status = tamis__redis_require_command(
            rf->redis, rf->uri->shown, "BITOP",
            "copy it into memory, make the union there, and write that back while nobody adds", err);
    if (status != TAMIS_OK)
        return status;
    tamis__filter_lock_content(from);
    status = tamis_filter_verify(from, err);
    if (status == TAMIS_OK)
        status = rf->layout->refresh(there, err);
    for (bool again = true; again && status == TAMIS_OK;)
        status = union_once(there, from, &again, err);
    tamis__filter_unlock_content(from);
    return status;
}
