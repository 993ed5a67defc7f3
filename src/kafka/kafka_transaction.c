/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The transactional producer.
 *
 *     make_producer (B1) --> open_transaction --> records (T2) --> commit: state records (T3, M), wait,
 *                                  ^                                offsets (T4), commit (T5), filters (T6)
 *                                  |                                        |
 *                                  +----------------------------------------+ done, or abort (T7)
 *
 * Errors of librdkafka's transactional calls are of four kinds:
 *
 *     retriable       the same call again: brokers are away, or a coordinator moves
 *     abortable       abort, and read again from the last commit (T7)
 *     fatal           this producer is useless: another has its id, or the brokers aborted a transaction that
 *                     was open too long (librdkafka 2.0 reports that as fatal too). The run makes a new one
 *                     (B1)
 *     any other       as fatal
 *
 * After a fatal error nobody knows whether the last transaction was committed. Nobody needs to know: the next
 * restore reads offset and state, which were committed together.
 *
 * A commit is given up only if the run must stop and the brokers do not answer. Its outcome is unknown then,
 * as after a fatal error. To abort instead of waiting would be no faster, since the abort needs the same
 * brokers, and the transaction may have been committed.
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "kafka/kafka_dedup_int.h"

enum {
    CALL_MS = 5000,        /* one transactional call; it is repeated if it is retriable */
    STOP_MS = 10000,       /* how long a run that must stop waits for the brokers */
    REMARK_MS = 10000,     /* until a remark says that the run waits for them */
    DELETED_MS = 3000,     /* wait for records until the brokers are asked whether a topic was deleted */
    FAILURES_REMARKED = 3, /* failed transactions in a row until a remark says so */
    FIRST_MS = 60000,      /* until the start fails, if the brokers do not answer the first producer */
    RECORDS_MAX = 1000000, /* records of a transaction; bounds the memory of the overlay */
    MISSING_RECORDS = 100, /* first records without any key until a remark says so */
    FULL_QUEUE_MS = 20,    /* pause while the queue of the producer is full */
    PAUSE_MS = 100,        /* pause after a failed transaction; doubled up to PAUSE_MAX_MS */
    PAUSE_MAX_MS = 5000
};

/* Reads and destroys an error of a transactional call; NULL: there was none. */
static kafka_outcome read_error(kafka_dedup_run *run, rd_kafka_error_t *failed) {
    if (!failed)
        return KAFKA_DONE;
    const bool is_fatal = rd_kafka_error_is_fatal(failed), is_retriable = rd_kafka_error_is_retriable(failed),
               is_abortable = rd_kafka_error_txn_requires_abort(failed);
    run->failed_code = rd_kafka_error_code(failed);
    rd_kafka_error_destroy(failed);
    if (is_fatal)
        return KAFKA_NEW_PRODUCER;
    if (is_abortable)
        return KAFKA_ABORT;
    return is_retriable ? KAFKA_AGAIN : KAFKA_NEW_PRODUCER;
}

/* A wait for brokers. Starts from zeros. */
typedef struct broker_wait {
    uint64_t since;
    bool has_remarked;
} broker_wait;

/* Called before a call is repeated. Reports a long wait. False if the run must stop and has waited STOP_MS
 * for the brokers: then nobody knows the outcome, as after a crash. */
static bool may_repeat(kafka_dedup_run *run, broker_wait *wait) {
    const uint64_t now = tamis__now_ns();
    if (wait->since == 0)
        wait->since = now;
    if (!wait->has_remarked && now - wait->since >= (uint64_t)REMARK_MS * 1000000) {
        const char *error = tamis__kafka_client_error(&run->client);
        wait->has_remarked = run->has_remarked_brokers = true;
        tamis__kafka_client_remark(&run->client, "%s: waits for the brokers%s%s", run->options.brokers,
                                   error[0] != '\0' ? ": " : "", error);
    }
    tamis__kafka_dedup_report_progress(run);
    if (!tamis__kafka_client_must_stop(&run->client))
        return true;
    if (run->stop_since == 0)
        run->stop_since = now;
    return now - run->stop_since < (uint64_t)STOP_MS * 1000000;
}

