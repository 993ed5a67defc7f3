/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/kafka/kafka_metrics.h"

void kafka_metrics_update(cli_metrics *metrics, const tamis_kafka_dedup_stats *stats) {
    const cli_metric others[] = {
        {"kafka_partitions", "gauge", "Partitions that this process has.", stats->partitions},
        {"kafka_lag_records", "gauge", "Records of these partitions that are not committed yet.", stats->lag},
        {"kafka_transactions_total", "counter", "Committed transactions.", stats->transactions},
        {"kafka_aborted_total", "counter", "Transactions that were aborted; their records came again.",
         stats->aborted},
        {"kafka_assignments_total", "counter", "How often the group gave partitions to this process.",
         stats->assignments},
        {"kafka_restored_keys_total", "counter", "Keys that were read from the state topic.",
         stats->restored},
        {"filter_keys", "gauge", "Keys in the filters.", stats->keys},
        {"filter_memory_bytes", "gauge", "Memory of the filters.", stats->memory}};
    tamis_stream_stats records = TAMIS_STREAM_STATS_INIT;

    records.records = stats->records;
    records.unique = stats->unique;
    records.duplicates = stats->duplicates;
    records.missing = stats->missing;
    records.malformed = stats->malformed;
    records.late = stats->late;
    records.committed_at = stats->committed_at;
    records.bytes_read = records.bytes_left = UINT64_MAX;
    cli_metrics_set_others(metrics, others, sizeof others / sizeof *others);
    cli_metrics_update(metrics, &records);
}
