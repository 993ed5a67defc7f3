/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_H
#define TAMIS_STREAM_H

/* Streams of records, in and out: library libtamis-stream. Not part of tamis/tamis.h, so that a program
 * that embeds a filter needs no further library. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/dedup.h>
#include <tamis/experimental/compression.h>
#include <tamis/experimental/extract.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TAMIS_STREAM_THREADS_MAX 256
#define TAMIS_STREAM_PARTS_MAX   64
#define TAMIS_MAX_RECORD_DEFAULT ((uint64_t)1 << 30) /* 1 GiB */

/* The source of the keys of a batch. */
typedef struct tamis_stream_source {
    uint32_t struct_size;
    const char *input;            /* name of the input, or "standard input" */
    uint64_t first;               /* number of records[0] in the input, from 1 */
    const tamis_key *records;     /* records without their terminators */
    const uint32_t *record_index; /* key i belongs to records[record_index[i]]; NULL: to records[i] */
} tamis_stream_source;

/* A batch of keys that a service answers. */
typedef struct tamis_stream_batch {
    uint32_t struct_size;
    uint32_t parts; /* number of parts into which the batch is split; 0: it is whole */
    size_t count;   /* number of keys, at least 1 */
    const tamis_key *keys;
    const tamis_hash *hashes; /* hash of each key; NULL: the service has no hasher */
    /* time of each key, in milliseconds since 1970-01-01 UTC; NULL: the extractor finds none
     * (tamis_extractor_options.time) */
    const int64_t *times;
    tamis_answer *answers; /* the answer to each key, stored by the service */
} tamis_stream_batch;

#define TAMIS_STREAM_BATCH_INIT TAMIS__INIT(tamis_stream_batch, )

/*
 * A service answers batches of keys for a run. Its functions are called one at a time, except query_part, and
 * each sees the effects of the earlier calls. With several threads (options.threads) any thread of the run
 * may call them. If there is `mark`, it and the functions called besides it run in the caller's thread only.
 *
 * The run owns a batch, its arrays and what a source points to. They are valid until the `query` for which
 * they are made returns, or until `finish_parts` if the batch is split. With `mark` they are valid until the
 * last mark of the batch. The source struct itself is valid until `set_source` returns, and the name of
 * its input until the run ends.
 */
typedef struct tamis_stream_service {
    uint32_t struct_size;
    void *context; /* first argument of each function */
    /* Answers the keys of a batch in order, like tamis_dedup_add_many. On failure the first *done are
     * answered and *err gives the reason. No answered key is passed again. The run ends with
     * TAMIS_E_INVALID at an answer that is not a tamis_answer, or at TAMIS_OK with *done other than `count`.
     * The answers before that are still used; if *done exceeds `count`, none are. */
    tamis_status (*query)(void *context, const tamis_stream_batch *batch, size_t *done, tamis_error *err);
    /* NULL, or returns bytes to write before the record of key `i` of the last batch. The service owns
     * them until its next call. Records without a key have no such bytes. TAMIS_E_INVALID with an extractor
     * that finds positions: queries then wait for writes, and nothing drops what is delivered again. */
    tamis_key (*mark)(void *context, size_t i);
    /* NULL, or called after each batch. If it returns true, the run ends with TAMIS_OK, and the rest of the
     * input is not read */
    bool (*enough)(void *context);
    /* NULL, or called before each batch with the source of its keys */
    void (*set_source)(void *context, const tamis_stream_source *source);
    /* NULL, or a hasher, borrowed. The run then hashes the keys of each batch, in several threads at once.
     * The scheme must have a digest (tamis_scheme_digest_bits). */
    const tamis_hasher *hasher;
    /* NULL, or called before each batch with an estimate of the records after it. Only if the sizes of all
     * inputs are known and there is no `mark`. */
    void (*expect)(void *context, uint64_t more);
    /*
     * Splitting a batch: all three NULL, or all three and `hasher` set. Without `mark`, several threads may
     * then answer one batch in parts at once.
     *
     * - parts() returns the number of parts, 1 to `max` (else TAMIS_E_INVALID). 1 means that query() answers
     *   the batch.
     * - query_part() answers the keys of one part in order and leaves the other answers unchanged. On failure
     *   *done is the index of the first key of the part without an answer, else `count`.
     * - finish_parts() is called once, after all parts have returned. The first `done` answers count: the
     *   smallest *done of all parts. `status` and *err are those of that part; finish_parts may improve
     *   *err.
     */
    uint32_t (*parts)(void *context, size_t count, uint32_t max);
    tamis_status (*query_part)(void *context, const tamis_stream_batch *batch, uint32_t part, size_t *done,
                               tamis_error *err);
    void (*finish_parts)(void *context, const tamis_stream_batch *batch, size_t done, tamis_status status,
                         tamis_error *err);
    /* True if the answers depend on the times of keys; `hasher` is set too. Answers may be TAMIS_LATE.
     * TAMIS_E_RANGE at *done: that record counts as malformed. The run ends with TAMIS_E_RANGE, or continues
     * after the record, as options.malformed says. Batches are not split. */
    bool timed;
} tamis_stream_service;

