/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Requests of Redis clients: arrays of bulk strings, and lines that a person types.
 *
 *     *2\r\n  $3\r\n GET\r\n  $6\r\n item:1\r\n        GET item:1\r\n    GET "item:\x31"\r\n
 *     ^head   ^bulk           ^bulk
 *
 * 1. Any cut of the bytes into calls gives the same commands: `position`, `wanted` and `bulk` are all that a
 *    call leaves to the next one.
 * 2. Each byte is parsed once. A line without its end is the exception, and is short: a length has at most
 *    LENGTH_MAX bytes, a typed command RESP_INLINE_MAX.
 * 3. No length of the client becomes an allocation: `arguments` grows with the arguments that have come, and
 *    an argument stays where it was received.
 *
 * Words of errors are those of Redis, so that clients and their tests know them.
 */
#include "server/resp_parser.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { LENGTH_MAX = 32, ARGUMENTS_FIRST = 8 };

static resp_result refuse(resp_parser *parser, const char *why) {
    snprintf(parser->error, sizeof parser->error, "Protocol error: %s", why);
    return RESP_INVALID;
}

/* Parses the line of a length. *position is that of its first byte, "*" or "$". Afterwards it is that of the
 * next line. */
static resp_result parse_length(const char *data, size_t size, size_t *position, int64_t *length) {
    size_t i = *position + 1;
    int64_t value = 0;
    const size_t last = size - i < LENGTH_MAX ? size : i + LENGTH_MAX;
    const bool negative = i < last && data[i] == '-';

    i += negative;
    const size_t first = i;
    for (; i < last && data[i] >= '0' && data[i] <= '9'; i++) {
        value = 10 * value + (data[i] - '0');
        if (value > INT64_MAX / 100)
            return RESP_INVALID;
    }
    if (i == last)
        return last == size ? RESP_PARTIAL : RESP_INVALID;
    if (data[i] != '\r' || i == first)
        return RESP_INVALID;
    if (i + 1 == size)
        return RESP_PARTIAL;
    if (data[i + 1] != '\n')
        return RESP_INVALID;
    *position = i + 2;
    *length = negative ? -value : value;
    return RESP_COMMAND;
}

static bool reserve_argument(resp_parser *parser) {
    if (parser->count < parser->capacity)
        return true;
    tamis_key *grown =
        tamis__array_reserve(&parser->memory, parser->arguments, sizeof *grown,
                             parser->count ? parser->count + 1 : ARGUMENTS_FIRST, &parser->capacity);
    if (grown)
        parser->arguments = grown;
    return grown != NULL;
}

/* ---- typed commands ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char escaped(char c) {
    switch (c) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'a':
        return '\a';
    default:
        return c;
    }
}

/* Copies one argument, which begins at *from, to *to. Moves both past it. False: a quote has no end, or text
 * follows it. */
static bool copy_argument(const char **from, const char *last, char **to) {
    const char *in = *from;
    char *out = *to, quote = 0;

    for (; in < last && (quote || !strchr(" \t\r\n\v\f", *in) || !*in); in++) {
        if (!quote && (*in == '"' || *in == '\'')) {
            quote = *in;
        } else if (quote && *in == quote) {
            quote = 0;
            if (in + 1 < last && !strchr(" \t\r\n\v\f", in[1]))
                return false;
        } else if (quote == '"' && *in == '\\' && last - in > 3 && in[1] == 'x' && hex_digit(in[2]) >= 0 &&
                   hex_digit(in[3]) >= 0) {
            *out++ = (char)(16 * hex_digit(in[2]) + hex_digit(in[3]));
            in += 3;
        } else if (quote == '"' && *in == '\\' && last - in > 1) {
            *out++ = escaped(*++in);
        } else if (quote == '\'' && *in == '\\' && last - in > 1 && in[1] == '\'') {
            *out++ = *++in;
        } else {
            *out++ = *in;
        }
    }
    *from = in;
    *to = out;
    return !quote;
}

static bool reserve_line(resp_parser *parser, size_t size) {
    if (parser->line_size >= size)
        return true;
    char *line = tamis__alloc(&parser->memory, size, 1);
    if (!line)
        return false;
    tamis__free(&parser->memory, parser->line, parser->line_size);
    parser->line = line;
    parser->line_size = size;
    return true;
}

