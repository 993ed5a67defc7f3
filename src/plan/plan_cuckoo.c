/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Sizing a cuckoo filter: from n keys and rate p to the bits of a slot and the number of buckets. Without n, a
 * filter that grows: only the bits of a slot, and the first table.
 *
 *     bucket   | slot 0 | slot 1 | slot 2 | slot 3 |     f bits each, one bucket after the other without gaps
 *
 * A lookup of an absent key compares its fingerprint, which is one of 2^f - 1 numbers, with the entries of
 * two buckets. With n entries in b buckets a bucket has n / b of them on average:
 *
 *     rate = 1 - (1 - 1 / (2^f - 1))^(2 n / b)         about 8 * load / 2^f, where load = n / (4 b)
 *
 * The narrowest slots are used that keep the rate at capacity. Any width is possible, so a rate costs
 * what it needs: half of it is one bit a key more.
 *
 *     buckets = n / (4 * load) * (1 + 1 / sqrt(n)) + 2, and even; 2 for up to 8 keys, which always fit there
 *
 * Why load 0.95: with four slots a bucket and two buckets a key, an entry finds a place up to a load of 0.98.
 * That needs many buckets (docs/MATH.md, "Cuckoo filter"). At 0.95 a new key moves few entries. In small
 * tables the load at which the first key finds no place varies: by about 1 / sqrt(n) of it. Hence more
 * buckets. Of 100,000 tables of each size from 9 to 40 keys, one or none refuses one of its keys; of 20,000
 * with 100 to 3000 keys none.
 *
 *     rate    bits of a slot   bits a key at 10^6 keys
 *     1e-2    10               10.5
 *     1e-4    17               17.9
 *     1e-6    23               24.2
 *     1e-9    33               34.8
 *
 * Why at least 8 bits: each bucket must lead to many others, or entries have nowhere to move. And no program
 * wants a rate of 3 %.
 *
 * A filter that grows has up to 32 tables, and a lookup asks all of them. The slots of all tables have the
 * same width: the narrowest one with which 32 full tables keep the rate. So the promise holds for the sum at
 * any number of keys. That takes 5 bits a slot more than one table with the rate p.
 *
 *     table            0       1       2       3      ...    28
 *     buckets          2^10    2^11    2^12    2^13   ...    2^38
 *     keys until then  3.8e3   1.1e4   2.7e4   5.8e4  ...    2^40 and more
 *
 * Each table has twice the buckets of the one before it, or more with a size hint. So all tables together are
 * full to 48 % after a growth, 68 % on average, and 95 % before the next one. A rate of 1e-4 takes 22 bits a
 * slot and 33 bits a key on average. A growing table of fingerprints takes 40.
 *
 * Why not narrower slots at first, and a bit more in each further table: table i would need i + 1 more bits.
 * From 32 tables on that is as much again, and from the 5th table on, of 58,000 keys, it is more than 5. And
 * equal widths are what keeps removals safe (filter/table/cuckoo.c).
 */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "plan/plan_int.h"

#define LOAD 0.95 /* share of used slots at capacity, with many keys */

double tamis__cuckoo_fpr(double entries, double buckets, uint32_t slot_bits) {
    return -expm1(2 * entries / buckets * log1p(-1 / (ldexp(1, (int)slot_bits) - 1)));
}

uint64_t tamis__cuckoo_buckets(const tamis_plan *plan) {
    return plan->bits / (TAMIS__CUCKOO_SLOTS * plan->slot_bits);
}

uint64_t tamis__cuckoo_bytes(uint64_t bits) {
    const uint64_t used = bits / 8 + (bits % 8 != 0) + TAMIS__CUCKOO_SPARE;
    return (used + TAMIS__LINE - 1) / TAMIS__LINE * TAMIS__LINE;
}

double tamis__cuckoo_rate(uint32_t slot_bits) {
    return tamis__cuckoo_fpr(TAMIS__CUCKOO_SLOTS * LOAD, 1, slot_bits);
}

