/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Uploads a filter in memory to a server in layout tamis, or makes an empty one there:
 *
 *     1        lock       tamis:{NAME}:push = token, renewed on the way: one writer at a time
 *     2 to 4   announce   ends the resize and removes the leftovers of other writers; field pushing = plan
 *     5        make       partitions of a new generation: zeros, then the mark "filling"
 *     6        fill       chunks; each also sets its bit after the mark
 *     7, 8     seal       if all chunk bits are set, the footer replaces the mark; clients need the footer
 *     9        switch     field plan = the new plan, field before = the old one
 *     10       read back  the plan
 *     11       retire     partitions of the old plan expire in TAMIS__GRACE_MS
 *     12       unlock
 *
 * The numbers are the stages of docs/REDIS-LAYOUT.md, Making.
 *
 * A resize does stages 1 to 5, and later fills and goes on from stage 7. In between, the plan is also in
 * field next, and adders add to both generations (mirror in layout_tamis.c). An add whose batch did not see
 * field next was carried out before, so its key must be among the keys that the caller collects. At the end
 * these keys are merged with what adders have added. The lock is held only at both ends. A writer that takes
 * it in between removes field next, and the resize then fails.
 *
 * Invariants:
 * 1. Every write is a step (redis_step.c). A step compares the lock's token and the plan, or the partition's
 *    mark: sent late or twice, it does nothing.
 * 2. A plan is in field plan only when all its partitions are sealed. A partition lost on the way never gets
 *    a footer.
 * 3. Every generation that has partitions is named in plan, next, before or pushing. So the next push or drop
 *    removes what a killed writer left behind. Until they are sealed, partitions also expire by themselves;
 *    those of a resize in progress expire with the hash (redis_resize.c).
 * 4. Only the switch changes what clients use, and nothing is retired before the plan was read back.
 * 5. After a failure the lock is released first: from then on a late switch does nothing, and the hash is
 *    final.
 *
 * tests/model checks all this, and shows what goes wrong without each part.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/versioned.h"
#include "store/redis/transfer/redis_transfer.h"

enum { LIFETIME_MS = 3600000 /* of partitions being filled; plus a second for each mebibyte */ };

/* ---- steps ---- */

tamis_status tamis__push_check(const tamis_filter *filter, tamis_error *err) {
    if (filter->plan.kind != TAMIS_KIND_BLOCKED || !tamis__has_scheme(filter->hasher->scheme))
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "push: kind %s with scheme %s is not kept in a Redis; build it with kind blocked "
                           "and scheme xxh3, sip or guava64",
                           tamis_kind_name(filter->plan.kind), tamis_scheme_name(filter->hasher->scheme));
    return TAMIS_OK;
}

static tamis_status check_hash(const tamis__push *p, const tamis__parsed_plan *old, tamis_error *err) {
    const tamis_hasher *hasher = p->there->hasher;
    if (strcmp(old->scheme, tamis_scheme_name(hasher->scheme)) == 0 && old->seed == hasher->seed &&
        old->secret == hasher->secret_fingerprint)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: the filter there has another scheme, seed or secret, and programs that "
                       "have it open could not follow; drop it first, or use another name",
                       p->rf->redis->endpoint.shown, p->rf->uri->shown_name);
}

/* Chooses a new generation for the partitions of p->there, and writes its plan to p->plan as text. */
static tamis_status name_generation(tamis__push *p, tamis_error *err) {
    p->partitions = tamis__tamis_of(p->rf)->partitions;
    p->ttl_ms = p->rf->ttl_ms;
    tamis_status status =
        tamis__random(&p->partitions.generation, sizeof p->partitions.generation, p->rf->uri->shown, err);
    tamis__plan_text_write(p->there, &p->partitions, p->plan);
    p->hash_size = tamis__config_name(p->rf, p->hash);
    return status;
}

