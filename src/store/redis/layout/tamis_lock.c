/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The lock for making, replacing, resizing, dropping, expiring or aliasing a filter: a string with a
 * token, which expires.
 *
 *     take      step: tamis:{NAME}:push does not exist -> SET tamis:{NAME}:push TOKEN PX life; then GET
 *     renew     step: tamis:{NAME}:push is TOKEN -> PEXPIRE
 *     release   step: tamis:{NAME}:push is TOKEN -> DEL
 *
 * The lock keeps other writers from beginning. The token protects the filter from a writer that was stopped
 * for longer than the lock lasts. Each of its steps compares the token, and does nothing if the token is
 * gone.
 *
 * Invariants: 1. Each sending of SET has a token of its own, so a token that is gone never returns. 2. GET
 * decides who holds the lock, not the reply of SET: an earlier sending may have taken it. 3. A SET that
 * arrives late locks for a token that nobody uses. It keeps writers out until it expires, and does nothing
 * else.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "store/redis/layout/layout_tamis.h"

size_t tamis__lock_name(const tamis__redis_filter *rf, char *to) {
    const size_t size = tamis__config_name(rf, to);
    memcpy(to + size, ":push", 5);
    return size + 5;
}

tamis_status tamis__lock_busy(const tamis__redis_filter *rf, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_BUSY, 0,
        "redis %s: %s: another build, resize or drop of it is running, or was killed less than a minute "
        "ago; wait for it, and try again",
        rf->redis->endpoint.shown, rf->uri->shown);
}

/* ---- take ---- */

enum { LOCK_TRIES = 4 };

typedef struct lock_attempt {
    const tamis__redis_filter *rf;
    char prefix[TAMIS__LOCK_TOKEN - 12]; /* prefix of all tokens sent: random, chosen once */
    uint32_t sent;                       /* number of SETs sent; each token ends in its number */
} lock_attempt;

static uint32_t slot_of_lock(void *context, size_t i) {
    const lock_attempt *lock = context;
    (void)i;
    return tamis__config_slot(lock->rf);
}

/* Taking the lock is a step too, and not SET NX. A user who may not run steps could take a lock by SET NX
 * and not release it. */
static bool put_lock(void *context, size_t i, tamis__connection *conn) {
    lock_attempt *lock = context;
    char name[TAMIS__REDIS_KEY], token[TAMIS__LOCK_TOKEN], ms[24];
    const tamis_key key = {name, tamis__lock_name(lock->rf, name)};
    tamis__step step = {.key_count = 0};
    (void)i;
    snprintf(token, sizeof token, "%s%" PRIu32, lock->prefix, ++lock->sent);
    snprintf(ms, sizeof ms, "%d", TAMIS__LOCK_MS);
    tamis__step_key(&step, key);
    tamis__step_expect_text(&step, key, "");
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("SET"), key, tamis__redis_word(token),
                                          tamis__redis_word("PX"), tamis__redis_word(ms)));
    tamis__step_put(&step, conn);
    return true;
}

static tamis_status check_lock_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                     tamis_error *err) {
    const lock_attempt *lock = context;
    (void)i;
    (void)resent;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_filter_bad_reply(lock->rf, err);
}

/* Reads the lock's value: the reply of SET does not say whether an earlier sending of this process took the
 * lock. *is_free: nobody has it. */
static tamis_status read_lock(const tamis__redis_filter *rf, const lock_attempt *lock, bool *is_free,
                              tamis_error *err) {
    char name[TAMIS__REDIS_KEY], holder[TAMIS__REDIS_PLAN]; /* layout 1 writes a plan */
    const tamis_key words[] = {tamis__redis_word("GET"), {name, tamis__lock_name(rf, name)}};
    tamis__command command = {.redis = rf->redis,
                              .what = rf->uri->shown_name,
                              .slot = tamis__config_slot(rf),
                              .words = words,
                              .count = 2,
                              .to = holder,
                              .buffer_size = sizeof holder - 1};
    const tamis_status status = tamis__command_run(&command, err);
    if (status != TAMIS_OK)
        return status;
    holder[command.size] = '\0';
    *is_free = command.size == 0;
    if (*is_free)
        return TAMIS_OK;
    if (strncmp(holder, lock->prefix, strlen(lock->prefix)) != 0)
        return tamis__lock_busy(rf, err);
    snprintf(tamis__tamis_of(rf)->token, TAMIS__LOCK_TOKEN, "%.*s", TAMIS__LOCK_TOKEN - 1, holder);
    return TAMIS_OK;
}

