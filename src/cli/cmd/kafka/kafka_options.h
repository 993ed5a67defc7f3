/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_KAFKA_KAFKA_OPTIONS_H
#define TAMIS_CLI_CMD_KAFKA_KAFKA_OPTIONS_H

#include "cli/cli.h"

/* Options of `tamis kafka`, and what its actions share. */

enum {
    KAFKA_BROKERS = CLI_OPT_OWN,
    KAFKA_GROUP,
    KAFKA_FROM,
    KAFKA_TO,
    KAFKA_DUPLICATES_TO,
    KAFKA_DEAD_LETTERS_TO,
    KAFKA_FILTER,
    KAFKA_PRESENT_TO,
    KAFKA_COUNT,
    KAFKA_SUM,
    KAFKA_DISTINCT,
    KAFKA_EXPIRE,
    KAFKA_INSTANCE,
    KAFKA_SETTING,
    KAFKA_COMMIT_EVERY,
    KAFKA_UNTIL_END,
    KAFKA_WINDOW,
    KAFKA_STEP,
    KAFKA_TIME,
    KAFKA_LATENESS,
    KAFKA_LATE,
    KAFKA_METRICS,
    KAFKA_CONFIG,
    KAFKA_STANDBY
};

enum { KAFKA_COMMIT_DEFAULT = 1000, KAFKA_COMMIT_MAX = 600000 }; /* milliseconds */

extern const cli_option kafka_options[];
extern const cli_conflict kafka_conflicts[];

/* Prints a line of --stats. */
void kafka_print_count(const char *name, uint64_t count);
/* Callback `remark` of copies and counts: prints the remark. */
void kafka_report_remark(void *context, const char *message);
/* Names the option whose name in the library a message of the library begins with. */
void kafka_name_option(const cli_value *values, tamis_error *err);
/* Actions of `tamis kafka`; the first three copy a topic. */
typedef enum kafka_action {
    KAFKA_ACTION_DEDUP,
    KAFKA_ACTION_REPARTITION,
    KAFKA_ACTION_CHECK,
    KAFKA_ACTION_COUNT,
    KAFKA_ACTION_STATUS
} kafka_action;

/* Runs `tamis kafka count` and `status`, whose options are checked. */
tamis_status kafka_count(const cli_args *args, tamis_error *err);
tamis_status kafka_status(const cli_args *args, tamis_error *err);

/* What tamis kafka status prints. */
extern const struct kafka_status_fields {
    cli_field group, topic, partitions, partition, offset, low, end, lag, rate, state_low, state_end,
        state_to, state_bytes, newest, owner, host;
} kafka_status_fields;

#endif
