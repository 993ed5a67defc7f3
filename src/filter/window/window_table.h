/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_WINDOW_TABLE_H
#define TAMIS_FILTER_WINDOW_TABLE_H

/*
 * The tables of a window: their lines and slots, and the two lines of a key. For files of kind window only.
 *
 * Layout of a line of 64 bytes with n slots (plan/plan_window.c has the numbers):
 *
 *     | head 0 | head 1 | ... | head n-1 | tail 0 | tail 1 | ... | tail n-1 | unused |
 *       4 bytes                            0 to 4 bytes each
 *
 *     slot = tail << 32 | head = fingerprint << code_bits | step code
 *
 * Heads are compared all at once; a tail is read only if its head matches. Code 0 is a free slot.
 *
 * A day in steps of an hour has codes of 6 bits. A slot of 5 bytes then has a fingerprint of 34 bits, of
 * which 26 are in the head. So a head matches by chance once in 2^26, and the tail decides:
 *
 *     bits   39      32 31                          6 5      0
 *            | tail    | head: fingerprint           | code   |
 *
 * The lines of a key. The hash selects line a, and the fingerprint leads from either line to the other:
 *
 *     b = (spread(fingerprint) - a) mod lines,  a = (spread(fingerprint) - b) mod lines
 *
 * The number of lines is even and the spread is odd, so a and b differ. An entry can be moved without its
 * key.
 *
 * Why a difference, and not the exclusive or of other cuckoo filters: that needs a number of lines that is a
 * power of two. The first table is made for the keys that are expected.
 *
 * Any bytes are valid lines, so a forged file cannot lead a lookup out of the body.
 */
#include <string.h>

#include "base/bytes.h"
#include "filter/window/window.h"
#include "plan/plan_int.h"

enum { LINE_BYTES = TAMIS__LINE };

typedef struct window_table {
    uint8_t *lines;
    uint64_t line_count;
    uint64_t live;    /* entries of kept steps */
    uint64_t *counts; /* entries of each kept step */
} window_table;

typedef struct window {
    tamis__window_shape shape;
    uint32_t code_mask;   /* the bits of a code in a head */
    bool borrowed;        /* lines belong to a file image and are read-only */
    int64_t newest;       /* largest time; -1: none */
    uint64_t newest_step; /* the step of `newest` */
    uint64_t purged;      /* the newest step when dead entries were last set to 0 */
    double false_present; /* expected number of new keys that were answered present */
    size_t table_count;
    window_table tables[TAMIS__WINDOW_TABLES_MAX]; /* the last one gets new entries */
} window;

/* A key to look up: its fingerprint, shifted to its bits of a slot, and the steps in which it may have been
 * counted. */
typedef struct window_query {
    uint64_t slot;  /* fingerprint << code_bits */
    uint64_t hash;  /* selects line a */
    uint64_t step;  /* step of its time */
    uint64_t steps; /* number of steps before that one that belong to the window, too */
} window_query;

typedef struct line_pair {
    uint64_t a, b;
} line_pair;

/* ---- lines and slots ---- */

/* Four heads. Both compilers turn such vectors into the instructions of every x86-64 and arm64 machine. */
typedef uint32_t heads __attribute__((vector_size(16)));
typedef int32_t matches __attribute__((vector_size(16)));

static inline heads load_heads(const uint8_t *line, uint32_t i) {
    heads h;
    memcpy(&h, line + 16 * i, sizeof h);
    return h;
}

/* From four matches a vector (-1 or 0), for each vector of a line, to one bit a slot. */
static inline uint32_t bits_of(const matches found[4], const window *w) {
    const matches bit = {1, 2, 4, 8};
    const matches bits =
        (found[0] & bit) | ((found[1] & bit) << 4) | ((found[2] & bit) << 8) | ((found[3] & bit) << 12);
    return (uint32_t)(bits[0] | bits[1] | bits[2] | bits[3]) & ((UINT32_C(1) << w->shape.slots) - 1);
}

/* The slots of a line whose head has the fingerprint bits of `slot`, free ones included. */
static inline uint32_t matching_heads(const window *w, const uint8_t *line, uint64_t slot) {
    const uint32_t head = (uint32_t)slot, mask = ~w->code_mask;
    matches found[4];
    for (uint32_t i = 0; i < 4; i++)
        found[i] = ((load_heads(line, i) ^ head) & mask) == 0;
    return bits_of(found, w);
}

/* False if neither line has a head with the fingerprint bits of `slot`. Cheaper than matching_heads, for the
 * many lookups that find nothing. True also if an unused byte of a line happens to match. */
static inline bool any_head_matches(const window *w, const uint8_t *a, const uint8_t *b, uint64_t slot) {
    const uint32_t head = (uint32_t)slot, mask = ~w->code_mask;
    matches found = {0};
    for (uint32_t i = 0; i < 4; i++)
        found |= (((load_heads(a, i) ^ head) & mask) == 0) | (((load_heads(b, i) ^ head) & mask) == 0);
    return found[0] | found[1] | found[2] | found[3];
}

static inline uint32_t code_of(const window *w, uint64_t step) {
    return (uint32_t)(1 + step % w->shape.codes);
}

/* The free slots of a line: those with code 0 and those of steps that are no longer kept. */
static inline uint32_t free_slots(const window *w, const uint8_t *line) {
    const int32_t code = (int32_t)code_of(w, w->newest_step), codes = (int32_t)w->shape.codes;
    const int32_t kept = (int32_t)w->shape.kept;
    matches found[4];
    for (uint32_t i = 0; i < 4; i++) {
        const matches codes_here = (matches)(load_heads(line, i) & w->code_mask);
        const matches age = code - codes_here;
        found[i] = (codes_here == 0) | (age + ((age < 0) & codes) >= kept);
    }
    return bits_of(found, w);
}

