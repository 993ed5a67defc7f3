/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Layout tamis: filters that were lost in part. A server evicts Redis keys one by one, and users delete them:
 *
 *     hash     copy     partitions     finding
 *     gone     there    any            lost: the copy shows that the hash was deleted (tamis__config_seek)
 *     gone     gone     some           lost: a partition without a record shows it (tamis__lost_check)
 *     gone     gone     gone           no filter: nothing shows that there was one
 *
 * A filter must not be made again in the first two cases: in an empty filter every key is absent.
 *
 * A partition is evidence if it has its footer and no expiry, and if no record names its generation. Without
 * the footer it may be a string that a late add created after a drop. With an expiry it may be a replaced
 * partition, or one of a filter that has expired: partitions outlive their hash by a moment. So a filter with
 * an expiry, whose hash and copy were both lost, is not noticed.
 *
 * Order: find the partitions by SCAN, then read the records, then read the partitions. A drop removes its
 * record last. So a partition that is still there after the records were read is not being dropped.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/file/file_error.h"
#include "store/redis/layout/layout_tamis.h"

/* ---- the copy ---- */

/* The filter itself has to be dropped, not an alias of it. */
static tamis_status fail_hash_lost(const tamis__redis_filter *rf, const tamis__config *config,
                                   tamis_error *err) {
    char target[TAMIS__REDIS_NAME + 1];
    snprintf(target, sizeof target, "%.*s", (int)config->target_size, config->target);
    const tamis__shown shown = tamis__show(target);
    const char *name = config->target_size > 0 ? shown.text : rf->uri->shown_name;
    return tamis__fail(
        err, TAMIS_E_DAMAGED, 0,
        "redis %s: %s: the hash of %s, which describes its partitions, was deleted or evicted; drop "
        "%s with tamis redis drop, then build it again from all its keys",
        rf->redis->endpoint.shown, rf->uri->shown_name, name, name);
}

/* A generation is used once. The copy may be the same before and after the hash was read without a plan.
 * Then it was there in between, and no program was making or dropping the filter. */
tamis_status tamis__config_seek(const tamis__redis_filter *rf, tamis__config *config, tamis_error *err) {
    char copy[TAMIS__REDIS_PLAN], before[TAMIS__REDIS_PLAN] = "";
    for (;;) {
        tamis_status status = tamis__config_find(rf, config, err);
        if (status != TAMIS_OK || *config->plan)
            return status;
        status = tamis__copy_read_of(rf, config, copy, err);
        if (status != TAMIS_OK || !*copy)
            return status;
        if (strcmp(copy, before) == 0)
            return fail_hash_lost(rf, config, err);
        memcpy(before, copy, sizeof before);
    }
}

/* ---- partitions without a record ---- */

enum {
    FOOTER_MAX = TAMIS__REDIS_BLOCK + TAMIS__STAMP + TAMIS__CHUNK_BITS, /* and what may follow the footer */
    RENEW_SECONDS = 10
};

typedef struct candidate {
    size_t key, key_size; /* offset and size of its Redis key */
    uint64_t generation;
} candidate;

typedef struct lost_search {
    const tamis__redis_filter *rf;
    char *text; /* all Redis keys, concatenated */
    size_t used, text_capacity;
    candidate *candidates;
    size_t count, capacity;
    uint64_t renewed_ns; /* tamis__now_ns() when the lock was last renewed */
    bool has_footer;     /* the candidate that was read last */
    bool is_lost;        /* a candidate has a footer and no expiry */
} lost_search;

static tamis_status add_candidate(void *context, const char *key, size_t size, tamis_error *err) {
    lost_search *search = context;
    const tamis_allocator *allocator = &search->rf->redis->allocator;
    char hash[TAMIS__REDIS_KEY];
    const size_t prefix = tamis__config_name(search->rf, hash) - 1; /* tamis:{NAME */
    candidate found = {search->used, size, 0};
    size_t name_end;
    if (!tamis__partition_name_read(key, size, &name_end, &found.generation) || name_end != prefix ||
        memcmp(key, hash, prefix) != 0)
        return TAMIS_OK; /* of a filter NAME:MORE */
    char *text =
        tamis__array_reserve(allocator, search->text, 1, search->used + size, &search->text_capacity);
    if (!text)
        return tamis__fail_nomem(err, "redis", search->used + size);
    search->text = text;
    candidate *candidates = tamis__array_reserve(allocator, search->candidates, sizeof *candidates,
                                                 search->count + 1, &search->capacity);
    if (!candidates)
        return tamis__fail_nomem(err, "redis", (search->count + 1) * sizeof *candidates);
    search->candidates = candidates;
    memcpy(search->text + search->used, key, size);
    search->used += size;
    search->candidates[search->count++] = found;
    return TAMIS_OK;
}

/* Scanning a large server takes longer than the lock lasts. */
static tamis_status renew_lock(void *context, tamis_error *err) {
    lost_search *search = context;
    const uint64_t now = tamis__now_ns();
    if (now < search->renewed_ns + UINT64_C(1000000000) * RENEW_SECONDS)
        return TAMIS_OK;
    search->renewed_ns = now;
    return tamis__lock_renew(search->rf, err);
}

