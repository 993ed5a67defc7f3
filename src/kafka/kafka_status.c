/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * How far a group is, seen from outside.
 *
 *     input       | low ........ offset ........ end |       offset: of the group; lag: from there to the end
 *     state       | state_low ............ state_end |       newest, state_to: in the last committed record;
 *                                                            state_bytes: from the first to the last one
 *
 * The probe queries all but `newest`: it is outside the group, and read_uncommitted, so that it does not wait
 * for an open transaction. A reader then looks for the last committed state record of each partition, from a
 * few offsets before the end (the tail). Where it finds none, it reads a longer tail: markers and aborted
 * records have offsets too.
 *
 * Each state record has the bytes of all before it. So the first and the last one say how many bytes are
 * between them, however many records that are. Kafka adds some 75 bytes at each offset: a state record has a
 * batch of its own (73), and so has the marker of a transaction (78).
 *
 * If markers follow the last record, the end of the input is behind the offset even if all records are
 * processed. The reader reads the input from the offset on: if it comes to the end without a record, there
 * is no lag.
 *
 * The rate is the difference of two offsets, in a time in which a member commits about twice.
 */
#include <stdio.h>
#include <string.h>

#include <tamis/experimental/kafka.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/versioned.h"
#include "kafka/kafka_client.h"
#include "kafka/kafka_record.h"

enum {
    ANSWER_MS = 20000, /* how long the brokers may take for an answer */
    RATE_MS = 2000,    /* time between the offsets of a rate: some commits */
    TAIL = 8,          /* offsets of the first tail; the next ones are four times as long */
    REST_MAX = 1000,   /* largest lag that is examined, whether it has records at all */
    OFFSET_BYTES = 75  /* of a batch or a marker, on average */
};

/* What the reader reads of a partition, of the state topic or of the input. */
typedef struct status_tail {
    bool is_unread;    /* the reader has not come to its end yet */
    bool is_found;     /* it has a state record */
    uint64_t from, to; /* offsets: the records from `from` to `to` - 1 */
    bool has_first;    /* the first state record of the partition was read */
    /* bytes of all state records before the first one, and up to the last one */
    uint64_t bytes_before, bytes;
} status_tail;

typedef struct status_run {
    kafka_client client; /* the first field, as in other runs */
    tamis_kafka_status_options options;
    void *context; /* of the call */
    tamis_allocator memory;
    char state_topic[TAMIS__KAFKA_NAME];
    tamis_kafka_partition_status *partitions;
    status_tail *tails;
    int64_t *former; /* offsets of the group when the call began */
    rd_kafka_t *reader;
    rd_kafka_queue_t *answers;
    rd_kafka_event_t *group; /* description of the group: it has the names of owners */
    size_t members;
} status_run;

static tamis_status check_options(status_run *run, tamis_error *err) {
    const tamis_kafka_status_options *options = &run->options;

    TAMIS__NEED_AS(options->brokers, "options.brokers", err);
    TAMIS__NEED_AS(options->group, "options.group", err);
    TAMIS__NEED_AS(options->from, "options.from", err);
    TAMIS__NEED_IF(options->setting_count, options->settings, err);
    run->client = (kafka_client){.brokers = options->brokers,
                                 .group = options->group,
                                 .from = options->from,
                                 .settings = options->settings,
                                 .setting_count = options->setting_count,
                                 .stop_fd = options->stop_fd,
                                 .remark = options->remark,
                                 .context = run->context};
    /* A name that is too long for a state topic belongs to a group of count, which has none. */
    if ((size_t)snprintf(run->state_topic, sizeof run->state_topic, "%s.%s.tamis-state", options->group,
                         options->from) >= sizeof run->state_topic)
        run->state_topic[0] = '\0';
    return tamis__kafka_check_name("from", options->from, err) == TAMIS_OK
               ? tamis__kafka_client_check_options(&run->client, err)
               : err->status;
}

/* ---- requests of the probe ---- */

/* True if a request is to be repeated, after a pause. */
static bool must_repeat(const status_run *run, rd_kafka_resp_err_t code, uint64_t begun) {
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR || !tamis__kafka_is_transient(code) ||
        tamis__now_ns() - begun >= (uint64_t)ANSWER_MS * 1000000 ||
        tamis__kafka_client_must_stop(&run->client))
        return false;
    tamis__sys.poll(NULL, 0, TAMIS__KAFKA_SLICE);
    return true;
}

