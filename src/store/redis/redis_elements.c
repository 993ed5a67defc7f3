/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A batch:   element 0 ... element n-1 | checks of the layout | expiry of every Redis key
 *
 * in one pipeline. An element has as many numbers as it may have parts: its bits in one Redis key each, in the order in
 * which the probes come to the keys. Adding one that has several is not one instant: the part with most bits decides. Of
 * those who add it at once just one finds that this one was not all set, and for him it is FRESH; it is SEEN where each of
 * its bits was set by somebody else; and where only other parts were not all set, either chance filled the one that
 * decides, or somebody else is at it: UNKNOWN.
 * The checks come behind: what they find to be there was there while the elements were asked. If a command had to be asked
 * again, the order is not sure, and the checks are asked once more by themselves. Where the Redis keys are in several
 * slots, there is no order between them: the checks wait until all elements are answered, and so does the expiry of the
 * Redis keys for that of what the checks look at, which is not to be there any longer than they are.
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/redis_filter.h"
#include "store/redis/redis_trace.h"

/* Of a slot that was not asked for; elements of one pipeline. */
enum { NOT_ASKED = 0xffff, AT_ONCE = 64 << 10 };

#define PUT_MADE(link, words) tamis__link_made(link, words, sizeof(words) - 1)

typedef struct batch {
    const tamis_filter *filter;
    tamis__redis_filter *at; /* its name is that of the member at hand */
    tamis__asked asked;
    const tamis__members *members; /* NULL: of one filter alone */
    const uint32_t *member_of;     /* of each element */
    bool adds;
    tamis_answer *answers; /* of the parts that were answered */
    uint8_t *left;         /* of each element: parts that were not */
    bool *sent;            /* of each: it may have been carried out, or part of it */
    bool *touched;         /* of each Redis key of each server */
    bool *endless;         /* of each: it was there, and does not expire */
    uint16_t *slots;       /* of each, where there are several */
    bool cut;              /* a block was not whole */
    bool again;            /* all of it is to be asked again: see settle */
    bool lacks_mirror;     /* see mirror */
    bool denied;           /* see tamis__exchange */
    size_t elements;       /* commands of elements */
    size_t checks;         /* and of the layout */
    size_t first;     /* number of the first command: past the elements where only the checks are asked */
    tamis__spot spot; /* of element `placed`, the last that was looked for */
    size_t placed;
    tamis__trace *trace; /* NULL: nobody wants it */
} batch;

tamis_status tamis__redis_strange(const tamis__redis_filter *at, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_IO, 0,
        "redis %s: %s: answered with what is no reply to the command; is it a Redis of version 6.2 or "
        "later?",
        at->redis->to.shown, at->uri->named);
}

/* ---- places ---- */

static size_t count_keys(const batch *all) {
    return tamis__redis_all_keys(all->at) * (all->members ? all->members->count : 1);
}

/* Names the member that the Redis key of that number, among those of all members, is of; which of its own it is. */
static size_t turn_to(const batch *all, size_t number) {
    const size_t each = tamis__redis_all_keys(all->at);
    if (all->members)
        all->at->name = all->members->names[number / each];
    return number % each;
}

static const tamis__spot *place(batch *all, size_t element) {
    if (all->placed != element)
        all->at->layout->place(all->filter, &all->asked, element, &all->spot);
    all->placed = element;
    return &all->spot;
}

static bool is_in(const batch *all, uint32_t probe, uint32_t key) {
    return all->at->parts == 1 || all->spot.keys[probe] == key;
}

static bool is_first_of_key(const tamis__spot *spot, uint32_t probe) {
    for (uint32_t j = 0; j < probe; j++)
        if (spot->keys[j] == spot->keys[probe])
            return false;
    return true;
}

/* The Redis key of the element's part of that number, and how many bits it has; false where there is none. */
static bool find_part(batch *all, size_t element, uint32_t number, uint32_t *key, uint32_t *count) {
    const uint32_t probes = all->filter->plan.probes;
    const tamis__spot *spot = place(all, element);
    *key = spot->key;
    *count = probes;
    if (all->at->parts == 1)
        return true;
    uint32_t first = 0;
    while (first < probes && !(is_first_of_key(spot, first) && number-- == 0))
        first++;
    if (first == probes)
        return false;
    *key = spot->keys[first];
    *count = 0;
    for (uint32_t j = first; j < probes; j++)
        *count += is_in(all, j, *key);
    return true;
}

