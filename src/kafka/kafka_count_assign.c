/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A and N: the group gives partitions and takes them away. kafka_consumer.c has the phases of a member,
 * docs/KAFKA-COUNT-PROTOCOL.md the proof.
 *
 * Idea: Redis says where to go on, since the counters are there, and one script changes counters and
 * positions together. The offset of the group follows. It is used only to notice that the two do not fit:
 *
 *     position in Redis   offset of the group   the member begins      meaning
 *     -----------------   -------------------   --------------------   -----------------------------------
 *     yes                 yes                   at the position        the usual start
 *     yes                 none                  refuses (fail_home)    topic made again, or offset expired
 *     none                with "counted"        refuses (fail_home)    Redis was emptied
 *     none                without "counted"     at the offset          first start, or set by hand
 *     none                none                  at the first record    first start
 *
 * The steps of an assignment:
 *
 *     A1 tamis__counts_begin   A2, A4 find_begin              A3 commit_begin
 *     positions in Redis ----> offsets; is the begin -------> offset of the begin ----> reading
 *        ^                     in the topic?                  (first start only)
 *        |                           | no
 *        +------- repeat_home <------+     another member may have counted meanwhile
 *
 * Invariants:
 * 1. Nothing is read before A has ended. So each record from the begin on goes through the batch once.
 * 2. The offset of the begin is committed before a script makes a position. So a position without an offset
 *    always means that something was lost.
 * 3. run->lower[i] is a position that a script has found below the known one (C7): Redis has lost writes. The
 *    next begin is not above it.
 * 4. A refusal is repeated with a second look at Redis first. Only if that is the same, the run ends.
 *
 * N counts the batch if the partitions are revoked, and forgets it if they are lost. Then another member has
 * them already, and reads the same records again.
 *
 * After a conflict (C7) the member leaves the group and joins it again. To seek would be faster, but a
 * conflict is rare: another member has the partitions, or Redis has lost writes.
 */
#include <inttypes.h>
#include <string.h>

#include "base/system.h"
#include "kafka/kafka_count_int.h"

enum { STOP_MS = 10000 }; /* how long a run that must stop waits for the offsets to be committed */

/* ---- callbacks ---- */

/* Forgets the batch, and where the partitions are. */
static void forget_batch(kafka_count_run *run) {
    for (size_t i = 0; i < run->client.partition_count; i++)
        run->next[i] = TAMIS__NO_POSITION;
    tamis__kafka_count_forget(run);
}

void tamis__kafka_count_on_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t code,
                                     rd_kafka_topic_partition_list_t *partitions, void *context) {
    kafka_count_run *run = context;
    kafka_client *client = &run->client;

    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        forget_batch(run);
        run->committed.assignments++;
        const int32_t added = tamis__kafka_client_store_assignment(client, partitions);
        if (added >= 0)
            client->stopped =
                tamis__fail(&client->stop_error, TAMIS_E_CHANGED, 0,
                            "%s: has a new partition %d; start the run again, and it is counted too",
                            run->options.from, (int)added);
        return;
    }
    /* N */
    if (client->phase == KAFKA_RUNNING && !rd_kafka_assignment_lost(consumer) && client->stopped == TAMIS_OK)
        client->stopped = tamis__kafka_count_flush(run, &client->stop_error);
    forget_batch(run);
    tamis__kafka_client_forget_assignment(client);
    rd_kafka_assign(consumer, NULL);
}

/* ---- requests ---- */

/* Lists the partitions that have an offset in `next`. */
static rd_kafka_topic_partition_list_t *list_offsets(const kafka_count_run *run, const uint64_t *next) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)run->client.assigned);

    for (size_t i = 0; i < run->client.partition_count; i++)
        if (next[i] != TAMIS__NO_POSITION)
            rd_kafka_topic_partition_list_add(list, run->options.from, (int32_t)i)->offset = (int64_t)next[i];
    return list;
}

