/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Extractors: creation from the texts of parts, and headers that give CSV columns their names.
 *
 *     parts      csv:name  regex:(a)(b)  csv:3
 *     csv        [0]                     [1]        column numbers; set by the header for names
 *     values     [0]       [2] [3]       [1]        JSON and CSV first: one pass finds them all
 *
 * Parts of JSON and of CSV exclude each other, since a record has only one syntax. A copy for another thread
 * has its own values, parser and arena, and shares everything constant with the original.
 */
#include "stream/extract/extract_int.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/versioned.h"
#include "store/file/file_error.h"
#include "stream/split/bom.h"

enum { LIST_SIZE = 200 /* bytes of column names in a message */ };

tamis_status tamis__extract_fail_memory(tamis_error *err) {
    return tamis__fail(err, TAMIS_E_NOMEM, ENOMEM,
                       "keys of records: out of memory; free memory, or raise the limit");
}

/* ---- create and free ---- */

static bool alloc_arrays(tamis_extractor *x) {
    const size_t count = x->part_count;
    x->parts = tamis__alloc(&x->memory, count * sizeof *x->parts, TAMIS__LINE);
    x->pointers = tamis__alloc(&x->memory, count * sizeof *x->pointers, TAMIS__LINE);
    x->csv.numbers = tamis__alloc(&x->memory, count * sizeof *x->csv.numbers, TAMIS__LINE);
    x->fields = tamis__alloc(&x->memory, count * sizeof *x->fields, TAMIS__LINE);
    x->texts = tamis__alloc(&x->memory, x->texts_size, TAMIS__LINE);
    return x->parts && x->pointers && x->csv.numbers && x->fields && x->texts;
}

/* The text of part `i`, and its role. */
static const char *text_of_part(const tamis_extractor *x, const char *const *texts,
                                const char *const others[TAMIS__ROLES], size_t i,
                                tamis__key_part_role *role) {
    *role = TAMIS__ROLE_KEY;
    if (i < x->key_part_count)
        return texts[i];
    while (x->part_of[*role] != i)
        ++*role;
    return others[*role];
}

/* Parses the parts: those of the key from `texts`, the others from `others`, by role. x->texts gets a copy of
 * each text, and beside it space for a name in that text. */
static tamis_status parse_parts(tamis_extractor *x, const char *const *texts,
                                const char *const others[TAMIS__ROLES], tamis_error *err) {
    tamis__key_part_role role;
    for (size_t i = 0; i < x->part_count; i++)
        x->texts_size += 2 * (strlen(text_of_part(x, texts, others, i, &role)) + 1);
    if (!alloc_arrays(x))
        return tamis__extract_fail_memory(err);
    char *buffer = x->texts;
    for (size_t i = 0; i < x->part_count; i++) {
        tamis__wanted_part *p = &x->parts[i];
        const char *text = text_of_part(x, texts, others, i, &role);
        const size_t size = strlen(text) + 1;
        memcpy(buffer, text, size);
        const tamis_status status = tamis__key_part_parse(&p->spec, buffer, role, buffer + size, err);
        if (status != TAMIS_OK)
            return status;
        buffer += 2 * size;
        if (p->spec.kind == TAMIS__KEY_PART_JSON)
            x->pointers[x->pointer_count++] = p->spec.rest;
        if (p->spec.kind == TAMIS__KEY_PART_CSV)
            x->csv.numbers[x->csv.count++] = p->spec.from;
        x->wants_header = x->wants_header || p->spec.name.data;
    }
    return TAMIS_OK;
}

/* Returns the nth part of a kind, counted from 0. It must exist. */
static const tamis__wanted_part *find_nth_part(const tamis_extractor *x, tamis__key_part_kind kind,
                                               size_t n) {
    const tamis__wanted_part *p = x->parts;
    while (p->spec.kind != kind || n-- > 0)
        p++;
    return p;
}

static tamis_status check_syntaxes(const tamis_extractor *x, tamis_error *err) {
    if (x->pointer_count == 0 || x->csv.count == 0)
        return TAMIS_OK;
    return tamis__key_part_fail(err, &find_nth_part(x, TAMIS__KEY_PART_JSON, 0)->spec,
                                "its records are JSON, and those of '%s' CSV; ask for parts of one of them",
                                tamis__show(find_nth_part(x, TAMIS__KEY_PART_CSV, 0)->spec.text).text);
}

static tamis_status make_json(tamis_extractor *x, tamis_error *err) {
    tamis__pointer_fault wrong = {0, {NULL, 0}};
    if (x->pointer_count == 0)
        return TAMIS_OK;
    const tamis_status status =
        tamis__json_create(&x->json, x->pointers, x->pointer_count, &x->memory, &wrong);
    if (status != TAMIS_E_INVALID)
        return status == TAMIS_OK ? TAMIS_OK : tamis__extract_fail_memory(err);
    return tamis__key_part_fail(
        err, &find_nth_part(x, TAMIS__KEY_PART_JSON, wrong.index)->spec,
        "%s, at byte %zu of the pointer; write '/' before each name, ~1 for '/' in one "
        "and ~0 for '~'",
        wrong.fault.why, wrong.fault.pos);
}

static tamis_status make_regex(tamis_extractor *x, tamis__wanted_part *p, tamis_error *err) {
    char why[TAMIS__REGEX_WHY];
    size_t pos = 0;
    const tamis_status status = tamis__regex_create(&p->regex, p->spec.rest, &x->memory, why, &pos);
    if (status == TAMIS_OK)
        return TAMIS_OK;
    if (status == TAMIS_E_NOMEM)
        return tamis__fail_nomem(err, "keys of records", pos);
    return tamis__key_part_fail(err, &p->spec, "%s, at byte %zu of the pattern; correct it", why, pos);
}

static void add_field(tamis_extractor *x, size_t number, size_t value) {
    size_t i = x->field_count++;
    for (; i > 0 && x->fields[i - 1].number > number; i--)
        x->fields[i] = x->fields[i - 1];
    x->fields[i] = (tamis__wanted_field){number, value};
}

/* Assigns values to the parts. JSON and CSV come first, since one pass finds them together
 * (extract_keys.c). */
static tamis_status assign_values(tamis_extractor *x, tamis_error *err) {
    size_t together = 0, next = x->pointer_count + x->csv.count;
    for (tamis__wanted_part *p = x->parts; p < x->parts + x->part_count; p++) {
        const tamis_status status = p->spec.kind == TAMIS__KEY_PART_REGEX ? make_regex(x, p, err) : TAMIS_OK;
        if (status != TAMIS_OK)
            return status;
        p->count = p->regex ? tamis__regex_values(p->regex) : 1;
        if (p->spec.role != TAMIS__ROLE_KEY && p->count > 1)
            return tamis__key_part_fail(err, &p->spec, "has several groups; give one with a single group");
        if (p->spec.kind == TAMIS__KEY_PART_JSON || p->spec.kind == TAMIS__KEY_PART_CSV) {
            p->first = together++;
        } else {
            p->first = next;
            next += p->count;
        }
        if (p->spec.kind == TAMIS__KEY_PART_FIELD)
            add_field(x, p->spec.from, p->first);
    }
    x->value_count = next;
    for (const tamis__wanted_part *p = x->parts; p < x->parts + x->key_part_count; p++)
        x->key_value_count += p->count;
    x->values = tamis__alloc(&x->memory, next * sizeof *x->values, TAMIS__LINE);
    return x->values ? TAMIS_OK : tamis__extract_fail_memory(err);
}

static tamis_status set_delimiter(tamis_extractor *x, int delimiter, tamis_error *err) {
    if (delimiter < -1 || delimiter > UINT8_MAX)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "delimiter: %d is not a byte; give one from 0 to 255, or -1 for the usual one",
                           delimiter);
    if (x->csv.count > 0 && (delimiter == '"' || delimiter == '\n' || delimiter == '\r'))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "delimiter: a quote or the end of a line has another meaning in CSV; "
                           "give the byte between columns");
    x->field_delimiter = (unsigned char)(delimiter < 0 ? '\t' : delimiter);
    x->csv.delimiter = (unsigned char)(delimiter < 0 ? ',' : delimiter);
    return TAMIS_OK;
}

static tamis_status init_extractor(tamis_extractor *x, const tamis_extractor_options *options,
                                   tamis_error *err) {
    static const char *const line[] = {"line"};
    if (options->part_count > 0 && !options->parts)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "keys of records: part_count is %zu and parts is NULL; give their texts",
                           options->part_count);
    for (size_t i = 0; i < options->part_count; i++)
        if (!options->parts[i])
            return tamis__fail(err, TAMIS_E_INVALID, 0, "keys of records: part %zu is NULL; give its text",
                               i + 1);
    x->trim = options->trim;
    x->ignore_case = options->ignore_case;
    const char *const others[TAMIS__ROLES] = {NULL, options->time, options->source, options->position};
    if (!options->source != !options->position)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "keys of records: source and position belong together; give both, or neither");
    x->key_part_count = x->part_count = options->part_count ? options->part_count : 1;
    for (int role = TAMIS__ROLE_TIME; role < TAMIS__ROLES; role++)
        if (others[role])
            x->part_of[role] = x->part_count++;
    tamis_status status = parse_parts(x, options->part_count ? options->parts : line, others, err);
    if (status == TAMIS_OK)
        status = check_syntaxes(x, err);
    if (status == TAMIS_OK)
        status = set_delimiter(x, options->delimiter, err);
    if (status == TAMIS_OK)
        status = make_json(x, err);
    if (status == TAMIS_OK)
        status = assign_values(x, err);
    return status;
}

tamis_status tamis_extractor_create(tamis_extractor **extractor, const tamis_extractor_options *given,
                                    tamis_error *err) {
    TAMIS__NEED(extractor, err);
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&options, sizeof options, given, "TAMIS_EXTRACTOR_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    const tamis_allocator memory = tamis__allocator_resolve(options.allocator);
    tamis_extractor *made = tamis__alloc(&memory, sizeof *made, TAMIS__LINE);
    if (!made)
        return tamis__extract_fail_memory(err);
    made->memory = memory;
    made->arena.memory = memory;
    status = init_extractor(made, &options, err);
    if (status == TAMIS_OK)
        *extractor = made;
    else
        tamis_extractor_free(made);
    return status;
}

static tamis_status fill_copy(tamis_extractor *x, const tamis_extractor *original, tamis_error *err) {
    x->parts = tamis__alloc(&x->memory, x->part_count * sizeof *x->parts, TAMIS__LINE);
    x->values = tamis__alloc(&x->memory, x->value_count * sizeof *x->values, TAMIS__LINE);
    if (!x->parts || !x->values)
        return tamis__extract_fail_memory(err);
    for (size_t i = 0; i < x->part_count; i++) {
        x->parts[i] = original->parts[i];
        x->parts[i].regex = NULL;
    }
    for (size_t i = 0; i < x->part_count; i++)
        if (original->parts[i].regex &&
            tamis__regex_copy(&x->parts[i].regex, original->parts[i].regex) != TAMIS_OK)
            return tamis__extract_fail_memory(err);
    return make_json(x, err);
}

tamis_status tamis__extractor_copy(tamis_extractor **copy, const tamis_extractor *original,
                                   tamis_error *err) {
    tamis_extractor *made = tamis__alloc(&original->memory, sizeof *made, TAMIS__LINE);
    if (!made)
        return tamis__extract_fail_memory(err);
    *made = *original;
    made->original = original;
    made->arena = (tamis__arena){.memory = original->memory};
    made->parts = NULL;
    made->values = NULL;
    made->json = NULL;
    const tamis_status status = fill_copy(made, original, err);
    if (status == TAMIS_OK)
        *copy = made;
    else
        tamis_extractor_free(made);
    return status;
}

