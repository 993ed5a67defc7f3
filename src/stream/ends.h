/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_ENDS_H
#define TAMIS_STREAM_ENDS_H

#include <stdint.h>
#include <sys/stat.h>

#include "store/place.h"
#include "stream/watch.h"

/* The ends of a run: its inputs and outputs, compared, looked at and opened. */

/* TAMIS_E_INVALID if both mean one file. Devices may be shared: /dev/null is nobody's. */
tamis_status tamis__place_differ(const tamis__place *one, const tamis__place *other, tamis_error *err);

/*
 * Looks whether an input can be read and is none of the `count` outputs. A regular file is opened for it
 * and closed again, anything else would notice and is only looked at. Adds its size to *total, which
 * becomes UINT64_MAX (and stays so) for inputs without size.
 */
tamis_status tamis__input_check(const char *path, const tamis__place *outputs, size_t count, uint64_t *total,
                                tamis_error *err);

/* Opens an input without waiting for a FIFO's writer; *about is of what was opened. */
tamis_status tamis__input_open(const char *path, const tamis__watch *watch, int *fd, struct stat *about,
                               tamis_error *err);

/* Opens a SPECIAL place for writing, non-blocking; waits for a FIFO to get its reader. */
tamis_status tamis__place_open(const tamis__place *place, tamis__watch *watch, int *fd, tamis_error *err);

#endif
