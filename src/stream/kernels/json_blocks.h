/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_KERNELS_JSON_BLOCKS_H
#define TAMIS_STREAM_KERNELS_JSON_BLOCKS_H

/*
 * JSON by blocks of 64 bytes, without a look at each token. A block becomes words with a bit a byte, and the grammar is
 * checked on those: what may follow what depends on the token before, and on whether the innermost container is an object.
 *
 *     {"id":17, "a":[true]}         bit i is byte i
 *     .^^^..........^......         strings: from a quote to before the one that ends it
 *     .^.......                     names: strings that stand behind { or, in an object, behind a comma
 *     .....^........^......         colons = what stands behind names: nothing else may, and they may nowhere else
 *     ......^^.......^^^^..         scalars: what is neither string, sign nor blank; digits alone need no look
 *
 * Brackets are walked one by one, for there are few; so are names in containers on the way of a pointer that begin with
 * a letter that one asked for begins with, scalars that are more than digits, and \u.
 *
 * Each token but the first stands behind just one other. So all are looked at where
 *   1. behind a bracket that opens or a comma stands, in an object, a string, in an array a value;
 *   2. behind a colon a value, behind a name a colon, behind a value a comma or a bracket that closes;
 *   3. a bracket that closes is that of the innermost container, and stands behind a value or the one that opened it;
 *   4. the first token opens a container, and the last one closes it.
 *
 * Bits are those of up to BLOCKS blocks, taken at once as far as the record reaches. The file that includes this one has
 *
 *     bytes64     load, load_some (the rest of the block is blanks), equal (to a byte), within (two bytes), lower (bit 0x20
 *                 set in all)
 *     bits        with operators; bits_of (the first `count` words, the rest 0) and words_of; any; below (a place);
 *                 shift_in: each bit to the next place, the first one from what was given before; sum, with a carry;
 *                 from_odd_to_even: a running sum without carry, that is from each odd one to before the next; *odd: of all
 *                 that was given before
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/json_int.h"

enum { DEPTH_MOST = 64 /* a word of bits; deeper texts are for the scanner */ };

typedef struct walk {
    tamis__json *json;
    const tamis__json_text *text;
    uint64_t kinds;         /* of the open containers, the innermost lowest: 1: it is an object */
    size_t depth, tracked;  /* as in json.c */
    tamis__json_node *node; /* the last one that was met, and where its value begins */
    const unsigned char *value;
    const unsigned char *escaped; /* up to there escapes were looked at */
} walk;

/* See characters_are_well. */
typedef struct characters {
    bits fourth, third, second, e0, ed, f0, f4;
} characters;

/* What the blocks before leave to the next: see shift_in, sum and from_odd_to_even. */
typedef struct handed {
    bits items, colons, name_ends, value_ends, scalars;
    unsigned over_items, over_colons, over_names, over_values; /* behind one are blanks so far */
    unsigned in_string, in_name, escaped;
    bool odd;        /* there were odd bytes; then */
    characters utf8; /* is set */
} handed;

/* Up to BLOCKS of them, as far as the record goes. */
typedef struct blocks {
    const unsigned char *at;
    size_t size;
} blocks;

static inline size_t count_of(const blocks *b) {
    return BLOCKS == 1 ? 1 : (b->size + 63) / 64;
}

/* Which bytes of some blocks are what, wherever they stand. */
typedef struct signs {
    bits inside; /* the record */
    bits quotes, backslashes, blanks, odd, opens, closes, colons, commas, digits, zeros, letters;
} signs;

/* ---- bytes to bits ---- */

static inline blocks blocks_at(const unsigned char *at, const unsigned char *end) {
    const size_t left = (size_t)(end - at), size = left < 64 * BLOCKS ? left : 64 * BLOCKS;
    return (blocks){at, size};
}

static inline bytes64 load_block(const blocks *b, size_t i) {
    const unsigned char *at = b->at + 64 * i;
    return 64 * i + 64 <= b->size ? load(at) : load_some(at, b->size - 64 * i);
}

static inline bits all_equal(const blocks *b, unsigned char byte) {
    uint64_t words[BLOCKS];
    for (size_t i = 0; i < count_of(b); i++)
        words[i] = equal(load_block(b, i), byte);
    return bits_of(words, count_of(b));
}

static inline bits all_within(const blocks *b, unsigned char least, unsigned char most) {
    uint64_t words[BLOCKS];
    for (size_t i = 0; i < count_of(b); i++)
        words[i] = within(load_block(b, i), least, most);
    return bits_of(words, count_of(b));
}

/* What nearly all records need. */
enum { QUOTES, BACKSLASHES, BLANKS, ODD, OPENS, CLOSES, COLONS, COMMAS, DIGITS, ZEROS, LETTERS };

static inline void look_at(const blocks *b, unsigned char letter, uint64_t words[TAMIS__JSON_SIGNS][BLOCKS]) {
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

static inline signs signs_of(const blocks *b, uint64_t words[TAMIS__JSON_SIGNS][BLOCKS]) {
    const bits inside = below(b->size);
    return (signs){.inside = inside,
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

/* Bytes that a backslash escapes. A run of backslashes escapes each second byte from its first; runs that begin at an odd
 * place are told from others by where a sum carries to. */
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

/* Whether these escaped bytes are well. Those that are no "u" need nothing behind them. */
static bool escapes_are_well(walk *w, const blocks *b, bits escaped) {
    static const char letters[] = "\"\\/bfnrt";
    const bits us = escaped & all_equal(b, 'u');
    bits left = escaped & ~us;
    for (const char *letter = letters; *letter && any(left); letter++)
        left &= ~all_equal(b, (unsigned char)*letter);
    if (any(left))
        return false;
    uint64_t words[BLOCKS];
    words_of(us, words);
    for (size_t i = 0; i < count_of(b); i++) {
        for (; words[i]; words[i] &= words[i] - 1) {
            const unsigned char *at = b->at + 64 * i + __builtin_ctzll(words[i]) - 1;
            if (at < w->escaped)
                continue; /* the low half of a surrogate pair */
            w->escaped = tamis__json_escape(w->text, at);
            if (!w->escaped)
                return false;
        }
    }
    return true;
}

/* UTF-8 by Unicode's table 3-7: bytes that go on stand behind first ones that want them and nowhere else. */
__attribute__((noinline)) static bool characters_are_well(const blocks *b, characters *h, bool begins) {
    if (begins)
        h->fourth = h->third = h->second = h->e0 = h->ed = h->f0 = h->f4 = (bits){0};
    const bits two = all_within(b, 0xc2, 0xdf), three = all_within(b, 0xe0, 0xef);
    const bits four = all_within(b, 0xf0, 0xf4), on = all_within(b, 0x80, 0xbf);
    const bits low = all_within(b, 0x80, 0x9f), lowest = all_within(b, 0x80, 0x8f);
    /* Of two, three and four bytes all want a second, and so on: what is wanted moves on by one byte each time. */
    const bits fourth = shift_in(four, &h->fourth);
    const bits third = shift_in(fourth | three | four, &h->third);
    bits bad = shift_in(third | two | three | four, &h->second) ^ on;
    bad |= all_within(b, 0x80, 0xff) & ~(two | three | four | on);
    bad |= shift_in(all_equal(b, 0xe0), &h->e0) & low;          /* fits in two bytes */
    bad |= shift_in(all_equal(b, 0xed), &h->ed) & on & ~low;    /* a surrogate */
    bad |= shift_in(all_equal(b, 0xf0), &h->f0) & lowest;       /* fits in three */
    bad |= shift_in(all_equal(b, 0xf4), &h->f4) & on & ~lowest; /* past U+10FFFF */
    return !any(bad);
}

/* Whether what is in strings is well, and which bytes are in some. Escaped quotes are none, and what in strings is blank. */
static inline bool read_strings(walk *w, const blocks *b, handed *h, signs *s, bits *strings) {
    if (any(s->backslashes) || h->escaped) {
        const bits escaped = escaped_by(s->backslashes, &h->escaped);
        s->quotes &= ~escaped;
        if (!escapes_are_well(w, b, escaped))
            return false;
    }
    *strings = from_odd_to_even(s->quotes, &h->in_string);
    const bool odd = any(s->odd);
    if (odd || h->odd) {
        if (any(all_within(b, 0, 0x1f) & *strings) || !characters_are_well(b, &h->utf8, !h->odd))
            return false;
        s->blanks |= all_equal(b, '\t') | all_equal(b, '\n') | all_equal(b, '\r');
    }
    h->odd = odd;
    s->blanks &= ~*strings;
    return true;
}

/* ---- containers ---- */

static bool asks_for_elements(const tamis__json_node *node) {
    for (const tamis__json_node *below = node + 1; below < node->end; below = below->end)
        if (below->index != TAMIS__JSON_NO_INDEX)
            return true;
    return false;
}

static inline bool open_container(walk *w, const unsigned char *at) {
    const bool is_object = *at == '{';
    if (w->depth == DEPTH_MOST)
        return false;
    w->kinds = w->kinds << 1 | is_object;
    w->depth++;
    if (at == w->value) {
        if (!is_object && asks_for_elements(w->node))
            return false; /* they are counted by the scanner */
        w->json->frames[w->tracked++] = (tamis__json_frame){w->node, at, 0};
    }
    return true;
}

/* The last one is closed where the text ends, and not before. */
static inline bool close_container(walk *w, const unsigned char *at) {
    if ((w->kinds & 1) != (*at == '}'))
        return false;
    if (w->tracked == w->depth) {
        const tamis__json_frame *frame = &w->json->frames[--w->tracked];
        frame->node->found = (tamis_key){frame->start, (size_t)(at + 1 - frame->start)};
        frame->node->begun = frame->node->escaped = false;
    }
    w->kinds >>= 1;
    w->depth--;
    return w->depth > 0 || at + 1 == w->text->end;
}

/* The quote that ends the string from there on, if it is near and no escape stands before it; else NULL. */
static inline const unsigned char *near_end(const walk *w, const unsigned char *at) {
    const size_t left = (size_t)(w->text->end - at);
    const bytes64 bytes = left >= 64 ? load(at) : load_some(at, left);
    const uint64_t quotes = equal(bytes, '"'), stops = quotes | equal(bytes, '\\');
    return quotes & stops & -stops ? at + __builtin_ctzll(stops) : NULL;
}

/* Notes the value that begins there, of a member that is asked for. */
static inline void note_value(walk *w, tamis__json_node *node, const unsigned char *at) {
    const unsigned char *end = *at == '"' ? near_end(w, at + 1) : NULL;
    node->found = end ? (tamis_key){at + 1, (size_t)(end - at) - 1} : (tamis_key){at, 0};
    node->begun = !end;
    node->escaped = false;
    w->node = node;
    w->value = at;
}

/* The string that begins there, behind a bracket that opens or a comma: in an object it is a name. */
static inline bool meet_name(walk *w, const unsigned char *at) {
    bool escaped = false;
    if (w->tracked < w->depth || !(w->kinds & 1))
        return true;
    const unsigned char *name = at + 1, *end = near_end(w, name);
    at = end ? end + 1 : tamis__json_string(w->text, name, &escaped);
    if (!at)
        return false;
    tamis__json_node *node = tamis__json_member(w->json->frames[w->tracked - 1].node,
                                                (tamis_key){name, (size_t)(at - name) - 1}, escaped);
    if (!node)
        return true;
    at = tamis__json_pass_blanks(at, w->text->end);
    if (at == w->text->end || *at != ':')
        return false;
    note_value(w, node, tamis__json_pass_blanks(at + 1, w->text->end));
    return true;
}

/* Brackets and names in order; *objects are the places at which the innermost container is one. */
static inline bool walk_containers(walk *w, const blocks *b, bits met, bits *objects) {
    uint64_t words[BLOCKS];
    const bits all = ~(bits){0};
    bits in_object = all * (w->kinds & 1);
    words_of(met, words);
    for (unsigned filled = filled_of(met); filled; filled &= filled - 1) {
        const size_t block = 64 * (size_t)__builtin_ctz(filled);
        for (uint64_t left = words[block / 64]; left; left &= left - 1) {
            const size_t place = block + (size_t)__builtin_ctzll(left);
            const unsigned char *at = b->at + place;
            if (*at == '"') {
                if (!meet_name(w, at))
                    return false;
                continue;
            }
            if (!((*at | 0x20) == '{' ? open_container(w, at) : close_container(w, at)))
                return false;
            const bits before = below(place + 1);
            in_object = w->kinds & 1 ? in_object | ~before : in_object & before;
        }
    }
    *objects = in_object;
    return true;
}

/* Whether these brackets, which close, stand right behind one that opens. */
static bool are_empty(const blocks *b, bits closes) {
    uint64_t words[BLOCKS];
    words_of(closes, words);
    for (size_t i = 0; i < count_of(b); i++) {
        for (; words[i]; words[i] &= words[i] - 1) {
            const unsigned char *at = b->at + 64 * i + __builtin_ctzll(words[i]) - 1;
            while (tamis__json_is_blank(*at))
                at--;
            if ((*at | 0x20) != '{')
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

/* Whether the scalars that these bytes are in are well. A text ends with a bracket, so that each has something behind it. */
static bool scalars_are_well(const walk *w, const blocks *b, bits these) {
    const unsigned char *passed = b->at;
    uint64_t words[BLOCKS];
    words_of(these, words);
    for (size_t i = 0; i < count_of(b); i++) {
        for (; words[i]; words[i] &= words[i] - 1) {
            const unsigned char *at = b->at + 64 * i + __builtin_ctzll(words[i]);
            if (at < passed)
                continue;
            while (!ends_scalar(at[-1]))
                at--;
            passed = tamis__json_scalar(w->text, at);
            if (!passed || !ends_scalar(*passed))
                return false;
        }
    }
    return true;
}

/* ---- the grammar ---- */

/* The token behind each of these, of which the last bytes are given; `firsts`: further places behind some. */
static inline bits behind(bits lasts, bits firsts, bits blanks, bool has_blanks, bits *before,
                          unsigned *over) {
    firsts |= shift_in(lasts, before);
    if (!has_blanks)
        return firsts;
    const bits passed =
        sum(firsts & blanks, blanks, over); /* carries through blanks to what stands behind them */
    return (firsts | passed) & ~blanks;
}

/* Quotes that may begin a name that is asked for: at the end of a block nothing is seen of it. */
static inline bits may_be_asked(const walk *w, const signs *s) {
    const bits letters = s->letters | s->backslashes | ((bits){0} + w->json->any_letter);
    return letters >> 1 | ((bits){0} + (UINT64_C(1) << 63));
}

/* Of those that are in no string. */
typedef struct tokens {
    bits strings, begins, ends; /* of strings: all of them but the last quotes, the first, the last */
    bits opens, closes, colons, commas, blanks, scalars, scalar_firsts, behind_scalars, may_be_asked, inside;
} tokens;

__attribute__((always_inline)) static inline bool check_grammar(walk *w, const blocks *b, tokens t,
                                                                bool has_blanks, handed *h) {
    const bits none = {0};
    const bits items = behind(t.opens | t.commas, none, t.blanks, has_blanks, &h->items, &h->over_items);
    const bits starts = items & t.begins;
    bits objects;
    if (!walk_containers(w, b, t.opens | t.closes | (starts & t.may_be_asked), &objects))
        return false;

    /* The sum carries through strings to the quotes that end them. */
    const bits name_ends = sum(starts & objects, t.strings, &h->in_name) & ~t.strings;
    const bits named = behind(name_ends, none, t.blanks, has_blanks, &h->name_ends, &h->over_names);
    const bits told = behind(t.colons, none, t.blanks, has_blanks, &h->colons, &h->over_colons);
    const bits values = (items & ~objects) | told;
    const bits value_ends = (t.ends & ~name_ends) | t.closes;
    const bits ended =
        behind(value_ends, t.behind_scalars, t.blanks, has_blanks, &h->value_ends, &h->over_values);
    const bits bad = (items & objects & ~(t.begins | t.closes)) |
                     (values & ~(t.begins | t.closes | t.opens | t.scalar_firsts)) | (named ^ t.colons) |
                     (ended & ~(t.commas | t.closes));
    const bits empty = t.closes & ~ended;
    return !any(bad & t.inside) && (!any(empty) || are_empty(b, empty));
}

static inline bool pass_blocks(walk *w, const blocks *b, signs s, handed *h) {
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
                .may_be_asked = may_be_asked(w, &s),
                .inside = s.inside};
    t.scalars = outside & ~(s.quotes | s.opens | s.closes | s.colons | s.commas | s.blanks);
    const bits on = shift_in(t.scalars, &h->scalars);
    t.scalar_firsts = t.scalars & ~on;
    t.behind_scalars = on & ~t.scalars;
    /* Digits alone are a number, unless they begin with 0. */
    const bits doubtful = (t.scalars & ~s.digits) | (t.scalar_firsts & s.zeros);
    if (any(doubtful) && !scalars_are_well(w, b, doubtful))
        return false;
    if (any(t.blanks) || h->over_items | h->over_colons | h->over_names | h->over_values)
        return check_grammar(w, b, t, true, h);
    return check_grammar(w, b, t, false, h);
}

static inline bool skim_from(tamis__json *json, const tamis__json_text *text, uint64_t (*ahead)[BLOCKS]) {
    walk w = {.json = json, .text = text, .node = json->nodes, .value = text->start, .escaped = text->start};
    handed h;
    h.items = h.colons = h.name_ends = h.value_ends = h.scalars = (bits){0};
    h.over_items = h.over_colons = h.over_names = h.over_values = 0;
    h.in_string = h.in_name = h.escaped = 0;
    h.odd = false;
    for (const unsigned char *at = text->start; at < text->end; at += 64 * BLOCKS) {
        const blocks b = blocks_at(at, text->end);
        uint64_t words[TAMIS__JSON_SIGNS][BLOCKS];
        if (!ahead || at > text->start)
            look_at(&b, json->first_letter, words);
        if (!pass_blocks(&w, &b, signs_of(&b, ahead && at == text->start ? ahead : words), &h))
            return false;
    }
    return w.depth == 0;
}

#endif
