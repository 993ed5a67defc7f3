/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis plan: what a filter will cost, before anything is made.
 *
 *     numbers of the user --> plan_request.c: plans of all kinds --> plan_table.c   the table
 *                                                                    plan_plot.c    a curve
 *                                                                    plan_measure.c --measure
 *     --window, --kafka, --store redis: other tables, in this file
 *
 * This file has the options, and chooses which of these runs.
 */
#include "cli/cli.h"
#include "cli/cmd/plan/plan_fields.h"
#include "cli/cmd/plan/plan_modes.h"
#include "cli/cmd/plan/plan_plot.h"
#include "cli/cmd/plan/plan_request.h"
#include "cli/cmd/plan/plan_table.h"
#include "cli/core/cli_choice.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_option.h"
#include "cli/core/cli_rows.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_filter.h"
#include "cli/filter/cli_window.h"

enum {
    OPT_BITS = CLI_OPT_OWN,
    OPT_PROBES,
    OPT_TABLE,
    OPT_PLOT,
    OPT_MEASURE,
    OPT_STORE,
    OPT_WINDOW,
    OPT_STEP,
    OPT_LATENESS,
    OPT_KAFKA,
    OPT_RATE,
    OPT_PARTITIONS,
    OPT_HOSTS,
    OPT_COMMIT_EVERY
};

enum { STORE_MEMORY, STORE_REDIS };
static const char *const stores[] = {[STORE_MEMORY] = "memory", [STORE_REDIS] = "redis", NULL};

static const cli_option options[] = {
    {.id = CLI_OPT_EXPECT,
     .name = "expect",
     .type = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = TAMIS_EXPECT_MAX,
     .help = "Number of distinct records."},
    {.id = CLI_OPT_FPR,
     .name = "fpr",
     .type = CLI_RATE,
     .value = "RATE",
     .rate_min = TAMIS_FPR_MIN,
     .rate_max = TAMIS_FPR_MAX,
     .help = "Rate of wrong answers to promise, as 1e-6 or 0.1%.",
     .more = "Without it, the lowest rate that --memory or --bits-per-key allows; without these, "
             "that of --probes with half of the bits set; else 1e-9."},
    {.id = CLI_OPT_MEMORY,
     .name = "memory",
     .type = CLI_SIZE,
     .value = "SIZE",
     .min = 1,
     .max = CLI_EXBIBYTE,
     .help = "Maximum memory of the filter, growth included, as in 512MiB or 2G."},
    {.id = OPT_BITS,
     .name = "bits-per-key",
     .type = CLI_REAL,
     .value = "BITS",
     .rate_min = 0.01,
     .rate_max = 1e6,
     .help = "Maximum bits of memory per record, as in 10 or 9.6.",
     .more = "With --memory and without --expect, it gives the number of records."},
    {.id = OPT_PROBES,
     .name = "probes",
     .type = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = TAMIS_PROBES_MAX,
     .help = "Bits that a record sets in a classic or blocked filter, or counters of a counting one."},
    {.id = CLI_OPT_KIND,
     .name = "kind",
     .type = CLI_CHOICE,
     .value = "KIND",
     .fallback = "auto",
     .choices = cli_build_kinds,
     .help = "Plan this kind instead of choosing: classic, blocked, fingerprint, exact, counting or "
             "cuckoo."},
    {.id = CLI_OPT_SCHEME,
     .name = "scheme",
     .type = CLI_CHOICE,
     .value = "SCHEME",
     .fallback = "auto",
     .choices = cli_schemes,
     .help = "Hash; with that of another program, a classic filter has the size that this program gives it."},
    {.id = OPT_TABLE,
     .name = "table",
     .type = CLI_FLAG,
     .help = "Print the published tables instead, beside the results of exact arithmetic."},
    {.id = OPT_PLOT,
     .name = "plot",
     .type = CLI_FLAG,
     .help = "Draw how the rate rises when a filter gets more keys than planned.",
     .more = "The drawing is as wide as COLUMNS says, else as the terminal, else 80 columns. On a "
             "terminal it is coloured, unless NO_COLOR is set."},
    {.id = CLI_OPT_OUTPUT,
     .name = "output",
     .letter = 'o',
     .type = CLI_FILE,
     .value = "FILE",
     .help = "With --plot: write the drawing to FILE, as SVG; - is standard output.",
     .more = "A regular file is written to a temporary file in the same directory, which is "
             "renamed when it is complete, with the permissions of the file it replaces. A "
             "FIFO or device is written directly."},
    {.id = OPT_MEASURE,
     .name = "measure",
     .type = CLI_FLAG,
     .help = "Build filters of a million keys and print promised and measured rates.",
     .more = "Alone, it measures a list of all kinds and schemes; with other options, the "
             "filter that they plan, scaled down to a million keys if it has more."},
    {.id = OPT_STORE,
     .name = "store",
     .type = CLI_CHOICE,
     .value = "STORE",
     .fallback = "memory",
     .choices = stores,
     .help = "Where the filter will be: memory, or redis, where each probe takes server time.",
     .more = "With redis, the plan of layout tamis for --expect and --fpr is printed beside the "
             "plan with the fewest bits: bits, probes, and microseconds of server time per add."},
    {.id = OPT_WINDOW,
     .name = "window",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help = "Plan the filter of dedup --window TIME. --expect is the number of records in a window."},
    {.id = OPT_STEP,
     .name = "step",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help = "With --window: the precision of times; by default a 24th of the window."},
    {.id = OPT_LATENESS,
     .name = "lateness",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help = "With --window: how late a record may come; by default one step."},
    {.id = OPT_KAFKA,
     .name = "kafka",
     .type = CLI_FLAG,
     .help =
         "Plan tamis kafka dedup: memory of a partition and of a host, bytes of the state topic, time of a "
         "restore.",
     .more =
         "Keys are those of --expect, all of a topic, or with --window those that come by --rate. They are "
         "taken to be spread evenly over partitions and time."},
    {.id = OPT_RATE,
     .name = "rate",
     .type = CLI_TEXT,
     .value = "N/UNIT",
     .help = "With --kafka: records of the topic, as 12k/s or 1G/d; units are s, m, h and d.",
     .more = "With --window and without --expect, all of them have different keys."},
    {.id = OPT_PARTITIONS,
     .name = "partitions",
     .type = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = 1000000,
     .help = "With --kafka: partitions of the topic (required)."},
    {.id = OPT_HOSTS,
     .name = "hosts",
     .type = CLI_COUNT,
     .value = "N",
     .fallback = "1",
     .min = 1,
     .max = 1000000,
     .help = "With --kafka: processes that share the partitions; a host may have several."},
    {.id = OPT_COMMIT_EVERY,
     .name = "commit-every",
     .type = CLI_TIME,
     .value = "TIME",
     .fallback = "1s",
     .min = 1,
     .max = 600000,
     .help =
         "With --kafka: as that of tamis kafka dedup; each transaction takes some bytes of the state topic."},
    {.id = CLI_OPT_JSON, .name = "json", .type = CLI_FLAG, .help = "Print the table as one JSON object."},
    {.name = NULL},
};

