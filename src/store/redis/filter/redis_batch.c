/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Running one batch of adds or lookups:
 *
 *     client                                                  server
 *       BITFIELD or GETRANGE of the elements              ->    old bits, or bits
 *     ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ barrier 0
 *       checks of the layout (footers, plan, config)      ->    is it still the same, whole filter?
 *     ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ barrier 1
 *       PEXPIRE or PTTL of each Redis key with bits       ->    adds with a time to live only
 *
 * Why the checks come last: Redis answers for a missing key as if it were all zeros. What the checks find
 * in place was in place while the elements were carried out, so no answer comes from a key that was
 * missing.
 *
 * Order. One server carries out a pipeline in order, so a barrier costs nothing. Several slots, or
 * proxies, have no order: commands after a barrier are then sent when all before it are answered. The
 * Redis keys with bits get their expiry after the hash that the checks read, because the hash must not
 * outlive them. If a command was sent twice, the order is unknown, and checks and expiry are sent once
 * more by themselves.
 *
 * Sending again. The whole batch is sent again, without using its answers:
 * - if the checks find another filter under the name; the handle switches to it first;
 * - if a sentinel names another master than before the batch: writes that the old one accepted may be lost;
 * - if a connection ended before the replicas confirmed the adds (replicas= in the URI).
 *
 * Invariants:
 * 1. If the layout has checks, no answer is returned before they have passed.
 * 2. A failed batch returns at most the answers before its first missing one: see is_discarded.
 * 3. An add that may have been carried out and is not answered is remembered (redis_unconfirmed.c). So its
 *    own bits do not make a later add of the same key TAMIS_PRESENT.
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/filter/redis_batch.h"

/* Max. elements of one pipeline; max. times in a row that it is sent again. */
enum { ELEMENTS_MAX = 64 << 10, REPEATS_MAX = 64 };

tamis_status tamis__redis_filter_bad_reply(const tamis__redis_filter *rf, tamis_error *err) {
    return tamis__redis_bad_reply(rf->redis, rf->uri->shown_name, err);
}

/* ---- after the elements ---- */

static bool must_expire(const tamis__redis_filter *rf, bool adds) {
    return adds && rf->ttl_ms > 0;
}

static uint32_t slot_of_expire(void *context, size_t i) {
    const tamis__redis_batch *batch = context;
    return batch->never_expires[i] ? tamis__redis_batch_key_slot(batch, i) : TAMIS__NO_SLOT;
}

static bool put_expire(void *context, size_t i, tamis__connection *conn) {
    const tamis__redis_batch *batch = context;
    if (!batch->never_expires[i])
        return false;
    tamis__redis_batch_put_expiry(batch, i, true, conn);
    return true;
}

static tamis_status accept_expire(void *context, size_t i, const tamis__reply *reply, bool resent,
                                  tamis_error *err) {
    const tamis__redis_batch *batch = context;
    (void)i;
    (void)resent;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_filter_bad_reply(batch->rf, err);
}

/* With renew=create, sets the expiry of Redis keys without one: this batch created them. (PEXPIRE ... NX
 * would do, but needs Redis 7.) */
static tamis_status expire_endless(tamis__redis_batch *batch, tamis_error *err) {
    const tamis__requests requests = {.count = tamis__redis_batch_keys(batch),
                                      .context = batch,
                                      .put_command = put_expire,
                                      .accept_reply = accept_expire,
                                      .what = batch->rf->uri->shown_name,
                                      .slot = slot_of_expire};
    if (!must_expire(batch->rf, batch->adds) || !memchr(batch->never_expires, true, requests.count))
        return TAMIS_OK;
    return tamis__requests_run(batch->rf->redis, &requests, NULL, err);
}

static size_t count_checks(const tamis__redis_batch *batch) {
    const tamis__layout *layout = batch->rf->layout;
    return layout->check_count ? layout->check_count(batch->filter) : 0;
}

static size_t count_expiries(const tamis__redis_batch *batch) {
    return must_expire(batch->rf, batch->adds) ? tamis__redis_batch_keys(batch) : 0;
}

/* Sends checks and expiry only. */
static tamis_status run_rest(tamis__redis_batch *batch, tamis_error *err) {
    const tamis__requests requests = {.count = batch->checks + count_expiries(batch),
                                      .context = batch,
                                      .put_command = tamis__redis_batch_put_command,
                                      .accept_reply = tamis__redis_batch_accept_reply,
                                      .what = batch->rf->uri->shown_name,
                                      .slot = tamis__redis_batch_slot};
    batch->first = batch->elements;
    return tamis__requests_run(batch->rf->redis, &requests, NULL, err);
}

