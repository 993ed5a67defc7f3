/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_ORIGIN_H
#define TAMIS_STORE_ORIGIN_H

#include <sys/stat.h>

#include "filter/filter_int.h"
#include "store/place.h"

/*
 * Which file a filter was read from. What another program put under that name since then is not in the filter, so a
 * save must not take its place.
 */

/* Remembers that `filter` was read from `path` as it is in `about`. TAMIS_E_NOMEM. */
TAMIS_PRIVATE_API tamis_status tamis__origin_set(tamis_filter *filter, const char *path,
                                                 const struct stat *about, tamis_error *err);

/* Whether that is the file, unchanged as far as number, size and time tell. */
bool tamis__origin_is(const tamis__origin *origin, const struct stat *about);

/* TAMIS_E_STALE where the filter was read from the file of that name and the name stands for another one now. */
tamis_status tamis__origin_check(const tamis_filter *filter, const tamis__place *place, tamis_error *err);

/* After a save under that name: if it is the one that the filter was read from, it stands for `about` now. */
void tamis__origin_saved(tamis_filter *filter, const tamis__place *place, const struct stat *about);

#endif