/* Whether no other part of the element has more bits, and none before it as many. */
static bool is_deciding(batch *all, size_t element, uint32_t number) {
    const uint32_t probes = all->filter->plan.probes;
    uint32_t key, count, most = 0, deciding = 0;
    if (all->at->parts == 1 || !find_part(all, element, number, &key, &count))
        return true;
    for (uint32_t i = 0; i < probes; i++) {
        count = 0;
        for (uint32_t j = 0; j < probes; j++)
            count += is_in(all, j, all->spot.keys[i]);
        deciding = count > most ? all->spot.keys[i] : deciding;
        most = count > most ? count : most;
    }
    return key == deciding;
}

/* Of a Redis key of the element that was placed last. */
static size_t number_of(const batch *all, uint32_t key) {
    const size_t member = all->members ? all->member_of[all->placed] : 0;
    return (member * all->at->servers + all->spot.server) * all->at->keys + key;
}

/* A slot costs a name and a checksum, so it is asked for once a batch. */
static uint32_t slot_of_key(const batch *all, size_t number) {
    if (all->slots[number] == NOT_ASKED)
        all->slots[number] = (uint16_t)tamis__redis_key_slot(all->at, turn_to(all, number));
    return all->slots[number];
}

static uint32_t slot(void *context, size_t i) {
    batch *all = context;
    i += all->first;
    if (i < all->elements) {
        uint32_t key, count; /* of a part that the element does not have, any slot: nothing will be put */
        find_part(all, i / all->at->parts, (uint32_t)(i % all->at->parts), &key, &count);
        return slot_of_key(all, number_of(all, key));
    }
    i -= all->elements;
    if (i < all->checks)
        return all->at->layout->check_slot(all->filter, &(tamis__touched){all->adds, all->touched}, i);
    return slot_of_key(all, i - all->checks);
}

/* ---- putting ---- */

static void put_key(const batch *all, size_t number, tamis__link *link) {
    char name[TAMIS__REDIS_KEY];
    const uint32_t key = (uint32_t)(turn_to(all, number) % all->at->keys);
    size_t size = all->at->layout->key_name(all->at, key, name);
    tamis__link_word(link, name, size);
}

static void put_block(const batch *all, const tamis__spot *spot, tamis__link *link) {
    PUT_MADE(link, "*4\r\n$8\r\nGETRANGE\r\n");
    put_key(all, number_of(all, spot->key), link);
    tamis__link_number(link, (int64_t)spot->block);
    tamis__link_number(link, (int64_t)spot->block + TAMIS__REDIS_BLOCK - 1);
}

static void put_bits(const batch *all, uint32_t key, uint32_t count, tamis__link *link) {
    tamis__link_command(link, 2 + (size_t)count * (all->adds ? 4 : 3));
    tamis__link_text(link, all->at->only_reads && !all->adds ? "BITFIELD_RO" : "BITFIELD");
    put_key(all, number_of(all, key), link);
    for (uint32_t j = 0; j < all->filter->plan.probes; j++) {
        if (!is_in(all, j, key))
            continue;
        if (all->adds)
            PUT_MADE(link, "$3\r\nSET\r\n$2\r\nu1\r\n");
        else
            PUT_MADE(link, "$3\r\nGET\r\n$2\r\nu1\r\n");
        tamis__link_number(link, (int64_t)all->spot.offsets[j]);
        if (all->adds)
            PUT_MADE(link, "$1\r\n1\r\n");
    }
}

static bool put_element(batch *all, size_t element, uint32_t number, tamis__link *link) {
    uint32_t key, count;
    if (!find_part(all, element, number, &key, &count)) {
        all->left[element]--;
        return false;
    }
    all->touched[number_of(all, key)] = all->sent[element] = true;
    if (all->trace)
        tamis__trace_put(all->trace, element, number, link);
    if (all->at->layout->has_blocks && !all->adds)
        put_block(all, &all->spot, link);
    else
        put_bits(all, key, count, link);
    return true;
}

static void put_expiry(const batch *all, size_t number, bool sets, tamis__link *link) {
    tamis__link_command(link, sets ? 3 : 2);
    tamis__link_text(link, sets ? "PEXPIRE" : "PTTL");
    put_key(all, number, link);
    if (sets)
        tamis__link_number(link, (int64_t)all->at->ttl_ms);
}

static bool put(void *context, size_t i, tamis__link *link) {
    batch *all = context;
    i += all->first;
    if (i < all->elements)
        return put_element(all, i / all->at->parts, (uint32_t)(i % all->at->parts), link);
    i -= all->elements;
    if (i < all->checks)
        return all->at->layout->check_ask(all->filter, &(tamis__touched){all->adds, all->touched}, i, link);
    put_expiry(all, i - all->checks, all->at->renewed, link);
    return true;
}

