/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Our own layout (docs/REDIS-LAYOUT.md): a filter of kind blocked, cut into partitions.
 *
 *     tamis:{NAME}                  hash:   plan -> "layout=2 kind=blocked ... generation=G"
 *     tamis:{NAME}:plan             string: a copy of that text, which shows that a missing hash was deleted
 *     tamis:{NAME:G:0}:bits         string: | block 0 | block 1 | ... | footer |       64 bytes each
 *     tamis:{NAME:G:1}:bits                 | block of the next ...   | footer |
 *
 * The plan is one field of the hash. One step sets or replaces it (redis_step.c) when all partitions are whole. Each time the
 * filter is made it gets a new generation G, so old bits are never taken for new ones.
 *
 * A partition that the server evicted, or that somebody deleted or cut short, has no footer: a batch that touched it
 * fails rather than call keys absent that were in it.
 *
 * tamis:{NAME} may hold alias -> "TARGET" instead, or beside a plan, which then does not count: NAME stands for the
 * filter TARGET. Every batch ends with a look at the plan, and at the alias it came by. Where they are others than when it
 * began, the handle becomes the filter that has the name now, and asks the whole batch again: so a push (redis_push.c) and
 * a new alias take effect for everyone by one step, while what was replaced stays for TAMIS__GRACE_MS.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/system.h"
#include "filter/kernels/filter_kernels.h"
#include "store/file_error.h"
#include "store/redis/layout_tamis.h"

enum { BLOCK_BITS = 8 * TAMIS__REDIS_BLOCK, FOLLOW_MOST = 32 /* replacements during one batch */ };

/* ---- following ---- */

static tamis_status gone(const tamis__redis_filter *at, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_NOT_FOUND, 0,
        "redis %s: %s: was dropped, or expired, while it was open, or its server was started again "
        "without its data; open it anew",
        at->redis->to.shown, at->uri->named);
}

static bool has_target(const tamis__redis_filter *at, const tamis__config *config) {
    return at->target_size == config->target_size && memcmp(at->target, config->target, at->target_size) == 0;
}

static bool is_same(const tamis__redis_filter *at, const tamis__config *config) {
    return strcmp(at->plan_text, config->plan) == 0 && has_target(at, config);
}

/* Becomes the filter that has the name now. A handle is used by one thread at a time, so a question may do that too. */
static tamis_status follow(const tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis__config config;
    tamis_status status = tamis__config_find(at, &config, err);
    if (status != TAMIS_OK)
        return status;
    if (!*config.plan && config.target_size > 0)
        return tamis__target_gone(at, &config, err);
    if (!*config.plan)
        return gone(at, err);
    at->looked_at = tamis__now_ns();
    if (is_same(at, &config))
        return TAMIS_OK;
    return tamis__handle_become((tamis_filter *)(uintptr_t)filter, &config, err);
}

static tamis_status refresh(const tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    at->replaced = at->retired = false;
    at->cut_from = 0;
    at->followed = 0;
    if (tamis__now_ns() - at->looked_at < UINT64_C(1000000) * TAMIS__TRUST_MS)
        return TAMIS_OK;
    return follow(filter, err);
}

/* Whether a hash with this plan, empty where it has none, is no more of our generation. */
static bool retires(const tamis__redis_filter *at, const char *plan) {
    tamis__told now;
    return !*plan || (tamis__told_read(at, plan, &now, NULL) == TAMIS_OK && now.generation != at->generation);
}

/* A footer was missing. Of several servers, which answer in no order, the plan may have been read before it was replaced
 * and the footer after: only a plan that still stands says that the footer is to be there. */
static tamis_status look_again(tamis__redis_filter *at, tamis_error *err) {
    tamis__config config;
    tamis_status status = tamis__config_find(at, &config, err);
    if (status != TAMIS_OK || is_same(at, &config))
        return status;
    at->replaced = true;
    at->retired = has_target(at, &config) && retires(at, config.plan);
    return TAMIS_OK;
}

/* ---- elements ---- */

