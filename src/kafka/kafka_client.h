/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KAFKA_KAFKA_CLIENT_H
#define TAMIS_KAFKA_KAFKA_CLIENT_H

/*
 * The use of librdkafka that dedup and count share.
 *
 *     kafka_client.c       handles, settings, errors
 *     kafka_security.c     checks of settings for SASL
 *     kafka_consumer.c     the member of the group
 *     kafka_topics.c       lookups of topics; also the topics of dedup
 *
 * Both protocols have the steps A, partitions are assigned, and N, partitions are taken away.
 */

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>
#include <tamis/status.h>

#include "base/failure.h"

typedef enum kafka_role { KAFKA_PROBE, KAFKA_MEMBER, KAFKA_RESTORER, KAFKA_PRODUCER } kafka_role;

enum {
    TAMIS__KAFKA_BATCH = 1024, /* records that are handled together */
    TAMIS__KAFKA_SLICE = 100,  /* longest wait of a poll, in milliseconds */
    TAMIS__KAFKA_ERROR = 200,  /* bytes of an error of librdkafka */
    TAMIS__KAFKA_NAME = 250    /* a topic name or transactional id that the run makes of two names */
};

/* Where a member is between two assignments. */
typedef enum kafka_phase {
    KAFKA_UNASSIGNED, /* waits for partitions */
    KAFKA_ASSIGNED,   /* has partitions, and must do A */
    KAFKA_RUNNING     /* handles records */
} kafka_phase;

/* The offsets that a partition has, from `low` to `end` - 1. */
typedef struct kafka_range {
    int64_t low, end;
} kafka_range;

/* A partition of the topic that is read, as the consumer reads it. */
typedef struct kafka_input {
    bool is_assigned;
    bool is_started;        /* the consumer has delivered a record since it reads this partition */
    bool is_paused;         /* the consumer fetches nothing of it; librdkafka keeps that over assignments */
    uint64_t polled;        /* offset behind the last record that the consumer has delivered */
    uint64_t position;      /* offset up to which the partition was read, records or not */
    uint64_t stop_at;       /* with until_end: offset at which this partition is finished */
    uint64_t stops_since;   /* since when the brokers deliver no record behind `position`; 0: they may */
    bool has_remarked_stop; /* reported: the partition waits for an open transaction */
} kafka_input;

/* The first field of a run: callbacks of librdkafka get it as their context, and cast it to their run. */
typedef struct kafka_client {
    const char *brokers, *group;
    const char *from;     /* topic that is read */
    const char *instance; /* NULL: none */
    const char *const *settings;
    size_t setting_count;
    const char *transactional_id; /* of the producer */
    uint32_t commit_ms;           /* longest time that its transactions are open */
    bool until_end;               /* stop at the ends that the partitions had */
    int stop_fd;                  /* -1: none */
    int wake_ms; /* next wait until a request wakes the threads of librdkafka; 0: the shortest */
    void (*remark)(void *context, const char *message); /* NULL: none */
    void *context;                                      /* of `remark` */
    void (*on_rebalance)(rd_kafka_t *consumer, rd_kafka_resp_err_t code,
                         rd_kafka_topic_partition_list_t *partitions, void *client);
    void (*on_delivery)(rd_kafka_t *producer, const rd_kafka_message_t *message, void *client);
    /* NULL, or called while A waits for brokers: for the offsets of the group, or for other answers */
    void (*on_wait)(void *client, bool for_offsets);
    rd_kafka_t *probe;              /* read_uncommitted: ends, metadata, administration; the run owns it */
    char error[TAMIS__KAFKA_ERROR]; /* last error that librdkafka reported; empty: none */
    rd_kafka_resp_err_t code;       /* of `error` */
    uint64_t error_at;              /* time of `error`, as of tamis__now_ns */
    uint64_t waits_since;           /* since when no broker answers; 0: they do */
    bool has_remarked_brokers;      /* reported: the run waits for brokers */
    bool wants_log;                 /* the log of librdkafka becomes remarks */
    bool is_stuck;                  /* a handle could not be destroyed */

    rd_kafka_t *consumer; /* member of the group; NULL: it has to join */
    kafka_input *inputs;  /* all partitions of `from`, by number */
    size_t partition_count;
    size_t assigned; /* how many of them are assigned */
    kafka_phase phase;
    bool is_reading;        /* the consumer reads the assigned partitions */
    bool is_lost;           /* partitions were lost, and the group has given none since */
    bool must_join;         /* leave the group, and join it again */
    tamis_status stopped;   /* status of a callback that failed */
    tamis_error stop_error; /* message of `stopped` */
} kafka_client;

/* Checks the addresses of the brokers and the names of the settings, and sets client->wants_log. */
tamis_status tamis__kafka_client_check_options(kafka_client *client, tamis_error *err);
/* Checks the settings of SASL. */
tamis_status tamis__kafka_client_check_security(const kafka_client *client, tamis_error *err);
/* Opens a handle. The caller closes it. */
tamis_status tamis__kafka_client_open(rd_kafka_t **handle, kafka_client *client, kafka_role role,
                                      tamis_error *err);
/* Closes a handle; accepts NULL. If librdkafka does not end its threads within some seconds, they are
 * left alone: client->is_stuck is true then, and *client must stay for ever. */
void tamis__kafka_client_close(kafka_client *client, rd_kafka_t *handle);
/* Returns the last error that librdkafka reported, if that is not long ago; else an empty text. */
const char *tamis__kafka_client_error(const kafka_client *client);
/* Fills *err for an error of librdkafka: "`what`: reason; what to do". Returns err->status. */
tamis_status tamis__kafka_client_fail(const kafka_client *client, const char *what, rd_kafka_resp_err_t code,
                                      tamis_error *err);
