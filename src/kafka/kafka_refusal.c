/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Refusals of partitions (R in docs/KAFKA-PROTOCOL.md).
 *
 *     A5, A6 or A7 fails --> A2 again --+--> the offset has changed: another member has it; go on with A2
 *                                       `--> the offset is the same: stage KAFKA_REFUSED
 *
 * The run ends when each assigned partition is refused or has done A7. So one start reports all partitions
 * that are wrong: in remarks, and the last one in the error. It waits WAIT_MS at most for partitions whose
 * state is still being read.
 */
#include "base/memory.h"
#include "base/system.h"
#include "kafka/kafka_dedup_int.h"

enum { WAIT_MS = 3000 }; /* for other partitions, when one is refused */

static void forget(const kafka_dedup_run *run, kafka_partition *partition) {
    tamis__free(&run->memory, partition->refusal, sizeof *partition->refusal);
    partition->refusal = NULL;
}

void tamis__kafka_refusals_forget(kafka_dedup_run *run) {
    for (size_t i = 0; run->partitions && i < run->client.partition_count; i++)
        forget(run, &run->partitions[i]);
    run->refused_at = 0;
}

tamis_status tamis__kafka_refusal_store(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err) {
    if (!partition->refusal)
        partition->refusal = tamis__alloc(&run->memory, sizeof *partition->refusal, _Alignof(tamis_error));
    if (!partition->refusal)
        return tamis__fail_nomem(err, "message", sizeof *partition->refusal);
    *partition->refusal = *err;
    return TAMIS_OK;
}

bool tamis__kafka_refusal_confirm(kafka_dedup_run *run, kafka_partition *partition, int64_t offset) {
    if (!partition->refusal)
        return false;
    if (offset != partition->offset) {
        forget(run, partition);
        return false;
    }
    partition->stage = KAFKA_REFUSED;
    if (run->refused_at == 0)
        run->refused_at = tamis__now_ns();
    return true;
}

tamis_status tamis__kafka_refusals_report(kafka_dedup_run *run, tamis_error *err) {
    const tamis_error *last = NULL;

    if (run->refused_at == 0)
        return TAMIS_OK;
    const bool is_late = tamis__now_ns() - run->refused_at > (uint64_t)WAIT_MS * 1000000;
    for (size_t i = 0; i < run->client.partition_count; i++) {
        const kafka_stage stage = run->partitions[i].stage;
        if (!is_late && run->partitions[i].input->is_assigned &&
            (stage == KAFKA_OFFSET || stage == KAFKA_WATERMARKS || stage == KAFKA_STATE))
            return TAMIS_OK;
    }
    for (size_t i = 0; i < run->client.partition_count; i++) {
        const kafka_partition *partition = &run->partitions[i];
        if (!partition->input->is_assigned || partition->stage != KAFKA_REFUSED)
            continue;
        if (last)
            tamis__kafka_client_remark(&run->client, "%s", last->text);
        last = partition->refusal;
    }
    if (!last)
        return TAMIS_OK;
    *err = *last;
    return err->status;
}
