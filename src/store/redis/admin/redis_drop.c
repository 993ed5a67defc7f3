/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Dropping a filter.
 *
 * Drop, with the stages of docs/REDIS-LAYOUT.md, Dropping:
 *
 *     1      lock         tamis:{NAME}:push
 *     2, 3   leftovers    ends a resize; removes partitions of before and pushing; those of next expire soon
 *     4      hide         step: field plan moves to field before; the copy of the plan is deleted
 *     5      read back    there is no plan: clients no longer find the filter
 *     6      remove       the partitions; members of a family by SCAN, when no client can create new ones
 *     7      forget       fields before and pushing; the hash vanishes with its last field
 *
 * Why field before: if the drop is killed, the next drop or push finds the partitions by it.
 *
 * The drop has taken effect with stage 4. A lock that is lost after that is not a failure: what is left to
 * remove needs none. Repeating the drop would remove a filter that another program has made since.
 *
 * Full server. A server without free memory accepts neither the lock nor field before, but it accepts HDEL
 * and DEL. The drop then goes on without them. The condition of its steps is that nobody holds the lock. If
 * scripts are forbidden too, there are no steps: the server refuses every command of a transaction. The
 * drop then removes the partitions first, which frees memory for the steps.
 */
#include <errno.h>
#include <string.h>

#include "store/redis/admin/redis_manage.h"

/* Drops a filter of another layout. A Redis key with its parameters goes first, so that no client finds it
 * without the bits. */
static tamis_status drop_keys(tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    uint64_t removed = 0;
    int64_t config = 0;
    char name[TAMIS__REDIS_KEY];
    tamis_status status = rf->layout->open(filter, &options, err);
    if (status == TAMIS_OK && rf->layout->config_name) {
        const tamis_key words[] = {tamis__redis_word(tamis__redis_unlink(rf->redis)),
                                   {name, rf->layout->config_name(rf, name)}};
        status = tamis__redis_command(rf, words, 2, &config, err);
    }
    if (status == TAMIS_OK)
        status = tamis__redis_every_key(rf, tamis__redis_unlink(rf->redis), &removed, err);
    return status == TAMIS_OK && removed == 0 && config <= 0 ? tamis__manage_fail_absent(rf, err) : status;
}

/* A filter while it is dropped. */
typedef struct dropped_filter {
    const tamis__redis_filter *rf;
    const tamis__config *config; /* its hash before the drop */
    const char *copy;            /* copy of its plan, or "" */
} dropped_filter;

/* Removes the members of a family. If SCAN is refused, the plan stays in field before, for the next drop. */
static tamis_status remove_members(const dropped_filter *d, tamis_error *err) {
    const tamis__redis_filter *rf = d->rf;
    const tamis__config *config = d->config;
    tamis_status status = tamis__members_expire(rf, config->before, -1, err);
    if (status == TAMIS_OK && !*config->plan) /* the hash was deleted */
        status = tamis__members_expire(rf, d->copy, -1, err);
    if (status == TAMIS_OK && strcmp(config->plan, config->before) != 0)
        status = tamis__members_expire(rf, config->plan, -1, err);
    if (status != TAMIS_E_REFUSED)
        return status;
    return tamis__fail(err, TAMIS_E_REFUSED, 0,
                       "redis %s: %s: the family is dropped, and the strings of its members stay, since the "
                       "server refuses SCAN; grant +scan and drop it again, or let them expire",
                       rf->redis->endpoint.shown, rf->uri->shown_name);
}

/* Removes the plan, which hides the filter. If the server is full, field before is not written. */
static tamis_status remove_plan(const tamis__redis_filter *rf, const tamis__config *config, bool is_full,
                                tamis__outcome *outcome, tamis_error *err) {
    char lock[TAMIS__REDIS_KEY], name[TAMIS__REDIS_KEY], copy_name[TAMIS__REDIS_KEY];
    const tamis_key copy = {copy_name, tamis__copy_name(rf, copy_name)};
    tamis__step step = {.key_count = 0};
    tamis__lock_add_condition(rf, &step, lock);
    const tamis_key hash = tamis__plan_add_condition(rf, &step, config->plan, name);
    tamis__step_key(&step, copy);
    if (!is_full && *config->plan)
        tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("HSET"), hash, tamis__redis_word("before"),
                                              tamis__redis_word(config->plan)));
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("HDEL"), hash, tamis__redis_word("plan"),
                                          tamis__redis_word("state"), tamis__redis_word("next"),
                                          tamis__redis_word("sending")));
    /* The drop removes the rest of the hash. */
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("PERSIST"), hash));
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("DEL"), copy));
    const tamis_status status = tamis__step_run_outcome(rf, &step, outcome, err);
    return status == TAMIS_OK && *outcome == TAMIS__NOT_DONE ? tamis__lock_lost(rf, err) : status;
}

/* Hides the filter and reads the plan back. *now is the hash afterwards. If it has another plan, the drop has
 * taken effect too: another program has made the filter again. */
