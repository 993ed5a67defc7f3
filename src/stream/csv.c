/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Columns of a record of CSV (RFC 4180). Quotes, delimiters and carriage returns are the only bytes that can mean
 * something: they are marked 64 bytes at a time, and a field goes from mark to mark.
 *
 *     a,"b ""c"", d",e CR
 *      ^^   ^^ ^^^ ^^  ^
 *
 * A quote opens only as the first byte of a field; elsewhere in an unquoted one it is a byte like others. Behind a closing
 * quote stands a delimiter or the end. The CR before the end belongs to the terminator, as RFC 4180 has it; another one
 * stands within quotes or is an error, since what wrote it may have meant a line end.
 */
#include <stdint.h>
#include <string.h>

#include "base/marks.h"
#include "stream/find.h"

typedef struct scan {
    const unsigned char *start, *end; /* the record */
    const unsigned char *field;       /* the next one; NULL: there is none */
    const unsigned char *block;       /* what was marked last: up to 64 bytes from here */
    uint64_t marks;                   /* of these, those that were not passed */
    unsigned char delimiter;
} scan;

typedef struct field {
    const unsigned char *start; /* behind the quote */
    size_t size;
    size_t doubled; /* quotes in it that are two */
} field;

static void mark(scan *s) {
    size_t size = (size_t)(s->end - s->block);
    if (size > TAMIS__MARKS)
        size = TAMIS__MARKS;
    s->marks = tamis__marks_of(s->block, size, s->delimiter) | tamis__marks_of(s->block, size, '"') |
               tamis__marks_of(s->block, size, '\r');
}

static scan begin(unsigned char delimiter, tamis_key record) {
    const unsigned char *start = record.data;
    if (record.size == 0 || (record.size == 1 && *start == '\r'))
        return (scan){0};
    scan s = {start, start + record.size, start, start, 0, delimiter};
    mark(&s);
    return s;
}

/* The next byte that is marked, which then is passed; the end if there is none. */
static inline const unsigned char *next_mark(scan *s) {
    while (!s->marks) {
        if (s->end - s->block <= TAMIS__MARKS)
            return s->end;
        s->block += TAMIS__MARKS;
        mark(s);
    }
    const unsigned char *at = s->block + __builtin_ctzll(s->marks);
    s->marks &= s->marks - 1;
    return at;
}

static bool is_last_return(const scan *s, const unsigned char *at) {
    return *at == '\r' && at + 1 == s->end;
}

static tamis_status malformed(const scan *s, const char *why, const unsigned char *at, tamis__fault *fault) {
    *fault = (tamis__fault){why, (size_t)(at - s->start)};
    return TAMIS_E_DAMAGED;
}

static inline tamis_status plain_field(scan *s, field *f, tamis__fault *fault) {
    const unsigned char *at;
    do
        at = next_mark(s);
    while (at < s->end && *at == '"');
    if (at < s->end && *at == '\r' && !is_last_return(s, at))
        return malformed(s, "a carriage return stands within an unquoted field", at, fault);
    *f = (field){s->field, (size_t)(at - s->field), 0};
    s->field = at < s->end && *at == s->delimiter ? at + 1 : NULL;
    return TAMIS_OK;
}

static tamis_status quoted_field(scan *s, field *f, tamis__fault *fault) {
    const unsigned char *open = next_mark(s), *at, *behind;
    size_t doubled = 0;
    for (;;) {
        at = next_mark(s);
        if (at == s->end)
            return malformed(s, "a quote is not closed", open, fault);
        if (*at != '"')
            continue;
        behind = at + 1;
        if (behind == s->end || *behind != '"')
            break;
        next_mark(s);
        doubled++;
    }
    *f = (field){open + 1, (size_t)(at - open - 1), doubled};
    s->field = NULL;
    if (behind == s->end || is_last_return(s, behind))
        return TAMIS_OK;
    if (*behind != s->delimiter)
        return malformed(s, "a closing quote is not the end of its field", behind, fault);
    next_mark(s);
    s->field = behind + 1;
    return TAMIS_OK;
}

/* The field that s->field begins. */
static inline tamis_status next_field(scan *s, field *f, tamis__fault *fault) {
    return s->field < s->end && *s->field == '"' ? quoted_field(s, f, fault) : plain_field(s, f, fault);
}

/* What the field says, of two quotes one. */
static tamis_status value_of(const field *f, tamis_key *value, tamis__arena *arena) {
    *value = (tamis_key){f->start, f->size};
    if (f->doubled == 0)
        return TAMIS_OK;
    unsigned char *to = tamis__arena_take(arena, f->size - f->doubled);
    if (!to)
        return TAMIS_E_NOMEM;
    *value = (tamis_key){to, f->size - f->doubled};
    const unsigned char *from = f->start, *end = f->start + f->size;
    while (from < end) {
        const unsigned char *quote = memchr(from, '"', (size_t)(end - from));
        size_t size = (size_t)((quote ? quote + 1 : end) - from);
        memcpy(to, from, size);
        to += size;
        from += size + (quote != NULL);
    }
    return TAMIS_OK;
}

tamis_status tamis__csv_find(unsigned char delimiter, tamis_key record, const size_t *columns, size_t count,
                             tamis_key *values, tamis__arena *arena, tamis__fault *fault) {
    scan s = begin(delimiter, record);
    for (size_t i = 0; i < count; i++)
        values[i] = (tamis_key){NULL, 0};
    for (size_t column = 1; s.field; column++) {
        field f;
        tamis_key value = {NULL, 0};
        tamis_status status = next_field(&s, &f, fault);
        for (size_t i = 0; i < count && status == TAMIS_OK; i++) {
            if (columns[i] != column)
                continue;
            if (!value.data)
                status = value_of(&f, &value, arena);
            values[i] = value;
        }
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

tamis_status tamis__csv_each(unsigned char delimiter, tamis_key record,
                             bool (*take)(void *context, size_t column, tamis_key value), void *context,
                             tamis__arena *arena, tamis__fault *fault) {
    scan s = begin(delimiter, record);
    for (size_t column = 1; s.field; column++) {
        field f;
        tamis_key value;
        tamis_status status = next_field(&s, &f, fault);
        if (status == TAMIS_OK)
            status = value_of(&f, &value, arena);
        if (status != TAMIS_OK || !take(context, column, value))
            return status;
    }
    return TAMIS_OK;
}