static void place(const tamis_filter *filter, const tamis__key_batch *asked, size_t i, tamis__spot *spot) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_hash hash;
    if (asked->hashes)
        hash = asked->hashes[i];
    else
        tamis_hash_many(filter->hasher, &asked->keys[i], 1, &hash, NULL); /* both schemes have digests */
    uint64_t block = tamis__mulhi(hash.word[1], tamis__blocks_of(filter));
    spot->server = 0;
    spot->key = (uint32_t)(block / at->partition);
    spot->block = block % at->partition * TAMIS__REDIS_BLOCK;
    tamis__block_positions(&hash, filter->plan.probes, spot->offsets);
    for (uint32_t j = 0; j < filter->plan.probes; j++)
        spot->offsets[j] += spot->block * 8;
}

/* ---- checks: the footer of each partition touched, the plan, the alias; and the hash's expiry ---- */

enum { CHECK_PLAN, CHECK_ALIAS, CHECK_EXPIRY, CHECKS };

static size_t count_footers(const tamis__redis_filter *at) {
    return at->is_family ? 0 : at->keys;
}

static size_t check_count(const tamis_filter *filter) {
    return count_footers(tamis__redis_of(filter)) + CHECKS;
}

/* Renews the expiry of the hash and of the plan's copy. A late command changes no other filter's expiry. */
typedef struct renewal {
    tamis__step step;
    char name[TAMIS__REDIS_KEY], copy_name[TAMIS__REDIS_KEY], digits[24], copy_digits[24];
} renewal;

static void write_renewal(const tamis__redis_filter *at, renewal *to) {
    to->step = (tamis__step){.key_count = 0};
    const tamis_key hash = tamis__plan_guard(at, &to->step, at->plan_text, to->name);
    const tamis_key copy = {to->copy_name, tamis__copy_name(at, to->copy_name)};
    tamis__step_key(&to->step, copy);
    tamis__step_expire(&to->step, copy, at->ttl_ms, to->copy_digits); /* not to outlive the hash */
    tamis__step_expire(&to->step, hash, at->ttl_ms, to->digits);
}

static bool renews(const tamis__redis_filter *at, const tamis__touched *batch) {
    return batch->adds && at->ttl_ms > 0 && (at->renews_on_add || at->is_family);
}

/* A transaction has no place in a pipeline: it comes behind. */
static tamis_status renew_behind(tamis__redis_filter *at, const tamis__touched *batch, tamis_error *err) {
    renewal one;
    if (!at->redis->forbids_scripts || !renews(at, batch))
        return TAMIS_OK;
    write_renewal(at, &one);
    return tamis__step_run(at, &one.step, &(bool){false}, err);
}

static bool check_query(const tamis_filter *filter, const tamis__touched *batch, size_t i,
                        tamis__link *link) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const size_t footers = count_footers(at);
    char name[TAMIS__REDIS_KEY];
    if (i < footers) {
        if (batch->touched[i])
            tamis__footer_ask(filter, (uint32_t)i, link);
        return batch->touched[i];
    }
    i -= footers;
    if ((i == CHECK_ALIAS && at->target_size == 0) ||
        (i == CHECK_EXPIRY && (at->redis->forbids_scripts || !renews(at, batch))))
        return false; /* a family's members are made one after the other, and it outlives them all */
    size_t size = i == CHECK_ALIAS ? tamis__alias_name(at, name) : tamis__config_name(at, name);
    if (i == CHECK_EXPIRY) {
        renewal one;
        write_renewal(at, &one);
        tamis__step_put(&one.step, link);
        return true;
    }
    tamis__link_command(link, i == CHECK_PLAN ? 5 : 3);
    tamis__link_text(link, i == CHECK_PLAN ? "HMGET" : "HGET");
    tamis__link_word(link, name, size);
    if (i == CHECK_PLAN)
        tamis__link_text(link, "plan");
    tamis__link_text(link, "alias");
    if (i == CHECK_PLAN)
        tamis__link_text(link, "next");
    return true;
}

static uint32_t check_slot(const tamis_filter *filter, const tamis__touched *batch, size_t i) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const size_t footers = count_footers(at);
    char name[TAMIS__REDIS_KEY];
    if (i < footers)
        return batch->touched[i] ? tamis__redis_key_slot(at, i) : TAMIS__NO_SLOT;
    const size_t size =
        i - footers == CHECK_ALIAS ? tamis__alias_name(at, name) : tamis__config_name(at, name);
    return tamis__redis_slot(at->redis, name, size);
}

