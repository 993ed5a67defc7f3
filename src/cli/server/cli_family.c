/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Queries to a family of filters. Each record is split into the name of a filter and the text of a key:
 *
 *     template    topic_read:{1}:{2}       parts: "topic_read:", field 1, ":", field 2
 *     record      8839540 <tab> 20190609 <tab> 76930242
 *     name        topic_read:8839540:20190609
 *     text        76930242                 the fields that no part uses, with the delimiters between them
 *
 * The path of a batch:
 *
 *     runner --records--> split_records --names----------------+--> pairs --> server
 *        |                    +---texts--> cli_typed --keys----+
 *        +- - - - - - with --key: texts - - - ^
 *
 * - Without --key, this file makes the texts. The runner then has no extractor (cli_family_prepare_stream), so
 *   --trim and --ignore-case are applied here (`whole`).
 * - With --key, the runner extracts the texts, and this file makes the names only.
 * - If --key reads CSV, the numbers in the template are columns, which an extractor finds (`columns`). JSON is
 *   refused: a tab in a JSON string is no delimiter.
 *
 * A record without a name or a key ends the run. The records before it are answered first: split_records stops
 * at the bad record, the batch before it is sent, and then the error is returned.
 *
 * Invariants:
 * 1. `bytes` holds name 0, text 0, name 1, text 1 and so on (names only with --key). It may move while it
 *    grows, so pointers into it are set after the last record of the batch.
 * 2. cli_typed passes a batch to query_pairs in one call, so key i belongs to pairs[i].
 */
#include "cli/server/cli_family.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/redis_family.h>

#include "cli/filter/cli_filter.h"
#include "cli/input/cli_typed.h"
#include "cli/server/cli_members.h"
#include "cli/server/cli_server.h"
#include "cli/server/cli_trace.h"

enum {
    NAME_MAX_BYTES = 512, /* longest name of a filter */
    PARTS_MAX = 64,
    FIELD_MAX = 1000000
};

/* A part of the template. The name of a filter is all parts joined. */
typedef struct part {
    size_t field;    /* number of a field, from 1; 0: a literal */
    const char *own; /* bytes of a literal */
    size_t size;     /* size of a literal */
} part;

struct cli_family {
    tamis_redis_family *family;
    bool adds;
    tamis_heavy_hitters *members; /* members with many adds; NULL for lookups */
    char delimiter;
    bool keyed;               /* true: the run extracts keys (--key); false: keys are the unused fields */
    tamis_extractor *columns; /* CSV columns of the name; NULL: fields between delimiters */
    tamis_extractor *whole;   /* --trim and --ignore-case for keys made here; NULL: none */
    part parts[PARTS_MAX];
    size_t part_count, last_field;
    char *template; /* decoded literals of the parts */
    cli_typed typed;
    cli_key_position next;    /* position of the next key */
    const tamis_key *records; /* record of the next key, or base of next.record_index */
    tamis_redis_pair *pairs;
    tamis_key *texts; /* texts of the keys */
    tamis_key *rows;  /* record of each key */
    tamis_extraction *found;
    size_t capacity; /* capacity of each of the four arrays */
    char *bytes;     /* names and texts of a batch */
    size_t bytes_capacity;
};

/* ---- the name ---- */

static tamis_status add_part(cli_family *family, part added, tamis_error *err) {
    if (added.field == 0 && added.size == 0)
        return TAMIS_OK;
    if (family->part_count == PARTS_MAX)
        return cli_fail(err, "filter: its name takes too many fields; give %d at the most", PARTS_MAX / 2);
    family->parts[family->part_count++] = added;
    if (added.field > family->last_field)
        family->last_field = added.field;
    return TAMIS_OK;
}

