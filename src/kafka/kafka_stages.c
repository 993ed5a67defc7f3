/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Steps A and S: what a member does with its partitions before it answers their first record, and with
 * partitions of other members (standby). Each partition has a stage of its own: those that are restored need
 * not wait for the others.
 *
 *     OFFSET      A2  offset of the group   read_committed: waits for transactions that are not decided (K4);
 *                                           if it is the one that this member has committed: A7
 *     WATERMARKS  A3  end of the state      read_uncommitted: the true end (K5)
 *                 A4  filter                the one in memory, or an empty one
 *     STATE       A5  read the state        from `covers`, or the first record there is, to the end of A3;
 *                                           add all hashes
 *                 A6  check the chain       each `from` is the `to` before it; the last `to` is the offset of
 *                                           A2; no record was removed that the last one says is needed
 *                 A7  begin                 at the offset, or at the first record of the input
 *     READY, JOINED                         see kafka_dedup_group.c
 *
 * A3 comes after A2, and not before: see the proof. A partition of a standby that another member has is in
 * WATERMARKS, then in STATE, and its state is read on and on (S).
 *
 * Nothing here waits long. A request that fails for now, such as an A2 while a transaction of a killed member
 * is not decided, is repeated later.
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

enum {
    REQUEST_MS = 1000,      /* longest wait for an answer */
    ANSWER_MS = 5000,       /* until the consumer repeats a request that is not waited for */
    KEEP_MS = 3600000,      /* how long librdkafka keeps such a request: as long as it allows */
    RETRY_MS = 100,         /* until a request that has failed is repeated */
    RETRY_JOINED_MS = 1000, /* likewise, if records of other partitions have to wait for it */
    WAIT_MS = 5,            /* for a record of the input, while A or M waits too */
    PART_MS = 2000,         /* until a remark says that some partitions are not restored yet */
    REMARK_MS = 10000       /* until a remark says what A waits for */
};

/* The partitions of a run, by what is next for them. */
typedef struct kafka_counts {
    size_t offset, watermarks, state, joined; /* of those assigned */
    size_t warm;                              /* of the others: their copies are complete */
} kafka_counts;

static kafka_counts count_stages(const kafka_dedup_run *run) {
    kafka_counts counts = {0};

    for (size_t i = 0; i < run->client.partition_count; i++) {
        const kafka_partition *partition = &run->partitions[i];
        counts.warm += tamis__kafka_is_warm(partition);
        if (!partition->input->is_assigned)
            continue;
        counts.offset += partition->stage == KAFKA_OFFSET;
        counts.watermarks += partition->stage == KAFKA_WATERMARKS;
        counts.state += partition->stage == KAFKA_STATE;
        counts.joined += partition->stage == KAFKA_JOINED;
    }
    return counts;
}

bool tamis__kafka_is_warm(const kafka_partition *partition) {
    return !partition->input->is_assigned && partition->stage == KAFKA_STATE &&
           partition->covers >= partition->state_end;
}

/* Called after a request has failed with `code`. TAMIS_OK: it is repeated later. `what` is the group for A2,
 * a topic for A3 and A7; each has a pause of its own. */
static tamis_status retry_later(kafka_dedup_run *run, const char *what, rd_kafka_resp_err_t code,
                                tamis_error *err) {
    const uint64_t now = tamis__now_ns();
    /* The leader may not know the topic yet, if it was just made. */
    const bool is_new = code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART &&
                        now - run->assigned_at < (uint64_t)TAMIS__KAFKA_EXISTING_MS * 1000000;

    if (!is_new && !tamis__kafka_is_transient(code))
        return tamis__kafka_dedup_fail_topic(run, what, code, err);
    if (code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE && tamis__kafka_dedup_has_lost_topic(run, err))
        return err->status;
    if (what == run->options.group)
        run->offsets_at = now + (uint64_t)RETRY_MS * 1000000;
    else
        run->watermarks_at =
            now + (uint64_t)(count_stages(run).joined > 0 ? RETRY_JOINED_MS : RETRY_MS) * 1000000;
    return TAMIS_OK;
}

/* ---- A2, R ---- */

/* Refuses an offset of a repartition that has put keys into other partitions. Offsets that somebody has
 * set have no such metadata. */
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

/* Stores the offset of a partition. */
static tamis_status store_offset(kafka_dedup_run *run, const rd_kafka_topic_partition_t *stored,
                                 tamis_error *err) {
    kafka_partition *partition = &run->partitions[stored->partition];

    if (tamis__kafka_refusal_confirm(run, partition, stored->offset))
        return TAMIS_OK;
    if (check_route(run, stored, err) != TAMIS_OK)
        return err->status;
    partition->offset = stored->offset;
    partition->can_stay &= partition->has_chain && stored->offset == (int64_t)partition->to;
    if (partition->can_stay)
        partition->state_end = partition->covers;
    /* Without state, the offset is all there is. */
    partition->stage = partition->can_stay || run->is_stateless ? KAFKA_STATE : KAFKA_WATERMARKS;
    return TAMIS_OK;
}

/* True if the answer to a request is about this partition, and A1, B1 or R have not asked again since. */
static bool is_in_request(const kafka_dedup_run *run, int32_t number, uint64_t request) {
    return number >= 0 && (size_t)number < run->client.partition_count &&
           run->partitions[number].stage == KAFKA_OFFSET && run->partitions[number].offset_request == request;
}

/* Lists the partitions of a request; 0: those that are in none. */
static rd_kafka_topic_partition_list_t *list_requested(const kafka_dedup_run *run, uint64_t request) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)run->client.assigned);

    for (size_t i = 0; i < run->client.partition_count; i++)
        if (is_in_request(run, (int32_t)i, request))
            rd_kafka_topic_partition_list_add(list, run->options.from, (int32_t)i);
    return list;
}

/* Stores the offsets of an answer. */
static tamis_status store_offsets(kafka_dedup_run *run, const rd_kafka_topic_partition_list_t *list,
                                  uint64_t request, tamis_error *err) {
    for (int i = 0; list && i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *stored = &list->elems[i];
        if (!is_in_request(run, stored->partition, request))
            continue;
        const tamis_status status = stored->err == RD_KAFKA_RESP_ERR_NO_ERROR
                                        ? store_offset(run, stored, err)
                                        : retry_later(run, run->options.group, stored->err, err);
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* Repeats a request by the consumer, which notices that the coordinator of the group has moved.
 * librdkafka 2.0 goes on to send other requests to the former one. */
static tamis_status repeat_request(kafka_dedup_run *run, rd_kafka_topic_partition_list_t *list,
                                   uint64_t request, tamis_error *err) {
    const rd_kafka_resp_err_t code = rd_kafka_committed(run->client.consumer, list, REQUEST_MS);

    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? store_offsets(run, list, request, err)
                                              : retry_later(run, run->options.group, code, err);
}

/* Reads an answer. */
static tamis_status read_offsets(kafka_dedup_run *run, rd_kafka_event_t *event, tamis_error *err) {
    const uint64_t request = (uint64_t)(uintptr_t)rd_kafka_event_opaque(event);
    size_t count = 0;
    const rd_kafka_ListConsumerGroupOffsets_result_t *result =
        rd_kafka_event_ListConsumerGroupOffsets_result(event);
    const rd_kafka_group_result_t **groups =
        result ? rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count) : NULL;
    rd_kafka_topic_partition_list_t *list = list_requested(run, request);
    tamis_status status = TAMIS_OK;

    if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR && count == 1 &&
        !rd_kafka_group_result_error(groups[0])) {
        status = store_offsets(run, rd_kafka_group_result_partitions(groups[0]), request, err);
    } else if (list->cnt > 0) {
        status = repeat_request(run, list, request, err);
    }
    if (request == run->offset_requests)
        run->offsets_queried_at = 0;
    for (int i = 0; i < list->cnt; i++) /* those without an offset are in the next request */
        run->partitions[list->elems[i].partition].offset_request = 0;
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_event_destroy(event);
    return status;
}

