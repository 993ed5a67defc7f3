/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_DURABLE_H
#define TAMIS_STREAM_DURABLE_DURABLE_H

#include <stdbool.h>

#include <tamis/stream.h>

#include "store/file/target.h"
#include "stream/durable/appended_output.h"
#include "stream/durable/checkpoint.h"

/*
 * The side of a run that makes it last, docs/DURABILITY.md: where it begins, and its commits. The runner
 * moves `live`, and says when.
 */
typedef struct tamis__durable {
    tamis_stream_commits *commits; /* the caller's */
    tamis_dedup *session;
    tamis_allocator memory;
    tamis__checkpoint live; /* the run as it stands: of outputs as.at and owes_terminator, of inputs offset */
    const char *const *names;
    tamis__appended_output outputs[2];
    bool finished;  /* there is nothing to do */
    bool goes_on;   /* continues an earlier run, with that run's size hint */
    bool took_over; /* an unfinished run ended when this one began */
    uint64_t commits_made;
    /* for a new run whose inputs other runs have read in part: */
    size_t skipped;            /* inputs without unread bytes */
    const char *first_skipped; /* name of the first skipped input */
    uint64_t passed_bytes;     /* bytes of uncompressed inputs that are not read again */
    /* the input whose content is summed: */
    size_t checksummed; /* its number, */
    int input;          /* open; -1: none */
    bool borrowed;
    off_t base;
    uint64_t size; /* as it was opened */
} tamis__durable;

/*
 * Looks where the run of these inputs and places begins, opens its outputs, cut back to there, and commits that it has begun:
 * the places are descriptors then. `durable` is zeroed; tamis__durable_end follows in any case. Errors as tamis_stream_run
 * tells them.
 */
tamis_status tamis__durable_begin(tamis__durable *durable, const tamis_stream_options *options,
                                  const int *compressions, tamis__target *targets,
                                  const tamis_allocator *memory, tamis_error *err);
void tamis__durable_end(tamis__durable *durable);
/* Call when the run ends with an error. A run that did nothing after it began is not kept as unfinished. */
void tamis__durable_failed(tamis__durable *durable);

/* How many keys are to come is decided once a run, by its first batch. */
tamis_status tamis__durable_expect(tamis__durable *durable, uint64_t more, tamis_error *err);

/* The reader has opened input `i` as `fd`, and read nothing of it. TAMIS_E_CHANGED where what was read of it earlier is not there. */
tamis_status tamis__durable_opened(tamis__durable *durable, size_t i, int fd, const struct stat *st,
                                   tamis_error *err);

/* Commits what `live` tells. Outputs are written and synced up to there. */
tamis_status tamis__durable_commit(tamis__durable *durable, tamis_error *err);

#endif
