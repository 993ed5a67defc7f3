/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The member of the group. The group gives partitions and takes them away (range assignor, eager protocol:
 * all at once).
 *
 *                        on_rebalance(ASSIGN)                    A
 *     KAFKA_UNASSIGNED ------------------------> KAFKA_ASSIGNED ---> KAFKA_RUNNING
 *            ^                                          |                  |
 *            +------------------------------------------+------------------+
 *                        on_rebalance(REVOKE): N
 *
 * librdkafka calls on_rebalance from a poll of the consumer. The group waits for the answer, so the callback
 * only does what must be done in that moment. A runs afterwards, in the loop of the run. The consumer is
 * given an empty assignment until then, so that it reads nothing (the input is paused). In a run of dedup the
 * phase is KAFKA_RUNNING from then on, since A goes on beside records of other partitions.
 *
 * If the session of a static member is over, librdkafka 2.0 forgets its member id, but may send one more
 * heartbeat. The broker refuses it as that of another process with the same name, and the consumer is useless
 * from then on. So a new one joins the group (must_join). If there is such a process, that one is refused
 * then.
 *
 * While A of a count waits for brokers, the consumer is polled, so that the group does not expel this member.
 * If the group changes the assignment meanwhile, A ends, and begins again with the next one.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/system.h"
#include "kafka/kafka_client.h"

enum {
    REQUEST_MS = 1000,        /* a request; it is repeated until it has an answer */
    OPEN_MS = 5000,           /* until a remark says that a partition waits for an open transaction */
    WAKE_MIN_MS = 5,          /* see poll_consumer */
    WAKES_ITSELF = 0x020200ff /* likewise: version 2.2 of librdkafka */
};

/* ---- start and end ---- */

tamis_status tamis__kafka_client_start(kafka_client *client, const tamis_allocator *memory,
                                       tamis_error *err) {
    size_t count;

    if (tamis__kafka_client_open(&client->probe, client, KAFKA_PROBE, err) != TAMIS_OK ||
        tamis__kafka_await_topic(client, client->from, TAMIS__KAFKA_EXISTING_MS, &count, err) != TAMIS_OK)
        return err->status;
    client->inputs = tamis__alloc(memory, count * sizeof *client->inputs, _Alignof(kafka_input));
    if (!client->inputs)
        return tamis__fail_nomem(err, "partitions", count * sizeof *client->inputs);
    client->partition_count = count;
    return TAMIS_OK;
}

static tamis_status subscribe(const kafka_client *client, tamis_error *err) {
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);

    rd_kafka_topic_partition_list_add(topics, client->from, RD_KAFKA_PARTITION_UA);
    const rd_kafka_resp_err_t code = rd_kafka_subscribe(client->consumer, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? TAMIS_OK
                                              : tamis__kafka_client_fail(client, client->group, code, err);
}

tamis_status tamis__kafka_client_join(kafka_client *client, tamis_error *err) {
    if (tamis__kafka_client_open(&client->consumer, client, KAFKA_MEMBER, err) != TAMIS_OK)
        return err->status;
    rd_kafka_poll_set_consumer(client->consumer);
    for (size_t i = 0; i < client->partition_count; i++)
        client->inputs[i].is_paused = false;
    return subscribe(client, err);
}

void tamis__kafka_client_leave(kafka_client *client) {
    if (!client->consumer)
        return;
    client->phase = KAFKA_UNASSIGNED; /* on_rebalance commits nothing */
    rd_kafka_consumer_close(client->consumer);
    tamis__kafka_client_close(client, client->consumer);
    client->consumer = NULL;
    client->must_join = false;
}

void tamis__kafka_client_end(kafka_client *client, const tamis_allocator *memory) {
    tamis__kafka_client_close(client, client->probe);
    tamis__free(memory, client->inputs, client->partition_count * sizeof *client->inputs);
}

tamis_status tamis__kafka_result(tamis_status status, const tamis_error *found, tamis_error *err) {
    if (status == TAMIS_OK)
        return TAMIS_OK;
    if (status == TAMIS_E_INTERRUPTED)
        return tamis__fail(err, status, 0, "stopped on request");
    return tamis__fail(err, status, found->sys_errno, "%s", found->text);
}

/* ---- assignments ---- */

/* Ends the poll that has called back. Else it would go on to wait for a record, of which there are none before
 * A. */
static void end_poll(const kafka_client *client) {
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(client->consumer);

    rd_kafka_queue_yield(queue);
    rd_kafka_queue_destroy(queue);
}

