/* SPDX-License-Identifier: BSD-2-Clause */

/* The handle over the operations of the kinds: checks arguments, hashes keys, keeps the counts that every
 * kind has. A kind sees hashes of its own scheme only. */
#include <inttypes.h>
#include <string.h>

#include "base/isa.h"
#include "base/versioned.h"
#include "filter/filter_int.h"
#include "plan/plan_int.h"

enum { KEYS_AT_ONCE = 64 }; /* keys hashed together; two lots of hashes stay within 4 KiB of stack */

static const struct tamis__filter_ops *ops_of(tamis_kind kind) {
    switch (kind) {
    case TAMIS_KIND_CLASSIC:
        return &tamis__classic_ops;
    case TAMIS_KIND_BLOCKED:
        return &tamis__blocked_ops;
    case TAMIS_KIND_FINGERPRINT:
    case TAMIS_KIND_EXACT:
        return &tamis__fingerprint_ops;
    case TAMIS_KIND_AUTO:
        break;
    }
    return NULL;
}

void *tamis__filter_alloc(tamis_filter *filter, size_t size) {
    void *block = tamis__alloc(&filter->allocator, size, TAMIS__LINE);
    if (block) {
        filter->tally.memory += size;
        if (filter->tally.memory > filter->tally.memory_peak)
            filter->tally.memory_peak = filter->tally.memory;
    }
    return block;
}

void tamis__filter_release(tamis_filter *filter, void *block, size_t size) {
    tamis__free(&filter->allocator, block, size);
    filter->tally.memory -= size;
}

tamis_status tamis__filter_full(tamis_filter *filter, tamis_full why, tamis_error *err) {
    const tamis_plan *plan = &filter->plan;
    filter->saturated = true;
    filter->full = why;
    switch (why) {
    case TAMIS_FULL_MEMORY:
        return tamis__fail(err, TAMIS_E_FULL, 0,
                           "filter: full, after %" PRIu64 " keys it would grow past the %" PRIu64
                           " bytes allowed; allow more memory",
                           filter->added, plan->memory_limit);
    case TAMIS_FULL_RATE:
        return tamis__fail(err, TAMIS_E_FULL, 0,
                           "filter: full, after %" PRIu64
                           " keys its rate would pass %g; ask for a larger rate",
                           filter->added, plan->fpr);
    case TAMIS_FULL_LINES:
        return tamis__fail(err, TAMIS_E_FULL, 0,
                           "filter: full, after %" PRIu64
                           " keys it cannot grow further; ask for a smaller rate, which takes wider slots",
                           filter->added);
    case TAMIS_FULL_CROWDED:
        return tamis__fail(
            err, TAMIS_E_FULL, 0,
            "filter: full, no place for one more after %" PRIu64
            " keys, whose hashes crowd as if chosen to; key the hash with a secret (scheme sip)",
            filter->added);
    case TAMIS_FULL_CAPACITY:
    case TAMIS_FULL_NOT:
        break;
    }
    return tamis__fail(err, TAMIS_E_FULL, 0,
                       "filter: full, it holds the %" PRIu64
                       " keys it was made for; expect more keys, or leave the number out to let it grow",
                       plan->capacity);
}

tamis_status tamis_filter_create(tamis_filter **filter, const tamis_plan *planned,
                                 const tamis_filter_options *given, tamis_error *err) {
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis__isa isa;
    tamis_status status = tamis__take_struct(&plan, sizeof plan, planned, "TAMIS_PLAN_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__take_options(&options, sizeof options, given, "TAMIS_FILTER_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__isa_get(&isa, err);
    if (status != TAMIS_OK)
        return status;
    const struct tamis__filter_ops *ops = ops_of(plan.kind);
    if (!ops)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "plan: not made; call tamis_plan_make first");

    if (options.overfill && !ops->unite)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "overfill: kind %s keeps its rate and cannot; leave it out, or use classic or blocked",
            tamis_kind_name(plan.kind));
    tamis_allocator allocator = tamis__allocator_resolve(options.allocator);
    tamis_filter *made = tamis__alloc(&allocator, sizeof *made, TAMIS__LINE);
    if (!made)
        return tamis__fail_nomem(err, "filter", sizeof *made);
    made->ops = ops;
    made->kernels = tamis__filter_kernels_of(isa);
    made->allocator = allocator;
    made->plan = plan;
    made->overfill = options.overfill;
    tamis_hasher_options hashing = {sizeof hashing, plan.scheme,         options.seed,
                                    options.secret, options.secret_size, &allocator};
    status = tamis_hasher_create(&made->hasher, &hashing, err);
    if (status == TAMIS_OK)
        status = tamis__plan_check_scheme(plan.kind, tamis_hasher_scheme(made->hasher), err);
    if (status == TAMIS_OK)
        status = ops->create(made, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(made);
        return status;
    }
    made->plan.scheme = tamis_hasher_scheme(made->hasher);
    *filter = made;
    return TAMIS_OK;
}

tamis_status tamis_filter_copy(tamis_filter **copy, const tamis_filter *filter, tamis_error *err) {
    tamis_filter *made = tamis__alloc(&filter->allocator, sizeof *made, TAMIS__LINE);
    if (!made)
        return tamis__fail_nomem(err, "filter", sizeof *made);
    *made = *filter;
    made->hasher = NULL;
    made->body = NULL;
    made->tally = (tamis__tally){0, 0};
    tamis_status status = tamis__hasher_copy(&made->hasher, filter->hasher, err);
    if (status == TAMIS_OK)
        status = made->ops->create(made, err);
    if (status == TAMIS_OK)
        status = made->ops->copy(made, filter, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(made);
        return status;
    }
    *copy = made;
    return TAMIS_OK;
}

void tamis_filter_free(tamis_filter *filter) {
    if (!filter)
        return;
    filter->ops->destroy(filter);
    tamis_hasher_free(filter->hasher);
    tamis_allocator allocator = filter->allocator;
    tamis__free(&allocator, filter, sizeof *filter);
}

static bool has_digest(const tamis_filter *filter) {
    return tamis_scheme_digest_bits(filter->hasher->scheme) != 0;
}

/* Hashes all of this filter's; answers may be NULL. */
static tamis_status add_hashed(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                               tamis_answer *answers, size_t *done, tamis_error *err) {
    tamis_answer unwanted[KEYS_AT_ONCE];
    *done = 0;
    while (*done < count) {
        size_t some = count - *done, in = 0;
        if (!answers && some > KEYS_AT_ONCE)
            some = KEYS_AT_ONCE;
        tamis_status status =
            filter->ops->add(filter, hashes + *done, some, answers ? answers + *done : unwanted, &in, err);
        *done += in;
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* At most KEYS_AT_ONCE. */
static tamis_status add_some(tamis_filter *filter, const tamis_key *keys, size_t count, tamis_answer *answers,
                             size_t *done, tamis_error *err) {
    tamis_hash hashes[KEYS_AT_ONCE];
    tamis_answer unwanted[KEYS_AT_ONCE];
    if (!has_digest(filter))
        return filter->ops->add_keys(filter, keys, count, answers ? answers : unwanted, done, err);
    tamis_status status = tamis_hash_many(filter->hasher, keys, count, hashes, err);
    if (status == TAMIS_OK)
        status = add_hashed(filter, hashes, count, answers, done, err);
    return status;
}

tamis_status tamis_filter_add_many(tamis_filter *filter, const tamis_key *keys, size_t count,
                                   tamis_answer *answers, size_t *done, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    size_t from = 0;
    while (from < count && status == TAMIS_OK) {
        size_t some = count - from < KEYS_AT_ONCE ? count - from : KEYS_AT_ONCE, in = 0;
        status = add_some(filter, keys + from, some, answers ? answers + from : NULL, &in, err);
        from += in;
    }
    if (done)
        *done = from;
    return status;
}

tamis_status tamis_filter_contains_many(const tamis_filter *filter, const tamis_key *keys, size_t count,
                                        tamis_answer *answers, size_t *done, tamis_error *err) {
    tamis_hash hashes[KEYS_AT_ONCE];
    tamis_status status = TAMIS_OK;
    size_t from = 0;
    if (!has_digest(filter)) {
        filter->ops->contains_keys(filter, keys, count, answers);
        from = count;
    }
    while (from < count) {
        size_t some = count - from < KEYS_AT_ONCE ? count - from : KEYS_AT_ONCE;
        status = tamis_hash_many(filter->hasher, keys + from, some, hashes, err);
        if (status != TAMIS_OK)
            break;
        filter->ops->contains(filter, hashes, some, answers + from);
        from += some;
    }
    if (done)
        *done = from;
    return status;
}

tamis_status tamis_filter_add_hashes(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                     tamis_answer *answers, size_t *done, tamis_error *err) {
    size_t in = 0;
    tamis_status status = tamis__hasher_check(filter->hasher, hashes, count, err);
    if (status == TAMIS_OK)
        status = add_hashed(filter, hashes, count, answers, &in, err);
    if (done)
        *done = in;
    return status;
}

tamis_status tamis_filter_contains_hashes(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                          tamis_answer *answers, size_t *done, tamis_error *err) {
    tamis_status status = tamis__hasher_check(filter->hasher, hashes, count, err);
    if (status == TAMIS_OK)
        filter->ops->contains(filter, hashes, count, answers);
    if (done)
        *done = status == TAMIS_OK ? count : 0;
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

const tamis_hasher *tamis_filter_hasher(const tamis_filter *filter) {
    return filter->hasher;
}

const tamis_plan *tamis_filter_plan(const tamis_filter *filter) {
    return &filter->plan;
}

tamis_status tamis_filter_clear(tamis_filter *filter, tamis_error *err) {
    (void)err; /* memory needs no help to be zeroed */
    filter->ops->clear(filter);
    filter->added = 0;
    filter->saturated = false;
    filter->full = TAMIS_FULL_NOT;
    return TAMIS_OK;
}

static tamis_status mismatch(tamis_error *err, const char *what, uint64_t into, uint64_t from) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "union: %s differ, %" PRIu64 " and %" PRIu64 "; unite filters made by one plan", what,
                       into, from);
}

static tamis_status check_union(const tamis_filter *into, const tamis_filter *from, tamis_error *err) {
    if (!into->ops->unite || !from->ops->unite)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0, "union: kind %s has none; use classic or blocked",
                           tamis_kind_name(into->ops->unite ? from->plan.kind : into->plan.kind));
    if (into->plan.kind != from->plan.kind)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "union: kinds %s and %s differ; unite filters of one plan",
                           tamis_kind_name(into->plan.kind), tamis_kind_name(from->plan.kind));
    if (into->plan.bits != from->plan.bits)
        return mismatch(err, "bits", into->plan.bits, from->plan.bits);
    if (into->plan.probes != from->plan.probes)
        return mismatch(err, "probes", into->plan.probes, from->plan.probes);
    if (into->hasher->scheme != from->hasher->scheme)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "union: schemes %s and %s differ; unite filters of one plan",
                           tamis_scheme_name(into->hasher->scheme), tamis_scheme_name(from->hasher->scheme));
    if (into->hasher->seed != from->hasher->seed)
        return mismatch(err, "seeds", into->hasher->seed, from->hasher->seed);
    if (into->hasher->origin != from->hasher->origin)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0, "union: secrets differ; unite filters of one secret");
    return TAMIS_OK;
}

