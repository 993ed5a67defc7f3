/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_DEDUP_H
#define TAMIS_DEDUP_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/filter.h>
#include <tamis/key.h>
#include <tamis/state.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The dedup service: says of each key of a stream whether it came before. Takes batches of keys, never
 * records: what a record is and where it goes is the caller's (tamis/stream.h does it for files).
 *
 * Threads. One thread at a time, unless the filter is concurrent. With a concurrent filter, many threads may call
 * tamis_dedup_ask, _ask_hashes, _count, _expect and _commit of one session at once, also over a state. All other calls
 * need the session and its state to themselves.
 * - If threads ask equal keys at once, exactly one of them gets TAMIS_FRESH.
 * - A commit has every fresh key of the calls that returned before it began, and none of the calls that began after it
 *   returned. It may have any of the fresh keys of the calls in between.
 * - A caller that must lose no record lets no call be in between. Each thread holds a shared lock from its lookup until
 *   its answers are written out. The committing thread holds that lock exclusively while it syncs the output, makes the
 *   account and commits. Without the lock, a key whose record was never written may be TAMIS_SEEN after a crash.
 * - The log has the fresh keys in an order in which one thread could have asked them, so every start makes the same
 *   filter. A fresh key that a thread adds to the state's filter outside the session is logged as well.
 */
typedef struct tamis_dedup tamis_dedup;

typedef enum tamis_when_full {
    TAMIS_WHEN_FULL_FAIL = 0, /* a fresh key that has no place is an error (default) */
    /* it is answered TAMIS_UNKNOWN and not remembered: the caller passes the record on, since a record twice is better than
     * one lost */
    TAMIS_WHEN_FULL_PASS = 1
} tamis_when_full;

typedef struct tamis_dedup_options {
    uint32_t struct_size;
    tamis_when_full when_full;
    const tamis_allocator *allocator; /* NULL: the default */
    /* NULL, or: the session is over the filter of this state (`filter` is that, or NULL), which it borrows too, and what is
     * fresh is logged there: see tamis_dedup_commit. Until that it keeps sizeof(tamis_hash) bytes of memory a fresh key. */
    tamis_state *state;
} tamis_dedup_options;

/* clang-format off */
#define TAMIS_DEDUP_OPTIONS_INIT {sizeof(tamis_dedup_options), TAMIS_WHEN_FULL_FAIL, NULL, NULL}
/* clang-format on */

/* A session over `filter`, which it borrows: it must outlive the session and be used by nobody else
 * meanwhile. options NULL: defaults. TAMIS_E_UNSUPPORTED: the filter's scheme has no digest, or one of too few bits for
 * the rate that the filter promises. TAMIS_E_INVALID: the filter of the state has keys that
 * are not logged, as a session leaves that was closed before it committed: tamis_state_abort first. */
TAMIS_API tamis_status tamis_dedup_open(tamis_dedup **session, tamis_filter *filter,
                                        const tamis_dedup_options *options, tamis_error *err);
TAMIS_API void tamis_dedup_close(tamis_dedup *session);

/* Answers `count` keys in order: TAMIS_FRESH the first time, TAMIS_SEEN after, TAMIS_UNKNOWN see above.
 * On failure the first *done keys are answered and the rest untouched. With a concurrent filter, each of the rest is
 * TAMIS_UNKNOWN or has its final answer, as for tamis_filter_add_many: ask only the unknown ones again.
 * Over a state, only keys that can be committed are answered: a failed state returns its error. After keys were put into
 * its filter outside the session, calls return TAMIS_E_INVALID until tamis_dedup_abort. */
TAMIS_API tamis_status tamis_dedup_ask(tamis_dedup *session, const tamis_key *keys, size_t count,
                                       tamis_answer *answers, size_t *done, tamis_error *err);

/* The same for keys hashed before, by the hasher of the filter; TAMIS_E_MISMATCH of others, and none is answered then. */
TAMIS_API tamis_status tamis_dedup_ask_hashes(tamis_dedup *session, const tamis_hash *hashes, size_t count,
                                              tamis_answer *answers, size_t *done, tamis_error *err);

/*
 * Of a session over a state: makes all that was answered so far last, with the caller's account of how far it is, which
 * tamis_state_committed gives back at the next start. What became of the answers, the caller's output, is on the disk before.
 * A crash at any instant then leaves the keys of the last commit and no others, so that a caller that cuts its output back to
 * what its account says, and asks again from there, has the output of an undisturbed run. Errors of tamis_state_commit,
 * after which the state takes nothing more; TAMIS_E_UNSUPPORTED of a session without a state; TAMIS_E_INVALID if the
 * filter has keys that were put in outside the session: nothing is committed, and tamis_dedup_abort removes those keys.
 */
TAMIS_API tamis_status tamis_dedup_commit(tamis_dedup *session, const void *account, size_t size,
                                          tamis_error *err);
/* Forgets all that was answered since the last commit, as if it had not been asked; counts stay. Takes as long as
 * tamis_state_open. What tamis_dedup_filter gave is no longer valid. Errors of tamis_state_abort. */
TAMIS_API tamis_status tamis_dedup_abort(tamis_dedup *session, tamis_error *err);

/* Says that about `more` keys are still to be asked, as far as the caller can tell; it may say so as often as it likes. The
 * session reckons by its last answers how many of them are fresh, and tells the filter: see tamis_filter_expect. Over a state nothing
 * is told, for growth is to depend on the log alone: see tamis_state_expect. */
TAMIS_API void tamis_dedup_expect(tamis_dedup *session, uint64_t more);

typedef struct tamis_dedup_counts {
    uint32_t struct_size;
    uint64_t fresh;
    uint64_t seen;
    uint64_t unknown;
} tamis_dedup_counts;

/* clang-format off */
#define TAMIS_DEDUP_COUNTS_INIT {sizeof(tamis_dedup_counts), 0, 0, 0}
/* clang-format on */

/* Fills *counts, which starts from TAMIS_DEDUP_COUNTS_INIT, with what has been answered so far. */
TAMIS_API void tamis_dedup_count(const tamis_dedup *session, tamis_dedup_counts *counts);
/* The filter the session borrows. */
TAMIS_API const tamis_filter *tamis_dedup_filter(const tamis_dedup *session);

#ifdef __cplusplus
}
#endif
#endif
