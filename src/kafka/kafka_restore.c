/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A: what a member does before it answers the first record of its partitions.
 *
 *     A2  offsets of the group         read_committed: waits for transactions that are not decided (K4)
 *     A3  ends of the state            read_uncommitted: the true ends (K5)
 *     A4  filter                       the one in memory, or an empty one
 *     A5  read the state               from `covers`, or the first record there is, to the end of A3; add all
 *                                      hashes
 *     A6  check the chain              each `from` is the `to` before it; the last `to` is the offset of A2; no
 *                                      record was removed that the last one says is needed
 *     A7  begin                        at the offset, or at the first record of the input
 *
 * A3 comes after A2, and not before: see the proof. The reader of A5 reports the end of a partition in front
 * of an open transaction. That is not the end of A3, so the reader waits until the transaction is decided.
 * All partitions share one reader, since each consumer of librdkafka 2.0 waits half a second before its first
 * record.
 *
 * A refusal (R) repeats A2 first. If the offset has changed, another member has the partition. This one is a
 * zombie: it begins A again, until the group takes the partition away.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "kafka/kafka_dedup_int.h"

enum { REMARK_MS = 10000 }; /* until a remark says what the restore waits for */

typedef struct kafka_restore {
    kafka_dedup_run *run;
    rd_kafka_t *reader;
    rd_kafka_topic_partition_list_t *offsets; /* A2, in the order of the partitions */
    bool was_cut; /* state records were removed before the reader came to them: A begins again */
} kafka_restore;

static bool is_interrupted(const kafka_restore *restore) {
    return restore->was_cut || tamis__kafka_client_is_interrupted(&restore->run->client);
}

static const char open_transaction[] = "; the transaction of a member that was killed ends after its "
                                       "transaction.timeout.ms, or at once when that "
                                       "member starts again with the same --instance";

/* Reports a long wait. */
static void remark_wait(kafka_dedup_run *run, const char *what, const char *advice) {
    if (run->has_remarked_restore ||
        tamis__now_ns() - run->restore_progress_at < (uint64_t)REMARK_MS * 1000000)
        return;
    const char *error = tamis__kafka_client_error(&run->client);
    run->has_remarked_restore = true;
    tamis__kafka_client_remark(&run->client, "%s: waits %s%s%s%s%s", run->options.group, what,
                               error[0] != '\0' ? " (" : "", error, error[0] != '\0' ? ")" : "", advice);
}

void tamis__kafka_dedup_on_wait(void *context, bool for_offsets) {
    kafka_dedup_run *run = context;

    tamis__kafka_dedup_report_progress(run);
    if (for_offsets)
        remark_wait(run, "for the offsets of the group", open_transaction);
    else
        remark_wait(run, "for the brokers", "");
}

/* ---- A3, A4 ---- */

/* A3 and A4. */
static tamis_status prepare(kafka_restore *restore, kafka_partition *partition, tamis_error *err) {
    kafka_dedup_run *run = restore->run;
    int64_t low, end;
    const tamis_status status = tamis__kafka_client_query_watermarks(&run->client, run->state_topic,
                                                                     partition->number, &low, &end, err);

    if (status != TAMIS_OK || is_interrupted(restore))
        return status;
    partition->state_end = (uint64_t)end;
    if (partition->filter && partition->covers >= (uint64_t)low && partition->covers <= (uint64_t)end)
        return TAMIS_OK;
    if (tamis__kafka_partition_reset(run, partition, err) != TAMIS_OK)
        return err->status;
    partition->low = partition->covers = (uint64_t)low;
    return TAMIS_OK;
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
static tamis_status add_record(kafka_restore *restore, kafka_partition *partition,
                               const rd_kafka_message_t *message, tamis_error *err) {
    kafka_dedup_run *run = restore->run;
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
                 "with another group",
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
    return TAMIS_OK;
}

static tamis_status read_message(kafka_restore *restore, const rd_kafka_message_t *message,
                                 tamis_error *err) {
    kafka_dedup_run *run = restore->run;
    kafka_partition *partition = tamis__kafka_partition(run, message->partition);

    if (!partition || !partition->input->is_assigned)
        return TAMIS_OK;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        run->restore_progress_at = tamis__now_ns();
        return add_record(restore, partition, message, err);
    }
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        /* Markers of transactions have offsets too, so the end may be behind the last record. */
        if ((uint64_t)message->offset > partition->covers)
            partition->covers = (uint64_t)message->offset;
        return TAMIS_OK;
    }
    if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
        tamis__kafka_partition_release(partition);
        restore->was_cut = true;
        return TAMIS_OK;
    }
    return tamis__kafka_is_transient(message->err)
               ? TAMIS_OK
               : tamis__kafka_client_fail(&run->client, run->state_topic, message->err, err);
}

