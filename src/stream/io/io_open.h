/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_IO_IO_OPEN_H
#define TAMIS_STREAM_IO_IO_OPEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "store/file/target.h"
#include "stream/io/poll_loop.h"

/* Opening inputs and outputs of a run, and the checks before that. */

/* TAMIS_E_INVALID if both outputs are the same file. Character devices such as /dev/null may be shared. */
tamis_status tamis__outputs_check_distinct(const tamis__target *a, const tamis__target *b, tamis_error *err);

/*
 * Checks that an input is readable and is not one of the `count` outputs. Regular files are opened and closed
 * again. Others are not opened, because their writers would notice. Adds the file's size to *total. For an
 * input without a size, *total becomes UINT64_MAX and stays so.
 */
tamis_status tamis__input_check(const char *path, const tamis__target *outputs, size_t count, uint64_t *total,
                                tamis_error *err);

/* Opens an input without waiting for the writer of a FIFO. *st is its metadata. */
tamis_status tamis__input_open(int *fd, struct stat *st, const char *path, const tamis__poll_loop *loop,
                               tamis_error *err);

/* During a log rotation a name may have no file for a moment. A new file may get its owner and mode a
 * moment later. So there are TAMIS__RENAME_TRIES attempts to open it, one every TAMIS__RENAME_MS. */
enum { TAMIS__RENAME_TRIES = 50, TAMIS__RENAME_MS = 20 };
/* True if opening a file may have failed because of a rotation. */
bool tamis__is_rename_error(const tamis_error *err);

/* Opens a SPECIAL file for writing, non-blocking. Waits until a FIFO has a reader. */
tamis_status tamis__output_open(int *fd, const tamis__target *target, tamis__poll_loop *loop,
                                tamis_error *err);

#endif
