/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_KERNELS_JSON_BLOCKS_H
#define TAMIS_STREAM_KERNELS_JSON_BLOCKS_H

/*
 * A JSON parser that works on 64 bytes at a time, without a branch for each token.
 *
 * Vector comparisons turn each block of 64 bytes into words with one bit a byte. The grammar is checked by
 * operations on these words. Whether a token may follow another depends only on that other token, and on
 * whether the innermost container is an object.
 *
 *     {"id":17, "a":[true]}         bit i stands for byte i
 *     .^^^..........^......         strings: from the opening quote to before the closing one
 *     .^.......                     names: strings after { or, in an object, after a comma
 *     .....^........^......         colons: exactly after the names
 *     ......^^.......^^^^..         scalars: neither string, sign nor blank; digits need no further check
 *
 * Some tokens are rare enough to be visited one by one: brackets, escapes, scalars that are more than digits,
 * and names that may be requested. The latter are in tracked containers and have the right first letter.
 *
 * Correctness: each token but the first follows exactly one other. The text is valid if
 * 1. after an opening bracket or a comma comes a string in an object, a value in an array;
 * 2. after a colon comes a value, after a name a colon, after a value a comma or a closing bracket;
 * 3. a closing bracket matches the innermost container, and follows a value or its own opening bracket;
 * 4. the first token opens a container, and the last token closes it.
 *
 * A value of type `bits` covers up to BLOCKS blocks. State that crosses to the next blocks, such as "inside a
 * string", is in `carry_state`. Two carry chains do the work of loops:
 * - the sum of the starts of runs and the runs carries through each run, to the position after its end;
 * - a running exclusive or of the quotes marks all bytes between an opening and a closing quote.
 *
 * This parser is apart from json_avx512.c, since no line of it depends on an instruction set. The file that
 * includes it defines:
 *
 *     bytes64     64 bytes; load, load_some (fills up with blanks), equal (to a byte), within (a range),
 *                 lower (sets bit 0x20 in all bytes)
 *     bits        BLOCKS words with the usual operators; bits_of (first `count` words, rest 0), words_of,
 *                 any, filled_of (a bit for each word that is not 0), below (all bits under a position)
 *     shift_in    shifts all bits up by one, across words; the first bit comes from the blocks before
 *     sum         adds with carry, across words
 *     from_odd_to_even
 *                 running exclusive or: ones from each odd bit to before the next one; *odd is the parity of
 *                 all bits before
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/extract/json_int.h"

enum { DEPTH_MAX = 64 /* bits of a word; the scanner handles deeper texts */ };

typedef struct walk {
    tamis__json *json;
    const tamis__json_text *text;
    uint64_t kinds;               /* open containers, the innermost in the lowest bit; 1: an object */
    size_t depth, tracked;        /* as in json.c */
    tamis__json_node *node;       /* last requested member */
    const unsigned char *value;   /* start of its value */
    const unsigned char *escaped; /* escapes before this byte are checked */
} walk;

/* State of characters_are_well: previous words for shift_in. */
typedef struct characters {
    bits fourth, third, second, e0, ed, f0, f4;
} characters;

/* State passed from blocks to the next ones: last words for shift_in, carries for sum, parities for
 * from_odd_to_even. */
typedef struct carry_state {
    bits items, colons, name_ends, value_ends, scalars;
    unsigned over_items, over_colons, over_names, over_values; /* 1: only blanks so far after such a token */
    unsigned in_string, in_name, escaped;
    bool odd;        /* the blocks before had bytes outside of 0x20 to 0x7f */
    characters utf8; /* valid only if `odd` */
} carry_state;

/* Up to BLOCKS blocks; fewer at the end of the record. */
typedef struct blocks {
    const unsigned char *pos;
    size_t size;
} blocks;

static inline size_t count_of(const blocks *b) {
    return (b->size + 63) / 64;
}

