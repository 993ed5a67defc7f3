/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Merges (M in docs/KAFKA-PROTOCOL.md): the state topic stays about as large as its hashes, however many
 * transactions wrote them.
 *
 * Each transaction adds a state record to each of its partitions: some 320 bytes, even without a new key. A
 * merge copies the hashes of old state records into few large ones, and then cuts the old ones.
 *
 *     before    | r0 | r1 | r2 | ... | r999 | r1000 |                                 needed: r0
 *     after                                 | r1000 | hashes of r0 to r999 | r1001 |  needed: r1000
 *
 * `needed` is the first record that a reader needs. Each state record says it, here r1001.
 *
 * The copies are state records like any others: a transaction may have several, and all but the last have
 * `to` = `from`. So a reader needs no rule for them: a hash that it reads twice is in the filter once.
 *
 * The next transaction of the partition has both, the copies and the new `needed`. So a step of a merge is
 * committed as a whole or not at all, and a zombie cannot commit one. A member that is killed loses one step
 * at most; the next owner goes on from the committed `needed`. Only records below a committed `needed` are
 * cut. Their copies are committed too, so a cut may come late, twice, or from another member.
 *
 * Small steps. A step reads at least 32,768 hashes and at most twice as many, or all that are left. It takes
 * about a millisecond, and makes its transaction longer by 0.2 to 0.4 MB, so nothing has to wait for it. One
 * partition is merged at a time, because the reader may fetch up to 64 MB ahead.
 *
 *     records read      | 30,000 | 5 | 10,000 |    step: 40,005 hashes
 *     records written   | 20,002 | 20,003 |        of equal size, so the next merge has no small ones again
 *
 * When. A merge begins when heads and markers take more bytes than the hashes. It ends at the record that was
 * the last one when it began. So the bytes that merges write are at most those of heads and markers.
 *
 * Two sorts of states are not merged. Those of windows are cut by time. Kinds counting and cuckoo count each
 * add, so they would count a hash twice that is read twice: their states grow.
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "kafka/kafka_dedup_int.h"

enum {
    SLICE_MS = 5,      /* time for old state records, until input records get theirs */
    PAUSE_S = 60,      /* until another merge is tried after records were cut */
    OFFSETS_MIN = 256, /* offsets from which on a merge pays; fewer are read at once */
    OFFSET_BYTES = 160 /* of a state record without hashes, or of a marker, on average */
};

static bool is_joined(const kafka_partition *partition) {
    return partition->stage == KAFKA_JOINED && partition->input->is_assigned;
}

bool tamis__kafka_kind_is_merged(tamis_kind kind) {
    return kind != TAMIS_KIND_WINDOW && kind != TAMIS_KIND_COUNTING && kind != TAMIS_KIND_CUCKOO;
}

bool tamis__kafka_may_merge(const kafka_dedup_run *run) {
    /* Without the right to cut, a merge would only add copies. */
    return !run->is_stateless && run->cut_refused_at == 0 && tamis__kafka_kind_is_merged(run->plan.kind);
}

bool tamis__kafka_merge_is_due(const kafka_dedup_run *run, const kafka_partition *partition) {
    /* Offsets of state records and markers that a reader would read. */
    const uint64_t offsets = partition->covers - partition->needed_in_chain;

    return partition->has_chain && offsets >= OFFSETS_MIN &&
           offsets * OFFSET_BYTES > tamis__kafka_partition_keys(run, partition) * run->keys.size.bits / 8;
}

bool tamis__kafka_merge_is_ready(const kafka_dedup_run *run, const kafka_partition *partition) {
    const kafka_merge *merge = &run->merge;

    return merge->partition == partition &&
           (merge->count >= TAMIS__KAFKA_RECORD_HASHES || merge->position >= merge->end);
}

bool tamis__kafka_merge_is_reading(const kafka_dedup_run *run) {
    return run->merge.partition && !tamis__kafka_merge_is_ready(run, run->merge.partition);
}

/* ---- the beginning and the end ---- */

void tamis__kafka_merge_stop(kafka_dedup_run *run) {
    kafka_merge *merge = &run->merge;

    if (merge->queue) {
        rd_kafka_consume_stop(run->reader_topic, merge->partition->number);
        rd_kafka_queue_destroy(merge->queue);
    }
    merge->queue = NULL;
    merge->partition = NULL;
    tamis__free(&run->memory, merge->hashes, TAMIS__KAFKA_MERGE_HASHES * sizeof *merge->hashes);
    merge->hashes = NULL;
}

/* Ends the merge because records were cut: by another owner, or the next start reports it. */
static void pause_merges(kafka_dedup_run *run) {
    tamis__kafka_merge_stop(run);
    run->merge.not_before = tamis__now_ns() + (uint64_t)PAUSE_S * 1000000000;
}

/* Ends the merge for good: the partition is merged again when the group assigns it again. The records stay,
 * so nothing is lost. */
static void refuse_merge(kafka_dedup_run *run, const char *why) {
    kafka_partition *partition = run->merge.partition;

    tamis__kafka_client_remark(&run->client, "%s [%d]: its records are not merged any more: one %s",
                               run->state_topic, (int)partition->number, why);
    partition->is_merge_refused = true;
    tamis__kafka_merge_stop(run);
}

