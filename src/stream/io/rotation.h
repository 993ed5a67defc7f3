/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_IO_ROTATION_H
#define TAMIS_STREAM_IO_ROTATION_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/failure.h"

typedef struct tamis__rotation_step {
    char path[PATH_MAX]; /* the next file; "": the one under the name */
    struct stat st;      /* of the next file when it had that name; it may be renamed again */
    bool is_late; /* the name has got another file meanwhile, so the answer may lack files: ask again */
    /* A compressed file whose last write is after that of `last`; "": none. It may be a log that was
     * compressed before it was read. */
    char compressed[PATH_MAX];
} tamis__rotation_step;

/*
 * Finds the file to read after `last`, a file that once had the name `name`, ordered by its st_mtim as given.
 * It is the oldest one that was rotated away since, or the file under the name. `current` is the file under
 * the name, opened before this call; NULL: the name has no file. TAMIS_E_IO if the directory, or a file in
 * it, cannot be examined.
 */
TAMIS_PRIVATE_API tamis_status tamis__rotation_next(const char *name, const struct stat *last,
                                                    const struct stat *current,
                                                    tamis__rotation_step *rotation, tamis_error *err);

/* True if log rotation makes the name `rotated` of `name`: app.log.1 of app.log. */
TAMIS_PRIVATE_API bool tamis__rotation_continues(const char *rotated, const char *name);

enum { TAMIS__ROTATION_REMARK = 400 };
/* Says that records of the compressed file may not have been read. */
TAMIS_PRIVATE_API void tamis__rotation_describe(char remark[TAMIS__ROTATION_REMARK],
                                                const tamis__rotation_step *rotation);

#endif
