/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/redis_filter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/versioned.h"
#include "store/file_error.h"

/* ---- single commands ---- */

static uint32_t slot_of_words(const tamis__redis_filter *at, const tamis_key *words) {
    return tamis__redis_slot(at->redis, words[1].data, words[1].size);
}

static tamis__command command_of(const tamis__redis_filter *at, uint32_t slot, const tamis_key *words,
                                 size_t count) {
    return (tamis__command){
        .redis = at->redis, .what = at->uri->named, .slot = slot, .words = words, .count = count};
}

tamis_status tamis__redis_command_in(tamis__redis_filter *at, uint32_t slot, const tamis_key *words,
                                     size_t count, int64_t *integer, tamis_error *err) {
    tamis__command one = command_of(at, slot, words, count);
    tamis_status status = tamis__redis_do(&one, err);
    if (integer)
        *integer = one.integer;
    return status;
}

tamis_status tamis__redis_command(tamis__redis_filter *at, const tamis_key *words, size_t count,
                                  int64_t *integer, tamis_error *err) {
    return tamis__redis_command_in(at, slot_of_words(at, words), words, count, integer, err);
}

tamis_status tamis__redis_get_in(tamis__redis_filter *at, uint32_t slot, const tamis_key *words, size_t count,
                                 char *to, size_t room, size_t *size, tamis_error *err) {
    tamis__command one = command_of(at, slot, words, count);
    one.to = to;
    one.room = room;
    tamis_status status = tamis__redis_do(&one, err);
    *size = one.size;
    return status;
}

tamis_status tamis__redis_get(tamis__redis_filter *at, const tamis_key *words, size_t count, char *to,
                              size_t room, size_t *size, tamis_error *err) {
    return tamis__redis_get_in(at, slot_of_words(at, words), words, count, to, room, size, err);
}

tamis_status tamis__redis_expire_in(tamis__redis_filter *at, uint32_t slot, tamis_key key, uint64_t ms,
                                    tamis_error *err) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, ms);
    const tamis_key words[] = {tamis__redis_word(ms > 0 ? "PEXPIRE" : "PERSIST"), key,
                               tamis__redis_word(digits)};
    return tamis__redis_command_in(at, slot, words, ms > 0 ? 3 : 2, NULL, err);
}

tamis_status tamis__redis_expire(tamis__redis_filter *at, tamis_key key, uint64_t ms, tamis_error *err) {
    return tamis__redis_expire_in(at, tamis__redis_slot(at->redis, key.data, key.size), key, ms, err);
}

tamis_status tamis__redis_ttl(tamis__redis_filter *at, tamis_key key, uint64_t *ms, tamis_error *err) {
    const tamis_key words[] = {tamis__redis_word("PTTL"), key};
    int64_t left = 0;
    tamis_status status = tamis__redis_command(at, words, 2, &left, err);
    *ms = left > 0 ? (uint64_t)left : 0;
    return status;
}

/* ---- the whole ---- */

uint32_t tamis__redis_key_slot(const tamis__redis_filter *at, size_t number) {
    char name[TAMIS__REDIS_KEY];
    if (at->servers > 1)
        return (uint32_t)(number / at->keys);
    return tamis__redis_slot(at->redis, name, at->layout->key_name(at, (uint32_t)number, name));
}

/* The same command on each Redis key. */
typedef struct every_key {
    const tamis__redis_filter *at;
    const char *command;
    uint64_t sum;
} every_key;

static uint32_t slot_of_key(void *context, size_t i) {
    const every_key *all = context;
    return tamis__redis_key_slot(all->at, i);
}

static bool put_key(void *context, size_t i, tamis__link *link) {
    const every_key *all = context;
    char name[TAMIS__REDIS_KEY];
    size_t size = all->at->layout->key_name(all->at, (uint32_t)(i % all->at->keys), name);
    tamis__link_command(link, 2);
    tamis__link_text(link, all->command);
    tamis__link_word(link, name, size);
    return true;
}

static tamis_status take_sum(void *context, size_t i, const tamis__reply *reply, bool resent,
                             tamis_error *err) {
    every_key *all = context;
    (void)i;
    (void)resent;
    if (reply->type != TAMIS__REPLY_INTEGER || reply->integer < 0)
        return tamis__redis_strange(all->at, err);
    all->sum += (uint64_t)reply->integer;
    return TAMIS_OK;
}

tamis_status tamis__redis_every_key(const tamis__redis_filter *at, const char *name, uint64_t *sum,
                                    tamis_error *err) {
    every_key all = {at, name, 0};
    const tamis__exchange exchange = {.count = tamis__redis_all_keys(at),
                                      .context = &all,
                                      .ask = put_key,
                                      .take = take_sum,
                                      .what = at->uri->named,
                                      .slot = slot_of_key};
    tamis_status status = tamis__redis_run(at->redis, &exchange, NULL, err);
    *sum = all.sum;
    return status;
}

tamis_status tamis__redis_check_moves(const tamis__redis_filter *at, tamis_error *err) {
    if (at->layout == &tamis__layout_tamis || tamis__redis_all_keys(at) == 1)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_UNSUPPORTED, 0,
        "redis %s: %s: filters of layout %s over several servers or Redis keys cannot be moved "
        "whole; add its keys to it (tamis add)",
        at->redis->to.shown, at->uri->named, at->layout->name);
}

static tamis_status estimate(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_status status = at->layout->estimate(filter, info, err);
    const double n = info->cardinality;
    /* By more than what the estimate may be off: about three deviations of it. */
    if (status == TAMIS_OK && at->layout->has_capacity)
        info->saturated = isinf(n) || n - 2 * sqrt(n / filter->plan.probes) > (double)info->capacity;
    return status;
}

static tamis_status clear(tamis_filter *filter, tamis_error *err) {
    return tamis__redis_of(filter)->layout->clear(filter, err);
}

static void destroy(tamis_filter *filter) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    if (!at)
        return;
    tamis__redis_uri_release(&at->named);
    tamis__doubts_release(&at->doubts, &filter->allocator);
    if (at->owns_redis)
        tamis_redis_close(at->redis);
    tamis__free(&filter->allocator, at, sizeof *at);
}

static const tamis__remote remote = {tamis__redis_add, tamis__redis_contains, estimate, clear, destroy};

/* ---- opening ---- */

static const tamis__layout *const layouts[] = {&tamis__layout_tamis, &tamis__layout_java,
                                               &tamis__layout_php1,  &tamis__layout_php2,
                                               &tamis__layout_php3,  &tamis__layout_redisson};

static tamis_status choose_layout(tamis__redis_filter *at, tamis_error *err) {
    const char *name = tamis__redis_uri_take(at->uri, "layout");
    at->layout = name ? NULL : layouts[0];
    for (size_t i = 0; name && i < sizeof layouts / sizeof *layouts; i++)
        if (strcmp(layouts[i]->name, name) == 0)
            at->layout = layouts[i];
    if (at->layout)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%s: layout '%.40s' is not known; there are tamis, java, redisson, php1, php2 and php3",
        at->uri->shown, tamis__show(name).text);
}

static tamis_status take_expiry(tamis__redis_filter *at, tamis_error *err) {
    tamis_status status = tamis__redis_uri_time(at->uri, "ttl", &at->ttl_ms, err);
    const bool never = status == TAMIS_OK && at->ttl_ms == 0 && tamis__redis_uri_take(at->uri, "ttl");
    const char *renew = tamis__redis_uri_take(at->uri, "renew");
    if (never)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: parameter ttl is 0; give a time as 1d, or leave it out for no expiry",
                           at->uri->shown);
    at->renews_on_add = !renew || strcmp(renew, "add") == 0;
    if (status == TAMIS_OK && !at->renews_on_add && strcmp(renew, "create") != 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: parameter renew is '%.40s'; give add or create",
                           at->uri->shown, tamis__show(renew).text);
    return status;
}

