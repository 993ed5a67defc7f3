/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Puts. The steps of docs/GUARD-PROTOCOL.md, and those for this process:
 *
 *     tamis_guard_put_begin   local mark, no cached answer --> P1 filter --> P2 mark in Redis --> N1 news
 *     the caller              P3 writes the row
 *     tamis_guard_put_end     P4 no mark in Redis --> no local mark, no cached answer
 *
 * The local mark comes before P1: a scan begins its filter with the keys of all local marks. So the key of a
 * row that is written during a scan is in the current filter and in the next one.
 */
#include <string.h>

#include "base/system.h"
#include "service/guard/guard_int.h"
#include "service/guard/guard_lookups.h"
#include "service/guard/guard_put.h"

static tamis_status hash_key(const tamis_guard *guard, tamis_key key, tamis_hash *hash, tamis_error *err) {
    const tamis_status status = tamis__guard_check_key(guard, key, err);
    return status == TAMIS_OK ? tamis_hash_many(guard->hasher, &key, 1, hash, err) : status;
}

/* N1. On failure the mark is removed, so that the key is cached again. */
static tamis_status publish_news(tamis_guard *guard, tamis_key key, const uint8_t token[TAMIS_GUARD_TOKEN],
                                 tamis_error *err) {
    const tamis_status status = tamis__guard_news_publish(guard->news, key, err);
    if (status != TAMIS_OK)
        (void)tamis__guard_entries_unmark(guard->entries, key, token, NULL);
    return status;
}

static tamis_status fail_late(const tamis_guard *guard, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_TIMEOUT, 0,
                       "%s: it took longer than the mark in Redis may live; try again", guard->name);
}

/* P2, N1: all but the wait. */
static tamis_status mark_in_redis(tamis_guard *guard, tamis_key key, guard_put *put, tamis_error *err) {
    const uint64_t sent = tamis__guard_now(), wait = GUARD_PUT_WAIT_MS * GUARD_NS_OF_MS,
                   life_ms = tamis__guard_entries_mark_life(guard->entries) - guard->options.mark_ms;
    /* The mark began on the server after `sent`, and must live for mark_ms after the reply to the writer. */
    put->confirm_by = sent + life_ms * GUARD_NS_OF_MS;
    tamis_status status = TAMIS_OK;
    if (guard->news &&
        tamis__guard_news_silence(guard->news, sent) > guard->options.timeout_ms * GUARD_NS_OF_MS)
        status = tamis__guard_news_check(guard->news, sent, err); /* writers must not queue up */
    if (status != TAMIS_OK)
        return status;
    status = tamis__guard_entries_mark(guard->entries, key, put->token, err);
    if (status != TAMIS_OK || !guard->news)
        return status;
    status = publish_news(guard, key, put->token, err);
    put->ready_at = tamis__now_ns() + wait;
    if (status == TAMIS_OK && tamis__guard_now() + wait > put->confirm_by) {
        (void)tamis__guard_entries_unmark(guard->entries, key, put->token, NULL);
        status = fail_late(guard, err);
    }
    return status;
}

/* P1 */
static tamis_status add_to_filter(tamis_guard *guard, tamis_key key, const tamis_hash *hash,
                                  tamis_error *err) {
    if (guard->redis_filter)
        return tamis__guard_redis_filter_add(guard->redis_filter, key, err);
    return guard->filter ? tamis__guard_filter_add(guard->filter, key, hash, err) : TAMIS_OK;
}

/* P1, P2, N1: all but the wait. */
static tamis_status begin_marked(tamis_guard *guard, tamis_key key, const tamis_hash *hash, guard_put *put,
                                 tamis_error *err) {
    tamis_status status = add_to_filter(guard, key, hash, err);
    if (status != TAMIS_OK)
        return status;
    return guard->entries ? mark_in_redis(guard, key, put, err)
                          : tamis__random(put->token, sizeof put->token, "the token of a put", err);
}

tamis_status tamis__guard_put_begin(tamis_guard *guard, tamis_key key, guard_put *put, tamis_error *err) {
    tamis_hash hash;
    guard_put begun = {.confirm_by = UINT64_MAX};
    if (guard->options.without_puts)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0, "%s: without_puts is set; unset it in all guards",
                           guard->name);
    tamis_status status = hash_key(guard, key, &hash, err);
    if (status != TAMIS_OK)
        return status;
    guard_mark *mark = tamis__guard_lookups_mark(guard->lookups, guard_hash_of(&hash), key);
    if (!mark)
        return tamis__fail_nomem(err, guard->name, sizeof *mark + key.size);
    status = begin_marked(guard, key, &hash, &begun, err);
    tamis__guard_lookups_set_token(guard->lookups, mark, status == TAMIS_OK ? begun.token : NULL);
    if (status == TAMIS_OK)
        *put = begun;
    return status;
}

