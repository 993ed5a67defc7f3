/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * T1 and T2: the path of a record.
 *
 *     poll --> batch --> keys, hashes --> filter --> overlay --> output
 *                        (of the batch)   (runs of a partition)    or duplicates, or dropped
 *
 * With a window a key has a time, and the newest time of the partition moves with each record. The filter and
 * the newest time of committed records stay as they are until the commit; overlay and `newest_next` have the
 * rest. So a record that is read again after an abort gets the same answer.
 *
 * Records are looked up in batches, so that the cache misses of the filter overlap. The records of a batch
 * that belong to one partition follow each other: librdkafka delivers them in such runs.
 *
 * The first record of a batch opens a transaction. It is committed when it is old enough, also if no further
 * record comes. An open transaction would hold back all readers of the output, and would be aborted by the
 * brokers.
 *
 * Records keep key, value, headers and timestamp. NULL and empty differ: the value NULL is a tombstone.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/system.h"
#include "kafka/kafka_dedup_int.h"

enum {
    SAMPLE = 64,        /* one in this many new keys is looked up in another partition */
    SAMPLE_MAX = 10000, /* lookups in other partitions; after them the check ends */
    HITS = 3            /* keys found elsewhere that are reported; a single one may be a false positive */
};

void tamis__kafka_dedup_drop_batch(kafka_dedup_run *run) {
    for (size_t i = 0; i < run->batch_count; i++)
        rd_kafka_message_destroy(run->batch[i]);
    run->batch_count = 0;
}

/* ---- T2: writing a record ---- */

/* Where a record goes. */
typedef struct destination {
    int output;         /* KAFKA_UNIQUE and so on */
    int32_t partition;  /* -1: as the record says */
    const char *reason; /* why it is a dead letter, which a header says; NULL: it is none */
} destination;

static const destination as_unique = {KAFKA_UNIQUE, -1, NULL}, as_duplicate = {KAFKA_DUPLICATES, -1, NULL};

/* Copies a record into the queue of the producer. */
static kafka_outcome produce(kafka_dedup_run *run, const rd_kafka_message_t *message, const destination *to,
                             tamis_error *err) {
    const kafka_output *output = &run->outputs[to->output];
    rd_kafka_headers_t *headers = NULL;
    rd_kafka_timestamp_type_t type;
    int32_t partition = to->partition;

    if (!output->name)
        return KAFKA_DONE;
    if (partition < 0)
        partition =
            output->partitions == run->client.partition_count ? message->partition : RD_KAFKA_PARTITION_UA;
    const int64_t timestamp = rd_kafka_message_timestamp(message, &type);
    rd_kafka_vu_t parts[7] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = output->topic},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = partition},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {message->key, message->key_len}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {message->payload, message->len}},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP,
         .u.i64 = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || timestamp < 0 ? 0 : timestamp},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY}};
    size_t count = 6;

    if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR)
        headers = rd_kafka_headers_copy(headers);
    if (to->reason) {
        if (!headers)
            headers = rd_kafka_headers_new(1);
        rd_kafka_header_add(headers, "tamis.error", -1, to->reason, -1);
    }
    if (headers)
        parts[count++] = (rd_kafka_vu_t){.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers};
    const kafka_outcome outcome = tamis__kafka_dedup_enqueue(run, parts, count, output->name, err);
    if (outcome != KAFKA_DONE && headers)
        rd_kafka_headers_destroy(headers); /* else they belong to the producer now */
    if (outcome == KAFKA_FAILED) {
        const tamis_error why = *err;
        tamis__fail(err, why.status, why.sys_errno, "%s [%d]: offset %" PRId64 ": %s", run->options.from,
                    (int)message->partition, message->offset, why.text);
    }
    return outcome;
}

/* ---- T1: answering a batch ---- */

