/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis audit: measures the false-positive rate of a filter, and judges its promise.
 *
 *     open the filter --> look up the records that were added --> look up random keys like them --> verdict
 *                         (audit_run.c): a missing one is         (audit_run.c): a found one is
 *                         an error of the filter                  a false positive
 *
 * This file has the options, the report as text and JSON, and the words of the verdict. Statistics are the
 * library's (tamis/experimental/audit.h).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tamis/experimental/audit.h>

#include "cli/cli.h"
#include "cli/cmd/audit/audit.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_option.h"
#include "cli/core/cli_rows.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_file.h"
#include "cli/filter/cli_filter.h"
#include "cli/server/cli_server.h"

enum { OPT_QUERIES = CLI_OPT_OWN };

#define CONFIDENCE 0.99

static const cli_option options[] = {
    {.id = OPT_QUERIES,
     .name = "queries",
     .type = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = TAMIS_EXPECT_MAX,
     .help = "Number of random keys to look up; by default as many as the rate needs, up to 1e7.",
     .more = "A rate of 1e-9 needs about 1e10 keys; each takes about 5 bytes of memory."},
    {.id = CLI_OPT_SEED,
     .name = "seed",
     .type = CLI_SEED,
     .value = "SEED",
     .fallback = "0",
     .help = "Seed of the random keys: the same seed gives the same keys."},
    CLI_ROW_FILES_FROM,
    CLI_ROWS_RECORDS("key of KEYS", "Keys of KEYS"),
    {.id = CLI_OPT_SECRET_FILE,
     .name = "secret-file",
     .type = CLI_FILE,
     .value = "FILE",
     .help = "The secret that a keyed filter was made with: the bytes of FILE.",
     .more = "Every byte of the file counts, a newline at its end too. Standard input is "
             "/dev/stdin here, not -."},
    {.id = CLI_OPT_JSON, .name = "json", .type = CLI_FLAG, .help = "Print the result as one JSON object."},
    {.name = NULL},
};

static const struct {
    cli_field file, fpr, fpr_live, fpr_measured, fpr_low, fpr_high, queries, hits, keys, missing, saturated,
        verdict;
} fields = {
    .file = {"file", NULL, CLI_STRING, "The name, as given; bytes that are not UTF-8 are shown as ?."},
    .fpr = {"fpr", "promised", CLI_NUMBER | CLI_NULL,
            "Promised rate of wrong answers, 0 to 1; null = none is recorded."},
    .fpr_live = {"fpr_live", "computed", CLI_NUMBER, "Rate computed from the content of the filter."},
    .fpr_measured = {"fpr_measured", "measured", CLI_NUMBER, "Measured rate: hits divided by queries."},
    .fpr_low = {"fpr_low", NULL, CLI_NUMBER, "Low end of its 99 % confidence interval."},
    .fpr_high = {"fpr_high", NULL, CLI_NUMBER, "High end of this interval."},
    .queries = {"queries", "random keys", CLI_INTEGER, "Random keys that were looked up."},
    .hits = {"hits", NULL, CLI_INTEGER, "Random keys that were answered \"present\"."},
    .keys = {"keys", "keys", CLI_INTEGER, "Keys in KEYS."},
    .missing = {"missing", NULL, CLI_INTEGER, "Keys in KEYS that were answered \"new\": false negatives."},
    .saturated = {"saturated", NULL, CLI_BOOLEAN, "true: the filter holds more keys than it was made for."},
    .verdict = {"verdict", "rate", CLI_STRING,
                "About the rate alone: kept, doubtful (above the promise, but maybe by chance), too rare (to "
                "be measured), broken, undecided, or none (no promise)."},
};

typedef struct report {
    const char *path;
    audit run;
    tamis_filter_info info;
    bool promises;
    double promised, low, high;
    tamis_audit_verdict verdict;
    cli_stream keys;
} report;

static tamis_status open_filter(tamis_filter **filter, const char *path, const char *secret_file,
                                tamis_error *err) {
    cli_filter_file file = {.path = path};
    cli_secret secret;
    tamis_status status;

    if (!secret_file) {
        status = cli_file_open(filter, &file, NULL, err);
        if (status != TAMIS_OK || tamis_hasher_scheme(tamis_filter_hasher(*filter)) != TAMIS_SCHEME_SIP)
            return status;
        return cli_fail(err, "%.300s: is keyed, and lookups need its secret; give --secret-file FILE", path);
    }
    if (strcmp(secret_file, "-") == 0)
        return cli_fail(err, "--secret-file '-': is not taken for standard input here; give /dev/stdin, or "
                             "./- for a file of that name");
    status = cli_secret_read(&secret, secret_file, -1, err);
    if (status != TAMIS_OK)
        return status;
    file.secret = &secret;
    status = cli_file_open(filter, &file, NULL, err);
    cli_secret_forget(&secret);
    return status;
}

static tamis_status judge(report *result, const tamis_plan *plan, tamis_error *err) {
    const audit *run = &result->run;
    tamis_audit_evidence evidence = TAMIS_AUDIT_EVIDENCE_INIT;

    tamis_rate_interval(&result->low, &result->high, run->hits, run->queries, CONFIDENCE);
    evidence.rule = TAMIS_AUDIT_RULE_PROMISED;
    evidence.queries = run->queries;
    evidence.hits = run->hits;
    evidence.low = result->low;
    evidence.keys = result->info.cardinality;
    evidence.computed = result->info.fpr_live;
    evidence.checked = run->distinct;
    evidence.has_checked = run->has_keys;
    return tamis_audit_judge(&result->verdict, plan, &evidence, err);
}

/* The text of a verdict for the JSON object. */
static const char *verdict_name(tamis_audit_verdict verdict) {
    static const char *const names[] = {
        [TAMIS_AUDIT_NO_PROMISE] = "none",     [TAMIS_AUDIT_KEPT] = "kept",
        [TAMIS_AUDIT_AS_COMPUTED] = "kept", /* not a verdict of the rule used here */
        [TAMIS_AUDIT_TOO_RARE] = "too rare",   [TAMIS_AUDIT_DOUBTFUL] = "doubtful",
        [TAMIS_AUDIT_UNDECIDED] = "undecided", [TAMIS_AUDIT_BROKEN] = "broken"};
    return names[verdict];
}

static const char *explain(const report *result) {
    switch (result->verdict) {
    case TAMIS_AUDIT_UNDECIDED:
        return "undecided: the random keys may be keys that are in it and not in KEYS";
    case TAMIS_AUDIT_BROKEN:
        return "broken: above the promise beyond chance";
    case TAMIS_AUDIT_DOUBTFUL:
        return "doubtful: above the promise, by no more than chance and the spread of such filters may do";
    case TAMIS_AUDIT_TOO_RARE:
        return "too rare: not above the promise, as far as so many queries can tell";
    case TAMIS_AUDIT_NO_PROMISE:
    case TAMIS_AUDIT_KEPT:
    case TAMIS_AUDIT_AS_COMPUTED:
        break;
    }
    return result->low > result->promised
               ? "kept: above the promise by no more than rounding to its size gives"
               : "kept: not above the promise, or not beyond chance";
}

static void print_text(const report *result) {
    const audit *run = &result->run;
    const char *overfull = result->info.saturated ? "; more keys came than it was made for" : "";
    char a[CLI_TEXT_NUMBER], b[CLI_TEXT_NUMBER], c[CLI_TEXT_NUMBER];

    cli_text_print(stdout, result->path);
    printf("\n  %-13s %s\n", fields.fpr.label,
           result->promises ? cli_text_rate(a, sizeof a, result->promised) : "none is recorded");
    printf("  %-13s %s\n", fields.fpr_live.label, cli_text_rate(a, sizeof a, result->info.fpr_live));
    cli_text_rate(a, sizeof a, (double)run->hits / (double)run->queries);
    cli_text_rate(b, sizeof b, result->low);
    cli_text_rate(c, sizeof c, result->high);
    if (run->hits > 0)
        printf("  %-13s %s, with 99 %% confidence from %s to %s\n", fields.fpr_measured.label, a, b, c);
    else
        printf("  %-13s 0, with 99 %% confidence below %s\n", fields.fpr_measured.label, c);
    printf("  %-13s %s looked up, %s of them answered wrongly\n", fields.queries.label,
           cli_text_count(a, sizeof a, run->queries), cli_text_count(b, sizeof b, run->hits));
    if (run->has_keys)
        printf("  %-13s %s looked up, %s of them missing\n", fields.keys.label,
               cli_text_count(a, sizeof a, run->keys), cli_text_count(b, sizeof b, run->missing));
    if (result->promises)
        printf("  %-13s %s%s\n", fields.verdict.label, explain(result), overfull);
    else
        printf("  %-13s no promise is recorded; measured %s%s\n", fields.verdict.label,
               cli_text_rate(a, sizeof a, (double)run->hits / (double)run->queries), overfull);
}

static tamis_status print_json(const report *result, tamis_error *err) {
    const audit *run = &result->run;
    json_t *object = json_object();

    cli_json_string(object, &fields.file, result->path);
    cli_json_number(object, &fields.fpr, result->promises ? result->promised : NAN);
    cli_json_number(object, &fields.fpr_live, result->info.fpr_live);
    cli_json_number(object, &fields.fpr_measured, (double)run->hits / (double)run->queries);
    cli_json_number(object, &fields.fpr_low, result->low);
    cli_json_number(object, &fields.fpr_high, result->high);
    cli_json_integer(object, &fields.queries, run->queries);
    cli_json_integer(object, &fields.hits, run->hits);
    cli_json_integer(object, &fields.keys, run->keys);
    cli_json_integer(object, &fields.missing, run->missing);
    cli_json_boolean(object, &fields.saturated, result->info.saturated);
    cli_json_string(object, &fields.verdict, verdict_name(result->verdict));
    return cli_json_write(object, stdout, 0, "audit", err);
}

/* Reports missing keys. A filter never forgets a key. So a missing key was never added, or was made with
 * other options, or this is an error of the program. */
