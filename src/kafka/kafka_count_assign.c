/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A and N: the group gives partitions and takes them away (range assignor, eager protocol: all at once).
 *
 *                     rebalance(ASSIGN)               assign: A1 to A4
 *     COUNT_UNASSIGNED ----------------> COUNT_ASSIGNED -------------> COUNT_COUNTING
 *            ^                                 |                            |
 *            +---------------------------------+----------------------------+
 *                     rebalance(REVOKE): count the batch, or forget it if the partitions are lost
 *
 * librdkafka calls the rebalance from a poll of the consumer. The consumer gets an empty assignment until A4
 * is done, so that it reads nothing.
 *
 * After a conflict (C7) the member leaves the group and joins it again. To seek would be faster, but a
 * conflict is rare: another member has the partitions, or Redis has lost writes.
 */
#include <inttypes.h>
#include <string.h>

#include "base/system.h"
#include "kafka/kafka_count_int.h"

enum { REQUEST_MS = 1000 /* a request; it is repeated until it has an answer */ };

/* ---- callbacks ---- */

static void give_nothing(rd_kafka_t *consumer) {
    rd_kafka_topic_partition_list_t *nothing = rd_kafka_topic_partition_list_new(0);

    rd_kafka_assign(consumer, nothing);
    rd_kafka_topic_partition_list_destroy(nothing);
}

static void forget_assignment(count_run *run) {
    run->phase = COUNT_UNASSIGNED;
    run->assigned = 0;
    for (size_t i = 0; i < run->partition_count; i++) {
        run->partitions[i].is_assigned = false;
        run->next[i] = TAMIS__NO_POSITION;
    }
    tamis__kafka_count_forget(run);
}

static void store_assignment(count_run *run, const rd_kafka_topic_partition_list_t *partitions) {
    forget_assignment(run);
    run->phase = COUNT_ASSIGNED;
    run->committed.assignments++;
    for (int i = 0; i < partitions->cnt; i++) {
        const int32_t number = partitions->elems[i].partition;
        if (number >= 0 && (size_t)number < run->partition_count) {
            run->partitions[number].is_assigned = true;
            run->assigned++;
        } else {
            run->stopped =
                tamis__fail(&run->stop_error, TAMIS_E_CHANGED, 0,
                            "%s: has a new partition %d; start the run again, and it is counted too",
                            run->options.from, (int)number);
        }
    }
}

void tamis__kafka_count_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t code,
                                  rd_kafka_topic_partition_list_t *partitions, void *client) {
    count_run *run = client;

    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        store_assignment(run, partitions);
        give_nothing(consumer);
        return;
    }
    /* N */
    if (run->phase == COUNT_COUNTING && !rd_kafka_assignment_lost(consumer) && run->stopped == TAMIS_OK)
        run->stopped = tamis__kafka_count_flush(run, &run->stop_error);
    forget_assignment(run);
    rd_kafka_assign(consumer, NULL);
}

tamis_status tamis__kafka_count_poll(count_run *run, int milliseconds, rd_kafka_message_t **message,
                                     tamis_error *err) {
    rd_kafka_message_t *polled = rd_kafka_consumer_poll(run->consumer, milliseconds);
    tamis_status status = TAMIS_OK;

    *message = NULL;
    if (polled && polled->err == RD_KAFKA_RESP_ERR_NO_ERROR &&
        (size_t)polled->partition < run->partition_count && run->stopped == TAMIS_OK) {
        *message = polled;
        return TAMIS_OK;
    }
    if (polled && polled->err == RD_KAFKA_RESP_ERR__PARTITION_EOF &&
        (size_t)polled->partition < run->partition_count)
        run->partitions[polled->partition].position = (uint64_t)polled->offset;
    else if (polled && polled->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        status = tamis__kafka_client_check(&run->client, run->consumer, run->options.from, polled, err);
    if (polled)
        rd_kafka_message_destroy(polled);
    if (status != TAMIS_OK || run->stopped == TAMIS_OK)
        return status;
    *err = run->stop_error;
    return run->stopped;
}

/* ---- requests ---- */

/* True if the group has changed the assignment, or the run must stop. */
static bool is_over(const count_run *run) {
    return run->phase != COUNT_ASSIGNED || tamis__kafka_client_must_stop(&run->client);
}

/* Polls the consumer, for the group. It has no partitions, so no record comes. */
static tamis_status stay_member(count_run *run, tamis_error *err) {
    rd_kafka_message_t *message;
    const tamis_status status = tamis__kafka_count_poll(run, TAMIS__KAFKA_SLICE, &message, err);

    if (message)
        rd_kafka_message_destroy(message);
    rd_kafka_poll(run->client.probe, 0);
    return status;
}

/* A list of the partitions of which `next` is known; NULL: of those that are assigned. */
static rd_kafka_topic_partition_list_t *list_partitions(const count_run *run, const uint64_t *next) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)run->assigned + 1);

    for (size_t i = 0; i < run->partition_count; i++)
        if (next ? next[i] != TAMIS__NO_POSITION : run->partitions[i].is_assigned)
            rd_kafka_topic_partition_list_add(list, run->options.from, (int32_t)i)->offset =
                next ? (int64_t)next[i] : RD_KAFKA_OFFSET_INVALID;
    return list;
}

