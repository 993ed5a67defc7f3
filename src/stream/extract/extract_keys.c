/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Extracting keys from records. A record has one value for each part; a regular expression with groups has
 * one for each group. A key is the only value, or all values joined. tamis_extractor_values returns the
 * values.
 *
 *     values   | JSON or CSV: found in one pass over the record | other parts, one by one |
 *     joined   | size of value 0, 8 bytes | value 0 | size of value 1 | value 1 | ...     in part order
 *
 * Joined keys store sizes, so that ("ab", "c") and ("a", "bc") differ. A missing value has the size 2^64 - 1.
 *
 * 1. A value is a view into the record, or into the arena if it was decoded or folded. So a key of one plain
 *    value is never copied.
 * 2. The next call empties the arena but keeps its memory. Later batches of similar size allocate nothing.
 */
#include "stream/extract/extract_int.h"

#include <string.h>

#include "base/bytes.h"

enum { SIZE_BYTES = 8 /* size field of a value in a joined key */ };

/* ---- values ---- */

static const tamis_key no_value = {NULL, 0};

static tamis_key find_field(tamis_key record, size_t number, unsigned char delimiter) {
    const unsigned char *pos = record.data, *const end = pos + record.size;
    for (; number > 1; number--) {
        pos = memchr(pos, delimiter, (size_t)(end - pos));
        if (!pos)
            return no_value;
        pos++;
    }
    const unsigned char *next = memchr(pos, delimiter, (size_t)(end - pos));
    return (tamis_key){pos, (size_t)((next ? next : end) - pos)};
}

static tamis_key find_bytes(tamis_key record, size_t from, size_t to) {
    if (from >= record.size)
        return no_value;
    const size_t end = to < record.size ? to : record.size;
    return (tamis_key){(const unsigned char *)record.data + from, end - from};
}

/* Finds a part that needs no memory and cannot fail. */
static inline tamis_key find_piece(const tamis_extractor *x, const tamis__key_part *part, tamis_key record) {
    switch (part->kind) {
    case TAMIS__KEY_PART_FIELD:
        return find_field(record, part->from, x->field_delimiter);
    case TAMIS__KEY_PART_BYTES:
        return find_bytes(record, part->from, part->to);
    default:
        return record;
    }
}

static tamis_status find_match(tamis_extractor *x, const tamis__wanted_part *p, tamis_key record,
                               tamis__fault *fault) {
    bool matched;
    const tamis_status status = tamis__regex_find(p->regex, record, x->values + p->first, &matched, fault);
    for (size_t i = 0; status == TAMIS_OK && !matched && i < p->count; i++)
        x->values[p->first + i] = no_value;
    return status;
}

/* Finds all JSON or CSV values in one pass. */
static tamis_status find_in_syntax(tamis_extractor *x, tamis_key record, tamis__fault *fault) {
    if (x->json)
        return tamis__json_find(x->json, record, x->values, &x->arena, fault);
    if (x->csv.count > 0)
        return tamis__csv_find(&x->csv, record, x->values, &x->arena, fault);
    return TAMIS_OK;
}

/* Finds the fields of all parts in one pass. */
static void find_fields(tamis_extractor *x, tamis_key record) {
    const tamis__wanted_field *field = x->fields, *const end_field = x->fields + x->field_count;
    const unsigned char *pos = record.data, *const end = pos + record.size;
    for (size_t number = 1; field < end_field; number++) {
        const unsigned char *next = memchr(pos, x->field_delimiter, (size_t)(end - pos));
        for (; field < end_field && field->number == number; field++)
            x->values[field->value] = (tamis_key){pos, (size_t)((next ? next : end) - pos)};
        if (!next)
            break;
        pos = next + 1;
    }
    for (; field < end_field; field++)
        x->values[field->value] = no_value;
}

