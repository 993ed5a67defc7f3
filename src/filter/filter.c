/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The handle of a filter: creation, replacement, release, and the statistics that every kind has.
 *
 * A handle passes each operation to its kind through a table of functions (filter_int.h). What this file does
 * itself is the same for all kinds. It checks options, makes the hasher, counts memory, and makes the
 * messages of a full filter.
 *
 *     tamis_filter_create              plan --> empty filter in memory
 *     tamis__filter_restore            image of a file --> read-only filter, with a block verifier
 *     tamis__filter_own                the same image becomes memory that the filter may change
 *     tamis__filter_create_external    --> filter on a server, or in the form of another program
 *     tamis_filter_copy                any local filter --> filter in memory (filter_copy.c)
 *
 * What a handle consists of, and who releases it:
 *
 *     member        content                                   made by                       released by
 *     ------------  ----------------------------------------  ----------------------------  ----------------
 *     ops           functions of the kind                     static tables
 *     kernels       inner loops of the instruction set        static tables
 *     hasher        scheme, seed, secret                      tamis_hasher_create           tamis_filter_free
 *     body          the kind's structure: bits or lines       ops->init, ops->restore       ops->release
 *     metadata      labels, version, key type                 tamis_filter_metadata_set     tamis_filter_free
 *     verifier      checked blocks of a file image            tamis__filter_restore         tamis_filter_free
 *     backing       the mapped file                           store/file                    its own callback
 *     concurrent    locks of a concurrent filter              tamis__concurrent_enable      tamis_filter_free
 *     opened        locks for swapping in a newer file        store/file                    its own callback
 *
 * tamis_filter_create works in this order: check options, allocate the handle, make hasher, body and locks.
 * tamis_filter_free releases whatever exists, so each failure on the way ends with that one call.
 *
 * Why in this order. The hasher comes before the checks of the plan, since scheme auto is decided there: a
 * secret makes it sip. The body comes after all checks: they are cheap, and a body may have gigabytes. Locks
 * come last, because tamis__concurrent_enable asks the body how it is divided.
 *
 * Releasing goes the other way round. Body and verifier point into the bytes of a mapped file, so `backing`
 * is released after them. tamis_filter_free copies `backing` and `opened` out of the handle first, because
 * the handle itself is freed before they are.
 *
 * A newer version of a file. tamis__filter_swap exchanges the contents of two handles and keeps the address
 * that callers have:
 *
 *     handle of the caller   | version 1, opened |        | version 2, opened |
 *                                                  --->
 *     handle just opened     | version 2         |        | version 1         |   freed by the store
 *
 * It waits for both locks in the order that readers use: slow_lock, then batch_lock. Lookups share
 * batch_lock, and everything that reads the whole content shares slow_lock. So neither gets half of a swap.
 * A long copy delays the swap, but no lookup: batch_lock is claimed only when slow_lock is held. A member
 * that must not be exchanged belongs behind `opened` in the structure.
 *
 * Memory is counted by tamis__filter_count_alloc and tamis__filter_count_release with atomic additions:
 * threads that grow different parts of a table allocate at the same time. The peak is kept by a
 * compare-and-swap loop.
 *
 * Full filters. A kind reports why a key was refused (TAMIS_FULL_...), and this file makes the message. The
 * reason is stored. So a batch added by several threads can make its message again when the final number of
 * keys is known (tamis__filter_added_parts).
 *
 *     reason    kinds               a new key would                           the message advises
 *     --------  -----------------   ---------------------------------------   -------------------------------
 *     CAPACITY  classic, blocked,   exceed the capacity                       expect more keys, or a kind
 *               cuckoo, frozen                                                that grows
 *               tables
 *     MEMORY    tables, cuckoo      grow past plan.memory_limit               allow more memory
 *     RATE      tables, cuckoo      raise the rate above plan.fpr             a larger rate
 *     LINES     tables              need more lines than position bits allow  a smaller rate (wider slots)
 *     CROWDED   tables, cuckoo      find no slot in a table that is not       a secret (scheme sip): the keys
 *                                   full                                      may be chosen to collide; in
 *                                                                             cuckoo, to add each key once
 *
 * A full filter still answers keys that are present; only new ones are refused. `saturated` is kept in a file
 * and `full` is not: an opened filter finds its reason again when it refuses the next key.
 *
 * Invariants:
 * 1. On failure *filter is untouched and everything is freed; the hasher given to tamis__filter_restore too.
 * 2. tally.memory is all memory that the filter holds, and memory_peak the largest value it had.
 */
