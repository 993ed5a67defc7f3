/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/bitmap/bitmap_lines.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CAPACITY_MIN = 1 << 16 };

/* Moves the remaining bytes to the front. If they begin there and fill the buffer, doubles the buffer. */
static tamis_status reserve_space(bitmap_lines *lines, tamis_error *err) {
    size_t allocated = lines->allocated > 0 ? 2 * lines->allocated : CAPACITY_MIN;
    char *grown;

    if (lines->start > 0) {
        memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
        lines->scan -= lines->start;
        lines->end -= lines->start;
        lines->start = 0;
        return TAMIS_OK;
    }
    if (lines->end < lines->allocated)
        return TAMIS_OK;
    grown = realloc(lines->buffer, allocated);
    if (!grown)
        return cli_fail(err,
                        "standard input: no memory for a line of more than %zu bytes; free some, or check "
                        "what ends the lines",
                        lines->allocated);
    lines->buffer = grown;
    lines->allocated = allocated;
    return TAMIS_OK;
}

static tamis_status read_more(bitmap_lines *lines, tamis_error *err) {
    char why[80];

    for (;;) {
        ssize_t got = read(STDIN_FILENO, lines->buffer + lines->end, lines->allocated - lines->end);
        if (got >= 0) {
            lines->end += (size_t)got;
            lines->ended = got == 0;
            return TAMIS_OK;
        }
        if (errno == EAGAIN) {
            struct pollfd wait = {STDIN_FILENO, POLLIN, 0};
            poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return cli_fail(err, "standard input: %s; give keys as operands, or another input",
                            cli_errno_text(why, sizeof why, errno));
        }
    }
}

/* Removes whole lines from the front. At the end of the input the rest is a line too. Returns their
 * number. */
static size_t cut(bitmap_lines *lines, tamis_key *keys, size_t capacity) {
    size_t count = 0;

    while (count < capacity && lines->scan < lines->end) {
        char *line = lines->buffer + lines->start;
        char *newline = memchr(lines->buffer + lines->scan, '\n', lines->end - lines->scan);
        if (!newline) {
            lines->scan = lines->end;
            break;
        }
        keys[count++] = (tamis_key){line, (size_t)(newline - line)};
        lines->start = lines->scan = (size_t)(newline - lines->buffer) + 1;
    }
    if (count == 0 && lines->ended && lines->start < lines->end) {
        keys[count++] = (tamis_key){lines->buffer + lines->start, lines->end - lines->start};
        lines->start = lines->end;
    }
    return count;
}

tamis_status bitmap_lines_next(bitmap_lines *lines, tamis_key *keys, size_t capacity, size_t *count,
                               tamis_error *err) {
    while ((*count = cut(lines, keys, capacity)) == 0 && !lines->ended)
        if (reserve_space(lines, err) != TAMIS_OK || read_more(lines, err) != TAMIS_OK)
            return err->status;
    return TAMIS_OK;
}

void bitmap_lines_release(bitmap_lines *lines) {
    free(lines->buffer);
}
