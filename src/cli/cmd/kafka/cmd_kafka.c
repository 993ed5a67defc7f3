/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cmd/kafka/kafka_library.h"
#include "cli/cmd/kafka/kafka_metrics.h"
#include "cli/cmd/kafka/kafka_options.h"
#include "cli/cmd/kafka/kafka_settings.h"
#include "cli/core/cli_number.h"
#include "cli/core/cli_option.h"
#include "cli/core/cli_rows.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_filter.h"
#include "cli/input/cli_extract.h"
#include "cli/input/cli_key.h"
#include "cli/process/cli_progress.h"
#include "cli/process/cli_secret.h"
#include "cli/process/cli_signal.h"

static const cli_option options[] = {
    {.id = KAFKA_BROKERS,
     .name = "brokers",
     .type = CLI_TEXT,
     .value = "HOST:PORT,...",
     .help = "Some brokers of the cluster (required); the others are found by them."},
    {.id = KAFKA_GROUP,
     .name = "group",
     .type = CLI_TEXT,
     .value = "GROUP",
     .help = "Consumer group (required). Processes with the same group share the partitions.",
     .more =
         "The brokers keep the offsets of the group in FROM. With dedup, the topic GROUP.FROM.tamis-state "
         "has the keys seen; it is made at the first start. All processes of a group have the same options, "
         "except --instance."},
    {.id = KAFKA_FROM,
     .name = "from",
     .type = CLI_TEXT,
     .once = true,
     .value = "TOPIC",
     .help = "Topic to read (required)."},
    {.id = KAFKA_TO,
     .name = "to",
     .type = CLI_TEXT,
     .value = "TOPIC|URI",
     .help = "dedup: topic for the first record of each key; repartition: for all records; check: for "
             "absent keys; count: redis://HOST:PORT of the counters (required).",
     .more = "check needs it only without --present-to. Records keep key, value, headers and timestamp, and "
             "their partition if the topic has as many as FROM. The topic must exist. A URI may also begin "
             "with rediss, redis+sentinel, redis+cluster or redis+shard; its parameters are in "
             "tamis-redis(1)."},
    {.id = KAFKA_DUPLICATES_TO,
     .name = "duplicates-to",
     .type = CLI_TEXT,
     .value = "TOPIC",
     .help = "dedup: topic for all other records; without it they are dropped."},
    {.id = KAFKA_DEAD_LETTERS_TO,
     .name = "dead-letters-to",
     .type = CLI_TEXT,
     .value = "TOPIC",
     .help = "Topic for malformed records; without it the command fails at the first one.",
     .more = "A header tamis.error says why and where. Records without a key go there too with --missing "
             "fail. Not "
             "with count."},
    {.id = KAFKA_FILTER,
     .name = "filter",
     .type = CLI_TEXT,
     .value = "FILTER",
     .help = "check: file or URI of the filter in which keys are looked up (required)."},
    {.id = KAFKA_PRESENT_TO,
     .name = "present-to",
     .type = CLI_TEXT,
     .value = "TOPIC",
     .help = "check: topic for records whose key is in the filter; without it they are dropped.",
     .more = "--to is for the others; one of the two is enough. A key that is not in the filter is taken for "
             "one that "
             "is at the rate of the filter."},
    {.id = KAFKA_COUNT,
     .name = "count",
     .type = CLI_TEXT,
     .value = "TEMPLATE",
     .many = true,
     .help = "count: names of counters, as clicks:{day}:{json:/page}; may be repeated.",
     .more =
         "Each record adds 1 to one counter of each TEMPLATE. {month}, {day} and {hour} are its time in UTC, "
         "{kafka:key} its key in Kafka, and {kafka:header:NAME} its last header with this name. "
         "{json:/POINTER}, {csv:N}, {field:N}, {bytes:FROM-TO}, {regex:PATTERN} and {line} are parts of its "
         "value. Between two of them must be a colon, or another sign that values cannot have: of a value, "
         "bytes other than letters, digits, - . _ ~ / and those of UTF-8 are written %XX."},
    {.id = KAFKA_SUM,
     .name = "sum",
     .type = CLI_TEXT,
     .value = "TEMPLATE={PART}",
     .many = true,
     .help = "count: add the integer in PART to a counter, as bytes:{day}={json:/bytes}; may be repeated.",
     .more =
         "It is from -(2^53 - 1) to 2^53 - 1, in digits; a record with anything else there is malformed, see "
         "--on-error. A counter that would exceed 64 bits ends the run before it is changed."},
    {.id = KAFKA_DISTINCT,
     .name = "distinct",
     .type = CLI_TEXT,
     .value = "TEMPLATE={PART}",
     .many = true,
     .help = "count: count the different values of PART, as users:{day}={json:/user}; may be repeated.",
     .more = "The counter is a HyperLogLog of Redis, of at most 12 KiB: PFCOUNT gives the number, with a "
             "standard "
             "error of 0.81%, and PFMERGE joins several."},
    {.id = KAFKA_EXPIRE,
     .name = "expire",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help = "count: Redis removes a counter of a {month}, {day} or {hour} TIME after the end of it; others "
             "stay.",
     .more = "A late record does not bring back a counter that was removed. TIME applies to the counters "
             "that get "
             "records from then on."},
    {.id = CLI_OPT_KEY,
     .name = "key",
     .type = CLI_TEXT,
     .value = "PART",
     .fallback = "line",
     .many = true,
     .help =
         "The key of a record: line (the whole value), a part of the value as for tamis dedup, kafka:key or "
         "kafka:header:NAME; may be repeated. Not with count.",
     .more =
         "Parts of the value are field:N, bytes:FROM-TO, csv:N, json:/POINTER and regex:PATTERN. "
         "kafka:key is the key of the record in Kafka, kafka:header:NAME its last header with this "
         "name; they cannot be joined with other parts. For dedup the same key must always be in the same "
         "partition of FROM: give its producers this key, or a key that depends on it alone, or "
         "repartition the topic first."},
    CLI_ROW_DELIMITER,
    {.id = CLI_OPT_TRIM,
     .name = "trim",
     .type = CLI_FLAG,
     .help = "Remove blanks from both ends of a key, or of each of its parts."},
    {.id = CLI_OPT_IGNORE_CASE,
     .name = "ignore-case",
     .type = CLI_FLAG,
     .help = "Ignore the case of letters in keys: Ada and ADA are equal."},
    {.id = CLI_OPT_MISSING,
     .name = "missing",
     .type = CLI_CHOICE,
     .value = "ACTION",
     .fallback = "pass",
     .choices = cli_missing,
     .help = "For a record without a key: pass it on to TO without a lookup, drop it, or fail.",
     .more = "A tombstone, whose value is NULL, has no key unless --key is kafka:key or kafka:header:NAME. "
             "With count: "
             "for a record that lacks a value of a TEMPLATE, drop (the default) or fail; it still counts in "
             "the others."},
    {.id = CLI_OPT_ON_ERROR,
     .name = "on-error",
     .type = CLI_CHOICE,
     .value = "ACTION",
     .fallback = "fail",
     .choices = cli_on_error,
     .help = "For a malformed record: fail, skip it, or pass it on to TO without a lookup (not with count).",
     .more = "The error names partition and offset; the records before it are committed."},
    {.id = CLI_OPT_EXPECT,
     .name = "expect",
     .type = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = TAMIS_EXPECT_MAX,
     .help = "Number of distinct keys in a partition; without it its filter grows as keys come."},
    {.id = CLI_OPT_FPR,
     .name = "fpr",
     .type = CLI_RATE,
     .value = "RATE",
     .fallback = "1e-9",
     .rate_min = TAMIS_FPR_MIN,
     .rate_max = TAMIS_FPR_MAX,
     .help = "Probability that a new key is taken for a duplicate, as 1e-6 or 0.1%."},
    {.id = CLI_OPT_MEMORY,
     .name = "memory",
     .type = CLI_SIZE,
     .value = "SIZE",
     .min = 1,
     .max = CLI_EXBIBYTE,
     .help = "Maximum memory of the filter of a partition, growth included, as in 512MiB or 2G."},
    {.id = KAFKA_WINDOW,
     .name = "window",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help =
         "Forget keys after TIME, as in 30m, 24h or 7d: a record is a duplicate if its key came within TIME "
         "before it.",
     .more =
         "Times are those of the records in Kafka (see --time), so a member that catches up answers as one "
         "that was never behind. They are compared in whole steps: a key counts for TIME, and for at most "
         "one step more. State, memory and the time of a restore are those of the keys of one window; "
         "--expect is their number in a partition."},
    {.id = KAFKA_STEP,
     .name = "step",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help = "With --window: the precision of times; by default a 24th of the window."},
    {.id = KAFKA_TIME,
     .name = "time",
     .type = CLI_TEXT,
     .value = "PART",
     .help =
         "With --window, or for {day} and the like: where the time of a record is in its value, in the forms "
         "of --key; without it, Kafka's time of the record counts.",
     .more = "A time is unix seconds or milliseconds, or RFC 3339. A record without such a time is "
             "malformed, see "
             "--on-error; one whose value is NULL counts as one without a key. With --window, a record whose "
             "time "
             "is ahead of the clock of this host is treated as late."},
    {.id = KAFKA_LATENESS,
     .name = "lateness",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help =
         "With --window: how much older than the newest record of the partition another may be: at most 4 "
         "steps, by default one; 1ms means none."},
    {.id = KAFKA_LATE,
     .name = "late",
     .type = CLI_CHOICE,
     .value = "ACTION",
     .fallback = "pass",
     .choices = cli_late,
     .help = "With --window: for a record that is older than --lateness allows: pass it on to TO without a "
             "lookup, or drop it."},
    CLI_ROW_KIND,
    CLI_ROW_EXACT,
    CLI_ROW_SEED,
    {.id = CLI_OPT_SECRET_FILE,
     .name = "secret-file",
     .type = CLI_FILE,
     .value = "FILE",
     .help = "Key the hash with the bytes of FILE (16 to 4096), so that an attacker cannot aim keys at the "
             "filter."},
    {.id = KAFKA_INSTANCE,
     .name = "instance",
     .type = CLI_TEXT,
     .value = "NAME",
     .help = "Name of this process in the group, the same at each start and different from all others.",
     .more = "A process that is started again then gets its partitions back at once, and ends the "
             "transaction that it left open. Without it, the group notices its end after "
             "session.timeout.ms, and the open transaction ends after transaction.timeout.ms."},
    {.id = KAFKA_COMMIT_EVERY,
     .name = "commit-every",
     .type = CLI_TIME,
     .value = "TIME",
     .fallback = "1s",
     .min = 1,
     .max = KAFKA_COMMIT_MAX,
     .help = "How long a transaction is open, or a batch is added up in memory. Readers of TO get records "
             "when their "
             "transaction is committed.",
     .more = "Below 100ms there is no gain: a broker commits a transaction in some tens of milliseconds. "
             "The time is at most half of transaction.timeout.ms, which is 60 s."},
    {.id = KAFKA_UNTIL_END,
     .name = "until-end",
     .type = CLI_FLAG,
     .help = "Stop when the partitions of this process were read to the end that they had when it got them."},
    {.id = KAFKA_SETTING,
     .name = "setting",
     .letter = 'X',
     .type = CLI_TEXT,
     .value = "NAME=VALUE",
     .many = true,
     .help = "Setting of librdkafka, as security.protocol=ssl; may be repeated.",
     .more = "Its file CONFIGURATION.md has all of them. Settings that the promise depends on are refused."},
    {.id = KAFKA_CONFIG,
     .name = "config",
     .type = CLI_FILE,
     .value = "FILE",
     .help = "File with such settings, one name=value a line; --setting wins.",
     .more = "For passwords, which other users of this host could see in a command line. A line that begins "
             "with # "
             "is a comment."},
    {.id = KAFKA_METRICS,
     .name = "metrics",
     .type = CLI_TEXT,
     .value = "FILE|ADDRESS",
     .help = "Write current statistics for Prometheus to FILE every second, or serve them at ADDRESS.",
     .more = "As for tamis dedup: ADDRESS is [HOST:]PORT. See METRICS."},
    CLI_ROW_STATS,
    {.id = CLI_OPT_JSON, .name = "json", .type = CLI_FLAG, .help = "status: print one JSON object."},
    CLI_ROW_WRITE_QUIET,
    {.name = NULL},
};