#include <inttypes.h>
#include <string.h>

#include "base/isa.h"
#include "base/versioned.h"
#include "filter/block_verifier.h"
#include "filter/compat/redisbloom_filter.h"
#include "filter/concurrent.h"
#include "filter/filter_int.h"
#include "filter/parts.h"
#include "plan/plan_int.h"

static const struct tamis__filter_ops *ops_of(tamis_kind kind) {
    switch (kind) {
    case TAMIS_KIND_CLASSIC:
        return &tamis__classic_ops;
    case TAMIS_KIND_BLOCKED:
        return &tamis__blocked_ops;
    case TAMIS_KIND_FINGERPRINT:
    case TAMIS_KIND_EXACT:
        return &tamis__fingerprint_ops;
    case TAMIS_KIND_WINDOW:
        return &tamis__window_ops;
    case TAMIS_KIND_COUNTING:
        return &tamis__counting_ops;
    case TAMIS_KIND_CUCKOO:
        return &tamis__cuckoo_ops;
    case TAMIS_KIND_AUTO:
        break;
    }
    return NULL;
}

/* The check of a block's bytes, see tamis__verified_body. NULL: any bytes are valid.
 *
 * A block with a right checksum may still be forged. A kind whose code relies on the structure of its lines
 * checks it here, once a block. A window's lines lead only to lines of their table, whatever they have. */
static bool (*valid_of(const struct tamis__filter_ops *ops))(const void *, const uint8_t *, uint64_t) {
    return ops == &tamis__fingerprint_ops ? tamis__fingerprint_valid
           : ops == &tamis__window_ops    ? NULL
           : ops == &tamis__cuckoo_ops    ? tamis__cuckoo_valid
                                          : tamis__bloom_valid;
}

