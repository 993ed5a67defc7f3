/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * What bench/kafka.py measures beside `tamis kafka dedup`, and what it needs for that:
 *
 *     bench_kafka create BROKERS TOPIC PARTITIONS [NAME=VALUE...]    makes a topic with these settings
 *     bench_kafka delete BROKERS TOPIC
 *     bench_kafka produce BROKERS TOPIC COUNT REPEATED SIZE          COUNT records with a UUID as key and a value of SIZE
 *                                                                    bytes; REPEATED percent of the keys are old ones; prints
 *                                                                    how many keys are different
 *     bench_kafka span BROKERS TOPIC       committed records, and the seconds from the first one to the last one by their
 *                                          timestamps; an output with LogAppendTime so tells how fast it was written
 *     bench_kafka forward BROKERS FROM TO COUNT                      the floor: copies COUNT records
 *     bench_kafka sqlite BROKERS FROM TO COUNT FILE                  the same for new keys, with a set of keys in SQLite
 *     bench_kafka delay BROKERS FROM TO RATE SECONDS                 produces RATE records a second, reads them again when
 *                                                                    they are committed, and prints the milliseconds
 *                                                                    between: median, 99 %, 99.9 %, longest
 *
 * Both loops commit one transaction a second, with the offsets. They keep key, value, headers and timestamp, as we do, but
 * have no group, no restore and no handling of errors. SQLite's transactions are synced (WAL, synchronous=FULL),
 * before those of Kafka; a crash between the two loses records.
 */
#include <errno.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef TAMIS_HAVE_SQLITE
#include <sqlite3.h>
#endif

enum { WAIT_MS = 30000, BATCH = 1024, KEY = 36, PARTITIONS_MAX = 64, WARM_SECONDS = 3 };

static void fail(const char *what, const char *why) {
    fprintf(stderr, "bench_kafka: %s: %s\n", what, why);
    exit(2);
}

static void check(const char *what, rd_kafka_error_t *error) {
    if (error)
        fail(what, rd_kafka_error_string(error));
}

static void check_code(const char *what, rd_kafka_resp_err_t code) {
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        fail(what, rd_kafka_err2str(code));
}

static uint64_t number(const char *text) {
    char *end;
    const uint64_t value = strtoull(text, &end, 10);

    if (end == text || *end != '\0')
        fail(text, "expected a number");
    return value;
}

static int64_t now_ns(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* ---- handles ---- */

typedef struct setting {
    const char *name, *value;
} setting;

static rd_kafka_t *open_handle(rd_kafka_type_t type, const char *brokers, const setting *settings,
                               size_t count) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char why[300];

    rd_kafka_conf_set(conf, "bootstrap.servers", brokers, why, sizeof why);
    for (size_t i = 0; i < count; i++)
        if (rd_kafka_conf_set(conf, settings[i].name, settings[i].value, why, sizeof why) != RD_KAFKA_CONF_OK)
            fail(settings[i].name, why);
    rd_kafka_t *handle = rd_kafka_new(type, conf, why, sizeof why);
    if (!handle)
        fail(brokers, why);
    return handle;
}

static rd_kafka_t *open_producer(const char *brokers, const char *transactional_id) {
    const setting settings[] = {
        {"linger.ms", "5"}, {"partitioner", "murmur2_random"}, {"transactional.id", transactional_id}};

    return open_handle(RD_KAFKA_PRODUCER, brokers, settings, transactional_id ? 3 : 2);
}

static rd_kafka_t *open_consumer(const char *brokers, const char *group) {
    const setting settings[] = {
        {"group.id", group},
        {"enable.auto.commit", "false"},
        {"enable.partition.eof", "true"},
        {"isolation.level", "read_committed"},
        {"queued.min.messages", "500000"}, /* with fewer it waits, see poll_consumer in src/kafka */
        {"auto.offset.reset", "error"}};

    return open_handle(RD_KAFKA_CONSUMER, brokers, settings, sizeof settings / sizeof *settings);
}

static int partitions_of(rd_kafka_t *handle, const char *name) {
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(handle, name, NULL);

    check_code(name, rd_kafka_metadata(handle, 0, topic, &metadata, WAIT_MS));
    const int count = metadata->topics[0].partition_cnt;
    if (count < 1 || count > PARTITIONS_MAX)
        fail(name, "has no partitions, or too many");
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(topic);
    return count;
}

/* Reads all partitions, from these offsets. */
static void assign(rd_kafka_t *consumer, const char *name, const int64_t *offsets, int count) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(count);

    for (int i = 0; i < count; i++)
        rd_kafka_topic_partition_list_add(list, name, i)->offset = offsets[i];
    check_code(name, rd_kafka_assign(consumer, list));
    rd_kafka_topic_partition_list_destroy(list);
}