static tamis_status apply_checks(tamis__redis_batch *batch, tamis_error *err) {
    const tamis__layout *layout = batch->rf->layout;
    return layout->apply_checks
               ? layout->apply_checks(batch->filter, &(tamis__touched){batch->adds, batch->touched},
                                      &batch->again, err)
               : TAMIS_OK;
}

/* Adds the batch to the generation that a resize fills. If that fails, the batch has no answers. */
static tamis_status mirror(tamis__redis_batch *batch, tamis_error *err) {
    const tamis__layout *layout = batch->rf->layout;
    if (!batch->adds || batch->key_batch.count == 0 || !layout->mirror)
        return TAMIS_OK;
    const tamis_status status = layout->mirror(batch->filter, &batch->key_batch, &batch->again, err);
    batch->lacks_mirror = status != TAMIS_OK;
    return status;
}

static tamis_status run_and_check(tamis__redis_batch *batch, tamis_error *err) {
    const tamis__redis_filter *rf = batch->rf;
    bool any_retried = false, unconfirmed = false;
    tamis__requests requests = {.context = batch,
                                .put_command = tamis__redis_batch_put_command,
                                .accept_reply = tamis__redis_batch_accept_reply,
                                .what = rf->uri->shown_name,
                                .slot = tamis__redis_batch_slot,
                                .note_refusal = tamis__redis_batch_note_refusal,
                                .unconfirmed =
                                    batch->adds && batch->key_batch.count > 0 ? &unconfirmed : NULL,
                                .denied = &batch->denied};
    batch->checks = count_checks(batch);
    tamis__redis_batch_count(batch);
    requests.barriers[0] = batch->elements;
    requests.barriers[1] = batch->elements + batch->checks;
    requests.count = requests.barriers[1] + count_expiries(batch);
    tamis_status status = tamis__requests_run(rf->redis, &requests, &any_retried, err);
    batch->again = unconfirmed; /* discards the answers: keys that this run added must not count as present */
    if (status == TAMIS_OK && any_retried)
        status = run_rest(batch, err);
    if (status == TAMIS_OK) /* also if the filter was replaced: nobody else would set the expiry later */
        status = expire_endless(batch, err);
    return status == TAMIS_OK && !batch->again ? apply_checks(batch, err) : status;
}

static tamis_status run_batch(tamis__redis_batch *batch, tamis_error *err) {
    const tamis__redis_filter *rf = batch->rf;
    tamis__slot_map *before = tamis__slot_map_hold(rf->redis);
    tamis_status status = run_and_check(batch, err);
    if (status == TAMIS_OK && !batch->again)
        status = tamis__sentinel_has_moved(rf->redis, before, &batch->again, err);
    batch->is_unsure = status != TAMIS_OK && rf->redis->uri.kind == TAMIS__REDIS_SENTINEL;
    tamis__slot_map_drop(rf->redis, before);
    if (status != TAMIS_OK || batch->again)
        return status;
    if (batch->has_short_block)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "redis %s: %s: a partition was short during the batch and complete afterwards; "
                           "repeat the lookup; check which program writes to these keys",
                           rf->redis->endpoint.shown, rf->uri->shown_name);
    return mirror(batch, err);
}

/* The number of elements at the start of the batch that are all answered. */
static size_t answered(const tamis__redis_batch *batch) {
    size_t done = 0;
    while (done < batch->key_batch.count && batch->groups_left[done] == 0)
        done++;
    return done;
}

/* True if the answers of a batch must not be used. A failed batch may use its first answers if the server
 * refused a command (TAMIS_E_REFUSED) and the checks pass when they are sent again. After other failures
 * the checks are not sent again: the caller would wait for the unreachable server twice. */
static bool is_discarded(tamis__redis_batch *batch, tamis_status status) {
    const bool is_unconfirmed = batch->adds && batch->rf->redis->replicas > 0 && status != TAMIS_OK;
    if (is_unconfirmed || batch->lacks_mirror || batch->is_unsure || status == TAMIS_E_DAMAGED ||
        status == TAMIS_E_MISMATCH || status == TAMIS_E_NOT_FOUND)
        return true;
    if (status == TAMIS_OK || batch->checks == 0)
        return batch->again;
    return status != TAMIS_E_REFUSED || batch->has_short_block || batch->again ||
           run_rest(batch, NULL) != TAMIS_OK || apply_checks(batch, NULL) != TAMIS_OK || batch->again ||
           mirror(batch, NULL) != TAMIS_OK || batch->again;
}

