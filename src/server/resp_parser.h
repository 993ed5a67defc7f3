/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVER_RESP_PARSER_H
#define TAMIS_SERVER_RESP_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>

/* Requests of Redis clients (https://redis.io/docs/latest/develop/reference/protocol-spec/). */

enum { RESP_INLINE_MAX = 64 << 10 }; /* bytes of a command that is typed as a line */

typedef struct resp_limits {
    size_t arguments; /* of one command */
    size_t bulk;      /* bytes of one argument */
    size_t command;   /* bytes of one command as it is sent */
} resp_limits;

typedef enum resp_result {
    RESP_COMMAND,  /* a command: arguments[0] to arguments[count - 1]; an empty line has none */
    RESP_PARTIAL,  /* more bytes are needed */
    RESP_INVALID,  /* not the protocol: `error` is the reply, after which the connection is closed */
    RESP_NO_MEMORY /* the same bytes may be parsed again */
} resp_result;

/* State of one connection. Initialised with an allocator that was resolved, and zeros. */
typedef struct resp_parser {
    tamis_allocator memory;
    tamis_key *arguments; /* of a RESP_COMMAND: they point into `data`, or into `line` */
    size_t count, capacity;
    size_t position;  /* bytes of `data` that are parsed */
    size_t wanted;    /* number of arguments; 0: the head of the command is not parsed yet */
    size_t bulk;      /* bytes of the next argument, if has_bulk */
    bool has_bulk;    /* the length of the next argument is parsed */
    char *line;       /* arguments of a command that is typed as a line */
    size_t line_size; /* bytes of `line` that are allocated */
    char error[80];   /* of RESP_INVALID, without "-ERR " */
} resp_parser;

void tamis__resp_parser_release(resp_parser *parser);

/*
 * Parses one command. `data` begins with the first byte of the command. After RESP_PARTIAL, call it again
 * with the same bytes and more, at any address. After RESP_COMMAND, *consumed is the length of the command,
 * and the next one begins there. The arguments are valid until the next call, and as long as `data`.
 */
resp_result tamis__resp_parse(resp_parser *parser, const resp_limits *limits, const char *data, size_t size,
                              size_t *consumed);

#endif