/* Parses the name in the URI into parts. `plain` becomes the URI with a * for each field. */
static tamis_status read_template(cli_family *family, const char *uri, char *plain, tamis_error *err) {
    size_t size, used = 0;
    const char *name = cli_server_name(uri, &size), *end = name + size, *own = name;
    char shown[CLI_SERVER_SHOWN], *to = family->template;

    memcpy(plain, uri, (size_t)(name - uri));
    plain += name - uri;
    for (const char *pos = name; pos < end;) {
        uint64_t field;
        size_t length = cli_server_field(pos, end, &field);
        if (length == 0) {
            *plain++ = *pos++;
            continue;
        }
        if (field == 0 || field > FIELD_MAX)
            return cli_fail(err,
                            "%.200s: its name takes field %.*s; fields are numbered from 1 to %d, and a "
                            "brace that is meant is written %%7B",
                            cli_server_show(uri, shown), (int)(length < 20 ? length : 20), pos, FIELD_MAX);
        used = cli_server_decode(to, own, (size_t)(pos - own));
        if (add_part(family, (part){0, to, used}, err) != TAMIS_OK ||
            add_part(family, (part){(size_t)field, NULL, 0}, err) != TAMIS_OK)
            return err->status;
        to += used;
        *plain++ = '*';
        own = pos += length;
    }
    memcpy(plain, end, strlen(end) + 1);
    used = cli_server_decode(to, own, (size_t)(end - own));
    return add_part(family, (part){0, to, used}, err);
}

/* ---- opening ---- */

static tamis_status query_pairs(void *context, const tamis_key *keys, size_t count, tamis_answer *answers,
                                size_t *done, tamis_error *err) {
    cli_family *family = context;
    tamis_status status;

    for (size_t i = 0; i < count; i++)
        family->pairs[i].key = keys[i];
    if (!family->adds)
        return tamis_redis_family_contains_many(family->family, family->pairs, count, answers, done, err);
    status = tamis_redis_family_add_many(family->family, family->pairs, count, answers, done, err);
    cli_members_note(family->members, family->pairs, answers, *done);
    return status;
}

void cli_family_report_overfull(const cli_family *family, const char *uri) {
    cli_members_report(family->members, family->family, uri);
}

static tamis_status check_secret(const cli_family *family, const cli_family_setup *setup, tamis_error *err) {
    bool keyed = tamis_redis_family_plan(family->family)->scheme == TAMIS_SCHEME_SIP;
    char shown[CLI_SERVER_SHOWN];

    if (keyed && setup->secret == NULL)
        return cli_fail(err, "%.300s: was made with a secret; give it by --secret-file",
                        cli_server_show(setup->uri, shown));
    if (!keyed && setup->secret != NULL)
        return cli_filter_unkeyed(cli_server_show(setup->uri, shown), err);
    return TAMIS_OK;
}

/* Creates the extractor of the name's columns if --key reads CSV. */
static tamis_status open_columns(cli_family *family, const cli_extract *extract, tamis_error *err) {
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    char texts[PARTS_MAX][28];
    const char *columns[PARTS_MAX];

    if (extract->extractor == NULL || !tamis_extractor_is_csv(extract->extractor))
        return TAMIS_OK;
    for (size_t i = 0; i < family->part_count; i++) {
        if (family->parts[i].field == 0)
            continue;
        snprintf(texts[i], sizeof texts[i], "csv:%zu", family->parts[i].field);
        columns[options.part_count++] = texts[i];
    }
    options.parts = columns;
    options.delimiter = extract->delimiter;
    return tamis_extractor_create(&family->columns, &options, err);
}

/* JSON has no fields: a tab in it may be a part of a string. */
static tamis_status refuse_json(const cli_extract *extract, tamis_error *err) {
    size_t i = 0;

    if (extract->extractor == NULL || !tamis_extractor_is_json(extract->extractor))
        return TAMIS_OK;
    while (strncmp(extract->options.parts[i], "json:", 5) != 0)
        i++;
    return cli_fail(err,
                    "--key '%.60s': its records are JSON, and the filter's name takes fields of text or "
                    "columns of CSV; name one filter, or give records with such fields",
                    extract->options.parts[i]);
}

static tamis_status open_extractors(cli_family *family, const cli_extract *extract, tamis_error *err) {
    if (refuse_json(extract, err) != TAMIS_OK)
        return err->status;
    family->delimiter = extract->delimiter < 0 ? '\t' : (char)extract->delimiter;
    family->keyed = extract->has_parts;
    if (family->keyed)
        return open_columns(family, extract, err);
    return cli_extract_whole(&family->whole, extract, err);
}