static tamis_status query_watermarks(status_run *run, const char *topic, size_t number, kafka_range *range,
                                     tamis_error *err) {
    const uint64_t begun = tamis__now_ns();
    rd_kafka_resp_err_t code;

    do
        code = tamis__kafka_client_try_watermarks(&run->client, topic, (int32_t)number, range);
    while (must_repeat(run, code, begun));
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? TAMIS_OK
                                              : tamis__kafka_client_fail(&run->client, topic, code, err);
}

static tamis_status fetch_offsets(status_run *run, tamis_error *err) {
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new((int)run->client.partition_count);
    const uint64_t begun = tamis__now_ns();
    rd_kafka_resp_err_t code;

    for (size_t i = 0; i < run->client.partition_count; i++)
        rd_kafka_topic_partition_list_add(list, run->options.from, (int32_t)i);
    do
        code = tamis__kafka_try_offsets(run->client.probe, list);
    while (must_repeat(run, code, begun));
    for (int i = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++)
        if (list->elems[i].offset >= 0)
            run->partitions[list->elems[i].partition].offset = list->elems[i].offset;
    rd_kafka_topic_partition_list_destroy(list);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR
               ? TAMIS_OK
               : tamis__kafka_client_fail(&run->client, run->options.group, code, err);
}

/* Notes the partitions of a member. */
static void read_member(status_run *run, const rd_kafka_MemberDescription_t *member) {
    const rd_kafka_topic_partition_list_t *list =
        rd_kafka_MemberAssignment_partitions(rd_kafka_MemberDescription_assignment(member));
    const char *instance = rd_kafka_MemberDescription_group_instance_id(member);

    for (int i = 0; list && i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *assigned = &list->elems[i];
        if (strcmp(assigned->topic, run->options.from) != 0 ||
            (size_t)assigned->partition >= run->client.partition_count)
            continue;
        run->partitions[assigned->partition].owner =
            instance && *instance ? instance : rd_kafka_MemberDescription_consumer_id(member);
        run->partitions[assigned->partition].host = rd_kafka_MemberDescription_host(member);
    }
}

/* Finds the members of the group. */
static tamis_status describe_group(status_run *run, tamis_error *err) {
    const char *name = run->options.group;
    size_t count = 0;

    run->answers = rd_kafka_queue_new(run->client.probe);
    rd_kafka_DescribeConsumerGroups(run->client.probe, &name, 1, NULL, run->answers);
    run->group = rd_kafka_queue_poll(run->answers, ANSWER_MS);
    if (!run->group)
        return tamis__kafka_client_fail(&run->client, name, RD_KAFKA_RESP_ERR__TIMED_OUT, err);
    rd_kafka_resp_err_t code = rd_kafka_event_error(run->group);
    const rd_kafka_ConsumerGroupDescription_t *const *groups = NULL;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        groups =
            (const rd_kafka_ConsumerGroupDescription_t *const *)rd_kafka_DescribeConsumerGroups_result_groups(
                rd_kafka_event_DescribeConsumerGroups_result(run->group), &count);
    if (count == 1 && rd_kafka_ConsumerGroupDescription_error(groups[0]))
        code = rd_kafka_error_code(rd_kafka_ConsumerGroupDescription_error(groups[0]));
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return tamis__kafka_client_fail(&run->client, name, code, err);
    if (count == 1)
        run->members = rd_kafka_ConsumerGroupDescription_member_count(groups[0]);
    for (size_t i = 0; i < run->members; i++)
        read_member(run, rd_kafka_ConsumerGroupDescription_member(groups[0], i));
    return TAMIS_OK;
}

/* ---- the first and the newest state records ---- */

static size_t count_unread(const status_run *run) {
    size_t unread = 0;

    for (size_t i = 0; i < run->client.partition_count; i++)
        unread += run->tails[i].is_unread;
    return unread;
}

static void accept_state(status_run *run, const rd_kafka_message_t *message) {
    tamis__kafka_record record;

    status_tail *tail = &run->tails[message->partition];
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        /* A damaged record is refused at the next start, and is not the concern of a report. */
        if (!tamis__kafka_record_decode(&record, message->payload, message->len)) {
            run->partitions[message->partition].newest = record.newest;
            run->partitions[message->partition].state_to = (int64_t)record.to;
            if (!tail->has_first)
                tail->bytes_before = record.bytes_before;
            tail->bytes = record.bytes_before + record.size;
            tail->is_found = true;
            tail->has_first |= tail->from == run->partitions[message->partition].state_low;
        }
        tail->is_unread = (uint64_t)message->offset + 1 < tail->to;
    } else if (!tamis__kafka_is_transient(message->err) || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        tail->is_unread = false; /* the end, or in front of an open transaction; or it was cut meanwhile */
    }
}

