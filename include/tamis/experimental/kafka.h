/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KAFKA_H
#define TAMIS_KAFKA_H

/* Topics of Apache Kafka: library libtamis-kafka, which needs librdkafka. Not part of tamis/tamis.h, so that
 * a program that embeds a filter needs no further library. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/experimental/extract.h>
#include <tamis/experimental/stream.h>
#include <tamis/filter.h>
#include <tamis/plan.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statistics of a run. Records count when their transaction is committed. */
typedef struct tamis_kafka_dedup_stats {
    uint32_t struct_size;
    uint64_t records;      /* answered; the sum of the next five */
    uint64_t unique;       /* keys that were new; repartition: records with a key; check: absent keys */
    uint64_t duplicates;   /* keys that came before, and false positives; check: present keys */
    uint64_t missing;      /* records without a key */
    uint64_t malformed;    /* malformed records that were skipped, passed on, or are dead letters */
    uint64_t late;         /* records that were too old for the window, or ahead of the clock */
    uint64_t transactions; /* committed */
    uint64_t aborted;      /* aborted, or with an unknown outcome; their records came again */
    uint64_t assignments;  /* how often the group gave partitions to this member */
    uint64_t restored;     /* hashes that were read from the state topic */
    int64_t committed_at;  /* time of the last commit, milliseconds since 1970 UTC; 0: none yet */
    /* The next four are totals over the partitions now assigned to this member. */
    uint64_t partitions; /* their number */
    uint64_t lag;        /* records that are not committed yet, by the last end offsets that were fetched */
    uint64_t keys;       /* in their filters */
    uint64_t memory;     /* bytes of their filters */
    uint64_t standby;    /* partitions of other members whose keys this member has too, see options.standby */
} tamis_kafka_dedup_stats;

#define TAMIS_KAFKA_DEDUP_STATS_INIT TAMIS__INIT(tamis_kafka_dedup_stats, )

typedef struct tamis_kafka_dedup_options {
    uint32_t struct_size;
    const char *brokers; /* required: "host:port,host:port" */
    /* required: consumer group. Members of a group share the partitions of `from` */
    const char *group;
    const char *from; /* required: topic to read */
    /* topic for the first record of each key; required, except for tamis_kafka_check_run */
    const char *to;
    /* topic for all other records; NULL: they are dropped */
    const char *duplicates_to;
    /* topic for records at which the run would stop: those of `missing` and `malformed` with
     * TAMIS_STREAM_FAIL. A header "tamis.error" says why. NULL: the run stops */
    const char *dead_letters_to;
    /* NULL, or a name of this member that stays over restarts and that no other running member of the group
     * has. A restarted member gets its partitions at once, and ends its former transaction. */
    const char *instance;
    /* settings of librdkafka, "name=value"; those that the protocol needs are refused (TAMIS_E_INVALID) */
    const char *const *settings;
    size_t setting_count;
    /* How the key of a record is found; NULL: the key is its whole value. The parts are those of
     * tamis/experimental/extract.h, of the value. Or there is a single one: "kafka:key", the key of the
     * record, or "kafka:header:NAME", the value of its last header of this name. No csv:NAME and no
     * source. With a window, extract->time is where the time of a record is in its value; NULL: Kafka's
     * time of the record. */
    const tamis_extractor_options *extract;
    /* Filter of each partition: `expect` and `memory` are those of one partition. NULL: it grows, at the
     * default rate. With kind window, a record is a duplicate if its key came within the window before its
     * time (tamis/experimental/window.h). No refresh. A record may be ahead of the clock of this host by
     * half the lateness (at least a second, at most five minutes). Further ahead, it is treated as a late
     * one, since it would make others late. With `expect`, and an `fpr` from 1e-6 on, the state may have
     * shorter hashes, 2 bytes less a key. They are part of the rate. TAMIS_E_FULL: a partition has as many
     * keys as they allow, at least 16 times `expect`. */
    const tamis_plan_options *plan;
    uint64_t seed; /* for scheme xxh3 */
    /* for scheme sip; only a hash of it is kept */
    const void *secret;
    size_t secret_size;
    tamis_stream_policy missing;   /* for records without a key, tombstones among them */
    tamis_stream_policy malformed; /* for malformed records */
    tamis_stream_policy late;      /* for records that are too old for the window: PASS or DROP */
    uint32_t commit_ms;            /* longest time that a transaction is open, in milliseconds, from 1 */
    /* Stop when all partitions of this member have reached the end that they had when it got them. A member
     * without partitions stops at once. */
    bool until_end;
    int stop_fd; /* the run stops in order when this descriptor is readable; -1: none */
    /* NULL, or called in the calling thread with a remark for a person, such as a long wait */
    void (*remark)(void *context, const char *message);
    /* NULL, or called in the calling thread about once a second */
    void (*progress)(void *context, const tamis_kafka_dedup_stats *stats);
    void *context;                    /* argument of `remark` and `progress` */
    const tamis_allocator *allocator; /* NULL: the default; librdkafka uses that of the C library */
    /* Keep a copy of the filter of each partition that another member has, by reading its state. When such a
     * partition comes to this member, only the rest is read. Memory is that of a filter for each partition of
     * `from`. */
    bool standby;
} tamis_kafka_dedup_options;

