/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/server/cli_bounded_filter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tamis/experimental/redis.h>

#include "cli/core/cli_text.h"
#include "cli/server/cli_server.h"
#include "cli/server/cli_trace.h"

static bool knows_capacity(const tamis_filter *filter) {
    const char *layout = tamis_redis_filter_layout(filter);

    return layout != NULL && strncmp(layout, "php", 3) != 0;
}

tamis_status cli_bounded_filter_init(cli_bounded_filter *bounded, tamis_filter *filter, bool over_capacity,
                                     tamis_error *err) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    double held;

    *bounded = (cli_bounded_filter){.filter = filter, .traced = bounded->traced};
    if (over_capacity || !knows_capacity(filter))
        return TAMIS_OK;
    if (tamis_filter_info_get(filter, &info, err) != TAMIS_OK)
        return err->status;
    bounded->is_bounded = true;
    bounded->capacity = info.capacity;
    bounded->held = info.cardinality;
    if (info.saturated)
        return TAMIS_OK;
    /* Subtract the likely error of the estimate, so that a filter with free slots accepts keys. */
    held = info.cardinality - 2 * sqrt(info.cardinality / tamis_filter_plan(filter)->probes);
    bounded->free_slots = info.capacity - (uint64_t)fmax(0, fmin(held, (double)info.capacity));
    return TAMIS_OK;
}

/* Sets *count to the number of first keys that fit. It looks them up before they are added, because an add cannot be undone.
 * Equal absent keys count several times, so the result may be too small; the next call then counts again. When no key fits,
 * it asks the server again: TAMIS_E_FULL if the capacity is the same, else *count is 0 and the caller tries again. */
static tamis_status count_fitting(cli_bounded_filter *bounded, const tamis_key *keys, size_t *count,
                                  tamis_answer *answers, tamis_error *err) {
    const uint64_t capacity = bounded->capacity;
    uint64_t free_slots = bounded->free_slots;
    size_t batch_size = 0, done;
    tamis_status status;

    if (bounded->traced)
        tamis_redis_filter_trace(bounded->filter, NULL, NULL, NULL);
    status = tamis_filter_contains_many(bounded->filter, keys, *count, answers, &done, err);
    if (bounded->traced && cli_trace_begin(bounded->filter, err) != TAMIS_OK)
        return err->status;
    if (status != TAMIS_OK)
        return status;
    for (; batch_size < *count; batch_size++)
        if (answers[batch_size] != TAMIS_PRESENT && free_slots-- == 0)
            break;
    *count = batch_size;
    if (batch_size > 0)
        return TAMIS_OK;
    if (cli_bounded_filter_init(bounded, bounded->filter, false, err) != TAMIS_OK)
        return err->status;
    if (bounded->capacity != capacity) { /* the filter was replaced by one of another size */
        *count = 0;
        return TAMIS_OK;
    }
    cli_fail(err, "filter: full; build a larger one");
    return err->status = TAMIS_E_FULL;
}

tamis_status cli_bounded_filter_add(void *context, const tamis_key *keys, size_t count, tamis_answer *answers,
                                    size_t *done, tamis_error *err) {
    cli_bounded_filter *bounded = context;
    tamis_status status = TAMIS_OK;

    for (*done = 0; *done < count && status == TAMIS_OK;) {
        const tamis_key *next = keys + *done;
        size_t batch_size = count - *done, added = 0;
        if (bounded->is_bounded && batch_size > bounded->free_slots)
            status = count_fitting(bounded, next, &batch_size, answers + *done, err);
        if (status == TAMIS_OK && batch_size > 0)
            status = tamis_filter_add_many(bounded->filter, next, batch_size, answers + *done, &added, err);
        for (size_t i = 0; i < added; i++)
            if (answers[*done + i] != TAMIS_PRESENT && bounded->free_slots > 0)
                bounded->free_slots--;
        *done += added;
    }
    return status;
}

tamis_status cli_bounded_filter_fail_full(const cli_bounded_filter *bounded, const char *uri, uint64_t record,
                                          const char *remedy, tamis_error *err) {
    char shown[CLI_SERVER_SHOWN], made[CLI_TEXT_NUMBER], held[CLI_TEXT_NUMBER], number[CLI_TEXT_NUMBER];

    return cli_fail(err,
                    "%.200s: full: it was made for %s and has about %s, and record %s is "
                    "another; %s",
                    cli_server_show(uri, shown), cli_text_records(made, sizeof made, bounded->capacity),
                    cli_text_expected(held, sizeof held, bounded->held),
                    cli_text_count(number, sizeof number, record), remedy);
}

/* The PHP layouts store no capacity: their parameters are bits and probes only. */
static bool is_unbounded(const char *uri) {
    size_t size;
    const char *layout = cli_server_parameter(uri, "layout", &size);

    return layout != NULL && size > 3 && memcmp(layout, "php", 3) == 0;
}

/* The share of set bits is fpr_live ^ (1 / probes). At the optimal fill half of the bits are set. A few more
 * may be chance, so the limit is above one half. */
bool cli_bounded_filter_is_dense(const tamis_filter_info *info, const tamis_plan *plan, const char *uri) {
    const double dense = 0.55;

    return is_unbounded(uri) && info->fpr_live > pow(dense, plan->probes);
}

void cli_bounded_filter_report_dense(const tamis_filter *filter, const char *uri) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    const tamis_plan *plan = tamis_filter_plan(filter);
    char message[CLI_SERVER_SHOWN + 200], shown[CLI_SERVER_SHOWN], now[CLI_TEXT_NUMBER];

    if (!is_unbounded(uri) || tamis_filter_info_get(filter, &info, NULL) != TAMIS_OK ||
        !cli_bounded_filter_is_dense(&info, plan, uri))
        return;
    snprintf(message, sizeof message,
             "%.300s: has most of its bits set, so its rate is now about %s; make one with more bits",
             cli_server_show(uri, shown), cli_text_real(now, sizeof now, info.fpr_live));
    cli_report(message);
}
