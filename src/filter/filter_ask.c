/* SPDX-License-Identifier: BSD-2-Clause */

/* Adding and asking: checks arguments, hashes keys, and sees to it that of a file that is mapped only what is verified,
 * and still there, becomes an answer. A kind sees hashes of its own scheme only. */
#include <string.h>

#include "filter/concurrent.h"
#include "filter/filter_int.h"
#include "filter/guard.h"

/* Keys that are added together: 6 KiB of stack. */
enum { ADDED_AT_ONCE = 256 };

/* Keys that are asked together. Every lot begins with lines that are waited for, and ends, where the filter stands in a
 * file, with a look at that file, which costs as much as a dozen questions. */
enum { ASKED_AT_ONCE = 1024 };

/* A core has some 16 lines on their way at once, and is to have them also while it hashes and answers. So keys are taken
 * in small lots, each hashed and its lines prefetched AHEAD keys before it is answered. Lots of 16 and 64 do as
 * well, 8 cost a fifth more; so do 64 keys ahead, and 24 cost nothing. Adding so as well takes a tenth longer than
 * fetching in its own loop. */
enum { LOT = 32, AHEAD = 32, RING = 256 };
_Static_assert(ASKED_AT_ONCE % RING == 0 && RING % LOT == 0 && RING >= AHEAD + LOT, "lots stay whole");

/* ---- filters in an image ---- */

tamis_status tamis__filter_check_writable(const tamis_filter *filter, const char *what, tamis_error *err) {
    if (!filter->guard && !filter->opened)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "%s: the filter is an opened file and only read; open it writable, or change a copy",
                       what);
}

static bool must_touch(const tamis_filter *filter) {
    return filter->guard && !tamis__guard_done(filter->guard);
}

/* A block is verified once: what is written into its file later must not become an answer. */
static tamis_status check_same(const tamis_filter *filter, tamis_error *err) {
    if (!filter->backing.release || filter->backing.is_same(&filter->backing))
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_DAMAGED, 0,
        "%s: was written in place while it was open; put filters in place by rename, and open it anew",
        tamis__guard_name(filter->guard));
}

static tamis_status verify(const tamis_filter *filter, tamis_error *err) {
    tamis_status status = must_touch(filter) ? tamis__guard_touch_all(filter->guard, err) : TAMIS_OK;
    return status == TAMIS_OK ? check_same(filter, err) : status;
}

tamis_status tamis_filter_verify(const tamis_filter *filter, tamis_error *err) {
    tamis_status status = tamis__filter_check_local(filter, "verify", err);
    if (status != TAMIS_OK || filter->concurrent) /* which is in memory, and may be kept already */
        return status;
    tamis__filter_keep(filter);
    status = verify(filter, err);
    tamis__filter_let_go(filter);
    return status;
}

/* ---- batches ---- */

static bool has_digest(const tamis_filter *filter) {
    return tamis_scheme_digest_bits(filter->hasher->scheme) != 0;
}

