/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_STATE_INT_H
#define TAMIS_STORE_STATE_INT_H

/*
 * A state, in reading order: state_folder.c, names and what is done to them; state_manifest.c, the file that says which
 * others count; state_segment.c, the log written; state_frames.c, the log read; state_load.c, what the disk has as a filter;
 * state_snapshot.c, the log made short; state_roll.c, a new segment; state_open.c and state.c, the calls. The steps that
 * comments name by letter and number (S1, M2, R3, C4, P5), and the invariants (I1 ...), are those of docs/DURABILITY.md.
 */
#include <limits.h>
#include <pthread.h>

#include <tamis/state.h>

#include "base/memory.h"
#include "filter/filter_int.h"
#include "store/state/state_figures.h"

#define STATE_REMEDY "restore the folder from a copy, or begin a new state"

/* ---- memory ---- */

/* Bytes that grow. */
typedef struct state_bytes {
    uint8_t *data;
    size_t size, room;
} state_bytes;

/* Room for `more` bytes behind those there are; false: there is no memory. */
bool tamis__state_bytes_room(const tamis_allocator *memory, state_bytes *bytes, size_t more);
bool tamis__state_bytes_add(const tamis_allocator *memory, state_bytes *bytes, const void *data, size_t size);
void tamis__state_bytes_free(const tamis_allocator *memory, state_bytes *bytes);

/* ---- the folder ---- */

enum { STATE_NAME = 40 }; /* bytes of the longest name in it, with its NUL */
#define STATE_NUMBER_MAX UINT64_C(9999999999)

typedef struct state_folder {
    int fd;      /* open, to be synced; -1: it is not */
    int lock_fd; /* -1: not locked */
    char path[PATH_MAX - NAME_MAX - 1];
} state_folder;

typedef struct state_path {
    char text[PATH_MAX];
} state_path;

state_path tamis__state_path(const state_folder *folder, const char *name);
state_path tamis__state_log_path(const state_folder *folder, uint64_t number);
state_path tamis__state_snapshot_path(const state_folder *folder, uint64_t number);

/* Nothing is made. TAMIS_E_IO where it is no folder, or there is none. */
tamis_status tamis__state_folder_open(state_folder *folder, const char *path, tamis_error *err);
/* The same, and makes it where there is none, so that it outlives a power loss. */
tamis_status tamis__state_folder_make(state_folder *folder, const char *path, tamis_error *err);
void tamis__state_folder_close(state_folder *folder);
/* For as long as it is open. TAMIS_E_BUSY names who has it. */
tamis_status tamis__state_folder_lock(state_folder *folder, bool writes, tamis_error *err);
tamis_status tamis__state_folder_sync(const state_folder *folder, tamis_error *err);
/* A name in the folder. */
typedef struct state_found {
    char name[NAME_MAX + 1];
    uint64_t log, snapshot; /* its number, or 0 */
} state_found;
/* Calls with each; what is not TAMIS_OK ends it. */
tamis_status tamis__state_folder_list(const state_folder *folder,
                                      tamis_status (*take)(void *context, const state_found *found,
                                                           tamis_error *err),
                                      void *context, tamis_error *err);

/* All of `size` bytes; a write that takes some only is gone on with. */
tamis_status tamis__state_write_file(int fd, const char *path, const void *bytes, size_t size,
                                     tamis_error *err);
/* A new file, whatever had that name: an old one is unlinked and never written to (I2). */
tamis_status tamis__state_create(const char *path, int *fd, tamis_error *err);

/* ---- the manifest ---- */

/* A segment of the log. */
typedef struct state_segment {
    uint64_t number;
    uint64_t epoch;     /* of the start that made it */
    uint64_t seed;      /* of its checks, by chance: bytes of another segment are never taken for its own */
    uint64_t first_key; /* keys logged before it */
    uint64_t bytes;     /* in front of its last commit (I4); of the live one 0 */
    uint64_t check;     /* of these */
} state_segment;

enum { STATE_SATURATED = 1 };

/* What a commit says, beside the account. */
typedef struct state_commit {
    uint64_t number; /* from 1; 0: there was none yet */
    uint64_t keys;   /* logged */
    uint64_t foreseen;
    uint64_t notes;
    uint32_t flags, full;
} state_commit;

