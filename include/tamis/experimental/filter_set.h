/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_EXPERIMENTAL_FILTER_SET_H
#define TAMIS_EXPERIMENTAL_FILTER_SET_H

/* Lookups of the same keys in several filters. */

#include <stddef.h>

#include <tamis/filter.h>
#include <tamis/hash.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Filters that are looked up together: of any kinds, schemes and secrets, in memory, in files or on servers.
 * Plain data; array and filters are borrowed. A filter may be in the set several times. */
typedef struct tamis_filter_set {
    const tamis_filter *const *filters;
    size_t count;
} tamis_filter_set;

/* Arrays for the answers of a set to `count` keys. */
typedef struct tamis_filter_set_answers {
    /* any[i]: TAMIS_PRESENT if at least one filter answers so for key i, else TAMIS_ABSENT */
    tamis_answer *any;
    /* rows[f * count + i]: the answer of filter f for key i; NULL: not wanted */
    tamis_answer *rows;
} tamis_filter_set_answers;

/*
 * Looks up `count` keys in all filters of the set. Each key is hashed once for all filters of one scheme,
 * seed and secret.
 *
 * - done: may be NULL. On failure all filters have answered the first *done keys, and the other answers are
 *   undefined. The error is that of key *done.
 *
 * Errors of tamis_filter_contains_many.
 *
 * Threads: any number at once, if every filter allows lookups from many threads. To divide a batch, give
 * each thread a range of the keys. No filter may be reloaded (tamis_filter_reload) meanwhile.
 *
 * Cost: the lookups of each filter. Allocates nothing; takes up to 50 KiB of stack. A filter on a server
 * needs one round trip for the batch; without answers->rows, one for each 16384 keys.
 */
TAMIS_API tamis_status tamis_filter_set_contains_many(const tamis_filter_set *set, const tamis_key *keys,
                                                      size_t count, const tamis_filter_set_answers *answers,
                                                      size_t *done, tamis_error *err);

/* Like tamis_filter_set_contains_many, for keys hashed by tamis_filter_set_hasher. TAMIS_E_MISMATCH: a
 * filter does not accept a hash. */
TAMIS_API tamis_status tamis_filter_set_contains_hashes(const tamis_filter_set *set, const tamis_hash *hashes,
                                                        size_t count, const tamis_filter_set_answers *answers,
                                                        size_t *done, tamis_error *err);

/* Returns the hasher of all filters, valid as long as the first of them. NULL: the schemes, seeds or secrets
 * differ, the scheme has no digest (tamis_scheme_digest_bits), or the set is empty. */
TAMIS_API const tamis_hasher *tamis_filter_set_hasher(const tamis_filter_set *set);

#ifdef __cplusplus
}
#endif
#endif
