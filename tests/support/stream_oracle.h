/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_STREAM_ORACLE_H
#define TAMIS_TEST_STREAM_ORACLE_H

#include <tamis/dedup.h>
#include <tamis/experimental/stream.h>

#include "scratch.h"
#include "stream/run/runner.h"

/* The expected result of a dedup, computed in the slow and obvious way. */
typedef struct stream_oracle {
    test_bytes unique;     /* bytes of the output */
    test_bytes duplicates; /* bytes of the duplicates output */
    tamis_stream_stats stats;
} stream_oracle;

void oracle_make(stream_oracle *oracle, const test_bytes *inputs, size_t count, unsigned char terminator);
/* True if all counts are equal. Prints differences to stderr. */
bool stats_check(const tamis_stream_stats *got, const tamis_stream_stats *expected);
void oracle_clear(stream_oracle *oracle);

/* Makes a session over an exact filter for `expect` keys (0: it grows). Aborts on failure. session_drop
 * frees both. */
tamis_dedup *session_make(uint64_t expect, tamis_on_full on_full);
void session_drop(tamis_dedup *session);
/* Calls tamis__stream_dedup_tuned. *divided is the number of batches that were queried in parts. One run
 * at a time. */
tamis_status session_run(tamis_dedup *session, const tamis_stream_options *options,
                         const tamis__stream_buffer_sizes *tuning, tamis_stream_stats *stats, size_t *divided,
                         tamis_error *err);

#endif