tamis_status tamis__push_plan(tamis__push *p, tamis_error *err) {
    tamis__parsed_plan old;
    p->there->plan = p->filter->plan;
    p->there->metadata.fields.key_type = p->filter->metadata.fields.key_type;
    p->there->plan.scheme = p->filter->hasher->scheme;
    tamis_status status = tamis__hasher_copy(&p->there->hasher, p->filter->hasher, err);
    if (status == TAMIS_OK)
        status = tamis__config_find(p->rf, &p->config, err);
    const bool is_there = status == TAMIS_OK && *p->config.plan;
    if (is_there)
        status = tamis__plan_text_read(p->rf, p->config.plan, &old, err);
    if (status == TAMIS_OK && is_there)
        status = check_hash(p, &old, err);
    if (status == TAMIS_OK)
        status = tamis__partitions_choose(p->there, is_there ? &old : NULL, err);
    if (status != TAMIS_OK)
        return status;
    tamis__handle_set_target(p->rf, p->config.target, p->config.target_size);
    return name_generation(p, err);
}

void tamis__push_step(const tamis__push *p, tamis__step *step, char lock[TAMIS__REDIS_KEY],
                      char hash[TAMIS__REDIS_KEY]) {
    tamis__lock_add_condition(p->rf, step, lock);
    (void)tamis__plan_add_condition(p->rf, step, p->config.plan, hash);
}

tamis_key tamis__push_hash(const tamis__push *p) {
    return (tamis_key){p->hash, p->hash_size};
}

/* Reads the hash. Fails if the name has become an alias of another filter since the push began. */
static tamis_status find_config(tamis__push *p, tamis_error *err) {
    const tamis__redis_filter *rf = p->rf;
    const tamis__tamis_state *state = tamis__tamis_of(rf);
    const tamis_status status = tamis__config_find(rf, &p->config, err);
    if (status != TAMIS_OK || (p->config.target_size == state->target_size &&
                               memcmp(p->config.target, state->target, state->target_size) == 0))
        return status;
    return tamis__fail(
        err, TAMIS_E_MISMATCH, 0,
        "redis %s: %s: another writer made the name refer to another filter meanwhile; " TAMIS__NO_EFFECT
        "; " TAMIS__LOOK_FIRST,
        rf->redis->endpoint.shown, rf->uri->shown_name);
}

static tamis_status set_pushing(const tamis__push *p, tamis_error *err) {
    char lock[TAMIS__REDIS_KEY], hash[TAMIS__REDIS_KEY];
    tamis__step step = {.key_count = 0};
    tamis__push_step(p, &step, lock, hash);
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("HSET"), tamis__push_hash(p),
                                          tamis__redis_word("pushing"), tamis__redis_word(p->plan)));
    return tamis__step_run(p->rf, &step, &(bool){false}, err);
}

tamis_status tamis__push_begin(tamis__push *p, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    *p->copy = '\0';
    tamis_status status = tamis__lock_acquire(p->rf, err);
    if (status != TAMIS_OK)
        return status;
    status = find_config(p, &why);
    if (status == TAMIS_OK && !*p->config.plan)
        status = tamis__copy_read(p->rf, p->copy, &why);
    if (status == TAMIS_OK)
        return status;
    const bool is_released = tamis__lock_release(p->rf, NULL) == TAMIS_OK;
    *tamis__tamis_of(p->rf)->token = '\0';
    return is_released ? tamis__fail(err, status, why.sys_errno, "%s", why.text)
                       : tamis__lock_left(&why, err);
}

tamis_status tamis__push_withdraw(const tamis__push *p, tamis_status status) {
    (void)tamis__lock_release(p->rf, NULL); /* it expires anyway */
    *tamis__tamis_of(p->rf)->token = '\0';
    return status;
}

tamis_status tamis__push_announce(tamis__push *p, tamis_error *err) {
    tamis__config now;
    tamis_status status = tamis__change_begin(p->rf, p->config.plan, err);
    if (status == TAMIS_OK)
        status = tamis__leftovers_remove(p->rf, &p->config, err);
    if (status == TAMIS_OK && *p->copy)
        status = tamis__plan_text_expire(p->rf, p->copy, TAMIS__GRACE_MS, err);
    if (status == TAMIS_OK)
        status = set_pushing(p, err);
    if (status == TAMIS_OK) /* read it back: a step that was sent twice may have found its own first write */
        status = tamis__config_locked(p->rf, &now, err);
    return status == TAMIS_OK && strcmp(now.pushing, p->plan) != 0 ? tamis__lock_lost(p->rf, err) : status;
}

