/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_DEDUP_H
#define TAMIS_DEDUP_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/filter.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A dedup session says for each key of a stream whether it came before. It takes batches of keys, not
 * records. The caller decides what a record is and where it goes (tamis/experimental/stream.h does so for
 * files).
 *
 * Threads: one at a time, unless the filter is concurrent. With a concurrent filter, many threads may call
 * tamis_dedup_add_many, _add_hashes, _count, _expect and _commit of one session at once, with or without a
 * state. All other calls need the session and its state to themselves.
 *
 * - If several threads pass equal keys at once, exactly one gets TAMIS_ABSENT.
 * - A commit has every absent key of the calls that returned before it began, and none of the calls that
 *   began after it returned. It may have some of the absent keys of calls that overlap it.
 * - A caller that must not lose a record avoids such overlaps. Each thread holds a shared lock from its
 *   lookup until its answers are written out. The committing thread holds the lock exclusively while it syncs
 *   the output, builds the checkpoint and commits. Without the lock, a key whose record was never written may
 *   be TAMIS_PRESENT after a crash.
 * - The log stores absent keys in an order in which one thread could have added them. So every start rebuilds
 *   the same filter. If a thread adds an absent key to the state's filter outside the session, that key is
 *   logged too.
 */
typedef struct tamis_dedup tamis_dedup;
typedef struct tamis_state tamis_state; /* tamis/experimental/state.h */

typedef enum tamis_on_full {
    TAMIS_ON_FULL_FAIL = 0, /* an absent key that does not fit is an error (default) */
    /* an absent key that does not fit is answered TAMIS_UNKNOWN and not stored. The caller should pass its
     * record on, since a duplicate is better than a loss. */
    TAMIS_ON_FULL_PASS = 1
} tamis_on_full;

typedef struct tamis_dedup_options {
    uint32_t struct_size;
    tamis_on_full on_full;
    const tamis_allocator *allocator; /* NULL: the default */
    /* A state, or NULL. With a state, the session borrows it and uses its filter (`filter` is that filter
     * or NULL). It logs absent keys there, see tamis_dedup_commit. Until the commit it keeps
     * sizeof(tamis_hash) bytes of memory for each absent key. */
    tamis_state *state;
    /* For a window (tamis_dedup_add_timed): how far beyond the newest time a key may be, in milliseconds; 0:
     * a step of the window. Not checked for times of the clock, nor for the first key of the window. */
    uint64_t ahead;
} tamis_dedup_options;

#define TAMIS_DEDUP_OPTIONS_INIT TAMIS__INIT(tamis_dedup_options, )

/*
 * Opens a session that uses `filter`. The filter must outlive the session, and nobody else may use it
 * meanwhile. The caller owns *session until tamis_dedup_close.
 *
 * - options: NULL for the defaults.
 * - TAMIS_E_UNSUPPORTED: the filter's scheme has no digest, or too few bits for the promised rate. Or its
 *   kind is counting or cuckoo, which count a key each time it comes. Or the state was opened with read_only.
 * - TAMIS_E_INVALID: the filter of the state has keys that are not logged, because a session was closed
 *   before it committed. Call tamis_state_abort first.
 */
TAMIS_API tamis_status tamis_dedup_open(tamis_dedup **session, tamis_filter *filter,
                                        const tamis_dedup_options *options, tamis_error *err);
TAMIS_API void tamis_dedup_close(tamis_dedup *session);

/*
 * Adds `count` keys in order and answers each: TAMIS_ABSENT the first time, TAMIS_PRESENT after that.
 * TAMIS_UNKNOWN: see tamis_on_full.
 *
 * On failure the first *done keys are answered and the others unchanged. With a concurrent filter, each of
 * the others is TAMIS_UNKNOWN or has its final answer, as for tamis_filter_add_many. Repeat the call for the
 * unknown ones only.
 *
 * With a state, only keys that can be committed are answered. A failed state returns its error. After keys
 * were added to its filter outside the session, calls return TAMIS_E_INVALID until tamis_dedup_abort.
 */
TAMIS_API tamis_status tamis_dedup_add_many(tamis_dedup *session, const tamis_key *keys, size_t count,
                                            tamis_answer *answers, size_t *done, tamis_error *err);

/* Like tamis_dedup_add_many, for keys hashed by the hasher of the filter. TAMIS_E_MISMATCH for other
 * hashes; no key is answered then. */
TAMIS_API tamis_status tamis_dedup_add_hashes(tamis_dedup *session, const tamis_hash *hashes, size_t count,
                                              tamis_answer *answers, size_t *done, tamis_error *err);

/*
 * Like tamis_dedup_add_hashes, for a window (tamis/experimental/window.h): each key has a time. If
 * batch->times is NULL, it is the clock's, and never before the newest time. TAMIS_LATE: the key is too old
 * for the window.
 *
 * TAMIS_E_RANGE: the time of key *done is more than options.ahead beyond the newest time, or out of range.
 * The key is not answered, and the window has not moved: a wrong clock must not empty it. Leave that key out
 * and continue after it. options.ahead is not checked
 * - if batch->times is NULL: the clock may be ahead of the newest time by any pause;
 * - for the first key of the window: it has no newest time yet, so this key sets it.
 */
TAMIS_API tamis_status tamis_dedup_add_timed(tamis_dedup *session, const tamis_timed_hashes *batch,
                                             tamis_answer *answers, size_t *done, tamis_error *err);

/* A record with its position: it is the `position`th of its source, such as an offset in a partition of a
 * broker. The source is a name without a zero byte. */
typedef struct tamis_delivery {
    tamis_hash hash; /* of its key, by the hasher of the filter */
    tamis_key source;
    uint64_t position;
} tamis_delivery;

