/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A filter in memory to a server, layout tamis:
 *
 *     1 lock       tamis:{NAME}:push = plan, for TAMIS__LOCK_MS, renewed on the way: one push of a name at a time
 *     2 announce   HSET tamis:{NAME} pushing = plan
 *     3 make       partitions of a new generation: zeros, and the footers behind
 *     4 fill       SETRANGE of chunks, then a look whether each is there
 *     5 look       whether all footers are there
 *     6 switch     HSET tamis:{NAME} plan = ours, state = ready G, before = what was there
 *     7 retire     partitions of what was there expire in TAMIS__GRACE_MS
 *
 * A resize leaves step 4 to the end. Between 3 and that the plan stands in field next as well, and whoever adds adds to both
 * (mirror in layout_tamis.c): an add whose batch did not see it there was carried out before, and has to be among the keys
 * that come in step 4. Those are united with what is there by then. The lock is held at both ends only; whoever takes it
 * between removes the field, and the resize finds that it has lost.
 *
 * Invariants: (1) footers are written before the first chunk is, and never again: a partition that was lost on the way
 * has none for ever, whatever was written to it after. (2) Every generation that has partitions stands in plan, before or
 * pushing, so that the next push (or a drop) removes what one that was killed left behind; until the switch they expire by
 * themselves as well. (3) What clients use is changed by step 6 alone.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/versioned.h"
#include "store/redis/bitmap_move.h"
#include "store/redis/layout_tamis.h"

enum { LIFETIME_MS = 3600000 /* and a second for each mebibyte */ };

typedef struct push {
    const tamis_filter *filter; /* NULL: an empty one */
    tamis_filter *made;         /* the handle of what is made */
    tamis__redis_filter *at;
    tamis__config config; /* of what is there */
    char plan[TAMIS__REDIS_PLAN];
    char hash[TAMIS__REDIS_KEY], lock[TAMIS__REDIS_KEY];
    size_t hash_size, lock_size;
    const tamis_redis_push_options *options;
    bool is_switching; /* the switch was asked for, and perhaps made */
    bool has_lost;     /* what is announced is another's by now */
} push;

/* ---- steps ---- */

static tamis_status check_filter(const tamis_filter *filter, tamis_error *err) {
    if (filter->plan.kind != TAMIS_KIND_BLOCKED || !tamis__has_scheme(filter->hasher->scheme))
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "push: kind %s with scheme %s is not kept in a Redis; build it with kind blocked "
                           "and scheme xxh3, sip or guava64",
                           tamis_kind_name(filter->plan.kind), tamis_scheme_name(filter->hasher->scheme));
    return TAMIS_OK;
}

static tamis_status check_hash(const push *p, const tamis__told *old, tamis_error *err) {
    const tamis_hasher *hasher = p->made->hasher;
    if (strcmp(old->scheme, tamis_scheme_name(hasher->scheme)) == 0 && old->seed == hasher->seed &&
        old->secret == hasher->secret_print)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: what is there has another scheme, seed or secret, and programs that "
                       "have it open could not follow; drop it first, or push under another name",
                       p->at->redis->to.shown, p->at->uri->named);
}

/* For a new generation, of what p->made has as its plan. */
static tamis_status name_it(push *p, tamis_error *err) {
    tamis_status status = tamis__generation_new(p->at, err);
    tamis__told_write(p->made, p->plan);
    p->hash_size = tamis__config_name(p->at, p->hash);
    p->lock_size = tamis__lock_name(p->at, p->lock);
    return status;
}

/* All that is known before anything is written. */
static tamis_status plan_push(push *p, tamis_error *err) {
    tamis__redis_filter *at = p->at;
    tamis__told old;
    p->made->plan = p->filter->plan;
    p->made->about.told.key_type = p->filter->about.told.key_type;
    p->made->plan.scheme = p->filter->hasher->scheme;
    at->seed = p->filter->hasher->seed;
    tamis_status status = tamis__hasher_copy(&p->made->hasher, p->filter->hasher, err);
    if (status == TAMIS_OK)
        status = tamis__config_find(at, &p->config, err);
    const bool is_there = status == TAMIS_OK && *p->config.plan;
    if (is_there)
        status = tamis__told_read(at, p->config.plan, &old, err);
    if (status == TAMIS_OK && is_there)
        status = check_hash(p, &old, err);
    if (status == TAMIS_OK)
        status = tamis__partitions_choose(p->made, is_there ? &old : NULL, err);
    if (status != TAMIS_OK)
        return status;
    memcpy(at->target, p->config.target, p->config.target_size);
    at->target_size = p->config.target_size;
    return name_it(p, err);
}

/* What a push that was killed left: nobody uses what it was making, somebody may use what it replaced. */
static tamis_status tidy(const push *p, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    if (*p->config.pushing && strcmp(p->config.pushing, p->config.plan) != 0)
        status = tamis__told_expire(p->at, p->config.pushing, -1, err);
    if (status == TAMIS_OK && *p->config.before)
        status = tamis__told_expire(p->at, p->config.before, TAMIS__GRACE_MS, err);
    return status;
}

/* The hash of the filter that was named first: an alias may stand for another by now. */
static tamis_status find_config(push *p, tamis_error *err) {
    const tamis__redis_filter *at = p->at;
    tamis_status status = tamis__config_find(at, &p->config, err);
    if (status != TAMIS_OK || (p->config.target_size == at->target_size &&
                               memcmp(p->config.target, at->target, at->target_size) == 0))
        return status;
    return tamis__fail(
        err, TAMIS_E_MISMATCH, 0,
        "redis %s: %s: stands for another filter since this began, and nothing was replaced; see who "
        "changes aliases, and try again",
        at->redis->to.shown, at->uri->named);
}

static tamis_status announce(push *p, tamis_error *err) {
    const tamis_key next[] = {tamis__redis_word("HDEL"), {p->hash, p->hash_size}, tamis__redis_word("next")};
    const tamis_key words[] = {tamis__redis_word("HSET"),
                               {p->hash, p->hash_size},
                               tamis__redis_word("pushing"),
                               tamis__redis_word(p->plan)};
    tamis_status status = find_config(p, err); /* as it is since the lock was taken */
    if (status == TAMIS_OK && *p->config.next)
        status = tamis__redis_command(p->at, next, 3, NULL, err);
    if (status == TAMIS_OK)
        status = tidy(p, err);
    if (status == TAMIS_OK)
        status = tamis__redis_command(p->at, words, 4, NULL, err);
    return status;
}

static tamis_status upload(const push *p, tamis_error *err) {
    size_t count;
    const tamis__upload bits = {.there = p->made,
                                .words = tamis__bloom_words(p->filter, &count),
                                .key_name = tamis__partition_name,
                                .renewed = p->lock,
                                .renewed_size = p->lock_size,
                                .renewed_ms = TAMIS__LOCK_MS,
                                .progress = p->options->progress,
                                .context = p->options->context};
    return tamis__upload_run(&bits, err);
}

static tamis_status fill(const push *p, tamis_error *err) {
    const uint64_t lifetime = LIFETIME_MS + p->made->plan.bits / 8 / TAMIS__CHUNK * 1000;
    tamis_status status = tamis__partitions_make(p->made, err);
    if (status == TAMIS_OK)
        status = tamis__partitions_expire(p->at, NULL, (int64_t)lifetime, err);
    if (status == TAMIS_OK && p->filter)
        status = upload(p, err);
    if (status == TAMIS_OK) /* until the hash expires: they are to outlive it */
        status = tamis__partitions_expire(p->at, NULL, 0, err);
    return status == TAMIS_OK ? tamis__footers_check(p->made, err) : status;
}

/* What is there by now is what is replaced: somebody may have made or dropped it meanwhile. */
static tamis_status switch_over(push *p, tamis_error *err) {
    char state[TAMIS__REDIS_STATE];
    tamis_status status = tamis__lock_check(p->at, p->plan, err);
    if (status == TAMIS_OK)
        status = find_config(p, err);
    if (status != TAMIS_OK)
        return status;
    p->is_switching = true;
    tamis__state_write(p->at, state);
    const tamis_key words[] = {tamis__redis_word(tamis__redis_hset(p->at->redis)),
                               {p->hash, p->hash_size},
                               tamis__redis_word("plan"),
                               tamis__redis_word(p->plan),
                               tamis__redis_word("state"),
                               tamis__redis_word(state),
                               tamis__redis_word("before"),
                               tamis__redis_word(p->config.plan)};
    return tamis__redis_command(p->at, words, 8, NULL, err);
}

/* It expires when what it replaces would have, where the URI says nothing. */
static tamis_status keep_expiry(const push *p, tamis_error *err) {
    if (p->at->ttl_ms > 0)
        return TAMIS_OK;
    return tamis__redis_ttl(p->at, (tamis_key){p->hash, p->hash_size}, &p->at->ttl_ms, err);
}

static tamis_status retire(const push *p, tamis_error *err) {
    /* After the switch: what was there keeps its own time if that fails. */
    tamis_status status = tamis__redis_expire(p->at, (tamis_key){p->hash, p->hash_size}, p->at->ttl_ms, err);
    if (status == TAMIS_OK && p->at->ttl_ms > 0)
        status = tamis__partitions_expire(p->at, NULL, (int64_t)p->at->ttl_ms, err);
    if (status == TAMIS_OK && *p->config.plan)
        status = tamis__told_expire(p->at, p->config.plan, TAMIS__GRACE_MS, err);
    return status;
}

/* Where the switch was asked for and no answer came, it may be made yet: what is announced stays so, for the next who has
 * the lock to tidy up. */
static void leave(const push *p, bool done) {
    const tamis_key announced[] = {tamis__redis_word("HDEL"),
                                   {p->hash, p->hash_size},
                                   tamis__redis_word("pushing"),
                                   tamis__redis_word("next")};
    const bool is_ours = tamis__lock_check(p->at, p->plan, NULL) == TAMIS_OK;
    if (is_ours && !p->has_lost && (done || !p->is_switching))
        (void)tamis__redis_command(p->at, announced, 4, NULL, NULL);
    if (!p->is_switching) /* nobody but us knows of these any more */
        (void)tamis__partitions_expire(p->at, NULL, -1, NULL);
    if (is_ours)
        (void)tamis__lock_leave(p->at, NULL);
}

/* `stands`: NULL, or the plan that has to stand. */
static tamis_status replace(push *p, const char *stands, tamis_error *err) {
    tamis_status status = tamis__lock_take(p->at, p->plan, err);
    if (status == TAMIS_OK)
        status = announce(p, err);
    if (status == TAMIS_OK && stands && strcmp(stands, p->config.plan) != 0)
        status = tamis__lock_busy(p->at, err);
    if (status == TAMIS_OK)
        status = fill(p, err);
    if (status == TAMIS_OK)
        status = keep_expiry(p, err);
    if (status == TAMIS_OK)
        status = switch_over(p, err);
    if (status == TAMIS_OK)
        status = retire(p, err);
    leave(p, status == TAMIS_OK);
    return status;
}

static tamis_status push_tamis(push *p, tamis_error *err) {
    tamis_status status = check_filter(p->filter, err);
    if (status == TAMIS_OK)
        status = plan_push(p, err);
    return status == TAMIS_OK ? replace(p, NULL, err) : status;
}

tamis_status tamis_redis_push(const tamis_filter *filter, tamis_redis *redis, const char *name,
                              const tamis_redis_push_options *given, tamis_error *err) {
    tamis_redis_push_options options = TAMIS_REDIS_PUSH_OPTIONS_INIT;
    push p = {.filter = filter, .options = &options};
    tamis_status status =
        tamis__take_options(&options, sizeof options, given, "TAMIS_REDIS_PUSH_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__filter_check_local(filter, "push", err);
    if (status == TAMIS_OK)
        status = tamis__redis_name(&p.made, redis, name, &filter->allocator, err);
    if (status != TAMIS_OK)
        return status;
    p.at = tamis__redis_of(p.made);
    tamis__filter_keep(filter);
    status = tamis_filter_verify(filter, err);
    if (status == TAMIS_OK && p.at->layout == &tamis__layout_tamis)
        status = push_tamis(&p, err);
    else if (status == TAMIS_OK)
        status = tamis__redis_replace(p.made, filter, &options, err);
    tamis__filter_let_go(filter);
    tamis_filter_free(p.made);
    return status;
}

/* It expires when what it replaces would have. */
tamis_status tamis__push_empty(const tamis_filter *there, tamis_error *err) {
    const tamis_redis_push_options options = TAMIS_REDIS_PUSH_OPTIONS_INIT;
    tamis_filter copy = *there;
    tamis__redis_filter at = *tamis__redis_of(there);
    push p = {.made = &copy, .at = &at, .options = &options};
    copy.body = &at;
    at.ttl_ms = 0;
    tamis_status status = name_it(&p, err);
    return status == TAMIS_OK ? replace(&p, at.plan_text, err) : status;
}

/* ---- resize ---- */

struct tamis_redis_resize {
    push p;
    tamis_redis_push_options options;
    tamis_allocator allocator;
};

/* A hash that expires takes all knowledge of them with it. */
static tamis_status expire_with_hash(const push *p, tamis_error *err) {
    uint64_t left = 0;
    tamis_status status = tamis__redis_ttl(p->at, (tamis_key){p->hash, p->hash_size}, &left, err);
    if (status != TAMIS_OK || left == 0)
        return status;
    return tamis__partitions_expire(p->at, NULL, (int64_t)(left + TAMIS__GRACE_MS), err);
}

static tamis_status set_next(const push *p, tamis_error *err) {
    const tamis_key words[] = {tamis__redis_word("HSET"),
                               {p->hash, p->hash_size},
                               tamis__redis_word("next"),
                               tamis__redis_word(p->plan)};
    tamis_status status = tamis__lock_check(p->at, p->plan, err);
    return status == TAMIS_OK ? tamis__redis_command(p->at, words, 4, NULL, err) : status;
}

static tamis_status nothing_there(const push *p, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_ABSENT, 0, "redis %s: %s: there is no such filter; build it",
                       p->at->redis->to.shown, p->at->uri->shown);
}

