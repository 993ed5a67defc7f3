/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The memory of a member for a partition: the filter of committed hashes, and the overlay of the open
 * transaction.
 *
 *     lookup:  filter, then overlay        commit: overlay --> filter        abort: overlay --> nothing
 *
 * Invariants:
 *
 * 1. The filter has exactly the hashes of the committed state records from `low` to `covers` - 1 (V3).
 * 2. The overlay has the hashes of the open transaction that are not in the filter.
 * 3. Without an open transaction the overlay is empty, `next` is `to`, and `newest_next` is `newest`.
 * 4. With a window: no later lookup can find a hash of a state record below `needed`. Such a lookup is for a
 *    time from newest - lateness on, and finds times from a window before that on.
 *
 * A partition that the group took away keeps its filter until the next assignment. Invariant 1 holds all the
 * while. If the partition comes back, only the state records from `covers` on are read.
 *
 * Windows. A key is counted at the time of its record, whatever the filter says. Two keys of one transaction
 * may have equal fingerprints. If only the first were counted, later lookups would miss the second
 * (plan.refresh does that, see plan_filter of kafka_dedup.c). Committed keys are counted in any order, since
 * state records have lost theirs. `horizons` says up to which time the keys of older state records are: one
 * for each eighth of window and lateness, about ten.
 *
 *     state records   | r0 r1 r2 | r3 r4 | r5 r6 r7 | r8 ...
 *     horizons          until 9h   12h     15h            newest: 18h
 *                     <- expired ->needed
 */
#include <inttypes.h>
#include <string.h>

#include "filter/filter_int.h"
#include "filter/window/window.h"
#include "kafka/kafka_dedup_int.h"

enum { CHUNK = 1024 }; /* hashes of a state record that are added together */

kafka_partition *tamis__kafka_partition(kafka_dedup_run *run, int32_t number) {
    if (number < 0 || (size_t)number >= run->client.partition_count)
        return NULL;
    return &run->partitions[number];
}

void tamis__kafka_partition_release(kafka_partition *partition) {
    tamis_filter_free(partition->filter);
    partition->filter = NULL;
    partition->covers = partition->to = partition->low = 0;
    partition->needed = partition->needed_in_chain = partition->bytes = 0;
    partition->horizon_count = 0;
    partition->newest = partition->newest_next = -1;
    partition->has_chain = partition->can_stay = false;
    tamis__kafka_partition_abort(partition);
    tamis__overlay_release(&partition->overlay);
}

tamis_status tamis__kafka_partition_reset(kafka_dedup_run *run, kafka_partition *partition,
                                          tamis_error *err) {
    tamis__kafka_partition_release(partition);
    return tamis_filter_create(&partition->filter, &run->plan, &run->filter_options, err);
}

uint64_t tamis__kafka_partition_keys(const kafka_dedup_run *run, const kafka_partition *partition) {
    return run->has_window ? tamis_window_entries(partition->filter) : partition->filter->added;
}

tamis_status tamis__kafka_partition_add(const kafka_dedup_run *run, kafka_partition *partition,
                                        const kafka_found *found, tamis_error *err) {
    const uint64_t keys = tamis__kafka_partition_keys(run, partition) + partition->overlay.count;

    if (keys >= run->keys.size.keys_max)
        return tamis__fail(
            err, TAMIS_E_FULL, 0,
            "%.100s [%d]: has %" PRIu64
            " keys, and its state cannot tell more apart at this rate; give a higher rate, or "
            "begin again with another group, new output topics and a larger number of expected keys",
            run->options.from, (int)partition->number, keys);
    return tamis__overlay_add(&partition->overlay, &run->memory, found->hash, found->time, err);
}

/* Adds committed hashes to the filter. Those of a state record come in any order; a key that no later lookup
 * can find is left out. */