/* For each kind of byte, where it occurs in the blocks, inside of strings or not. */
typedef struct byte_classes {
    bits inside; /* positions before the end of the record */
    bits quotes, backslashes, blanks, odd, opens, closes, colons, commas, digits, zeros, letters;
} byte_classes;

/* ---- bytes to bits ---- */

static inline blocks blocks_at(const unsigned char *pos, const unsigned char *end) {
    const size_t left = (size_t)(end - pos), size = left < 64 * BLOCKS ? left : 64 * BLOCKS;
    return (blocks){pos, size};
}

static inline bytes64 load_block(const blocks *b, size_t i) {
    const unsigned char *pos = b->pos + 64 * i;
    return 64 * i + 64 <= b->size ? load(pos) : load_some(pos, b->size - 64 * i);
}

static inline bits all_equal(const blocks *b, unsigned char byte) {
    uint64_t words[BLOCKS];
    for (size_t i = 0; i < count_of(b); i++)
        words[i] = equal(load_block(b, i), byte);
    return bits_of(words, count_of(b));
}

/* The bit words that nearly all records need. */
enum { QUOTES, BACKSLASHES, BLANKS, ODD, OPENS, CLOSES, COLONS, COMMAS, DIGITS, ZEROS, LETTERS };

static inline void classify_blocks(const blocks *b, unsigned char letter,
                                   uint64_t words[TAMIS__JSON_CLASSES][BLOCKS]) {
    for (size_t i = 0; i < count_of(b); i++) {
        const bytes64 bytes = load_block(b, i), lowered = lower(bytes);
        words[QUOTES][i] = equal(bytes, '"');
        words[BACKSLASHES][i] = equal(bytes, '\\');
        words[BLANKS][i] = equal(bytes, ' ');
        words[ODD][i] = ~within(bytes, 0x20, 0x7f);
        words[OPENS][i] = equal(lowered, '{');
        words[CLOSES][i] = equal(lowered, '}');
        words[COLONS][i] = equal(bytes, ':');
        words[COMMAS][i] = equal(bytes, ',');
        words[DIGITS][i] = within(bytes, '0', '9');
        words[ZEROS][i] = equal(bytes, '0');
        words[LETTERS][i] = equal(bytes, letter);
    }
}

static inline byte_classes gather_classes(const blocks *b, uint64_t words[TAMIS__JSON_CLASSES][BLOCKS]) {
    const bits inside = below(b->size);
    return (byte_classes){.inside = inside,
                          .quotes = bits_of(words[QUOTES], count_of(b)),
                          .backslashes = bits_of(words[BACKSLASHES], count_of(b)),
                          .blanks = bits_of(words[BLANKS], count_of(b)) & inside,
                          .odd = bits_of(words[ODD], count_of(b)),
                          .opens = bits_of(words[OPENS], count_of(b)),
                          .closes = bits_of(words[CLOSES], count_of(b)),
                          .colons = bits_of(words[COLONS], count_of(b)),
                          .commas = bits_of(words[COMMAS], count_of(b)),
                          .digits = bits_of(words[DIGITS], count_of(b)),
                          .zeros = bits_of(words[ZEROS], count_of(b)),
                          .letters = bits_of(words[LETTERS], count_of(b))};
}

/* ---- strings ---- */

/* Returns the bytes that are escaped by a backslash: in a run of backslashes, each second byte from its
 * first. The carry of a sum finds the runs that begin at an odd position. */
static inline bits escaped_by(bits backslashes, unsigned *escaped) {
    const bits first = bits_of((uint64_t[BLOCKS]){*escaped}, 1);
    const bits even = (bits){0} + UINT64_MAX / 3;
    bits none = {0};
    backslashes &= ~first;
    const bits next = shift_in(backslashes, &none) | first;
    *escaped = 0;
    const bits runs = sum(backslashes & ~even & ~next, backslashes, escaped);
    none = (bits){0};
    return (even ^ shift_in(runs, &none)) & next;
}

