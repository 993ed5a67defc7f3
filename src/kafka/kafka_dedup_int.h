/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KAFKA_KAFKA_DEDUP_INT_H
#define TAMIS_KAFKA_KAFKA_DEDUP_INT_H

/*
 * A run of `tamis kafka dedup`, `repartition` or `check`. docs/KAFKA-PROTOCOL.md has the protocol; A3, T4 and
 * so on are its steps. repartition and check have no state: they leave out A3 to A6 and T3.
 *
 *     kafka_dedup.c          the run: its options, the loop, its end
 *     kafka_dedup_group.c    A1, N: partitions of the group; from where the consumer reads
 *     kafka_stages.c         A2 to A7, R, S: what is next for each partition
 *     kafka_refusal.c        R: what is wrong with partitions
 *     kafka_topics.c         B2: the topics and their settings; T6: cuts of the state topic
 *     kafka_plan.c           the plan of the filters, and of what a run will need
 *     kafka_restore.c        A5, A6, S: reading the state topic
 *     kafka_merge.c          M: old state records become few large ones
 *     kafka_forward.c        T1, T2: a batch of records
 *     kafka_transaction.c    B1, T3 to T7
 *     kafka_keys.c           keys of records
 *     kafka_partition.c      filter and overlay of a partition
 *     kafka_record.c         state records as bytes
 *     kafka_client.h         shared with count: librdkafka, the member of the group
 *
 * One thread runs everything here, callbacks of librdkafka included: it calls them from poll functions.
 */

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/experimental/kafka.h>
#include <tamis/experimental/window.h>
#include <tamis/filter.h>

#include "base/failure.h"
#include "kafka/kafka_client.h"
#include "kafka/kafka_record.h"
#include "kafka/overlay.h"

/* ---- kafka_partition.c ---- */

/* With a window: no state record below offset `end` has a key later than `newest`. */
typedef struct kafka_horizon {
    int64_t newest;
    uint64_t end;
} kafka_horizon;

enum { TAMIS__KAFKA_HORIZONS = 16 };

/* What is next for a partition. */
typedef enum kafka_stage {
    KAFKA_IDLE,       /* nothing: it is not assigned */
    KAFKA_OFFSET,     /* A2 */
    KAFKA_WATERMARKS, /* A3, A4; of a standby too */
    KAFKA_STATE,      /* A5, and then A6 and A7; of a standby: S */
    KAFKA_REFUSED,    /* R: the run will end */
    KAFKA_READY,      /* the consumer has to deliver its records */
    KAFKA_JOINED      /* records are answered */
} kafka_stage;

/* A partition of the input. One that is not assigned keeps its filter until the next assignment (A4), that
 * of a standby for ever (S). */
typedef struct kafka_partition {
    int32_t number;
    kafka_stage stage;
    kafka_input *input;       /* this partition in the client: how far the consumer has read it */
    int64_t offset;           /* of the group, as A2 found it; negative: none */
    uint64_t offset_request;  /* number of the request of A2 for it; 0: none yet */
    bool is_reading_state;    /* the reader delivers its state records, from `covers` on */
    bool can_stay;            /* the member has answered its records, and has been in the group since then */
    tamis_filter *filter;     /* committed hashes; NULL: none */
    uint64_t covers;          /* the filter has the hashes of state records from `low` up to this offset */
    bool has_chain;           /* a state record was read or committed, so `to` is valid */
    uint64_t to;              /* `to` of the last committed state record */
    uint64_t low;             /* state records below this offset were removed before the filter was made */
    int64_t newest;           /* window: largest time of the committed records; -1: none */
    uint64_t needed;          /* the keys of state records below this offset have expired, or were copied */
    uint64_t needed_in_chain; /* highest `needed` of a committed state record */
    uint64_t bytes;           /* of all committed state records, those that were removed included */
    uint64_t cut_requested;   /* up to this offset, the brokers were asked to remove state records */
    bool is_merge_refused;    /* reported: its state records cannot be merged */
    kafka_horizon horizons[TAMIS__KAFKA_HORIZONS]; /* those that have not expired, oldest first */
    size_t horizon_count;
    tamis__overlay overlay;
    int64_t newest_next;  /* window: `newest` with the open transaction */
    bool is_open;         /* the open transaction has records of this partition */
    uint64_t next;        /* input offset behind the last answered record, the open transaction included */
    uint64_t covers_next; /* state offset behind the last acknowledged record of the open transaction */
    uint64_t bytes_next;  /* `bytes` with the state records of the open transaction, from T3 on */
    uint64_t state_end;   /* end of the state partition at A3 */
    tamis_error
        *refusal; /* why the partition is refused, if A2 returns the same offset again; NULL: it is not */
} kafka_partition;