#define TAMIS_STREAM_SERVICE_INIT TAMIS__INIT(tamis_stream_service, )

/* Fills *service with the functions of tamis_stream_dedup and `session` as its context, so that a caller
 * can replace some of them. Start *service from TAMIS_STREAM_SERVICE_INIT. */
TAMIS_API void tamis_stream_service_dedup(tamis_stream_service *service, tamis_dedup *session);

/* Statistics of a run, during or after it. */
typedef struct tamis_stream_stats {
    uint32_t struct_size;
    /* answered or skipped: the sum of the next five, of `late` and of `redelivered` */
    uint64_t records;
    uint64_t unique;     /* absent keys: written to the output, if there is one */
    uint64_t duplicates; /* present keys: written to the duplicates, if there is such an output */
    uint64_t unknown;    /* not answered because the filter was full: written to the output */
    uint64_t missing;    /* valid records without a key */
    uint64_t malformed;  /* records that are malformed for the extractor */
    uint64_t bytes_in;   /* bytes of the answered records, terminators included */
    /* bytes written to output and duplicates: accepted by the system, compressed if they are */
    uint64_t bytes_out;
    /* bytes read from the inputs, compressed if they are, including records not answered yet */
    uint64_t bytes_read;
    /* expected total of bytes_read: the size of all inputs; 0 if one is not a regular file */
    uint64_t bytes_total;
    bool complete; /* after the run: every answered record is where it belongs, see tamis_stream_run */
    /* Threads used, set when the run ends. Lower than options.threads if there was too little work or the
     * system refused to start one. */
    uint32_t threads;
    /* Absent and unknown records that were completely written to the output, set when the run ends. If the
     * output failed, records in its buffer do not count. The number is exact for an uncompressed output of
     * lines that all have keys, otherwise a lower bound. The reader of a pipe may not have read them all. */
    uint64_t printed;
    uint64_t late;        /* too old for the window: written to the output or dropped, see options.late */
    uint64_t redelivered; /* delivered before: dropped, see "Positions" below */
    /* Bytes of the inputs that were not read yet, compressed if they are; of followed inputs those of the
     * files that are read now. UINT64_MAX: unknown. Set when progress is reported and when the run ends. */
    uint64_t bytes_left;
    int64_t committed_at; /* of a run that commits: time of its last commit, ms since 1970 UTC; 0: none yet */
} tamis_stream_stats;

#define TAMIS_STREAM_STATS_INIT TAMIS__INIT(tamis_stream_stats, )

/* Where the time of a run went, in nanoseconds of the monotonic clock, summed over its threads. Waiting
 * for a processor counts too. */
typedef struct tamis_stream_profile {
    uint32_t struct_size;
    uint64_t read;    /* reading and decompressing inputs */
    uint64_t split;   /* finding records in them */
    uint64_t extract; /* finding keys in records */
    uint64_t hash;    /* hashing keys, if the service takes hashes */
    uint64_t query;   /* calls of the service */
    uint64_t route;   /* counting records and copying them to output buffers */
    uint64_t write;   /* compressing and writing outputs, and syncing a durable file */
    uint64_t input;   /* waiting for input */
    uint64_t caller;  /* waiting of the calling thread for the others */
    uint64_t others;  /* waiting of the other threads for work */
    uint64_t wall;    /* wall-clock time of the run */
} tamis_stream_profile;

#define TAMIS_STREAM_PROFILE_INIT TAMIS__INIT(tamis_stream_profile, )

