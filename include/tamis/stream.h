/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_H
#define TAMIS_STREAM_H

/* Records in and out: library libtamis-stream. Not part of tamis/tamis.h, so that who embeds a filter
 * inherits nothing else. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/dedup.h>
#include <tamis/extract.h>
#include <tamis/key.h>
#include <tamis/packing.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TAMIS_STREAM_THREADS_MAX 256
#define TAMIS_STREAM_PARTS_MAX   64
#define TAMIS_MAX_RECORD_DEFAULT ((uint64_t)1 << 30) /* 1 GiB */

/* Where the keys of a batch come from. */
typedef struct tamis_stream_origin {
    uint32_t struct_size;
    const char *input;        /* its name ("standard input" for that) */
    uint64_t first;           /* number of records[0] in it, from 1 */
    const tamis_key *records; /* without terminator */
    const uint32_t *of;       /* key i is of records[of[i]]; NULL: of records[i] */
} tamis_stream_origin;

/*
 * What a run asks of its records: anything that answers batches of keys. Its functions are called one at a time but for
 * ask_part, each seeing what those before it did; with options.threads of more than one from any of the run's threads,
 * `mark` and what is asked beside it from the caller's alone.
 *
 * Keys, hashes and what an origin points to are the run's, and good until the ask that they are for returns, or settle where
 * it is in parts; where there is `mark`, until the last mark of the batch. The origin itself is good until `place` returns,
 * and its input's name until the run ends.
 */
typedef struct tamis_stream_service {
    uint32_t struct_size;
    void *context; /* given to each of these */
    /* Answers `count` keys, at least one, in order, as tamis_dedup_ask does: on failure the first *done are answered,
     * and *err says why. It is called again for no key it has answered. An answer that is no tamis_answer ends the run
     * (TAMIS_E_INVALID) when those before it are told; so does TAMIS_OK with a *done other than `count`. Of more than that
     * none are told. */
    tamis_status (*ask)(void *context, const tamis_key *keys, size_t count, tamis_answer *answers,
                        size_t *done, tamis_error *err);
    /* NULL, or: bytes that are written before the record of key `i` of the batch last asked. They are the service's,
     * until it is called again. Records without key have none. */
    tamis_key (*mark)(void *context, size_t i);
    /* NULL, or: whether the run is to end here, and well, though input is left, whatever is wrong with that. Called
     * after each batch. */
    bool (*enough)(void *context);
    /* NULL, or: told before each batch where its keys come from. */
    void (*place)(void *context, const tamis_stream_origin *origin);
    /* NULL, or the run hashes the keys by this, which may be done by several threads at once, and calls ask_hashes instead
     * of ask: hashes[i] is of keys[i]. Borrowed. Its scheme has a digest (tamis_scheme_digest_bits). */
    const tamis_hasher *hasher;
    tamis_status (*ask_hashes)(void *context, const tamis_key *keys, const tamis_hash *hashes, size_t count,
                               tamis_answer *answers, size_t *done, tamis_error *err);
    /* NULL, or: told before each batch about how many records are behind it, where the sizes of all inputs are known and
     * there is no `mark`. */
    void (*expect)(void *context, uint64_t more);
    /*
     * All three NULL, or all three and ask_hashes: where there is no `mark` a batch may then be asked in parts, by several
     * threads at once. parts() says in how many, 1 to `most` (else TAMIS_E_INVALID); of 1 it is asked by ask_hashes. ask_part
     * answers those keys that are in one, in order, and leaves the other answers alone; on failure *done is the number of the
     * first key in the part that is not answered, else count. settle is called once when all have returned: the first `done`
     * answers count, the least of those *done; status and *err are of the part that it is from, and *err may be said better.
     */
    uint32_t (*parts)(void *context, size_t count, uint32_t most);
    tamis_status (*ask_part)(void *context, const tamis_hash *hashes, size_t count, uint32_t part,
                             uint32_t parts, tamis_answer *answers, size_t *done, tamis_error *err);
    void (*settle)(void *context, const tamis_answer *answers, size_t done, tamis_status status,
                   tamis_error *err);
} tamis_stream_service;

/* clang-format off */
#define TAMIS_STREAM_SERVICE_INIT \
    {sizeof(tamis_stream_service), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}
/* clang-format on */

/* Fills *service, which starts from TAMIS_STREAM_SERVICE_INIT, with what tamis_stream_dedup asks, `session` being its
 * context: for who is to change something of it. */
TAMIS_API void tamis_stream_service_dedup(tamis_stream_service *service, tamis_dedup *session);

/* How far a run has come, or has got. */
typedef struct tamis_stream_stats {
    uint32_t struct_size;
    uint64_t records;     /* answered, or passed by for want of a key: the sum of the next five */
    uint64_t unique;      /* fresh: written to output, if given */
    uint64_t duplicates;  /* seen: written to duplicates, if given */
    uint64_t unknown;     /* passed on unasked because the filter was full: written to output too */
    uint64_t missing;     /* of the records those that are well, and without key */
    uint64_t malformed;   /* and those that are not what the extractor takes */
    uint64_t bytes_in;    /* of the answered records, terminators included */
    uint64_t bytes_out;   /* written to output and duplicates: taken by the system, as they are packed */
    uint64_t bytes_read;  /* of the inputs as they are, packed or not: what is not answered yet too */
    uint64_t bytes_total; /* how many those will be: sizes of all inputs, 0 where one is not a regular file */
    bool settled;         /* after the run: every answered record is where it belongs, see tamis_stream_run */
    /* after the run: that were at work, fewer than asked for where there was too little to do, or the system refused one */
    uint32_t threads;
    /* Records answered fresh or unknown that were written to the output completely, set when the run ends. If the output
     * failed, records in its buffer do not count: the number is exact for an uncompressed output of lines that all have
     * keys, and else a lower bound. The reader of a pipe may not have read them all. */
    uint64_t printed;
} tamis_stream_stats;

/* clang-format off */
#define TAMIS_STREAM_STATS_INIT {sizeof(tamis_stream_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, false, 0, 0}
/* clang-format on */

/* Where the time of a run went, in nanoseconds of the monotonic clock: that of its threads added up, those that wait for a
 * processor too. */
typedef struct tamis_stream_profile {
    uint32_t struct_size;
    uint64_t read;    /* reading inputs and unpacking them */
    uint64_t split;   /* finding records */
    uint64_t extract; /* finding keys in them */
    uint64_t hash;    /* hashing these, where the service takes hashes */
    uint64_t ask;     /* the service */
    uint64_t route;   /* counting records and copying them to their outputs */
    uint64_t write;   /* packing these, writing them, and syncing a durable file */
    uint64_t input;   /* waiting for input */
    uint64_t caller;  /* the caller's thread waiting for the others */
    uint64_t others;  /* these waiting for something to do */
    uint64_t wall;    /* all of the run, on the clock */
} tamis_stream_profile;

/* clang-format off */
#define TAMIS_STREAM_PROFILE_INIT {sizeof(tamis_stream_profile), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/* What becomes of a record that is not asked. */
typedef enum tamis_stream_policy {
    TAMIS_STREAM_PASS = 0, /* it goes to output, as one that is not there */
    TAMIS_STREAM_DROP = 1, /* nowhere */
    TAMIS_STREAM_FAIL = 2  /* it ends the run when those before it are answered: TAMIS_E_KEYLESS of a
                               record without key, TAMIS_E_RECORD of a malformed one */
} tamis_stream_policy;

/* How a record says its answer; then all go to output, in order, those without key too. */
typedef enum tamis_stream_marking {
    TAMIS_STREAM_UNMARKED = 0,
    /* before it "1" (fresh), "0" (seen) or "-" (not asked) and a tab; before a header the name */
    TAMIS_STREAM_COLUMN = 1,
    /* as its last member, "NAME":true, false or null; a record with a key that is no JSON object is malformed then */
    TAMIS_STREAM_MEMBER = 2
} tamis_stream_marking;

