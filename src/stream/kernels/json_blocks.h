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
 * The file that includes this one has bytes64 with load, load_some (the rest of the block is blanks), equal (to a byte),
 * within (two bytes) and lower (bit 0x20 set in all).
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

/* What a block leaves to the next: of a word in it what is shifted out. */
typedef struct handed {
    uint64_t in_string;                 /* all bits or none */
    uint64_t escapes;                   /* a backslash whose escape goes on */
    uint64_t item, value, colon, comma; /* what the next token is behind, see behind() */
    uint64_t name;                      /* the string is one */
    uint64_t scalar, zero;              /* one goes on; and it is 0 so far */
    uint64_t continued, e0, ed, f0, f4; /* of UTF-8 */
} handed;

typedef struct block {
    bytes64 bytes;
    const unsigned char *at;
    uint64_t quotes; /* but escaped ones */
    uint64_t backslashes, strings, blanks;
} block;

/* ---- strings ---- */

/* Bits from each odd one to before the next: a running sum without carry. */
static inline uint64_t from_odd_to_even(uint64_t bits) {
    for (unsigned step = 1; step < 64; step *= 2)
        bits ^= bits << step;
    return bits;
}

/* Bytes that a backslash escapes. A run of backslashes escapes each second byte from its first; runs that begin at an odd
 * place are told from others by where a sum carries to. */
static inline uint64_t escaped_by(uint64_t backslashes, uint64_t *escapes) {
    const uint64_t even = UINT64_MAX / 3;
    uint64_t runs;
    backslashes &= ~*escapes;
    const uint64_t next = backslashes << 1 | *escapes;
    *escapes = __builtin_add_overflow(backslashes & ~even & ~next, backslashes, &runs);
    return (even ^ runs << 1) & next;
}

/* Whether these escaped bytes are well. Those that are no "u" need nothing behind them. */
static bool escapes_are_well(walk *w, const block *b, uint64_t escaped) {
    static const char letters[] = "\"\\/bfnrt";
    uint64_t left = escaped & ~equal(b->bytes, 'u');
    for (const char *letter = letters; *letter && left; letter++)
        left &= ~equal(b->bytes, (unsigned char)*letter);
    if (left)
        return false;
    for (left = escaped & equal(b->bytes, 'u'); left; left &= left - 1) {
        const unsigned char *at = b->at + __builtin_ctzll(left) - 1;
        if (at < w->escaped)
            continue; /* the low half of a surrogate pair */
        w->escaped = tamis__json_escape(w->text, at);
        if (!w->escaped)
            return false;
    }
    return true;
}

/* UTF-8 by Unicode's table 3-7: bytes that go on stand behind first ones that want them and nowhere else. */
static inline bool characters_are_well(bytes64 bytes, handed *h) {
    const uint64_t two = within(bytes, 0xc2, 0xdf), three = within(bytes, 0xe0, 0xef);
    const uint64_t four = within(bytes, 0xf0, 0xf4), on = within(bytes, 0x80, 0xbf);
    const uint64_t low = within(bytes, 0x80, 0x9f), lowest = within(bytes, 0x80, 0x8f);
    const uint64_t e0 = equal(bytes, 0xe0), ed = equal(bytes, 0xed);
    const uint64_t f0 = equal(bytes, 0xf0), f4 = equal(bytes, 0xf4);
    const uint64_t first = two | three | four, second = three | four;
    uint64_t bad = (first << 1 | second << 2 | four << 3 | h->continued) ^ on;
    bad |= within(bytes, 0x80, 0xff) & ~(first | on);
    bad |= (e0 << 1 | h->e0) & low;          /* fits in two bytes */
    bad |= (ed << 1 | h->ed) & on & ~low;    /* a surrogate */
    bad |= (f0 << 1 | h->f0) & lowest;       /* fits in three */
    bad |= (f4 << 1 | h->f4) & on & ~lowest; /* past U+10FFFF */
    h->continued = first >> 63 | second >> 62 | four >> 61;
    h->e0 = e0 >> 63;
    h->ed = ed >> 63;
    h->f0 = f0 >> 63;
    h->f4 = f4 >> 63;
    return !bad;
}