/* Queues a record; waits while the queue is full. */
static void produce(rd_kafka_t *producer, const rd_kafka_vu_t *parts, size_t count) {
    rd_kafka_error_t *error;

    while ((error = rd_kafka_produceva(producer, parts, count))) {
        if (rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR__QUEUE_FULL)
            check("record", error);
        rd_kafka_error_destroy(error);
        rd_kafka_poll(producer, 10);
    }
}

/* ---- topics ---- */

static void await(rd_kafka_queue_t *queue, const char *topic) {
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, WAIT_MS);
    const rd_kafka_topic_result_t **results;
    size_t count;

    if (!event)
        fail(topic, "no answer");
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_CREATETOPICS_RESULT)
        results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
    else
        results = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count);
    if (count != 1)
        fail(topic, rd_kafka_event_error_string(event));
    check_code(topic, rd_kafka_topic_result_error(results[0]));
    rd_kafka_event_destroy(event);
}

static void create_topic(const char *brokers, char **words, int count) {
    rd_kafka_t *handle = open_producer(brokers, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(handle);
    char why[300];
    rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(words[0], (int)number(words[1]), 1, why, sizeof why);

    if (!topic)
        fail(words[0], why);
    for (int i = 2; i < count; i++) {
        char *sign = strchr(words[i], '=');
        if (!sign)
            fail(words[i], "is not NAME=VALUE");
        *sign = '\0';
        rd_kafka_NewTopic_set_config(topic, words[i], sign + 1);
    }
    rd_kafka_CreateTopics(handle, &topic, 1, NULL, queue);
    await(queue, words[0]);
    rd_kafka_NewTopic_destroy(topic);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(handle);
}

static void delete_topic(const char *brokers, const char *name) {
    rd_kafka_t *handle = open_producer(brokers, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(handle);
    rd_kafka_DeleteTopic_t *topic = rd_kafka_DeleteTopic_new(name);

    rd_kafka_DeleteTopics(handle, &topic, 1, NULL, queue);
    await(queue, name);
    rd_kafka_DeleteTopic_destroy(topic);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(handle);
}

/* ---- records ---- */

/* Writes key `index`, a UUID. */
static void make_key(char key[KEY + 1], uint64_t index) {
    const uint64_t a = mix(index + 1), b = mix(a + 1);

    snprintf(key, KEY + 1, "%08x-%04x-4%03x-%04x-%012" PRIx64, (unsigned)(a >> 32),
             (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff), (unsigned)(0x8000 | (b >> 48 & 0x3fff)),
             b & UINT64_C(0xffffffffffff));
}

/* The record whose key record i has: its own if it is a new one. */
static uint64_t key_of(uint64_t i, uint64_t repeated) {
    for (;;) {
        const uint64_t random = mix(i + (UINT64_C(1) << 40));
        if (i == 0 || random % 100 >= repeated)
            return i;
        i = mix(random) % i;
    }
}

static void produce_records(const char *brokers, char **words) {
    rd_kafka_t *producer = open_producer(brokers, NULL);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, words[0], NULL);
    const uint64_t count = number(words[1]), repeated = number(words[2]);
    const size_t size = number(words[3]);
    uint64_t distinct = 0;
    char *value = malloc(size + 1), key[KEY + 1];

    if (!value)
        fail("value", "no memory");
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t index = key_of(i, repeated);
        distinct += index == i;
        make_key(key, index);
        for (size_t k = 0; k < size; k++)
            value[k] = (char)('!' + (i * 31 + k * 7 + (i >> (k & 15))) % 90);
        const rd_kafka_vu_t parts[] = {{.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic},
                                       {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {key, KEY}},
                                       {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {value, size}},
                                       {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY}};
        produce(producer, parts, sizeof parts / sizeof *parts);
    }
    check_code(words[0], rd_kafka_flush(producer, WAIT_MS));
    printf("%" PRIu64 "\n", distinct);
    free(value);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(producer);
}

static void print_span(const char *brokers, const char *name) {
    rd_kafka_t *consumer = open_consumer(brokers, "bench_kafka");
    const int partitions = partitions_of(consumer, name);
    const int64_t begin[PARTITIONS_MAX] = {0};
    int64_t first = INT64_MAX, last = 0;
    uint64_t records = 0;
    int ended = 0;

    rd_kafka_poll_set_consumer(consumer);
    assign(consumer, name, begin, partitions);
    while (ended < partitions) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, WAIT_MS);
        if (!message)
            fail(name, "no answer");
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            ended++;
        } else {
            check_code(name, message->err);
            const int64_t time = rd_kafka_message_timestamp(message, NULL);
            first = time < first ? time : first;
            last = time > last ? time : last;
            records++;
        }
        rd_kafka_message_destroy(message);
    }
    printf("%" PRIu64 " %.3f\n", records, (double)(last - first) / 1e3);
    rd_kafka_destroy(consumer);
}

