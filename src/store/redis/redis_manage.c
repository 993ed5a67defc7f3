/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Filters as wholes: alias, drop, expire.
 *
 * A drop holds the lock of a push. It first moves the plan to `before`, by which nobody finds it any more and the next drop
 * or push does should this one be killed, then removes the partitions, then the fields. The hash ends with its last field;
 * one who makes the filter anew meanwhile keeps his. A server that has no memory left takes neither lock nor `before`, and
 * the drop goes on without. Members of a family are found by SCAN, once nobody makes any more of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/redis/layout_tamis.h"

static tamis_status only_tamis(const tamis__redis_filter *at, tamis_error *err) {
    if (at->layout == &tamis__layout_tamis)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0, "%s: layout %s knows no alias; use layout tamis",
                       at->uri->shown, at->layout->name);
}

static tamis_status absent(const tamis__redis_filter *at, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_ABSENT, 0, "redis %s: %s: there is no such filter; check the name",
                       at->redis->to.shown, at->uri->named);
}

/* A handle of the name alone. Free what is made also after a failure. */
static tamis_status name_only(tamis_filter **made, tamis_redis *redis, const char *name, tamis_error *err) {
    *made = NULL;
    tamis_status status = tamis__redis_name(made, redis, name, NULL, err);
    if (status == TAMIS_OK)
        status = only_tamis(tamis__redis_of(*made), err);
    return status == TAMIS_OK ? tamis__redis_uri_check_used(tamis__redis_of(*made)->uri, err) : status;
}

/* ---- alias ---- */

static tamis_status check_target(tamis__redis_filter *at, const tamis__redis_filter *alias,
                                 tamis_error *err) {
    tamis__config config;
    if (at->uri->name_size == alias->uri->name_size &&
        memcmp(at->uri->name, alias->uri->name, at->uri->name_size) == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: cannot be an alias of itself; name another filter",
                           at->uri->shown);
    tamis_status status = tamis__config_find(at, &config, err);
    if (status == TAMIS_OK && config.target_size > 0)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: is an alias itself; let the name stand for the filter",
                           at->redis->to.shown, at->uri->named);
    return status == TAMIS_OK && !*config.plan ? absent(at, err) : status;
}

static tamis_status set_alias(tamis__redis_filter *at, const tamis__redis_filter *target, tamis_error *err) {
    tamis__config config;
    char name[TAMIS__REDIS_KEY];
    const size_t size = tamis__alias_name(at, name);
    tamis_status status = tamis__config_own(at, &config, err);
    if (status == TAMIS_OK && target && *config.plan)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: is a filter itself; push to it, drop it, or choose another name",
                           at->redis->to.shown, at->uri->named);
    if (status == TAMIS_OK && !target && config.target_size == 0 && *config.plan)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: is a filter, and no alias; drop it, where that is meant",
                           at->redis->to.shown, at->uri->named);
    if (status == TAMIS_OK && !target && config.target_size == 0)
        return absent(at, err);
    if (status != TAMIS_OK)
        return status;
    const tamis_key words[] = {tamis__redis_word(target ? "HSET" : "HDEL"),
                               {name, size},
                               tamis__redis_word("alias"),
                               {target ? target->uri->name : "", target ? target->uri->name_size : 0}};
    return tamis__redis_command(at, words, target ? 4 : 3, NULL, err);
}

tamis_status tamis_redis_alias(tamis_redis *redis, const char *name, const char *target, tamis_error *err) {
    tamis_filter *alias, *to = NULL;
    tamis_status status = name_only(&alias, redis, name, err);
    if (status == TAMIS_OK && target) {
        status = name_only(&to, tamis__redis_of(alias)->redis, target, err);
        if (status == TAMIS_OK)
            status = check_target(tamis__redis_of(to), tamis__redis_of(alias), err);
    }
    if (status == TAMIS_OK)
        status = set_alias(tamis__redis_of(alias), to ? tamis__redis_of(to) : NULL, err);
    tamis_filter_free(to);
    tamis_filter_free(alias);
    return status;
}

