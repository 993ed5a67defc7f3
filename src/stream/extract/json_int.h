/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_EXTRACT_JSON_INT_H
#define TAMIS_STREAM_EXTRACT_JSON_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/key.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "stream/extract/find.h"

/* ---- pointers: json_path.c ---- */

/*
 * A token of a JSON pointer: one step from a container to a value in it. The nodes form a tree, stored in an
 * array in depth-first order. The descendants of a node are the nodes after it and before its `end`. For
 * "/a/b", "/a/c/d" and "/e":
 *
 *     index   0 (root)   1 a   2 b   3 c   4 d   5 e
 *     end     6          5     3     5     5     6
 */
typedef struct tamis__json_node {
    tamis_key name;               /* the token, decoded */
    uint64_t index;               /* the token as an array index, or TAMIS__JSON_NO_INDEX */
    struct tamis__json_node *end; /* after the last descendant */
    tamis_key found;              /* last value seen, as written, strings without quotes; data NULL: none */
    bool escaped;                 /* `found` is a string with escapes */
    bool begun;                   /* only the start of `found` is known so far (json_kernels.h) */
} tamis__json_node;

#define TAMIS__JSON_NO_INDEX UINT64_MAX

/* An open container on the path of a pointer, or at its end. */
typedef struct tamis__json_frame {
    tamis__json_node *node;
    const unsigned char *start;
    uint64_t index; /* index of the next element */
} tamis__json_frame;

/* A requested pointer. */
typedef struct tamis__json_query {
    const char *pointer;
    size_t position; /* index among the values */
    const tamis__json_node *node;
} tamis__json_query;

struct tamis__json_kernels;

/* The text to be parsed, and where to report an error. */
typedef struct tamis__json_text {
    const unsigned char *start, *end;
    tamis__fault *fault;
} tamis__json_text;

/* Result of examining a record ahead of its turn. The words of each kind are stored one by one and loaded as
 * one vector. The processor cannot forward such stores, so the load waits until they are in the cache, which
 * takes longer than the parsing. Looking ahead hides that wait. */
enum { TAMIS__JSON_CLASSES = 11 };
typedef struct tamis__json_scanned {
    const void *start; /* NULL: unused */
    size_t size;
    tamis__json_text text; /* the record without surrounding blanks */
    uint64_t words[TAMIS__JSON_CLASSES][8];
} tamis__json_scanned;

struct tamis__json {
    tamis_allocator memory;
    const struct tamis__json_kernels *kernels;
    size_t size; /* bytes of this block; it includes everything but `levels` */
    tamis__json_query *queries;
    size_t query_count;
    tamis__json_node *nodes; /* nodes[0] is the root, the whole text */
    size_t node_count;
    tamis__json_frame *frames; /* enough for the longest pointer */
    unsigned char *levels;     /* one bit for each open container; 1: an object */
    size_t levels_size;
    tamis__json_scanned scanned[2]; /* the present record and the next one */
    unsigned char first_letter;     /* first byte of all names, if they agree; 0: no names */
    uint64_t any_letter;            /* all ones: the names begin with different bytes; else 0 */
};

/* ---- the scanner: json.c ---- */

static inline const unsigned char *tamis__json_pass_blanks(const unsigned char *pos,
                                                           const unsigned char *end) {
    while (pos < end && tamis__json_is_blank(*pos))
        pos++;
    return pos;
}

/* Returns the end of the number, true, false or null at `pos`, or NULL on an error. */
const unsigned char *tamis__json_scalar(const tamis__json_text *text, const unsigned char *pos);

/* Returns the child of `parent` for a member of this name, and clears what was found below it. NULL: not
 * requested. */
tamis__json_node *tamis__json_member(tamis__json_node *parent, tamis_key name, bool escaped);

/* ---- strings: json_text.c ---- */

/*
 * Returns the first byte at or after `pos` that is not plain: a quote, a backslash, a control character or
 * not ASCII; or `end`. Tests eight bytes at once by setting the high bit of each such byte. A subtraction
 * may borrow from higher bytes, but only at a byte that is not plain, so the lowest set bit is always
 * right.
 */
static inline const unsigned char *tamis__json_plain(const unsigned char *pos, const unsigned char *end) {
    const uint64_t ones = UINT64_MAX / 255, high = ones << 7;
    for (; end - pos >= 8; pos += 8) {
        const uint64_t word = tamis__load64le(pos);
        const uint64_t stops =
            (word | ((word ^ ones * '"') - ones) | ((word ^ ones * '\\') - ones) | (word - ones * 0x20)) &
            high;
        if (stops)
            return pos + __builtin_ctzll(stops) / 8;
    }
    while (pos < end && *pos >= 0x20 && *pos < 0x80 && *pos != '"' && *pos != '\\')
        pos++;
    return pos;
}

/* Continues a string at a byte `pos` that is not plain. */
const unsigned char *tamis__json_string_odd(const tamis__json_text *text, const unsigned char *pos,
                                            bool *escaped);

/* `pos` is after the opening quote. Returns the byte after the closing quote, or NULL on an error. Sets
 * *escaped if the string has escapes. */
static inline const unsigned char *tamis__json_string(const tamis__json_text *text, const unsigned char *pos,
                                                      bool *escaped) {
    pos = tamis__json_plain(pos, text->end);
    return pos < text->end && *pos == '"' ? pos + 1 : tamis__json_string_odd(text, pos, escaped);
}

/* Returns the end of the escape at `pos`, a backslash; a surrogate pair is one escape. NULL on an error. */
const unsigned char *tamis__json_escape(const tamis__json_text *text, const unsigned char *pos);

/* The functions below need valid strings. */

/* True if the string, decoded, equals the name. */
bool tamis__json_spells(tamis_key string, tamis_key name);
/* Decodes the string; the result is never longer. Returns its size. */
size_t tamis__json_decode(tamis_key string, unsigned char *bytes);

/* Returns the size of the multi-byte UTF-8 character at `pos`; 0 if it is invalid. */
size_t tamis__utf8_size(const unsigned char *pos, const unsigned char *end);

static inline const unsigned char *tamis__json_refuse(const tamis__json_text *text, const unsigned char *pos,
                                                      const char *why) {
    *text->fault = (tamis__fault){why, (size_t)(pos - text->start)};
    return NULL;
}

#endif
