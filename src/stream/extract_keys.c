/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Keys out of records. A record has a value for each part (of a regular expression with groups: for each group); a key
 * is its only value, or all of them joined.
 *
 *     values:  | csv or json, in one pass over the record | the other parts, one by one |
 *     joined:  | size of value 0, 8 bytes | value 0 | size of value 1 | value 1 | ...       in the order of the parts
 *
 * 1. A value is a view into the record, or into the arena; so a key that is not joined costs no copy unless a value had
 *    to be decoded or folded.
 * 2. The arena is emptied by the next call and keeps its memory: batches like those before take none.
 */
#include "stream/extract_int.h"

#include <string.h>

#include "base/bytes.h"

enum { SIZE_BYTES = 8 /* of a value's size in a joined key */ };

/* ---- values ---- */

static const tamis_key none = {NULL, 0};

static tamis_key field_of(tamis_key record, size_t number, unsigned char delimiter) {
    const unsigned char *at = record.data, *const end = at + record.size;
    for (; number > 1; number--) {
        at = memchr(at, delimiter, (size_t)(end - at));
        if (!at)
            return none;
        at++;
    }
    const unsigned char *next = memchr(at, delimiter, (size_t)(end - at));
    return (tamis_key){at, (size_t)((next ? next : end) - at)};
}

static tamis_key bytes_of(tamis_key record, size_t from, size_t to) {
    if (from >= record.size)
        return none;
    const size_t end = to < record.size ? to : record.size;
    return (tamis_key){(const unsigned char *)record.data + from, end - from};
}

/* A part that is found without memory, and that no record can be wrong for. */
static inline tamis_key piece_of(const tamis_extractor *x, const tamis__part *part, tamis_key record) {
    switch (part->kind) {
    case TAMIS__PART_FIELD:
        return field_of(record, part->from, x->field_delimiter);
    case TAMIS__PART_BYTES:
        return bytes_of(record, part->from, part->to);
    default:
        return record;
    }
}

static tamis_status find_match(tamis_extractor *x, const tamis__sought *p, tamis_key record,
                               tamis__fault *fault) {
    bool matched;
    tamis_status status = tamis__regex_find(p->regex, record, x->values + p->first, &matched, fault);
    for (size_t i = 0; status == TAMIS_OK && !matched && i < p->count; i++)
        x->values[p->first + i] = none;
    return status;
}

/* Those that are found together. */
static tamis_status find_together(tamis_extractor *x, tamis_key record, tamis__fault *fault) {
    if (x->json)
        return tamis__json_find(x->json, record, x->values, &x->arena, fault);
    if (x->column_count > 0)
        return tamis__csv_find(x->csv_delimiter, record, x->columns, x->column_count, x->values, &x->arena,
                               fault);
    return TAMIS_OK;
}

