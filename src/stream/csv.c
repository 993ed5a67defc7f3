/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Columns of one CSV record (RFC 4180).
 *
 *     record    a , " b " " c " , d \r
 *     column 1  a
 *     column 2      " b " " c "          value: b"c, decoded into the arena
 *     column 3                    d      the CR before the end belongs to the terminator
 *
 * Rules:
 * - A quote opens a quoted field only as the first byte of the field. Elsewhere in an unquoted field it is
 *   ordinary text.
 * - After a closing quote comes a delimiter or the end.
 * - Another CR must be within quotes. Outside it is an error, since its writer may have meant a line end.
 *
 * There are two paths. The fast path takes 64 bytes at a time (csv_int.h) and handles records in which every
 * quote opens or closes a field. All other records are parsed field by field, which also finds what is
 * malformed.
 */
#include <stdint.h>
#include <string.h>

#include "base/marks.h"
#include "stream/csv_int.h"
#include "stream/find.h"

typedef struct text {
    const unsigned char *start, *end;
    unsigned char delimiter;
} text;

/* Sets *value to the content of the field [from, to): without its quotes, and doubled quotes become one. */
static tamis_status value_of(const unsigned char *from, const unsigned char *to, tamis_key *value,
                             tamis__arena *arena) {
    size_t doubled = 0;
    *value = (tamis_key){from, (size_t)(to - from)};
    if (from == to || *from != '"')
        return TAMIS_OK;
    from++;
    to--;
    for (const unsigned char *at = from; (at = memchr(at, '"', (size_t)(to - at))) != NULL; at += 2)
        doubled++;
    *value = (tamis_key){from, (size_t)(to - from) - doubled};
    if (doubled == 0)
        return TAMIS_OK;
    unsigned char *into = tamis__arena_take(arena, value->size);
    if (!into)
        return TAMIS_E_NOMEM;
    value->data = into;
    while (from < to) {
        const unsigned char *quote = memchr(from, '"', (size_t)(to - from));
        size_t size = (size_t)((quote ? quote + 1 : to) - from);
        memcpy(into, from, size);
        into += size;
        from += size + (quote != NULL);
    }
    return TAMIS_OK;
}

/* ---- field by field ---- */

const char tamis__csv_open[] = "a quote is not closed";

static tamis_status malformed(const text *t, const char *why, const unsigned char *at, tamis__fault *fault) {
    *fault = (tamis__fault){why, (size_t)(at - t->start)};
    return TAMIS_E_DAMAGED;
}

static bool is_last_return(const text *t, const unsigned char *at) {
    return *at == '\r' && at + 1 == t->end;
}

/* Finds the end of the quoted field that begins at `open`: *end is after its closing quote. */
static tamis_status end_quoted(const text *t, const unsigned char *open, const unsigned char **end,
                               tamis__fault *fault) {
    const unsigned char *at = open + 1;
    while ((at = memchr(at, '"', (size_t)(t->end - at))) != NULL) {
        at++;
        if (at == t->end || *at == t->delimiter || is_last_return(t, at)) {
            *end = at;
            return TAMIS_OK;
        }
        if (*at != '"')
            return malformed(t, "a closing quote is not the end of its field", at, fault);
        at++;
    }
    return malformed(t, tamis__csv_open, open, fault);
}

/* Finds the end of the field that begins at `from`. *next is the start of the next field, or NULL. */
static tamis_status end_field(const text *t, const unsigned char *from, const unsigned char **end,
                              const unsigned char **next, tamis__fault *fault) {
    const unsigned char *at = from;
    if (at < t->end && *at == '"') {
        tamis_status status = end_quoted(t, from, &at, fault);
        if (status != TAMIS_OK)
            return status;
    }
    while (at < t->end && *at != t->delimiter && *at != '\r')
        at++;
    if (at < t->end && *at == '\r' && !is_last_return(t, at))
        return malformed(t, "a carriage return stands within an unquoted field", at, fault);
    *end = at;
    *next = at < t->end && *at == t->delimiter ? at + 1 : NULL;
    return TAMIS_OK;
}