#define TAMIS_KAFKA_DEDUP_OPTIONS_INIT                                                                       \
    TAMIS__INIT(tamis_kafka_dedup_options, TAMIS__FIELD(malformed, TAMIS_STREAM_FAIL)                        \
                                               TAMIS__FIELD(commit_ms, 1000) TAMIS__FIELD(stop_fd, -1))

/*
 * Copies the first record of each key from one topic to another, exactly once.
 *
 * The keys seen are in a state topic, "GROUP.FROM.tamis-state", which the run makes if it is not there.
 * Output, state and the group's offsets are committed in one transaction. So a reader of committed records
 * finds each record of `from` exactly once in `to` or `duplicates_to`. It finds each key once in `to`,
 * whatever member is killed at whatever moment. docs/KAFKA-PROTOCOL.md has the protocol, its proof, and what
 * it assumes of Kafka.
 *
 * With a window, state records whose keys have expired are removed from the state topic. So state and restore
 * are those of the window and its lateness and an eighth more. The disk of the brokers has up to a segment
 * more.
 *
 * Key, value, headers and timestamp of a record are kept. Its partition is kept if both topics have the same
 * number, else its key selects one, as in Kafka's Java client.
 *
 * The topics `from`, `to` and `duplicates_to` must exist. A group without offsets begins at the first record
 * of `from`.
 *
 * Runs until stop_fd is readable (TAMIS_E_INTERRUPTED), the end is reached with `until_end` (TAMIS_OK), or an
 * error. The open transaction is committed before, unless it cannot be. *stats (may be NULL) is filled in
 * each case. One run per thread. librdkafka starts several threads of its own.
 *
 * - TAMIS_E_INVALID: options contradict each other, or librdkafka refuses a setting.
 * - TAMIS_E_TIMEOUT: the brokers do not answer when the run begins. Later it waits for them.
 * - TAMIS_E_NOT_FOUND: a topic does not exist, or was removed.
 * - TAMIS_E_MISMATCH: the state was made with other keys, scheme, output or window, or the number of
 *   partitions or a setting of the state topic differs.
 * - TAMIS_E_CHANGED: the offsets of the group are not those of the state, since they were moved or have
 *   expired. Or records were removed before they were read.
 * - TAMIS_E_DAMAGED: records of the state topic are missing or damaged, or it was deleted or made again.
 * - TAMIS_E_BUSY: another member uses the same instance name.
 * - TAMIS_E_NO_KEY, TAMIS_E_RECORD: a record has no key or is malformed, and the policy is TAMIS_STREAM_FAIL.
 * - TAMIS_E_FULL, TAMIS_E_NOMEM: the filter of a partition cannot take more keys.
 * - TAMIS_E_REFUSED: the brokers refuse a request, for example for lack of rights.
 *
 * The message says what to do. Nothing is lost or repeated if the run is started again.
 */
TAMIS_API tamis_status tamis_kafka_dedup_run(const tamis_kafka_dedup_options *options,
                                             tamis_kafka_dedup_stats *stats, tamis_error *err);