/* How a run stands to those before it. */
typedef enum tamis_stream_begun {
    TAMIS_STREAM_NEW = 0, /* none of them had these inputs and outputs */
    TAMIS_STREAM_RESUMED =
        1, /* it goes on where the last commit of such a one was, as far as inputs and outputs allow */
    TAMIS_STREAM_GROWN = 2,    /* such a one had ended, and inputs of it have grown since */
    TAMIS_STREAM_FINISHED = 3, /* such a one had ended, and there is nothing to do */
} tamis_stream_begun;

/* For a run that no crash harms: see tamis_stream_run. */
typedef struct tamis_stream_commits {
    uint32_t struct_size;
    tamis_dedup *session; /* over a state, which nothing but this run uses meanwhile: what the service asks */
    uint64_t bytes;       /* of records between two commits; 0: 64 MiB */
    uint32_t milliseconds; /* between two commits, whichever comes first; 0: 1000 */
    bool again;            /* inputs that earlier runs have read, in whole or in part, are read anew */
    bool require_exact;    /* what cannot be cut back, or read again, is refused: TAMIS_E_UNSUPPORTED */
    /* The last record of a regular file that is not packed is left for a later run where it has no terminator: somebody may be
     * writing it. */
    bool leave_partial;
    /* NULL, or called once it is known how the run begins, before any record is read */
    void (*told)(void *context, const struct tamis_stream_commits *commits, const tamis_stream_stats *before);
    void *told_context; /* context of `told` and `remark` */
    /* ---- filled by the run ---- */
    tamis_stream_begun begun;
    /* NULL, or the first input or output for which after a crash a record may come twice: it cannot be read again, or cut
     * back. The name is the caller's own, or static. */
    const char *inexact;
    bool
        was_read; /* the run was refused because an input was read before, or has changed since: `again` allows it */
    /* NULL, or the first output whose file system has no locks: nothing keeps other processes from writing to it too. */
    const char *unlocked;
    /* NULL, or the first input whose last record has no terminator and was left, of a run that came to its end, and how many
     * there are; or the one for which the run was refused, as such a record of it was read, and has got longer since. The name is
     * the caller's own, or static. */
    const char *partial;
    uint64_t partial_count;
    /* NULL, or the unfinished run that made this one fail; the caller frees it with tamis_stream_account_free. */
    struct tamis_stream_account *unfinished;
    /* ---- set by the caller, as the fields before `begun` ---- */
    /* An unfinished run that this one would make impossible to finish is given up, not a reason to refuse this one. */
    bool abandon;
    /* NULL, or a text that is kept with each commit, for a person: how to give this run again. At most 60000 bytes. */
    const char *command;
    /* NULL, or called with messages for a person: files that are skipped, what was given up, what was kept. `loss`: the
     * message names bytes or records that are missing from the outputs without it, so that it must not be hidden. */
    void (*remark)(void *context, const char *message, bool loss);
} tamis_stream_commits;

/* clang-format off */
#define TAMIS_STREAM_COMMITS_INIT \
    {sizeof(tamis_stream_commits), NULL, 0, 0, false, false, false, NULL, NULL, TAMIS_STREAM_NEW, NULL, false, \
     NULL, NULL, 0, NULL, false, NULL, NULL}
/* clang-format on */

/* The level that xz calls 0. */
enum { TAMIS_PACKING_LEVEL_0 = -1 };

