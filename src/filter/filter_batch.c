/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Adding, looking up and removing keys: the path from the caller's batch to the kind.
 *
 *     caller's batch --> pieces --> hashes --> verified blocks --> kind's kernel --> answers
 *                        |          |          only if the filter is in a file
 *                        |          only if the scheme has a digest
 *                        256 keys to add, 1024 to look up: they fit on the stack
 *
 * An external or concurrent filter gets the batch as a whole and divides it itself.
 *
 * Which function of the kind is called:
 *
 *     filter                          adding                    lookups                      pieces
 *     ------------------------------  ------------------------  ---------------------------  ------------
 *     external                        external->add             external->contains           none
 *     concurrent                      tamis__concurrent_add     tamis__concurrent_contains   512
 *     scheme without a digest         ops->add, of keys         ops->contains, of keys       256, 1024
 *     else                            hashing, then ops->add    hashing, then ops->contains  256, 1024
 *
 * A lookup that fails in a file. A damaged block must not hide the answers of keys before it, wherever the
 * caller's batch began. So the keys of a failed piece are looked up one by one, up to the first that needs
 * the block (query_pieces). *done then does not depend on the size of pieces.
 *
 * An example: 3000 keys, of which key 1500 needs a damaged block.
 *
 *     keys            looked up             result
 *     0    to 1023    together              answered
 *     1024 to 2047    together              fails: nothing of it reaches the caller
 *     1024 to 1499    one by one            answered
 *     1500            alone                 the error; *done is 1500
 *
 * Without the second try *done would be 1024, and 0 for a caller whose batch begins at key 600.
 *
 * A kind gets hashes of its own scheme only, and reads verified memory only. This file checks both:
 * - A hash says which scheme, seed and secret made it (tamis_hash.hasher_id). tamis__hasher_check refuses
 *   a hash of others.
 * - A filter in a file: all blocks that a piece will read are verified first (block_verifier.h). After the
 *   lookup the file is checked: somebody may have written to it in place. Only then do answers reach the
 *   caller.
 *
 * The steps of a lookup in a mapped file, for pieces of 1024 keys. Answers of a piece are valid only if
 * all four steps succeed:
 *
 *     1. hash       keys -> hashes
 *     2. verify     each block that a hash leads to (touch); skipped once every block is verified
 *     3. contains   the kernel reads the mapped lines
 *     4. same       the file was not written to since it was mapped
 *
 * Why step 4 comes last: bytes may change between steps 2 and 3. It costs as much as a dozen lookups, so
 * pieces are large.
 *
 * Why answers of a piece wait in an array of their own (`held`): the bytes may change meanwhile. The caller's
 * array must never have an answer from such bytes, whether or not the caller heeds the status.
 *
 * What a piece pays once: the call through `ops`, the wait for its first cache lines, and step 4, as long as
 * a dozen lookups. With 1024 keys that is about a hundredth of its time. Larger pieces would gain nothing and
 * need more stack.
 *
 * Removing goes piece by piece as adding does, and needs the whole filter for itself. So a concurrent filter
 * is locked for the time of the call.
 *
 * Adds use smaller pieces: they are in memory, without step 4, and 256 keys suffice to hide the wait for
 * the first cache lines.
 *
 * Invariants:
 * 1. On an error the first *done keys are added and answered. A filter that is not concurrent has none of the
 *    keys after them.
 * 2. A lookup in a damaged or changed file gives an error, never an answer.
 * 3. Two equal keys in one batch behave as if added one after the other.
 */
#include <string.h>

#include "filter/block_verifier.h"
#include "filter/concurrent.h"
#include "filter/filter_int.h"

/* Keys added together: 6 KiB of stack. */
enum { ADD_MAX = 256 };

/* Keys looked up together: 25 KiB of stack. Each piece begins by waiting for its first cache lines. If the
 * filter is in a file, it ends with a check of that file, which costs as much as a dozen lookups. */
enum { QUERY_MAX = 1024 };

/* ---- filters in an image ---- */

