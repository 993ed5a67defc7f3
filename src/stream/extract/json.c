/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Extracting values from records that are JSON texts (RFC 8259).
 *
 * One pass checks the syntax of the whole record and notes where the requested values are. They are decoded
 * at the end, if they have escapes.
 *
 *     {"a": {"b": 1}, "a": {"c": 2}}      requested: /a/b
 *      ^     ^                            node a, and below it node b: its value is noted
 *                      ^                  a again: the last member counts, so what was noted below is cleared
 *
 * Invariants, between two tokens:
 * 1. `depth` containers are open. `levels` has one bit for each: 1 is an object.
 * 2. The outermost `tracked` of them are on the path of a requested pointer, and each has a frame. Members of
 *    deeper containers are not compared with any name. The number of frames is at most the tokens of the
 *    longest pointer plus one.
 * 3. A node's `found` is the value of the last complete member (or of the element) on its path.
 *
 * There is no recursion, so a deep text cannot exhaust the stack. Each level costs one bit.
 *
 * With AVX-512 a record is first parsed in blocks (kernels/json_blocks.h). The block parser either proves
 * that the record is valid and finds the values, or gives up. Then this scanner parses the record again. Only
 * the scanner knows errors and their position.
 *
 * docs/PERFORMANCE.md explains why this is not a library, and compares the costs.
 */
#include <string.h>

#include "base/bytes.h"
#include "stream/kernels/json_kernels.h"
#include "stream/split/bom.h"

typedef struct scan {
    tamis__json *json;
    tamis__json_text text;
    size_t depth, tracked;
    bool in_object; /* the innermost container is an object */
    bool no_memory;
} scan;

/* Skips blanks; most texts have none. Moves *pos to the next other byte, and returns true if that is
 * `sign`. */
static inline bool skip_to(const unsigned char **pos, const unsigned char *end, unsigned char sign) {
    if (*pos < end && **pos == sign)
        return true;
    *pos = tamis__json_pass_blanks(*pos, end);
    return *pos < end && **pos == sign;
}

/* ---- scalars ---- */

static inline const unsigned char *pass_digits(const unsigned char *pos, const unsigned char *end) {
    const uint64_t ones = UINT64_MAX / 255;
    for (; end - pos >= 8; pos += 8) {
        /* Digits become 0 to 9. A sum carries only out of a byte that is not a digit. */
        const uint64_t digits = tamis__load64le(pos) ^ ones * '0';
        const uint64_t non_digits = (digits | (digits + ones * (0x80 - 10))) & ones << 7;
        if (non_digits)
            return pos + __builtin_ctzll(non_digits) / 8;
    }
    while (pos < end && *pos >= '0' && *pos <= '9')
        pos++;
    return pos;
}

/* Scans at least one digit. */
static inline const unsigned char *pass_some_digits(const tamis__json_text *text, const unsigned char *pos) {
    const unsigned char *after = pass_digits(pos, text->end);
    return after > pos ? after : tamis__json_refuse(text, pos, "a digit is missing");
}

/* Scans fraction and exponent, after the digits before the point. */
static const unsigned char *pass_fraction(const tamis__json_text *text, const unsigned char *pos) {
    if (*pos == '.') {
        pos = pass_some_digits(text, pos + 1);
        if (!pos)
            return NULL;
    }
    if (pos < text->end && (*pos | 0x20) == 'e') {
        pos++;
        if (pos < text->end && (*pos == '+' || *pos == '-'))
            pos++;
        pos = pass_some_digits(text, pos);
    }
    return pos;
}

static inline const unsigned char *pass_number(const tamis__json_text *text, const unsigned char *pos) {
    const unsigned char *first = pos + (*pos == '-');
    pos = pass_some_digits(text, first);
    if (!pos)
        return NULL;
    if (*first == '0' && pos > first + 1)
        return tamis__json_refuse(text, first, "a number begins with 0");
    return pos < text->end && (*pos == '.' || (*pos | 0x20) == 'e') ? pass_fraction(text, pos) : pos;
}

static const unsigned char *pass_word(const tamis__json_text *text, const unsigned char *pos,
                                      const char *word, size_t size) {
    if ((size_t)(text->end - pos) >= size && memcmp(pos, word, size) == 0)
        return pos + size;
    return tamis__json_refuse(text, pos, "a value that JSON does not have");
}

static const unsigned char *refuse_value(const tamis__json_text *text, const unsigned char *pos) {
    if (tamis__bom_size(pos, (size_t)(text->end - pos)) > 0)
        return tamis__json_refuse(text, pos, "a byte order mark");
    if (*pos == ',' || *pos == ':' || *pos == ']' || *pos == '}')
        return tamis__json_refuse(text, pos, "a value is missing");
    return tamis__json_refuse(text, pos, "a value that JSON does not have");
}

const unsigned char *tamis__json_scalar(const tamis__json_text *text, const unsigned char *pos) {
    switch (*pos) {
    case 'n':
        return pass_word(text, pos, "null", 4);
    case 't':
        return pass_word(text, pos, "true", 4);
    case 'f':
        return pass_word(text, pos, "false", 5);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return pass_number(text, pos);
    default:
        return refuse_value(text, pos);
    }
}

