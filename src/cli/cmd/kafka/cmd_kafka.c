/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis kafka: the actions dedup, repartition and check, which copy topics. count_command.c and
 * status_command.c have the other two.
 *
 *     options (kafka_options.c) --> configure --> run_library --> remarks and summary
 *
 * The library does the work (tamis/experimental/kafka.h). This file turns options into its structs, prints
 * what it reports, and names the option that an error is about.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cmd/kafka/kafka_library.h"
#include "cli/cmd/kafka/kafka_metrics.h"
#include "cli/cmd/kafka/kafka_options.h"
#include "cli/cmd/kafka/kafka_settings.h"
#include "cli/core/cli_choice.h"
#include "cli/core/cli_option.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_filter.h"
#include "cli/input/cli_extract.h"
#include "cli/input/cli_key.h"
#include "cli/process/cli_progress.h"
#include "cli/process/cli_secret.h"
#include "cli/process/cli_signal.h"

static const char *const action_names[] = {
    [KAFKA_ACTION_DEDUP] = "dedup",   [KAFKA_ACTION_REPARTITION] = "repartition",
    [KAFKA_ACTION_CHECK] = "check",   [KAFKA_ACTION_COUNT] = "count",
    [KAFKA_ACTION_STATUS] = "status", NULL};

/* The actions that use an option. All actions use an option that is not listed. */
enum {
    DEDUP = 1 << KAFKA_ACTION_DEDUP,
    REPARTITION = 1 << KAFKA_ACTION_REPARTITION,
    CHECK = 1 << KAFKA_ACTION_CHECK,
    COUNT = 1 << KAFKA_ACTION_COUNT,
    STATUS = 1 << KAFKA_ACTION_STATUS,
    COPIES = DEDUP | REPARTITION | CHECK,
    RUNS = COPIES | COUNT
};
static const struct {
    int id;
    unsigned actions;
} uses[] = {{KAFKA_TO, RUNS},
            {KAFKA_DUPLICATES_TO, DEDUP},
            {KAFKA_DEAD_LETTERS_TO, COPIES},
            {KAFKA_FILTER, CHECK},
            {KAFKA_PRESENT_TO, CHECK},
            {KAFKA_COUNT, COUNT},
            {KAFKA_SUM, COUNT},
            {KAFKA_DISTINCT, COUNT},
            {KAFKA_EXPIRE, COUNT},
            {CLI_OPT_KEY, COPIES},
            {CLI_OPT_DELIMITER, RUNS},
            {CLI_OPT_TRIM, RUNS},
            {CLI_OPT_IGNORE_CASE, RUNS},
            {CLI_OPT_MISSING, RUNS},
            {CLI_OPT_ON_ERROR, RUNS},
            {CLI_OPT_EXPECT, DEDUP},
            {CLI_OPT_FPR, DEDUP},
            {CLI_OPT_MEMORY, DEDUP},
            {CLI_OPT_KIND, DEDUP},
            {CLI_OPT_EXACT, DEDUP},
            {CLI_OPT_SEED, DEDUP},
            {CLI_OPT_SECRET_FILE, DEDUP | CHECK},
            {KAFKA_WINDOW, DEDUP},
            {KAFKA_STEP, DEDUP},
            {KAFKA_TIME, DEDUP | COUNT},
            {KAFKA_LATENESS, DEDUP},
            {KAFKA_LATE, DEDUP},
            {KAFKA_INSTANCE, RUNS},
            {KAFKA_STANDBY, DEDUP},
            {KAFKA_COMMIT_EVERY, RUNS},
            {KAFKA_UNTIL_END, RUNS},
            {KAFKA_METRICS, RUNS},
            {CLI_OPT_STATS, RUNS},
            {CLI_OPT_JSON, STATUS}};

/* The options of a run, and the memory that they point to. */
typedef struct kafka_config {
    tamis_kafka_dedup_options options;
    cli_extract extract;
    cli_filter_spec filter;
    cli_secret secret;
    kafka_settings settings;
    cli_metrics *metrics; /* NULL: none */
    kafka_action action;
    tamis_filter *list; /* filter of a check; else NULL */
} kafka_config;

/* ---- options ---- */

static tamis_status check_options(kafka_action action, const cli_value *values, tamis_error *err) {
    const char *name = action_names[action];

    if (!values[KAFKA_BROKERS].given)
        return cli_fail(err, "kafka %s: needs --brokers HOST:PORT; see tamis help kafka", name);
    if (!values[KAFKA_GROUP].given)
        return cli_fail(err, "kafka %s: needs --group GROUP; see tamis help kafka", name);
    if (!values[KAFKA_FROM].given)
        return cli_fail(err, "kafka %s: needs --from TOPIC; see tamis help kafka", name);
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (values[uses[i].id].given && !(uses[i].actions & 1u << action))
            return cli_fail(err, "kafka %s: does not use --%s; leave it out", name,
                            cli_option_of(kafka_options, uses[i].id)->name);
    return TAMIS_OK;
}

static tamis_status check_topics(kafka_action action, const cli_value *values, tamis_error *err) {
    if (action == KAFKA_ACTION_CHECK && !values[KAFKA_FILTER].given)
        return cli_fail(err, "kafka check: needs --filter FILTER; see tamis help kafka");
    if (!values[KAFKA_TO].given && !values[KAFKA_PRESENT_TO].given)
        return cli_fail(err, "kafka %s: needs --to TOPIC%s; see tamis help kafka", action_names[action],
                        action == KAFKA_ACTION_CHECK ? " or --present-to TOPIC" : "");
    return TAMIS_OK;
}

static tamis_status configure_keys(kafka_config *config, const cli_value *values, tamis_error *err) {
    const cli_value *key = &values[CLI_OPT_KEY];
    const cli_extract_others others = {.time = values[KAFKA_TIME].text};

    for (size_t i = 0; i < key->count; i++) {
        if (strncmp(key->list[i], "kafka:", strlen("kafka:")) != 0)
            continue;
        if (values[CLI_OPT_DELIMITER].given)
            return cli_fail(err, "--delimiter: contradicts --key %.60s, which has no fields; leave it out",
                            key->list[i]);
        config->extract.options = (tamis_extractor_options)TAMIS_EXTRACTOR_OPTIONS_INIT;
        config->extract.options.parts = (const char *const *)key->list;
        config->extract.options.part_count = key->count;
        config->extract.options.time = others.time;
        config->extract.options.trim = values[CLI_OPT_TRIM].given;
        config->extract.options.ignore_case = values[CLI_OPT_IGNORE_CASE].given;
        return TAMIS_OK;
    }
    return cli_extract_configure(&config->extract, values, &others, -1, err);
}

/* Sets the plan of a window, or refuses options that need one. */
static tamis_status configure_window(kafka_config *config, const cli_value *values, tamis_error *err) {
    static const int needs[] = {KAFKA_STEP, KAFKA_TIME, KAFKA_LATENESS, KAFKA_LATE};
    tamis_plan_options *plan = &config->filter.plan_options;

    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (values[needs[i]].given && !values[KAFKA_WINDOW].given)
            return cli_fail(err, "--%s needs --window TIME; give it, or leave --%s out",
                            cli_option_of(kafka_options, needs[i])->name,
                            cli_option_of(kafka_options, needs[i])->name);
    if (!values[KAFKA_WINDOW].given)
        return TAMIS_OK;
    plan->kind = TAMIS_KIND_WINDOW;
    plan->window = values[KAFKA_WINDOW].number;
    plan->step = values[KAFKA_STEP].number;
    plan->lateness = values[KAFKA_LATENESS].number;
    config->options.late = (tamis_stream_policy)values[KAFKA_LATE].number;
    return TAMIS_OK;
}

static void set_policies(tamis_kafka_dedup_options *to, const cli_value *values) {
    static const tamis_stream_policy on_error[] = {[CLI_ON_ERROR_FAIL] = TAMIS_STREAM_FAIL,
                                                   [CLI_ON_ERROR_SKIP] = TAMIS_STREAM_DROP,
                                                   [CLI_ON_ERROR_PASS] = TAMIS_STREAM_PASS};

    to->missing = (tamis_stream_policy)values[CLI_OPT_MISSING].number;
    to->malformed = on_error[values[CLI_OPT_ON_ERROR].number];
}

