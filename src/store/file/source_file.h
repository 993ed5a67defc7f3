/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_FILE_SOURCE_FILE_H
#define TAMIS_STORE_FILE_SOURCE_FILE_H

#include <sys/stat.h>

#include "filter/filter_int.h"
#include "store/file/target.h"

/*
 * The source of a filter: the file that it was read from. Another program may have replaced or changed that
 * file since then. A save must not overwrite such a file, because the filter does not contain its keys.
 */

/* Records that `filter` was read from `path`, whose metadata is `st`. TAMIS_E_NOMEM. */
TAMIS_PRIVATE_API tamis_status tamis__source_file_set(tamis_filter *filter, const char *path,
                                                      const struct stat *st, tamis_error *err);

/* True if the metadata is that of the recorded file, unchanged: device, inode, size and modification time are
 * equal. */
bool tamis__source_file_matches(const tamis__source_file *source, const struct stat *st);

/* TAMIS_E_CHANGED if `target` is the filter's source and another program has replaced or changed it. */
tamis_status tamis__source_file_check(const tamis_filter *filter, const tamis__target *target,
                                      tamis_error *err);

/* Updates the source after a save to `target`. Does nothing if the filter was read from another name. */
void tamis__source_file_saved(tamis_filter *filter, const tamis__target *target, const struct stat *st);

#endif