/* True for errors that pass by themselves: librdkafka tries again. */
bool tamis__kafka_is_transient(rd_kafka_resp_err_t code);
/* True if stop_fd is readable. */
bool tamis__kafka_client_must_stop(const kafka_client *client);
/* Formats a remark, and passes it to client->remark. */
void tamis__kafka_client_remark(const kafka_client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Appends a line to a description. One that fills its `size` bytes was cut off. */
void tamis__kafka_describe(char *description, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns the last header of this name; `data` is NULL if the record has none. */
tamis_key tamis__kafka_last_header(const rd_kafka_message_t *message, const char *name);

/* ---- waits for brokers ---- */

/* Reports a wait for brokers after some seconds, once. Called while a request is not answered. */
void tamis__kafka_client_note_wait(kafka_client *client);
/* Reports the end of a wait that was reported. Called after an answer. */
void tamis__kafka_client_note_answer(kafka_client *client);
/* Reports whether all brokers are away, and that they have come back. For the loop of a run, which may have
 * nothing to request. */
void tamis__kafka_client_check_brokers(kafka_client *client);

/* ---- kafka_consumer.c ---- */

/* Opens the probe, waits for the topic `from`, and makes `inputs`. */
tamis_status tamis__kafka_client_start(kafka_client *client, const tamis_allocator *memory, tamis_error *err);
/* Opens the consumer, which joins the group. */
tamis_status tamis__kafka_client_join(kafka_client *client, tamis_error *err);
/* Leaves the group, and destroys the consumer. */
void tamis__kafka_client_leave(kafka_client *client);
/* Destroys the probe, and frees `inputs`. */
void tamis__kafka_client_end(kafka_client *client, const tamis_allocator *memory);
/* Returns the status of a run that has ended with `status` and *found, and fills *err. */
tamis_status tamis__kafka_result(tamis_status status, const tamis_error *found, tamis_error *err);

/* Stores the partitions that the group gives. The consumer reads none of them yet. Returns the number of a
 * partition that was not there at the start; -1: none. */
int32_t tamis__kafka_client_store_assignment(kafka_client *client,
                                             const rd_kafka_topic_partition_list_t *partitions);
/* Forgets the partitions that the group takes away. */
void tamis__kafka_client_forget_assignment(kafka_client *client);
/* Lists the assigned partitions, without offsets. The caller destroys the list. */
rd_kafka_topic_partition_list_t *tamis__kafka_client_list_assigned(const kafka_client *client);
/* Makes the consumer read the partitions of a list, from its offsets on. Destroys the list. */
tamis_status tamis__kafka_client_start_reading(kafka_client *client, rd_kafka_topic_partition_list_t *list,
                                               tamis_error *err);

/* Polls the consumer once: a record, NULL, or an error. The caller destroys *message. Events other than
 * records are handled here. */
tamis_status tamis__kafka_client_poll(kafka_client *client, int milliseconds, rd_kafka_message_t **message,
                                      tamis_error *err);
/* Polls consumer and probe while the consumer has nothing to read, so that the group keeps this member. */
tamis_status tamis__kafka_client_stay_member(kafka_client *client, int milliseconds, tamis_error *err);
/* True if A is to end before it is done: the group has changed the assignment, or the run must stop. */
bool tamis__kafka_client_is_interrupted(const kafka_client *client);
/* Asks once for the offsets of the group. */
rd_kafka_resp_err_t tamis__kafka_try_offsets(rd_kafka_t *consumer, rd_kafka_topic_partition_list_t *list);
/* Fetches the offsets of the group. Waits for brokers that are away. TAMIS_OK also if A is interrupted. */
tamis_status tamis__kafka_client_fetch_offsets(kafka_client *client, rd_kafka_topic_partition_list_t *list,
                                               tamis_error *err);
/* Asks once for the first offset of a partition and its end. The next try after a failure goes to the
 * leader that the brokers name then. Ends also while the leader is down. */
rd_kafka_resp_err_t tamis__kafka_client_try_watermarks(const kafka_client *client, const char *topic,
                                                       int32_t number, kafka_range *range);
/* Finds the first offset of a partition and its end. Waits for brokers that are away. TAMIS_OK also if A is
 * interrupted. */
tamis_status tamis__kafka_client_query_watermarks(kafka_client *client, const char *topic, int32_t number,
                                                  kafka_range *range, tamis_error *err);

/* With until_end: true if each assigned partition was read to the end that it had. */
bool tamis__kafka_client_has_reached_end(const kafka_client *client);
/* Reports that partitions belong to other members, and may have records that were not read. Returns
 * TAMIS_OK. */
tamis_status tamis__kafka_client_remark_rest(const kafka_client *client);
/* Returns how long to wait for the next record, in milliseconds. It is at most a slice, and at most until
 * the transaction or batch that is open since `open_since` is due. */
int tamis__kafka_wait_ms(bool is_open, uint64_t open_since, uint32_t commit_ms);

/* ---- kafka_topics.c ---- */

enum { TAMIS__KAFKA_EXISTING_MS = 3000 }; /* wait for a new topic: brokers learn of it one by one */

/* Waits until a topic is known, and finds its number of partitions. TAMIS_E_NOT_FOUND */
tamis_status tamis__kafka_await_topic(kafka_client *client, const char *topic, uint64_t milliseconds,
                                      size_t *count, tamis_error *err);
/* Refuses a name that Kafka does not allow; accepts NULL. `option` is where the name comes from. */
tamis_status tamis__kafka_check_name(const char *option, const char *name, tamis_error *err);

#endif