/* ---- taking ---- */

static tamis_status has_bits(batch *all, size_t element, uint32_t number, const tamis__reply *reply,
                             bool *has_all, tamis_error *err) {
    uint32_t key, count = all->filter->plan.probes;
    if (all->at->parts > 1)
        find_part(all, element, number, &key, &count); /* it was put */
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != count)
        return tamis__redis_strange(all->at, err);
    *has_all = true;
    for (size_t j = 0; j < reply->size; j++) {
        if (reply->items[j].type != TAMIS__REPLY_INTEGER)
            return tamis__redis_strange(all->at, err);
        *has_all = *has_all && reply->items[j].integer == 1;
    }
    return TAMIS_OK;
}

/* Of a Redis key that is shorter bits are missing, which the layout's checks will tell; here they are not set. Those of a
 * family's member come into being with the adds. */
static tamis_status has_in_block(batch *all, size_t element, const tamis__reply *reply, bool *has_all,
                                 tamis_error *err) {
    if (reply->type != TAMIS__REPLY_STRING || reply->size > TAMIS__REDIS_BLOCK)
        return tamis__redis_strange(all->at, err);
    const tamis__spot *spot = place(all, element);
    all->cut = all->cut || (reply->size < TAMIS__REDIS_BLOCK && !all->at->is_family);
    *has_all = true;
    for (uint32_t j = 0; j < all->filter->plan.probes; j++) {
        uint64_t offset = spot->offsets[j] - spot->block * 8;
        *has_all = *has_all && offset / 8 < reply->size &&
                   ((unsigned char)reply->text[offset / 8] & 0x80 >> offset % 8) != 0;
    }
    return TAMIS_OK;
}

static tamis_status take_element(batch *all, size_t element, uint32_t number, const tamis__reply *reply,
                                 bool again, tamis_error *err) {
    tamis_answer *answer = &all->answers[element];
    bool has_all = false;
    tamis_status status = all->at->layout->has_blocks && !all->adds
                              ? has_in_block(all, element, reply, &has_all, err)
                              : has_bits(all, element, number, reply, &has_all, err);
    if (status != TAMIS_OK)
        return status;
    if (all->trace)
        tamis__trace_take(all->trace, element, number, place(all, element), reply);
    all->left[element]--;
    if (!has_all && (!all->adds || is_deciding(all, element, number)))
        *answer = TAMIS_FRESH;
    else if (*answer == TAMIS_SEEN && (!has_all || ((again || all->at->followed > 1) && all->adds)))
        *answer =
            TAMIS_UNKNOWN; /* perhaps these bits are its own, also of an alias that came back, or somebody else's now */
    return TAMIS_OK;
}

static tamis_status take(void *context, size_t i, const tamis__reply *reply, bool again, tamis_error *err) {
    batch *all = context;
    const uint32_t parts = all->at->parts;
    i += all->first;
    if (i < all->elements)
        return take_element(all, i / parts, (uint32_t)(i % parts), reply, again, err);
    i -= all->elements;
    if (i < all->checks)
        return all->at->layout->check_take(all->filter, i, reply, err);
    all->endless[i - all->checks] = reply->integer == -1; /* PEXPIRE says 0 or 1 */
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(all->at, err);
}

/* ---- a batch ---- */

static bool must_expire(const tamis__redis_filter *at, bool adds) {
    return adds && at->ttl_ms > 0;
}

static uint32_t slot_of_end(void *context, size_t i) {
    const batch *all = context;
    return all->endless[i] ? slot_of_key(all, i) : TAMIS__NO_SLOT;
}

static bool put_end(void *context, size_t i, tamis__link *link) {
    const batch *all = context;
    if (!all->endless[i])
        return false;
    put_expiry(all, i, true, link);
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
    const tamis__exchange exchange = {.count = count_keys(all),
                                      .context = all,
                                      .ask = put_end,
                                      .take = take_end,
                                      .what = all->at->uri->named,
                                      .slot = slot_of_end};
    if (!must_expire(all->at, all->adds) || !memchr(all->endless, true, exchange.count))
        return TAMIS_OK;
    return tamis__redis_run(all->at->redis, &exchange, NULL, err);
}

static size_t count_checks(const batch *all) {
    const tamis__layout *layout = all->at->layout;
    return layout->check_count ? layout->check_count(all->filter) : 0;
}

