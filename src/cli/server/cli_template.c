/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Splitting records by the template of a family. An extractor finds the fields of the template, each once
 * and in ascending order. Names are the parts joined; texts are the gaps between the fields joined:
 *
 *     template    n{4}_{2}         fields 2, 4
 *     record      a | bb | c | d | e
 *     values          bb       d
 *     name        nd_bb
 *     text        a | c | e
 *
 * Each field but the last of a record is followed by a delimiter. Removing a value removes one delimiter
 * too. So the size of the text is that of the record, less the sizes of the values and one delimiter for
 * each. If that is -1, the values were all fields of the record, and no text is left.
 *
 * All records are measured before the first name is written, so that pointers into `bytes` stay valid.
 */
#include "cli/server/cli_template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/server/cli_server.h"

enum {
    NAME_MAX_BYTES = 512, /* longest name of a filter */
    PARTS_MAX = 64,
    FIELD_MAX = 1000000,
    WHY = 200
};

/* A part of the template. The name of a filter is all parts joined. */
typedef struct part {
    size_t field;        /* number of a field, from 1; 0: a literal */
    size_t index;        /* index of the field in `fields` */
    const char *literal; /* bytes of a literal */
    size_t size;         /* size of a literal */
} part;

struct cli_template {
    part parts[PARTS_MAX];
    size_t part_count;
    size_t fields[PARTS_MAX]; /* fields of the parts, each once, ascending */
    size_t field_count;
    char *literals; /* decoded literals of the parts */
    char delimiter;
    bool has_key_option;     /* true: the run extracts keys (--key), so there are no texts */
    tamis_extractor *finder; /* finds `fields` */
    tamis_extraction *found; /* whether each record has all fields */
    tamis_key *values;       /* fields of each record */
    size_t capacity;         /* max. records in `found` and `values` */
    char *bytes;             /* names and texts of the last batch */
    size_t bytes_capacity;   /* size of `bytes` */
};

/* ---- the template ---- */

static tamis_status add_part(cli_template *template, part added, tamis_error *err) {
    if (added.field == 0 && added.size == 0)
        return TAMIS_OK;
    if (template->part_count == PARTS_MAX)
        return cli_fail(err, "filter: too many fields in its name; give at most %d", PARTS_MAX / 2);
    template->parts[template->part_count++] = added;
    return TAMIS_OK;
}

/* Parses the name in the URI into parts. `plain` becomes the URI with a * for each field. */
static tamis_status parse_parts(cli_template *template, const char *uri, char *plain, tamis_error *err) {
    size_t size, used = 0;
    const char *name = cli_server_name(uri, &size), *end = name + size, *literal = name;
    char shown[CLI_SERVER_SHOWN], *to = template->literals;

    memcpy(plain, uri, (size_t)(name - uri));
    plain += name - uri;
    for (const char *pos = name; pos < end;) {
        uint64_t field;
        const size_t length = cli_server_field(pos, end, &field);
        if (length == 0) {
            *plain++ = *pos++;
            continue;
        }
        if (field == 0 || field > FIELD_MAX)
            return cli_fail(err,
                            "%.200s: %.*s in its name is not a field; give {1} to {%d}, or write %%7B for a "
                            "literal brace",
                            cli_server_show(uri, shown), (int)(length < 20 ? length : 20), pos, FIELD_MAX);
        used = cli_server_decode(to, literal, (size_t)(pos - literal));
        if (add_part(template, (part){.literal = to, .size = used}, err) != TAMIS_OK ||
            add_part(template, (part){.field = (size_t)field}, err) != TAMIS_OK)
            return err->status;
        to += used;
        *plain++ = '*';
        literal = pos += length;
    }
    memcpy(plain, end, strlen(end) + 1);
    used = cli_server_decode(to, literal, (size_t)(end - literal));
    return add_part(template, (part){.literal = to, .size = used}, err);
}