static tamis_status remove_plan_checked(const tamis__redis_filter *rf, const tamis__config *config,
                                        tamis__config *now, tamis__outcome *outcome, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = remove_plan(rf, config, !*tamis__tamis_of(rf)->token, outcome, &why);
    if (status == TAMIS_E_REFUSED && why.sys_errno == ENOMEM)
        status = remove_plan(rf, config, true, outcome, &why);
    if (status == TAMIS_OK)
        status = tamis__plan_read_back(rf, now->plan, &why);
    if (status == TAMIS_OK)
        status = tamis__config_own(rf, now, &why);
    if (status == TAMIS_OK && *now->plan && strcmp(now->plan, config->plan) == 0)
        status = tamis__lock_lost(rf, &why);
    if (status != TAMIS_OK && err)
        *err = why;
    return status;
}

/* Removes leftovers: field before must be free for the plan of this drop. */
static tamis_status remove_leftovers(const dropped_filter *d, tamis_error *err) {
    const tamis__redis_filter *rf = d->rf;
    const tamis__config *config = d->config;
    /* The partitions of `plan` itself are removed later, when the plan is gone. */
    tamis_status status = TAMIS_OK;
    if (strcmp(config->before, config->plan) != 0)
        status = tamis__plan_text_expire(rf, config->before, -1, err);
    if (status == TAMIS_OK && strcmp(config->pushing, config->next) != 0 &&
        strcmp(config->pushing, config->plan) != 0)
        status = tamis__plan_text_expire(rf, config->pushing, -1, err);
    if (status == TAMIS_OK) /* adds to `next` may be on their way: see tamis__push_remove in redis_push.c */
        status = tamis__plan_text_expire(rf, config->next, TAMIS__GRACE_MS, err);
    return status == TAMIS_OK && !*config->plan ? tamis__plan_text_expire(rf, d->copy, -1, err) : status;
}

/* Removes and forgets, with care for another writer that has made the filter again. That writer may have
 * replaced this plan before the drop's own step, so batches may still read the partitions. And its field
 * before may name partitions without an expiry. */
static tamis_status remove_dropped(const dropped_filter *d, const tamis__config *now, tamis_error *err) {
    const tamis__redis_filter *rf = d->rf;
    const tamis__config *config = d->config;
    const bool is_before_removed =
        strcmp(now->before, config->plan) == 0 || strcmp(now->before, config->before) == 0;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__plan_text_expire(rf, config->plan, *now->plan ? TAMIS__GRACE_MS : -1, &why);
    if (status == TAMIS_OK) {
        status = remove_members(d, &why);
        if (status == TAMIS_E_REFUSED) /* its message says what was dropped and what stays */
            return tamis__fail(err, status, why.sys_errno, "%s", why.text);
    }
    if (status == TAMIS_OK && is_before_removed)
        status = tamis__field_remove(rf, "before", now->before, &why);
    if (status == TAMIS_OK)
        status = tamis__field_remove(rf, "pushing", config->pushing, &why);
    if (status == TAMIS_OK)
        return TAMIS_OK;
    return tamis__fail(
        err, status, why.sys_errno,
        "%.300s; the filter was dropped, but Redis keys of it may remain: remove them with tamis "
        "redis clean",
        why.text);
}

/* Removes the partitions of the dropped filter, even if the lock is lost: no plan will ever name them
 * again. */
static tamis_status finish_drop(const dropped_filter *d, const tamis__config *now, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_status status = remove_dropped(d, now, &why);
    if (status == TAMIS_E_BUSY) {
        *tamis__tamis_of(d->rf)->token = '\0'; /* from now on nothing renews the lock */
        return remove_dropped(d, now, err);
    }
    tamis__manage_copy_error(err, &why);
    return status;
}

static tamis_status fail_unknown(const tamis__redis_filter *rf, const tamis_error *why, tamis_error *err) {
    static const char effect[] = "it is unknown whether the filter was dropped";
    if (why->status == TAMIS_E_BUSY)
        return tamis__lock_lost_after(rf, effect, err);
    return tamis__fail(
        err, why->status, why->sys_errno,
        "%.300s; %s; look with tamis info before you repeat it, and remove Redis keys that are left "
        "with tamis redis clean",
        why->text, effect);
}

/*
 * Steps 3 and 4 failed. Finds out whether the drop took effect:
 * - The step was answered, or the plan is gone: it did, and the rest is done if the server can be reached. If
 *   too few replicas confirmed it, the partitions stay: a failover may bring the plan back.
 * - The plan is still there when the lock has been released: it did not, since no late step does anything
 *   now.
 */