/* Records with positions, in the order of delivery. Plain data; the arrays are borrowed for the call. */
typedef struct tamis_deliveries {
    const tamis_delivery *records;
    const int64_t *times; /* as for tamis_dedup_add_timed; ignored if the filter is not a window */
    size_t count;
} tamis_deliveries;

#define TAMIS_SOURCE_MAX 255 /* bytes of the name of a source */

/*
 * Like tamis_dedup_add_hashes, or tamis_dedup_add_timed if the filter is a window, for records whose sender
 * may deliver them again. Needs a state.
 *
 * Positions of a source increase, and may have gaps. TAMIS_REDELIVERED: the position is not above that of an
 * earlier record of the source. That record was answered: either what the caller wrote because of it is
 * committed, or the caller still has it to write. In both cases this one must not be written.
 *
 *     deliver from the last committed position on           tamis_dedup_source_at, or the first record
 *     tamis_dedup_add_delivered                             write what is absent or unknown
 *     (sync the output); tamis_dedup_commit                 positions are part of the commit
 *     acknowledge                                           tamis_dedup_source_at
 *
 * After a start or tamis_dedup_abort, records after the last commit are new again, as their keys are. So a
 * sender that begins again at a committed position, or anywhere before it, causes neither loss nor
 * repetition. docs/DURABILITY.md has the proof ("Positions").
 *
 * - TAMIS_E_CHANGED: the source was created again: its first or last position has another key, or the
 *   position is below the first one. Give it another name.
 * - TAMIS_E_RANGE: as for tamis_dedup_add_timed; a name that is too long; more than 2048 sources.
 * - TAMIS_E_INVALID: a name with a zero byte.
 * - TAMIS_E_UNSUPPORTED: no state, or a concurrent filter.
 *
 * After each error the first *done records are answered, and the others count as not delivered. Sources stay,
 * and count among the 2048.
 *
 * Records without a key: give them the hash of the whole record. Equal ones then count as duplicates, and so
 * does a key with the same bytes.
 */
TAMIS_API tamis_status tamis_dedup_add_delivered(tamis_dedup *session, const tamis_deliveries *batch,
                                                 tamis_answer *answers, size_t *done, tamis_error *err);
/* Returns the name of source `i` of the last commit, from 0; data NULL: there are no more. *position (may be
 * NULL) receives its last committed position. Valid until the next commit, abort or close. */
TAMIS_API tamis_key tamis_dedup_source_at(const tamis_dedup *session, size_t i, uint64_t *position);

/*
 * Makes all answers so far durable, together with a checkpoint: bytes of the caller that say how far it is.
 * The next start gets them from tamis_dedup_committed. Before the call, everything that the caller wrote
 * because of the answers must be on the disk. Positions count among the bytes of the checkpoint: up to 40 and
 * the name, for each source. After tamis_dedup_add_delivered, tamis_state_committed returns other bytes: the
 * checkpoint and the positions in one encoding.
 *
 * The checkpoint replaces the one before, also that of a run (tamis_stream_run, `tamis dedup --state`). An
 * unfinished run can then not go on: TAMIS_E_FORMAT, or TAMIS_E_CHANGED after an empty checkpoint. To keep
 * it, commit the bytes of tamis_dedup_committed again, and no positions.
 *
 * After a crash at any instant the state has the keys of the last commit and no others. A caller that cuts
 * its output back to the checkpoint, and repeats its calls from there, produces the output of an undisturbed
 * run.
 *
 * - Errors of tamis_state_commit; the state accepts nothing after them. TAMIS_E_RANGE (the checkpoint and the
 *   positions are too long) and TAMIS_E_NOMEM for the positions do no harm: nothing is committed.
 * - TAMIS_E_UNSUPPORTED: the session has no state.
 * - TAMIS_E_INVALID: the filter has keys that were added outside the session. Nothing is committed;
 *   tamis_dedup_abort removes those keys.
 */
TAMIS_API tamis_status tamis_dedup_commit(tamis_dedup *session, const void *checkpoint, size_t size,
                                          tamis_error *err);
/* Returns the checkpoint of the last commit, as given to tamis_dedup_commit; size 0: there was none. Valid
 * until the next commit, abort or close. */
TAMIS_API void tamis_dedup_committed(const tamis_dedup *session, const void **checkpoint, size_t *size);
/*
 * Undoes all answers since the last commit, as if the calls had not been made. The counts stay. Takes as long
 * as tamis_state_open. A pointer from tamis_dedup_filter becomes invalid. Errors of tamis_state_abort.
 */
TAMIS_API tamis_status tamis_dedup_abort(tamis_dedup *session, tamis_error *err);

/*
 * Gives a size hint: about `more` keys are still to come. The caller may repeat it at any time. The session
 * estimates from its last answers how many of them are absent, and passes that on to the filter
 * (tamis_filter_expect). With a state nothing is passed on, because growth must depend on the log alone: see
 * tamis_state_expect.
 */
TAMIS_API void tamis_dedup_expect(tamis_dedup *session, uint64_t more);

/* Answers of a session so far. */
typedef struct tamis_dedup_counts {
    uint32_t struct_size;
    uint64_t absent;
    uint64_t present;
    uint64_t unknown;
    uint64_t late;
} tamis_dedup_counts;

#define TAMIS_DEDUP_COUNTS_INIT TAMIS__INIT(tamis_dedup_counts, )

/* Returns the counts. Start *counts from TAMIS_DEDUP_COUNTS_INIT. */
TAMIS_API void tamis_dedup_count(const tamis_dedup *session, tamis_dedup_counts *counts);
/* Returns the filter that the session uses. */
TAMIS_API const tamis_filter *tamis_dedup_filter(const tamis_dedup *session);

#ifdef __cplusplus
}
#endif
#endif