tamis_status tamis__filter_check_writable(const tamis_filter *filter, const char *what, tamis_error *err) {
    if (!tamis__filter_is_read_only(filter))
        return TAMIS_OK;
    if (filter->read_only)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: the filter is a copy of a key of the Redis module, and only read; change it "
                           "on its server, by BF or TW commands, or change a copy",
                           what);
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "%s: the filter is an opened file and only read; open it writable, or change a copy",
                       what);
}

tamis_status tamis__filter_check_not_add_only(const tamis_filter *filter, const char *what,
                                              tamis_error *err) {
    if (!filter->add_only)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "%s: the filter belongs to a state, whose log has added keys only; change a copy, or "
                       "begin a new state",
                       what);
}

static bool must_verify(const tamis_filter *filter) {
    return filter->verifier && !tamis__block_verifier_is_done(filter->verifier);
}

/* Fails if the file was written to after it was mapped. Blocks are verified only once, so such bytes could
 * become answers. */
static tamis_status check_same(const tamis_filter *filter, tamis_error *err) {
    if (!filter->backing.release || filter->backing.is_same(&filter->backing))
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_DAMAGED, 0,
        "%s: was written in place while it was open; put filters in place by rename, and open it again",
        tamis__block_verifier_name(filter->verifier));
}

static tamis_status verify(const tamis_filter *filter, tamis_error *err) {
    tamis_status status =
        filter->verifier ? tamis__block_verifier_check_all(filter->verifier, err) : TAMIS_OK;
    return status == TAMIS_OK ? check_same(filter, err) : status;
}

tamis_status tamis_filter_verify(const tamis_filter *filter, tamis_error *err) {
    TAMIS__NEED(filter, err);
    if (tamis__filter_is_foreign(filter)) /* it was verified when it was made */
        return TAMIS_OK;
    tamis_status status = tamis__filter_check_local(filter, "verify", err);
    /* A concurrent filter is in memory, and this thread may hold its lock. */
    if (status != TAMIS_OK || filter->concurrent)
        return status;
    tamis__filter_lock_content(filter);
    status = verify(filter, err);
    tamis__filter_unlock_content(filter);
    return status;
}

/* ---- checked builds: one thread at a time ---- */

#ifndef NDEBUG
/* Flag in tamis_filter.inside, beside the number of threads that share the filter.
 *
 * `inside` of a handle: who uses it now. Sharing and exclusive use are in one word, so that one atomic
 * operation decides:
 *
 *     bit     31      30 ... 0
 *             alone   threads that share it
 *
 *     a thread enters to add:       0 becomes 2^31, or the call fails
 *     a thread enters to look up:   + 1; if bit 31 was set, - 1 and the call fails
 *
 * Relaxed order suffices: this only reports a mistake of the program, and protects no data. Release builds
 * save the two atomic operations of each call. */
#define ALONE (UINT32_C(1) << 31)

static bool is_checked(const tamis_filter *filter) {
    return !filter->external && !filter->concurrent;
}

tamis_status tamis__filter_claim(const tamis_filter *filter, bool alone, tamis_error *err) {
    uint32_t *inside = (uint32_t *)(uintptr_t)&filter->inside, none = 0;
    if (!is_checked(filter))
        return TAMIS_OK;
    if (alone && __atomic_compare_exchange_n(inside, &none, ALONE, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return TAMIS_OK;
    if (!alone && !(__atomic_fetch_add(inside, 1, __ATOMIC_RELAXED) & ALONE))
        return TAMIS_OK;
    if (!alone)
        __atomic_fetch_sub(inside, 1, __ATOMIC_RELAXED);
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "filter: two threads are in it at once, and it is not concurrent; make or open it with "
        "options.concurrent, or let one thread in at a time");
}

void tamis__filter_unclaim(const tamis_filter *filter, bool alone) {
    if (is_checked(filter))
        __atomic_fetch_sub((uint32_t *)(uintptr_t)&filter->inside, alone ? ALONE : 1, __ATOMIC_RELAXED);
}
#endif

/* ---- adding ---- */

tamis_status tamis__filter_check_local(const tamis_filter *filter, const char *what, tamis_error *err) {
    if (!filter->external)
        return TAMIS_OK;
    if (tamis__filter_is_foreign(filter))
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: it is %s, which is only looked up, or copied as it is", what,
                           filter->external->foreign);
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0, "%s: the filter's bits are on a server; pull it first",
                       what);
}

tamis_status tamis__key_batch_hash(const tamis_filter *filter, tamis__key_batch *batch, tamis_hash *created,
                                   tamis_error *err) {
    if (batch->hashes || tamis_scheme_digest_bits(filter->hasher->scheme) == 0)
        return TAMIS_OK;
    batch->hashes = created;
    return tamis_hash_many(filter->hasher, batch->keys, batch->count, created, err);
}

static tamis_status check_hashes(const tamis_filter *filter, const tamis__key_batch *batch,
                                 tamis_error *err) {
    return batch->hashes ? tamis__hasher_check(filter->hasher, batch->hashes, batch->count, err) : TAMIS_OK;
}

/* Adds a batch to a filter of this thread alone: in pieces, or whole if neither hashes nor answers need a
 * buffer. *done must be 0. */
static tamis_status add_pieces(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                               tamis_error *err) {
    tamis_hash created[ADD_MAX];
    tamis_answer unwanted[ADD_MAX];
    const size_t max = batch->hashes && batch->answers ? batch->count : ADD_MAX;
    tamis_status status = TAMIS_OK;
    while (*done < batch->count && status == TAMIS_OK) {
        const size_t left = batch->count - *done;
        tamis__key_batch piece = tamis__key_batch_slice(batch, *done, left < max ? left : max);
        size_t added = 0;
        if (!piece.answers)
            piece.answers = unwanted;
        status = tamis__key_batch_hash(filter, &piece, created, err);
        if (status == TAMIS_OK)
            status = filter->ops->add(filter, &piece, &added, err);
        *done += added;
    }
    return status;
}

static tamis_status add_batch(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                              tamis_error *err) {
    size_t added = 0;
    tamis_status status = check_hashes(filter, batch, err);
    if (status == TAMIS_OK && filter->external) {
        status = filter->external->add(filter, batch, &added, err);
    } else if (status == TAMIS_OK && filter->concurrent) {
        status = tamis__concurrent_add(filter, batch, &added, err);
    } else if (status == TAMIS_OK) {
        status = tamis__filter_check_writable(filter, "add", err);
        if (status == TAMIS_OK)
            status = tamis__filter_claim(filter, true, err);
        if (status == TAMIS_OK) {
            status = add_pieces(filter, batch, &added, err);
            tamis__filter_unclaim(filter, true);
        }
    }
    if (done)
        *done = added;
    return status;
}

tamis_status tamis_filter_add_many(tamis_filter *filter, const tamis_key *keys, size_t count,
                                   tamis_answer *answers, size_t *done, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(count, keys, err);
    const tamis__key_batch batch = {.keys = keys, .count = count, .answers = answers};
    return add_batch(filter, &batch, done, err);
}

tamis_status tamis_filter_add_hashes(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                     tamis_answer *answers, size_t *done, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(count, hashes, err);
    const tamis__key_batch batch = {.hashes = hashes, .count = count, .answers = answers};
    return add_batch(filter, &batch, done, err);
}

/* ---- looking up ---- */

/* Verifies the blocks that the lookup of a piece reads. */
static tamis_status verify_blocks(const tamis_filter *filter, const tamis__key_batch *piece,
                                  tamis_error *err) {
    return must_verify(filter) ? filter->ops->touch(filter, piece, err) : TAMIS_OK;
}

/* Looks up at most QUERY_MAX keys: all of them, or none on an error. */
static tamis_status query_piece(const tamis_filter *filter, tamis__key_batch piece, tamis_error *err) {
    tamis_hash created[QUERY_MAX];
    tamis_answer held[QUERY_MAX]; /* kept back until the file is known to be unchanged */
    tamis_answer *answers = piece.answers;
    tamis_status status = tamis__key_batch_hash(filter, &piece, created, err);
    if (status == TAMIS_OK)
        status = verify_blocks(filter, &piece, err);
    if (status != TAMIS_OK)
        return status;
    piece.answers = filter->verifier ? held : answers;
    filter->ops->contains(filter, &piece);
    if (!filter->verifier)
        return TAMIS_OK;
    status = check_same(filter, err);
    if (status == TAMIS_OK)
        memcpy(answers, held, piece.count * sizeof *held);
    return status;
}

/* Looks up a batch in pieces. *done must be 0. If a piece fails, its keys are looked up one by one. So all
 * keys before the first one in a damaged block are answered, wherever the batch began. */
static tamis_status query_pieces(const tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                 tamis_error *err) {
    size_t max = QUERY_MAX;
    while (*done < batch->count) {
        const size_t left = batch->count - *done, count = left < max ? left : max;
        const tamis_status status = query_piece(filter, tamis__key_batch_slice(batch, *done, count), err);
        if (status == TAMIS_OK)
            *done += count;
        else if (count > 1)
            max = 1;
        else
            return status;
    }
    return TAMIS_OK;
}

static tamis_status query_batch(const tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                tamis_error *err) {
    size_t answered = 0;
    tamis__filter_enter(filter);
    tamis_status status = check_hashes(filter, batch, err);
    if (status == TAMIS_OK)
        status = tamis__filter_claim(filter, false, err);
    if (status == TAMIS_OK) {
        if (filter->external)
            status = filter->external->contains(filter, batch, &answered, err);
        else if (filter->concurrent)
            status = tamis__concurrent_contains(filter, batch, &answered, err);
        else
            status = query_pieces(filter, batch, &answered, err);
        tamis__filter_unclaim(filter, false);
    }
    tamis__filter_leave(filter);
    if (done)
        *done = answered;
    return status;
}

tamis_status tamis_filter_contains_many(const tamis_filter *filter, const tamis_key *keys, size_t count,
                                        tamis_answer *answers, size_t *done, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(count, keys, err);
    TAMIS__NEED_IF(count, answers, err);
    const tamis__key_batch batch = {.keys = keys, .count = count, .answers = answers};
    return query_batch(filter, &batch, done, err);
}

tamis_status tamis_filter_contains_hashes(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                          tamis_answer *answers, size_t *done, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(count, hashes, err);
    TAMIS__NEED_IF(count, answers, err);
    const tamis__key_batch batch = {.hashes = hashes, .count = count, .answers = answers};
    return query_batch(filter, &batch, done, err);
}

/* ---- removing ---- */

static tamis_status check_can_remove(const tamis_filter *filter, tamis_error *err) {
    tamis_status status = tamis__filter_check_local(filter, "remove", err);
    if (status == TAMIS_OK && !tamis__filter_can_remove(filter))
        status =
            tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                        "remove: kind %s cannot remove keys, since what it stores of a key may belong to "
                        "others too; use kind exact, counting or cuckoo",
                        tamis_kind_name(filter->plan.kind));
    if (status == TAMIS_OK)
        status = tamis__filter_check_writable(filter, "remove", err);
    return status == TAMIS_OK ? tamis__filter_check_not_add_only(filter, "remove", err) : status;
}

/* Removes a batch in pieces. *done must be 0. */
static tamis_status remove_pieces(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                  tamis_error *err) {
    tamis_hash created[ADD_MAX];
    tamis_answer unwanted[ADD_MAX];
    tamis_status status = TAMIS_OK;
    while (*done < batch->count && status == TAMIS_OK) {
        const size_t left = batch->count - *done;
        tamis__key_batch piece = tamis__key_batch_slice(batch, *done, left < ADD_MAX ? left : ADD_MAX);
        status = tamis__key_batch_hash(filter, &piece, created, err);
        if (status != TAMIS_OK)
            break;
        filter->ops->remove(filter, piece.hashes, piece.count, piece.answers ? piece.answers : unwanted);
        *done += piece.count;
    }
    return status;
}

/* Removes a batch while nobody else uses the filter.
 *
 * Locks from the outside in: the claim, copies in progress, the content. check_can_remove comes behind the
 * locks, since a newer version of a file may be of another kind. */
static tamis_status remove_batch(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                 tamis_error *err) {
    size_t removed = 0;
    tamis_status status = check_hashes(filter, batch, err);
    if (status == TAMIS_OK)
        status = tamis__filter_claim(filter, true, err);
    if (status == TAMIS_OK) {
        if (filter->concurrent) /* a copy in progress must have all keys, or none of the removed ones */
            tamis__concurrent_lock_whole(filter);
        tamis__filter_lock_content(filter);
        const bool is_made = tamis__filter_is_foreign_made(filter);
        status =
            is_made ? filter->external->remove(filter, batch, &removed, err) : check_can_remove(filter, err);
        if (status == TAMIS_OK && !is_made)
            status = remove_pieces(filter, batch, &removed, err);
        tamis__filter_unlock_content(filter);
        if (filter->concurrent)
            tamis__concurrent_unlock_whole(filter);
        tamis__filter_unclaim(filter, true);
    }
    if (done)
        *done = removed;
    return status;
}

tamis_status tamis_filter_remove_many(tamis_filter *filter, const tamis_key *keys, size_t count,
                                      tamis_answer *answers, size_t *done, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(count, keys, err);
    const tamis__key_batch batch = {.keys = keys, .count = count, .answers = answers};
    return remove_batch(filter, &batch, done, err);
}

tamis_status tamis_filter_remove_hashes(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                        tamis_answer *answers, size_t *done, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(count, hashes, err);
    const tamis__key_batch batch = {.hashes = hashes, .count = count, .answers = answers};
    return remove_batch(filter, &batch, done, err);
}

/* ---- single keys ---- */

tamis_status tamis_filter_add(tamis_filter *filter, const void *key, size_t size, tamis_answer *answer,
                              tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, key, err);
    tamis_key view = {key, size};
    return tamis_filter_add_many(filter, &view, 1, answer, NULL, err);
}

tamis_status tamis_filter_contains(const tamis_filter *filter, const void *key, size_t size,
                                   tamis_answer *answer, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, key, err);
    TAMIS__NEED(answer, err);
    tamis_key view = {key, size};
    return tamis_filter_contains_many(filter, &view, 1, answer, NULL, err);
}

tamis_status tamis_filter_remove(tamis_filter *filter, const void *key, size_t size, tamis_answer *answer,
                                 tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, key, err);
    tamis_key view = {key, size};
    return tamis_filter_remove_many(filter, &view, 1, answer, NULL, err);
}

static tamis_status check_can_count(const tamis_filter *filter, tamis_error *err) {
    const tamis_status status = tamis__filter_check_local(filter, "count", err);
    if (status != TAMIS_OK || tamis__filter_can_count(filter))
        return status;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "count: kind %s does not count the copies of a key; use kind counting or cuckoo",
                       tamis_kind_name(filter->plan.kind));
}

tamis_status tamis_filter_count_key(const tamis_filter *filter, const void *key, size_t size,
                                    uint64_t *copies, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, key, err);
    TAMIS__NEED(copies, err);
    const tamis_key view = {key, size};
    tamis_hash hash;
    uint64_t counted = 0;
    if (tamis__filter_is_foreign_made(filter))
        return filter->external->copies(filter, &view, copies, err);
    tamis__filter_enter(filter);
    tamis_status status = check_can_count(filter, err);
    if (status == TAMIS_OK)
        status = tamis_hash_many(filter->hasher, &view, 1, &hash, err);
    if (status == TAMIS_OK)
        status = tamis__filter_claim(filter, false, err);
    if (status == TAMIS_OK) {
        status = verify_blocks(filter, &(tamis__key_batch){.hashes = &hash, .count = 1}, err);
        if (status == TAMIS_OK)
            counted = filter->ops->copies(filter, &hash);
        if (status == TAMIS_OK)
            status = check_same(filter, err);
        tamis__filter_unclaim(filter, false);
    }
    tamis__filter_leave(filter);
    if (status == TAMIS_OK)
        *copies = counted;
    return status;
}