/* What happens to a record that is not looked up. */
typedef enum tamis_stream_policy {
    TAMIS_STREAM_PASS = 0, /* written to the output, like one with an absent key */
    TAMIS_STREAM_DROP = 1, /* dropped */
    /* Ends the run when the records before it are answered: TAMIS_E_NO_KEY for a record without a key,
     * TAMIS_E_RECORD for a malformed one */
    TAMIS_STREAM_FAIL = 2
} tamis_stream_policy;

/* How the output shows answers. With marking, all records go to the output in order, also those without a
 * key. */
typedef enum tamis_stream_marking {
    TAMIS_STREAM_UNMARKED = 0,
    /* before the record: "1" (absent), "0" (present) or "-" (not looked up), and a tab; before a header:
     * the name */
    TAMIS_STREAM_COLUMN = 1,
    /* last member of the JSON object: "NAME":true, false or null; a record with a key that is not a JSON
     * object is then malformed */
    TAMIS_STREAM_MEMBER = 2
} tamis_stream_marking;

/* How a resumable run relates to earlier runs of the same state. */
typedef enum tamis_stream_start {
    TAMIS_STREAM_NEW = 0, /* no earlier run had these inputs and outputs */
    /* Continues an unfinished run after its last commit, as far as inputs and outputs allow */
    TAMIS_STREAM_RESUMED = 1,
    TAMIS_STREAM_GROWN = 2,    /* continues a finished run whose inputs have grown */
    TAMIS_STREAM_FINISHED = 3, /* already finished; nothing to do */
} tamis_stream_start;

/* What a resumable run reports besides its statistics. A run without options.commits leaves it unchanged.
 * Names belong to the caller or are static. */
typedef struct tamis_stream_result {
    uint32_t struct_size;
    tamis_stream_start start;
    /* NULL, or the first input that cannot be read again or output that cannot be cut back. For it a record
     * may come twice after a crash. */
    const char *inexact;
    /* NULL, or the first output whose file system has no locks: other processes may write to it too */
    const char *unlocked;
    /* true if the run was refused because an input was read before, or has changed since. `reread` allows
     * it, unless the run would lose the rest of an unfinished one. */
    bool was_read;
    /* If the run finished: NULL, or the first input whose last record had no terminator and was left for a
     * later run. If the run was refused: the input whose last record was read without a terminator, and has
     * become longer since. */
    const char *unterminated;
    uint64_t unterminated_count; /* number of inputs whose last record was left */
    /* NULL, or the unfinished run because of which this one failed; free it with
     * tamis_stream_checkpoint_free */
    struct tamis_stream_checkpoint *unfinished;
    /* NULL, or the output because of which the run was refused, as the options give it (such as "-"): a
     * regular file that is open already */
    const char *open_output;
    bool inexact_input; /* `inexact` is an input: it must be fed again after a crash */
} tamis_stream_result;

#define TAMIS_STREAM_RESULT_INIT TAMIS__INIT(tamis_stream_result, )

/* Options of a run that survives crashes, see "Resumable runs" below. */
typedef struct tamis_stream_commits {
    uint32_t struct_size;
    /* dedup session over a state, used by the service; nothing else uses the state meanwhile */
    tamis_dedup *session;
    uint64_t bytes; /* bytes of records between two commits; 0: 64 MiB */
    /* time between two commits, whichever limit comes first; 0: 1000 */
    uint32_t milliseconds;
    bool reread; /* read inputs again that earlier runs have read, in whole or in part */
    /* refuse inputs that cannot be read again, and outputs that cannot be cut back: TAMIS_E_UNSUPPORTED */
    bool exactly_once;
    /* Leave the last record of an uncompressed regular file for a later run if it has no terminator:
     * another program may be writing it. With positions, that of a pipe is always left: its writer may have
     * been killed within the record. */
    bool defer_unterminated;
    /* true: give up an unfinished run that this run would make impossible to finish; false: refuse this
     * run, also with `reread` */
    bool abandon;
    /* NULL, or a text for people, stored with each commit: the command that repeats this run. At most
     * 60000 bytes. */
    const char *command;
    /* NULL, or called before any record is read, with what is known by then: how the run starts, `inexact`
     * and `unlocked`. `before` has the statistics of the run up to its last commit. */
    void (*on_start)(void *context, const tamis_stream_result *result, const tamis_stream_stats *before);
    /* NULL, or called with messages for people: skipped files, what was given up, what was kept. If `loss`
     * is true, the message names bytes or records that would be missing from the outputs without anyone
     * noticing: never hide it. */
    void (*remark)(void *context, const char *message, bool loss);
    void *callback_context; /* context of these functions */
    /* NULL, or called after a commit for each source of which records were committed. Up to this position
     * they are safe, and the consumer may acknowledge them. Called for all sources before any record is
     * read. An error ends the run. */
    tamis_status (*on_position)(void *context, tamis_key source, uint64_t position, tamis_error *err);
} tamis_stream_commits;

#define TAMIS_STREAM_COMMITS_INIT TAMIS__INIT(tamis_stream_commits, )

/* The compression level that xz calls 0. */
enum { TAMIS_COMPRESSION_LEVEL_0 = -1 };

typedef struct tamis_stream_options {
    uint32_t struct_size;
    uint8_t terminator;        /* ends a record: '\n', or 0 for `-z`; for CSV not the delimiter */
    const char *const *inputs; /* paths; "-" is standard input */
    size_t input_count;        /* 0: standard input only */
    /* path for records answered TAMIS_ABSENT or TAMIS_UNKNOWN (dedup: the first occurrences); "-": standard
     * output; NULL: none */
    const char *output;
    /* path for records answered TAMIS_PRESENT; "-": standard output; NULL: none */
    const char *duplicates;
    uint64_t max_record; /* largest record in bytes, without terminator; 0: the default */
    /* a file descriptor that becomes readable to stop the run early (a pipe that a signal handler writes
     * to); -1: none */
    int stop_fd;
    /* NULL, or called about every 100 ms in the calling thread, also while it waits for input; with
     * `follow` every second while no record comes */
    void (*progress)(void *context, const tamis_stream_stats *now);
    void *progress_context;
    /* NULL: the default; all threads of the run call it, several at once */
    const tamis_allocator *allocator;
    bool follow;  /* inputs that are files have no end, see "Inputs" below */
    bool durable; /* outputs must survive a power loss, see "Outputs" below */
    /* finds keys, borrowed like its allocator; NULL: the key is the record */
    tamis_extractor *extractor;
    /* the first record of each input is a header; also if the extractor requires it */
    bool header;
    tamis_stream_policy missing;   /* for records without a key */
    tamis_stream_policy malformed; /* for malformed records */
    tamis_stream_policy late;      /* for records that are too old for a window: PASS or DROP */
    tamis_stream_marking marking;
    /* column name in the header of marked records, also those marked by the service; NULL: "fresh" */
    const char *mark_name;
    /* compression of output and duplicates, a tamis_compression; -1: by the suffix of each name */
    int compression;
    /* compression level: 1 to 9 (gzip, xz, bzip2), 12 (lz4) or 22 (zstd), or TAMIS_COMPRESSION_LEVEL_0 (xz);
     * 0: the default of its own command */
    int compression_level;
    /* NULL, or called when an input or the run ends, in the order of inputs, with the statistics of input
     * `index` alone. With `commits`, called when the run ends, with what earlier processes have counted */
    void (*input_end)(void *context, size_t index, const tamis_stream_stats *input_stats);
    void *input_end_context;
    /* NULL, or an error that receives TAMIS_E_RECORD with position and reason. It is that of the first
     * malformed record that is dropped or passed on. Or it is that of the first CSV record with an open
     * quote, to which the rest of its input belongs. Unchanged if there is none. A target here and not a
     * statistic: statistics are copied for every report of progress, and this message has 500 bytes. */
    tamis_error *first_malformed;
    /* threads at once, the calling one included, up to TAMIS_STREAM_THREADS_MAX; 0: the number of
     * processors that the process may use */
    uint32_t threads;
    /* NULL, or receives a profile; start from TAMIS_STREAM_PROFILE_INIT. It is an option, since it costs a
     * few clock reads for each batch. */
    tamis_stream_profile *profile;
    /* NULL, or makes the run resumable, see "Resumable runs" below */
    const tamis_stream_commits *commits;
    bool require_keys; /* a run in which no record has a key fails, see "Records" below */
    /* NULL, or called with messages for people about followed inputs. They name bytes that may be lost, a
     * name without a file, or a last record that was not answered. */
    void (*remark)(void *context, const char *message);
    void *remark_context;
    /* NULL, or called with progress_context about every second, if `progress` is set and keys were answered
     * since the last call. No function of the service runs at that time, so it may look at what they change.
     * Any thread of the run calls it. */
    void (*observe)(void *context);
    /* NULL, or with `follow` and without `inputs`: the inputs are the files whose names match this pattern,
     * see "Inputs" below */
    const char *files;
    /* With `follow`, several inputs and times: milliseconds by which records of different inputs may come out
     * of the order of their times. 0: the inputs take turns. See "Inputs" below */
    uint64_t merge_within;
} tamis_stream_options;

#define TAMIS_STREAM_OPTIONS_INIT                                                                            \
    TAMIS__INIT(tamis_stream_options, TAMIS__FIELD(terminator, '\n') TAMIS__FIELD(stop_fd, -1)               \
                                          TAMIS__FIELD(malformed, TAMIS_STREAM_FAIL)                         \
                                              TAMIS__FIELD(compression, -1) TAMIS__FIELD(threads, 1))

/*
 * Inputs of a run.
 *
 * - Compression: an input is decompressed if its first bytes are those of a compression format, whatever its
 *   name. Bytes are counted after decompression. If it is damaged or cut short, the run ends with
 *   TAMIS_E_DAMAGED when the records before the damage are answered; the message gives their number.
 *   TAMIS_E_UNSUPPORTED: the format is not built in, or the input is compressed and to be followed. Or
 *   decompression needs more memory than is safe with files of strangers (zstd 128 MiB, xz 1 GiB).
 * - FIFO: it is opened when its turn comes, and the run waits for its writer or reader.
 * - follow: the run reads on as inputs grow that are regular files, until it is stopped (stop_fd) or the
 *   service has enough. Other inputs end as usual, and so do compressed files if there are several inputs.
 * - follow, log rotation: another file may take the name of an input. It is read from its start when it has
 *   data and the old file is read to its end. In addition, the writers of the old file must have closed it,
 *   or not have written to it for half a second. After 30 seconds this condition does not count any more.
 *   The run does not read bytes that are written to the old file after that.
 * - follow, several rotations: the files in between come first. They are files of the same directory whose
 *   names continue that of the input and that were written to later, except compressed ones.
 * - follow, a file made shorter: it is read from its start in the same way. Such a file needs no header: a
 *   first record that is not the header is a record.
 * - follow, a record without a terminator waits for it, unless its file ends there.
 * - follow, writers: Linux says whether a file has writers, for files of the own user or with CAP_LEASE. A
 *   writer that opens the file in that moment waits some microseconds, or gets EWOULDBLOCK with O_NONBLOCK.
 *   This process then gets the signal SIGURG, which is ignored by default.
 * - follow, several inputs: they take turns. Each is read to the end that it has when its turn begins.
 *   input_end is called for all of them when the run ends. With merge_within, and if all of them are regular
 *   files, the input whose next record is the earliest comes next. A window would otherwise find the records
 *   of one input too late after the backlog of another. With options.commits, standard input cannot be one of
 *   them: TAMIS_E_INVALID.
 * - files: a pattern of glob(7) for the last part of a path, as log/app-*.log. Files that match and come
 *   later are read from their start. These do not match: names of compressed files; hidden files, unless the
 *   pattern begins with a dot; symbolic links to a matching file beside them. Names that log rotation makes
 *   of another one that matches do not match either. A file that was removed is left after 5 seconds.
 *   input_end is not called. TAMIS_E_INVALID: a wildcard in the directory; no `follow`; or `inputs` as well.
 * - Waiting: a batch ends when input would block, so a record leaves as soon as it has arrived.
 */

/*
 * Positions, for runs with options.commits whose extractor finds source and position of a record
 * (tamis_extractor_options.source).
 *
 * - A record whose position is at most that of an earlier record of its source was delivered again. It is
 *   dropped, and counted as redelivered.
 * - Positions are part of each commit. After a restart, the records after the last commit are new again.
 * - commits.on_position says which positions are safe. An input that is not a regular file counts as one that
 *   can be read again (commits.exactly_once). Whoever feeds it can deliver its records again.
 * - TAMIS_E_CHANGED: the source was created again. The first or the last position of a source has another
 *   key, or a position is below the first one. TAMIS_E_RANGE: more than 2048 sources.
 *
 * docs/DURABILITY.md has the protocol.
 */

