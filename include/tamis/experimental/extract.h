/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_EXTRACT_H
#define TAMIS_EXTRACT_H

/* Keys of records: library libtamis-stream. Not part of tamis/tamis.h, so that a program that embeds a
 * filter needs no further library. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/dedup.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * An extractor finds the key of a record. Its parts are texts of these forms:
 *
 *     line            the whole record
 *     field:N         field N, from 1, between delimiters; delimiters cannot be quoted
 *     bytes:FROM-TO   bytes FROM to TO, from 1, both included; "bytes:FROM-" goes to the end
 *     csv:N           column N, from 1, of a CSV record (RFC 4180), without its quotes
 *     csv:NAME        the column with this name in the header, see tamis_extractor_header
 *     json:/POINTER   the value at this pointer (RFC 6901) of a JSON record (RFC 8259); "json:" is all
 *     regex:PATTERN   the first match of a Perl-compatible expression (PCRE2)
 *
 * Details of each form:
 *
 * - bytes: if the record ends before TO, the key ends with the record. A record that ends before FROM has
 *   no key.
 * - csv: within quotes, a record may contain the byte that ends records. A name that is a number, or contains
 *   a comma, a quote or blanks at its ends, is quoted as in CSV: csv:"a,b".
 * - json: a string gives its bytes in UTF-8, whatever its escapes. Any other value gives its bytes as
 *   written. If several members have the same name, the last one counts. A record whose value is null, or
 *   that has only blanks, has no key.
 * - regex: if the expression has groups, each group is a part. It matches bytes, not characters; (*UTF) at
 *   its start changes that.
 *
 * One part is the key as it is, so records of one form can be looked up in a filter made from another form.
 * Several parts are joined: each part follows its size in 8 bytes, little-endian, so that ("ab", "c") differs
 * from ("a", "bc"). A regex group without a match is an empty part with the size 2^64 - 1. A record without a
 * match of any group, or without any other part, has no key.
 */
typedef struct tamis_extractor tamis_extractor;

typedef struct tamis_extractor_options {
    uint32_t struct_size;
    const char *const *parts;
    size_t part_count; /* 0: line */
    int delimiter;     /* delimiter byte of fields and CSV; -1: tab for fields, comma for CSV */
    bool trim;         /* remove blanks (space, \t \n \v \f \r) at the ends of each part */
    /* remove the case of UTF-8 letters (Unicode full case folding); bytes that are not UTF-8 stay
     * unchanged */
    bool ignore_case;
    /* Allocator, NULL for the default. It does not serve the machine code of expressions and the stack
     * that runs it (64 MiB reserved). In a run with several threads (tamis/experimental/stream.h), several
     * threads call it at once. */
    const tamis_allocator *allocator;
    /* NULL, or one more part in the same forms, which has the time of the record and does not belong to the
     * key; see tamis_time_parse */
    const char *time;
    /* NULL, or two more parts that do not belong to the key. They are the source of the record, such as a
     * partition of a broker, and its number there, such as an offset. Both or neither. */
    const char *source;
    const char *position;
} tamis_extractor_options;

#define TAMIS_EXTRACTOR_OPTIONS_INIT TAMIS__INIT(tamis_extractor_options, TAMIS__FIELD(delimiter, -1))

/* Creates an extractor. The caller owns *extractor until tamis_extractor_free. One thread at a time.
 * TAMIS_E_INVALID: the message names the part, the byte in it (from 0) and the reason; csv and json cannot
 * be combined. */
TAMIS_API tamis_status tamis_extractor_create(tamis_extractor **extractor,
                                              const tamis_extractor_options *options, tamis_error *err);
TAMIS_API void tamis_extractor_free(tamis_extractor *extractor);

/*
 * tamis_extractor_is_csv: true if records follow the rules of CSV. tamis_extractor_wants_header: true if a
 * part names a column. The first record of each input must then be a header.
 */
TAMIS_API bool tamis_extractor_is_csv(const tamis_extractor *extractor);
TAMIS_API bool tamis_extractor_wants_header(const tamis_extractor *extractor);
/* True if a part is json. Each record must then be one JSON text; any other is malformed. */
TAMIS_API bool tamis_extractor_is_json(const tamis_extractor *extractor);
/* True if a key is joined from several values: from several parts, or from several groups of a regex. */
TAMIS_API bool tamis_extractor_joins(const tamis_extractor *extractor);