/* Opens the filter of a check. Keys of records get the form of the keys in the filter. */
static tamis_status open_list(kafka_config *config, const char *name, tamis_error *err) {
    cli_key_form form = {.hex = false};

    if (cli_filter_open(&config->list, name, config->secret.size > 0 ? &config->secret : NULL, NULL, err) !=
            TAMIS_OK ||
        cli_key_apply_filter(&form, config->list, name, false, err) != TAMIS_OK)
        return err->status;
    if (form.type != CLI_KEY_BYTES && form.type != CLI_KEY_UTF8)
        return cli_fail(err,
                        "%.200s: its keys are numbers (--type %s), which records of Kafka are not; build a "
                        "filter of their texts",
                        name, cli_key_types[form.type]);
    return cli_extract_apply_normalization(&config->extract, form.normalization, err);
}

static tamis_status configure(kafka_config *config, const cli_value *values, int stop_fd, tamis_error *err) {
    tamis_kafka_dedup_options *to = &config->options;

    *to = (tamis_kafka_dedup_options)TAMIS_KAFKA_DEDUP_OPTIONS_INIT;
    if (check_topics(config->action, values, err) != TAMIS_OK ||
        configure_keys(config, values, err) != TAMIS_OK ||
        cli_filter_configure(&config->filter, values, 1e-9, err) != TAMIS_OK ||
        configure_window(config, values, err) != TAMIS_OK ||
        kafka_settings_read(&config->settings, values[KAFKA_CONFIG].text, &values[KAFKA_SETTING], err) !=
            TAMIS_OK)
        return err->status;
    if (config->filter.secret_file) {
        if (cli_secret_read(&config->secret, config->filter.secret_file, stop_fd, err) != TAMIS_OK)
            return err->status;
        to->secret = config->action == KAFKA_ACTION_DEDUP ? config->secret.bytes : NULL;
        to->secret_size = config->action == KAFKA_ACTION_DEDUP ? config->secret.size : 0;
    }
    if (config->action == KAFKA_ACTION_CHECK && open_list(config, values[KAFKA_FILTER].text, err) != TAMIS_OK)
        return err->status;
    to->brokers = values[KAFKA_BROKERS].text;
    to->group = values[KAFKA_GROUP].text;
    to->from = values[KAFKA_FROM].text;
    to->to = values[KAFKA_TO].text;
    to->duplicates_to =
        values[config->action == KAFKA_ACTION_CHECK ? KAFKA_PRESENT_TO : KAFKA_DUPLICATES_TO].text;
    to->dead_letters_to = values[KAFKA_DEAD_LETTERS_TO].text;
    to->instance = values[KAFKA_INSTANCE].text;
    to->settings = config->settings.list;
    to->setting_count = config->settings.count;
    to->extract = &config->extract.options;
    to->plan = config->action == KAFKA_ACTION_DEDUP ? &config->filter.plan_options : NULL;
    to->seed = config->filter.seed;
    to->commit_ms =
        values[KAFKA_COMMIT_EVERY].given ? (uint32_t)values[KAFKA_COMMIT_EVERY].number : KAFKA_COMMIT_DEFAULT;
    to->until_end = values[KAFKA_UNTIL_END].given;
    to->standby = values[KAFKA_STANDBY].given;
    to->stop_fd = stop_fd;
    set_policies(to, values);
    return TAMIS_OK;
}

/* ---- report ---- */

void kafka_report_remark(void *context, const char *message) {
    (void)context;
    cli_report(message);
}

static void report_stats(void *context, const tamis_kafka_dedup_stats *stats) {
    const kafka_config *config = context;

    kafka_metrics_update_dedup(config->metrics, stats);
}

void kafka_print_count(const char *name, uint64_t count) {
    char text[CLI_TEXT_NUMBER];

    fprintf(stderr, "%-22s %15s\n", name, cli_text_count(text, sizeof text, count));
}

static void print_stats(const kafka_config *config, const tamis_kafka_dedup_stats *stats, double seconds) {
    const kafka_action action = config->action;

    kafka_print_count("records", stats->records);
    if (action != KAFKA_ACTION_REPARTITION) {
        kafka_print_count(action == KAFKA_ACTION_CHECK ? "absent" : "unique", stats->unique);
        kafka_print_count(action == KAFKA_ACTION_CHECK ? "present" : "duplicates", stats->duplicates);
    }
    kafka_print_count("missing", stats->missing);
    kafka_print_count("malformed", stats->malformed);
    if (action == KAFKA_ACTION_DEDUP)
        kafka_print_count("late", stats->late);
    kafka_print_count("transactions", stats->transactions);
    kafka_print_count("aborted", stats->aborted);
    if (action == KAFKA_ACTION_DEDUP)
        kafka_print_count("restored keys", stats->restored);
    fprintf(stderr, "%-22s %15.3f\n", "seconds", seconds);
}

