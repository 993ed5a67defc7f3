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
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TAMIS_MAX_RECORD_DEFAULT ((uint64_t)1 << 30) /* 1 GiB */

/*
 * What a run asks of its records: anything that answers batches of keys. Called from the thread of the run alone.
 */
typedef struct tamis_stream_service {
    uint32_t struct_size;
    void *context; /* given to each of these */
    /* Answers `count` keys, at least one, in order, as tamis_dedup_ask does: on failure the first *done are answered,
     * and *err says why. It is called again for no key it has answered. */
    tamis_status (*ask)(void *context, const tamis_key *keys, size_t count, tamis_answer *answers,
                        size_t *done, tamis_error *err);
    /* NULL, or: bytes that are written before record `i` of the batch last asked. They are the service's, until it is
     * called again. */
    tamis_key (*mark)(void *context, size_t i);
    /* NULL, or: whether the run is to end here, and well, though input is left. Called after each batch. */
    bool (*enough)(void *context);
    /* NULL, or: where the batch that is asked next begins, to be named in errors: its first record is number `record`,
     * from 1, of `input`, whose name is good until the run ends ("standard input" for that). Called before each. */
    void (*place)(void *context, const char *input, uint64_t record);
} tamis_stream_service;

/* clang-format off */
#define TAMIS_STREAM_SERVICE_INIT {sizeof(tamis_stream_service), NULL, NULL, NULL, NULL, NULL}
/* clang-format on */

/* How far a run has come, or has got. */
typedef struct tamis_stream_stats {
    uint32_t struct_size;
    uint64_t records;     /* read and answered */
    uint64_t unique;      /* fresh: written to output, if given */
    uint64_t duplicates;  /* seen: written to duplicates, if given */
    uint64_t unknown;     /* passed on unasked because the filter was full: written to output too */
    uint64_t bytes_in;    /* of the answered records, terminators included */
    uint64_t bytes_out;   /* written to output and duplicates: taken by the system */
    uint64_t bytes_total; /* sizes of all inputs, 0 where one is not a regular file */
    bool settled;         /* after the run: every answered record is where it belongs, see tamis_stream_run */
} tamis_stream_stats;

/* clang-format off */
#define TAMIS_STREAM_STATS_INIT {sizeof(tamis_stream_stats), 0, 0, 0, 0, 0, 0, 0, false}
/* clang-format on */

typedef struct tamis_stream_options {
    uint32_t struct_size;
    uint8_t terminator;        /* ends a record: '\n', or 0 for `-z` */
    const char *const *inputs; /* paths, "-" is standard input */
    size_t input_count;        /* 0: standard input alone */
    const char *output; /* path of the records answered TAMIS_FRESH (or TAMIS_UNKNOWN): of dedup, the first
                                  occurrences; "-" standard output; NULL: nowhere */
    const char *duplicates; /* path of those answered TAMIS_SEEN; "-" standard output; NULL: nowhere */
    uint64_t max_record;    /* most bytes of a record without terminator; 0: the default */
    int stop_fd;            /* becomes readable when the run is to stop early (a pipe that a signal
                                    handler writes to); -1: none */
    void (*progress)(void *context, const tamis_stream_stats *now); /* NULL: none; called about every
                                    100 ms from the calling thread, while waiting for input too */
    void *progress_context;
    const tamis_allocator *allocator; /* NULL: the default */
    bool follow;                      /* the last input has no end: see tamis_stream_run */
    bool durable;                     /* what is written is to outlive a power loss: see there too */
} tamis_stream_options;

/* clang-format off */
#define TAMIS_STREAM_OPTIONS_INIT \
    {sizeof(tamis_stream_options), '\n', NULL, 0, NULL, NULL, 0, -1, NULL, NULL, NULL, false, false}
/* clang-format on */

/*
 * Reads the inputs in order, asks `service` of each record's key (the record without its terminator)
 * and writes each record, terminator included, to where its answer says, in input order.
 *
 * - A record holds any bytes but its terminator; an empty one is a record; a CR before LF is part of it.
 *   No record spans two inputs: what stands behind the last terminator of one is its last record.
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
 * - stop_fd readable: the batch in hand is finished and written to standard output or a device, then
 *   TAMIS_E_INTERRUPTED; aside files are removed as on any failure. A reader of the output that takes
 *   nothing for a second is not waited for.
 * - stats.settled tells who saves what was seen whether that may be saved: true after TAMIS_OK, and after
 *   TAMIS_E_INTERRUPTED where the system has taken every answered record that was to be written, and none went into a
 *   file aside. With durable, further, regular files are synced and the readers of pipes and sockets, which a stop
 *   often ends too, have taken all and are still there; a second is given to them for it. False after all else.
 * - With follow, a regular file that is the last input is read on as it grows, until the run is stopped (stop_fd) or
 *   the service has enough. A file that takes its name (a log that is rotated) is read from its start when something is
 *   in it and the old one is at its end; so is the file itself when it was made shorter. A record that has not got its terminator waits for
 *   it, unless its file ends so. Inputs that are no regular file end as they do without follow.
 * - With durable, outputs that are regular files are on the disk before this returns TAMIS_OK, open descriptors too, and
 *   so is the folder of one that was written aside, which has to be readable for that: whoever then saves that these
 *   records were seen loses none. A file that cannot be synced is TAMIS_E_IO, and of those written aside none gets its
 *   name; where it is the folder that cannot, they have their names and keep them. Pipes, terminals and devices have
 *   nothing to be synced.
 * - The reader of an output has gone: TAMIS_E_PIPE (the process must ignore SIGPIPE).
 * - A record longer than max_record: TAMIS_E_TOO_LONG names input, record and byte.
 *
 * *stats (may be NULL) is filled on failure too: what was answered until then.
 */
TAMIS_API tamis_status tamis_stream_run(const tamis_stream_service *service,
                                        const tamis_stream_options *options, tamis_stream_stats *stats,
                                        tamis_error *err);

/* The same, asking a dedup session. */
TAMIS_API tamis_status tamis_stream_dedup(tamis_dedup *session, const tamis_stream_options *options,
                                          tamis_stream_stats *stats, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif
