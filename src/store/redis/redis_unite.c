/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A filter in memory into one that is in use. Beside each partition, under its hash tag and so in its slot, goes another
 * string with the bits of ours, and BITOP OR makes the partition hold both, at one instant:
 *
 *     tamis:{NAME:G:i}:bits      | what is there | footer |
 *     tamis:{NAME:G:i}:unite-R   | what is ours  | f      |     R by chance: two may unite at the same time
 *
 * f is the footer without its first byte. Written once, before the bits, it tells after BITOP that nothing of ours was lost
 * before; the OR leaves the footer as it is; and of a partition that was gone it makes none. BITOP twice is BITOP once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "store/redis/bitmap_move.h"
#include "store/redis/layout_tamis.h"

enum { LIFETIME_MS = 3600000 };

typedef struct uniting {
    tamis__redis_filter *at;
    const tamis__redis_filter *aside;
} uniting;

static uint32_t slot_of_partition(void *context, size_t i) {
    const uniting *both = context;
    return tamis__redis_key_slot(both->at, i);
}

static bool put_or(void *context, size_t i, tamis__link *link) {
    const uniting *both = context;
    char name[TAMIS__REDIS_KEY], aside[TAMIS__REDIS_KEY];
    const size_t size = tamis__partition_name(both->at, (uint32_t)i, name);
    const size_t aside_size = tamis__aside_name(both->aside, (uint32_t)i, aside);
    tamis__link_command(link, 5);
    tamis__link_text(link, "BITOP");
    tamis__link_text(link, "OR");
    tamis__link_word(link, name, size);
    tamis__link_word(link, name, size);
    tamis__link_word(link, aside, aside_size);
    return true;
}

static tamis_status take_or(void *context, size_t i, const tamis__reply *reply, bool resent,
                            tamis_error *err) {
    const uniting *both = context;
    (void)i;
    (void)resent;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(both->at, err);
}

/* BITOP makes its target anew, without the expiry that it had: it is the hash's. */
static tamis_status expire_again(tamis__redis_filter *at, tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    uint64_t left;
    tamis_status status = tamis__redis_ttl(at, (tamis_key){name, tamis__config_name(at, name)}, &left, err);
    return status == TAMIS_OK && left > 0 ? tamis__partitions_expire(at, NULL, (int64_t)left, err) : status;
}

static tamis_status check_alike(const tamis_filter *there, const tamis_filter *from, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(there);
    const tamis_plan *one = &there->plan, *other = &from->plan;
    if (one->kind == other->kind && one->bits == other->bits && one->probes == other->probes &&
        there->hasher->scheme == from->hasher->scheme && at->seed == from->hasher->seed &&
        there->hasher->secret_print == from->hasher->secret_print)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: %s of %" PRIu64 " bits and %" PRIu32
                       " probes does not go with %s of %" PRIu64 " and %" PRIu32
                       ", or scheme, seed or secret differ; build both alike",
                       at->redis->to.shown, at->uri->named, tamis_kind_name(one->kind), one->bits,
                       one->probes, tamis_kind_name(other->kind), other->bits, other->probes);
}

/* `aside` is the handle of the strings beside the partitions of `there`. */
static tamis_status unite_by(tamis_filter *there, tamis_filter *aside, const tamis_filter *from,
                             const tamis_key *lock, tamis_error *err) {
    size_t count;
    uniting both = {tamis__redis_of(there), tamis__redis_of(aside)};
    const tamis__upload upload = {.there = aside,
                                  .words = tamis__bloom_words(from, &count),
                                  .key_name = tamis__aside_name,
                                  .renewed = lock ? lock->data : NULL,
                                  .renewed_size = lock ? lock->size : 0,
                                  .renewed_ms = TAMIS__LOCK_MS};
    const tamis__exchange or = {.count = both.at->keys,
                                .context = &both,
                                .ask = put_or,
                                .take = take_or,
                                .what = both.at->uri->named,
                                .slot = slot_of_partition};
    tamis_status status = tamis__partitions_make(aside, err);
    if (status == TAMIS_OK)
        status = tamis__partitions_expire(both.aside, NULL, LIFETIME_MS, err);
    if (status == TAMIS_OK)
        status = tamis__upload_run(&upload, err);
    if (status == TAMIS_OK)
        status = tamis__redis_run(both.at->redis, & or, NULL, err);
    if (status == TAMIS_OK)
        status = expire_again(both.at, err);
    if (status == TAMIS_OK)
        status = tamis__footers_check(aside, err);
    const tamis_status removed =
        tamis__partitions_expire(both.aside, NULL, -1, status == TAMIS_OK ? err : NULL);
    return status == TAMIS_OK ? removed : status;
}

tamis_status tamis__unite(tamis_filter *there, const tamis_filter *from, const tamis_key *lock,
                          tamis_error *err) {
    tamis_filter copy = *there;
    tamis__redis_filter at = *tamis__redis_of(there);
    uint32_t random;
    tamis_status status = check_alike(there, from, err);
    if (status == TAMIS_OK)
        status = tamis__random(&random, sizeof random, at.uri->shown, err);
    if (status != TAMIS_OK)
        return status;
    snprintf(at.aside, sizeof at.aside, "unite-%08" PRIx32, random);
    copy.body = &at;
    return unite_by(there, &copy, from, lock, err);
}

static tamis_status unite_once(tamis_filter *there, const tamis_filter *from, bool *again, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(there);
    tamis_status status = tamis__unite(there, from, NULL, err);
    if (status == TAMIS_OK)
        status = tamis__redis_check(there, true, again, err);
    if (status != TAMIS_OK || *again || !*at->next_text || strcmp(at->next_text, at->plan_text) == 0)
        return status;
    return tamis__fail(
        err, TAMIS_E_BUSY, 0,
        "redis %s: %s: is being resized, and bits do not go into what has another size; unite it when "
        "that is done",
        at->redis->to.shown, at->uri->shown);
}

tamis_status tamis_redis_unite(tamis_filter *there, const tamis_filter *from, tamis_error *err) {
    const tamis__redis_filter *at = there->remote ? tamis__redis_of(there) : NULL;
    if (!at || at->layout != &tamis__layout_tamis)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "unite: not a filter of a server, of layout tamis; name one of those");
    tamis_status status = tamis__filter_check_local(from, "unite", err);
    if (status == TAMIS_OK)
        status = tamis__redis_must_know(at->redis, at->uri->shown, "BITOP",
                                        "pull it, unite it in memory, and push that while nobody adds", err);
    if (status != TAMIS_OK)
        return status;
    tamis__filter_keep(from);
    status = tamis_filter_verify(from, err);
    if (status == TAMIS_OK)
        status = at->layout->refresh(there, err);
    for (bool again = true; again && status == TAMIS_OK;)
        status = unite_once(there, from, &again, err);
    tamis__filter_let_go(from);
    return status;
}
