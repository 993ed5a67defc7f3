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
 * A state: a filter in a directory, safe against crashes. After any start it has exactly the keys of the last
 * commit, even after SIGKILL or a power loss.
 *
 *     DIR   log        hashes of added keys and commits: the truth
 *           snapshot   the filter at one of the commits: shortens the start
 *     RAM   filter     a cache, rebuilt from both
 *
 * The caller adds keys to the filter, logs those that were absent, in that order, and commits together with a
 * checkpoint. A checkpoint is the caller's own record of how far it is, for instance offsets in its inputs
 * and outputs. The next start returns it:
 *
 *     tamis_state_open, tamis_state_committed             where to continue
 *     tamis_filter_add_hashes(tamis_state_filter(state), ...)
 *     tamis_state_log                                     those answered TAMIS_ABSENT
 *     (sync the output); tamis_state_commit               with a checkpoint
 *
 * A window (tamis/experimental/window.h) is used through a dedup session alone: the session logs keys with
 * their times.
 *
 * The filter depends only on the order of the logged hashes and on the hints from tamis_state_expect between
 * them. So it is the same after any number of starts. docs/DURABILITY.md has the protocol and its proof.
 *
 * Threads: one at a time. If options.filter makes the filter concurrent, many threads may use it and commit
 * through one dedup session, which logs keys in a valid order (tamis/dedup.h). Processes: one at a time may
 * open the state (TAMIS_E_BUSY; the message names the other).
 *
 * Failures: after a failed log or commit (TAMIS_E_IO, TAMIS_E_NOMEM) the state accepts nothing more. Every
 * call that returns a status returns that failure, and so do sessions over the state. Committed keys remain.
 * The next start continues from the last commit. A failed fsync is never repeated.
 */
typedef struct tamis_state tamis_state;