/* Fills `fields`, and the indexes of the parts. */
static void order_fields(cli_template *template) {
    size_t *fields = template->fields;

    for (size_t i = 0; i < template->part_count; i++) {
        size_t field = template->parts[i].field, j = 0;
        while (j < template->field_count && fields[j] < field)
            j++;
        if (field == 0 || (j < template->field_count && fields[j] == field))
            continue;
        memmove(&fields[j + 1], &fields[j], (template->field_count++ - j) * sizeof *fields);
        fields[j] = field;
    }
    for (size_t i = 0; i < template->part_count; i++)
        while (fields[template->parts[i].index] < template->parts[i].field)
            template->parts[i].index++;
}

static tamis_status open_finder(cli_template *template, const cli_extract *extract, tamis_error *err) {
    const bool is_csv = extract->extractor && tamis_extractor_is_csv(extract->extractor);
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    char texts[PARTS_MAX][28];
    const char *fields[PARTS_MAX];

    for (size_t i = 0; i < template->field_count; i++) {
        snprintf(texts[i], sizeof texts[i], "%s:%zu", is_csv ? "csv" : "field", template->fields[i]);
        fields[i] = texts[i];
    }
    options.parts = fields;
    options.part_count = template->field_count;
    options.delimiter = extract->delimiter;
    return tamis_extractor_create(&template->finder, &options, err);
}

tamis_status cli_template_create(cli_template **template, const char *uri, const cli_extract *extract,
                                 char *plain, tamis_error *err) {
    cli_template *made = calloc(1, sizeof *made);

    if (made)
        made->literals = malloc(strlen(uri) + 1);
    if (!made || !made->literals) {
        cli_template_free(made);
        return cli_fail_nomem("records", err);
    }
    made->delimiter = extract->delimiter < 0 ? '\t' : (char)extract->delimiter;
    made->has_key_option = extract->has_parts;
    tamis_status status = parse_parts(made, uri, plain, err);
    if (status == TAMIS_OK) {
        order_fields(made);
        status = open_finder(made, extract, err);
    }
    if (status == TAMIS_OK)
        *template = made;
    else
        cli_template_free(made);
    return status;
}

void cli_template_free(cli_template *template) {
    if (!template)
        return;
    tamis_extractor_free(template->finder);
    free(template->literals);
    free(template->found);
    free(template->values);
    free(template->bytes);
    free(template);
}

/* ---- records ---- */

/* Writes to `why` what a record lacks. */
static void explain_fields(const cli_template *template, const tamis_key *record, char why[WHY]) {
    const size_t last_field = template->fields[template->field_count - 1];
    const char *bytes = record->data;
    size_t count = 1;

    for (size_t i = 0; i < record->size; i++)
        count += bytes[i] == template->delimiter;
    if (tamis_extractor_is_csv(template->finder))
        snprintf(why, WHY,
                 "lacks a column that the filter's name uses; check --delimiter, or leave such records out");
    else if (count < last_field)
        snprintf(why, WHY,
                 "has %zu field%s, but the filter's name uses field %zu; check --delimiter, or leave such "
                 "records out",
                 count, count == 1 ? "" : "s", last_field);
    else
        snprintf(
            why, WHY,
            "has no key, because the filter's name uses all its fields; check --delimiter, or leave such "
            "records out");
}

/* Sets the sizes of the name and the text of record `i`. False, with the reason in `why`, if it does not have
 * both. */