/* Checks the escapes at these escaped bytes. */
static bool escapes_are_well(walk *w, const blocks *b, bits escaped) {
    static const bool simple[256] = {
        ['"'] = 1, ['\\'] = 1, ['/'] = 1, ['b'] = 1, ['f'] = 1, ['n'] = 1, ['r'] = 1, ['t'] = 1};
    uint64_t words[BLOCKS];
    words_of(escaped, words);
    for (size_t i = 0; i < count_of(b); i++) {
        for (; words[i]; words[i] &= words[i] - 1) {
            const unsigned char *pos = b->pos + 64 * i + __builtin_ctzll(words[i]);
            if (simple[*pos] || pos <= w->escaped)
                continue; /* simple, or the low half of a surrogate pair that is already checked */
            w->escaped = tamis__json_escape(w->text, pos - 1);
            if (!w->escaped)
                return false;
        }
    }
    return true;
}

/* Checks UTF-8 by table 3-7 of the Unicode Standard: continuation bytes follow exactly the lead bytes that
 * need them. */
__attribute__((noinline)) static bool characters_are_well(const blocks *b, characters *h, bool begins,
                                                          bits *controls) {
    if (begins)
        h->fourth = h->third = h->second = h->e0 = h->ed = h->f0 = h->f4 = (bits){0};
    enum { CONTINUATION, LOW, LOWEST, TWO, THREE, FOUR, HIGH, E0, ED, F0, F4, CONTROLS, CLASSES };
    uint64_t words[CLASSES][BLOCKS];
    for (size_t i = 0; i < count_of(b); i++) {
        const bytes64 bytes = load_block(b, i);
        words[CONTINUATION][i] = within(bytes, 0x80, 0xbf);
        words[LOW][i] = within(bytes, 0x80, 0x9f);
        words[LOWEST][i] = within(bytes, 0x80, 0x8f);
        words[TWO][i] = within(bytes, 0xc2, 0xdf);
        words[THREE][i] = within(bytes, 0xe0, 0xef);
        words[FOUR][i] = within(bytes, 0xf0, 0xf4);
        words[HIGH][i] = within(bytes, 0x80, 0xff);
        words[E0][i] = equal(bytes, 0xe0);
        words[ED][i] = equal(bytes, 0xed);
        words[F0][i] = equal(bytes, 0xf0);
        words[F4][i] = equal(bytes, 0xf4);
        words[CONTROLS][i] = within(bytes, 0, 0x1f);
    }
    *controls = bits_of(words[CONTROLS], count_of(b));
    const bits continuation = bits_of(words[CONTINUATION], count_of(b)),
               low = bits_of(words[LOW], count_of(b));
    const bits lowest = bits_of(words[LOWEST], count_of(b)), two = bits_of(words[TWO], count_of(b));
    const bits three = bits_of(words[THREE], count_of(b)), four = bits_of(words[FOUR], count_of(b));
    /* All lead bytes need a second byte, those of three and four a third, and so on. Each need moves on by
     * one byte. */
    const bits fourth = shift_in(four, &h->fourth);
    const bits third = shift_in(fourth | three | four, &h->third);
    bits bad = shift_in(third | two | three | four, &h->second) ^ continuation;
    bad |= bits_of(words[HIGH], count_of(b)) & ~(two | three | four | continuation);
    bad |= shift_in(bits_of(words[E0], count_of(b)), &h->e0) & low;                    /* overlong */
    bad |= shift_in(bits_of(words[ED], count_of(b)), &h->ed) & continuation & ~low;    /* a surrogate */
    bad |= shift_in(bits_of(words[F0], count_of(b)), &h->f0) & lowest;                 /* overlong */
    bad |= shift_in(bits_of(words[F4], count_of(b)), &h->f4) & continuation & ~lowest; /* beyond U+10FFFF */
    return !any(bad);
}

/* Checks the content of strings and sets *strings. Removes escaped quotes from `quotes`, and strings from
 * `blanks`. */
static inline bool read_strings(walk *w, const blocks *b, carry_state *h, byte_classes *s, bits *strings) {
    if (any(s->backslashes) || h->escaped) {
        const bits escaped = escaped_by(s->backslashes, &h->escaped);
        s->quotes &= ~escaped;
        if (!escapes_are_well(w, b, escaped))
            return false;
    }
    *strings = from_odd_to_even(s->quotes, &h->in_string);
    const bool odd = any(s->odd);
    if (odd || h->odd) {
        bits controls;
        if (!characters_are_well(b, &h->utf8, !h->odd, &controls) || any(controls & *strings))
            return false;
        if (any(controls))
            s->blanks |= all_equal(b, '\t') | all_equal(b, '\n') | all_equal(b, '\r');
    }
    h->odd = odd;
    s->blanks &= ~*strings;
    return true;
}

/* ---- containers ---- */

static bool wants_elements(const tamis__json_node *node) {
    for (const tamis__json_node *below = node + 1; below < node->end; below = below->end)
        if (below->index != TAMIS__JSON_NO_INDEX)
            return true;
    return false;
}

static inline bool open_container(walk *w, const unsigned char *pos) {
    const bool is_object = *pos == '{';
    if (w->depth == DEPTH_MAX)
        return false;
    w->kinds = w->kinds << 1 | is_object;
    w->depth++;
    if (pos == w->value) {
        if (!is_object && wants_elements(w->node))
            return false; /* the scanner counts elements */
        w->json->frames[w->tracked++] = (tamis__json_frame){w->node, pos, 0};
    }
    return true;
}

/* The outermost container must close exactly at the end of the text. */
static inline bool close_container(walk *w, const unsigned char *pos) {
    if ((w->kinds & 1) != (*pos == '}'))
        return false;
    if (w->tracked == w->depth) {
        const tamis__json_frame *frame = &w->json->frames[--w->tracked];
        frame->node->found = (tamis_key){frame->start, (size_t)(pos + 1 - frame->start)};
        frame->node->begun = frame->node->escaped = false;
    }
    w->kinds >>= 1;
    w->depth--;
    return w->depth > 0 || pos + 1 == w->text->end;
}

/* Returns the closing quote of the string at `pos` if it is within 64 bytes and no escape is before it; else
 * NULL. */
static inline const unsigned char *near_end(const walk *w, const unsigned char *pos) {
    const size_t left = (size_t)(w->text->end - pos);
    const bytes64 bytes = left >= 64 ? load(pos) : load_some(pos, left);
    const uint64_t quotes = equal(bytes, '"'), stops = quotes | equal(bytes, '\\');
    return quotes & stops & -stops ? pos + __builtin_ctzll(stops) : NULL;
}

/* Notes the value at `pos` of a requested member. */
static inline void note_value(walk *w, tamis__json_node *node, const unsigned char *pos) {
    const unsigned char *end = *pos == '"' ? near_end(w, pos + 1) : NULL;
    node->found = end ? (tamis_key){pos + 1, (size_t)(end - pos) - 1} : (tamis_key){pos, 0};
    node->begun = !end;
    node->escaped = false;
    w->node = node;
    w->value = pos;
}

/* Handles a string after an opening bracket or a comma. In an object it is a name. */
static inline bool visit_name(walk *w, const unsigned char *pos) {
    bool escaped = false;
    if (w->tracked < w->depth || !(w->kinds & 1))
        return true;
    const unsigned char *name = pos + 1, *end = near_end(w, name);
    pos = end ? end + 1 : tamis__json_string(w->text, name, &escaped);
    if (!pos)
        return false;
    tamis__json_node *node = tamis__json_member(w->json->frames[w->tracked - 1].node,
                                                (tamis_key){name, (size_t)(pos - name) - 1}, escaped);
    if (!node)
        return true;
    pos = tamis__json_pass_blanks(pos, w->text->end);
    if (pos == w->text->end || *pos != ':')
        return false;
    note_value(w, node, tamis__json_pass_blanks(pos + 1, w->text->end));
    return true;
}

