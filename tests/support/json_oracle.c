/* SPDX-License-Identifier: BSD-2-Clause */
#include "support/json_oracle.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json_tree {
    char type; /* first byte of the value; 0: blanks */
    const char *start, *end;
    test_bytes string;
    test_bytes name; /* name of an object's member */
    json_tree *first, *last, *next;
};

typedef struct reading {
    const char *pos, *end;
} reading;

static json_tree *tree_new(void) {
    json_tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        abort();
    return tree;
}

void json_tree_free(json_tree *tree) {
    while (tree) {
        json_tree *next = tree->next;
        json_tree_free(tree->first);
        bytes_clear(&tree->string);
        bytes_clear(&tree->name);
        free(tree);
        tree = next;
    }
}

/* ---- characters ---- */

static bool is_utf8(const unsigned char *pos, const unsigned char *end) {
    static const uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000};
    while (pos < end) {
        uint32_t character = *pos++;
        int size = 1;
        if (character < 0x80)
            continue;
        for (size = 0; size < 8 && character << size & 0x80; size++) {
        }
        if (size < 2 || size > 4)
            return false;
        character &= 0x7fu >> size;
        for (int i = 1; i < size; i++, pos++) {
            if (pos == end || (*pos & 0xc0) != 0x80)
                return false;
            character = character << 6 | (*pos & 0x3f);
        }
        if (character < min[size] || character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff))
            return false;
    }
    return true;
}

static void add_character(test_bytes *bytes, uint32_t c) {
    if (c < 0x80)
        bytes_add(bytes, &(unsigned char){(unsigned char)c}, 1);
    else if (c < 0x800)
        bytes_add(bytes, (unsigned char[]){(unsigned char)(0xc0 | c >> 6), (unsigned char)(0x80 | (c & 63))},
                  2);
    else if (c < 0x10000)
        bytes_add(bytes,
                  (unsigned char[]){(unsigned char)(0xe0 | c >> 12), (unsigned char)(0x80 | (c >> 6 & 63)),
                                    (unsigned char)(0x80 | (c & 63))},
                  3);
    else
        bytes_add(bytes,
                  (unsigned char[]){(unsigned char)(0xf0 | c >> 18), (unsigned char)(0x80 | (c >> 12 & 63)),
                                    (unsigned char)(0x80 | (c >> 6 & 63)), (unsigned char)(0x80 | (c & 63))},
                  4);
}

/* ---- the grammar, rule by rule ---- */

static bool next_is(const reading *r, const char *any_of) {
    return r->pos < r->end && *r->pos && strchr(any_of, *r->pos);
}

static bool accept_byte(reading *r, const char *any_of) {
    const bool matches = next_is(r, any_of);
    r->pos += matches;
    return matches;
}

static void blanks(reading *r) {
    while (accept_byte(r, " \t\r\n")) {
    }
}

static bool hex4(reading *r, uint32_t *unit) {
    char digits[5] = {0};
    for (int i = 0; i < 4; i++) {
        if (!next_is(r, "0123456789abcdefABCDEF"))
            return false;
        digits[i] = *r->pos++;
    }
    *unit = (uint32_t)strtoul(digits, NULL, 16);
    return true;
}

static bool escape(reading *r, test_bytes *into) {
    uint32_t unit = 0, second = 0;
    if (accept_byte(r, "u")) {
        if (!hex4(r, &unit))
            return false;
        if (unit >= 0xdc00 && unit <= 0xdfff)
            return false;
        if (unit >= 0xd800 && unit <= 0xdbff) {
            if (!accept_byte(r, "\\") || !accept_byte(r, "u") || !hex4(r, &second) || second < 0xdc00 ||
                second > 0xdfff)
                return false;
            unit = 0x10000 + (unit - 0xd800) * 0x400 + (second - 0xdc00);
        }
        add_character(into, unit);
        return true;
    }
    if (!next_is(r, "\"\\/bfnrt"))
        return false;
    const char letter = *r->pos++;
    const char *meant = letter == 'b'   ? "\b"
                        : letter == 'f' ? "\f"
                        : letter == 'n' ? "\n"
                        : letter == 'r' ? "\r"
                        : letter == 't' ? "\t"
                                        : r->pos - 1;
    bytes_add(into, meant, 1);
    return true;
}