/*
 * Records of a run.
 *
 * - A record has any bytes but its terminator. An empty record is a record. A CR before LF belongs to the
 *   record. Records of CSV (tamis_extractor_is_csv) may contain terminators within quotes.
 * - No record spans two inputs: the bytes after the last terminator of an input are its last record. A last
 *   record without a terminator equals the same record with one. It is written as it is, unless another
 *   record follows in that output; then the terminator is added.
 * - Header: the first record of the first input that has one goes to both outputs. Those of later inputs must
 *   be equal, except for a CR at the end, and are not written. TAMIS_E_INVALID: a header differs, or lacks a
 *   column that the extractor needs. Headers are not passed to the service and not counted.
 * - Byte order mark (BOM): if records are CSV or JSON, or have a header, a BOM at the start of an input is
 *   skipped. It belongs to no record. That of the first input that has a record or a header goes to each
 *   output once, as its first bytes. Those of later inputs are dropped. In other cases a BOM is like other
 *   bytes.
 * - A JSON record of blanks only is valid and has no key.
 * - require_keys: a run that met records, but none with a key, fails at its end with TAMIS_E_NO_KEY. So does
 *   one whose extractor finds times or positions, if all records are malformed. The extractor probably looks
 *   for the wrong thing. Temporary files are removed, as on any failure. Bytes written to other outputs stay.
 *   A resumable run commits nothing before the first record with a key, and cuts output files back to its
 *   start. If an input or output is not a regular file, everything is kept instead.
 */

/*
 * Outputs of a run.
 *
 * - Regular file: it is written to a temporary file (".NAME.tamis-PID-RANDOM") and renamed over the old
 *   file when the run succeeds. Owner and permissions of the old file are kept as far as the system
 *   allows. If there are two outputs, both files are renamed or neither. On failure the temporary file is
 *   removed and the old file is unchanged. A symbolic link is followed; a hard link is not kept.
 * - Other outputs (FIFO, device) are written directly, and so are names of open descriptors (/dev/stdout,
 *   /dev/fd/N).
 * - Compression: by options.compression, or by the suffix of the name ("-" and other names have none). Each
 *   output is compressed by itself, with a checksum and without time or name. Without any record it is an
 *   empty compressed file. Before anything is created: TAMIS_E_UNSUPPORTED if the format is not built in
 *   (tamis_compression_is_built), TAMIS_E_RANGE for an unknown level, TAMIS_E_INVALID for a terminal.
 * - Compressed and written directly: data is flushed when input would block, so that the reader can
 *   decompress every record so far. While input does not block, it is flushed once a second, since each flush
 *   adds bytes. However the run ends, the compressed stream is completed, if it can be written.
 * - durable: regular files are on the disk before the run returns TAMIS_OK, open descriptors too. So is the
 *   directory of a file that was renamed; it must be readable for that. A caller that then saves the filter
 *   loses no record. TAMIS_E_IO: a file cannot be synced, and no temporary file gets its name. Or a directory
 *   cannot be synced, and the files keep their new names. Pipes, terminals and devices have nothing to sync.
 */

/*
 * Resumable runs (options.commits). The run may end in any way, even by SIGKILL or a power loss. Call it
 * again with the same state, inputs and outputs: it continues from its last commit. The outputs are byte for
 * byte those of an undisturbed run, for any number of threads; compressed ones decompress to the same bytes.
 * docs/DURABILITY.md has the protocol.
 *
 * - Regular-file outputs are appended to, without a temporary file. The next start cuts off what lies after
 *   the last commit, and keeps in OUT.kept-AT what the run does not write there again. An output of an
 *   earlier run is appended to.
 * - If another program appends to an output meanwhile, nothing is overwritten. The next commit fails with
 *   TAMIS_E_CHANGED, and the next start keeps its bytes.
 * - A finished run changes nothing, unless its inputs have grown; then it continues with those.
 * - A run is recognised by the content of its inputs and the names of its outputs. Two parts of each input
 *   are compared: its first bytes, and the 4 KiB before the offset that the run has read.
 * - Inputs and outputs that are not regular files: after a crash, records may come twice. None is lost if an
 *   input pipe is fed again from the last commit. A commit waits until the reader of a pipe has read what it
 *   covers.
 * - A stop (stop_fd) commits first.
 * - follow: a run ends when another file has the name of an input, and the call begins a new one. Files are
 *   recognised by inode and content. So the next start finds the files that were being read, also under other
 *   names in their directories, and the files that came after them. A file that is made shorter is reported
 *   (remark) and read again from its start; if that happened before this call, TAMIS_E_CHANGED. A file that
 *   is gone before it was read to its end is TAMIS_E_INVALID, like the rest of any unfinished run. Statistics
 *   are those of all runs of this call, and what its first run had committed earlier. An output whose name
 *   log rotation might give to an input is TAMIS_E_INVALID. The order of records of several inputs is open.
 *   Compressed inputs are TAMIS_E_UNSUPPORTED.
 * - TAMIS_E_CHANGED: an input has changed or become shorter where it was already read. Or an output is not as
 *   it was left, or exists though this state never wrote it. Or an input or output was replaced or changed
 *   during the run. The last commit remains valid.
 * - TAMIS_E_INVALID: another run has read an input (see `reread`), or an unfinished run would lose its rest
 *   (see `abandon`).
 * - TAMIS_E_UNSUPPORTED: an output is an open descriptor of a regular file, which a shell may have truncated.
 * - TAMIS_E_BUSY: another process writes to the output.
 */

