/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Queries to a family of filters. Each record gives the name of a filter and the text of a key
 * (cli_template.h):
 *
 *     runner --records--> cli_template --names---------------+--> pairs --> server
 *        |                    +-------texts--> cli_typed --keys--+
 *        +- - - - - - with --key: texts - - - - - - ^
 *
 * - Without --key, the text is what the template leaves of the record. The runner then has no extractor
 *   (cli_family_prepare_stream), so --trim and --ignore-case are applied here (`normalizer`).
 * - With --key, the runner extracts the texts. JSON is refused: a tab in a JSON string is not a delimiter.
 *
 * A record without a name or a key ends the run. The records before it are answered first: make_pairs
 * stops at the bad record, the batch before it is sent, and then the error is returned.
 *
 * Invariant: cli_typed passes a batch to query_pairs in one call, so key i belongs to pairs[i].
 */
#include "cli/server/cli_family.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/census.h>
#include <tamis/experimental/redis_family.h>

#include "cli/cli.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_filter.h"
#include "cli/input/cli_typed.h"
#include "cli/server/cli_server.h"
#include "cli/server/cli_template.h"
#include "cli/server/cli_trace.h"

enum { MEMBERS_QUERIED = 64 }; /* members with the most adds, checked at the end of a run */

struct cli_family {
    tamis_redis_family *family;
    bool adds;
    tamis_heavy_hitters *members; /* members with many adds; NULL for lookups */
    cli_template *template;       /* names, and without --key texts, of the records */
    tamis_extractor *normalizer;  /* --trim and --ignore-case for these texts; NULL: none */
    bool has_key_option;          /* true: the run extracts keys (--key) */
    cli_typed typed;
    cli_key_position next; /* position of the next key */
    /* Records of the batch: from the next key on, or indexed by next.record_index. */
    const tamis_key *records;
    tamis_redis_pair *pairs;
    tamis_key *texts;        /* texts of the keys */
    tamis_key *rows;         /* record of each key */
    tamis_extraction *found; /* texts that `normalizer` has normalised */
    size_t capacity;         /* capacity of each of the four arrays */
};

/* ---- opening ---- */

/* Counts added pairs by member, except those answered TAMIS_PRESENT. */
static void note_members(tamis_heavy_hitters *members, const tamis_redis_pair *pairs,
                         const tamis_answer *answers, size_t count) {
    for (size_t i = 0; members && i < count; i++)
        if (answers[i] != TAMIS_PRESENT)
            tamis_heavy_hitters_add_many(members, &pairs[i].name, 1);
}

static tamis_status query_pairs(void *context, const tamis_stream_batch *b, size_t *done, tamis_error *err) {
    cli_family *family = context;

    for (size_t i = 0; i < b->count; i++)
        family->pairs[i].key = b->keys[i];
    if (!family->adds)
        return tamis_redis_family_contains_many(family->family, family->pairs, b->count, b->answers, done,
                                                err);
    const tamis_status status =
        tamis_redis_family_add_many(family->family, family->pairs, b->count, b->answers, done, err);
    note_members(family->members, family->pairs, b->answers, *done);
    return status;
}

static tamis_status check_secret(const cli_family *family, const cli_family_setup *setup, tamis_error *err) {
    const bool keyed = tamis_redis_family_plan(family->family)->scheme == TAMIS_SCHEME_SIP;
    char shown[CLI_SERVER_SHOWN];

    if (keyed && !setup->secret)
        return cli_fail(err, "%.300s: was made with a secret; give it by --secret-file",
                        cli_server_show(setup->uri, shown));
    if (!keyed && setup->secret)
        return cli_filter_unkeyed(cli_server_show(setup->uri, shown), err);
    return TAMIS_OK;
}

/* JSON has no fields: a tab in it may be a part of a string. */
static tamis_status refuse_json(const cli_extract *extract, tamis_error *err) {
    size_t i = 0;

    if (!extract->extractor || !tamis_extractor_is_json(extract->extractor))
        return TAMIS_OK;
    while (strncmp(extract->options.parts[i], "json:", 5) != 0)
        i++;
    return cli_fail(err,
                    "--key '%.60s': its records are JSON, and the filter's name takes fields of text or "
                    "columns of CSV; name one filter, or give records with such fields",
                    extract->options.parts[i]);
}

/* Creates `normalizer` again if the family stores other --trim or --ignore-case than the options give. With
 * --key it fails: the run makes those keys and already has its extractor. */