/* Creates the extractors again if the family stores other --trim or --ignore-case than the options give. With --key it
 * fails: the run makes those keys and already has its extractor. */
static tamis_status remake_extractors(cli_family *made, const cli_family_setup *setup, uint32_t is_made,
                                      tamis_error *err) {
    cli_extract extract = *setup->extract;
    char shown[CLI_SERVER_SHOWN];

    if (is_made == setup->form.made)
        return TAMIS_OK;
    extract.options.ignore_case = (is_made & TAMIS_KEYS_FOLDED) != 0;
    extract.options.trim = (is_made & TAMIS_KEYS_TRIMMED) != 0;
    if (made->keyed)
        return cli_fail(err, "%.300s: its keys were made with%s%s; give the same beside --key",
                        cli_server_show(setup->uri, shown),
                        extract.options.ignore_case ? " --ignore-case" : "",
                        extract.options.trim ? " --trim" : "");
    tamis_extractor_free(made->whole);
    made->whole = NULL;
    return open_extractors(made, &extract, err);
}

static tamis_status open_family(cli_family *made, const cli_family_setup *setup, char *plain,
                                tamis_error *err) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    cli_key_form form = setup->form;
    char shown[CLI_SERVER_SHOWN];

    if (read_template(made, setup->uri, plain, err) != TAMIS_OK ||
        open_extractors(made, setup->extract, err) != TAMIS_OK)
        return err->status;
    options.create = setup->adds;
    options.key_type = cli_key_type_of(setup->form);
    if (setup->secret != NULL) {
        options.secret = setup->secret->bytes;
        options.secret_size = setup->secret->size;
    }
    if (tamis_redis_family_open(&made->family, NULL, plain, &options, err) != TAMIS_OK) {
        if (err->status == TAMIS_E_MISMATCH && setup->secret != NULL && strstr(err->text, "secret") != NULL)
            cli_remedy(err, "give that one by --secret-file");
        return err->status;
    }
    if (check_secret(made, setup, err) != TAMIS_OK ||
        cli_key_apply_type(&form, tamis_redis_family_key_type(made->family),
                           cli_server_show(setup->uri, shown), setup->adds, err) != TAMIS_OK ||
        remake_extractors(made, setup, form.made, err) != TAMIS_OK)
        return err->status;
    if (setup->trace)
        cli_trace_family(made->family);
    service.context = made;
    service.query = query_pairs;
    return cli_typed_begin(&made->typed, form, &service, err);
}

tamis_status cli_family_open(cli_family **family, const cli_family_setup *setup, tamis_error *err) {
    size_t size = strlen(setup->uri) + 1;
    cli_family *made = calloc(1, sizeof *made);
    char *plain = malloc(size);
    tamis_status status;

    if (made != NULL)
        made->template = malloc(size);
    if (made == NULL || plain == NULL || made->template == NULL) {
        status = cli_fail_nomem("records", err);
    } else {
        made->adds = setup->adds;
        if (setup->adds)
            (void)tamis_heavy_hitters_create(&made->members, NULL, NULL); /* only a remark depends on it */
        made->next = (cli_key_position){NULL, "record", 1, NULL};
        status = open_family(made, setup, plain, err);
    }
    free(plain);
    if (status == TAMIS_OK)
        *family = made;
    else
        cli_family_free(made);
    return status;
}

void cli_family_free(cli_family *family) {
    if (family == NULL)
        return;
    cli_typed_end(&family->typed);
    tamis_redis_family_close(family->family);
    tamis_extractor_free(family->columns);
    tamis_extractor_free(family->whole);
    tamis_heavy_hitters_free(family->members);
    free(family->template);
    free(family->pairs);
    free(family->texts);
    free(family->rows);
    free(family->found);
    free(family->bytes);
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
    if (family->pairs == NULL || family->texts == NULL || family->rows == NULL || family->found == NULL)
        return cli_fail_nomem("records", err);
    family->capacity = count;
    return TAMIS_OK;
}

