/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_KAFKA_KAFKA_LIBRARY_H
#define TAMIS_CLI_CMD_KAFKA_KAFKA_LIBRARY_H

#include <tamis/experimental/kafka.h>

/* The functions of the library, which the comments name. In a build without libtamis-kafka each of them
 * returns TAMIS_E_UNSUPPORTED. */

/* tamis_kafka_dedup_run. */
tamis_status kafka_library_dedup(const tamis_kafka_dedup_options *options, tamis_kafka_dedup_stats *stats,
                                 tamis_error *err);
/* tamis_kafka_repartition_run. */
tamis_status kafka_library_repartition(const tamis_kafka_dedup_options *options,
                                       tamis_kafka_dedup_stats *stats, tamis_error *err);
/* tamis_kafka_check_run. */
tamis_status kafka_library_check(const tamis_filter *filter, const tamis_kafka_dedup_options *options,
                                 tamis_kafka_dedup_stats *stats, tamis_error *err);
/* tamis_kafka_count_run. */
tamis_status kafka_library_count(const tamis_kafka_count_options *options, tamis_kafka_count_stats *stats,
                                 tamis_error *err);
/* tamis_kafka_plan_make. */
tamis_status kafka_library_plan(tamis_kafka_plan *plan, tamis_plan *filter,
                                const tamis_kafka_plan_options *options, tamis_error *err);
/* tamis_kafka_status_read. */
tamis_status kafka_library_status(const tamis_kafka_status_options *options,
                                  tamis_status (*report)(void *context,
                                                         const tamis_kafka_partition_status *partition,
                                                         tamis_error *err),
                                  void *context, tamis_error *err);

#endif
