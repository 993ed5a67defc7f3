/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Handles of librdkafka.
 *
 *     probe       consumer outside the group, read_uncommitted: true ends of partitions (K5), topics
 *     member      the consumer in the group, read_committed: input
 *     restorer    consumer of the state topic, read_committed: made for a restore, destroyed after it
 *     producer    transactional
 *
 * Each gets three layers of settings: defaults that a user may change, the user's own, and those that the
 * protocol needs. A setting of the third layer that the user gives is refused, so that none is ignored in
 * silence.
 *
 * librdkafka writes its log to standard error by default. A library does not print, so the log is dropped.
 * The last error is kept for messages: "timed out" alone says little, "connection refused" says more. If the
 * user sets `debug`, the log becomes remarks: librdkafka then queues it, and the run's own thread reports it.
 *
 * The auto.offset.reset of librdkafka is never used: a silent jump would lose records. Every start has an
 * explicit offset, and an offset that does not exist is an error.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/system.h"
#include "kafka/kafka_client.h"

enum { DESTROY_S = 5 };                     /* seconds that librdkafka gets to destroy a handle */
static const uint64_t WAIT_NS = 5000000000; /* time without an answer until a remark says so */

typedef struct kafka_setting {
    const char *name;
    const char *value; /* NULL: fixed_value finds it */
    unsigned roles;    /* bit 1 << role */
} kafka_setting;

enum {
    PROBE = 1 << KAFKA_PROBE,
    MEMBER = 1 << KAFKA_MEMBER,
    RESTORER = 1 << KAFKA_RESTORER,
    PRODUCER = 1 << KAFKA_PRODUCER,
    CONSUMERS = PROBE | MEMBER | RESTORER
};

/* A user may change these. */
static const kafka_setting defaults[] = {
    {"client.id", "tamis", CONSUMERS | PRODUCER},
    {"partitioner", "murmur2_random", PRODUCER}, /* that of the Java client: equal keys stay together */
    {"linger.ms", "5", PRODUCER},
    /* The end of a partition is reported with the answer to a fetch that found nothing. A restore waits for
     * it. */
    {"fetch.wait.max.ms", "50", RESTORER},
    /* Records that wait while a commit lasts. When as many are queued, librdkafka before 2.2 may fetch no
     * more for a second, see poll_consumer. */
    {"queued.min.messages", "200000", MEMBER},
    /* Members learn of a rebalance by a heartbeat. The others wait until the last one has noticed it. */
    {"heartbeat.interval.ms", "500", MEMBER},
};

/* The protocol needs these. */
static const kafka_setting fixed[] = {
    {"bootstrap.servers", NULL, CONSUMERS | PRODUCER},
    {"metadata.broker.list", NULL, 0}, /* another name of bootstrap.servers */
    {"group.id", NULL, CONSUMERS},
    {"group.instance.id", NULL, MEMBER},
    {"transactional.id", NULL, PRODUCER},
    {"enable.auto.commit", "false", CONSUMERS},
    {"enable.auto.offset.store", "false", CONSUMERS},
    {"auto.offset.reset", "error", CONSUMERS},
    {"isolation.level", "read_committed", MEMBER | RESTORER},
    {"isolation.level", "read_uncommitted", PROBE},
    {"enable.partition.eof", "true", MEMBER | RESTORER},
    {"allow.auto.create.topics", "false", CONSUMERS},
    {"partition.assignment.strategy", "range", MEMBER},
    {"log.queue", NULL, 0}, /* set for `debug` */
    {"group.protocol", NULL,
     0}, /* later versions of librdkafka have a second protocol, which is cooperative */
    {"enable.idempotence", "true", PRODUCER},
    {"acks", "all", PRODUCER},
    {"request.required.acks", NULL, 0}, /* another name of acks */
};

static const char *fixed_value(const kafka_client *client, const kafka_setting *setting) {
    if (setting->value)
        return setting->value;
    if (strcmp(setting->name, "bootstrap.servers") == 0)
        return client->brokers;
    if (strcmp(setting->name, "group.id") == 0)
        return client->group;
    if (strcmp(setting->name, "group.instance.id") == 0)
        return client->instance;
    return strcmp(setting->name, "transactional.id") == 0 ? client->transactional_id : NULL;
}

