/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Steps without scripts, for servers that lack EVAL and users who may not run it. A step is then a transaction on one
 * connection, one command after the other:
 *
 *     WATCH keys    each guard, compared here    MULTI    each write    EXEC
 *
 * If a key changed after WATCH, EXEC writes nothing, and the guards are compared again. So a transaction that arrives late
 * writes nothing, like a late script. Each command takes a round trip, where a script takes one for all; steps are few and
 * large, so this does not matter. A Codis refuses WATCH and runs only scripts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "store/file_error.h"
#include "store/redis/redis_lane.h"
#include "store/redis/redis_step.h"

/* One connection, and what it does. */
typedef struct dialogue {
    tamis__link *link;
    tamis__transacting *state;
    const tamis__reply *reply;
} dialogue;

static tamis_status read_reply(dialogue *one) {
    tamis__transacting *state = one->state;
    tamis_status status =
        tamis__link_ask(one->link, tamis__now_ns() + state->read_ns, &one->reply, &state->why);
    if (status != TAMIS_OK || one->reply->type != TAMIS__REPLY_ERROR)
        return status;
    const bool passes = tamis__redis_is_passing(one->reply) || tamis__reply_begins(one->reply, "MOVED") ||
                        tamis__reply_begins(one->reply, "ASK");
    status = tamis__redis_refused(state->to, state->what, one->reply, &state->why);
    return passes ? TAMIS_E_IO : status;
}

static tamis_status send_words(dialogue *one, const tamis_key *words, size_t count) {
    tamis__link_command(one->link, count);
    for (size_t i = 0; i < count; i++)
        tamis__link_word(one->link, words[i].data, words[i].size);
    return read_reply(one);
}

static tamis_status send_word(dialogue *one, const char *word) {
    return send_words(one, TAMIS__WORDS(tamis__redis_word(word)));
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

static tamis_status watch(dialogue *one, const tamis__step *step) {
    tamis_key words[1 + sizeof step->keys / sizeof *step->keys] = {tamis__redis_word("WATCH")};
    memcpy(words + 1, step->keys, step->key_count * sizeof *words);
    return send_words(one, words, 1 + step->key_count);
}

static tamis_status check_guards(dialogue *one, const tamis__step *step, bool *holds) {
    tamis_status status = TAMIS_OK;
    *holds = true;
    for (size_t i = 0; i < step->guard_count && *holds && status == TAMIS_OK; i++) {
        status = send_words(one, step->guards[i].words, step->guards[i].count);
        *holds = status == TAMIS_OK && is_expected(one->reply, step->expected[i]);
    }
    return status;
}

/* Milliseconds, 0: none. */
static tamis_status read_expiry(dialogue *one, const tamis__step *step, int64_t *left) {
    *left = 0;
    if (!step->keeps_expiry)
        return TAMIS_OK;
    const tamis_status status = send_words(one, TAMIS__WORDS(tamis__redis_word("PTTL"), step->keys[0]));
    if (status == TAMIS_OK && one->reply->type == TAMIS__REPLY_INTEGER && one->reply->integer > 0)
        *left = one->reply->integer;
    return status;
}

/* *is_done: false, where a key changed since WATCH. */
static tamis_status write_all(dialogue *one, const tamis__step *step, int64_t left, bool *is_done) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, left);
    tamis_status status = send_word(one, "MULTI");
    for (size_t i = 0; i < step->write_count && status == TAMIS_OK; i++)
        status = send_words(one, step->writes[i].words, step->writes[i].count);
    if (status == TAMIS_OK && left > 0)
        status = send_words(
            one, TAMIS__WORDS(tamis__redis_word("PEXPIRE"), step->keys[0], tamis__redis_word(digits)));
    if (status == TAMIS_OK)
        status = send_word(one, "EXEC");
    *is_done = status == TAMIS_OK && one->reply->type == TAMIS__REPLY_ARRAY;
    for (size_t i = 0; *is_done && status == TAMIS_OK && i < one->reply->size; i++)
        if (one->reply->items[i].type == TAMIS__REPLY_ERROR)
            status = tamis__redis_refused(one->state->to, one->state->what, &one->reply->items[i],
                                          &one->state->why);
    return status;
}

static tamis_status is_crowded(tamis__transacting *state) {
    return tamis__fail(
        &state->why, TAMIS_E_BUSY, 0,
        "redis %s: %s: is written to all the time, so that no transaction gets through; grant +eval, or "
        "do it while nobody adds",
        state->to->shown, tamis__show(state->what).text);
}