/* ---- unconfirmed adds, see redis_unconfirmed.c ---- */

static uint64_t fingerprint_of(const tamis__redis_batch *batch, size_t element) {
    const uint64_t fingerprint =
        tamis__unconfirmed_adds_fingerprint(batch->filter, &batch->key_batch, element);
    const tamis__members *members = batch->members;
    tamis_hash name;
    if (!members)
        return fingerprint;
    tamis_hash_many(members->hasher, &members->names[batch->member_of[element]], 1, &name, NULL);
    return (fingerprint ^ name.word[0]) | 1;
}

static void apply_unconfirmed(const tamis__redis_batch *batch, size_t done) {
    tamis__unconfirmed_adds *unconfirmed_adds = &tamis__redis_of(batch->filter)->unconfirmed_adds;
    for (size_t i = 0; i < done && tamis__unconfirmed_adds_has_any(unconfirmed_adds); i++)
        if (tamis__unconfirmed_adds_remove(unconfirmed_adds, fingerprint_of(batch, i)) &&
            batch->answers[i] == TAMIS_PRESENT)
            batch->answers[i] = TAMIS_UNKNOWN;
}

/* Remembers elements from `done` on that may have been added, unless their answer says that they were
 * present before. This includes a batch that is sent again to another filter: that filter may already hold
 * some of them. */
static void keep_unconfirmed(const tamis__redis_batch *batch, size_t done) {
    tamis__unconfirmed_adds *unconfirmed_adds = &tamis__redis_of(batch->filter)->unconfirmed_adds;
    for (size_t i = done; i < batch->key_batch.count; i++)
        if (batch->sent[i] && (batch->groups_left[i] > 0 || batch->answers[i] != TAMIS_PRESENT))
            tamis__unconfirmed_adds_insert(unconfirmed_adds, fingerprint_of(batch, i),
                                           &batch->filter->allocator);
}

/* True if lookups may be tried with BITFIELD_RO. A server treats BITFIELD as a write even if it has only
 * GETs. It refuses the command to read-only users, and when its memory is full. BITFIELD_RO is not the
 * default because some proxies lack it. */
static bool can_fall_back(const tamis__redis_batch *batch) {
    return batch->denied && !batch->adds && !batch->rf->layout->has_blocks && !batch->rf->only_reads;
}

/* Runs batch->key_batch as one pipeline. *done is 0 if the batch must be sent again: the filter may have
 * other Redis keys by then. */
static tamis_status run_chunk(tamis__redis_batch *batch, size_t *done, uint64_t *absent_count,
                              tamis_error *err) {
    const size_t count = batch->key_batch.count, keys = tamis__redis_batch_keys(batch);
    const size_t size = 3 * count + keys * (2 + sizeof *batch->slots);
    uint8_t *scratch = tamis__alloc(&batch->filter->allocator, size, _Alignof(uint16_t));
    if (!scratch)
        return tamis__fail_nomem(err, "redis", size);
    batch->slots = (uint16_t *)scratch;
    batch->answers = scratch + keys * sizeof *batch->slots;
    batch->groups_left = batch->answers + count;
    batch->sent = (bool *)(batch->groups_left + count);
    batch->touched = batch->sent + count;
    batch->never_expires = batch->touched + keys;
    memset(batch->slots, 0xff, keys * sizeof *batch->slots); /* TAMIS__SLOT_UNKNOWN */
    memset(batch->answers, TAMIS_PRESENT, count);
    memset(batch->groups_left, (int)batch->rf->probe_groups, count);
    memset(batch->sent, false, count);
    memset(batch->touched, count == 0, keys); /* checks without elements cover all keys */
    memset(batch->never_expires, 0, keys);
    tamis_status status = tamis__trace_begin(&batch->trace, batch->filter, count, err);
    if (status == TAMIS_OK)
        status = run_batch(batch, err);
    *done = is_discarded(batch, status) ? 0 : answered(batch);
    if (batch->adds) {
        apply_unconfirmed(batch, *done);
        if (status != TAMIS_OK || batch->again)
            keep_unconfirmed(batch, *done);
    }
    if (batch->key_batch.answers)
        memcpy(batch->key_batch.answers, batch->answers, *done);
    for (size_t i = 0; i < *done; i++)
        *absent_count += batch->answers[i] == TAMIS_ABSENT;
    for (size_t i = 0; batch->trace && !can_fall_back(batch) && i < *done; i++)
        tamis__trace_report(batch, i);
    tamis__trace_free(batch->trace);
    batch->trace = NULL;
    tamis__free(&batch->filter->allocator, scratch, size);
    return status;
}

