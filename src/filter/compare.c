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
 * Union has two conditions. A key must mean the same in both filters (equal hashes, compatible key types),
 * and the kind must be able to combine the bodies. Bloom filters need equal m and k. The union is the bitwise
 * or of their words; in kind counting it is the sum of their counters. Fingerprint tables of any sizes can be
 * merged, since each entry is a range of hashes (fingerprint_convert.c).
 *
 * Equal and different bodies. Bloom filters with the same keys have the same bits, whatever the order of
 * adds. So their bits are counted: only_a, only_b, in_both. Tables with the same keys may differ, in which
 * entries were spilled or moved, and in their numbers of lines. So "different" says nothing about the keys
 * of a table, and "equal" means byte by byte.
 *
 *     kind              same keys, other order     union                    keys counted twice
 *     ----------------  -------------------------  -----------------------  ---------------------------------
 *     classic, blocked  equal bits                 equal m, k, hash         corrected by an estimate
 *     counting          equal counters             equal m, k, hash         corrected by an estimate
 *     fingerprint,      may differ                 any sizes, equal hash    none: an entry covers or replaces
 *     exact                                                                 the other
 *     window, cuckoo    may differ                 none
 *
 * Locking. The contents of both filters are locked while they are compared. Two threads that compare the same
 * two filters must lock them in the same order, or they could wait for each other for ever. So the filter
 * with the lower address is locked first.
 *
 * Order of the checks of a union (check_union): frozen, of a state, on a server, kind, bits, probes,
 * scheme, seed, secret, key type. The first that fails makes the message. Then the filter that is read is
 * verified, and only then the other is changed. tamis_filter_is_compatible makes the same checks without a
 * message, so it says what a union would.
 *
 * Invariants:
 * 1. A comparison or union of files verifies them first: damage is an error, never a difference.
 * 2. A union that fails a check changes nothing.
 * 3. The union has every key of both (no false negatives). Its key type is the common one, see
 *    tamis__key_types_join.
 */
#include <inttypes.h>
#include <string.h>

#include <tamis/experimental/window.h>

#include "base/versioned.h"
#include "filter/filter_int.h"

/* Locks both filters, the one with the lower address first; once if both are the same. */
static void lock_both(const tamis_filter *a, const tamis_filter *b) {
    const bool in_order = (uintptr_t)a < (uintptr_t)b;
    tamis__filter_lock_content(in_order ? a : b);
    if (a != b)
        tamis__filter_lock_content(in_order ? b : a);
}

static void unlock_both(const tamis_filter *a, const tamis_filter *b) {
    tamis__filter_unlock_content(a);
    if (a != b)
        tamis__filter_unlock_content(b);
}

static bool same_hash(const tamis_hasher *a, const tamis_hasher *b) {
    return a->scheme == b->scheme && a->seed == b->seed && a->hasher_id == b->hasher_id;
}

/* True if both plans have the same sizes. The lines of a growing table are not compared: they follow from
 * its keys. */
static bool same_shape(const tamis_plan *a, const tamis_plan *b) {
    const bool grows = a->capacity == 0;
    return a->kind == b->kind && a->bits == b->bits && a->probes == b->probes &&
           a->slot_bits == b->slot_bits && a->home_bits == b->home_bits && a->partitions == b->partitions &&
           a->window == b->window && a->step == b->step && a->lateness == b->lateness &&
           a->refresh == b->refresh &&
           (a->bits || (grows == (b->capacity == 0) && (grows || a->lines == b->lines)));
}

/* In counting filters a counter that is not 0 is a bit that is set. */
static void count_bits(const tamis_filter *a, const tamis_filter *b, tamis_difference *created) {
    size_t count;
    const uint64_t *words_a = tamis__bloom_words(a, &count), *words_b = tamis__bloom_words(b, &count);
    const bool counting = a->plan.kind == TAMIS_KIND_COUNTING;
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits_a = counting ? tamis__counters_used(words_a[i]) : words_a[i];
        const uint64_t bits_b = counting ? tamis__counters_used(words_b[i]) : words_b[i];
        created->only_a += (uint64_t)__builtin_popcountll(bits_a & ~bits_b);
        created->only_b += (uint64_t)__builtin_popcountll(bits_b & ~bits_a);
        created->in_both += (uint64_t)__builtin_popcountll(bits_a & bits_b);
    }
    created->same_body = memcmp(words_a, words_b, count * sizeof *words_a) == 0;
}

static bool same_parts(const tamis_filter *a, const tamis_filter *b) {
    tamis__body_extent ours, theirs;
    size_t i = 0;
    if (tamis_window_newest(a) != tamis_window_newest(b))
        return false;
    for (; a->ops->body_extent(a, i, &ours); i++)
        if (!b->ops->body_extent(b, i, &theirs) || ours.size != theirs.size ||
            memcmp(ours.bytes, theirs.bytes, (size_t)ours.size) != 0)
            return false;
    return !b->ops->body_extent(b, i, &theirs);
}

static void compare(const tamis_filter *a, const tamis_filter *b, tamis_difference *created) {
    created->same_hash = same_hash(a->hasher, b->hasher);
    created->same_shape = same_shape(&a->plan, &b->plan);
    if (!created->same_hash || !created->same_shape)
        return;
    if (tamis_kind_is_bloom(a->plan.kind))
        count_bits(a, b, created);
    else
        created->same_body = same_parts(a, b);
}