/*
 * Threads and memory of a run. With several threads, batches are read ahead, and their keys found and hashed,
 * while other batches are answered and written. Outputs, answers, counts and errors are the same for any
 * number of threads; for regular files also bytes_read.
 *
 * - Records after the one that ends the run are not passed to the service, written or reported. But their
 *   inputs were opened and read, and bytes from a pipe are gone from it.
 * - If an output fails, the service has answered records after the last one that the output accepted. These
 *   are those in its buffer, and with several threads further batches. A service that cannot forget them
 *   knows keys whose records are in no output. The same happens if a split batch fails: other parts may have
 *   answered later records of it.
 * - The content of the other output then depends on threads and timing. It is a prefix of the complete one.
 * - Memory is bounded. A run reads only a few batches ahead of its output, one for each thread. A batch has
 *   up to 8192 records or 512 KiB. Batches of larger records have 64 MiB in total.
 * - All threads call the allocators of the extractor and of the options. Only the calling thread calls
 *   progress and input_end, reads and writes. The threads end before the run returns. Signals sent to the
 *   process are never delivered to them.
 */

/*
 * Reads the inputs in order and passes the key of each record to `service`. The key is the record without its
 * terminator, or what the extractor finds in it. Writes each record with its terminator to the output for its
 * answer, in input order. The comments above describe inputs, records, outputs, resumable runs and threads.
 *
 * - Before anything is read, it fails with TAMIS_E_INVALID if an output is also an input or the other output.
 *   It fails with TAMIS_E_IO if an input cannot be read, or a name is that of a directory.
 * - TAMIS_E_PIPE: the reader of an output has gone (the process must ignore SIGPIPE).
 * - TAMIS_E_TOO_LONG: a record exceeds max_record; the message names input, record and byte.
 * - TAMIS_E_INTERRUPTED: stop_fd became readable. Everything that was read is finished and written to
 *   standard output or devices: one batch with one thread, a few with several. Temporary files are removed,
 *   as on any failure. A reader of the output that accepts nothing for a second is not waited for.
 *
 * Messages count records and lines from 1, and bytes of an input from 0.
 *
 * stats.complete tells a caller that saves the filter whether it may. It is true after TAMIS_OK. After
 * TAMIS_E_INTERRUPTED it is true if the system has accepted every answered record that had to be written, and
 * none went to a temporary file. With durable there are two more conditions. Regular files are synced. The
 * readers of pipes and sockets, which a stop often ends too, have read everything and still exist; they get a
 * second for that. It is false in all other cases.
 *
 * *stats (may be NULL) is set on failure too, to what was answered until then; *result (may be NULL) of a
 * resumable run likewise.
 */
TAMIS_API tamis_status tamis_stream_run(const tamis_stream_service *service,
                                        const tamis_stream_options *options, tamis_stream_stats *stats,
                                        tamis_stream_result *result, tamis_error *err);

/* Like tamis_stream_run, with a dedup session as the service. */
TAMIS_API tamis_status tamis_stream_dedup(tamis_dedup *session, const tamis_stream_options *options,
                                          tamis_stream_stats *stats, tamis_stream_result *result,
                                          tamis_error *err);

/* ---- runs of a state ---- */