static tamis_status run_checks(batch *all, tamis_error *err) {
    const tamis__exchange exchange = {.count = count_checks(all),
                                      .context = all,
                                      .ask = put,
                                      .take = take,
                                      .what = all->at->uri->named,
                                      .slot = slot};
    all->first = all->elements;
    return tamis__redis_run(all->at->redis, &exchange, NULL, err);
}

static tamis_status settle(batch *all, tamis_error *err) {
    const tamis__layout *layout = all->at->layout;
    return layout->settle
               ? layout->settle(all->filter, &(tamis__touched){all->adds, all->touched}, &all->again, err)
               : TAMIS_OK;
}

/* What is not where it has to be besides has no answer. */
static tamis_status mirror(batch *all, tamis_error *err) {
    const tamis__layout *layout = all->at->layout;
    if (!all->adds || all->asked.count == 0 || !layout->mirror)
        return TAMIS_OK;
    tamis_status status = layout->mirror(all->filter, &all->asked, &all->again, err);
    all->lacks_mirror = status != TAMIS_OK;
    return status;
}

static tamis_status run_batch(batch *all, tamis_error *err) {
    const tamis__redis_filter *at = all->at;
    bool redone = false;
    tamis__exchange exchange = {.context = all,
                                .ask = put,
                                .take = take,
                                .what = at->uri->named,
                                .slot = slot,
                                .denied = &all->denied};
    all->checks = count_checks(all);
    all->elements = all->asked.count * at->parts;
    exchange.barriers[0] = all->elements;
    exchange.barriers[1] = all->elements + all->checks;
    exchange.count = exchange.barriers[1] + (must_expire(at, all->adds) ? count_keys(all) : 0);
    tamis_status status = tamis__redis_run(at->redis, &exchange, &redone, err);
    if (status == TAMIS_OK && redone && all->checks > 0)
        status = run_checks(all, err);
    if (status == TAMIS_OK)
        status = settle(all, err);
    if (status != TAMIS_OK || all->again)
        return status;
    if (all->cut)
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "redis %s: %s: a block of it was not there, and then it was; ask again, and see who "
            "writes to its keys",
            at->redis->to.shown, at->uri->named);
    status = mirror(all, err);
    return status == TAMIS_OK && !all->again ? end_endless(all, err) : status;
}

/* The first of them that are answered. */
static size_t answered(const batch *all) {
    size_t done = 0;
    while (done < all->asked.count && all->left[done] == 0)
        done++;
    return done;
}

/* Whether the answers of a batch do not hold: where the layout has checks, those of one that failed do only if these
 * pass. A server that cannot be reached is not waited for once more. */
static bool is_moot(batch *all, tamis_status status) {
    if (all->lacks_mirror || status == TAMIS_E_DAMAGED || status == TAMIS_E_MISMATCH ||
        status == TAMIS_E_ABSENT)
        return true;
    if (status == TAMIS_OK || all->checks == 0)
        return all->again;
    return status != TAMIS_E_REFUSED || all->cut || all->again || run_checks(all, NULL) != TAMIS_OK ||
           settle(all, NULL) != TAMIS_OK || all->again;
}

/* ---- what a call that failed has left, see redis_doubt.h ---- */

static uint64_t print_of(const batch *all, size_t element) {
    const uint64_t print = tamis__doubts_print(all->filter, &all->asked, element);
    const tamis__members *members = all->members;
    tamis_hash name;
    if (!members)
        return print;
    tamis_hash_many(members->hasher, &members->names[all->member_of[element]], 1, &name, NULL);
    return (print ^ name.word[0]) | 1;
}

static void settle_doubts(const batch *all, size_t done) {
    tamis__doubts *doubts = &tamis__redis_of(all->filter)->doubts;
    for (size_t i = 0; i < done && tamis__doubts_any(doubts); i++)
        if (tamis__doubts_take(doubts, print_of(all, i)) && all->answers[i] == TAMIS_SEEN)
            all->answers[i] = TAMIS_UNKNOWN;
}

/* What was added and is not told, but for what somebody else had added. */
static void keep_doubts(const batch *all, size_t done) {
    tamis__doubts *doubts = &tamis__redis_of(all->filter)->doubts;
    for (size_t i = done; i < all->asked.count; i++)
        if (all->sent[i] && (all->left[i] > 0 || all->answers[i] != TAMIS_SEEN))
            tamis__doubts_keep(doubts, print_of(all, i), &all->filter->allocator);
}

