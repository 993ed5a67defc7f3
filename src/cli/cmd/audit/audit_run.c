/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * An audit of the library (tamis/experimental/audit.h), over records: the user's keys are read and
 * checked, then random keys are looked up, both with progress messages.
 *
 * Lookups use keys, not their texts: with type int64 the texts 007 and 7 are the same key.
 */
#include "cli/cmd/audit/audit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tamis/experimental/audit.h>

#include "cli/cli.h"
#include "cli/core/cli_text.h"
#include "cli/input/cli_summary.h"
#include "cli/process/cli_progress.h"

typedef struct audit_work {
    tamis_audit *audit;
    tamis_key_maker *maker;
    double last_shown; /* time of the last progress message */
} audit_work;

/* Shows progress on one line, at most ten times a second. An empty text clears the line. */
static void show_progress(const audit *run, audit_work *work, const char *text) {
    char line[80];
    const double now = cli_progress_now();
    const int size = snprintf(line, sizeof line, "\r%-32s\r%s", "", text);

    if (!run->progress || (*text != '\0' && now - work->last_shown < 0.1))
        return;
    work->last_shown = now;
    if (write(STDERR_FILENO, line, (size_t)size) < 0)
        return; /* the run continues without progress messages */
}

/* ---- the user's keys ---- */

typedef struct key_reader {
    audit *run;
    audit_work *work;
    cli_key_position next; /* position of the next text */
} key_reader;

static void note_missing(audit *run, const tamis_key *key, cli_key_position position) {
    const size_t size = key->size < AUDIT_SHOWN ? key->size : AUDIT_SHOWN;

    if (run->first_missing > 0)
        return;
    run->first_missing = position.number;
    snprintf(run->missing_in, sizeof run->missing_in, "%s", position.input);
    memcpy(run->shown, key->data, size);
    run->shown[size] = '\0';
}

static void note_source(void *context, const tamis_stream_source *source) {
    ((key_reader *)context)->next = (cli_key_position){.input = source->input,
                                                       .word = "record",
                                                       .number = source->first,
                                                       .record_index = source->record_index};
}

/* The query function of the stream that reads the user's keys. Makes keys of the texts itself, because a
 * missing key is reported by its text. */
static tamis_status check_keys(void *context, const tamis_stream_batch *texts, size_t *done,
                               tamis_error *err) {
    key_reader *reader = context;
    const size_t count = texts->count;
    tamis_audit_result result = TAMIS_AUDIT_RESULT_INIT;
    char text[64], number[CLI_TEXT_NUMBER];
    const tamis_key *keys;
    size_t made;

    *done = 0;
    if (tamis_key_maker_make(reader->work->maker, texts->keys, count, &keys, &made, err) != TAMIS_OK)
        return cli_key_explain(cli_key_position_of(reader->next, made), &texts->keys[made], err);
    if (tamis_audit_check_keys(reader->work->audit, keys, count, texts->answers, err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < count; i++)
        if (texts->answers[i] == TAMIS_ABSENT)
            note_missing(reader->run, &texts->keys[i], cli_key_position_of(reader->next, i));
    *done = count;
    tamis_audit_result_get(reader->work->audit, &result);
    snprintf(text, sizeof text, "%s keys read", cli_text_count(number, sizeof number, result.keys));
    show_progress(reader->run, reader->work, text);
    return TAMIS_OK;
}

static tamis_status read_keys(audit *run, audit_work *work, tamis_error *err) {
    key_reader reader = {.run = run, .work = work};
    cli_summary summary = CLI_SUMMARY_INIT;
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;

    if (!run->has_keys)
        return TAMIS_OK;
    cli_stream records = *run->records;
    records.form = (cli_key_form){.type = CLI_KEY_BYTES};
    service.context = &reader;
    service.query = check_keys;
    service.set_source = note_source;
    options.first_malformed = &summary.first_malformed;
    const tamis_status status = cli_stream_run(&records, &service, &options, &summary.stats, err);
    show_progress(run, work, "");
    cli_stream_advise(status, err);
    if (status != TAMIS_OK)
        return err->status;
    cli_summary_report_skipped(&summary, &records);
    return TAMIS_OK;
}

/* ---- random keys ---- */

/* Refuses more random keys than the audit can make. */
static tamis_status check_supply(const audit *run, const audit_work *work, tamis_error *err) {
    tamis_audit_result result = TAMIS_AUDIT_RESULT_INIT;
    char number[CLI_TEXT_NUMBER];

    if (run->queries <= tamis_audit_queries_left(work->audit))
        return TAMIS_OK;
    tamis_audit_result_get(work->audit, &result);
    return cli_fail(err,
                    "--queries: with the keys, %s would be more than half of all numbers of type int32; "
                    "give fewer",
                    cli_text_count(number, sizeof number, run->queries + result.keys));
}

static tamis_status query_random_keys(audit *run, audit_work *work, tamis_error *err) {
    tamis_audit_result result = TAMIS_AUDIT_RESULT_INIT;
    tamis_status status = TAMIS_OK;
    char text[64];

    work->last_shown = 0; /* show the first message at once */
    while (status == TAMIS_OK && result.queries < run->queries) {
        snprintf(text, sizeof text, "%.0f %% looked up", 100 * (double)result.queries / (double)run->queries);
        status = tamis_audit_query_random(work->audit, run->queries - result.queries, err);
        show_progress(run, work, text);
        tamis_audit_result_get(work->audit, &result);
    }
    if (status == TAMIS_E_NOMEM) /* each random key takes memory */
        cli_remedy(err, "give fewer --queries, or free memory");
    run->keys = result.keys;
    run->distinct = result.distinct;
    run->missing = result.missing;
    run->hits = result.hits;
    return status;
}

static tamis_key_shape shape_of(cli_key_form form) {
    switch (form.type) {
    case CLI_KEY_UTF16:
        return TAMIS_KEY_SHAPE_UTF16;
    case CLI_KEY_INT32:
        return TAMIS_KEY_SHAPE_INT32;
    case CLI_KEY_INT64:
        return TAMIS_KEY_SHAPE_INT64;
    case CLI_KEY_BYTES:
    case CLI_KEY_UTF8:
        break;
    }
    return form.hex ? TAMIS_KEY_SHAPE_BYTES : TAMIS_KEY_SHAPE_TEXT;
}

tamis_status audit_run(audit *run, tamis_error *err) {
    audit_work work = {0};
    tamis_audit_options options = TAMIS_AUDIT_OPTIONS_INIT;

    options.shape = shape_of(run->form);
    options.seed = run->seed;
    tamis_status status = tamis_audit_create(&work.audit, run->filter, &options, err);
    if (status == TAMIS_OK)
        status = cli_key_maker_create(&work.maker, run->form, err);
    if (status == TAMIS_OK)
        status = read_keys(run, &work, err);
    if (status == TAMIS_OK)
        status = check_supply(run, &work, err);
    if (status == TAMIS_OK)
        status = query_random_keys(run, &work, err);
    show_progress(run, &work, "");
    tamis_key_maker_free(work.maker);
    tamis_audit_free(work.audit);
    return status;
}
