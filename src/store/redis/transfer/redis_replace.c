/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Uploads a filter in memory to a server, in a layout that keeps its bits in one Redis key and has no
 * aliases. These are java, redisson, and php1 to php3 if they have one key.
 *
 *     1 make      a staging string of zeros, which expires
 *     2 fill      SETRANGE of chunks; then each chunk and the length are checked
 *     3 expire    the time of the URI, or the time that the present filter has left
 *     4 rename    RENAME of the staging string to the Redis key of the filter
 *
 *     Redis key         bf:seen                bf:{u}seen
 *     staging string    {bf:seen}:push-R       bf:{u}seen:push-R       R random
 *
 * Both names have the same hash tag, so in a cluster they are in one slot. With independent servers, all
 * commands go to the server of the Redis key.
 *
 * Invariants:
 * 1. Only the rename changes what clients use, and it does so atomically. Keys that are added to the old
 *    filter until then are lost with it.
 * 2. A late chunk does nothing: its step requires the staging string, which is gone after the rename.
 * 3. If the reply to RENAME is lost and the command is sent again, the staging string is gone. The filter is
 *    then read back, and must contain every bit that was sent.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "base/versioned.h"
#include "plan/plan_int.h"
#include "store/redis/transfer/redis_transfer.h"

enum { LIFETIME_MS = 3600000 /* expiry of the staging string; plus a second for each mebibyte */ };

typedef struct replacement {
    tamis_filter *made;         /* handle of the filter on the server */
    tamis__redis_filter *rf;    /* body of `made` */
    const tamis_filter *filter; /* filter in memory */
    char key[TAMIS__REDIS_KEY], staging_key[TAMIS__REDIS_KEY];
    size_t key_size, staging_size;
} replacement;

/* ---- names ---- */

/* Writes the names of the Redis key and of the staging string beside it. */
static tamis_status choose_names(replacement *r, tamis_error *err) {
    const tamis__redis_filter *rf = r->rf;
    char *to = r->staging_key;
    uint32_t random;
    const tamis_status status = tamis__random(&random, sizeof random, rf->uri->shown, err);
    if (status != TAMIS_OK)
        return status;
    r->key_size = rf->layout->key_name(rf, 0, r->key);
    size_t used = 0, tag_size = r->key_size;
    const bool tagged = tamis__cluster_tag(r->key, &tag_size) != NULL;
    if (!tagged)
        to[used++] = '{';
    memcpy(to + used, r->key, r->key_size);
    used += r->key_size;
    used +=
        (size_t)snprintf(to + used, TAMIS__REDIS_KEY - used, "%s:push-%08" PRIx32, tagged ? "" : "}", random);
    r->staging_size = used;
    if (rf->redis->uri.kind != TAMIS__REDIS_CLUSTER ||
        tamis__redis_slot(rf->redis, r->staging_key, r->staging_size) == tamis__redis_key_slot(rf, 0))
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%s: has a } in its name and no hash tag, so that no other key can be in its slot of the "
        "cluster; choose another name",
        rf->uri->shown);
}

/* ---- commands, all sent to the server of the Redis key ---- */

static tamis_status send_command(const replacement *r, const tamis_key *words, size_t count, int64_t *answer,
                                 tamis_error *err) {
    tamis__command command = tamis__redis_command_in(r->rf, tamis__redis_key_slot(r->rf, 0), words, count);
    const tamis_status status = tamis__command_run(&command, err);
    if (answer)
        *answer = command.integer;
    return status;
}

static tamis_status query_staging(const replacement *r, const char *name, int64_t *answer, tamis_error *err) {
    const tamis_key words[] = {tamis__redis_word(name), {r->staging_key, r->staging_size}};
    return send_command(r, words, 2, answer, err);
}

/* Sets the expiry; 0: none. */
static tamis_status set_expiry(const replacement *r, tamis_key key, uint64_t ms, tamis_error *err) {
    return tamis__redis_expire_in(r->rf, tamis__redis_key_slot(r->rf, 0), key, ms, err);
}

/* ---- steps ---- */

/* Opens the handle with the plan of the stored filter or, if there is none, of the URI. makes: the filter
 * is made then, as far as it has more than its bits. */
static tamis_status open_handle(tamis_filter *made, bool makes, tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(made);
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    options.create = true;
    tamis_hasher_free(made->hasher);
    made->hasher = NULL;
    const tamis_status status = !makes && rf->layout->open_plan ? rf->layout->open_plan(made, err)
                                                                : rf->layout->open(made, &options, err);
    return status == TAMIS_OK ? tamis__redis_check_moves(rf, err) : status;
}

static tamis_status check_compatible(const replacement *r, tamis_error *err) {
    return tamis__check_compatible(r->made, r->filter, "push",
                                   "build it for that URI, or give the parameters that it was made with",
                                   err);
}

/* Fails if the Redis key is not a string. RENAME would replace a value of any type; STRLEN refuses other
 * types. */
static tamis_status check_type(const replacement *r, tamis_error *err) {
    const tamis_key words[] = {tamis__redis_word("STRLEN"), {r->key, r->key_size}};
    return send_command(r, words, 2, NULL, err);
}

static tamis_status make_staging(const replacement *r, tamis_error *err) {
    const uint64_t bytes = r->made->plan.memory;
    char last[24];
    snprintf(last, sizeof last, "%" PRIu64, bytes - 1);
    const tamis_key words[] = {
        tamis__redis_word("SETRANGE"), {r->staging_key, r->staging_size}, tamis__redis_word(last), {"", 1}};
    const tamis_status status = send_command(r, words, 4, NULL, err);
    if (status != TAMIS_OK)
        return status;
    return set_expiry(r, words[1], LIFETIME_MS + bytes / TAMIS__CHUNK * 1000, err);
}

static tamis_status upload_bits(const replacement *r, const tamis_redis_push_options *options,
                                tamis_error *err) {
    size_t count;
    int64_t size = 0;
    const tamis__upload bits = {.there = r->made,
                                .words = tamis__bloom_words(r->filter, &count),
                                .staging_key = {r->staging_key, r->staging_size},
                                .progress = options->progress,
                                .context = options->context};
    tamis_status status = tamis__upload_run(&bits, err);
    if (status == TAMIS_OK)
        status = query_staging(r, "STRLEN", &size, err);
    if (status == TAMIS_OK && (uint64_t)size != r->made->plan.memory)
        return tamis__fail(err, TAMIS_E_IO, 0,
                           "redis %s: %s: the uploaded string has %" PRId64 " bytes, not %" PRIu64
                           " (evicted, or lost in a failover); make sure that the server has the memory, and "
                           "write the filter again",
                           r->rf->redis->endpoint.shown, r->rf->uri->shown_name, size, r->made->plan.memory);
    return status;
}

/* Makes the config hash of layout redisson if it is missing. */
static tamis_status make_config(const replacement *r, tamis_error *err) {
    const tamis_status status = open_handle(r->made, true, err);
    return status == TAMIS_OK ? check_compatible(r, err) : status;
}

/* The staging string is gone. Checks that the filter contains every bit that was sent. */
static tamis_status check_sent(const replacement *r, tamis_error *err) {
    tamis_filter *pulled;
    size_t count;
    tamis_status status = tamis_redis_pull(&pulled, r->made, err);
    if (status != TAMIS_OK)
        return status;
    const uint64_t *sent = tamis__bloom_words(r->filter, &count), *there = tamis__bloom_words(pulled, &count);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        if (sent[i] & ~there[i])
            status = tamis__fail(err, TAMIS_E_IO, 0,
                                 "redis %s: %s: the uploaded string is gone (evicted, or lost in a "
                                 "failover); make sure that the server has the memory, and write the "
                                 "filter again",
                                 r->rf->redis->endpoint.shown, r->rf->uri->shown_name);
    tamis_filter_free(pulled);
    return status;
}