static tamis_status run_with_fallback(tamis__redis_batch *batch, size_t *done, uint64_t *absent_count,
                                      tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(batch->filter);
    const tamis__redis_batch first = *batch;
    const tamis_status status = run_chunk(batch, done, absent_count, err);
    const size_t before = *done;
    if (can_fall_back(batch)) {
        *batch = first;
        rf->only_reads = true;
        if (run_chunk(batch, done, absent_count, NULL) == TAMIS_OK)
            return TAMIS_OK;
        *done = before;
    }
    rf->only_reads = rf->only_reads && status == TAMIS_OK; /* the next server may accept BITFIELD */
    return status;
}

/* Runs a batch of any size, in pipelines of at most ELEMENTS_MAX elements. */
static tamis_status run_whole_batch(const tamis__redis_batch *whole, size_t *done, uint64_t *absent_count,
                                    tamis_error *err) {
    const tamis_filter *filter = whole->filter;
    const tamis__key_batch *key_batch = &whole->key_batch;
    const tamis__redis_filter *rf = whole->rf;
    tamis_hash hash;
    *done = 0;
    if (filter->hasher->locked && key_batch->keys) /* fails with the message that the secret is missing */
        return tamis_hash_many(filter->hasher, key_batch->keys, 1, &hash, err);
    tamis_status status = rf->layout->refresh ? rf->layout->refresh(filter, err) : TAMIS_OK;
    uint32_t repeats = 0;
    while (*done < key_batch->count && status == TAMIS_OK) {
        if (repeats > REPEATS_MAX)
            return tamis__fail(
                err, TAMIS_E_IO, 0,
                "redis %s: %s: its master changed, or connections to it ended, %d times during one batch; "
                "check server, sentinels and network",
                rf->redis->endpoint.shown, rf->uri->shown_name, REPEATS_MAX);
        const size_t left = key_batch->count - *done;
        size_t chunk_done = 0;
        tamis__redis_batch batch = *whole;
        batch.member_of = whole->members ? whole->members->member_of + *done : NULL;
        batch.key_batch = tamis__key_batch_slice(key_batch, *done, left < ELEMENTS_MAX ? left : ELEMENTS_MAX);
        status = run_with_fallback(&batch, &chunk_done, absent_count, err);
        *done += chunk_done;
        repeats = batch.again ? repeats + 1 : 0;
    }
    return status;
}

static tamis__redis_batch make_batch(const tamis_filter *filter, const tamis__key_batch *key_batch,
                                     bool adds) {
    return (tamis__redis_batch){.filter = filter,
                                .rf = tamis__redis_of(filter),
                                .key_batch = *key_batch,
                                .adds = adds,
                                .located = SIZE_MAX};
}

tamis_status tamis__redis_check(const tamis_filter *filter, bool adds, bool *again, tamis_error *err) {
    tamis__redis_batch batch = make_batch(filter, &(tamis__key_batch){.count = 0}, adds);
    size_t none = 0;
    uint64_t absent_count = 0;
    tamis_status status =
        batch.rf->layout->check_count ? run_chunk(&batch, &none, &absent_count, err) : TAMIS_OK;
    *again = batch.again;
    return status;
}

tamis_status tamis__redis_add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                              tamis_error *err) {
    const tamis__redis_batch whole = make_batch(filter, batch, true);
    uint64_t absent_count = 0;
    const tamis_status status = run_whole_batch(&whole, done, &absent_count, err);
    filter->added += absent_count;
    return status;
}

tamis_status tamis__redis_contains(const tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                   tamis_error *err) {
    const tamis__redis_batch whole = make_batch(filter, batch, false);
    uint64_t absent_count = 0;
    return run_whole_batch(&whole, done, &absent_count, err);
}

tamis_status tamis__redis_query_members(const tamis_filter *family, const tamis__members *members, bool adds,
                                        size_t *done, tamis_error *err) {
    tamis__redis_batch whole = make_batch(family, &members->key_batch, adds);
    const tamis_key own = whole.rf->name;
    uint64_t absent_count = 0;
    whole.members = members;
    const tamis_status status = run_whole_batch(&whole, done, &absent_count, err);
    whole.rf->name = own;
    return status;
}