static tamis_status find_others(tamis_extractor *x, tamis_key record, tamis__fault *fault) {
    for (const tamis__sought *p = x->parts; p < x->parts + x->part_count; p++) {
        if (p->as.kind == TAMIS__PART_JSON || p->as.kind == TAMIS__PART_CSV)
            continue;
        if (!p->regex) {
            x->values[p->first] = piece_of(x, &p->as, record);
            continue;
        }
        tamis_status status = find_match(x, p, record, fault);
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* Whether each part has a value. */
static bool has_key(const tamis_extractor *x) {
    for (const tamis__sought *p = x->parts; p < x->parts + x->part_count; p++) {
        size_t i = 0;
        while (i < p->count && !x->values[p->first + i].data)
            i++;
        if (i == p->count)
            return false;
    }
    return true;
}

/* ---- keys ---- */

static void trim_ends(tamis_key *value) {
    const unsigned char *at = value->data, *end = at + value->size;
    while (at < end && tamis__is_blank(*at))
        at++;
    while (at < end && tamis__is_blank(end[-1]))
        end--;
    *value = (tamis_key){at, (size_t)(end - at)};
}

static tamis_status join(tamis_extractor *x, tamis_key *key) {
    size_t size = 0;
    for (size_t i = 0; i < x->value_count; i++)
        size += SIZE_BYTES + x->values[i].size;
    unsigned char *to = tamis__arena_take(&x->arena, size);
    if (!to)
        return TAMIS_E_NOMEM;
    *key = (tamis_key){to, size};
    for (const tamis__sought *p = x->parts; p < x->parts + x->part_count; p++) {
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

static tamis_status make_key(tamis_extractor *x, tamis_key *key) {
    for (tamis_key *value = x->values; value < x->values + x->value_count; value++) {
        if (x->trim && value->data)
            trim_ends(value);
        tamis_status status = x->ignore_case ? tamis__fold_case(value, &x->arena) : TAMIS_OK;
        if (status != TAMIS_OK)
            return status;
    }
    if (x->value_count > 1)
        return join(x, key);
    *key = x->values[0];
    return TAMIS_OK;
}

static tamis_status take_record(tamis_extractor *x, tamis_key record, tamis_extraction *found,
                                tamis_error *err) {
    tamis__fault fault = {NULL, 0};
    *found = (tamis_extraction){none, TAMIS_KEY_MISSING, NULL, 0};
    tamis_status status = find_together(x, record, &fault);
    if (status == TAMIS_OK)
        status = find_others(x, record, &fault);
    if (status == TAMIS_E_DAMAGED) {
        *found = (tamis_extraction){none, TAMIS_KEY_MALFORMED, fault.why, fault.at};
        return TAMIS_OK;
    }
    if (status != TAMIS_OK)
        return tamis__extract_fail_memory(err);
    if (!has_key(x))
        return TAMIS_OK;
    if (make_key(x, &found->key) != TAMIS_OK)
        return tamis__extract_fail_memory(err);
    found->outcome = TAMIS_KEY_FOUND;
    return TAMIS_OK;
}

/* A record may be empty and nowhere; a value that is nowhere is none. */
static tamis_key somewhere(tamis_key record) {
    return record.data ? record : (tamis_key){"", 0};
}

/* Keys that are pieces of their records as they stand: the commonest, and nothing else is to be looked at. */
static void take_pieces(const tamis_extractor *x, const tamis_key *records, size_t count,
                        tamis_extraction *found) {
    for (size_t i = 0; i < count; i++) {
        const tamis_key piece = piece_of(x, &x->parts->as, somewhere(records[i]));
        found[i] = (tamis_extraction){piece, piece.data ? TAMIS_KEY_FOUND : TAMIS_KEY_MISSING, NULL, 0};
    }
}

/* Keys that are one value of a JSON record as it is. */
static tamis_status take_values(tamis_extractor *x, const tamis_key *records, size_t count,
                                tamis_extraction *found, tamis_error *err) {
    tamis_key value;
    tamis__fault fault;
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count)
            tamis__json_expect(x->json, somewhere(records[i + 1]));
        const tamis_status status =
            tamis__json_find(x->json, somewhere(records[i]), &value, &x->arena, &fault);
        if (status == TAMIS_OK)
            found[i] = (tamis_extraction){value, value.data ? TAMIS_KEY_FOUND : TAMIS_KEY_MISSING, NULL, 0};
        else if (status == TAMIS_E_DAMAGED)
            found[i] = (tamis_extraction){none, TAMIS_KEY_MALFORMED, fault.why, fault.at};
        else
            return tamis__extract_fail_memory(err);
    }
    return TAMIS_OK;
}

tamis_status tamis_extractor_take(tamis_extractor *x, const tamis_key *records, size_t count,
                                  tamis_extraction *found, tamis_error *err) {
    TAMIS__NEED_AS(x, "extractor", err);
    TAMIS__NEED_IF(count, records, err);
    TAMIS__NEED_IF(count, found, err);
    tamis_status status = TAMIS_OK;
    tamis__arena_reset(&x->arena);
    if (x->wants_header && !(x->original ? x->original : x)->has_header)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "keys of CSV: a column is asked for by its name, and no header gave it; "
                           "call tamis_extractor_header with the first record");
    if (x->part_count == 1 && x->parts->as.kind <= TAMIS__PART_BYTES && !x->trim && !x->ignore_case) {
        take_pieces(x, records, count, found);
        return TAMIS_OK;
    }
    if (x->json)
        tamis__json_expect_none(x->json);
    if (x->part_count == 1 && x->json && !x->trim && !x->ignore_case)
        return take_values(x, records, count, found, err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        status = take_record(x, somewhere(records[i]), &found[i], err);
    return status;
}