/* The key of a record, or why it has none. */
typedef struct kafka_found {
    uint8_t outcome; /* tamis_extracted */
    const char *why; /* for other outcomes than TAMIS_KEY_FOUND */
    size_t pos;      /* for these outcomes: the byte in the value; SIZE_MAX: none */
    tamis_hash hash; /* for TAMIS_KEY_FOUND */
    int64_t time;    /* time of the key; with a window */
    int32_t target;  /* partition of the output that the key selects; -1: as the record says */
    bool is_ahead;   /* its time is too far ahead of the clock */
} kafka_found;

/* Hashes of the keys of a partition. kafka_plan.c chooses them. */
typedef struct kafka_hash_size {
    unsigned bits;     /* 48, 64 or 128 */
    uint64_t keys_max; /* with 48 bits: max. keys of a partition; else UINT64_MAX */
} kafka_hash_size;

typedef struct kafka_keys {
    tamis_extractor *extractor; /* of key and time in the value; NULL: neither is a part of it */
    enum { KAFKA_VALUE, KAFKA_KEY, KAFKA_HEADER } source;
    const char *header; /* name of the header */
    tamis_hasher *hasher;
    uint64_t hasher_id;
    kafka_hash_size size;
} kafka_keys;

enum { TAMIS__KAFKA_MERGE_HASHES = 2 * TAMIS__KAFKA_RECORD_HASHES }; /* max. hashes of a step of a merge */

/* M: copies the hashes of old state records. */
typedef struct kafka_merge {
    kafka_partition *partition; /* whose records are copied; NULL: none */
    rd_kafka_queue_t *queue;    /* of its old records, from the reader */
    uint64_t position;          /* hashes of records below this offset are in copies, or in `hashes` */
    uint64_t end;               /* the merge ends at this offset */
    uint64_t end_to;            /* `to` of the last record in front of `end` */
    bool has_chain;             /* an old record was read, so `to` is valid */
    uint64_t to;                /* `to` of the last record that was read */
    tamis_hash *hashes;         /* for the next transaction; NULL: there is no merge */
    size_t count;               /* their number */
    size_t next;                /* partition that was merged last */
    uint64_t not_before;        /* no merge begins before this time */
} kafka_merge;

/* Topics that records go to. */
enum { KAFKA_UNIQUE, KAFKA_DUPLICATES, KAFKA_DEAD_LETTERS, KAFKA_OUTPUTS };

typedef struct kafka_output {
    const char *name;        /* NULL: its records are dropped */
    rd_kafka_topic_t *topic; /* of the producer */
    size_t partitions;       /* their number */
} kafka_output;

/* The outcome of a step of a transaction. */
typedef enum kafka_outcome {
    KAFKA_DONE,
    KAFKA_AGAIN,        /* repeat the same call: brokers are away */
    KAFKA_ABORT,        /* T7: abort, and go back */
    KAFKA_NEW_PRODUCER, /* B1: the outcome is unknown, or the producer is of no use any more */
    KAFKA_FAILED        /* the run ends with *err */
} kafka_outcome;

