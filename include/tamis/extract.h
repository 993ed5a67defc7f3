/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_EXTRACT_H
#define TAMIS_EXTRACT_H

/* Keys out of records: library libtamis-stream. Not part of tamis/tamis.h, so that who embeds a filter inherits nothing
 * else. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What of a record is its key. Each part is one of these texts:
 *
 *     line            the record
 *     field:N         field N, from 1, of those between delimiters; nothing quotes a delimiter
 *     bytes:FROM-TO   bytes FROM to TO, from 1, both among them; "bytes:FROM-" to the end. Of a shorter record what
 *                     there is; one that ends before FROM has no key
 *     csv:N           column N, from 1, of a record of CSV (RFC 4180), unquoted; such a record may hold the byte that
 *                     ends records within quotes
 *     csv:NAME        the column that the header gives this name: see tamis_extractor_header. A name of digits, or with
 *                     a comma, a quote or blanks at its ends, is quoted as in CSV: csv:"a,b"
 *     json:/POINTER   the value there (RFC 6901) of a record that is one JSON text (RFC 8259): of a string its bytes
 *                     in UTF-8, whatever its escapes; of anything else its bytes as written. "json:" is the whole. Of
 *                     members of one name the last counts; null is no key, nor is a record of nothing but blanks
 *     regex:PATTERN   the first match of a Perl-compatible expression (PCRE2) in the record, or where it has groups
 *                     each of them, a part of its own. Bytes, not characters; (*UTF) at its beginning changes that
 *
 * One part is the key as it is, so that records of one shape can be asked of a filter made from another. Of several the
 * key is all of them, each behind its size in 8 bytes, little-endian, so that ("ab", "c") is not ("a", "bc"). A group that
 * had no share in the match is a part without bytes whose size is written as 2^64 - 1; a record where none had one, or
 * where any other part is missing, has no key.
 */
typedef struct tamis_extractor tamis_extractor;

typedef struct tamis_extractor_options {
    uint32_t struct_size;
    const char *const *parts;
    size_t part_count; /* 0: line */
    int delimiter;     /* a byte, of fields and of CSV; -1: a tab between fields, a comma in CSV */
    bool trim;         /* parts are without blanks (space, \t \n \v \f \r) at their ends */
    /* and their letters, in UTF-8, without case (Unicode's full folding); bytes that are no UTF-8 stay as they are */
    bool ignore_case;
    /* NULL: the default. Not of it are the machine code of expressions and the stack that runs it (64 MiB reserved). A run
     * on several threads (tamis/stream.h) calls it from all of them, several at once */
    const tamis_allocator *allocator;
} tamis_extractor_options;

/* clang-format off */
#define TAMIS_EXTRACTOR_OPTIONS_INIT {sizeof(tamis_extractor_options), NULL, 0, -1, false, false, NULL}
/* clang-format on */

/* *extractor is the caller's until freed (NULL is fine there). TAMIS_E_INVALID names the part, the place in it (bytes from
 * 0) and what is wrong, or says that csv and json are both among the parts. One thread at a time. */
TAMIS_API tamis_status tamis_extractor_create(tamis_extractor **extractor,
                                              const tamis_extractor_options *options, tamis_error *err);
TAMIS_API void tamis_extractor_free(tamis_extractor *extractor);

/* Whether records are to be told by CSV's rules, and whether names of columns are asked for, so that the first record of
 * each input has to be a header. */
TAMIS_API bool tamis_extractor_is_csv(const tamis_extractor *extractor);
TAMIS_API bool tamis_extractor_wants_header(const tamis_extractor *extractor);
/* Whether a part is json: then every record is one JSON text, or malformed. */
TAMIS_API bool tamis_extractor_is_json(const tamis_extractor *extractor);
/* Whether a key is joined of several values: of several parts, or of a regex with several groups. */
TAMIS_API bool tamis_extractor_joins(const tamis_extractor *extractor);

/* Takes the names of columns from a record without terminator; a byte order mark is no part of the first.
 * TAMIS_E_INVALID: it is no CSV, and the sentence tells the byte, from 0; it has a part's name several times; or it has
 * it not at all, and the sentence lists those it has. Does nothing where no names are asked for. */
TAMIS_API tamis_status tamis_extractor_header(tamis_extractor *extractor, tamis_key record, tamis_error *err);

typedef enum tamis_extracted {
    TAMIS_KEY_FOUND = 0,
    TAMIS_KEY_MISSING = 1,  /* the record is well, and has no key */
    TAMIS_KEY_MALFORMED = 2 /* it is not what the parts say it is */
} tamis_extracted;

typedef struct tamis_extraction {
    tamis_key key;   /* of FOUND: of the record, or of the extractor and good until its next call */
    uint8_t outcome; /* tamis_extracted */
    const char *why; /* of MALFORMED: what is wrong, "a string is not closed" (static) */
    size_t at;       /* and the byte of the record where that is, from 0; its size where it is the end */
} tamis_extraction;

/* The keys of `count` records without their terminators. Time is linear in the bytes of the records (of regex: what the
 * expression takes, up to limits of matching, at which the record counts as malformed). TAMIS_E_NOMEM; TAMIS_E_INVALID
 * where a header is wanted and none was given. */
TAMIS_API tamis_status tamis_extractor_take(tamis_extractor *extractor, const tamis_key *records,
                                            size_t count, tamis_extraction *found, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif
