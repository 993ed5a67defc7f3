/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis check: prints the records whose key is in a filter, or with -v those whose key is not.
 *
 *     -k KEY...     answer_keys       the keys of the command line
 *     FILE...       stream_records    the records of the inputs, with --follow as they grow
 *                   search_each       -q after an error: is there a matching record in any other input?
 *
 * Both look up by check_query.c, in one filter or several.
 *
 * The exit status says whether anything was printed, as that of grep does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/check/check.h"
#include "cli/input/cli_summary.h"
#include "cli/input/cli_typed.h"
#include "cli/process/cli_progress.h"
#include "cli/process/cli_signal.h"
#include "cli/server/cli_family.h"

static const cli_summary_fields fields = {
    .records = {"records", "records", CLI_INTEGER, "Records read and answered."},
    .absent = {"absent", "absent", CLI_INTEGER, "Records that are in no filter."},
    .present = {"present", "present", CLI_INTEGER, "Records that are in a filter, or taken for one."},
    .bytes_in = {"bytes_in", "bytes", CLI_INTEGER, "Bytes of the answered records, terminators included."},
    .bytes_out = {"bytes_out", NULL, CLI_INTEGER, "Bytes written to standard output."},
    .seconds = {"seconds", "seconds", CLI_NUMBER, "Duration of the run, in seconds."},
    .files = {"files", NULL, CLI_ARRAY_OF_OBJECTS,
              "One for each input that was opened, with file, records, absent, present, missing, malformed "
              "and bytes_in."},
    CLI_SUMMARY_ROWS("answered"),
};

typedef struct check_run {
    check_config config;
    int stop_fd;
    check_query *query;
    cli_summary summary;
} check_run;

/* Looks up the records of these inputs. */
static tamis_status stream_records(check_run *run, cli_stream records, tamis_error *err) {
    const check_config *config = &run->config;
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    const char *output = config->count || config->stream.quiet ? NULL : "-";

    service.context = run->query;
    service.query = check_query_batch;
    service.set_source = check_query_set_source;
    service.hasher = check_query_hasher(run->query);
    if (service.hasher) {
        service.parts = check_query_parts;
        service.query_part = check_query_part;
        service.finish_parts = check_query_finish_parts;
    }
    if (config->is_family)
        cli_family_prepare_stream(&records);
    service.mark = config->prints_names ? check_query_mark : NULL;
    service.enough = config->stream.quiet ? check_query_found : NULL;
    options.output = config->invert ? output : NULL;
    options.duplicates = config->invert ? NULL : output;
    options.mark_name = "filters";
    options.follow = config->follow;
    options.stop_fd = run->stop_fd;
    options.first_malformed = &run->summary.first_malformed;
    return cli_stream_run(&records, &service, &options, &run->summary.stats, err);
}

/*
 * Like grep -q of POSIX: the answer is yes if any input has a matching record, even if another input has an
 * error. Reads each input by itself, after the run over all inputs has failed. Reports the error of that run
 * in any case.
 */
static tamis_status search_each(check_run *run, tamis_status failed, tamis_error *err) {
    check_run single = *run;
    tamis_error ignored = TAMIS_ERROR_INIT;

    for (size_t i = 0; i < run->config.stream.input_count; i++) {
        cli_stream input = run->config.stream;
        input.inputs += i;
        input.input_count = 1;
        input.input_stats = input.input_stats ? input.input_stats + i : NULL;
        single.summary.stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
        const tamis_status status = stream_records(&single, input, &ignored);
        if (status == TAMIS_E_INTERRUPTED)
            return status;
        if (!check_query_found(run->query))
            continue;
        cli_stream_advise(failed, err);
        cli_report(err->text);
        run->summary = single.summary;
        return TAMIS_OK;
    }
    return failed;
}

/* Counts the answered keys, and prints the keys that --invert-match selects. */
static void print_keys(check_run *run, const tamis_answer *answers, size_t done) {
    const check_config *config = &run->config;
    tamis_stream_stats *stats = &run->summary.stats;

    for (size_t i = 0; i < done; i++) {
        tamis_key mark = {"", 0};
        const size_t size = strlen(config->keys[i]);
        stats->records++;
        stats->bytes_in += size;
        *(answers[i] == TAMIS_PRESENT ? &stats->duplicates : &stats->unique) += 1;
        if ((answers[i] == TAMIS_PRESENT) == config->invert || config->count || config->stream.quiet)
            continue;
        if (config->prints_names)
            mark = check_query_mark(run->query, i);
        fwrite(mark.data, 1, mark.size, stdout);
        fwrite(config->keys[i], 1, size, stdout);
        putchar(config->stream.terminator);
        stats->bytes_out += mark.size + size + 1;
    }
}

/* Fills `keys` with the keys of the command line, after --trim and --ignore-case. They belong to *normalizer,
 * which the caller frees, or to argv if *normalizer is NULL. */
