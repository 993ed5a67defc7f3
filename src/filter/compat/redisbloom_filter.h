/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_REDISBLOOM_FILTER_H
#define TAMIS_FILTER_REDISBLOOM_FILTER_H

/* A filter of RedisBloom behind the handle of all filters: for lookups and reports, and cuckoo filters made
 * here for all calls. */
#include <tamis/compat/redisbloom.h>
#include <tamis/compat/redisbloom_cuckoo.h>

#include "filter/filter_int.h"

/* What the handle is for: exactly one is set. */
typedef struct tamis__redisbloom_pair {
    tamis_redisbloom *chain;
    tamis_redisbloom_cuckoo *cuckoo;
} tamis__redisbloom_pair;

/* Makes a handle over a complete filter, which becomes the handle's, also on failure. */
tamis_status tamis__redisbloom_filter_create(tamis_filter **filter, tamis__redisbloom_pair *own,
                                             const tamis_allocator *allocator, tamis_error *err);
/* Makes an empty cuckoo filter for a plan of scheme redisbloom, as tamis_filter_create. */
tamis_status tamis__redisbloom_filter_make(tamis_filter **filter, const tamis_plan *plan,
                                           const tamis_filter_options *options, tamis_error *err);
/* Returns the filters behind a handle; both are NULL for other handles. */
tamis__redisbloom_pair tamis__redisbloom_filter_of(const tamis_filter *filter);

#endif