typedef struct kafka_dedup_run {
    kafka_client client; /* the first field: callbacks get a pointer to it */
    tamis_kafka_dedup_options options;
    tamis_extractor_options extract; /* those of `options`, or the defaults */
    tamis_allocator memory;
    char state_topic[TAMIS__KAFKA_NAME];
    char transactional_id[TAMIS__KAFKA_NAME];
    char description[TAMIS__KAFKA_RECORD_DESCRIPTION + 2]; /* what keys are; a full one was cut off */
    bool is_stateless;        /* a repartition or a check: partitions have no state and no filter */
    const tamis_filter *list; /* the filter in which a check looks keys up; else NULL */
    /* What decides where a repartition puts records, as metadata of the offsets. Else empty. */
    char route[64];
    tamis_plan plan;
    bool has_window;
    tamis_filter_options filter_options;
    kafka_keys keys;

    rd_kafka_queue_t *cut_results; /* of the brokers to requests to remove state records */
    uint64_t cut_refused_at;       /* reported: brokers refused such a request, last at this time; 0: none */
    rd_kafka_topic_t *from;        /* of the consumer */
    rd_kafka_t *producer;
    kafka_output outputs[KAFKA_OUTPUTS];
    rd_kafka_topic_t *state;                        /* of the producer */
    rd_kafka_consumer_group_metadata_t *membership; /* A1 */
    char *member_id;                                /* of the last A1; NULL: none */

    kafka_partition *partitions; /* all of the input, by number; NULL: not made yet */
    kafka_merge merge;           /* of one of them at a time */

    bool needs_producer;              /* B1 is due */
    rd_kafka_queue_t *offset_results; /* of the brokers to requests of A2; NULL: none yet */
    uint64_t offset_requests;         /* their number */
    uint64_t offsets_queried_at;      /* time of the last one; 0: it is answered, or there was none */
    rd_kafka_t *reader;               /* of the state topic; NULL: not needed yet */
    rd_kafka_topic_t *reader_topic;   /* the state topic, as the reader knows it */
    rd_kafka_queue_t *reader_queue;   /* of the records of all partitions that it reads */
    uint64_t offsets_at,
        watermarks_at;    /* no request of A2, of A3 or A7 before this time: the last one has failed */
    uint64_t refused_at;  /* time of the first refusal; 0: none */
    int poll_ms;          /* longest wait for a record while A goes on */
    uint64_t assigned_at; /* time of A1 */
    uint64_t restored;    /* hashes of assigned partitions that were read since A1 */
    uint64_t restore_progress_at; /* time of the last progress of A, for the remark */
    bool has_remarked_restore;    /* reported: A waits */
    bool has_remarked_part;       /* reported: some partitions go on */
    bool has_remarked_joined;     /* reported: all partitions go on */
    bool has_remarked_standby;    /* reported: the copies of a standby are complete */

    rd_kafka_message_t *batch[TAMIS__KAFKA_BATCH]; /* records that are not answered yet */
    size_t batch_count;
    kafka_found found[TAMIS__KAFKA_BATCH];
    tamis_answer answers[TAMIS__KAFKA_BATCH];

    bool is_open;                      /* a transaction is open */
    uint64_t open_since;               /* time of tamis__now_ns */
    rd_kafka_resp_err_t undelivered;   /* first error of a record that the brokers did not take */
    const char *undelivered_to;        /* the topic of that record */
    uint64_t deleted_since;            /* since when brokers say that a topic is not there; 0: they do not */
    bool is_state_replaced;            /* a state record was written in front of committed ones */
    rd_kafka_resp_err_t failed_code;   /* error of the last transactional call that failed */
    uint64_t stop_since;               /* time since which the run must stop; 0: it was not noticed yet */
    bool has_remarked_missing;         /* reported: no record has a key */
    size_t sample_other;               /* partition in which the next key of the sample is looked up */
    uint64_t sampled, found_elsewhere; /* keys of the sample, and those that were in another partition */
    bool has_remarked_ahead;           /* reported: a time is ahead of the clock */
    uint64_t reported_at;              /* time of the last call of options.progress */
    bool has_remarked_brokers;         /* reported: the run waits for brokers */
    unsigned failures;                 /* transactions since the last commit that failed */
    size_t record_hashes;              /* most hashes of a state record that the producer accepts */
    uint8_t *record_bytes;             /* buffer for one state record */
    tamis_kafka_dedup_stats open;      /* statistics of the open transaction */
    tamis_kafka_dedup_stats committed; /* statistics of the run */
} kafka_dedup_run;