static tamis_status take_plan(tamis__redis_filter *at, const tamis__reply *reply, tamis_error *err) {
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != 3 ||
        (reply->items[0].type != TAMIS__REPLY_STRING && reply->items[0].type != TAMIS__REPLY_NIL))
        return tamis__redis_strange(at, err);
    const tamis__reply *plan = &reply->items[0], *next = &reply->items[2];
    snprintf(at->next_text, sizeof at->next_text, "%s", next->type == TAMIS__REPLY_STRING ? next->text : "");
    const char *text = plan->type == TAMIS__REPLY_STRING ? plan->text : "";
    const bool stands = strcmp(text, at->plan_text) == 0;
    at->replaced = at->replaced || !stands || reply->items[1].type != TAMIS__REPLY_NIL;
    at->retired = at->retired || (!stands && retires(at, text));
    return TAMIS_OK;
}

static tamis_status check_take(const tamis_filter *filter, size_t i, const tamis__reply *reply,
                               tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    const size_t footers = count_footers(at);
    if (i == footers + CHECK_PLAN)
        return take_plan(at, reply, err);
    if (i == footers + CHECK_EXPIRY)
        return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(at, err);
    if (i == footers + CHECK_ALIAS) {
        at->replaced = at->replaced || reply->type != TAMIS__REPLY_STRING || reply->size != at->target_size ||
                       memcmp(reply->text, at->target, at->target_size) != 0;
        return TAMIS_OK;
    }
    if (reply->type != TAMIS__REPLY_STRING)
        return tamis__redis_strange(at, err);
    if (!tamis__footer_is(at, (uint32_t)i, reply) && !at->cut_from)
        at->cut_from = (uint32_t)i + 1;
    return TAMIS_OK;
}

static tamis_status settle(const tamis_filter *filter, const tamis__touched *batch, bool *again,
                           tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_status status = at->cut_from > 0 && !at->replaced ? look_again(at, err) : TAMIS_OK;
    const uint32_t cut_from = at->cut_from;
    const bool replaced = at->replaced, retired = at->retired;
    at->replaced = at->retired = false;
    at->cut_from = 0;
    *again = replaced;
    if (status != TAMIS_OK)
        return status;
    if (!replaced && cut_from > 0)
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "redis %s: %s: partition %" PRIu32
            " is gone or cut short (evicted, deleted or overwritten), with "
            "keys that were in it; drop the filter and build it anew, and keep it from eviction",
            at->redis->to.shown, at->uri->named, cut_from - 1);
    if (!replaced) {
        at->looked_at = tamis__now_ns();
        return renew_behind(at, batch, err);
    }
    /* An add makes a partition that had expired already, and renews the expiry of one that had not. (What it made of a
     * family's members stays, as all do of a family that was dropped.) */
    if (retired && batch->adds && !at->is_family)
        status = tamis__partitions_expire(at, at->ttl_ms > 0 ? NULL : batch->touched, TAMIS__GRACE_MS, err);
    if (status == TAMIS_OK && ++at->followed > FOLLOW_MOST)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: was replaced %d times during one batch; find out who does that",
                           at->redis->to.shown, at->uri->named, FOLLOW_MOST);
    return status == TAMIS_OK ? follow(filter, err) : status;
}

/* ---- what is to take its place: see redis_push.c ---- */

static const tamis__layout layout_next = {
    .name = "tamis", .has_blocks = true, .place = place, .key_name = tamis__partition_name};

static tamis_status add_to_next(const tamis_filter *filter, const tamis__key_batch *asked, tamis_error *err) {
    tamis_filter copy = *filter;
    tamis__redis_filter at = *tamis__redis_of(filter);
    tamis__told told;
    size_t done;
    tamis_status status = tamis__told_read_field(&at, "next", at.next_text, &told, err);
    if (status != TAMIS_OK)
        return status;
    if (strcmp(told.scheme, tamis_scheme_name(filter->plan.scheme)) != 0 || told.seed != at.seed ||
        (told.has_secret && told.secret != filter->hasher->secret_print))
        return tamis__fail(
            err, TAMIS_E_MISMATCH, 0,
            "redis %s: %s: is being resized into one of another scheme, seed or secret; see who does "
            "that",
            at.redis->to.shown, at.uri->named);
    copy.body = &at;
    copy.plan.bits = told.bits;
    copy.plan.probes = (uint32_t)told.probes;
    at.layout = &layout_next;
    at.is_next = true;
    at.generation = told.generation;
    at.ttl_ms = at.ttl_ms > 0 && at.renews_on_add ? at.ttl_ms + TAMIS__GRACE_MS : 0;
    at.doubts = (tamis__doubts){0};
    at.tracer = NULL;
    tamis__partitions_set(&copy, told.partition);
    status = tamis__redis_add(&copy, asked, NULL, &done, err);
    tamis__doubts_release(&at.doubts,
                          &filter->allocator); /* what fails here is kept by the batch that it is of */
    return status;
}