/*
 * Copies all records of a topic, exactly once, each into the partition of `to` that its key selects. Equal
 * keys are in one partition then, as tamis_kafka_dedup_run needs. The partition is that which Kafka's
 * producers choose by default for a record with this key.
 *
 * Options, statistics and errors are those of tamis_kafka_dedup_run. There is no state topic and no filter:
 * options.plan, duplicates_to and secret are NULL, standby is false (TAMIS_E_INVALID). So a moved offset is
 * not noticed: records are copied again, or left out. A group without offsets begins at the first record.
 * Several topics may be copied into one: one run for each. TAMIS_E_MISMATCH: `to` has another number of
 * partitions than in an earlier run of the group, or the keys are other ones. Equal keys would be in
 * different partitions.
 */
TAMIS_API tamis_status tamis_kafka_repartition_run(const tamis_kafka_dedup_options *options,
                                                   tamis_kafka_dedup_stats *stats, tamis_error *err);

/*
 * Routes the records of a topic by a filter, exactly once. A record whose key is absent from the filter goes
 * to options.to, one whose key is present to options.duplicates_to. One of the two may be NULL: its records
 * are dropped. Keys are looked up as bytes.
 *
 * The filter is borrowed until the call returns, and may be on a server. As with tamis_kafka_repartition_run
 * there is no state, and options.plan, secret and standby are not set. Further errors are TAMIS_E_IO and
 * TAMIS_E_TIMEOUT: a lookup on a server has failed.
 */
TAMIS_API tamis_status tamis_kafka_check_run(const tamis_filter *filter,
                                             const tamis_kafka_dedup_options *options,
                                             tamis_kafka_dedup_stats *stats, tamis_error *err);

/* Statistics of a run: what Redis has acknowledged. */
typedef struct tamis_kafka_count_stats {
    uint32_t struct_size;
    uint64_t records;   /* read */
    uint64_t counted;   /* what records added to counters, for all templates together */
    uint64_t repeated;  /* what an earlier run or another member had added already */
    uint64_t missing;   /* what was left out because the record lacks a value */
    uint64_t malformed; /* what was left out because the record is malformed */
    uint64_t batches;   /* applied */
    /* batches that were read again: another member had applied them, or Redis had lost writes */
    uint64_t conflicts;
    uint64_t assignments; /* how often the group gave partitions to this member */
    int64_t committed_at; /* time of the last batch, milliseconds since 1970 UTC; 0: none yet */
    /* The next two are totals over the partitions now assigned to this member. */
    uint64_t partitions; /* their number */
    uint64_t lag;        /* records that are not counted yet, by the last end offsets that were fetched */
} tamis_kafka_count_stats;

#define TAMIS_KAFKA_COUNT_STATS_INIT TAMIS__INIT(tamis_kafka_count_stats, )