typedef struct state_snapshot {
    uint64_t number; /* 0: there is none */
    uint64_t bytes;
    state_commit of;
    state_bytes sums; /* what its file does not tell to the last bit, see tamis__filter_sums: 8 bytes each */
} state_snapshot;

#define STATE_LOG_MAGIC                                                                                      \
    { 0x89, 'T', 'A', 'M', 'L', 'G', '\r', '\n' }

enum {
    STATE_SEGMENTS_MAX = 65536,
    STATE_NOTES_MAX = 256 << 20, /* bytes of all notes, */
    STATE_NOTE_SIZE = 8          /* with those that tell the size of each */
};

typedef struct state_note {
    uint8_t *bytes;
    size_t size;
} state_note;

typedef struct state_notes {
    state_note *list;
    size_t count, room;
    uint64_t bytes;
} state_notes;

typedef struct state_manifest {
    uint64_t epoch;
    uint64_t next; /* number of the next file */
    tamis_plan plan;
    uint64_t seed, secret_print;
    bool overfill, frozen; /* as in tamis_filter_options */
    state_bytes about;     /* with its NUL */
    state_snapshot snapshot;
    state_segment *segments; /* in order, the live one last */
    size_t segment_count, segment_room;
    uint64_t note_count; /* in it */
} state_manifest;

/* *there is false where there is none. TAMIS_E_DAMAGED, TAMIS_E_FORMAT, TAMIS_E_IO. */
tamis_status tamis__state_manifest_read(const state_folder *folder, const tamis_allocator *memory,
                                        state_manifest *manifest, state_notes *notes, bool *there,
                                        tamis_error *err);
/* R4, R5: replaces it with the first `note_count` notes in it. *replaced: from then on a crash may find the new one; what fails
 * before has changed nothing. */
tamis_status tamis__state_manifest_write(const state_folder *folder, const tamis_allocator *memory,
                                         const state_manifest *manifest, const state_notes *notes,
                                         uint64_t note_count, bool *replaced, tamis_error *err);
void tamis__state_manifest_free(const tamis_allocator *memory, state_manifest *manifest);
/* A copy with room for one segment more, and without the segments from the first on that `drop` counts. */
tamis_status tamis__state_manifest_copy(const tamis_allocator *memory, state_manifest *copy,
                                        const state_manifest *from, size_t drop, tamis_error *err);

tamis_status tamis__state_note_add(const tamis_allocator *memory, state_notes *notes, const void *bytes,
                                   size_t size, tamis_error *err);
/* Keeps the first `count`. */
void tamis__state_notes_cut(const tamis_allocator *memory, state_notes *notes, uint64_t count);
void tamis__state_notes_free(const tamis_allocator *memory, state_notes *notes);

/* ---- the log ---- */

/* A frame's type, as its first four bytes. */
#define STATE_FRAME(a, b, c, d)                                                                              \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define STATE_KEYS     STATE_FRAME('K', 'E', 'Y', 'S')
#define STATE_EXPECT   STATE_FRAME('E', 'X', 'P', 'T')
#define STATE_NOTE     STATE_FRAME('N', 'O', 'T', 'E')
#define STATE_COMMIT   STATE_FRAME('C', 'M', 'I', 'T')
#define STATE_RESTATED STATE_FRAME('L', 'A', 'S', 'T')

enum {
    STATE_HEADER = 56,       /* bytes of a segment's header */
    STATE_FRAME_HEADER = 16, /* type, bytes behind it, check */
    STATE_KEY = 16,
    STATE_KEYS_FRAME = 16384, /* keys of a frame at most */
    STATE_COMMIT_FIXED = 56,  /* bytes of a commit but its account */
    STATE_FRAME_MAX = STATE_FRAME_HEADER + STATE_COMMIT_FIXED + TAMIS_STATE_ACCOUNT_MAX
};

uint64_t tamis__state_header_check(const uint8_t header[STATE_HEADER], uint64_t seed);
void tamis__state_header_put(uint8_t header[STATE_HEADER], const state_segment *segment);
uint64_t tamis__state_frame_check(const uint8_t *frame, size_t size, uint64_t before);
/* Of a commit's payload alone, wherever the chain stands: seeded by the segment and the place of the frame. */
uint64_t tamis__state_commit_check(const uint8_t *payload, size_t size, uint64_t seed, uint64_t at);