static const cli_conflict conflicts[] = {
    {CLI_OPT_EXACT, CLI_OPT_FPR, "exact accepts no rate"},
    {KAFKA_WINDOW, CLI_OPT_KIND, "a window is a kind of its own"},
    {KAFKA_WINDOW, CLI_OPT_EXACT, "a window keeps fingerprints"},
    {.why = NULL},
};

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
                            cli_option_of(options, uses[i].id)->name);
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
    return cli_extract_configure(&config->extract, values, &others, -1, false, err);
}

/* Sets the plan of a window, or refuses options that need one. */
static tamis_status configure_window(kafka_config *config, const cli_value *values, tamis_error *err) {
    static const int needs[] = {KAFKA_STEP, KAFKA_TIME, KAFKA_LATENESS, KAFKA_LATE};
    tamis_plan_options *plan = &config->filter.plan_options;

    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (values[needs[i]].given && !values[KAFKA_WINDOW].given)
            return cli_fail(err, "--%s needs --window TIME; give it, or leave --%s out",
                            cli_option_of(options, needs[i])->name, cli_option_of(options, needs[i])->name);
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

void kafka_name_option(const char *name, tamis_error *err) {
    const tamis_error original = *err;

    if (err->status == TAMIS_E_INVALID && strncmp(err->text, name, strlen(name)) == 0)
        snprintf(err->text, sizeof err->text, "--%.*s", (int)sizeof err->text - 3, original.text);
}

/* Puts the names of options into the message of the library. */
static void advise(const cli_value *values, tamis_status status, tamis_error *err) {
    cli_plan_name_memory(&values[CLI_OPT_MEMORY], err);
    if (status == TAMIS_E_RECORD)
        cli_remedy(err, "correct the sender, or give --dead-letters-to, or --on-error skip or pass");
    if (status == TAMIS_E_NO_KEY)
        cli_remedy(err, "correct the sender, or give --dead-letters-to, or --missing pass or drop");
    if (status == TAMIS_E_FULL)
        cli_remedy(err, "give a larger --expect or more --memory; the keys are in the state topic");
    kafka_name_option("key", err);
    kafka_name_option("time ", err);
    kafka_name_option("setting ", err);
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
            advise(args->values, status, err);
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
    .options = options,
    .conflicts = conflicts,
    .fields = CLI_FIELDS(kafka_status_fields),
    .run = run_kafka,
};