typedef struct tamis_kafka_count_options {
    uint32_t struct_size;
    const char *brokers; /* required: "host:port,host:port" */
    /* required: consumer group. Members of a group share the partitions of `from` */
    const char *group;
    const char *from; /* required: topic to read */
    const char *to;   /* required: URI of a Redis, see tamis/experimental/redis.h; no Codis */
    /* Templates of names of counters; of these and those below at least one. Each record adds 1 to one
     * counter of each template:
     *
     *     clicks:{day}:{json:/page}
     *
     * {month}, {day} and {hour} are the time of the record in UTC: 2026-11, 2026-11-28, 2026-11-28T13.
     * {kafka:key} is the key of the record, {kafka:header:NAME} its last header of this name. Any other part
     * is one of the value, in a form of tamis/experimental/extract.h; no csv:NAME, one group in a regex at
     * most.
     *
     * Letters, digits, - . _ ~ / and bytes from 0x80 of a value stay, and any other byte becomes %XX.
     * Between two parts there must be an ASCII byte that would not stay, such as a colon. So different
     * values give different names. Templates that could give equal names are refused. */
    const char *const *templates;
    size_t template_count;
    /* NULL, or how values are found: delimiter, trim, ignore_case and time. Without `time`, the time of a
     * record is its timestamp in Kafka. `parts` is ignored. */
    const tamis_extractor_options *extract;
    /* NULL, or a name of this member that stays over restarts and that no other running member of the group
     * has. A restarted member gets its partitions at once. */
    const char *instance;
    /* settings of librdkafka, "name=value"; those that the protocol needs are refused (TAMIS_E_INVALID) */
    const char *const *settings;
    size_t setting_count;
    /* TAMIS_STREAM_DROP or TAMIS_STREAM_FAIL: for records that lack a value of a template (they count in the
     * other templates), and for malformed ones */
    tamis_stream_policy missing;
    tamis_stream_policy malformed;
    uint32_t commit_ms; /* longest time that records are added up in memory, in milliseconds, from 1 */
    /* Stop when all partitions of this member have reached the end that they had when it got them. A member
     * without partitions stops at once. */
    bool until_end;
    int stop_fd; /* the run stops in order when this descriptor is readable; -1: none */
    /* NULL, or called in the calling thread with a remark for a person */
    void (*remark)(void *context, const char *message);
    void *context;                    /* argument of `remark` and `progress` */
    const tamis_allocator *allocator; /* NULL: the default; librdkafka uses that of the C library */
    /* Templates of sums. Each ends with = and the part that a record adds, which is not in the name:
     *
     *     bytes:{day}={json:/bytes}
     *
     * It must be an integer from -(2^53 - 1) to 2^53 - 1: an optional minus sign and digits. Any other record
     * is malformed. */
    const char *const *sums;
    size_t sum_count;
    /* Templates of distinct counts, as users:{day}={json:/user}. The counter is a HyperLogLog, to which PFADD
     * adds the value of the part as it is; PFCOUNT estimates how many different ones there were. */
    const char *const *distincts;
    size_t distinct_count;
    /* 0, or how long Redis keeps a counter whose name has {month}, {day} or {hour}, in milliseconds after
     * the end of that time. It may differ from run to run. Other counters stay. */
    uint64_t expire_ms;
    /* NULL, or called in the calling thread about once a second */
    void (*progress)(void *context, const tamis_kafka_count_stats *stats);
} tamis_kafka_count_options;

#define TAMIS_KAFKA_COUNT_OPTIONS_INIT                                                                       \
    TAMIS__INIT(tamis_kafka_count_options,                                                                   \
                TAMIS__FIELD(missing, TAMIS_STREAM_DROP) TAMIS__FIELD(malformed, TAMIS_STREAM_FAIL)          \
                    TAMIS__FIELD(commit_ms, 1000) TAMIS__FIELD(stop_fd, -1))

/*
 * Counts the records of a topic in a Redis, exactly once.
 *
 * A counter is a string with a number, as INCRBY makes it, or a HyperLogLog. Beside the counters are
 * positions in the topic, in hashes GROUP.FROM.tamis-count:{N}. One script changes both. So each record that
 * a reader of committed records sees is in its counters once, whatever member is killed at whatever moment.
 * docs/KAFKA-COUNT-PROTOCOL.md has the protocol, its proof, and what it assumes of Kafka and Redis.
 *
 * The topic must exist. A group without offsets begins at the first record. The offsets of the group follow
 * the positions in Redis, which decide: a change of offsets changes no count.
 *
 * Runs until stop_fd is readable (TAMIS_E_INTERRUPTED), the end is reached with `until_end` (TAMIS_OK), or an
 * error. What was read is counted before, unless it cannot be. *stats (may be NULL) is filled in each case.
 * One run per thread. librdkafka starts several threads of its own.
 *
 * - TAMIS_E_INVALID: options contradict each other, a template or the URI is wrong, or librdkafka refuses a
 *   setting.
 * - TAMIS_E_TIMEOUT, TAMIS_E_IO: the brokers do not answer when the run begins, or Redis does not at any
 *   time.
 * - TAMIS_E_NOT_FOUND: the topic does not exist, or was removed.
 * - TAMIS_E_MISMATCH: the counters were made with other templates, a key in Redis is not a counter of this
 *   kind, or a counter would exceed 64 bits.
 * - TAMIS_E_CHANGED: positions in Redis and offsets of the group do not fit. The topic was made again,
 *   records were removed before they were counted, or Redis was emptied. Or the topic has got a new
 *   partition.
 * - TAMIS_E_BUSY: another member uses the same instance name.
 * - TAMIS_E_NO_KEY, TAMIS_E_RECORD: a record lacks a value or is malformed, and the policy is
 *   TAMIS_STREAM_FAIL.
 * - TAMIS_E_UNSUPPORTED: Redis is a Codis.
 * - TAMIS_E_REFUSED: the brokers or Redis refuse a request, for example for lack of rights.
 * - TAMIS_E_NOMEM.
 *
 * The message says what to do. Nothing is lost or repeated if the run is started again.
 */