/* Copies the name of a setting "name=value" and returns its value; NULL if it has no such form. */
static const char *split_setting(const char *setting, char *name, size_t size) {
    const char *sign = strchr(setting, '=');

    if (!sign || sign == setting || (size_t)(sign - setting) >= size)
        return NULL;
    memcpy(name, setting, (size_t)(sign - setting));
    name[sign - setting] = '\0';
    return sign + 1;
}

/* Why librdkafka could not connect to an address as [PROTOCOL://]HOST[:PORT]; NULL: it has the right form. */
static const char *check_address(const char *text, size_t size) {
    const char *end = text + size, *protocol = memmem(text, size, "://", 3);
    const char *host = protocol ? protocol + 3 : text;
    const char *colon = memrchr(host, ':', (size_t)(end - host));

    /* An IPv6 address has several colons, and is in brackets if a port follows. */
    if (colon && colon != memchr(host, ':', (size_t)(end - host)) && colon[-1] != ']')
        colon = NULL;
    if (colon == host || host == end)
        return "has no host";
    if (!colon)
        return NULL;
    const size_t digits = (size_t)(end - colon - 1);
    const unsigned long port = strtoul(colon + 1, NULL, 10); /* a comma, a blank or the end follows */
    return digits > 0 && digits <= 5 && strspn(colon + 1, "0123456789") >= digits && port >= 1 &&
                   port <= 65535
               ? NULL
               : "has no port from 1 to 65535";
}

static tamis_status check_addresses(const char *brokers, tamis_error *err) {
    static const char between[] = ", ";
    const char *text = brokers + strspn(brokers, between);

    if (*text == '\0')
        return tamis__fail(err, TAMIS_E_INVALID, 0, "brokers: is empty; give HOST:PORT as localhost:9092");
    while (*text != '\0') {
        const size_t size = strcspn(text, between);
        const char *why = check_address(text, size);
        if (why)
            return tamis__fail(err, TAMIS_E_INVALID, 0,
                               "brokers: '%.*s' %s; give HOST:PORT as localhost:9092",
                               size < 100 ? (int)size : 100, text, why);
        text += size;
        text += strspn(text, between);
    }
    return TAMIS_OK;
}

tamis_status tamis__kafka_client_check_options(kafka_client *client, tamis_error *err) {
    if (check_addresses(client->brokers, err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < client->setting_count; i++) {
        const char *setting = client->settings[i];
        char name[100];
        if (!split_setting(setting, name, sizeof name))
            return tamis__fail(err, TAMIS_E_INVALID, 0,
                               "setting '%.100s': is not NAME=VALUE; give it as fetch.min.bytes=1000",
                               setting);
        client->wants_log |= strcmp(name, "debug") == 0;
        if (strcmp(name, "partition.assignment.strategy") == 0)
            return tamis__fail(err, TAMIS_E_INVALID, 0,
                               "setting %s: is range, since librdkafka may repeat records with "
                               "cooperative-sticky; leave it out",
                               name);
        for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++)
            if (strcmp(fixed[k].name, name) == 0)
                return tamis__fail(err, TAMIS_E_INVALID, 0,
                                   "setting %s: exactly-once work needs its own value of it; leave it out",
                                   name);
    }
    return tamis__kafka_client_check_security(client, err);
}

static tamis_status set_property(rd_kafka_conf_t *conf, const char *name, const char *value,
                                 tamis_error *err) {
    char why[300];

    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) == RD_KAFKA_CONF_OK)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "setting %.100s: %s; the documentation of librdkafka has all names and values", name,
                       why);
}

static tamis_status set_properties(const kafka_client *client, rd_kafka_conf_t *conf, kafka_role role,
                                   tamis_error *err) {
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if ((defaults[i].roles >> role & 1) &&
            set_property(conf, defaults[i].name, defaults[i].value, err) != TAMIS_OK)
            return TAMIS_E_INVALID;
    for (size_t i = 0; i < client->setting_count; i++) {
        char name[100];
        const char *value = split_setting(client->settings[i], name, sizeof name);
        if (set_property(conf, name, value, err) != TAMIS_OK)
            return TAMIS_E_INVALID;
    }
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const char *value = fixed_value(client, &fixed[i]);
        if ((fixed[i].roles >> role & 1) && value &&
            set_property(conf, fixed[i].name, value, err) != TAMIS_OK)
            return TAMIS_E_INVALID;
    }
    return TAMIS_OK;
}