/* The outcome of a call that is not repeated any more. */
static kafka_outcome last_outcome(kafka_outcome outcome) {
    return outcome == KAFKA_AGAIN ? KAFKA_NEW_PRODUCER : outcome;
}

/* Waits after a failure, longer after each one. */
static void pause_after_failure(kafka_dedup_run *run) {
    struct pollfd stop = {.fd = run->options.stop_fd, .events = POLLIN};
    int milliseconds = PAUSE_MS;

    for (unsigned i = 0; i < run->failures && milliseconds < PAUSE_MAX_MS; i++)
        milliseconds *= 2;
    run->failures++;
    if (run->failures == FAILURES_REMARKED)
        tamis__kafka_client_remark(&run->client,
                                   "%s: %u transactions in a row have failed (%s); it tries again",
                                   run->options.group, run->failures, rd_kafka_err2str(run->failed_code));
    tamis__sys.poll(&stop, 1, milliseconds < PAUSE_MAX_MS ? milliseconds : PAUSE_MAX_MS);
}

/* ---- B1 ---- */

void tamis__kafka_dedup_destroy_producer(kafka_dedup_run *run) {
    if (!run->producer)
        return;
    if (run->is_open) { /* else readers of the output would wait for transaction.timeout.ms */
        rd_kafka_error_t *failed = rd_kafka_abort_transaction(run->producer, CALL_MS);
        if (failed)
            rd_kafka_error_destroy(failed);
        run->is_open = false;
    }
    rd_kafka_purge(run->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    for (size_t i = 0; i < KAFKA_OUTPUTS; i++) {
        if (run->outputs[i].topic)
            rd_kafka_topic_destroy(run->outputs[i].topic);
        run->outputs[i].topic = NULL;
    }
    if (run->state)
        rd_kafka_topic_destroy(run->state);
    tamis__kafka_client_close(&run->client, run->producer);
    run->producer = NULL;
    run->state = NULL;
}

/* Forgets the open transaction. */
static void forget_transaction(kafka_dedup_run *run) {
    if (run->is_open)
        run->committed.aborted++;
    for (size_t i = 0; i < run->client.partition_count; i++)
        tamis__kafka_partition_abort(&run->partitions[i]);
    run->is_open = false;
    run->undelivered = RD_KAFKA_RESP_ERR_NO_ERROR;
    run->open = (tamis_kafka_dedup_stats)TAMIS_KAFKA_DEDUP_STATS_INIT;
    tamis__kafka_dedup_drop_batch(run);
}

static tamis_status open_topic(rd_kafka_topic_t **topic, kafka_dedup_run *run, const char *name,
                               tamis_error *err) {
    *topic = rd_kafka_topic_new(run->producer, name, NULL);
    return *topic ? TAMIS_OK : tamis__kafka_client_fail(&run->client, name, rd_kafka_last_error(), err);
}

static tamis_status open_topics(kafka_dedup_run *run, tamis_error *err) {
    for (kafka_output *output = run->outputs; output < run->outputs + KAFKA_OUTPUTS; output++)
        if (output->name && open_topic(&output->topic, run, output->name, err) != TAMIS_OK)
            return err->status;
    return run->is_stateless ? TAMIS_OK : open_topic(&run->state, run, run->state_topic, err);
}

tamis_status tamis__kafka_dedup_make_producer(kafka_dedup_run *run, tamis_error *err) {
    const bool is_first = run->committed.assignments == 0;
    const uint64_t deadline = tamis__now_ns() + (uint64_t)FIRST_MS * 1000000;
    broker_wait wait = {0};
    kafka_outcome outcome;

    forget_transaction(run);
    if (run->needs_producer)
        pause_after_failure(run);
    run->needs_producer = false;
    tamis__kafka_dedup_destroy_producer(run);
    if (tamis__kafka_client_open(&run->producer, &run->client, KAFKA_PRODUCER, err) != TAMIS_OK ||
        open_topics(run, err) != TAMIS_OK)
        return err->status;
    do {
        outcome = read_error(run, rd_kafka_init_transactions(run->producer, CALL_MS));
        rd_kafka_poll(run->producer, 0);
        if (outcome == KAFKA_AGAIN && tamis__kafka_client_must_stop(&run->client))
            return TAMIS_OK;
    } while (outcome == KAFKA_AGAIN && !(is_first && tamis__now_ns() > deadline) && may_repeat(run, &wait));
    if (outcome != KAFKA_DONE)
        return tamis__kafka_client_fail(&run->client, run->transactional_id, run->failed_code, err);
    tamis__kafka_dedup_pause(run);
    return TAMIS_OK;
}

kafka_outcome tamis__kafka_dedup_open_transaction(kafka_dedup_run *run) {
    if (run->is_open)
        return KAFKA_DONE;
    if (read_error(run, rd_kafka_begin_transaction(run->producer)) != KAFKA_DONE)
        return KAFKA_NEW_PRODUCER;
    run->is_open = true;
    run->open_since = tamis__now_ns();
    return KAFKA_DONE;
}

/* ---- transactions without a record ---- */

static bool needs_transaction(const kafka_dedup_run *run, const kafka_partition *partition) {
    return partition->stage == KAFKA_JOINED && partition->input->is_assigned && !partition->is_open &&
           !run->is_stateless && (!partition->has_chain || tamis__kafka_merge_is_ready(run, partition));
}

bool tamis__kafka_dedup_needs_transaction(const kafka_dedup_run *run) {
    for (size_t i = 0; i < run->client.partition_count; i++)
        if (needs_transaction(run, &run->partitions[i]))
            return true;
    return false;
}

kafka_outcome tamis__kafka_dedup_open_empty(kafka_dedup_run *run) {
    const kafka_outcome outcome = tamis__kafka_dedup_open_transaction(run);

    for (size_t i = 0; i < run->client.partition_count && outcome == KAFKA_DONE; i++)
        if (needs_transaction(run, &run->partitions[i]))
            run->partitions[i].is_open = true;
    return outcome;
}

bool tamis__kafka_dedup_is_due(const kafka_dedup_run *run) {
    return run->is_open && (run->open.records >= RECORDS_MAX ||
                            tamis__kafka_wait_ms(run->is_open, run->open_since, run->options.commit_ms) == 0);
}

kafka_outcome tamis__kafka_dedup_enqueue(kafka_dedup_run *run, const rd_kafka_vu_t *parts, size_t count,
                                         const char *topic, tamis_error *err) {
    broker_wait wait = {0};

    for (;;) {
        rd_kafka_error_t *failed = rd_kafka_produceva(run->producer, parts, count);
        if (!failed)
            return KAFKA_DONE;
        const rd_kafka_resp_err_t code = rd_kafka_error_code(failed);
        rd_kafka_error_destroy(failed);
        if (code == RD_KAFKA_RESP_ERR__FATAL || code == RD_KAFKA_RESP_ERR__FENCED) {
            run->failed_code = code;
            return KAFKA_NEW_PRODUCER;
        }
        if (code == RD_KAFKA_RESP_ERR__STATE) /* the brokers refuse the transaction */
            return KAFKA_ABORT;
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL || rd_kafka_outq_len(run->producer) == 0) {
            tamis__kafka_client_fail(&run->client, topic, code, err);
            return KAFKA_FAILED;
        }
        if (!may_repeat(run, &wait)) {
            run->failed_code = RD_KAFKA_RESP_ERR__TIMED_OUT;
            return KAFKA_NEW_PRODUCER;
        }
        rd_kafka_poll(run->producer, FULL_QUEUE_MS);
    }
}

/* ---- T3 ---- */

/* The keys of a state record. */
typedef struct record_keys {
    const tamis_hash *hashes;
    const int64_t *times; /* NULL: no window */
} record_keys;

/* Queues a state record. Sets its `bytes_before`. */
static kafka_outcome produce_record(kafka_dedup_run *run, kafka_partition *partition,
                                    tamis__kafka_record *record, record_keys keys, tamis_error *err) {
    record->bytes_before = partition->bytes_next;
    const size_t size = tamis__kafka_record_encode(run->record_bytes, record, keys.hashes, keys.times);
    partition->bytes_next += size;
    const rd_kafka_vu_t parts[] = {{.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = run->state},
                                   {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = partition->number},
                                   {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {run->record_bytes, size}},
                                   {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = partition},
                                   {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY}};

    return tamis__kafka_dedup_enqueue(run, parts, sizeof parts / sizeof *parts, run->state_topic, err);
}

/* M: queues state records with the hashes of old ones. */
static kafka_outcome produce_copies(kafka_dedup_run *run, kafka_partition *partition,
                                    const tamis__kafka_record *plain, tamis_error *err) {
    tamis__kafka_record record = *plain;
    kafka_outcome outcome = KAFKA_DONE;

    record.to = record.from;
    record.newest = -1;
    for (size_t i = 0; i < tamis__kafka_merge_records(run) && outcome == KAFKA_DONE; i++) {
        const size_t first = tamis__kafka_merge_first_hash(run, i);
        record.count = tamis__kafka_merge_first_hash(run, i + 1) - first;
        outcome =
            produce_record(run, partition, &record, (record_keys){run->merge.hashes + first, NULL}, err);
    }
    return outcome;
}