static tamis_status upload(const tamis__push *p, tamis_error *err) {
    size_t count;
    const tamis__upload bits = {.there = p->there,
                                .words = tamis__bloom_words(p->filter, &count),
                                .partitions = &p->partitions,
                                .progress = p->options->progress,
                                .context = p->options->context};
    return tamis__upload_run(&bits, err);
}

tamis_status tamis__push_make(tamis__push *p, tamis_error *err) {
    const uint64_t lifetime = LIFETIME_MS + p->there->plan.bits / 8 / TAMIS__CHUNK * 1000;
    const size_t size = p->partitions.count * sizeof *p->mark_numbers;
    if (p->rf->is_family)
        return TAMIS_OK;
    p->mark_numbers = tamis__alloc(&p->rf->redis->allocator, size, _Alignof(uint32_t));
    if (!p->mark_numbers)
        return tamis__fail_nomem(err, "redis", size);
    p->partitions.mark_numbers = p->mark_numbers;
    return tamis__partitions_make(&p->partitions, lifetime, err);
}

/* Partitions outlive the hash: an expired filter is then found absent, not damaged. */
tamis_status tamis__push_seal(tamis__push *p, tamis_error *err) {
    if (p->rf->is_family)
        return TAMIS_OK;
    p->is_sealed = true;
    return tamis__partitions_seal(&p->partitions, p->filter || p->is_resize,
                                  p->ttl_ms > 0 ? p->ttl_ms + TAMIS__GRACE_MS : 0, err);
}

static void write_switch(const tamis__push *p, tamis__step *step, char copy[TAMIS__REDIS_KEY], char ttl[24]) {
    const char *before = *p->config.plan ? p->config.plan : p->copy;
    const tamis_key name = {copy, tamis__copy_name(p->rf, copy)};
    tamis__step_key(step, name);
    snprintf(ttl, 24, "%" PRIu64, p->ttl_ms);
    const tamis_key words[] = {tamis__redis_word(tamis__redis_hset(p->rf->redis)),
                               tamis__push_hash(p),
                               tamis__redis_word("plan"),
                               tamis__redis_word(p->plan),
                               tamis__redis_word("before"),
                               tamis__redis_word(before)};
    tamis__step_write(step, words, *before ? 6 : 4);
    if (p->ttl_ms == 0) { /* end the expiry of an earlier filter of this name */
        tamis__step_write(step, TAMIS__WORDS(tamis__redis_word("SET"), name, tamis__redis_word(p->plan)));
        tamis__step_write(step, TAMIS__WORDS(tamis__redis_word("PERSIST"), tamis__push_hash(p)));
    } else {
        tamis__step_write(step, TAMIS__WORDS(tamis__redis_word("SET"), name, tamis__redis_word(p->plan),
                                             tamis__redis_word("PX"), tamis__redis_word(ttl)));
        tamis__step_write(
            step, TAMIS__WORDS(tamis__redis_word("PEXPIRE"), tamis__push_hash(p), tamis__redis_word(ttl)));
    }
    tamis__step_write(step, TAMIS__WORDS(tamis__redis_word("HDEL"), tamis__push_hash(p),
                                         tamis__redis_word("state"), tamis__redis_word("pushing"),
                                         tamis__redis_word("next"), tamis__redis_word("sending")));
}

tamis_status tamis__push_switch(tamis__push *p, tamis_error *err) {
    char lock[TAMIS__REDIS_KEY], hash[TAMIS__REDIS_KEY], copy[TAMIS__REDIS_KEY], ttl[24];
    tamis__step step = {.key_count = 0};
    char now[TAMIS__REDIS_PLAN];
    tamis__push_step(p, &step, lock, hash);
    tamis__step_expect_field(&step, tamis__push_hash(p), p->is_resize ? "next" : "pushing", p->plan);
    write_switch(p, &step, copy, ttl);
    tamis_status status = tamis__step_run_outcome(p->rf, &step, &p->switched, err);
    if (status == TAMIS_OK)
        status = tamis__plan_read_back(p->rf, now, err);
    return status == TAMIS_OK && strcmp(now, p->plan) != 0 ? tamis__lock_lost(p->rf, err) : status;
}

tamis_status tamis__push_keep_expiry(tamis__push *p, tamis_error *err) {
    if (p->ttl_ms > 0 || !*p->config.plan)
        return TAMIS_OK;
    return tamis__redis_ttl(p->rf, tamis__push_hash(p), &p->ttl_ms, err);
}