static void accept_first(status_run *run, const rd_kafka_message_t *message) {
    tamis__kafka_record record;
    status_tail *tail = &run->tails[message->partition];

    if (tail->is_unread && message->err == RD_KAFKA_RESP_ERR_NO_ERROR &&
        !tamis__kafka_record_decode(&record, message->payload, message->len)) {
        tail->bytes_before = record.bytes_before;
        tail->has_first = true;
        tail->is_unread = false;
    }
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR && /* the end: it was cut meanwhile */
        (!tamis__kafka_is_transient(message->err) || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF))
        tail->is_unread = false;
}

static void accept_input(status_run *run, const rd_kafka_message_t *message) {
    status_tail *tail = &run->tails[message->partition];
    const bool is_end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;

    if (tail->is_unread && is_end && (uint64_t)message->offset >= tail->to) /* no record came before */
        run->partitions[message->partition].lag = 0;
    if (is_end ||
        !tamis__kafka_is_transient(message->err)) /* or in front of an open transaction, or at a record */
        tail->is_unread = false;
}

/* Reads the tails that are unread, from their `from` to the end. */
static tamis_status read_tails(status_run *run, const char *topic,
                               void (*accept)(status_run *run, const rd_kafka_message_t *message),
                               tamis_error *err) {
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new((int)run->client.partition_count);
    const uint64_t begun = tamis__now_ns();

    if (!run->reader && tamis__kafka_client_open(&run->reader, &run->client, KAFKA_RESTORER, err) == TAMIS_OK)
        rd_kafka_poll_set_consumer(run->reader);
    for (size_t i = 0; i < run->client.partition_count; i++)
        if (run->tails[i].is_unread)
            rd_kafka_topic_partition_list_add(list, topic, (int32_t)i)->offset = (int64_t)run->tails[i].from;
    if (!run->reader) {
        rd_kafka_topic_partition_list_destroy(list);
        return err->status;
    }
    const rd_kafka_resp_err_t code = rd_kafka_assign(run->reader, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return tamis__kafka_client_fail(&run->client, topic, code, err);
    while (count_unread(run) > 0) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(run->reader, TAMIS__KAFKA_SLICE);
        if (message && message->rkt && strcmp(rd_kafka_topic_name(message->rkt), topic) == 0 &&
            message->partition >= 0 && (size_t)message->partition < run->client.partition_count)
            accept(run, message);
        if (message)
            rd_kafka_message_destroy(message);
        if (tamis__kafka_client_must_stop(&run->client))
            return TAMIS_E_INTERRUPTED;
        if (tamis__now_ns() - begun > (uint64_t)ANSWER_MS * 1000000)
            return tamis__kafka_client_fail(&run->client, topic, RD_KAFKA_RESP_ERR__TIMED_OUT, err);
    }
    return TAMIS_OK;
}

/* Moves the tails without a state record back. */
static void extend_tails(status_run *run) {
    for (size_t i = 0; i < run->client.partition_count; i++) {
        status_tail *tail = &run->tails[i];
        const uint64_t low = run->partitions[i].state_low, size = 4 * (tail->to - tail->from);
        if (tail->is_found || tail->from <= low)
            continue;
        tail->from = tail->to - low > size ? tail->to - size : low;
        tail->is_unread = true;
    }
}

/* Sets `state_bytes` of each partition. */
static void measure_state(status_run *run) {
    for (size_t i = 0; i < run->client.partition_count; i++) {
        tamis_kafka_partition_status *partition = &run->partitions[i];
        const status_tail *tail = &run->tails[i];
        if (tail->is_found && tail->has_first)
            partition->state_bytes = (int64_t)(tail->bytes - tail->bytes_before +
                                               OFFSET_BYTES * (partition->state_end - partition->state_low));
    }
}

