/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STATE_H
#define TAMIS_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/filter.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A filter in a folder of its own that a crash takes nothing from and adds nothing to: what it knows after any start is
 * what it knew at the last commit, also after SIGKILL or a power loss. The folder has a log, of the hashes put into the
 * filter and of commits, and now and then a snapshot of the filter; the log is the truth and the filter in memory a cache.
 * The caller puts keys into the filter, logs those that were fresh, in the order in which they were put in, and commits
 * with its own account of how far it is (positions of inputs and outputs, say), which it gets back at the next start:
 *
 *     tamis_state_open -> tamis_state_committed: where to go on
 *     tamis_filter_add_hashes(tamis_state_filter(state), ...), tamis_state_log(those answered TAMIS_FRESH), ...
 *     sync what the answers became; tamis_state_commit(state, account)
 *
 * The filter depends on the order of the logged hashes alone, and on what tamis_state_expect was told between them: it is
 * the same after any number of starts. docs/DURABILITY.md has the protocol, and the argument for it.
 *
 * Threads: one at a time. If options.filter makes the filter concurrent, many threads may ask and commit through a session
 * over the state, which logs keys in the right order (tamis/dedup.h). Processes: one at a time has the state open
 * (TAMIS_E_BUSY; the message names the other).
 *
 * After a failed log or commit (TAMIS_E_IO, TAMIS_E_NOMEM) the state accepts nothing more. Every call that returns a status
 * returns that failure, also the calls of a session over the state. Committed keys remain, and the next start
 * goes on from the last commit. A failed fsync is never repeated.
 */
typedef struct tamis_state tamis_state;