/* Looks committed keys up. Their times are read only with a window. */
static tamis_status query_filter(const kafka_dedup_run *run, const kafka_partition *partition,
                                 const tamis_timed_hashes *keys, tamis_answer *answers, tamis_error *err) {
    if (run->has_window)
        return tamis_window_contains(partition->filter, keys, answers, err);
    return tamis_filter_contains_hashes(partition->filter, keys->hashes, keys->count, answers, NULL, err);
}

/* Looks up the keys of records `first` to `end` - 1, which are of one partition, in its filter. answer_one
 * finds keys that are late compared with the open transaction. */
static tamis_status look_up(kafka_dedup_run *run, const kafka_partition *partition, size_t first, size_t end,
                            tamis_error *err) {
    tamis_hash hashes[TAMIS__KAFKA_BATCH];
    int64_t times[TAMIS__KAFKA_BATCH];
    tamis_answer answers[TAMIS__KAFKA_BATCH];
    tamis_timed_hashes keys = {hashes, times, 0};
    size_t count = 0;

    for (size_t i = first; i < end; i++) {
        if (run->found[i].outcome != TAMIS_KEY_FOUND)
            continue;
        tamis__overlay_prefetch(&partition->overlay, &run->found[i].hash);
        hashes[keys.count] = run->found[i].hash;
        times[keys.count++] = run->found[i].time;
    }
    if (keys.count > 0 && query_filter(run, partition, &keys, answers, err) != TAMIS_OK)
        return err->status;
    for (size_t i = first; i < end; i++)
        run->answers[i] = run->found[i].outcome == TAMIS_KEY_FOUND ? answers[count++] : TAMIS_UNKNOWN;
    return TAMIS_OK;
}

/* The run would stop at this record: writes it to the topic of dead letters, or fails. */
static kafka_outcome answer_failed(kafka_dedup_run *run, const rd_kafka_message_t *message,
                                   const kafka_found *found, tamis_error *err) {
    char where[80], why[400];
    size_t used = (size_t)snprintf(where, sizeof where, "offset %" PRId64, message->offset);

    if (found->pos != SIZE_MAX)
        snprintf(where + used, sizeof where - used, ", byte %zu", found->pos + 1);
    snprintf(why, sizeof why, "%.150s [%d]: %s: %s", run->options.from, (int)message->partition, where,
             found->why);
    if (run->outputs[KAFKA_DEAD_LETTERS].name)
        return produce(run, message, &(destination){KAFKA_DEAD_LETTERS, -1, why}, err);
    tamis__fail(err, found->outcome == TAMIS_KEY_MALFORMED ? TAMIS_E_RECORD : TAMIS_E_NO_KEY, 0,
                "%s; correct the sender, give a topic for dead letters, or pass or drop such records", why);
    return KAFKA_FAILED;
}

/* Answers a record without a key or a malformed one. */
static kafka_outcome answer_other(kafka_dedup_run *run, const rd_kafka_message_t *message,
                                  const kafka_found *found, tamis_error *err) {
    const bool is_malformed = found->outcome == TAMIS_KEY_MALFORMED;
    const tamis_stream_policy policy = is_malformed ? run->options.malformed : run->options.missing;
    kafka_outcome outcome = KAFKA_DONE;

    if (policy == TAMIS_STREAM_FAIL)
        outcome = answer_failed(run, message, found, err);
    else if (policy == TAMIS_STREAM_PASS)
        outcome = produce(run, message, &as_unique, err);
    if (outcome != KAFKA_DONE)
        return outcome;
    if (is_malformed)
        run->open.malformed++;
    else
        run->open.missing++;
    return KAFKA_DONE;
}

/* Answers a record that is too old for the window, or ahead of the clock. */
static kafka_outcome answer_late(kafka_dedup_run *run, const rd_kafka_message_t *message, bool is_ahead,
                                 tamis_error *err) {
    const kafka_outcome outcome =
        run->options.late == TAMIS_STREAM_PASS ? produce(run, message, &as_unique, err) : KAFKA_DONE;

    if (is_ahead && !run->has_remarked_ahead) {
        run->has_remarked_ahead = true;
        tamis__kafka_client_remark(
            &run->client,
            "%s [%d]: offset %" PRId64
            ": its time is ahead of the clock of this host; such records are treated as late ones. "
            "Correct the clock of the sender, or this one",
            run->options.from, (int)message->partition, message->offset);
    }
    run->open.late += outcome == KAFKA_DONE;
    return outcome;
}

