/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/cmd/plan/plan_measure.h"
#include "cli/cmd/plan/plan_plot.h"
#include "cli/cmd/plan/plan_published.h"
#include "cli/cmd/plan/plan_record.h"
#include "cli/cmd/plan/plan_request.h"
#include "cli/cmd/plan/plan_store.h"
#include "cli/cmd/plan/plan_table.h"
#include "cli/core/cli_choice.h"
#include "cli/filter/cli_plan.h"

enum {
    OPT_EXPECT,
    OPT_FPR,
    OPT_MEMORY,
    OPT_BITS,
    OPT_PROBES,
    OPT_KIND,
    OPT_SCHEME,
    OPT_TABLE,
    OPT_PLOT,
    OPT_OUTPUT,
    OPT_MEASURE,
    OPT_STORE,
    OPT_JSON,
    OPT_COUNT
};

static const char *const stores[] = {"memory", "redis", NULL};
enum { STORE_REDIS = 1 };

static const cli_option options[OPT_COUNT] = {
    [OPT_EXPECT] = {.name = "expect",
                    .type = CLI_COUNT,
                    .value = "N",
                    .min = 1,
                    .max = TAMIS_EXPECT_MAX,
                    .help = "Number of distinct records."},
    [OPT_FPR] = {.name = "fpr",
                 .type = CLI_RATE,
                 .value = "RATE",
                 .rate_min = TAMIS_FPR_MIN,
                 .rate_max = TAMIS_FPR_MAX,
                 .help = "Rate of wrong answers to promise, as 1e-6 or 0.1%.",
                 .more =
                     "Without it the least rate that --memory or --bits-per-key allow; without these that "
                     "of --probes with half of the bits set; else 1e-9."},
    [OPT_MEMORY] = {.name = "memory",
                    .type = CLI_SIZE,
                    .value = "SIZE",
                    .min = 1,
                    .max = UINT64_C(1) << 60,
                    .help = "Most memory the filter may take, growth included, as 512MiB or 2G."},
    [OPT_BITS] = {.name = "bits-per-key",
                  .type = CLI_REAL,
                  .value = "BITS",
                  .rate_min = 0.01,
                  .rate_max = 1e6,
                  .help = "Most bits of memory for each record, as 10 or 9.6.",
                  .more = "With --memory and no --expect it says how many records there are."},
    [OPT_PROBES] = {.name = "probes",
                    .type = CLI_COUNT,
                    .value = "N",
                    .min = 1,
                    .max = TAMIS_PROBES_MAX,
                    .help = "Bits that a record sets in a classic or blocked filter."},
    [OPT_KIND] = {.name = "kind",
                  .type = CLI_CHOICE,
                  .value = "KIND",
                  .fallback = "auto",
                  .choices = cli_kinds,
                  .help = "Plan this kind instead of choosing: classic, blocked, fingerprint or exact."},
    [OPT_SCHEME] =
        {.name = "scheme",
         .type = CLI_CHOICE,
         .value = "SCHEME",
         .fallback = "auto",
         .choices = cli_schemes,
         .help = "Hash; with those of other programs a classic filter has the size that they give it."},
    [OPT_TABLE] = {.name = "table",
                   .type = CLI_FLAG,
                   .help = "Print the published tables instead, with what exact arithmetic gives."},
    [OPT_PLOT] =
        {.name = "plot",
         .type = CLI_FLAG,
         .help = "Draw how the rate rises when a filter gets more keys than planned.",
         .more = "As wide as COLUMNS says, else as the terminal, else 80 columns; in colour on a terminal, "
                 "unless NO_COLOR is set."},
    [OPT_OUTPUT] = {.name = "output",
                    .letter = 'o',
                    .type = CLI_FILE,
                    .value = "FILE",
                    .help = "With --plot: write the drawing to FILE, as SVG; - is standard output.",
                    .more =
                        "A regular file is written beside its name and renamed when it is whole, with the "
                        "permissions of the file it replaces. A FIFO or device is written directly."},
    [OPT_MEASURE] = {.name = "measure",
                     .type = CLI_FLAG,
                     .help = "Build filters of a million keys and print promised beside measured rates.",
                     .more =
                         "By itself a list of all kinds and schemes; with other options the filter that they "
                         "plan, scaled down to a million keys where it has more."},
    [OPT_STORE] = {.name = "store",
                   .type = CLI_CHOICE,
                   .value = "STORE",
                   .fallback = "memory",
                   .choices = stores,
                   .help = "Where it is to be: memory, or redis, where a probe costs the server time.",
                   .more = "With redis the plan of layout tamis for --expect and --fpr is printed beside the "
                           "one of the fewest bits: bits, probes, and microseconds of the server's time for "
                           "an add."},
    [OPT_JSON] = {.name = "json", .type = CLI_FLAG, .help = "Print the table as one JSON object."},
};