/* Whether what is in strings is well, and which bytes are in some. */
static inline bool read_strings(walk *w, block *b, handed *h) {
    b->quotes = equal(b->bytes, '"');
    b->backslashes = equal(b->bytes, '\\');
    b->blanks = equal(b->bytes, ' ');
    if (b->backslashes | h->escapes) {
        const uint64_t escaped = escaped_by(b->backslashes, &h->escapes);
        b->quotes &= ~escaped;
        if (!escapes_are_well(w, b, escaped))
            return false;
    }
    b->strings = from_odd_to_even(b->quotes) ^ h->in_string;
    h->in_string = 0 - (b->strings >> 63);
    if (~within(b->bytes, 0x20, 0x7f) | h->continued) {
        if (within(b->bytes, 0, 0x1f) & b->strings)
            return false;
        b->blanks |= equal(b->bytes, '\t') | equal(b->bytes, '\n') | equal(b->bytes, '\r');
        if (!characters_are_well(b->bytes, h))
            return false;
    }
    b->blanks &= ~b->strings;
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
        frame->node->escaped = false;
    }
    w->kinds >>= 1;
    w->depth--;
    return w->depth > 0 || at + 1 == w->text->end;
}

/* The string that begins at that place, behind a bracket that opens or a comma: in an object it is a name. */
static inline bool meet_name(walk *w, const block *b, unsigned place) {
    if (w->tracked < w->depth || !(w->kinds & 1))
        return true;
    const unsigned char *name = b->at + place + 1, *at;
    const uint64_t behind = ~UINT64_C(1) << place, ends = b->quotes & behind;
    bool escaped = false;
    if (ends) {
        at = b->at + __builtin_ctzll(ends) + 1;
        escaped = b->backslashes & behind & ((ends & -ends) - 1);
    } else {
        at = tamis__json_string(w->text, name, &escaped);
        if (!at)
            return false;
    }
    tamis__json_node *node = tamis__json_member(w->json->frames[w->tracked - 1].node,
                                                (tamis_key){name, (size_t)(at - name) - 1}, escaped);
    if (!node)
        return true;
    at = tamis__json_pass_blanks(at, w->text->end);
    if (at == w->text->end || *at != ':')
        return false;
    w->value = tamis__json_pass_blanks(at + 1, w->text->end);
    w->node = node;
    node->found = (tamis_key){w->value, 0};
    return true;
}

/* Brackets and names in order; *objects are the places at which the innermost container is one. */
static inline bool walk_containers(walk *w, const block *b, uint64_t left, uint64_t *objects) {
    for (; left; left &= left - 1) {
        const unsigned place = (unsigned)__builtin_ctzll(left);
        const unsigned char *at = b->at + place;
        if (*at == '"') {
            if (!meet_name(w, b, place))
                return false;
            continue;
        }
        if (!((*at | 0x20) == '{' ? open_container(w, at) : close_container(w, at)))
            return false;
        const uint64_t behind = ~UINT64_C(1) << place;
        *objects = (*objects & ~behind) | ((0 - (w->kinds & 1)) & behind);
    }
    return true;
}

/* Whether these brackets, which close, stand right behind one that opens. */
static bool are_empty(const block *b, uint64_t closes) {
    for (; closes; closes &= closes - 1) {
        const unsigned char *at = b->at + __builtin_ctzll(closes) - 1;
        while (tamis__json_is_blank(*at))
            at--;
        if (*at != '{' && *at != '[')
            return false;
    }
    return true;
}

/* ---- scalars ---- */

static inline bool ends_scalar(unsigned char byte) {
    return byte <= ',' ? byte == '"' || byte == ',' || tamis__json_is_blank(byte)
                       : byte == ':' || (byte | 0x20) == '{' || (byte | 0x20) == '}';
}

/* Whether the scalars that these bytes are in are well. A text ends with a bracket, so that each has something behind it. */
static bool scalars_are_well(const walk *w, const block *b, uint64_t bytes) {
    while (bytes) {
        const unsigned char *at = b->at + __builtin_ctzll(bytes);
        while (!ends_scalar(at[-1]))
            at--;
        at = tamis__json_scalar(w->text, at);
        if (!at || !ends_scalar(*at))
            return false;
        const size_t passed = (size_t)(at - b->at);
        bytes = passed < 64 ? bytes & UINT64_MAX << passed : 0;
    }
    return true;
}

