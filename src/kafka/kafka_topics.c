/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * B2: the topics of a run. T6: cuts of the state topic.
 *
 *     FROM                        must exist; its partitions are those of the state
 *     TO and other outputs        must exist; with as many partitions as FROM, records keep theirs
 *     GROUP.FROM.tamis-state      is made here, with as many partitions as FROM
 *
 * Kafka deletes records by default after a week. That would silently remove state. So the state topic has
 * settings of its own, and every start verifies them: somebody may have changed them.
 *
 * A partition that is added to FROM moves keys to other partitions, whose filters do not know them. So the
 * numbers of partitions must stay equal.
 *
 * Records that are not needed any more are removed by requests of this file, and in no other way. Only the
 * member knows which keys have expired (windows), or were copied (kafka_merge.c).
 *
 * Every name is checked first with the topic's metadata. A client that used an unknown name might create the
 * topic, with one partition and the settings of the broker.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/memory.h"
#include "base/system.h"
#include "kafka/kafka_dedup_int.h"

enum {
    ANSWER_MS = 20000,  /* how long a request of the start may take */
    ATTEMPT_MS = 500,   /* until a request is repeated, so that a signal ends the wait */
    VISIBLE_MS = 30000, /* until all brokers know a new topic */
    DELETED_MS = 3000,  /* how long the brokers must say that a topic is not there */
    CUT_PAUSE_S = 10,   /* until a cut that was refused is requested again */
    RECORD_BYTES = 200, /* of a record and its batch without the value, at most */
    HASHES_MIN = 64     /* of a full state record: fewer would take fewer bytes than its head */
};

static const struct {
    const char *name, *value;
} state_settings[] = {{"cleanup.policy", "delete"}, {"retention.ms", "-1"}, {"retention.bytes", "-1"}};

tamis_status tamis__kafka_check_name(const char *option, const char *name, tamis_error *err) {
    const size_t size = name ? strlen(name) : 1;

    if (!name || (size > 0 && size < TAMIS__KAFKA_NAME &&
                  strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == size))
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%s '%.150s': is not a name of 1 to %d letters, digits, dots, underscores and hyphens; "
        "give one",
        option, name, TAMIS__KAFKA_NAME - 1);
}

/* ---- numbers of partitions ---- */

/* Finds the number of partitions of a topic; 0: there is no such topic. */
static tamis_status count_partitions(kafka_client *client, const char *topic, size_t *count,
                                     tamis_error *err) {
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_topic_t *handle = rd_kafka_topic_new(client->probe, topic, NULL);
    rd_kafka_resp_err_t code = rd_kafka_last_error();

    if (!handle)
        return tamis__kafka_client_fail(client, topic, code, err);
    for (int waited = 0; waited < ANSWER_MS; waited += ATTEMPT_MS) {
        code = rd_kafka_metadata(client->probe, 0, handle, &metadata, ATTEMPT_MS);
        rd_kafka_poll(client->probe, 0); /* the reason of a failure */
        if (code != RD_KAFKA_RESP_ERR__TIMED_OUT && code != RD_KAFKA_RESP_ERR__TRANSPORT)
            break;
        const bool is_refused =
            client->code == RD_KAFKA_RESP_ERR__AUTHENTICATION || client->code == RD_KAFKA_RESP_ERR__SSL;
        if (is_refused)
            code = client->code; /* librdkafka would try the same password or certificate again */
        if (is_refused || tamis__kafka_client_must_stop(client))
            break;
        tamis__kafka_client_note_wait(client);
    }
    rd_kafka_topic_destroy(handle);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return tamis__kafka_client_fail(client, client->brokers, code, err);
    tamis__kafka_client_note_answer(client);
    code = metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    *count = code == RD_KAFKA_RESP_ERR_NO_ERROR ? (size_t)metadata->topics[0].partition_cnt : 0;
    if (*count > 0 && metadata->broker_cnt > 1 && metadata->topics[0].partitions[0].replica_cnt == 1 &&
        strcmp(topic, client->from) != 0)
        tamis__kafka_client_remark(
            client,
            "%s: has one replica, so a broker that is lost takes committed records with it; "
            "give the topic more",
            topic);
    rd_kafka_metadata_destroy(metadata);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        return TAMIS_OK;
    return tamis__kafka_client_fail(client, topic, code, err);
}

