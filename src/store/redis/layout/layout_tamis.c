/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Layout tamis (docs/REDIS-LAYOUT.md): a filter of kind blocked, divided into partitions.
 *
 *     tamis:{NAME}                  hash:   plan -> "layout=2 kind=blocked ... generation=G"
 *     tamis:{NAME}:plan             string: a copy of that text, which shows that a missing hash was deleted
 *     tamis:{NAME:G:0}:bits         string: | block 0 | block 1 | ... | footer |       64 bytes each
 *     tamis:{NAME:G:1}:bits                 | block of the next ...   | footer |
 *
 * All bits of an element are in one block. The plan is one field of the hash. One step (redis_step.c) sets
 * or replaces it when all partitions are complete. Each filter that is made gets a new generation G, so
 * old bits are never taken for new ones.
 *
 * Every batch ends with checks, and uses no answer before their replies:
 *
 *     client sends                                finding                   result
 *       elements
 *       GETRANGE footer of each partition used    footer missing            TAMIS_E_DAMAGED
 *       HMGET hash plan alias next                another plan, or alias    switch, send the batch again
 *                                                 no plan                   TAMIS_E_NOT_FOUND
 *                                                 a next, after adds        add there too (mirror)
 *       HGET alias, if opened by an alias         another target            switch, send the batch again
 *       renewal of the expiry, if adds renew it
 *
 * A partition that was evicted, deleted or cut short has no footer. Redis would answer for it as if it
 * were all zeros; the check makes the batch fail instead.
 *
 * Following. tamis:{NAME} may have a field alias -> "TARGET": NAME then refers to the filter TARGET, and
 * a plan in the same hash does not count. If plan or alias differ from those of the handle, the handle
 * switches to the filter that the name refers to now. The whole batch is then sent again. So a push
 * (redis_push.c) or a new alias takes effect for every client by one step. The replaced partitions stay
 * for TAMIS__GRACE_MS.
 *
 * Resize. While field next holds a plan, adders add each batch to that generation as well, and then read
 * the hash again.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/system.h"
#include "filter/kernels/filter_kernels.h"
#include "store/file/file_error.h"
#include "store/redis/layout/layout_tamis.h"

enum { BLOCK_BITS = 8 * TAMIS__REDIS_BLOCK, FOLLOW_MAX = 32 /* replacements during one batch */ };

/* ---- following ---- */

static tamis_status fail_gone(const tamis__redis_filter *rf, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_NOT_FOUND, 0,
        "redis %s: %s: was dropped, or expired, while it was open, or its server was started again "
        "without its data; open it again",
        rf->redis->endpoint.shown, rf->uri->shown_name);
}

static bool has_target(const tamis__tamis_state *state, const tamis__config *config) {
    return state->target_size == config->target_size &&
           memcmp(state->target, config->target, state->target_size) == 0;
}

static bool is_same(const tamis__tamis_state *state, const tamis__config *config) {
    return strcmp(state->plan_text, config->plan) == 0 && has_target(state, config);
}

/* Switches the handle to the filter that the name refers to now. A handle is used by one thread at a time,
 * so a lookup may do this too. */
static tamis_status follow_plan(const tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis__tamis_state *state = tamis__tamis_of(rf);
    tamis__config config;
    const tamis_status status = tamis__config_seek(rf, &config, err);
    if (status != TAMIS_OK)
        return status;
    if (!*config.plan && config.target_size > 0)
        return tamis__target_gone(rf, &config, err);
    if (!*config.plan)
        return fail_gone(rf, err);
    state->checked_ns = tamis__now_ns();
    if (is_same(state, &config))
        return TAMIS_OK;
    return tamis__handle_set_config((tamis_filter *)(uintptr_t)filter, &config, err);
}

static tamis_status refresh_plan(const tamis_filter *filter, tamis_error *err) {
    tamis__tamis_state *state = tamis__tamis_of(tamis__redis_of(filter));
    state->replaced = state->retired = false;
    state->first_without_footer = 0;
    state->followed = 0;
    if (tamis__now_ns() - state->checked_ns < UINT64_C(1000000) * TAMIS__TRUST_MS)
        return TAMIS_OK;
    return follow_plan(filter, err);
}

