/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_PIPELINE_H
#define TAMIS_STREAM_RUN_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"
#include "base/memory.h"

/* Nanoseconds spent waiting, by the caller's thread and by all other threads together. */
typedef struct tamis__pipeline_waits {
    uint64_t caller, others;
} tamis__pipeline_waits;

/*
 * A pipeline of four stages. Items (batches) pass through it, several at once:
 *
 *              read  ----->  extract  ->  query ---->  write
 *     thread   the caller's  any          any          the caller's
 *     items    in order      in parallel  in order     in order
 *
 * The query of an item may be divided into parts, which run in parallel:
 *
 *              query = divide  ----->  query_part  ----->  query
 *     thread           any             any               any
 *     parts                            in parallel
 *
 * An item is an index below tamis__pipeline_item_count; the caller knows what it stands for. Only the
 * stage that has an item may touch it. The next stage of the item sees everything the stage did; so does
 * the next item in an ordered stage.
 */
typedef struct tamis__pipeline_stages {
    void *context; /* argument of each function */
    /* Fills the item. False: not filled, and nothing more comes for now. */
    bool (*read)(void *context, size_t item);
    void (*extract)(void *context, size_t item);
    /* Returns the number of parts of the query, at least 1. If more, query_part is called for each before
     * `query`. Called in order. NULL: always 1. */
    size_t (*divide)(void *context, size_t item);
    void (*query_part)(void *context, size_t item, size_t part);
    /* False: no later item may be queried. */
    bool (*query)(void *context, size_t item);
    /* False: no later item may be written. */
    bool (*write)(void *context, size_t item);
    tamis__pipeline_waits *waits; /* complete when the pipeline is freed; NULL: not measured */
} tamis__pipeline_stages;

typedef struct tamis__pipeline tamis__pipeline;

/* Number of items of a pipeline with `threads` threads. */
size_t tamis__pipeline_item_count(size_t threads);

/* Creates a pipeline for up to `threads` threads, at least 1, with the caller's. The others are started when
 * there is work for them. With one thread, or if no other can be started, the caller runs all stages one
 * after the other. */
tamis_status tamis__pipeline_create(tamis__pipeline **pipeline, const tamis__pipeline_stages *stages,
                                    size_t threads, const tamis_allocator *memory, tamis_error *err);

/* Runs until `read` returns false and all items have passed, or until `query` or `write` returns false. Items
 * after that one are dropped. When this returns, no stage is running. It may be called again, and begins with
 * a new first item. */
void tamis__pipeline_run(tamis__pipeline *pipeline);

/* Number of threads used, with the caller's. Lower than allowed if there was too little work or the system
 * refused to start one. */
size_t tamis__pipeline_threads(const tamis__pipeline *pipeline);

/* Joins the threads. NULL does nothing. */
void tamis__pipeline_free(tamis__pipeline *pipeline);

#endif
