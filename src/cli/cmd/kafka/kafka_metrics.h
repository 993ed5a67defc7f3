/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_KAFKA_KAFKA_METRICS_H
#define TAMIS_CLI_CMD_KAFKA_KAFKA_METRICS_H

#include <tamis/experimental/kafka.h>

#include "cli/core/cli_option.h"
#include "cli/process/cli_metrics.h"

/* Opens the target of --metrics. Without that option *metrics stays NULL. */
tamis_status kafka_metrics_open(cli_metrics **metrics, const cli_value *values, tamis_error *err);
/* Callbacks for `progress` of the options: they convert the statistics to metrics. */
void kafka_metrics_update_dedup(cli_metrics *metrics, const tamis_kafka_dedup_stats *stats);
void kafka_metrics_update_count(cli_metrics *metrics, const tamis_kafka_count_stats *stats);

#endif
