/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A batch:   elements | checks of the layout | expiry of every Redis key
 *
 * in one pipeline. The checks come behind: what they find to be there was there while the elements were asked. If a
 * command had to be asked again, the order is not sure, and the checks are asked once more by themselves. Where the
 * Redis keys are in several slots, there is no order between them: the checks wait until all elements are answered, and
 * so does the expiry of the Redis keys for that of what the checks look at, which is not to be there any longer than
 * they are.
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/redis_batch.h"

/* Elements of one pipeline; how often that may have to be asked again. */
enum { AT_ONCE = 64 << 10, REPEATS_MOST = 64 };

tamis_status tamis__redis_strange(const tamis__redis_filter *at, tamis_error *err) {
    return tamis__redis_no_reply(at->redis, at->uri->named, err);
}

/* ---- what comes behind ---- */

static bool must_expire(const tamis__redis_filter *at, bool adds) {
    return adds && at->ttl_ms > 0;
}

static uint32_t slot_of_end(void *context, size_t i) {
    const tamis__batch *all = context;
    return all->endless[i] ? tamis__batch_key_slot(all, i) : TAMIS__NO_SLOT;
}

static bool put_end(void *context, size_t i, tamis__link *link) {
    const tamis__batch *all = context;
    if (!all->endless[i])
        return false;
    tamis__batch_put_expiry(all, i, true, link);
    return true;
}

static tamis_status take_end(void *context, size_t i, const tamis__reply *reply, bool resent,
                             tamis_error *err) {
    const tamis__batch *all = context;
    (void)i;
    (void)resent;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(all->at, err);
}

/* renew=create: only what this batch made has no end yet. (PEXPIRE ... NX would do, but came with Redis 7.) */
static tamis_status end_endless(tamis__batch *all, tamis_error *err) {
    const tamis__exchange exchange = {.count = tamis__batch_keys(all),
                                      .context = all,
                                      .ask = put_end,
                                      .take = take_end,
                                      .what = all->at->uri->named,
                                      .slot = slot_of_end};
    if (!must_expire(all->at, all->adds) || !memchr(all->endless, true, exchange.count))
        return TAMIS_OK;
    return tamis__redis_run(all->at->redis, &exchange, NULL, err);
}

static size_t count_checks(const tamis__batch *all) {
    const tamis__layout *layout = all->at->layout;
    return layout->check_count ? layout->check_count(all->filter) : 0;
}

static size_t count_expiries(const tamis__batch *all) {
    return must_expire(all->at, all->adds) ? tamis__batch_keys(all) : 0;
}

/* All that comes behind the elements. */
static tamis_status run_rest(tamis__batch *all, tamis_error *err) {
    const tamis__exchange exchange = {.count = all->checks + count_expiries(all),
                                      .context = all,
                                      .ask = tamis__batch_put,
                                      .take = tamis__batch_take,
                                      .what = all->at->uri->named,
                                      .slot = tamis__batch_slot};
    all->first = all->elements;
    return tamis__redis_run(all->at->redis, &exchange, NULL, err);
}

static tamis_status settle(tamis__batch *all, tamis_error *err) {
    const tamis__layout *layout = all->at->layout;
    return layout->settle
               ? layout->settle(all->filter, &(tamis__touched){all->adds, all->touched}, &all->again, err)
               : TAMIS_OK;
}

/* What is not where it has to be besides has no answer. */
static tamis_status mirror(tamis__batch *all, tamis_error *err) {
    const tamis__layout *layout = all->at->layout;
    if (!all->adds || all->asked.count == 0 || !layout->mirror)
        return TAMIS_OK;
    tamis_status status = layout->mirror(all->filter, &all->asked, &all->again, err);
    all->lacks_mirror = status != TAMIS_OK;
    return status;
}

static tamis_status ask_and_check(tamis__batch *all, tamis_error *err) {
    const tamis__redis_filter *at = all->at;
    bool redone = false, unconfirmed = false;
    tamis__exchange exchange = {.context = all,
                                .ask = tamis__batch_put,
                                .take = tamis__batch_take,
                                .what = at->uri->named,
                                .slot = tamis__batch_slot,
                                .unconfirmed = all->adds && all->asked.count > 0 ? &unconfirmed : NULL,
                                .denied = &all->denied};
    all->checks = count_checks(all);
    tamis__batch_count(all);
    exchange.barriers[0] = all->elements;
    exchange.barriers[1] = all->elements + all->checks;
    exchange.count = exchange.barriers[1] + count_expiries(all);
    tamis_status status = tamis__redis_run(at->redis, &exchange, &redone, err);
    all->again = unconfirmed; /* as if it had no answers: keys that it added must not count as seen */
    if (status == TAMIS_OK && redone)
        status = run_rest(all, err);
    if (status == TAMIS_OK) /* also of what was replaced meanwhile, where nobody will do it later */
        status = end_endless(all, err);
    return status == TAMIS_OK && !all->again ? settle(all, err) : status;
}