/* The options that make a plan. */
static const int number_options[PLAN_NUMBERS] = {[PLAN_EXPECT] = CLI_OPT_EXPECT,
                                                 [PLAN_FPR] = CLI_OPT_FPR,
                                                 [PLAN_MEMORY] = CLI_OPT_MEMORY,
                                                 [PLAN_BITS] = OPT_BITS,
                                                 [PLAN_PROBES] = OPT_PROBES};

static const char only_numbers[] = "what was published depends on no option";
static const char only_curves[] = "the curves depend on no option";
static const char one_display[] = "each is a display of its own";

static const char only_window[] = "a window is a kind of its own, of the size that rate and records take";

static const char only_blocked[] = "a filter in a Redis is of kind blocked, of the size that the rate takes";

static const cli_conflict conflicts[] = {
    {OPT_TABLE, OPT_PLOT, one_display},      {OPT_TABLE, OPT_MEASURE, one_display},
    {OPT_PLOT, OPT_MEASURE, one_display},    {OPT_TABLE, CLI_OPT_EXPECT, only_numbers},
    {OPT_TABLE, CLI_OPT_FPR, only_numbers},  {OPT_TABLE, CLI_OPT_MEMORY, only_numbers},
    {OPT_TABLE, OPT_BITS, only_numbers},     {OPT_TABLE, OPT_PROBES, only_numbers},
    {OPT_TABLE, CLI_OPT_KIND, only_numbers}, {OPT_TABLE, CLI_OPT_SCHEME, only_numbers},
    {OPT_PLOT, CLI_OPT_EXPECT, only_curves}, {OPT_PLOT, CLI_OPT_FPR, only_curves},
    {OPT_PLOT, CLI_OPT_MEMORY, only_curves}, {OPT_PLOT, OPT_BITS, only_curves},
    {OPT_PLOT, OPT_PROBES, only_curves},     {OPT_PLOT, CLI_OPT_KIND, only_curves},
    {OPT_PLOT, CLI_OPT_SCHEME, only_curves}, {OPT_PLOT, CLI_OPT_JSON, "a drawing is not an object"},
    {OPT_STORE, OPT_TABLE, one_display},     {OPT_STORE, OPT_PLOT, one_display},
    {OPT_STORE, OPT_MEASURE, one_display},   {OPT_WINDOW, OPT_TABLE, one_display},
    {OPT_WINDOW, OPT_PLOT, one_display},     {OPT_WINDOW, OPT_MEASURE, one_display},
    {OPT_WINDOW, OPT_STORE, one_display},    {OPT_WINDOW, CLI_OPT_MEMORY, only_window},
    {OPT_WINDOW, OPT_BITS, only_window},     {OPT_WINDOW, OPT_PROBES, only_window},
    {OPT_WINDOW, CLI_OPT_KIND, only_window}, {.why = NULL},
};