/* Asks for the offsets of the partitions of a list. A request of librdkafka's administration, unlike one
 * of the consumer, is not waited for. It has an answer for each partition even if the offset of another is
 * not decided. It is kept until it is answered. If it had timed out, and the coordinator comes back,
 * librdkafka would read memory that is free, and may end the process. */
static tamis_status request_offsets(kafka_dedup_run *run, const rd_kafka_topic_partition_list_t *list,
                                    tamis_error *err) {
    rd_kafka_ListConsumerGroupOffsets_t *wanted =
        rd_kafka_ListConsumerGroupOffsets_new(run->options.group, list);
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(run->client.probe, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
    char why[200] = "";
    rd_kafka_error_t *failed = rd_kafka_AdminOptions_set_require_stable_offsets(options, 1); /* K4 */
    const rd_kafka_resp_err_t code =
        failed ? rd_kafka_error_code(failed)
               : rd_kafka_AdminOptions_set_request_timeout(options, KEEP_MS, why, sizeof why);

    if (!run->offset_results)
        run->offset_results = rd_kafka_queue_new(run->client.probe);
    rd_kafka_AdminOptions_set_opaque(options, (void *)(uintptr_t)++run->offset_requests);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        rd_kafka_ListConsumerGroupOffsets(run->client.probe, &wanted, 1, options, run->offset_results);
    run->offsets_queried_at = tamis__now_ns();
    for (int i = 0; i < list->cnt; i++)
        run->partitions[list->elems[i].partition].offset_request = run->offset_requests;
    if (failed)
        rd_kafka_error_destroy(failed);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_ListConsumerGroupOffsets_destroy(wanted);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR
               ? TAMIS_OK
               : tamis__kafka_client_fail(&run->client, run->options.group, code, err);
}

/* A2. */
static tamis_status fetch_offsets(kafka_dedup_run *run, tamis_error *err) {
    rd_kafka_event_t *event;
    tamis_status status = TAMIS_OK;

    while (status == TAMIS_OK && run->offset_results && (event = rd_kafka_queue_poll(run->offset_results, 0)))
        status = read_offsets(run, event, err);
    if (status != TAMIS_OK || tamis__now_ns() < run->offsets_at)
        return status;
    const bool is_late = run->offsets_queried_at > 0 &&
                         tamis__now_ns() - run->offsets_queried_at >= (uint64_t)ANSWER_MS * 1000000;
    for (size_t i = 0; is_late && i < run->client.partition_count; i++)
        run->partitions[i].offset_request = 0;
    rd_kafka_topic_partition_list_t *list = list_requested(run, 0);
    if (list->cnt > 0)
        status = is_late ? repeat_request(run, list, 0, err) : request_offsets(run, list, err);
    rd_kafka_topic_partition_list_destroy(list);
    return status;
}

void tamis__kafka_begin_restore(kafka_partition *partition) {
    partition->can_stay |= partition->stage == KAFKA_JOINED;
    partition->stage = KAFKA_OFFSET;
    partition->offset_request = 0;
}

tamis_status tamis__kafka_dedup_refuse(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err) {
    tamis__kafka_dedup_stop_state(run, partition);
    if (!partition->input->is_assigned) { /* its owner decides what is wrong */
        tamis__kafka_client_remark(&run->client, "%s [%d]: no warm copy is kept: %s", run->options.from,
                                   (int)partition->number, err->text);
        tamis__kafka_partition_release(partition);
        partition->stage = KAFKA_IDLE;
        return TAMIS_OK;
    }
    if (err->status != TAMIS_E_CHANGED && err->status != TAMIS_E_DAMAGED)
        return err->status;
    if (tamis__kafka_refusal_store(run, partition, err) != TAMIS_OK)
        return err->status;
    partition->can_stay = false;
    tamis__kafka_begin_restore(partition);
    run->offsets_at = tamis__now_ns() + (uint64_t)RETRY_MS * 1000000;
    return TAMIS_OK;
}

/* ---- A3, A4 ---- */

static tamis_status choose_filter(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err) {
    kafka_range range;
    const rd_kafka_resp_err_t code =
        tamis__kafka_client_try_watermarks(&run->client, run->state_topic, partition->number, &range);

    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return retry_later(run, run->state_topic, code, err);
    if (!partition->filter || partition->covers < (uint64_t)range.low ||
        partition->covers > (uint64_t)range.end) {
        tamis__kafka_dedup_stop_state(run, partition);
        if (tamis__kafka_partition_reset(run, partition, err) != TAMIS_OK)
            return err->status;
        partition->low = partition->covers = (uint64_t)range.low;
    }
    partition->state_end = (uint64_t)range.end;
    partition->stage = KAFKA_STATE;
    if (partition->input->is_assigned && partition->covers >= partition->state_end)
        return TAMIS_OK;
    return tamis__kafka_dedup_read_state(run, partition, err);
}

/* ---- A6, A7 ---- */

/* A7 is done: the consumer may get the partition. */
static tamis_status make_ready(kafka_dedup_run *run, kafka_partition *partition) {
    tamis__kafka_dedup_stop_state(run, partition);
    partition->next = partition->input->position = partition->to;
    partition->stage = KAFKA_READY;
    return TAMIS_OK;
}

/* A7: where the input begins. */
static tamis_status begin_input(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err) {
    const int64_t offset = partition->offset;
    kafka_range range;
    const rd_kafka_resp_err_t code =
        tamis__kafka_client_try_watermarks(&run->client, run->options.from, partition->number, &range);

    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return retry_later(run, run->options.from, code, err);
    if (offset < 0 || run->is_stateless)
        partition->to = (uint64_t)(offset < 0 ? range.low : offset);
    /* An empty state would let keys into the old output again. */
    const char *and_outputs = run->is_stateless ? "" : " and new output topics";
    if (partition->to < (uint64_t)range.low) {
        tamis__fail(err, TAMIS_E_CHANGED, 0,
                    "%s [%d]: %" PRIu64 " records were removed before they were read, from offset %" PRIu64
                    " on; to go on without them, begin again with another group%s",
                    run->options.from, (int)partition->number, (uint64_t)range.low - partition->to,
                    partition->to, and_outputs);
        return tamis__kafka_dedup_refuse(run, partition, err);
    }
    if (partition->to > (uint64_t)range.end) {
        tamis__fail(err, TAMIS_E_CHANGED, 0,
                    "%s [%d]: ends at %" PRId64 ", but was read up to %" PRIu64
                    " before: it was made again; begin again with another group%s",
                    run->options.from, (int)partition->number, range.end, partition->to, and_outputs);
        return tamis__kafka_dedup_refuse(run, partition, err);
    }
    partition->input->stop_at = (uint64_t)range.end;
    return make_ready(run, partition);
}

/* A6 and A7 for a partition whose state was read, or is complete. */
static tamis_status finish_restore(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err) {
    /* The consumer notices if records of a partition that stays were removed meanwhile. */
    if (partition->can_stay && !run->options.until_end)
        return make_ready(run, partition);
    if (!run->is_stateless && tamis__kafka_dedup_check_chain(run, partition, err) != TAMIS_OK)
        return tamis__kafka_dedup_refuse(run, partition, err);
    return begin_input(run, partition, err);
}

/* ---- remarks ---- */

/* Reports a long wait. */
static void remark_wait(kafka_dedup_run *run, const kafka_counts *counts) {
    if (run->has_remarked_restore ||
        tamis__now_ns() - run->restore_progress_at < (uint64_t)REMARK_MS * 1000000)
        return;
    const char *error = tamis__kafka_client_error(&run->client);
    run->has_remarked_restore = true;
    tamis__kafka_client_remark(&run->client, "%s: waits for %s%s%s%s%s", run->options.group,
                               counts->offset > 0        ? "the offsets of the group"
                               : counts->watermarks == 0 ? "an open transaction in the state topic"
                                                         : "the brokers",
                               error[0] != '\0' ? " (" : "", error, error[0] != '\0' ? ")" : "",
                               counts->offset == 0 && counts->watermarks > 0
                                   ? ""
                                   : "; the transaction of a member that was killed ends after its "
                                     "transaction.timeout.ms, or at once "
                                     "when that member starts again with the same --instance");
}

static void remark_joined(kafka_dedup_run *run) {
    char keys[60] = "";

    if (!run->is_stateless)
        snprintf(keys, sizeof keys, "; %" PRIu64 " keys were restored", run->restored);
    tamis__kafka_client_remark(&run->client, "%s: %zu of %zu partitions are assigned to this process%s",
                               run->options.from, run->client.assigned, run->client.partition_count, keys);
}

/* Reports, once for each assignment, which partitions go on. */
static void remark_stages(kafka_dedup_run *run) {
    const kafka_counts counts = count_stages(run);
    const size_t assigned = run->client.assigned, others = run->client.partition_count - assigned;

    if (counts.joined < assigned) {
        remark_wait(run, &counts);
        if (counts.joined > 0 && !run->has_remarked_part &&
            tamis__now_ns() - run->assigned_at >= (uint64_t)PART_MS * 1000000) {
            run->has_remarked_part = true;
            tamis__kafka_client_remark(
                &run->client, "%s: %zu of %zu assigned partitions go on; the others are restored meanwhile",
                run->options.from, counts.joined, assigned);
        }
    } else if (!run->has_remarked_joined && assigned > 0) { /* 0: more members than partitions */
        run->has_remarked_joined = true;
        remark_joined(run);
    }
    if (run->options.standby && !run->has_remarked_standby && others > 0 && counts.warm == others) {
        run->has_remarked_standby = true;
        tamis__kafka_client_remark(&run->client, "%s: %zu of %zu partitions are kept warm by this process",
                                   run->options.from, others, run->client.partition_count);
    }
}

/* ---- all partitions ---- */

/* True if the pause after a failed query of watermarks is over. Such a query blocks. */
static bool may_query_watermarks(const kafka_dedup_run *run) {
    return tamis__now_ns() >= run->watermarks_at;
}

/* The requests of A that are due. */
static tamis_status send_requests(kafka_dedup_run *run, tamis_error *err) {
    tamis_status status = fetch_offsets(run, err);

    for (size_t i = 0; status == TAMIS_OK && may_query_watermarks(run) && i < run->client.partition_count;
         i++)
        if (run->partitions[i].stage == KAFKA_WATERMARKS)
            status = choose_filter(run, &run->partitions[i], err);
    for (size_t i = 0; status == TAMIS_OK && may_query_watermarks(run) && i < run->client.partition_count;
         i++) {
        kafka_partition *partition = &run->partitions[i];
        if (partition->input->is_assigned && partition->stage == KAFKA_STATE &&
            partition->covers >= partition->state_end)
            status = finish_restore(run, partition, err);
    }
    return status;
}

tamis_status tamis__kafka_dedup_advance(kafka_dedup_run *run, tamis_error *err) {
    bool has_read = false;

    tamis__kafka_merge_check(run);
    if (tamis__kafka_dedup_add_state(run, &has_read, err) != TAMIS_OK ||
        send_requests(run, err) != TAMIS_OK || tamis__kafka_dedup_join(run, err) != TAMIS_OK ||
        tamis__kafka_refusals_report(run, err) != TAMIS_OK ||
        tamis__kafka_merge_advance(run, err) != TAMIS_OK)
        return err->status;
    remark_stages(run);
    const bool is_waiting =
        (run->client.assigned > 0 && !run->has_remarked_joined) || tamis__kafka_merge_is_reading(run);
    run->poll_ms = has_read ? 0 : is_waiting ? WAIT_MS : TAMIS__KAFKA_SLICE;
    return TAMIS_OK;
}
