/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_EXTRACT_FIND_H
#define TAMIS_STREAM_EXTRACT_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tamis/experimental/extract.h>
#include <tamis/key.h>

#include "stream/extract/arena.h"

/*
 * Finding parts of a record: json.c, csv.c, regex.c. Each finds all requested parts in one pass over the
 * record, whose data is never NULL:
 *
 *     tamis_extractor --record--> tamis__json_find --values--> extract_keys.c: trimmed, folded, joined
 *
 * A value is a view into the record, or into the arena if it had to be decoded. `data` NULL: no value.
 */

static inline bool tamis__is_same(tamis_key a, tamis_key b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Syntax error in a record, as in tamis_extraction. */
typedef struct tamis__fault {
    const char *why;
    size_t pos;
} tamis__fault;

/* Results of the find functions: TAMIS_OK with the values; TAMIS_E_DAMAGED for a malformed record, with
 * *fault set and *err unchanged; TAMIS_E_NOMEM. */

/* ---- JSON ---- */

typedef struct tamis__json tamis__json;

static inline bool tamis__json_is_blank(unsigned char byte) {
    return byte <= ' ' && (byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r');
}

/* Syntax error in a JSON pointer. */
typedef struct tamis__pointer_fault {
    size_t index; /* which of the pointers */
    tamis__fault fault;
} tamis__pointer_fault;

/* Compiles JSON pointers, given without "json:" and borrowed. On TAMIS_E_INVALID, `wrong` (never NULL) has
 * the error. */
tamis_status tamis__json_create(tamis__json **json, const char *const *pointers, size_t count,
                                const tamis_allocator *memory, tamis__pointer_fault *wrong);
void tamis__json_free(tamis__json *json);
/* Announces a record that tamis__json_find will get later, so that it can be examined ahead. Each record is
 * announced before the one in front of it is parsed. The bytes must not change until then. */
void tamis__json_expect(tamis__json *json, tamis_key record);
/* Drops all announced records. */
void tamis__json_expect_none(tamis__json *json);
/* A record of blanks alone is valid and has no values. */
tamis_status tamis__json_find(tamis__json *json, tamis_key record, tamis_key *values, tamis__arena *arena,
                              tamis__fault *fault);

/* ---- CSV ---- */

/* The error of a quote that is not closed before the end of the record, and thus of the input. */
extern const char tamis__csv_open[];

/* Selected columns of CSV records. */
typedef struct tamis__csv_columns {
    size_t *numbers; /* counted from 1, in any order; 0: no column */
    size_t count;
    unsigned char delimiter;
} tamis__csv_columns;

/* Finds the selected columns: values[i] is that of column numbers[i]. */
tamis_status tamis__csv_find(const tamis__csv_columns *columns, tamis_key record, tamis_key *values,
                             tamis__arena *arena, tamis__fault *fault);

/* Receives the columns of a record in order, until `visit` returns false. */
typedef struct tamis__csv_visitor {
    bool (*visit)(void *context, size_t column, tamis_key value);
    void *context;
} tamis__csv_visitor;

/* Gives each column to the visitor. */
tamis_status tamis__csv_each(unsigned char delimiter, tamis_key record, tamis__csv_visitor visitor,
                             tamis__arena *arena, tamis__fault *fault);

/* ---- regular expressions ---- */

typedef struct tamis__regex tamis__regex;

/* Compiles a pattern.
 * - TAMIS_E_INVALID: `text` has the message of PCRE2, and *pos is the offset of the error in the pattern.
 * - TAMIS_E_NOMEM: *pos is the size of the allocation that failed. */
enum { TAMIS__REGEX_WHY = 160 };
tamis_status tamis__regex_create(tamis__regex **regex, const char *pattern, const tamis_allocator *memory,
                                 char text[TAMIS__REGEX_WHY], size_t *pos);
/* Makes a copy for use by another thread. It shares the machine code and must be freed before the original.
 * TAMIS_E_NOMEM. */
tamis_status tamis__regex_copy(tamis__regex **copy, const tamis__regex *original);
void tamis__regex_free(tamis__regex *regex);
/* Returns the number of values: the pattern's groups, or 1. */
size_t tamis__regex_values(const tamis__regex *regex);
/* *matched false: no value. A group that is not part of the match has `data` NULL. TAMIS_E_DAMAGED if a limit
 * of matching is reached. */
tamis_status tamis__regex_find(tamis__regex *regex, tamis_key record, tamis_key *values, bool *matched,
                               tamis__fault *fault);

/* ---- extractors ---- */

/* tamis_extractor_header for a record at byte `offset` of its input, after the byte order mark. */
tamis_status tamis__extractor_header(tamis_extractor *extractor, tamis_key record, uint64_t offset,
                                     tamis_error *err);

/* Makes a copy for use by another thread. It shares the constant parts, such as column names, and must be
 * freed before the original. A header may be given to the original only while no copy is in use.
 * TAMIS_E_NOMEM. */
tamis_status tamis__extractor_copy(tamis_extractor **copy, const tamis_extractor *original, tamis_error *err);

/* Returns the CSV delimiter, also if the records are not CSV. */
unsigned char tamis__extractor_delimiter(const tamis_extractor *extractor);

/* ---- case folding ---- */

/* Folds the case of a value, into the arena if that changes it. */
tamis_status tamis__fold_case(tamis_key *value, tamis__arena *arena);

#endif