/* The checkpoint of a resumable run. tamis_state_committed returns that of the last run, and the notes of
 * the state (tamis_state_note_at) those of earlier runs. */
typedef struct tamis_stream_checkpoint tamis_stream_checkpoint;

/* Whether a run has ended, and if not, whether it can go on. */
typedef enum tamis_stream_run_status {
    TAMIS_STREAM_RUN_ENDED,  /* it read all its inputs to their end */
    TAMIS_STREAM_RUN_OPEN,   /* unfinished; the same command goes on */
    TAMIS_STREAM_RUN_CLOSED, /* unfinished; its rest was given up, or is read by a later run */
    /* unfinished; a later run has the same inputs and outputs, and counts instead */
    TAMIS_STREAM_RUN_REPEATED,
    TAMIS_STREAM_RUN_PIPE /* unfinished; its rest is in a pipe, which no other run can read */
} tamis_stream_run_status;

/* Reads the checkpoint of run `number` of a state. Runs are numbered from 0, the oldest first; the last one
 * is that of the last commit. The caller owns *checkpoint until tamis_stream_checkpoint_free.
 * TAMIS_E_NOT_FOUND: there is no such run. TAMIS_E_FORMAT: another program made that checkpoint.
 * TAMIS_E_NOMEM. O(runs). */
TAMIS_API tamis_status tamis_stream_run_at(tamis_stream_checkpoint **checkpoint,
                                           tamis_stream_run_status *run_status, const tamis_state *state,
                                           size_t number, tamis_error *err);
/*
 * Gives up the rest of run `number` if it is open; else does nothing. Its keys stay, and its outputs stay as
 * they are. It blocks no other run any more. If it is repeated, it reads the rest. Durable when the call
 * returns: after a crash the run is open or closed. Changes the numbers of later runs.
 *
 * Errors of tamis_stream_run_at and tamis_state_commit. No run may use the state meanwhile.
 */
TAMIS_API tamis_status tamis_stream_run_close(tamis_state *state, size_t number, tamis_error *err);

/* Reads a checkpoint. The caller owns *checkpoint until tamis_stream_checkpoint_free. TAMIS_E_FORMAT: the
 * bytes are not a checkpoint of this version of the library. TAMIS_E_NOMEM. */
TAMIS_API tamis_status tamis_stream_checkpoint_decode(tamis_stream_checkpoint **checkpoint, const void *bytes,
                                                      size_t size, tamis_error *err);
TAMIS_API void tamis_stream_checkpoint_free(tamis_stream_checkpoint *checkpoint);

/* Stores the statistics of the run in *stats, which starts from TAMIS_STREAM_STATS_INIT. Returns true if
 * all its inputs were at their end. */
TAMIS_API bool tamis_stream_checkpoint_get(const tamis_stream_checkpoint *checkpoint,
                                           tamis_stream_stats *stats);
/* Returns `commits.command` of the run, or NULL. The checkpoint owns the text. */
TAMIS_API const char *tamis_stream_checkpoint_command(const tamis_stream_checkpoint *checkpoint);
/* Returns the name of input `i`, from 0, as it was given; NULL after the last one. *read (may be NULL)
 * receives the number of bytes read, after decompression. The checkpoint owns the name. */
TAMIS_API const char *tamis_stream_checkpoint_input(const tamis_stream_checkpoint *checkpoint, size_t i,
                                                    uint64_t *read);
/* True if the file `path` is input `i`, counted from 0, or a copy of it: it begins with the bytes that were
 * read. Always true for an input that was not a regular file. */
TAMIS_API bool tamis_stream_checkpoint_is_input(const tamis_stream_checkpoint *checkpoint, size_t i,
                                                const char *path);
/* Returns the name of source `i` of records with positions, with a zero byte after it; data NULL: there are
 * no more. Only the last run of a state has sources, those of all runs. *position (may be NULL) receives the
 * last committed position. */
TAMIS_API tamis_key tamis_stream_checkpoint_source(const tamis_stream_checkpoint *checkpoint, size_t i,
                                                   uint64_t *position);
/* Returns the absolute name of `output` (0) or `duplicates` (1); NULL: it was not a regular file. *written
 * receives its size in bytes. */
TAMIS_API const char *tamis_stream_checkpoint_output(const tamis_stream_checkpoint *checkpoint, size_t i,
                                                     uint64_t *written);

#ifdef __cplusplus
}
#endif
#endif
