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
    KAFKA_CONFIG
};

enum { KAFKA_COMMIT_DEFAULT = 1000, KAFKA_COMMIT_MAX = 600000 }; /* milliseconds */

/* Prints a line of --stats. */
void kafka_print_count(const char *name, uint64_t count);
/* Callback of both runs. */
void kafka_report_remark(void *context, const char *message);
/* Puts dashes in front of the name of an option with which a message of the library begins. */
void kafka_name_option(const char *name, tamis_error *err);
/* An option that an action needs, and how a user writes it. */
typedef struct kafka_required {
    int id; /* 0: end of the list */
    const char *text;
} kafka_required;
tamis_status kafka_check_required(const char *action, const kafka_required *required, const cli_value *values,
                                  tamis_error *err);

/* Runs `tamis kafka count`. */
tamis_status kafka_count(const cli_args *args, tamis_error *err);

#endif
