/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_FILE_FILTER_FILE_H
#define TAMIS_STORE_FILE_FILTER_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "format/format.h"

/* File access for code that wraps a filter's file, such as a compression. */

/* Opens a regular file for reading. Refuses other files without waiting for them. The caller closes *fd. */
TAMIS_PRIVATE_API tamis_status tamis__file_open(int *fd, struct stat *st, const char *path, tamis_error *err);

/* The file of a filter while it is loaded. */
typedef struct tamis__filter_source {
    const char *path; /* as the caller gave it: FILE or FILE#KEY */
    const char *key;  /* KEY; NULL: none */
    int fd;           /* -1: the filter has it */
    struct stat st;
} tamis__filter_source;

/* Opens the file of file->path as tamis__file_open, and sets the other members. KEY is the rest after the
 * first # before which there is a file, if `path` itself is none. */
TAMIS_PRIVATE_API tamis_status tamis__filter_file_open(tamis__filter_source *file, tamis_error *err);

/* Writes a filter to `out` instead of format->encode. `write` calls that with an emitter of its own. */
typedef struct tamis__wrap {
    tamis_status (*write)(const void *how, const tamis_filter *filter, const tamis__format *format,
                          const tamis_allocator *memory, const tamis__emitter *out, tamis_error *err);
    const void *how;
} tamis__wrap;

/* Request to end a save early. */
typedef struct tamis__save_stop {
    int fd;               /* the save ends when it is readable; -1: none */
    const bool *given_up; /* atomic: the save ends when it is true; NULL: none */
} tamis__save_stop;

/* How a filter is saved. */
typedef struct tamis__save_options {
    tamis_format format;
    const tamis__wrap *wrap; /* NULL: encoded by the format alone */
    tamis__save_stop stop;
} tamis__save_options;

/*
 * As tamis_filter_save_as, with these options.
 * - With `wrap` the size of the file is not known beforehand. A full disk is found while writing, before the
 *   old file is touched.
 * - On the request `stop` it ends with TAMIS_E_INTERRUPTED. The old file is unchanged and no temporary file
 *   is left.
 */
TAMIS_PRIVATE_API tamis_status tamis__file_save(tamis_filter *filter, const char *path,
                                                const tamis__save_options *options, tamis_error *err);

#endif
