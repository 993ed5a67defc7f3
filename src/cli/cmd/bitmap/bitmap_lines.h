/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BITMAP_BITMAP_LINES_H
#define TAMIS_CLI_CMD_BITMAP_BITMAP_LINES_H

#include <stdbool.h>

#include <tamis/key.h>

#include "cli/cli.h"

/*
 * Lines of standard input, of any bytes and any length. The buffer grows to the longest line.
 *
 *     | returned lines | incomplete line, no newline | bytes not searched yet | free |
 *     0                start                         scan                     end    allocated
 *
 * Initialise with zeros.
 */
typedef struct bitmap_lines {
    char *buffer; /* malloc */
    size_t allocated;
    size_t start; /* offset of the first line not returned yet */
    size_t scan;  /* offset where the search for a newline continues */
    size_t end;   /* offset behind the bytes read */
    bool ended;   /* read() reached the end of the input */
} bitmap_lines;

/*
 * Returns the next lines without their newlines, at most `capacity`. One call returns no more lines than one
 * read() brought, so a line that arrives alone is answered at once. *count is 0 at the end of the input. The
 * caller may change the bytes; they are valid until the next call.
 */
tamis_status bitmap_lines_next(bitmap_lines *lines, tamis_key *keys, size_t capacity, size_t *count,
                               tamis_error *err);
void bitmap_lines_release(bitmap_lines *lines);

#endif
