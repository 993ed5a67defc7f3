/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A batch:   element 0 ... element n-1 | checks of the layout | expiry of every Redis key
 *
 * in one pipeline. The checks come last: what they find to be there was there while the elements were asked. If a command
 * had to be asked again, the order is not sure, and the checks are asked once more by themselves.
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/redis_filter.h"

/* Of an answer that has not come; elements of one pipeline. */
enum { NO_ANSWER = 0xff, AT_ONCE = 64 << 10 };

typedef struct batch {
    const tamis_filter *filter;
    const tamis__redis_filter *at;
    tamis__asked asked;
    bool adds;
    tamis_answer *answers;
    bool *touched; /* of each Redis key */
    bool *endless; /* of each Redis key: it was there, and does not expire */
    bool cut;      /* a block was not whole */
    size_t checks; /* commands of the layout */
    size_t first;  /* number of the first command: past the elements where only the checks are asked */
} batch;

tamis_status tamis__redis_strange(const tamis__redis_filter *at, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_IO, 0,
        "redis %s: %s: answered with what is no reply to the command; is it a Redis of version 6.2 or "
        "later?",
        at->redis->to.shown, at->uri->shown);
}

/* ---- putting ---- */

static void put_key(const batch *all, uint32_t key, tamis__link *link) {
    char name[TAMIS__REDIS_KEY];
    size_t size = all->at->layout->key_name(all->at, key, name);
    tamis__link_word(link, name, size);
}

static void put_block(const batch *all, const tamis__spot *spot, tamis__link *link) {
    tamis__link_command(link, 4);
    tamis__link_word(link, "GETRANGE", 8);
    put_key(all, spot->key, link);
    tamis__link_number(link, (int64_t)spot->block);
    tamis__link_number(link, (int64_t)spot->block + TAMIS__REDIS_BLOCK - 1);
}

static void put_bits(const batch *all, const tamis__spot *spot, tamis__link *link) {
    const uint32_t probes = all->filter->plan.probes;
    tamis__link_command(link, 2 + (size_t)probes * (all->adds ? 4 : 3));
    tamis__link_word(link, "BITFIELD", 8);
    put_key(all, spot->key, link);
    for (uint32_t j = 0; j < probes; j++) {
        tamis__link_word(link, all->adds ? "SET" : "GET", 3);
        tamis__link_word(link, "u1", 2);
        tamis__link_number(link, (int64_t)spot->offsets[j]);
        if (all->adds)
            tamis__link_word(link, "1", 1);
    }
}

static void put_expiry(const batch *all, uint32_t key, bool sets, tamis__link *link) {
    tamis__link_command(link, sets ? 3 : 2);
    tamis__link_text(link, sets ? "PEXPIRE" : "PTTL");
    put_key(all, key, link);
    if (sets)
        tamis__link_number(link, (int64_t)all->at->ttl_ms);
}

static bool put(void *context, size_t i, tamis__link *link) {
    batch *all = context;
    i += all->first;
    if (i < all->asked.count) {
        tamis__spot spot;
        all->at->layout->place(all->filter, &all->asked, i, &spot);
        all->touched[spot.key] = true;
        if (all->at->layout->has_blocks && !all->adds)
            put_block(all, &spot, link);
        else
            put_bits(all, &spot, link);
        return true;
    }
    i -= all->asked.count;
    if (i < all->checks)
        return all->at->layout->check_ask(all->filter, &(tamis__touched){all->adds, all->touched}, i, link);
    put_expiry(all, (uint32_t)(i - all->checks), all->at->renewed, link);
    return true;
}

/* ---- taking ---- */

static tamis_status has_bits(const batch *all, const tamis__reply *reply, bool *has_all, tamis_error *err) {
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != all->filter->plan.probes)
        return tamis__redis_strange(all->at, err);
    *has_all = true;
    for (size_t j = 0; j < reply->size; j++) {
        if (reply->items[j].type != TAMIS__REPLY_INTEGER || (reply->items[j].integer & ~INT64_C(1)) != 0)
            return tamis__redis_strange(all->at, err);
        *has_all = *has_all && reply->items[j].integer == 1;
    }
    return TAMIS_OK;
}

/* Of a Redis key that is shorter bits are missing, which the layout's checks will tell; here they are not set. */
static tamis_status has_in_block(batch *all, size_t i, const tamis__reply *reply, bool *has_all,
                                 tamis_error *err) {
    tamis__spot spot;
    if (reply->type != TAMIS__REPLY_STRING || reply->size > TAMIS__REDIS_BLOCK)
        return tamis__redis_strange(all->at, err);
    all->at->layout->place(all->filter, &all->asked, i, &spot);
    all->cut = all->cut || reply->size < TAMIS__REDIS_BLOCK;
    *has_all = true;
    for (uint32_t j = 0; j < all->filter->plan.probes; j++) {
        uint64_t offset = spot.offsets[j] - spot.block * 8;
        *has_all = *has_all && offset / 8 < reply->size &&
                   ((unsigned char)reply->text[offset / 8] & 0x80 >> offset % 8) != 0;
    }
    return TAMIS_OK;
}

static tamis_status take(void *context, size_t i, const tamis__reply *reply, bool again, tamis_error *err) {
    batch *all = context;
    bool has_all = false;
    tamis_status status;
    i += all->first;
    if (i >= all->asked.count + all->checks) {
        all->endless[i - all->asked.count - all->checks] = reply->integer == -1; /* PEXPIRE says 0 or 1 */
        return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(all->at, err);
    }
    if (i >= all->asked.count)
        return all->at->layout->check_take(all->filter, i - all->asked.count, reply, err);
    if (all->at->layout->has_blocks && !all->adds)
        status = has_in_block(all, i, reply, &has_all, err);
    else
        status = has_bits(all, reply, &has_all, err);
    if (status != TAMIS_OK)
        return status;
    all->answers[i] = has_all ? TAMIS_SEEN : TAMIS_FRESH;
    if (has_all && again && all->adds)
        all->answers[i] = TAMIS_UNKNOWN; /* perhaps these bits are its own */
    return TAMIS_OK;
}