/* The old partitions get a short expiry and are not removed at once: batches may still read them. */
tamis_status tamis__push_retire(const tamis__push *p, tamis_error *err) {
    if (!*p->config.plan || p->rf->is_family)
        return TAMIS_OK;
    return tamis__plan_text_expire(p->rf, p->config.plan, TAMIS__GRACE_MS, err);
}

/* The old partitions were not retired, or it is unknown whether they were. */
static tamis_status fail_retire(const tamis_error *why, tamis_error *err) {
    return tamis__fail(
        err, why->status, why->sys_errno,
        "%.300s; the filter was replaced, but Redis keys of the old one may remain: remove them with "
        "tamis redis clean",
        why->text);
}

/* Fails although the switch took place. `now` is the hash afterwards, with another plan or none. */
static tamis_status fail_replaced_since(const tamis__push *p, const tamis__config *now, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_BUSY, ESTALE,
                       "redis %s: %s: this command took effect, and %s; look at the filter with tamis info",
                       p->rf->redis->endpoint.shown, p->rf->uri->shown_name,
                       *now->plan ? "another writer replaced it afterwards"
                                  : "the filter has expired, or was dropped or deleted afterwards");
}

static tamis_status fail_unknown(const tamis__push *p, const tamis_error *why, tamis_error *err) {
    char effect[100];
    snprintf(effect, sizeof effect, "it is unknown whether the filter was replaced by generation %016" PRIx64,
             p->partitions.generation);
    if (why->status == TAMIS_E_BUSY)
        return tamis__lock_lost_after(p->rf, effect, err);
    return tamis__fail(
        err, why->status, why->sys_errno,
        "%.300s; %s; look with tamis info before you repeat it, and remove Redis keys that are "
        "left with tamis redis clean",
        why->text, effect);
}

/* Removes the announcement in `field` if it is still p->plan. With field next, removes field sending too. */
static tamis_status remove_field(const tamis__push *p, const char *field, tamis_error *err) {
    const tamis_key words[] = {tamis__redis_word("HDEL"), tamis__push_hash(p), tamis__redis_word(field),
                               tamis__redis_word("sending")};
    tamis__step step = {.key_count = 0};
    tamis__step_key(&step, tamis__push_hash(p));
    tamis__step_expect_field(&step, tamis__push_hash(p), field, p->plan);
    tamis__step_write(&step, words, strcmp(field, "next") == 0 ? 4 : 3);
    return tamis__step_run(p->rf, &step, &(bool){false}, err);
}

/* Partitions of a resize get a short expiry and are not removed: an add on its way would recreate one without
 * an expiry. */
tamis_status tamis__push_remove(const tamis__push *p, tamis_error *err) {
    tamis_status status = p->is_resize ? remove_field(p, "next", err) : TAMIS_OK;
    if (status == TAMIS_OK && !p->rf->is_family)
        status = tamis__partitions_expire(&p->partitions, NULL, p->is_resize ? TAMIS__GRACE_MS : -1, err);
    return status == TAMIS_OK ? remove_field(p, "pushing", err) : status;
}