typedef struct tamis_stream_options {
    uint32_t struct_size;
    uint8_t terminator;        /* ends a record: '\n', or 0 for `-z`; of CSV not its delimiter */
    const char *const *inputs; /* paths, "-" is standard input */
    size_t input_count;        /* 0: standard input alone */
    /* path of the records answered TAMIS_FRESH (or TAMIS_UNKNOWN): of dedup, the first occurrences; "-" standard output;
     * NULL: nowhere */
    const char *output;
    const char *duplicates; /* path of those answered TAMIS_SEEN; "-" standard output; NULL: nowhere */
    uint64_t max_record;    /* most bytes of a record without terminator; 0: the default */
    /* becomes readable when the run is to stop early (a pipe that a signal handler writes to); -1: none */
    int stop_fd;
    /* NULL: none; called about every 100 ms from the calling thread, while waiting for input too */
    void (*progress)(void *context, const tamis_stream_stats *now);
    void *progress_context;
    /* NULL: the default; called by all threads of the run, several at once */
    const tamis_allocator *allocator;
    bool follow;                /* the last input has no end: see tamis_stream_run */
    bool durable;               /* what is written is to outlive a power loss: see there too */
    tamis_extractor *extractor; /* borrowed, and its allocator too; NULL: the key is the record */
    bool header; /* the first record of each input is none, as also where the extractor wants that */
    tamis_stream_policy missing;   /* records without key */
    tamis_stream_policy malformed; /* and those that are not what the extractor takes */
    tamis_stream_marking marking;
    /* stands before a header where records are marked, by the service too; NULL: "fresh" */
    const char *mark_name;
    int packing; /* tamis_packing of output and duplicates; -1: what the name of each tells */
    /* of it: 1 to 9 (gzip, xz, bzip2), 12 (lz4) or 22 (zstd), or TAMIS_PACKING_LEVEL_0 (xz); 0: what its own command
     * takes */
    int packing_level;
    /* NULL: none; called when an input is at its end or the run is, in the order of inputs: of input `index` alone */
    void (*input_end)(void *context, size_t index, const tamis_stream_stats *of_it);
    void *input_end_context;
    /* NULL, or filled (TAMIS_E_RECORD) when the first malformed record is dropped or passed on, or the first of CSV
     * with an open quote, to which the rest of its input belongs: where it is, and why. Left alone where there is none. */
    tamis_error *first_malformed;
    /* at work at once, the caller's among them, up to TAMIS_STREAM_THREADS_MAX; 0: as many as there are processors that the
     * process may use. See tamis_stream_run. */
    uint32_t threads;
    /* NULL, or filled, which takes a few looks at the clock a batch; starts from TAMIS_STREAM_PROFILE_INIT */
    tamis_stream_profile *profile;
    tamis_stream_commits *commits; /* NULL, or the run is made last commit by commit */
    bool require_keys;             /* a run in which no record has a key fails: see tamis_stream_run */
} tamis_stream_options;

/* clang-format off */
#define TAMIS_STREAM_OPTIONS_INIT \
    {sizeof(tamis_stream_options), '\n', NULL, 0, NULL, NULL, 0, -1, NULL, NULL, NULL, false, false, NULL, false,     \
     TAMIS_STREAM_PASS, TAMIS_STREAM_FAIL, TAMIS_STREAM_UNMARKED, NULL, -1, 0, NULL, NULL, NULL, 1, NULL, NULL,      \
     false}
/* clang-format on */