int32_t tamis__kafka_client_store_assignment(kafka_client *client,
                                             const rd_kafka_topic_partition_list_t *partitions) {
    int32_t added = -1;

    tamis__kafka_client_forget_assignment(client);
    client->is_lost = false;
    client->phase = KAFKA_ASSIGNED;
    for (int i = 0; i < partitions->cnt; i++) {
        const int32_t number = partitions->elems[i].partition;
        if (number >= 0 && (size_t)number < client->partition_count) {
            client->inputs[number].is_assigned = true;
            client->assigned++;
        } else {
            added = number;
        }
    }
    rd_kafka_topic_partition_list_t *nothing = rd_kafka_topic_partition_list_new(0);
    rd_kafka_assign(client->consumer, nothing);
    rd_kafka_topic_partition_list_destroy(nothing);
    end_poll(client);
    return added;
}

void tamis__kafka_client_forget_assignment(kafka_client *client) {
    client->phase = KAFKA_UNASSIGNED;
    client->is_lost = rd_kafka_assignment_lost(client->consumer);
    client->is_reading = false;
    client->assigned = 0;
    for (size_t i = 0; i < client->partition_count; i++)
        client->inputs[i].is_assigned = false;
}

rd_kafka_topic_partition_list_t *tamis__kafka_client_list_assigned(const kafka_client *client) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)client->assigned);

    for (size_t i = 0; i < client->partition_count; i++)
        if (client->inputs[i].is_assigned)
            rd_kafka_topic_partition_list_add(list, client->from, (int32_t)i);
    return list;
}

tamis_status tamis__kafka_client_start_reading(kafka_client *client, rd_kafka_topic_partition_list_t *list,
                                               tamis_error *err) {
    for (int i = 0; i < list->cnt; i++) {
        kafka_input *input = &client->inputs[list->elems[i].partition];
        input->polled = input->position = (uint64_t)list->elems[i].offset;
        input->is_started = false;
        input->stops_since = 0;
    }
    const rd_kafka_resp_err_t code = rd_kafka_assign(client->consumer, list);
    rd_kafka_topic_partition_list_destroy(list);
    client->is_reading = code == RD_KAFKA_RESP_ERR_NO_ERROR;
    return client->is_reading ? TAMIS_OK : tamis__kafka_client_fail(client, client->group, code, err);
}

/* ---- polling ---- */

/* Turns what the consumer reports instead of a record into an error. TAMIS_OK: the condition passes by
 * itself. */
static tamis_status check_message(kafka_client *client, const rd_kafka_message_t *message, tamis_error *err) {
    char what[300];

    switch (message->err) {
    case RD_KAFKA_RESP_ERR__FATAL: {
        const rd_kafka_resp_err_t code = rd_kafka_fatal_error(client->consumer, what, sizeof what);
        client->must_join = code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID && client->is_lost;
        return client->must_join ? TAMIS_OK : tamis__kafka_client_fail(client, client->group, code, err);
    }
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
        if (!client->is_reading) /* it comes late, from an earlier assignment */
            return TAMIS_OK;
        return tamis__fail(
            err, TAMIS_E_CHANGED, 0,
            "%s [%d]: records were removed before they were read, or the topic was made again; see "
            "its retention settings",
            client->from, (int)message->partition);
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
        return tamis__kafka_client_fail(client, client->from, message->err, err);
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
        return tamis__kafka_client_fail(client, client->group, message->err, err);
    default:
        if (tamis__kafka_is_transient(message->err))
            return TAMIS_OK;
        snprintf(what, sizeof what, "%.150s [%d], offset %" PRId64, client->from, (int)message->partition,
                 message->offset);
        return tamis__kafka_client_fail(client, message->rkt ? what : client->group, message->err, err);
    }
}

/* True if a partition that is read has records that were not delivered yet, as far as the brokers have
 * said. */
static bool has_backlog(const kafka_client *client) {
    int64_t low, end;

    for (size_t i = 0; client->phase == KAFKA_RUNNING && i < client->partition_count; i++)
        if (client->inputs[i].is_assigned && !client->inputs[i].is_paused &&
            rd_kafka_get_watermark_offsets(client->consumer, client->from, (int32_t)i, &low, &end) ==
                RD_KAFKA_RESP_ERR_NO_ERROR &&
            end > (int64_t)client->inputs[i].position)
            return true;
    return false;
}

/* Waits for the next event of the consumer.
 *
 * librdkafka before 2.2 does not notice that its queue, once full, is empty again. Its thread that fetches
 * sleeps a second then, unless a request wakes it. So a short wait with records to come ends with a
 * request for metadata. It goes to any broker, thus with several brokers not always to the one that
 * sleeps. Waits between requests become longer, since records of an open transaction do not come, whatever
 * is requested. */