tamis_status tamis__kafka_await_topic(kafka_client *client, const char *topic, uint64_t milliseconds,
                                      size_t *count, tamis_error *err) {
    const uint64_t deadline = tamis__now_ns() + milliseconds * 1000000;

    for (;;) {
        if (count_partitions(client, topic, count, err) != TAMIS_OK)
            return err->status;
        if (*count > 0)
            return TAMIS_OK;
        if (tamis__now_ns() > deadline || tamis__kafka_client_must_stop(client))
            return tamis__kafka_client_fail(client, topic, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, err);
        tamis__sys.poll(NULL, 0, TAMIS__KAFKA_SLICE);
    }
}

/* ---- topics that are gone ---- */

tamis_status tamis__kafka_dedup_fail_topic(const kafka_dedup_run *run, const char *topic,
                                           rd_kafka_resp_err_t code, tamis_error *err) {
    const bool is_unknown = code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
                            code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
                            code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;

    if (!is_unknown || topic != run->state_topic)
        return tamis__kafka_client_fail(&run->client, topic, code, err);
    return tamis__fail(
        err, TAMIS_E_DAMAGED, 0,
        "%s: was deleted, and the keys of all earlier records with it; begin again with another "
        "group and new output topics",
        topic);
}

/* True if the brokers say that there is no such topic. */
static bool is_deleted(const kafka_dedup_run *run, const char *topic) {
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *handle = rd_kafka_topic_new(run->client.probe, topic, NULL);
    bool result = false;

    if (!handle)
        return false;
    if (rd_kafka_metadata(run->client.probe, 0, handle, &metadata, ATTEMPT_MS) ==
        RD_KAFKA_RESP_ERR_NO_ERROR) {
        result =
            metadata->topic_cnt == 1 && metadata->topics[0].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
        rd_kafka_metadata_destroy(metadata);
    }
    rd_kafka_topic_destroy(handle);
    return result;
}

bool tamis__kafka_dedup_find_deleted(const kafka_dedup_run *run, tamis_error *err) {
    const char *deleted = NULL;

    for (size_t i = 0; i < KAFKA_OUTPUTS && !deleted; i++)
        if (run->outputs[i].name && is_deleted(run, run->outputs[i].name))
            deleted = run->outputs[i].name;
    if (!deleted && !run->is_stateless && is_deleted(run, run->state_topic))
        deleted = run->state_topic;
    if (deleted)
        tamis__kafka_dedup_fail_topic(run, deleted, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, err);
    return deleted != NULL;
}

bool tamis__kafka_dedup_has_lost_topic(kafka_dedup_run *run, tamis_error *err) {
    const uint64_t now = tamis__now_ns();

    if (!tamis__kafka_dedup_find_deleted(run, err))
        run->deleted_since = 0;
    else if (run->deleted_since == 0)
        run->deleted_since = now;
    return run->deleted_since > 0 && now - run->deleted_since >= (uint64_t)DELETED_MS * 1000000;
}

/* ---- requests to the controller ---- */

/* Waits for the answer to a request. The caller destroys *event. */
static tamis_status await_response(kafka_dedup_run *run, rd_kafka_queue_t *queue, const char *what,
                                   rd_kafka_event_t **event, tamis_error *err) {
    *event = rd_kafka_queue_poll(queue, ANSWER_MS + 5000);
    if (!*event)
        return tamis__kafka_client_fail(&run->client, what, RD_KAFKA_RESP_ERR__TIMED_OUT, err);
    const rd_kafka_resp_err_t code = rd_kafka_event_error(*event);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return TAMIS_OK;
    rd_kafka_event_destroy(*event);
    *event = NULL;
    return tamis__kafka_client_fail(&run->client, what, code, err);
}