tamis_status tamis__lock_acquire(const tamis__redis_filter *rf, tamis_error *err) {
    char *token = tamis__tamis_of(rf)->token;
    lock_attempt lock = {.rf = rf};
    tamis_error why = TAMIS_ERROR_INIT;
    bool is_free = true; /* true: the other's lock ended between SET and GET, so SET is sent again */
    uint64_t random;
    const tamis__requests requests = {.count = 1,
                                      .context = &lock,
                                      .put_command = put_lock,
                                      .accept_reply = check_lock_reply,
                                      .what = rf->uri->shown_name,
                                      .slot = slot_of_lock,
                                      .is_steps = true};
    tamis_status status = tamis__random(&random, sizeof random, rf->uri->shown, &why);
    snprintf(lock.prefix, sizeof lock.prefix, "%016" PRIx64 "-", random);
    for (int i = 0; i < LOCK_TRIES && is_free && status == TAMIS_OK; i++) {
        status = tamis__requests_run(rf->redis, &requests, NULL, &why);
        if (status == TAMIS_OK)
            status = read_lock(rf, &lock, &is_free, &why);
    }
    if (status == TAMIS_OK && is_free)
        status = tamis__lock_busy(rf, &why);
    if (status == TAMIS_OK)
        return status;
    if (err)
        *err = why;
    if (status == TAMIS_E_BUSY || lock.sent == 0)
        return status;
    /* The last sending may have the lock. */
    snprintf(token, TAMIS__LOCK_TOKEN, "%s%" PRIu32, lock.prefix, lock.sent);
    const bool is_released = tamis__lock_release(rf, NULL) == TAMIS_OK;
    *token = '\0';
    return is_released ? status : tamis__lock_left(&why, err);
}

tamis_status tamis__lock_pause(tamis_error *err) {
    int ready;
    return tamis__poll_until(NULL, 0, tamis__now_ns() + (uint64_t)TAMIS__LOCK_POLL_MS * 1000000, &ready, err);
}

/* ---- renew, release ---- */

void tamis__lock_add_condition(const tamis__redis_filter *rf, tamis__step *step,
                               char name[TAMIS__REDIS_KEY]) {
    const tamis_key lock = {name, tamis__lock_name(rf, name)};
    tamis__step_key(step, lock);
    tamis__step_expect_text(step, lock, tamis__tamis_of(rf)->token);
}

/* `name` and `ms` are buffers. */
static void write_renewal(const tamis__redis_filter *rf, tamis__step *step, char name[TAMIS__REDIS_KEY],
                          char ms[24]) {
    tamis__lock_add_condition(rf, step, name);
    tamis__step_expire(step, step->keys[0], TAMIS__LOCK_MS, ms);
}

void tamis__lock_put_renewal(const tamis__redis_filter *rf, tamis__connection *conn) {
    char name[TAMIS__REDIS_KEY], ms[24];
    tamis__step step = {.key_count = 0};
    write_renewal(rf, &step, name, ms);
    tamis__step_put(&step, conn);
}

tamis_status tamis__lock_lost(const tamis__redis_filter *rf, tamis_error *err) {
    if (!*tamis__tamis_of(rf)->token) /* a full server, without the lock: see redis_drop.c */
        return tamis__lock_busy(rf, err);
    return tamis__lock_lost_after(rf, TAMIS__NO_EFFECT, err);
}

tamis_status tamis__lock_lost_after(const tamis__redis_filter *rf, const char *effect, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_BUSY, ESTALE,
                       "redis %s: %s: its lock is gone: another writer holds it or held it meanwhile, or the "
                       "server evicted or lost it; %s; " TAMIS__LOOK_FIRST,
                       rf->redis->endpoint.shown, rf->uri->shown_name, effect);
}

tamis_status tamis__lock_left(const tamis_error *why, tamis_error *err) {
    const tamis_error copy = *why; /* may be *err */
    const bool is_said = strstr(copy.text, TAMIS__NO_EFFECT) != NULL;
    return tamis__fail(err, copy.status, copy.sys_errno,
                       is_said ? "%.490s"
                               : "%.390s; " TAMIS__NO_EFFECT
                                 ", and its lock may stay for up to %d s: repeat it after that",
                       copy.text, TAMIS__LOCK_MS / 1000);
}

tamis_status tamis__lock_check_renewal(const tamis__redis_filter *rf, const tamis__reply *reply,
                                       tamis_error *err) {
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_filter_bad_reply(rf, err);
    return reply->integer == 1 ? TAMIS_OK : tamis__lock_lost(rf, err);
}

tamis_status tamis__lock_renew(const tamis__redis_filter *rf, tamis_error *err) {
    char name[TAMIS__REDIS_KEY], ms[24];
    tamis__step step = {.key_count = 0};
    bool is_done;
    if (!*tamis__tamis_of(rf)->token)
        return TAMIS_OK;
    write_renewal(rf, &step, name, ms);
    const tamis_status status = tamis__step_run(rf, &step, &is_done, err);
    return status == TAMIS_OK && !is_done ? tamis__lock_lost(rf, err) : status;
}

tamis_status tamis__lock_release(const tamis__redis_filter *rf, tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    tamis__step step = {.key_count = 0};
    bool is_done;
    tamis__lock_add_condition(rf, &step, name);
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("DEL"), step.keys[0]));
    const tamis_status status = tamis__step_run(rf, &step, &is_done, err);
    if (status == TAMIS_OK)
        *tamis__tamis_of(rf)->token = '\0';
    return status;
}