/* Hashes all of this filter's; answers may be NULL. */
static tamis_status add_hashed(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                               tamis_answer *answers, size_t *done, tamis_error *err) {
    tamis_answer unwanted[ADDED_AT_ONCE];
    *done = 0;
    while (*done < count) {
        size_t some = count - *done, in = 0;
        if (!answers && some > ADDED_AT_ONCE)
            some = ADDED_AT_ONCE;
        tamis_status status =
            filter->ops->add(filter, hashes + *done, some, answers ? answers + *done : unwanted, &in, err);
        *done += in;
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* At most ADDED_AT_ONCE. */
static tamis_status add_some(tamis_filter *filter, const tamis_key *keys, size_t count, tamis_answer *answers,
                             size_t *done, tamis_error *err) {
    tamis_hash hashes[ADDED_AT_ONCE];
    tamis_answer unwanted[ADDED_AT_ONCE];
    if (!has_digest(filter))
        return filter->ops->add_keys(filter, keys, count, answers ? answers : unwanted, done, err);
    tamis_status status = tamis_hash_many(filter->hasher, keys, count, hashes, err);
    if (status == TAMIS_OK)
        status = add_hashed(filter, hashes, count, answers, done, err);
    return status;
}

/* ---- filters that take a batch whole: elsewhere, or concurrent ---- */

static bool takes_whole(const tamis_filter *filter) {
    return filter->remote || filter->concurrent;
}

static tamis_status add_whole(tamis_filter *filter, const tamis__asked *asked, tamis_answer *answers,
                              size_t *done, tamis_error *err) {
    size_t in = 0;
    tamis_status status = filter->remote ? filter->remote->add(filter, asked, answers, &in, err)
                                         : tamis__concurrent_add(filter, asked, answers, &in, err);
    if (done)
        *done = in;
    return status;
}

static tamis_status contains_whole(const tamis_filter *filter, const tamis__asked *asked,
                                   tamis_answer *answers, size_t *done, tamis_error *err) {
    return filter->remote ? filter->remote->contains(filter, asked, answers, done, err)
                          : tamis__concurrent_contains(filter, asked, answers, done, err);
}

tamis_status tamis__filter_check_local(const tamis_filter *filter, const char *what, tamis_error *err) {
    if (!filter->remote)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0, "%s: the filter's bits are on a server; pull it first",
                       what);
}

/* ---- batches of the caller ---- */

tamis_status tamis_filter_add_many(tamis_filter *filter, const tamis_key *keys, size_t count,
                                   tamis_answer *answers, size_t *done, tamis_error *err) {
    if (takes_whole(filter))
        return add_whole(filter, &(tamis__asked){keys, NULL, count}, answers, done, err);
    tamis_status status = tamis__filter_check_writable(filter, "add", err);
    size_t from = 0;
    while (from < count && status == TAMIS_OK) {
        size_t some = count - from < ADDED_AT_ONCE ? count - from : ADDED_AT_ONCE, in = 0;
        status = add_some(filter, keys + from, some, answers ? answers + from : NULL, &in, err);
        from += in;
    }
    if (done)
        *done = from;
    return status;
}

/* ---- asking ---- */

/* What a call asks: hashes, or NULL and the keys. */
typedef struct asked {
    const tamis_hash *hashes;
    const tamis_key *keys;
    size_t count;
} asked;

/* What is asked, of which keys up to `taken` are hashed and their lines on their way, and up to `answered` answered. */
typedef struct pipeline {
    asked what;
    size_t lot, ahead; /* of a kind that fetches for itself: all of the ring, and none */
    size_t taken, answered;
    tamis_hash made[RING]; /* of key i at i % RING, where the call brought keys */
} pipeline;

static size_t lot_at(const pipeline *p, size_t at, const tamis_hash **hashes) {
    *hashes = p->what.hashes ? p->what.hashes + at : p->made + at % RING;
    return p->what.count - at < p->lot ? p->what.count - at : p->lot;
}

static tamis_status lot_take(pipeline *p, const tamis_filter *filter, tamis_error *err) {
    const tamis_hash *hashes;
    size_t count = lot_at(p, p->taken, &hashes);
    tamis_status status = TAMIS_OK;
    if (!p->what.hashes)
        status =
            tamis_hash_many(filter->hasher, p->what.keys + p->taken, count, p->made + p->taken % RING, err);
    if (status != TAMIS_OK)
        return status;
    if (filter->ops->fetch)
        filter->ops->fetch(filter, hashes, count);
    p->taken += count;
    return TAMIS_OK;
}

/* *count of them. */
static tamis_status lot_answer(pipeline *p, const tamis_filter *filter, tamis_answer *answers, size_t *count,
                               tamis_error *err) {
    const tamis_hash *hashes;
    tamis_status status = TAMIS_OK;
    *count = lot_at(p, p->answered, &hashes);
    while (p->taken < p->what.count && p->taken - p->answered <= p->ahead && status == TAMIS_OK)
        status = lot_take(p, filter, err);
    if (status == TAMIS_OK && must_touch(filter))
        status = filter->ops->touch(filter, hashes, *count, err);
    if (status != TAMIS_OK)
        return status;
    filter->ops->contains(filter, hashes, *count, answers);
    p->answered += *count;
    return TAMIS_OK;
}

/* At most ASKED_AT_ONCE, all of them or none; keys alone where the scheme has no digest. */
static tamis_status contains_some(const tamis_filter *filter, pipeline *p, const tamis_key *keys,
                                  size_t count, tamis_answer *answers, tamis_error *err) {
    tamis_answer held[ASKED_AT_ONCE]; /* until the file is known not to have changed under them */
    tamis_answer *to = filter->guard ? held : answers;
    tamis_status status = TAMIS_OK;
    if (keys && must_touch(filter))
        status = filter->ops->touch_keys(filter, keys, count, err);
    if (keys && status == TAMIS_OK)
        filter->ops->contains_keys(filter, keys, count, to);
    for (size_t at = 0, some = 0; !keys && at < count && status == TAMIS_OK; at += some)
        status = lot_answer(p, filter, to + at, &some, err);
    if (status == TAMIS_OK && filter->guard)
        status = check_same(filter, err);
    if (status == TAMIS_OK && filter->guard)
        memcpy(answers, held, count * sizeof *held);
    return status;
}

/* *done is 0. What fails is asked again key by key, so that all before the first that cannot be answered are, wherever the
 * call and its lots begin. */
static tamis_status contains_asked(const tamis_filter *filter, asked what, tamis_answer *answers,
                                   size_t *done, tamis_error *err) {
    const tamis_key *keys = has_digest(filter) ? NULL : what.keys;
    size_t most = ASKED_AT_ONCE;
    tamis_status status = TAMIS_OK;
    pipeline p; /* the ring is not to be cleared */
    p.what = what;
    p.lot = filter->ops->fetch ? LOT : RING;
    p.ahead = filter->ops->fetch ? AHEAD : 0;
    p.taken = p.answered = 0;
    while (*done < what.count) {
        size_t from = *done, some = what.count - from < most ? what.count - from : most;
        status = contains_some(filter, &p, keys ? keys + from : NULL, some, answers + from, err);
        if (status == TAMIS_OK) {
            *done += some;
        } else if (some > 1) {
            most = p.lot = 1;
            p.ahead = 0;
            p.taken = p.answered = from;
        } else {
            break;
        }
    }
    return status;
}

tamis_status tamis_filter_contains_many(const tamis_filter *filter, const tamis_key *keys, size_t count,
                                        tamis_answer *answers, size_t *done, tamis_error *err) {
    size_t answered = 0;
    tamis_status status;
    tamis__filter_enter(filter);
    if (takes_whole(filter))
        status = contains_whole(filter, &(tamis__asked){keys, NULL, count}, answers, &answered, err);
    else
        status = contains_asked(filter, (asked){NULL, keys, count}, answers, &answered, err);
    tamis__filter_leave(filter);
    if (done)
        *done = answered;
    return status;
}

tamis_status tamis_filter_add_hashes(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                     tamis_answer *answers, size_t *done, tamis_error *err) {
    size_t in = 0;
    tamis_status status = tamis__hasher_check(filter->hasher, hashes, count, err);
    if (status == TAMIS_OK && takes_whole(filter))
        return add_whole(filter, &(tamis__asked){NULL, hashes, count}, answers, done, err);
    if (status == TAMIS_OK)
        status = tamis__filter_check_writable(filter, "add", err);
    if (status == TAMIS_OK)
        status = add_hashed(filter, hashes, count, answers, &in, err);
    if (done)
        *done = in;
    return status;
}

tamis_status tamis_filter_contains_hashes(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                          tamis_answer *answers, size_t *done, tamis_error *err) {
    size_t answered = 0;
    tamis__filter_enter(filter);
    tamis_status status = tamis__hasher_check(filter->hasher, hashes, count, err);
    if (status == TAMIS_OK && takes_whole(filter))
        status = contains_whole(filter, &(tamis__asked){NULL, hashes, count}, answers, &answered, err);
    else if (status == TAMIS_OK)
        status = contains_asked(filter, (asked){hashes, NULL, count}, answers, &answered, err);
    tamis__filter_leave(filter);
    if (done)
        *done = answered;
    return status;
}

tamis_status tamis_filter_add(tamis_filter *filter, const void *key, size_t size, tamis_answer *answer,
                              tamis_error *err) {
    tamis_key view = {key, size};
    return tamis_filter_add_many(filter, &view, 1, answer, NULL, err);
}

tamis_status tamis_filter_contains(const tamis_filter *filter, const void *key, size_t size,
                                   tamis_answer *answer, tamis_error *err) {
    tamis_key view = {key, size};
    return tamis_filter_contains_many(filter, &view, 1, answer, NULL, err);
}
