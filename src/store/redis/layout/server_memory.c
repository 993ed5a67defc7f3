/* SPDX-License-Identifier: BSD-2-Clause */

/* Layout tamis: checks before a filter is made. Does it fit into the partitions allowed, and into the
 * server's memory? */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/layout/layout_tamis.h"

tamis_status tamis__partitions_check(const tamis_filter *filter, uint64_t blocks_each, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    const uint64_t blocks = tamis__blocks_of(filter->plan.bits), max = TAMIS__PARTITION_BLOCKS;
    const uint64_t count = (blocks - 1) / blocks_each + 1, each = (blocks - 1) / TAMIS__PARTITIONS_MAX + 1;
    if (count <= TAMIS__PARTITIONS_MAX)
        return TAMIS_OK;
    if (each > max)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "%s: would take %" PRIu64 " bytes, more than %d Redis keys hold; expect fewer, or "
                           "choose a larger rate",
                           rf->uri->shown, filter->plan.memory, TAMIS__PARTITIONS_MAX);
    return tamis__fail(err, TAMIS_E_RANGE, 0,
                       "%s: would be in %" PRIu64 " Redis keys, and may be in %d; give partition=%" PRIu64
                       " or more",
                       rf->uri->shown, count, TAMIS__PARTITIONS_MAX, (each + 1) * TAMIS__REDIS_BLOCK);
}

/* The number after `name` in the reply of INFO; 0 if there is no such line. */
static uint64_t read_info(const char *info, const char *name) {
    const char *found = strstr(info, name);
    return found ? strtoull(found + strlen(name), NULL, 10) : 0;
}

/* Compares with maxmemory. Skipped if several servers share the filter: their shares are not known
 * beforehand. */
tamis_status tamis__server_memory_check(const tamis__redis_filter *rf, uint64_t bytes, tamis_error *err) {
    char info[TAMIS__REDIS_INFO];
    if (rf->redis->slot_count > 1 || rf->redis->codis)
        return TAMIS_OK;
    const tamis_status status = tamis__redis_info(rf->redis, rf->uri->shown_name, "memory", info, err);
    if (status != TAMIS_OK)
        return status;
    const uint64_t max = read_info(info, "\nmaxmemory:"), used = read_info(info, "\nused_memory:");
    const bool evicts = !strstr(info, "\nmaxmemory_policy:noeviction");
    if (max == 0 || (bytes <= max && (evicts || used <= max - bytes)))
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_REFUSED, 0,
                       "redis %s: %s: would take %" PRIu64 " bytes, and the server uses %" PRIu64
                       " of its maxmemory of %" PRIu64
                       "; raise that, free memory there, expect fewer, or choose a larger rate",
                       rf->redis->endpoint.shown, rf->uri->shown_name, bytes, used, max);
}