tamis_status tamis__guard_put_confirm(tamis_guard *guard, tamis_key key, const guard_put *put,
                                      tamis_error *err) {
    tamis_hash hash;
    const tamis_status status = hash_key(guard, key, &hash, err);
    if (status != TAMIS_OK)
        return status;
    if (tamis__guard_now() <= put->confirm_by &&
        tamis__guard_lookups_renew(guard->lookups, guard_hash_of(&hash), put->token))
        return TAMIS_OK;
    tamis__guard_lookups_unmark(guard->lookups, guard_hash_of(&hash), put->token);
    return fail_late(guard, err); /* the mark in Redis expires */
}

static void pause_until(uint64_t time) {
    for (uint64_t now = tamis__now_ns(); now < time; now = tamis__now_ns())
        (void)tamis__sys.poll(NULL, 0, (int)((time - now) / GUARD_NS_OF_MS + 1));
}

tamis_status tamis_guard_put_begin(tamis_guard *guard, tamis_key key, uint8_t token[TAMIS_GUARD_TOKEN],
                                   tamis_error *err) {
    TAMIS__NEED(guard, err);
    TAMIS__NEED(token, err);
    guard_put put;
    tamis_status status = tamis__guard_put_begin(guard, key, &put, err);
    if (status != TAMIS_OK)
        return status;
    pause_until(put.ready_at);
    status = tamis__guard_put_confirm(guard, key, &put, err);
    if (status != TAMIS_OK)
        return status;
    memcpy(token, put.token, sizeof put.token);
    return TAMIS_OK;
}

/* ---- puts of another guard ---- */

typedef struct put_visit {
    void (*visit)(void *context, tamis_key key, const uint8_t token[TAMIS_GUARD_TOKEN]);
    void *context;
    uint64_t now;
} put_visit;

static void visit_put(void *context, const guard_mark *mark) {
    const put_visit *call = context;
    if (mark->deadline != UINT64_MAX && mark->deadline > call->now)
        call->visit(call->context, (tamis_key){mark->key, mark->key_size}, mark->token);
}

static void visit_added(void *context, tamis_key key) {
    const put_visit *call = context;
    call->visit(call->context, key, NULL);
}

void tamis__guard_each_put(tamis_guard *guard,
                           void (*visit)(void *context, tamis_key key,
                                         const uint8_t token[TAMIS_GUARD_TOKEN]),
                           void *context) {
    put_visit call = {visit, context, tamis__now_ns()};
    tamis__guard_lookups_each_mark(guard->lookups, visit_put, &call);
    if (guard->filter)
        tamis__guard_filter_each_added(guard->filter, visit_added, &call);
}

tamis_status tamis__guard_put_adopt(tamis_guard *guard, tamis_key key, const uint8_t token[TAMIS_GUARD_TOKEN],
                                    tamis_error *err) {
    tamis_hash hash;
    tamis_status status = hash_key(guard, key, &hash, err);
    if (status != TAMIS_OK)
        return status;
    if (!token)
        return guard->filter ? tamis__guard_filter_add(guard->filter, key, &hash, err) : TAMIS_OK;
    if (tamis__guard_lookups_renew(guard->lookups, guard_hash_of(&hash), token))
        return TAMIS_OK;
    guard_mark *mark = tamis__guard_lookups_mark(guard->lookups, guard_hash_of(&hash), key);
    if (!mark)
        return tamis__fail_nomem(err, guard->name, sizeof *mark + key.size);
    status = add_to_filter(guard, key, &hash, err);
    tamis__guard_lookups_set_token(guard->lookups, mark, status == TAMIS_OK ? token : NULL);
    return status;
}

tamis_status tamis_guard_put_end(tamis_guard *guard, tamis_key key, const uint8_t token[TAMIS_GUARD_TOKEN],
                                 tamis_error *err) {
    TAMIS__NEED(guard, err);
    tamis_hash hash;
    tamis_status status = hash_key(guard, key, &hash, err);
    if (status != TAMIS_OK)
        return status;
    if (!token && guard->filter) /* the row may be new */
        status = tamis__guard_filter_add(guard->filter, key, &hash, err);
    if (guard->entries) {
        const tamis_status unmarked =
            tamis__guard_entries_unmark(guard->entries, key, token, status == TAMIS_OK ? err : NULL);
        status = status == TAMIS_OK ? unmarked : status;
    }
    tamis__guard_lookups_unmark(guard->lookups, guard_hash_of(&hash), token);
    return status;
}
