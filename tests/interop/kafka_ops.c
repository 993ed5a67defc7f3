/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Requests of tests to a Kafka broker, without the JVM of its tools:
 *
 *     kafka_ops BROKERS create TOPIC PARTITIONS
 *     kafka_ops BROKERS single TOPIC BROKER                 one partition with one replica, at this broker
 *     kafka_ops BROKERS grow TOPIC PARTITIONS               more partitions
 *     kafka_ops BROKERS config TOPIC NAME VALUE...          all other settings become the defaults
 *     kafka_ops BROKERS allow USER TYPE NAME OPERATION       TYPE: topic or group
 *     kafka_ops BROKERS offset GROUP TOPIC PARTITION OFFSET of a group without members
 *     kafka_ops BROKERS forget GROUP TOPIC PARTITION        removes the offset of a group without members
 *     kafka_ops BROKERS delete TOPIC
 *     kafka_ops BROKERS cut TOPIC PARTITION OFFSET          removes all records before this offset
 *     kafka_ops BROKERS hold TOPIC SECONDS                  an open transaction, which is aborted then, or at SIGTERM
 *     kafka_ops BROKERS lengthen TOPIC COUNT                appends so many state records without hashes to each chain
 *     kafka_ops BROKERS chain TOPIC                         a line for each committed state record, as
 *                                                           docs/KAFKA-PROTOCOL.md has them: partition offset
 *                                                           from to hashes needed
 */
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { WAIT_MS = 30000, PARTITIONS_MAX = 16 };

static void die(const char *what, const char *why) {
    fprintf(stderr, "kafka_ops: %s: %s\n", what, why);
    exit(2);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char why[300];

    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) != RD_KAFKA_CONF_OK)
        die(name, why);
}

static rd_kafka_t *open_consumer(const char *brokers, const char *group) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char why[300];

    set(conf, "bootstrap.servers", brokers);
    set(conf, "group.id", group);
    set(conf, "enable.auto.commit", "false");
    set(conf, "auto.offset.reset", "error");
    set(conf, "enable.partition.eof", "true");
    set(conf, "isolation.level", "read_committed");
    rd_kafka_t *handle = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof why);
    if (!handle)
        die("consumer", why);
    return handle;
}

/* ---- administration ---- */

static void check_topics(const rd_kafka_topic_result_t **results, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (rd_kafka_topic_result_error(results[i]) != RD_KAFKA_RESP_ERR_NO_ERROR)
            die(rd_kafka_topic_result_name(results[i]),
                rd_kafka_err2str(rd_kafka_topic_result_error(results[i])));
}

static void check_configs(const rd_kafka_ConfigResource_t **results, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (rd_kafka_ConfigResource_error(results[i]) != RD_KAFKA_RESP_ERR_NO_ERROR)
            die(rd_kafka_ConfigResource_name(results[i]),
                rd_kafka_err2str(rd_kafka_ConfigResource_error(results[i])));
}

static void check_offsets(const rd_kafka_DeleteConsumerGroupOffsets_result_t *result) {
    size_t count;
    const rd_kafka_group_result_t **groups =
        rd_kafka_DeleteConsumerGroupOffsets_result_groups(result, &count);

    for (size_t i = 0; i < count; i++) {
        const rd_kafka_error_t *error = rd_kafka_group_result_error(groups[i]);
        const rd_kafka_topic_partition_list_t *list = rd_kafka_group_result_partitions(groups[i]);
        if (error)
            die(rd_kafka_group_result_name(groups[i]), rd_kafka_error_string(error));
        for (int k = 0; list && k < list->cnt; k++)
            if (list->elems[k].err != RD_KAFKA_RESP_ERR_NO_ERROR)
                die(list->elems[k].topic, rd_kafka_err2str(list->elems[k].err));
    }
}

