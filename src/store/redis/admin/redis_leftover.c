/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Finds and removes leftovers: partitions of a build, resize or drop that was killed. (Members of families
 * that no hash names are found by leftover_members.c.) A leftover is a string tamis:{NAME:G:I}:bits
 * without an expiry whose generation G is not in the plan of NAME. Partitions are found by SCAN, sorted by
 * name and generation (leftover_scan.c), and compared with the hash of their name:
 *
 *     SCAN    tamis:{seen:00c0ffee:0}:bits, tamis:{seen:00c0ffee:1}:bits, tamis:{seen:00beef00:0}:bits, ...
 *     HMGET   tamis:{seen}   plan -> ...generation=00beef00   pushing -> ...generation=00c0ffee
 *
 * If the lock of a name is held, a writer is changing the filter: its partitions are not leftovers yet.
 * Such a writer looks like one that was killed less than a minute ago, so the caller gets a warning.
 *
 * Resize. The partitions of field next belong to a resize, which holds no lock while its caller collects
 * keys. Nobody can tell whether it continues. So it is listed, and a caller that removes leftovers ends
 * it.
 *
 * Field `pushing`. The partitions of an unfinished build expire after an hour, the field does not. So all
 * generations in that field are leftovers, whether their partitions expire, or are gone: the hashes are
 * found by a second SCAN.
 *
 * Field `before`. A drop that was killed leaves it in a hash without a plan. Its generation is a leftover
 * too, even if its partitions expire or are gone. If it has the plan of a family, the members are found by
 * SCAN, with or without a plan in the hash. Nobody else removes them.
 *
 * Rights. If the user may not read a Redis key, nobody knows whether it is a leftover. Its filter is left
 * out, and the key counted for a warning.
 *
 * Removing. The lock of the name is taken, and the hash is read after that. Every writer announces its
 * generation in the hash before it makes partitions. So while the lock is held, no writer can make
 * partitions of a generation that the hash does not name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/file/file_error.h"
#include "store/redis/admin/redis_manage.h"

typedef struct leftover_search {
    tamis__redis_filter rf;     /* handle with the URI of the pattern */
    tamis__tamis_state state;   /* its state: the current name is the target */
    tamis__leftover_keys found; /* partitions and hashes that match the pattern */
    tamis_redis_leftover_sink sink;
    void *context;
    bool removes; /* remove leftovers; else only list them */
    bool is_next; /* a resize fills the current generation */
    /* fields of the hash with these names, as last read */
    char plan[TAMIS__REDIS_PLAN], next[TAMIS__REDIS_PLAN], pushing[TAMIS__REDIS_PLAN],
        before[TAMIS__REDIS_PLAN];
    size_t first;   /* first partition of the current generation */
    int64_t answer; /* reply to the current command */
    size_t stay;    /* partitions of the current generation without an expiry */
    size_t expire;  /* partitions of it with one */
    size_t denied;  /* Redis keys of all generations that the user may not read */
    /* Names with leftovers that are left out since their lock is held. */
    uint64_t lock_ms;            /* time that the lock of the current name has left; 0: nobody holds it */
    uint64_t max_lock_ms;        /* the longest of these times; 0: no such name */
    char locked[100];            /* the first of these names, as messages show it */
    bool has_more_locked;        /* there are others */
    char pattern_shown[100 + 4]; /* the pattern, which messages show while no name is current */
} leftover_search;

/* ---- one generation ---- */

static bool is_same_generation(const leftover_search *ctx, const tamis__leftover_key *a,
                               const tamis__leftover_key *b) {
    return a->generation == b->generation && a->name_size == b->name_size &&
           memcmp(ctx->found.text + a->key, ctx->found.text + b->key,
                  TAMIS__LEFTOVER_PREFIX + a->name_size) == 0;
}

static uint32_t slot_of_partition(void *context, size_t i) {
    const leftover_search *ctx = context;
    const tamis__leftover_key *partition = &ctx->found.partitions.keys[ctx->first + i];
    return tamis__redis_slot(ctx->rf.redis, ctx->found.text + partition->key, partition->key_size);
}

static bool put_ttl(void *context, size_t i, tamis__connection *conn) {
    const leftover_search *ctx = context;
    const tamis__leftover_key *partition = &ctx->found.partitions.keys[ctx->first + i];
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, "PTTL");
    tamis__connection_put(conn, ctx->found.text + partition->key, partition->key_size);
    return true;
}