/* The brokers abort a transaction that is open for too long. */
static tamis_status check_timeout(const kafka_client *client, const rd_kafka_conf_t *conf, tamis_error *err) {
    char value[24] = "";
    size_t size = sizeof value;

    if (rd_kafka_conf_get(conf, "transaction.timeout.ms", value, &size) != RD_KAFKA_CONF_OK ||
        2 * (uint64_t)client->commit_ms <= strtoull(value, NULL, 10))
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "commit_ms %" PRIu32
        ": is more than half of transaction.timeout.ms, which is %s; commit more often, or raise "
        "that setting",
        client->commit_ms, value);
}

/* ---- callbacks, from poll functions; without `debug`, the log comes from other threads ---- */

static void on_log(const rd_kafka_t *handle, int level, const char *facility, const char *text) {
    const kafka_client *client = handle ? rd_kafka_opaque(handle) : NULL; /* NULL: the handle is being made */

    (void)level;
    if (client && client->wants_log)
        tamis__kafka_client_remark(client, "%s: %s", facility, text);
}

static void on_error(rd_kafka_t *handle, int code, const char *reason, void *context) {
    kafka_client *client = context;

    (void)handle;
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && client->waits_since == 0)
        client->waits_since = tamis__now_ns();
    /* "All brokers are down" follows the error that says why. */
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && client->error[0] != '\0')
        return;
    client->code = code;
    client->error_at = tamis__now_ns();
    snprintf(client->error, TAMIS__KAFKA_ERROR, "%s", reason);
    char *details = strstr(client->error, " (after ");
    if (details)
        *details = '\0';
}

tamis_status tamis__kafka_client_open(rd_kafka_t **handle, kafka_client *client, kafka_role role,
                                      tamis_error *err) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();

    rd_kafka_conf_set_opaque(conf, client);
    rd_kafka_conf_set_log_cb(conf, on_log);
    if (client->wants_log)
        (void)set_property(conf, "log.queue", "true", err);
    rd_kafka_conf_set_error_cb(conf, on_error);
    if (role == KAFKA_MEMBER)
        rd_kafka_conf_set_rebalance_cb(conf, client->on_rebalance);
    if (role == KAFKA_PRODUCER)
        rd_kafka_conf_set_dr_msg_cb(conf, client->on_delivery);
    if (set_properties(client, conf, role, err) != TAMIS_OK ||
        (role == KAFKA_PRODUCER && check_timeout(client, conf, err) != TAMIS_OK)) {
        rd_kafka_conf_destroy(conf);
        return TAMIS_E_INVALID;
    }
    char why[300];
    *handle =
        rd_kafka_new(role == KAFKA_PRODUCER ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER, conf, why, sizeof why);
    if (*handle) {
        if (client->wants_log)
            rd_kafka_set_log_queue(*handle, NULL);
        return TAMIS_OK;
    }
    rd_kafka_conf_destroy(conf);
    return tamis__fail(err, TAMIS_E_INVALID, 0, "settings: %s; correct them", why);
}

/* ---- the end of a handle ---- */

static void *destroy_handle(void *handle) {
    rd_kafka_destroy(handle);
    return NULL;
}

/* librdkafka 2.0 waits for ever for a broker thread if the brokers have come back as another cluster,
 * whose topics are others. So a thread of its own destroys the handle, and is left behind. */