static tamis_status remake_normalizer(cli_family *made, const cli_family_setup *setup, uint32_t stored,
                                      tamis_error *err) {
    cli_extract extract = *setup->extract;
    char shown[CLI_SERVER_SHOWN];

    if (stored == setup->form.normalization)
        return TAMIS_OK;
    extract.options.ignore_case = (stored & TAMIS_KEYS_FOLDED) != 0;
    extract.options.trim = (stored & TAMIS_KEYS_TRIMMED) != 0;
    if (made->has_key_option)
        return cli_fail(err, "%.300s: its keys were made with%s%s; give the same beside --key",
                        cli_server_show(setup->uri, shown),
                        extract.options.ignore_case ? " --ignore-case" : "",
                        extract.options.trim ? " --trim" : "");
    tamis_extractor_free(made->normalizer);
    return cli_extract_normalizer(&made->normalizer, &extract, err);
}

static tamis_status open_family(cli_family *made, const cli_family_setup *setup, char *plain,
                                tamis_error *err) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    cli_key_form form = setup->form;
    char shown[CLI_SERVER_SHOWN];

    if (cli_template_create(&made->template, setup->uri, setup->extract, plain, err) != TAMIS_OK ||
        refuse_json(setup->extract, err) != TAMIS_OK ||
        (!made->has_key_option && cli_extract_normalizer(&made->normalizer, setup->extract, err) != TAMIS_OK))
        return err->status;
    options.create = setup->adds;
    options.key_type = cli_key_type_of(setup->form);
    if (setup->secret) {
        options.secret = setup->secret->bytes;
        options.secret_size = setup->secret->size;
    }
    if (tamis_redis_family_open(&made->family, NULL, plain, &options, err) != TAMIS_OK) {
        if (err->status == TAMIS_E_SECRET)
            cli_remedy(err, "give that one by --secret-file");
        return err->status;
    }
    if (check_secret(made, setup, err) != TAMIS_OK ||
        cli_key_apply_type(&form, tamis_redis_family_key_type(made->family),
                           cli_server_show(setup->uri, shown), setup->adds, err) != TAMIS_OK ||
        remake_normalizer(made, setup, form.normalization, err) != TAMIS_OK)
        return err->status;
    if (setup->trace)
        cli_trace_family(made->family);
    service.context = made;
    service.query = query_pairs;
    return cli_typed_begin(&made->typed, form, &service, err);
}

tamis_status cli_family_open(cli_family **family, const cli_family_setup *setup, tamis_error *err) {
    cli_family *made = calloc(1, sizeof *made);
    char *plain = malloc(strlen(setup->uri) + 1);
    tamis_status status = TAMIS_E_NOMEM;

    if (!made || !plain) {
        cli_fail_nomem("records", err);
    } else {
        made->adds = setup->adds;
        made->has_key_option = setup->extract->has_parts;
        if (setup->adds)
            (void)tamis_heavy_hitters_create(&made->members, NULL, NULL); /* only a remark depends on it */
        made->next = (cli_key_position){.input = NULL, .word = "record", .number = 1, .record_index = NULL};
        status = open_family(made, setup, plain, err);
    }
    free(plain);
    if (status == TAMIS_OK)
        *family = made;
    else
        cli_family_close(made);
    return status;
}

void cli_family_close(cli_family *family) {
    if (!family)
        return;
    cli_typed_end(&family->typed);
    tamis_redis_family_close(family->family);
    cli_template_free(family->template);
    tamis_extractor_free(family->normalizer);
    tamis_heavy_hitters_free(family->members);
    free(family->pairs);
    free(family->texts);
    free(family->rows);
    free(family->found);
    free(family);
}

/* ---- records ---- */

static tamis_status reserve_rows(cli_family *family, size_t count, tamis_error *err) {
    if (count <= family->capacity)
        return TAMIS_OK;
    family->capacity = 0;
    free(family->pairs);
    free(family->texts);
    free(family->rows);
    free(family->found);
    family->pairs = calloc(count, sizeof *family->pairs);
    family->texts = calloc(count, sizeof *family->texts);
    family->rows = calloc(count, sizeof *family->rows);
    family->found = calloc(count, sizeof *family->found);
    if (!family->pairs || !family->texts || !family->rows || !family->found)
        return cli_fail_nomem("records", err);
    family->capacity = count;
    return TAMIS_OK;
}

/* Applies --trim and --ignore-case to texts that were made here. */
static tamis_status finish_texts(cli_family *family, size_t count, tamis_error *err) {
    if (!family->normalizer || count == 0)
        return TAMIS_OK;
    if (tamis_extractor_extract(family->normalizer, family->texts, count, family->found, err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < count; i++)
        family->texts[i] = family->found[i].key;
    return TAMIS_OK;
}

/* Makes names and texts of the records up to the first bad one, and sets *err to its error. Returns the
 * number of records before it. */
static size_t make_pairs(cli_family *family, const tamis_key *keys, size_t count, tamis_error *err) {
    const uint32_t *record_index = family->next.record_index;

    if (reserve_rows(family, count, err) != TAMIS_OK)
        return 0;
    for (size_t i = 0; i < count; i++)
        family->rows[i] = family->records[record_index ? record_index[i] : i];
    const cli_record_batch batch = {family->rows, count, family->next};
    const size_t good = cli_template_split(family->template, &batch, family->pairs, err);
    for (size_t i = 0; i < good; i++)
        family->texts[i] = family->has_key_option ? keys[i] : family->pairs[i].key;
    return finish_texts(family, good, err) == TAMIS_OK ? good : 0;
}

void cli_family_prepare_stream(cli_stream *records) {
    records->form = (cli_key_form){.type = CLI_KEY_BYTES};
    if (!records->extract.has_parts)
        records->extract.extractor = NULL;
}

tamis_status cli_family_query(void *context, const tamis_stream_batch *batch, size_t *done,
                              tamis_error *err) {
    cli_family *family = context;
    const tamis_stream_service *typed = &family->typed.service;
    tamis_error wrong = TAMIS_ERROR_INIT;
    tamis_status status = TAMIS_OK;
    tamis_stream_batch texts = *batch;
    texts.count = make_pairs(family, batch->keys, batch->count, &wrong);
    texts.keys = family->texts;

    *done = 0;
    if (texts.count > 0)
        status = typed->query(typed->context, &texts, done, err);
    family->records += !family->next.record_index ? *done : 0;
    family->next = cli_key_position_after(family->next, *done);
    if (status != TAMIS_OK || texts.count == batch->count)
        return status;
    *err = wrong;
    return wrong.status;
}

uint64_t cli_family_unconfirmed(const cli_family *family) {
    return tamis_redis_family_unconfirmed(family->family);
}

void cli_family_set_source(void *context, const tamis_stream_source *source) {
    cli_family *family = context;
    const tamis_stream_service *typed = &family->typed.service;

    family->next = (cli_key_position){.input = source->input,
                                      .word = "record",
                                      .number = source->first,
                                      .record_index = source->record_index};
    family->records = source->records;
    if (typed->set_source)
        typed->set_source(typed->context, source);
}

/* ---- members that hold too many keys: adds have no limit, so they are checked at the end of a run ---- */

static void report_member(const tamis_key *worst, const tamis_filter_info *info, size_t count,
                          const tamis_redis_family *family, const char *uri) {
    const tamis_plan *plan = tamis_redis_family_plan(family);
    char message[CLI_SERVER_SHOWN + CLI_SERVER_NAME + 600], shown[CLI_SERVER_SHOWN], name[CLI_SERVER_NAME],
        holds[CLI_TEXT_NUMBER], made[CLI_TEXT_NUMBER], now[CLI_TEXT_NUMBER], more[80] = "", why[160];

    if (info->saturated)
        snprintf(why, sizeof why, "holds %s%s keys and was made for %s",
                 isfinite(info->cardinality) ? "about " : "",
                 isfinite(info->cardinality) ? cli_text_expected(holds, sizeof holds, info->cardinality)
                                             : "an unknown number of",
                 cli_text_count(made, sizeof made, plan->capacity));
    else
        snprintf(why, sizeof why, "has most of its bits set");
    if (count > 1)
        snprintf(more, sizeof more, " (%zu more member%s too full)", count - 1, count > 2 ? "s are" : " is");
    snprintf(message, sizeof message, "%.300s: %.200s %s, so its rate is now about %s%s; %s",
             cli_server_show(uri, shown), cli_server_encode(name, worst->data, worst->size), why,
             cli_text_real(now, sizeof now, info->fpr_live), more,
             info->saturated ? "use a family with another name and a larger expect"
                             : "use a family with another name and more bits");
    cli_report(message);
}

/* With layouts that store no capacity: reports members that have most of their bits set. */
void cli_family_report_overfull(const cli_family *family, const char *uri) {
    tamis_filter_info worst = TAMIS_FILTER_INFO_INIT;
    tamis_heavy_hitter list[MEMBERS_QUERIED];
    const tamis_key *fullest = NULL;
    size_t listed, count = 0;

    if (!family->members)
        return;
    listed = tamis_heavy_hitters_list(family->members, list, MEMBERS_QUERIED);
    for (size_t i = 0; i < listed; i++) {
        const tamis_key *name = &list[i].key;
        tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
        if (tamis_redis_family_info(family->family, name->data, name->size, &info, NULL) != TAMIS_OK)
            return; /* all keys are added, so a missing remark is not an error */
        if (!info.saturated && !cli_server_is_dense(&info, tamis_redis_family_plan(family->family), uri))
            continue;
        if (count++ == 0 || info.fpr_live > worst.fpr_live) {
            worst = info;
            fullest = name;
        }
    }
    if (count > 0)
        report_member(fullest, &worst, count, family->family, uri);
}
