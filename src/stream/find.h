/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_FIND_H
#define TAMIS_STREAM_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tamis/extract.h>
#include <tamis/key.h>

#include "stream/arena.h"

/*
 * Parts of one record, by syntax: json.c, csv.c, regex.c. Each finds all that are asked of it in one pass over a record
 * whose data is never NULL:
 *
 *     tamis_extractor --record--> tamis__json_find --values--> trimmed, folded, joined: extract_keys.c
 *
 * A value is a view into the record, or into the arena where it had to be decoded; `data` NULL: there is none.
 */

static inline bool tamis__is_same(tamis_key one, tamis_key other) {
    return one.size == other.size && (one.size == 0 || memcmp(one.data, other.data, one.size) == 0);
}

/* What is wrong with a record, as in tamis_extraction. */
typedef struct tamis__fault {
    const char *why;
    size_t at;
} tamis__fault;

/* TAMIS_OK: values are set. TAMIS_E_DAMAGED: the record is malformed, and *fault says how; *err is not touched.
 * TAMIS_E_NOMEM. */

/* ---- JSON ---- */

typedef struct tamis__json tamis__json;

static inline bool tamis__json_is_blank(unsigned char byte) {
    return byte <= ' ' && (byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r');
}

/* Pointers without "json:"; `wrong` (never NULL) is what is wrong with which of them on TAMIS_E_INVALID. They are
 * borrowed. */
tamis_status tamis__json_create(tamis__json **json, const char *const *pointers, size_t count,
                                const tamis_allocator *memory, size_t *which, tamis__fault *wrong);
void tamis__json_free(tamis__json *json);
/* Those records, of which it is called for each in turn, are looked for by and by: each one is known before the one in front
 * of it is looked for. `size` 0: none is. Till then they do not change. */
void tamis__json_expect(tamis__json *json, tamis_key record);
void tamis__json_expect_none(tamis__json *json);
/* A record of nothing but blanks is well, and without values. */
tamis_status tamis__json_find(tamis__json *json, tamis_key record, tamis_key *values, tamis__arena *arena,
                              tamis__fault *fault);

/* ---- CSV ---- */

/* What a fault says whose quote is open to the end of the record, and so of the input. */
extern const char tamis__csv_open[];

/* The columns `columns[i]`, from 1, rising or not. */
tamis_status tamis__csv_find(unsigned char delimiter, tamis_key record, const size_t *columns, size_t count,
                             tamis_key *values, tamis__arena *arena, tamis__fault *fault);

/* Calls take for each column in order, until it is false. */
tamis_status tamis__csv_each(unsigned char delimiter, tamis_key record,
                             bool (*take)(void *context, size_t column, tamis_key value), void *context,
                             tamis__arena *arena, tamis__fault *fault);

/* ---- regular expressions ---- */

typedef struct tamis__regex tamis__regex;

/* On TAMIS_E_INVALID `text` has PCRE2's words and *at how many bytes of the pattern it had read; on TAMIS_E_NOMEM *at
 * has how many of memory were refused. */
enum { TAMIS__REGEX_WHY = 160 };
tamis_status tamis__regex_create(tamis__regex **regex, const char *pattern, const tamis_allocator *memory,
                                 char text[TAMIS__REGEX_WHY], size_t *at);
/* Another one that matches at the same time; it shares the machine code, and is freed before the original. TAMIS_E_NOMEM. */
tamis_status tamis__regex_copy(tamis__regex **copy, const tamis__regex *original);
void tamis__regex_free(tamis__regex *regex);
/* How many values it has: its groups, or 1. */
size_t tamis__regex_values(const tamis__regex *regex);
/* *matched false: no value. A group without a share in the match is one whose data is NULL. TAMIS_E_DAMAGED: a limit of
 * matching is met. */
tamis_status tamis__regex_find(tamis__regex *regex, tamis_key record, tamis_key *values, bool *matched,
                               tamis__fault *fault);

/* ---- the whole ---- */

/* tamis_extractor_header of a record that begins at byte `offset` of its input, behind its byte order mark. */
tamis_status tamis__extractor_header(tamis_extractor *extractor, tamis_key record, uint64_t offset,
                                     tamis_error *err);

/* Another one for the same keys, to be used at the same time: it shares what does not change, the names of columns among
 * it, and is freed before the original, which may be given a header while no copy is at work. TAMIS_E_NOMEM. */
tamis_status tamis__extractor_copy(tamis_extractor **copy, const tamis_extractor *original, tamis_error *err);

/* Of records of CSV; of others what it would be. */
unsigned char tamis__extractor_delimiter(const tamis_extractor *extractor);

/* ---- letters without case ---- */

/* The value folded, into the arena where that changes it. */
tamis_status tamis__fold_case(tamis_key *value, tamis__arena *arena);

#endif