/*
 * Reads the inputs in order, asks `service` of each record's key (the record without its terminator, or what the
 * extractor takes from it) and writes each record, terminator included, to where its answer says, in input order.
 *
 * - An input is unpacked where its first bytes are those of a packing, whatever its name. Bytes are counted as they
 *   are unpacked. One that is damaged or cut short ends the run (TAMIS_E_DAMAGED) when the records before that are
 *   answered; the sentence says how many those are. One that takes more memory to unpack than a stranger's file may
 *   (128 MiB of zstd, 1 GiB of xz), or whose packing this library was built without, is TAMIS_E_UNSUPPORTED; so is a
 *   packed one that would be followed.
 * - An output is packed where options.packing or its name say so ("-" and other names tell none), each by itself and with
 *   a checksum; no time and no name is in it. One that is not built (tamis_packing_is_built) is refused before anything
 *   is created (TAMIS_E_UNSUPPORTED), and so is a level that it does not know (TAMIS_E_RANGE). With no record at all it
 *   is an empty packed file. A terminal is refused for one (TAMIS_E_INVALID).
 * - What is packed of an output that is written directly is flushed when input would block, so that its reader can unpack
 *   every record that came; while input does not, once a second, as each flush makes it larger. However the run ends, it
 *   is ended so that what was written is a whole file, as long as it can be written.
 * - A record holds any bytes but its terminator; an empty one is a record; a CR before LF is part of it.
 *   No record spans two inputs: what stands behind the last terminator of one is its last record. Records of CSV
 *   (tamis_extractor_is_csv) hold terminators within quotes.
 * - With a header, the first record of the first input that has one goes to both outputs; those of later inputs must
 *   be the same but for a CR at their ends, and go nowhere. One that is not, or has not the columns that the extractor
 *   asks for, is TAMIS_E_INVALID. It is no record of the service, nor of the counts.
 * - A byte order mark in front of an input is in no record and no header where records are CSV or JSON, or a header is
 *   wanted; else it is like other bytes. That of the first input that has a record or a header goes to each output once,
 *   as its first bytes; those of later inputs go nowhere.
 * - A record of JSON of nothing but blanks is well, and has no key.
 * - With require_keys, a run that met records without a key and none with one fails at its end with TAMIS_E_KEYLESS: the
 *   extractor looks for the wrong thing. Temporary files are removed, as on any failure; bytes written to other outputs
 *   stay there. With commits, nothing is committed before the first record with a key, and output files are cut back to
 *   where the run began. If an input or output is no regular file, everything is kept instead.
 * - A last record without terminator equals the same one with it. It is written as it is, unless another
 *   one follows it in that output: then the terminator is put between.
 * - A batch ends when input would block, so a record leaves as soon as it arrived.
 * - A regular-file output is written beside its final name (".NAME.tamis-PID-RANDOM") and renamed over it
 *   when the run ends well, keeping owner and permissions of the file it replaces as far as the system
 *   allows; of two, both get their names or none. On any failure it is removed and the old file is as it
 *   was. A symbolic link is followed, a hard link is not kept. Other outputs (FIFO, device) are written
 *   directly, and so are names of open descriptors (/dev/stdout, /dev/fd/N).
 * - An output that is also an input or the other output is refused before anything is read
 *   (TAMIS_E_INVALID), so are a directory and an input that cannot be read (TAMIS_E_IO).
 * - Only a FIFO's turn opens it; one without writer or reader is waited for.
 * - stop_fd readable: what was read is finished, with one thread a batch and with several a few, and written to standard
 *   output or a device, then TAMIS_E_INTERRUPTED; aside files are removed as on any failure. A reader of the output that
 *   takes nothing for a second is not waited for.
 * - stats.settled tells who saves what was seen whether that may be saved: true after TAMIS_OK, and after
 *   TAMIS_E_INTERRUPTED where the system has taken every answered record that was to be written, and none went into a
 *   file aside. With durable, further, regular files are synced and the readers of pipes and sockets, which a stop
 *   often ends too, have taken all and are still there; a second is given to them for it. False after all else.
 * - With follow, a regular file that is the last input is read on as it grows, until the run is stopped (stop_fd) or
 *   the service has enough. A file that takes its name (a log that is rotated) is read from its start when something is
 *   in it and the old one is at its end; so is the file itself when it was made shorter. That one needs no header then:
 *   a first record that is not the header is a record. A record that has not got its terminator waits for it, unless
 *   its file ends so. Inputs that are no regular file end as they do without follow.
 * - With durable, outputs that are regular files are on the disk before this returns TAMIS_OK, open descriptors too, and
 *   so is the folder of one that was written aside, which has to be readable for that: whoever then saves that these
 *   records were seen loses none. A file that cannot be synced is TAMIS_E_IO, and of those written aside none gets its
 *   name; where it is the folder that cannot, they have their names and keep them. Pipes, terminals and devices have
 *   nothing to be synced.
 * - With commits, the run may end in any way, SIGKILL and power loss included: called again with the same state, inputs and
 *   outputs it goes on from its last commit, and its outputs are byte for byte those of a run that was not disturbed, whatever
 *   the number of threads of either; packed ones unpack to the same bytes. Outputs that are regular files are written in place
 *   for that, and what stands behind the last commit is cut off at the next start; an output that an earlier run wrote is
 *   appended to. A run that had ended changes nothing of inputs and outputs, unless inputs of it have grown: then it goes on
 *   with those. A run is known by the content of its inputs, their heads and the 4 KiB in front of where it stands, and by the names of its outputs.
 *   TAMIS_E_STALE: an input changed, or was made shorter, where it was read already; an output is not as it was left, or is
 *   there and was never this state's; or either was replaced or changed under the run, whose last commit stands. TAMIS_E_INVALID:
 *   an input was read by another run (see `again`). TAMIS_E_UNSUPPORTED: an open descriptor of a regular file as output, which a shell may have truncated; follow. TAMIS_E_BUSY: another process writes
 *   the output. Of inputs and outputs that are no regular files records may come twice after a crash, and none is lost: commits
 *   wait for the reader of a pipe to have taken what they tell of. A stop (stop_fd) commits first. docs/DURABILITY.md.
 * - The reader of an output has gone: TAMIS_E_PIPE (the process must ignore SIGPIPE).
 * - A record longer than max_record: TAMIS_E_TOO_LONG names input, record and byte.
 * - With threads of more than one, batches are read ahead, and their keys found and hashed, while others are asked and
 *   written; outputs, answers, counts and errors are the same for any number, of regular files bytes_read too. What was
 *   read behind a record that ends the run is not asked, nor written, nor told of; its inputs were opened and read all the
 *   same, and what came of a pipe is gone from it.
 * - Where an output fails, records behind the last one that it took have been asked: those in its buffer, with one thread,
 *   and further batches with several. A service that cannot forget them knows records that are nowhere.
 *   So it is where a batch that is asked in parts fails: other parts may know records of it behind the one that failed.
 *   How far the other output has come by then depends on threads and time: what it has is a beginning of what it would have.
 * - Memory is bounded: a run reads no more than a few batches ahead of what its output takes, for each thread one of up to
 *   8192 records or 512 KiB, and of records that take more, 64 MiB in all. The extractor's allocator, and that of the
 *   options, are called by all threads; progress, input_end, reading and writing are the caller's alone. The threads end
 *   before this returns, and take no signal of others.
 * - Sentences name records and lines by numbers from 1, and bytes by how many stand before them in their input.
 *
 * *stats (may be NULL) is filled on failure too: what was answered until then.
 */