static bool is_empty(tamis_key record) {
    return record.size == 0 || (record.size == 1 && *(const unsigned char *)record.data == '\r');
}

tamis_status tamis__csv_each(unsigned char delimiter, tamis_key record,
                             bool (*take)(void *context, size_t column, tamis_key value), void *context,
                             tamis__arena *arena, tamis__fault *fault) {
    if (is_empty(record))
        return TAMIS_OK;
    const unsigned char *start = record.data, *end, *next;
    const text t = {start, start + record.size, delimiter};
    for (size_t column = 1; start; start = next, column++) {
        tamis_key value;
        tamis_status status = end_field(&t, start, &end, &next, fault);
        if (status == TAMIS_OK)
            status = value_of(start, end, &value, arena);
        if (status != TAMIS_OK || !take(context, column, value))
            return status;
    }
    return TAMIS_OK;
}

/* ---- selected columns ---- */

typedef struct asked {
    const size_t *columns;
    size_t count, last; /* last: the largest column number */
    tamis_key *values;
} asked;

/* Stores a field undecoded if its column was selected. */
static inline void note(const asked *a, size_t column, const unsigned char *from, const unsigned char *to) {
    for (size_t i = 0; i < a->count; i++)
        if (a->columns[i] == column)
            a->values[i] = (tamis_key){from, (size_t)(to - from)};
}

static tamis_status note_each(const text *t, const asked *a, tamis__fault *fault) {
    const unsigned char *start = t->start, *end, *next;
    for (size_t column = 1; start; start = next, column++) {
        tamis_status status = end_field(t, start, &end, &next, fault);
        if (status != TAMIS_OK)
            return status;
        if (column <= a->last)
            note(a, column, start, end);
    }
    return TAMIS_OK;
}

/* Fast path: all columns of a record in which every quote opens or closes a field. False for other
 * records. */
static bool note_quickly(const text *t, const asked *a) {
    const unsigned char *from = t->start, *end = t->end - (t->end[-1] == '\r');
    tamis__csv_edge edge = {.opens = 1};
    size_t column = 1;
    for (const unsigned char *at = t->start; at < end; at += TAMIS__MARKS) {
        size_t size = end - at < TAMIS__MARKS ? (size_t)(end - at) : TAMIS__MARKS;
        uint64_t delimiters = tamis__marks_of(at, size, t->delimiter);
        uint64_t returns = tamis__marks_of(at, size, '\r');
        tamis__csv_block block = tamis__csv_look(tamis__marks_of(at, size, '"'), delimiters, size, &edge);
        if (block.odd | block.behind | (returns & ~block.within))
            return false;
        for (delimiters &= ~block.within; delimiters && column <= a->last; delimiters &= delimiters - 1) {
            const unsigned char *delimiter = at + __builtin_ctzll(delimiters);
            note(a, column++, from, delimiter);
            from = delimiter + 1;
        }
    }
    if (column <= a->last)
        note(a, column, from, end);
    return !edge.within;
}

tamis_status tamis__csv_find(unsigned char delimiter, tamis_key record, const size_t *columns, size_t count,
                             tamis_key *values, tamis__arena *arena, tamis__fault *fault) {
    asked a = {columns, count, 0, values};
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < count; i++) {
        values[i] = (tamis_key){NULL, 0};
        a.last = columns[i] > a.last ? columns[i] : a.last;
    }
    if (is_empty(record))
        return TAMIS_OK;
    const unsigned char *start = record.data;
    const text t = {start, start + record.size, delimiter};
    if (!note_quickly(&t, &a))
        status = note_each(&t, &a, fault);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        if (values[i].data) {
            const unsigned char *from = values[i].data;
            status = value_of(from, from + values[i].size, &values[i], arena);
        }
    return status;
}
