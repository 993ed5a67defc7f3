/* SPDX-License-Identifier: BSD-2-Clause */

/* Functions shared by the layouts whose Redis keys are bitmaps without footers: see redis_filter.h. */
#include <math.h>

#include "hash/positions.h"
#include "store/redis/filter/redis_filter.h"

void tamis__redis_locate(const tamis_filter *filter, const tamis__key_batch *key_batch, size_t i,
                         tamis__element_positions *positions) {
    const tamis_plan *plan = &filter->plan;
    positions->server = positions->key = 0;
    if (key_batch->hashes)
        tamis__positions(plan->scheme, key_batch->hashes[i].word, plan->bits, plan->probes,
                         positions->offsets);
    else
        tamis__hasher_positions(filter->hasher, &key_batch->keys[i], plan->bits, plan->probes,
                                positions->offsets);
}

tamis_status tamis__redis_estimate(const tamis_filter *filter, double filters, double bits, uint64_t key_bits,
                                   tamis_filter_info *info, tamis_error *err) {
    tamis_status status = tamis__redis_check_length(filter, err);
    if (status == TAMIS_OK)
        status = tamis__redis_count(filter, (key_bits + 7) / 8, NULL, &info->ones, err);
    if (status != TAMIS_OK)
        return status;
    const double ones = (double)info->ones / filters, probes = filter->plan.probes;
    info->cardinality = filters * tamis_bloom_cardinality(ones, bits, probes);
    info->fpr_live = pow(ones / bits, probes);
    info->memory = filter->plan.memory;
    return TAMIS_OK;
}

tamis_status tamis__redis_delete_all(tamis_filter *filter, tamis_error *err) {
    uint64_t removed;
    return tamis__redis_every_key(tamis__redis_of(filter), "DEL", &removed, err);
}