static tamis_status recover_drop(const dropped_filter *d, tamis__outcome outcome, const tamis_error *why,
                                 tamis_error *err) {
    const tamis__redis_filter *rf = d->rf;
    const tamis__config *config = d->config;
    tamis__config now;
    char *token = tamis__tamis_of(rf)->token;
    const bool may_be_lost =
        outcome == TAMIS__DONE && why->status == TAMIS_E_TIMEOUT && rf->redis->replicas > 0;
    bool is_read = tamis__config_own(rf, &now, NULL) == TAMIS_OK;
    if (outcome == TAMIS__UNKNOWN && is_read && strcmp(now.plan, config->plan) == 0) {
        is_read = *token && tamis__lock_release(rf, NULL) == TAMIS_OK &&
                  tamis__config_own(rf, &now, NULL) == TAMIS_OK;
        *token = '\0';
    }
    const bool is_gone = is_read && *config->plan && strcmp(now.plan, config->plan) != 0;
    if ((outcome == TAMIS__DONE || is_gone) && is_read && !may_be_lost)
        return finish_drop(d, &now, err);
    if (outcome == TAMIS__DONE || is_gone)
        return tamis__fail(
            err, why->status, why->sys_errno,
            "%.300s; the filter was dropped, but Redis keys of it may remain: remove them with tamis "
            "redis clean",
            why->text);
    return is_read ? tamis__fail(err, why->status, why->sys_errno, "%s", why->text)
                   : fail_unknown(rf, why, err);
}

/* *outcome is that of the step that removes the plan. */
static tamis_status remove_tamis(const dropped_filter *d, tamis__outcome *outcome, tamis_error *err) {
    const tamis__redis_filter *rf = d->rf;
    const tamis__config *config = d->config;
    tamis__config now;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__change_begin(rf, config->plan, &why);
    if (status == TAMIS_OK)
        status = remove_leftovers(d, &why);
    if (status == TAMIS_OK)
        status = remove_plan_checked(rf, config, &now, outcome, &why);
    if (status == TAMIS_OK)
        return finish_drop(d, &now, err);
    if (*outcome != TAMIS__NOT_DONE)
        return recover_drop(d, *outcome, &why, err);
    tamis__manage_copy_error(err, &why);
    return status;
}

static bool has_partitions(const tamis__config *config) {
    return *config->plan || *config->before || *config->pushing;
}

/* Drops the filter. While the lock is held no push makes partitions or switches, so the hash names all
 * partitions. `expected_plan`: NULL, or the plan that the hash must have. */
static tamis_status drop_locked(const tamis__redis_filter *rf, const char *expected_plan, tamis_error *err) {
    tamis__config config;
    char copy[TAMIS__REDIS_PLAN];
    tamis__outcome outcome = TAMIS__NOT_DONE;
    tamis_status status = tamis__manage_lock(rf, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__config_own(rf, &config, err);
    if (status == TAMIS_OK)
        status = tamis__copy_read(rf, copy, err);
    if (status == TAMIS_OK && expected_plan && strcmp(config.plan, expected_plan) != 0)
        status = tamis__lock_busy(rf, err);
    if (status == TAMIS_OK)
        status = has_partitions(&config) || *copy
                     ? remove_tamis(&(dropped_filter){rf, &config, copy}, &outcome, err)
                     : tamis__manage_fail_absent(rf, err);
    return tamis__manage_unlock(rf, status, outcome == TAMIS__NOT_DONE, err);
}

/* For a full server that runs no scripts. Removing the partitions of the plan needs no step: they belong
 * to the filter that is dropped, or to none. Until the plan is gone too, clients find the filter damaged. */
static tamis_status drop_partitions_first(const tamis__redis_filter *rf, const char *plan, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__plan_text_expire(rf, plan, -1, &why);
    if (status == TAMIS_OK)
        status = drop_locked(rf, plan, &why);
    if (status == TAMIS_OK)
        return status;
    return tamis__fail(err, status, why.sys_errno,
                       "%.300s; to free memory, partitions of the filter that was there were removed: look "
                       "at it with tamis info, and drop it again",
                       why.text);
}

static tamis_status drop_tamis(const tamis__redis_filter *rf, tamis_error *err) {
    tamis__config config;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__config_own(rf, &config, err);
    if (status != TAMIS_OK)
        return status;
    if (config.target_size > 0)
        return tamis__manage_set_alias(rf, NULL, err);
    status = drop_locked(rf, NULL, &why);
    if (status == TAMIS_E_REFUSED && why.sys_errno == ENOMEM && rf->redis->forbids_scripts && *config.plan)
        return drop_partitions_first(rf, config.plan, err);
    tamis__manage_copy_error(err, &why);
    return status;
}

tamis_status tamis_redis_drop(tamis_redis *redis, const char *name, tamis_error *err) {
    TAMIS__NEED(name, err);
    tamis_filter *filter;
    tamis_status status = tamis__redis_name(&filter, redis, name, NULL, err);
    if (status != TAMIS_OK)
        return status;
    tamis__redis_filter *rf = tamis__redis_of(filter);
    if (rf->layout != &tamis__layout_tamis)
        status = drop_keys(filter, err);
    else
        status = tamis__uri_options_check(rf, err);
    if (status == TAMIS_OK && rf->layout == &tamis__layout_tamis)
        status = drop_tamis(rf, err);
    tamis_filter_free(filter);
    return status;
}
