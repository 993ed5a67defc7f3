/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * An audit looks up keys that are in the filter, and random keys that are not.
 *
 *     user's keys --+--> filter: absent? a false negative
 *                   +--> shape: learns their form (audit_shape.h)
 *                   '--> known: remembers them
 *
 *     shape --> random key --> known: new? --yes--> filter: present? a false positive
 *                                 |no
 *                                 '--> dropped
 *
 * The user's keys are read once, so they may come through a pipe.
 *
 * `known` is a filter of kind fingerprint that holds the user's keys and all random keys so far. A random key
 * that it reports as present is dropped. So no key of the user counts as a false positive. No random key is
 * looked up twice, which would count a wrong answer twice. `known` has false positives too; they only drop a
 * random key.
 *
 * `known` must have another seed than the audited filter. With the same hash it would drop exactly those
 * random keys that the filter confuses with others, and the measured rate would be too low.
 *
 * Lookups use keys, not their texts: with type int64 the texts 007 and 7 are the same key.
 */
#include "cli/cmd/audit/audit_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd/audit/audit_shape.h"
#include "cli/core/cli_text.h"
#include "cli/input/cli_summary.h"
#include "cli/process/cli_progress.h"

enum { BATCH = 256 };

typedef struct audit_memory {
    audit_shape shape;
    cli_key_maker *maker;
    tamis_filter *known;                      /* user's keys and random keys so far */
    double last_shown;                        /* time of the last progress message */
    tamis_key keys[BATCH];                    /* batch of random keys */
    unsigned char made[BATCH][AUDIT_KEY_MAX]; /* bytes of these keys */
} audit_memory;

/* Shows progress on one line, at most ten times a second. An empty text clears the line. */
static void show_progress(const audit *run, audit_memory *r, const char *text) {
    char line[80];
    double now = cli_progress_now();
    int size = snprintf(line, sizeof line, "\r%-32s\r%s", "", text);

    if (!run->progress || (*text != '\0' && now - r->last_shown < 0.1))
        return;
    r->last_shown = now;
    if (write(STDERR_FILENO, line, (size_t)size) < 0)
        return; /* the run continues without progress messages */
}

static tamis_status make_known(const audit *run, audit_memory *r, tamis_error *err) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_status status;

    options.seed = UINT64_C(0x6b6e6f776e) ^ ~tamis_hasher_seed(tamis_filter_hasher(run->filter));
    plan_options.kind = TAMIS_KIND_FINGERPRINT;
    status = tamis_plan_make(&plan, &plan_options, err);
    if (status == TAMIS_OK)
        status = tamis_filter_create(&r->known, &plan, &options, err);
    return status;
}

/* ---- the user's keys ---- */

typedef struct key_reader {
    audit *run;
    audit_memory *r;
    cli_key_position next; /* position of the next text */
} key_reader;

static void note_missing(audit *run, const tamis_key *key, cli_key_position position) {
    size_t size = key->size < AUDIT_SHOWN ? key->size : AUDIT_SHOWN;

    if (run->missing++ > 0)
        return;
    run->first_missing = position.number;
    snprintf(run->missing_in, sizeof run->missing_in, "%s", position.input);
    memcpy(run->shown, key->data, size);
    run->shown[size] = '\0';
}

static void note_source(void *context, const tamis_stream_source *source) {
    ((key_reader *)context)->next =
        (cli_key_position){source->input, "record", source->first, source->record_index};
}

/* The query function of the stream that reads the user's keys. Makes keys of the texts itself, because the
 * shapes of utf16 keys are learnt from their texts. */
static tamis_status check_keys(void *context, const tamis_key *texts, size_t count, tamis_answer *answers,
                               size_t *done, tamis_error *err) {
    key_reader *reader = context;
    audit *run = reader->run;
    audit_memory *r = reader->r;
    char text[64], number[CLI_TEXT_NUMBER];
    const tamis_key *keys;

    *done = 0;
    if (cli_key_make(r->maker, texts, count, reader->next, &keys, &count, err) != TAMIS_OK ||
        tamis_filter_contains_many(run->filter, keys, count, answers, NULL, err) != TAMIS_OK ||
        tamis_filter_add_many(r->known, keys, count, NULL, NULL, err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < count; i++) {
        run->keys++;
        if (answers[i] == TAMIS_ABSENT)
            note_missing(run, &texts[i], cli_key_position_of(reader->next, i));
        if (!audit_shape_learn(&r->shape, run->form.type == CLI_KEY_UTF16 ? &texts[i] : &keys[i])) {
            cli_fail_nomem("audit", err);
            return err->status;
        }
    }
    *done = count;
    snprintf(text, sizeof text, "%s keys read", cli_text_count(number, sizeof number, run->keys));
    show_progress(run, r, text);
    return TAMIS_OK;
}

static tamis_status read_keys(audit *run, audit_memory *r, tamis_error *err) {
    key_reader reader = {.run = run, .r = r};
    cli_stream records;
    cli_summary summary = CLI_SUMMARY_INIT;
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_status status;

    if (!run->has_keys)
        return TAMIS_OK;
    records = *run->records;
    records.form = (cli_key_form){.type = CLI_KEY_BYTES};
    service.context = &reader;
    service.query = check_keys;
    service.set_source = note_source;
    options.first_malformed = &summary.first_malformed;
    status = cli_stream_run(&records, &service, &options, &summary.stats, err);
    show_progress(run, r, "");
    cli_stream_advise(status, err);
    if (status != TAMIS_OK)
        return err->status;
    cli_summary_report_skipped(&summary, &records);
    return TAMIS_OK;
}

/* Counts the distinct keys of the user, before random keys are added to `known`. */
static tamis_status count_distinct(audit *run, const audit_memory *r, tamis_error *err) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;

    if (tamis_filter_info_get(r->known, &info, err) != TAMIS_OK)
        return err->status;
    run->distinct = info.added;
    return TAMIS_OK;
}

/* ---- random keys ---- */

/* `known` takes memory for each random key, so fewer of them help. */
static tamis_status fail_query(tamis_error *err) {
    if (err->status == TAMIS_E_NOMEM)
        cli_remedy(err, "give fewer --questions, or free memory");
    return err->status;
}

/* Makes at most `wanted` random keys that are not known. If most are known, because the shapes have too few
 * keys, the next random keys are longer. */
static tamis_status make_keys(audit_memory *r, size_t wanted, size_t *count, tamis_error *err) {
    tamis_answer answers[BATCH];

    for (size_t i = 0; i < wanted; i++)
        r->keys[i] = (tamis_key){r->made[i], audit_shape_make(&r->shape, r->made[i])};
    if (r->shape.form.type == CLI_KEY_UTF16) {
        cli_key_position first = {NULL, "random key", 1, NULL}; /* unused: the texts are valid UTF-8 */
        const tamis_key *keys;
        if (cli_key_make(r->maker, r->keys, wanted, first, &keys, count, err) != TAMIS_OK)
            return err->status;
        memcpy(r->keys, keys, wanted * sizeof *keys);
    }
    if (tamis_filter_add_many(r->known, r->keys, wanted, answers, NULL, err) != TAMIS_OK)
        return fail_query(err);
    *count = 0;
    for (size_t i = 0; i < wanted; i++)
        if (answers[i] == TAMIS_ABSENT)
            r->keys[(*count)++] = r->keys[i];
    if (*count < wanted / 2 + 1 && r->shape.more < AUDIT_MORE)
        r->shape.more++;
    return TAMIS_OK;
}

static tamis_status query_random_keys(audit *run, audit_memory *r, tamis_error *err) {
    tamis_answer answers[BATCH];
    char text[64];
    size_t count;

    r->last_shown = 0; /* show the first message at once */
    for (uint64_t done = 0; done < run->queries; done += count) {
        uint64_t left = run->queries - done;
        if (make_keys(r, left < BATCH ? (size_t)left : BATCH, &count, err) != TAMIS_OK)
            return err->status;
        if (tamis_filter_contains_many(run->filter, r->keys, count, answers, NULL, err) != TAMIS_OK)
            return err->status;
        for (size_t i = 0; i < count; i++)
            run->hits += answers[i] == TAMIS_PRESENT;
        snprintf(text, sizeof text, "%.0f %% looked up", 100 * (double)done / (double)run->queries);
        show_progress(run, r, text);
    }
    return TAMIS_OK;
}

/* Refuses more than half of all numbers of type int32: random numbers would hardly be new any more. */
static tamis_status check_supply(const audit *run, tamis_error *err) {
    uint64_t limit = UINT64_C(1) << 31;
    char number[CLI_TEXT_NUMBER];

    if (run->form.type != CLI_KEY_INT32 || (run->keys <= limit && run->queries <= limit - run->keys))
        return TAMIS_OK;
    return cli_fail(err,
                    "--questions: with the keys, %s would be more than half of all numbers of type int32; "
                    "give fewer",
                    cli_text_count(number, sizeof number, run->queries + run->keys));
}

tamis_status audit_run(audit *run, tamis_error *err) {
    audit_memory *r = calloc(1, sizeof *r);
    tamis_status status;

    if (r == NULL)
        return cli_fail_nomem("audit", err);
    audit_shape_begin(&r->shape, run->form, run->seed);
    status = cli_key_maker_create(&r->maker, run->form, err);
    if (status == TAMIS_OK)
        status = make_known(run, r, err);
    if (status == TAMIS_OK)
        status = read_keys(run, r, err);
    if (status == TAMIS_OK)
        status = count_distinct(run, r, err);
    if (status == TAMIS_OK)
        status = check_supply(run, err);
    if (status == TAMIS_OK)
        status = query_random_keys(run, r, err);
    show_progress(run, r, "");
    audit_shape_release(&r->shape);
    tamis_filter_free(r->known);
    cli_key_maker_free(r->maker);
    free(r);
    return status;
}