/* ---- drop ---- */

/* A layout that keeps bits, and perhaps parameters: those go before, so that nobody finds them without the bits. */
static tamis_status drop_keys(tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    const tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    uint64_t removed = 0;
    int64_t config = 0;
    char name[TAMIS__REDIS_KEY];
    tamis_status status = at->layout->open(filter, &options, err);
    if (status == TAMIS_OK && at->layout->config_name) {
        const tamis_key words[] = {tamis__redis_word(tamis__redis_unlink(at->redis)),
                                   {name, at->layout->config_name(at, name)}};
        status = tamis__redis_command(at, words, 2, &config, err);
    }
    if (status == TAMIS_OK)
        status = tamis__redis_every_key(at, tamis__redis_unlink(at->redis), &removed, err);
    return status == TAMIS_OK && removed == 0 && config <= 0 ? absent(at, err) : status;
}

/* What takes memory is left out where the server has none: a drop is what gives some back. */
static tamis_status unless_full(tamis_status status, const tamis_error *why, tamis_error *err) {
    if (status == TAMIS_E_REFUSED && why->sys_errno == ENOMEM)
        return TAMIS_OK;
    if (status != TAMIS_OK && err)
        *err = *why;
    return status;
}

/* Their plan stays in `before` where they cannot be found, for the next drop. */
static tamis_status remove_members(const tamis__redis_filter *at, const tamis__config *config,
                                   tamis_error *err) {
    tamis_status status = tamis__members_expire(at, config->before, -1, err);
    if (status == TAMIS_OK && strcmp(config->plan, config->before) != 0)
        status = tamis__members_expire(at, config->plan, -1, err);
    if (status != TAMIS_E_REFUSED)
        return status;
    return tamis__fail(err, TAMIS_E_REFUSED, 0,
                       "redis %s: %s: the family is dropped, and the strings of its members stay, since the "
                       "server refuses SCAN; grant +scan and drop it again, or let them expire",
                       at->redis->to.shown, at->uri->named);
}

static tamis_status remove_tamis(tamis__redis_filter *at, const tamis__config *config, tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    const size_t size = tamis__alias_name(at, name);
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__told_expire(at, config->before, -1, err);
    const tamis_key put[] = {tamis__redis_word("HSET"),
                             {name, size},
                             tamis__redis_word("before"),
                             tamis__redis_word(config->plan)};
    if (status == TAMIS_OK && *config->plan)
        status = unless_full(tamis__redis_command(at, put, 4, NULL, &why), &why, err);
    const tamis_key hide[] = {tamis__redis_word("HDEL"),
                              {name, size},
                              tamis__redis_word("plan"),
                              tamis__redis_word("state"),
                              tamis__redis_word("next")};
    if (status == TAMIS_OK)
        status = tamis__redis_command(at, hide, 5, NULL, err);
    if (status == TAMIS_OK)
        status = tamis__told_expire(at, config->plan, -1, err);
    if (status == TAMIS_OK)
        status = tamis__told_expire(at, config->pushing, -1, err);
    if (status == TAMIS_OK)
        status = remove_members(at, config, err);
    const tamis_key end[] = {
        tamis__redis_word("HDEL"), {name, size}, tamis__redis_word("before"), tamis__redis_word("pushing")};
    return status == TAMIS_OK ? tamis__redis_command(at, end, 4, NULL, err) : status;
}

static bool is_left(const tamis__config *config) {
    return *config->plan || *config->before || *config->pushing;
}

