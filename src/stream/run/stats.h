/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_STATS_H
#define TAMIS_STREAM_RUN_STATS_H

#include <tamis/experimental/stream.h>

/* The statistics of a run that can be added up: counts of records and bytes. */
enum { TAMIS__COUNTERS = 9 };

/* Sets `counters` to the counts of *stats. */
void tamis__stats_counters(uint64_t *counters[TAMIS__COUNTERS], tamis_stream_stats *stats);
void tamis__stats_subtract(tamis_stream_stats *stats, const tamis_stream_stats *before);
void tamis__stats_add(tamis_stream_stats *stats, const tamis_stream_stats *more);

#endif
