/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tamis kafka count: from the options to those of the library's run, and its statistics to standard error.
 * The counters are in a Redis, so nothing is on standard output. Statistics are printed after a failure too:
 * what was counted before it stays counted.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cmd/kafka/kafka_library.h"
#include "cli/cmd/kafka/kafka_metrics.h"
#include "cli/cmd/kafka/kafka_options.h"
#include "cli/cmd/kafka/kafka_settings.h"
#include "cli/core/cli_choice.h"
#include "cli/input/cli_extract.h"
#include "cli/process/cli_progress.h"
#include "cli/process/cli_signal.h"
#include "cli/server/cli_server.h"

static tamis_status check_options(const cli_value *values, tamis_error *err) {
    if (!values[KAFKA_TO].given)
        return cli_fail(err, "kafka count: needs --to redis://HOST:PORT; see tamis help kafka");
    if (!values[KAFKA_COUNT].given && !values[KAFKA_SUM].given && !values[KAFKA_DISTINCT].given)
        return cli_fail(err, "kafka count: needs --count, --sum or --distinct; see tamis help kafka");
    if (!cli_server_is_uri(values[KAFKA_TO].text))
        return cli_fail(err, "--to '%.100s': expected the URI of a Redis: redis://HOST:PORT",
                        values[KAFKA_TO].text);
    if (values[CLI_OPT_MISSING].given && values[CLI_OPT_MISSING].number == TAMIS_STREAM_PASS)
        return cli_fail(err, "--missing pass: kafka count passes no records on; give drop or fail");
    if (values[CLI_OPT_ON_ERROR].given && values[CLI_OPT_ON_ERROR].number == CLI_ON_ERROR_PASS)
        return cli_fail(err, "--on-error pass: kafka count passes no records on; give skip or fail");
    return TAMIS_OK;
}

/* The options of a run, and the memory that they point to. */
typedef struct count_config {
    tamis_kafka_count_options options;
    cli_extract extract;
    kafka_settings settings;
    cli_metrics *metrics; /* NULL: none */
} count_config;

static tamis_status configure(count_config *config, const cli_value *values, tamis_error *err) {
    const cli_extract_others others = {.time = values[KAFKA_TIME].text, .fields = true};
    tamis_kafka_count_options *to = &config->options;

    *to = (tamis_kafka_count_options)TAMIS_KAFKA_COUNT_OPTIONS_INIT;
    if (check_options(values, err) != TAMIS_OK ||
        cli_extract_configure(&config->extract, values, &others, -1, err) != TAMIS_OK ||
        kafka_settings_read(&config->settings, values[KAFKA_CONFIG].text, &values[KAFKA_SETTING], err) !=
            TAMIS_OK)
        return err->status;
    to->brokers = values[KAFKA_BROKERS].text;
    to->group = values[KAFKA_GROUP].text;
    to->from = values[KAFKA_FROM].text;
    to->to = values[KAFKA_TO].text;
    to->templates = (const char *const *)values[KAFKA_COUNT].list;
    to->template_count = values[KAFKA_COUNT].count;
    to->sums = (const char *const *)values[KAFKA_SUM].list;
    to->sum_count = values[KAFKA_SUM].count;
    to->distincts = (const char *const *)values[KAFKA_DISTINCT].list;
    to->distinct_count = values[KAFKA_DISTINCT].count;
    to->expire_ms = values[KAFKA_EXPIRE].number;
    to->extract = &config->extract.options;
    to->instance = values[KAFKA_INSTANCE].text;
    to->settings = config->settings.list;
    to->setting_count = config->settings.count;
    if (values[CLI_OPT_MISSING].given)
        to->missing = (tamis_stream_policy)values[CLI_OPT_MISSING].number;
    if (values[CLI_OPT_ON_ERROR].number == CLI_ON_ERROR_SKIP)
        to->malformed = TAMIS_STREAM_DROP;
    to->commit_ms =
        values[KAFKA_COMMIT_EVERY].given ? (uint32_t)values[KAFKA_COMMIT_EVERY].number : KAFKA_COMMIT_DEFAULT;
    to->until_end = values[KAFKA_UNTIL_END].given;
    return TAMIS_OK;
}

static void report_stats(void *context, const tamis_kafka_count_stats *stats) {
    const count_config *config = context;

    kafka_metrics_update_count(config->metrics, stats);
}

static void print_stats(const tamis_kafka_count_stats *stats, double seconds) {
    kafka_print_count("records", stats->records);
    kafka_print_count("counted", stats->counted);
    kafka_print_count("counted before", stats->repeated);
    kafka_print_count("missing", stats->missing);
    kafka_print_count("malformed", stats->malformed);
    kafka_print_count("batches", stats->batches);
    kafka_print_count("conflicts", stats->conflicts);
    fprintf(stderr, "%-22s %15.3f\n", "seconds", seconds);
}

tamis_status kafka_count(const cli_args *args, tamis_error *err) {
    const double begun = cli_progress_now();
    count_config config;
    tamis_kafka_count_stats stats = TAMIS_KAFKA_COUNT_STATS_INIT;
    int stop_fd = -1;

    memset(&config, 0, sizeof config);
    tamis_status status = cli_signals_begin(&stop_fd, err);
    if (status == TAMIS_OK)
        status = configure(&config, args->values, err);
    if (status == TAMIS_OK)
        status = kafka_metrics_open(&config.metrics, args->values, err);
    if (status == TAMIS_OK) {
        if (config.metrics) {
            kafka_metrics_update_count(config.metrics, &stats);
            config.options.progress = report_stats;
        }
        config.options.context = &config;
        config.options.stop_fd = stop_fd;
        if (!args->values[CLI_OPT_QUIET].given)
            config.options.remark = kafka_report_remark;
        status = kafka_library_count(&config.options, &stats, err);
        if (status == TAMIS_E_RECORD)
            cli_remedy(err, "correct the sender, or give --on-error skip");
        if (status == TAMIS_E_NO_KEY)
            cli_remedy(err, "correct the sender, or give --missing drop");
        kafka_settings_name(&config.settings, err);
        kafka_name_option(args->values, err);
        if (args->values[CLI_OPT_STATS].given && (status == TAMIS_OK || stats.records > 0))
            print_stats(&stats, cli_progress_now() - begun);
    }
    if (config.metrics && stats.assignments > 0)
        kafka_metrics_update_count(config.metrics, &stats);
    cli_metrics_close(config.metrics);
    kafka_settings_forget(&config.settings);
    cli_extract_release(&config.extract);
    return status;
}