/* Queues the state records of a partition: at least one, and the last one moves `to`. */
static kafka_outcome produce_records(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err) {
    const tamis__overlay *overlay = &partition->overlay;
    const bool has_copies = tamis__kafka_merge_is_ready(run, partition);
    const size_t total = overlay->count;
    tamis__kafka_record record = {.partition = (uint32_t)partition->number,
                                  .timed = run->has_window,
                                  .bits = run->keys.size.bits,
                                  .step = run->plan.step,
                                  .from = partition->to,
                                  .needed = has_copies ? run->merge.position : partition->needed,
                                  .description = run->description,
                                  .description_size = strlen(run->description)};
    size_t first = 0;

    partition->bytes_next = partition->bytes;
    kafka_outcome outcome = has_copies ? produce_copies(run, partition, &record, err) : KAFKA_DONE;
    if (outcome != KAFKA_DONE)
        return outcome;
    do {
        const size_t left = total - first;
        record.count = left < run->record_hashes ? left : run->record_hashes;
        record.to = record.count == left ? partition->next : partition->to;
        /* Keys of later records may be older, so only the last one moves the newest time. */
        record.newest = record.count == left ? partition->newest_next : partition->newest;
        record.begins = first == 0 && !partition->has_chain;
        outcome = total == 0
                      ? produce_record(run, partition, &record, (record_keys){NULL, NULL}, err)
                      : produce_record(run, partition, &record,
                                       (record_keys){overlay->hashes + first, overlay->times + first}, err);
        first += record.count;
    } while (outcome == KAFKA_DONE && first < total);
    return outcome;
}

void tamis__kafka_dedup_on_delivery(rd_kafka_t *producer, const rd_kafka_message_t *message, void *context) {
    kafka_dedup_run *run = context;
    kafka_partition *partition = message->_private; /* of a state record */

    (void)producer;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        if (partition) {
            run->is_state_replaced |= (uint64_t)message->offset < partition->covers;
            partition->covers_next = (uint64_t)message->offset + 1;
        }
    } else if (message->err != RD_KAFKA_RESP_ERR__PURGE_QUEUE &&
               message->err != RD_KAFKA_RESP_ERR__PURGE_INFLIGHT &&
               run->undelivered == RD_KAFKA_RESP_ERR_NO_ERROR) {
        run->undelivered = message->err;
        run->undelivered_to = run->state_topic;
        for (size_t i = 0; i < KAFKA_OUTPUTS; i++)
            if (message->rkt == run->outputs[i].topic)
                run->undelivered_to = run->outputs[i].name;
    }
}

/* Waits until the brokers have acknowledged all records. */
static kafka_outcome await_delivery(kafka_dedup_run *run, tamis_error *err) {
    broker_wait wait = {0};

    while (rd_kafka_flush(run->producer, TAMIS__KAFKA_SLICE) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        if (rd_kafka_fatal_error(run->producer, NULL, 0) != RD_KAFKA_RESP_ERR_NO_ERROR)
            return KAFKA_NEW_PRODUCER;
        if (run->undelivered != RD_KAFKA_RESP_ERR_NO_ERROR)
            return KAFKA_ABORT;
        if (!may_repeat(run, &wait))
            return KAFKA_NEW_PRODUCER;
        if (tamis__now_ns() - wait.since >= (uint64_t)DELETED_MS * 1000000 &&
            tamis__kafka_dedup_has_lost_topic(run, err))
            return KAFKA_FAILED;
    }
    if (run->is_state_replaced) {
        tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "%s: was made again, and has lost the keys of all earlier records; begin again with another "
            "group and new output topics",
            run->state_topic);
        return KAFKA_FAILED;
    }
    return run->undelivered == RD_KAFKA_RESP_ERR_NO_ERROR ? KAFKA_DONE : KAFKA_ABORT;
}

/* ---- T4, T5 ---- */

static kafka_outcome send_offsets(kafka_dedup_run *run) {
    rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new((int)run->client.assigned);
    broker_wait wait = {0};
    kafka_outcome outcome;

    for (size_t i = 0; i < run->client.partition_count; i++) {
        if (!run->partitions[i].is_open)
            continue;
        rd_kafka_topic_partition_t *offset =
            rd_kafka_topic_partition_list_add(offsets, run->options.from, (int32_t)i);
        offset->offset = (int64_t)run->partitions[i].next;
        if (run->route[0] != '\0') {
            offset->metadata = strdup(run->route); /* librdkafka frees it */
            offset->metadata_size = offset->metadata ? strlen(run->route) : 0;
        }
    }
    do
        outcome = read_error(
            run, rd_kafka_send_offsets_to_transaction(run->producer, offsets, run->membership, CALL_MS));
    while (outcome == KAFKA_AGAIN && may_repeat(run, &wait));
    rd_kafka_topic_partition_list_destroy(offsets);
    return last_outcome(outcome);
}

static kafka_outcome commit_transaction(kafka_dedup_run *run) {
    broker_wait wait = {0};
    kafka_outcome outcome;

    do
        outcome = read_error(run, rd_kafka_commit_transaction(run->producer, CALL_MS));
    while (outcome == KAFKA_AGAIN && may_repeat(run, &wait));
    return last_outcome(outcome);
}

/* Adds the statistics of the open transaction to those of the run. */
static void add_stats(kafka_dedup_run *run) {
    tamis_kafka_dedup_stats *sum = &run->committed;

    sum->records += run->open.records;
    sum->unique += run->open.unique;
    sum->duplicates += run->open.duplicates;
    sum->missing += run->open.missing;
    sum->malformed += run->open.malformed;
    sum->late += run->open.late;
    sum->transactions++;
    sum->committed_at = tamis__sys.now_unix_ms();
    if (!run->has_remarked_missing && sum->records >= MISSING_RECORDS && sum->missing == sum->records) {
        run->has_remarked_missing = true;
        tamis__kafka_client_remark(&run->client,
                                   "%s: none of the first %" PRIu64
                                   " records has a key, so they are not looked up; see how the key is chosen",
                                   run->options.from, sum->records);
    }
    run->open = (tamis_kafka_dedup_stats)TAMIS_KAFKA_DEDUP_STATS_INIT;
}

kafka_outcome tamis__kafka_dedup_commit(kafka_dedup_run *run, tamis_error *err) {
    kafka_outcome outcome = KAFKA_DONE;

    if (!run->is_open)
        return KAFKA_DONE;
    for (size_t i = 0; i < run->client.partition_count && outcome == KAFKA_DONE; i++)
        if (run->partitions[i].is_open && !run->is_stateless)
            outcome = produce_records(run, &run->partitions[i], err); /* T3 */
    if (outcome == KAFKA_DONE)
        outcome = await_delivery(run, err);
    if (outcome == KAFKA_DONE)
        outcome = send_offsets(run); /* T4 */
    if (outcome == KAFKA_DONE)
        outcome = commit_transaction(run); /* T5 */
    if (outcome == KAFKA_FAILED)
        run->needs_producer = true; /* it has some of its state records, and must not get them twice */
    if (outcome != KAFKA_DONE)
        return outcome;
    run->is_open = false;
    if (run->has_remarked_brokers || run->failures >= FAILURES_REMARKED)
        tamis__kafka_client_remark(&run->client, "%s: transactions are committed again", run->options.group);
    run->has_remarked_brokers = false;
    run->failures = 0;
    add_stats(run);
    tamis__kafka_merge_commit(run);
    for (size_t i = 0; i < run->client.partition_count; i++)
        if (tamis__kafka_partition_commit(run, &run->partitions[i], err) != TAMIS_OK) /* T6 */
            return KAFKA_FAILED;
    tamis__kafka_dedup_cut_state(run);
    return KAFKA_DONE;
}

