/* SPDX-License-Identifier: BSD-2-Clause */

/* The handle over the operations of the kinds: checks arguments, hashes keys, keeps the counts that every
 * kind has. A kind sees hashes of its own scheme only. */
#include <inttypes.h>
#include <string.h>

#include "base/isa.h"
#include "base/versioned.h"
#include "filter/about.h"
#include "filter/filter_int.h"
#include "filter/guard.h"
#include "plan/plan_int.h"

/* Keys hashed together: 6 KiB of stack. Every lot begins with lines that are waited for, and ends, where the filter
 * stands in a file, with a look at that file, so fewer are slower: by a fifth at 64. */
enum { KEYS_AT_ONCE = 256 };

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

tamis_status tamis__filter_restore(tamis_filter **filter, const tamis__image *image, tamis_hasher *hasher,
                                   const tamis_allocator *allocator, tamis_error *err) {
    const struct tamis__filter_ops *ops = ops_of(image->plan.kind);
    tamis_allocator memory = tamis__allocator_resolve(allocator);
    tamis_filter *made = tamis__alloc(&memory, sizeof *made, TAMIS__LINE);
    tamis__isa isa;
    if (!made) {
        tamis_hasher_free(hasher);
        return tamis__fail_nomem(err, "filter", sizeof *made);
    }
    made->ops = ops;
    made->allocator = memory;
    made->plan = image->plan;
    made->hasher = hasher;
    made->added = image->added;
    made->saturated = image->saturated;
    made->overfill = image->overfill;
    tamis_status status = tamis__isa_get(&isa, err);
    if (status == TAMIS_OK)
        status = tamis__plan_check_scheme(image->plan.kind, image->plan.scheme, err);
    if (status == TAMIS_OK) {
        made->kernels = tamis__filter_kernels_of(isa);
        status = ops->restore(made, image, err);
    }
    if (status == TAMIS_OK) {
        bool table = ops == &tamis__fingerprint_ops;
        tamis__guarded body = {image->body, image->body_size,
                               image->sums, image->body_at,
                               image->name, table ? tamis__fingerprint_valid : tamis__bloom_valid,
                               made->body};
        made->guard = tamis__guard_create(&body, &memory);
        if (!made->guard)
            status = tamis__fail_nomem(err, "filter", tamis__block_count(image->body_size) / 8);
    }
    if (status != TAMIS_OK) {
        tamis_filter_free(made);
        return status;
    }
    made->tally.memory += image->body_size;
    made->tally.memory_peak = made->tally.memory;
    *filter = made;
    return TAMIS_OK;
}

/* A filter that stands in an image is only read. */
static tamis_status check_writable(const tamis_filter *filter, const char *what, tamis_error *err) {
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
    tamis__filter_keep(filter);
    tamis_status status = verify(filter, err);
    tamis__filter_let_go(filter);
    return status;
}

static tamis_status copy(tamis_filter **copied, const tamis_filter *filter, tamis_error *err) {
    tamis_status status = verify(filter, err);
    if (status != TAMIS_OK)
        return status;
    tamis_filter *made = tamis__alloc(&filter->allocator, sizeof *made, TAMIS__LINE);
    if (!made)
        return tamis__fail_nomem(err, "filter", sizeof *made);
    *made = *filter;
    made->hasher = NULL;
    made->body = NULL;
    made->guard = NULL;
    made->backing = (tamis__backing){0};
    made->opened = NULL;
    made->about = (tamis__about){0};
    made->tally = (tamis__tally){0, 0};
    status = tamis__hasher_copy(&made->hasher, filter->hasher, err);
    if (status == TAMIS_OK)
        status = tamis__about_copy(made, filter, err);
    if (status == TAMIS_OK)
        status = made->ops->create(made, err);
    if (status == TAMIS_OK)
        status = made->ops->copy(made, filter, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(made);
        return status;
    }
    *copied = made;
    return TAMIS_OK;
}

tamis_status tamis_filter_copy(tamis_filter **copied, const tamis_filter *filter, tamis_error *err) {
    tamis__filter_keep(filter);
    tamis_status status = copy(copied, filter, err);
    tamis__filter_let_go(filter);
    return status;
}

void tamis_filter_free(tamis_filter *filter) {
    if (!filter)
        return;
    tamis__opened *opened = filter->opened;
    tamis__backing backing = filter->backing;
    filter->ops->destroy(filter);
    tamis__guard_free(filter->guard);
    tamis__about_clear(filter);
    tamis_hasher_free(filter->hasher);
    tamis_allocator allocator = filter->allocator;
    tamis__free(&allocator, filter, sizeof *filter);
    if (backing.release)
        backing.release(&backing);
    if (opened)
        opened->release(opened);
}

void tamis__filter_swap(tamis_filter *filter, tamis_filter *with) {
    enum { SWAPPED = offsetof(tamis_filter, opened) };
    unsigned char old[SWAPPED];
    pthread_rwlock_wrlock(&filter->opened->kept);
    pthread_rwlock_wrlock(&filter->opened->turn);
    memcpy(old, filter, SWAPPED);
    memcpy(filter, with, SWAPPED);
    memcpy(with, old, SWAPPED);
    pthread_rwlock_unlock(&filter->opened->turn);
    pthread_rwlock_unlock(&filter->opened->kept);
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
    tamis_status status = check_writable(filter, "add", err);
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

static tamis_status contains_hashed(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                    tamis_answer *answers, tamis_error *err) {
    tamis_status status = must_touch(filter) ? filter->ops->touch(filter, hashes, count, err) : TAMIS_OK;
    if (status == TAMIS_OK && !filter->backing.release)
        filter->ops->contains(filter, hashes, count, answers);
    for (size_t from = 0; from < count && status == TAMIS_OK && filter->backing.release;) {
        tamis_answer held[KEYS_AT_ONCE]; /* until the file is known not to have changed under them */
        size_t some = count - from < KEYS_AT_ONCE ? count - from : KEYS_AT_ONCE;
        filter->ops->contains(filter, hashes + from, some, held);
        status = check_same(filter, err);
        if (status == TAMIS_OK)
            memcpy(answers + from, held, some * sizeof *held);
        from += some;
    }
    return status;
}

static tamis_status contains_keys(const tamis_filter *filter, const tamis_key *keys, size_t count,
                                  tamis_answer *answers, tamis_error *err) {
    tamis_answer held[KEYS_AT_ONCE];
    tamis_status status = must_touch(filter) ? filter->ops->touch_keys(filter, keys, count, err) : TAMIS_OK;
    if (status == TAMIS_OK) {
        filter->ops->contains_keys(filter, keys, count, held);
        status = check_same(filter, err);
    }
    if (status == TAMIS_OK)
        memcpy(answers, held, count * sizeof *held);
    return status;
}

tamis_status tamis_filter_contains_many(const tamis_filter *filter, const tamis_key *keys, size_t count,
                                        tamis_answer *answers, size_t *done, tamis_error *err) {
    tamis_hash hashes[KEYS_AT_ONCE];
    tamis_status status = TAMIS_OK;
    size_t from = 0;
    tamis__filter_enter(filter);
    bool by_hash = has_digest(filter);
    while (from < count) {
        size_t some = count - from < KEYS_AT_ONCE ? count - from : KEYS_AT_ONCE;
        if (by_hash)
            status = tamis_hash_many(filter->hasher, keys + from, some, hashes, err);
        if (status == TAMIS_OK)
            status = by_hash ? contains_hashed(filter, hashes, some, answers + from, err)
                             : contains_keys(filter, keys + from, some, answers + from, err);
        if (status != TAMIS_OK)
            break;
        from += some;
    }
    tamis__filter_leave(filter);
    if (done)
        *done = from;
    return status;
}

tamis_status tamis_filter_add_hashes(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                     tamis_answer *answers, size_t *done, tamis_error *err) {
    size_t in = 0;
    tamis_status status = tamis__hasher_check(filter->hasher, hashes, count, err);
    if (status == TAMIS_OK)
        status = check_writable(filter, "add", err);
    if (status == TAMIS_OK)
        status = add_hashed(filter, hashes, count, answers, &in, err);
    if (done)
        *done = in;
    return status;
}

tamis_status tamis_filter_contains_hashes(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                          tamis_answer *answers, size_t *done, tamis_error *err) {
    tamis__filter_enter(filter);
    tamis_status status = tamis__hasher_check(filter->hasher, hashes, count, err);
    if (status == TAMIS_OK)
        status = contains_hashed(filter, hashes, count, answers, err);
    tamis__filter_leave(filter);
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
    tamis__filter_enter(filter);
    const tamis_hasher *hasher = filter->hasher;
    tamis__filter_leave(filter);
    return hasher;
}

const tamis_plan *tamis_filter_plan(const tamis_filter *filter) {
    return &filter->plan;
}

tamis_status tamis_filter_clear(tamis_filter *filter, tamis_error *err) {
    tamis_status status = check_writable(filter, "clear", err);
    if (status != TAMIS_OK)
        return status;
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
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "union: kind %s cannot be united; use classic or blocked",
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
    tamis__filter_keep(into);
    tamis__filter_keep(from);
    tamis_status status = check_union(into, from, err);
    if (status == TAMIS_OK)
        status = check_writable(into, "union", err);
    if (status == TAMIS_OK)
        status = verify(from, err);
    if (status == TAMIS_OK)
        into->ops->unite(into, from);
    tamis__filter_let_go(from);
    tamis__filter_let_go(into);
    return status;
}

bool tamis_filter_is_compatible(const tamis_filter *one, const tamis_filter *other) {
    tamis__filter_keep(one);
    tamis__filter_keep(other);
    bool compatible = check_union(one, other, NULL) == TAMIS_OK;
    tamis__filter_let_go(other);
    tamis__filter_let_go(one);
    return compatible;
}

static bool same_words(const tamis_filter *one, const tamis_filter *other) {
    size_t count, same_count;
    const uint64_t *words = tamis__bloom_words(one, &count), *others = tamis__bloom_words(other, &same_count);
    return memcmp(words, others, count * sizeof *words) == 0;
}

bool tamis_filter_is_equal(const tamis_filter *one, const tamis_filter *other) {
    tamis__filter_keep(one);
    tamis__filter_keep(other);
    bool equal = check_union(one, other, NULL) == TAMIS_OK && same_words(one, other);
    tamis__filter_let_go(other);
    tamis__filter_let_go(one);
    return equal;
}

static bool can(const tamis_filter *filter, tamis_ability ability) {
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

bool tamis_filter_can(const tamis_filter *filter, tamis_ability ability) {
    tamis__filter_keep(filter);
    bool answer = can(filter, ability);
    tamis__filter_let_go(filter);
    return answer;
}

tamis_status tamis_filter_info_get(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    tamis_filter_info made = TAMIS_FILTER_INFO_INIT;
    /* Taken to be refused where it has no struct_size and could not be filled. */
    tamis_status status = tamis__take_struct(&made, sizeof made, info, "TAMIS_FILTER_INFO_INIT", err);
    if (status != TAMIS_OK)
        return status;
    made = (tamis_filter_info)TAMIS_FILTER_INFO_INIT;
    tamis__filter_keep(filter);
    made.kind = filter->plan.kind;
    made.scheme = filter->plan.scheme;
    made.added = filter->added;
    made.memory = filter->tally.memory;
    made.memory_peak = filter->tally.memory_peak;
    made.capacity = filter->plan.capacity;
    made.saturated = filter->saturated;
    made.full = filter->full;
    filter->ops->estimate(filter, &made);
    tamis__filter_let_go(filter);
    tamis__give_struct(info, &made, sizeof made);
    return TAMIS_OK;
}