TAMIS_API tamis_status tamis_stream_run(const tamis_stream_service *service,
                                        const tamis_stream_options *options, tamis_stream_stats *stats,
                                        tamis_error *err);

/* The same, asking a dedup session. */
TAMIS_API tamis_status tamis_stream_dedup(tamis_dedup *session, const tamis_stream_options *options,
                                          tamis_stream_stats *stats, tamis_error *err);

/* ---- the runs of a state ---- */

/* What a run with commits told by its last one: tamis_state_committed has that of the last run, and the notes of the state
 * (tamis_state_note_at) those before. */
typedef struct tamis_stream_account tamis_stream_account;

/* *account is the caller's. TAMIS_E_FORMAT where that is no account of this version of the library; TAMIS_E_NOMEM. */
TAMIS_API tamis_status tamis_stream_account_open(tamis_stream_account **account, const void *bytes,
                                                 size_t size, tamis_error *err);
TAMIS_API void tamis_stream_account_free(tamis_stream_account *account); /* NULL is fine */

/* Whether all its inputs were at their end; fills *stats, which starts from TAMIS_STREAM_STATS_INIT, with all that was answered
 * by then. */
TAMIS_API bool tamis_stream_account_get(const tamis_stream_account *account, tamis_stream_stats *stats);
/* True if the run is unfinished and was not given up, and one of its inputs can be read again and may have unread bytes. */
TAMIS_API bool tamis_stream_account_is_open(const tamis_stream_account *account);
/* The `commits.command` of the run, or NULL. The text belongs to the account. */
TAMIS_API const char *tamis_stream_account_command(const tamis_stream_account *account);
/* The name of input `i` from 0 on, as it was given, NULL behind the last; *read, unless NULL, becomes how many bytes of it were
 * read, unpacked. Names are the account's. */
TAMIS_API const char *tamis_stream_account_input(const tamis_stream_account *account, size_t i,
                                                 uint64_t *read);
/* The name of `output` (0) or `duplicates` (1), absolute, NULL: it was no regular file; *written becomes how many bytes it
 * had. */
TAMIS_API const char *tamis_stream_account_output(const tamis_stream_account *account, size_t i,
                                                  uint64_t *written);

#ifdef __cplusplus
}
#endif
#endif