/* The options that make a plan, in the order of plan_number. */
static const int number_options[PLAN_NUMBERS] = {OPT_EXPECT, OPT_FPR, OPT_MEMORY, OPT_BITS, OPT_PROBES};

static const char only_numbers[] = "what was published depends on no option";
static const char only_curves[] = "the curves depend on no option";
static const char one_display[] = "each is a display of its own";

static const char only_blocked[] = "a filter in a Redis is of kind blocked, of the size that the rate takes";

static const cli_conflict conflicts[] = {
    {OPT_TABLE, OPT_PLOT, one_display},    {OPT_TABLE, OPT_MEASURE, one_display},
    {OPT_PLOT, OPT_MEASURE, one_display},  {OPT_TABLE, OPT_EXPECT, only_numbers},
    {OPT_TABLE, OPT_FPR, only_numbers},    {OPT_TABLE, OPT_MEMORY, only_numbers},
    {OPT_TABLE, OPT_BITS, only_numbers},   {OPT_TABLE, OPT_PROBES, only_numbers},
    {OPT_TABLE, OPT_KIND, only_numbers},   {OPT_TABLE, OPT_SCHEME, only_numbers},
    {OPT_PLOT, OPT_EXPECT, only_curves},   {OPT_PLOT, OPT_FPR, only_curves},
    {OPT_PLOT, OPT_MEMORY, only_curves},   {OPT_PLOT, OPT_BITS, only_curves},
    {OPT_PLOT, OPT_PROBES, only_curves},   {OPT_PLOT, OPT_KIND, only_curves},
    {OPT_PLOT, OPT_SCHEME, only_curves},   {OPT_PLOT, OPT_JSON, "a drawing is no object"},
    {OPT_STORE, OPT_TABLE, one_display},   {OPT_STORE, OPT_PLOT, one_display},
    {OPT_STORE, OPT_MEASURE, one_display},
};

static tamis_status finish_json(bool whole, tamis_error *err) {
    if (whole)
        return TAMIS_OK;
    return cli_fail_nomem("plan", err);
}

static tamis_status run_table(bool json, tamis_error *err) {
    if (json)
        return finish_json(plan_published_json(stdout), err);
    plan_published_text(stdout);
    return TAMIS_OK;
}

/* True if an option describes a plan. */
static bool is_requested(const cli_args *args) {
    for (int i = OPT_EXPECT; i <= OPT_SCHEME; i++)
        if (args->values[i].given)
            return true;
    return false;
}

/* Plans without a number of records: plan_record.h. */
static tamis_status run_record(const cli_args *args, const cli_value *const values[PLAN_NUMBERS],
                               tamis_error *err) {
    plan_record record;

    if (args->values[OPT_MEASURE].given)
        return cli_fail(
            err, "--measure: the number of records is missing; give --expect N, or --memory SIZE for as "
                 "many as fit");
    if (plan_record_solve(&record, values, (tamis_kind)args->values[OPT_KIND].number, err) != TAMIS_OK)
        return err->status;
    if (args->values[OPT_JSON].given)
        return finish_json(plan_record_json(stdout, &record), err);
    plan_record_text(stdout, &record);
    return TAMIS_OK;
}