TAMIS_API tamis_status tamis_kafka_count_run(const tamis_kafka_count_options *options,
                                             tamis_kafka_count_stats *stats, tamis_error *err);

typedef struct tamis_kafka_status_options {
    uint32_t struct_size;
    const char *brokers;         /* required: "host:port,host:port" */
    const char *group;           /* required: the group of a dedup or count run */
    const char *from;            /* required: the topic that it reads */
    const char *const *settings; /* settings of librdkafka, "name=value", as for a run */
    size_t setting_count;
    int stop_fd; /* the call ends when this descriptor is readable (TAMIS_E_INTERRUPTED); -1: none */
    const tamis_allocator *allocator; /* NULL: the default; librdkafka uses that of the C library */
    /* NULL, or called in the calling thread, with the `context` of the call, if it waits long for the
     * brokers */
    void (*remark)(void *context, const char *message);
} tamis_kafka_status_options;

#define TAMIS_KAFKA_STATUS_OPTIONS_INIT TAMIS__INIT(tamis_kafka_status_options, TAMIS__FIELD(stop_fd, -1))

/* How far a group is in a partition of its input. */
typedef struct tamis_kafka_partition_status {
    uint32_t struct_size;
    uint32_t partition;
    int64_t offset; /* committed by the group: that of the first record that is not answered; -1: none */
    uint64_t low;   /* offset of the first record that the topic has */
    uint64_t end;   /* offset after the last record of the topic */
    /* end - offset, or end - low without an offset: markers of transactions count as records; 0 if there
     * are only markers and aborted records */
    uint64_t lag;
    /* Instance name of the member that has the partition, or the id that the brokers gave this member;
     * NULL: no member. Valid during the call, like `host`. */
    const char *owner;
    const char *host;   /* address of the owner; NULL: no owner */
    bool has_state;     /* a state topic of dedup exists, and this user may read it: the next two are known */
    uint64_t state_low; /* offset of the first state record that is kept; above 0 if some were removed */
    uint64_t state_end; /* offset after the last state record; markers of transactions have offsets too */
    /* largest time of the records before `offset`, in milliseconds since 1970; -1: none, or no window */
    int64_t newest;
    /* offset of the input at which the newest state record ends: with dedup, `offset` has to be this one
     * while no member commits; -1: none */
    int64_t state_to;
    double rate; /* records a second by which `offset` moved in two seconds of this call; 0 without members */
    /* estimate, within 5 %: bytes that the state records take on a broker, with their batches and markers;
     * -1: no state record can be read. Segments may have records that were removed beyond that. */
    int64_t state_bytes;
} tamis_kafka_partition_status;

#define TAMIS_KAFKA_PARTITION_STATUS_INIT                                                                    \
    TAMIS__INIT(tamis_kafka_partition_status, TAMIS__FIELD(offset, -1) TAMIS__FIELD(newest, -1)              \
                                                  TAMIS__FIELD(state_to, -1) TAMIS__FIELD(state_bytes, -1))

/*
 * Reports how far a group is, of dedup or of count: calls `report` for each partition of the topic, in order.
 * A status other than TAMIS_OK ends the call with it; `report` then fills *err.
 *
 * Only reads, and never joins the group, so it disturbs no member. The numbers of a group that is running
 * come from several requests, one after the other. With count, the offsets of the group follow the positions
 * in the Redis.
 *
 * - TAMIS_E_NOT_FOUND: the topic does not exist; or the group has no offset in it, no member and no state.
 * - TAMIS_E_INVALID, TAMIS_E_TIMEOUT, TAMIS_E_REFUSED: as for a run.
 *
 * Cost: some requests a partition, and half a second until the newest state records are read. The rate of a
 * group that has members takes two seconds more.
 */