tamis_status tamis__kafka_count_commit(count_run *run, const uint64_t *next, const char *metadata,
                                       rd_kafka_resp_err_t *code, tamis_error *err) {
    rd_kafka_topic_partition_list_t *list = list_partitions(run, next);

    for (int i = 0; i < list->cnt; i++) {
        list->elems[i].metadata = strdup(metadata); /* librdkafka frees it */
        list->elems[i].metadata_size = list->elems[i].metadata ? strlen(metadata) : 0;
    }
    *code = list->cnt > 0 ? rd_kafka_commit(run->consumer, list, 0) : RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_topic_partition_list_destroy(list);
    /* A zombie is refused. What else passes by itself does no harm: positions decide. */
    if (*code == RD_KAFKA_RESP_ERR_NO_ERROR || tamis__kafka_is_passing(*code) ||
        *code == RD_KAFKA_RESP_ERR__NO_OFFSET || *code == RD_KAFKA_RESP_ERR__STATE)
        return TAMIS_OK;
    return tamis__kafka_client_fail(&run->client, run->options.group, *code, err);
}

static tamis_status fetch_offsets(count_run *run, rd_kafka_topic_partition_list_t *list, tamis_error *err) {
    while (!is_over(run)) {
        rd_kafka_resp_err_t code = rd_kafka_committed(run->consumer, list, REQUEST_MS);
        for (int i = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++)
            code = list->elems[i].err;
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return TAMIS_OK;
        if (!tamis__kafka_is_passing(code))
            return tamis__kafka_client_fail(&run->client, run->options.group, code, err);
        if (stay_member(run, err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

static tamis_status query_watermarks(count_run *run, int32_t number, int64_t *low, int64_t *high,
                                     tamis_error *err) {
    *low = *high = 0;
    while (!is_over(run)) {
        const rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(
            run->client.probe, run->options.from, number, low, high, REQUEST_MS);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return TAMIS_OK;
        if (!tamis__kafka_is_passing(code))
            return tamis__kafka_client_fail(&run->client, run->options.from, code, err);
        if (stay_member(run, err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

/* ---- A2: where a partition begins ---- */

static bool is_counted(const rd_kafka_topic_partition_t *offset) {
    return offset->metadata_size == strlen("counted") && memcmp(offset->metadata, "counted", 7) == 0;
}

static tamis_status fail_home(const count_run *run, const rd_kafka_topic_partition_t *offset, uint64_t home,
                              tamis_error *err) {
    if (home == TAMIS__NO_POSITION)
        return tamis__fail(
            err, TAMIS_E_CHANGED, 0,
            "%s [%d]: group %s has counted up to offset %" PRId64
            ", but this Redis has no position: it was emptied, or is another one; give the former "
            "one, or set the offset of the group to the first record to count here",
            run->options.from, (int)offset->partition, run->options.group, offset->offset);
    return tamis__fail(
        err, TAMIS_E_CHANGED, 0,
        "%s [%d]: Redis has counts up to offset %" PRIu64
        ", but group %s has no offset; if it has expired, set it to %" PRIu64
        ", and nothing is lost or repeated; if the topic was made again, use another group and other "
        "names of counters",
        run->options.from, (int)offset->partition, home, run->options.group, home);
}

/* A2 and A4 for one partition. *is_new: A3 has to commit the begin. */
static tamis_status find_begin(count_run *run, const rd_kafka_topic_partition_t *offset, bool *is_new,
                               tamis_error *err) {
    const int32_t number = offset->partition;
    const uint64_t home = run->home[number];
    const bool has_home = home != TAMIS__NO_POSITION, has_offset = offset->offset >= 0;
    int64_t low, high;

    if (has_home ? !has_offset : has_offset && is_counted(offset))
        return fail_home(run, offset, home, err);
    if (query_watermarks(run, number, &low, &high, err) != TAMIS_OK)
        return err->status;
    *is_new = !has_home && !has_offset;
    uint64_t begin = has_home ? home : has_offset ? (uint64_t)offset->offset : (uint64_t)low;
    if (run->lower[number] < begin)
        begin = run->lower[number];
    run->partitions[number].position = run->next[number] = begin;
    run->partitions[number].stop_at = (uint64_t)high;
    if (is_over(run))
        return TAMIS_OK;
    if (begin < (uint64_t)low)
        return tamis__fail(err, TAMIS_E_CHANGED, 0,
                           "%s [%d]: %" PRIu64
                           " records were removed before they were counted, from offset %" PRIu64
                           " on; to count what is left, use another group and other names of counters",
                           run->options.from, (int)number, (uint64_t)low - begin, begin);
    if (begin > (uint64_t)high)
        return tamis__fail(err, TAMIS_E_CHANGED, 0,
                           "%s [%d]: ends at %" PRId64 ", but Redis has counts up to %" PRIu64
                           ": it was made again; use another group and other names of counters",
                           run->options.from, (int)number, high, begin);
    if (has_home && has_offset && (uint64_t)offset->offset > home)
        tamis__kafka_client_remark(&run->client,
                                   "%s [%d]: the offset of the group is %" PRId64
                                   ", but Redis has counts up to %" PRIu64
                                   " only; they are counted from there",
                                   run->options.from, (int)number, offset->offset, home);
    return TAMIS_OK;
}

/* A3: an offset is there before a position is. */
static tamis_status commit_begin(count_run *run, const uint64_t *begins, tamis_error *err) {
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_UNKNOWN;

    while (!is_over(run)) {
        if (tamis__kafka_count_commit(run, begins, "begin", &code, err) != TAMIS_OK)
            return err->status;
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return TAMIS_OK;
        if (stay_member(run, err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

static tamis_status find_begins(count_run *run, const rd_kafka_topic_partition_list_t *offsets,
                                tamis_error *err) {
    uint64_t *begins = run->scratch;

    for (size_t i = 0; i < run->partition_count; i++)
        begins[i] = TAMIS__NO_POSITION;
    for (int i = 0; i < offsets->cnt && !is_over(run); i++) {
        bool is_new = false;
        if (find_begin(run, &offsets->elems[i], &is_new, err) != TAMIS_OK)
            return err->status;
        if (is_new)
            begins[offsets->elems[i].partition] = run->next[offsets->elems[i].partition];
    }
    return commit_begin(run, begins, err);
}

/* R: repeats A1. TAMIS_OK: the positions have changed. */
static tamis_status repeat(count_run *run, tamis_status status, tamis_error *err) {
    tamis_error second = TAMIS_ERROR_INIT;
    const size_t size = run->partition_count * sizeof *run->home;

    memcpy(run->scratch, run->home, size);
    if (tamis__counts_begin(run->counts, run->home, &second) != TAMIS_OK) {
        *err = second;
        return err->status;
    }
    return memcmp(run->scratch, run->home, size) != 0 ? TAMIS_OK : status;
}

static tamis_status read_on(count_run *run, tamis_error *err) {
    rd_kafka_topic_partition_list_t *list = list_partitions(run, run->next);
    const rd_kafka_resp_err_t code = rd_kafka_assign(run->consumer, list);

    rd_kafka_topic_partition_list_destroy(list);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return tamis__kafka_client_fail(&run->client, run->options.group, code, err);
    for (size_t i = 0; i < run->partition_count; i++)
        run->lower[i] = TAMIS__NO_POSITION;
    run->phase = COUNT_COUNTING;
    return TAMIS_OK;
}

tamis_status tamis__kafka_count_assign(count_run *run, tamis_error *err) {
    if (tamis__counts_begin(run->counts, run->home, err) != TAMIS_OK) /* A1 */
        return err->status;
    rd_kafka_topic_partition_list_t *offsets = list_partitions(run, NULL);
    tamis_status status = offsets->cnt > 0 ? fetch_offsets(run, offsets, err) : TAMIS_OK; /* A2 */
    if (status == TAMIS_OK && !is_over(run))
        status = find_begins(run, offsets, err); /* A2 to A4 */
    rd_kafka_topic_partition_list_destroy(offsets);
    if (status == TAMIS_E_CHANGED)
        return repeat(run, status, err); /* R: if it is TAMIS_OK, A begins again */
    return status == TAMIS_OK && !is_over(run) ? read_on(run, err) : status;
}