static tamis_status run_table(bool json, tamis_error *err) {
    if (json)
        return plan_published_json(stdout, err);
    plan_published_text(stdout);
    return TAMIS_OK;
}

/* True if an option describes a plan. */
static bool is_requested(const cli_args *args) {
    for (int i = 0; i < PLAN_NUMBERS; i++)
        if (args->values[number_options[i]].given)
            return true;
    return args->values[CLI_OPT_KIND].given || args->values[CLI_OPT_SCHEME].given;
}

/* Plans without a number of records: plan_record.c. */
static tamis_status run_record(const cli_args *args, const cli_value *const values[PLAN_NUMBERS],
                               tamis_error *err) {
    plan_record record;

    if (args->values[OPT_MEASURE].given)
        return cli_fail(
            err, "--measure: the number of records is missing; give --expect N, or --memory SIZE for as "
                 "many as fit");
    if (plan_record_solve(&record, values, cli_kind_of(args->values[CLI_OPT_KIND].number), err) != TAMIS_OK)
        return err->status;
    if (args->values[CLI_OPT_JSON].given)
        return plan_record_json(stdout, &record, err);
    plan_record_text(stdout, &record);
    return TAMIS_OK;
}

/* Plans a filter in a Redis: plan_redis.c. */
static tamis_status run_redis(const cli_args *args, tamis_error *err) {
    static const int others[] = {CLI_OPT_MEMORY, OPT_BITS, CLI_OPT_KIND};
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_redis plans;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (args->values[others[i]].given)
            return cli_fail(err, "--%s: contradicts --store redis: %s; leave one of them out",
                            cli_option_of(options, others[i])->name, only_blocked);
    if (!args->values[CLI_OPT_EXPECT].given)
        return cli_fail(err, "--store redis: the number of records is missing, and such a filter does not "
                             "grow; give --expect N");
    plan_options.expect = args->values[CLI_OPT_EXPECT].number;
    plan_options.fpr = args->values[CLI_OPT_FPR].rate;
    plan_options.probes = (uint32_t)args->values[OPT_PROBES].number;
    plan_options.scheme = (tamis_scheme)args->values[CLI_OPT_SCHEME].number;
    if (plan_redis_make(&plans, &plan_options, err) != TAMIS_OK)
        return err->status;
    if (args->values[CLI_OPT_JSON].given)
        return plan_redis_json(stdout, &plans, err);
    plan_redis_text(stdout, &plans);
    return TAMIS_OK;
}

/* With capacity 0 the number of keys is not known. */
static void print_window(FILE *out, const tamis_plan *plan) {
    char text[CLI_WINDOW_TEXT], number[CLI_TEXT_NUMBER];

    fprintf(out, "%-9s %s\n", plan_fields.window.label, cli_window_text(text, plan));
    if (plan->capacity > 0)
        fprintf(out, "%-9s %s distinct in a window\n", plan_fields.expect.label,
                cli_text_count(number, sizeof number, plan->capacity));
    else
        fprintf(out, "%-9s number not given: the filter grows\n", plan_fields.expect.label);
    fprintf(out, "%-9s %s\n", plan_fields.fpr.label, cli_text_rate(number, sizeof number, plan->fpr));
    if (plan->capacity > 0)
        fprintf(out, "%-9s %s, ", plan_fields.memory.label,
                cli_text_bytes(number, sizeof number, plan->memory));
    else
        fprintf(out, "%-9s at least ", plan_fields.memory.label);
    fprintf(out, "%.1f bits per record of a window\n", plan->bits_per_key);
    fprintf(out, "%-9s 2 cache lines of 64 bytes that a lookup reads\n", plan_fields.lines_touched.label);
}

