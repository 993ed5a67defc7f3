/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A batch:   element 0 ... element n-1 | checks of the layout | expiry of every Redis key
 *
 * in one pipeline. The checks come last: what they find to be there was there while the elements were asked. If a command
 * had to be asked again, the order is not sure, and the checks are asked once more by themselves. Where the Redis keys
 * are in several slots, there is no order between them, and the checks wait until all elements are answered.
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/redis_filter.h"

/* Of an answer that has not come; of a slot that was not asked for; elements of one pipeline. */
enum { NO_ANSWER = 0xff, NOT_ASKED = 0xffff, AT_ONCE = 64 << 10 };

typedef struct batch {
    const tamis_filter *filter;
    const tamis__redis_filter *at;
    tamis__asked asked;
    bool adds;
    tamis_answer *answers;
    bool *touched;   /* of each Redis key of each server */
    uint16_t *slots; /* of each, where there are several */
    uint64_t fresh;
    size_t checks;    /* commands of the layout */
    size_t first;     /* number of the first command: past the elements where only the checks are asked */
    tamis__spot spot; /* of element `placed`, the last that was looked for */
    size_t placed;
} batch;

tamis_status tamis__redis_strange(const tamis__redis_filter *at, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_IO, 0,
        "redis %s: %s: answered with what is no reply to the command; is it a Redis of version 6.2 or "
        "later?",
        at->redis->to.shown, at->uri->shown);
}

/* ---- places ---- */

static const tamis__spot *place(batch *all, size_t element) {
    if (all->placed != element)
        all->at->layout->place(all->filter, &all->asked, element, &all->spot);
    all->placed = element;
    return &all->spot;
}

static size_t key_of(const batch *all, const tamis__spot *spot) {
    return (size_t)spot->server * all->at->keys + spot->key;
}

/* A slot costs a name and a checksum, so it is asked for once a batch. */
static uint32_t slot_of_key(const batch *all, size_t key) {
    if (all->slots[key] == NOT_ASKED)
        all->slots[key] = (uint16_t)tamis__redis_key_slot(all->at, key);
    return all->slots[key];
}

static uint32_t slot(void *context, size_t i) {
    batch *all = context;
    i += all->first;
    if (i < all->asked.count)
        return slot_of_key(all, key_of(all, place(all, i)));
    i -= all->asked.count;
    if (i < all->checks)
        return all->at->layout->check_slot(all->filter, &(tamis__touched){all->adds, all->touched}, i);
    return slot_of_key(all, i - all->checks);
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

static bool put(void *context, size_t i, tamis__link *link) {
    batch *all = context;
    i += all->first;
    if (i < all->asked.count) {
        const tamis__spot *spot = place(all, i);
        all->touched[key_of(all, spot)] = true;
        if (all->at->layout->has_blocks && !all->adds)
            put_block(all, spot, link);
        else
            put_bits(all, spot, link);
        return true;
    }
    i -= all->asked.count;
    if (i < all->checks)
        return all->at->layout->check_ask(all->filter, &(tamis__touched){all->adds, all->touched}, i, link);
    tamis__link_command(link, 3);
    tamis__link_text(link, "PEXPIRE");
    put_key(all, (uint32_t)((i - all->checks) % all->at->keys), link);
    tamis__link_number(link, (int64_t)all->at->ttl_ms);
    return true;
}

/* ---- taking ---- */

static tamis_status has_bits(const batch *all, const tamis__reply *reply, bool *has_all, tamis_error *err) {
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != all->filter->plan.probes)
        return tamis__redis_strange(all->at, err);
    *has_all = true;
    for (size_t j = 0; j < reply->size; j++) {
        if (reply->items[j].type != TAMIS__REPLY_INTEGER)
            return tamis__redis_strange(all->at, err);
        *has_all = *has_all && reply->items[j].integer == 1;
    }
    return TAMIS_OK;
}