/* Finds `newest`, `state_to` and `state_bytes` of each partition. */
static tamis_status read_state(status_run *run, tamis_error *err) {
    tamis_status status = TAMIS_OK;

    for (size_t i = 0; i < run->client.partition_count; i++) {
        const tamis_kafka_partition_status *partition = &run->partitions[i];
        status_tail *tail = &run->tails[i];
        tail->to = partition->state_end;
        tail->from = tail->to > partition->state_low + TAIL ? tail->to - TAIL : partition->state_low;
        tail->is_unread = tail->from < tail->to;
    }
    while (status == TAMIS_OK && count_unread(run) > 0) {
        status = read_tails(run, run->state_topic, accept_state, err);
        extend_tails(run);
    }
    for (size_t i = 0; i < run->client.partition_count; i++) {
        status_tail *tail = &run->tails[i];
        tail->is_unread = tail->is_found && !tail->has_first;
        tail->from = run->partitions[i].state_low;
    }
    if (status == TAMIS_OK && count_unread(run) > 0)
        status = read_tails(run, run->state_topic, accept_first, err);
    measure_state(run);
    return status;
}

/* Finds partitions whose lag has no record. */
static tamis_status examine_lag(status_run *run, tamis_error *err) {
    for (size_t i = 0; i < run->client.partition_count; i++) {
        const tamis_kafka_partition_status *partition = &run->partitions[i];
        run->tails[i] = (status_tail){.is_unread = partition->lag > 0 && partition->lag <= REST_MAX,
                                      .from = partition->end - partition->lag,
                                      .to = partition->end};
    }
    return count_unread(run) > 0 ? read_tails(run, run->options.from, accept_input, err) : TAMIS_OK;
}

/* ---- the rate ---- */

static void note_offsets(status_run *run) {
    for (size_t i = 0; i < run->client.partition_count; i++)
        run->former[i] = run->partitions[i].offset;
}

/* Waits until the group has had the time to commit, and fetches its offsets again. */
static tamis_status measure_rate(status_run *run, uint64_t since, tamis_error *err) {
    while (tamis__now_ns() - since < (uint64_t)RATE_MS * 1000000) {
        if (tamis__kafka_client_must_stop(&run->client))
            return TAMIS_E_INTERRUPTED;
        tamis__sys.poll(NULL, 0, TAMIS__KAFKA_SLICE);
    }
    if (fetch_offsets(run, err) != TAMIS_OK)
        return err->status;
    const double seconds = (double)(tamis__now_ns() - since) / 1e9;
    for (size_t i = 0; i < run->client.partition_count; i++)
        if (run->former[i] >= 0 && run->partitions[i].offset > run->former[i])
            run->partitions[i].rate = (double)(run->partitions[i].offset - run->former[i]) / seconds;
    return TAMIS_OK;
}

/* ---- all partitions ---- */

/* Finds the number of partitions of the state topic. 0: it is not there, or this user may not see it. */
static tamis_status find_state(status_run *run, size_t *count, tamis_error *err) {
    *count = 0;
    if (run->state_topic[0] == '\0')
        return TAMIS_OK;
    const tamis_status status = tamis__kafka_await_topic(&run->client, run->state_topic, 0, count, err);
    return status == TAMIS_E_NOT_FOUND || status == TAMIS_E_REFUSED ? TAMIS_OK : status;
}

static tamis_status query_state(status_run *run, size_t count, tamis_error *err) {
    kafka_range range;

    for (size_t i = 0; i < count && i < run->client.partition_count; i++) {
        tamis_kafka_partition_status *partition = &run->partitions[i];
        if (query_watermarks(run, run->state_topic, i, &range, err) != TAMIS_OK)
            return err->status;
        partition->has_state = true;
        partition->state_low = (uint64_t)range.low;
        partition->state_end = (uint64_t)range.end;
    }
    return TAMIS_OK;
}

static tamis_status query_input(status_run *run, tamis_error *err) {
    kafka_range range;

    for (size_t i = 0; i < run->client.partition_count; i++) {
        tamis_kafka_partition_status *partition = &run->partitions[i];
        if (query_watermarks(run, run->options.from, i, &range, err) != TAMIS_OK)
            return err->status;
        partition->low = (uint64_t)range.low;
        partition->end = (uint64_t)range.end;
        const uint64_t offset = partition->offset >= 0 ? (uint64_t)partition->offset : partition->low;
        partition->lag = partition->end > offset ? partition->end - offset : 0;
    }
    return TAMIS_OK;
}