static void free_shared(tamis_extractor *x) {
    tamis__free(&x->memory, x->texts, x->texts_size);
    tamis__free(&x->memory, x->csv.numbers, x->part_count * sizeof *x->csv.numbers);
    tamis__free(&x->memory, x->fields, x->part_count * sizeof *x->fields);
    tamis__free(&x->memory, x->pointers, x->part_count * sizeof *x->pointers);
}

void tamis_extractor_free(tamis_extractor *x) {
    if (!x)
        return;
    const tamis_allocator memory = x->memory;
    for (size_t i = 0; x->parts && i < x->part_count; i++)
        tamis__regex_free(x->parts[i].regex);
    tamis__json_free(x->json);
    tamis__arena_release(&x->arena);
    if (!x->original)
        free_shared(x);
    tamis__free(&memory, x->values, x->value_count * sizeof *x->values);
    tamis__free(&memory, x->parts, x->part_count * sizeof *x->parts);
    tamis__free(&memory, x, sizeof *x);
}

bool tamis_extractor_is_csv(const tamis_extractor *extractor) {
    return extractor->csv.count > 0;
}

bool tamis_extractor_wants_header(const tamis_extractor *extractor) {
    return extractor->wants_header;
}

bool tamis_extractor_is_json(const tamis_extractor *extractor) {
    return extractor->pointer_count > 0;
}

bool tamis_extractor_has_time(const tamis_extractor *extractor) {
    return extractor->part_of[TAMIS__ROLE_TIME] > 0;
}

bool tamis_extractor_has_position(const tamis_extractor *extractor) {
    return extractor->part_of[TAMIS__ROLE_POSITION] > 0;
}

size_t tamis_extractor_value_count(const tamis_extractor *extractor) {
    return extractor->key_value_count;
}

bool tamis_extractor_joins(const tamis_extractor *extractor) {
    return extractor->key_value_count > 1;
}

unsigned char tamis__extractor_delimiter(const tamis_extractor *extractor) {
    return extractor->csv.delimiter;
}

/* ---- headers ---- */

#define AMBIGUOUS SIZE_MAX /* column number of a name that occurs twice */

static bool note_column(void *context, size_t column, tamis_key name) {
    tamis_extractor *x = context;
    for (const tamis__wanted_part *p = x->parts; p < x->parts + x->part_count; p++)
        if (p->spec.name.data && tamis__is_same(p->spec.name, name))
            x->csv.numbers[p->first] = x->csv.numbers[p->first] == 0 ? column : AMBIGUOUS;
    return true; /* go on: the whole record must be valid CSV */
}

typedef struct listing {
    char text[LIST_SIZE + sizeof ", ..."];
    size_t size, count;
} listing;

/* Writes a column name on one line, as --key accepts it. Returns 0 and writes nothing if that needs more than
 * `buffer`. */
static size_t list_quoted_name(char *to, size_t capacity, tamis_key name) {
    const unsigned char *bytes = name.data;
    const bool quoted = tamis__key_part_is_quoted(name);
    size_t size = 0;
    for (size_t i = 0; i < name.size; i++)
        size += quoted && bytes[i] == '"' ? 2 : 1;
    size += quoted ? 2 : 0;
    if (size > capacity)
        return 0;
    if (quoted)
        *to++ = '"';
    for (size_t i = 0; i < name.size; i++) {
        *to++ = (char)(bytes[i] < ' ' || bytes[i] == 0x7f ? '?' : bytes[i]);
        if (quoted && bytes[i] == '"')
            *to++ = '"';
    }
    if (quoted)
        *to = '"';
    return size;
}

