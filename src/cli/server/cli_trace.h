/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SERVER_CLI_TRACE_H
#define TAMIS_CLI_SERVER_CLI_TRACE_H

#include <tamis/experimental/redis_family.h>

#include "cli/cli.h"

/* --trace: prints a line on standard error for each element of a query to a filter in a Redis. */

#define CLI_ROW_TRACE                                                                                        \
    {                                                                                                        \
        .id = CLI_OPT_TRACE, .name = "trace", .type = CLI_FLAG,                                              \
        .help = "For a filter on a Redis server: print a line on standard error for every record.",          \
        .more = "Lines are printed in the order of the records, when their batch is answered. Each "         \
                "consists of words separated by tabs. record is the hashed key, percent-encoded; it is "     \
                "left out if several filters share a hash. For each Redis key with bits of the record "      \
                "follow: instance; key, the Redis key, percent-encoded; offsets, the bits, in the order of " \
                "the layout; bits, their previous values, as digits; when adding, changed, how many of "     \
                "them were 0; and ms. The last word is answer: for an add, fresh (the key was absent) or "   \
                "seen (it was present); for a lookup, absent or seen; or unknown. ms are the "               \
                "milliseconds from adding the command to the pipeline of its batch until its reply was "     \
                "read. Replies are read in order, so this includes waiting for those before it."             \
    }

/* Refuses the name of a file, since only filters on a server are traced. */
tamis_status cli_trace_check(const char *name, tamis_error *err);
/* Starts tracing an open filter. */
tamis_status cli_trace_filter(tamis_filter *filter, tamis_error *err);
/* Starts tracing an open family. */
void cli_trace_family(tamis_redis_family *family);

#endif