static void report_missing(const report *result) {
    const audit *run = &result->run;
    char message[500], count[CLI_TEXT_NUMBER];

    if (run->missing == 0)
        return;
    snprintf(message, sizeof message,
             "%.120s: %s of the keys %s missing, key %" PRIu64
             " of %s ('%s') the first; if they were added, and by this --key, --type and --hex, it is a "
             "false negative, which must never be",
             result->path, cli_text_count(count, sizeof count, run->missing),
             run->missing == 1 ? "is" : "are", run->first_missing, run->missing_in, run->shown);
    cli_report(message);
}

/* Reports that KEYS lacks keys of the filter. Random keys have the shapes of KEYS, so they may be keys of the
 * filter if there are few keys of these shapes. */
static void report_partial(const report *result) {
    char message[400], holds[CLI_TEXT_NUMBER], given[CLI_TEXT_NUMBER];

    if (result->verdict != TAMIS_AUDIT_UNDECIDED)
        return;
    snprintf(
        message, sizeof message,
        "%.120s: holds about %s keys, and KEYS has %s: random keys that look like these may be in it; give "
        "all its keys",
        result->path, cli_text_expected(holds, sizeof holds, result->info.cardinality),
        cli_text_count(given, sizeof given, result->run.distinct));
    cli_report(message);
}

static tamis_status audit_filter(report *result, const cli_args *args, bool *negative, tamis_error *err) {
    const tamis_plan *plan = tamis_filter_plan(result->run.filter);
    const cli_value *queries = &args->values[OPT_QUERIES];

    /* Verify first: statistics from damaged bits would be wrong. */
    if ((!cli_server_format(result->run.filter) &&
         tamis_filter_verify(result->run.filter, err) != TAMIS_OK) ||
        tamis_filter_info_get(result->run.filter, &result->info, err) != TAMIS_OK)
        return err->status;
    result->promises = cli_filter_promises(plan);
    result->promised = result->promises ? plan->fpr : 0;
    result->run.queries = queries->given
                              ? queries->number
                              : tamis_audit_queries(plan, fmax(result->promised, result->info.fpr_live));
    tamis_status status = audit_run(&result->run, err);
    if (status == TAMIS_OK)
        status = judge(result, plan, err);
    if (status != TAMIS_OK)
        return status;
    report_missing(result);
    report_partial(result);
    if (!args->values[CLI_OPT_JSON].given)
        print_text(result);
    else if (print_json(result, err) != TAMIS_OK)
        return err->status;
    *negative = result->verdict == TAMIS_AUDIT_BROKEN || result->run.missing > 0;
    return TAMIS_OK;
}

static tamis_status configure(report *result, const cli_args *args, tamis_error *err) {
    cli_stream_given given = {.values = args->values};

    if (args->operand_count < 1)
        return cli_fail(err, "audit: takes a filter, and files of keys; name the filter");
    result->run.has_keys = args->operand_count > 1 || args->values[CLI_OPT_FILES_FROM].given;
    result->run.records = &result->keys;
    result->run.seed = args->values[CLI_OPT_SEED].number;
    result->run.progress = isatty(STDERR_FILENO);
    given.inputs = args->operands + 1;
    given.input_count = args->operand_count - 1;
    if (cli_stream_configure(&result->keys, &given, err) != TAMIS_OK)
        return err->status;
    result->run.form = result->keys.form;
    /* Without KEYS only --type has a use, for the random keys. */
    for (int i = CLI_OPT_RECORDS_FIRST; !result->run.has_keys && i <= CLI_OPT_RECORDS_LAST; i++)
        if (args->values[i].given && i != CLI_OPT_TYPE)
            return cli_fail(err, "--%s: there are no KEYS; name their files, or leave it out",
                            cli_option_of(options, i)->name);
    return TAMIS_OK;
}

static tamis_status run_audit(const cli_args *args, bool *negative, tamis_error *err) {
    char shown[CLI_SERVER_SHOWN];
    report result = {.info = TAMIS_FILTER_INFO_INIT};
    tamis_filter *filter = NULL;
    tamis_status status = configure(&result, args, err);

    if (status == TAMIS_OK) {
        result.path = cli_server_show(args->operands[0], shown);
        status = open_filter(&filter, args->operands[0], args->values[CLI_OPT_SECRET_FILE].text, err);
    }
    result.run.filter = filter;
    if (status == TAMIS_OK)
        status = cli_stream_apply_filter(&result.keys, filter, result.path, false, err);
    result.run.form = result.keys.form;
    if (status == TAMIS_OK)
        cli_key_fit(&result.run.form, tamis_hasher_scheme(tamis_filter_hasher(filter)),
                    cli_stream_line_end(&result.keys));
    if (status == TAMIS_OK)
        status = audit_filter(&result, args, negative, err);
    tamis_filter_free(filter);
    cli_stream_release(&result.keys);
    return status;
}

const cli_command cmd_audit = {
    .name = "audit",
    .summary = "whether a filter keeps its promised rate and has its keys",
    .operands = "FILTER [KEYS...]",
    .manual = &cli_manual_audit,
    .options = options,
    .fields = CLI_FIELDS(fields),
    .run = run_audit,
};