/* ---- the grammar ---- */

/* The token behind each of these, of which the last bytes are given; `firsts`: further places behind some. */
static inline uint64_t behind(uint64_t lasts, uint64_t firsts, uint64_t blanks, uint64_t *over) {
    uint64_t passed = 0; /* the sum carries through blanks to what stands behind them */
    bool carried = false;
    firsts |= (lasts << 1) + *over;
    if (blanks)
        carried = __builtin_add_overflow(firsts & blanks, blanks, &passed);
    *over = lasts >> 63 | carried;
    return (firsts | passed) & ~blanks;
}

typedef struct tokens {
    uint64_t begins, ends; /* quotes */
    uint64_t opens, closes, colons, commas, scalars, scalar_firsts, scalars_behind;
} tokens;

__attribute__((always_inline)) static inline bool check_grammar(walk *w, const block *b, const tokens *t,
                                                                uint64_t blanks, handed *h) {
    const tamis__json *json = w->json;
    const uint64_t items = behind(t->opens | t->commas, 0, blanks, &h->item);
    const uint64_t letters = equal(b->bytes, json->first_letter) | b->backslashes | json->any_letter;
    const uint64_t starts = items & t->begins;
    const uint64_t met = t->opens | t->closes | (starts & (letters >> 1 | UINT64_C(1) << 63));
    uint64_t objects = 0 - (w->kinds & 1);
    if (met && !walk_containers(w, b, met, &objects))
        return false;

    uint64_t name_ends; /* the sum carries through strings to the quotes that end them */
    const bool over = __builtin_add_overflow((starts & objects) + h->name, b->strings, &name_ends);
    h->name = over;
    name_ends &= ~b->strings;

    const uint64_t values = (items & ~objects) | behind(t->colons, 0, blanks, &h->value);
    const uint64_t ended = behind((t->ends & ~name_ends) | t->closes, t->scalars_behind, blanks, &h->comma);
    const uint64_t begins_or_closes = t->begins | t->closes;
    const uint64_t bad =
        (items & objects & ~begins_or_closes) | (values & ~(begins_or_closes | t->opens | t->scalar_firsts)) |
        (behind(name_ends, 0, blanks, &h->colon) ^ t->colons) | (ended & ~(t->commas | t->closes));
    return !bad && (!(t->closes & ~ended) || are_empty(b, t->closes & ~ended));
}

static inline bool pass_block(walk *w, block *b, handed *h) {
    if (!read_strings(w, b, h))
        return false;
    const bytes64 folded = lower(b->bytes);
    const uint64_t within_strings = b->strings;
    tokens t = {.begins = b->quotes & within_strings, .ends = b->quotes & ~within_strings};
    t.opens = equal(folded, '{') & ~within_strings;
    t.closes = equal(folded, '}') & ~within_strings;
    t.colons = equal(b->bytes, ':') & ~within_strings;
    t.commas = equal(b->bytes, ',') & ~within_strings;
    t.scalars = ~(within_strings | b->quotes | t.opens | t.closes | t.colons | t.commas | b->blanks);
    const uint64_t scalars_on = (t.scalars << 1) + h->scalar;
    h->scalar = t.scalars >> 63;
    t.scalar_firsts = t.scalars & ~scalars_on;
    t.scalars_behind = scalars_on & ~t.scalars;
    const uint64_t odd =
        t.scalars & (~within(b->bytes, '1', '9') & (~equal(b->bytes, '0') | t.scalar_firsts));
    if (odd && !scalars_are_well(w, b, odd))
        return false;
    return b->blanks ? check_grammar(w, b, &t, b->blanks, h) : check_grammar(w, b, &t, 0, h);
}

static bool skim(tamis__json *json, const tamis__json_text *text) {
    walk w = {.json = json, .text = text, .node = json->nodes, .value = text->start, .escaped = text->start};
    handed h = {.value = 1}; /* the first one is a value */
    block b = {.at = text->start};
    for (; b.at < text->end; b.at += 64) {
        const size_t left = (size_t)(text->end - b.at);
        b.bytes = left >= 64 ? load(b.at) : load_some(b.at, left);
        if (!pass_block(&w, &b, &h))
            return false;
    }
    return w.depth == 0;
}

#endif
