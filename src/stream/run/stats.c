/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/run/stats.h"

#include <string.h>

void tamis__stats_counters(uint64_t *counters[TAMIS__COUNTERS], tamis_stream_stats *stats) {
    uint64_t *const fields[TAMIS__COUNTERS] = {&stats->records, &stats->unique,    &stats->duplicates,
                                               &stats->unknown, &stats->late,      &stats->redelivered,
                                               &stats->missing, &stats->malformed, &stats->bytes_in};
    memcpy(counters, fields, sizeof fields);
}

void tamis__stats_subtract(tamis_stream_stats *stats, const tamis_stream_stats *before) {
    tamis_stream_stats subtracted = *before;
    uint64_t *to[TAMIS__COUNTERS], *from[TAMIS__COUNTERS];
    tamis__stats_counters(to, stats);
    tamis__stats_counters(from, &subtracted);
    for (int i = 0; i < TAMIS__COUNTERS; i++)
        *to[i] -= *from[i];
}

void tamis__stats_add(tamis_stream_stats *stats, const tamis_stream_stats *more) {
    tamis_stream_stats added = *more;
    uint64_t *to[TAMIS__COUNTERS], *from[TAMIS__COUNTERS];
    tamis__stats_counters(to, stats);
    tamis__stats_counters(from, &added);
    for (int i = 0; i < TAMIS__COUNTERS; i++)
        *to[i] += *from[i];
}
