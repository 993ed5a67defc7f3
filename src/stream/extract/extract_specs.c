/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Parsing the texts of key parts, "field:3" or "csv:NAME". tamis/experimental/extract.h describes the forms.
 *
 *     text     csv:"first ""x"""          bytes:5-8               json:/a/b
 *              |   |                      |     | |               |    |
 *     kind     CSV |                      BYTES | |               JSON |
 *     rest         "first ""x"""                5-8                    /a/b
 *     name         first "x"              from: 4; to: 8
 *
 * A text is split at its first colon. The word before it is the kind, and all behind it belongs to that kind,
 * further colons included. Only `line` has no colon.
 *
 *     kind     what is stored                    what is checked here
 *     ------   -------------------------------   --------------------------------------
 *     line     nothing
 *     field    from: number, from 1              a number and nothing behind it
 *     bytes    from: first byte, from 0          two numbers from 1, in order;
 *              to: end, or SIZE_MAX              the second may be left out
 *     csv      from: number, from 1; or name     a number, a name, or a quoted name
 *     json     rest: the pointer                 nothing: tamis__json_create parses it
 *     regex    rest: the pattern                 not empty; PCRE2 parses it
 *
 * Columns by name or by number. A text of digits is a number, so a column that is named "7" in the header
 * needs quotes: csv:"7". Quotes are also required where the eye, a shell or a list of names could take the
 * text for something else. That is so with a comma, a quote, or blanks at an end. The same rule decides in
 * extract.c whether a message lists a name with quotes, so a name copied from a message is always accepted.
 *
 * Invariants:
 * 1. Numbers count from 1, and 0 stands for "no number": read_number returns it for a missing or a too large
 *    one. So every range check is one comparison with 0.
 * 2. No text is copied, except the name of a column. It is shorter than its text, so `name_buffer` cannot
 *    overflow.
 * 3. Each message quotes the whole text and says what to write instead.
 * 4. `name.data` is NULL unless the part names a column. `from` then means nothing: the header decides.
 */
#include "stream/extract/extract_int.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "store/file/file_error.h"

tamis_status tamis__key_part_fail(tamis_error *err, const tamis__key_part *part, const char *format, ...) {
    char why[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    static const char *const names[TAMIS__ROLES] = {"key", "time", "source", "position"};
    return tamis__fail(err, TAMIS_E_INVALID, 0, "%s '%s': %s", names[part->role],
                       tamis__show(part->text).text, why);
}

/* ---- numbers ---- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Parses the number at *text and moves *text after it. Returns 0, which is never valid, if there is none or
 * it is too large. */
static size_t read_number(const char **text) {
    size_t value = 0;
    bool fits = true;
    for (; is_digit(**text); (*text)++) {
        const size_t digit = (size_t)(**text - '0');
        fits = fits && value <= (SIZE_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    return fits ? value : 0;
}

static tamis_status parse_field(tamis__key_part *part, tamis_error *err) {
    const char *pos = part->rest;
    part->from = read_number(&pos);
    if (part->from == 0 || *pos)
        return tamis__key_part_fail(
            err, part, "fields are numbered from 1 to %zu; write field:3 for the third", SIZE_MAX);
    return TAMIS_OK;
}

static tamis_status parse_bytes(tamis__key_part *part, tamis_error *err) {
    const char *pos = part->rest;
    const size_t from = read_number(&pos);
    const bool has_dash = *pos == '-';
    pos += has_dash;
    part->to = has_dash && !*pos ? SIZE_MAX : read_number(&pos);
    if (from == 0 || !has_dash || part->to == 0 || *pos)
        return tamis__key_part_fail(err, part,
                                    "bytes are from one number to another, counted from 1 to %zu; "
                                    "write bytes:5-8 for four of them, bytes:5- for all from the fifth on",
                                    SIZE_MAX);
    if (part->to < from)
        return tamis__key_part_fail(err, part, "its last byte is before its first; write bytes:%zu-%zu",
                                    part->to, from);
    part->from = from - 1;
    return TAMIS_OK;
}

/* ---- columns ---- */

static tamis_status parse_quoted(tamis__key_part *part, char *name_buffer, tamis_error *err) {
    const char *pos = part->rest + 1;
    char *to = name_buffer;
    for (; *pos && (*pos != '"' || pos[1] == '"'); pos++) {
        pos += *pos == '"';
        *to++ = *pos;
    }
    if (!*pos)
        return tamis__key_part_fail(
            err, part, "the name's quotes are not closed; end it with one, and double those in it");
    if (pos[1])
        return tamis__key_part_fail(
            err, part, "unexpected text after the closing quote; double quotes that are in the name");
    part->name = (tamis_key){name_buffer, (size_t)(to - name_buffer)};
    return TAMIS_OK;
}

static bool is_number(tamis_key name) {
    const char *bytes = name.data;
    size_t i = 0;
    while (i < name.size && is_digit(bytes[i]))
        i++;
    return i == name.size;
}

bool tamis__key_part_is_quoted(tamis_key name) {
    const unsigned char *bytes = name.data;
    return is_number(name) || tamis__is_blank(bytes[0]) || tamis__is_blank(bytes[name.size - 1]) ||
           memchr(bytes, ',', name.size) || memchr(bytes, '"', name.size);
}

static tamis_status parse_csv(tamis__key_part *part, char *name_buffer, tamis_error *err) {
    const char *pos = part->rest;
    const size_t size = strlen(pos);
    if (size == 0)
        return tamis__key_part_fail(err, part,
                                    "it names no column; write csv:NAME, or csv:N to count from 1");
    if (*pos == '"')
        return parse_quoted(part, name_buffer, err);
    part->from = read_number(&pos);
    if (!*pos) {
        if (part->from == 0)
            return tamis__key_part_fail(
                err, part, "columns are numbered from 1 to %zu; quote a name of digits: csv:\"%s\"", SIZE_MAX,
                tamis__show(part->rest).text);
        return TAMIS_OK;
    }
    pos = part->rest;
    if (tamis__key_part_is_quoted((tamis_key){pos, size}))
        return tamis__key_part_fail(err, part,
                                    "a name with a comma, a quote or blanks at its ends is quoted; "
                                    "write csv:\"NAME\", with quotes in it doubled");
    memcpy(name_buffer, pos, size);
    part->name = (tamis_key){name_buffer, size};
    return TAMIS_OK;
}

/* ---- all kinds ---- */

static const struct {
    const char *name;
    tamis__key_part_kind kind;
} kinds[] = {
    {"field", TAMIS__KEY_PART_FIELD}, {"bytes", TAMIS__KEY_PART_BYTES}, {"csv", TAMIS__KEY_PART_CSV},
    {"json", TAMIS__KEY_PART_JSON},   {"regex", TAMIS__KEY_PART_REGEX},
};

/* Finds the kind before the colon. A text without a colon must be "line". */
static bool find_kind(tamis__key_part *part) {
    const char *colon = strchr(part->text, ':');
    part->kind = TAMIS__KEY_PART_LINE;
    if (!colon)
        return strcmp(part->text, "line") == 0;
    part->rest = colon + 1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        part->kind = kinds[i].kind;
        if (strlen(kinds[i].name) == (size_t)(colon - part->text) &&
            memcmp(kinds[i].name, part->text, (size_t)(colon - part->text)) == 0)
            return true;
    }
    return false;
}

tamis_status tamis__key_part_parse(tamis__key_part *part, const char *text, tamis__key_part_role role,
                                   char *name_buffer, tamis_error *err) {
    *part = (tamis__key_part){.text = text, .role = role};
    if (!find_kind(part))
        return tamis__key_part_fail(
            err, part,
            "not one of the forms; write line, field:N, bytes:FROM-TO, csv:N, csv:NAME, "
            "json:/POINTER or regex:PATTERN");
    switch (part->kind) {
    case TAMIS__KEY_PART_FIELD:
        return parse_field(part, err);
    case TAMIS__KEY_PART_BYTES:
        return parse_bytes(part, err);
    case TAMIS__KEY_PART_CSV:
        return parse_csv(part, name_buffer, err);
    case TAMIS__KEY_PART_REGEX:
        if (!*part->rest)
            return tamis__key_part_fail(err, part, "it has no expression; write regex:PATTERN");
        return TAMIS_OK;
    default: /* tamis__json_create checks pointers */
        return TAMIS_OK;
    }
}
