/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SERVER_CLI_BOUNDED_FILTER_H
#define TAMIS_CLI_SERVER_CLI_BOUNDED_FILTER_H

#include <tamis/filter.h>

#include "cli/cli.h"

/* Keeps a filter on a server to what it was made for, since the server does not: it is asked once what it holds, about, and
 * what is added from then on is counted. What others add meanwhile is not. */
typedef struct cli_bounded_filter {
    tamis_filter *filter;
    bool is_bounded;
    bool traced;         /* see cli_trace.h: of what is added, not of what is asked before */
    uint64_t free_slots; /* keys */
    uint64_t capacity;
    double held; /* when it was asked, about */
} cli_bounded_filter;

/* Of a filter in a file, of one whose parameters do not say for how many keys it is (php1 to php3), and where
 * `over_capacity` says so, it is not bounded. */
int cli_bounded_filter_init(cli_bounded_filter *bounded, tamis_filter *filter, bool over_capacity,
                            tamis_error *err);

/* As a tamis_stream_service's ask, with the room as context: TAMIS_E_FULL at the first new key past the bound. */
tamis_status cli_bounded_filter_add(void *bounded, const tamis_key *keys, size_t count, tamis_answer *answers,
                                    size_t *done, tamis_error *err);

/* Says so of that record, and what helps. */
int cli_bounded_filter_fail_full(const cli_bounded_filter *bounded, const char *uri, uint64_t record,
                                 const char *remedy, tamis_error *err);

/* Whether a filter that does not say for how many keys it is has most of its bits set: more keys than it is good for. */
bool cli_bounded_filter_is_dense(const tamis_filter_info *info, const tamis_plan *plan, const char *uri);
/* A remark on such a filter in a Redis. */
void cli_bounded_filter_report_dense(const tamis_filter *filter, const char *uri);

#endif