static tamis_status find_candidates(lost_search *search, tamis_error *err) {
    char hash[TAMIS__REDIS_KEY], pattern[2 * TAMIS__REDIS_KEY];
    const size_t prefix = tamis__config_name(search->rf, hash) - 1;
    size_t used = 0;
    for (size_t i = 0; i < prefix; i++) {
        if (memchr("*?[]^\\", hash[i], 6))
            pattern[used++] = '\\';
        pattern[used++] = hash[i];
    }
    memcpy(pattern + used, ":*}:bits", 8);
    search->renewed_ns = tamis__now_ns();
    const tamis__scan scan = {.pattern = pattern,
                              .pattern_size = used + 8,
                              .type = "string",
                              .add_key = add_candidate,
                              .after_page = renew_lock,
                              .context = search};
    return tamis__redis_scan(search->rf->redis, &scan, err);
}

static bool names_generation(const char *plan, uint64_t generation) {
    char word[40];
    snprintf(word, sizeof word, "generation=%016" PRIx64, generation);
    return strstr(plan, word) != NULL;
}

/* Removes the candidates that a record names. */
static tamis_status skip_recorded(lost_search *search, tamis_error *err) {
    tamis__config config;
    char copy[TAMIS__REDIS_PLAN];
    size_t kept = 0;
    tamis_status status = tamis__config_locked(search->rf, &config, err);
    if (status == TAMIS_OK)
        status = tamis__copy_read(search->rf, copy, err);
    if (status != TAMIS_OK)
        return status;
    const char *const records[] = {config.plan, config.next, config.pushing, config.before, copy};
    for (size_t i = 0; i < search->count; i++) {
        bool is_recorded = false;
        for (size_t j = 0; j < sizeof records / sizeof *records; j++)
            is_recorded = is_recorded || names_generation(records[j], search->candidates[i].generation);
        if (!is_recorded)
            search->candidates[kept++] = search->candidates[i];
    }
    search->count = kept;
    return TAMIS_OK;
}

/* Two commands for each candidate: its end, and its expiry. */
static uint32_t slot_of(void *context, size_t i) {
    const lost_search *search = context;
    const candidate *found = &search->candidates[i / 2];
    return tamis__redis_slot(search->rf->redis, search->text + found->key, found->key_size);
}

static bool put_query(void *context, size_t i, tamis__connection *conn) {
    const lost_search *search = context;
    const candidate *found = &search->candidates[i / 2];
    tamis__connection_put_command(conn, i % 2 == 0 ? 4 : 2);
    tamis__connection_put_text(conn, i % 2 == 0 ? "GETRANGE" : "PTTL");
    tamis__connection_put(conn, search->text + found->key, found->key_size);
    if (i % 2 == 0) {
        tamis__connection_put_number(conn, -FOOTER_MAX);
        tamis__connection_put_number(conn, -1);
    }
    return true;
}

static tamis_status accept_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err) {
    lost_search *search = context;
    char footer[40];
    (void)resent;
    if (reply->type != (i % 2 == 0 ? TAMIS__REPLY_STRING : TAMIS__REPLY_INTEGER))
        return tamis__redis_filter_bad_reply(search->rf, err);
    if (i % 2 == 0) {
        const int size = snprintf(footer, sizeof footer, "tamis-footer 1 %016" PRIx64 " ",
                                  search->candidates[i / 2].generation);
        search->has_footer = memmem(reply->text, reply->size, footer, (size_t)size) != NULL;
        return TAMIS_OK;
    }
    search->is_lost = search->is_lost || (search->has_footer && reply->integer == -1);
    return TAMIS_OK;
}

static tamis_status read_candidates(lost_search *search, tamis_error *err) {
    const tamis__requests requests = {.count = 2,
                                      .context = search,
                                      .put_command = put_query,
                                      .accept_reply = accept_reply,
                                      .what = search->rf->uri->shown_name,
                                      .slot = slot_of};
    tamis_status status = TAMIS_OK;
    while (search->count > 0 && !search->is_lost && status == TAMIS_OK) {
        status = tamis__requests_run(search->rf->redis, &requests, NULL, err);
        search->candidates[0] = search->candidates[--search->count];
    }
    return status;
}

tamis_status tamis__lost_check(const tamis__redis_filter *rf, tamis_error *err) {
    lost_search search = {.rf = rf};
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = find_candidates(&search, &why);
    if (status == TAMIS_E_REFUSED) /* without SCAN it stays unknown */
        status = TAMIS_OK;
    else if (status == TAMIS_OK && search.count > 0)
        status = skip_recorded(&search, &why);
    if (status == TAMIS_OK)
        status = read_candidates(&search, &why);
    tamis__free(&rf->redis->allocator, search.text, search.text_capacity);
    tamis__free(&rf->redis->allocator, search.candidates, search.capacity * sizeof *search.candidates);
    if (status == TAMIS_OK && search.is_lost)
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "redis %s: %s: partitions of a filter of this name are left, and nothing describes "
            "them: its hash and the copy of its plan were deleted or evicted; nothing was made; "
            "remove them with tamis redis clean, then add all keys again, and keep filters from "
            "eviction",
            rf->redis->endpoint.shown, rf->uri->shown_name);
    if (status != TAMIS_OK && err)
        *err = why;
    return status;
}
