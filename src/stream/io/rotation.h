/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_IO_ROTATION_H
#define TAMIS_STREAM_IO_ROTATION_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/failure.h"

/*
 * Finds the file to read after `last`, a file that once had the name `name`: the oldest one that was rotated
 * away since, or the file under the name. `current` is the file under the name, opened before this call; NULL:
 * there is none. *path is "" if the file under the name is next. TAMIS_E_IO if the directory cannot be read.
 */
TAMIS_PRIVATE_API tamis_status tamis__rotation_next(const char *name, const struct stat *last,
                                                    const struct stat *current, char path[PATH_MAX],
                                                    tamis_error *err);

#endif
