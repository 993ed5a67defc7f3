/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The state topic as a member reads it: to restore a filter (A5), or to keep a copy of one that another
 * member uses (S).
 *
 *     reader --> records of all partitions that are read, in one queue --> checks (A6) --> filter, `covers`
 *
 * The reader reports the end of a partition in front of an open transaction. That is not the end of A3, so a
 * restore waits until the transaction is decided. Such a report moves `covers` too: markers of transactions
 * have offsets, and are not delivered.
 *
 * All partitions share one reader, which stays until the run ends. It has no assignment, because in
 * librdkafka 2.0 a second one soon after another may end the process. Its partitions are started and stopped
 * one by one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "kafka/kafka_dedup_int.h"

enum { SLICE_MS = 5 }; /* time for state records, until input records get theirs */

/* ---- the reader ---- */

tamis_status tamis__kafka_dedup_open_reader(kafka_dedup_run *run, tamis_error *err) {
    if (run->reader)
        return TAMIS_OK;
    if (tamis__kafka_client_open(&run->reader, &run->client, KAFKA_RESTORER, err) != TAMIS_OK)
        return err->status;
    run->reader_queue = rd_kafka_queue_new(run->reader);
    run->reader_topic = rd_kafka_topic_new(run->reader, run->state_topic, NULL);
    return run->reader_topic
               ? TAMIS_OK
               : tamis__kafka_client_fail(&run->client, run->state_topic, rd_kafka_last_error(), err);
}

tamis_status tamis__kafka_dedup_read_state(kafka_dedup_run *run, kafka_partition *partition,
                                           tamis_error *err) {
    if (partition->is_reading_state)
        return TAMIS_OK;
    if (tamis__kafka_dedup_open_reader(run, err) != TAMIS_OK)
        return err->status;
    if (rd_kafka_consume_start_queue(run->reader_topic, partition->number, (int64_t)partition->covers,
                                     run->reader_queue) != 0)
        return tamis__kafka_client_fail(&run->client, run->state_topic, rd_kafka_last_error(), err);
    partition->is_reading_state = true;
    return TAMIS_OK;
}

void tamis__kafka_dedup_stop_state(kafka_dedup_run *run, kafka_partition *partition) {
    if (partition->is_reading_state)
        rd_kafka_consume_stop(run->reader_topic, partition->number);
    partition->is_reading_state = false;
}

void tamis__kafka_dedup_close_reader(kafka_dedup_run *run) {
    tamis__kafka_merge_stop(run);
    for (size_t i = 0; run->partitions && i < run->client.partition_count; i++)
        tamis__kafka_dedup_stop_state(run, &run->partitions[i]);
    if (run->reader_topic)
        rd_kafka_topic_destroy(run->reader_topic);
    if (run->reader_queue)
        rd_kafka_queue_destroy(run->reader_queue);
    tamis__kafka_client_close(&run->client, run->reader);
    run->reader_topic = NULL;
    run->reader_queue = NULL;
    run->reader = NULL;
}

/* ---- A5 ---- */

/* Refuses a state record. */
static tamis_status fail_record(const kafka_dedup_run *run, const rd_kafka_message_t *message,
                                tamis_status status, const char *why, tamis_error *err) {
    return tamis__fail(err, status, 0, "%s [%d]: the state record at offset %" PRId64 " %s", run->state_topic,
                       (int)message->partition, message->offset, why);
}

/* Names the first line in which two descriptions differ. */
static tamis_status fail_description(const kafka_dedup_run *run, const rd_kafka_message_t *message,
                                     const tamis__kafka_record *record, tamis_error *err) {
    const char *ours = run->description, *theirs = record->description;
    const size_t size = record->description_size;
    size_t line = 0, i = 0;
    char why[400];

    for (; i < size && ours[i] == theirs[i] && ours[i] != '\0'; i++)
        if (ours[i] == '\n')
            line = i + 1;
    int their_size = 0, our_size = 0;
    while (line + (size_t)their_size < size && theirs[line + (size_t)their_size] != '\n')
        their_size++;
    while (ours[line + (size_t)our_size] != '\0' && ours[line + (size_t)our_size] != '\n')
        our_size++;
    snprintf(
        why, sizeof why,
        "was made with %.*s, not %.*s; give the former options, or use another group and new output topics",
        their_size < 100 ? their_size : 100, theirs + line, our_size < 100 ? our_size : 100, ours + line);
    return fail_record(run, message, TAMIS_E_MISMATCH, why, err);
}

