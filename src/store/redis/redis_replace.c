/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A filter in memory to a server, in a layout that keeps its bits in one Redis key and knows no alias (java, redisson, and
 * where they have one, php1 to php3):
 *
 *     1 make      a string of zeros beside the key, which expires
 *     2 fill      SETRANGE of chunks, then a look whether each is there, and whether the length is that of the filter
 *     3 expire    the time that the URI says, or what is left to that which is there
 *     4 rename    it over the key, at one instant
 *
 *     bf:seen       the filter                bf:{u}seen               has a hash tag, which counts for both
 *     {bf:seen}:push-R   what is made         bf:{u}seen:push-R        R by chance
 *
 * So in a cluster both are in one slot; servers that go by other rules are asked where the key itself is. What is used is
 * changed by step 4 alone. Where the answer to that is lost and it is asked again, there is nothing left to rename: then
 * what has the name is read, and has to hold all that was sent.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "base/versioned.h"
#include "plan/plan_int.h"
#include "store/redis/bitmap_move.h"

enum { LIFETIME_MS = 3600000 /* and a second for each mebibyte */ };

typedef struct replacement {
    tamis_filter *made; /* the handle of what is there */
    tamis__redis_filter *at;
    const tamis_filter *filter;
    char key[TAMIS__REDIS_KEY], beside[TAMIS__REDIS_KEY];
    size_t key_size, beside_size;
} replacement;

/* ---- names ---- */

static size_t beside_name(const tamis__redis_filter *at, uint32_t key, char *to) {
    char name[TAMIS__REDIS_KEY];
    const size_t size = at->layout->key_name(at, key, name);
    size_t used = 0, tag_size = size;
    const bool tagged = tamis__cluster_tag(name, &tag_size) != NULL;
    if (!tagged)
        to[used++] = '{';
    memcpy(to + used, name, size);
    used += size;
    return used + (size_t)snprintf(to + used, TAMIS__REDIS_KEY - used, "%s:%s", tagged ? "" : "}", at->aside);
}

static tamis_status name_it(replacement *r, tamis_error *err) {
    tamis__redis_filter *at = r->at;
    uint32_t random;
    tamis_status status = tamis__random(&random, sizeof random, at->uri->shown, err);
    if (status != TAMIS_OK)
        return status;
    snprintf(at->aside, sizeof at->aside, "push-%08" PRIx32, random);
    r->key_size = at->layout->key_name(at, 0, r->key);
    r->beside_size = beside_name(at, 0, r->beside);
    if (at->redis->uri.kind != TAMIS__REDIS_CLUSTER ||
        tamis__redis_slot(at->redis, r->beside, r->beside_size) == tamis__redis_key_slot(at, 0))
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%s: has a } in its name and no hash tag, so that no other key can be in its slot of the "
        "cluster; choose another name",
        at->uri->shown);
}

/* ---- commands, all of them where the key is ---- */

static tamis_status command(const replacement *r, const tamis_key *words, size_t count, int64_t *answer,
                            tamis_error *err) {
    return tamis__redis_command_in(r->at, tamis__redis_key_slot(r->at, 0), words, count, answer, err);
}

static tamis_status ask_beside(const replacement *r, const char *name, int64_t *answer, tamis_error *err) {
    const tamis_key words[] = {tamis__redis_word(name), {r->beside, r->beside_size}};
    return command(r, words, 2, answer, err);
}

/* None where ms is 0. */
static tamis_status expire(const replacement *r, tamis_key key, uint64_t ms, tamis_error *err) {
    return tamis__redis_expire_in(r->at, tamis__redis_key_slot(r->at, 0), key, ms, err);
}

/* ---- steps ---- */

/* The plan of what is there, or comes of the URI; with `plans` nothing is made. */
static tamis_status plan_it(tamis_filter *made, bool plans, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(made);
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    options.create = true;
    at->plans = plans;
    tamis_hasher_free(made->hasher);
    made->hasher = NULL;
    tamis_status status = at->layout->open(made, &options, err);
    return status == TAMIS_OK ? tamis__redis_check_moves(at, err) : status;
}

static tamis_status check_alike(const replacement *r, tamis_error *err) {
    return tamis__check_alike(r->made, r->filter, "push",
                              "build it for that URI, or give the parameters that it was made with", err);
}

/* RENAME would not mind what else has the name; STRLEN does. */
static tamis_status check_type(const replacement *r, tamis_error *err) {
    const tamis_key words[] = {tamis__redis_word("STRLEN"), {r->key, r->key_size}};
    return command(r, words, 2, NULL, err);
}

static tamis_status make(const replacement *r, tamis_error *err) {
    const uint64_t bytes = r->made->plan.memory;
    char last[24];
    snprintf(last, sizeof last, "%" PRIu64, bytes - 1);
    const tamis_key words[] = {
        tamis__redis_word("SETRANGE"), {r->beside, r->beside_size}, tamis__redis_word(last), {"", 1}};
    tamis_status status = command(r, words, 4, NULL, err);
    if (status != TAMIS_OK)
        return status;
    return expire(r, words[1], LIFETIME_MS + bytes / TAMIS__CHUNK * 1000, err);
}

/* Guard: the string being filled still exists. It is renamed when complete, so a late chunk does nothing. */
static tamis_key guard_beside(const tamis_filter *made, uint32_t key, tamis__step *step,
                              tamis__partition_room *room) {
    const tamis_key name = {room->name, beside_name(tamis__redis_of(made), key, room->name)};
    tamis__step_key(step, name);
    tamis__step_expect(step, tamis__redis_word("1"), TAMIS__WORDS(tamis__redis_word("EXISTS"), name));
    return name;
}

static tamis_status fill(const replacement *r, const tamis_redis_push_options *options, tamis_error *err) {
    size_t count;
    int64_t size = 0;
    const tamis__upload bits = {.there = r->made,
                                .words = tamis__bloom_words(r->filter, &count),
                                .key_name = beside_name,
                                .guard = guard_beside,
                                .progress = options->progress,
                                .context = options->context};
    tamis_status status = tamis__upload_run(&bits, err);
    if (status == TAMIS_OK)
        status = ask_beside(r, "STRLEN", &size, err);
    if (status == TAMIS_OK && (uint64_t)size != r->made->plan.memory)
        return tamis__fail(
            err, TAMIS_E_IO, 0,
            "redis %s: %s: what was sent has %" PRId64 " bytes there and not %" PRIu64
            " (evicted, or lost in a failover); see to it that it has the memory, and push again",
            r->at->redis->to.shown, r->at->uri->named, size, r->made->plan.memory);
    return status;
}

/* Redisson's hash, where it is not there. */
static tamis_status make_config(const replacement *r, tamis_error *err) {
    tamis_status status = plan_it(r->made, false, err);
    return status == TAMIS_OK ? check_alike(r, err) : status;
}

/* Nothing is beside any more: whether all that was sent is under the name. */
static tamis_status check_sent(const replacement *r, tamis_error *err) {
    tamis_filter *pulled;
    size_t count;
    tamis_status status = tamis_redis_pull(r->made, &pulled, err);
    if (status != TAMIS_OK)
        return status;
    const uint64_t *sent = tamis__bloom_words(r->filter, &count), *there = tamis__bloom_words(pulled, &count);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        if (sent[i] & ~there[i])
            status = tamis__fail(err, TAMIS_E_IO, 0,
                                 "redis %s: %s: what was sent is not there any more (evicted, or lost in a "
                                 "failover); see to it that it has the memory, and push again",
                                 r->at->redis->to.shown, r->at->uri->named);
    tamis_filter_free(pulled);
    return status;
}

