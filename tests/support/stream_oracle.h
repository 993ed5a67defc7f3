/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_STREAM_ORACLE_H
#define TAMIS_TEST_STREAM_ORACLE_H

#include <tamis/dedup.h>
#include <tamis/stream.h>

#include "scratch.h"
#include "stream/run/runner.h"

/* What a dedup of some inputs must give, made the slow and obvious way. */
typedef struct stream_oracle {
    test_bytes unique;     /* of the output */
    test_bytes duplicates; /* of the other one */
    tamis_stream_stats stats;
} stream_oracle;

void oracle_make(stream_oracle *oracle, const test_bytes *inputs, size_t count, unsigned char terminator);
/* Whether all counts are the same; says on stderr what differs. */
bool stats_check(const tamis_stream_stats *got, const tamis_stream_stats *expected);
void oracle_clear(stream_oracle *oracle);

/* An exact session for `expect` keys (0: grows); the filter goes with it. Aborts on failure. */
tamis_dedup *session_make(uint64_t expect, tamis_on_full on_full);
void session_drop(tamis_dedup *session);
/* tamis__stream_dedup_tuned; *divided is how many batches were asked in parts. One run at a time. */
tamis_status session_run(tamis_dedup *session, const tamis_stream_options *options,
                         const tamis__stream_buffer_sizes *tuning, tamis_stream_stats *stats, size_t *divided,
                         tamis_error *err);

#endif
