/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SERVER_CLI_BOUNDED_FILTER_H
#define TAMIS_CLI_SERVER_CLI_BOUNDED_FILTER_H

#include <tamis/filter.h>

#include "cli/cli.h"

/*
 * Limits a filter on a server to its capacity, which the server itself does not enforce. The limit starts from an estimate of
 * the keys in the filter and counts the keys that this process adds. Keys that other processes add meanwhile are not counted.
 */
typedef struct cli_bounded_filter {
    tamis_filter *filter;
    bool is_bounded;     /* false: adds have no limit */
    bool traced;         /* adds are traced, see cli_trace.h; lookups before them are not */
    uint64_t free_slots; /* keys that still fit */
    uint64_t capacity;   /* planned number of keys */
    double held;         /* estimated number of keys at the last query */
} cli_bounded_filter;

/* Starts the limit. There is no limit for a filter in a file, with layouts that store no capacity (php1 to php3), and with
 * `over_capacity`. The caller sets `traced` before. */
tamis_status cli_bounded_filter_init(cli_bounded_filter *bounded, tamis_filter *filter, bool over_capacity,
                                     tamis_error *err);

/* Function `query` of a tamis_stream_service, with `bounded` as context. TAMIS_E_FULL: the next key is new and none fits. */
tamis_status cli_bounded_filter_add(void *bounded, const tamis_key *keys, size_t count, tamis_answer *answers,
                                    size_t *done, tamis_error *err);

/* Fills *err with the message that the filter is full at this record, and with `remedy`. Returns err->status. */
tamis_status cli_bounded_filter_fail_full(const cli_bounded_filter *bounded, const char *uri, uint64_t record,
                                          const char *remedy, tamis_error *err);

/* True if the layout stores no capacity and most bits are set: the filter holds more keys than its size suits. */
bool cli_bounded_filter_is_dense(const tamis_filter_info *info, const tamis_plan *plan, const char *uri);
/* Prints a remark if such a filter is dense. */
void cli_bounded_filter_report_dense(const tamis_filter *filter, const char *uri);

#endif