/* The expected number of 64-byte lines of a bucket, which may begin at any multiple of its size. */
static double lines_of_bucket(uint32_t slot_bits) {
    const uint32_t bits = TAMIS__CUCKOO_SLOTS * slot_bits;
    uint32_t step = 8 * TAMIS__LINE;
    while (bits % step != 0)
        step /= 2;
    return 1 + (double)(bits - step) / (8 * TAMIS__LINE);
}

static tamis_status fail_rate(const tamis_plan *plan, double min, tamis_error *err) {
    char rate[TAMIS__PLAN_NUMBER], lowest[TAMIS__PLAN_NUMBER];
    return tamis__fail(
        err, TAMIS_E_RANGE, 0,
        "false-positive rate %s: below %s, the lowest of kind cuckoo%s; choose that or more, or "
        "kind exact",
        tamis__plan_number(rate, plan->fpr), tamis__plan_number(lowest, min),
        plan->capacity ? "" : " that grows");
}

/* ---- filters that grow ---- */

/* The inverse of the number of buckets: with r = sqrt(n), r^2 + r = 3.8 (buckets - 2). */
uint64_t tamis__cuckoo_capacity(uint64_t buckets) {
    const double root = (sqrt(1 + 4 * TAMIS__CUCKOO_SLOTS * LOAD * ((double)buckets - 2)) - 1) / 2;
    return (uint64_t)(root * root);
}

/* The rate of so many full tables of many keys. */
static double rate_of_tables(double tables, uint32_t slot_bits) {
    return tamis__cuckoo_fpr(TAMIS__CUCKOO_SLOTS * LOAD * tables, 1, slot_bits);
}

/* The number of tables of a filter with so many keys, the last one as the part of it that is used. */
static double tables_for(double keys) {
    double tables = 0, buckets = TAMIS__CUCKOO_FIRST_BUCKETS;
    while (keys > 0) {
        const double capacity = (double)tamis__cuckoo_capacity((uint64_t)buckets);
        tables += fmin(1, keys / capacity);
        keys -= capacity;
        buckets *= 2;
    }
    return tables;
}

static tamis_status plan_growing(tamis_plan *plan, tamis_error *err) {
    const double tables = tables_for(ldexp(1, TAMIS__FINGERPRINT_GROWN_LOG2));
    uint32_t bits = TAMIS__CUCKOO_BITS_MIN;
    while (bits <= TAMIS__CUCKOO_BITS_MAX && rate_of_tables(TAMIS__CUCKOO_TABLES_MAX, bits) > plan->fpr)
        bits++;
    if (bits > TAMIS__CUCKOO_BITS_MAX)
        return fail_rate(plan, rate_of_tables(TAMIS__CUCKOO_TABLES_MAX, TAMIS__CUCKOO_BITS_MAX), err);
    plan->slot_bits = bits;
    plan->memory = TAMIS__CUCKOO_TABLES_MAX * TAMIS__CUCKOO_TABLE_BYTES +
                   tamis__cuckoo_bytes(TAMIS__CUCKOO_FIRST_BUCKETS * TAMIS__CUCKOO_SLOTS * (uint64_t)bits);
    plan->bits_per_key = bits / LOAD / log(2); /* the average of 1 to 2 times bits / LOAD */
    plan->fpr_predicted = rate_of_tables(tables, bits);
    plan->lines_touched = 2 * lines_of_bucket(bits) * ceil(tables);
    return TAMIS_OK;
}

/* ---- filters of RedisBloom ---- */

/* Sizes the first table of RedisBloom's own cuckoo filter, as CF.RESERVE does by default: buckets of two slots,
 * their number a power of two. It has one byte a slot, grows, and promises no rate. */
