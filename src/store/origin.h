/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_ORIGIN_H
#define TAMIS_STORE_ORIGIN_H

#include <sys/stat.h>

#include "filter/filter_int.h"
#include "store/place.h"

/*
 * The source of a filter: the file that it was read from. Another program may have replaced or changed that
 * file since then. A save must not overwrite such a file, because the filter does not contain its keys.
 */

/* Records that `filter` was read from `path`, whose metadata is `about`. TAMIS_E_NOMEM. */
TAMIS_PRIVATE_API tamis_status tamis__origin_set(tamis_filter *filter, const char *path,
                                                 const struct stat *about, tamis_error *err);

/* True if the metadata is that of the recorded file, unchanged: device, inode, size and modification time are
 * equal. */
bool tamis__origin_is(const tamis__origin *origin, const struct stat *about);

/* TAMIS_E_STALE if `place` is the filter's source and another program has replaced or changed it. */
tamis_status tamis__origin_check(const tamis_filter *filter, const tamis__place *place, tamis_error *err);

/* Updates the source after a save to `place`. Does nothing if the filter was read from another name. */
void tamis__origin_saved(tamis_filter *filter, const tamis__place *place, const struct stat *about);

#endif