tamis_status tamis_filter_compare(tamis_difference *difference, const tamis_filter *a, const tamis_filter *b,
                                  tamis_error *err) {
    TAMIS__NEED(a, err);
    TAMIS__NEED(b, err);
    tamis_difference created = TAMIS_DIFFERENCE_INIT;
    tamis_status status = tamis__check_struct(difference, "TAMIS_DIFFERENCE_INIT", err);
    if (status != TAMIS_OK)
        return status;
    lock_both(a, b);
    status = tamis__filter_check_local(a, "compare", err);
    if (status == TAMIS_OK)
        status = tamis__filter_check_local(b, "compare", err);
    if (status == TAMIS_OK)
        status = tamis_filter_verify(a, err); /* verify shares slow_lock once more, which is allowed */
    if (status == TAMIS_OK)
        status = tamis_filter_verify(b, err);
    if (status == TAMIS_OK)
        compare(a, b, &created);
    unlock_both(a, b);
    if (status == TAMIS_OK)
        tamis__write_struct(difference, &created, sizeof created);
    return status;
}

/* ---- union ---- */

static tamis_status mismatch(tamis_error *err, const char *what, uint64_t into, uint64_t from) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "union: %s differ, %" PRIu64 " and %" PRIu64 "; make both with one plan", what, into,
                       from);
}

/* Checks that both filters encode keys in the same way: otherwise keys of one would be absent in the
 * union. *keys is the common key type. */
static tamis_status check_keys(const tamis_filter *into, const tamis_filter *from, uint32_t *keys,
                               tamis_error *err) {
    uint32_t ours = into->metadata.fields.key_type, theirs = from->metadata.fields.key_type;
    if (tamis__key_types_join(ours, theirs, keys))
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "union: key types differ, 0x%" PRIx32 " and 0x%" PRIx32
                       "; make both with keys of one type",
                       ours, theirs);
}

/* Checks that both filters have the same hashes and compatible sizes, so that a key means the same to
 * both. */
static tamis_status check_compatible(const tamis_filter *into, const tamis_filter *from, uint32_t *keys,
                                     tamis_error *err) {
    tamis_status status = tamis__filter_check_local(into, "union", err);
    if (status == TAMIS_OK)
        status = tamis__filter_check_local(from, "union", err);
    if (status != TAMIS_OK)
        return status;
    if (into->ops != from->ops) /* fingerprint and exact have the same */
        return tamis__fail(err, TAMIS_E_MISMATCH, 0, "union: kinds %s and %s differ; make both of one kind",
                           tamis_kind_name(into->plan.kind), tamis_kind_name(from->plan.kind));
    if (into->plan.bits != from->plan.bits)
        return mismatch(err, "bits", into->plan.bits, from->plan.bits);
    if (into->plan.probes != from->plan.probes)
        return mismatch(err, "probes", into->plan.probes, from->plan.probes);
    if (into->hasher->scheme != from->hasher->scheme)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "union: schemes %s and %s differ; make both with one plan",
                           tamis_scheme_name(into->hasher->scheme), tamis_scheme_name(from->hasher->scheme));
    if (into->hasher->seed != from->hasher->seed)
        return mismatch(err, "seeds", into->hasher->seed, from->hasher->seed);
    if (into->hasher->hasher_id != from->hasher->hasher_id)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0, "union: secrets differ; make both with one secret");
    return check_keys(into, from, keys, err);
}

static tamis_status check_union(const tamis_filter *into, const tamis_filter *from, uint32_t *keys,
                                tamis_error *err) {
    if (into->frozen)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "union: the filter is frozen and accepts no more keys; use one that is not frozen");
    if (!into->external && !into->ops->union_into)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0, "union: kind %s has no unions; use another kind",
                           tamis_kind_name(into->plan.kind));
    tamis_status status = tamis__filter_check_not_add_only(into, "union", err);
    return status == TAMIS_OK ? check_compatible(into, from, keys, err) : status;
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
        tamis__concurrent_lock_whole(into);
    lock_both(into, from);
    status = check_union(into, from, &keys, err);
    if (status == TAMIS_OK)
        status = tamis__filter_check_writable(into, "union", err);
    if (status == TAMIS_OK)
        status = tamis_filter_verify(from, err);
    if (status == TAMIS_OK)
        status = into->ops->union_into(into, from, err);
    if (status == TAMIS_OK)
        into->metadata.fields.key_type = keys;
    unlock_both(into, from);
    if (into->concurrent)
        tamis__concurrent_unlock_whole(into);
    unclaim_both(into, from);
    return status;
}

bool tamis_filter_is_compatible(const tamis_filter *a, const tamis_filter *b) {
    uint32_t keys;
    lock_both(a, b);
    const bool compatible = check_union(a, b, &keys, NULL) == TAMIS_OK;
    unlock_both(a, b);
    return compatible;
}

bool tamis_filter_is_equal(const tamis_filter *a, const tamis_filter *b) {
    uint32_t keys;
    lock_both(a, b);
    bool equal =
        check_compatible(a, b, &keys, NULL) == TAMIS_OK && same_shape(&a->plan, &b->plan) && same_parts(a, b);
    unlock_both(a, b);
    return equal;
}
