/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_FILTER_FILE_H
#define TAMIS_STORE_FILTER_FILE_H

#include <sys/stat.h>

#include "base/memory.h"
#include "format/format.h"

/* What lies between a filter and its file, for who puts something of his own between the two. */

/* Opens a regular file to be read; nothing else is, and none is waited for. *fd is the caller's. */
TAMIS_PRIVATE_API tamis_status tamis__file_open(const char *path, int *fd, struct stat *about,
                                                tamis_error *err);

/* Up to `size` bytes of its begin, *got being less only where it ends. The descriptor stays where it is. */
TAMIS_PRIVATE_API tamis_status tamis__file_read(int fd, const char *path, uint8_t *into, size_t size,
                                                size_t *got, tamis_error *err);

/* Writes a filter to `out` in the place of format->encode, which it calls with an emitter of its own. */
typedef struct tamis__wrap {
    tamis_status (*write)(const void *how, const tamis_filter *filter, const tamis__format *format,
                          const tamis_allocator *memory, const tamis__emitter *out, tamis_error *err);
    const void *how;
} tamis__wrap;

/* As tamis_filter_save_as, through `wrap` (NULL: as the format has it). How many bytes that will be is not known
 * beforehand: a full disk is found by writing, still before the old file is touched. As soon as `stop_fd` (-1: none) can be
 * read it ends with TAMIS_E_INTERRUPTED, the old file being there and nothing beside it. */
TAMIS_PRIVATE_API tamis_status tamis__file_save(tamis_filter *filter, const char *path, tamis_format format,
                                                const tamis__wrap *wrap, int stop_fd, tamis_error *err);

#endif
