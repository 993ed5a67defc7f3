/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Operations on whole filters: alias and expire; redis_drop.c has drop. Each takes the lock of a push
 * (tamis_lock.c), and changes the hash only by steps (redis_step.c).
 *
 * Expire. The hash must never outlive its partitions, or an expired filter would be found damaged, not
 * absent. So a longer expiry is set on the partitions first, and a shorter one on the hash first.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/redis/admin/redis_manage.h"

static tamis_status only_tamis(const tamis__redis_filter *rf, tamis_error *err) {
    if (rf->layout == &tamis__layout_tamis)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0, "%s: layout %s has no aliases; use layout tamis",
                       rf->uri->shown, rf->layout->name);
}

tamis_status tamis__manage_fail_absent(const tamis__redis_filter *rf, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_NOT_FOUND, 0, "redis %s: %s: there is no such filter; check the name",
                       rf->redis->endpoint.shown, rf->uri->shown_name);
}

/* Makes a handle of the name, without opening the filter. The caller frees *made, also after a failure. */
static tamis_status name_only(tamis_filter **made, tamis_redis *redis, const char *name, tamis_error *err) {
    *made = NULL;
    tamis_status status = tamis__redis_name(made, redis, name, NULL, err);
    if (status == TAMIS_OK)
        status = only_tamis(tamis__redis_of(*made), err);
    return status == TAMIS_OK ? tamis__redis_uri_check_used(tamis__redis_of(*made)->uri, err) : status;
}

/* ---- the lock ---- */

/* Ignores a full server: a drop frees memory, so it goes on without the commands that need some. */
static tamis_status unless_full(tamis_status status, const tamis_error *why, tamis_error *err) {
    if (status == TAMIS_E_REFUSED && why->sys_errno == ENOMEM)
        return TAMIS_OK;
    if (status != TAMIS_OK && err)
        *err = *why;
    return status;
}

tamis_status tamis__manage_lock(const tamis__redis_filter *rf, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    return unless_full(tamis__lock_acquire(rf, &why), &why, err);
}

tamis_status tamis__manage_unlock(const tamis__redis_filter *rf, tamis_status status, bool did_nothing,
                                  tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    if (!*tamis__tamis_of(rf)->token)
        return status;
    const bool is_released = tamis__lock_release(rf, &why) == TAMIS_OK;
    *tamis__tamis_of(rf)->token = '\0';
    if (status == TAMIS_OK && !is_released)
        (void)tamis__fail(
            err, TAMIS_OK, why.sys_errno,
            "%.300s; this command took effect, and its lock stays for up to %d s: other writers "
            "of the filter have to wait",
            why.text, TAMIS__LOCK_MS / 1000);
    if (status != TAMIS_OK && !is_released && did_nothing && err)
        return tamis__lock_left(err, err);
    return status;
}

void tamis__manage_copy_error(tamis_error *err, const tamis_error *why) {
    if (err && *why->text)
        *err = *why;
}

/* ---- alias ---- */

static tamis_status check_target(const tamis__redis_filter *rf, const tamis__redis_filter *alias,
                                 tamis_error *err) {
    tamis__config config;
    if (rf->uri->name_size == alias->uri->name_size &&
        memcmp(rf->uri->name, alias->uri->name, rf->uri->name_size) == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: cannot be an alias of itself; name another filter",
                           rf->uri->shown);
    const tamis_status status = tamis__config_seek(rf, &config, err);
    if (status == TAMIS_OK && config.target_size > 0)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: is an alias itself; use the filter's own name as the target",
                           rf->redis->endpoint.shown, rf->uri->shown_name);
    return status == TAMIS_OK && !*config.plan ? tamis__manage_fail_absent(rf, err) : status;
}

static tamis_status check_alias(const tamis__redis_filter *rf, const tamis__config *config, bool sets,
                                tamis_error *err) {
    if (sets && *config->plan)
        return tamis__fail(
            err, TAMIS_E_MISMATCH, 0,
            "redis %s: %s: is a filter, not an alias; replace or drop it, or choose another name",
            rf->redis->endpoint.shown, rf->uri->shown_name);
    if (!sets && config->target_size == 0 && *config->plan)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: is a filter, not an alias; to remove the filter, use drop",
                           rf->redis->endpoint.shown, rf->uri->shown_name);
    return !sets && config->target_size == 0 ? tamis__manage_fail_absent(rf, err) : TAMIS_OK;
}

/* Names the hash of the alias itself, not that of its target. */
static tamis_key add_alias_condition(const tamis__redis_filter *rf, const tamis__config *config,
                                     tamis__step *step, char name[TAMIS__REDIS_KEY]) {
    const tamis_key hash = tamis__plan_add_condition(rf, step, config->plan, name);
    tamis__step_expect(step, tamis__word_of(config->target, config->target_size),
                       TAMIS__WORDS(tamis__redis_word("HGET"), hash, tamis__redis_word("alias")));
    return hash;
}