/* True if the key came in the open transaction, within the window before its time. The filter compares times
 * by whole steps, and so does this. */
static bool is_in_overlay(const kafka_dedup_run *run, const kafka_partition *partition,
                          const kafka_found *found) {
    const int64_t step = (int64_t)run->plan.step, window = (int64_t)run->plan.window;

    if (!run->has_window)
        return tamis__overlay_has(&partition->overlay, &found->hash, 0, 0);
    const int64_t from = found->time > window ? (found->time - window) / step * step : 0;
    const int64_t to = found->time / step * step + step - 1;
    return tamis__overlay_has(&partition->overlay, &found->hash, from, to);
}

/* Looks a new key up in another partition of this member, and reports if equal keys come in several (K8).
 * Only a sample is looked up, each key in one other partition: producers that do not put equal keys
 * together do so all the time. */
static void check_partitions(kafka_dedup_run *run, const kafka_partition *partition,
                             const kafka_found *found) {
    const tamis_timed_hashes key = {&found->hash, &found->time, 1};
    tamis_answer answer = TAMIS_ABSENT;

    if (run->sampled == SAMPLE_MAX || found->hash.word[0] % SAMPLE != 0)
        return;
    run->sample_other = (run->sample_other + 1) % run->client.partition_count;
    const kafka_partition *other = &run->partitions[run->sample_other];
    if (other == partition || !other->input->is_assigned || other->stage != KAFKA_JOINED ||
        query_filter(run, other, &key, &answer, NULL) != TAMIS_OK)
        return;
    const bool is_there =
        answer == TAMIS_PRESENT || tamis__overlay_has(&other->overlay, &found->hash, 0, TAMIS_TIME_MAX);
    run->sampled++;
    run->found_elsewhere += is_there;
    if (!is_there || run->found_elsewhere < HITS ||
        (double)run->found_elsewhere < 100 * run->plan.fpr * (double)run->sampled)
        return;
    run->sampled = SAMPLE_MAX;
    tamis__kafka_client_remark(
        &run->client,
        "%s: equal keys come in partitions %d and %d, and each partition passes them on once; "
        "let producers give records a key in Kafka that depends on this key alone, or repartition the topic "
        "first",
        run->options.from, (int)other->number, (int)partition->number);
}

/* Answers a record with a key, after the lookup in the filter. */
static kafka_outcome answer_key(kafka_dedup_run *run, kafka_partition *partition, size_t i,
                                tamis_error *err) {
    const kafka_found *found = &run->found[i];
    const bool is_unique = run->answers[i] != TAMIS_PRESENT && !is_in_overlay(run, partition, found);

    if (is_unique && tamis__kafka_partition_add(run, partition, found, err) != TAMIS_OK)
        return KAFKA_FAILED;
    if (is_unique)
        check_partitions(run, partition, found);
    const kafka_outcome outcome = produce(run, run->batch[i], is_unique ? &as_unique : &as_duplicate, err);
    if (outcome != KAFKA_DONE) { /* the run may end with a commit of the records before */
        if (is_unique)
            tamis__overlay_undo(&partition->overlay);
        return outcome;
    }
    if (is_unique)
        run->open.unique++;
    else
        run->open.duplicates++;
    return KAFKA_DONE;
}

/* Copies a record to the partition of its key, or to the output of its answer. */
static kafka_outcome answer_without_state(kafka_dedup_run *run, size_t i, tamis_error *err) {
    const bool is_present = run->list && run->answers[i] == TAMIS_PRESENT;
    const destination target = {is_present ? KAFKA_DUPLICATES : KAFKA_UNIQUE, run->found[i].target, NULL};
    const kafka_outcome outcome = produce(run, run->batch[i], &target, err);

    if (outcome == KAFKA_DONE)
        *(is_present ? &run->open.duplicates : &run->open.unique) += 1;
    return outcome;
}

static kafka_outcome answer_one(kafka_dedup_run *run, kafka_partition *partition, size_t i,
                                tamis_error *err) {
    const rd_kafka_message_t *message = run->batch[i];
    const kafka_found *found = &run->found[i];
    int64_t newest = partition->newest_next;
    kafka_outcome outcome;

    if ((uint64_t)message->offset < partition->next)
        return KAFKA_DONE; /* answered already */
    if (found->outcome != TAMIS_KEY_FOUND) {
        outcome = answer_other(run, message, found, err);
    } else if (run->is_stateless) {
        outcome = answer_without_state(run, i, err);
    } else if (found->is_ahead) {
        outcome = answer_late(run, message, true, err);
    } else {
        if (run->has_window && found->time > newest)
            newest = found->time;
        outcome = run->has_window && found->time < newest - (int64_t)run->plan.lateness
                      ? answer_late(run, message, false, err)
                      : answer_key(run, partition, i, err);
    }
    if (outcome != KAFKA_DONE)
        return outcome;
    partition->newest_next = newest;
    partition->next = (uint64_t)message->offset + 1;
    partition->input->position = partition->next;
    partition->is_open = true;
    run->open.records++;
    return KAFKA_DONE;
}

static kafka_outcome answer_batch(kafka_dedup_run *run, tamis_error *err) {
    kafka_outcome outcome = tamis__kafka_dedup_open_transaction(run);

    if (outcome != KAFKA_DONE)
        return outcome;
    if (tamis__kafka_keys_find(run, err) != TAMIS_OK)
        return KAFKA_FAILED;
    for (size_t first = 0, end; first < run->batch_count; first = end) {
        kafka_partition *partition = tamis__kafka_partition(run, run->batch[first]->partition);
        for (end = first + 1; end < run->batch_count; end++)
            if (run->batch[end]->partition != run->batch[first]->partition)
                break;
        if (!partition || !partition->input->is_assigned || partition->stage != KAFKA_JOINED)
            continue;
        if (!run->is_stateless && look_up(run, partition, first, end, err) != TAMIS_OK)
            return KAFKA_FAILED;
        for (size_t i = first; i < end && outcome == KAFKA_DONE; i++)
            outcome = answer_one(run, partition, i, err);
        if (outcome != KAFKA_DONE)
            return outcome;
    }
    return KAFKA_DONE;
}

kafka_outcome tamis__kafka_dedup_answer(kafka_dedup_run *run, tamis_error *err) {
    if (run->batch_count == 0)
        return KAFKA_DONE;
    const kafka_outcome outcome = answer_batch(run, err);
    tamis__kafka_dedup_drop_batch(run);
    return outcome;
}

kafka_outcome tamis__kafka_dedup_forward(kafka_dedup_run *run, tamis_error *err) {
    while (run->batch_count < TAMIS__KAFKA_BATCH) {
        int wait = 0;
        if (run->batch_count == 0)
            wait = tamis__kafka_wait_ms(run->is_open, run->open_since, run->options.commit_ms);
        if (wait > run->poll_ms)
            wait = run->poll_ms;
        rd_kafka_message_t *message;
        if (tamis__kafka_client_poll(&run->client, wait, &message, err) != TAMIS_OK)
            return KAFKA_FAILED;
        if (!message)
            break;
        /* A rebalance in the poll has emptied the batch before. */
        run->batch[run->batch_count++] = message;
    }
    const kafka_outcome outcome = tamis__kafka_dedup_answer(run, err);
    if (run->producer)
        rd_kafka_poll(run->producer, 0);
    if (outcome != KAFKA_DONE)
        return outcome;
    if (run->undelivered != RD_KAFKA_RESP_ERR_NO_ERROR)
        return KAFKA_ABORT;
    return tamis__kafka_dedup_is_due(run) ? tamis__kafka_dedup_commit(run, err) : KAFKA_DONE;
}