static tamis_status rename_staging(const replacement *r, tamis_error *err) {
    const tamis_key words[] = {
        tamis__redis_word("RENAME"), {r->staging_key, r->staging_size}, {r->key, r->key_size}};
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_status status = send_command(r, words, 3, NULL, &why);
    if (status == TAMIS_E_REFUSED && strstr(why.text, "no such key"))
        return check_sent(r, err);
    if (status == TAMIS_E_REFUSED && strcasestr(why.text, "rename"))
        return tamis__fail(
            err, TAMIS_E_REFUSED, 0,
            "redis %s: %s: the server refuses RENAME, by which alone a filter of layout %s is "
            "replaced at once, and what was there is as it was; allow it, or drop the filter and "
            "add the keys themselves",
            r->rf->redis->endpoint.shown, r->rf->uri->shown_name, r->rf->layout->name);
    if (status != TAMIS_OK && err)
        *err = why;
    return status;
}

/* Gives the config hash of layout redisson the same expiry as the bits, and checks it. */
static tamis_status finish_config(const replacement *r, tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    bool again;
    if (!r->rf->layout->config_name)
        return TAMIS_OK;
    const tamis_key config = {name, r->rf->layout->config_name(r->rf, name)};
    const tamis_status status = set_expiry(r, config, r->rf->ttl_ms, err);
    return status == TAMIS_OK ? tamis__redis_check(r->made, false, &again, err) : status;
}

static tamis_status keep_expiry(const replacement *r, tamis_error *err) {
    const tamis_key words[] = {tamis__redis_word("PTTL"), {r->key, r->key_size}};
    int64_t left = 0;
    if (r->rf->ttl_ms > 0)
        return TAMIS_OK;
    const tamis_status status = send_command(r, words, 2, &left, err);
    r->rf->ttl_ms = left > 0 ? (uint64_t)left : 0;
    return status;
}

static tamis_status run_replacement(const replacement *r, const tamis_redis_push_options *options,
                                    tamis_error *err) {
    int64_t removed;
    tamis_status status = make_staging(r, err);
    if (status == TAMIS_OK)
        status = upload_bits(r, options, err);
    if (status == TAMIS_OK && r->rf->layout->config_name)
        status = make_config(r, err);
    if (status == TAMIS_OK)
        status = keep_expiry(r, err);
    if (status == TAMIS_OK)
        status = set_expiry(r, (tamis_key){r->staging_key, r->staging_size}, r->rf->ttl_ms, err);
    if (status == TAMIS_OK)
        status = rename_staging(r, err);
    if (status != TAMIS_OK) {
        (void)query_staging(r, tamis__redis_unlink(r->rf->redis), &removed, NULL);
        return status;
    }
    return finish_config(r, err);
}

tamis_status tamis__redis_replace(tamis_filter *made, const tamis_filter *filter,
                                  const tamis_redis_push_options *options, tamis_error *err) {
    replacement r = {.made = made, .rf = tamis__redis_of(made), .filter = filter};
    tamis_status status = tamis__redis_require_command(r.rf->redis, r.rf->uri->shown, "RENAME",
                                                       "use layout tamis, or add the keys themselves", err);
    if (status == TAMIS_OK)
        status = open_handle(made, false, err);
    if (status == TAMIS_OK)
        status = check_compatible(&r, err);
    if (status == TAMIS_OK)
        status = choose_names(&r, err);
    if (status == TAMIS_OK)
        status = check_type(&r, err);
    return status == TAMIS_OK ? run_replacement(&r, options, err) : status;
}

/* Only layout tamis uses `plan_options`; they may be NULL for the others. */
tamis_status tamis_redis_plan_for(tamis_plan *plan, const tamis_plan_options *plan_options,
                                  tamis_redis *redis, const char *name, tamis_error *err) {
    TAMIS__NEED(name, err);
    tamis_plan made = TAMIS_PLAN_INIT;
    const tamis_plan_options none = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan_options checked_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_filter *named;
    tamis_status status =
        tamis__plan_read_options(&checked_options, plan_options ? plan_options : &none, plan, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__redis_name(&named, redis, name, NULL, err);
    if (status != TAMIS_OK)
        return status;
    if (tamis__redis_of(named)->layout == &tamis__layout_tamis) {
        status = tamis_redis_plan_make(&made, plan_options, err);
    } else {
        status = open_handle(named, false, err);
        made = named->plan;
    }
    if (status == TAMIS_OK)
        tamis__write_struct(plan, &made, sizeof made);
    tamis_filter_free(named);
    return status;
}
