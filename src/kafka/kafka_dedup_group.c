/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A1 and N: the group gives partitions and takes them away. Also the offsets from which the consumer reads
 * them.
 *
 * kafka_consumer.c has the picture. Here A is the restore (A2 to A7). N commits, or aborts if the partitions
 * are lost. If the commit of N fails, the transaction is aborted. Its records then come to the next owner.
 *
 * Between ASSIGN and REVOKE the consumer gets its partitions once (is_reading). To go back after an abort it
 * seeks in those that it has delivered too much of. A second assignment instead would be simpler, but
 * librdkafka 2.0 ends the process by an assertion if a partition is removed from the assignment while it is
 * still being stopped. Seeking marks what lies in its queues as outdated.
 */
#include <inttypes.h>

#include "base/memory.h"
#include "base/system.h"
#include "kafka/kafka_dedup_int.h"

enum { SEEK_MS = 5000 };

/* A1. Partitions that went to another member lose their filter. */
static void assign(kafka_dedup_run *run, const rd_kafka_topic_partition_list_t *partitions) {
    kafka_client *client = &run->client;
    const int32_t added = tamis__kafka_client_store_assignment(client, partitions);

    if (added >= 0 && run->is_stateless)
        client->stopped = tamis__fail(&client->stop_error, TAMIS_E_CHANGED, 0,
                                      "%s: has a new partition %d; start the run again, and it is copied too",
                                      run->options.from, (int)added);
    else if (added >= 0)
        client->stopped = tamis__fail(
            &client->stop_error, TAMIS_E_MISMATCH, 0,
            "%s: has a new partition %d, so keys may be in other partitions now; begin again with "
            "another group and new output topics",
            run->options.from, (int)added);
    for (size_t i = 0; i < client->partition_count; i++)
        if (!client->inputs[i].is_assigned)
            tamis__kafka_partition_release(&run->partitions[i]);
    if (run->membership)
        rd_kafka_consumer_group_metadata_destroy(run->membership);
    run->membership = rd_kafka_consumer_group_metadata(client->consumer);
    run->committed.assignments++;
}

/* N. */
static void revoke(kafka_dedup_run *run) {
    kafka_outcome outcome = KAFKA_DONE;
    tamis_error *err = &run->client.stop_error;

    if (rd_kafka_assignment_lost(run->client.consumer)) {
        outcome = KAFKA_ABORT;
    } else if (run->client.phase == KAFKA_RUNNING && !run->needs_producer) {
        outcome = tamis__kafka_dedup_answer(run, err);
        if (outcome == KAFKA_DONE || outcome == KAFKA_FAILED) {
            /* A record that ends the run, such as a malformed one, comes behind answered ones. */
            const tamis_error why = *err;
            const kafka_outcome committed = tamis__kafka_dedup_commit(run, err);
            if (outcome == KAFKA_FAILED && committed == KAFKA_DONE)
                *err = why;
            else
                outcome = committed;
        }
    }
    tamis__kafka_dedup_drop_batch(run);
    tamis__kafka_client_forget_assignment(&run->client);
    if (tamis__kafka_dedup_apply(run, outcome, err) != TAMIS_OK)
        run->client.stopped = err->status;
}

void tamis__kafka_dedup_on_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t code,
                                     rd_kafka_topic_partition_list_t *partitions, void *context) {
    kafka_dedup_run *run = context;

    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        assign(run, partitions);
        return;
    }
    revoke(run);
    rd_kafka_assign(consumer, NULL);
}

static tamis_status start_reading(kafka_dedup_run *run, tamis_error *err) {
    rd_kafka_topic_partition_list_t *list = tamis__kafka_client_list_assigned(&run->client);

    for (int i = 0; i < list->cnt; i++)
        list->elems[i].offset = (int64_t)run->partitions[list->elems[i].partition].next;
    return tamis__kafka_client_start_reading(&run->client, list, err);
}

/* Goes back, or forward, to `next`. */
static tamis_status seek_partition(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err) {
    rd_kafka_resp_err_t code;

    do
        code = rd_kafka_seek(run->from, partition->number, (int64_t)partition->next, SEEK_MS);
    while (code == RD_KAFKA_RESP_ERR__TIMED_OUT && !tamis__kafka_client_must_stop(&run->client));
    /* It is being stopped, or has been: it delivers nothing any more, and the next poll says why. */
    if (code == RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS || code == RD_KAFKA_RESP_ERR__STATE)
        code = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return tamis__kafka_client_fail(&run->client, run->options.from, code, err);
    partition->input->polled = partition->input->position = partition->next;
    return TAMIS_OK;
}

tamis_status tamis__kafka_dedup_seek(kafka_dedup_run *run, tamis_error *err) {
    if (!run->client.is_reading)
        return start_reading(run, err);
    for (size_t i = 0; i < run->client.partition_count; i++) {
        kafka_partition *partition = &run->partitions[i];
        /* A partition that has delivered nothing may not be started yet, and cannot seek. It begins at or
         * before `next`, and records before `next` are skipped. */
        if (partition->input->is_assigned && partition->input->is_started &&
            partition->input->polled != partition->next && seek_partition(run, partition, err) != TAMIS_OK)
            return err->status;
        if (partition->input->position < partition->next)
            partition->input->position = partition->next;
    }
    return TAMIS_OK;
}