/* True if a hash with this plan (empty: none) has another generation than the handle. */
static bool is_retired_by(const tamis__redis_filter *rf, const char *plan) {
    tamis__parsed_plan now;
    return !*plan || (tamis__plan_text_read(rf, plan, &now, NULL) == TAMIS_OK &&
                      now.generation != tamis__tamis_of(rf)->partitions.generation);
}

/* Reads the hash again after a footer was missing. Replies of several servers have no order: the plan may
 * have been read before a switch, and the footer after it. The filter is damaged only if the plan is still
 * the same. */
static tamis_status reread_config(const tamis__redis_filter *rf, tamis_error *err) {
    tamis__tamis_state *state = tamis__tamis_of(rf);
    tamis__config config;
    const tamis_status status = tamis__config_find(rf, &config, err);
    if (status != TAMIS_OK || is_same(state, &config))
        return status;
    state->replaced = true;
    state->retired = has_target(state, &config) && is_retired_by(rf, config.plan);
    return TAMIS_OK;
}

/* ---- elements ---- */

static void locate(const tamis_filter *filter, const tamis__key_batch *key_batch, size_t i,
                   tamis__element_positions *positions) {
    const tamis__partitions *partitions = &tamis__tamis_of(tamis__redis_of(filter))->partitions;
    tamis_hash hash;
    if (key_batch->hashes)
        hash = key_batch->hashes[i];
    else /* never fails: all schemes of the layout have digests */
        tamis_hash_many(filter->hasher, &key_batch->keys[i], 1, &hash, NULL);
    const uint64_t block = tamis__mulhi(hash.word[1], partitions->blocks);
    positions->server = 0;
    positions->key = (uint32_t)(block / partitions->each);
    positions->block = block % partitions->each * TAMIS__REDIS_BLOCK;
    tamis__block_positions(&hash, filter->plan.probes, positions->offsets);
    for (uint32_t j = 0; j < filter->plan.probes; j++)
        positions->offsets[j] += positions->block * 8;
}

static size_t key_name(const tamis__redis_filter *rf, uint32_t key, char *to) {
    return rf->is_family ? tamis__member_name(rf, to)
                         : tamis__partition_name(&tamis__tamis_of(rf)->partitions, key, to);
}

/* ---- checks: the footer of each partition used, the plan, the alias; and the expiry of the hash ---- */

enum { CHECK_PLAN, CHECK_ALIAS, CHECK_EXPIRY, CHECKS };

static size_t count_footers(const tamis__redis_filter *rf) {
    return rf->is_family ? 0 : rf->keys;
}

static size_t check_count(const tamis_filter *filter) {
    return count_footers(tamis__redis_of(filter)) + CHECKS;
}

/* The step that renews the expiry of the hash and of the plan's copy. Its condition is the plan, so a late
 * one does not change the expiry of a later filter. */
typedef struct renewal {
    tamis__step step;
    char name[TAMIS__REDIS_KEY], copy_name[TAMIS__REDIS_KEY], digits[24], copy_digits[24];
} renewal;

static void write_renewal(const tamis__redis_filter *rf, renewal *to) {
    to->step = (tamis__step){.key_count = 0};
    const tamis_key hash = tamis__plan_add_condition(rf, &to->step, tamis__tamis_of(rf)->plan_text, to->name);
    const tamis_key copy = {to->copy_name, tamis__copy_name(rf, to->copy_name)};
    tamis__step_key(&to->step, copy);
    /* First: it must not outlive the hash. */
    tamis__step_expire(&to->step, copy, rf->ttl_ms, to->copy_digits);
    tamis__step_expire(&to->step, hash, rf->ttl_ms, to->digits);
}

/* A family renews its hash even with renew=create: members are made one after the other, and the hash
 * outlives them all. */
static bool renews_expiry(const tamis__redis_filter *rf, const tamis__touched *batch) {
    return batch->adds && rf->ttl_ms > 0 && (rf->renews_on_add || rf->is_family);
}

/* Without scripts the renewal is a transaction. It cannot be part of a pipeline, so it is sent after the
 * checks. */
static tamis_status renew_expiry(const tamis__redis_filter *rf, const tamis__touched *batch,
                                 tamis_error *err) {
    renewal renewal_step;
    if (!rf->redis->forbids_scripts || !renews_expiry(rf, batch))
        return TAMIS_OK;
    write_renewal(rf, &renewal_step);
    return tamis__step_run(rf, &renewal_step.step, &(bool){false}, err);
}