/*
 * Reads the column names from a header record without its terminator. A byte order mark does not belong to
 * the first name. Does nothing if no part names a column.
 *
 * TAMIS_E_INVALID: the record is not CSV; the message gives the byte, from 0. Or it has the name of a part
 * several times, or not at all; the message then lists its names.
 */
TAMIS_API tamis_status tamis_extractor_header(tamis_extractor *extractor, tamis_key record, tamis_error *err);

typedef enum tamis_extracted {
    TAMIS_KEY_FOUND = 0,
    TAMIS_KEY_MISSING = 1,  /* the record is valid but has no key */
    TAMIS_KEY_MALFORMED = 2 /* the record is not valid for the parts */
} tamis_extracted;

typedef struct tamis_extraction {
    /* For FOUND: the key. It points into the record, or into the extractor until its next call. */
    tamis_key key;
    uint8_t outcome; /* tamis_extracted */
    const char *why; /* for MALFORMED: the reason, such as "a string is not closed" (static) */
    size_t pos;      /* for MALFORMED: the byte in the record, from 0; its size for the end */
    int64_t time;    /* for FOUND, with options.time: milliseconds since 1970-01-01 UTC */
    /* For FOUND and MISSING, with options.source: the source, which points to where a key would, and the
     * position, below 2^63 */
    tamis_key source;
    uint64_t position;
} tamis_extraction;

/*
 * Finds the keys of `count` records without their terminators. The time is linear in their bytes; for regex
 * it is that of the expression. A record that exceeds a matching limit counts as malformed.
 *
 * With options.time, a record that has a key but no time, or a text there that is not a time, is malformed.
 * With options.source, a record without source or position is malformed too. So is one whose source is longer
 * than TAMIS_SOURCE_MAX or has a line feed or NUL, or whose position is not digits alone.
 *
 * TAMIS_E_NOMEM; TAMIS_E_INVALID: a header is required but was not given.
 */
TAMIS_API tamis_status tamis_extractor_extract(tamis_extractor *extractor, const tamis_key *records,
                                               size_t count, tamis_extraction *found, tamis_error *err);

/* True if the extractor finds the time of a record too (options.time). */
TAMIS_API bool tamis_extractor_has_time(const tamis_extractor *extractor);
/* True if the extractor finds source and position of a record too (options.source, options.position). */
TAMIS_API bool tamis_extractor_has_position(const tamis_extractor *extractor);

/*
 * Reads a time: *ms becomes milliseconds since 1970-01-01 UTC. Digits beyond milliseconds are dropped.
 *
 *     1764110400             unix seconds, below 10^11 (until the year 5138)
 *     1764110400.25          the same with a fraction
 *     1764110400250          unix milliseconds, from 10^11 to 10^14
 *     2025-11-25T22:40:00Z   RFC 3339, from the year 1970; a blank may stand for T, and Z may be +01:00
 *
 * False, and *ms unchanged, if the text is none of these. `text` need not end in NUL.
 */
TAMIS_API bool tamis_time_parse(int64_t *ms, const char *text, size_t size);

/* Returns the number of values of a record: one for each part, or for each group of a regex. */
TAMIS_API size_t tamis_extractor_value_count(const tamis_extractor *extractor);

/*
 * Like tamis_extractor_extract, but returns the values of a record one by one and does not make them a key.
 *
 * - values: count * n elements, where n is tamis_extractor_value_count. values[i * n + j] is value j of
 *   record i, in the order of the parts, trimmed and folded as the options say. `data` is NULL for a group
 *   without a match. The values point to the same places as a key. Those of a record that is not FOUND are
 *   unchanged.
 * - found: as for tamis_extractor_extract, with empty keys.
 */
TAMIS_API tamis_status tamis_extractor_values(tamis_extractor *extractor, const tamis_key *records,
                                              size_t count, tamis_extraction *found, tamis_key *values,
                                              tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif
