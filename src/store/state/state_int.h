/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_STATE_INT_H
#define TAMIS_STORE_STATE_INT_H

/*
 * A state: a filter in a directory that survives crashes and power loss. Snapshot and log are the
 * truth, and the filter in memory is a cache of them: a start rebuilds it.
 *
 * Reading order:
 *
 *     state_directory.c   the directory, its lock, names and small file helpers
 *     state_manifest.c    the manifest: the list of valid files
 *     state_segment.c     writing a log segment
 *     state_frames.c      reading a log segment
 *     state_load.c        rebuilding the filter (state_batch.c adds the keys, by several threads)
 *     state_roll.c        starting a new segment
 *     state_snapshot.c    shortening the log
 *     state_forget.c      removing keys
 *     state_open.c        opening and closing
 *     state.c             the calls of include/tamis/experimental/state.h
 *
 * docs/DURABILITY.md, part 1, defines the steps that comments name by letter and number (S1, M2, R3, C4, P5),
 * and the invariants (I1, I2, ...).
 */
#include <limits.h>
#include <pthread.h>

#include <tamis/experimental/state.h>

#include "base/memory.h"
#include "filter/filter_int.h"
#include "store/state/state_stats.h"

#define STATE_REMEDY "restore the directory from a copy, or begin a new state"

/* ---- memory ---- */

/* A growing byte buffer. */
typedef struct state_bytes {
    uint8_t *data;
    size_t size, capacity;
} state_bytes;

/* Ensures capacity for `more` bytes after the present ones. False if memory ran out. */
bool tamis__state_bytes_reserve(const tamis_allocator *memory, state_bytes *bytes, size_t more);
bool tamis__state_bytes_add(const tamis_allocator *memory, state_bytes *bytes, const void *data, size_t size);
void tamis__state_bytes_free(const tamis_allocator *memory, state_bytes *bytes);

/* ---- the directory ---- */

enum { STATE_NAME = 40 }; /* longest file name in a state, with its NUL */
#define STATE_NUMBER_MAX UINT64_C(9999999999)

typedef struct state_directory {
    int fd;      /* the open directory, needed for syncing it; -1: not open */
    int lock_fd; /* the open lock file; -1: not locked */
    char path[PATH_MAX - NAME_MAX - 1];
} state_directory;

typedef struct state_path {
    char text[PATH_MAX];
} state_path;

state_path tamis__state_path(const state_directory *directory, const char *name);
state_path tamis__state_log_path(const state_directory *directory, uint64_t number);
state_path tamis__state_snapshot_path(const state_directory *directory, uint64_t number);

/* Opens the directory and creates nothing. TAMIS_E_IO if it is missing or not a directory. */
tamis_status tamis__state_directory_open(state_directory *directory, const char *path, tamis_error *err);
/* As tamis__state_directory_open, but creates a missing directory durably. */
tamis_status tamis__state_directory_create(state_directory *directory, const char *path, tamis_error *err);
void tamis__state_directory_close(state_directory *directory);
/* Locks the directory until it is closed: exclusively with `writes`, else shared. TAMIS_E_BUSY names the
 * holder. */
tamis_status tamis__state_directory_lock(state_directory *directory, bool writes, tamis_error *err);
tamis_status tamis__state_directory_sync(const state_directory *directory, tamis_error *err);
/* A directory entry. */
typedef struct state_found {
    char name[NAME_MAX + 1];
    uint64_t log, snapshot; /* number of the log segment, of the snapshot; 0: not such a file */
} state_found;
/* Calls `visit` for each entry. The first result other than TAMIS_OK ends the listing and is returned. */
tamis_status tamis__state_directory_list(const state_directory *directory,
                                         tamis_status (*visit)(void *context, const state_found *found,
                                                               tamis_error *err),
                                         void *context, tamis_error *err);

/* Writes all `size` bytes, continuing after short writes. */
tamis_status tamis__state_write_file(int fd, const char *path, const void *bytes, size_t size,
                                     tamis_error *err);
/* Creates a new file. An old file of that name is unlinked first, never overwritten (I2). */
tamis_status tamis__state_create(int *fd, const char *path, tamis_error *err);

/* ---- the manifest ---- */

/* Manifest entry of a log segment. */
typedef struct state_segment {
    uint64_t number;
    uint64_t epoch;     /* number of the start that created the segment */
    uint64_t seed;      /* random seed of the checksums, so that bytes of other segments never fit */
    uint64_t first_key; /* keys logged before this segment */
    uint64_t bytes;     /* length up to the frame of its last commit (I4); 0: the live segment */
    uint64_t check;     /* checksum chain at that length */
} state_segment;

enum { STATE_SATURATED = 1 };

/* Content of a commit without its checkpoint. */
typedef struct state_commit {
    uint64_t number; /* counted from 1; 0: no commit yet */
    uint64_t keys;   /* keys logged so far */
    uint64_t hint;   /* size hint of the filter; of a window, its newest time plus 1 (0: no key yet) */
    uint64_t notes;  /* notes so far */
    uint32_t flags, full;
} state_commit;

typedef struct state_snapshot {
    uint64_t number; /* 0: no snapshot */
    uint64_t bytes;
    state_commit covers;
    state_bytes false_present; /* estimator sums that the filter file does not store exactly, 8 bytes each */
} state_snapshot;

#define STATE_LOG_MAGIC                                                                                      \
    { 0x89, 'T', 'A', 'M', 'L', 'G', '\r', '\n' }

enum {
    STATE_SEGMENTS_MAX = 65536,
    STATE_NOTES_MAX = 256 << 20, /* size limit of all notes, with their length fields */
    STATE_NOTE_SIZE = 8          /* bytes of a length field */
};

typedef struct state_note {
    uint8_t *bytes;
    size_t size;
} state_note;

typedef struct state_notes {
    state_note *list;
    size_t count, capacity;
    uint64_t bytes;
} state_notes;

typedef struct state_manifest {
    uint64_t epoch;
    uint64_t next; /* number of the next new file */
    tamis_plan plan;
    uint64_t seed, secret_fingerprint;
    bool allow_over_capacity, frozen; /* as in tamis_filter_options */
    state_bytes metadata;             /* the user's description, with its NUL */
    state_snapshot snapshot;
    state_segment *segments; /* in log order; the last one is live */
    size_t segment_count, segment_capacity;
    uint64_t note_count; /* notes stored in the manifest */
} state_manifest;

/* Reads the manifest of a state from the disk, into state->manifest and state->notes. *exists is false if the
 * file does not exist. TAMIS_E_DAMAGED, TAMIS_E_FORMAT, TAMIS_E_IO. */
tamis_status tamis__state_manifest_read(tamis_state *state, bool *exists, tamis_error *err);
/* Steps R4, R5: replaces the manifest of the state on the disk. The new one stores the state's first
 * `note_count` notes. If *replaced is false after an error, nothing has changed. If it is true, a crash may
 * leave the old manifest or the new one. */
tamis_status tamis__state_manifest_write(const tamis_state *state, const state_manifest *manifest,
                                         uint64_t note_count, bool *replaced, tamis_error *err);
void tamis__state_manifest_release(state_manifest *manifest, const tamis_allocator *memory);
/* Copies a manifest without its first `drop` segments, with capacity for one more. */
tamis_status tamis__state_manifest_copy(state_manifest *copy, const tamis_allocator *memory,
                                        const state_manifest *from, size_t drop, tamis_error *err);

tamis_status tamis__state_note_add(state_notes *notes, const tamis_allocator *memory, const void *bytes,
                                   size_t size, tamis_error *err);
/* Drops all notes but the first `count`. */
void tamis__state_notes_cut(const tamis_allocator *memory, state_notes *notes, uint64_t count);
void tamis__state_notes_free(const tamis_allocator *memory, state_notes *notes);

