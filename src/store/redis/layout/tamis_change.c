/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Layout tamis: changes of a filter's hash, for all who write to it (push, resize, drop, expire, alias,
 * leftovers).
 *
 * Each change is a step: it compares the lock's token, and the plan or the field that it replaces. Sent
 * late or twice, it does nothing. tamis_lock.c has the lock.
 */
#include <string.h>

#include "store/redis/layout/layout_tamis.h"

/* ---- sending one step ---- */

typedef struct running {
    const tamis__redis_filter *rf;
    const tamis__step *step;
    bool is_done, is_resent;
    bool is_refused; /* the only sending was answered by an error */
} running;

static uint32_t slot_of_step(void *context, size_t i) {
    const running *ctx = context;
    (void)i;
    return tamis__config_slot(ctx->rf);
}

static bool put_step(void *context, size_t i, tamis__connection *conn) {
    running *ctx = context;
    (void)i;
    ctx->is_refused = false;
    tamis__step_put(ctx->step, conn);
    return true;
}

static tamis_status accept_step(void *context, size_t i, const tamis__reply *reply, bool resent,
                                tamis_error *err) {
    running *ctx = context;
    (void)i;
    ctx->is_resent = resent;
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_filter_bad_reply(ctx->rf, err);
    ctx->is_done = reply->integer == 1;
    return TAMIS_OK;
}

static void note_refusal(void *context, size_t i) {
    running *ctx = context;
    (void)i;
    ctx->is_refused = true;
}

static tamis_status run(running *ctx, tamis_error *err) {
    const tamis__requests requests = {.count = 1,
                                      .context = ctx,
                                      .put_command = put_step,
                                      .accept_reply = accept_step,
                                      .what = ctx->rf->uri->shown_name,
                                      .slot = slot_of_step,
                                      .note_refusal = note_refusal,
                                      .is_steps = true};
    return tamis__requests_run(ctx->rf->redis, &requests, NULL, err);
}

tamis_status tamis__step_run(const tamis__redis_filter *rf, const tamis__step *step, bool *is_done,
                             tamis_error *err) {
    running ctx = {.rf = rf, .step = step};
    const tamis_status status = run(&ctx, err);
    if (status == TAMIS_OK)
        *is_done = ctx.is_done;
    return status;
}

tamis_status tamis__step_run_outcome(const tamis__redis_filter *rf, const tamis__step *step,
                                     tamis__outcome *outcome, tamis_error *err) {
    running ctx = {.rf = rf, .step = step};
    const tamis_status status = run(&ctx, err);
    *outcome = ctx.is_done                                                ? TAMIS__DONE
               : ctx.is_refused || (status == TAMIS_OK && !ctx.is_resent) ? TAMIS__NOT_DONE
                                                                          : TAMIS__UNKNOWN;
    return status;
}

/* ---- changes ---- */

tamis_status tamis__change_confirm(const tamis__redis_filter *rf, const char *plan, tamis_error *err) {
    char lock[TAMIS__REDIS_KEY], name[TAMIS__REDIS_KEY], ms[24];
    tamis__step step = {.key_count = 0};
    bool is_done;
    tamis__lock_add_condition(rf, &step, lock);
    (void)tamis__plan_add_condition(rf, &step, plan, name);
    tamis__step_expire(&step, step.keys[0], TAMIS__LOCK_MS, ms);
    const tamis_status status = tamis__step_run(rf, &step, &is_done, err);
    return status == TAMIS_OK && !is_done ? tamis__lock_lost(rf, err) : status;
}

tamis_status tamis__change_begin(const tamis__redis_filter *rf, const char *plan, tamis_error *err) {
    char lock[TAMIS__REDIS_KEY], name[TAMIS__REDIS_KEY];
    tamis__step step = {.key_count = 0};
    bool is_done;
    tamis__lock_add_condition(rf, &step, lock);
    const tamis_key hash = tamis__plan_add_condition(rf, &step, plan, name);
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("HDEL"), hash, tamis__redis_word("next"),
                                          tamis__redis_word("sending")));
    const tamis_status status = tamis__step_run(rf, &step, &is_done, err);
    return status == TAMIS_OK && !is_done ? tamis__lock_lost(rf, err) : status;
}

tamis_status tamis__field_remove(const tamis__redis_filter *rf, const char *field, const char *text,
                                 tamis_error *err) {
    char lock[TAMIS__REDIS_KEY], name[TAMIS__REDIS_KEY];
    const tamis_key hash = {name, tamis__config_name(rf, name)};
    tamis__step step = {.key_count = 0};
    tamis__lock_add_condition(rf, &step, lock);
    tamis__step_key(&step, hash);
    tamis__step_expect_field(&step, hash, field, text);
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("HDEL"), hash, tamis__redis_word(field)));
    return tamis__step_run(rf, &step, &(bool){false}, err);
}

/* The lock is held, so the partitions of `pushing` have no writer any more and are removed at once. Those
 * of `before` and `next` get a short expiry: batches may still read the former, and adders may still add
 * to the latter. */
tamis_status tamis__leftovers_remove(const tamis__redis_filter *rf, const tamis__config *config,
                                     tamis_error *err) {
    tamis_status status = TAMIS_OK;
    if (*config->pushing && strcmp(config->pushing, config->plan) != 0 &&
        strcmp(config->pushing, config->next) != 0)
        status = tamis__plan_text_expire(rf, config->pushing, -1, err);
    if (status == TAMIS_OK && *config->next && strcmp(config->next, config->plan) != 0)
        status = tamis__plan_text_expire(rf, config->next, TAMIS__GRACE_MS, err);
    if (status == TAMIS_OK && *config->before && strcmp(config->before, config->plan) != 0)
        status = tamis__plan_text_expire(rf, config->before, TAMIS__GRACE_MS, err);
    return status;
}
