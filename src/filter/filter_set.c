/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Looking up one batch in several filters.
 *
 *     batch --> pieces of 1024 keys --+--> hash for A and B --+--> A --> row of answers --+
 *          |                          |                       +--> B --> row             |
 *          |                          +--> hash for C ----------> C --> row             +--> OR: any
 *          |                          +--> (no digest) ---------> D --> row             |
 *          +--> whole, or 16384 keys without rows ------> server --> row ---------------+
 *
 * Filters share hashes if their hashers have the same hasher_id: they form a group, which hashes each key
 * once. The first filter of a group leads it, the later ones are looked up when their leader is.
 *
 * Hashes are on the stack, and so are the answers of a filter if the caller wants no rows. So any number of
 * threads may look up in one set, and nothing has to be allocated. Each piece begins by waiting for its first
 * cache lines, so it has 1024 keys. For a server each piece is a round trip. So it gets the batch whole if
 * the caller has rows, else in pieces of 16384 keys.
 *
 * Why filters on servers come last: a filter in memory that fails spares the round trips for the keys behind
 * the one that failed.
 *
 * Invariant: all filters have answered the first `answered` keys when a call returns. A filter that fails at
 * key d lowers that number to d. The filters after it are then only asked for d keys. So a later failure is
 * that of an earlier key, and its error replaces the one before.
 */
#include <tamis/experimental/filter_set.h>

#include <string.h>

#include "filter/filter_int.h"

enum {
    PIECE = 1024,        /* keys looked up in filters that are not on a server: 25 KiB of stack */
    REMOTE_PIECE = 16384 /* without rows, keys looked up on a server: 16 KiB of stack */
};

/* What is looked up, and where the answers go. */
typedef struct set_query {
    const tamis_filter_set *set;
    const tamis_key *keys;
    const tamis_hash *hashes; /* NULL: look up `keys` */
    size_t count;
    tamis_answer *any;
    tamis_answer *rows; /* NULL: `any` only */
} set_query;

/* A piece of the batch: the keys `from` to `from` + `count` - 1. */
typedef struct piece {
    size_t from;
    size_t count;             /* after a failure: the keys that all filters so far have answered */
    const tamis_hash *hashes; /* hashes of the piece; NULL: the filter hashes the keys */
    tamis_answer *buffer;     /* answers of one filter, if the caller wants no rows */
} piece;

static bool has_digest(const tamis_filter *filter) {
    return tamis_scheme_digest_bits(filter->hasher->scheme) > 0;
}

static bool share_hashes(const tamis_filter *a, const tamis_filter *b) {
    return has_digest(a) && a->hasher->hasher_id == b->hasher->hasher_id;
}

/* True if the filter shares hashes with an earlier one: it is then queried in the group of that one. */
static bool is_in_earlier_group(const tamis_filter_set *set, size_t filter) {
    for (size_t i = 0; i < filter; i++)
        if (!set->filters[i]->external && share_hashes(set->filters[i], set->filters[filter]))
            return true;
    return false;
}

/* Looks up a piece in one filter. Lowers its count after a failure. */
static tamis_status query_filter(const set_query *query, size_t filter, piece *p, tamis_error *err) {
    const tamis_filter *target = query->set->filters[filter];
    tamis_answer *row = query->rows ? query->rows + filter * query->count + p->from : p->buffer;
    size_t done = 0;
    const tamis_status status =
        p->hashes ? tamis_filter_contains_hashes(target, p->hashes, p->count, row, &done, err)
                  : tamis_filter_contains_many(target, query->keys + p->from, p->count, row, &done, err);
    for (size_t i = 0; i < done; i++)
        query->any[p->from + i] |= row[i]; /* TAMIS_ABSENT is 0, TAMIS_PRESENT 1 */
    p->count = done;
    return status;
}

/* Looks up a piece in the group that filter `first` leads. */
static tamis_status query_group(const set_query *query, size_t first, piece *p, tamis_error *err) {
    const tamis_filter_set *set = query->set;
    const tamis_filter *leader = set->filters[first];
    tamis_status status = TAMIS_OK;
    tamis_hash made[PIECE];
    p->hashes = query->hashes ? query->hashes + p->from : NULL;
    if (!p->hashes && has_digest(leader)) {
        status = tamis_hash_many(leader->hasher, query->keys + p->from, p->count, made, err);
        p->count = status == TAMIS_OK ? p->count : 0;
        p->hashes = made;
    }
    for (size_t i = first; p->count > 0 && i < set->count; i++) {
        const tamis_filter *target = set->filters[i];
        if (i > first && (target->external || !share_hashes(leader, target)))
            continue;
        const tamis_status failed = query_filter(query, i, p, err);
        status = failed != TAMIS_OK ? failed : status;
    }
    return status;
}

/* Looks up the batch piece by piece in all filters that are not on a server. *answered becomes the number of
 * keys that all of them have answered. */
static tamis_status query_local(const set_query *query, size_t *answered, tamis_error *err) {
    const tamis_filter_set *set = query->set;
    tamis_answer buffer[PIECE];
    tamis_status status = TAMIS_OK;
    for (size_t from = 0; from < *answered && status == TAMIS_OK; from += PIECE) {
        piece p = {
            .from = from, .count = *answered - from < PIECE ? *answered - from : PIECE, .buffer = buffer};
        for (size_t first = 0; first < set->count && p.count > 0; first++) {
            if (set->filters[first]->external || is_in_earlier_group(set, first))
                continue;
            const tamis_status failed = query_group(query, first, &p, err);
            status = failed != TAMIS_OK ? failed : status;
        }
        if (status != TAMIS_OK)
            *answered = from + p.count;
    }
    return status;
}

/* Looks up the batch in a filter on a server. *answered as in query_local. */
static tamis_status query_external(const set_query *query, size_t filter, size_t *answered,
                                   tamis_error *err) {
    tamis_answer buffer[REMOTE_PIECE];
    tamis_status status = TAMIS_OK;
    size_t from = 0;
    while (from < *answered && status == TAMIS_OK) {
        piece p = {.from = from, .count = *answered - from, .buffer = buffer};
        if (!query->rows && p.count > REMOTE_PIECE)
            p.count = REMOTE_PIECE;
        p.hashes = query->hashes ? query->hashes + from : NULL;
        status = query_filter(query, filter, &p, err);
        from += p.count;
    }
    *answered = from;
    return status;
}

static tamis_status query_set(const set_query *query, size_t *done, tamis_error *err) {
    size_t answered = query->count;
    if (query->count > 0)
        memset(query->any, TAMIS_ABSENT, query->count);
    tamis_status status = query_local(query, &answered, err);
    for (size_t i = 0; i < query->set->count && answered > 0; i++) {
        if (!query->set->filters[i]->external)
            continue;
        const tamis_status failed = query_external(query, i, &answered, err);
        status = failed != TAMIS_OK ? failed : status;
    }
    if (done)
        *done = answered;
    return status;
}

tamis_status tamis_filter_set_contains_many(const tamis_filter_set *set, const tamis_key *keys, size_t count,
                                            const tamis_filter_set_answers *answers, size_t *done,
                                            tamis_error *err) {
    TAMIS__NEED(set, err);
    TAMIS__NEED_IF(set->count, set->filters, err);
    TAMIS__NEED_IF(count, keys, err);
    TAMIS__NEED(answers, err);
    TAMIS__NEED_IF(count, answers->any, err);
    const set_query query = {
        .set = set, .keys = keys, .count = count, .any = answers->any, .rows = answers->rows};
    return query_set(&query, done, err);
}

tamis_status tamis_filter_set_contains_hashes(const tamis_filter_set *set, const tamis_hash *hashes,
                                              size_t count, const tamis_filter_set_answers *answers,
                                              size_t *done, tamis_error *err) {
    TAMIS__NEED(set, err);
    TAMIS__NEED_IF(set->count, set->filters, err);
    TAMIS__NEED_IF(count, hashes, err);
    TAMIS__NEED(answers, err);
    TAMIS__NEED_IF(count, answers->any, err);
    const set_query query = {
        .set = set, .hashes = hashes, .count = count, .any = answers->any, .rows = answers->rows};
    return query_set(&query, done, err);
}

const tamis_hasher *tamis_filter_set_hasher(const tamis_filter_set *set) {
    for (size_t i = 0; set && i < set->count; i++)
        if (!share_hashes(set->filters[0], set->filters[i]))
            return NULL;
    return set && set->count > 0 ? set->filters[0]->hasher : NULL;
}
