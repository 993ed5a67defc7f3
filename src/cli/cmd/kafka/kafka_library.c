/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/kafka/kafka_library.h"

tamis_status kafka_library_dedup(const tamis_kafka_dedup_options *options, tamis_kafka_dedup_stats *stats,
                                 tamis_error *err) {
    return tamis_kafka_dedup_run(options, stats, err);
}

tamis_status kafka_library_repartition(const tamis_kafka_dedup_options *options,
                                       tamis_kafka_dedup_stats *stats, tamis_error *err) {
    return tamis_kafka_repartition_run(options, stats, err);
}

tamis_status kafka_library_check(const tamis_filter *filter, const tamis_kafka_dedup_options *options,
                                 tamis_kafka_dedup_stats *stats, tamis_error *err) {
    return tamis_kafka_check_run(filter, options, stats, err);
}

tamis_status kafka_library_count(const tamis_kafka_count_options *options, tamis_kafka_count_stats *stats,
                                 tamis_error *err) {
    return tamis_kafka_count_run(options, stats, err);
}

tamis_status kafka_library_plan(tamis_kafka_plan *plan, tamis_plan *filter,
                                const tamis_kafka_plan_options *options, tamis_error *err) {
    return tamis_kafka_plan_make(plan, filter, options, err);
}

tamis_status kafka_library_status(const tamis_kafka_status_options *options,
                                  tamis_status (*report)(void *context,
                                                         const tamis_kafka_partition_status *partition,
                                                         tamis_error *err),
                                  void *context, tamis_error *err) {
    return tamis_kafka_status_read(options, report, context, err);
}
