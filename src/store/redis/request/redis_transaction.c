/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Steps without scripts, for servers that lack EVAL and users who may not run it. A step is then a
 * transaction on one connection, one command after the other:
 *
 *     WATCH keys
 *     each condition     the reply is compared here; if it differs: UNWATCH, and the step ends with 0
 *     PTTL               only if the expiry is kept
 *     MULTI
 *     each write
 *     PEXPIRE            only if the expiry is kept
 *     EXEC               replies nil if a key changed after WATCH: start again, until patience ends
 *
 * A transaction that arrives late writes nothing, like a late script, because its keys have changed since
 * WATCH. Each command takes a round trip, while a script takes one for all. Steps are few and large, so
 * this does not matter. A Codis refuses WATCH and runs only scripts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/redis/request/redis_pipeline.h"

/* A transaction in progress on its connection. */
typedef struct dialogue {
    tamis__connection *conn;
    tamis__transaction *state;
    const tamis__reply *reply;
} dialogue;

static tamis_status read_reply(dialogue *ctx) {
    tamis__transaction *state = ctx->state;
    tamis_status status =
        tamis__connection_wait_reply(ctx->conn, tamis__now_ns() + state->read_ns, &ctx->reply, &state->why);
    if (status != TAMIS_OK || ctx->reply->type != TAMIS__REPLY_ERROR)
        return status;
    const bool passes = tamis__redis_is_transient(ctx->reply) || tamis__reply_begins(ctx->reply, "MOVED") ||
                        tamis__reply_begins(ctx->reply, "ASK");
    status = tamis__redis_refused(state->endpoint, state->what, ctx->reply, &state->why);
    return passes ? TAMIS_E_IO : status;
}

static tamis_status send_words(dialogue *ctx, const tamis_key *words, size_t count) {
    tamis__connection_put_command(ctx->conn, count);
    for (size_t i = 0; i < count; i++)
        tamis__connection_put(ctx->conn, words[i].data, words[i].size);
    return read_reply(ctx);
}

static tamis_status send_word(dialogue *ctx, const char *word) {
    return send_words(ctx, TAMIS__WORDS(tamis__redis_word(word)));
}

/* Compares a reply as text: an integer in decimal, a missing value as "". */
static bool is_expected(const tamis__reply *reply, tamis_key expected) {
    char digits[24];
    const char *text = reply->text;
    size_t size = reply->size;
    if (reply->type == TAMIS__REPLY_NIL)
        size = 0;
    if (reply->type == TAMIS__REPLY_INTEGER) {
        size = (size_t)snprintf(digits, sizeof digits, "%" PRId64, reply->integer);
        text = digits;
    }
    return size == expected.size && (size == 0 || memcmp(text, expected.data, size) == 0);
}

static tamis_status watch_keys(dialogue *ctx, const tamis__step *step) {
    tamis_key words[1 + sizeof step->keys / sizeof *step->keys] = {tamis__redis_word("WATCH")};
    memcpy(words + 1, step->keys, step->key_count * sizeof *words);
    return send_words(ctx, words, 1 + step->key_count);
}

static tamis_status check_conditions(dialogue *ctx, const tamis__step *step, bool *holds) {
    tamis_status status = TAMIS_OK;
    *holds = true;
    for (size_t i = 0; i < step->condition_count && *holds && status == TAMIS_OK; i++) {
        status = send_words(ctx, step->conditions[i].words, step->conditions[i].count);
        *holds = status == TAMIS_OK && is_expected(ctx->reply, step->expected[i]);
    }
    return status;
}

/* *left: milliseconds until keys[0] expires; 0 if it never does or the step does not keep its expiry. */
static tamis_status read_expiry(dialogue *ctx, const tamis__step *step, int64_t *left) {
    *left = 0;
    if (!step->keeps_expiry)
        return TAMIS_OK;
    const tamis_status status = send_words(ctx, TAMIS__WORDS(tamis__redis_word("PTTL"), step->keys[0]));
    if (status == TAMIS_OK && ctx->reply->type == TAMIS__REPLY_INTEGER && ctx->reply->integer > 0)
        *left = ctx->reply->integer;
    return status;
}

/* *is_done: false if a key changed after WATCH, so nothing was written. */
static tamis_status write_all(dialogue *ctx, const tamis__step *step, int64_t left, bool *is_done) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, left);
    tamis_status status = send_word(ctx, "MULTI");
    for (size_t i = 0; i < step->write_count && status == TAMIS_OK; i++)
        status = send_words(ctx, step->writes[i].words, step->writes[i].count);
    if (status == TAMIS_OK && left > 0)
        status = send_words(
            ctx, TAMIS__WORDS(tamis__redis_word("PEXPIRE"), step->keys[0], tamis__redis_word(digits)));
    if (status == TAMIS_OK)
        status = send_word(ctx, "EXEC");
    *is_done = status == TAMIS_OK && ctx->reply->type == TAMIS__REPLY_ARRAY;
    for (size_t i = 0; *is_done && status == TAMIS_OK && i < ctx->reply->size; i++)
        if (ctx->reply->items[i].type == TAMIS__REPLY_ERROR)
            status = tamis__redis_refused(ctx->state->endpoint, ctx->state->what, &ctx->reply->items[i],
                                          &ctx->state->why);
    return status;
}

