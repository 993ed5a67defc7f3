/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A family is many small filters with one plan, called members. The caller passes pairs of member name and
 * key. Pairs are processed in pieces of at most PAIRS_MAX, and each piece is turned into arrays for one
 * batch:
 *
 *     pairs        (b, 1) (a, 1) (b, 2) (b, 1) ...
 *     names         b      a                          each name once, in order of first occurrence
 *     member_of     0      1      0      0            for each pair, the index of its name
 *     keys          1      1      2      1
 *     hashes        h(1)   h(1)   h(2)   h(1)         if the scheme has digests
 *
 * The batch then runs as for a single filter (redis_batch.c, redis_elements.c), except that rf->name
 * changes with the member. So a piece is one pipeline for all of its members.
 *
 * Names are found in a hash table with open addressing. Its seed is random and secret, so nobody can
 * choose names that collide.
 */
#include <stdio.h>
#include <string.h>

#include <tamis/experimental/redis_family.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/versioned.h"
#include "store/redis/filter/redis_filter.h"

enum { PAIRS_MAX = 64 << 10, KEYS_MAX = 1 << 20 /* max. Redis keys of a piece */, CAPACITY_MIN = 64 };
#define NO_MEMBER UINT32_MAX /* free slot of the table */

/* The arrays of a piece. */
typedef struct piece {
    size_t capacity;     /* max. pairs */
    tamis_key *names;    /* name of each member */
    uint32_t *member_of; /* member of each pair */
    uint32_t *table;     /* hash table of 2 * capacity slots: a member, or NO_MEMBER */
    tamis_key *keys;     /* key of each pair */
    tamis_hash *hashes;  /* hash of each key; NULL: the scheme has no digest */
} piece;

struct tamis_redis_family {
    tamis_filter *filter;
    tamis_hasher *name_hasher; /* for the table */
    piece piece;
};

/* ---- opening ---- */

static tamis_status open_family(tamis_redis_family *family, tamis_redis *redis, const char *name,
                                const tamis_redis_filter_options *options, tamis_error *err) {
    tamis_status status = tamis__redis_name(&family->filter, redis, name, options->allocator, err);
    if (status != TAMIS_OK)
        return status;
    tamis__redis_filter *rf = tamis__redis_of(family->filter);
    if (rf->layout == &tamis__layout_redisson)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: layout redisson has no families: each filter has parameters of its own; open "
                           "them one by one, or use layout java",
                           rf->uri->shown);
    rf->is_family = true;
    status = rf->layout->open(family->filter, options, err);
    if (status != TAMIS_OK)
        return status;
    tamis_hasher_options hashing = TAMIS_HASHER_OPTIONS_INIT;
    hashing.scheme = TAMIS_SCHEME_XXH3;
    hashing.allocator = &family->filter->allocator;
    status = tamis__random(&hashing.seed, sizeof hashing.seed, rf->uri->shown, err);
    return status == TAMIS_OK ? tamis_hasher_create(&family->name_hasher, &hashing, err) : status;
}

tamis_status tamis_redis_family_open(tamis_redis_family **family, tamis_redis *redis, const char *name,
                                     const tamis_redis_filter_options *given, tamis_error *err) {
    TAMIS__NEED(family, err);
    TAMIS__NEED(name, err);
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&options, sizeof options, given, "TAMIS_REDIS_FILTER_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    tamis_redis_family made = {0};
    status = open_family(&made, redis, name, &options, err);
    tamis_redis_family *kept = NULL;
    if (status == TAMIS_OK) {
        kept = tamis__alloc(&made.filter->allocator, sizeof *kept, _Alignof(tamis_redis_family));
        if (!kept)
            status = tamis__fail_nomem(err, "redis", sizeof *kept);
    }
    if (status != TAMIS_OK) {
        tamis_hasher_free(made.name_hasher);
        tamis_filter_free(made.filter);
        return status;
    }
    *kept = made;
    *family = kept;
    return TAMIS_OK;
}

static void release(const tamis_allocator *allocator, piece *arrays) {
    tamis__free(allocator, arrays->names, arrays->capacity * sizeof *arrays->names);
    tamis__free(allocator, arrays->member_of, arrays->capacity * sizeof *arrays->member_of);
    tamis__free(allocator, arrays->table, 2 * arrays->capacity * sizeof *arrays->table);
    tamis__free(allocator, arrays->keys, arrays->capacity * sizeof *arrays->keys);
    tamis__free(allocator, arrays->hashes, arrays->capacity * sizeof *arrays->hashes);
    *arrays = (piece){0};
}

void tamis_redis_family_close(tamis_redis_family *family) {
    if (!family)
        return;
    const tamis_allocator allocator = family->filter->allocator;
    release(&allocator, &family->piece);
    tamis_hasher_free(family->name_hasher);
    tamis_filter_free(family->filter);
    tamis__free(&allocator, family, sizeof *family);
}

const tamis_plan *tamis_redis_family_plan(const tamis_redis_family *family) {
    return tamis_filter_plan(family->filter);
}

uint32_t tamis_redis_family_key_type(const tamis_redis_family *family) {
    return family->filter->metadata.fields.key_type;
}

uint64_t tamis_redis_family_unconfirmed(const tamis_redis_family *family) {
    return tamis_redis_filter_unconfirmed(family->filter);
}

/* ---- a piece ---- */

static bool has_digest(const tamis_redis_family *family) {
    return tamis_scheme_digest_bits(family->filter->hasher->scheme) != 0;
}

static tamis_status reserve_pairs(tamis_redis_family *family, size_t count, tamis_error *err) {
    const tamis_allocator *allocator = &family->filter->allocator;
    size_t capacity = CAPACITY_MIN;
    piece *made = &family->piece;
    if (count <= made->capacity)
        return TAMIS_OK;
    while (capacity < count)
        capacity *= 2;
    release(allocator, made);
    made->capacity = capacity;
    made->names = tamis__alloc(allocator, capacity * sizeof *made->names, _Alignof(tamis_key));
    made->member_of = tamis__alloc(allocator, capacity * sizeof *made->member_of, _Alignof(uint32_t));
    made->table = tamis__alloc(allocator, 2 * capacity * sizeof *made->table, _Alignof(uint32_t));
    if (has_digest(family))
        made->hashes = tamis__alloc(allocator, capacity * sizeof *made->hashes, _Alignof(tamis_hash));
    made->keys = tamis__alloc(allocator, capacity * sizeof *made->keys, _Alignof(tamis_key));
    if (made->names && made->member_of && made->table && made->keys && (made->hashes || !has_digest(family)))
        return TAMIS_OK;
    release(allocator, made);
    return tamis__fail_nomem(
        err, "redis",
        capacity * (3 * sizeof *made->names + 3 * sizeof *made->member_of + sizeof *made->hashes));
}

static bool is_same(const tamis_key *a, const tamis_key *b) {
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* The index of the member with this name; a new name is appended. */
static uint32_t find_member(const tamis_redis_family *family, const tamis_key *name, size_t *members) {
    const piece *arrays = &family->piece;
    const size_t mask = 2 * arrays->capacity - 1;
    tamis_hash hash;
    tamis_hash_many(family->name_hasher, name, 1, &hash, NULL); /* xxh3 has a digest */
    size_t i = hash.word[0] & mask;
    for (; arrays->table[i] != NO_MEMBER; i = (i + 1) & mask)
        if (is_same(&arrays->names[arrays->table[i]], name))
            return arrays->table[i];
    arrays->names[*members] = *name;
    arrays->table[i] = (uint32_t)*members;
    return (uint32_t)(*members)++;
}

static tamis_status check_name(const tamis__redis_filter *rf, const tamis_key *name, tamis_error *err) {
    if (name->size >= 1 && name->size <= TAMIS__REDIS_NAME)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: the name of a member has %zu bytes; give 1 to %d",
                       rf->uri->shown, name->size, TAMIS__REDIS_NAME);
}

/* Fills the arrays from `pairs`. Stops at the first invalid pair, and sets *count to the number before it. */
static tamis_status collect_pairs(const tamis_redis_family *family, const tamis_redis_pair *pairs,
                                  size_t *count, size_t *members, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(family->filter);
    const piece *arrays = &family->piece;
    tamis_status status = TAMIS_OK;
    size_t i = 0;
    *members = 0;
    memset(arrays->table, 0xff, 2 * arrays->capacity * sizeof *arrays->table); /* NO_MEMBER */
    for (; i < *count; i++) {
        status = check_name(rf, &pairs[i].name, err);
        if (status == TAMIS_OK && arrays->hashes)
            status = tamis_hash_many(family->filter->hasher, &pairs[i].key, 1, &arrays->hashes[i], err);
        if (status != TAMIS_OK)
            break;
        arrays->member_of[i] = find_member(family, &pairs[i].name, members);
        arrays->keys[i] = pairs[i].key;
    }
    *count = i;
    return status;
}