static tamis_status create_topic(kafka_dedup_run *run, size_t partitions, tamis_error *err) {
    char why[200];
    /* -1: the replication factor that the brokers are configured with */
    rd_kafka_NewTopic_t *topic =
        rd_kafka_NewTopic_new(run->state_topic, (int)partitions, -1, why, sizeof why);

    if (!topic)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%.200s: %s; choose other names of group and topic",
                           run->state_topic, why);
    for (size_t i = 0; i < sizeof state_settings / sizeof *state_settings; i++)
        rd_kafka_NewTopic_set_config(topic, state_settings[i].name, state_settings[i].value);
    /* What is cut leaves the disk by whole segments, 1 GiB by default. */
    snprintf(why, sizeof why, "%d", TAMIS__KAFKA_SEGMENT);
    rd_kafka_NewTopic_set_config(topic, "segment.bytes", why);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(run->client.probe);
    rd_kafka_CreateTopics(run->client.probe, &topic, 1, NULL, queue);
    rd_kafka_event_t *event = NULL;
    tamis_status status = await_response(run, queue, run->state_topic, &event, err);
    if (status == TAMIS_OK) {
        size_t count = 0;
        const rd_kafka_topic_result_t **results =
            rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
        const rd_kafka_resp_err_t code =
            count == 1 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR__BAD_MSG;
        /* Another member may have made it at the same time. */
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
            status = tamis__kafka_client_fail(&run->client, run->state_topic, code, err);
        rd_kafka_event_destroy(event);
    }
    rd_kafka_queue_destroy(queue);
    rd_kafka_NewTopic_destroy(topic);
    return status;
}

/* ---- settings of the state topic ---- */

/* Returns the value of a setting of librdkafka, a number. The probe has the user's values of all settings. */
static uint64_t read_setting(const kafka_dedup_run *run, const char *name) {
    char value[24] = "";
    size_t size = sizeof value;

    (void)rd_kafka_conf_get(rd_kafka_conf(run->client.probe), name, value, &size);
    return strtoull(value, NULL, 10);
}

/* Returns the bytes of a state record with run->record_hashes hashes, as it is sent. */
static uint64_t full_record_bytes(const kafka_dedup_run *run) {
    const size_t described = strlen(run->description);

    return RECORD_BYTES + (run->has_window ? tamis__kafka_record_size_max(described, run->record_hashes)
                                           : tamis__kafka_record_size(described, run->record_hashes,
                                                                      run->keys.size.bits, -1));
}

/* Sets run->record_hashes: the producer must accept the records. */
static tamis_status fit_records(kafka_dedup_run *run, tamis_error *err) {
    const uint64_t max = read_setting(run, "message.max.bytes");

    run->record_hashes = TAMIS__KAFKA_RECORD_HASHES;
    while (run->record_hashes > HASHES_MIN && full_record_bytes(run) > max)
        run->record_hashes /= 2;
    if (full_record_bytes(run) <= max)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "setting message.max.bytes: %" PRIu64 " is too small for state records; give %" PRIu64
                       " or more",
                       max, full_record_bytes(run));
}

/* Returns the most bytes of a batch of state records. A record larger than batch.size is sent alone. */
static uint64_t largest_batch(const kafka_dedup_run *run) {
    const uint64_t record = full_record_bytes(run), message = read_setting(run, "message.max.bytes"),
                   batch = read_setting(run, "batch.size"), filled = batch < message ? batch : message;

    return record > filled ? record : filled;
}