static void await(rd_kafka_queue_t *queue) {
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, WAIT_MS);
    const rd_kafka_topic_result_t **topics;
    const rd_kafka_ConfigResource_t **configs;
    size_t count;

    if (!event)
        die("request", "no answer");
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
        die("request", rd_kafka_event_error_string(event));
    switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_CREATETOPICS_RESULT:
        topics = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
        check_topics(topics, count);
        break;
    case RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT:
        topics =
            rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event), &count);
        check_topics(topics, count);
        break;
    case RD_KAFKA_EVENT_ALTERCONFIGS_RESULT:
        configs = rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event), &count);
        check_configs(configs, count);
        break;
    case RD_KAFKA_EVENT_DELETETOPICS_RESULT:
        topics = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count);
        check_topics(topics, count);
        break;
    case RD_KAFKA_EVENT_DELETECONSUMERGROUPOFFSETS_RESULT:
        check_offsets(rd_kafka_event_DeleteConsumerGroupOffsets_result(event));
        break;
    case RD_KAFKA_EVENT_CREATEACLS_RESULT:
    case RD_KAFKA_EVENT_DELETERECORDS_RESULT:
        break;
    default:
        die("request", rd_kafka_event_name(event));
    }
    rd_kafka_event_destroy(event);
}

static void administer(rd_kafka_t *handle, char **words) {
    rd_kafka_queue_t *queue = rd_kafka_queue_new(handle);
    char why[300];

    if (strcmp(words[0], "create") == 0 || strcmp(words[0], "single") == 0) {
        const int is_single = strcmp(words[0], "single") == 0;
        int32_t broker = atoi(words[2]);
        /* -1: as many replicas as the brokers are configured with, or those that are named */
        rd_kafka_NewTopic_t *topic =
            rd_kafka_NewTopic_new(words[1], is_single ? 1 : atoi(words[2]), -1, why, sizeof why);
        if (!topic)
            die(words[1], why);
        if (is_single && rd_kafka_NewTopic_set_replica_assignment(topic, 0, &broker, 1, why, sizeof why) !=
                             RD_KAFKA_RESP_ERR_NO_ERROR)
            die(words[1], why);
        rd_kafka_CreateTopics(handle, &topic, 1, NULL, queue);
        rd_kafka_NewTopic_destroy(topic);
    } else if (strcmp(words[0], "grow") == 0) {
        rd_kafka_NewPartitions_t *more =
            rd_kafka_NewPartitions_new(words[1], (size_t)atoi(words[2]), why, sizeof why);
        if (!more)
            die(words[1], why);
        rd_kafka_CreatePartitions(handle, &more, 1, NULL, queue);
        rd_kafka_NewPartitions_destroy(more);
    } else if (strcmp(words[0], "delete") == 0) {
        rd_kafka_DeleteTopic_t *topic = rd_kafka_DeleteTopic_new(words[1]);
        rd_kafka_DeleteTopics(handle, &topic, 1, NULL, queue);
        rd_kafka_DeleteTopic_destroy(topic);
    } else if (strcmp(words[0], "forget") == 0) {
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(list, words[2], atoi(words[3]));
        rd_kafka_DeleteConsumerGroupOffsets_t *request =
            rd_kafka_DeleteConsumerGroupOffsets_new(words[1], list);
        rd_kafka_DeleteConsumerGroupOffsets(handle, &request, 1, NULL, queue);
        rd_kafka_DeleteConsumerGroupOffsets_destroy(request);
        rd_kafka_topic_partition_list_destroy(list);
    } else {
        rd_kafka_ConfigResource_t *topic = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, words[1]);
        for (char **pair = words + 2; pair[0] && pair[1]; pair += 2)
            rd_kafka_ConfigResource_set_config(topic, pair[0], pair[1]);
        rd_kafka_AlterConfigs(handle, &topic, 1, NULL, queue);
        rd_kafka_ConfigResource_destroy(topic);
    }
    await(queue);
    rd_kafka_queue_destroy(queue);
}

static void cut(rd_kafka_t *handle, char **words) {
    rd_kafka_queue_t *queue = rd_kafka_queue_new(handle);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);

    rd_kafka_topic_partition_list_add(list, words[1], atoi(words[2]))->offset = atoll(words[3]);
    rd_kafka_DeleteRecords_t *request = rd_kafka_DeleteRecords_new(list);
    rd_kafka_DeleteRecords(handle, &request, 1, NULL, queue);
    rd_kafka_DeleteRecords_destroy(request);
    rd_kafka_topic_partition_list_destroy(list);
    await(queue);
    rd_kafka_queue_destroy(queue);
}

static void allow(rd_kafka_t *handle, char **words) {
    rd_kafka_queue_t *queue = rd_kafka_queue_new(handle);
    const rd_kafka_ResourceType_t type =
        strcmp(words[2], "group") == 0 ? RD_KAFKA_RESOURCE_GROUP : RD_KAFKA_RESOURCE_TOPIC;
    rd_kafka_AclOperation_t operation = RD_KAFKA_ACL_OPERATION_READ;
    char user[100], why[300];

    snprintf(user, sizeof user, "User:%s", words[1]);
    while (operation < RD_KAFKA_ACL_OPERATION__CNT &&
           strcmp(rd_kafka_AclOperation_name(operation), words[4]) != 0)
        operation++;
    rd_kafka_AclBinding_t *acl =
        rd_kafka_AclBinding_new(type, words[3], RD_KAFKA_RESOURCE_PATTERN_LITERAL, user, "*", operation,
                                RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, why, sizeof why);
    if (!acl)
        die(words[3], why);
    rd_kafka_CreateAcls(handle, &acl, 1, NULL, queue);
    rd_kafka_AclBinding_destroy(acl);
    await(queue);
    rd_kafka_queue_destroy(queue);
}

static void set_offset(rd_kafka_t *handle, char **words) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);

    rd_kafka_topic_partition_list_add(list, words[2], atoi(words[3]))->offset = atoll(words[4]);
    const rd_kafka_resp_err_t code = rd_kafka_commit(handle, list, 0);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        die(words[1], rd_kafka_err2str(code));
    rd_kafka_topic_partition_list_destroy(list);
}

/* ---- a transaction ---- */

static void check(rd_kafka_error_t *error) {
    if (error)
        die("transaction", rd_kafka_error_string(error));
}

static void wake(int signal) {
    (void)signal;
}

static rd_kafka_t *open_producer(const char *brokers) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char why[300];

    set(conf, "bootstrap.servers", brokers);
    set(conf, "transactional.id", "kafka_ops");
    set(conf, "linger.ms", "0");
    rd_kafka_t *producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    if (!producer)
        die("producer", why);
    check(rd_kafka_init_transactions(producer, WAIT_MS));
    return producer;
}

static void produce(rd_kafka_t *producer, const char *topic, int partition, const void *bytes, size_t size) {
    if (rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
                          RD_KAFKA_V_VALUE((void *)bytes, size), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                          RD_KAFKA_V_END) != RD_KAFKA_RESP_ERR_NO_ERROR)
        die(topic, "not written");
}

static void hold(const char *brokers, const char *topic, unsigned seconds) {
    rd_kafka_t *producer = open_producer(brokers);

    check(rd_kafka_begin_transaction(producer));
    produce(producer, topic, 0, "x", 1);
    rd_kafka_flush(producer, WAIT_MS);
    signal(SIGTERM, wake);
    sleep(seconds);
    check(rd_kafka_abort_transaction(producer, WAIT_MS));
    rd_kafka_destroy(producer);
}

/* ---- the chain ---- */

static uint64_t number(const unsigned char *bytes, int size) {
    uint64_t value = 0;

    while (size-- > 0)
        value = value << 8 | bytes[size];
    return value;
}

static void print_record(const rd_kafka_message_t *message) {
    const unsigned char *bytes = message->payload;

    if (message->len < 64 || memcmp(bytes, "TKSR\5", 5) != 0)
        die("state topic", "not a state record");
    const uint64_t count = number(bytes + 24, 4), description = number(bytes + 6, 2);
    uint64_t sorted = 0, size = 64 + description;
    while (UINT64_C(1) << sorted < count)
        sorted++;
    if (bytes[5] & 2) /* with times */
        size += 17 + (count * bytes[56 + description + 16] + 7) / 8;
    size += bytes[5] & 4 ? 8 * count : 0; /* whole digests */
    size +=
        (count * ((bytes[5] & 8 ? 48 : 64) - sorted) + 7) / 8 + (count + (UINT64_C(1) << sorted) - 1 + 7) / 8;
    if (message->len != size)
        die("state topic", "a state record has another size");
    printf("%d %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", (int)message->partition,
           message->offset, number(bytes + 8, 8), number(bytes + 16, 8), count, number(bytes + 40, 8));
}

/* Calls `report` for each record of a topic. Returns the number of its partitions. */
static int read_topic(rd_kafka_t *handle, const char *topic,
                      void (*report)(const rd_kafka_message_t *message)) {
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *named = rd_kafka_topic_new(handle, topic, NULL);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    int left;

    rd_kafka_poll_set_consumer(handle);
    const rd_kafka_resp_err_t code = rd_kafka_metadata(handle, 0, named, &metadata, WAIT_MS);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        die(topic, rd_kafka_err2str(code));
    const int count = metadata->topics[0].partition_cnt;
    left = count;
    for (int i = 0; i < count; i++)
        rd_kafka_topic_partition_list_add(list, topic, i)->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(named);
    rd_kafka_assign(handle, list);
    rd_kafka_topic_partition_list_destroy(list);
    while (left > 0) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(handle, WAIT_MS);
        if (!message)
            die(topic, "no answer");
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
            left--;
        else if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
            die(topic, rd_kafka_message_errstr(message));
        else
            report(message);
        rd_kafka_message_destroy(message);
    }
    return count;
}

/* A state record without hashes that goes on behind the last one of its partition. */
static struct {
    unsigned char bytes[4096];
    size_t size;
} next_records[PARTITIONS_MAX];

static void make_next(const rd_kafka_message_t *message) {
    const unsigned char *bytes = message->payload;
    const size_t size = 56 + number(bytes + 6, 2);
    unsigned char *made;

    if (message->partition >= PARTITIONS_MAX || bytes[5] & 2)
        die("state topic", "has too many partitions, or a window");
    made = next_records[message->partition].bytes;
    next_records[message->partition].size = size + 8;
    memcpy(made, bytes, size);
    made[5] &= (unsigned char)~1u; /* not the first one */
    memcpy(made + 8, bytes + 16, 8);
    memset(made + 24, 0, 4);
    for (uint64_t i = 0, check = XXH3_64bits(made, size); i < 8; i++)
        made[size + i] = (unsigned char)(check >> 8 * i);
}

static void lengthen(const char *brokers, rd_kafka_t *handle, const char *topic, int count) {
    const int partitions = read_topic(handle, topic, make_next);
    rd_kafka_t *producer = open_producer(brokers);

    for (int part; count > 0; count -= part) {
        part = count < 1000 ? count : 1000;
        check(rd_kafka_begin_transaction(producer));
        for (int i = 0; i < part * partitions; i++)
            produce(producer, topic, i % partitions, next_records[i % partitions].bytes,
                    next_records[i % partitions].size);
        check(rd_kafka_commit_transaction(producer, WAIT_MS));
    }
    rd_kafka_destroy(producer);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int count;
    } verbs[] = {{"create", 5}, {"single", 5}, {"grow", 5},  {"config", 6}, {"offset", 7}, {"cut", 6},
                 {"allow", 7},  {"hold", 5},   {"chain", 4}, {"forget", 6}, {"delete", 4}, {"lengthen", 5}};
    size_t verb = 0;

    while (argc > 2 && verb < sizeof verbs / sizeof *verbs && strcmp(verbs[verb].name, argv[2]) != 0)
        verb++;
    if (argc < 3 || verb == sizeof verbs / sizeof *verbs ||
        (strcmp(argv[2], "config") == 0 ? argc < verbs[verb].count : argc != verbs[verb].count))
        die("usage", "see the head of kafka_ops.c");
    rd_kafka_t *handle = open_consumer(argv[1], strcmp(argv[2], "offset") == 0 ? argv[3] : "kafka_ops");
    if (strcmp(argv[2], "hold") == 0)
        hold(argv[1], argv[3], (unsigned)atoi(argv[4]));
    else if (strcmp(argv[2], "chain") == 0)
        read_topic(handle, argv[3], print_record);
    else if (strcmp(argv[2], "lengthen") == 0)
        lengthen(argv[1], handle, argv[3], atoi(argv[4]));
    else if (strcmp(argv[2], "cut") == 0)
        cut(handle, argv + 2);
    else if (strcmp(argv[2], "allow") == 0)
        allow(handle, argv + 2);
    else if (strcmp(argv[2], "offset") == 0)
        set_offset(handle, argv + 2);
    else
        administer(handle, argv + 2);
    rd_kafka_destroy(handle);
    return fflush(stdout) == 0 ? 0 : 2;
}