/* Visits brackets and names in order. Sets *objects to the positions at which the innermost container is an
 * object. */
static inline bool walk_containers(walk *w, const blocks *b, bits met, bits *objects) {
    uint64_t words[BLOCKS];
    const bits all_bits = ~(bits){0};
    bits in_object = all_bits * (w->kinds & 1);
    words_of(met, words);
    for (unsigned filled = filled_of(met); filled; filled &= filled - 1) {
        const size_t block = 64 * (size_t)__builtin_ctz(filled);
        for (uint64_t left = words[block / 64]; left; left &= left - 1) {
            const size_t position = block + (size_t)__builtin_ctzll(left);
            const unsigned char *pos = b->pos + position;
            if (*pos == '"') {
                if (!visit_name(w, pos))
                    return false;
                continue;
            }
            if (!((*pos | 0x20) == '{' ? open_container(w, pos) : close_container(w, pos)))
                return false;
            const bits before = below(position + 1);
            in_object = w->kinds & 1 ? in_object | ~before : in_object & before;
        }
    }
    *objects = in_object;
    return true;
}

/* True if each of these closing brackets directly follows an opening one. */
static bool are_empty(const blocks *b, bits closes) {
    uint64_t words[BLOCKS];
    words_of(closes, words);
    for (size_t i = 0; i < count_of(b); i++) {
        for (; words[i]; words[i] &= words[i] - 1) {
            const unsigned char *pos = b->pos + 64 * i + __builtin_ctzll(words[i]) - 1;
            while (tamis__json_is_blank(*pos))
                pos--;
            if ((*pos | 0x20) != '{')
                return false;
        }
    }
    return true;
}

/* ---- scalars ---- */

static inline bool ends_scalar(unsigned char byte) {
    return byte <= ',' ? byte == '"' || byte == ',' || tamis__json_is_blank(byte)
                       : byte == ':' || (byte | 0x20) == '{' || (byte | 0x20) == '}';
}

/* Checks the scalars that contain these bytes. The text ends with a bracket, so each scalar has a byte after
 * it. */
static bool scalars_are_well(const walk *w, const blocks *b, bits scalar_bytes) {
    const unsigned char *passed = b->pos;
    uint64_t words[BLOCKS];
    words_of(scalar_bytes, words);
    for (size_t i = 0; i < count_of(b); i++) {
        for (; words[i]; words[i] &= words[i] - 1) {
            const unsigned char *pos = b->pos + 64 * i + __builtin_ctzll(words[i]);
            if (pos < passed)
                continue;
            while (!ends_scalar(pos[-1]))
                pos--;
            passed = tamis__json_scalar(w->text, pos);
            if (!passed || !ends_scalar(*passed))
                return false;
        }
    }
    return true;
}

/* ---- the grammar ---- */

/* Returns the first byte of the token after each token with its last byte in `lasts`. `firsts`: more
 * positions to include, already after their tokens. */
static inline bits next_token(bits lasts, bits firsts, bits blanks, bool has_blanks, bits *before,
                              unsigned *over) {
    firsts |= shift_in(lasts, before);
    if (!has_blanks)
        return firsts;
    /* Carries through blanks to the byte after them. */
    const bits passed = sum(firsts & blanks, blanks, over);
    return (firsts | passed) & ~blanks;
}

/* Returns the quotes that may begin a requested name. At the end of a block the next byte is unknown. */
static inline bits may_be_wanted(const walk *w, const byte_classes *s) {
    const bits letters = s->letters | s->backslashes | ((bits){0} + w->json->any_letter);
    return letters >> 1 | ((bits){0} + (UINT64_C(1) << 63));
}

/* Tokens outside of strings. */
typedef struct tokens {
    bits strings, begins, ends; /* strings without their closing quotes; opening quotes; closing quotes */
    bits opens, closes, colons, commas, blanks, scalars, scalar_firsts, after_scalars, may_be_wanted, inside;
} tokens;