/* ---- a batch ---- */

static bool must_expire(const tamis__redis_filter *at, bool adds) {
    return adds && at->ttl_ms > 0;
}

static bool put_end(void *context, size_t i, tamis__link *link) {
    const batch *all = context;
    if (!all->endless[i])
        return false;
    put_expiry(all, (uint32_t)i, true, link);
    return true;
}

static tamis_status take_end(void *context, size_t i, const tamis__reply *reply, bool again,
                             tamis_error *err) {
    const batch *all = context;
    (void)i;
    (void)again;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(all->at, err);
}

/* renew=create: only what this batch made has no end yet. (PEXPIRE ... NX would do, but came with Redis 7.) */
static tamis_status end_endless(batch *all, tamis_error *err) {
    const tamis__exchange exchange = {all->at->keys, all, put_end, take_end, all->at->uri->shown};
    if (!must_expire(all->at, all->adds) || !memchr(all->endless, true, all->at->keys))
        return TAMIS_OK;
    return tamis__redis_run(all->at->redis, &exchange, NULL, err);
}

static tamis_status run_checks(batch *all, tamis_error *err) {
    const tamis__exchange exchange = {all->checks, all, put, take, all->at->uri->shown};
    all->first = all->asked.count;
    return tamis__redis_run(all->at->redis, &exchange, NULL, err);
}

static tamis_status run_batch(batch *all, tamis_error *err) {
    const tamis__redis_filter *at = all->at;
    bool redone = false;
    tamis__exchange exchange = {0, all, put, take, at->uri->shown};
    all->checks = at->layout->check_count ? at->layout->check_count(all->filter) : 0;
    exchange.count = all->asked.count + all->checks + (must_expire(at, all->adds) ? at->keys : 0);
    tamis_status status = tamis__redis_run(at->redis, &exchange, &redone, err);
    if (status == TAMIS_OK && redone && all->checks > 0)
        status = run_checks(all, err);
    if (status == TAMIS_OK && all->cut)
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "redis %s: %s: a block of it was not there, and then it was; ask again, and see who "
            "writes to its keys",
            at->redis->to.shown, at->uri->shown);
    return status == TAMIS_OK ? end_endless(all, err) : status;
}

/* The first of them that are answered. */
static size_t answered(const batch *all) {
    size_t done = 0;
    while (done < all->asked.count && all->answers[done] != NO_ANSWER)
        done++;
    return done;
}

/* Whether the answers of a batch do not hold: where the layout has checks, those of one that failed do only if these pass. A server
 * that cannot be reached is not waited for once more. */
static bool is_moot(batch *all, tamis_status status) {
    if (status == TAMIS_E_DAMAGED || status == TAMIS_E_MISMATCH || status == TAMIS_E_ABSENT)
        return true;
    if (status == TAMIS_OK || all->checks == 0)
        return false;
    return status != TAMIS_E_REFUSED || all->cut || run_checks(all, NULL) != TAMIS_OK;
}

static tamis_status ask_some(batch *all, tamis_answer *answers, size_t *done, tamis_error *err) {
    memset(all->answers, NO_ANSWER, all->asked.count);
    memset(all->touched, 0, 2 * (size_t)all->at->keys); /* endless too */
    tamis_status status = run_batch(all, err);
    *done = is_moot(all, status) ? 0 : answered(all);
    if (answers)
        memcpy(answers, all->answers, *done);
    return status;
}

static uint64_t count_fresh(const tamis_answer *answers, size_t count) {
    uint64_t fresh = 0;
    for (size_t i = 0; i < count; i++)
        fresh += answers[i] == TAMIS_FRESH;
    return fresh;
}

static tamis_status ask(const tamis_filter *filter, const tamis__asked *asked, bool adds,
                        tamis_answer *answers, size_t *done, uint64_t *fresh, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const size_t room = asked->count < AT_ONCE ? asked->count : AT_ONCE, size = room + 2 * (size_t)at->keys;
    tamis_status status = TAMIS_OK;
    *done = 0;
    uint8_t *scratch = tamis__alloc(&filter->allocator, size, 1);
    if (!scratch)
        return tamis__fail_nomem(err, "redis", size);
    while (*done < asked->count && status == TAMIS_OK) {
        const size_t left = asked->count - *done;
        size_t some = 0;
        batch all = {.filter = filter, .at = at, .adds = adds, .answers = scratch};
        all.touched = (bool *)(scratch + room);
        all.endless = all.touched + at->keys;
        all.asked = (tamis__asked){asked->keys ? asked->keys + *done : NULL,
                                   asked->hashes ? asked->hashes + *done : NULL, left < room ? left : room};
        status = ask_some(&all, answers ? answers + *done : NULL, &some, err);
        *done += some;
        *fresh += count_fresh(scratch, some);
    }
    tamis__free(&filter->allocator, scratch, size);
    return status;
}

tamis_status tamis__redis_add(tamis_filter *filter, const tamis__asked *asked, tamis_answer *answers,
                              size_t *done, tamis_error *err) {
    uint64_t fresh = 0;
    tamis_status status = ask(filter, asked, true, answers, done, &fresh, err);
    filter->added += fresh;
    return status;
}

tamis_status tamis__redis_contains(const tamis_filter *filter, const tamis__asked *asked,
                                   tamis_answer *answers, size_t *done, tamis_error *err) {
    uint64_t fresh = 0;
    return ask(filter, asked, false, answers, done, &fresh, err);
}
