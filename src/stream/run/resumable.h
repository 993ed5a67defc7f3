/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_RESUMABLE_H
#define TAMIS_STREAM_RUN_RESUMABLE_H

#include "stream/durable/durable.h"
#include "stream/run/run.h"

/* A resumable run. resumable.c drives it, resumable_begin.c begins it. */
typedef struct tamis__resumable {
    tamis__run *run;
    tamis_stream_commits commits; /* a copy of the caller's; fields the caller lacks have their defaults */
    tamis__durable durable;
    uint64_t bytes_done;              /* bytes of inputs up to the end of what is written */
    uint64_t committed_bytes;         /* stats.bytes_in at the last commit */
    uint64_t commit_at;               /* time of the next commit (tamis__now_ns) */
    bool uncommitted;                 /* records were written since the last commit */
    struct tamis__reader_start *from; /* start position of each input, for the reader */
    const char *unterminated;         /* name of the first input with a record left for a later run */
    uint64_t unterminated_count;      /* number of such inputs */
} tamis__resumable;

/* B: finds where the run begins, and sets writers, header and statistics to that. If nothing is left to do,
 * resumable->durable.finished is set. */
tamis_status tamis__resumable_begin(tamis__resumable *resumable, tamis_error *err);
/* Opens reader, pipeline and writers. The reader begins at the positions of the last commit. */
tamis_status tamis__resumable_open(tamis__resumable *resumable, tamis_error *err);

#endif
