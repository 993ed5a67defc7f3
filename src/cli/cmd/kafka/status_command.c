/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tamis kafka status: how far a group is, as text or JSON. The library calls a function for each partition, so
 * the text is printed line by line, however many there are. JSON is one array, written at the end. The table
 * of fields at the head serves both, and the manual.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cmd/kafka/kafka_library.h"
#include "cli/cmd/kafka/kafka_options.h"
#include "cli/cmd/kafka/kafka_settings.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"
#include "cli/process/cli_signal.h"

const struct kafka_status_fields kafka_status_fields = {
    .group = {"group", NULL, CLI_STRING, "The group."},
    .topic = {"topic", NULL, CLI_STRING, "The topic that it reads."},
    .partitions = {"partitions", NULL, CLI_ARRAY_OF_OBJECTS,
                   "An array of objects with the fields that follow, one for each partition."},
    .partition = {"partition", "partition", CLI_INTEGER, "The number of the partition."},
    .offset =
        {"offset", "offset", CLI_INTEGER | CLI_NULL,
         "Offset of the first record that the group has not processed; null = the group has no offset yet."},
    .low = {"low", NULL, CLI_INTEGER, "Offset of the first record of the topic."},
    .end = {"end", "end", CLI_INTEGER, "Offset after its last record."},
    .lag =
        {"lag", "lag", CLI_INTEGER,
         "end less offset, or less low if there is no offset; 0 if only markers of transactions are left."},
    .rate = {"rate", NULL, CLI_NUMBER,
             "Records a second that the group has processed, in two seconds; 0 without processes."},
    .state_low = {"state_low", "state low", CLI_INTEGER | CLI_NULL,
                  "Offset of the first state record that is kept; null = no state, as with count."},
    .state_end = {"state_end", "state end", CLI_INTEGER | CLI_NULL,
                  "Offset after the last state record; null = no state, as with count."},
    .state_to = {"state_to", NULL, CLI_INTEGER | CLI_NULL,
                 "The offset of the group with which the newest state record was committed. If offset is "
                 "another one while no process runs, dedup refuses to start; null = no state."},
    .state_bytes =
        {"state_bytes", "state size", CLI_INTEGER | CLI_NULL,
         "Bytes of these state records with what Kafka adds to them, an estimate within 5 %. Records that "
         "were removed may be in the files of the brokers for a while; null = no state, as with count."},
    .newest =
        {"newest", "newest", CLI_INTEGER | CLI_NULL,
         "With --window: the largest time of all records so far, in milliseconds since 1970; else null."},
    .owner = {"owner", "owner", CLI_STRING | CLI_NULL,
              "The --instance of the process that has the partition, or the id that the brokers gave it; "
              "null = no process."},
    .host = {"host", NULL, CLI_STRING | CLI_NULL, "The address of this process; null = no process."},
};

/* ---- text ---- */

typedef struct status_totals {
    uint64_t partitions, lag;
    double rate;
} status_totals;

static const char *offset_text(char *text, size_t size, bool is_known, uint64_t offset) {
    if (is_known)
        snprintf(text, size, "%" PRIu64, offset);
    else
        snprintf(text, size, "-");
    return text;
}

/* "~43.1 MiB": an estimate */
static const char *size_text(char *text, size_t size, int64_t bytes) {
    char number[CLI_TEXT_NUMBER];

    if (bytes < 0)
        snprintf(text, size, "-");
    else
        snprintf(text, size, "~%s", cli_text_bytes(number, sizeof number, (uint64_t)bytes));
    return text;
}

/* "2026-11-28T13:45:01Z" */
static const char *moment_text(char text[CLI_TEXT_NUMBER], int64_t ms) {
    const time_t seconds = ms / 1000;
    struct tm parts;

    if (ms < 0 || !gmtime_r(&seconds, &parts) ||
        strftime(text, CLI_TEXT_NUMBER, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        snprintf(text, CLI_TEXT_NUMBER, "-");
    return text;
}

static tamis_status print_partition(void *context, const tamis_kafka_partition_status *partition,
                                    tamis_error *err) {
    const struct kafka_status_fields *fields = &kafka_status_fields;
    status_totals *totals = context;
    char offset[CLI_TEXT_NUMBER], low[CLI_TEXT_NUMBER], end[CLI_TEXT_NUMBER], size[CLI_TEXT_NUMBER],
        newest[CLI_TEXT_NUMBER];

    (void)err;
    if (totals->partitions == 0)
        printf("%9s %14s %14s %14s %14s %14s %12s %-20s  %s\n", fields->partition.label, fields->offset.label,
               fields->end.label, fields->lag.label, fields->state_low.label, fields->state_end.label,
               fields->state_bytes.label, fields->newest.label, fields->owner.label);
    printf("%9" PRIu32 " %14s %14" PRIu64 " %14" PRIu64 " %14s %14s %12s %-20s  %s%s%s\n",
           partition->partition,
           offset_text(offset, sizeof offset, partition->offset >= 0, (uint64_t)partition->offset),
           partition->end, partition->lag,
           offset_text(low, sizeof low, partition->has_state, partition->state_low),
           offset_text(end, sizeof end, partition->has_state, partition->state_end),
           size_text(size, sizeof size, partition->state_bytes), moment_text(newest, partition->newest),
           partition->owner ? partition->owner : "-", partition->host ? " " : "",
           partition->host ? partition->host : "");
    totals->partitions++;
    totals->lag += partition->lag;
    totals->rate += partition->rate;
    return TAMIS_OK;
}

/* ---- JSON ---- */

static tamis_status append_partition(void *context, const tamis_kafka_partition_status *partition,
                                     tamis_error *err) {
    json_t *object = json_object();

    (void)err;
    cli_json_integer(object, &kafka_status_fields.partition, partition->partition);
    cli_json_integer_or_null(object, &kafka_status_fields.offset, partition->offset >= 0,
                             (uint64_t)partition->offset);
    cli_json_integer(object, &kafka_status_fields.low, partition->low);
    cli_json_integer(object, &kafka_status_fields.end, partition->end);
    cli_json_integer(object, &kafka_status_fields.lag, partition->lag);
    cli_json_number(object, &kafka_status_fields.rate, partition->rate);
    cli_json_integer_or_null(object, &kafka_status_fields.state_low, partition->has_state,
                             partition->state_low);
    cli_json_integer_or_null(object, &kafka_status_fields.state_end, partition->has_state,
                             partition->state_end);
    cli_json_integer_or_null(object, &kafka_status_fields.state_to, partition->state_to >= 0,
                             (uint64_t)partition->state_to);
    cli_json_integer_or_null(object, &kafka_status_fields.state_bytes, partition->state_bytes >= 0,
                             (uint64_t)partition->state_bytes);
    cli_json_integer_or_null(object, &kafka_status_fields.newest, partition->newest >= 0,
                             (uint64_t)partition->newest);
    cli_json_string(object, &kafka_status_fields.owner, partition->owner);
    cli_json_string(object, &kafka_status_fields.host, partition->host);
    cli_json_append(context, object);
    return TAMIS_OK;
}

static tamis_status print_json(const tamis_kafka_status_options *options, tamis_error *err) {
    json_t *object = json_object(), *partitions = json_array();

    cli_json_string(object, &kafka_status_fields.group, options->group);
    cli_json_string(object, &kafka_status_fields.topic, options->from);
    cli_json_set(object, &kafka_status_fields.partitions, partitions);
    if (kafka_library_status(options, append_partition, partitions, err) != TAMIS_OK) {
        json_decref(object);
        return err->status;
    }
    return cli_json_write(object, stdout, 0, "kafka", err);
}

static tamis_status print_text(const tamis_kafka_status_options *options, tamis_error *err) {
    status_totals totals = {0};
    char lag[CLI_TEXT_NUMBER], rate[CLI_TEXT_NUMBER];

    if (kafka_library_status(options, print_partition, &totals, err) != TAMIS_OK)
        return err->status;
    printf("%s %s, %s a second\n", kafka_status_fields.lag.label,
           cli_text_records(lag, sizeof lag, totals.lag),
           cli_text_records(rate, sizeof rate, (uint64_t)(totals.rate + 0.5)));
    return TAMIS_OK;
}

tamis_status kafka_status(const cli_args *args, tamis_error *err) {
    const cli_value *values = args->values;
    tamis_kafka_status_options to = TAMIS_KAFKA_STATUS_OPTIONS_INIT;
    kafka_settings settings = {.count = 0};
    tamis_status status = cli_signals_begin(&to.stop_fd, err);

    if (status == TAMIS_OK)
        status = kafka_settings_read(&settings, values[KAFKA_CONFIG].text, &values[KAFKA_SETTING], err);
    if (status == TAMIS_OK) {
        to.brokers = values[KAFKA_BROKERS].text;
        to.group = values[KAFKA_GROUP].text;
        to.from = values[KAFKA_FROM].text;
        to.settings = settings.list;
        to.setting_count = settings.count;
        if (!values[CLI_OPT_QUIET].given)
            to.remark = kafka_report_remark;
        status = values[CLI_OPT_JSON].given ? print_json(&to, err) : print_text(&to, err);
        kafka_settings_name(&settings, err);
        kafka_name_option(values, err);
    }
    kafka_settings_forget(&settings);
    return status;
}