static bool check_query(const tamis_filter *filter, const tamis__touched *batch, size_t i,
                        tamis__connection *conn) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis__tamis_state *state = tamis__tamis_of(rf);
    const size_t footers = count_footers(rf);
    char name[TAMIS__REDIS_KEY];
    if (i < footers) {
        if (batch->touched[i])
            tamis__footer_put_query(&state->partitions, (uint32_t)i, conn);
        return batch->touched[i];
    }
    i -= footers;
    if ((i == CHECK_ALIAS && state->target_size == 0) ||
        (i == CHECK_EXPIRY && (rf->redis->forbids_scripts || !renews_expiry(rf, batch))))
        return false;
    const size_t size = i == CHECK_ALIAS ? tamis__alias_name(rf, name) : tamis__config_name(rf, name);
    if (i == CHECK_EXPIRY) {
        renewal renewal_step;
        write_renewal(rf, &renewal_step);
        tamis__step_put(&renewal_step.step, conn);
        return true;
    }
    tamis__connection_put_command(conn, i == CHECK_PLAN ? 5 : 3);
    tamis__connection_put_text(conn, i == CHECK_PLAN ? "HMGET" : "HGET");
    tamis__connection_put(conn, name, size);
    if (i == CHECK_PLAN)
        tamis__connection_put_text(conn, "plan");
    tamis__connection_put_text(conn, "alias");
    if (i == CHECK_PLAN)
        tamis__connection_put_text(conn, "next");
    return true;
}

static uint32_t check_slot(const tamis_filter *filter, const tamis__touched *batch, size_t i) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    const size_t footers = count_footers(rf);
    char name[TAMIS__REDIS_KEY];
    if (i < footers)
        return batch->touched[i] ? tamis__redis_key_slot(rf, i) : TAMIS__NO_SLOT;
    const size_t size =
        i - footers == CHECK_ALIAS ? tamis__alias_name(rf, name) : tamis__config_name(rf, name);
    return tamis__redis_slot(rf->redis, name, size);
}

static tamis_status accept_plan(const tamis__redis_filter *rf, const tamis__reply *reply, tamis_error *err) {
    tamis__tamis_state *state = tamis__tamis_of(rf);
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != 3 ||
        (reply->items[0].type != TAMIS__REPLY_STRING && reply->items[0].type != TAMIS__REPLY_NIL))
        return tamis__redis_filter_bad_reply(rf, err);
    const tamis__reply *plan = &reply->items[0], *next = &reply->items[2];
    snprintf(state->next_text, sizeof state->next_text, "%s",
             next->type == TAMIS__REPLY_STRING ? next->text : "");
    const char *text = plan->type == TAMIS__REPLY_STRING ? plan->text : "";
    const bool is_current = strcmp(text, state->plan_text) == 0;
    state->replaced = state->replaced || !is_current || reply->items[1].type != TAMIS__REPLY_NIL;
    state->retired = state->retired || (!is_current && is_retired_by(rf, text));
    return TAMIS_OK;
}

static tamis_status accept_check_reply(const tamis_filter *filter, size_t i, const tamis__reply *reply,
                                       tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis__tamis_state *state = tamis__tamis_of(rf);
    const size_t footers = count_footers(rf);
    if (i == footers + CHECK_PLAN)
        return accept_plan(rf, reply, err);
    if (i == footers + CHECK_EXPIRY)
        return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_filter_bad_reply(rf, err);
    if (i == footers + CHECK_ALIAS) {
        state->replaced = state->replaced || reply->type != TAMIS__REPLY_STRING ||
                          reply->size != state->target_size ||
                          memcmp(reply->text, state->target, state->target_size) != 0;
        return TAMIS_OK;
    }
    if (reply->type != TAMIS__REPLY_STRING)
        return tamis__redis_filter_bad_reply(rf, err);
    if (!tamis__footer_matches(&state->partitions, (uint32_t)i, reply) && !state->first_without_footer)
        state->first_without_footer = (uint32_t)i + 1;
    return TAMIS_OK;
}

