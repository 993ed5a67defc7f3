/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_KAFKA_KAFKA_METRICS_H
#define TAMIS_CLI_CMD_KAFKA_KAFKA_METRICS_H

#include <tamis/experimental/kafka.h>

#include "cli/process/cli_metrics.h"

/* Function `progress` of tamis_kafka_dedup_options: passes the statistics on. */
void kafka_metrics_update(cli_metrics *metrics, const tamis_kafka_dedup_stats *stats);

#endif