typedef struct tamis_state_options {
    uint32_t struct_size;
    const tamis_plan *plan; /* plan of a new state; NULL: the state exists. See tamis_state_open */
    /* Options of a new state's filter, as for tamis_filter_create; NULL: defaults. A state does not keep `concurrent`: set
     * it at each start. */
    const tamis_filter_options *filter;
    /* For scheme sip, of one that is there: the secret it was made with (TAMIS_E_MISMATCH else). */
    const void *secret;
    size_t secret_size;
    /* What the keys of a new one are made of, for a person and for who compares: at most TAMIS_STATE_ABOUT_MAX bytes of text,
     * copied; NULL: "". */
    const char *about;
    /* It is looked at only: nothing in the folder is made, changed or locked, and log, commit and the rest are refused
     * (TAMIS_E_UNSUPPORTED). Another process may have it open meanwhile: what is told is one of its commits. */
    bool read_only;
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_state_options;

#define TAMIS_STATE_ABOUT_MAX   65536   /* bytes */
#define TAMIS_STATE_ACCOUNT_MAX 1048576 /* bytes of an account, and of a note */

/* clang-format off */
#define TAMIS_STATE_OPTIONS_INIT {sizeof(tamis_state_options), NULL, NULL, NULL, 0, NULL, false, NULL}
/* clang-format on */

/*
 * Opens the state in a folder, makes it where there is none (the folder too, if its parent is there). What was written
 * behind the last commit is gone; of a state that nothing was committed to, what it was made by is too, where a plan is given.
 * *state is the caller's, to be closed. TAMIS_E_IO; TAMIS_E_BUSY; TAMIS_E_DAMAGED: bytes in
 * front of the last commit are not what was written, the sentence names file and place; TAMIS_E_FORMAT: of a later version,
 * or no state. TAMIS_E_MISMATCH: another secret, or none. With options.plan also if an existing state has another kind,
 * scheme, capacity, fpr or memory_limit, or another seed, overfill or frozen than options.filter: the message says which,
 * and nothing has changed. Without a plan the state is opened as it is. Time: that of reading the snapshot and adding the keys
 * logged since, see docs/PERFORMANCE.md.
 */
TAMIS_API tamis_status tamis_state_open(tamis_state **state, const char *folder,
                                        const tamis_state_options *options, tamis_error *err);
/* Commits nothing: what was logged since the last commit is gone at the next start. A snapshot that is being made is given
 * up; one that is being saved is waited for. NULL is fine. */
TAMIS_API void tamis_state_close(tamis_state *state);

/* The filter, for who adds to it. It stays the state's, and valid until close or abort. */
TAMIS_API tamis_filter *tamis_state_filter(tamis_state *state);
/* What the keys are made of, as it was made with. */
TAMIS_API const char *tamis_state_about(const tamis_state *state);
/* The account of the last commit; size 0: there was none. Valid until the next commit, abort or close. */
TAMIS_API void tamis_state_committed(const tamis_state *state, const void **account, size_t *size);

/* Tells the filter that about `more` keys are to come (tamis_filter_expect), and logs that it was told so: growth, and by
 * it the filter, depends on it. Nobody else tells it anything (a commit is TAMIS_E_INVALID then). All keys that
 * the filter has been given are logged before (TAMIS_E_INVALID). For once a run: the next commit makes it last. */
TAMIS_API tamis_status tamis_state_expect(tamis_state *state, uint64_t more, tamis_error *err);
/* Logs hashes that the filter was given and answered TAMIS_FRESH, in that order. 16 bytes each, buffered. Those of keys
 * behind what the next commit is to tell are not logged before it. */
TAMIS_API tamis_status tamis_state_log(tamis_state *state, const tamis_hash *hashes, size_t count,
                                       tamis_error *err);
/* Keeps some bytes for good, with the next commit: 1 to TAMIS_STATE_ACCOUNT_MAX of them. For what is to be known of runs that
 * ended: all notes together take at most 256 MiB, and each of them 8 bytes more than it has (TAMIS_E_RANGE). */
TAMIS_API tamis_status tamis_state_note(tamis_state *state, const void *note, size_t size, tamis_error *err);
/* The note of that number, from 0, NULL behind the last one; those not committed yet too. Valid until the next note, abort or
 * close. */
TAMIS_API const void *tamis_state_note_at(const tamis_state *state, size_t number, size_t *size);

/*
 * Makes all that was logged last, with this account. What the answers became (outputs) has to be on the disk before. After
 * TAMIS_OK no crash loses it; after a failure the next start may find this commit or the one before it. All keys that the
 * filter has been given are logged before (TAMIS_E_INVALID). Two syncs; and once the log is longer than twice the filter and
 * 64 MiB, a snapshot is begun by a thread of its own, so that log and snapshot are at most three times the filter and 64 MiB
 * when it is done: some more at the peak, see docs/DURABILITY.md.
 */
TAMIS_API tamis_status tamis_state_commit(tamis_state *state, const void *account, size_t size,
                                          tamis_error *err);
/* Makes the filter what it was at the last commit, and forgets what was logged since: from the disk, so it takes as long as
 * to open it. What tamis_state_filter gave is no longer valid. */
TAMIS_API tamis_status tamis_state_abort(tamis_state *state, tamis_error *err);
/* Waits for a snapshot that is being made, and makes one of the last commit if the log since the last snapshot is longer than
 * `bytes`, or than a commit leaves it. For the end of a run. TAMIS_E_INVALID where something was logged since the last commit.
 * The error of a snapshot that could not be made is told here, once: it does the state no harm, which goes on with a longer
 * log, and tries again when that is twice as long. */
TAMIS_API tamis_status tamis_state_settle(tamis_state *state, uint64_t bytes, tamis_error *err);

typedef struct tamis_state_info {
    uint32_t struct_size;
    uint64_t keys;           /* logged and committed, in all */
    uint64_t commits;        /* in all */
    uint64_t epoch;          /* starts, in all */
    uint64_t log_bytes;      /* of the log on the disk */
    uint64_t snapshot_bytes; /* of the snapshot; 0: there is none yet */
    uint64_t replayed;       /* keys that this start took from the log */
    size_t notes;
} tamis_state_info;

/* clang-format off */
#define TAMIS_STATE_INFO_INIT {sizeof(tamis_state_info), 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

TAMIS_API void tamis_state_info_get(const tamis_state *state, tamis_state_info *info);

/* Reads all of a state that no process has open (TAMIS_E_BUSY): snapshot, log, and that the one is a beginning of what the
 * other says. TAMIS_E_DAMAGED names file and place. Changes nothing. */
TAMIS_API tamis_status tamis_state_verify(const char *folder, const tamis_state_options *options,
                                          tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif
