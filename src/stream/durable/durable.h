/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_DURABLE_H
#define TAMIS_STREAM_DURABLE_DURABLE_H

#include <stdbool.h>

#include <tamis/experimental/stream.h>

#include "store/file/target.h"
#include "stream/durable/appended_output.h"
#include "stream/durable/checkpoint.h"
#include "stream/durable/followed.h"
#include "stream/durable/known_input.h"

/*
 * The durable part of a run (part 2 of docs/DURABILITY.md): where the run begins, and its commits. The runner
 * keeps `live` up to date and decides when to commit. durable_begin.c and durable.c explain the steps.
 */
typedef struct tamis__durable {
    const tamis_stream_commits *commits; /* options.commits, which outlives the run */
    tamis_stream_result result;
    tamis_dedup *session;
    tamis_allocator memory;
    tamis__checkpoint live; /* content of the next commit: offsets and statistics of the written records */
    const char *const *names;
    tamis__followed_names *followed; /* names of the inputs, set before the run begins; NULL: not followed */
    tamis__appended_output outputs[2];
    bool finished;      /* there is nothing to do */
    bool continued;     /* continues an earlier run, with that run's size hint */
    bool closed_others; /* this run closed unfinished ones when it began */
    uint64_t commits_made;
    /* For a new run whose inputs other runs have read, in whole or in part. */
    size_t skipped;            /* inputs without unread bytes */
    const char *first_skipped; /* name of the first skipped input */
    uint64_t skipped_bytes;    /* bytes of uncompressed inputs that are not read again */
    /* The input that is fingerprinted, unless they are followed. */
    size_t fingerprinted; /* its index */
    tamis__open_input input;
} tamis__durable;

/*
 * Finds where the run begins, opens its outputs, cuts them back to their lengths there, and makes the first
 * commit. The regular files among `targets` are descriptors afterwards. `durable` must be zeroed. Call
 * tamis__durable_end even after a failure. Errors: see tamis_stream_run.
 */
tamis_status tamis__durable_begin(tamis__durable *durable, const tamis_stream_options *options,
                                  const int *compressions, tamis__target *targets, tamis_error *err);
void tamis__durable_end(tamis__durable *durable);
/* Call when the run ends with an error. A run that did nothing after it began is not kept as unfinished. */
void tamis__durable_failed(tamis__durable *durable);

/* Passes the number of expected keys to the state. A continued run keeps the number of its first batch. */
tamis_status tamis__durable_expect(tamis__durable *durable, uint64_t more, tamis_error *err);

/* Call when the reader has opened input `i` as `fd` and has read nothing yet. TAMIS_E_CHANGED if the bytes
 * that were read earlier are gone. */
tamis_status tamis__durable_opened(tamis__durable *durable, size_t i, int fd, const struct stat *st,
                                   tamis_error *err);

/* Passes committed positions to the caller, unless they were passed before (Q5, Q6). Errors of the caller. */
tamis_status tamis__durable_report_positions(tamis__durable *durable, tamis_error *err);

/* Commits `live` (K3, K4). The outputs must be written and synced up to the lengths in it. */
tamis_status tamis__durable_commit(tamis__durable *durable, tamis_error *err);

#endif
