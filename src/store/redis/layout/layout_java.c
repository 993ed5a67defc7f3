/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Layout java: the format of a published Java class.
 *
 *     bf:NAME    bitmap of m = (int)(-n ln p / (ln 2)^2) bits, at most 2^31 - 1;
 *                k = max(1, round(m / n ln 2)) probes
 *
 * Positions are those of Guava's MURMUR128_MITZ_64. Guava itself rounds m to words; this class truncates
 * it. n and p are not stored: every program that uses the filter must be given the same expect= and fpr=.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "store/redis/layout/layout_bitmap.h"

static tamis_status make_plan(tamis__redis_filter *rf, tamis_plan *plan, tamis_error *err) {
    double fpr = 0;
    tamis_status status =
        tamis__redis_uri_count(rf->uri, "expect", (tamis__count_range){1, INT64_MAX}, &plan->capacity, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_rate(rf->uri, "fpr", &fpr, err);
    if (status != TAMIS_OK)
        return status;
    if (plan->capacity == 0 || fpr == 0)
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "%s: layout java keeps no parameters in the Redis; give expect=N and fpr=RATE, the same "
            "as every other program that uses the filter",
            rf->uri->shown);
    const double n = (double)plan->capacity;
    plan->kind = TAMIS_KIND_CLASSIC;
    plan->scheme = TAMIS_SCHEME_GUAVA64;
    plan->fpr = fpr;
    const double bits = floor(tamis_bloom_bits(n, fpr));
    if (bits > INT32_MAX) /* the class would silently use INT32_MAX bits, with a higher rate */
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "%s: expect=%" PRIu64
                           " and fpr=%g come to %.0f bits, and layout java has %d at the "
                           "most; expect fewer, or choose a larger rate",
                           rf->uri->shown, plan->capacity, fpr, bits, INT32_MAX);
    plan->bits = (uint64_t)bits;
    if (plan->bits == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: expect=%" PRIu64
                           " and fpr=%g come to no bit at all; expect more, or choose a "
                           "smaller rate",
                           rf->uri->shown, plan->capacity, fpr);
    plan->probes = tamis_bloom_probes(n, (double)plan->bits);
    if (plan->probes > TAMIS_PROBES_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "%s: fpr=%g takes %" PRIu32 " probes, more than %d; choose a larger rate",
                           rf->uri->shown, fpr, plan->probes, TAMIS_PROBES_MAX);
    plan->fpr_predicted = tamis_bloom_fpr(n, (double)plan->bits, plan->probes);
    plan->memory = (plan->bits + 7) / 8;
    plan->bits_per_key = 8 * (double)plan->memory / n;
    plan->lines_touched = plan->probes;
    return TAMIS_OK;
}

static tamis_status open(tamis_filter *filter, const tamis_redis_filter_options *options, tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis_status status = make_plan(rf, &filter->plan, err);
    rf->keys = 1;
    return status == TAMIS_OK ? tamis__redis_set_up(filter, options, 0, err) : status;
}

static size_t key_name(const tamis__redis_filter *rf, uint32_t key, char *to) {
    (void)key;
    memcpy(to, "bf:", 3);
    memcpy(to + 3, rf->name.data, rf->name.size);
    return 3 + rf->name.size;
}

static tamis_status estimate(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    return tamis__redis_estimate(
        filter, &(tamis__bit_spread){1, (double)filter->plan.bits, filter->plan.bits}, info, err);
}

const tamis__layout tamis__layout_java = {.name = "java",
                                          .has_capacity = true,
                                          .state_size = sizeof(tamis__bitmap_state),
                                          .open = open,
                                          .locate = tamis__redis_locate,
                                          .key_name = key_name,
                                          .refresh = tamis__redis_check_length,
                                          .bytes_in = tamis__redis_bytes_in,
                                          .estimate = estimate,
                                          .clear = tamis__redis_delete_all};