static rd_kafka_message_t *poll_consumer(kafka_client *client, int milliseconds) {
    const int first = client->wake_ms < WAKE_MIN_MS ? WAKE_MIN_MS : client->wake_ms;
    const struct rd_kafka_metadata *metadata;
    const kafka_phase phase = client->phase;
    rd_kafka_message_t *polled = rd_kafka_consumer_poll(client->consumer, 0);

    if (!polled && milliseconds > 0 && client->phase == phase) {
        if (milliseconds <= first || rd_kafka_version() >= WAKES_ITSELF || !has_backlog(client))
            return rd_kafka_consumer_poll(client->consumer, milliseconds);
        polled = rd_kafka_consumer_poll(client->consumer, first);
        if (!polled) {
            client->wake_ms = 2 * first;
            if (rd_kafka_metadata(client->consumer, 0, NULL, &metadata, WAKE_MIN_MS) ==
                RD_KAFKA_RESP_ERR_NO_ERROR)
                rd_kafka_metadata_destroy(metadata);
            return rd_kafka_consumer_poll(client->consumer, milliseconds - first);
        }
    }
    if (polled)
        client->wake_ms = 0;
    return polled;
}

/* Stores the offset at which the brokers deliver no further record. It is the end of a partition, or the
 * first record of an open transaction (K5). */
static void store_end(kafka_input *input, uint64_t offset) {
    if (input->stops_since == 0 || offset > input->position)
        input->stops_since = tamis__now_ns();
    if (offset > input->position)
        input->position = offset;
}

/* Reports, once for each, partitions that have not reached their end because a transaction is open. */
static void remark_open_transactions(const kafka_client *client) {
    for (size_t i = 0; client->until_end && i < client->partition_count; i++) {
        kafka_input *input = &client->inputs[i];
        if (!input->is_assigned || input->is_paused || input->has_remarked_stop || input->stops_since == 0 ||
            input->position >= input->stop_at ||
            tamis__now_ns() - input->stops_since < (uint64_t)OPEN_MS * 1000000)
            continue;
        input->has_remarked_stop = true;
        tamis__kafka_client_remark(
            client,
            "%s [%zu]: waits for the transaction that is open at offset %" PRIu64
            "; it ends after the transaction.timeout.ms of its producer, and kafka-transactions.sh of Kafka "
            "aborts one that hangs",
            client->from, i, input->position);
    }
}

tamis_status tamis__kafka_client_poll(kafka_client *client, int milliseconds, rd_kafka_message_t **message,
                                      tamis_error *err) {
    rd_kafka_message_t *polled = poll_consumer(client, milliseconds);
    kafka_input *input = polled && (size_t)polled->partition < client->partition_count
                             ? &client->inputs[polled->partition]
                             : NULL;
    tamis_status status = TAMIS_OK;

    *message = NULL;
    if (!polled)
        remark_open_transactions(client);
    if (input && polled->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        input->polled = (uint64_t)polled->offset + 1;
        input->is_started = true;
        input->stops_since = 0;
        if (client->stopped == TAMIS_OK) {
            *message = polled;
            return TAMIS_OK;
        }
    } else if (polled && polled->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        if (input)
            store_end(input, (uint64_t)polled->offset);
    } else if (polled && polled->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        status = check_message(client, polled, err);
    }
    if (polled)
        rd_kafka_message_destroy(polled);
    if (status != TAMIS_OK || client->stopped == TAMIS_OK)
        return status;
    *err = client->stop_error;
    return client->stopped;
}

tamis_status tamis__kafka_client_stay_member(kafka_client *client, int milliseconds, tamis_error *err) {
    rd_kafka_message_t *message;
    const tamis_status status = tamis__kafka_client_poll(client, milliseconds, &message, err);

    if (message) /* a late one of an earlier assignment */
        rd_kafka_message_destroy(message);
    rd_kafka_poll(client->probe, 0);
    return status;
}

/* ---- requests of A ---- */

bool tamis__kafka_client_is_interrupted(const kafka_client *client) {
    return client->phase != KAFKA_ASSIGNED || tamis__kafka_client_must_stop(client);
}

/* Called after a request has failed with `code`. TAMIS_OK: repeat it. */
static tamis_status wait_for_brokers(kafka_client *client, const char *what, rd_kafka_resp_err_t code,
                                     bool for_offsets, tamis_error *err) {
    if (!tamis__kafka_is_transient(code))
        return tamis__kafka_client_fail(client, what, code, err);
    if (client->on_wait)
        client->on_wait(client, for_offsets);
    return tamis__kafka_client_stay_member(client, TAMIS__KAFKA_SLICE, err);
}

