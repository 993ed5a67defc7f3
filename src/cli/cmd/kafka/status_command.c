/* SPDX-License-Identifier: BSD-2-Clause */
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

/* ---- text ---- */

typedef struct status_totals {
    uint64_t partitions, lag;
} status_totals;

static const char *offset_text(char *text, size_t size, bool is_known, uint64_t offset) {
    if (is_known)
        snprintf(text, size, "%" PRIu64, offset);
    else
        snprintf(text, size, "-");
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
    status_totals *totals = context;
    char offset[CLI_TEXT_NUMBER], low[CLI_TEXT_NUMBER], end[CLI_TEXT_NUMBER], newest[CLI_TEXT_NUMBER];

    (void)err;
    if (totals->partitions == 0)
        printf("%9s %14s %14s %14s %14s %14s %-20s  %s\n", "partition", "offset", "end", "lag", "state low",
               "state end", "newest", "owner");
    printf("%9" PRIu32 " %14s %14" PRIu64 " %14" PRIu64 " %14s %14s %-20s  %s%s%s\n", partition->partition,
           offset_text(offset, sizeof offset, partition->offset >= 0, (uint64_t)partition->offset),
           partition->end, partition->lag,
           offset_text(low, sizeof low, partition->has_state, partition->state_low),
           offset_text(end, sizeof end, partition->has_state, partition->state_end),
           moment_text(newest, partition->newest), partition->owner ? partition->owner : "-",
           partition->host ? " " : "", partition->host ? partition->host : "");
    totals->partitions++;
    totals->lag += partition->lag;
    return TAMIS_OK;
}

/* ---- JSON ---- */

static tamis_status append_partition(void *context, const tamis_kafka_partition_status *partition,
                                     tamis_error *err) {
    json_t *object = json_object();

    (void)err;
    cli_json_count(object, "partition", partition->partition);
    cli_json_count_or_null(object, "offset", partition->offset >= 0, (uint64_t)partition->offset);
    cli_json_count(object, "low", partition->low);
    cli_json_count(object, "end", partition->end);
    cli_json_count(object, "lag", partition->lag);
    cli_json_count_or_null(object, "state_low", partition->has_state, partition->state_low);
    cli_json_count_or_null(object, "state_end", partition->has_state, partition->state_end);
    cli_json_count_or_null(object, "newest", partition->newest >= 0, (uint64_t)partition->newest);
    cli_json_text(object, "owner", partition->owner);
    cli_json_text(object, "host", partition->host);
    cli_json_append(context, object);
    return TAMIS_OK;
}

static tamis_status print_json(const tamis_kafka_status_options *options, tamis_error *err) {
    json_t *object = json_object(), *partitions = json_array();

    cli_json_text(object, "group", options->group);
    cli_json_text(object, "topic", options->from);
    cli_json_put(object, "partitions", partitions);
    if (kafka_library_status(options, append_partition, partitions, err) != TAMIS_OK) {
        json_decref(object);
        return err->status;
    }
    return cli_json_write(object, stdout, 0, "kafka", err);
}

static tamis_status print_text(const tamis_kafka_status_options *options, tamis_error *err) {
    status_totals totals = {0};
    char number[CLI_TEXT_NUMBER];

    if (kafka_library_status(options, print_partition, &totals, err) != TAMIS_OK)
        return err->status;
    printf("lag %s\n", cli_text_records(number, sizeof number, totals.lag));
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
        status = values[CLI_OPT_JSON].given ? print_json(&to, err) : print_text(&to, err);
        kafka_name_option("setting ", err);
    }
    kafka_settings_forget(&settings);
    return status;
}
