/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Resize: replaces a filter in use by one of another size. Bits do not reveal their keys, so the caller
 * collects the keys again while others go on adding:
 *
 *     begin     lock, announce, make partitions      as a push (redis_push.c)
 *               field next = plan, sending = N       adders add to both generations from now on
 *               release the lock
 *     caller    builds a filter in memory from all keys that were added before
 *     end       take the lock; next and sending must be unchanged
 *               merge the caller's filter into the partitions (redis_union.c)
 *               seal, switch, read back, retire      as a push
 *
 * No key is lost. An add whose batch did not see field next was carried out before it was set, so it is among
 * the caller's keys. Every other add that was answered went to both generations (mirror in layout_tamis.c).
 *
 * Why field sending: field next is set by a step that may be sent twice. Each sending has its own number,
 * and does nothing if there is a next. A failover may lose field next and the release of the lock. Adders
 * then add to the old filter only. If another sending arrives after that, next is back with another
 * number. An end that accepted it would switch to a filter without those adds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "store/redis/transfer/redis_transfer.h"

struct tamis_redis_resize {
    tamis__push p;
    tamis_redis_push_options options;
    tamis_allocator allocator;
};

/* A resize may outlast the hash. If the hash expires, nothing names the partitions, so they expire with
 * it. */
static tamis_status expire_with_hash(const tamis__push *p, tamis_error *err) {
    uint64_t left_ms = 0;
    const tamis_status status = tamis__redis_ttl(p->rf, (tamis_key){p->hash, p->hash_size}, &left_ms, err);
    if (status != TAMIS_OK)
        return status;
    return tamis__partitions_set_expiry(&p->partitions, NULL, left_ms > 0 ? left_ms + TAMIS__GRACE_MS : 0,
                                        err);
}

/* Setting the fields next and sending. */
typedef struct next_setting {
    const tamis__push *p;
    uint32_t sent; /* number of sendings */
} next_setting;

static uint32_t slot_of_next(void *context, size_t i) {
    const next_setting *ctx = context;
    (void)i;
    return tamis__config_slot(ctx->p->rf);
}

static bool put_next(void *context, size_t i, tamis__connection *conn) {
    next_setting *ctx = context;
    const tamis__push *p = ctx->p;
    char lock[TAMIS__REDIS_KEY], hash[TAMIS__REDIS_KEY], number[TAMIS__SENDING];
    tamis__step step = {.key_count = 0};
    (void)i;
    snprintf(number, sizeof number, "%" PRIu32, ++ctx->sent);
    tamis__push_step(p, &step, lock, hash);
    tamis__step_expect_field(&step, tamis__push_hash(p), "pushing", p->plan);
    tamis__step_expect_field(&step, tamis__push_hash(p), "next", "");
    tamis__step_write(&step,
                      TAMIS__WORDS(tamis__redis_word(tamis__redis_hset(p->rf->redis)), tamis__push_hash(p),
                                   tamis__redis_word("next"), tamis__redis_word(p->plan),
                                   tamis__redis_word("sending"), tamis__redis_word(number)));
    tamis__step_put(&step, conn);
    return true;
}

static tamis_status check_next_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                     tamis_error *err) {
    const next_setting *ctx = context;
    (void)i;
    (void)resent;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_filter_bad_reply(ctx->p->rf, err);
}

static tamis_status set_next(tamis__push *p, tamis_error *err) {
    next_setting ctx = {.p = p};
    tamis__config now;
    const tamis__requests requests = {.count = 1,
                                      .context = &ctx,
                                      .put_command = put_next,
                                      .accept_reply = check_next_reply,
                                      .what = p->rf->uri->shown_name,
                                      .slot = slot_of_next,
                                      .is_steps = true};
    tamis_status status = tamis__requests_run(p->rf->redis, &requests, NULL, err);
    if (status == TAMIS_OK)
        status = tamis__config_locked(p->rf, &now, err);
    if (status != TAMIS_OK)
        return status;
    memcpy(p->sending, now.sending, sizeof p->sending);
    return strcmp(now.next, p->plan) == 0 ? TAMIS_OK : tamis__lock_lost(p->rf, err);
}

static tamis_status fail_absent(const tamis__push *p, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_NOT_FOUND, 0, "redis %s: %s: there is no such filter; build it",
                       p->rf->redis->endpoint.shown, p->rf->uri->shown);
}

/* Keys that were added since the other resize began may be in no input of the caller. A new resize would
 * lose them silently. Waiting never ends a killed resize, so what ends it is in the reason: the command
 * replaces the advice by its own. */
static tamis_status fail_unfinished(const tamis__push *p, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_BUSY, 0,
        "redis %s: %s: another resize of it is under way, or was killed (then end it with tamis redis clean, "
        "and resize with an input that also holds what was added since it began); wait for it",
        p->rf->redis->endpoint.shown, p->rf->uri->shown);
}