void tamis__step_transact(const tamis__step *step, tamis__link *link, tamis__transacting *state) {
    dialogue one = {link, state, NULL};
    bool holds = true, is_done = false;
    int64_t left = 0;
    state->status = TAMIS_OK;
    while (state->status == TAMIS_OK && holds && !is_done) {
        state->status = tamis__now_ns() < state->deadline ? watch(&one, step) : is_crowded(state);
        if (state->status == TAMIS_OK)
            state->status = check_guards(&one, step, &holds);
        if (state->status == TAMIS_OK && holds)
            state->status = read_expiry(&one, step, &left);
        if (state->status == TAMIS_OK && holds)
            state->status = write_all(&one, step, left, &is_done);
    }
    if (state->status == TAMIS_OK && !holds)
        state->status = send_word(&one, "UNWATCH");
    state->is_done = is_done;
}

/* ---- an exchange of steps ---- */

/* *had: the exchange has a command of that number. Drop the connection after a failure: MULTI may have begun. */
static tamis_status run_on(tamis_redis *redis, const tamis__exchange *exchange, size_t i, tamis__node *node,
                           tamis__transacting *state, bool *had) {
    tamis__link *link;
    const uint64_t deadline = tamis__now_ns() + redis->patience_ns;
    if (!tamis__redis_enter(redis, node, deadline))
        return tamis__redis_no_place(redis, node, &state->why);
    tamis_status status = tamis__redis_lease(redis, node, deadline, &link, &state->why);
    if (status == TAMIS_OK) {
        state->to = &node->to;
        state->read_ns = redis->read_ns;
        state->deadline = deadline;
        tamis__link_transact(link, state);
        *had = exchange->ask(exchange->context, i, link);
        tamis__link_transact(link, NULL);
        status = state->status;
        if (status == TAMIS_OK)
            tamis__redis_give_back(redis, node, link);
        else
            tamis__link_close(link);
    }
    tamis__redis_leave(redis, node);
    return status;
}

static tamis_status run_once(tamis_redis *redis, const tamis__exchange *exchange, size_t i, uint32_t slot,
                             tamis__transacting *state, bool *had) {
    tamis_status status = TAMIS_OK;
    tamis__map *map = tamis__map_hold(redis);
    if (!map) {
        status = tamis__redis_learn(redis, NULL, tamis__now_ns() + redis->patience_ns, &state->why);
        map = tamis__map_hold(redis);
    }
    if (status == TAMIS_OK && (!map || !map->of[slot]))
        status = tamis__fail(&state->why, TAMIS_E_IO, 0,
                             "redis %s: %s: no server has its slot; see CLUSTER INFO there", redis->to.shown,
                             exchange->what);
    if (status == TAMIS_OK)
        status = run_on(redis, exchange, i, map->of[slot], state, had);
    tamis__map_drop(redis, map);
    return status;
}

static tamis_status run_one(tamis_redis *redis, const tamis__exchange *exchange, size_t i, tamis_error *err) {
    const uint32_t slot = redis->slot_count == 1 ? 0 : exchange->slot(exchange->context, i);
    const uint64_t deadline = tamis__now_ns() + redis->patience_ns;
    tamis__transacting state = {.what = exchange->what, .why = TAMIS_ERROR_INIT};
    bool had = slot != TAMIS__NO_SLOT, resent = false;
    tamis_status status = had ? run_once(redis, exchange, i, slot, &state, &had) : TAMIS_OK;
    for (uint64_t tries = 0; tamis__is_lost(status) && tamis__now_ns() < deadline; tries++) {
        resent = true;
        tamis__sys.poll(NULL, 0, (int)(tamis__flight_pause(redis, tries) / 1000000) + 1);
        if (tamis__redis_can_learn(redis))
            (void)tamis__redis_learn(redis, NULL, deadline, NULL);
        status = run_once(redis, exchange, i, slot, &state, &had);
    }
    if (status != TAMIS_OK && err)
        *err = state.why;
    if (status != TAMIS_OK || !had)
        return status;
    const tamis__reply reply = {.type = TAMIS__REPLY_INTEGER, .integer = state.is_done};
    return exchange->take(exchange->context, i, &reply, resent, err);
}

tamis_status tamis__redis_transact(tamis_redis *redis, const tamis__exchange *exchange, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < exchange->count && status == TAMIS_OK; i++)
        status = run_one(redis, exchange, i, err);
    return status;
}
