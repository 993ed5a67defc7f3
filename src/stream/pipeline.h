/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_PIPELINE_H
#define TAMIS_STREAM_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"
#include "base/memory.h"

/*
 * Lots of work on their way through four stages, several at once:
 *
 *             read  ----->  key  ----->  ask  ----->  write
 *     thread  the caller's  any          any          the caller's
 *     lots    in order      side by side in order     in order
 *
 * A lot that is asked may be divided into parts, which are asked side by side, and is ended when all of them are:
 *
 *             ask  =  divide  ----->  ask_part  ----->  ask
 *     thread          any             any               any
 *     parts                           side by side
 *
 * A lot is a number below `lots`; what it stands for is the caller's, and may be touched by the stage that has it and
 * nobody else. What a stage did is seen by the next one of the lot, and by the next lot in a stage that has an order.
 */
typedef struct tamis__stages {
    void *context; /* given to each */
    /* Fills the lot; false: it is not filled, and nothing more comes for now. */
    bool (*read)(void *context, size_t lot);
    void (*key)(void *context, size_t lot);
    /* Returns in how many parts the lot is to be asked, at least 1: of more, ask_part is called for each before `ask`. In
     * order. NULL: always 1. */
    size_t (*divide)(void *context, size_t lot);
    void (*ask_part)(void *context, size_t lot, size_t part);
    /* False: no lot behind this one is to be asked. */
    bool (*ask)(void *context, size_t lot);
    /* False: no lot behind this one is to be written. */
    bool (*write)(void *context, size_t lot);
} tamis__stages;

typedef struct tamis__pipeline tamis__pipeline;

/* How many lots such a pipeline has. */
size_t tamis__pipeline_lots(size_t threads);

/* Nanoseconds spent waiting: by the caller, and by all others together. */
typedef struct tamis__pipeline_waits {
    uint64_t caller, others;
} tamis__pipeline_waits;

/* For up to `threads` threads, at least 1, the caller's among them; the others are made when there is work for them. With
 * one, or where no other can be had, the stages are called one after the other by the caller. `waits` is NULL, or to be
 * counted, and complete when the pipeline is freed. */
tamis_status tamis__pipeline_create(tamis__pipeline **pipeline, const tamis__stages *stages, size_t threads,
                                    tamis__pipeline_waits *waits, const tamis_allocator *memory,
                                    tamis_error *err);

/* Runs until `read` is false and all lots are through, or until `ask` or `write` is false: what was read behind that lot
 * is dropped. No stage is at work when this returns; it may be called again, and the first lot is a new one then. */
void tamis__pipeline_run(tamis__pipeline *pipeline);

/* The threads that were at work in it, the caller's among them: fewer than it may use where there was too little to do, or
 * where the system refused one. */
size_t tamis__pipeline_threads(const tamis__pipeline *pipeline);

/* Joins its threads. NULL is fine. */
void tamis__pipeline_free(tamis__pipeline *pipeline);

#endif
