/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_EXTRACT_INT_H
#define TAMIS_STREAM_EXTRACT_INT_H

#include <stdbool.h>
#include <stddef.h>

#include <tamis/extract.h>

#include "base/failure.h"
#include "stream/arena.h"
#include "stream/find.h"

/* ---- extract_parts.c: what a part's text says ---- */

typedef enum tamis__part_kind {
    TAMIS__PART_LINE,
    TAMIS__PART_FIELD,
    TAMIS__PART_BYTES,
    TAMIS__PART_CSV,
    TAMIS__PART_JSON,
    TAMIS__PART_REGEX
} tamis__part_kind;

typedef struct tamis__part {
    const char *text; /* all of it */
    const char *rest; /* behind its colon: of JSON the pointer, of regex the pattern */
    tamis_key name;   /* of CSV the column's, unquoted; data NULL: it has a number */
    size_t from;      /* of fields and columns the number, from 1; of bytes the first, from 0 */
    size_t to;        /* of bytes the end */
    tamis__part_kind kind;
} tamis__part;

/* `text` is borrowed; a name is put into `room`, of strlen(text) bytes. TAMIS_E_INVALID with the sentence. */
tamis_status tamis__part_parse(tamis__part *part, const char *text, char *room, tamis_error *err);

/* Whether a column of that name is asked for with quotes: csv:"NAME". */
bool tamis__part_is_quoted(tamis_key name);

/* TAMIS_E_INVALID with the sentence "key 'TEXT': " and what is given. */
tamis_status tamis__part_fail(tamis_error *err, const tamis__part *part, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline bool tamis__is_blank(unsigned char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* ---- extract.c: made and ended, and headers; extract_keys.c: keys ---- */

typedef struct tamis__sought {
    tamis__part as;
    tamis__regex *regex; /* of REGEX */
    size_t first, count; /* its values; of CSV `first` is also its place in columns */
} tamis__sought;

struct tamis_extractor {
    const tamis_extractor *original; /* of a copy: has texts, pointers, columns and the header */
    tamis_allocator memory;
    unsigned char field_delimiter, csv_delimiter;
    bool trim, ignore_case;
    bool wants_header, has_header;
    tamis__sought *parts;
    size_t part_count;
    char *texts; /* of parts */
    size_t texts_size;
    tamis__json *json;
    const char **pointers; /* room for part_count */
    size_t pointer_count;
    size_t *columns; /* the same; 0: of a name that no header gave yet */
    size_t column_count;
    tamis_key *values; /* of the record in hand */
    size_t value_count;
    tamis__arena arena;
};

tamis_status tamis__extract_fail_memory(tamis_error *err);

#endif