/* Scans the string or scalar at `pos`, and notes it for the node unless it is null. */
static inline const unsigned char *pass_plain(const tamis__json_text *text, const unsigned char *pos,
                                              tamis__json_node *node) {
    const unsigned char *after;
    if (*pos == '"') {
        bool escaped = false;
        after = tamis__json_string(text, pos + 1, &escaped);
        if (after && node) {
            node->found = (tamis_key){pos + 1, (size_t)(after - pos) - 2};
            node->escaped = escaped;
        }
        return after;
    }
    after = tamis__json_scalar(text, pos);
    if (after && node && *pos != 'n') {
        node->found = (tamis_key){pos, (size_t)(after - pos)};
        node->escaped = false;
    }
    return after;
}

/* ---- containers ---- */

static bool grow_levels(tamis__json *json) {
    unsigned char *levels =
        tamis__array_reserve(&json->memory, json->levels, 1, json->levels_size + 1, &json->levels_size);
    if (!levels)
        return false;
    json->levels = levels;
    return true;
}

/* Opens the container at `pos`. `node` is the container's own node, or NULL. */
static bool open_container(scan *s, const unsigned char *pos, tamis__json_node *node) {
    tamis__json *json = s->json;
    if (s->depth / 8 == json->levels_size && !grow_levels(json)) {
        s->no_memory = true;
        return false;
    }
    unsigned char *byte = &json->levels[s->depth / 8];
    const unsigned char bit = (unsigned char)(1u << s->depth % 8);
    s->in_object = *pos == '{';
    *byte = (unsigned char)(s->in_object ? *byte | bit : *byte & ~bit);
    s->depth++;
    if (node)
        json->frames[s->tracked++] = (tamis__json_frame){node, pos, 0};
    return true;
}

/* Closes the innermost container, whose last byte is before `pos`. */
static void close_container(scan *s, const unsigned char *pos) {
    if (s->tracked == s->depth) {
        const tamis__json_frame *frame = &s->json->frames[--s->tracked];
        frame->node->found = (tamis_key){frame->start, (size_t)(pos - frame->start)};
        frame->node->escaped = false;
    }
    s->depth--;
    if (s->depth)
        s->in_object = s->json->levels[(s->depth - 1) / 8] >> (s->depth - 1) % 8 & 1;
}

tamis__json_node *tamis__json_member(tamis__json_node *parent, tamis_key name, bool escaped) {
    for (tamis__json_node *node = parent + 1; node < parent->end; node = node->end) {
        if (escaped ? tamis__json_spells(name, node->name) : tamis__is_same(name, node->name)) {
            for (tamis__json_node *below = node; below < node->end; below++)
                below->found = (tamis_key){NULL, 0};
            return node;
        }
    }
    return NULL;
}

/* Returns the node of the next array element, or NULL if it is not requested. */
static tamis__json_node *node_of_element(const scan *s) {
    tamis__json_frame *frame = &s->json->frames[s->tracked - 1];
    const uint64_t index = frame->index++;
    for (tamis__json_node *node = frame->node + 1; node < frame->node->end; node = node->end)
        if (node->index == index)
            return node;
    return NULL;
}

/* Scans the member name at `pos` and the colon after it, with blanks before each. */
static inline const unsigned char *pass_name(const scan *s, const unsigned char *pos,
                                             tamis__json_node **node) {
    const tamis__json_text *text = &s->text;
    bool escaped = false;
    if (!skip_to(&pos, text->end, '"'))
        return tamis__json_refuse(text, pos,
                                  pos == text->end ? "an object is not closed" : "a name is missing");
    const unsigned char *name = pos + 1;
    pos = tamis__json_string(text, name, &escaped);
    if (!pos)
        return NULL;
    *node = NULL;
    if (s->tracked == s->depth)
        *node = tamis__json_member(s->json->frames[s->tracked - 1].node,
                                   (tamis_key){name, (size_t)(pos - name) - 1}, escaped);
    return skip_to(&pos, text->end, ':') ? pos + 1 : tamis__json_refuse(text, pos, "a colon is missing");
}

/* ---- a record ---- */

/* Closes the containers that end after a value. Returns the comma after them, or the end of the outermost. */
static inline const unsigned char *close_ended(scan *s, const unsigned char *pos) {
    const tamis__json_text *text = &s->text;
    while (s->depth && !skip_to(&pos, text->end, ',')) {
        if (pos == text->end)
            return tamis__json_refuse(text, pos,
                                      s->in_object ? "an object is not closed" : "an array is not closed");
        if (*pos != (s->in_object ? '}' : ']'))
            return tamis__json_refuse(text, pos,
                                      s->in_object ? "neither a comma nor }" : "neither a comma nor ]");
        close_container(s, ++pos);
    }
    return pos;
}

