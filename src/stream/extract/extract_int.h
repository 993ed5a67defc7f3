/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_EXTRACT_EXTRACT_INT_H
#define TAMIS_STREAM_EXTRACT_EXTRACT_INT_H

#include <stdbool.h>
#include <stddef.h>

#include <tamis/experimental/extract.h>

#include "base/failure.h"
#include "stream/extract/arena.h"
#include "stream/extract/find.h"

/* ---- parts of a key: extract_specs.c ---- */

typedef enum tamis__key_part_kind {
    TAMIS__KEY_PART_LINE,
    TAMIS__KEY_PART_FIELD,
    TAMIS__KEY_PART_BYTES,
    TAMIS__KEY_PART_CSV,
    TAMIS__KEY_PART_JSON,
    TAMIS__KEY_PART_REGEX
} tamis__key_part_kind;

/* What a part is for. Only parts with ROLE_KEY belong to the key. */
typedef enum tamis__key_part_role {
    TAMIS__ROLE_KEY,
    TAMIS__ROLE_TIME,
    TAMIS__ROLE_SOURCE,
    TAMIS__ROLE_POSITION,
    TAMIS__ROLES
} tamis__key_part_role;

/* One part of a key, parsed from its text (tamis/experimental/extract.h). */
typedef struct tamis__key_part {
    const char *text; /* the whole text */
    const char *rest; /* text after the colon: pointer of JSON, pattern of regex */
    tamis_key name;   /* CSV column name, unquoted; data NULL: given by number */
    size_t from;      /* field or column number from 1; first byte from 0 */
    size_t to;        /* end of a byte range */
    tamis__key_part_kind kind;
    tamis__key_part_role role;
} tamis__key_part;

/* Parses a part. `text` is borrowed; a name is stored in `name_buffer`, of strlen(text) bytes.
 * TAMIS_E_INVALID. */
tamis_status tamis__key_part_parse(tamis__key_part *part, const char *text, tamis__key_part_role role,
                                   char *name_buffer, tamis_error *err);

/* True if a column of this name must be given with quotes: csv:"NAME". */
bool tamis__key_part_is_quoted(tamis_key name);

/* Returns TAMIS_E_INVALID with the message "key 'TEXT': ...", or "time", "source" or "position". */
tamis_status tamis__key_part_fail(tamis_error *err, const tamis__key_part *part, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline bool tamis__is_blank(unsigned char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* ---- the extractor: extract.c makes it and reads headers, extract_keys.c extracts keys ---- */

/* A part with its values. */
typedef struct tamis__wanted_part {
    tamis__key_part spec;
    tamis__regex *regex; /* of a REGEX part, else NULL */
    size_t first, count; /* its values in `values`; for CSV, `first` is also its index in `csv` */
} tamis__wanted_part;

/* A part of kind FIELD. */
typedef struct tamis__wanted_field {
    size_t number; /* from 1 */
    size_t value;  /* index in `values` */
} tamis__wanted_field;

struct tamis_extractor {
    const tamis_extractor *original; /* owner of what a copy shares; NULL: not a copy */
    tamis_allocator memory;
    unsigned char field_delimiter;
    bool trim, ignore_case;
    bool wants_header, has_header;
    tamis__wanted_part *parts;    /* parts of the key, then the others in the order of their roles */
    size_t part_of[TAMIS__ROLES]; /* index of the part with a role; 0: none (of the key: always 0) */
    size_t part_count, key_part_count;
    char *texts; /* texts and names of the parts */
    size_t texts_size;
    tamis__json *json;
    const char **pointers; /* capacity part_count */
    size_t pointer_count;
    tamis__csv_columns csv; /* capacity part_count; number 0: a named column that no header has given yet */
    tamis__wanted_field *fields; /* by ascending number; capacity part_count */
    size_t field_count;
    tamis_key *values; /* values of the present record */
    size_t value_count, key_value_count;
    tamis__arena arena;
};

tamis_status tamis__extract_fail_memory(tamis_error *err);

#endif
