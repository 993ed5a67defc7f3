/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_H
#define TAMIS_STREAM_RUN_H

/* A run, for runner.c, and for run_commit.c, which makes it last. */
#include "base/memory.h"
#include "store/place.h"
#include "stream/durable.h"
#include "stream/header.h"
#include "stream/lot.h"
#include "stream/pipeline.h"
#include "stream/reader.h"
#include "stream/route.h"
#include "stream/runner.h"
#include "stream/writer.h"

typedef struct tamis__run {
    tamis_stream_service service;
    tamis_stream_options options;
    tamis__stream_tuning tuning;
    tamis_allocator memory;
    tamis_stream_stats stats;
    tamis__watch watch;
    tamis__reader reader;
    tamis__place places[TAMIS__OUTPUTS];
    tamis__writer writers[TAMIS__OUTPUTS];
    size_t threads;
    tamis__pipeline *pipeline;
    tamis__lot *lots; /* of the pipeline */
    size_t lot_count;
    tamis__router router;
    tamis__header header;
    tamis__first_malformed first_malformed;
    /* of reading */
    bool begun;                /* an input has had a record, or a header */
    uint64_t read;             /* records */
    tamis__reader_event event; /* what came last, */
    tamis_status read_status;  /* or that nothing more does */
    tamis_error read_err;
    uint64_t asked; /* records, of asking */
    /* of writing */
    size_t input;  /* whose records are written */
    size_t opened; /* inputs that were */
    /* where it is made last */
    tamis__durable durable;
    uint64_t bytes_done;             /* of stats.bytes_read, what is written or in front of it */
    uint64_t committed_bytes;        /* stats.bytes_in by then */
    uint64_t commit_at;              /* tamis__now_ns at which the next is due */
    bool uncommitted;                /* something was written since */
    struct tamis__reader_from *from; /* of each input, the reader's */
    const char *partial;             /* the first input whose last record is left, */
    uint64_t partial_count;          /* of so many */
    uint64_t before;                 /* bytes that its outputs had */
    tamis_stream_stats earlier;      /* of the inputs before it */
    /* of both, where they are timed */
    bool timed;
    uint64_t begin;
    tamis_stream_profile profile;
    tamis__pipeline_waits waits;
    bool over; /* the run ends, whatever was read behind: */
    tamis_status status;
    tamis_error err;
} tamis__run;

/* True if the run requires keys, and no record answered so far had one. Malformed records do not count. */
bool tamis__run_lacks_keys(const tamis__run *r);

/* All that follows does nothing, and well, in a run without commits. */

/* Looks where it begins, and sets reader, writers, header and stats up for that; r->durable.finished: there is nothing to do.
 * After the run is checked, and before anything of it is opened. */
tamis_status tamis__run_begin(tamis__run *r, tamis_error *err);
/* *from is the reader's, of where each input begins. */
tamis_status tamis__run_from(tamis__run *r, const struct tamis__reader_from **from, tamis_error *err);
/* Before the first lot is asked: about `more` records are to come, as far as what is read ahead of it tells. */
void tamis__run_expect(tamis__run *r, const tamis__lot *lot, uint64_t more);
/* The header of an input was taken: TAMIS_E_MISMATCH where an output has had another from an earlier run. */
tamis_status tamis__run_headed(tamis__run *r, const char *input, tamis_error *err);
/* An input is open, as this descriptor, and nothing of it is read. TAMIS_E_STALE where it is not what it was. */
tamis_status tamis__run_opened(tamis__run *r, size_t input, int fd, const struct stat *about,
                               tamis_error *err);
/* A batch was read: one of no record is nothing but the header of its input. */
void tamis__run_fronted(tamis__run *r, const tamis__batch *batch);
/* A byte order mark was passed over at the beginning of that input. */
void tamis__run_marked(tamis__run *r, size_t input, uint64_t bytes);
/* The last record of that input has no terminator, and is left for a later run. */
void tamis__run_partial(tamis__run *r, size_t input);
/* All of the lot is written: it is logged, and committed with those before it if that is due. */
tamis_status tamis__run_written(tamis__run *r, const tamis__lot *lot, tamis_error *err);
/* Nothing more is there for now: commits if that is due, else has the wait end when it is. */
tamis_status tamis__run_idle(tamis__run *r, tamis_error *err);
/* Commits all that is written, unless the reader of a pipe does not take it. */
tamis_status tamis__run_commit(tamis__run *r, tamis_error *err);
/* Cuts output files back to the last commit if none of the records had a key, and all inputs can be read again. */
void tamis__run_undo(tamis__run *r);
/* The end: waits for readers of pipes, before the writers finish; then commits that the inputs are at their end. */
tamis_status tamis__run_drain(tamis__run *r, tamis_error *err);
tamis_status tamis__run_finish(tamis__run *r, tamis_error *err);
/* `status` is the result of the run. */
void tamis__run_end(tamis__run *r, tamis_status status);

#endif