/* Puts the names of options into the message of the library. */
static void advise(const kafka_settings *settings, const cli_value *values, tamis_status status,
                   tamis_error *err) {
    cli_plan_name_memory(&values[CLI_OPT_MEMORY], err);
    if (status == TAMIS_E_RECORD)
        cli_remedy(err, "correct the sender, or give --dead-letters-to, or --on-error skip or pass");
    if (status == TAMIS_E_NO_KEY)
        cli_remedy(err, "correct the sender, or give --dead-letters-to, or --missing pass or drop");
    if (status == TAMIS_E_FULL)
        cli_remedy(err, "give a larger --expect or more --memory; the keys are in the state topic");
    kafka_settings_name(settings, err);
    kafka_name_option(values, err);
}

/* ---- the command ---- */

static tamis_status run_library(const kafka_config *config, tamis_kafka_dedup_stats *stats,
                                tamis_error *err) {
    switch (config->action) {
    case KAFKA_ACTION_REPARTITION:
        return kafka_library_repartition(&config->options, stats, err);
    case KAFKA_ACTION_CHECK:
        return kafka_library_check(config->list, &config->options, stats, err);
    default:
        return kafka_library_dedup(&config->options, stats, err);
    }
}

static tamis_status run_copy(const cli_args *args, kafka_action action, tamis_error *err) {
    const double begun = cli_progress_now();
    kafka_config config;
    tamis_kafka_dedup_stats stats = TAMIS_KAFKA_DEDUP_STATS_INIT;
    int stop_fd = -1;

    memset(&config, 0, sizeof config);
    config.action = action;
    tamis_status status = cli_signals_begin(&stop_fd, err);
    if (status == TAMIS_OK)
        status = configure(&config, args->values, stop_fd, err);
    if (status == TAMIS_OK)
        status = kafka_metrics_open(&config.metrics, args->values, err);
    if (status == TAMIS_OK) {
        if (!args->values[CLI_OPT_QUIET].given)
            config.options.remark = kafka_report_remark;
        if (config.metrics)
            config.options.progress = report_stats;
        config.options.context = &config;
        status = run_library(&config, &stats, err);
        if (status != TAMIS_OK && status != TAMIS_E_INTERRUPTED)
            advise(&config.settings, args->values, status, err);
        if (args->values[CLI_OPT_STATS].given && (status == TAMIS_OK || stats.records > 0))
            print_stats(&config, &stats, cli_progress_now() - begun);
    }
    if (config.metrics && stats.assignments > 0)
        kafka_metrics_update_dedup(config.metrics, &stats);
    cli_metrics_close(config.metrics);
    tamis_filter_free(config.list);
    cli_secret_forget(&config.secret);
    kafka_settings_forget(&config.settings);
    cli_extract_release(&config.extract);
    return status;
}

static tamis_status run_kafka(const cli_args *args, bool *negative, tamis_error *err) {
    const char *word = args->operand_count > 0 ? args->operands[0] : NULL;
    int action = 0;

    (void)negative;
    if (!word)
        return cli_fail(err, "kafka: the action is missing; give dedup, repartition, check, count or status");
    while (action_names[action] && strcmp(word, action_names[action]) != 0)
        action++;
    if (!action_names[action])
        return cli_fail(err, "kafka: '%.60s' is not known; give dedup, repartition, check, count or status",
                        word);
    if (args->operand_count > 1)
        return cli_fail(err, "kafka %s: '%.60s': takes options only; see tamis help kafka", word,
                        args->operands[1]);
    if (check_options((kafka_action)action, args->values, err) != TAMIS_OK)
        return err->status;
    switch (action) {
    case KAFKA_ACTION_COUNT:
        return kafka_count(args, err);
    case KAFKA_ACTION_STATUS:
        return kafka_status(args, err);
    default:
        return run_copy(args, (kafka_action)action, err);
    }
}

const cli_command cmd_kafka = {
    .name = "kafka",
    .summary = "copy or count a Kafka topic, exactly once",
    .operands = "dedup|repartition|check|count|status",
    .operand_words = action_names,
    .manual = &cli_manual_kafka,
    .options = kafka_options,
    .conflicts = kafka_conflicts,
    .fields = CLI_FIELDS(kafka_status_fields),
    .run = run_kafka,
};