static tamis_status write_window_json(FILE *out, const tamis_plan *plan, tamis_error *err) {
    json_t *object = json_object();

    cli_json_integer(object, &plan_fields.expect, plan->capacity);
    cli_json_number(object, &plan_fields.fpr, plan->fpr);
    cli_json_integer(object, &plan_fields.window, plan->window);
    cli_json_integer(object, &plan_fields.step, plan->step);
    cli_json_integer(object, &plan_fields.lateness, plan->lateness);
    cli_json_number(object, &plan_fields.bits_per_key, plan->bits_per_key);
    cli_json_integer_or_null(object, &plan_fields.memory, plan->capacity > 0, plan->memory);
    cli_json_number(object, &plan_fields.lines_touched, plan->lines_touched);
    cli_json_number(object, &plan_fields.fpr_predicted, plan->fpr_predicted);
    return cli_json_write(object, out, 0, "plan", err);
}

static tamis_status run_window(const cli_args *args, tamis_error *err) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;

    plan_options.kind = TAMIS_KIND_WINDOW;
    plan_options.expect = args->values[CLI_OPT_EXPECT].number;
    plan_options.fpr = args->values[CLI_OPT_FPR].given ? args->values[CLI_OPT_FPR].rate : PLAN_FPR_DEFAULT;
    plan_options.scheme = (tamis_scheme)args->values[CLI_OPT_SCHEME].number;
    plan_options.window = args->values[OPT_WINDOW].number;
    plan_options.step = args->values[OPT_STEP].number;
    plan_options.lateness = args->values[OPT_LATENESS].number;
    if (tamis_plan_make(&plan, &plan_options, err) != TAMIS_OK)
        return err->status;
    if (args->values[CLI_OPT_JSON].given)
        return write_window_json(stdout, &plan, err);
    print_window(stdout, &plan);
    return TAMIS_OK;
}

/* Plans the deduplication of a topic of Kafka: plan_kafka.c. */
static tamis_status run_kafka(const cli_args *args, tamis_error *err) {
    static const int others[] = {OPT_TABLE, OPT_PLOT,       OPT_MEASURE, OPT_STORE,
                                 OPT_BITS,  CLI_OPT_MEMORY, OPT_PROBES,  CLI_OPT_SCHEME};
    tamis_plan_options filter = TAMIS_PLAN_OPTIONS_INIT;
    plan_kafka plan = {.options = TAMIS_KAFKA_PLAN_OPTIONS_INIT};
    const cli_value *values = args->values;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (values[others[i]].given)
            return cli_fail(err, "--kafka: does not use --%s; leave it out",
                            cli_option_of(options, others[i])->name);
    if (!values[OPT_PARTITIONS].given)
        return cli_fail(err, "--kafka: the number of partitions is missing; give --partitions N");
    if (values[OPT_WINDOW].given ? !values[CLI_OPT_EXPECT].given && !values[OPT_RATE].given
                                 : !values[CLI_OPT_EXPECT].given)
        return cli_fail(
            err,
            "--kafka: the number of distinct keys is missing; give --expect N, or --rate N/UNIT and --window "
            "TIME");
    if (values[OPT_RATE].given &&
        plan_kafka_read_rate(&plan.options.rate, values[OPT_RATE].text, err) != TAMIS_OK)
        return err->status;
    filter.kind = values[OPT_WINDOW].given ? TAMIS_KIND_WINDOW : cli_kind_of(values[CLI_OPT_KIND].number);
    filter.expect = values[CLI_OPT_EXPECT].number;
    filter.fpr = values[CLI_OPT_FPR].rate;
    filter.window = values[OPT_WINDOW].number;
    filter.step = values[OPT_STEP].number;
    filter.lateness = values[OPT_LATENESS].number;
    plan.options.partitions = (uint32_t)values[OPT_PARTITIONS].number;
    if (values[OPT_HOSTS].given)
        plan.options.hosts = (uint32_t)values[OPT_HOSTS].number;
    if (values[OPT_COMMIT_EVERY].given)
        plan.options.commit_ms = (uint32_t)values[OPT_COMMIT_EVERY].number;
    if (plan_kafka_make(&plan, &filter, err) != TAMIS_OK)
        return err->status;
    if (values[CLI_OPT_JSON].given)
        return plan_kafka_json(stdout, &plan, err);
    plan_kafka_text(stdout, &plan);
    return TAMIS_OK;
}

