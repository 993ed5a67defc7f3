/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * C1 to C6: records are added up in memory, and the sums are sent to Redis.
 *
 *     poll --> values of each template --> name of a counter --> batch --> scripts --> offset of the group
 *              (of up to 1024 records)     (of each record)      (a second, or many counters)
 *
 * A batch has the contributions of all records since the last script; up to 1024 records are polled together
 * and added to it. It is due after commit_ms, or when it has so many counters and elements that a script
 * would hold up other clients of the server. It does not matter how many records it has.
 *
 * A record that ends the run, such as a malformed one, is not in the batch; those before it are, and are
 * counted.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/system.h"
#include "kafka/kafka_count_int.h"

enum { MISSING_RECORDS = 100 };                 /* first records without any counter until a remark says so */
static const uint64_t PROGRESS_NS = 1000000000; /* between two calls of options.progress */

void tamis__kafka_count_forget(kafka_count_run *run) {
    run->open = (tamis_kafka_count_stats){0};
    run->is_open = false;
}

/* ---- C1 to C3 ---- */

/* Handles a record without a counter of this template. An error ends the run. */
static tamis_status handle_other(kafka_count_run *run, const rd_kafka_message_t *message,
                                 const kafka_counter *counter, const kafka_template *template,
                                 tamis_error *err) {
    const bool is_malformed = counter->outcome == TAMIS_KEY_MALFORMED;
    char byte[32] = "";

    if ((is_malformed ? run->options.malformed : run->options.missing) != TAMIS_STREAM_FAIL)
        return TAMIS_OK;
    if (is_malformed && counter->pos != SIZE_MAX)
        snprintf(byte, sizeof byte, ", byte %zu", counter->pos + 1);
    if (is_malformed)
        return tamis__fail(
            err, TAMIS_E_RECORD, 0,
            "%s [%d]: offset %" PRId64 "%s: %s '%.150s': %s; correct the sender, or skip malformed records",
            run->options.from, (int)message->partition, message->offset, byte,
            tamis__kafka_template_word(template), tamis__kafka_template_text(template), counter->why);
    return tamis__fail(err, TAMIS_E_NO_KEY, 0,
                       "%s [%d]: offset %" PRId64
                       ": %s '%.150s': the record lacks a value; correct the sender, or drop such records",
                       run->options.from, (int)message->partition, message->offset,
                       tamis__kafka_template_word(template), tamis__kafka_template_text(template));
}

/* Finds the counters of record i. Fails if the record ends the run; then none of its contributions is
 * added. */
