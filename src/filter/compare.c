/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Operations on two filters: comparing them, testing if they can be merged, and merging them (union).
 *
 * Comparison goes from the outside to the inside, and stops at the first level that differs:
 *
 *     1. hash     scheme, seed and secret are equal: both map a key to the same hash
 *     2. shape    kind and sizes are equal: both map a hash to the same position
 *     3. body     the bits are equal; for Bloom filters, how many bits only one or both have set
 *
 * Union has two conditions: a key must mean the same in both filters (equal hashes, compatible key types),
 * and the kind must be able to combine the bodies. Bloom filters need equal m and k: the union is the bitwise
 * or of their words. Fingerprint tables of any sizes can be merged, since each entry is a range of hashes
 * (fingerprint_convert.c).
 *
 * Locking. Both filters are held while they are compared. Two threads that compare the same two filters must
 * lock them in the same order, or they could wait for each other for ever. So the filter with the lower
 * address is locked first.
 *
 * Invariants:
 * 1. A comparison or union of files verifies them first: damage is an error, never a difference.
 * 2. A union that fails a check changes nothing.
 * 3. The union has every key of both (no false negatives). Its key type is the common one, see
 *    tamis__key_types_join.
 */
#include <inttypes.h>
#include <string.h>

#include "base/versioned.h"
#include "filter/about.h"
#include "filter/filter_int.h"

/* Locks both filters, the one with the lower address first; once if both are the same. */
static void keep_both(const tamis_filter *one, const tamis_filter *other) {
    bool in_order = (uintptr_t)one < (uintptr_t)other;
    tamis__filter_keep(in_order ? one : other);
    if (one != other)
        tamis__filter_keep(in_order ? other : one);
}

static void let_both_go(const tamis_filter *one, const tamis_filter *other) {
    tamis__filter_let_go(one);
    if (one != other)
        tamis__filter_let_go(other);
}

static bool same_hash(const tamis_hasher *one, const tamis_hasher *other) {
    return one->scheme == other->scheme && one->seed == other->seed && one->origin == other->origin;
}

/* True if both plans have the same sizes. The lines of a growing table are not compared: they follow from
 * its keys. */
static bool same_shape(const tamis_plan *one, const tamis_plan *other) {
    bool grows = one->capacity == 0;
    return one->kind == other->kind && one->bits == other->bits && one->probes == other->probes &&
           one->slot_bits == other->slot_bits && one->home_bits == other->home_bits &&
           one->partitions == other->partitions &&
           (one->bits || (grows == (other->capacity == 0) && (grows || one->lines == other->lines)));
}

static void count_bits(const tamis_filter *one, const tamis_filter *other, tamis_difference *made) {
    size_t count;
    const uint64_t *ours = tamis__bloom_words(one, &count), *theirs = tamis__bloom_words(other, &count);
    for (size_t i = 0; i < count; i++) {
        made->one += (uint64_t)__builtin_popcountll(ours[i] & ~theirs[i]);
        made->other += (uint64_t)__builtin_popcountll(theirs[i] & ~ours[i]);
        made->both += (uint64_t)__builtin_popcountll(ours[i] & theirs[i]);
    }
    made->same_body = made->one == 0 && made->other == 0;
}

static bool same_parts(const tamis_filter *one, const tamis_filter *other) {
    tamis__part ours, theirs;
    size_t i = 0;
    for (; one->ops->part(one, i, &ours); i++)
        if (!other->ops->part(other, i, &theirs) || ours.size != theirs.size ||
            memcmp(ours.bytes, theirs.bytes, (size_t)ours.size) != 0)
            return false;
    return !other->ops->part(other, i, &theirs);
}

static void compare(const tamis_filter *one, const tamis_filter *other, tamis_difference *made) {
    made->same_hash = same_hash(one->hasher, other->hasher);
    made->same_shape = same_shape(&one->plan, &other->plan);
    if (!made->same_hash || !made->same_shape)
        return;
    if (tamis_kind_is_bloom(one->plan.kind))
        count_bits(one, other, made);
    else
        made->same_body = same_parts(one, other);
}

tamis_status tamis_filter_compare(const tamis_filter *one, const tamis_filter *other,
                                  tamis_difference *difference, tamis_error *err) {
    TAMIS__NEED(one, err);
    TAMIS__NEED(other, err);
    tamis_difference made = TAMIS_DIFFERENCE_INIT;
    tamis_status status = tamis__check_struct(difference, "TAMIS_DIFFERENCE_INIT", err);
    if (status != TAMIS_OK)
        return status;
    keep_both(one, other);
    status = tamis__filter_check_local(one, "compare", err);
    if (status == TAMIS_OK)
        status = tamis__filter_check_local(other, "compare", err);
    if (status == TAMIS_OK)
        status =
            tamis_filter_verify(one, err); /* verify shares the lock `kept` once more, which is allowed */
    if (status == TAMIS_OK)
        status = tamis_filter_verify(other, err);
    if (status == TAMIS_OK)
        compare(one, other, &made);
    let_both_go(one, other);
    if (status == TAMIS_OK)
        tamis__give_struct(difference, &made, sizeof made);
    return status;
}

