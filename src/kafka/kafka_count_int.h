/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KAFKA_KAFKA_COUNT_INT_H
#define TAMIS_KAFKA_KAFKA_COUNT_INT_H

/*
 * A run of `tamis kafka count`. docs/KAFKA-COUNT-PROTOCOL.md has the protocol; A1, C4 and so on are its
 * steps.
 *
 *     kafka_count.c            the run: its options, the loop, its end
 *     kafka_count_assign.c     A, N: partitions of the group, and where each begins
 *     kafka_count_batch.c      C: records, names, and what is sent to Redis
 *     kafka_template.c         names of counters
 *     kafka_client.h           shared with dedup: librdkafka, the member of the group
 *     store/redis/counts       counters and positions in Redis
 *
 * One thread runs everything here, callbacks of librdkafka included: it calls them from poll functions.
 */

#include <tamis/experimental/kafka.h>

#include "kafka/kafka_client.h"
#include "kafka/kafka_template.h"
#include "store/redis/counts/redis_counts.h"

enum { TAMIS__KAFKA_DESCRIPTION = 4096, TAMIS__KAFKA_TEMPLATES = 64 };

typedef struct kafka_count_run {
    kafka_client client; /* the first field: callbacks get a pointer to it */
    tamis_kafka_count_options options;
    tamis_extractor_options extract; /* those of `options`, or the defaults */
    tamis_allocator memory;
    char description[TAMIS__KAFKA_DESCRIPTION];
    char name[2 * TAMIS__KAFKA_NAME + 20]; /* of the position keys */
    kafka_template *templates[TAMIS__KAFKA_TEMPLATES];
    size_t template_count;
    tamis__counts *counts;

    /* A number for each partition. */
    uint64_t *next;  /* offset behind the last record in the batch; TAMIS__NO_POSITION: it is not assigned */
    uint64_t *home;  /* A1: positions of the home slot */
    uint64_t *lower; /* C7: positions that were lower than the known ones */
    uint64_t *scratch;

    kafka_counter counters[TAMIS__KAFKA_TEMPLATES]; /* of the record that is added */
    bool has_remarked_expired;                      /* reported: a counter has expired already */
    bool has_remarked_missing;                      /* reported: no record has a counter */
    bool has_remarked_redis;                        /* reported: the run waits for Redis */
    bool is_open;                                   /* records were read that are not counted yet */
    uint64_t open_since;                            /* time of tamis__now_ns */

    uint64_t reported_at;              /* time of the last call of options.progress */
    tamis_kafka_count_stats open;      /* statistics of the batch */
    tamis_kafka_count_stats committed; /* statistics of the run */
} kafka_count_run;

/* ---- kafka_count_assign.c ---- */

/* Callback of librdkafka when the group gives or takes partitions. */
void tamis__kafka_count_on_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t code,
                                     rd_kafka_topic_partition_list_t *partitions, void *context);
/* A1 to A4 for all assigned partitions. If the group changes the assignment meanwhile, it returns TAMIS_OK
 * and the phase is not KAFKA_RUNNING. */
tamis_status tamis__kafka_count_assign(kafka_count_run *run, tamis_error *err);
/* A3, C6: commits an offset of each partition in `next`. */
tamis_status tamis__kafka_count_commit(kafka_count_run *run, const uint64_t *next, const char *metadata,
                                       rd_kafka_resp_err_t *code, tamis_error *err);

/* ---- kafka_count_batch.c ---- */

/* C1 to C3 for some records, then C4 to C6 if the batch is due. */
tamis_status tamis__kafka_count_records(kafka_count_run *run, tamis_error *err);
/* C4 to C6. After a conflict client.must_join is set (C7). */
tamis_status tamis__kafka_count_flush(kafka_count_run *run, tamis_error *err);
/* Fills the statistics of the partitions that this member has now. */
void tamis__kafka_count_observe(kafka_count_run *run);
/* Reports that Redis answers again, after a reported wait. */
void tamis__kafka_count_note_redis(kafka_count_run *run);
/* Calls options.progress if that is due. */
void tamis__kafka_count_report_progress(kafka_count_run *run);
/* Forgets the statistics of the batch. The batch itself is forgotten by A1. */
void tamis__kafka_count_forget(kafka_count_run *run);

#endif