/* Scans the value at `pos` with everything in it. Returns the byte after it, or NULL on an error. */
static const unsigned char *pass_value(scan *s, const unsigned char *pos) {
    const unsigned char *end = s->text.end;
    tamis__json_node *node = s->json->nodes;
    for (;;) {
        bool opened = false; /* a container that is not empty was opened */
        pos = tamis__json_pass_blanks(pos, end);
        if (pos == end)
            return tamis__json_refuse(&s->text, pos, "a value is missing");
        if (*pos == '{' || *pos == '[') {
            if (!open_container(s, pos++, node))
                return NULL;
            opened = !skip_to(&pos, end, s->in_object ? '}' : ']');
        } else {
            pos = pass_plain(&s->text, pos, node);
            if (!pos)
                return NULL;
        }
        if (!opened) {
            pos = close_ended(s, pos);
            if (!pos || !s->depth)
                return pos;
            pos++;
        }
        if (s->in_object) {
            pos = pass_name(s, pos, &node);
            if (!pos)
                return NULL;
        } else {
            node = s->tracked == s->depth ? node_of_element(s) : NULL;
        }
    }
}

static tamis_status check_and_note(tamis__json *json, const tamis__json_text *text) {
    scan s = {.json = json, .text = *text};
    const unsigned char *pos = tamis__json_pass_blanks(text->start, text->end);
    if (pos == text->end)
        return TAMIS_OK;
    pos = pass_value(&s, pos);
    if (s.no_memory)
        return TAMIS_E_NOMEM;
    if (pos)
        pos = tamis__json_pass_blanks(pos, text->end);
    if (pos && pos < text->end)
        pos = tamis__json_refuse(text, pos, "unexpected text after the value");
    return pos ? TAMIS_OK : TAMIS_E_DAMAGED;
}

/* ---- the block parser ---- */

static void clear_values(tamis__json *json) {
    for (size_t i = 0; i < json->node_count; i++)
        json->nodes[i].found = (tamis_key){NULL, 0};
}

/* Removes surrounding blanks. True if the block parser can handle such a text: it begins and ends with a
 * bracket. */
static bool trim(tamis__json_text *text) {
    text->start = tamis__json_pass_blanks(text->start, text->end);
    while (text->end > text->start && tamis__json_is_blank(text->end[-1]))
        text->end--;
    return text->start < text->end && (*text->start | 0x20) == '{' && (text->end[-1] | 0x20) == '}';
}

void tamis__json_expect_none(tamis__json *json) {
    json->scanned[0].start = json->scanned[1].start = NULL;
}

void tamis__json_expect(tamis__json *json, tamis_key record) {
    const unsigned char *start = record.data;
    tamis__json_scanned *scanned = &json->scanned[json->scanned[0].start != NULL];
    scanned->text = (tamis__json_text){start, start + record.size, NULL};
    if (!json->kernels->classify || !trim(&scanned->text))
        return;
    json->kernels->classify(json, scanned);
    scanned->start = start;
    scanned->size = record.size;
}

/* Returns the result of examining the record ahead, and marks it as used. NULL: it was not examined. */
static tamis__json_scanned *next_scanned(tamis__json *json, tamis_key record) {
    for (tamis__json_scanned *scanned = json->scanned; scanned < json->scanned + 2; scanned++) {
        if (scanned->start == record.data && scanned->size == record.size) {
            scanned->start = NULL;
            return scanned;
        }
    }
    return NULL;
}

/* Tries the block parser. True if it proved the record valid and found the values. */
static bool skim_record(tamis__json *json, tamis_key record, tamis__fault *fault) {
    tamis__json_scanned *scanned = next_scanned(json, record);
    const unsigned char *start = record.data;
    tamis__json_text text = scanned ? scanned->text : (tamis__json_text){start, start + record.size, NULL};
    text.fault = fault;
    if ((!scanned && !trim(&text)) || !json->kernels->skim(json, &text, scanned))
        return false;
    for (tamis__json_node *node = json->nodes; node < json->nodes + json->node_count; node++) {
        const unsigned char *value = node->found.data;
        if (!value || !node->begun)
            continue;
        node->found = (tamis_key){NULL, 0};
        pass_plain(&text, value, node);
    }
    return true;
}

tamis_status tamis__json_find(tamis__json *json, tamis_key record, tamis_key *values, tamis__arena *arena,
                              tamis__fault *fault) {
    const unsigned char *start = record.size ? record.data : (const void *)"";
    const tamis__json_text text = {start, start + record.size, fault};
    clear_values(json);
    if (!skim_record(json, (tamis_key){start, record.size}, fault)) {
        clear_values(json);
        const tamis_status status = check_and_note(json, &text);
        if (status != TAMIS_OK)
            return status;
    }
    for (size_t i = 0; i < json->query_count; i++) {
        const tamis__json_node *node = json->queries[i].node;
        tamis_key value = node->found;
        if (value.data && node->escaped) {
            unsigned char *bytes = tamis__arena_alloc(arena, value.size);
            if (!bytes)
                return TAMIS_E_NOMEM;
            value = (tamis_key){bytes, tamis__json_decode(value, bytes)};
            tamis__arena_trim(arena, bytes, value.size);
        }
        values[json->queries[i].position] = value;
    }
    return TAMIS_OK;
}
