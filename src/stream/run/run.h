/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_RUN_H
#define TAMIS_STREAM_RUN_RUN_H

/* The struct and the steps of a run, for its two drivers: runner.c has plain runs, resumable.c runs with
 * commits. */
#include "base/memory.h"
#include "store/file/target.h"
#include "stream/durable/followed.h"
#include "stream/io/reader_set.h"
#include "stream/io/writer.h"
#include "stream/run/item.h"
#include "stream/run/pipeline.h"
#include "stream/run/route.h"
#include "stream/run/runner.h"
#include "stream/run/stats.h"

/* Calls of a resumable run between the steps of a run. A plain run has no hooks. */
typedef struct tamis__run_hooks {
    void *context; /* argument of each function */
    /* After the header, if there is one, was removed from the first batch of an input. The batch may be
     * empty. */
    tamis_status (*input_begun)(void *context, const tamis__record_batch *batch, tamis_error *err);
    /* Before the first query, from any thread: about `count` records come, estimated from the first item. */
    void (*first_query)(void *context, const tamis__item *item, uint64_t count);
    /* After all records of an item were put into the writers. */
    tamis_status (*item_written)(void *context, const tamis__item *item, tamis_error *err);
    /* Before a wait for input. Everything is flushed. */
    tamis_status (*idle)(void *context, tamis_error *err);
} tamis__run_hooks;

/* The header: the first record of each input, if it names the columns. */
typedef struct tamis__header {
    bool wanted; /* inputs have a header */
    unsigned char terminator;
    tamis_extractor *extractor; /* borrowed; NULL: nobody needs the names */
    tamis_allocator memory;
    unsigned char *bytes; /* copy of the first header; NULL: none yet */
    size_t size;
    const char *input; /* the input it came from */
} tamis__header;

/* What a run is made from: the caller's arguments, checked, with defaults for fields that the caller
 * lacks. */
typedef struct tamis__run_arguments {
    tamis_stream_service service;
    tamis_stream_options options;
    tamis__stream_buffer_sizes sizes;
} tamis__run_arguments;

typedef struct tamis__run {
    tamis_stream_service service;
    tamis_stream_options options;
    tamis__stream_buffer_sizes sizes; /* of a batch and of the buffers */
    tamis_allocator memory;
    tamis_stream_stats stats;
    tamis__poll_loop loop;
    tamis__reader_set readers;
    tamis__target targets[TAMIS__OUTPUTS];
    tamis__writer writers[TAMIS__OUTPUTS];
    tamis__run_hooks hooks;
    tamis__followed_names *followed;    /* names of the inputs, for a run with commits; NULL: not followed */
    tamis__source_positions *positions; /* positions of the answered records; NULL: they have none */
    size_t threads;
    tamis__pipeline *pipeline;
    tamis__item *items; /* items of the pipeline */
    size_t item_count;
    tamis__router router;
    tamis__header header;
    tamis__first_malformed first_malformed;
    /* used by the read stage */
    bool has_data;                   /* an input had a record, or a header */
    uint64_t read;                   /* records read */
    tamis__reader_event event;       /* last event */
    tamis_extractor *time_extractor; /* finds times of records, to merge inputs; NULL: they are not merged */
    tamis_status read_status;        /* error that ended the reading */
    tamis_error read_err;
    uint64_t queried; /* records queried; used by the query stage */
    /* used by the query stage, and by a wait, during which no stage runs */
    bool unobserved;     /* keys were answered since options.observe was called */
    uint64_t observe_at; /* time from which it is called again (tamis__now_ns) */
    bool waiting;        /* the run waits for input; used by the caller's thread */
    bool caught_up;      /* no record was read since the last wait */
    /* used by the write stage */
    size_t input;                    /* index of the input whose records are being written */
    size_t opened;                   /* inputs opened */
    uint64_t bytes_before;           /* bytes in the outputs before this run */
    bool has_found;                  /* the extractor found all that it looks for in a record */
    tamis_stream_stats *input_stats; /* of each input; NULL: their number is not known, see options.files */
    /* used if the run is timed */
    bool timed;
    uint64_t begin; /* time at which the run began (tamis__now_ns) */
    tamis_stream_profile profile;
    tamis__pipeline_waits waits;
    /* result of the write stage */
    bool stopped_early;  /* it ended the run; items that were read ahead are dropped */
    tamis_status status; /* if stopped_early: why the run ended; TAMIS_OK: the service had enough */
    tamis_error err;     /* message of `status` */
} tamis__run;