/* ---- union ---- */

static tamis_status mismatch(tamis_error *err, const char *what, uint64_t into, uint64_t from) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "union: %s differ, %" PRIu64 " and %" PRIu64 "; unite filters made by one plan", what,
                       into, from);
}

/* Checks that both filters encode keys in the same way: otherwise keys of one would be absent in the
 * union. *keys is the common key type. */
static tamis_status check_keys(const tamis_filter *into, const tamis_filter *from, uint32_t *keys,
                               tamis_error *err) {
    uint32_t ours = into->about.told.key_type, theirs = from->about.told.key_type;
    if (tamis__key_types_join(ours, theirs, keys))
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "union: key types differ, 0x%" PRIx32 " and 0x%" PRIx32
                       "; unite filters whose keys were made alike",
                       ours, theirs);
}

/* Checks that both filters have the same hashes and compatible sizes, so that a key means the same to
 * both. */
static tamis_status check_alike(const tamis_filter *into, const tamis_filter *from, uint32_t *keys,
                                tamis_error *err) {
    tamis_status status = tamis__filter_check_local(into, "union", err);
    if (status == TAMIS_OK)
        status = tamis__filter_check_local(from, "union", err);
    if (status != TAMIS_OK)
        return status;
    const bool bloom = tamis_kind_is_bloom(into->plan.kind);
    if (into->plan.kind != from->plan.kind && (bloom || tamis_kind_is_bloom(from->plan.kind)))
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "union: kinds %s and %s differ; unite filters of one kind",
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
    return check_keys(into, from, keys, err);
}

static tamis_status check_union(const tamis_filter *into, const tamis_filter *from, uint32_t *keys,
                                tamis_error *err) {
    if (into->frozen)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "union: the filter is frozen and takes no more keys; unite into one that is not");
    return check_alike(into, from, keys, err);
}

/* Claims both filters, see tamis__filter_claim. On failure neither is claimed. */
static tamis_status claim_both(const tamis_filter *into, const tamis_filter *from, tamis_error *err) {
    tamis_status status = tamis__filter_claim(into, true, err);
    if (status != TAMIS_OK || into == from)
        return status;
    status = tamis__filter_claim(from, false, err);
    if (status != TAMIS_OK)
        tamis__filter_unclaim(into, true);
    return status;
}

static void unclaim_both(const tamis_filter *into, const tamis_filter *from) {
    if (into != from)
        tamis__filter_unclaim(from, false);
    tamis__filter_unclaim(into, true);
}

tamis_status tamis_filter_union(tamis_filter *into, const tamis_filter *from, tamis_error *err) {
    TAMIS__NEED(into, err);
    TAMIS__NEED(from, err);
    uint32_t keys;
    tamis_status status = claim_both(into, from, err);
    if (status != TAMIS_OK)
        return status;
    if (into->concurrent) /* a copy in progress has all keys of `from`, or none */
        tamis__concurrent_hold(into);
    keep_both(into, from);
    status = check_union(into, from, &keys, err);
    if (status == TAMIS_OK)
        status = tamis__filter_check_writable(into, "union", err);
    if (status == TAMIS_OK)
        status = tamis_filter_verify(from, err);
    if (status == TAMIS_OK)
        status = into->ops->unite(into, from, err);
    if (status == TAMIS_OK)
        into->about.told.key_type = keys;
    let_both_go(into, from);
    if (into->concurrent)
        tamis__concurrent_release(into);
    unclaim_both(into, from);
    return status;
}

bool tamis_filter_is_compatible(const tamis_filter *one, const tamis_filter *other) {
    uint32_t keys;
    keep_both(one, other);
    bool compatible = check_union(one, other, &keys, NULL) == TAMIS_OK;
    let_both_go(one, other);
    return compatible;
}

bool tamis_filter_is_equal(const tamis_filter *one, const tamis_filter *other) {
    uint32_t keys;
    keep_both(one, other);
    bool equal = check_alike(one, other, &keys, NULL) == TAMIS_OK && same_shape(&one->plan, &other->plan) &&
                 same_parts(one, other);
    let_both_go(one, other);
    return equal;
}
