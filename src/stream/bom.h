/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_BOM_H
#define TAMIS_STREAM_BOM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The byte order mark of UTF-8, which some programs put in front of a text. */

#define TAMIS__BOM "\xef\xbb\xbf"
enum { TAMIS__BOM_SIZE = 3 };

/* Whether these bytes begin with it, as far as they go. */
static inline bool tamis__bom_begins(const unsigned char *data, size_t size) {
    return memcmp(data, TAMIS__BOM, size < TAMIS__BOM_SIZE ? size : TAMIS__BOM_SIZE) == 0;
}

/* How many of them are one in front: all of it, or 0. */
static inline size_t tamis__bom_size(const unsigned char *data, size_t size) {
    return size >= TAMIS__BOM_SIZE && tamis__bom_begins(data, size) ? TAMIS__BOM_SIZE : 0;
}

#endif