/* A segment that is written. */
typedef struct state_log {
    int fd;                /* -1: none */
    state_segment segment; /* bytes and check: of all frames so far */
    uint64_t sent;         /* bytes that are on their way to the disk */
    uint64_t whole;        /* bytes up to the last commit, with it */
    uint64_t sure;         /* bytes in front of its frame, where the segment is closed (I4), */
    uint64_t sure_check;   /* and their check */
    state_path path;
    state_bytes frame; /* one that is made; for keys STATE_FRAME_HEADER bytes, then those that wait */
    size_t keys;       /* that wait in it */
} state_log;

/* R1, R2: a new file with its header and what the last commit says, synced. */
tamis_status tamis__state_log_make(state_log *log, const state_folder *folder, const tamis_allocator *memory,
                                   const state_segment *segment, const state_commit *last,
                                   const state_bytes *account, tamis_error *err);
tamis_status tamis__state_log_keys(state_log *log, const tamis_hash *hashes, size_t count, tamis_error *err);
/* Writes the keys that wait, then a frame. */
tamis_status tamis__state_log_frame(state_log *log, const tamis_allocator *memory, uint32_t type,
                                    const void *payload, size_t size, tamis_error *err);
/* C1 to C4. */
tamis_status tamis__state_log_commit(state_log *log, const tamis_allocator *memory,
                                     const state_commit *commit, const void *account, size_t size,
                                     tamis_error *err);
void tamis__state_log_close(state_log *log, const tamis_allocator *memory);

/* ---- the log read ---- */

typedef struct state_frames {
    int fd;
    state_path path;
    uint64_t seed;
    uint64_t at, end; /* of what was taken; of what may be */
    uint64_t check;
    state_bytes buffer;
    size_t from; /* of the buffer: taken */
    const tamis_allocator *memory;
} state_frames;

typedef struct state_frame {
    uint32_t type; /* 0: there is none any more, or what is there is none */
    size_t size;
    const uint8_t *payload; /* valid until the next */
    uint64_t at;            /* of its header */
    uint64_t before;        /* the check in front of it */
    bool broken;            /* it is of type 0, and in front of the end */
} state_frame;

/* Opens a segment and takes its header, which has to be what the manifest says. */
tamis_status tamis__state_frames_open(state_frames *frames, const state_folder *folder,
                                      const tamis_allocator *memory, const state_segment *segment,
                                      tamis_error *err);
tamis_status tamis__state_frames_next(state_frames *frames, state_frame *frame, tamis_error *err);
void tamis__state_frames_close(state_frames *frames);
/* Of a frame that is a commit, or restates one. */
void tamis__state_commit_take(const state_frame *frame, state_commit *commit);
/* S4: TAMIS_E_DAMAGED where behind the frame at which reading ended there is a commit: what lies between was synced. */
tamis_status tamis__state_frames_check_end(state_frames *frames, tamis_error *err);
tamis_status tamis__state_fail_damaged(const state_frames *frames, uint64_t at, const char *what,
                                       tamis_error *err);

/* ---- what the disk has ---- */

/* Keys of the log on their way into a filter, enough that threads are worth it. */
enum { STATE_LOT_FRAMES = 16, STATE_LOT = STATE_LOT_FRAMES * STATE_KEYS_FRAME, STATE_THREADS_MAX = 16 };
typedef struct state_lot {
    tamis_filter *filter;
    uint32_t threads; /* that add them, the caller's among them; up to STATE_THREADS_MAX */
    size_t count;
    tamis_hash hashes[STATE_LOT];
    tamis_answer answers[STATE_LOT];
} state_lot;

/* Adds them in order, side by side where the filter has parts. *fresh: those in front of the first one that was not fresh, or
 * found no room. TAMIS_E_NOMEM. */
tamis_status tamis__state_lot_add(state_lot *lot, size_t *fresh, tamis_error *err);

/* The filter of snapshot and segments up to the bytes they have; all that has to be whole. Its keys have to be `keys`. */
typedef struct state_source {
    const state_folder *folder;
    const tamis_allocator *memory;
    const state_manifest *manifest; /* plan, snapshot */
    const state_segment *segments;
    size_t segment_count;
    const tamis_hasher *hasher;
    const state_commit *last;
    uint32_t threads;     /* that keys are added by */
    const bool *given_up; /* atomic: nobody wants it any more; NULL: it is wanted */
} state_source;

/* *replayed: keys that came out of the log. */
tamis_status tamis__state_build(const state_source *source, tamis_filter **filter, uint64_t *replayed,
                                tamis_error *err);
/* TAMIS_E_INTERRUPTED: it is given up. */
tamis_status tamis__state_check_wanted(const state_source *source, tamis_error *err);

/* ---- the state ---- */

tamis__state_figures tamis__state_figures_now(const tamis_state *state);

/* A snapshot that is being made, by a thread of its own or by the caller's. */
typedef struct state_job {
    bool begun;    /* there is one, to be joined */
    bool threaded; /* by `thread` */
    bool ended;    /* atomic */
    bool given_up; /* atomic */
    pthread_t thread;
    state_source source;
    state_manifest manifest; /* a copy, with the segments that it covers */
    state_commit last;
    state_snapshot made;
    tamis_status status;
    tamis_error err;
} state_job;

struct tamis_state {
    tamis_allocator memory;
    state_folder folder;
    bool read_only;
    tamis_hasher *hasher;
    state_manifest manifest; /* as it is on the disk */
    state_notes notes;       /* those not committed too */
    tamis_filter *filter;
    bool concurrent;  /* the filter is: options.filter says so at each start */
    bool has_figures; /* of the filter, from who adds to it in another thread: */
    tamis__state_figures figures;
    state_log log;
    state_commit last;
    state_bytes account; /* of that */
    uint64_t keys;       /* logged, with those that are not committed */
    uint64_t foreseen;   /* that the filter was told */
    uint64_t replayed;
    uint64_t snapshot_at; /* bytes of log at which a snapshot is made; 0: by the size of the filter */
    /* Bytes of log from which on one is tried again, where the last try has failed: else 0. */
    uint64_t snapshot_again;
    state_job job;
    tamis_status late; /* of a snapshot that could not be made: told by settle */
    tamis_error late_err;
    tamis_status failed; /* nothing more is taken */
    tamis_error failed_err;
};

/* S3, S4: last commit, account and notes from manifest and live segment; log.sure is where that is to be closed. */
tamis_status tamis__state_find_commit(tamis_state *state, tamis_error *err);
/* S5: the filter, of the commit that was found. */
tamis_status tamis__state_load(tamis_state *state, tamis_error *err);
/* R1 to R6: behind the last commit the log goes on in a new segment. *fatal: what is on the disk is not known. */
tamis_status tamis__state_roll(tamis_state *state, uint64_t epoch, bool *fatal, tamis_error *err);
/* Z: closes the segment of the last commit, so that the manifest has its length and checksum, and a log that is cut short
 * later is detected as damage. Does nothing if the segment has no commit. */
tamis_status tamis__state_seal(tamis_state *state, tamis_error *err);
/* S7: unlinks what the manifest does not name. */
void tamis__state_sweep(const tamis_state *state);
/* Whether nothing was logged since the last commit. */
bool tamis__state_is_clean(const tamis_state *state);
/* Keeps the failure: from now on all calls tell it. Returns `status`. */
tamis_status tamis__state_fail(tamis_state *state, tamis_status status, const tamis_error *why);
/* Tells it. */
tamis_status tamis__state_tell(const tamis_error *why, tamis_status status, tamis_error *err);

uint64_t tamis__state_log_bytes(const tamis_state *state);
/* P1 to P3: begins a snapshot of the last commit, in a thread or at once. Failure is late. */
tamis_status tamis__state_snapshot_begin(tamis_state *state, bool threaded);
bool tamis__state_snapshot_is_due(const tamis_state *state);
/* P4, P5, when it has ended or with `wait`. The state has failed where that is fatal. */
tamis_status tamis__state_snapshot_end(tamis_state *state, bool wait, tamis_error *err);
/* For close: gives it up where it is not being saved yet, and else waits for that; P4, P5 of one that has come out well. */
void tamis__state_snapshot_leave(tamis_state *state);

#endif
