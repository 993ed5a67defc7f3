/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SERVER_CLI_TRACE_H
#define TAMIS_CLI_SERVER_CLI_TRACE_H

#include <tamis/experimental/redis_family.h>

#include "cli/cli.h"

/* --trace: prints a line on standard error for each element of a query to a filter in a Redis. */

#define CLI_ROW_TRACE                                                                                        \
    {                                                                                                        \
        .name = "trace", .type = CLI_FLAG,                                                                   \
        .help = "Of a filter in a Redis: print a line on standard error for every record.",                  \
        .more = "In the order of the records, when their batch is answered: words with a tab between them, " \
                "which are record (its key as it is hashed, percent-encoded; not where several filters are " \
                "asked "                                                                                     \
                "by one hash), instance, key (a Redis key, percent-encoded), offsets (the bits, in the "     \
                "layout's order), bits (what each of them was, as digits), when adding changed (how many "   \
                "of them were 0) and ms, once for each Redis key that has bits of the record; then answer: " \
                "fresh, seen, or unknown. ms are the milliseconds from when the command was put into the "   \
                "pipeline of its batch until its reply was read, which comes behind those of the records "   \
                "before it."                                                                                 \
    }

/* Refuses the name of a file, since only filters on a server are traced. */
tamis_status cli_trace_check(const char *name, tamis_error *err);
/* Each starts tracing an open filter, or an open family. */
tamis_status cli_trace_begin(tamis_filter *filter, tamis_error *err);
void cli_trace_family(tamis_redis_family *family);

#endif