/* ---- kafka_plan.c ---- */

enum { TAMIS__KAFKA_SEGMENT = 64 << 20 }; /* bytes of a segment of the state topic */

/* Plans the filter of a partition and its hashes. `wanted` has the library's own size. */
tamis_status tamis__kafka_plan_filter(tamis_plan *plan, kafka_hash_size *hashes, tamis_plan_options *wanted,
                                      tamis_error *err);
/* The time between two horizons of a window: an eighth of all that a lookup can find. */
uint64_t tamis__kafka_horizon_gap(const tamis_plan *plan);

/* ---- kafka_partition.c ---- */

/* Returns the partition with this number, or NULL if the input has no such partition. */
kafka_partition *tamis__kafka_partition(kafka_dedup_run *run, int32_t number);
/* Makes the empty filter of a partition whose state is read from its beginning. */
tamis_status tamis__kafka_partition_reset(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err);
/* A5: adds the keys of the next committed state record, which is at offset `offset`. */
tamis_status tamis__kafka_partition_restore(kafka_dedup_run *run, kafka_partition *partition,
                                            const tamis__kafka_record *record, uint64_t offset,
                                            tamis_error *err);
/* T6: adds the overlay to the filter. */
tamis_status tamis__kafka_partition_commit(kafka_dedup_run *run, kafka_partition *partition,
                                           tamis_error *err);
/* T7: forgets what is not committed. */
void tamis__kafka_partition_abort(kafka_partition *partition);
/* Returns the number of keys in the filter, which must be there. */
uint64_t tamis__kafka_partition_keys(const kafka_dedup_run *run, const kafka_partition *partition);
/* T1: adds a key to the overlay. TAMIS_E_FULL: the partition has as many keys as its hashes allow. */
tamis_status tamis__kafka_partition_add(const kafka_dedup_run *run, kafka_partition *partition,
                                        const kafka_found *found, tamis_error *err);
/* Forgets filter and overlay. */
void tamis__kafka_partition_release(kafka_partition *partition);

/* ---- kafka_dedup.c ---- */

/* Calls options.progress if that is due. */
void tamis__kafka_dedup_report_progress(kafka_dedup_run *run);

/* ---- kafka_topics.c ---- */

/* Asks the brokers to remove the state records that are not needed any more (T6). Does not wait for the
 * answer. */
void tamis__kafka_dedup_cut_state(kafka_dedup_run *run);
/* Fills *err for an error of a topic of the run. Returns err->status. */
tamis_status tamis__kafka_dedup_fail_topic(const kafka_dedup_run *run, const char *topic,
                                           rd_kafka_resp_err_t code, tamis_error *err);
/* Finds a topic of the run that the brokers do not know any more: fills *err. False: there is none, or no
 * broker answers. */
bool tamis__kafka_dedup_find_deleted(const kafka_dedup_run *run, tamis_error *err);
/* Called while brokers do not answer a request about a topic: librdkafka tries again for ever if the topic
 * was deleted. True if find_deleted has found the same for some seconds. A broker that starts may not know
 * all topics yet. */
bool tamis__kafka_dedup_has_lost_topic(kafka_dedup_run *run, tamis_error *err);
/* B2: checks all topics, and makes the state topic if it is not there. Fills the partitions of the run. */
tamis_status tamis__kafka_dedup_check_topics(kafka_dedup_run *run, tamis_error *err);

/* ---- kafka_keys.c ---- */

tamis_status tamis__kafka_keys_init(kafka_dedup_run *run, tamis_error *err);
void tamis__kafka_keys_release(kafka_keys *keys);
/* Finds and hashes the keys of the batch: run->found. */
tamis_status tamis__kafka_keys_find(kafka_dedup_run *run, tamis_error *err);

/* ---- kafka_dedup_group.c ---- */

/* Callback of librdkafka when the group gives or takes partitions. */
void tamis__kafka_dedup_on_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t code,
                                     rd_kafka_topic_partition_list_t *partitions, void *context);
/* Goes back after an abort: the consumer delivers the records of joined partitions from `next` on. */
tamis_status tamis__kafka_dedup_seek(kafka_dedup_run *run, tamis_error *err);
/* A7: makes the consumer deliver the records of ready partitions from `next` on. */
tamis_status tamis__kafka_dedup_join(kafka_dedup_run *run, tamis_error *err);
/* B1: joined partitions go on with A2. Until then the consumer delivers none of their records. */
void tamis__kafka_dedup_pause(kafka_dedup_run *run);

/* ---- kafka_stages.c ---- */

/* Goes on with A, and with S. Returns soon, so that records of other partitions are answered meanwhile. */
tamis_status tamis__kafka_dedup_advance(kafka_dedup_run *run, tamis_error *err);
/* Begins A2 for a partition. Answers to earlier requests do not count. */
void tamis__kafka_begin_restore(kafka_partition *partition);
/* R for *err: A2 will be repeated. The copy of a standby is forgotten instead. Returns err->status if neither
 * helps. */
tamis_status tamis__kafka_dedup_refuse(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err);
/* True if the member does not have the partition, and its filter is complete. It must be as complete as
 * that of the owner was when the member began to read. */
bool tamis__kafka_is_warm(const kafka_partition *partition);

/* ---- kafka_refusal.c ---- */

/* Stores *err as the reason to refuse a partition. */
tamis_status tamis__kafka_refusal_store(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err);
/* R: A2 has returned `offset` again. True if the partition is refused. */
bool tamis__kafka_refusal_confirm(kafka_dedup_run *run, kafka_partition *partition, int64_t offset);
/* Fails if partitions are refused, and no other one has to be waited for. Reports all of them. */
tamis_status tamis__kafka_refusals_report(kafka_dedup_run *run, tamis_error *err);
/* Forgets all refusals. */
void tamis__kafka_refusals_forget(kafka_dedup_run *run);

/* ---- kafka_restore.c ---- */

/* Opens the reader, unless it is open. */
tamis_status tamis__kafka_dedup_open_reader(kafka_dedup_run *run, tamis_error *err);
/* Makes the reader deliver the state records of a partition, from `covers` on; does nothing if it does so. */
tamis_status tamis__kafka_dedup_read_state(kafka_dedup_run *run, kafka_partition *partition,
                                           tamis_error *err);
/* Makes the reader deliver no state records of a partition any more; none that it has fetched either. */
void tamis__kafka_dedup_stop_state(kafka_dedup_run *run, kafka_partition *partition);
/* A5: adds state records that the reader has fetched, for some milliseconds. *has_read: there were some. */
tamis_status tamis__kafka_dedup_add_state(kafka_dedup_run *run, bool *has_read, tamis_error *err);
/* A6: compares the chain with the offset of A2. */
tamis_status tamis__kafka_dedup_check_chain(const kafka_dedup_run *run, const kafka_partition *partition,
                                            tamis_error *err);
/* Destroys the reader. */
void tamis__kafka_dedup_close_reader(kafka_dedup_run *run);

/* ---- kafka_merge.c ---- */

/* True if the state of filters of this kind is merged. */
bool tamis__kafka_kind_is_merged(tamis_kind kind);
/* True if the state of this run can be merged. */
bool tamis__kafka_may_merge(const kafka_dedup_run *run);
/* True if the state records of a partition take too many bytes for their hashes. */
bool tamis__kafka_merge_is_due(const kafka_dedup_run *run, const kafka_partition *partition);
/* Ends the merge of a partition whose records are not answered any more: its state may be read now. Likewise if
 * the brokers refuse cuts. */
