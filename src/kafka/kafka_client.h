/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KAFKA_KAFKA_CLIENT_H
#define TAMIS_KAFKA_KAFKA_CLIENT_H

/* The use of librdkafka that dedup and count share: handles, settings, errors, and lookups of topics. */

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/status.h>

#include "base/failure.h"

typedef enum kafka_role { KAFKA_PROBE, KAFKA_MEMBER, KAFKA_RESTORER, KAFKA_PRODUCER } kafka_role;

enum {
    TAMIS__KAFKA_BATCH = 1024, /* records that are handled together */
    TAMIS__KAFKA_SLICE = 100,  /* longest wait of a poll, in milliseconds */
    TAMIS__KAFKA_ERROR = 200,  /* bytes of an error of librdkafka */
    TAMIS__KAFKA_NAME = 250    /* a topic name or transactional id that the run makes of two names */
};

/* The first member of a run: callbacks of librdkafka get it as their context. */
typedef struct kafka_client {
    const char *brokers, *group;
    const char *from;     /* topic that is read */
    const char *instance; /* NULL: none */
    const char *const *settings;
    size_t setting_count;
    const char *transactional_id;                       /* for a producer */
    uint32_t commit_ms;                                 /* likewise: how long a transaction is open */
    int stop_fd;                                        /* -1: none */
    void (*remark)(void *context, const char *message); /* NULL: none */
    void *context;                                      /* of `remark` */
    void (*on_rebalance)(rd_kafka_t *consumer, rd_kafka_resp_err_t code,
                         rd_kafka_topic_partition_list_t *partitions, void *client);
    void (*on_delivery)(rd_kafka_t *producer, const rd_kafka_message_t *message, void *client);
    rd_kafka_t *probe;              /* read_uncommitted: ends, metadata, administration; the run owns it */
    char error[TAMIS__KAFKA_ERROR]; /* last error that librdkafka reported; empty: none */
    rd_kafka_resp_err_t code;       /* of `error` */
    uint64_t error_at;              /* time of `error`, as of tamis__now_ns */
    bool wants_log;                 /* the log of librdkafka becomes remarks */
    bool is_stuck;                  /* a handle could not be destroyed */
} kafka_client;

/* Checks the names of the settings, and sets client->wants_log. */
tamis_status tamis__kafka_client_check_settings(kafka_client *client, tamis_error *err);
/* Opens a handle. The caller destroys it. */
tamis_status tamis__kafka_client_open(kafka_client *client, kafka_role role, rd_kafka_t **handle,
                                      tamis_error *err);
/* Destroys a handle; NULL: nothing. If librdkafka does not end its threads within some seconds, they are left alone:
 * client->is_stuck is true then, and *client must stay for ever. */
void tamis__kafka_client_destroy(kafka_client *client, rd_kafka_t *handle);
/* Returns the last error that librdkafka reported, if that is not long ago; else an empty text. */
const char *tamis__kafka_client_error(const kafka_client *client);
/* Fills *err for an error of librdkafka: "`what`: reason; what to do". Returns err->status. */
tamis_status tamis__kafka_client_fail(const kafka_client *client, const char *what, rd_kafka_resp_err_t code,
                                      tamis_error *err);
/* Makes an error of what a consumer of `topic` reports instead of a record. TAMIS_OK: it passes by itself. */
tamis_status tamis__kafka_client_check(const kafka_client *client, rd_kafka_t *consumer, const char *topic,
                                       const rd_kafka_message_t *message, tamis_error *err);
/* True for errors that pass by themselves: librdkafka tries again. */
bool tamis__kafka_is_passing(rd_kafka_resp_err_t code);
/* True if stop_fd is readable. */
bool tamis__kafka_client_must_stop(const kafka_client *client);
/* Passes a remark on. */
void tamis__kafka_client_remark(const kafka_client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* With until_end: reports that partitions belong to other members, and may have records that were not read. Returns
 * TAMIS_OK. */
tamis_status tamis__kafka_client_remark_rest(const kafka_client *client, size_t assigned, size_t count);
/* Subscribes a consumer to a topic: it joins the group. */
tamis_status tamis__kafka_client_subscribe(const kafka_client *client, rd_kafka_t *consumer,
                                           const char *topic, tamis_error *err);

/* ---- kafka_topics.c ---- */

enum { TAMIS__KAFKA_EXISTING_MS = 3000 }; /* until the broker that answers knows a topic that was just made */

/* Waits until a topic is known, and finds its number of partitions. TAMIS_E_NOT_FOUND */
tamis_status tamis__kafka_await_topic(const kafka_client *client, const char *topic, uint64_t milliseconds,
                                      size_t *count, tamis_error *err);
/* True if Kafka allows this name. */
bool tamis__kafka_is_name(const char *name);

#endif