/* ---- loops ---- */

/* A set of keys; without a file every key is new. */
typedef struct database {
    const char *file;
#ifdef TAMIS_HAVE_SQLITE
    sqlite3 *handle;
    sqlite3_stmt *insert;
#endif
} database;

#ifdef TAMIS_HAVE_SQLITE
static void run_sql(database *set, const char *sql) {
    char *why;

    if (sqlite3_exec(set->handle, sql, NULL, NULL, &why) != SQLITE_OK)
        fail(sql, why);
}

static void open_database(database *set, const char *file) {
    set->file = file;
    if (!file)
        return;
    if (sqlite3_open(file, &set->handle) != SQLITE_OK)
        fail(file, sqlite3_errmsg(set->handle));
    run_sql(set, "PRAGMA journal_mode=WAL");
    run_sql(set, "PRAGMA synchronous=FULL");
    run_sql(set, "CREATE TABLE keys(key BLOB PRIMARY KEY) WITHOUT ROWID");
    if (sqlite3_prepare_v2(set->handle, "INSERT OR IGNORE INTO keys VALUES(?)", -1, &set->insert, NULL) !=
        SQLITE_OK)
        fail(file, sqlite3_errmsg(set->handle));
    run_sql(set, "BEGIN");
}

static bool is_new(database *set, const rd_kafka_message_t *message) {
    if (!set->file)
        return true;
    sqlite3_bind_blob(set->insert, 1, message->key, (int)message->key_len, SQLITE_STATIC);
    if (sqlite3_step(set->insert) != SQLITE_DONE)
        fail(set->file, sqlite3_errmsg(set->handle));
    sqlite3_reset(set->insert);
    return sqlite3_changes(set->handle) > 0;
}

static void commit_database(database *set) {
    if (set->file)
        run_sql(set, "COMMIT; BEGIN");
}

/* Moves the log into the file. */
static void close_database(database *set) {
    if (!set->file)
        return;
    run_sql(set, "COMMIT");
    sqlite3_finalize(set->insert);
    sqlite3_close(set->handle);
}
#else
static void open_database(database *set, const char *file) {
    set->file = file;
    if (file)
        fail(file, "built without SQLite");
}
static bool is_new(database *set, const rd_kafka_message_t *message) {
    (void)message;
    return !set->file;
}
static void commit_database(database *set) {
    (void)set;
}
static void close_database(database *set) {
    (void)set;
}
#endif

typedef struct loop {
    rd_kafka_t *consumer, *producer;
    const char *from;
    rd_kafka_topic_t *to;
    int64_t offsets[PARTITIONS_MAX];
    int partitions;
    database set;
} loop;

static void copy(const loop *l, const rd_kafka_message_t *message) {
    rd_kafka_headers_t *headers;
    const bool has_headers = rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR;
    const rd_kafka_vu_t parts[] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = l->to},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = message->partition},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {message->key, message->key_len}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {message->payload, message->len}},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = rd_kafka_message_timestamp(message, NULL)},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = has_headers ? rd_kafka_headers_copy(headers) : NULL}};

    produce(l->producer, parts, sizeof parts / sizeof *parts - !has_headers);
}

static void commit(loop *l) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(l->partitions);
    rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(l->consumer);

    for (int i = 0; i < l->partitions; i++)
        rd_kafka_topic_partition_list_add(list, l->from, i)->offset = l->offsets[i];
    commit_database(&l->set);
    check("offsets", rd_kafka_send_offsets_to_transaction(l->producer, list, group, WAIT_MS));
    check("commit", rd_kafka_commit_transaction(l->producer, WAIT_MS));
    rd_kafka_consumer_group_metadata_destroy(group);
    rd_kafka_topic_partition_list_destroy(list);
}