static inline uint64_t slot_at(const window *w, const uint8_t *line, uint32_t i) {
    const uint32_t bytes = w->shape.tail_bytes;
    uint8_t tail[4] = {0};
    memcpy(tail, line + 4 * w->shape.slots + bytes * i, bytes);
    return (uint64_t)tamis__load32le(tail) << 32 | tamis__load32le(line + 4 * i);
}

static inline void put_slot(const window *w, uint8_t *line, uint32_t i, uint64_t slot) {
    const uint32_t bytes = w->shape.tail_bytes;
    uint8_t tail[4];
    tamis__store32le(tail, (uint32_t)(slot >> 32));
    memcpy(line + 4 * w->shape.slots + bytes * i, tail, bytes);
    tamis__store32le(line + 4 * i, (uint32_t)slot);
}

/* How many steps before `step` an entry with that code was counted, modulo `codes`. */
static inline uint64_t age_of(const window *w, uint64_t step, uint32_t code) {
    const uint32_t now = code_of(w, step);
    return now >= code ? now - code : now + w->shape.codes - code;
}

/* ---- positions ---- */

static inline uint64_t fingerprint_of(const window *w, const tamis_hash *hash) {
    return hash->word[0] >> (64 - w->shape.fingerprint_bits);
}

static inline uint8_t *line_at(const window_table *t, uint64_t line) {
    return t->lines + line * LINE_BYTES;
}

static inline uint64_t other_line(const window *w, const window_table *t, uint64_t slot, uint64_t line) {
    const uint64_t fingerprint = slot >> w->shape.code_bits;
    const uint64_t spread = 2 * tamis__mulhi(fingerprint * TAMIS__GOLDEN, t->line_count / 2) + 1;
    return spread >= line ? spread - line : spread + t->line_count - line;
}

static inline line_pair lines_of(const window *w, const window_table *t, const window_query *q) {
    const uint64_t a = tamis__mulhi(q->hash, t->line_count);
    return (line_pair){a, other_line(w, t, q->slot, a)};
}

/* ---- steps ---- */

static inline uint64_t step_of(const tamis_filter *filter, int64_t time) {
    return time > 0 ? (uint64_t)time / filter->plan.step : 0;
}

static inline window_query query_of(const tamis_filter *filter, const tamis_hash *hash, int64_t time) {
    const window *w = filter->body;
    const int64_t length = (int64_t)filter->plan.window;
    const uint64_t step = step_of(filter, time);
    return (window_query){fingerprint_of(w, hash) << w->shape.code_bits, hash->word[1], step,
                          step - step_of(filter, time > length ? time - length : 0)};
}

/* Entries of a step. */
static inline uint64_t *count_at(const window *w, const window_table *t, uint64_t step) {
    return &t->counts[step % w->shape.kept];
}

static inline size_t counts_bytes(const window *w) {
    return w->shape.kept * sizeof(uint64_t);
}

/* The latest step that no later record can precede. */
static inline uint64_t safe_step(const tamis_filter *filter) {
    const window *w = filter->body;
    return step_of(filter, w->newest - (int64_t)filter->plan.lateness);
}

/* The false-positive rate of a lookup now.
 *
 * live / line_count is the mean number of entries of a line, and a lookup compares with those of two lines.
 * Each is equal by chance with 2^-fingerprint_bits. Their sum is the rate as long as it is small. */
static inline double rate_of(const window *w) {
    double rate = 0;
    for (size_t i = 0; i < w->table_count; i++)
        rate += 2 * (double)w->tables[i].live / (double)w->tables[i].line_count;
    return rate / (double)(UINT64_C(1) << w->shape.fingerprint_bits);
}

/* window.c: makes the body without a table. */
tamis_status tamis__window_create_empty(tamis_filter *filter, window **created, tamis_error *err);
/* window.c: TAMIS_E_UNSUPPORTED if the filter is not a window. `call` is the function that was called. */
tamis_status tamis__window_check(const tamis_filter *filter, const char *call, tamis_error *err);
/* window.c: TAMIS_E_RANGE if the time is out of range. */
tamis_status tamis__window_check_time(int64_t time, tamis_error *err);

/* window_time.c: adds a table without entries, which becomes the last one. False: out of memory. */
bool tamis__window_add_table(tamis_filter *filter, uint64_t line_count);
void tamis__window_release_table(tamis_filter *filter, window_table *t);
/* window_time.c: removes all entries of the last table, and the other tables. */
void tamis__window_remove_all(tamis_filter *filter);
/* window_time.c: moves the newest time to a later one. */
void tamis__window_advance(tamis_filter *filter, int64_t time);

/* window_insert.c: answers a key and counts it. Sets *counted if an entry was made or changed. */
tamis_status tamis__window_add_key(tamis_filter *filter, const window_query *q, tamis_answer *answer,
                                   bool *counted, tamis_error *err);

/* window_image.c: operations of the handle. */
bool tamis__window_body_extent(const tamis_filter *filter, size_t i, tamis__body_extent *extent);
tamis_status tamis__window_restore(tamis_filter *filter, const tamis__image *image, tamis_error *err);
tamis_status tamis__window_touch(const tamis_filter *filter, const tamis__key_batch *batch, tamis_error *err);

#endif
