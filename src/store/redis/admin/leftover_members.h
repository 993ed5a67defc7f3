/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_ADMIN_LEFTOVER_MEMBERS_H
#define TAMIS_STORE_REDIS_ADMIN_LEFTOVER_MEMBERS_H

#include "store/redis/layout/layout_tamis.h"

/* Where leftovers are reported: arguments of tamis_redis_leftovers. */
typedef struct tamis__leftover_report {
    tamis_redis_leftover_sink sink;
    void *context;
    bool removes;
    size_t *denied; /* number of Redis keys that the user may not read; added to */
} tamis__leftover_report;

/* Reports members of families whose names match the pattern in the URI of rf. It reports them if neither a
 * hash nor a copy of a plan names their generation. Does nothing if the Redis keys are on several servers. */
tamis_status tamis__leftover_members(const tamis__redis_filter *rf, const tamis__leftover_report *report,
                                     tamis_error *err);

#endif