tamis_status tamis_filter_union(tamis_filter *into, const tamis_filter *from, tamis_error *err) {
    tamis_status status = check_union(into, from, err);
    if (status == TAMIS_OK)
        into->ops->unite(into, from);
    return status;
}

bool tamis_filter_is_compatible(const tamis_filter *one, const tamis_filter *other) {
    return check_union(one, other, NULL) == TAMIS_OK;
}

bool tamis_filter_is_equal(const tamis_filter *one, const tamis_filter *other) {
    if (!tamis_filter_is_compatible(one, other))
        return false;
    size_t count, same_count;
    const uint64_t *words = tamis__bloom_words(one, &count), *others = tamis__bloom_words(other, &same_count);
    return memcmp(words, others, count * sizeof *words) == 0;
}

bool tamis_filter_can(const tamis_filter *filter, tamis_ability ability) {
    switch (ability) {
    case TAMIS_CAN_UNION:
        return filter->ops->unite != NULL;
    case TAMIS_CAN_GROW:
        return filter->plan.capacity == 0;
    case TAMIS_CAN_REMOVE:
        break;
    }
    return false;
}

tamis_status tamis_filter_info_get(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    tamis_filter_info made = TAMIS_FILTER_INFO_INIT;
    /* Taken to be refused where it has no struct_size and could not be filled. */
    tamis_status status = tamis__take_struct(&made, sizeof made, info, "TAMIS_FILTER_INFO_INIT", err);
    if (status != TAMIS_OK)
        return status;
    made = (tamis_filter_info)TAMIS_FILTER_INFO_INIT;
    made.kind = filter->plan.kind;
    made.scheme = filter->plan.scheme;
    made.added = filter->added;
    made.memory = filter->tally.memory;
    made.memory_peak = filter->tally.memory_peak;
    made.capacity = filter->plan.capacity;
    made.saturated = filter->saturated;
    made.full = filter->full;
    filter->ops->estimate(filter, &made);
    tamis__give_struct(info, &made, sizeof made);
    return TAMIS_OK;
}
