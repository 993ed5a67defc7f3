/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/kafka/kafka_metrics.h"

#include "cli/cmd/kafka/kafka_options.h"

tamis_status kafka_metrics_open(cli_metrics **metrics, const cli_value *values, tamis_error *err) {
    const char *target = values[KAFKA_METRICS].text;

    if (!target)
        return TAMIS_OK;
    if (cli_metrics_check(target, err) != TAMIS_OK)
        return err->status;
    return cli_metrics_open(metrics, target, values[CLI_OPT_QUIET].given, err);
}

void kafka_metrics_update_dedup(cli_metrics *metrics, const tamis_kafka_dedup_stats *stats) {
    const cli_metric others[] = {
        {"kafka_partitions", "gauge", "Partitions that this process has.", stats->partitions},
        {"kafka_standby_partitions", "gauge", "Partitions of other processes that are kept warm.",
         stats->standby},
        {"kafka_lag_records", "gauge", "Records of these partitions that are not committed yet.", stats->lag},
        {"kafka_transactions_total", "counter", "Committed transactions.", stats->transactions},
        {"kafka_aborted_total", "counter", "Aborted transactions, whose records were read again.",
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

void kafka_metrics_update_count(cli_metrics *metrics, const tamis_kafka_count_stats *stats) {
    const cli_metric others[] = {
        {"kafka_partitions", "gauge", "Partitions that this process has.", stats->partitions},
        {"kafka_lag_records", "gauge", "Records of these partitions that are not counted yet.", stats->lag},
        {"kafka_records_total", "counter", "Records that were read and counted.", stats->records},
        {"kafka_counted_total", "counter", "Contributions of these records to counters.", stats->counted},
        {"kafka_repeated_total", "counter", "Contributions left out because the counters had them.",
         stats->repeated},
        {"kafka_missing_total", "counter", "Contributions left out because a record lacks a value.",
         stats->missing},
        {"kafka_malformed_total", "counter", "Contributions left out because a record is malformed.",
         stats->malformed},
        {"kafka_batches_total", "counter", "Batches that Redis has acknowledged.", stats->batches},
        {"kafka_conflicts_total", "counter", "Batches that were read again.", stats->conflicts},
        {"kafka_assignments_total", "counter", "How often the group gave partitions to this process.",
         stats->assignments}};
    tamis_stream_stats records = TAMIS_STREAM_STATS_INIT;

    records.records = UINT64_MAX; /* a record counts in several counters, so it has no single answer */
    records.committed_at = stats->committed_at;
    records.bytes_read = records.bytes_left = UINT64_MAX;
    cli_metrics_set_others(metrics, others, sizeof others / sizeof *others);
    cli_metrics_update(metrics, &records);
}