/* Commits offsets, and waits for the answer; if the run must stop, for some seconds only. */
static rd_kafka_resp_err_t commit_offsets(kafka_client *client, const rd_kafka_topic_partition_list_t *list) {
    rd_kafka_queue_t *queue = rd_kafka_queue_new(client->consumer);
    rd_kafka_resp_err_t code = rd_kafka_commit_queue(client->consumer, list, queue, NULL, NULL);
    rd_kafka_event_t *event = NULL;

    for (int stopping = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && !event && stopping < STOP_MS;) {
        event = rd_kafka_queue_poll(queue, TAMIS__KAFKA_SLICE);
        if (!event) {
            tamis__kafka_client_note_wait(client);
            stopping += tamis__kafka_client_must_stop(client) ? TAMIS__KAFKA_SLICE : 0;
        }
    }
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        tamis__kafka_client_note_answer(client);
    if (event)
        rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    return code;
}

tamis_status tamis__kafka_count_commit(kafka_count_run *run, const uint64_t *next, const char *metadata,
                                       rd_kafka_resp_err_t *code, tamis_error *err) {
    rd_kafka_topic_partition_list_t *list = list_offsets(run, next);

    for (int i = 0; i < list->cnt; i++) {
        list->elems[i].metadata = strdup(metadata); /* librdkafka frees it */
        list->elems[i].metadata_size = list->elems[i].metadata ? strlen(metadata) : 0;
    }
    *code = list->cnt > 0 ? commit_offsets(&run->client, list) : RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_topic_partition_list_destroy(list);
    /* A zombie is refused, and the next poll says so. Other transient errors do no harm: positions decide. */
    if (*code == RD_KAFKA_RESP_ERR_NO_ERROR || tamis__kafka_is_transient(*code) ||
        *code == RD_KAFKA_RESP_ERR__NO_OFFSET || *code == RD_KAFKA_RESP_ERR__STATE ||
        *code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID || *code == RD_KAFKA_RESP_ERR__FATAL)
        return TAMIS_OK;
    return tamis__kafka_client_fail(&run->client, run->options.group, *code, err);
}

/* ---- A2: where a partition begins ---- */

static bool is_counted(const rd_kafka_topic_partition_t *offset) {
    return offset->metadata_size == strlen("counted") && memcmp(offset->metadata, "counted", 7) == 0;
}

