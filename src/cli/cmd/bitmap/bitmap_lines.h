/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BITMAP_BITMAP_LINES_H
#define TAMIS_CLI_CMD_BITMAP_BITMAP_LINES_H

#include <stdbool.h>

#include <tamis/key.h>

#include "cli/cli.h"

/* Lines of standard input, any bytes, of any length: one buffer that grows to the longest. Zero-initialise. */
typedef struct bitmap_lines {
    char *buffer;
    size_t allocated;
    size_t start; /* of the first line not handed out */
    size_t scan;  /* no newline stands in start..scan */
    size_t end;   /* of what was read */
    bool ended;
} bitmap_lines;

/*
 * The next lines without their newlines, at most `capacity`: as many as one read brought, so that a line that
 * arrives alone is answered alone. *count 0: the end. The bytes are the caller's to change, and good until the
 * next call.
 */
int bitmap_lines_next(bitmap_lines *lines, tamis_key *keys, size_t capacity, size_t *count, tamis_error *err);
void bitmap_lines_release(bitmap_lines *lines);

#endif