rd_kafka_resp_err_t tamis__kafka_try_offsets(rd_kafka_t *consumer, rd_kafka_topic_partition_list_t *list) {
    rd_kafka_resp_err_t code = rd_kafka_committed(consumer, list, REQUEST_MS);

    for (int i = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++)
        code = list->elems[i].err;
    return code;
}

tamis_status tamis__kafka_client_fetch_offsets(kafka_client *client, rd_kafka_topic_partition_list_t *list,
                                               tamis_error *err) {
    while (!tamis__kafka_client_is_interrupted(client)) {
        const rd_kafka_resp_err_t code = tamis__kafka_try_offsets(client->consumer, list);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return TAMIS_OK;
        if (wait_for_brokers(client, client->group, code, true, err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

/* The probe goes on to use the leaders of partitions that it knows, also if they are gone. This asks for
 * new ones. */
static void refresh_leaders(const kafka_client *client, const char *topic) {
    rd_kafka_topic_t *handle = rd_kafka_topic_new(client->probe, topic, NULL);
    const struct rd_kafka_metadata *metadata;

    if (!handle)
        return;
    if (rd_kafka_metadata(client->probe, 0, handle, &metadata, REQUEST_MS) == RD_KAFKA_RESP_ERR_NO_ERROR)
        rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(handle);
}

/* Finds one end of a partition, RD_KAFKA_OFFSET_BEGINNING or RD_KAFKA_OFFSET_END.
 * rd_kafka_query_watermark_offsets of librdkafka 2.0 does not end while the leader is down, whatever its
 * time-out. */
static rd_kafka_resp_err_t query_end(const kafka_client *client, const char *topic, int32_t number,
                                     int64_t end, int64_t *offset) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);

    rd_kafka_topic_partition_list_add(list, topic, number)->offset = end;
    rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(client->probe, list, REQUEST_MS);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = list->elems[0].err;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && list->elems[0].offset < 0)
        code = RD_KAFKA_RESP_ERR__TIMED_OUT; /* which is not reported */
    if (code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
        code = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE; /* which is reported so */
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        *offset = list->elems[0].offset;
    rd_kafka_topic_partition_list_destroy(list);
    return code;
}

rd_kafka_resp_err_t tamis__kafka_client_try_watermarks(const kafka_client *client, const char *topic,
                                                       int32_t number, kafka_range *range) {
    rd_kafka_resp_err_t code = query_end(client, topic, number, RD_KAFKA_OFFSET_BEGINNING, &range->low);

    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = query_end(client, topic, number, RD_KAFKA_OFFSET_END, &range->end);
    if (tamis__kafka_is_transient(code) || code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        refresh_leaders(client, topic);
    return code;
}

tamis_status tamis__kafka_client_query_watermarks(kafka_client *client, const char *topic, int32_t number,
                                                  kafka_range *range, tamis_error *err) {
    /* The leader may not know the topic yet, if it was just made. */
    const uint64_t deadline = tamis__now_ns() + (uint64_t)TAMIS__KAFKA_EXISTING_MS * 1000000;

    *range = (kafka_range){0};
    while (!tamis__kafka_client_is_interrupted(client)) {
        rd_kafka_resp_err_t code = tamis__kafka_client_try_watermarks(client, topic, number, range);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return TAMIS_OK;
        if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART && tamis__now_ns() < deadline)
            code = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
        if (wait_for_brokers(client, topic, code, false, err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

/* ---- the loop of a run ---- */

bool tamis__kafka_client_has_reached_end(const kafka_client *client) {
    if (!client->until_end || client->phase != KAFKA_RUNNING)
        return false;
    for (size_t i = 0; i < client->partition_count; i++)
        if (client->inputs[i].is_assigned && client->inputs[i].position < client->inputs[i].stop_at)
            return false;
    return true;
}

tamis_status tamis__kafka_client_remark_rest(const kafka_client *client) {
    if (client->assigned < client->partition_count)
        tamis__kafka_client_remark(
            client, "%s: %zu of %zu partitions belong to other members of group %s, and were not read here",
            client->from, client->partition_count - client->assigned, client->partition_count, client->group);
    return TAMIS_OK;
}

int tamis__kafka_wait_ms(bool is_open, uint64_t open_since, uint32_t commit_ms) {
    const uint64_t passed = (tamis__now_ns() - open_since) / 1000000;

    if (!is_open || passed + TAMIS__KAFKA_SLICE < commit_ms)
        return TAMIS__KAFKA_SLICE;
    return passed < commit_ms ? (int)(commit_ms - passed) : 0;
}