/* ---- the log ---- */

/* Frame type, stored as four letters. */
#define STATE_FRAME(a, b, c, d)                                                                              \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define STATE_KEYS        STATE_FRAME('K', 'E', 'Y', 'S')
#define STATE_WINDOW_KEYS STATE_FRAME('W', 'K', 'E', 'Y')
#define STATE_TIME        STATE_FRAME('T', 'I', 'M', 'E')
#define STATE_SIZE_HINT   STATE_FRAME('E', 'X', 'P', 'T')
#define STATE_NOTE        STATE_FRAME('N', 'O', 'T', 'E')
#define STATE_COMMIT      STATE_FRAME('C', 'M', 'I', 'T')
#define STATE_LAST        STATE_FRAME('L', 'A', 'S', 'T')

enum {
    STATE_HEADER = 56,       /* size of a segment's header */
    STATE_FRAME_HEADER = 16, /* type, payload size, checksum */
    STATE_KEY = 16,
    STATE_WINDOW_KEY = 17,    /* hash and change */
    STATE_KEYS_FRAME = 16384, /* most keys in one frame */
    STATE_COMMIT_FIXED = 56,  /* size of a commit without its checkpoint */
    STATE_FRAME_MAX = STATE_FRAME_HEADER + STATE_COMMIT_FIXED + TAMIS_STATE_CHECKPOINT_MAX
};

void tamis__state_header_put(uint8_t header[STATE_HEADER], const state_segment *segment);
uint64_t tamis__state_frame_check(const uint8_t *frame, size_t size, uint64_t before);
/* A commit's own checksum, seeded by the segment and the frame's offset `offset`. It is valid even if the
 * chain is broken. */
uint64_t tamis__state_commit_check(const uint8_t *payload, size_t size, uint64_t seed, uint64_t offset);

/* A segment that is being written. */
typedef struct state_log {
    int fd;                /* -1: none */
    state_segment segment; /* `bytes` and `check` cover all frames so far */
    uint64_t sent;         /* bytes already handed to the disk for writing (tamis__send_off) */
    uint64_t commit_end;   /* length including the last commit's frame */
    uint64_t synced_end;   /* length before that frame; a sealed segment ends there (I4) */
    uint64_t synced_check; /* checksum chain at `synced_end` */
    state_path path;
    uint32_t keys_type; /* type of frames with keys: STATE_KEYS, or STATE_WINDOW_KEYS in a window */
    state_bytes frame;  /* frame under construction: space for its header, then the buffered keys */
    size_t keys;        /* buffered keys */
    const tamis_allocator *memory;
} state_log;

/* Type of the frames with keys, and bytes of a key in them, for a kind of filter. */
uint32_t tamis__state_keys_type(tamis_kind kind);
size_t tamis__state_key_size(uint32_t keys_type);
/* Steps R1, R2: creates and syncs the live segment of the next manifest, with a header and the commit `last`
 * restated. That commit has the checkpoint of the state's last one. */
tamis_status tamis__state_log_create(state_log *log, const tamis_state *state, const state_manifest *next,
                                     const state_commit *last, tamis_error *err);
/* `changes` are those of a window's keys; for other kinds NULL. */
tamis_status tamis__state_log_keys(state_log *log, const tamis_hash *hashes, const uint8_t *changes,
                                   size_t count, tamis_error *err);
/* Writes the buffered keys, then one frame. */
tamis_status tamis__state_log_frame(state_log *log, uint32_t type, const void *payload, size_t size,
                                    tamis_error *err);
/* Steps C1 to C4. */
tamis_status tamis__state_log_commit(state_log *log, const state_commit *commit, const void *checkpoint,
                                     size_t size, tamis_error *err);
void tamis__state_log_close(state_log *log);

/* ---- the log read ---- */

typedef struct state_frames {
    int fd;
    state_path path;
    uint64_t seed;
    uint64_t offset, end; /* offset of the next frame; end of the readable bytes */
    uint64_t check;
    state_bytes buffer;
    size_t from; /* offset of the next frame in the buffer */
    const tamis_allocator *memory;
} state_frames;

typedef struct state_frame {
    uint32_t type; /* 0: no valid frame at this offset */
    size_t size;
    const uint8_t *payload; /* valid until the next frame is read */
    uint64_t offset;        /* offset of the frame's header */
    uint64_t before;        /* checksum chain before the frame */
    bool broken;            /* no valid frame, although bytes are left */
} state_frame;

/* Opens a segment and checks its header against the manifest. */
tamis_status tamis__state_frames_open(state_frames *frames, const state_directory *directory,
                                      const tamis_allocator *memory, const state_segment *segment,
                                      tamis_error *err);
tamis_status tamis__state_frames_next(state_frames *frames, state_frame *frame, tamis_error *err);
void tamis__state_frames_close(state_frames *frames);
/* Decodes the payload of a CMIT or LAST frame. */
void tamis__state_commit_read(const state_frame *frame, state_commit *commit);
/* Step S4, after reading stopped: TAMIS_E_DAMAGED if a commit follows. The bytes before a commit were synced
 * (I5). */
tamis_status tamis__state_frames_check_end(state_frames *frames, tamis_error *err);
tamis_status tamis__state_fail_damaged(const state_frames *frames, uint64_t offset, const char *what,
                                       tamis_error *err);

/* ---- rebuilding the filter ---- */

/* A replay batch: keys of the log to be added together, large enough to be worth several threads. */
enum { STATE_BATCH_FRAMES = 16, STATE_BATCH = STATE_BATCH_FRAMES * STATE_KEYS_FRAME, STATE_THREADS_MAX = 16 };
typedef struct state_batch {
    tamis_filter *filter;
    uint32_t threads; /* threads that add the keys, with the caller's; at most STATE_THREADS_MAX */
    size_t count;
    tamis_hash hashes[STATE_BATCH];
    tamis_answer answers[STATE_BATCH];
} state_batch;

/* Adds the batch in log order, by several threads if the filter has independent parts. *absent is the number
 * of keys before the first one that was already present or found the filter full. TAMIS_E_NOMEM. */
tamis_status tamis__state_batch_add(state_batch *batch, size_t *absent, tamis_error *err);

/* Input of a rebuild: snapshot and segments, each segment up to its `bytes`. All must be undamaged, with
 * `last->keys` keys. */
typedef struct state_rebuild {
    const state_directory *directory;
    const tamis_allocator *memory;
    const state_manifest *manifest; /* supplies plan and snapshot */
    const state_segment *segments;
    size_t segment_count;
    const tamis_hasher *hasher;
    const state_commit *last;
    uint32_t threads;     /* threads that add keys */
    const bool *given_up; /* atomic flag: the result is no longer needed; NULL: always needed */
} state_rebuild;

/* Builds the filter. *replayed is the number of keys that came from the log. */
tamis_status tamis__state_build(const state_rebuild *source, tamis_filter **filter, uint64_t *replayed,
                                tamis_error *err);
/* TAMIS_E_INTERRUPTED if the source was given up. */
tamis_status tamis__state_check_given_up(const state_rebuild *source, tamis_error *err);

/* ---- the state ---- */

tamis__filter_stats tamis__state_stats_get(const tamis_state *state);

/* A snapshot in progress, made by its own thread or by the caller's. */
typedef struct state_job {
    bool running;  /* a snapshot is in progress and must be ended */
    bool threaded; /* `thread` makes it */
    bool ended;    /* atomic */
    bool given_up; /* atomic */
    pthread_t thread;
    state_rebuild source;
    state_manifest manifest; /* copy with the segments that the snapshot covers */
    state_commit last;
    state_snapshot created;
    tamis_status status;
    tamis_error err;
} state_job;

