/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Partitions that a build, resize or drop left behind when it was killed: strings tamis:{NAME:G:I}:bits without an expiry,
 * whose generation G is not that of the plan of NAME. Those of its next are of a resize, which holds no lock while it waits
 * for its keys: nobody can tell whether it goes on, so it is listed, and ended by who asks for that. They are found by SCAN, sorted by name and
 * generation, and compared with the hash of each name.
 *
 *     SCAN    tamis:{seen:00c0ffee:0}:bits, tamis:{seen:00c0ffee:1}:bits, tamis:{seen:00beef00:0}:bits, ...
 *     HMGET   tamis:{seen}   plan -> ...generation=00beef00   pushing -> ...generation=00c0ffee   a push was killed
 *
 * A name whose lock is held is being changed: its partitions are no leftovers yet. To remove leftovers, take that lock and
 * then read the hash: while the lock is held, no writer can make partitions of a generation that the hash does not name,
 * since every writer announces its generation in the hash first.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/redis/layout_tamis.h"
#include "store/redis/redis_scan.h"

/* One partition. Its Redis key is in leftover_search.text. */
typedef struct part {
    size_t key, key_size;
    size_t name_size; /* size of NAME, which follows "tamis:{" */
    uint64_t generation;
} part;

typedef struct leftover_search {
    tamis__redis_filter at; /* the current name */
    tamis__redis_uri uri;
    char *text;
    size_t text_used, text_size;
    part *parts;
    size_t count, room;
    tamis_redis_leftover_sink sink;
    void *context;
    bool removes;
    /* Of the generation at hand, as the hash was read last. */
    bool is_next; /* adds go there too */
    char plan[TAMIS__REDIS_PLAN], next[TAMIS__REDIS_PLAN];
    size_t first;   /* first part of the current generation */
    int64_t answer; /* reply to the current command */
    size_t stay;    /* parts of the current generation without an expiry */
} leftover_search;

enum { PREFIX = sizeof "tamis:{" - 1, SUFFIX = sizeof "}:bits" - 1, HEX = 16, NUMBER_MAX = 7 };

/* ---- finding partitions ---- */

/* Parses NAME:G:I. More than NUMBER_MAX digits at the end are the generation of a member of a family. */
static bool read_key(const char *key, size_t size, part *to) {
    char hex[HEX + 1] = "";
    size_t end = size - SUFFIX, digits = 0;
    if (size < PREFIX + SUFFIX + HEX + 4)
        return false;
    while (key[end - 1 - digits] >= '0' && key[end - 1 - digits] <= '9')
        digits++;
    end -= digits + 1;
    if (digits == 0 || digits > NUMBER_MAX || key[end] != ':' || end < PREFIX + HEX + 2)
        return false;
    memcpy(hex, key + end - HEX, HEX);
    end -= HEX + 1;
    if (strspn(hex, "0123456789abcdef") != HEX || key[end] != ':')
        return false;
    to->generation = strtoull(hex, NULL, 16);
    to->name_size = end - PREFIX;
    return true;
}

/* The server's pattern also finds NAME:MORE for NAME. */
static bool is_wanted(const leftover_search *all, const char *name, size_t size) {
    char pattern[TAMIS__REDIS_NAME + 1], text[TAMIS__REDIS_NAME + 1];
    if (all->at.uri->name_size == 0 || size > TAMIS__REDIS_NAME)
        return true;
    snprintf(pattern, sizeof pattern, "%.*s", (int)all->at.uri->name_size, all->at.uri->name);
    snprintf(text, sizeof text, "%.*s", (int)size, name);
    return fnmatch(pattern, text, 0) == 0;
}

static tamis_status add_partition(void *context, const char *key, size_t size, tamis_error *err) {
    leftover_search *all = context;
    void *text = all->text, *parts = all->parts;
    part one = {.key = all->text_used, .key_size = size};
    if (!read_key(key, size, &one) || !is_wanted(all, key + PREFIX, one.name_size))
        return TAMIS_OK;
    tamis_status status = tamis__scan_reserve(all->at.redis, &text, all->text_used, all->text_used + size,
                                              &all->text_size, 1, err);
    all->text = text;
    if (status == TAMIS_OK)
        status = tamis__scan_reserve(all->at.redis, &parts, all->count, all->count + 1, &all->room,
                                     sizeof *all->parts, err);
    all->parts = parts;
    if (status != TAMIS_OK)
        return status;
    memcpy(all->text + all->text_used, key, size);
    all->text_used += size;
    all->parts[all->count++] = one;
    return TAMIS_OK;
}

static int compare(const void *one, const void *other, void *context) {
    const part *a = one, *b = other;
    const char *text = context;
    const size_t size = a->key_size < b->key_size ? a->key_size : b->key_size;
    const int order = memcmp(text + a->key, text + b->key, size);
    return order != 0 ? order : a->key_size < b->key_size ? -1 : a->key_size > b->key_size;
}

static bool is_of(const leftover_search *all, const part *one, const part *other) {
    return one->generation == other->generation && one->name_size == other->name_size &&
           memcmp(all->text + one->key, all->text + other->key, PREFIX + one->name_size) == 0;
}

static tamis_status scan(leftover_search *all, tamis_error *err) {
    char pattern[TAMIS__REDIS_KEY + 16];
    const tamis__redis_uri *uri = all->at.uri;
    const int size =
        snprintf(pattern, sizeof pattern, "tamis:{%.*s:*}:bits",
                 (int)(uri->name_size > 0 ? uri->name_size : 1), uri->name_size > 0 ? uri->name : "*");
    const tamis__scan keys = {pattern, (size_t)size, "string", add_partition, all};
    tamis_status status = tamis__redis_scan(all->at.redis, &keys, err);
    size_t kept = all->count > 0;
    if (status != TAMIS_OK || all->count == 0)
        return status;
    qsort_r(all->parts, all->count, sizeof *all->parts, compare, all->text);
    for (size_t i = 1; i < all->count; i++) /* SCAN may return a key twice */
        if (compare(&all->parts[kept - 1], &all->parts[i], all->text) != 0)
            all->parts[kept++] = all->parts[i];
    all->count = kept;
    return TAMIS_OK;
}

/* ---- one generation ---- */

static uint32_t slot_of_part(void *context, size_t i) {
    const leftover_search *all = context;
    const part *one = &all->parts[all->first + i];
    return tamis__redis_slot(all->at.redis, all->text + one->key, one->key_size);
}

static bool put_ttl(void *context, size_t i, tamis__link *link) {
    const leftover_search *all = context;
    const part *one = &all->parts[all->first + i];
    tamis__link_command(link, 2);
    tamis__link_text(link, "PTTL");
    tamis__link_word(link, all->text + one->key, one->key_size);
    return true;
}

static tamis_status take_ttl(void *context, size_t i, const tamis__reply *reply, bool resent,
                             tamis_error *err) {
    leftover_search *all = context;
    (void)i;
    (void)resent;
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_strange(&all->at, err);
    all->stay += reply->integer == -1;
    return TAMIS_OK;
}

static bool put_removal(void *context, size_t i, tamis__link *link) {
    const leftover_search *all = context;
    const part *one = &all->parts[all->first + i];
    tamis__link_command(link, 2);
    tamis__link_text(link, tamis__redis_unlink(all->at.redis));
    tamis__link_word(link, all->text + one->key, one->key_size);
    return true;
}

static tamis_status take_removal(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err) {
    const leftover_search *all = context;
    (void)i;
    (void)resent;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(&all->at, err);
}

static tamis_status run(leftover_search *all, size_t count, bool (*ask)(void *, size_t, tamis__link *),
                        tamis_status (*take)(void *, size_t, const tamis__reply *, bool, tamis_error *),
                        tamis_error *err) {
    const tamis__exchange exchange = {.count = count,
                                      .context = all,
                                      .ask = ask,
                                      .take = take,
                                      .what = all->at.uri->named,
                                      .slot = slot_of_part};
    return tamis__redis_run(all->at.redis, &exchange, NULL, err);
}

static bool names(const char *plan, uint64_t generation) {
    char word[40];
    snprintf(word, sizeof word, "generation=%016" PRIx64, generation);
    return strstr(plan, word) != NULL;
}

/* *is_used: the generation is in use, or will be. If it is not, *kind says what kind of leftover it is. */
static tamis_status check_use(leftover_search *all, uint64_t generation, bool *is_used,
                              tamis_redis_leftover_kind *kind, tamis_error *err) {
    tamis__config config;
    char copy[TAMIS__REDIS_PLAN];
    tamis_status status = tamis__config_own(&all->at, &config, err);
    if (status == TAMIS_OK)
        status = tamis__copy_read(&all->at, copy, err);
    if (status != TAMIS_OK)
        return status;
    *is_used = names(config.plan, generation) ||
               (!*config.plan &&
                names(copy, generation)); /* the hash was deleted: tamis redis drop removes its partitions */
    all->is_next = names(config.next, generation);
    *kind = all->is_next                        ? TAMIS_REDIS_LEFT_RESIZE
            : names(config.pushing, generation) ? TAMIS_REDIS_LEFT_UNFINISHED
            : names(config.before, generation)  ? TAMIS_REDIS_LEFT_REPLACED
                                                : TAMIS_REDIS_LEFT_UNKNOWN;
    snprintf(all->plan, sizeof all->plan, "%s", config.plan);
    snprintf(all->next, sizeof all->next, "%s", config.next);
    return TAMIS_OK;
}

static tamis_status is_locked(leftover_search *all, bool *is, tamis_error *err) {
    char name[TAMIS__REDIS_KEY], there[TAMIS__REDIS_PLAN];
    size_t size = 0;
    const tamis_key words[] = {tamis__redis_word("GET"), {name, tamis__lock_name(&all->at, name)}};
    tamis_status status = tamis__redis_get_in(&all->at, tamis__config_slot(&all->at), words, 2, there,
                                              sizeof there, &size, err);
    *is = size > 0;
    return status;
}

/* The lock is held. Checks first that it was also held when the hash was read. */
static tamis_status remove_locked(leftover_search *all, size_t count, bool *is_used, tamis_error *err) {
    tamis_redis_leftover_kind kind;
    tamis_status status = check_use(all, all->parts[all->first].generation, is_used, &kind, err);
    if (status == TAMIS_OK && !*is_used && all->is_next) {
        status = tamis__change_begin(&all->at, all->plan, err); /* ends the resize */
        return status == TAMIS_OK ? tamis__told_expire(&all->at, all->next, TAMIS__GRACE_MS, err) : status;
    }
    if (status == TAMIS_OK)
        status = tamis__lock_renew(&all->at, err);
    return status == TAMIS_OK && !*is_used ? run(all, count, put_removal, take_removal, err) : status;
}

/* *is_used: by now it is, and stays. */
static tamis_status remove_with_lock(leftover_search *all, size_t count, bool *is_used, tamis_error *err) {
    tamis_status status = tamis__lock_take(&all->at, err);
    if (status != TAMIS_OK)
        return status;
    status = remove_locked(all, count, is_used, err);
    (void)tamis__lock_leave(&all->at, NULL);
    return status;
}

static tamis_status report(leftover_search *all, size_t count, tamis_error *err) {
    const part *one = &all->parts[all->first];
    tamis_redis_leftover leftover = {.struct_size = sizeof leftover, .generation = one->generation};
    bool is_used = true, is_busy = true;
    all->uri.name = all->text + one->key + PREFIX;
    all->uri.name_size = one->name_size;
    all->at.name = (tamis_key){all->uri.name, all->uri.name_size};
    all->stay = 0;
    tamis_status status = is_locked(all, &is_busy, err);
    if (status == TAMIS_OK && !is_busy)
        status = check_use(all, one->generation, &is_used, &leftover.kind, err);
    if (status != TAMIS_OK || is_busy || is_used)
        return status;
    status = run(all, count, put_ttl, take_ttl, err);
    if (status != TAMIS_OK || all->stay == 0)
        return status;
    if (all->removes)
        status = remove_with_lock(all, count, &is_used, err);
    if (is_used)
        return status;
    leftover.name = all->uri.name;
    leftover.name_size = all->uri.name_size;
    leftover.keys = all->stay;
    return status == TAMIS_OK ? all->sink(all->context, &leftover, err) : status;
}

/* ---- all generations ---- */

static tamis_status visit_generations(leftover_search *all, tamis_error *err) {
    tamis_status status = tamis__redis_uri_check_used(all->at.uri, err);
    if (status == TAMIS_OK && all->at.uri->name_size > TAMIS__REDIS_NAME)
        status = tamis__fail(err, TAMIS_E_INVALID, 0, "%s: the pattern has %zu bytes; give up to %d",
                             all->at.uri->shown, all->at.uri->name_size, TAMIS__REDIS_NAME);
    if (status == TAMIS_OK)
        status = scan(all, err);
    all->uri = *all->at.uri;
    all->at.uri = &all->uri;
    for (size_t i = 0; i < all->count && status == TAMIS_OK; i += 0) {
        all->first = i;
        while (i < all->count && is_of(all, &all->parts[all->first], &all->parts[i]))
            i++;
        status = report(all, i - all->first, err);
    }
    tamis__free(&all->at.redis->allocator, all->parts, all->room * sizeof *all->parts);
    tamis__free(&all->at.redis->allocator, all->text, all->text_size);
    return status;
}

tamis_status tamis_redis_leftovers(tamis_redis *redis, const char *pattern, bool removes,
                                   tamis_redis_leftover_sink sink, void *context, tamis_error *err) {
    const tamis_allocator allocator = tamis__allocator_resolve(redis ? &redis->allocator : NULL);
    TAMIS__NEED(sink, err);
    tamis_redis *found = redis;
    tamis__redis_uri named;
    if (!redis && !pattern)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "redis: neither a server nor a URI to look at; give one of them");
    tamis_status status = tamis__redis_find(&found, &named, pattern ? pattern : "*", &allocator, err);
    if (status == TAMIS_OK) {
        leftover_search all = {.at = {.redis = found, .uri = redis ? &named : &found->uri},
                               .sink = sink,
                               .context = context,
                               .removes = removes};
        status = visit_generations(&all, err);
    }
    tamis__redis_uri_release(&named);
    if (!redis)
        tamis_redis_close(found);
    return status;
}