tamis_status tamis__redis_set_up(tamis_filter *filter, const tamis_redis_filter_options *options,
                                 tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_hasher_options hashing = TAMIS_HASHER_OPTIONS_INIT;
    tamis_status status = tamis__redis_uri_check_used(at->uri, err);
    if (status != TAMIS_OK)
        return status;
    hashing.scheme = filter->plan.scheme;
    hashing.seed = at->seed;
    hashing.allocator = &filter->allocator;
    if (hashing.scheme == TAMIS_SCHEME_SIP && options->secret_size == 0 && at->secret_print)
        return tamis__hasher_create_locked(&filter->hasher, at->secret_print, &filter->allocator, err);
    if (hashing.scheme == TAMIS_SCHEME_SIP) {
        hashing.secret = options->secret;
        hashing.secret_size = options->secret_size;
    }
    return tamis_hasher_create(&filter->hasher, &hashing, err);
}

static tamis_status take_name(tamis_filter *made, tamis_error *err) {
    tamis__redis_filter *at = made->body;
    tamis_status status = TAMIS_OK;
    if (at->uri->name_size == 0 || at->uri->name_size > TAMIS__REDIS_NAME)
        status = tamis__fail(err, TAMIS_E_INVALID, 0, "%s: the filter's name has %zu bytes; give 1 to %d",
                             at->uri->shown, at->uri->name_size, TAMIS__REDIS_NAME);
    if (status == TAMIS_OK)
        status = choose_layout(at, err);
    if (status == TAMIS_OK)
        status = take_expiry(at, err);
    at->name = (tamis_key){at->uri->name, at->uri->name_size};
    if (status == TAMIS_OK && at->layout->has_servers)
        at->servers = tamis__redis_servers(at->redis);
    return status;
}

/* The server, and the URI that the parameters are in. */
static tamis_status find_server(tamis__redis_filter *at, tamis_redis *redis, const char *name,
                                const tamis_allocator *allocator, tamis_error *err) {
    at->redis = redis;
    at->servers = at->parts = 1;
    tamis_status status = tamis__redis_find(&at->redis, &at->named, name, allocator, err);
    at->owns_redis = !redis && at->redis;
    at->uri = at->owns_redis ? &at->redis->uri : &at->named;
    return status;
}

tamis_status tamis__redis_name(tamis_filter **filter, tamis_redis *redis, const char *name,
                               const tamis_allocator *allocator, tamis_error *err) {
    tamis_filter *made;
    tamis_status status =
        tamis__filter_create_remote(&made, &remote, redis && !allocator ? &redis->allocator : allocator, err);
    if (status != TAMIS_OK)
        return status;
    tamis__redis_filter *at = tamis__alloc(&made->allocator, sizeof *at, _Alignof(tamis__redis_filter));
    made->body = at;
    status = at ? find_server(at, redis, name, &made->allocator, err)
                : tamis__fail_nomem(err, "redis", sizeof *at);
    if (status == TAMIS_OK)
        status = take_name(made, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(made);
        return status;
    }
    *filter = made;
    return TAMIS_OK;
}

tamis_status tamis_redis_filter_open(tamis_filter **filter, tamis_redis *redis, const char *name,
                                     const tamis_redis_filter_options *given, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(name, err);
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *made;
    tamis_status status =
        tamis__read_options(&options, sizeof options, given, "TAMIS_REDIS_FILTER_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__redis_name(&made, redis, name, options.allocator, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__redis_of(made)->layout->open(made, &options, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(made);
        return status;
    }
    *filter = made;
    return TAMIS_OK;
}

const char *tamis_redis_filter_layout(const tamis_filter *filter) {
    return filter->remote == &remote ? tamis__redis_of(filter)->layout->name : NULL;
}
