/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_KAFKA_H
#define TAMIS_CLI_CMD_PLAN_PLAN_KAFKA_H

#include <stdio.h>

#include <tamis/experimental/kafka.h>

/* The plan of `tamis kafka dedup`: the whole topic, and the filter of one of its partitions. */
typedef struct plan_kafka {
    tamis_kafka_plan_options options;
    tamis_kafka_plan topic;
    tamis_plan filter;
} plan_kafka;

/* Reads a rate of records, "12k/s": a count and a unit of time, s, m, h or d. *rate is in records a
 * second. */
tamis_status plan_kafka_read_rate(double *rate, const char *text, tamis_error *err);
/* Makes the plan of plan->options; `filter_options` become its field `plan`. */
tamis_status plan_kafka_make(plan_kafka *plan, const tamis_plan_options *filter_options, tamis_error *err);
void plan_kafka_text(FILE *out, const plan_kafka *plan);
/* Writes one JSON object. */
tamis_status plan_kafka_json(FILE *out, const plan_kafka *plan, tamis_error *err);

#endif