static bool is_same(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

/*
 * Cleans up after a failure. Releases the lock first, so that what the hash says about the switch is final:
 * - p->plan is in field plan, or in field before (another writer has replaced it since): the switch took
 *   place.
 * - The old plan is still there; it never returns after a switch: the switch did not take place.
 * - Neither: another writer was here. Whether the switch took place before is known if it was answered. It is
 *   a success then, as for a drop, if there is a filter. If the old plan is gone, its partitions are retired
 *   even if the lock could not be released. Their record is in the hash, which may have expired. If the hash
 *   cannot be read, the new partitions stay announced, and the next holder of the lock removes them.
 */
static tamis_status recover(tamis__push *p, tamis_status status, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    tamis__config now = {.plan = ""};
    if (err)
        why = *err;
    why.status = status;
    const bool is_released = tamis__lock_release(p->rf, NULL) == TAMIS_OK;
    *tamis__tamis_of(p->rf)->token = '\0'; /* later steps neither need the lock nor renew it */
    const bool is_read = tamis__config_locked(p->rf, &now, NULL) == TAMIS_OK;
    const bool is_over = is_released && is_read;
    const bool is_new = is_read && is_same(now.plan, p->plan);
    /* Without a plan the filter was perhaps dropped since. */
    const bool is_old =
        is_read && is_same(now.plan, p->config.plan) && (*now.plan || p->switched != TAMIS__DONE);
    /* The switch may be lost by a failover: too few replicas have it. */
    const bool may_be_lost = status == TAMIS_E_TIMEOUT && p->rf->redis->replicas > 0;
    const bool is_done = p->switched == TAMIS__DONE && !may_be_lost;
    if (is_new && may_be_lost)
        return fail_unknown(p, &why, err);
    if (is_new)
        return tamis__push_retire(p, &why) == TAMIS_OK ? TAMIS_OK : fail_retire(&why, err);
    if (is_read && !is_old)
        (void)tamis__push_retire(p, NULL);
    if (is_over && p->switched != TAMIS__NOT_DONE && is_same(now.before, p->plan))
        return TAMIS_OK;
    if (is_over && is_done && !is_old && *now.plan)
        return TAMIS_OK;
    if (is_over || (p->is_sealed && p->switched == TAMIS__NOT_DONE))
        (void)tamis__push_remove(p, NULL);
    if (p->switched == TAMIS__NOT_DONE && !is_released)
        return tamis__lock_left(&why, err);
    if (p->switched == TAMIS__NOT_DONE || (is_over && is_old))
        return status;
    if (is_done && !is_read)
        return fail_retire(&why, err);
    return is_done && !is_old ? fail_replaced_since(p, &now, err) : fail_unknown(p, &why, err);
}

/* Replaces the error of a push that found its partitions gone, if its lock is gone too: another writer
 * removed them, not the server. The lock must not be released yet: its token tells whether this push still
 * holds it. */
static tamis_status name_other_writer(const tamis__push *p, tamis_status status, tamis_error *err) {
    tamis_error lost = TAMIS_ERROR_INIT;
    if (p->switched != TAMIS__NOT_DONE || status != TAMIS_E_IO ||
        tamis__lock_renew(p->rf, &lost) != TAMIS_E_BUSY)
        return status;
    return tamis__fail(err, lost.status, lost.sys_errno, "%s", lost.text);
}

tamis_status tamis__push_conclude(tamis__push *p, tamis_status status, tamis_error *err) {
    if (status == TAMIS_OK)
        return tamis__push_withdraw(p, TAMIS_OK);
    if (*tamis__tamis_of(p->rf)->token)
        return recover(p, name_other_writer(p, status, err), err);
    if (p->is_resize) /* the lock was not taken: no step of this process is on its way */
        (void)tamis__push_remove(p, NULL);
    return status;
}

/* All steps of a push, from the announcement on. */
static tamis_status run_steps(tamis__push *p, tamis_error *err) {
    tamis_status status = tamis__push_announce(p, err);
    if (status == TAMIS_OK)
        status = tamis__push_make(p, err);
    if (status == TAMIS_OK && p->filter)
        status = upload(p, err);
    if (status == TAMIS_OK)
        status = tamis__push_keep_expiry(p, err);
    if (status == TAMIS_OK)
        status = tamis__push_seal(p, err);
    if (status == TAMIS_OK)
        status = tamis__push_switch(p, err);
    return status == TAMIS_OK ? tamis__push_retire(p, err) : status;
}

void tamis__push_release(tamis__push *p) {
    if (p->mark_numbers)
        tamis__free(&p->rf->redis->allocator, p->mark_numbers, p->partitions.count * sizeof *p->mark_numbers);
    p->mark_numbers = p->partitions.mark_numbers = NULL;
}

/* The whole push, from taking the lock to releasing it. `expected_plan`: NULL, or the plan that the hash must
 * have. */
static tamis_status replace_filter(tamis__push *p, const char *expected_plan, tamis_error *err) {
    tamis_status status = tamis__push_begin(p, err);
    if (status != TAMIS_OK)
        return status;
    if (expected_plan && strcmp(expected_plan, p->config.plan) != 0)
        return tamis__push_withdraw(p, tamis__lock_busy(p->rf, err));
    status = tamis__push_conclude(p, run_steps(p, err), err);
    tamis__push_release(p);
    return status;
}

/* ---- empty filters ---- */

/* The new filter expires when the old one would have. */
tamis_status tamis__push_empty(tamis_filter *there, tamis_error *err) {
    const tamis_redis_push_options options = TAMIS_REDIS_PUSH_OPTIONS_INIT;
    tamis__push p = {.there = there, .rf = tamis__redis_of(there), .options = &options};
    tamis_status status = name_generation(&p, err);
    p.ttl_ms = 0;
    if (status == TAMIS_OK)
        status = replace_filter(&p, tamis__tamis_of(p.rf)->plan_text, err);
    if (status != TAMIS_OK)
        return status;
    /* The handle switches without reading the plan again: a failure would look as if nothing was cleared. */
    tamis__config made = {.target_size = tamis__tamis_of(p.rf)->target_size};
    memcpy(made.plan, p.plan, sizeof made.plan);
    memcpy(made.target, tamis__tamis_of(p.rf)->target, made.target_size);
    return tamis__handle_set_config(there, &made, err);
}

/* *is_there: another writer has made the filter, or is making it. */
static tamis_status make_once(tamis__push *p, bool *is_there, tamis_error *err) {
    tamis_status status = tamis__push_begin(p, err);
    *is_there = status == TAMIS_E_BUSY;
    if (status != TAMIS_OK)
        return status;
    if (*p->copy) /* fails, unless another process has made the filter between the reads */
        status = tamis__config_seek(p->rf, &p->config, err);
    *is_there = status == TAMIS_OK && *p->config.plan;
    if (status == TAMIS_OK && !*is_there && !p->rf->is_family)
        status = tamis__lost_check(p->rf, err);
    if (status != TAMIS_OK || *is_there)
        return tamis__push_withdraw(p, status);
    status = tamis__push_conclude(p, run_steps(p, err), err);
    tamis__push_release(p);
    return status;
}

tamis_status tamis__push_new(tamis_filter *made, tamis_error *err) {
    const tamis_redis_push_options options = TAMIS_REDIS_PUSH_OPTIONS_INIT;
    const tamis__redis_filter *rf = tamis__redis_of(made);
    tamis__push p = {.there = made, .rf = rf, .options = &options};
    bool is_there = true;
    tamis_status status = name_generation(&p, err);
    for (int i = 0; i < TAMIS__LOCK_POLLS && status == TAMIS_OK; i++) {
        status = make_once(&p, &is_there, err);
        if (status != TAMIS_E_BUSY || !is_there)
            return status;
        status = tamis__lock_pause(err);
        if (status == TAMIS_OK)
            status = tamis__config_find(rf, &p.config, err);
        if (status == TAMIS_OK && *p.config.plan)
            return TAMIS_OK;
    }
    return status == TAMIS_OK ? tamis__lock_busy(rf, err) : status;
}

/* ---- filters in memory ---- */

static tamis_status push_tamis(tamis__push *p, tamis_error *err) {
    tamis_status status = tamis__push_check(p->filter, err);
    if (status == TAMIS_OK)
        status = tamis__push_plan(p, err);
    return status == TAMIS_OK ? replace_filter(p, NULL, err) : status;
}

tamis_status tamis_redis_push(const tamis_filter *filter, tamis_redis *redis, const char *name,
                              const tamis_redis_push_options *given, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(name, err);
    tamis_redis_push_options options = TAMIS_REDIS_PUSH_OPTIONS_INIT;
    tamis__push p = {.filter = filter, .options = &options};
    tamis_status status =
        tamis__read_options(&options, sizeof options, given, "TAMIS_REDIS_PUSH_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__filter_check_local(filter, "push", err);
    if (status == TAMIS_OK)
        status = tamis__redis_name(&p.there, redis, name, &filter->allocator, err);
    if (status != TAMIS_OK)
        return status;
    p.rf = tamis__redis_of(p.there);
    tamis__filter_lock_content(filter);
    status = tamis_filter_verify(filter, err);
    if (status == TAMIS_OK && p.rf->layout == &tamis__layout_tamis)
        status = push_tamis(&p, err);
    else if (status == TAMIS_OK)
        status = tamis__redis_replace(p.there, filter, &options, err);
    tamis__filter_unlock_content(filter);
    tamis_filter_free(p.there);
    return status;
}