/* Plans a filter in a Redis: plan_store.h. */
static tamis_status run_store(const cli_args *args, tamis_error *err) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_store store;

    for (int i = OPT_MEMORY; i <= OPT_KIND; i++)
        if (args->values[i].given && i != OPT_PROBES)
            return cli_fail(err, "--%s: contradicts --store redis: %s; leave one of them out",
                            options[i].name, only_blocked);
    if (!args->values[OPT_EXPECT].given)
        return cli_fail(err, "--store redis: the number of records is missing, and such a filter does not "
                             "grow; give --expect N");
    plan_options.expect = args->values[OPT_EXPECT].number;
    plan_options.fpr = args->values[OPT_FPR].rate;
    plan_options.probes = (uint32_t)args->values[OPT_PROBES].number;
    plan_options.scheme = (tamis_scheme)args->values[OPT_SCHEME].number;
    if (plan_store_make(&store, &plan_options, err) != TAMIS_OK)
        return err->status;
    if (args->values[OPT_JSON].given)
        return finish_json(plan_store_json(stdout, &store), err);
    plan_store_text(stdout, &store);
    return TAMIS_OK;
}

static tamis_status run_plan(const cli_args *args, bool *negative, tamis_error *err) {
    const cli_value *values[PLAN_NUMBERS];
    plan_request request = {.plan_options = TAMIS_PLAN_OPTIONS_INIT};
    plan_table table;
    tamis_status status;

    if (args->operand_count > 0)
        return cli_fail(err, "plan '%.60s': takes no operands; give the number as --expect N",
                        args->operands[0]);
    if (args->values[OPT_OUTPUT].given && !args->values[OPT_PLOT].given)
        return cli_fail(err, "--output '%.60s': only for --plot; add that, or redirect standard output",
                        args->values[OPT_OUTPUT].text);
    if (args->values[OPT_TABLE].given)
        return run_table(args->values[OPT_JSON].given, err);
    if (args->values[OPT_PLOT].given)
        return plan_plot(&args->values[OPT_OUTPUT], err);
    if (args->values[OPT_STORE].number == STORE_REDIS)
        return run_store(args, err);
    if (args->values[OPT_MEASURE].given && !is_requested(args))
        return plan_measure(negative, NULL, args->values[OPT_JSON].given, err);
    if (cli_plan_check_rate(&args->values[OPT_KIND], &args->values[OPT_FPR], err) != TAMIS_OK)
        return err->status;
    for (int i = 0; i < PLAN_NUMBERS; i++)
        values[i] = &args->values[number_options[i]];
    request.plan_options.kind = (tamis_kind)args->values[OPT_KIND].number;
    request.plan_options.scheme = (tamis_scheme)args->values[OPT_SCHEME].number;
    if (plan_record_is_requested(values))
        return run_record(args, values, err);
    if (plan_request_solve(&request, values, err) != TAMIS_OK)
        return err->status;
    status = plan_table_make(&table, &request, err);
    plan_request_name_limit(&request, values, err);
    if (args->values[OPT_MEASURE].given)
        return status == TAMIS_OK ? plan_measure(negative, &table.chosen, args->values[OPT_JSON].given, err)
                                  : err->status;
    if (!args->values[OPT_JSON].given)
        plan_table_text(stdout, &table);
    else if (finish_json(plan_table_json(stdout, &table), err) != TAMIS_OK)
        return err->status;
    return status;
}