/* ---- T7 ---- */

/* True if the brokers will refuse the same record again. */
static bool is_permanent(rd_kafka_resp_err_t code) {
    switch (code) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
        return true;
    default:
        return false;
    }
}

/* Finds the error because of which the brokers refuse the open transaction. Any call that the state of the
 * transaction does not allow returns this error. */
static rd_kafka_resp_err_t find_refusal(kafka_dedup_run *run) {
    rd_kafka_error_t *failed = rd_kafka_begin_transaction(run->producer);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__STATE;

    if (failed)
        code = rd_kafka_error_code(failed);
    rd_kafka_error_destroy(failed);
    return code == RD_KAFKA_RESP_ERR__STATE ? run->failed_code : code;
}

/* Names what the brokers refuse with run->failed_code. They do not say which topic they mean if they
 * refuse to add it to the transaction. */
static void name_refused(const kafka_dedup_run *run, bool is_delivery, char *name, size_t size) {
    size_t used = 0;

    if (is_delivery || run->failed_code != RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
        snprintf(name, size, "%s", is_delivery ? run->undelivered_to : run->transactional_id);
        return;
    }
    for (size_t i = 0; i < KAFKA_OUTPUTS; i++)
        if (run->outputs[i].name)
            used += (size_t)snprintf(name + used, size - used, "%s%.60s", used > 0 ? ", " : "",
                                     run->outputs[i].name);
    if (!run->is_stateless)
        snprintf(name + used, size - used, " or %.60s", run->state_topic);
}

kafka_outcome tamis__kafka_dedup_abort(kafka_dedup_run *run, tamis_error *err) {
    const bool is_open = run->is_open, is_delivery = run->undelivered != RD_KAFKA_RESP_ERR_NO_ERROR;
    char refused[TAMIS__KAFKA_NAME];
    broker_wait wait = {0};
    kafka_outcome outcome;

    if (is_open)
        run->failed_code = is_delivery ? run->undelivered : find_refusal(run);
    const rd_kafka_resp_err_t code = run->failed_code;
    name_refused(run, is_delivery, refused, sizeof refused);
    forget_transaction(run);
    if (!is_open)
        return KAFKA_DONE;
    do
        outcome = read_error(run, rd_kafka_abort_transaction(run->producer, CALL_MS));
    while (outcome == KAFKA_AGAIN && may_repeat(run, &wait));
    rd_kafka_poll(run->producer, 0); /* reports of the aborted records */
    run->undelivered = RD_KAFKA_RESP_ERR_NO_ERROR;
    run->failed_code = code;
    if (is_permanent(code)) {
        if (!tamis__kafka_dedup_find_deleted(run, err))
            tamis__kafka_client_fail(&run->client, refused, code, err);
        return KAFKA_FAILED;
    }
    if (outcome != KAFKA_DONE)
        return KAFKA_NEW_PRODUCER;
    pause_after_failure(run);
    if (run->client.phase == KAFKA_RUNNING && tamis__kafka_dedup_seek(run, err) != TAMIS_OK)
        return KAFKA_FAILED;
    return KAFKA_DONE;
}

tamis_status tamis__kafka_dedup_apply(kafka_dedup_run *run, kafka_outcome outcome, tamis_error *err) {
    if (outcome == KAFKA_ABORT)
        outcome = tamis__kafka_dedup_abort(run, err);
    if (outcome == KAFKA_NEW_PRODUCER)
        run->needs_producer = true;
    return outcome == KAFKA_FAILED ? err->status : TAMIS_OK;
}