static tamis_status accept_ttl(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err) {
    leftover_search *ctx = context;
    (void)i;
    (void)resent;
    if (reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_filter_bad_reply(&ctx->rf, err);
    ctx->stay += reply->integer == -1;
    ctx->expire += reply->integer >= 0;
    return TAMIS_OK;
}

static bool put_removal(void *context, size_t i, tamis__connection *conn) {
    const leftover_search *ctx = context;
    const tamis__leftover_key *partition = &ctx->found.partitions.keys[ctx->first + i];
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, tamis__redis_unlink(ctx->rf.redis));
    tamis__connection_put(conn, ctx->found.text + partition->key, partition->key_size);
    return true;
}

static tamis_status accept_removal(void *context, size_t i, const tamis__reply *reply, bool resent,
                                   tamis_error *err) {
    const leftover_search *ctx = context;
    (void)i;
    (void)resent;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_filter_bad_reply(&ctx->rf, err);
}

static tamis_status
run_requests(leftover_search *ctx, size_t count, bool (*put_command)(void *, size_t, tamis__connection *),
             tamis_status (*accept_reply)(void *, size_t, const tamis__reply *, bool, tamis_error *),
             tamis_error *err) {
    const tamis__requests requests = {.count = count,
                                      .context = ctx,
                                      .put_command = put_command,
                                      .accept_reply = accept_reply,
                                      .what = ctx->rf.uri->shown_name,
                                      .slot = slot_of_partition};
    return tamis__requests_run(ctx->rf.redis, &requests, NULL, err);
}

static bool names_generation(const char *plan, uint64_t generation) {
    char word[40];
    snprintf(word, sizeof word, "generation=%016" PRIx64, generation);
    return strstr(plan, word) != NULL;
}

/* *is_used: the generation is in use, or will be. If it is not, *kind says what kind of leftover it is. */
static tamis_status check_use(leftover_search *ctx, uint64_t generation, bool *is_used,
                              tamis_redis_leftover_kind *kind, tamis_error *err) {
    tamis__config config;
    char copy[TAMIS__REDIS_PLAN];
    tamis_status status = tamis__config_locked(&ctx->rf, &config, err);
    if (status == TAMIS_OK)
        status = tamis__copy_read(&ctx->rf, copy, err);
    if (status != TAMIS_OK)
        return status;
    /* Without a plan the hash was deleted: tamis redis drop removes its partitions. */
    *is_used = names_generation(*config.plan ? config.plan : copy, generation);
    ctx->is_next = names_generation(config.next, generation);
    *kind = ctx->is_next                                   ? TAMIS_REDIS_LEFT_RESIZE
            : names_generation(config.pushing, generation) ? TAMIS_REDIS_LEFT_UNFINISHED
            : names_generation(config.before, generation)  ? TAMIS_REDIS_LEFT_REPLACED
                                                           : TAMIS_REDIS_LEFT_UNKNOWN;
    snprintf(ctx->plan, sizeof ctx->plan, "%s", config.plan);
    snprintf(ctx->next, sizeof ctx->next, "%s", config.next);
    snprintf(ctx->pushing, sizeof ctx->pushing, "%s", config.pushing);
    snprintf(ctx->before, sizeof ctx->before, "%s", config.before);
    return TAMIS_OK;
}

enum { NO_KEY = -2 /* reply of PTTL */ };

static tamis_status read_lock(leftover_search *ctx, tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    const tamis_key words[] = {tamis__redis_word("PTTL"), {name, tamis__lock_name(&ctx->rf, name)}};
    tamis__command command = tamis__redis_command_in(&ctx->rf, tamis__config_slot(&ctx->rf), words, 2);
    const tamis_status status = tamis__command_run(&command, err);
    const int64_t left_ms = command.integer;
    ctx->lock_ms = left_ms == NO_KEY ? 0 : left_ms > 0 ? (uint64_t)left_ms : TAMIS__LOCK_MS;
    return status;
}

/* A leftover whose lock is held is left out. */
static void note_lock(leftover_search *ctx) {
    const char *name = ctx->rf.uri->shown_name;
    if (!*ctx->locked)
        snprintf(ctx->locked, sizeof ctx->locked, "%.99s", name);
    ctx->has_more_locked = ctx->has_more_locked || strncmp(ctx->locked, name, sizeof ctx->locked - 1) != 0;
    ctx->max_lock_ms = ctx->lock_ms > ctx->max_lock_ms ? ctx->lock_ms : ctx->max_lock_ms;
}

