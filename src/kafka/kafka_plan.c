/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The needs of a run, computed with the functions that the run itself uses:
 *
 *     memory    the filter of a partition (tamis__kafka_plan_filter), times the partitions of a member
 *     state     keys       |------ window + lateness + step ------|-- gap --|     a hash each, and its step
 *               records    one for each transaction, or 32,768 keys; a marker for each transaction
 *     restore   the keys of the state, by the measured rate
 *
 * Hashes. Rates below 1e-9, and exact filters, have whole digests: hashes of 64 bits would add a twentieth to
 * 1e-9 with 10^9 keys in a partition. A rate from 1e-6 on has hashes of 48 bits if the number of keys is
 * given. They save 2 bytes of state a key. The promise is divided then: the filter is planned for 15/16 of
 * the rate, and equal hashes get the other 1/16. They use all of it at
 *
 *     rate / 16 * 2^48 keys        1.8e7 in a partition at 1e-6, 1.8e10 at 1e-3
 *
 * The run ends before a partition has more keys (tamis__kafka_partition_add). The expected number may be
 * wrong, and a filter grows, but a chain cannot get wider hashes. So 48 bits are chosen only if 16 times the
 * expected keys are allowed. Below 1e-6, and so at the default rate, this would allow too few keys.
 *
 * With a window a state record is removed when its keys cannot be found any more. It is removed only with all
 * records up to the next horizon (kafka_partition.c). So the oldest key in the state is at most a gap older
 * than a lookup can find. Without a window the state has all keys, without times. Merges keep the bytes
 * of heads and markers below those of the hashes (kafka_merge.c).
 */
#include <string.h>

#include "base/versioned.h"
#include "kafka/kafka_dedup_int.h"

/* Bytes that Kafka adds. Each state record is sent alone in its record batch: 61 bytes, and 12 for the
 * record. The marker of a transaction is a record batch of 78 bytes. */
enum { BATCH_BYTES = 61 + 12, MARKER_BYTES = 78 };
enum { DESCRIPTION_BYTES = 160 }; /* typical: two topics, a key and the times of a window */
enum { HASHES_PART = 16 };        /* hashes of 48 bits get this part of the rate */
enum { MORE_KEYS = 16 };          /* so many times the expected keys fit at least */
static const double LONG_HASH_FPR = 1e-9, SHORT_HASH_FPR = 1e-6;
static const double KEYS_MAX = 1e18; /* within 64 bits */

uint64_t tamis__kafka_horizon_gap(const tamis_plan *plan) {
    return (plan->window + plan->lateness + plan->step) / 8;
}

/* Chooses the hashes of a partition with this plan, which was made for `wanted`. */
static kafka_hash_size choose_hashes(const tamis_plan *plan, const tamis_plan_options *wanted) {
    const double keys_max = wanted->fpr / HASHES_PART * 0x1p48;

    if (plan->kind == TAMIS_KIND_EXACT || plan->fpr < LONG_HASH_FPR)
        return (kafka_hash_size){128, UINT64_MAX};
    if (wanted->fpr < SHORT_HASH_FPR || wanted->expect == 0 || (double)wanted->expect > keys_max / MORE_KEYS)
        return (kafka_hash_size){64, UINT64_MAX};
    return (kafka_hash_size){48, (uint64_t)keys_max};
}

tamis_status tamis__kafka_plan_filter(tamis_plan *plan, kafka_hash_size *hashes, tamis_plan_options *wanted,
                                      tamis_error *err) {
    if (wanted->kind == TAMIS_KIND_WINDOW && wanted->refresh)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "plan: refresh is not supported with Kafka; leave it out");
    (void)tamis_plan_options_prefer_growth(wanted);
    const tamis_status status = tamis_plan_make(plan, wanted, err);
    if (status != TAMIS_OK)
        return status;
    *hashes = choose_hashes(plan, wanted);
    if (hashes->bits != 48)
        return TAMIS_OK;
    tamis_plan_options rest = *wanted;
    rest.fpr -= rest.fpr / HASHES_PART;
    return tamis_plan_make(plan, &rest, err);
}

static tamis_status check_options(const tamis_kafka_plan_options *options, const tamis_plan_options *wanted,
                                  tamis_error *err) {
    if (options->partitions == 0 || options->hosts == 0 || options->commit_ms == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "options.partitions, hosts or commit_ms is 0; give the number");
    if (!(options->rate >= 0 && options->rate <= (double)TAMIS_EXPECT_MAX))
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "rate: is not a number from 0 to 1e12 records a second; correct it");
    if (wanted->expect == 0 && wanted->kind != TAMIS_KIND_WINDOW)
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "expect: the number of distinct keys is missing, and without a window none of them "
            "expires; give it, or a window");
    if (wanted->expect == 0 && options->rate == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "rate: neither the records a second nor the distinct keys of a window (expect) "
                           "are given; give one of them");
    return TAMIS_OK;
}

/* Returns the bits of a number of steps in a state record. Keys of one transaction are up to the lateness
 * apart, and the time that it lasts. -1 without a window. */
