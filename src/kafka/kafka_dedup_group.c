/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A1 and N: the group gives partitions and takes them away. Also the offsets from which the consumer reads
 * them.
 *
 * kafka_consumer.c has the picture. Here A is the restore (A2 to A7). N commits, or aborts if the partitions
 * are lost. If the commit of N fails, the transaction is aborted. Its records then come to the next owner.
 *
 *     ASSIGN --> no partitions --> first ones are ready: all partitions, the others paused
 *                                  another one is ready: seek in it, resume it
 *
 * Between ASSIGN and REVOKE the consumer gets its partitions once (is_reading). To go back after an abort it
 * seeks in those that it has delivered too much of. A second assignment instead would be simpler. But
 * librdkafka 2.0 ends the process by an assertion if a partition is removed from the assignment while it is
 * still being stopped. Seeking marks what lies in its queues as outdated.
 *
 * A pause belongs to the consumer and not to the assignment. So it is set before the consumer gets the
 * partition, and nothing of it is fetched. To resume a partition that is not paused would lose what lies in
 * the queues of librdkafka 2.0: `is_paused` is exact.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "kafka/kafka_dedup_int.h"

enum { SEEK_MS = 5000 };

/* The group has expelled this member. It may be in the group again. */
static void note_expelled(kafka_dedup_run *run) {
    for (size_t i = 0; i < run->client.partition_count; i++) {
        kafka_partition *partition = &run->partitions[i];
        partition->can_stay = false;
        if (partition->stage == KAFKA_JOINED)
            partition->stage = KAFKA_IDLE;
    }
}

/* A1 for a partition. One that went to another member loses its filter, unless this member is a standby. */
static void assign_partition(kafka_dedup_run *run, kafka_partition *partition) {
    partition->is_merge_refused = false;
    if (partition->input->is_assigned) {
        tamis__kafka_begin_restore(partition);
        partition->input->stop_at = UINT64_MAX;
    } else if (run->options.standby) {
        partition->can_stay = false;
        partition->stage = partition->is_reading_state ? KAFKA_STATE : KAFKA_WATERMARKS;
    } else {
        tamis__kafka_dedup_stop_state(run, partition);
        tamis__kafka_partition_release(partition);
        partition->stage = KAFKA_IDLE;
    }
}

/* Stores group metadata and member id. The metadata come first: they have an id if the member has one after
 * that. */
static void store_membership(kafka_dedup_run *run) {
    kafka_client *client = &run->client;

    if (run->membership)
        rd_kafka_consumer_group_metadata_destroy(run->membership);
    run->membership = rd_kafka_consumer_group_metadata(client->consumer);
    char *id = rd_kafka_memberid(client->consumer);
    /* Metadata that name no member are those of old clients: the brokers take any offset with them (K3). */
    client->must_join = !id || id[0] == '\0';
    /* The group may expel a member that has no partitions just then, which librdkafka does not report. */
    if (!id || !run->member_id || strcmp(id, run->member_id) != 0)
        note_expelled(run);
    free(run->member_id);
    run->member_id = id ? strdup(id) : NULL;
    if (id)
        rd_kafka_mem_free(client->consumer, id);
}

/* A1. */
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
    client->phase = KAFKA_RUNNING;
    store_membership(run);
    for (size_t i = 0; i < client->partition_count; i++)
        assign_partition(run, &run->partitions[i]);
    tamis__kafka_refusals_forget(run);
    run->restored = run->offsets_at = run->watermarks_at = 0;
    run->assigned_at = run->restore_progress_at = tamis__now_ns();
    run->has_remarked_restore = run->has_remarked_part = run->has_remarked_joined =
        run->has_remarked_standby = false;
    run->committed.assignments++;
}