/* The lock is held. Removes nothing unless the lock was also held when the hash was read. `count` is the
 * number of partitions that were found. */
static tamis_status remove_locked(leftover_search *ctx, uint64_t generation, size_t count, bool *is_used,
                                  tamis_error *err) {
    tamis_redis_leftover_kind kind;
    tamis_status status = check_use(ctx, generation, is_used, &kind, err);
    if (status == TAMIS_OK && !*is_used && ctx->is_next) {
        status = tamis__change_begin(&ctx->rf, ctx->plan, err); /* ends the resize */
        if (status == TAMIS_OK)
            status = tamis__plan_text_expire(&ctx->rf, ctx->next, TAMIS__GRACE_MS, err);
        return status == TAMIS_OK && names_generation(ctx->pushing, generation)
                   ? tamis__field_remove(&ctx->rf, "pushing", ctx->pushing, err)
                   : status;
    }
    if (status == TAMIS_OK)
        status = tamis__lock_renew(&ctx->rf, err);
    if (status != TAMIS_OK || *is_used)
        return status;
    status = run_requests(ctx, count, put_removal, accept_removal, err);
    if (status == TAMIS_OK && kind == TAMIS_REDIS_LEFT_UNFINISHED)
        return tamis__field_remove(&ctx->rf, "pushing", ctx->pushing, err);
    if (status != TAMIS_OK || kind != TAMIS_REDIS_LEFT_REPLACED)
        return status;
    status = tamis__members_expire(&ctx->rf, ctx->before, -1, err);
    return status == TAMIS_OK && !*ctx->plan ? tamis__field_remove(&ctx->rf, "before", ctx->before, err)
                                             : status;
}

/* *is_used: the generation is in use by now, and nothing was removed. */
static tamis_status remove_with_lock(leftover_search *ctx, uint64_t generation, size_t count, bool *is_used,
                                     tamis_error *err) {
    tamis_status status = tamis__lock_acquire(&ctx->rf, err);
    if (status != TAMIS_OK)
        return status;
    tamis_error why = TAMIS_ERROR_INIT;
    char effect[TAMIS__REDIS_NAME + 40];
    status = remove_locked(ctx, generation, count, is_used, &why);
    (void)tamis__lock_release(&ctx->rf, NULL);
    snprintf(effect, sizeof effect, "not all leftovers of %.*s were removed", (int)ctx->state.target_size,
             ctx->state.target);
    if (status == TAMIS_E_BUSY)
        return tamis__lock_lost_after(&ctx->rf, effect, err);
    if (status != TAMIS_OK && err)
        *err = why;
    return status;
}

/* Makes the name of a Redis key the current name, also in messages, and reads its lock. */
static tamis_status select_name(leftover_search *ctx, const tamis__leftover_key *found, tamis_error *err) {
    tamis__redis_uri *uri = ctx->rf.uri;
    char name[TAMIS__REDIS_NAME + 1];
    tamis__handle_set_target(&ctx->rf, ctx->found.text + found->key + TAMIS__LEFTOVER_PREFIX,
                             found->name_size);
    snprintf(name, sizeof name, "%.*s", (int)found->name_size,
             ctx->found.text + found->key + TAMIS__LEFTOVER_PREFIX);
    snprintf(uri->shown_name, sizeof uri->shown_name, "%.100s", tamis__show(name).text);
    ctx->stay = ctx->expire = 0;
    return read_lock(ctx, err);
}

/* Removes the leftover, if the caller wants that, and passes it to the caller, unless it is in use by now. */
static tamis_status pass_leftover(leftover_search *ctx, uint64_t generation, size_t count,
                                  tamis_redis_leftover_kind kind, tamis_error *err) {
    bool is_used = false;
    const tamis_redis_leftover leftover = {.struct_size = sizeof leftover,
                                           .kind = kind,
                                           .name = ctx->state.target,
                                           .name_size = ctx->state.target_size,
                                           .generation = generation,
                                           .keys = ctx->stay + ctx->expire};
    tamis_status status = TAMIS_OK;
    if (ctx->lock_ms > 0) {
        note_lock(ctx);
        return TAMIS_OK;
    }
    if (ctx->removes)
        status = remove_with_lock(ctx, generation, count, &is_used, err);
    return status == TAMIS_OK && !is_used ? ctx->sink(ctx->context, &leftover, err) : status;
}

