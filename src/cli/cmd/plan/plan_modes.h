/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_MODES_H
#define TAMIS_CLI_CMD_PLAN_PLAN_MODES_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/experimental/kafka.h>
#include <tamis/plan.h>

#include "cli/cli.h"
#include "cli/cmd/plan/plan_request.h"

/* What tamis plan prints instead of the table of kinds (plan_table.h). */

/* ---- a plan for one record of many: plan_record.c ---- */

/*
 * A plan of a classic filter without a number of records, for one record of many. Two of rate, bits a record
 * and probes determine the third. Bits alone determine the lowest rate and its number of probes.
 */
typedef struct plan_record {
    double fpr, bits, fill; /* rate when full, bits a record, share of bits that are set when full */
    uint32_t probes;
    bool given[PLAN_NUMBERS]; /* numbers that the user gave */
} plan_record;

/* True if the options ask for such a plan: neither --expect nor --memory, but --bits-per-key, or both --fpr
 * and --probes. */
bool plan_record_is_requested(const cli_value *const values[PLAN_NUMBERS]);
/* Fills *record from the options. Error: they contradict each other. */
tamis_status plan_record_solve(plan_record *record, const cli_value *const values[PLAN_NUMBERS],
                               tamis_kind kind, tamis_error *err);
void plan_record_text(FILE *out, const plan_record *record);
/* Writes one JSON object. */
tamis_status plan_record_json(FILE *out, const plan_record *record, tamis_error *err);

/* ---- a filter in a Redis: plan_redis.c ---- */

/* Two plans of a filter of layout tamis in a Redis. `smallest` has the fewest bits. `chosen` comes from
 * tamis_redis_plan_make, which also saves time of the server. */
typedef struct plan_redis {
    tamis_plan smallest, chosen;
} plan_redis;

tamis_status plan_redis_make(plan_redis *plans, const tamis_plan_options *plan_options, tamis_error *err);
void plan_redis_text(FILE *out, const plan_redis *plans);
/* Writes one JSON object. */
tamis_status plan_redis_json(FILE *out, const plan_redis *plans, tamis_error *err);

/* ---- a topic of Kafka: plan_kafka.c ---- */

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

/* ---- --measure: plan_measure.c ---- */

/*
 * Builds filters and prints the promised rates beside the measured ones.
 *
 * - plan: measures one filter of this plan, made for a million keys if the plan is for more. A growing filter
 *   gets a million keys.
 * - plan NULL: measures a list of all kinds and schemes, most with a million keys.
 *
 * Sets *broken, which starts as false, if a promise is broken beyond chance. The BKDR schemes promise
 * nothing.
 */
tamis_status plan_measure(bool *broken, const tamis_plan *plan, bool json, tamis_error *err);

/* ---- --table: plan_published.c ---- */

/*
 * Prints the tables and rules of thumb that were published for filters over Redis bitmaps, beside the exact
 * values.
 */
void plan_published_text(FILE *out);
/* The same as one JSON object. */
tamis_status plan_published_json(FILE *out, tamis_error *err);

#endif