static tamis_status reserve_bytes(cli_family *family, size_t size, tamis_error *err) {
    char *bytes;

    if (size <= family->bytes_capacity)
        return TAMIS_OK;
    bytes = realloc(family->bytes, 2 * size);
    if (bytes == NULL)
        return cli_fail_nomem("records", err);
    family->bytes = bytes;
    family->bytes_capacity = 2 * size;
    return TAMIS_OK;
}

static tamis_status fail_record(const cli_family *family, size_t i, const char *why, tamis_error *err) {
    return cli_key_fail(cli_key_position_of(family->next, i), &family->rows[i], why, err);
}

typedef struct fields {
    tamis_key values[PARTS_MAX]; /* value of each part that is a field */
    size_t count;                /* fields of the record; all after the last used one count as one */
    size_t left;                 /* fields that no part uses */
    size_t size;                 /* bytes of the unused fields with delimiters between them */
} fields;

/* Finds the fields of a record. Writes the unused ones, with delimiters between them, to `to`: the text of the key. */
static void find_fields(const cli_family *family, const tamis_key *record, fields *found, char *to) {
    const char *pos = record->data, *end = pos + record->size, *stop;

    do {
        size_t length;
        bool is_used = false;
        found->count++;
        stop = found->count > family->last_field || pos == end
                   ? NULL
                   : memchr(pos, family->delimiter, (size_t)(end - pos));
        length = (size_t)((stop != NULL ? stop : end) - pos);
        for (size_t i = 0; i < family->part_count; i++)
            if (family->parts[i].field == found->count) {
                found->values[i] = (tamis_key){pos, length};
                is_used = true;
            }
        if (!is_used && found->left++ > 0)
            to[found->size++] = family->delimiter;
        if (!is_used)
            memcpy(to + found->size, pos, length);
        found->size += is_used ? 0 : length;
        pos = stop != NULL ? stop + 1 : NULL;
    } while (stop != NULL);
}

/* Finds the columns of the name in `joined`, the key of the extractor `columns`. Several columns are joined, each after its
 * size in 8 bytes (tamis/experimental/extract.h). */
static void find_columns(const cli_family *family, tamis_key joined, fields *found) {
    const unsigned char *pos = joined.data;
    bool several = false;

    for (size_t i = 0, is_used = 0; i < family->part_count; i++)
        several = several || (family->parts[i].field > 0 && is_used++ > 0);
    for (size_t i = 0; i < family->part_count; i++) {
        uint64_t size = 0;
        if (family->parts[i].field == 0)
            continue;
        for (int byte = 7; several && byte >= 0; byte--)
            size = size << 8 | pos[byte];
        pos += several ? 8 : 0;
        found->values[i] = (tamis_key){pos, several ? (size_t)size : joined.size};
        pos += found->values[i].size;
    }
}

/* The error for a record without all required fields. */
static tamis_status fail_fields(const cli_family *family, size_t i, const fields *found, tamis_error *err) {
    char why[200];

    if (family->columns != NULL)
        snprintf(why, sizeof why,
                 "has not all columns that the filter's name takes; check --delimiter, or leave such "
                 "records out");
    else if (found->count < family->last_field)
        snprintf(why, sizeof why,
                 "has %zu field%s, and the filter's name takes field %zu; check --delimiter, or leave such "
                 "records out",
                 found->count, found->count == 1 ? "" : "s", family->last_field);
    else
        snprintf(why, sizeof why,
                 "has no key: the filter's name takes all of its fields; check --delimiter, or leave such "
                 "records out");
    return fail_record(family, i, why, err);
}

static bool has_fields(const cli_family *family, size_t i, const fields *found) {
    if (family->columns != NULL)
        return family->found[i].outcome == TAMIS_KEY_FOUND;
    return found->count >= family->last_field && (family->keyed || found->left > 0);
}