/* True if the hash is or has a leftover itself: the plan of an unfinished build, or of a drop that took
 * effect. */
static bool is_recorded(const leftover_search *ctx, tamis_redis_leftover_kind kind) {
    return kind == TAMIS_REDIS_LEFT_UNFINISHED || (kind == TAMIS_REDIS_LEFT_REPLACED && !*ctx->plan);
}

/* Ends the search after an error, unless the user may not read the Redis keys, `count` of them. */
static tamis_status skip_denied(leftover_search *ctx, size_t count, const tamis_error *why,
                                tamis_error *err) {
    if (why->status == TAMIS_E_REFUSED) {
        ctx->denied += count;
        return TAMIS_OK;
    }
    if (err)
        *err = *why;
    return why->status;
}

/* Reports the partitions of one generation. Those that expire are not leftovers, unless is_recorded. */
static tamis_status report_partitions(leftover_search *ctx, size_t count, tamis_error *err) {
    const tamis__leftover_key *first = &ctx->found.partitions.keys[ctx->first];
    tamis_redis_leftover_kind kind = TAMIS_REDIS_LEFT_UNKNOWN;
    bool is_used = true;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = select_name(ctx, first, &why);
    if (status == TAMIS_OK)
        status = check_use(ctx, first->generation, &is_used, &kind, &why);
    if (status == TAMIS_OK && !is_used)
        status = run_requests(ctx, count, put_ttl, accept_ttl, &why);
    if (status != TAMIS_OK)
        return skip_denied(ctx, count, &why, err);
    if (is_used || (ctx->stay == 0 && !is_recorded(ctx, kind)))
        return TAMIS_OK;
    if (!is_recorded(ctx, kind))
        ctx->expire = 0;
    return pass_leftover(ctx, first->generation, count, kind, err);
}

static bool has_partitions_of(const leftover_search *ctx, const tamis__leftover_key *hash,
                              uint64_t generation) {
    for (size_t i = 0; i < ctx->found.partitions.count; i++)
        if (ctx->found.partitions.keys[i].generation == generation &&
            ctx->found.partitions.keys[i].name_size == hash->name_size &&
            memcmp(ctx->found.text + ctx->found.partitions.keys[i].key, ctx->found.text + hash->key,
                   TAMIS__LEFTOVER_PREFIX + hash->name_size) == 0)
            return true;
    return false;
}

/* Counts the members if `text` is the plan of a family. */
static tamis_status count_members(leftover_search *ctx, const char *text, tamis_error *err) {
    tamis__parsed_plan plan;
    tamis__member_count members;
    ctx->stay = ctx->expire = 0;
    if (!tamis__plan_text_parse(&plan, text) || !plan.is_family)
        return TAMIS_OK;
    tamis_status status =
        tamis__members_count(&ctx->rf, tamis__redis_word("*"), plan.generation, &members, err);
    if (status == TAMIS_OK) {
        ctx->stay = members.stay;
        ctx->expire = members.expire;
    }
    return status;
}

/* Reports the plan in a field of a hash: of a family, or of a filter whose partitions are gone. `expected` is
 * the kind of leftover that this field records. */
static tamis_status report_field(leftover_search *ctx, const tamis__leftover_key *hash, const char *text,
                                 tamis_redis_leftover_kind expected, tamis_error *err) {
    static const char field[] = "generation=";
    tamis_redis_leftover_kind kind = TAMIS_REDIS_LEFT_UNKNOWN;
    bool is_used = true;
    const char *found = strstr(text, field);
    const uint64_t generation = found ? strtoull(found + sizeof field - 1, NULL, 16) : 0;
    if (!found || has_partitions_of(ctx, hash, generation))
        return TAMIS_OK;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = check_use(ctx, generation, &is_used, &kind, &why);
    if (status == TAMIS_OK && !is_used && kind == expected)
        status = count_members(ctx, text, &why);
    if (status != TAMIS_OK)
        return skip_denied(ctx, 1, &why, err);
    if (is_used || kind != expected || (ctx->stay == 0 && !is_recorded(ctx, kind)))
        return TAMIS_OK;
    if (!is_recorded(ctx, kind))
        ctx->expire = 0;
    return pass_leftover(ctx, generation, 0, kind, err);
}