static int step_width(const tamis_plan *filter, uint32_t commit_ms) {
    int width = 0;

    if (filter->kind != TAMIS_KIND_WINDOW)
        return -1;
    for (uint64_t steps = (filter->lateness + commit_ms) / filter->step + 1; steps > 0; steps /= 2)
        width++;
    return width;
}

/* The keys that the state of a partition has. They have come within `span` seconds; 0: not known. */
typedef struct state_keys {
    double count, span;
    unsigned hash_bits;
} state_keys;

/* Fills the fields about the state topic. */
static void plan_state(tamis_kafka_plan *plan, const tamis_kafka_plan_options *options,
                       const tamis_plan *filter, const state_keys *keys) {
    const int width = step_width(filter, options->commit_ms);
    /* A transaction has a partition only if one of its records has come. */
    const double records = options->rate * keys->span / options->partitions,
                 commits = keys->span * 1000 / options->commit_ms,
                 fewer = records < commits ? records : commits, transactions = fewer < 1 ? 1 : fewer;
    const double state_records =
        transactions * (double)(1 + (uint64_t)(keys->count / transactions) / TAMIS__KAFKA_RECORD_HASHES);
    const double record_keys = keys->count / state_records;
    const size_t whole_keys = (size_t)record_keys,
                 size = tamis__kafka_record_size(DESCRIPTION_BYTES, whole_keys, keys->hash_bits, width),
                 next = tamis__kafka_record_size(DESCRIPTION_BYTES, whole_keys + 1, keys->hash_bits, width);
    const double record_size =
        BATCH_BYTES + (double)size + (record_keys - (double)whole_keys) * (double)(next - size);
    const double bytes = state_records * record_size + transactions * MARKER_BYTES,
                 merged = 2 * keys->count * keys->hash_bits / 8;
    const bool is_merged = tamis__kafka_kind_is_merged(filter->kind) && bytes > merged,
               is_cut = width >= 0 || is_merged;

    plan->state_keys = (uint64_t)(options->partitions * keys->count + 0.5);
    plan->state_bytes = (uint64_t)(options->partitions * (is_merged ? merged : bytes) + 0.5);
    plan->segment_bytes = is_cut ? (uint64_t)options->partitions * TAMIS__KAFKA_SEGMENT : 0;
}

tamis_status tamis_kafka_plan_make(tamis_kafka_plan *plan, tamis_plan *filter,
                                   const tamis_kafka_plan_options *options, tamis_error *err) {
    tamis_kafka_plan_options given = TAMIS_KAFKA_PLAN_OPTIONS_INIT;
    tamis_plan_options wanted = TAMIS_PLAN_OPTIONS_INIT;
    tamis_kafka_plan made = TAMIS_KAFKA_PLAN_INIT;
    tamis_plan partition = TAMIS_PLAN_INIT;
    kafka_hash_size hashes;

    if (tamis__check_struct(plan, "TAMIS_KAFKA_PLAN_INIT", err) != TAMIS_OK ||
        tamis__read_struct(&given, sizeof given, options, "TAMIS_KAFKA_PLAN_OPTIONS_INIT", err) != TAMIS_OK ||
        tamis__read_options(&wanted, sizeof wanted, given.plan, "TAMIS_PLAN_OPTIONS_INIT", err) != TAMIS_OK)
        return TAMIS_E_INVALID;
    tamis_status status = check_options(&given, &wanted, err);
    if (status != TAMIS_OK)
        return status;
    const bool timed = wanted.kind == TAMIS_KIND_WINDOW;
    const double keys = wanted.expect > 0 ? (double)wanted.expect : given.rate * (double)wanted.window / 1000;
    if (keys > KEYS_MAX)
        return tamis__fail(
            err, TAMIS_E_RANGE, 0,
            "rate: more than 1e18 records come in a window; give a lower rate, or a shorter window");

    made.keys = keys < 1 ? 1 : (uint64_t)(keys + 0.5);
    wanted.expect = made.keys > given.partitions ? (made.keys - 1) / given.partitions + 1 : 1;
    status = tamis__kafka_plan_filter(&partition, &hashes, &wanted, err);
    if (status != TAMIS_OK)
        return status;
    made.partition_keys = partition.capacity;
    if (hashes.bits == 48)
        partition.fpr = wanted.fpr; /* that of filter and hashes together */
    made.partition_memory = partition.memory;
    made.host_partitions = (given.partitions + given.hosts - 1) / given.hosts;
    made.host_memory = made.host_partitions * made.partition_memory;
    state_keys kept = {keys / given.partitions, given.rate > 0 ? keys / given.rate : 0, hashes.bits};
    if (timed) {
        const double span = (double)(partition.window + partition.lateness + partition.step +
                                     tamis__kafka_horizon_gap(&partition));
        kept.count = keys / given.partitions * span / (double)partition.window;
        kept.span = span / 1000;
    }
    plan_state(&made, &given, &partition, &kept);
    made.restore_seconds =
        (double)made.state_keys / given.partitions * made.host_partitions / TAMIS_KAFKA_RESTORE_RATE;
    tamis__write_struct(plan, &made, sizeof made);
    tamis__write_struct(filter, &partition, sizeof partition);
    return TAMIS_OK;
}