/* Returns the number of partitions whose state is not read to the end of A3 yet. */
static size_t count_unread(const kafka_dedup_run *run) {
    size_t unread = 0;

    for (size_t i = 0; i < run->client.partition_count; i++)
        unread +=
            run->partitions[i].input->is_assigned && run->partitions[i].covers < run->partitions[i].state_end;
    return unread;
}

/* A5. */
static tamis_status read_state(kafka_restore *restore, tamis_error *err) {
    kafka_dedup_run *run = restore->run;
    tamis_status status = TAMIS_OK;

    if (is_interrupted(restore) || count_unread(run) == 0)
        return TAMIS_OK;
    if (tamis__kafka_client_open(&run->client, KAFKA_RESTORER, &restore->reader, err) != TAMIS_OK)
        return err->status;
    rd_kafka_poll_set_consumer(restore->reader);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)run->client.assigned);
    for (size_t i = 0; i < run->client.partition_count; i++) {
        const kafka_partition *partition = &run->partitions[i];
        if (partition->input->is_assigned && partition->covers < partition->state_end)
            rd_kafka_topic_partition_list_add(list, run->state_topic, partition->number)->offset =
                (int64_t)partition->covers;
    }
    const rd_kafka_resp_err_t code = rd_kafka_assign(restore->reader, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return tamis__kafka_client_fail(&run->client, run->state_topic, code, err);
    while (status == TAMIS_OK && !is_interrupted(restore) && count_unread(run) > 0) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(restore->reader, TAMIS__KAFKA_SLICE);
        if (message) {
            status = read_message(restore, message, err);
            rd_kafka_message_destroy(message);
        } else {
            remark_wait(run, "for an open transaction in the state topic", open_transaction);
        }
        if (status == TAMIS_OK)
            status = tamis__kafka_client_stay_member(&run->client, 0, err);
        tamis__kafka_dedup_report_progress(run);
    }
    return status;
}

/* ---- A6, A7 ---- */

/* A6: compares the chain with the offset of A2. */
static tamis_status check_chain(const kafka_dedup_run *run, const kafka_partition *partition, int64_t offset,
                                tamis_error *err) {
    char named[300];
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
                           "topic was made again: then begin with another group",
                           named, to, to);
    if ((uint64_t)offset < to)
        return tamis__fail(err, TAMIS_E_CHANGED, 0,
                           "%s: its offset was moved to %" PRId64 ", but its state ends at %" PRIu64
                           "; set the offset to %" PRIu64 ", and nothing is lost or repeated, unless the "
                           "topic was made again: then begin with another group",
                           named, offset, to, to);
    return tamis__fail(err, TAMIS_E_CHANGED, 0,
                       "%s: its offset is %" PRId64 ", but its state ends at %" PRIu64
                       "; if the offset was moved, set "
                       "it to %" PRIu64 ", else state records are lost: begin again with another group",
                       named, offset, to, to);
}