static tamis_status run_batch(tamis__batch *all, tamis_error *err) {
    const tamis__redis_filter *at = all->at;
    tamis__map *before = tamis__map_hold(at->redis);
    tamis_status status = ask_and_check(all, err);
    if (status == TAMIS_OK && !all->again)
        status = tamis__sentinel_has_moved(at->redis, before, &all->again, err);
    all->is_unsure = status != TAMIS_OK && at->redis->uri.kind == TAMIS__REDIS_SENTINEL;
    tamis__map_drop(at->redis, before);
    if (status != TAMIS_OK || all->again)
        return status;
    if (all->cut)
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "redis %s: %s: a block of it was not there, and then it was; ask again, and see who "
            "writes to its keys",
            at->redis->to.shown, at->uri->named);
    return mirror(all, err);
}

/* The first of them that are answered. */
static size_t answered(const tamis__batch *all) {
    size_t done = 0;
    while (done < all->asked.count && all->left[done] == 0)
        done++;
    return done;
}

/* Whether the answers of a batch do not hold: where the layout has checks, those of one that failed do only if these
 * pass. A server that cannot be reached is not waited for once more. */
static bool is_moot(tamis__batch *all, tamis_status status) {
    const bool is_unconfirmed = all->adds && all->at->redis->replicas > 0 && status != TAMIS_OK;
    if (is_unconfirmed || all->lacks_mirror || all->is_unsure || status == TAMIS_E_DAMAGED ||
        status == TAMIS_E_MISMATCH || status == TAMIS_E_NOT_FOUND)
        return true;
    if (status == TAMIS_OK || all->checks == 0)
        return all->again;
    return status != TAMIS_E_REFUSED || all->cut || all->again || run_rest(all, NULL) != TAMIS_OK ||
           settle(all, NULL) != TAMIS_OK || all->again || mirror(all, NULL) != TAMIS_OK || all->again;
}

/* ---- what a call that failed has left, see redis_doubt.h ---- */

static uint64_t print_of(const tamis__batch *all, size_t element) {
    const uint64_t print = tamis__doubts_print(all->filter, &all->asked, element);
    const tamis__members *members = all->members;
    tamis_hash name;
    if (!members)
        return print;
    tamis_hash_many(members->hasher, &members->names[all->member_of[element]], 1, &name, NULL);
    return (print ^ name.word[0]) | 1;
}

static void settle_doubts(const tamis__batch *all, size_t done) {
    tamis__doubts *doubts = &tamis__redis_of(all->filter)->doubts;
    for (size_t i = 0; i < done && tamis__doubts_any(doubts); i++)
        if (tamis__doubts_take(doubts, print_of(all, i)) && all->answers[i] == TAMIS_PRESENT)
            all->answers[i] = TAMIS_UNKNOWN;
}

/* What was added and is not told, but for what somebody else had added. Where all is asked again, of a filter that has
 * the name by then, that may hold some of it already. */
static void keep_doubts(const tamis__batch *all, size_t done) {
    tamis__doubts *doubts = &tamis__redis_of(all->filter)->doubts;
    for (size_t i = done; i < all->asked.count; i++)
        if (all->sent[i] && (all->left[i] > 0 || all->answers[i] != TAMIS_PRESENT))
            tamis__doubts_keep(doubts, print_of(all, i), &all->filter->allocator);
}

static void tell_trace(tamis__batch *all, size_t done) {
    for (size_t i = 0; i < done; i++) {
        if (all->members)
            all->at->name = all->members->names[all->member_of[i]];
        tamis__trace_tell(all->trace, tamis__batch_place(all, i), all->adds, all->answers[i],
                          all->asked.keys ? &all->asked.keys[i] : NULL, i);
    }
}

/* BITFIELD counts as writing, whatever is in it, and is refused to who may only read, and where there is no memory left;
 * what asks alone is not known to every proxy. */
static bool may_ask_otherwise(const tamis__batch *all) {
    return all->denied && !all->adds && !all->at->layout->has_blocks && !all->at->only_reads;
}