__attribute__((always_inline)) static inline bool check_grammar(walk *w, const blocks *b, tokens t,
                                                                bool has_blanks, carry_state *h) {
    const bits none = {0};
    const bits items = next_token(t.opens | t.commas, none, t.blanks, has_blanks, &h->items, &h->over_items);
    const bits starts = items & t.begins;
    bits objects;
    if (!walk_containers(w, b, t.opens | t.closes | (starts & t.may_be_wanted), &objects))
        return false;

    /* The sum carries through the strings to their closing quotes. */
    const bits name_ends = sum(starts & objects, t.strings, &h->in_name) & ~t.strings;
    const bits named = next_token(name_ends, none, t.blanks, has_blanks, &h->name_ends, &h->over_names);
    const bits member_values = next_token(t.colons, none, t.blanks, has_blanks, &h->colons, &h->over_colons);
    const bits values = (items & ~objects) | member_values;
    const bits value_ends = (t.ends & ~name_ends) | t.closes;
    const bits ended =
        next_token(value_ends, t.after_scalars, t.blanks, has_blanks, &h->value_ends, &h->over_values);
    const bits bad = (items & objects & ~(t.begins | t.closes)) |
                     (values & ~(t.begins | t.closes | t.opens | t.scalar_firsts)) | (named ^ t.colons) |
                     (ended & ~(t.commas | t.closes));
    const bits empty = t.closes & ~ended;
    return !any(bad & t.inside) && (!any(empty) || are_empty(b, empty));
}

static inline bool pass_blocks(walk *w, const blocks *b, byte_classes s, carry_state *h) {
    bits strings;
    if (!read_strings(w, b, h, &s, &strings))
        return false;
    const bits outside = ~strings & s.inside;
    tokens t = {.strings = strings,
                .begins = s.quotes & strings,
                .ends = s.quotes & outside,
                .opens = s.opens & outside,
                .closes = s.closes & outside,
                .colons = s.colons & outside,
                .commas = s.commas & outside,
                .blanks = s.blanks,
                .may_be_wanted = may_be_wanted(w, &s),
                .inside = s.inside};
    t.scalars = outside & ~(s.quotes | s.opens | s.closes | s.colons | s.commas | s.blanks);
    const bits continuation = shift_in(t.scalars, &h->scalars);
    t.scalar_firsts = t.scalars & ~continuation;
    t.after_scalars = continuation & ~t.scalars;
    /* Plain digits are a number, unless they begin with 0. */
    const bits doubtful = (t.scalars & ~s.digits) | (t.scalar_firsts & s.zeros);
    if (any(doubtful) && !scalars_are_well(w, b, doubtful))
        return false;
    if (any(t.blanks) || h->over_items | h->over_colons | h->over_names | h->over_values)
        return check_grammar(w, b, t, true, h);
    return check_grammar(w, b, t, false, h);
}

static inline bool skim_from(tamis__json *json, const tamis__json_text *text, uint64_t (*scanned)[BLOCKS]) {
    walk w = {.json = json, .text = text, .node = json->nodes, .value = text->start, .escaped = text->start};
    carry_state h;
    h.items = h.colons = h.name_ends = h.value_ends = h.scalars = (bits){0};
    h.over_items = h.over_colons = h.over_names = h.over_values = 0;
    h.in_string = h.in_name = h.escaped = 0;
    h.odd = false;
    for (const unsigned char *pos = text->start; pos < text->end; pos += 64 * BLOCKS) {
        const blocks b = blocks_at(pos, text->end);
        uint64_t words[TAMIS__JSON_CLASSES][BLOCKS];
        if (!scanned || pos > text->start)
            classify_blocks(&b, json->first_letter, words);
        if (!pass_blocks(&w, &b, gather_classes(&b, scanned && pos == text->start ? scanned : words), &h))
            return false;
    }
    return w.depth == 0;
}

#endif