/* Appends the name and the text of a record to `bytes`. Sets their sizes; split_records sets their pointers later. */
static tamis_status split_record(cli_family *family, size_t i, size_t *used, tamis_error *err) {
    const tamis_key *record = &family->rows[i];
    fields found = {.count = 0};
    size_t size = 0;
    char *to;

    if (reserve_bytes(family, *used + record->size + 1 + NAME_MAX_BYTES, err) != TAMIS_OK)
        return err->status;
    to = family->bytes + *used;
    if (family->columns == NULL)
        find_fields(family, record, &found, to + NAME_MAX_BYTES);
    if (!has_fields(family, i, &found))
        return fail_fields(family, i, &found, err);
    if (family->columns != NULL)
        find_columns(family, family->found[i].key, &found);
    for (size_t j = 0; j < family->part_count; j++) {
        const part *own = &family->parts[j];
        tamis_key text = own->field > 0 ? found.values[j] : (tamis_key){own->own, own->size};
        if (text.size > NAME_MAX_BYTES - size)
            return fail_record(family, i, "makes a filter's name of more than 512 bytes; take shorter fields",
                               err);
        memcpy(to + size, text.data, text.size);
        size += text.size;
    }
    if (size == 0)
        return fail_record(family, i, "makes an empty name of a filter; write more than fields in it", err);
    family->pairs[i].name = (tamis_key){NULL, size};
    *used += size;
    if (family->keyed)
        return TAMIS_OK;
    family->texts[i] = (tamis_key){NULL, found.size};
    memmove(to + size, to + NAME_MAX_BYTES, found.size);
    *used += found.size;
    return TAMIS_OK;
}

/* Finds the record of each key, and the columns of each record. */
static tamis_status find_rows(cli_family *family, size_t count, tamis_error *err) {
    const uint32_t *record_index = family->next.record_index;

    for (size_t i = 0; i < count; i++)
        family->rows[i] = family->records[record_index != NULL ? record_index[i] : i];
    if (family->columns == NULL)
        return TAMIS_OK;
    return tamis_extractor_extract(family->columns, family->rows, count, family->found, err);
}

/* Applies --trim and --ignore-case to texts that were made here. */
static tamis_status finish_texts(cli_family *family, size_t count, tamis_error *err) {
    if (family->whole == NULL || count == 0)
        return TAMIS_OK;
    if (tamis_extractor_extract(family->whole, family->texts, count, family->found, err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < count; i++)
        family->texts[i] = family->found[i].key;
    return TAMIS_OK;
}

/* Splits records up to the first bad one, and sets *err to its error. Returns the number of records before it. */
static size_t split_records(cli_family *family, const tamis_key *keys, size_t count, tamis_error *err) {
    size_t used = 0, good = 0;
    const char *pos;

    if (reserve_rows(family, count, err) != TAMIS_OK || find_rows(family, count, err) != TAMIS_OK)
        return 0;
    while (good < count && split_record(family, good, &used, err) == TAMIS_OK)
        good++;
    pos = family->bytes;
    for (size_t i = 0; i < good; i++) {
        family->pairs[i].name.data = pos;
        pos += family->pairs[i].name.size;
        if (family->keyed) {
            family->texts[i] = keys[i];
            continue;
        }
        family->texts[i].data = pos;
        pos += family->texts[i].size;
    }
    return finish_texts(family, good, err) == TAMIS_OK ? good : 0;
}

void cli_family_prepare_stream(cli_stream *records) {
    records->form = (cli_key_form){.type = CLI_KEY_BYTES};
    if (!records->extract.has_parts)
        records->extract.extractor = NULL;
}

tamis_status cli_family_query(void *context, const tamis_key *keys, size_t count, tamis_answer *answers,
                              size_t *done, tamis_error *err) {
    cli_family *family = context;
    const tamis_stream_service *typed = &family->typed.service;
    tamis_error wrong = TAMIS_ERROR_INIT;
    tamis_status status = TAMIS_OK;
    size_t good = split_records(family, keys, count, &wrong);

    *done = 0;
    if (good > 0)
        status = typed->query(typed->context, family->texts, good, answers, done, err);
    family->records += family->next.record_index == NULL ? *done : 0;
    family->next = cli_key_position_after(family->next, *done);
    if (status != TAMIS_OK || good == count)
        return status;
    *err = wrong;
    return wrong.status;
}

void cli_family_set_source(void *context, const tamis_stream_source *source) {
    cli_family *family = context;
    const tamis_stream_service *typed = &family->typed.service;

    family->next = (cli_key_position){source->input, "record", source->first, source->record_index};
    family->records = source->records;
    if (typed->set_source != NULL)
        typed->set_source(typed->context, source);
}