/* As many of what is asked as go at once; none where they are to be asked again, of a filter with other keys perhaps. */
static tamis_status ask_some(tamis__batch *all, tamis_answer *answers, size_t *done, uint64_t *fresh,
                             tamis_error *err) {
    const size_t count = all->asked.count, keys = tamis__batch_keys(all);
    const size_t size = 3 * count + keys * (2 + sizeof *all->slots);
    uint8_t *scratch = tamis__alloc(&all->filter->allocator, size, _Alignof(uint16_t));
    if (!scratch)
        return tamis__fail_nomem(err, "redis", size);
    all->slots = (uint16_t *)scratch;
    all->answers = scratch + keys * sizeof *all->slots;
    all->left = all->answers + count;
    all->sent = (bool *)(all->left + count);
    all->touched = all->sent + count;
    all->endless = all->touched + keys;
    memset(all->slots, 0xff, keys * sizeof *all->slots); /* TAMIS__NOT_ASKED */
    memset(all->answers, TAMIS_PRESENT, count);
    memset(all->left, (int)all->at->parts, count);
    memset(all->sent, false, count);
    memset(all->touched, count == 0, keys); /* the checks alone are of all keys */
    memset(all->endless, 0, keys);
    tamis_status status = tamis__trace_begin(&all->trace, all->filter, count, err);
    if (status == TAMIS_OK)
        status = run_batch(all, err);
    *done = is_moot(all, status) ? 0 : answered(all);
    if (all->adds) {
        settle_doubts(all, *done);
        if (status != TAMIS_OK || all->again)
            keep_doubts(all, *done);
    }
    if (answers)
        memcpy(answers, all->answers, *done);
    for (size_t i = 0; i < *done; i++)
        *fresh += all->answers[i] == TAMIS_ABSENT;
    if (all->trace && !may_ask_otherwise(all))
        tell_trace(all, *done);
    tamis__trace_free(all->trace);
    all->trace = NULL;
    tamis__free(&all->filter->allocator, scratch, size);
    return status;
}

static tamis_status ask_otherwise(tamis__batch *all, tamis_answer *answers, size_t *done, uint64_t *fresh,
                                  tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(all->filter);
    const tamis__batch first = *all;
    tamis_status status = ask_some(all, answers, done, fresh, err);
    const size_t before = *done;
    if (may_ask_otherwise(all)) {
        *all = first;
        at->only_reads = true;
        if (ask_some(all, answers, done, fresh, NULL) == TAMIS_OK)
            return TAMIS_OK;
        *done = before;
    }
    at->only_reads = at->only_reads && status == TAMIS_OK; /* the next server may be another */
    return status;
}

static tamis_status ask(const tamis_filter *filter, const tamis__key_batch *asked,
                        const tamis__members *members, bool adds, tamis_answer *answers, size_t *done,
                        uint64_t *fresh, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_hash hash;
    *done = 0;
    if (filter->hasher->locked && asked->keys) /* its secret was not given: says so */
        return tamis_hash_many(filter->hasher, asked->keys, 1, &hash, err);
    tamis_status status = at->layout->refresh ? at->layout->refresh(filter, err) : TAMIS_OK;
    uint32_t repeats = 0;
    while (*done < asked->count && status == TAMIS_OK) {
        if (repeats > REPEATS_MOST)
            return tamis__fail(
                err, TAMIS_E_IO, 0,
                "redis %s: %s: its master changed, or connections to it ended, %d times during one batch; "
                "check server, sentinels and network",
                at->redis->to.shown, at->uri->named, REPEATS_MOST);
        const size_t left = asked->count - *done;
        size_t some = 0;
        tamis__batch all = {.filter = filter, .at = at, .members = members, .adds = adds, .placed = SIZE_MAX};
        all.member_of = members ? members->of + *done : NULL;
        all.asked =
            (tamis__key_batch){asked->keys ? asked->keys + *done : NULL,
                               asked->hashes ? asked->hashes + *done : NULL, left < AT_ONCE ? left : AT_ONCE};
        status = ask_otherwise(&all, answers ? answers + *done : NULL, &some, fresh, err);
        *done += some;
        repeats = all.again ? repeats + 1 : 0;
    }
    return status;
}

tamis_status tamis__redis_check(const tamis_filter *filter, bool adds, bool *again, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis__batch all = {.filter = filter, .at = at, .adds = adds, .placed = SIZE_MAX};
    size_t none = 0;
    uint64_t fresh = 0;
    tamis_status status = at->layout->check_count ? ask_some(&all, NULL, &none, &fresh, err) : TAMIS_OK;
    *again = all.again;
    return status;
}

tamis_status tamis__redis_add(tamis_filter *filter, const tamis__key_batch *asked, tamis_answer *answers,
                              size_t *done, tamis_error *err) {
    uint64_t fresh = 0;
    tamis_status status = ask(filter, asked, NULL, true, answers, done, &fresh, err);
    filter->added += fresh;
    return status;
}

tamis_status tamis__redis_contains(const tamis_filter *filter, const tamis__key_batch *asked,
                                   tamis_answer *answers, size_t *done, tamis_error *err) {
    uint64_t fresh = 0;
    return ask(filter, asked, NULL, false, answers, done, &fresh, err);
}

tamis_status tamis__redis_ask_members(const tamis_filter *family, const tamis__key_batch *asked,
                                      const tamis__members *members, bool adds, tamis_answer *answers,
                                      size_t *done, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(family);
    const tamis_key own = at->name;
    uint64_t fresh = 0;
    tamis_status status = ask(family, asked, members, adds, answers, done, &fresh, err);
    at->name = own;
    return status;
}