static const char *const description[] = {
    "Print which kind of filter would be chosen, why, and what the others and exact mode would cost.",
    "What is known is given, and the rest follows. The number of records: --expect, or --memory with "
    "--bits-per-key, or as many as --memory holds at the rate. The rate: --fpr, or the least that --expect "
    "with --memory or --bits-per-key allows. Where everything follows without them, --memory and "
    "--bits-per-key are limits. With nothing given, or the rate alone, what grows is shown. Without records "
    "or memory, --bits-per-key, or --fpr with --probes, decide for each record of a classic filter on its "
    "bits, "
    "probes and rate. Options that contradict each other, or do not suffice, are refused.",
    "For each kind: bits a record, memory at its peak (or the records that fit), what is kept of a record "
    "(probes of a Bloom filter, or the bits of a slot), the cache lines that a lookup reads, and the rate "
    "computed for it when full. What is chosen is marked; what cannot serve says why. Nothing is allocated.",
    "Where nothing fits the table is printed all the same, and the error says what would be needed.",
    "classic is a Bloom filter, blocked one whose probes stay in one cache line; neither grows. fingerprint "
    "is a table of fingerprints that grows without its keys. exact is the same with 128 bits a record.",
    "Below about a million records a plain hash set does as well, and never answers wrongly.",
    "--measure builds filters, fills them with a million keys, and looks up as many as ten million in them "
    "that "
    "were never added: what is promised and what is measured stand side by side, with the interval of 95 "
    "%. The keys are the same in every run. It takes some 20 seconds, and one filter about a second. By "
    "itself it shows all kinds and schemes, filters with twice their keys, and the published BKDR "
    "schemes, which are expected to miss their published rates. With options it measures the filter that "
    "they plan: scaled to a million keys, with its bits a key, probes and rate, where it is planned for "
    "more or grows; what only larger filters show, above all the uneven positions of 31 bits near 2^31 bits, "
    "is then not seen.",
    "A promise holds for filters on average, and one differs from another: a promise counts as broken only "
    "where it, the rate computed, and six standard deviations of that difference are exceeded beyond chance, "
    "1e-9.",
    NULL};

static const char *const exits[] = {
    "0",   "A kind was chosen, or all was shown.",
    "1",   "With --measure: a promised rate is exceeded, beyond chance.",
    "2",   "Error: options that are bad or contradict each other, nothing fits, or FILE cannot be written.",
    "141", "The reader of standard output has gone: ended by SIGPIPE, without a word.",
    NULL};