static tamis_status make_partitions(status_run *run, tamis_error *err) {
    const size_t count = run->client.partition_count, size = count * sizeof *run->partitions;

    run->partitions = tamis__alloc(&run->memory, size, _Alignof(tamis_kafka_partition_status));
    run->tails =
        tamis__alloc(&run->memory, run->client.partition_count * sizeof *run->tails, _Alignof(status_tail));
    run->former =
        tamis__alloc(&run->memory, run->client.partition_count * sizeof *run->former, _Alignof(int64_t));
    if (!run->partitions || !run->tails || !run->former)
        return tamis__fail_nomem(err, "partitions", size);
    for (size_t i = 0; i < run->client.partition_count; i++) {
        run->partitions[i] = (tamis_kafka_partition_status)TAMIS_KAFKA_PARTITION_STATUS_INIT;
        run->partitions[i].partition = (uint32_t)i;
    }
    return TAMIS_OK;
}

static tamis_status read_all(status_run *run, tamis_error *err) {
    size_t state_count;
    bool is_known = false;

    if (tamis__kafka_client_start(&run->client, &run->memory, err) != TAMIS_OK ||
        make_partitions(run, err) != TAMIS_OK || find_state(run, &state_count, err) != TAMIS_OK ||
        describe_group(run, err) != TAMIS_OK || fetch_offsets(run, err) != TAMIS_OK)
        return err->status;
    const uint64_t since = tamis__now_ns();
    note_offsets(run);
    for (size_t i = 0; i < run->client.partition_count; i++)
        is_known |= run->partitions[i].offset >= 0;
    if (!is_known && run->members == 0 && state_count == 0)
        return tamis__fail(
            err, TAMIS_E_NOT_FOUND, 0,
            "%.100s: has no offset in topic %.100s, and no member; correct the name of the group",
            run->options.group, run->options.from);
    tamis_status status = query_state(run, state_count, err);
    if (status == TAMIS_OK)
        status = read_state(run, err);
    if (status == TAMIS_OK && run->members > 0)
        status = measure_rate(run, since, err);
    if (status == TAMIS_OK)
        status = query_input(run, err);
    return status == TAMIS_OK ? examine_lag(run, err) : status;
}

static void release(status_run *run) {
    const tamis_allocator memory = run->memory;

    if (run->group)
        rd_kafka_event_destroy(run->group);
    if (run->answers)
        rd_kafka_queue_destroy(run->answers);
    tamis__kafka_client_close(&run->client, run->reader);
    tamis__free(&memory, run->partitions, run->client.partition_count * sizeof *run->partitions);
    tamis__free(&memory, run->tails, run->client.partition_count * sizeof *run->tails);
    tamis__free(&memory, run->former, run->client.partition_count * sizeof *run->former);
    tamis__kafka_client_end(&run->client, &memory);
    if (!run->client.is_stuck)
        tamis__free(&memory, run, sizeof *run);
}

tamis_status tamis_kafka_status_read(const tamis_kafka_status_options *options,
                                     tamis_status (*report)(void *context,
                                                            const tamis_kafka_partition_status *partition,
                                                            tamis_error *err),
                                     void *context, tamis_error *err) {
    tamis_kafka_status_options given = TAMIS_KAFKA_STATUS_OPTIONS_INIT;
    tamis_error found = TAMIS_ERROR_INIT;

    TAMIS__NEED(options, err);
    TAMIS__NEED(report, err);
    if (tamis__read_options(&given, sizeof given, options, "TAMIS_KAFKA_STATUS_OPTIONS_INIT", err) !=
        TAMIS_OK)
        return TAMIS_E_INVALID;
    const tamis_allocator memory = tamis__allocator_resolve(given.allocator);
    status_run *run = tamis__alloc(&memory, sizeof *run, _Alignof(status_run));
    if (!run)
        return tamis__fail_nomem(err, "status", sizeof *run);
    run->options = given;
    run->context = context;
    run->memory = memory;
    tamis_status status = check_options(run, &found);
    if (status == TAMIS_OK)
        status = read_all(run, &found);
    if (status != TAMIS_OK && tamis__kafka_client_must_stop(&run->client))
        status = TAMIS_E_INTERRUPTED;
    for (size_t i = 0; status == TAMIS_OK && i < run->client.partition_count; i++)
        status = report(context, &run->partitions[i], &found);
    release(run);
    return tamis__kafka_result(status, &found, err);
}