static tamis_status find_counters(kafka_count_run *run, const rd_kafka_message_t *message, size_t i,
                                  tamis_error *err) {
    for (size_t k = 0; k < run->template_count; k++) {
        kafka_counter *counter = &run->counters[k];
        tamis__kafka_template_find(run->templates[k], message, i, counter);
        if (counter->outcome != TAMIS_KEY_FOUND &&
            handle_other(run, message, counter, run->templates[k], err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

/* Adds record i to the batch. */
static tamis_status add_record(kafka_count_run *run, const rd_kafka_message_t *message, size_t i,
                               tamis_error *err) {
    bool is_counted;

    if (find_counters(run, message, i, err) != TAMIS_OK)
        return err->status;
    for (size_t k = 0; k < run->template_count; k++) {
        const kafka_counter *counter = &run->counters[k];
        run->open.missing += counter->outcome == TAMIS_KEY_MISSING;
        run->open.malformed += counter->outcome == TAMIS_KEY_MALFORMED;
        if (counter->outcome != TAMIS_KEY_FOUND)
            continue;
        const bool expires = run->options.expire_ms > 0 && counter->period_end > 0;
        if (expires && !run->has_remarked_expired &&
            counter->period_end + (int64_t)run->options.expire_ms <= tamis__sys.now_unix_ms()) {
            run->has_remarked_expired = true;
            tamis__kafka_client_remark(&run->client,
                                       "%s [%d]: offset %" PRId64
                                       ": its counter has expired, so Redis removes it at "
                                       "once; such records are counted, but nobody sees it",
                                       run->options.from, (int)message->partition, message->offset);
        }
        const tamis__contribution added = {
            .counter = {counter->name, counter->size},
            .count = counter->count,
            .element = counter->element,
            .expires = expires ? (uint64_t)counter->period_end + run->options.expire_ms : 0,
            .partition = (uint32_t)message->partition,
            .offset = (uint64_t)message->offset};
        if (tamis__counts_add(run->counts, &added, &is_counted, err) != TAMIS_OK) {
            tamis__kafka_count_forget(run); /* the batch has a part of the record */
            return err->status;
        }
        run->open.counted += !is_counted;
        run->open.repeated += is_counted;
    }
    run->open.records++;
    run->next[message->partition] = (uint64_t)message->offset + 1;
    /* The end may have been reported already, behind records that are not delivered. */
    if (run->client.inputs[message->partition].position < run->next[message->partition])
        run->client.inputs[message->partition].position = run->next[message->partition];
    if (!run->is_open)
        run->open_since = tamis__now_ns();
    run->is_open = true;
    return TAMIS_OK;
}

static tamis_status add_records(kafka_count_run *run, rd_kafka_message_t *const *messages, size_t count,
                                tamis_error *err) {
    for (size_t k = 0; k < run->template_count; k++)
        if (tamis__kafka_template_read(run->templates[k], messages, count, err) != TAMIS_OK)
            return err->status;
    for (size_t i = 0; i < count; i++)
        if (add_record(run, messages[i], i, err) != TAMIS_OK)
            return err->status;
    return TAMIS_OK;
}

/* Milliseconds until the batch is due, at most a slice. */
static int wait_ms(const kafka_count_run *run) {
    return tamis__kafka_wait_ms(run->is_open, run->open_since, run->options.commit_ms);
}

tamis_status tamis__kafka_count_records(kafka_count_run *run, tamis_error *err) {
    rd_kafka_message_t *messages[TAMIS__KAFKA_BATCH];
    tamis_status status = TAMIS_OK;
    const uint64_t assignments = run->committed.assignments;
    size_t count = 0;

    while (count < TAMIS__KAFKA_BATCH && status == TAMIS_OK) {
        status = tamis__kafka_client_poll(&run->client, count == 0 ? wait_ms(run) : 0, &messages[count], err);
        if (status != TAMIS_OK || !messages[count])
            break;
        count++;
    }
    /* A rebalance in a poll ends the assignment: records from before it come again. */
    if (status == TAMIS_OK && run->client.phase == KAFKA_RUNNING && assignments == run->committed.assignments)
        status = add_records(run, messages, count, err);
    for (size_t i = 0; i < count; i++)
        rd_kafka_message_destroy(messages[i]);
    if (status == TAMIS_OK && run->is_open &&
        (wait_ms(run) == 0 || tamis__counts_batch_is_large(run->counts)))
        status = tamis__kafka_count_flush(run, err);
    return status;
}

/* ---- C4 to C6 ---- */

void tamis__kafka_count_note_redis(kafka_count_run *run) {
    if (run->has_remarked_redis)
        tamis__kafka_client_remark(&run->client, "%s: Redis answers again", run->options.group);
    run->has_remarked_redis = false;
}

static void add_stats(kafka_count_run *run) {
    run->committed.records += run->open.records;
    run->committed.counted += run->open.counted;
    run->committed.repeated += run->open.repeated;
    run->committed.missing += run->open.missing;
    run->committed.malformed += run->open.malformed;
    run->committed.batches++;
    run->committed.committed_at = tamis__sys.now_unix_ms();
    if (!run->has_remarked_missing && run->committed.missing >= MISSING_RECORDS &&
        run->committed.counted == 0 && run->committed.repeated == 0) {
        run->has_remarked_missing = true;
        tamis__kafka_client_remark(&run->client,
                                   "%s: none of the first %" PRIu64
                                   " records has the values of a template, so nothing is counted",
                                   run->options.from, run->committed.records);
    }
}

tamis_status tamis__kafka_count_flush(kafka_count_run *run, tamis_error *err) {
    bool is_conflict;
    rd_kafka_resp_err_t code;

    if (!run->is_open)
        return TAMIS_OK;
    tamis_status status = tamis__counts_apply(run->counts, run->next, run->lower, &is_conflict, err);
    if (status == TAMIS_OK)
        tamis__kafka_count_note_redis(run);
    if (status == TAMIS_OK && is_conflict) {
        run->client.must_join = true;
        run->committed.conflicts++;
    } else if (status == TAMIS_OK) {
        add_stats(run);
        status = tamis__kafka_count_commit(run, run->next, "counted", &code, err);
    }
    tamis__kafka_count_forget(run);
    return status;
}

/* ---- progress ---- */

void tamis__kafka_count_observe(kafka_count_run *run) {
    tamis_kafka_count_stats *stats = &run->committed;

    stats->partitions = run->client.assigned;
    stats->lag = run->open.records;
    for (size_t i = 0; i < run->client.partition_count; i++) {
        int64_t low, end;
        /* Markers of transactions may follow the last record. They are not lag, and `position` is behind
         * them. */
        if (run->client.phase == KAFKA_RUNNING && run->client.inputs[i].is_assigned &&
            rd_kafka_get_watermark_offsets(run->client.consumer, run->options.from, (int32_t)i, &low, &end) ==
                RD_KAFKA_RESP_ERR_NO_ERROR &&
            end > (int64_t)run->next[i] && end > (int64_t)run->client.inputs[i].position)
            stats->lag += (uint64_t)end - run->next[i];
    }
}

void tamis__kafka_count_report_progress(kafka_count_run *run) {
    const uint64_t now = tamis__now_ns();

    if (!run->options.progress || now - run->reported_at < PROGRESS_NS)
        return;
    run->reported_at = now;
    tamis__kafka_count_observe(run);
    run->options.progress(run->options.context, &run->committed);
}