TAMIS_API tamis_status tamis_kafka_status_read(
    const tamis_kafka_status_options *options,
    tamis_status (*report)(void *context, const tamis_kafka_partition_status *partition, tamis_error *err),
    void *context, tamis_error *err);

/* Options of tamis_kafka_plan_make. */
typedef struct tamis_kafka_plan_options {
    uint32_t struct_size;
    /* As those of a run, but `expect` is the number of distinct keys in all partitions. With a window
     * these are those within it, without a window those that ever come. 0 with a window: all records have
     * different keys. NULL: the defaults. */
    const tamis_plan_options *plan;
    double rate;         /* records a second in all partitions; 0: not known */
    uint32_t partitions; /* required: partitions of the topic that is read */
    uint32_t hosts; /* members of the group; a host may have several, and surplus ones have no partition */
    uint32_t commit_ms; /* as that of a run */
} tamis_kafka_plan_options;

#define TAMIS_KAFKA_PLAN_OPTIONS_INIT                                                                        \
    TAMIS__INIT(tamis_kafka_plan_options, TAMIS__FIELD(hosts, 1) TAMIS__FIELD(commit_ms, 1000))

/* Memory, state and time that tamis_kafka_dedup_run will need. Bytes of the brokers are those of one
 * replica. */
typedef struct tamis_kafka_plan {
    uint32_t struct_size;
    uint64_t keys;             /* distinct keys in all partitions: within a window, or all */
    uint64_t partition_keys;   /* distinct keys in one partition: `expect` of the run's filter */
    uint64_t partition_memory; /* bytes of the filter of one partition */
    uint32_t host_partitions;  /* partitions of the member that has the most */
    uint64_t host_memory;      /* bytes of the filters of this member */
    uint64_t state_keys;  /* keys in the state topic: with a window, also those that expired not long ago */
    uint64_t state_bytes; /* largest size of the state topic */
    /* Bytes that the brokers may keep beyond `state_bytes` until they remove a segment, in all partitions.
     * 0 if nothing is removed. Without a window records are removed if heads take more bytes than keys. */
    uint64_t segment_bytes;
    /* time in which this member reads the state of its partitions: their keys divided by
     * TAMIS_KAFKA_RESTORE_RATE */
    double restore_seconds;
} tamis_kafka_plan;

#define TAMIS_KAFKA_PLAN_INIT TAMIS__INIT(tamis_kafka_plan, )

/* Keys a second that a start restores. It was measured without a window and without `expect`, with broker and
 * member on the same two processors: 10^7 keys in 1.7 s (docs/PERFORMANCE.md, "Topics of Kafka"). */
#define TAMIS_KAFKA_RESTORE_RATE (1e7 / 1.7)

/*
 * Plans memory, state topic and restore time of tamis_kafka_dedup_run. The keys are taken to be evenly
 * distributed over the partitions, and the records over the time. *filter (may be NULL) is the plan of the
 * filter of a partition; start it from TAMIS_PLAN_INIT.
 *
 * - TAMIS_E_INVALID: `partitions`, `hosts` or `commit_ms` is 0; `expect` is missing without a window, or
 *   expect and rate with one.
 * - TAMIS_E_RANGE: `rate` is not a number from 0 to TAMIS_EXPECT_MAX.
 * - Errors of tamis_plan_make.
 *
 * *plan and *filter are unchanged on failure. Any thread may call it. Cost: arithmetic only.
 */
TAMIS_API tamis_status tamis_kafka_plan_make(tamis_kafka_plan *plan, tamis_plan *filter,
                                             const tamis_kafka_plan_options *options, tamis_error *err);

/* Returns the version of librdkafka in use, such as "2.0.2". The string is static. */
TAMIS_API const char *tamis_kafka_library_version(void);

#ifdef __cplusplus
}
#endif
#endif