/* N. */
static void revoke(kafka_dedup_run *run) {
    kafka_outcome outcome = KAFKA_DONE;
    tamis_error *err = &run->client.stop_error;

    if (rd_kafka_assignment_lost(run->client.consumer)) {
        outcome = KAFKA_ABORT;
        note_expelled(run);
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

/* ---- from where the consumer reads ---- */

/* Pauses a partition, or resumes it. False: the consumer does not know it yet. */
static bool set_paused(kafka_dedup_run *run, kafka_partition *partition, bool is_paused) {
    rd_kafka_topic_partition_list_t *list;

    if (partition->input->is_paused == is_paused)
        return true;
    list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, run->options.from, partition->number);
    rd_kafka_resp_err_t code = is_paused ? rd_kafka_pause_partitions(run->client.consumer, list)
                                         : rd_kafka_resume_partitions(run->client.consumer, list);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = list->elems[0].err;
    rd_kafka_topic_partition_list_destroy(list);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        partition->input->is_paused = is_paused;
    return code == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* The consumer gets all assigned partitions. It fetches nothing of paused ones, so their offset is any. */
static tamis_status start_reading(kafka_dedup_run *run, tamis_error *err) {
    kafka_client *client = &run->client;

    for (size_t i = 0; i < client->partition_count; i++)
        if (client->inputs[i].is_assigned &&
            !set_paused(run, &run->partitions[i], run->partitions[i].stage != KAFKA_READY))
            return TAMIS_OK; /* the next call tries again */
    rd_kafka_topic_partition_list_t *list = tamis__kafka_client_list_assigned(client);
    for (int i = 0; i < list->cnt; i++) {
        kafka_partition *partition = &run->partitions[list->elems[i].partition];
        const bool is_ready = partition->stage == KAFKA_READY;
        list->elems[i].offset = is_ready ? (int64_t)partition->next : 0;
        partition->stage = is_ready ? KAFKA_JOINED : partition->stage;
    }
    return tamis__kafka_client_start_reading(client, list, err);
}

/* Makes the consumer deliver the records of a partition from `next` on. */
static rd_kafka_resp_err_t seek_partition(kafka_dedup_run *run, kafka_partition *partition) {
    const rd_kafka_resp_err_t code =
        rd_kafka_seek(run->from, partition->number, (int64_t)partition->next, SEEK_MS);

    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        partition->input->polled = partition->input->position = partition->next;
    return code;
}

/* True if a partition cannot seek now: it is not started yet, or it is being stopped. */
static bool is_not_started(rd_kafka_resp_err_t code) {
    return code == RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS || code == RD_KAFKA_RESP_ERR__STATE;
}

/* Goes back, or forward, to `next`. */
static tamis_status return_to_next(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err) {
    rd_kafka_resp_err_t code;

    do
        code = seek_partition(run, partition);
    while (code == RD_KAFKA_RESP_ERR__TIMED_OUT && !tamis__kafka_client_must_stop(&run->client));
    if (is_not_started(code)) { /* it delivers nothing any more, and the next poll says why */
        partition->input->polled = partition->input->position = partition->next;
        code = RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    return code == RD_KAFKA_RESP_ERR_NO_ERROR
               ? TAMIS_OK
               : tamis__kafka_client_fail(&run->client, run->options.from, code, err);
}

tamis_status tamis__kafka_dedup_seek(kafka_dedup_run *run, tamis_error *err) {
    for (size_t i = 0; i < run->client.partition_count; i++) {
        kafka_partition *partition = &run->partitions[i];
        if (!partition->input->is_assigned || partition->stage != KAFKA_JOINED)
            continue;
        /* A partition that has delivered nothing may not be started yet, and cannot seek. It begins at or
         * before `next`, and records before `next` are skipped. */
        if (partition->input->is_started && partition->input->polled != partition->next &&
            return_to_next(run, partition, err) != TAMIS_OK)
            return err->status;
        if (partition->input->position < partition->next)
            partition->input->position = partition->next;
    }
    return TAMIS_OK;
}

/* Lets a paused partition begin. The second seek wakes the thread that fetches, which may sleep for a
 * second. */
static tamis_status begin_partition(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err) {
    rd_kafka_resp_err_t code = seek_partition(run, partition);

    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && set_paused(run, partition, false)) {
        partition->stage = KAFKA_JOINED;
        code = seek_partition(run, partition);
    }
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR__TIMED_OUT || is_not_started(code))
        return TAMIS_OK; /* the next call tries again, unless the partition goes */
    return tamis__kafka_client_fail(&run->client, run->options.from, code, err);
}

tamis_status tamis__kafka_dedup_join(kafka_dedup_run *run, tamis_error *err) {
    for (size_t i = 0; i < run->client.partition_count; i++) {
        kafka_partition *partition = &run->partitions[i];
        if (!partition->input->is_assigned || partition->stage != KAFKA_READY)
            continue;
        if (!run->client.is_reading)
            return start_reading(run, err);
        if (begin_partition(run, partition, err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

void tamis__kafka_dedup_pause(kafka_dedup_run *run) {
    for (size_t i = 0; i < run->client.partition_count; i++) {
        kafka_partition *partition = &run->partitions[i];
        if (!partition->input->is_assigned)
            continue;
        if (partition->stage == KAFKA_JOINED)
            set_paused(run, partition, true);
        tamis__kafka_begin_restore(partition);
        partition->input->stop_at = UINT64_MAX;
    }
    run->has_remarked_joined = false;
    run->restored = 0;
    run->restore_progress_at = tamis__now_ns();
}
