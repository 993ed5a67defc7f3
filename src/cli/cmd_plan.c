/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/cli_choice.h"
#include "cli/cli_want.h"
#include "cli/plan_table.h"

enum { OPT_EXPECT, OPT_FPR, OPT_MEMORY, OPT_KIND, OPT_SCHEME, OPT_JSON, OPT_COUNT };

static const cli_option options[OPT_COUNT] = {
    [OPT_EXPECT] = {.name = "expect",
                    .type = CLI_COUNT,
                    .value = "N",
                    .min = 1,
                    .max = TAMIS_EXPECT_MAX,
                    .help = "Number of distinct records; without it, what grows is shown."},
    [OPT_FPR] = {.name = "fpr",
                 .type = CLI_RATE,
                 .value = "RATE",
                 .fallback = "1e-9",
                 .rate_min = TAMIS_FPR_MIN,
                 .rate_max = TAMIS_FPR_MAX,
                 .help = "Rate of wrong answers to promise, as 1e-6 or 0.1%."},
    [OPT_MEMORY] = {.name = "memory",
                    .type = CLI_SIZE,
                    .value = "SIZE",
                    .min = 1,
                    .max = UINT64_C(1) << 60,
                    .help = "Most memory it may take, growth included, as 512MiB or 2G."},
    [OPT_KIND] = {.name = "kind",
                  .type = CLI_CHOICE,
                  .value = "KIND",
                  .fallback = "auto",
                  .choices = cli_kinds,
                  .help = "Plan this kind instead of choosing: classic, blocked, fingerprint or exact."},
    [OPT_SCHEME] = {.name = "scheme",
                    .type = CLI_CHOICE,
                    .value = "SCHEME",
                    .fallback = "auto",
                    .choices = cli_schemes,
                    .help = "Hash: xxh3, sip or guava64; with guava64 a classic filter has Guava's size."},
    [OPT_JSON] = {.name = "json", .type = CLI_FLAG, .help = "Print the table as one JSON object."},
};

static int run_plan(const cli_args *args, tamis_error *err) {
    tamis_want want = TAMIS_WANT_INIT;
    plan_table table;
    tamis_status status;

    if (args->operand_count > 0)
        return cli_fail(err, "plan '%.60s': takes no operands; give the number as --expect N",
                        args->operands[0]);
    if (cli_want_check_rate(&args->values[OPT_KIND], &args->values[OPT_FPR], err) != CLI_DONE)
        return CLI_FAILED;
    want.expect = args->values[OPT_EXPECT].number;
    want.fpr = args->values[OPT_FPR].rate;
    want.memory = args->values[OPT_MEMORY].number;
    want.kind = (tamis_kind)args->values[OPT_KIND].number;
    want.scheme = (tamis_scheme)args->values[OPT_SCHEME].number;
    status = plan_table_make(&table, &want, err);
    cli_want_name_memory(&args->values[OPT_MEMORY], err);
    if (!args->values[OPT_JSON].given)
        plan_table_text(stdout, &table);
    else if (!plan_table_json(stdout, &table))
        return cli_fail(err, "plan: out of memory for JSON; free some, or raise the limit (ulimit -v)");
    return status == TAMIS_OK ? CLI_DONE : CLI_FAILED;
}

static const char *const description[] = {
    "Print which kind of filter would be chosen, why, and what the others and exact mode would cost.",
    "For each kind: bits a record, memory at its peak, what is kept of a record (probes of a Bloom filter, "
    "or the bits "
    "of a slot), the cache lines that a lookup reads, and the rate computed for it when full. What is chosen "
    "is "
    "marked; what cannot serve says why. Nothing is allocated.",
    "Where nothing fits --memory the table is printed all the same, and the error says what would be needed.",
    "classic is a Bloom filter, blocked one whose probes stay in one cache line; neither grows. fingerprint "
    "is a table "
    "of fingerprints that grows without its keys. exact is the same with 128 bits a record.",
    NULL};

static const char *const exits[] = {
    "0",   "A kind was chosen.",
    "2",   "Error: a bad option, or nothing fits.",
    "141", "The reader of standard output has gone: ended by SIGPIPE, without a word.",
    NULL};

/* In the order in which they are printed. */
static const cli_entry json[] = {
    {"expect", "Number of distinct records that was given; 0 = none, so the filter must grow."},
    {"fpr", "Rate of wrong answers asked for, 0 to 1."},
    {"memory_limit", "Bytes of --memory; 0 = no limit."},
    {"chosen", "The kind that was chosen; null = none."},
    {"reason", "Why, in words; null = none was chosen."},
    {"kinds", "What each kind would cost: an array of objects with the fields that follow."},
    {"kind", "classic, blocked, fingerprint or exact."},
    {"chosen", "true: it is the one."},
    {"possible", "true: this kind can do what is asked; else only why_not follows fits."},
    {"fits", "true: and within --memory."},
    {"why_not", "Why it cannot serve, in words; absent where it can."},
    {"capacity", "Records held at the promised rate; 0 = no limit, it grows."},
    {"bits_per_key", "Bits of memory for a record when full; the average while it grows."},
    {"memory", "Bytes at the peak; where it grows, at the start."},
    {"bits", "Bits of a classic or blocked filter; absent for the others, as is the next."},
    {"probes", "Bits of these that a record sets."},
    {"slot_bits", "Bits kept of a record by fingerprint and exact; absent for the others, as is the next."},
    {"lines", "Cache lines of 64 bytes that the table has; 0 = it grows."},
    {"lines_touched", "Cache lines of 64 bytes that a lookup of a new record reads, on average."},
    {"fpr_predicted", "Rate computed for the filter when full, 0 to 1; for 2^40 records where it grows."},
    {NULL, NULL}};

static const cli_example examples[] = {
    {"tamis plan --expect 1e9 --fpr 1e-9", "A billion records at one wrong answer in a billion."},
    {"tamis plan --expect 50M --fpr 0.1% --memory 256MiB", "Whether it fits, and as what."},
    {"tamis plan --json", "The kinds that grow, for a program to read."},
    {NULL, NULL}};

const cli_command cmd_plan = {
    .name = "plan",
    .summary = "which kind of filter fits, and what each would cost",
    .operands = "",
    .description = description,
    .options = options,
    .option_count = OPT_COUNT,
    .exits = exits,
    .examples = examples,
    .json_about = "What --json prints is one object:",
    .json = json,
    .run = run_plan,
};