static bool list_name(void *context, size_t column, tamis_key name) {
    listing *list = context;
    if (column > 1) {
        memcpy(list->text + list->size, ", ", 2);
        list->size += 2;
    }
    const size_t size = list->size + 2 <= LIST_SIZE
                            ? list_quoted_name(list->text + list->size, LIST_SIZE - list->size - 2, name)
                            : 0;
    list->size += size;
    list->count = column;
    memcpy(list->text + list->size, size ? "" : "...", size ? 1 : 4);
    return size > 0;
}

/* True if a header of one column contains another usual delimiter. */
static bool has_other_delimiter(const tamis_extractor *x, tamis_key header) {
    static const char others[] = {',', ';', '|', '\t'};
    for (size_t i = 0; i < sizeof others; i++)
        if (others[i] != (char)x->csv.delimiter && memchr(header.data, others[i], header.size))
            return true;
    return false;
}

static void forget_names(tamis_extractor *x) {
    x->has_header = false;
    for (const tamis__wanted_part *p = x->parts; p < x->parts + x->part_count; p++)
        if (p->spec.name.data)
            x->csv.numbers[p->first] = 0;
}

static tamis_status fail_no_column(tamis_extractor *x, const tamis__key_part *part, tamis_key header,
                                   tamis_error *err) {
    tamis__fault fault = {NULL, 0};
    listing list = {.size = 0};
    if (header.size == 0)
        return tamis__key_part_fail(err, part,
                                    "the header is empty; have the first record name the columns, or ask for "
                                    "them by number");
    const tamis__csv_visitor visitor = {list_name, &list};
    if (tamis__csv_each(x->csv.delimiter, header, visitor, &x->arena, &fault) != TAMIS_OK)
        return tamis__extract_fail_memory(err);
    return tamis__key_part_fail(
        err, part, "the header has no such column; take one of these: %s%s", list.text,
        list.count == 1 && has_other_delimiter(x, header) ? ", or give the delimiter of its columns" : "");
}

static tamis_status read_names(tamis_extractor *x, tamis_key record, uint64_t offset, tamis_error *err) {
    tamis__fault fault = {NULL, 0};
    const tamis__csv_visitor visitor = {note_column, x};
    const tamis_status status = tamis__csv_each(x->csv.delimiter, record, visitor, &x->arena, &fault);
    if (status == TAMIS_E_DAMAGED)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "header: %s, at byte %" PRIu64 "; correct it, or ask for columns by number",
                           fault.why, offset + fault.pos);
    if (status != TAMIS_OK)
        return tamis__extract_fail_memory(err);
    for (const tamis__wanted_part *p = x->parts; p < x->parts + x->part_count; p++) {
        if (p->spec.name.data && x->csv.numbers[p->first] == 0)
            return fail_no_column(x, &p->spec, record, err);
        if (p->spec.name.data && x->csv.numbers[p->first] == AMBIGUOUS)
            return tamis__key_part_fail(err, &p->spec,
                                        "the header has several columns of that name; ask for one by number");
    }
    return TAMIS_OK;
}

tamis_status tamis__extractor_header(tamis_extractor *x, tamis_key record, uint64_t offset,
                                     tamis_error *err) {
    if (!x->wants_header)
        return TAMIS_OK;
    tamis__arena_reset(&x->arena);
    forget_names(x);
    const tamis_status status = read_names(x, record, offset, err);
    if (status == TAMIS_OK)
        x->has_header = true;
    else
        forget_names(x);
    return status;
}

tamis_status tamis_extractor_header(tamis_extractor *extractor, tamis_key record, tamis_error *err) {
    TAMIS__NEED(extractor, err);
    const size_t skipped = tamis__bom_size(record.data, record.size);
    const unsigned char *data = record.data ? record.data : "";
    return tamis__extractor_header(extractor, (tamis_key){data + skipped, record.size - skipped}, skipped,
                                   err);
}
