/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The memory of a member for a partition: the filter of committed hashes, and the overlay of the open
 * transaction.
 *
 *     lookup:  filter, then overlay        commit: overlay --> filter        abort: overlay --> nothing
 *
 * Invariants:
 *
 * 1. The filter has exactly the hashes of the committed state records below `covers` (V3, V5).
 * 2. The overlay has the hashes of the open transaction that are not in the filter.
 * 3. Without an open transaction the overlay is empty, and `next` is `to`.
 *
 * A partition that the group took away keeps its filter. It is a snapshot as good as any (V3): if the
 * partition comes back, only the state records behind `covers` are read.
 */
#include "kafka/kafka_int.h"

kafka_partition *tamis__kafka_partition(kafka_run *run, int32_t number) {
    if (number < 0 || (size_t)number >= run->partition_count)
        return NULL;
    return &run->partitions[number];
}

void tamis__kafka_partition_release(kafka_partition *partition) {
    tamis_filter_free(partition->filter);
    partition->filter = NULL;
    partition->covers = partition->to = 0;
    partition->has_chain = false;
    tamis__kafka_partition_abort(partition);
    tamis__overlay_release(&partition->overlay);
}

tamis_status tamis__kafka_partition_reset(kafka_run *run, kafka_partition *partition, tamis_error *err) {
    tamis__kafka_partition_release(partition);
    return tamis_filter_create(&partition->filter, &run->plan, &run->filter_options, err);
}

tamis_status tamis__kafka_partition_add(kafka_run *run, kafka_partition *partition, const tamis_hash *hashes,
                                        size_t count, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_status status = tamis_filter_add_hashes(partition->filter, hashes, count, NULL, NULL, &why);

    if (status == TAMIS_OK)
        return TAMIS_OK;
    return tamis__fail(err, status, why.sys_errno, "%.100s [%d]: %s", run->options.from,
                       (int)partition->number, why.text);
}

tamis_status tamis__kafka_partition_commit(kafka_run *run, kafka_partition *partition, tamis_error *err) {
    const tamis__overlay *overlay = &partition->overlay;

    if (!partition->is_open)
        return TAMIS_OK;
    /* A filter that lacks committed hashes would let their keys pass again, so the run ends. */
    if (tamis__kafka_partition_add(run, partition, overlay->hashes, overlay->count, err) != TAMIS_OK)
        return err->status;
    partition->to = partition->next;
    partition->has_chain = true;
    partition->covers = partition->covers_next;
    partition->is_open = false;
    tamis__overlay_empty(&partition->overlay);
    return TAMIS_OK;
}

void tamis__kafka_partition_abort(kafka_partition *partition) {
    tamis__overlay_empty(&partition->overlay);
    if (partition->is_open)
        partition->next = partition->to;
    partition->is_open = false;
}