/* No push makes or switches meanwhile: what is there when the lock was taken is all there is. */
static tamis_status drop_locked(tamis__redis_filter *at, tamis_error *err) {
    tamis__config config;
    char holder[32];
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__generation_new(at, err);
    snprintf(holder, sizeof holder, "drop %016" PRIx64, at->generation);
    if (status != TAMIS_OK)
        return status;
    status = tamis__lock_take(at, holder, &why);
    const bool is_held = status == TAMIS_OK;
    status = unless_full(status, &why, err);
    if (status == TAMIS_OK && !is_held) /* nobody else can take it now, and who has it keeps it */
        status = tamis__lock_check_free(at, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__config_own(at, &config, err);
    if (status == TAMIS_OK)
        status = is_left(&config) ? remove_tamis(at, &config, err) : absent(at, err);
    if (!is_held)
        return status;
    const tamis_status left = tamis__lock_leave(at, status == TAMIS_OK ? err : NULL);
    return status == TAMIS_OK ? left : status;
}

static tamis_status drop_tamis(tamis__redis_filter *at, tamis_error *err) {
    tamis__config config;
    char name[TAMIS__REDIS_KEY];
    const tamis_key alias[] = {
        tamis__redis_word("HDEL"), {name, tamis__alias_name(at, name)}, tamis__redis_word("alias")};
    tamis_status status = tamis__config_own(at, &config, err);
    if (status != TAMIS_OK)
        return status;
    if (config.target_size > 0)
        return tamis__redis_command(at, alias, 3, NULL, err);
    return is_left(&config) ? drop_locked(at, err) : absent(at, err);
}

tamis_status tamis_redis_drop(tamis_redis *redis, const char *name, tamis_error *err) {
    tamis_filter *filter;
    tamis_status status = tamis__redis_name(&filter, redis, name, NULL, err);
    if (status != TAMIS_OK)
        return status;
    tamis__redis_filter *at = tamis__redis_of(filter);
    if (at->layout != &tamis__layout_tamis)
        status = drop_keys(filter, err);
    else
        status = tamis__wanted_pass(at, err);
    if (status == TAMIS_OK && at->layout == &tamis__layout_tamis)
        status = drop_tamis(at, err);
    tamis_filter_free(filter);
    return status;
}

/* ---- expire ---- */

/* The hash goes first and stays last, so that nobody finds it without its partitions. */
static tamis_status expire_tamis(tamis__redis_filter *at, uint64_t ms, tamis_error *err) {
    tamis__config config;
    char name[TAMIS__REDIS_KEY];
    tamis_status status = tamis__config_find(at, &config, err);
    if (status != TAMIS_OK)
        return status;
    if (!*config.plan)
        return absent(at, err);
    memcpy(at->target, config.target, config.target_size);
    at->target_size = config.target_size;
    const tamis_key hash = {name, tamis__config_name(at, name)};
    if (ms > 0)
        status = tamis__redis_expire(at, hash, ms, err);
    if (status == TAMIS_OK)
        status = tamis__told_expire(at, config.plan, (int64_t)ms, err);
    if (status == TAMIS_OK)
        status = tamis__members_expire(at, config.plan, (int64_t)ms, err);
    return status == TAMIS_OK && ms == 0 ? tamis__redis_expire(at, hash, 0, err) : status;
}

tamis_status tamis_redis_expire(tamis_redis *redis, const char *name, uint64_t ms, tamis_error *err) {
    const tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter;
    if (ms > INT64_MAX / 2000000) /* ten years for a server's clock in microseconds, and some */
        return tamis__fail(err, TAMIS_E_RANGE, 0, "expire: %" PRIu64 " ms is too long; give 0 to keep it",
                           ms);
    tamis_status status = tamis__redis_name(&filter, redis, name, NULL, err);
    if (status != TAMIS_OK)
        return status;
    tamis__redis_filter *at = tamis__redis_of(filter);
    if (at->layout == &tamis__layout_tamis) {
        status = tamis__wanted_pass(at, err);
        if (status == TAMIS_OK)
            status = expire_tamis(at, ms, err);
    } else {
        char config[TAMIS__REDIS_KEY];
        status = at->layout->open(filter, &options, err);
        if (status == TAMIS_OK && at->layout->config_name)
            status =
                tamis__redis_expire(at, (tamis_key){config, at->layout->config_name(at, config)}, ms, err);
        if (status == TAMIS_OK)
            status = tamis__partitions_expire(at, NULL, (int64_t)ms, err);
    }
    tamis_filter_free(filter);
    return status;
}