/* Sets the alias; `target` NULL removes it. */
static tamis_status change_alias(const tamis__redis_filter *rf, const tamis__config *config,
                                 const tamis__redis_filter *target, tamis__outcome *outcome,
                                 tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    char lock[TAMIS__REDIS_KEY], name[TAMIS__REDIS_KEY];
    tamis__step step = {.key_count = 0};
    tamis__config now;
    tamis__lock_add_condition(rf, &step, lock);
    const tamis_key hash = add_alias_condition(rf, config, &step, name), field = tamis__redis_word("alias");
    if (target)
        tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("HSET"), hash, field,
                                              {target->uri->name, target->uri->name_size}));
    else
        tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("HDEL"), hash, field));
    tamis_status status = tamis__step_run_outcome(rf, &step, outcome, &why);
    if (status == TAMIS_OK && *outcome == TAMIS__NOT_DONE)
        return tamis__lock_lost(rf, err);
    if (*outcome == TAMIS__DONE)
        return TAMIS_OK;
    if (status == TAMIS_OK)
        status = tamis__config_own(rf, &now, &why);
    if (status != TAMIS_OK)
        return *outcome == TAMIS__NOT_DONE
                   ? tamis__fail(err, status, why.sys_errno, "%s", why.text)
                   : tamis__fail(err, status, why.sys_errno,
                                 "%.300s; it is unknown whether the alias was changed; " TAMIS__LOOK_FIRST,
                                 why.text);
    const size_t size = target ? target->uri->name_size : 0;
    if (now.target_size == size && (!target || memcmp(now.target, target->uri->name, size) == 0))
        return TAMIS_OK;
    return tamis__lock_lost_after(rf, "it is unknown whether the alias was changed", err);
}

