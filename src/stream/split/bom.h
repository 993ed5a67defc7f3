/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_SPLIT_BOM_H
#define TAMIS_STREAM_SPLIT_BOM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The byte order mark of UTF-8, which some programs write at the start of a text. */

#define TAMIS__BOM "\xef\xbb\xbf"
enum { TAMIS__BOM_SIZE = 3 };

/* True if the bytes begin with the mark, or are a prefix of it. */
static inline bool tamis__bom_begins(const unsigned char *data, size_t size) {
    return memcmp(data, TAMIS__BOM, size < TAMIS__BOM_SIZE ? size : TAMIS__BOM_SIZE) == 0;
}

/* Returns the size of a complete mark at the start: 3, or 0 if there is none. */
static inline size_t tamis__bom_size(const unsigned char *data, size_t size) {
    return size >= TAMIS__BOM_SIZE && tamis__bom_begins(data, size) ? TAMIS__BOM_SIZE : 0;
}

#endif