static tamis_status begin_resize(push *p, tamis_error *err) {
    tamis_status status = check_filter(p->filter, err);
    if (status == TAMIS_OK && p->at->layout != &tamis__layout_tamis)
        status = tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                             "%s: layout %s cannot be resized while it is used; push another in its place",
                             p->at->uri->shown, p->at->layout->name);
    if (status == TAMIS_OK) /* before anybody's adds are doubled: see tamis__unite */
        status = tamis__redis_must_know(p->at->redis, p->at->uri->shown, "BITOP", "push another in its place",
                                        err);
    if (status == TAMIS_OK)
        status = plan_push(p, err);
    if (status != TAMIS_OK)
        return status;
    p->filter = NULL;
    status = tamis__lock_take(p->at, p->plan, err);
    if (status == TAMIS_OK)
        status = announce(p, err);
    if (status == TAMIS_OK && !*p->config.plan)
        status = nothing_there(p, err);
    if (status == TAMIS_OK)
        status = fill(p, err);
    if (status == TAMIS_OK)
        status = expire_with_hash(p, err);
    if (status == TAMIS_OK)
        status = set_next(p, err);
    if (status == TAMIS_OK)
        return tamis__lock_leave(p->at, err);
    leave(p, false);
    return status;
}

tamis_status tamis_redis_resize_begin(tamis_redis_resize **resize, const tamis_filter *like,
                                      tamis_redis *redis, const char *name, tamis_error *err) {
    tamis_redis_resize *made;
    tamis_status status = tamis__filter_check_local(like, "resize", err);
    if (status != TAMIS_OK)
        return status;
    made = tamis__alloc(&like->allocator, sizeof *made, _Alignof(tamis_redis_resize));
    if (!made)
        return tamis__fail_nomem(err, "redis", sizeof *made);
    made->allocator = like->allocator;
    made->options = (tamis_redis_push_options)TAMIS_REDIS_PUSH_OPTIONS_INIT;
    made->p = (push){.filter = like, .options = &made->options};
    status = tamis__redis_name(&made->p.made, redis, name, &like->allocator, err);
    if (status == TAMIS_OK) {
        made->p.at = tamis__redis_of(made->p.made);
        status = begin_resize(&made->p, err);
    }
    if (status == TAMIS_OK) {
        *resize = made;
        return TAMIS_OK;
    }
    tamis_filter_free(made->p.made);
    tamis__free(&like->allocator, made, sizeof *made);
    return status;
}

static tamis_status finish_resize(push *p, const tamis_filter *filter, tamis_error *err) {
    const tamis_key lock = {p->lock, p->lock_size};
    tamis_status status = tamis__unite(p->made, filter, &lock, err);
    if (status == TAMIS_OK)
        status = tamis__footers_check(p->made, err);
    if (status == TAMIS_OK)
        status = keep_expiry(p, err);
    if (status == TAMIS_OK)
        status = switch_over(p, err);
    return status == TAMIS_OK ? retire(p, err) : status;
}

static tamis_status end_resize(push *p, const tamis_filter *filter, tamis_error *err) {
    tamis_status status = tamis__lock_take(p->at, p->plan, err);
    if (status == TAMIS_OK)
        status = find_config(p, err);
    p->has_lost = status != TAMIS_OK || strcmp(p->config.next, p->plan) != 0;
    if (status == TAMIS_OK && p->has_lost)
        status =
            tamis__fail(err, TAMIS_E_MISMATCH, 0,
                        "redis %s: %s: was replaced, dropped or resized by another meanwhile, and stays so; "
                        "resize it again",
                        p->at->redis->to.shown, p->at->uri->shown);
    if (status == TAMIS_OK && filter)
        status = finish_resize(p, filter, err);
    leave(p, status == TAMIS_OK && filter);
    return status;
}

tamis_status tamis_redis_resize_end(tamis_redis_resize *resize, const tamis_filter *filter,
                                    tamis_error *err) {
    if (!resize)
        return TAMIS_OK;
    const tamis_allocator allocator = resize->allocator;
    tamis_status status = filter ? tamis__filter_check_local(filter, "resize", err) : TAMIS_OK;
    if (filter && status != TAMIS_OK)
        (void)end_resize(&resize->p, NULL, NULL);
    if (filter && status == TAMIS_OK) {
        tamis__filter_keep(filter);
        status = tamis_filter_verify(filter, err);
        if (status == TAMIS_OK)
            status = end_resize(&resize->p, filter, err);
        else
            (void)end_resize(&resize->p, NULL, NULL);
        tamis__filter_let_go(filter);
    }
    if (!filter)
        status = end_resize(&resize->p, NULL, err);
    tamis_filter_free(resize->p.made);
    tamis__free(&allocator, resize, sizeof *resize);
    return status;
}
