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
 * There are two paths. The fast path takes 64 bytes at a time (csv_quotes.h) and handles records in which
 * every quote opens or closes a field. All other records are parsed field by field, which also finds what is
 * malformed.
 */
#include <stdint.h>
#include <string.h>

#include "base/byte_mask.h"
#include "stream/extract/find.h"
#include "stream/split/csv_quotes.h"

typedef struct text {
    const unsigned char *start, *end;
    unsigned char delimiter;
} text;

/* Sets *value to the content of the field [from, to): without its quotes, and doubled quotes become one. */
static tamis_status decode_field(const unsigned char *from, const unsigned char *to, tamis_key *value,
                                 tamis__arena *arena) {
    size_t doubled = 0;
    *value = (tamis_key){from, (size_t)(to - from)};
    if (from == to || *from != '"')
        return TAMIS_OK;
    from++;
    to--;
    for (const unsigned char *pos = from; (pos = memchr(pos, '"', (size_t)(to - pos))) != NULL; pos += 2)
        doubled++;
    *value = (tamis_key){from, (size_t)(to - from) - doubled};
    if (doubled == 0)
        return TAMIS_OK;
    unsigned char *into = tamis__arena_alloc(arena, value->size);
    if (!into)
        return TAMIS_E_NOMEM;
    value->data = into;
    while (from < to) {
        const unsigned char *quote = memchr(from, '"', (size_t)(to - from));
        const size_t size = (size_t)((quote ? quote + 1 : to) - from);
        memcpy(into, from, size);
        into += size;
        from += size + (quote != NULL);
    }
    return TAMIS_OK;
}

/* ---- field by field ---- */

const char tamis__csv_open[] = "a quote is not closed";

static tamis_status fail_malformed(const text *t, const char *why, const unsigned char *pos,
                                   tamis__fault *fault) {
    *fault = (tamis__fault){why, (size_t)(pos - t->start)};
    return TAMIS_E_DAMAGED;
}

static bool is_last_return(const text *t, const unsigned char *pos) {
    return *pos == '\r' && pos + 1 == t->end;
}

/* Finds the end of the quoted field that begins at `open`: *end is after its closing quote. */
static tamis_status find_quoted_end(const text *t, const unsigned char *open, const unsigned char **end,
                                    tamis__fault *fault) {
    const unsigned char *pos = open + 1;
    while ((pos = memchr(pos, '"', (size_t)(t->end - pos))) != NULL) {
        pos++;
        if (pos == t->end || *pos == t->delimiter || is_last_return(t, pos)) {
            *end = pos;
            return TAMIS_OK;
        }
        if (*pos != '"')
            return fail_malformed(t, "a closing quote is not the end of its field", pos, fault);
        pos++;
    }
    return fail_malformed(t, tamis__csv_open, open, fault);
}

/* Finds the end of the field that begins at `from`. *next is the start of the next field, or NULL. */
static tamis_status find_field_end(const text *t, const unsigned char *from, const unsigned char **end,
                                   const unsigned char **next, tamis__fault *fault) {
    const unsigned char *pos = from;
    if (pos < t->end && *pos == '"') {
        const tamis_status status = find_quoted_end(t, from, &pos, fault);
        if (status != TAMIS_OK)
            return status;
    }
    while (pos < t->end && *pos != t->delimiter && *pos != '\r')
        pos++;
    if (pos < t->end && *pos == '\r' && !is_last_return(t, pos))
        return fail_malformed(t, "an unquoted field contains a carriage return", pos, fault);
    *end = pos;
    *next = pos < t->end && *pos == t->delimiter ? pos + 1 : NULL;
    return TAMIS_OK;
}

static bool is_empty(tamis_key record) {
    return record.size == 0 || (record.size == 1 && *(const unsigned char *)record.data == '\r');
}

tamis_status tamis__csv_each(unsigned char delimiter, tamis_key record, tamis__csv_visitor visitor,
                             tamis__arena *arena, tamis__fault *fault) {
    if (is_empty(record))
        return TAMIS_OK;
    const unsigned char *start = record.data, *end, *next;
    const text t = {start, start + record.size, delimiter};
    for (size_t column = 1; start; start = next, column++) {
        tamis_key value;
        tamis_status status = find_field_end(&t, start, &end, &next, fault);
        if (status == TAMIS_OK)
            status = decode_field(start, end, &value, arena);
        if (status != TAMIS_OK || !visitor.visit(visitor.context, column, value))
            return status;
    }
    return TAMIS_OK;
}

/* ---- selected columns ---- */

typedef struct selection {
    const tamis__csv_columns *columns;
    size_t last; /* the largest column number */
    tamis_key *values;
} selection;

/* Stores a field undecoded if its column is selected. */
static inline void note_field(const selection *s, size_t column, const unsigned char *from,
                              const unsigned char *to) {
    for (size_t i = 0; i < s->columns->count; i++)
        if (s->columns->numbers[i] == column)
            s->values[i] = (tamis_key){from, (size_t)(to - from)};
}

/* All columns of a record, field by field. */
static tamis_status note_by_fields(const text *t, const selection *s, tamis__fault *fault) {
    const unsigned char *start = t->start, *end, *next;
    for (size_t column = 1; start; start = next, column++) {
        const tamis_status status = find_field_end(t, start, &end, &next, fault);
        if (status != TAMIS_OK)
            return status;
        if (column <= s->last)
            note_field(s, column, start, end);
    }
    return TAMIS_OK;
}

/* Fast path: all columns of a record in which every quote opens or closes a field. False for other
 * records. */
static bool note_by_blocks(const text *t, const selection *s) {
    const unsigned char *from = t->start, *end = t->end - (t->end[-1] == '\r');
    tamis__csv_edge edge = {.opens = 1};
    size_t column = 1;
    for (const unsigned char *pos = t->start; pos < end; pos += TAMIS__BYTE_MASK_SIZE) {
        const size_t size = end - pos < TAMIS__BYTE_MASK_SIZE ? (size_t)(end - pos) : TAMIS__BYTE_MASK_SIZE;
        uint64_t delimiters = tamis__byte_mask(pos, size, t->delimiter);
        const uint64_t returns = tamis__byte_mask(pos, size, '\r');
        tamis__csv_block block = tamis__csv_scan(tamis__byte_mask(pos, size, '"'), delimiters, size, &edge);
        if (block.odd | block.after_quote | (returns & ~block.within))
            return false;
        for (delimiters &= ~block.within; delimiters && column <= s->last; delimiters &= delimiters - 1) {
            const unsigned char *delimiter = pos + __builtin_ctzll(delimiters);
            note_field(s, column++, from, delimiter);
            from = delimiter + 1;
        }
    }
    if (column <= s->last)
        note_field(s, column, from, end);
    return !edge.within;
}

tamis_status tamis__csv_find(const tamis__csv_columns *columns, tamis_key record, tamis_key *values,
                             tamis__arena *arena, tamis__fault *fault) {
    selection s = {.columns = columns, .last = 0, .values = values};
    const size_t count = columns->count;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < count; i++) {
        values[i] = (tamis_key){NULL, 0};
        s.last = columns->numbers[i] > s.last ? columns->numbers[i] : s.last;
    }
    if (is_empty(record))
        return TAMIS_OK;
    const unsigned char *start = record.data;
    const text t = {start, start + record.size, columns->delimiter};
    if (!note_by_blocks(&t, &s))
        status = note_by_fields(&t, &s, fault);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        if (values[i].data) {
            const unsigned char *from = values[i].data;
            status = decode_field(from, from + values[i].size, &values[i], arena);
        }
    return status;
}