static void forward(const char *brokers, char **words, const char *file) {
    static rd_kafka_message_t *batch[BATCH];
    const uint64_t count = number(words[2]);
    loop l = {.from = words[0]};

    open_database(&l.set, file);
    l.producer = open_producer(brokers, words[1]);
    l.consumer = open_consumer(brokers, words[1]);
    l.to = rd_kafka_topic_new(l.producer, words[1], NULL);
    l.partitions = partitions_of(l.consumer, l.from);
    rd_kafka_poll_set_consumer(l.consumer);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(l.consumer);
    check("producer", rd_kafka_init_transactions(l.producer, WAIT_MS));
    assign(l.consumer, l.from, l.offsets, l.partitions);
    for (uint64_t done = 0; done < count;) {
        check("begin", rd_kafka_begin_transaction(l.producer));
        const int64_t due = now_ns() + 1000000000;
        while (done < count && now_ns() < due) {
            const ssize_t got = rd_kafka_consume_batch_queue(queue, 10, batch, BATCH);
            for (ssize_t i = 0; i < got; i++) {
                if (batch[i]->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
                    if (is_new(&l.set, batch[i]))
                        copy(&l, batch[i]);
                    l.offsets[batch[i]->partition] = batch[i]->offset + 1;
                    done++;
                }
                rd_kafka_message_destroy(batch[i]);
            }
        }
        commit(&l);
    }
    close_database(&l.set);
    rd_kafka_queue_destroy(queue);
    rd_kafka_topic_destroy(l.to);
    rd_kafka_destroy(l.producer);
    rd_kafka_consumer_close(l.consumer);
    rd_kafka_destroy(l.consumer);
}

/* ---- delay ---- */

static int compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void send_one(rd_kafka_t *producer, rd_kafka_topic_t *topic, uint64_t index) {
    char key[KEY + 1], value[100] = {0};
    const int64_t now = now_ns();

    make_key(key, index + (UINT64_C(1) << 50));
    memcpy(value, &index, sizeof index);
    memcpy(value + sizeof index, &now, sizeof now);
    const rd_kafka_vu_t parts[] = {{.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic},
                                   {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {key, KEY}},
                                   {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {value, sizeof value}},
                                   {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY}};
    produce(producer, parts, sizeof parts / sizeof *parts);
}

/* Stores the delay of a record that comes back. Returns 1 for a record. */
static uint64_t receive(const rd_kafka_message_t *message, int64_t *delays, uint64_t count) {
    uint64_t index;
    int64_t sent;

    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
        return 0;
    check_code("output", message->err);
    memcpy(&index, message->payload, sizeof index);
    memcpy(&sent, (const char *)message->payload + sizeof index, sizeof sent);
    if (index < count)
        delays[index] = now_ns() - sent;
    return 1;
}

static void measure_delay(const char *brokers, char **words) {
    rd_kafka_t *producer = open_producer(brokers, NULL), *consumer = open_consumer(brokers, "bench_kafka");
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, words[0], NULL);
    const uint64_t rate = number(words[2]), count = rate * (number(words[3]) + WARM_SECONDS);
    const uint64_t warm = rate * WARM_SECONDS;
    const int64_t begin[PARTITIONS_MAX] = {0};
    int64_t *delays = calloc(count, sizeof *delays);
    uint64_t sent = 0, received = 0;

    if (!delays)
        fail("delays", "no memory");
    rd_kafka_poll_set_consumer(consumer);
    assign(consumer, words[1], begin, partitions_of(consumer, words[1]));
    const int64_t start = now_ns();
    while (received < count) {
        const int64_t passed = now_ns() - start;
        for (; sent < count && (int64_t)(sent * (1000000000 / rate)) <= passed; sent++)
            send_one(producer, topic, sent);
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, 1);
        for (; message; message = rd_kafka_consumer_poll(consumer, 0)) {
            received += receive(message, delays, count);
            rd_kafka_message_destroy(message);
        }
        if (now_ns() - start > (int64_t)(count / rate + 30) * 1000000000)
            fail(words[1], "records do not come");
    }
    qsort(delays + warm, count - warm, sizeof *delays, compare);
    const uint64_t left = count - warm;
    printf("%.1f %.1f %.1f %.1f\n", (double)delays[warm + left / 2] / 1e6,
           (double)delays[warm + left * 99 / 100] / 1e6, (double)delays[warm + left * 999 / 1000] / 1e6,
           (double)delays[count - 1] / 1e6);
    free(delays);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(producer);
    rd_kafka_destroy(consumer);
}

int main(int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "";

    if (argc >= 5 && strcmp(verb, "create") == 0)
        create_topic(argv[2], argv + 3, argc - 3);
    else if (argc == 4 && strcmp(verb, "delete") == 0)
        delete_topic(argv[2], argv[3]);
    else if (argc == 7 && strcmp(verb, "produce") == 0)
        produce_records(argv[2], argv + 3);
    else if (argc == 4 && strcmp(verb, "span") == 0)
        print_span(argv[2], argv[3]);
    else if (argc == 6 && strcmp(verb, "forward") == 0)
        forward(argv[2], argv + 3, NULL);
    else if (argc == 7 && strcmp(verb, "sqlite") == 0)
        forward(argv[2], argv + 3, argv[6]);
    else if (argc == 7 && strcmp(verb, "delay") == 0)
        measure_delay(argv[2], argv + 3);
    else
        fail("usage", "see the head of bench_kafka.c");
    return fflush(stdout) == 0 ? 0 : 2;
}