static bool string(reading *r, test_bytes *into) {
    if (!accept_byte(r, "\""))
        return false;
    while (r->pos < r->end && *r->pos != '"') {
        if ((unsigned char)*r->pos < 0x20)
            return false;
        if (accept_byte(r, "\\")) {
            if (!escape(r, into))
                return false;
        } else {
            bytes_add(into, r->pos++, 1);
        }
    }
    return accept_byte(r, "\"");
}

static bool digits(reading *r) {
    if (!accept_byte(r, "0123456789"))
        return false;
    while (accept_byte(r, "0123456789")) {
    }
    return true;
}

static bool number(reading *r) {
    accept_byte(r, "-");
    if (!accept_byte(r, "0") && !digits(r))
        return false;
    if (accept_byte(r, ".") && !digits(r))
        return false;
    if (!accept_byte(r, "eE"))
        return true;
    accept_byte(r, "+-");
    return digits(r);
}

static bool word(reading *r, const char *text) {
    for (; *text; text++)
        if (r->pos == r->end || *r->pos++ != *text)
            return false;
    return true;
}

static bool value(reading *r, json_tree *tree);

static bool inner(reading *r, json_tree *tree, bool named) {
    json_tree *child = tree_new();
    *(tree->last ? &tree->last->next : &tree->first) = child;
    tree->last = child;
    blanks(r);
    if (named) {
        if (!string(r, &child->name))
            return false;
        blanks(r);
        if (!accept_byte(r, ":"))
            return false;
        blanks(r);
    }
    if (!value(r, child))
        return false;
    blanks(r);
    return true;
}

static bool container(reading *r, json_tree *tree, bool named, const char *close) {
    r->pos++;
    blanks(r);
    if (accept_byte(r, close))
        return true;
    do {
        if (!inner(r, tree, named))
            return false;
    } while (accept_byte(r, ","));
    return accept_byte(r, close);
}

static bool value(reading *r, json_tree *tree) {
    if (r->pos == r->end)
        return false;
    bool well;
    tree->start = r->pos;
    tree->type = *r->pos;
    switch (tree->type) {
    case '{':
        well = container(r, tree, true, "}");
        break;
    case '[':
        well = container(r, tree, false, "]");
        break;
    case '"':
        well = string(r, &tree->string);
        break;
    case 't':
        well = word(r, "true");
        break;
    case 'f':
        well = word(r, "false");
        break;
    case 'n':
        well = word(r, "null");
        break;
    default:
        well = number(r);
    }
    tree->end = r->pos;
    return well;
}

json_tree *json_tree_read(const void *text, size_t size) {
    reading r = {text, size ? (const char *)text + size : text};
    json_tree *tree = tree_new();
    bool well = size == 0 || is_utf8(text, (const unsigned char *)text + size);
    blanks(&r);
    if (well && r.pos < r.end) {
        well = value(&r, tree);
        blanks(&r);
        well = well && r.pos == r.end;
    }
    if (well)
        return tree;
    json_tree_free(tree);
    return NULL;
}

/* ---- pointers ---- */

static bool is_name(const json_tree *tree, const char *token, size_t size) {
    test_bytes decoded = {0};
    for (size_t i = 0; i < size; i++)
        if (token[i] == '~')
            bytes_add(&decoded, token[++i] == '0' ? "~" : "/", 1);
        else
            bytes_add(&decoded, token + i, 1);
    const bool matches = bytes_equal(&decoded, &tree->name);
    bytes_clear(&decoded);
    return matches;
}

static const json_tree *find_child(const json_tree *tree, const char *token, size_t size) {
    const json_tree *found = NULL;
    unsigned long long index = 0;
    char written[24];
    for (const json_tree *child = tree->first; child; child = child->next, index++) {
        snprintf(written, sizeof written, "%llu", index);
        if (tree->type == '{' ? is_name(child, token, size)
                              : strlen(written) == size && memcmp(written, token, size) == 0)
            found = child;
    }
    return found;
}

bool json_tree_find(const json_tree *tree, const char *pointer, test_bytes *found) {
    while (tree && *pointer == '/') {
        const size_t size = strcspn(++pointer, "/");
        tree = find_child(tree, pointer, size);
        pointer += size;
    }
    bytes_clear(found);
    if (!tree || !tree->type || tree->type == 'n')
        return false;
    if (tree->type == '"')
        bytes_add(found, tree->string.data, tree->string.size);
    else
        bytes_add(found, tree->start, (size_t)(tree->end - tree->start));
    return true;
}