static tamis_status add_hashes(kafka_dedup_run *run, kafka_partition *partition,
                               const tamis_timed_hashes *keys, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis__window_batch batch = {
        .hashes = keys->hashes, .times = keys->times, .count = keys->count, .in_any_order = true};
    tamis_status status = TAMIS_OK;
    size_t done;

    if (keys->count > 0 && run->has_window)
        status = tamis__window_add(partition->filter, &batch, &done, &why);
    else if (keys->count > 0)
        status = tamis_filter_add_hashes(partition->filter, keys->hashes, keys->count, NULL, NULL, &why);
    if (status == TAMIS_OK)
        return TAMIS_OK;
    return tamis__fail(err, status, why.sys_errno, "%.100s [%d]: %s", run->options.from,
                       (int)partition->number, why.text);
}

/* The first time that a lookup can find when the newest time is `newest`. */
static int64_t earliest_time(const tamis_plan *plan, int64_t newest) {
    const int64_t kept = (int64_t)(plan->window + plan->lateness), step = (int64_t)plan->step;

    return newest > kept ? (newest - kept) / step * step : 0;
}

/* Moves the newest time to `newest`, and `needed` along. Called for the last state record of a transaction
 * alone, which ends in front of `covers`. The others may have keys later than the newest time that they
 * name. */
static void advance_window(const kafka_dedup_run *run, kafka_partition *partition, int64_t newest) {
    const tamis_plan *plan = &run->plan;
    kafka_horizon *horizons = partition->horizons;
    size_t expired = 0;

    if (!run->has_window)
        return;
    partition->newest = partition->newest_next = newest;
    tamis__window_set_newest(partition->filter, newest);
    for (; expired < partition->horizon_count && horizons[expired].newest < earliest_time(plan, newest);
         expired++)
        if (partition->needed < horizons[expired].end)
            partition->needed = horizons[expired].end;
    partition->horizon_count -= expired;
    memmove(horizons, horizons + expired, partition->horizon_count * sizeof *horizons);
    if (partition->horizon_count == 0 ||
        (partition->horizon_count < TAMIS__KAFKA_HORIZONS &&
         newest - horizons[partition->horizon_count - 1].newest >= (int64_t)tamis__kafka_horizon_gap(plan)))
        horizons[partition->horizon_count++] = (kafka_horizon){newest, partition->covers};
}

tamis_status tamis__kafka_partition_commit(kafka_dedup_run *run, kafka_partition *partition,
                                           tamis_error *err) {
    const tamis__overlay *overlay = &partition->overlay;
    const tamis_timed_hashes keys = {overlay->hashes, overlay->times, overlay->count};

    if (!partition->is_open)
        return TAMIS_OK;
    /* A filter that lacks committed hashes would let their keys pass again, so the run ends. */
    if (add_hashes(run, partition, &keys, err) != TAMIS_OK)
        return err->status;
    partition->to = partition->next;
    partition->has_chain = true;
    partition->covers = partition->covers_next;
    partition->bytes = partition->bytes_next;
    partition->needed_in_chain = partition->needed;
    advance_window(run, partition, partition->newest_next);
    partition->is_open = false;
    tamis__overlay_empty(&partition->overlay);
    return TAMIS_OK;
}

tamis_status tamis__kafka_partition_restore(kafka_dedup_run *run, kafka_partition *partition,
                                            const tamis__kafka_record *record, uint64_t offset,
                                            tamis_error *err) {
    tamis_hash hashes[CHUNK];
    int64_t times[CHUNK];

    tamis__kafka_record rest = *record;
    while (rest.left > 0) {
        const size_t count = tamis__kafka_record_read(&rest, CHUNK, run->keys.hasher_id, hashes, times);
        if (add_hashes(run, partition, &(tamis_timed_hashes){hashes, times, count}, err) != TAMIS_OK)
            return err->status;
    }
    partition->has_chain = true;
    partition->to = record->to;
    partition->covers = offset + 1;
    partition->bytes = record->bytes_before + record->size;
    if (partition->needed_in_chain < record->needed)
        partition->needed_in_chain = record->needed;
    if (partition->needed < record->needed)
        partition->needed = record->needed;
    if (record->to > record->from) /* the last one of its transaction */
        advance_window(run, partition, record->newest);
    return TAMIS_OK;
}

void tamis__kafka_partition_abort(kafka_partition *partition) {
    tamis__overlay_empty(&partition->overlay);
    if (partition->is_open)
        partition->next = partition->to;
    partition->newest_next = partition->newest;
    partition->is_open = false;
}