/* Where it has taken the place by then, the batch is asked again there; where nobody makes it any more, an add may have
 * made partitions of it anew. */
static tamis_status mirror(const tamis_filter *filter, const tamis__key_batch *asked, bool *again,
                           tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis__config config = {.next = ""};
    while (*at->next_text && strcmp(at->next_text, at->plan_text) != 0) {
        tamis_status status = add_to_next(filter, asked, err);
        if (status == TAMIS_OK)
            status = tamis__config_find(at, &config, err);
        if (status == TAMIS_OK && has_target(at, &config) && strcmp(config.next, at->next_text) != 0 &&
            strcmp(config.plan, at->next_text) != 0)
            status = tamis__told_expire(at, at->next_text, TAMIS__GRACE_MS, err);
        if (status != TAMIS_OK)
            return status;
        *again = !is_same(at, &config);
        if (*again)
            return follow(filter, err);
        if (strcmp(config.next, at->next_text) == 0)
            return TAMIS_OK;
        memcpy(at->next_text, config.next, sizeof at->next_text);
    }
    return TAMIS_OK;
}

/* ---- the whole ---- */

static uint64_t bytes_in(const tamis_filter *filter, uint32_t key) {
    return tamis__blocks_in(filter, key) * TAMIS__REDIS_BLOCK;
}

/* Bits of a partition that is gone would count as none. */
static tamis_status count_ones(const tamis_filter *filter, uint64_t *ones, tamis_error *err) {
    tamis_status status = refresh(filter, err);
    for (bool again = true; again && status == TAMIS_OK;) {
        status = tamis__redis_count(filter, bytes_in(filter, 0), bytes_in, ones, err);
        if (status == TAMIS_OK)
            status = tamis__redis_check(filter, false, &again, err);
    }
    return status;
}

/*
 * Blocks get Poisson numbers of keys, L on the mean, and a key leaves a bit of its block unset with chance
 * q = (1 - 1/512)^k: of all bits exp(-L (1 - q)) stay unset.
 */
static tamis_status estimate(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const tamis_plan *plan = &filter->plan;
    tamis_status status = count_ones(filter, &info->ones, err);
    if (status != TAMIS_OK)
        return status;
    info->capacity = plan->capacity;
    const double m = (double)plan->bits, q = pow(1 - 1.0 / BLOCK_BITS, plan->probes);
    info->cardinality = m / BLOCK_BITS * -log1p(-fmin((double)info->ones, m - 1) / m) / (1 - q);
    info->fpr_live = tamis_blocked_fpr(info->cardinality, m, plan->probes);
    info->memory = (tamis__blocks_of(filter) + at->keys) * TAMIS__REDIS_BLOCK;
    return TAMIS_OK;
}

/* By a new generation: clients that add meanwhile add to the one or to the other, and see the whole of it. */
static tamis_status clear(tamis_filter *filter, tamis_error *err) {
    tamis_status status = follow(filter, err);
    if (status == TAMIS_OK)
        status = tamis__push_empty(filter, err);
    return status == TAMIS_OK ? follow(filter, err) : status;
}

const tamis__layout tamis__layout_tamis = {.name = "tamis",
                                           .has_capacity = true,
                                           .has_blocks = true,
                                           .open = tamis__handle_open,
                                           .place = place,
                                           .key_name = tamis__partition_name,
                                           .check_count = check_count,
                                           .check_query = check_query,
                                           .check_slot = check_slot,
                                           .check_take = check_take,
                                           .settle = settle,
                                           .mirror = mirror,
                                           .refresh = refresh,
                                           .bytes_in = bytes_in,
                                           .estimate = estimate,
                                           .clear = clear};