/* ---- arguments of a run: run_options.c ---- */

/* Each fills *checked from the caller's struct, with defaults for the rest. */
tamis_status tamis__stream_check_service(tamis_stream_service *checked, const tamis_stream_service *given,
                                         tamis_error *err);
tamis_status tamis__stream_check_options(tamis_stream_options *checked, const tamis_stream_options *given,
                                         const tamis_stream_stats *stats, const tamis_stream_result *result,
                                         tamis_error *err);

/* ---- headers of inputs: header.c ---- */

/*
 * Removes the header from the front of an input's first batch, which may be empty afterwards.
 * - TAMIS_E_INVALID if it differs from the header of earlier inputs, or lacks a column that the extractor
 *   needs.
 * - A followed file that was truncated may continue without a header.
 * - The header is written through `router`. NULL: an earlier run has already written it.
 */
tamis_status tamis__header_read(tamis__header *header, tamis__record_batch *batch, tamis__router *router,
                                tamis_error *err);
void tamis__header_release(tamis__header *header);

/* ---- steps, in this order: runner.c ---- */

/* Finds and checks inputs and outputs. Creates nothing. */
tamis_status tamis__run_check(tamis__run *r, tamis_error *err);
/* Returns the setup of readers for all inputs, from their beginning. */
tamis__reader_setup tamis__run_reader_setup(tamis__run *r);
/* Opens reader, pipeline and writers. */
tamis_status tamis__run_open(tamis__run *r, const tamis__reader_setup *setup, tamis_error *err);
/* Reads, queries and writes all records. */
tamis_status tamis__run_pump(tamis__run *r, tamis_error *err);
/* Ends the writers, and gives temporary files their names. */
tamis_status tamis__run_finish(tamis__run *r, tamis_error *err);
/* Ends the run with `status`, after any step. After an error: flushes outputs that are written directly,
 * and removes temporary files. */
void tamis__run_close(tamis__run *r, tamis_status status, tamis_error *err);

/* ---- the stages of the pipeline: run_stages.c ---- */

/* Creates items and pipeline. */
tamis_status tamis__run_open_pipeline(tamis__run *r, tamis_error *err);
/* Calls options.observe if it is due. No function of the service runs now. */
void tamis__run_observe(tamis__run *r);
/* Flushes the outputs that others can see before the end; unless the run is idle, only if they are due. */
tamis_status tamis__run_flush(tamis__run *r, bool idle, tamis_error *err);
/* Sets stats.bytes_out. */
void tamis__run_count_written(tamis__run *r);
/* The inputs before `next` have ended, unless they are read by turns: reports their statistics. */
void tamis__run_end_inputs(tamis__run *r, size_t next);
/* Ends all inputs that were opened. The last one may still be followed. */
void tamis__run_end_last_input(tamis__run *r);

/* ---- ends without keys: runner.c ---- */

/* True if the run requires keys and no record so far had one. Malformed records do not count. */
bool tamis__run_lacks_keys(const tamis__run *r);
/* Returns TAMIS_E_NO_KEY if tamis__run_lacks_keys, else TAMIS_OK. */
tamis_status tamis__run_check_keys(const tamis__run *r, tamis_error *err);

/* ---- runs with options.commits ---- */

/* resumable.c: the driver. */
tamis_status tamis__run_resumable(tamis__run *r, tamis_stream_result *result, tamis_error *err);

/* follow.c, with options.follow too: follows the names of the inputs, by one run for the files that have
 * them, until an error or a stop. */
tamis_status tamis__run_follow(const tamis__run_arguments *arguments, tamis_stream_stats *stats,
                               tamis_stream_result *result, tamis_error *err);

/* runner.c: one run. `followed` says which files are its inputs. NULL: nothing is followed, or the run has no
 * commits. */
tamis_status tamis__run_once(const tamis__run_arguments *arguments, tamis__followed_names *followed,
                             tamis_stream_stats *stats, tamis_stream_result *result, tamis_error *err);

#endif