tamis_status tamis__kafka_merge_begin(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err) {
    kafka_merge *merge = &run->merge;
    const size_t size = TAMIS__KAFKA_MERGE_HASHES * sizeof *merge->hashes;

    merge->hashes = tamis__alloc(&run->memory, size, _Alignof(tamis_hash));
    if (!merge->hashes)
        return tamis__fail_nomem(err, "hashes of old state records", size);
    merge->partition = partition;
    merge->position = partition->needed_in_chain;
    merge->end = partition->covers;
    merge->end_to = partition->to;
    merge->has_chain = false;
    merge->count = 0;
    return TAMIS_OK;
}

/* Begins the merge of the next partition that is due, if any. */
static tamis_status begin_next(kafka_dedup_run *run, tamis_error *err) {
    kafka_merge *merge = &run->merge;
    const size_t count = run->client.partition_count;
    kafka_partition *partition = NULL;

    for (size_t i = 0; i < count && !partition; i++) {
        merge->next = (merge->next + 1) % count;
        kafka_partition *candidate = &run->partitions[merge->next];
        if (is_joined(candidate) && !candidate->is_merge_refused && tamis__kafka_merge_is_due(run, candidate))
            partition = candidate;
    }
    if (!partition)
        return TAMIS_OK;
    if (tamis__kafka_dedup_open_reader(run, err) != TAMIS_OK ||
        tamis__kafka_merge_begin(run, partition, err) != TAMIS_OK)
        return err->status;
    merge->queue = rd_kafka_queue_new(run->reader);
    if (rd_kafka_consume_start_queue(run->reader_topic, partition->number, (int64_t)merge->position,
                                     merge->queue) != 0)
        refuse_merge(run, rd_kafka_err2str(rd_kafka_last_error()));
    return TAMIS_OK;
}

/* ---- reading old records ---- */

/* Adds the hashes of an old state record. Returns NULL, or why it is not merged. */
static const char *add_record(kafka_dedup_run *run, const rd_kafka_message_t *message) {
    kafka_merge *merge = &run->merge;
    tamis__kafka_record record;
    int64_t times[256]; /* all 0: there is no window */
    const char *why = tamis__kafka_record_decode(&record, message->payload, message->len);

    if (why)
        return why;
    if (record.partition != (uint32_t)merge->partition->number ||
        record.description_size != strlen(run->description) ||
        memcmp(record.description, run->description, record.description_size) != 0)
        return "is of another group or partition";
    if (merge->has_chain && record.from != merge->to)
        return "does not follow the one before";
    while (record.left > 0)
        merge->count += tamis__kafka_record_read(&record, sizeof times / sizeof *times, run->keys.hasher_id,
                                                 merge->hashes + merge->count, times);
    merge->has_chain = true;
    merge->to = record.to;
    merge->position = (uint64_t)message->offset + 1;
    return NULL;
}

/* Ends the merge at its last offset. All records before it were read: markers may follow the last one. */
static const char *reach_end(kafka_merge *merge) {
    if (!merge->has_chain || merge->to != merge->end_to)
        return "is missing at the end";
    merge->position = merge->end;
    return NULL;
}

void tamis__kafka_merge_read(kafka_dedup_run *run, const rd_kafka_message_t *message) {
    kafka_merge *merge = &run->merge;
    const uint64_t offset = (uint64_t)message->offset;
    const char *why = NULL;

    switch (message->err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        if (offset >= merge->position && offset < merge->end)
            why = add_record(run, message);
        if (!why && offset + 1 >= merge->end)
            why = reach_end(merge);
        break;
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
        if (offset >= merge->end)
            why = reach_end(merge);
        break;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
        pause_merges(run);
        return;
    default:
        if (!tamis__kafka_is_transient(message->err))
            why = rd_kafka_err2str(message->err);
    }
    if (why)
        refuse_merge(run, why);
}

void tamis__kafka_merge_check(kafka_dedup_run *run) {
    if (run->merge.partition && (!is_joined(run->merge.partition) || !tamis__kafka_may_merge(run)))
        tamis__kafka_merge_stop(run);
}

tamis_status tamis__kafka_merge_advance(kafka_dedup_run *run, tamis_error *err) {
    kafka_merge *merge = &run->merge;
    const uint64_t now = tamis__now_ns();

    if (!merge->partition && now >= merge->not_before && tamis__kafka_may_merge(run) &&
        begin_next(run, err) != TAMIS_OK)
        return err->status;
    while (tamis__kafka_merge_is_reading(run) && tamis__now_ns() - now < (uint64_t)SLICE_MS * 1000000) {
        rd_kafka_message_t *message = rd_kafka_consume_queue(merge->queue, 0);
        if (!message)
            break;
        tamis__kafka_merge_read(run, message);
        rd_kafka_message_destroy(message);
    }
    return TAMIS_OK;
}

/* ---- writing ---- */

size_t tamis__kafka_merge_records(const kafka_dedup_run *run) {
    return (run->merge.count + run->record_hashes - 1) / run->record_hashes;
}

size_t tamis__kafka_merge_first_hash(const kafka_dedup_run *run, size_t record) {
    const size_t records = tamis__kafka_merge_records(run);

    return records == 0 ? 0 : run->merge.count * record / records;
}

void tamis__kafka_merge_commit(kafka_dedup_run *run) {
    kafka_merge *merge = &run->merge;

    if (!merge->partition || !merge->partition->is_open ||
        !tamis__kafka_merge_is_ready(run, merge->partition))
        return;
    merge->partition->needed = merge->position;
    merge->count = 0;
    if (merge->position >= merge->end)
        tamis__kafka_merge_stop(run);
}
