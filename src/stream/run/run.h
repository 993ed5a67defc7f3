/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_RUN_H
#define TAMIS_STREAM_RUN_RUN_H

/* State of one run, shared by runner.c and by run_commit.c, which makes runs durable. */
#include "base/memory.h"
#include "store/file/target.h"
#include "stream/durable/durable.h"
#include "stream/io/reader.h"
#include "stream/io/writer.h"
#include "stream/run/header.h"
#include "stream/run/item.h"
#include "stream/run/pipeline.h"
#include "stream/run/route.h"
#include "stream/run/runner.h"

typedef struct tamis__run {
    tamis_stream_service service;
    tamis_stream_options options;
    tamis__stream_buffer_sizes tuning;
    tamis_allocator memory;
    tamis_stream_stats stats;
    tamis__poll_loop loop;
    tamis__reader reader;
    tamis__target targets[TAMIS__OUTPUTS];
    tamis__writer writers[TAMIS__OUTPUTS];
    size_t threads;
    tamis__pipeline *pipeline;
    tamis__item *items; /* items of the pipeline */
    size_t item_count;
    tamis__router router;
    tamis__header header;
    tamis__first_malformed first_malformed;
    /* used by the read stage */
    bool begun;                /* an input had a record, or a header */
    uint64_t read;             /* records read */
    tamis__reader_event event; /* last event */
    tamis_status read_status;  /* error that ended the reading */
    tamis_error read_err;
    uint64_t queried; /* records queried; used by the ask stage */
    /* used by the write stage */
    size_t input;  /* index of the input whose records are being written */
    size_t opened; /* inputs opened */
    /* used if the run has commits */
    tamis__durable durable;
    uint64_t bytes_done;              /* bytes of inputs up to the end of what is written */
    uint64_t committed_bytes;         /* stats.bytes_in at the last commit */
    uint64_t commit_at;               /* time of the next commit (tamis__now_ns) */
    bool uncommitted;                 /* records were written since the last commit */
    struct tamis__reader_start *from; /* start position of each input, for the reader */
    const char *unterminated;         /* name of the first input with a record left for a later run */
    uint64_t unterminated_count;      /* number of such inputs */
    uint64_t bytes_before;            /* bytes in the outputs before this run */
    tamis_stream_stats stats_before;  /* statistics of the inputs before the present one */
    /* used if the run is timed */
    bool timed;
    uint64_t begin;
    tamis_stream_profile profile;
    tamis__pipeline_waits waits;
    bool stopped_early;  /* the run has ended, whatever was read ahead */
    tamis_status status; /* its result */
    tamis_error err;     /* its message */
} tamis__run;

/* True if the run requires keys and no record so far had one. Malformed records do not count. */
bool tamis__run_lacks_keys(const tamis__run *r);

/* ---- commits: without them the functions below do nothing and return TAMIS_OK ---- */

/* Finds out where the run begins, and sets reader, writers, header and statistics accordingly. If
 * r->durable.finished, there is nothing to do. Called after the checks, before anything is opened. */
tamis_status tamis__run_begin(tamis__run *r, tamis_error *err);
/* Sets *from to the start position of each input, for the reader. */
tamis_status tamis__run_starts(tamis__run *r, const struct tamis__reader_start **from, tamis_error *err);
/* Before the first query: announces about `more` records, estimated from the first item. */
void tamis__run_expect(tamis__run *r, const tamis__item *item, uint64_t more);
/* After the header of an input: TAMIS_E_MISMATCH if an output has another header from an earlier run. */
tamis_status tamis__run_check_header(tamis__run *r, const char *input, tamis_error *err);
/* After an input was opened, before it is read. TAMIS_E_CHANGED if it has changed since the last commit. */
tamis_status tamis__run_input_opened(tamis__run *r, size_t input, int fd, const struct stat *st,
                                     tamis_error *err);
/* After a batch was read. A batch without records held only the header of its input. */
void tamis__run_prefix_read(tamis__run *r, const tamis__batch *batch);
/* After a byte order mark was skipped. */
void tamis__run_bom_skipped(tamis__run *r, size_t input, uint64_t bytes);
/* After the last record of an input was left for a later run, because it has no terminator. */
void tamis__run_defer_unterminated(tamis__run *r, size_t input);
/* After all records of an item were written: logs their keys, and commits if a commit is due. */
tamis_status tamis__run_item_written(tamis__run *r, const tamis__item *item, tamis_error *err);
/* Before a wait for input: commits if a commit is due, else ends the wait when it is. */
tamis_status tamis__run_idle(tamis__run *r, tamis_error *err);
/* Commits everything written, unless the reader of a pipe has not read it. */
tamis_status tamis__run_commit(tamis__run *r, tamis_error *err);
/* Cuts the output files back to the last commit, if no record had a key and all inputs can be read again. */
void tamis__run_undo(tamis__run *r);
/* At the end, before the writers finish: waits for the readers of pipes. */
tamis_status tamis__run_drain(tamis__run *r, tamis_error *err);
/* At the end: commits that the inputs have ended. */
tamis_status tamis__run_finish(tamis__run *r, tamis_error *err);
/* Releases everything. `status` is the result of the run. */
void tamis__run_end(tamis__run *r, tamis_status status);

#endif