static tamis_status fail_home(const kafka_count_run *run, const rd_kafka_topic_partition_t *offset,
                              uint64_t home, tamis_error *err) {
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
static tamis_status find_begin(kafka_count_run *run, const rd_kafka_topic_partition_t *offset, bool *is_new,
                               tamis_error *err) {
    const int32_t number = offset->partition;
    const uint64_t home = run->home[number];
    const bool has_home = home != TAMIS__NO_POSITION, has_offset = offset->offset >= 0;
    kafka_range range;

    if (has_home ? !has_offset : has_offset && is_counted(offset))
        return fail_home(run, offset, home, err);
    if (tamis__kafka_client_query_watermarks(&run->client, run->options.from, number, &range, err) !=
        TAMIS_OK)
        return err->status;
    *is_new = !has_home && !has_offset;
    uint64_t begin = has_home ? home : has_offset ? (uint64_t)offset->offset : (uint64_t)range.low;
    if (run->lower[number] < begin)
        begin = run->lower[number];
    run->next[number] = begin;
    run->client.inputs[number].stop_at = (uint64_t)range.end;
    if (tamis__kafka_client_is_interrupted(&run->client))
        return TAMIS_OK;
    if (begin < (uint64_t)range.low)
        return tamis__fail(err, TAMIS_E_CHANGED, 0,
                           "%s [%d]: %" PRIu64
                           " records were removed before they were counted, from offset %" PRIu64
                           " on; to count what is left, use another group and other names of counters",
                           run->options.from, (int)number, (uint64_t)range.low - begin, begin);
    if (begin > (uint64_t)range.end)
        return tamis__fail(err, TAMIS_E_CHANGED, 0,
                           "%s [%d]: ends at %" PRId64 ", but Redis has counts up to %" PRIu64
                           ": it was made again; use another group and other names of counters",
                           run->options.from, (int)number, range.end, begin);
    if (has_home && has_offset && (uint64_t)offset->offset > home)
        tamis__kafka_client_remark(&run->client,
                                   "%s [%d]: the offset of the group is %" PRId64
                                   ", but Redis has counts up to %" PRIu64
                                   " only; they are counted from there",
                                   run->options.from, (int)number, offset->offset, home);
    return TAMIS_OK;
}

/* A3: commits offsets before a script makes positions. */
static tamis_status commit_begin(kafka_count_run *run, const uint64_t *begins, tamis_error *err) {
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_UNKNOWN;

    while (!tamis__kafka_client_is_interrupted(&run->client)) {
        if (tamis__kafka_count_commit(run, begins, "begin", &code, err) != TAMIS_OK)
            return err->status;
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return TAMIS_OK;
        if (tamis__kafka_client_stay_member(&run->client, TAMIS__KAFKA_SLICE, err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

static tamis_status find_begins(kafka_count_run *run, const rd_kafka_topic_partition_list_t *offsets,
                                tamis_error *err) {
    uint64_t *begins = run->scratch;

    for (size_t i = 0; i < run->client.partition_count; i++)
        begins[i] = TAMIS__NO_POSITION;
    for (int i = 0; i < offsets->cnt && !tamis__kafka_client_is_interrupted(&run->client); i++) {
        bool is_new = false;
        if (find_begin(run, &offsets->elems[i], &is_new, err) != TAMIS_OK)
            return err->status;
        if (is_new)
            begins[offsets->elems[i].partition] = run->next[offsets->elems[i].partition];
    }
    return commit_begin(run, begins, err);
}

/* R: repeats A1. TAMIS_OK: the positions have changed. */
static tamis_status repeat_home(kafka_count_run *run, tamis_status status, tamis_error *err) {
    tamis_error second = TAMIS_ERROR_INIT;
    const size_t size = run->client.partition_count * sizeof *run->home;

    memcpy(run->scratch, run->home, size);
    if (tamis__counts_begin(run->counts, run->home, &second) != TAMIS_OK) {
        *err = second;
        return err->status;
    }
    return memcmp(run->scratch, run->home, size) != 0 ? TAMIS_OK : status;
}

tamis_status tamis__kafka_count_assign(kafka_count_run *run, tamis_error *err) {
    kafka_client *client = &run->client;

    if (tamis__counts_begin(run->counts, run->home, err) != TAMIS_OK) /* A1 */
        return err->status;
    tamis__kafka_count_note_redis(run);
    rd_kafka_topic_partition_list_t *offsets = tamis__kafka_client_list_assigned(client);
    tamis_status status = TAMIS_OK;
    if (offsets->cnt > 0)
        status = tamis__kafka_client_fetch_offsets(client, offsets, err); /* A2 */
    if (status == TAMIS_OK && !tamis__kafka_client_is_interrupted(client))
        status = find_begins(run, offsets, err); /* A2 to A4 */
    rd_kafka_topic_partition_list_destroy(offsets);
    if (status == TAMIS_E_CHANGED)
        return repeat_home(run, status, err); /* R: if it is TAMIS_OK, A begins again */
    if (status != TAMIS_OK || tamis__kafka_client_is_interrupted(client))
        return status;
    if (tamis__kafka_client_start_reading(client, list_offsets(run, run->next), err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < client->partition_count; i++)
        run->lower[i] = TAMIS__NO_POSITION;
    client->phase = KAFKA_RUNNING;
    tamis__kafka_client_note_answer(client);
    if (client->assigned > 0)
        tamis__kafka_client_remark(client, "%s: %zu of %zu partitions are assigned to this process",
                                   run->options.from, client->assigned, client->partition_count);
    return TAMIS_OK;
}