static tamis_status plan_redisbloom(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err) {
    enum { BUCKET_SLOTS = 2, DEFAULT_SLOTS = 1024, FINGERPRINT_BITS = 8 };
    const uint64_t keys = options->expect ? options->expect : DEFAULT_SLOTS;
    uint64_t buckets = 1;
    char rate[TAMIS__PLAN_NUMBER], min[TAMIS__PLAN_NUMBER];
    while (buckets < keys / BUCKET_SLOTS)
        buckets *= 2;
    if (buckets > UINT32_MAX / BUCKET_SLOTS)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "kind cuckoo of scheme redisbloom: %" PRIu64
                           " keys need 2^32 slots or more; expect fewer, or use another scheme",
                           keys);
    if (options->memory)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "kind cuckoo of scheme redisbloom: grows without a memory limit; leave the limit "
                           "out, or use another scheme");
    plan->capacity = buckets * BUCKET_SLOTS;
    plan->slot_bits = FINGERPRINT_BITS;
    plan->bits = plan->capacity * FINGERPRINT_BITS;
    plan->memory = plan->capacity;
    plan->bits_per_key = FINGERPRINT_BITS;
    plan->fpr = 1;
    plan->fpr_predicted = tamis__cuckoo_fpr((double)plan->capacity, (double)buckets, FINGERPRINT_BITS);
    plan->lines_touched = 2;
    if (options->fpr >= plan->fpr_predicted)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_RANGE, 0,
                       "false-positive rate %s: below %s, that of the fingerprints of 8 bits of scheme "
                       "redisbloom; leave the rate out, or use another scheme",
                       tamis__plan_number(rate, options->fpr), tamis__plan_number(min, plan->fpr_predicted));
}

/* ---- filters for a number of keys ---- */

tamis_status tamis__plan_cuckoo(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err) {
    if (tamis__is_redisbloom_cuckoo(plan->kind, plan->scheme))
        return plan_redisbloom(plan, options, err);
    if (options->expect == 0)
        return plan_growing(plan, err);
    const double n = (double)options->expect;
    double pairs = ceil(n / (2 * TAMIS__CUCKOO_SLOTS * LOAD) * (1 + 1 / sqrt(n)));
    pairs = n <= 2 * TAMIS__CUCKOO_SLOTS ? 1 : pairs + 1;
    uint32_t bits = TAMIS__CUCKOO_BITS_MIN;
    while (bits <= TAMIS__CUCKOO_BITS_MAX && tamis__cuckoo_fpr(n, 2 * pairs, bits) > options->fpr)
        bits++;
    if (bits > TAMIS__CUCKOO_BITS_MAX)
        return fail_rate(plan, tamis__cuckoo_fpr(n, 2 * pairs, TAMIS__CUCKOO_BITS_MAX), err);
    plan->slot_bits = bits;
    plan->bits = 2 * (uint64_t)pairs * TAMIS__CUCKOO_SLOTS * bits;
    plan->memory = tamis__cuckoo_bytes(plan->bits);
    plan->bits_per_key = 8 * (double)plan->memory / n;
    plan->fpr_predicted = tamis__cuckoo_fpr(n, 2 * pairs, bits);
    plan->lines_touched = 2 * lines_of_bucket(bits);
    return TAMIS_OK;
}

const char *tamis__plan_check_cuckoo(const tamis_plan *plan, uint64_t *value) {
    const uint64_t unit = 2 * TAMIS__CUCKOO_SLOTS * (uint64_t)plan->slot_bits;
    *value = plan->slot_bits;
    if (plan->slot_bits < TAMIS__CUCKOO_BITS_MIN || plan->slot_bits > TAMIS__CUCKOO_BITS_MAX)
        return "slot_bits";
    if (plan->capacity == 0 && plan->bits == 0) /* it grows */
        return NULL;
    *value = plan->bits;
    if (plan->bits == 0 || plan->bits % unit != 0 || plan->bits > TAMIS_BITS_MAX)
        return "bits";
    *value = plan->capacity;
    if (plan->capacity == 0 || plan->capacity > TAMIS__CUCKOO_SLOTS * tamis__cuckoo_buckets(plan))
        return "capacity";
    return NULL;
}