void tamis__kafka_merge_check(kafka_dedup_run *run);
/* Goes on with a merge, or begins one. Returns soon. */
tamis_status tamis__kafka_merge_advance(kafka_dedup_run *run, tamis_error *err);
/* Begins the merge of a partition, whose old records will be given to tamis__kafka_merge_read. */
tamis_status tamis__kafka_merge_begin(kafka_dedup_run *run, kafka_partition *partition, tamis_error *err);
/* Adds an old state record, or handles another event of the reader. */
void tamis__kafka_merge_read(kafka_dedup_run *run, const rd_kafka_message_t *message);
/* True if the next transaction of the partition has the copies that were read. */
bool tamis__kafka_merge_is_ready(const kafka_dedup_run *run, const kafka_partition *partition);
/* True if more old records are to be read for the next transaction. */
bool tamis__kafka_merge_is_reading(const kafka_dedup_run *run);
/* Returns the number of state records for the copies; 0: there are no hashes. */
size_t tamis__kafka_merge_records(const kafka_dedup_run *run);
/* Returns the index of the first hash of a record. Of the record behind the last: the number of hashes. */
size_t tamis__kafka_merge_first_hash(const kafka_dedup_run *run, size_t record);
/* T6: the open transaction is committed. Moves `needed` behind the records whose copies it has. */
void tamis__kafka_merge_commit(kafka_dedup_run *run);
/* Ends a merge. The copies that are not committed are forgotten. */
void tamis__kafka_merge_stop(kafka_dedup_run *run);

/* ---- kafka_forward.c ---- */

/* Reads a batch and answers it: T1, T2. */
kafka_outcome tamis__kafka_dedup_forward(kafka_dedup_run *run, tamis_error *err);
/* Answers the batch that was read. */
kafka_outcome tamis__kafka_dedup_answer(kafka_dedup_run *run, tamis_error *err);
/* Frees the batch. */
void tamis__kafka_dedup_drop_batch(kafka_dedup_run *run);

/* ---- kafka_transaction.c ---- */

/* B1: makes a new producer, and ends the transaction of an earlier one. */
tamis_status tamis__kafka_dedup_make_producer(kafka_dedup_run *run, tamis_error *err);
/* Destroys the producer. */
void tamis__kafka_dedup_destroy_producer(kafka_dedup_run *run);
/* Opens a transaction, unless one is open. */
kafka_outcome tamis__kafka_dedup_open_transaction(kafka_dedup_run *run);
/* True if a partition needs a transaction without a record: its first one (T0), or one for copies (M). */
bool tamis__kafka_dedup_needs_transaction(const kafka_dedup_run *run);
/* T0, M: puts these partitions into the transaction, which is opened if it is not. */
kafka_outcome tamis__kafka_dedup_open_empty(kafka_dedup_run *run);
/* Queues a record of the producer: `parts` as for rd_kafka_produceva. `topic` names it in errors. */
kafka_outcome tamis__kafka_dedup_enqueue(kafka_dedup_run *run, const rd_kafka_vu_t *parts, size_t count,
                                         const char *topic, tamis_error *err);
/* T3 to T6 for the open transaction. */
kafka_outcome tamis__kafka_dedup_commit(kafka_dedup_run *run, tamis_error *err);
/* T7: aborts the open transaction. */
kafka_outcome tamis__kafka_dedup_abort(kafka_dedup_run *run, tamis_error *err);
/* Applies the outcome of a step of a transaction: aborts, or sets needs_producer. */
tamis_status tamis__kafka_dedup_apply(kafka_dedup_run *run, kafka_outcome outcome, tamis_error *err);
/* Delivery report of a record. */
void tamis__kafka_dedup_on_delivery(rd_kafka_t *producer, const rd_kafka_message_t *message, void *context);
/* True if the open transaction is to be committed now. */
bool tamis__kafka_dedup_is_due(const kafka_dedup_run *run);

#endif