static tamis_status check_settings(kafka_dedup_run *run, const rd_kafka_ConfigResource_t *topic,
                                   tamis_error *err) {
    size_t count;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(topic, &count);
    const uint64_t batch = largest_batch(run);
    size_t verified = 0;

    for (size_t i = 0; i < count; i++) {
        const char *name = rd_kafka_ConfigEntry_name(entries[i]),
                   *value = rd_kafka_ConfigEntry_value(entries[i]);
        for (size_t k = 0; value && k < sizeof state_settings / sizeof *state_settings; k++) {
            if (strcmp(state_settings[k].name, name) != 0)
                continue;
            verified++;
            if (strcmp(state_settings[k].value, value) != 0)
                return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                                   "%s: its setting %s is %.40s, so Kafka would remove keys; set it to %s",
                                   run->state_topic, name, value, state_settings[k].value);
        }
        if (value && strcmp(name, "max.message.bytes") == 0 && strtoull(value, NULL, 10) < batch)
            return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                               "%s: its setting max.message.bytes is %.40s, too small for batches of %" PRIu64
                               " bytes; set it to %" PRIu64
                               " or more, or message.max.bytes of this process to %.40s",
                               run->state_topic, value, batch, batch, value);
    }
    if (verified != sizeof state_settings / sizeof *state_settings)
        return tamis__fail(err, TAMIS_E_REFUSED, 0,
                           "%s: the brokers do not say whether it is cleaned; give this user the right to "
                           "describe its settings",
                           run->state_topic);
    return TAMIS_OK;
}

static tamis_status check_state_topic(kafka_dedup_run *run, tamis_error *err) {
    rd_kafka_ConfigResource_t *topic = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, run->state_topic);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(run->client.probe);
    rd_kafka_event_t *event = NULL;

    rd_kafka_DescribeConfigs(run->client.probe, &topic, 1, NULL, queue);
    tamis_status status = await_response(run, queue, run->state_topic, &event, err);
    if (status == TAMIS_OK) {
        size_t count = 0;
        const rd_kafka_ConfigResource_t **found =
            rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count);
        const rd_kafka_resp_err_t code =
            count == 1 ? rd_kafka_ConfigResource_error(found[0]) : RD_KAFKA_RESP_ERR__BAD_MSG;
        status = code == RD_KAFKA_RESP_ERR_NO_ERROR
                     ? check_settings(run, found[0], err)
                     : tamis__kafka_client_fail(&run->client, run->state_topic, code, err);
        rd_kafka_event_destroy(event);
    }
    rd_kafka_queue_destroy(queue);
    rd_kafka_ConfigResource_destroy(topic);
    return status;
}

/* ---- cuts of the state topic ---- */

/* The error of an answer; only an answer without one has offsets. */
static rd_kafka_resp_err_t cut_error(rd_kafka_event_t *event) {
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);

    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    const rd_kafka_topic_partition_list_t *list =
        rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
    for (int i = 0; i < list->cnt && code == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
        code = list->elems[i].err;
    return code;
}

/* Notes a refusal. Records that are not cut only cost space and time of a restore. */
static void note_refused_cut(kafka_dedup_run *run) {
    if (run->cut_refused_at == 0)
        tamis__kafka_client_remark(
            &run->client,
            "%s: its records that are not needed any more are not removed; give this user the right to "
            "delete records of it",
            run->state_topic);
    run->cut_refused_at = tamis__now_ns();
    for (size_t i = 0; i < run->client.partition_count; i++)
        run->partitions[i].cut_requested = 0; /* a later cut removes them too */
}

static void read_cut_results(kafka_dedup_run *run) {
    rd_kafka_event_t *event;

    while ((event = rd_kafka_queue_poll(run->cut_results, 0))) {
        const rd_kafka_resp_err_t code = cut_error(event);
        rd_kafka_event_destroy(event);
        if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
            note_refused_cut(run);
        } else if (code == RD_KAFKA_RESP_ERR_NO_ERROR && run->cut_refused_at > 0) {
            run->cut_refused_at = 0;
            tamis__kafka_client_remark(&run->client,
                                       "%s: its records that are not needed any more are removed again",
                                       run->state_topic);
        }
    }
}