static bool measure_record(const cli_template *template, const tamis_key *record, size_t i,
                           tamis_redis_pair *pair, char why[WHY]) {
    const tamis_key *values = template->values + i * template->field_count;
    const bool has_fields = template->found[i].outcome == TAMIS_KEY_FOUND;
    size_t size = 0, used = 0;

    for (size_t j = 0; has_fields && j < template->field_count; j++)
        used += values[j].size + 1;
    if (!has_fields || (!template->has_key_option && used > record->size)) {
        explain_fields(template, record, why);
        return false;
    }
    for (const part *own = template->parts; own < template->parts + template->part_count; own++)
        size += own->field > 0 ? values[own->index].size : own->size;
    if (size > NAME_MAX_BYTES)
        snprintf(why, WHY, "gives a filter's name of more than %d bytes; use shorter fields", NAME_MAX_BYTES);
    else if (size == 0)
        snprintf(why, WHY, "gives an empty filter's name; add text beside the fields to the name");
    pair->name.size = size;
    pair->key.size = template->has_key_option ? 0 : record->size - used;
    return size > 0 && size <= NAME_MAX_BYTES;
}

static char *write_name(const cli_template *template, size_t i, char *to) {
    const tamis_key *values = template->values + i * template->field_count;

    for (const part *own = template->parts; own < template->parts + template->part_count; own++) {
        const tamis_key bytes = own->field > 0 ? values[own->index] : (tamis_key){own->literal, own->size};
        memcpy(to, bytes.data, bytes.size);
        to += bytes.size;
    }
    return to;
}

/* Writes the fields between and after the values of record `i`. */
static char *write_text(const cli_template *template, const tamis_key *record, size_t i, char *to) {
    const tamis_key *values = template->values + i * template->field_count;
    const char *data = record->data;
    size_t pos = 0, gaps = 0; /* pos: offset after the last value and its delimiter */

    for (size_t j = 0; j <= template->field_count; j++) {
        size_t next =
            j < template->field_count ? (size_t)((const char *)values[j].data - data) : record->size + 1;
        if (next > pos) {
            if (gaps++ > 0)
                *to++ = template->delimiter;
            memcpy(to, data + pos, next - 1 - pos);
            to += next - 1 - pos;
        }
        if (j < template->field_count)
            pos = next + values[j].size + 1;
    }
    return to;
}

static tamis_status reserve_records(cli_template *template, size_t count, tamis_error *err) {
    if (count <= template->capacity)
        return TAMIS_OK;
    template->capacity = 0;
    free(template->found);
    free(template->values);
    template->found = calloc(count, sizeof *template->found);
    template->values = calloc(count, template->field_count * sizeof *template->values);
    if (!template->found || !template->values)
        return cli_fail_nomem("records", err);
    template->capacity = count;
    return TAMIS_OK;
}

static tamis_status reserve_bytes(cli_template *template, size_t size, tamis_error *err) {
    if (size <= template->bytes_capacity)
        return TAMIS_OK;
    template->bytes_capacity = 0;
    free(template->bytes);
    template->bytes = malloc(2 * size);
    if (!template->bytes)
        return cli_fail_nomem("records", err);
    template->bytes_capacity = 2 * size;
    return TAMIS_OK;
}

size_t cli_template_split(cli_template *template, const cli_record_batch *batch, tamis_redis_pair *pairs,
                          tamis_error *err) {
    const tamis_key *records = batch->records;
    const size_t count = batch->count;
    size_t good = 0, bytes = 1;
    char why[WHY];

    if (reserve_records(template, count, err) != TAMIS_OK ||
        tamis_extractor_values(template->finder, records, count, template->found, template->values, err) !=
            TAMIS_OK)
        return 0;
    for (; good < count; good++) {
        if (!measure_record(template, &records[good], good, &pairs[good], why)) {
            cli_key_fail(cli_key_position_of(batch->first, good), &records[good], why, err);
            break;
        }
        bytes += pairs[good].name.size + pairs[good].key.size;
    }
    if (reserve_bytes(template, bytes, err) != TAMIS_OK)
        return 0;
    char *to = template->bytes;
    for (size_t i = 0; i < good; i++) {
        pairs[i].name.data = to;
        to = write_name(template, i, to);
        pairs[i].key.data = to;
        to = template->has_key_option ? to : write_text(template, &records[i], i, to);
    }
    return good;
}