/* Adds the hashes of a state record, after A6 for it. */
static tamis_status add_record(kafka_dedup_run *run, kafka_partition *partition,
                               const rd_kafka_message_t *message, tamis_error *err) {
    tamis__kafka_record record;
    const char *why = tamis__kafka_record_decode(&record, message->payload, message->len);
    char gap[160];

    if (!why && record.partition != (uint32_t)partition->number)
        why = "belongs to another partition";
    if (why) {
        snprintf(gap, sizeof gap, "%s; begin again with another group and new output topics", why);
        return fail_record(run, message, TAMIS_E_DAMAGED, gap, err);
    }
    if (record.description_size != strlen(run->description) ||
        memcmp(record.description, run->description, record.description_size) != 0)
        return fail_description(run, message, &record, err);
    if (record.begins != (!partition->has_chain && partition->low == 0))
        return fail_record(
            run, message, TAMIS_E_DAMAGED,
            record.begins ? "begins the state again; begin again with another group and new output topics"
                          : "is not the first one, and those before it are missing; begin again with another "
                            "group and new output topics",
            err);
    if (partition->has_chain && record.from != partition->to) {
        snprintf(gap, sizeof gap,
                 "begins at input offset %" PRIu64 ", not %" PRIu64
                 ": records are missing before it; begin again "
                 "with another group and new output topics",
                 record.from, partition->to);
        return fail_record(run, message, TAMIS_E_DAMAGED, gap, err);
    }
    if (record.newest < partition->newest)
        return fail_record(run, message, TAMIS_E_DAMAGED,
                           "goes back in time; begin again with another group and new output topics", err);
    if (record.needed > (uint64_t)message->offset)
        return fail_record(run, message, TAMIS_E_DAMAGED,
                           "says that it is not needed itself; begin again with another group and new output "
                           "topics",
                           err);
    if (tamis__kafka_partition_restore(run, partition, &record, (uint64_t)message->offset, err) != TAMIS_OK)
        return err->status;
    run->committed.restored += record.count;
    if (partition->input->is_assigned) {
        run->restored += record.count;
        run->restore_progress_at = tamis__now_ns();
    }
    return TAMIS_OK;
}

static tamis_status read_message(kafka_dedup_run *run, const rd_kafka_message_t *message, tamis_error *err) {
    kafka_partition *partition = tamis__kafka_partition(run, message->partition);

    if (!partition || !partition->is_reading_state)
        return TAMIS_OK;
    switch (message->err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        if ((uint64_t)message->offset < partition->covers ||
            add_record(run, partition, message, err) == TAMIS_OK)
            return TAMIS_OK;
        return tamis__kafka_dedup_refuse(run, partition, err);
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
        /* Markers of transactions have offsets too, so the end may be behind the last record. */
        if ((uint64_t)message->offset > partition->covers)
            partition->covers = (uint64_t)message->offset;
        return TAMIS_OK;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET: /* cut before it was read: A begins again */
        tamis__kafka_dedup_stop_state(run, partition);
        tamis__kafka_partition_release(partition);
        partition->stage = KAFKA_WATERMARKS;
        if (partition->input->is_assigned)
            tamis__kafka_begin_restore(partition);
        return TAMIS_OK;
    default:
        return tamis__kafka_is_transient(message->err)
                   ? TAMIS_OK
                   : tamis__kafka_dedup_fail_topic(run, run->state_topic, message->err, err);
    }
}

tamis_status tamis__kafka_dedup_add_state(kafka_dedup_run *run, bool *has_read, tamis_error *err) {
    const uint64_t deadline = tamis__now_ns() + (uint64_t)SLICE_MS * 1000000;
    tamis_status status = TAMIS_OK;

    *has_read = false;
    if (!run->reader)
        return TAMIS_OK;
    rd_kafka_poll(run->reader, 0); /* its errors and its log */
    while (status == TAMIS_OK && tamis__now_ns() < deadline) {
        rd_kafka_message_t *message = rd_kafka_consume_queue(run->reader_queue, 0);
        if (!message)
            break;
        *has_read = true;
        status = read_message(run, message, err);
        rd_kafka_message_destroy(message);
    }
    return status;
}

/* ---- A6 ---- */

tamis_status tamis__kafka_dedup_check_chain(const kafka_dedup_run *run, const kafka_partition *partition,
                                            tamis_error *err) {
    char named[300];
    const int64_t offset = partition->offset;
    const uint64_t to = partition->to;

    snprintf(named, sizeof named, "group %.80s, %.100s [%d]", run->options.group, run->options.from,
             (int)partition->number);
    if (partition->low > partition->needed_in_chain)
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "%s [%d]: its records from offset %" PRIu64 " to %" PRIu64
            " were removed, so keys are missing; begin again with another group and new output "
            "topics",
            run->state_topic, (int)partition->number, partition->needed_in_chain, partition->low - 1);
    if (offset >= 0 && partition->has_chain && (uint64_t)offset == to)
        return TAMIS_OK;
    if (offset < 0 && !partition->has_chain)
        return TAMIS_OK;
    if (!partition->has_chain)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: has offset %" PRId64
                           ", but the state topic %.100s has no records of it; begin again "
                           "with another group and new output topics",
                           named, offset, run->state_topic);
    if (offset < 0)
        return tamis__fail(err, TAMIS_E_CHANGED, 0,
                           "%s: its offset has expired or was removed, but its state ends at %" PRIu64
                           "; set the offset to %" PRIu64 ", and nothing is lost or repeated, unless the "
                           "topic was made again: then begin with another group and new output "
                           "topics",
                           named, to, to);
    if ((uint64_t)offset < to)
        return tamis__fail(err, TAMIS_E_CHANGED, 0,
                           "%s: its offset was moved to %" PRId64 ", but its state ends at %" PRIu64
                           "; set the offset to %" PRIu64 ", and nothing is lost or repeated, unless the "
                           "topic was made again: then begin with another group and new output "
                           "topics",
                           named, offset, to, to);
    return tamis__fail(err, TAMIS_E_CHANGED, 0,
                       "%s: its offset is %" PRId64 ", but its state ends at %" PRIu64
                       "; if the offset was moved, set "
                       "it to %" PRIu64
                       ", else state records are lost: begin again with another group and new output topics",
                       named, offset, to, to);
}
