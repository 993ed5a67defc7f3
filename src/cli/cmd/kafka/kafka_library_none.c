/* SPDX-License-Identifier: BSD-2-Clause */
/* For builds without librdkafka, in place of kafka_library.c. */
#include "cli/cmd/kafka/kafka_library.h"

#include "cli/cli.h"

static tamis_status refuse(tamis_error *err) {
    cli_fail(err, "kafka: this tamis was built without Kafka; install librdkafka-dev and build it again");
    err->status = TAMIS_E_UNSUPPORTED;
    return err->status;
}

tamis_status kafka_library_dedup(const tamis_kafka_dedup_options *options, tamis_kafka_dedup_stats *stats,
                                 tamis_error *err) {
    (void)options;
    (void)stats;
    return refuse(err);
}

tamis_status kafka_library_repartition(const tamis_kafka_dedup_options *options,
                                       tamis_kafka_dedup_stats *stats, tamis_error *err) {
    (void)options;
    (void)stats;
    return refuse(err);
}

tamis_status kafka_library_check(const tamis_filter *filter, const tamis_kafka_dedup_options *options,
                                 tamis_kafka_dedup_stats *stats, tamis_error *err) {
    (void)filter;
    (void)options;
    (void)stats;
    return refuse(err);
}

tamis_status kafka_library_count(const tamis_kafka_count_options *options, tamis_kafka_count_stats *stats,
                                 tamis_error *err) {
    (void)options;
    (void)stats;
    return refuse(err);
}

tamis_status kafka_library_plan(tamis_kafka_plan *plan, tamis_plan *filter,
                                const tamis_kafka_plan_options *options, tamis_error *err) {
    (void)plan;
    (void)filter;
    (void)options;
    return refuse(err);
}

tamis_status kafka_library_status(const tamis_kafka_status_options *options,
                                  tamis_status (*report)(void *context,
                                                         const tamis_kafka_partition_status *partition,
                                                         tamis_error *err),
                                  void *context, tamis_error *err) {
    (void)options;
    (void)report;
    (void)context;
    return refuse(err);
}