tamis_status tamis__manage_set_alias(const tamis__redis_filter *rf, const tamis__redis_filter *target,
                                     tamis_error *err) {
    tamis__config config;
    tamis__outcome outcome = TAMIS__NOT_DONE;
    tamis_status status = tamis__manage_lock(rf, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__config_own(rf, &config, err);
    if (status == TAMIS_OK)
        status = check_alias(rf, &config, target, err);
    if (status == TAMIS_OK)
        status = change_alias(rf, &config, target, &outcome, err);
    return tamis__manage_unlock(rf, status, outcome == TAMIS__NOT_DONE, err);
}

tamis_status tamis_redis_alias(tamis_redis *redis, const char *name, const char *target, tamis_error *err) {
    TAMIS__NEED(name, err);
    tamis_filter *alias, *to = NULL;
    tamis_status status = name_only(&alias, redis, name, err);
    if (status == TAMIS_OK && target) {
        status = name_only(&to, tamis__redis_of(alias)->redis, target, err);
        if (status == TAMIS_OK)
            status = check_target(tamis__redis_of(to), tamis__redis_of(alias), err);
    }
    if (status == TAMIS_OK)
        status = tamis__manage_set_alias(tamis__redis_of(alias), to ? tamis__redis_of(to) : NULL, err);
    tamis_filter_free(to);
    tamis_filter_free(alias);
    return status;
}

/* ---- expire ---- */

static tamis_status expire_hash(const tamis__redis_filter *rf, const tamis__config *config, uint64_t ms,
                                tamis_error *err) {
    char lock[TAMIS__REDIS_KEY], name[TAMIS__REDIS_KEY], copy_name[TAMIS__REDIS_KEY], digits[24];
    tamis__step step = {.key_count = 0};
    bool is_done;
    tamis__lock_add_condition(rf, &step, lock);
    const tamis_key hash = tamis__plan_add_condition(rf, &step, config->plan, name);
    const tamis_key copy = {copy_name, tamis__copy_name(rf, copy_name)};
    snprintf(digits, sizeof digits, "%" PRIu64, ms);
    const tamis_key time = tamis__redis_word(digits);
    const tamis_key command = tamis__redis_word(ms > 0 ? "PEXPIRE" : "PERSIST");
    tamis__step_key(&step, copy);
    const tamis_key copy_words[] = {command, copy, time}, hash_words[] = {command, hash, time};
    tamis__step_write(&step, copy_words, ms > 0 ? 3 : 2);
    tamis__step_write(&step, hash_words, ms > 0 ? 3 : 2);
    const tamis_status status = tamis__step_run(rf, &step, &is_done, err);
    return status == TAMIS_OK && !is_done ? tamis__lock_lost(rf, err) : status;
}

/* Sets the expiry of the partitions of that plan. */
static tamis_status expire_partitions(const tamis__redis_filter *rf, const char *plan, uint64_t ms,
                                      tamis_error *err) {
    tamis__parsed_plan parsed;
    if (!tamis__plan_text_parse(&parsed, plan) || parsed.is_family)
        return TAMIS_OK;
    const tamis__partitions partitions =
        tamis__partitions_of(rf, parsed.generation, parsed.bits, parsed.partition);
    return tamis__partitions_set_expiry(&partitions, plan, ms > 0 ? ms + TAMIS__GRACE_MS : 0, err);
}

static tamis_status expire_locked(const tamis__redis_filter *rf, uint64_t ms, tamis_error *err) {
    tamis__config config;
    char name[TAMIS__REDIS_KEY];
    uint64_t left_ms;
    tamis_status status = tamis__config_seek(rf, &config, err);
    if (status == TAMIS_OK && !*config.plan)
        status = tamis__manage_fail_absent(rf, err);
    if (status == TAMIS_OK)
        status = tamis__redis_ttl(rf, (tamis_key){name, tamis__config_name(rf, name)}, &left_ms, err);
    if (status != TAMIS_OK)
        return status;
    const bool is_shorter = ms > 0 && (left_ms == 0 || ms < left_ms);
    if (is_shorter)
        status = expire_hash(rf, &config, ms, err);
    if (status == TAMIS_OK)
        status = expire_partitions(rf, config.plan, ms, err);
    if (status == TAMIS_OK)
        status = tamis__members_expire(rf, config.plan, (int64_t)ms, err);
    if (status == TAMIS_OK && rf->is_family) { /* finding the members may outlast the lock: take it again */
        (void)tamis__lock_release(rf, NULL);
        status = tamis__lock_acquire(rf, err);
    }
    return status == TAMIS_OK && !is_shorter ? expire_hash(rf, &config, ms, err) : status;
}

/* If the filter was dropped or replaced meanwhile, retires its partitions: some of them just lost their
 * expiry. */
static tamis_status retire_if_gone(const tamis__redis_filter *rf, const char *plan) {
    tamis__config now;
    tamis_status status = tamis__config_locked(rf, &now, NULL);
    if (status == TAMIS_OK && strcmp(now.plan, plan) != 0)
        status = tamis__plan_text_expire(rf, plan, TAMIS__GRACE_MS, NULL);
    return status;
}

static tamis_status expire_tamis(const tamis__redis_filter *rf, uint64_t ms, tamis_error *err) {
    tamis__config config;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__config_seek(rf, &config, err);
    if (status == TAMIS_OK && !*config.plan)
        status = tamis__manage_fail_absent(rf, err);
    if (status != TAMIS_OK)
        return status;
    tamis__handle_set_target(rf, config.target, config.target_size);
    status = tamis__lock_acquire(rf, err);
    if (status != TAMIS_OK)
        return status;
    status = expire_locked(rf, ms, &why);
    if (status == TAMIS_E_BUSY && why.sys_errno == ESTALE)
        (void)tamis__lock_lost_after(rf, "some of its Redis keys may have the new expiry", &why);
    status = tamis__manage_unlock(rf, status, false, &why);
    if (status != TAMIS_OK && retire_if_gone(rf, config.plan) != TAMIS_OK)
        return tamis__fail(
            err, status, why.sys_errno,
            "%.300s; if the filter is gone, Redis keys of it may remain: remove them with tamis "
            "redis clean",
            why.text);
    tamis__manage_copy_error(err, &why);
    return status;
}

tamis_status tamis_redis_expire(tamis_redis *redis, const char *name, uint64_t ms, tamis_error *err) {
    TAMIS__NEED(name, err);
    const tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter;
    if (ms > INT64_MAX / 2000000) /* 146 years: half the range of 64 bits in nanoseconds */
        return tamis__fail(err, TAMIS_E_RANGE, 0, "expire: %" PRIu64 " ms is too long; give 0 to keep it",
                           ms);
    tamis_status status = tamis__redis_name(&filter, redis, name, NULL, err);
    if (status != TAMIS_OK)
        return status;
    tamis__redis_filter *rf = tamis__redis_of(filter);
    if (rf->layout == &tamis__layout_tamis) {
        status = tamis__uri_options_check(rf, err);
        if (status == TAMIS_OK)
            status = expire_tamis(rf, ms, err);
    } else {
        char config[TAMIS__REDIS_KEY];
        status = rf->layout->open(filter, &options, err);
        if (status == TAMIS_OK && rf->layout->config_name)
            status =
                tamis__redis_expire(rf, (tamis_key){config, rf->layout->config_name(rf, config)}, ms, err);
        if (status == TAMIS_OK)
            status = tamis__redis_expire_all(rf, ms, err);
    }
    tamis_filter_free(filter);
    return status;
}