/* Reports the plans in fields `pushing` and `before` of the hash of a name. */
static tamis_status report_hash(leftover_search *ctx, const tamis__leftover_key *hash, tamis_error *err) {
    tamis__config config;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = select_name(ctx, hash, &why);
    if (status == TAMIS_OK)
        status = tamis__config_locked(&ctx->rf, &config, &why);
    if (status != TAMIS_OK)
        return skip_denied(ctx, 1, &why, err);
    status = report_field(ctx, hash, config.pushing, TAMIS_REDIS_LEFT_UNFINISHED, err);
    return status == TAMIS_OK ? report_field(ctx, hash, config.before, TAMIS_REDIS_LEFT_REPLACED, err)
                              : status;
}

/* ---- all generations ---- */

/* Warns of names and keys that were left out. */
static void warn_left_out(const leftover_search *ctx, tamis_error *err) {
    char denied[140] = "", locked[260] = "";
    if (ctx->denied == 0 && ctx->max_lock_ms == 0)
        return;
    if (ctx->denied > 0)
        snprintf(denied, sizeof denied,
                 "this user may not read %zu Redis keys: the filters of these keys were left out; look as a "
                 "user who "
                 "may read them",
                 ctx->denied);
    if (ctx->max_lock_ms > 0)
        snprintf(locked, sizeof locked,
                 "%s%s: locked for up to %" PRIu64
                 " s by a command that is running, or was killed: left out; look again after that",
                 ctx->locked, ctx->has_more_locked ? " and others" : "", (ctx->max_lock_ms + 999) / 1000);
    (void)tamis__fail(err, TAMIS_OK, 0, "redis %s: %s%s%s", ctx->rf.redis->endpoint.shown, denied,
                      *denied && *locked ? "; " : "", locked);
}

static tamis_status visit_generations(leftover_search *ctx, tamis_error *err) {
    tamis_status status = tamis__redis_uri_check_used(ctx->rf.uri, err);
    if (status == TAMIS_OK && ctx->rf.uri->name_size > TAMIS__REDIS_NAME)
        status = tamis__fail(err, TAMIS_E_INVALID, 0, "%s: the pattern has %zu bytes; give up to %d",
                             ctx->rf.uri->shown, ctx->rf.uri->name_size, TAMIS__REDIS_NAME);
    if (status == TAMIS_OK)
        status = tamis__leftover_scan(&ctx->found, &ctx->rf, err);
    for (size_t i = 0; i < ctx->found.partitions.count && status == TAMIS_OK; i += 0) {
        ctx->first = i;
        while (
            i < ctx->found.partitions.count &&
            is_same_generation(ctx, &ctx->found.partitions.keys[ctx->first], &ctx->found.partitions.keys[i]))
            i++;
        status = report_partitions(ctx, i - ctx->first, err);
    }
    for (size_t i = 0; i < ctx->found.hashes.count && status == TAMIS_OK; i++)
        status = report_hash(ctx, &ctx->found.hashes.keys[i], err);
    snprintf(ctx->rf.uri->shown_name, sizeof ctx->rf.uri->shown_name, "%s", ctx->pattern_shown);
    if (status == TAMIS_OK)
        status = tamis__leftover_members(
            &ctx->rf,
            &(tamis__leftover_report){
                .sink = ctx->sink, .context = ctx->context, .removes = ctx->removes, .denied = &ctx->denied},
            err);
    if (status == TAMIS_OK)
        warn_left_out(ctx, err);
    tamis__leftover_scan_free(&ctx->found, &ctx->rf.redis->allocator);
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
        leftover_search ctx = {.rf = {.redis = found,
                                      .layout = &tamis__layout_tamis,
                                      .servers = 1,
                                      .uri = redis ? &named : &found->uri},
                               .sink = sink,
                               .context = context,
                               .removes = removes};
        ctx.rf.state = &ctx.state;
        snprintf(ctx.pattern_shown, sizeof ctx.pattern_shown, "%s", ctx.rf.uri->shown_name);
        status = visit_generations(&ctx, err);
    }
    tamis__redis_uri_release(&named);
    if (!redis)
        tamis_redis_close(found);
    return status;
}
