/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/dedup_config.h"

#include <string.h>
#include <unistd.h>

#include "cli/cli_want.h"

static bool is_standard(const char *path) {
    return path != NULL && strcmp(path, "-") == 0;
}

static int check_inputs(const dedup_config *config, tamis_error *err) {
    for (size_t i = 0; i < config->input_count; i++)
        if (*config->inputs[i] == '\0')
            return cli_fail(err, "'': an empty name; name a file, or give - for standard input");
    return CLI_DONE;
}

/* Before hours of work are done: records or a number need somewhere to go. */
static int check_standard_output(const dedup_config *config, tamis_error *err) {
    if (config->count || is_standard(config->output) || is_standard(config->duplicates))
        return cli_output_check(err);
    return CLI_DONE;
}

static int check_outputs(const dedup_config *config, tamis_error *err) {
    if (config->duplicates == NULL)
        return check_standard_output(config, err);
    if (is_standard(config->duplicates) && config->count)
        return cli_fail(err, "--duplicates '-': contradicts --count: the number goes to standard output; "
                             "give --duplicates a file, or leave one of them out");
    if (config->output == NULL || strcmp(config->output, config->duplicates) != 0)
        return check_standard_output(config, err);
    if (is_standard(config->output))
        return cli_fail(err, "--duplicates '-': the first occurrences go to standard output already; "
                             "send them elsewhere with --output FILE");
    return cli_fail(err, "--duplicates '%.300s': is the file of --output too; give two files",
                    config->duplicates);
}

static int check_kind(dedup_config *config, const cli_args *args, tamis_error *err) {
    const cli_value *kind = &args->values[DEDUP_KIND];
    bool bloom = kind->number == TAMIS_KIND_CLASSIC || kind->number == TAMIS_KIND_BLOCKED;

    if (args->values[DEDUP_EXACT].given && kind->given && kind->number != TAMIS_KIND_EXACT)
        return cli_fail(err, "--exact: contradicts --kind %s: it means --kind exact; leave one of them out",
                        kind->text);
    config->want.kind = args->values[DEDUP_EXACT].given ? TAMIS_KIND_EXACT : (tamis_kind)kind->number;
    if (bloom && config->want.expect == 0)
        return cli_fail(err,
                        "--kind '%s': cannot grow, so the number of records must be known; give --expect N, "
                        "or --kind fingerprint",
                        kind->text);
    return cli_want_check_rate(kind, &args->values[DEDUP_FPR], err);
}

static int check_scheme(dedup_config *config, const cli_args *args, tamis_error *err) {
    bool secret = config->secret_file != NULL;

    if (is_standard(config->secret_file))
        return cli_fail(err, "--secret-file '-': is not taken for standard input here; give /dev/stdin, or "
                             "./- for a file of that name");
    config->want.scheme = (tamis_scheme)args->values[DEDUP_SCHEME].number;
    if (config->want.scheme == TAMIS_SCHEME_AUTO && secret)
        config->want.scheme = TAMIS_SCHEME_SIP;
    if (config->want.scheme == TAMIS_SCHEME_SIP && !secret)
        return cli_fail(err, "--scheme 'sip': needs a secret; give --secret-file FILE of %d to %d bytes",
                        TAMIS_SECRET_MIN, TAMIS_SECRET_MAX);
    if (config->want.scheme != TAMIS_SCHEME_SIP && secret)
        return cli_fail(
            err, "--secret-file: contradicts --scheme %s, which takes no secret; leave one of them out",
            args->values[DEDUP_SCHEME].text);
    if (tamis_scheme_digest_bits(config->want.scheme) == 0)
        return cli_fail(err,
                        "--scheme '%s': has no digest to know a record by, only a poor hash for each probe; "
                        "give another, "
                        "such as xxh3",
                        args->values[DEDUP_SCHEME].text);
    if (tamis_scheme_digest_bits(config->want.scheme) < 128)
        return cli_fail(
            err,
            "--scheme '%s': its digest has %d bits, and two of some billion records share one; give another, "
            "such as xxh3",
            args->values[DEDUP_SCHEME].text, (int)tamis_scheme_digest_bits(config->want.scheme));
    if (args->values[DEDUP_SEED].given && config->want.scheme > TAMIS_SCHEME_XXH3)
        return cli_fail(err, "--seed: contradicts scheme %s, which takes no seed; leave --seed out",
                        tamis_scheme_name(config->want.scheme));
    return CLI_DONE;
}

/* By itself only where it can be seen and is in nobody's way: not among records on the same screen. */
static void configure_progress(dedup_config *config, const cli_args *args) {
    bool terminal = isatty(STDERR_FILENO) == 1;
    bool among_records =
        (is_standard(config->output) || is_standard(config->duplicates)) && isatty(STDOUT_FILENO) == 1;

    config->progress_bar = terminal;
    config->progress = terminal && !among_records && !config->quiet;
    if (args->values[DEDUP_PROGRESS].given)
        config->progress = true;
    if (args->values[DEDUP_NO_PROGRESS].given)
        config->progress = false;
}

int dedup_configure(dedup_config *config, const cli_args *args, tamis_error *err) {
    const cli_value *values = args->values;

    memset(config, 0, sizeof *config);
    config->inputs = (const char *const *)args->operands;
    config->input_count = args->operand_count;
    config->count = values[DEDUP_COUNT].given;
    config->output = values[DEDUP_OUTPUT].given ? values[DEDUP_OUTPUT].text : config->count ? NULL : "-";
    config->duplicates = values[DEDUP_DUPLICATES].text;
    config->terminator = values[DEDUP_ZERO].given ? 0 : '\n';
    config->max_record = values[DEDUP_MAX_RECORD].number;
    config->want = (tamis_want)TAMIS_WANT_INIT;
    config->want.expect = values[DEDUP_EXPECT].number;
    config->want.fpr = values[DEDUP_FPR].rate;
    config->want.memory = values[DEDUP_MEMORY].number;
    config->memory = values[DEDUP_MEMORY];
    config->when_full = (tamis_when_full)values[DEDUP_WHEN_FULL].number;
    config->seed = values[DEDUP_SEED].number;
    config->secret_file = values[DEDUP_SECRET].text;
    config->json = values[DEDUP_JSON].given;
    config->stats = values[DEDUP_STATS].given || config->json;
    config->quiet = values[DEDUP_QUIET].given;
    configure_progress(config, args);
    if (check_inputs(config, err) != CLI_DONE || check_outputs(config, err) != CLI_DONE ||
        check_kind(config, args, err) != CLI_DONE)
        return CLI_FAILED;
    return check_scheme(config, args, err);
}