static tamis_status fail_crowded(tamis__transaction *state) {
    return tamis__fail(
        &state->why, TAMIS_E_BUSY, 0,
        "redis %s: %s: is written to all the time, so that no transaction gets through; grant +eval, or "
        "do it while nobody adds",
        state->endpoint->shown, tamis__show(state->what).text);
}

void tamis__step_transact(const tamis__step *step, tamis__connection *conn, tamis__transaction *state) {
    dialogue ctx = {conn, state, NULL};
    bool holds = true, is_done = false;
    int64_t left = 0;
    state->status = TAMIS_OK;
    while (state->status == TAMIS_OK && holds && !is_done) {
        state->status = watch_keys(&ctx, step);
        if (state->status == TAMIS_OK)
            state->status = check_conditions(&ctx, step, &holds);
        /* After the conditions: a process that was stopped for long may have lost its lock. That is
         * another error, after which nothing may be retried. */
        if (state->status == TAMIS_OK && holds && tamis__now_ns() >= state->deadline)
            state->status = fail_crowded(state);
        if (state->status == TAMIS_OK && holds)
            state->status = read_expiry(&ctx, step, &left);
        if (state->status == TAMIS_OK && holds)
            state->status = write_all(&ctx, step, left, &is_done);
    }
    if (state->status == TAMIS_OK && !holds)
        state->status = send_word(&ctx, "UNWATCH");
    state->is_done = is_done;
}

/* ---- a run of steps ---- */

/* The run of one step of the requests. */
typedef struct step_run {
    tamis_redis *redis;
    const tamis__requests *requests;
    size_t i; /* number of the step */
    uint32_t slot;
    bool has_step; /* the requests have this step */
    tamis__transaction state;
} step_run;

/* Runs the step on a node. After a failure the connection is closed, since MULTI may have begun. */
static tamis_status run_on(step_run *run, tamis__node *node) {
    tamis_redis *redis = run->redis;
    tamis__transaction *state = &run->state;
    tamis__connection *conn;
    const uint64_t deadline = tamis__now_ns() + redis->patience_ns;
    if (!tamis__redis_acquire_permit(redis, node, deadline))
        return tamis__redis_fail_no_permit(redis, node, &state->why);
    tamis_status status = tamis__redis_get_connection(redis, node, deadline, &conn, &state->why);
    if (status == TAMIS_OK) {
        state->endpoint = &node->endpoint;
        state->read_ns = redis->read_ns;
        state->deadline = deadline;
        tamis__connection_set_transaction(conn, state);
        run->has_step = run->requests->put_command(run->requests->context, run->i, conn);
        tamis__connection_set_transaction(conn, NULL);
        status = state->status;
        if (status == TAMIS_OK)
            tamis__redis_return_connection(redis, node, conn);
        else
            tamis__connection_close(conn);
    }
    tamis__redis_release_permit(redis, node);
    return status;
}

static tamis_status run_once(step_run *run) {
    tamis_redis *redis = run->redis;
    tamis_status status = TAMIS_OK;
    tamis__slot_map *map = tamis__slot_map_hold(redis);
    if (!map) {
        status = tamis__redis_learn(redis, NULL, tamis__now_ns() + redis->patience_ns, &run->state.why);
        map = tamis__slot_map_hold(redis);
    }
    if (status == TAMIS_OK && (!map || !map->slots[run->slot]))
        status = tamis__fail(&run->state.why, TAMIS_E_IO, 0,
                             "redis %s: %s: no server has its slot; see CLUSTER INFO there",
                             redis->endpoint.shown, run->requests->what);
    if (status == TAMIS_OK)
        status = run_on(run, map->slots[run->slot]);
    tamis__slot_map_drop(redis, map);
    return status;
}

static tamis_status run_one(tamis_redis *redis, const tamis__requests *requests, size_t i, tamis_error *err) {
    const uint64_t deadline = tamis__now_ns() + redis->patience_ns;
    step_run run = {.redis = redis,
                    .requests = requests,
                    .i = i,
                    .slot = redis->slot_count == 1 ? 0 : requests->slot(requests->context, i),
                    .state = {.what = requests->what, .why = TAMIS_ERROR_INIT}};
    bool resent = false;
    run.has_step = run.slot != TAMIS__NO_SLOT;
    tamis_status status = run.has_step ? run_once(&run) : TAMIS_OK;
    for (uint64_t tries = 0; tamis__is_lost(status) && tamis__now_ns() < deadline; tries++) {
        resent = true;
        tamis__sys.poll(NULL, 0, (int)(tamis__retry_delay_ns(redis, tries) / 1000000) + 1);
        if (tamis__redis_can_learn(redis))
            (void)tamis__redis_learn(redis, NULL, deadline, NULL);
        status = run_once(&run);
    }
    if (status != TAMIS_OK && err)
        *err = run.state.why;
    if (status != TAMIS_OK || !run.has_step)
        return status;
    const tamis__reply reply = {.type = TAMIS__REPLY_INTEGER, .integer = run.state.is_done};
    return requests->accept_reply(requests->context, i, &reply, resent, err);
}

tamis_status tamis__requests_transact(tamis_redis *redis, const tamis__requests *requests, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < requests->count && status == TAMIS_OK; i++)
        status = run_one(redis, requests, i, err);
    return status;
}
