/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/redis_filter.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "store/trouble.h"

/* Of an answer that has not come. */
enum { NO_ANSWER = 0xff, AT_ONCE = 64 << 10 };

static tamis__redis_filter *of(const tamis_filter *filter) {
    return filter->body;
}

/* ---- elements ---- */

typedef struct elements {
    const tamis_filter *filter;
    const tamis__redis_filter *at;
    const tamis__asked *asked;
    size_t from, count; /* of those asked */
    tamis_answer *answers; /* of `count` */
    bool adds;
    uint64_t fresh;
    size_t key_size;
    char key[TAMIS__REDIS_KEY];
} elements;

static void positions_of(const elements *all, size_t i, uint64_t *positions) {
    const tamis_filter *filter = all->filter;
    const tamis_plan *plan = &filter->plan;
    if (all->asked->hashes)
        tamis__positions(plan->scheme, all->asked->hashes[all->from + i].word, plan->bits, plan->probes, positions);
    else
        tamis__hasher_positions(filter->hasher, &all->asked->keys[all->from + i], plan->bits, plan->probes,
                                positions);
}

/* BITFIELD key SET u1 offset 1 ... or GET u1 offset ... */
static void put_element(const elements *all, size_t i, tamis__link *link) {
    uint64_t positions[TAMIS_PROBES_MAX];
    const uint32_t probes = all->filter->plan.probes;
    positions_of(all, i, positions);
    tamis__link_command(link, 2 + (size_t)probes * (all->adds ? 4 : 3));
    tamis__link_word(link, "BITFIELD", 8);
    tamis__link_word(link, all->key, all->key_size);
    for (uint32_t j = 0; j < probes; j++) {
        tamis__link_word(link, all->adds ? "SET" : "GET", 3);
        tamis__link_word(link, "u1", 2);
        tamis__link_number(link, (int64_t)positions[j]);
        if (all->adds)
            tamis__link_word(link, "1", 1);
    }
}

static bool expires(const elements *all) {
    return all->adds && all->at->ttl_ms > 0;
}

static void put(void *context, size_t i, tamis__link *link) {
    const elements *all = context;
    if (i < all->count) {
        put_element(all, i, link);
        return;
    }
    tamis__link_command(link, 3);
    tamis__link_text(link, "PEXPIRE");
    tamis__link_word(link, all->key, all->key_size);
    tamis__link_number(link, (int64_t)all->at->ttl_ms);
}

static tamis_status take_wrong(const elements *all, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_IO, 0,
                       "redis %s: %s: answered with what is no reply to the command; is it a Redis of version 6.2 or "
                       "later?",
                       all->at->redis->to.shown, all->at->uri.shown);
}

static tamis_status take(void *context, size_t i, const tamis__reply *reply, bool again, tamis_error *err) {
    elements *all = context;
    bool has_all = true;
    if (i == all->count)
        return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : take_wrong(all, err);
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != all->filter->plan.probes)
        return take_wrong(all, err);
    for (size_t j = 0; j < reply->size; j++) {
        if (reply->items[j].type != TAMIS__REPLY_INTEGER)
            return take_wrong(all, err);
        has_all = has_all && reply->items[j].integer == 1;
    }
    all->answers[i] = has_all ? TAMIS_SEEN : TAMIS_FRESH;
    if (has_all && again && all->adds)
        all->answers[i] = TAMIS_UNKNOWN; /* perhaps these bits are its own */
    all->fresh += !has_all;
    return TAMIS_OK;
}

/* The first of them that are answered. */
static size_t answered(const elements *all) {
    size_t done = 0;
    while (done < all->count && all->answers[done] != NO_ANSWER)
        done++;
    return done;
}

static tamis_status ask(const tamis_filter *filter, const tamis__asked *asked, bool adds, tamis_answer *answers,
                        size_t *done, uint64_t *fresh, tamis_error *err) {
    const tamis__redis_filter *at = of(filter);
    const size_t room = asked->count < AT_ONCE ? asked->count : AT_ONCE;
    tamis_status status = TAMIS_OK;
    *done = 0;
    if (asked->count == 0)
        return TAMIS_OK;
    tamis_answer *some = tamis__alloc(&filter->allocator, room, 1);
    if (!some)
        return tamis__fail_nomem(err, "redis", room);
    while (*done < asked->count && status == TAMIS_OK) {
        elements all = {filter, at, asked, *done, asked->count - *done, some, adds, 0, 0, {0}};
        if (all.count > room)
            all.count = room;
        all.key_size = at->layout->key_name(at, 0, all.key);
        memset(some, NO_ANSWER, all.count);
        const tamis__exchange exchange = {all.count + expires(&all), &all, put, take, at->uri.shown};
        status = tamis__redis_run(at->redis, &exchange, err);
        size_t count = answered(&all);
        if (answers)
            memcpy(answers + *done, some, count);
        *done += count;
        *fresh += all.fresh;
    }
    tamis__free(&filter->allocator, some, room);
    return status;
}

static tamis_status add(tamis_filter *filter, const tamis__asked *asked, tamis_answer *answers, size_t *done,
                        tamis_error *err) {
    uint64_t fresh = 0;
    tamis_status status = ask(filter, asked, true, answers, done, &fresh, err);
    filter->added += fresh;
    return status;
}

static tamis_status contains(const tamis_filter *filter, const tamis__asked *asked, tamis_answer *answers,
                             size_t *done, tamis_error *err) {
    uint64_t fresh = 0;
    return ask(filter, asked, false, answers, done, &fresh, err);
}

