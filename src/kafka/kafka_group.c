/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The group gives partitions and takes them away (range assignor, eager protocol: all at once).
 *
 *                        on_rebalance(ASSIGN)                    restore: A2 to A6
 *     KAFKA_UNASSIGNED ------------------------> KAFKA_RESTORING ------------------> KAFKA_FORWARDING
 *            ^                                          |        A7: read from `next`      |
 *            +------------------------------------------+----------------------------------+
 *                        on_rebalance(REVOKE): commit, or abort if the partitions are lost
 *
 * librdkafka calls on_rebalance from a poll of the consumer. The group waits for the answer, so it only does
 * what must be done in that moment: the commit of N, and A1. The restore runs afterwards, in the loop of the
 * run. The consumer is given an empty assignment until then, so that it reads nothing (the input is paused).
 *
 * Between ASSIGN and REVOKE the consumer gets its partitions once (is_reading). To go back after an abort it
 * seeks in those that it has delivered too much of. A second assignment instead would be simpler, but
 * librdkafka 2.0 ends the process by an assertion if a partition is removed from the assignment while it is
 * still being stopped. Seeking marks what lies in its queues as outdated.
 *
 * If the commit of N fails, the transaction is aborted. Its records then come to the next owner.
 */
#include <inttypes.h>

#include "base/memory.h"
#include "base/system.h"
#include "kafka/kafka_int.h"

enum { SEEK_MS = 5000 };

/* Remembers which partitions are assigned. Partitions that went to another member lose their filter. */
static void store_assignment(kafka_run *run, const rd_kafka_topic_partition_list_t *partitions) {
    run->assigned = 0;
    for (size_t i = 0; i < run->partition_count; i++)
        run->partitions[i].is_assigned = false;
    for (int i = 0; i < partitions->cnt; i++) {
        kafka_partition *partition = tamis__kafka_partition(run, partitions->elems[i].partition);
        if (partition) {
            partition->is_assigned = true;
            run->assigned++;
            continue;
        }
        run->stopped = tamis__fail(
            &run->stop_error, TAMIS_E_MISMATCH, 0,
            "%s: has a new partition %d, so keys may be in other partitions now; begin again with "
            "another group and new output topics",
            run->options.from, (int)partitions->elems[i].partition);
    }
    for (size_t i = 0; i < run->partition_count; i++)
        if (!run->partitions[i].is_assigned)
            tamis__kafka_partition_release(&run->partitions[i]);
}

/* A1. */
static void assign(kafka_run *run, const rd_kafka_topic_partition_list_t *partitions) {
    store_assignment(run, partitions);
    if (run->membership)
        rd_kafka_consumer_group_metadata_destroy(run->membership);
    run->membership = rd_kafka_consumer_group_metadata(run->consumer);
    run->phase = KAFKA_RESTORING;
    run->committed.assignments++;
    rd_kafka_topic_partition_list_t *nothing = rd_kafka_topic_partition_list_new(0);
    rd_kafka_assign(run->consumer, nothing);
    rd_kafka_topic_partition_list_destroy(nothing);
}

/* N. */
static void revoke(kafka_run *run) {
    kafka_outcome outcome = KAFKA_DONE;
    tamis_error *err = &run->stop_error;

    if (rd_kafka_assignment_lost(run->consumer)) {
        outcome = KAFKA_ABORT;
    } else if (run->phase == KAFKA_FORWARDING && !run->must_begin) {
        outcome = tamis__kafka_answer(run, err);
        if (outcome == KAFKA_DONE || outcome == KAFKA_FAILED) {
            /* A record that ends the run, such as a malformed one, comes behind answered ones. */
            const tamis_error why = *err;
            const kafka_outcome committed = tamis__kafka_commit(run, err);
            if (outcome == KAFKA_FAILED && committed == KAFKA_DONE)
                *err = why;
            else
                outcome = committed;
        }
    }
    tamis__kafka_drop_batch(run);
    run->phase = KAFKA_UNASSIGNED;
    run->is_reading = false;
    run->assigned = 0;
    for (size_t i = 0; i < run->partition_count; i++)
        run->partitions[i].is_assigned = false;
    if (outcome == KAFKA_ABORT)
        outcome = tamis__kafka_abort(run, err);
    if (outcome == KAFKA_BEGIN)
        run->must_begin = true;
    if (outcome == KAFKA_FAILED)
        run->stopped = err->status;
}

void tamis__kafka_on_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t code,
                               rd_kafka_topic_partition_list_t *partitions, void *context) {
    kafka_run *run = context;

    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        assign(run, partitions);
        return;
    }
    revoke(run);
    rd_kafka_assign(consumer, NULL);
}

/* Gives the consumer its partitions. */
static tamis_status begin_reading(kafka_run *run, tamis_error *err) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)run->assigned);

    for (size_t i = 0; i < run->partition_count; i++) {
        kafka_partition *partition = &run->partitions[i];
        if (!partition->is_assigned)
            continue;
        partition->polled = partition->position = partition->next;
        partition->is_started = false;
        rd_kafka_topic_partition_list_add(list, run->options.from, partition->number)->offset =
            (int64_t)partition->next;
    }
    const rd_kafka_resp_err_t code = rd_kafka_assign(run->consumer, list);
    rd_kafka_topic_partition_list_destroy(list);
    run->is_reading = code == RD_KAFKA_RESP_ERR_NO_ERROR;
    return run->is_reading ? TAMIS_OK : tamis__kafka_fail(run, run->options.group, code, err);
}

/* Goes back, or forward, to `next`. */
static tamis_status seek(kafka_run *run, kafka_partition *partition, tamis_error *err) {
    rd_kafka_resp_err_t code;

    do
        code = rd_kafka_seek(run->from, partition->number, (int64_t)partition->next, SEEK_MS);
    while (code == RD_KAFKA_RESP_ERR__TIMED_OUT && !tamis__kafka_must_stop(run));
    /* It is being stopped, or has been: it delivers nothing any more, and the next poll says why. */
    if (code == RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS || code == RD_KAFKA_RESP_ERR__STATE)
        code = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return tamis__kafka_fail(run, run->options.from, code, err);
    partition->polled = partition->position = partition->next;
    return TAMIS_OK;
}

tamis_status tamis__kafka_read_on(kafka_run *run, tamis_error *err) {
    if (!run->is_reading)
        return begin_reading(run, err);
    for (size_t i = 0; i < run->partition_count; i++) {
        kafka_partition *partition = &run->partitions[i];
        /* A partition that has delivered nothing may not be started yet, and cannot seek. It begins at or
         * before `next`, and records before `next` are skipped. */
        if (partition->is_assigned && partition->is_started && partition->polled != partition->next &&
            seek(run, partition, err) != TAMIS_OK)
            return err->status;
        if (partition->position < partition->next)
            partition->position = partition->next;
    }
    return TAMIS_OK;
}

/* ---- polling ---- */

/* Handles what the consumer reports instead of a record. */
static tamis_status handle(kafka_run *run, const rd_kafka_message_t *message, tamis_error *err) {
    kafka_partition *partition = tamis__kafka_partition(run, message->partition);
    const bool is_out_of_range = message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
                                 message->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;

    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        if (partition && (uint64_t)message->offset > partition->position)
            partition->position = (uint64_t)message->offset;
        return TAMIS_OK;
    }
    if (is_out_of_range && !run->is_reading)
        return TAMIS_OK;
    return tamis__kafka_client_check(&run->client, run->consumer, run->options.from, message, err);
}

tamis_status tamis__kafka_poll(kafka_run *run, int milliseconds, rd_kafka_message_t **message,
                               tamis_error *err) {
    rd_kafka_message_t *polled = rd_kafka_consumer_poll(run->consumer, milliseconds);

    *message = NULL;
    if (polled && polled->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        kafka_partition *partition = tamis__kafka_partition(run, polled->partition);
        if (partition) {
            partition->polled = (uint64_t)polled->offset + 1;
            partition->is_started = true;
        }
        *message = polled;
    } else if (polled) {
        const tamis_status status = handle(run, polled, err);
        rd_kafka_message_destroy(polled);
        if (status != TAMIS_OK)
            return status;
    }
    if (run->stopped == TAMIS_OK)
        return TAMIS_OK;
    if (*message)
        rd_kafka_message_destroy(*message);
    *message = NULL;
    *err = run->stop_error;
    return run->stopped;
}