static tamis_status apply_checks(const tamis_filter *filter, const tamis__touched *batch, bool *again,
                                 tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis__tamis_state *state = tamis__tamis_of(rf);
    tamis_status status =
        state->first_without_footer > 0 && !state->replaced ? reread_config(rf, err) : TAMIS_OK;
    const uint32_t first_without_footer = state->first_without_footer;
    const bool replaced = state->replaced, retired = state->retired;
    state->replaced = state->retired = false;
    state->first_without_footer = 0;
    *again = replaced;
    if (status != TAMIS_OK)
        return status;
    if (!replaced && first_without_footer > 0)
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "redis %s: %s: partition %" PRIu32
            " is gone or cut short (evicted, deleted or overwritten), with "
            "keys that were in it; drop the filter and build it again, and keep it from eviction",
            rf->redis->endpoint.shown, rf->uri->shown_name, first_without_footer - 1);
    if (!replaced) {
        state->checked_ns = tamis__now_ns();
        return renew_expiry(rf, batch, err);
    }
    /* The adds may have recreated partitions that had expired, or renewed the expiry of others: these get a
     * short one. (Members of a dropped family stay, also those that this batch created.) */
    if (retired && batch->adds && !rf->is_family)
        status = rf->ttl_ms > 0 ? tamis__partitions_expire(&state->partitions, NULL, TAMIS__GRACE_MS, err)
                                : tamis__partitions_expire_unsealed(&state->partitions, batch->touched,
                                                                    TAMIS__GRACE_MS, err);
    if (status == TAMIS_OK && ++state->followed > FOLLOW_MAX)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: was replaced %d times during one batch; find out what does that",
                           rf->redis->endpoint.shown, rf->uri->shown_name, FOLLOW_MAX);
    return status == TAMIS_OK ? follow_plan(filter, err) : status;
}

static void put_renewal(const tamis_filter *filter, uint32_t key, tamis__connection *conn) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis__partition_put_renewal(&tamis__tamis_of(rf)->partitions, key, false, rf->ttl_ms, conn);
}

/* ---- the generation that a resize fills: see redis_push.c ---- */

/* Partitions that are being filled have marks in place of footers. */
static void put_filling_renewal(const tamis_filter *filter, uint32_t key, tamis__connection *conn) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis__partition_put_renewal(&tamis__tamis_of(rf)->partitions, key, true, rf->ttl_ms, conn);
}

/* A handle of the generation in field next. It has no checks: `mirror` reads the hash after each batch. */
static const tamis__layout layout_next = {.name = "tamis",
                                          .has_blocks = true,
                                          .state_size = sizeof(tamis__tamis_state),
                                          .locate = locate,
                                          .key_name = key_name,
                                          .put_renewal = put_filling_renewal};

/* Opens a handle of the generation in field next, for one batch. */
static tamis_status open_next(tamis_filter **next, const tamis_filter *filter, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis__tamis_state *state = tamis__tamis_of(rf);
    tamis__parsed_plan parsed;
    tamis_status status = tamis__plan_text_read_field(rf, "next", state->next_text, &parsed, err);
    if (status != TAMIS_OK)
        return status;
    if (strcmp(parsed.scheme, tamis_scheme_name(filter->plan.scheme)) != 0 ||
        parsed.seed != filter->hasher->seed ||
        (parsed.has_secret && parsed.secret != filter->hasher->secret_fingerprint))
        return tamis__fail(
            err, TAMIS_E_MISMATCH, 0,
            "redis %s: %s: another program is resizing it with another scheme, seed or secret; check which "
            "program does that",
            rf->redis->endpoint.shown, rf->uri->shown_name);
    status = tamis__redis_name_beside(next, filter, &layout_next, err);
    if (status != TAMIS_OK)
        return status;
    tamis__redis_filter *made = tamis__redis_of(*next);
    (*next)->plan.bits = parsed.bits;
    (*next)->plan.probes = (uint32_t)parsed.probes;
    made->ttl_ms = made->ttl_ms > 0 && made->renews_on_add ? made->ttl_ms + TAMIS__GRACE_MS : 0;
    tamis__handle_set_target(made, state->target, state->target_size);
    tamis__handle_set_partitions(*next, parsed.generation, parsed.partition);
    return TAMIS_OK;
}

/* The handle's set of unconfirmed adds is not kept: the batch of `filter` remembers the same keys. */
static tamis_status add_to_next(const tamis_filter *filter, const tamis__key_batch *key_batch,
                                tamis_error *err) {
    tamis__key_batch unanswered = *key_batch;
    tamis_filter *next;
    size_t done;
    tamis_status status = open_next(&next, filter, err);
    if (status != TAMIS_OK)
        return status;
    unanswered.answers = NULL;
    status = tamis__redis_add(next, &unanswered, &done, err);
    tamis_filter_free(next);
    return status;
}

/*
 * Adds a batch to the generation in field next, then reads the hash again:
 *
 * - The plan or alias is another one: the handle switches, and the batch is sent again there.
 * - The same next: done.
 * - No next, or another one, and the plan is not the first next. Its writer may have removed the partitions,
 *   and these adds may have recreated them. They get a short expiry; then the other next, if any, is filled.
 */
static tamis_status mirror(const tamis_filter *filter, const tamis__key_batch *key_batch, bool *again,
                           tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis__tamis_state *state = tamis__tamis_of(rf);
    tamis__config config = {.next = ""};
    while (*state->next_text && strcmp(state->next_text, state->plan_text) != 0) {
        tamis_status status = add_to_next(filter, key_batch, err);
        if (status == TAMIS_OK)
            status = tamis__config_find(rf, &config, err);
        if (status == TAMIS_OK && has_target(state, &config) && strcmp(config.next, state->next_text) != 0 &&
            strcmp(config.plan, state->next_text) != 0)
            status = tamis__plan_text_expire(rf, state->next_text, TAMIS__GRACE_MS, err);
        if (status != TAMIS_OK)
            return status;
        *again = !is_same(state, &config);
        if (*again)
            return follow_plan(filter, err);
        if (strcmp(config.next, state->next_text) == 0)
            return TAMIS_OK;
        memcpy(state->next_text, config.next, sizeof state->next_text);
    }
    return TAMIS_OK;
}

/* ---- statistics and clear ---- */

static uint64_t bytes_in(const tamis_filter *filter, uint32_t key) {
    return tamis__blocks_in(&tamis__tamis_of(tamis__redis_of(filter))->partitions, key) * TAMIS__REDIS_BLOCK;
}

/* Counts the bits that are set. The checks come after it: a missing partition would count as zeros. */
static tamis_status count_ones(const tamis_filter *filter, uint64_t *ones, tamis_error *err) {
    tamis_status status = refresh_plan(filter, err);
    for (bool again = true; again && status == TAMIS_OK;) {
        status = tamis__redis_count(filter, bytes_in(filter, 0), bytes_in, ones, err);
        if (status == TAMIS_OK)
            status = tamis__redis_check(filter, false, &again, err);
    }
    return status;
}

/*
 * Estimates the number of keys from the bits that are set. The number of keys of a block has a Poisson
 * distribution with mean L. A key leaves a given bit of its block unset with probability q = (1 -
 * 1/512)^k. So the share exp(-L (1 - q)) of all bits stays unset, and solving for L gives the keys of a
 * block.
 */
static tamis_status estimate(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis_plan *plan = &filter->plan;
    const tamis_status status = count_ones(filter, &info->ones, err);
    if (status != TAMIS_OK)
        return status;
    info->capacity = plan->capacity;
    const double m = (double)plan->bits, q = pow(1 - 1.0 / BLOCK_BITS, plan->probes);
    info->cardinality = m / BLOCK_BITS * -log1p(-fmin((double)info->ones, m - 1) / m) / (1 - q);
    info->fpr_live = tamis_blocked_fpr(info->cardinality, m, plan->probes);
    info->memory = (tamis__blocks_of(plan->bits) + rf->keys) * TAMIS__REDIS_BLOCK;
    return TAMIS_OK;
}

/* Switches to an empty new generation. A batch of another client goes completely to the old one or to the new
 * one. */
static tamis_status clear(tamis_filter *filter, tamis_error *err) {
    const tamis_status status = follow_plan(filter, err);
    return status == TAMIS_OK ? tamis__push_empty(filter, err) : status;
}

const tamis__layout tamis__layout_tamis = {.name = "tamis",
                                           .has_capacity = true,
                                           .has_blocks = true,
                                           .state_size = sizeof(tamis__tamis_state),
                                           .open = tamis__handle_open,
                                           .locate = locate,
                                           .key_name = key_name,
                                           .check_count = check_count,
                                           .check_query = check_query,
                                           .check_slot = check_slot,
                                           .accept_check_reply = accept_check_reply,
                                           .apply_checks = apply_checks,
                                           .mirror = mirror,
                                           .put_renewal = put_renewal,
                                           .refresh = refresh_plan,
                                           .bytes_in = bytes_in,
                                           .estimate = estimate,
                                           .clear = clear};