/* ---- the whole ---- */

/* One command on each Redis key. */
typedef struct keys {
    const tamis__redis_filter *at;
    const char *command;
    uint64_t sum;
} keys;

static void put_key(void *context, size_t i, tamis__link *link) {
    const keys *all = context;
    char name[TAMIS__REDIS_KEY];
    size_t size = all->at->layout->key_name(all->at, (uint32_t)i, name);
    tamis__link_command(link, 2);
    tamis__link_text(link, all->command);
    tamis__link_word(link, name, size);
}

static tamis_status take_sum(void *context, size_t i, const tamis__reply *reply, bool again, tamis_error *err) {
    keys *all = context;
    (void)i;
    (void)again;
    if (reply->type != TAMIS__REPLY_INTEGER || reply->integer < 0)
        return tamis__fail(err, TAMIS_E_IO, 0, "redis %s: %s answered with no number; is it a Redis?",
                           all->at->redis->to.shown, all->command);
    all->sum += (uint64_t)reply->integer;
    return TAMIS_OK;
}

static tamis_status on_keys(const tamis_filter *filter, const char *command, uint64_t *sum, tamis_error *err) {
    const tamis__redis_filter *at = of(filter);
    keys all = {at, command, 0};
    const tamis__exchange exchange = {at->keys, &all, put_key, take_sum, at->uri.shown};
    tamis_status status = tamis__redis_run(at->redis, &exchange, err);
    *sum = all.sum;
    return status;
}

static tamis_status estimate(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    const tamis_plan *plan = &filter->plan;
    tamis_status status = on_keys(filter, "BITCOUNT", &info->ones, err);
    if (status != TAMIS_OK)
        return status;
    double m = (double)plan->bits, ones = (double)info->ones;
    info->cardinality = tamis_bloom_cardinality(ones, m, plan->probes);
    info->fpr_live = pow(ones / m, plan->probes);
    info->memory = (plan->bits + 7) / 8;
    return TAMIS_OK;
}

static tamis_status clear(tamis_filter *filter, tamis_error *err) {
    uint64_t removed;
    return on_keys(filter, "DEL", &removed, err);
}

static void destroy(tamis_filter *filter) {
    tamis__redis_filter *at = of(filter);
    if (!at)
        return;
    tamis__redis_uri_release(&at->uri);
    tamis__free(&filter->allocator, at, sizeof *at);
}

static const tamis__remote remote = {add, contains, estimate, clear, destroy};

/* ---- opening ---- */

static const tamis__layout *const layouts[] = {&tamis__layout_java};

static tamis_status choose_layout(tamis__redis_filter *at, tamis_error *err) {
    const char *name = tamis__redis_uri_take(&at->uri, "layout");
    for (size_t i = 0; name && i < sizeof layouts / sizeof *layouts; i++)
        if (strcmp(layouts[i]->name, name) == 0)
            at->layout = layouts[i];
    if (at->layout)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: %s%.40s%s; there is: java", at->uri.shown,
                       name ? "layout '" : "no layout", name ? name : "", name ? "' is not known" : " is named");
}

static tamis_status take_expiry(tamis__redis_filter *at, tamis_error *err) {
    tamis_status status = tamis__redis_uri_time(&at->uri, "ttl", &at->ttl_ms, err);
    const char *renew = tamis__redis_uri_take(&at->uri, "renew");
    if (status != TAMIS_OK || !renew)
        return status;
    at->renewed = strcmp(renew, "add") == 0;
    if (!at->renewed && strcmp(renew, "create") != 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: parameter renew is '%.40s'; give add or create",
                           at->uri.shown, renew);
    return TAMIS_OK;
}

static tamis_status configure(tamis_filter *made, const char *name, tamis_error *err) {
    tamis__redis_filter *at = made->body;
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    tamis_status status = tamis__redis_uri_parse_name(&at->uri, name, &made->allocator, err);
    if (status == TAMIS_OK && (!at->uri.name || at->uri.name_size > TAMIS__REDIS_NAME))
        status = tamis__fail(err, TAMIS_E_INVALID, 0, "%s: the filter's name has %zu bytes; give 1 to %d",
                             at->uri.shown, at->uri.name_size, TAMIS__REDIS_NAME);
    if (status == TAMIS_OK)
        status = choose_layout(at, err);
    if (status == TAMIS_OK)
        status = at->layout->configure(at, &made->plan, err);
    if (status == TAMIS_OK)
        status = take_expiry(at, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_check_used(&at->uri, err);
    options.scheme = made->plan.scheme;
    options.allocator = &made->allocator;
    if (status == TAMIS_OK)
        status = tamis_hasher_create(&made->hasher, &options, err);
    return status;
}

tamis_status tamis_redis_filter_open(tamis_filter **filter, tamis_redis *redis, const char *name,
                                     tamis_error *err) {
    tamis_filter *made;
    tamis_status status = tamis__filter_create_remote(&made, &remote, &redis->allocator, err);
    if (status != TAMIS_OK)
        return status;
    tamis__redis_filter *at = tamis__alloc(&made->allocator, sizeof *at, _Alignof(tamis__redis_filter));
    made->body = at;
    if (!at) {
        tamis_filter_free(made);
        return tamis__fail_nomem(err, "redis", sizeof *at);
    }
    at->redis = redis;
    status = configure(made, name, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(made);
        return status;
    }
    *filter = made;
    return TAMIS_OK;
}