void tamis__filter_count_alloc(tamis_filter *filter, size_t size) {
    tamis__tally *tally = &filter->tally;
    const uint64_t memory = __atomic_add_fetch(&tally->memory, size, __ATOMIC_RELAXED);
    uint64_t peak = __atomic_load_n(&tally->memory_peak, __ATOMIC_RELAXED);
    while (memory > peak && !__atomic_compare_exchange_n(&tally->memory_peak, &peak, memory, true,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

void tamis__filter_count_release(tamis_filter *filter, size_t size) {
    __atomic_sub_fetch(&filter->tally.memory, size, __ATOMIC_RELAXED);
}

void *tamis__filter_alloc(tamis_filter *filter, size_t size) {
    void *block = tamis__alloc(&filter->allocator, size, TAMIS__LINE);
    if (block)
        tamis__filter_count_alloc(filter, size);
    return block;
}

void tamis__filter_release(tamis_filter *filter, void *block, size_t size) {
    tamis__free(&filter->allocator, block, size);
    tamis__filter_count_release(filter, size);
}

tamis_status tamis__filter_fail_full(const tamis_filter *filter, tamis_error *err) {
    const tamis_plan *plan = &filter->plan;
    switch (__atomic_load_n(&filter->full, __ATOMIC_RELAXED)) {
    case TAMIS_FULL_MEMORY:
        return tamis__fail(err, TAMIS_E_FULL, 0,
                           "filter: full, after %" PRIu64 " keys it would grow past the %" PRIu64
                           " bytes allowed; allow more memory",
                           filter->added, plan->memory_limit);
    case TAMIS_FULL_RATE:
        return tamis__fail(err, TAMIS_E_FULL, 0,
                           "filter: full, after %" PRIu64
                           " keys its rate would pass %g; choose a larger rate",
                           filter->added, plan->fpr);
    case TAMIS_FULL_LINES:
        return tamis__fail(err, TAMIS_E_FULL, 0,
                           "filter: full, after %" PRIu64
                           " keys it cannot grow further; choose a smaller rate, which takes wider slots",
                           filter->added);
    case TAMIS_FULL_CROWDED:
        return tamis__fail(
            err, TAMIS_E_FULL, 0,
            "filter: full, cannot add one more after %" PRIu64
            " keys, whose hashes crowd as if chosen to%s; %skey the hash with a secret (scheme sip)",
            filter->added, plan->kind == TAMIS_KIND_CUCKOO ? ", or that were added often" : "",
            plan->kind == TAMIS_KIND_CUCKOO ? "add each key once, or " : "");
    case TAMIS_FULL_CAPACITY:
    case TAMIS_FULL_NOT:
        break;
    }
    return tamis__fail(err, TAMIS_E_FULL, 0, "filter: full, it holds the %" PRIu64 " keys it was made for%s",
                       plan->capacity,
                       filter->frozen ? " and is frozen; make one that is not, or expect more keys"
                       : plan->kind == TAMIS_KIND_CUCKOO
                           ? "; expect more keys, or leave the number out of the plan, and it grows"
                           : "; expect more keys, or use kind fingerprint, which grows");
}

tamis_status tamis__filter_full(tamis_filter *filter, tamis_full why, tamis_error *err) {
    __atomic_store_n(&filter->saturated, true, __ATOMIC_RELAXED);
    __atomic_store_n(&filter->full, why, __ATOMIC_RELAXED);
    return tamis__filter_fail_full(filter, err);
}

tamis_status tamis_filter_create(tamis_filter **filter, const tamis_plan *planned,
                                 const tamis_filter_options *given, tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis__isa isa;
    tamis_status status = tamis__read_struct(&plan, sizeof plan, planned, "TAMIS_PLAN_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__read_options(&options, sizeof options, given, "TAMIS_FILTER_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__isa_get(&isa, err);
    if (status != TAMIS_OK)
        return status;
    plan.reason[sizeof plan.reason - 1] = 0;
    if (tamis__is_redisbloom_cuckoo(plan.kind, plan.scheme))
        return tamis__redisbloom_filter_make(filter, &plan, &options, err);
    const struct tamis__filter_ops *ops = ops_of(plan.kind);
    if (!ops)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "plan: not made; call tamis_plan_make first");

    if (options.frozen && (ops != &tamis__fingerprint_ops || plan.capacity == 0 || plan.target > 0))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "frozen: is for kinds fingerprint and exact with a number of keys that do not "
                           "start small; leave it out, or plan one with options.expect");
    if (options.allow_over_capacity && !tamis_kind_is_bloom(plan.kind))
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "allow_over_capacity: kind %s keeps its rate and cannot; leave it out, or use classic or blocked",
            tamis_kind_name(plan.kind));
    tamis_allocator allocator = tamis__allocator_resolve(options.allocator);
    tamis_filter *created = tamis__alloc(&allocator, sizeof *created, TAMIS__LINE);
    if (!created)
        return tamis__fail_nomem(err, "filter", sizeof *created);
    created->ops = ops;
    created->kernels = tamis__filter_kernels_of(isa);
    created->allocator = allocator;
    created->plan = plan;
    created->allow_over_capacity = options.allow_over_capacity;
    created->frozen = options.frozen;
    const tamis_hasher_options hashing = {.struct_size = sizeof hashing,
                                          .scheme = plan.scheme,
                                          .seed = options.seed,
                                          .secret = options.secret,
                                          .secret_size = options.secret_size,
                                          .allocator = &allocator};
    status = tamis_hasher_create(&created->hasher, &hashing, err);
    if (status == TAMIS_OK)
        status = tamis__plan_check_scheme(plan.kind, tamis_hasher_scheme(created->hasher), err);
    if (status == TAMIS_OK)
        status = tamis__plan_check_made(&plan, err);
    if (status == TAMIS_OK)
        status = ops->init(created, err);
    if (status == TAMIS_OK && options.concurrent)
        status = tamis__concurrent_enable(created, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(created);
        return status;
    }
    created->plan.scheme = tamis_hasher_scheme(created->hasher);
    *filter = created;
    return TAMIS_OK;
}

tamis_status tamis__filter_create_external(tamis_filter **filter, const tamis__external_ops *external,
                                           const tamis_allocator *given, tamis_error *err) {
    tamis_allocator allocator = tamis__allocator_resolve(given);
    tamis_filter *created = tamis__alloc(&allocator, sizeof *created, TAMIS__LINE);
    if (!created)
        return tamis__fail_nomem(err, "filter", sizeof *created);
    created->external = external;
    created->allocator = allocator;
    created->plan = (tamis_plan)TAMIS_PLAN_INIT;
    *filter = created;
    return TAMIS_OK;
}

tamis_status tamis__filter_restore(tamis_filter **filter, const tamis__image *image, tamis_hasher *hasher,
                                   const tamis_allocator *allocator, tamis_error *err) {
    const struct tamis__filter_ops *ops = ops_of(image->plan.kind);
    tamis_allocator memory = tamis__allocator_resolve(allocator);
    tamis_filter *created = tamis__alloc(&memory, sizeof *created, TAMIS__LINE);
    tamis__isa isa;
    if (!created) {
        tamis_hasher_free(hasher);
        return tamis__fail_nomem(err, "filter", sizeof *created);
    }
    created->ops = ops;
    created->allocator = memory;
    created->plan = image->plan;
    created->hasher = hasher;
    created->added = image->added;
    created->saturated = image->saturated;
    created->allow_over_capacity = image->allow_over_capacity;
    created->frozen = image->frozen;
    tamis_status status = tamis__isa_get(&isa, err);
    if (status == TAMIS_OK)
        status = tamis__plan_check_scheme(image->plan.kind, image->plan.scheme, err);
    if (status == TAMIS_OK) {
        created->kernels = tamis__filter_kernels_of(isa);
        status = ops->restore(created, image, err);
    }
    if (status == TAMIS_OK) {
        const tamis__verified_body body = {.bytes = image->body,
                                           .size = image->body_size,
                                           .checksums = image->checksums,
                                           .offset = image->body_at,
                                           .zeros_at = image->zeros_at,
                                           .name = image->name,
                                           .mapped = image->mapped,
                                           .valid = valid_of(ops),
                                           .context = created->body};
        created->verifier = tamis__block_verifier_create(&body, &memory);
        if (!created->verifier)
            status = tamis__fail_nomem(err, "filter", tamis__block_count(image->body_size) / 8);
    }
    if (status != TAMIS_OK) {
        tamis_filter_free(created);
        return status;
    }
    created->tally.memory += image->body_size;
    created->tally.memory_peak = created->tally.memory;
    *filter = created;
    return TAMIS_OK;
}

tamis_status tamis__filter_own(tamis_filter *filter, void *block, size_t size, tamis_error *err) {
    const tamis_status status = tamis_filter_verify(filter, err);
    if (status != TAMIS_OK)
        return status;
    tamis__block_verifier_free(filter->verifier);
    filter->verifier = NULL;
    filter->block = block;
    filter->block_size = size;
    return TAMIS_OK;
}

void tamis_filter_free(tamis_filter *filter) {
    if (!filter)
        return;
    tamis__opened *opened = filter->opened;
    tamis__backing backing = filter->backing;
    if (filter->external)
        filter->external->release(filter);
    else
        filter->ops->release(filter);
    tamis__concurrent_free(filter);
    tamis__block_verifier_free(filter->verifier);
    tamis__free(&filter->allocator, filter->block, filter->block_size);
    tamis__metadata_clear(filter);
    tamis_hasher_free(filter->hasher);
    tamis_allocator allocator = filter->allocator;
    if (filter->source_file)
        tamis__free(&allocator, filter->source_file, filter->source_file->block_size);
    tamis__free(&allocator, filter, sizeof *filter);
    if (backing.release)
        backing.release(&backing);
    if (opened)
        opened->release(opened);
}

void tamis__filter_swap(tamis_filter *filter, tamis_filter *with) {
    enum { SWAPPED = offsetof(tamis_filter, opened) };
    unsigned char old[SWAPPED];
    pthread_rwlock_wrlock(&filter->opened->slow_lock);
    pthread_rwlock_wrlock(&filter->opened->batch_lock);
    memcpy(old, filter, SWAPPED);
    memcpy(filter, with, SWAPPED);
    memcpy(with, old, SWAPPED);
    pthread_rwlock_unlock(&filter->opened->batch_lock);
    pthread_rwlock_unlock(&filter->opened->slow_lock);
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

void tamis_filter_expect(tamis_filter *filter, uint64_t more) {
    tamis__filter_lock_content(filter);
    filter->size_hint = more < UINT64_MAX - filter->added ? filter->added + more : UINT64_MAX;
    tamis__filter_unlock_content(filter);
}

static tamis_status clear(tamis_filter *filter, tamis_error *err) {
    tamis_status status = tamis__filter_check_writable(filter, "clear", err);
    if (status == TAMIS_OK)
        status = tamis__filter_check_not_add_only(filter, "clear", err);
    if (status == TAMIS_OK && filter->external)
        status = filter->external->clear(filter, err);
    if (status != TAMIS_OK)
        return status;
    if (!filter->external)
        filter->ops->clear(filter);
    filter->added = filter->size_hint = 0;
    filter->saturated = false;
    filter->full = TAMIS_FULL_NOT;
    return TAMIS_OK;
}

tamis_status tamis_filter_clear(tamis_filter *filter, tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_status status = tamis__filter_claim(filter, true, err);
    if (status != TAMIS_OK)
        return status;
    if (filter->concurrent) /* a copy in progress must have all keys, or none */
        tamis__concurrent_lock_whole(filter);
    tamis__filter_lock_content(filter);
    status = clear(filter, err);
    tamis__filter_unlock_content(filter);
    if (filter->concurrent)
        tamis__concurrent_unlock_whole(filter);
    tamis__filter_unclaim(filter, true);
    return status;
}

uint32_t tamis_kind_copies_max(tamis_kind kind) {
    return kind == TAMIS_KIND_COUNTING ? TAMIS__COUNTING_MAX
           : kind == TAMIS_KIND_CUCKOO ? TAMIS__CUCKOO_COPIES_MAX
                                       : 0;
}

static bool has_ability(const tamis_filter *filter, tamis_ability ability) {
    const bool is_made = tamis__filter_is_foreign_made(filter);
    switch (ability) {
    case TAMIS_CAN_UNION:
        return filter->ops && filter->ops->union_into != NULL;
    case TAMIS_CAN_REMOVE:
        return tamis__filter_can_remove(filter);
    case TAMIS_CAN_GROW:
        return is_made || (filter->ops && tamis__plan_grows(&filter->plan) && !filter->frozen);
    case TAMIS_CAN_COUNT:
        return tamis__filter_can_count(filter);
    case TAMIS_CAN_ADD:
        return is_made || (!tamis__filter_is_read_only(filter) && !tamis__filter_is_foreign(filter));
    }
    return false;
}

bool tamis_filter_can(const tamis_filter *filter, tamis_ability ability) {
    tamis__filter_lock_content(filter);
    const bool answer = has_ability(filter, ability);
    tamis__filter_unlock_content(filter);
    return answer;
}

tamis_status tamis_filter_info_get(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_filter_info created = TAMIS_FILTER_INFO_INIT;
    tamis_status status = tamis__check_struct(info, "TAMIS_FILTER_INFO_INIT", err);
    if (status != TAMIS_OK)
        return status;
    tamis__filter_lock_content(filter);
    created.kind = filter->plan.kind;
    created.scheme = filter->plan.scheme;
    created.added = filter->added;
    created.memory = filter->tally.memory;
    created.memory_peak = filter->tally.memory_peak;
    created.capacity = filter->plan.capacity;
    created.saturated = filter->saturated;
    created.full = filter->full;
    created.concurrent = filter->concurrent != NULL;
    if (filter->external)
        status = filter->external->estimate(filter, &created, err);
    else
        filter->ops->estimate(filter, &created);
    tamis__filter_unlock_content(filter);
    if (status == TAMIS_OK)
        tamis__write_struct(info, &created, sizeof created);
    return status;
}