void tamis__kafka_dedup_cut_state(kafka_dedup_run *run) {
    const bool is_due = run->cut_refused_at == 0 ||
                        tamis__now_ns() - run->cut_refused_at >= (uint64_t)CUT_PAUSE_S * 1000000000;
    rd_kafka_topic_partition_list_t *before = rd_kafka_topic_partition_list_new(1);

    for (size_t i = 0; is_due && i < run->client.partition_count; i++) {
        kafka_partition *partition = &run->partitions[i];
        if (!partition->input->is_assigned || partition->needed_in_chain <= partition->cut_requested)
            continue;
        partition->cut_requested = partition->needed_in_chain;
        rd_kafka_topic_partition_list_add(before, run->state_topic, partition->number)->offset =
            (int64_t)partition->cut_requested;
    }
    if (before->cnt > 0) {
        rd_kafka_DeleteRecords_t *cut = rd_kafka_DeleteRecords_new(before);
        if (!run->cut_results)
            run->cut_results = rd_kafka_queue_new(run->client.probe);
        rd_kafka_DeleteRecords(run->client.probe, &cut, 1, NULL, run->cut_results);
        rd_kafka_DeleteRecords_destroy(cut);
    }
    rd_kafka_topic_partition_list_destroy(before);
    if (run->cut_results)
        read_cut_results(run);
}

/* ---- all topics ---- */

static tamis_status make_partitions(kafka_dedup_run *run, tamis_error *err) {
    const size_t count = run->client.partition_count;

    run->partitions = tamis__alloc(&run->memory, count * sizeof *run->partitions, _Alignof(kafka_partition));
    if (!run->partitions)
        return tamis__fail_nomem(err, "partitions", count * sizeof *run->partitions);
    for (size_t i = 0; i < count; i++) {
        run->partitions[i].number = (int32_t)i;
        run->partitions[i].input = &run->client.inputs[i];
    }
    return TAMIS_OK;
}

tamis_status tamis__kafka_dedup_check_topics(kafka_dedup_run *run, tamis_error *err) {
    const tamis_kafka_dedup_options *options = &run->options;
    const size_t from = run->client.partition_count;
    size_t state;

    for (kafka_output *output = run->outputs; output < run->outputs + KAFKA_OUTPUTS; output++)
        if (output->name && tamis__kafka_await_topic(&run->client, output->name, TAMIS__KAFKA_EXISTING_MS,
                                                     &output->partitions, err) != TAMIS_OK)
            return err->status;
    if (run->is_stateless && !run->list)
        snprintf(run->route, sizeof run->route, "partitions=%zu keys=%016" PRIx64,
                 run->outputs[KAFKA_UNIQUE].partitions,
                 XXH3_64bits(run->description, strlen(run->description)));
    if (run->is_stateless)
        return make_partitions(run, err);

    if (fit_records(run, err) != TAMIS_OK)
        return err->status;
    if (count_partitions(&run->client, run->state_topic, &state, err) != TAMIS_OK)
        return err->status;
    if (state == 0 &&
        (create_topic(run, from, err) != TAMIS_OK ||
         tamis__kafka_await_topic(&run->client, run->state_topic, VISIBLE_MS, &state, err) != TAMIS_OK))
        return err->status;
    if (state != from)
        return tamis__fail(
            err, TAMIS_E_MISMATCH, 0,
            "%s: has %zu partitions, but its state has %zu (%s): keys are in other partitions now; "
            "begin again with another group and new output topics",
            options->from, from, state, run->state_topic);
    /* A broker that answers may not know yet what another one has made. */
    const uint64_t deadline = tamis__now_ns() + (uint64_t)VISIBLE_MS * 1000000;
    while (check_state_topic(run, err) != TAMIS_OK) {
        if (err->status != TAMIS_E_NOT_FOUND || tamis__now_ns() > deadline ||
            tamis__kafka_client_must_stop(&run->client))
            return err->status;
        tamis__sys.poll(NULL, 0, TAMIS__KAFKA_SLICE);
    }
    return make_partitions(run, err);
}