static tamis_status check_chains(kafka_restore *restore, tamis_error *err) {
    kafka_dedup_run *run = restore->run;

    for (int i = 0; i < restore->offsets->cnt; i++) {
        const rd_kafka_topic_partition_t *offset = &restore->offsets->elems[i];
        if (check_chain(run, &run->partitions[offset->partition], offset->offset, err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

/* Refuses an offset of a repartition that has put keys into other partitions. Offsets that somebody has set have no
 * such metadata. */
static tamis_status check_route(const kafka_dedup_run *run, const rd_kafka_topic_partition_t *stored,
                                tamis_error *err) {
    static const char first[] = "partitions=";
    const size_t size = stored->metadata_size;

    if (run->route[0] == '\0' || size < strlen(first) ||
        memcmp(stored->metadata, first, strlen(first)) != 0 ||
        (size == strlen(run->route) && memcmp(stored->metadata, run->route, size) == 0))
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "%.100s [%d]: was copied with another key, output or number of partitions (%.*s, not "
                       "%s), so equal keys "
                       "would be in different partitions; give the former options, or begin again with "
                       "another group and new "
                       "output topics",
                       run->options.from, (int)stored->partition, size < 60 ? (int)size : 60,
                       (const char *)stored->metadata, run->route);
}

/* A7: where the input begins. */
static tamis_status begin_input(kafka_restore *restore, const rd_kafka_topic_partition_t *stored,
                                tamis_error *err) {
    kafka_dedup_run *run = restore->run;
    kafka_partition *partition = &run->partitions[stored->partition];
    const int64_t offset = stored->offset;
    int64_t low, end;

    if (check_route(run, stored, err) != TAMIS_OK)
        return err->status;
    const tamis_status status = tamis__kafka_client_query_watermarks(&run->client, run->options.from,
                                                                     partition->number, &low, &end, err);

    if (status != TAMIS_OK || is_interrupted(restore))
        return status;
    if (offset < 0 || run->is_stateless)
        partition->to = (uint64_t)(offset < 0 ? low : offset);
    if (partition->to < (uint64_t)low)
        return tamis__fail(
            err, TAMIS_E_CHANGED, 0,
            "%s [%d]: %" PRIu64 " records were removed before they were read, from offset %" PRIu64
            " on; to go on without them, begin again with another group",
            run->options.from, (int)partition->number, (uint64_t)low - partition->to, partition->to);
    if (partition->to > (uint64_t)end)
        return tamis__fail(err, TAMIS_E_CHANGED, 0,
                           "%s [%d]: ends at %" PRId64 ", but was read up to %" PRIu64
                           " before: it was made again; begin again with another group",
                           run->options.from, (int)partition->number, end, partition->to);
    partition->next = partition->to;
    partition->input->stop_at = (uint64_t)end;
    return TAMIS_OK;
}

/* R, for a refusal with `status` and *err: repeats A2. TAMIS_OK: the offsets have changed, or the group the
 * assignment. Else the status, or that of a failure meanwhile. */
static tamis_status refuse(kafka_restore *restore, tamis_status status, tamis_error *err) {
    tamis_error second = TAMIS_ERROR_INIT;
    rd_kafka_topic_partition_list_t *again = rd_kafka_topic_partition_list_copy(restore->offsets);
    const tamis_status fetched = tamis__kafka_client_fetch_offsets(&restore->run->client, again, &second);
    bool changed = fetched == TAMIS_OK && is_interrupted(restore);

    for (int i = 0; fetched == TAMIS_OK && !changed && i < again->cnt; i++)
        changed = again->elems[i].offset != restore->offsets->elems[i].offset;
    rd_kafka_topic_partition_list_destroy(again);
    if (fetched != TAMIS_OK)
        *err = second;
    return fetched != TAMIS_OK ? fetched : changed ? TAMIS_OK : status;
}

static tamis_status begin_inputs(kafka_restore *restore, tamis_error *err) {
    const rd_kafka_topic_partition_list_t *offsets = restore->offsets;

    for (int i = 0; i < offsets->cnt && !is_interrupted(restore); i++)
        if (begin_input(restore, &offsets->elems[i], err) != TAMIS_OK)
            return err->status;
    return TAMIS_OK;
}

static tamis_status restore_all(kafka_restore *restore, tamis_error *err) {
    const rd_kafka_topic_partition_list_t *offsets = restore->offsets;
    kafka_partition *partitions = restore->run->partitions;
    tamis_status status =
        tamis__kafka_client_fetch_offsets(&restore->run->client, restore->offsets, err); /* A2 */

    if (restore->run->is_stateless) /* the offsets are all there is */
        return status == TAMIS_OK ? begin_inputs(restore, err) : status;
    for (int i = 0; status == TAMIS_OK && i < offsets->cnt && !is_interrupted(restore); i++)
        status = prepare(restore, &partitions[offsets->elems[i].partition], err); /* A3, A4 */
    if (status == TAMIS_OK)
        status = read_state(restore, err); /* A5 */
    if (status == TAMIS_OK && !is_interrupted(restore))
        status = check_chains(restore, err);                         /* A6 */
    return status == TAMIS_OK ? begin_inputs(restore, err) : status; /* A7 */
}

tamis_status tamis__kafka_dedup_restore(kafka_dedup_run *run, tamis_error *err) {
    if (run->client.assigned == 0) { /* the group has more members than partitions */
        run->client.phase = KAFKA_RUNNING;
        return TAMIS_OK;
    }
    run->restore_progress_at = tamis__now_ns();
    run->has_remarked_restore = false;
    const uint64_t restored = run->committed.restored;
    kafka_restore restore = {.run = run, .offsets = tamis__kafka_client_list_assigned(&run->client)};
    tamis_status status = restore_all(&restore, err);
    /* R */
    if (status == TAMIS_E_CHANGED || status == TAMIS_E_DAMAGED) {
        status = refuse(&restore, status, err); /* if it is TAMIS_OK, A begins again */
    } else if (status == TAMIS_OK && !is_interrupted(&restore)) {
        run->client.phase = KAFKA_RUNNING;
        status = tamis__kafka_dedup_seek(run, err); /* A7 */
        char keys[60] = "";
        if (!run->is_stateless)
            snprintf(keys, sizeof keys, "; %" PRIu64 " keys were restored",
                     run->committed.restored - restored);
        tamis__kafka_client_remark(&run->client, "%s: %zu of %zu partitions are assigned to this process%s",
                                   run->options.from, run->client.assigned, run->client.partition_count,
                                   keys);
    }
    tamis__kafka_client_destroy(&run->client, restore.reader);
    rd_kafka_topic_partition_list_destroy(restore.offsets);
    return status;
}