static void tell_trace(batch *all, size_t done) {
    for (size_t i = 0; i < done; i++) {
        if (all->members)
            all->at->name = all->members->names[all->member_of[i]];
        tamis__trace_tell(all->trace, place(all, i), all->adds, all->answers[i], i);
    }
}

/* As many of what is asked as go at once; none where they are to be asked again, of a filter with other keys perhaps. */
static tamis_status ask_some(batch *all, tamis_answer *answers, size_t *done, uint64_t *fresh,
                             tamis_error *err) {
    const size_t count = all->asked.count, keys = count_keys(all);
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
    memset(all->slots, 0xff, keys * sizeof *all->slots); /* NOT_ASKED */
    memset(all->answers, TAMIS_SEEN, count);
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
        if (status != TAMIS_OK)
            keep_doubts(all, *done);
    }
    if (answers)
        memcpy(answers, all->answers, *done);
    for (size_t i = 0; i < *done; i++)
        *fresh += all->answers[i] == TAMIS_FRESH;
    if (all->trace)
        tell_trace(all, *done);
    tamis__trace_free(all->trace);
    all->trace = NULL;
    tamis__free(&all->filter->allocator, scratch, size);
    return status;
}

/* BITFIELD counts as writing, whatever is in it, and is refused to who may only read, and where there is no memory left;
 * what asks alone is not known to every proxy. */
static tamis_status ask_otherwise(batch *all, tamis_answer *answers, size_t *done, uint64_t *fresh,
                                  tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(all->filter);
    const batch first = *all;
    const tamis_status status = ask_some(all, answers, done, fresh, err);
    const size_t before = *done;
    if (!all->denied || all->adds || at->layout->has_blocks || at->only_reads)
        return status;
    *all = first;
    at->only_reads = true;
    if (ask_some(all, answers, done, fresh, NULL) == TAMIS_OK)
        return TAMIS_OK;
    at->only_reads = false;
    *done = before;
    return status;
}

static tamis_status ask(const tamis_filter *filter, const tamis__asked *asked, const tamis__members *members,
                        bool adds, tamis_answer *answers, size_t *done, uint64_t *fresh, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_hash hash;
    *done = 0;
    if (filter->hasher->locked && asked->keys) /* its secret was not given: says so */
        return tamis_hash_many(filter->hasher, asked->keys, 1, &hash, err);
    tamis_status status = at->layout->refresh ? at->layout->refresh(filter, err) : TAMIS_OK;
    while (*done < asked->count && status == TAMIS_OK) {
        const size_t left = asked->count - *done;
        size_t some = 0;
        batch all = {.filter = filter, .at = at, .members = members, .adds = adds, .placed = SIZE_MAX};
        all.member_of = members ? members->of + *done : NULL;
        all.asked =
            (tamis__asked){asked->keys ? asked->keys + *done : NULL,
                           asked->hashes ? asked->hashes + *done : NULL, left < AT_ONCE ? left : AT_ONCE};
        status = ask_otherwise(&all, answers ? answers + *done : NULL, &some, fresh, err);
        *done += some;
    }
    return status;
}

tamis_status tamis__redis_check(const tamis_filter *filter, bool adds, bool *again, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    batch all = {.filter = filter, .at = at, .adds = adds, .placed = SIZE_MAX};
    size_t none = 0;
    uint64_t fresh = 0;
    tamis_status status = at->layout->check_count ? ask_some(&all, NULL, &none, &fresh, err) : TAMIS_OK;
    *again = all.again;
    return status;
}

tamis_status tamis__redis_add(tamis_filter *filter, const tamis__asked *asked, tamis_answer *answers,
                              size_t *done, tamis_error *err) {
    uint64_t fresh = 0;
    tamis_status status = ask(filter, asked, NULL, true, answers, done, &fresh, err);
    filter->added += fresh;
    return status;
}

tamis_status tamis__redis_contains(const tamis_filter *filter, const tamis__asked *asked,
                                   tamis_answer *answers, size_t *done, tamis_error *err) {
    uint64_t fresh = 0;
    return ask(filter, asked, NULL, false, answers, done, &fresh, err);
}

tamis_status tamis__redis_ask_members(const tamis_filter *family, const tamis__asked *asked,
                                      const tamis__members *members, bool adds, tamis_answer *answers,
                                      size_t *done, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(family);
    const tamis_key own = at->name;
    uint64_t fresh = 0;
    tamis_status status = ask(family, asked, members, adds, answers, done, &fresh, err);
    at->name = own;
    return status;
}