static tamis_status find_other_parts(tamis_extractor *x, tamis_key record, tamis__fault *fault) {
    if (x->field_count > 0)
        find_fields(x, record);
    for (const tamis__wanted_part *p = x->parts; p < x->parts + x->part_count; p++) {
        if (p->spec.kind == TAMIS__KEY_PART_JSON || p->spec.kind == TAMIS__KEY_PART_CSV ||
            p->spec.kind == TAMIS__KEY_PART_FIELD)
            continue;
        if (!p->regex) {
            x->values[p->first] = find_piece(x, &p->spec, record);
            continue;
        }
        const tamis_status status = find_match(x, p, record, fault);
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* True if each part has a value. For a regular expression one group with a value is enough. */
static bool has_key(const tamis_extractor *x) {
    for (const tamis__wanted_part *p = x->parts; p < x->parts + x->key_part_count; p++) {
        size_t i = 0;
        while (i < p->count && !x->values[p->first + i].data)
            i++;
        if (i == p->count)
            return false;
    }
    return true;
}

/* ---- keys ---- */

static void trim_blanks(tamis_key *value) {
    const unsigned char *pos = value->data, *end = pos + value->size;
    while (pos < end && tamis__is_blank(*pos))
        pos++;
    while (pos < end && tamis__is_blank(end[-1]))
        end--;
    *value = (tamis_key){pos, (size_t)(end - pos)};
}

static tamis_status join_values(tamis_extractor *x, tamis_key *key) {
    const tamis__wanted_part *const end = x->parts + x->key_part_count;
    size_t size = 0;
    for (const tamis__wanted_part *p = x->parts; p < end; p++)
        for (size_t i = 0; i < p->count; i++)
            size += SIZE_BYTES + x->values[p->first + i].size;
    unsigned char *to = tamis__arena_alloc(&x->arena, size);
    if (!to)
        return TAMIS_E_NOMEM;
    *key = (tamis_key){to, size};
    for (const tamis__wanted_part *p = x->parts; p < end; p++) {
        for (const tamis_key *value = x->values + p->first; value < x->values + p->first + p->count;
             value++) {
            tamis__store64le(to, value->data ? value->size : UINT64_MAX);
            to += SIZE_BYTES;
            if (value->size > 0)
                memcpy(to, value->data, value->size);
            to += value->size;
        }
    }
    return TAMIS_OK;
}

static tamis_key value_of(const tamis_extractor *x, tamis__key_part_role role) {
    return x->values[x->parts[x->part_of[role]].first];
}

/* Makes the record malformed, because a value is not valid. */
static void refuse_value(tamis_extraction *found, tamis_key record, tamis_key value, const char *why) {
    const unsigned char *begin = record.data, *data = value.data;
    const bool is_within = data && data >= begin && data < begin + record.size;
    *found = (tamis_extraction){
        .outcome = TAMIS_KEY_MALFORMED, .why = why, .pos = is_within ? (size_t)(data - begin) : 0};
}

/* Reads the time of the record. Without a valid one the record is malformed. */
static void find_time(const tamis_extractor *x, tamis_key record, tamis_extraction *found) {
    const tamis_key text = value_of(x, TAMIS__ROLE_TIME);
    if (!text.data)
        refuse_value(found, record, text, "it has no time");
    else if (!tamis_time_parse(&found->time, text.data, text.size))
        refuse_value(found, record, text, "its time is neither RFC 3339 nor unix seconds or milliseconds");
}

/* Digits alone, up to 2^63 - 1. */
static bool read_position(tamis_key text, uint64_t *position) {
    enum { DIGITS_MAX = 19 }; /* digits of 2^63 - 1; any number with 19 digits is below 2^64 */
    const unsigned char *bytes = text.data;
    uint64_t value = 0;
    size_t i = 0;
    while (i + 1 < text.size && bytes[i] == '0')
        i++;
    if (i == text.size || text.size - i > DIGITS_MAX)
        return false;
    for (; i < text.size; i++) {
        const unsigned char digit = (unsigned char)(bytes[i] - '0');
        if (digit > 9)
            return false;
        value = 10 * value + digit;
    }
    *position = value;
    return value <= INT64_MAX;
}

static bool is_source(tamis_key text) {
    const unsigned char *bytes = text.data;
    for (size_t i = 0; i < text.size && i <= TAMIS_SOURCE_MAX; i++)
        if (bytes[i] == '\n' || bytes[i] == '\0')
            return false;
    return text.size <= TAMIS_SOURCE_MAX;
}

/* Reads source and position of the record. Without valid ones the record is malformed. */
static void find_position(const tamis_extractor *x, tamis_key record, tamis_extraction *found) {
    const tamis_key source = value_of(x, TAMIS__ROLE_SOURCE), position = value_of(x, TAMIS__ROLE_POSITION);
    if (!source.data || !position.data)
        refuse_value(found, record, source, source.data ? "it has no position" : "it has no source");
    else if (!is_source(source))
        refuse_value(found, record, source, "its source has more than 255 bytes, or a line break");
    else if (!read_position(position, &found->position))
        refuse_value(found, record, position, "its position is not a number from 0 to 2^63 - 1");
    else
        found->source = source;
}

/* Trims and folds the values as the options say. */
static tamis_status finish_values(tamis_extractor *x) {
    if (!x->trim && !x->ignore_case)
        return TAMIS_OK;
    for (tamis_key *value = x->values; value < x->values + x->value_count; value++) {
        if (x->trim && value->data)
            trim_blanks(value);
        const tamis_status status = x->ignore_case ? tamis__fold_case(value, &x->arena) : TAMIS_OK;
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* Finds the values of a record. found->outcome says whether it has a key, which the caller sets. */
static tamis_status find_values(tamis_extractor *x, tamis_key record, tamis_extraction *found,
                                tamis_error *err) {
    tamis__fault fault = {NULL, 0};
    *found = (tamis_extraction){.outcome = TAMIS_KEY_MISSING};
    tamis_status status = find_in_syntax(x, record, &fault);
    if (status == TAMIS_OK)
        status = find_other_parts(x, record, &fault);
    if (status == TAMIS_E_DAMAGED) {
        *found = (tamis_extraction){.outcome = TAMIS_KEY_MALFORMED, .why = fault.why, .pos = fault.pos};
        return TAMIS_OK;
    }
    const bool has_position = x->part_of[TAMIS__ROLE_POSITION] > 0;
    const bool is_keyed = status == TAMIS_OK && has_key(x);
    if (status == TAMIS_OK && !is_keyed && !has_position)
        return TAMIS_OK;
    if (status != TAMIS_OK || finish_values(x) != TAMIS_OK)
        return tamis__extract_fail_memory(err);
    if (has_position) /* records without a key have one, too */
        find_position(x, record, found);
    if (found->outcome == TAMIS_KEY_MALFORMED || !is_keyed)
        return TAMIS_OK;
    found->outcome = TAMIS_KEY_FOUND;
    if (x->part_of[TAMIS__ROLE_TIME] > 0)
        find_time(x, record, found);
    return TAMIS_OK;
}

static tamis_status extract_record(tamis_extractor *x, tamis_key record, tamis_extraction *found,
                                   tamis_error *err) {
    const tamis_status status = find_values(x, record, found, err);
    if (status != TAMIS_OK || found->outcome != TAMIS_KEY_FOUND)
        return status;
    if (x->key_value_count == 1)
        found->key = x->values[x->parts->first];
    else if (join_values(x, &found->key) != TAMIS_OK)
        return tamis__extract_fail_memory(err);
    return TAMIS_OK;
}

/* An empty record may have a NULL pointer, but a value with NULL would count as missing. */
static tamis_key non_null(tamis_key record) {
    return record.data ? record : (tamis_key){"", 0};
}

/* Fast path for one part that is a piece of the record, the most frequent case. */
static void extract_pieces(const tamis_extractor *x, const tamis_key *records, size_t count,
                           tamis_extraction *found) {
    for (size_t i = 0; i < count; i++) {
        const tamis_key piece = find_piece(x, &x->parts->spec, non_null(records[i]));
        found[i] =
            (tamis_extraction){.key = piece, .outcome = piece.data ? TAMIS_KEY_FOUND : TAMIS_KEY_MISSING};
    }
}

/* Fast path for one JSON value, unchanged. */
static tamis_status extract_json_values(tamis_extractor *x, const tamis_key *records, size_t count,
                                        tamis_extraction *found, tamis_error *err) {
    tamis_key value;
    tamis__fault fault;
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count)
            tamis__json_expect(x->json, non_null(records[i + 1]));
        const tamis_status status =
            tamis__json_find(x->json, non_null(records[i]), &value, &x->arena, &fault);
        if (status == TAMIS_OK)
            found[i] =
                (tamis_extraction){.key = value, .outcome = value.data ? TAMIS_KEY_FOUND : TAMIS_KEY_MISSING};
        else if (status == TAMIS_E_DAMAGED)
            found[i] = (tamis_extraction){.outcome = TAMIS_KEY_MALFORMED, .why = fault.why, .pos = fault.pos};
        else
            return tamis__extract_fail_memory(err);
    }
    return TAMIS_OK;
}

/* Begins a call. The values of the call before it become invalid. */
static tamis_status begin_batch(tamis_extractor *x, tamis_error *err) {
    tamis__arena_reset(&x->arena);
    if (x->json)
        tamis__json_expect_none(x->json);
    if (!x->wants_header || (x->original ? x->original : x)->has_header)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "keys of CSV: a column is asked for by its name, and no header gave it; "
                       "call tamis_extractor_header with the first record");
}

tamis_status tamis_extractor_extract(tamis_extractor *x, const tamis_key *records, size_t count,
                                     tamis_extraction *found, tamis_error *err) {
    TAMIS__NEED_AS(x, "extractor", err);
    TAMIS__NEED_IF(count, records, err);
    TAMIS__NEED_IF(count, found, err);
    tamis_status status = begin_batch(x, err);
    if (status != TAMIS_OK)
        return status;
    if (x->part_count == 1 && x->parts->spec.kind <= TAMIS__KEY_PART_BYTES && !x->trim && !x->ignore_case) {
        extract_pieces(x, records, count, found);
        return TAMIS_OK;
    }
    if (x->part_count == 1 && x->json && !x->trim && !x->ignore_case)
        return extract_json_values(x, records, count, found, err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++) {
        if (x->json && i + 1 < count)
            tamis__json_expect(x->json, non_null(records[i + 1]));
        status = extract_record(x, non_null(records[i]), &found[i], err);
    }
    return status;
}

/* Copies the values of the present record in the order of the parts. */
static void copy_values(const tamis_extractor *x, tamis_key *to) {
    for (const tamis__wanted_part *p = x->parts; p < x->parts + x->key_part_count; p++) {
        memcpy(to, x->values + p->first, p->count * sizeof *to);
        to += p->count;
    }
}

tamis_status tamis_extractor_values(tamis_extractor *x, const tamis_key *records, size_t count,
                                    tamis_extraction *found, tamis_key *values, tamis_error *err) {
    TAMIS__NEED_AS(x, "extractor", err);
    TAMIS__NEED_IF(count, records, err);
    TAMIS__NEED_IF(count, found, err);
    TAMIS__NEED_IF(count, values, err);
    tamis_status status = begin_batch(x, err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++) {
        status = find_values(x, non_null(records[i]), &found[i], err);
        if (status == TAMIS_OK && found[i].outcome == TAMIS_KEY_FOUND)
            copy_values(x, values + i * x->key_value_count);
    }
    return status;
}