void tamis__kafka_client_close(kafka_client *client, rd_kafka_t *handle) {
    if (!handle)
        return;
    pthread_t thread;
    if (pthread_create(&thread, NULL, destroy_handle, handle) != 0) {
        rd_kafka_destroy(handle);
        return;
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DESTROY_S;
    if (pthread_timedjoin_np(thread, NULL, &until) == 0)
        return;
    pthread_detach(thread);
    client->is_stuck = true;
    tamis__kafka_client_remark(
        client,
        "%s: its connections do not end, and are left alone; the brokers may be another "
        "cluster now",
        client->brokers);
}

/* ---- errors ---- */

/* Age at which an error is not reported any more. librdkafka repeats a lasting error about each half
 * minute. */
static const uint64_t ERROR_NS = UINT64_C(60000000000);

/* The status and the remedy for an error of librdkafka. */
static tamis_status classify(rd_kafka_resp_err_t code, const char **remedy) {
    switch (code) {
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
        *remedy = "check the addresses of the brokers, that they run, and the security settings";
        return TAMIS_E_TIMEOUT;
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR__SSL:
        *remedy = "correct the security settings";
        return TAMIS_E_REFUSED;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        *remedy = "give this user the rights that the guide lists";
        return TAMIS_E_REFUSED;
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
        *remedy = "create the topic, or correct its name";
        return TAMIS_E_NOT_FOUND;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
        *remedy = "raise message.max.bytes here, and max.message.bytes of the topic";
        return TAMIS_E_TOO_LONG;
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
        *remedy = "another process runs with this group and instance name; give each its own";
        return TAMIS_E_BUSY;
    case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
        *remedy = "the group has a member with another partition.assignment.strategy or group.protocol; end "
                  "it, and "
                  "wait for its session.timeout.ms if it has an instance name, or give another group";
        return TAMIS_E_MISMATCH;
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
        *remedy = "correct the options";
        return TAMIS_E_INVALID;
    default:
        *remedy = "see the log of the broker";
        return TAMIS_E_REFUSED;
    }
}

const char *tamis__kafka_client_error(const kafka_client *client) {
    return tamis__now_ns() - client->error_at < ERROR_NS ? client->error : "";
}

tamis_status tamis__kafka_client_fail(const kafka_client *client, const char *what, rd_kafka_resp_err_t code,
                                      tamis_error *err) {
    const char *remedy;
    const tamis_status status = classify(code, &remedy);
    const char *reason = tamis__kafka_client_error(client);
    if (status == TAMIS_E_TIMEOUT && reason[0] != '\0')
        return tamis__fail(err, status, 0, "%.200s: no answer (%s); %s", what, reason, remedy);
    if (code == client->code && reason[0] != '\0')
        return tamis__fail(err, status, 0, "%.200s: %s; %s", what, reason, remedy);
    return tamis__fail(err, status, 0, "%.200s: %s; %s", what, rd_kafka_err2str(code), remedy);
}

bool tamis__kafka_is_transient(rd_kafka_resp_err_t code) {
    switch (code) {
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__IN_PROGRESS:
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__DESTROY:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
    case RD_KAFKA_RESP_ERR_MEMBER_ID_REQUIRED:
        return true;
    default:
        return false;
    }
}

bool tamis__kafka_client_must_stop(const kafka_client *client) {
    struct pollfd stop = {.fd = client->stop_fd, .events = POLLIN};

    return stop.fd >= 0 && tamis__sys.poll(&stop, 1, 0) > 0;
}

void tamis__kafka_client_remark(const kafka_client *client, const char *format, ...) {
    if (!client->remark)
        return;
    char message[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    client->remark(client->context, message);
}

/* ---- waits for brokers ---- */

static bool waits_long(const kafka_client *client) {
    return client->waits_since > 0 && tamis__now_ns() - client->waits_since >= WAIT_NS;
}

void tamis__kafka_client_note_wait(kafka_client *client) {
    const char *error = tamis__kafka_client_error(client);

    if (client->waits_since == 0)
        client->waits_since = tamis__now_ns();
    if (client->has_remarked_brokers || !waits_long(client))
        return;
    client->has_remarked_brokers = true;
    tamis__kafka_client_remark(client, "%.200s: waits for the brokers%s%s", client->brokers,
                               error[0] != '\0' ? ": " : "", error);
}

void tamis__kafka_client_note_answer(kafka_client *client) {
    if (client->has_remarked_brokers)
        tamis__kafka_client_remark(client, "%.200s: the brokers answer again", client->brokers);
    client->has_remarked_brokers = false;
    client->waits_since = 0;
}

void tamis__kafka_client_check_brokers(kafka_client *client) {
    const struct rd_kafka_metadata *metadata;

    if (!waits_long(client))
        return;
    if (rd_kafka_metadata(client->probe, 0, NULL, &metadata, TAMIS__KAFKA_SLICE) !=
        RD_KAFKA_RESP_ERR_NO_ERROR) {
        tamis__kafka_client_note_wait(client);
        return;
    }
    rd_kafka_metadata_destroy(metadata);
    tamis__kafka_client_note_answer(client);
}

/* ---- descriptions and headers ---- */

void tamis__kafka_describe(char *description, size_t size, const char *format, ...) {
    size_t used = strlen(description);

    if (used > 0 && used + 1 < size)
        memcpy(description + used++, "\n", 2);
    va_list args;
    va_start(args, format);
    vsnprintf(description + used, size - used, format, args);
    va_end(args);
}

tamis_key tamis__kafka_last_header(const rd_kafka_message_t *message, const char *name) {
    tamis_key value = {NULL, 0};
    rd_kafka_headers_t *headers;

    if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR)
        (void)rd_kafka_header_get_last(headers, name, &value.data, &value.size);
    return value;
}
