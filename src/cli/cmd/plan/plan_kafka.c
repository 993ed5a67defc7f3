/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/plan/plan_modes.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cmd/kafka/kafka_library.h"
#include "cli/cmd/plan/plan_fields.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_number.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_window.h"

tamis_status plan_kafka_read_rate(double *rate, const char *text, tamis_error *err) {
    const char *sign = strchr(text, '/');
    char count_text[60], unit[3] = "1";
    uint64_t count, ms;

    if (sign && (size_t)(sign - text) < sizeof count_text && strlen(sign + 1) == 1) {
        snprintf(count_text, sizeof count_text, "%.*s", (int)(sign - text), text);
        unit[1] = sign[1];
        if (cli_number_count(count_text, &count) == CLI_NUMBER_OK && count > 0 &&
            cli_number_time(unit, &ms) == CLI_NUMBER_OK) {
            *rate = (double)count * 1000 / (double)ms;
            return TAMIS_OK;
        }
    }
    return cli_fail(
        err, "--rate '%.60s': not a rate of records; give a number and s, m, h or d, such as 12k/s or 1G/d",
        text);
}

tamis_status plan_kafka_make(plan_kafka *plan, const tamis_plan_options *filter_options, tamis_error *err) {
    plan->options.plan = filter_options;
    plan->topic = (tamis_kafka_plan)TAMIS_KAFKA_PLAN_INIT;
    plan->filter = (tamis_plan)TAMIS_PLAN_INIT;
    return kafka_library_plan(&plan->topic, &plan->filter, &plan->options, err);
}

static const char *partitions_text(char *text, size_t size, uint32_t count) {
    snprintf(text, size, "%" PRIu32 " partition%s", count, count == 1 ? "" : "s");
    return text;
}

void plan_kafka_text(FILE *out, const plan_kafka *plan) {
    const tamis_kafka_plan *topic = &plan->topic;
    const tamis_plan *filter = &plan->filter;
    const bool timed = filter->kind == TAMIS_KIND_WINDOW;
    char window[CLI_WINDOW_TEXT], number[CLI_TEXT_NUMBER], other[CLI_TEXT_NUMBER];

    if (timed)
        fprintf(out, "%-11s %s\n", plan_fields.window.label, cli_window_text(window, filter));
    fprintf(out, "keys        %s distinct%s, %s in a partition\n",
            cli_text_count(number, sizeof number, topic->keys), timed ? " in a window" : "",
            cli_text_count(other, sizeof other, topic->partition_keys));
    fprintf(out, "%-11s %s\n", plan_fields.fpr.label, cli_text_rate(number, sizeof number, filter->fpr));
    fprintf(out, "%-11s %s for the filter, %.1f bits per key; kafka dedup --expect %" PRIu64 "\n",
            plan_fields.partition_memory.label,
            cli_text_bytes(number, sizeof number, topic->partition_memory), filter->bits_per_key,
            topic->partition_keys);
    fprintf(out, "%-11s %s for the filters of %s\n", plan_fields.host_memory.label,
            cli_text_bytes(number, sizeof number, topic->host_memory),
            partitions_text(other, sizeof other, topic->host_partitions));
    fprintf(out, "%-11s %s in the state topic, %.1f bytes per key", plan_fields.state_bytes.label,
            cli_text_bytes(number, sizeof number, topic->state_bytes),
            (double)topic->state_bytes / (double)topic->keys);
    if (timed)
        fprintf(out, "; up to %s more of old segments",
                cli_text_bytes(number, sizeof number, topic->segment_bytes));
    fprintf(out, "\n%-11s %.*f s for %s of a host, at %s keys a second\n", plan_fields.restore_seconds.label,
            topic->restore_seconds < 10 ? 1 : 0, topic->restore_seconds,
            partitions_text(other, sizeof other, topic->host_partitions),
            cli_text_metric(number, sizeof number, TAMIS_KAFKA_RESTORE_RATE));
    fputs("\nThe restore is computed from a measured one, 10^7 keys in 1.7 s: see docs/PERFORMANCE.md.\n",
          out);
}

tamis_status plan_kafka_json(FILE *out, const plan_kafka *plan, tamis_error *err) {
    const tamis_kafka_plan *topic = &plan->topic;
    const tamis_plan *filter = &plan->filter;
    json_t *object = json_object();

    cli_json_integer(object, &plan_fields.expect, topic->keys);
    cli_json_number(object, &plan_fields.fpr, filter->fpr);
    if (filter->kind == TAMIS_KIND_WINDOW) {
        cli_json_integer(object, &plan_fields.window, filter->window);
        cli_json_integer(object, &plan_fields.step, filter->step);
        cli_json_integer(object, &plan_fields.lateness, filter->lateness);
    }
    cli_json_number(object, &plan_fields.bits_per_key, filter->bits_per_key);
    cli_json_integer(object, &plan_fields.partitions, plan->options.partitions);
    cli_json_integer(object, &plan_fields.hosts, plan->options.hosts);
    cli_json_integer(object, &plan_fields.partition_expect, topic->partition_keys);
    cli_json_integer(object, &plan_fields.partition_memory, topic->partition_memory);
    cli_json_integer(object, &plan_fields.host_partitions, topic->host_partitions);
    cli_json_integer(object, &plan_fields.host_memory, topic->host_memory);
    cli_json_integer(object, &plan_fields.state_keys, topic->state_keys);
    cli_json_integer(object, &plan_fields.state_bytes, topic->state_bytes);
    cli_json_integer(object, &plan_fields.segment_bytes, topic->segment_bytes);
    cli_json_number(object, &plan_fields.restore_seconds, topic->restore_seconds);
    cli_json_number(object, &plan_fields.restore_rate, TAMIS_KAFKA_RESTORE_RATE);
    return cli_json_write(object, out, 0, "plan", err);
}