/* Of a Redis key that is shorter bits are missing, which the layout's checks will tell; here they are not set. */
static tamis_status has_in_block(batch *all, size_t i, const tamis__reply *reply, bool *has_all,
                                 tamis_error *err) {
    if (reply->type != TAMIS__REPLY_STRING || reply->size > TAMIS__REDIS_BLOCK)
        return tamis__redis_strange(all->at, err);
    const tamis__spot *spot = place(all, i);
    *has_all = true;
    for (uint32_t j = 0; j < all->filter->plan.probes; j++) {
        uint64_t offset = spot->offsets[j] - spot->block * 8;
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
    if (i >= all->asked.count + all->checks)
        return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(all->at, err);
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
    all->fresh += !has_all;
    return TAMIS_OK;
}

/* ---- a batch ---- */

static bool must_renew(const tamis__redis_filter *at, bool adds) {
    return adds && at->ttl_ms > 0 && at->renewed;
}

static tamis_status run_batch(batch *all, tamis_error *err) {
    const tamis__redis_filter *at = all->at;
    bool redone = false;
    tamis__exchange exchange = {
        .context = all, .ask = put, .take = take, .what = at->uri->shown, .slot = slot};
    all->checks = at->layout->check_count ? at->layout->check_count(all->filter) : 0;
    exchange.count =
        all->asked.count + all->checks + (must_renew(at, all->adds) ? tamis__redis_all_keys(at) : 0);
    exchange.barrier = all->checks > 0 ? all->asked.count : 0;
    tamis_status status = tamis__redis_run(at->redis, &exchange, &redone, err);
    if (status == TAMIS_OK && redone && all->checks > 0) {
        all->first = all->asked.count;
        exchange.count = all->checks;
        exchange.barrier = 0;
        status = tamis__redis_run(at->redis, &exchange, NULL, err);
    }
    return status;
}

/* The first of them that are answered. */
static size_t answered(const batch *all) {
    size_t done = 0;
    while (done < all->asked.count && all->answers[done] != NO_ANSWER)
        done++;
    return done;
}

/* Whoever does not trust the filter any more does not trust its answers either. */
static bool is_moot(tamis_status status) {
    return status == TAMIS_E_DAMAGED || status == TAMIS_E_MISMATCH || status == TAMIS_E_ABSENT;
}

static tamis_status ask_some(batch *all, tamis_answer *answers, size_t *done, tamis_error *err) {
    memset(all->answers, NO_ANSWER, all->asked.count);
    memset(all->touched, 0, tamis__redis_all_keys(all->at) * sizeof *all->touched);
    memset(all->slots, 0xff, tamis__redis_all_keys(all->at) * sizeof *all->slots);
    tamis_status status = run_batch(all, err);
    *done = is_moot(status) ? 0 : answered(all);
    if (answers)
        memcpy(answers, all->answers, *done);
    return status;
}

static tamis_status ask(const tamis_filter *filter, const tamis__asked *asked, bool adds,
                        tamis_answer *answers, size_t *done, uint64_t *fresh, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const size_t room = asked->count < AT_ONCE ? asked->count : AT_ONCE, keys = tamis__redis_all_keys(at);
    const size_t size = room + keys * (1 + sizeof(uint16_t));
    tamis_status status = TAMIS_OK;
    *done = 0;
    uint8_t *scratch = tamis__alloc(&filter->allocator, size, _Alignof(uint16_t));
    if (!scratch)
        return tamis__fail_nomem(err, "redis", size);
    while (*done < asked->count && status == TAMIS_OK) {
        const size_t left = asked->count - *done;
        size_t some = 0;
        batch all = {.filter = filter, .at = at, .adds = adds, .slots = (uint16_t *)scratch};
        all.answers = scratch + keys * sizeof *all.slots;
        all.touched = (bool *)(all.answers + room);
        all.placed = SIZE_MAX;
        all.asked = (tamis__asked){asked->keys ? asked->keys + *done : NULL,
                                   asked->hashes ? asked->hashes + *done : NULL, left < room ? left : room};
        status = ask_some(&all, answers ? answers + *done : NULL, &some, err);
        *done += some;
        *fresh += all.fresh;
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