static tamis_status extract_keys(const check_config *config, tamis_key *keys, tamis_extractor **normalizer,
                                 tamis_error *err) {
    const size_t count = config->key_count;

    for (size_t i = 0; i < count; i++)
        keys[i] = (tamis_key){config->keys[i], strlen(config->keys[i])};
    if (cli_extract_normalizer(normalizer, &config->stream.extract, err) != TAMIS_OK)
        return err->status;
    if (!*normalizer)
        return TAMIS_OK;
    tamis_extraction *found = calloc(count, sizeof *found);
    if (!found)
        return cli_fail_nomem("--lookup", err);
    const tamis_status status = tamis_extractor_extract(*normalizer, keys, count, found, err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        keys[i] = found[i].key;
    free(found);
    return status;
}

/* Looks up the keys of the command line. */
static tamis_status answer_keys(check_run *run, tamis_error *err) {
    const check_config *config = &run->config;
    const size_t count = config->key_count;
    tamis_stream_batch batch = TAMIS_STREAM_BATCH_INIT;
    tamis_key *keys = calloc(count, sizeof *keys);
    tamis_answer *answers = calloc(count, sizeof *answers);
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_status status = TAMIS_OK;
    cli_typed typed = {.maker = NULL};
    tamis_extractor *normalizer = NULL;

    service.context = run->query;
    service.query = check_query_batch;
    if (!keys || !answers)
        status = cli_fail_nomem("--lookup", err);
    else
        status = extract_keys(config, keys, &normalizer, err);
    if (status == TAMIS_OK)
        status = cli_typed_begin(&typed, config->stream.form, &service, err);
    if (status == TAMIS_OK) {
        size_t done = 0;
        typed.next.word = "key";
        batch.count = count;
        batch.keys = keys;
        batch.answers = answers;
        status = typed.service.query(typed.service.context, &batch, &done, err);
        print_keys(run, answers, done);
    }
    cli_typed_end(&typed);
    tamis_extractor_free(normalizer);
    free(keys);
    free(answers);
    return status;
}

static tamis_status run_queries(check_run *run, bool *negative, tamis_error *err) {
    const check_config *config = &run->config;
    cli_summary *summary = &run->summary;
    const double start = cli_progress_now();
    tamis_status status =
        config->key_count > 0 ? answer_keys(run, err) : stream_records(run, config->stream, err);

    if (status != TAMIS_OK && status != TAMIS_E_INTERRUPTED && config->stream.quiet && !config->follow &&
        config->stream.input_count > 1)
        status = search_each(run, status, err);
    summary->seconds = cli_progress_now() - start;
    const uint64_t printed = config->invert
                                 ? summary->stats.unique + cli_stream_passed(&config->stream, &summary->stats)
                                 : summary->stats.duplicates;
    if (config->count && (status == TAMIS_OK || status == TAMIS_E_INTERRUPTED))
        printf("%" PRIu64 "\n", printed);
    *negative = printed == 0;
    return cli_summary_conclude(summary, &config->stream, NULL, status, err);
}

/* Reads the secrets, opens the filters, and erases the secrets from memory. */
static tamis_status open_filters(check_run *run, tamis_error *err) {
    const check_config *config = &run->config;
    cli_secret *secrets = NULL;
    tamis_status status = TAMIS_OK;

    if (config->secret_count > 0) {
        secrets = calloc(config->secret_count, sizeof *secrets);
        if (!secrets)
            return cli_fail_nomem("--secret-file", err);
    }
    for (size_t i = 0; i < config->secret_count && status == TAMIS_OK; i++)
        status = cli_secret_read(&secrets[i], config->secret_files[i], run->stop_fd, err);
    if (status == TAMIS_OK)
        status = check_query_open(&run->query, config, secrets, err);
    for (size_t i = 0; i < config->secret_count; i++)
        cli_secret_forget(&secrets[i]);
    free(secrets);
    return status;
}

static tamis_status run_check(const cli_args *args, bool *negative, tamis_error *err) {
    check_run run = {.stop_fd = -1, .summary = CLI_SUMMARY_INIT};
    check_config *config = &run.config;
    tamis_status status = check_configure(config, args, err);

    run.summary.fields = &fields;
    run.summary.passes = config->invert;
    if (status == TAMIS_OK)
        status = cli_signals_begin(&run.stop_fd, err);
    if (status == TAMIS_OK)
        status = open_filters(&run, err);
    if (status == TAMIS_OK)
        status = check_query_apply_key_form(run.query, &config->stream.form, err);
    if (status == TAMIS_OK)
        status =
            cli_extract_apply_normalization(&config->stream.extract, config->stream.form.normalization, err);
    if (status == TAMIS_OK)
        status = run_queries(&run, negative, err);
    check_query_free(run.query);
    cli_stream_release(&config->stream);
    return status;
}

const cli_command cmd_check = {
    .name = "check",
    .summary = "print the records that are in a filter, or are not",
    .operands = "[FILTER] [FILE...]",
    .manual = &cli_manual_check,
    .options = check_options,
    .conflicts = check_conflicts,
    .fields = CLI_FIELDS(fields),
    .run = run_check,
};