static tamis_status begin_resize(tamis__push *p, tamis_error *err) {
    tamis_status status = tamis__push_check(p->filter, err);
    if (status == TAMIS_OK && p->rf->layout != &tamis__layout_tamis)
        status =
            tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                        "%s: layout %s cannot be resized while it is used; write a new filter in its place",
                        p->rf->uri->shown, p->rf->layout->name);
    /* The end needs BITOP (tamis__upload_union): check it before adders add to both. */
    if (status == TAMIS_OK)
        status = tamis__redis_require_command(p->rf->redis, p->rf->uri->shown, "BITOP",
                                              "write a new filter in its place", err);
    if (status == TAMIS_OK)
        status = tamis__push_plan(p, err);
    if (status != TAMIS_OK)
        return status;
    p->filter = NULL;
    p->is_resize = true;
    status = tamis__push_begin(p, err);
    if (status != TAMIS_OK)
        return status;
    if (!*p->config.plan) /* says so if the hash was lost */
        status = tamis__config_seek(p->rf, &p->config, err);
    if (status == TAMIS_OK && !*p->config.plan)
        status = fail_absent(p, err);
    if (status != TAMIS_OK)
        return tamis__push_withdraw(p, status);
    if (*p->config.next)
        return tamis__push_withdraw(p, fail_unfinished(p, err));
    status = tamis__push_announce(p, err);
    if (status == TAMIS_OK)
        status = tamis__push_make(p, err);
    if (status == TAMIS_OK)
        status = expire_with_hash(p, err);
    if (status == TAMIS_OK)
        status = set_next(p, err);
    if (status != TAMIS_OK)
        return tamis__push_conclude(p, status, err);
    return tamis__push_withdraw(p, TAMIS_OK);
}

tamis_status tamis_redis_resize_begin(tamis_redis_resize **resize, const tamis_filter *like,
                                      tamis_redis *redis, const char *name, tamis_error *err) {
    TAMIS__NEED(resize, err);
    TAMIS__NEED(like, err);
    TAMIS__NEED(name, err);
    tamis_status status = tamis__filter_check_local(like, "resize", err);
    if (status != TAMIS_OK)
        return status;
    tamis_redis_resize *made = tamis__alloc(&like->allocator, sizeof *made, _Alignof(tamis_redis_resize));
    if (!made)
        return tamis__fail_nomem(err, "redis", sizeof *made);
    made->allocator = like->allocator;
    made->options = (tamis_redis_push_options)TAMIS_REDIS_PUSH_OPTIONS_INIT;
    made->p = (tamis__push){.filter = like, .options = &made->options};
    status = tamis__redis_name(&made->p.there, redis, name, &like->allocator, err);
    if (status == TAMIS_OK) {
        made->p.rf = tamis__redis_of(made->p.there);
        status = begin_resize(&made->p, err);
    }
    if (status == TAMIS_OK) {
        *resize = made;
        return TAMIS_OK;
    }
    if (made->p.rf)
        tamis__push_release(&made->p);
    tamis_filter_free(made->p.there);
    tamis__free(&like->allocator, made, sizeof *made);
    return status;
}

static tamis_status finish_resize(tamis__push *p, const tamis_filter *filter, tamis_error *err) {
    tamis_status status = tamis__upload_union(p->there, &p->partitions, filter, err);
    if (status == TAMIS_OK)
        status = tamis__push_keep_expiry(p, err);
    if (status == TAMIS_OK)
        status = tamis__push_seal(p, err);
    if (status == TAMIS_OK)
        status = tamis__push_switch(p, err);
    return status == TAMIS_OK ? tamis__push_retire(p, err) : status;
}

static tamis_status fail_lost(const tamis__push *p, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: was replaced, dropped or resized by another writer meanwhile, or a "
                       "failover ended this resize; " TAMIS__NO_EFFECT "; " TAMIS__LOOK_FIRST,
                       p->rf->redis->endpoint.shown, p->rf->uri->shown_name);
}

static bool is_announced(const tamis__push *p, const tamis__config *now) {
    return strcmp(now->next, p->plan) == 0 && strcmp(now->sending, p->sending) == 0;
}

/* Takes the lock and reads the hash. Waits while another writer holds the lock, as long as it leaves the
 * resize alone (an expire, or a writer that was killed). Giving up would throw away the keys that adders
 * have added to both generations. */
static tamis_status enter_end(tamis__push *p, tamis_error *err) {
    tamis_status status = tamis__push_begin(p, err);
    for (int i = 0; i < TAMIS__LOCK_POLLS && status == TAMIS_E_BUSY; i++) {
        status = tamis__lock_pause(err);
        if (status == TAMIS_OK)
            status = tamis__config_locked(p->rf, &p->config, err);
        if (status == TAMIS_OK && !is_announced(p, &p->config))
            return fail_lost(p, err);
        if (status == TAMIS_OK)
            status = tamis__push_begin(p, err);
    }
    return status == TAMIS_OK && !is_announced(p, &p->config) ? fail_lost(p, err) : status;
}

/* Ends the resize. Without `filter` it is given up: removes the partitions and the announcement of
 * p->plan, even if another writer holds the lock. */
static tamis_status end_resize(tamis__push *p, const tamis_filter *filter, tamis_error *err) {
    if (!filter)
        return tamis__push_remove(p, err);
    tamis_status status = enter_end(p, err);
    if (status == TAMIS_OK)
        status = finish_resize(p, filter, err);
    return tamis__push_conclude(p, status, err);
}

tamis_status tamis_redis_resize_end(tamis_redis_resize *resize, const tamis_filter *filter,
                                    tamis_error *err) {
    if (!resize)
        return TAMIS_OK;
    const tamis_allocator allocator = resize->allocator;
    tamis_status status = filter ? tamis__filter_check_local(filter, "resize", err) : TAMIS_OK;
    if (filter && status != TAMIS_OK)
        (void)end_resize(&resize->p, NULL, NULL);
    if (filter && status == TAMIS_OK) {
        tamis__filter_lock_content(filter);
        status = tamis_filter_verify(filter, err);
        if (status == TAMIS_OK)
            status = end_resize(&resize->p, filter, err);
        else
            (void)end_resize(&resize->p, NULL, NULL);
        tamis__filter_unlock_content(filter);
    }
    if (!filter)
        status = end_resize(&resize->p, NULL, err);
    tamis__push_release(&resize->p);
    tamis_filter_free(resize->p.there);
    tamis__free(&allocator, resize, sizeof *resize);
    return status;
}