/* Refuses options that need --kafka or --window, without it. */
static tamis_status check_needs(const cli_value *values, tamis_error *err) {
    static const int of_kafka[] = {OPT_RATE, OPT_PARTITIONS, OPT_HOSTS, OPT_COMMIT_EVERY};

    for (size_t i = 0; i < sizeof of_kafka / sizeof *of_kafka; i++)
        if (values[of_kafka[i]].given && !values[OPT_KAFKA].given)
            return cli_fail(err, "--%s: only for Kafka; add --kafka",
                            cli_option_of(options, of_kafka[i])->name);
    if ((values[OPT_STEP].given || values[OPT_LATENESS].given) && !values[OPT_WINDOW].given)
        return cli_fail(err, "--%s: only for a window; add --window TIME",
                        values[OPT_STEP].given ? "step" : "lateness");
    return TAMIS_OK;
}

static tamis_status run_plan(const cli_args *args, bool *negative, tamis_error *err) {
    const cli_value *values[PLAN_NUMBERS];
    plan_request request = {.plan_options = TAMIS_PLAN_OPTIONS_INIT};
    plan_table table;

    if (args->operand_count > 0)
        return cli_fail(err, "plan '%.60s': takes no operands; give the number as --expect N",
                        args->operands[0]);
    if (args->values[CLI_OPT_OUTPUT].given && !args->values[OPT_PLOT].given)
        return cli_fail(err, "--output '%.60s': only for --plot; add that, or redirect standard output",
                        args->values[CLI_OPT_OUTPUT].text);
    if (check_needs(args->values, err) != TAMIS_OK)
        return err->status;
    if (args->values[OPT_KAFKA].given)
        return run_kafka(args, err);
    if (args->values[OPT_TABLE].given)
        return run_table(args->values[CLI_OPT_JSON].given, err);
    if (args->values[OPT_PLOT].given)
        return plan_plot(&args->values[CLI_OPT_OUTPUT], err);
    if (args->values[OPT_STORE].number == STORE_REDIS)
        return run_redis(args, err);
    if (args->values[OPT_WINDOW].given)
        return run_window(args, err);
    if (args->values[OPT_MEASURE].given && !is_requested(args))
        return plan_measure(negative, NULL, args->values[CLI_OPT_JSON].given, err);
    if (cli_plan_check_rate(&args->values[CLI_OPT_KIND], &args->values[CLI_OPT_FPR], err) != TAMIS_OK)
        return err->status;
    for (int i = 0; i < PLAN_NUMBERS; i++)
        values[i] = &args->values[number_options[i]];
    request.plan_options.kind = cli_kind_of(args->values[CLI_OPT_KIND].number);
    request.plan_options.scheme = (tamis_scheme)args->values[CLI_OPT_SCHEME].number;
    if (plan_record_is_requested(values))
        return run_record(args, values, err);
    if (plan_request_solve(&request, values, err) != TAMIS_OK)
        return err->status;
    const tamis_status status = plan_table_make(&table, &request, err);
    plan_request_name_limit(&request, values, err);
    if (args->values[OPT_MEASURE].given)
        return status == TAMIS_OK
                   ? plan_measure(negative, &table.chosen, args->values[CLI_OPT_JSON].given, err)
                   : err->status;
    if (!args->values[CLI_OPT_JSON].given)
        plan_table_text(stdout, &table);
    else if (plan_table_json(stdout, &table, err) != TAMIS_OK)
        return err->status;
    return status;
}

const cli_command cmd_plan = {
    .name = "plan",
    .summary = "which kind of filter fits, and what each kind would cost",
    .operands = "",
    .manual = &cli_manual_plan,
    .options = options,
    .conflicts = conflicts,
    .fields = CLI_FIELDS(plan_fields),
    .run = run_plan,
};