static resp_result parse_line(resp_parser *parser, const resp_limits *limits, const char *data, size_t size,
                              size_t *consumed) {
    const size_t visible = size < RESP_INLINE_MAX ? size : RESP_INLINE_MAX;
    const char *newline = memchr(data + parser->position, '\n', visible - parser->position);

    parser->position = visible;
    if (!newline)
        return visible < RESP_INLINE_MAX ? RESP_PARTIAL : refuse(parser, "too big inline request");
    parser->position = (size_t)(newline - data);
    if (!reserve_line(parser, (size_t)(newline - data) + 1))
        return RESP_NO_MEMORY;
    const char *from = data, *last = newline > data && newline[-1] == '\r' ? newline - 1 : newline;
    char *to = parser->line;
    for (parser->count = 0;; parser->count++) {
        while (from < last && *from && strchr(" \t\r\n\v\f", *from))
            from++;
        if (from == last)
            break;
        if (parser->count == limits->arguments)
            return refuse(parser, "invalid multibulk length");
        if (!reserve_argument(parser))
            return RESP_NO_MEMORY;
        char *first = to;
        if (!copy_argument(&from, last, &to))
            return refuse(parser, "unbalanced quotes in request");
        parser->arguments[parser->count] = (tamis_key){first, (size_t)(to - first)};
    }
    parser->position = 0;
    *consumed = (size_t)(newline - data) + 1;
    return RESP_COMMAND;
}

/* ---- arrays ---- */

static resp_result parse_head(resp_parser *parser, const resp_limits *limits, const char *data, size_t size) {
    int64_t length = 0;
    const resp_result result = parse_length(data, size, &parser->position, &length);

    if (result == RESP_INVALID || (result == RESP_COMMAND && length > (int64_t)limits->arguments))
        return refuse(parser, "invalid multibulk length");
    parser->wanted = result == RESP_COMMAND && length > 0 ? (size_t)length : 0;
    return result;
}

/* Parses the length of the next argument. */
static resp_result parse_bulk(resp_parser *parser, const resp_limits *limits, const char *data, size_t size) {
    int64_t length = 0;

    if (parser->position == size)
        return RESP_PARTIAL;
    if (data[parser->position] != '$') {
        const unsigned char byte = (unsigned char)data[parser->position];
        char why[40];
        snprintf(why, sizeof why, "expected '$', got '%c'", byte >= ' ' && byte < 0x7f ? byte : '?');
        return refuse(parser, why);
    }
    const resp_result result = parse_length(data, size, &parser->position, &length);
    if (result == RESP_PARTIAL)
        return result;
    if (result == RESP_INVALID || length < 0 || length > (int64_t)limits->bulk)
        return refuse(parser, "invalid bulk length");
    if (parser->position + (size_t)length + 2 > limits->command)
        return refuse(parser, "too big query");
    parser->bulk = (size_t)length;
    parser->has_bulk = true;
    return RESP_COMMAND;
}

/* Parses the next argument. Its offset is kept in place of its address, since `data` may move. */
static resp_result parse_argument(resp_parser *parser, const resp_limits *limits, const char *data,
                                  size_t size) {
    if (!parser->has_bulk) {
        const resp_result result = parse_bulk(parser, limits, data, size);
        if (result != RESP_COMMAND)
            return result;
    }
    if (size - parser->position < parser->bulk + 2)
        return RESP_PARTIAL;
    const char *behind = data + parser->position + parser->bulk;
    if (behind[0] != '\r' || behind[1] != '\n')
        return refuse(parser, "expected CRLF after a bulk string");
    if (!reserve_argument(parser))
        return RESP_NO_MEMORY;
    parser->arguments[parser->count++] = (tamis_key){(const void *)parser->position, parser->bulk};
    parser->position += parser->bulk + 2;
    parser->has_bulk = false;
    return RESP_COMMAND;
}

void tamis__resp_parser_release(resp_parser *parser) {
    tamis__free(&parser->memory, parser->arguments, parser->capacity * sizeof *parser->arguments);
    tamis__free(&parser->memory, parser->line, parser->line_size);
    *parser = (resp_parser){.memory = parser->memory};
}

resp_result tamis__resp_parse(resp_parser *parser, const resp_limits *limits, const char *data, size_t size,
                              size_t *consumed) {
    resp_result result = RESP_COMMAND;

    if (size == 0)
        return RESP_PARTIAL;
    if (data[0] != '*')
        return parse_line(parser, limits, data, size, consumed);
    if (parser->position == 0) {
        parser->count = 0;
        result = parse_head(parser, limits, data, size);
    }
    while (result == RESP_COMMAND && parser->count < parser->wanted)
        result = parse_argument(parser, limits, data, size);
    if (result != RESP_COMMAND)
        return result;
    for (size_t i = 0; i < parser->count; i++)
        parser->arguments[i].data = data + (size_t)parser->arguments[i].data;
    *consumed = parser->position;
    parser->position = 0;
    parser->wanted = 0;
    return RESP_COMMAND;
}