struct tamis_state {
    tamis_allocator memory;
    state_directory directory;
    bool read_only;
    tamis_hasher *hasher;
    state_manifest manifest; /* as on the disk */
    state_notes notes;       /* including uncommitted notes */
    tamis_filter *filter;
    bool concurrent; /* the filter is concurrent; each start takes this from options.filter */
    bool has_stats;  /* `stats` replace the filter's own statistics */
    tamis__filter_stats stats;
    state_log log;
    state_commit last;
    state_bytes checkpoint; /* checkpoint of the last commit */
    uint64_t keys;          /* logged keys, including uncommitted ones */
    uint64_t hint;          /* logged size hint; of a window, as in `last` */
    int64_t steps_end;      /* newest time of a window at which keys begin to need a TIME frame first */
    uint64_t replayed;
    uint64_t snapshot_at;    /* log size that triggers a snapshot; 0: derived from the filter's size */
    uint64_t snapshot_again; /* log size for the next try after a failed snapshot; 0: none failed */
    state_job job;
    tamis_status snapshot_status; /* error of a failed snapshot; tamis_state_snapshot reports it */
    tamis_error snapshot_err;
    tamis_status failed; /* the error that made the state refuse all further calls */
    tamis_error failed_err;
};

/* Steps S3, S4: reads last commit, checkpoint and notes. Sets log.synced_end, where the live segment is to
 * be closed. */
tamis_status tamis__state_find_commit(tamis_state *state, tamis_error *err);
/* Step S5: builds the filter of that commit. */
tamis_status tamis__state_load(tamis_state *state, tamis_error *err);
/* TAMIS_E_RANGE: the state has fewer than `count` file numbers left. */
tamis_status tamis__state_check_numbers(const tamis_state *state, uint64_t count, tamis_error *err);
/* Steps R1 to R6: continues the log in a new segment after the last commit. After an error with *fatal, the
 * content of the disk is unknown. */
tamis_status tamis__state_roll(tamis_state *state, uint64_t epoch, bool *fatal, tamis_error *err);
/* Step Z: closes the segment of the last commit. The manifest then has the segment's length and checksum, so
 * that a log that is cut short later is detected. Does nothing if the segment has no commit. */
tamis_status tamis__state_seal(tamis_state *state, tamis_error *err);
/* Step S7: unlinks the state's files that the manifest does not name. */
tamis_status tamis__state_sweep(const tamis_state *state, tamis_error *err);
/* TAMIS_E_RANGE: a description of `size` bytes is too long. */
tamis_status tamis__state_check_metadata_size(size_t size, tamis_error *err);
/* Sets the logged hint to that of the last commit. */
void tamis__state_set_hint(tamis_state *state);
/* Records a fatal error: all later calls report it. Returns `status`. */
tamis_status tamis__state_fail(tamis_state *state, tamis_status status, const tamis_error *why);
/* Copies a recorded error to *err. Returns `status`. */
tamis_status tamis__state_report(const tamis_error *why, tamis_status status, tamis_error *err);
uint64_t tamis__state_log_bytes(const tamis_state *state);
/* Steps P1 to P3: starts a snapshot of the last commit, in a thread or at once. An error is recorded in
 * `snapshot_status`. */
tamis_status tamis__state_snapshot_start(tamis_state *state, bool threaded);
/* Saves the filter of a rebuild, or an equal one, as snapshot created->number (P3). Sets `bytes` and
 * `false_present`. TAMIS_E_INTERRUPTED if the rebuild is given up. */
tamis_status tamis__state_snapshot_save(const state_rebuild *source, tamis_filter *filter,
                                        state_snapshot *created, tamis_error *err);
bool tamis__state_snapshot_is_due(const tamis_state *state);
/* Steps P4, P5: completes a snapshot that has ended; with `wait`, waits for it. Fails the state on a fatal
 * error. */
tamis_status tamis__state_snapshot_finish(tamis_state *state, bool wait, tamis_error *err);
/* For closing: does P4 and P5 if the snapshot is complete, else gives it up. */
void tamis__state_snapshot_abandon(tamis_state *state);

#endif