static tamis_status rename_it(const replacement *r, tamis_error *err) {
    const tamis_key words[] = {
        tamis__redis_word("RENAME"), {r->beside, r->beside_size}, {r->key, r->key_size}};
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = command(r, words, 3, NULL, &why);
    if (status == TAMIS_E_REFUSED && strstr(why.text, "no such key"))
        return check_sent(r, err);
    if (status == TAMIS_E_REFUSED && strcasestr(why.text, "rename"))
        return tamis__fail(
            err, TAMIS_E_REFUSED, 0,
            "redis %s: %s: the server refuses RENAME, by which alone a filter of layout %s is "
            "replaced at once, and what was there is as it was; allow it, or drop the filter and "
            "add the keys themselves",
            r->at->redis->to.shown, r->at->uri->named, r->at->layout->name);
    if (status != TAMIS_OK && err)
        *err = why;
    return status;
}

/* Redisson's hash lives as long as the bits. */
static tamis_status finish(const replacement *r, tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    bool again;
    if (!r->at->layout->config_name)
        return TAMIS_OK;
    const tamis_key config = {name, r->at->layout->config_name(r->at, name)};
    tamis_status status = expire(r, config, r->at->ttl_ms, err);
    return status == TAMIS_OK ? tamis__redis_check(r->made, false, &again, err) : status;
}

static tamis_status keep_expiry(const replacement *r, tamis_error *err) {
    const tamis_key words[] = {tamis__redis_word("PTTL"), {r->key, r->key_size}};
    int64_t left = 0;
    if (r->at->ttl_ms > 0)
        return TAMIS_OK;
    tamis_status status = command(r, words, 2, &left, err);
    r->at->ttl_ms = left > 0 ? (uint64_t)left : 0;
    return status;
}

static tamis_status run(const replacement *r, const tamis_redis_push_options *options, tamis_error *err) {
    int64_t removed;
    tamis_status status = make(r, err);
    if (status == TAMIS_OK)
        status = fill(r, options, err);
    if (status == TAMIS_OK && r->at->layout->config_name)
        status = make_config(r, err);
    if (status == TAMIS_OK)
        status = keep_expiry(r, err);
    if (status == TAMIS_OK)
        status = expire(r, (tamis_key){r->beside, r->beside_size}, r->at->ttl_ms, err);
    if (status == TAMIS_OK)
        status = rename_it(r, err);
    if (status != TAMIS_OK) {
        (void)ask_beside(r, tamis__redis_unlink(r->at->redis), &removed, NULL);
        return status;
    }
    return finish(r, err);
}

tamis_status tamis__redis_replace(tamis_filter *made, const tamis_filter *filter,
                                  const tamis_redis_push_options *options, tamis_error *err) {
    replacement r = {.made = made, .at = tamis__redis_of(made), .filter = filter};
    tamis_status status = tamis__redis_must_know(r.at->redis, r.at->uri->shown, "RENAME",
                                                 "push into layout tamis, or add the keys themselves", err);
    if (status == TAMIS_OK)
        status = plan_it(made, true, err);
    if (status == TAMIS_OK)
        status = check_alike(&r, err);
    if (status == TAMIS_OK)
        status = name_it(&r, err);
    if (status == TAMIS_OK)
        status = check_type(&r, err);
    return status == TAMIS_OK ? run(&r, options, err) : status;
}

/* `want` counts for layout tamis alone, and may be NULL for the others. */
tamis_status tamis_redis_plan_for(tamis_plan *plan, const tamis_plan_options *want, tamis_redis *redis,
                                  const char *name, tamis_error *err) {
    TAMIS__NEED(name, err);
    tamis_plan made = TAMIS_PLAN_INIT;
    const tamis_plan_options none = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan_options taken = TAMIS_PLAN_OPTIONS_INIT;
    tamis_filter *named;
    tamis_status status = tamis__plan_read_options(&taken, want ? want : &none, plan, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__redis_name(&named, redis, name, NULL, err);
    if (status != TAMIS_OK)
        return status;
    if (tamis__redis_of(named)->layout == &tamis__layout_tamis) {
        status = tamis_redis_plan_make(&made, want, err);
    } else {
        status = plan_it(named, true, err);
        made = named->plan;
    }
    if (status == TAMIS_OK)
        tamis__write_struct(plan, &made, sizeof made);
    tamis_filter_free(named);
    return status;
}
