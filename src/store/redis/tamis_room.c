/* SPDX-License-Identifier: BSD-2-Clause */

/* Layout tamis: whether a filter that is to be made can be, and what is done with one that could not. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/layout_tamis.h"

enum { INFO_MOST = 16 << 10 };

tamis_status tamis__partitions_check(const tamis_filter *filter, uint64_t blocks_each, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const uint64_t blocks = tamis__blocks_of(filter), most = TAMIS__PARTITION_BLOCKS;
    const uint64_t count = (blocks - 1) / blocks_each + 1, each = (blocks - 1) / TAMIS__PARTITIONS_MOST + 1;
    if (count <= TAMIS__PARTITIONS_MOST)
        return TAMIS_OK;
    if (each > most)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "%s: would take %" PRIu64 " bytes, more than %d Redis keys hold; expect fewer, or "
                           "ask for a larger rate",
                           at->uri->shown, filter->plan.memory, TAMIS__PARTITIONS_MOST);
    return tamis__fail(err, TAMIS_E_RANGE, 0,
                       "%s: would be in %" PRIu64 " Redis keys, and may be in %d; give partition=%" PRIu64
                       " or more",
                       at->uri->shown, count, TAMIS__PARTITIONS_MOST, (each + 1) * TAMIS__REDIS_BLOCK);
}

/* The number behind "NAME:" at the start of a line of INFO; 0 where there is none. */
static uint64_t told(const char *info, const char *name) {
    const char *at = strstr(info, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Of servers that share a filter nobody knows beforehand which gets how much of it. */
tamis_status tamis__room_check(tamis__redis_filter *at, uint64_t bytes, tamis_error *err) {
    const tamis_key words[] = {tamis__redis_word("INFO"), tamis__redis_word("memory")};
    char info[INFO_MOST + 1];
    size_t size;
    if (at->redis->slot_count > 1 || at->redis->codis)
        return TAMIS_OK;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__redis_get(at, words, 2, info, INFO_MOST, &size, &why);
    if (status == TAMIS_E_REFUSED) /* who may not ask will see */
        return TAMIS_OK;
    if (status != TAMIS_OK) {
        if (err)
            *err = why;
        return status;
    }
    info[size] = '\0';
    const uint64_t most = told(info, "\nmaxmemory:"), used = told(info, "\nused_memory:");
    const bool evicts = !strstr(info, "\nmaxmemory_policy:noeviction");
    if (most == 0 || (bytes <= most && (evicts || used <= most - bytes)))
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_REFUSED, 0,
                       "redis %s: %s: would take %" PRIu64 " bytes, and the server uses %" PRIu64
                       " of its maxmemory of %" PRIu64
                       "; raise that, free memory there, expect fewer, or ask for a larger rate",
                       at->redis->to.shown, at->uri->named, bytes, used, most);
}
