/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_JSON_INT_H
#define TAMIS_STREAM_JSON_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/key.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "stream/find.h"

/* ---- pointers: json_path.c ---- */

/*
 * A token of a pointer: one step from a container to what is in it. Nodes are an array in the order in which a tree is
 * walked, so that those below a node are the ones from it to its `end`: of "/a/b", "/a/c/d" and "/e"
 *
 *     0 (the whole)   1 a   2 b   3 c   4 d   5 e          ends: 6, 5, 3, 5, 5, 6
 */
typedef struct tamis__json_node {
    tamis_key name;               /* the token, decoded */
    uint64_t index;               /* as an element of an array; TAMIS__JSON_NO_INDEX */
    struct tamis__json_node *end; /* behind the last one below it */
    tamis_key found; /* the last value there, as written; of a string without its quotes; data NULL: none */
    bool escaped;    /* it is a string with escapes */
    bool begun;      /* only where it begins is known so far, see json_kernels.h */
} tamis__json_node;

#define TAMIS__JSON_NO_INDEX UINT64_MAX

/* A container that is being read, on the way of a pointer or at its end. */
typedef struct tamis__json_frame {
    tamis__json_node *node;
    const unsigned char *start;
    uint64_t index; /* of the element that is being read */
} tamis__json_frame;

typedef struct tamis__json_asked {
    const char *pointer;
    size_t place; /* among the values */
    const tamis__json_node *node;
} tamis__json_asked;

struct tamis__json_kernels;

/* What was seen of a record ahead of its turn. Vectors are made of words that were stored one by one; right after that
 * this takes as long as all the rest. */
enum { TAMIS__JSON_SIGNS = 11 };
typedef struct tamis__json_ahead {
    const unsigned char *start, *end; /* NULL: nothing */
    uint64_t words[TAMIS__JSON_SIGNS][8];
} tamis__json_ahead;

struct tamis__json {
    tamis_allocator memory;
    const struct tamis__json_kernels *kernels;
    size_t size; /* of this and of all it points to but `levels` */
    tamis__json_asked *asked;
    size_t asked_count;
    tamis__json_node *nodes; /* the first is the whole text */
    size_t node_count;
    tamis__json_frame *frames; /* as many as the longest pointer can need */
    unsigned char *levels;     /* a bit for each container that is open: an object */
    size_t levels_size;
    tamis__json_ahead ahead[2]; /* of the record in hand and the next one */
    unsigned char first_letter; /* of all names; 0: there are none */
    uint64_t any_letter;        /* all bits: they begin with different ones; else none */
};

/* ---- the scanner: json.c ---- */

/* What is scanned, and what is wrong with it. */
typedef struct tamis__json_text {
    const unsigned char *start, *end;
    tamis__fault *fault;
} tamis__json_text;

static inline const unsigned char *tamis__json_pass_blanks(const unsigned char *at,
                                                           const unsigned char *end) {
    while (at < end && tamis__json_is_blank(*at))
        at++;
    return at;
}

/* Behind the number, true, false or null that begins there; NULL: it is none. */
const unsigned char *tamis__json_scalar(const tamis__json_text *text, const unsigned char *at);

/* The node below `parent` of the member whose name that is, with nothing noted from there on down; NULL: nothing asks for
 * it. */
tamis__json_node *tamis__json_member(tamis__json_node *parent, tamis_key name, bool escaped);

/* ---- strings: json_text.c ---- */

/*
 * Where a string stops being plain: its first byte that is a quote, a backslash, a control character or no ASCII, or
 * `end`. Eight bytes at once: the high bit of a byte is set where it is one of these. What a difference borrows from
 * the bytes above it comes out of such a byte alone, so that the lowest one is right.
 */
static inline const unsigned char *tamis__json_plain(const unsigned char *at, const unsigned char *end) {
    const uint64_t ones = UINT64_MAX / 255, high = ones << 7;
    for (; end - at >= 8; at += 8) {
        const uint64_t word = tamis__load64le(at);
        const uint64_t stops =
            (word | ((word ^ ones * '"') - ones) | ((word ^ ones * '\\') - ones) | (word - ones * 0x20)) &
            high;
        if (stops)
            return at + __builtin_ctzll(stops) / 8;
    }
    while (at < end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* The rest of a string, from what stands at `at` and is not plain. */
const unsigned char *tamis__json_string_odd(const tamis__json_text *text, const unsigned char *at,
                                            bool *escaped);

/* Behind the quote that ends the string from `at`, which is behind the one that began it; NULL: it is none. Sets
 * *escaped where it has escapes. */
static inline const unsigned char *tamis__json_string(const tamis__json_text *text, const unsigned char *at,
                                                      bool *escaped) {
    at = tamis__json_plain(at, text->end);
    return at < text->end && *at == '"' ? at + 1 : tamis__json_string_odd(text, at, escaped);
}

/* Behind the escape at `at`, a backslash; both halves of a surrogate pair are one. NULL: it is none. */
const unsigned char *tamis__json_escape(const tamis__json_text *text, const unsigned char *at);

/* Those below take strings that were found to be well. */

/* Whether it spells the name once decoded. */
bool tamis__json_spells(tamis_key string, tamis_key name);
/* Its bytes, no more than there were; returns how many. */
size_t tamis__json_decode(tamis_key string, unsigned char *bytes);

/* The bytes of the character of more than one that begins there; 0: it is no UTF-8. */
size_t tamis__utf8_size(const unsigned char *at, const unsigned char *end);

static inline const unsigned char *tamis__json_refuse(const tamis__json_text *text, const unsigned char *at,
                                                      const char *why) {
    *text->fault = (tamis__fault){why, (size_t)(at - text->start)};
    return NULL;
}

#endif