/* Pairs of the caller, and how far they are answered. */
typedef struct pair_batch {
    const tamis_redis_pair *pairs;
    size_t count;
    tamis_answer *answers; /* NULL: nobody wants them */
    size_t done;           /* pairs answered */
} pair_batch;

/* The size of the next piece. It limits the memory for pairs, and for the Redis keys if every pair has its
 * own member. */
static size_t pairs_at_once(const tamis_redis_family *family, size_t left) {
    const size_t each = tamis__redis_all_keys(tamis__redis_of(family->filter));
    size_t max_pairs = each < KEYS_MAX ? KEYS_MAX / each : 1;
    max_pairs = max_pairs < PAIRS_MAX ? max_pairs : PAIRS_MAX;
    return left < max_pairs ? left : max_pairs;
}

static tamis_status query_pairs(tamis_redis_family *family, pair_batch *batch, bool adds, tamis_error *err) {
    const piece *arrays = &family->piece;
    tamis_status status = TAMIS_OK;
    while (batch->done < batch->count && status == TAMIS_OK) {
        size_t count = pairs_at_once(family, batch->count - batch->done), member_count, answered = 0;
        tamis_error wrong = TAMIS_ERROR_INIT;
        status = reserve_pairs(family, count, err);
        if (status != TAMIS_OK)
            return status;
        const tamis_status collected =
            collect_pairs(family, batch->pairs + batch->done, &count, &member_count, &wrong);
        const tamis__members members = {
            .key_batch = {.keys = arrays->keys,
                          .hashes = arrays->hashes,
                          .count = count,
                          .answers = batch->answers ? batch->answers + batch->done : NULL},
            .hasher = family->name_hasher,
            .names = arrays->names,
            .count = member_count,
            .member_of = arrays->member_of};
        if (count > 0)
            status = tamis__redis_query_members(family->filter, &members, adds, &answered, err);
        batch->done += answered;
        if (status == TAMIS_OK && collected != TAMIS_OK) {
            if (err)
                *err = wrong;
            status = collected;
        }
    }
    return status;
}

tamis_status tamis_redis_family_add_many(tamis_redis_family *family, const tamis_redis_pair *pairs,
                                         size_t count, tamis_answer *answers, size_t *done,
                                         tamis_error *err) {
    TAMIS__NEED(family, err);
    TAMIS__NEED_IF(count, pairs, err);
    pair_batch batch = {.pairs = pairs, .count = count, .answers = answers};
    const tamis_status status = query_pairs(family, &batch, true, err);
    if (done)
        *done = batch.done;
    return status;
}

/* A handle is used by one thread at a time, so lookups may use its arrays. */
tamis_status tamis_redis_family_contains_many(tamis_redis_family *family, const tamis_redis_pair *pairs,
                                              size_t count, tamis_answer *answers, size_t *done,
                                              tamis_error *err) {
    TAMIS__NEED(family, err);
    TAMIS__NEED_IF(count, pairs, err);
    TAMIS__NEED_IF(count, answers, err);
    pair_batch batch = {.pairs = pairs, .count = count, .answers = answers};
    const tamis_status status = query_pairs(family, &batch, false, err);
    if (done)
        *done = batch.done;
    return status;
}

tamis_status tamis_redis_family_info(const tamis_redis_family *family, const void *name, size_t name_size,
                                     tamis_filter_info *info, tamis_error *err) {
    TAMIS__NEED(family, err);
    TAMIS__NEED(name, err);
    tamis__redis_filter *rf = tamis__redis_of(family->filter);
    const tamis_key own = rf->name;
    rf->name = (tamis_key){name, name_size};
    tamis_status status = check_name(rf, &rf->name, err);
    if (status == TAMIS_OK)
        status = tamis_filter_info_get(family->filter, info, err);
    rf->name = own;
    return status;
}

void tamis_redis_family_trace(tamis_redis_family *family, tamis_redis_tracer tracer, void *context) {
    tamis_redis_filter_trace(family->filter, tracer, context, NULL); /* fails only for a filter in memory */
}
