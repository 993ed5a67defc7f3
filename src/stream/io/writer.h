/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_IO_WRITER_H
#define TAMIS_STREAM_IO_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "store/file/file_fingerprint.h"
#include "store/file/target.h"
#include "store/file/temp_file.h"
#include "stream/codec/compressor.h"
#include "stream/durable/uncommitted.h"
#include "stream/io/poll_loop.h"

/* An ordered, buffered output, compressed if requested. All calls on a writer without a target do nothing. */
typedef struct tamis__writer {
    tamis__poll_loop *loop;
    const tamis__target *target; /* borrowed; NULL: not open */
    tamis_allocator memory;
    tamis__temp_file temp_file; /* used if the target is REPLACE or NEW */
    int fd;
    tamis__compressor_options codec_options;
    tamis__compressor *compressor; /* NULL: not compressed */
    unsigned char *buffer;         /* bytes put but not yet compressed or written */
    size_t capacity;
    size_t used;
    uint64_t written;                /* bytes written to the file, after compression */
    uint64_t sent;                   /* bytes handed to the disk (tamis__send_off), if durable */
    uint64_t flushed_at;             /* time of the last flush (tamis__now_ns) */
    tamis__uncommitted *uncommitted; /* compared with the bytes written; borrowed; NULL: none */
    tamis__file_prefix *prefix;      /* gets the first bytes written; borrowed; NULL: none */
    uint64_t records;                /* records with keys that were put; counted by the router */
    uint64_t flushed_records;        /* `records` at the last flush of a compressed output */
    uint64_t lost_terminators;       /* terminators of records that were put but not written */
    uint64_t *time;                  /* timer for compressing, writing and syncing (clock.h); NULL: none */
    unsigned char terminator;
    bool durable;         /* a regular file must survive a power loss */
    bool in_frame;        /* compressed: bytes were put since the last commit */
    bool owes_terminator; /* the last record has no terminator; the next record is preceded by one */
    bool header_done;     /* an earlier run has written the header */
    bool stopping;        /* the run is to stop: pending bytes are written within TAMIS__STOP_GRACE_MS */
    bool failed;          /* an error occurred; nothing more is written */
    bool ended;           /* tamis__writer_end was called; nothing more is put */
} tamis__writer;

enum { TAMIS__STOP_GRACE_MS = 1000 }; /* time given to a pipe's reader after a stop */

/* Sets the compression of a zeroed writer before it is opened. `compression` -1: by the suffix of the
 * output's name (NULL: none). Creates nothing. TAMIS_E_INVALID, TAMIS_E_UNSUPPORTED, TAMIS_E_RANGE as
 * tamis__compressor_check. */
tamis_status tamis__writer_set_compression(tamis__writer *writer, int compression, int level,
                                           const char *name, tamis_error *err);

/*
 * Opens the target, or creates its temporary file, with a buffer of `capacity` bytes, at least 1. The writer
 * must be zeroed except for `memory`, `time`, `prefix`, `terminator`, `durable` and `codec_options`; to
 * continue a file, also `written`, `sent`, `uncommitted`, `header_done` and `owes_terminator`. It borrows the
 * target, the prefix, `uncommitted` and the loop. After an error, tamis__writer_abandon is allowed and does
 * nothing.
 */
tamis_status tamis__writer_open(tamis__writer *writer, const tamis__target *target, size_t capacity,
                                tamis__poll_loop *loop, tamis_error *err);

/* Appends whole records. `unterminated`: the last one has no terminator. */
tamis_status tamis__writer_put(tamis__writer *writer, const void *data, size_t size, bool unterminated,
                               tamis_error *err);

/* Returns how many of `records` were written completely, or a lower bound. Call after the last put. */
uint64_t tamis__writer_records_written(const tamis__writer *writer);

/* Writes everything that was put. Afterwards every record can be decompressed. For a writer that is idle:
 * each flush makes a compressed output larger. */
tamis_status tamis__writer_flush(tamis__writer *writer, tamis_error *err);

/* The same, but only if the last flush was 5 ms ago (compressed: 1 s). For a busy writer, so that no record
 * waits too long. */
tamis_status tamis__writer_flush_due(tamis__writer *writer, tamis_error *err);

/* The last flush, after success or failure: completes the compressed file. Nothing may be put afterwards. A
 * second call does nothing. */
tamis_status tamis__writer_end(tamis__writer *writer, tamis_error *err);

/*
 * Makes everything that was put durable: writes it, ends the compressed frame, and syncs a durable file. Only
 * for outputs that are written directly.
 *
 * *all_consumed is false if the reader of a pipe has not read everything within a second, or if the writer
 * had failed before. Neither is an error.
 */
tamis_status tamis__writer_commit(tamis__writer *writer, bool *all_consumed, tamis_error *err);

/* True if the output is written directly, so that others can see it before the run ends. */
bool tamis__writer_is_direct(const tamis__writer *writer);

/* After the end of a stopped run: true if everything that was put has reached its destination. A durable
 * output must also be synced, or read by its reader. Always false for a temporary file. */
bool tamis__writer_is_complete(tamis__writer *writer, tamis_error *err);

/* Ends, syncs if durable, and closes. A temporary file is then complete, and writer->temp_file can be
 * committed. */
tamis_status tamis__writer_finish(tamis__writer *writer, tamis_error *err);

/* Frees everything and removes a staged temporary file. If that fails, the text of *err, if any, says
 * so. Allowed after finish and for a zeroed writer. */
void tamis__writer_abandon(tamis__writer *writer, tamis_error *err);

#endif