/* Members of the object, in the order in which they are printed. */
static const cli_entry json[] = {
    {"given", "Which of expect, fpr, memory, bits-per-key and probes were given: an array of names."},
    {"derived", "Which of them follow from those: an array of names; the others are defaults or unknown."},
    {"expect", "Number of distinct records; 0 = not known, so the filter must grow, or none fit. Where bits, "
               "probes and rate are had without it only fpr, bits_per_key, probes and fill follow."},
    {"fpr", "Rate of wrong answers, 0 to 1; null = none that fits."},
    {"memory_limit", "Bytes of --memory or of --bits-per-key, whichever is less; 0 = no limit."},
    {"bits_per_key_limit", "Bits of --bits-per-key; 0 = not given."},
    {"probes", "Number of --probes; 0 = not given."},
    {"chosen", "The kind that was chosen; null = none."},
    {"reason", "Why, in words; null = none was chosen."},
    {"grows_to", "About how many records a filter that grows would hold in --memory, where that many were "
                 "requested; 0 = not requested, or none."},
    {"hint", "What else would do; null = nothing to say."},
    {"kinds", "What each kind would cost: an array of objects with the fields that follow."},
    {"kind", "classic, blocked, fingerprint or exact."},
    {"chosen", "true: it is the one."},
    {"possible", "true: this kind can do what is requested; else only why_not follows fits."},
    {"fits", "true: and within the memory."},
    {"why_not", "Why it cannot serve, in words; absent where it can."},
    {"capacity", "Records held at the promised rate; 0 = no limit, it grows."},
    {"bits_per_key", "Bits of memory for a record when full; the average while it grows."},
    {"memory", "Bytes of the filter at its peak; where it grows, from some thousand records on."},
    {"bits", "Bits of a classic or blocked filter; absent for the others, as is the next."},
    {"probes", "Bits of these that a record sets."},
    {"slot_bits", "Bits kept of a record by fingerprint and exact; absent for the others, as is the next."},
    {"lines", "Cache lines of 64 bytes that the table has; 0 = it grows."},
    {"fill", "Share of the bits that are set when full, 0 to 1; only without records, see expect."},
    {"lines_touched", "Cache lines of 64 bytes that a lookup of a new record reads, on average."},
    {"fpr_predicted", "Rate computed for the filter when full, 0 to 1; for 2^40 records where it grows."},
    {"least_bits",
     "With --store redis, after expect, fpr and reason: the plan of the fewest bits, an object."},
    {"in_redis", "And the one that is made there."},
    {"server_us", "Of these: about how many microseconds of the server's time an add takes."},
    {"rates",
     "With --table, as all up to measured: an array of published rates, with expect, bits_per_key, probes."},
    {"fpr_published", "The rate as published; fpr is the exact one."},
    {"false_positives_published", "Expected false positives of so many lookups, as published."},
    {"false_positives", "The exact number of them."},
    {"sizes", "An array of published sizes, with expect and bits_per_key."},
    {"bits_published", "Bits of the filter as published; null = not published. bits is the exact number."},
    {"memory_published", "Bytes as published, which were rounded; memory is the exact number."},
    {"rules", "An array of rules of thumb."},
    {"rule", "What it is about, in words."},
    {"published", "The figure as published; rates are 0 to 1."},
    {"exact", "The exact figure."},
    {"measured",
     "With --measure, as all that follow: an array of filters, with kind, scheme, capacity, bits_per_key, "
     "fpr (null = overfilled, nothing is promised) and fpr_predicted."},
    {"scheme", "The hash."},
    {"keys", "What the keys were: numbers, words or urls."},
    {"added", "Keys that were added."},
    {"asked", "Keys that were looked up and never added."},
    {"hits", "How many of them were answered seen."},
    {"fpr_measured", "Their share, 0 to 1."},
    {"fpr_low", "The low end of its interval of 95 %."},
    {"fpr_high", "The high end."},
    {"verdict",
     "kept, as computed (above fpr as fpr_predicted says, or overfilled), too rare (to be measured), "
     "missed (a BKDR scheme) or broken."},
    {NULL, NULL}};

static const cli_example examples[] = {
    {"tamis plan --expect 1e9 --fpr 1e-9", "A billion records at one wrong answer in a billion."},
    {"tamis plan --expect 50M --fpr 0.1% --memory 256MiB", "Whether it fits, and as what."},
    {"tamis plan --memory 1GiB --fpr 1e-6", "How many records a gibibyte holds at that rate."},
    {"tamis plan --expect 10M --bits-per-key 10", "The rate that ten bits a record buy."},
    {"tamis plan --expect 3M --fpr 1% --kind classic --scheme redisbloom",
     "The size that BF.RESERVE gives it."},
    {"tamis plan --store redis --expect 10M --fpr 1e-6", "What a filter in a Redis costs its server."},
    {"tamis plan --json", "The kinds that grow, for a program to read."},
    {"tamis plan --table", "The published figures, and the exact ones."},
    {"tamis plan --plot -o curve.svg", "What overfilling does, as a picture for a report."},
    {"tamis plan --measure --expect 100k --fpr 1% --kind blocked", "Whether a filter keeps its promise."},
    {NULL, NULL}};

const cli_command cmd_plan = {
    .name = "plan",
    .summary = "which kind of filter fits, and what each would cost",
    .operands = "",
    .description = description,
    .options = options,
    .option_count = OPT_COUNT,
    .conflicts = conflicts,
    .conflict_count = sizeof conflicts / sizeof *conflicts,
    .exits = exits,
    .examples = examples,
    .json_intro = "What --json prints is one object:",
    .json = json,
    .run = run_plan,
};