typedef struct tamis_state_options {
    uint32_t struct_size;
    const tamis_plan *plan; /* plan of a new state; NULL: the state must exist */
    /* Filter options of a new state, as for tamis_filter_create; NULL: defaults. A state does not store
     * `concurrent`: set it at each start. */
    const tamis_filter_options *filter;
    /* for scheme sip, existing state: its secret (TAMIS_E_SECRET for another) */
    const void *secret;
    size_t secret_size;
    /* New state: a text that describes its keys, for people and for comparison. At most
     * TAMIS_STATE_METADATA_MAX bytes, copied; NULL: "". */
    const char *metadata;
    /* Read-only: nothing in the directory is created, changed or locked. Log, commit and other changes
     * return TAMIS_E_UNSUPPORTED. Another process may have the state open; you then see one of its
     * commits. */
    bool read_only;
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_state_options;

#define TAMIS_STATE_METADATA_MAX   65536   /* bytes */
#define TAMIS_STATE_CHECKPOINT_MAX 1048576 /* largest checkpoint, and largest note, in bytes */

#define TAMIS_STATE_OPTIONS_INIT TAMIS__INIT(tamis_state_options, )

/*
 * Opens the state in a directory, or creates it. The directory is created too if its parent exists.
 * Everything after the last commit is removed. If nothing was ever committed and a plan is given, the state
 * is created again. The caller closes *state.
 *
 * With options.plan, an existing state must have the same kind, scheme, capacity, fpr and memory_limit, and
 * the same window, step, lateness and refresh. It must have the same seed, allow_over_capacity and frozen as
 * options.filter. Without a plan it is opened as it is.
 *
 * - TAMIS_E_MISMATCH: one of these differs, or a secret was given and the state has none. The message says
 *   which. Nothing has changed.
 * - TAMIS_E_SECRET: the secret is missing or wrong. Nothing has changed.
 * - TAMIS_E_DAMAGED: bytes before the last commit have changed; the message names the file and the offset.
 * - TAMIS_E_FORMAT: not a state, or one of a later version.
 * - TAMIS_E_UNSUPPORTED: the scheme of a new state has no digest, or its kind is counting or cuckoo.
 * - TAMIS_E_IO; TAMIS_E_BUSY.
 *
 * Cost: reading the snapshot and adding the keys logged since; docs/PERFORMANCE.md has measured times.
 */
TAMIS_API tamis_status tamis_state_open(tamis_state **state, const char *directory,
                                        const tamis_state_options *options, tamis_error *err);
/* Closes the state without a commit: keys logged since the last commit are lost. A snapshot in progress is
 * abandoned, and the next start makes it again. */
TAMIS_API void tamis_state_close(tamis_state *state);

/* Returns the filter, to look up and add keys. The state owns it. It is valid until close or abort. The log
 * has added keys only. So tamis_filter_clear, tamis_filter_remove, and tamis_filter_union into it, are
 * TAMIS_E_UNSUPPORTED. A copy of the filter allows all three. */
TAMIS_API tamis_filter *tamis_state_filter(tamis_state *state);
/* Returns the text that describes the keys, as given at creation. */
TAMIS_API const char *tamis_state_metadata(const tamis_state *state);
/*
 * Replaces that text, for a state without keys whose first run was described wrongly. Lasts when it
 * returns: after a crash the state has the old text or the new one. NULL: "".
 *
 * - TAMIS_E_INVALID: the state has keys, or something was logged since the last commit.
 * - TAMIS_E_RANGE: longer than TAMIS_STATE_METADATA_MAX.
 * - TAMIS_E_UNSUPPORTED: opened with read_only.
 * - TAMIS_E_IO, TAMIS_E_NOMEM: the old text stays, unless the state has failed (see above).
 */
TAMIS_API tamis_status tamis_state_set_metadata(tamis_state *state, const char *text, tamis_error *err);
/* Returns the checkpoint of the last commit; size 0: there was none. Valid until the next commit, abort or
 * close. If the commit was made by a dedup session with positions, they are part of these bytes:
 * tamis_dedup_committed returns the caller's checkpoint alone. */
TAMIS_API void tamis_state_committed(const tamis_state *state, const void **checkpoint, size_t *size);

/*
 * Gives the filter a size hint (tamis_filter_expect) and logs it, because growth, and so the filter, depends
 * on it. The next commit makes it durable. Meant to be called once in a run.
 *
 * TAMIS_E_INVALID: some added keys are not logged yet. Does nothing for a window, whose memory follows its
 * keys. Never call tamis_filter_expect on this filter directly; the next commit is then TAMIS_E_INVALID.
 */
TAMIS_API tamis_status tamis_state_expect(tamis_state *state, uint64_t more, tamis_error *err);
/* Logs hashes that the filter answered TAMIS_ABSENT, in that order. 16 bytes each, buffered. Log the
 * hashes of keys that the next checkpoint does not cover only after that commit. TAMIS_E_UNSUPPORTED: the
 * filter is a window. */
TAMIS_API tamis_status tamis_state_log(tamis_state *state, const tamis_hash *hashes, size_t count,
                                       tamis_error *err);
/*
 * Stores a note with the next commit, for ever: 1 to TAMIS_STATE_CHECKPOINT_MAX bytes. Notes record what
 * must be known of finished runs. All notes together may have 256 MiB, where each counts its size plus 8
 * bytes (TAMIS_E_RANGE).
 */
TAMIS_API tamis_status tamis_state_note(tamis_state *state, const void *note, size_t size, tamis_error *err);
/* Returns note `number`, from 0, committed or not; NULL after the last one. Valid until the next note,
 * abort or close. */
TAMIS_API const void *tamis_state_note_at(const tamis_state *state, size_t number, size_t *size);

/*
 * Makes everything logged durable, together with a checkpoint. Before the call, output that depends on the
 * answers must be on the disk. After TAMIS_OK no crash loses it. After a failure the next start finds this
 * commit or the one before it.
 *
 * TAMIS_E_INVALID: some added keys are not logged yet.
 *
 * Cost: two syncs. Once the log exceeds twice the filter plus 64 MiB, a thread starts to write a snapshot.
 * Log and snapshot then have at most three times the filter plus 64 MiB when it is done. The peak is somewhat
 * higher, see docs/DURABILITY.md.
 */
TAMIS_API tamis_status tamis_state_commit(tamis_state *state, const void *checkpoint, size_t size,
                                          tamis_error *err);
/*
 * Forgets keys, as after a request for erasure: they are absent again, and neither filter nor logged keys
 * have their hashes any more. *forgotten receives how many of them were present. Only kind exact can forget a
 * key, because it stores the whole hash of each key. In other kinds several keys may share one fingerprint,
 * and removing it would forget the others too. The filter must have no keys that are not committed, and no
 * session may be open.
 *
 * With `count` 0 the call checks whether the state can forget keys, and forgets none. It still waits for a
 * snapshot in progress.
 *
 * Lasts when it returns: after a crash the state has all of these keys or none. Checkpoint, notes and the
 * number of commits stay. A checkpoint of records with positions has 64 bits of the hashes of the first and
 * last key of each source; these stay too. Bytes of deleted files stay on the disk until they are
 * overwritten.
 *
 * - TAMIS_E_UNSUPPORTED: another kind, a concurrent filter, or opened with read_only.
 * - TAMIS_E_MISMATCH: hashes of another hasher.
 * - TAMIS_E_INVALID: keys were added or logged since the last commit.
 * - TAMIS_E_IO, TAMIS_E_NOMEM, TAMIS_E_RANGE (the state has used all of its file numbers): the state has
 *   failed, see above. The next start has all of the keys or none. If an old file could not be removed, the
 *   message names it: repeat the call.
 *
 * Cost: writes a snapshot and reads it.
 */
TAMIS_API tamis_status tamis_state_forget(tamis_state *state, const tamis_hash *hashes, size_t count,
                                          uint64_t *forgotten, tamis_error *err);
/* Restores the filter to the last commit and drops everything logged since. It is read from the disk, so
 * it takes as long as opening. The pointer from tamis_state_filter becomes invalid. */
TAMIS_API tamis_status tamis_state_abort(tamis_state *state, tamis_error *err);
/*
 * Finishes snapshots, for the end of a run. Waits for a snapshot in progress. Writes a snapshot of the last
 * commit if the log since the last one exceeds `bytes`, or twice the filter plus 64 MiB. It also does so if
 * the log has more than 256 files (each start that commits keys makes one). Without new keys since the last
 * snapshot it writes none.
 *
 * TAMIS_E_INVALID: something was logged since the last commit. A snapshot that failed earlier returns its
 * error here, once. That error does not harm the state: it continues with a longer log and tries again when
 * the log is twice as long.
 */
TAMIS_API tamis_status tamis_state_snapshot(tamis_state *state, uint64_t bytes, tamis_error *err);

/* Numbers of a state. */
typedef struct tamis_state_info {
    uint32_t struct_size;
    uint64_t keys;           /* committed keys in total; of a window, each time that a key was counted */
    uint64_t commits;        /* commits in total */
    uint64_t epoch;          /* starts in total */
    uint64_t log_bytes;      /* size of the log on the disk */
    uint64_t snapshot_bytes; /* size of the snapshot; 0: none yet */
    uint64_t replayed;       /* keys that this start read from the log */
    size_t notes;
} tamis_state_info;

#define TAMIS_STATE_INFO_INIT TAMIS__INIT(tamis_state_info, )

TAMIS_API void tamis_state_info_get(const tamis_state *state, tamis_state_info *info);

/* Verifies a state that no process has open (TAMIS_E_BUSY): the snapshot, the log, and that the snapshot
 * agrees with the log. TAMIS_E_DAMAGED: the message names the file and the offset. Changes nothing. */
TAMIS_API tamis_status tamis_state_verify(const char *directory, const tamis_state_options *options,
                                          tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif
